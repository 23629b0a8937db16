"""States that tasks have made, merged in a tree of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayTaskError

from streameval.errors import InputError, MergeError, StreamevalError
from streameval.schema.text import quoted
from streameval.tabular.job import State
from streameval.windows.loading import restored

if TYPE_CHECKING:
    from ray import ObjectRef

__all__ = ["merge"]


def merge(states: Iterable[ObjectRef[bytes | State]], *, at_once: int = 16) -> State:
    """Merge what tasks have counted, where it is: only one state comes to the caller.

    Parameters
    ----------
    states
        References to states: what ``to_bytes()`` or ``Job.state`` gave, or the objects themselves. In any order.
    at_once
        How many states a task merges.

    Returns
    -------
    Evaluator, Metric or Sliced
        The bytes are those that one process would have written. What the references lead to stays as it is.

    Raises
    ------
    MergeError
        If the states do not fit together.
    FormatError, InputError
        If there is no state, or something is none; what a task of yours raised on purpose as an error of this package.

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
    if type(at_once) is not int or at_once < 2:
        raise InputError(f"at_once must be an integer of at least 2, not {quoted(at_once)}")
    if isinstance(states, ray.ObjectRef) or not isinstance(states, Iterable):
        raise InputError(f"states must be a list of references, not {quoted(states)}")
    level = list(states)
    if not level:
        raise InputError("states is empty; give a reference to one state at least")
    for ref in level:
        if not isinstance(ref, ray.ObjectRef):
            raise InputError(f"states must hold references, not {quoted(ref)}; ray.put makes one")
    task = ray.remote(_merged)
    while True:
        level = [task.remote(*level[start : start + at_once]) for start in range(0, len(level), at_once)]
        if len(level) == 1:
            with _our_errors():
                total: State = _state_of(ray.get(level[0]))
                return total


def _merged(*states: object) -> bytes:
    total: Any = None
    for state in states:
        part = _state_of(state)
        if total is None:
            # What a reference leads to is shared by all who hold it.
            total = part if isinstance(state, bytes) else part.copy()
        else:
            total.merge(part)
    made: bytes = total.to_bytes()
    return made


def _state_of(state: object) -> Any:
    if isinstance(state, bytes):
        return restored(state)
    if hasattr(state, "to_bytes") and hasattr(state, "merge") and hasattr(state, "copy"):
        return state
    raise MergeError(f"cannot merge {quoted(state)}; return an Evaluator, or its to_bytes(), from each task")


@contextmanager
def _our_errors() -> Iterator[None]:
    """Raise errors of ours that workers raised as what they were, without the traces of Ray in the message."""
    try:
        yield
    except RayTaskError as error:
        cause: Any = error
        while isinstance(cause, RayTaskError):  # one for each task that another one waited for
            cause = cause.cause
        if not isinstance(cause, StreamevalError):
            raise
        raise type(cause)(*cause.args) from error
