"""The section of confused labels: the matrix of the labels most often mistaken, and the most frequent confusions."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import FloatArray, IntArray
from streameval.metrics.pairs import Matrix, confusion_matrix
from streameval.report.model import Column, Kind, Report, Table
from streameval.report.page.markup import Section, as_count, escaped, label_strings, table_section
from streameval.schema.text import cut_distinct

_SIDE, _PAIRS, _NAME = 16, 200, 26  # labels of the matrix, rows of the table, characters of a name
_LEAST = 0.005  # cells with a smaller fraction have no number
_DEEP = 0.4  # at or above it a cell is so dark that its number must be light
_MEANING = (
    "<p>A false negative is divided equally among the false positives of its example; without these it is “no label”. "
    "A true positive is on the diagonal; if false positives are the only errors, it is divided among it and them.</p>"
)


def pair_section(report: Report) -> Section | None:
    """The section of confused labels, if confusions are counted."""
    view = report.view("pairs")
    if view is None or "confusions" not in view.parts:
        return None
    matrix = confusion_matrix(view, values="shares")
    names = label_strings(matrix.labels)
    values, parts = matrix.values(), matrix.values("true")
    wrong = np.flatnonzero((matrix.row != matrix.column) & (values > 0))
    drawn, few = _drawn(matrix, values, wrong)
    table = _table(matrix, names, values, parts, wrong, max(6, len(drawn) + 3))
    above = f'{_MEANING}<div class="side-by-side pairs">{_heat(matrix, names, values, parts, drawn, few)}<div>'
    return table_section("Confusion", table, above, "</div></div>", name="confusion")


def _table(
    matrix: Matrix, names: list[str], values: FloatArray, parts: FloatArray, wrong: IntArray, first: int
) -> Table:
    top = wrong[np.lexsort((matrix.column[wrong], matrix.row[wrong], -values[wrong]))[:_PAIRS]]
    few = f", the first {_PAIRS} of {len(wrong):,}" if len(wrong) > _PAIRS else ""
    kind: Kind = "count" if (values[top] == values[top].round()).all() or not values[top].max() < 1e15 else "tenths"
    largest = max((part for part in parts[top].tolist() if 0 < part < np.inf), default=1.0)
    columns = [
        Column("true label", "label", [names[row] for row in matrix.row[top].tolist()], longest=_NAME),
        Column("taken for", "text", [names[column] for column in matrix.column[top].tolist()], longest=_NAME),
        Column("examples", kind, values[top].tolist(), "each divided over what it was taken for"),
        Column("fraction", "bar", parts[top].tolist(), "of the examples with the true label", full=largest),
    ]
    return Table("confusions", f"The most frequent confusions{few}", columns, by="examples", first=first)


def _drawn(matrix: Matrix, values: FloatArray, wrong: IntArray) -> tuple[list[int], str]:
    """The places of the labels most often mistaken, then that of no label; and words if these are not all labels."""
    none = len(matrix.labels) - 1
    mistaken = np.zeros(none + 1)
    for side in (matrix.row, matrix.column):
        with np.errstate(over="ignore"):  # weights may add up to more than any float
            np.add.at(mistaken, side[wrong], values[wrong])
    chosen = np.sort(np.argsort(-mistaken[:none], kind="stable")[:_SIDE]).tolist()
    return [*chosen, none], "" if len(chosen) == none else f", for the {len(chosen)} labels most often mistaken"


def _heat(matrix: Matrix, names: list[str], values: FloatArray, parts: FloatArray, drawn: list[int], few: str) -> str:
    """HTML of the matrix of some labels; the colour is the root of the fraction, so that small ones are visible."""
    within = np.flatnonzero(np.isin(matrix.row, drawn) & np.isin(matrix.column, drawn)).tolist()
    cells = {(int(matrix.row[at]), int(matrix.column[at])): at for at in within}

    def cell(row: int, column: int) -> str:
        at = cells.get((row, column))
        many, fraction = (0.0, 0.0) if at is None else (float(values[at]), float(parts[at]))
        title = f' title="{escaped(f"{names[row]} → {names[column]}: {as_count(many)}")}"' if many else ""
        marks = ("hit" if row == column else "miss") + (" deep" if fraction > _DEEP else "")
        text = f"{100 * fraction:.0f}" if fraction >= _LEAST else ""
        return f'<td class="{marks}" style="--v:{fraction**0.5:.3f}"{title}>{text}</td>'

    heads = body = ""
    for row, text in zip(drawn, cut_distinct([names[at] for at in drawn], _NAME), strict=True):
        title, name = escaped(names[row]), f"<bdi>{escaped(text)}</bdi>"
        heads += f'<th scope="col" title="{title}"><span>{name}</span></th>'
        body += f'<tr><th scope="row" title="{title}">{name}</th>{"".join(cell(row, each) for each in drawn)}</tr>'
    size = "medium" if len(drawn) > 6 else ""
    scale = "".join(f'<span style="--v:{(number / 100) ** 0.5:.3f}">{number}</span>' for number in (0, 5, 20, 50, 100))
    return (
        f'<div class="scroll {size}" role="region" tabindex="0" aria-labelledby="matrix-caption">'
        f'<table class="matrix" style="--cell:{min(3.0, max(1.75, 30 / len(drawn))):.2f}rem">'
        f'<caption id="matrix-caption">What became of each true label, in per cent of its row{few}</caption>'
        f'<thead><tr><th scope="col">true ↓ predicted →</th>{heads}</tr></thead><tbody>{body}</tbody></table>'
        f'<p class="scale"><em>correct <b class="hit">{scale}</b></em> '
        f'<em>wrong <b class="miss">{scale}</b></em> %</p></div>'
    )
