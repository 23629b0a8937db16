"""Random streams of ranked examples, and functions that make batches of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import numpy as np

from streameval.kernel.types import Lists
from streameval.schema.batch import Dense, Ragged
from streameval.schema.labels import LabelIndex
from streameval.states.options import RankingOptions
from streameval.states.rankings import RankingTables
from tests.support.entries import reading
from tests.support.ranking_oracle import Ranked
from tests.support.states import Counted, only_rankings

LEVELS = [-3.0, -0.0, 0.0, 0.25, 0.5, 1e-45, 7.0, 2.0**-1074]

METRICS: dict[str, Callable[..., object]] = {
    "one_error": reading("one_error"),
    "coverage_error": reading("coverage_error"),
    "coverage_error minus one": lambda tables, **rest: reading("coverage_error")(tables, minus_one=True, **rest),
    "ranking_loss": reading("ranking_loss"),
    "error_set_size": reading("error_set_size"),
    "is_error": reading("is_error"),
    "margin_loss": reading("margin_loss"),
    "label_ranking_average_precision": reading("label_ranking_average_precision"),
}
"""Our functions, by the names in the oracle; functions at k take ``k`` and ``unranked``."""


def _at(function: Callable[..., object], needs_k: bool = True, **fixed: object) -> Callable[..., object]:
    def read(tables: RankingTables, *, k: int, unranked: str, **rest: object) -> object:
        return function(tables, **{"unranked": unranked, **({"k": k} if needs_k else {}), **fixed, **rest})

    return read


AT_K: dict[str, Callable[..., object]] = {
    "precision_at": _at(reading("precision_at")),
    "precision_at ranked": _at(reading("precision_at"), divisor="ranked", unranked="never"),
    "recall_at": _at(reading("recall_at")),
    "f1_at": _at(reading("f1_at")),
    "f1_at ranked": _at(reading("f1_at"), divisor="ranked", unranked="never"),
    "r_precision": _at(reading("r_precision"), False),
    "hit_at": _at(reading("hit_at")),
    "abandonment_at": _at(reading("abandonment_at")),
    "mrr": _at(reading("mrr"), False),
    "mrr k": _at(reading("mrr")),
    "map_at min": _at(reading("map_at")),
    "map_at true": _at(reading("map_at"), divisor="true"),
    "map_at all": _at(reading("map_at"), False, divisor="true"),
    "map_at hits": _at(reading("map_at"), divisor="hits", unranked="never"),
    "dcg": _at(reading("dcg"), False),
    "dcg k": _at(reading("dcg")),
    "ndcg": _at(reading("ndcg"), False),
    "ndcg k": _at(reading("ndcg")),
}


def random_examples(
    rng: random.Random, labels: list, size: int, *, full: bool = False, hides: bool = True, weighted: bool = False
) -> list[Ranked]:
    """Random examples with ties; with ``full`` every label has a score."""
    result = []
    share, levels = rng.choice([0.0, 0.2, 0.5, 1.0]), rng.sample(LEVELS, rng.randint(1, len(LEVELS)))
    for _ in range(size):
        true = {label for label in labels if rng.random() < share}
        ranked = [label for label in labels if full or rng.random() < 0.7]
        hidden = {label for label in labels if rng.random() < 0.2} if hides and rng.random() < 0.5 else set()
        if hides and rng.random() < 0.05:
            hidden = set(labels)
        weight = rng.choice([0.0, 0.1, 1.0, 2.5, 1e-300, 3e200, rng.random()]) if weighted else 1.0
        result.append(Ranked(true, {label: rng.choice(levels) for label in ranked}, hidden, weight))
    return result


def _weights(examples: list[Ranked]) -> np.ndarray | None:
    weights = np.array([example.weight for example in examples], np.float64)
    return None if (weights == 1).all() else weights


def as_rows(
    examples: list[Ranked], labels: list, index: LabelIndex, kind: type = np.float64, garbage: float = np.nan
) -> Dense:
    """Examples as matrices with columns in the order of ``labels``; masked cells hold arbitrary values."""
    shape = len(examples), len(labels)
    true, hidden, ranked = (np.zeros(shape, np.uint8) for _ in range(3))
    scores = np.full(shape, garbage, kind)
    for row, example in enumerate(examples):
        for at, label in enumerate(labels):
            true[row, at], hidden[row, at] = label in example.true, label in example.hidden
            if label in example.scores:
                ranked[row, at], scores[row, at] = 1, example.scores[label]
    columns = np.array([index.add(label) for label in labels], np.int64)
    all_ranked = ranked.all() if ranked.size else True
    return Dense(
        columns, true, scores=scores, ranked=None if all_ranked else ranked, mask=hidden if hidden.any() else None,
        weights=_weights(examples),
    )  # fmt: skip


def as_lists(examples: list[Ranked], index: LabelIndex, rng: random.Random) -> Ragged:
    """Examples as lists in random order, with repeated labels where these are allowed."""

    def lists(parts: Iterable[list]) -> Lists:
        rows = [[index.add(label) for label in part] for part in parts]
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        return Lists(offsets, np.array([column for row in rows for column in row], np.int64))

    def shuffled(labels: Iterable, repeats: bool) -> list:
        part = list(labels)
        part += [rng.choice(part) for _ in range(rng.randrange(3))] if part and repeats else []
        rng.shuffle(part)
        return part

    ranked = [shuffled(example.scores, False) for example in examples]
    if rng.random() < 0.3:
        ranked = [
            sorted(part, key=lambda label: -example.scores[label])
            for part, example in zip(ranked, examples, strict=True)
        ]
    scores = [example.scores[label] for part, example in zip(ranked, examples, strict=True) for label in part]
    hidden, of_ranked = lists(shuffled(example.hidden, True) for example in examples), lists(ranked)
    return Ragged(
        len(examples),
        lists(shuffled(example.true, True) for example in examples),
        mask=hidden if len(hidden.places) else None,
        mentioned=of_ranked,
        weights=_weights(examples),
        ranked=of_ranked,
        scores=np.array(scores, np.float64),
    )


def propensities_of(labels: list) -> tuple[tuple[object, float], ...]:
    return tuple((label, 1.0 + (at * 7 % 5) / 3 + 2.0**-at) for at, label in enumerate(labels))


def state_of(
    examples: list[Ranked],
    *,
    declared: Iterable = (),
    options: RankingOptions | None = None,
    rng: random.Random | None = None,
) -> Counted:
    """The state after counting all examples in one batch."""
    index = LabelIndex(declared)
    state = only_rankings(index, options)
    state.count(as_lists(examples, index, rng or random.Random(0)))
    return state
