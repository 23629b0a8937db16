"""Dask itself on threads, processes and a local cluster, with a worker killed, gives the bytes of one process."""

from __future__ import annotations

import os
import re
import runpy
import signal
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.adapters import engine
from streameval.adapters.dask import evaluate, evaluate_arrays, state
from streameval.tabular.job import Job
from tests.support.effort import cases
from tests.support.tagged import rows_of

ROOT = Path(__file__).parents[3]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

pytestmark = [
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # pandas warns of code in dask.dataframe
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


FILE = cases(5_000)
ROWS = rows_of(4 * FILE)
TABLE = pa.Table.from_pylist(ROWS)
FEW = ROWS[:300]


def counted(rows, empty=None):
    made = se.Evaluator() if empty is None else empty
    made.update_many([row["actual"] for row in rows], [row["predicted"] for row in rows])
    return made.to_bytes()


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    for part in range(4):
        pq.write_table(TABLE.slice(part * FILE, FILE), path / f"{part}.parquet")
    return str(path)


@pytest.fixture(scope="module")
def cluster():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield client


# -- the same bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_a_bag_of_rows_gives_the_bytes_of_one_process(scheduler):
    bag = db.from_sequence(ROWS, npartitions=7)
    assert evaluate(bag, "actual", "predicted", scheduler=scheduler).to_bytes() == counted(ROWS)


@pytest.mark.parametrize("options", [{}, {"dtype_backend": "pyarrow"}])
def test_a_data_frame_gives_the_bytes_of_one_process(parquet, options):
    frame = dd.read_parquet(parquet, **options)
    assert evaluate(frame, "actual", "predicted", progress=True).to_bytes() == counted(ROWS)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_files_give_the_bytes_of_one_process(parquet, scheduler):
    result = evaluate(f"{parquet}/*.parquet", "actual", "predicted", scheduler=scheduler)
    assert result.to_bytes() == counted(ROWS)
    paths = [Path(parquet) / f"{part}.parquet" for part in (3, 1)]
    sliced = evaluate(paths, "actual", "predicted", by="region", scheduler=scheduler)
    assert sliced.total().to_bytes() == counted(ROWS[3 * FILE :] + ROWS[FILE : 2 * FILE])
    assert evaluate(parquet, "actual", "predicted", scheduler=scheduler).to_bytes() == counted(ROWS)
    with pytest.warns(se.DataWarning, match=r"1\.parquet.* is read 2 times, and its rows count each time"):
        evaluate([parquet, paths[1]], "actual", "predicted", scheduler=scheduler)


def test_a_bag_of_tables_gives_the_bytes_of_one_process():
    bag = db.from_sequence(TABLE.to_batches(max_chunksize=3_000), npartitions=3)
    assert evaluate(bag, "actual", "predicted", scheduler="threads").to_bytes() == counted(ROWS)


@pytest.mark.parametrize("made", [lambda rows: rows, pa.Table.from_pylist, pd.DataFrame, iter])
def test_delayed_rows_tables_and_frames_give_the_bytes_of_one_process(made):
    parts = [dask.delayed(lambda rows: made(rows))(FEW[start : start + 100]) for start in range(0, 300, 100)]
    assert evaluate(parts, "actual", "predicted").to_bytes() == counted(FEW)
    assert evaluate(parts[0], "actual", "predicted").to_bytes() == counted(FEW[:100])


def test_a_cluster_gives_the_bytes_of_one_process(parquet, cluster):
    frame = dd.read_parquet(parquet)
    assert evaluate(frame, "actual", "predicted", scheduler=cluster, progress=True).to_bytes() == counted(ROWS)


def _read_or_die(path, part, mark, everyone):
    """Read a part; the worker of part 2 is killed once, after two parts were read by workers."""
    if part == 2:
        while len(list(Path(everyone).iterdir())) < 2:
            time.sleep(0.01)
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    (Path(everyone) / str(part)).touch()
    return pq.read_table(Path(path) / f"{part}.parquet")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_killed_in_the_middle_of_the_job_gives_the_same_bytes(parquet, cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "FAN_IN", 2)
    (tmp_path / "done").mkdir()
    reader = dask.delayed(_read_or_die)
    parts = [reader(parquet, part, str(tmp_path / "killed"), str(tmp_path / "done")) for part in range(4)]
    before = set(cluster.scheduler_info()["workers"])
    result = evaluate(parts, "actual", "predicted", scheduler=cluster)
    assert (tmp_path / "killed").exists()
    cluster.wait_for_workers(2)
    assert set(cluster.scheduler_info()["workers"]) != before
    assert result.to_bytes() == counted(ROWS)


@settings(max_examples=cases(30))
@given(cuts=st.lists(st.integers(0, 300)), fan_in=st.integers(2, 5), order=st.randoms(use_true_random=False))
def test_any_partitioning_order_and_tree_give_the_same_bytes(cuts, fan_in, order):
    bounds = [0, *sorted(cuts), 300]
    parts = [dask.delayed(FEW[a:b]) for a, b in pairwise(bounds)]
    order.shuffle(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "FAN_IN", fan_in)
        result = evaluate(parts, "actual", "predicted", scheduler="sync")
    assert result.to_bytes() == counted(FEW)


def test_nothing_to_count_gives_a_fresh_object():
    assert evaluate([], "actual", "predicted").to_bytes() == se.Evaluator().to_bytes()
    assert evaluate(dask.delayed([]), "actual", "predicted").to_bytes() == se.Evaluator().to_bytes()


def test_columns_of_a_data_frame_may_be_patterns_structs_keys_of_structs_or_strings():
    wide = {"true_cat": [1, 0], "true_dog": [0, 1], "answer": [{"cat": 1, "dog": 1}, {"cat": 0, "dog": 1}]}
    table = pa.table({**wide, "outer": [{"tags": ["cat", "dog"]}, {"tags": ["dog"]}], "cells": ["cat|dog", "dog"]})
    frame = dd.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2)
    for predicted in ("answer", "outer.tags", "cells"):
        assert evaluate(frame, "true_*", predicted, sep="|").get("f1_micro") == 0.8


