"""`Pairs`, the counts of pairs of labels, in numpy: fallback and oracle of the compiled twin. States of pairs call it.

`streameval.kernel.pairs.pairing` defines the pairs of an example. Every pair of an example is counted once, so that all
counts are numbers of examples. The decisions of the same examples say how often a label is true or predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.decisions.rows import dense_slots, list_cells
from streameval.kernel.pairs.pairing import NONE, Pair, pairs_of, placed
from streameval.kernel.table import Counted, SumTable
from streameval.kernel.types import IntArray, Lists, Ragged, UInt8Array


class Pairs(SumTable[Pair]):
    """The number of examples with each pair, and of all examples; ``parts`` are the kinds of pairs, as bits."""

    __slots__ = ("_parts",)

    def __init__(self, root: Root, parts: int) -> None:
        self._parts = parts
        self._start(root, 0)

    def _placed(self, key: Pair, place: list[int]) -> Pair:
        return placed(key, place)

    # -- counting ------------------------------------------------------------------------------------------------------

    def prepare_example(self, slots: IntArray, sign: int) -> Part | int:
        """Prepare to count one example (sign 1) or take it back (sign -1), from its slots: 5 * column + outcome."""
        return self._prepared(_counted(1, pairs_of(slots.tolist(), self._parts)), sign)

    def count_dense(self, columns: IntArray, true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None) -> int:
        """Count rows of 0 and 1; returns the union of all bytes, and callers drop the table if it is above 1."""
        seen = int(np.bitwise_or.reduce(true, axis=None) | np.bitwise_or.reduce(pred, axis=None))
        seen |= 0 if mask is None else int(np.bitwise_or.reduce(mask, axis=None))
        if seen <= 1:
            self._add(len(true), *dense_slots(true, pred, mask, columns))
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
        bounds = np.searchsorted(rows, np.arange(examples + 1)).tolist()
        lists = (pairs_of(slots[start:stop].tolist(), self._parts) for start, stop in pairwise(bounds))
        self._cell.store(self._cell.value.plus(_counted(examples, chain.from_iterable(lists)), 1))

    # -- reading -------------------------------------------------------------------------------------------------------

    def times(self, keys: IntArray) -> IntArray:
        """The number of examples with each of these pairs, shape (pairs, 5)."""
        sums = self._cell.value.sums
        return np.array([sums.get(tuple(key), (0,))[0] for key in keys.tolist()], np.int64)

    def items(self) -> tuple[IntArray, IntArray]:
        """The pairs that occur, in any order, as `at` returns them."""
        return self.at(self._spots(), None)

    def by_row(self, place: IntArray, kind: int) -> tuple[IntArray, Any]:
        """The end of each row among the pairs of a kind, and the pairs as spots for `at`, row by row.

        ``place`` maps columns to rows; its last entry is for no label, whose row comes first.
        """
        places = place.tolist()
        spots = self._spots()
        spots = spots[[pair[0] == kind for pair in spots]]
        rows = np.array([placed(pair, places)[1] - NONE for pair in spots], np.int64)
        return np.cumsum(np.bincount(rows, minlength=len(place))), spots[np.argsort(rows, kind="stable")]

    def at(self, spots: Any, place: IntArray | None) -> tuple[IntArray, IntArray]:
        """The pairs of spots, with columns mapped by ``place`` unless None, and the number of examples with each."""
        sums, places = self._cell.value.sums, None if place is None else place.tolist()
        keys = [pair if places is None else placed(pair, places) for pair in spots]
        return np.array(keys, np.int64).reshape(-1, 5), np.array([sums[pair][0] for pair in spots], np.int64)

    def _spots(self) -> Any:
        return np.fromiter(self._cell.value.sums, object)

    def restore(self, examples: int, keys: IntArray, times: IntArray, room: int = 0) -> None:
        """Add pairs that the table does not have; ``room`` is the number of pairs in the end, for the compiled twin."""
        del room
        sums = {tuple(key): (time,) for key, time in zip(keys.tolist(), times.tolist(), strict=True)}
        old = self._cell.value
        self._cell.store(old._replace(examples=examples, sums={**old.sums, **sums}))

    def copy(self, root: Root) -> Self:
        result = super().copy(root)
        result._parts = self._parts
        return result


def _counted(examples: int, pairs: Iterable[Pair]) -> Counted[Pair]:
    return Counted(examples, np.zeros(0, np.int64), {pair: (times,) for pair, times in Counter(pairs).items()})
