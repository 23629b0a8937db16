"""Guards, which order the calls of one object that come from any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, Never, ParamSpec, TypeAlias, TypeVar

from streameval.errors import warning_first
from streameval.evaluation.core import core_of
from streameval.kernel.backend import commit
from streameval.schema.config import Weight
from streameval.schema.input_notes import notes_of
from streameval.schema.keywords import ATTRIBUTES, CallT
from streameval.states.base import Part

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")

Change: TypeAlias = tuple[Any, Callable[..., list[Part]], tuple[Any, ...]]
"""A change that is still to be made: the object, a function that prepares it under the guards, and its arguments."""


class Guarded:
    """What objects that count, and holders of these, use of each other; of evaluators and metrics also the `Core`."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in ATTRIBUTES or hasattr(self, name)]

    _guard: commit.Guard
    """Held by every call while it reads or changes the object; the parts of the object share it."""
    _inner_guards: Sequence[commit.Guard] = ()
    """The guards of the objects that it counts with."""
    _change: Callable[..., Change]
    """Read the arguments of ``update``, which may run code of the user; returns the change that is still to be made."""
    _prepare_plain: Callable[[object, object, Weight, object], list[Part] | None]
    """Prepare an example directly from the user's arguments, if that runs no code of the user; the guard is held."""

    def _current(self) -> Any:
        """The evaluator or metric from which values are read; it must not be changed."""
        return self

    def _counters(self) -> Iterable[Any] | None:
        """The evaluators or metrics that together hold all examples of the object; None if nothing needs them."""
        return None

    def _renew(self) -> None:
        """Rebuild without the labels that no example mentions."""
        for part in self._counters() or ():
            part._renew()

    def _look(self) -> None:
        """Issue the warnings that are due when a value is read."""


def absent(name: str, advice: str) -> property:
    """An absent attribute that users of other libraries expect; a property, as ``__getattr__`` slows every method."""

    def get(self: object) -> Never:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; {advice}")

    return property(get, doc=f"Absent: {advice}.")


for _name, _advice in ATTRIBUTES.items():
    setattr(Guarded, _name, absent(_name, _advice))


def look_at(counts: Any) -> Any:
    """Return the argument, after the warnings that are due when it is read, if it is an object that counts."""
    if isinstance(counts, Guarded):
        counts._look()
    return counts


def make(changes: Sequence[Change], parts: Iterable[Part] = ()) -> None:
    """Make all changes or none, and commit ``parts`` with them, whose guard the caller holds."""
    warning_first(_make, changes, [*parts])


def _make(changes: Sequence[Change], parts: list[Part]) -> None:
    with commit.Guards([guard for one, _, _ in changes for guard in guards_of(one)]):
        commit.Root.commit(parts + [part for _, prepare, what in changes for part in prepare(*what)])


def make_read(change: Change) -> None:
    """Make a change of one example, whose first argument is a `Reading`."""
    one, prepare, what = change
    labels = what[0][0]
    with one._guard:
        if len(labels.labels) <= labels.check_beyond:
            commit.Root.commit(prepare(*what))
            return
    make([change])  # this way, because warnings may be issued


