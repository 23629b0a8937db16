"""Every label: the table that sorts and filters, and frequency against F1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from streameval.metrics.averaging import as_float
from streameval.metrics.catalogue import build_spec
from streameval.metrics.thresholds import best_thresholds
from streameval.report.model import PER_LABEL, Column, Kind, Report, Table, largest_first, rows_of
from streameval.report.page.charts import Chart, fraction_axis, log_axis
from streameval.report.page.markup import Section, count_text, escaped, label_strings, table_section
from streameval.schema.text import cut_distinct, number_of

_NAMED = 24
_WORST = 8
_LEGEND = '<ul class="legend"><li class="b">false negatives (FN)</li><li class="a">false positives (FP)</li></ul>'
_OUTCOMES: tuple[tuple[str, str, Kind, str, tuple[str, ...]], ...] = (
    ("f1", "F1", "bar", "harmonic mean of precision and recall", ("support", "predicted")),
    ("precision", "precision", "bar", "fraction of the predictions of the label that are true", ("predicted",)),
    ("recall", "recall", "bar", "fraction of the examples with the label for which it is predicted", ("support",)),
    ("support", "support", "count", "examples in which the label is true", ()),
    ("predicted", "predicted", "count", "examples for which the label is predicted", ()),
    ("tp", "TP", "count", "true positives: true and predicted", ()),
    ("fp", "FP", "count", "false positives: predicted but not true", ()),
    ("fn", "FN", "count", "false negatives: true but not predicted", ()),
)
"""What follows from binary predictions: its name in the report and in the table, what it means, where it is 0/0."""


def label_section(report: Report, max_labels: int) -> Section | None:
    """The table of labels with all that can be read of them, and the pictures above it."""
    values = {**report.label_values(), **report.counts.to_dict()} if report.has_decisions else {}
    columns = [Column(head, kind, values[of], note, unless) for of, head, kind, note, unless in _OUTCOMES if values]
    columns += [*_scored(report), *_chosen(report)]
    if isinstance(threshold := report.views.config.threshold, tuple):
        values_of = dict(threshold)
        used = [values_of.get(label, math.nan) for label in report.labels]
        columns.append(Column("threshold", _thresholds(used), used, "labels scoring at or above it are predicted"))
    names = label_strings(report.labels)
    if not columns or not names:
        return None
    columns.insert(0, Column("label", "label", names))
    by = next(name for name in ("support", columns[1].name) if any(column.name == name for column in columns))
    rows = sorted(Table("labels", "", columns, by).order()[:max_labels])
    if len(rows) < len(names):
        columns = rows_of(columns, rows)
    left = f", the {len(rows):,} most frequent of {len(names):,}" if len(rows) < len(names) else ""
    table = Table("labels", f"Outcomes of each label{left}", columns, by)
    return table_section("Labels", table, _pictures(table) if report.has_decisions else "", "label")


def _scored(report: Report) -> list[Column]:
    """What follows from curves."""
    if not report.views.keeps("curves"):
        return []
    tables = report.views.named("curves", "the report")
    best, best_for = list(best_thresholds(tables).values()), "F1 is greatest for labels scoring at or above it"
    columns = []
    if not report.has_decisions:
        positives = [as_float(int(tables.steps.of(place).tp[-1]) * tables.unit) for place in range(tables.size)]
        columns.append(Column("support", "count", positives, "examples in which the label is true"))
    chosen = [each.threshold for each in best]
    area, precision = (report.per_label(build_spec(name, average=None)) for name in ("roc_auc", "average_precision"))
    return [
        *columns,
        Column("ROC AUC", "fraction", area, "probability that a random positive scores higher than a random negative"),
        Column("average precision", "fraction", precision, "mean over the positives of the precision at their score"),
        Column("best threshold", _thresholds(chosen), chosen, best_for),
        Column("best F1", "fraction", [each.value for each in best], "F1 at the best threshold, on these examples"),
    ]


def _thresholds(values: Sequence[float]) -> Kind:
    """Of probabilities all have the same digits."""
    return "fraction" if all(0 <= value <= 1 for value in values if math.isfinite(value)) else "number"


def _chosen(report: Report) -> list[Column]:
    """Metrics that were chosen with one value per label."""
    usual = [build_spec(name, average=None) for name in PER_LABEL]
    items = report.values(spec for spec in report.specs if spec.average is None and spec not in usual)
    return [Column(item.column, "fraction", [item.value[label] for label in report.labels], item.entry.summary)
            for item in items if item.error is None]  # fmt: skip


def _pictures(table: Table) -> str:
    columns: dict[str, Any] = {column.name: column.values for column in table.columns}
    f1, support = columns["F1"], columns["support"]
    errors = [fp + fn for fp, fn in zip(columns["FP"], columns["FN"], strict=True)]
    rows = [row for row in table.order() if support[row] > 0 and math.isfinite(support[row])]
    chart = ""
    if rows:
        across, up = [support[row] for row in rows], [f1[row] for row in rows]
        left = table.size - len(rows)
        never = f" {number_of(left, 'label')} without true examples omitted." if left else ""
        axis = log_axis("examples with the label", min(across), max(across))
        of = f"F1 of {number_of(len(rows), 'label')} by how many examples have them; the table below has the numbers."
        note = f"Each dot is a label.{never}"
        picture = Chart("F1 by label frequency", of, axis, fraction_axis("F1", up), "wide", note)
        picture.dots(across, up, "labels", rows)
        # Of many labels those that stand out: frequent and badly predicted.
        named = sorted(range(len(rows)), key=lambda at: -errors[rows[at]])[:_NAMED]
        words = cut_distinct([columns["label"][rows[at]] for at in named], 24)
        picture.names([across[at] for at in named], [up[at] for at in named], words)
        chart = picture.html()
    return f'<div class="side-by-side">{chart}{_worst(columns, errors)}</div>'


def _worst(columns: dict[str, Any], errors: list[float]) -> str:
    """The labels that most of the errors fall on."""
    total = sum(errors)
    if not total or not math.isfinite(total):
        return ""
    ranked = largest_first(errors)
    count = next(at for at, half in enumerate(accumulate(errors[row] for row in ranked), 1) if half * 2 >= total)
    texts = cut_distinct([str(columns["label"][row]) for row in ranked[:_WORST]], 40)
    most = errors[ranked[0]]
    items = "".join(
        f'<li style="--fn:{columns["FN"][row] / most:.3f};--fp:{columns["FP"][row] / most:.3f}">'
        f'<bdi title="{escaped(str(columns["label"][row]))}">{escaped(text)}</bdi> <b>{count_text(errors[row])}</b> '
        f"<small>{count_text(columns['FN'][row])} FN, {count_text(columns['FP'][row])} FP</small></li>"
        for row, text in zip(ranked, texts, strict=False)
        if errors[row]
    )
    half = f"Errors: {count_text(total)}. Half of them fall on {number_of(count, 'label')}."
    return f'<div class="worst"><h3>Most errors</h3><p>{half}</p>{_LEGEND}<ol>{items}</ol></div>'
