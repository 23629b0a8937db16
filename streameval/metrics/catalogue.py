"""The list of all metrics. Adding one is one entry here and one formula in `streameval.metrics.decisions`."""

from __future__ import annotations

import math

from streameval.metrics import decisions
from streameval.metrics.catalogue_pairs import PAIRS
from streameval.metrics.catalogue_scores import CURVES, RANKINGS
from streameval.metrics.entry import Entry, Parameter
from streameval.metrics.reading import by_formula, f_of_averages
from streameval.metrics.spec import Average

__all__ = ["CATALOGUE", "Entry", "Parameter", "catalogue"]


_BETA = Parameter("beta", 1.0, 0.0, math.inf, above=True)
_BY_EXAMPLE: tuple[Average, ...] = ("samples",)
_BY_LABEL: tuple[Average, ...] = ("micro", "macro", "weighted", None)

_ZHANG = "Zhang & Zhou 2014, A review on multi-label learning algorithms, IEEE TKDE 26(8)"
_POWERS = "Powers 2011, Evaluation: from precision, recall and F-measure to ROC, informedness, markedness & correlation"
_BOUTELL = "Boutell, Luo, Shen & Brown 2004, Learning multi-label scene classification, Pattern Recognition 37(9)"
_CHARTE = (
    "Charte, Rivera, del Jesus & Herrera 2015, Addressing imbalance in multilabel classification, Neurocomputing 163"
)
_SOKOLOVA = "Sokolova & Lapalme 2009, A systematic analysis of performance measures for classification tasks, IPM 45(4)"
_TSOUMAKAS = "Tsoumakas & Katakis 2007, Multi-label classification: an overview, IJDWM 3(3)"
_TORCHEVAL = "torcheval, MultilabelAccuracy"

