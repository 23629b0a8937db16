# Written by docs/generate.py from the catalogue: classes with the same parameters share a base.

from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict, Unpack

from streameval.evaluation.metric import Metric
from streameval.metrics.spec import Empty
from streameval.schema.config import Nan, Ties, Unknown
from streameval.schema.labels import Label

class _Options(TypedDict, total=False):
    zero_division: float | None
    labels: Iterable[Label] | None
    unknown: Unknown
    threshold: float | Mapping[Label, float] | Iterable[float] | None

class _OfDecisions(_Options, total=False):
    empty: Empty

class _OfCurves(_Options, total=False):
    nan: Nan

class _OfRankings(_OfCurves, total=False):
    ties: Ties

class _OfGains(_OfRankings, total=False):
    inverse_propensities: Mapping[Label, float] | None

class _LikePrecision(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class Precision(_LikePrecision): ...
class Recall(_LikePrecision): ...
class F1(_LikePrecision): ...
class FBeta(Metric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "macro",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class Jaccard(_LikePrecision): ...
class Accuracy(_LikePrecision): ...
class _LikeHammingScore(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "micro",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class HammingScore(_LikeHammingScore): ...
class Specificity(_LikePrecision): ...
class NegativePredictiveValue(_LikePrecision): ...
class FalsePositiveRate(_LikePrecision): ...
class FalseNegativeRate(_LikePrecision): ...
class FalseDiscoveryRate(_LikePrecision): ...
class FalseOmissionRate(_LikePrecision): ...
class BalancedAccuracy(_LikePrecision): ...
class MatthewsCorrelation(_LikePrecision): ...
class CohenKappa(_LikePrecision): ...
class Informedness(_LikePrecision): ...
class Markedness(_LikePrecision): ...
class _LikePrevalence(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = None,
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class Prevalence(_LikePrevalence): ...
class _LikeLabelDensity(Metric):
    def __init__(self, *, average: Literal["samples"] = "samples", **options: Unpack[_OfDecisions]) -> None: ...
class LabelDensity(_LikeLabelDensity): ...
class PredictedPrevalence(_LikePrevalence): ...
class PredictedDensity(_LikeLabelDensity): ...
class GeometricMean(_LikePrecision): ...
class FowlkesMallows(_LikePrecision): ...
class HarmonicAccuracy(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted", "samples"] | None = "samples",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class AlphaEvaluation(Metric):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        average: Literal["micro", "macro", "samples"] | None = "samples",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class FBetaOfAverages(Metric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        average: Literal["macro", "weighted", "samples"] = "macro",
        **options: Unpack[_OfDecisions]
    ) -> None: ...
class SubsetAccuracy(_LikeLabelDensity): ...
class ZeroOneLoss(_LikeLabelDensity): ...
class HammingLoss(_LikeHammingScore): ...
class AnyHitAccuracy(_LikeLabelDensity): ...
class ContainAccuracy(_LikeLabelDensity): ...
class BelongAccuracy(_LikeLabelDensity): ...
class LabelCardinality(_LikeLabelDensity): ...
class PredictedCardinality(_LikeLabelDensity): ...
class ImbalanceRatio(Metric):
    def __init__(self, *, average: None = None, **options: Unpack[_OfDecisions]) -> None: ...
class MeanImbalanceRatio(Metric):
    def __init__(self, *, average: Literal["macro"] = "macro", **options: Unpack[_OfDecisions]) -> None: ...
class _LikeOneError(Metric):
    def __init__(
        self,
        *,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class OneError(_LikeOneError): ...
class CoverageError(Metric):
    def __init__(
        self,
        *,
        minus_one: bool = False,
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class RankingLoss(_LikeOneError): ...
class ErrorSetSize(_LikeOneError): ...
class IsError(_LikeOneError): ...
class MarginLoss(_LikeOneError): ...
class LabelRankingAveragePrecision(Metric):
    def __init__(
        self,
        *,
        tied: Literal["worst", "best"] = 'worst',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class _LikePrecisionAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        divisor: Literal["k", "ranked"] = 'k',
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class PrecisionAt(_LikePrecisionAt): ...
class _LikeRecallAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class RecallAt(_LikeRecallAt): ...
class F1At(_LikePrecisionAt): ...
class HitAt(_LikeRecallAt): ...
class AbandonmentAt(_LikeRecallAt): ...
class RPrecision(Metric):
    def __init__(
        self,
        *,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
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
        **options: Unpack[_OfRankings]
    ) -> None: ...
class _LikeMeanReciprocalRank(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class MeanReciprocalRank(_LikeMeanReciprocalRank): ...
class DiscountedCumulativeGain(Metric):
    def __init__(
        self,
        *,
        k: int | None = None,
        log_base: float = 2.0,
        unranked: Literal["never", "last"] = 'never',
        degenerate: Literal["scikit-learn", "drop", "zero", "one"] = 'scikit-learn',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class NormalizedDiscountedCumulativeGain(_LikeMeanReciprocalRank): ...
class PropensityScoredPrecisionAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        normalize: bool = True,
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfGains]
    ) -> None: ...
class PropensityScoredNDCGAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        norm: Literal["k", "min"] = 'k',
        normalize: bool = True,
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfGains]
    ) -> None: ...
class LabelCoverageAt(Metric):
    def __init__(
        self,
        *,
        k: int = 5,
        of: Literal["true", "all"] = 'true',
        average: Literal["samples"] = "samples",
        **options: Unpack[_OfRankings]
    ) -> None: ...
class RocAuc(Metric):
    def __init__(
        self,
        *,
        max_fpr: float = 1.0,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class _LikeAveragePrecision(Metric):
    def __init__(
        self,
        *,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class AveragePrecision(_LikeAveragePrecision): ...
class RecallAtPrecision(Metric):
    def __init__(
        self,
        *,
        precision: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class PrecisionAtRecall(Metric):
    def __init__(
        self,
        *,
        recall: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class SensitivityAtSpecificity(Metric):
    def __init__(
        self,
        *,
        specificity: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class SpecificityAtSensitivity(Metric):
    def __init__(
        self,
        *,
        sensitivity: float = 0.5,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class EqualErrorRate(_LikeAveragePrecision): ...
class BrierScore(_LikeAveragePrecision): ...
class LogLoss(Metric):
    def __init__(
        self,
        *,
        eps: float = 2.220446049250313e-16,
        cap: float | None = None,
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class ExpectedCalibrationError(Metric):
    def __init__(
        self,
        *,
        buckets: int = 15,
        strategy: Literal["uniform", "quantile"] = 'uniform',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_OfCurves]
    ) -> None: ...
class _LikeMLCMPrecision(Metric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        average: Literal["micro", "macro", "weighted"] | None = "macro",
        **options: Unpack[_Options]
    ) -> None: ...
class MLCMPrecision(_LikeMLCMPrecision): ...
class MLCMRecall(_LikeMLCMPrecision): ...
class MLCMF1(_LikeMLCMPrecision): ...
class DependentPairs(Metric):
    def __init__(
        self,
        *,
        critical: float = 6.635,
        average: Literal["samples"] = "samples",
        **options: Unpack[_Options]
    ) -> None: ...
class Scumble(Metric):
    def __init__(self, *, average: Literal["samples"] | None = "samples", **options: Unpack[_Options]) -> None: ...
class _LikeScumbleVariation(Metric):
    def __init__(self, *, average: Literal["samples"] = "samples", **options: Unpack[_Options]) -> None: ...
class ScumbleVariation(_LikeScumbleVariation): ...
class DistinctLabelsets(_LikeScumbleVariation): ...
class ProportionDistinctLabelsets(_LikeScumbleVariation): ...
class UniqueLabelsets(_LikeScumbleVariation): ...
class ProportionUniqueLabelsets(_LikeScumbleVariation): ...
class LabelsetPeak(_LikeScumbleVariation): ...
class LabelsetDiversity(_LikeScumbleVariation): ...
