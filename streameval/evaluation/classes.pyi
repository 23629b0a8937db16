# Written by docs/generate.py from the catalogue: classes with the same parameters share a base.

from collections.abc import Iterable
from typing import Literal, TypeAlias, TypedDict, Unpack

from streameval.evaluation.metric import Metric
from streameval.metrics.bounds import Bounds
from streameval.metrics.spec import Empty
from streameval.schema.config import Nan, Rows, Threshold, Ties, Unknown
from streameval.schema.labels import ByLabel, Label

_Average: TypeAlias = Literal["macro", "micro", "weighted", "samples"] | None
_Average2: TypeAlias = Literal["micro", "macro", "weighted", "samples"] | None
_Average3: TypeAlias = Literal["samples"]
_Average4: TypeAlias = Literal["macro", "micro", "weighted"] | None

class _Options(TypedDict, total=False):
    zero_division: float | None
    labels: Iterable[Label] | None
    unknown: Unknown
    threshold: Threshold
    label_limit: int | None
    rows: Rows | None
class _OfDecisions(_Options, total=False):
    empty: Empty
class _OfCurves(_Options, total=False):
    nan: Nan
class _OfRankings(_OfCurves, total=False):
    ties: Ties
class _OfExamples(_OfRankings, total=False):
    average: Literal["samples"]
class _OfGains(_OfExamples, total=False):
    inverse_propensities: ByLabel | None
class _OfHits(_OfExamples, total=False):
    degenerate: Literal["scikit-learn", "drop", "zero", "one"]
class _OfRanks(_OfHits, total=False):
    unranked: Literal["never", "last"]
class _Number(Metric):
    def get(self) -> float: ...
    def bounds(self) -> Bounds: ...
class _LikePrecision(Metric):
    def __init__(self, average: _Average = "macro", **options: Unpack[_OfDecisions]) -> None: ...
class Precision(_LikePrecision): """Fraction of predicted labels that are true."""
class Recall(_LikePrecision): """Fraction of true labels that are predicted."""
class F1(_LikePrecision): """Harmonic mean of precision and recall."""
class FBeta(Metric):
    """Harmonic mean of precision and recall, with recall weighted by beta squared."""
    def __init__(self, average: _Average = "macro", *, beta: float = 1.0, **options: Unpack[_OfDecisions]) -> None: ...
class Jaccard(_LikePrecision): """Fraction of labels in the union of true and predicted that are in both."""
class Accuracy(_LikePrecision): """Fraction of (example, label) cells predicted correctly."""
class _LikeHammingScore(Metric):
    def __init__(self, average: _Average2 = "micro", **options: Unpack[_OfDecisions]) -> None: ...
class HammingScore(_LikeHammingScore): """One minus the Hamming loss."""
class Specificity(_LikePrecision): """Fraction of false labels that are not predicted."""
class NegativePredictiveValue(_LikePrecision): """Fraction of labels not predicted that are false."""
class FalsePositiveRate(_LikePrecision): """Fraction of false labels that are predicted."""
class FalseNegativeRate(_LikePrecision): """Fraction of true labels that are not predicted."""
class FalseDiscoveryRate(_LikePrecision): """Fraction of predicted labels that are false."""
class FalseOmissionRate(_LikePrecision): """Fraction of labels not predicted that are true."""
class BalancedAccuracy(_LikePrecision):
    """Mean of recall and specificity; if only one class occurs, the recall of that class."""
class MatthewsCorrelation(_LikePrecision): """Correlation between true and predicted labels (Matthews)."""
class CohenKappa(_LikePrecision): """Agreement between true and predicted labels, corrected for chance."""
class Informedness(_LikePrecision): """Recall plus specificity minus one (Youden's J)."""
class Markedness(_LikePrecision): """Precision plus negative predictive value minus one."""
class _LikePrevalence(Metric):
    def __init__(self, average: _Average2 = None, **options: Unpack[_OfDecisions]) -> None: ...
class Prevalence(_LikePrevalence): """Fraction of examples in which the label is true."""
class _LikeLabelDensity(_Number):
    def __init__(self, average: _Average3 = "samples", **options: Unpack[_OfDecisions]) -> None: ...
