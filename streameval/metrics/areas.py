"""Areas under curves of binned scores, with bounds that hold for every order and tie of scores in a mixed bin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from streameval.kernel.types import IntArray
from streameval.metrics.bounds import Bounds
from streameval.metrics.catalogue import Reading, metric
from streameval.metrics.spec import MetricSpec, Parameter
from streameval.schema.labels import Label
from streameval.states.curves import CurveTables, Path, Steps
from streameval.states.views import Integers

_DIGITS = 3
_UNIT = 1 << 32 * _DIGITS
_BLOCKS = 16  # parts of the positives of a mixed bin, by which their precision is bounded from below
_FEW, _SUMMED = 16, 256  # precisions of a label, and denominators of a mean, that are added exactly
_FINE = 256


curve = partial(metric, state="curves", averages=("micro", "macro", "weighted", None))
"""Enters a formula of curves into the catalogue."""

Certified: TypeAlias = Bounds | dict[Label, Bounds]


class Unrounded(NamedTuple):
    """`Bounds` before rounding: numbers over ``den``."""

    low: Fraction | float
    value: Fraction | float
    high: Fraction | float
    exact: bool
    den: int = 1

    @classmethod
    def certain(cls, value: Fraction | int) -> Unrounded:
        """A value that is known exactly."""
        return cls(Fraction(value), Fraction(value), Fraction(value), True)

    def rounded(self) -> Bounds:
        """The value as a float, with bounds that are rounded outwards."""
        least, value, most = (part if part == math.inf else Fraction(part) / self.den for part in self[:3])
        low, high = float(least), float(most)
        low = math.nextafter(low, -math.inf) if low > least else low
        high = math.nextafter(high, math.inf) if high < most else high
        return Bounds(low, high, float(value), self.exact and high <= math.nextafter(low, math.inf))


def averaged(
    tables: CurveTables, parts: Iterable[Unrounded | None], support: Iterable[int], spec: MetricSpec
) -> Certified:
    """The bounds of each label, or of their mean, weighted by ``support`` if chosen; a part that is None is 0/0."""
    instead = None if math.isnan(spec.zero_division) else Unrounded.certain(Fraction(spec.zero_division))
    known = [instead if part is None else part for part in parts]
    if spec.average is None:
        return {label: _rounded(part) for label, part in zip(tables.labels, known, strict=True)}
    defined = [(part, weight) for part, weight in zip(known, support, strict=True) if part is not None and weight]
    if spec.average != "weighted" or not defined:  # without any support, labels weigh the same, as for decisions
        defined = [(part, 1) for part in known if part is not None]
    if not defined:
        return _rounded(instead)
    low, value, high = (_mean(defined, side, up=side == 2) for side in range(3))
    return Unrounded(low, value, high, low == math.inf or all(part.exact for part, _ in defined)).rounded()


def _rounded(part: Unrounded | None) -> Bounds:
    return Bounds(math.nan, math.nan, math.nan, True) if part is None else part.rounded()


def _mean(parts: list[tuple[Unrounded, int]], side: int, *, up: bool) -> Fraction | float:
    """The mean; with many denominators, whose common one would be huge, it is rounded down or up in the 256th bit."""
    whole, sums = 0, dict[int, int]()
    for part, weight in parts:
        if (value := part[side]) == math.inf:
            return math.inf
        num, den = value.as_integer_ratio()
        den *= part.den
        sums[den] = sums.get(den, 0) + num * weight
        whole += weight
    if len(sums) <= _SUMMED:
        total, common = 0, 1
        for den, num in sums.items():
            total, common = total * den + num * common, common * den
        return Fraction(total, common * whole)  # reduced once, in a tenth of the time of adding fractions
    fine = _FINE + max(sums).bit_length()
    return Fraction(sum((num << fine) // den for den, num in sums.items()) + up * len(sums), whole << fine)


Part = TypeVar("Part")


def by_part(
    parts_of: Callable[..., Iterable[Part]], support: Callable[[Part], int], formula: Callable[..., Unrounded | None]
) -> Reading:
    """A reading that applies a formula, with the parameters of the metric, to each of ``parts_of`` a table."""

    def certify(tables: CurveTables, spec: MetricSpec) -> Certified:
        parts = list(parts_of(tables, pooled=spec.average == "micro"))
        values = [formula(part, **dict(spec.parameters)) for part in parts]
        return averaged(tables, values, map(support, parts), spec)

    return certify


def _paths(tables: CurveTables, *, pooled: bool) -> list[Path]:
    return [tables.pooled.of(0)] if pooled else [tables.steps.of(position) for position in range(tables.size)]


by_path = partial(by_part, _paths, lambda path: int(path.tp[-1]))
"""Makes a reading of a formula of one path of steps."""


@curve(
    "roc_auc", "Probability that a random positive scores higher than a random negative.",
    "(pairs in order + ties / 2) / (positives negatives)",
    "Hanley & McNeil 1982, The meaning and use of the area under a ROC curve, Radiology 143(1); McClish 1989",
    certify=lambda formula: formula, zero_division=math.nan,
    parameters=(Parameter("max_fpr", 1.0, 0.0, 1.0, above=True),), aliases=("auroc", "auc"),
    reported=("micro", "macro"),
)  # fmt: skip
def roc_auc(tables: CurveTables, spec: MetricSpec) -> Certified:
    """Undefined without positives or without negatives; such labels are left out of means unless chosen otherwise.

    scikit-learn then gives NaN for the mean. In a mixed bin between none and all pairs are in order. With ``max_fpr``
    below 1 the area up to this false positive rate, standardised so that chance is 0.5 (McClish 1989, Analyzing a
    portion of the ROC curve).
    """
    if spec.parameter("max_fpr") < 1:
        partial_area: Certified = by_path(_partial)(tables, spec)
        return partial_area
    rows = _pairs(tables.pooled) if spec.average == "micro" else tables.pairs
    return averaged(tables, [_area(*row) for row in rows], [row[1] for row in rows], spec)


def _area(neg: int, pos: int, ordered: int, mixed: int) -> Unrounded | None:
    den = 2 * neg * pos
    if not den:
        return None
    common = math.gcd(ordered, mixed, den)  # reduces all three numbers at once
    ordered, mixed = ordered // common, mixed // common
    return Unrounded(ordered, ordered + mixed, ordered + 2 * mixed, not mixed, den // common)


def _pairs(steps: Steps) -> list[tuple[int, int, int, int]]:
    """Negatives, positives, twice the pairs that are surely in order, and the pairs in mixed bins, of each label."""
    below = 2 * steps.before(steps.neg)
    mixed = steps.over(np.where(steps.mixed, steps.pos * steps.neg, 0))
    ordered = steps.over(steps.pos * (below + steps.neg)) - mixed
    columns = (steps.over(steps.neg), steps.over(steps.pos), ordered, mixed)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _partial(path: Path, max_fpr: float) -> Unrounded | None:
    """The area up to a false positive rate. In a mixed bin the curve stays inside the rectangle of its step."""
    whole_fp, whole_tp = int(path.fp[-1]), int(path.tp[-1])
    if not whole_fp or not whole_tp:
        return None
    limit = Fraction(max_fpr)
    stop = limit * whole_fp
    last = int(np.searchsorted(path.fp, math.ceil(stop), "left"))  # the first point at or beyond the limit
    fp, tp = np.array([*path.fp[:last].tolist(), stop], object), path.tp[: last + 1].astype(object)
    width, before, after, mixed = np.diff(fp), tp[:-1], tp[1:], path.mixed[:last]
    ends = after.copy()  # right ends of lines, the last of which is cut at the limit
    ends[-1] = before[-1] + Fraction(after[-1] - before[-1]) * width[-1] / int(path.neg[last - 1])
    twice = (width * (before + ends)).sum()
    fall, rise = (width * (ends - before))[mixed].sum(), (width * (2 * after - before - ends))[mixed].sum()
    least, most = limit * limit / 2, limit
    low, value, high = (
        (1 + (part / (2 * whole_fp * whole_tp) - least) / (most - least)) / 2
        for part in (twice - fall, twice, twice + rise)
    )
    return Unrounded(low, value, high, low == high)


@curve(
    "average_precision", "Mean, over positives, of the precision at their score.",
    "sum of steps of recall times precision", "Salton & McGill 1983, Introduction to modern information retrieval",
    certify=lambda formula: formula, aliases=("auprc", "pr_auc"), unclear=("map", "mean_average_precision"),
    reported=("micro", "macro"),
)  # fmt: skip
def average_precision(tables: CurveTables, spec: MetricSpec) -> Certified:
    """Scores that tie are predicted together, without interpolation: scikit-learn's. Undefined without positives."""
    steps = tables.pooled if spec.average == "micro" else tables.steps
    support = [int(value) for value in steps.over(steps.pos).tolist()]
    return averaged(tables, _precisions(steps, support, weighted=tables.weighted), support, spec)


