"""What a model predicts for an example, and the order in which examples are predicted, counted and learnt from."""

from __future__ import annotations

import copy
import heapq
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set as AbstractSet
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args

from streameval.errors import InputError, StreamevalError, naming
from streameval.inputs.values import checked_weight
from streameval.progressive.target import Target, check_order, instant, keywords_of, reads_scores
from streameval.progressive.trace import Trace
from streameval.schema.text import check_choice, quoted

_ADVICE = 'give a model that predicts probabilities, or, if none is for rankings or curves, predict="labels"'


def _is_of_river(kind: type) -> bool:
    return kind.__module__.startswith("river.")


class Predictor:
    """Gets predictions from a model, in a form that an evaluator reads."""

    __slots__ = ("_name", "_predict", "_scores")

    def __init__(self, model: object, evaluator: object, predict: str) -> None:
        self._scores = predict == "scores" or (predict == "auto" and reads_scores(evaluator))
        self._name = type(model).__name__
        why = "the evaluator reads scores, but " if self._scores and predict == "auto" else ""
        method, advice = ("predict_proba_one", f"; {_ADVICE}") if self._scores else ("predict_one", "")
        self._predict = _method(model, method, why, advice)

    def __call__(self, x: object, extra: Mapping[str, Any]) -> object:
        """The prediction for one example; None where the model predicts nothing."""
        try:
            y_pred: Any = self._predict(x, **extra) if extra else self._predict(x)
        except (NotImplementedError, AttributeError) as error:
            # The last step of a pipeline may lack the method.
            if not self._scores or getattr(error, "name", "predict_proba_one") != "predict_proba_one":
                raise
            raise InputError(f"{self._name} does not predict probabilities; {_ADVICE}") from error
        if y_pred is None:
            return None
        if type(y_pred) is dict or isinstance(y_pred, Mapping):
            if self._scores:
                return self._scored(y_pred) if y_pred else None
            for value in y_pred.values():
                if value is None:
                    return {label: value for label, value in y_pred.items() if value is not None}
            return y_pred or None
        if isinstance(y_pred, list | tuple | AbstractSet) or (hasattr(y_pred, "ndim") and y_pred.ndim):
            return y_pred
        raise self._single(y_pred)

    def _scored(self, y_pred: Mapping[Any, Any]) -> dict[Any, Any]:
        """Labels and their scores; of River's probabilities of False and True, the one of True."""
        scored = {}
        for label, value in y_pred.items():
            if isinstance(label, bool):
                raise self._single(y_pred)
            if isinstance(value, Mapping):
                if not value:  # a classifier that has not learnt yet
                    continue
                if not {False, True} & value.keys():
                    classes = f"{self._name} predicts the classes {quoted(list(value))} for label {quoted(label)}"
                    raise InputError(f'{classes}, not False and True; give predict="labels"')
                value = value.get(True, 0.0)
            if value is not None:
                scored[label] = value
        return scored

    def _single(self, y_pred: object) -> InputError:
        must = "its predictions must be collections of labels, or mappings label -> bool or score"
        return InputError(f"{self._name} is not a multi-label model: it predicts {quoted(y_pred)}; {must}")


def _method(model: object, name: str, why: str = "", advice: str = "") -> Callable[..., object]:
    if inspect.isclass(model):
        raise InputError(f"model must be an object, not the class {model.__name__}; write {model.__name__}(...)")
    method: Callable[..., object] | None = getattr(model, name, None)
    if not callable(method):
        raise InputError(f"{why}the model {quoted(model)} has no {name}; a model has predict_one and learn_one{advice}")
    return method


Field: TypeAlias = str | Callable[..., object]
Predict: TypeAlias = Literal["auto", "labels", "scores"]
NoPrediction: TypeAlias = Literal["skip", "empty"]
WeightFor: TypeAlias = Literal["auto", "learn", "metric", "both"]

_NOTHING: dict[str, Any] = {}
_ATOMS = frozenset((bool, int, float, str, NoneType))


