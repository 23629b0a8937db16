"""How calls of one object follow each other, whichever threads they come from."""

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
"""What was read, as a change still to be made: the object, and what prepares it while the guards are held."""


class Guarded:
    """What objects that count, or hold such ones, need of each other; of an evaluator or a metric also its `Core`."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in ATTRIBUTES or hasattr(self, name)]

    _guard: commit.Guard
    """Held, for reading or for a change, by whoever uses the object; also by what counts in it."""
    _inner_guards: Sequence[commit.Guard] = ()
    """Of the objects that it counts with."""
    _change: Callable[..., Change]
    """Read what ``update`` takes, which may run code of the user, as a change still to be made."""
    _prepare_plain: Callable[[object, object, Weight, object], list[Part] | None]
    """Prepare an example straight from what the user passed, if that runs no code of the user; the guard is held."""

    def _current(self) -> Any:
        """The evaluator or metric that answers; it must not be changed."""
        return self

    def _counters(self) -> Iterable[Any] | None:
        """The evaluators or metrics that hold every example it has; None where that is not asked."""
        return None

    def _renew(self) -> None:
        """Rebuild without the labels that no example mentions."""
        for part in self._counters() or ():
            part._renew()

    def _look(self) -> None:
        """Look whether there is something to warn of, as somebody reads a value."""


def absent(name: str, advice: str) -> property:
    """An attribute that is absent, for which users of other libraries ask; ``__getattr__`` would slow every method."""

    def get(self: object) -> Never:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; {advice}")

    return property(get, doc=f"Absent: {advice}.")


for _name, _advice in ATTRIBUTES.items():
    setattr(Guarded, _name, absent(_name, _advice))


def look_at(counts: Any) -> Any:
    """What was passed; if it counts, it warns of what is probably wrong in its input, as somebody reads it."""
    if isinstance(counts, Guarded):
        counts._look()
    return counts


def make(changes: Sequence[Change], parts: Iterable[Part] = ()) -> None:
    """Make all of several changes, or none of them; and commit parts of the caller's, who holds their guard."""
    warning_first(_make, changes, [*parts])


def _make(changes: Sequence[Change], parts: list[Part]) -> None:
    with commit.Guards([guard for one, _, _ in changes for guard in guards_of(one)]):
        commit.Root.commit(parts + [part for _, prepare, what in changes for part in prepare(*what)])


def make_read(change: Change) -> None:
    """Make a change of one example, of which what was read begins with the labels in whose columns it was."""
    one, prepare, what = change
    labels = what[0][0]
    with one._guard:
        if len(labels.labels) <= labels.check_beyond:
            commit.Root.commit(prepare(*what))
            return
    make([change])  # as it may be warned of


def reads(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that sees one moment of the object, whose ``_guard`` it holds."""

    @wraps(method)
    def read(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard.reading:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return read


def answers(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that `reads` what a user asks for, and warns before of what is probably wrong in the input."""

    @wraps(method)
    def answer(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        self._look()  # type: ignore[attr-defined]
        with self._guard.reading:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return answer


def changes(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that changes the object and runs no code of the user, or changes nothing."""

    def guarded(self: S, /, *args: P.args, **keywords: P.kwargs) -> R:
        with self._guard:  # type: ignore[attr-defined]
            return method(self, *args, **keywords)

    return _first(method, guarded)


def combines(method: CallT) -> CallT:
    """A method that changes the object by another one, which may be the same; both are held."""
    merges = method.__name__ != "unmerge"

    def guarded(self: Any, other: Any) -> Any:
        guard, guards = self._guard, guards_of(other)
        forget_gone(self, reading=False)
        with commit.Guards((guard,), guards):
            mine, theirs = guard.notes, guards[0].notes if guards else None
            alike = mine and theirs and mine.forms == theirs.forms and not mine.forms.unsure  # as most
            counts = merges and mine is not theirs and not alike and not is_gone(other)
            is_fresh = counts and mine is None and is_gone(self)  # not loaded, as labels say of which form those are
            # Where neither knows of which form labels are, none has read an example, or is reading one meanwhile.
            known = counts and any(notes and notes.forms.strings is not None for notes in (mine, theirs))
            if known and type(other) is type(self):  # or it is refused
                _note_strings(other)
                _note_strings(self)
                guard.notes.check_merge(guards[0].notes)  # whether the two read their input differently
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
    """A guard for a copy of an object, with a copy of what it remembers of its input."""
    result = commit.Guard()
    result.notes = None if guard.notes is None else guard.notes.copy()
    return result


def prepare_forget(guard: commit.Guard) -> list[Part]:
    """Prepare that an object that is reset remembers no more than what it has warned of."""
    return [] if guard.notes is None else guard.notes.prepare_forget()


def is_gone(holder: Any) -> bool:
    """Whether no example is left of those that an object has counted."""
    if not isinstance(holder, Guarded):
        return False
    with holder._guard.reading:  # as slices may come
        counters = holder._counters()
        return counters is not None and not any(part.examples for part in counters)


def _note_strings(holder: Any) -> None:
    """Remember whether labels are strings: any part may hold them, also where another reads the next example."""
    notes = notes_of(holder._guard)
    if not notes.forms.strings and (notes.forms.strings is None or notes.forms.unsure):
        notes.change(strings=any(core_of(part).has_strings() for part in holder._counters()))


def forget_gone(holder: Any, examples: int = 0, *, reading: bool = True) -> bool:
    """Let an object without examples remember nothing of those it had, since equal objects accept the same input.

    ``examples`` are some that it surely has. The answer is whether what counts may have been replaced.
    Labels that are left from them lose their columns, and so do those that only calls that failed have mentioned:
    the fast path would count strings without a look at what else is counted, and stops where labels are beyond a limit.
    Before ``reading``, labels say whether they are strings, if that is not known since load or merge.
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
    """Surrounds what reads objects, of which nothing changes there."""
    return commit.Guards((), [guard for holder in holders for guard in guards_of(holder)])


def guards_of(holder: object) -> tuple[commit.Guard, ...]:
    """The guards of an object, and of what it counts with; none where it is anything else, which others refuse."""
    guard = getattr(holder, "_guard", None)
    return (guard, *getattr(holder, "_inner_guards", ())) if isinstance(guard, commit.Guard) else ()


class Turns(Iterator[R]):
    """An iterator that several threads may share: each item, whose making changes ``holder``, is made for one."""

    def __init__(self, items: Iterator[R], holder: object) -> None:
        self._items, self._changed, self._guard = items, guards_of(holder), commit.Guard()

    def __next__(self) -> R:
        with commit.Guards(self._changed):  # which is refused before the iterator has begun, and would be at its end
            pass
        with self._guard:
            return next(self._items)
