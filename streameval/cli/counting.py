"""Counts blocks, skips bad rows, and lets Ctrl-C end it between blocks only."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

from streameval.cli.rows import Arguments, Block, UserError
from streameval.cli.sources import Source
from streameval.errors import DependencyError, StreamevalError
from streameval.tabular.columns import Columns
from streameval.tabular.job import State
from streameval.windows.sliding import Rolling

Advance: TypeAlias = Callable[[int], None]

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
        text = self.columns.describe(str(error)).replace(", row 0 of the batch", "")
        column = getattr(error, "column", None)
        reason = f"{place}: {text}" if column is None else f"{place}:{column}: {text}"
        if not self.skip:
            raise UserError(reason) from None
        self.skipped += 1
        if len(self.reasons) < _REASONS:
            self.reasons.append(reason)


class Interrupts:
    """Ctrl-C, which ends a wait for input at once, and otherwise waits until a block is counted."""

    def __init__(self) -> None:
        self._requested = self._allowed = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Handle Ctrl-C within."""
        if threading.current_thread() is not threading.main_thread():  # no other receives signals
            yield
            return
        before = signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._allowed or self._requested:
            raise KeyboardInterrupt
        self._requested = True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let Ctrl-C interrupt within."""
        self._allowed = True
        try:
            if self._requested:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False


@contextmanager
def _seldom_collected() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def count(sources: list[Source], counting: Counting, advance: Advance) -> bool:
    """Count all rows; whether Ctrl-C ended it before."""
    interrupts = Interrupts()
    with _seldom_collected(), interrupts.caught():
        try:
            for source in sources:
                blocks = source.blocks(counting.columns, counting.sep)
                while True:
                    with interrupts.allowed():
                        block = next(blocks, None)
                    if block is None:
                        break
                    counting.add(block)
                    advance(block.size)
        except KeyboardInterrupt:
            return True
    return False
