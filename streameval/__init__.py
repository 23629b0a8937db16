"""Exact multi-label evaluation over streams: update, merge, revert, and read at any moment."""

from importlib import import_module
from typing import TYPE_CHECKING

from streameval import classes as _classes
from streameval.classes import *  # noqa: F403  # made from the catalogue
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
from streameval.evaluator import Evaluator
from streameval.label_table import LabelTable
from streameval.metrics.catalogue import catalogue
from streameval.metrics.entry import Entry
from streameval.metrics.interval import Interval
from streameval.metrics.spec import MetricSpec
from streameval.single import Metric, metric

if TYPE_CHECKING:
    from streameval.checkpoint import Checkpoint, Checkpointer
    from streameval.columns import Columns, Job
    from streameval.inputs.scores import TopK
    from streameval.ledger import Ledger
    from streameval.loading import load
    from streameval.once import classification_report, score
    from streameval.pending import Pending
    from streameval.progressive import Snapshot, iter_progressive_evaluate, progressive_evaluate
    from streameval.propensities import jain_propensities
    from streameval.slices import Sliced
    from streameval.tables import evaluate
    from streameval.trace import Trace
    from streameval.windows.fading import Fading
    from streameval.windows.recent import Rolling, TimeRolling
    from streameval.windows.tumbling import ClosedWindow, Tumbling

__version__ = "0.1.0"

_LATER = {
    "Checkpoint": "checkpoint",
    "Checkpointer": "checkpoint",
    "ClosedWindow": "windows.tumbling",
    "Columns": "columns",
    "Fading": "windows.fading",
    "Job": "columns",
    "Ledger": "ledger",
    "Pending": "pending",
    "Rolling": "windows.recent",
    "Sliced": "slices",
    "Snapshot": "progressive",
    "TimeRolling": "windows.recent",
    "TopK": "inputs.scores",
    "Trace": "trace",
    "Tumbling": "windows.tumbling",
    "classification_report": "once",
    "evaluate": "tables",
    "iter_progressive_evaluate": "progressive",
    "jain_propensities": "propensities",
    "load": "loading",
    "progressive_evaluate": "progressive",
    "score": "once",
}
"""Where names are that are imported when they are first used, so that importing the package stays quick."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'streameval' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"streameval.{_LATER[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
__all__ += _classes.__all__
