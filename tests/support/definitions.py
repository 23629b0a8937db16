"""The definition of every entry of the catalogue, applied to streams on which its options give different values.

Each kind of state has an oracle; `expected` asks the one of the entry. Streams, specs and parameter values come from
the catalogue, so that a new entry, parameter or average is tested without further code, or fails without a definition.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

import streameval as se
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import build_spec
from tests.support import curve_oracle, oracle, ranking_oracle
from tests.support.bin_oracle import SCORED, End, ends_of
from tests.support.curve_oracle import Cell, exactly
from tests.support.kinds import TRIALS
from tests.support.ranking_oracle import Ranked, View

NAMES = {*oracle.NAMES, *(name for trial in TRIALS.values() for name in trial.definitions)}
"""The entries that have a definition."""

LABELS = ("a", "b", "c", "d")
SCORES = tuple(step / 8 for step in range(9))
WEIGHTS = (1.0, 0.5, 2.0, 0.0, 3.0)
INVERSE = {"a": 1.0, "b": 2.5, "c": 1.125, "d": 4.0, "e": 1.5, "f": 3.0, "g": 1.25}

_LOSS = 1.3224579907293452  # -log(2183 / 8192), rounded up
SHARES = (0.5, 0.0, 0.4, 0.75, 1.0)
GRID: dict[str, tuple[Any, ...]] = {
    "alpha": (1.0, 0.0, 0.5, 2.0, math.inf), "beta": (1.0, 0.5, 2.0, 0.3, 0.0), "gamma": (1.0, 0.0, 0.3),
    "k": (1, 2, 3, 7), "log_base": (2.0, 10.0, 1.5),
    "max_fpr": (1.0, 0.3, 0.5), "precision": SHARES, "recall": SHARES, "sensitivity": SHARES, "specificity": SHARES,
    "eps": (2.0**-52, 0.1, 0.0, 0.3), "cap": (0.7, _LOSS), "buckets": (15, 1, 3, 4), "critical": (6.635, 0.5, 0.0, 2.0),
}  # fmt: skip
"""The values to try for each numeric parameter, as far as the entry allows them."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Examples over all labels; a score of 0.5 or more predicts a label. The counts are doubled ``doublings`` times."""

    examples: list[Ranked]
    ties: str = "shared"
    labels: list[str] = field(default_factory=lambda: list(LABELS))
    doublings: int = 0


@cache
def streams() -> tuple[Stream, ...]:
    """An empty stream, nothing true, everything true, then streams with ties, missing scores, masks and weights."""
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


def values_of(parameter: Any, numbers: Sequence[float] = ()) -> list[Any]:
    """The values to try for a parameter, its default among them."""
    if parameter.choices:
        return list(parameter.choices)
    if isinstance(parameter.default, bool):
        return [False, True]
    grid = numbers or GRID.get(parameter.name, (parameter.default, 0, 1, 2, 3))
    low, high = parameter.low, parameter.high
    fit = [v for v in grid if (low < v < math.inf if parameter.above else low <= v) and v <= high]
    return [*([None] if parameter.default is None else []), *fit]


def _specs(entry: se.MetricInfo) -> Iterator[se.MetricSpec]:
    """Every average with every combination of parameters; the value for 0/0 is drawn at random."""
    names, rng = [parameter.name for parameter in entry.parameters], random.Random(entry.name)
    products = list(itertools.product(*map(values_of, entry.parameters)))
    for values in products * (8 if len(products) == 1 else 1):
        parameters = dict(zip(names, values, strict=True))
        if parameters.get("divisor") in ("hits", "ranked") and parameters.get("unranked") == "last":
            continue  # such a spec is refused
        if parameters.get("divisor") == "hits" and parameters["k"] is None:
            continue
        for average in entry.averages:
            empty = rng.choice(["zero_division", "one", "nan", "drop"] if entry.state == "decisions" else UNSAID)
            zero_division = rng.choice([entry.zero_division, 0.0, 1.0, math.nan])
            yield build_spec(
                entry.name, average=average, zero_division=zero_division, empty=empty, parameters=parameters
            )


