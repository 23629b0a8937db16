"""What metrics of rankings read: the tables of a state as columns of exact integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streameval.kernel.types import IntArray
from streameval.schema.cached import cached_property
from streameval.states.ranking_sums import GAINS, HITS, IDEALS, LABELS
from streameval.states.rankings import Rankings, Table
from streameval.states.views import Arrays, Integers, View, total

# Formulas multiply a sum by at most two numbers of labels; up to this that stays within int64.
_SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Groups(Arrays):
    """Tie groups that hold a true label, pooled over all examples with the same ``m, l, a, g``."""

    m: IntArray
    l: IntArray  # noqa: E741  # the letters of the state
    a: IntArray
    g: IntArray
    t: Integers
    upto: Integers
    square: Integers


@dataclass(frozen=True, slots=True)
class First(Arrays):
    """The best group with a true label of an example, and how many examples have such a one."""

    a: IntArray
    g: IntArray
    t: IntArray
    times: Integers

    def tolist(self) -> list[tuple[int, int, int, int]]:
        """The entries as Python integers."""
        return list(zip(*(part.tolist() for part in (self.a, self.g, self.t, self.times)), strict=True))


@dataclass(frozen=True, slots=True)
class Rows(Arrays):
    """Examples with the same ``m, l, u``, and as many labels that take part (``known``): how many, and their sums."""

    m: IntArray
    l: IntArray  # noqa: E741
    u: IntArray
    known: IntArray
    times: Integers
    wrong: Integers
    last: Integers
    erring: Integers
    missed: Integers
    lead: Integers


class RankingTables(View[Rankings]):
    """The tables of a state of rankings."""

    def __init__(self, rankings: Rankings, columns: IntArray | None = None) -> None:
        super().__init__(rankings, columns)
        self._gain_scale, self.options = rankings.gain_scale(), rankings.options

    @cached_property
    def weight(self) -> int:
        """The total weight of all examples, in units."""
        return total(self._sums(self._table(2))[0])

    @cached_property
    def groups(self) -> Groups:
        """All tie groups that hold a true label."""
        table = self._table(0)
        return Groups(*_columns(table.keys), *self._sums(table))

    @cached_property
    def first(self) -> First:
        """The best of them in each example."""
        table = self._table(1)
        return First(*_columns(table.keys), *self._sums(table))

    @cached_property
    def rows(self) -> Rows:
        """All examples but those whose every label is masked."""
        table = self._table(2)
        m, labels, u, h = _columns(table.keys)
        rows = Rows(m, labels, u, self.size - h, *self._sums(table))
        return rows[(rows.known > 0) | (h == 0)]

    @cached_property
    def label_hits(self) -> Mapping[int, Mapping[int, int]]:
        """For each position in ``labels``, how many examples (unweighted) have it at which rank; rank 0: in all."""
        place = dict(zip(self.columns.tolist(), range(self.size), strict=True))
        hits: dict[int, dict[int, int]] = {}
        table = self._table(LABELS)
        for (column, rank), (times,) in zip(table.keys.tolist(), table.sums.tolist(), strict=True):
            hits.setdefault(place[column], {})[rank] = times
        return hits

    @cached_property
    def hits(self) -> list[tuple[list[int], list[int]]]:
        """Keys and sums of groups before each declared cutoff."""
        table = self._table(HITS)
        sums: list[list[int]] = table.sums.tolist() if table.weights is None else list(table.weights)
        return list(zip(table.keys.tolist(), sums, strict=True))

    @cached_property
    def gains(self) -> list[tuple[list[int], Fraction]]:
        """Keys and sums of inverse propensities by group."""
        return self._fractions(GAINS)

    @cached_property
    def ideals(self) -> list[tuple[list[int], Fraction]]:
        """Keys and sums of inverse propensities by the rank they should have."""
        return self._fractions(IDEALS)

    def _fractions(self, which: int) -> list[tuple[list[int], Fraction]]:
        """Sums of gains, in units of ``unit`` examples."""
        table = self._table(which)
        sums, unit = (table.sums.tolist(), self._gain_scale) if table.weights is None else (table.weights, 0)
        return [(key, Fraction(value, 1 << unit)) for key, (value,) in zip(table.keys.tolist(), sums, strict=True)]

    def _table(self, which: int) -> Table:
        return self._state.read_table(which, self.scale, self._gain_scale)

    def _sums(self, table: Table) -> tuple[Integers, ...]:
        """The (weighted) sums of a table, column by column, in Python integers where products could pass 64 bits."""
        if table.weights is not None:
            width = table.sums.shape[1]
            return tuple(np.array(list(table.weights), object).reshape(-1, width).T)
        most = int(table.sums.max(initial=0))
        safe = most * max(1, self.size) ** 2 < _SAFE
        return _columns(table.sums if safe else table.sums.astype(object))


def _columns(array: Integers) -> tuple[Integers, ...]:
    return tuple(np.ascontiguousarray(array.T))
