"""Transforms from rows or tables to states: counted within each bundle, combined over all."""

from __future__ import annotations

from typing import Any, Unpack

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints import KV
from apache_beam.typehints import Any as AnyType

from streameval.adapters.beam.combine import MergeFn
from streameval.adapters.beam.count import COMBINED, Count, CountAll
from streameval.errors import InputError
from streameval.tabular.job import Job, JobOptions, Metrics


class Evaluate(beam.PTransform):  # type: ignore[misc]  # Beam has no types
    """Count the elements of a collection: one state for each window, and each pane of it.

    Parameters
    ----------
    actual, predicted, metrics, **options
        As for `streameval.evaluate`. With ``by``, the state is a `Sliced`. An element is a row, that is a mapping, a
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
        self._job = job or Job.of(
            metrics,
            actual=actual,  # type: ignore[arg-type]  # None is refused there
            predicted=predicted,
            **options,
        )

    def expand(self, pcoll: Any) -> Any:
        """The states of ``pcoll``; Beam calls this."""
        merge, kind = MergeFn(self._job), type(self._job.fresh())
        windowing = pcoll.windowing
        default = windowing.windowfn == GlobalWindows() and windowing.triggerfn == _DEFAULT
        combined = COMBINED.get(windowing.timestamp_combiner)
        count = beam.ParDo((CountAll if default and combined is None else Count)(self._job, self._keyed, combined))
        if self._keyed:
            counted = pcoll | "Count" >> count.with_output_types(KV[AnyType, kind])
            return counted | "Merge" >> beam.CombinePerKey(merge)
        counted = pcoll | "Count" >> count.with_output_types(kind)
        combine = beam.CombineGlobally(merge)
        return counted | "Merge" >> (combine if default else combine.without_defaults())


class EvaluatePerKey(Evaluate):
    """Count the elements of each key: from (key, row or table) to (key, state), for each window and pane.

    Parameters and errors are those of `Evaluate`. The number of keys is not bounded.

    Examples
    --------
    >>> keyed | EvaluatePerKey(actual="tags", predicted="guess", metrics=["f1_micro"])  # doctest: +SKIP
    """

    _keyed = True


_DEFAULT = beam.transforms.trigger.DefaultTrigger()
