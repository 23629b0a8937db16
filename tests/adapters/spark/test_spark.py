"""Spark itself, run locally, gives the bytes of one process with any partitions, faults and replays."""

from __future__ import annotations

import os
import pickle
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import streameval as se
from streameval.tabular.job import Job
from tests.support.effort import cases
from tests.support.tagged import rows_of

ROOT = Path(__file__).parents[3]
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

LISTS = "actual array<string>, predicted array<string>"


def counted(rows, metrics=None):
    made = se.Evaluator(metrics) if metrics else se.Evaluator()
    made.update_many([row["actual"] for row in rows], [row["predicted"] for row in rows])
    return made


FILE = max(2_500, cases(5_000))  # each file has more than one batch of Arrow


@pytest.fixture(scope="module")
def spark():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        made = (
            SparkSession.builder.master("local[2,4]")  # two threads; a task may fail three times
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
            .getOrCreate()
        )
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def adapter(spark):
    import streameval.adapters.spark as adapter

    return adapter


@pytest.fixture(scope="module")
def rows():
    return rows_of(4 * FILE, user=lambda draw: draw.randrange(7))


@pytest.fixture(scope="module")
def df(spark, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    table = pa.Table.from_pylist(rows)
    for part in range(4):
        pq.write_table(table.slice(part * FILE, FILE), path / f"{part}.parquet")
    return spark.read.parquet(str(path)).cache()


@pytest.mark.parametrize("partitions", [None, 1, 7])
def test_any_partitioning_gives_the_bytes_of_one_process(df, rows, adapter, partitions):
    frame = df if partitions is None else df.repartition(partitions)
    assert adapter.evaluate(frame, "actual", "predicted").to_bytes() == counted(rows).to_bytes()


def test_weights_and_metrics_go_to_the_workers(df, rows, adapter):
    result = adapter.evaluate(df, "actual", "predicted", weight="weight", metrics=se.F1(average="micro"))
    single = se.F1(average="micro")
    lists = [[row[name] for row in rows] for name in ("actual", "predicted", "weight")]
    single.update_many(lists[0], lists[1], weights=lists[2])
    assert result.to_bytes() == single.to_bytes()


def test_scores_are_read_from_maps(spark, adapter):
    frame = spark.createDataFrame(
        [(["a"], {"a": 0.9, "b": 0.6}), (["b"], {"a": 0.2})], "actual array<string>, scores map<string,double>"
    )
    result = adapter.evaluate(frame, "actual", scores="scores", metrics=["ndcg(k=1)", "f1_micro"], threshold=0.5)
    single = se.Evaluator(["ndcg(k=1)", "f1_micro"], threshold=0.5)
    single.update_many([["a"], ["b"]], [{"a": 0.9, "b": 0.6}, {"a": 0.2}])
    assert result.to_bytes() == single.to_bytes()


def test_no_rows_give_a_fresh_state(spark, df, adapter):
    assert adapter.evaluate(df.limit(0), "actual", "predicted").to_bytes() == se.Evaluator().to_bytes()
    assert adapter.evaluate_by_key(df.limit(0), "actual", "predicted", keys="user").collect() == []


def test_names_with_dots_and_ticks_and_names_that_differ_in_case_are_columns(spark, adapter):
    types = "`a.b` array<string>, `c``d` array<string>, `e.f` string, `C``D` string, `E.F` string"
    frame = spark.createDataFrame([(["a"], ["a"], "x", "y", "z")], types)
    assert adapter.evaluate(frame, "a.b", "c`d", metrics=["f1_micro"]).get() == {"f1_micro": 1.0}
    result = adapter.evaluate_by_key(frame, "a.b", "c`d", keys="e.f", metrics=["f1_micro"])
    assert result.columns == ["e.f", "examples", "metrics", "state"]
    assert result.collect()[0][:3] == ("x", 1, {"f1_micro": 1.0})


def test_patterns_and_keys_of_structs_name_columns(spark, adapter):
    types = "true_cat int, true_dog int, pred_cat int, pred_dog int, answer struct<tags array<string>, by int>, u int"
    frame = spark.createDataFrame([(1, 0, 1, 1, (["cat"], 1), 7), (0, 1, 0, 1, (["dog"], 2), 7)], types)
    assert adapter.evaluate(frame, "true_*", "pred_*", by="u").total().get("f1_micro") == 0.8
    keyed = adapter.evaluate_by_key(frame, "answer.tags", "pred_*", keys="u", metrics=["f1_micro"])
    assert keyed.collect()[0][:3] == (7, 2, {"f1_micro": 0.8})
    with pytest.raises(se.InputError, match=r"no column 'answer\.by' \(keys\)"):
        adapter.evaluate_by_key(frame, "true_*", "pred_*", keys="answer.by")


def test_slices_have_the_bytes_of_one_process(df, rows, adapter):
    result = adapter.evaluate(df, "actual", "predicted", by=("region", "user"))
    single = se.Sliced(se.Evaluator(), by=("region", "user"))
    where = {name: [row[name] for row in rows] for name in ("region", "user")}
    single.update_many([row["actual"] for row in rows], [row["predicted"] for row in rows], where=where)
    assert result.to_bytes() == single.to_bytes()


@pytest.mark.parametrize("keys", [("region",), ("user", "region")])
def test_every_key_has_the_state_and_the_values_of_its_rows(df, rows, adapter, monkeypatch, keys):
    result = adapter.evaluate_by_key(df, "actual", "predicted", keys=keys, metrics=["f1_micro", "hamming_loss"])
    assert result.columns == [*keys, "examples", "metrics", "state"]
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    answers = {tuple(row[key] for key in keys): row for row in result.collect()}
    assert answers.keys() == groups.keys()
    for key, answer in answers.items():
        single = counted(groups[key], ["f1_micro", "hamming_loss"])
        assert bytes(answer["state"]) == single.to_bytes()
        assert answer["metrics"] == single.get()
        assert answer["examples"] == len(groups[key])


@pytest.mark.parametrize("large", ["false", "true"])
def test_a_single_metric_has_a_value_for_each_key(spark, df, rows, adapter, large):
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", large)
    try:
        result = adapter.evaluate_by_key(df, "actual", "predicted", keys="user", metrics=se.F1(average="micro"))
        values = {row["user"]: row["metrics"] for row in result.collect()}
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    one = counted([row for row in rows if row["user"] == 3], ["f1_micro"])
    assert values[3] == one.get()


def test_keys_that_are_missing_or_hide_a_column_of_the_result_are_refused(df, adapter):
    for keys in ((), ["state"]):
        with pytest.raises(se.InputError, match="name one column or more"):
            adapter.evaluate_by_key(df, "actual", "predicted", keys=keys)
    with pytest.raises(se.InputError, match="metrics is a Sliced"):
        adapter.evaluate_by_key(df, "actual", "predicted", keys="user", metrics=se.Sliced(se.F1(), by="region"))


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_in_the_middle_of_a_job_changes_nothing(df, rows, adapter, tmp_path):
    marker = str(tmp_path / "killed")

    def kill(batches):
        import os
        import signal

        for number, batch in enumerate(batches):
            yield batch
            if number == 3:  # in the middle of a partition, when the worker after this one has counts in memory
                try:
                    done = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
                except FileExistsError:
                    continue
                parent = os.getppid()
                for process in [folder.name for folder in Path("/proc").iterdir() if folder.name.isdigit()]:
                    try:
                        mother = int(Path("/proc", process, "stat").read_text().rsplit(")", 1)[1].split()[1])
                    except OSError:
                        continue
                    if mother == parent and int(process) != os.getpid():
                        os.write(done, b"killed\n")
                        os.kill(int(process), signal.SIGKILL)
                os.close(done)

    frame = df.select("actual", "predicted").mapInArrow(kill, LISTS)
    assert adapter.evaluate(frame, "actual", "predicted").to_bytes() == counted(rows).to_bytes()
    assert "killed" in Path(marker).read_text()


def failing():
    def fail(batches):
        raise RuntimeError("rows were read")
        yield from batches

    return fail  # a function within a function is pickled by value


@pytest.mark.parametrize(
    ("types", "columns", "message"),
    [
        (LISTS, ("actual", "predictd"), "there is no column 'predictd' .* did you mean 'predicted'"),
        ("actual array<string>, predicted string", ("actual", "predicted"), "column 'predicted' holds strings, not"),
    ],
)
def test_columns_that_cannot_be_read_are_refused_before_any_row_is_read(spark, adapter, types, columns, message):
    frame = spark.range(3).mapInArrow(failing(), types)
    with pytest.raises(se.InputError, match=message):
        adapter.evaluate(frame, *columns)
    with pytest.raises(se.InputError, match=message):
        adapter.evaluate_by_key(frame.selectExpr("*", "1 as user"), *columns, keys="user")
    with pytest.raises(se.InputError, match=r"a column cannot be read: .*; cast it, for example to array<string>"):
        adapter.evaluate(spark.sql("SELECT array() AS actual, array('x') AS predicted"), "actual", "predicted")
    with pytest.raises(se.MergeError, match=r"takes a list of states as bytes, .* not None"):
        adapter.merged(spark.sql("SELECT CAST(NULL AS BINARY) AS state"), JOB)
    with pytest.raises(se.InputError, match=r"df must be a data frame of Spark, not \[\]"):
        adapter.evaluate([], *columns)
    with pytest.raises(se.InputError, match=r"df is a stream; give StreamEvaluation\(job\) to its"):
        adapter.evaluate(spark.readStream.format("rate").load(), *columns)


def test_two_columns_of_one_name_are_refused(df, adapter):
    with pytest.raises(se.InputError, match="2 columns are named 'actual'"):
        adapter.evaluate(df.select("actual", "predicted", "actual"), "actual", "predicted")


def test_what_a_worker_cannot_read_is_reported_in_one_sentence(spark, adapter):
    frame = spark.createDataFrame([(["a"], None), (["b"], ["b"])], LISTS)
    with pytest.raises(se.InputError) as caught:
        adapter.evaluate(frame, "actual", "predicted")
    assert str(caught.value).startswith("column 'predicted' holds 1 null; drop those rows, or give null=")
    assert str(caught.value).endswith("rows without labels")
    assert type(caught.value.__cause__).__module__.startswith("pyspark")
    assert adapter.evaluate(frame, "actual", "predicted", null="empty").examples == 2


def test_errors_of_workers_that_are_not_ours_are_raised_unchanged(spark, adapter):
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="rows were read"):
        adapter.evaluate(spark.range(3).mapInArrow(failing(), LISTS), "actual", "predicted")