def reads(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method hold the ``_guard`` of its object for reading, so that it sees one moment."""

    @wraps(method)
    def read(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard.reading:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return read


def answers(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """As `reads`, for methods that users call: they first issue the warnings about the input that are due."""

    @wraps(method)
    def answer(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        self._look()  # type: ignore[attr-defined]
        with self._guard.reading:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return answer


def changes(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Let a method hold the guard for a change; it must run no code of the user, and change all or nothing."""

    def guarded(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return _first(method, guarded)


def combines(method: CallT) -> CallT:
    """As `changes`, for methods that change the object by another one, or by itself; the guards of both are held."""
    merges = method.__name__ != "unmerge"

    def guarded(self: Any, other: Any) -> Any:
        guard, guards = self._guard, guards_of(other)
        forget_gone(self, reading=False)
        with commit.Guards((guard,), guards):
            mine, theirs = guard.notes, guards[0].notes if guards else None
            alike = mine and theirs and mine.forms == theirs.forms and not mine.forms.unsure  # as usual
            counts = merges and mine is not theirs and not alike and not is_gone(other)
            is_fresh = counts and mine is None and is_gone(self)  # not loaded, since labels show their form then
            # If neither has noted the form of its labels, neither has read an example or is reading one.
            known = counts and any(notes and notes.forms.strings is not None for notes in (mine, theirs))
            if known and type(other) is type(self):  # otherwise the method refuses ``other``
                _note_strings(other)
                _note_strings(self)
                guard.notes.check_merge(guards[0].notes)  # raises if the two read their input differently
            result = method(self, other)
            if is_fresh and theirs is not None:
                guard.notes = theirs.copy()
            elif known:
                guard.notes.merge(guards[0].notes)
            return result

    return _first(method, guarded)  # type: ignore[return-value]  # with the names of its parameters


def _first(method: Callable[Q, R], guarded: Callable[Q, R]) -> Callable[Q, R]:
    @wraps(method)
    def change(*args: Q.args, **keywords: Q.kwargs) -> R:
        return warning_first(guarded, *args, **keywords)

    return change


def copied(guard: commit.Guard) -> commit.Guard:
    """A guard for a copy of an object, with a copy of its notes about the input."""
    result = commit.Guard()
    result.notes = None if guard.notes is None else guard.notes.copy()
    return result


def prepare_forget(guard: commit.Guard) -> list[Part]:
    """Prepare to clear the notes of an object that is reset, except for the warnings it has issued."""
    return [] if guard.notes is None else guard.notes.prepare_forget()


def is_gone(holder: Any) -> bool:
    """Whether an object has no examples, or has none left."""
    if not isinstance(holder, Guarded):
        return False
    with holder._guard.reading:  # because slices may be added
        counters = holder._counters()
        return counters is not None and not any(part.examples for part in counters)


def _note_strings(holder: Any) -> None:
    """Note whether labels are strings, in any part, because another part may read the next example."""
    notes = notes_of(holder._guard)
    if not notes.forms.strings and (notes.forms.strings is None or notes.forms.unsure):
        notes.change(strings=any(core_of(part).has_strings() for part in holder._counters()))


def forget_gone(holder: Any, examples: int = 0, *, reading: bool = True) -> bool:
    """Clear the notes of an object that has no examples left, because equal objects must accept the same input.

    ``examples`` is a number of examples that it has for sure. Returns whether the core may have been replaced.
    Labels of examples that are gone, or that only failed calls mentioned, lose their columns: with these, the fast path
    would count strings without comparing them with the other labels, or would be off because of a label limit.
    Before ``reading`` an example, it also notes whether labels are strings, if a load or merge has left this open.
    """
    guard, notes = holder._guard, holder._guard.notes
    if reading and (notes is None or notes.forms.strings is None):
        with guard.reading:
            _note_strings(holder)
    if notes is None or not (notes.forms.unsure or (not examples and is_gone(holder))):
        return False
    with guard:
        if is_gone(holder):
            notes.change(width=None, strings=False, unsure=False)
        holder._renew()
        _note_strings(holder)
        notes.change(unsure=False)
    return True


def held(*holders: object) -> commit.Guards:
    """A context for reading objects, in which none of them changes."""
    return commit.Guards((), [guard for holder in holders for guard in guards_of(holder)])


def guards_of(holder: object) -> tuple[commit.Guard, ...]:
    """The guards of an object and of the objects it counts with; none for anything else, which is refused later."""
    guard = getattr(holder, "_guard", None)
    return (guard, *getattr(holder, "_inner_guards", ())) if isinstance(guard, commit.Guard) else ()


class Turns(Iterator[R]):
    """An iterator that threads may share: each item goes to one of them; making an item changes ``holder``."""

    def __init__(self, items: Iterator[R], holder: object) -> None:
        self._items, self._changed, self._guard = items, guards_of(holder), commit.Guard()

    def __next__(self) -> R:
        with commit.Guards(self._changed):  # a refusal must come before ``next``, because it would end a generator
            pass
        with self._guard:
            return next(self._items)
