"""Beam: rows or tables become states where they are, states are combined, globally, per key and per window."""

from streameval.adapters.engine import require

with require("beam"):
    from streameval.adapters.beam.combine import EvaluatorFn, MergeFn, StateCoder
    from streameval.adapters.beam.panes import Firing, Firings, Panes
    from streameval.adapters.beam.transforms import Evaluate, EvaluatePerKey

__all__ = ["Evaluate", "EvaluatePerKey", "EvaluatorFn", "Firing", "Firings", "MergeFn", "Panes", "StateCoder"]
