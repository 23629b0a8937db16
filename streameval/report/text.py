"""Reports as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from streameval.report.model import PER_LABEL, MetricValue, Report, cell_text, count_text, cut
from streameval.schema.text import printable

_WIDTH = 11
_LONGEST = 48

SliceRow = tuple[str, str, int, Mapping[str, float]]
"""What it is sliced by, the slice, its examples, and its values."""


def text_report(report: Report, *, digits: int, max_labels: int) -> str:
    """Every label and the averages, then the chosen metrics; of scores without a threshold only these."""
    single = report.single()
    for item in single:
        if item.error is not None:
            raise item.error
    names = [item.spec.key for item in single]
    if not report.has_decisions:
        return "\n".join([report.headline, "", *_metric_lines(single, max(map(len, names), default=0), digits)])
    positions, values, averages = report.most_frequent(max_labels), report.label_values(), report.averages()
    labels = [printable(report.labels[at]) for at in positions]
    left = min(_LONGEST, max(map(len, [*labels, *averages, *names]), default=8))

    def line(name: str, row: Iterable[float], support: float) -> str:
        cells = "".join(f"{cell_text(value, digits=digits):>{_WIDTH}}" for value in row)
        return f"{cut(name, left):<{left}}{cells}{count_text(support):>{_WIDTH}}"

    lines = [report.headline, "", " " * left + "".join(f"{name:>{_WIDTH}}" for name in (*PER_LABEL, "support"))]
    for name, at in zip(labels, positions, strict=True):
        lines.append(line(name, [column[at] for column in values.values()], report.support[at]))
    if len(positions) < len(report.labels):
        lines.append(f"... {len(report.labels) - len(positions):,} labels of smaller support omitted")
    lines.append("")
    lines += [line(name, row, report.total_support) for name, row in averages.items()]
    return "\n".join([*lines, *([""] if single else []), *_metric_lines(single, left, digits)])


def _metric_lines(items: list[MetricValue], left: int, digits: int) -> list[str]:
    return [
        f"{item.spec.key:<{left}}{cell_text(item.value, digits=digits):>{_WIDTH}}  {item.direction}".rstrip()
        for item in items
    ]


def slices_report(rows: list[SliceRow], total: SliceRow, digits: int) -> str:
    """A line for each slice, those of an axis together, and one for all."""
    names = list(total[3])
    left = min(_LONGEST, max(len(name) for row in (*rows, total) for name in row[:2]))
    widths = [max(_WIDTH, len(name) + 2) for name in names]

    def line(name: str, examples: str, cells: Sequence[str]) -> str:
        values = "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        return f"{cut(name, left):<{left}}{examples:>12}{values}"

    def values(row: SliceRow) -> str:
        cells = [cell_text(row[3][name], digits=digits) if name in row[3] else "" for name in names]
        return line(row[1], f"{row[2]:,}", cells)

    lines: list[str] = []
    for axis, group in groupby(rows, key=lambda row: row[0]):
        lines += [line(axis, "examples", names), *map(values, group), ""]
    return "\n".join([*lines, values(total)])


def classification_table(rows: Sequence[tuple[str, Sequence[float]]], labels: int, digits: int) -> str:
    """So many rows of labels, then those of averages, in the shape of scikit-learn's ``classification_report``."""
    width = max(digits, *(len(name) for name, _ in rows))

    def line(name: str, values: Sequence[float]) -> str:
        return f"{name:>{width}} " + "".join(f" {value:>9.{digits}f}" for value in values[:3]) + f" {values[3]:>9}"

    lines = [line(*row) for row in rows]
    head = "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
    return "\n".join([f"{'':>{width}} {head}", "", *lines[:labels], "", *lines[labels:], ""])
