"""Ray: datasets are counted where they are, states of tasks are merged in a tree of tasks; states travel as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

from streameval import errors
from streameval.adapters.engine import check_job, raise_ours, require, tree
from streameval.errors import InputError, MergeError, StreamevalError
from streameval.evaluation.evaluator import Evaluator
from streameval.progressive.holder import read_state
from streameval.schema.text import quoted
from streameval.tabular.job import Job, JobOptions, Listed, Metrics, RowOptions, State

with require("ray"):
    import numpy as np
    import pyarrow as pa
    import ray
    import ray.data
    from ray.exceptions import RayTaskError

    from streameval.tabular.arrow import rows_of

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.data import Dataset

__all__ = ["evaluate", "merge"]


@overload
def evaluate(
    dataset: Dataset, actual: str, predicted: str | None = None, *, metrics: Listed = None, by: None = None,
    **options: Unpack[RowOptions],
) -> Evaluator: ...  # fmt: skip
@overload
def evaluate(
    dataset: Dataset, actual: str, predicted: str | None = None, *, metrics: Metrics = None,
    **options: Unpack[JobOptions],
) -> Any: ...  # fmt: skip
def evaluate(
    dataset: Dataset, actual: str, predicted: str | None = None, *, metrics: Metrics = None,
    **options: Unpack[JobOptions],
) -> State:  # fmt: skip
    """Count the rows of a dataset where they are: a state for each block, merged as they come.

    Ray's own progress bars show how far it is, and a block whose worker dies is counted again by another. The bytes of
    the result are those that one process would have written, however the rows are divided into blocks. Errors are those
    of `evaluate_table`; where Ray knows the columns before it reads rows, missing columns and wrong types are
    reported before the job starts.

    Parameters
    ----------
    dataset
        A dataset of Ray; it may be lazy, and larger than memory. Columns of tensors are rows in the order of the
        declared labels.
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the result is a `Sliced`.

    Examples
    --------
    >>> rows = [{"tags": ["cat"], "guess": ["cat"]}, {"tags": ["dog"], "guess": ["cat", "dog"]}]
    >>> evaluate(ray.data.from_items(rows), "tags", "guess", metrics=["f1_micro"]).get()
    {'f1_micro': 0.8}
    """
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    check_job(job)
    if not isinstance(dataset, ray.data.Dataset):
        raise InputError(f"dataset must be a ray.data.Dataset, not {quoted(dataset)}; ray.data.from_items makes one")
    schema = dataset.schema(fetch_if_missing=False)  # None if it is not known before rows are read
    if schema is not None:
        dataset = dataset.select_columns(job.columns.check_names(schema.names))
        if isinstance(schema.base_schema, pa.Schema):
            job.check(_plain(schema.base_schema.empty_table()))
    states = dataset.map_batches(partial(_counted, job), batch_format=None, batch_size=None, zero_copy_batch=True)
    return job.merged(_states(states))


def merge(states: Iterable[ObjectRef[bytes | State]]) -> State:
    """Merge what tasks have counted, where it is: only one state comes to the caller, and none is changed.

    Parameters
    ----------
    states
        References to states, in any order: what ``to_bytes()`` or ``Job.state`` gave, or the objects themselves.

    Raises
    ------
    MergeError
        If the configurations of the states differ.
    FormatError, InputError
        If there is no state, or an object is no state; and every error of this package that one of your tasks raised.

    Examples
    --------
    >>> import streameval as se
    >>> @ray.remote
    ... def shard(name):
    ...     ev = se.Evaluator(["f1_micro"])
    ...     ev.update({"cat"}, {name})
    ...     return ev.to_bytes()
    >>> merge([shard.remote(name) for name in ("cat", "dog")]).get()
    {'f1_micro': 0.5}
    """
    references = [states] if isinstance(states, ray.ObjectRef) or not isinstance(states, Iterable) else [*states]
    if not references:
        raise InputError("states is empty; give a reference to one state at least")
    for reference in references:
        if not isinstance(reference, ray.ObjectRef):
            raise InputError(f"states must hold references, not {quoted(reference)}; ray.put makes one")
    root = tree(ray.remote(_merged).remote, references)
    with raise_ours(RayTaskError, _cause):
        total: State = _merged(ray.get(root))
    return total


def _merged(*states: object) -> Any:
    """The sum of states as a new object, because all holders of a reference share its object."""
    total: Any = None
    for state in states:
        part: Any = read_state(state) if isinstance(state, bytes) else state
        if not all(hasattr(part, name) for name in ("to_bytes", "merge", "copy")):
            raise MergeError(f"cannot merge {quoted(state)}; return an Evaluator, or its to_bytes(), from each task")
        if total is None:
            total = part.copy()
        else:
            total.merge(part)
    return total


def _cause(error: Any) -> object:
    """The error that a task raised, without the wrappers that each waiting task has added."""
    while isinstance(error, RayTaskError):
        error = error.cause
    return error


def _states(dataset: Dataset) -> Iterator[bytes]:
    for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        for row in batch.to_pylist():
            if row["error"] is not None:
                raise getattr(errors, row["error"])(row["message"])
            yield row["state"]


def _counted(job: Job, block: Any) -> pa.Table:
    """The state of a block, or its error, as a row: Ray would bury the error in traces, or leave the block out."""
    state, error, message = b"", None, None
    try:
        state = job.state([_plain(block)])
    except StreamevalError as raised:
        error, message = type(raised).__name__, str(raised)
    strings = {"error": pa.array([error], pa.string()), "message": pa.array([message], pa.string())}
    return pa.table({"state": pa.array([state], pa.binary()), **strings})


def _plain(table: Any) -> Any:
    """The block with 1-D tensors as lists; or as a list of rows, if it has tensors of other shapes or of strings."""
    if not isinstance(table, pa.Table):  # a data frame of pandas
        wrapped = [name for name in table if type(table[name].dtype).__name__ == "TensorDtype"]
        return table.assign(**{name: [np.asarray(value) for value in table[name]] for name in wrapped})
    for place, field in enumerate(table.schema):
        if not isinstance(field.type, pa.ExtensionType):
            continue
        kind: Any = getattr(field.type.storage_type, "value_type", None)
        shape: tuple[int, ...] = getattr(field.type, "shape", ())
        if len(shape) != 1 or kind is None or pa.types.is_fixed_size_binary(kind):  # lists of any length, or of strings
            rows = rows_of(table)
            return [{name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in row.items()} for row in rows]
        storages = [chunk.storage.flatten() for chunk in table.column(place).chunks]
        lists = [pa.FixedSizeListArray.from_arrays(storage, shape[0]) for storage in storages]
        table = table.set_column(place, field.name, pa.chunked_array(lists, pa.list_(kind, shape[0])))
    return table
