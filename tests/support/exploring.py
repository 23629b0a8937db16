"""Two calls at once, deterministically: the first is held at a place in the package while the second runs.

The second call runs in another thread, or in the same thread as a signal handler would. The results of both calls are
then compared with their results one after the other.
"""

from __future__ import annotations

import dis
import linecache
import os
import random
import signal
import sys
import threading
import time
import warnings
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, product
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import streameval as se
from streameval.evaluation.core import Core
from streameval.kernel.backend import commit
from streameval.states.state_set import StateSet

PACKAGE = str(Path(se.__file__).parent)
WAIT = 0.001  # seconds within which a thread that is not blocked runs or becomes runnable
LONG = 60.0  # seconds after which a thread counts as blocked for ever
GUARDING = ("evaluation", "windows", "slices", "progressive", "delivery", "adapters")
REENTERED = "by this thread itself"

Call = Callable[[Any], Any]
Hook = Callable[[], object]


class Point(NamedTuple):
    """A place at which the interpreter may switch to another thread or run a handler, and how often it was passed."""

    code: CodeType
    offset: int
    visits: int = 1

    @property
    def is_guarding(self) -> bool:
        """Whether the place is in a folder that takes guards; other folders run only within calls of these."""
        return Path(self.code.co_filename).relative_to(PACKAGE).parts[0] in GUARDING

    @property
    def line(self) -> tuple[CodeType, int | None]:
        """The code object and line number of the place."""
        return self.code, _stops(self.code)[self.offset]

    def __str__(self) -> str:
        return (
            f"{Path(self.code.co_filename).relative_to(PACKAGE)}:{self.line[1]} in {self.code.co_name} at {self.offset}"
        )


@cache
def _stops(code: CodeType) -> dict[int, int | None]:
    """The offsets at which a line begins or a call has returned, each with its line number.

    The interpreter switches threads and runs signal handlers only at these offsets.
    """
    stops, called = dict[int, int | None](), False
    for instruction in dis.get_instructions(code):
        if called or instruction.starts_line:
            stops[instruction.offset] = instruction.positions.lineno if instruction.positions else None
        called = instruction.opname.startswith(("CALL", "BEFORE_WITH"))
    return stops


def each_step(frame: Any, trace: Callable[..., Any]) -> Callable[..., Any]:
    """Trace each instruction of a frame. Python 3.13 needs ``f_trace`` before the trace function returns."""
    frame.f_trace = trace
    frame.f_trace_opcodes = True
    return trace


