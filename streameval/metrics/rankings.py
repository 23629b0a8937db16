"""Metrics of pairs and of whole rankings, means over examples; those at k are in `rankings_at`.

Of the q labels of an example that are not masked, m are true and l are ranked, that is, have a score; the rest ranks
behind them. ``rank`` counts from 1. A tie counts as an error: a true label has the last rank of its group; metrics at
k, reciprocal rank and discounted gain are means over all orders of tied labels. (`RankingOptions.ties` has the
alternative.) ``degenerate`` says what an example counts whose ranking cannot be judged, and ``unranked`` whether labels
that are not ranked can be among the first k: ``"never"``, or ``"last"``, where they share the ranks behind all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import Flags
from streameval.metrics.averaging import Ratios, Value, each, mean, ratio_of, sum_of
from streameval.metrics.catalogue import Reading, metric
from streameval.metrics.spec import MetricSpec, Parameter
from streameval.schema.labels import Label
from streameval.states.options import ENDLESS
from streameval.states.rankings import Groups, RankingTables, Rows
from streameval.states.views import Integers, total

_SCHAPIRE = "Schapire & Singer 2000, BoosTexter: a boosting-based system for text categorization, Machine Learning 39"
_LOZA = "Loza Mencía & Fürnkranz 2010, Efficient multilabel classification algorithms for large-scale problems"

Unranked: TypeAlias = Literal["never", "last"]
Usual: TypeAlias = Literal["zero", "one"]
"""What degenerate examples count unless chosen otherwise."""

DEGENERATE = Parameter("degenerate", "scikit-learn", choices=("scikit-learn", "drop", "zero", "one"))

ranking = partial(metric, state="rankings", averages=("samples",), default="samples")
"""Enters a formula of rankings into the catalogue."""


def all_groups(tables: RankingTables, unranked: Unranked) -> Groups:
    """Tie groups with a true label; with ``"last"`` the labels that are not ranked are a group too."""
    if unranked == "never":
        return tables.groups
    rows = tables.rows[tables.rows.u > 0]
    t = rows.u * rows.times
    return tables.groups.followed_by(rows.m, rows.l, rows.l, rows.known - rows.l, t, t * rows.m, t * rows.u)


def nothing_true(rows: Rows) -> Flags:
    """Which rows have no true label."""
    return np.asarray(rows.m == 0)


def one_sided(rows: Rows) -> Flags:
    """Which rows have no true label or no false label."""
    return np.asarray((rows.m == 0) | (rows.m == rows.known))


def judged(rows: Rows, sums: Fraction, blank: Flags, degenerate: str, usual: str, zero_division: float) -> Value:
    """The mean over examples: ``sums`` is that of all but the ``blank`` examples, which count by ``degenerate``."""
    if degenerate == "drop":
        return ratio_of(sums, total(rows.times[~blank]), zero_division)
    if (usual if degenerate == "scikit-learn" else degenerate) == "one":
        sums += total(rows.times[blank])
    return ratio_of(sums, total(rows.times), zero_division)


def by_sums(
    formula: Callable[..., Fraction], blank: Callable[[Rows], Flags] = nothing_true, usual: Usual = "zero"
) -> Reading:
    """A reading of the mean; the formula returns the sum over rows that are not blank, and a k of None is endless."""

    def read(tables: RankingTables, spec: MetricSpec) -> Value:
        parameters: dict[str, Any] = {name: ENDLESS if value is None else value for name, value in spec.parameters}
        degenerate, rows = parameters.pop("degenerate"), tables.rows
        return judged(rows, formula(tables, **parameters), blank(rows), degenerate, usual, spec.zero_division)

    return read


def _by_rows(
    formula: Callable[..., tuple[Integers, Integers | int]], *, blank: Callable[[Rows], Flags], usual: Usual = "zero"
) -> Reading:
    """A reading of the mean over rows of the ratio that the formula returns as two arrays."""

    def sums(tables: RankingTables, **parameters: Any) -> Fraction:
        num, den = formula(tables.rows[~blank(tables.rows)], **parameters)
        return sum_of(num, np.broadcast_to(np.asarray(den), num.shape))

    return by_sums(sums, blank, usual)


_of_pairs = partial(ranking, read=partial(_by_rows, blank=one_sided), parameters=(DEGENERATE,), bigger_is_better=False)


@ranking(
    "one_error", "Fraction of examples whose top-ranked label is false.",
    "[a false label ranks at least as high as the best true one], mean over examples", _SCHAPIRE,
    read=partial(_by_rows, blank=nothing_true, usual="one"), parameters=(DEGENERATE,), bigger_is_better=False,
    reported=("samples",),
)  # fmt: skip
def one_error(rows: Rows) -> tuple[Integers, int]:
    """Degenerate: nothing is true, which counts 1 unless chosen otherwise."""
    unseen = np.where(rows.known > rows.m, rows.times, 0)  # no true label is ranked
    return np.where(rows.u == rows.m, unseen, rows.missed), 1


@ranking(
    "coverage_error", "Mean rank needed to cover all true labels.",
    "max rank of the true labels (minus_one: less 1), mean over examples", _SCHAPIRE + "; scikit-learn",
    read=partial(_by_rows, blank=nothing_true), parameters=(Parameter("minus_one", False), DEGENERATE), high=math.inf,
    bigger_is_better=False, aliases=("coverage",), reported=("samples",),
)  # fmt: skip
def coverage_error(rows: Rows, *, minus_one: bool) -> tuple[Integers, int]:
    """Degenerate: nothing is true, which counts 0 unless chosen otherwise."""
    last = np.where(rows.u > 0, rows.known * rows.times, rows.last)
    return last - rows.times if minus_one else last, 1


_of_pairs(
    "ranking_loss", "Fraction of (true, false) label pairs ranked in the wrong order.",
    "pairs with the false label at least as high / (m (q - m)), mean over examples",
    "Schapire & Singer 1999, Improved boosting algorithms using confidence-rated predictions, Machine Learning 37",
    aliases=("label_ranking_loss", "rank_loss"), reported=("samples",),
    notes="Degenerate: nothing or everything is true, which counts 0 unless chosen otherwise.",
)(lambda rows: (_wrong_pairs(rows), rows.m * (rows.known - rows.m)))  # fmt: skip
_of_pairs(
    "error_set_size", "Mean number of (true, false) label pairs ranked in the wrong order.",
    "pairs with the false label at least as high, mean over examples", _LOZA, high=math.inf,
    notes="In [0, q² / 4]. Degenerate: nothing or everything is true, which counts 0 unless chosen otherwise.",
)(lambda rows: (_wrong_pairs(rows), 1))  # fmt: skip
_of_pairs(
    "is_error", "Fraction of examples whose ranking is not perfect.",
    "[a pair is in the wrong order], mean over examples",
    "Crammer & Singer 2003, A family of additive online algorithms for category ranking, JMLR 3",
    notes="Degenerate: nothing or everything is true, which counts 0 unless chosen otherwise.",
)(lambda rows: (np.where(rows.u > 0, rows.times, rows.erring), 1))  # fmt: skip


@_of_pairs(
    "margin_loss", "Mean number of ranks from the best false label to the worst true label.",
    "max(0, worst true rank - best false rank), mean over examples", _LOZA, high=math.inf,
)  # fmt: skip
def margin_loss(rows: Rows) -> tuple[Integers, int]:
    """In [0, q - 1]. Degenerate: nothing or everything is true, which counts 0 unless chosen otherwise."""
    unseen = (rows.known - 1) * rows.times - rows.lead
    return np.where(rows.u > 0, unseen, rows.last - rows.lead - rows.erring), 1


def _wrong_pairs(rows: Rows) -> Integers:
    """The number of pairs in the wrong order, including those of true labels that are not ranked."""
    return np.asarray(rows.wrong + rows.u * (rows.known - rows.m) * rows.times)


@ranking(
    "label_ranking_average_precision",
    "Mean, over true labels, of the fraction of labels ranked at least as high that are true.",
    "mean over true labels of (true labels at least as high) / rank, mean over examples", _SCHAPIRE,
    read=lambda formula: formula, parameters=(Parameter("tied", "worst", choices=("worst", "best")), DEGENERATE),
    aliases=("lrap",), reported=("samples",),
)  # fmt: skip
def label_ranking_average_precision(tables: RankingTables, spec: MetricSpec) -> Value:
    """With ``tied="best"`` the rank of a label is the first of its group, not the last, and the value can pass 1.

    That is mldr's ``example_average_precision(ties_method = "min")``. Degenerate: nothing or everything is true
    (``tied="best"``: only if nothing is true), which counts 1 unless chosen otherwise.
    """
    groups, rows = all_groups(tables, "last"), tables.rows
    best = spec.parameter("tied") == "best"
    num, den = groups.upto, groups.m * (groups.a + (1 if best else groups.g))
    everything = 0 if best else total(rows.times[(rows.m > 0) & (rows.m == rows.known)])
    if everything:  # each such example contributed 1, which is taken away before rounding
        num, den = np.append(num.astype(object), -everything), np.append(den, 1)
    blank = nothing_true(rows) if best else one_sided(rows)
    return judged(rows, sum_of(num, den), blank, spec.parameter("degenerate"), "one", spec.zero_division)


@metric(
    "lwlrap", "Mean precision at the rank of a label, over the examples in which it is true.",
    "mean over the examples in which the label is true of (true labels at least as high) / rank",
    "Fonseca et al. 2019, Audio tagging with noisy labels and minimal supervision, DCASE workshop",
    class_name="LabelWeightedLRAP", state="rankings", read=lambda formula: formula, bare=True,
    averages=("weighted", "macro", None), default="weighted", needs=lambda _: {"label_ranks": ENDLESS},
)  # fmt: skip
def lwlrap(tables: RankingTables, spec: MetricSpec) -> Value | dict[Label, Value]:
    """Tied labels all have the last of their ranks; a true label without a score counts 0."""
    if not tables.options.label_precisions:
        raise MetricError("precisions of each label are not counted; name this metric when constructing")
    order = np.lexsort(tables.label_hits[::-1])
    column, rank, true, upto = (part[order] for part in (*tables.label_hits, *tables.label_sums))
    num, den, support = [], [], []
    for start, stop in np.searchsorted(column, np.stack([tables.columns, tables.columns + 1], axis=1)).tolist():
        hits, rest = sum_of(upto[start:stop], np.maximum(rank[start:stop], 1)).as_integer_ratio()
        support.append(total(true[start:stop][:1]))  # rank 0, the first, holds the support
        num.append(hits)
        den.append(rest * support[-1])
    ratios, times = Ratios(np.array(num, object), np.array(den, object)), np.array(support, object)
    if spec.average is None:
        return dict(zip(tables.labels, each(ratios, spec.zero_division), strict=True))
    return mean(ratios, times if spec.average == "weighted" else None, spec.zero_division)
