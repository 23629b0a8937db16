"""Values with bounds."""

from __future__ import annotations

from dataclasses import dataclass

from streameval.errors import above, public
from streameval.schema.labels import Label


@public
@dataclass(frozen=True, slots=True)
class Bounds:
    """A value with guaranteed lower and upper bounds.

    Attributes
    ----------
    low, high
        The exact value lies between them, ends included; for metrics of curves they are rounded outwards. For metrics
        of decisions, rankings and pairs both are ``value``, which is rounded.
    value
        The value if the scores of a mixed bin are one tie: the nearest float64. NaN where undefined, like the bounds.
    exact
        Whether the only uncertainty is the rounding to a float64: ``value`` is then the exact value, for metrics of
        curves correctly rounded, for others within 1 unit in the last place, and `width` is 0.
    """

    low: float
    high: float
    value: float
    exact: bool

    def __float__(self) -> float:
        return self.value

    @property
    def width(self) -> float:
        """Difference between the bounds; 0 if ``exact``, even if they are neighbouring floats."""
        return 0.0 if self.exact else self.high - self.low


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold, its value on the counted examples, and an upper bound on the value of any threshold.

    Attributes
    ----------
    threshold, value
        A score at or above the threshold is a prediction; infinity predicts nothing. Among equally good thresholds it
        is the greatest. ``value`` is what it reaches, exactly.
    bound
        No threshold reaches more (for `pcut`: comes closer). Equal to ``value`` if no better threshold can lie within
        a mixed bin.
    """

    threshold: float
    value: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether no other threshold can be better."""
        return self.bound == self.value


class Choices(dict[Label, Choice]):
    """Thresholds by label."""

    _repr_html_ = above("report.notebook", "choices_html")
