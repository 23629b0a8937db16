"""What metrics of scores read: for each label, from the lowest score up, how many negatives and positives there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernel.curves import bins as binning
from streameval.kernel.types import Flags, FloatArray, IntArray
from streameval.schema.cached import cached_property
from streameval.states.curves import Curves, Read
from streameval.states.views import Arrays, Integers, View, total

# Below this many examples, products of two counts stay within int64, also doubled.
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
        """The steps of one label, from the highest score down."""
        start, stop = self.starts[position : position + 2].tolist()
        return Path(self.bins, self.residuals, self.neg, self.pos, self.mixed)[start:stop][::-1]


@dataclass(frozen=True)
class Path(Arrays):
    """The steps of one label from the highest score down: a path from no predictions to all of them."""

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

    def trimmed(self) -> Path:
        """Without steps that weigh nothing."""
        return self[np.asarray(self.neg + self.pos > 0, np.bool_)]

    @cached_property
    def thresholds(self) -> FloatArray:
        """The threshold that predicts exactly down to each step: its score, or the lower edge of its bin."""
        known = binning.scores_of(np.maximum(self.bins, 0), np.maximum(self.residuals, 0))
        edges = binning.edges_of(self.bins)
        return np.asarray(np.where(self.mixed | (self.bins < 0), edges, known))


class CurveTables(View[Curves]):
    """The scores of a state."""

    @cached_property
    def read(self) -> Read:
        """The bins of each label with their sums."""
        return self._state.bins.read(self.columns)  # type: ignore[no-any-return]

    @cached_property
    def pool(self) -> Read:
        """The bins of all labels together with their sums."""
        return self._state.pooled(self.columns)

    @cached_property
    def pairs(self) -> list[tuple[int, int, int, int, int]]:
        """For each label, if unweighted: negatives, positives, and twice the pairs in order: least, tied, most."""
        counts, sums = self._state.bins.pairs(self.columns)
        rows = []
        sides = self._state.bins.sides(self.columns)[:, 1:]
        for (neg, pos), triple, (bare_pos, masked) in zip(counts.tolist(), sums.tolist(), sides.tolist(), strict=True):
            bare_neg = self.examples - masked - bare_pos - neg - pos
            more = bare_neg * (2 * pos + bare_pos)
            least, tied, most = (low + (high << 64) + more for low, high in triple)
            rows.append((neg + bare_neg, pos + bare_pos, least, tied, most))
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
        """The weight of all examples, in units."""
        return self.examples if self.scale is None else self._weights[0]

    @cached_property
    def steps(self) -> Steps:
        """The steps of each label."""
        offsets, bins, _, common, _ = self.read
        weights = self._plain.astype(object) if self.examples >= _SMALL else self._plain
        return _steps(offsets, bins, weights, common, *self._bare(offsets, weights))

    def _bare(self, offsets: IntArray, weights: Integers) -> tuple[Integers, Integers]:
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
        bare_neg, bare_pos = (total(part) for part in self._bare(self.read[0], self._plain))
        weights: Integers = counts
        if self.moments is not None:
            weights = np.zeros(counts.shape, object)
            np.add.at(weights, np.searchsorted(bins, self.read[1]), self._plain)
        elif self.examples * max(1, self.size) >= _SMALL:
            weights = counts.astype(object)
        kind = weights.dtype
        return _steps(offsets, bins, weights, common, np.array([bare_neg], kind), np.array([bare_pos], kind))

    @property
    def _plain(self) -> Integers:
        return self.read[2] if self.moments is None else self.moments[:, :, 0]


def _steps(
    offsets: IntArray, bins: IntArray, weights: Integers, common: IntArray, bare_neg: Integers, bare_pos: Integers
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
        np.insert(neg, start, bare_neg),
        np.insert(pos, start, bare_pos),
        np.insert(mixed, start, False),
    )
