"""`describe` and ``input_summary`` say how input is read, in agreement with the counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streameval as se

LABELS = ["a", "b", "c"]
TRUE = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
SETS = [["a", "c"], [], ["b"], ["a", "b", "c"]]
SCORES = TRUE * 0.5 + 0.25


def mappings(values: Any) -> list[dict[str, Any]]:
    return [dict(zip(LABELS, row, strict=True)) for row in values.tolist()]


FORMS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "lists": (lambda: SETS, "list of list", "the examples"),
    "sets": (lambda: [set(row) for row in SETS], "list of set", "the examples"),
    "mappings": (lambda: mappings(TRUE), "list of dict", "the examples"),
    "array": (lambda: TRUE, "ndarray of int64, 3 columns", "labels=, in the order of columns"),
    "rows": (lambda: [*TRUE], "list of ndarray", "labels=, in the order of columns"),
    "frame": (lambda: pd.DataFrame(TRUE, columns=LABELS), "DataFrame, 3 columns", "the names of columns"),
    "Arrow": (lambda: pa.array(SETS), "column of lists of strings", "the examples"),
    "booleans": (lambda: pa.array((TRUE == 1).tolist()), "column of lists of booleans", "labels=, in the order of"),
    "Series": (lambda: pd.Series(SETS), "Series of object", "the examples"),
    "iterator": (lambda: iter(SETS), "list_iterator", "the examples"),
}


@pytest.mark.parametrize("unknown", ["error", "ignore"])
@pytest.mark.parametrize("form", FORMS)
def test_the_summary_of_each_side_has_its_form_labels_and_first_examples(form: str, unknown: Any):
    make, name, source = FORMS[form]
    for sides in ((make(), SETS), (SETS, make())):
        summary = se.describe(*sides, labels=LABELS, unknown=unknown)
        side = summary["y_pred" if sides[0] is SETS else "y_true"]
        assert side["form"].replace("element", "item") == name
        assert side["labels_from"].startswith(source)
        assert side["labels"] == 3
        assert "ignored" not in side
        assert side["examples"] == [{"labels": row} for row in SETS[:3]]
    ev = se.Evaluator(labels=LABELS)
    ev.update_many(make(), SETS)
    assert ev.input_summary["y_true"]["examples"] == summary["y_true"]["examples"]
    assert se.Evaluator.from_bytes(ev.to_bytes()).input_summary == {}
    assert json.loads(json.dumps(summary)) == summary


@pytest.mark.parametrize("keep", [[], ["curves"], ["rankings"]])
def test_scores_are_described_as_predicted_labels_or_as_numbers_if_states_keep_scores(keep: list[str]):
    retained = {"scores": [{"label": label, "score": score} for label, score in zip(LABELS, SCORES[0], strict=True)]}
    expected = {"labels": ["a", "c"]} | (retained if keep else {})
    for scores in (SCORES, mappings(SCORES), pa.array(SCORES.tolist())):
        ev = se.Evaluator([], labels=LABELS, threshold=0.5, keep=keep)
        ev.update_many(SETS, scores)
        assert ev.input_summary["y_pred"]["examples"][0] == expected


def test_the_summary_names_masked_and_ignored_labels_of_single_examples():
    ev = se.Evaluator(labels=["a", "b"], unknown="ignore")
    for true, pred in (({"a": 1, "b": None}, {"a", "x"}), ({"b", "y"}, set()), ({"a"}, {"b"}), ({"b"}, {"b"})):
        ev.update(true, pred)
    assert repr(ev.input_summary).splitlines() == [
        "y_true: dict; 2 labels, from the examples", "  a; masked b", "  b", "  a", "  ignored: y",
        "y_pred: set; 2 labels, from the examples", "  a", "  no labels", "  b", "  ignored: x",
    ]  # fmt: skip


@pytest.mark.parametrize("make", [
    lambda: se.Rolling(se.Evaluator(), 9), lambda: se.Tumbling(se.Evaluator(), size=9), lambda: se.metric("f1"),
    lambda: se.Fading(se.Evaluator(), half_life=9),
])  # fmt: skip
def test_windows_and_metrics_have_an_input_summary_too(make: Callable[[], Any]):
    assert make().input_summary == {}
    for call in ("update", "update_many"):
        counting = make()
        getattr(counting, call)(*([SETS, SETS] if call == "update_many" else [SETS[0], {"b"}]))
        assert counting.input_summary["y_true"]["examples"][0] == {"labels": ["a", "c"]}
        for _ in range(2):
            counting = type(counting).from_bytes(counting.to_bytes())
        assert counting.input_summary == {}
        for examples in range(1, 4):
            counting.update({"a"}, {"b"})
            assert len(counting.input_summary["y_true"]["examples"]) == examples


def test_describe_refuses_the_same_input_as_score():
    with pytest.raises(se.InputError, match="may be indicators or the labels"):
        se.describe([[1, 0, 1]], [[1, 1, 1]])
    assert "  1, 2, x, y\n" in repr(
        se.describe([["y", 2, "x", 1]], [[2]], metrics="f1_micro", null="empty", weights=[2.0])
    )


def test_the_input_summary_of_a_copy_is_independent():
    ev = se.Evaluator(labels=["a"], unknown="ignore")
    ev.update({"a"}, {"x"})
    twin = ev.copy()
    twin.update(["a"], {"y"})
    assert [len(each.input_summary["y_true"]["examples"]) for each in (ev, twin)] == [1, 2]
    assert [each.input_summary["y_pred"]["ignored"] for each in (ev, twin)] == [["x"], ["x", "y"]]
    ev.input_summary["y_true"]["examples"].clear()
    assert ev.input_summary["y_true"]["examples"] == [{"labels": ["a"]}]


def test_predictions_are_described_as_the_metrics_read_them():
    described = se.describe([{"a"}], [{"a": 0.5}], "roc_auc_macro")
    assert described["y_pred"]["examples"] == [{"scores": [{"label": "a", "score": 0.5}]}]


def test_the_input_summary_is_empty_after_a_reset():
    ev = se.Evaluator()
    ev.update({"a"}, {"a"})
    assert ev.input_summary
    ev.reset()
    assert not ev.input_summary
