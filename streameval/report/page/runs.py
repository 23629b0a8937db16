"""Several runs side by side: what each holds, and how metrics and labels differ from those of the first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streameval.metrics.catalogue import build_spec
from streameval.report.model import Column, Report, Table
from streameval.report.page.charts import Chart, unit_axis
from streameval.report.page.markup import FILTER, LONGEST, Section, label_strings, table_html
from streameval.report.page.metrics import facts
from streameval.schema.labels import Label
from streameval.schema.text import cut, cut_distinct, number_of

Runs = Sequence[tuple[str, Report]]

_NAME = 40
_NAMED = 12  # labels with their names in the picture


def change_sections(runs: Runs, max_labels: int) -> list[Section | None]:
    """What is compared: the runs, their metrics, their labels."""
    return [_overview(runs), _metrics(runs), _labels(runs, max_labels)]


def _overview(runs: Runs) -> Section:
    each = [dict(facts(report)) for _, report in runs]
    heads = dict.fromkeys(name for facts_of in each for name in facts_of)
    columns = [Column("run", "label", [cut(name, LONGEST) for name, _ in runs])]
    columns += [Column(head, "text", [facts_of.get(head, "") for facts_of in each]) for head in heads]
    table = Table("runs", "What was evaluated", columns)
    return Section("runs", "Runs", table_html(table), table)


def _side_by_side(runs: Runs, values: Sequence[Sequence[float]], of: str = "") -> tuple[list[Column], list[int]]:
    """A column of values for each run, one of the change to each later run, and the rows from the largest change."""
    changes = [[new - old for old, new in zip(values[0], later, strict=True)] for later in values[1:]]
    columns = [Column(f"{of}{name}", "fraction", column) for (name, _), column in zip(runs, values, strict=True)]
    full = max((abs(one) for column in changes for one in column if math.isfinite(one)), default=0.0) or 1.0
    heads = ["change"] if len(runs) == 2 else [f"change to {name}" for name, _ in runs[1:]]
    columns += [
        Column(head, "change", column, f"{name} minus {runs[0][0]}", full=full)
        for head, column, (name, _) in zip(heads, changes, runs[1:], strict=True)
    ]
    sizes = [max((abs(one) for one in row if not math.isnan(one)), default=-1.0) for row in zip(*changes, strict=True)]
    return columns, sorted(range(len(sizes)), key=lambda row: -sizes[row])


def _arranged(name: str, caption: str, columns: Sequence[Column], rows: Sequence[int]) -> Table:
    taken = [Column(c.name, c.kind, [c.values[row] for row in rows], c.note, c.unless, c.few, c.full) for c in columns]
    return Table(name, caption, taken)


def _metrics(runs: Runs) -> Section | None:
    items = runs[0][1].single()
    if not items:
        return None
    values: list[list[float]] = []
    for _, report in runs:
        numbers = [report.value(item.spec).number for item in items]
        values.append([math.nan if one is None or not report.tables.examples else one for one in numbers])
    columns, rows = _side_by_side(runs, values)
    keys = Column("metric", "label", [item.spec.key for item in items])
    better = Column("better", "text", [item.direction.removesuffix(" is better") for item in items])
    table = _arranged("changes", "Metrics of the runs, the largest change first", [keys, *columns, better], rows)
    return Section("metrics", "Metrics", table_html(table), table)


def _labels(runs: Runs, max_labels: int) -> Section | None:
    """F1 of each label in each run, or the area under the ROC curve where there are no binary predictions."""
    reports = [report for _, report in runs]
    decided = all(report.has_decisions for report in reports)
    if not decided and not all(report.view("curves") for report in reports):
        return None
    spec, word = build_spec("f1" if decided else "roc_auc", average=None), "F1" if decided else "ROC AUC"
    by_label = [dict(zip(report.labels, report.per_label(spec), strict=True)) for report in reports]
    every: list[Label] = [*dict.fromkeys(label for each in by_label for label in each)]
    if not every:
        return None
    values = [[each.get(label, math.nan) for label in every] for each in by_label]
    columns, rows = _side_by_side(runs, values)
    rows = rows[:max_labels]
    names = Column("label", "label", label_strings(every))
    left = f", {len(rows):,} of {len(every):,}" if len(rows) < len(every) else ""
    supports: list[Column] = []
    if decided:
        support = dict(zip(reports[0].labels, reports[0].support, strict=True))
        supports = [Column("support", "count", [support.get(label, 0) for label in every], f"in {runs[0][0]}")]
    caption = f"{word} of each label, the largest change first{left}"
    table = _arranged("labels", caption, [names, *supports, *columns], rows)
    html = FILTER + table_html(table)
    if len(runs) == 2:
        html = f'<div class="side-by-side even">{_scatter(runs, columns, rows, table, word)}<div>{html}</div></div>'
    return Section("labels", "Labels", html, table)


def _scatter(runs: Runs, columns: Sequence[Column], order: Sequence[int], table: Table, word: str) -> str:
    """The labels of the table, by their values in both runs; those that changed most have their names."""
    old, new = ([column.values[row] for row in order] for column in columns[:2])
    rows = [row for row in range(table.size) if math.isfinite(old[row]) and math.isfinite(new[row])]
    first, second = (unit_axis(cut(name, _NAME)) for name, _ in runs)
    chart = Chart(f"{word} of each label", f"{word} of {number_of(len(rows), 'label')} in both runs.", first, second)
    chart.note = f"Each dot is a label. Above the line {second.title} is greater."
    chart.diagonal()
    across, up = [old[row] for row in rows], [new[row] for row in rows]
    chart.dots(across, up, "labels", rows)
    names = cut_distinct([str(table.columns[0].values[row]) for row in rows[:_NAMED]], 20)
    chart.names(across[:_NAMED], up[:_NAMED], names, 0.018)
    return chart.html()
