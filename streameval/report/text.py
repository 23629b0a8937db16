"""Reports as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from streameval.metrics.pairs import Matrix
from streameval.report.model import PER_LABEL, Report, Table, cell_text, count_text, largest_first
from streameval.schema.text import check_number, cut_distinct, label_lines, number_of, width_of

_WIDTH, _LONGEST = 11, 48
_Row = tuple[str, list[float], float]  # a label or an average, its values, its support


def _line(name: str, left: int, cells: Iterable[str], widths: Iterable[int] = repeat(_WIDTH)) -> str:
    aligned = (f"{cell:>{width + len(cell) - width_of(cell)}}" for cell, width in zip(cells, widths, strict=False))
    return f"{name:<{left + len(name) - width_of(name)}}{''.join(aligned)}"


def text_report(report: Report, *, digits: int, max_labels: int) -> str:
    """The labels, the averages and the chosen metrics; only the last for scores without a threshold."""
    digits = check_number("digits", digits, 0, 100)
    max_labels = check_number("max_labels", max_labels, 0)
    if not report.tables.examples:
        return f"{report.headline}; metrics: {', '.join(spec.key for spec in report.specs) or 'none'}"
    single = report.single(strict=True)
    labels, averages = list[_Row](), list[_Row]()
    if report.has_decisions:
        columns = [*report.label_values().values()]
        largest = sorted(largest_first(report.support)[:max_labels])
        written = label_lines(report.labels)
        labels = [(written[at], [c[at] for c in columns], report.support[at]) for at in largest]
        averages = [(name, values, report.total_support) for name, values in report.averages().items()]
    rows = [*labels, *averages]
    names = cut_distinct([*(name for name, _, _ in rows), *(item.spec.key for item in single)], _LONGEST)
    left = max(map(width_of, names), default=8)
    lines = [
        _line(name, left, [*(cell_text(value, digits=digits) for value in values), count_text(support)])
        for name, (_, values, support) in zip(names, rows, strict=False)
    ]
    unlabelled = [f"{number_of(report.unlabelled, 'example')} without a true label"] * bool(report.unlabelled)
    omitted = len(report.labels) - len(labels)
    rest = [f"... {number_of(omitted, 'label')} of smaller support omitted"] if omitted else []
    blocks = [
        [report.headline, *unlabelled],
        [_line("", left, [*PER_LABEL, "support"]), *lines[: len(labels)], *rest] if report.has_decisions else [],
        lines[len(labels) :],
        [
            _line(name, left, [cell_text(item.value, digits=digits)])
            + "".join(f"  {note}" for note in (item.direction, item.bounds_text(digits)) if note)
            for name, item in zip(names[len(rows) :], single, strict=True)
        ],
        [f"warning: {text}" for text in report.warnings],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def slices_report(tables: Sequence[Table], digits: int) -> str:
    """A block of lines for each table of slices, and at the end one line for all examples, the last row of each."""
    digits = check_number("digits", digits, 0, 100)
    heads = [column.name for column in tables[0].columns[1:]]
    every = [name for table in tables for name in (table.name, *table.columns[0].values)]
    short = dict(zip(every, cut_distinct(every, _LONGEST), strict=True))
    left = max(map(width_of, short.values()))
    widths = [12, *(max(_WIDTH, len(head) + 2) for head in heads[1:])]

    def lines(table: Table, rows: Iterable[int]) -> Iterator[str]:
        for row in rows:
            name, size, *values = (column.values[row] for column in table.columns)
            cells = (cell_text(value, digits=digits) if size else "-" for value in values)
            yield _line(short[name], left, [count_text(size), *cells], widths)

    total = tables[0].size - 1
    blocks = [
        "\n".join([_line(short[table.name], left, heads, widths), *lines(table, range(table.size - 1)), ""])
        for table in tables
    ]
    return "\n".join([*blocks, *lines(tables[0], [total])])


def matrix_text(matrix: Matrix) -> str:
    """A matrix as text, cut to the labels whose sums of row and column are largest."""
    totals = [sum(both) for both in zip(matrix.sums(0), matrix.sums(1), strict=True)]
    places = sorted(largest_first(totals)[:_WIDTH])
    sums = dict(zip(zip(matrix.row.tolist(), matrix.column.tolist(), strict=True), matrix.values(), strict=True))
    names = cut_distinct(label_lines(matrix.labels[at] for at in places), _WIDTH - 1)
    cells = [names, *([count_text(sums.get((row, column), 0)) for column in places] for row in places)]
    width = 1 + max([_WIDTH - 1, *(len(cell) for row in cells for cell in row)])
    lines = [_line(name, _WIDTH, row, repeat(width)) for name, row in zip(["", *names], cells, strict=True)]
    some = f", the {len(places)} labels with the largest sums" if len(places) < len(totals) else ""
    return "\n".join([f"{len(totals)} x {len(totals)} matrix{some}", *lines])


def classification_table(rows: Sequence[tuple[str, Sequence[float]]], labels: int, digits: int) -> str:
    """Rows, the first ``labels`` of labels and the rest of averages, laid out as ``classification_report`` does."""
    width = max(digits, *(width_of(name) for name, _ in rows))

    def line(name: str, values: Sequence[float]) -> str:
        numbers = "".join(f" {value:>9.{digits}f}" for value in values[:3])
        return f"{name:>{width + len(name) - width_of(name)}} {numbers} {values[3]:>9}"

    lines = [line(*row) for row in rows]
    head = "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
    return "\n".join([f"{'':>{width}} {head}", "", *lines[:labels], "", *lines[labels:], ""])
