"""Beam: rows or tables become states where they are, states are combined, globally, per key and per window."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal, NamedTuple, Unpack

from streameval.adapters.engine import check_job, require
from streameval.delivery.ledger import Ledger
from streameval.errors import InputError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric, class_of
from streameval.metrics.catalogue import catalogue
from streameval.progressive.holder import read_state
from streameval.schema.text import check_choice, quoted
from streameval.slices import Sliced
from streameval.tabular.job import Job, JobOptions, Metrics, State

with require("beam"):
    import apache_beam as beam
    from apache_beam.coders import Coder, registry
    from apache_beam.transforms.window import GlobalWindow, GlobalWindows
    from apache_beam.typehints.decorators import IOTypeHints

    from streameval.tabular.rows import is_table

__all__ = ["Evaluate", "EvaluatePerKey", "EvaluatorFn", "Firing", "Firings", "Panes", "StateCoder"]

_STATES = (Evaluator, Metric, Sliced)
_DEFAULT = beam.transforms.trigger.DefaultTrigger()


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
        return read_state(encoded)  # type: ignore[return-value]  # no coder is registered for windows

    def is_deterministic(self) -> bool:
        return True

    def to_type_hint(self) -> Any:
        return Evaluator


for _kind in (*_STATES, *map(class_of, catalogue())):
    registry.register_coder(_kind, StateCoder)


class EvaluatorFn(beam.CombineFn):  # type: ignore[misc]  # Beam has no types
    """Counts rows, for ``CombineGlobally`` and ``CombinePerKey``.

    An element is one row, a table of many, or a state of the same job, which is merged.

    Parameters
    ----------
    job
        What is counted, and how; `InputError` if it is no `Job`.

    Examples
    --------
    >>> from streameval.tabular.job import Job
    >>> count = EvaluatorFn(Job.of(["f1_micro"], actual="tags", predicted="guess"))
    >>> rows = [{"tags": {"cat"}, "guess": {"cat"}}, {"tags": {"dog"}, "guess": {"cat", "dog"}}]
    >>> count.apply(rows).get()
    {'f1_micro': 0.8}
    """

    def __init__(self, job: Job) -> None:
        check_job(job)
        self._job = job

    def create_accumulator(self) -> Any:
        return self._job.fresh()

    def add_input(self, accumulator: Any, element: Any) -> Any:
        if isinstance(element, _STATES):
            accumulator.merge(element)
        else:
            is_many = type(element) is not dict and is_table(element)
            self._job.add(accumulator, element if is_many else [element])
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        total: Any = self._job.fresh()  # a runner may still read the accumulators
        for part in accumulators:
            total.merge(part)
        return total

    def extract_output(self, accumulator: Any) -> State:
        # If panes accumulate, the runner continues to add to the accumulator.
        return accumulator.copy()  # type: ignore[no-any-return]  # a state of this class

    def get_accumulator_coder(self) -> StateCoder:
        return StateCoder()

    def default_type_hints(self) -> Any:
        return IOTypeHints.empty().with_output_types(type(self._job.fresh()))


class Evaluate(beam.PTransform):  # type: ignore[misc]  # Beam has no types
    """Count the elements of a collection: one state for each window, and each pane of it.

    It is `EvaluatorFn` with a job of its own. Errors are those of `evaluate_table`.

    Parameters
    ----------
    actual, predicted, metrics, **options
        As for `evaluate_table`. With ``by``, the state is a `Sliced`. An element is a row, that is a mapping, a
        ``beam.Row`` or anything with the columns as attributes; or a table of many rows: of Arrow, or a data frame.
    """

    _keyed = False

    def __init__(
        self, metrics: Metrics = None, *, actual: str, predicted: str | None = None, **options: Unpack[JobOptions]
    ) -> None:
        super().__init__()
        self._job = Job.of(metrics, actual=actual, predicted=predicted, **options)

    def expand(self, pcoll: Any) -> Any:
        windowing = pcoll.windowing
        default = windowing.windowfn == GlobalWindows() and windowing.triggerfn == _DEFAULT
        combine = (beam.CombinePerKey if self._keyed else beam.CombineGlobally)(EvaluatorFn(self._job))
        return pcoll | "Count" >> (combine if default or self._keyed else combine.without_defaults())


class EvaluatePerKey(Evaluate):
    """Count the elements of each key: from (key, row or table) to (key, state), for each window and pane.

    Parameters and errors are those of `Evaluate`. The number of keys is not bounded.
    """

    _keyed = True


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
    """

    key: Any
    start: int | None
    end: int | None
    pane: int
    state: bytes
    timing: str = "UNKNOWN"


