"""Curves of binned scores, and what is read off at one of their points.

Thresholds between bins, and in bins whose scores are known, are exact. Inside a mixed bin a curve runs somewhere in the
rectangle between two exact points, and that bounds everything here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import Flags, FloatArray
from streameval.metrics.areas import Bounds, per_path
from streameval.metrics.interval import Interval
from streameval.metrics.spec import Average
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.states.curve_view import CurveTables, Path
from streameval.states.views import Integers

__all__ = [
    "PrecisionRecallCurve", "RocCurve", "equal_error_rate", "precision_at_recall", "precision_recall_curve",
    "recall_at_precision", "roc_curve", "sensitivity_at_specificity", "specificity_at_sensitivity",
]  # fmt: skip

_CLOSE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """Points of an ROC curve in the order of scikit-learn: falling thresholds, the first infinite.

    Attributes
    ----------
    fpr, tpr, thresholds
        At each threshold the shares of negatives and positives with a score at or above it. NaN without any.
        Minus infinity stands for examples without a score.
    mixed
        For each stretch between two points, whether it is only known to lie in the rectangle between them; otherwise
        it is a straight line.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    mixed: Flags

    def band(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """False positive rates (each twice where the curve is open), and the least and the most true positive rate."""
        return _staircase(self.fpr, self.mixed, self.tpr[:-1], self.tpr[1:], self.tpr, self.tpr)


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
    """Points of a precision-recall curve in the order of scikit-learn: rising thresholds, at last recall 0.

    Attributes
    ----------
    precision, recall
        At each threshold; the last point, precision 1 at recall 0, has no threshold. Recall is NaN without positives.
    thresholds
        One fewer. Minus infinity stands for examples without a score.
    mixed
        For each stretch between two points, whether it is only known to lie between ``least`` and ``most``.
    least, most
        For each stretch the least precision at its upper recall that could be met inside, and the most.
    """

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray
    mixed: Flags
    least: FloatArray
    most: FloatArray

    def band(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Recalls from 1 down to 0 (each twice where the curve is open), and the least and the most precision."""
        return _staircase(self.recall, self.mixed, self.least, self.most, self.precision, self.precision)


def _staircase(
    x: FloatArray, mixed: Flags, least: FloatArray, most: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The points of a curve, and inside every open stretch two more with its bounds."""
    after = np.repeat(np.flatnonzero(mixed) + 1, 2)
    ends = np.stack([x[:-1][mixed], x[1:][mixed]], axis=1).reshape(-1)
    bounds = (np.repeat(part[mixed], 2) for part in (least, most))
    below, above = bounds
    return np.insert(x, after, ends), np.insert(low, after, below), np.insert(high, after, above)


def path_of(tables: CurveTables, label: Label | None) -> Path:
    """The steps of one label, or of all together for None; steps without weight left out."""
    if label is None:
        return tables.pooled.of(0).trimmed()
    if label not in tables.labels:
        raise MetricError(f"label {quoted(label)} is not among the {tables.size} labels counted; give one of labels")
    return tables.steps.of(tables.labels.index(label)).trimmed()


def roc_curve(tables: CurveTables, label: Label | None = None) -> RocCurve:
    """The ROC curve of a label, or of all labels pooled (micro) for None."""
    path = path_of(tables, label)
    thresholds = np.concatenate([[np.inf], path.thresholds])
    open_ = path.mixed & np.asarray(path.neg > 0) & np.asarray(path.pos > 0)
    return RocCurve(shares(path.fp, path.fp[-1]), shares(path.tp, path.tp[-1]), thresholds, open_)


def precision_recall_curve(tables: CurveTables, label: Label | None = None) -> PrecisionRecallCurve:
    """The precision-recall curve of a label, or of all labels pooled (micro) for None."""
    path = path_of(tables, label)
    precision = shares(path.tp[1:], path.tp[1:] + path.fp[1:])
    least = shares(path.tp[:-1], path.tp[:-1] + path.fp[1:])
    most = shares(path.tp[1:], path.tp[1:] + path.fp[:-1])
    open_ = path.mixed & np.asarray(path.pos > 0) & np.asarray(path.fp[1:] > 0)
    recall = shares(path.tp, path.tp[-1])[::-1]
    points = np.concatenate([precision[::-1], [1.0]])
    return PrecisionRecallCurve(points, recall, path.thresholds[::-1], open_[::-1], least[::-1], most[::-1])


def shares(part: Integers, whole: Integers | int) -> FloatArray:
    """Correctly rounded ratios; NaN for 0/0."""
    wholes = np.broadcast_to(np.asarray(whole, object), np.shape(part)).tolist()
    pairs = zip(np.asarray(part, object).tolist(), wholes, strict=True)
    return np.array([hits / of if of else math.nan for hits, of in pairs], np.float64)


# -- one point --------------------------------------------------------------------------------------------------------

Allowed = Callable[[Integers, Integers], Integers]
Goal = Callable[[Integers, Integers], tuple[Integers, Integers]]


def recall_at_precision(
    tables: CurveTables, *, precision: float, average: Average = "macro", zero_division: float = 0.0
) -> Interval | dict[Label, Interval]:
    """Greatest recall among the thresholds whose precision is at least ``precision``; 0 if none is.

    Undefined without positives. Averaged per label, each with its own threshold, or pooled (micro).
    """
    share = _share("precision", precision)

    def part(path: Path) -> Bounds | None:
        whole = int(path.tp[-1])
        return _best(
            path,
            lambda tp, fp: tp * share.denominator >= share.numerator * (tp + fp),
            lambda tp, _: (tp, tp * 0 + whole),
        )

    return per_path(tables, part, average, zero_division)


def precision_at_recall(
    tables: CurveTables, *, recall: float, average: Average = "macro", zero_division: float = 0.0
) -> Interval | dict[Label, Interval]:
    """Greatest precision among the thresholds whose recall is at least ``recall``. Undefined without positives."""
    share = _share("recall", recall)

    def part(path: Path) -> Bounds | None:
        needed = share * int(path.tp[-1])
        return _best(path, lambda tp, _: tp >= needed, lambda tp, fp: (tp, tp + fp)) if path.tp[-1] else None

    return per_path(tables, part, average, zero_division)


def sensitivity_at_specificity(
    tables: CurveTables, *, specificity: float, average: Average = "macro", zero_division: float = 0.0
) -> Interval | dict[Label, Interval]:
    """Greatest recall among the thresholds whose specificity is at least ``specificity``.

    Undefined without positives or without negatives.
    """
    share = _share("specificity", specificity)

    def part(path: Path) -> Bounds | None:
        pos, neg = int(path.tp[-1]), int(path.fp[-1])
        allowed = (1 - share) * neg
        return _best(path, lambda _, fp: fp <= allowed, lambda tp, _: (tp, tp * 0 + pos)) if neg else None

    return per_path(tables, part, average, zero_division)


def specificity_at_sensitivity(
    tables: CurveTables, *, sensitivity: float, average: Average = "macro", zero_division: float = 0.0
) -> Interval | dict[Label, Interval]:
    """Greatest specificity among the thresholds whose recall is at least ``sensitivity``.

    Undefined without positives or without negatives.
    """
    share = _share("sensitivity", sensitivity)

    def part(path: Path) -> Bounds | None:
        pos, neg = int(path.tp[-1]), int(path.fp[-1])
        needed = share * pos
        return _best(path, lambda tp, _: tp >= needed, lambda _, fp: (neg - fp, fp * 0 + neg)) if pos else None

    return per_path(tables, part, average, zero_division)


def _share(name: str, value: float) -> Fraction:
    if not 0 <= value <= 1:
        raise MetricError(f"{name} must be in [0, 1], not {quoted(value)}")
    return Fraction(value)


def _best(path: Path, allowed: Allowed, goal: Goal) -> Bounds | None:
    """The greatest goal among allowed points: at least that of the exact points, at most that with the corners.

    The corner of a mixed bin has all its positives and none of its negatives; no order of its scores does better, and
    all goals and conditions here grow with positives and fall with negatives.
    """
    tp, fp = path.tp.astype(object), path.fp.astype(object)
    low = _greatest(tp, fp, allowed, goal)
    corner = _greatest(tp[1:][path.mixed], fp[:-1][path.mixed], allowed, goal)
    if low is None:
        return None
    high = low if corner is None else max(low, corner)
    return Bounds(low, low, high, low == high)


def _greatest(tp: Integers, fp: Integers, allowed: Allowed, goal: Goal) -> Fraction | None:
    num, den = goal(tp, fp)
    kept = np.asarray(allowed(tp, fp), np.bool_) & np.asarray(den > 0, np.bool_)
    if not kept.any():
        return None
    num, den = num[kept], den[kept]
    rough = np.asarray(num / den, np.float64)
    near = np.flatnonzero(rough >= rough.max() - _CLOSE)
    # Of equal ratios one is enough; those that are close are compared exactly.
    pairs = set(zip(num[near].tolist(), den[near].tolist(), strict=True))
    return max(Fraction(n, d) for n, d in pairs)


def equal_error_rate(
    tables: CurveTables, *, average: Average = "macro", zero_division: float = math.nan
) -> Interval | dict[Label, Interval]:
    """Where the ROC curve has as many false positives as false negatives, in shares of the negatives and positives.

    fpr = 1 - tpr, in [0, 1], lower is better. On a straight stretch the point between its ends; in a mixed bin anywhere
    its rectangle allows. Undefined without positives or without negatives.
    """
    return per_path(tables, _equal_error, average, zero_division)


def _equal_error(path: Path) -> Bounds | None:
    pos, neg = int(path.tp[-1]), int(path.fp[-1])
    if not pos or not neg:
        return None
    # fpr + tpr - 1 times both counts, which grows from point to point
    lead = path.fp.astype(object) * pos + path.tp.astype(object) * neg - pos * neg
    after = int(np.searchsorted(lead, 0, "left"))  # the first point at or beyond
    if lead[after] == 0:
        return Bounds.certain(Fraction(int(path.fp[after]), neg))
    fp0, fp1 = Fraction(int(path.fp[after - 1]), neg), Fraction(int(path.fp[after]), neg)
    fn0, fn1 = 1 - Fraction(int(path.tp[after - 1]), pos), 1 - Fraction(int(path.tp[after]), pos)
    along = Fraction(int(-lead[after - 1]), int(lead[after] - lead[after - 1]))
    value = fp0 + along * (fp1 - fp0)
    if not path.mixed[after - 1]:
        return Bounds.certain(value)
    low, high = max(fp0, fn1), min(fp1, fn0)
    return Bounds(low, value, high, low == high)
