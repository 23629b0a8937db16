"""Inverse propensities: how much more a hit counts than it would if its label were never missed in the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal

from streameval.errors import InputError
from streameval.schema.labels import Label

_FIFTY = Context(prec=50, rounding=ROUND_HALF_EVEN)


def jain_propensities(
    counts: Mapping[Label, float], examples: int, *, a: float = 0.55, b: float = 1.5
) -> dict[Label, float]:
    """Inverse propensities of labels from their frequencies (Jain et al. 2016).

    ``1 + C (count + b)**-a`` with ``C = (ln(examples) - 1) (b + 1)**a``, at least 1. Correctly rounded, so that every
    machine finds the same.

    Source: Jain, Prabhu & Varma 2016, Extreme multi-label loss functions for recommendation, tagging, ranking & other
    missing label applications, KDD. a = 0.55 and b = 1.5 unless known better (0.5, 0.4 for Wikipedia's sets; 0.6, 2.6
    for Amazon's).

    Raises
    ------
    InputError
        If a count or a parameter has no propensity.

    Examples
    --------
    >>> jain_propensities({"rare": 1, "common": 5000}, 10_000)
    {'rare': 9.210340371976184, 'common': 1.1255229150322565}
    """
    exponent, shift = Decimal(a), Decimal(b)
    if not (exponent.is_finite() and shift.is_finite() and shift > -1) or examples < 1:
        raise InputError(f"a and b must be finite, b above -1, and examples at least 1, not {a}, {b} and {examples}")
    scale = _FIFTY.multiply(_FIFTY.ln(Decimal(int(examples))) - 1, _FIFTY.power(shift + 1, exponent))
    inverse: dict[float, float] = {}
    for count in {float(count) for count in counts.values()}:
        if not 0 < count + b < math.inf:
            raise InputError(f"a label that is true {count:g} times has no propensity with b = {b}; choose b above 0")
        inverse[count] = max(1.0, float(1 + scale * _FIFTY.power(Decimal(count) + shift, -exponent)))
    return {label: inverse[float(count)] for label, count in counts.items()}
