"""Spark: rows are counted where they are, states travel as bytes. Classic and Connect sessions, tables and streams."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Unpack, overload

from streameval import errors
from streameval.adapters.engine import check_job, raise_ours, require
from streameval.errors import InputError, MergeError
from streameval.evaluation.evaluator import Evaluator
from streameval.progressive.holder import read_state
from streameval.schema.text import check_number, quoted
from streameval.slices import Sliced
from streameval.tabular.job import Job, JobOptions, Listed, Metrics, RowOptions, State
from streameval.wire.files import read_file, write_file

with require("spark"):
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame
    from pyspark.sql.types import BinaryType, DoubleType, LongType, MapType, StringType, StructField, StructType

__all__ = ["StreamEvaluation", "evaluate", "evaluate_by_key", "merged", "states"]

_RAISED = re.compile(r"streameval\.(\w+Error): (.*?)(?=\n\s+at |\n*JVM stacktrace| SQLSTATE: |\s*\Z)", re.DOTALL)
_RESULTS = ("examples", "metrics", "state")
_ROWS = 100_000  # rows after which a worker sends its states: at most one key a row, so that its memory is bounded
_FILE = re.compile(r"batches-(\d+)-(\d+)\.state")


@overload
def evaluate(
    df: DataFrame, actual: str, predicted: str | None = None, *, metrics: Listed = None, by: None = None,
    **options: Unpack[RowOptions],
) -> Evaluator: ...  # fmt: skip
@overload
def evaluate(
    df: DataFrame, actual: str, predicted: str | None = None, *, metrics: Metrics = None,
    **options: Unpack[JobOptions],
) -> Any: ...  # fmt: skip
def evaluate(
    df: DataFrame, actual: str, predicted: str | None = None, *, metrics: Metrics = None, **options: Unpack[JobOptions]
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
    """
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    _check(df, job)
    return merged(states(df, job), job)


def states(df: DataFrame, job: Job) -> DataFrame:
    """A data frame with one column, ``state binary``: the state of each partition. `merged` collects it."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield pa.RecordBatch.from_arrays([pa.array([job.state(batches)], pa.binary())], names=["state"])

    return _mapped(df, job, count, "state binary")


def merged(states: DataFrame, job: Job) -> State:
    """Run the job that a data frame of `states` describes, and merge its states.

    If a worker could not read its rows, the worker's error is raised; its cause is that of Spark with all traces.
    """
    with raise_ours(PySparkException, _ours):
        rows = states.select("state").collect()
    return job.merged(row[0] for row in rows)


def _check(df: DataFrame, job: Job) -> None:
    """Raise `InputError` if a column is not present, or of a type that cannot be read. Reads no rows."""
    check_job(job)
    if not isinstance(df, DataFrame):
        raise InputError(f"df must be a data frame of Spark, not {quoted(df)}; spark.createDataFrame makes one")
    if df.isStreaming:
        raise InputError("df is a stream; give StreamEvaluation(job) to its writeStream.foreachBatch")
    chosen, names = _chosen(df, job)
    try:
        table = chosen.limit(0).toArrow()
    except ValueError as error:  # the type of an empty array()
        raise InputError(f"a column cannot be read: {error}; cast it, for example to array<string>") from None
    job.check(table.rename_columns(names))


def _ours(error: Exception) -> object:
    """The error of this package that the message of an error of Spark contains, or None."""
    match = _RAISED.search(str(error))
    kind = getattr(errors, match[1], None) if match else None
    return kind(match[2].strip()) if match and kind else None


def _mapped(
    df: DataFrame, job: Job, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str | StructType
) -> DataFrame:
    """A data frame that ``function`` makes from the batches of a job's columns."""
    chosen, names = _chosen(df, job)

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return function(batch.rename_columns(names) for batch in batches)

    return chosen.mapInArrow(named, schema)


def _chosen(df: DataFrame, job: Job) -> tuple[DataFrame, list[str]]:
    """A job's columns, named by numbers, and their names, in which Spark misreads dots and ignores upper case."""
    present = df.columns
    names = job.columns.check_names(present)
    numbered = df.toDF(*map(str, range(len(present))))
    return numbered.select(*(str(present.index(name)) for name in names)), names


