"""Dask: bags, data frames, delayed objects and arrays, counted where they are; states travel as bytes.

Threads, processes and the distributed scheduler give the same bytes.
"""

from streameval.adapters.engine import require

with require("dask"):
    from streameval.adapters.dask.arrays import evaluate_arrays
    from streameval.adapters.dask.collections import evaluate, state

__all__ = ["evaluate", "evaluate_arrays", "state"]
