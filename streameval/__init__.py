"""Exact multi-label evaluation over streams: update, merge, revert, and read at any moment."""

from importlib import import_module
from typing import TYPE_CHECKING

from streameval.errors import (
    Conflict,
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
from streameval.evaluation import classes as _classes
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric, metric
from streameval.metrics.catalogue import Entry, catalogue
from streameval.metrics.interval import Interval
from streameval.metrics.spec import MetricSpec
from streameval.report.label_table import LabelTable

if TYPE_CHECKING:
    from streameval.delivery.checkpoint import Checkpoint, Checkpointer, load
    from streameval.delivery.ledger import Ledger
    from streameval.evaluation.classes import *  # noqa: F403  # made from the catalogue
    from streameval.evaluation.score import classification_report, score
    from streameval.inputs.forms import TopK
    from streameval.metrics.propensities import jain_propensities
    from streameval.progressive import Snapshot, iter_progressive_evaluate, progressive_evaluate
    from streameval.progressive.pending import Pending
    from streameval.progressive.trace import Trace
    from streameval.slices import Sliced
    from streameval.tabular.columns import Columns
    from streameval.tabular.evaluate import evaluate
    from streameval.tabular.job import Job
    from streameval.windows.fading import Fading
    from streameval.windows.sliding import Rolling, TimeRolling
    from streameval.windows.tumbling import ClosedWindow, Tumbling

__version__ = "0.1.0"

_LATER = {
    "delivery.checkpoint": {"Checkpoint", "Checkpointer", "load"},
    "delivery.ledger": {"Ledger"},
    "evaluation.score": {"classification_report", "score"},
    "inputs.forms": {"TopK"},
    "metrics.propensities": {"jain_propensities"},
    "progressive": {"Snapshot", "iter_progressive_evaluate", "progressive_evaluate"},
    "progressive.pending": {"Pending"},
    "progressive.trace": {"Trace"},
    "slices": {"Sliced"},
    "tabular.columns": {"Columns"},
    "tabular.evaluate": {"evaluate"},
    "tabular.job": {"Job"},
    "windows.fading": {"Fading"},
    "windows.sliding": {"Rolling", "TimeRolling"},
    "windows.tumbling": {"ClosedWindow", "Tumbling"},
}
"""Names that are imported when they are first used, so that importing the package stays quick."""


def __getattr__(name: str) -> object:
    if name == "__all__":
        value: object = list(_NAMES) + [entry.class_name for entry in catalogue()]
    elif module := next((module for module, names in _LATER.items() if name in names), ""):
        value = getattr(import_module(f"streameval.{module}"), name)
    elif name[:1].isupper() and hasattr(_classes, name):
        value = getattr(_classes, name)
    else:
        raise AttributeError(f"module 'streameval' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *(entry.class_name for entry in catalogue())})


__all__ = [
    "Checkpoint",
    "Checkpointer",
    "ClosedWindow",
    "Columns",
    "Conflict",
    "CounterOverflowError",
    "DependencyError",
    "Entry",
    "Evaluator",
    "Fading",
    "FormatError",
    "InputError",
    "Interval",
    "Job",
    "LabelError",
    "LabelTable",
    "Ledger",
    "MergeError",
    "Metric",
    "MetricError",
    "MetricSpec",
    "Pending",
    "RevertError",
    "Rolling",
    "Sliced",
    "Snapshot",
    "StreamevalError",
    "TimeRolling",
    "TopK",
    "Trace",
    "Tumbling",
    "catalogue",
    "classification_report",
    "evaluate",
    "iter_progressive_evaluate",
    "jain_propensities",
    "load",
    "metric",
    "progressive_evaluate",
    "score",
]

_NAMES: tuple[str, ...] = tuple(__all__)
if not TYPE_CHECKING:
    del __all__  # `__getattr__` makes it with the metric classes, which need the whole catalogue
