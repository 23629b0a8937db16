"""Scorers for scikit-learn's cross-validation and searches, over multi-label estimators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from streameval.adapters.engine import require
from streameval.errors import InputError, MetricError
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.metric import Metric
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import Threshold, Ties, Unknown
from streameval.schema.keywords import explained
from streameval.schema.labels import ByLabel, Label
from streameval.schema.text import check_choice, quoted

with require("sklearn"):
    from sklearn.utils.metadata_routing import MetadataRequest

__all__ = ["Scorer", "scorer"]

Method: TypeAlias = Literal["auto", "predict", "predict_proba", "decision_function"]
Value: TypeAlias = float | dict[str, float]


@explained
def scorer(
    metric: MetricLike | Iterable[MetricLike],
    *,
    threshold: Threshold = None,
    response_method: Method = "auto",
    labels: Iterable[Label] | None = None,
    unknown: Unknown = "error",
    ties: Ties = "shared",
    inverse_propensities: ByLabel | None = None,
) -> Scorer:
    """A scorer for ``scoring=`` of scikit-learn, like one from ``make_scorer``.

    Greater is better: losses are negated. One metric gives a number; several give a dict, for which every example is
    predicted and counted once, and in which negated ones are called ``neg_...``.

    Parameters
    ----------
    metric
        A name such as ``"f1_macro"``, a spec or a metric object, or several of them.
    threshold
        Labels scoring at or above it are predicted; then the estimator is asked for probabilities.
    response_method
        What the estimator is asked for. ``"auto"``: ``predict``; with a threshold ``predict_proba``; for metrics of
        scores only ``predict_proba``, or ``decision_function`` where there is none.
    labels, unknown, ties, inverse_propensities
        As for `Evaluator`; ``labels`` name the columns of arrays.

    Raises
    ------
    MetricError, InputError
        If a metric does not exist, is no single number or has no direction, or an argument cannot be understood.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> scores = cross_val_score(KNeighborsClassifier(), X, y, scoring=scorer("f1_macro", threshold=0.4))
    >>> scores.shape
    (5,)
    """
    single = isinstance(metric, str | MetricSpec | Metric)
    items = cast("Iterable[MetricLike]", [metric] if single else metric)
    counts = Evaluator(
        items, labels=labels, unknown=unknown, threshold=threshold, ties=ties, inverse_propensities=inverse_propensities
    )
    if not counts.metrics:
        raise MetricError("a scorer needs at least one metric; name one, such as 'f1_macro'")
    for spec in counts.metrics:
        if spec.average is None:
            raise MetricError(f"{spec.key} has one value per label, but a scorer gives a number; choose an average")
        if entry_of(spec.name).bigger_is_better is None:
            raise MetricError(f"{spec.key} describes the data, and is neither better nor worse; use streameval.score")
    return Scorer(counts, _methods_of(response_method, counts.reads_scores, threshold is None), single)


class Scorer:
    """A scorer, as `scorer` constructs it: called with an estimator, data and the truth."""

    def __init__(self, counts: Evaluator, methods: tuple[str, ...], single: bool) -> None:
        self._counts, self._methods, self._single = counts, methods, single
        self._weight: bool | str | None = None

    def __call__(self, estimator: object, X: object, y_true: object, sample_weight: ArrayLike | None = None) -> Value:  # noqa: N803
        """How good the estimator's predictions for ``X`` are; greater is better."""
        counts = self._counts.copy()
        counts.update_many(y_true, _response_of(estimator, X, self._methods), weights=sample_weight)
        results: dict[str, float] = {}
        for spec in counts.metrics:
            value = counts.get(spec)
            assert isinstance(value, float)  # noqa: S101  # it has an average
            better = entry_of(spec.name).bigger_is_better
            results[spec.key if better else f"neg_{spec.key}"] = value if better else -value
        return next(iter(results.values())) if self._single else results

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self:
        """Request ``sample_weight``, or the name that it has, from scikit-learn's metadata routing."""
        self._weight = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that this scorer requests from scikit-learn."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weight)
        return request

    def __repr__(self) -> str:
        names = ", ".join(spec.key for spec in self._counts.metrics)
        return f"<scorer of {names} from {' or '.join(self._methods)}>"


def _methods_of(chosen: str, scores: bool, free: bool) -> tuple[str, ...]:
    """The methods of estimators to try, in order; ``free`` if there is no threshold, so that any scores will do."""
    check_choice("response_method", chosen, get_args(Method))
    if chosen == "auto":  # with a threshold only probabilities, because it is one of probabilities
        return (("predict_proba", "decision_function") if free else ("predict_proba",)) if scores else ("predict",)
    if scores == (chosen == "predict"):
        scored, binary = "metrics or threshold require scores", "metrics require binary predictions; set threshold="
        raise InputError(f"response_method={chosen!r} does not fit: {scored if scores else binary}")
    return (chosen,)


def _response_of(estimator: object, X: object, methods: tuple[str, ...]) -> object:  # noqa: N803  # scikit-learn's name
    """The result of the first method that the estimator has; of one array per label, the probabilities of class 1."""
    method = next((name for name in methods if hasattr(estimator, name)), None)
    if method is None:
        missing = f"{type(estimator).__name__} has no {' or '.join(methods)}"
        way = "name metrics of binary predictions" if len(methods) > 1 else "leave the threshold out"
        raise InputError(f"{missing}; {way}, or choose another response_method that fits")
    response: Any = getattr(estimator, method)(X)
    if not isinstance(response, list):  # skorch stacks the probabilities of no and of yes
        return response[:, 1] if np.ndim(response) == 3 and response.shape[1] == 2 else response
    classes: Any = getattr(estimator, "classes_", [(0, 1)] * len(response))
    return np.column_stack([_of_true(part, known) for part, known in zip(response, classes, strict=True)])


def _of_true(part: Any, classes: Any) -> Any:
    """The probabilities of class 1; they are 0 for a label that never occurred in training, which has no such class."""
    known = list(classes)
    if not set(known) <= {0, 1}:
        raise InputError(f"a label of the estimator has the classes {quoted(known)}; only 0 and 1 are understood")
    return np.asarray(part)[:, known.index(1)] if 1 in known else np.zeros(len(part))
