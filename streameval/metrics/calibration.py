"""How far scores are probabilities: the Brier score, the log loss, and reliability.

All of it is about cells that have a score, which must lie between 0 and 1. Sums of scores and of their squares are
exact, since bins keep what they drop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.curves import bins as binned
from streameval.kernel.types import FloatArray, IntArray, WordArray
from streameval.metrics.areas import Bounds, Certified, averaged, curve
from streameval.metrics.catalogue import Reading
from streameval.metrics.curves import shares
from streameval.metrics.interval import Interval
from streameval.metrics.spec import Average, MetricSpec, Parameter
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.states.curve_view import CurveTables
from streameval.states.curves import Moments
from streameval.states.views import Integers

__all__ = ["Reliability", "reliability"]

Strategy = Literal["uniform", "quantile"]

_Losses = tuple[float, float, float, bool]
_ZERO, _ONE = int(binned.bins_of(np.zeros(1))[0][0]), int(binned.bins_of(np.ones(1))[0][0])
_HALF = int(binned.bins_of(np.array([0.5]))[0][0])
_LOW32, _LOW22 = np.uint64(2**32 - 1), 2**22 - 1
_FINEST = 1074
_MARGIN = 2.0**-45  # of the logarithms, each off by a few units in the last place
_TINY = 2.0**-500  # below it -log(1 - v) is v to the last bit, and v / 2 may not be a float
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # the first with 21 zero bits at the end


class _Bins(NamedTuple):
    """The bins of one label, or of all: what `Curves.read` tells, and the weight sums if there are any."""

    bins: IntArray
    counts: IntArray
    common: IntArray
    words: WordArray
    moments: list[tuple[Moments, Moments]] | None

    def weights(self, part: int) -> Integers:
        """The weight of each bin in one class."""
        if self.moments is None:
            return np.asarray(self.counts[:, part])
        return np.array([pair[part][0] for pair in self.moments], object)


def _each(tables: CurveTables, average: Average) -> Iterator[_Bins]:
    """The bins of each label, or once those of all together; scores must be probabilities."""
    pooled = average == "micro"
    offsets, bins, counts, common, words = tables.pool if pooled else tables.read
    assert words is not None  # noqa: S101  # sums were asked for
    if len(bins) and (int(bins.min()) < _ZERO or int(bins.max()) > _ONE):
        worst = binned.edges_of(np.array([int(bins.min()), int(bins.max())])).tolist()
        raise MetricError(
            f"this needs probabilities, but scores from about {worst[0]:g} to {worst[1]:g} were counted; "
            "map them to [0, 1] before updating"
        )
    moments = tables.moments
    if pooled and moments is not None:
        sums: dict[int, list[list[int]]] = {}
        for bin_, pair in zip(tables.read[1].tolist(), moments, strict=True):
            held = sums.setdefault(bin_, [[0, 0, 0], [0, 0, 0]])
            for part in range(2):
                held[part] = [a + b for a, b in zip(held[part], pair[part], strict=True)]
        moments = [(_three(sums[bin_][0]), _three(sums[bin_][1])) for bin_ in bins.tolist()]
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        of = slice(start, stop)
        yield _Bins(bins[of], counts[of], common[of], words[of], None if moments is None else moments[of])


def _three(values: list[int]) -> Moments:
    return values[0], values[1], values[2]


def _by_bins(formula: Callable[..., Bounds | None]) -> Reading:
    """A formula of the bins of one label, with the parameters of a metric: of every label, averaged, or of the pool."""

    def certify(tables: CurveTables, spec: MetricSpec) -> Certified:
        held = list(_each(tables, spec.average))
        parts = [formula(part, **dict(spec.parameters)) for part in held]
        if spec.average == "micro":
            return averaged(("",), parts, None, "macro", spec.zero_division)
        support = [int(part.weights(1).sum()) for part in held] if spec.average == "weighted" else None
        return averaged(tables.labels, parts, support, spec.average, spec.zero_division)

    return certify


# -- exact sums -------------------------------------------------------------------------------------------------------


def _magnitudes(bins: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Whether a bin counts down from 1; the upper 12 bits of its magnitudes; and k: these are in units of 2**(41-k)."""
    upper = bins >= _HALF
    code = np.where(upper, _ONE - bins, bins - _ZERO)
    exponent = code >> 11
    return upper.astype(np.int64), (code & 2047) + np.where(exponent > 0, 2048, 0), 1075 - np.maximum(exponent, 1)


