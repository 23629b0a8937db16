"""Progressive evaluation: each example is predicted, then counted, then learnt from."""

from streameval.progressive.evaluate import Snapshot, iter_progressive_evaluate, progressive_evaluate

__all__ = ["Snapshot", "iter_progressive_evaluate", "progressive_evaluate"]
