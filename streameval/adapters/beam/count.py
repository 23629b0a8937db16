"""Counting the elements of a bundle, before anything travels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow, TimestampCombiner
from apache_beam.utils.windowed_value import WindowedValue

from streameval.tabular.job import Job, State
from streameval.tabular.rows import add_items, is_table

_ELEMENTS = 20_000
"""How many elements a bundle holds before it counts them."""

COMBINED: dict[Any, Callable[[Any, Any], Any]] = {
    TimestampCombiner.OUTPUT_AT_EARLIEST: min,
    TimestampCombiner.OUTPUT_AT_LATEST: max,
}
"""Which of two times what comes out has; where it has that of the window's end, any time will do."""


@dataclass(slots=True)
class _Counted:
    time: Any
    state: State
    rows: list[Any]


class Count(beam.DoFn):  # type: ignore[misc]  # Beam has no types
    """States of the elements of a bundle, for each set of windows that elements are in, and each key."""

    def __init__(self, job: Job, keyed: bool, combined: Callable[[Any, Any], Any] | None) -> None:
        self._job, self._keyed, self._combined = job, keyed, combined

    def start_bundle(self) -> None:
        """Begin with nothing counted."""
        self._states: dict[Any, dict[Any, _Counted]] = {}
        self._windows: Any = None
        self._current: dict[Any, _Counted] = {}
        self._count = 0

    def process(self, element: Any, value: Any = beam.DoFn.WindowedValueParam) -> Iterable[Any] | None:
        """Take an element; the states of all so far if there are many."""
        return self._take(element, value.windows, value)

    def _take(self, element: Any, windows: Any, value: Any) -> Iterable[Any] | None:
        # No generator, and no hash of windows that came just before: these took as long as all the rest.
        if windows is not self._windows and windows != self._windows:
            self._windows, self._current = windows, self._states.setdefault(tuple(windows), {})
        key, item = element if self._keyed else (None, element)
        counted = self._current.get(key)
        if counted is None:
            counted = self._current[key] = _Counted(value.timestamp, self._job.fresh(), [])
        elif self._combined is not None:
            counted.time = self._combined(counted.time, value.timestamp)
        if type(item) is dict or not is_table(item):
            counted.rows.append(item)
        else:
            self._job.add(counted.state, item)
        self._count += 1
        return self.finish_bundle() if self._count >= _ELEMENTS else None

    def finish_bundle(self) -> Iterator[Any]:
        """The states of all elements that were taken."""
        for windows, of_windows in self._states.items():
            for key, counted in of_windows.items():
                add_items(self._job, counted.state, counted.rows)
                yield WindowedValue((key, counted.state) if self._keyed else counted.state, counted.time, windows)
        self.start_bundle()


class CountAll(Count):
    """The same where there is one window and its end is the time of what comes out: Beam takes long to tell these."""

    def process(self, element: Any) -> Iterable[Any] | None:  # type: ignore[override]  # Beam gives what is asked for
        """Take an element, whatever its time."""
        return self._take(element, _GLOBALLY.windows, _GLOBALLY)


_GLOBALLY = WindowedValue(None, GlobalWindow().max_timestamp(), (GlobalWindow(),))
