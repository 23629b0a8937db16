"""Spark: rows are counted where they are, states travel as bytes. Classic and Connect sessions, tables and streams."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from streameval import errors
from streameval.adapters.engine import check_job, raise_ours, require
from streameval.delivery.checkpoint import load
from streameval.delivery.ledger import Ledger
from streameval.errors import InputError, MergeError
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.text import check_number, quoted
from streameval.slices import Sliced
from streameval.tabular.job import Job, JobOptions, Metrics, RowOptions, State

with require("spark"):
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import col
    from pyspark.sql.types import BinaryType, DoubleType, LongType, MapType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["StreamEvaluation", "evaluate", "evaluate_by_key"]

_RAISED = re.compile(r"streameval\.(\w+Error): (.*?)(?=\n\s+at |\n*JVM stacktrace| SQLSTATE: |\s*\Z)", re.DOTALL)
_RESULTS = ("examples", "metrics", "state")
_ROWS = 100_000  # after which a worker sends its states on: there are no more keys than rows, which bounds its memory
_EARLIER, _LAST = "earlier batches", "last batch"  # the shards in the file of a stream


def evaluate(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    metrics: Metrics = None,
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

    Examples
    --------
    >>> evaluate(df, "actual", "predicted", metrics=["f1_micro"]).get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    _check(df, job)
    return _merged(_states(df, job), job)


def _states(df: DataFrame, job: Job) -> DataFrame:
    """A data frame with one column, ``state binary``: the state of each partition."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield pa.RecordBatch.from_arrays([pa.array([job.state(batches)], pa.binary())], names=["state"])

    return _mapped(df, job.columns.names, count, "state binary")


def _merged(states: DataFrame, job: Job) -> State:
    """Run the job that a data frame of states describes, and merge them.

    Where a worker could not read its rows, its error is raised; that of Spark with all its traces is its cause.
    """
    with raise_ours(PySparkException, _ours):
        rows = states.select("state").collect()
    return job.merged(bytes(row[0]) for row in rows)


def _check(df: DataFrame, job: Job) -> None:
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


def _mapped(
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
    _check(df, parts)

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
    groups = _mapped(df, parts.columns.names, count, sent).groupBy(*(field.name for field in key_fields))
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


class StreamEvaluation:
    """Counts the batches of a streaming query, each once; give it to ``writeStream.foreachBatch``.

    Spark hands the last batch over again, with the same number, if the query died before it could note that the batch
    was done. Its state is then replaced, never added. An older batch is refused: the query's checkpoint was removed or
    set back.

    Parameters
    ----------
    job
        What to count, and how.
    path
        A file for the state, which belongs to one checkpoint of one query. A batch is counted once it is on disk there,
        and a query that is started again with the same checkpoint goes on where it was. Without it, the state is stored
        in this object, which must live as long as the query's checkpoint is used, and Spark Connect is refused.

    Raises
    ------
    MergeError, FormatError
        If the file holds the state of another job, or a damaged one.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.tabular.job import Job
    >>> job = Job.of(["f1_micro"], actual="actual", predicted="predicted")
    >>> scores = StreamEvaluation(job, path="/data/scores.state")  # doctest: +SKIP
    >>> stream.writeStream.foreachBatch(scores).option("checkpointLocation", "/data/query").start()  # doctest: +SKIP
    >>> scores.total().get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """

    def __init__(self, job: Job, path: str | os.PathLike[str] | None = None) -> None:
        check_job(job)
        self._job, self._path = job, None if path is None else Path(path).absolute()
        self._memory = Ledger(job.fresh())
        self._lock, self._checked = threading.RLock(), False
        self.total()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Count a batch; Spark calls this."""
        if not self._checked:
            _check(batch, self._job)
        self._checked = True
        self.put(batch_id, _merged(_states(batch, self._job), self._job).to_bytes())

    def put(self, batch_id: int, state: bytes) -> None:
        """Take the state of a batch, in place of what it had.

        `InputError` if later batches were counted; `MergeError` or `FormatError` if the state is of another job, or
        damaged.
        """
        check_number("batch_id", batch_id, 0)
        # A later batch comes only after Spark has noted that the last one is done: the two are never replaced.
        with self._lock:
            stored, after = self._stored(), Ledger(self._job.fresh())
            last = stored.shards()[_LAST].sequence if _LAST in stored else -1
            if batch_id < last:
                raise InputError(
                    f"batch {batch_id} comes after batch {last}: the query's checkpoint was removed or set back; use a "
                    "new path for a new checkpoint, and restore the file with the checkpoint"
                )
            if batch_id > last:
                after.put(_EARLIER, batch_id, stored.total())
            else:
                after.put(_EARLIER, batch_id, stored.state(_EARLIER))
            after.put(_LAST, batch_id, self._job.merged([state]))
            if self._path is not None:
                after.save(self._path)
            else:
                self._memory = after

    def total(self) -> State:
        """All batches that were counted, as a new object."""
        with self._lock:
            total: State = self._stored().total()
        return total

    def _stored(self) -> Ledger[Any]:
        if self._path is None or not self._path.exists():
            return self._memory
        ledger: Ledger[Any] = Ledger(self._job.fresh())
        try:
            ledger.merge(cast("Ledger[Any]", load(self._path)))
        except MergeError as error:
            raise MergeError(f"{self._path} is not the state of this job: {error}; use a new path") from None
        return ledger

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise InputError("the state is in memory, where another process cannot write it; give path=")
        return StreamEvaluation, (self._job, str(self._path))
