"""Ratios of counts, means of ratios, and the only rule for 0/0.

Everything here is exact or carries at least 30 guard bits, so the one rounding to float64 at the end is within 1 ulp
of the true value. Sums are of integers, so their order cannot matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from streameval.states.tables import Integers, total

__all__ = ["Ratios", "Value", "as_float", "each", "mean"]

Value: TypeAlias = Fraction | None
"""A number, exact or with at least 30 guard bits; None where it is undefined (NaN)."""

_GUARD = 96
_DEEPEST = 1 << 13


@dataclass(frozen=True, slots=True)
class Ratios:
    """``num / den`` elementwise, or ``num / sqrt(den)`` where ``root``. A denominator of 0 means undefined."""

    num: Integers
    den: Integers
    root: bool = False

    def __getitem__(self, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> Ratios:
        """Some of the ratios."""
        return Ratios(self.num[kept], self.den[kept], self.root)

    def replaced(self, where: np.ndarray[Any, np.dtype[np.bool_]], value: int) -> Ratios:
        """The same ratios, but ``value`` in some places."""
        return Ratios(np.where(where, value, self.num), np.where(where, 1, self.den), self.root)


def as_float(value: Value) -> float:
    """The nearest float64; NaN where undefined, infinite where no float64 is as large."""
    if value is None:
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def each(ratios: Ratios, zero_division: float) -> list[Value]:
    """Every ratio by itself."""
    undefined = _constant(zero_division)
    return [
        undefined if not den else _root(num, den) if ratios.root else Fraction(num, den)
        for num, den in zip(ratios.num.tolist(), ratios.den.tolist(), strict=True)
    ]


def mean(ratios: Ratios, times: Integers | None, zero_division: float, *, plain: bool = False) -> Value:
    """The mean of ratios, each counted ``times`` times (once if None).

    Where 0/0 occurs, ``zero_division`` stands for it; NaN leaves it out. If what is left has no weight, the mean is
    itself 0/0, or with ``plain`` the mean without weights.
    """
    undefined = ratios.den == 0
    if undefined.any():
        if math.isnan(zero_division):
            ratios, times = ratios[~undefined], None if times is None else times[~undefined]
        else:  # summed with the rest, since a later addition could cancel all correct digits of a rounded sum
            ratios = ratios.replaced(undefined, int(zero_division))
    if times is not None and plain and not times.any():
        times = None
    whole = len(ratios.den) if times is None else total(times)
    return _sum(ratios.num, ratios.den, times, ratios.root) / whole if whole else _constant(zero_division)


def _constant(zero_division: float) -> Value:
    return None if math.isnan(zero_division) else Fraction(zero_division)


def _sum(num: Integers, den: Integers, times: Integers | None, root: bool) -> Fraction:
    if not len(den):
        return Fraction(0)
    if not root and (fast := _sum_of_small(num, den, times)) is not None:
        return fast
    terms = num.tolist() if times is None else [n * t for n, t in zip(num.tolist(), times.tolist(), strict=True)]
    dens = den.tolist()
    if not root and len(set(dens)) == 1:
        return Fraction(sum(terms), dens[0])
    bits = _GUARD
    while True:
        digits = sum(_scaled(term, base, root, bits) for term, base in zip(terms, dens, strict=True))
        # Each term is off by less than one unit; ask for 2**60 units per term before calling the sum exact enough.
        if abs(digits) >= len(dens) << 60 or bits >= _DEEPEST:
            break
        bits *= 2
    if abs(digits) < len(dens) << 60 and not root:  # cancellation, or true zero: settle it exactly
        return sum((Fraction(term, base) for term, base in zip(terms, dens, strict=True)), Fraction(0))
    if root and abs(digits) <= len(dens):  # no more than the error: the roots cancel
        return Fraction(0)
    return Fraction(digits, 1 << bits)


def _sum_of_small(num: Integers, den: Integers, times: Integers | None) -> Fraction | None:
    """The sum in int64 long division, 32 bits at a time; None where that cannot hold it or is not precise enough."""
    if num.dtype == object or den.dtype == object or (times is not None and times.dtype == object):
        return None
    largest = int(num.max()) * (1 if times is None else int(times.max()))
    if int(num.min()) < 0 or largest >= 2**62 or int(den.max()) >= 2**31 or len(den) >= 2**31:
        return None
    digit, rest = np.divmod(num if times is None else num * times, den)
    value = total(digit)
    for _ in range(3):
        digit, rest = np.divmod(rest << 32, den)
        value = (value << 32) + int(digit.sum())  # digits below 2**32, fewer than 2**31 of them
    if value < len(den) << 60 and rest.any():
        return None
    return Fraction(value, 1 << 96)


def _scaled(num: int, den: int, root: bool, bits: int) -> int:
    """``num / den`` (or over the root of ``den``) in units of ``2**-bits``, off by less than one unit."""
    if not root:
        return (num << bits) // den
    size = math.isqrt(((num * num) << 2 * bits) // den)
    return size if num >= 0 else -size


def _root(num: int, den: int) -> Fraction:
    """``num / sqrt(den)`` with at least 100 correct bits."""
    bits = 128 + max(0, den.bit_length() // 2 - abs(num).bit_length())
    return Fraction(_scaled(num, den, True, bits), 1 << bits)
