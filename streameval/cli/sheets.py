"""What is shown of a state, as sheets of rows: the metrics, the slices, the labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from streameval.errors import MetricError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import MetricSpec
from streameval.schema.labels import Label
from streameval.schema.text import printable
from streameval.slices import Sliced
from streameval.windows.base import Window

__all__ = ["Sheet", "Shown", "Whole", "difference_sheets", "number", "sheets_of", "values_of"]

Whole: TypeAlias = Evaluator | Metric
Cell: TypeAlias = str | int | float | None
Values: TypeAlias = dict[str, float | dict[Label, float] | None]

_PER_LABEL = ("precision", "recall", "f1")
_BETTER = {True: "higher is better", False: "lower is better", None: ""}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table. The first column names the row; the bar, if there is one, shows a column of shares."""

    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    note: str = ""
    bar: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown: a whole, with windows and slices beside it."""

    whole: Whole
    metrics: tuple[MetricSpec, ...]
    beside: Mapping[str, Whole] = field(default_factory=dict)
    sliced: Sliced[Any] | None = None
    zero_division: float | None = None

    @classmethod
    def of(
        cls, state: object, metrics: Iterable[MetricSpec] = (), window: Window[Any] | None = None, **rest: Any
    ) -> Shown:
        """Anything that can be saved, ready to be shown."""
        beside = {}
        if window is not None:
            beside[f"last {window.examples:,}"] = window.snapshot()
        if isinstance(state, Window):
            state = state.snapshot()
        sliced = state if isinstance(state, Sliced) else None
        whole: Whole = sliced.total() if sliced is not None else state  # type: ignore[assignment]
        chosen = tuple(metrics) or (whole.metrics if isinstance(whole, Evaluator) else (whole.spec,))
        return cls(whole, chosen, beside, sliced, **rest)

    @property
    def headline(self) -> str:
        """How much was counted."""
        whole = self.whole
        weight = "" if whole.weight == whole.examples else f", total weight {whole.weight:g}"
        told = f"{whole.examples:,} example{'s' * (whole.examples != 1)}{weight}"
        return f"{told}, {len(whole.labels):,} label{'s' * (len(whole.labels) != 1)}"


def values_of(whole: Whole, metrics: Iterable[MetricSpec]) -> Values:
    """The value of each metric; None for those that cannot be read here."""
    found: Values = {}
    for spec in metrics:
        try:
            found[spec.key] = whole.get() if isinstance(whole, Metric) else whole.get(spec)
        except MetricError:  # such as log loss of scores that are no probabilities
            found[spec.key] = None
    return found


def _single(values: Values) -> dict[str, float | None]:
    return {key: value for key, value in values.items() if not isinstance(value, dict)}


def sheets_of(shown: Shown, *, top: int) -> list[Sheet]:
    """The metrics, then the slices, then the labels with the largest support."""
    values = values_of(shown.whole, shown.metrics)
    sheets = [_metrics(shown, values)] if _single(values) else []
    if shown.sliced is not None:
        sheets += _slices(shown, shown.sliced)
    labels = _labels(shown, values, top)
    return sheets + ([labels] if labels is not None else [])


def _metrics(shown: Shown, values: Values) -> Sheet:
    single = _single(values)
    others = [_single(values_of(part, shown.metrics)) for part in shown.beside.values()]
    better = {spec.key: _BETTER[entry_of(spec.name).bigger_is_better] for spec in shown.metrics}
    rows = [(key, value, *(other[key] for other in others), better[key]) for key, value in single.items()]
    first = "value" if not others else "all"
    return Sheet(("metric", first, *shown.beside, ""), rows, bar=first)


def _slices(shown: Shown, sliced: Sliced[Any]) -> list[Sheet]:
    keys = list(_single(values_of(shown.whole, shown.metrics)))
    sheets = []
    for axis in [*sliced.by, *sliced.cross]:
        title = axis if isinstance(axis, str) else " x ".join(axis)
        rows: list[tuple[Cell, ...]] = []
        for part in sliced.slices(axis if isinstance(axis, str) else tuple(axis)):
            single = _single(values_of(part.evaluator, shown.metrics))
            name = " x ".join(printable(str(value)) for value in part.where.values())
            rows.append((name, part.evaluator.examples, *(single[key] for key in keys)))
        sheets.append(Sheet((title, "examples", *keys), rows, bar=keys[0] if keys else None))
    return sheets


def _labels(shown: Shown, values: Values, top: int) -> Sheet | None:
    whole = shown.whole
    by_label = {key: value for key, value in values.items() if isinstance(value, dict)}
    columns: dict[str, Mapping[Label, Any]] = {}
    counts = whole.to_dict().get("labels") if isinstance(whole, Evaluator) else None
    names: list[Label] = list(whole.labels)
    if isinstance(counts, dict):
        names = counts["label"]
        columns |= {key: dict(zip(names, counts[key], strict=True)) for key in ("support", "predicted")}
        if not by_label:
            by_label = {name: dict(_per_label(whole, name, shown.zero_division)) for name in _PER_LABEL}
    columns |= {key.replace("_per_label", "", 1): value for key, value in by_label.items()}
    if not names or not columns or top == 0:
        return None
    order = names
    if "support" in columns and len(names) > top:
        order = sorted(names, key=lambda label: -columns["support"][label])
    order = order[:top]
    rows = [(printable(label), *(column[label] for column in columns.values())) for label in order]
    left = len(names) - len(order)
    note = f"{left:,} more labels; --top {len(names)} shows all" if left else ""
    return Sheet(("label", *columns), rows, note, bar=next(reversed(columns)))


def _per_label(whole: Whole, name: str, zero_division: float | None) -> Mapping[Label, float]:
    more = "" if zero_division is None else f"(zero_division={zero_division})"
    assert isinstance(whole, Evaluator)  # noqa: S101  # only it has labels to show
    found = whole.get(f"{name}_per_label{more}")
    return found if isinstance(found, dict) else {}


def difference_sheets(first: Shown, second: Shown, names: tuple[str, str], *, top: int) -> list[Sheet]:
    """The metrics of two states side by side, and the labels whose F1 differs most."""
    mine, theirs = (_single(values_of(each.whole, first.metrics)) for each in (first, second))
    better = {spec.key: entry_of(spec.name).bigger_is_better for spec in first.metrics}

    def verdict(key: str, change: float | None) -> str:
        if change is None or not change or better[key] is None or math.isnan(change):
            return ""
        return "better" if (change > 0) == better[key] else "worse"

    rows: list[tuple[Cell, ...]] = []
    for key, value in mine.items():
        change = _minus(theirs[key], value)
        rows.append((key, value, theirs[key], change, verdict(key, change)))
    sheets = [Sheet(("metric", *names, "change", ""), rows)]
    if all(isinstance(each.whole, Evaluator) and "labels" in each.whole.to_dict() for each in (first, second)):
        before, after = (_per_label(each.whole, "f1", each.zero_division) for each in (first, second))
        both = [(label, before[label], after[label]) for label in before if label in after]
        changed = sorted((row for row in both if row[1] != row[2]), key=lambda row: -abs(row[2] - row[1]))
        if changed and top:
            labels: list[tuple[Cell, ...]] = [
                (printable(label), old, new, new - old) for label, old, new in changed[:top]
            ]
            note = f"{len(changed) - top:,} more labels differ" if len(changed) > top else ""
            sheets.append(Sheet(("f1 by label", *names, "change"), labels, note))
    return sheets


def _minus(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def number(cell: Cell, *, signed: bool = False) -> str:
    """A cell as text."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    if math.isnan(cell):
        return "nan"
    return f"{cell:+.4f}" if signed else f"{cell:.4f}"
