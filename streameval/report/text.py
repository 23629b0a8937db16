"""The report as plain text, in the shape of scikit-learn's ``classification_report``."""

from __future__ import annotations

import math
from typing import cast

from streameval.metrics.averaging import as_float
from streameval.metrics.naming import ENTRIES, build_spec, evaluate
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings
from streameval.report.label_table import LabelTable
from streameval.schema.labels import Label
from streameval.schema.text import printable
from streameval.states.views import Tables

__all__ = [
    "AVERAGE_NAMES", "COLUMNS", "averages_of", "chosen", "cut", "headline", "label_rows", "number_text", "text_report",
]  # fmt: skip

COLUMNS = ("precision", "recall", "f1")
AVERAGE_NAMES = ("micro", "macro", "weighted", "samples")
_WIDTH = 11


def headline(tables: Tables) -> str:
    """How much was evaluated."""
    weight = "" if not tables.weighted else f", total weight {as_float(tables.weight * tables.unit):g}"
    return f"{tables.examples:,} examples{weight}, {len(tables.labels):,} labels"


def label_rows(tables: Tables, max_labels: int) -> list[tuple[Label, list[float], float]]:
    """Label, values of `COLUMNS`, support; the labels with the largest support if there are too many."""
    support = LabelTable.of(tables).support.tolist()
    values = []
    for name in COLUMNS:
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


def chosen(readings: Readings, specs: tuple[MetricSpec, ...]) -> list[tuple[MetricSpec, float]]:
    """The chosen metrics that are one number."""
    values = [(spec, evaluate(spec, readings.of(spec))) for spec in specs]
    return [(spec, value) for spec, value in values if isinstance(value, float)]


def text_report(readings: Readings, specs: tuple[MetricSpec, ...], *, digits: int, max_labels: int) -> str:
    """Every label and the averages, then the chosen metrics; these alone where scores are not decided."""
    tables, singles = readings.tables, chosen(readings, specs)
    if not readings.decides:
        left = max((len(spec.key) for spec, _ in singles), default=0)
        return "\n".join([headline(tables), "", *_metric_lines(singles, left, digits)])
    rows = label_rows(tables, max_labels)
    names = [printable(label) for label, _, _ in rows]
    left = min(48, max(map(len, [*names, *AVERAGE_NAMES, *(spec.key for spec, _ in singles)]), default=8))
    total = sum(LabelTable.of(tables).support.tolist())

    def line(name: str, values: list[float], support: float) -> str:
        cells = "".join(f"{number_text(value, digits):>{_WIDTH}}" for value in values)
        return f"{cut(name, left):<{left}}{cells}{_support(support):>{_WIDTH}}"

    lines = [headline(tables), "", " " * left + "".join(f"{name:>{_WIDTH}}" for name in (*COLUMNS, "support"))]
    lines += [line(name, values, support) for name, (_, values, support) in zip(names, rows, strict=True)]
    if len(rows) < len(tables.labels):
        lines.append(f"... {len(tables.labels) - len(rows):,} labels of smaller support not shown")
    lines.append("")
    lines += [line(name, values, total) for name, values in averages_of(tables)]
    if singles:
        lines.append("")
        lines += _metric_lines(singles, left, digits)
    return "\n".join(lines)


def _metric_lines(singles: list[tuple[MetricSpec, float]], left: int, digits: int) -> list[str]:
    return [f"{spec.key:<{left}}{number_text(value, digits):>{_WIDTH}}{_arrow(spec)}" for spec, value in singles]


def cut(name: str, width: int) -> str:
    """A name in no more than so many characters."""
    return name if len(name) <= width else name[: width - 1] + "…"


def number_text(value: float, digits: int) -> str:
    """A number with so many decimals."""
    return "nan" if math.isnan(value) else f"{value:.{digits}f}"


def _support(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _arrow(spec: MetricSpec) -> str:
    return {True: "  higher is better", False: "  lower is better", None: ""}[ENTRIES[spec.name].bigger_is_better]
