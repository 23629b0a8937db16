"""Sections that compare: runs, slices, windows, and values along the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streameval.kernel.types import FloatArray, IntArray
from streameval.metrics.catalogue import build_spec
from streameval.metrics.spec import MetricSpec
from streameval.report.model import Column, Report, Table, largest_first, rows_of, table_of_reports
from streameval.report.page.charts import TONES, Chart, nice_axis
from streameval.report.page.markup import LONGEST, Section, formatted, label_strings, table_section
from streameval.report.page.metrics import facts
from streameval.report.parts import HasLines, Line
from streameval.schema.labels import Label
from streameval.schema.text import cut, cut_distinct, number_of, printable

Runs = Sequence[tuple[str, Report]]

_FEW = 30  # examples below which the metrics of a slice say little
_F1 = build_spec("f1", average=None)
_FIRST = 25  # rows of labels of slices that are visible at first
_CELLS = 20_000  # rows of labels of slices at most
_POINTS, _CHARTS = 600, 24  # points of a line, and charts, along the stream at most
_TOGETHER = 4  # metrics in one picture
_NAME = 26  # characters of labels and evaluators in legends
_SCALE = 6  # the height of a picture is at most so many times the range of each line in it


def change_sections(runs: Runs, max_labels: int) -> list[Section | None]:
    """Sections that compare the runs: sizes, metrics, labels."""
    each = [{(name, kind): value for name, kind, value in facts(report)} for _, report in runs]
    columns = [Column("run", "label", [cut(name, LONGEST) for name, _ in runs])]
    for name, kind in dict.fromkeys(head for values in each for head in values):
        absent = "" if kind == "text" else math.nan
        columns.append(Column(name, kind, [values.get((name, kind), absent) for values in each]))
    overview = table_section("Runs", Table("runs", "What was evaluated", columns))
    return [overview, _metrics(runs), _labels(runs, max_labels)]


def slice_label_section(whole: Report, slices: Runs) -> Section | None:
    """F1 of each label in each slice (if there are too many, in the largest), compared with all examples."""
    most = max(1, _CELLS // max(1, len(whole.labels)))
    of_all = _values(whole, _F1)
    rows: list[tuple[Any, ...]] = []
    for name, part in sorted(slices, key=lambda each: -each[1].tables.examples)[:most]:
        support = dict(zip(part.labels, part.support, strict=True))
        for label, f1 in _values(part, _F1).items():
            if support[label] and label in of_all:
                rows.append((name, label, support[label], f1, of_all[label], f1 - of_all[label]))
    if not rows:
        return None
    rows.sort(key=lambda row: (row[2] < _FEW, row[5]))
    full = max((abs(row[5]) for row in rows if row[2] >= _FEW), default=0.0)  # small slices vary by chance
    names, labels, sizes, values, overall, changes = zip(*rows, strict=True)
    few = f"; * marks fewer than {_FEW} true examples, which come last" if min(sizes) < _FEW else ""
    columns = [
        Column("slice", "label", [cut(name, LONGEST) for name in names]),
        Column("label", "text", label_strings(labels)),
        Column("support", "count", sizes, "examples of the slice in which the label is true", few=_FEW),
        Column("F1", "bar", values),
        Column("F1 of all", "fraction", overall, "that of the label in all examples"),
        Column("change", "change", changes, "F1 minus that of all", full=full or max(map(abs, changes)) or 1.0),
    ]
    caption = f"F1 of each label in each slice, the largest drop from all examples first{few}"
    return table_section("Labels of slices", Table("slice_labels", caption, columns, first=_FIRST), row="row")


def _values(report: Report, spec: MetricSpec) -> dict[Any, float]:
    """The values of a metric by label; empty if there is no example, or the metric cannot be read."""
    item = report.value(spec)
    return item.by_label if report.tables.examples and item.error is None else {}


def _side_by_side(runs: Runs, keys: list[Any], read: list[dict[Any, float]]) -> tuple[list[Column], list[int]]:
    """Columns of the values of each run and of the changes from the first; and the rows from the largest change on."""
    values = np.array([[of.get(key, math.nan) for key in keys] for of in read], np.float64)
    with np.errstate(invalid="ignore"):
        changes = values[1:] - values[0]
    changes[np.isinf(changes)] = math.nan
    sizes = np.nan_to_num(np.abs(changes), nan=-1.0).max(axis=0)
    full = max(0.0, *sizes.tolist()) or 1.0
    columns = [Column(name, "fraction", column) for (name, _), column in zip(runs, values.tolist(), strict=True)]
    for (name, _), column in zip(runs[1:], changes.tolist(), strict=True):
        head = "change" if len(runs) == 2 else f"change to {name}"
        columns.append(Column(head, "change", column, f"{name} minus {runs[0][0]}", full=full))
    return columns, largest_first(sizes.tolist())


def _metrics(runs: Runs) -> Section | None:
    items = {item.spec.key: item for item in runs[0][1].single()}
    if not items:
        return None
    keys, specs = [*items], [item.spec for item in items.values()]
    read = [{spec.key: one for spec in specs for one in _values(report, spec).values()} for _, report in runs]
    columns, rows = _side_by_side(runs, keys, read)
    better = Column("better", "text", [items[key].direction.removesuffix(" is better") for key in keys])
    columns = rows_of([Column("metric", "label", keys), *columns, better], rows)
    table = Table("changes", "Metrics of the runs, the largest change first", columns)
    return table_section("Metrics", table, name="metrics")


def _labels(runs: Runs, max_labels: int) -> Section | None:
    """F1 of each label in each run, or the area under the ROC curve if a run has no binary predictions."""
    reports = [report for _, report in runs]
    decided = all(report.has_decisions for report in reports)
    if not decided and not all(report.view("curves") for report in reports):
        return None
    spec, word = (_F1, "F1") if decided else (build_spec("roc_auc", average=None), "ROC AUC")
    labels = [*dict.fromkeys(label for report in reports for label in report.labels)]
    if not labels:
        return None
    columns, rows = _side_by_side(runs, labels, [_values(report, spec) for report in reports])
    left = f", {max_labels:,} of {len(labels):,}" if max_labels < len(labels) else ""
    if decided:
        support = dict(zip(reports[0].labels, reports[0].support, strict=True))
        columns.append(Column("support", "count", [support.get(label, 0) for label in labels], f"in {runs[0][0]}"))
    columns = rows_of([Column("label", "label", label_strings(labels)), *columns], rows[:max_labels])
    caption = f"{word} of each label, the largest change first{left}"
    return table_section("Labels", Table("labels", caption, columns), row="label")


def part_section(name: str, caption: str, parts: Sequence[tuple[str, Report]]) -> Section | None:
    """The chosen metrics of each slice, the worst first, or of each window."""
    if not parts:
        return None
    table = table_of_reports(name.removesuffix("s"), [(cut(part, LONGEST), report) for part, report in parts])
    if name != "slices":
        return table_section(name.capitalize(), replace(table, name=name, caption=caption, by=""))
    part, sizes, *metrics = table.columns
    caption += f", the worst {table.by} first" if table.by else ""
    caption += f"; * marks fewer than {_FEW} examples" if min(sizes.values) < _FEW else ""
    columns = [part, replace(sizes, few=_FEW), *metrics]
    return table_section("Slices", replace(table, name=name, caption=caption, columns=columns))


def stream_section(trace: HasLines) -> Section | None:
    """Pictures of the metrics that were recorded along the stream; see `_pictures`."""
    _, examples, every = trace._lines(timed=False)
    lines = [_finite(line) for line in every if np.isfinite(line.values).any()]
    if not lines:
        return None
    rows = np.unique([*range(0, len(examples), max(1, math.ceil(len(examples) / _POINTS))), len(examples) - 1])
    pictures, names = _pictures(lines), _names(lines)
    charts = "".join(_chart(each, names, np.array(examples, np.float64), rows) for each in pictures[:_CHARTS])
    more = len(pictures) - _CHARTS
    rest = f"<p>{number_of(more, 'more picture')} omitted.</p>" if more > 0 else ""
    return Section("course", "Along the stream", f'<div class="charts">{charts}</div>{rest}')


def _finite(line: Line) -> Line:
    values = np.where(np.isfinite(line.values), line.values, math.nan)
    low, high = (np.where(np.isfinite(side), side, values) for side in (line.low, line.high))
    return replace(line, values=values, low=low, high=high)


def _names(lines: Sequence[Line]) -> dict[tuple[str, Label | None], str]:
    """A unique name for the lines of each evaluator and label."""
    labels = list(dict.fromkeys(line.label for line in lines if line.label is not None))
    evaluators = list(dict.fromkeys(line.evaluator for line in lines))
    strings: dict[Label | None, str] = dict(zip(labels, cut_distinct(label_strings(labels), _NAME), strict=True))
    shortened = dict(zip(evaluators, cut_distinct(list(map(printable, evaluators)), _NAME), strict=True))
    pairs = {(line.evaluator, line.label) for line in lines}
    return {pair: ", ".join(filter(None, (strings.get(pair[1]), shortened[pair[0]]))) for pair in pairs}


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    return min(line.ends[0] for line in lines), max(line.ends[1] for line in lines)


def _pictures(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each picture: one metric, or a few metrics of one line each if these fit on one scale."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.metric, []).append(line)
    pictures: list[list[Line]] = []
    for group in groups.values():
        like = next((each for each in pictures if len(group) == 1 and _comparable([*each, *group])), list[Line]())
        if not like:
            pictures.append(like)
        like += group
    return pictures


def _comparable(lines: Sequence[Line]) -> bool:
    """Whether lines are of different metrics of one evaluator, on a scale that shows how each of them changes."""
    if len(lines) > _TOGETHER or len({(line.evaluator, line.label) for line in lines}) > 1:
        return False
    low, high = _ends(lines)
    return high - low <= _SCALE * min(line.span for line in lines)


def _chart(
    lines: list[Line], names: Mapping[tuple[str, Label | None], str], examples: FloatArray, rows: IntArray
) -> str:
    """A chart along the stream; shaded: bounds, values between the drawn points, and the range of too many lines."""
    across, metrics = examples[rows], list(dict.fromkeys(line.metric for line in lines))
    title, (least, most) = ", ".join(metrics), _ends(lines)
    up = nice_axis("", least, most)
    low, high = min(up.low, least), max(up.high, most)  # an axis may end a rounding error before a value
    axes = nice_axis("examples", 0.0, float(across.max()), tight=True), up
    chart = Chart(title, f"{title} along the stream.", *axes, "wide", at=across)
    starts = [np.flatnonzero((line.values < low) | (line.values > high)).max(initial=-1) + 1 for line in lines]
    if any(starts):
        first = number_of(int(examples[max(starts) - 1]), "example")
        chart.note = f"Values of the first {first} are left out. "  # they would stretch the scale
    for line, start in zip(lines, starts, strict=True):
        for part in (line.values, line.low, line.high):
            part[:start] = math.nan
    if len(lines) > len(TONES):
        every = np.fmin.reduce([line.low for line in lines]), np.fmax.reduce([line.high for line in lines])
        chart.band(examples, *every, "h")
        chart.note += f"The {len(TONES)} of {len(lines):,} lines that vary most. Shaded: all of them."
        lines = sorted(lines, key=lambda line: -line.span)[: len(TONES)]
    for line, tone in zip(lines, TONES, strict=False):
        drawn = line.values[rows]
        name = ", ".join(filter(None, (line.metric if len(metrics) > 1 else "", names[line.evaluator, line.label])))
        shaded = chart.band(across, np.fmin.reduceat(line.low, rows), np.fmax.reduceat(line.high, rows), tone)
        if shaded and line.is_bounded and "Shaded" not in chart.note:
            chart.note += "Shaded: guaranteed bounds of binned scores."
        last = f"{name}: {formatted(float(drawn[-1]), 'fraction')} at the end".removeprefix(": ")
        chart.line(name or title, across, drawn, tone, marks=drawn, legend=last, thin=False)
    return chart.html()
