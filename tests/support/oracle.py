"""Every metric of the catalogue by plain loops from its definition, in exact rational numbers.

The code is slow and simple, and shares nothing with the package. A stream is a list of ``(true, predicted, weight,
masked)``: three sets of labels and a number. Values are `Fraction`, or None where they are undefined. Irrational
values, which come from roots and powers, have at least 60 correct digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | float | Fraction
Example: TypeAlias = tuple[AbstractSet[Hashable], AbstractSet[Hashable], Number, AbstractSet[Hashable]]
Value: TypeAlias = Fraction | None


@dataclass
class Outcomes:
    """The weights of true and false positives and negatives of a label, of an example, or of all cells."""

    tp: Fraction = Fraction(0)
    fp: Fraction = Fraction(0)
    fn: Fraction = Fraction(0)
    tn: Fraction = Fraction(0)

    @property
    def cells(self) -> Fraction:
        """The sum of all four weights."""
        return self.tp + self.fp + self.fn + self.tn


@dataclass(frozen=True)
class Root:
    """``sign * sqrt(square)``, not evaluated because it may be irrational."""

    sign: int
    square: Fraction


class Absent(Enum):
    """Marks of a value that is 0/0 and is reported as NaN or dropped."""

    NAN = "the mean over it is NaN"
    DROPPED = "it is left out"


Term: TypeAlias = Fraction | Root | None
Answer: TypeAlias = Term | Absent


# -- definitions: the value of one label, of one example, or of all cells pooled --------------------------------------


def share(part: Fraction, whole: Fraction) -> Value:
    """``part / whole``, undefined if ``whole`` is 0."""
    return None if whole == 0 else part / whole


def complement(value: Value) -> Value:
    """One minus a share."""
    return None if value is None else 1 - value


def precision(o: Outcomes) -> Value:
    """The share of predicted cells that are true."""
    return share(o.tp, o.tp + o.fp)


def recall(o: Outcomes) -> Value:
    """The share of true cells that are predicted."""
    return share(o.tp, o.tp + o.fn)


def specificity(o: Outcomes) -> Value:
    """The share of false cells that are not predicted."""
    return share(o.tn, o.tn + o.fp)


def npv(o: Outcomes) -> Value:
    """The share of unpredicted cells that are false."""
    return share(o.tn, o.tn + o.fn)


def harmonic(first: Value, second: Value, weight_of_second: Fraction = Fraction(1)) -> Value:
    """The weighted harmonic mean of two shares; 0 if one of them is 0."""
    if first is None or second is None:
        return None
    if first == 0 or second == 0:
        return Fraction(0)
    return (1 + weight_of_second) / (1 / first + weight_of_second / second)


def fbeta(o: Outcomes, beta: float) -> Value:
    """Harmonic mean of precision and recall, recall weighing beta squared; undefined only if nothing is positive."""
    if o.tp == 0:
        return None if o.fp == 0 and o.fn == 0 else Fraction(0)
    return harmonic(precision(o), recall(o), Fraction(beta) * Fraction(beta))


def balanced_accuracy(o: Outcomes) -> Value:
    """Mean of the recalls of the two classes, true and false; a class without cells is left out."""
    result = [part for part in (recall(o), specificity(o)) if part is not None]
    return sum(result, Fraction(0)) / len(result) if result else None


def mcc(o: Outcomes) -> Term:
    """Pearson's correlation of two 0/1 variables, from their means and the mean of their product."""
    if o.cells == 0:
        return None
    true, predicted, both = (o.tp + o.fn) / o.cells, (o.tp + o.fp) / o.cells, o.tp / o.cells
    covariance = both - true * predicted
    variances = true * (1 - true) * predicted * (1 - predicted)
    if variances == 0:
        return None
    return Root((covariance > 0) - (covariance < 0), covariance**2 / variances)


def cohen_kappa(o: Outcomes) -> Value:
    """Agreement beyond chance, divided by the greatest possible agreement beyond chance."""
    if o.cells == 0:
        return None
    observed = (o.tp + o.tn) / o.cells
    true, predicted = (o.tp + o.fn) / o.cells, (o.tp + o.fp) / o.cells
    by_chance = true * predicted + (1 - true) * (1 - predicted)
    return share(observed - by_chance, 1 - by_chance)


