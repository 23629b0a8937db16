"""Ratios of counts, their means within 1 ulp (sums have 30 guard bits), and the only rule for 0/0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from streameval.kernel.types import Flags
from streameval.metrics.spec import MetricSpec
from streameval.schema.labels import Label
from streameval.states.views import FEW, Integers, Tables, total

Value: TypeAlias = Fraction | float | None
"""A number, exact or with guard bits, or the float64 nearest to it; None if it is undefined (NaN)."""

_GUARD = 96
_DEEPEST = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """``num / den`` elementwise, or ``num / sqrt(den)`` if ``root``. A denominator of 0 means undefined."""

    num: Integers
    den: Integers
    root: bool = False

    def __getitem__(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Ratios:
        return Ratios(self.num[chosen], self.den[chosen], self.root)

    def replaced(self, where: np.ndarray[Any, np.dtype[np.bool_]], value: int) -> Ratios:
        """The same ratios, but ``value`` at the places ``where``."""
        return Ratios(np.where(where, value, self.num), np.where(where, 1, self.den), self.root)


def each(ratios: Ratios, zero_division: float) -> list[Value]:
    """The value of every ratio."""
    undefined = _constant(zero_division)
    if not ratios.root and 0 <= _union(ratios.num, ratios.den) < 2**53:  # then one division rounds once
        floats: list[Value] = np.divide(ratios.num, np.maximum(ratios.den, 1)).tolist()
        for position in np.flatnonzero(ratios.den == 0).tolist():
            floats[position] = undefined
        return floats
    return [
        undefined if not den else root_of(num, den) if ratios.root else Fraction(num, den)
        for num, den in zip(ratios.num.tolist(), ratios.den.tolist(), strict=True)
    ]


def mean(ratios: Ratios, times: Integers | None, zero_division: float, *, plain: bool = False) -> Fraction | None:
    """The mean of ratios, each counted ``times`` times; ``zero_division`` stands for 0/0, and NaN leaves it out."""
    if np.count_nonzero(ratios.den) < len(ratios.den):
        undefined = ratios.den == 0
        if math.isnan(zero_division):
            ratios, times = ratios[~undefined], None if times is None else times[~undefined]
        else:  # summed with the rest, since a later addition could cancel all correct digits of a rounded sum
            ratios = ratios.replaced(undefined, int(zero_division))
    whole = len(ratios.den) if times is None else total(times)
    if plain and not whole:  # else what has no weight is itself 0/0
        times, whole = None, len(ratios.den)
    if not whole:
        return _constant(zero_division)
    num, den = _sum(ratios.num, ratios.den, times, ratios.root)
    return Fraction(num, den * whole)


def ratio_of(num: Fraction | int, den: Fraction | int, zero_division: float) -> Fraction | None:
    """One ratio, under the rule for 0/0."""
    return Fraction(num) / den if den else _constant(zero_division)


def sum_of(num: Integers, den: Integers) -> Fraction:
    """The sum of ``num / den``, exact or with at least 60 guard bits."""
    return Fraction(*_sum(num, den, None, root=False))


def by_formula(formula: Callable[..., Ratios]) -> Callable[[Tables, MetricSpec], Value | dict[Label, Value]]:
    """A formula of outcomes applied to a view of decisions: per label, pooled, or averaged."""

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
        ratios = formula(counts, **dict(spec.parameters))
        blank: Flags | None = None
        if spec.empty != "zero_division":
            blank = (ratios.den == 0) & (counts.tp + counts.fp + counts.fn == 0)
        if spec.average is None:
            return _per_label(tables.labels, ratios, blank, spec)
        if spec.average == "samples" and (informative := tables.informative) is not None:
            ratios, times = ratios[informative], tables.times[informative]
            blank = None if blank is None else blank[informative]
        if blank is not None and blank.any():
            if spec.empty == "nan":
                return None
            if spec.empty == "drop":
                ratios, times = ratios[~blank], None if times is None else times[~blank]
            else:
                ratios = ratios.replaced(blank, int(spec.empty == "one"))
        # If no label has support, all labels weigh the same, as in scikit-learn.
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


def _constant(zero_division: float) -> Fraction | None:
    return None if math.isnan(zero_division) else Fraction(zero_division)


def _union(*arrays: Integers) -> int:
    """The bitwise or of all integers: negative if one is, else not less than any; -1 for Python integers."""
    union = reduce(np.bitwise_or, arrays)
    return -1 if union.dtype == object else int(np.bitwise_or.reduce(union))


def _sum(num: Integers, den: Integers, times: Integers | None, root: bool) -> tuple[int, int]:
    """Numerator and denominator of the sum of ratios, each ``times`` as often."""
    if not root and len(den) > FEW and (fast := _sum_of_small(num, den, times)) is not None:
        return fast
    terms = num.tolist() if times is None else [n * t for n, t in zip(num.tolist(), times.tolist(), strict=True)]
    dens = den.tolist()
    if not root and len(set(dens)) == 1:
        return sum(terms), dens[0]
    bits = _GUARD
    while True:
        if root:
            digits = sum([_scaled_root(term, base, bits) for term, base in zip(terms, dens, strict=True)])
        else:
            digits = sum([(term << bits) // base for term, base in zip(terms, dens, strict=True)])
        # Each term is off by less than one unit; the sum is exact enough if it has 2**60 units per term.
        if abs(digits) >= len(dens) << 60 or bits >= _DEEPEST:
            break
        bits *= 2
    if abs(digits) < len(dens) << 60 and not root:  # terms cancel, or all are 0: add exactly
        return sum((Fraction(n, d) for n, d in zip(terms, dens, strict=True)), Fraction(0)).as_integer_ratio()
    if root and abs(digits) <= len(dens):  # no more than the error, so the sum of the roots is 0
        return 0, 1
    return digits, 1 << bits


def _sum_of_small(num: Integers, den: Integers, times: Integers | None) -> tuple[int, int] | None:
    """The sum by long division in int64, as many bits at a time as fit; None if it overflows or is too coarse.

    A digit of ``s`` bits is below ``2**s`` and has a remainder below ``den``: with ``k`` bits for each count and ``l``
    for how many there are, ``k + s < 63`` and ``l + s < 63``.
    """
    union = _union(num, den) if times is None else _union(num, den, times)
    if not 0 <= union < 2**31:
        return None
    size, count = union.bit_length(), len(den).bit_length()
    if times is None:  # the first digit holds whole parts too, so it has fewer bits
        value, rest, bits, shift = 0, num, 0, 62 - size - count
    else:
        digit, rest = np.divmod(num * times, den)
        value, bits, shift = total(digit), 0, 62 - max(size, count)
    while shift > 0 and bits < 128:
        digit, rest = np.divmod(rest << shift, den)
        value, bits = (value << shift) + int(digit.sum()), bits + shift
        if value >= len(den) << 60:  # each term is off by less than one
            return value, 1 << bits
        shift = 62 - max(size, count)
    return None if rest.any() else (value, 1 << bits)


def _scaled_root(num: int, den: int, bits: int) -> int:
    """``num / sqrt(den)`` in units of ``2**-bits``, off by less than one unit."""
    size = math.isqrt(((num * num) << 2 * bits) // den)
    return size if num >= 0 else -size


def root_of(num: int, den: int) -> Fraction:
    """``num / sqrt(den)``, with at least 100 correct bits."""
    bits = 128 + max(0, den.bit_length() // 2 - abs(num).bit_length())
    return Fraction(_scaled_root(num, den, bits), 1 << bits)