UNSAID = ["zero_division"]


DISTANCES = (0.0, 2.0**-1034, 2.0**-52, 2.0**-52 - 2.0**-65, 0.04978, 0.1, 0.25, 0.3, 0.333, 0.4, 0.4966, 0.125)
"""Distances of scores from 0 or 1 at which limits, buckets or bins end."""


@cache
def mixed_streams() -> tuple[Stream, ...]:
    """Streams in which different scores share bins, so that only their bounds are known, not their order.

    They have weights, masks and missing scores, and a bin with more positives than bounds treat one by one.
    """
    made = []
    for seed in range(14):
        rng = random.Random(f"mixed {seed}")
        distances = rng.sample(DISTANCES, rng.choice([1, 2, 4])) if seed % 7 else [0.25, 0.333]
        examples = []
        for _ in range(40 if seed % 7 == 0 else rng.choice([6, 12])):
            true = {label for label in LABELS if rng.random() < 0.5}
            scores = {}
            for label in LABELS:
                distance = rng.choice(distances) * (1 + rng.choice([0, 1, 2, 3]) * 2.0**-16)
                if rng.random() < 0.9 or seed < 5:
                    scores[label] = 1 - distance if rng.random() < 0.4 else distance
            masked = {label for label in LABELS if seed > 9 and rng.random() < 0.2}
            examples.append(Ranked(true, scores, masked, rng.choice(WEIGHTS) if seed % 2 else 1.0))
        made.append(Stream(examples))
    least, edge = 2.0**-1022, 1 - 2184 / 8192  # least normal number; greatest score of the bin that contains 11/15
    rows = [(least, edge, 2.0**-1034, edge), (least * (1 - 2.0**-11), edge, 1.5 * 2.0**-1034, edge - 2.0**-20)]
    examples = [Ranked({"c"}, dict(zip(LABELS, row, strict=True))) for row in rows]
    examples += [Ranked({"b", "d"}, {"b": 0.7, "d": 0.7})]
    # A mixed bin that weighs too little to change a float64; sixteen precisions whose mean is right only if unrounded.
    sure = [Ranked({"a", "b"}, {"a": 0.75, "b": 0.5}), Ranked(set(), {"a": 0.25, "b": 0.25})]
    close = [
        Ranked({"b"} if unit else set(), {"b": 0.3 * (1 + unit * 2.0**-16)}, weight=2.0**-200) for unit in range(3)
    ]
    thirds = [Ranked({"a", "b"}, dict.fromkeys("ab", 1 - at / 32)) for at in (*range(15), 28)]
    thirds += [Ranked(set(), {"a": 0.25, "b": 0.25}, mask, weight) for mask, weight in ((set(), 8.0), ({"a"}, 24.0))]
    # Bins with positives and negatives, some of which weigh so little that their order changes no float64.
    near = [0.3 * (1 + unit * 2.0**-16) for unit in (1, 2)]
    slight = [Ranked({"c", "d"}, {"c": 0.3, "d": 0.5}), Ranked(set(), {"c": 0.1, "d": 0.3}, weight=8.0)]
    slight += [Ranked({"d"}, {"c": score, "d": score}, weight=2.0**-200) for score in near]
    return Stream(examples), *made, Stream([*sure, *close]), Stream(thirds, labels=["a", "b"]), Stream(slight)


