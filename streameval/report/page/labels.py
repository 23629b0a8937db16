"""Every label: the table that sorts and filters, and frequency against F1."""

from __future__ import annotations

import math
from typing import Any

from streameval.errors import MetricError
from streameval.metrics.averaging import as_float
from streameval.metrics.naming import ENTRIES, build_spec, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings
from streameval.report.label_table import LabelTable
from streameval.report.page.charts import UNIT, Axis, Chart, log_axis
from streameval.report.page.markup import Column, Section, Table, count_text, escaped, label_texts
from streameval.report.text import COLUMNS
from streameval.schema.labels import Label

__all__ = ["label_section"]

_NAMED = 30
_WORST = 8
_NOTES = {
    "precision": "share of the predictions of the label that are true",
    "recall": "share of the examples with the label for which it is predicted",
    "f1": "harmonic mean of precision and recall",
}
_UNLESS = {"precision": ("predicted",), "recall": ("support",), "f1": ("support", "predicted")}
_HEADS = {"f1": "F1"}


def label_section(readings: Readings, specs: tuple[MetricSpec, ...], max_labels: int) -> Section | None:
    """The table of labels with what is kept of them, and the pictures beside it."""
    columns = [*_decided(readings), *_scored(readings), *_chosen(readings, specs)]
    names = label_texts(readings.tables.labels)
    if not columns or not names:
        return None
    columns.insert(0, Column("label", "label", names))
    by = next(name for name in ("support", columns[1].name) if any(column.name == name for column in columns))
    whole = Table("labels", "", columns, by)
    kept = sorted(whole.order()[:max_labels])
    if len(kept) < len(names):
        columns = [Column(c.name, c.kind, [c.values[row] for row in kept], c.note, c.unless) for c in columns]
    left = f", the {len(kept):,} most frequent of {len(names):,}" if len(kept) < len(names) else ""
    table = Table("labels", f"Outcomes of each label{left}", columns, by)
    pictures = _pictures(table, len(kept)) if readings.decides else ""
    return Section("labels", "Labels", pictures + _FILTER + table.html(), {"labels": table.data()})


_FILTER = (
    '<form class="filter" data-filter="labels" hidden role="search" aria-label="labels">'
    '<label>Find a label <input type="search" name="text" autocomplete="off" spellcheck="false"></label>'
    '<label>Support at least <input type="number" name="least" min="0" step="1" inputmode="numeric"></label>'
    '<output aria-live="polite"></output></form>'
)


def _decided(readings: Readings) -> list[Column]:
    """What follows from decisions."""
    if not readings.decides:
        return []
    table = LabelTable.of(readings.tables)
    shares = [
        Column(
            _HEADS.get(name, name),
            "bar",
            _per_label(readings, build_spec(name, average=None)),
            _NOTES[name],
            _UNLESS[name],
        )
        for name in ("f1", *(name for name in COLUMNS if name != "f1"))
    ]
    return [
        *shares,
        Column("support", "count", table.support.tolist(), "examples in which the label is true"),
        Column("predicted", "count", table.predicted.tolist(), "examples for which the label is predicted"),
        Column("TP", "count", table.tp.tolist(), "true positives: true and predicted"),
        Column("FP", "count", table.fp.tolist(), "false positives: predicted but not true"),
        Column("FN", "count", table.fn.tolist(), "false negatives: true but not predicted"),
    ]


def _scored(readings: Readings) -> list[Column]:
    """What follows from curves."""
    if not readings.keeps("curves"):
        return []
    from streameval.metrics.thresholds import best_thresholds  # only where curves are kept

    tables = readings.named("curves", "the report")
    best = list(best_thresholds(tables).values())
    found = []
    if not readings.decides:
        positives = [as_float(int(tables.steps.of(place).tp[-1]) * tables.unit) for place in range(tables.size)]
        found.append(Column("support", "count", positives, "examples in which the label is true"))
    area = _per_label(readings, build_spec("roc_auc", average=None))
    precision = _per_label(readings, build_spec("average_precision", average=None))
    return [
        *found,
        Column("ROC AUC", "share", area, "chance that a positive has a greater score than a negative"),
        Column("avg. precision", "share", precision, "mean over the positives of the precision at their score"),
        Column("best threshold", "number", [choice.threshold for choice in best], "from which score on F1 is greatest"),
        Column("best F1", "share", [choice.value for choice in best], "F1 at the best threshold, on these examples"),
    ]


def _chosen(readings: Readings, specs: tuple[MetricSpec, ...]) -> list[Column]:
    """Metrics that were chosen with one value per label."""
    found = []
    for spec in specs:
        if spec.average is not None or (spec.name in COLUMNS and spec == build_spec(spec.name, average=None)):
            continue
        try:
            values = _per_label(readings, spec)
        except MetricError:
            continue
        note = ENTRIES[spec.name].summary
        found.append(Column(spec.key.replace("_per_label", "", 1), "share", values, note))
    return found


def _per_label(readings: Readings, spec: MetricSpec) -> list[float]:
    found = evaluate(spec, readings.of(spec))
    return [found[label] for label in readings.tables.labels] if isinstance(found, dict) else []


def _pictures(table: Table, size: int) -> str:
    columns: dict[str, Any] = {column.name: column.values for column in table.columns}
    f1, support = columns["F1"], columns["support"]
    rows = [row for row in table.order() if support[row] > 0 and math.isfinite(support[row])]
    errors = [fp + fn for fp, fn in zip(columns["FP"], columns["FN"], strict=True)]
    chart = ""
    if rows:
        x = log_axis("examples with the label", min(support[row] for row in rows), max(support[row] for row in rows))
        never = f" {size - len(rows):,} labels that are never true are not drawn." if len(rows) < size else ""
        picture = Chart(
            "Frequency against F1",
            f"F1 of {len(rows):,} labels against how many examples have them; the table below has the numbers.",
            x,
            Axis("F1", 0.0, 1.0, UNIT),
            "wide",
            f"Each dot is a label: further right it is more frequent, further up it is predicted better.{never}",
        )
        across, up = [support[row] for row in rows], [f1[row] for row in rows]
        picture.dots(across, up, "labels", rows)
        if len(rows) <= _NAMED:
            picture.names(across, up, [columns["label"][row] for row in rows])
        chart = picture.html()
    return f'<div class="beside">{chart}{_worst(columns["label"], errors, columns)}</div>'


def _worst(names: list[Label], errors: list[float], columns: dict[str, Any]) -> str:
    """The labels that most of the errors fall on."""
    whole = sum(errors)
    if not whole or not math.isfinite(whole):
        return ""
    ranked = sorted(range(len(errors)), key=lambda row: -errors[row])
    half, count = 0.0, 0
    while half * 2 < whole:
        half += errors[ranked[count]]
        count += 1
    items = "".join(
        f'<li style="--v:{errors[row] / errors[ranked[0]]:.3f}"><bdi>{escaped(str(names[row]))}</bdi> '
        f"<b>{count_text(errors[row])}</b>"
        f"<small>{count_text(columns['FN'][row])} missed, {count_text(columns['FP'][row])} wrong</small></li>"
        for row in ranked[:_WORST]
        if errors[row]
    )
    label = "label" if count == 1 else "labels"
    return (
        '<div class="worst"><h3>Most errors</h3>'
        f"<p>Half of all {count_text(whole)} errors fall on {count:,} {label}.</p><ol>{items}</ol></div>"
    )
