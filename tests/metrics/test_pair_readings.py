"""Readings of label pairs, compared with plain loops over examples and with published values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from river import datasets
from scipy.stats import chi2_contingency
from sklearn.metrics import precision_recall_fscore_support

from streameval.errors import MetricError
from streameval.metrics import label_sets as labelsets, pairs
from streameval.metrics.catalogue import build_spec, entry_of
from streameval.metrics.spec import as_float
from streameval.schema.batch import Example
from streameval.schema.labels import LabelIndex
from streameval.states.options import PARTS
from streameval.states.pairs import PairTables
from tests.states.test_pairs import Meant, fed as fed_state, meanings
from tests.support.effort import cases
from tests.support.pair_oracle import heydarian, krstinic, shares_of
from tests.support.states import only_pairs

heavy = st.sampled_from([0.0, 1.0, 0.5, 0.1, 3.0])


def fed(declared: Iterable[str], parts: Iterable[str], examples: Iterable[Meant]) -> PairTables:
    return PairTables(fed_state(declared, parts, examples))


def value(name: str, state: PairTables) -> Fraction | None:
    return entry_of(name).read(state, build_spec(name))


some = st.lists(meanings(heavy), min_size=1, max_size=10) | st.lists(meanings(), min_size=1, max_size=10)


def state_of(examples: list[Meant]) -> PairTables:
    return fed((), PARTS, examples)


def nearest(value: Fraction | None) -> float:
    return math.nan if value is None else float(value)


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


# -- matrices ---------------------------------------------------------------------------------------------------------


@settings(max_examples=cases(150))
@given(some)
def test_matrices_are_those_of_plain_loops_rounded_once(examples: list[Meant]):
    state = state_of(examples)
    for values, rule in (("counts", heydarian), ("shares", shares_of), ("contributions", krstinic)):
        cells: Counter = Counter()
        for example in examples:
            for cell, value in rule(*example.sides).items():
                cells[cell] += Fraction(example.weight) * value
        matrix = pairs.confusion_matrix(state, values=values)
        assert matrix.labels[-1] is None
        place = {label: position for position, label in enumerate(matrix.labels)}
        whole = {"true": Counter(), "pred": Counter(), "all": Counter()}
        for (row, column), value in cells.items():
            whole["true"][row] += value
            whole["pred"][column] += value
            whole["all"][None] += value
        for normalize in (None, "true", "pred", "all"):
            dense = matrix.dense(normalize) if any(cells.values()) or normalize is None else None
            if dense is None:
                continue
            assert dense.shape == (len(place), len(place))
            for row in matrix.labels:
                for column in matrix.labels:
                    base = Fraction(1)
                    if normalize is not None:
                        base = whole[normalize][{"true": row, "pred": column, "all": None}[normalize]]
                    expected = cells[row, column] / base if base else Fraction(0)
                    assert dense[place[row], place[column]] == float(expected)
        ordered = list(zip(matrix.row.tolist(), matrix.column.tolist(), strict=True))
        assert ordered == sorted(set(ordered))


def test_masked_labels_are_in_no_cell_of_a_confusion_matrix():
    masked = Meant(frozenset("ab"), frozenset("bc"), masked=frozenset("ac"))
    plain = Meant(frozenset("b"), frozenset("b"), named=frozenset("ac"))
    for values in ("counts", "shares", "contributions"):
        matrices = [pairs.confusion_matrix(state_of([e]), values=values).dense() for e in (masked, plain)]
        assert np.array_equal(*matrices)


@settings(max_examples=cases(100))
@given(some)
def test_cooccurrence_counts_examples_that_have_both_labels(examples: list[Meant]):
    state = state_of(examples)
    for side, (left, right) in {"true": (0, 0), "pred": (1, 1), "both": (0, 1)}.items():
        matrix = pairs.cooccurrence(state, side=side)
        dense = matrix.dense()
        for i, row in enumerate(matrix.labels):
            for j, column in enumerate(matrix.labels):
                expected = sum(
                    Fraction(e.weight) for e in examples if row in e.sides[left] and column in e.sides[right]
                )
                assert dense[i, j] == float(expected)


def test_scores_of_a_multi_class_matrix_are_those_of_scikit_learn():
    # One true label and one prediction an example: the matrix is the multi-class one, which scikit-learn scores.
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(0, 4, 200), rng.integers(0, 4, 200)
    state = state_of([Meant(frozenset("abcd"[t]), frozenset("abcd"[p])) for t, p in zip(truth, guess, strict=True)])
    matrix = pairs.confusion_matrix(state)
    for average in ("micro", "macro", "weighted", None):
        expected = precision_recall_fscore_support(truth, guess, average=average)[:3]
        for score, values in zip(("precision", "recall", "f1"), expected, strict=True):
            result = pairs.confusion_score(matrix, score, average=average)
            if average is None:
                result = [as_float(value) for value in result.values()]
            assert np.allclose(np.array(result, float), values, rtol=1e-12, atol=0)


def test_the_class_none_has_scores_once_an_example_has_no_true_label():
    examples = [Meant(frozenset("a"), frozenset("a")), Meant(frozenset("b"), frozenset())]
    recall = pairs.confusion_score(pairs.confusion_matrix(state_of(examples)), "recall", average=None)
    assert recall == {"a": 1, "b": 0}
    examples.append(Meant(frozenset(), frozenset("a")))
    matrix = pairs.confusion_matrix(state_of(examples))
    assert pairs.confusion_score(matrix, "recall", average=None) == {"a": 1, "b": 0, None: 0}
    assert pairs.confusion_score(matrix, "precision", average=None) == {"a": Fraction(1, 2), "b": 0, None: 0}
    assert pairs.confusion_score(matrix, "precision", average=None, zero_division=math.nan)["b"] is None


# -- label sets -------------------------------------------------------------------------------------------------------


def plain_scumble(examples: list[Meant]) -> tuple[list[float], dict[str, float]]:
    """Per example 1 - geometric / arithmetic mean of its labels' imbalance ratios (mldr, R/measures.R); the ratios."""
    counts: Counter = Counter()
    for example in examples:
        for label in example.sides[0]:
            counts[label] += Fraction(example.weight)
    ratios = {label: float(max(counts.values()) / count) for label, count in counts.items() if count}
    values = []
    for example in examples:
        own = [ratios[label] for label in example.sides[0] if label in ratios]
        values.append(1 - math.prod(own) ** (1 / len(own)) / (sum(own) / len(own)) if own else 0.0)
    return values, ratios


