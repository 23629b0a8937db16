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

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.decisions.rows import tally
from streameval.kernel.types import FULL, REFUSED, Flags, FloatArray, IntArray, Ragged, Records, ScoreArray, UInt8Array

_COUNT_MAX = 2**63 - 1
_CELLS = 1 << 22  # compared at once

SUMS = (3, 1, 6)
"""How many sums each of the three tables keeps for a key; see `RankCounts`."""

_Sums: TypeAlias = tuple[int, ...]
_Table: TypeAlias = dict[tuple[int, int, int, int], _Sums]
_Tables: TypeAlias = tuple[_Table, _Table, _Table]
_Matrix: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def rank_rows(
    columns: IntArray,
    true: UInt8Array,
    scores: ScoreArray,
    ranked: UInt8Array | None,
    mask: UInt8Array | None,
    strict: bool,
) -> Records:
    """Rank dense rows. Where ``strict``, the later of two labels with the same score ranks better."""
    known = np.ones(true.shape, np.bool_) if mask is None else mask == 0
    present = known if ranked is None else known & (ranked != 0)
    place = np.broadcast_to(np.arange(true.shape[1]), true.shape) if strict else None
    masked = true.shape[1] - known.sum(axis=1)
    return _rank(np.broadcast_to(columns, true.shape), (true != 0) & known, present, scores, masked, place)


