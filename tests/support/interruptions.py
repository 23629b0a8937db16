"""Raising between instructions of the package, wherever a signal handler may."""

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
"""Instructions after which the interpreter looks for signals; it does not between entering a `with` and its body."""
_COMMITS = re.compile(r"oot\.commit\(|fast_count|\.slide(_many)?\(|self\._replace\(|\._core = ")
"""Lines that may commit, or hand over to the kernel what does."""


class Interrupted(BaseException):
    """What a signal handler may raise."""


@cache
def _looks(code: CodeType) -> tuple[dict[int, bool], dict[int, int | None], set[int]]:
    """For each instruction whether signals are looked for after it, and the handler of what it raises; which commit."""
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
    """Run, raising at the given ones of all points in the package where a signal can raise; how many were passed.

    To ``commits`` are added those that follow a call on a line that may commit: before it, and after it.

    In a thread of its own, since an interpreter that is interrupted while it enters a handler may forget to leave it.
    """
    executed = 0
    escaped: list[BaseException] = []

    def trace(frame, event, arg):
        nonlocal executed
        # Guards of the numpy kernel are plain Python, where compiled ones cannot be interrupted.
        if not frame.f_code.co_filename.startswith(PACKAGE) or frame.f_code.co_name in _OF_GUARDS:
            return None
        checks, handlers, committing = _looks(frame.f_code)
        before = -1

        def step(frame, event, arg):
            nonlocal executed, before
            if event == "opcode":
                last, before = before, frame.f_lasti
                # A signal raises where the last instruction is handled, and this where the next one is.
                if checks.get(last) and handlers[last] == handlers.get(before, -1):
                    executed += 1
                    if commits is not None and last in committing:
                        commits.append(executed)
                    if executed in hits:
                        raise Interrupted
            return step

        frame.f_trace = step  # Python 3.13 looks for it before it is returned
        frame.f_trace_opcodes = True
        return step

    def run() -> None:
        sys.settrace(trace)
        try:
            call()
        except BaseException as error:  # handed over to the thread that asked
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
    """Run what may be refused."""
    with contextlib.suppress(se.StreamevalError):
        call()


def chosen(executed: int, hits: int, name: str, commits: Sequence[int] = ()) -> list[int]:
    """So many of the instructions: one at random in each of so many stretches, always the same ones, and the last.

    And the last before and after a commit.
    """
    draw = random.Random(name)
    bounds = [1 + executed * part // hits for part in range(hits + 1)]
    drawn = {draw.randrange(low, high) for low, high in pairwise(bounds) if low < high}
    return sorted({*drawn, *commits[-2:], executed})


def check_interruptions(
    make: Callable[[], Any], run: Callable[[Any], object], go_on: Callable[[Any], object], hits: int, name: str
) -> None:
    """Interrupt a call of a window at points as `chosen`: it must be as before or as after, read and go on alike."""
    attempted(lambda: run(make()))  # what happens only the first time must not be counted
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
