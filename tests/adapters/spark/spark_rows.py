"""Times the Spark adapter, Spark's own metrics and plain scans in one run, on 1,000,000 rows with 50 labels.

    python tests/adapters/spark/spark_rows.py FOLDER [ROWS]

writes the rows to FOLDER once, and needs the extra "spark". It prints the least of six warm times, in turns.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import streameval as se
from streameval.adapters.spark import evaluate
from streameval.tabular.job import Job

LABELS, FILES = 50, 8


def write(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    source = np.random.default_rng(0)
    names = pa.array([f"label {label}" for label in range(LABELS)])
    for file in range(FILES):
        columns = {}
        for name in ("actual", "predicted"):
            cells = source.random((count // FILES, LABELS)) < 0.06
            offsets = np.concatenate([[0], np.cumsum(cells.sum(axis=1))])
            labels = np.nonzero(cells)[1]
            for kind, values in ((name, names.take(pa.array(labels))), (f"{name}_number", pa.array(labels * 1.0))):
                columns[kind] = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
        pq.write_table(pa.table(columns), folder / f"{file}.parquet")


def arrow_scan(df):
    def count(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows])], names=["n"])

    return df.select("actual", "predicted").mapInArrow(count, "n bigint").groupBy().sum("n").collect()


def jvm_scan(df):
    df.select("actual", "predicted").write.format("noop").mode("overwrite").save()


def multilabel_metrics(df):
    from pyspark.mllib.evaluation import MultilabelMetrics

    pairs = df.select("predicted_number", "actual_number").rdd.map(lambda row: (list(row[0]), list(row[1])))
    result = MultilabelMetrics(pairs)
    values = [result.accuracy, result.subsetAccuracy, result.hammingLoss, result.f1Measure(), result.precision()]
    values += [result.recall(), result.microF1Measure, result.microPrecision, result.microRecall]
    for label in range(LABELS):
        values += [result.f1Measure(float(label)), result.precision(float(label)), result.recall(float(label))]
    return values


def classification_evaluator(df):
    from pyspark.ml.evaluation import MultilabelClassificationEvaluator

    made = MultilabelClassificationEvaluator(
        predictionCol="predicted_number", labelCol="actual_number", metricName="microF1Measure"
    )
    return made.evaluate(df)


def ours(df):
    result = evaluate(df, "actual", "predicted")
    result.get(), result.per_label()
    return result


def main(folder: str, rows: str = "1_000_000") -> None:
    place = Path(folder)
    if not place.exists():
        write(place, int(rows))
    local = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1")
    spark = local.config("spark.driver.memory", "4g").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    df = spark.read.parquet(str(place))

    job = Job.of(actual="actual", predicted="predicted")
    files = sorted(place.glob("*.parquet"))
    single = job.state(
        batch for file in files for batch in pq.ParquetFile(file).iter_batches(columns=job.columns.names)
    )
    print(
        f"{job.merged([single]).examples:,} rows; same bytes as one process:", ours(df).to_bytes() == single, flush=True
    )

    def only_files(_):
        result = se.evaluate_table(str(place / "*.parquet"), actual="actual", predicted="predicted")
        result.get(), result.per_label()
        assert result.to_bytes() == single

    calls = {
        "ours": ours,
        "streameval.evaluate_table on the files": only_files,
        "arrow scan": arrow_scan,
        "jvm scan": jvm_scan,
    }
    calls |= {"one call of the evaluator": classification_evaluator, "MultilabelMetrics": multilabel_metrics}
    best = dict.fromkeys(calls, float("inf"))
    for turn in range(6):
        for name, call in calls.items():
            if name == "MultilabelMetrics" and turn > 1:
                continue
            start = time.perf_counter()
            call(df)
            best[name] = min(best[name], time.perf_counter() - start)
    for name, seconds in best.items():
        print(f"{name:34} {seconds:7.2f} s   {seconds / best['ours']:6.2f} x ours")


if __name__ == "__main__":
    main(*sys.argv[1:])