def test_slices_weights_and_metrics_go_to_the_workers(parquet):
    sliced = se.Sliced(se.F1(average="micro"), by="region")
    lists = [[row[name] for row in ROWS] for name in ("actual", "predicted", "weight", "region")]
    sliced.update_many(lists[0], lists[1], weights=lists[2], where={"region": lists[3]})
    frame = dd.read_parquet(parquet)
    inputs = {"weight": "weight", "by": "region", "metrics": se.F1(average="micro")}
    assert evaluate(frame, "actual", "predicted", **inputs).to_bytes() == sliced.to_bytes()
    bag = db.from_sequence(ROWS, npartitions=3)
    assert evaluate(bag, "actual", "predicted", scheduler="threads", **inputs).to_bytes() == sliced.to_bytes()


def test_a_state_can_be_part_of_a_larger_computation():
    job = Job.of(actual="actual", predicted="predicted")
    halves = [db.from_sequence(FEW[:150], npartitions=2), db.from_sequence(FEW[150:], npartitions=3)]
    result = dask.compute(*(state(half, job) for half in halves), scheduler="sync")
    assert job.merged(result).to_bytes() == counted(FEW)


def test_states_of_partitions_are_not_changed_so_that_they_may_be_shared():
    bag = db.from_sequence(FEW, npartitions=3).persist(scheduler="sync")
    job = Job.of(actual="actual", predicted="predicted")
    one = state(bag, job).persist(scheduler="sync")
    twice = dask.delayed(lambda *parts: job.merged(parts).to_bytes())(one, one)
    single = se.Evaluator.from_bytes(counted(FEW))
    assert dask.compute(one, twice, one, scheduler="sync") == (counted(FEW), (single + single).to_bytes(), counted(FEW))


# -- rows -------------------------------------------------------------------------------------------------------------


