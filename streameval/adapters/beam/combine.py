"""States as bytes, and `CombineFn`s: of rows, which is convenient, and of states, which is fast."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam
from apache_beam.coders import Coder, registry
from apache_beam.typehints.decorators import IOTypeHints

from streameval.adapters.engine import check_job
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric, class_of
from streameval.metrics.catalogue import catalogue
from streameval.progressive.states import restored
from streameval.slices import Sliced
from streameval.tabular.job import Job, State
from streameval.tabular.rows import is_table

_ROWS = 256  # that wait in an accumulator: enough for a call to cost little, few enough for each of many keys


class StateCoder(Coder):  # type: ignore[misc]  # Beam has no types
    """Writes an `Evaluator`, a metric or a `Sliced` as its bytes. Equal states have equal bytes.

    Examples
    --------
    >>> from streameval import F1
    >>> StateCoder().decode(StateCoder().encode(F1())) == F1()
    True
    """

    def encode(self, value: State) -> bytes:
        return value.to_bytes()

    def decode(self, encoded: bytes) -> State:
        return restored(encoded)  # type: ignore[return-value]  # windows are not coded

    def is_deterministic(self) -> bool:
        return True

    def to_type_hint(self) -> Any:
        return Evaluator


for _kind in (Evaluator, Metric, Sliced, *map(class_of, catalogue())):
    registry.register_coder(_kind, StateCoder)


class MergeFn(beam.CombineFn):  # type: ignore[misc]  # Beam has no types
    """Merges states of one job, for ``CombineGlobally`` and ``CombinePerKey`` of what other transforms returned.

    Parameters
    ----------
    job
        What is counted, and how; `InputError` if it is no `Job`.
    """

    def __init__(self, job: Job) -> None:
        check_job(job)
        self._job = job

    def create_accumulator(self) -> Any:
        return self._job.fresh()

    def add_input(self, accumulator: Any, element: Any) -> Any:
        accumulator.merge(element)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        total: Any = self._job.fresh()  # since a runner may still read those that it gave
        for part in accumulators:
            total.merge(part)
        return total

    def extract_output(self, accumulator: Any) -> State:
        # Where panes accumulate, the runner goes on with the accumulator.
        return accumulator.copy()  # type: ignore[no-any-return]  # a state of this class

    def get_accumulator_coder(self) -> StateCoder:
        return StateCoder()

    def default_type_hints(self) -> Any:
        return IOTypeHints.empty().with_output_types(type(self._job.fresh()))


@dataclass(slots=True, eq=False)
class Accumulator:
    """A state, and rows that it has still to count: many are counted in one call."""

    job: Job
    state: State
    rows: list[Any] = field(default_factory=list)
    time: Any = None

    def add(self, element: Any) -> None:
        """Take a row, or count a table of many."""
        if type(element) is dict or not is_table(element):
            self.rows.append(element)
        else:
            self.job.add(self.state, element)

    def counted(self) -> State:
        """The state with all rows counted. If one of them is refused, none is, and asking again refuses them again."""
        self.job.add(self.state, self.rows)
        self.rows = []
        return self.state


class AccumulatorCoder(StateCoder):
    """Writes what `EvaluatorFn` accumulates as the bytes of a state that has counted it all."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def encode(self, value: Accumulator) -> bytes:  # type: ignore[override]
        return value.counted().to_bytes()

    def decode(self, encoded: bytes) -> Accumulator:  # type: ignore[override]
        return Accumulator(self._job, super().decode(encoded))

    def to_type_hint(self) -> Any:
        return Accumulator


class EvaluatorFn(MergeFn):
    """Counts rows, for ``CombineGlobally`` and ``CombinePerKey``. An element is one row, or a table of many.

    It is the convenient form; `Evaluate` takes less time where a runner has a bundle of rows at hand. An accumulator
    keeps up to 256 rows until it counts them in one call, so an error may come after further rows were taken.

    Parameters
    ----------
    job
        As for `MergeFn`.

    Examples
    --------
    >>> from streameval.tabular.job import Job
    >>> count = EvaluatorFn(Job.of(["f1_micro"], actual="tags", predicted="guess"))
    >>> rows = [{"tags": {"cat"}, "guess": {"cat"}}, {"tags": {"dog"}, "guess": {"cat", "dog"}}]
    >>> count.apply(rows).get()
    {'f1_micro': 0.8}
    """

    def create_accumulator(self) -> Accumulator:
        return Accumulator(self._job, self._job.fresh())

    def add_input(self, accumulator: Accumulator, element: Any) -> Accumulator:
        accumulator.add(element)
        if len(accumulator.rows) >= _ROWS:
            accumulator.counted()
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Accumulator]) -> Accumulator:
        return Accumulator(self._job, super().merge_accumulators(part.counted() for part in accumulators))

    def compact(self, accumulator: Accumulator) -> Accumulator:
        accumulator.counted()
        return accumulator

    def extract_output(self, accumulator: Accumulator) -> State:
        return accumulator.counted().copy()

    def get_accumulator_coder(self) -> AccumulatorCoder:
        return AccumulatorCoder(self._job)
