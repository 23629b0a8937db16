"""Raising between any two instructions of the package, as a signal handler may."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import streameval as se

PACKAGE = str(Path(se.__file__).parent)


class Interrupted(BaseException):
    """What a signal handler may raise between any two instructions."""


def interrupted(call: Callable[[], object], *hits: int) -> int:
    """Run, raising before the given instructions executed in the package; how many were executed.

    In a thread of its own, since an interpreter that is interrupted while it enters a handler may forget to leave it.
    """
    executed = 0
    escaped: list[BaseException] = []

    def trace(frame, event, arg):
        nonlocal executed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            executed += 1
            if executed in hits:
                raise Interrupted
        return trace

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


def chosen(executed: int, hits: int, name: str) -> list[int]:
    """So many of the instructions: one at random in each of so many stretches, always the same ones, and the last."""
    draw = random.Random(name)
    bounds = [1 + executed * part // hits for part in range(hits + 1)]
    drawn = {draw.randrange(low, high) for low, high in pairwise(bounds) if low < high}
    return sorted({*drawn, executed})
