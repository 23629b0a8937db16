"""What estimators are asked for, and the probabilities of each label among what they answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.schema.text import quoted

__all__ = ["methods_of", "response_of"]

METHODS = ("auto", "predict", "predict_proba", "decision_function")


def methods_of(chosen: str, scores: bool, free: bool) -> tuple[str, ...]:
    """What to ask estimators for; ``free`` if no threshold says what scores mean."""
    if chosen not in METHODS:
        raise InputError(f"response_method must be one of {', '.join(map(repr, METHODS))}, not {quoted(chosen)}")
    if chosen == "auto":  # a threshold of probabilities means nothing to other scores
        return (("predict_proba", "decision_function") if free else ("predict_proba",)) if scores else ("predict",)
    if scores == (chosen == "predict"):
        told = (
            "need scores" if scores else "read decisions; say with threshold= from which score on a label is predicted"
        )
        raise InputError(f"response_method={chosen!r} does not fit: the metrics, or the threshold, {told}")
    return (chosen,)


def response_of(estimator: object, X: object, methods: tuple[str, ...]) -> object:  # noqa: N803  # scikit-learn's name
    """What the first of these methods that there is says; if one array per label, its probabilities of being true."""
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        raise InputError(
            f"{type(estimator).__name__} has no {' or '.join(methods)}; leave the threshold out, or choose another "
            "response_method and a threshold that fits it"
        )
    given: Any = getattr(estimator, method)(X)
    if not isinstance(given, list):
        return given
    classes: Any = getattr(estimator, "classes_", [(0, 1)] * len(given))
    return np.column_stack([_of_true(part, known) for part, known in zip(given, classes, strict=True)])


def _of_true(part: Any, classes: Any) -> Any:
    """The column of class 1; where a label never occurred in training there is none, and its probability is 0."""
    known = list(classes)
    if not set(known) <= {0, 1}:
        raise InputError(f"a label of the estimator has the classes {quoted(known)}; only 0 and 1 are understood")
    return np.asarray(part)[:, known.index(1)] if 1 in known else np.zeros(len(part))