# -- streams ----------------------------------------------------------------------------------------------------------

JOB = Job.of(["f1_micro"], actual="actual", predicted="predicted")


def test_a_replayed_batch_counts_once_and_a_new_process_continues(spark, adapter, tmp_path):
    parts = [rows_of(300, seed, user=lambda draw: draw.randrange(7)) for seed in range(6)]

    def arrive(numbers):
        for number in numbers:
            pq.write_table(pa.Table.from_pylist(parts[number]), tmp_path / f"{number}.tmp")
            target = tmp_path / "in" / f"{number}.parquet"
            (tmp_path / f"{number}.tmp").rename(target)
            os.utime(target, (1_000_000 + number, 1_000_000 + number))  # Spark takes the oldest file first

    (tmp_path / "in").mkdir()
    source = spark.readStream.schema(LISTS).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    seen = []

    def run(evaluation, dies_at=None):
        def each(batch, batch_id):
            seen.append(batch_id)
            evaluation(batch, batch_id)
            if batch_id == dies_at:
                raise RuntimeError("the driver dies before Spark notes that the batch is done")

        query = (
            source.writeStream.foreachBatch(each)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        except Exception:
            assert dies_at is not None

    arrive(range(4))
    run(adapter.StreamEvaluation(JOB, tmp_path / "states"), dies_at=2)
    evaluation = adapter.StreamEvaluation(JOB, tmp_path / "states")
    assert evaluation.batches() == (0, 1, 2)
    run(evaluation)
    arrive([4, 5])
    run(evaluation)
    assert seen == [0, 1, 2, 2, 3, 4, 5]
    single = counted([row for part in parts for row in part], ["f1_micro"])
    assert evaluation.total().to_bytes() == single.to_bytes()
    assert adapter.StreamEvaluation(JOB, tmp_path / "states").total().to_bytes() == single.to_bytes()


def test_a_batch_is_checked_before_it_is_counted(spark, adapter):
    evaluation = adapter.StreamEvaluation(JOB)
    with pytest.raises(se.InputError, match="there is no column 'actual'"):
        evaluation(spark.createDataFrame([(["a"],)], "predicted array<string>"), 0)
    assert evaluation.batches() == ()


def state_of(number):
    """A state that is different for each number."""
    made = se.Evaluator(["f1_micro"])
    made.update_many([["cat"]] * (number + 1), [["cat", "dog"]] * (number + 1))
    return made


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=st.lists(st.tuples(st.sampled_from(["next", "skip", "again", "reopen", "rewind"]), st.integers(0, 5))),
    keep=st.integers(1, 3),
    in_folder=st.booleans(),
)
def test_the_total_is_that_of_the_last_state_of_every_batch(adapter, tmp_path_factory, steps, keep, in_folder):
    path = tmp_path_factory.mktemp("states") if in_folder else None
    evaluation, model, last = adapter.StreamEvaluation(JOB, path, history=keep), {}, -1
    for kind, number in steps:
        if kind == "reopen" and in_folder:
            evaluation = adapter.StreamEvaluation(JOB, path, history=keep)
        elif kind == "rewind":
            batch = max(0, last - number)
            try:
                evaluation.rewind(batch)
            except se.InputError:
                assert batch <= max(set(model) - set(evaluation.batches()))  # the batch was merged with earlier ones
            else:
                model = {key: value for key, value in model.items() if key < batch}
                last = max(model, default=-1)
        elif kind != "reopen":
            if kind == "again" and last not in evaluation.batches():
                continue
            last = last if kind == "again" else last + 1 + (kind == "skip")
            evaluation.put(last, state_of(number).to_bytes())
            model[last] = number
        total = se.Evaluator(["f1_micro"])
        for value in model.values():
            total.merge(state_of(value))
        assert evaluation.total().to_bytes() == total.to_bytes()
        assert len(evaluation.batches()) <= 2 * keep + 1


