"""Exact multi-label evaluation over streams: update, merge, revert, and read at any moment.

An `Evaluator` counts examples for any number of metrics, a class such as `F1` for one, and `score` reads whole arrays;
`catalogue` lists the metrics, and `help(streameval.Evaluator)` says what examples may be.

>>> ev = Evaluator(["f1_micro", "f1_macro"])
>>> ev.update({"cat", "bird"}, {"cat", "dog"})
>>> ev["f1_micro"]
0.5
"""

import re as _re
import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING

if _sys.maxsize < 2**63 - 1:  # there numpy counts in 32 bits
    raise ImportError("streameval requires a 64-bit Python, and this one has 32 bits; install a 64-bit one")

import numpy as _numpy  # noqa: F401  # imported first, it takes a tenth less time

from streameval.errors import (
    ConflictError as ConflictError,
    CounterOverflowError as CounterOverflowError,
    DataWarning as DataWarning,
    DependencyError as DependencyError,
    FormatError as FormatError,
    InputError as InputError,
    LabelError as LabelError,
    MergeError as MergeError,
    MetricError as MetricError,
    RevertError as RevertError,
    StreamevalError as StreamevalError,
)  # fmt: skip
from streameval.evaluation import classes as _classes
from streameval.evaluation.evaluator import Evaluator as Evaluator
from streameval.evaluation.metric import Metric as Metric, metric as metric
from streameval.evaluation.pages import save_html as save_html, to_html as to_html
from streameval.inputs.readers import PackedRows as PackedRows, TopK as TopK
from streameval.metrics.catalogue import MetricInfo as MetricInfo, catalogue as catalogue, entry_of as _entry_of
from streameval.metrics.spec import MetricSpec as MetricSpec
from streameval.schema.text import VERSION as _VERSION

if TYPE_CHECKING:
    from streameval.delivery.checkpoint import Checkpoint as Checkpoint, Checkpointer as Checkpointer, load as load
    from streameval.delivery.ledger import Ledger as Ledger
    from streameval.evaluation.classes import *  # noqa: F403  # made from the catalogue
    from streameval.evaluation.score import (
        classification_report as classification_report,
        describe as describe,
        score as score,
    )
    from streameval.metrics.bounds import Bounds as Bounds
    from streameval.metrics.rankings_at import jain_propensities as jain_propensities
    from streameval.progressive import (
        Snapshot as Snapshot,
        iter_progressive_evaluate as iter_progressive_evaluate,
        progressive_evaluate as progressive_evaluate,
    )
    from streameval.progressive.pending import Pending as Pending
    from streameval.progressive.trace import Trace as Trace
    from streameval.report.label_table import LabelTable as LabelTable
    from streameval.slices import Sliced as Sliced
    from streameval.tabular.columns import Columns as Columns
    from streameval.tabular.evaluate import evaluate_table as evaluate_table
    from streameval.windows.fading import Fading as Fading
    from streameval.windows.sliding import Rolling as Rolling, TimeRolling as TimeRolling
    from streameval.windows.tumbling import ClosedWindow as ClosedWindow, Tumbling as Tumbling

__version__ = _VERSION

_LATER = {
    "delivery.checkpoint": {"Checkpoint", "Checkpointer", "load"},
    "delivery.ledger": {"Ledger"},
    "evaluation.score": {"classification_report", "describe", "score"},
    "metrics.bounds": {"Bounds"},
    "metrics.rankings_at": {"jain_propensities"},
    "progressive": {"Snapshot", "iter_progressive_evaluate", "progressive_evaluate"},
    "progressive.pending": {"Pending"},
    "progressive.trace": {"Trace"},
    "report.label_table": {"LabelTable"},
    "slices": {"Sliced"},
    "tabular.columns": {"Columns"},
    "tabular.evaluate": {"evaluate_table"},
    "windows.fading": {"Fading"},
    "windows.sliding": {"Rolling", "TimeRolling"},
    "windows.tumbling": {"ClosedWindow", "Tumbling"},
}
"""Names that are imported when they are first used, so that importing the package stays quick."""


_ELSEWHERE = {
    "adapters.sklearn": {"scorer"},
    "adapters.torch": {"sync"},
    "metrics.thresholds": {"apply_thresholds", "rcut"},
    "testing": {"check_mergeable"},
}
"""Names of submodules that users look for in the package, by submodule."""

_NAMES = {name for name, value in globals().items() if callable(value) and name[0] != "_"}.union(*_LATER.values())


def __getattr__(name: str) -> object:
    if name == "__all__":
        value: object = sorted(_NAMES) + [entry.class_name for entry in catalogue()]
    elif module := next((module for module, names in _LATER.items() if name in names), ""):
        value = getattr(_import_module(f"streameval.{module}"), name)
    elif name[:1].isupper() and hasattr(_classes, name):
        value = getattr(_classes, name)
    else:
        raise AttributeError(f"module 'streameval' has no attribute {name!r}{_advice(name)}")
    globals()[name] = value
    return value


def _advice(name: str) -> str:
    """What to write in place of an unknown name, such as one of another library."""
    if name.startswith(("Micro", "Macro", "Weighted", "Samples", "River")):
        return "; classes for River are in streameval.adapters.river"
    if name in ("adapters", "plots", "testing"):
        return f"; run: import streameval.{name}"
    if module := next((module for module, names in _ELSEWHERE.items() if name in names), ""):
        return f"; run: from streameval.{module} import {name}"
    if advice := {
        "compare": "save_html({'a': ev, 'b': other}, path) compares evaluators, 'streameval compare' saved states",
        "evaluate": "score(y_true, y_pred, metrics) reads arrays, evaluate_table files and tables",
        "Interval": "Evaluator.bounds returns guaranteed Bounds",
    }.get(name):
        return f"; {advice}"
    if name[0] == "_":
        return ""
    if callable(method := getattr(Evaluator, name, None)):
        owner = "Evaluator" if hasattr(method, "__self__") else "ev"
        return f"; it is a method, as of an Evaluator: {owner}.{name}(...)"
    is_class = name[0].isupper()  # as in torchmetrics
    words = name.removeprefix("Multilabel").removeprefix("multilabel_")
    try:
        spec = metric(_re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", words) if is_class else words).spec
        call = f"call score(y_true, y_pred, [{spec.key!r}])"
        return f"; write {_entry_of(spec.name).class_name}" if is_class else f"; {call}"
    except MetricError as error:
        why, _, advice = str(error).partition("; ")
        return f"; {error}" if "more than one" in why else f"; {advice}" if advice and "catalogue" not in advice else ""


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]  # type: ignore[misc]  # a list