@dataclass(slots=True)
class Question:
    """An example on its way from its prediction to its truth."""

    place: int
    x: Any
    y: Any
    extra: dict[str, Any]
    weight: Any
    due: Any
    y_pred: Any = None


class Loop:
    """Predicts, counts and learns in order; all arguments are checked before the first example."""

    def __init__(
        self,
        dataset: Iterable[object],
        model: object,
        evaluator: object,
        predict: Predict,
        no_prediction: NoPrediction,
        weight: Field | None,
        weight_for: WeightFor,
        time: Field | None,
        delay: object,
        learn: bool,
    ) -> None:
        for place, argument in {"first": dataset, "third": evaluator}.items():
            if hasattr(argument, "predict_one") and not hasattr(model, "predict_one"):
                raise InputError(f"the {place} argument is a model; the order is River's: dataset, model, metric")
        check_choice("predict", predict, get_args(Predict))
        check_choice("no_prediction", no_prediction, get_args(NoPrediction))
        check_choice("weight_for", weight_for, get_args(WeightFor))
        self._target = Target(evaluator, "metric")
        works_with = getattr(evaluator, "works_with", None) if _is_of_river(type(evaluator)) else None
        if works_with is not None and any(map(_is_of_river, type(model).__mro__)) and not works_with(model):
            own = f"{type(evaluator).__name__} of River takes no multi-label predictions"
            raise InputError(f"{own}; give MicroAverage(F1()) of river.metrics.multioutput, or F1(average='micro')")
        self._predict = Predictor(model, evaluator, predict)
        self._learn = _method(model, "learn_one", "", ", or give learn=False") if learn else None
        takes_weight = self._learn is not None and "w" in keywords_of(self._learn)
        self._skips = no_prediction == "skip"
        self._weight, self._time = _reader("weight", weight), _reader("time", time)
        self._delay = _reader("delay", delay)
        if weight_for == "auto":
            weight_for = "learn" if weight is None else "both"
        elif weight_for != "metric" and learn and not takes_weight:
            name = type(model).__name__
            raise InputError(f'learn_one of {name} takes no w; give weight_for="metric", or leave it out')
        self._weighs_learning = weight_for != "metric" and takes_weight
        self._weighs_metric = weight_for != "learn"
        if self._weighs_metric:
            self._target.refuse_weight()
        if time is None:
            self._target.refuse_no_t()
        try:
            self._stream = iter(dataset)
        except TypeError:
            raise InputError(f"dataset must be an iterable of (x, y), not {quoted(dataset)}") from None

    def run(self) -> None:
        if not (self._weight is self._time is self._delay is None) or self._target.needs_t:
            deque(self.answers(), 0)
            return
        predict, update, learn, skips = self._predict, self._target.update, self._learn, self._skips
        for place, item in enumerate(self._stream):
            if type(item) is not tuple or len(item) != 2:
                question, _ = self._question(place, item, None)
                question.y_pred = predict(question.x, question.extra)
                self._answered(question)
                continue
            x, y = item  # the common case in as few steps as possible, since counting takes less than a microsecond
            y_pred = predict(x, _NOTHING)
            if y_pred is not None or not skips:
                try:
                    update(y, {} if y_pred is None else y_pred)
                except StreamevalError as error:
                    error.add_note(f"This was dataset[{place}].")
                    raise
            if learn is not None:
                learn(x, y)
        self._end()

    def answers(self) -> Iterator[Question]:
        """Go through the stream, and yield each example after it was counted and learnt from."""
        waiting: list[tuple[Any, int, Question]] = []  # ordered by when they are due, then by place
        now = None
        for place, item in enumerate(self._stream):
            question, now = self._question(place, item, now)
            while waiting and waiting[0][0] <= now:
                yield self._answered(heapq.heappop(waiting)[2])
            if self._delay is None:
                question.y_pred = self._predict(question.x, question.extra)
                yield self._answered(question)
                continue
            # Copies, because the stream may reuse its objects, and the model change them, before the truth is due.
            x, extra = question.x, question.extra
            question.x, question.y, question.extra = map(_independent, (x, question.y, extra))
            question.y_pred = _independent(self._predict(x, extra))
            heapq.heappush(waiting, (question.due, place, question))
        while waiting:
            yield self._answered(heapq.heappop(waiting)[2])
        self._end()

    def _end(self) -> None:
        """Record the last row of a trace, which is missing if the number of examples is no multiple of ``every``."""
        if isinstance(self._target.evaluator, Trace) and self._target.evaluator.examples:
            self._target.evaluator.record()

    def _question(self, place: int, item: Any, before: Any) -> tuple[Question, Any]:
        try:
            x, y, *more = item
            extra = dict(*more) if more and more != [None] else {}
        except (TypeError, ValueError):
            raise InputError(f"dataset[{place}] must be (x, y) or (x, y, kwargs), not {quoted(item)}") from None
        now: Any = place
        if self._time is not None:
            now = self._time(place, x)
            check_order(before, now, f"the time of dataset[{place}]")
            now = instant(now)
        due = now if self._delay is None else _due(place, now, self._delay(place, x, y))
        weight = extra.pop("w", None)
        if self._weight is not None:
            weight = self._weight(place, x, y)
            with naming(f"dataset[{place}]"):
                weight = checked_weight(weight)
        return Question(place, x, y, extra, weight, due), now

    def _answered(self, question: Question) -> Question:
        if question.y_pred is not None or not self._skips:
            try:
                weight = question.weight if self._weighs_metric and question.weight is not None else 1.0
                how = self._target.keywords(weight, None, question.due if self._time is not None else None)
                self._target.update(question.y, {} if question.y_pred is None else question.y_pred, **how)
            except StreamevalError as error:
                error.add_note(f"This was dataset[{question.place}].")
                raise
        if self._learn is None:
            return question
        weighs = self._weighs_learning and question.weight is not None
        try:
            self._learn(question.x, question.y, **({"w": question.weight} if weighs else {}), **question.extra)
        except TypeError as error:
            if weighs:
                error.add_note('learn_one received the weight as w; if the model takes none, give weight_for="metric".')
            raise
        return question


