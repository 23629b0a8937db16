"""Confusion matrices and co-occurrence of labels; a masked label is neither true nor predicted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np

from streameval.errors import MetricError, above
from streameval.kernel.pairs import pairing
from streameval.kernel.types import FloatArray, IntArray
from streameval.metrics.averaging import Ratios, Value, each, mean, ratio_of
from streameval.metrics.catalogue import Formula, Reading, metric
from streameval.metrics.spec import Average, MetricSpec, Parameter, as_float, choice_text
from streameval.schema.labels import Label
from streameval.schema.text import check_choice
from streameval.states.pairs import PairTables
from streameval.states.views import Integers, total

__all__ = ["Matrix", "Normalize", "Score", "Side", "Values", "confusion_score"]

Normalize: TypeAlias = Literal["true", "pred", "all"] | None
Side: TypeAlias = Literal["true", "both", "pred"]
Values: TypeAlias = Literal["counts", "shares", "contributions"]
Score: TypeAlias = Literal["precision", "recall", "f1"]

of_pairs = partial(metric, state="pairs")
"""Enters a formula of pairs into the catalogue."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Exact sums for pairs of labels: entry ``k`` is ``num[k] / den`` at ``(row[k], column[k])``, everything else 0.

    Attributes
    ----------
    labels
        What rows and columns stand for, in this order; None, always last, is "no label".
    row, column
        Positions in ``labels``, in lexicographic order.
    num, den
        The entries, as integers over one denominator.
    """

    labels: tuple[Label | None, ...]
    row: IntArray
    column: IntArray
    num: Integers
    den: int

    __repr__ = above("report.text", "matrix_text")

    def sums(self, axis: Literal[0, 1]) -> list[int]:
        """The sum of each column (axis 0) or row (axis 1), in units of ``1 / den``."""
        sums = [0] * len(self.labels)
        for place, value in zip((self.column, self.row)[axis].tolist(), self.num.tolist(), strict=True):
            sums[place] += value
        return sums

    def values(self, normalize: Normalize = None) -> FloatArray:
        """The entries as floats, each rounded once, optionally normalised; infinite where no float is as large.

        "true" divides by row, so that a row says what became of a true label; "pred" by column; "all" by the sum.
        """
        check_choice("normalize", normalize, ("true", "pred", "all", None), MetricError)
        entries: list[int] = self.num.tolist()
        if normalize in ("true", "pred"):
            sums, places = (self.sums(1), self.row) if normalize == "true" else (self.sums(0), self.column)
            wholes = [sums[place] for place in places.tolist()]
        else:
            wholes = [self.den if normalize is None else sum(entries)] * len(entries)
        pairs = [(value, whole or 1) for value, whole in zip(entries, wholes, strict=True)]  # a sum of 0 leaves 0
        try:
            return np.array([value / whole for value, whole in pairs], np.float64)
        except OverflowError:
            return np.array([as_float(Fraction(value, whole)) for value, whole in pairs], np.float64)

    def dense(self, normalize: Normalize = None) -> FloatArray:
        """The whole matrix, shape (labels, labels); see `values`. Rows that sum to 0 stay 0."""
        matrix = np.zeros((len(self.labels), len(self.labels)), np.float64)
        matrix[self.row, self.column] = self.values(normalize)
        return matrix


def confusion_matrix(pairs: PairTables, *, values: Values = "counts") -> Matrix:
    """See `Evaluator.confusion_matrix`."""
    check_choice("values", values, get_args(Values), MetricError)
    keys, weights = pairs.of_kind(pairing.CONTRIBUTION if values == "contributions" else pairing.CONFUSION)
    nums, dens = (np.ones(len(keys), np.int64),) * 2 if values == "counts" else (keys[:, 3], keys[:, 4])
    common = math.lcm(*set(dens.tolist()))
    added = weights.astype(object) * nums * (common // dens.astype(object)) if len(keys) else weights
    none = len(pairs.labels)
    row, column = (np.where(keys[:, side] < 0, none, keys[:, side]) for side in (1, 2))
    place, inverse = np.unique(row * (none + 1) + column, return_inverse=True)
    num = np.zeros(len(place), object)
    np.add.at(num, inverse.ravel(), added)
    return Matrix((*pairs.labels, None), *np.divmod(place, none + 1), num, common << (pairs.scale or 0))


def cooccurrence(pairs: PairTables, *, side: Side = "true") -> Matrix:
    """See `Evaluator.cooccurrence`."""
    check_choice("side", side, get_args(Side), MetricError)
    kinds = {"true": pairing.TRUE_TRUE, "both": pairing.TRUE_PRED, "pred": pairing.PRED_PRED}
    keys, weights = pairs.of_kind(kinds[side])
    row, column, num = keys[:, 1], keys[:, 2], weights
    if side != "both":
        row, column, num = np.append(row, column), np.append(column, row), np.append(num, num)
    own = pairs.counts[side]
    there = np.flatnonzero(own != 0)
    row, column, num = np.append(row, there), np.append(column, there), np.append(num, own[there])
    order = np.lexsort((column, row))
    return Matrix(pairs.labels, row[order], column[order], num[order], 1 << (pairs.scale or 0))


def _of_matrix(score: Score) -> Callable[..., Reading]:
    """Reads a score of the confusion matrix that the parameter ``values`` names; the matrix is made once for all."""

    def read(tables: PairTables, spec: MetricSpec) -> Value | dict[Label, Value]:
        values = spec.parameter("values")
        matrix = tables.once(values, lambda: confusion_matrix(tables, values=values))
        scores = confusion_score(matrix, score, average=spec.average, zero_division=spec.zero_division)
        if isinstance(scores, dict):
            return {label: value for label, value in scores.items() if label is not None}
        return scores

    return lambda _: read


def _needs(spec: MetricSpec) -> dict[str, str]:
    return {"part": "contributions" if spec.parameter("values") == "contributions" else "confusions"}


def _mlcm(score: Score, formula: str) -> Callable[[Formula], Formula]:
    name = score.capitalize()
    return of_pairs(
        f"mlcm_{score}", f"{name} computed from the multi-label confusion matrix.",
        f"{formula}, of each label and of no label",
        "Heydarian, Doyle & Samavi 2022, MLCM: multi-label confusion matrix, IEEE Access 10", class_name=f"MLCM{name}",
        read=_of_matrix(score), averages=("micro", "macro", "weighted", None), needs=_needs,
        parameters=(Parameter("values", "counts", choices=get_args(Values)),),
    )  # fmt: skip


@_mlcm("f1", "2 diagonal / (row + column)")
@_mlcm("recall", "diagonal / row")
@_mlcm("precision", "diagonal / column")
def confusion_score(
    matrix: Matrix, score: Score, *, average: Average = "macro", zero_division: float = 0.0
) -> Value | dict[Label | None, Value]:
    """Precision, recall or F1 of a confusion matrix (Heydarian, Doyle & Samavi 2022).

    "No label" is a class like any other if an example without true labels was counted; otherwise it is left out of
    macro averages, and what was missed by predicting nothing counts against recall only. Micro precision, recall and
    F1 are all the fraction on the diagonal; "weighted" weighs by the sum of the row.
    """
    check_choice("score", score, get_args(Score), MetricError)
    check_choice("average", average, ("micro", "macro", "weighted", None), MetricError)
    hits, diagonal, labels = np.zeros(len(matrix.labels), object), matrix.row == matrix.column, matrix.labels
    hits[matrix.row[diagonal]] = matrix.num[diagonal]
    support, predicted = (np.array(matrix.sums(axis), object) for axis in (1, 0))
    num = 2 * hits if score == "f1" else hits
    den = {"precision": predicted, "recall": support, "f1": support + predicted}[score]
    if average == "micro":
        return ratio_of(total(num), total(den), zero_division)
    if not support[-1]:
        labels, support, num, den = labels[:-1], support[:-1], num[:-1], den[:-1]
    ratios = Ratios(num, den)
    if average is None:
        return dict(zip(labels, each(ratios, zero_division), strict=True))
    return mean(ratios, support if average == "weighted" else None, zero_division, plain=True)


def of_examples(
    formula: Callable[..., Value], per_label: Callable[[PairTables], dict[Label, Value]] | None = None
) -> Reading:
    """A reading of a formula of all examples, or of ``per_label``; a value of None is 0/0."""

    def read(tables: PairTables, spec: MetricSpec) -> Value | dict[Label, Value]:
        undefined = None if math.isnan(spec.zero_division) else Fraction(spec.zero_division)
        if spec.average is None and per_label is not None:
            return {label: undefined if value is None else value for label, value in per_label(tables).items()}
        value = formula(tables, **{name: Fraction(choice_text(number)) for name, number in spec.parameters})
        return undefined if value is None else value

    return read


@of_pairs(
    "dependent_pairs", "Fraction of label pairs that are dependent, by a chi-squared test of co-occurrence.",
    "[n phi² > critical], mean over pairs of labels",
    "Tenenboim-Chekina, Rokach & Shapira 2010, Identification of label dependencies for multi-label "
    "classification, MLD; MULAN; MLDA",
    read=of_examples, averages=("samples",), default="samples", bigger_is_better=None, zero_division=math.nan,
    parameters=(Parameter("critical", 6.635, 0.0, 1000.0),), needs=lambda _: {"part": "cooccurrence"},
)  # fmt: skip
def dependent_pairs(pairs: PairTables, *, critical: Fraction = Fraction(6635, 1000)) -> Value:
    """The default is the 99th percentile with one degree of freedom, as MULAN's ``UnconditionalChiSquareIdentifier``.

    A label that is always or never true depends on nothing. Undefined below two labels.
    """
    keys, weights = pairs.of_kind(pairing.TRUE_TRUE)
    size, n, own = len(pairs.labels), pairs.weight, pairs.counts["true"].astype(object)
    if size < 2:
        return None
    limit, dependent = critical * (1 << (pairs.scale or 0)), 0
    for row in range(size - 1):
        n_i, n_j, n_ij = own[row], own[row + 1 :], np.zeros(size - row - 1, object)
        start, stop = np.searchsorted(keys[:, 1], [row, row + 1])
        n_ij[keys[start:stop, 2] - row - 1] = weights[start:stop]
        far, spread = n * (n * n_ij - n_i * n_j) ** 2, n_i * (n - n_i) * n_j * (n - n_j)
        dependent += int(np.count_nonzero(far * limit.denominator > limit.numerator * spread))
    return Fraction(2 * dependent, size * (size - 1))
