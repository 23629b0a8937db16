"""Exact multi-label evaluation over streams: update, merge, revert, and read at any moment."""

from streameval import classes as _classes
from streameval.classes import *  # noqa: F403  # made from the catalogue
from streameval.errors import (
    CounterOverflowError,
    DependencyError,
    FormatError,
    InputError,
    LabelError,
    MergeError,
    MetricError,
    RevertError,
    StreamevalError,
)
from streameval.evaluator import Evaluator
from streameval.inputs.scores import TopK
from streameval.label_table import LabelTable
from streameval.metrics.catalogue import catalogue
from streameval.metrics.entry import Entry
from streameval.metrics.interval import Interval
from streameval.metrics.spec import MetricSpec
from streameval.pending import Pending
from streameval.progressive import Snapshot, iter_progressive_evaluate, progressive_evaluate
from streameval.propensities import jain_propensities
from streameval.single import Metric, metric
from streameval.trace import Trace
from streameval.windows.fading import Fading
from streameval.windows.loading import load
from streameval.windows.recent import Rolling, TimeRolling
from streameval.windows.tumbling import ClosedWindow, Tumbling

__version__ = "0.1.0"

__all__ = [
    "ClosedWindow",
    "CounterOverflowError",
    "DependencyError",
    "Entry",
    "Evaluator",
    "Fading",
    "FormatError",
    "InputError",
    "Interval",
    "LabelError",
    "LabelTable",
    "MergeError",
    "Metric",
    "MetricError",
    "MetricSpec",
    "Pending",
    "RevertError",
    "Rolling",
    "Snapshot",
    "StreamevalError",
    "TimeRolling",
    "TopK",
    "Trace",
    "Tumbling",
    "catalogue",
    "iter_progressive_evaluate",
    "jain_propensities",
    "load",
    "metric",
    "progressive_evaluate",
]
__all__ += _classes.__all__
