"""`SumTable`, the base of all tables of the numpy twins: counts by column, and sums by key in a dict (as `table.h`)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import add
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from streameval.kernel.commit.numpy import Cell, Part, Root
from streameval.kernel.types import DONE, FULL, REFUSED, IntArray

K = TypeVar("K", bound=tuple[int, ...])

COUNT_MAX = 2**63 - 1


class Counted(NamedTuple, Generic[K]):
    """All counts of a table, or counts to add to them. Never changed in place: a change makes another value."""

    examples: int
    columns: IntArray  # counts of each
    sums: dict[K, tuple[int, ...]]  # no entry is all 0

    def plus(self, added: Counted[K], sign: int) -> Counted[K]:
        """These counts with ``added`` added (sign 1) or taken back (sign -1)."""
        columns, sums = self.columns.copy(), dict(self.sums)
        columns[: len(added.columns)] += sign * added.columns
        for key, values in added.sums.items():
            enter(sums, key, values, sign)
            if not any(sums[key]):
                del sums[key]
        return Counted(self.examples + sign * added.examples, columns, sums)


def enter(sums: dict[K, tuple[int, ...]], key: K, values: Iterable[int], sign: int = 1) -> None:
    """Add to the sums of a key, or subtract if ``sign`` is -1."""
    more = values if sign > 0 else [-value for value in values]
    before = sums.get(key)
    sums[key] = tuple(more) if before is None else tuple(map(add, before, more))


class SumTable(Generic[K]):
    """A table whose whole content is one `Counted`, a value of its root.

    If a method ``count_*`` raises, its caller drops the table. Methods ``prepare_*`` return a part, which changes the
    table when its root commits it; or, with nothing changed, ``REFUSED`` (the change would take back what was never
    counted) or ``FULL`` (a number would be too large).
    """

    __slots__ = ("_cell",)
    _cell: Cell

    def __init__(self, root: Root, width: int) -> None:
        raise NotImplementedError

    def _start(self, root: Root, *shape: int) -> None:
        self._cell = root.cell(Counted(0, np.zeros(shape, np.int64), {}))

    @property
    def examples(self) -> int:
        return int(self._cell.value.examples)

    def copy(self, root: Root) -> Self:
        result = type(self)(root, 0)
        result._cell.store(self._cell.value)
        return result

    def _commit(self, part: Part | int) -> int:
        """Commit a part and return ``DONE``, or return the code that a method returned instead."""
        if isinstance(part, int):
            return part
        self._cell.root.commit([part])
        return DONE

    def reserve(self, width: int) -> None:
        """Make room for columns, and leave all counts as they are."""

        def wide(old: Counted[K]) -> Counted[K]:
            room = np.zeros((max(0, width - len(old.columns)), *old.columns.shape[1:]), np.int64)
            return old._replace(columns=np.concatenate([old.columns, room]))

        if width > len(self._cell.value.columns):  # also by a read in a handler that interrupts a commit
            self._cell.recast(wide)

    def follower(self, *_: object) -> None:
        """None, as numpy gains nothing by it; compiled tables return a follower (`part.h`)."""

    def compact(self) -> None:
        """Nothing to do: `Counted.plus` drops keys without examples at once."""

    def prepare_merge(self, other: Self, columns: IntArray | None, sign: int) -> Part | int:
        """Add the other's counts in these columns (None: the same); with sign -1, take them back: the exact inverse."""
        added = other._cell.value
        if columns is None:
            self.reserve(len(added.columns))
            return self._prepared(added, sign)
        used = np.unique(np.nonzero(added.columns)[0])
        sums: dict[K, tuple[int, ...]] = {}
        place = [*columns.tolist(), -1]  # -1, which stands for no label, maps to -1
        for key, values in added.sums.items():
            enter(sums, self._placed(key, place), values)
        return self._prepared(Counted(added.examples, self._by_column(columns[used], added.columns[used]), sums), sign)

    def _by_column(self, columns: IntArray, values: IntArray) -> IntArray:
        self._check(columns)
        sums: IntArray = np.zeros_like(self._cell.value.columns)
        np.add.at(sums, columns, values)
        return sums

    def _check(self, columns: IntArray) -> None:
        if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < len(self._cell.value.columns):
            raise IndexError("a column is out of range")

    def _prepared(self, added: Counted[K], sign: int, fixed: int = 0) -> Part | int:
        new, part = self._cell.tried(lambda old: old.plus(added, sign))
        fits = 0 <= new.examples <= COUNT_MAX and bool((new.columns >= 0).all())
        fits = fits and all(self._possible(*new.sums[key]) for key in added.sums.keys() & new.sums.keys())
        if fits and (sign > 0 or self._agrees(new, fixed)):
            return part
        return FULL if sign > 0 else REFUSED

    def _agrees(self, _left: Counted[K], _fixed: int) -> bool:
        """Whether the examples that are left suffice for the counts of each column; the first columns are declared."""
        return True

    @staticmethod
    def _possible(*sums: int) -> bool:
        """Whether some examples have these sums, and none of these is too large."""
        return sums[0] >= 0

    def _placed(self, key: K, _: list[int]) -> K:
        """The key with each of its columns replaced by the column's new place."""
        return key
