"""Thresholds that are chosen after counting; names as in Yang 2001, A study of thresholding strategies, SIGIR.

A choice falls where counts are exact: between bins, or inside a bin whose scores are known. Inside a mixed bin counts
are certain only between two bounds, and a choice says how much better a threshold there could be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from streameval.errors import InputError, MetricError
from streameval.inputs.forms import FRAMES, columns_of, form_of
from streameval.inputs.values import array_of, plain_array, reached
from streameval.kernel.curves import bins as binned
from streameval.kernel.types import Flags, FloatArray, IntArray, UInt8Array
from streameval.metrics.averaging import sum_of
from streameval.metrics.bounds import Choice, Choices
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.curves import Terms, best_point, greatest, path_of, reaches, rough_ratios
from streameval.metrics.spec import as_float
from streameval.schema.config import threshold_of
from streameval.schema.labels import ByLabel, Label
from streameval.schema.text import check_choice, check_number, number_of, quoted
from streameval.states.curves import CurveTables, Path
from streameval.states.views import Counts, Integers

__all__ = [
    "Choice", "Cost", "DecisionsAt", "FScore", "PrecisionAt", "RecallAt", "apply_thresholds", "rcut",
]  # fmt: skip


Thresholds: TypeAlias = "float | ByLabel | Mapping[Label, Choice] | Iterable[float]"


class Objective(Protocol):
    """What a threshold is chosen for: the greatest ``num / den`` (0/0 is 0) where ``allowed``."""

    def terms(self, tp: Integers, fp: Integers, pos: int) -> Terms:
        """Numerators, denominators and what is allowed. Growing with tp, falling with fp."""


@dataclass(frozen=True, slots=True)
class FScore:
    """The F-beta score (van Rijsbergen 1979); of calibrated scores the best threshold is its maximum / (1 + beta²)."""

    beta: float = 1.0

    def terms(self, tp: Integers, fp: Integers, pos: int) -> Terms:
        """(1 + beta²) tp / (beta² pos + tp + fp)."""
        if not 0 < self.beta < math.inf:
            raise MetricError(f"beta must be above 0 and finite, not {quoted(self.beta)}")
        square = Fraction(self.beta) ** 2
        num = (square.numerator + square.denominator) * tp
        return num, square.numerator * pos + square.denominator * (tp + fp), np.ones(len(tp), np.bool_)


@dataclass(frozen=True, slots=True)
class PrecisionAt:
    """The greatest precision where the recall is at least ``recall``."""

    recall: float

    def terms(self, tp: Integers, fp: Integers, pos: int) -> Terms:
        """Precision tp / (tp + fp)."""
        return tp, tp + fp, reaches(tp, pos, _checked("recall", self.recall))


@dataclass(frozen=True, slots=True)
class RecallAt:
    """The greatest recall where the precision is at least ``precision``; predicting nothing is always allowed."""

    precision: float

    def terms(self, tp: Integers, fp: Integers, pos: int) -> Terms:
        """Recall tp / pos."""
        return tp, tp * 0 + pos, reaches(tp, tp + fp, _checked("precision", self.precision))


@dataclass(frozen=True, slots=True)
class Cost:
    """Minus the total cost of errors, at a price of ``false_positive`` and ``false_negative`` each."""

    false_positive: float = 1.0
    false_negative: float = 1.0

    def terms(self, tp: Integers, fp: Integers, pos: int) -> Terms:
        """-(cost of fp + cost of fn)."""
        for name, value in (("false_positive", self.false_positive), ("false_negative", self.false_negative)):
            if not 0 <= value < math.inf:
                raise MetricError(f"{name} must be finite and not negative, not {quoted(value)}")
        wrong, missed = Fraction(self.false_positive), Fraction(self.false_negative)
        unit = math.lcm(wrong.denominator, missed.denominator)
        cost = int(wrong * unit) * fp + int(missed * unit) * (pos - tp)
        return -cost, tp * 0 + unit, np.ones(len(tp), np.bool_)


def _checked(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise MetricError(f"{name} must be in [0, 1], not {quoted(value)}")
    return value


_SUCH_AS = "an objective of streameval.metrics.thresholds, such as Cost()"


def objective_of(metric: str | Objective) -> tuple[Objective, str | None]:
    """The objective of a metric, and its average; an objective is returned as it is, with None."""
    if not isinstance(metric, str):
        if not callable(getattr(metric, "terms", None)):
            kinds = f"a metric or {_SUCH_AS}"
            raise MetricError(f"a threshold is chosen for {kinds}, not {quoted(metric)}")
        return metric, None
    spec = parse_spec(metric)
    if spec.name not in _OBJECTIVES:
        known = f"{', '.join(_OBJECTIVES)}, or {_SUCH_AS}"
        raise MetricError(f"no threshold is chosen for {spec.key}; choose it for {known}")
    return _OBJECTIVES[spec.name](**dict(spec.parameters)), spec.average


_OBJECTIVES: dict[str, Callable[..., Objective]] = {
    "f1": FScore, "fbeta": FScore, "precision_at_recall": PrecisionAt, "recall_at_precision": RecallAt,
}  # fmt: skip
_F1, _NONE = FScore(), Choice(math.inf, math.nan, math.nan)


def best_thresholds(tables: CurveTables, goal: Objective = _F1) -> Choices:
    """The best threshold of each label (SCut).

    Sources: Yang 2001; Fan & Lin 2007, A study on threshold selection for multi-label classification.
    """
    unit = _unit(tables, goal)
    paths = map(tables.steps.of, range(tables.size))
    return Choices((label, _best(path, goal, unit)) for label, path in zip(tables.labels, paths, strict=True))


def best_threshold(tables: CurveTables, goal: Objective = _F1, *, average: str = "micro") -> Choice:
    """The best single threshold for all labels: of pooled cells (micro), or, between bins, on the mean (macro)."""
    check_choice("average", average, ("micro", "macro"), MetricError)
    if average == "micro":
        return _best(path_of(tables, None), goal, _unit(tables, goal))
    return _best_mean([_scored(tables.steps.of(position)) for position in range(tables.size)], goal)


def _unit(tables: CurveTables, goal: Objective) -> Fraction:
    """The unit of values: that of weights for costs, which are sums, and 1 for ratios."""
    return tables.unit if isinstance(goal, Cost) else Fraction(1)


def _best(whole: Path, goal: Objective, unit: Fraction) -> Choice:
    path, pos = _scored(whole)
    if (best := best_point(path, partial(goal.terms, pos=pos))) is None:
        return _NONE
    at, value, bound = best
    return Choice(_threshold(path, at), as_float(value * unit), as_float(bound * unit))


def _scored(path: Path) -> tuple[Path, int]:
    """A path without cells that have no score, because no threshold predicts these; and the number of all positives."""
    return path[: np.count_nonzero(path.bins >= 0)], int(path.tp[-1])


def _threshold(path: Path, at: int) -> float:
    """The threshold that predicts all scores down to a point of a path."""
    return math.inf if at == 0 else float(path[at - 1 : at].thresholds[0])  # only this one is computed


def _best_mean(paths: list[tuple[Path, int]], goal: Objective) -> Choice:
    """The threshold, among lower edges of bins, with the greatest mean over labels; nothing predicted is 0."""
    grid = np.unique(np.concatenate([path.bins for path, _ in paths] or [np.zeros(0, np.int64)]))[::-1]
    # The change of the sum over labels from one edge to the next lower one, and how much greater it may be in between.
    change, more = np.zeros(len(grid) + 1), np.zeros(len(grid) + 1)
    possible = np.ones(len(grid) + 1, np.bool_)
    common = np.full(len(grid) + 1, -2)  # the residual of all scores of a bin, of all labels; -1 if they differ
    for path, pos in paths:
        tp, fp = path.tp.astype(object), path.fp.astype(object)
        last = np.flatnonzero(np.diff(path.bins, append=-2)) + 1  # a bin may have two steps
        edges = np.concatenate([[0], last])
        *ratios, allowed = goal.terms(tp[edges], fp[edges], pos)
        *corners, met = goal.terms(tp[edges[1:]], fp[edges[:-1]], pos)
        values = rough_ratios(*ratios)
        loose = path.mixed[last - 1] | (np.diff(edges) > 1)
        place = len(grid) - np.searchsorted(grid[::-1], path.bins[last - 1], "left")
        np.add.at(change, place, np.diff(values))
        residual = np.where(loose, -1, path.residuals[last - 1])
        common[place] = np.where((common[place] == -2) | (common[place] == residual), residual, -1)
        # No threshold inside a bin beats its corner, neither in a mixed bin nor between the two steps of a bin.
        either = np.where(allowed, values, -np.inf)
        most = np.max([np.where(met & loose, rough_ratios(*corners), -np.inf), either[:-1], either[1:]], axis=0)
        np.add.at(more, place, most - values[1:])
        each = np.repeat(allowed, np.diff(np.concatenate([[0], place, [len(grid) + 1]])))
        possible &= each
        each[place] = True
        more[~each] = -np.inf
    if not possible.any():
        return _NONE
    more[common >= 0] = 0.0  # no threshold separates equal scores
    at = int(np.where(possible, np.cumsum(change), -np.inf).argmax())
    at_most = int(np.where(possible | (common == -1), np.cumsum(change) + more, -np.inf).argmax())
    threshold = math.inf if at == 0 else float(binned.edges_of(grid[at - 1 : at])[0])
    value = _mean_at(paths, goal, grid[at - 1 : at], inside=False)  # exact, because sums of floats are rounded
    bound = max(value, _mean_at(paths, goal, grid[at_most - 1 : at_most], inside=bool(common[at_most] < 0)))
    return Choice(threshold, float(value), float(bound))


def _mean_at(paths: list[tuple[Path, int]], goal: Objective, edge: IntArray, *, inside: bool) -> Fraction:
    """The mean over labels at the lower edge of a bin (if empty: above all scores), or its bound ``inside`` the bin."""
    values = []
    for path, pos in paths:
        low, top = (np.count_nonzero(path.bins >= edge), np.count_nonzero(path.bins > edge)) if edge.size else (0, 0)
        corner = low > top and (path.mixed[low - 1] or low - top > 1)
        tp, fp = (np.array([int(part[low]), int(part[top if inside else low])], object) for part in (path.tp, path.fp))
        num, den, allowed = goal.terms(np.append(tp, tp[0]), np.append(fp, fp[1]), pos)
        best = greatest(num, den, allowed & [True, True, corner])
        values.append(best[1] if best else Fraction(0))
    nums, dens = (np.array([getattr(value, part) for value in values], object) for part in ("numerator", "denominator"))
    return sum_of(nums, dens) / (len(paths) or 1)


def pcut(tables: CurveTables, label: Label | None = None) -> Choice:
    """The threshold with as many predictions as there are true labels, as nearly as can be (PCut).

    For one label, or, with None, one threshold for all labels. ``value`` is how many predictions there are too many
    (negative: too few), weighted; ``bound`` is 0 where a threshold inside a mixed bin may come closer.

    Sources: Yang 2001; Read, Pfahringer, Holmes & Frank 2011, Classifier chains for multi-label classification,
    Machine Learning 85 (one threshold, matched label cardinality).
    """
    path, pos = _scored(path_of(tables, label))
    excess = (path.tp + path.fp).astype(object) - pos
    at = int(np.argmin(np.abs(excess)))
    after = int(np.searchsorted(excess, 1, "left"))
    mixed = after < len(excess) and bool(path.mixed[after - 1])
    value = as_float(excess[at] * tables.unit)
    return Choice(_threshold(path, at), value, 0.0 if mixed else value)


def rcut(scores: ArrayLike, k: int) -> UInt8Array:
    """Predict the ``k`` labels with the greatest scores of every example (RCut); of equal scores the first.

    Parameters
    ----------
    scores
        Shape (examples, labels).
    k
        How many; all if there are fewer labels.
    """
    numbers = _scores(scores)
    k = check_number("k", k, 0, error=MetricError)
    # Sort reversed columns, so that equal scores are in order; negated scores would fail for unsigned integers.
    order = numbers.shape[1] - 1 - np.argsort(numbers[:, ::-1], axis=1, kind="stable")[:, ::-1][:, :k]
    predicted = np.zeros(numbers.shape, np.uint8)
    np.put_along_axis(predicted, order, 1, axis=1)
    return predicted


def apply_thresholds(scores: ArrayLike, thresholds: Thresholds, *, labels: Sequence[Label] | None = None) -> UInt8Array:
    """Binary predictions from scores: 1 where a score is at or above its threshold.

    Parameters
    ----------
    scores
        Shape (examples, labels).
    thresholds
        One number, one per column, or a mapping from labels (to numbers, or to what `best_thresholds` returned).
    labels
        The labels of the columns, in their order; without them those of a data frame, or the numbers of the columns.

    Examples
    --------
    >>> apply_thresholds([[0.2, 0.7], [0.5, 0.1]], {"a": 0.5, "b": 0.1}, labels=["a", "b"]).tolist()
    [[0, 1], [1, 1]]
    """
    numbers = _scores(scores)
    columns: list[Any] = columns_of(scores, form) if (form := form_of(scores)) in FRAMES else []
    labels = (columns or None) if labels is None else labels
    if labels is not None and columns != [*labels] and {*columns} == {*labels}:
        raise InputError(f"columns are in another order than labels={quoted([*labels])}; give scores[labels]")
    return reached(numbers, _bounds(thresholds, labels, numbers.shape[1])).astype(np.uint8)


def _scores(scores: ArrayLike) -> np.ndarray[Any, Any]:
    numbers = array_of(scores, "scores")
    if numbers.ndim != 2 or numbers.dtype.kind not in "fiub":
        raise InputError(f"scores must be a 2-D array of numbers, not {quoted(scores)}")
    numbers = plain_array(numbers, "scores")
    if np.isnan(numbers).any():
        raise InputError("scores hold NaN, which is neither above nor below a threshold; replace it first")
    return numbers


def _bounds(thresholds: Thresholds, labels: Sequence[Label] | None, width: int) -> FloatArray:
    """An array of one threshold per column."""
    if labels is None and isinstance(thresholds, Mapping) and str in map(type, thresholds):
        raise InputError(f"thresholds are of labels, not of columns; give labels={quoted([*thresholds])}, in order")
    names = tuple(range(width) if labels is None else labels)
    if len(names) != width:
        raise InputError(f"labels must name each of the {width} columns, not {number_of(len(names), 'label')}")
    bound = threshold_of(thresholds, names)
    limits = dict(bound) if isinstance(bound, tuple) else dict.fromkeys(names, bound)
    return np.array([limits[name] for name in names], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionsAt:
    """The outcomes of each label at a threshold, in units of ``unit`` examples.

    Attributes
    ----------
    labels, thresholds
        Which label was judged at which threshold.
    least, most, exact
        The outcomes if the fewest, and if the most scores of an uncertain bin are at or above the threshold: the true
        counts lie between. They are the same where the threshold lies between bins, or in one whose scores are known.
    unit
        The weight of one unit: 1 unless examples are weighted.
    """

    labels: tuple[Label, ...]
    thresholds: FloatArray
    least: Counts
    most: Counts
    exact: Flags
    unit: Fraction


def decisions_at(tables: CurveTables, thresholds: Thresholds) -> DecisionsAt:
    """The outcomes of each label at thresholds; a label without a score is never predicted."""
    bounds = _bounds(thresholds, tables.labels, tables.size)
    rows = [_at(tables.steps.of(position), bound) for position, bound in enumerate(bounds.tolist())]
    columns = np.array([row[:4] for row in rows], object).reshape(-1, 4).T
    pos, neg = (np.array([row[part] for row in rows], object) for part in (4, 5))
    low, high = (Counts(tp, fp, pos - tp, pos + neg) for tp, fp in (columns[:2], columns[2:]))
    exact = np.array([row[:2] == row[2:4] for row in rows], np.bool_)
    return DecisionsAt(tables.labels, bounds, low, high, exact, tables.unit)


def _at(path: Path, bound: float) -> tuple[int, int, int, int, int, int]:
    """True and false positives at least, both at most, positives, negatives."""
    whole = int(path.tp[-1]), int(path.fp[-1])
    path, _ = _scored(path)
    own_bin: IntArray = binned.bins_of(np.array([bound]))[0]
    known = binned.scores_of(path.bins, np.maximum(path.residuals, 0))  # valid where scores are equal
    inside = bound > binned.edges_of(own_bin)[0]
    passed = (path.bins > own_bin[0]) | ((path.bins == own_bin[0]) & np.where(path.mixed, not inside, known >= bound))
    low = int(np.count_nonzero(passed))
    high = low + int(low < len(path.bins) and bool(path.mixed[low]) and path.bins[low] == own_bin[0])
    return int(path.tp[low]), int(path.fp[low]), int(path.tp[high]), int(path.fp[high]), *whole
