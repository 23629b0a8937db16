"""A state in which every example weighs more, or less, by one factor."""

from __future__ import annotations

from streameval.labels import LabelIndex
from streameval.states.decisions import Decisions
from streameval.states.exact import ExactSums, common_scale

__all__ = ["scaled"]


def scaled(decisions: Decisions, labels: LabelIndex, numerator: int, scale: int) -> Decisions:
    """A copy over a copy of the labels, every weight times ``numerator / 2**scale``, exactly."""
    twin = decisions.copy(labels)
    if twin.examples and (numerator, scale) != (1, 0):
        held = twin._weights_at(0)
        finest = common_scale(held.scale + scale)
        factor = numerator << finest - held.scale - scale
        twin._weights = ExactSums(finest, {key: value * factor for key, value in held.sums.items()})
    return twin
