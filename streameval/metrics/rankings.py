"""Metrics of pairs and of whole rankings; those at k are in `rankings_at`. Pure functions of tables.

Values are exact, or have more digits than a float64 can show.

Symbols, for one example: q labels take part (hidden ones do not), m of them are true, l are ranked, that is, have a
score. A label that is not ranked ranks behind all that are. ``rank`` counts from 1; tied labels share their ranks (see
`RankingOptions.ties` for the alternative), which means

- for metrics of pairs and of whole rankings, that a tie counts as an error: a true label has the last rank of its
  group;
- for metrics at k, reciprocal rank and discounted gain, that the value is the mean over all orders of tied labels.

All are means over examples, and share two choices. ``degenerate`` says what an example counts in which the ranking
cannot be judged: nothing is true (for some metrics also: everything is): ``"scikit-learn"`` (what it does, or where it
has no such metric, what the formula gives without it), ``"zero"``, ``"one"``, or ``"drop"``: not at all.
``zero_division`` is the value if no example is left: 0.0, 1.0, or NaN.

``unranked``, for metrics at k and of gain, says whether labels that are not ranked can be among the first k at all:
``"never"``, as in retrieval, or ``"last"``: they share the ranks behind all others.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streameval.metrics.averaging import Value
from streameval.metrics.ranking_means import (
    Degenerate,
    all_groups,
    by_row,
    choice,
    judged,
    mean_of,
    one_sided,
    sum_of,
    wrong_pairs,
)
from streameval.states.ranking_view import RankingTables
from streameval.states.views import total

__all__ = [
    "coverage_error", "error_set_size", "is_error", "label_ranking_average_precision", "margin_loss", "one_error",
    "ranking_loss",
]  # fmt: skip


def one_error(tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0) -> Value:
    """Share of the examples whose best ranked label is not true.

    [some false label ranks at least as high as the best true one], mean over examples, in [0, 1], lower is better.
    Degenerate: nothing is true, which is an error unless chosen otherwise.

    Source: Schapire & Singer 2000, BoosTexter: a boosting-based system for text categorization, Machine Learning 39.
    """
    rows = tables.rows
    none = np.where((rows.l > 0) | (rows.known > rows.m), rows.times, 0)  # no true label is ranked
    sums = np.where(rows.m == 0, rows.times, np.where(rows.u == rows.m, none, rows.missed))
    return by_row(rows, sums, 1, rows.m == 0, degenerate, zero_division)


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
    return by_row(rows, sums, 1, rows.m == 0, degenerate, zero_division)


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
    blank = one_sided(rows)
    return by_row(
        rows, wrong_pairs(rows), np.where(blank, 1, rows.m * (rows.known - rows.m)), blank, degenerate, zero_division
    )


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
    return by_row(rows, wrong_pairs(rows), 1, one_sided(rows), degenerate, zero_division)


def is_error(tables: RankingTables, *, degenerate: Degenerate = "scikit-learn", zero_division: float = 0.0) -> Value:
    """Share of the examples whose true labels do not all rank above all false ones.

    [wrong pairs > 0], mean over examples, in [0, 1], lower is better. Degenerate: nothing or everything is true, which
    counts 0 unless chosen otherwise.

    Source: Crammer & Singer 2003, A family of additive online algorithms for category ranking, JMLR 3; MULAN, IsError.
    """
    rows = tables.rows
    sums = np.where(rows.u > 0, np.where(rows.known > rows.m, rows.times, 0), rows.erring)
    return by_row(rows, sums, 1, one_sided(rows), degenerate, zero_division)


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
    return by_row(rows, sums, 1, one_sided(rows), degenerate, zero_division)


def label_ranking_average_precision(
    tables: RankingTables,
    *,
    tied: Literal["worst", "best"] = "worst",
    degenerate: Degenerate = "scikit-learn",
    zero_division: float = 0.0,
) -> Value:
    """Mean over true labels of the share of true labels among those that rank at least as high.

    (1 / m) sum over true labels of (true labels with a rank at most its own) / rank, mean over examples, in [0, 1],
    higher is better. With ``tied="best"`` the rank of a label is the first of its group, not the last; then the value
    can pass 1. Degenerate: nothing or everything is true, which counts 1 unless chosen otherwise (``tied="best"``: only
    if nothing is true).

    Source: Schapire & Singer 2000, BoosTexter, Machine Learning 39; scikit-learn's
    label_ranking_average_precision_score; best ranks: mldr, example_average_precision(ties_method = "min").
    """
    groups, rows = all_groups(tables, "last"), tables.rows
    best = choice("tied", tied, ("worst", "best")) == "best"
    num, den = groups.upto, groups.m * (groups.a + (1 if best else groups.g))
    nothing = rows.m == 0
    if choice("degenerate", degenerate, ("scikit-learn", "drop", "zero", "one")) == "scikit-learn":
        return mean_of(sum_of(num, den) + total(rows.times[nothing]), total(rows.times), zero_division)
    if best:
        return judged(rows, sum_of(num, den), nothing, degenerate, zero_division)
    # Each example in which everything is true has contributed 1, taken away before anything is rounded.
    everything = total(rows.times[(rows.m > 0) & (rows.m == rows.known)])
    if everything:
        num, den = np.append(num.astype(object), -everything), np.append(den, 1)
    return judged(rows, sum_of(num, den), one_sided(rows), degenerate, zero_division)