def _sums(held: _Bins, part: int, group: IntArray) -> Iterator[tuple[int, bool, int, int, int, int]]:
    """Group, side, k, and for the scores of a class with these: weight, sum of magnitudes, sum of their squares.

    Magnitudes are in units of 2**-k, and measured from 1 on the upper side.
    """
    upper, head, k = _magnitudes(held.bins)
    if held.moments is not None:
        for at, (pair, high, k_) in enumerate(zip(held.moments, head.tolist(), k.tolist(), strict=True)):
            n, x, squares = pair[part]
            base = high << binned.DROPPED
            yield int(group[at]), bool(upper[at]), k_, n, n * base + x, n * base * base + 2 * base * x + squares
        return
    if not len(held.bins):
        return
    key = np.stack([group, upper, k])
    starts = np.flatnonzero(np.concatenate([[True], (key[:, 1:] != key[:, :-1]).any(axis=0)]))

    def sums(*parts: tuple[IntArray | WordArray, int]) -> list[int]:
        """Sums of at most 2048 limbs, each with its weight."""
        columns = [[value << shift for value in np.add.reduceat(limb, starts).tolist()] for limb, shift in parts]
        return [sum(column) for column in zip(*columns, strict=True)]

    few, many = held.counts[:, part] & _LOW22, held.counts[:, part] >> 22
    words = held.words[:, part]
    limbs = [limb for word in range(4) for limb in (words[:, word] & _LOW32, words[:, word] >> np.uint64(32))]
    head_ = head.astype(np.uint64)
    counts = sums((few, 0), (many, 22))
    first = sums((few * head, 41), (many * head, 63), *((limbs[i], 32 * i) for i in range(3)))
    second = sums(
        (few * head * head, 82), (many * head * head, 104), *((limbs[i] * head_, 42 + 32 * i) for i in range(3)),
        *((limbs[4 + i], 32 * i) for i in range(4)),
    )  # fmt: skip
    places = zip(group[starts].tolist(), upper[starts].tolist(), k[starts].tolist(), strict=True)
    for (group_, side, k_), times, total, squares in zip(places, counts, first, second, strict=True):
        yield group_, bool(side), k_, times, total, squares


@curve(
    "brier_score", "BrierScore", "Mean squared difference of score and truth, exact.", "mean (score - truth)²",
    "Brier 1950, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1)",
    certify=_by_bins, bigger_is_better=False, aliases=("brier_score_loss",), reported=("micro",),
)  # fmt: skip
def brier_score(held: _Bins) -> Bounds | None:
    """Scores must be probabilities. Undefined without scores."""
    whole = units = 0
    for part in range(2):
        for _, upper, k, n, total, squares in _sums(held, part, np.zeros(len(held.bins), np.int64)):
            if upper != bool(part):  # the truth is at the far end: the difference is 1 - magnitude
                squares += (n << 2 * k) - (total << k + 1)
            units += squares << 2 * (_FINEST - k)
            whole += n
    return Bounds.certain(Fraction(units, whole << 2 * _FINEST)) if whole else None


# -- log loss ---------------------------------------------------------------------------------------------------------


