"""The state of scores: for each label, the positives and the negatives in each bin of the score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from streameval.kernel import backend
from streameval.kernel.curves import bins as binning
from streameval.kernel.types import DONE, Flags, FloatArray, IntArray, Integers, WordArray
from streameval.schema.batch import Batch, Example
from streameval.schema.recording import ExampleScores, rows_of
from streameval.states.base import COUNT_MAX, Content, State
from streameval.states.views import Arrays, View, cached_property, total
from streameval.states.weights import ExactSums, exact_weights, joined_sums

Place: TypeAlias = int
"""Column times ``_STRIDE``, and what is weighed there: from ``_FIRST`` on three places for each class of each bin. All
examples together are ``_ALL``."""
Read = tuple[IntArray, IntArray, IntArray, IntArray, WordArray]
"""Offsets, bins, counts, common residuals and sums; see `streameval.kernel.curves.numpy.Bins.read`."""

_ALL = -1
_POSITIVE, _MASKED, _FIRST = range(3)
_STRIDE = 2**26 + 648_055  # odd, so that the places of labels do not collide in dictionaries
assert _STRIDE > _FIRST + 6 * binning.BINS  # noqa: S101
BLOCK = 2**12
"""How many bins are read, written or restored at once."""


class CurveBlock(NamedTuple):
    """Some bins that hold a score, those of the next label behind those of the one before.

    Those of label ``first + i`` stand from offsets[i] to offsets[i + 1]; a label may go on in the next block.
    ``weigh`` reads for each bin and class the weight of the scores, of the residuals and of their squares, unless all
    weights are 1.

    Attributes
    ----------
    counts, sums
        How many negatives and positives each holds, shape (bins, 2); the sums of their residuals and of the squares, as
        64-bit words, low word first, shape (bins, 2, 4).
    """

    first: int
    offsets: IntArray
    bins: IntArray
    counts: IntArray
    sums: WordArray
    weigh: Callable[[], Any]


@dataclass(frozen=True, slots=True, eq=False)
class CurveContent(Content):
    """What a state of curves holds; see `Content`.

    Attributes
    ----------
    sides
        In how many examples each label had no score: as a negative (0 for declared labels, which derive it), as a
        positive, and masked. Shape (labels, 3).
    weight, side_weights
        Of all examples; for each label where it is a positive without a score, and masked. 0 and empty without scale.
    """

    sides: IntArray
    weight: int
    side_weights: Sequence[Sequence[int]]
    blocks: Callable[[], Iterator[CurveBlock]]


class Curves(State[Place]):
    """Positives and negatives per label and bin of the score, exact under any order, sharding and reverting.

    A bin is a fixed function of the score (`streameval.kernel.curves.numpy`). For each class it holds the number of
    scores, the sum of their residuals and that of the squares; from these follow the exact sums of scores, and whether
    all are equal. A label without a score counts below all bins; how often one was negative then is derived.
    """

    reads = "scores"
    too_many = (
        f"more than {binning.SCORE_MAX} scores of one label in one bin, or {COUNT_MAX} examples, cannot be counted "
        "exactly; evaluate in parts, each on its own"
    )
    __slots__ = ()

    def _empty_table(self) -> Any:
        return backend.curves.Bins(self.root, len(self.labels))

    def follower(self) -> Any:
        return self.table.follower()

    def _count(self, batch: Batch) -> None:
        if (code := self.table.count(*self._read(batch))) != DONE:
            self._part(code)

    def _unit_blocks(self, columns: IntArray | None = None, only: IntArray | None = None) -> Iterator[ExactSums[Place]]:
        columns = np.arange(len(self.labels)) if columns is None else columns
        sums: dict[Place, int] = {_ALL: self.examples}
        for column, (_, *sides) in zip(columns.tolist(), self.bins.sides(columns).tolist(), strict=True):
            sums.update((column * _STRIDE + what, value) for what, value in enumerate(sides))
        yield ExactSums(0, {place: value for place, value in sums.items() if value})
        for first, offsets, bins, counts, words, _ in self._blocks(columns):
            owners = np.repeat(columns[first : first + len(offsets) - 1], np.diff(offsets))
            chosen = slice(None) if only is None else np.isin(bins, only)
            firsts = (owners * _STRIDE + _FIRST + 6 * bins)[chosen].tolist()
            moments = moments_of(counts[chosen], words[chosen]).reshape(-1, 6).tolist()
            places = chain.from_iterable(map(enumerate, moments, firsts))
            yield ExactSums(0, {place: value for place, value in places if value})

    def _units_at(self, keys: Collection[Place]) -> ExactSums[Place]:
        places = np.array([key for key in keys if key >= 0], np.int64)
        what = places % _STRIDE
        return joined_sums(self._unit_blocks(np.unique(places // _STRIDE), (what[what >= _FIRST] - _FIRST) // 6))

    def _sums_of(self, batch: Batch, weights: FloatArray) -> ExactSums[Place]:
        return self._summed(batch, batch, *exact_weights(weights))

    def _sums_of_one(self, example: Example) -> ExactSums[Place]:
        return self._summed(example, example.scored, 0, [1])

    def _summed(self, source: Batch | Example, batch: Batch | None, scale: int, values: list[int]) -> ExactSums[Place]:
        assert batch is not None  # noqa: S101  # where a state reads scores, every example has them
        scores, width = ExampleScores.of(batch), len(self.labels)
        assert scores is not None  # noqa: S101  # likewise
        rows, slots, _ = self._cells(source)
        cells, outcomes = rows * width + slots // 5, slots % 5
        scored, true = rows_of(scores.lengths) * width + scores.columns, cells[outcomes % 2 == 1]
        sums: ExactSums[Place] = ExactSums(scale, {_ALL: sum(values)} if values else {})
        _, positive, known = np.intersect1d(scored, true, assume_unique=True, return_indices=True)
        for what, sides in ((_POSITIVE, np.delete(true, known)), (_MASKED, cells[outcomes == 4])):
            rows, columns = np.divmod(sides, width)
            for row, place in zip(rows.tolist(), (columns * _STRIDE + what).tolist(), strict=True):
                sums.add(place, values[row])
        rows, columns = np.divmod(scored, width)
        bins, residuals = binning.bins_of(scores.scores.astype(np.float64))
        firsts = columns * _STRIDE + _FIRST + 6 * bins
        firsts[positive] += 3
        order = np.argsort(firsts)
        firsts, new = firsts[order], np.ones(len(order), np.bool_)
        new[1:] = firsts[1:] != firsts[:-1]
        starts = np.flatnonzero(new)
        moments, residuals = [np.array(values, object)[rows[order]]], residuals[order].astype(object)
        for _ in range(2):
            moments.append(moments[-1] * residuals)
        places = firsts[starts, None] + np.arange(3)
        totals = np.add.reduceat(np.stack(moments, axis=1), starts)
        sums.sums.update(zip(places.ravel().tolist(), totals.ravel().tolist(), strict=True))
        return sums

    def _moved(self, sums: dict[Place, int], columns: IntArray) -> dict[Place, int]:
        move = (_STRIDE * (columns - np.arange(len(columns)))).tolist()
        return {key if key < 0 else key + move[key // _STRIDE]: value for key, value in sums.items()}

    def _by_column(self, sums: dict[Place, int]) -> tuple[dict[int, int], int]:
        columns: dict[int, int] = {}
        for key, value in sums.items():
            column, what = divmod(key, _STRIDE)
            if column >= 0 and (what < _FIRST or (what - _FIRST) % 3 == 0):
                columns[column] = columns.get(column, 0) + value
        return columns, sums.get(_ALL, 0)

    @property
    def bins(self) -> Any:
        """The table (`streameval.kernel.curves.numpy.Bins`), with a column for every label."""
        self._reserve()
        return self.table

    def pooled(self, columns: IntArray) -> Read:
        """What the table reads, of the scores of several columns taken together."""
        bins = self.table
        if bins.scores > binning.SCORE_MAX:  # then there may be more than a bin of a table can count
            _, numbers, counts, _, words = self.bins.read(columns)
            distinct, which = np.unique(numbers, return_inverse=True)
            sums: Integers = np.zeros((len(distinct), 2, 3), object)
            np.add.at(sums, which, moments_of(counts, words))
            return np.array([0, len(distinct)]), distinct, *binning.read_of(sums)
        place = np.zeros(len(self.labels), np.int64)
        place[columns] = np.arange(len(columns))
        width, root = len(columns), backend.commit.Root()
        while True:  # four to one, so that no bin is visited more often than the logarithm of the columns
            fresh = backend.curves.Bins(root, -(-width // 4))
            root.commit([fresh.prepare_merge(bins, place // 4, 1)])
            bins, width = fresh, -(-width // 4)
            place = np.arange(width)
            if width <= 1:
                return bins.read(np.zeros(1, np.int64))

    def side_weights(self, columns: IntArray, scale: int) -> tuple[int, list[tuple[int, int]]]:
        """The weight sums of all examples, and of sides as in `CurveContent`."""
        sides = (column * _STRIDE + what for column in columns.tolist() for what in (_POSITIVE, _MASKED))
        weight, *sums = self._weights_at(0).each(chain([_ALL], sides), scale)
        return weight, list(zip(sums[::2], sums[1::2], strict=True))

    def bin_weights(self, columns: IntArray, offsets: IntArray, bins: IntArray, scale: int, count: int = 3) -> Integers:
        """The weight sums of bins as in `CurveBlock`, or the first ``count`` of each class."""
        firsts = np.repeat(columns * _STRIDE, np.diff(offsets)) + (_FIRST + 6 * bins)
        places = np.add.outer(firsts, np.add.outer((0, 3), np.arange(count)))
        return self._weights_at(0).read(places.ravel().tolist(), scale).reshape(places.shape)

    def _blocks(self, columns: IntArray, scale: int | None = None) -> Iterator[CurveBlock]:
        first, low = 0, 0
        while True:
            some = columns[first : first + BLOCK]
            offsets, bins, counts, _, words = self.bins.read(some, low, BLOCK)
            if len(bins):
                weigh = list if scale is None else partial(self.bin_weights, some, offsets, bins, scale)
                yield CurveBlock(first, offsets, bins, counts, words, weigh)
            if len(bins) < BLOCK:
                first, low = first + len(some), 0
                if first >= len(columns):
                    return
            else:
                first, low = first + int(np.searchsorted(offsets, BLOCK)) - 1, int(bins[-1]) + 1

    def content(self) -> CurveContent:
        scale, columns = self.canonical_scale(), self.columns()
        weight, sides = (0, []) if scale is None else self.side_weights(columns, scale)
        stored = *self._head(columns, scale), self.bins.sides(columns), weight, sides
        return CurveContent(*stored, partial(self._blocks, columns, scale))

    def _fill(self, content: CurveContent) -> None:
        self.table.restore(content.examples, content.sides)

        def weights() -> Iterator[tuple[Place, int]]:
            yield _ALL, content.weight
            for column, sides in enumerate(content.side_weights):
                yield from ((column * _STRIDE + what, value) for what, value in enumerate(sides))
            for block in content.blocks():
                self.table.restore_bins(*block[:-1])
                if content.scale is not None:
                    owners = block.first + np.repeat(np.arange(len(block.offsets) - 1), np.diff(block.offsets))
                    firsts = (owners * _STRIDE + _FIRST + 6 * block.bins).tolist()
                    for place, pair in zip(firsts, block.weigh(), strict=True):
                        yield from enumerate(chain.from_iterable(pair), place)

        self._fill_weights(content.scale, weights())


def moments_of(counts: IntArray, words: WordArray) -> Integers:
    """Of each bin and class the number of scores, the sum of their residuals and of the squares: shape (bins, 2, 3)."""
    low, high = words[:, :, ::2].astype(object), words[:, :, 1::2].astype(object)
    return np.concatenate([counts.astype(object)[:, :, None], low + (high << 64)], axis=2)


# -- what metrics read ------------------------------------------------------------------------------------------------

# Below this weight of all examples, products of two counts stay within int64, also doubled.
_SMALL = 2**30


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of several labels, one after the other; the first step of each has no score.

    A step is a bin; one in which each class has one score, but not the same, is two. So within a step all scores are
    equal, or nothing is known of their order.
    ``starts`` says where the steps of each label begin, and the end; ``bins`` (-1: no score) and ``residuals`` (-1:
    they differ) are those of the scores; ``neg`` and ``pos`` weigh negatives and positives, in units of the tables;
    ``mixed`` says whether the scores differ, so that nothing is known of their order.
    """

    starts: IntArray
    bins: IntArray
    residuals: IntArray
    neg: Integers
    pos: Integers
    mixed: Flags

    def before(self, part: Integers) -> Integers:
        """The sum over the lower steps of the same label."""
        sums = np.cumsum(part) - part
        return np.asarray(sums - np.repeat(sums[self.starts[:-1]], np.diff(self.starts)))

    def over(self, part: Integers) -> Integers:
        """The sum over the steps of each label."""
        return np.asarray(np.add.reduceat(part, self.starts[:-1]) if len(self.starts) > 1 else part[:0])

    def of(self, position: int) -> Path:
        """The steps of one label that weigh something, from the highest score down."""
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
        """The threshold that predicts exactly down to each step: its score, or the lower edge of its bin."""
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
        return self._state.pooled(self.columns)

    @cached_property
    def pairs(self) -> list[tuple[int, int, int, int]]:
        """For each label, if unweighted: negatives, positives, twice the pairs in order, and those in mixed bins."""
        counts, sums = self._state.bins.pairs(self.columns)
        rows = []
        sides = self._state.bins.sides(self.columns)[:, 1:]
        for (neg, pos), words, (unscored, masked) in zip(counts.tolist(), sums.tolist(), sides.tolist(), strict=True):
            rest = self.examples - masked - unscored - neg - pos  # negatives without a score
            ordered, mixed = (low + (high << 64) for low, high in words)
            rows.append((neg + rest, pos + unscored, ordered + rest * (2 * pos + unscored), mixed))
        return rows

    @cached_property
    def moments(self) -> Integers | None:
        """The weight sums of each bin of each label and each class, shape (bins, 2, 3); None if unweighted."""
        return None if self.scale is None else self._state.bin_weights(self.columns, *self.read[:2], self.scale)

    @cached_property
    def _weights(self) -> tuple[int, list[tuple[int, int]]]:
        return self._state.side_weights(self.columns, self.scale or 0)

    @cached_property
    def weight(self) -> int:
        return self.examples if self.scale is None else self._weights[0]

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
            positive, masked = np.array(self._weights[1], object).reshape(-1, 2).T
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
        return self._state.bin_weights(self.columns, *self.read[:2], self.scale, 1)[:, :, 0]


def _steps(
    offsets: IntArray, bins: IntArray, weights: Integers, common: IntArray, unscored: Sequence[Integers]
) -> Steps:
    """Steps from bins: those whose two classes are known apart become two, and one without a score goes in front."""
    neg, pos = weights[:, 0], weights[:, 1]
    first, second = common[:, 0], common[:, 1]  # reducing rows of two takes numpy many times as long
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