def test_an_older_batch_is_refused_unless_it_is_the_same(adapter, tmp_path):
    for evaluation in (adapter.StreamEvaluation(JOB, history=2), adapter.StreamEvaluation(JOB, tmp_path, history=2)):
        for number in range(7):
            evaluation.put(number, state_of(number).to_bytes())
        whole = evaluation.total()
        evaluation.put(5, state_of(5).to_bytes())
        for number, other in ((5, 4), (0, 0)):  # batch 0 was merged, so that its state is unknown
            with pytest.raises(se.InputError, match=rf"the query's checkpoint was removed .* call rewind\({number}\)"):
                evaluation.put(number, state_of(other).to_bytes())
        assert evaluation.total() == whole
        with pytest.raises(se.InputError, match="batch 2 was merged with earlier ones"):
            evaluation.rewind(2)
        evaluation.rewind(6)
        evaluation.put(6, state_of(6).to_bytes())
        assert evaluation.total() == whole


def test_a_process_that_is_killed_while_it_merges_old_batches_counts_none_twice(adapter, tmp_path, monkeypatch):
    from streameval.adapters.spark import Folder

    evaluation, total = adapter.StreamEvaluation(JOB, tmp_path, history=1), se.Evaluator(["f1_micro"])

    def killed(self, span):
        raise OSError("killed")

    for number in range(4):
        total.merge(state_of(number))
        if number == 3:
            monkeypatch.setattr(Folder, "__delitem__", killed)
            with pytest.raises(OSError, match="killed"):
                evaluation.put(number, state_of(number).to_bytes())
            monkeypatch.undo()
        else:
            evaluation.put(number, state_of(number).to_bytes())
    names = {file.name for file in tmp_path.iterdir()}
    assert {"batches-0-1.state", "batches-0-0.state", "batches-1-1.state"} <= names
    evaluation = adapter.StreamEvaluation(JOB, tmp_path, history=1)
    assert evaluation.total() == total
    evaluation.rewind(0)
    assert evaluation.total() == se.Evaluator(["f1_micro"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_another_job_or_with_damage_is_refused(adapter, tmp_path):
    adapter.StreamEvaluation(JOB, tmp_path).put(0, state_of(3).to_bytes())
    other = Job.of(se.Evaluator(["f1_micro"], labels=["cat", "dog"]), actual="actual", predicted="predicted")
    with pytest.raises(se.MergeError, match=r"holds states of another job.* use a new folder"):
        adapter.StreamEvaluation(other, tmp_path)
    file = tmp_path / "batches-0-0.state"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(se.FormatError, match=r"batches-0-0\.state"):
        adapter.StreamEvaluation(JOB, tmp_path)


def test_arguments_of_stream_evaluations_are_checked(adapter):
    with pytest.raises(se.InputError, match="job must be a Job"):
        adapter.StreamEvaluation(["f1_micro"])
    with pytest.raises(se.InputError, match="history must be an integer of at least 1, not 0"):
        adapter.StreamEvaluation(JOB, history=0)
    evaluation = adapter.StreamEvaluation(JOB)
    for number in (-1, True, "1"):
        with pytest.raises(se.InputError, match="batch_id must be an integer of at least 0"):
            evaluation.put(number, state_of(0).to_bytes())
    with pytest.raises(se.MergeError):
        evaluation.put(0, se.F1().to_bytes())
    assert evaluation.batches() == ()


def test_only_evaluations_with_a_folder_can_be_sent_to_another_process(adapter, tmp_path):
    with pytest.raises(se.InputError, match="where another process cannot write them; give path="):
        pickle.dumps(adapter.StreamEvaluation(JOB))
    evaluation = adapter.StreamEvaluation(JOB, tmp_path)
    pickle.loads(pickle.dumps(evaluation)).put(0, state_of(2).to_bytes())
    assert evaluation.total() == state_of(2)


# -- other sessions, pages, peers -------------------------------------------------------------------------------------


def test_sessions_of_spark_connect_give_the_same_results():
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("spark_connect.py"))], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.splitlines()[-1] == "all the same"


