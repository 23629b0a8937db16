"""Transforms from rows or tables to states: counted within each bundle, combined over all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Unpack, cast

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow, GlobalWindows, TimestampCombiner
from apache_beam.typehints import KV
from apache_beam.typehints import Any as AnyType
from apache_beam.utils.windowed_value import WindowedValue

from streameval.adapters.beam.combine import Accumulator, MergeFn
from streameval.errors import InputError
from streameval.tabular.job import Job, JobOptions, Metrics

_DEFAULT = beam.transforms.trigger.DefaultTrigger()
_GLOBALLY = WindowedValue(None, GlobalWindow().max_timestamp(), (GlobalWindow(),))

_ELEMENTS = 20_000  # how many elements a bundle holds before it counts them

_COMBINED: dict[Any, Any] = {TimestampCombiner.OUTPUT_AT_EARLIEST: min, TimestampCombiner.OUTPUT_AT_LATEST: max}
"""Which of two times what comes out has; where it has that of the window's end, any time will do."""


class Count(beam.DoFn):  # type: ignore[misc]  # Beam has no types
    """States of the elements of a bundle, for each set of windows that elements are in, and each key."""

    def __init__(self, job: Job, keyed: bool, combined: Callable[[Any, Any], Any] | None) -> None:
        self._job, self._keyed, self._combined = job, keyed, combined

    def start_bundle(self) -> None:
        self._states: dict[Any, dict[Any, Accumulator]] = {}
        self._windows: Any = None
        self._current: dict[Any, Accumulator] = {}
        self._count = 0

    def process(self, element: Any, value: Any = beam.DoFn.WindowedValueParam) -> Iterable[Any] | None:
        return self._take(element, value.windows, value)

    def _take(self, element: Any, windows: Any, value: Any) -> Iterable[Any] | None:
        # No generator, and no hash of windows that came just before: these took as long as all the rest.
        if windows is not self._windows and windows != self._windows:
            self._windows, self._current = windows, self._states.setdefault(tuple(windows), {})
        key, item = element if self._keyed else (None, element)
        counted = self._current.get(key)
        if counted is None:
            counted = self._current[key] = Accumulator(self._job, self._job.fresh(), time=value.timestamp)
        elif self._combined is not None:
            counted.time = self._combined(counted.time, value.timestamp)
        counted.add(item)
        self._count += 1
        return self.finish_bundle() if self._count >= _ELEMENTS else None

    def finish_bundle(self) -> Iterator[Any]:
        for windows, of_windows in self._states.items():
            for key, counted in of_windows.items():
                state = counted.counted()
                yield WindowedValue((key, state) if self._keyed else state, counted.time, windows)
        self.start_bundle()


class CountAll(Count):
    """The same where there is one window and its end is the time of what comes out: Beam takes long to tell these."""

    def process(self, element: Any) -> Iterable[Any] | None:  # type: ignore[override]  # Beam gives what is asked for
        return self._take(element, _GLOBALLY.windows, _GLOBALLY)


class Evaluate(beam.PTransform):  # type: ignore[misc]  # Beam has no types
    """Count the elements of a collection: one state for each window, and each pane of it.

    Rows become states within each bundle, so a trigger such as ``AfterCount`` counts states, not rows. Errors are those
    of `evaluate_table`.

    Parameters
    ----------
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the state is a `Sliced`. An element is a row, that is a mapping, a
        ``beam.Row`` or anything with the columns as attributes; or a table of many rows: of Arrow, or a data frame.
    job
        A `Job`, in place of all these.

    Examples
    --------
    >>> rows | Evaluate(actual="tags", predicted="guess", metrics=["f1_micro"])  # doctest: +SKIP
    """

    _keyed = False

    def __init__(
        self,
        metrics: Metrics = None,
        *,
        job: Job | None = None,
        actual: str | None = None,
        predicted: str | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        super().__init__()
        if job is not None and (options or any(value is not None for value in (metrics, actual, predicted))):
            raise InputError("job says all that there is to say; leave the other arguments out")
        self._job = job or Job.of(metrics, actual=cast("str", actual), predicted=predicted, **options)

    def expand(self, pcoll: Any) -> Any:
        merge, kind = MergeFn(self._job), type(self._job.fresh())
        windowing = pcoll.windowing
        default = windowing.windowfn == GlobalWindows() and windowing.triggerfn == _DEFAULT
        combined = _COMBINED.get(windowing.timestamp_combiner)
        count = beam.ParDo((CountAll if default and combined is None else Count)(self._job, self._keyed, combined))
        counted = pcoll | "Count" >> count.with_output_types(KV[AnyType, kind] if self._keyed else kind)
        combine = (beam.CombinePerKey if self._keyed else beam.CombineGlobally)(merge)
        return counted | "Merge" >> (combine if default or self._keyed else combine.without_defaults())


class EvaluatePerKey(Evaluate):
    """Count the elements of each key: from (key, row or table) to (key, state), for each window and pane.

    Parameters and errors are those of `Evaluate`. The number of keys is not bounded.

    Examples
    --------
    >>> keyed | EvaluatePerKey(actual="tags", predicted="guess", metrics=["f1_micro"])  # doctest: +SKIP
    """

    _keyed = True
