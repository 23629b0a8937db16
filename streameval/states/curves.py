"""The state of scores: for each label, the positives and the negatives in each bin of the score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Never, Self

import numpy as np

from streameval.kernel.backend import commit, curves
from streameval.kernel.curves import bins as binning
from streameval.kernel.types import DONE, Flags, FloatArray, IntArray, Integers, WordArray
from streameval.schema.batch import Batch
from streameval.schema.labels import by_column
from streameval.states.base import COUNT_MAX, Content, Part, State
from streameval.states.curve_weights import Added, CurveWeights, fill_bins, fill_sides, words_needed
from streameval.states.views import Arrays, View, cached_property, total
from streameval.states.weights import common_scale, exact_weights

_Pairs = tuple[int, int, int, int]
Read = tuple[IntArray, IntArray, IntArray, IntArray, WordArray]
"""Offsets, bins, counts, common residuals and sums; see `streameval.kernel.curves.numpy.Bins.read`."""

BLOCK = 2**12
"""How many bins are read, written or restored at once."""


class CurveBlock(NamedTuple):
    """Bins that hold a score, label by label; the bins of the last label may continue in the next block."""

    first: int  # the position of the first label
    offsets: IntArray  # where the bins of each label begin, and the end
    bins: IntArray
    counts: IntArray  # how many negatives and positives each holds, shape (bins, 2)
    sums: WordArray  # of residuals and of their squares, as 64-bit words, low word first, shape (bins, 2, 4)
    weigh: Callable[[], Any]  # reads the weight sums of scores, residuals and squares; empty if all weights are 1


@dataclass(frozen=True, slots=True, eq=False)
class CurveContent(Content):
    """What a state of curves holds; see `Content`."""

    # In how many examples each label was a negative without a score (0 for declared labels: derived), a positive
    # without a score, and masked; shape (labels, 3).
    sides: Any
    weight: int  # of all examples; 0 without scale
    side_weights: Any  # of positives without a score, and of masked cells; empty without scale
    blocks: Callable[[], Iterable[CurveBlock]]


class Curves(State[Never]):
    """Positives and negatives per label and bin of the score, exact under any order, sharding and reverting.

    A bin is a fixed function of the score (`streameval.kernel.curves.numpy`). For each class it holds the number of
    scores, the sum of their residuals and that of the squares; these give the exact sum of the scores, and whether all
    scores are equal. A label without a score counts below all bins; the number of such negatives is derived.
    """

    reads = "scores"
    too_many = (
        f"more than {binning.SCORE_MAX} scores of one label in one bin, or {COUNT_MAX} examples, cannot be counted "
        "exactly; evaluate in parts, each on its own"
    )
    weights: CurveWeights
    _sums_by_key = CurveWeights
    __slots__ = ()

    def _empty_table(self) -> Any:
        return curves.Bins(self.root, len(self.labels))

    def follower(self) -> Any:
        return self.table.follower()

    def _count(self, batch: Batch) -> None:
        if (code := self.table.count(*self._read(batch))) != DONE:
            self._part(code)

    def _prepare_weights(self, _: object, changes: Sequence[Any], *, known: bool) -> list[Part]:
        return self._prepare_tables([(other._sums, *where) for other, *where in changes], known=known)

    def _prepare_batch(self, batch: Batch, weights: FloatArray) -> list[Part]:
        scale, units = exact_weights(weights)
        table = curves.Weights(scale, words_needed(sum(units)))
        (scored,) = self._read(batch)
        table.count(scored, units, len(self.labels))
        return self._prepare_tables([(table, None, 1)], known=True)

    def _prepare_tables(self, added: list[Added], *, known: bool) -> list[Part]:
        if not self.examples and len(added) == 1 and added[0][1] is None and added[0][2] > 0:
            return self.weights.prepare(added[0][0].copy())
        return list(map(self._part, self.weights.prepare_merges(self._sums, added, known=known)))

    @property
    def _sums(self) -> Any:
        """The table of weights, made of the counts while every example weighs 1; callers must not change it."""
        if self.weights.present or not self.examples:
            return self.weights.cell.value or curves.Weights()
        columns = np.arange(len(self.labels))
        sides, table = self.bins.sides(columns), curves.Weights(0, words_needed(self.examples))
        fill_sides(table, self.examples, self.examples, sides, sides[:, 1:].astype(object))
        for first, offsets, bins, counts, words, _ in self._blocks(columns):
            fill_bins(table, first, offsets, bins, counts, moments_of(counts, words))
        return table

    def canonical_scale(self) -> int | None:
        return self.weights.smallest_scale() if self.weights.present and not self._all_weigh_1() else None

    def _all_weigh_1(self) -> bool:
        """Whether the weight sums are those of examples that all weigh 1."""
        columns, scale = np.arange(len(self.labels)), self.weights.cell.value.scale
        if self.weights.whole(scale) != self.examples << scale:
            return False
        if self.weights.sides(columns, scale) != (self.bins.sides(columns)[:, 1:].astype(object) << scale).tolist():
            return False
        blocks = self._blocks(columns, scale)
        return all((block.weigh() == moments_of(block.counts, block.sums) << scale).all() for block in blocks)

    def _prepare_compact(self) -> list[Part]:
        return self.weights.prepare(None if self.canonical_scale() is None else self.weights.cell.value.compacted())

    def scale_weights(self, numerator: int, scale: int) -> None:
        table = self._sums
        finest = common_scale(table.scale + scale)
        factor = numerator << finest - table.scale - scale
        self.root.commit(self.weights.prepare(table.shaped(finest, words_needed(table.whole * factor), factor)))

    @property
    def bins(self) -> Any:
        """The table (`streameval.kernel.curves.numpy.Bins`), with a column for every label."""
        self._reserve()
        return self.table

    def pooled(self) -> Read:
        """`Read` of the scores of all columns pooled."""
        bins, columns, root = self.bins, np.arange(len(self.labels)), commit.Root()
        if bins.scores > binning.SCORE_MAX:  # a pooled bin may exceed what a bin of a table can count
            _, numbers, counts, _, words = bins.read(columns)
            distinct, which = np.unique(numbers, return_inverse=True)
            sums: Integers = np.zeros((len(distinct), 2, 3), object)
            np.add.at(sums, which, moments_of(counts, words))
            return np.array([0, len(distinct)]), distinct, *binning.read_of(sums)
        while True:  # each pass pools four columns into one, so the passes are logarithmic in the columns
            fresh = curves.Bins(root, -(-len(columns) // 4))
            root.commit([fresh.prepare_merge(bins, columns // 4, 1)])
            bins, columns = fresh, columns[: -(-len(columns) // 4)]
            if len(columns) <= 1:
                return bins.read(np.zeros(1, np.int64))

    def _blocks(self, columns: IntArray, scale: int | None = None) -> Iterator[CurveBlock]:
        first, low = 0, 0
        while True:
            some = columns[first : first + BLOCK]
            offsets, bins, counts, _, words = self.bins.read(some, low, BLOCK)
            if len(bins):
                weigh = list if scale is None else partial(self.weights.bins, some, offsets, bins, scale)
                yield CurveBlock(first, offsets, bins, counts, words, weigh)
            if len(bins) < BLOCK:
                first, low = first + len(some), 0
                if first >= len(columns):
                    return
            else:
                first, low = first + int(np.searchsorted(offsets, BLOCK)) - 1, int(bins[-1]) + 1

    def content(self) -> CurveContent:
        scale, columns = self.canonical_scale(), self.columns()
        weight, sides = 0, list[list[int]]()
        if scale is not None:
            weight, sides = self.weights.whole(scale), by_column(columns, partial(self.weights.sides, scale=scale))
        stored = *self._head(columns, scale), by_column(columns, self.bins.sides), weight, sides
        return CurveContent(*stored, partial(self._blocks, columns, scale))

    def _fill(self, content: CurveContent) -> None:
        self.table.restore(content.examples, content.sides)
        table, shift = None, common_scale(content.scale or 0) - (content.scale or 0)
        if content.scale is not None:
            whole, sides = content.weight << shift, np.array(content.side_weights, object).reshape(-1, 2) << shift
            table = curves.Weights(content.scale + shift, words_needed(whole))
            fill_sides(table, content.examples, whole, content.sides, sides)
        for block in content.blocks():
            self.table.restore_bins(*block[:-1])
            if table is not None:
                fill_bins(table, *block[:-2], np.array(block.weigh(), object).reshape(-1, 2, 3) << shift)
        self.root.commit(self.weights.prepare(table))


def moments_of(counts: IntArray, words: WordArray) -> Integers:
    """For each bin and class the number of scores, the sums of residuals and of their squares: shape (bins, 2, 3)."""
    return np.concatenate([counts.astype(object)[:, :, None], joined(words)], axis=2)


def joined(words: WordArray) -> Integers:
    """Pairs of a low and a high 64-bit word as Python integers."""
    return np.asarray(words[..., ::2].astype(object) + (words[..., 1::2].astype(object) << 64))


# -- what metrics read ------------------------------------------------------------------------------------------------

# Below this weight of all examples, twice the product of two counts stays within int64.
_SMALL = 2**30


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of several labels, one after the other; the first step of each has no score.

    A bin is one step, or two if all its positives have one score and all its negatives another.
    """

    starts: IntArray  # where the steps of each label begin, and the end
    bins: IntArray  # -1: no score
    residuals: IntArray  # -1: they differ
    neg: Integers  # the weight of negatives, in units of the tables
    pos: Integers
    mixed: Flags  # whether the scores of a step differ, so that their order is unknown

    def before(self, part: Integers) -> Integers:
        """The sum over the lower steps of the same label."""
        sums = np.cumsum(part) - part
        return np.asarray(sums - np.repeat(sums[self.starts[:-1]], np.diff(self.starts)))

    def over(self, part: Integers) -> Integers:
        """The sum over the steps of each label."""
        return np.asarray(np.add.reduceat(part, self.starts[:-1]) if len(self.starts) > 1 else part[:0])

    def of(self, position: int) -> Path:
        """The steps of one label whose weight is not 0, from the highest score down."""
        start, stop = self.starts[position : position + 2].tolist()
        path = Path(self.bins, self.residuals, self.neg, self.pos, self.mixed)[start:stop][::-1]
        return path[np.asarray(path.neg + path.pos > 0, np.bool_)]


