"""Many metrics over one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, TypeAlias, overload

from streameval.accumulator import Accumulator
from streameval.config import Nan, Ties, Unknown
from streameval.errors import MetricError, shown
from streameval.labels import Label
from streameval.metrics.interval import Interval
from streameval.metrics.kept import certified
from streameval.metrics.naming import evaluate, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.single import Metric

__all__ = ["Evaluator", "MetricLike"]

MetricLike: TypeAlias = str | MetricSpec | Metric

DEFAULT_METRICS = (
    "subset_accuracy", "hamming_loss", "jaccard_samples", "precision_micro", "recall_micro", "f1_micro", "f1_macro",
    "f1_weighted", "f1_samples",
)  # fmt: skip


class Evaluator(Accumulator):
    """Counts each example once and answers for any number of metrics.

    Parameters
    ----------
    metrics
        Names such as ``"f1_macro"`` or ``"fbeta_micro(beta=2)"``, specs, or metric objects (of which only the spec is
        taken). They decide what `get` returns without arguments; any other metric can be asked for as well.
    labels
        The labels in column order; None lets the set grow with the stream.
    unknown
        What to do with a label outside ``labels``: ``"error"`` refuses it, ``"ignore"`` drops it, ``"add"`` adds it.
    threshold
        None if predictions are decisions. A number, or one per label (a mapping, or in the order of ``labels``), if
        they are scores: a score at or above it is a prediction. Booleans and label collections are decisions still.
    keep
        What to remember beyond what ``metrics`` are read from: ``"rankings"``, ``"curves"``, ``"pairs"``. These are
        ``"confusions"`` and ``"cooccurrence"``, which can be kept each by itself; further parts of pairs are
        ``"labelsets"`` and ``"contributions"``.
    nan
        What a score that is NaN means: ``"error"``, or ``"missing"``: the label has no score in this example.
    ties
        For rankings: ``"shared"``, labels with equal scores share their ranks; ``"last"``, the later one ranks better.
    inverse_propensities
        For propensity-scored metrics, how much a hit of each label counts.

    Examples
    --------
    >>> ev = Evaluator(["f1_micro", "f1_macro"])
    >>> ev.update({"cat", "bird"}, {"cat", "dog"})
    >>> ev.update({"dog"}, {"dog"})
    >>> ev.get()
    {'f1_micro': 0.6666666666666666, 'f1_macro': 0.5555555555555556}
    >>> ev.get("recall_weighted")
    0.6666666666666666
    """

    __slots__ = ()
    _kind: ClassVar[int] = 0

    def __init__(
        self,
        metrics: Iterable[MetricLike] = DEFAULT_METRICS,
        *,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        keep: Iterable[str] = (),
        nan: Nan = "error",
        ties: Ties = "shared",
        inverse_propensities: Mapping[Label, float] | None = None,
    ) -> None:
        if isinstance(metrics, str):
            raise MetricError(f"metrics must be a list, not the string {shown(metrics)}; write [{shown(metrics)}]")
        if not isinstance(metrics, Iterable):
            raise MetricError(f"metrics must be a list of names, specs or metric objects, not {shown(metrics)}")
        specs = tuple(dict.fromkeys(_spec_of(metric) for metric in metrics))
        self._start(specs, labels, unknown, threshold, keep, nan, ties, inverse_propensities)

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The metrics that `get` returns."""
        return self._specs

    @overload
    def get(self) -> dict[str, float | dict[Label, float]]: ...
    @overload
    def get(self, metric: MetricLike) -> float | dict[Label, float]: ...
    def get(self, metric: MetricLike | None = None) -> object:
        """The value of one metric, or of all by name. Metrics without average give one value per label."""
        readings = self._readings()
        if metric is not None:
            spec = _spec_of(metric)
            return evaluate(spec, readings.of(spec))
        return {spec.key: evaluate(spec, readings.of(spec)) for spec in self._specs}

    def interval(self, metric: MetricLike) -> Interval | dict[Label, Interval]:
        """The value of a metric with bounds that contain the exact one; they are equal where nothing is open.

        Metrics of curves are read from bins of scores, so that a stream of any length fits into memory; the bounds
        tell what the bins leave open.
        """
        return certified(_spec_of(metric), self._readings())

    def report(self, *, digits: int = 4, max_labels: int = 60) -> str:
        """A table of every label and the averages, then the chosen metrics; these alone where nothing is decided.

        Parameters
        ----------
        digits
            Decimals shown.
        max_labels
            Beyond it only the labels with the largest support are shown.
        """
        from streameval.report.text import text_report  # only when asked, so that importing the package stays quick

        return text_report(self._readings(), self._specs, digits=digits, max_labels=max_labels)

    def __repr__(self) -> str:
        values = ", ".join(f"{spec.key}={self._told(spec)}" for spec in self._specs)
        return f"<Evaluator of {self.examples} examples, {len(self.labels)} labels: {values or 'no metrics'}>"

    def _told(self, spec: MetricSpec) -> str:
        try:
            value = self.get(spec)
        except MetricError:  # such as log loss of scores that are no probabilities
            return "?"
        return "..." if isinstance(value, dict) else f"{value:.4g}"

    def _repr_html_(self) -> str:
        from streameval.report.html import html_report

        return html_report(self._readings(), self._specs)


def _spec_of(metric: MetricLike) -> MetricSpec:
    if isinstance(metric, MetricSpec):
        return metric
    if isinstance(metric, Metric):
        return metric.spec
    if isinstance(metric, str):
        return parse_spec(metric)
    raise MetricError(f"a metric must be a name, a spec or a metric object, not {shown(metric)}")