@contextmanager
def _traced(trace: Callable[..., Any]) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def points(call: Hook) -> list[Point]:
    """The places in the package that a call passes, in the order of their first visit."""
    visits: dict[tuple[int, int], list[Any]] = {}

    def trace(frame: Any, event: str, arg: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        stops = _stops(code)

        def local(frame: Any, event: str, arg: object) -> Any:
            if event == "opcode" and frame.f_lasti in stops:
                visits.setdefault((id(code), frame.f_lasti), [code, 0])[1] += 1
            return local

        return each_step(frame, local)

    with _traced(trace):
        outcome(call)
    return [Point(code, offset, times) for (_, offset), (code, times) in visits.items()]


def unguarded(call: Hook, held: Any, names: Collection[str]) -> list[str]:
    """The methods with these names, of an object and of its states, and the committing lines that run while the guard
    of the object is free.
    """
    free = list[str]()

    def note(frame: Any) -> None:
        if held._guard.begin():
            held._guard.__exit__(KeyError, None, None)
            free.append(f"{frame.f_code.co_name}, line {frame.f_lineno}")

    def trace(frame: Any, event: str, arg: object) -> Any:
        code, one = frame.f_code, frame.f_locals.get("self")
        states = one.states if isinstance(one, Core) else one
        is_held = isinstance(states, StateSet) and states.root.guard is held._guard
        if not code.co_filename.startswith(PACKAGE) or not (is_held or one is held):
            return None
        if code.co_name in names and (one is not held or code.co_name.startswith("_")):
            note(frame)
        return local

    def local(frame: Any, event: str, arg: object) -> Any:
        if event == "line" and "oot.commit(" in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
            note(frame)
        return local

    with _traced(trace):
        outcome(call)
    return free


def stopped(call: Hook, point: Point, hook: Hook) -> Any:
    """The outcome of a call that runs a hook when it passes ``point`` for the ``point.visits``-th time."""
    passed = 0

    def trace(frame: Any, event: str, arg: object) -> Any:
        if frame.f_code is not point.code or passed == point.visits:
            return None
        return each_step(frame, local)

    def local(frame: Any, event: str, arg: object) -> Any:
        nonlocal passed
        if event == "opcode" and frame.f_lasti == point.offset and passed < point.visits:
            passed += 1
            if passed == point.visits:
                hook()
        return local

    with _traced(trace):
        result = outcome(call)
    if passed != point.visits:
        raise LookupError(f"{point} was passed {passed} times")
    return result


def outcome(call: Hook) -> Any:
    """What a call returns, or which error it raises."""
    try:
        return call()
    except Exception as error:  # an error is an outcome like any other
        return type(error).__name__, str(error)


def refused(result: Any) -> bool:
    """Whether a call was refused because its own thread is already changing the object."""
    return isinstance(result, tuple) and len(result) == 2 and REENTERED in str(result[1])


_at_guards: set[int] = set()
_sleep = commit.sleep


def _noted(seconds: float) -> None:
    _at_guards.add(threading.get_native_id())
    try:
        _sleep(seconds)
    finally:
        _at_guards.discard(threading.get_native_id())


commit.sleep = _noted  # a thread sleeps there while a guard is taken


def waits(thread: threading.Thread, times: int = 1) -> bool:
    """Whether a thread blocks on another thread instead of ending.

    A thread blocks if it sleeps until a guard is free, or if it sleeps and gets no processor time while this thread
    sleeps ``times`` times. The load of the machine makes no difference.
    """
    before, still = "", 0
    while thread.is_alive() and still <= times and thread.native_id not in _at_guards:
        thread.join(WAIT)
        now = _run_so_far(thread.native_id)
        still, before = (still + 1 if now == before else 0), now
    return thread.is_alive()


def _run_so_far(thread: int | None) -> str:
    """A string that changes whenever a thread has run or is runnable."""
    try:
        folder = Path(f"/proc/self/task/{thread}")
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        return (folder / "schedstat").read_text() if state == "S" else str(time.monotonic())
    except OSError:  # the thread has ended, or this is not Linux: there a slow thread counts as blocked
        time.sleep(10 * WAIT)
        return ""


def in_another_thread(call: Hook, point: Point, other: Hook) -> tuple[Any, Any]:
    """The outcomes of both calls with the other one in a second thread; if that blocks, the first call goes on."""
    results: list[Any] = []
    second = threading.Thread(target=lambda: results.append(outcome(other)), daemon=True)

    def hook() -> None:
        second.start()
        waits(second)

    first = stopped(call, point, hook)
    second.join(LONG)
    assert results, f"the second thread waits for ever after the first stood at {point}"
    return first, results[0]


def within(call: Hook, point: Point, other: Hook) -> tuple[Any, Any]:
    """The outcomes of both calls with the other one in the same thread."""
    results: list[Any] = []
    first = stopped(call, point, lambda: results.append(outcome(other)))
    return first, results[0]


@contextmanager
def standing(call: Hook, point: Point) -> Iterator[None]:
    """Hold a second thread at a place within a call until the block is left; then the call runs to its end."""
    there, go_on, passed = threading.Event(), threading.Event(), list[bool]()

    def hook() -> None:
        passed.append(True)
        there.set()
        go_on.wait(LONG)

    def run() -> None:
        try:
            stopped(call, point, hook)
        finally:
            there.set()

    second = threading.Thread(target=run, daemon=True)
    second.start()
    try:
        assert there.wait(LONG), f"a call waits for ever before {point}"
        assert passed, f"{point} was not passed"
        yield
    finally:
        go_on.set()
        second.join(LONG)
        assert not second.is_alive(), f"a call that stood at {point} waits for ever"


def in_thread(call: Hook) -> threading.Thread:
    """Start a thread that makes a call."""
    thread = threading.Thread(target=lambda: outcome(call), daemon=True)
    thread.start()
    return thread


def forked(call: Callable[[], object]) -> int:
    """The exit code of a forked child that makes a call: 0 if the call returned a true value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns if a process with threads forks
        child = os.fork()
    if not child:
        try:
            signal.alarm(int(LONG))
            os._exit(0 if call() else 3)
        finally:
            os._exit(4)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def waiting_place(make: Callable[[], Any], act: Call, other: Call) -> Point | None:
    """A place of a call such that another call blocks while the first is held there, but not one place earlier."""
    act(make())
    made = make()
    passed = [point._replace(visits=1) for point in points(lambda: act(made))]

    def waits_at(place: int) -> bool:
        made = make()
        with standing(lambda: act(made), passed[place]):
            second = in_thread(lambda: other(made))
            waited = waits(second, 5)
        second.join(LONG)
        return waited

    bits = len(passed).bit_length()
    halves = sorted(range(len(passed)), key=lambda place: f"{place:0{bits}b}"[::-1])  # halves first, then quarters
    after = next((place for place in halves if waits_at(place)), None)
    return None if after is None else passed[bisect_left(range(after), True, key=waits_at)]


def crowd(seconds: float, *jobs: Hook) -> list[int]:
    """Run each job repeatedly in its own thread, with frequent thread switches; return how often each job ran."""
    ran, errors, end = [0] * len(jobs), list[BaseException](), time.monotonic() + seconds

    def work(place: int) -> None:
        try:
            while not errors and (not ran[place] or time.monotonic() < end):
                jobs[place]()
                ran[place] += 1
        except BaseException as error:  # the calling thread raises it
            errors.append(error)

    threads = [threading.Thread(target=work, args=(place,), daemon=True) for place in range(len(jobs))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + LONG)
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    return ran


@dataclass
class Explorer:
    """Tries pairs of concurrent calls of an object and lists the wrong outcomes.

    Attributes
    ----------
    make
        Builds the object, equal each time.
    state
        Returns what is compared of the object.
    calls
        The calls, by name. Their results must not change later.
    seen
        The places, or lines, that were tried.
    lines
        Whether one place of each line is enough, because a line holds the same guards throughout unless it takes one.
    """

    make: Callable[[], Any]
    state: Call
    calls: dict[str, Call]
    seen: set[tuple[CodeType, int | None]] = field(default_factory=set)
    lines: bool = False
    tried: int = 0
    left: int = 0
    wrong: list[str] = field(default_factory=list)
    _sequences: dict[tuple[str, ...], Any] = field(default_factory=dict)
    _points: dict[str, list[Point]] = field(default_factory=dict)

    def in_turn(self, *names: str) -> Any:
        """The outcomes of the calls one after the other, and the state of the object after them."""
        if names not in self._sequences:
            made = self.make()
            results = [outcome(lambda name=name: self.calls[name](made)) for name in names]
            self._sequences[names] = results, self.state(made)
        return self._sequences[names]

    def points(self, act: str) -> list[Point]:
        """The places that a call passes."""
        if act not in self._points:
            self.in_turn(act)  # places that only the first call passes, such as imports, do not count
            made = self.make()
            self._points[act] = points(lambda: self.calls[act](made))
        return self._points[act]

    def partners(self, act: str) -> list[str]:
        """The calls to try together with this one: all, or if this one changes nothing, those that change something."""
        return [name for name in self.calls if self._changes(act) or self._changes(name)]

    def _changes(self, name: str) -> bool:
        return bool(self.in_turn(name)[1] != self.in_turn()[1])

    def _fresh(self, act: str) -> list[list[Point]]:
        """The untried places that a call passes, grouped by line if one place of each line is enough."""
        fresh: dict[tuple[CodeType, int | None], list[Point]] = {}
        for point in self.points(act):
            if (key := point.line if self.lines else point[:2]) not in self.seen:
                fresh.setdefault(key, []).append(point)
        self.seen.update(fresh)
        return [*fresh.values()]

    def skip(self, other: Explorer) -> None:
        """Do not try places that the calls of another object pass."""
        for act in other.calls:
            other._fresh(act)
        self.seen.update(other.seen)

    def try_each_place(
        self, draw: random.Random, fraction: float = 1.0, *, guarding: float = 0.0, reading: bool = False
    ) -> None:
        """Try every untried place once, or a fraction of them, each with one of a few other calls in turn.

        In folders that take guards the fraction is greater by ``guarding``; with ``reading`` all places of calls that
        only read are tried, because another thread may change the object between any two reads.
        """
        for act in self.calls:
            fresh = self._fresh(act)
            points = map(draw.choice, fresh)
            reads = reading and not self._changes(act)
            chosen = [one for one in points if reads or draw.random() < fraction + guarding * one.is_guarding]
            self.left += len(fresh) - len(chosen)
            if chosen:
                partners = self.partners(act)
                # Calls that change the object too reveal most errors.
                changing = [name for name in partners if self._changes(name)]
                drawn = draw.sample(changing, min(3, len(changing))) + draw.sample(partners, 1)
                turns = cycle(product((False, True), drawn))
                for point, (same, other) in zip(chosen, turns, strict=False):
                    self.explore(act, other, point._replace(visits=1), same=same)

    def try_any(self, draw: random.Random) -> None:
        """Try one random place of a random call together with another random call."""
        act = draw.choice([*self.calls])
        point = draw.choice(self.points(act))
        point = point._replace(visits=draw.randint(1, point.visits))
        self.explore(act, draw.choice(self.partners(act)), point, same=draw.random() < 0.5)

    def size(self) -> int:
        """How many triples of a place, another call and a kind of thread there are; repeated visits count once."""
        return sum(2 * len(self.partners(act)) * len(self.points(act)) for act in self.calls)

    def explore(self, act: str, other: str, point: Point, *, same: bool) -> None:
        """Hold one call at a place while another call runs, and record a wrong outcome."""
        made = self.make()
        run = within if same else in_another_thread
        self.tried += 1
        allowed = [self.in_turn(act, other), _swapped(self.in_turn(other, act))]
        try:
            first, second = run(lambda: self.calls[act](made), point, lambda: self.calls[other](made))
            if same and refused(second):
                (result,), left = self.in_turn(act)
                allowed = [([result, second], left)]
            outcomes: Any = [first, second], outcome(lambda: self.state(made))
        except LookupError:  # the path of the call depends on earlier calls, so it did not pass the place
            self.tried -= 1
            return
        except AssertionError as error:
            outcomes = str(error)
        if outcomes not in allowed:
            where = "the same thread" if same else "another thread"
            self.wrong.append(f"{act}, and {other} in {where}, at {point}: {_difference(outcomes, allowed)}")


def _swapped(results: Any) -> Any:
    (second, first), left = results
    return [first, second], left


def _difference(outcomes: Any, allowed: Iterable[Any]) -> str:
    """A short message about the parts of an outcome that no order of the calls allows."""
    if isinstance(outcomes, str):
        return outcomes
    (first, second), left = outcomes
    parts = []
    for name, value, right in (
        ("the first", first, [one[0][0] for one in allowed]),
        ("the second", second, [one[0][1] for one in allowed]),
        ("what is left", left, [one[1] for one in allowed]),
    ):
        if value not in right:
            parts.append(f"{name} is {short(value)}, not {' or '.join(map(short, right))}")
    return "; ".join(parts) or "each part is right, but not of one order"


def short(value: Any) -> str:
    """A value, shortened for a message."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(short, value))})"
    if isinstance(value, bytes):
        return f"bytes {hash(value) % 10**6:06} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:110]}... ({len(text)})"
