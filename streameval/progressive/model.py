"""What a model predicts for an example: labels or scores; predictions of a single label are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from types import NoneType
from typing import Any

from streameval.errors import InputError
from streameval.progressive.target import reads_scores
from streameval.schema.text import quoted

_ADVICE = 'give predict="labels", or a model that predicts probabilities'


class Predictor:
    """Gets predictions from a model, in a form that an evaluator reads."""

    __slots__ = ("_name", "_predict", "_scores")

    def __init__(self, model: object, evaluator: object, predict: str) -> None:
        self._scores = predict == "scores" or (predict == "auto" and reads_scores(evaluator))
        self._name = type(model).__name__
        self._predict: Callable[..., Any]
        if self._scores:
            why = "" if predict == "scores" else "the evaluator reads scores, but "
            self._predict = _method(model, "predict_proba_one", why, f"; {_ADVICE}")
        else:
            self._predict = _method(model, "predict_one")

    def __call__(self, x: object, extra: Mapping[str, Any]) -> object:
        """The prediction for one example; None where the model predicts nothing."""
        try:
            y_pred: Any = self._predict(x, **extra)
        except (NotImplementedError, AttributeError) as error:
            # The last step of a pipeline may lack the method.
            if not self._scores or getattr(error, "name", "predict_proba_one") != "predict_proba_one":
                raise
            raise InputError(f"{self._name} does not predict probabilities; {_ADVICE}") from error
        if y_pred is None:
            return None
        if type(y_pred) is dict or isinstance(y_pred, Mapping):
            if self._scores:
                return dict(self._scored(y_pred)) if y_pred else None
            if NoneType in map(type, y_pred.values()):
                return {label: value for label, value in y_pred.items() if value is not None}
            return y_pred or None
        if isinstance(y_pred, list | tuple | AbstractSet) or (hasattr(y_pred, "ndim") and y_pred.ndim):
            return y_pred
        raise self._single(y_pred)

    def _scored(self, y_pred: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """Labels and their scores, where River gives the probabilities of False and True."""
        scored = []
        for label, value in y_pred.items():
            if isinstance(label, bool):
                raise self._single(y_pred)
            if isinstance(value, Mapping):
                if not value:  # a classifier that has not learnt yet
                    continue
                if not {False, True} & value.keys():
                    raise InputError(
                        f"{self._name} predicts the classes {quoted(list(value))} for label {quoted(label)}, not False "
                        'and True; give predict="labels"'
                    )
                value = value.get(True, 0.0)
            if value is not None:
                scored.append((label, value))
        return scored

    def _single(self, y_pred: object) -> InputError:
        return InputError(
            f"{self._name} is no multi-label model: it predicts {quoted(y_pred)}; its predictions must be collections "
            "of labels, or mappings label -> bool or score"
        )


def learn_method(model: object) -> tuple[Callable[..., object], bool]:
    """The method that learns, and whether it takes a weight ``w``."""
    method = _method(model, "learn_one", "", ", or give learn=False")
    try:
        parameters = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return method, False
    return method, "w" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _method(model: object, name: str, why: str = "", advice: str = "") -> Callable[..., object]:
    if inspect.isclass(model):
        raise InputError(f"model must be an object, not the class {model.__name__}; write {model.__name__}(...)")
    method: Callable[..., object] | None = getattr(model, name, None)
    if not callable(method):
        raise InputError(f"{why}the model {quoted(model)} has no {name}; a model has predict_one and learn_one{advice}")
    return method
