"""What monitoring tells of an evaluator, a metric or a window: its metrics, and its most frequent labels."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from streameval.errors import InputError, shown
from streameval.evaluator import Evaluator
from streameval.label_table import LabelTable
from streameval.labels import Label
from streameval.metrics.spec import MetricSpec
from streameval.single import Metric
from streameval.windows.base import Window

__all__ = ["Monitored", "checked_most", "frozen", "most_frequent", "specs_of"]

Monitored: TypeAlias = Evaluator | Metric | Window[Evaluator] | Window[Metric]


def frozen(source: Monitored, name: str) -> Evaluator | Metric:
    """An ordinary object with what a source holds now, independent of it."""
    if isinstance(source, Window):
        return source.snapshot()
    if not isinstance(source, Evaluator | Metric):
        raise InputError(f"{name} must be an Evaluator, a metric object or a window, not {shown(source)}")
    return source.copy()


def specs_of(counts: Evaluator | Metric) -> tuple[MetricSpec, ...]:
    """The metrics that `get` returns."""
    return counts.metrics if isinstance(counts, Evaluator) else (counts.spec,)


def checked_most(most: object) -> int:
    """How many labels may be told of, or what is wrong with it."""
    if type(most) is not int or most < 0:
        raise InputError(f"most must be an integer of at least 0, not {shown(most)}")
    return most


def most_frequent(counts: Evaluator | Metric, most: int) -> dict[Label, float]:
    """The labels with the largest support, and their supports; of equal ones the first in the order of labels."""
    table = LabelTable.of(counts._tables())
    first = np.argsort(-table.support, kind="stable")[:most].tolist()
    return {table.labels[place]: table.support[place].item() for place in first}
