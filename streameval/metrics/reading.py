"""How a formula is applied to the tables of a state: per label, pooled, averaged over labels or over examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from streameval.kernel.types import Flags
from streameval.metrics import decisions
from streameval.metrics.averaging import Ratios, Value, each, mean
from streameval.metrics.spec import MetricSpec
from streameval.schema.labels import Label
from streameval.states.views import Counts, Integers, Tables

__all__ = ["Formula", "Reading", "by_formula", "f_of_averages"]

Formula: TypeAlias = Callable[[Counts, Mapping[str, float]], Ratios]
Reading: TypeAlias = Callable[[Tables, MetricSpec], Value | dict[Label, Value]]


def by_formula(formula: Formula) -> Reading:
    """A metric that is a formula of outcomes, under every average."""

    def read(tables: Tables, spec: MetricSpec) -> Value | dict[Label, Value]:
        times: Integers | None = None
        if spec.average == "samples":
            counts, times = tables.by_example, tables.times
        elif spec.average == "micro":
            counts = tables.pooled
        else:
            counts = tables.by_label
            if spec.average == "weighted":
                times = counts.tp + counts.fn
        ratios = formula(counts, dict(spec.parameters))
        blank: Flags | None = None
        if spec.empty != "zero_division":
            blank = (ratios.den == 0) & (counts.tp + counts.fp + counts.fn == 0)
        if spec.average is None:
            return _per_label(tables.labels, ratios, blank, spec)
        if spec.average == "samples" and (kept := tables.informative) is not None:
            ratios, times = ratios[kept], tables.times[kept]
            blank = None if blank is None else blank[kept]
        if blank is not None and blank.any():
            if spec.empty == "nan":
                return None
            if spec.empty == "drop":
                ratios, times = ratios[~blank], None if times is None else times[~blank]
            else:
                ratios = ratios.replaced(blank, int(spec.empty == "one"))
        # As scikit-learn, labels without any support weigh the same.
        return mean(ratios, times, spec.zero_division, plain=spec.average == "weighted")

    return read


def _per_label(labels: tuple[Label, ...], ratios: Ratios, blank: Flags | None, spec: MetricSpec) -> dict[Label, Value]:
    values = dict(zip(labels, each(ratios, spec.zero_division), strict=True))
    for position in np.flatnonzero(blank).tolist() if blank is not None else ():
        if spec.empty == "drop":
            del values[labels[position]]
        else:
            values[labels[position]] = {"zero": Fraction(0), "one": Fraction(1), "nan": None}[spec.empty]
    return values


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
