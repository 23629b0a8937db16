"""Data frames, bags and delayed objects of Dask, and files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias, Unpack

import dask
from dask.base import get_scheduler
from dask.delayed import Delayed
from dask.diagnostics import ProgressBar

from streameval.adapters.engine import raise_ours, require, tree
from streameval.errors import InputError, StreamevalError
from streameval.schema.text import check_number, quoted
from streameval.tabular.evaluate import count_rows
from streameval.tabular.job import Job, JobOptions, Metrics, State
from streameval.tabular.rows import blocks_of, is_table
from streameval.tabular.sources import are_paths, matches_of

Scheduler: TypeAlias = str | Callable[..., Any] | None


def evaluate(
    collection: object,
    actual: str,
    predicted: str | None = None,
    *,
    metrics: Metrics = None,
    split_every: int = 16,
    scheduler: Scheduler = None,
    progress: bool = False,
    **options: Unpack[JobOptions],
) -> State:
    """Count the rows of a collection where they are: a state for each partition, merged in a tree.

    The bytes of the result are those that one process would have written, however the rows are partitioned. Errors are
    those of `evaluate_table`; columns of a data frame that are missing or mistyped are reported before anything is
    computed.

    Parameters
    ----------
    collection
        A data frame of Dask; a bag of rows, or of tables; a delayed object, or a list of them, each a table or rows. A
        row is a mapping, or has the columns as attributes; a table is one of Arrow, or a data frame. Or paths, or a
        pattern such as ``"predictions/*.parquet"``, of files that every worker can reach: the fastest way.
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the result is a `Sliced`.
    split_every
        How many states a task merges.
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
    root = state(collection, job, split_every=split_every)
    return run(job, root, collection if dask.is_dask_collection(collection) else root, scheduler, progress)


def state(collection: object, job: Job, *, split_every: int = 16) -> Delayed:
    """The state of a collection, as a delayed object that computes to bytes, to go into a larger computation.

    Parameters
    ----------
    collection, split_every
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
    function, parts = _tasks(collection, job)
    count = dask.delayed(partial(function, job), name="streameval-count", traverse=False)
    return merged(job, [count(part) for part in parts], split_every)


def merged(job: Job, states: Sequence[Delayed], split_every: int) -> Delayed:
    """One delayed state, bytes, of many."""
    check_number("split_every", split_every, 2)

    def merge(*states: bytes) -> bytes:
        return job.merged(states).to_bytes()

    return tree(dask.delayed(merge, name="streameval-merge", traverse=False), states, split_every)


def run(job: Job, root: Delayed, collection: Any, scheduler: Scheduler, progress: bool) -> State:
    """Compute a delayed state, by the scheduler that is configured or that Dask would use for the collection."""
    if not isinstance(progress, bool):
        raise InputError(f"progress must be True or False, not {quoted(progress)}")
    chosen = get_scheduler(scheduler=scheduler, collections=[collection])
    client: Any = getattr(chosen, "__self__", None)
    with raise_ours(StreamevalError, lambda error: getattr(error, "exception", None)):  # with traces in the message
        if progress and hasattr(client, "submit"):
            with require("dask"):
                import distributed
            future = client.compute(root)
            distributed.progress(future, notebook=False, scheduler=client.scheduler.address)
            return job.merged([future.result()])
        with ProgressBar(out=sys.stderr) if progress else nullcontext():
            return job.merged([root.compute(scheduler=chosen)])


def _tasks(collection: Any, job: Job) -> tuple[Callable[..., bytes], Sequence[Any]]:
    """What counts a part, and the parts: files, or delayed tables and rows."""
    paths = [collection] if isinstance(collection, str | os.PathLike) else collection
    if are_paths(paths):
        files = [match for path in paths for match in matches_of(path)]
        for file in files:
            if not file.is_file():
                raise InputError(f"{quoted(str(file), 300)} is a folder; give a pattern or paths of files")
        return _read, [str(file.absolute()) for file in files]
    parts = [collection] if isinstance(collection, Delayed) else collection
    if isinstance(parts, list | tuple) and all(isinstance(part, Delayed) for part in parts):
        return _counted, parts
    if dask.is_dask_collection(collection) and hasattr(collection, "map_partitions"):
        if hasattr(collection, "columns"):
            _check(collection, job)
            return _counted, collection[list(job.columns.names)].to_delayed()
        if hasattr(collection, "to_delayed") and not hasattr(collection, "dtype"):  # a bag
            return _counted, collection.to_delayed()
    hint = "; for arrays see evaluate_arrays" if hasattr(collection, "chunks") else ""
    raise InputError(f"collection must be a data frame, a bag or delayed objects, not {quoted(collection)}{hint}")


def _check(frame: Any, job: Job) -> None:
    """Raise `InputError` if a column is not there, or of a type that cannot be read. Computes nothing."""
    columns = job.columns
    columns.check_names(frame.columns)
    for name, role in columns.roles:
        kind = frame.dtypes[name]
        if role not in ("by", "weight") and str(kind).startswith(("string", "large_string", "str")):
            setting = "dask.config.set({'dataframe.convert-string': False})"
            raise InputError(f"column {name!r} holds {kind}, not lists; before you make frames of lists call {setting}")
    job.check(frame._meta[list(columns.names)])


def _read(job: Job, file: str) -> bytes:
    return count_rows(job, file).to_bytes()


def _counted(job: Job, part: Any) -> bytes:
    state = job.fresh()
    for batch in blocks_of([part] if is_table(part) or isinstance(part, Mapping) else part):
        job.add(state, batch)
    return state.to_bytes()
