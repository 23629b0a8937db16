"""Checks like those of `test_spark` in a session of Spark Connect, which needs a process of its own."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors.exceptions.connect import SparkException
from pyspark.sql import SparkSession

import streameval as se
from streameval.adapters.spark import StreamEvaluation, evaluate, evaluate_by_key
from streameval.tabular.job import Job

LISTS = "actual array<string>, predicted array<string>"


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    rows = [(["cat"], ["cat", "dog"], "eu"), (["dog"], ["dog"], "us"), ([], ["bird"], "eu")] * 100
    df = spark.createDataFrame(rows, f"{LISTS}, region string").repartition(3)
    assert type(df).__module__.startswith("pyspark.sql.connect")
    single = se.Evaluator()
    single.update_many([row[0] for row in rows], [row[1] for row in rows])

    assert evaluate(df, "actual", "predicted").to_bytes() == single.to_bytes()
    assert evaluate(df.coalesce(2), "actual", "predicted").to_bytes() == single.to_bytes()
    assert evaluate(df, "actual", "predicted", by="region").total() == single
    merged = se.Evaluator()
    for row in evaluate_by_key(df, "actual", "predicted", keys="region").collect():
        merged.merge(se.Evaluator.from_bytes(bytes(row["state"])))
    assert merged == single

    with pytest.raises(se.InputError, match="did you mean 'predicted'"):
        evaluate(df, "actual", "predictd")
    nulls = spark.createDataFrame([(["a"], None), (["b"], ["b"])], LISTS)
    with pytest.raises(se.InputError, match="column 'predicted' holds 1 null"):
        evaluate(nulls, "actual", "predicted")

    pq.write_table(
        pa.table({"actual": [row[0] for row in rows], "predicted": [row[1] for row in rows]}), folder / "rows.parquet"
    )
    (folder / "in").mkdir()
    (folder / "rows.parquet").rename(folder / "in" / "rows.parquet")
    stream = spark.readStream.schema(LISTS).parquet(str(folder / "in"))
    job = Job.of(actual="actual", predicted="predicted")

    def run(evaluation, tries=5):
        checkpoint = stream.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        try:
            query = checkpoint.foreachBatch(evaluation).trigger(availableNow=True).start()
        except SparkException as error:
            # The server gives the process of a foreachBatch 10 seconds to start, which a busy machine may exceed.
            if "failed to connect back" not in str(error) or not tries:
                raise
            run(evaluation, tries - 1)
        else:
            query.awaitTermination()

    with pytest.raises(Exception, match="foreachBatch") as caught:
        run(StreamEvaluation(job))
    assert "give path=" in str(caught.value.__context__)  # Spark raises an error of its own, with ours as context
    evaluation = StreamEvaluation(job, folder / "states")
    run(evaluation)
    assert evaluation.total() == single
    spark.stop()
    sys.stdout.write("all the same\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))