class LabelDensity(_LikeLabelDensity): """Mean fraction of labels that are true, per example."""
class PredictedPrevalence(_LikePrevalence): """Fraction of examples in which the label is predicted."""
class PredictedDensity(_LikeLabelDensity): """Mean fraction of labels that are predicted, per example."""
class GeometricMean(_LikePrecision): """Geometric mean of recall and specificity."""
class FowlkesMallows(_LikePrecision): """Geometric mean of precision and recall."""
class HarmonicAccuracy(Metric):
    """Harmonic mean of recall and specificity."""
    def __init__(self, average: Literal["samples", "micro", "macro", "weighted"] | None = "samples",
                 **options: Unpack[_OfDecisions]) -> None: ...
class AlphaEvaluation(Metric):
    """Score with weights for missed labels (beta), wrong labels (gamma) and severity (alpha)."""
    def __init__(self, average: Literal["samples", "micro", "macro"] | None = "samples", *, alpha: float = 1.0,
                 beta: float = 1.0, gamma: float = 1.0, **options: Unpack[_OfDecisions]) -> None: ...
class FBetaOfAverages(_Number):
    """F-score of mean precision and mean recall (not the mean of F-scores)."""
    def __init__(self, average: Literal["macro", "weighted", "samples"] = "macro", *, beta: float = 1.0,
                 **options: Unpack[_OfDecisions]) -> None: ...
class SubsetAccuracy(_LikeLabelDensity): """Fraction of examples whose label set is predicted exactly."""
class ZeroOneLoss(_LikeLabelDensity): """Fraction of examples whose label set is not predicted exactly."""
class HammingLoss(_LikeHammingScore): """Fraction of (example, label) cells predicted incorrectly."""
class AnyHitAccuracy(_LikeLabelDensity): """Fraction of examples with at least one true label predicted."""
class ContainAccuracy(_LikeLabelDensity): """Fraction of examples with every true label predicted."""
class BelongAccuracy(_LikeLabelDensity): """Fraction of examples with no false label predicted."""
class LabelCardinality(_LikeLabelDensity): """Mean number of true labels per example."""
class PredictedCardinality(_LikeLabelDensity): """Mean number of predicted labels per example."""
class ImbalanceRatio(Metric):
    """Frequency of the most frequent label divided by that of this label (imbalance ratio)."""
    def __init__(self, average: None = None, **options: Unpack[_OfDecisions]) -> None: ...
class MeanImbalanceRatio(_Number):
    """Mean imbalance ratio over labels that occur."""
    def __init__(self, average: Literal["macro"] = "macro", **options: Unpack[_OfDecisions]) -> None: ...
class _LikeOneError(_Number):
    def __init__(self, **options: Unpack[_OfHits]) -> None: ...
class OneError(_LikeOneError): """Fraction of examples whose top-ranked label is false."""
class CoverageError(_Number):
    """Mean rank needed to cover all true labels."""
    def __init__(self, *, minus_one: bool = False, **options: Unpack[_OfHits]) -> None: ...
class RankingLoss(_LikeOneError): """Fraction of (true, false) label pairs ranked in the wrong order."""
class ErrorSetSize(_LikeOneError): """Mean number of (true, false) label pairs ranked in the wrong order."""
class IsError(_LikeOneError): """Fraction of examples whose ranking is not perfect."""
class MarginLoss(_LikeOneError): """Mean number of ranks from the best false label to the worst true label."""
class LabelRankingAveragePrecision(_Number):
    """Mean, over true labels, of the fraction of labels ranked at least as high that are true."""
    def __init__(self, *, tied: Literal["worst", "best"] = 'worst', **options: Unpack[_OfHits]) -> None: ...
class LabelWeightedLRAP(Metric):
    """Mean precision at the rank of a label, over the examples in which it is true."""
    def __init__(self, average: Literal["weighted", "macro"] | None = "weighted",
                 **options: Unpack[_OfRankings]) -> None: ...
