"""What all windows share: they read like the object they were built from, and are values like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from streameval.errors import MetricError, silent
from streameval.evaluation.counting import A, core_of
from streameval.evaluation.details import Details
from streameval.evaluation.encoding import put_empty, take_empty
from streameval.evaluation.evaluator import Evaluator, MetricLike, answer_of, restored_template, template_of
from streameval.evaluation.guarding import reads
from streameval.evaluation.metric import Metric
from streameval.evaluation.suspicions import look
from streameval.evaluation.value import Mergeable, differences, parameter_differences
from streameval.kernel.backend import commit
from streameval.metrics.bounds import Bounds
from streameval.report.model import Table
from streameval.schema.labels import Label
from streameval.windows.times import Clock
from streameval.wire.envelope import decoding, opened, sealed
from streameval.wire.fields import Sink, Source, varint, zigzag

M = TypeVar("M", bound=Metric)


class Window(Details, Mergeable, ABC, Generic[A]):
    """An evaluator or a metric that speaks of the recent past. Not used directly."""

    __slots__ = ("_clock", "_guard", "_template")
    _holder: ClassVar[int]
    _span_name: ClassVar[str]
    _guard: commit.Guard
    _template: A
    _clock: Clock

    def _begin(self, evaluator: A, clock: Clock) -> None:
        self._clock, self._guard = clock, commit.Guard()
        self._template = template_of(evaluator, type(self).__name__)
        self.reset()

    @property
    def timed(self) -> bool:
        """Whether every example comes with a time ``t``."""
        return self._clock.timed

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are scores, which a threshold turns into decisions."""
        return self._template.reads_scores

    @abstractmethod
    def _current(self) -> A:
        """The object that answers; it must not be changed."""

    @overload
    def get(self: Window[Evaluator]) -> dict[str, float | dict[Label, float]]: ...
    @overload
    def get(self: Window[Evaluator], metric: MetricLike) -> float | dict[Label, float]: ...
    @overload
    def get(self: Window[M]) -> float | dict[Label, float]: ...
    def get(self, metric: MetricLike | None = None) -> object:
        """Values for the examples in the window: of one metric of an evaluator, or of all of its metrics by name."""
        self._look()
        with self._guard.reading:
            return answer_of(self._current(), metric, "a window over a single metric answers")

    @reads
    def bounds(self, metric: MetricLike | None = None) -> Bounds | dict[Label, Bounds]:
        """The value of a metric with bounds that contain the exact one, as `Evaluator.bounds`."""
        current: object = self._current()
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
    @reads
    def weight(self) -> float:
        """The total weight of the examples in the window, correctly rounded."""
        return self._current().weight

    @property
    @reads
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then those that an example in the window mentions, sorted."""
        return self._current().labels

    @property
    def bigger_is_better(self) -> bool | None:
        """The direction of a metric; an evaluator has none."""
        template: object = self._template
        if not isinstance(template, Metric):
            raise AttributeError("an Evaluator has no direction; construct the window from a metric")  # noqa: TRY004
        return template.bigger_is_better

    def _view(self, state: str, what: str, keep: str | None = None) -> Any:
        return self._current()._view(state, what, keep)

    def report(self, *, digits: int = 4, max_labels: int = 60) -> str:
        """The report of an evaluator about the window; see `Evaluator.report`."""
        self._look()
        with self._guard.reading, silent():
            current: object = self._current()
            if not isinstance(current, Evaluator):
                raise AttributeError("a single metric has no report; construct the window from an Evaluator")  # noqa: TRY004
            return current.report(digits=digits, max_labels=max_labels)

    def _look(self) -> None:
        look(self._guard, self.examples, lambda: core_of(self._current()))

    @reads
    def snapshot(self) -> A:
        """An independent evaluator or metric with the content of the window: to merge, save or report."""
        return self._current().copy()

    @abstractmethod
    def reset(self) -> None:
        """Forget every example, and the time."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add what another window holds."""

    def _parameters(self) -> dict[str, object]:
        """What it was constructed with besides the evaluator, for messages; its length first."""
        return {self._span_name: self._clock.span()}

    @abstractmethod
    def _numbers(self) -> tuple[int, ...]:
        """Integers of at most 64 bits, which bytes hold before what `_put` writes."""

    @abstractmethod
    def _put(self, sink: Sink) -> None: ...

    @abstractmethod
    def _take(self, source: Source, *numbers: int) -> None:
        """Become what these say; the template is there already."""

    def _differences(self, other: Self) -> list[str]:
        differing = parameter_differences(self._parameters(), other._parameters())
        return differing or differences(self._template, other._template)

    def _pieces(self) -> Iterator[bytes]:
        sink = Sink()
        put_empty(sink, self._template)
        numbers = self._numbers()
        sink += (varint(len(numbers)), *map(zigzag, numbers))
        self._put(sink)
        return sealed(self._holder, sink.pieces())

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        _, source = opened(data, (cls._holder,))
        window = cls.__new__(cls)
        window._guard = commit.Guard()
        with decoding():
            window._template = restored_template(take_empty(source))
            numbers = [source.integer_of_64_bits() for _ in range(source.count())]
            window._take(source, *numbers)
            source.end()
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
