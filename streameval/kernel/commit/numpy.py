"""Changes of several tables that happen at once, in plain Python: what the compiled twin does, and the fallback.

A change has two phases. *Prepare* may fail, allocates, and shows nothing; *commit* cannot fail. A part says what to do
with the value that it finds, so that several parts of one table may stand in one commit. Here all values of a root are
one tuple, of which a commit makes another, and one store decides for all roots which of the two holds: whoever
interrupts it sees either the old values or the new ones. The compiled twin changes tables where they stand.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from time import sleep
from types import FrameType
from typing import Any, Self, TypeAlias
from weakref import ref

from streameval.errors import StreamevalError

Part: TypeAlias = Any
"""A prepared part of a change. Only `Root.commit` knows what is in it."""

REENTERED = (
    "this object is being changed by this thread itself: a signal handler or a finaliser has interrupted the call; use "
    "the object once the call has returned"
)
SHORTEST, LONGEST = 2e-5, 1e-3  # seconds between two looks at a guard that another thread holds
PATIENCE = 0.02  # seconds of such pauses in which a guard is left to the thread whose turn it is

_forks = 0


def _forked() -> None:
    global _forks  # what a child inherits from its parent
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class _Thread:
    """What a thread has of its own, which goes when it ends.

    ``sys._current_frames`` says which threads are left, too, but in Python 3.11 all may wait for ever then (CPython
    gh-106883): it can start a garbage collection, and with that another thread, while it has a lock that threads need
    to end.
    """

    __slots__ = ("__weakref__",)


_own = threading.local()


def _this_thread() -> ref[_Thread]:
    """The calling thread, as long as it runs."""
    return ref(vars(_own).setdefault("thread", _Thread()))  # in one step, which a handler may interrupt before or after


def _is_over(frame: FrameType, thread: ref[_Thread], forks: int) -> bool:
    """Whether the call that holds a guard has ended; a signal handler that raises can end it while it leaves it."""
    if thread != _this_thread():
        return forks != _forks or thread() is None
    now: FrameType | None = sys._getframe()
    while now is not None and now is not frame:
        now = now.f_back
    return now is None


def _discard(queue: list[Any], one: object) -> None:
    with suppress(ValueError):
        queue.remove(one)


class Guard:
    """Lets one thread at a time into what cannot be one call of the kernel; no code of the user runs there.

    ``with guard:`` surrounds changes, ``with guard.reading:`` what only reads. Another thread waits, and its wait can
    be interrupted. The same thread may read again, also within a change, since that shows nothing before its commit;
    a change within a change or a read, which only a signal handler or a finaliser can try, is an error. What a fork
    cuts off has changed nothing, so guards that threads of the parent held are free in the child. ``version`` counts
    the changes; ``notes`` are the object's.

    Whoever has looked twice in vain joins a queue, and those who come find the guard held until each thread before
    them had its turn; one that does not come, as a handler runs in it or it has died, loses its place.
    """

    __slots__ = ("_held", "_queue", "_reads", "notes", "version")

    def __init__(self) -> None:
        # Empty, or the frame, thread and forks of the call that holds it: to enter it if there is none is one step.
        self._held: dict[str, tuple[FrameType, ref[_Thread], int]] = {}
        self._queue: list[tuple[ref[_Thread], int]] = []  # with the forks of its process
        self._reads = 0  # of that thread, within that call
        self.version = 0
        self.notes: Any = None

    def begin(self, frame: FrameType | None = None) -> bool:
        """Hold the guard for a frame, or the caller's, unless it is held or others wait; whether that was possible."""
        return not self._queue and self._take(frame or sys._getframe(1))

    def _take(self, frame: FrameType) -> bool:
        holder = frame, _this_thread(), _forks
        return self._held.setdefault("", holder) is holder

    def enter(self, frame: FrameType, *, changes: bool = True) -> None:
        """Hold the guard for a frame, after waiting for others."""
        if self.begin(frame):
            return
        pause, patience, again, me = SHORTEST, PATIENCE, False, (_this_thread(), _forks)
        try:
            while True:
                holder, first = self._held.get(""), self._queue[:1]
                if holder is not None and _is_over(*holder):
                    self._reads = 0
                    self._held.clear()
                    continue
                if holder is not None:
                    if holder[1] == me[0]:
                        if changes:
                            raise StreamevalError(REENTERED)
                        self._reads += 1
                        return
                    patience = PATIENCE
                elif first in ([], [me]):
                    if self._take(frame):
                        return
                    continue
                elif patience < 0 or first[0][1] != _forks:
                    _discard(self._queue, first[0])
                    patience = PATIENCE
                    continue
                if again and me not in self._queue:
                    self._queue.append(me)
                    pause = SHORTEST
                again = True
                sleep(pause)
                patience -= pause
                pause = min(2 * pause, LONGEST)
        finally:
            _discard(self._queue, me)

    def leave(self, *, changed: bool) -> None:
        self.version += changed
        if self._reads:
            self._reads -= 1
        else:
            self._held.clear()

    def __enter__(self) -> Self:
        self.enter(sys._getframe(1))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.leave(changed=kind is None)

    @property
    def reading(self) -> Guards:
        return Guards([], [self])