class _LikePrecisionAt(_Number):
    def __init__(self, *, k: int = 5, divisor: Literal["k", "ranked"] = 'k', **options: Unpack[_OfRanks]) -> None: ...
class PrecisionAt(_LikePrecisionAt): """Fraction of the top k labels that are true."""
class _LikeRecallAt(_Number):
    def __init__(self, *, k: int = 5, **options: Unpack[_OfRanks]) -> None: ...
class RecallAt(_LikeRecallAt): """Fraction of true labels that are in the top k."""
class F1At(_LikePrecisionAt): """Harmonic mean of precision and recall at k."""
class HitAt(_LikeRecallAt): """Fraction of examples with a true label in the top k."""
class AbandonmentAt(_LikeRecallAt): """Fraction of examples with no true label in the top k."""
class RPrecision(_Number):
    """Precision at k, with k the number of true labels of each example."""
    def __init__(self, **options: Unpack[_OfRanks]) -> None: ...
class MeanAveragePrecisionAt(_Number):
    """Mean over examples of the average precision at k."""
    def __init__(self, *, k: int | None = None, divisor: Literal["min", "hits", "true"] = 'min',
                 **options: Unpack[_OfRanks]) -> None: ...
class _LikeMeanReciprocalRank(_Number):
    def __init__(self, *, k: int | None = None, **options: Unpack[_OfRanks]) -> None: ...
class MeanReciprocalRank(_LikeMeanReciprocalRank):
    """Mean reciprocal rank of the best true label, 0 if it is not in the top k."""
class DiscountedCumulativeGain(_Number):
    """Sum of the hits in the top k, discounted by log2 of the rank."""
    def __init__(self, *, k: int | None = None, log_base: float = 2.0, **options: Unpack[_OfRanks]) -> None: ...
class NormalizedDiscountedCumulativeGain(_LikeMeanReciprocalRank):
    """Discounted cumulative gain divided by that of a perfect ranking."""
class PropensityScoredPrecisionAt(_Number):
    """Precision at k with each hit weighted by the inverse propensity of its label."""
    def __init__(self, *, k: int = 5, normalize: bool = True, **options: Unpack[_OfGains]) -> None: ...
class PropensityScoredNDCGAt(_Number):
    """nDCG at k with each hit weighted by the inverse propensity of its label."""
    def __init__(self, *, k: int = 5, norm: Literal["k", "min"] = 'k', normalize: bool = True,
                 **options: Unpack[_OfGains]) -> None: ...
class LabelCoverageAt(_Number):
    """Fraction of labels that are a hit in the top k of at least one example."""
    def __init__(self, *, k: int = 5, of: Literal["true", "all"] = 'true', **options: Unpack[_OfExamples]) -> None: ...
class RocAuc(Metric):
    """Probability that a random positive scores higher than a random negative."""
    def __init__(self, average: _Average4 = "macro", *, max_fpr: float = 1.0, **options: Unpack[_OfCurves]) -> None: ...
class _LikeAveragePrecision(Metric):
    def __init__(self, average: _Average4 = "macro", **options: Unpack[_OfCurves]) -> None: ...
class AveragePrecision(_LikeAveragePrecision): """Mean, over positives, of the precision at their score."""
class RecallAtPrecision(Metric):
    """Maximum recall at thresholds with at least this precision."""
    def __init__(self, average: _Average4 = "macro", *, precision: float = 0.5,
                 **options: Unpack[_OfCurves]) -> None: ...
class PrecisionAtRecall(Metric):
    """Maximum precision at thresholds with at least this recall."""
    def __init__(self, average: _Average4 = "macro", *, recall: float = 0.5, **options: Unpack[_OfCurves]) -> None: ...
class SensitivityAtSpecificity(Metric):
    """Maximum recall at thresholds with at least this specificity."""
    def __init__(self, average: _Average4 = "macro", *, specificity: float = 0.5,
                 **options: Unpack[_OfCurves]) -> None: ...
class SpecificityAtSensitivity(Metric):
    """Maximum specificity at thresholds with at least this recall."""
    def __init__(self, average: _Average4 = "macro", *, sensitivity: float = 0.5,
                 **options: Unpack[_OfCurves]) -> None: ...
