"""`CombineFn`s: of rows, which is convenient, and of states, which is fast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import IOTypeHints

from streameval.adapters.beam.coding import StateCoder
from streameval.columns import Job, State
from streameval.columns.rows import add_items
from streameval.errors import InputError, shown

__all__ = ["EvaluatorFn", "MergeFn"]


class MergeFn(beam.CombineFn):  # type: ignore[misc]  # Beam is untyped here
    """Merges states of one job, for ``CombineGlobally`` and ``CombinePerKey`` of what `EvaluatorFn` or others gave.

    Parameters
    ----------
    job
        What was counted, and how.

    Raises
    ------
    InputError
        If it is no `Job`.
    """

    def __init__(self, job: Job) -> None:
        if not isinstance(job, Job):
            raise InputError(f"job must be a Job, such as Job.of(['f1_micro'], actual=...), not {shown(job)}")
        self._job = job

    def create_accumulator(self) -> State:
        """A state that has counted nothing."""
        return self._job.fresh()

    def add_input(self, accumulator: State, element: Any) -> State:
        """Merge a state."""
        accumulator.merge(element)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[State]) -> State:
        """Merge states into a new one: a runner may still read those that it gave."""
        total: Any = self._job.fresh()
        for part in accumulators:
            total.merge(part)
        return total  # type: ignore[no-any-return]  # what merge changed is what fresh gave

    def compact(self, accumulator: State) -> State:
        """The same: a state has nothing that could be left out."""
        return accumulator

    def extract_output(self, accumulator: State) -> State:
        """An independent copy: where panes accumulate, the runner goes on with the accumulator."""
        return accumulator.copy()

    def get_accumulator_coder(self) -> StateCoder:
        """The coder of states."""
        return StateCoder()

    def default_type_hints(self) -> Any:
        """What is given and made."""
        kind = type(self._job.fresh())
        return IOTypeHints.empty().with_output_types(kind)


class EvaluatorFn(MergeFn):
    """Counts rows, for ``CombineGlobally`` and ``CombinePerKey``. An element is one row, or a table of many.

    It is the convenient form; a runner that calls it for each row takes several times as long as `Evaluate`, which
    counts many rows in one call.

    Parameters
    ----------
    job
        What to count, and how.

    Raises
    ------
    InputError
        If it is no `Job`.

    Examples
    --------
    >>> from streameval import Job
    >>> count = EvaluatorFn(Job.of(["f1_micro"], actual="tags", predicted="guess"))
    >>> rows = [{"tags": {"cat"}, "guess": {"cat"}}, {"tags": {"dog"}, "guess": {"cat", "dog"}}]
    >>> count.apply(rows).get()
    {'f1_micro': 0.8}
    """

    def add_input(self, accumulator: State, element: Any) -> State:
        """Count a row, or a table."""
        add_items(self._job, accumulator, (element,))
        return accumulator

    def add_inputs(self, accumulator: State, elements: Iterable[Any]) -> State:
        """Count rows and tables, many in one call."""
        add_items(self._job, accumulator, elements)
        return accumulator
