"""The definition of every entry of the catalogue, applied to streams that show what distinguishes its choices.

Each kind has its oracle; `expected` asks the one of the entry. Streams, specs and values are made by name from the
catalogue, so that a new entry, parameter or average takes part by itself, or fails for want of a definition.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import streameval as se
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import build_spec
from tests.support import curve_oracle, oracle, pair_oracle, ranking_oracle
from tests.support.ranking_oracle import Ranked, View

__all__ = [
    "INVERSE",
    "NAMES",
    "SCORES",
    "Stream",
    "bounds_of",
    "cases_of",
    "evaluator_of",
    "expected",
    "is_near",
    "streams",
    "values_of",
]

NAMES = {*oracle.NAMES, *ranking_oracle.DEFINITIONS, *ranking_oracle.RATIOS, *curve_oracle.DEFINITIONS,
         *pair_oracle.DEFINITIONS}  # fmt: skip
"""The entries that have a definition."""

LABELS = ("a", "b", "c", "d")
SCORES = tuple(step / 8 for step in range(9))
WEIGHTS = (1.0, 0.5, 2.0, 0.0, 3.0)
INVERSE = {"a": 1.0, "b": 2.5, "c": 1.125, "d": 4.0}

SHARES = (0.5, 0.0, 0.4, 0.75, 1.0)
GRID: dict[str, tuple[Any, ...]] = {
    "alpha": (1.0, 0.0, 0.5, 2.0, math.inf), "beta": (1.0, 0.5, 2.0, 0.3, 0.0), "gamma": (1.0, 0.0, 0.3),
    "k": (1, 2, 3, 7), "log_base": (2.0, 10.0, 1.5),
    "max_fpr": (1.0, 0.3, 0.5), "precision": SHARES, "recall": SHARES, "sensitivity": SHARES, "specificity": SHARES,
    "eps": (2.0**-52, 0.1, 0.0, 0.3), "cap": (0.7, 3.0), "buckets": (15, 1, 3, 4), "critical": (6.635, 0.5, 0.0, 2.0),
}  # fmt: skip
"""What parameters that are numbers are tried with, where the entry allows it."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Examples among all labels; a label is predicted from 0.5 on."""

    examples: list[Ranked]
    ties: str = "shared"
    labels: list[str] = field(default_factory=lambda: list(LABELS))


@cache
def streams() -> tuple[Stream, ...]:
    """Nothing, nothing true, everything true, then streams with ties, missing scores, masks and weights."""
    none = [Ranked(set(), {"a": 0.5, "b": 0.25}), Ranked(set(), {}), Ranked(set(), {"c": 0.125, "d": 0.0})]
    full = [Ranked(set(LABELS), {"a": 1.0, "c": 0.25, "d": 0.5}), Ranked(set(LABELS), dict.fromkeys(LABELS, 0.5)),
            Ranked(set(LABELS), {})]  # fmt: skip
    made = [
        Stream([Ranked({"a"}, {"a": 0.5}), Ranked(set(), {"a": 0.25})], labels=["a"]),
        Stream([Ranked(set(), {})], labels=[]),
        Stream([]),
        Stream(none),
        Stream(full),
        Stream([*none[:1], *full[:1]]),
    ]
    for seed in range(12):
        rng = random.Random(seed)
        levels = rng.sample(SCORES, rng.choice([2, 4, 9]))
        often, ranked, masks = rng.choice([0.2, 0.5, 0.8]), rng.choice([0.6, 1.0]), seed % 3 == 2
        examples = []
        for _ in range(rng.choice([3, 6, 12])):
            true = {label for label in LABELS if rng.random() < often * (0.6 if label == "d" else 1.0)}
            scores = {label: rng.choice(levels) for label in LABELS if rng.random() < ranked}
            masked = {label for label in LABELS if masks and rng.random() < 0.2}
            examples.append(Ranked(true, scores, masked, rng.choice(WEIGHTS) if seed % 4 == 1 else 1.0))
        if masks:
            examples.append(Ranked({"a"}, {"b": 0.5}, set(LABELS)))
        made.append(Stream(examples, "last" if seed % 4 == 3 else "shared"))
    return tuple(made)


def values_of(parameter: Any) -> list[Any]:
    """What a parameter is tried with, its default among them."""
    if parameter.choices:
        return list(parameter.choices)
    if isinstance(parameter.default, bool):
        return [False, True]
    low, high = parameter.low, parameter.high
    fit = [v for v in GRID[parameter.name] if (low < v < math.inf if parameter.above else low <= v) and v <= high]
    return [*([None] if parameter.default is None else []), *fit]


def _specs(entry: se.Entry) -> Iterator[se.MetricSpec]:
    """Every average with every combination of parameters; what stands for 0/0 is drawn."""
    names, rng = [parameter.name for parameter in entry.parameters], random.Random(entry.name)
    products = list(itertools.product(*map(values_of, entry.parameters)))
    for values in products * (8 if len(products) == 1 else 1):
        parameters = dict(zip(names, values, strict=True))
        if parameters.get("divisor") in ("hits", "ranked") and parameters.get("unranked") == "last":
            continue  # refused
        if parameters.get("divisor") == "hits" and parameters["k"] is None:
            continue
        for average in entry.averages:
            empty = rng.choice(["zero_division", "one", "nan", "drop"] if entry.state == "decisions" else UNSAID)
            zero_division = rng.choice([entry.zero_division, 0.0, 1.0, math.nan])
            yield build_spec(
                entry.name, average=average, zero_division=zero_division, empty=empty, parameters=parameters
            )


