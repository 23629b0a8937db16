"""Scores counted per label and bin, in numpy and plain Python: the fallback where nothing was compiled, and the oracle.

What a bin is, is said in `streameval.kernel.curves.bins`. For each label, class (0 negative, 1 positive) and bin three
integers are stored: how many scores n, the sum of their residuals, and the sum of the squares. All three add up, and
tell whether all residuals are equal: by Cauchy and Schwarz exactly if n * squares == sum ** 2. As n is below 2**43,
the sum fits into 84 bits and the squares into 125.

It is stored as well in how many examples a label had no score (`sides`): as a negative (only for labels that are not
declared: for declared ones this is derived), as a positive, and with a masked truth, which counts nowhere else.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np

from streameval.kernel.commit.numpy import Part, Root, Table
from streameval.kernel.curves.bins import BINS, SCORE_MAX, bins_of, flipped_bins, possible
from streameval.kernel.types import (
    FULL,
    REFUSED,
    Flags,
    FloatArray,
    IntArray,
    Ragged,
    ScoredLists,
    ScoredRows,
    WordArray,
)

_COUNT_MAX = 2**63 - 1
_WORD = 2**64 - 1
_Part = tuple[int, int, int]
_Place = tuple[int, int, int]  # column, bin, class
_NOTHING: _Part = (0, 0, 0)


class _Counted(NamedTuple):
    """All that is counted. Nothing in it is ever changed: a change is another value."""

    examples: int
    sides: IntArray
    bins: tuple[dict[int, tuple[_Part, _Part]], ...]

    def mentions(self) -> IntArray:
        """In how many examples each column is mentioned."""
        scored = [sum(negative[0] + positive[0] for negative, positive in bins.values()) for bins in self.bins]
        return np.asarray(self.sides.sum(axis=1) + np.array(scored, np.int64))


class _Change(NamedTuple):
    """Examples that are added (sign 1) to what is counted, or taken back (sign -1).

    Their scores are given by column, bin and class; what they have without a score, by column, shape (columns, 3).
    """

    examples: int
    columns: IntArray
    sides: IntArray
    parts: list[tuple[_Place, _Part]]
    sign: int

    def applied(self, old: _Counted) -> _Counted:
        """What is counted then."""
        sign, bins, sides = self.sign, list(old.bins), old.sides.copy()
        np.add.at(sides, self.columns, sign * self.sides)
        for (column, bin_, part), (n, total, squares) in self.parts:
            if bins[column] is old.bins[column]:
                bins[column] = dict(old.bins[column])
            pair = bins[column].get(bin_, (_NOTHING, _NOTHING))
            before = pair[part]
            sums = before[0] + sign * n, before[1] + sign * total, before[2] + sign * squares
            bins[column][bin_] = (pair[0], sums) if part else (sums, pair[1])
        return _Counted(old.examples + sign * self.examples, sides, tuple(bins))


def _change(
    examples: int, columns: IntArray, scores: FloatArray, positive: Flags, unscored: list[IntArray], sign: int
) -> _Change:
    """Examples with these scores, and with these columns without a score, by side."""
    sides = np.repeat(np.eye(3, dtype=np.int64), [len(side) for side in unscored], axis=0)
    bins, residuals = bins_of(scores)
    key = (columns * BINS + bins) * 2 + positive  # fits as long as there are fewer than 2**39 columns
    distinct, which, times = np.unique(key, return_inverse=True, return_counts=True)
    totals, squares = np.zeros(len(distinct), object), np.zeros(len(distinct), object)
    exact = residuals.astype(object)
    np.add.at(totals, which, exact)
    np.add.at(squares, which, exact * exact)
    places = zip(*(part.tolist() for part in (distinct // (2 * BINS), distinct // 2 % BINS, distinct % 2)), strict=True)
    parts = list(zip(places, zip(times.tolist(), totals.tolist(), squares.tolist(), strict=True), strict=True))
    return _Change(examples, np.concatenate(unscored), sides, parts, sign)


class Bins(Table):
    """What is stored of the scores of each column, and how many examples there were.

    Methods that can decline answer ``REFUSED`` (it would take back what was never counted) or ``FULL`` (too many
    examples, or scores in a bin), and have then changed nothing. ``count_*`` are only used on bins that are thrown away
    if they raise, and answer ``DONE``; ``prepare_*`` answer a part, which changes the bins when their root commits it.
    """

    __slots__ = ()

    def __init__(self, root: Root, width: int) -> None:
        size = max(8, width)
        self._cell = root.cell(_Counted(0, np.zeros((size, 3), np.int64), ({},) * size))

    @property
    def scores(self) -> int:
        """How many scores were counted."""
        pairs = (pair for bins in self._cell.value.bins for pair in bins.values())
        return sum(negative[0] + positive[0] for negative, positive in pairs)

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        old = self._cell.value
        if width > len(old.sides):
            more = width - len(old.sides)
            self._cell.store(old._replace(sides=np.pad(old.sides, ((0, more), (0, 0))), bins=old.bins + ({},) * more))

    # -- examples ------------------------------------------------------------------------------------------------------

    def prepare_row(self, rows: ScoredRows, sign: int) -> Part | int:
        """Count one row (sign 1) or take it back (sign -1)."""
        columns, fixed, true, scores, ranked, mask = rows
        self._check(columns)
        visible = np.ones(true.shape, np.bool_) if mask is None else mask == 0
        scored = visible if ranked is None else visible & (ranked != 0)
        _, column = np.nonzero(scored)
        place = np.broadcast_to(columns, true.shape)
        unscored = visible & ~scored
        wide = scores[scored].astype(np.float64)
        sides = [place[side] for side in (unscored & (true == 0) & (place >= fixed), unscored & (true != 0), ~visible)]
        return self._prepared(_change(len(true), columns[column], wide, true[scored] != 0, sides, sign))

    def prepare_lists(self, lists: ScoredLists, sign: int, examples: int = 1) -> Part | int:
        """Count one example of lists (sign 1) or take it back (sign -1)."""
        _, true, ranked, scores, mask = lists  # they mention no label that is neither true nor ranked nor masked
        width = len(self._cell.value.sides)
        for side in (true, ranked, *([] if mask is None else [mask])):
            self._check(side[1])
        trues, cells = _cells(examples, width, true), _cells(examples, width, ranked)
        masked = np.unique(_cells(examples, width, mask)) if mask is not None else np.zeros(0, np.int64)
        known = ~np.isin(cells, masked)
        scored = cells[known]
        unscored = np.setdiff1d(np.setdiff1d(trues, masked), scored)
        positive = np.isin(scored, trues)
        sides = [np.zeros(0, np.int64), unscored % width, masked % width]
        return self._prepared(_change(examples, scored % width, scores[known], positive, sides, sign))

    def count_rows(self, rows: ScoredRows) -> int:
        """Count rows."""
        return self._commit(self.prepare_row(rows, 1))

    def count_lists(self, examples: int, lists: ScoredLists) -> int:
        """Count lists of columns."""
        return self._commit(self.prepare_lists(lists, 1, examples))

    def _check(self, columns: IntArray) -> None:
        if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < len(self._cell.value.sides):
            raise IndexError("a column is out of range")

    def _prepared(self, change: _Change) -> Part | int:
        new, prepared = self._cell.tried(change.applied)
        touched = [new.bins[column][bin_][part] for (column, bin_, part), _ in change.parts]
        if new.examples > _COUNT_MAX or any(times > SCORE_MAX for times, *_ in touched):
            return FULL
        if change.sign < 0 and not (
            all(possible(*sums) for sums in touched) and (new.sides >= 0).all() and new.mentions().max() <= new.examples
        ):
            return REFUSED
        return prepared

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(self, other: Bins, columns: IntArray | None, sign: int) -> Part | int:
        """Add the other's counts (sign 1), or take them back (sign -1): the exact inverse.

        ``columns`` has the columns of this table (None: the same); with sign 1, and at most ``SCORE_MAX`` scores in
        all, several may be one.
        """
        added = other._cell.value
        width = len(added.sides) if columns is None else min(len(columns), len(added.sides))
        self.reserve(width if columns is None else 0)
        places = np.arange(width) if columns is None else columns[:width]
        self._check(places)
        parts = [
            ((place, bin_, part), sums)
            for place, bins in zip(places.tolist(), added.bins[:width], strict=True)
            for bin_, pair in bins.items()
            for part, sums in enumerate(pair)
            if sums[0]
        ]
        return self._prepared(_Change(added.examples, places, added.sides[:width], parts, sign))

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        self.reserve(width)
        return np.asarray(self._cell.value.mentions()[:width] > 0)

    def sides(self, columns: IntArray) -> IntArray:
        """In how many examples columns had no score: as negatives, as positives, masked. Shape (columns, 3)."""
        self._check(columns)
        return np.asarray(self._cell.value.sides[columns])

    def read(
        self, columns: IntArray, low: int = 0, limit: int = 2**63 - 1
    ) -> tuple[IntArray, IntArray, IntArray, IntArray, WordArray]:
        """The bins of columns that hold a score, in order, column by column; of the first column those from ``low`` on.

        Returns offsets (one more than columns), bins, and by class how many scores, shape (bins, 2), their residual if
        it is the same for all, -1 if it is not, -2 if there are none, and the sums of the residuals and of their
        squares, low word first: shape (bins, 2, 4). At most the first ``limit`` bins.
        """
        self._check(columns)
        every = (
            (position, bin_, pair)
            for position, column in enumerate(columns.tolist())
            for bin_, pair in sorted(self._cell.value.bins[column].items())
            if (pair[0][0] or pair[1][0]) and (position or bin_ >= low)
        )
        rows = [*islice(every, limit)]
        offsets = np.searchsorted([position for position, *_ in rows], np.arange(len(columns) + 1))
        bins = np.array([bin_ for _, bin_, _ in rows], np.int64)
        counts = np.array([[part[0] for part in pair] for *_, pair in rows], np.int64).reshape(-1, 2)
        common = np.array([[_common(*part) for part in pair] for *_, pair in rows], np.int64).reshape(-1, 2)
        words = [
            [(total & _WORD, total >> 64, squares & _WORD, squares >> 64) for _, total, squares in pair]
            for *_, pair in rows
        ]
        return offsets, bins, counts, common, np.array(words, np.uint64).reshape(-1, 2, 4)

    def pairs(self, columns: IntArray) -> tuple[IntArray, WordArray]:
        """How many negatives and positives columns have, shape (columns, 2), and their pairs in order.

        That is twice the number of (positive, negative) pairs in which the positive has the greater score, a tie being
        half a pair, as 64-bit words, low word first: at least, with every undecided bin as one tie, and at most. Shape
        (columns, 3, 2). A bin is undecided where scores of one class differ.
        """
        counts, sums = np.zeros((len(columns), 2), np.int64), np.zeros((len(columns), 3, 2), np.uint64)
        for position, column in enumerate(columns.tolist()):
            below, hits, totals = 0, 0, [0, 0, 0]
            bins = self._cell.value.bins[column]
            flips = flipped_bins(np.array(sorted(bins), np.int64)).tolist()
            for (_, (negative, positive)), flips_order in zip(sorted(bins.items()), flips, strict=True):
                x, y, tied = _common(*positive), _common(*negative), negative[0]
                if x == -1 or y == -1:
                    more = [0, tied, 2 * tied]
                else:
                    more = [tied if x == y else 2 * tied * ((x > y) != flips_order)] * 3
                totals = [total + positive[0] * (2 * below + part) for total, part in zip(totals, more, strict=True)]
                below, hits = below + tied, hits + positive[0]
            counts[position] = below, hits
            sums[position] = [(total & _WORD, total >> 64) for total in totals]
        return counts, sums

    def compact(self) -> None:
        """Drop bins of which no score is left."""
        old = self._cell.value
        bins = ({bin_: pair for bin_, pair in bins.items() if pair[0][0] or pair[1][0]} for bins in old.bins)
        self._cell.store(old._replace(bins=tuple(bins)))

    def restore(self, examples: int, sides: IntArray) -> None:
        """Fill what is still empty, from `sides`; what there are of bins is still to come."""
        self.reserve(len(sides))
        self._commit(self._prepared(_Change(examples, np.arange(len(sides)), sides, [], 1)))

    def restore_bins(self, first: int, offsets: IntArray, bins: IntArray, counts: IntArray, words: WordArray) -> None:
        """Fill bins that are still empty, of the columns from the first on, from `read`."""
        owners = np.repeat(np.arange(first, first + len(offsets) - 1), np.diff(offsets)).tolist()
        parts = [
            ((column, bin_, part), (n, low | high << 64, square | square_high << 64))
            for column, bin_, times, pair in zip(owners, bins.tolist(), counts.tolist(), words.tolist(), strict=True)
            for part, (n, (low, high, square, square_high)) in enumerate(zip(times, pair, strict=True))
            if n
        ]
        nothing = np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
        self._commit(self._prepared(_Change(0, *nothing, parts, 1)))


def _cells(examples: int, width: int, lists: Ragged) -> IntArray:
    """One number for each (example, column) of a list."""
    return np.repeat(np.arange(examples), np.diff(lists[0])) * width + lists[1]


def _common(n: int, total: int, squares: int) -> int:
    if not n:
        return -2
    return total // n if n * squares == total * total else -1