def rank_lists(
    examples: int,
    width: int,
    true: Ragged,
    ranked: Ragged,
    scores: FloatArray,
    mask: Ragged | None,
    place: IntArray | None,
) -> Records:
    """Rank lists of columns below ``width``; where ``place`` is given, the label with the larger place ranks better."""
    parts = []
    step = max(1, _CELLS // (1 + int(np.diff(ranked[0]).max(initial=0)) + int(np.diff(true[0]).max(initial=0))))
    for start in range(0, examples, step):
        stop = min(examples, start + step)
        parts.append(_rank_some(start, stop, width, true, ranked, scores, mask, place))
    if not parts:
        return Records(np.zeros((0, 9), np.int64), np.zeros((0, 5), np.int64), np.zeros((0, 4), np.int64))
    return Records(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _rank_some(
    start: int,
    stop: int,
    width: int,
    true: Ragged,
    ranked: Ragged,
    scores: FloatArray,
    mask: Ragged | None,
    place: IntArray | None,
) -> Records:
    """Examples as rows of a matrix: the ranked labels, then the true ones that are not ranked, filled up."""
    cells, hides = _cells(true, start, stop, width), _cells(mask, start, stop, width)
    cells, hides = np.setdiff1d(cells, hides), np.unique(hides)
    row = np.repeat(np.arange(stop - start), np.diff(ranked[0][start : stop + 1]))
    part = slice(ranked[0][start], ranked[0][stop])
    column, score = ranked[1][part], scores[part]
    seen = ~np.isin(row * width + column, hides)
    row, column, score = row[seen], column[seen], score[seen]
    rest = np.setdiff1d(cells, row * width + column)
    rows = np.concatenate([row, rest // max(width, 1)])
    columns = np.concatenate([column, rest % max(width, 1)])
    order = np.argsort(rows, kind="stable")
    many = np.bincount(rows, minlength=stop - start)
    at = np.empty(len(rows), np.int64)
    at[order] = np.arange(len(rows)) - np.repeat(np.cumsum(many) - many, many)
    shape = stop - start, int(many.max(initial=0))
    filled, present = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    truth, value = np.zeros(shape, np.bool_), np.zeros(shape, np.float64)
    filled[rows, at] = columns
    truth[rows, at] = np.isin(rows * width + columns, cells)
    present[row, at[: len(row)]] = True
    value[row, at[: len(row)]] = score
    masked = np.bincount(hides // max(width, 1), minlength=stop - start)
    where = None if place is None else place[filled] if len(place) else filled
    records = _rank(filled, truth, present, value, masked, where)
    records.groups[:, 0] += start
    records.labels[:, 0] += start
    return records


def _cells(lists: Ragged | None, start: int, stop: int, width: int) -> IntArray:
    """Each column of a list with the number of its example: ``example * width + column``."""
    if lists is None:
        return np.zeros(0, np.int64)
    offsets, columns = lists
    rows = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
    return np.asarray(rows * width + columns[offsets[start] : offsets[stop]])


def _rank(
    columns: IntArray, true: Flags, present: Flags, scores: _Matrix, masked: IntArray, place: IntArray | None
) -> Records:
    """Rank the labels that are ``present`` in each row of matrices."""
    examples, width = true.shape
    scores = np.where(present, scores, scores.dtype.type(0))
    row, at = np.nonzero(true & present)
    above, size = np.zeros(len(row), np.int64), np.ones(len(row), np.int64)
    step = max(1, _CELLS // max(width, 1))
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        scored, own = scores[row[some]], scores[row[some], at[some], None]
        same = (scored == own) & present[row[some]]
        higher = (scored > own) & present[row[some]]
        if place is not None:
            higher |= same & (place[row[some]] > place[row[some], at[some], None])
        else:
            size[some] = same.sum(axis=1)
        above[some] = higher.sum(axis=1)

    order = np.argsort(row * (width + 1) + above, kind="stable")
    starts = np.flatnonzero(np.diff(row[order] * (width + 1) + above[order], prepend=-1))
    groups = np.empty((len(starts), 5), np.int64)
    in_row, a, g = row[order][starts], above[order][starts], size[order][starts]
    t = np.diff(starts, append=len(row))
    best = np.flatnonzero(np.diff(in_row, prepend=-1))
    upto = np.cumsum(t)
    upto -= np.repeat(upto[best] - t[best], np.diff(best, append=len(in_row)))
    groups.T[:] = in_row, a, g, t, upto

    rows = np.zeros((examples, 9), np.int64)
    rows[:, 0], rows[:, 1], rows[:, 3] = true.sum(axis=1), present.sum(axis=1), masked
    rows[:, 2] = (true & ~present).sum(axis=1)
    np.add.at(rows[:, 4], in_row, t * (a + g - upto))
    np.maximum.at(rows[:, 5], in_row, a + g)
    rows[rows[:, 2] > 0, 5] = 0
    rows[:, 6] = rows[:, 4] > 0
    rows[in_row[best], 7] = (a[best] > 0) | (g[best] > t[best])
    rows[:, 8] = _lead(true & present, present & ~true, scores, place)

    labels = np.zeros((int(true.sum()), 4), np.int64)
    labels[:, 0], which = np.nonzero(true)
    labels[:, 1], labels[:, 2] = columns[labels[:, 0], which], -1
    ranked = present[labels[:, 0], which]
    labels[ranked, 2], labels[ranked, 3] = above, size
    return Records(rows, groups, labels)


def _lead(true: Flags, false: Flags, scores: _Matrix, place: IntArray | None) -> IntArray:
    """How many true labels of each row rank above all false ones."""
    if not true.size:
        return np.zeros(len(true), np.int64)
    bar = np.where(false, scores, -np.inf).max(axis=1, keepdims=True)
    ahead = scores > bar
    if place is not None:
        last = np.where(false & (scores == bar), place, -1).max(axis=1, keepdims=True)
        ahead |= (scores == bar) & (place > last)
    return np.asarray((true & ahead).sum(axis=1))


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

    __slots__ = ("_cell", "_root")

    def __init__(self, root: Root, width: int) -> None:
        self._root = root
        self._cell = root.cell(_Counted(0, np.zeros(max(8, width), np.int64), ({}, {}, {})))

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return int(self._cell.value.examples)

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        old = self._cell.value
        if width > len(old.mentions):
            more = max(width, 2 * len(old.mentions)) - len(old.mentions)
            self._store(old._replace(mentions=np.concatenate([old.mentions, np.zeros(more, np.int64)])))

    def clear(self) -> None:
        """Drop every example."""
        self._store(_Counted(0, np.zeros_like(self._cell.value.mentions), ({}, {}, {})))

    def _store(self, counted: _Counted) -> None:
        self._root.commit([self._cell.prepare_store(counted)])

    # -- counting ------------------------------------------------------------------------------------------------------

    def count_rows(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        ranked: UInt8Array | None,
        mask: UInt8Array | None,
        strict: bool,
        detailed: bool = False,
    ) -> Records | None:
        """Count dense rows; see `rank_rows`, whose answer it returns if ``detailed``."""
        records = rank_rows(columns, true, scores, ranked, mask, strict)
        mentioned = columns[columns >= fixed]
        self._add(records, mentioned, np.full(len(mentioned), len(true)))
        return records if detailed else None

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Ragged,
        ranked: Ragged,
        scores: FloatArray,
        mask: Ragged | None,
        place: IntArray | None,
        detailed: bool = False,
    ) -> Records | None:
        """Count lists of columns; see `rank_lists`, whose answer it returns if ``detailed``."""
        width = len(self._cell.value.mentions)
        cells = np.unique(np.concatenate([_cells(lists, 0, examples, width) for lists in (true, ranked, mask)]))
        mentions = np.bincount(cells % width, minlength=width)
        mentions[:fixed] = 0
        records = rank_lists(examples, width, true, ranked, scores, mask, place)
        self._add(records, np.arange(width), mentions)
        return records if detailed else None

    def prepare_row(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        ranked: UInt8Array | None,
        mask: UInt8Array | None,
        strict: bool,
        sign: int,
    ) -> Part | int:
        """Count one dense row (sign 1), or take it back (sign -1)."""
        one = RankCounts(Root(), len(self._cell.value.mentions))
        one.count_rows(columns, fixed, true, scores, ranked, mask, strict)
        return self.prepare_merge(one, None, sign)

    def prepare_lists(
        self,
        fixed: int,
        true: Ragged,
        ranked: Ragged,
        scores: FloatArray,
        mask: Ragged | None,
        place: IntArray | None,
        sign: int,
    ) -> Part | int:
        """Count one example of lists (sign 1), or take it back (sign -1)."""
        one = RankCounts(Root(), len(self._cell.value.mentions))
        one.count_lists(1, fixed, true, ranked, scores, mask, place)
        return self.prepare_merge(one, None, sign)

    def _add(self, records: Records, columns: IntArray, mentions: IntArray) -> None:
        rows, groups, _ = records
        _, a, g, t, upto = groups.T
        best = np.flatnonzero(np.diff(groups[:, 0], prepend=-1))
        nothing, one = np.zeros(len(best), np.int64), np.ones(len(rows), np.int64)
        keys = (
            np.stack([rows[groups[:, 0], 0], rows[groups[:, 0], 1], a, g], axis=1),
            np.stack([a[best], g[best], t[best], nothing], axis=1),
            rows[:, :4],
        )
        sums = (
            np.stack([t, t * upto, t * t], axis=1),
            np.ones((len(best), 1), np.int64),
            np.concatenate([one[:, None], rows[:, 4:]], axis=1),
        )
        by_group, first, by_row = (_tallied(*pair) for pair in zip(keys, sums, strict=True))
        change = _change(len(rows), columns, mentions, (by_group, first, by_row), 1)
        self._store(change(self._cell.value))

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
        new = change(self._cell.value)
        sums = [new.tables[which][key] for which, table in enumerate(added.tables) for key in table]
        if sign < 0 and (new.examples < 0 or (new.mentions < 0).any() or not all(map(_possible, sums))):
            return REFUSED
        if max(new.examples, *(max(values) for values in sums), 0) > _COUNT_MAX:
            return FULL
        return self._cell.prepare(change)

    def mentions(self, width: int) -> IntArray:
        """How many examples mention each of the first columns; 0 for declared labels."""
        out = np.zeros(width, np.int64)
        counted = self._cell.value.mentions[:width]
        out[: len(counted)] = counted
        return out

    def entries(self, which: int) -> tuple[IntArray, IntArray]:
        """The keys of one table that have examples, in any order, and their sums."""
        present = [(key, sums) for key, sums in self._cell.value.tables[which].items() if sums[0]]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 4)
        values = np.array([sums for _, sums in present], np.int64).reshape(-1, SUMS[which])
        return keys[:, : 3 if which == 1 else 4], values

    def sums_of(self, which: int, keys: IntArray) -> IntArray:
        """The sums of some keys of one table, 0 where there are none."""
        nothing = (0,) * SUMS[which]
        table = self._cell.value.tables[which]
        return np.array([table.get(_key(key), nothing) for key in keys.tolist()], np.int64).reshape(-1, SUMS[which])

    def restore(self, examples: int, mentions: IntArray, tables: Iterable[tuple[IntArray, IntArray]]) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(mentions))
        wide = np.zeros_like(self._cell.value.mentions)
        wide[: len(mentions)] = mentions
        groups, first, rows = (
            {_key(key): tuple(sums) for key, sums in zip(keys.tolist(), values.tolist(), strict=True)}
            for keys, values in tables
        )
        self._store(_Counted(examples, wide, (groups, first, rows)))

    def compact(self) -> None:
        """Drop keys of which no example is left."""
        old = self._cell.value
        groups, first, rows = ({key: sums for key, sums in table.items() if sums[0]} for table in old.tables)
        self._store(old._replace(tables=(groups, first, rows)))

    def copy(self, root: Root) -> RankCounts:
        """An independent copy."""
        twin = RankCounts(root, 0)
        twin._store(self._cell.value)
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


def _key(key: list[int]) -> tuple[int, int, int, int]:
    return key[0], key[1], key[2], key[3] if len(key) > 3 else 0


def _tallied(keys: IntArray, sums: IntArray) -> _Table:
    """The distinct keys and the sum of what belongs to each."""
    distinct, times, inverse = tally(keys)
    total = np.zeros((len(times), sums.shape[1]), np.int64)
    np.add.at(total, inverse, sums)
    return dict(zip(map(_key, distinct.tolist()), map(tuple, total.tolist()), strict=True))


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
