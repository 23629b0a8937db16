"""A tree of tasks that merges states, and how it is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import dask
from dask.base import get_scheduler

from streameval.errors import DependencyError, InputError, StreamevalError
from streameval.schema.text import quoted
from streameval.tabular.job import Job, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dask.delayed import Delayed

__all__ = ["merged", "run"]

Scheduler = str | Callable[..., Any] | None


def merged(job: Job, states: Sequence[Delayed], split_every: int) -> Delayed:
    """One delayed state, bytes, of many: merged so many at a time, so that no task waits for all of them."""
    if type(split_every) is not int or split_every < 2:
        raise InputError(f"split_every must be an integer of at least 2, not {quoted(split_every)}")
    merge = dask.delayed(partial(_merge, job), name="streameval-merge", traverse=False)
    level = list(states)
    while len(level) != 1:
        level = [merge(*level[start : start + split_every]) for start in range(0, len(level) or 1, split_every)]
    return level[0]


def _merge(job: Job, *states: bytes) -> bytes:
    return job.merged(states).to_bytes()


def run(job: Job, root: Delayed, collection: Any, scheduler: Scheduler, progress: bool) -> State:
    """Compute a delayed state, by the scheduler that Dask would use for the collection unless told otherwise."""
    if not isinstance(progress, bool):
        raise InputError(f"progress must be True or False, not {quoted(progress)}")
    chosen = get_scheduler(scheduler=scheduler, collections=[collection])
    client: Any = getattr(chosen, "__self__", None)
    with _our_errors():
        if progress and hasattr(client, "submit"):
            future = client.compute(root)
            _distributed().progress(future, notebook=False, scheduler=client.scheduler.address)
            return job.merged([future.result()])
        if progress:
            from dask.diagnostics import ProgressBar

            with ProgressBar(out=sys.stderr):
                return job.merged([root.compute(scheduler=chosen)])
        return job.merged([root.compute(scheduler=chosen)])


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise DependencyError("this scheduler needs distributed; pip install 'dask[distributed]'") from error
    return distributed


@contextmanager
def _our_errors() -> Iterator[None]:
    """Raise what a worker of another process raised without the traces that Dask writes into the message."""
    try:
        yield
    except StreamevalError as error:
        inner = getattr(error, "exception", None)
        if not isinstance(inner, StreamevalError):
            raise
        raise type(inner)(*inner.args) from error
