"""What monitoring shows of an evaluator, a metric or a window: its metrics, and its most frequent labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import MetricSpec, choice_text, number_text
from streameval.report.model import Report, largest_first
from streameval.schema.labels import Label
from streameval.schema.text import printable, quoted
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


def label_strings(labels: Iterable[Label]) -> dict[Label, str]:
    """Labels as strings; of those that look alike (7 and "7") the first."""
    strings: dict[str, Label] = {}
    for label in labels:
        strings.setdefault(printable(label), label)
    return {label: string for string, label in strings.items()}


def parameters(spec: MetricSpec) -> dict[str, str]:
    """Every parameter, so that all series of a name have the same labels, and what else was chosen."""
    chosen = {name: choice_text(value) for name, value in spec.parameters}
    if number_text(spec.zero_division) != number_text(entry_of(spec.name).zero_division):
        chosen["zero_division"] = number_text(spec.zero_division)
    return chosen if spec.empty == "zero_division" else {**chosen, "empty": spec.empty}


def description(spec: MetricSpec) -> str:
    """What a metric says, and its range and direction."""
    entry = entry_of(spec.name)
    better = "" if entry.bigger_is_better is None else f"; {entry.direction}"
    return f"{entry.summary} In [{entry.low:g}, {entry.high:g}]{better}."
