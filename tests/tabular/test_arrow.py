"""A job reads columns of every type that can hold labels or scores, and names a column that it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import streameval as se
from streameval.tabular.job import Job
from tests.support.each import with_each

METRICS = ["f1_micro", "f1_macro", "recall_samples"]
TRUE = [["a", "b"], [], ["c"], ["a"], ["b", "c"]]
PRED = [["a"], ["b"], ["c"], [], ["b", "a"]]


def reference(true: Iterable[Any] = TRUE, pred: Iterable[Any] = PRED, **options: Any) -> se.Evaluator:
    made = se.Evaluator(METRICS, **options)
    made.update_many(list(true), list(pred))
    return made


ENDS = pa.RunEndEncodedArray.from_arrays([1], ["eu"])


def job(**options: Any) -> Job:
    return Job.of(**{"metrics": METRICS, "actual": "actual", "predicted": "predicted", **options})


def viewed(values: pa.Array, *, large: bool = False) -> pa.Array:
    """The same lists as a list view, whose values are stored in reverse order."""
    lists = values.to_pylist()
    flat = [label for row in reversed(lists) for label in row]
    ends = np.cumsum([len(row) for row in reversed(lists)])
    starts = [int(end) - len(row) for end, row in zip(ends, reversed(lists), strict=True)][::-1]
    sizes = [len(row) for row in lists]
    kind, number = (pa.LargeListViewArray, pa.int64()) if large else (pa.ListViewArray, pa.int32())
    return kind.from_arrays(pa.array(starts, number), pa.array(sizes, number), pa.array(flat, values.type.value_type))


def plain(rows: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(rows, kind or pa.list_(pa.string()))


TYPES: dict[str, Callable[[list[Any]], pa.Array | pa.ChunkedArray]] = {
    "list": plain,
    "large list": lambda rows: plain(rows, pa.large_list(pa.string())),
    "large strings": lambda rows: plain(rows, pa.list_(pa.large_string())),
    "string views": lambda rows: plain(rows, pa.list_(pa.string_view())),
    "list view": lambda rows: viewed(plain(rows)),
    "large list view": lambda rows: viewed(plain(rows), large=True),
    "dictionaries": lambda rows: plain(rows, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "sliced": lambda rows: plain([["x"], ["y", "z"], *rows, ["x"]])[2:-1],
    "sliced view": lambda rows: viewed(plain([["x"], ["y", "z"], *rows, ["x"]]))[2:-1],
    "chunks": lambda rows: pa.chunked_array([rows[:2], [], rows[2:]], pa.list_(pa.string())),
    "no chunks": lambda rows: pa.chunked_array([rows], pa.list_(pa.string())),
}


@with_each("pred", TYPES)
@pytest.mark.parametrize("true", TYPES)
def test_labels_may_be_in_lists_of_any_arrow_type(true: str, pred: str):
    table = pa.table({"actual": TYPES[true](TRUE), "predicted": TYPES[pred](PRED)})
    assert job().merged([job().state([table])]) == reference()


def test_fixed_size_lists_of_text_and_lists_of_integers_hold_labels():
    kind = pa.list_(pa.string(), 2)
    rows = [["a", "b"], ["b", "c"]]
    table = pa.table({"actual": pa.array(rows, kind), "predicted": pa.array(rows[::-1], kind)})
    assert job().merged([job().state([table, table[1:]])]) == reference([*rows, rows[1]], [*rows[::-1], rows[0]])
    numbers = [[1, 2], [], [7]]
    table = pa.table({"actual": pa.array(numbers, pa.list_(pa.uint8())), "predicted": pa.array(numbers)})
    assert job().merged([job().state([table])]) == reference(numbers, numbers)


@pytest.mark.parametrize("kind", [pa.list_(pa.bool_()), pa.list_(pa.bool_(), 3), pa.large_list(pa.bool_())])
def test_lists_of_booleans_are_decisions_in_the_order_of_the_labels(kind: pa.DataType):
    rng = np.random.default_rng(2)
    true, pred = rng.random((9, 3)) < 0.5, rng.random((9, 3)) < 0.5
    table = pa.table({"actual": pa.array(true.tolist(), kind), "predicted": pa.array(pred.tolist(), kind)})
    expected = se.Evaluator(METRICS, labels=["c", "a", "b"])
    made = job(metrics=expected)
    expected.update_many(true, pred)
    assert made.merged([made.state(table[start : start + 4] for start in (0, 4, 8))]) == expected


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.list_view(pa.string()), pa.list_(pa.string(), 1)])
def test_null_lists_are_refused_unless_null_is_empty(kind: pa.DataType):
    table = pa.table({"actual": pa.array([["a"], None, ["b"]], kind), "predicted": pa.array([None, None, ["b"]], kind)})
    with pytest.raises(se.InputError, match="column 'actual' holds 1 null; drop those rows, or give null='em"):
        job().state([table])
    empty = job(null="empty")
    assert empty.merged([empty.state([table])]) == reference([["a"], [], ["b"]], [[], [], ["b"]])
    nothing = pa.table({"actual": pa.nulls(2), "predicted": pa.array([[], None], pa.list_(pa.null()))})
    assert empty.merged([empty.state([nothing])]) == reference([[], []], [[], []])


def test_null_lists_are_empty_even_if_they_cover_values():
    values = pa.ListArray.from_arrays([0, 1, 3, 4], pa.array(["a", "x", "y", "b"]), mask=pa.array([False, True, False]))
    table = pa.table({"actual": values, "predicted": values})
    empty = job(null="empty")
    assert empty.merged([empty.state([table])]) == reference([["a"], [], ["b"]], [["a"], [], ["b"]])


def arrays(rows: list[Any]) -> list[Any]:
    """Arrays of objects, as pandas makes them when it reads lists from Parquet."""
    return [None if row is None else np.array(row, object) for row in rows]


@pytest.mark.parametrize("true", [arrays, list], ids=["arrays", "lists"])
@pytest.mark.parametrize("pred", [arrays, list], ids=["arrays", "lists"])
def test_object_columns_of_lists_and_arrays_hold_lists_of_labels(true: Callable[..., Any], pred: Callable[..., Any]):
    rows = {"weight": [1.0, 0.5, 2.0, 1.0, 3.0], "predicted": pred(PRED), "region": list("xyxyz"), "actual": true(TRUE)}
    frame = pd.DataFrame({**rows, "mask": true([["a"], [], [], [], ["b"]])}, index=[3, 1, 4, 1, 5])
    assert job().merged([job().state([frame])]) == reference()
    made = job(weight="weight", mask="mask", by="region")
    table = pa.Table.from_pandas(frame, preserve_index=False)
    assert made.state([frame]) == made.state([table]) == made.state([frame[:2], frame[2:]])


@pytest.mark.parametrize("form", [dict.fromkeys, frozenset, lambda row: dict.fromkeys(row, True).keys()])
@pytest.mark.parametrize("index", [None, [3, 1, 4, 1, 5]])
def test_frames_of_mappings_and_sets_count_as_these_objects_do(form: Callable[..., Any], index: list[int] | None):
    cells = [{label: label != "b" for label in form(row)} if form == dict.fromkeys else form(row) for row in TRUE]
    frame = pd.DataFrame({"actual": cells, "predicted": PRED, "region": ["x", None, "x", "y", "y"]}, index=index)
    assert job().merged([job().state([frame[:2], frame[2:]])]) == reference(cells, PRED)
    assert se.evaluate_table(frame, actual="actual", predicted="predicted", metrics=METRICS) == reference(cells, PRED)
    sliced = se.evaluate_table(frame, actual="actual", predicted="predicted", metrics=METRICS, by="region")
    plain = pd.DataFrame({"actual": [[k for k in row if k != "b" or form != dict.fromkeys] for row in TRUE],
                          "predicted": PRED, "region": frame["region"].tolist()})  # fmt: skip
    expected = se.evaluate_table(plain, actual="actual", predicted="predicted", metrics=METRICS, by="region")
    assert sliced.get("f1_micro") == expected.get("f1_micro")
    rows = pd.DataFrame({"key": range(5), "predicted": [{"a": 1}, {"b": 1}, {"c": 0}, {}, {"b": 1, "a": 1}]})
    truth = pd.DataFrame({"key": range(5), "actual": cells})
    joined = se.evaluate_table(rows, truth=truth, join="key", actual="actual", predicted="predicted", metrics=METRICS)
    assert joined == reference(cells, rows["predicted"])


@pytest.mark.parametrize("roles", [("actual", "predicted"), ("predicted", "actual")])
def test_frames_with_a_column_of_mappings_and_one_of_arrow_maps_are_read(roles: tuple[str, str]):
    maps = pa.array([[("a", True), ("b", False)], None, [("c", True)]], pa.map_(pa.string(), pa.bool_()))
    cells = [{"a": True}, {"b": True, "c": False}, {}]
    frame = pd.DataFrame({roles[0]: cells, roles[1]: pd.Series(maps, dtype=pd.ArrowDtype(maps.type))})
    read = {roles[0]: cells, roles[1]: [{"a": True, "b": False}, [], {"c": True}]}
    options: dict[str, Any] = {"actual": "actual", "predicted": "predicted", "metrics": METRICS, "null": "empty"}
    assert se.evaluate_table(frame, **options) == reference(read["actual"], read["predicted"])
    twice = pa.array([[("a", True), ("a", False)]] * 3, maps.type)
    frame[roles[1]] = pd.Series(twice, dtype=pd.ArrowDtype(maps.type))
    with pytest.raises(se.LabelError, match=f"column '{roles[1]}' has two values for label 'a'"):
        se.evaluate_table(frame, **options)


def test_frames_of_other_objects_are_read_as_arrow_reads_them():
    numbers = [[1, 2], [], [7], [1]]
    for rows in (numbers, arrays(numbers), [np.array(row, np.int64) for row in numbers]):
        frame = pd.DataFrame({"actual": rows, "predicted": rows})
        assert job().merged([job().state([frame])]) == reference(numbers, numbers)
    frame = pd.DataFrame({"actual": arrays([["a"], None, []]), "predicted": [["a"], ["b"], None]})
    with pytest.raises(se.InputError, match="column 'actual' holds 1 null"):
        job().state([frame])
    empty = job(null="empty")
    assert empty.merged([empty.state([frame])]) == reference([["a"], [], []], [["a"], ["b"], []])
    mixed = pd.DataFrame({"actual": [["a"], ["a", 7], [2**70]], "predicted": [["a"], ["b"], [2**70]]})
    assert job().merged([job().state([mixed])]) == reference(mixed["actual"], mixed["predicted"])
    for wrong in ([b"a"], ["\ud800"], ["a", None]):
        ev = job().fresh()
        with pytest.raises(se.InputError):
            job().add(ev, pd.DataFrame({"actual": [["a"], wrong], "predicted": [["a"], ["b"]]}))
        assert ev == job().fresh()


@with_each(
    "cells",
    [
        [[0, 1], [0.0, 1.0]],  # Arrow would convert both to one type
        [[0, 1], [0.5, 0.25]],
        [[3, 7], [1.0, 0.0]],
        [[1, 1], [0.0, 1.0]],
        [[True, True], [1, 1.0]],
        [[True, 1], [1.0, 0.0]],
        [np.array([True, False, True]), [3, 4, 5]],
        [np.array([3, 7]), np.array([])],
        [np.array([1, 0], np.int8), np.array([0, 1], np.uint8)],
        [np.array([3, 7], object), np.array([1.0, 0.0], object)],
        [{"0", "1"}, {"1"}],  # the order of such a set differs from process to process
        [{"0", "1", "-1"}, {3}],
        [{3}, {0.5}],
        [[(3, 0.5), (7, 0.25)], [(3, 0.75)]],
        [[[3, 0.5], [7, 0.25]], None],
        [{3: 1}, {7: True}],
        [{"label": 1}, None],
    ],
)
@with_each("scores", [False, True])
def test_frames_whose_cells_differ_in_type_are_read_as_rows_with_these_cells(cells: list[Any], scores: bool):
    truths, name = [{3}, {7}], "scores" if scores else "predicted"
    frame = pd.DataFrame({"actual": truths, "cells": pd.Series(cells, dtype=object)})
    objects = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]
    rows = [{"actual": true, "cells": cell} for true, cell in zip(truths, objects, strict=True)]
    outcomes = list[object]()
    for source, within in ((rows, ""), (frame, ""), (pd.DataFrame({"in": rows}), "in.")):
        columns = {"actual": f"{within}actual", name: f"{within}cells"}
        try:
            outcomes.append(se.evaluate_table(source, threshold=0.5 if scores else None, null="empty", **columns))
        except se.InputError as error:
            outcomes.append(type(error))
    assert outcomes[1] == outcomes[2] == outcomes[0]


@pytest.mark.parametrize("values", [[["a"], ["b"], ["a"]], [1, 2, ["a"]]])
def test_frames_with_two_columns_of_a_name_are_refused(values: list[Any]):
    with pytest.raises(se.InputError, match="2 columns are named 'actual'; give each a name of its own"):
        job().state([pd.DataFrame([values], columns=["actual", "actual", "predicted"])])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_batches_too(frame: Callable[[Any], Any]):
    made = job(by="region")
    rows = {
        "actual": TRUE,
        "predicted": PRED,
        "region": list("xyxyx"),
        "more": [object] * 5 if frame is pd.DataFrame else [1] * 5,
    }
    assert made.merged([made.state([frame(rows)])]).total() == reference()


def test_weights_and_masks_are_columns():
    table = pa.table(
        {"actual": TRUE, "predicted": PRED, "w": [0.5, 1.0, 2.0, 0.1, 3.0], "m": [["a"], [], ["b"], [], ["c"]]}
    )
    made = job(weight="w", mask="m")
    expected = se.Evaluator(METRICS)
    expected.update_many(TRUE, PRED, weights=table["w"].to_pylist(), mask=table["m"].to_pylist())
    assert made.merged([made.state([table[:2], table[2:]])]) == expected
    coded = table.set_column(2, "w", table["w"].dictionary_encode())
    assert made.merged([made.state([coded[:2], coded[2:]])]) == expected


SCORES = [{"a": 0.9, "b": 0.2, "c": 0.5}, {"a": 0.1, "b": 0.5, "c": 0.4}, {"a": 0.3, "b": 0.7, "c": 0.8}]
PAIR = pa.struct([("label", pa.string()), ("score", pa.float64())])
SCORED: dict[str, dict[str, pa.Array]] = {
    "map": {"scores": pa.array([list(row.items()) for row in SCORES], pa.map_(pa.string(), pa.float64()))},
    "pairs": {
        "scores": pa.array(
            [[{"label": key, "score": value} for key, value in row.items()] for row in SCORES], pa.list_(PAIR)
        )
    },
    "struct": {"scores": pa.array(SCORES)},
    "struct of float32": {"scores": pa.array(SCORES, pa.struct([(name, pa.float32()) for name in "abc"]))},
    "list": {"scores": pa.array([list(row.values()) for row in SCORES])},
    "fixed-size list": {"scores": pa.array([list(row.values()) for row in SCORES], pa.list_(pa.float64(), 3))},
    "with labels": {
        "scores": pa.array([list(row.values()) for row in SCORES]),
        "predicted": pa.array([list(row) for row in SCORES]),
    },
}  # fmt: skip


@with_each("keep", [[], ["rankings", "curves"]])
@with_each("form", SCORED)
def test_scores_may_be_in_columns_of_any_type(form: str, keep: list[str]):
    true = [["a"], ["b", "c"], ["c"]]
    own = se.Evaluator(METRICS, labels=["a", "b", "c"], threshold=0.5, keep=keep)
    made = Job.of(own, actual="actual", scores="scores", predicted="predicted" if form == "with labels" else None)
    table = pa.table({"actual": true, **SCORED[form]})
    expected = own.copy()
    scores = SCORES
    if form == "struct of float32":
        scores = [{key: float(np.float32(value)) for key, value in row.items()} for row in SCORES]
    expected.update_many(true, scores)
    assert made.merged([made.state([table[:1], table[1:]])]) == expected


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"actual": ["a"], "predicted": [["a"]]}, "column 'actual' holds strings, not lists of labels; split them"),
        ({"actual": [["a"]], "predicted": [1]}, "64-bit integers, not lists .* a pattern such as 'true_"),
        ({"actual": [["a"]], "predicted": [{"x": 2}]}, r"column 'predicted' \(row 0 of the batch\) is 2 for label 'x'"),
        ({"actual": [{"x": 2}], "predicted": [["x"]]}, "is 2 for label 'x'; .*: where integers are counts give y > 0"),
        ({"actual": [["a"]], "predicted": [[0.5]]}, "column 'predicted' holds rows of 1 value without label names"),
        ({"actual": [["a"]], "predicted": [[b"x"]]}, "column 'predicted' holds lists of bytes"),
        ({"actual": [["a"]], "predicted": [["a", None]]}, r"column 'predicted' \(row 0 .* not None; leave it out"),
        ({"actual": [["a"]], "predict": [["a"]]}, r"no column 'predicted' \(predicted\); did you mean 'predict'"),
        ({"actual": [["a"]], "predicted": [["a"]], "region": ENDS}, r"^column 'region' \(by\) holds run_end"),
        ({"x": [["a"]]}, r"no column 'actual' \(actual\); the columns are \['x'\]"),
        ({"actual": pa.array([[0, 1]], pa.list_(pa.int8(), 2)), "predicted": [["a"]]}, "may be indicators or the l"),
        ({"actual": [[True] * 3, [True, False]], "predicted": [[], []]}, "rows of 3 columns and of 2"),
        ({"actual": [[1]], "predicted": [[True, None]]}, "is None for label 1; give a number, or leave"),
        ({"actual": pa.nulls(1), "predicted": [["a"]]}, "column 'actual' holds 1 null"),
    ],
)  # fmt: skip
def test_columns_that_hold_neither_labels_nor_scores_are_named(columns: dict[str, Any], message: str):
    made = job(by="region" if "region" in columns else None)
    state = made.fresh()
    with pytest.raises(se.InputError, match=message):
        made.add(state, pa.table(columns))
    assert state == made.fresh()


def test_labels_that_are_not_declared_are_reported_with_their_column():
    made = job(metrics=se.Evaluator(METRICS, labels=["cat"]))
    message = r"^column 'predicted' \(row 1 .*: label 'cta' is not the declared label 'cat'; did you mean 'cat'"
    with pytest.raises(se.LabelError, match=message):
        made.state([pa.table({"actual": [["cat"]] * 2, "predicted": [["cat"], ["cta"]]})])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (["x"], "column 'w' holds strings; weights are numbers"),
        ([None], "holds null"),
        (pa.array([None], pa.float64()), "column 'w' holds 1 null; every row needs a weight"),
        ([-1.0], r"column 'w' \(row 0 .*must be finite and not negative"),
    ],
)
def test_invalid_weights_are_refused(weights: list[Any], message: str):
    with pytest.raises(se.InputError, match=message):
        job(weight="w").state([pa.table({"actual": [["a"]], "predicted": [["a"]], "w": weights})])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5], "column 'scores' holds 64-bit floats; scores are a map"),
        ([["a"]], "column 'scores' holds lists of strings; scores are a map"),
        ([None], "column 'scores' holds 1 null"),
        (pa.array([[("a", 0.1), ("a", 0.2)]], pa.map_(pa.string(), pa.float64())), "two values for label"),
        (pa.array([[("a", None)]], pa.map_(pa.string(), pa.float64())), "None for label 'a'; give a number, or leave"),
        ([[{"label": "a", "score": float("nan")}]], r"column 'scores' \(row 0 of the batch\) is nan"),
    ],
)  # fmt: skip
def test_invalid_scores_are_refused(scores: Any, message: str):
    made = Job.of(METRICS, actual="actual", scores="scores", threshold=0.5)
    with pytest.raises(se.InputError, match=message):
        made.state([pa.table({"actual": [["a"]], "scores": scores})])


def test_a_row_with_more_labels_than_scores_is_refused():
    made = Job.of(METRICS, actual="actual", predicted="predicted", scores="scores", threshold=0.5)
    with pytest.raises(se.InputError, match="hold a row of 2 labels and 1 score; leave predicted out unless"):
        made.state([pa.table({"actual": [["a"]], "predicted": [["a", "b"]], "scores": [[0.5]]})])


def test_two_columns_of_one_name_are_refused():
    table = pa.Table.from_arrays([pa.array([["a"]])] * 3, ["actual", "actual", "predicted"])
    with pytest.raises(se.InputError, match="2 columns are named 'actual'"):
        job().state([table])
