"""Formulas of decision metrics. Each is written once, over the four outcomes, and serves every average.

A formula takes `Counts` (of labels, of kinds of examples, or pooled) and returns `Ratios`. Products of counts go
through `Counts.wide`, since they can pass 64 bits. Sources and descriptions stand in the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from streameval.metrics.averaging import Ratios
from streameval.states.views import Counts, Integers

__all__: list[str] = []

Parameters = Mapping[str, float]

_TINY = Decimal("1e-400")  # below the smallest float64 by far


def precision(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp, c.tp + c.fp)


def recall(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp, c.tp + c.fn)


def specificity(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tn, c.tn + c.fp)


def negative_predictive_value(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tn, c.tn + c.fn)


def false_positive_rate(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.fp, c.fp + c.tn)


def false_negative_rate(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.fn, c.fn + c.tp)


def false_discovery_rate(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.fp, c.fp + c.tp)


def false_omission_rate(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.fn, c.fn + c.tn)


def accuracy(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn)


def hamming_loss(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.fp + c.fn, c.tp + c.fp + c.fn + c.tn)


def prevalence(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp + c.fn, c.tp + c.fp + c.fn + c.tn)


def predicted_prevalence(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp + c.fp, c.tp + c.fp + c.fn + c.tn)


def jaccard(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp, c.tp + c.fp + c.fn)


def f1(c: Counts, _: Parameters) -> Ratios:
    return Ratios(2 * c.tp, 2 * c.tp + c.fp + c.fn)


def fbeta(c: Counts, parameters: Parameters) -> Ratios:
    square = Fraction(parameters["beta"]) ** 2
    missed, wrong = square.numerator, square.denominator
    if missed + wrong > 1024:
        c = c.wide()
    hits = (missed + wrong) * c.tp
    return Ratios(hits, hits + missed * c.fn + wrong * c.fp)


def balanced_accuracy(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    positive, negative = c.tp + c.fn, c.tn + c.fp
    both = (positive > 0) & (negative > 0)
    num = np.where(both, c.tp * negative + c.tn * positive, c.tp + c.tn)
    return Ratios(num, np.where(both, 2 * positive * negative, positive + negative))


def informedness(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    positive, negative = c.tp + c.fn, c.tn + c.fp
    return Ratios(c.tp * negative + c.tn * positive - positive * negative, positive * negative)


def markedness(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    positive, negative = c.tp + c.fp, c.tn + c.fn
    return Ratios(c.tp * negative + c.tn * positive - positive * negative, positive * negative)


def matthews(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    den = (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)
    return Ratios(c.tp * c.tn - c.fp * c.fn, den, root=True)


def cohen_kappa(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    return Ratios(2 * (c.tp * c.tn - c.fn * c.fp), (c.tp + c.fp) * (c.fp + c.tn) + (c.tp + c.fn) * (c.fn + c.tn))


def geometric_mean(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    hits = c.tp * c.tn
    classes = (c.tp + c.fn) * (c.tn + c.fp)
    return Ratios(hits, _where_zero(hits, classes, hits * classes), root=True)


def fowlkes_mallows(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    return Ratios(c.tp, (c.tp + c.fp) * (c.tp + c.fn), root=True)


def harmonic_accuracy(c: Counts, _: Parameters) -> Ratios:
    c = c.wide()
    positive, negative = c.tp + c.fn, c.tn + c.fp
    hits = c.tp * c.tn
    return Ratios(2 * hits, _where_zero(hits, positive * negative, c.tp * negative + c.tn * positive))


def _where_zero(hits: Integers, classes: Integers, den: Integers) -> Integers:
    """The denominator; where there are no hits, 1 if both classes occur (the value is 0) and 0 if not (undefined)."""
    return np.where(classes == 0, 0, np.where(hits == 0, 1, den))


def alpha_evaluation(c: Counts, parameters: Parameters) -> Ratios:
    c = c.wide()
    alpha, beta, gamma = parameters["alpha"], Fraction(parameters["beta"]), Fraction(parameters["gamma"])
    unit = math.lcm(beta.denominator, gamma.denominator)
    union = c.tp + c.fp + c.fn
    num = unit * union - int(beta * unit) * c.fn - int(gamma * unit) * c.fp
    den = unit * union
    if alpha == 1.0:
        return Ratios(num, den)
    powers = [_power(n, d, alpha) if d else (0, 0) for n, d in zip(num.tolist(), den.tolist(), strict=True)]
    return Ratios(np.array([n for n, _ in powers], object), np.array([d for _, d in powers], object))


def _power(num: int, den: int, exponent: float) -> tuple[int, int]:
    """``(num / den) ** exponent`` as a ratio with some 60 correct digits; 0 and infinity as the limits from inside."""
    if num in (0, den):
        return num // den, 1
    if exponent in (0.0, math.inf):
        return int(exponent == 0.0), 1
    # The base can be as close to 1 as 1 - 1 / den, and the exponent multiplies its relative error.
    digits = 60 + len(str(den)) + max(0, Decimal(exponent).adjusted())
    context = Context(prec=digits, Emin=-999999, Emax=999999, traps=[])
    value = context.power(context.divide(Decimal(num), Decimal(den)), Decimal(exponent))
    return value.as_integer_ratio() if value > _TINY else (0, 1)


# -- example by example: the same outcomes, but the value is a yes or no ----------------------------------------------


def subset_accuracy(c: Counts, _: Parameters) -> Ratios:
    return _yes(c.fp + c.fn == 0)


def zero_one_loss(c: Counts, _: Parameters) -> Ratios:
    return _yes(c.fp + c.fn != 0)


def any_hit_accuracy(c: Counts, _: Parameters) -> Ratios:
    return Ratios((c.tp > 0).astype(np.int64), (c.tp + c.fp + c.fn > 0).astype(np.int64))


def contain_accuracy(c: Counts, _: Parameters) -> Ratios:
    return _yes(c.fn == 0)


def belong_accuracy(c: Counts, _: Parameters) -> Ratios:
    return _yes(c.fp == 0)


def label_cardinality(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp + c.fn, np.ones_like(c.tp))


def predicted_cardinality(c: Counts, _: Parameters) -> Ratios:
    return Ratios(c.tp + c.fp, np.ones_like(c.tp))


def _yes(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ratios:
    return Ratios(flags.astype(np.int64), np.ones(len(flags), np.int64))


# -- label sets -------------------------------------------------------------------------------------------------------


def imbalance_ratio(c: Counts, _: Parameters) -> Ratios:
    count = c.tp + c.fn
    return Ratios(np.full_like(count, count.max(initial=0)), count)
