"""What results say in every format: of some rows a number for each metric, and for each label; and how two differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from streameval.metrics.bounds import Bounds
from streameval.report.model import MetricValue, Report
from streameval.schema.labels import Label


@dataclass(frozen=True, slots=True)
class Number:
    """A value, or why there is none; its guaranteed bounds where it is not exact.

    ``sides`` are the values of two results whose change it is.
    """

    value: int | float | None
    bounds: tuple[float, float] | None = None
    reason: str = ""
    sides: tuple[float | None, float | None] | None = None

    @property
    def cells(self) -> dict[str, float | None]:
        """What formats write of it, by name."""
        if self.sides is None:
            return {"value": self.value}
        return dict(zip("ab", self.sides, strict=True)) | {"change": self.value}


Numbers: TypeAlias = Mapping[Label | None, Number]  # of a metric: by label, or, under None, of all labels together

# What is counted, or is a sum of weights; everything else is a metric.
COUNTS = frozenset(("examples", "weight", "tp", "fp", "fn", "tn", "support", "predicted"))


@dataclass(frozen=True, slots=True)
class Part:
    """What some rows come to: all of them, the last ones, or a slice, whose values are ``where``."""

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
    """What a report says, of all its metrics or some ``items``, with the counts of each label where ``labelled``."""
    empty = "" if report.tables.examples else "no examples"
    metrics: dict[str, Numbers] = {}
    for item in report.values() if items is None else items:
        reason, bounds = empty or str(item.error or ""), report.bounds_by_label(item)
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
    inexact = bounds is not None and not bounds.exact
    return Number(value, (bounds.low, bounds.high) if bounds and inexact else None, "infinite" * math.isinf(value))


def differences(first: Sequence[Part], second: Sequence[Part]) -> list[Part]:
    """How the parts that two results have in common differ."""
    scopes = {part.scope: part for part in second}
    return [_difference(part, scopes[part.scope]) for part in first if part.scope in scopes]


def _difference(a: Part, b: Part) -> Part:
    metrics = {key: _changes(a.metrics[key], b.metrics[key]) for key in a.metrics if key in b.metrics}
    labels = {label: _changes(a.labels.get(label, {}), b.labels.get(label, {})) for label in {**a.labels, **b.labels}}
    return Part(a.scope, _changes(a.sizes, b.sizes), metrics, labels, a.where)


def _changes(a: Mapping[Any, Number], b: Mapping[Any, Number]) -> dict[Any, Number]:
    absent = Number(None, None, "absent")  # of what only one has there is no change, but there are its sides
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
    """What JSON says of a part: sizes, metrics, bounds of those that are not exact, reasons of undefined ones."""
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
    """What there is to say of a metric: of all labels together, or a record for each, since 7 is not "7"."""
    if None in numbers:
        return of(numbers[None])
    values = ((label, of(number)) for label, number in numbers.items())
    return [{"label": label, **(value if isinstance(value, dict) else {"value": value})} for label, value in values
            if every or value]  # fmt: skip