def sum_minus_one(first: Value, second: Value) -> Value:
    """The sum of two shares minus 1: informedness and markedness."""
    return None if first is None or second is None else first + second - 1


def geometric(first: Value, second: Value) -> Term:
    """The geometric mean of two shares."""
    return None if first is None or second is None else Root(1, first * second)


def alpha_evaluation(o: Outcomes, alpha: float, beta: float, gamma: float) -> Value:
    """Boutell et al. 2004; alpha 0 and infinity are the limits from inside."""
    union = o.tp + o.fp + o.fn
    if union == 0:
        return None
    return power(1 - (Fraction(beta) * o.fn + Fraction(gamma) * o.fp) / union, alpha)


def power(base: Fraction, exponent: float) -> Fraction:
    """``base ** exponent`` for a base in [0, 1]."""
    if base in (0, 1) or exponent == 1:
        return base
    if exponent == 0:
        return Fraction(1)
    if math.isinf(exponent):
        return Fraction(0)
    if exponent == int(exponent) <= 64:
        return base ** int(exponent)
    # The exponent multiplies the relative error of the base, so the digits of the exponent are added.
    digits = 80 + max(0, Decimal(exponent).adjusted())
    context = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    value = context.power(context.divide(Decimal(base.numerator), Decimal(base.denominator)), Decimal(exponent))
    return Fraction(0) if value.adjusted() < -5000 else Fraction(value)


def yes(answer: bool) -> Fraction:
    """1 for true and 0 for false, as a fraction."""
    return Fraction(int(answer))


DEFINITIONS: dict[str, Callable[..., Term]] = {
    "precision": precision,
    "recall": recall,
    "f1": lambda o: fbeta(o, 1.0),
    "fbeta": fbeta,
    "jaccard": lambda o: share(o.tp, o.tp + o.fp + o.fn),
    "accuracy": lambda o: share(o.tp + o.tn, o.cells),
    "specificity": specificity,
    "npv": npv,
    "fpr": lambda o: complement(specificity(o)),
    "fnr": lambda o: complement(recall(o)),
    "fdr": lambda o: complement(precision(o)),
    "for": lambda o: complement(npv(o)),
    "balanced_accuracy": balanced_accuracy,
    "mcc": mcc,
    "cohen_kappa": cohen_kappa,
    "informedness": lambda o: sum_minus_one(recall(o), specificity(o)),
    "markedness": lambda o: sum_minus_one(precision(o), npv(o)),
    "prevalence": lambda o: share(o.tp + o.fn, o.cells),
    "predicted_prevalence": lambda o: share(o.tp + o.fp, o.cells),
    "g_mean": lambda o: geometric(recall(o), specificity(o)),
    "fowlkes_mallows": lambda o: geometric(precision(o), recall(o)),
    "harmonic_accuracy": lambda o: harmonic(recall(o), specificity(o)),
    "alpha_evaluation": alpha_evaluation,
    "subset_accuracy": lambda o: yes(o.fp == 0 and o.fn == 0),
    "zero_one_loss": lambda o: yes(o.fp > 0 or o.fn > 0),
    "hamming_loss": lambda o: share(o.fp + o.fn, o.cells),
    "hamming_score": lambda o: complement(share(o.fp + o.fn, o.cells)),
    "any_hit_accuracy": lambda o: None if o.tp + o.fp + o.fn == 0 else yes(o.tp > 0),
    "contain_accuracy": lambda o: yes(o.fn == 0),
    "belong_accuracy": lambda o: yes(o.fp == 0),
    "label_cardinality": lambda o: o.tp + o.fn,
    "predicted_cardinality": lambda o: o.tp + o.fp,
    "label_density": lambda o: share(o.tp + o.fn, o.cells),
    "predicted_density": lambda o: share(o.tp + o.fp, o.cells),
}
"""Definitions for one label or one example; the three entries that need all labels at once are in `Oracle.value`."""

NAMES = {*DEFINITIONS, "fbeta_of_averages", "irlbl", "mean_ir"}
"""The entries that `Oracle` defines."""


