"""Fresh, compared and summed states of any class with one configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from streameval.delivery.encoding import SavedSum
from streameval.delivery.states import KINDS, AnyState
from streameval.errors import InputError, MergeError
from streameval.evaluation.counting import Accumulator
from streameval.schema.text import quoted
from streameval.windows.base import Window

StateT = TypeVar("StateT", bound=AnyState)


def check_class(state: object, name: str) -> None:
    """Raise unless this is one of our states; ``name`` is who asks."""
    if isinstance(state, type):
        raise InputError(f"{name} takes an object, not the class {state.__name__}; write {state.__name__}()")
    if not isinstance(state, KINDS):
        raise InputError(f"{name} takes an Evaluator, a metric such as F1(), a Sliced or a window, not {quoted(state)}")


def fresh_like(state: AnyState, name: str) -> AnyState:
    """A state with the same configuration that has counted nothing; ``name`` is who asks."""
    check_class(state, name)
    fresh = state.copy()
    fresh.reset()
    return fresh


def check_has_merge(fresh: AnyState) -> None:
    """Raise `MergeError` if states of this class cannot be merged."""
    add(fresh.copy(), fresh)


def check_compatible(fresh: AnyState, state: AnyState, context: str) -> None:
    """Raise `MergeError` unless a state is built like an empty one."""
    if type(state) is not type(fresh):
        names = f"{type(fresh).__name__} and {type(state).__name__}"
        raise MergeError(f"{context}: {names} differ; use objects of one class")
    try:
        if isinstance(state, Window) and isinstance(fresh, Window):
            fresh._check_compatible(state)  # since not every window merges, and its reason does not matter
            return
        if isinstance(state, Accumulator) and isinstance(fresh, Accumulator):
            if state._config == fresh._config and state._specs == fresh._specs:
                return
        elif fresh_like(state, context).to_bytes() == fresh.to_bytes():
            return
        add(fresh.copy(), fresh_like(state, context))
    except MergeError as error:
        raise MergeError(f"{context}: {str(error).removeprefix('cannot merge: ')}") from None
    raise MergeError(f"{context}: their configurations differ; construct all with the same configuration")


def add(state: AnyState, other: AnyState) -> None:
    """Merge two states of one class."""
    cast("Any", state).merge(other)


def summed(parts: Iterable[tuple[AnyState, SavedSum]]) -> AnyState:
    """The sum of states, which are used up. Each is added to one of about its size, or many labels would cost much."""
    waiting: list[tuple[int, AnyState]] = []
    for state, part in parts:
        size, whole = 1, state
        while waiting and waiting[-1][0] <= size:
            more, before = waiting.pop()
            _add_one_of(before, whole, part)
            size, whole = size + more, before
        waiting.append((size, whole))
    while len(waiting) > 1:
        (_, last), (size, before) = waiting.pop(), waiting.pop()
        add(before, last)
        waiting.append((size, before))
    return waiting[0][1]


def _add_one_of(state: AnyState, other: AnyState, part: SavedSum) -> None:
    try:
        add(state, other)
    except MergeError as error:
        raise MergeError(f"shard {next(iter(part.shards))!r} does not fit to the rest: {error}") from None
