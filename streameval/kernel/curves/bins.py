"""The bin of a score.

A bin is a fixed monotone function of the score, fine where scores live: near 0 and near 1. Of the magnitude that is
closest to 0 it keeps the exponent of the float64 and the upper 11 bits of the mantissa, so a bin spans a factor of at
most 1 + 2**-11::

    s < 0            |s|, counted downwards
    0 <= s < 0.5     s
    0.5 <= s <= 1    1 - s, which is exact, counted downwards
    s > 1            s

The residual of a score is what its bin drops: the lower 41 bits of the mantissa.
"""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import Flags, FloatArray, IntArray, Integers, ScoreArray, WordArray

DROPPED = 41
SCORE_MAX = 2**43 - 1
"""The most scores of one class of one label that a bin counts."""
_FINITE = 2047 << 11
_TO_HALF = 1022 << 11
_TO_ONE = 1023 << 11
BINS = 2 * _FINITE + 2 * _TO_HALF + 1 - _TO_ONE
"""Bins are numbered from 0 to below this."""

ALL = 2**62
"""Stands for a column in which each example has its weight."""
WHOLE, POSITIVE, MASKED = range(2**25, 2**25 + 3)
"""Places of a column beyond those of 2 * bin + class: what all places weigh together, and those without a score."""

_LOWER = (1 << DROPPED) - 1


def bins_of(scores: ScoreArray) -> tuple[IntArray, IntArray]:
    """The bin and the residual of each score."""
    wide = np.ascontiguousarray(scores, np.float64).reshape(-1)
    size = np.abs(wide)
    below, upper = wide < 0, (wide >= 0.5) & (wide <= 1)
    magnitude = np.where(upper, 1.0 - size, size).view(np.int64)
    code = magnitude >> DROPPED
    start = np.where(size > 1, _FINITE + 2 * _TO_HALF + 1 - _TO_ONE, _FINITE)
    start = np.where(upper, _FINITE + 2 * _TO_HALF + 1, start)
    start = np.where(below, _FINITE, start)
    return start + np.where(below | upper, ~code, code), magnitude & _LOWER


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
    edge = scores_of(inside, np.where(flipped_bins(inside), _LOWER, 0))
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


def read_of(moments: Integers) -> tuple[Integers, IntArray, WordArray]:
    """What `Bins.read` tells of the number of scores, and the sums of residuals and squares, shape (bins, 2, 3)."""
    counts, totals, squares = np.moveaxis(moments, 2, 0)
    equal = np.where(counts * squares == totals * totals, totals // np.maximum(counts, 1), -1)
    words = np.stack([moments[..., 1:] & (2**64 - 1), moments[..., 1:] >> 64], axis=-1).reshape(-1, 2, 4)
    return counts, np.where(counts > 0, equal, -2).astype(np.int64), words.astype(np.uint64)


def possible(n: int, total: int, squares: int) -> bool:
    """Whether there may be ``n`` residuals with these sums; all that later reading relies on is certain."""
    if n <= 0:
        return n == total == squares == 0
    if not (n <= SCORE_MAX and 0 <= total <= n * _LOWER and total % 2 == squares % 2):  # odd if its square is
        return False
    mean, rest = divmod(total, n)
    least = mean * total + rest * (mean + 1)
    return squares == least if n == 1 else least <= squares <= total * _LOWER
