"""What readers yield: one argument of some examples, as arrays of offsets, columns and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.inputs.columns import IGNORED, Argument
from streameval.inputs.values import array_of, binarize, checked_scores, places_of
from streameval.kernel.types import BitRows, Flags, FloatArray, IntArray, Lists, ScoreArray, UInt8Array
from streameval.schema.batch import NO_COLUMNS, offsets_of
from streameval.schema.text import check_choice, check_number, number_of

# Matrices are read in pieces, since some kinds need a copy; a piece of this many cells makes its overhead unnoticeable.
CELLS = 2**24


@dataclass(slots=True, eq=False)
class Source:
    """One argument, read piece by piece."""

    length: int | None  # None where it is not known before the end
    width: int  # cells of an example
    piece: Callable[[int, int], Piece]  # reads examples from start to before stop, fewer at the end
    start: int = 0

    def take(self, size: int) -> Piece:
        """The next ``size`` examples, fewer at the end."""
        start, self.start = self.start, self.start + size
        return self.piece(start, self.start)


class Rows:
    """Rows of a matrix whose columns are all mentioned; values are read and checked when they are needed."""

    def __init__(
        self, block: np.ndarray[Any, Any] | BitRows, columns: IntArray, argument: Argument, start: int
    ) -> None:
        self._block, self.columns, self.bits = block, columns, block if isinstance(block, BitRows) else None
        self.examples = len(block) if self.bits is None else self.bits.examples
        self._argument, self._start = argument, start
        self.thresholds = argument.reader.threshold_row(columns) if argument.compared else 0.0

    @property
    def block(self) -> np.ndarray[Any, Any]:
        """The rows as an array; bits become booleans."""
        if isinstance(self._block, BitRows):
            self._block = booleans(self._block, lambda row: self._argument.at(self._start + row))
        return self._block

    def read(self, *, unchecked: bool = False) -> tuple[UInt8Array, UInt8Array | None]:
        """1 where positive, and 1 where masked (None if nowhere); with ``unchecked``, the kernel must check bytes."""
        if unchecked and self.block.dtype == np.uint8 and not self._argument.compared:
            return self.block, None
        return binarize(self.block, self._argument, self.thresholds, places_of(self.columns, self._start))

    def lists(self) -> Columns:
        """The same, as lists of columns."""
        bits, masked = self.read()
        cells = None if masked is None else listed(masked, self.columns)
        return Columns(len(bits), listed(bits, self.columns), cells, None, self.columns)


@dataclass(slots=True, eq=False)
class Scores:
    """Rows of a matrix of scores, for states that read them; ``missing`` is 1 where there is no score."""

    columns: IntArray
    scores: ScoreArray
    missing: UInt8Array | None
    read: Callable[[], tuple[ScoreArray, UInt8Array | None]]  # checks and returns both, if the kernel was to check them

    @property
    def examples(self) -> int:
        return len(self.scores)

    def lists(self) -> Columns:
        """The same, as lists of columns."""
        values, missing = self.read()
        scored = np.ones(values.shape, np.uint8) if missing is None else 1 - missing
        scores = values[scored != 0].astype(np.float64)
        return Columns(self.examples, mentioned_by_all=self.columns, ranked=listed(scored, self.columns), scores=scores)


@dataclass(slots=True, eq=False)
class Columns:
    """Lists of columns for each example: positive, masked, and only mentioned; and columns that all mention."""

    examples: int
    positive: Lists | None = None
    masked: Lists | None = None
    mentioned: Lists | None = None
    mentioned_by_all: IntArray = field(default_factory=lambda: NO_COLUMNS)
    ranked: Lists | None = None  # columns with a score
    scores: FloatArray | None = None
    numeric: UInt8Array | None = None  # 0 where a score is a place in a ranked list; None if all are numbers


Piece: TypeAlias = Rows | Scores | Columns


def bit_rows(packed: Any, name: str) -> BitRows:
    """The rows of a `PackedRows` in an argument of this name; checked."""
    labels = check_number("PackedRows.n_labels", packed.n_labels, 0)
    check_choice("PackedRows.bitorder", packed.bitorder, ("big", "little"))
    array = np.asarray(array_of(packed.bits, name))
    array = array[None] if array.ndim == 1 else array
    width = (labels + 7) // 8
    if array.ndim != 2 or array.dtype != np.uint8 or array.shape[1] != width:
        wrong = f"{name} has bits of shape {array.shape} and type {array.dtype}"
        if array.ndim != 2 or array.dtype != np.uint8:
            raise InputError(f"{wrong}; give uint8 bytes, examples x bytes, as np.packbits(rows, axis=1) makes them")
        bytes_ = f"but {number_of(labels, 'label')} take {number_of(width, 'byte')}"
        raise InputError(f"{wrong}, {bytes_}; pack with axis=1, and give the number of labels as n_labels")
    data = np.ascontiguousarray(array).reshape(-1)
    return BitRows(data, 0, 8 * width, len(array), labels, packed.bitorder == "big")


def booleans(bits: BitRows, name: Callable[[int], str]) -> Flags:
    """Rows of bits as rows of booleans; ``name`` returns the name of a row in messages."""
    cells = bits.cells()
    if cells is not None:
        return cells.view(np.bool_)
    row = next(row for row in range(bits.examples) if bits.part(slice(row, row + 1)).cells() is None)
    wrong = f"{name(row)} has bits set after those of its {bits.columns} labels"
    raise InputError(f"{wrong}; give the n_labels and the bitorder with which np.packbits made the bytes")


def matrix_piece(
    block: np.ndarray[Any, Any] | BitRows, columns: IntArray, argument: Argument, start: int
) -> Rows | Scores:
    """Rows of a matrix with these columns; the first row is the example ``start``."""
    if argument.scored:
        read = partial(checked_scores, block, argument, places_of(columns, start))
        compared = argument.compared and not argument.reader.drops_nan
        return Scores(columns, *read(compared=compared), read)
    return Rows(block, columns, argument, start)


def listed(bits: UInt8Array, columns: IntArray) -> Lists:
    """For each row the columns of its cells that are 1."""
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
