"""The claims of the README and the pages about other libraries; those about torchmetrics are in tests/house/bench."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from river import metrics as river
from sklearn import metrics as sk

import streameval as se

ROOT = Path(__file__).resolve().parents[2]
TRUTH = [{"a", "b"}, {"b"}, {"c"}, set()]
PREDICTED = [{"a"}, {"b", "c"}, {"a"}, {"b"}]


def table() -> dict[str, dict[str, str]]:
    """The rows of the README's comparison: what each library does according to it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("## Why")[1].split("## ")[0]
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*$", text, re.MULTILINE)
    )
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def mapped(labels: set[str]) -> dict[str, bool]:
    return {name: name in labels for name in "abc"}


def rows_of(sets: list[set[str]]) -> np.ndarray:
    return np.array([[name in labels for name in "abc"] for labels in sets], int)


def test_every_row_has_a_test_in_this_file():
    assert list(table()) == [
        "reads a stream",
        "labels are",
        "computes metrics that were not named at the start",
        "can revert an example",
        "merges shards",
        "update of six metrics, 14 labels",
    ]


def test_streams_are_read_by_example_or_batch_and_by_river_by_example():
    ours, theirs = se.F1(average="micro"), river.multioutput.MicroAverage(river.F1())
    for true, predicted in zip(TRUTH, PREDICTED, strict=True):
        ours.update(true, predicted)
        theirs.update(mapped(true), mapped(predicted))
        assert ours.get() == pytest.approx(theirs.get())
    assert not hasattr(theirs, "update_many")
    batch = se.F1(average="micro")
    batch.update_many(TRUTH, PREDICTED)
    assert batch.get() == ours.get() == sk.f1_score(rows_of(TRUTH), rows_of(PREDICTED), average="micro")


def test_sets_of_names_are_refused_by_river_and_scikit_learn():
    with pytest.raises(TypeError):
        river.multioutput.MacroAverage(river.F1()).update({"a"}, {"a"})
    with pytest.raises(ValueError, match="legacy multi-label"):
        sk.f1_score([["a", "b"], ["a"]], [["a"], ["a"]], average="macro")
    ev = se.Evaluator()
    ev.update({"a"}, ["a"])
    ev.update(mapped({"a"}), {"a": True})
    assert ev.get("subset_accuracy") == 1.0


def test_labels_that_only_the_truth_has_are_new_labels_in_streameval_and_an_error_in_river():
    f1 = se.F1()
    f1.update({"a"}, {"a"})
    f1.update({"a", "new"}, {"a"})
    assert f1.get() == 0.5
    with pytest.raises(KeyError):
        river.multioutput.MacroAverage(river.F1()).update({"a": True, "new": True}, {"a": True})


def test_columns_that_only_one_side_has_are_an_error_in_scikit_learn():
    with pytest.raises(ValueError, match="different numbers of labels"):
        sk.f1_score(np.array([[1, 1], [0, 1]]), np.array([[1, 0, 0], [1, 1, 0]]), average="macro")


def test_each_library_has_the_averages_of_f1_that_the_comparison_names():
    named = "micro", "macro", "weighted", "samples"
    ours = se.Evaluator(labels=list("abc"))
    ours.update_many(TRUTH, PREDICTED)
    for average in named:
        expected = sk.f1_score(rows_of(TRUTH), rows_of(PREDICTED), average=average, zero_division=0)
        assert ours.get(f"f1_{average}") == pytest.approx(expected)
    offered = {name for name in vars(river.multioutput) if name.endswith("Average")}
    assert offered == {"MicroAverage", "MacroAverage", "SampleAverage"}


def test_metrics_can_be_chosen_after_counting_but_not_with_a_river_metric():
    ev = se.Evaluator(["f1_micro"])
    ev.update_many(TRUTH, PREDICTED)
    assert ev.get("hamming_loss") == pytest.approx(sk.hamming_loss(rows_of(TRUTH), rows_of(PREDICTED)))
    assert not inspect.signature(river.multioutput.MicroAverage(river.F1()).get).parameters


def test_examples_are_reverted_by_streameval_and_by_river():
    ours, theirs = se.F1(), river.multioutput.MacroAverage(river.F1())
    for true, predicted in zip(TRUTH, PREDICTED, strict=True):
        ours.update(true, predicted)
        theirs.update(mapped(true), mapped(predicted))
    before = ours.to_bytes(), theirs.get()
    ours.update({"b"}, {"c"})
    theirs.update(mapped({"b"}), mapped({"c"}))
    ours.revert({"b"}, {"c"})
    theirs.revert(mapped({"b"}), mapped({"c"}))
    assert (ours.to_bytes(), theirs.get()) == before


def test_shards_are_merged_in_streameval_in_any_order_to_the_same_bytes_and_not_in_river():
    whole, first, second = se.Evaluator(), se.Evaluator(), se.Evaluator()
    whole.update_many(TRUTH, PREDICTED)
    first.update_many(TRUTH[:1], PREDICTED[:1])
    second.update_many(TRUTH[1:], PREDICTED[1:])
    assert (first + second).to_bytes() == (second + first).to_bytes() == whole.to_bytes()
    theirs = river.multioutput.MacroAverage(river.F1())
    assert not any(hasattr(theirs, name) for name in ("merge", "__add__", "__iadd__"))


def test_the_area_is_bounded_in_streameval_approximate_in_river_and_exact_in_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.random((2_000, 1)) < 0.2
    scores = np.clip(rng.normal(0.3 + 0.1 * truth, 0.02 + 0.1 * truth), 0, 1)
    exact = sk.roc_auc_score(truth[:, 0], scores[:, 0])
    ours = se.Evaluator(["roc_auc_macro"], labels=["a"])
    ours.update_many(truth, scores)
    area = ours.bounds("roc_auc_macro")
    assert area.low <= exact <= area.high
    assert area.width < 0.001
    theirs = river.ROCAUC()
    for true, score in zip(truth[:, 0].tolist(), scores[:, 0].tolist(), strict=True):
        theirs.update(true, {True: score, False: 1 - score})
    assert abs(theirs.get() - exact) > 0.01


def test_the_times_are_those_of_the_performance_page():
    row = table()["update of six metrics, 14 labels"]
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    measured = re.search(r"mapping of 14 labels, six metrics \|[^|]*\| (\d+) ns \| (\d+) us", page)
    assert measured is not None
    assert row["streameval"] == f"{int(measured[1]) / 1000:.2f} us"
    assert row["River 0.26"] == f"{measured[2]} us"