def _independent(value: Any) -> Any:
    """A copy that shares nothing mutable; for common mappings a shallow copy does, ten times as fast as a deep one."""
    kind = type(value)
    if (kind is dict and _ATOMS.issuperset(map(type, value.values()))) or kind is set:
        return value.copy()
    return copy.deepcopy(value)


def _reader(name: str, field: object) -> Callable[..., Any] | None:
    """A function that reads the time, the delay or the weight of an example; None without a ``field``."""
    if field is None:
        return None
    if isinstance(field, str):

        def read(place: int, x: Any, *_: object) -> Any:
            try:
                return x[field]
            except (KeyError, IndexError, TypeError):
                known = f"its fields are {quoted(list(x))}" if isinstance(x, Iterable) else f"it is {quoted(x)}"
                raise InputError(f"dataset[{place}] has no field {field!r}, which {name}= names; {known}") from None

        return read
    if callable(field):
        return lambda _, *example: field(*example)
    if name != "delay":
        raise InputError(f"{name} must be the name of a field or a callable, not {quoted(field)}")
    return lambda *_: field


def _due(place: int, time: Any, delay: Any) -> Any:
    try:
        due = time + instant(delay)
        if due >= time:
            return due
    except (TypeError, OverflowError):
        wrong = f"delay {quoted(delay)} cannot be added to {quoted(time)}, the time of dataset[{place}]"
        advice = "give a number for numbers, a timedelta for datetimes (without time= the times are 0, 1, 2, ...)"
        raise InputError(f"{wrong}; {advice}") from None
    raise InputError(f"delay of dataset[{place}] is {quoted(delay)}; it must not be negative or NaN")