@dataclass(frozen=True)
class Path(Arrays):
    """A path from no predictions to all of them; see `Steps.of`."""

    bins: IntArray
    residuals: IntArray
    neg: Integers
    pos: Integers
    mixed: Flags

    @cached_property
    def fp(self) -> Integers:
        """Negatives at or above each step, with 0 in front."""
        return np.concatenate([np.zeros(1, self.neg.dtype), np.cumsum(self.neg)])

    @cached_property
    def tp(self) -> Integers:
        """Positives at or above each step, with 0 in front."""
        return np.concatenate([np.zeros(1, self.pos.dtype), np.cumsum(self.pos)])

    @cached_property
    def thresholds(self) -> FloatArray:
        """For each step the threshold that predicts it and all above: its score, or the lower edge of its bin."""
        known = binning.scores_of(np.maximum(self.bins, 0), np.maximum(self.residuals, 0))
        return np.asarray(np.where(self.mixed | (self.bins < 0), binning.edges_of(self.bins), known))


class CurveTables(View[Curves]):
    """The scores of a state."""

    def only(self, place: int) -> Self:
        """What metrics read of the label at a position."""
        result = type(self).__new__(type(self))
        result._state, result.scale, result.columns = self._state, self.scale, self.columns[place : place + 1]
        return result

    @cached_property
    def read(self) -> Read:
        """The bins of each label with their sums."""
        return self._state.bins.read(self.columns)  # type: ignore[no-any-return]

    @cached_property
    def pool(self) -> Read:
        """The bins of all labels together with their sums."""
        return self._state.pooled()

    @cached_property
    def counted_pairs(self) -> list[_Pairs]:
        """For each label, without weights: negatives, positives, twice the pairs in order, and pairs in mixed bins."""
        counts, words = self._state.bins.pairs(self.columns)
        pairs = np.concatenate([counts.astype(object), joined(words.reshape(-1, 4))], axis=1).tolist()
        return _with_unscored(pairs, self._state.bins.sides(self.columns)[:, 1:].tolist(), self.examples)

    @cached_property
    def pairs(self) -> list[_Pairs]:
        """The `counted_pairs` weighted: weights in units of the table, pairs in products of such units."""
        if self.scale is None:
            return self.counted_pairs
        offsets, bins, _, common, _ = self.read
        weights, table = self._state.weights, self._state.weights.cell.value
        pairs = table.pairs(self.columns, offsets, bins, common)
        return _with_unscored(pairs, weights.sides(self.columns, table.scale), table.whole)

    @cached_property
    def moments(self) -> Integers | None:
        """The weight sums of each bin of each label and each class, shape (bins, 2, 3); None if unweighted."""
        return None if self.scale is None else self._state.weights.bins(self.columns, *self.read[:2], self.scale)

    @cached_property
    def weight(self) -> int:
        return self.examples if self.scale is None else self._state.weights.whole(self.scale)

    @cached_property
    def steps(self) -> Steps:
        offsets, bins, _, common, _ = self.read
        weights = self._plain.astype(np.int64 if self.weight < _SMALL else object, copy=False)
        return _steps(offsets, bins, weights, common, self._unscored(offsets, weights))

    def _unscored(self, offsets: IntArray, weights: Integers) -> tuple[Integers, Integers]:
        sides = self._state.bins.sides(self.columns)
        whole = np.zeros(len(weights) + 1, weights.dtype)
        whole[1:] = np.cumsum(weights.sum(axis=1))
        binned = whole[offsets[1:]] - whole[offsets[:-1]]
        positive: Integers = sides[:, 1]
        masked: Integers = sides[:, 2]
        if self.scale is not None:
            positive, masked = np.array(self._state.weights.sides(self.columns, self.scale), object).reshape(-1, 2).T
        return self.weight - masked - positive - binned, positive + weights[:0].sum()

    @cached_property
    def pooled(self) -> Steps:
        """The steps of all labels together."""
        offsets, bins, counts, common, _ = self.pool
        unscored = [total(part) for part in self._unscored(self.read[0], self._plain)]
        kind = np.int64 if self.weight * max(1, self.size) < _SMALL else object
        weights: Integers = counts.astype(kind, copy=False)
        if self.scale is not None:
            weights = np.zeros(counts.shape, kind)
            np.add.at(weights, np.searchsorted(bins, self.read[1]), self._plain.astype(kind))
        return _steps(offsets, bins, weights, common, [np.array([part], kind) for part in unscored])

    @cached_property
    def _plain(self) -> Integers:
        if self.scale is None:
            return self.read[2]
        return self._state.weights.bins(self.columns, *self.read[:2], self.scale, 1)[:, :, 0]


