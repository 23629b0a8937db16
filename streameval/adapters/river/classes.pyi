# Written by docs/generate.py from the catalogue.

from collections.abc import Iterable, Mapping
from typing import Literal

from streameval.adapters.river.metric import CountedMetric
from streameval.schema.config import Unknown
from streameval.schema.labels import Label
from streameval.metrics.spec import Empty

__all__ = [
    "MicroPrecision",
    "MacroPrecision",
    "WeightedPrecision",
    "SamplesPrecision",
    "MicroRecall",
    "MacroRecall",
    "WeightedRecall",
    "SamplesRecall",
    "MicroF1",
    "MacroF1",
    "WeightedF1",
    "SamplesF1",
    "MicroFBeta",
    "MacroFBeta",
    "WeightedFBeta",
    "SamplesFBeta",
    "MicroJaccard",
    "MacroJaccard",
    "WeightedJaccard",
    "SamplesJaccard",
    "MicroAccuracy",
    "MacroAccuracy",
    "WeightedAccuracy",
    "SamplesAccuracy",
    "MicroSpecificity",
    "MacroSpecificity",
    "WeightedSpecificity",
    "SamplesSpecificity",
    "MicroNegativePredictiveValue",
    "MacroNegativePredictiveValue",
    "WeightedNegativePredictiveValue",
    "SamplesNegativePredictiveValue",
    "MicroFalsePositiveRate",
    "MacroFalsePositiveRate",
    "WeightedFalsePositiveRate",
    "SamplesFalsePositiveRate",
    "MicroFalseNegativeRate",
    "MacroFalseNegativeRate",
    "WeightedFalseNegativeRate",
    "SamplesFalseNegativeRate",
    "MicroFalseDiscoveryRate",
    "MacroFalseDiscoveryRate",
    "WeightedFalseDiscoveryRate",
    "SamplesFalseDiscoveryRate",
    "MicroFalseOmissionRate",
    "MacroFalseOmissionRate",
    "WeightedFalseOmissionRate",
    "SamplesFalseOmissionRate",
    "MicroBalancedAccuracy",
    "MacroBalancedAccuracy",
    "WeightedBalancedAccuracy",
    "SamplesBalancedAccuracy",
    "MicroMatthewsCorrelation",
    "MacroMatthewsCorrelation",
    "WeightedMatthewsCorrelation",
    "SamplesMatthewsCorrelation",
    "MicroCohenKappa",
    "MacroCohenKappa",
    "WeightedCohenKappa",
    "SamplesCohenKappa",
    "MicroInformedness",
    "MacroInformedness",
    "WeightedInformedness",
    "SamplesInformedness",
    "MicroMarkedness",
    "MacroMarkedness",
    "WeightedMarkedness",
    "SamplesMarkedness",
    "MicroPrevalence",
    "MacroPrevalence",
    "WeightedPrevalence",
    "SamplesPrevalence",
    "MicroPredictedPrevalence",
    "MacroPredictedPrevalence",
    "WeightedPredictedPrevalence",
    "SamplesPredictedPrevalence",
    "MicroGeometricMean",
    "MacroGeometricMean",
    "WeightedGeometricMean",
    "SamplesGeometricMean",
    "MicroFowlkesMallows",
    "MacroFowlkesMallows",
    "WeightedFowlkesMallows",
    "SamplesFowlkesMallows",
    "MicroHarmonicAccuracy",
    "MacroHarmonicAccuracy",
    "WeightedHarmonicAccuracy",
    "HarmonicAccuracy",
    "MicroAlphaEvaluation",
    "MacroAlphaEvaluation",
    "AlphaEvaluation",
    "MacroFBetaOfAverages",
    "WeightedFBetaOfAverages",
    "SamplesFBetaOfAverages",
    "SubsetAccuracy",
    "ZeroOneLoss",
    "HammingLoss",
    "MacroHammingLoss",
    "WeightedHammingLoss",
    "SamplesHammingLoss",
    "HammingScore",
    "MacroHammingScore",
    "WeightedHammingScore",
    "SamplesHammingScore",
    "AnyHitAccuracy",
    "ContainAccuracy",
    "BelongAccuracy",
    "LabelCardinality",
    "PredictedCardinality",
    "LabelDensity",
    "PredictedDensity",
    "MeanImbalanceRatio",
    "MicroMLCMPrecision",
    "MacroMLCMPrecision",
    "WeightedMLCMPrecision",
    "MicroMLCMRecall",
    "MacroMLCMRecall",
    "WeightedMLCMRecall",
    "MicroMLCMF1",
    "MacroMLCMF1",
    "WeightedMLCMF1",
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

class MicroPrecision(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroPrecision(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedPrecision(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesPrecision(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroRecall(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroRecall(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedRecall(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesRecall(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroF1(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroF1(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedF1(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesF1(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFBeta(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFBeta(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFBeta(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFBeta(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroJaccard(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroJaccard(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedJaccard(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesJaccard(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroSpecificity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroSpecificity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedSpecificity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesSpecificity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroNegativePredictiveValue(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroNegativePredictiveValue(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedNegativePredictiveValue(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesNegativePredictiveValue(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFalsePositiveRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFalsePositiveRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFalsePositiveRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFalsePositiveRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFalseNegativeRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFalseNegativeRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFalseNegativeRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFalseNegativeRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFalseDiscoveryRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFalseDiscoveryRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFalseDiscoveryRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFalseDiscoveryRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFalseOmissionRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFalseOmissionRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFalseOmissionRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFalseOmissionRate(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroBalancedAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroBalancedAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedBalancedAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesBalancedAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroMatthewsCorrelation(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroMatthewsCorrelation(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedMatthewsCorrelation(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesMatthewsCorrelation(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroCohenKappa(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroCohenKappa(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedCohenKappa(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesCohenKappa(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroInformedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroInformedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedInformedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesInformedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroMarkedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroMarkedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedMarkedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesMarkedness(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroPredictedPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroPredictedPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedPredictedPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesPredictedPrevalence(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroGeometricMean(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroGeometricMean(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedGeometricMean(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesGeometricMean(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroFowlkesMallows(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFowlkesMallows(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFowlkesMallows(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFowlkesMallows(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroHarmonicAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroHarmonicAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedHarmonicAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HarmonicAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroAlphaEvaluation(CountedMetric):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroAlphaEvaluation(CountedMetric):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class AlphaEvaluation(CountedMetric):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroFBetaOfAverages(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedFBetaOfAverages(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesFBetaOfAverages(CountedMetric):
    def __init__(
        self,
        *,
        beta: float = 1.0,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SubsetAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ZeroOneLoss(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HammingLoss(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroHammingLoss(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedHammingLoss(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesHammingLoss(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class HammingScore(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroHammingScore(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedHammingScore(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class SamplesHammingScore(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class AnyHitAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ContainAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class BelongAccuracy(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelCardinality(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class PredictedCardinality(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelDensity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class PredictedDensity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MeanImbalanceRatio(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        empty: Empty = "zero_division",
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroMLCMPrecision(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroMLCMPrecision(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedMLCMPrecision(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroMLCMRecall(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroMLCMRecall(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedMLCMRecall(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MicroMLCMF1(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class MacroMLCMF1(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class WeightedMLCMF1(CountedMetric):
    def __init__(
        self,
        *,
        values: Literal["counts", "shares", "contributions"] = 'counts',
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class Scumble(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ScumbleVariation(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class DistinctLabelsets(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ProportionDistinctLabelsets(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class UniqueLabelsets(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class ProportionUniqueLabelsets(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelsetPeak(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class LabelsetDiversity(CountedMetric):
    def __init__(
        self,
        *,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...

class DependentPairs(CountedMetric):
    def __init__(
        self,
        *,
        critical: float = 6.635,
        zero_division: float | None = None,
        labels: Iterable[Label] | None = None,
        unknown: Unknown = "error",
        threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    ) -> None: ...
