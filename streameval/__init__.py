"""Exact multi-label evaluation over streams: update, merge, revert, and read at any moment."""

from streameval import classes as _classes
from streameval.classes import *  # noqa: F403  # made from the catalogue
from streameval.errors import (
    CounterOverflowError,
    FormatError,
    InputError,
    LabelError,
    MergeError,
    MetricError,
    RevertError,
    StreamevalError,
)
from streameval.evaluator import Evaluator
from streameval.label_table import LabelTable
from streameval.metrics.catalogue import Entry, catalogue
from streameval.metrics.spec import MetricSpec
from streameval.single import Metric, metric
from streameval.windows.fading import Fading
from streameval.windows.loading import load
from streameval.windows.recent import Rolling, TimeRolling
from streameval.windows.tumbling import ClosedWindow, Tumbling

__version__ = "0.1.0"

__all__ = [
    "ClosedWindow",
    "CounterOverflowError",
    "Entry",
    "Evaluator",
    "Fading",
    "FormatError",
    "InputError",
    "LabelError",
    "LabelTable",
    "MergeError",
    "Metric",
    "MetricError",
    "MetricSpec",
    "RevertError",
    "Rolling",
    "StreamevalError",
    "TimeRolling",
    "Tumbling",
    "catalogue",
    "load",
    "metric",
]
__all__ += _classes.__all__
