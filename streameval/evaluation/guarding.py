"""How calls of one object follow each other, whichever threads they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeAlias, TypeVar

from streameval.kernel.backend import commit
from streameval.states.base import Part

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

Change: TypeAlias = tuple[Sequence[commit.Guard], Callable[[], list[Part]]]
"""What was read of the user's, as a change still to be made: the guards to hold, and what prepares it under these."""


def make(changes: Sequence[Change], parts: Iterable[Part] = ()) -> None:
    """Make all of several changes, or none of them; and commit parts of the caller's, who holds their guard."""
    guards, prepared = list[commit.Guard](), list(parts)
    for held, _ in changes:
        guards += held
    with guards[0] if len(guards) == 1 else commit.Guards(guards):
        for _, prepare in changes:
            prepared += prepare()
        commit.Root.commit(prepared)


def rehearse(changes: Sequence[Change]) -> None:
    """Raise what `make` would raise now."""
    with commit.Guards([guard for guards, _ in changes for guard in guards]):
        for _, prepare in changes:
            prepare()


def apart(change: Change, changes: Sequence[Change]) -> bool:
    """Whether a change can be made with others: it is of none of their objects, as it has to see what they make."""
    return not any(guard in guards for guards, _ in changes for guard in change[0])


def reads(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that sees one moment of the object, whose ``_guard`` it holds."""

    @wraps(method)
    def read(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard.reading:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return read


def changes(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that changes the object and runs no code of the user."""

    @wraps(method)
    def change(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return change


def combines(method: Callable[[S, S], R]) -> Callable[[S, S], R]:
    """A method that changes the object by another one, which may be the same; both are held."""

    @wraps(method)
    def combine(self: S, other: S) -> R:
        with commit.Guards((self._guard,), guards_of(other)):  # type: ignore[attr-defined]
            return method(self, other)

    return combine


def held(*holders: object) -> commit.Guards:
    """Surrounds what reads objects, of which nothing changes there."""
    return commit.Guards((), [guard for holder in holders for guard in guards_of(holder)])


def guards_of(holder: object) -> tuple[commit.Guard, ...]:
    """The guard of an object; none where it is anything else, which is for others to refuse."""
    guard = getattr(holder, "_guard", None)
    return (guard,) if isinstance(guard, commit.Guard) else ()


class Turns(Iterator[R]):
    """An iterator that several threads may share: each item is made for one of them, while the others wait.

    ``holder`` is what making an item changes. A handler that interrupts its thread in a call of that gets no item.
    """

    def __init__(self, items: Iterator[R], holder: object) -> None:
        self._items, self._changed, self._guard = items, guards_of(holder), commit.Guard()

    def __next__(self) -> R:
        with commit.Guards(self._changed):  # which is refused before the iterator has begun, and would be at its end
            pass
        with self._guard:
            return next(self._items)
