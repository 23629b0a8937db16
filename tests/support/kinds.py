"""What the tests need for each kind of state: one `Trial` per kind, which laws, golden files and readers use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from streameval.evaluation.kinds import KINDS
from tests.support import curve_oracle, pair_oracle, ranking_oracle, reader
from tests.support.reader import Reader

KEEP = tuple(KINDS)
"""The name of every kind."""

NAMES = tuple(dict.fromkeys(chain(KINDS, *(kind.keeps for kind in KINDS.values()))))
"""Every name for ``keep=``."""

SCORED = frozenset(name for name, kind in KINDS.items() if kind.options.reads == "scores")
"""The kinds that read scores."""


@dataclass(frozen=True)
class Trial:
    """How the tests try one kind of state.

    Attributes
    ----------
    metrics
        Metrics of the kind to try with every holder; the first needs no argument.
    definitions
        Each metric of the kind by plain loops. For kinds that read decisions, a function of the examples (true labels,
        predicted labels, weight), all labels and the parameters, with ``average`` and ``zero_division`` if it names
        them, that returns a fraction, None for 0/0, or such values by label.
    compare
        Asserts that the independent reader read the same values as the package's content holds.
    section
        Reads the section of the kind as `docs/format.md` describes it, unless the reader has a method for it.
    forms
        Functions that read the options of the kind, by option number.
    arguments
        Makes the arguments that the metrics require for these labels.
    """

    metrics: tuple[str, ...]
    definitions: Mapping[str, Callable[..., Any]]
    compare: Callable[[dict[str, Any], Any], None]
    section: Callable[[Reader, int, int, dict[int, Any]], dict[str, Any]] | None = None
    forms: Mapping[int, Callable[[Reader], Any]] = field(default_factory=dict)
    arguments: Callable[[Iterable[Any]], dict[str, Any]] = lambda _: {}


def integers(value: Any) -> Any:
    """Nested lists of Python numbers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [integers(part) for part in value] if isinstance(value, list | tuple) else value


def compare_rankings(state: dict[str, Any], content: Any) -> None:
    assert state["mentions"] == integers(content.mentions)
    assert state["gain_scale"] == content.gain_scale
    for (keys, sums), table in zip(state["tables"], content.tables, strict=True):
        assert keys == integers(table.keys.T)
        assert sums == integers(table.sums.T)[: len(sums)]


def compare_curves(state: dict[str, Any], content: Any) -> None:
    assert state["sides"] == integers(content.sides.T)
    blocks = list(content.blocks())
    lengths = np.zeros(len(content.labels), np.int64)
    for block in blocks:
        lengths[block.first : block.first + len(block.offsets) - 1] += np.diff(block.offsets)
    assert state["bins"] == [value for block in blocks for value in block.bins.tolist()]
    assert state["lengths"] == integers(lengths)
    for part in (0, 1):
        words = [row for block in blocks for row in block.sums[:, part].tolist()]
        counts = [n for block in blocks for n in block.counts[:, part].tolist()]
        sums = [(low | high << 64, least | most << 64) for low, high, least, most in words]
        assert state["sums"][part] == [(n, *pair) for n, pair in zip(counts, sums, strict=True)]
    assert state.get("weight", 0) == content.weight


def compare_pairs(state: dict[str, Any], content: Any) -> None:
    blocks = [block for make in content.pairs.values() for block in make()]
    assert [list(pair[:5]) for pair in state["pairs"]] == [key for keys, *_ in blocks for key in keys.tolist()]
    assert [pair[5] for pair in state["pairs"]] == [n for _, times, _ in blocks for n in times.tolist()]
    sets = list(content.sets())
    assert state["sets"] == [true for names, *_ in sets for true in names]
    assert state["times"] == [n for _, times, _ in sets for n in times]


TRIALS = {
    "rankings": Trial(
        ("ndcg", "lrap", "psp_at(k=2)", "map_at(k=3,divisor=hits)", "label_coverage_at(k=2)", "lwlrap_per_label"),
        {**ranking_oracle.DEFINITIONS, **ranking_oracle.RATIOS, **ranking_oracle.BY_LABEL},
        compare_rankings,
        arguments=lambda labels: {"inverse_propensities": {label: 1.5 + at for at, label in enumerate(labels)}},
    ),
    "curves": Trial(("roc_auc_macro", "average_precision_micro"), curve_oracle.DEFINITIONS, compare_curves),
    "pairs": Trial(("scumble", "mlcm_f1_macro", "distinct_labelsets"), pair_oracle.DEFINITIONS, compare_pairs),
}

EACH = tuple(trial.metrics[0] for trial in TRIALS.values())
"""One metric of each kind."""

for _name, _trial in TRIALS.items():
    reader.FORMS.update(_trial.forms)
    if _trial.section is not None:
        reader.SECTIONS[KINDS[_name].bit] = _name, _trial.section
