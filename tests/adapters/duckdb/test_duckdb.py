"""Relations of DuckDB give the bytes of one `update_many`; run where DuckDB is installed."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import streameval as se

METRICS = ["f1_micro", "f1_macro", "recall_samples"]


def table(rows: int = 5_000) -> pa.Table:
    rng = np.random.default_rng(3)
    names = [f"label {number}" for number in range(20)]

    def lists() -> list[list[str]]:
        return [rng.choice(names, rng.integers(0, 4), replace=False).tolist() for _ in range(rows)]

    columns = {"actual": lists(), "pre dicted": lists(), 'the "region"': rng.choice(["eu", "us"], rows)}
    return pa.table(columns | {"id": range(rows)})


def expected(source: pa.Table) -> se.Evaluator:
    made = se.Evaluator(METRICS)
    made.update_many(source["actual"].to_pylist(), source["pre dicted"].to_pylist())
    return made


@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_relation_gives_the_bytes_of_one_update(batch_size: int | None):
    source = table()
    with duckdb.connect() as connection:
        connection.register("predictions", source)
        relation = connection.sql("select * from predictions where id >= 1000")
        options = {"actual": "actual", "predicted": "pre dicted", "metrics": METRICS, "batch_size": batch_size}
        assert se.evaluate_table(relation, **options) == expected(source[1000:])
        sliced = se.evaluate_table(relation, **options, by='the "region"')
        assert sliced.total() == expected(source[1000:])
        nothing = connection.sql("select * from predictions where id < 0")
        assert se.evaluate_table(nothing, **options) == se.Evaluator(METRICS)


def test_a_column_that_a_relation_lacks_is_reported_with_the_nearest_name():
    with duckdb.connect() as connection:
        relation = connection.sql("select ['a'] as actual, ['b'] as predicted")
        with pytest.raises(se.InputError, match=r"no column 'predictd'.*did you mean 'predicted'"):
            se.evaluate_table(relation, actual="actual", predicted="predictd")
        with pytest.raises(se.InputError, match="source must be a path, a table, a query or an iterable"):
            se.evaluate_table(connection.execute("select 1"), actual="actual", predicted="predicted")


def test_null_lists_of_a_relation_are_refused_or_empty():
    with duckdb.connect() as connection:
        relation = connection.sql("select ['a'] as actual, null::varchar[] as predicted")
        with pytest.raises(se.InputError, match="column 'predicted' holds 1 null"):
            se.evaluate_table(relation, actual="actual", predicted="predicted")
        result = se.evaluate_table(relation, actual="actual", predicted="predicted", null="empty", metrics=METRICS)
        made = se.Evaluator(METRICS)
        made.update({"a"}, set())
        assert result == made
