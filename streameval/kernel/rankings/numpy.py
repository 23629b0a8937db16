"""What each kernel function of rankings means, in numpy: the fallback where nothing was compiled, and the oracle.

Of the labels of an example that are not hidden, ``l`` are ranked (they have a score) and ``m`` are true, ``u`` of them
not ranked; ``h`` are hidden. Ranked labels with equal scores form a group. For each group that holds a true label::

    a  labels ranked strictly above it        t  true labels in it
    g  its size                               L  true labels in it and above it

Where ties are strict, no two labels rank alike: every ``g`` is 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.decisions.numpy import tally
from streameval.kernel.types import DONE, FULL, REFUSED, Flags, FloatArray, IntArray, Ragged, ScoreArray, UInt8Array

__all__ = ["SUMS", "RankCounts", "Records", "rank_lists", "rank_rows"]

_COUNT_MAX = 2**63 - 1
_CELLS = 1 << 22  # compared at once

SUMS = (3, 1, 6)
"""How many sums each of the three tables keeps for a key; see `RankCounts`."""

_Sums: TypeAlias = tuple[int, ...]
_Table: TypeAlias = dict[tuple[int, int, int, int], _Sums]
_Matrix: TypeAlias = np.ndarray[Any, np.dtype[Any]]


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


def rank_rows(
    columns: IntArray,
    true: UInt8Array,
    scores: ScoreArray,
    ranked: UInt8Array | None,
    hidden: UInt8Array | None,
    strict: bool,
) -> Records:
    """Rank dense rows. Where ``strict``, the later of two labels with the same score ranks better."""
    known = np.ones(true.shape, np.bool_) if hidden is None else hidden == 0
    there = known if ranked is None else known & (ranked != 0)
    place = np.broadcast_to(np.arange(true.shape[1]), true.shape) if strict else None
    masked = true.shape[1] - known.sum(axis=1)
    return _rank(np.broadcast_to(columns, true.shape), (true != 0) & known, there, scores, masked, place)


def rank_lists(
    examples: int,
    width: int,
    true: Ragged,
    ranked: Ragged,
    scores: FloatArray,
    hidden: Ragged | None,
    place: IntArray | None,
) -> Records:
    """Rank lists of columns below ``width``; where ``place`` is given, the label with the larger place ranks better."""
    parts = []
    step = max(1, _CELLS // (1 + int(np.diff(ranked[0]).max(initial=0)) + int(np.diff(true[0]).max(initial=0))))
    for start in range(0, examples, step):
        stop = min(examples, start + step)
        parts.append(_rank_some(start, stop, width, true, ranked, scores, hidden, place))
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
    hidden: Ragged | None,
    place: IntArray | None,
) -> Records:
    """Examples as rows of a matrix: the ranked labels, then the true ones that are not ranked, filled up."""
    cells, hides = _cells(true, start, stop, width), _cells(hidden, start, stop, width)
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
    filled, there = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    truth, value = np.zeros(shape, np.bool_), np.zeros(shape, np.float64)
    filled[rows, at] = columns
    truth[rows, at] = np.isin(rows * width + columns, cells)
    there[row, at[: len(row)]] = True
    value[row, at[: len(row)]] = score
    masked = np.bincount(hides // max(width, 1), minlength=stop - start)
    where = None if place is None else place[filled] if len(place) else filled
    found = _rank(filled, truth, there, value, masked, where)
    found.groups[:, 0] += start
    found.labels[:, 0] += start
    return found


def _cells(lists: Ragged | None, start: int, stop: int, width: int) -> IntArray:
    """Each column of a list with the number of its example: ``example * width + column``."""
    if lists is None:
        return np.zeros(0, np.int64)
    offsets, columns = lists
    rows = np.repeat(np.arange(stop - start), np.diff(offsets[start : stop + 1]))
    return np.asarray(rows * width + columns[offsets[start] : offsets[stop]])


def _rank(
    columns: IntArray, true: Flags, there: Flags, scores: _Matrix, hidden: IntArray, place: IntArray | None
) -> Records:
    """Rank the labels that are ``there`` in each row of matrices."""
    examples, width = true.shape
    scores = np.where(there, scores, scores.dtype.type(0))
    row, at = np.nonzero(true & there)
    above, size = np.zeros(len(row), np.int64), np.ones(len(row), np.int64)
    step = max(1, _CELLS // max(width, 1))
    for start in range(0, len(row), step):
        some = slice(start, start + step)
        others, own = scores[row[some]], scores[row[some], at[some], None]
        same = (others == own) & there[row[some]]
        higher = (others > own) & there[row[some]]
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
    rows[:, 0], rows[:, 1], rows[:, 3] = true.sum(axis=1), there.sum(axis=1), hidden
    rows[:, 2] = (true & ~there).sum(axis=1)
    np.add.at(rows[:, 4], in_row, t * (a + g - upto))
    np.maximum.at(rows[:, 5], in_row, a + g)
    rows[rows[:, 2] > 0, 5] = 0
    rows[:, 6] = rows[:, 4] > 0
    rows[in_row[best], 7] = (a[best] > 0) | (g[best] > t[best])
    rows[:, 8] = _lead(true & there, there & ~true, scores, place)

    labels = np.zeros((int(true.sum()), 4), np.int64)
    labels[:, 0], which = np.nonzero(true)
    labels[:, 1], labels[:, 2] = columns[labels[:, 0], which], -1
    ranked = there[labels[:, 0], which]
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


class _Plan(NamedTuple):
    """New values of everything that changes. Applying it twice is harmless."""

    examples: int
    columns: IntArray
    mentions: IntArray
    tables: tuple[_Table, _Table, _Table]


class RankCounts:
    """Sums over examples by what they have in common, how many examples mention each column, and how many there were.

    Three tables of integers, in this order::

        groups  m, l, a, g -> sums of t, t L and t²
        first   a, g, t of the best group -> examples
        rows    m, l, u, h -> examples, and the sums of the five last columns of `Records.rows`

    Columns below ``fixed`` belong to declared labels, whose mentions are not counted. Methods that can decline return
    ``DONE``, ``REFUSED`` (it would take back what was never counted) or ``FULL`` (a sum would pass 2**63 - 1), and have
    then changed nothing. ``count_*`` are only used on counts that are thrown away if they fail.
    """

    __slots__ = ("_examples", "_mention", "_plan", "_tables")

    def __init__(self, width: int) -> None:
        self._examples = 0
        self._mention: IntArray = np.zeros(max(8, width), np.int64)
        self._tables: tuple[_Table, _Table, _Table] = ({}, {}, {})
        self._plan: _Plan | None = None

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._complete()
        return self._examples

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        if width > len(self._mention):
            self._complete()
            mention = np.zeros(max(width, 2 * len(self._mention)), np.int64)
            mention[: len(self._mention)] = self._mention
            self._mention = mention

    def clear(self) -> None:
        """Forget every example."""
        self._examples, self._plan, self._tables = 0, None, ({}, {}, {})
        self._mention[:] = 0

    # -- counting ------------------------------------------------------------------------------------------------------

    def count_rows(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        ranked: UInt8Array | None,
        hidden: UInt8Array | None,
        strict: bool,
        detailed: bool = False,
    ) -> Records | None:
        """Count dense rows; see `rank_rows`, whose answer it returns if ``detailed``."""
        records = rank_rows(columns, true, scores, ranked, hidden, strict)
        grown = columns[columns >= fixed]
        self._add(records, grown, np.full(len(grown), len(true), np.int64))
        return records if detailed else None

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Ragged,
        ranked: Ragged,
        scores: FloatArray,
        hidden: Ragged | None,
        place: IntArray | None,
        detailed: bool = False,
    ) -> Records | None:
        """Count lists of columns; see `rank_lists`, whose answer it returns if ``detailed``."""
        width = len(self._mention)
        cells = np.unique(np.concatenate([_cells(lists, 0, examples, width) for lists in (true, ranked, hidden)]))
        mentions = np.bincount(cells % width, minlength=width)
        mentions[:fixed] = 0
        grown = np.flatnonzero(mentions)
        records = rank_lists(examples, width, true, ranked, scores, hidden, place)
        self._add(records, grown, mentions[grown])
        return records if detailed else None

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
        added = [_tallied(*pair) for pair in zip(keys, sums, strict=True)]
        self._change(len(rows), columns, mentions, added, 1)

    # -- merging and reading -------------------------------------------------------------------------------------------

    def merge(self, other: RankCounts, columns: IntArray | None, sign: int) -> int:
        """Add the other's counts, or take them back with sign -1; ``columns`` says where its columns are here."""
        other._complete()
        self.reserve(len(other._mention) if columns is None else 0)
        used = np.flatnonzero(other._mention)
        places = used if columns is None else columns[used]
        return self._change(other._examples, places, other._mention[used], other._tables, sign)

    def _change(self, examples: int, columns: IntArray, mentions: IntArray, added: Sequence[_Table], sign: int) -> int:
        self._complete()
        total = self._examples + sign * examples
        after = self._mention[columns] + sign * mentions
        tables = tuple(
            {
                key: tuple(old + sign * new for old, new in zip(here.get(key, (0,) * width), sums, strict=True))
                for key, sums in there.items()
                if sums[0]
            }
            for here, there, width in zip(self._tables, added, SUMS, strict=True)
        )
        values = [sums for table in tables for sums in table.values()]
        if sign < 0 and (total < 0 or (after < 0).any() or not all(map(_possible, values))):
            return REFUSED
        if total > _COUNT_MAX or max((max(sums) for sums in values), default=0) > _COUNT_MAX:
            return FULL
        self._plan = _Plan(total, columns, after, (tables[0], tables[1], tables[2]))
        self._complete()
        return DONE

    def _complete(self) -> None:
        plan = self._plan
        if plan is not None:
            self._mention[plan.columns] = plan.mentions
            for table, values in zip(self._tables, plan.tables, strict=True):
                table.update(values)
            self._examples = plan.examples
            self._plan = None

    def mentions(self, width: int) -> IntArray:
        """How many examples mention each of the first columns; 0 for declared labels."""
        self._complete()
        out = np.zeros(width, np.int64)
        out[: len(self._mention)] = self._mention[:width]
        return out

    def entries(self, which: int) -> tuple[IntArray, IntArray]:
        """The keys of one table that have examples, in any order, and their sums."""
        self._complete()
        present = [(key, sums) for key, sums in self._tables[which].items() if sums[0]]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 4)
        values = np.array([sums for _, sums in present], np.int64).reshape(-1, SUMS[which])
        return keys[:, : 3 if which == 1 else 4], values

    def sums_of(self, which: int, keys: IntArray) -> IntArray:
        """The sums of some keys of one table, 0 where there are none."""
        self._complete()
        nothing = (0,) * SUMS[which]
        found = [self._tables[which].get(_key(key), nothing) for key in keys.tolist()]
        return np.array(found, np.int64).reshape(-1, SUMS[which])

    def restore(self, examples: int, mentions: IntArray, tables: Iterable[tuple[IntArray, IntArray]]) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(mentions))
        added = [
            {_key(key): tuple(sums) for key, sums in zip(keys.tolist(), values.tolist(), strict=True)}
            for keys, values in tables
        ]
        self._change(examples, np.arange(len(mentions)), mentions, added, 1)

    def compact(self) -> None:
        """Drop keys of which no example is left."""
        self._complete()
        groups, first, rows = ({key: sums for key, sums in table.items() if sums[0]} for table in self._tables)
        self._tables = (groups, first, rows)

    def copy(self) -> RankCounts:
        """An independent copy."""
        self._complete()
        twin = RankCounts(len(self._mention))
        groups, first, rows = map(dict, self._tables)
        twin._examples, twin._mention, twin._tables = self._examples, self._mention.copy(), (groups, first, rows)
        return twin


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
