"""A value with bounds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Interval"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value that is known to lie between two bounds.

    Attributes
    ----------
    low, high
        The exact value lies between them, ends included; rounded outwards.
    value
        The value if the scores of a mixed bin are one tie: the nearest float64. NaN where undefined, like the bounds.
    exact
        Whether the bins leave nothing open; then ``value`` is the exact value, correctly rounded.
    """

    low: float
    high: float
    value: float
    exact: bool

    def __float__(self) -> float:
        return self.value

    @property
    def width(self) -> float:
        """How far apart the bounds are."""
        return 0.0 if self.exact else self.high - self.low
