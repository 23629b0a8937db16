"""Metrics of the first k labels of a ranking; what they share is said in `streameval.metrics.rankings`."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.averaging import Value
from streameval.metrics.logarithms import BITS, discounts, log2, sums_of_discounts
from streameval.metrics.ranking_means import (
    Degenerate,
    Unranked,
    all_first,
    all_groups,
    among,
    by_gain,
    check,
    check_gains,
    choice,
    hits_among,
    judged,
    mean_of,
    ratio_of,
    sum_of,
)
from streameval.metrics.ties import average_precision_of, average_precision_of_hits, chance_of_a_hit, reciprocal_rank
from streameval.schema.text import quoted
from streameval.states.ranking_view import RankingTables
from streameval.states.views import total

__all__ = [
    "abandonment_at", "dcg", "f1_at", "hit_at", "label_coverage_at", "map_at", "mrr", "ndcg", "precision_at",
    "psndcg_at", "psp_at", "r_precision", "recall_at",
]  # fmt: skip

_ENDLESS = 1 << 40  # further than any rank


def precision_at(
    tables: RankingTables,
    *,
    k: int,
    divisor: Literal["k", "ranked"] = "k",
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Share of true labels among the first k.

    (true labels among the first k) / k, or with ``divisor="ranked"`` / min(k, l), mean over examples, in [0, 1],
    higher is better. Degenerate: nothing is true, which counts 0 unless chosen otherwise.

    Source: Jain, Prabhu & Varma 2016, KDD; divided by k in Spark's RankingMetrics, by min(k, l) in Hivemall.
    """
    check(k, unranked)
    if choice("divisor", divisor, ("k", "ranked")) == "ranked" and unranked == "last":
        raise MetricError('divisor="ranked" counts labels that have a rank of their own; it needs unranked="never"')
    groups = among(all_groups(tables, unranked), k)
    places = np.minimum(k, groups.l) if divisor == "ranked" else np.full_like(groups.l, k)
    return by_gain(tables, sum_of(hits_among(groups, k), groups.g * places), degenerate, zero_division)


