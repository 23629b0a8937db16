"""Formulas of decision metrics, each written once: from `Counts` (of labels, of examples, or pooled) to `Ratios`."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from streameval.metrics.averaging import Ratios, Value, by_formula, ratio_of
from streameval.metrics.catalogue import metric
from streameval.metrics.spec import MetricSpec, Parameter
from streameval.schema.labels import Label
from streameval.states.views import Counts, Integers, Tables

_TINY = Decimal("1e-400")  # far below the smallest float64

_BETA = Parameter("beta", 1.0, 0.0, math.inf, above=True)

_ZHANG = "Zhang & Zhou 2014, A review on multi-label learning algorithms, IEEE TKDE 26(8)"
_POWERS = "Powers 2011, Evaluation: from precision, recall and F-measure to ROC, informedness, markedness & correlation"
_BOUTELL = "Boutell, Luo, Shen & Brown 2004, Learning multi-label scene classification, Pattern Recognition 37(9)"
_CHARTE = (
    "Charte, Rivera, del Jesus & Herrera 2015, Addressing imbalance in multilabel classification, Neurocomputing 163"
)
_SOKOLOVA = "Sokolova & Lapalme 2009, A systematic analysis of performance measures for classification tasks, IPM 45(4)"
_TSOUMAKAS = "Tsoumakas & Katakis 2007, Multi-label classification: an overview, IJDWM 3(3)"
_TORCHEVAL = "torcheval, MultilabelAccuracy"

_metric = partial(metric, state="decisions", read=by_formula)
_of_examples = partial(_metric, averages=("samples",), default="samples")
_of_products = partial(
    metric, state="decisions", read=lambda formula: by_formula(lambda c, **chosen: formula(c.wide(), **chosen))
)


precision = _metric(
    "precision", "Fraction of predicted labels that are true.", "tp / (tp + fp)", _ZHANG,
    aliases=("ppv", "positive_predictive_value"),
)(lambda c: Ratios(c.tp, c.tp + c.fp))  # fmt: skip
recall = _metric(
    "recall", "Fraction of true labels that are predicted.", "tp / (tp + fn)", _ZHANG,
    aliases=("sensitivity", "tpr", "true_positive_rate"),
)(lambda c: Ratios(c.tp, c.tp + c.fn))  # fmt: skip
f1 = _metric(
    "f1", "Harmonic mean of precision and recall.", "2 tp / (2 tp + fp + fn)",
    "van Rijsbergen 1979, Information Retrieval; " + _ZHANG, aliases=("dice", "f_measure", "f_score"),
)(lambda c: Ratios(both := 2 * c.tp, both + c.fp + c.fn))  # fmt: skip


@_metric(
    "fbeta", "Harmonic mean of precision and recall, with recall weighted by beta squared.",
    "(1 + beta²) tp / ((1 + beta²) tp + beta² fn + fp)", "van Rijsbergen 1979, Information Retrieval; " + _ZHANG,
    class_name="FBeta", parameters=(_BETA,), aliases=("f_beta",),
)  # fmt: skip
def fbeta(c: Counts, *, beta: float) -> Ratios:
    square = Fraction(beta) ** 2
    missed, wrong = square.numerator, square.denominator
    if missed + wrong > 1024:
        c = c.wide()
    hits = (missed + wrong) * c.tp
    return Ratios(hits, hits + missed * c.fn + wrong * c.fp)


_metric(
    "jaccard", "Fraction of labels in the union of true and predicted that are in both.", "tp / (tp + fp + fn)",
    "Jaccard 1912; example-based accuracy of Godbole & Sarawagi 2004", aliases=("iou", "jaccard_index"),
)(lambda c: Ratios(c.tp, c.tp + c.fp + c.fn))  # fmt: skip
accuracy = _metric(
    "accuracy", "Fraction of (example, label) cells predicted correctly.", "(tp + tn) / (tp + fp + fn + tn)", _ZHANG,
    unclear=("accuracy", "acc"),
)(lambda c: Ratios(c.tp + c.tn, c.tp + c.fp + c.fn + c.tn))  # fmt: skip
_metric(
    "hamming_score", "One minus the Hamming loss.", "(tp + tn) / (tp + fp + fn + tn)",
    "MEKA, Metrics.P_Hamming (Read, Reutemann, Pfahringer & Holmes 2016, MEKA, JMLR 17)", default="micro", bare=True,
    unclear=("hamming",),
)(accuracy)  # fmt: skip
_metric(
    "specificity", "Fraction of false labels that are not predicted.", "tn / (tn + fp)", _SOKOLOVA,
    aliases=("tnr", "true_negative_rate", "selectivity"),
)(lambda c: Ratios(c.tn, c.tn + c.fp))  # fmt: skip
_metric(
    "npv", "Fraction of labels not predicted that are false.", "tn / (tn + fn)", _POWERS,
    class_name="NegativePredictiveValue", aliases=("negative_predictive_value",),
)(lambda c: Ratios(c.tn, c.tn + c.fn))  # fmt: skip
_metric(
    "fpr", "Fraction of false labels that are predicted.", "fp / (fp + tn)", _POWERS, class_name="FalsePositiveRate",
    bigger_is_better=False, aliases=("false_positive_rate", "fall_out"),
)(lambda c: Ratios(c.fp, c.fp + c.tn))  # fmt: skip
_metric(
    "fnr", "Fraction of true labels that are not predicted.", "fn / (fn + tp)", _POWERS, class_name="FalseNegativeRate",
    bigger_is_better=False, aliases=("false_negative_rate", "miss_rate"),
)(lambda c: Ratios(c.fn, c.fn + c.tp))  # fmt: skip
_metric(
    "fdr", "Fraction of predicted labels that are false.", "fp / (fp + tp)", _POWERS, class_name="FalseDiscoveryRate",
    bigger_is_better=False, aliases=("false_discovery_rate",),
)(lambda c: Ratios(c.fp, c.fp + c.tp))  # fmt: skip
_metric(
    "for", "Fraction of labels not predicted that are true.", "fn / (fn + tn)", _POWERS, class_name="FalseOmissionRate",
    bigger_is_better=False, aliases=("false_omission_rate",),
)(lambda c: Ratios(c.fn, c.fn + c.tn))  # fmt: skip


@_of_products(
    "balanced_accuracy", "Mean of recall and specificity; if only one class occurs, the recall of that class.",
    "(tp / (tp + fn) + tn / (tn + fp)) / 2",
    "Brodersen, Ong, Stephan & Buhmann 2010, The balanced accuracy and its posterior distribution, ICPR",
)  # fmt: skip
def balanced_accuracy(c: Counts) -> Ratios:
    positive, negative = c.tp + c.fn, c.tn + c.fp
    both = (positive > 0) & (negative > 0)
    num = np.where(both, c.tp * negative + c.tn * positive, c.tp + c.tn)
    return Ratios(num, np.where(both, 2 * positive * negative, positive + negative))


_of_products(
    "mcc", "Correlation between true and predicted labels (Matthews).",
    "(tp tn - fp fn) / sqrt((tp + fp)(tp + fn)(tn + fp)(tn + fn))",
    "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, BBA 405(2)",
    class_name="MatthewsCorrelation", low=-1.0, aliases=("matthews_corrcoef", "phi_coefficient"),
)(lambda c: Ratios(
    c.tp * c.tn - c.fp * c.fn, (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn), root=True
))  # fmt: skip
_of_products(
    "cohen_kappa", "Agreement between true and predicted labels, corrected for chance.",
    "2 (tp tn - fp fn) / ((tp + fp)(fp + tn) + (tp + fn)(fn + tn))",
    "Cohen 1960, A coefficient of agreement for nominal scales, EPM 20(1)", low=-1.0, aliases=("kappa",),
)(lambda c: Ratios(
    2 * (c.tp * c.tn - c.fn * c.fp), (c.tp + c.fp) * (c.fp + c.tn) + (c.tp + c.fn) * (c.fn + c.tn)
))  # fmt: skip
_of_products(
    "informedness", "Recall plus specificity minus one (Youden's J).", "tp / (tp + fn) + tn / (tn + fp) - 1",
    "Youden 1950, Index for rating diagnostic tests, Cancer 3(1); " + _POWERS, low=-1.0, aliases=("youden_j",),
)(lambda c: _less_one(c, c.tp + c.fn, c.tn + c.fp))  # fmt: skip
_of_products(
    "markedness", "Precision plus negative predictive value minus one.", "tp / (tp + fp) + tn / (tn + fn) - 1", _POWERS,
    low=-1.0,
)(lambda c: _less_one(c, c.tp + c.fp, c.tn + c.fn))  # fmt: skip


def _less_one(c: Counts, positive: Integers, negative: Integers) -> Ratios:
    """``tp / positive + tn / negative - 1``."""
    return Ratios(c.tp * negative + c.tn * positive - positive * negative, positive * negative)


prevalence = _metric(
    "prevalence", "Fraction of examples in which the label is true.", "(tp + fn) / (tp + fp + fn + tn)", _POWERS,
    bigger_is_better=None, default=None, aliases=("label_frequency",),
)(lambda c: Ratios(c.tp + c.fn, c.tp + c.fp + c.fn + c.tn))  # fmt: skip
_of_examples(
    "label_density", "Mean fraction of labels that are true, per example.",
    "(tp + fn) / (tp + fp + fn + tn), mean over examples", _TSOUMAKAS, bigger_is_better=None,
)(prevalence)  # fmt: skip
predicted_prevalence = _metric(
    "predicted_prevalence", "Fraction of examples in which the label is predicted.", "(tp + fp) / (tp + fp + fn + tn)",
    _POWERS, bigger_is_better=None, default=None, aliases=("predicted_label_frequency",),
)(lambda c: Ratios(c.tp + c.fp, c.tp + c.fp + c.fn + c.tn))  # fmt: skip
_of_examples(
    "predicted_density", "Mean fraction of labels that are predicted, per example.",
    "(tp + fp) / (tp + fp + fn + tn), mean over examples", _TSOUMAKAS, bigger_is_better=None,
)(predicted_prevalence)  # fmt: skip


@_of_products(
    "g_mean", "Geometric mean of recall and specificity.", "sqrt(tp / (tp + fn) · tn / (tn + fp))",
    "Kubat & Matwin 1997, Addressing the curse of imbalanced training sets, ICML", class_name="GeometricMean",
)  # fmt: skip
def geometric_mean(c: Counts) -> Ratios:
    hits = c.tp * c.tn
    classes = (c.tp + c.fn) * (c.tn + c.fp)
    return Ratios(hits, _where_zero(hits, classes, hits * classes), root=True)


_of_products(
    "fowlkes_mallows", "Geometric mean of precision and recall.", "tp / sqrt((tp + fp)(tp + fn))",
    "Fowlkes & Mallows 1983, A method for comparing two hierarchical clusterings, JASA 78(383)",
)(lambda c: Ratios(c.tp, (c.tp + c.fp) * (c.tp + c.fn), root=True))  # fmt: skip


@_of_products(
    "harmonic_accuracy", "Harmonic mean of recall and specificity.",
    "2 tpr tnr / (tpr + tnr), tpr = tp / (tp + fn), tnr = tn / (tn + fp)",
    "MEKA, Metrics.P_Harmonic (Read, Reutemann, Pfahringer & Holmes 2016, MEKA, JMLR 17)", default="samples", bare=True,
)  # fmt: skip
def harmonic_accuracy(c: Counts) -> Ratios:
    positive, negative = c.tp + c.fn, c.tn + c.fp
    hits = c.tp * c.tn
    return Ratios(2 * hits, _where_zero(hits, positive * negative, c.tp * negative + c.tn * positive))


@_of_products(
    "alpha_evaluation", "Score with weights for missed labels (beta), wrong labels (gamma) and severity (alpha).",
    "(1 - (beta fn + gamma fp) / (tp + fp + fn))^alpha", _BOUTELL, default="samples", bare=True,
    averages=("micro", "macro", "samples", None),
    parameters=(
        Parameter("alpha", 1.0, 0.0, math.inf), Parameter("beta", 1.0, 0.0, 1.0), Parameter("gamma", 1.0, 0.0, 1.0),
    ),
)  # fmt: skip
def alpha_evaluation(c: Counts, *, alpha: float, beta: float, gamma: float) -> Ratios:
    missed, wrong = Fraction(beta), Fraction(gamma)
    unit = math.lcm(missed.denominator, wrong.denominator)
    union = c.tp + c.fp + c.fn
    num = unit * union - int(missed * unit) * c.fn - int(wrong * unit) * c.fp
    den = unit * union
    if alpha == 1.0:
        return Ratios(num, den)
    powers = [_power(n, d, alpha) if d else (0, 0) for n, d in zip(num.tolist(), den.tolist(), strict=True)]
    return Ratios(np.array([n for n, _ in powers], object), np.array([d for _, d in powers], object))


@metric(
    "fbeta_of_averages", "F-score of mean precision and mean recall (not the mean of F-scores).",
    "(1 + beta²) P R / (beta² P + R), P and R averaged first",
    _ZHANG + "; Opitz & Burst 2019, Macro F1 and macro F1, arXiv:1911.03347", class_name="FBetaOfAverages",
    averages=("macro", "weighted", "samples"), parameters=(_BETA,), state="decisions", read=lambda formula: formula,
)  # fmt: skip
def fbeta_of_averages(view: Tables, spec: MetricSpec) -> Value | dict[Label, Value]:
    """Precision and recall are averaged first, each with its own 0/0."""
    square = Fraction(spec.parameter("beta")) ** 2
    p, r = (by_formula(lambda counts, part=part, **_: part(counts))(view, spec) for part in (precision, recall))
    if not isinstance(p, Fraction) or not isinstance(r, Fraction):
        return None
    return ratio_of((1 + square) * p * r, square * p + r, spec.zero_division)


_of_examples(
    "subset_accuracy", "Fraction of examples whose label set is predicted exactly.",
    "[fp + fn = 0], mean over examples", _ZHANG,
    aliases=("exact_match", "exact_match_ratio", "emr", "accuracy_score"),
    unclear=("accuracy", "acc"),
)(lambda c: _yes(c.fp + c.fn == 0))  # fmt: skip
_of_examples(
    "zero_one_loss", "Fraction of examples whose label set is not predicted exactly.",
    "[fp + fn > 0], mean over examples", _ZHANG, bigger_is_better=False,
)(lambda c: _yes(c.fp + c.fn != 0))  # fmt: skip
_metric(
    "hamming_loss", "Fraction of (example, label) cells predicted incorrectly.", "(fp + fn) / (tp + fp + fn + tn)",
    "Schapire & Singer 1999, Improved boosting algorithms; " + _ZHANG, bigger_is_better=False, default="micro",
    bare=True, aliases=("hamming_distance",), unclear=("hamming",),
)(lambda c: Ratios(c.fp + c.fn, c.tp + c.fp + c.fn + c.tn))  # fmt: skip
_of_examples(
    "any_hit_accuracy", "Fraction of examples with at least one true label predicted.",
    "[tp > 0], mean over examples; nothing true and nothing predicted is 0/0", _TORCHEVAL + " (overlap)",
)(lambda c: Ratios((c.tp > 0).astype(np.int64), (c.tp + c.fp + c.fn > 0).astype(np.int64)))  # fmt: skip
_of_examples(
    "contain_accuracy", "Fraction of examples with every true label predicted.", "[fn = 0], mean over examples",
    _TORCHEVAL + " (contain)",
)(lambda c: _yes(c.fn == 0))  # fmt: skip
_of_examples(
    "belong_accuracy", "Fraction of examples with no false label predicted.", "[fp = 0], mean over examples",
    _TORCHEVAL + " (belong)",
)(lambda c: _yes(c.fp == 0))  # fmt: skip
_of_examples(
    "label_cardinality", "Mean number of true labels per example.", "tp + fn, mean over examples", _TSOUMAKAS,
    high=math.inf, bigger_is_better=None,
)(lambda c: Ratios(c.tp + c.fn, np.ones_like(c.tp)))  # fmt: skip
_of_examples(
    "predicted_cardinality", "Mean number of predicted labels per example.", "tp + fp, mean over examples", _TSOUMAKAS,
    high=math.inf, bigger_is_better=None,
)(lambda c: Ratios(c.tp + c.fp, np.ones_like(c.tp)))  # fmt: skip


@_metric(
    "mean_ir", "Mean imbalance ratio over labels that occur.", "mean of max count / count over labels, count = tp + fn",
    _CHARTE, class_name="MeanImbalanceRatio", low=1.0, high=math.inf, bigger_is_better=None, averages=("macro",),
    default="macro", zero_division=math.nan,
)  # fmt: skip
@_metric(
    "irlbl", "Frequency of the most frequent label divided by that of this label (imbalance ratio).",
    "max count / count, count = tp + fn", _CHARTE, class_name="ImbalanceRatio", low=1.0, high=math.inf,
    bigger_is_better=None, averages=(None,), default=None, zero_division=math.nan,
)  # fmt: skip
def imbalance_ratio(c: Counts) -> Ratios:
    count = c.tp + c.fn
    return Ratios(np.full_like(count, count.max(initial=0)), count)


def _where_zero(hits: Integers, classes: Integers, den: Integers) -> Integers:
    """``den``, but without hits: 1 if both classes occur (the value is 0), 0 if not (it is undefined)."""
    return np.where(classes == 0, 0, np.where(hits == 0, 1, den))


def _power(num: int, den: int, exponent: float) -> tuple[int, int]:
    """``(num / den) ** exponent`` as a ratio with some 60 correct digits; limits for exponents 0 and infinity."""
    if num in (0, den):
        return num // den, 1
    if exponent in (0.0, math.inf):
        return int(exponent == 0.0), 1
    # The base can be as close to 1 as 1 - 1 / den, and the exponent multiplies its relative error.
    digits = 60 + len(str(den)) + max(0, Decimal(exponent).adjusted())
    context = Context(prec=digits, Emin=-999999, Emax=999999, traps=[])
    value = context.power(context.divide(Decimal(num), Decimal(den)), Decimal(exponent))
    return value.as_integer_ratio() if value > _TINY else (0, 1)


def _yes(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ratios:
    return Ratios(flags.astype(np.int64), np.ones(len(flags), np.int64))
