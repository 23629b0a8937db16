"""What differs: the metrics and labels of several runs from those of the first, the labels of slices from all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from streameval.metrics.catalogue import build_spec
from streameval.report.model import Column, Report, Table, rows_of
from streameval.report.page.charts import Chart, fraction_axis
from streameval.report.page.markup import LONGEST, Section, filter_form, label_strings, table_html, table_section
from streameval.report.page.metrics import facts
from streameval.report.parts import Number, Numbers, changes, part_of
from streameval.schema.text import cut, cut_distinct, number_of

Runs = Sequence[tuple[str, Report]]

FEW = 30
"""Examples below which the metrics of a slice say little."""

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
    rows: list[tuple[Any, ...]] = []
    for name, part in sorted(slices, key=lambda each: -each[1].tables.examples)[:most]:
        if whole.has_decisions and part.has_decisions:
            support = dict(zip(part.labels, part.support, strict=True))
            for label, number in changes(_of_labels(whole), _of_labels(part)).items():
                if number.sides and number.value is not None and support[label]:
                    rows.append((name, label, support[label], number.sides[1], number.sides[0], number.value))
    if not rows:
        return None
    rows.sort(key=lambda row: (row[2] < FEW, row[5]))
    names, labels, sizes, *values = zip(*rows, strict=True)
    few = f"; * has fewer than {FEW} true examples" if min(sizes) < FEW else ""
    columns = [
        Column("slice", "label", [cut(name, LONGEST) for name in names]),
        Column("label", "text", label_strings(labels)),
        Column("support", "count", sizes, "examples of the slice in which the label is true", few=FEW),
        Column("F1", "bar", values[0]),
        Column("F1 of all", "fraction", values[1], "that of the label in all examples"),
        Column("change", "change", values[2], "F1 minus that of all", full=max(map(abs, values[2])) or 1.0),
    ]
    caption = f"F1 of each label in each slice, the furthest below that of all examples first{few}"
    return table_section("Labels of slices", Table("slice_labels", caption, columns, first=_FIRST), row="row")


def _of_labels(report: Report) -> Numbers:
    return part_of(Report(report.views, [_F1])).metrics[_F1.key]


def _overview(runs: Runs) -> Section:
    each = [dict(facts(report)) for _, report in runs]
    heads = dict.fromkeys(name for facts_of in each for name in facts_of)
    columns = [Column("run", "label", [cut(name, LONGEST) for name, _ in runs])]
    columns += [Column(head, "text", [facts_of.get(head, "") for facts_of in each]) for head in heads]
    return table_section("Runs", Table("runs", "What was evaluated", columns))


def _side_by_side(runs: Runs, numbers: Sequence[Mapping[Any, Number]]) -> tuple[list[Any], list[Column], list[int]]:
    """What has values; the values of each run and the change to each later one; the order from the largest change."""
    later = [changes(numbers[0], each) for each in numbers[1:]]
    keys = [*dict.fromkeys(key for each in numbers for key in each)]

    def values(of: Mapping[Any, Number]) -> list[float]:
        every = ((of[key].value if key in of else None) for key in keys)
        return [math.nan if value is None else value for value in every]

    columns = [Column(name, "fraction", values(each)) for (name, _), each in zip(runs, numbers, strict=True)]
    changed = [values(each) for each in later]
    sizes = [max((abs(one) for one in row if not math.isnan(one)), default=-1.0) for row in zip(*changed, strict=True)]
    heads = ["change"] if len(runs) == 2 else [f"change to {name}" for name, _ in runs[1:]]
    full = max(sizes, default=0.0)
    columns += [
        Column(head, "change", column, f"{name} minus {runs[0][0]}", full=full if full > 0 else 1.0)
        for head, column, (name, _) in zip(heads, changed, runs[1:], strict=True)
    ]
    return keys, columns, sorted(range(len(keys)), key=lambda row: -sizes[row])


def _metrics(runs: Runs) -> Section | None:
    items = {item.spec.key: item for item in runs[0][1].single()}
    if not items:
        return None
    parts = [part_of(Report(report.views, [item.spec for item in items.values()])) for _, report in runs]
    keys, columns, rows = _side_by_side(runs, [{key: part.metrics[key][None] for key in items} for part in parts])
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
    numbers = [part_of(Report(report.views, [spec])).metrics[spec.key] for report in reports]
    every, columns, rows = _side_by_side(runs, numbers)
    if not every:
        return None
    left = f", {max_labels:,} of {len(every):,}" if max_labels < len(every) else ""
    supports: list[Column] = []
    if decided:
        support = dict(zip(reports[0].labels, reports[0].support, strict=True))
        supports = [Column("support", "count", [support.get(label, 0) for label in every], f"in {runs[0][0]}")]
    columns = rows_of([Column("label", "label", label_strings(every)), *columns, *supports], rows[:max_labels])
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
