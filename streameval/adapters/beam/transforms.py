"""Transforms from rows or tables to states: counted within each bundle, combined over all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindow, GlobalWindows, TimestampCombiner
from apache_beam.typehints import KV
from apache_beam.typehints import Any as AnyType
from apache_beam.utils.windowed_value import WindowedValue

from streameval.adapters.beam.combining import MergeFn
from streameval.columns import Job, Null, State
from streameval.columns.rows import add_items, is_table
from streameval.errors import InputError
from streameval.evaluator import MetricLike
from streameval.labels import Label

__all__ = ["Evaluate", "EvaluatePerKey"]

_AT_ONCE = 20_000
"""How many elements a bundle holds before it counts them."""


class Evaluate(beam.PTransform):  # type: ignore[misc]  # Beam is untyped here
    """Count the elements of a collection: one state for each window, and each pane of it.

    Parameters
    ----------
    metrics, actual, predicted, scores, weight, mask, by, null, threshold
        As for `streameval.Job.of`. With ``by``, the state is a `Sliced`. An element is a row, that is a mapping, a
        ``beam.Row`` or anything with the columns as attributes; or a table of many rows: of Arrow, or a data frame.
    job
        A `Job`, in place of all these.

    Raises
    ------
    InputError, LabelError, MetricError
        If an argument cannot be used.

    Notes
    -----
    Rows become states within each bundle, and only states travel. A trigger such as ``AfterCount`` therefore counts
    states, not rows. In the global window with the default trigger there is always one result, also if there are no
    rows; elsewhere there is none where there are no rows.

    Examples
    --------
    >>> rows | Evaluate(actual="tags", predicted="guess", metrics=["f1_micro"])  # doctest: +SKIP
    """

    _keyed = False

    def __init__(
        self,
        metrics: Iterable[MetricLike] | State | None = None,
        *,
        actual: str | None = None,
        predicted: str | None = None,
        scores: str | None = None,
        weight: str | None = None,
        mask: str | None = None,
        by: str | Iterable[str] | None = None,
        null: Null = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        job: Job | None = None,
    ) -> None:
        super().__init__()
        given = (metrics, actual, predicted, scores, weight, mask, by, threshold)
        if job is not None and any(value is not None for value in given):
            raise InputError("job says all that there is to say; leave the other arguments out")
        self._job = job or Job.of(
            metrics,
            actual=actual,  # type: ignore[arg-type]  # it is refused there
            predicted=predicted,
            scores=scores,
            weight=weight,
            mask=mask,
            by=by,
            null=null,
            threshold=threshold,
        )

    def expand(self, pcoll: Any) -> Any:
        """The states of ``pcoll``; Beam calls this."""
        merge, kind = MergeFn(self._job), type(self._job.fresh())
        windowing = pcoll.windowing
        default = windowing.windowfn == GlobalWindows() and windowing.triggerfn == _DEFAULT
        plain = default and windowing.timestamp_combiner == TimestampCombiner.OUTPUT_AT_EOW
        made = beam.ParDo((_CountAll if plain else _Count)(self._job, self._keyed))
        if self._keyed:
            counted = pcoll | "Count" >> made.with_output_types(KV[AnyType, kind])
            return counted | "Merge" >> beam.CombinePerKey(merge)
        counted = pcoll | "Count" >> made.with_output_types(kind)
        together = beam.CombineGlobally(merge)
        return counted | "Merge" >> (together if default else together.without_defaults())


class EvaluatePerKey(Evaluate):
    """Count the elements of each key: from (key, row or table) to (key, state), for each window and pane.

    Parameters and errors are those of `Evaluate`. The number of keys is not bounded.

    Examples
    --------
    >>> keyed | EvaluatePerKey(actual="tags", predicted="guess", metrics=["f1_micro"])  # doctest: +SKIP
    """

    _keyed = True


_DEFAULT = beam.transforms.trigger.DefaultTrigger()


class _Count(beam.DoFn):  # type: ignore[misc]  # Beam is untyped here
    """States of the elements of a bundle, for each window, and each key."""

    def __init__(self, job: Job, keyed: bool) -> None:
        self._job, self._keyed = job, keyed

    def start_bundle(self) -> None:
        self._held: dict[Any, dict[Any, tuple[Any, State, list[Any]]]] = {}
        self._window: Any = None
        self._here: dict[Any, tuple[Any, State, list[Any]]] = {}
        self._count = 0

    def process(
        self, element: Any, window: Any = beam.DoFn.WindowParam, timestamp: Any = beam.DoFn.TimestampParam
    ) -> Iterable[Any] | None:
        return self._take(element, window, timestamp)

    def _take(self, element: Any, window: Any, timestamp: Any) -> Iterable[Any] | None:
        # No generator, and no hash of a window that came just before: these took as long as all the rest.
        key, item = element if self._keyed else (None, element)
        if window is not self._window:
            self._window, self._here = window, self._held.setdefault(window, {})
        held = self._here.get(key)
        if held is None:
            held = self._here[key] = (timestamp, self._job.fresh(), [])
        if type(item) is dict or not is_table(item):
            held[2].append(item)
        else:
            self._job.add(held[1], item)
        self._count += 1
        return self.finish_bundle() if self._count >= _AT_ONCE else None

    def finish_bundle(self) -> Iterator[Any]:
        for window, of_window in self._held.items():
            for key, (timestamp, state, rows) in of_window.items():
                add_items(self._job, state, rows)
                yield WindowedValue((key, state) if self._keyed else state, timestamp, (window,))
        self.start_bundle()


class _CountAll(_Count):
    """The same where there is one window and its end is the time of what comes out: Beam takes long to tell these."""

    def process(self, element: Any) -> Iterable[Any] | None:  # type: ignore[override]  # Beam gives what is asked for
        return self._take(element, _GLOBAL, _END)


_GLOBAL = GlobalWindow()
_END = _GLOBAL.max_timestamp()
