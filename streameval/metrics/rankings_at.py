"""Metrics of the first k labels; formulas return the sum over examples with a true label, as in `rankings`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from streameval.errors import InputError, MetricError
from streameval.kernel.types import IntArray
from streameval.metrics.averaging import Value, ratio_of, sum_of
from streameval.metrics.catalogue import Formula, Reading
from streameval.metrics.logarithms import BITS, discounts, log2, reciprocals, sums_of_discounts
from streameval.metrics.rankings import DEGENERATE, Unranked, Usual, all_groups, by_sums, ranking
from streameval.metrics.spec import MetricSpec, Parameter
from streameval.schema.keywords import explained
from streameval.schema.labels import ByLabel, Label
from streameval.schema.text import number_or_none, quoted
from streameval.states.options import ENDLESS
from streameval.states.rankings import First, Groups, RankingTables
from streameval.states.views import total

__all__ = ["jain_propensities"]

_MANNING = "Manning, Raghavan & Schütze 2008, Introduction to information retrieval"
_JAIN = "Jain, Prabhu & Varma 2016, Extreme multi-label loss functions, KDD"
_JARVELIN = "Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4)"

_FIFTY = Context(prec=50, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999, capitals=1, clamp=0, traps=[])
_ONE = 1 << BITS

_MOST = 10**9  # the largest k, so that a product of two is int64
_K = Parameter("k", 5, 1, _MOST, whole=True)
_DIVISOR = Parameter("divisor", "k", choices=("k", "ranked"))
_UNRANKED = Parameter("unranked", "never", choices=("never", "last"))


def _at(
    *entry: str,
    parameters: tuple[Parameter, ...] = (),
    k: int | None = 5,
    usual: Usual = "zero",
    by: Callable[..., Reading] = by_sums,
    **choices: Any,
) -> Callable[[Formula], Formula]:
    """Enters a formula of gains at k."""
    own = (_K._replace(default=k), *parameters, _UNRANKED, DEGENERATE)
    return ranking(*entry, read=partial(by, usual=usual), parameters=own, **choices)


def _hit_cutoff(spec: MetricSpec) -> dict[str, Any]:
    """The option that a divisor needs: with ``"hits"``, hits among the first k are counted."""
    divisor, k = spec.parameter("divisor"), spec.parameter("k")
    if divisor in ("ranked", "hits") and spec.parameter("unranked") == "last":
        raise MetricError(f"{spec.key} counts labels that have a rank of their own; it needs unranked=never")
    if divisor == "hits" and k is None:
        example = "write map_at(k=10, divisor=hits)"
        raise MetricError(f"{spec.key} requires k, since its hits are those among the first k; {example}")
    return {"hit_cutoff": k} if divisor == "hits" else {}


def _by_hits(formula: Callable[..., tuple[int, IntArray]], **choices: Any) -> Reading:
    """A reading of hits: from groups and places among the first k, the formula makes a factor of hits and a divisor."""

    def sums(tables: RankingTables, k: int, unranked: Unranked, divisor: str = "k") -> Fraction:
        groups = groups_to(tables, k, unranked)
        places = np.minimum(k, groups.l) if divisor == "ranked" else np.full_like(groups.l, k)
        times, den = formula(groups, places)
        return sum_of(times * groups.t * np.minimum(k - groups.a, groups.g), groups.g * den)

    return by_sums(sums, **choices)


_of_hits = partial(_at, by=_by_hits)
_of_hits(
    "precision_at", "Fraction of the top k labels that are true.", "hits / k, mean over examples", _JAIN,
    parameters=(_DIVISOR,), needs=_hit_cutoff, aliases=("p_at",),
    notes="Divided by k in Spark's RankingMetrics; with ``divisor=\"ranked\"`` by min(k, l), as in Hivemall.",
)(lambda _, places: (1, places))  # fmt: skip
_of_hits(
    "recall_at", "Fraction of true labels that are in the top k.", "hits / m, mean over examples", _MANNING,
    aliases=("r_at",),
)(lambda groups, _: (1, groups.m))  # fmt: skip
_of_hits(
    "f1_at", "Harmonic mean of precision and recall at k.", "2 hits / (k + m), mean over examples",
    "van Rijsbergen 1979, Information Retrieval", parameters=(_DIVISOR,), needs=_hit_cutoff,
    notes="With ``divisor=\"ranked\"`` min(k, l) takes the place of k, as in Hivemall.",
)(lambda groups, places: (2, places + groups.m))  # fmt: skip


@_at(
    "hit_at", "Fraction of examples with a true label in the top k.", "[hits > 0], mean over examples",
    "Hivemall, hitrate", aliases=("hit_rate",),
)  # fmt: skip
def hit_at(tables: RankingTables, k: int, unranked: Unranked) -> Fraction:
    """Hidasi et al. 2016, Session-based recommendations with recurrent neural networks, ICLR."""
    return chances_of_a_hit(first_groups(tables, unranked), k)


@_at(
    "abandonment_at", "Fraction of examples with no true label in the top k.", "[hits = 0], mean over examples",
    "Chen & Karger 2006, Less is more: probabilistic models for retrieving fewer relevant documents, SIGIR",
    usual="one", bigger_is_better=False,
)  # fmt: skip
def abandonment_at(tables: RankingTables, k: int, unranked: Unranked) -> Fraction:
    """An example without true labels counts 1 unless chosen otherwise. napkinXC's function of this name is `hit_at`."""
    rows, first = tables.rows, first_groups(tables, unranked)
    never = total(rows.times[(rows.m > 0) & (rows.u == rows.m)]) if unranked == "never" else 0
    return never + total(first.times[first.a >= k]) + chances_of_a_hit(first, k, missed=True)


