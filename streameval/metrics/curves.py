"""Curves of binned scores, and what is read off at one of their points.

Thresholds between bins, and in bins whose scores are known, are exact. Inside a mixed bin a curve runs somewhere in the
rectangle between two exact points, which gives the bounds of every metric in this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import Flags, FloatArray
from streameval.metrics.areas import Bounds, by_path, curve
from streameval.metrics.spec import Parameter
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.states.curve_view import CurveTables, Path
from streameval.states.views import Integers

__all__ = ["PrecisionRecallCurve", "RocCurve", "precision_recall_curve", "roc_curve"]

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
    wholes = np.broadcast_to(np.asarray(whole), np.shape(part))
    if part.dtype == wholes.dtype == np.int64 and int(np.max(wholes, initial=0)) < 2**53:  # one division rounds once
        return np.where(wholes > 0, part / np.maximum(wholes, 1), math.nan)
    pairs = zip(part.tolist(), wholes.tolist(), strict=True)
    return np.array([hits / of if of else math.nan for hits, of in pairs], np.float64)


# -- one point --------------------------------------------------------------------------------------------------------

Allowed = Callable[[Integers, Integers], Integers]
Goal = Callable[[Integers, Integers], tuple[Integers, Integers]]


_at = partial(curve, certify=by_path)


def _share(name: str) -> tuple[Parameter]:
    return (Parameter(name, 0.5, 0.0, 1.0),)


@_at(
    "recall_at_precision", "RecallAtPrecision", "Greatest recall of the thresholds with at least this precision.",
    "max tp / (tp + fn), tp / (tp + fp) >= precision", "torchmetrics, recall at fixed precision",
    parameters=_share("precision"), aliases=("recall_at_fixed_precision",),
)  # fmt: skip
def recall_at_precision(path: Path, precision: float) -> Bounds | None:
    """0 if no threshold has this precision. Undefined without positives. Each label has its own threshold."""
    share, whole = Fraction(precision), int(path.tp[-1])
    return _best(
        path,
        lambda tp, fp: tp * share.denominator >= share.numerator * (tp + fp),
        lambda tp, _: (tp, tp * 0 + whole),
    )


@_at(
    "precision_at_recall", "PrecisionAtRecall", "Greatest precision of the thresholds with at least this recall.",
    "max tp / (tp + fp), tp / (tp + fn) >= recall", "torchmetrics, precision at fixed recall",
    parameters=_share("recall"), aliases=("precision_at_fixed_recall",),
)  # fmt: skip
def precision_at_recall(path: Path, recall: float) -> Bounds | None:
    """Undefined without positives. Each label has its own threshold."""
    needed = Fraction(recall) * int(path.tp[-1])
    return _best(path, lambda tp, _: tp >= needed, lambda tp, fp: (tp, tp + fp)) if path.tp[-1] else None


@_at(
    "sensitivity_at_specificity", "SensitivityAtSpecificity",
    "Greatest recall of the thresholds with at least this specificity.",
    "max tp / (tp + fn), tn / (tn + fp) >= specificity", "torchmetrics, sensitivity at specificity",
    parameters=_share("specificity"),
)  # fmt: skip
def sensitivity_at_specificity(path: Path, specificity: float) -> Bounds | None:
    """Undefined without positives or without negatives. Each label has its own threshold."""
    pos, neg = int(path.tp[-1]), int(path.fp[-1])
    allowed = (1 - Fraction(specificity)) * neg
    return _best(path, lambda _, fp: fp <= allowed, lambda tp, _: (tp, tp * 0 + pos)) if neg else None


@_at(
    "specificity_at_sensitivity", "SpecificityAtSensitivity",
    "Greatest specificity of the thresholds with at least this recall.",
    "max tn / (tn + fp), tp / (tp + fn) >= sensitivity", "torchmetrics, specificity at sensitivity",
    parameters=_share("sensitivity"),
)  # fmt: skip
def specificity_at_sensitivity(path: Path, sensitivity: float) -> Bounds | None:
    """Undefined without positives or without negatives. Each label has its own threshold."""
    pos, neg = int(path.tp[-1]), int(path.fp[-1])
    needed = Fraction(sensitivity) * pos
    return _best(path, lambda tp, _: tp >= needed, lambda _, fp: (neg - fp, fp * 0 + neg)) if pos else None


def _best(path: Path, allowed: Allowed, goal: Goal) -> Bounds | None:
    """The greatest goal among allowed points: at least that of the exact points, at most that with the corners.

    The corner of a mixed bin has all its positives and none of its negatives; no order of its scores does better, and
    all goals and conditions grow with positives and fall with negatives.
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
    usable = np.asarray(allowed(tp, fp), np.bool_) & np.asarray(den > 0, np.bool_)
    if not usable.any():
        return None
    num, den = num[usable], den[usable]
    rough = np.asarray(num / den, np.float64)
    near = np.flatnonzero(rough >= rough.max() - _CLOSE)
    # Of equal ratios one is enough; those that are close are compared exactly.
    pairs = set(zip(num[near].tolist(), den[near].tolist(), strict=True))
    return max(Fraction(n, d) for n, d in pairs)


@_at(
    "equal_error_rate", "EqualErrorRate", "Where the rates of false positives and false negatives are equal.",
    "fpr = fnr", "torchmetrics, EER", bigger_is_better=False, zero_division=math.nan, aliases=("eer",),
)  # fmt: skip
def equal_error_rate(path: Path) -> Bounds | None:
    """On a straight stretch of the ROC curve the point between its ends; in a mixed bin anywhere in its rectangle.

    Undefined without positives or without negatives.
    """
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