def evaluate_by_key(
    df: DataFrame, actual: str, predicted: str | None = None, *, keys: str | Iterable[str], metrics: Metrics = None,
    **options: Unpack[RowOptions],
) -> DataFrame:  # fmt: skip
    """Count the rows of each key: only a state for each partition and key is shuffled, and states are merged by key.

    Errors are those of `evaluate_table`; those that depend on rows are raised by the action, within an error of Spark.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    keys
        One column, or several: strings, integers, booleans; null is a key too.
    actual, predicted, metrics, **options
        As for `evaluate`; rows are not sliced in addition.

    Returns
    -------
    DataFrame
        The columns of the keys; ``examples bigint``; ``metrics map<string, double>``, without those that have one value
        for each label; ``state binary``, which `streameval.Evaluator.from_bytes` reads. It is computed when an action
        asks for it.
    """
    names = (keys,) if isinstance(keys, str) or not isinstance(keys, Iterable) else tuple(keys)
    if not names or set(names) & set(_RESULTS):
        raise InputError(f"keys is {quoted(keys)}; name one column or more, none of them {' or '.join(_RESULTS)}")
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    fresh = job.fresh()
    if isinstance(fresh, Sliced):
        raise InputError(f"metrics is a Sliced by {quoted(fresh.by)}; give its evaluator, and its names as keys")
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
        return _answer(group.slice(0, 1), job.merged(group.column("state").to_pylist()))

    types = {field.name: field.dataType for field in df.schema.fields}
    if nested := [name for name in names if name not in types]:
        raise parts.columns.missing(nested[0], "keys", types)
    key_fields = [StructField(f"key{place}", types[name]) for place, name in enumerate(names)]
    state = StructField("state", BinaryType())
    sent = StructType([*key_fields, state])
    read = [StructField("examples", LongType()), StructField("metrics", MapType(StringType(), DoubleType()))]
    groups = _mapped(df, parts, count, sent).groupBy(*(field.name for field in key_fields))
    return groups.applyInArrow(merge, StructType([*key_fields, *read, state])).toDF(*names, *_RESULTS)


def _by_key(state: Any, names: tuple[str, ...], schema: Any) -> Any:
    slices = state.slices(names[0] if len(names) == 1 else names)
    keys = ([part.where[name] for part in slices] for name in names)
    columns = {f"key{n}": pa.array(key, schema.field(names[n]).type) for n, key in enumerate(keys)}
    states = pa.array([part.evaluator.to_bytes() for part in slices], pa.binary())
    return pa.RecordBatch.from_pydict({**columns, "state": states})


def _answer(row: Any, total: Any) -> Any:
    binary = row.schema.field("state").type  # large types, also for strings, if Spark is so configured
    string = pa.string() if binary == pa.binary() else pa.large_string()
    values = total.get() if isinstance(total, Evaluator) else {total.spec.key: total.get()}
    numbers = [(name, value) for name, value in values.items() if isinstance(value, float)]
    return (
        row.drop_columns(["state"])
        .append_column("examples", pa.array([total.examples], pa.int64()))
        .append_column("metrics", pa.array([numbers], pa.map_(string, pa.float64())))
        .append_column("state", pa.array([total.to_bytes()], binary))
    )


