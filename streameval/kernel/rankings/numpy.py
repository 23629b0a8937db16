"""What each kernel function of rankings means, in numpy: the fallback where nothing was compiled, and the oracle.

Of the labels of an example that are not masked, ``l`` are ranked (they have a score) and ``m`` are true, ``u`` of them
not ranked; ``h`` are masked. Ranked labels with equal scores form a group. For each group that holds a true label::

    a  labels ranked strictly above it        t  true labels in it
    g  its size                               L  true labels in it and above it

Where ties are strict, no two labels rank alike: every ``g`` is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.table import COUNT_MAX, Counted, SumTable, enter
from streameval.kernel.types import Flags, IntArray, Records, Scored

SUMS = (3, 1, 6)
"""How many sums each of the three tables keeps for a key; see `RankCounts`."""

_Key: TypeAlias = tuple[int, ...]
_Scores: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def _rank(
    sizes: list[IntArray],
    rows: IntArray,
    columns: IntArray,
    true: Flags,
    ranked: Flags,
    scores: _Scores,
    order: IntArray,
    strict: bool,
    detailed: bool,
) -> Records:
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


def _rank_rows(scored: Scored, width: int, strict: bool, detailed: bool) -> tuple[Records, IntArray]:
    """Rank dense rows, and count the examples that mention each of ``width`` columns.

    Where ``strict``, the later of two labels with the same score ranks better.
    """
    columns, _, true, scores, ranked, mask = scored
    mentions = np.zeros(width, np.int64)
    mentions[columns] = len(true)
    examples, width = true.shape
    visible = np.ones(true.shape, np.bool_) if mask is None else mask == 0
    present, truth = visible if ranked is None else visible & (ranked != 0), visible & (true != 0)
    scores = -scores
    scores[~present] = np.nan  # sorted to the end
    order = width - 1 - np.argsort(scores[:, ::-1], kind="stable") if strict else np.argsort(scores)
    order += width * np.arange(examples)[:, None]
    rows, columns = np.repeat(np.arange(examples), width), np.tile(columns, examples if detailed else 0)
    sizes = [side.sum(axis=1) for side in (truth, present, truth & ~present, ~visible)]
    flat = (truth.ravel(), present.ravel(), scores.ravel(), order.ravel())
    return _rank(sizes, rows, columns, *flat, strict, detailed), mentions


def _rank_lists(lists: Scored, width: int, place: IntArray | None, detailed: bool) -> tuple[Records, IntArray]:
    """Rank lists of columns, and count the examples that mention each of ``width`` columns.

    Where columns have a ``place``, the larger one of two labels with the same score ranks better.
    """
    _, _, true, scores, ranked, mask = lists
    examples = len(true[0]) - 1
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


class RankCounts(SumTable[_Key]):
    """Sums over examples by what they have in common, how many examples mention each column, and how many there were.

    Three tables of integers, whose numbers stand first in keys here::

        0 groups  m, l, a, g -> sums of t, t L and t²
        1 first   a, g, t of the best group -> examples
        2 rows    m, l, u, h -> examples, and the sums of the five last columns of `Records.rows`

    Columns below ``fixed`` belong to declared labels, whose mentions are not counted.
    """

    __slots__ = ()

    def __init__(self, root: Root, width: int) -> None:
        self._start(root, max(8, width))

    def _placed(self, key: _Key, place: list[int]) -> _Key:
        del place
        return key

    @staticmethod
    def _possible(*sums: int) -> bool:
        if not 0 <= min(sums) <= max(sums) <= COUNT_MAX or (not sums[0] and any(sums)):
            return False
        if len(sums) == SUMS[0]:
            return sums[0] <= sums[1] and sums[0] <= sums[2]
        if len(sums) == SUMS[2]:
            examples, wrong, _, erring, missed, _ = sums
            return erring <= min(examples, wrong) and missed <= examples and (erring > 0 or wrong == 0)
        return True

    # -- counting ------------------------------------------------------------------------------------------------------

    def count(self, scored: Scored, place: IntArray | None, detailed: bool = False) -> Records | None:
        """Count examples, and return what is known of each if ``detailed``.

        Where columns have a ``place``, no two labels rank alike. Those of rows are in the order of their places.
        """
        records, added = self._ranked(scored, place, detailed)
        self._cell.store(self._cell.value.plus(added, 1))
        return records if detailed else None

    def prepare_example(self, scored: Scored, place: IntArray | None, sign: int) -> Part | int:
        """Count one example (sign 1), or take it back (sign -1)."""
        return self._prepared(self._ranked(scored, place, False)[1], sign)

    def _ranked(self, scored: Scored, place: IntArray | None, detailed: bool) -> tuple[Records, Counted[_Key]]:
        columns, fixed, *_ = scored
        width = len(self._cell.value.columns)
        if columns is None:
            records, mentions = _rank_lists(scored, width, place, detailed)
        else:
            self._check(columns)
            records, mentions = _rank_rows(scored, width, place is not None, detailed)
        mentions[:fixed] = 0
        return records, _counted(records, mentions)

    # -- reading -------------------------------------------------------------------------------------------------------

    def mentions(self, width: int) -> IntArray:
        """How many examples mention each of the first columns; 0 for declared labels."""
        counted = self._cell.value.columns[:width]
        return np.pad(counted, (0, width - len(counted)))

    def entries(self, which: int) -> tuple[IntArray, IntArray]:
        """The keys of one table that have examples, in any order, and their sums."""
        present = [(key[1:], sums) for key, sums in self._cell.value.live() if key[0] == which]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 3 if which == 1 else 4)
        return keys, np.array([sums for _, sums in present], np.int64).reshape(-1, SUMS[which])

    def sums_of(self, which: int, keys: IntArray) -> IntArray:
        """The sums of some keys of one table, 0 where there are none."""
        sums, nothing = self._cell.value.sums, (0,) * SUMS[which]
        return np.array([sums.get((which, *key), nothing) for key in keys.tolist()], np.int64).reshape(-1, SUMS[which])

    def restore(self, examples: int, mentions: IntArray, tables: Iterable[tuple[IntArray, IntArray]]) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(mentions))
        filled = {
            (which, *key): tuple(sums)
            for which, (keys, values) in enumerate(tables)
            for key, sums in zip(keys.tolist(), values.tolist(), strict=True)
        }
        self._cell.store(self._cell.value.plus(Counted(examples, mentions, filled), 1))


def entries_of(records: Records) -> tuple[tuple[IntArray, IntArray, IntArray], ...]:
    """What examples add to each of the tables: keys, their examples, and what is added, shape (keys, sums, 1)."""
    summary, groups, _ = records
    row, a, g, t, upto = groups.T
    best, one = np.flatnonzero(np.diff(row, prepend=-1)), np.ones((len(summary), 1), np.int64)
    return (
        (np.column_stack([summary[row, :2], a, g]), row, np.column_stack([t, t * upto, t * t])[:, :, None]),
        (groups[best, 1:4], row[best], one[: len(best), :, None]),
        (summary[:, :4], np.arange(len(summary)), np.hstack([one, summary[:, 4:]])[:, :, None]),
    )


def _counted(records: Records, mentions: IntArray) -> Counted[_Key]:
    sums: dict[_Key, tuple[int, ...]] = {}
    for which, (keys, _, values) in enumerate(entries_of(records)):
        for key, more in zip(keys.tolist(), values[:, :, 0].tolist(), strict=True):
            enter(sums, (which, *key), more)
    return Counted(len(records.rows), mentions, sums)
