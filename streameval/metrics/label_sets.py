"""Metrics of sets of true labels: how rare and frequent labels mix, and how many sets there are; see `pairs`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache, partial
from typing import Literal

from streameval.metrics.averaging import Value, root_of
from streameval.metrics.pairs import cooccurrence, of_examples, of_pairs
from streameval.metrics.spec import as_float
from streameval.schema.labels import Label
from streameval.states.pairs import PairTables

__all__ = ["Concurrence"]

_ZHANG = "Zhang & Zhou 2014, A review on multi-label learning algorithms, IEEE TKDE 26(8)"
_UNWEIGHTED = "Weights do not matter."
_READ = "Read 2010, Scalable multi-label classification, PhD thesis, University of Waikato"

_of_sets = partial(
    of_pairs, read=of_examples, averages=("samples",), default="samples", bigger_is_better=None, zero_division=math.nan,
    needs=lambda _: {"part": "labelsets"},
)  # fmt: skip


def label_sets(pairs: PairTables) -> dict[tuple[Label, ...], float]:
    """How many examples have each set of true labels, or their weight: the most frequent first."""
    sizes = [as_float(weight * pairs.unit) for weight in pairs.set_weights] if pairs.weighted else pairs.set_weights
    names = (tuple(pairs.labels[label] for label in true) for true in pairs.sets)
    return dict(sorted(zip(names, sizes, strict=True), key=lambda item: -item[1]))


def scumble_per_label(pairs: PairTables) -> dict[Label, Value]:
    """The mean SCUMBLE of the examples that have each label; None for a label that is never true."""
    sums, counts = [Fraction(0)] * len(pairs.labels), [0] * len(pairs.labels)
    for true, value, weight in zip(pairs.sets, *_scumbles(pairs), strict=True):
        for label in true:
            sums[label] += value * weight
            counts[label] += weight
    values = zip(pairs.labels, sums, counts, strict=True)
    return {label: value / count if count else None for label, value, count in values}


@_of_sets(
    "scumble", "Degree to which frequent and rare labels co-occur.",
    "1 - geometric / arithmetic mean of the imbalance ratios of the true labels, mean over examples",
    "Charte, Rivera, del Jesus & Herrera 2014, Concurrence among imbalanced labels and its influence on multilabel "
    "resampling algorithms, HAIS; mldr",
    read=partial(of_examples, per_label=scumble_per_label), averages=("samples", None), bare=True,
)  # fmt: skip
def scumble(pairs: PairTables) -> Value:
    """The imbalance ratio of a label is the largest label count over its own; 0 for an example without true labels.

    As the R package mldr; MLDA takes the q-th root for the geometric mean, however many labels an example has.
    """
    whole, terms = pairs.weight, zip(*_scumbles(pairs), strict=True)
    return sum((value * weight for value, weight in terms), Fraction(0)) / whole if whole else None


@_of_sets(
    "scumble_cv", "Coefficient of variation of SCUMBLE over examples.",
    "standard deviation (n - 1) / mean of the SCUMBLE of examples", "mldr, scumble.cv", class_name="ScumbleVariation",
    high=math.inf,
)  # fmt: skip
def scumble_cv(pairs: PairTables) -> Value:
    values, weights = _scumbles(pairs)
    n = pairs.weight * pairs.unit
    if n <= 1:
        return None
    first, second = (
        sum((v**power * w for v, w in zip(values, weights, strict=True)), Fraction(0)) * pairs.unit for power in (1, 2)
    )
    num, den = ((second - first**2 / n) / (n - 1)).as_integer_ratio()
    return (root_of(num, num * den) if num else 0) / (first / n) if first else None


def _scumbles(pairs: PairTables) -> tuple[list[Fraction], list[int]]:
    """The SCUMBLE and the weight of each label set."""
    own = pairs.counts["true"].tolist()
    counts = [tuple(sorted(own[label] for label in true)) for true in pairs.sets]
    known = {each: _scumble_of(each) for each in set(counts)}
    return [known[each] for each in counts], pairs.set_weights


def _scumble_of(counts: tuple[int, ...]) -> Fraction:
    """1 - G / A of the imbalance ratios; the largest count cancels: the harmonic over the geometric mean of counts."""
    if len(set(counts)) < 2 or not counts[0]:
        return Fraction(0)
    digits = 40 + 2 * len(str(max(counts)))  # means of counts that differ by 1 share so many digits
    with localcontext(prec=digits):
        logs = sum((_rounded("ln", Decimal(count), digits) for count in counts), Decimal(0))
        harmonic = len(counts) / sum((1 / Decimal(count) for count in counts), Decimal(0))
        return Fraction(1 - harmonic / _rounded("exp", logs / len(counts), digits))


@lru_cache(maxsize=4096)
def _rounded(function: Literal["ln", "exp"], number: Decimal, digits: int) -> Decimal:
    """The logarithm or exponential of a number, correctly rounded, so that it is the same on every machine."""
    with localcontext(prec=digits):
        return number.ln() if function == "ln" else number.exp()


def label_interactions(pairs: PairTables) -> dict[Label, dict[Label, float]]:
    """For each rare label, in how many of its examples each frequent label is true as well, the most first.

    Rare: with an imbalance ratio above the mean of all labels that occur (in mldr of all, 0 for those that never do).
    """
    own = pairs.counts["true"].tolist()
    present = [label for label, count in enumerate(own) if count]
    if not present:
        return {}
    ratios = {label: Fraction(max(own), own[label]) for label in present}
    middle = sum(ratios.values(), Fraction(0)) / len(ratios)
    partners: dict[int, dict[int, int]] = {label: {} for label in present if ratios[label] > middle}
    both = cooccurrence(pairs)
    for label, other, weight in zip(both.row.tolist(), both.column.tolist(), both.num.tolist(), strict=True):
        if label in partners and other not in partners and other in ratios:
            partners[label][other] = weight
    return {
        pairs.labels[label]: {
            pairs.labels[other]: as_float(weights_of[other] * pairs.unit)
            for other in sorted(weights_of, key=lambda other: (-weights_of[other], other))
        }
        for label, weights_of in partners.items()
    }


@dataclass(frozen=True, slots=True)
class Concurrence:
    """Whether frequent and rare labels occur in the same examples.

    Attributes
    ----------
    mean, cv
        The mean SCUMBLE of examples and its coefficient of variation; NaN where there are too few examples.
    per_label
        The mean SCUMBLE of the examples with each label, the highest first; labels that are never true are left out.
    interactions
        For each rare label, in how many of its examples each frequent label is true as well, the most first.
    """

    mean: float
    cv: float
    per_label: dict[Label, float]
    interactions: dict[Label, dict[Label, float]]


def concurrence(pairs: PairTables) -> Concurrence:
    """The `Concurrence` of all labels; see `Evaluator.concurrence`."""
    defined = {label: as_float(value) for label, value in scumble_per_label(pairs).items() if value is not None}
    per_label = dict(sorted(defined.items(), key=lambda pair: -pair[1]))
    return Concurrence(as_float(scumble(pairs)), as_float(scumble_cv(pairs)), per_label, label_interactions(pairs))


_of_sets(
    "distinct_labelsets", "Number of distinct sets of true labels.", "|{sets of true labels}|",
    _ZHANG + " (label diversity); MULAN; mldr, num.labelsets", high=math.inf, aliases=("num_labelsets",),
)(lambda pairs: Fraction(len(pairs.repeats)))  # fmt: skip
_of_sets(
    "proportion_distinct_labelsets", "Number of distinct sets of true labels divided by the number of examples.",
    "distinct label sets / examples", _ZHANG + " (normalized label diversity)", notes=_UNWEIGHTED,
)(lambda pairs: _over(len(pairs.repeats), pairs.examples))  # fmt: skip
_of_sets(
    "unique_labelsets", "Number of sets of true labels that occur in one example only.",
    "|{sets of exactly one example}|", "mldr, num.single.labelsets", high=math.inf, aliases=("num_single_labelsets",),
    notes=_UNWEIGHTED,
)(lambda pairs: Fraction(pairs.repeats.count(1)))  # fmt: skip
_of_sets(
    "proportion_unique_labelsets", "Fraction of examples whose set of true labels occurs in no other example.",
    "unique label sets / examples", _READ + " (PUniq)", aliases=("puniq",), notes=_UNWEIGHTED,
)(lambda pairs: _over(pairs.repeats.count(1), pairs.examples))  # fmt: skip
_of_sets(
    "labelset_peak", "Fraction of examples that have the most frequent set of true labels.",
    "examples with the most frequent set / examples", _READ + " (PMax)", aliases=("pmax",),
)(lambda pairs: _over(max(pairs.set_weights, default=0), pairs.weight))  # fmt: skip
_of_sets(
    "labelset_diversity", "Number of distinct label sets divided by the number of possible ones.",
    "distinct label sets / 2^q",
    "Moyano, Gibaja & Ventura 2017, MLDA: a tool for analyzing multi-label datasets, Knowledge-Based Systems 121",
)(lambda pairs: Fraction(len(pairs.repeats), 1 << len(pairs.labels)))  # fmt: skip


def _over(num: int, den: int) -> Fraction | None:
    return Fraction(num, den) if den else None
