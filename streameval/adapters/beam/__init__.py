"""Beam: rows or tables become states where they are, states are combined, globally, per key and per window."""

from streameval.errors import DependencyError

try:
    import apache_beam  # noqa: F401
except ImportError as error:
    raise DependencyError(
        "streameval.adapters.beam needs apache-beam, which is not installed; pip install 'streameval[beam]'"
    ) from error

from streameval.adapters.beam.coding import StateCoder
from streameval.adapters.beam.combining import EvaluatorFn, MergeFn
from streameval.adapters.beam.panes import Firing, Firings, Panes
from streameval.adapters.beam.transforms import Evaluate, EvaluatePerKey

__all__ = ["Evaluate", "EvaluatePerKey", "EvaluatorFn", "Firing", "Firings", "MergeFn", "Panes", "StateCoder"]
