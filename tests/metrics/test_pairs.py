"""The metrics of label pairs and label sets: their values by plain loops, and what an evaluator keeps for them."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.adapters.river import DistinctLabelsets, MacroMLCMF1, MicroF1, Scumble
from streameval.evaluation.encoding import decode, encode
from streameval.metrics import pairs
from streameval.states.options import PARTS, PairOptions
from tests.metrics.test_pair_readings import plain_scumble
from tests.states.test_pairs import POOL, Meant, heydarian, krstinic, meanings, shares_of
from tests.support.effort import cases

WEIGHTS = st.sampled_from([0.0, 1.0, 0.1, 0.5, 3.0])
RULES = {"counts": heydarian, "shares": shares_of, "contributions": krstinic}
ZEROS = (0.0, 1.0, math.nan)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[str] | None, list[Meant]]:
    """Declared labels, and examples."""
    weight = draw(st.sampled_from([st.just(1.0), WEIGHTS]))
    return draw(st.sampled_from([None, list(POOL)])), draw(st.lists(meanings(weight), max_size=7))


def fed(metrics: list[str], examples: list[Meant], **choices: Any) -> se.Evaluator:
    ev = se.Evaluator(metrics, **choices)
    for example in examples:
        ev.update(example.true, example.pred, mask=example.masked, weight=example.weight)
    return ev


def labels_of(declared: list[str] | None, examples: list[Meant]) -> list[str]:
    return declared or sorted(set().union(*(e.true | e.pred | e.masked for e in examples)))


def close(result: float, expected: Fraction | None) -> bool:
    return math.isnan(result) if expected is None else math.isclose(result, expected, rel_tol=3e-16)


# -- what is read off the confusion matrix ----------------------------------------------------------------------------


def ratio(num: Fraction, den: Fraction, zero: float) -> Fraction | None:
    return num / den if den else None if math.isnan(zero) else Fraction(zero)


def mean(values: list[Fraction | None], weights: list[Fraction], zero: float) -> Fraction | None:
    retained = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    if not retained:
        return None if math.isnan(zero) else Fraction(zero)
    if not sum(weight for _, weight in retained):
        retained = [(value, Fraction(1)) for value, _ in retained]
    return sum((v * w for v, w in retained), Fraction(0)) / sum(w for _, w in retained)


def scores(cells: Counter, labels: list, zero: float) -> dict[str, dict[str, Any]]:
    """Precision, recall and F1 with their averages, from the cells."""
    classes = [*labels, None]
    row = {one: sum((cells[one, other] for other in classes), Fraction(0)) for one in classes}
    column = {one: sum((cells[other, one] for other in classes), Fraction(0)) for one in classes}
    classes = classes if row[None] else labels
    trace, whole = sum((cells[one, one] for one in [*labels, None]), Fraction(0)), sum(row.values(), Fraction(0))
    formulas = {
        "precision": lambda c: (cells[c, c], column[c]),
        "recall": lambda c: (cells[c, c], row[c]),
        "f1": lambda c: (2 * cells[c, c], row[c] + column[c]),
    }
    result: dict[str, dict[str, Any]] = {}
    for name, formula in formulas.items():
        values = [ratio(*formula(one), zero) for one in classes]
        result[name] = {
            "micro": ratio(trace, whole, zero),
            "macro": mean(values, [Fraction(1)] * len(values), zero),
            "weighted": mean(values, [row[one] for one in classes], zero),
            "per_label": {label: ratio(*formula(label), zero) for label in labels},
        }
    return result


@settings(max_examples=cases(80), deadline=None)
@given(streams(), st.sampled_from(sorted(RULES)), st.sampled_from(ZEROS))
def test_scores_of_the_matrix_are_those_of_plain_loops(stream: tuple, values: str, zero: float):
    declared, examples = stream
    ev = fed([f"mlcm_f1(values={values})"], examples, labels=declared)
    cells: Counter = Counter()
    for example in examples:
        for cell, value in RULES[values](*example.sides).items():
            cells[cell] += Fraction(example.weight) * value
    for score, averages in scores(cells, labels_of(declared, examples), zero).items():
        for average, expected in averages.items():
            name = f"mlcm_{score}_{average}(values={values}, zero_division={zero})"
            result, bounds = ev.get(name), ev.bounds(name)
            if average == "per_label":
                assert list(result) == list(expected)
                assert all(close(result[label], expected[label]) for label in expected), name
            else:
                assert close(result, expected), name
                assert bounds.exact
                assert repr((bounds.low, bounds.value, bounds.high)) == repr((result,) * 3)


def peer(true: frozenset, pred: frozenset) -> dict[tuple, int]:
    """What one example adds to ``cm`` of the package mlcm 0.0.1 (which numpy 1.24 and later cannot run)."""
    if len(true) < 2:
        return {(row, column): 1 for row in true or {None} for column in pred or {None}}
    missed, wrong = sorted(true - pred), sorted(pred - true)
    cells = dict.fromkeys(((label, label) for label in true & pred), 1)
    first = wrong[:1] if missed else []
    cells |= {(row, column): 1 for row in missed for column in first or [None]}
    return cells | {(row, column): 1 for row in true for column in wrong if column not in first}


def test_the_matrix_of_mlcm_is_ours_but_where_its_loops_depend_on_the_order_of_columns():
    sets = [frozenset(part) for size in range(5) for part in combinations("abcd", size)]
    differing = 0
    for true, pred in product(sets, sets):
        ev = fed(["mlcm_f1"], [Meant(true, pred)], labels=list("abcd"))
        matrix = pairs.confusion_matrix(ev._view("pairs", "this"))
        cells = zip(matrix.row.tolist(), matrix.column.tolist(), matrix.num.tolist(), strict=True)
        ours = {(matrix.labels[row], matrix.labels[column]): num for row, column, num in cells}
        message = true & pred and true - pred and len(pred - true) > 1
        assert (ours == peer(true, pred)) == (not message)
        differing += bool(message)
    assert differing == 12


# -- what is said of label sets ---------------------------------------------------------------------------------------


@settings(max_examples=cases(60), deadline=None)
@given(streams(), st.sampled_from(ZEROS))
def test_metrics_of_label_sets_are_those_of_plain_loops(stream: tuple, zero: float):
    declared, examples = stream
    labels = labels_of(declared, examples)
    ev = fed(["scumble", "dependent_pairs"], examples, labels=declared)
    n, sets = len(examples), Counter(e.sides[0] for e in examples)
    weighed: Counter = Counter()
    for example in examples:
        weighed[example.sides[0]] += Fraction(example.weight)
    once, whole = list(sets.values()).count(1), sum(weighed.values(), Fraction(0))
    expected = {
        "distinct_labelsets": Fraction(len(sets)), "num_labelsets": Fraction(len(sets)),
        "proportion_distinct_labelsets": ratio(Fraction(len(sets)), Fraction(n), zero),
        "unique_labelsets": Fraction(once), "proportion_unique_labelsets": ratio(Fraction(once), Fraction(n), zero),
        "labelset_peak": ratio(max(weighed.values(), default=Fraction(0)), whole, zero),
        "labelset_diversity": Fraction(len(sets), 2 ** len(labels)),
    }  # fmt: skip
    for name, value in expected.items():
        assert close(ev.get(f"{name}(zero_division={zero})"), value), name
    values, _ = plain_scumble(examples) if any(weighed[true] for true in weighed if true) else ([0.0] * n, {})
    mean = ratio(sum((Fraction(v) * Fraction(e.weight) for v, e in zip(values, examples, strict=True)), 0), whole, zero)
    result = ev.get(f"scumble(zero_division={zero})")
    assert math.isnan(result) if mean is None else result == pytest.approx(float(mean), rel=1e-9, abs=1e-12)
    by_label = ev.get(f"scumble_per_label(zero_division={zero})")
    assert list(by_label) == labels
    for label, value in by_label.items():
        own = [(v, e.weight) for v, e in zip(values, examples, strict=True) if label in e.sides[0]]
        if sum(w for _, w in own):
            assert value == pytest.approx(sum(v * w for v, w in own) / sum(w for _, w in own), rel=1e-9, abs=1e-12)
        else:
            assert repr(value) == repr(zero)


def test_the_critical_value_is_read_as_it_is_written():
    # n = 10 and phi² = 1/4, so that chi-squared is 2.5 exactly: not above 2.5.
    rows = ["ab"] * 4 + ["a"] + ["b"] * 0 + [""] * 5
    ev = fed([], [Meant(frozenset(row), frozenset()) for row in rows], keep="cooccurrence")
    chi = Fraction(10 * (10 * 4 - 5 * 4) ** 2, 5 * 5 * 4 * 6)
    assert chi == Fraction(20, 3)
    assert ev.get("dependent_pairs") == 1.0  # 6.67 > 6.635
    assert ev.get("dependent_pairs(critical=6.67)") == 0.0
    assert pairs.dependent_pairs(ev._view("pairs", "this"), critical=chi) == 0


# -- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "parts"),
    [
        ({"metrics": ["mlcm_f1"]}, ["confusions"]),
        ({"metrics": ["mlcm_f1(values=shares)"]}, ["confusions"]),
        ({"metrics": ["mlcm_f1(values=contributions)", "f1_micro"]}, ["contributions"]),
        ({"metrics": ["scumble_per_label", "dependent_pairs"]}, ["cooccurrence", "labelsets"]),
        ({"metrics": ["pmax"], "keep": "pairs"}, ["confusions", "cooccurrence", "labelsets"]),
        ({"metrics": ["f1_micro"], "keep": ["labelsets", "contributions"]}, ["contributions", "labelsets"]),
        ({"metrics": ["mlcm_f1", "dependent_pairs"]}, ["confusions", "cooccurrence"]),
        ({"metrics": [], "keep": PARTS}, list(PARTS)),
    ],
)
def test_of_pairs_that_is_retained_which_is_asked_for(choices: dict, parts: list[str]):
    ev = se.Evaluator(**choices)
    ev.update({"a", "b"}, {"a", "c"})
    assert list(ev._view("pairs", "this").parts) == parts
    back = se.Evaluator.from_bytes(ev.to_bytes())
    assert back == ev
    assert list(back._view("pairs", "this").parts) == parts
    assert back.get() == ev.get()
    fresh = se.Evaluator(**choices)
    fresh.merge(back)
    assert fresh == ev
    for entry in se.catalogue():
        if entry.state != "pairs":
            continue
        part = entry.needs(se.metric(entry.name).spec)["part"]
        if part in parts:
            ev.get(entry.name)
        else:
            for read in (ev.get, ev.bounds):
                with pytest.raises(se.MetricError, match=rf"{entry.name}.* keep=\['{part}'\]"):
                    read(entry.name)


def test_the_usual_parts_are_pairs():
    by_name, by_metric = (
        se.Evaluator(["mlcm_f1"], keep=keep) for keep in ("pairs", ["confusions", "cooccurrence", "confusions"])
    )
    assert by_name == by_metric
    assert by_name.to_bytes() == by_metric.to_bytes()


def test_what_was_missing_is_refused_with_what_to_do():
    ev = se.Evaluator(["mlcm_f1"])
    ev.update({"a"}, {"b"})
    sets = se.Evaluator(keep=["labelsets"])
    for read, what, part in (
        (ev.label_sets, r"label_sets\(\)", "labelsets"), (ev.cooccurrence, r"cooccurrence\(\)", "cooccurrence"),
        (se.Evaluator(keep=["cooccurrence"]).concurrence, r"concurrence\(\)", "labelsets"),
        (sets.concurrence, r"concurrence\(\)", "cooccurrence"),
        (sets.confusion_matrix, r"confusion_matrix\(\)", "confusions"),
        (lambda: ev.confusion_matrix(values="contributions"), r"confusion_matrix\(\)", "contributions"),
        (lambda: ev.get("scumble"), "scumble", "labelsets"), (lambda: ev.get("dependent_pairs"), "", "cooccurrence"),
    ):  # fmt: skip
        with pytest.raises(
            se.MetricError, match=rf"{what} requires the '{part}' state; construct with keep=\['{part}'\]"
        ):
            read()
    with pytest.raises(se.MetricError, match=r"scumble requires the 'labelsets' state; .*keep=\['labelsets'\]"):
        se.Evaluator().get("scumble")
    with pytest.raises(se.MetricError, match=r"not 'labelset'; did you mean 'labelsets'"):
        se.Evaluator(keep=["labelset"])
    with pytest.raises(se.MetricError, match="threshold="):
        se.Evaluator(["scumble", "ndcg"])
    with pytest.raises(se.MetricError, match="values of mlcm_f1 must be one of"):
        se.Evaluator(["mlcm_f1(values=percent)"])
    with pytest.raises(se.MetricError, match="critical"):
        se.metric("dependent_pairs", critical=-1)


def test_evaluators_that_keep_different_parts_do_not_merge():
    one, other = (se.Evaluator(["f1_micro"], keep=["pairs", part]) for part in ("labelsets", "contributions"))
    for target in (one, other):
        target.update({"a"}, {"b"})
    before = one.copy()
    with pytest.raises(se.MergeError, match=r"parts of pairs differ \(confusions, cooccurrence, labelsets and conf"):
        one.merge(other)
    assert one == before
    with pytest.raises(se.MergeError, match="states differ") as caught:
        one.merge(se.Evaluator(["f1_micro"]))
    assert "parts" not in str(caught.value)


def test_tables_are_read_once_for_all_metrics():
    ev = fed(["mlcm_f1"], [Meant(frozenset("a"), frozenset("b"))])
    table = ev._view("pairs", "this")
    assert table.of_kind(1) is table.of_kind(1)
    ev.update({"a"}, {"a"})
    assert ev.get("mlcm_recall_micro") == 0.5  # what is asked later is read anew


# -- bytes ------------------------------------------------------------------------------------------------------------


def test_bytes_whose_configuration_and_pairs_differ_are_refused():
    ev = se.Evaluator(["f1_micro"], keep=["labelsets"])
    ev.update({"a"}, {"b"})
    saved = decode(ev.to_bytes(), "Evaluator")
    for parts in (("confusions",), (), ("confusions", "cooccurrence"), PARTS):
        config = dataclasses.replace(saved.config, options=(PairOptions(parts),))
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(b"".join(encode(dataclasses.replace(saved, config=config))))


def test_bytes_of_metrics_and_the_parts_they_need_belong_together():
    saved = decode(se.Evaluator(["f1_micro"], keep=["labelsets"]).to_bytes(), "Evaluator")
    for kind, metrics, fine in (
        (0, ("scumble",), True), (0, ("f1_micro", "pmax"), False), (0, ("mlcm_f1_macro",), False),
        (1, ("scumble",), True), (1, ("f1_micro",), False), (1, ("dependent_pairs",), False),
    ):  # fmt: skip
        data = b"".join(encode(dataclasses.replace(saved, holder=kind + 1, metrics=metrics)))
        read = (se.Evaluator, se.Metric)[kind].from_bytes
        if fine:
            assert read(data).to_bytes() == data
        else:
            with pytest.raises(se.FormatError):
                read(data)


# -- River ------------------------------------------------------------------------------------------------------------


def test_metrics_of_rivers_kind_share_what_they_can():
    stream = [({"a": True, "b": True}, {"a": True, "b": False}), ({"a": True, "b": False}, {"a": False, "b": True})]
    both = MicroF1() + MacroMLCMF1(values="shares") + Scumble() + DistinctLabelsets()
    expected = se.Evaluator([member.spec for member in both])
    for true, pred in stream:
        both.update(true, pred)
        expected.update(true, pred)
    assert both.get() == list(expected.get().values())
    assert both[2]._counts is both[3]._counts
    assert both[2].snapshot().get("pmax") == 0.5
    clone = both.clone()
    assert clone[1].values == "shares"
    with pytest.raises(TypeError):
        Scumble(empty="one")
