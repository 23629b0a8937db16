"""The bounds of metrics of binned scores, computed in fractions by plain loops over bins, as the metrics' pages state.

If all scores of a class in a bin are equal, they are known; otherwise their order within the bin is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from tests.support.curve_oracle import DEFINITIONS, Cell, minus_log, outcomes, totals

SCORED = ("brier_score", "log_loss", "expected_calibration_error")
"""Metrics that use only the cells with a score."""

_NONE = -math.inf
_CLASSES = (0, 1)
_MARGIN = Fraction(1, 2**45)  # relative margin of the bounds of the log loss for the rounding of logarithms
_TINY = Fraction(1, 2**500)  # below it, -log(1 - v) rounds to v in float64


class End(NamedTuple):
    """A value with its bounds, before rounding; ``slack`` is the error in ulps that logarithms may cause.

    ``rounded`` says whether the package must round the value correctly even so.
    """

    low: Fraction | float
    value: Fraction | float
    high: Fraction | float
    exact: bool
    slack: int = 1
    rounded: bool = False


@dataclass(frozen=True, eq=False)
class Bin:
    """Scores whose distances to the nearer of 0 and 1 share their upper 12 bits. Each bin is one cached object."""

    upper: bool
    low: Fraction
    high: Fraction
    least_score: Fraction
    """The least float64 in the bin."""


@cache
def bin_of(score: float) -> Bin:
    upper = score >= 0.5
    distance = 1 - score if upper else score
    exponent = max(math.frexp(distance)[1] - 1, -1022) if distance else -1022
    return _bin(upper, exponent, Fraction(distance) // Fraction(2) ** (exponent - 11))


@cache
def _bin(upper: bool, exponent: int, number: int) -> Bin:
    width = Fraction(2) ** (exponent - 11)
    low, high = number * width, (number + 1) * width
    return Bin(upper, low, high, Fraction(float(1 - high + Fraction(2) ** (exponent - 52))) if upper else low)


def _mixed(cells: Sequence[Cell]) -> set[Bin]:
    """The bins in which a class has scores that differ."""
    scores: dict[tuple[Bin, int], set] = {}
    for score, true, _ in cells:
        if score != _NONE:
            scores.setdefault((bin_of(score), true), set()).add(score)
    return {bin_ for (bin_, _), several in scores.items() if len(several) > 1}


def _ordered(cells: Sequence[Cell], order: Callable[[int, bool], int]) -> tuple[tuple, ...]:
    """The cells with new scores, in which ``order`` says the place of each cell within its mixed bin."""
    mixed, result = _mixed(cells), []
    for at, (score, true, weight) in enumerate(cells):
        inside = score != _NONE and bin_of(score) in mixed
        whole = bin_of(score).least_score if inside else score
        result.append((float(whole), order(at, bool(true)) if inside else 0, true, weight))
    places = {key: rank for rank, key in enumerate(sorted({cell[:2] for cell in result}))}
    return tuple((float(places[base, place]), true, weight) for base, place, true, weight in result)


@cache
def _orders(cells: tuple[Cell, ...]) -> list[tuple[tuple, ...]]:
    """Orders within mixed bins: negatives first, then the positives one by one; all tied; positives first."""
    orders: tuple[Callable[[int, bool], int], ...] = (
        lambda at, true: -at - 1 if true else 0,
        lambda _, __: 0,
        lambda _, true: int(true),
    )
    return [_ordered(cells, order) for order in orders]


def _by_order(define: Callable[..., Any], cells: Sequence[Cell], **parameters: Any) -> End | None:
    """The bounds from the worst and the best order within mixed bins, and the value with ties."""
    ends = [define(order, **parameters) for order in _orders(tuple(cells))]
    if ends[0] is None:
        return None
    return End(min(ends[0], ends[2]), ends[1], max(ends[0], ends[2]), ends[0] == ends[2])


def _average_precision(define: Callable[..., Any], cells: Sequence[Cell], unit: int | None) -> End | None:
    """The lower bound cuts the positives of a mixed bin into sixteen blocks, each with the chord of its precisions.

    ``unit`` is the denominator of the weights, or None without weights: then a block of one positive is exact.
    """
    ends = _by_order(define, cells)
    if ends is None or ends.exact:
        return ends
    whole, low = totals(cells)[0], Fraction(0)
    mixed, units = _mixed(cells), unit or 1
    bins = {_NONE if score == _NONE or bin_of(score) not in mixed else bin_of(score) for score, _, _ in cells}
    for bin_ in bins - {_NONE}:
        least = bin_.least_score
        inside = [cell for cell in cells if cell[0] != _NONE and bin_of(cell[0]) == bin_]
        tp, fp = (units * part for part in outcomes(cells, least)[:2])
        pos = int(units * totals(inside)[0])
        for block in range(16):
            start, stop = pos * block // 16, pos * (block + 1) // 16
            if start == stop or not fp:
                low += (stop - start) / Fraction(units)
            else:
                first, last = tp - pos + start + (unit is None), tp - pos + stop
                low += (stop - start) * (first / (first + fp) + last / (last + fp)) / 2 / units
    for score in {score for score, true, _ in cells if true and (score == _NONE or bin_of(score) not in mixed)}:
        tp, fp, _, _ = outcomes(cells, score)
        low += sum(weight for s, true, weight in cells if true and s == score) * (tp / (tp + fp) if tp else 0)
    return End(low / whole, *ends[1:])


def _binned(cells: Sequence[Cell]) -> dict[tuple[Bin, int], list[tuple[Fraction, Fraction]]]:
    """For each bin and class, the pairs (distance, weight) of its scores."""
    bins: dict[tuple[Bin, int], list[tuple[Fraction, Fraction]]] = {}
    for score, true, weight in cells:
        if score != _NONE:
            distance = 1 - Fraction(score) if score >= 0.5 else Fraction(score)
            bins.setdefault((bin_of(score), true), []).append((distance, weight))
    return bins


def _log_loss(define: Callable[..., Any], cells: Sequence[Cell], eps: float, cap: float | None) -> End | None:
    """Each class of a bin has the loss of its mean score; the upper bound adds (width / least argument)² / 8.

    If ``eps`` or ``cap`` takes effect within the bin, or the bin contains 0, the losses at its ends are the bounds.
    """
    bins, least, most = _binned(cells), Fraction(eps), math.inf if cap is None else Fraction(cap)
    whole = sum((weight for held in bins.values() for _, weight in held), Fraction(0))
    if not whole:
        return None
    low = value = high = Fraction(0)
    exact = True
    for (bin_, true), held in bins.items():
        weight = sum(weight for _, weight in held)
        far = bin_.upper == bool(true)  # the probability of the truth is 1 - distance

        def loss(distance: Fraction, far: bool = far) -> Fraction | float:
            return minus_log(1 - max(distance, least) if far else max(distance, least))

        known = len({distance for distance, _ in held}) == 1
        ends = sorted([loss(bin_.low), loss(bin_.high)])
        same = bin_.high <= least or ends[0] >= most
        if not weight:
            continue
        exact = exact and (known or same)
        cost = loss(sum(distance * w for distance, w in held) / weight)
        nearest = 1 - bin_.high if far else bin_.low
        below = above = cost
        if not known and not same:
            if bin_.low < least or ends[1] > most or not nearest:
                below, above = ends
            else:
                above = cost + ((bin_.high - bin_.low) / nearest) ** 2 / 8
        below, above = min(below, most), min(above, most)
        low, value, high = (
            total + weight * part
            for total, part in ((low, below), (value, max(below, min(cost, above))), (high, above))
        )
    rounded = len(bins) == 1 and not eps and all(bin_.high < _TINY and not true for bin_, true in bins)
    margin = 0 if exact else _MARGIN
    ends = low / whole * (1 - margin), value / whole, high / whole * (1 + margin)
    return End(*ends, exact or low == math.inf, 64, rounded)


def _calibration(define: Callable[..., Any], cells: Sequence[Cell], buckets: int, strategy: str) -> End | None:
    """The scores of a class in a bin go into the bucket of the bin's lower end if they differ, or with quantiles."""
    bins = _binned(cells)
    whole = sum((weight for held in bins.values() for _, weight in held), Fraction(0))
    if not whole:
        return None
    edges, moved = [Fraction(step / buckets) for step in range(1, buckets)], Fraction(0)
    gaps: dict[int, Fraction] = {}
    for (bin_, true), held in bins.items():
        weight, total = sum(w for _, w in held), sum(distance * w for distance, w in held)
        known = len({distance for distance, _ in held}) == 1
        score = bin_.least_score
        if strategy == "quantile":
            under = sum(w for (other, _), part in bins.items() if other.least_score < score for _, w in part)
            bucket = int(under * buckets / whole)
            inside = [pair for side in (0, 1) for pair in bins.get((bin_, side), ())]
            end = (under + sum(w for _, w in inside)) * buckets / whole
            if len({distance for distance, _ in inside}) > 1 and end > bucket + 1:
                moved += weight
        else:
            if known:
                score = 1 - held[0][0] if bin_.upper else held[0][0]
            bucket = sum(score > edge for edge in edges)
            if not known and any(bin_of(float(edge)) == bin_ for edge in edges):
                moved += weight
        gaps[bucket] = gaps.get(bucket, Fraction(0)) + true * weight - (weight - total if bin_.upper else total)
    value, slack = sum(map(abs, gaps.values()), Fraction(0)) / whole, 2 * moved / whole
    return End(max(Fraction(0), value - slack), value, min(Fraction(1), value + slack), not moved)


def _sure(define: Callable[..., Any], cells: Sequence[Cell]) -> End | None:
    value = define(cells)
    return None if value is None else End(value, value, value, True)


_OWN: dict[str, Callable[..., End | None]] = {
    "brier_score": _sure, "log_loss": _log_loss, "expected_calibration_error": _calibration,
    "average_precision": _average_precision,
}  # fmt: skip


def ends_of(name: str, unit: int | None) -> Callable[..., End | None]:
    """A function from cells, of one label or of all labels, to the bounds of an entry; None where it is undefined."""
    own, define = _OWN.get(name, _by_order), DEFINITIONS[name]
    extra = {"unit": unit} if name == "average_precision" else {}
    return lambda cells, **parameters: own(define, cells, **parameters, **extra)