# -- averages ---------------------------------------------------------------------------------------------------------


class Oracle:
    """Values of metrics for one stream. ``labels`` are all labels, in the order in which values are reported."""

    def __init__(self, stream: Sequence[Example], labels: Iterable[Hashable]) -> None:
        self.labels = list(labels)
        self.weights: list[Fraction] = []
        self.examples: list[Outcomes] = []
        sums: dict[Hashable, list[Fraction | int]] = {label: [0] * 4 for label in self.labels}
        for true, predicted, weight, masked in stream:
            exact = Fraction(weight)
            weighs = exact if exact.denominator > 1 else exact.numerator  # ints are faster to add
            self.weights.append(exact)
            example = [0] * 4
            for label in self.labels:
                if label not in masked:
                    place = (0 if label in true else 1) if label in predicted else (2 if label in true else 3)
                    example[place] += 1
                    sums[label][place] += weighs
            self.examples.append(Outcomes(*map(Fraction, example)))
        self.by_label = {label: Outcomes(*map(Fraction, cells)) for label, cells in sums.items()}
        self._terms: dict[tuple[object, ...], list[Term]] = {}

    def _terms_of(self, name: str, parameters: dict[str, float], *, samples: bool) -> list[Term]:
        """The value of each example or label, cached because all averages and choices for 0/0 use it."""
        key = name, samples, *sorted(parameters.items())
        if key not in self._terms:
            each = self.examples if samples else self.by_label.values()
            self._terms[key] = [DEFINITIONS[name](o, **parameters) for o in each]
        return self._terms[key]

    def value(
        self,
        name: str,
        average: str | None,
        *,
        zero_division: float,
        empty: str = "zero_division",
        **parameters: float,
    ) -> Value | dict[Hashable, Value]:
        """The value of the metric: one number, or without an average one for each label."""
        if name == "fbeta_of_averages":
            return self._f_of_averages(average, zero_division, empty, parameters["beta"])
        if average == "samples":
            terms = self._terms_of(name, parameters, samples=True)
            result = [
                (weight, answer(term, o, empty))
                for weight, o, term in zip(self.weights, self.examples, terms, strict=True)
                if o.cells or not self.labels  # an example whose labels are all masked does not count
            ]
            return mean(result, zero_division)
        if average == "micro":
            pool = self._pool()
            return mean([(Fraction(1), answer(DEFINITIONS[name](pool, **parameters), pool, empty))], zero_division)
        imbalance = name in ("irlbl", "mean_ir")
        terms = self._imbalance_ratios() if imbalance else self._terms_of(name, parameters, samples=False)
        answers = {label: answer(term, o, empty) for (label, o), term in zip(self.by_label.items(), terms, strict=True)}
        if average is None:
            return {
                label: mean([(Fraction(1), term)], zero_division)
                for label, term in answers.items()
                if term is not Absent.DROPPED
            }
        if average == "macro":
            return mean([(Fraction(1), term) for term in answers.values()], zero_division)
        weighted = [(o.tp + o.fn, answers[label]) for label, o in self.by_label.items()]
        if Absent.NAN not in answers.values() and sum(weight for weight, _ in retained(weighted, zero_division)) == 0:
            # Labels that are never true have weight 0; if all labels are like that, they have equal weights.
            weighted = [(Fraction(1), term) for _, term in weighted]
        return mean(weighted, zero_division)

    def _pool(self) -> Outcomes:
        pool = Outcomes()
        for o in self.by_label.values():
            pool.tp += o.tp
            pool.fp += o.fp
            pool.fn += o.fn
            pool.tn += o.tn
        return pool

    def _imbalance_ratios(self) -> list[Term]:
        counts = [o.tp + o.fn for o in self.by_label.values()]
        most = max(counts, default=Fraction(0))
        return [share(most, count) for count in counts]

    def _f_of_averages(self, average: str | None, zero_division: float, empty: str, beta: float) -> Value:
        p = self.value("precision", average, zero_division=zero_division, empty=empty)
        r = self.value("recall", average, zero_division=zero_division, empty=empty)
        if p is None or r is None:
            return None
        if p == 0 and r == 0:
            return constant(zero_division)
        return harmonic(p, r, Fraction(beta) * Fraction(beta))


