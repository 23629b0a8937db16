"""Pairs of labels counted, in numpy and plain Python: the fallback where nothing was compiled, and the oracle.

What pairs an example has, `streameval.kernel.pairs.pairing` says. Every pair of an example is counted once, so that all
counts are numbers of examples. How often a label is true or predicted is known from the decisions of the same examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from streameval.kernel.commit.numpy import Part, Root, Table
from streameval.kernel.decisions.rows import list_cells
from streameval.kernel.pairs.pairing import NONE, Pair, pairs_of, placed
from streameval.kernel.types import FULL, REFUSED, IntArray, Lists, Ragged, UInt8Array

_COUNT_MAX = 2**63 - 1


class _Counted(NamedTuple):
    """All that is counted. Nothing in it is ever changed: a change is another value."""

    examples: int
    pairs: dict[Pair, int]


class Pairs(Table):
    """How many examples had each pair, and how many examples there were; ``parts`` says which pairs.

    ``count_*`` are only used on pairs that are thrown away if they raise. ``prepare_*`` answer a part, which changes
    the pairs when their root commits it; or ``REFUSED`` (it would take back what was never counted) or ``FULL`` (too
    many examples), and have then changed nothing.
    """

    __slots__ = ("_parts",)

    def __init__(self, root: Root, parts: int) -> None:
        self._parts = parts
        self._cell = root.cell(_Counted(0, {}))

    def _prepared(self, examples: int, pairs: dict[Pair, int], sign: int) -> Part | int:
        def change(old: _Counted) -> _Counted:
            total = dict(old.pairs)
            for pair, times in pairs.items():
                total[pair] = total.get(pair, 0) + sign * times
            return _Counted(old.examples + sign * examples, total)

        new, part = self._cell.tried(change)
        if new.examples > _COUNT_MAX:
            return FULL
        if sign < 0 and (new.examples < 0 or min((new.pairs[pair] for pair in pairs), default=0) < 0):
            return REFUSED
        return part

    # -- counting ------------------------------------------------------------------------------------------------------

    def prepare_example(self, slots: IntArray, sign: int) -> Part | int:
        """Count one example (sign 1) or take it back (sign -1), from the slots of its cells: 5 * column + outcome."""
        return self._prepared(1, dict.fromkeys(pairs_of(slots.tolist(), self._parts), 1), sign)

    def count_dense(self, columns: IntArray, true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None) -> int:
        """Count rows of 0 and 1; returns the union of all bytes: the counts are only good if it is at most 1."""
        seen = int(np.bitwise_or.reduce(true, axis=None) | np.bitwise_or.reduce(pred, axis=None))
        seen |= 0 if mask is None else int(np.bitwise_or.reduce(mask, axis=None))
        if seen <= 1:
            outcome = true + np.uint8(2) * pred
            if mask is not None:
                outcome[mask != 0] = 4
            rows, place = np.nonzero(outcome)
            self._add(len(true), rows, 5 * columns[place] + outcome[rows, place])
        return seen

    def count_lists(
        self, examples: int, width: int, true: Ragged | None, pred: Ragged | None, mask: Ragged | None
    ) -> None:
        """Count examples passed as lists of columns below ``width``; repeats count once."""
        lists = [None if side is None else Lists(*side) for side in (true, pred, mask)]
        rows, slots = list_cells(examples, lists[0], lists[1], lists[2], None)
        if slots.max(initial=-1) >= 5 * width:
            raise IndexError("a column is out of range")
        self._add(examples, rows, slots)

    def _add(self, examples: int, rows: IntArray, slots: IntArray) -> None:
        old = self._cell.value
        pairs = Counter(old.pairs)
        for start, stop in pairwise(np.searchsorted(rows, np.arange(examples + 1)).tolist()):
            pairs.update(pairs_of(slots[start:stop].tolist(), self._parts))
        self._cell.store(_Counted(old.examples + examples, pairs))

    # -- merging and reading ------------------------------------------------------------------------------------------

    def prepare_merge(self, other: Pairs, columns: IntArray | None, sign: int) -> Part | int:
        """Add the other's counts (sign 1), or take them back (sign -1): the exact inverse.

        ``columns`` has the columns of this table (None: the same).
        """
        added = other._cell.value
        pairs = {pair: times for pair, times in added.pairs.items() if times}
        if columns is not None:
            place = [*columns.tolist(), NONE]  # so that -1 leads to itself
            pairs = {placed(pair, place): times for pair, times in pairs.items()}
        return self._prepared(added.examples, pairs, sign)

    def times(self, keys: IntArray) -> IntArray:
        """How many examples had each of some pairs, shape (pairs, 5)."""
        pairs = self._cell.value.pairs
        return np.array([pairs.get(pair, 0) for pair in _tuples(keys)], np.int64)

    def entries(self) -> int:
        """At most so many pairs occur: those that no longer do are entries as well."""
        return len(self._cell.value.pairs)

    def items(self, place: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """The pairs that occur, in any order, as `at` returns them."""
        return self.at(np.fromiter(self._present(), object), place)

    def by_row(self, place: IntArray, kind: int) -> tuple[IntArray, Any]:
        """Where the pairs of a kind are, row after row for `at`, and where each row ends, that of no label first.

        Columns stand at these places, of which the last is that of no label.
        """
        places = place.tolist()
        spots = np.fromiter((pair for pair in self._present() if pair[0] == kind), object)
        rows = np.array([placed(pair, places)[1] - NONE for pair in spots], np.int64)
        return np.cumsum(np.bincount(rows, minlength=len(place))), spots[np.argsort(rows, kind="stable")]

    def at(self, spots: Any, place: IntArray | None) -> tuple[IntArray, IntArray]:
        """The pairs of some spots, shape (spots, 5), and how many examples had each.

        Columns stand at these places (None: their own).
        """
        pairs, places = self._cell.value.pairs, None if place is None else place.tolist()
        keys = [pair if places is None else placed(pair, places) for pair in spots]
        return np.array(keys, np.int64).reshape(-1, 5), np.array([pairs[pair] for pair in spots], np.int64)

    def _present(self) -> Iterator[Pair]:
        return (pair for pair, times in self._cell.value.pairs.items() if times)

    def compact(self) -> None:
        """Drop pairs of which no example is left."""
        examples, pairs = self._cell.value
        self._cell.store(_Counted(examples, {pair: times for pair, times in pairs.items() if times}))

    def restore(self, examples: int, keys: IntArray, times: IntArray, room: int = 0) -> None:
        """Fill counts with pairs that they do not have; there will be ``room`` of them."""
        del room
        pairs = {**self._cell.value.pairs, **dict(zip(_tuples(keys), times.tolist(), strict=True))}
        self._cell.store(_Counted(examples, pairs))

    def copy(self, root: Root) -> Self:
        """An independent copy."""
        twin = super().copy(root)
        twin._parts = self._parts
        return twin


def _tuples(keys: IntArray) -> Iterable[Pair]:
    return zip(*keys.T.tolist(), strict=True) if len(keys) else ()
