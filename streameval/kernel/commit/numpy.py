"""`Guard`, which locks an object, and `Root` and `Cell`, which change the values of more than one table at once.

All objects that count use them: evaluators, states, slices, windows, ledgers. A change has two phases. *Prepare* may
fail and allocate, and changes nothing that a reader sees; *commit* cannot fail. A part is a function of the current
value, so that one commit may hold two parts of one table. In this twin the values of a root are one tuple, which a
commit replaces; one store switches all roots, so that code which interrupts a commit sees either all old values or all
new ones. The compiled twin changes tables in place.
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
SHORTEST, LONGEST = 2e-5, 1e-3  # seconds between two attempts to take a guard that another thread holds
PATIENCE = 0.02  # seconds of pauses for which a free guard is left to the first thread of its queue

_forks = 0


def _forked() -> None:
    global _forks  # how many forks led to this process: a child inherits the count of its parent
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class _Thread:
    """An object that only the locals of its thread refer to; a weak reference to it is dead once the thread has ended.

    ``sys._current_frames`` lists the running threads, too, but in Python 3.11 it can deadlock (CPython gh-106883): it
    can start a garbage collection, and so another thread, while it holds a lock that threads need to end.
    """

    __slots__ = ("__weakref__",)


_own = threading.local()


def _this_thread() -> ref[_Thread]:
    """A reference to the calling thread, which is dead once the thread has ended."""
    return ref(vars(_own).setdefault("thread", _Thread()))  # `setdefault` is one step: no signal handler runs within it


def _is_over(frame: FrameType, thread: ref[_Thread], forks: int) -> bool:
    """Whether the call that holds a guard has ended, as it can without freeing the guard if a signal handler raises."""
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
    """A lock for code that takes more than one call of the kernel; no code of the user runs within it.

    ``with guard:`` surrounds changes, ``with guard.reading:`` code that only reads. Another thread waits, and its wait
    can be interrupted. The thread that holds the guard may read again, also within a change, as a change is invisible
    until its commit; a change within a change or a read is an error, which only a signal handler or a finaliser can
    cause. A change that a fork cuts off has changed nothing, so guards that threads of the parent held are free in the
    child. ``version`` counts the changes; ``notes`` belong to the object that the guard locks.

    A thread that fails twice to take the guard joins a queue, and threads that come later wait until that is empty. A
    thread that does not take its turn, because a handler runs in it or it has died, loses its place.
    """

    __slots__ = ("_held", "_queue", "_reads", "notes", "version")

    def __init__(self) -> None:
        # Empty, or frame, thread and forks of the call that holds the guard; `setdefault` takes the guard in one step.
        self._held: dict[str, tuple[FrameType, ref[_Thread], int]] = {}
        self._queue: list[tuple[ref[_Thread], int]] = []  # threads, with the forks of their process
        self._reads = 0  # nested reads within the call that holds the guard
        self.version = 0
        self.notes: Any = None

    def begin(self, frame: FrameType | None = None) -> bool:
        """Take the guard for a frame (None: the caller's) unless it is held or has a queue; whether it was taken."""
        return not self._queue and self._take(frame or sys._getframe(1))

    def _take(self, frame: FrameType) -> bool:
        holder = frame, _this_thread(), _forks
        return self._held.setdefault("", holder) is holder

    def enter(self, frame: FrameType, *, changes: bool = True) -> None:
        """Take the guard for a frame; wait until that is possible."""
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
    """Holds more than one guard at once: those of objects that change, and of objects that are read."""

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
                    while held:  # a thread that waits for a guard holds none: no deadlock
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
"""Always held: the guard of states that their object has replaced, so that no call counts in them."""
RETIRED.begin()


class Root:
    """Holds the values of all tables of one set of states; ``guard`` is that of the object with these states."""

    __slots__ = ("_versions",)

    def __init__(self, guard: Guard | None = None) -> None:
        # The values before and after the last commit; its list is empty until it is done. The guard is the first value.
        values = (Guard() if guard is None else guard,)
        self._versions: tuple[tuple[Any, ...], tuple[Any, ...], list[bool]] = values, (), []

    @property
    def guard(self) -> Guard:
        """The guard of the object that owns the states."""
        guard: Guard = self.values[0]
        return guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self._versions = (guard, *self.values[1:]), (), []

    def prepare_retire(self) -> Part:
        """A part that stops counting in these states, for the commit in which their object replaces them."""
        # One commit does both: between two steps, another thread could count in these states, and lose its examples.
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
        """Make the changes of these parts, of one root or more, in this order and all at once."""
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
    """Holds one value, which is replaced and not mutated, except by the compiled twin's `prepare_add`."""

    __slots__ = ("_place", "root")

    def __init__(self, root: Root, place: int) -> None:
        self.root, self._place = root, place

    @property
    def value(self) -> Any:
        """The value, as the last commit left it."""
        before, after, done = self.root._versions
        return (after if done else before)[self._place]

    def store(self, new: Any) -> None:
        """Replace the value at once, without a commit; only in this twin."""
        values = [*self.root.values]
        values[self._place] = new
        self.root._versions = tuple(values), (), []

    def recast(self, change: Callable[[Any], Any]) -> None:
        """Replace the value by one that means the same, also within a commit under way; only in this twin."""
        at, (before, after, done) = self._place, self.root._versions
        old, new = ((*all_[:at], *map(change, all_[at : at + 1]), *all_[at + 1 :]) for all_ in (before, after))
        self.root._versions = old, new, done

    def prepare(self, change: Callable[[Any], Any]) -> Part:
        """A part that replaces the value by ``change(value)``; only in this twin, whose tables are cells."""
        return self.root, self._place, change

    def tried(self, change: Callable[[Any], Any]) -> tuple[Any, Part]:
        """``change(value)``, and a part that stores it, or applies the change anew if another part came first."""
        before = self.value
        after = change(before)
        return after, self.prepare(lambda value: after if value is before else change(value))

    def prepare_store(self, new: Any) -> Part:
        return self.prepare(lambda _: new)

    def prepare_add(self, added: Sequence[tuple[Mapping[Any, int], int, int]]) -> Part | None:
        """A part that adds amounts in units of 2**-scale, times factors, to ``sums``; None if these are coarser."""
        if any(scale > self.value.scale for _, scale, _ in added):
            return None

        def grown(value: Any) -> Any:
            after = dict(value.sums)
            for amounts, scale, times in added:
                factor = times << value.scale - scale
                after |= {key: after.get(key, 0) + factor * amount for key, amount in amounts.items()}
            return type(value)(value.scale, after)

        return self.prepare(grown)
