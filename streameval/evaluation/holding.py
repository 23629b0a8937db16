"""What windows and slices do with the evaluator or the metric that they are built from."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from streameval.errors import InputError
from streameval.evaluation.counting import Accumulator
from streameval.evaluation.encoding import Saved
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.metric import Metric
from streameval.schema.labels import Label
from streameval.schema.text import quoted
from streameval.wire.envelope import METRIC

A = TypeVar("A", bound=Accumulator)
Answer: TypeAlias = float | dict[Label, float] | dict[str, float | dict[Label, float]]


def template_of(evaluator: A, name: str) -> A:
    """A copy of an object, which must have counted nothing; ``name`` is that of the class that takes it."""
    if isinstance(evaluator, type):
        raise InputError(f"{name} takes an object, not the class {evaluator.__name__}; write {evaluator.__name__}()")
    if not isinstance(evaluator, Evaluator | Metric):
        raise InputError(f"{name} takes an Evaluator or a metric such as F1(), not {quoted(evaluator)}")
    if evaluator.examples:
        counted = f"this {type(evaluator).__name__} has counted {evaluator.examples} examples"
        raise InputError(f"{name} starts empty, but {counted}; give one that has counted nothing")
    return evaluator._fresh()  # type: ignore[return-value]  # of the class that was passed


def saved_template(saved: Saved) -> Any:
    """The object that bytes hold, which has counted nothing."""
    kind: type[Metric | Evaluator] = Metric if saved.holder == METRIC else Evaluator
    return kind._from_saved(saved)


def answer_of(holder: Accumulator, metric: MetricLike | None, what: str) -> Answer:
    """What an object answers, or for one metric if it has several; ``what`` says of a single metric that it has not."""
    whole: object = holder
    if isinstance(whole, Evaluator):
        return whole.get() if metric is None else whole.get(metric)
    if metric is not None or not isinstance(whole, Metric):
        raise InputError(f"{what} for it only, not for {quoted(metric)}")
    return whole.get()
