"""What can be read of counted examples besides metrics: outcomes per label, curves, thresholds, pairs of labels."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from streameval.errors import InputError, MetricError, wording
from streameval.evaluation.core import config_of, core_of
from streameval.evaluation.guarding import Guarded, answers, reads
from streameval.evaluation.suspicions import look
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import as_float
from streameval.schema.keywords import explain_methods
from streameval.schema.labels import Label
from streameval.schema.text import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from streameval.metrics.bounds import Choice
    from streameval.metrics.calibration import CalibrationCurve, Strategy
    from streameval.metrics.curves import PrecisionRecallCurve, RocCurve
    from streameval.metrics.label_sets import Concurrence
    from streameval.metrics.pairs import Matrix, Side, Values
    from streameval.metrics.thresholds import DecisionsAt, Objective, Thresholds
    from streameval.report.label_table import Column, LabelTable

Pooled = Literal["micro"]


class Details(Guarded):
    """The methods that evaluators, metrics and windows share. Those of curves and of pairs require these states."""

    __slots__ = ()
    _draw: Callable[..., Axes]

    examples: Any  # each class defines it in its own way

    def _look(self) -> None:
        look(self._guard, self.examples, lambda: core_of(self._current()))

    def _view(self, state: str, what: str, keep: str | None = None) -> Any:
        """What formulas read of a state; `MetricError` if it is absent: ``what`` requires it, or ``keep=[keep]``."""
        current = self._current()
        construct = "construct" + " an Evaluator" * hasattr(current, "spec")  # a metric has only what its formula needs
        return core_of(current).views().named(state, what, keep, construct)

    @property
    @reads
    def weight(self) -> float:
        """The total weight of the examples, correctly rounded."""
        tables = core_of(self._current()).views().tables
        return as_float(tables.weight * tables.unit)

    @property
    @reads
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then those that an example mentions, sorted."""
        return core_of(self._current()).views().tables.labels

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are read as scores: for rankings, curves or a threshold."""
        config = config_of(self)
        return config.threshold is not None or config.scored

    # -- outcomes ------------------------------------------------------------------------------------------------------

    @answers
    def per_label(self) -> LabelTable:
        """The outcomes of each label: true and false positives and negatives, and what follows from them.

        Raises
        ------
        MetricError
            If scores are counted without a threshold, so that there are no binary predictions.
        """
        from streameval.report.label_table import LabelTable

        return LabelTable.of(self._view("decisions", "per_label()"))

    def multilabel_confusion(self) -> Column:
        """The 2x2 table of each label: an array of shape (labels, 2, 2), ``[[tn, fp], [fn, tp]]`` each.

        As scikit-learn's ``multilabel_confusion_matrix``, in the order of ``labels``; of weighted examples float64.

        Examples
        --------
        >>> import streameval as se
        >>> ev = se.Evaluator()
        >>> ev.update_many([["cat", "dog"], ["cat"]], [["cat"], ["cat", "dog"]])
        >>> ev.multilabel_confusion().tolist()
        [[[0, 0], [0, 2]], [[0, 1], [1, 0]]]
        """
        return self.per_label().stacked()

    # -- curves --------------------------------------------------------------------------------------------------------

    @overload
    def roc_curve(self, label: Label, average: None = None) -> RocCurve: ...
    @overload
    def roc_curve(self, label: None = None, *, average: Pooled) -> RocCurve: ...
    @overload
    def roc_curve(self, label: None = None, average: None = None) -> dict[Label, RocCurve]: ...
    def roc_curve(self, label: Label | None = None, average: Pooled | None = None) -> object:
        """The ROC curve of a label, of all labels pooled (``average="micro"``), or of each label by name.

        Points and thresholds come in the order of scikit-learn; each point is exact. Requires the state ``"curves"``.

        Examples
        --------
        >>> import streameval as se
        >>> ev = se.Evaluator(["roc_auc_macro"])
        >>> ev.update_many([["cat"], [], ["cat"]], [{"cat": 0.75}, {"cat": 0.25}, {"cat": 0.25}])
        >>> curve = ev.roc_curve("cat")
        >>> curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist()
        ([0.0, 0.0, 1.0], [0.0, 0.5, 1.0], [inf, 0.75, 0.25])
        """
        return self._each("curves", "roc_curve", label, average)

    @overload
    def precision_recall_curve(self, label: Label, average: None = None) -> PrecisionRecallCurve: ...
    @overload
    def precision_recall_curve(self, label: None = None, *, average: Pooled) -> PrecisionRecallCurve: ...
    @overload
    def precision_recall_curve(self, label: None = None, average: None = None) -> dict[Label, PrecisionRecallCurve]: ...
    def precision_recall_curve(self, label: Label | None = None, average: Pooled | None = None) -> object:
        """The precision-recall curve of a label, of all labels pooled, or of each label; see `roc_curve`."""
        return self._each("curves", "precision_recall_curve", label, average)

    @overload
    def calibration_curve(
        self, label: Label, average: None = None, *, buckets: int = 15, strategy: Strategy = "uniform"
    ) -> CalibrationCurve: ...
    @overload
    def calibration_curve(
        self, label: None = None, *, average: Pooled, buckets: int = 15, strategy: Strategy = "uniform"
    ) -> CalibrationCurve: ...
    @overload
    def calibration_curve(
        self, label: None = None, average: None = None, *, buckets: int = 15, strategy: Strategy = "uniform"
    ) -> dict[Label, CalibrationCurve]: ...
    def calibration_curve(
        self,
        label: Label | None = None,
        average: Pooled | None = None,
        *,
        buckets: int = 15,
        strategy: Strategy = "uniform",
    ) -> object:
        """The reliability diagram of a label, of all labels pooled, or of each label; see `roc_curve`.

        ``"uniform"`` buckets have equal widths, (0, 1/15], (1/15, 2/15] ...; ``"quantile"`` buckets hold about as many
        scores each. Scores must be probabilities.
        """
        return self._each("calibration", "calibration_curve", label, average, buckets=buckets, strategy=strategy)

    @answers
    def _each(self, /, module: str, name: str, label: Label | None, average: Pooled | None, **options: Any) -> Any:
        """What a function of the package ``metrics`` returns for one label, for all pooled, or for each label."""
        view = self._view("curves", f"{name}()")
        read = getattr(import_module(f"streameval.metrics.{module}"), name)  # late, so that importing stays quick
        if average not in (None, "micro"):
            meanings = "'micro', all labels pooled, or None, one curve per label"
            raise MetricError(f"average must be {meanings}, not {quoted(average)}")
        if label is not None and average is not None:
            raise InputError(f"give a label or average={average!r}, not both")
        if label is not None or average is not None:
            return read(view, label, **options)
        return {each: read(view, each, **options) for each in view.labels}

    # -- thresholds ----------------------------------------------------------------------------------------------------

    @answers
    def best_thresholds(self, metric: str | Objective = "f1") -> dict[Label, Choice]:
        """The best threshold of each label (SCut) for a metric; together they maximise its mean over labels.

        ``metric`` is ``"f1"``, ``"fbeta(beta=2)"``, ``"precision_at_recall(recall=0.9)"``,
        ``"recall_at_precision(precision=0.9)"``, or an objective of `streameval.metrics.thresholds`, such as
        ``Cost(false_negative=5)``.

        Examples
        --------
        >>> import streameval as se
        >>> ev = se.Evaluator(["roc_auc_macro"])
        >>> ev.update_many([["cat"], [], ["cat"]], [{"cat": 0.75}, {"cat": 0.25}, {"cat": 0.5}])
        >>> ev.best_thresholds("f1")
        {'cat': Choice(threshold=0.5, value=1.0, bound=1.0)}
        """
        from streameval.metrics import thresholds

        objective, average = thresholds.objective_of(metric)
        if average not in (None, "macro"):
            raise MetricError(f"{metric} is of all labels together; best_threshold({metric!r}) chooses one threshold")
        what = wording("best_thresholds()", "a best threshold")
        return thresholds.best_thresholds(self._view("curves", what), objective)

    @answers
    def best_threshold(self, metric: str | Objective = "f1_micro") -> Choice:
        """The best single threshold for all labels: for the pooled cells (micro), or for the mean over labels (macro).

        ``metric`` is as for `best_thresholds`, with its average, such as ``"fbeta_macro(beta=2)"``; an objective is of
        the pooled cells.
        """
        from streameval.metrics import thresholds

        objective, average = thresholds.objective_of(metric)
        view = self._view("curves", "best_threshold()")
        return thresholds.best_threshold(view, objective, average=average or "micro")

    def pcut(self, label: Label | None = None, average: Pooled | None = None) -> Choice | dict[Label, Choice]:
        """Threshold with as many predictions as true labels (PCut): of a label, of all pooled, or of each.

        ``value`` is the number of predictions minus the number of true labels, weighted.
        """
        return cast("Choice | dict[Label, Choice]", self._each("thresholds", "pcut", label, average))

    @answers
    def decisions_at(self, thresholds: Thresholds) -> DecisionsAt:
        """The outcomes of each label when scores at or above a threshold are predicted.

        ``thresholds`` is one number, one per label in their order, or a mapping such as `best_thresholds` returns.
        """
        from streameval.metrics.thresholds import decisions_at

        return decisions_at(self._view("curves", wording("decisions_at()", "a threshold")), thresholds)

    # -- pairs of labels -----------------------------------------------------------------------------------------------

    @answers
    def confusion_matrix(self, *, values: Values = "counts") -> Matrix:
        """The multi-label confusion matrix: rows are true labels, columns predicted ones, both end with "no label".

        Of one example, call the labels that are true but not predicted M, those that are true and predicted B, and
        those that are predicted but not true W. Its cells are

        - (b, b) for every b in B;
        - if M and W are not empty: (m, w) for every m in M and w in W;
        - if only W is: (b, w) for every b in B and w in W, or (none, w) if nothing is true;
        - if only M is: (m, none) for every m in M;
        - (none, none) if nothing is true and nothing predicted.

        Parameters
        ----------
        values
            "counts": each cell counts 1, as in the paper; rows then sum to more than the examples that have the label.
            "shares": a true label of an example has one unit, divided evenly over the cells that the example marks in
            its row; an example without true labels has one unit in the row of no label. So the row of a label sums to
            the number (or weight) of examples in which it is true.
            "contributions": as Krstinić et al. 2020 divide the unit; if W is empty and B is not, a label in M is
            divided over B, and if only M is empty, (b, b) gets ``|T| / |P|`` and (b, w) ``1 / |P|``. Rows sum to
            the same.

        References
        ----------
        Heydarian, Doyle & Samavi 2022, MLCM: Multi-label confusion matrix, IEEE Access 10.
        Krstinić, Braović, Šerić & Božić-Štulić 2020, Multi-label classifier performance evaluation with confusion
        matrix, SAIM. The page on pairs says where the package ``mlcm`` 0.0.1 differs.

        Examples
        --------
        >>> import streameval as se
        >>> ev = se.Evaluator(keep=["pairs"])
        >>> ev.update_many([["cat"], ["dog"], ["fox"]], [["cat"], ["dog"], ["dog"]])
        >>> matrix = ev.confusion_matrix()
        >>> matrix.labels, matrix.dense().astype(int).tolist()[2]    # what became of fox
        (('cat', 'dog', 'fox', None), [0, 1, 0, 0])
        """
        from streameval.metrics.pairs import confusion_matrix

        part = "contributions" if values == "contributions" else "confusions"
        return confusion_matrix(self._view("pairs", "confusion_matrix()", part), values=values)

    @answers
    def cooccurrence(self, *, side: Side = "true") -> Matrix:
        """Number of examples in which two labels occur together.

        ``side="true"``: both are true; "pred": both are predicted; "both": one is true and one predicted. The
        diagonal says in how many examples a label is true, predicted, or both.
        """
        from streameval.metrics.pairs import cooccurrence

        return cooccurrence(self._view("pairs", "cooccurrence()", "cooccurrence"), side=side)

    @answers
    def label_sets(self) -> dict[tuple[Label, ...], float]:
        """Every set of true labels, and how many examples have it (their weight): the most frequent first.

        Examples
        --------
        >>> import streameval as se
        >>> ev = se.Evaluator(keep=["labelsets"])
        >>> ev.update_many([["cat"], ["dog", "cat"], ["cat"]], [["cat"], ["dog"], ["dog"]])
        >>> ev.label_sets()
        {('cat',): 2, ('cat', 'dog'): 1}
        """
        from streameval.metrics.label_sets import label_sets

        return label_sets(self._view("pairs", "label_sets()", "labelsets"))

    @answers
    def concurrence(self) -> Concurrence:
        """Co-occurrence of frequent and rare labels, as in mldr's ``concurrenceReport``.

        Requires ``keep=["labelsets", "cooccurrence"]``.
        """
        from streameval.metrics.label_sets import concurrence

        for part in ("cooccurrence", "labelsets"):  # both are required
            view = self._view("pairs", "concurrence()", part)
        return concurrence(view)

    # -- pictures ------------------------------------------------------------------------------------------------------

    def plot(self, kind: str | None = None, **options: object) -> Axes:
        """Plot the counts with matplotlib, and return the axes.

        Parameters
        ----------
        kind
            A function of `streameval.plots` without its ``plot_``: ``"labels"``, ``"metric"``, ``"roc_curve"``,
            ``"precision_recall_curve"``, ``"calibration_curve"``, ``"thresholds"``, ``"confusion_matrix"``,
            ``"multilabel_confusion"`` or ``"cooccurrence"``. None draws F1 of each label (a single metric: its value of
            each label); for scores without a threshold the ROC curves; and if there are no curves, the metrics.
        **options
            Those of the function, such as ``ax=`` and ``title=``; for curves ``labels=[...]``.

        Raises
        ------
        MetricError
            If the picture requires a state that was not constructed.
        DependencyError
            If matplotlib is not installed.
        """
        return self._draw(self._kind() if kind is None else kind, **options)

    def _kind(self) -> str:
        own = getattr(self, "spec", None)
        if own is not None and None not in entry_of(own.name).averages:
            return "metric"
        if own is not None or self._decides():
            return "labels"
        return "roc_curve" if self._decides("curves") else "metric"

    @reads
    def _decides(self, state: str = "decisions") -> bool:
        try:
            self._view(state, "plot()")
        except MetricError:
            return False
        return True


explain_methods(Details)
