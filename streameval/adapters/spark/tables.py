"""Whole tables: one state per partition, merged by the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streameval.adapters.spark.frames import check, mapped, our_errors
from streameval.errors import InputError
from streameval.evaluation.evaluator import MetricLike
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.tabular.columns import Null
from streameval.tabular.job import Job, State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["evaluate", "merged", "states"]


def evaluate(
    df: DataFrame,
    actual: str,
    predicted: str | None = None,
    *,
    metrics: Iterable[MetricLike] | State | None = None,
    scores: str | None = None,
    weight: str | None = None,
    mask: str | None = None,
    by: str | Iterable[str] | None = None,
    null: Null = "error",
    threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    tasks: int | None = None,
) -> State:
    """Count the rows of a data frame, in one pass and without a shuffle of rows.

    Parameters
    ----------
    df
        A data frame of a classic or a Connect session.
    metrics, actual, predicted, scores, weight, mask, by, null, threshold
        As for `streameval.Job.of`. With ``by``, the result is a `Sliced`; for very many values see `evaluate_by_key`.
    tasks
        Merge the states of the partitions in this many tasks before the driver merges the rest. Pays with thousands of
        partitions.

    Returns
    -------
    Evaluator, Metric or Sliced
        The bytes are those that one process would have written, however the rows are partitioned.

    Raises
    ------
    InputError, LabelError, MetricError
        If an argument or a column cannot be used. Columns that are missing or of a wrong type are found before the job
        starts.

    Examples
    --------
    >>> evaluate(df, "actual", "predicted", metrics=["f1_micro"]).get()  # doctest: +SKIP
    {'f1_micro': 0.8}
    """
    job = Job.of(
        metrics,
        actual=actual,
        predicted=predicted,
        scores=scores,
        weight=weight,
        mask=mask,
        by=by,
        null=null,
        threshold=threshold,
    )
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

    Raises
    ------
    InputError
        If ``tasks`` is not a positive integer.
    """
    if tasks is not None and (type(tasks) is not int or tasks < 1):
        raise InputError(f"tasks must be an integer of at least 1, not {quoted(tasks)}")

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        yield _row(job.state(batches))

    def merge(batches: Iterator[Any]) -> Iterator[Any]:
        yield _row(job.merged(state for batch in batches for state in batch.column("state").to_pylist()).to_bytes())

    made = mapped(df, job.columns.names, count, "state binary")
    # By their content, not in turn: a task that is tried again then sends each state to the same place.
    return made if tasks is None else made.repartition(tasks, "state").mapInArrow(merge, "state binary")


def merged(states: DataFrame, job: Job) -> State:
    """Run the job that a data frame of `states` describes, and merge them.

    Raises
    ------
    InputError, LabelError
        If a worker could not read its rows. The error of Spark with all its traces is the cause of this one.
    """
    with our_errors():
        rows = states.select("state").collect()
    return job.merged(bytes(row[0]) for row in rows)


def _row(state: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([state], pa.binary())], names=["state"])
