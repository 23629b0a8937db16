"""Spark counts each partition into a small state; merged, the states give the same bytes as one process.

Requires the extra "spark" and Java 17 or later.
"""

from __future__ import annotations

import os
import random
import sys

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers must use this Python, which has streameval

from pyspark.sql import SparkSession

import streameval as se
from streameval.adapters.spark import evaluate, evaluate_by_key

TAGS = ["art", "food", "music", "news", "sport"]


def posts(count: int) -> list[tuple[list[str], list[str], str]]:
    source = random.Random(7)  # noqa: S311  # not used for security
    made = []
    for _ in range(count):
        actual = source.sample(TAGS, source.randrange(4))
        predicted = [tag for tag in TAGS if source.random() < (0.8 if tag in actual else 0.1)]
        made.append((actual, predicted, source.choice(["de", "en", "fr"])))
    return made


def main() -> None:
    local = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1")
    spark = local.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = posts(3_000)
    df = spark.createDataFrame(rows, "actual array<string>, predicted array<string>, language string").repartition(4)

    total = evaluate(df, "actual", "predicted")
    print(total.report())

    whole = se.Evaluator()
    whole.update_many([row[0] for row in rows], [row[1] for row in rows])
    print(f"same bytes as one process  {total.to_bytes() == whole.to_bytes()}\n")

    print(evaluate(df, "actual", "predicted", metrics=["f1_micro", "f1_samples"], by="language").report())
    by_key = evaluate_by_key(df, "actual", "predicted", keys="language", metrics=["f1_micro"])
    by_key.selectExpr("language", "examples", "metrics['f1_micro'] as f1_micro").orderBy("language").show()


if __name__ == "__main__":
    main()
