"""`CombineFn`s: of rows, which is convenient, and of states, which is fast."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import IOTypeHints

from streameval.adapters.beam.coders import StateCoder
from streameval.adapters.engine import check_job
from streameval.tabular.job import Job, State
from streameval.tabular.rows import add_rows, is_table

_ROWS = 256
"""Rows that wait in an accumulator: enough for a call not to cost much, few enough to wait for each of many keys."""


class MergeFn(beam.CombineFn):  # type: ignore[misc]  # Beam has no types
    """Merges states of one job, for ``CombineGlobally`` and ``CombinePerKey`` of what other transforms returned.

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
        check_job(job)
        self._job = job

    def create_accumulator(self) -> Any:
        """A state that has counted nothing."""
        return self._job.fresh()

    def add_input(self, accumulator: Any, element: Any) -> Any:
        """Merge a state."""
        accumulator.merge(element)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        """Merge states into a new one: a runner may still read those that it gave."""
        total: Any = self._job.fresh()
        for part in accumulators:
            total.merge(part)
        return total

    def compact(self, accumulator: Any) -> Any:
        """The same: a state has nothing that could be left out."""
        return accumulator

    def extract_output(self, accumulator: Any) -> State:
        """An independent copy: where panes accumulate, the runner goes on with the accumulator."""
        return accumulator.copy()  # type: ignore[no-any-return]  # a state of this class

    def get_accumulator_coder(self) -> StateCoder:
        """The coder of states."""
        return StateCoder()

    def default_type_hints(self) -> Any:
        """The class of the states."""
        kind = type(self._job.fresh())
        return IOTypeHints.empty().with_output_types(kind)


class Accumulator:
    """A state, and rows that it has still to count: many are counted in one call."""

    __slots__ = ("job", "rows", "state")

    def __init__(self, job: Job, state: State) -> None:
        self.job, self.state = job, state
        self.rows: list[Any] = []

    def counted(self) -> State:
        """The state with all rows counted. If one of them is refused, none is, and asking again refuses them again."""
        if self.rows:
            add_rows(self.job, self.state, self.rows)
            self.rows = []
        return self.state


class AccumulatorCoder(StateCoder):
    """Writes what `EvaluatorFn` accumulates as the bytes of a state that has counted it all."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def encode(self, value: Accumulator) -> bytes:  # type: ignore[override]
        """The bytes of the state."""
        return value.counted().to_bytes()

    def decode(self, encoded: bytes) -> Accumulator:  # type: ignore[override]
        """The state that some bytes are of, with no row to count."""
        return Accumulator(self._job, super().decode(encoded))

    def to_type_hint(self) -> Any:
        """What is coded."""
        return Accumulator

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulatorCoder) and self._job == other._job

    def __hash__(self) -> int:
        return hash((type(self), self._job))


class EvaluatorFn(MergeFn):
    """Counts rows, for ``CombineGlobally`` and ``CombinePerKey``. An element is one row, or a table of many.

    It is the convenient form; `Evaluate` takes less time where a runner has a bundle of rows at hand. An accumulator
    keeps up to 256 rows until it counts them in one call, so an error may come after further rows were taken.

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

    def create_accumulator(self) -> Accumulator:
        """What has counted nothing."""
        return Accumulator(self._job, self._job.fresh())

    def add_input(self, accumulator: Accumulator, element: Any) -> Accumulator:
        """Take a row, or count a table."""
        if type(element) is not dict and is_table(element):
            self._job.add(accumulator.state, element)
            return accumulator
        accumulator.rows.append(element)
        if len(accumulator.rows) >= _ROWS:
            accumulator.counted()
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Accumulator]) -> Accumulator:
        """Merge into a new accumulator: a runner may still read those that it gave."""
        return Accumulator(self._job, super().merge_accumulators(part.counted() for part in accumulators))

    def compact(self, accumulator: Accumulator) -> Accumulator:
        """The same, with all rows counted."""
        accumulator.counted()
        return accumulator

    def extract_output(self, accumulator: Accumulator) -> State:
        """An independent state: where panes accumulate, the runner goes on with the accumulator."""
        return accumulator.counted().copy()

    def get_accumulator_coder(self) -> AccumulatorCoder:
        """The coder of accumulators."""
        return AccumulatorCoder(self._job)
