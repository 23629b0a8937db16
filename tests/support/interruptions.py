"""Raise an exception between instructions of the package, wherever a signal handler may raise one."""

from __future__ import annotations

import contextlib
import dis
import linecache
import random
import re
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import streameval as se

PACKAGE = str(Path(se.__file__).parent)


_OF_GUARDS = {"__enter__", "__exit__", "begin", "enter", "leave", "_take", "_is_over", "_discard"}
_CHECKS = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "POP_JUMP_BACKWARD_IF_TRUE", "RESUME"}
"""Instructions after which the interpreter checks for signals; it does not check between ``with`` and its body."""
_COMMITS = re.compile(r"oot\.commit\(|fast_count|\.slide(_many)?\(|self\._replace\(|\._core = ")
"""Matches lines that may commit, or that call a kernel function that may commit."""


class Interrupted(BaseException):
    """Stands for an exception that a signal handler raises."""


@cache
def _looks(code: CodeType) -> tuple[dict[int, bool], dict[int, int | None], set[int]]:
    """By instruction, whether signals are checked after it, and its exception handler; and the committing ones."""
    ranges = [(entry.start, entry.end, entry.target) for entry in dis.Bytecode(code).exception_entries]
    checks, handlers, commits = dict[int, bool](), dict[int, int | None](), set[int]()
    for instruction in dis.get_instructions(code):
        at, where = instruction.offset, instruction.positions
        checks[at] = instruction.opname in _CHECKS
        handlers[at] = next((target for start, end, target in ranges if start <= at < end), None)
        if _COMMITS.search(linecache.getline(code.co_filename, (where and where.lineno) or 0)):
            commits.add(at)
    return checks, handlers, commits


def interrupted(call: Callable[[], object], *hits: int, commits: list[int] | None = None) -> int:
    """Make a call, raise at the points with the numbers ``hits``, and return how many points the call passed.

    A point is a place in the package where a signal handler can raise. The numbers of the points on lines that may
    commit are appended to ``commits``.

    The call runs in its own thread, because an interpreter interrupted while it enters a handler may never leave it.
    """
    executed = 0
    escaped: list[BaseException] = []

    def trace(frame, event, arg):
        nonlocal executed
        # Guards of the numpy kernel are plain Python; the compiled guards cannot be interrupted.
        if not frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_name in _OF_GUARDS:
            return None
        checks, handlers, committing = _looks(frame.f_code)
        before = -1

        def step(frame, event, arg):
            nonlocal executed, before
            if event == "opcode":
                last, before = before, frame.f_lasti
                # A signal would use the handler of the last instruction, but a tracer uses that of the next one.
                if checks.get(last) and handlers[last] == handlers.get(before, -1):
                    executed += 1
                    if commits is not None and last in committing:
                        commits.append(executed)
                    if executed in hits:
                        raise Interrupted
            return step

        frame.f_trace = step  # Python 3.13 needs it before the trace function returns
        frame.f_trace_opcodes = True
        return step

    def run() -> None:
        sys.settrace(trace)
        try:
            call()
        except BaseException as error:  # the calling thread raises it
            escaped.append(error)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if escaped:
        raise escaped[0].with_traceback(None) from None
    return executed


def attempted(call: Callable[[], object]) -> None:
    """Make a call that the package may refuse."""
    with contextlib.suppress(se.StreamevalError):
        call()


def chosen(executed: int, hits: int, name: str, commits: Sequence[int] = ()) -> list[int]:
    """The numbers of the points to raise at: one at random from each of ``hits`` stretches, and the last point.

    The points before and after the last commit are included. Equal names give equal choices.
    """
    draw = random.Random(name)
    bounds = [1 + executed * part // hits for part in range(hits + 1)]
    drawn = {draw.randrange(low, high) for low, high in pairwise(bounds) if low < high}
    return sorted({*drawn, *commits[-2:], executed})


def check_interruptions(
    make: Callable[[], Any], run: Callable[[Any], object], go_on: Callable[[Any], object], hits: int, name: str
) -> None:
    """Interrupt a call at chosen points: the window must equal its state before or after the call, and stay usable."""
    attempted(lambda: run(make()))  # points that only the first call passes must not count
    before, window = make().to_bytes(), make()
    commits = list[int]()
    executed = interrupted(lambda: attempted(lambda: run(window)), -1, commits=commits)
    after = window.to_bytes()
    for hit in chosen(executed, hits, name, commits) if executed else ():
        window = make()
        with pytest.raises(Interrupted):
            interrupted(lambda window=window: attempted(lambda: run(window)), hit)
        answer, result = window.get(), window.to_bytes()
        assert result in (before, after), f"torn at instruction {hit}"
        back = type(window).from_bytes(result)
        assert answer == window.get() == back.get()
        for target in (window, back):
            go_on(target)
        assert back == window
        assert back.to_bytes() == window.to_bytes()
        assert back.get() == window.get()
        assert back.snapshot() == window.snapshot()
