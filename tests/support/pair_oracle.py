"""Metrics of pairs and sets of labels by plain loops from their definitions.

An example is its true labels, its predicted labels, both without masked labels, and its weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, TypeAlias

NONE = None
"""The row and the column for examples without a label."""

Sides: TypeAlias = tuple[frozenset, frozenset, Fraction]
Value: TypeAlias = Fraction | None
Answer: TypeAlias = "Value | dict[Any, Value]"


# -- confusion of labels ----------------------------------------------------------------------------------------------


def heydarian(true: frozenset, pred: frozenset) -> dict[tuple, int]:
    """Heydarian, Doyle & Samavi 2022, in three categories, as dkrst/Multi_Label_Confusion_Matrix implements it.

    Its `mlcevaluator2.py` counts hits, then the missed labels (t2) and the wrong labels (p2).
    """
    cells: Counter = Counter()
    if not true and not pred:
        return {(NONE, NONE): 1}
    t2, p2 = true - pred, pred - true
    for label in true & pred:
        cells[label, label] += 1
    if t2 and not p2:
        for label in t2:
            cells[label, NONE] += 1
    elif p2 and not t2:
        for wrong in p2:
            for label in true or {NONE}:
                cells[label, wrong] += 1
    else:
        for label in t2:
            for wrong in p2:
                cells[label, wrong] += 1
    return dict(cells)


def shares_of(true: frozenset, pred: frozenset) -> dict[tuple, Fraction]:
    """The cells of `heydarian` with equal shares in each row, so that every row sums to 1."""
    cells = heydarian(true, pred)
    wide = Counter(row for row, _ in cells)
    return {cell: Fraction(1, wide[cell[0]]) for cell in cells}


def krstinic(true: frozenset, pred: frozenset) -> dict[tuple, Fraction]:
    """Krstinić, Braović, Šerić & Božić-Štulić 2020, with the category "unknown"."""
    true, pred = true or frozenset([NONE]), pred or frozenset([NONE])
    both, lost, extra = true & pred, true - pred, pred - true
    cells: dict[tuple, Fraction] = {}
    if not lost and not extra:
        return {(label, label): Fraction(1) for label in true}
    if not lost:
        cells = {(label, wrong): Fraction(1, len(pred)) for label in true for wrong in extra}
        return cells | {(label, label): Fraction(len(true), len(pred)) for label in true}
    targets = extra or pred
    cells = {(label, target): Fraction(1, len(targets)) for label in lost for target in targets}
    return cells | {(label, label): Fraction(1) for label in both}


def mlcm(score: str) -> Callable[..., Answer]:
    """Precision, recall or F1 of the matrix, of each label and of "no label" if an example has none."""

    def define(
        examples: Sequence[Sides], labels: list, average: str | None, zero_division: Value, values: str
    ) -> Answer:
        rule = {"counts": heydarian, "shares": shares_of, "contributions": krstinic}[values]
        cells: Counter = Counter()
        for true, pred, weight in examples:
            for cell, count in rule(true, pred).items():
                cells[cell] += weight * count
        rows, columns = Counter(), Counter()
        for (row, column), value in cells.items():
            rows[row] += value
            columns[column] += value
        whole = sum(cells.values(), Fraction(0))
        hits = sum((value for (row, column), value in cells.items() if row == column), Fraction(0))
        if average == "micro":  # over all classes, each error is in one wrong row and in one wrong column
            return hits / whole if whole else zero_division
        result = {}
        for label in [*labels, *([NONE] if rows[NONE] else [])]:
            over = {"precision": columns[label], "recall": rows[label], "f1": (rows[label] + columns[label]) / 2}[score]
            result[label] = Fraction(cells[label, label]) / over if over else zero_division
        if average is None:
            return {label: value for label, value in result.items() if label is not NONE}
        weights = {label: rows[label] if average == "weighted" else Fraction(1) for label in result}
        retained = [(value, weights[label]) for label, value in result.items() if value is not None]
        if not sum(weight for _, weight in retained):
            retained = [(value, Fraction(1)) for value, _ in retained]
        return sum(v * w for v, w in retained) / sum(w for _, w in retained) if retained else zero_division

    return define


def dependent_pairs(examples: Sequence[Sides], labels: list, critical: Fraction) -> Value:
    """The share of pairs of labels whose chi-squared statistic, from the observed and expected cells, is critical."""
    n = sum((weight for _, _, weight in examples), Fraction(0))
    result, pairs = 0, list(combinations(labels, 2))
    for one, two in pairs:
        table = {(i, j): Fraction(0) for i in (False, True) for j in (False, True)}
        for true, _, weight in examples:
            table[one in true, two in true] += weight
        expected = {
            (i, j): (table[i, False] + table[i, True]) * (table[False, j] + table[True, j]) / n if n else Fraction(0)
            for i, j in table
        }
        if all(expected.values()):
            result += sum((table[cell] - expected[cell]) ** 2 / expected[cell] for cell in table) > critical
    return Fraction(result, len(pairs)) if pairs else None


# -- label sets -------------------------------------------------------------------------------------------------------


def scumbles(examples: Sequence[Sides]) -> list[Fraction]:
    """For each example 1 - geometric / arithmetic mean of its true labels' imbalance ratios, to 300 digits."""
    counts: Counter = Counter()
    for true, _, weight in examples:
        for label in true:
            counts[label] += weight
    result = []
    for true, _, _ in examples:
        if len({counts[label] for label in true}) < 2 or not all(counts[label] for label in true):
            result.append(Fraction(0))
            continue
        ratios = sorted(max(counts.values()) / counts[label] for label in true)
        result.append(1 - _geometric_mean(tuple(ratios)) / (sum(ratios) / len(ratios)))
    return result


