# Written by docs/generate.py from the catalogue.

from collections.abc import Iterable, Mapping
from typing import Literal

from streameval.schema.config import Nan, Ties, Unknown
from streameval.schema.labels import Label
from streameval.metrics.spec import Empty
from streameval.evaluation.metric import Metric

__all__ = [
    "Precision",
    "Recall",
    "F1",
    "FBeta",
    "Jaccard",
    "Accuracy",
    "Specificity",
    "NegativePredictiveValue",
    "FalsePositiveRate",
    "FalseNegativeRate",
    "FalseDiscoveryRate",
    "FalseOmissionRate",
    "BalancedAccuracy",
    "MatthewsCorrelation",
    "CohenKappa",
    "Informedness",
    "Markedness",
    "Prevalence",
    "PredictedPrevalence",
    "GeometricMean",
    "FowlkesMallows",
    "HarmonicAccuracy",
    "AlphaEvaluation",
    "FBetaOfAverages",
    "SubsetAccuracy",
    "ZeroOneLoss",
    "HammingLoss",
    "HammingScore",
    "AnyHitAccuracy",
    "ContainAccuracy",
    "BelongAccuracy",
    "LabelCardinality",
    "PredictedCardinality",
    "LabelDensity",
    "PredictedDensity",
    "ImbalanceRatio",
    "MeanImbalanceRatio",
    "OneError",
    "CoverageError",
    "RankingLoss",
    "ErrorSetSize",
    "IsError",
    "MarginLoss",
    "LabelRankingAveragePrecision",
    "PrecisionAt",
    "RecallAt",
    "F1At",
    "HitAt",
    "AbandonmentAt",
    "RPrecision",
    "MeanAveragePrecisionAt",
    "MeanReciprocalRank",
    "DiscountedCumulativeGain",
    "NormalizedDiscountedCumulativeGain",
    "PropensityScoredPrecisionAt",
    "PropensityScoredNDCGAt",
    "LabelCoverageAt",
    "RocAuc",
    "AveragePrecision",
    "RecallAtPrecision",
    "PrecisionAtRecall",
    "SensitivityAtSpecificity",
    "SpecificityAtSensitivity",
    "EqualErrorRate",
    "BrierScore",
    "LogLoss",
    "ExpectedCalibrationError",
    "MLCMPrecision",
    "MLCMRecall",
    "MLCMF1",
    "Scumble",
    "ScumbleVariation",
    "DistinctLabelsets",
    "ProportionDistinctLabelsets",
    "UniqueLabelsets",
    "ProportionUniqueLabelsets",
    "LabelsetPeak",
    "LabelsetDiversity",
    "DependentPairs",
]

class Precision(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Recall(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class F1(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FBeta(Metric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Jaccard(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Accuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Specificity(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class NegativePredictiveValue(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FalsePositiveRate(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FalseNegativeRate(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FalseDiscoveryRate(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FalseOmissionRate(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class BalancedAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MatthewsCorrelation(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class CohenKappa(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Informedness(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Markedness(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Prevalence(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = None,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class PredictedPrevalence(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = None,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class GeometricMean(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FowlkesMallows(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HarmonicAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class AlphaEvaluation(Metric):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        average: Literal["micro", "macro", "samples"] | None = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class FBetaOfAverages(Metric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        average: Literal["macro", "weighted", "samples"] = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SubsetAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ZeroOneLoss(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HammingLoss(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "micro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HammingScore(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "micro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class AnyHitAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ContainAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class BelongAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelCardinality(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class PredictedCardinality(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelDensity(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class PredictedDensity(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ImbalanceRatio(Metric):
    def __init__(
        self,
        *,
        average: None = None,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MeanImbalanceRatio(Metric):
    def __init__(
        self,
        *,
        average: Literal["macro"] = "macro",
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class OneError(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class CoverageError(Metric):
    def __init__(
        self,
        *,
        minus_one: bool = False,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class RankingLoss(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class ErrorSetSize(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class IsError(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class MarginLoss(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class LabelRankingAveragePrecision(Metric):
    def __init__(
        self,
        *,
        tied: Literal["worst", "best"] = 'worst',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class PrecisionAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        divisor: Literal["k", "ranked"] = 'k',
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class RecallAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class F1At(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        divisor: Literal["k", "ranked"] = 'k',
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class HitAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class AbandonmentAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class RPrecision(Metric):
    def __init__(
        self,
        *,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class MeanAveragePrecisionAt(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        divisor: Literal["min", "hits", "true"] = 'min',
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class MeanReciprocalRank(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class DiscountedCumulativeGain(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        log_base: float = 2.0,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class NormalizedDiscountedCumulativeGain(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class PropensityScoredPrecisionAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        normalize: bool = True,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
        inverse_propensities: Mapping[Label, float] | None = None,
    ) -> None: ...

class PropensityScoredNDCGAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        norm: Literal["k", "min"] = 'k',
        normalize: bool = True,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
        inverse_propensities: Mapping[Label, float] | None = None,
    ) -> None: ...

class LabelCoverageAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        of: Literal["true", "all"] = 'true',
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
        ties: Ties = "shared",
    ) -> None: ...

class RocAuc(Metric):
    def __init__(
        self,
        *,
        max_fpr: float = 1.0,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class AveragePrecision(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class RecallAtPrecision(Metric):
    def __init__(
        self,
        *,
        precision: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class PrecisionAtRecall(Metric):
    def __init__(
        self,
        *,
        recall: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class SensitivityAtSpecificity(Metric):
    def __init__(
        self,
        *,
        specificity: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class SpecificityAtSensitivity(Metric):
    def __init__(
        self,
        *,
        sensitivity: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class EqualErrorRate(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class BrierScore(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class LogLoss(Metric):
    def __init__(
        self,
        *,
        eps: float = 2.220446049250313e-16,
        cap: float | None = None,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class ExpectedCalibrationError(Metric):
    def __init__(
        self,
        *,
        buckets: int = 15,
        strategy: Literal["uniform", "quantile"] = 'uniform',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
        nan: Nan = "error",
    ) -> None: ...

class MLCMPrecision(Metric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MLCMRecall(Metric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MLCMF1(Metric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Scumble(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] | None = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ScumbleVariation(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class DistinctLabelsets(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ProportionDistinctLabelsets(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class UniqueLabelsets(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ProportionUniqueLabelsets(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelsetPeak(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelsetDiversity(Metric):
    def __init__(
        self,
        *,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class DependentPairs(Metric):
    def __init__(
        self,
        *,
        critical: float = 6.635,
        average: Literal["samples"] = "samples",
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...
