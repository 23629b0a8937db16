"""Rows that are Python objects give the bytes that the same rows give in a table."""

from __future__ import annotations

import copy
import json
from collections import namedtuple
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streameval as se
from streameval.tabular.rows import blocks_of, is_table
from tests.tabular.test_arrow import METRICS, PRED, TRUE, job, reference

ROWS = [{"actual": true, "predicted": pred} for true, pred in zip(TRUE, PRED, strict=True)]
FORMS: dict[str, Any] = {
    "mappings": dict,
    "named tuples": lambda row: namedtuple("Row", row)(**row),  # noqa: PYI024  # the fields are named by the row
    "objects": lambda row: make_dataclass("Row", row)(**row),
    "sets": lambda row: {name: set(labels) for name, labels in row.items()},
    "truths": lambda row: {name: dict.fromkeys(labels, True) for name, labels in row.items()},
}


def counted(rows: list[Any], **options: Any) -> Any:
    what = job(**options)
    state = what.fresh()
    for batch in blocks_of(rows):
        what.add(state, batch)
    return state


@pytest.mark.parametrize("form", FORMS)
def test_a_row_may_be_a_mapping_or_have_its_columns_as_attributes(form: str):
    assert counted([FORMS[form](row) for row in ROWS]).to_bytes() == reference().to_bytes()


def test_a_list_of_rows_may_contain_tables():
    frame, table = pd.DataFrame(ROWS[:2]), pa.Table.from_pylist(ROWS[2:4])
    assert is_table(frame)
    assert is_table(table)
    assert not is_table(ROWS[0])
    assert counted([frame, ROWS[4], table]).to_bytes() == reference().to_bytes()


def test_lists_of_booleans_are_rows_in_the_order_of_the_labels():
    rows = [{"actual": [True, False], "predicted": [True, True]}]
    result = counted(rows, metrics=se.Evaluator(["f1_micro"], labels=["x", "y"]))
    assert result.get() == {"f1_micro": 2 / 3}


SCORES: dict[str, Any] = {
    "mapping": {"a": 0.9, "b": 0.2},
    "pairs": [("a", 0.9), ("b", 0.2)],
    "pairs of JSON": [["a", 0.9], ["b", 0.2]],
    "list": [0.9, 0.2],
    "array": np.array([0.9, 0.2]),
}


@pytest.mark.parametrize("form", SCORES)
def test_scores_may_be_in_any_form(form: str):
    empty = se.Evaluator(["one_error", "roc_auc_micro"], labels=["a", "b"])
    rows = [{"actual": ["b"], "scores": SCORES[form]}]
    expected = empty.copy()
    expected.update(["b"], {"a": 0.9, "b": 0.2})
    assert counted(rows, metrics=empty, predicted=None, scores="scores").to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("scores", [[0, 1], (0, 1), [1, 0], [1, 1]])
@pytest.mark.parametrize("threshold", [0.5, None])
def test_integers_in_a_column_of_scores_are_scores(scores: Any, threshold: float | None, tmp_path: Path):
    empty = se.Evaluator(["one_error"], threshold=threshold)
    expected = empty.copy()
    expected.update({1}, np.array([float(score) for score in scores]))
    rows = [{"actual": [1], "scores": scores}]
    assert counted(rows, metrics=empty, predicted=None, scores="scores") == expected
    (tmp_path / "a.jsonl").write_text(json.dumps(rows[0]))
    (tmp_path / "a.csv").write_text(f'actual,scores\n[1],"{json.dumps(scores)}"\n')
    frame = pd.DataFrame(rows)
    for source in (tmp_path / "a.jsonl", tmp_path / "a.csv"):
        assert se.evaluate_table(source, actual="actual", scores="scores", metrics=empty) == expected
    with pytest.raises(se.InputError, match="holds lists of 64-bit integers; scores are"):  # its columns have types
        se.evaluate_table(frame, actual="actual", scores="scores", metrics=empty)


def test_a_list_of_scores_may_belong_to_the_labels_of_another_column():
    empty = se.Evaluator(["one_error"])
    expected = empty.copy()
    expected.update(["b"], {"a": 0.9, "b": 0.2})
    row = {"actual": ["b"], "predicted": ["a", "b"], "scores": [0.9, 0.2]}
    assert counted([row], metrics=empty, scores="scores").to_bytes() == expected.to_bytes()
    for scores, message in (
        ([0.9], "columns 'predicted' and 'scores' hold a row of 2 labels and 1 score; leave predicted out unless"),
        ([0.9, None], "None for label 'b'; give a number, or leave"),
    ):
        with pytest.raises(se.InputError, match=message):
            counted([row | {"scores": scores}], metrics=empty, scores="scores")
    expected.update(["b"], {})
    nothing = {"actual": ["b"], "predicted": None, "scores": None}
    assert counted([row, nothing], metrics=empty, scores="scores", null="empty").to_bytes() == expected.to_bytes()
    with pytest.raises(se.InputError, match="two values for label 'a'"):
        counted([row | {"predicted": ["a", "a"]}], metrics=empty, scores="scores")


@pytest.mark.parametrize(
    "scores",
    [
        "cat",
        5,
        True,
        {"a": "x"},
        {"a": [1]},
        ["a", "b"],
        [["a"]],
        [("a", "x")],
        [(["a"], 1)],
        [["a", 1], 2],
        [{"a": 1}],
    ],
)
def test_malformed_scores_are_refused_in_one_family_of_errors(scores: Any):
    with pytest.raises(se.InputError, match=r"^column 'scores'"):
        counted([{"actual": ["a"], "scores": scores}], metrics=["one_error"], predicted=None, scores="scores")