@cache
def _geometric_mean(ratios: tuple[Fraction, ...]) -> Fraction:
    with localcontext(prec=400):
        logs = sum(Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln() for ratio in ratios)
        return Fraction((logs / len(ratios)).exp())


def scumble(examples: Sequence[Sides], labels: list, average: str | None) -> Answer:
    values = scumbles(examples)

    def mean_where(inside: Callable[[frozenset], bool]) -> Value:
        parts = [(value, weight) for value, (true, _, weight) in zip(values, examples, strict=True) if inside(true)]
        whole = sum(weight for _, weight in parts)
        return sum(value * weight for value, weight in parts) / Fraction(whole) if whole else None

    if average is None:
        return {label: mean_where(lambda true, label=label: label in true) for label in labels}
    return mean_where(lambda _: True)


def scumble_cv(examples: Sequence[Sides], labels: list) -> Value:
    values, whole = scumbles(examples), sum(weight for _, _, weight in examples)
    if whole <= 1:
        return None
    mean = sum(value * weight for value, (_, _, weight) in zip(values, examples, strict=True)) / Fraction(whole)
    if not mean:
        return None
    squares = sum((value - mean) ** 2 * weight for value, (_, _, weight) in zip(values, examples, strict=True))
    with localcontext(prec=400):
        variance = squares / (whole - 1)
        deviation = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
    return Fraction(deviation) / mean


def times_of(examples: Sequence[Sides]) -> Counter:
    """How many examples have each set of true labels, regardless of weights."""
    return Counter(true for true, _, _ in examples)


def labelset_peak(examples: Sequence[Sides], labels: list) -> Value:
    weights: Counter = Counter()
    for true, _, weight in examples:
        weights[true] += weight
    whole = sum(weights.values())
    return Fraction(max(weights.values())) / whole if whole else None


def per_example(count: Callable[[Counter], int]) -> Callable[..., Value]:
    return lambda examples, _: Fraction(count(times_of(examples)), len(examples)) if examples else None


def once(times: Counter) -> int:
    return sum(count == 1 for count in times.values())


DEFINITIONS: dict[str, Callable[..., Answer]] = {
    "mlcm_precision": mlcm("precision"),
    "mlcm_recall": mlcm("recall"),
    "mlcm_f1": mlcm("f1"),
    "scumble": scumble,
    "scumble_cv": scumble_cv,
    "distinct_labelsets": lambda examples, _: Fraction(len(times_of(examples))),
    "proportion_distinct_labelsets": per_example(len),
    "unique_labelsets": lambda examples, _: Fraction(once(times_of(examples))),
    "proportion_unique_labelsets": per_example(once),
    "labelset_peak": labelset_peak,
    "labelset_diversity": lambda examples, labels: Fraction(len(times_of(examples)), 2 ** len(labels)),
    "dependent_pairs": dependent_pairs,
}
"""The definitions, by entry; those that take ``average`` and ``zero_division`` receive them."""