def answer(term: Term, o: Outcomes, empty: str) -> Answer:
    """The term, or the value that ``empty`` names if the term is 0/0 and nothing is true or predicted."""
    if term is not None or o.tp + o.fp + o.fn > 0 or empty == "zero_division":
        return term
    return {"zero": Fraction(0), "one": Fraction(1), "nan": Absent.NAN, "drop": Absent.DROPPED}[empty]


def constant(zero_division: float) -> Value:
    """The value that replaces 0/0; None for NaN."""
    return None if math.isnan(zero_division) else Fraction(zero_division)


def retained(terms: Sequence[tuple[Fraction, Answer]], zero_division: float) -> list[tuple[Fraction, Fraction | Root]]:
    """The terms with 0/0 replaced, or left out if its replacement is NaN."""
    replaced = [
        (weight, constant(zero_division) if term is None else term)
        for weight, term in terms
        if not isinstance(term, Absent)
    ]
    return [(weight, term) for weight, term in replaced if term is not None]


def mean(terms: Sequence[tuple[Fraction, Answer]], zero_division: float) -> Value:
    """The weighted mean; it is 0/0 itself if there are no terms or all weights are 0."""
    if any(term is Absent.NAN for _, term in terms):
        return None
    left = retained(terms, zero_division)
    whole = sum((weight for weight, _ in left), Fraction(0))
    if whole == 0:
        return constant(zero_division)
    return weighted_sum(left) / whole


def weighted_sum(terms: Sequence[tuple[Fraction, Fraction | Root]]) -> Fraction:
    """The sum, exact if it is rational, otherwise with a relative error below ``2**-200``."""
    roots: list[tuple[Fraction, Fraction]] = []
    fractions: list[Fraction] = []
    for weight, term in terms:
        if not isinstance(term, Root):
            fractions.append(weight * term)
        elif (plain := rational_root(term.square)) is not None:
            fractions.append(weight * term.sign * plain)
        elif weight:
            roots.append((weight * term.sign, term.square))
    rational = tree_sum(fractions)
    if not roots:
        return rational
    bits = 512
    while True:
        error = sum((abs(factor) for factor, _ in roots), Fraction(0)) / 2**bits
        value = rational + tree_sum([factor * root_to(bits, square) for factor, square in roots])
        if abs(value) > error * 2**200:
            return value
        if bits == 512 and cancels(rational, roots):
            return Fraction(0)
        bits *= 2


def tree_sum(parts: list[Fraction]) -> Fraction:
    """The exact sum: first over equal denominators, then in pairs, because sums with large denominators are slow."""
    tops = Counter[int]()
    for part in parts:
        tops[part.denominator] += part.numerator
    parts = [Fraction(top, bottom) for bottom, top in tops.items()]
    while len(parts) > 1:
        parts = [sum(parts[at : at + 2], Fraction(0)) for at in range(0, len(parts), 2)]
    return parts[0] if parts else Fraction(0)


def rational_root(square: Fraction) -> Value:
    """The square root if it is rational, else None."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    return None


def root_to(bits: int, square: Fraction) -> Fraction:
    """The square root, less than ``2**-bits`` too small."""
    return Fraction(math.isqrt((square.numerator << 2 * bits) // square.denominator), 1 << bits)


def cancels(rational: Fraction, roots: Sequence[tuple[Fraction, Fraction]]) -> bool:
    """Whether the sum is exactly 0.

    If no ratio of two numbers is the square of a rational, their square roots are linearly independent over the
    rationals (Besicovitch 1940). So the sum is 0 only if each class of commensurable roots sums to 0.
    """
    classes: list[tuple[Fraction, Fraction]] = []  # (square, sum of the class in units of the square's root)
    for factor, square in roots:
        for at, (other, total) in enumerate(classes):
            if (ratio := rational_root(square / other)) is not None:
                classes[at] = other, total + factor * ratio
                break
        else:
            classes.append((square, factor))
    return rational == 0 and all(total == 0 for _, total in classes)