@curve(
    "log_loss", "LogLoss", "Mean negative logarithm of the probability assigned to the truth.",
    "-mean (truth log p + (1 - truth) log(1 - p))", "Good 1952, Rational decisions, JRSS B 14(1)",
    certify=lambda formula: formula,
    parameters=(Parameter("eps", 2.0**-52, 0.0, 0.5), Parameter("cap", None, 0.0, math.inf, above=True)),
    high=math.inf, bigger_is_better=False, aliases=("cross_entropy",), reported=("micro",),
)  # fmt: skip
def log_loss(tables: CurveTables, spec: MetricSpec) -> Certified:
    """Natural logarithm of probabilities clipped to [eps, 1 - eps]: scikit-learn's for float64; 0 clips nothing.

    No cell costs more than ``cap``, if any (MEKA caps at the logarithm of the number of labels, or of examples). The
    value takes the scores of a class in a bin at their mean, which is least (Jensen) where no cap comes between; the
    bound above adds the most their spread allows. Scores must be probabilities. Undefined without scores.
    """
    eps, cap, average = spec.parameter("eps"), spec.parameter("cap"), spec.average
    if eps == 0.5:
        raise MetricError("eps must be in [0, 0.5), not 0.5")
    parts, support = [], []
    for held in _each(tables, average):
        parts.append(_log_loss(held, eps, math.inf if cap is None else cap))
        support.append(int(held.weights(1).sum()))
    if any(part is not None and math.isinf(part[2]) for part in parts):
        return _infinite(tables, parts, support, spec)
    bounds = [None if part is None else _finite(part) for part in parts]
    if average == "micro":
        return averaged(("",), bounds, None, "macro", spec.zero_division)
    return averaged(tables.labels, bounds, support if average == "weighted" else None, average, spec.zero_division)


def _finite(part: _Losses) -> Bounds:
    low, value, high, exact = part
    return Bounds(Fraction(low), Fraction(value), Fraction(high), exact)


def _infinite(tables: CurveTables, parts: list[_Losses | None], support: list[int], spec: MetricSpec) -> Certified:
    """Some losses are infinite, or may be, and with them every mean in which they weigh."""
    average, undefined = spec.average, spec.zero_division
    every = [(undefined, undefined, undefined, True) if part is None else part for part in parts]
    if average in ("micro", None):
        each = [Interval(low, high, value, exact) for low, value, high, exact in every]
        return each[0] if average == "micro" else dict(zip(tables.labels, each, strict=True))
    weights = support if average == "weighted" and any(support) else [1] * len(every)
    weighed = [
        (part, weight) for part, weight in zip(every, weights, strict=True) if weight and not math.isnan(part[1])
    ]
    sides = []
    for side in range(3):
        terms = [(Fraction(part[side]), weight) for part, weight in weighed if math.isfinite(part[side])]
        whole = sum(weight for _, weight in weighed)
        sides.append(sum(part * weight for part, weight in terms) / whole if len(terms) == len(weighed) else math.inf)
    if math.isinf(sides[0]):
        return Interval(math.inf, math.inf, math.inf, True)
    low, value, high = (Fraction(side) if math.isfinite(side) else Fraction(0) for side in sides)
    bounds = Bounds(low, value, high, all(part[3] for part, _ in weighed)).rounded()
    ends = [
        math.inf if math.isinf(side) else end
        for side, end in zip(sides, (bounds.low, bounds.value, bounds.high), strict=True)
    ]
    return Interval(ends[0], ends[2], ends[1], bounds.exact)


