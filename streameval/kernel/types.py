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
    """For each example a list of columns: those where ``places[offsets[i]:offsets[i + 1]]`` lead."""

    offsets: Places
    places: Places
    columns: IntArray | None = None
    """Where each place leads; None if places are columns. Its entries are distinct if ``distinct``."""
    distinct: bool = False
    """Whether it is known that no list holds a place twice."""

    def flat(self) -> Places:
        """The columns of all lists, one after the other."""
        return self.places if self.columns is None else self.columns[self.places]


class BitRows(NamedTuple):
    """Rows of bits, one for each column; what stands behind the columns of a row must be 0."""

    data: UInt8Array
    """Of which bytes, contiguous."""
    first: int
    """How many bits stand before the first row."""
    stride: int
    """How many bits it is from row to row, at most 7 more than columns."""
    examples: int
    columns: int
    falls: bool
    """Whether a byte begins with its highest bit; rows are whole bytes then."""

    def part(self, rows: slice) -> BitRows:
        start, stop, _ = rows.indices(self.examples)
        return self._replace(first=self.first + start * self.stride, examples=max(0, stop - start))

    def cells(self) -> UInt8Array | None:
        """0 and 1, shape (examples, columns); None if a bit behind the columns is set."""
        size = self.examples * self.stride
        data = self.data[self.first // 8 : (self.first + size + 7) // 8]
        bits = np.unpackbits(data, bitorder="big" if self.falls else "little")[self.first % 8 :][:size]
        rows = bits.reshape(self.examples, self.stride)
        return None if rows[:, self.columns :].any() else rows[:, : self.columns]


Ragged: TypeAlias = tuple[IntArray, IntArray]
"""For each example a list: offsets, and the columns of all lists one after the other."""

Scored: TypeAlias = tuple[Any, int, Any, Any, Any, Any]
"""Examples with scores: where each column of rows counts; below which column labels are declared; truths, scores; where
there is a score (None: everywhere), and where the truth is masked (None: nowhere). The last four have the shape
(examples, columns). Of lists, whose columns are None, all but the scores are `Ragged`: the columns that are true, those
that have a score, and those whose truth is masked."""


class Records(NamedTuple):
    """What is known of examples, one by one.

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
"""Examples one behind the other: how many slots each has, all slots, weights unless all are 1, stamps if timed."""

DONE, OTHER, REFUSED, FULL = 0, 1, 2, 3
"""What a method answers that can decline; see `streameval.kernel.decisions.numpy.Counts`."""

EITHER = frozenset([0, 1, -1, -100, "0", "1", "-1", "-100"])
"""What labels may be and indicators, masked ones among them, also where a file made strings of them."""

SEED = (int.from_bytes(os.urandom(8)), int.from_bytes(os.urandom(8)))
"""Of the hash tables of this process; see table.h."""
