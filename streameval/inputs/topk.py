"""The best labels of each example, as an argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streameval.errors import public


@public
@dataclass(frozen=True, eq=False)
class TopK:
    """The best labels of each example, as retrieval systems give them.

    Attributes
    ----------
    indices
        Shape (examples, k): columns in the order of the declared labels, or the labels 0, 1, 2 ... themselves, best
        first. Negative ones are padding.
    scores
        The same shape; None if only their order is known.
    """

    indices: Any
    scores: Any = None