class EqualErrorRate(_LikeAveragePrecision):
    """Error rate at the threshold where false positive and false negative rates are equal."""
class BrierScore(_LikeAveragePrecision): """Mean squared difference between score and truth."""
class LogLoss(Metric):
    """Mean negative log-likelihood of the truth under the scores."""
    def __init__(self, average: _Average4 = "macro", *, eps: float = 2.220446049250313e-16, cap: float | None = None,
                 **options: Unpack[_OfCurves]) -> None: ...
class ExpectedCalibrationError(Metric):
    """Mean absolute difference between mean score and frequency, over buckets of scores."""
    def __init__(self, average: _Average4 = "macro", *, buckets: int = 15,
                 strategy: Literal["uniform", "quantile"] = 'uniform', **options: Unpack[_OfCurves]) -> None: ...
class _LikeMLCMPrecision(Metric):
    def __init__(self, average: _Average4 = "macro", *, values: Literal["counts", "shares", "contributions"] = 'counts',
                 **options: Unpack[_Options]) -> None: ...
class MLCMPrecision(_LikeMLCMPrecision): """Precision computed from the multi-label confusion matrix."""
class MLCMRecall(_LikeMLCMPrecision): """Recall computed from the multi-label confusion matrix."""
class MLCMF1(_LikeMLCMPrecision): """F1 computed from the multi-label confusion matrix."""
class DependentPairs(_Number):
    """Fraction of label pairs that are dependent, by a chi-squared test of co-occurrence."""
    def __init__(self, average: _Average3 = "samples", *, critical: float = 6.635,
                 **options: Unpack[_Options]) -> None: ...
class Scumble(Metric):
    """Degree to which frequent and rare labels co-occur."""
    def __init__(self, average: Literal["samples"] | None = "samples", **options: Unpack[_Options]) -> None: ...
class _LikeScumbleVariation(_Number):
    def __init__(self, average: _Average3 = "samples", **options: Unpack[_Options]) -> None: ...
class ScumbleVariation(_LikeScumbleVariation): """Coefficient of variation of SCUMBLE over examples."""
class DistinctLabelsets(_LikeScumbleVariation): """Number of distinct sets of true labels."""
class ProportionDistinctLabelsets(_LikeScumbleVariation):
    """Number of distinct sets of true labels divided by the number of examples."""
class UniqueLabelsets(_LikeScumbleVariation): """Number of sets of true labels that occur in one example only."""
class ProportionUniqueLabelsets(_LikeScumbleVariation):
    """Fraction of examples whose set of true labels occurs in no other example."""
class LabelsetPeak(_LikeScumbleVariation): """Fraction of examples that have the most frequent set of true labels."""
class LabelsetDiversity(_LikeScumbleVariation):
    """Number of distinct label sets divided by the number of possible ones."""
_PerLabelName: TypeAlias = Literal["precision_per_label", "recall_per_label", "f1_per_label", "fbeta_per_label",
    "jaccard_per_label", "accuracy_per_label", "hamming_score_per_label", "specificity_per_label", "npv_per_label",
    "fpr_per_label", "fnr_per_label", "fdr_per_label", "for_per_label", "balanced_accuracy_per_label", "mcc_per_label",
    "cohen_kappa_per_label", "informedness_per_label", "markedness_per_label", "prevalence_per_label",
    "predicted_prevalence_per_label", "g_mean_per_label", "fowlkes_mallows_per_label", "harmonic_accuracy_per_label",
    "alpha_evaluation_per_label", "hamming_loss_per_label", "irlbl_per_label", "lwlrap_per_label", "roc_auc_per_label",
    "average_precision_per_label", "recall_at_precision_per_label", "precision_at_recall_per_label",
    "sensitivity_at_specificity_per_label", "specificity_at_sensitivity_per_label", "equal_error_rate_per_label",
    "brier_score_per_label", "log_loss_per_label", "expected_calibration_error_per_label", "mlcm_precision_per_label",
    "mlcm_recall_per_label", "mlcm_f1_per_label", "scumble_per_label"]
