"""How well scores are calibrated as probabilities: Brier score, log loss and reliability, over cells with a score."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from operator import mul
from typing import Literal, get_args

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.curves import bins as binned
from streameval.kernel.types import FloatArray, IntArray
from streameval.metrics.areas import Unrounded, by_part, curve
from streameval.metrics.curves import place_of, shares
from streameval.metrics.logarithms import UNIT, minus_log
from streameval.metrics.spec import Parameter, as_float
from streameval.schema.labels import Label
from streameval.schema.text import check_choice, check_number
from streameval.states.curves import CurveTables, moments_of
from streameval.states.views import Integers, total

__all__ = ["CalibrationCurve"]

Strategy = Literal["uniform", "quantile"]

_ZERO, _ONE = int(binned.bins_of(np.zeros(1))[0][0]), int(binned.bins_of(np.ones(1))[0][0])
_HALF = int(binned.bins_of(np.array([0.5]))[0][0])
_POSITIVE = np.array([False, True])
_MARGIN = Fraction(1, 2**45)  # covers the error of logarithms, a few units in the last place
_BELOW, _ABOVE = 1 - _MARGIN, 1 + _MARGIN
_TINY = 2.0**-500  # below it -log(1 - v) is v to the last bit, and v / 2 may be subnormal
_MOST_BUCKETS = 10**6
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first with 21 zero bits at the end
_MANY = 2**27  # scores in a bin; fewer, times squared heads, add up in int64 over the 4096 bins of one unit


class _Bins:
    """The bins of one label, or of all labels, as `Curves.read` returns them, with weights of negatives and positives.

    The magnitude of a score is its distance from 0, or from 1 where that is nearer (``upper``): ``head << 41 |
    residual`` in units of ``2**(exponent - 1075)``. Sums of magnitudes are in units of ``1 / one``. Fields are weights,
    sums of residuals and sums of their squares, each as integers of any size, or as 32-bit limbs, the lowest first.
    """

    def __init__(self, bins: IntArray, common: IntArray, fields: tuple[Integers, ...]) -> None:
        self.bins, self.common = bins, common
        self._weights, self._residuals, self._squares = fields
        self.upper = bins >= _HALF
        code = np.where(self.upper, _ONE - bins, bins - _ZERO)
        self._exponent = np.maximum(code >> 11, 1)  # subnormal numbers have the unit of the least normal numbers
        self._head = (code & 2047) + np.where(code > 2047, 2048, 0)
        self._least = int(self._exponent.min(initial=1022))
        self.weight, self.one = np.concatenate(self._weights).T, 1 << 1075 - self._least

    @property
    def whole(self) -> int:
        """The weight of all scores."""
        return int(self.weight.sum())

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest magnitude of each bin."""
        unit = np.ldexp(1.0, self._exponent - 1034)
        return (self._head * unit)[:, None], ((self._head + 1) * unit)[:, None]

    @property
    def means(self) -> FloatArray:
        """The mean magnitude of each class in each bin, correctly rounded; arbitrary for an empty class."""
        weight, whole, rest = np.maximum(self.weight, 1), 0, 0
        for limb in self._residuals[::-1]:
            rest = (rest << 32) + limb.T
            digit = rest // weight
            whole, rest = (whole << 32) + digit, rest - digit * weight
        mean = (self._head << binned.DROPPED)[:, None] + whole
        halves = 2 * mean + 1 + np.sign(2 * rest - weight)  # twice the mean, its fraction rounded unless it is 1/2
        return np.asarray(np.ldexp(np.rint(halves.astype(np.float64) / 2), self._exponent[:, None] - 1075))

    def sums(self, group: IntArray) -> Iterator[tuple[int, int, bool, int, int, int]]:
        """Rows of class, ``group``, side, weight and exact sums of first and second powers; keys may repeat."""
        unit = np.where(self.upper, -self._exponent, self._exponent)
        for side, of in enumerate(group.T):
            starts = np.flatnonzero(np.diff(of, prepend=of[:1]) | np.diff(unit, prepend=0))

            def added(field: Integers, by: IntArray | int = 1) -> Integers:
                limbs = np.add.reduceat(field[:, side] * by, starts, axis=1).astype(object)  # noqa: B023
                return reduce(lambda high, low: (high << 32) + low, limbs[::-1])

            first = (added(self._weights, self._head) << 41) + added(self._residuals)
            second = added(self._weights, self._head**2) << 82
            second += (added(self._residuals, self._head) << 42) + added(self._squares)
            shift = self._exponent[starts] - self._least
            columns = of[starts], self.upper[starts], added(self._weights), first << shift, second << 2 * shift
            for row in zip(*(part.tolist() for part in columns), strict=True):
                yield side, *row


