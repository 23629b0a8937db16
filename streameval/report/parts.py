"""Results for every format: a number for each metric and label, differences of two, and values along a stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from streameval.kernel.types import FloatArray
from streameval.metrics.bounds import Bounds
from streameval.report.model import MetricValue, Report, outwards
from streameval.schema.labels import Label


@dataclass(frozen=True, slots=True)
class Number:
    """A value, or the reason why there is none; with guaranteed bounds if it is not exact."""

    value: int | float | None
    bounds: tuple[float, float] | None = None
    reason: str = ""
    sides: tuple[float | None, float | None] | None = None  # of a change: both values

    @property
    def ends(self) -> tuple[str, str]:
        """The bounds as text, rounded outwards; two empty strings if there are none."""
        return outwards(*self.bounds) if self.bounds else ("", "")

    @property
    def cells(self) -> dict[str, float | None]:
        """The numbers to write, by column: the value, or both sides and the change."""
        if self.sides is None:
            return {"value": self.value}
        return dict(zip("ab", self.sides, strict=True)) | {"change": self.value}


Numbers: TypeAlias = Mapping[Label | None, Number]  # of a metric: by label, or a single one under None

# Names of counts and sums of weights; every other name is that of a metric.
COUNTS = frozenset(("examples", "weight", "tp", "fp", "fn", "tn", "support", "predicted"))


@dataclass(frozen=True, slots=True)
class Part:
    """The results of some rows: all rows, the last ones, or a slice, whose values are ``where``."""

    scope: str
    sizes: Mapping[str, Number]
    metrics: Mapping[str, Numbers]
    labels: Mapping[Label, Mapping[str, Number]]
    where: Mapping[str, object] | None = None


def part_of(
    report: Report,
    scope: str = "all",
    where: Mapping[str, object] | None = None,
    zero_division: float | None = None,
    *,
    items: Iterable[MetricValue] | None = None,
    labelled: bool = False,
) -> Part:
    """A part from a report: all its metrics or only ``items``, with the counts of each label if ``labelled``."""
    empty = "" if report.tables.examples else "no examples"
    metrics: dict[str, Numbers] = {}
    for item in report.values() if items is None else items:
        reason, bounds = empty or str(item.error or ""), item.bounds
        each = item.by_label.items()
        metrics[item.spec.key] = {label: _number(value, bounds.get(label), reason) for label, value in each}
    columns: dict[str, Any] = {}
    if labelled and report.has_decisions:
        columns = {**report.counts.to_dict(), **report.label_values(zero_division)}
    labels = {
        label: {name: _number(values[at], None, empty) for name, values in columns.items() if name != "label"}
        for at, label in enumerate(report.labels if labelled else ())
    }
    sizes = {"examples": Number(report.tables.examples), "weight": Number(report.weight)}
    return Part(scope, sizes, metrics, labels, where)


def _number(value: float | None, bounds: Bounds | None, reason: str) -> Number:
    if value is None or reason or math.isnan(value):
        return Number(None, None, reason or "0/0")
    between = None if bounds is None or bounds.exact else (bounds.low, bounds.high)
    return Number(value, between, "infinite" * math.isinf(value))


def differences(first: Sequence[Part], second: Sequence[Part]) -> list[Part]:
    """The changes from each part of one result to the part of the same scope in another; parts of one only are out."""
    scopes, parts = {part.scope: part for part in second}, list[Part]()
    for a, b in ((part, scopes[part.scope]) for part in first if part.scope in scopes):
        metrics = {key: _changes(a.metrics[key], b.metrics[key]) for key in a.metrics if key in b.metrics}
        every = {**a.labels, **b.labels}
        labels = {label: _changes(a.labels.get(label, {}), b.labels.get(label, {})) for label in every}
        parts.append(Part(a.scope, _changes(a.sizes, b.sizes), metrics, labels, a.where))
    return parts


def _changes(a: Mapping[Any, Number], b: Mapping[Any, Number]) -> dict[Any, Number]:
    absent = Number(None, None, "absent")  # no change, but the side that has a number is written
    return {key: _change(a.get(key, absent), b.get(key, absent)) for key in {**a, **b}}


def _change(a: Number, b: Number) -> Number:
    reasons = [f"{name}: {side.reason}" for name, side in (("a", a), ("b", b)) if side.reason]
    if a.value is None or b.value is None or reasons:
        return Number(None, None, ", ".join(reasons), (a.value, b.value))
    bounds = None
    if a.bounds or b.bounds:
        old, new = a.bounds or (a.value, a.value), b.bounds or (b.value, b.value)
        bounds = math.nextafter(new[0] - old[1], -math.inf), math.nextafter(new[1] - old[0], math.inf)
    return Number(b.value - a.value, bounds, "", (a.value, b.value))


def numbers_of(part: Part) -> dict[str, Any]:
    """A part for JSON: sizes, metrics, the bounds of inexact metrics and the reasons of undefined ones."""
    bounds = {metric: _shaped(numbers, lambda each: each.bounds) for metric, numbers in part.metrics.items()}
    reasons = {metric: _shaped(numbers, lambda each: each.reason) for metric, numbers in part.metrics.items()}
    return {
        **{name: plain_number(number) for name, number in part.sizes.items()},
        "metrics": {metric: _shaped(numbers, plain_number, every=True) for metric, numbers in part.metrics.items()},
        "bounds": {metric: value for metric, value in bounds.items() if value},
        "undefined": {metric: value for metric, value in reasons.items() if value},
    }


def plain_number(number: Number) -> object:
    """A value for JSON, or the sides and the change."""
    return number.value if number.sides is None else number.cells


def _shaped(numbers: Numbers, of: Callable[[Number], Any], *, every: bool = False) -> object:
    """``of`` each number of a metric: a single one, or a record for each label, because 7 is not "7"."""
    if None in numbers:
        return of(numbers[None])
    values = ((label, of(number)) for label, number in numbers.items())
    return [{"label": label, **(value if isinstance(value, dict) else {"value": value})} for label, value in values
            if every or value]  # fmt: skip


Key: TypeAlias = tuple[str, str, Label | None]
"""Metric, evaluator, and label, which is None for a single value."""

_MANY = 50  # from so many rows on, the first tenth does not set the scale of a picture


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a metric of an evaluator, and of a label if by label, along a stream; NaN where undefined."""

    metric: str
    evaluator: str
    label: Label | None
    values: FloatArray
    low: FloatArray  # guaranteed bounds; equal to the values if these are exact
    high: FloatArray

    @property
    def is_bounded(self) -> bool:
        """Whether some value is not exact."""
        return bool((self.low < self.high).any())

    @property
    def ends(self) -> tuple[float, float]:
        """The least lower and greatest upper bound; of many rows without the first tenth, where values jump."""
        start = len(self.values) // 10 if len(self.values) >= _MANY else 0
        start = start if np.isfinite(self.values[start:]).any() else 0
        return float(np.nanmin(self.low[start:])), float(np.nanmax(self.high[start:]))

    @property
    def span(self) -> float:
        return self.ends[1] - self.ends[0]


class HasLines(Protocol):
    """An object with values along a stream, such as `streameval.Trace`."""

    def _lines(self, *, timed: bool = True) -> tuple[str, Sequence[object], list[Line]]:
        """The name of the x axis ("time" if all rows have times), the positions on it, and the lines."""


def column_of(key: Key) -> str:
    """The name of a column, which is unique to its key: a string label that looks like an integer is quoted."""
    metric, evaluator, label = key
    odd = isinstance(label, str) and (not label or label[0] in "'\"" or "[" in label or label.lstrip("-").isdigit())
    name = metric if label is None else f"{metric}: {repr(label) if odd else label}"
    return f"{name} [{evaluator}]" if evaluator else name
