"""Templates: the empty evaluators or metrics that windows, slices and the like are built from."""

from __future__ import annotations

from typing import Any

from streameval.errors import InputError, silent
from streameval.evaluation.core import core_of
from streameval.evaluation.counting import A, Accumulator
from streameval.evaluation.encoding import Saved, put_head, take_empty
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.metric import Metric, restored
from streameval.evaluation.value import Mergeable, fresh_of
from streameval.schema.text import number_of, quoted
from streameval.wire.fields import Sink, Source


def check_object(value: object, call: str) -> None:
    """Refuse a class, or names of metrics, in place of an object that counts; ``call`` is such as "Rolling takes"."""
    if isinstance(value, type):
        raise InputError(f"{call} an object, not the class {value.__name__}; write {value.__name__}()")
    if isinstance(value, str | list | tuple):
        metrics = quoted([value] if isinstance(value, str) else value)
        if not all(isinstance(metric, str) for metric in value):  # their text would not be valid code
            metrics = "metrics"
        raise InputError(f"{call} an object that counts; write Evaluator({metrics})")


def template_of(evaluator: A, name: str) -> A:
    """A copy of an object for the class of this ``name``; `InputError` if the object has counted anything."""
    check_object(evaluator, f"{name} takes")
    if not isinstance(evaluator, Evaluator | Metric):
        holder: object = evaluator
        both = {name, type(holder).__name__} if isinstance(holder, Mergeable) else set()
        windows_of_slices = "Sliced" in both and len(both) == 2
        advice = "; keep a dict with a window for each value that slices are by" if windows_of_slices else ""
        raise InputError(f"{name} takes an Evaluator or a metric such as F1(), not {quoted(evaluator)}{advice}")
    if evaluator.examples:
        counted = f"this {type(evaluator).__name__} has counted {number_of(evaluator.examples, 'example')}"
        raise InputError(f"{name} starts empty, but {counted}; give one that has counted nothing")
    return fresh_of(evaluator)  # type: ignore[no-any-return]  # of the class that was passed


def put_template(sink: Sink, template: Accumulator, *, compared: bool = False) -> None:
    """Write the configuration of a template."""
    saved = Saved.of(core_of(template), {}, single=isinstance(template, Metric), compared=compared)
    sink.byte(saved.holder)
    put_head(sink, saved.config, saved.metrics)


def take_template(source: Source) -> Any:
    """The object that `put_template` wrote."""
    saved = take_empty(source)
    return restored(Metric if saved.single else Evaluator, saved)


def answer_of(holder: Any, metric: MetricLike | None, what: str) -> Any:
    """All values of an object, or that of one metric; ``what`` begins the error if it is a single metric itself."""
    if metric is not None and isinstance(holder, Metric):
        raise InputError(f"{what} for it only, not for {quoted(metric)}")
    with silent():  # no warnings, because the guard of the object is held
        return holder.get() if metric is None else holder.get(metric)
