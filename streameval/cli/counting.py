"""Blocks counted, bad rows found, and Ctrl-C that never falls between."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, TypeAlias

from streameval.cli.rows import Block, Given, Place, UserError
from streameval.cli.sources import Source
from streameval.errors import DependencyError, StreamevalError
from streameval.tabular.columns import Columns
from streameval.tabular.job import State
from streameval.windows.sliding import Rolling

__all__ = ["Counting", "Interrupts", "count"]

Advance: TypeAlias = Callable[[int], None]

_SHOWN = 3

_SELDOM = 200_000
"""Objects until Python looks for cycles among them. Rows have none, and looking takes a tenth of the time."""


class Counting:
    """What is counted so far, and what was skipped."""

    def __init__(
        self, state: State, columns: Columns, *, window: Rolling[Any] | None = None, skip: bool = False
    ) -> None:
        self.state, self.columns, self.window = state, columns, window
        self.skipped = 0
        self.reasons: list[str] = []
        self._skip = skip

    def add(self, block: Block) -> None:
        """Count a block.

        Raises
        ------
        UserError
            If a row is bad and is not to be skipped; the message has its place.
        """
        try:
            given = block.whole()
            if given is not None:
                self._count(given)
        except DependencyError:
            raise
        except (StreamevalError, ValueError):  # rows that are no JSON or no UTF-8 are ValueErrors
            self._one_by_one(block)

    def _one_by_one(self, block: Block) -> None:
        for place, row in block.each():
            try:
                self._count(row())
            except StreamevalError as error:
                self._bad(place, error)

    def _count(self, given: Given) -> None:
        self.state.update_many(**given)
        if self.window is not None:
            self.window.update_many(**{name: value for name, value in given.items() if name != "where"})

    def _bad(self, place: Place, error: StreamevalError) -> None:
        text = self.columns.describe(str(error)).replace(", row 0 of the batch", "")
        told = f"{replace(place, column=getattr(error, 'column', None))}: {text}"
        if not self._skip:
            raise UserError(told) from None
        self.skipped += 1
        if len(self.reasons) < _SHOWN:
            self.reasons.append(told)


class Interrupts:
    """Ctrl-C, which ends a wait for input at once, and otherwise waits until a block is counted."""

    def __init__(self) -> None:
        self._asked = self._may = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Where Ctrl-C is for us."""
        if threading.current_thread() is not threading.main_thread():  # which alone receives signals
            yield
            return
        before = signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._may or self._asked:
            raise KeyboardInterrupt
        self._asked = True

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Where nothing is lost by an interruption."""
        self._may = True
        try:
            if self._asked:
                raise KeyboardInterrupt
            yield
        finally:
            self._may = False


@contextmanager
def _seldom_collected() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_SELDOM, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def count(sources: list[Source], counting: Counting, *, sep: str, advance: Advance) -> bool:
    """Count all rows; whether Ctrl-C ended it before."""
    interrupts = Interrupts()
    with _seldom_collected(), interrupts.caught():
        try:
            for source in sources:
                blocks = source.blocks(counting.columns, sep)
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