@cache
def probability_streams() -> tuple[Stream, ...]:
    """Neighbouring bins of one example each or on one side of 0.5, and counts whose products overflow int64.

    Doubling all counts changes no mean; it would change only the bounds of other metrics.
    """
    near = [Ranked({"a", "c"}, {"a": 0.3, "b": 0.3, "c": 0.0, "d": 1.0}), Ranked({"b", "c"}, {"a": 0.8, "b": 0.7})]
    many = [Ranked({"a"}, {"a": 0.49}), Ranked({"a"}, {"a": 0.49 + 2.0**-16}), Ranked(set(), {"a": 0.7})]
    # The loss of so small a score is the score, so the mean loss of the bin is correctly rounded.
    small = [[2.0**-600 * (1 + unit * 2.0**-52) for unit in (1, 1, 1, 1, last)] for last in (3, 4)]
    fifths = [Stream([Ranked(set(), {"a": score}) for score in scores], labels=["a"]) for scores in small]
    costly = [Ranked({"a"}, {"a": 2182 / 8192 + more}) for more in (0.0, 2.0**-20)]  # losses just above `_LOSS`
    return Stream(near), Stream(many, labels=["a"], doublings=40), *fifths, Stream(costly, labels=["a"])


def _of_table(cells: Sequence[float], one: str, two: str, labels: list[str]) -> Stream:
    """Four examples with these weights: one has both labels, one only the first, one only the second, one neither."""
    sets = ({one, two}, {one}, {two}, set())
    more = {"a"} - {one, two}
    return Stream(
        [Ranked(true | (more if at % 2 else set()), {one: 0.75, labels[0]: 0.5}, weight=weight)
         for at, (true, weight) in enumerate(zip(sets, cells, strict=True)) if weight],
        labels=labels,
    )  # fmt: skip


def _critical(cells: Sequence[float], critical: float) -> list[float]:
    """The two neighbouring weights of the cell with both labels between which chi-squared exceeds ``critical``."""

    def exceeds(both: float) -> bool:
        a, b, c, d = (Fraction(part) for part in (both, *cells))
        n = a + b + c + d
        return n * (a * d - b * c) ** 2 > Fraction(critical) * (a + b) * (c + d) * (a + c) * (b + d)

    low, high = cells[0] * cells[1] / cells[2], 1000.0
    while math.nextafter(low, high) < high:
        middle = (low + high) / 2
        low, high = (low, middle) if exceeds(middle) else (middle, high)
    return [low, high]


@cache
def pair_streams() -> tuple[Stream, ...]:
    """Two labels with chi-squared at or next to the critical value; label sets of nearly equal or very small weight."""
    ties = [(7, 1, 2, 2), (7, 2, 1, 2), (2, 2, 1, 7), (1, 2, 7, 2), (2, 2, 7, 1)]
    made = [Stream([], labels=["a", "b"])]
    made += [_of_table(cells, "a", "b", ["a", "b"]) for cells in ties]
    made += [_of_table(cells, "b", "d", list(LABELS)) for cells in ties]
    for cells, critical in itertools.product([(1.5, 2.25, 4.0), (0.5, 0.125, 0.75), (3.0, 1.0, 40.0)], [2.0, 0.5]):
        for both in _critical(cells, critical):
            made += [_of_table((both, *cells), "a", "b", ["a", "b"]), _of_table((both, *cells), "b", "d", list(LABELS))]
    for weights in [(0.25, 0.25), (0.5, 0.5), (1.0, 0.25), (1.0, 0.5), (0.5, 1.25), (2.0**52, 1.0), (1.0, 2.0**-150),
                    (1e308, 5e-324), (2.0**-150, 1.0), (3.0, 0.0)]:  # fmt: skip
        pairs = zip(({"a", "b"}, {"a"}), weights, strict=True)
        made.append(Stream([Ranked(true, {"a": 0.5, "c": 0.75}, weight=weight) for true, weight in pairs]))
    made.append(Stream([Ranked({"a", "b"}, {"a": 0.5}), Ranked({"a", "c"}, {"b": 0.5})]))  # equal SCUMBLE above 0
    return tuple(made)