def _each(tables: CurveTables, *, pooled: bool) -> Iterator[_Bins]:
    """The bins of each label, or one object of all labels; `MetricError` if scores are no probabilities."""
    offsets, bins, counts, common, words = tables.pool if pooled else tables.read
    if len(bins) and (int(bins.min()) < _ZERO or int(bins.max()) > _ONE):
        worst = binned.edges_of(np.array([int(bins.min()), int(bins.max())])).tolist()
        counted = f"scores from about {worst[0]:g} to {worst[1]:g} were counted"
        raise MetricError(f"this metric requires probabilities, but {counted}; map them to [0, 1] before updating")
    moments = tables.moments
    if moments is None:
        if (counts >= _MANY).any():
            moments = moments_of(counts, words)
    elif pooled:
        parts, moments = moments, np.zeros((*counts.shape, 3), object)
        np.add.at(moments, np.searchsorted(bins, tables.read[1]), parts)
    for start, stop in pairwise(offsets.tolist()):
        part = slice(start, stop)
        if moments is None:
            limbs = np.ascontiguousarray(np.asarray(words[part], "<u8").view("<u4").T, np.int64)
            fields = counts[part].T[None], *np.split(limbs, 2)
        else:
            fields = (*moments[part].T[:, None],)
        yield _Bins(bins[part], common[part], fields)


_by_bins = partial(by_part, _each, lambda bins: int(bins.weight[:, 1].sum()))


@curve(
    "brier_score", "Mean squared difference between score and truth.", "mean (score - truth)²",
    "Brier 1950, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1)",
    certify=_by_bins, bigger_is_better=False, aliases=("brier_score_loss",), reported=("micro",),
)  # fmt: skip
def brier_score(bins: _Bins) -> Unrounded | None:
    """Scores must be probabilities. Undefined without scores."""
    one, whole, squares = bins.one, bins.whole, 0
    for side, _, upper, weight, first, second in bins.sums(np.zeros((len(bins.bins), 2), np.int64)):
        far = upper != side  # magnitudes are measured from the wrong end: the difference is 1 - magnitude
        squares += second + (one * (one * weight - 2 * first) if far else 0)
    return Unrounded.certain(Fraction(squares, whole * one**2)) if whole else None


@curve(
    "log_loss", "Mean negative log-likelihood of the truth under the scores.",
    "-mean (truth log p + (1 - truth) log(1 - p))", "Good 1952, Rational decisions, JRSS B 14(1)", certify=_by_bins,
    parameters=(Parameter("eps", 2.0**-52, 0.0, 0.5), Parameter("cap", None, 0.0, math.inf, above=True)), high=math.inf,
    bigger_is_better=False, aliases=("cross_entropy",), reported=("micro",),
)  # fmt: skip
def log_loss(bins: _Bins, eps: float, cap: float | None) -> Unrounded | None:
    """Natural logarithm of probabilities clipped to [eps, 1 - eps]: scikit-learn's for float64; 0 clips nothing.

    No cell costs more than ``cap``, if any (MEKA caps at the logarithm of the number of labels, or of examples). The
    value takes the scores of a class in a bin at their mean, which is least (Jensen) where no cap comes between; the
    bound above adds the most their spread allows. Scores must be probabilities. Undefined without scores.
    """
    whole, limit = bins.whole, math.inf if cap is None else cap
    if not whole:
        return None
    near = bins.upper[:, None] == _POSITIVE  # the truth is the end from which magnitudes are measured

    def loss(magnitude: FloatArray) -> FloatArray:
        clipped = np.maximum(magnitude, eps)
        return np.where(near, _minus_log_rest(clipped), _minus_log(clipped))

    known = bins.common != -1
    least, most = bins.bounds
    cost, ends = loss(bins.means), (loss(least), loss(most))
    fewest, greatest = np.minimum(*ends), np.maximum(*ends)
    # The spread of scores in an interval is at most a quarter of its squared width, and the second derivative of the
    # logarithm is greatest where its argument is least. Where the loss is not convex, only its ends are sure.
    with np.errstate(divide="ignore"):
        gap = 0.125 * ((most - least) / np.where(near, 1.0 - most, least)) ** 2
    cut = ~known & ((least < eps) | (greatest > limit) | np.isinf(gap))
    bottom, top = np.where(cut, fewest, cost), np.where(cut, greatest, np.where(known, cost, cost + gap))
    settled = known | (most <= eps) | (fewest >= limit * _ABOVE)  # all scores in the bin have the same loss
    weighty = bins.weight > 0  # a weight of 0 counts no infinite loss
    weights = bins.weight[weighty]
    low, value, high = (_mean(np.minimum(part, limit)[weighty], weights) for part in (bottom, cost, top))
    if settled[weighty].all() and not math.isinf(low):
        clipped = np.maximum(bins.means, eps)[weighty]
        return _settled(clipped.tolist(), np.broadcast_to(near, cost.shape)[weighty].tolist(), weights.tolist(), limit)
    return Unrounded(low * _BELOW, value, high * _ABOVE, math.isinf(low))


