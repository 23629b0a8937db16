"""Any metric, evaluator or window of this package as one River metric."""

from __future__ import annotations

from typing import Any, cast

from streameval.adapters.engine import snapshot
from streameval.adapters.river.metric import MultiLabelMetric
from streameval.errors import InputError, MetricError, RevertError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric, metric_of
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.schema.keywords import explained
from streameval.schema.labels import PerLabel
from streameval.schema.text import quoted
from streameval.windows.base import Window


class RiverMetric(MultiLabelMetric):
    """Carries a metric by name, a whole `Evaluator`, or a window into River's evaluation loops.

    Parameters
    ----------
    metric
        A name such as ``"f1_macro"``, a spec, a metric object, an `Evaluator`, or a window over a number of examples.
        An object is used as it is, not copied, so it can be read afterwards, and what it counted stays counted.
        `MetricError` if it gives one value per label, `InputError` if it is a window over time: River needs one number
        and passes no times.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, multioutput
    >>> model = multioutput.PerOutputClassifier(linear_model.LogisticRegression())
    >>> metric = RiverMetric("f1_micro")
    >>> evaluate.progressive_val_score(datasets.Yeast().take(50), model, metric)
    RiverMetric: f1_micro 44...%
    """

    @explained
    def __init__(self, metric: str | MetricSpec | Metric | Evaluator | Window[Evaluator] | Window[Metric]) -> None:
        read_as: object = parse_spec(metric) if isinstance(metric, str) else metric
        if not isinstance(read_as, MetricSpec | Metric | Evaluator | Window):
            wanted = "a metric must be a name, a spec, a metric, an Evaluator or a window"
            advice = "; write RiverMetric(Evaluator([...]))" if isinstance(read_as, list | tuple) else ""
            advice = f"; write RiverMetric({read_as.__name__}())" if isinstance(read_as, type) else advice
            raise MetricError(f"{wanted}, not {quoted(metric)}{advice}")
        whole = metric_of(read_as) if isinstance(read_as, MetricSpec) else read_as
        self.metric: Metric | Evaluator | Window[Any] = whole
        if isinstance(self.metric, Window) and self.metric.timed:
            needs = f"{type(self.metric).__name__} needs the time of each example and River passes none"
            raise InputError(f"{needs}; use streameval.progressive_evaluate with time=")
        read = snapshot(self.metric, "metric")
        if isinstance(read, Metric) and read.spec.average is None:
            raise MetricError(f"{read.spec.key} gives one value per label and River needs one; choose an average")

    def _own_counts(self, sign: int = 1) -> Metric | Evaluator | Window[Evaluator] | Window[Metric]:
        if sign < 0 and isinstance(self.metric, Window):
            raise RevertError(f"{type(self.metric).__name__} drops examples by itself; wrap a metric to revert")
        return self.metric

    def get(self) -> float | dict[str, float | PerLabel]:  # type: ignore[override]
        """The value so far; for an evaluator, all of its values by name."""
        return cast("float | dict[str, float | PerLabel]", self.metric.get())

    @property
    def reads_scores(self) -> bool:
        """Whether predictions must be scores, which a threshold turns into binary predictions."""
        return self.metric.reads_scores

    @property
    def bigger_is_better(self) -> bool:
        """The direction of the metric; an evaluator has none, nor has a metric that describes the data."""
        read = snapshot(self.metric, "metric")
        better = read.bigger_is_better if isinstance(read, Metric) else None
        if better is None:
            raise NotImplementedError(f"{quoted(self.metric)} has no direction; compare a single metric of quality")
        return better

    def clone(self, *_: object, **__: object) -> RiverMetric:
        """A metric of the same kind that has counted nothing."""
        fresh = self.metric.copy()
        fresh.reset()
        return RiverMetric(fresh)

    def __repr__(self) -> str:
        values = (
            f"{item.spec.key} {item.value:{'.2%' if item.entry.is_fraction else '.4f'}}"
            for item in report_of(snapshot(self.metric, "metric")).values()
            if isinstance(item.value, float)
        )
        return f"{type(self).__name__}: {', '.join(values)}"