def test_the_report_of_concurrence_is_made_of_its_parts():
    examples = [Meant(frozenset(true), frozenset()) for true in ["ab", "ac", "a", "a", "ab", "abd"]]
    state = state_of([*examples, Meant(frozenset(), frozenset("z"))])
    result = labelsets.concurrence(state)
    assert result.mean == as_float(labelsets.scumble(state))
    assert result.cv == as_float(labelsets.scumble_cv(state))
    assert result.interactions == labelsets.label_interactions(state) == {"c": {"a": 1.0}, "d": {"a": 1.0, "b": 1.0}}
    assert list(result.per_label.values()) == sorted(result.per_label.values(), reverse=True)
    each = labelsets.scumble_per_label(state)
    assert result.per_label == {label: as_float(each[label]) for label in "abcd"}  # z is never true
    nothing = labelsets.concurrence(fed("ab", PARTS, []))
    assert math.isnan(nothing.mean)
    assert (nothing.per_label, nothing.interactions) == ({}, {})


def test_scumble_is_exactly_zero_where_all_labels_are_equally_frequent():
    state = state_of([Meant(frozenset("ab"), frozenset()), Meant(frozenset("c"), frozenset())])
    assert labelsets.scumble(state) == 0
    assert labelsets.scumble_cv(state) is None


def test_scumble_keeps_its_digits_where_counts_are_nearly_the_same():
    examples = [Meant(frozenset("a"), frozenset(), weight=2.0**40), Meant(frozenset("ab"), frozenset(), weight=2.0**40)]
    examples.append(Meant(frozenset("b"), frozenset(), weight=2.0**40 + 1))
    count_a, count_b = 2**41, 2**41 + 1
    ratio = Fraction(count_a, count_b)
    # sqrt(r) = 1 - x/2 - x²/8 - ..., x = 1 - r, so that 1 - 2 sqrt(r) / (1 + r) = x²/8 + x³/8 + ...
    x = 1 - ratio
    expected = (x**2 / 8 + x**3 / 8) * Fraction(2**40, sum(int(e.weight) for e in examples))
    assert float(labelsets.scumble(state_of(examples))) == pytest.approx(float(expected), rel=1e-12)


