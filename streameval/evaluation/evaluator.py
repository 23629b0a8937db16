"""Many metrics over one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, overload

from streameval.errors import MetricError, public
from streameval.evaluation.counting import Accumulator, start
from streameval.evaluation.guarding import answers, reads
from streameval.evaluation.metric import Metric, restored
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import build_spec, catalogue, evaluate, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.schema.config import Nan, Rows, Threshold, Ties, Unknown
from streameval.schema.labels import ByLabel, Label, PerLabel
from streameval.schema.text import number_of, quoted

if TYPE_CHECKING:
    from streameval.evaluation.classes import _PerLabelName
    from streameval.metrics.bounds import Bounds
    from streameval.report.label_table import PandasFrame, PolarsFrame

MetricLike: TypeAlias = str | MetricSpec | Metric


DEFAULT_METRICS = (
    "subset_accuracy", "hamming_loss", "jaccard_samples", "precision_micro", "recall_micro", "f1_micro", "f1_macro",
    "f1_weighted", "f1_samples",
)  # fmt: skip


@public
class Evaluator(Accumulator):
    """Computes any number of metrics over a stream in one pass.

    Parameters
    ----------
    metrics
        What `get` returns without arguments: names such as ``"f1_macro"`` or ``"fbeta_micro(beta=2)"``, specs, or
        metric objects (of which only the spec is taken). Any other metric can be read as well.
    labels
        The labels in column order; None lets the set grow with the stream.
    unknown
        What to do with a label outside ``labels``: ``"error"`` refuses it, ``"ignore"`` drops it, ``"add"`` adds it.
    threshold
        None if predictions are binary. A number, or one per label (a mapping, or in the order of ``labels``), if they
        are scores: labels scoring at or above it are predicted. Booleans and label collections stay binary predictions.
    keep
        States to construct beyond those that ``metrics`` require, such as ``"curves"``: any that an entry of the
        `catalogue` is read from. ``"pairs"`` is ``"confusions"`` and ``"cooccurrence"``; further parts of pairs are
        ``"labelsets"`` and ``"contributions"``.
    nan
        What a score that is NaN means: ``"error"``, or ``"missing"``: the label has no score in this example.
    ties
        For rankings: ``"shared"``, labels with equal scores share their ranks; ``"last"``, the later one ranks better.
    inverse_propensities
        For propensity-scored metrics, how much a hit of each label counts.
    label_limit
        The maximum number of labels besides the declared ones, for example against identifiers in the place of labels:
        a call that would add more raises `LabelError` and changes nothing. Objects with different limits merge, and the
        limit of the receiver holds.
    rows
        What lists of integers or strings are: ``"labels"``, or ``"indicator"`` values in the order of the labels. None:
        they are labels, and those that may also be indicators are refused. It is not compared by ``==``.

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

    def __init__(
        self, metrics: Iterable[MetricLike] = DEFAULT_METRICS, *, labels: Iterable[Label] | None = None,
        unknown: Unknown = "error", threshold: Threshold = None, keep: Iterable[str] = (), nan: Nan = "error",
        ties: Ties = "shared", inverse_propensities: ByLabel | None = None, label_limit: int | None = None,
        rows: Rows | None = None,
    ) -> None:  # fmt: skip
        start(
            self, specs_of(metrics), keep, ties, inverse_propensities, labels=labels, unknown=unknown,
            threshold=threshold, nan=nan, label_limit=label_limit, rows=rows,
        )  # fmt: skip

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The metrics that `get` returns."""
        return self._core.specs

    @overload
    def get(self, metric: None = None) -> dict[str, float | PerLabel]: ...
    @overload
    def get(self, metric: _PerLabelName) -> dict[Label, float]: ...  # type: ignore[overload-overlap]  # as `score`
    @overload
    def get(self, metric: MetricLike) -> float | PerLabel: ...  # type: ignore[overload-overlap]  # as `score`
    @overload
    def get(self, metric: Sequence[MetricLike]) -> dict[str, float | PerLabel]: ...
    def get(self, metric: MetricLike | Sequence[Any] | None = None) -> float | PerLabel | dict[str, float | PerLabel]:
        """The value of one metric, or a dict by name for a list of metrics; by default for all.

        Metrics without average give one value per label.
        """
        chosen: Any = metric if isinstance(metric, list | tuple) else [metric]
        specs = self._core.specs if metric is None else specs_of(chosen)
        self._look()
        with self._guard.reading:
            views = self._core.views()
            values = {spec.key: evaluate(spec, views.of(spec)) for spec in specs}
        return values if metric is None or chosen is metric else values[specs[0].key]

    @overload
    def __getitem__(self, metric: _PerLabelName) -> dict[Label, float]: ...
    @overload
    def __getitem__(self, metric: MetricLike) -> float | PerLabel: ...
    def __getitem__(self, metric: MetricLike) -> float | PerLabel:
        """The value of one metric, as `get` returns it."""
        return self.get(metric)

    __iter__ = None  # otherwise Python would iterate by __getitem__

    @answers
    def bounds(self, metric: MetricLike) -> Bounds | PerLabel:
        """The value of a metric with bounds that contain the exact one.

        Metrics of curves are computed from binned scores, and the bounds contain every value that the scores in the
        bins allow. ``exact`` says that the only uncertainty is the rounding to a float64; the bounds are then the value
        or a float next to it.
        """
        return self._core.views().certified(_spec_of(metric))

    @answers
    def report(self, *, digits: int = 4, max_labels: int = 60) -> str:
        """A table of all labels and averages, then the chosen metrics; without binary predictions, only the metrics.

        Values have ``digits`` decimals. At most ``max_labels`` labels have a line, those with the largest support.
        """
        from streameval.report.text import text_report  # imported late, so that importing the package stays quick

        return text_report(report_of(self), digits=digits, max_labels=max_labels)

    @answers
    def to_dict(self) -> dict[str, Any]:
        """The report as plain Python: examples, chosen metrics and, for binary predictions, averages and labels.

        ``"examples"``, ``"weight"``, ``"metrics"`` (what `get` returns, but values per label as records such as
        ``{"label": 7, "value": 0.5}``, since keys of JSON are strings), ``"averages"`` (precision, recall and F1 by
        average) and ``"labels"`` (a record for each label, with the columns of `to_pandas`).

        Examples
        --------
        >>> ev = Evaluator(["f1_micro"])
        >>> ev.update({"cat", "bird"}, {"cat", "dog"})
        >>> report = ev.to_dict()
        >>> report["metrics"], report["averages"]["macro"]
        ({'f1_micro': 0.5}, {'precision': 0.3333333333333333, 'recall': 0.3333333333333333, 'f1': 0.3333333333333333})
        >>> [(row["label"], row["f1"]) for row in report["labels"]]
        [('bird', 0.0), ('cat', 1.0), ('dog', 0.0)]
        """
        return report_of(self).to_dict()

    def to_pandas(self, metrics: Iterable[MetricLike] = ("precision", "recall", "f1")) -> PandasFrame:
        """One row per label: its counts, and the values of metrics such as ``"f1"`` or ``"roc_auc"``.

        Raises
        ------
        MetricError
            If a metric has no value per label, or requires a state that was not constructed.
        DependencyError
            If pandas is not installed.

        Examples
        --------
        >>> ev = Evaluator()
        >>> ev.update({"cat", "bird"}, {"cat", "dog"})
        >>> ev.to_pandas(["f1", "jaccard"])
          label  tp  fp  fn  tn  support  predicted   f1  jaccard
        0  bird   0   0   1   0        1          0  0.0      0.0
        1   cat   1   0   0   0        1          1  1.0      1.0
        2   dog   0   1   0   0        0          1  0.0      0.0
        """
        from streameval.report.label_table import to_pandas

        return to_pandas(self._columns(specs_of(metrics)))

    def to_polars(self, metrics: Iterable[MetricLike] = ("precision", "recall", "f1")) -> PolarsFrame:
        """The same as `to_pandas`, as a polars data frame."""
        from streameval.report.label_table import to_polars

        return to_polars(self._columns(specs_of(metrics)))

    @answers
    def _columns(self, specs: tuple[MetricSpec, ...]) -> dict[str, list[object]]:
        return report_of(self).columns(specs)

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        from streameval.evaluation.encoding import decode  # imported late, so that importing the package stays quick

        return restored(cls, decode(data, "an Evaluator"))

    @reads
    def __repr__(self) -> str:
        return self._described(f", {number_of(len(self.labels), 'label')}")

    def _ipython_key_completions_(self) -> list[str]:
        config = self._core.config
        states = ("decisions",) * config.has_decisions + config.states
        own, entries = [spec.key for spec in self._core.specs], [one for one in catalogue() if one.state in states]
        return own + [build_spec(one.name, average=average).key for one in entries for average in one.averages]


def specs_of(metrics: Iterable[MetricLike]) -> tuple[MetricSpec, ...]:
    """The specs of a list of metrics, each once."""
    if isinstance(metrics, str):
        parse_spec(metrics)  # raises if the string holds more than one name
        raise MetricError(f"metrics must be a list, not the string {quoted(metrics)}; write [{quoted(metrics)}]")
    if isinstance(metrics, Mapping) or getattr(type(metrics), "__iter__", None) is None:
        kind = metrics if isinstance(metrics, type) else type(metrics)
        advice = f"; write [{kind.__name__}()]" if issubclass(kind, Metric) else ""
        raise MetricError(f"metrics must be a list of names, specs or metric objects, not {quoted(metrics)}{advice}")
    return tuple(dict.fromkeys(map(_spec_of, metrics)))


def _spec_of(metric: object) -> MetricSpec:
    if isinstance(metric, str):
        return parse_spec(metric)
    if isinstance(metric, MetricSpec | Metric):
        return metric if isinstance(metric, MetricSpec) else metric.spec
    name = getattr(metric, "__name__", "")
    advice = f"; write {name}()" if isinstance(metric, type) and issubclass(metric, Metric) else ""
    raise MetricError(f"a metric must be a name, a spec or a metric object, not {quoted(metric)}{advice}")
