"""Values that other projects publish in their tests and documentation, with their sources.

Each case has only facts: the data, the metric, the published number, and how many digits of it are published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Published:
    """One published value.

    Attributes
    ----------
    name, source
        The name of the case, and where it is published.
    theirs, ours
        The name of the metric in the source, and ours: a metric, ``"1 - "`` a metric, or columns of `LabelTable`.
    true, pred
        Lists of labels per example; with ``indicator``, rows of 0/1, for ``pred`` scores if there is a ``threshold``.
    expected, atol
        The published value, or a list of values in the order of the labels; and the tolerance.
    labels
        The labels to evaluate, in the order of ``expected``, unless these are all labels of the data.
    cell_weights
        A weight for each example and label; each label is then evaluated by itself, with its own weights.
    top
        Predictions are the labels with the ``top`` largest scores, or the first ``top`` of each list.
    among
        Only examples for which this label is true are evaluated.
    scored
        Predictions are rows of scores, from which curves are read.
    """

    name: str
    source: str
    theirs: str
    ours: str
    true: Rows
    pred: Rows
    expected: Any
    atol: float
    indicator: bool = True
    threshold: float | None = None
    labels: tuple[Any, ...] | None = None
    cell_weights: Rows | None = None
    top: int | None = None
    among: Any = None
    scored: bool = False


HIVEMALL = "apache/incubator-hivemall "
HIVEMALL_DOCS = HIVEMALL + "docs/gitbook/eval/multilabel_classification_measures.md @2ea1b3a"
HIVEMALL_TRUE = (
    ("cat", "bird"), ("cat", "dog"), ("cat",), ("bird",), ("bird", "cat"), ("cat", "dog"), ("dog", "bird"),
)  # fmt: skip
HIVEMALL_PRED = (
    ("cat", "dog"), ("cat", "bird"), (), ("bird",), ("bird", "cat"), ("cat", "dog", "bird"), ("dog",),
)  # fmt: skip

IGNITE = "pytorch/ignite ignite/metrics/{}.py @de08e799c docstring (multilabel case)"
IGNITE_TRUE = ((0, 0, 1), (0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 1))
IGNITE_PRED = ((1, 1, 0), (1, 0, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0))

KERAS = "keras-team/keras keras/src/metrics/f_score_metrics_test.py @3422977a5e::"

MEKA = "Waikato/meka src/test/java/meka/core/MetricsTest.java @f9ffe23 object half_right"
MEKA_TRUE = ((0, 1, 0, 1), (0, 1, 0, 1), (1, 0, 1, 0), (1, 0, 1, 0))
MEKA_PRED = ((1, 0, 1, 0), (0, 1, 0, 1), (1, 0, 1, 0), (0, 1, 0, 1))

SKLEARN = "scikit-learn 1.9.1 sklearn/metrics/tests/test_classification.py::"
SKLEARN_PRF = SKLEARN + "test_precision_recall_f1_score_"
SKLEARN_PRF_TRUE = ((0, 1, 0, 0), (1, 0, 0, 0), (0, 1, 1, 0))
SKLEARN_PRF_PRED = ((0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 1, 0))

SPARK = (
    "apache/spark mllib/src/test/scala/org/apache/spark/mllib/evaluation/MultilabelMetricsSuite.scala "
    "@14f456438b136ca99504ca42118b6545cc0f4620"
)
SPARK_TRUE = ((0, 2), (0, 1), (0,), (2,), (2, 0), (0, 1), (1, 2))
SPARK_PRED = ((0, 1), (0, 2), (), (2,), (2, 0), (0, 1, 2), (1,))

TORCHMETRICS = (
    "Lightning-AI/torchmetrics src/torchmetrics/functional/classification @dab033394 (=1.9.0), docstring of multilabel_"
)
TORCHMETRICS_TRUE = ((0, 1, 0), (1, 0, 1))
TORCHMETRICS_SCORES = ((0.11, 0.22, 0.84), (0.73, 0.33, 0.92))

TRIBUO = (
    "oracle/tribuo MultiLabel/Core/src/test/java/org/tribuo/multilabel/evaluation/MultiLabelEvaluatorTest.java "
    "@820026e6 test()"
)
TRIBUO_TRUE = (
    ("a",), ("c", "b", "d"), ("a", "b"), ("a", "b", "c"), ("a", "b", "c"), ("b",), ("c",), ("b",), ("b",), ("c",),
    ("a",),
)  # fmt: skip
TRIBUO_PRED = (
    ("a", "b"), ("b",), ("a", "b"), ("a",), ("d",), ("b",), ("d", "b"), ("b", "a"), ("b", "c"), ("c",), (),
)  # fmt: skip


def _toy(ours: str, theirs: str, expected: float) -> Published:
    name = f"hivemall-{theirs}"
    return Published(name, HIVEMALL_DOCS, theirs, ours, HIVEMALL_TRUE, HIVEMALL_PRED, expected, 0.0, indicator=False)


def _torchmetrics_areas(number: str, theirs: str, ours: str, expected: float) -> Published:
    return Published(
        f"torchmetrics-{number}",
        TORCHMETRICS + theirs,
        f"multilabel_{theirs}, average='macro', thresholds=5",
        ours,
        ((1, 0, 1), (0, 0, 0), (0, 1, 1), (1, 1, 1)),
        tuple(
            tuple(math.floor(4 * score) / 4 for score in row)
            for row in ((0.75, 0.05, 0.35), (0.45, 0.75, 0.05), (0.05, 0.55, 0.75), (0.05, 0.65, 0.05))
        ),
        expected,
        6e-5,
        scored=True,
    )


def _meka(number: str, theirs: str, ours: str, *, value: float = 0.5, scored: bool = False) -> Published:
    return Published(f"meka-{number}", MEKA, theirs, ours, MEKA_TRUE, MEKA_PRED, value, 1e-8, scored=scored)


def _spark(number: str, theirs: str, ours: str) -> Published:
    return Published(
        f"spark-{number}", SPARK, theirs, ours, SPARK_TRUE, SPARK_PRED, [0.5], 1e-5, indicator=False, labels=(2,)
    )


def _torchmetrics(number: str, theirs: str, ours: str, expected: object, atol: float = 6e-5) -> Published:
    return Published(
        f"torchmetrics-{number}",
        TORCHMETRICS + theirs,
        f"{theirs}, average='none', threshold=0.5",
        ours,
        TORCHMETRICS_TRUE,
        TORCHMETRICS_SCORES,
        expected,
        atol,
        threshold=0.5,
    )


def _tribuo(number: str, ours: str, expected: float) -> Published:
    return Published(f"tribuo-{number}", TRIBUO, ours, ours, TRIBUO_TRUE, TRIBUO_PRED, expected, 1e-10, indicator=False)


CASES: tuple[Published, ...] = (
    _toy("f1_micro", "fmeasure(actual, predicted)", 0.6956521739130435),
    _toy("fbeta_micro(beta=2)", "fmeasure(actual, predicted, '-beta 2.')", 0.6779661016949152),
    Published(
        "hivemall-0050",
        HIVEMALL + "core/src/test/java/hivemall/evaluation/FMeasureUDAFTest.java @34079778#testMultiLabelMinFMeasure",
        "fmeasure, beta=1; the truth repeats a label",
        "fbeta_micro(beta=1)",
        ((0, 0, 0),),
        ((1, 2, 3),),
        0.0,
        1e-5,
        indicator=False,
    ),
    Published(
        "ignite-0438",
        IGNITE.format("precision"),
        "precision, macro",
        "precision_macro",
        IGNITE_TRUE,
        IGNITE_PRED,
        0.2333333333333333,
        1e-9,
    ),
    Published(
        "ignite-0443",
        IGNITE.format("recall"),
        "recall, macro",
        "recall_macro",
        IGNITE_TRUE,
        IGNITE_PRED,
        0.6666666666666666,
        1e-9,
    ),
    Published(
        "keras-0413",
        KERAS + "test_fbeta_perfect_score",
        "fbeta, macro, beta=1, threshold=0.66",
        "fbeta_macro(beta=1)",
        ((1, 1, 1), (1, 0, 0), (1, 1, 0)),
        ((0.7, 0.7, 0.7), (1, 0, 0), (0.9, 0.8, 0)),
        1.0,
        1e-6,
        threshold=0.66,
    ),
    Published(
        "keras-0424",
        KERAS + "test_fbeta_2d_weight",
        "f1, none, threshold=0.5, a weight for each example and label",
        "f1_per_label",
        ((1, 1), (1, 0)),
        ((0.2, 0.6), (0.2, 0.6)),
        [0.0, 0.333333],
        1e-5,
        threshold=0.5,
        cell_weights=((0.5, 0.2), (0.3, 0.8)),
    ),
    # The loss is capped at the logarithm of the number of labels or examples; there are 4 of each.
    _meka("0547", "L_LogLossL", f"log_loss_micro(eps=0,cap={math.log(4)})", value=0.6931471805599453, scored=True),
    _meka("0548", "L_LogLossD", f"log_loss_micro(eps=0,cap={math.log(4)})", value=0.6931471805599453, scored=True),
    _meka("0559", "P_macroAUPRC", "average_precision_macro", scored=True),
    _meka("0561", "P_microAUPRC", "average_precision_micro", scored=True),
    _meka("0560", "P_macroAUROC", "roc_auc_macro", scored=True),
    _meka("0562", "P_microAUROC", "roc_auc_micro", scored=True),
    _meka("0540", "P_ExactMatch", "subset_accuracy"),
    _meka("0541", "L_ZeroOne", "zero_one_loss"),
    _meka("0542", "L_Hamming", "hamming_loss"),
    _meka("0543", "P_Hamming", "hamming_score"),
    _meka("0544", "P_Harmonic", "harmonic_accuracy"),
    _meka("0545", "P_JaccardIndex", "jaccard_samples"),
    _meka("0546", "L_JaccardDist", "1 - jaccard_samples"),
    _meka("0551", "P_PrecisionMicro", "precision_micro"),
    _meka("0552", "P_RecallMicro", "recall_micro"),
    _meka("0554", "P_FmacroAvgL", "f1_macro"),
    Published(
        "ml-metrics-0453",
        "google/ml-metrics ml_metrics/_src/aggregates/classification_test.py @8890eb8 "
        "topk multiclass_multioutput_macro_average",
        "tp, tn, fp, fn at k=1, vocabulary y, n, u",
        "tp tn fp fn",
        (("y",), ("y",), ("n",), ("n",), ("y", "n"), ("n",), ("y",), ("u",)),
        (("y",), ("n", "y"), ("y",), ("n",), ("y",), ("n",), ("n",), ("u",)),
        [[2, 2, 1], [3, 2, 7], [1, 2, 0], [2, 2, 0]],
        0.0,
        indicator=False,
        labels=("y", "n", "u"),
        top=1,
    ),
    Published(
        "scikit-learn-0082",
        SKLEARN + "test_multilabel_accuracy_score_subset_accuracy",
        "accuracy_score",
        "subset_accuracy",
        ((0, 0, 1), (1, 0, 1)),
        ((1, 1, 0), (0, 1, 0)),
        0.0,
        1e-7,
    ),
    Published(
        "scikit-learn-0087",
        SKLEARN + "test_multilabel_zero_one_loss_subset",
        "zero_one_loss",
        "zero_one_loss",
        ((0, 0, 1), (1, 0, 1)),
        ((1, 1, 0), (0, 1, 0)),
        1.0,
        1e-7,
    ),
    Published(
        "scikit-learn-0093",
        SKLEARN + "test_multilabel_hamming_loss",
        "hamming_loss",
        "hamming_loss",
        ((0, 0, 1), (1, 0, 1)),
        ((0, 0, 0), (0, 0, 0)),
        0.5,
        1e-7,
    ),
    Published(
        "scikit-learn-0105",
        SKLEARN + "test_multilabel_jaccard_score",
        "jaccard_score, samples, labels=[1, 2]",
        "jaccard_samples",
        ((0, 1, 1), (1, 0, 0)),
        ((1, 1, 1), (1, 0, 1)),
        0.5,
        1e-7,
        labels=(1, 2),
    ),
    Published(
        "scikit-learn-0146",
        SKLEARN_PRF + "multilabel_2",
        "fbeta_score, samples, beta=2",
        "fbeta_samples(beta=2)",
        ((1, 0, 0, 0), (0, 1, 0, 0), (0, 1, 1, 0)),
        ((0, 0, 0, 1), (0, 0, 0, 1), (1, 1, 0, 0)),
        0.1666,
        0.015,
    ),
    Published(
        "scikit-learn-0151",
        SKLEARN_PRF + "with_an_empty_prediction",
        "precision_score, macro",
        "precision_macro",
        SKLEARN_PRF_TRUE,
        SKLEARN_PRF_PRED,
        0.5,
        1e-7,
    ),
    Published(
        "scikit-learn-0152",
        SKLEARN_PRF + "with_an_empty_prediction",
        "recall_score, macro",
        "recall_macro",
        SKLEARN_PRF_TRUE,
        SKLEARN_PRF_PRED,
        0.375,
        1e-7,
    ),
    Published(
        "scikit-learn-0153",
        SKLEARN_PRF + "with_an_empty_prediction",
        "f1_score, macro",
        "f1_macro",
        SKLEARN_PRF_TRUE,
        SKLEARN_PRF_PRED,
        0.41666666666666663,
        1e-7,
    ),
    Published(
        "scikit-learn-0185",
        SKLEARN + "test_multilabel_confusion_matrix_multilabel",
        "multilabel_confusion_matrix, labels=[2, 0]",
        "confusion_matrix",
        ((1, 0, 1), (0, 1, 0), (1, 1, 0)),
        ((1, 0, 0), (0, 1, 1), (0, 0, 1)),
        [[[0, 2], [1, 0]], [[1, 0], [1, 1]]],
        0.0,
        labels=(2, 0),
    ),
    _spark("0003", "precision(2)", "precision_per_label"),
    _spark("0006", "recall(2)", "recall_per_label"),
    _spark("0009", "f1Measure(2)", "f1_per_label"),
    Published(
        "tfma-0485",
        "tensorflow/model-analysis tensorflow_model_analysis/metrics/multi_label_confusion_matrix_plot_test.py "
        "@422dbd37 testMultiLabelConfusionMatrixPlot",
        "fn, tn, fp, tp of predicted class 0 where actual class 1 is true, prediction > 0.5",
        "fn tn fp tp",
        ((1, 1, 0), (0, 1, 0), (0, 0, 0), (1, 0, 0)),
        ((0.7, 0.5, 0.2), (0.3, 0.6, 0.1), (0.2, 0.4, 0.5), (1.0, 0.4, 0.1)),
        [[0], [1], [0], [1]],
        0.0,
        threshold=0.5,
        labels=(0,),
        among=1,
    ),
    Published(
        "torcheval-0381",
        "pytorch/torcheval torcheval/metrics/classification/accuracy.py @33c1391 docstring MultilabelAccuracy",
        "MultilabelAccuracy, criteria='overlap'; two empty sets overlap",
        "any_hit_accuracy(empty=one)",
        ((0, 1), (1, 0), (0, 0), (1, 1)),
        ((0, 1), (1, 1), (0, 0), (0, 1)),
        1.0,
        1e-6,
    ),
    Published(
        "torcheval-0386",
        "pytorch/torcheval torcheval/metrics/classification/accuracy.py @33c1391 docstring TopKMultilabelAccuracy",
        "TopKMultilabelAccuracy, criteria='overlap', k=2",
        "any_hit_accuracy",
        ((1, 1, 0), (0, 1, 0), (1, 1, 1), (0, 1, 0)),
        ((0.1, 0.5, 0.2), (0.3, 0.2, 0.1), (0.2, 0.4, 0.5), (0.0, 0.1, 0.9)),
        1.0,
        1e-6,
        top=2,
    ),
    Published(
        "torcheval-0391",
        "pytorch/torcheval torcheval/metrics/classification/auprc.py @33c1391 docstring MultilabelAUPRC",
        "MultilabelAUPRC, average='macro', after two updates",
        "average_precision_macro",
        ((1, 0, 1), (0, 1, 1), (0, 0, 0), (1, 1, 1)),
        ((0.75, 0.05, 0.35), (0.05, 0.55, 0.75), (0.45, 0.75, 0.05), (0.05, 0.65, 0.05)),
        0.75,
        6e-5,
        scored=True,
    ),
    # The source uses five thresholds from 0 to 1, so the scores of these cases say only between which two they lie.
    _torchmetrics_areas("0309", "auroc", "roc_auc_macro", 0.6528),
    _torchmetrics_areas("0313", "average_precision", "average_precision_macro", 0.7778),
    _torchmetrics("0304", "accuracy", "accuracy_per_label", [1.0, 0.5, 0.5]),
    _torchmetrics("0321", "exact_match", "subset_accuracy", 0.5),
    _torchmetrics("0326", "f1_score", "f1_per_label", [1.0, 0.0, 0.6667]),
    _torchmetrics("0332", "fbeta_score", "fbeta_per_label(beta=2)", [1.0, 0.0, 0.8333]),
    _torchmetrics("0338", "hamming_distance", "hamming_loss_per_label", [0.0, 0.5, 0.5]),
    _torchmetrics("0350", "negative_predictive_value", "npv_per_label", [1.0, 0.5, 0.0]),
    _torchmetrics("0356", "precision", "precision_per_label", [1.0, 0.0, 0.5]),
    _torchmetrics("0364", "recall", "recall_per_label", [1.0, 0.0, 1.0]),
    _torchmetrics("0370", "specificity", "specificity_per_label", [1.0, 1.0, 0.0]),
    _torchmetrics(
        "0376", "stat_scores", "tp fp tn fn support", [[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]], 0.0
    ),
    _tribuo("0692", "precision_macro", 0.4910714285714286),
    _tribuo("0693", "recall_macro", 0.37857142857142856),
    _tribuo("0694", "f1_macro", 0.41666666666666663),
)
