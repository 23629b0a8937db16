"""What windows fire, pane by pane, put together again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import apache_beam as beam
from apache_beam.transforms.trigger import AccumulationMode
from apache_beam.transforms.window import GlobalWindow

from streameval.delivery.encoding import digest
from streameval.errors import InputError, MergeError
from streameval.progressive.states import restored
from streameval.schema.text import quoted
from streameval.tabular.job import State


class Firing(NamedTuple):
    """A pane of a window, as plain values.

    Attributes
    ----------
    key
        The key, or None.
    start, end
        The bounds of the window in microseconds since 1970; None for the global window.
    pane
        Which of the window's panes this is, from 0 on.
    state
        The bytes of the state.
    timing
        ``"EARLY"``, ``"ON_TIME"``, ``"LATE"`` or ``"UNKNOWN"``.
    is_last
        Whether no pane of the window comes after it.
    """

    key: Any
    start: int | None
    end: int | None
    pane: int
    state: bytes
    timing: str = "UNKNOWN"
    is_last: bool = False


class Firings(beam.PTransform):  # type: ignore[misc]  # Beam has no types
    """From states, or (key, state), to a `Firing` each: what `Panes` takes.

    Examples
    --------
    >>> states | Firings() | WriteSomewhere()  # doctest: +SKIP
    """

    def expand(self, pcoll: Any) -> Any:
        return pcoll | beam.Map(_firing)


def _firing(element: Any, window: Any = beam.DoFn.WindowParam, pane: Any = beam.DoFn.PaneInfoParam) -> Firing:
    key, state = element if isinstance(element, tuple) else (None, element)
    start, end = (None, None) if isinstance(window, GlobalWindow) else (window.start.micros, window.end.micros)
    timing = beam.utils.windowed_value.PaneInfoTiming.to_string(pane.timing)
    return Firing(key, start, end, pane.index, state.to_bytes(), timing, pane.is_last)


class Place(NamedTuple):
    """Which window: its key, and its bounds in microseconds, None for the global window."""

    key: Any
    start: int | None
    end: int | None

    def within(self, other: Place) -> bool:
        """Whether a window is within another one of the same key, and not the same."""
        mine, theirs = (self.start, self.end), (other.start, other.end)
        if mine == theirs or self.key != other.key or None in (*mine, *theirs):
            return False
        return bool(other.start <= self.start and self.end <= other.end)  # type: ignore[operator]


@dataclass(slots=True)
class _Window:
    """What is known of one window: its state, the latest pane, and a digest of each pane's state."""

    place: Place
    state: Any
    latest: int = -1
    digests: dict[int, bytes] = field(default_factory=dict)


class Panes:
    """Puts the panes of windows together, in whatever order and however often they come.

    A pane that accumulates holds all that its window has counted, so the latest takes the place of those before. A
    pane that discards holds what came since the last one, so all are merged. A pane that comes again counts once.

    Parameters
    ----------
    mode
        ``"accumulating"`` or ``"discarding"``, as the collection was windowed; Beam's ``AccumulationMode`` too.
    sessions
        Whether windows are sessions, which grow: a window within another of its key is then an earlier stage of it.

    Examples
    --------
    >>> from streameval import F1
    >>> monday = F1()
    >>> monday.update({"cat"}, {"cat"})
    >>> panes = Panes("discarding")
    >>> for index in (0, 1, 1):  # the last comes twice
    ...     panes.put(Firing(None, 0, 86_400_000_000, index, monday.to_bytes()))
    >>> panes.total().examples
    2
    """

    def __init__(
        self, mode: Literal["accumulating", "discarding"] | AccumulationMode, *, sessions: bool = False
    ) -> None:
        accumulating = ("accumulating", AccumulationMode.ACCUMULATING)
        if isinstance(mode, bool) or mode not in (*accumulating, "discarding", AccumulationMode.DISCARDING):
            raise InputError(f"mode must be 'accumulating' or 'discarding', not {quoted(mode)}")
        self._replaces, self._sessions = mode in accumulating, bool(sessions)
        self._windows: dict[Hashable, _Window] = {}

    def put(self, firing: Firing) -> None:
        """Take a pane.

        `MergeError` if it was taken before with another state, or is of another job, and `FormatError` if its state is
        damaged; nothing has changed then.
        """
        place = Place(firing.key, firing.start, firing.end)
        name = (type(firing.key), *place)  # to Python, 1 and True are the same key
        window, tag = self._windows.get(name), digest(firing.state)
        if window is not None and firing.pane in window.digests:
            if window.digests[firing.pane] == tag:
                return
            before = f"pane {firing.pane} of {place} came before with another state"
            raise MergeError(f"{before}; collect the panes of one run of one pipeline")
        state: Any = restored(firing.state)
        if self._windows:  # what is of another job is refused
            whole = state + (window or next(iter(self._windows.values()))).state
        if window is None:
            window = self._windows[name] = _Window(place, state)
        elif not self._replaces:
            window.state = whole
        elif firing.pane > window.latest:
            window.state = state
        window.latest = max(window.latest, firing.pane)
        window.digests[firing.pane] = tag

    def states(self) -> dict[Place, State]:
        """The state of each window, as independent objects; of sessions, only of those that are within no other."""
        windows = list(self._windows.values())
        if self._sessions and self._replaces:
            windows = [w for w in windows if not any(w.place.within(other.place) for other in windows)]
        return {window.place: window.state.copy() for window in windows}

    def total(self) -> State:
        """All windows merged, as a new object. Where windows overlap, a row counts once for each."""
        if not self._windows:
            raise InputError("no pane was taken, so it is not known what was counted; put at least one")
        total, *parts = self.states().values()
        for part in parts:
            total.merge(part)  # type: ignore[arg-type]  # states are of one class
        return total
