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
from streameval.schema.text import cut

Runs = Sequence[tuple[str, Report]]


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
    heads = ["change"] if len(runs) == 2 else [f"change to {name}" for name, _ in runs[1:]]
    columns += [
        Column(head, "change", column, f"{name} minus {runs[0][0]}")
        for head, column, (name, _) in zip(heads, changes, runs[1:], strict=True)
    ]
    sizes = [max((abs(one) for one in row if not math.isnan(one)), default=-1.0) for row in zip(*changes, strict=True)]
    return columns, sorted(range(len(sizes)), key=lambda row: -sizes[row])


def _arranged(name: str, caption: str, columns: Sequence[Column], rows: Sequence[int]) -> Table:
    taken = [Column(c.name, c.kind, [c.values[row] for row in rows], c.note, c.unless) for c in columns]
    return Table(name, caption, taken)


def _metrics(runs: Runs) -> Section | None:
    items = [report.single() for _, report in runs]
    if not items[0]:
        return None
    values = [[math.nan if item.number is None else item.number for item in column] for column in items]
    columns, rows = _side_by_side(runs, values)
    keys = Column("metric", "label", [item.spec.key for item in items[0]])
    better = Column("better", "text", [item.direction.removesuffix(" is better") for item in items[0]])
    table = _arranged("changes", "Metrics of the runs, the largest change first", [keys, *columns, better], rows)
    return Section("metrics", "Metrics", table_html(table), table)


def _labels(runs: Runs, max_labels: int) -> Section | None:
    """F1 of each label in each run, or the area under the ROC curve where there are no binary predictions."""
    reports = [report for _, report in runs]
    decided = all(report.has_decisions for report in reports)
    if not decided and not all(report.view("curves") for report in reports):
        return None
    spec, word = build_spec("f1" if decided else "roc_auc", average=None), "F1" if decided else "ROC AUC"
    found = [dict(zip(report.labels, report.per_label(spec), strict=True)) for report in reports]
    every: list[Label] = [*dict.fromkeys(label for each in found for label in each)]
    values = [[each.get(label, math.nan) for label in every] for each in found]
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
    chart = _scatter(runs, table, word) if len(runs) == 2 else ""
    return Section("labels", "Labels", chart + FILTER + table_html(table), table)


def _scatter(runs: Runs, table: Table, word: str) -> str:
    old, new = (next(c.values for c in table.columns if c.name == name) for name, _ in runs)
    rows = [row for row in range(table.size) if math.isfinite(old[row]) and math.isfinite(new[row])]
    chart = Chart(
        f"{word} of each label", f"{word} of {len(rows):,} labels in both runs.",
        unit_axis(runs[0][0]), unit_axis(runs[1][0]),
        note=f"Above the line {runs[1][0]} is greater.",
    )  # fmt: skip
    chart.diagonal()
    chart.dots([old[row] for row in rows], [new[row] for row in rows], "labels", rows)
    return f'<div class="charts">{chart.html()}</div>'