def _log_loss(held: _Bins, eps: float, cap: float) -> _Losses | None:
    """The least loss, the value, the most, and whether all scores are known."""
    upper, head, k = _magnitudes(held.bins)
    unit = np.ldexp(1.0, 41 - k)
    least, most = head * unit, (head + 1) * unit
    whole, exact = 0, True
    terms: dict[str, list[float]] = {"low": [], "value": [], "high": []}
    for part in range(2):
        filled = np.flatnonzero(held.counts[:, part])
        weight = np.array([float(value) for value in held.weights(part)[filled].tolist()])
        whole += int(held.weights(part).sum())
        known = held.common[filled, part] >= 0
        low, high = least[filled], most[filled]
        mean = np.clip((head[filled] + _mean_residuals(held, part, filled) * 2.0**-41) * unit[filled], low, high)
        far = upper[filled] == part
        cost = np.where(far, _minus_log_rest(np.maximum(mean, eps)), _minus_log(np.maximum(mean, eps)))
        # The spread of scores in an interval is at most a quarter of its squared width, and the second derivative of
        # the logarithm is greatest where its argument is least.
        nearest = np.where(far, 1.0 - high, low)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(known, 0.0, 0.125 * ((high - low) / nearest) ** 2)
        ends = [np.maximum(end, eps) for end in (low, high)]
        losses = [np.where(far, _minus_log_rest(end), _minus_log(end)) for end in ends]
        fewest, greatest = np.minimum(*losses), np.maximum(*losses)
        capped = (high <= eps) | (fewest >= cap)  # all scores in the bin cost the same
        gap = np.where(capped, 0.0, gap)
        # Where the loss is not convex in the bin, only its ends are sure.
        cut = ~known & ~capped & ((low < eps) | (greatest > cap) | ~np.isfinite(gap))
        bottom = np.minimum(np.where(cut, fewest, cost), cap)
        top = np.minimum(np.where(cut, greatest, cost + gap), cap)
        exact = exact and bool((known | capped).all())
        for name, loss in (("low", bottom), ("value", np.clip(cost, bottom, top)), ("high", top)):
            terms[name] += (weight[weight > 0] * loss[weight > 0]).tolist()  # a weight of 0 counts no infinite loss
    if not whole:
        return None
    low_, value_, high_ = (math.fsum(terms[name]) / whole for name in ("low", "value", "high"))
    return low_ * (1 - _MARGIN), value_, high_ * (1 + _MARGIN), exact or math.isinf(low_)


def _mean_residuals(held: _Bins, part: int, filled: IntArray) -> FloatArray:
    """The mean residual of a class in some bins, weighted."""
    if held.moments is None:
        words = held.words[filled, part].astype(np.float64)
        return np.asarray((words[:, 0] + words[:, 1] * 2.0**64) / held.counts[filled, part])
    sums = (held.moments[at][part] for at in filled.tolist())
    return np.array([x / n if n else 0.0 for n, x, _ in sums], np.float64)


def _minus_log(v: FloatArray) -> FloatArray:
    """-log v for 0 <= v <= 0.5, in additions and products only, so that all machines agree on every bit."""
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


