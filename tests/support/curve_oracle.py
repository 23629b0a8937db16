"""Metrics of scores by plain loops over examples, in exact fractions, straight from the definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from streameval.kernel.types import Lists
from streameval.schema.batch import Batch, Dense, Ragged
from streameval.schema.labels import LabelIndex
from streameval.states.curves import CurveTables
from tests.support.states import Counted, only_curves

Cell = tuple[float, int, Fraction | int]
"""Score (minus infinity if the cell has none), truth, weight."""


def exactly(weight: float) -> Fraction | int:
    """The weight as an exact number: an int if it is whole, because loops over ints are ten times faster."""
    exact = Fraction(weight)
    return exact.numerator if exact.denominator == 1 else exact


def area(cells: Sequence[Cell]) -> Fraction | None:
    """Share of the (positive, negative) pairs that are in the right order; a tie counts as half a pair."""
    positive = [(score, weight) for score, true, weight in cells if true]
    negative = [(score, weight) for score, true, weight in cells if not true]
    halves = sum((2 if a > b else 1) * v * w for a, v in positive for b, w in negative if a >= b)
    pairs = sum(v for _, v in positive) * sum(w for _, w in negative)
    return Fraction(halves) / (2 * pairs) if pairs else None


def average_precision(cells: Sequence[Cell]) -> Fraction | None:
    """Precision at the score of each positive, averaged over them."""
    whole = sum(weight for _, true, weight in cells if true)
    if not whole:
        return None
    total = Fraction(0)
    for bound in {score for score, true, _ in cells if true}:
        tp, fp, _, _ = outcomes(cells, bound)
        if not tp:  # the positives so far have weight 0
            continue
        total += sum(weight for score, true, weight in cells if true and score == bound) * tp / (tp + fp)
    return total / whole


def brier(cells: Sequence[Cell]) -> Fraction | None:
    """Mean squared difference of score and truth, over the cells that have a score."""
    scored = [(Fraction(score), true, weight) for score, true, weight in cells if score != -np.inf]
    whole = sum(weight for _, _, weight in scored)
    return sum(weight * (score - true) ** 2 for score, true, weight in scored) / Fraction(whole) if whole else None


def outcomes(cells: Iterable[Cell], bound: float) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """True positives, false positives, false negatives, true negatives at a threshold."""
    sums: list[Fraction | int] = [0] * 4
    for score, true, weight in cells:
        sums[(0 if true else 1) if score >= bound else (2 if true else 3)] += weight
    return Fraction(sums[0]), Fraction(sums[1]), Fraction(sums[2]), Fraction(sums[3])


@cache
def every_outcome(cells: tuple[Cell, ...]) -> dict[float, tuple[Fraction, Fraction, Fraction, Fraction]]:
    """`outcomes` at infinity and at each score, highest first; cached because all parameters of a metric use them."""
    bounds = sorted({np.inf, *(score for score, _, _ in cells)}, reverse=True)
    return {bound: outcomes(cells, bound) for bound in bounds}


def totals(cells: Iterable[Cell]) -> tuple[Fraction, Fraction]:
    """The weight of positives and of negatives."""
    parts = [(true, weight) for _, true, weight in cells]
    return tuple(Fraction(sum(weight for true, weight in parts if bool(true) == side)) for side in (True, False))


def roc_points(cells: Sequence[Cell]) -> list[tuple[Fraction, Fraction]]:
    """False and true positive rate at each threshold, from infinity down."""
    pos, neg = totals(cells)
    return [(fp / neg, tp / pos) for tp, fp, _, _ in every_outcome(tuple(cells)).values()]


def roc_auc(cells: Sequence[Cell], max_fpr: float) -> Fraction | None:
    """The whole area by pairs, or the area under the curve up to ``max_fpr``, standardised (McClish 1989)."""
    pos, neg = totals(cells)
    if not pos or not neg:
        return None
    if max_fpr == 1:
        return area(cells)
    limit, result, points = Fraction(max_fpr), Fraction(0), roc_points(cells)
    for (x0, y0), (x1, y1) in pairwise(points):
        end = min(x1, limit)
        if end > x0:
            y = y0 + (y1 - y0) * (end - x0) / (x1 - x0)
            result += (end - x0) * (y0 + y) / 2
    chance, best = limit**2 / 2, limit
    return (1 + (result - chance) / (best - chance)) / 2


def best_point(
    cells: Sequence[Cell], goal: tuple[int, int], condition: tuple[int, int], least: float
) -> Fraction | None:
    """The greatest share among the thresholds at which another share is at least ``least``.

    Shares are pairs of indices of outcomes. Where nothing is predicted, a condition on precision holds.
    """
    pos, neg = totals(cells)
    if 2 in (goal[1], condition[1]) and not pos:
        return None
    if 1 in (goal[1], condition[1]) and 3 in (goal[0], condition[0]) and not neg:
        return None
    result = []
    for o in every_outcome(tuple(cells)).values():
        part, whole = o[condition[0]], o[condition[0]] + o[condition[1]]
        if (not whole or float(Fraction(part) / whole) >= least) and o[goal[0]] + o[goal[1]]:
            result.append(o[goal[0]] / (o[goal[0]] + o[goal[1]]))
    return max(result) if result else None


TP_OF_PREDICTED, TP_OF_TRUE, TN_OF_FALSE = (0, 1), (0, 2), (3, 1)


def equal_error_rate(cells: Sequence[Cell]) -> Fraction | None:
    """The false positive rate where the curve, interpolated linearly, crosses fpr = 1 - tpr."""
    if not all(totals(cells)):
        return None
    points = roc_points(cells)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x1 + y1 >= 1:
            return x0 + (x1 - x0) * (1 - x0 - y0) / (x1 + y1 - x0 - y0)
    raise AssertionError("the curve ends at (1, 1)")


@cache
def minus_log(p: Fraction) -> Fraction | float:
    """``-log(p)`` to 50 digits, also near 1, where the logarithms of numerator and denominator nearly cancel."""
    if not p:
        return np.inf
    with localcontext(prec=60 + (len(str(p.denominator)) if p > 1 - Fraction(1, 10**9) else 0)):
        return Fraction(Decimal(p.denominator).ln() - Decimal(p.numerator).ln())


def log_loss(cells: Sequence[Cell], eps: float, cap: float | None) -> Fraction | float | None:
    scored = [(Fraction(score), true, weight) for score, true, weight in cells if score != -np.inf]
    whole = Fraction(sum(weight for _, _, weight in scored))
    if not whole:
        return None
    total = Fraction(0)
    for score, true, weight in scored:
        p = max(score if true else 1 - score, Fraction(eps))
        p = min(p, 1 - Fraction(eps))
        cost = minus_log(p) if cap is None else min(minus_log(p), Fraction(cap))
        if cost == np.inf:
            if weight:
                return np.inf
            continue
        total += weight * cost
    return total / whole


def expected_calibration_error(cells: Sequence[Cell], buckets: int, strategy: str) -> Fraction | None:
    """Uniform buckets exclude their lower end; the weight share of lower scores decides a score's quantile bucket."""
    scored = [(Fraction(score), true, weight) for score, true, weight in cells if score != -np.inf]
    whole = Fraction(sum(weight for _, _, weight in scored))
    if not whole:
        return None
    gaps: dict[int, Fraction] = {}
    for score, true, weight in scored:
        if strategy == "uniform":
            bucket = sum(score > Fraction(step / buckets) for step in range(1, buckets))
        else:
            bucket = sum(w for s, _, w in scored if s < score) * buckets // whole
        gaps[bucket] = gaps.get(bucket, Fraction(0)) + weight * (true - score)
    return sum(map(abs, gaps.values()), Fraction(0)) / whole