def test_rows_may_hold_sets_mappings_arrays_and_scores():
    rows = [
        {"y": {"a"}, "p": {"a": 0.9, "b": 0.2}},
        {"y": ("a", "b"), "p": [("a", 0.1), ("b", 0.7)]},
        {"y": {"b": True, "a": False}, "p": [0.4, 0.6]},
        {"y": [True, True], "p": np.array([0.4, 0.6])},
        {"y": [], "p": []},
    ]
    empty = se.Evaluator(["f1_micro", "ndcg(k=1)"], labels=["a", "b"], threshold=0.5)
    result = evaluate(db.from_sequence(rows, npartitions=2), "y", scores="p", metrics=empty, scheduler="sync")
    scores = [{"a": 0.9, "b": 0.2}, {"a": 0.1, "b": 0.7}, *[np.array([0.4, 0.6])] * 2, {}]
    empty.update_many([["a"], ["a", "b"], ["b"], ["a", "b"], []], scores)
    assert result.to_bytes() == empty.to_bytes()


def test_rows_may_have_labels_with_scores_masks_and_nulls():
    rows = [{"y": ["a"], "l": ["a", "b"], "s": [0.9, 0.2], "m": ["b"]}, {"y": None, "l": None, "s": None, "m": None}]
    inputs = {"scores": "s", "mask": "m", "null": "empty", "threshold": 0.5}
    parts = [dask.delayed(rows[:1]), dask.delayed(rows[1:])]
    result = evaluate(parts, "y", "l", **inputs)
    single = se.Evaluator(threshold=0.5)
    single.update_many([["a"], []], [{"a": 0.9, "b": 0.2}, {}], mask=[["b"], []])
    assert result.to_bytes() == single.to_bytes()


# -- arrays -----------------------------------------------------------------------------------------------------------


def dense(seed, rows=1_000, labels=7):
    return np.random.default_rng(seed).random((rows, labels)) < 0.3


@pytest.mark.parametrize("chunks", [(300, 7), (1_000, 2), (1, 7), (250, 3)])
def test_arrays_give_the_bytes_of_one_process_however_they_are_chunked(chunks):
    true, pred = dense(1, 200), dense(2, 200)
    single = se.Evaluator()
    single.update_many(true, pred)
    arrays = da.from_array(true, chunks=chunks), da.from_array(pred, chunks=(77, 7))
    assert evaluate_arrays(*arrays).to_bytes() == single.to_bytes()


def test_scores_weights_masks_and_slices_of_arrays_are_matched_with_their_rows():
    true, mask, scores = dense(1), dense(2), np.random.default_rng(3).random((1_000, 7))
    weights, regions = np.arange(1_000) / 8, np.random.default_rng(4).choice(["eu", "us"], 1_000)
    sliced = se.Sliced(se.Evaluator(threshold=0.5), by="region")
    sliced.update_many(true, scores, weights=weights, mask=mask, where={"region": regions})
    result = evaluate_arrays(
        da.from_array(true, chunks=(200, 7)),
        da.from_array(scores, chunks=(300, 3)),
        weights=da.from_array(weights, chunks=123),
        mask=da.from_array(mask, chunks=(1_000, 7)),
        where={"region": da.from_array(regions, chunks=500)},
        threshold=0.5,
    )
    assert result.to_bytes() == sliced.to_bytes()


def test_arrays_with_chunks_of_unknown_length_are_counted_if_their_chunks_match():
    true, pred = dense(1), dense(2)
    arrays = [da.from_array(array, chunks=(200, 7))[da.from_array(true[:, 0], chunks=200)] for array in (true, pred)]
    single = se.Evaluator()
    single.update_many(true[true[:, 0]], pred[true[:, 0]])
    assert evaluate_arrays(*arrays).to_bytes() == single.to_bytes()
    with pytest.raises(se.InputError, match="compute_chunk_sizes"):
        evaluate_arrays(arrays[0], da.from_array(pred, chunks=(500, 7)))


