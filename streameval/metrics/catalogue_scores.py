"""The entries of the catalogue that are read from scores: rankings and curves. Their code is loaded when used."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from streameval.metrics.entry import Entry, Parameter
from streameval.metrics.spec import Average, MetricSpec

__all__ = ["CURVES", "RANKINGS"]

_SCHAPIRE = "Schapire & Singer 2000, BoosTexter: a boosting-based system for text categorization, Machine Learning 39"
_LOZA = "Loza Mencía & Fürnkranz 2010, Efficient multilabel classification algorithms for large-scale problems"
_MANNING = "Manning, Raghavan & Schütze 2008, Introduction to information retrieval"
_JAIN = "Jain, Prabhu & Varma 2016, Extreme multi-label loss functions, KDD"
_JARVELIN = "Järvelin & Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4)"

_DEGENERATE = Parameter("degenerate", "scikit-learn", choices=("scikit-learn", "drop", "zero", "one"))
_UNRANKED = Parameter("unranked", "never", choices=("never", "last"))
_DIVISOR = Parameter("divisor", "k", choices=("k", "ranked"))


def _k(default: int | None) -> Parameter:
    return Parameter("k", default, 1, math.inf, whole=True)


def _ranking(
    name: str,
    class_name: str,
    summary: str,
    formula: str,
    source: str,
    *parameters: Parameter,
    module: str = "rankings_at",
    degenerate: bool = True,
    **choices: Any,
) -> Entry:
    def read(tables: Any, spec: MetricSpec) -> Any:
        function = getattr(import_module(f"streameval.metrics.{module}"), name)
        return function(tables, **dict(spec.parameters), zero_division=spec.zero_division)

    return Entry(
        name, class_name, summary, formula, source, read, averages=("samples",), default="samples", state="rankings",
        parameters=(*parameters, *((_DEGENERATE,) if degenerate else ())), **choices,
    )  # fmt: skip


RANKINGS: tuple[Entry, ...] = (
    _ranking(
        "one_error", "OneError", "Share of the examples whose best ranked label is not true.",
        "[a false label ranks at least as high as the best true one], mean over examples", _SCHAPIRE, module="rankings",
        bigger_is_better=False,
    ),
    _ranking(
        "coverage_error", "CoverageError", "How far down the ranking one must go to meet all true labels.",
        "max rank of the true labels (minus_one: less 1), mean over examples", _SCHAPIRE + "; scikit-learn",
        Parameter("minus_one", False), module="rankings", high=math.inf, bigger_is_better=False, aliases=("coverage",),
    ),
    _ranking(
        "ranking_loss", "RankingLoss", "Share of the pairs of a true and a false label that are in the wrong order.",
        "pairs with the false label at least as high / (m (q - m)), mean over examples",
        "Schapire & Singer 1999, Improved boosting algorithms using confidence-rated predictions, Machine Learning 37",
        module="rankings", bigger_is_better=False, aliases=("label_ranking_loss", "rank_loss"),
    ),
    _ranking(
        "error_set_size", "ErrorSetSize", "Number of pairs of a true and a false label that are in the wrong order.",
        "pairs with the false label at least as high, mean over examples", _LOZA, module="rankings", high=math.inf,
        bigger_is_better=False,
    ),
    _ranking(
        "is_error", "IsError", "Share of the examples whose ranking is not perfect.",
        "[a pair is in the wrong order], mean over examples",
        "Crammer & Singer 2003, A family of additive online algorithms for category ranking, JMLR 3",
        module="rankings", bigger_is_better=False,
    ),
    _ranking(
        "margin_loss", "MarginLoss", "How many ranks the worst true label lies behind the best false one.",
        "max(0, worst true rank - best false rank), mean over examples", _LOZA, module="rankings", high=math.inf,
        bigger_is_better=False,
    ),
    _ranking(
        "label_ranking_average_precision", "LabelRankingAveragePrecision",
        "For each true label, the share of true labels among those ranked at least as high.",
        "mean over true labels of (true labels at least as high) / rank, mean over examples", _SCHAPIRE,
        Parameter("tied", "worst", choices=("worst", "best")), module="rankings", aliases=("lrap",),
    ),
    _ranking(
        "precision_at", "PrecisionAt", "Share of true labels among the first k.", "hits / k, mean over examples",
        _JAIN, _k(5), _DIVISOR, _UNRANKED, aliases=("p_at",),
    ),
    _ranking(
        "recall_at", "RecallAt", "Share of the true labels that are among the first k.", "hits / m, mean over examples",
        _MANNING, _k(5), _UNRANKED,
    ),
    _ranking(
        "f1_at", "F1At", "Harmonic mean of precision and recall at k.", "2 hits / (k + m), mean over examples",
        "van Rijsbergen 1979, Information Retrieval", _k(5), _DIVISOR, _UNRANKED,
    ),
    _ranking(
        "hit_at", "HitAt", "Share of the examples with a true label among the first k.",
        "[hits > 0], mean over examples", "Hivemall, hitrate", _k(5), _UNRANKED, aliases=("hit_rate",),
    ),
    _ranking(
        "abandonment_at", "AbandonmentAt", "Share of the examples with no true label among the first k.",
        "[hits = 0], mean over examples",
        "Chen & Karger 2006, Less is more: probabilistic models for retrieving fewer relevant documents, SIGIR",
        _k(5), _UNRANKED, bigger_is_better=False,
    ),
    _ranking(
        "r_precision", "RPrecision", "Precision at m, the number of true labels: there it equals recall.",
        "hits among the first m / m, mean over examples", _MANNING, _UNRANKED,
    ),
    _ranking(
        "map_at", "MeanAveragePrecisionAt", "Mean over examples of the average precision at k.",
        "sum of the precision at the rank of each hit / min(m, k), the hits, or m, mean over examples",
        "Spark, RankingMetrics; Hivemall; " + _MANNING, _k(None),
        Parameter("divisor", "min", choices=("min", "hits", "true")), _UNRANKED,
        needs=lambda spec: {"hit_cutoff": spec.parameter("k")} if spec.parameter("divisor") == "hits" else {},
    ),
    _ranking(
        "mrr", "MeanReciprocalRank", "Reciprocal rank of the best true label, 0 where it is not among the first k.",
        "1 / best true rank, mean over examples", "Voorhees 1999, The TREC-8 question answering track report",
        _k(None), _UNRANKED,
    ),
    _ranking(
        "dcg", "DiscountedCumulativeGain", "Each true label among the first k gains the less, the lower it ranks.",
        "sum of 1 / log(1 + rank) over hits, mean over examples", _JARVELIN, _k(None),
        Parameter("log_base", 2.0, 1.0, math.inf, above=True), _UNRANKED, high=math.inf, aliases=("dcg_score",),
    ),
    _ranking(
        "ndcg", "NormalizedDiscountedCumulativeGain", "Discounted gain as a share of that of a perfect ranking.",
        "dcg / dcg of a perfect ranking, mean over examples", _JARVELIN, _k(None), _UNRANKED, aliases=("ndcg_score",),
    ),
    _ranking(
        "psp_at", "PropensityScoredPrecisionAt",
        "Precision at k in which a true label counts the more, the likelier the data miss it.",
        "sum of inverse propensities of hits / the greatest that could be", _JAIN, _k(5),
        Parameter("normalize", True), degenerate=False, aliases=("psprecision_at",),
        needs=lambda spec: {"gain_ranks": spec.parameter("k")},
    ),
    _ranking(
        "psndcg_at", "PropensityScoredNDCGAt",
        "Discounted gain at k in which a true label counts the more, the likelier the data miss it.",
        "sum of discounted inverse propensities of hits / the greatest that could be", _JAIN, _k(5),
        Parameter("norm", "k", choices=("k", "min")), Parameter("normalize", True), degenerate=False,
        needs=lambda spec: {"gain_ranks": spec.parameter("k")},
    ),
    _ranking(
        "label_coverage_at", "LabelCoverageAt", "Share of the labels that are found at least once among the first k.",
        "labels found / labels ever true",
        "Schultheis et al. 2023, Generalized test utilities for long-tail performance in extreme multi-label "
        "classification", _k(5), Parameter("of", "true", choices=("true", "all")), degenerate=False,
        needs=lambda spec: {"label_ranks": spec.parameter("k")},
    ),
)  # fmt: skip

_BY_LABEL: tuple[Average, ...] = ("micro", "macro", "weighted", None)


def _curve(
    name: str,
    class_name: str,
    summary: str,
    formula: str,
    source: str,
    *parameters: Parameter,
    module: str = "curves",
    **choices: Any,
) -> Entry:
    def certify(tables: Any, spec: MetricSpec) -> Any:
        function: Callable[..., Any] = getattr(import_module(f"streameval.metrics.{module}"), name)
        return function(tables, average=spec.average, zero_division=spec.zero_division, **dict(spec.parameters))

    def read(tables: Any, spec: MetricSpec) -> Any:
        found = certify(tables, spec)
        return {label: part.value for label, part in found.items()} if isinstance(found, dict) else found.value

    return Entry(
        name, class_name, summary, formula, source, read, averages=_BY_LABEL, default="macro", state="curves",
        parameters=parameters, certify=certify, **choices,
    )  # fmt: skip


CURVES: tuple[Entry, ...] = (
    _curve(
        "roc_auc", "RocAuc", "Chance that a positive has a greater score than a negative.",
        "(pairs in order + ties / 2) / (positives negatives)",
        "Hanley & McNeil 1982, The meaning and use of the area under a ROC curve, Radiology 143(1); McClish 1989",
        Parameter("max_fpr", 1.0, 0.0, 1.0), module="areas", zero_division=math.nan, aliases=("auroc", "auc"),
    ),
    _curve(
        "average_precision", "AveragePrecision", "Mean over the positives of the precision at their score.",
        "sum of steps of recall times precision", "Salton & McGill 1983, Introduction to modern information retrieval",
        module="areas", aliases=("auprc",),
    ),
    _curve(
        "recall_at_precision", "RecallAtPrecision", "Greatest recall of the thresholds with at least this precision.",
        "max tp / (tp + fn), tp / (tp + fp) >= precision", "torchmetrics, recall at fixed precision",
        Parameter("precision", 0.5, 0.0, 1.0), aliases=("recall_at_fixed_precision",),
    ),
    _curve(
        "precision_at_recall", "PrecisionAtRecall", "Greatest precision of the thresholds with at least this recall.",
        "max tp / (tp + fp), tp / (tp + fn) >= recall", "torchmetrics, precision at fixed recall",
        Parameter("recall", 0.5, 0.0, 1.0), aliases=("precision_at_fixed_recall",),
    ),
    _curve(
        "sensitivity_at_specificity", "SensitivityAtSpecificity",
        "Greatest recall of the thresholds with at least this specificity.",
        "max tp / (tp + fn), tn / (tn + fp) >= specificity", "torchmetrics, sensitivity at specificity",
        Parameter("specificity", 0.5, 0.0, 1.0),
    ),
    _curve(
        "specificity_at_sensitivity", "SpecificityAtSensitivity",
        "Greatest specificity of the thresholds with at least this recall.",
        "max tn / (tn + fp), tp / (tp + fn) >= sensitivity", "torchmetrics, specificity at sensitivity",
        Parameter("sensitivity", 0.5, 0.0, 1.0),
    ),
    _curve(
        "equal_error_rate", "EqualErrorRate", "Where the rates of false positives and false negatives are equal.",
        "fpr = fnr", "torchmetrics, EER", bigger_is_better=False, zero_division=math.nan, aliases=("eer",),
    ),
    _curve(
        "brier_score", "BrierScore", "Mean squared difference of score and truth, exact.", "mean (score - truth)²",
        "Brier 1950, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1)",
        module="calibration", bigger_is_better=False, aliases=("brier_score_loss",),
    ),
    _curve(
        "log_loss", "LogLoss", "Mean negative logarithm of the probability that was given to the truth.",
        "-mean (truth log p + (1 - truth) log(1 - p))", "Good 1952, Rational decisions, JRSS B 14(1)",
        Parameter("eps", 2.0**-52, 0.0, 0.5), Parameter("cap", None, 0.0, math.inf, above=True),
        module="calibration", high=math.inf, bigger_is_better=False,
        aliases=("cross_entropy",),
    ),
    _curve(
        "expected_calibration_error", "ExpectedCalibrationError",
        "Mean gap between score and frequency over buckets of scores.",
        "sum of shares times |frequency - mean score|",
        "Naeini, Cooper & Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning, AAAI",
        Parameter("buckets", 15, 1, math.inf, whole=True),
        Parameter("strategy", "uniform", choices=("uniform", "quantile")),
        module="calibration", bigger_is_better=False, aliases=("ece",),
    ),
)  # fmt: skip