class Firings(beam.PTransform):  # type: ignore[misc]  # Beam has no types
    """From states, or (key, state), to a `Firing` each: what `Panes` takes."""

    def expand(self, pcoll: Any) -> Any:
        return pcoll | beam.Map(_firing)


def _firing(element: Any, window: Any = beam.DoFn.WindowParam, pane: Any = beam.DoFn.PaneInfoParam) -> Firing:
    key, state = element if isinstance(element, tuple) else (None, element)
    start, end = (None, None) if isinstance(window, GlobalWindow) else (window.start.micros, window.end.micros)
    timing = beam.utils.windowed_value.PaneInfoTiming.to_string(pane.timing)
    return Firing(key, start, end, pane.index, state.to_bytes(), timing)


class Place(NamedTuple):
    """The identity of a window: its key, and its bounds in microseconds, None for the global window."""

    key: Any
    start: int | None
    end: int | None

    def within(self, other: Place) -> bool:
        """Whether a window is within another one of the same key, and not the same."""
        mine, theirs = (self.start, self.end), (other.start, other.end)
        if mine == theirs or self.key != other.key or None in (*mine, *theirs):
            return False
        return bool(other.start <= self.start and self.end <= other.end)  # type: ignore[operator]


class Panes:
    """Puts the panes of windows together, in whatever order and however often they come.

    A pane that accumulates holds all that its window has counted, so the latest takes the place of those before. A
    pane that discards holds what came since the last one, so all are merged. A pane that comes again counts once.

    Parameters
    ----------
    mode
        ``"accumulating"`` or ``"discarding"``, as the collection was windowed.
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

    def __init__(self, mode: Literal["accumulating", "discarding"], *, sessions: bool = False) -> None:
        check_choice("mode", mode, ("accumulating", "discarding"))
        self._replaces, self._sessions = mode == "accumulating", bool(sessions)
        self._windows: dict[Hashable, tuple[Place, Ledger[Any]]] = {}

    def put(self, firing: Firing) -> None:
        """Take a pane; if panes accumulate, one that arrives after a later pane of its window is ignored.

        `ConflictError` if it was taken before with another state, `MergeError` if it is of another job, and
        `FormatError` if its state is damaged; nothing has changed then. The state of an ignored pane is not compared.
        """
        place = Place(firing.key, firing.start, firing.end)
        name = (type(firing.key), *place)  # because 1 == True, which are different keys
        try:
            _, ledger = self._windows.get(name) or next(iter(self._windows.values()), (place, Ledger[Any]()))
        except TypeError:
            raise InputError(f"key must be hashable, not {quoted(firing.key)}; give tuple(key)") from None
        if name not in self._windows:
            ledger = ledger.copy()
            ledger.reset()  # empty, but of the same job as those of all windows
        shard = str(place) if self._replaces else f"pane {firing.pane} of {place}"
        ledger.put(shard, firing.pane, firing.state)
        self._windows[name] = place, ledger

    def states(self) -> dict[Place, State]:
        """The state of each window, as independent objects; a session within another session is left out."""
        windows = list(self._windows.values())
        if self._sessions and self._replaces:
            windows = [(place, it) for place, it in windows if not any(place.within(other) for other, _ in windows)]
        return {place: ledger.total() for place, ledger in windows}

    def total(self) -> State:
        """All windows merged, as a new object. Where windows overlap, a row counts once for each."""
        if not self._windows:
            raise InputError("no pane was put, so it is not known what to count; put at least one")
        total, *parts = self.states().values()
        for part in parts:
            total.merge(part)  # type: ignore[arg-type]  # states are of one class
        return total
