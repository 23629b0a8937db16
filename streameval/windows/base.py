"""The base of all windows: they answer, compare, copy and save like the object that they were built from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, Unpack, overload

from numpy.typing import ArrayLike

from streameval.errors import InputError, MetricError, silent
from streameval.evaluation.core import Core, Reading
from streameval.evaluation.counting import A
from streameval.evaluation.details import Details
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.guarding import Change, answers, changes, forget_gone, make_read, prepare_forget, reads
from streameval.evaluation.metric import Metric
from streameval.evaluation.templates import answer_of, put_template, take_template, template_of
from streameval.evaluation.value import Mergeable
from streameval.inputs.samples import check_row_keys
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE
from streameval.metrics.bounds import Bounds
from streameval.report.model import Table
from streameval.schema.config import Null, Weight
from streameval.schema.input_notes import notes_of
from streameval.schema.keywords import NoKeywords, forgiving, refuse_mistaken
from streameval.schema.labels import PerLabel
from streameval.states.base import Part
from streameval.windows.times import Clock, Moment, Moments, Time
from streameval.wire.envelope import sealed
from streameval.wire.fields import Sink, Source, varint, zigzag

Examples: TypeAlias = tuple[object, object, object, object]
"""Arguments of `update_many`: truths, predictions, weights and mask."""
M = TypeVar("M", bound=Metric)


class Window(Details, Mergeable, ABC, Generic[A]):
    """An evaluator or a metric over the recent past. Not used directly."""

    __slots__ = ("_cell", "_clock", "_guard", "_template")
    _span_name: ClassVar[str]
    _in_time: ClassVar[str]  # in messages: what to write if examples have times
    _template: A
    _clock: Clock
    _cell: commit.Cell  # holds what a change replaces

    def _begin(self, evaluator: A, clock: Clock) -> None:
        self._clock, self._guard = clock, commit.Guard()
        self._template = template_of(evaluator, type(self).__name__)
        self._cell = commit.Root().cell(self._empty())

    @abstractmethod
    def _empty(self) -> Any:
        """The content of the cell without any example."""

    @abstractmethod
    def _become(self, value: Any, forms: Iterable[Part] = ()) -> None:
        """Replace the content of the cell and retire states that are no longer in it; commit ``forms`` too."""

    @property
    def timed(self) -> bool:
        """Whether every example comes with a time ``t``."""
        return self._clock.timed

    @forgiving
    def update(
        self, y_true: object, y_pred: object, *extra: Unpack[tuple[()]], weight: Weight = 1.0, mask: object = None,
        t: Time | None = None, **mistaken: Unpack[NoKeywords],
    ) -> None:  # fmt: skip
        """Count one example, as `Evaluator.update` does, and evict examples that are then too old.

        In windows of time, ``t`` is the time of the example: a datetime, date or numpy.datetime64 if the length is a
        timedelta, else a number. `InputError` if it comes too late: in sliding windows, before the latest time.
        """
        if mistaken or extra:  # type: ignore[redundant-expr]  # a checker refuses them
            refuse_mistaken(self.update, mistaken, extra)  # type: ignore[unreachable]
        if self._count_fast(y_true, y_pred, weight, mask, t) != DONE:
            make_read(self._change(y_true, y_pred, weight=weight, mask=mask, t=t))

    def _change(
        self, y_true: object, y_pred: object, *, weight: Weight = 1.0, mask: object = None, t: Time | None = None
    ) -> Change:
        """Read the arguments of `update`."""
        time = self._time(t)
        core = self._counting(time)
        core = self._counting(time) if forget_gone(self, core.table.examples) else core
        return self, self._prepare, (core.read(y_true, y_pred, weight, mask), time)

    @abstractmethod
    def _prepare(self, reading: Reading, time: Moment | None) -> list[Part]:
        """Prepare to count what was read; the caller holds the guard until the commit."""

    @abstractmethod
    def _count_fast(self, y_true: object, y_pred: object, weight: Weight, mask: object, t: Time | None) -> int:
        """Count an example of a common form in as few steps as possible; ``DONE`` if it was counted."""

    @abstractmethod
    def _counting(self, time: Moment | None) -> Core:
        """The core that reads an example of this time."""

    def update_many(
        self, y_true: object, y_pred: object, *, weights: ArrayLike | None = None, mask: object = None,
        null: Null = "error", times: ArrayLike | Iterable[Time] | None = None,
    ) -> None:  # fmt: skip
        """Count many examples, as `Evaluator.update_many` does: the same as one by one, or none if anything is wrong.

        In windows of time, ``times`` holds the time of each example, as ``t`` of `update`.
        """
        if (times is None) is self.timed:
            raise self._wrong_time("times")
        moments = None if times is None else self._clock.keys(times)
        forget_gone(self)
        check_row_keys({"y_true": y_true, "y_pred": y_pred, "times": times}, notes_of(self._guard))
        self._extend(moments, (y_true, y_pred, weights, mask), null)

    @abstractmethod
    def _extend(self, moments: Moments | None, examples: Examples, null: Null) -> None: ...

    def advance(self, t: Time) -> None:
        """Let time pass without an example, in windows of time; ``t`` must not go back."""
        moment = self._time(t)
        if moment is None:
            raise self._wrong_time("t")
        with self._guard:
            self._pass(moment)

    @abstractmethod
    def _pass(self, moment: Any) -> None: ...

    def _time(self, t: Time | None) -> Moment | None:
        if (t is None) is self._clock.timed:
            raise self._wrong_time("t")
        return None if t is None else self._clock.key(t)

    @staticmethod
    def _check_times(moments: Moments | None, examples: int) -> None:
        """Raise unless there is a time for each example, where examples have times."""
        if moments is not None and (entries := len(moments[0])) != examples:
            raise InputError(f"times has {entries} entries for {examples} examples; give one per example")

    def _wrong_time(self, name: str) -> InputError:
        window = "{} with {}={!r}".format(type(self).__name__, *next(iter(self._parameters().items())))
        if self.timed:
            return InputError(f"{name} is missing: {window} needs the time of each example; write {name}=...")
        return InputError(f"{window} counts examples, so a time has no meaning; leave it out, or {self._in_time}")

    @abstractmethod
    def _current(self) -> A:
        """The object that answers; it must not be changed."""

    @overload
    def get(self: Window[Evaluator], metric: None = None) -> dict[str, float | PerLabel]: ...
    @overload
    def get(self: Window[Evaluator], metric: MetricLike) -> float | PerLabel: ...
    @overload
    def get(self: Window[M], metric: None = None) -> float | PerLabel: ...
    def get(self, metric: MetricLike | None = None) -> object:
        """Values for the examples in the window: of one metric of an evaluator, or of all of its metrics by name."""
        self._look()
        with self._guard.reading:
            return answer_of(self._current(), metric, "a window over a single metric answers")

    @answers
    def bounds(self, metric: MetricLike | None = None) -> Bounds | PerLabel:
        """The value of a metric with bounds that contain the exact one, as `Evaluator.bounds`."""
        current: object = self._current()
        with silent():
            if isinstance(current, Evaluator) and metric is not None:
                return current.bounds(metric)
            if isinstance(current, Metric) and metric is None:
                return current.bounds()
        raise MetricError("a window over an Evaluator needs the name of a metric, and one over a metric takes none")

    @property
    @reads
    def examples(self) -> int:
        """Number of examples in the window, whatever their weights."""
        return self._current().examples

    @property
    def bigger_is_better(self) -> bool | None:
        """The direction of a metric; an evaluator has none."""
        template: object = self._template
        if not isinstance(template, Metric):
            raise AttributeError("an Evaluator has no direction; construct the window from a metric")  # noqa: TRY004
        return template.bigger_is_better

    @answers
    def report(self, *, digits: int = 4, max_labels: int = 60) -> str:
        """The report of an evaluator about the window; see `Evaluator.report`."""
        with silent():
            current: object = self._current()
            if not isinstance(current, Evaluator):
                raise AttributeError("a single metric has no report; construct the window from an Evaluator")  # noqa: TRY004
            return current.report(digits=digits, max_labels=max_labels)

    @reads
    def snapshot(self) -> A:
        """An independent evaluator or metric with the content of the window: to merge, save or report."""
        return self._current().copy()

    @changes
    def reset(self) -> None:
        """Forget every example, and the time."""
        self._become(self._empty(), prepare_forget(self._guard))

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the examples of another window."""

    def _parameters(self) -> dict[str, object]:
        """The arguments of the constructor but the evaluator, for messages; the length of the window first."""
        return {self._span_name: self._clock.span()}

    @abstractmethod
    def _numbers(self) -> tuple[int, ...]:
        """Integers of at most 64 bits; bytes hold them before what `_put` writes."""

    @abstractmethod
    def _put(self, sink: Sink) -> None: ...

    @abstractmethod
    def _take(self, source: Source, *numbers: int) -> None:
        """Read the window from its numbers and the source; the template was read before."""

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        sink = Sink()
        put_template(sink, self._template, compared=compared)
        numbers = self._numbers()
        sink += (varint(len(numbers)), *map(zigzag, numbers))
        self._put(sink)
        return sealed(self._holder, sink.pieces())

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        window = cls.__new__(cls)
        window._guard, window._template = commit.Guard(), take_template(source)
        window._take(source, *[source.integer_of_64_bits() for _ in range(source.count())])
        return window

    @reads
    def __repr__(self) -> str:
        return f"{self._described()}; {self._current()!r})"

    def _described(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._parameters().items())
        return f"{type(self).__name__}({settings}"

    def _display(self) -> tuple[str, Sequence[Table]]:
        head, tables = self._current()._display()
        return f"{self._described()}); {head}", tables


Window.update.__qualname__ = "update"  # Python's own errors then say "update() ...", as for an Accumulator
