"""Curves of binned scores, the lines that pictures draw of them, and metrics that are read at one of their points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import Flags, FloatArray
from streameval.metrics.areas import Unrounded, by_path, curve
from streameval.metrics.catalogue import Formula, Reading
from streameval.metrics.spec import Parameter
from streameval.schema.labels import Label
from streameval.schema.text import number_of, quoted
from streameval.states.curves import CurveTables, Path
from streameval.states.views import Counts, Integers

__all__ = ["PrecisionRecallCurve", "RocCurve"]

CLOSE = 1e-9

Band: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Along the horizontal axis, the least and the most that a curve can be: x, low, high."""


def _summary(curve: RocCurve | PrecisionRecallCurve) -> str:
    return f"{type(curve).__name__}({number_of(len(curve.thresholds), 'threshold')})"


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """Points of an ROC curve in the order of scikit-learn: falling thresholds, the first infinite.

    Attributes
    ----------
    fpr, tpr, thresholds
        At each threshold the fractions of negatives and positives with a score at or above it. NaN without any.
        Minus infinity stands for examples without a score.
    mixed
        For each stretch between two points, whether it is only known to lie in the rectangle between them; otherwise
        it is a straight line.
    """

    fpr: FloatArray
    tpr: FloatArray
    thresholds: FloatArray
    mixed: Flags
    __repr__ = _summary  # short, because arrays would fill pages in a notebook

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.fpr, self.tpr, self.thresholds))  # as scikit-learn's function returns them

    def band(self) -> Band:
        """False positive rates (each twice where the curve is not exact), and bounds of the true positive rate."""
        return _staircase(self.fpr, self.tpr, self.mixed, self.tpr[:-1], self.tpr[1:])


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
        For each stretch the least precision at its upper recall that could occur inside, and the most.
    """

    precision: FloatArray
    recall: FloatArray
    thresholds: FloatArray
    mixed: Flags
    least: FloatArray
    most: FloatArray
    __repr__ = _summary

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.precision, self.recall, self.thresholds))

    def band(self) -> Band:
        """Recalls from 1 down to 0 (each twice where the curve is not exact), and bounds of the precision."""
        return _staircase(self.recall, self.precision, self.mixed, self.least, self.most)


def _staircase(x: FloatArray, y: FloatArray, mixed: Flags, least: FloatArray, most: FloatArray) -> Band:
    """The points of a curve, with two more in every stretch that is not exact, at its bounds."""
    after = np.repeat(np.flatnonzero(mixed) + 1, 2)
    ends = np.stack([x[:-1][mixed], x[1:][mixed]], axis=1).reshape(-1)
    below, above = (np.repeat(part[mixed], 2) for part in (least, most))
    return np.insert(x, after, ends), np.insert(y, after, below), np.insert(y, after, above)


def path_of(tables: CurveTables, label: Label | None) -> Path:
    """The steps of one label, or of all labels together for None; steps without weight are left out."""
    return tables.pooled.of(0) if label is None else tables.only(place_of(tables, label)).steps.of(0)


def place_of(tables: CurveTables, label: Any) -> int:
    """The position of a label, or `MetricError`."""
    if not isinstance(label, str | int | np.integer) or label not in tables.labels:
        raise MetricError(f"label {quoted(label)} is not among the labels counted, {quoted([*tables.labels], 300)}")
    return tables.labels.index(label)


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


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The points of a line, the threshold at each, and the bounds of the line if scores were binned."""

    x: FloatArray
    y: FloatArray
    thresholds: FloatArray
    band: Band | None


def curve_line(curve: RocCurve | PrecisionRecallCurve) -> Line:
    """True over false positive rate, or precision over recall; the precision at recall 0, a convention, is left out."""
    band = curve.band() if curve.mixed.any() else None
    if isinstance(curve, RocCurve):
        return Line(curve.fpr, curve.tpr, curve.thresholds, band)
    some = np.flatnonzero(curve.recall[:-1] > 0)
    some = np.append(some, some[-1:])
    x = curve.recall[some]
    x[-1:] = 0
    return Line(x, curve.precision[some], curve.thresholds[some], band)