@ranking(
    "r_precision", "Precision at k, with k the number of true labels of each example.",
    "hits among the first m / m, mean over examples", _MANNING, read=by_sums, parameters=(_UNRANKED, DEGENERATE),
    reported=("samples",),
)  # fmt: skip
def r_precision(tables: RankingTables, unranked: Unranked) -> Fraction:
    groups = all_groups(tables, unranked)
    groups = groups[groups.a < groups.m]
    return sum_of(groups.t * np.minimum(groups.m - groups.a, groups.g), groups.g * groups.m)


@_at(
    "map_at", "Mean over examples of the average precision at k.",
    "sum of the precision at the rank of each hit / min(m, k), the hits, or m, mean over examples",
    "Spark, RankingMetrics; Hivemall; " + _MANNING, class_name="MeanAveragePrecisionAt", k=None,
    unclear=("map", "mean_average_precision"),
    parameters=(Parameter("divisor", "min", choices=("min", "hits", "true")),), needs=_hit_cutoff,
)  # fmt: skip
def map_at(tables: RankingTables, k: int, divisor: str, unranked: Unranked) -> Fraction:
    """Divided by min(m, k) in Spark; ``"hits"``: by the hits among the first k, as in Hivemall; ``"true"``: by m.

    The hits must be counted from the start, and labels that are not ranked are never among them.
    """
    if divisor == "hits":
        cutoffs = tables.options.hit_cutoffs
        if k not in cutoffs:
            counted = f'divisor="hits" is counted for k in {quoted(cutoffs)}, not for {None if k == ENDLESS else k}'
            raise MetricError(f"{counted}; name this metric when constructing")
        return average_precision_of_hits(tables.hits, k)
    groups = groups_to(tables, k, unranked)
    return average_precision_of(groups, groups.m if divisor == "true" else np.minimum(groups.m, k), k)


