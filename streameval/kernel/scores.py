"""Reads examples with scores one by one, for the numpy twins; compiled loops read them as in `scores.h`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from streameval.kernel.types import Scored

Cells: TypeAlias = dict[int, tuple[bool, float | None] | None]
"""Of each column that an example mentions: whether it is true, and its score or None; None in all if it is masked."""


def examples_of(scored: Scored, width: int) -> Iterator[Cells]:
    """Yield the cells of each example, those of rows in the order of the row; columns must be below ``width``."""
    columns, _, true, _, ranked, mask = scored
    for part in [columns] if columns is not None else [side[1] for side in (true, ranked, mask) if side is not None]:
        if len(part) and not 0 <= int(part.min()) <= int(part.max()) < width:
            raise IndexError("a column is out of range")
    return _lists(scored) if columns is None else _rows(scored)


def _rows(scored: Scored) -> Iterator[Cells]:
    columns, _, true, scores, ranked, mask = scored
    scores = scores.astype(object)
    if ranked is not None:
        scores[ranked == 0] = None
    names = columns.tolist()
    for row, truths in enumerate((true != 0).tolist()):
        cells: Cells = dict(zip(names, zip(truths, scores[row].tolist(), strict=True), strict=True))
        masked = [] if mask is None else columns[mask[row] != 0].tolist()
        yield cells | dict.fromkeys(masked)


def _lists(scored: Scored) -> Iterator[Cells]:
    _, _, true, scores, ranked, mask = scored
    for row in range(len(true[0]) - 1):
        trues, rankeds, masked = (
            [] if side is None else side[1][slice(*side[0][row : row + 2])].tolist() for side in (true, ranked, mask)
        )
        score_of = dict(zip(rankeds, scores[slice(*ranked[0][row : row + 2])].tolist(), strict=True))
        cells: Cells = {column: (column in trues, score_of.get(column)) for column in [*trues, *rankeds]}
        yield cells | dict.fromkeys(masked)