def threshold_lines(curve: PrecisionRecallCurve, beta: float = 1.0) -> tuple[FloatArray, list[FloatArray]]:
    """Finite thresholds in order, and precision, recall and F-beta at each."""
    precision, recall = curve.precision[:-1], curve.recall[:-1]
    weighted = beta**2 * precision + recall
    f = (1 + beta**2) * precision * recall / np.where(weighted > 0, weighted, 1)
    order = np.argsort(curve.thresholds, kind="stable")
    order = order[np.isfinite(curve.thresholds[order])]
    return curve.thresholds[order], [side[order] for side in (precision, recall, f)]


Terms: TypeAlias = tuple[Integers, Integers, Flags]
"""Numerators and denominators of the ratio to maximise at each point, and whether the point is allowed."""


def greatest(num: Integers, den: Integers, allowed: Flags) -> tuple[int, Fraction] | None:
    """The position and the value of the first greatest ratio among those allowed; 0/0 is 0. None if none is allowed."""
    if not allowed.any():
        return None
    rough = np.where(allowed, rough_ratios(num, den), -np.inf)
    top = float(rough.max())
    best: dict[tuple[int, int], int] = {}  # close ratios are compared exactly, and equal ones once
    for at in np.flatnonzero(rough >= top - CLOSE * max(1.0, abs(top))).tolist():
        best.setdefault((num[at], den[at]), at)
    values = {at: Fraction(*pair) if pair[1] else Fraction(0) for pair, at in best.items()}
    at = max(values, key=values.__getitem__)
    return at, values[at]


def best_point(path: Path, terms: Callable[[Integers, Integers], Terms]) -> tuple[int, Fraction, Fraction] | None:
    """The best exact point, its value, and an upper bound of all points; ``terms`` grow with tp and fall with fp."""
    # A step without positives is never better than the point before it, and most steps of a rare label have none.
    some = np.flatnonzero(path.pos)
    mixed, points = some[path.mixed[some]], np.append(0, some + 1)
    if (exact := greatest(*terms(path.tp[points].astype(object), path.fp[points].astype(object)))) is None:
        return None
    # A corner has all positives of a mixed bin and none of its negatives: no order of the scores does better.
    corner = greatest(*terms(path.tp[mixed + 1].astype(object), path.fp[mixed].astype(object)))
    at, value = exact
    return int(points[at]), value, value if corner is None else max(value, corner[1])


def reaches(part: Integers, whole: Integers | int, least: float) -> Flags:
    """Whether ``part / whole``, rounded to a float64, is at least ``least``: 9 / 10 reaches 0.9, a float above 9/10."""
    half_way = (Fraction(least) + Fraction(math.nextafter(least, 0.0))) / 2
    return np.asarray(part * half_way.denominator >= whole * half_way.numerator, np.bool_)


def _both(c: Counts) -> Flags:
    """Whether there are positives and negatives."""
    return np.asarray((c.tp + c.fn > 0) & (c.tn + c.fp > 0), np.bool_)


def rough_ratios(num: Integers, den: Integers) -> FloatArray:
    """Ratios as floats, all divided by a power of 2 if one is too large for a float64; 0/0 is 0."""
    defined = np.asarray(den != 0, np.bool_)
    den = np.where(defined, den, 1)
    try:
        ratios = num / den
    except OverflowError:
        ratios = (num >> max(map(int.bit_length, map(int, num))) - 1000) / den
    return np.asarray(np.where(defined, ratios, 0), np.float64)


def _by_point(terms: Callable[[Counts, float], Terms]) -> Reading:
    """A reading of the greatest value of allowed points, which is undefined if no point is allowed."""

    def best(path: Path, **parameters: float) -> Unrounded | None:
        pos, neg = path.tp.astype(object)[-1], path.fp.astype(object)[-1]
        (least,) = parameters.values()
        point = best_point(path, lambda tp, fp: terms(Counts(tp, fp, pos - tp, pos + neg), least))
        return point and Unrounded(point[1], point[1], point[2], point[1] == point[2])

    return by_path(best)