@pytest.mark.parametrize(
    ("labels", "scores"),
    [(["a"], "x"), (["a"], 5), (["a"], {"a": 1.0}), (5, [1.0]), ("a", [1.0]), ({"a"}, [1.0]), ([["a"]], [1.0])],
)
def test_scores_of_labels_in_another_column_are_refused_unless_both_are_lists(labels: Any, scores: Any):
    row = {"actual": ["a"], "predicted": labels, "scores": scores}
    with pytest.raises(se.InputError, match=r"^columns? '(predicted|scores)' "):
        counted([row], metrics=["one_error"], scores="scores")


def test_rows_may_have_slots_or_properties():
    kind = make_dataclass("Row", ["actual", "predicted"], slots=True)
    assert counted([kind(**row) for row in ROWS]) == counted(ROWS)
    computed = make_dataclass("Row", ["actual", "guess"], namespace={"predicted": property(lambda row: row.guess)})
    assert counted([computed(*row.values()) for row in ROWS]) == counted(ROWS)


def test_rows_may_differ_in_columns_that_are_not_read_and_hold_strings_that_are_split():
    wide = [{"true_a": 1, "pred_a": 0}, {"true_a": 1, "pred_a": 1, "more": 3}]
    assert counted(wide, actual="true_*", predicted="pred_*", metrics=["f1_micro"]).get() == {"f1_micro": 2 / 3}
    assert counted([{"actual": "a|b", "predicted": "b"}], sep="|") == counted(
        [{"actual": ["a", "b"], "predicted": ["b"]}]
    )


def test_weights_masks_and_slices_are_columns():
    rows = [row | {"w": 2.0, "m": ["c"], "region": "eu"} for row in ROWS]
    result = counted(rows, weight="w", mask="m", by="region")
    expected = se.Evaluator(["f1_micro", "f1_macro", "recall_samples"])
    expected.update_many(TRUE, PRED, weights=[2.0] * len(TRUE), mask=[["c"]] * len(TRUE))
    assert result.total().to_bytes() == expected.to_bytes()
    with pytest.raises(se.InputError, match=r"column 'w' .*: weight must be an integer or a float, not '2'"):
        counted([row | {"w": "2"} for row in ROWS], weight="w")
    with pytest.raises(se.InputError, match="column 'w' holds 5 nulls; every row needs a weight"):
        counted([row | {"w": None} for row in ROWS], weight="w")


def test_nulls_are_refused_unless_null_is_empty():
    rows = [{"actual": None, "predicted": ["a"]}]
    with pytest.raises(
        se.InputError,
        match=r"column 'actual' \(row 0 of the batch\) is missing \(None\).* drop the row, or give null='empty'",
    ):
        counted(rows)
    assert counted(rows, null="empty").to_bytes() == reference([[]], [["a"]]).to_bytes()
    assert counted(rows, actual="actual.x", null="empty").to_bytes() == reference([[]], [["a"]]).to_bytes()


@pytest.mark.parametrize("kind", ["rows", "lines.jsonl", "array.json"])
def test_keys_that_only_some_rows_lack_are_empty_lists_where_null_is_empty(kind: str, tmp_path: Path):
    rows: list[dict] = [{"predicted": ["a"]}, {"actual": ["a"]}, {}, {"actual": ["a"], "predicted": ["a", "b"]}]
    rows *= 60  # more rows than fit into one block
    true, pred = ([row.get(name, []) for row in rows] for name in ("actual", "predicted"))
    names = {"actual": "actual", "predicted": "predicted"}

    def evaluated(rows: list[dict], **options: str) -> se.Evaluator:
        before, source = copy.deepcopy(rows), rows
        if kind != "rows":
            source = tmp_path / kind
            text = json.dumps(rows) if kind == "array.json" else "\n".join(map(json.dumps, rows))
            source.write_text(text, encoding="utf-8")
        try:
            return se.evaluate_table(source, metrics=METRICS, **names | options)
        finally:
            assert rows == before

    assert evaluated(rows, null="empty").to_bytes() == reference(true, pred).to_bytes()
    with pytest.raises(se.InputError, match="there is no column 'actual'"):
        evaluated(rows)
    for size in (1, 3, len(rows)):  # no row has the column, because its name is misspelt
        with pytest.raises(se.InputError, match="there is no column 'predictions'"):
            evaluated(rows[3 : 3 + size], null="empty", predicted="predictions")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"actual": ["a"], "predictd": ["a"]}, r"no column 'predicted' \(predicted\); did you mean 'predictd'"),
        (make_dataclass("Row", ["actual"])(["a"]), "no column 'predicted'"),
        ({}, r"no column 'actual' \(actual\); the columns are \[\]"),
        ("a row", "a row must be a mapping or have the columns as attributes"),
        (np.zeros(1, [("actual", "O")])[0], "a row must be a mapping or have the columns as attributes"),
        ({"actual": "cat", "predicted": ["a"]}, r"^column 'actual' \(row 1 of the batch\) is the string 'cat'"),
    ],
)
def test_rows_that_cannot_be_read_are_refused_and_nothing_is_counted(row: Any, message: str):
    what = job()
    state = what.fresh()
    with pytest.raises(se.InputError, match=message):
        what.add(state, [ROWS[0], row])
    assert state == what.fresh()
