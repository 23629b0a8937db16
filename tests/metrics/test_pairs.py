"""The metrics of label pairs and label sets: values compared with plain loops, and the states that they need."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

import streameval as se
from streameval.adapters.river import DistinctLabelsets, MacroMLCMF1, MicroF1, Scumble
from streameval.evaluation.encoding import decode, encode
from streameval.metrics import pairs
from streameval.states.options import PARTS, PairOptions
from tests.states.test_pairs import Meant


def fed(metrics: list[str], examples: list[Meant], **choices: Any) -> se.Evaluator:
    ev = se.Evaluator(metrics, **choices)
    for example in examples:
        ev.update(example.true, example.pred, mask=example.masked, weight=example.weight)
    return ev


# -- what is read off the confusion matrix ----------------------------------------------------------------------------


def peer(true: frozenset, pred: frozenset) -> dict[tuple, int]:
    """What one example adds to ``cm`` of the package mlcm 0.0.1 (which numpy 1.24 and later cannot run)."""
    if len(true) < 2:
        return {(row, column): 1 for row in true or {None} for column in pred or {None}}
    missed, wrong = sorted(true - pred), sorted(pred - true)
    cells = dict.fromkeys(((label, label) for label in true & pred), 1)
    first = wrong[:1] if missed else []
    cells |= {(row, column): 1 for row in missed for column in first or [None]}
    return cells | {(row, column): 1 for row in true for column in wrong if column not in first}


def test_the_matrix_is_that_of_mlcm_except_where_mlcm_depends_on_the_order_of_columns():
    sets = [frozenset(part) for size in range(5) for part in combinations("abcd", size)]
    differing = 0
    for true, pred in product(sets, sets):
        ev = fed(["mlcm_f1"], [Meant(true, pred)], labels=list("abcd"))
        matrix = pairs.confusion_matrix(ev._view("pairs", "this"))
        cells = zip(matrix.row.tolist(), matrix.column.tolist(), matrix.num.tolist(), strict=True)
        ours = {(matrix.labels[row], matrix.labels[column]): num for row, column, num in cells}
        depends_on_order = true & pred and true - pred and len(pred - true) > 1
        assert (ours == peer(true, pred)) == (not depends_on_order)
        differing += bool(depends_on_order)
    assert differing == 12


# -- label sets --------------------------------------------------------------------------------------------------------


def test_a_pair_is_dependent_where_chi_squared_is_above_the_exact_critical_value():
    # Of 10 examples 4 have both labels, 1 has only a, 5 have neither: chi-squared is 20/3, which is not above 20/3.
    rows = ["ab"] * 4 + ["a"] + ["b"] * 0 + [""] * 5
    ev = fed([], [Meant(frozenset(row), frozenset()) for row in rows], keep="cooccurrence")
    chi = Fraction(10 * (10 * 4 - 5 * 4) ** 2, 5 * 5 * 4 * 6)
    assert chi == Fraction(20, 3)
    assert ev.get("dependent_pairs") == 1.0  # 6.67 > 6.635
    assert ev.get("dependent_pairs(critical=6.67)") == 0.0
    assert pairs.dependent_pairs(ev._view("pairs", "this"), critical=chi) == 0


# -- parts of pairs that are counted -----------------------------------------------------------------------------------


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
def test_only_the_parts_of_pairs_that_metrics_or_keep_require_are_counted(choices: dict, parts: list[str]):
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


def test_keep_pairs_stands_for_confusions_and_cooccurrence():
    by_name, by_metric = (
        se.Evaluator(["mlcm_f1"], keep=keep) for keep in ("pairs", ["confusions", "cooccurrence", "confusions"])
    )
    assert by_name == by_metric
    assert by_name.to_bytes() == by_metric.to_bytes()


def test_a_reading_whose_part_was_not_counted_is_refused_with_the_keep_to_write():
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
    assert ev.get("mlcm_recall_micro") == 0.5  # a value after an update is computed anew


# -- bytes ------------------------------------------------------------------------------------------------------------


def test_bytes_whose_configuration_and_pairs_differ_are_refused():
    ev = se.Evaluator(["f1_micro"], keep=["labelsets"])
    ev.update({"a"}, {"b"})
    saved = decode(ev.to_bytes(), "Evaluator")
    for parts in (("confusions",), (), ("confusions", "cooccurrence"), PARTS):
        config = dataclasses.replace(saved.config, options=(PairOptions(parts),))
        with pytest.raises(se.FormatError):
            se.Evaluator.from_bytes(b"".join(encode(dataclasses.replace(saved, config=config))))


def test_bytes_whose_metrics_need_a_part_that_is_not_there_are_refused():
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


def test_river_metrics_that_need_the_same_parts_share_a_state():
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
    with pytest.raises(se.InputError):
        Scumble(empty="one")
