"""Dask: bags, data frames, delayed objects and arrays, counted where they are; states travel as bytes.

Threads, processes and the distributed scheduler give the same bytes.
"""

from streameval.errors import DependencyError

try:
    import dask  # noqa: F401
except ImportError as error:
    raise DependencyError(
        "streameval.adapters.dask needs dask, which is not installed; pip install 'streameval[dask]'"
    ) from error

from streameval.adapters.dask.arrays import evaluate_arrays
from streameval.adapters.dask.collections import evaluate, state

__all__ = ["evaluate", "evaluate_arrays", "state"]
