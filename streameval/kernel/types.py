"""Names for what the kernel takes and returns."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, TypeAlias

import numpy as np

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
UInt8Array: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
WordArray: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Integers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array of int64, or of Python integers where a sum or product could pass 64 bits."""
ScoreArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]] | FloatArray

RowKey: TypeAlias = tuple[int, int, int, int]
"""How many labels of an example are true, predicted, both, and masked."""

Places: TypeAlias = np.ndarray[Any, np.dtype[np.int32]] | IntArray


class Lists(NamedTuple):
    """For each example ``i`` a list of columns: those of the places ``places[offsets[i]:offsets[i + 1]]``."""

    offsets: Places
    places: Places
    columns: IntArray | None = None
    """The column of each place; None if places are columns. Its entries are distinct if ``distinct``."""
    distinct: bool = False
    """Whether it is known that no list holds a place twice."""

    def flat(self) -> Places:
        """The columns of all lists, one after the other."""
        return self.places if self.columns is None else self.columns[self.places]


class BitRows(NamedTuple):
    """Rows of bits, one for each column; the bits between the columns of two rows must be 0."""

    data: UInt8Array
    """The bytes, contiguous."""
    first: int
    """How many bits stand before the first row."""
    stride: int
    """How many bits apart rows start, at most 7 more than columns."""
    examples: int
    columns: int
    falls: bool
    """Whether the first column of a byte is its highest bit; rows are whole bytes then."""

    def part(self, rows: slice) -> BitRows:
        start, stop, _ = rows.indices(self.examples)
        return self._replace(first=self.first + start * self.stride, examples=max(0, stop - start))

    def cells(self) -> UInt8Array | None:
        """0 and 1, shape (examples, columns); None if a bit after the columns of a row is set."""
        size = self.examples * self.stride
        data = self.data[self.first // 8 : (self.first + size + 7) // 8]
        bits = np.unpackbits(data, bitorder="big" if self.falls else "little")[self.first % 8 :][:size]
        rows = bits.reshape(self.examples, self.stride)
        return None if rows[:, self.columns :].any() else rows[:, : self.columns]


Ragged: TypeAlias = tuple[IntArray, IntArray]
"""For each example a list: offsets, and the columns of all lists one after the other."""

Scored: TypeAlias = tuple[Any, int, Any, Any, Any, Any]
"""Examples with scores: the table's column for each column of the rows; the number below which columns are of declared
labels; truths; scores; flags of the scores that exist (None: all) and of masked truths (None: none). The last four have
the shape (examples, columns). Of lists the first is None, and truths and flags are `Ragged`: the columns that are true,
those that have a score, and those whose truth is masked."""


class Records(NamedTuple):
    """The counts of a ranking for each example; `docs/format.md` explains the letters.

    Attributes
    ----------
    rows
        For each example ``m, l, u, h``; pairs of ranked labels, one true and one false, in which the false one ranks
        at least as high; ``a + g`` of the last group (0 where some true label is not ranked); whether there is such a
        pair; whether a false label ranks at least as high as the best true one; true labels ranked above all ranked
        false ones. Shape (examples, 9).
    groups
        For each group with a true label its example, ``a, g, t, L``; shape (groups, 5).
    labels
        For each true label its example, its column, and ``a, g`` of its group (-1 and 0 where it is not ranked); shape
        (true labels, 4).
    """

    rows: IntArray
    groups: IntArray
    labels: IntArray


class Weighed(NamedTuple):
    """Exact sums of weights, as digits: ``sum(digit[j] * 2**(32 * j)) / 2**scale``."""

    scale: int
    cells: IntArray
    """For each column and outcome, shape (columns, 5, digits). True negatives stay 0."""
    keys: IntArray
    """The row keys that occur, in any order, shape (distinct, 4)."""
    of_keys: IntArray
    """For each row key, shape (distinct, digits)."""


DAMAGED, DISTINCT, REPEATING = 0, 1, 2
"""What lists can be; see `streameval.kernel.lists.list_order`."""

TapeContents: TypeAlias = tuple[Int32Array, Int32Array, FloatArray | None, IntArray | None]
"""Examples in order: how many slots each has, all slots, weights (None if all are 1), stamps (None if untimed)."""

DONE, OTHER, REFUSED, FULL = 0, 1, 2, 3
"""What methods return that may decline a change; see `streameval.kernel.decisions.numpy.Counts`."""

EITHER = frozenset([0, 1, -1, -100, "0", "1", "-1", "-100"])
"""Values that can be labels as well as indicators (masked ones too), also as strings, which files make of them."""

SEED = (int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8)))
"""The seed of this process's hash tables; see table.h."""
