"""Windows that follow each other without overlap."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic

from streameval.errors import InputError, public
from streameval.evaluation.counting import A
from streameval.evaluation.guarding import absent, reads
from streameval.windows.blocks import Blocks, WindowState
from streameval.windows.times import Clock, Period, clock_of, whole
from streameval.wire.envelope import TUMBLING


@public
@dataclass(frozen=True, slots=True, eq=False)
class ClosedWindow(Generic[A]):
    """A finished window of `Tumbling`.

    Attributes
    ----------
    index
        Its number: windows of examples count from 0, windows of time from the one that starts at 1970-01-01, or at 0.
    start, end
        Its range of example numbers, which count from 0, or of times; the end is exclusive.
    evaluator
        An independent evaluator or metric with its examples.
    """

    index: int
    start: int | datetime | float
    end: int | datetime | float
    evaluator: A


setattr(ClosedWindow, "get", absent("get", "call evaluator.get()"))  # noqa: B010  # documentation leaves it out


@public
class Tumbling(Blocks[A]):
    """Metrics of consecutive windows: of a number of examples each, or of a period of time.

    `get` and the other methods read the window in progress; `closed` and `last` hold those before it.

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing, else `InputError`. It is copied.
    size
        How many examples a window takes; it closes with the last of them. Either this or ``period``.
    period
        How long a window is: a `datetime.timedelta` if times are dates, a number if they are numbers. One window starts
        at 1970-01-01, or at 0. Windows without examples are not among the closed ones.
    history
        How many windows before the one in progress are stored. With a ``period``, a late example is counted in its
        window if that is still stored, and refused otherwise.

    Examples
    --------
    >>> from streameval import F1
    >>> f1 = Tumbling(F1(average="micro"), size=2)
    >>> for y_true, y_pred in [({"cat"}, {"dog"}), ({"cat"}, {"cat"}), ({"dog"}, {"dog"})]:
    ...     f1.update(y_true, y_pred)
    >>> f1.get(), f1.last.evaluator.get(), f1.last.start, f1.last.end
    (1.0, 0.5, 0, 2)
    """

    __slots__ = ()
    _holder: ClassVar[int] = TUMBLING
    _in_time: ClassVar[str] = "give period=... in place of size="

    def __init__(
        self, evaluator: A, *, size: int | None = None, period: Period | None = None, history: int = 1
    ) -> None:
        self._history = whole(history, "history", 0)
        if (size is None) == (period is None):
            raise InputError("Tumbling takes either size=..., in examples, or period=..., in time; give one of them")
        clock = clock_of(period, "period") if size is None else Clock(whole(size, "size"))
        self._begin(evaluator, clock)

    @property
    @reads
    def index(self) -> int | None:
        """The number of the window in progress; None before the first time."""
        return self._state.newest

    @property
    @reads
    def closed(self) -> tuple[ClosedWindow[A], ...]:
        """The finished windows in ``history`` that have examples, oldest first, as independent values."""
        state = self._state
        return tuple(self._closed(state, index) for index in sorted(state.blocks) if index != state.newest)

    @property
    @reads
    def last(self) -> ClosedWindow[A] | None:
        """The newest of `closed`; None if there is none."""
        state = self._state
        closed = [index for index in state.blocks if index != state.newest]
        return self._closed(state, max(closed)) if closed else None

    def _closed(self, state: WindowState[A], index: int) -> ClosedWindow[A]:
        return ClosedWindow(index, *self._edges(index, state.aware), state.blocks[index].copy())

    def _current(self) -> A:
        state = self._state
        block = None if state.newest is None else state.blocks.get(state.newest)
        return self._template.copy() if block is None else block

    def _parameters(self) -> dict[str, object]:
        return {"period" if self.timed else "size": self._clock.span(), "history": self._history}
