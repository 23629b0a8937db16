"""Ray: datasets are counted where they are, states of tasks are merged in a tree of tasks; states travel as bytes."""

from streameval.errors import DependencyError

try:
    import ray  # noqa: F401
except ImportError as error:
    raise DependencyError(
        "streameval.adapters.ray needs ray, which is not installed; pip install 'streameval[ray]'"
    ) from error

from streameval.adapters.ray.datasets import evaluate
from streameval.adapters.ray.trees import merge

__all__ = ["evaluate", "merge"]
