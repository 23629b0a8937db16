"""Which labels are taken for which: the matrix of those most mistaken, and the most frequent confusions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from streameval.kernel.types import FloatArray, IntArray
from streameval.metrics.averaging import as_float
from streameval.metrics.pairs import Matrix, confusion_matrix
from streameval.report.model import Column, Report, Table
from streameval.report.page.markup import Section, count_text, escaped, label_strings, table_html

_SIDE = 16
_PAIRS = 200
_LEAST = 0.005
_DEEP = 0.55  # at or above it a cell is so dark that its number must be light
_MEANING = (
    "<p>A label that is missed was taken for the labels that are wrongly predicted in the same example, in equal "
    "parts, or for no label if there are none. Correct predictions are on the diagonal.</p>"
)


def pair_section(report: Report) -> Section | None:
    """Confusion of labels, if confusions are counted."""
    view = report.view("pairs")
    if view is None or "confusions" not in view.parts:
        return None
    matrix = confusion_matrix(view, values="shares")
    names = label_strings(matrix.labels)
    values, parts = _sums(matrix), matrix.values("true")
    wrong = np.flatnonzero((matrix.row != matrix.column) & (values > 0))
    table = _table(matrix, names, values, parts, wrong)
    heat = _heat(matrix, names, values, parts, wrong)
    pictures = f'<div class="side-by-side pairs">{heat}<div>{table_html(table)}</div></div>'
    return Section("confusion", "Confusion", _MEANING + pictures, table)


def _sums(matrix: Matrix) -> FloatArray:
    """The entries as floats, infinite where no float is as large."""
    try:
        return matrix.values()
    except OverflowError:
        return np.array([as_float(Fraction(value, matrix.den)) for value in matrix.num.tolist()], np.float64)


def _table(matrix: Matrix, names: list[str], values: FloatArray, parts: FloatArray, wrong: IntArray) -> Table:
    """The pairs of different labels that are confused most often."""
    top = wrong[np.lexsort((matrix.column[wrong], matrix.row[wrong], -values[wrong]))[:_PAIRS]]
    few = f", the first {_PAIRS} of {len(wrong):,}" if len(wrong) > _PAIRS else ""
    columns = [
        Column("true label", "label", [names[row] for row in matrix.row[top].tolist()]),
        Column("taken for", "text", [names[column] for column in matrix.column[top].tolist()]),
        Column("examples", "count", values[top].tolist(), "each divided over what it was taken for"),
        Column("fraction", "bar", parts[top].tolist(), "of the examples with the true label"),
    ]
    return Table("confusions", f"The most frequent confusions{few}", columns, by="examples", first=_SIDE)


def _heat(matrix: Matrix, names: list[str], values: FloatArray, parts: FloatArray, wrong: IntArray) -> str:
    """The matrix of the labels most often mistaken, and of no label."""
    none = len(names) - 1
    mistaken = np.zeros(len(names))
    for side in (matrix.row, matrix.column):
        with np.errstate(over="ignore"):  # weights may add up to more than any float
            np.add.at(mistaken, side[wrong], values[wrong])
    chosen = np.sort(np.argsort(-mistaken[:none], kind="stable")[:_SIDE])
    drawn = [*chosen.tolist(), none]
    within = np.flatnonzero(np.isin(matrix.row, drawn) & np.isin(matrix.column, drawn)).tolist()
    cells = {(int(matrix.row[at]), int(matrix.column[at])): at for at in within}

    def cell(row: int, column: int) -> str:
        at = cells.get((row, column))
        many, fraction = (0.0, 0.0) if at is None else (float(values[at]), float(parts[at]))
        title = f' title="{escaped(f"{names[row]} → {names[column]}: {count_text(many)}")}"' if many else ""
        marks = ("hit" if row == column else "miss") + (" deep" if fraction > _DEEP else "")
        text = f"{100 * fraction:.0f}" if fraction >= _LEAST else ""
        return f'<td class="{marks}" style="--v:{fraction:.3f}"{title}>{text}</td>'

    texts = {at: escaped(names[at]) for at in drawn}
    heads = "".join(f'<th scope="col" title="{text}"><span><bdi>{text}</bdi></span></th>' for text in texts.values())
    body = "".join(
        f'<tr><th scope="row" title="{text}"><bdi>{text}</bdi></th>{"".join(cell(row, each) for each in drawn)}</tr>'
        for row, text in texts.items()
    )
    few = "" if len(chosen) == none else f", for the {len(chosen)} labels most often mistaken"
    return (
        '<div class="scroll" role="region" tabindex="0" aria-labelledby="matrix-caption"><table class="matrix">'
        f'<caption id="matrix-caption">What became of each true label, in per cent of its row{few}</caption>'
        f'<thead><tr><th scope="col">true ↓ predicted →</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
