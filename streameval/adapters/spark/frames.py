"""Data frames: one state per partition, merged by the driver, or one for each key, in a data frame again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.functions import col
from pyspark.sql.types import BinaryType, DoubleType, LongType, MapType, StringType, StructField, StructType

from streameval import errors
from streameval.adapters.engine import raise_ours
from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.text import check_number, quoted
from streameval.slices import Sliced
from streameval.tabular.job import Job, JobOptions, Metrics, RowOptions, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RAISED = re.compile(r"streameval\.(\w+Error): (.*?)(?=\n\s+at |\n*JVM stacktrace| SQLSTATE: |\s*\Z)", re.DOTALL)
_RESULTS = ("examples", "metrics", "state")
_ROWS = 100_000  # after which a worker sends its states on: there are no more keys than rows, which bounds its memory


def evaluate(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    metrics: Metrics = None,
    tasks: int | None = None,
    **options: Unpack[JobOptions],
) -> State:
    """Count the rows of a data frame, in one pass and without a shuffle of rows.

    The bytes of the result are those that one process would have written, however the rows are partitioned. Errors are
    those of `evaluate_table`; columns that are missing or mistyped are reported before the job starts.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the result is a `Sliced`; for very many values see `evaluate_by_key`.
    tasks
        Merge the states of the partitions in this many tasks before the driver merges the rest. Pays with thousands of
        partitions.

    Examples
    --------
    >>> evaluate(df, "actual", "predicted", metrics=["f1_micro"]).get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    check(df, job)
    return merged(states(df, job, tasks=tasks), job)


def states(df: DataFrame, job: Job, *, tasks: int | None = None) -> DataFrame:
    """A data frame with one column, ``state binary``: the state of each partition. `merged` collects it.

    Parameters
    ----------
    df, job
        What to count, and how.
    tasks
        Merge them in this many tasks; without it, there is one for each partition of ``df``.
    """
    if tasks is not None:
        check_number("tasks", tasks, 1)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield _row(job.state(batches))

    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        yield _row(job.merged(state for batch in batches for state in batch.column("state").to_pylist()).to_bytes())

    counted = mapped(df, job.columns.names, count, "state binary")
    # By their content, not in turn: a task that is tried again then sends each state to the same place.
    return counted if tasks is None else counted.repartition(tasks, "state").mapInArrow(merge, "state binary")


def merged(states: DataFrame, job: Job) -> State:
    """Run the job that a data frame of `states` describes, and merge them.

    Where a worker could not read its rows, its error is raised; that of Spark with all its traces is its cause.
    """
    with raise_ours(PySparkException, _ours):
        rows = states.select("state").collect()
    return job.merged(bytes(row[0]) for row in rows)


def _row(state: bytes) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([state], pa.binary())], names=["state"])


def check(df: DataFrame, job: Job) -> None:
    """Raise `InputError` if a column is not present, or of a type that cannot be read. Reads no rows."""
    names = df.columns
    present = [name for name in job.columns.names if names.count(name) == 1]
    empty = df.select(*map(_quoted, present)).limit(0).toArrow()
    columns = [empty.column(name) if name in present else pa.nulls(0) for name in names]
    job.check(pa.table(columns, names=names))


def _ours(error: Exception) -> object:
    """The error of this package in the traces of Spark."""
    match = _RAISED.search(str(error))
    kind = getattr(errors, match[1], None) if match else None
    return kind(match[2].strip()) if match and kind else None


def mapped(
    df: DataFrame, names: tuple[str, ...], function: Callable[[Iterator[Any]], Iterator[Any]], schema: str | StructType
) -> DataFrame:
    """A function over the batches of some columns. Spark itself finds no columns there whose names hold dots."""

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return function(batch.rename_columns(list(names)) for batch in batches)

    plain = df.select(*(col(_quoted(name)).alias(f"c{place}") for place, name in enumerate(names)))
    return plain.mapInArrow(named, schema)


def _quoted(name: str) -> str:
    """The name of a column, where Spark would take a dot for a field."""
    return "`" + name.replace("`", "``") + "`"


def evaluate_by_key(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    keys: str | Iterable[str],
    metrics: Metrics = None,
    **options: Unpack[RowOptions],
) -> DataFrame:
    """Count the rows of each key: states per partition and key, the only rows that are shuffled, merged per key.

    Errors are those of `evaluate_table`; what only rows can tell, the action raises within an error of Spark.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    keys
        One column, or several: strings, integers, booleans; null is a key too.
    actual, predicted, metrics, **options
        As for `evaluate`; rows are not sliced besides.

    Returns
    -------
    DataFrame
        The columns of the keys; ``examples bigint``; ``metrics map<string, double>``, without those that have one value
        for each label; ``state binary``, which `streameval.Evaluator.from_bytes` reads. It is computed when an action
        asks for it.

    Examples
    --------
    >>> evaluate_by_key(df, "actual", "predicted", keys="user").orderBy("examples").show()  # doctest: +SKIP
    """
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    if not names or set(names) & set(_RESULTS):
        raise InputError(f"keys is {quoted(keys)}; name one column or more, none of them {' or '.join(_RESULTS)}")
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    fresh = job.fresh()
    if isinstance(fresh, Sliced):
        raise InputError(f"metrics is a Sliced by {quoted(fresh.by)}; give what it is of, and its names as keys")
    sliced = Sliced(fresh, by=names, cross=[names] if len(names) > 1 else [], max_slices=2**62)
    parts = Job(sliced.to_bytes(), replace(job.columns, by=names))
    check(df, parts)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        state = parts.fresh()
        for batch in batches:
            parts.add(state, batch)
            if state.examples >= _ROWS:
                yield _by_key(state, names, batch.schema)
                state = parts.fresh()
        if state.examples:
            yield _by_key(state, names, batch.schema)

    def merge(group: Any) -> Any:
        total = job.merged(group.column("state").to_pylist())
        return _answer(group.slice(0, 1).drop_columns(["state"]), total)

    types = {field.name: field.dataType for field in df.schema.fields}
    key_fields = [StructField(f"key{place}", types[name]) for place, name in enumerate(names)]
    state = StructField("state", BinaryType())
    sent = StructType([*key_fields, state])
    read = [StructField("examples", LongType()), StructField("metrics", MapType(StringType(), DoubleType()))]
    groups = mapped(df, parts.columns.names, count, sent).groupBy(*(field.name for field in key_fields))
    return groups.applyInArrow(merge, StructType([*key_fields, *read, state])).toDF(*names, *_RESULTS)


def _by_key(state: Any, names: tuple[str, ...], schema: Any) -> Any:
    slices = state.slices(names[0] if len(names) == 1 else names)
    keys = ([part.where[name] for part in slices] for name in names)
    columns = {f"key{n}": pa.array(key, schema.field(names[n]).type) for n, key in enumerate(keys)}
    states = pa.array([part.evaluator.to_bytes() for part in slices], pa.binary())
    return pa.RecordBatch.from_pydict({**columns, "state": states})


def _answer(key: Any, total: Any) -> Any:
    values = total.get() if isinstance(total, Evaluator) else {total.spec.key: total.get()}
    numbers = [(name, value) for name, value in values.items() if isinstance(value, float)]
    return (
        key.append_column("examples", pa.array([total.examples], pa.int64()))
        .append_column("metrics", pa.array([numbers], pa.map_(pa.string(), pa.float64())))
        .append_column("state", pa.array([total.to_bytes()], pa.binary()))
    )
