"""What the metrics of rankings share: how values of examples become a mean, and which labels take part."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import Flags
from streameval.metrics.averaging import Ratios, Value, mean
from streameval.schema.text import quoted
from streameval.states.ranking_view import First, Groups, RankingTables, Rows
from streameval.states.views import Integers, total

__all__ = [
    "Degenerate", "Unranked", "all_first", "all_groups", "among", "by_gain", "by_row", "check", "check_gains", "choice",
    "hits_among", "judged", "mean_of", "one_sided", "ratio_of", "sum_of", "wrong_pairs",
]  # fmt: skip

Degenerate: TypeAlias = Literal["scikit-learn", "drop", "zero", "one"]
Unranked: TypeAlias = Literal["never", "last"]


def all_groups(tables: RankingTables, unranked: Unranked) -> Groups:
    """Tie groups with a true label, with ``"last"`` also those of all labels that are not ranked."""
    groups, rows = tables.groups, tables.rows
    if unranked == "never" or not (rows.u > 0).any():
        return groups
    rows = rows[rows.u > 0]
    t = rows.u * rows.times
    behind = (rows.m, rows.l, rows.l, rows.known - rows.l, t, t * rows.m, t * rows.u)
    ranked = (groups.m, groups.l, groups.a, groups.g, groups.t, groups.upto, groups.square)
    return Groups(*map(np.concatenate, zip(ranked, behind, strict=True)))


def all_first(tables: RankingTables, unranked: Unranked) -> First:
    """The best of these groups in each example."""
    first, rows = tables.first, tables.rows
    none = (rows.u == rows.m) & (rows.m > 0)
    if unranked == "never" or not none.any():
        return first
    rows = rows[none]
    behind = (rows.l, rows.known - rows.l, rows.u, rows.times)
    ranked = (first.a, first.g, first.t, first.times)
    return First(*map(np.concatenate, zip(ranked, behind, strict=True)))


def among(groups: Groups, k: int) -> Groups:
    """The groups that reach into the first k."""
    return groups[groups.a < k]


def hits_among(groups: Groups, k: int) -> Integers:
    """True labels expected among the first k, times the size of their group."""
    return np.asarray(groups.t * np.minimum(k - groups.a, groups.g))


def one_sided(rows: Rows) -> Flags:
    """Where nothing or everything is true."""
    return np.asarray((rows.m == 0) | (rows.m == rows.known))


def wrong_pairs(rows: Rows) -> Integers:
    """Wrong pairs, those of true labels that are not ranked among them."""
    return np.asarray(rows.wrong + rows.u * (rows.known - rows.m) * rows.times)


def by_row(
    rows: Rows, sums: Integers, den: Integers | int, blank: Flags, degenerate: Degenerate, zero_division: float
) -> Value:
    """The mean of what ``sums / den`` add up to."""
    den = np.broadcast_to(np.asarray(den), sums.shape)
    if choice("degenerate", degenerate, ("scikit-learn", "drop", "zero", "one")) == "scikit-learn":
        return mean_of(sum_of(sums, den), total(rows.times), zero_division)
    return judged(rows, sum_of(sums[~blank], den[~blank]), blank, degenerate, zero_division)


def by_gain(tables: RankingTables, sums: Fraction, degenerate: Degenerate, zero_division: float) -> Value:
    """The mean of values that add up to ``sums``, to which examples without true labels add nothing."""
    return judged(tables.rows, sums, tables.rows.m == 0, degenerate, zero_division)


def judged(rows: Rows, sums: Fraction, blank: Flags, degenerate: Degenerate, zero_division: float) -> Value:
    """The mean of values that add up to ``sums`` without the examples that are ``blank``."""
    choice("degenerate", degenerate, ("scikit-learn", "drop", "zero", "one"))
    if degenerate == "drop":
        return mean_of(sums, total(rows.times[~blank]), zero_division)
    if degenerate == "one":
        sums += total(rows.times[blank])
    return mean_of(sums, total(rows.times), zero_division)


def sum_of(num: Integers, den: Integers) -> Fraction:
    """The sum of ``num / den``, exact or with at least 60 guard bits."""
    value = mean(Ratios(num, den), None, 0.0)
    return value * len(num) if value else Fraction(0)


def mean_of(sums: Fraction | int, whole: int, zero_division: float) -> Value:
    """A sum over examples divided by what they weigh."""
    return ratio_of(Fraction(sums), Fraction(whole), zero_division)


def ratio_of(num: Fraction, den: Fraction, zero_division: float) -> Value:
    """One ratio, under the rule for 0/0."""
    ratio = Ratios(
        np.array([num.numerator * den.denominator], object), np.array([num.denominator * den.numerator], object)
    )
    return mean(ratio, None, zero_division)


def check(k: int | None, unranked: str) -> None:
    """Refuse parameters that cannot be."""
    if k is not None and (type(k) is not int or k < 1):
        raise MetricError(f"k must be an integer of at least 1, not {quoted(k)}")
    choice("unranked", unranked, ("never", "last"))


def check_gains(tables: RankingTables, k: int) -> None:
    """Refuse a k up to which gains are not kept."""
    check(k, "never")
    if k > tables.options.gain_ranks:
        kept = tables.options.gain_ranks
        raise MetricError(
            f"k is {k}, but propensity-scored gains are kept up to rank {kept}; name this metric when building"
        )


def choice(name: str, value: str, known: tuple[str, ...]) -> str:
    """One of some words, or `MetricError`."""
    if value not in known:
        raise MetricError(f"{name} must be one of {', '.join(known)}, not {quoted(value)}")
    return value
