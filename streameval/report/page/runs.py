"""What differs: the metrics and labels of several runs from those of the first, the labels of slices from all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from streameval.metrics.catalogue import build_spec
from streameval.metrics.spec import MetricSpec
from streameval.report.model import Column, Report, Table, largest_first, rows_of
from streameval.report.page.charts import Chart, fraction_axis
from streameval.report.page.markup import LONGEST, Section, filter_form, label_strings, table_html, table_section
from streameval.report.page.metrics import facts
from streameval.schema.text import cut, cut_distinct, number_of

Runs = Sequence[tuple[str, Report]]

FEW = 30  # examples below which the metrics of a slice say little
_F1 = build_spec("f1", average=None)
_NAME = 40
_NAMED = 12  # labels with their names in the picture
_FIRST = 25  # labels that stand next to the picture at first
_CELLS = 20_000  # labels of slices that the page has at most


def change_sections(runs: Runs, max_labels: int) -> list[Section | None]:
    """What is compared: the runs, their metrics, their labels."""
    return [_overview(runs), _metrics(runs), _labels(runs, max_labels)]


def slice_label_section(whole: Report, slices: Runs) -> Section | None:
    """F1 of each label in each slice, or in the largest slices, against that of all examples."""
    most = max(1, _CELLS // max(1, len(whole.labels)))
    of_all = _values(whole, _F1)
    rows: list[tuple[Any, ...]] = []
    for name, part in sorted(slices, key=lambda each: -each[1].tables.examples)[:most]:
        support = dict(zip(part.labels, part.support, strict=True)) if part.has_decisions else {}
        for label, f1 in _values(part, _F1).items():
            if support[label] and label in of_all:
                rows.append((name, label, support[label], f1, of_all[label], f1 - of_all[label]))
    if not rows:
        return None
    rows.sort(key=lambda row: (row[2] < FEW, row[5]))
    names, labels, sizes, values, others, changes = zip(*rows, strict=True)
    few = f"; * has fewer than {FEW} true examples" if min(sizes) < FEW else ""
    columns = [
        Column("slice", "label", [cut(name, LONGEST) for name in names]),
        Column("label", "text", label_strings(labels)),
        Column("support", "count", sizes, "examples of the slice in which the label is true", few=FEW),
        Column("F1", "bar", values),
        Column("F1 of all", "fraction", others, "that of the label in all examples"),
        Column("change", "change", changes, "F1 minus that of all", full=max(map(abs, changes)) or 1.0),
    ]
    caption = f"F1 of each label in each slice, the furthest below that of all examples first{few}"
    return table_section("Labels of slices", Table("slice_labels", caption, columns, first=_FIRST), row="row")


def _values(report: Report, spec: MetricSpec) -> dict[Any, float]:
    """The values of a metric, none where there is no example or it cannot be read."""
    item = report.value(spec)
    return item.by_label if report.tables.examples and item.error is None else {}


def _overview(runs: Runs) -> Section:
    each = [dict(facts(report)) for _, report in runs]
    heads = dict.fromkeys(name for facts_of in each for name in facts_of)
    columns = [Column("run", "label", [cut(name, LONGEST) for name, _ in runs])]
    columns += [Column(head, "text", [facts_of.get(head, "") for facts_of in each]) for head in heads]
    return table_section("Runs", Table("runs", "What was evaluated", columns))


def _side_by_side(runs: Runs, keys: list[Any], read: list[dict[Any, float]]) -> tuple[list[Column], list[int]]:
    """The values of each run, and the change to each later one; the order from the largest change."""
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
    return Section("metrics", "Metrics", table_html(table), table)


def _labels(runs: Runs, max_labels: int) -> Section | None:
    """F1 of each label in each run, or the area under the ROC curve where there are no binary predictions."""
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
    table = Table("labels", caption, columns, first=_FIRST if len(runs) == 2 else 100)
    html = filter_form("labels", "label") + table_html(table)
    if len(runs) == 2:
        html = f'<div class="side-by-side even">{_scatter(runs, columns, word)}<div>{html}</div></div>'
    return Section("labels", "Labels", html, table)


def _scatter(runs: Runs, columns: Sequence[Column], word: str) -> str:
    """The labels of the table, by their values in both runs; those that changed most have their names."""
    names, old, new = (column.values for column in columns[:3])
    rows = [row for row in range(len(names)) if math.isfinite(old[row]) and math.isfinite(new[row])]
    across, up = [old[row] for row in rows], [new[row] for row in rows]
    first, second = (fraction_axis(cut(name, _NAME), [*across, *up]) for name, _ in runs)
    chart = Chart(f"{word} of each label", f"{word} of {number_of(len(rows), 'label')} in both runs.", first, second)
    chart.note = f"Each dot is a label. Above the line {second.title} is greater."
    chart.guide([0, 1], [0, 1])
    chart.dots(across, up, "labels", rows)
    texts = cut_distinct([str(names[row]) for row in rows[:_NAMED]], 20)
    chart.names(across[:_NAMED], up[:_NAMED], texts, 0.018)
    return chart.html()
