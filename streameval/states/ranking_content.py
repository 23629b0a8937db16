"""What a state of rankings holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.types import IntArray
from streameval.schema.labels import Label
from streameval.states.options import RankingOptions

__all__ = [
    "GAINS", "HITS", "IDEALS", "KEYS", "LABELS", "MAIN", "NAMES", "PARTS", "Key", "RankingContent", "Table",

]  # fmt: skip

Key: TypeAlias = tuple[int, ...]
"""Number of the table, key within the table, number of the sum."""

NAMES = ("groups", "first", "rows", "labels", "hits", "gains", "ideals")
KEYS = (4, 3, 4, 2, 7, 3, 2)
"""How many integers a key of each table has."""
PARTS = (3, 1, 6, 1, 3, 1, 1)
"""How many sums each table keeps for a key."""
MAIN = 3
"""The first three tables are always kept."""
LABELS, HITS, GAINS, IDEALS = 3, 4, 5, 6


class Table(NamedTuple):
    """One table in lexicographic order: keys, their sums, and their weighted sums (None if every weight is 1).

    Sums are int64, or Python integers for gains.
    """

    keys: IntArray
    sums: np.ndarray[Any, np.dtype[Any]]
    weights: list[list[int]] | None

    def same(self, other: Table) -> bool:
        """Whether two tables are equal."""
        return (
            np.array_equal(self.keys, other.keys)
            and self.sums.tolist() == other.sums.tolist()
            and self.weights == other.weights
        )


@dataclass(frozen=True, slots=True, eq=False)
class RankingContent:
    """What a state holds, in canonical order: equal states have equal contents, whatever their history.

    Attributes
    ----------
    options
        What was chosen when the state was made.
    examples
        How many examples were counted.
    labels
        Declared labels in their order, then the mentioned others, sorted.
    fixed
        How many of ``labels`` are declared.
    mentions
        In how many examples each label is mentioned; 0 for declared ones.
    tables
        As many as `NAMES`. Columns in keys are positions in ``labels``.
    gain_scale
        Sums of gains are in units of ``2**-gain_scale``, as large as they can be.
    scale
        None when every weighted sum equals its sum. Otherwise weighted sums are in units of ``2**-scale``.
    """

    options: RankingOptions
    examples: int
    labels: tuple[Label, ...]
    fixed: int
    mentions: IntArray
    tables: tuple[Table, ...]
    gain_scale: int
    scale: int | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RankingContent):
            return NotImplemented
        return (
            self.options == other.options
            and self.examples == other.examples
            and self.labels == other.labels
            and self.fixed == other.fixed
            and np.array_equal(self.mentions, other.mentions)
            and self.gain_scale == other.gain_scale
            and self.scale == other.scale
            and all(map(Table.same, self.tables, other.tables))
        )