@cache
def tied_streams() -> tuple[Stream, ...]:
    """Seven labels in one to three groups of ties, some of them without a score."""
    levels = {"a": 0.75, "b": 0.5, "c": 0.5, "d": 0.5, "e": 0.25}
    sets = ({"b", "c"}, {"a", "b", "c"}, {"a", "d", "e"}, {"b", "c", "d"})
    level = [Ranked({"a", "b", "c"}, dict.fromkeys(levels, 0.5))] * 2
    made = [Stream([Ranked(true, levels) for true in examples] + more, labels=list(levels))
            for examples, more in ((sets, level), ([{"e"}], []))]  # fmt: skip
    for seed in range(4):
        rng, labels = random.Random(f"tied {seed}"), [*LABELS, "e", "f", "g"]
        examples = []
        for _ in range(6):
            scores = {label: rng.choice((0.25, 0.5, 0.75)[: seed + 1]) for label in labels if rng.random() < 0.9}
            examples.append(Ranked({label for label in labels if rng.random() < 0.5}, scores))
        made.append(Stream(examples, labels=labels))
    return tuple(made)


MORE = {"curves": mixed_streams, "pairs": pair_streams, "rankings": tied_streams}
"""Further streams for the entries that read one kind of state."""


@cache
def cases_of(entry: se.MetricInfo, each: int = 6) -> list[tuple[Stream, list[se.MetricSpec]]]:
    """The streams, each with some specs: the usual ones always, the rest in turn."""
    specs = list(dict.fromkeys(_specs(entry)))
    usual = [build_spec(entry.name, average=average) for average in entry.averages]
    random.Random(entry.name).shuffle(specs)
    turn = itertools.cycle(specs)
    more, scored = MORE.get(entry.state, tuple)(), probability_streams() if entry.name in SCORED else ()
    each = max(min(each, len(specs)), -(-len(specs) // len(streams())))
    single = {*more[: {"rankings": 2, "curves": 1}.get(entry.state, 0)], *scored}  # each reveals one certain mistake
    return [
        (stream, specs if stream in single else list(dict.fromkeys([*usual, *itertools.islice(turn, each)])))
        for stream in (*more, *scored, *streams())
    ]


def predicted(example: Ranked) -> set[str]:
    """The labels that score at or above 0.5."""
    return {label for label, score in example.scores.items() if score >= 0.5}


def evaluator_of(
    entry: se.MetricInfo, stream: Stream, specs: list[se.MetricSpec], keep: Sequence[str] = ()
) -> se.Evaluator:
    """An evaluator that has counted a stream for these metrics."""
    arguments: dict[str, Any] = dict.fromkeys(() if keep else entry.arguments, INVERSE)
    ev = se.Evaluator(specs, labels=stream.labels, ties=stream.ties if entry.state == "rankings" else "shared",
                      keep=keep, **arguments)  # fmt: skip
    scored, examples = reads_scores(entry), stream.examples
    ev.update_many(
        [example.true for example in examples],
        [example.scores if scored else predicted(example) for example in examples],
        weights=[example.weight for example in examples],
        mask=[example.hidden for example in examples],
    )
    for _ in range(stream.doublings):
        ev.merge(ev.copy())
    return ev


def expected(entry: se.MetricInfo, stream: Stream, spec: se.MetricSpec) -> Any:
    """The value by definition: a fraction, infinity, or None where it is undefined; or a dict of these by label."""
    if entry.state in _ORACLES:
        return _ORACLES[entry.state](stream, spec)
    return _of_sides(TRIALS[entry.state].definitions[entry.name], stream, spec)


def _constant(spec: se.MetricSpec) -> Fraction | None:
    return None if math.isnan(spec.zero_division) else Fraction(spec.zero_division)


@cache
def _sides(stream: Stream) -> list[tuple[frozenset, frozenset, Fraction]]:
    return [
        (
            frozenset(e.true - e.hidden),
            frozenset(predicted(e) - e.hidden),
            Fraction(e.weight),
        )
        for e in stream.examples
    ]


@cache
def _decided(stream: Stream) -> oracle.Oracle:
    return oracle.Oracle([(e.true, predicted(e), e.weight, e.hidden) for e in stream.examples], stream.labels)


def _of_decisions(stream: Stream, spec: se.MetricSpec) -> Any:
    return _decided(stream).value(
        spec.name, spec.average, zero_division=spec.zero_division, empty=spec.empty, **dict(spec.parameters)
    )


@cache
def _views(stream: Stream) -> list[tuple[View, Fraction]]:
    known = [e for e in stream.examples if not e.hidden or e.hidden < set(stream.labels)]  # not fully masked
    return [(View(e, stream.labels, stream.ties), Fraction(e.weight)) for e in known]


def _of_rankings(stream: Stream, spec: se.MetricSpec) -> Any:
    views = _views(stream)
    parameters = dict(spec.parameters)
    if spec.name in ranking_oracle.RATIOS:
        inverse = {label: Fraction(value) for label, value in INVERSE.items()}
        num, den = ranking_oracle.RATIOS[spec.name](views, stream.labels, inverse, **parameters)
        return num / den if den else _constant(spec)
    if spec.name in ranking_oracle.BY_LABEL:
        ratios = {label: ranking_oracle.BY_LABEL[spec.name](views, label) for label in stream.labels}
        if spec.average == "weighted":
            num, den = (sum(part, Fraction(0)) for part in zip(*ratios.values(), strict=True)) if ratios else (0, 0)
            return num / den if den else _constant(spec)
        values = {label: num / den if den else _constant(spec) for label, (num, den) in ratios.items()}
        some = [value for value in values.values() if value is not None]
        return values if spec.average is None else sum(some) / len(some) if some else _constant(spec)
    degenerate = parameters.pop("degenerate")
    sums = whole = Fraction(0)
    for view, weight in views:
        value, judged = ranking_oracle.DEFINITIONS[spec.name](view, **parameters)
        if not judged and degenerate == "drop":
            continue
        sums += weight * (value if judged else {"zero": 0, "one": 1}.get(degenerate, value))
        whole += weight
    return sums / whole if whole else _constant(spec)


def bounds_of(entry: se.MetricInfo, stream: Stream, spec: se.MetricSpec) -> Any:
    """A predicate that the ends of a curve metric's interval agree with the definition and enclose the exact value."""
    exact, ends = _of_curves(stream, spec), _ends(stream, spec)
    return lambda interval: _holds(interval, ends, exact)


def _holds(interval: Any, end: Any, exact: Any) -> bool:
    if isinstance(interval, dict):
        return interval.keys() == end.keys() and all(
            _holds(part, end[label], None if exact is None else exact[label]) for label, part in interval.items()
        )
    if end is None:
        return interval.exact and all(map(math.isnan, (interval.low, interval.value, interval.high)))
    sides = ((interval.low, end.low), (interval.value, end.value), (interval.high, end.high))
    if interval.exact != end.exact or not all(is_near(side, right, ulps=end.slack) for side, right in sides):
        return False
    if end.rounded and not is_near(interval.value, end.value, ulps=Fraction(1, 2)):
        return False
    if end.slack == 1 and not interval.low <= end.low <= end.high <= interval.high:
        return False
    return exact is None or interval.low <= exact <= interval.high


@cache
def _cells(stream: Stream) -> dict[str, list[Cell]]:
    return {
        label: [
            (e.scores.get(label, -np.inf), int(label in e.true), exactly(e.weight))
            for e in stream.examples
            if label not in e.hidden
        ]
        for label in stream.labels
    }


def _of_curves(stream: Stream, spec: se.MetricSpec) -> Any:
    return _averaged(stream, spec, False, _constant(spec), _mean)


def _ends(stream: Stream, spec: se.MetricSpec) -> Any:
    instead = _constant(spec)
    instead = None if instead is None else End(instead, instead, instead, True)
    return _averaged(stream, spec, True, instead, _mean_of_ends)


@cache
def _defined(stream: Stream, name: str, parameters: tuple, pooled: bool, bounded: bool) -> dict[str, Any]:
    """The value by definition for each label, or with ``pooled`` for all cells together."""
    weights = [Fraction(example.weight) for example in stream.examples]
    unit = None if set(weights) <= {1} else math.lcm(*(weight.denominator for weight in weights))
    define = ends_of(name, unit) if bounded else curve_oracle.DEFINITIONS[name]
    by_label = _cells(stream)
    if pooled:
        by_label = {"": [cell for cells in by_label.values() for cell in cells]}
    return {label: define(cells, **dict(parameters)) for label, cells in by_label.items()}


@cache
def _support(stream: Stream, scored: bool) -> dict[str, Fraction]:
    """The weight of each label's positives; with ``scored`` only of those that have a score."""
    return {
        label: curve_oracle.totals(c for c in cells if not scored or c[0] != -np.inf)[0]
        for label, cells in _cells(stream).items()
    }


def _averaged(stream: Stream, spec: se.MetricSpec, bounded: bool, instead: Any, mean: Any) -> Any:
    pooled = spec.average == "micro"
    values = _defined(stream, spec.name, spec.parameters, pooled, bounded)
    values = {label: instead if value is None else value for label, value in values.items()}
    if pooled:
        return values[""]
    if spec.average is None:
        return values
    support = _support(stream, spec.name in SCORED)
    terms = [(v, support[n] if spec.average == "weighted" else Fraction(1)) for n, v in values.items() if v is not None]
    if not sum(weight for _, weight in terms):
        terms = [(value, Fraction(1)) for value, _ in terms]
    return mean([(value, weight) for value, weight in terms if weight]) if terms else instead


def _mean(terms: list[tuple[Any, Fraction]]) -> Any:
    if any(value == np.inf for value, _ in terms):
        return np.inf
    return sum(v * w for v, w in terms) / sum(w for _, w in terms)


def _mean_of_ends(terms: list[tuple[End, Fraction]]) -> End:
    low, value, high = (_mean([(end[side], weight) for end, weight in terms]) for side in range(3))
    return End(
        low, value, high, low == np.inf or all(end.exact for end, _ in terms), max(end.slack for end, _ in terms),
        len(terms) == 1 and terms[0][0].rounded,
    )  # fmt: skip


def _of_sides(define: Callable[..., Any], stream: Stream, spec: se.MetricSpec) -> Any:
    parameters = dict(spec.parameters)
    if "critical" in parameters:
        parameters["critical"] = Fraction(str(parameters["critical"]))
    choices, accepted = {"average": spec.average, "zero_division": _constant(spec)}, signature(define).parameters
    parameters |= {name: choice for name, choice in choices.items() if name in accepted}
    value = define(_sides(stream), stream.labels, **parameters)
    if isinstance(value, dict):
        return {label: _constant(spec) if part is None else part for label, part in value.items()}
    return _constant(spec) if value is None else value


_ORACLES = {"decisions": _of_decisions, "rankings": _of_rankings, "curves": _of_curves}
"""Oracles that need more of an example than its true and predicted labels."""


def is_near(got: Any, exact: Any, *, ulps: int | Fraction = 1) -> bool:
    """Whether a value differs from the one by definition by at most so many units in the last place."""
    if isinstance(exact, dict):
        return isinstance(got, dict) and got.keys() == exact.keys() and all(
            is_near(got[label], exact[label], ulps=ulps) for label in exact
        )  # fmt: skip
    if type(got) is not float:
        return False
    if exact is None or math.isnan(got) or math.isinf(got) or exact == math.inf:
        return (exact is None and math.isnan(got)) or (exact == math.inf == got)
    return abs(Fraction(got) - exact) <= ulps * Fraction(math.ulp(float(exact)))
