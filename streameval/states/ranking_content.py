"""What is chosen when a state of rankings is made, and what it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.kernel.types import IntArray
from streameval.schema.labels import Label, in_order
from streameval.schema.text import number_or_none, quoted

__all__ = [
    "GAINS", "HITS", "IDEALS", "KEYS", "LABELS", "MAIN", "NAMES", "PARTS", "Key", "Propensities", "RankingContent",
    "RankingOptions", "Table",
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


Propensities: TypeAlias = tuple[tuple[Label, float], ...]
"""The inverse propensity of each label: how much more a hit counts than it would if the label were never missed."""


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """What a state of rankings keeps, and how it breaks ties.

    Attributes
    ----------
    ties
        ``"shared"``: labels with equal scores share their ranks. ``"last"``: of two labels with equal scores the later
        one, in the order of the labels, ranks better (MULAN's rule).
    label_ranks
        Up to which rank hits are counted for each label.
    hit_cutoffs
        For which k average precision at k can be divided by the number of hits.
    propensities
        Inverse propensities; every true label must have one if there are any.
    gain_ranks
        Up to which rank propensity-scored gains are summed.
    """

    ties: Literal["shared", "last"] = "shared"
    label_ranks: int = 0
    hit_cutoffs: tuple[int, ...] = ()
    propensities: Propensities = field(default=(), repr=False)
    gain_ranks: int = 0

    def __post_init__(self) -> None:
        if self.ties not in ("shared", "last"):
            raise InputError(f'ties must be "shared" or "last", not {quoted(self.ties)}')
        for name, ranks in (("label_ranks", self.label_ranks), ("gain_ranks", self.gain_ranks)):
            if type(ranks) is not int or ranks < 0:
                raise InputError(f"{name} must be an integer of at least 0, not {quoted(ranks)}")
        for cutoff in self.hit_cutoffs:
            if type(cutoff) is not int or cutoff < 1:
                raise InputError(f"hit_cutoffs must be integers of at least 1, not {quoted(cutoff)}")
        if bool(self.propensities) != bool(self.gain_ranks):
            raise InputError("propensities and gain_ranks belong together; give both or neither")
        found: dict[Label, float] = {}
        for label, inverse in self.propensities:
            value = number_or_none(inverse)
            if value is None or not 0 < value < math.inf:
                raise InputError(
                    f"the inverse propensity of {quoted(label)} must be a positive number, not {quoted(inverse)}"
                )
            found[label] = value
        # The same choices in another order are the same choices.
        object.__setattr__(self, "hit_cutoffs", tuple(sorted(set(self.hit_cutoffs))))
        object.__setattr__(self, "propensities", tuple((label, found[label]) for label in sorted(found, key=in_order)))

    @property
    def asks(self) -> bool:
        """Whether anything is kept beside what always is."""
        return bool(self.label_ranks or self.hit_cutoffs or self.gain_ranks)


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
