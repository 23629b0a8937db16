"""Jobs: what is sent to workers, the states that they send back, and arguments that are refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from tests.support.effort import cases
from tests.tabular.test_arrow import METRICS, PRED, TRUE, job


@settings(max_examples=cases(30))
@given(
    st.lists(st.tuples(*(st.lists(st.sampled_from("abcd"), max_size=3),) * 2, st.sampled_from("xyz")), max_size=15),
    st.data(),
)
def test_any_split_of_rows_into_workers_and_batches_gives_the_same_bytes(rows: list[Any], data: st.DataObject):
    true, pred, where = ([row[place] for row in rows] for place in range(3))
    kind = pa.list_(pa.string())
    table = pa.table(
        {"actual": pa.array(true, kind), "predicted": pa.array(pred, kind), "x": pa.array(where, pa.string())}
    )
    made = pickle.loads(pickle.dumps(job(by=data.draw(st.sampled_from([None, "x"])))))
    states, start = [], 0
    while start < len(rows):
        stop = data.draw(st.integers(start + 1, len(rows)))
        states.append(made.state(table[start:stop].to_batches(max_chunksize=data.draw(st.integers(1, 5)))))
        start = stop
    result = made.merged(data.draw(st.permutations(states)))
    assert result.to_bytes() == made.state([table])


def test_a_job_consists_of_bytes_and_strings_and_names_the_columns_to_scan():
    made = job(by=["region", "actual"], weight="w")
    assert isinstance(made.empty, bytes)
    assert made.columns == se.Columns("actual", "predicted", weight="w", by=("region", "actual"))
    assert made.columns.names == ("actual", "predicted", "w", "region")
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(pickle.loads(pickle.dumps(made)))
    assert se.Columns("a", "b", by="c").by == se.Columns("a", "b", by=["c"]).by == ("c",)


def test_objects_are_copied_and_must_be_empty():
    own = se.Evaluator(METRICS)
    made = job(metrics=own)
    made.add(made.fresh(), pa.table({"actual": TRUE, "predicted": PRED}))
    assert own.examples == 0
    own.update({"a"}, {"a"})
    with pytest.raises(se.InputError, match="has counted 1 example"):
        job(metrics=own)
    with pytest.raises(se.InputError, match="a Rolling cannot count them"):
        job(metrics=se.Rolling(se.Evaluator(), size=3))
    with pytest.raises(se.InputError, match="metrics is an object"):
        job(metrics=se.Evaluator(), threshold=0.5)


def test_a_sliced_passed_as_metrics_says_which_columns_to_slice_by():
    made = job(metrics=se.Sliced(se.Evaluator(METRICS), by=("region", "day"), max_slices=7))
    assert made.columns.by == ("region", "day")
    assert isinstance(made.fresh(), se.Sliced)
    assert (
        job(metrics=se.Sliced(se.Evaluator(METRICS), by=("region", "day"), max_slices=7), by=["region", "day"]) == made
    )
    with pytest.raises(se.InputError, match="leave by out"):
        job(metrics=se.Sliced(se.Evaluator(), by="region"), by="day")


def test_states_of_another_job_do_not_merge():
    with pytest.raises(se.MergeError, match="metrics differ"):
        job().merged([job(metrics=["f1_micro"]).state([])])
    with pytest.raises(se.MergeError, match="Evaluator and Sliced differ"):
        job().merged([job(by="x").state([])])
    with pytest.raises(se.FormatError):
        job().merged([b"nothing"])


def test_columns_are_checked_by_a_schema_or_a_table_without_rows():
    lists = pa.list_(pa.string())
    schema = pa.schema({"actual": lists, "predicted": lists, "more": pa.int64()})
    job().check(schema)
    job().check(schema.empty_table())
    job().check(schema.empty_table().to_pandas())
    with pytest.raises(se.InputError, match=r"no column 'predicted' \(predicted\); did you mean 'predict'"):
        job().check(pa.schema({"actual": lists, "predict": lists}))
    with pytest.raises(se.InputError, match="2 columns are named 'actual'"):
        job().check(pa.schema([("actual", lists), ("actual", lists), ("predicted", lists)]))
    with pytest.raises(se.LabelError, match="column 'actual' holds lists of bytes"):
        job().check(pa.schema({"actual": pa.list_(pa.binary()), "predicted": lists}))
    vector = pa.struct({"type": pa.int8(), "values": pa.list_(pa.float64())})  # as Spark stores vectors
    for role in ("predicted", "scores"):
        with pytest.raises(se.InputError, match=r"column 'v' holds struct<type: int8, values: list<.*>>[;,] "):
            job(**{"predicted": None, role: "v"}, threshold=0.5).check(pa.schema({"actual": lists, "v": vector}))
    for kind in (pa.date32(), pa.decimal128(3), lists):
        with pytest.raises(se.InputError, match=r"column 'day' \(by\) holds .*; examples are sliced by strings,"):
            job(by="day").check(schema.append(pa.field("day", kind)))
    for wrong in (3, {"actual": [["cat"]], "predicted": [["cat"]]}):
        with pytest.raises(se.InputError, match="a batch must be an Arrow record batch or table, or a data frame, not"):
            job().add(job().fresh(), wrong)


def test_the_first_cells_of_each_state_are_checked_for_likely_mistakes():
    with pytest.raises(se.InputError, match=r"column 'actual' holds rows of indicators; write 'True\|False' with 1"):
        job(sep="|").state([pa.table({"actual": ["True|False"] * 2, "predicted": ["True|True"] * 2})])
    with pytest.warns(se.DataWarning, match="column 'actual' holds the label 'nan'"):
        job(sep="|").state([pa.table({"actual": ["cat|nan"], "predicted": ["cat"]})])


def test_without_pyarrow_the_error_says_what_to_install():
    program = """
import sys
sys.modules["pyarrow"] = None
import streameval
try:
    streameval.evaluate_table("a.parquet", actual="a", predicted="b")
except streameval.DependencyError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "pip install pyarrow" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actual": 3}, "actual must be the name of a column, not 3"),
        ({"predicted": None}, "neither predicted nor scores names a column"),
        ({"null": "no"}, "null must be one of 'error', 'empty'"),
        ({"unknown": "ignore"}, r"unknown='ignore' has no meaning without labels=\[...\]"),
        ({"by": 3}, "by must be a name of a column, or several"),
        ({"scores": "s"}, "nothing requires scores; set threshold=0.5"),
    ],
)
def test_invalid_options_of_a_job_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(se.InputError, match=message):
        job(**options)
