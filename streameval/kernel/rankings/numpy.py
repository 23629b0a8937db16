"""`RankCounts`, the counts of rankings, in numpy: fallback and oracle of the compiled twin. States of rankings call it.

Of the labels of an example that are not masked, ``l`` are ranked (they have a score) and ``m`` are true, ``u`` of them
not ranked; ``h`` are masked. Ranked labels with equal scores form a group. For each group that holds a true label::

    a  labels ranked strictly above it        t  true labels in it
    g  its size                               L  true labels in it and above it

Where ties are strict, no two labels rank alike: every ``g`` is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TypeAlias

import numpy as np

from streameval.kernel.commit.numpy import Root
from streameval.kernel.scores import examples_of
from streameval.kernel.table import COUNT_MAX, Counted, SumTable, enter
from streameval.kernel.types import IntArray, Records, Scored

SUMS = (3, 1, 6)
"""The number of sums of a key in each of the three tables; see `RankCounts`."""

_Key: TypeAlias = tuple[int, ...]


def _records(scored: Scored, width: int, place: IntArray | None) -> tuple[Records, IntArray]:
    """Rank the labels of each example; also count, for each of ``width`` columns, the examples that mention it."""
    columns, fixed, *_ = scored
    mentions = np.zeros(width, np.int64)
    rows, groups, labels = list[list[int]](), list[list[int]](), list[list[int]]()
    for example, cells in enumerate(examples_of(scored, width)):
        mentions[[column for column in cells if column >= fixed]] += 1
        known = {column: cell for column, cell in cells.items() if cell is not None}
        better = [*reversed(known)]  # of two equal scores, the first; columns of rows are in the order of places
        if place is not None and columns is None:  # of two labels with the same score, the later place is better
            better.sort(key=place.__getitem__, reverse=True)
        score_of = {column: score for column in better if (score := known[column][1]) is not None}
        ranking = sorted(score_of, key=lambda column: -score_of[column])
        own, ends, a, upto = list[tuple[int, ...]](), dict[int, tuple[int, int]](), 0, 0
        for _, tied in groupby(ranking, score_of.get if place is None else None):
            group = list(tied)
            g, t = len(group), sum(known[column][0] for column in group)
            upto += t
            if t:
                own.append((a, g, t, upto))
            ends.update(dict.fromkeys(group, (a, g)))
            a += g
        trues = [column for column, (true, _) in known.items() if true]
        unranked = len(trues) - upto
        wrong = sum(t * (a + g - upto) for a, g, t, upto in own)
        last = sum(own[-1][:2]) if own and not unranked else 0
        missed = bool(own) and own[0][0] + own[0][1] > own[0][2]
        lead = sum(t for a, g, t, upto in own if a + g == upto)
        sizes = len(trues), len(ranking), unranked, len(cells) - len(known)
        rows.append([*sizes, wrong, last, wrong > 0, missed, lead])
        groups += [[example, *group] for group in own]
        labels += [[example, column, *ends.get(column, (-1, 0))] for column in trues]
    parts = ((rows, 9), (groups, 5), (labels, 4))
    return Records(*(np.array(part, np.int64).reshape(-1, size) for part, size in parts)), mentions


class RankCounts(SumTable[_Key]):
    """Three tables of sums over examples, the number of examples that mention each column, and of all examples.

    Keys in this twin start with the number of their table::

        0 groups  m, l, a, g -> sums of t, t L and t²
        1 first   a, g, t of the best group -> examples
        2 rows    m, l, u, h -> examples, and the sums of the five last columns of `Records.rows`

    Columns below ``fixed`` belong to declared labels, whose mentions are not counted.
    """

    __slots__ = ()

    def __init__(self, root: Root, width: int) -> None:
        self._start(root, max(8, width))

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
        """Count examples; return their records if ``detailed``. With ``place``, ties are strict, rows in order."""
        records, mentions = _records(scored, len(self._cell.value.columns), place)
        self._cell.store(self._cell.value.plus(_counted(records, mentions), 1))
        return records if detailed else None

    # -- reading -------------------------------------------------------------------------------------------------------

    def mentions(self, width: int) -> IntArray:
        """The number of examples that mention each of the first ``width`` columns; 0 for declared labels."""
        counted = self._cell.value.columns[:width]
        return np.pad(counted, (0, width - len(counted)))

    def entries(self, which: int) -> tuple[IntArray, IntArray]:
        """The keys of one table that have examples, in any order, and their sums."""
        present = [(key[1:], sums) for key, sums in self._cell.value.sums.items() if key[0] == which]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 3 if which == 1 else 4)
        return keys, np.array([sums for _, sums in present], np.int64).reshape(-1, SUMS[which])

    def sums_of(self, which: int, keys: IntArray) -> IntArray:
        """The sums of these keys of one table; 0 for absent keys."""
        sums, nothing = self._cell.value.sums, (0,) * SUMS[which]
        return np.array([sums.get((which, *key), nothing) for key in keys.tolist()], np.int64).reshape(-1, SUMS[which])

    def restore(self, examples: int, mentions: IntArray, tables: Iterable[tuple[IntArray, IntArray]]) -> None:
        """Fill an empty table."""
        self.reserve(len(mentions))
        filled = {
            (which, *key): tuple(sums)
            for which, (keys, values) in enumerate(tables)
            for key, sums in zip(keys.tolist(), values.tolist(), strict=True)
        }
        self._cell.store(self._cell.value.plus(Counted(examples, mentions, filled), 1))


def entries_of(records: Records) -> tuple[tuple[IntArray, IntArray, IntArray], ...]:
    """For each of the tables: keys, the example of each key, and the sums to add, shape (keys, sums, 1)."""
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
