"""What readers yield: one argument of some examples, as arrays of offsets, columns and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from streameval.inputs.columns import IGNORED, Argument
from streameval.inputs.values import binarize, bound_of, checked_scores, places_of
from streameval.kernel.types import FloatArray, IntArray, Lists, ScoreArray, UInt8Array
from streameval.schema.batch import offsets_of

# Matrices are read in pieces, since some kinds need a copy; a piece of this many cells makes its overhead unnoticeable.
CELLS = 2**24
_NOTHING = np.zeros(0, np.int64)


@dataclass(slots=True, eq=False)
class Source:
    """One argument, read piece by piece."""

    length: int | None  # None where it is not known before the end
    width: int  # of an example in cells
    piece: Callable[[int, int], Piece]  # reads the examples from one to before another, fewer at the end
    start: int = 0

    def take(self, size: int) -> Piece:
        """The next ``size`` examples, fewer at the end."""
        start, self.start = self.start, self.start + size
        return self.piece(start, self.start)


class Rows:
    """Rows of a matrix whose columns are all mentioned; values are looked at when they are needed."""

    def __init__(self, block: np.ndarray[Any, Any], columns: IntArray, argument: Argument, start: int) -> None:
        self.block, self.columns, self.examples = block, columns, len(block)
        self._argument, self._start = argument, start
        self.thresholds = argument.reader.threshold_row(columns) if argument.compared else 0.0
        self._read: tuple[UInt8Array, UInt8Array | None] | None = None

    def read(self) -> tuple[UInt8Array, UInt8Array | None]:
        """1 where positive, and 1 where masked (None if nowhere); checked."""
        if self._read is None:
            places = places_of(self.columns, self._start)
            self._read = binarize(self.block, self._argument, self.thresholds, places)
        return self._read

    def raw(self) -> tuple[UInt8Array, UInt8Array | None]:
        """The same, but the kernel checks bytes that need no copy, while it counts them."""
        unchecked = self.block.dtype == np.uint8 and not self._argument.compared
        if self._read is None and (unchecked or self.block.dtype == np.bool_):
            rows = np.ascontiguousarray(self.block).view(np.uint8)
            # A boolean array can hold other bytes than 0 and 1, all of which are true.
            if unchecked or rows.max(initial=0) <= 1:
                return rows, None
        return self.read()

    def compared(self) -> tuple[ScoreArray, ScoreArray] | None:
        """Scores and the threshold of each column, not checked, if the kernel can compare them."""
        if not self._argument.compared or self.block.dtype not in (np.float32, np.float64):
            return None
        if self._argument.reader.drops_nan and np.isnan(self.block).any():
            return None
        bounds = np.broadcast_to(bound_of(self.block.dtype, self.thresholds), self.columns.shape)
        return np.ascontiguousarray(self.block), np.ascontiguousarray(bounds)

    def lists(self) -> Columns:
        """The same, as lists of columns."""
        bits, masked = self.read()
        cells = None if masked is None else listed(masked, self.columns)
        return Columns(len(bits), listed(bits, self.columns), cells, None, self.columns)


@dataclass(slots=True, eq=False)
class Scores:
    """Rows of a matrix of scores, for states that read them; 1 in ``missing`` where there is none."""

    columns: IntArray
    scores: ScoreArray
    missing: UInt8Array | None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.scores)

    def lists(self) -> Columns:
        """The same, as lists of columns."""
        scored = np.ones(self.scores.shape, np.uint8) if self.missing is None else 1 - self.missing
        scores = self.scores[scored != 0].astype(np.float64)
        return Columns(self.examples, mentioned_by_all=self.columns, ranked=listed(scored, self.columns), scores=scores)


@dataclass(slots=True, eq=False)
class Columns:
    """For each example lists of columns: positive, masked, and otherwise mentioned, and columns that all mention."""

    examples: int
    positive: Lists | None = None
    masked: Lists | None = None
    mentioned: Lists | None = None
    mentioned_by_all: IntArray = field(default_factory=lambda: _NOTHING)
    ranked: Lists | None = None  # columns with a score
    scores: FloatArray | None = None
    numeric: UInt8Array | None = None  # 0 where a score is a place in a ranked list; None if all are numbers


Piece: TypeAlias = Rows | Scores | Columns


def matrix_piece(block: np.ndarray[Any, Any], columns: IntArray, argument: Argument, start: int) -> Rows | Scores:
    """Rows of a matrix with these columns, of which the first is the example ``start``."""
    if argument.scored:
        return Scores(columns, *checked_scores(block, argument, places_of(columns, start)))
    return Rows(block, columns, argument, start)


def listed(bits: UInt8Array, columns: IntArray) -> Lists:
    """The columns of the ones of each row."""
    row, place = np.nonzero(bits)
    return Lists(offsets_of(np.bincount(row, minlength=len(bits))), place, columns, True)


def filtered(lists: Lists, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Lists:
    """The lists without some of their entries."""
    if chosen.all():
        return lists
    return lists._replace(offsets=offsets_of(chosen)[lists.offsets], places=lists.places[chosen].astype(np.int64))


def unignored(lists: Lists) -> Lists:
    """The lists without the labels that are ignored."""
    columns = lists.places if lists.columns is None else lists.columns
    if not (columns == IGNORED).any():
        return lists
    plain = lists.flat()
    return filtered(Lists(lists.offsets, plain, None, lists.distinct), plain != IGNORED)
