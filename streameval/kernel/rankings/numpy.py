"""What each kernel function of rankings means, in numpy: the fallback where nothing was compiled, and the oracle.

Of the labels of an example that are not masked, ``l`` are ranked (they have a score) and ``m`` are true, ``u`` of them
not ranked; ``h`` are masked. Ranked labels with equal scores form a group. For each group that holds a true label::

    a  labels ranked strictly above it        t  true labels in it
    g  its size                               L  true labels in it and above it

Where ties are strict, no two labels rank alike: every ``g`` is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.types import FULL, REFUSED, Flags, IntArray, Ragged, Records, ScoredLists, ScoredRows

_COUNT_MAX = 2**63 - 1

SUMS = (3, 1, 6)
"""How many sums each of the three tables keeps for a key; see `RankCounts`."""

_Sums: TypeAlias = tuple[int, ...]
_Key: TypeAlias = tuple[int, ...]
_Table: TypeAlias = dict[_Key, _Sums]
_Tables: TypeAlias = tuple[_Table, _Table, _Table]
_Scores: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _rank(
    example: int, columns: IntArray, true: Flags, ranked: Flags, scores: _Scores, masked: int, place: IntArray | None
) -> Records:
    """Rank the labels of one example, of which some are ``ranked``; ``place`` decides where ties are strict."""
    own, hits, false = scores[true & ranked, None], true & ranked, ranked & ~true
    same, ahead = (scores == own) & ranked, (scores > own) & ranked
    if place is not None:
        ahead |= same & (place > place[hits, None])
        same &= place == place[hits, None]
    above, size = ahead.sum(axis=1), same.sum(axis=1)
    a, first, t = np.unique(above, return_index=True, return_counts=True)
    g, upto = size[first], np.cumsum(t)
    unranked = int(np.count_nonzero(true & ~ranked))
    wrong = int((t * (a + g - upto)).sum())
    last = int((a + g)[-1]) if len(a) and not unranked else 0
    missed = bool(len(a)) and bool(a[0] > 0 or g[0] > t[0])
    lead = int(np.count_nonzero(~(ahead | same)[:, false].any(axis=1)))
    row = [true.sum(), ranked.sum(), unranked, masked, wrong, last, wrong > 0, missed, lead]
    labels = np.zeros((int(true.sum()), 4), np.int64)
    labels[:, 0], labels[:, 1], labels[:, 2] = example, columns[true], -1
    labels[ranked[true], 2:] = np.stack([above, size], axis=1)
    groups = np.stack([np.full(len(a), example), a, g, t, upto], axis=1)
    return Records(np.array([row], np.int64), groups, labels)


def rank_rows(rows: ScoredRows, strict: bool) -> Records:
    """Rank dense rows. Where ``strict``, the later of two labels with the same score ranks better."""
    columns, _, true, scores, ranked, mask = rows
    visible = np.ones(true.shape, np.bool_) if mask is None else mask == 0
    present = visible if ranked is None else visible & (ranked != 0)
    truth, masked = (true != 0) & visible, np.count_nonzero(~visible, axis=1).tolist()
    place = np.arange(len(columns)) if strict else None
    return _joined(
        _rank(row, columns, truth[row], present[row], scores[row], masked[row], place) for row in range(len(true))
    )


def rank_lists(examples: int, lists: ScoredLists, place: IntArray | None) -> Records:
    """Rank lists of columns; where columns have a ``place``, the larger one of two equal labels ranks better."""
    _, true, ranked, scores, mask = lists

    def records() -> Iterator[Records]:
        for row in range(examples):
            hides, trues = (np.unique(_part(side, row)) for side in (mask, true))
            part, known = _part(ranked, row), slice(*ranked[0][row : row + 2])
            seen = ~np.isin(part, hides)
            rest = np.setdiff1d(np.setdiff1d(trues, hides), part)
            columns = np.concatenate([part[seen], rest])
            values = np.concatenate([scores[known][seen], np.zeros(len(rest))])
            present = np.arange(len(columns)) < len(columns) - len(rest)
            order = None if place is None else place[columns]
            yield _rank(row, columns, np.isin(columns, trues), present, values, len(hides), order)

    return _joined(records())


def _part(lists: Ragged | None, row: int) -> IntArray:
    """The columns of one list."""
    return np.zeros(0, np.int64) if lists is None else lists[1][lists[0][row] : lists[0][row + 1]]


def _joined(records: Iterable[Records]) -> Records:
    none = Records(np.zeros((0, 9), np.int64), np.zeros((0, 5), np.int64), np.zeros((0, 4), np.int64))
    return Records(*(np.concatenate(parts) for parts in zip(none, *records, strict=True)))


class _Counted(NamedTuple):
    """All that is counted. Nothing in it is ever changed: a change is another value."""

    examples: int
    mentions: IntArray
    tables: _Tables


class RankCounts:
    """Sums over examples by what they have in common, how many examples mention each column, and how many there were.

    Three tables of integers, in this order::

        groups  m, l, a, g -> sums of t, t L and t²
        first   a, g, t of the best group -> examples
        rows    m, l, u, h -> examples, and the sums of the five last columns of `Records.rows`

    Columns below ``fixed`` belong to declared labels, whose mentions are not counted. ``count_*`` are only used on
    counts that are thrown away if they raise. `prepare_merge` answers a part, which changes the counts when their root
    commits it; or ``REFUSED`` (it would take back what was never counted) or ``FULL`` (a sum would pass 2**63 - 1), and
    has then changed nothing.
    """

    __slots__ = ("_cell",)

    def __init__(self, root: Root, width: int) -> None:
        self._cell = root.cell(_Counted(0, np.zeros(max(8, width), np.int64), ({}, {}, {})))

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return int(self._cell.value.examples)

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        old = self._cell.value
        if width > len(old.mentions):
            self._cell.store(old._replace(mentions=np.pad(old.mentions, (0, width - len(old.mentions)))))

    def clear(self) -> None:
        """Drop every example."""
        self._cell.store(_Counted(0, np.zeros_like(self._cell.value.mentions), ({}, {}, {})))

    # -- counting ------------------------------------------------------------------------------------------------------

    def count_rows(self, rows: ScoredRows, strict: bool, detailed: bool = False) -> Records | None:
        """Count dense rows; see `rank_rows`, whose answer it returns if ``detailed``."""
        columns, fixed, true, *_ = rows
        records, mentioned = rank_rows(rows, strict), columns[columns >= fixed]
        self._add(records, mentioned, np.full(len(mentioned), len(true)))
        return records if detailed else None

    def count_lists(
        self, examples: int, lists: ScoredLists, place: IntArray | None, detailed: bool = False
    ) -> Records | None:
        """Count lists of columns; see `rank_lists`, whose answer it returns if ``detailed``."""
        fixed, true, ranked, _, mask = lists
        width = len(self._cell.value.mentions)
        rows = np.arange(examples) * width
        sides = [np.repeat(rows, np.diff(side[0])) + side[1] for side in (true, ranked, mask) if side is not None]
        mentions = np.bincount(np.unique(np.concatenate(sides)) % width, minlength=width)
        mentions[:fixed] = 0
        records = rank_lists(examples, lists, place)
        self._add(records, np.arange(width), mentions)
        return records if detailed else None

    def prepare_row(self, row: ScoredRows, strict: bool, sign: int) -> Part | int:
        """Count one dense row (sign 1), or take it back (sign -1)."""
        one = RankCounts(Root(), len(self._cell.value.mentions))
        one.count_rows(row, strict)
        return self.prepare_merge(one, None, sign)

    def prepare_lists(self, lists: ScoredLists, place: IntArray | None, sign: int) -> Part | int:
        """Count one example of lists (sign 1), or take it back (sign -1)."""
        one = RankCounts(Root(), len(self._cell.value.mentions))
        one.count_lists(1, lists, place)
        return self.prepare_merge(one, None, sign)

    def _add(self, records: Records, columns: IntArray, mentions: IntArray) -> None:
        tables: _Tables = {}, {}, {}
        rows, first = records.rows.tolist(), -1

        def add(which: int, key: _Key, sums: _Sums) -> None:
            tables[which][key] = _sum(tables[which].get(key, (0,) * SUMS[which]), sums, 1)

        for example, a, g, t, upto in records.groups.tolist():
            m, l, *_ = rows[example]  # noqa: E741  # as above
            add(0, (m, l, a, g), (t, t * upto, t * t))
            if example > first:
                add(1, (a, g, t), (1,))
            first = example
        for m, l, u, h, *sums in rows:  # noqa: E741
            add(2, (m, l, u, h), (1, *sums))
        self._cell.store(_change(len(rows), columns, mentions, tables, 1)(self._cell.value))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(self, other: RankCounts, columns: IntArray | None, sign: int) -> Part | int:
        """Add the other's counts (sign 1), or take them back (sign -1): the exact inverse.

        ``columns`` says where its columns are here (None: the same).
        """
        added = other._cell.value
        self.reserve(len(added.mentions) if columns is None else 0)
        used = np.flatnonzero(added.mentions)
        places = used if columns is None else columns[used]
        change = _change(added.examples, places, added.mentions[used], added.tables, sign)
        new, part = self._cell.tried(change)
        sums = [new.tables[which][key] for which, table in enumerate(added.tables) for key in table]
        if sign < 0 and (new.examples < 0 or (new.mentions < 0).any() or not all(map(_possible, sums))):
            return REFUSED
        if max(new.examples, *(max(values) for values in sums), 0) > _COUNT_MAX:
            return FULL
        return part

    def mentions(self, width: int) -> IntArray:
        """How many examples mention each of the first columns; 0 for declared labels."""
        counted = self._cell.value.mentions[:width]
        return np.pad(counted, (0, width - len(counted)))

    def entries(self, which: int) -> tuple[IntArray, IntArray]:
        """The keys of one table that have examples, in any order, and their sums."""
        present = [(key, sums) for key, sums in self._cell.value.tables[which].items() if sums[0]]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 3 if which == 1 else 4)
        return keys, np.array([sums for _, sums in present], np.int64).reshape(-1, SUMS[which])

    def sums_of(self, which: int, keys: IntArray) -> IntArray:
        """The sums of some keys of one table, 0 where there are none."""
        nothing = (0,) * SUMS[which]
        table = self._cell.value.tables[which]
        return np.array([table.get(tuple(key), nothing) for key in keys.tolist()], np.int64).reshape(-1, SUMS[which])

    def restore(self, examples: int, mentions: IntArray, tables: Iterable[tuple[IntArray, IntArray]]) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(mentions))
        wide = np.pad(mentions, (0, len(self._cell.value.mentions) - len(mentions)))
        groups, first, rows = (
            {tuple(key): tuple(sums) for key, sums in zip(keys.tolist(), values.tolist(), strict=True)}
            for keys, values in tables
        )
        self._cell.store(_Counted(examples, wide, (groups, first, rows)))

    def compact(self) -> None:
        """Drop keys of which no example is left."""
        old = self._cell.value
        groups, first, rows = ({key: sums for key, sums in table.items() if sums[0]} for table in old.tables)
        self._cell.store(old._replace(tables=(groups, first, rows)))

    def copy(self, root: Root) -> RankCounts:
        """An independent copy."""
        twin = RankCounts(root, 0)
        twin._cell.store(self._cell.value)
        return twin


def _change(
    examples: int, columns: IntArray, mentions: IntArray, added: _Tables, sign: int
) -> Callable[[_Counted], _Counted]:
    """What adds examples (sign 1) to what is counted, or takes them back (sign -1)."""

    def change(old: _Counted) -> _Counted:
        after = old.mentions.copy()
        np.add.at(after, columns, sign * mentions)
        groups, first, rows = (
            {**table, **{key: _sum(table.get(key, (0,) * width), sums, sign) for key, sums in other.items()}}
            for table, other, width in zip(old.tables, added, SUMS, strict=True)
        )
        return _Counted(old.examples + sign * examples, after, (groups, first, rows))

    return change


def _sum(sums: _Sums, change: _Sums, sign: int) -> _Sums:
    return tuple(before + sign * more for before, more in zip(sums, change, strict=True))


def _possible(sums: _Sums) -> bool:
    """Whether sums can be those of examples: none is negative, and where there is no example there is nothing."""
    if min(sums) < 0 or (not sums[0] and any(sums)):
        return False
    if len(sums) == SUMS[0]:
        return sums[0] <= sums[1] and sums[0] <= sums[2]
    if len(sums) == SUMS[2]:
        examples, wrong, _, erring, missed, _ = sums
        return erring <= min(examples, wrong) and missed <= examples and (erring > 0 or wrong == 0)
    return True
