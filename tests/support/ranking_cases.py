"""Values of ranking metrics that other projects publish in their tests, with their sources.

Each case has only facts: the data, the metric, the published number, and how many digits of it are published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streameval.states.options import RankingOptions
from tests.support.entries import reading

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class RankingCase:
    """One published value.

    Attributes
    ----------
    name, source
        The name of the case, and where it is published.
    theirs, ours, choices
        The name of the metric in the source, our function, and its parameters.
    true, pred
        With ``ranked`` the true labels and the ranked labels, best first; else rows of 0/1 and of scores.
    expected, atol
        The published value, and the tolerance.
    """

    name: str
    source: str
    theirs: str
    ours: Callable[..., Any]
    true: Rows
    pred: Rows
    expected: float
    atol: float
    choices: Mapping[str, Any] = field(default_factory=dict)
    options: RankingOptions = field(default_factory=RankingOptions)
    ranked: bool = False


HIVEMALL = (
    "apache/incubator-hivemall core/src/test/java/hivemall/evaluation/BinaryResponsesMeasuresTest.java @34079778 "
)
MEKA = "Waikato/meka src/test/java/meka/core/MetricsTest.java @f9ffe23 "
MLDR = "fcharte/mldr tests/testthat/test-evmetrics_rk.R @69f9379"
SKLEARN = "scikit-learn 1.9.1 sklearn/metrics/tests/test_ranking.py::"
SPARK = (
    "apache/spark mllib/src/test/scala/org/apache/spark/mllib/evaluation/RankingMetricsSuite.scala "
    "@0d3824316688326e2f263ea07cff7012dad04260"
)

HALF_RIGHT_TRUE = ((0, 1, 0, 1), (0, 1, 0, 1), (1, 0, 1, 0), (1, 0, 1, 0))
HALF_RIGHT_SCORES = ((1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0))
MLDR_SCORES = ((0.3, 0.9, 0.7, 0.1), (0.8, 0.6, 0.7, 0.2), (0, 0, 0, 0))
SPARK_TRUE = ((1, 2, 3, 4, 5), (1, 2, 3), ())
SPARK_PRED = ((1, 6, 2, 7, 8, 3, 9, 10, 4, 5), (4, 1, 5, 6, 2, 7, 3, 8, 9, 10), (1, 2, 3, 4, 5))

CASES: tuple[RankingCase, ...] = (
    RankingCase(
        "hivemall-0075", HIVEMALL + "testAP", "average precision at 2, divided by the hits", reading("map_at"),
        ((1, 2, 3),), ((3, 1, 2, 6),), 1.0, 1e-4, {"k": 2, "divisor": "hits"}, RankingOptions(hit_cutoffs=(2,)), True,
    ),
    RankingCase(
        "hivemall-0069", HIVEMALL + "testHit", "hit at 2", reading("hit_at"),
        ((1, 2, 4),), ((1, 3, 2, 6),), 1.0, 1e-4, {"k": 2}, ranked=True,
    ),
    RankingCase(
        "hivemall-0055", HIVEMALL + "testNDCG2", "nDCG at 2", reading("ndcg"),
        ((1,),), ((3, 2, 1, 6),), 0.0, 1e-4, {"k": 2}, ranked=True,
    ),
    RankingCase(
        "hivemall-0063", HIVEMALL + "testPrecisionEmpty", "precision at 2 of nothing among nothing",
        reading("precision_at"), ((),), ((),), 1.0, 0.0, {"k": 2, "divisor": "ranked", "degenerate": "one"},
        ranked=True,
    ),
    RankingCase(
        "hivemall-0059", HIVEMALL + "testRecallEmpty", "recall at 2 of nothing among nothing", reading("recall_at"),
        ((),), ((),), 1.0, 0.0, {"k": 2, "degenerate": "one"}, ranked=True,
    ),
    RankingCase(
        "hivemall-0066", HIVEMALL + "testRR", "reciprocal rank at 4", reading("mrr"),
        ((1, 2, 4),), ((6, 2, 3, 1),), 0.5, 1e-4, {"k": 4}, ranked=True,
    ),
    RankingCase(
        "meka-0618", MEKA + "testP_AveragePrecision", "P_AveragePrecision", reading("label_ranking_average_precision"),
        ((0, 1, 0, 1, 0, 1, 1, 1),),
        ((
            0.9715469888517128, 0.8657458802140383, 0.6125811047098682, 0.17898798452881726, 0.21757041220968598,
            0.8544871670422907, 0.009673497300974332, 0.6922930069529333,
        ),),
        0.6226190476, 1e-5,
    ),
    RankingCase(
        "meka-0556", MEKA + "object half_right", "L_OneError", reading("one_error"), HALF_RIGHT_TRUE, HALF_RIGHT_SCORES,
        0.5, 1e-8,
    ),
    RankingCase(
        "meka-0558", MEKA + "object half_right", "L_RankLoss", reading("ranking_loss"), HALF_RIGHT_TRUE,
        HALF_RIGHT_SCORES, 0.5, 1e-8,
    ),
    RankingCase(
        "mldr-0664", MLDR, 'coverage(ties_method = "last")', reading("coverage_error"),
        ((0, 1, 0, 1), (0, 1, 1, 0), (0, 0, 1, 0)), MLDR_SCORES, 2.0, 1.5e-8, {"minus_one": True},
        RankingOptions(ties="last"),
    ),
    RankingCase(
        "mldr-0659", MLDR, 'example_average_precision(ties_method = "min")', reading("label_ranking_average_precision"),
        ((0, 1, 0, 1), (1, 1, 1, 0), (0, 0, 1, 0)), MLDR_SCORES, 0.9166666666666666, 1.5e-8, {"tied": "best"},
    ),
    RankingCase(
        "scikit-learn-0249", SKLEARN + "test_coverage_error", "coverage_error", reading("coverage_error"),
        ((0, 1, 0),), ((0.5, 0.75, 0.25),), 1, 1e-7,
    ),
    RankingCase(
        "scikit-learn-0210", SKLEARN + "check_lrap_toy", "label_ranking_average_precision_score",
        reading("label_ranking_average_precision"), ((0, 1, 1),), ((0.5, 0.75, 0.25),), 0.8333333333333333, 1e-7,
    ),
    RankingCase(
        "scikit-learn-0284", SKLEARN + "test_label_ranking_loss", "label_ranking_loss", reading("ranking_loss"),
        ((0, 0, 0),), ((0.25, 0.5, 0.5),), 0, 1e-7,
    ),
    RankingCase(
        "spark-0029", SPARK, "meanAveragePrecisionAt(2)", reading("map_at"), SPARK_TRUE, SPARK_PRED, 0.25, 1e-5,
        {"k": 2}, ranked=True,
    ),
    RankingCase(
        "spark-0034", SPARK, "ndcgAt(15)", reading("ndcg"), SPARK_TRUE, SPARK_PRED, 0.487913, 1e-5, {"k": 15},
        ranked=True,
    ),
    RankingCase(
        "spark-0024", SPARK, "precisionAt(5)", reading("precision_at"), SPARK_TRUE, SPARK_PRED, 0.26666666666666666,
        1e-5, {"k": 5}, ranked=True,
    ),
    RankingCase(
        "spark-0039", SPARK, "recallAt(5)", reading("recall_at"), SPARK_TRUE, SPARK_PRED, 0.35555555555555557, 1e-5,
        {"k": 5}, ranked=True,
    ),
)  # fmt: skip
