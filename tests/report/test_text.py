"""Reports as plain text and for notebooks."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

import streameval as se
from streameval.errors import MetricError
from tests.support.report_cases import HOSTILE, hostile, many


def test_every_label_and_average_has_a_line():
    ev = se.Evaluator(["f1_micro", "hamming_loss", "label_cardinality"])
    ev.update({"cat", "bird"}, {"cat", "dog"})
    lines = [line.split() for line in ev.report(digits=2).splitlines()]
    assert lines == [
        ["1", "example,", "3", "labels"], [], ["precision", "recall", "f1", "support"],
        ["bird", "0.00", "0.00", "0.00", "1"], ["cat", "1.00", "1.00", "1.00", "1"],
        ["dog", "0.00", "0.00", "0.00", "0"], [],
        ["micro", "0.50", "0.50", "0.50", "2"], ["macro", "0.33", "0.33", "0.33", "2"],
        ["weighted", "0.50", "0.50", "0.50", "2"], ["samples", "0.50", "0.50", "0.50", "2"], [],
        ["f1_micro", "0.50", "higher", "is", "better"], ["hamming_loss", "0.67", "lower", "is", "better"],
        ["label_cardinality", "2.00"],
    ]  # fmt: skip


def test_of_many_labels_the_most_frequent_are_displayed():
    ev = many(100)
    support = dict(zip(ev.labels, ev.per_label().support.tolist(), strict=True))
    report = ev.report(max_labels=10)
    assert "... 90 labels of smaller support omitted" in report
    drawn = [label for label in ev.labels if label in report]
    assert len(drawn) == 10
    assert sorted(drawn, key=report.index) == drawn  # in the order of labels
    assert min(support[label] for label in drawn) >= sorted(support.values())[-10]
    assert "Labels, the 20 worst of 100" in ev._repr_html_()


def test_a_metric_that_cannot_be_read_is_refused_in_a_report_and_left_out_of_a_notebook():
    ev = se.Evaluator(["log_loss_micro", "roc_auc_micro"])
    ev.update({"cat"}, {"cat": -3.5, "dog": 2.25})
    with pytest.raises(MetricError, match="probabilities"):
        ev.report()
    assert "roc_auc_micro" in ev._repr_html_()
    assert "log_loss_micro" not in ev._repr_html_()


def test_bounds_are_written_where_their_digits_differ_from_the_value():
    ev = se.Evaluator(["roc_auc_macro", "brier_score_micro"])
    ev.update_many([["a"], [], ["a"]], [{"a": 0.300001}, {"a": 0.300002}, {"a": 0.300003}])
    lines = ev.report().splitlines()
    assert lines[-2] == "roc_auc_macro         0.5000  higher is better  between 0.0000 and 1.0000 (guaranteed)"
    assert "between" not in lines[-1]


def test_an_infinite_bound_is_written():
    ev = se.Evaluator(["log_loss_micro(eps=0)"])
    ev.update_many([["a"], ["a"]], [{"a": 5e-324}, {"a": 1e-320}])
    loss = ev.bounds("log_loss_micro(eps=0)")
    assert loss.low < loss.value < loss.high == float("inf")
    assert ev.report().endswith(f"between {loss.low - 0.00005:.4f} and inf (guaranteed)")


def test_labels_are_written_on_one_line_and_escaped_in_html():
    ev = hostile(["f1_micro"])
    assert len(ev.report().splitlines()) == len(HOSTILE) + 11
    assert "<script" not in ev._repr_html_()
    assert "<img" not in ev._repr_html_()


def test_labels_that_are_alike_have_different_names():
    ev = se.Evaluator(["f1_micro"], keep=["pairs"])
    ev.update({1, "1", "", "a"}, {1})
    for text in (ev.report(), se.classification_report([[1, "1", "", "a"]], [[1]]), repr(ev.cooccurrence())):
        assert {line.split()[0] for line in text.split("\n") if line.strip()} >= {"1", "'1'", "''", "a"}


def test_numbers_are_aligned_where_letters_are_wide_or_have_accents():
    names = ["cat", "猫", "鳥" * 40, "鳥" * 40 + "犬", "鳥" * 39 + "犬鳥", "cafe\u0301"]
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region")
    sliced.update_many([[name] for name in names], [["cat"]] * 6, where={"region": names})
    every = sliced.total()
    for text in (every.report(), se.classification_report([[name] for name in names], [["cat"]] * 6), sliced.report()):
        lines = [line for line in text.splitlines() if line.endswith(("1", "0000"))]
        assert len({cell_len(line) for line in lines}) == 1, text
        assert len({line.split()[0] for line in lines}) == len(lines)
        assert sum(name in text for name in names) >= 3


def test_matrices_of_labels_are_written_as_rows_and_columns():
    ev = se.Evaluator(["f1_micro"], keep=["pairs"])
    assert repr(ev.cooccurrence()).startswith("0 x 0 matrix")
    ev.update_many([{"a", "b"}, {"c"}, {"b"}], [{"a", "c"}, {"c"}, set()])
    assert [line.split() for line in repr(ev.confusion_matrix()).split("\n")] == [
        ["4", "x", "4", "matrix"], ["a", "b", "c", "no", "label"],
        ["a", "1", "0", "0", "0"], ["b", "0", "0", "1", "1"], ["c", "0", "0", "1", "0"], ["no", "label", *"0000"],
    ]  # fmt: skip
    ev.update_many([{f"a long name {n}" for n in range(20)}, {"漢字"}], [set(), {"漢字"}], weights=[1, 123_456_789_012])
    text = repr(ev.cooccurrence())
    assert text.startswith("24 x 24 matrix, the 11 labels with the largest sums\n")
    assert len({cell_len(line) for line in text.split("\n")[1:]}) == 1


@pytest.mark.parametrize(("truths", "line"), [
    ([["a"], ["b"]], ""), ([["a"], []], "1 example without a true label"),
    ([["a"], {"a": None}, []], "2 examples without a true label"),
])  # fmt: skip
def test_examples_without_a_true_label_are_counted(truths: list, line: str):
    for ev, guesses in (
        (se.Evaluator(["f1_micro"]), [["a"]] * len(truths)),
        (se.Evaluator(["roc_auc_macro"]), [{"a": 0.5, "b": 0.1}] * len(truths)),
    ):
        ev.update_many(truths, guesses)
        assert ev.report().split("\n")[1] == line
        assert ("<dt>without a true label</dt>" in ev.to_html()) == bool(line)
    ev = se.Evaluator(["f1_micro"])
    ev.update_many(truths, [["a"]] * len(truths), weights=[0.5] * len(truths))
    assert "without a true label" not in ev.report() + ev.to_html()
