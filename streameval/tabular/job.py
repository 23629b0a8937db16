"""The core of every adapter to an engine: a `Job` goes to the workers, and states come back as bytes to be merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypedDict, Unpack

from streameval.errors import InputError, MergeError, option
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator, MetricLike
from streameval.evaluation.metric import Metric
from streameval.schema.config import Null, Rows, Threshold, Unknown
from streameval.schema.keywords import refuse_unknown
from streameval.schema.labels import Label
from streameval.schema.text import number_of, quoted
from streameval.slices import Sliced
from streameval.tabular.columns import Columns, Names
from streameval.tabular.rows import read_rows
from streameval.windows.base import Window
from streameval.wire.envelope import METRIC, SLICED, holder_of

__all__ = ["Job"]

State: TypeAlias = Evaluator | Metric | Sliced[Any]
Listed: TypeAlias = Iterable[MetricLike] | Evaluator | None  # what is counted by an `Evaluator`
Metrics: TypeAlias = Listed | Metric | Sliced[Any]

_COUNTED = ("threshold", "rows", "labels", "unknown", "label_limit")  # options of the object that counts


class RowOptions(TypedDict, total=False):
    """Options of every function that counts rows of a table, besides ``metrics`` and the columns; see `Job.of`."""

    scores: Names | None
    weight: str | None
    mask: Names | None
    null: Null
    sep: str | None
    threshold: Threshold
    rows: Rows | None
    labels: Iterable[Label] | None
    unknown: Unknown | None
    label_limit: int | None
    example: str | None
    label: str | None


class JobOptions(RowOptions, total=False):
    """The options of `RowOptions`, and ``by``, for functions that may slice rows."""

    by: str | Iterable[str] | None


@dataclass(frozen=True, slots=True)
class Job:
    """All that a worker needs: what to construct, as bytes, and which columns to read.

    Each worker makes a state of its rows; the states come back as bytes, and are merged in whatever order they come.

    Attributes
    ----------
    empty
        The bytes of an `Evaluator`, a metric or a `Sliced` that has counted nothing.
    columns
        Which columns hold what.

    Examples
    --------
    >>> import pyarrow as pa
    >>> job = Job.of(["f1_micro"], actual="tags", predicted="guess")
    >>> table = pa.table({"tags": [["cat"], ["dog"]], "guess": [["cat"], ["cat", "dog"]]})
    >>> states = [job.state([batch]) for batch in table.to_batches(max_chunksize=1)]
    >>> job.merged(states).get()
    {'f1_micro': 0.8}
    """

    empty: bytes
    columns: Columns

    @classmethod
    def of(
        cls, metrics: Metrics = None, *, actual: Names, predicted: Names | None = None, **options: Unpack[JobOptions]
    ) -> Job:
        """A job from what a user wrote.

        Parameters
        ----------
        metrics
            Names of metrics, or an `Evaluator`, a metric or a `Sliced` that has counted nothing; it is copied.
        threshold
            Labels scoring at or above it are predicted; not with an object in ``metrics``, which has its own.
        rows
            What lists of integers or strings are, as for `Evaluator`; not with an object either.
        labels, unknown, label_limit
            The declared labels, what is done with others, and how many there may be, as for `Evaluator`; not
            with an object. ``unknown="ignore"`` also drops wide columns of labels that only one side has.
        actual, predicted, scores, weight, mask, by, null, sep, example, label
            As for `Columns`. With ``by``, rows are counted by the values of these columns, in a `Sliced`; a `Sliced`
            names them itself.

        Raises
        ------
        InputError, MetricError
            If an argument cannot be understood, or they do not fit together.
        """
        check_options("there is", options)
        arguments: dict[str, Any] = {**options}
        by, counted = arguments.pop("by", ()), {name: arguments.pop(name, None) for name in _COUNTED}
        by = (by,) if isinstance(by, str) or not isinstance(by, Iterable | None) else tuple(by or ())
        ignores = counted["unknown"] == "ignore"
        columns = Columns(actual, predicted, by=by, one_sided="ignore" if ignores else "error", **arguments)
        if ignores and counted["labels"] is None and any("*" in name for name in columns.names):
            counted["unknown"] = None  # only the columns had to ignore labels
        state = _built(metrics, **counted)
        if isinstance(state, Sliced):
            if by and by != state.by:
                raise InputError(f"by is {quoted(by)}, but the Sliced is by {quoted(state.by)}; leave by out")
            columns = replace(columns, by=state.by)
        elif by:
            state = Sliced(state, by=by)
        if columns.scores is not None and not state.reads_scores:
            unused = f"scores={columns.scores!r} names a column of scores, but nothing requires scores"
            raise InputError(f"{unused}; set {option('threshold', 0.5)}, or give metrics of rankings or curves")
        return cls(state.to_bytes(), columns)

    def fresh(self) -> State:
        """A state that has counted nothing."""
        return _restored(self.empty)

    def add(self, state: State, batch: object) -> None:
        """Count the rows of a batch in a state from `fresh`: all of them, or none if anything is wrong.

        A batch is a record batch or table of Arrow, a data frame of pandas or polars, or a list of rows: mappings, or
        objects that have the columns as attributes. It may have other columns too.

        Raises
        ------
        InputError, LabelError
            If a column is missing, or holds what cannot be read; the message names it.
        """
        if not isinstance(batch, list) or self.columns.sep is not None:
            from streameval.tabular.arrow import table_of  # imported late, since pyarrow is optional
            from streameval.tabular.cells import check_cells

            batch = batch if isinstance(batch, list) else table_of(batch, self.columns)
            check_cells(batch, self.columns, None, state)
        arguments = self.arguments(batch)
        try:
            if arguments:
                state.update_many(**arguments)
        except InputError as error:
            raise type(error)(self.columns.describe(str(error))) from None

    def arguments(self, batch: object, sep: str | None = None) -> dict[str, Any]:
        """Arguments of ``update_many`` for rows, or for a table of `table_of`; ``sep`` is for columns without one."""
        columns = replace(self.columns, sep=sep) if sep is not None and self.columns.sep is None else self.columns
        if isinstance(batch, list):
            return read_rows(batch, columns) if batch else {}
        from streameval.tabular.arrow import read_table  # imported late, since pyarrow is optional

        return read_table(batch, columns)

    def check(self, table: object) -> None:
        """Raise what the first worker would raise if a column is missing, or of a type that cannot be read.

        ``table`` is a schema of Arrow, or a table or data frame without rows.
        """
        from streameval.tabular.arrow import table_of

        self.arguments(table_of(table, self.columns))

    def state(self, batches: Iterable[object]) -> bytes:
        """The state of all rows of some batches, as bytes."""
        state = self.fresh()
        for batch in batches:
            self.add(state, batch)
        return state.to_bytes()

    def merged(self, states: Iterable[bytes]) -> State:
        """All states merged into one; `MergeError` or `FormatError` if one is from another job or is not a state."""
        total = self.fresh()
        for state in states:
            if not isinstance(state, bytes | bytearray | memoryview):
                raise MergeError(f"merged takes a list of states as bytes, as state() makes them, not {quoted(state)}")
            total.merge(_restored(state))  # type: ignore[arg-type]  # merge refuses what is of another class
        return total


def check_options(start: str, options: Mapping[str, object], *own: str) -> None:
    """Raise `InputError`, with ``start`` first, for options that are neither a function's ``own`` nor of `Job.of`."""
    known = ["actual", "predicted", "metrics", *own, *JobOptions.__annotations__]
    refuse_unknown(start, known, options)


def _built(metrics: Metrics, **options: Any) -> State:
    if isinstance(metrics, Evaluator | Metric | Sliced):
        if argument := next((f"{name}={quoted(each)}" for name, each in options.items() if each is not None), ""):
            raise InputError(f"metrics is an object; construct it with {argument}, and leave that argument out")
        if metrics.examples:
            counted = f"this {type(metrics).__name__} has counted {number_of(metrics.examples, 'example')}"
            raise InputError(f"{counted}; give an empty one, and merge the result into it")
        return metrics
    if isinstance(metrics, Window):
        raise InputError(f"rows of a table have no order, so a {type(metrics).__name__} cannot count them")
    unknown: Any = options.pop("unknown") or "error"
    return Evaluator(DEFAULT_METRICS if metrics is None else metrics, unknown=unknown, **options)


def _restored(data: bytes) -> State:
    """A state from bytes; `Evaluator` says what is wrong with those of anything else."""
    classes: dict[int | None, type[State]] = {METRIC: Metric, SLICED: Sliced}
    return classes.get(holder_of(data), Evaluator).from_bytes(data)