UNSAID = ["zero_division"]


@cache
def mixed_streams() -> tuple[Stream, ...]:
    """Streams of scores that share bins with others: with their bounds one knows them, not in which order they are."""
    made = []
    for seed in range(5):
        rng = random.Random(f"mixed {seed}")
        examples = []
        for _ in range(rng.choice([6, 12])):
            true = {label for label in LABELS if rng.random() < 0.5}
            scores = {}
            for label in LABELS:
                base = rng.choice([0.25, 0.375, 0.75, 0.875][: rng.choice([2, 4])])
                scores[label] = base + rng.choice([0, 1, 2, 3]) * 2.0**-18 * (1 if base < 0.5 else -1)
            examples.append(Ranked(true, scores))
        made.append(Stream(examples))
    return tuple(made)


@cache
def cases_of(entry: se.Entry, each: int = 6) -> list[tuple[Stream, list[se.MetricSpec]]]:
    """The streams, and for each some specs: every one takes its turn, and the usual ones are always among them."""
    specs = list(dict.fromkeys(_specs(entry)))
    usual = [build_spec(entry.name, average=average) for average in entry.averages]
    random.Random(entry.name).shuffle(specs)
    turn = itertools.cycle(specs)
    every = (*mixed_streams(), *streams()) if entry.certify else streams()
    each = max(min(each, len(specs)), -(-len(specs) // len(streams())))
    return [(stream, list(dict.fromkeys([*usual, *itertools.islice(turn, each)]))) for stream in every]


def evaluator_of(entry: se.Entry, stream: Stream, specs: list[se.MetricSpec]) -> se.Evaluator:
    """An evaluator that has counted a stream for these metrics."""
    arguments: dict[str, Any] = dict.fromkeys(entry.arguments, INVERSE)
    ev = se.Evaluator(specs, labels=stream.labels, ties=stream.ties if entry.state == "rankings" else "shared",
                      **arguments)  # fmt: skip
    for example in stream.examples:
        predicted = (
            example.scores if reads_scores(entry) else {label for label, s in example.scores.items() if s >= 0.5}
        )
        ev.update(example.true, predicted, weight=example.weight, mask=example.hidden)
    return ev


def expected(entry: se.Entry, stream: Stream, spec: se.MetricSpec) -> Any:
    """The value that the definition gives: a fraction, infinity, or None where it is undefined; or one a label."""
    return _ORACLES[entry.state](stream, spec)


def _constant(spec: se.MetricSpec) -> Fraction | None:
    return None if math.isnan(spec.zero_division) else Fraction(spec.zero_division)


def _sides(stream: Stream) -> list[tuple[frozenset, frozenset, Fraction]]:
    return [
        (
            frozenset(e.true - e.hidden),
            frozenset(label for label, score in e.scores.items() if score >= 0.5 and label not in e.hidden),
            Fraction(e.weight),
        )
        for e in stream.examples
    ]


def _of_decisions(stream: Stream, spec: se.MetricSpec) -> Any:
    examples = [(e.true, {n for n, s in e.scores.items() if s >= 0.5}, e.weight, e.hidden) for e in stream.examples]
    return oracle.Oracle(examples, stream.labels).value(
        spec.name, spec.average, zero_division=spec.zero_division, empty=spec.empty, **dict(spec.parameters)
    )


def _of_rankings(stream: Stream, spec: se.MetricSpec) -> Any:
    known = [e for e in stream.examples if not e.hidden or e.hidden < set(stream.labels)]  # of others nothing is known
    views = [(View(e, stream.labels, stream.ties), Fraction(e.weight)) for e in known]
    parameters = dict(spec.parameters)
    if spec.name in ranking_oracle.RATIOS:
        shared = stream.labels if spec.name == "label_coverage_at" else {n: Fraction(v) for n, v in INVERSE.items()}
        num, den = ranking_oracle.RATIOS[spec.name](views, shared, **parameters)
        return num / den if den else _constant(spec)
    degenerate = parameters.pop("degenerate")
    sums = whole = Fraction(0)
    for view, weight in views:
        value, judged = ranking_oracle.DEFINITIONS[spec.name](view, **parameters)
        if not judged and degenerate == "drop":
            continue
        sums += weight * (value if judged else {"zero": 0, "one": 1}.get(degenerate, value))
        whole += weight
    return sums / whole if whole else _constant(spec)


def _base(score: float) -> float:
    return score if score == -np.inf else round(score * 8) / 8


def _arranged(best: bool) -> Any:
    """The scores of each mixed bin with all positives first, or all negatives and then one positive after another."""

    def arrange(cells: list) -> list:
        found = []
        for at, (score, true, weight) in enumerate(cells):
            base = _base(score)
            if len({s for s, _, _ in cells if _base(s) == base}) > 1:
                score = base + 2.0**-20 * (bool(true) if best else (0.5 if not true else -at / 1024))
            found.append((score, true, weight))
        return found

    return arrange


def bounds_of(entry: se.Entry, stream: Stream, spec: se.MetricSpec) -> Any:
    """A check of the interval of a curve metric: exact, or between the best and the worst order within the bins."""
    exact = _of_curves(stream, spec)
    if stream not in mixed_streams():
        ulps = 1024 if spec.name == "log_loss" else 2  # its bounds allow for the rounding of logarithms
        return lambda found: _holds(found, exact, ulps) and all(part.exact for part in _parts(found))
    if spec.name in SCORED:
        if dict(spec.parameters).get("strategy") == "quantile":  # which never parts the scores of a bin
            exact = None
        return lambda found: _is_between(found, None, exact, None)
    ends = [_of_curves(stream, spec, _arranged(best)) for best in (False, True)]
    low, high = ends if entry.bigger_is_better else ends[::-1]
    return lambda found: _is_between(found, low, exact, high)


def _parts(found: Any) -> list:
    return list(found.values()) if isinstance(found, dict) else [found]


def _holds(found: Any, exact: Any, ulps: int) -> bool:
    if isinstance(found, dict):
        return found.keys() == exact.keys() and all(_holds(part, exact[label], ulps) for label, part in found.items())
    close = all(is_near(value, exact, ulps=ulps) for value in (found.low, found.high))
    return close and is_near(found.value, exact, ulps=64 if ulps > 2 else 1)


def _is_between(found: Any, low: Any, exact: Any, high: Any) -> bool:
    """Whether the bounds hold the value and the exact one, and no more than what is possible."""
    if isinstance(found, dict):
        return all(
            _is_between(part, *(end if end is None else end[label] for end in (low, exact, high)))
            for label, part in found.items()
        )
    room = 1e-15
    return (
        found.low <= found.value <= found.high
        and (exact is None or found.low * (1 - 1e-13) <= exact <= found.high * (1 + 1e-13))
        and (low is None or low - room <= found.low)
        and (high is None or found.high <= high + room)
    )


def _of_curves(stream: Stream, spec: se.MetricSpec, arrange: Any = lambda cells: cells) -> Any:
    by_label = {
        label: [
            (e.scores.get(label, -np.inf), int(label in e.true), Fraction(e.weight))
            for e in stream.examples
            if label not in e.hidden
        ]
        for label in stream.labels
    }
    define, parameters = curve_oracle.DEFINITIONS[spec.name], dict(spec.parameters)
    if spec.average == "micro":
        value = define(arrange([cell for cells in by_label.values() for cell in cells]), **parameters)
        return _constant(spec) if value is None else value
    values = {label: define(arrange(cells), **parameters) for label, cells in by_label.items()}
    values = {label: _constant(spec) if value is None else value for label, value in values.items()}
    if spec.average is None:
        return values
    support = {
        label: curve_oracle.totals(c for c in cells if spec.name not in SCORED or c[0] != -np.inf)[0]
        for label, cells in by_label.items()
    }
    terms = [(v, support[n] if spec.average == "weighted" else Fraction(1)) for n, v in values.items() if v is not None]
    if not sum(weight for _, weight in terms):
        terms = [(value, Fraction(1)) for value, _ in terms]
    if any(weight and value == np.inf for value, weight in terms):
        return np.inf
    return sum(v * w for v, w in terms if w) / sum(w for _, w in terms) if terms else _constant(spec)


SCORED = ("brier_score", "log_loss", "expected_calibration_error")
"""Metrics of the cells that have a score."""


def _of_pairs(stream: Stream, spec: se.MetricSpec) -> Any:
    define, parameters = pair_oracle.DEFINITIONS[spec.name], dict(spec.parameters)
    if spec.name.startswith("mlcm_"):
        return define(_sides(stream), stream.labels, spec.average, _constant(spec), **parameters)
    if spec.name == "scumble":
        parameters["average"] = spec.average
    if "critical" in parameters:
        parameters["critical"] = Fraction(str(parameters["critical"]))
    value = define(_sides(stream), stream.labels, **parameters)
    if isinstance(value, dict):
        return {label: _constant(spec) if part is None else part for label, part in value.items()}
    return _constant(spec) if value is None else value


_ORACLES = {"decisions": _of_decisions, "rankings": _of_rankings, "curves": _of_curves, "pairs": _of_pairs}


def is_near(got: Any, exact: Any, *, ulps: int = 1) -> bool:
    """Whether a value is what the definition gives, but for so many units in the last place."""
    if isinstance(exact, dict):
        return isinstance(got, dict) and got.keys() == exact.keys() and all(
            is_near(got[label], exact[label], ulps=ulps) for label in exact
        )  # fmt: skip
    if type(got) is not float:
        return False
    if exact is None or math.isnan(got) or math.isinf(got) or exact == math.inf:
        return (exact is None and math.isnan(got)) or (exact == math.inf == got)
    return abs(Fraction(got) - exact) <= ulps * Fraction(math.ulp(float(exact)))
