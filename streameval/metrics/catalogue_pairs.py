"""The entries of the catalogue that are read from label pairs and label sets. Their code is loaded when used."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module
from typing import Any

from streameval.metrics.entry import Entry, Parameter
from streameval.metrics.spec import Average, MetricSpec, number_text

__all__ = ["PAIRS"]

_HEYDARIAN = "Heydarian, Doyle & Samavi 2022, MLCM: multi-label confusion matrix, IEEE Access 10"
_SCUMBLE = (
    "Charte, Rivera, del Jesus & Herrera 2014, Concurrence among imbalanced labels and its influence on multilabel "
    "resampling algorithms, HAIS; mldr"
)
_ZHANG = "Zhang & Zhou 2014, A review on multi-label learning algorithms, IEEE TKDE 26(8)"
_READ = "Read 2010, Scalable multi-label classification, PhD thesis, University of Waikato"
_MLDA = "Moyano, Gibaja & Ventura 2017, MLDA: a tool for analyzing multi-label datasets, Knowledge-Based Systems 121"

_BY_LABEL: tuple[Average, ...] = ("micro", "macro", "weighted", None)
_VALUES = Parameter("values", "counts", choices=("counts", "shares", "contributions"))


def _of_matrix(score: str, class_name: str, summary: str, formula: str) -> Entry:
    """A score that is read off the multi-label confusion matrix."""

    def read(tables: Any, spec: MetricSpec) -> Any:
        module, values = import_module("streameval.metrics.pairs"), spec.parameter("values")
        matrix = tables.once(values, lambda: module.confusion_matrix(tables, values=values))
        found = module.confusion_score(matrix, score, average=spec.average, zero_division=spec.zero_division)
        if isinstance(found, dict):  # a value per label; "no label" is none
            return {label: value for label, value in found.items() if label is not None}
        return found

    def needs(spec: MetricSpec) -> dict[str, str]:
        return {"part": "contributions" if spec.parameter("values") == "contributions" else "confusions"}

    return Entry(
        f"mlcm_{score}", class_name, summary, formula, _HEYDARIAN, read, averages=_BY_LABEL, parameters=(_VALUES,),
        state="pairs", needs=needs,
    )  # fmt: skip


def _of_examples(
    name: str,
    class_name: str,
    summary: str,
    formula: str,
    source: str,
    *parameters: Parameter,
    module: str = "label_sets",
    part: str = "labelsets",
    **choices: Any,
) -> Entry:
    """What is said of all examples; nothing is 0/0 but where there are too few."""

    def read(tables: Any, spec: MetricSpec) -> Any:
        functions = import_module(f"streameval.metrics.{module}")
        undefined = None if math.isnan(spec.zero_division) else Fraction(spec.zero_division)
        if spec.average is None:
            found = getattr(functions, f"{name}_per_label")(tables)
            return {label: undefined if value is None else value for label, value in found.items()}
        given = {key: Fraction(number_text(value)) for key, value in spec.parameters}
        value = getattr(functions, name)(tables, **given)
        return undefined if value is None else value

    options: dict[str, Any] = {"averages": ("samples",), "bigger_is_better": None, "zero_division": math.nan} | choices
    return Entry(
        name, class_name, summary, formula, source, read, default="samples", parameters=parameters, state="pairs",
        needs=lambda _: {"part": part}, **options,
    )  # fmt: skip


PAIRS: tuple[Entry, ...] = (
    _of_matrix(
        "precision", "MLCMPrecision", "Precision as the multi-label confusion matrix tells it, where every error has a "
        "true and a predicted label.", "diagonal / column, of each label and of no label",
    ),
    _of_matrix(
        "recall", "MLCMRecall", "Recall as the multi-label confusion matrix tells it, where every error has a true and "
        "a predicted label.", "diagonal / row, of each label and of no label",
    ),
    _of_matrix(
        "f1", "MLCMF1", "F1 as the multi-label confusion matrix tells it, where every error has a true and a predicted "
        "label.", "2 diagonal / (row + column), of each label and of no label",
    ),
    _of_examples(
        "scumble", "Scumble", "How much frequent and rare labels are true in the same examples.",
        "1 - geometric / arithmetic mean of the imbalance ratios of the true labels, mean over examples", _SCUMBLE,
        averages=("samples", None), bare=True,
    ),
    _of_examples(
        "scumble_cv", "ScumbleVariation", "How much SCUMBLE differs between examples.",
        "standard deviation (n - 1) / mean of the SCUMBLE of examples", "mldr, scumble.cv", high=math.inf,
    ),
    _of_examples(
        "distinct_labelsets", "DistinctLabelsets", "How many different sets of true labels there are.",
        "|{sets of true labels}|", _ZHANG + " (label diversity); MULAN; mldr, num.labelsets", high=math.inf,
        aliases=("num_labelsets",),
    ),
    _of_examples(
        "proportion_distinct_labelsets", "ProportionDistinctLabelsets",
        "How many different sets of true labels there are for each example.", "distinct label sets / examples",
        _ZHANG + " (normalized label diversity)",
    ),
    _of_examples(
        "unique_labelsets", "UniqueLabelsets", "How many sets of true labels only one example has.",
        "|{sets that one example has}|", "mldr, num.single.labelsets", high=math.inf, aliases=("num_single_labelsets",),
    ),
    _of_examples(
        "proportion_unique_labelsets", "ProportionUniqueLabelsets",
        "Share of the examples whose set of true labels no other example has.", "unique label sets / examples",
        _READ + " (PUniq)", aliases=("puniq",),
    ),
    _of_examples(
        "labelset_peak", "LabelsetPeak", "Share of the examples with the most frequent set of true labels.",
        "examples with the most frequent set / examples", _READ + " (PMax)", aliases=("pmax",),
    ),
    _of_examples(
        "labelset_diversity", "LabelsetDiversity", "Share of the sets of labels that could be which there are.",
        "distinct label sets / 2^q", _MLDA,
    ),
    _of_examples(
        "dependent_pairs", "DependentPairs", "Share of the pairs of labels that depend on each other, by a chi-squared "
        "test of how often both are true.", "[n phi² > critical], mean over pairs of labels",
        "Tenenboim-Chekina, Rokach & Shapira 2010, Identification of label dependencies for multi-label "
        "classification, MLD; MULAN; MLDA", Parameter("critical", 6.635, 0.0, 1000.0), module="pairs",
        part="cooccurrence",
    ),
)  # fmt: skip
