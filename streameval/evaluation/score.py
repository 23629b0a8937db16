"""Metrics of complete arrays, lists or data frames in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, overload

from numpy.typing import ArrayLike

from streameval.errors import InputError, warn
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator, MetricLike
from streameval.evaluation.guarding import look_at
from streameval.evaluation.metric import Metric
from streameval.evaluation.pages import report_of
from streameval.inputs.samples import InputSummary
from streameval.metrics.spec import MetricSpec
from streameval.report.text import classification_table
from streameval.schema.config import Nan, Null, Rows, Threshold, Ties, Unknown
from streameval.schema.keywords import explained, meant_weights
from streameval.schema.labels import ByLabel, Label, PerLabel
from streameval.schema.text import check_number, label_lines, printable, quoted

_ONE = str | MetricSpec | Metric


@overload
def score(  # type: ignore[overload-overlap]  # a string is one metric, not a list of letters
    y_true: object, y_pred: object, metrics: MetricLike, *, weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, mask: object = None, labels: Iterable[Label] | None = None,
    unknown: Unknown = "error", threshold: Threshold = None, nan: Nan = "error", ties: Ties = "shared",
    inverse_propensities: ByLabel | None = None, label_limit: int | None = None, rows: Rows | None = None,
    null: Null = "error", threads: int = 1,
) -> float | PerLabel: ...  # fmt: skip
@overload
def score(
    y_true: object, y_pred: object, metrics: Iterable[MetricLike] | None = None, *, weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None, mask: object = None, labels: Iterable[Label] | None = None,
    unknown: Unknown = "error", threshold: Threshold = None, nan: Nan = "error", ties: Ties = "shared",
    inverse_propensities: ByLabel | None = None, label_limit: int | None = None, rows: Rows | None = None,
    null: Null = "error", threads: int = 1,
) -> dict[str, float | PerLabel]: ...  # fmt: skip
@explained
def score(
    y_true: object, y_pred: object, metrics: MetricLike | Iterable[MetricLike] | None = None, *,
    weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None, mask: object = None,
    labels: Iterable[Label] | None = None, unknown: Unknown = "error", threshold: Threshold = None, nan: Nan = "error",
    ties: Ties = "shared", inverse_propensities: ByLabel | None = None, label_limit: int | None = None,
    rows: Rows | None = None, null: Null = "error", threads: int = 1,
) -> float | PerLabel | dict[str, float | PerLabel]:  # fmt: skip
    """Compute metrics of arrays, lists or data frames in one call.

    Parameters
    ----------
    y_true, y_pred, weights, sample_weight, mask, null, threads
        As for `Evaluator.update_many`: 0/1 arrays, sparse matrices or data frames, examples x labels; lists of labels
        per example; for ``y_pred`` also scores. ``sample_weight`` is scikit-learn's name of ``weights``.
    metrics
        One metric, as a name such as ``"f1_macro"``, a spec or a metric object, for its value (one per label if it has
        no average); a list of these, for a dict full name -> value; or None, for the default metrics of `Evaluator`.
    labels, unknown, threshold, nan, ties, inverse_propensities, label_limit, rows
        As for `Evaluator`.

    Raises
    ------
    InputError, LabelError
        If an argument cannot be understood.
    MetricError
        If there is no such metric, or it cannot be read from these predictions.

    Examples
    --------
    >>> import numpy as np
    >>> y_true, y_pred = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[1, 1, 0], [0, 1, 0]])
    >>> score(y_true, y_pred, "f1_micro")
    0.6666666666666666
    >>> score(y_true, y_pred, ["f1_macro", "hamming_loss"])
    {'f1_macro': 0.5555555555555556, 'hamming_loss': 0.3333333333333333}
    >>> score([["cat", "bird"], ["dog"]], [["cat", "dog"], ["dog"]], "recall_samples")
    0.75
    >>> score(y_true, np.array([[0.9, 0.2, 0.4], [0.3, 0.8, 0.1]]), "ranking_loss")
    0.0
    """
    counts = _evaluator(
        DEFAULT_METRICS if metrics is None else metrics, labels=labels, unknown=unknown, threshold=threshold, nan=nan,
        ties=ties, inverse_propensities=inverse_propensities, label_limit=label_limit, rows=rows,
    )  # fmt: skip
    with meant_weights(score, weights, {"sample_weight": sample_weight}) as weights:
        _count(counts, y_true, y_pred, weights=weights, mask=mask, null=null, threads=threads)
    return counts.get(counts.metrics[0]) if isinstance(metrics, _ONE) else counts.get()


def _evaluator(metrics: Any, **reading: Any) -> Evaluator:
    return Evaluator([metrics] if isinstance(metrics, _ONE) else metrics, **reading)


def _count(counts: Evaluator, *sides: object, **options: Any) -> None:
    counts.update_many(*sides, **options)
    if not counts.examples:
        warn("y_true and y_pred have no examples, so each value is what zero_division= says")


@explained
def describe(
    y_true: object, y_pred: object, metrics: MetricLike | Iterable[MetricLike] | None = None, *,
    weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None, mask: object = None,
    labels: Iterable[Label] | None = None, unknown: Unknown = "error", threshold: Threshold = None, nan: Nan = "error",
    ties: Ties = "shared", inverse_propensities: ByLabel | None = None, label_limit: int | None = None,
    rows: Rows | None = None, null: Null = "error", threads: int = 1,
) -> InputSummary:  # fmt: skip
    """Describe how `score` reads two arguments: form, labels and first examples of each.

    Arguments and errors are those of `score`. The result is a dict by argument, which prints itself in lines;
    ``input_summary`` of whatever counts is the same.

    Examples
    --------
    >>> import numpy as np
    >>> describe([["cat"], ["dog", "cat"]], np.array([[0.9, 0.2], [0.6, 0.7]]), labels=["cat", "dog"], threshold=0.5)
    y_true: list of list; 2 labels, from the examples
      cat
      cat, dog
    y_pred: ndarray of float64, 2 columns; 2 labels, from labels=, in the order of columns
      cat
      cat, dog
    """
    counts = _evaluator(
        () if metrics is None else metrics, labels=labels, unknown=unknown, threshold=threshold, nan=nan, ties=ties,
        inverse_propensities=inverse_propensities, label_limit=label_limit, rows=rows,
    )  # fmt: skip
    with meant_weights(describe, weights, {"sample_weight": sample_weight}) as weights:
        counts.update_many(y_true, y_pred, weights=weights, mask=mask, null=null, threads=threads)
    return counts.input_summary


@overload
def classification_report(
    y_true: object, y_pred: object, *, weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    mask: object = None, labels: Iterable[Label] | None = None, threshold: Threshold = None, zero_division: float = 0.0,
    digits: int = 2, output_dict: Literal[False] = False,
) -> str: ...  # fmt: skip
@overload
def classification_report(
    y_true: object, y_pred: object, *, weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    mask: object = None, labels: Iterable[Label] | None = None, threshold: Threshold = None, zero_division: float = 0.0,
    digits: int = 2, output_dict: Literal[True],
) -> dict[str, dict[str, float]]: ...  # fmt: skip
@explained
def classification_report(
    y_true: object, y_pred: object, *, weights: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
    mask: object = None, labels: Iterable[Label] | None = None, threshold: Threshold = None, zero_division: float = 0.0,
    digits: int = 2, output_dict: bool = False,
) -> str | dict[str, dict[str, float]]:  # fmt: skip
    """Precision, recall, F1 and support of every label and average, as text, as in scikit-learn.

    Parameters
    ----------
    y_true, y_pred, weights, sample_weight, mask
        As for `score`.
    labels
        The names of the columns, in order (scikit-learn's ``target_names``).
    threshold
        If ``y_pred`` holds scores: labels scoring at or above it are predicted.
    zero_division
        What 0/0 stands for: 0.0, 1.0, or nan, which leaves it out of means.
    digits
        Decimals of each value.
    output_dict
        Whether to return a dict, with scikit-learn's keys, in place of a string.

    Raises
    ------
    InputError, LabelError
        If an argument cannot be understood, or two labels look alike as strings.

    Examples
    --------
    >>> print(classification_report([["cat", "bird"], ["dog"]], [["cat", "dog"], ["dog"]]))
                  precision    recall  f1-score   support
    <BLANKLINE>
            bird       0.00      0.00      0.00         1
             cat       1.00      1.00      1.00         1
             dog       0.50      1.00      0.67         1
    <BLANKLINE>
       micro avg       0.67      0.67      0.67         3
       macro avg       0.50      0.67      0.56         3
    weighted avg       0.50      0.67      0.56         3
     samples avg       0.75      0.75      0.75         3
    <BLANKLINE>
    >>> classification_report([["cat"]], [["cat", "dog"]], output_dict=True)["micro avg"]
    {'precision': 0.5, 'recall': 1.0, 'f1-score': 0.6666666666666666, 'support': 1.0}
    """
    digits = check_number("digits", digits, 0, 100)
    counts = Evaluator([], labels=labels, threshold=threshold)
    with meant_weights(classification_report, weights, {"sample_weight": sample_weight}) as weights:
        _count(counts, y_true, y_pred, weights=weights, mask=mask)
    report = report_of(look_at(counts))
    columns = [*report.label_values(zero_division).values(), report.support]
    names = [*map(printable, report.labels)] if output_dict else label_lines(report.labels)
    rows = list(zip(names, map(list, zip(*columns, strict=True)), strict=True))
    averages = report.averages(zero_division).items()
    rows += [(f"{average} avg", [*values, report.total_support]) for average, values in averages]
    if not output_dict:
        return classification_table(rows, len(report.labels), digits)
    content: dict[str, dict[str, float]] = {}
    for name, values in rows:
        if name in content:
            twice = f"two rows of the report are named {quoted(name)}"
            raise InputError(f"{twice}; rename a label, or use Evaluator.to_dict")
        content[name] = dict(zip(("precision", "recall", "f1-score", "support"), map(float, values), strict=True))
    return content
