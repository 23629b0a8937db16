"""Any metric or evaluator of ours as one River metric."""

from __future__ import annotations

from typing import cast

from streameval.adapters.river.metric import MultiLabelMetric, Row, pass_on
from streameval.errors import MetricError, shown
from streameval.evaluator import Evaluator
from streameval.labels import Label
from streameval.metrics.naming import ENTRIES, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.single import Metric

__all__ = ["RiverMetric"]


class RiverMetric(MultiLabelMetric):
    """Carries a metric by name, or a whole `Evaluator`, into River's evaluation loops.

    Parameters
    ----------
    metric
        A name such as ``"f1_macro"``, a spec, a metric object, or an `Evaluator`. An object is used as it is, not
        copied, so it can be read afterwards, and what it counted before stays counted.

    Raises
    ------
    MetricError
        If the metric gives one value per label; River needs one number.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, multioutput
    >>> model = multioutput.PerOutputClassifier(linear_model.LogisticRegression())
    >>> metric = RiverMetric("f1_micro")
    >>> evaluate.progressive_val_score(datasets.Yeast().take(50), model, metric)
    RiverMetric: f1_micro 44...%
    """

    def __init__(self, metric: str | MetricSpec | Metric | Evaluator) -> None:
        self.metric = metric if isinstance(metric, Metric | Evaluator) else _fresh(metric)
        if isinstance(self.metric, Metric) and self.metric.spec.average is None:
            raise MetricError(
                f"{self.metric.spec.key} gives one value per label and River needs one; choose an average"
            )

    def update(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Count one example of weight ``w``; labels that the model has no prediction for (None) are not predicted."""
        pass_on(self.metric.update, y_true, y_pred, w)

    def revert(self, y_true: Row, y_pred: Row, w: float = 1.0) -> None:
        """Take one example back."""
        pass_on(self.metric.revert, y_true, y_pred, w)

    def get(self) -> float | dict[str, float | dict[Label, float]]:  # type: ignore[override]
        """The value so far; for an evaluator, all of its values by name."""
        return cast("float | dict[str, float | dict[Label, float]]", self.metric.get())

    @property
    def reads_scores(self) -> bool:
        """Whether predictions are meant to be scores, which a threshold turns into decisions."""
        return self.metric.reads_scores

    @property
    def bigger_is_better(self) -> bool:
        """The direction of the metric; an evaluator has none, nor has a metric that describes the data."""
        better = self.metric.bigger_is_better if isinstance(self.metric, Metric) else None
        if better is None:
            raise NotImplementedError(f"{shown(self.metric)} has no direction; compare a single metric of quality")
        return better

    def clone(self, *_: object, **__: object) -> RiverMetric:
        """A metric of the same kind that has counted nothing."""
        fresh = self.metric.copy()
        fresh.reset()
        return RiverMetric(fresh)

    def __repr__(self) -> str:
        if isinstance(self.metric, Evaluator):
            values = ((ENTRIES[spec.name].high, spec.key, self.metric.get(spec)) for spec in self.metric.metrics)
        else:
            spec = self.metric.spec
            values = ((ENTRIES[spec.name].high, spec.key, self.metric.get()) for _ in range(1))
        told = (
            f"{name} {value:{'.2%' if high == 1.0 else '.4f'}}"
            for high, name, value in values
            if isinstance(value, float)
        )
        return f"{type(self).__name__}: {', '.join(told)}"


def _fresh(metric: str | MetricSpec) -> Metric:
    spec = parse_spec(metric) if isinstance(metric, str) else metric
    if not isinstance(spec, MetricSpec):
        raise MetricError(f"a metric must be a name, a spec, a metric object or an Evaluator, not {shown(metric)}")
    return Metric.from_spec(spec)
