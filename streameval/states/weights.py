"""Sums of float64 weights without rounding, as integers (Neal, arXiv:1505.05571, 2015, keeps them in fixed limbs)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import repeat
from operator import rshift
from typing import Any, Generic, TypeVar

import numpy as np

from streameval.kernel import backend
from streameval.kernel.types import FloatArray, IntArray

K = TypeVar("K", bound=Hashable)

# Scales are rounded up to a multiple of this, so that ordinary weights change the scale only once or twice per stream.
_STEP = 32


class ExactSums(Generic[K]):
    """A mapping key -> exact sum; a key that is absent has the sum 0. Values are integers in units of ``2**-scale``."""

    __slots__ = ("scale", "sums")

    def __init__(self, scale: int = 0, sums: dict[K, int] | None = None) -> None:
        self.scale = scale
        self.sums: dict[K, int] = {} if sums is None else sums

    def at(self, scale: int) -> ExactSums[K]:
        """The same sums in units of ``2**-scale``, which must not be coarser."""
        shift = scale - self.scale
        return self if shift == 0 else ExactSums(scale, {key: value << shift for key, value in self.sums.items()})

    def add(self, key: K, value: int) -> None:
        """Add to one sum, in units."""
        self.sums[key] = self.sums.get(key, 0) + value

    def nonzero(self) -> dict[K, int]:
        return {key: value for key, value in self.sums.items() if value}

    def times(self, numerator: int, scale: int) -> ExactSums[K]:
        """Every sum times ``numerator / 2**scale``, exactly."""
        finest = common_scale(self.scale + scale)
        factor = numerator << finest - self.scale - scale
        return ExactSums(finest, {key: value * factor for key, value in self.sums.items()})

    def holds(self, other: ExactSums[K]) -> bool:
        """Whether every sum of ``other`` has the same value in these, whatever the scales."""
        get, up, down = self.sums.get, max(0, self.scale - other.scale), max(0, other.scale - self.scale)
        return all(get(key, 0) << down == value << up for key, value in other.sums.items())

    def each(self, keys: Iterable[K], scale: int) -> Iterator[int]:
        """The sums of keys in units of ``2**-scale``, in which they are integers."""
        sums, shift = map(self.sums.get, keys, repeat(0)), self.scale - scale
        return map(rshift, sums, repeat(shift)) if shift else sums

    def read(self, keys: Iterable[K], scale: int) -> np.ndarray[Any, np.dtype[Any]]:
        """As `each`, in an array of Python integers."""
        return np.array(list(self.each(keys, scale)), object)

    def smallest_scale(self, kind: type = object) -> int:
        """The smallest scale at which all sums, or those of keys of a kind, are integers."""
        sums = self.sums
        each = sums.values() if kind is object else (sums[key] for key in sums if isinstance(key, kind))
        zeros = trailing_zeros(each)
        return 0 if zeros is None else self.scale - min(self.scale, zeros)


def joined_sums(sums: Iterable[ExactSums[K]]) -> ExactSums[K]:
    """All sums added key by key; callers must not change the result."""
    parts = [part for part in sums if part.sums]
    if len(parts) == 1:
        return parts[0]
    scale, total = max((part.scale for part in parts), default=0), dict[K, int]()
    get = total.get
    for part in parts:
        for key, value in part.at(scale).sums.items():
            total[key] = get(key, 0) + value
    return ExactSums(scale, total)


def changed(before: ExactSums[K], added: Iterable[tuple[ExactSums[K], int]]) -> dict[K, int]:
    """The new value of each sum that changes when ``added`` sums, of no finer scale, are added so many times."""
    after: dict[K, int] = {}
    get = before.sums.get
    for part, sign in added:
        factor = sign << before.scale - part.scale
        for key, value in part.sums.items():
            after[key] = (after[key] if key in after else get(key, 0)) + factor * value
    return after


class SumCells(Generic[K]):
    """Exact sums that change when the root of their state commits; the cell is empty until some are stored."""

    __slots__ = ("cell",)

    def __init__(self, root: Any, sums: ExactSums[K] | None = None) -> None:
        self.cell = root.cell(sums)

    def copy(self, root: Any) -> SumCells[K]:
        """The same sums in cells of another root."""
        sums = self.cell.value
        return SumCells(root, None if sums is None else ExactSums(sums.scale, dict(sums.sums)))

    @property
    def present(self) -> bool:
        return self.cell.value is not None

    def prepare(self, sums: ExactSums[K] | None) -> list[Any]:
        """Prepare to store other sums."""
        return [self.cell.prepare_store(sums)]

    def prepare_add(self, added: list[tuple[ExactSums[K], int]], before: ExactSums[K] | None = None) -> list[Any]:
        """Prepare to add sums so many times. If none, or only coarser ones, are stored: to ``before``, or nothing."""
        if self.cell.value is not None:
            part = self.cell.prepare_add([(sums.sums, sums.scale, times) for sums, times in added])
            if part is not None:
                return [part]
        after = before and ExactSums(before.scale, {**before.sums, **changed(before, added)})
        return self.prepare(after) if after else []


def common_scale(*scales: int) -> int:
    """The smallest multiple of `_STEP` that is at least as fine as all of ``scales``."""
    return -(-max(0, *scales) // _STEP) * _STEP


def units_of(weight: float) -> tuple[int, int]:
    """A weight as ``(integer, scale)`` with ``weight == integer / 2**scale`` and the scale at least 0."""
    numerator, denominator = weight.as_integer_ratio()
    return numerator, denominator.bit_length() - 1


def exact_integers(digits: IntArray, scale: int = 0, target: int = 0) -> list[int]:
    """Join rows of base 2**32 digits in units of ``2**-scale`` into integers in units of ``2**-target``."""
    values: list[int] = digits[:, -1].tolist()
    for lower in digits.T[-2::-1].tolist():
        values = [(value << 32) + digit for value, digit in zip(values, lower, strict=True)]
    return values if scale == target else [value << target - scale for value in values]


def exact_weights(weights: FloatArray) -> tuple[int, list[int]]:
    """A common scale of weights, and the weights as integers in units of ``2**-scale``."""
    scale, digits = backend.decisions.limbs(weights)
    target = common_scale(scale)
    return target, exact_integers(digits.astype(np.int64), scale, target)


def trailing_zeros(values: Iterable[int]) -> int | None:
    """How many low bits are zero in all of ``values``; None if all of them are zero."""
    union = 0
    for value in values:
        union |= value
    return (union & -union).bit_length() - 1 if union else None