class Guards:
    """Several guards, held together: of objects that change, and of others that are read."""

    __slots__ = ("_changed", "_guards")

    def __init__(self, changed: Iterable[Guard], read: Iterable[Guard] = ()) -> None:
        self._changed = list(dict.fromkeys(changed))
        self._guards = list(dict.fromkeys([*self._changed, *read]))

    def __enter__(self) -> None:
        held, frame = list[Guard](), sys._getframe(1)
        try:
            while len(held) < len(self._guards):
                guard = self._guards[len(held)]
                holder = guard._held.get("")
                mine = holder is not None and holder[1] == _this_thread() and not _is_over(*holder)
                if mine and guard not in self._changed:
                    guard._reads += 1
                elif not guard.begin(frame):
                    while held:  # whoever waits for one holds none, so that nobody waits for ever
                        held.pop().leave(changed=False)
                    guard.enter(frame, changes=guard in self._changed)
                    self._guards.remove(guard)
                    self._guards.insert(0, guard)
                held.append(guard)
        except BaseException:
            for guard in held:
                guard.leave(changed=False)
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for guard in self._guards:
            guard.leave(changed=kind is None and guard in self._changed)


RETIRED = Guard()
"""Held for ever: the guard of states that their object has replaced, so that nothing is counted in them."""
RETIRED.begin()


class Root:
    """Holds the values of all tables of one set of states; ``guard`` is that of the object that they belong to."""

    __slots__ = ("_versions",)

    def __init__(self, guard: Guard | None = None) -> None:
        # Before and after a commit that is under way as long as the list is empty. The guard is the first value.
        values = (Guard() if guard is None else guard,)
        self._versions: tuple[tuple[Any, ...], tuple[Any, ...], list[bool]] = values, (), []

    @property
    def guard(self) -> Guard:
        """That of the object."""
        guard: Guard = self.values[0]
        return guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._versions = (guard, *self.values[1:]), (), []

    def prepare_retire(self) -> Part:
        """Nothing is counted any more: with that the object replaces these states."""
        # In two steps, an interruption between them would lose what another thread counts in them afterwards.
        return Cell(self, 0).prepare_store(RETIRED)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, as the last commit left them."""
        before, after, done = self._versions
        return after if done else before

    def cell(self, value: Any) -> Cell:
        values = *self.values, value
        self._versions = values, values, []
        return Cell(self, len(values) - 1)

    @staticmethod
    def commit(parts: list[Part]) -> None:
        """Do what was prepared over this root and others, in this order, all at once."""
        after: dict[Root, list[Any]] = {}
        for root, place, change in parts:
            values = after.get(root)
            if values is None:
                values = after[root] = [*root.values]
            values[place] = change(values[place])
        done: list[bool] = []
        for root, values in after.items():
            root._versions = root.values, tuple(values), done
        done.append(True)


class Cell:
    """A place for one value, which nobody changes where it stands but `prepare_add`."""

    __slots__ = ("_place", "root")

    def __init__(self, root: Root, place: int) -> None:
        self.root, self._place = root, place

    @property
    def value(self) -> Any:
        """The value, as the last commit left it."""
        before, after, done = self.root._versions
        return (after if done else before)[self._place]

    def store(self, new: Any) -> None:
        """The value becomes another at once; only in this twin."""
        values = [*self.root.values]
        values[self._place] = new
        self.root._versions = tuple(values), (), []

    def recast(self, change: Callable[[Any], Any]) -> None:
        """The value becomes another that means the same, also that of a commit under way; only in this twin."""
        at, (before, after, done) = self._place, self.root._versions
        old, new = ((*all_[:at], *map(change, all_[at : at + 1]), *all_[at + 1 :]) for all_ in (before, after))
        self.root._versions = old, new, done

    def prepare(self, change: Callable[[Any], Any]) -> Part:
        """The value becomes what a function of it returns; only in this twin, whose tables are cells."""
        return self.root, self._place, change

    def tried(self, change: Callable[[Any], Any]) -> tuple[Any, Part]:
        """What a change makes of the value, and the part that makes it so; also of what other parts make of it."""
        before = self.value
        after = change(before)
        return after, self.prepare(lambda value: after if value is before else change(value))

    def prepare_store(self, new: Any) -> Part:
        return self.prepare(lambda _: new)

    def prepare_add(self, added: Sequence[tuple[Mapping[Any, int], int, int]]) -> Part | None:
        """The value's ``sums`` grow by amounts, in units of a scale, times factors; None if that scale is finer."""
        if any(scale > self.value.scale for _, scale, _ in added):
            return None

        def grown(value: Any) -> Any:
            after = dict(value.sums)  # in which new ones may be before, as 0
            for amounts, scale, times in added:
                factor = times << value.scale - scale
                after |= {key: after.get(key, 0) + factor * amount for key, amount in amounts.items()}
            return type(value)(value.scale, after)

        return self.prepare(grown)
