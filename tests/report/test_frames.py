"""The report as plain Python and as data frames."""

from __future__ import annotations

import json
import sys

import pandas as pd
import polars as pl
import pytest

import streameval as se
from streameval.errors import DependencyError, MetricError

COUNTS = ["label", "tp", "fp", "fn", "tn", "support", "predicted"]


@pytest.fixture
def pets() -> se.Evaluator:
    ev = se.Evaluator(["f1_micro", "recall_per_label"])
    ev.update({"cat", "bird"}, {"cat", "dog"})
    ev.update({"dog"}, {"dog"})
    return ev


def test_a_dict_contains_the_values_of_get_and_of_the_report(pets: se.Evaluator):
    decoded = pets.to_dict()
    assert list(decoded) == ["examples", "weight", "metrics", "averages", "labels"]
    assert (decoded["examples"], decoded["weight"]) == (2, 2.0)
    values = pets.get()
    records = [{"label": label, "value": value} for label, value in values["recall_per_label"].items()]
    assert decoded["metrics"] == values | {"recall_per_label": records}
    assert decoded["labels"] == pets.to_pandas().to_dict("records")
    for average, values in decoded["averages"].items():
        assert values == {name: pets.get(f"{name}_{average}") for name in ("precision", "recall", "f1")}
    assert json.loads(json.dumps(decoded)) == decoded


def test_a_dict_of_scores_without_a_threshold_has_no_decisions():
    ev = se.Evaluator(["ndcg"])
    ev.update({"cat"}, {"cat": 0.2, "dog": 0.7})
    assert list(ev.to_dict()) == ["examples", "weight", "metrics"]


def test_a_fresh_evaluator_answers():
    assert se.Evaluator().to_dict()["labels"] == []
    assert se.Evaluator().to_pandas().shape == se.Evaluator().to_polars().shape == (0, 10)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_has_a_row_per_label_and_the_metrics_asked_for(pets: se.Evaluator, library: str):
    frame = getattr(pets, f"to_{library}")(["jaccard_micro", se.FBeta(beta=2), "irlbl"])
    assert list(frame.columns) == [*COUNTS, "jaccard", "fbeta(beta=2)", "irlbl"]
    assert list(frame["label"]) == ["bird", "cat", "dog"]
    assert list(frame["tp"]) == [0, 1, 1]
    assert list(frame["fbeta(beta=2)"]) == list(pets.get("fbeta_per_label(beta=2)").values())


def test_frames_of_both_libraries_are_equal(pets: se.Evaluator):
    pd.testing.assert_frame_equal(pets.to_pandas(), pets.to_polars().to_pandas())
    pd.testing.assert_frame_equal(pets.per_label().to_pandas(), pets.to_pandas([]))
    assert pets.per_label().to_polars().equals(pets.to_polars([]))


def test_metrics_of_curves_are_columns_too_and_need_no_decisions():
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update({"cat"}, {"cat": 0.9, "dog": 0.1})
    ev.update({"dog"}, {"cat": 0.5, "dog": 0.4})
    assert list(ev.to_pandas(["roc_auc"]).columns) == ["label", "roc_auc"]
    assert ev.to_polars(["roc_auc"])["roc_auc"].to_list() == [1.0, 1.0]


def test_labels_of_different_types_fit_into_one_column():
    ev = se.Evaluator()
    ev.update([7, "7", 2**70], [])
    assert ev.to_polars()["label"].to_list() == ["7", str(2**70), "7"]
    assert ev.to_pandas()["label"].to_list() == [7, 2**70, "7"]
    integers = se.Evaluator()
    integers.update([7, 3], [])
    assert integers.to_polars()["label"].dtype == pl.Int64
    integers.update({10**5000}, {"\n"})
    assert {*integers.to_polars()["label"]} == {"3", "7", f"{10**5000:#x}", "\n"}


def test_metrics_without_values_per_label_are_refused(pets: se.Evaluator):
    with pytest.raises(MetricError, match="subset_accuracy has no value per label"):
        pets.to_pandas(["subset_accuracy"])
    with pytest.raises(MetricError, match="metrics must be a list"):
        pets.to_polars("f1")
    with pytest.raises(MetricError, match="roc_auc_per_label requires the 'curves' state"):
        pets.to_pandas(["roc_auc"])


def test_traces_become_data_frames():
    trace = se.Trace(se.Evaluator(["f1_micro"]), every=1)
    for y_true in ("a", "b"):
        trace.update({y_true}, {"a"})
    assert trace.to_pandas().to_dict("list") == trace.columns()
    assert trace.to_polars().to_dict(as_series=False) == trace.columns()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named(pets: se.Evaluator, library: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DependencyError, match=f"to_{library} needs {library}"):
        getattr(pets, f"to_{library}")()