# -- reliability ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """A reliability diagram: buckets of scores that are not empty, from the lowest up.

    Attributes
    ----------
    mean_score, frequency
        The mean score of each bucket, and the fraction of positives in it; calibrated scores have them equal.
    weight
        How many scores each holds (their weight).
    low, high
        The bounds of each bucket.
    moved
        The weight of scores that may belong to the neighbouring bucket: those in a bin through which an edge runs.
        They are counted in the bucket of the lower end of their bin.
    """

    mean_score: FloatArray
    frequency: FloatArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
    moved: float


def reliability(
    tables: CurveTables, label: Label | None = None, *, buckets: int = 15, strategy: Strategy = "uniform"
) -> Reliability:
    """The reliability diagram of a label, or of all labels pooled for None.

    ``"uniform"`` buckets have equal widths, (0, 1/15], (1/15, 2/15] ...; ``"quantile"`` buckets hold about as many
    scores each, cut between bins.

    Source: Guo, Pleiss, Sun & Weinberger 2017, On calibration of modern neural networks, ICML.
    """
    if label is not None and label not in tables.labels:
        raise MetricError(f"label {quoted(label)} is not among the {tables.size} labels counted; give one of labels")
    parts = list(_each(tables, "micro" if label is None else None))
    held = parts[0 if label is None else tables.labels.index(label)]
    rows, moved = _buckets(held, buckets, strategy)
    unit, order = tables.unit, sorted(rows)
    weights = [rows[bucket][0] for bucket in order]
    means = [float(rows[bucket][2] / weight) for bucket, weight in zip(order, weights, strict=True)]
    frequency = shares(np.array([rows[bucket][1] for bucket in order], object), np.array(weights, object))
    sizes = np.array([float(weight * unit) for weight in weights])
    return Reliability(np.array(means), frequency, sizes, *_ends(held, order, buckets, strategy), float(moved * unit))


def _ends(held: _Bins, order: list[int], buckets: int, strategy: Strategy) -> tuple[FloatArray, FloatArray]:
    """The bounds of some buckets."""
    if strategy == "uniform":
        steps = np.array(order, np.float64)
        return steps / buckets, (steps + 1) / buckets
    group = _quantiles(held, buckets)
    first, last = np.searchsorted(group, order, "left"), np.searchsorted(group, order, "right") - 1
    above = np.minimum(held.bins[last] + 1, binned.BINS - 1)
    return binned.edges_of(held.bins[first]), binned.edges_of(above)


@curve(
    "expected_calibration_error", "ExpectedCalibrationError",
    "Mean gap between score and frequency over buckets of scores.", "sum of shares times |frequency - mean score|",
    "Naeini, Cooper & Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning, AAAI",
    certify=_by_bins,
    parameters=(
        Parameter("buckets", 15, 1, math.inf, whole=True),
        Parameter("strategy", "uniform", choices=("uniform", "quantile")),
    ),
    bigger_is_better=False, aliases=("ece",), reported=("micro",),
)  # fmt: skip
def expected_calibration_error(held: _Bins, buckets: int, strategy: Strategy) -> Bounds | None:
    """The buckets are those of `reliability`. Scores must be probabilities. Undefined without scores.

    Each score that may belong to the neighbouring bucket moves the value by at most twice its share.
    """
    rows, moved = _buckets(held, buckets, strategy)
    whole = sum(weight for weight, _, _ in rows.values())
    if not whole:
        return None
    value = sum((abs(hits - total) for _, hits, total in rows.values()), Fraction(0)) / whole
    slack = Fraction(2 * moved, whole)
    return Bounds(max(Fraction(0), value - slack), value, min(Fraction(1), value + slack), not moved)


def _buckets(held: _Bins, buckets: int, strategy: Strategy) -> tuple[dict[int, tuple[int, int, Fraction]], int]:
    """For each bucket its weight, that of its positives, and the sum of scores; and the weight of what may move."""
    if type(buckets) is not int or buckets < 1:
        raise MetricError(f"buckets must be an integer of at least 1, not {quoted(buckets)}")
    if strategy not in ("uniform", "quantile"):
        raise MetricError(f"strategy must be 'uniform' or 'quantile', not {quoted(strategy)}")
    inner = np.array([step / buckets for step in range(1, buckets)])
    through = np.isin(held.bins, binned.bins_of(inner)[0]) & (strategy == "uniform")
    rows: dict[int, tuple[int, int, Fraction]] = {}
    moved = 0
    if strategy == "quantile":
        quantile = _quantiles(held, buckets)
    for part in range(2):
        weights, common = held.weights(part), held.common[:, part]
        edges = binned.edges_of(held.bins)
        score = np.where(common >= 0, binned.scores_of(held.bins, np.maximum(common, 0)), edges)
        group = np.searchsorted(inner, score, "left") if strategy == "uniform" else quantile
        moved += int(np.where(through & (common == -1), weights, 0).sum())
        for bucket, upper, k, n, total, _ in _sums(held, part, group.astype(np.int64)):
            if not n:
                continue
            weight, hits, scores = rows.get(bucket, (0, 0, Fraction(0)))
            size = Fraction(total, 1 << k)
            rows[bucket] = (weight + n, hits + part * n, scores + (n - size if upper else size))
    return rows, moved


def _quantiles(held: _Bins, buckets: int) -> IntArray:
    """The bucket of each bin, if all are to hold about as many scores."""
    both = held.weights(0).astype(object) + held.weights(1).astype(object)
    before = np.cumsum(both) - both
    return np.asarray(before * buckets // max(1, int(both.sum())), np.int64)
