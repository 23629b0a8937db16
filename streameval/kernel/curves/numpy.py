"""Scores counted per label and bin, in numpy and plain Python: the fallback where nothing was compiled, and the oracle.

A bin is a fixed monotone function of the score, fine where scores live: near 0 and near 1. Of the magnitude that is
closest to 0 it keeps the exponent of the float64 and the upper 11 bits of the mantissa, so a bin spans a factor of at
most 1 + 2**-11::

    s < 0            |s|, counted downwards
    0 <= s < 0.5     s
    0.5 <= s <= 1    1 - s, which is exact, counted downwards
    s > 1            s

The residual of a score is what its bin drops: the lower 41 bits of the mantissa. For each label, class (0 negative,
1 positive) and bin three integers are kept: how many scores n, the sum of their residuals, and the sum of the squares.
All three add up, and tell whether all residuals are equal: by Cauchy and Schwarz exactly if n * squares == sum ** 2.
Fewer than 2**43 scores are counted, so that the sum fits into 84 bits and the squares into 125.

A label remembers besides in how many examples it had no score (`sides`): as a negative (only for labels that are not
declared: for declared ones this is derived), as a positive, and with a masked truth, which counts nowhere else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streameval.kernel.types import (
    DONE,
    FULL,
    REFUSED,
    Flags,
    FloatArray,
    IntArray,
    Ragged,
    ScoreArray,
    UInt8Array,
    WordArray,
)

__all__ = ["BINS", "DROPPED", "SCORE_MAX", "Bins", "bins_of", "edges_of", "flipped_bins", "possible", "scores_of"]

DROPPED = 41
SCORE_MAX = 2**43 - 1
_COUNT_MAX = 2**63 - 1
_FINITE = 2047 << 11
_TO_HALF = 1022 << 11
_TO_ONE = 1023 << 11
BINS = 2 * _FINITE + 2 * _TO_HALF + 1 - _TO_ONE
"""Bins are numbered from 0 to below this."""

_LOWER = (1 << DROPPED) - 1
_WORD = 2**64 - 1
_Part = tuple[int, int, int]
_NOTHING: _Part = (0, 0, 0)


def bins_of(scores: ScoreArray) -> tuple[IntArray, IntArray]:
    """The bin and the residual of each score."""
    wide = np.ascontiguousarray(scores, np.float64).reshape(-1)
    size = np.abs(wide)
    below, upper = wide < 0, (wide >= 0.5) & (wide <= 1)
    kept = np.where(upper, 1.0 - size, size).view(np.int64)
    code = kept >> DROPPED
    start = np.where(size > 1, _FINITE + 2 * _TO_HALF + 1 - _TO_ONE, _FINITE)
    start = np.where(upper, _FINITE + 2 * _TO_HALF + 1, start)
    start = np.where(below, _FINITE, start)
    return start + np.where(below | upper, ~code, code), kept & _LOWER


def scores_of(bins: IntArray, residuals: IntArray) -> FloatArray:
    """The scores with these bins and residuals; in bins between 0.5 and 1, which hold few, the nearest float64."""
    low, upper = bins < _FINITE, (bins >= _FINITE + _TO_HALF) & (bins <= _FINITE + 2 * _TO_HALF)
    code = np.where(bins > _FINITE + 2 * _TO_HALF, bins - (_FINITE + 2 * _TO_HALF + 1 - _TO_ONE), bins - _FINITE)
    code = np.where(upper, _FINITE + 2 * _TO_HALF - bins, np.where(low, _FINITE - 1 - bins, code))
    size = ((code << DROPPED) | residuals).view(np.float64)
    return np.asarray(np.where(upper, 1.0 - size, np.where(low, -size, size)))


def edges_of(bins: IntArray) -> FloatArray:
    """The least score at or above which lie exactly the bins from these on; minus infinity for -1."""
    inside = np.maximum(bins, 0)
    last = np.where(flipped_bins(inside), _LOWER, 0)
    edge = scores_of(inside, last)
    edge = np.where(inside == _FINITE + _TO_HALF, 0.5, edge)  # the other residuals of this bin belong below 0.5
    with np.errstate(over="ignore"):
        for _ in range(2):  # near 1 the scores of a bin are fewer than its residuals: look for the first by hand
            edge = np.where(bins_of(edge)[0] < inside, np.nextafter(edge, np.inf), edge)
        for _ in range(2):
            before = np.nextafter(edge, -np.inf)
            before = np.where(np.isfinite(before), before, edge)
            edge = np.where((bins_of(before)[0] >= inside) & (before < edge), before, edge)
    return np.asarray(np.where(bins < 0, -np.inf, edge + 0.0))


def flipped_bins(bins: IntArray) -> Flags:
    """Whether greater residuals of bins belong to lower scores."""
    return np.asarray((bins < _FINITE) | ((bins >= _FINITE + _TO_HALF) & (bins <= _FINITE + 2 * _TO_HALF)))


class _Plan(NamedTuple):
    """New values of everything that changes. Applying it twice is harmless."""

    examples: int
    scores: int
    sides: IntArray
    bins: dict[tuple[int, int], tuple[_Part, _Part]]


class Bins:
    """What is remembered of the scores of each column, and how many examples there were.

    Methods that can decline return ``DONE``, ``REFUSED`` (it would take back what was never counted) or ``FULL`` (too
    many examples or scores), and have then changed nothing. How changes happen at once is as for
    `streameval.kernel.decisions.numpy.Counts`.
    """

    __slots__ = ("_bins", "_examples", "_plan", "_scores", "_sides")

    def __init__(self, width: int) -> None:
        self._examples = self._scores = 0
        self._sides: IntArray = np.zeros((max(8, width), 3), np.int64)
        self._bins: list[dict[int, tuple[_Part, _Part]]] = [{} for _ in range(len(self._sides))]
        self._plan: _Plan | None = None

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._complete()
        return self._examples

    @property
    def scores(self) -> int:
        """How many scores were counted."""
        self._complete()
        return self._scores

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        if width > len(self._sides):
            self._complete()
            size = max(width, 2 * len(self._sides))
            self._bins = [*self._bins[: len(self._sides)], *({} for _ in range(size - len(self._sides)))]
            sides = np.zeros((size, 3), np.int64)
            sides[: len(self._sides)] = self._sides
            self._sides = sides

    # -- counting ------------------------------------------------------------------------------------------------------

    def count_rows(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        ranked: UInt8Array | None,
        hidden: UInt8Array | None,
        sign: int,
    ) -> int:
        """Count rows of truths and scores; a single row can also be taken back, with sign -1.

        ``columns`` says where each column counts; those below ``fixed`` belong to declared labels. Where ``ranked`` is
        0 there is no score, and where ``hidden`` is 1 nothing counts.
        """
        rows, width = true.shape
        self._check(columns)
        shown = np.ones(true.shape, np.bool_) if hidden is None else hidden == 0
        scored = shown if ranked is None else shown & (ranked != 0)
        _, column = np.nonzero(scored)
        bins, residuals = bins_of(scores[scored].astype(np.float64))
        place = np.broadcast_to(columns, (rows, width))
        bare = shown & ~scored
        sides = [(0, bare & (true == 0) & (place >= fixed)), (1, bare & (true != 0)), (2, ~shown)]
        said = [(side, place[where]) for side, where in sides]
        return self._count(rows, columns[column], bins, true[scored], residuals, said, sign)

    def count_lists(
        self,
        examples: int,
        fixed: int,  # noqa: ARG002  # lists name no label that is neither true nor ranked nor masked
        true: Ragged,
        ranked: Ragged,
        scores: ScoreArray,
        hidden: Ragged | None,
        sign: int,
    ) -> int:
        """The same for lists of columns that are true, that have a score, and that are masked."""
        width = len(self._sides)
        for lists in (true, ranked, *([] if hidden is None else [hidden])):
            self._check(lists[1])
        cells = [_cells(examples, width, lists) for lists in (true, ranked)]
        masked = np.unique(_cells(examples, width, hidden)) if hidden is not None else np.zeros(0, np.int64)
        seen = ~np.isin(cells[1], masked)
        bins, residuals = bins_of(scores[seen])
        scored = cells[1][seen]
        bare = np.setdiff1d(np.setdiff1d(cells[0], masked), scored)
        said = [(1, bare % max(width, 1)), (2, masked % max(width, 1))]
        positive = np.isin(scored, cells[0]).astype(np.uint8)
        return self._count(examples, scored % max(width, 1), bins, positive, residuals, said, sign)

    def _check(self, columns: IntArray) -> None:
        if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < len(self._sides):
            raise IndexError("a column is out of range; one object is for one thread at a time")

    def _count(
        self,
        examples: int,
        columns: IntArray,
        bins: IntArray,
        positive: UInt8Array,
        residuals: IntArray,
        said: list[tuple[int, IntArray]],
        sign: int,
    ) -> int:
        if sign < 0 and examples != 1:
            raise ValueError("examples are taken back one by one")
        self._complete()
        if sign > 0 and (examples > _COUNT_MAX - self._examples or len(bins) > SCORE_MAX - self._scores):
            return FULL
        parts = _summed(columns, bins, positive, residuals)
        after: dict[tuple[int, int], tuple[_Part, _Part]] = {}
        for (column, bin_, part), sums in parts:
            pair = list(after.get((column, bin_)) or self._bins[column].get(bin_, (_NOTHING, _NOTHING)))
            n, total, squares = (old + sign * new for old, new in zip(pair[part], sums, strict=True))
            pair[part] = (n, total, squares)
            after[column, bin_] = (pair[0], pair[1])
            if sign < 0 and not possible(n, total, squares):
                return REFUSED
        sides = self._sides.copy()
        for side, places in said:
            np.add.at(sides[:, side], places, sign)
        total_examples = self._examples + sign * examples
        if sign < 0:
            scored = [sum(a[0] + b[0] for a, b in held.values()) for held in self._bins[: len(sides)]]
            mentioned = sides.sum(axis=1) + scored
            np.add.at(mentioned, columns, -1)
            if total_examples < 0 or (sides < 0).any() or int(mentioned.max()) > total_examples:
                return REFUSED
        self._apply(_Plan(total_examples, self._scores + sign * len(bins), sides, after))
        return DONE

    def _apply(self, plan: _Plan) -> None:
        self._plan = plan
        self._complete()

    def _complete(self) -> None:
        plan = self._plan
        if plan is not None:
            for (column, bin_), pair in plan.bins.items():
                self._bins[column][bin_] = pair
            self._sides = plan.sides
            self._examples, self._scores = plan.examples, plan.scores
            self._plan = None

    # -- merging and reading -------------------------------------------------------------------------------------------

    def merge(self, other: Bins, columns: IntArray | None) -> int:
        """Add the other's counts; ``columns`` says where its columns are here (None: the same)."""
        other._complete()
        self._complete()
        if other._examples > _COUNT_MAX - self._examples or other._scores > SCORE_MAX - self._scores:
            return FULL
        width = len(other._sides) if columns is None else min(len(columns), len(other._sides))
        self.reserve(width if columns is None else 0)
        places = np.arange(width) if columns is None else columns[:width]
        self._check(places)
        after: dict[tuple[int, int], tuple[_Part, _Part]] = {}
        for place, held in zip(places.tolist(), other._bins[:width], strict=True):
            here = self._bins[place]
            for bin_, (negative, positive) in held.items():
                old = after.get((place, bin_)) or here.get(bin_, (_NOTHING, _NOTHING))
                after[place, bin_] = (_joined(old[0], negative), _joined(old[1], positive))
        sides = self._sides.copy()
        np.add.at(sides, places, other._sides[:width])
        self._apply(_Plan(self._examples + other._examples, self._scores + other._scores, sides, after))
        return DONE

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        self._complete()
        self.reserve(width)
        scored = [any(a[0] or b[0] for a, b in held.values()) for held in self._bins[:width]]
        return np.asarray(self._sides[:width].any(axis=1) | np.array(scored, np.bool_))

    def sides(self, columns: IntArray) -> IntArray:
        """In how many examples columns had no score: as negatives, as positives, masked. Shape (columns, 3)."""
        self._complete()
        self._check(columns)
        return self._sides[columns]

    def read(self, columns: IntArray, sums: bool) -> tuple[IntArray, IntArray, IntArray, IntArray, WordArray | None]:
        """The bins of columns that hold a score, in order, column by column.

        Returns offsets (one more than columns), bins, and by class how many scores, shape (bins, 2), and their
        residual if it is the same for all, -1 if it is not, -2 if there are none. With ``sums`` also the sum of the
        residuals and of their squares, low word first: shape (bins, 2, 4), else None.
        """
        self._complete()
        self._check(columns)
        offsets = np.zeros(len(columns) + 1, np.int64)
        bins: list[int] = []
        pairs: list[tuple[_Part, _Part]] = []
        for position, column in enumerate(columns.tolist()):
            present = sorted((bin_, pair) for bin_, pair in self._bins[column].items() if pair[0][0] or pair[1][0])
            bins += [bin_ for bin_, _ in present]
            pairs += [pair for _, pair in present]
            offsets[position + 1] = len(bins)
        counts = np.array([[part[0] for part in pair] for pair in pairs], np.int64).reshape(-1, 2)
        common = np.array([[_common(*part) for part in pair] for pair in pairs], np.int64).reshape(-1, 2)
        if not sums:
            return offsets, np.array(bins, np.int64), counts, common, None
        words = [
            [(total & _WORD, total >> 64, squares & _WORD, squares >> 64) for _, total, squares in pair]
            for pair in pairs
        ]
        return offsets, np.array(bins, np.int64), counts, common, np.array(words, np.uint64).reshape(-1, 2, 4)

    def pairs(self, columns: IntArray) -> tuple[IntArray, WordArray]:
        """How many negatives and positives columns have, shape (columns, 2), and their pairs in order.

        That is twice the number of (positive, negative) pairs in which the positive has the greater score, a tie being
        half a pair, as 64-bit words, low word first: at least, with every undecided bin as one tie, and at most. Shape
        (columns, 3, 2). A bin is undecided where scores of one class differ.
        """
        self._complete()
        counts, sums = np.zeros((len(columns), 2), np.int64), np.zeros((len(columns), 3, 2), np.uint64)
        for position, column in enumerate(columns.tolist()):
            below, hits, totals = 0, 0, [0, 0, 0]
            for bin_, (negative, positive) in sorted(self._bins[column].items()):
                x, y, tied = _common(*positive), _common(*negative), negative[0]
                if x == -1 or y == -1:
                    more = [0, tied, 2 * tied]
                else:
                    more = [tied if x == y else 2 * tied * ((x > y) != bool(flipped_bins(np.array(bin_))))] * 3
                totals = [total + positive[0] * (2 * below + part) for total, part in zip(totals, more, strict=True)]
                below, hits = below + tied, hits + positive[0]
            counts[position] = below, hits
            sums[position] = [(total & _WORD, total >> 64) for total in totals]
        return counts, sums

    def compact(self) -> None:
        """Drop bins of which no score is left."""
        self._complete()
        self._bins = [{bin_: pair for bin_, pair in held.items() if pair[0][0] or pair[1][0]} for held in self._bins]

    def restore(
        self, examples: int, sides: IntArray, offsets: IntArray, bins: IntArray, counts: IntArray, words: WordArray
    ) -> None:
        """Fill what is still empty, from `sides` and `read`."""
        self.reserve(len(sides))
        held: dict[tuple[int, int], tuple[_Part, _Part]] = {}
        for column in range(len(sides)):
            for at in range(int(offsets[column]), int(offsets[column + 1])):
                pair = [
                    (n, low | high << 64, square | square_high << 64)
                    for n, (low, high, square, square_high) in zip(counts[at].tolist(), words[at].tolist(), strict=True)
                ]
                held[column, int(bins[at])] = (pair[0], pair[1])
        wide = self._sides.copy()
        wide[: len(sides)] = sides
        self._apply(_Plan(examples, int(counts.sum()), wide, held))

    def copy(self) -> Bins:
        """An independent copy."""
        self._complete()
        twin = Bins(len(self._sides))
        twin._examples, twin._scores, twin._sides = self._examples, self._scores, self._sides.copy()
        twin._bins = [held.copy() for held in self._bins[: len(self._sides)]]
        return twin