def _precisions(steps: Steps, support: list[int], *, weighted: bool) -> list[Unrounded | None]:
    """The average precision of each label.

    Let TP and FP stand above a mixed bin of P positives and N negatives. However its scores are ordered and tied, the
    i-th positive from above is predicted together with t positives of the bin, i <= t <= P, and f negatives,
    0 <= f <= N, at a precision of (TP + t) / (TP + t + FP + f), which grows with t and falls with f. So it is at least
    (TP + i) / (TP + i + FP + N), when all negatives come first and no positives tie, and at most
    (TP + P) / (TP + P + FP), when all positives tie in front.
    """
    owner = np.repeat(np.arange(len(support)), np.diff(steps.starts))
    tp = np.array(support, steps.pos.dtype)[owner] - steps.before(steps.pos)
    fp = np.repeat(steps.over(steps.neg), np.diff(steps.starts)) - steps.before(steps.neg)
    has_positives = steps.pos > 0
    open_ = has_positives & steps.mixed & (fp > 0)
    sure = has_positives & ~open_
    count = len(support)
    nums, dens, place = steps.pos[sure] * tp[sure], (tp + fp)[sure], owner[sure]
    certain, certain_up = _sums(nums, dens, place, count), _sums(-nums, dens, place, count)
    starts = np.searchsorted(place, np.arange(count + 1))
    pos, top, fall, place = steps.pos[open_], tp[open_], fp[open_], owner[open_]
    tied = _sums(pos * top, top + fall, place, count)
    above = _sums(-pos * top, top + fall - steps.neg[open_], place, count)  # rounded up
    num, den = _worst(pos, top, fall, weighted=weighted)
    least = _sums(num.ravel(), den.ravel(), np.repeat(place, num.shape[1]), count)
    exact = np.bincount(place, minlength=count) == 0
    few = exact & (np.diff(starts) <= _FEW)  # added exactly, because a mean of rounded sums may miss an exact float64
    parts: list[Unrounded | None] = []
    for label, whole in enumerate(support):
        if not whole:
            parts.append(None)
        elif few[label]:
            of = slice(*starts[label : label + 2])
            terms = map(Fraction, nums[of].tolist(), dens[of].tolist())
            parts.append(Unrounded.certain(sum(terms, Fraction(0)) / whole))
        else:
            sums = certain[label] + least[label], certain[label] + tied[label], -certain_up[label] - above[label]
            low, value, high = (Fraction(part, whole * _UNIT) for part in sums)
            parts.append(Unrounded(low, value, high, bool(exact[label])))
    return parts


