"""Sums of float64 weights without rounding.

A float64 is an integer times a power of two, so weights are summed as integers in units of ``2**-scale``. The scale
grows when a finer weight arrives and never costs precision. (Neal, "Fast exact summation using small and large
superaccumulators", arXiv:1505.05571, 2015, keeps the same integers in fixed limbs.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np

from streameval.kernel.types import IntArray

__all__ = ["ExactSums", "exact_integers", "scaled", "trailing_zeros", "units_of"]

K = TypeVar("K", bound=Hashable)

# Scales are rounded up to a multiple of this, so that a stream of ordinary weights rescales once or twice in its life.
_STEP = 32


class ExactSums(Generic[K]):
    """A mapping key -> exact sum; a key that is absent has the sum 0. Values are integers in units of ``2**-scale``."""

    __slots__ = ("scale", "sums")

    def __init__(self, scale: int = 0, sums: Mapping[K, int] | None = None) -> None:
        self.scale = scale
        self.sums: dict[K, int] = dict(sums or {})

    def at(self, scale: int) -> ExactSums[K]:
        """The same sums in units of ``2**-scale``, which must not be coarser."""
        shift = scale - self.scale
        return self if shift == 0 else ExactSums(scale, {key: value << shift for key, value in self.sums.items()})

    def copy(self) -> ExactSums[K]:
        """An independent copy."""
        return ExactSums(self.scale, self.sums)


def common_scale(*scales: int) -> int:
    """The smallest scale in steps that is at least as fine as all of ``scales``."""
    return -(-max(0, *scales) // _STEP) * _STEP


def scaled(held: ExactSums[K], numerator: int, scale: int) -> ExactSums[K]:
    """Every sum times ``numerator / 2**scale``, exactly."""
    finest = common_scale(held.scale + scale)
    factor = numerator << finest - held.scale - scale
    return ExactSums(finest, {key: value * factor for key, value in held.sums.items()})


def units_of(weight: float) -> tuple[int, int]:
    """A weight as ``(integer, scale)`` with ``weight == integer / 2**scale`` and the scale at least 0."""
    numerator, denominator = weight.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def exact_integers(digits: IntArray, scale: int, target: int) -> list[int]:
    """Join rows of base 2**32 digits in units of ``2**-scale`` into integers in units of ``2**-target``."""
    total = np.zeros(len(digits), object)
    for place in range(digits.shape[1]):
        total += digits[:, place].astype(object) << 32 * place
    values: list[int] = (total << target - scale).tolist()
    return values


def trailing_zeros(values: Iterable[int]) -> int | None:
    """How many low bits are zero in all of ``values``; None if all of them are zero."""
    union = 0
    for value in values:
        union |= value
    return (union & -union).bit_length() - 1 if union else None