def _settled(magnitudes: list[float], near: list[bool], weights: list[int], limit: float) -> Unrounded:
    """The mean loss of known scores, with so many digits that it is rounded only once, at the end."""
    cap, whole = int(Fraction(min(limit, sys.float_info.max)) * UNIT), sum(weights) * UNIT
    low, high = (
        Fraction(sum(weight * min(cost, cap) for cost, weight in zip(costs, weights, strict=True)), whole)
        for costs in zip(*map(minus_log, magnitudes, near), strict=True)
    )
    return Unrounded(low, low, high, True)


def _mean(losses: FloatArray, weights: Integers) -> Fraction | float:
    """The mean, off by a few units in the last place; exact if a part of it may be subnormal."""
    if np.isinf(losses).any():
        return math.inf
    whole = total(weights)
    parts = losses * shares(weights, whole)
    if ((parts > _TINY) | (losses == 0)).all():
        return Fraction(math.fsum(parts))
    return sum(map(mul, map(Fraction, losses.tolist()), weights.tolist()), Fraction(0)) / whole


def _minus_log(v: FloatArray) -> FloatArray:
    """-log v for 0 <= v <= 0.5, by basic arithmetic only, so that all machines agree on every bit."""
    mantissa, exponent = np.frexp(v)
    small = mantissa < 0.7071067811865476
    mantissa, exponent = np.where(small, 2 * mantissa, mantissa), exponent - small
    ratio = (mantissa - 1) / (mantissa + 1)
    with np.errstate(invalid="ignore"):
        log = exponent * _LN2_HIGH + (_twice_atanh(ratio, 13) + exponent * _LN2_LOW)
    return np.asarray(np.where(v > 0, -log, np.inf))


def _minus_log_rest(v: FloatArray) -> FloatArray:
    """-log(1 - v) for 0 <= v <= 0.5."""
    return np.asarray(np.where(v < _TINY, v, _twice_atanh(v / (2 - v), 20)))


def _twice_atanh(t: FloatArray, terms: int) -> FloatArray:
    square = t * t
    total = np.zeros_like(t)
    for power in range(terms, 0, -1):
        total = square * (total + 1.0 / (2 * power + 1))
    return 2 * t + 2 * t * total


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationCurve:
    """A reliability diagram: buckets of scores that are not empty, from the lowest up.

    Attributes
    ----------
    mean_score, frequency
        The mean score of each bucket, and the fraction of positives in it; they are equal if scores are calibrated.
    weight
        How many scores each holds (their weight).
    low, high
        The bounds of each bucket.
    moved
        The weight of scores that may belong to another bucket: those in a bin through which an edge runs.
        They are counted in the bucket of the lower end of their bin.
    """

    mean_score: FloatArray
    frequency: FloatArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
    moved: float


