"""Measures of the work of a call that hardly vary between runs, because they use no clock."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import streameval as se

PACKAGE = str(Path(se.__file__).parent)


def steps(act: Callable[[], object]) -> int:
    """How many instructions the interpreter executes in the package during a call."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    assert count, "no instruction of the package was traced"
    return count


def peak(act: Callable[[], object]) -> int:
    """The peak of the bytes allocated during a call, as `tracemalloc` counts them, above the amount before the call."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