def test_values_of_label_sets_and_pairs_of_yeast_are_those_of_plain_loops_and_of_scipy():
    labels = LabelIndex()
    counts = only_pairs(labels, ["labelsets", "cooccurrence"])
    rows = [frozenset(label for label, value in y.items() if value) for _, y in datasets.Yeast()]
    for true in rows:
        slots = [5 * labels.add(label) + 1 for label in sorted(true)]
        counts.count_one(Example(np.array(slots), (len(true), 0, 0, 0)), 1)
    assert len(labels) == 14
    state = PairTables(counts)
    assert value("distinct_labelsets", state) == 198  # the column "distinct" of the data sets of MULAN
    assert value("proportion_distinct_labelsets", state) == Fraction(198, 2417)
    assert value("labelset_diversity", state) == Fraction(198, 2**14)
    times = Counter(rows)
    assert value("unique_labelsets", state) == list(times.values()).count(1) == 77
    assert value("proportion_unique_labelsets", state) == Fraction(77, 2417)
    assert value("labelset_peak", state) == Fraction(max(times.values()), 2417)
    values, _ = plain_scumble([Meant(true, frozenset()) for true in rows])
    assert float(labelsets.scumble(state)) == pytest.approx(np.mean(values), rel=1e-12)
    assert float(labelsets.scumble_cv(state)) == pytest.approx(np.std(values, ddof=1) / np.mean(values), rel=1e-12)
    dense = np.array([[label in true for label in labels.labels] for true in rows], int)
    result = []
    for i, j in combinations(range(14), 2):
        table = np.array([[((dense[:, i] == a) & (dense[:, j] == b)).sum() for b in (0, 1)] for a in (0, 1)])
        result.append(chi2_contingency(table, correction=False).statistic > 6.635)
    assert pairs.dependent_pairs(state) == Fraction(sum(result), 91)


@settings(max_examples=cases(100))
@given(some)
def test_numbers_of_label_sets_are_those_of_a_counter(examples: list[Meant]):
    state = state_of(examples)
    sets = Counter(e.sides[0] for e in examples)
    whole = sum(Fraction(e.weight) for e in examples)
    assert value("distinct_labelsets", state) == len(sets)
    assert value("unique_labelsets", state) == list(sets.values()).count(1)
    assert value("proportion_unique_labelsets", state) == Fraction(list(sets.values()).count(1), len(examples))
    heaviest = max(sum(Fraction(e.weight) for e in examples if e.sides[0] == true) for true in sets)
    assert value("labelset_peak", state) == (heaviest / whole if whole else None)


@settings(max_examples=cases(100))
@given(st.lists(meanings(), min_size=1, max_size=10))
def test_rare_labels_say_which_frequent_ones_occur_with_them(examples: list[Meant]):
    _, ratios = plain_scumble(examples) if any(e.sides[0] for e in examples) else ([], {})
    counts = Counter(label for e in examples for label in e.sides[0])
    exact = {label: Fraction(max(counts.values()), count) for label, count in counts.items()}
    rare = {label for label in ratios if exact[label] > sum(exact.values()) / len(exact)}
    result = labelsets.label_interactions(state_of(examples))
    assert set(result) == rare
    for label, rest in result.items():
        met = Counter(other for e in examples if label in e.sides[0] for other in e.sides[0] - rare)
        assert rest == met
        assert list(rest.values()) == sorted(rest.values(), reverse=True)


# -- edges ------------------------------------------------------------------------------------------------------------


def test_readings_of_a_state_without_examples_are_zero_or_undefined():
    for declared in ((), ("a", "b")):
        state = fed(declared, PARTS, [])
        size = len(declared)
        for values in ("counts", "shares", "contributions"):
            assert pairs.confusion_matrix(state, values=values).dense().tolist() == [[0.0] * (size + 1)] * (size + 1)
        assert pairs.cooccurrence(state).dense().tolist() == [[0.0] * size] * size
        assert labelsets.scumble(state) is None
        assert labelsets.scumble_per_label(state) == dict.fromkeys(declared)
        assert labelsets.label_interactions(state) == {}
        assert value("labelset_peak", state) is None
        assert value("proportion_distinct_labelsets", state) is None
        assert pairs.dependent_pairs(state) == (0 if size else None)


def test_unknown_options_are_refused():
    state = state_of([Meant(frozenset("a"), frozenset("b"))])
    matrix = pairs.confusion_matrix(state)
    for call in (
        lambda: pairs.confusion_matrix(state, values="percent"),
        lambda: pairs.cooccurrence(state, side="left"),
        lambda: pairs.confusion_score(matrix, "accuracy"),
        lambda: pairs.confusion_score(matrix, "f1", average="samples"),
        lambda: matrix.dense("row"),
    ):
        with pytest.raises(MetricError):
            call()
