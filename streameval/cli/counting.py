"""Counts the blocks of files, and lets Ctrl-C end it between blocks only."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TypeVar

from streameval.cli.reading import Source
from streameval.tabular.blocks import Counting

T = TypeVar("T")

_SELDOM = 200_000
"""Objects until Python looks for cycles among them. Rows have none, and looking takes a tenth of the time."""


@contextmanager
def deferred_interrupts() -> Iterator[Callable[[Iterator[T]], T | None]]:
    """What takes the next of some items: Ctrl-C ends its wait at once, and otherwise comes with the next item."""
    requested = waiting = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal requested
        if waiting or requested:
            raise KeyboardInterrupt
        requested = True

    def following(items: Iterator[T]) -> T | None:
        nonlocal waiting
        waiting = True
        try:
            if requested:
                raise KeyboardInterrupt
            return next(items, None)
        finally:
            waiting = False

    if threading.current_thread() is not threading.main_thread():  # no other receives signals
        yield following
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield following
    finally:
        signal.signal(signal.SIGINT, before)


def count(
    sources: list[Source], counting: Counting, advance: Callable[[int], None], *, allow_empty: bool = False
) -> bool:
    """Count all rows; whether Ctrl-C ended it before."""
    collected = gc.get_threshold()
    gc.set_threshold(_SELDOM, *collected[1:])
    try:
        with deferred_interrupts() as following:
            for source in sources:
                if source.growing is not None:
                    source.growing.raw.tick = partial(advance, 0)
                blocks = source.blocks(counting.job.columns, allow_empty=allow_empty)
                while (block := following(blocks)) is not None:
                    counting.add(block)
                    advance(block.size)
                    block = None  # while the next is read
    except KeyboardInterrupt:
        return True
    finally:
        gc.set_threshold(*collected)
    return False
