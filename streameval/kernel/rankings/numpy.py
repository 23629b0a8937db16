"""What each kernel function of rankings means, in numpy: the fallback where nothing was compiled, and the oracle.

Of the labels of an example that are not masked, ``l`` are ranked (they have a score) and ``m`` are true, ``u`` of them
not ranked; ``h`` are masked. Ranked labels with equal scores form a group. For each group that holds a true label::

    a  labels ranked strictly above it        t  true labels in it
    g  its size                               L  true labels in it and above it

Where ties are strict, no two labels rank alike: every ``g`` is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.commit.numpy import Part, Root, Table
from streameval.kernel.decisions.rows import tally
from streameval.kernel.types import FULL, REFUSED, Flags, IntArray, Records, ScoredLists, ScoredRows

_COUNT_MAX = 2**63 - 1

SUMS = (3, 1, 6)
"""How many sums each of the three tables keeps for a key; see `RankCounts`."""

_Sums: TypeAlias = tuple[int, ...]
_Key: TypeAlias = tuple[int, ...]
_Table: TypeAlias = dict[_Key, _Sums]
_Tables: TypeAlias = tuple[_Table, ...]
_Scores: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _rank(
    sizes: list[IntArray], rows: IntArray, columns: IntArray, true: Flags, ranked: Flags, scores: _Scores,
    order: IntArray, strict: bool, detailed: bool,
) -> Records:  # fmt: skip
    """Rank labels, in ascending ``rows``, within each of which ``order`` sorts them by score, those without one last.

    ``sizes`` are ``m, l, u, h``. Where ``strict``, labels with the same score rank as they are ordered.
    """
    scores, hits = scores[order], np.flatnonzero((true & ranked)[order])
    starts = np.ones(len(rows), np.bool_)
    if not strict:
        starts[1:] = (scores[1:] != scores[:-1]) | (rows[1:] != rows[:-1])
    bounds = np.append(np.flatnonzero(starts), len(rows))
    group = np.searchsorted(bounds, hits, "right") - 1
    first = np.flatnonzero(np.diff(group, prepend=-1))  # of the true labels of each group that has any
    row, group, t = rows[hits[first]], group[first], np.diff(first, append=len(hits))
    a, g = bounds[group] - np.searchsorted(rows, row), bounds[group + 1] - bounds[group]
    best = np.flatnonzero(np.diff(row, prepend=-1))
    upto = first + t - np.repeat(first[best], np.diff(best, append=len(first)))

    summary = np.zeros((len(sizes[0]), 9), np.int64)
    summary.T[:4] = sizes
    np.add.at(summary[:, 4], row, t * (a + g - upto))
    np.maximum.at(summary[:, 5], row, a + g)
    summary[summary[:, 2] > 0, 5] = 0
    summary[:, 6] = summary[:, 4] > 0
    summary[row[best], 7] = (a + g > t)[best]
    np.add.at(summary[:, 8], row, t * (a + g == upto))

    labels = np.zeros((0, 4), np.int64)
    if detailed:
        ends, trues = np.full((len(rows), 2), (-1, 0)), np.flatnonzero(true)
        ends[order[hits]] = np.repeat(np.column_stack([a, g]), t, axis=0)
        labels = np.column_stack([rows[trues], columns[trues], ends[trues]])
    return Records(summary, np.column_stack([row, a, g, t, upto]), labels)


def _rank_rows(scored: ScoredRows, strict: bool, detailed: bool) -> Records:
    """Rank dense rows. Where ``strict``, the later of two labels with the same score ranks better."""
    columns, _, true, scores, ranked, mask = scored
    examples, width = true.shape
    visible = np.ones(true.shape, np.bool_) if mask is None else mask == 0
    present, truth = visible if ranked is None else visible & (ranked != 0), visible & (true != 0)
    scores = -scores
    scores[~present] = np.nan  # sorted to the end
    order = width - 1 - np.argsort(scores[:, ::-1], kind="stable") if strict else np.argsort(scores)
    order += width * np.arange(examples)[:, None]
    rows, columns = np.repeat(np.arange(examples), width), np.tile(columns, examples if detailed else 0)
    sizes = [side.sum(axis=1) for side in (truth, present, truth & ~present, ~visible)]
    return _rank(sizes, rows, columns, truth.ravel(), present.ravel(), scores.ravel(), order.ravel(), strict, detailed)


def _rank_lists(
    examples: int, width: int, lists: ScoredLists, place: IntArray | None, detailed: bool
) -> tuple[Records, IntArray]:
    """Rank lists of columns, and count the examples that mention each of ``width`` columns.

    Where columns have a ``place``, the larger one of two labels with the same score ranks better.
    """
    _, true, ranked, scores, mask = lists
    height = np.arange(width) if place is None else len(place) - 1 - place
    column, start = np.argsort(height), width * np.arange(examples)
    none = np.zeros(examples + 1, np.int64), np.zeros(0, np.int64)
    trues, present, hidden = (
        np.repeat(start, np.diff(offsets)) + height[columns] for offsets, columns in (true, ranked, mask or none)
    )
    mentioned, seen = np.unique(np.concatenate([trues, present, hidden])), np.isin(present, hidden, invert=True)
    cells = np.setdiff1d(mentioned, hidden, assume_unique=True)
    values = np.full(len(cells), np.nan)
    values[np.searchsorted(cells, present[seen])] = -scores[: len(present)][seen]
    (rows, heights), truth, known = np.divmod(cells, width), np.isin(cells, trues), ~np.isnan(values)
    sizes = [np.bincount(rows[side], minlength=examples) for side in (truth, known, truth & ~known)]
    sizes.append(np.bincount(np.unique(hidden) // width, minlength=examples))
    order = np.lexsort((values, rows))
    records = _rank(sizes, rows, column[heights], truth, known, values, order, place is not None, detailed)
    return records, np.bincount(column[mentioned % width], minlength=width)


class _Counted(NamedTuple):
    """All that is counted. Nothing in it is ever changed: a change is another value."""

    examples: int
    mentions: IntArray
    tables: _Tables


class RankCounts(Table):
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

    __slots__ = ()

    def __init__(self, root: Root, width: int) -> None:
        self._cell = root.cell(_Counted(0, np.zeros(max(8, width), np.int64), ({}, {}, {})))

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
        """Count dense rows, and return what is known of each if ``detailed``; ``strict``: see `_rank_rows`."""
        columns, fixed, true, *_ = rows
        records, mentioned = _rank_rows(rows, strict, detailed), columns[columns >= fixed]
        self._add(records, mentioned, np.full(len(mentioned), len(true)))
        return records if detailed else None

    def count_lists(
        self, examples: int, lists: ScoredLists, place: IntArray | None, detailed: bool = False
    ) -> Records | None:
        """The same for lists of columns; ``place``: see `_rank_lists`."""
        records, mentions = _rank_lists(examples, len(self._cell.value.mentions), lists, place, detailed)
        mentions[: lists[0]] = 0
        self._add(records, np.arange(len(mentions)), mentions)
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
        summary, groups, _ = records
        row, a, g, t, upto = groups.T
        best, one = np.flatnonzero(np.diff(row, prepend=-1)), np.ones((len(summary), 1), np.int64)
        added = (
            _tallied(np.column_stack([summary[row, :2], a, g]), np.column_stack([t, t * upto, t * t])),
            _tallied(groups[best, 1:4], one[: len(best)]),
            _tallied(summary[:, :4], np.hstack([one, summary[:, 4:]])),
        )
        self._cell.store(_change(len(summary), columns, mentions, added, 1)(self._cell.value))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(self, other: RankCounts, columns: IntArray | None, sign: int) -> Part | int:
        """Add the other's counts (sign 1), or take them back (sign -1): the exact inverse.

        ``columns`` has the columns of this table (None: the same).
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
        filled = (
            {tuple(key): tuple(sums) for key, sums in zip(keys.tolist(), values.tolist(), strict=True)}
            for keys, values in tables
        )
        self._cell.store(_Counted(examples, wide, (*filled,)))

    def compact(self) -> None:
        """Drop keys of which no example is left."""
        old = self._cell.value
        live = ({key: sums for key, sums in table.items() if sums[0]} for table in old.tables)
        self._cell.store(old._replace(tables=(*live,)))


def _change(
    examples: int, columns: IntArray, mentions: IntArray, added: _Tables, sign: int
) -> Callable[[_Counted], _Counted]:
    """What adds examples (sign 1) to what is counted, or takes them back (sign -1)."""

    def change(old: _Counted) -> _Counted:
        after = old.mentions.copy()
        np.add.at(after, columns, sign * mentions)
        tables = (*(_joined(*each, sign) for each in zip(old.tables, added, SUMS, strict=True)),)
        return _Counted(old.examples + sign * examples, after, tables)

    return change


def _joined(table: _Table, added: _Table, width: int, sign: int) -> _Table:
    if sign > 0 and not table:
        return added
    none = (0,) * width
    return {**table, **{key: _sum(table.get(key, none), sums, sign) for key, sums in added.items()}}


def _tallied(keys: IntArray, sums: IntArray) -> _Table:
    """The distinct keys, and the sum of what belongs to each."""
    distinct, times, which = tally(keys)
    total = np.zeros((len(times), sums.shape[1]), np.int64)
    np.add.at(total, which, sums)
    return dict(zip(map(tuple, distinct.tolist()), map(tuple, total.tolist()), strict=True))


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
