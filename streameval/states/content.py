"""What a state of decisions holds, as a value: the form in which it is compared, written and read back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernel.types import IntArray
from streameval.schema.labels import Label

__all__ = ["Content"]


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a state holds, in canonical order: equal states have equal contents, whatever their history.

    Attributes
    ----------
    examples
        How many examples were counted.
    labels
        Declared labels in their order, then the mentioned others, sorted.
    fixed
        How many of ``labels`` are declared.
    cells
        Shape (labels, 5).
    keys, times
        The row keys in lexicographic order, shape (distinct, 4), and how many examples had each.
    scale, cell_weights, key_weights
        None when every weight sum equals its count. Otherwise the sums in units of ``2**-scale``, for each label a
        list over its outcomes (the first, true negatives, is 0), and for each row key; the scale is as small as it
        can be.
    """

    examples: int
    labels: tuple[Label, ...]
    fixed: int
    cells: IntArray
    keys: IntArray
    times: IntArray
    scale: int | None
    cell_weights: list[list[int]] | None
    key_weights: list[int] | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return (
            self.examples == other.examples
            and self.labels == other.labels
            and self.fixed == other.fixed
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.times, other.times)
            and self.scale == other.scale
            and self.cell_weights == other.cell_weights
            and self.key_weights == other.key_weights
        )
