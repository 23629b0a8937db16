"""How evaluators are called: they have ``update`` and ``get``, and may take ``weight`` or ``w``, ``mask`` and ``t``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from streameval.errors import InputError
from streameval.evaluation.core import NUMBERS
from streameval.evaluation.guarding import Change
from streameval.evaluation.templates import check_object
from streameval.metrics.spec import MetricSpec
from streameval.schema.labels import PerLabel
from streameval.schema.text import quoted
from streameval.windows.base import Window
from streameval.windows.times import is_iso
from streameval.wire.values import plain_time

Values: TypeAlias = dict[str, float | PerLabel]

_INNER = ("evaluator", "_template", "metric")
"""Where the counting object lies within the object passed in."""

_PASSED = {"weight", "w", "mask", "t"}


class Target:
    """One evaluator, and the keywords that its ``update`` takes."""

    def __init__(self, evaluator: Any, name: str = "evaluator") -> None:
        check_object(evaluator, f"{name} must be")
        if isinstance(evaluator, Mapping):  # its methods of these names mean something else
            raise InputError(f"{name} must be one object, not the mapping {quoted(evaluator)}; give a Trace of it")
        for verb in ("update", "get"):
            if not callable(getattr(evaluator, verb, None)):
                lacks = f"{name} must have update and get, but {quoted(evaluator)} has no {verb}"
                raise InputError(f"{lacks}; give an Evaluator, a metric object or a window")
        self.evaluator, self._name = evaluator, type(evaluator).__name__
        self.update: Callable[..., object] = evaluator.update
        accepted = keywords_of(self.update)
        self._weight = next((word for word in ("weight", "w") if word in accepted), None)
        self._t = "t" in accepted
        if more := [word for word, needed in accepted.items() if needed and word not in _PASSED]:
            needs = f"{name} must have update(y_true, y_pred), but that of {self._name} needs {more[0]}= too"
            raise InputError(f"{needs}; call update in a loop of your own, or use one evaluator for each slice")
        self.needs_t = accepted.get("t", False)
        if isinstance(evaluator, Window):  # one class of windows may count examples or time
            self._t = self.needs_t = evaluator.timed

    def refuse_weight(self) -> None:
        if self._weight is None:
            raise InputError(f"{self._name} takes no weight; leave the weight out, or give an evaluator that does")

    def refuse_no_t(self) -> None:
        """Raise if the evaluator is a window over time: it needs the time of every example."""
        if self.needs_t:
            raise InputError(f"{self._name} needs the time of each example; give t=, or time= where examples are read")

    def keywords(self, weight: object, mask: object, t: object) -> dict[str, object]:
        """The keywords of one call; `InputError` for a weight that the evaluator does not take, or a missing time."""
        arguments: dict[str, object] = {}
        if type(weight) not in NUMBERS or weight != 1:
            self.refuse_weight()
            arguments[str(self._weight)] = weight
        if mask is not None:
            arguments["mask"] = mask
        if t is None:
            self.refuse_no_t()
        elif self._t:
            arguments["t"] = t
        return arguments

    def change(self, y_true: object, y_pred: object, weight: object, mask: object, t: object) -> Change:
        """Read an example for an evaluator of this package, as a change still to be made."""
        return self.evaluator._change(y_true, y_pred, **self.keywords(weight, mask, t))  # type: ignore[no-any-return]


def keywords_of(method: Callable[..., object]) -> dict[str, bool]:
    """The parameters of a method after the first two, each with whether it is required."""
    try:
        parameters = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict.fromkeys(_PASSED, False)
    named = (parameter for parameter in parameters[2:] if parameter.kind is not parameter.VAR_POSITIONAL)
    return {parameter.name: parameter.default is parameter.empty for parameter in named}


def reads_scores(evaluator: object) -> bool:
    """Whether an evaluator reads numbers in ``y_pred`` as scores; those of River, without this attribute, do not."""
    return bool(getattr(evaluator, "reads_scores", False))


def all_read_scores(kinds: Mapping[str, bool]) -> bool:
    """Whether evaluators, by name, all read scores, or `InputError` if only some do."""
    if len(set(kinds.values())) > 1:
        scores, labels = (", ".join(name for name, reads in kinds.items() if reads is kind) for kind in (True, False))
        both = f"scores are read by {scores} (for a threshold, rankings or curves) and labels by {labels}"
        way = "construct all with threshold=, evaluate them separately"
        way += ', or give predict="labels" if none is for rankings or curves'
        raise InputError(f"a model predicts either scores or labels, but {both}; {way}")
    return any(kinds.values())


def values_of(evaluator: Any) -> Values:
    """A copy of the present values of an evaluator, by name."""
    spec, answer = _spec_of(evaluator), evaluator.get()
    if isinstance(answer, list | tuple):  # River's collection of metrics answers in their order
        names = [type(metric).__name__ for metric in evaluator]
        answer = {
            name if names.count(name) == 1 else f"{name} {place}": value
            for place, (name, value) in enumerate(zip(names, answer, strict=True))
        }
    elif spec is not None or not isinstance(answer, Mapping):
        answer = {type(evaluator).__name__ if spec is None else spec.key: answer}
    return {str(name): dict(value) if isinstance(value, Mapping) else value for name, value in answer.items()}


def _spec_of(evaluator: object) -> MetricSpec | None:
    """The spec of a single metric, also where it lies within a window or a metric of River."""
    for _ in range(5):
        spec = getattr(evaluator, "spec", None)
        if isinstance(spec, MetricSpec):
            return spec
        evaluator = next((getattr(evaluator, name) for name in _INNER if hasattr(evaluator, name)), None)
    return None


def instant(t: Any) -> Any:
    """A time for comparisons, as a Python value; in UTC if it has a zone, because local clocks may go back an hour."""
    t = plain_time(t)
    return t.astimezone(UTC) if isinstance(t, datetime) and t == t and t.utcoffset() is not None else t


def check_order(before: Any, t: Any, name: str) -> None:
    """Raise unless ``t`` is a time, and not before the time ``before`` if there is one."""
    before = t if before is None else before
    try:
        # Strings and sets compare too, but are no times.
        fits = not hasattr(t, "__iter__") and bool(instant(before) <= instant(t))
    except (TypeError, ValueError, ArithmeticError):
        pair = f"{quoted(t)} after {quoted(before)}"
        raise InputError(f"{name} must be numbers or datetimes of one kind, not {pair}") from None
    if not fits:
        if hasattr(t, "__iter__") or t != t:
            advice = ", as datetime.fromisoformat gives" * is_iso(t)
            raise InputError(f"{name} is {quoted(t)}; give a number or a datetime{advice}")
        advice = "the time of the call" if name == "t" else "examples in order of time"
        raise InputError(f"{name} goes backwards, from {quoted(before)} to {quoted(t)}; give {advice}")
