"""The bin of a score, and back; for the numpy twin, the states and metrics of curves, and their bytes.

A bin is a fixed monotone function of the score, finest near 0 and near 1, where most scores lie. It keeps the exponent
and the upper 11 bits of the mantissa of a magnitude, so that a bin spans a factor of at most 1 + 2**-11::

    score            magnitude
    s < 0            |s|, whose bins are numbered downwards
    0 <= s < 0.5     s
    0.5 <= s <= 1    1 - s, which is exact, and whose bins are numbered downwards
    s > 1            s

The residual of a score is the lower 41 bits of the magnitude's mantissa, which its bin drops.
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
"""Bins are numbered from 0 to BINS - 1."""

ALL = 2**62
"""The number of an additional column, in which each example counts with its weight."""
WHOLE, POSITIVE, MASKED = range(2**25, 2**25 + 3)
"""Places of a column beyond 2 * bin + class: the sum over its places; positives without a score; masked truths."""

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
    """The scores with these bins and residuals; from 0.5 to 1, where not all residuals occur, the nearest float64."""
    low, upper = bins < _FINITE, (bins >= _FINITE + _TO_HALF) & (bins <= _FINITE + 2 * _TO_HALF)
    code = np.where(bins > _FINITE + 2 * _TO_HALF, bins - (_FINITE + 2 * _TO_HALF + 1 - _TO_ONE), bins - _FINITE)
    code = np.where(upper, _FINITE + 2 * _TO_HALF - bins, np.where(low, _FINITE - 1 - bins, code))
    size = ((code << DROPPED) | residuals).view(np.float64)
    return np.asarray(np.where(upper, 1.0 - size, np.where(low, -size, size)))


def edges_of(bins: IntArray) -> FloatArray:
    """The least score whose bin is not below each of these bins; minus infinity for bin -1."""
    inside = np.maximum(bins, 0)
    edge = scores_of(inside, np.where(flipped_bins(inside), _LOWER, 0))
    edge = np.where(inside == _FINITE + _TO_HALF, 0.5, edge)  # the other residuals of this bin belong below 0.5
    with np.errstate(over="ignore"):
        for _ in range(2):  # near 1 a bin has fewer scores than residuals: step to its first score
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
    """The last three results of `Bins.read`, from counts and sums of residuals and squares, shape (bins, 2, 3)."""
    counts, totals, squares = np.moveaxis(moments, 2, 0)
    equal = np.where(counts * squares == totals * totals, totals // np.maximum(counts, 1), -1)
    words = np.stack([moments[..., 1:] & (2**64 - 1), moments[..., 1:] >> 64], axis=-1).reshape(-1, 2, 4)
    return counts, np.where(counts > 0, equal, -2).astype(np.int64), words.astype(np.uint64)


def possible(n: int, total: int, squares: int) -> bool:
    """Whether ``n`` residuals may have these sums; it checks all that readers rely on, not every impossible sum."""
    if n <= 0:
        return n == total == squares == 0
    if not (n <= SCORE_MAX and 0 <= total <= n * _LOWER and total % 2 == squares % 2):  # squares keep parity
        return False
    mean, rest = divmod(total, n)
    least = mean * total + rest * (mean + 1)
    return squares == least if n == 1 else least <= squares <= total * _LOWER