def calibration_curve(
    tables: CurveTables, label: Label | None = None, *, buckets: int = 15, strategy: Strategy = "uniform"
) -> CalibrationCurve:
    """The reliability diagram of a label, or of all labels pooled for None; quantiles are cut between bins.

    Source: Guo, Pleiss, Sun & Weinberger 2017, On calibration of modern neural networks, ICML.
    """
    source = tables if label is None else tables.only(place_of(tables, label))
    (bins,) = _each(source, pooled=label is None)
    order, sums, moved = _buckets(bins, buckets, strategy)
    weights, hits, scores = sums
    if strategy == "uniform":
        low, high = order / buckets, (order + 1) / buckets
    else:
        group, _ = _quantiles(bins, buckets)
        first, last = np.searchsorted(group, order, "left"), np.searchsorted(group, order, "right") - 1
        low, high = binned.edges_of(bins.bins[first]), binned.edges_of(bins.bins[last] + 1)
    sizes = np.array([as_float(weight * tables.unit) for weight in weights.tolist()])
    means = shares(scores, weights * bins.one)
    return CalibrationCurve(means, shares(hits, weights), sizes, low, high, as_float(moved * tables.unit))


@curve(
    "expected_calibration_error",
    "Mean absolute difference between mean score and frequency, over buckets of scores.",
    "sum of fraction of scores times |frequency - mean score|, over buckets",
    "Naeini, Cooper & Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning, AAAI",
    certify=_by_bins, bigger_is_better=False, aliases=("ece",), reported=("micro",), parameters=(
        Parameter("buckets", 15, 1, _MOST_BUCKETS, whole=True),
        Parameter("strategy", "uniform", choices=get_args(Strategy)),
    ),
)  # fmt: skip
def expected_calibration_error(bins: _Bins, buckets: int, strategy: Strategy) -> Unrounded | None:
    """The buckets are those of `Evaluator.calibration_curve`. Scores must be probabilities. Undefined without scores.

    Each score that may belong to another bucket moves the value by at most twice its fraction of the scores.
    """
    whole = bins.whole
    if not whole:
        return None
    _, (_, hits, scores), moved = _buckets(bins, buckets, strategy)
    value = Fraction(int(np.abs(hits * bins.one - scores).sum()), whole * bins.one)
    slack = Fraction(2 * moved, whole)
    return Unrounded(max(Fraction(0), value - slack), value, min(Fraction(1), value + slack), not moved)


def _buckets(bins: _Bins, buckets: int, strategy: Strategy) -> tuple[IntArray, Integers, int]:
    """Buckets in order; (weights, weights of positives, sums of scores) of them; and the weight that may move."""
    buckets = check_number("buckets", buckets, 1, _MOST_BUCKETS, MetricError)
    check_choice("strategy", strategy, get_args(Strategy), MetricError)
    inner = np.array([step / buckets for step in range(1, buckets)])
    if strategy == "quantile":
        lowest, highest = _quantiles(bins, buckets)
        common = np.where(bins.common == -2, bins.common.max(axis=1, keepdims=True), bins.common)  # -2: empty class
        alike = (common[:, 0] == common[:, 1]) & (common[:, 0] >= 0)
        group, moved = np.repeat(lowest[:, None], 2, axis=1), int(bins.weight[(lowest < highest) & ~alike].sum())
    else:
        known = binned.scores_of(bins.bins[:, None], np.maximum(bins.common, 0))
        group = np.searchsorted(inner, np.where(bins.common >= 0, known, binned.edges_of(bins.bins)[:, None]), "left")
        through = np.isin(bins.bins, binned.bins_of(inner)[0])
        moved = int(bins.weight[(bins.common == -1) & through[:, None]].sum())
    weights, hits, scores = sums = Counter[int](), Counter[int](), Counter[int]()
    for side, bucket, upper, weight, first, _ in bins.sums(group):
        if weight:
            weights[bucket] += weight
            hits[bucket] += weight * side
            scores[bucket] += weight * bins.one - first if upper else first
    order = sorted(weights)
    return np.array(order, np.int64), np.array([[part[bucket] for bucket in order] for part in sums], object), moved


def _quantiles(bins: _Bins, buckets: int) -> tuple[IntArray, IntArray]:
    """The buckets of the least and of the greatest score of each bin, for buckets of about equally many scores."""
    both = bins.weight.sum(axis=1).astype(object)
    ends, whole = np.cumsum(both), max(1, bins.whole)
    first, last = (ends - both) * buckets // whole, (ends * buckets - 1) // whole
    return np.asarray(first, np.int64), np.asarray(last, np.int64)