def _at(name: str, *entry: str, least: str, **choices: Any) -> Callable[[Formula], Formula]:
    """Enters a metric that is the maximum of one fraction, on condition that another is at least ``least``."""
    return curve(name, *entry, certify=_by_point, parameters=(Parameter(least, 0.5, 0.0, 1.0),), **choices)


_at(
    "recall_at_precision", "Maximum recall at thresholds with at least this precision.",
    "max tp / (tp + fn), tp / (tp + fp) >= precision", "torchmetrics, recall at fixed precision", least="precision",
    aliases=("recall_at_fixed_precision",),
    notes="0 if no threshold has this precision. Undefined without positives. Each label has its own threshold.",
)(lambda c, least: (c.tp, c.tp + c.fn, reaches(c.tp, c.tp + c.fp, least) & (c.tp + c.fn > 0)))  # fmt: skip
_at(
    "precision_at_recall", "Maximum precision at thresholds with at least this recall.",
    "max tp / (tp + fp), tp / (tp + fn) >= recall", "torchmetrics, precision at fixed recall", least="recall",
    aliases=("precision_at_fixed_recall",), notes="Undefined without positives. Each label has its own threshold.",
)(lambda c, least: (c.tp, c.tp + c.fp, reaches(c.tp, c.tp + c.fn, least) & (c.tp > 0)))  # fmt: skip
_at(
    "sensitivity_at_specificity", "Maximum recall at thresholds with at least this specificity.",
    "max tp / (tp + fn), tn / (tn + fp) >= specificity", "torchmetrics, sensitivity at specificity",
    least="specificity", notes="Undefined without positives or without negatives. Each label has its own threshold.",
)(lambda c, least: (c.tp, c.tp + c.fn, reaches(c.tn, c.tn + c.fp, least) & _both(c)))  # fmt: skip
_at(
    "specificity_at_sensitivity", "Maximum specificity at thresholds with at least this recall.",
    "max tn / (tn + fp), tp / (tp + fn) >= sensitivity", "torchmetrics, specificity at sensitivity",
    least="sensitivity", notes="Undefined without positives or without negatives. Each label has its own threshold.",
)(lambda c, least: (c.tn, c.tn + c.fp, reaches(c.tp, c.tp + c.fn, least) & _both(c)))  # fmt: skip


@curve(
    "equal_error_rate", "Error rate at the threshold where false positive and false negative rates are equal.",
    "fpr = fnr", "torchmetrics, EER", certify=by_path, bigger_is_better=False, zero_division=math.nan, aliases=("eer",),
)  # fmt: skip
def equal_error_rate(path: Path) -> Unrounded | None:
    """On a straight stretch of the ROC curve the point between its ends; in a mixed bin anywhere in its rectangle.

    Undefined without positives or without negatives.
    """
    pos, neg = int(path.tp[-1]), int(path.fp[-1])
    if not pos or not neg:
        return None
    # fpr + tpr - 1 times both counts, which grows from point to point
    lead = path.fp.astype(object) * pos + path.tp.astype(object) * neg - pos * neg
    after = int(np.searchsorted(lead, 0, "left"))  # the first point at or beyond
    (fp0, fn0), (fp1, fn1) = (
        (Fraction(int(path.fp[at]), neg), 1 - Fraction(int(path.tp[at]), pos)) for at in (after - 1, after)
    )
    along = Fraction(int(-lead[after - 1]), int(lead[after] - lead[after - 1]))
    value = fp0 + along * (fp1 - fp0)
    if not path.mixed[after - 1]:
        return Unrounded.certain(value)
    low, high = max(fp0, fn1), min(fp1, fn0)
    return Unrounded(low, value, high, low == high)
