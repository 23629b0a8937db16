"""What all windows share: they read like the object they were built from, and are values like it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from streameval.errors import FormatError, InputError
from streameval.evaluation.counting import Accumulator
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.holding import answer_of, saved_template
from streameval.evaluation.metric import Metric
from streameval.evaluation.value import Mergeable, differences, parameter_differences
from streameval.report.label_table import LabelTable
from streameval.schema.labels import Label
from streameval.windows.encoding import SavedWindow, decode_window, encode_window
from streameval.wire.envelope import decoding

A = TypeVar("A", bound=Accumulator)
M = TypeVar("M", bound=Metric)


class Window(Mergeable, ABC, Generic[A]):
    """An evaluator or a metric that speaks of the recent past. Not used directly."""

    __slots__ = ("_template",)
    _holder: ClassVar[int]
    _template: A

    @property
    def timed(self) -> bool:
        """Whether every example comes with a time ``t``."""
        return getattr(self, "_clock", None) is not None

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are scores, which a threshold turns into decisions."""
        return self._template.reads_scores

    # -- reading ------------------------------------------------------------------------------------------------------

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
        """What the object it was built from answers for the examples in the window.

        Parameters
        ----------
        metric
            One metric to ask an evaluator for; without it, all of its metrics by name.
        """
        return answer_of(self._current(), metric, "a window over a single metric answers")

    @property
    def examples(self) -> int:
        """How many examples are in the window, whatever their weights."""
        return self._current().examples

    @property
    def weight(self) -> float:
        """The total weight of the examples in the window, correctly rounded."""
        return self._current().weight

    @property
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then those that an example in the window mentions, sorted."""
        return self._current().labels

    @property
    def bigger_is_better(self) -> bool | None:
        """The direction of a metric; an evaluator has none."""
        return self._metric().bigger_is_better

    def per_label(self) -> LabelTable:
        """The outcomes of each label in the window."""
        return self._current().per_label()

    def tables(self, state: str) -> Any:
        """What functions read of the examples in the window; see `Evaluator.tables`."""
        return self._current().tables(state)

    def report(self, *, digits: int = 4, max_labels: int = 60) -> str:
        """The report of an evaluator about the window; see `Evaluator.report`."""
        current: object = self._current()
        if not isinstance(current, Evaluator):
            raise AttributeError("a single metric has no report; build the window from an Evaluator")  # noqa: TRY004
        return current.report(digits=digits, max_labels=max_labels)

    def _metric(self) -> Metric:
        template: object = self._template
        if not isinstance(template, Metric):
            raise AttributeError("an Evaluator has no direction; build the window from a metric")  # noqa: TRY004
        return template

    def snapshot(self) -> A:
        """An ordinary object with what is in the window, independent of it: to merge, save or report."""
        return self._current().copy()

    # -- as a value ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def reset(self) -> None:
        """Forget every example, and the time."""

    @abstractmethod
    def copy(self) -> Self:
        """An independent window with the same content."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add what another window holds."""

    @abstractmethod
    def _parameters(self) -> dict[str, object]:
        """What it was built with beside the evaluator, for messages."""

    @abstractmethod
    def _saved(self) -> SavedWindow:
        """What bytes hold of it."""

    @abstractmethod
    def _restore(self, saved: SavedWindow) -> None:
        """Become what bytes hold; the template is there already."""

    def _empty_like(self) -> Self:
        """A window with the same template and nothing else."""
        twin = type(self).__new__(type(self))
        twin._template = self._template
        return twin

    def _differences(self, other: Self) -> list[str]:
        differing = parameter_differences(self._parameters(), other._parameters())
        return differing or differences(self._template, other._template)

    def to_bytes(self) -> bytes:
        """The window as bytes; equal windows have equal bytes, on every machine."""
        return encode_window(self._holder, self._saved())

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        saved = decode_window(data, cls._holder)
        window = cls.__new__(cls)
        window._template = saved_template(saved.empty)
        with decoding():
            window._restore(saved)
            if window.to_bytes() != bytes(data):
                raise FormatError("no window has this content")
        return window

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self._parameters().items())
        return f"<{type(self).__name__}({parameters}) of {self._current()!r}>"


def changed_while_reading() -> InputError:
    """What is wrong where an example uses the window that reads it."""
    return InputError("this window was changed by the very examples that it was reading; copy them first")
