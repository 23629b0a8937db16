"""Datasets of Ray."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import ray.data

from streameval import errors
from streameval.errors import InputError, StreamevalError
from streameval.evaluation.evaluator import MetricLike
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.tabular.columns import Null
from streameval.tabular.job import Job, State

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["evaluate"]


def evaluate(
    dataset: Dataset,
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
) -> State:
    """Count the rows of a dataset where they are: a state for each block, merged as they come.

    Ray's own progress bars show how far it is, and a block whose worker dies is counted again by another.

    Parameters
    ----------
    dataset
        A dataset of Ray; it may be lazy, and larger than memory. Columns of tensors are rows in the order of the
        declared labels.
    metrics, actual, predicted, scores, weight, mask, by, null, threshold
        As for `streameval.Job.of`. With ``by``, the result is a `Sliced`.

    Returns
    -------
    Evaluator, Metric or Sliced
        The bytes are those that one process would have written, however the rows are divided into blocks.

    Raises
    ------
    InputError, LabelError, MetricError
        If an argument or a column cannot be used. Where Ray knows the columns before it reads rows, missing columns and
        wrong types are found before the job starts.

    Examples
    --------
    >>> rows = [{"tags": ["cat"], "guess": ["cat"]}, {"tags": ["dog"], "guess": ["cat", "dog"]}]
    >>> evaluate(ray.data.from_items(rows), "tags", "guess", metrics=["f1_micro"]).get()
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
    if not isinstance(dataset, ray.data.Dataset):
        raise InputError(f"dataset must be a ray.data.Dataset, not {quoted(dataset)}; ray.data.from_items makes one")
    known = _check(dataset, job)
    part = dataset.select_columns(list(job.columns.names)) if known else dataset
    states = part.map_batches(partial(_counted, job), batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    return job.merged(_states(states))


def _states(dataset: Dataset) -> Iterator[bytes]:
    for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        for row in batch.to_pylist():
            if row["error"] is not None:
                raise getattr(errors, row["error"])(row["told"])
            yield row["state"]


def _check(dataset: Dataset, job: Job) -> bool:
    """Whether the columns are known, all of which can be used then. Reads no rows."""
    schema = dataset.schema(fetch_if_missing=False)
    if schema is None:
        return False
    if isinstance(schema.base_schema, pa.Schema):
        job.check(_plain(schema.base_schema.empty_table()))
    else:
        job.columns.check_names(schema.names)
    return True


def _counted(job: Job, block: pa.Table) -> pa.Table:
    """The state of a block, or an error of ours, as a row: Ray would tell of traces, or leave the block out."""
    state, error, told = b"", None, None
    try:
        state = job.state([_plain(block)])
    except StreamevalError as raised:
        error, told = type(raised).__name__, str(raised)
    texts = {"error": pa.array([error], pa.string()), "told": pa.array([told], pa.string())}
    return pa.table({"state": pa.array([state], pa.binary()), **texts})


def _plain(table: pa.Table) -> pa.Table:
    """The table with tensors of one dimension, which Ray makes of arrays, as lists of their length."""
    for place, field in enumerate(table.schema):
        shape = getattr(field.type, "shape", None)
        if isinstance(field.type, pa.ExtensionType) and shape is not None and len(shape) == 1:
            kind = pa.list_(field.type.storage_type.value_type, shape[0])
            storages = [chunk.storage.flatten() for chunk in table.column(place).chunks]
            lists = [pa.FixedSizeListArray.from_arrays(storage, shape[0]) for storage in storages]
            table = table.set_column(place, field.name, pa.chunked_array(lists, kind))
    return table