def _worst(pos: Integers, tp: Integers, fp: Integers, *, weighted: bool) -> tuple[Integers, Integers]:
    """Terms (numerators and denominators) whose sum is at most the sum of precisions if all negatives come first.

    f(t) = t / (t + F) is concave, so over a block of counts it lies above the chord, and a sum of f over whole numbers
    is at least their number times the mean of its first and last value. Blocks of one positive lose nothing. Weighted
    positives come in unknown portions: then the sum is at least the integral of f, and that at least the trapezium.
    """
    block = np.arange(_BLOCKS + 1)
    edges = (tp - pos)[:, None] + pos[:, None] * block // _BLOCKS
    if weighted:  # trapeziums share their edges
        size, points = edges[:, np.minimum(block + 1, _BLOCKS)] - edges[:, np.maximum(block - 1, 0)], edges
    else:
        size = np.tile(np.diff(edges), 2)
        points = np.concatenate([edges[:, :-1] + np.minimum(size[:, :_BLOCKS], 1), edges[:, 1:]], axis=1)
    return size * points, 2 * (points + fp[:, None])


def _sums(num: Integers, den: Integers, owner: IntArray, count: int) -> list[int]:
    """Sums of ratios by owner in units of 2**-96, each term rounded down."""
    bounds = np.searchsorted(owner, np.arange(count + 1))

    def by_owner(part: Integers) -> list[int]:
        return list(np.diff(np.insert(np.cumsum(part), 0, 0)[bounds]).tolist())

    if den.dtype == object:
        return by_owner(num * _UNIT // den)
    totals = [0] * count
    for _ in range(_DIGITS + 1):  # int64 denominators are below 2**31, so that a digit of 32 bits fits
        digit = num // den
        num = num - digit * den << 32
        totals = [(total << 32) + more for total, more in zip(totals, by_owner(digit), strict=True)]
    return totals
