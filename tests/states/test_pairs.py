"""The state of label pairs: its definition by plain loops, its laws, and its results."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.errors import InputError, RevertError
from streameval.kernel.pairs import pairing
from streameval.kernel.types import Lists
from streameval.schema.batch import Dense, Example, Ragged
from streameval.schema.labels import LabelIndex
from streameval.states.options import PARTS
from streameval.states.pairs import PairTables, pairs_fit
from tests.support.effort import cases
from tests.support.pair_oracle import NONE, heydarian, krstinic, shares_of
from tests.support.states import Counted, only_pairs

ALL = tuple(PARTS)


# -- examples with a known meaning ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meant:
    """An example: its true, predicted, masked and merely mentioned labels, and its weight."""

    true: frozenset
    pred: frozenset
    masked: frozenset = frozenset()
    named: frozenset = frozenset()
    weight: float = 1.0

    @property
    def sides(self) -> tuple[frozenset, frozenset]:
        return self.true - self.masked, self.pred - self.masked

    @property
    def mentioned(self) -> frozenset:
        return self.true | self.pred | self.masked | self.named

    def slots(self, labels: LabelIndex, rng: random.Random) -> Example:
        true, pred = self.sides
        result = []
        for label in rng.sample(sorted(self.mentioned, key=str), len(self.mentioned)):
            outcome = 4 if label in self.masked else (label in true) + 2 * (label in pred)
            column = labels.add(label)
            if outcome or column >= labels.fixed:
                result.append(5 * column + outcome)
        key = (len(true), len(pred), len(true & pred), len(self.masked))
        return Example(np.array(result, np.int64), key, self.weight)


POOL = "abcdefg"
PLAIN = st.just(1.0)


@st.composite
def meanings(draw: st.DrawFn, weight: st.SearchStrategy[float] = PLAIN) -> Meant:
    part = st.frozensets(st.sampled_from(POOL), max_size=5)
    few = st.frozensets(st.sampled_from(POOL), max_size=2)
    return Meant(draw(part), draw(part), draw(few | st.just(frozenset())), draw(few), draw(weight))


heavy = st.sampled_from([0.0, 1.0, 0.1, 1 / 3, 2.5, 1e16, 5e-324, 1e308])


@st.composite
def streams(draw: st.DrawFn, max_size: int = 8) -> tuple[tuple[str, ...], tuple[str, ...], list[Meant]]:
    """Declared labels, the parts to count, and examples."""
    declared = tuple(draw(st.permutations(POOL))[: draw(st.integers(0, 3))])
    parts = tuple(draw(st.sets(st.sampled_from(PARTS))))
    weight = heavy if draw(st.booleans()) else st.just(1.0)
    return declared, parts, draw(st.lists(meanings(weight), max_size=max_size))


def fresh(declared: Iterable[str] = (), parts: Iterable[str] = ALL) -> tuple[Counted, LabelIndex]:
    labels = LabelIndex(declared)
    return only_pairs(labels, parts), labels


def fed(declared: Iterable[str], parts: Iterable[str], examples: Iterable[Meant], seed: int = 0) -> Counted:
    state, labels = fresh(declared, parts)
    rng = random.Random(seed)
    for example in examples:
        state.count_one(example.slots(labels, rng), 1)
    return state


def listed(examples: list[Meant], labels: LabelIndex, rng: random.Random, *, heavy: bool = True) -> Ragged:
    """The same examples as lists with repeats, in random order."""

    def lists(side: Callable[[Meant], frozenset]) -> Lists:
        rows = []
        for example in examples:
            columns = [labels.add(label) for label in sorted(side(example))]
            columns += [rng.choice(columns) for _ in range(rng.randrange(2)) if columns]
            rng.shuffle(columns)
            rows.append(columns)
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
        return Lists(offsets, np.array([column for row in rows for column in row], np.int64))

    true, pred, hidden, named = (lists(side) for side in (
        lambda e: e.true, lambda e: e.pred, lambda e: e.masked, lambda e: e.named
    ))  # fmt: skip
    weights = np.array([example.weight for example in examples])
    plain = not heavy or bool((weights == 1).all())
    return Ragged(len(examples), true, pred, hidden, named, np.zeros(0, np.int64), None if plain else weights)


def dense(examples: list[Meant], names: list[str], labels: LabelIndex) -> Dense:
    def bits(side: Callable[[Meant], frozenset]) -> np.ndarray:
        return np.array([[name in side(example) for name in names] for example in examples], np.uint8).reshape(
            -1, len(names)
        )

    weights = np.array([example.weight for example in examples])
    columns = np.array([labels.add(name) for name in names], np.int64)
    return Dense(
        columns, bits(lambda e: e.true), bits(lambda e: e.pred), mask=bits(lambda e: e.masked),
        weights=None if (weights == 1).all() else weights, refusal=lambda: InputError("a value is neither 0 nor 1"),
    )  # fmt: skip


# -- the definition by plain loops ------------------------------------------------------------------------------------


def meant(examples: list[Meant]) -> dict[str, Counter]:
    """All tables of the state with weights, computed by plain loops."""
    tables: dict[str, Counter] = {name: Counter() for name in (
        "counts", "shares", "contributions", "true", "both", "pred", "sets", "cells", "times"
    )}  # fmt: skip
    for example in examples:
        weight = Fraction(example.weight)
        true, pred = example.sides
        for cell, count in heydarian(true, pred).items():
            tables["counts"][cell] += weight * count
        for cell, share in shares_of(true, pred).items():
            tables["shares"][cell] += weight * share
        for cell, share in krstinic(true, pred).items():
            tables["contributions"][cell] += weight * share
        for name, side in (("true", true), ("pred", pred)):
            for pair in combinations(sorted(side), 2):
                tables[name][frozenset(pair)] += weight
        for row in true:
            for column in pred - {row}:
                tables["both"][row, column] += weight
        tables["sets"][true] += weight
        tables["times"][true] += 1
        for label in example.mentioned:
            outcome = 4 if label in example.masked else (label in true) + 2 * (label in pred)
            tables["cells"][label, outcome] += 1
    return tables


def pairs_of(content: PairTables) -> list[tuple[list[int], int]]:
    of_kinds = (content.of_kind(kind) for kind in range(pairing.CONFUSION, pairing.PRED_PRED + 1))
    return [pair for keys, weights in of_kinds for pair in zip(keys.tolist(), weights.tolist(), strict=True)]


def held(content: PairTables) -> dict[str, Counter]:
    """The same tables, read from a state."""
    tables: dict[str, Counter] = {name: Counter() for name in meant([])}
    names = [*content.labels, NONE]
    unit = content.unit
    for (kind, row, column, num, den), value in pairs_of(content):
        cell, weight = (names[row], names[column]), value * unit
        if kind == pairing.CONFUSION:
            assert num == 1
            tables["counts"][cell] += weight
            tables["shares"][cell] += weight / den
        elif kind == pairing.CONTRIBUTION:
            tables["contributions"][cell] += weight * Fraction(num, den)
        elif kind == pairing.TRUE_PRED:
            tables["both"][cell] += weight
        else:
            tables["true" if kind == pairing.TRUE_TRUE else "pred"][frozenset(cell)] += weight
    for position, true in enumerate(content.sets):
        value = content.set_weights[position]
        tables["sets"][frozenset(names[column] for column in true)] += value * unit
        tables["times"][frozenset(names[column] for column in true)] += content._sets[1][position]
    for label, row in zip(
        content.labels, content._state.cell_state.by_label(content.columns, None).T.tolist(), strict=True
    ):
        for outcome, count in enumerate(row):
            tables["cells"][label, outcome] += count
    return tables


def plain(tables: dict[str, Counter], *, positive: bool = True) -> dict[str, dict]:
    return {
        name: {key: value for key, value in table.items() if value or not positive} for name, table in tables.items()
    }


RETAINED = {
    "confusions": ("counts", "shares"), "contributions": ("contributions",), "cooccurrence": ("true", "both", "pred"),
    "labelsets": ("sets", "times"),
}  # fmt: skip


@settings(max_examples=cases(300))
@given(streams())
def test_the_state_holds_what_plain_loops_count(stream: tuple):
    declared, parts, examples = stream
    content = PairTables(fed(declared, parts, examples).state)
    expected, result = plain(meant(examples)), plain(held(content))
    wanted = {name for part in parts for name in RETAINED[part]}
    for name in result:
        if name == "cells":  # true negatives of declared labels are not stored but derived
            expected[name] = {k: v for k, v in expected[name].items() if k[1] or k[0] not in declared}
            assert result[name] == expected[name]
        else:
            assert result[name] == (expected[name] if name in wanted else {})
    assert content.examples == len(examples)
    assert set(content.labels) == set(declared).union(*(example.mentioned for example in examples))
    assert content.weight * content.unit == sum(Fraction(e.weight) for e in examples)


def test_the_example_published_with_an_implementation_of_both_matrices():
    # github.com/dkrst/Multi_Label_Confusion_Matrix, examples.py: MO is Heydarian et al., MD is Krstinić et al.
    truth = ["ab", "abc", "", "a", "ab", "", "a", "ab", "ab"]
    guess = ["ab", "ac", "", "abc", "abc", "bc", "bc", "ac", "c"]
    examples = [Meant(frozenset(t), frozenset(p)) for t, p in zip(truth, guess, strict=True)]
    result = held(PairTables(fed("abc", ALL, examples).state))
    names = ["a", "b", "c", NONE]
    counts = [[result["counts"][row, column] for column in names] for row in names]
    assert counts == [[5, 2, 4, 0], [0, 2, 3, 1], [0, 0, 1, 0], [0, 1, 1, 1]]
    contributions = [[round(float(result["contributions"][row, column]), 8) for column in names] for row in names]
    assert contributions == [
        [4.0, 0.83333333, 2.16666667, 0.0], [0.5, 1.66666667, 2.83333333, 0.0], [0, 0, 1, 0], [0, 0.5, 0.5, 1],
    ]  # fmt: skip


@settings(max_examples=cases(200))
@given(st.lists(meanings(heavy), max_size=8))
def test_shares_and_contributions_of_a_row_are_the_weight_of_its_label(examples: list[Meant]):
    result = held(PairTables(fed((), ALL, examples).state))
    for label in [*POOL, NONE]:
        support = sum(Fraction(e.weight) for e in examples if (label in e.sides[0] if label else not e.sides[0]))
        for table in ("shares", "contributions"):
            assert sum(value for (row, _), value in result[table].items() if row == label) == support


# -- the laws ---------------------------------------------------------------------------------------------------------


@settings(max_examples=cases(200))
@given(streams(), st.randoms(use_true_random=False))
def test_any_order_batching_and_merging_gives_the_same_content(stream: tuple, rng: random.Random):
    declared, parts, examples = stream
    reference = fed(declared, parts, examples)
    shuffled = rng.sample(examples, len(examples))
    assert fed(declared, parts, shuffled, seed=1) == reference
    total, _ = fresh(declared, parts)
    while shuffled:
        size = rng.randint(1, len(shuffled))
        taken, shuffled = shuffled[:size], shuffled[size:]
        order = list(POOL)
        rng.shuffle(order)
        shard, index = fresh(declared, parts)
        for name in rng.sample(order, rng.randrange(3)):
            index.add(name)  # a registered label that no example mentions
        if rng.random() < 0.5:
            shard.count(listed(taken, index, rng))
        else:
            for example in taken:
                shard.count_one(example.slots(index, rng), 1)
        total.merge(shard)
    assert total == reference
    assert total == reference


@settings(max_examples=cases(100))
@given(streams(), st.permutations(POOL))
def test_dense_rows_count_as_their_lists(stream: tuple, names: list[str]):
    declared, parts, examples = stream
    names = list(dict.fromkeys([*names, *POOL]))
    everywhere = [Meant(e.true, e.pred, e.masked, frozenset(POOL), e.weight) for e in examples]
    state, labels = fresh(declared, parts)
    state.count(dense(examples, names, labels))
    assert state == fed(declared, parts, everywhere)


@settings(max_examples=cases(200))
@given(streams(), meanings(heavy))
def test_reverting_undoes_updating(stream: tuple, example: Meant):
    declared, parts, examples = stream
    for one in (example, Meant(example.true, example.pred, example.masked)):
        state = fed(declared, parts, examples)
        labels, before = state.labels, state.copy()
        state.count_one(one.slots(labels, random.Random(0)), 1)
        state.count_one(one.slots(labels, random.Random(1)), -1)
        assert state == before
        state.compact()
        assert state == before
        for each in examples:
            state.count_one(each.slots(labels, random.Random(2)), -1)
        assert state == fresh(declared, parts)[0]


@settings(max_examples=cases(200))
@given(streams(), meanings(heavy), st.sampled_from(ALL))
def test_reverting_an_uncounted_example_is_refused_and_changes_nothing(stream: tuple, example: Meant, part: str):
    declared, parts, examples = stream
    state = fed(declared, {*parts, part}, examples)
    before = state.copy()
    if any(e.sides == example.sides and e.masked == example.masked for e in examples):
        return
    if part in ("confusions", "contributions", "labelsets") or example.sides[0] | example.sides[1]:
        evident = {
            "confusions": set(heydarian(*example.sides)) - {c for e in examples for c in heydarian(*e.sides)},
            "contributions": set(krstinic(*example.sides)) - {c for e in examples for c in krstinic(*e.sides)},
            "cooccurrence": set(combinations(sorted(example.sides[0]), 2))
            - {c for e in examples for c in combinations(sorted(e.sides[0]), 2)},
            "labelsets": {example.sides[0]} - {e.sides[0] for e in examples},
        }[part]
        if evident:
            with pytest.raises(RevertError):
                state.count_one(example.slots(state.labels, random.Random(0)), -1)
            assert state == before


def test_reverting_an_example_that_the_counts_of_labels_exclude_is_refused():
    state, labels = fresh((), ["cooccurrence"])
    rng = random.Random(0)
    for _ in range(2):
        state.count_one(Meant(frozenset("a"), frozenset()).slots(labels, rng), 1)
    with pytest.raises(RevertError):  # both examples mention a, so no example without it was counted
        state.count_one(Meant(frozenset(), frozenset()).slots(labels, rng), -1)
    assert state == fed((), ["cooccurrence"], [Meant(frozenset("a"), frozenset())] * 2)


@pytest.mark.parametrize("part", ["cooccurrence", "confusions", "labelsets"])
@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("verb", ["revert", "unmerge"])
def test_reverting_an_example_that_the_counts_of_pairs_exclude_is_refused(part: str, weight: float, verb: str):
    counted, never = {
        "cooccurrence": (["ab/", "c/"], "a/"),
        "confusions": (["a/bc", "a/bd", "e/cd"], "a/cd"),
        "labelsets": (["ab/", "cd/"], "ac/"),
    }[part]
    ev = se.Evaluator([], keep=[part])
    for example in counted:
        ev.update(*map(set, example.split("/")), weight=weight)
    before, other = ev.to_bytes(), se.Evaluator([], keep=[part])
    other.update(*map(set, never.split("/")), weight=weight)
    with pytest.raises(RevertError):
        ev.unmerge(other) if verb == "unmerge" else ev.revert(*map(set, never.split("/")), weight=weight)
    assert ev.to_bytes() == before
    for example in counted:
        ev.revert(*map(set, example.split("/")), weight=weight)
    assert ev == se.Evaluator([], keep=[part])


@pytest.mark.parametrize(
    ("kind", "row", "column", "most"),
    [
        (pairing.CONFUSION, 0, 0, 2), (pairing.CONFUSION, 0, 1, 6), (pairing.CONFUSION, 1, 0, 10),
        (pairing.CONFUSION, 0, -1, 6), (pairing.CONFUSION, -1, 0, 10), (pairing.CONFUSION, -1, -1, 20),
        (pairing.TRUE_TRUE, 1, 0, 6), (pairing.PRED_PRED, 0, 1, 10),
    ],
)  # fmt: skip
def test_no_pair_occurs_more_often_than_its_labels(kind: int, row: int, column: int, most: int):
    cells = np.array([[0, 4, 8, 2, 0], [0, 0, 0, 11, 0]])  # fn, fp and tp of each label
    for part in range(1, most + 1):  # the times of two pairs whose fractions add up
        pairs = np.array([[kind, row, column, 1, 2], [kind, row, column, 1, 3]])
        assert pairs_fit(pairs, np.array([part, most - part]), cells, 20)
        assert not pairs_fit(pairs, np.array([part, most - part + 1]), cells, 20)


def test_reverting_an_uncounted_weight_is_refused():
    state = fed(
        (), ALL, [Meant(frozenset("ab"), frozenset("b"), weight=0.5), Meant(frozenset("c"), frozenset(), weight=2)]
    )
    before = state.copy()
    for weight in (0.25, 0.75, 1.0, 2.0):
        with pytest.raises(RevertError):
            state.count_one(
                Meant(frozenset("ab"), frozenset("b"), weight=weight).slots(state.labels, random.Random(0)), -1
            )
        assert state == before


@pytest.mark.parametrize("verb", ["revert", "unmerge"])
def test_reverting_a_weight_that_leaves_a_pair_heavier_than_its_label_is_refused(verb: str):
    ev, other = (se.Evaluator([], keep=["cooccurrence"]) for _ in range(2))
    for true, weight in (({"a", "b"}, 1.0), ({"a"}, 5.0), ({"c"}, 5.0)):
        ev.update(true, set(), weight=weight)
    before = ev.to_bytes()
    other.update({"a"}, set(), weight=5.5)  # no more than "a" weighs, or all examples with one true label
    with pytest.raises(RevertError):
        ev.unmerge(other) if verb == "unmerge" else ev.revert({"a"}, set(), weight=5.5)
    assert ev.to_bytes() == before


def test_examples_without_weight_still_weigh_nothing_after_compacting_and_merging():
    state, _ = fresh()
    state.count_one(Example(np.zeros(0, np.int64), (0, 0, 0, 0), 0.0), 1)
    state.compact()
    into, _ = fresh()
    into.merge(state)
    assert PairTables(into.state).weight == 0
    assert into == state


def test_weighted_and_plain_batches_mix():
    rng = random.Random(3)
    light = [Meant(frozenset("ab"), frozenset("bc")), Meant(frozenset("c"), frozenset())]
    weighty = [Meant(frozenset("ad"), frozenset("b"), weight=0.7)]
    for order in (light + weighty, weighty + light):
        state, labels = fresh()
        for part in (order[:1], order[1:2], order[2:]):
            state.count(listed(part, labels, rng))
        assert state == fed((), ALL, order)


def test_labels_that_nothing_mentions_are_not_part_of_the_state():
    state, labels = fresh()
    state.count_one(Meant(frozenset("a"), frozenset(), named=frozenset("b")).slots(labels, random.Random(0)), 1)
    assert not state.mostly_unused()
    for name in "xyz":
        labels.add(name)
    assert state.content().labels == ("a", "b")
    assert state.mostly_unused()


def test_values_that_are_neither_0_nor_1_are_refused():
    for side in ("true", "pred", "mask"):
        for value in (2, 3, 128, 255):
            for columns in (1, 7, 8, 9, 63, 64, 65, 100):
                parts = {name: np.zeros((70, columns), np.uint8) for name in ("true", "pred", "mask")}
                parts[side][69, columns - 1] = value
                state, _ = fresh([str(column) for column in range(columns)])
                batch = Dense(np.arange(columns), **parts, refusal=lambda: InputError("neither"))
                with pytest.raises(InputError, match="neither"):
                    state.count(batch)


def test_scores_are_counted_like_the_decisions_at_their_threshold():
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, (50, 9)).astype(np.uint8)
    scores = rng.choice([0.2, 0.5, 0.9], (50, 9)).astype(np.float32)
    bounds = rng.choice([0.5, 0.6], 9).astype(np.float32)
    names = [str(column) for column in range(9)]
    states = []
    for batch in (
        Dense(np.arange(9), true, None, scores, bounds, refusal=lambda: InputError("not finite")),
        Dense(np.arange(9), true, (scores >= bounds).astype(np.uint8)),
    ):
        state, _ = fresh(names)
        state.count(batch)
        states.append(state)
    assert states[0] == states[1]
    scores[3, 3] = np.nan
    with pytest.raises(InputError, match="not finite"):
        fresh(names)[0].count(Dense(np.arange(9), true, None, scores, bounds, refusal=lambda: InputError("not finite")))


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_nothing(weighted: bool):
    rng = np.random.default_rng(1)
    true, pred = (rng.random((1500, 20)) < 0.2 for _ in range(2))
    weights = rng.random(1500) if weighted else None
    names = [str(column) for column in range(20)]
    states = []
    for threads in (1, 3):
        state, _ = fresh(names)
        batch = Dense(np.arange(20), true.astype(np.uint8), pred.astype(np.uint8), weights=weights)
        state.count(batch, threads)
        states.append(state)
    assert states[0] == states[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_bytes_of_pairs_and_sets_do_not_depend_on_the_size_of_blocks(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    rng = random.Random(5)
    for size in (1, 2, 7, 40):
        examples = [
            (set(rng.sample(range(12), rng.randrange(5))), set(rng.sample(range(12), rng.randrange(5))))
            for _ in range(400)  # more label sets than fit in one block
        ]
        weights = [rng.choice([0.25, 1.0, 3.0]) if weighted else 1.0 for _ in examples]
        evaluator = se.Evaluator(keep=["pairs", "labelsets"])
        evaluator.update({0, 1, 2, 3, 11}, {3})  # gives columns in an order other than that of the labels
        evaluator.update_many(*zip(*examples, strict=True), weights=weights)
        evaluator.revert({0, 1, 2, 3, 11}, {3})
        whole, state = evaluator.to_bytes(), evaluator._core.states.states["pairs"]
        tables = [PairTables(state)]
        with monkeypatch.context() as patch:
            patch.setattr("streameval.states.pairs.BLOCK", size)
            assert evaluator.to_bytes() == whole
            tables.append(PairTables(state))
            pairs, sets = ([read(each) for each in tables] for read in (pairs_of, lambda each: each.sets))
        assert pairs[0] == pairs[1] == sorted(pairs[0])
        assert sets[0] == sets[1] == sorted(sets[0])
        assert se.Evaluator.from_bytes(whole) == evaluator