@_at(
    "mrr", "Mean reciprocal rank of the best true label, 0 if it is not in the top k.",
    "1 / best true rank, mean over examples", "Voorhees 1999, The TREC-8 question answering track report",
    class_name="MeanReciprocalRank", k=None, reported=("samples",),
)  # fmt: skip
def mrr(tables: RankingTables, k: int, unranked: Unranked) -> Fraction:
    first = first_groups(tables, unranked)
    clear = first[(first.g == first.t) & (first.a < k)]
    units = 0
    for a, g, t, times in first[first.g != first.t].tolist():
        chance, expected = _ONE * t // g, 0  # the chance that the j-th label of the group is its first true one
        for j in range(1, min(g, k - a) + 1):
            expected += chance // (a + j)
            chance = chance * (g - j - t + 1) // max(1, g - j)
            if not chance:
                break
        units += times * expected
    return sum_of(clear.times, clear.a + 1) + Fraction(units, _ONE)


@_at(
    "dcg", "Sum of the hits in the top k, discounted by log2 of the rank.",
    "sum of 1 / log(1 + rank) over hits, mean over examples", _JARVELIN, class_name="DiscountedCumulativeGain", k=None,
    parameters=(Parameter("log_base", 2.0, 1.0, math.inf, above=True),), high=math.inf, aliases=("dcg_score",),
)  # fmt: skip
def dcg(tables: RankingTables, k: int, log_base: float, unranked: Unranked) -> Fraction:
    """Tied labels as McSherry & Najork 2008, Computing IR performance measures efficiently in the presence of ties."""
    return Fraction(sum(value // g for _, g, value in _gained(tables, k, unranked)), 1 << BITS) * log2(log_base)


@_at(
    "ndcg", "Discounted cumulative gain divided by that of a perfect ranking.",
    "dcg / dcg of a perfect ranking, mean over examples", _JARVELIN, class_name="NormalizedDiscountedCumulativeGain",
    k=None, aliases=("ndcg_score",), reported=("samples",),
)  # fmt: skip
def ndcg(tables: RankingTables, k: int, unranked: Unranked) -> Fraction:
    """A perfect ranking has its hits at the ranks 1 ... min(m, k). Tied labels as for `dcg`."""
    sums = 0
    for m, g, value in _gained(tables, k, unranked):
        ideal = min(m, k)
        sums += (value << BITS) // (g * discounts(ideal)[ideal])
    return Fraction(sums, 1 << BITS)


def _gained(tables: RankingTables, k: int, unranked: Unranked) -> list[tuple[int, int, int]]:
    """For each pair of m and g: m, g, and g times the sum of all gains, in units of ``2**-BITS``."""
    groups = groups_to(tables, k, unranked)
    return sums_of_discounts(groups.a, np.minimum(groups.a + groups.g, k), groups.t, (groups.m, groups.g))


def _by_ratio(formula: Callable[..., tuple[Fraction | int, Fraction | int]]) -> Reading:
    def read(tables: RankingTables, spec: MetricSpec) -> Value:
        num, den = formula(tables, **dict(spec.parameters))
        return ratio_of(num, den, spec.zero_division)

    return read


_ratio = partial(ranking, read=_by_ratio)
_propensity_scored = partial(
    _ratio, needs=lambda spec: {"gain_ranks": spec.parameter("k")}, arguments=("inverse_propensities",)
)


@_propensity_scored(
    "psp_at", "Precision at k with each hit weighted by the inverse propensity of its label.",
    "sum of inverse propensities of hits / the greatest possible", _JAIN, class_name="PropensityScoredPrecisionAt",
    parameters=(_K, Parameter("normalize", True)), aliases=("psprecision_at",),
)  # fmt: skip
def psp_at(tables: RankingTables, k: int, normalize: bool) -> tuple[Fraction, Fraction | int]:
    """Without ``normalize`` divided by k times the number of examples."""
    sums, best = _weighted(tables, k, range(k + 1), lambda _: 1)
    return sums, best if normalize else k * total(tables.rows.times)


@_propensity_scored(
    "psndcg_at", "nDCG at k with each hit weighted by the inverse propensity of its label.",
    "sum of discounted inverse propensities of hits / the greatest possible", _JAIN,
    class_name="PropensityScoredNDCGAt",
    parameters=(_K._replace(high=10**6), Parameter("norm", "k", choices=("k", "min")), Parameter("normalize", True)),
)  # fmt: skip
def psndcg_at(tables: RankingTables, k: int, norm: str, normalize: bool) -> tuple[Fraction, Fraction | int]:
    """Gains are divided by the sum of the discounts up to rank k, or with ``norm="min"`` up to min(m, k), as napkinXC.

    Without ``normalize`` their sum is divided by the number of examples.
    """
    table = discounts(k)
    sums, best = _weighted(tables, k, table, lambda m: table[k if norm == "k" else min(m, k)])
    return sums, best if normalize else total(tables.rows.times)


def _weighted(
    tables: RankingTables, k: int, table: Sequence[int], divisor: Callable[[int], int]
) -> tuple[Fraction, Fraction]:
    """Gains of the first k, and the greatest possible ones; ``table`` holds the sums of discounts up to each rank."""
    _check(k, "propensity-scored gains", tables.options.gain_ranks)
    sums = best = Fraction(0)
    for (m, a, g), gain in tables.gains:
        if a < k:
            sums += gain * Fraction(table[min(a + g, k)] - table[a], g * divisor(m))
    for (m, rank), gain in tables.ideals:
        if rank <= k:
            best += gain * Fraction(table[rank] - table[rank - 1], divisor(m))
    return sums, best


def _check(k: int, what: str, ranks: int) -> None:
    if k > ranks:
        raise MetricError(f"{what} are counted up to rank {ranks}, and k is {k}; name this metric when constructing")


@_ratio(
    "label_coverage_at", "Fraction of labels that are a hit in the top k of at least one example.",
    "labels with a hit / labels ever true",
    "Schultheis et al. 2023, Generalized test utilities for long-tail performance in extreme multi-label "
    "classification",
    parameters=(_K, Parameter("of", "true", choices=("true", "all"))),
    needs=lambda spec: {"label_ranks": spec.parameter("k")},
)  # fmt: skip
def label_coverage_at(tables: RankingTables, k: int, of: str) -> tuple[int, int]:
    """A label is a hit in an example in which it is true and surely among the first k, whatever the example weighs."""
    _check(k, "hits by label", tables.options.label_ranks)
    column, rank = tables.label_hits
    covered = len(np.unique(column[(rank > 0) & (rank <= k)]))
    return covered, tables.size if of == "all" else int(np.count_nonzero(rank == 0))


# -- expected values over all orders of tied labels --------------------------------------------------------------------


def first_groups(tables: RankingTables, unranked: Unranked) -> First:
    """The best group with a true label of each example."""
    if unranked == "never":
        return tables.first
    rows = tables.rows
    rows = rows[(rows.u == rows.m) & (rows.m > 0)]
    return tables.first.followed_by(rows.l, rows.known - rows.l, rows.u, rows.times)


def groups_to(tables: RankingTables, k: int, unranked: Unranked) -> Groups:
    """The groups that have labels among the first k."""
    groups = all_groups(tables, unranked)
    return groups[groups.a < k]


def chances_of_a_hit(first: First, k: int, missed: bool = False) -> Fraction:
    """The sum of the chances, which can be tiny, of a hit (or no hit) among the first k, if ``first`` starts there."""
    num, den = [], []
    for a, g, t, times in first[first.a < k].tolist():
        places = min(k - a, g)
        few, many = min(places, t), max(places, t)  # all t true labels miss `places` places, or the other way round
        orders, misses = math.perm(g, few), math.perm(g - many, few)
        num.append(times * (misses if missed else orders - misses))
        den.append(orders)
    return sum_of(np.array(num, object), np.array(den, object))


def average_precision_of(groups: Groups, divisors: IntArray, k: int) -> Fraction:
    """The sum over groups of the expected precisions at the ranks of their true labels up to k, over ``divisors``."""
    plain, units = groups.g == 1, 0
    sums = sum_of(groups.upto[plain], (groups.a[plain] + 1) * divisors[plain])
    for (*_, a, g, t, upto, square), divisor in zip(groups[~plain].tolist(), divisors[~plain].tolist(), strict=True):
        units += _precision(a, min(g, k - a), g, upto - square + t, square - t) // (g * divisor)
    return sums + Fraction(units, _ONE)


def average_precision_of_hits(hits: Iterable[tuple[list[int], list[int]]], k: int) -> Fraction:
    """The same, divided by the hits among the first k: for each number of hits in the group that straddles k."""
    units = 0
    for (cutoff, sure, places, size, true, a, g), (t, upto, square) in hits:
        if cutoff != k:
            continue
        # ``inside`` true labels of the group that straddles k may fall on its places among the first k.
        for inside in range(0 if sure else 1, min(places, true) + 1):
            ways = math.comb(true, inside) * math.comb(size - true, places - inside)
            if a + g <= k:
                of, value = g, _precision(a, g, g, upto - square + t, square - t)
            else:  # this is that group; each of its examples has the same t
                of, times = places, t // true
                first = (upto - square) // true + times
                value = inside * _precision(a, places, places, first, times * (inside - 1))
            units += value * ways // (of * (sure + inside) * math.comb(size, places))
    return Fraction(units, _ONE)


def _precision(a: int, places: int, size: int, first: int, second: int) -> int:
    """The sum of (``first`` + (i - 1) ``second`` / (``size`` - 1)) / (a + i) over the first places of a group.

    Up to a true label on place i there are true labels of better groups, itself, and a part of the rest of its group.
    """
    inverse = reciprocals(a, a + places)
    return first * inverse + second * ((places << BITS) - (a + 1) * inverse) // max(1, size - 1)


@explained
def jain_propensities(counts: ByLabel, examples: int, *, a: float = 0.55, b: float = 1.5) -> dict[Label, float]:
    """Inverse propensities of labels from their frequencies (Jain et al. 2016).

    ``1 + C (count + b)**-a`` with ``C = (ln(examples) - 1) (b + 1)**a``, at least 1. Correctly rounded, so it is the
    same on every machine.

    Source: Jain, Prabhu & Varma 2016, Extreme multi-label loss functions for recommendation, tagging, ranking & other
    missing label applications, KDD. a = 0.55 and b = 1.5 unless known better (0.5, 0.4 for Wikipedia's sets; 0.6, 2.6
    for Amazon's).

    Raises
    ------
    InputError
        If a count or a parameter has no propensity.

    Examples
    --------
    >>> jain_propensities({"rare": 1, "common": 5000}, 10_000)
    {'rare': 9.210340371976184, 'common': 1.1255229150322565}
    """
    numbers = [math.nan if (number := number_or_none(value)) is None else number for value in (a, b, examples)]
    if not all(map(math.isfinite, numbers)) or numbers[1] <= -1 or numbers[2] < 1:
        values = f"{quoted(a)}, {quoted(b)} and {quoted(examples)}"
        raise InputError(f"a and b must be finite, b above -1, and examples at least 1, not {values}")
    if not isinstance(counts, Mapping):
        raise InputError(f"counts must be a mapping label -> count, not {quoted(counts)}")
    inverse: dict[float | None, float] = {}
    with localcontext(_FIFTY):  # independent of the user's context
        exponent, shift, _ = map(Decimal, numbers)
        scale = Decimal(int(examples)).ln() - 1
        for label, count in (sizes := {label: number_or_none(count) for label, count in counts.items()}).items():
            if count not in inverse and count is not None and count >= 0 and 0 < count + numbers[1] < math.inf:
                inverse[count] = max(1.0, float(1 + scale * ((shift + 1) / (Decimal(count) + shift)) ** exponent))
            if not inverse.get(count, math.inf) < math.inf:
                none = f"label {quoted(label)}, true {quoted(counts[label])} times, has no propensity"  # type: ignore[index]
                advice = "give counts of at least 0, and choose b above 0"
                raise InputError(f"{none} with a = {quoted(a)} and b = {quoted(b)}; {advice}")
    return {label: inverse[count] for label, count in sizes.items()}