CATALOGUE: tuple[Entry, ...] = (
    Entry(
        "precision", "Precision", "Share of the predicted labels that are true.", "tp / (tp + fp)", _ZHANG,
        by_formula(decisions.precision), aliases=("ppv", "positive_predictive_value"),
    ),
    Entry(
        "recall", "Recall", "Share of the true labels that are predicted.", "tp / (tp + fn)", _ZHANG,
        by_formula(decisions.recall), aliases=("sensitivity", "tpr", "true_positive_rate"),
    ),
    Entry(
        "f1", "F1", "Harmonic mean of precision and recall.", "2 tp / (2 tp + fp + fn)",
        "van Rijsbergen 1979, Information Retrieval; " + _ZHANG, by_formula(decisions.f1), aliases=("dice",),
    ),
    Entry(
        "fbeta", "FBeta", "Harmonic mean of precision and recall in which recall weighs beta squared.",
        "(1 + beta²) tp / ((1 + beta²) tp + beta² fn + fp)", "van Rijsbergen 1979, Information Retrieval; " + _ZHANG,
        by_formula(decisions.fbeta), parameters=(_BETA,),
    ),
    Entry(
        "jaccard", "Jaccard", "Share of the labels true or predicted that are both.", "tp / (tp + fp + fn)",
        "Jaccard 1912; example-based accuracy of Godbole & Sarawagi 2004", by_formula(decisions.jaccard),
        aliases=("iou",),
    ),
    Entry(
        "accuracy", "Accuracy", "Share of the (example, label) cells decided rightly.",
        "(tp + tn) / (tp + fp + fn + tn)", _ZHANG, by_formula(decisions.accuracy),
    ),
    Entry(
        "specificity", "Specificity", "Share of the labels not true that are not predicted.", "tn / (tn + fp)",
        _SOKOLOVA, by_formula(decisions.specificity), aliases=("tnr", "true_negative_rate", "selectivity"),
    ),
    Entry(
        "npv", "NegativePredictiveValue", "Share of the labels not predicted that are not true.", "tn / (tn + fn)",
        _POWERS, by_formula(decisions.negative_predictive_value), aliases=("negative_predictive_value",),
    ),
    Entry(
        "fpr", "FalsePositiveRate", "Share of the labels not true that are predicted.", "fp / (fp + tn)", _POWERS,
        by_formula(decisions.false_positive_rate), bigger_is_better=False, aliases=("false_positive_rate", "fall_out"),
    ),
    Entry(
        "fnr", "FalseNegativeRate", "Share of the true labels that are not predicted.", "fn / (fn + tp)", _POWERS,
        by_formula(decisions.false_negative_rate), bigger_is_better=False, aliases=("false_negative_rate", "miss_rate"),
    ),
    Entry(
        "fdr", "FalseDiscoveryRate", "Share of the predicted labels that are not true.", "fp / (fp + tp)", _POWERS,
        by_formula(decisions.false_discovery_rate), bigger_is_better=False, aliases=("false_discovery_rate",),
    ),
    Entry(
        "for", "FalseOmissionRate", "Share of the labels not predicted that are true.", "fn / (fn + tn)", _POWERS,
        by_formula(decisions.false_omission_rate), bigger_is_better=False, aliases=("false_omission_rate",),
    ),
    Entry(
        "balanced_accuracy", "BalancedAccuracy",
        "Mean of recall and specificity; where one of the two classes does not occur, the other alone.",
        "(tp / (tp + fn) + tn / (tn + fp)) / 2",
        "Brodersen, Ong, Stephan & Buhmann 2010, The balanced accuracy and its posterior distribution, ICPR",
        by_formula(decisions.balanced_accuracy),
    ),
    Entry(
        "mcc", "MatthewsCorrelation", "Correlation of truth and prediction.",
        "(tp tn - fp fn) / sqrt((tp + fp)(tp + fn)(tn + fp)(tn + fn))",
        "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, BBA 405(2)",
        by_formula(decisions.matthews), low=-1.0, aliases=("matthews_corrcoef", "phi_coefficient"),
    ),
    Entry(
        "cohen_kappa", "CohenKappa", "Agreement of truth and prediction beyond chance.",
        "2 (tp tn - fp fn) / ((tp + fp)(fp + tn) + (tp + fn)(fn + tn))",
        "Cohen 1960, A coefficient of agreement for nominal scales, EPM 20(1)", by_formula(decisions.cohen_kappa),
        low=-1.0, aliases=("kappa",),
    ),
    Entry(
        "informedness", "Informedness", "Recall plus specificity minus one (Youden's J).",
        "tp / (tp + fn) + tn / (tn + fp) - 1",
        "Youden 1950, Index for rating diagnostic tests, Cancer 3(1); " + _POWERS,
        by_formula(decisions.informedness), low=-1.0, aliases=("youden_j",),
    ),
    Entry(
        "markedness", "Markedness", "Precision plus negative predictive value minus one.",
        "tp / (tp + fp) + tn / (tn + fn) - 1", _POWERS, by_formula(decisions.markedness), low=-1.0,
    ),
    Entry(
        "prevalence", "Prevalence", "Share of the examples that have the label (its frequency).",
        "(tp + fn) / (tp + fp + fn + tn)", _POWERS, by_formula(decisions.prevalence), bigger_is_better=None,
        default=None, aliases=("label_frequency",),
    ),
    Entry(
        "predicted_prevalence", "PredictedPrevalence", "Share of the examples for which the label is predicted.",
        "(tp + fp) / (tp + fp + fn + tn)", _POWERS, by_formula(decisions.predicted_prevalence), bigger_is_better=None,
        default=None, aliases=("predicted_label_frequency",),
    ),
    Entry(
        "g_mean", "GeometricMean", "Geometric mean of recall and specificity.",
        "sqrt(tp / (tp + fn) · tn / (tn + fp))",
        "Kubat & Matwin 1997, Addressing the curse of imbalanced training sets, ICML",
        by_formula(decisions.geometric_mean),
    ),
    Entry(
        "fowlkes_mallows", "FowlkesMallows", "Geometric mean of precision and recall.",
        "tp / sqrt((tp + fp)(tp + fn))",
        "Fowlkes & Mallows 1983, A method for comparing two hierarchical clusterings, JASA 78(383)",
        by_formula(decisions.fowlkes_mallows),
    ),
    Entry(
        "harmonic_accuracy", "HarmonicAccuracy", "Harmonic mean of recall and specificity.",
        "2 tpr tnr / (tpr + tnr), tpr = tp / (tp + fn), tnr = tn / (tn + fp)",
        "MEKA, Metrics.P_Harmonic (Read, Reutemann, Pfahringer & Holmes 2016, MEKA, JMLR 17)",
        by_formula(decisions.harmonic_accuracy), default="samples", bare=True,
    ),
    Entry(
        "alpha_evaluation", "AlphaEvaluation",
        "Score that forgives: beta weighs missed labels, gamma wrong ones, and alpha sets how severely they count; "
        "over examples, or once from pooled counts.",
        "(1 - (beta fn + gamma fp) / (tp + fp + fn))^alpha", _BOUTELL, by_formula(decisions.alpha_evaluation),
        default="samples", bare=True, averages=("micro", "macro", "samples", None),
        parameters=(
            Parameter("alpha", 1.0, 0.0, math.inf), Parameter("beta", 1.0, 0.0, 1.0), Parameter("gamma", 1.0, 0.0, 1.0),
        ),
    ),
    Entry(
        "fbeta_of_averages", "FBetaOfAverages", "F of the mean precision and the mean recall (not the mean of F).",
        "(1 + beta²) P R / (beta² P + R), P and R averaged first",
        _ZHANG + "; Opitz & Burst 2019, Macro F1 and macro F1, arXiv:1911.03347", f_of_averages,
        averages=("macro", "weighted", "samples"), parameters=(_BETA,),
    ),
    Entry(
        "subset_accuracy", "SubsetAccuracy", "Share of the examples whose label set is predicted exactly.",
        "[fp + fn = 0], mean over examples", _ZHANG, by_formula(decisions.subset_accuracy), averages=_BY_EXAMPLE,
        default="samples", aliases=("exact_match", "exact_match_ratio"),
    ),
    Entry(
        "zero_one_loss", "ZeroOneLoss", "Share of the examples whose label set is not predicted exactly.",
        "[fp + fn > 0], mean over examples", _ZHANG, by_formula(decisions.zero_one_loss), averages=_BY_EXAMPLE,
        default="samples", bigger_is_better=False,
    ),
    Entry(
        "hamming_loss", "HammingLoss", "Share of the (example, label) cells decided wrongly.",
        "(fp + fn) / (tp + fp + fn + tn)", "Schapire & Singer 1999, Improved boosting algorithms; " + _ZHANG,
        by_formula(decisions.hamming_loss), bigger_is_better=False, default="micro", bare=True,
        aliases=("hamming_distance",),
    ),
    Entry(
        "hamming_score", "HammingScore", "One minus the Hamming loss.", "(tp + tn) / (tp + fp + fn + tn)",
        "MEKA, Metrics.P_Hamming (Read, Reutemann, Pfahringer & Holmes 2016, MEKA, JMLR 17)",
        by_formula(decisions.accuracy), default="micro", bare=True,
    ),
    Entry(
        "any_hit_accuracy", "AnyHitAccuracy", "Share of the examples with at least one true label predicted.",
        "[tp > 0], mean over examples; nothing true and nothing predicted is 0/0", _TORCHEVAL + " (overlap)",
        by_formula(decisions.any_hit_accuracy), averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "contain_accuracy", "ContainAccuracy", "Share of the examples with all true labels predicted.",
        "[fn = 0], mean over examples", _TORCHEVAL + " (contain)", by_formula(decisions.contain_accuracy),
        averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "belong_accuracy", "BelongAccuracy", "Share of the examples with no false label predicted.",
        "[fp = 0], mean over examples", _TORCHEVAL + " (belong)", by_formula(decisions.belong_accuracy),
        averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "label_cardinality", "LabelCardinality", "Mean number of true labels of an example.",
        "tp + fn, mean over examples", _TSOUMAKAS, by_formula(decisions.label_cardinality), high=math.inf,
        bigger_is_better=None, averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "predicted_cardinality", "PredictedCardinality", "Mean number of labels predicted for an example.",
        "tp + fp, mean over examples", _TSOUMAKAS, by_formula(decisions.predicted_cardinality), high=math.inf,
        bigger_is_better=None, averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "label_density", "LabelDensity", "Mean share of the labels that are true for an example.",
        "(tp + fn) / (tp + fp + fn + tn), mean over examples", _TSOUMAKAS, by_formula(decisions.prevalence),
        bigger_is_better=None, averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "predicted_density", "PredictedDensity", "Mean share of the labels that are predicted for an example.",
        "(tp + fp) / (tp + fp + fn + tn), mean over examples", _TSOUMAKAS, by_formula(decisions.predicted_prevalence),
        bigger_is_better=None, averages=_BY_EXAMPLE, default="samples",
    ),
    Entry(
        "irlbl", "ImbalanceRatio", "How many times rarer a label is than the most frequent one.",
        "max count / count, count = tp + fn", _CHARTE, by_formula(decisions.imbalance_ratio), low=1.0, high=math.inf,
        bigger_is_better=None, averages=(None,), default=None, zero_division=math.nan,
    ),
    Entry(
        "mean_ir", "MeanImbalanceRatio", "Mean imbalance ratio of the labels that occur.",
        "mean of max count / count over labels, count = tp + fn", _CHARTE, by_formula(decisions.imbalance_ratio),
        low=1.0, high=math.inf, bigger_is_better=None, averages=("macro",), default="macro", zero_division=math.nan,
    ),
    *RANKINGS,
    *CURVES,
    *PAIRS,
)  # fmt: skip


def catalogue() -> tuple[Entry, ...]:
    """All metrics, with their parameters, range, direction, formula and source.

    Examples
    --------
    >>> [entry.name for entry in catalogue()][:4]
    ['precision', 'recall', 'f1', 'fbeta']
    """
    return CATALOGUE
