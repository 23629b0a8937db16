"""What monitoring reads of an evaluator, a metric or a window."""

from __future__ import annotations

from typing import TypeAlias

from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.report.model import Report, largest_first
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.windows.base import Window

Monitored: TypeAlias = Evaluator | Metric | Window[Evaluator] | Window[Metric]


def snapshot(source: Monitored, name: str) -> Evaluator | Metric:
    """An ordinary object with what a source holds now, independent of it."""
    if isinstance(source, Window):
        return source.snapshot()
    if not isinstance(source, Evaluator | Metric):
        raise InputError(f"{name} must be an Evaluator, a metric object or a window, not {quoted(source)}")
    return source.copy()


def frequent_labels(report: Report, count: int) -> list[Label]:
    """The labels with the largest support; of equal ones the first in the order of labels."""
    return [report.labels[place] for place in largest_first(report.support)[:count]]