class StreamEvaluation:
    """Counts the batches of a streaming query, each once; give it to ``writeStream.foreachBatch``.

    Spark hands a batch over again, with the same number, if the query died before it could note that the batch was
    done. Its state is then replaced, never added. An older batch that differs from what was counted is refused, since
    the checkpoint was removed or set back: see `rewind`.

    Parameters
    ----------
    job
        What to count, and how.
    path
        A folder for the states, which belongs to one checkpoint of one query. A batch is counted once its file is on
        disk, and a query that is started again with the same checkpoint goes on where it was. Without it, they are
        stored in this object, which must live as long as the query's checkpoint is used, and Spark Connect is refused.
    history
        How many batches keep a state of their own; those before are merged.

    Raises
    ------
    MergeError, FormatError
        If the folder holds states of another job, or damaged ones.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.tabular.job import Job
    >>> job = Job.of(["f1_micro"], actual="actual", predicted="predicted")
    >>> scores = StreamEvaluation(job, path="/data/scores")  # doctest: +SKIP
    >>> stream.writeStream.foreachBatch(scores).option("checkpointLocation", "/data/query").start()  # doctest: +SKIP
    >>> scores.total().get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """

    def __init__(self, job: Job, path: str | os.PathLike[str] | None = None, *, history: int = 100) -> None:
        check_job(job)
        history = check_number("history", history, 1)
        self._job, self._history = job, history
        self._store: dict[Span, bytes] | Folder = {} if path is None else Folder(Path(path).absolute())
        self._lock, self._checked = threading.RLock(), False
        try:
            self.total()
        except MergeError as error:
            raise MergeError(f"{path} holds states of another job: {error}; use a new folder") from None

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Count a batch; Spark calls this."""
        if not self._checked:
            _check(batch, self._job)
        self._checked = True
        self.put(batch_id, merged(states(batch, self._job), self._job).to_bytes())

    def put(self, batch_id: int, state: bytes) -> None:
        """Store the state of a batch, in place of its former state.

        `InputError` if later batches were counted and this one is not the same as it was; `MergeError` or `FormatError`
        if the state is of another job, or damaged.
        """
        batch_id = check_number("batch_id", batch_id, 0)
        whole = self._job.merged([state]).to_bytes()
        with self._lock:
            spans, span = self._spans(), Span(batch_id, batch_id)
            if spans and (batch_id < spans[-1].last or spans[-1].first < batch_id == spans[-1].last):
                if span in spans and self._store[span] == state:
                    return
                raise InputError(
                    f"batch {batch_id} comes after batch {spans[-1].last} and is not what was counted as batch "
                    f"{batch_id}: the query's checkpoint was removed or set back; call rewind({batch_id}) to forget it "
                    "and all later ones, or use a new folder for a new checkpoint"
                )
            self._store[span] = whole
            if len(spans) > 2 * self._history:
                oldest = spans[: -self._history]  # if killed before they are deleted, only their sum counts: _spans
                total = self._job.merged(self._store[span] for span in oldest)
                self._store[Span(oldest[0].first, oldest[-1].last)] = total.to_bytes()
                for span in oldest:
                    del self._store[span]

    def total(self) -> State:
        """All batches that were counted, as a new object."""
        for _ in range(100):
            # The process that runs the query may delete a file, after merging it, while this one reads.
            with contextlib.suppress(FileNotFoundError), self._lock:
                return self._job.merged(self._store[span] for span in self._spans())
        raise InputError("the states in the folder keep changing; give each query a folder of its own")

    def batches(self) -> tuple[int, ...]:
        """The batches that have a state of their own, in order."""
        with self._lock:
            return tuple(span.first for span in self._spans() if span.first == span.last)

    def rewind(self, batch_id: int) -> None:
        """Forget a batch and all after it, for a query whose checkpoint was set back to before this batch.

        `InputError` if the batch was merged with earlier ones; nothing has changed then.
        """
        batch_id = check_number("batch_id", batch_id, 0)
        with self._lock:
            if any(span.first < batch_id <= span.last for span in self._spans()):
                raise InputError(f"batch {batch_id} was merged with earlier ones; use a new folder")
            for span in reversed(_in_order(self._store)):
                if span.first >= batch_id:
                    del self._store[span]

    def _spans(self) -> list[Span]:
        """The spans that count: those that are not part of a longer span."""
        spans: list[Span] = []
        for span in _in_order(self._store):
            if not spans or span.last > spans[-1].last:
                spans.append(span)
        return spans

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._store, Folder):
            raise InputError("the states are in memory, where another process cannot write them; give path=")
        return partial(StreamEvaluation, history=self._history), (self._job, str(self._store.path))


class Span(NamedTuple):
    """The range of batches that one state counts: from the first to the last."""

    first: int
    last: int


class Folder:
    """States in files of a folder; a file is written whole or not at all, and is on disk when writing returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def __iter__(self) -> Iterator[Span]:
        matches = [_FILE.fullmatch(file.name) for file in self.path.iterdir()]
        return (Span(int(match[1]), int(match[2])) for match in matches if match)

    def __getitem__(self, span: Span) -> bytes:
        return read_file(self._file(span), read_state).to_bytes()

    def __setitem__(self, span: Span, state: bytes) -> None:
        write_file(self._file(span), state)

    def __delitem__(self, span: Span) -> None:
        self._file(span).unlink(missing_ok=True)

    def _file(self, span: Span) -> Path:
        return self.path / f"batches-{span.first}-{span.last}.state"


def _in_order(spans: Iterable[Span]) -> list[Span]:
    """Spans sorted so that a longer span stands before its parts."""
    return sorted(spans, key=lambda span: (span.first, -span.last))
