"""Counts blocks, skips bad rows, and lets Ctrl-C end it between blocks only."""

from __future__ import annotations

import gc
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from streameval.cli.reading import Arguments, Block, Source, UserError
from streameval.errors import DependencyError, LabelError, StreamevalError
from streameval.tabular.columns import Columns
from streameval.tabular.job import State
from streameval.windows.sliding import Rolling

T = TypeVar("T")

_REASONS = 3

_SELDOM = 200_000
"""Objects until Python looks for cycles among them. Rows have none, and looking takes a tenth of the time."""


class Counting:
    """The state so far, and the rows that were skipped."""

    def __init__(
        self, state: State, columns: Columns, sep: str = "|", *, window: Rolling[Any] | None = None, skip: bool = False
    ) -> None:
        self.state, self.columns, self.sep, self.window, self.skip = state, columns, sep, window, skip
        self.skipped = 0
        self.reasons: list[str] = []

    def add(self, block: Block) -> None:
        """Count a block; a bad row that is not to be skipped is an error that has its place."""
        try:
            self._count(block.arguments())
        except DependencyError:
            raise
        except (StreamevalError, ValueError):  # rows that are no JSON or no UTF-8 are ValueErrors
            for place, row in block.rows():
                try:
                    self._count(row())
                except StreamevalError as wrong:
                    self._bad(place, wrong)

    def _count(self, arguments: Arguments | None) -> None:
        if arguments is None:
            return
        self.state.update_many(**arguments)
        if self.window is not None:
            self.window.update_many(**{name: value for name, value in arguments.items() if name != "where"})

    def _bad(self, place: str, error: StreamevalError) -> None:
        text = self.columns.describe(str(error)).replace(" (row 0 of the batch)", "")
        text = _WAYS.sub("for indicators give --rows indicator, for labels --rows labels", text)
        if isinstance(error, LabelError):  # which speaks of arguments that are options here, or that there are not
            text = text.partition(", or declare the labels")[0].replace("label_limit", "--label-limit")
        column = getattr(error, "column", None)
        reason = f"{place}{'' if column is None else f':{column}'}: {text}"
        if not self.skip:
            raise UserError(reason) from None
        self.skipped += 1
        if len(self.reasons) < _REASONS:
            self.reasons.append(reason)


_WAYS = re.compile(r"for indicators give .* rows='labels'")


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


def count(sources: list[Source], counting: Counting, advance: Callable[[int], None]) -> bool:
    """Count all rows; whether Ctrl-C ended it before."""
    collected = gc.get_threshold()
    gc.set_threshold(_SELDOM, *collected[1:])
    try:
        with deferred_interrupts() as following:
            for source in sources:
                blocks = source.blocks(counting.columns, counting.sep)
                while (block := following(blocks)) is not None:
                    counting.add(block)
                    advance(block.size)
    except KeyboardInterrupt:
        return True
    finally:
        gc.set_threshold(*collected)
    return False