def test_the_example_runs(spark, capsys):
    runpy.run_path(str(ROOT / "examples" / "spark_shards.py"))["main"]()
    assert "same bytes as one process  True" in capsys.readouterr().out


def test_the_page_runs(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    page = (ROOT / "docs" / "engines" / "spark.md").read_text(encoding="utf-8")
    names = {}
    blocks = page.split("```python\n")[1:]
    assert blocks
    for block in blocks:
        exec(compile(block.split("```")[0], "docs/engines/spark.md", "exec"), names)  # noqa: S102
    assert names["total"].examples == 6


def peers(spark, rows):
    """Spark's own metrics of rows (true labels, predicted labels), whose labels are numbers."""
    from pyspark.mllib.evaluation import MultilabelMetrics

    pairs = [([float(one) for one in predicted], [float(one) for one in actual]) for actual, predicted in rows]
    return MultilabelMetrics(spark.sparkContext.parallelize(pairs, 1))


def ours(spark, rows, adapter):
    frame = spark.createDataFrame(rows, "actual array<bigint>, predicted array<bigint>")
    return adapter.evaluate(frame, "actual", "predicted")


def test_one_empty_row_does_not_make_the_mean_nan_as_it_does_in_spark(spark, adapter):
    rows = [([0, 1], [0]), ([], [])]
    theirs, result = peers(spark, rows), ours(spark, rows, adapter)
    for value in (theirs.f1Measure(), theirs.accuracy, theirs.recall()):
        assert value != value
    assert result.get(se.F1(average="samples", empty="one").spec) == pytest.approx((2 / 3 + 1) / 2)
    assert result.get("jaccard_samples") == pytest.approx((1 / 2 + 0) / 2)
    assert result.get("recall_samples") == pytest.approx((1 / 2 + 0) / 2)


def test_hamming_loss_is_at_most_1_while_spark_counts_labels_of_the_truth_only(spark, adapter):
    rows = [([0], [1])]
    assert peers(spark, rows).hammingLoss == 2.0
    assert ours(spark, rows, adapter).get("hamming_loss") == 1.0


def test_subset_accuracy_does_not_depend_on_the_order_of_labels_as_it_does_in_spark(spark, adapter):
    rows = [([2, 3], [3, 2])]
    assert peers(spark, rows).subsetAccuracy == 0.0
    assert ours(spark, rows, adapter).get("subset_accuracy") == 1.0


def test_labels_that_were_never_right_have_values_while_spark_throws(spark, adapter):
    from py4j.protocol import Py4JJavaError

    rows = [([0, 1], [0, 2])]
    theirs, result = peers(spark, rows), ours(spark, rows, adapter)
    for call in (theirs.precision, theirs.recall, theirs.f1Measure):
        with pytest.raises(Py4JJavaError, match="key not found"):
            call(1.0)
    for metric in (se.Precision(average=None), se.Recall(average=None), se.F1(average=None)):
        assert result.get(metric.spec) == {0: 1.0, 1: 0.0, 2: 0.0}
