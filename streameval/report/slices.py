"""Slices as a table of plain text."""

from __future__ import annotations

from streameval.report.text import cut, number_text

__all__ = ["Row", "slices_report"]

Row = tuple[str, str, int, dict[str, float]]
"""What it is sliced by, the slice, its examples, and its values."""


def slices_report(rows: list[Row], total: Row, digits: int) -> str:
    """A line for each slice, those of an axis together, and one for all."""
    names = list(total[3])
    left = min(48, max(len(name) for row in (*rows, total) for name in (row[0], row[1])))
    widths = [max(11, len(name) + 2) for name in names]

    def line(row: Row) -> str:
        values = [row[3].get(name) for name in names]
        cells = "".join(
            f"{'' if value is None else number_text(value, digits):>{width}}"
            for value, width in zip(values, widths, strict=True)
        )
        return f"{cut(row[1], left):<{left}}{row[2]:>12,}{cells}"

    lines: list[str] = []
    before = None
    for row in rows:
        if row[0] != before:
            head = "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
            lines += [*([""] if lines else []), f"{cut(row[0], left):<{left}}{'examples':>12}{head}"]
            before = row[0]
        lines.append(line(row))
    return "\n".join([*lines, "", line(total)] if lines else [line(total)])
