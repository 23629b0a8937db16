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
        The exact value lies between them, ends included. Those of metrics read from bins are rounded outwards. What is
        read from decisions, rankings or pairs leaves nothing to bound: there both are ``value``, so the exact value
        lies between them but for the rounding of ``value``.
    value
        The value if the scores of a mixed bin are one tie: the nearest float64. NaN where undefined, like the bounds.
    exact
        Whether nothing is open but the rounding to a float64: then ``value`` is the exact value, correctly rounded if
        it is read from bins, else within 1 unit in the last place. `width` is 0 then.
    """

    low: float
    high: float
    value: float
    exact: bool

    def __float__(self) -> float:
        return self.value

    @property
    def width(self) -> float:
        """Difference between the bounds; 0 if ``exact``, even where they are neighbouring floats."""
        return 0.0 if self.exact else self.high - self.low


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold, its value on the counted examples, and an upper bound on the value of any threshold.

    Attributes
    ----------
    threshold, value
        A score at or above it is a prediction; infinite to predict nothing. Of equally good ones the greatest. What it
        reaches, exactly.
    bound
        No threshold reaches more (for `pcut`: comes closer). Equal to ``value`` where no better one can hide in a
        mixed bin.
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
