"""Which labels are taken for which: the matrix of those most mistaken, and the most frequent confusions."""

from __future__ import annotations

import numpy as np

from streameval.metrics.kept import Readings
from streameval.report.page.markup import Column, Section, Table, count_text, escaped, label_texts

__all__ = ["pair_section"]

_SIDE = 16
_PAIRS = 200
_SAID = 0.005


def pair_section(readings: Readings) -> Section | None:
    """Confusion of labels, if pairs are kept."""
    if not readings.keeps("pairs") or not readings.tables.examples or not readings.tables.labels:
        return None
    from streameval.metrics.pairs import Matrix, confusion_matrix

    matrix: Matrix = confusion_matrix(readings.named("pairs", "the report"), values="shares")
    names = label_texts(matrix.labels)
    none = len(names) - 1
    values, parts = matrix.values(), matrix.values("true")
    wrong = np.flatnonzero((matrix.row != matrix.column) & (values > 0))
    mistaken = np.zeros(len(names))
    for side in (matrix.row, matrix.column):
        np.add.at(mistaken, side[wrong], values[wrong])
    chosen = np.sort(np.argsort(-mistaken[:none], kind="stable")[:_SIDE])
    shown = [*chosen.tolist(), none]
    within = np.flatnonzero(np.isin(matrix.row, shown) & np.isin(matrix.column, shown))
    cells = {(int(matrix.row[at]), int(matrix.column[at])): (float(values[at]), float(parts[at])) for at in within}
    few = "" if len(chosen) == none else f", for the {len(chosen)} labels most often mistaken"
    heads = "".join(
        f'<th scope="col" title="{escaped(names[at])}"><span><bdi>{escaped(names[at])}</bdi></span></th>' for at in shown
    )
    body = ""
    for row in shown:
        line = ""
        for column in shown:
            many, share = cells.get((row, column), (0.0, 0.0))
            told = f"{names[row]} → {names[column]}: {count_text(many)}" if many else ""
            side = "hit" if row == column else "miss"
            deep = " deep" if share > 0.55 else ""
            text = f"{100 * share:.0f}" if share >= _SAID else ""
            title = f' title="{escaped(told)}"' if told else ""
            line += f'<td class="{side}{deep}" style="--v:{share:.3f}"{title}>{text}</td>'
        body += f'<tr><th scope="row" title="{escaped(names[row])}"><bdi>{escaped(names[row])}</bdi></th>{line}</tr>'
    caption = f"What became of each true label, in per cent of its row{few}"
    heat = (
        f'<div class="scroll" role="region" tabindex="0" aria-labelledby="matrix-caption"><table class="matrix">'
        f'<caption id="matrix-caption">{caption}</caption><thead><tr><th scope="col">true ↓ predicted →</th>{heads}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )
    top = wrong[np.lexsort((matrix.column[wrong], matrix.row[wrong], -values[wrong]))[:_PAIRS]]
    table = Table(
        "confusions",
        "The most frequent confusions" + (f", the first {_PAIRS} of {len(wrong):,}" if len(wrong) > _PAIRS else ""),
        [
            Column("true label", "label", [names[row] for row in matrix.row[top].tolist()]),
            Column("taken for", "text", [names[column] for column in matrix.column[top].tolist()]),
            Column("examples", "count", values[top].tolist(), "each divided over what it was taken for"),
            Column("share", "bar", parts[top].tolist(), "of the examples with the true label"),
        ],
        by="examples",
        first=_SIDE,
    )
    told = (
        "<p>A label that is missed was taken for the labels that are wrongly predicted in the same example, in equal "
        "parts, or for no label if there are none. Right decisions are on the diagonal.</p>"
    )
    return Section(
        "confusion", "Confusion", f'{told}<div class="beside pairs">{heat}<div>{table.html()}</div></div>',
        {"confusions": table.data()},
    )  # fmt: skip
