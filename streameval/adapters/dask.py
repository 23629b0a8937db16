"""Dask: bags, data frames, delayed objects and arrays, counted where they are; states travel as bytes."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias, Unpack, overload

from streameval.adapters.engine import check_job, raise_ours, require, tree
from streameval.errors import InputError, StreamevalError, naming
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.config import Threshold
from streameval.schema.text import quoted
from streameval.tabular.job import Job, JobOptions, Listed, Metrics, RowOptions, State

with require("dask"):
    import dask
    from dask.base import get_scheduler
    from dask.delayed import Delayed
    from dask.diagnostics import ProgressBar

    from streameval.tabular.evaluate import count_rows
    from streameval.tabular.rows import blocks_of, is_table
    from streameval.tabular.sources import are_paths, check_distinct, files_of

__all__ = ["evaluate", "evaluate_arrays", "state"]

Scheduler: TypeAlias = str | Callable[..., Any] | None


@overload
def evaluate(
    collection: object, actual: str, predicted: str | None = None, *, metrics: Listed = None,
    scheduler: Scheduler = None, progress: bool = False, by: None = None, **options: Unpack[RowOptions],
) -> Evaluator: ...  # fmt: skip
@overload
def evaluate(
    collection: object, actual: str, predicted: str | None = None, *, metrics: Metrics = None,
    scheduler: Scheduler = None, progress: bool = False, **options: Unpack[JobOptions],
) -> Any: ...  # fmt: skip
def evaluate(
    collection: object, actual: str, predicted: str | None = None, *, metrics: Metrics = None,
    scheduler: Scheduler = None, progress: bool = False, **options: Unpack[JobOptions],
) -> State:  # fmt: skip
    """Count the rows of a collection where they are: a state for each partition, merged in a tree.

    The bytes of the result are those that one process would have written, however the rows are partitioned. Errors are
    those of `evaluate_table`; columns of a data frame that are missing or mistyped are reported before anything is
    computed.

    Parameters
    ----------
    collection
        A data frame of Dask; a bag of rows, or of tables; a delayed object, or a list of them, each a table or rows. A
        row is a mapping, or has the columns as attributes; a table is one of Arrow, or a data frame. Or paths, a folder
        or a pattern such as ``"predictions/*.parquet"``, of files that every worker can reach: the fastest way.
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the result is a `Sliced`.
    scheduler
        As for ``compute``; without it, Dask's own choice for the collection: the distributed client if there is one.
    progress
        Whether to show a progress bar.

    Examples
    --------
    >>> import dask.bag as db
    >>> rows = [{"tags": {"cat"}, "guess": {"cat"}}, {"tags": {"dog"}, "guess": {"cat", "dog"}}]
    >>> bag = db.from_sequence(rows, npartitions=2)
    >>> evaluate(bag, "tags", "guess", metrics=["f1_micro"], scheduler="threads").get()
    {'f1_micro': 0.8}
    """
    job = Job.of(metrics, actual=actual, predicted=predicted, **options)
    root = state(collection, job)
    return _run(job, root, collection if dask.is_dask_collection(collection) else root, scheduler, progress)


def state(collection: object, job: Job) -> Delayed:
    """The state of a collection, as a delayed object that computes to bytes, to go into a larger computation.

    Parameters
    ----------
    collection
        As for `evaluate`; so are errors.
    job
        What to count, and how; ``job.merged([the bytes])`` is the result.

    Examples
    --------
    >>> import streameval as se
    >>> from streameval.tabular.job import Job
    >>> job = Job.of(["f1_micro"], actual="tags", predicted="guess")
    >>> monday, tuesday = [dask.delayed([{"tags": ["cat"], "guess": [guess]}]) for guess in ("cat", "dog")]
    >>> both = dask.delayed([state(monday, job), state(tuesday, job)])
    >>> job.merged(both.compute()).get()
    {'f1_micro': 0.5}
    """
    check_job(job)
    function, parts = _tasks(collection, job)
    count = dask.delayed(partial(function, job), name="streameval-count", traverse=False)
    return _merged(job, [count(place, part) for place, part in enumerate(parts)])


@overload
def evaluate_arrays(
    y_true: object, y_pred: object, *, weights: object = None, mask: object = None, where: None = None,
    metrics: Listed = None, threshold: Threshold = None, scheduler: Scheduler = None, progress: bool = False,
) -> Evaluator: ...  # fmt: skip
@overload
def evaluate_arrays(
    y_true: object, y_pred: object, *, weights: object = None, mask: object = None,
    where: Mapping[str, object] | None = None, metrics: Metrics = None, threshold: Threshold = None,
    scheduler: Scheduler = None, progress: bool = False,
) -> Any: ...  # fmt: skip
def evaluate_arrays(
    y_true: object, y_pred: object, *, weights: object = None, mask: object = None,
    where: Mapping[str, object] | None = None, metrics: Metrics = None, threshold: Threshold = None,
    scheduler: Scheduler = None, progress: bool = False,
) -> State:  # fmt: skip
    """Count the rows of arrays, chunk by chunk; the chunks have no influence on the bytes of the result.

    Errors are those of `evaluate_table`, and `InputError` where the arrays do not go together.

    Parameters
    ----------
    y_true, y_pred, mask
        2-D arrays of Dask, examples x labels, whose chunks are of numpy or scipy.sparse. They have equal chunks along
        examples, as ``y_true`` is; chunks along labels are joined, since an example is counted as a whole.
    weights
        A 1-D array of Dask.
    where
        For each name to slice by, a 1-D array of Dask with the value of each example; the result is a `Sliced`.
    metrics, threshold
        As for `streameval.tabular.job.Job.of`; labels are numbered unless ``metrics`` is an object that declares them.
    scheduler, progress
        As for `evaluate`.

    Examples
    --------
    >>> import dask.array as da
    >>> y_true = da.from_array([[1, 0], [1, 1], [0, 1]], chunks=(2, 1))
    >>> evaluate_arrays(y_true, y_true[:, ::-1], metrics=["f1_micro"]).get()
    {'f1_micro': 0.5}
    """
    if where is not None and not isinstance(where, Mapping):
        raise InputError(
            f"where must be a mapping of names to arrays, such as {{'region': regions}}, not {quoted(where)}"
        )
    by = None if where is None else list(where)
    job = Job.of(metrics, actual="y_true", predicted="y_pred", by=by, threshold=threshold)
    if job.columns.by and set(job.columns.by) != set(where or ()):
        raise InputError(f"slices are by {quoted(job.columns.by)}, so where must have an array for each of these names")
    optional = {"weights": weights, "mask": mask}
    arguments = {"y_true": y_true, "y_pred": y_pred} | {name: a for name, a in optional.items() if a is not None}
    slicing = {f"where[{name!r}]": (where or {})[name] for name in job.columns.by}
    blocks = _blocks({**arguments, **slicing})
    count = dask.delayed(partial(_counted_blocks, job, tuple(arguments)), name="streameval-count", traverse=False)
    root = _merged(job, [count(place, *row) for place, row in enumerate(zip(*blocks, strict=True))])
    return _run(job, root, y_true, scheduler, progress)


def _merged(job: Job, states: Sequence[Delayed]) -> Delayed:
    """A delayed state, as bytes, that merges many."""

    def merge(*states: bytes) -> bytes:
        return job.merged(states).to_bytes()

    return tree(dask.delayed(merge, name="streameval-merge", traverse=False), states)


def _run(job: Job, root: Delayed, collection: Any, scheduler: Scheduler, progress: bool) -> State:
    """Compute a delayed state by ``scheduler``, or by the one that Dask would use for the collection."""
    if not isinstance(progress, bool):
        raise InputError(f"progress must be True or False, not {quoted(progress)}")
    chosen = get_scheduler(scheduler=scheduler, collections=[collection])
    client: Any = getattr(chosen, "__self__", None)
    with raise_ours(StreamevalError, lambda error: getattr(error, "exception", None)):  # distributed wraps it
        if progress and hasattr(client, "submit"):
            with require("dask"):
                import distributed
            future = client.compute(root)
            distributed.progress(future, notebook=False, scheduler=client.scheduler.address)
            return job.merged([future.result()])
        with ProgressBar(out=sys.stderr) if progress else nullcontext():
            return job.merged([root.compute(scheduler=chosen)])


def _tasks(collection: Any, job: Job) -> tuple[Callable[..., bytes], Sequence[Any]]:
    """A function that counts a part of a collection, and the parts: files, or delayed tables and rows."""
    paths = [collection] if isinstance(collection, str | os.PathLike) else collection
    if are_paths(paths):
        files = [file for path in paths for file in files_of(path)]
        check_distinct(files)
        return _read, [str(file.absolute()) for file in files]
    parts = [collection] if isinstance(collection, Delayed) else collection
    if isinstance(parts, list | tuple) and all(isinstance(part, Delayed) for part in parts):
        return _counted, parts
    if dask.is_dask_collection(collection) and hasattr(collection, "map_partitions"):
        if hasattr(collection, "columns"):
            return _counted, _checked(collection, job).to_delayed()
        if hasattr(collection, "to_delayed") and not hasattr(collection, "dtype"):  # a bag
            return _counted, collection.to_delayed()
    hint = "; for arrays see evaluate_arrays" if hasattr(collection, "chunks") else ""
    raise InputError(f"collection must be a data frame, a bag or delayed objects, not {quoted(collection)}{hint}")


def _checked(frame: Any, job: Job) -> Any:
    """A data frame of the columns to read; `InputError` if one is missing or mistyped. Computes nothing."""
    frame = frame[job.columns.check_names(frame.columns)]
    try:
        job.check(frame._meta)
    except InputError as error:
        if "holds strings" not in str(error):
            raise
        setting = "dask.config.set({'dataframe.convert-string': False})"
        raise InputError(f"{error}; if they were lists, call {setting} before you make the frame") from None
    return frame


def _read(job: Job, _place: int, file: str) -> bytes:
    return count_rows(job, file).to_bytes()


def _counted(job: Job, place: int, part: Any) -> bytes:
    single = is_table(part) or isinstance(part, Mapping) or not isinstance(part, Iterable)
    with naming(f"partition {place}"):
        return job.state(blocks_of([part] if single else part))


def _blocks(arrays: Mapping[str, Any]) -> list[list[Any]]:
    """The blocks of each array, as delayed objects, chunked only along examples, with equal chunks."""
    first: tuple[float, ...] = ()
    blocks = []
    for name, array in arrays.items():
        wide = name in ("y_true", "y_pred", "mask")
        if not (dask.is_dask_collection(array) and hasattr(array, "chunks")):
            raise InputError(f"{name} must be an array of Dask, not {quoted(array)}; dask.array.from_array makes one")
        if array.ndim != (2 if wide else 1):
            expected = "2-D, examples x labels" if wide else "1-D, a value for each example"
            raise InputError(f"{name} must be {expected}, but its shape is {array.shape}")
        if wide and len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        first, own = first or array.chunks[0], array.chunks[0]
        # Unknown lengths are NaN; ``update_many`` compares them when they are known.
        if len(own) != len(first) or any(a != b and not math.isnan(a + b) for a, b in zip(own, first, strict=True)):
            if sum(own) != sum(first):  # true also if a length is unknown
                raise InputError(
                    f"y_true has the chunks {quoted(first)} and {name} {quoted(own)} along examples; give arrays of "
                    "one length, and compute_chunk_sizes() where they are unknown"
                )
            array = array.rechunk({0: first})
        blocks.append(list(array.to_delayed().ravel()))
    return blocks


def _counted_blocks(job: Job, names: tuple[str, ...], place: int, *blocks: Any) -> bytes:
    state = job.fresh()
    arguments = dict(zip(names, blocks[: len(names)], strict=True))
    if job.columns.by:
        arguments["where"] = dict(zip(job.columns.by, blocks[len(names) :], strict=True))
    with naming(f"chunk {place} along examples"):
        state.update_many(**arguments)
    return state.to_bytes()
