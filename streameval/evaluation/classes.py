"""The metric classes by name. The stub beside this file, which ``docs/generate.py`` writes, is for type checkers."""

from streameval.evaluation.metric import METRIC_CLASSES

globals().update(METRIC_CLASSES)

__all__ = list(METRIC_CLASSES)
