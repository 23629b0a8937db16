"""Metrics of rankings: pure functions of `RankingTables`, exact or with more digits than a float64 can show.

Symbols, for one example: q labels take part (hidden ones do not), m of them are true, l are ranked, that is, have a
score. A label that is not ranked ranks behind all that are. ``rank`` counts from 1; tied labels share their ranks (see
`RankingOptions.ties` for the alternative), which means

- for metrics of pairs and of whole rankings, that a tie counts as an error: a true label has the last rank of its group;
- for metrics at k, reciprocal rank and discounted gain, that the value is the mean over all orders of tied labels.

All are means over examples, and share two choices. ``degenerate`` says what an example counts in which the ranking
cannot be judged: nothing is true (for some metrics also: everything is): ``"scikit-learn"`` (what it does, or where it
has no such metric, what the formula gives without it), ``"zero"``, ``"one"``, or ``"drop"``: not at all.
``zero_division`` is the value if no example is left: 0.0, 1.0, or NaN.

``unranked``, for metrics at k and of gain, says whether labels that are not ranked can be among the first k at all:
``"never"``, as in retrieval, or ``"last"``: they share the ranks behind all others.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from streameval.errors import MetricError, shown
from streameval.kernel.types import Flags
from streameval.metrics.averaging import Ratios, Value, mean
from streameval.metrics.logarithms import BITS, discounts, log2, sums_of_discounts
from streameval.metrics.ties import average_precision_of, average_precision_of_hits, chance_of_a_hit, reciprocal_rank
from streameval.states.ranking_tables import First, Groups, RankingTables, Rows
from streameval.states.tables import Integers, total

__all__ = [
    "Degenerate", "Unranked", "abandonment_at", "coverage_error", "dcg", "error_set_size", "f1_at", "hit_at", "is_error",
    "label_coverage_at", "label_ranking_average_precision", "map_at", "margin_loss", "mrr", "ndcg", "one_error",
    "precision_at", "psndcg_at", "psp_at", "r_precision", "ranking_loss", "recall_at",
]  # fmt: skip

Degenerate: TypeAlias = Literal["scikit-learn", "drop", "zero", "one"]
Unranked: TypeAlias = Literal["never", "last"]

_ENDLESS = 1 << 40  # further than any rank


# -- pairs and whole rankings -------------------------------------------------------------------------------------------


def one_error(tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0) -> Value:
    """Share of the examples whose best ranked label is not true.

    [some false label ranks at least as high as the best true one], mean over examples, in [0, 1], lower is better.
    Degenerate: nothing is true, which is an error unless chosen otherwise.

    Source: Schapire & Singer 2000, BoosTexter: a boosting-based system for text categorization, Machine Learning 39.
    """
    rows = tables.rows
    none = np.where((rows.l > 0) | (rows.known > rows.m), rows.times, 0)  # no true label is ranked
    sums = np.where(rows.m == 0, rows.times, np.where(rows.u == rows.m, none, rows.missed))
    return _by_row(rows, sums, 1, rows.m == 0, degenerate, zero_division)


def coverage_error(
    tables: RankingTables,
    *,
    minus_one: bool = False,
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """How far down the ranking one must go to meet all true labels.

    max over true labels of rank (``minus_one``: less 1), mean over examples, in [0, q], lower is better. Degenerate:
    nothing is true, which counts 0 unless chosen otherwise.

    Source: Schapire & Singer 2000, BoosTexter, Machine Learning 39 (minus one); scikit-learn, coverage_error.
    """
    rows = tables.rows
    sums = np.where(rows.u > 0, rows.known * rows.times, rows.last)
    if minus_one:
        sums = np.where(rows.m > 0, sums - rows.times, sums)
    return _by_row(rows, sums, 1, rows.m == 0, degenerate, zero_division)


def ranking_loss(
    tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0
) -> Value:
    """Share of the pairs of a true and a false label in which the false one ranks at least as high.

    wrong pairs / (m (q - m)), mean over examples, in [0, 1], lower is better. Degenerate: nothing or everything is
    true, which counts 0 unless chosen otherwise.

    Source: Schapire & Singer 1999, Improved boosting algorithms using confidence-rated predictions, Machine Learning
    37(3); Tsoumakas, Katakis & Vlahavas 2010, Mining multi-label data.
    """
    rows = tables.rows
    blank = _flat(rows)
    return _by_row(rows, _wrong(rows), np.where(blank, 1, rows.m * (rows.known - rows.m)), blank, degenerate, zero_division)


def error_set_size(
    tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0
) -> Value:
    """Number of pairs of a true and a false label in which the false one ranks at least as high.

    wrong pairs, mean over examples, in [0, q² / 4], lower is better. Degenerate: nothing or everything is true, which
    counts 0 unless chosen otherwise.

    Source: Loza Mencía & Fürnkranz 2010, Efficient multilabel classification algorithms for large-scale problems in the
    legal domain; MULAN, ErrorSetSize.
    """
    rows = tables.rows
    return _by_row(rows, _wrong(rows), 1, _flat(rows), degenerate, zero_division)


def is_error(tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0) -> Value:
    """Share of the examples whose true labels do not all rank above all false ones.

    [wrong pairs > 0], mean over examples, in [0, 1], lower is better. Degenerate: nothing or everything is true, which
    counts 0 unless chosen otherwise.

    Source: Crammer & Singer 2003, A family of additive online algorithms for category ranking, JMLR 3; MULAN, IsError.
    """
    rows = tables.rows
    sums = np.where(rows.u > 0, np.where(rows.known > rows.m, rows.times, 0), rows.erring)
    return _by_row(rows, sums, 1, _flat(rows), degenerate, zero_division)


def margin_loss(tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0) -> Value:
    """How many ranks the worst true label lies behind the best false one.

    max(0, max over true labels of rank - min over false labels of rank), mean over examples, in [0, q - 1], lower is
    better. Degenerate: nothing or everything is true, which counts 0 unless chosen otherwise.

    Source: Loza Mencía & Fürnkranz 2010, Efficient multilabel classification algorithms for large-scale problems in the
    legal domain; MULAN, MarginLoss.
    """
    rows = tables.rows
    unseen = np.where(rows.known > rows.m, (rows.known - 1) * rows.times - rows.lead, 0)
    sums = np.where(rows.m == 0, 0, np.where(rows.u > 0, unseen, rows.last - rows.lead - rows.erring))
    return _by_row(rows, sums, 1, _flat(rows), degenerate, zero_division)


def label_ranking_average_precision(
    tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0
) -> Value:
    """Mean over true labels of the share of true labels among those that rank at least as high.

    (1 / m) sum over true labels of (true labels with a rank at most its own) / rank, mean over examples, in [0, 1],
    higher is better. Degenerate: nothing or everything is true, which counts 1 unless chosen otherwise.

    Source: Schapire & Singer 2000, BoosTexter, Machine Learning 39; scikit-learn, label_ranking_average_precision_score.
    """
    groups, rows = _groups(tables, "last"), tables.rows
    sums = _sum(groups.upto, groups.m * (groups.a + groups.g))
    everything = total(rows.times[(rows.m > 0) & (rows.m == rows.known)])  # each of these has contributed 1
    if degenerate == "scikit-learn":
        sums += total(rows.times[rows.m == 0])
        return _mean(sums, total(rows.times), zero_division)
    return _judged(rows, sums - everything, _flat(rows), degenerate, zero_division)


# -- at k -----------------------------------------------------------------------------------------------------------------


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
    _check(k, unranked)
    if _choice("divisor", divisor, ("k", "ranked")) == "ranked" and unranked == "last":
        raise MetricError('divisor="ranked" counts labels that have a rank of their own; it needs unranked="never"')
    groups = _among(_groups(tables, unranked), k)
    places = np.minimum(k, groups.l) if divisor == "ranked" else np.full_like(groups.l, k)
    return _at(tables, _sum(_hits(groups, k), groups.g * places), degenerate, zero_division)


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
    _check(k, unranked)
    groups = _among(_groups(tables, unranked), k)
    return _at(tables, _sum(_hits(groups, k), groups.g * groups.m), degenerate, zero_division)


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
    _check(k, unranked)
    if _choice("divisor", divisor, ("k", "ranked")) == "ranked" and unranked == "last":
        raise MetricError('divisor="ranked" counts labels that have a rank of their own; it needs unranked="never"')
    groups = _among(_groups(tables, unranked), k)
    places = np.minimum(k, groups.l) if divisor == "ranked" else np.full_like(groups.l, k)
    return _at(tables, _sum(2 * _hits(groups, k), groups.g * (places + groups.m)), degenerate, zero_division)


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
    _check(None, unranked)
    groups = _groups(tables, unranked)
    groups = groups[groups.a < groups.m]
    hits = groups.t * np.minimum(groups.m - groups.a, groups.g)
    return _at(tables, _sum(hits, groups.g * groups.m), degenerate, zero_division)


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
    _check(k, unranked)
    return _at(tables, chance_of_a_hit(_first(tables, unranked), k), degenerate, zero_division)


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
    _check(k, unranked)
    rows = tables.rows
    blank = rows.m == 0
    sums = total(rows.times[~blank]) - chance_of_a_hit(_first(tables, unranked), k)
    if degenerate == "scikit-learn":
        return _mean(sums + total(rows.times[blank]), total(rows.times), zero_division)
    return _judged(rows, sums, blank, degenerate, zero_division)


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
    _check(k, unranked)
    sums = reciprocal_rank(_first(tables, unranked), _ENDLESS if k is None else k)
    return _at(tables, sums, degenerate, zero_division)


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
    _check(k, unranked)
    if _choice("divisor", divisor, ("min", "hits", "true")) == "hits":
        if k is None or k not in tables.options.hit_cutoffs or unranked == "last":
            raise MetricError(
                f'divisor="hits" counts ranked labels at a k that was declared in hit_cutoffs '
                f'({shown(tables.options.hit_cutoffs)}), not at {shown(k)} with unranked="{unranked}"'
            )
        return _at(tables, average_precision_of_hits(tables.hits, k), degenerate, zero_division)
    far = _ENDLESS if k is None else k
    groups = _among(_groups(tables, unranked), far)
    share = groups.m if divisor == "true" else np.minimum(groups.m, far)
    return _at(tables, average_precision_of(groups, share, far), degenerate, zero_division)


# -- discounted gain --------------------------------------------------------------------------------------------------------


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
    _check(k, unranked)
    if not 0 < log_base < float("inf"):
        raise MetricError(f"log_base must be a positive number, not {shown(log_base)}")
    sums = Fraction(sum(value // g for _, g, value in _gained(tables, k, unranked)), 1 << BITS)
    return _at(tables, sums * log2(log_base), degenerate, zero_division)


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
    _check(k, unranked)
    sums, far = 0, _ENDLESS if k is None else k
    for m, g, value in _gained(tables, k, unranked):
        ideal = min(m, far)
        sums += (value << BITS) // (g * discounts(ideal)[ideal])
    return _at(tables, Fraction(sums, 1 << BITS), degenerate, zero_division)


def _gained(tables: RankingTables, k: int | None, unranked: Unranked) -> list[tuple[int, int, int]]:
    """For each m and g, g times the sum of all gains, in units of ``2**-BITS``."""
    far = _ENDLESS if k is None else k
    groups = _among(_groups(tables, unranked), far)
    stop = np.minimum(groups.a + groups.g, far)
    return sums_of_discounts(groups.a, stop, groups.t, (groups.m, groups.g))


# -- propensities -----------------------------------------------------------------------------------------------------------


def psp_at(tables: RankingTables, *, k: int, normalize: bool = True, zero_division: float = 0.0) -> Value:
    """Precision at k in which a true label counts the more, the likelier it is to be missed in the data.

    (sum over examples and true labels among the first k of inverse propensity) / (the same for the best ranking), in
    [0, 1], higher is better; without ``normalize`` divided by k times the number of examples instead. Needs
    `RankingOptions.propensities`.

    Source: Jain, Prabhu & Varma 2016, Extreme multi-label loss functions for recommendation, tagging, ranking & other
    missing label applications, KDD.
    """
    _check_gains(tables, k)
    sums = sum(
        (gain * Fraction(min(k - a, g), g) for (_, a, g), gain in tables.gains if a < k), Fraction(0)
    )  # fmt: skip
    best = sum((gain for (_, rank), gain in tables.ideals if rank <= k), Fraction(0))
    return _ratio(sums, best if normalize else k * Fraction(total(tables.rows.times)), zero_division)


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
    _check_gains(tables, k)
    _choice("norm", norm, ("k", "min"))
    table = discounts(k)
    sums = best = Fraction(0)
    for (m, a, g), gain in tables.gains:
        if a < k:
            sums += gain * Fraction(table[min(a + g, k)] - table[a], g * table[k if norm == "k" else min(m, k)])
    for (m, rank), gain in tables.ideals:
        if rank <= k:
            best += gain * Fraction(table[rank] - table[rank - 1], table[k if norm == "k" else min(m, k)])
    return _ratio(sums, best if normalize else Fraction(total(tables.rows.times)), zero_division)


def label_coverage_at(
    tables: RankingTables, *, k: int, of: Literal["true", "all"] = "true", zero_division: float = 0.0
) -> Value:
    """Share of the labels that are found at least once: true, and surely among the first k, in some example.

    labels found / labels that are ever true (``of="all"``: all labels), in [0, 1], higher is better. Examples count,
    whatever their weights. Needs `RankingOptions.label_ranks`.

    Source: Schultheis et al. 2023, Generalized test utilities for long-tail performance in extreme multi-label
    classification, NeurIPS; napkinXC, coverage_at_k.
    """
    _check(k, "never")
    if k > tables.options.label_ranks:
        raise MetricError(f"k is {k}, but hits by label are kept up to rank {tables.options.label_ranks}: label_ranks")
    _choice("of", of, ("true", "all"))
    hits = tables.label_hits
    found = sum(any(0 < rank <= k for rank in ranks) for ranks in hits.values())
    return _ratio(Fraction(found), Fraction(tables.size if of == "all" else len(hits)), zero_division)


# -- what they share --------------------------------------------------------------------------------------------------------


def _groups(tables: RankingTables, unranked: Unranked) -> Groups:
    """Tie groups with a true label, with ``"last"`` also those of all labels that are not ranked."""
    groups, rows = tables.groups, tables.rows
    if unranked == "never" or not (rows.u > 0).any():
        return groups
    rows = rows[rows.u > 0]
    t = rows.u * rows.times
    behind = (rows.m, rows.l, rows.l, rows.known - rows.l, t, t * rows.m, t * rows.u)
    ranked = (groups.m, groups.l, groups.a, groups.g, groups.t, groups.upto, groups.square)
    return Groups(*map(np.concatenate, zip(ranked, behind, strict=True)))


def _first(tables: RankingTables, unranked: Unranked) -> First:
    """The best of these groups in each example."""
    first, rows = tables.first, tables.rows
    none = (rows.u == rows.m) & (rows.m > 0)
    if unranked == "never" or not none.any():
        return first
    rows = rows[none]
    behind = (rows.l, rows.known - rows.l, rows.u, rows.times)
    ranked = (first.a, first.g, first.t, first.times)
    return First(*map(np.concatenate, zip(ranked, behind, strict=True)))


def _among(groups: Groups, k: int) -> Groups:
    """The groups that reach into the first k."""
    return groups[groups.a < k]


def _hits(groups: Groups, k: int) -> Integers:
    """True labels expected among the first k, times the size of their group."""
    return np.asarray(groups.t * np.minimum(k - groups.a, groups.g))


def _flat(rows: Rows) -> Flags:
    """Where nothing or everything is true."""
    return np.asarray((rows.m == 0) | (rows.m == rows.known))


def _wrong(rows: Rows) -> Integers:
    """Wrong pairs, those of true labels that are not ranked among them."""
    return np.asarray(rows.wrong + rows.u * (rows.known - rows.m) * rows.times)


def _by_row(
    rows: Rows, sums: Integers, den: Integers | int, blank: Flags, degenerate: Degenerate, zero_division: float
) -> Value:
    """The mean of what ``sums / den`` add up to."""
    den = np.broadcast_to(np.asarray(den), sums.shape)
    if _choice("degenerate", degenerate, ("scikit-learn", "drop", "zero", "one")) == "scikit-learn":
        return _mean(_sum(sums, den), total(rows.times), zero_division)
    return _judged(rows, _sum(sums[~blank], den[~blank]), blank, degenerate, zero_division)


def _at(tables: RankingTables, sums: Fraction, degenerate: Degenerate, zero_division: float) -> Value:
    """The mean of values that add up to ``sums``, to which examples without true labels add nothing."""
    return _judged(tables.rows, sums, tables.rows.m == 0, degenerate, zero_division)


def _judged(rows: Rows, sums: Fraction, blank: Flags, degenerate: Degenerate, zero_division: float) -> Value:
    """The mean of values that add up to ``sums`` without the examples that are ``blank``."""
    _choice("degenerate", degenerate, ("scikit-learn", "drop", "zero", "one"))
    if degenerate == "drop":
        return _mean(sums, total(rows.times[~blank]), zero_division)
    if degenerate == "one":
        sums += total(rows.times[blank])
    return _mean(sums, total(rows.times), zero_division)


def _sum(num: Integers, den: Integers) -> Fraction:
    """The sum of ``num / den``, exact or with at least 60 guard bits."""
    value = mean(Ratios(num, den), None, 0.0)
    return (value or Fraction(0)) * len(num)


def _mean(sums: Fraction | int, whole: int, zero_division: float) -> Value:
    return _ratio(Fraction(sums), Fraction(whole), zero_division)


def _ratio(num: Fraction, den: Fraction, zero_division: float) -> Value:
    ratio = Ratios(
        np.array([num.numerator * den.denominator], object), np.array([num.denominator * den.numerator], object)
    )
    return mean(ratio, None, zero_division)


def _check(k: int | None, unranked: str) -> None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise MetricError(f"k must be an integer of at least 1, not {shown(k)}")
    _choice("unranked", unranked, ("never", "last"))


def _check_gains(tables: RankingTables, k: int) -> None:
    _check(k, "never")
    if k > tables.options.gain_ranks:
        raise MetricError(f"k is {k}, but propensity-scored gains are kept up to rank {tables.options.gain_ranks}")


def _choice(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise MetricError(f"{name} must be one of {', '.join(known)}, not {shown(value)}")
    return value
