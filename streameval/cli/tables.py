"""Parts of results as tables for people: the metrics, the slices with the worst first, the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from streameval.metrics.catalogue import entry_of, parse_spec
from streameval.report.model import PER_LABEL, Column, Kind, Table, largest_first, listed, outwards, worst_first
from streameval.report.parts import Number, Numbers, Part

_ARROWS = {True: " ↑", False: " ↓", None: ""}
_FIRST = ("f1_micro", "f1_macro")  # metrics of slices that come first where nobody chose any
_TOP = 3


@dataclass(frozen=True, slots=True)
class Document:
    """All that a command says: the parts, of which the first has all rows, and where they come from.

    ``names`` are those of two results whose difference it is. Tables have all metrics of slices where ``chosen``.
    ``notes`` are for standard error.
    """

    parts: Sequence[Part]
    headline: str
    source: Mapping[str, object]
    warnings: Sequence[str] = ()
    names: Sequence[str] = ()
    chosen: bool = False
    notes: Sequence[str] = ()


def tables_of(document: Document, *, top: int) -> list[Table]:
    """The metrics, then the slices, then the first labels."""
    every, *rest = document.parts
    if not any(every.sizes["examples"].cells.values()):
        return []
    tables = _metrics(every, [part for part in rest if part.where is None], document.names)
    slices = [part for part in rest if part.where is not None]
    for axis, group in groupby(slices, lambda part: tuple(part.where or ())):
        tables.append(_slices(axis, list(group), chosen=document.chosen))
    return tables + (_changed(every, top, document.names) if document.names else _labels(every, top))


def _arrow(metric: str) -> str:
    return metric + _ARROWS[entry_of(parse_spec(metric).name).bigger_is_better]


def _single(part: Part) -> dict[str, Number]:
    """The metrics of all labels together."""
    return {metric: numbers[None] for metric, numbers in part.metrics.items() if None in numbers}


def _by_label(part: Part) -> dict[str, Numbers]:
    return {metric: numbers for metric, numbers in part.metrics.items() if numbers and None not in numbers}


def _metrics(every: Part, windows: list[Part], names: Sequence[str]) -> list[Table]:
    single = _single(every)
    columns = [Column("metric", "label", [*map(_arrow, single)])]
    columns += _values(list(single.values()), names, "all" if windows else "value")
    for part in windows:
        columns.append(Column(part.scope, "fraction", [part.metrics[metric][None].value for metric in single]))
    bounds = ["{} to {}".format(*outwards(*number.bounds)) if number.bounds else "" for number in single.values()]
    columns += [Column("guaranteed", "text", bounds)] if any(bounds) else []
    reasons = [f"{metric}: {number.reason}" for metric, number in single.items() if number.reason]
    return [Table("metrics", "; ".join(reasons), columns)] if single else []


def _values(numbers: Sequence[Number], names: Sequence[str], name: str = "value") -> list[Column]:
    """The columns of some numbers: their value, or that of both sides, called by ``names``, and the change."""
    if not names:
        return [Column(name, "bar", [number.value for number in numbers])]
    return listed((*names, "change"), ("fraction", "fraction", "change"), ([*each.cells.values()] for each in numbers))


def _slices(axis: Sequence[str], parts: list[Part], *, chosen: bool) -> Table:
    """The slices by some names, the one with the least value, or the greatest loss, first."""
    every, note = list(_single(parts[0])), ""
    metrics = every if chosen else sorted(every, key=lambda metric: metric not in _FIRST)[:_TOP]
    if metrics:
        first = [part.metrics[metrics[0]][None].value for part in parts]
        values = [math.nan if value is None else value for value in first]
        parts = [parts[at] for at in worst_first(values, parse_spec(metrics[0]))]
        note = f"worst {metrics[0]} first"
    if len(every) > len(metrics):
        note += f"; --metrics shows others, such as {next(metric for metric in every if metric not in metrics)}"
    sides = [side for side in parts[0].sizes["examples"].cells if side != "change"]
    columns = [Column(name, "label", [(part.where or {})[name] for part in parts]) for name in axis]
    for side in sides:
        sizes = [part.sizes["examples"].cells[side] for part in parts]
        columns.append(Column("examples" if len(sides) == 1 else f"examples {side}", "count", sizes))
    for metric in metrics:
        kind: Kind = "change" if len(sides) > 1 else "bar" if metric == metrics[0] else "fraction"
        name = f"{metric} change" if len(sides) > 1 else _arrow(metric)
        columns.append(Column(name, kind, [part.metrics[metric][None].value for part in parts]))
    return Table("slices", note, columns)


def by_support(part: Part, top: int) -> list[Any]:
    """The labels of a part: of more than ``top`` those with the largest support."""
    labels = list(part.labels)
    if len(labels) > top and "support" in part.labels[labels[0]]:
        support = [part.labels[label]["support"] for label in labels]
        labels = [labels[at] for at in largest_first([float(number.value or 0) for number in support])]
    return labels[:top]


def omitted_labels(part: Part, top: int) -> str:
    """What to say where only so many labels are shown."""
    omitted = len(part.labels) - top
    return f"{omitted:,} more labels; --top {len(part.labels)} shows all" if omitted > 0 else ""


def _labels(part: Part, top: int) -> list[Table]:
    chosen, columns = by_support(part, top), _by_label(part)
    counts = [name for name in ("support", "predicted") if chosen and name in part.labels[chosen[0]]]
    if counts and not columns:
        columns = {name: {label: part.labels[label][name] for label in chosen} for name in PER_LABEL}
    if not chosen or not columns:
        return []
    table = [Column("label", "label", chosen)]
    table += [Column(name, "count", [part.labels[label][name].value for label in chosen]) for name in counts]
    for name, numbers in columns.items():
        kind: Kind = "bar" if name == next(reversed(columns)) else "fraction"
        values = [numbers[label].value if label in numbers else None for label in chosen]
        table.append(Column(name.replace("_per_label", "", 1), kind, values))
    return [Table("labels", omitted_labels(part, top), table)]


def _changed(part: Part, top: int, names: Sequence[str]) -> list[Table]:
    """The labels of which a metric changed most: the metrics of labels that were asked for, or F1."""
    f1 = {"f1": {label: numbers["f1"] for label, numbers in part.labels.items() if "f1" in numbers}}
    tables = []
    for metric, numbers in (_by_label(part) or f1).items():
        changed = [(label, number) for label, number in numbers.items() if number.value or number.reason]
        changed.sort(key=lambda pair: -abs(pair[1].value or 0.0))
        if changed and top:
            note = f"{len(changed) - top:,} more labels differ" if len(changed) > top else ""
            title = f"{metric.replace('_per_label', '', 1)} by label"
            labels = [label for label, _ in changed[:top]]
            values = _values([number for _, number in changed[:top]], names)
            tables.append(Table("labels", note, [Column(title, "label", labels), *values]))
    return tables