def recall_at(
    tables: RankingTables,
    *,
    k: int,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Share of the true labels that are among the first k.

    (true labels among the first k) / m, mean over examples, in [0, 1], higher is better. Degenerate: nothing is true,
    which counts 0 unless chosen otherwise.

    Source: Manning, Raghavan & Schütze 2008, Introduction to information retrieval, 8.4.
    """
    check(k, unranked)
    groups = among(all_groups(tables, unranked), k)
    return by_gain(tables, sum_of(hits_among(groups, k), groups.g * groups.m), degenerate, zero_division)


def f1_at(
    tables: RankingTables,
    *,
    k: int,
    divisor: Literal["k", "ranked"] = "k",
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Harmonic mean of precision and recall at k.

    2 (true labels among the first k) / (k + m), or with ``divisor="ranked"`` / (min(k, l) + m), mean over examples, in
    [0, 1], higher is better. Degenerate: nothing is true, which counts 0 unless chosen otherwise.

    Source: van Rijsbergen 1979, Information retrieval; Hivemall, f1_measure at k.
    """
    check(k, unranked)
    if choice("divisor", divisor, ("k", "ranked")) == "ranked" and unranked == "last":
        raise MetricError('divisor="ranked" counts labels that have a rank of their own; it needs unranked="never"')
    groups = among(all_groups(tables, unranked), k)
    places = np.minimum(k, groups.l) if divisor == "ranked" else np.full_like(groups.l, k)
    return by_gain(tables, sum_of(2 * hits_among(groups, k), groups.g * (places + groups.m)), degenerate, zero_division)


def r_precision(
    tables: RankingTables,
    *,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Precision at m, the number of true labels: there it equals recall.

    (true labels among the first m) / m, mean over examples, in [0, 1], higher is better. Degenerate: nothing is true,
    which counts 0 unless chosen otherwise.

    Source: Manning, Raghavan & Schütze 2008, Introduction to information retrieval, 8.4.
    """
    check(None, unranked)
    groups = all_groups(tables, unranked)
    groups = groups[groups.a < groups.m]
    hits = groups.t * np.minimum(groups.m - groups.a, groups.g)
    return by_gain(tables, sum_of(hits, groups.g * groups.m), degenerate, zero_division)


def hit_at(
    tables: RankingTables,
    *,
    k: int,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Share of the examples with a true label among the first k.

    [some true label is among the first k], mean over examples, in [0, 1], higher is better. Degenerate: nothing is
    true, which counts 0 unless chosen otherwise.

    Source: Hivemall, hitrate; Hidasi et al. 2016, Session-based recommendations with recurrent neural networks, ICLR.
    """
    check(k, unranked)
    first = all_first(tables, unranked)
    chances = chance_of_a_hit(first[first.a < k], k)
    return by_gain(tables, sum_of(chances.num, chances.den), degenerate, zero_division)


def abandonment_at(
    tables: RankingTables,
    *,
    k: int,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Share of the examples with no true label among the first k.

    [no true label is among the first k], mean over examples, in [0, 1], lower is better. Degenerate: nothing is true,
    which counts 1 unless chosen otherwise. (napkinXC's function of this name is `hit_at`.)

    Source: Chen & Karger 2006, Less is more: probabilistic models for retrieving fewer relevant documents, SIGIR.
    """
    check(k, unranked)
    rows, first = tables.rows, all_first(tables, unranked)
    chances = chance_of_a_hit(first[first.a < k], k, missed=True)
    never = total(rows.times[(rows.m > 0) & (rows.u == rows.m)]) if unranked == "never" else 0
    sums, blank = never + total(first.times[first.a >= k]) + sum_of(chances.num, chances.den), rows.m == 0
    if degenerate == "scikit-learn":
        return mean_of(sums + total(rows.times[blank]), total(rows.times), zero_division)
    return judged(rows, sums, blank, degenerate, zero_division)


def mrr(
    tables: RankingTables,
    *,
    k: int | None = None,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Mean reciprocal rank of the best true label, 0 where it is not among the first k.

    1 / min over true labels of rank, mean over examples, in [0, 1], higher is better. Degenerate: nothing is true,
    which counts 0 unless chosen otherwise.

    Source: Voorhees 1999, The TREC-8 question answering track report.
    """
    check(k, unranked)
    sums = reciprocal_rank(all_first(tables, unranked), _ENDLESS if k is None else k)
    return by_gain(tables, sums, degenerate, zero_division)


def map_at(
    tables: RankingTables,
    *,
    k: int | None = None,
    divisor: Literal["min", "hits", "true"] = "min",
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Mean average precision at k: the precision at the rank of each true label among the first k, summed and divided.

    (sum over true labels among the first k of precision at their rank) / min(m, k), or m with ``divisor="true"``, or
    the number of true labels among the first k with ``divisor="hits"`` (0 if there are none), mean over examples, in
    [0, 1], higher is better. The last must be asked for beforehand, see `RankingOptions.hit_cutoffs`, and never counts
    labels that are not ranked. Degenerate: nothing is true, which counts 0 unless chosen otherwise.

    Source: Spark, RankingMetrics.meanAveragePrecisionAt (min); Hivemall, average_precision (hits); Manning, Raghavan &
    Schütze 2008, Introduction to information retrieval, 8.4 (true).
    """
    check(k, unranked)
    if choice("divisor", divisor, ("min", "hits", "true")) == "hits":
        if k is None or k not in tables.options.hit_cutoffs or unranked == "last":
            raise MetricError(
                f'divisor="hits" is kept for ranked labels at k in {quoted(tables.options.hit_cutoffs)}, not at '
                f'{quoted(k)} with unranked="{unranked}"; name this metric when building'
            )
        return by_gain(tables, average_precision_of_hits(tables.hits, k), degenerate, zero_division)
    far = _ENDLESS if k is None else k
    groups = among(all_groups(tables, unranked), far)
    share = groups.m if divisor == "true" else np.minimum(groups.m, far)
    return by_gain(tables, average_precision_of(groups, share, far), degenerate, zero_division)


# -- discounted gain ---------------------------------------------------------------------------------------------------


def dcg(
    tables: RankingTables,
    *,
    k: int | None = None,
    log_base: float = 2.0,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Discounted cumulative gain: each true label among the first k gains the less, the lower it ranks.

    sum over true labels of 1 / log(rank + 1), mean over examples, in [0, sum of all discounts], higher is better.
    Degenerate: nothing is true, which counts 0 unless chosen otherwise.

    Source: Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4); tied labels as
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.
    """
    check(k, unranked)
    if not 0 < log_base < float("inf"):
        raise MetricError(f"log_base must be a positive number, not {quoted(log_base)}")
    sums = Fraction(sum(value // g for _, g, value in _gained(tables, k, unranked)), 1 << BITS)
    return by_gain(tables, sums * log2(log_base), degenerate, zero_division)


def ndcg(
    tables: RankingTables,
    *,
    k: int | None = None,
    unranked: Unranked = "never",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Discounted cumulative gain as a share of that of a perfect ranking.

    (sum over true labels among the first k of 1 / log(rank + 1)) / (the same over ranks 1 ... min(m, k)), mean over
    examples, in [0, 1], higher is better. Degenerate: nothing is true, which counts 0 unless chosen otherwise.

    Source: Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4); tied labels as
    McSherry & Najork 2008, ECIR. In a state with ties="last" no labels are tied, as with scikit-learn's ignore_ties.
    """
    check(k, unranked)
    sums, far = 0, _ENDLESS if k is None else k
    for m, g, value in _gained(tables, k, unranked):
        ideal = min(m, far)
        sums += (value << BITS) // (g * discounts(ideal)[ideal])
    return by_gain(tables, Fraction(sums, 1 << BITS), degenerate, zero_division)


def _gained(tables: RankingTables, k: int | None, unranked: Unranked) -> list[tuple[int, int, int]]:
    """For each m and g, g times the sum of all gains, in units of ``2**-BITS``."""
    far = _ENDLESS if k is None else k
    groups = among(all_groups(tables, unranked), far)
    stop = np.minimum(groups.a + groups.g, far)
    return sums_of_discounts(groups.a, stop, groups.t, (groups.m, groups.g))


# -- propensities ------------------------------------------------------------------------------------------------------


def psp_at(tables: RankingTables, *, k: int, normalize: bool = True, zero_division: float = 0.0) -> Value:
    """Precision at k in which a true label counts the more, the likelier it is to be missed in the data.

    (sum over examples and true labels among the first k of inverse propensity) / (the same for the best ranking), in
    [0, 1], higher is better; without ``normalize`` divided by k times the number of examples instead. Needs
    `RankingOptions.propensities`.

    Source: Jain, Prabhu & Varma 2016, Extreme multi-label loss functions for recommendation, tagging, ranking & other
    missing label applications, KDD.
    """
    check_gains(tables, k)
    sums = sum(
        (gain * Fraction(min(k - a, g), g) for (_, a, g), gain in tables.gains if a < k), Fraction(0)
    )  # fmt: skip
    best = sum((gain for (_, rank), gain in tables.ideals if rank <= k), Fraction(0))
    return ratio_of(sums, best if normalize else k * Fraction(total(tables.rows.times)), zero_division)


def psndcg_at(
    tables: RankingTables,
    *,
    k: int,
    norm: Literal["k", "min"] = "k",
    normalize: bool = True,
    zero_division: float = 0.0,
) -> Value:
    """Discounted gain at k in which a true label counts the more, the likelier it is to be missed in the data.

    (sum over examples and true labels among the first k of inverse propensity / (log(rank + 1) N)) / (the same for the
    best ranking), N = sum over ranks 1 ... k (``norm="min"``: min(m, k)) of 1 / log(rank + 1), in [0, 1], higher is
    better; without ``normalize`` divided by the number of examples instead. Needs `RankingOptions.propensities`.

    Source: Jain, Prabhu & Varma 2016, KDD; ``norm="min"`` as napkinXC.
    """
    check_gains(tables, k)
    choice("norm", norm, ("k", "min"))
    table = discounts(k)
    sums = best = Fraction(0)
    for (m, a, g), gain in tables.gains:
        if a < k:
            sums += gain * Fraction(table[min(a + g, k)] - table[a], g * table[k if norm == "k" else min(m, k)])
    for (m, rank), gain in tables.ideals:
        if rank <= k:
            best += gain * Fraction(table[rank] - table[rank - 1], table[k if norm == "k" else min(m, k)])
    return ratio_of(sums, best if normalize else Fraction(total(tables.rows.times)), zero_division)


def label_coverage_at(
    tables: RankingTables, *, k: int, of: Literal["true", "all"] = "true", zero_division: float = 0.0
) -> Value:
    """Share of the labels that are found at least once: true, and surely among the first k, in some example.

    labels found / labels that are ever true (``of="all"``: all labels), in [0, 1], higher is better. Examples count,
    whatever their weights. Needs `RankingOptions.label_ranks`.

    Source: Schultheis et al. 2023, Generalized test utilities for long-tail performance in extreme multi-label
    classification, NeurIPS; napkinXC, coverage_at_k.
    """
    check(k, "never")
    if k > tables.options.label_ranks:
        kept = tables.options.label_ranks
        raise MetricError(f"k is {k}, but hits by label are kept up to rank {kept}; name this metric when building")
    choice("of", of, ("true", "all"))
    hits = tables.label_hits
    found = sum(any(0 < rank <= k for rank in ranks) for ranks in hits.values())
    return ratio_of(Fraction(found), Fraction(tables.size if of == "all" else len(hits)), zero_division)
