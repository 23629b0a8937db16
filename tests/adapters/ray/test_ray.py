"""Ray itself, run locally, gives the bytes of one process with any blocks and tasks, even if workers die."""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import ray.data
from hypothesis import HealthCheck, given, settings, strategies as st

import streameval as se
from streameval.adapters import engine
from streameval.adapters.ray import evaluate, merge
from streameval.tabular.job import Job
from tests.support.effort import cases
from tests.support.tagged import LABELS, rows_of

ROOT = Path(__file__).parents[3]
# Workers import the package and this file.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::UserWarning:ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


MANY = cases(20_000)
TABLE = pa.Table.from_pylist(rows_of(MANY))
FEW = TABLE.slice(0, 300)


def single(table, metrics=None, **more):
    job = Job.of(metrics, **{"actual": "actual", "predicted": "predicted", **more})
    return job.state([table])


def blocks_of(table, ends):
    """A dataset of the table, whose blocks end at these rows."""
    bounds = [0, *sorted(ends), table.num_rows]
    return ray.data.from_arrow([table.slice(low, high - low) for low, high in pairwise(bounds)])


def die_once(path):
    """Kill this process, as the system does when memory runs out, unless the file says that one was killed."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


# -- datasets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", [1, 7, 40])
def test_any_number_of_blocks_gives_the_bytes_of_one_process(blocks):
    dataset = blocks_of(TABLE, range(0, MANY, MANY // blocks))
    assert evaluate(dataset, "actual", "predicted").to_bytes() == single(TABLE)


@settings(max_examples=cases(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.lists(st.integers(0, 300), max_size=8), by=st.sampled_from([None, "region"]))
def test_blocks_of_any_size_even_empty_ones_give_the_bytes_of_one_process(ends, by):
    result = evaluate(blocks_of(FEW, ends), "actual", "predicted", weight="weight", by=by)
    assert result.to_bytes() == single(FEW, weight="weight", by=by)


def test_files_are_counted_with_a_single_metric(tmp_path):
    for part in range(4):
        pq.write_table(TABLE.slice(part * MANY // 4, MANY // 4), tmp_path / f"{part}.parquet")
    result = evaluate(ray.data.read_parquet(str(tmp_path)), "actual", "predicted", metrics=se.F1(average="macro"))
    assert type(result) is se.F1
    assert result.to_bytes() == single(TABLE, se.F1(average="macro"))


def test_a_worker_that_is_killed_in_mid_job_changes_nothing(tmp_path):
    killed = str(tmp_path / "killed")

    def dying(block, die=die_once):
        if block.num_rows and block.column("actual")[0].as_py() == middle:
            die(killed)
        return block

    middle = TABLE.column("actual")[MANY // 2].as_py()
    dataset = blocks_of(TABLE, range(0, MANY, MANY // 20)).map_batches(dying, batch_format="pyarrow", batch_size=None)
    assert evaluate(dataset, "actual", "predicted").to_bytes() == single(TABLE)
    assert Path(killed).exists()


def test_pandas_blocks_and_datasets_without_rows_are_counted():
    frame = pd.DataFrame({name: FEW.column(name).to_pylist() for name in ("actual", "predicted")})
    assert evaluate(ray.data.from_pandas(frame), "actual", "predicted").to_bytes() == single(FEW)
    nothing = blocks_of(FEW, []).filter(lambda _: False)
    assert evaluate(nothing, "actual", "predicted").to_bytes() == single(FEW.slice(0, 0))
    assert evaluate(blocks_of(FEW.slice(0, 0), []), "actual", "predicted").examples == 0


@pytest.mark.parametrize("batches", ["numpy", "pandas", "pyarrow"])
def test_lists_are_counted_in_every_format_in_which_a_function_of_the_user_returns_them(batches):
    few = [(["cat", "bird"], {"cat": True, "dog": False}), (["dog"], {"cat": True, "dog": True})]
    rows = [{"tags": tags, "guess": guess, "numbers": [7, 8, 9][:n]} for tags, guess in few for n in (2, 3)]
    passed = ray.data.from_items(rows, override_num_blocks=2).map_batches(lambda batch: batch, batch_format=batches)
    for predicted, asked in (("guess", {}), ("numbers", {"rows": "labels"})):
        expected = single(pa.Table.from_pylist(rows), actual="tags", predicted=predicted, **asked)
        assert evaluate(passed, "tags", predicted, **asked).to_bytes() == expected
    arrays = pd.DataFrame({name: [np.array(row[name], object) for row in rows] for name in ("tags", "numbers")})
    assert evaluate(ray.data.from_pandas(arrays), "tags", "numbers", **asked).to_bytes() == expected


def test_patterns_and_keys_of_structs_name_columns():
    rows = [{"true_cat": 1, "true_dog": 0, "answer": {"tags": ["cat"]}, "pred_cat": 1, "pred_dog": 1}] * 2
    for actual in ("true_*", "answer.tags"):
        assert evaluate(ray.data.from_items(rows), actual, "pred_*").get("f1_micro") == 2 / 3


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_columns_of_tensors_are_rows_in_the_order_of_the_labels(kind):
    source = np.random.default_rng(0)
    truths, scores = source.random((90, 4)) < 0.4, source.integers(0, 9, (90, 4)) / 8

    def model(batch):
        return {"truth": truths[batch["id"]], "score": scores[batch["id"]].astype(kind)}

    ev = se.Evaluator(["f1_micro", "ranking_loss"], labels=LABELS[:4], threshold=0.5)
    dataset = ray.data.range(90, override_num_blocks=4).map_batches(model, batch_size=10)
    result = evaluate(dataset, "truth", scores="score", metrics=ev)
    ev.update_many(truths, scores)
    assert result.to_bytes() == ev.to_bytes()


def test_columns_that_are_not_there_are_refused_before_the_job_starts(tmp_path):
    pq.write_table(FEW, tmp_path / "few.parquet")
    for dataset in (blocks_of(FEW, [100]), ray.data.read_parquet(str(tmp_path))):
        with pytest.raises(se.InputError, match=r"no column 'actuall' \(actual\); did you mean 'actual'"):
            evaluate(dataset, "actuall", "predicted")
        with pytest.raises(se.InputError, match="column 'weight' holds 64-bit floats, not lists of labels"):
            evaluate(dataset, "actual", "weight")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([["a"], None], pa.list_(pa.string())), "column 'predicted' holds 1 null; drop those rows"),
        (
            pa.array([[1.5], []]),
            r"column 'predicted' \(row 0 of the batch\) is 1\.5 for label 0; binary predictions are 0 or 1",
        ),
        (None, r"there is no column 'predicted' \(predicted\)"),
    ],
)
def test_errors_that_only_workers_can_notice_are_one_sentence_without_a_trace(column, message):
    def spoilt(block, column=column):
        block = block.select(["actual"])
        return block if column is None else block.append_column("predicted", column)

    dataset = blocks_of(FEW.slice(0, 4), [2]).map_batches(spoilt, batch_format="pyarrow", batch_size=None)
    with pytest.raises(se.InputError, match=f"^{message}") as caught:
        evaluate(dataset, "actual", "predicted")
    assert "\n" not in str(caught.value)


def test_blocks_with_errors_of_ours_are_not_left_out_even_if_ray_may_leave_out_blocks():
    context = ray.data.DataContext.get_current()
    before, context.max_errored_blocks = context.max_errored_blocks, -1
    try:
        spoilt = pa.table({"actual": [["a"], None], "predicted": [["a"], ["a"]]})
        with pytest.raises(se.InputError, match="1 null"):
            evaluate(blocks_of(spoilt, []), "actual", "predicted")
    finally:
        context.max_errored_blocks = before


def test_null_lists_count_as_empty_with_null_empty_however_blocks_are_cut():
    spoilt = pa.table({"actual": [["a"], None, None], "predicted": [["a"], ["a"], []], "region": ["eu", None, None]})
    for ends in ([], [1], [1, 2]):
        dataset = ray.data.from_items(spoilt.to_pylist(), override_num_blocks=len(ends) + 1)
        result = evaluate(dataset, "actual", "predicted", null="empty", by="region")
        assert result.to_bytes() == single(spoilt, null="empty", by="region")


@pytest.mark.parametrize("inputs", [[{"actual": []}], TABLE, None], ids=["list", "table", "None"])
def test_what_is_no_dataset_is_refused(inputs):
    with pytest.raises(se.InputError, match=r"dataset must be a ray\.data\.Dataset"):
        evaluate(inputs, "actual", "predicted")


# -- trees of tasks ---------------------------------------------------------------------------------------------------


def shards(count):
    return [single(TABLE.slice(start, MANY // count)) for start in range(0, MANY, MANY // count)]


@pytest.mark.parametrize("fan_in", [2, 3, 16])
@pytest.mark.parametrize("count", [1, 2, 20])
def test_a_tree_of_any_shape_gives_the_bytes_of_one_process(monkeypatch, count, fan_in):
    monkeypatch.setattr(engine, "FAN_IN", fan_in)
    refs = [ray.put(state) for state in shards(count)]
    random.Random(count).shuffle(refs)
    assert merge(refs).to_bytes() == single(TABLE)


def test_objects_are_merged_and_not_changed(monkeypatch):
    monkeypatch.setattr(engine, "FAN_IN", 2)
    refs = [ray.put(se.Evaluator.from_bytes(state)) for state in shards(4)]
    assert merge(iter(refs)) == se.Evaluator.from_bytes(single(TABLE))
    assert [ev.to_bytes() for ev in ray.get(refs)] == shards(4)
    sliced = [ray.put(single(FEW.slice(start, 100), by="region")) for start in (0, 100, 200)]
    assert merge(sliced).to_bytes() == single(FEW, by="region")


class Deadly:
    """A state that kills the first process that unpickles it."""

    def __init__(self, path, state):
        self.path, self.state = path, state

    def __reduce__(self):
        def read(path, state, die=die_once):
            die(path)
            return state

        return read, (self.path, self.state)


def test_workers_that_are_killed_while_they_count_or_merge_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "FAN_IN", 3)

    @ray.remote
    def counting(state, die=die_once):
        die(str(tmp_path / "counting"))
        return state

    states = shards(10)
    refs = [counting.remote(state) for state in states[:9]] + [ray.put(Deadly(str(tmp_path / "merging"), states[9]))]
    assert merge(refs).to_bytes() == single(TABLE)
    assert {path.name for path in tmp_path.iterdir()} == {"counting", "merging"}


def test_errors_of_tasks_are_raised_as_the_errors_of_ours_or_of_the_user_that_they_were():
    @ray.remote
    def failing(error):
        raise error

    good = ray.put(single(FEW))
    with pytest.raises(se.MergeError, match=r"^cannot merge: .*threshold"):
        merge([good, ray.put(se.Evaluator(threshold=0.5).to_bytes())])
    with pytest.raises(se.MergeError, match=r"^cannot merge: Evaluator and F1 differ"):
        merge([good, good, ray.put(se.F1().to_bytes())])
    with pytest.raises(se.MergeError, match=r"^cannot merge 3; return an Evaluator"):
        merge([good, ray.put(3)])
    with pytest.raises(se.FormatError):
        merge([good, ray.put(single(FEW)[:-1])])
    with pytest.raises(se.InputError, match=r"^of a task$"):
        merge([good, failing.remote(se.InputError("of a task"))])
    with pytest.raises(KeyError):
        merge([good, failing.remote(KeyError("of a task"))])


@pytest.mark.parametrize(
    ("states", "message"),
    [([], "states is empty"), ([b"x"], "must hold references"), (3, "references, not 3; ray.put")],
)
def test_arguments_that_cannot_be_used_are_refused(states, message):
    with pytest.raises(se.InputError, match=message):
        merge(states)


# -- the example and the page -----------------------------------------------------------------------------------------


def test_the_example_runs(capsys):
    runpy.run_path(str(ROOT / "examples" / "ray_shards.py"), run_name="__main__")
    assert "the same bytes: True" in capsys.readouterr().out


def test_the_page_runs(capsys):
    names = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs/engines/ray.md").read_text(), re.DOTALL):
        exec(code, names)  # noqa: S102
    assert "{'f1_micro': 1.0, 'ranking_loss': 0.0}" in capsys.readouterr().out
