"""What monitoring tells of an evaluator, a metric or a window: its metrics, and its most frequent labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np

from streameval.errors import InputError, MetricError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.metrics.catalogue import entry_of, evaluate
from streameval.metrics.spec import MetricSpec, choice_text, number_text
from streameval.report.label_table import LabelTable
from streameval.schema.labels import Label
from streameval.schema.text import printable, quoted
from streameval.windows.base import Window

__all__ = [
    "Monitored", "checked_most", "choices_of", "frozen", "help_of", "most_frequent", "specs_of", "texts_of",
    "values_of",
]  # fmt: skip

Monitored: TypeAlias = Evaluator | Metric | Window[Evaluator] | Window[Metric]


def frozen(source: Monitored, name: str) -> Evaluator | Metric:
    """An ordinary object with what a source holds now, independent of it."""
    if isinstance(source, Window):
        return source.snapshot()
    if not isinstance(source, Evaluator | Metric):
        raise InputError(f"{name} must be an Evaluator, a metric object or a window, not {quoted(source)}")
    return source.copy()


def specs_of(counts: Evaluator | Metric) -> tuple[MetricSpec, ...]:
    """The metrics that `get` returns."""
    return counts.metrics if isinstance(counts, Evaluator) else (counts.spec,)


def checked_most(most: object) -> int:
    """How many labels may be told of, or what is wrong with it."""
    if type(most) is not int or most < 0:
        raise InputError(f"most must be an integer of at least 0, not {quoted(most)}")
    return most


def most_frequent(counts: Evaluator | Metric, most: int) -> dict[Label, float]:
    """The labels with the largest support, and their supports; of equal ones the first in the order of labels."""
    table = LabelTable.of(counts._tables())
    first = np.argsort(-table.support, kind="stable")[:most].tolist()
    return {table.labels[place]: table.support[place].item() for place in first}


def texts_of(labels: Iterable[Label]) -> dict[Label, str]:
    """Labels as text; of those that look alike (7 and "7") the more frequent one."""
    found: dict[str, Label] = {}
    for label in labels:
        found.setdefault(printable(label), label)
    return {label: text for text, label in found.items()}


def choices_of(spec: MetricSpec) -> dict[str, str]:
    """Every parameter, so that all series of a name have the same labels, and what else was chosen."""
    found = {name: choice_text(value) for name, value in spec.parameters}
    if number_text(spec.zero_division) != number_text(entry_of(spec.name).zero_division):
        found["zero_division"] = number_text(spec.zero_division)
    return found if spec.empty == "zero_division" else {**found, "empty": spec.empty}


def help_of(spec: MetricSpec) -> str:
    """What a metric says, and its range and direction."""
    entry = entry_of(spec.name)
    better = "" if entry.bigger_is_better is None else f"; {entry.direction}"
    return f"{entry.summary} In [{entry.low:g}, {entry.high:g}]{better}."


def values_of(
    spec: MetricSpec, counts: Evaluator | Metric, chosen: Mapping[Label, str]
) -> Iterator[tuple[dict[str, str], float]]:
    """Labels and value of each sample of a metric; NaN where it cannot be read, since one must not hide the others."""
    try:
        value = evaluate(spec, counts._readings().of(spec))
    except MetricError:
        value = math.nan
    if isinstance(value, dict):
        yield from (({"label": text}, value[label]) for label, text in chosen.items() if label in value)
    else:
        yield {}, value
