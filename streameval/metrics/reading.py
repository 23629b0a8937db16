"""How a formula is applied to the tables of a state: per label, pooled, averaged over labels or over examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from streameval.labels import Label
from streameval.metrics import decisions
from streameval.metrics.averaging import Ratios, Value, each, mean
from streameval.metrics.spec import MetricSpec
from streameval.states.tables import Counts, Tables

__all__ = ["Formula", "Reading", "by_formula", "f_of_averages"]

Formula: TypeAlias = Callable[[Counts, Mapping[str, float]], Ratios]
Reading: TypeAlias = Callable[[Tables, MetricSpec], Value | dict[Label, Value]]


def by_formula(formula: Formula) -> Reading:
    """A metric that is a formula of outcomes, under every average."""

    def read(tables: Tables, spec: MetricSpec) -> Value | dict[Label, Value]:
        parameters = dict(spec.parameters)
        if spec.average == "samples":
            return _over_examples(formula(tables.by_example, parameters), tables, spec)
        counts = tables.by_label
        if spec.average == "micro":
            return mean(formula(counts.pooled(), parameters), None, spec.zero_division)
        ratios = formula(counts, parameters)
        if spec.average is None:
            return dict(zip(tables.labels, each(ratios, spec.zero_division), strict=True))
        # As scikit-learn, labels without any support weigh the same.
        times = counts.tp + counts.fn if spec.average == "weighted" else None
        return mean(ratios, times, spec.zero_division, plain=True)

    return read


def _over_examples(ratios: Ratios, tables: Tables, spec: MetricSpec) -> Value:
    num, den, times = ratios.num, ratios.den, tables.times
    keys = tables.content.keys
    blank = (keys[:, 0] == 0) & (keys[:, 1] == 0) & (den == 0)
    if spec.empty != "zero_division" and blank.any():
        if spec.empty == "nan":
            return None
        if spec.empty == "drop":
            num, den, times = num[~blank], den[~blank], times[~blank]
        else:
            num = np.where(blank, int(spec.empty == "one"), num)
            den = np.where(blank, 1, den)
    return mean(Ratios(num, den, ratios.root), times, spec.zero_division)


def f_of_averages(tables: Tables, spec: MetricSpec) -> Value | dict[Label, Value]:
    """F of the mean precision and the mean recall."""
    square = Fraction(spec.parameter("beta")) ** 2
    precision = by_formula(decisions.precision)(tables, spec)
    recall = by_formula(decisions.recall)(tables, spec)
    if not isinstance(precision, Fraction) or not isinstance(recall, Fraction):
        return None
    den = square * precision + recall
    if not den:
        return mean(Ratios(np.zeros(1, np.int64), np.zeros(1, np.int64)), None, spec.zero_division)
    return (1 + square) * precision * recall / den
