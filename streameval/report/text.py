"""The report as plain text, in the shape of scikit-learn's ``classification_report``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, cast

from streameval.errors import shown
from streameval.label_table import LabelTable
from streameval.labels import Label
from streameval.metrics.averaging import as_float
from streameval.metrics.naming import ENTRIES, build_spec, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.states.tables import Tables

__all__ = ["AVERAGE_NAMES", "COLUMNS", "Values", "averages_of", "headline", "label_rows", "text_report"]

Values: TypeAlias = Sequence[tuple[MetricSpec, float | dict[Label, float]]]
"""The chosen metrics and their values."""

COLUMNS = ("precision", "recall", "f1")
AVERAGE_NAMES = ("micro", "macro", "weighted", "samples")
_WIDTH = 11


def headline(tables: Tables) -> str:
    """How much was evaluated."""
    weight = "" if not tables.weighted else f", total weight {as_float(tables.weight * tables.unit):g}"
    return f"{tables.examples:,} examples{weight}, {len(tables.labels):,} labels"


def label_rows(tables: Tables, max_labels: int, columns: Sequence[str]) -> list[tuple[Label, list[float], float]]:
    """Label, values of the columns, support; the labels with the largest support if there are too many."""
    support = LabelTable.of(tables).support.tolist()
    values = []
    for name in columns:
        by_label = evaluate(build_spec(name, average=None), tables)
        values.append(list(by_label.values()) if isinstance(by_label, dict) else [])
    rows = [
        (label, [column[position] for column in values], support[position])
        for position, label in enumerate(tables.labels)
    ]
    if len(rows) > max_labels:
        kept = sorted(range(len(rows)), key=lambda position: (-support[position], position))[:max_labels]
        rows = [rows[position] for position in sorted(kept)]
    return rows


def averages_of(tables: Tables) -> list[tuple[str, list[float]]]:
    """Average, values of `COLUMNS`."""
    return [
        (average, [cast("float", evaluate(build_spec(name, average=average), tables)) for name in COLUMNS])
        for average in AVERAGE_NAMES
    ]


def text_report(tables: Tables, chosen: Values, *, decides: bool, digits: int, max_labels: int) -> str:
    """Every label and the averages, then the chosen metrics; of scores that decide nothing, labels and metrics."""
    columns = COLUMNS if decides else ()
    rows = label_rows(tables, max_labels, columns)
    names = [printable(label) for label, _, _ in rows]
    singles = [(spec, value) for spec, value in chosen if isinstance(value, float)]
    averages = averages_of(tables) if decides else []
    left = min(48, max(map(len, [*names, *dict(averages), *(spec.key for spec, _ in singles)]), default=8))
    total = sum(LabelTable.of(tables).support.tolist())

    def line(name: str, values: list[float], support: float) -> str:
        cells = "".join(f"{_text(value, digits):>{_WIDTH}}" for value in values)
        return f"{_cut(name, left):<{left}}{cells}{_support(support):>{_WIDTH}}"

    lines = [headline(tables), "", " " * left + "".join(f"{name:>{_WIDTH}}" for name in (*columns, "support"))]
    lines += [line(name, values, support) for name, (_, values, support) in zip(names, rows, strict=True)]
    if len(rows) < len(tables.labels):
        lines.append(f"... {len(tables.labels) - len(rows):,} labels of smaller support not shown")
    if averages:
        lines.append("")
        lines += [line(name, values, total) for name, values in averages]
    if singles:
        lines.append("")
        lines += [f"{spec.key:<{left}}{_text(value, digits):>{_WIDTH}}{_arrow(spec)}" for spec, value in singles]
    return "\n".join(lines)


def printable(label: Label) -> str:
    """A label on one line, whatever it holds."""
    try:
        text = str(label)
    except ValueError:  # Python does not write integers of many thousand digits
        text = shown(label)
    return "".join(mark if mark.isprintable() else ascii(mark)[1:-1] for mark in text)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 1] + "…"


def _text(value: float, digits: int) -> str:
    return "nan" if math.isnan(value) else f"{value:.{digits}f}"


def _support(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _arrow(spec: MetricSpec) -> str:
    return {True: "  higher is better", False: "  lower is better", None: ""}[ENTRIES[spec.name].bigger_is_better]