def _with_unscored(pairs: Iterable[Sequence[int]], sides: Iterable[Sequence[int]], whole: int) -> list[_Pairs]:
    """Add the pairs of cells without a score to the pairs of each label."""
    rows = []
    for (neg, pos, ordered, mixed), (unscored, masked) in zip(pairs, sides, strict=True):
        rest = whole - masked - unscored - neg - pos  # negatives without a score
        rows.append((neg + rest, pos + unscored, ordered + rest * (2 * pos + unscored), mixed))
    return rows


def _steps(
    offsets: IntArray, bins: IntArray, weights: Integers, common: IntArray, unscored: Sequence[Integers]
) -> Steps:
    """Steps from bins: a bin whose two classes have two known scores becomes two, and a step without score precedes."""
    neg, pos = weights[:, 0], weights[:, 1]
    first, second = common[:, 0], common[:, 1]  # numpy takes many times as long to reduce rows of two
    apart = (first >= 0) & (second >= 0) & (first != second)
    mixed = (first == -1) | (second == -1)
    residuals = np.where(mixed, -1, np.maximum(first, second))
    if apart.any():
        times = 1 + apart
        lower_is_neg = (second > first) != binning.flipped_bins(bins)
        source = np.repeat(np.arange(len(bins)), times)
        later = np.zeros(len(source), np.bool_)
        later[1:] = source[1:] == source[:-1]
        split = apart[source]
        only_neg = split & (lower_is_neg[source] != later)
        neg, pos = np.where(split & ~only_neg, 0, neg[source]), np.where(only_neg, 0, pos[source])
        part = common[source]
        residuals = np.where(split, np.where(only_neg, part[:, 0], part[:, 1]), residuals[source])
        bins, mixed = bins[source], mixed[source]
        offsets = np.concatenate([[0], np.cumsum(times)])[offsets]
    start = offsets[:-1]
    return Steps(
        offsets + np.arange(len(offsets)),
        np.insert(bins, start, -1),
        np.insert(residuals, start, 0),
        np.insert(neg, start, unscored[0]),
        np.insert(pos, start, unscored[1]),
        np.insert(mixed, start, False),
    )