def test_arrays_that_do_not_match_are_refused():
    true, pred = da.from_array(dense(1)), da.from_array(dense(2, rows=999))
    with pytest.raises(se.InputError, match="y_pred"):
        evaluate_arrays(true, pred)
    with pytest.raises(se.InputError, match="2-D"):
        evaluate_arrays(true[:, 0], true)
    with pytest.raises(se.InputError, match="array of Dask"):
        evaluate_arrays(dense(1), true)
    with pytest.raises(se.InputError, match="where must have"):
        evaluate_arrays(true, true, metrics=se.Sliced(se.F1(), by="region"))
    with pytest.raises(se.InputError, match="where must be a mapping"):
        evaluate_arrays(true, true, where=["region"])


# -- errors -----------------------------------------------------------------------------------------------------------


def test_columns_are_checked_before_anything_is_computed(parquet):
    frame = dd.read_parquet(parquet).map_partitions(lambda _: pytest.fail("computed"), meta=dd.read_parquet(parquet))
    with pytest.raises(se.InputError, match=r"there is no column 'predictd'.*did you mean 'predicted'"):
        evaluate(frame, "actual", "predictd")
    with pytest.raises(se.InputError, match="column 'weight' holds"):
        evaluate(frame, "actual", "weight")


def test_lists_that_dask_turned_into_text_are_refused():
    frame = dd.from_pandas(pd.DataFrame(FEW), npartitions=2)
    with pytest.raises(se.InputError, match=r"column 'actual' holds string.*convert-string"):
        evaluate(frame, "actual", "predicted")
    with dask.config.set({"dataframe.convert-string": False}):
        frame = dd.from_pandas(pd.DataFrame(FEW), npartitions=2)
        assert evaluate(frame, "actual", "predicted").to_bytes() == counted(FEW)


@pytest.mark.parametrize("scheduler", ["sync", "processes"])
@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"actual": None, "predicted": []}, "column 'actual'.* is missing"),
        ({"predicted": []}, "there is no column 'actual'"),
        ({"actual": "cat", "predicted": []}, "column 'actual'.* is the string 'cat'"),
        ({"actual": [], "predicted": 3}, "column 'predicted'"),
        ({"actual": [], "predicted": [2.5]}, "column 'predicted'"),
        ("cat", "a row must be a mapping"),
    ],
)
def test_a_worker_that_cannot_read_its_rows_says_so_in_one_sentence(scheduler, row, says):
    bag = db.from_sequence([*FEW[:9], row], npartitions=2)
    with pytest.raises(se.InputError, match=f"^partition 1: .*{says}") as caught:
        evaluate(bag, "actual", "predicted", scheduler=scheduler)
    assert "\n" not in str(caught.value)


def test_errors_of_a_cluster_are_raised_as_errors_of_this_package(cluster):
    bag = db.from_sequence([*FEW[:9], {"actual": None, "predicted": []}], npartitions=2)
    with pytest.raises(se.InputError, match=r"^partition 1: column 'actual'.* is missing"):
        evaluate(bag, "actual", "predicted", scheduler=cluster)


def test_invalid_arguments_are_refused_with_what_to_do():
    with pytest.raises(se.InputError, match="collection must be"):
        evaluate(FEW, "actual", "predicted")
    with pytest.raises(se.InputError, match="evaluate_arrays"):
        evaluate(da.from_array(dense(1)), "actual", "predicted")
    with pytest.raises(se.InputError, match="progress must be"):
        evaluate([], "actual", "predicted", progress=1)
    with pytest.raises(se.InputError, match="job must be a Job"):
        state([], "f1_micro")
    with pytest.raises(se.InputError, match="a row must be a mapping or have the columns as attributes, not None"):
        evaluate(dask.delayed(None), "actual", "predicted")
    with pytest.raises(se.InputError, match="example= and label= need all rows of an example together"):
        evaluate("*.parquet", "actual", "predicted", example="id", label="tag")


# -- the example and the page -----------------------------------------------------------------------------------------


def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "dask_bags.py"), run_name="__main__")
    assert "f1" in capsys.readouterr().out


def test_the_page_runs(monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        page = (ROOT / "docs" / "engines" / "dask.md").read_text(encoding="utf-8")
        exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {"__name__": "page"})  # noqa: S102
