"""Reports as plain text, and a bar that shows how far a loop is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from typing import TypeVar

from streameval.errors import imported
from streameval.report.model import PER_LABEL, Report, cell_text, count_text, largest_first
from streameval.schema.text import cut, number_of, printable

T = TypeVar("T")

_WIDTH, _LONGEST = 11, 48
_Row = tuple[str, list[float], float]  # a label or an average, its values, its support
SliceRow = tuple[str, str, int, Mapping[str, float]]  # what it is sliced by, the slice, its examples, and its values


def _line(name: str, left: int, cells: Iterable[str], widths: Iterable[int] = repeat(_WIDTH)) -> str:
    aligned = (f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
    return f"{cut(name, left):<{left}}{''.join(aligned)}"


def text_report(report: Report, *, digits: int, max_labels: int) -> str:
    """Every label and the averages, then the chosen metrics; of scores without a threshold only these."""
    if not report.tables.examples:
        return f"{report.headline}; metrics: {', '.join(spec.key for spec in report.specs) or 'none'}"
    single = report.single(strict=True)
    labels, averages = list[_Row](), list[_Row]()
    if report.has_decisions:
        columns = [*report.label_values().values()]
        largest = sorted(largest_first(report.support)[:max_labels])
        labels = [(printable(report.labels[at]), [c[at] for c in columns], report.support[at]) for at in largest]
        averages = [(name, values, report.total_support) for name, values in report.averages().items()]
    rows, names = [*labels, *averages], [item.spec.key for item in single]
    left = min(_LONGEST, max(map(len, [*names, *(name for name, _, _ in rows)]), default=8))
    lines = [
        _line(name, left, [*(cell_text(value, digits=digits) for value in values), count_text(support)])
        for name, values, support in rows
    ]
    omitted = len(report.labels) - len(labels)
    rest = [f"... {number_of(omitted, 'label')} of smaller support omitted"] if omitted else []
    blocks = [
        [report.headline],
        [_line("", left, [*PER_LABEL, "support"]), *lines[: len(labels)], *rest],
        lines[len(labels) :],
        [
            f"{item.spec.key:<{left}}{cell_text(item.value, digits=digits):>{_WIDTH}}  {item.direction}".rstrip()
            for item in single
        ],
        [f"warning: {text}" for text in report.warnings],
    ]
    if not report.has_decisions:
        del blocks[1:3]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def slices_report(rows: list[SliceRow], total: SliceRow, digits: int) -> str:
    """A line for each slice, those of an axis together, and one for all."""
    names = list(total[3])
    left = min(_LONGEST, max(len(name) for row in (*rows, total) for name in row[:2]))
    widths = [12, *(max(_WIDTH, len(name) + 2) for name in names)]

    def line(row: SliceRow) -> str:
        cells = [cell_text(row[3][name], digits=digits) if name in row[3] else "" for name in names]
        return _line(row[1], left, [f"{row[2]:,}", *cells], widths)

    lines: list[str] = []
    for axis, group in groupby(rows, key=lambda row: row[0]):
        lines += [_line(axis, left, ["examples", *names], widths), *map(line, group), ""]
    return "\n".join([*lines, line(total)])


def classification_table(rows: Sequence[tuple[str, Sequence[float]]], labels: int, digits: int) -> str:
    """So many rows of labels, then those of averages, in the shape of scikit-learn's ``classification_report``."""
    width = max(digits, *(len(name) for name, _ in rows))

    def line(name: str, values: Sequence[float]) -> str:
        return f"{name:>{width}} " + "".join(f" {value:>9.{digits}f}" for value in values[:3]) + f" {values[3]:>9}"

    lines = [line(*row) for row in rows]
    head = "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
    return "\n".join([f"{'':>{width}} {head}", "", *lines[:labels], "", *lines[labels:], ""])


def with_bar(
    items: Iterable[T], total: int | None, unit: str, *, size: Callable[[T], int] | None = None
) -> Iterator[T]:
    """Items as they come, with a bar on stderr that counts them, or their sizes."""
    tqdm = imported("tqdm", "progress=True").tqdm

    def counted() -> Iterator[T]:
        with tqdm(total=total, unit=unit, unit_scale=size is not None, file=sys.stderr) as bar:
            for item in items:
                yield item
                bar.update(1 if size is None else size(item))

    return counted()
