# Written by docs/generate.py from the catalogue.

from collections.abc import Iterable, Mapping
from typing import Literal

from streameval.config import Unknown
from streameval.labels import Label
from streameval.metrics.spec import Empty
from streameval.single import Metric

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