DEFINITIONS: dict[str, Callable[..., Fraction | float | None]] = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "recall_at_precision": lambda cells, precision: best_point(cells, TP_OF_TRUE, TP_OF_PREDICTED, precision),
    "precision_at_recall": lambda cells, recall: best_point(cells, TP_OF_PREDICTED, TP_OF_TRUE, recall),
    "sensitivity_at_specificity": lambda cells, specificity: best_point(cells, TP_OF_TRUE, TN_OF_FALSE, specificity),
    "specificity_at_sensitivity": lambda cells, sensitivity: best_point(cells, TN_OF_FALSE, TP_OF_TRUE, sensitivity),
    "equal_error_rate": equal_error_rate,
    "brier_score": brier,
    "log_loss": log_loss,
    "expected_calibration_error": expected_calibration_error,
}
"""The value of one label, or of all cells together, by entry; None where it is undefined."""


def rows_of(
    true: np.ndarray,
    scores: np.ndarray,
    *,
    columns: np.ndarray | None = None,
    ranked: np.ndarray | None = None,
    hidden: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Dense:
    """A batch of rows, as the package makes one from input."""
    places = np.arange(true.shape[1]) if columns is None else columns
    parts = [None if part is None else np.ascontiguousarray(part, np.uint8) for part in (ranked, hidden)]
    arguments = None if weights is None else np.asarray(weights, np.float64)
    cells = np.ascontiguousarray(true, np.uint8), None, np.ascontiguousarray(scores), None
    return Dense(places, *cells, ranked=parts[0], mask=parts[1], weights=arguments)


def lists_of(batch: Dense) -> Ragged:
    """The same examples as lists."""
    displayed = np.ones(batch.true.shape, bool) if batch.ranked is None else batch.ranked != 0
    hidden = None if batch.mask is None else _lists(batch.columns, batch.mask != 0)
    scores = batch.scores[displayed].astype(np.float64)
    true, ranked = _lists(batch.columns, batch.true != 0), _lists(batch.columns, displayed)
    return Ragged(batch.examples, true, None, hidden, ranked, weights=batch.weights, ranked=ranked, scores=scores)


def _lists(columns: np.ndarray, where: np.ndarray) -> Lists:
    offsets = np.concatenate([[0], np.cumsum(where.sum(axis=1))]).astype(np.int64)
    return Lists(offsets, np.broadcast_to(columns, where.shape)[where].astype(np.int64))


def state_of(*batches: Batch, width: int, fixed: bool = True) -> Counted:
    """A state over labels 0, 1, ... that has counted batches."""
    labels = LabelIndex(range(width) if fixed else ())
    for label in range(width):
        labels.add(label)
    state = only_curves(labels)
    for batch in batches:
        state.count(batch)
    return state


def counted(*batches: Batch, width: int) -> CurveTables:
    """The tables of a state that has counted batches, ready to be read."""
    return CurveTables(state_of(*batches, width=width))


def nasty_scores(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[str, np.ndarray]:
    """Scores on which binning is likely to fail, with the name of their kind."""
    base = float(rng.choice([0.3, 0.5, 0.7, 1.0, 1e-5, 1e-300, -4.0, 1 - 1e-7, 123.0, 5e-324]))
    kinds = {
        "uniform": lambda: rng.random(shape),
        "tenths": lambda: np.round(rng.random(shape), 1),
        "one ulp apart": lambda: _near(base, rng.integers(-3, 4, shape)),
        "within a bin": lambda: base * (1 + rng.random(shape) * 2.0**-11),
        "some bins": lambda: base * (1 + rng.random(shape) * 2.0**-8),
        "logits": lambda: rng.normal(size=shape) * 5,
        "all equal": lambda: np.full(shape, base),
        "huge spread": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape),
        "near one": lambda: 1 - 10.0 ** rng.uniform(-18, 0, shape),
        "near zero": lambda: 10.0 ** rng.uniform(-300, 0, shape),
        "around a half": lambda: _near(0.5, rng.integers(-3, 4, shape)),
        "around one": lambda: _near(1.0, rng.integers(-3, 4, shape)),
        "around zero": lambda: rng.choice([0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310], shape),
        "float16": lambda: rng.random(shape).astype(np.float16).astype(np.float64),
        "bfloat16": lambda: _cut(rng.random(shape), 16),
        "float32": lambda: rng.random(shape).astype(np.float32),
    }
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]()


def _near(base: float, steps: np.ndarray) -> np.ndarray:
    """The float64 values that are so many steps away from ``base``."""
    reach = int(np.abs(steps).max(initial=0))
    up, down = [base], [base]
    for _ in range(reach):
        up.append(float(np.nextafter(up[-1], np.inf)))
        down.append(float(np.nextafter(down[-1], -np.inf)))
    return np.array([*down[:0:-1], *up])[steps + reach]


def _cut(scores: np.ndarray, bits: int) -> np.ndarray:
    """Scores as float32 with their last bits cleared."""
    return (scores.astype(np.float32).view(np.uint32) >> bits << bits).view(np.float32)