def _cells(examples: int, width: int, lists: Ragged) -> IntArray:
    """One number for each (example, column) of a list."""
    return np.repeat(np.arange(examples), np.diff(lists[0])) * width + lists[1]


def _summed(
    columns: IntArray, bins: IntArray, positive: UInt8Array, residuals: IntArray
) -> list[tuple[tuple[int, int, int], _Part]]:
    """By column, bin and class: how many scores, the sum of their residuals, the sum of the squares."""
    key = (columns * BINS + bins) * 2 + positive  # fits as long as there are fewer than 2**39 columns
    order = np.argsort(key, kind="stable")
    key, residuals = key[order], residuals[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else np.zeros(0, np.int64)
    if not len(key):
        return []
    # Sums of fewer than 2**21 products below 2**42 fit; longer runs go through Python integers.
    times = np.diff(starts, append=len(key))
    kind = np.int64 if int(times.max()) < 2**21 else object
    high, low = (residuals >> 21).astype(kind), (residuals & (2**21 - 1)).astype(kind)
    totals, squares, cross, lows = (
        np.add.reduceat(part, starts).tolist() for part in (residuals.astype(kind), high * high, high * low, low * low)
    )
    distinct, classes = np.divmod(key[starts], 2)
    column, bin_ = np.divmod(distinct, BINS)
    places = zip(column.tolist(), bin_.tolist(), classes.tolist(), strict=True)
    sums = zip(times.tolist(), totals, squares, cross, lows, strict=True)
    return [
        (place, (n, total, (square << 42) + (mixed << 22) + rest))
        for place, (n, total, square, mixed, rest) in zip(places, sums, strict=True)
    ]


def _joined(a: _Part, b: _Part) -> _Part:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _common(n: int, total: int, squares: int) -> int:
    if not n:
        return -2
    return total // n if n * squares == total * total else -1


def possible(n: int, total: int, squares: int) -> bool:
    """Whether there may be ``n`` residuals with these sums; all that later reading relies on is certain."""
    if n <= 0:
        return n == total == squares == 0
    if total < 0 or total > n * _LOWER or (total ^ squares) & 1:  # a number is odd exactly when its square is
        return False
    mean, rest = divmod(total, n)
    least = mean * total + rest * (mean + 1)
    return squares == least if n == 1 else least <= squares <= total * _LOWER
