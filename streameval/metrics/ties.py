"""What metrics of rankings share: labels that take part, expected values over orders of tied labels, and means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from streameval.kernel.types import Flags, IntArray
from streameval.metrics.averaging import Ratios, Value, mean, sum_of
from streameval.metrics.catalogue import metric
from streameval.metrics.logarithms import BITS, reciprocals
from streameval.metrics.spec import Parameter
from streameval.states.rankings import First, Groups, RankingTables, Rows
from streameval.states.views import total

Unranked: TypeAlias = Literal["never", "last"]

DEGENERATE = Parameter("degenerate", "scikit-learn", choices=("scikit-learn", "drop", "zero", "one"))
ENDLESS = 1 << 40
"""Further than any rank."""

ranking = partial(metric, state="rankings", averages=("samples",), default="samples")
"""Enters a formula of rankings into the catalogue."""

_ONE = 1 << BITS


def all_groups(tables: RankingTables, unranked: Unranked) -> Groups:
    """Tie groups with a true label, with ``"last"`` also those of all labels that are not ranked."""
    groups, rows = tables.groups, tables.rows
    if unranked == "never":
        return groups
    rows = rows[rows.u > 0]
    t = rows.u * rows.times
    behind = (rows.m, rows.l, rows.l, rows.known - rows.l, t, t * rows.m, t * rows.u)
    ranked = (groups.m, groups.l, groups.a, groups.g, groups.t, groups.upto, groups.square)
    return Groups(*map(np.concatenate, zip(ranked, behind, strict=True)))


def first_groups(tables: RankingTables, unranked: Unranked) -> First:
    """The best of these groups in each example."""
    first, rows = tables.first, tables.rows
    none = (rows.u == rows.m) & (rows.m > 0)
    if unranked == "never" or not none.any():
        return first
    rows = rows[none]
    behind = (rows.l, rows.known - rows.l, rows.u, rows.times)
    ranked = (first.a, first.g, first.t, first.times)
    return First(*map(np.concatenate, zip(ranked, behind, strict=True)))


def groups_to(tables: RankingTables, k: int, unranked: Unranked) -> Groups:
    """The groups that reach into the first k."""
    groups = all_groups(tables, unranked)
    return groups[groups.a < k]


def chance_of_a_hit(first: First, k: int, missed: bool = False) -> Ratios:
    """For each entry (``a < k``) the chance, either of which can be tiny, of a hit among the first k, or none."""
    num, den = [], []
    for a, g, t, times in first.tolist():
        places = min(k - a, g)
        few, many = min(places, t), max(places, t)  # all t true labels miss `places` places, or the other way round
        orders, misses = math.perm(g, few), math.perm(g - many, few)
        num.append(times * (misses if missed else orders - misses))
        den.append(orders)
    return Ratios(np.array(num, object), np.array(den, object))


def reciprocal_rank(first: First, k: int) -> Fraction:
    """The sum over examples of the expected reciprocal rank of the best true label, 0 beyond k."""
    clear = first[(first.g == first.t) & (first.a < k)]
    units = 0
    for a, g, t, times in first[first.g != first.t].tolist():
        chance, expected = _ONE * t // g, 0  # that the first true label of the group is its j-th label
        for j in range(1, min(g, k - a) + 1):
            expected += chance // (a + j)
            chance = chance * (g - j - t + 1) // max(1, g - j)
            if not chance:
                break
        units += times * expected
    return sum_of(clear.times, clear.a + 1) + Fraction(units, _ONE)


def average_precision_of(groups: Groups, divisors: IntArray, k: int) -> Fraction:
    """The sum over groups of the expected precisions at the ranks of their true labels up to k, over ``divisors``."""
    plain = groups.g == 1
    sums = sum_of(groups.upto[plain], (groups.a[plain] + 1) * divisors[plain])
    tied = groups[~plain]
    units = 0
    columns = (tied.a, tied.g, tied.t, tied.upto, tied.square, divisors[~plain])
    for a, g, t, upto, square, divisor in zip(*(part.tolist() for part in columns), strict=True):
        units += _precision(a, min(g, k - a), g, upto - square + t, square - t) // (g * divisor)
    return sums + Fraction(units, _ONE)


def average_precision_of_hits(hits: Iterable[tuple[list[int], list[int]]], k: int) -> Fraction:
    """The same over the true labels up to k, for each number of them in the group that straddles k."""
    units = 0
    for (cutoff, sure, places, size, true, a, g), (t, upto, square) in hits:
        if cutoff != k:
            continue
        for hits_inside, ways in _chances(places, size, true):
            if not sure + hits_inside:
                continue
            if a + g <= k:
                of, value = g, _precision(a, g, g, upto - square + t, square - t)
            else:  # this is the group that straddles k; each of its examples has the same t
                of, times = places, t // true
                first = (upto - square) // true + times
                value = hits_inside * _precision(a, places, places, first, times * (hits_inside - 1))
            units += value * ways.numerator // (of * (sure + hits_inside) * ways.denominator)
    return Fraction(units, _ONE)


def _precision(a: int, places: int, size: int, first: int, second: int) -> int:
    """The sum of (``first`` + (i - 1) ``second`` / (``size`` - 1)) / (a + i) over the first places of a group.

    A true label on its i-th place has before it those of better groups, itself, and its share of the rest of its own.
    """
    inverse = reciprocals(a, a + places)
    return first * inverse + second * ((places << BITS) - (a + 1) * inverse) // max(1, size - 1)


def _chances(places: int, size: int, true: int) -> list[tuple[int, Fraction]]:
    """How many true labels of a group may fall on its first places, and the chance of each."""
    whole = math.comb(size, places)
    return [
        (hits_inside, Fraction(math.comb(true, hits_inside) * math.comb(size - true, places - hits_inside), whole))
        for hits_inside in range(min(places, true) + 1)
    ]


def nothing_true(rows: Rows) -> Flags:
    """Rows without a true label."""
    return np.asarray(rows.m == 0)


def one_sided(rows: Rows) -> Flags:
    """Rows without a true label, and rows without a false one."""
    return np.asarray((rows.m == 0) | (rows.m == rows.known))


def judged(rows: Rows, sums: Fraction, blank: Flags, degenerate: str, usual: str, zero_division: float) -> Value:
    """The mean of values that add up to ``sums`` without the examples that are ``blank``."""
    if degenerate == "drop":
        return ratio_of(sums, Fraction(total(rows.times[~blank])), zero_division)
    if (usual if degenerate == "scikit-learn" else degenerate) == "one":
        sums += total(rows.times[blank])
    return ratio_of(sums, Fraction(total(rows.times)), zero_division)


def ratio_of(num: Fraction, den: Fraction, zero_division: float) -> Value:
    """One ratio, under the rule for 0/0."""
    whole = np.array([num.numerator * den.denominator, num.denominator * den.numerator], object)
    return mean(Ratios(whole[:1], whole[1:]), None, zero_division)
