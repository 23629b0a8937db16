"""The laws of `streameval.states.base` for states of rankings."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import streameval as se
from streameval.errors import RevertError
from streameval.schema.batch import Batch
from streameval.schema.labels import LabelIndex
from streameval.states import ranking_sums
from streameval.states.options import ENDLESS, RankingOptions
from streameval.states.ranking_sums import GAINS, HITS, IDEALS
from streameval.states.rankings import RankingTables, Table
from streameval.wire.rankings import is_possible
from tests.support.effort import cases, crossed
from tests.support.entries import reading
from tests.support.ranking_oracle import Ranked
from tests.support.ranking_streams import AT_K, METRICS, as_lists, as_rows, propensities_of, random_examples
from tests.support.states import Counted, only_rankings

LABELS = ["b", "a", 3, "c", 10]
OPTIONS = [
    RankingOptions(),
    RankingOptions(ties="last"),
    RankingOptions(label_ranks=2, hit_cutoffs=(1, 3), propensities=propensities_of(LABELS), gain_ranks=3),
    RankingOptions(ties="last", label_ranks=3, hit_cutoffs=(2,), propensities=propensities_of(LABELS), gain_ranks=1),
    RankingOptions(label_ranks=ENDLESS),
    RankingOptions(ties="last", label_ranks=ENDLESS),
]


class Stream:
    """Random examples with declared labels, options of the state, and the source of randomness."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.options = rng.choice(OPTIONS)
        self.declared = rng.sample(LABELS, rng.randint(0, len(LABELS)))
        self.weighted = rng.random() < 0.5
        self.examples = random_examples(rng, LABELS, rng.randint(0, 8), weighted=self.weighted)

    def __repr__(self) -> str:
        return f"{self.options} {self.declared} {self.examples}"

    def empty(self) -> Counted:
        return only_rankings(LabelIndex(self.declared), self.options)

    def batch(self, examples: list[Ranked], index: LabelIndex) -> Batch:
        if self.rng.random() < 0.3 and len(index) == len(LABELS):  # because rows mention every column
            return as_rows(examples, self.rng.sample(LABELS, len(LABELS)), index)
        return as_lists(examples, index, self.rng)

    def counted(self, examples: list[Ranked]) -> Counted:
        """A new state of the examples, with labels registered in the order of their first occurrence."""
        state = self.empty()
        state.count(as_lists(examples, state.labels, self.rng))
        return state

    def change(self, state: Counted, examples: list[Ranked], sign: int = 1) -> None:
        for example in examples:
            state.count_one(as_lists([example], state.labels, self.rng), sign)


def streams() -> st.SearchStrategy[Stream]:
    return st.randoms(use_true_random=False).map(Stream)


def readings(state: Counted) -> list:
    """Every value that can be read from a state, exactly."""
    tables, options = RankingTables(state), state.options
    result: list[object] = [state.examples, tables.labels, tables.weight * tables.unit, state.content().labels]
    result += [read(tables, degenerate=how) for read in METRICS.values() for how in ("scikit-learn", "drop")]
    for name, read in AT_K.items():
        if name != "map_at hits":
            result += [read(tables, k=k, unranked=how) for k in (1, 3) for how in ("never", "last")]
    result += [reading("map_at")(tables, k=k, divisor="hits") for k in options.hit_cutoffs]
    result += [reading("label_coverage_at")(tables, k=k) for k in range(1, min(options.label_ranks, 3) + 1)]
    if options.label_precisions:
        result += [reading("lwlrap")(tables, average=average) for average in ("weighted", "macro", None)]
    for k in range(1, options.gain_ranks + 1):
        result += [reading("psp_at")(tables, k=k), reading("psndcg_at")(tables, k=k, norm="min")]
    return result


def alike(one: Counted, other: Counted) -> bool:
    return one == other and readings(one) == readings(other)


@settings(max_examples=cases(60))
@given(streams())
def test_rows_and_lists_of_the_same_examples_give_the_same_state(stream: Stream):
    stream.declared = LABELS
    lists = stream.counted(stream.examples)
    rows = stream.empty()
    order = stream.rng.sample(LABELS, len(LABELS))
    rows.count(as_rows(stream.examples, order, rows.labels))
    assert alike(rows, lists)
    narrow = stream.empty()
    for example in stream.examples:
        example.scores = {label: float(np.float32(score)) for label, score in example.scores.items()}
    narrow.count(as_rows(stream.examples, order, narrow.labels, np.float32))
    assert alike(narrow, stream.counted(stream.examples))


@settings(max_examples=cases(60), suppress_health_check=[HealthCheck.data_too_large])
@given(streams())
def test_few_examples_and_many_are_summed_alike(stream: Stream):
    many = stream.counted(stream.examples * 40)
    assert len(stream.examples) < 7 or many.examples > ranking_sums._FEW
    few = stream.empty()
    for _ in range(40):
        few.merge(stream.counted(stream.examples))
    assert few == many


def test_keys_too_large_for_one_integer_are_summed_as_in_plain_loops(monkeypatch: pytest.MonkeyPatch):
    rng, shape = np.random.default_rng(5), (6, 3000)
    true, scores = rng.random(shape) < 0.2, np.floor(4 * rng.random(shape))  # hundreds of labels tie
    many, looped = (se.Evaluator(["map_at(k=2000, divisor=hits)"]) for _ in range(2))
    for rows in (slice(None), [0, 3, 3]):
        many.update_many(true[rows], scores[rows])
    monkeypatch.setattr(ranking_sums, "_FEW", 10**9)
    for rows in (slice(None), [0, 3, 3]):
        looped.update_many(true[rows], scores[rows])
    assert many == looped


def test_inconsistent_descriptions_of_a_tie_across_a_cutoff_are_not_possible():
    ev = se.Evaluator(["map_at(k=3, divisor=hits)"])
    ev.update({"a", "c"}, {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.5})
    content = ev._core.states.content()["rankings"]
    hits = content.tables[HITS]
    assert hits.keys.tolist() == [[3, 1, 2, 3, 1, 0, 1], [3, 1, 2, 3, 1, 1, 3]]
    for row, part, value in ((0, 1, 0), (0, 2, 3), (0, 6, 2), (1, 2, 1), (1, 3, 4), (1, 5, 2), (1, 6, 2)):
        keys = hits.keys.copy()
        keys[row, part] = value
        tables = (*content.tables[:HITS], hits._replace(keys=keys), *content.tables[HITS + 1 :])
        assert not is_possible(replace(content, tables=tables)), keys
    for part, value in ((2, 0), (3, 0), (4, 0), (4, 4)):
        keys = hits.keys.copy()
        keys[:, part] = value
        tables = (*content.tables[:HITS], hits._replace(keys=keys), *content.tables[HITS + 1 :])
        assert not is_possible(replace(content, tables=tables)), keys
    assert hits.sums.tolist() == [[1, 1, 1], [1, 2, 1]]
    for row, impossible in (
        (0, [1, 2, 1]),
        (0, [1, 1, 2]),
        (1, [1, 1, 2]),
        (1, [1, 5, 1]),
        (1, [1, 4, 4]),
        (1, [2, 2, 1]),
    ):
        sums = hits.sums.copy()
        sums[row] = impossible
        tables = (*content.tables[:HITS], hits._replace(sums=sums), *content.tables[HITS + 1 :])
        assert not is_possible(replace(content, tables=tables)), sums


@pytest.mark.parametrize(("truth", "scores", "wrong"), [
    ("a", {"a": 0.5, "b": 0.5}, {0: ([1, 2, 0, 3], [1, 2, 2])}),  # more tied labels than ranked labels
    ("a", {"a": 0.5, "b": 0.5}, {0: ([1, 2, 0, 0], [1, 1, 1])}),
    ("a", {"a": 0.5, "b": 0.5}, {1: ([0, 1, 0], [1])}),  # best true labels: none, more than tie, among 4
    ("a", {"a": 0.5, "b": 0.5}, {1: ([0, 1, 2], [1])}),
    ("a", {"a": 0.5, "b": 0.5}, {1: ([3, 1, 1], [1])}),
    ("a", {"b": 0.5}, {2: ([1, 1, 2, 0], [1, 0, 0, 0, 0, 0])}),  # more unscored true labels than true labels
    ("abc", {"a": 0.9, "b": 0.5}, {0: ([3, 1, 0, 1], [2, 2, 2]), 2: ([3, 1, 1, 0], [1, 0, 0, 0, 0, 2])}),
    ("a", {"a": 0.9, "b": 0.5}, {2: ([1, 2, 0, 2], [1, 0, 1, 0, 0, 1])}),  # 4 labels
    ("a", {"a": 0.5, "b": 0.5}, {2: ([1, 2, 0, 0], [1, 1, 2, 0, 0, 0])}),  # a wrong pair but no erring example
    ("a", {"a": 0.1, "b": 0.5, "c": 0.5}, {2: ([1, 3, 0, 0], [1, 2, 3, 2, 1, 0])}),  # too many erring examples
    ("a", {"a": 0.9, "b": 0.5}, {2: ([1, 2, 0, 0], [1, 0, 1, 1, 0, 0])}),  # an erring example but no wrong pair
    ("a", {"a": 0.9, "b": 0.5}, {2: ([1, 2, 0, 0], [1, 0, 1, 0, 1, 1])}),  # an example that misses but does not err
    ("ab", {"a": 0.9, "b": 0.8, "c": 0.1}, {2: ([2, 3, 0, 0], [1, 0, 1, 0, 0, 1])}),  # the last true label too high
    ("a", {"a": 0.1, "b": 0.5}, {2: ([1, 2, 0, 0], [1, 1, 1, 1, 1, 1])}),
    ("a", {"a": 0.9, "b": 0.5}, {2: ([1, 2, 0, 0], [1, 0, 3, 0, 0, 1])}),  # the last true label too low
    ("a", {"a": 0.5}, {3: ([[0, 0], [3, 1]], [[1], [1]])}),  # a label, a rank or an example that does not exist
    ("a", {"a": 0.5}, {3: ([[0, 0], [0, 2]], [[1], [1]])}),
    ("a", {"a": 0.5}, {3: ([[0, 0], [0, 1]], [[1], [2]])}),
    ("a", {"a": 0.5}, {5: ([1, 1, 1], [3])}),  # gains at a rank that is not counted, of no label, at no rank
    ("a", {"a": 0.5}, {5: ([1, 0, 0], [3])}),
    ("a", {"a": 0.5}, {6: ([1, 0], [3])}),
    ("a", {"a": 0.5}, {6: ([1, 2], [3])}),
    ("a", {"a": 0.5}, {6: ([[1, 1], [2, 1]], [[3], [4]])}),  # gains of two labels where one is true
    ("a", {"a": 0.5}, {5: ([[1, 0, 1], [2, 0, 1]], [[3], [4]])}),
    ("a", {"a": 0.5}, {4: ([1, 1, 0, 0, 0, 1, 1], [1, 2, 1])}),  # hits below a cutoff, and hits above over 3 labels
    ("a", {"a": 0.5}, {4: ([1, 4, 0, 0, 0, 0, 1], [1, 1, 1])}),
    ("a", {"a": 0.5}, {4: ([2, 1, 0, 0, 0, 0, 1], [1, 1, 1])}),
])  # fmt: skip
def test_ranks_that_no_example_has_are_not_possible(truth: str, scores: dict[str, float], wrong: dict):
    metrics = ["label_coverage_at(k=1)", "psp_at(k=1)", "map_at(k=1, divisor=hits)"]
    ev = se.Evaluator(metrics, labels=["a", "b", "c"], inverse_propensities={"a": 1.5, "b": 2.0, "c": 2.0})
    ev.update(set(truth), scores)
    content = ev._core.states.content()["rankings"]
    assert is_possible(content)
    tables = [*content.tables]
    for at, (keys, sums) in wrong.items():
        tables[at] = tables[at]._replace(keys=np.array(keys, ndmin=2), sums=np.array(sums, ndmin=2))
    assert not is_possible(replace(content, tables=tuple(tables)))


@pytest.mark.parametrize(("metric", "which", "keys", "sums"), [
    ("coverage_error", GAINS, [[1, 0, 1]], [[3]]),  # gains although no metric needs them
    ("coverage_error", IDEALS, [[1, 1]], [[3]]),
    ("lwlrap", 3, [[0, 0], [0, 1], [1, 0], [1, 2]], [[1, 0], [1, 2], [1, 0], [1, 1]]),  # two at the first rank
])  # fmt: skip
def test_sums_that_no_example_has_are_not_possible(metric: str, which: int, keys: list, sums: list):
    ev = se.Evaluator([metric], labels=["a", "b"])
    ev.update({"a", "b"}, {"a": 0.9, "b": 0.8})
    content = ev._core.states.content()["rankings"]
    tables = [*content.tables]
    tables[which] = tables[which]._replace(keys=np.array(keys), sums=np.array(sums))
    assert not is_possible(replace(content, tables=tuple(tables)))


def test_shared_ranks_are_not_possible_if_the_last_of_tied_labels_ranks_first():
    ev = se.Evaluator(["coverage_error"])
    ev.update({"a"}, {"a": 0.5, "b": 0.5})
    content = ev._core.states.content()["rankings"]
    assert not is_possible(replace(content, options=replace(content.options, ties="last")))


@pytest.mark.parametrize("form", ["smaller units of weights", "smaller units of gains", "a row of nothing"])
def test_noncanonical_content_is_not_possible(form: str):
    ev = se.Evaluator(["psp_at(k=2)", "label_coverage_at(k=2)"], inverse_propensities={"a": 1.5, "b": 2.0})
    ev.update({"a"}, {"a": 0.9, "b": 0.5}, weight=0.5)
    content = ev._core.states.content()["rankings"]
    assert is_possible(content)
    tables, parts = [*content.tables], {}
    if form == "smaller units of weights":
        parts = {"scale": content.scale + 1}
        double = [[[2 * value for value in row] for row in table.weights()] for table in tables]
        tables = [table._replace(weights=rows.copy) for table, rows in zip(tables, double, strict=True)]
    elif form == "smaller units of gains":
        parts = {"gain_scale": content.gain_scale + 1}
        tables[GAINS:] = [table._replace(sums=2 * table.sums) for table in tables[GAINS:]]
    else:
        keys, sums, weights = tables[1]
        rows = [*weights(), [0]]
        tables[1] = Table(np.vstack([keys, [[0, 2, 1]]]), np.vstack([sums, [[0]]]), rows.copy)
    assert not is_possible(replace(content, **parts, tables=tuple(tables)))


@settings(max_examples=cases(60))
@given(streams())
def test_content_of_a_state_is_possible_and_wrong_changes_of_it_are_not(stream: Stream):
    content = stream.counted(stream.examples).content()
    assert is_possible(content)
    by_label = ((3, 0), (3, 1)) if content.options.label_precisions else ()
    for which, part in ((0, 0), (0, 1), (1, 0), (2, 0), (2, 1), *by_label):
        table = content.tables[which]
        retained = list(table.weights())
        for row in range(len(table.keys)):
            for sums, weights in ((1, 0), (0, 1)) if retained and which < 2 else ((1, 0),):
                changed = table.sums.copy()
                changed[row, part] += sums
                weighed = [list(values) for values in retained]
                if weights:
                    weighed[row][part] += 1
                wrong_table = Table(table.keys, changed, weighed.copy)
                tables = [*content.tables[:which], wrong_table, *content.tables[which + 1 :]]
                assert not is_possible(replace(content, tables=tuple(tables)))
        for row in range(len(table.keys) - 1):
            order = np.arange(len(table.keys))
            order[[row, row + 1]] = row + 1, row
            weighed = [retained[place] for place in order if retained]
            swapped = Table(table.keys[order], table.sums[order], weighed.copy)
            tables = [*content.tables[:which], swapped, *content.tables[which + 1 :]]
            assert not is_possible(replace(content, tables=tuple(tables)))
    wrong = [{"examples": content.examples + 1}]
    if content.mentions.any():
        wrong.append({"mentions": content.mentions * (content.examples + 1)})
    if content.labels:
        wrong.append({"mentions": 1 - np.minimum(content.mentions, 1)})
    if content.options.label_ranks and content.tables[3].keys.size:
        wrong.append({"options": replace(content.options, label_ranks=0)})
    for parts in wrong:
        assert not is_possible(replace(content, **parts)), parts


@settings(max_examples=cases(60))
@given(streams())
def test_reverting_an_uncounted_example_is_refused_and_changes_nothing(stream: Stream):
    state = stream.counted(stream.examples)
    before = state.copy()
    strangers = random_examples(stream.rng, [*LABELS, "new"], 5, weighted=True)
    strangers.append(Ranked(set(), {"new": 1.0}))
    for example in strangers:
        if "new" not in {*example.true, *example.scores, *example.hidden}:
            continue
        if stream.options.gain_ranks and "new" in example.true - example.hidden:
            continue  # the label has no propensity
        with pytest.raises(RevertError):
            stream.change(state, [example], -1)
        assert state == before
    for example in stream.examples[:1]:  # counted before, but fewer times or with less weight
        again = [example] * (1 + stream.examples.count(example))
        heavier = [Ranked(example.true, example.scores, example.hidden, 1 + 2 * sum(e.weight for e in stream.examples))]
        for wrong in (again, heavier) if len(stream.examples) == 1 else (heavier,):
            with pytest.raises(RevertError):
                state.unmerge(stream.counted(wrong))
            assert state == before


def test_a_revert_that_removes_a_label_of_another_example_is_refused():
    one = [Ranked({"a"}, {"a": 2.0, "b": 1.0}), Ranked(set(), {}), Ranked(set(), {"a": 1.0})]
    stream = Stream(random.Random(0))
    stream.options, stream.declared = RankingOptions(), []
    state, never = stream.counted(one), [Ranked(set(), {"b": 5.0})]
    before = state.copy()
    for take in (lambda: stream.change(state, never, -1), lambda: state.unmerge(stream.counted(never))):
        with pytest.raises(RevertError):  # counts suffice, but the other example would have more labels than exist
            take()
        assert state == before
    stream.change(state, one[1:], -1)
    assert state == stream.counted(one[:1])


def test_weights_of_one_give_the_same_state_as_no_weights():
    rng = random.Random(5)
    examples = random_examples(rng, LABELS, 6)
    for options in OPTIONS:
        plain, heavy = only_rankings(LabelIndex(LABELS), options), only_rankings(LabelIndex(LABELS), options)
        batch = as_rows(examples, LABELS, plain.labels)
        plain.count(batch)
        heavy.count(replace(batch, weights=np.ones(6)))
        assert alike(plain, heavy)
        light = as_rows([Ranked(e.true, e.scores, e.hidden, 2.0**60) for e in examples[:2]], LABELS, plain.labels)
        heavy.count_one(light, 1)
        assert heavy != plain
        heavy.count_one(light, -1)
        assert alike(plain, heavy)


@pytest.mark.parametrize(("options", "threads"), crossed(OPTIONS, [2, 5]))
def test_threads_change_no_bit(options: RankingOptions, threads: int):
    rng = random.Random(threads)
    examples = random_examples(rng, LABELS, 1300, weighted=True)
    for index in (LabelIndex(LABELS), LabelIndex()):
        for make in (
            lambda index=index: as_rows(examples, LABELS, index),
            lambda index=index: as_lists(examples, index, rng),
        ):
            batch, one, several = make(), only_rankings(index, options), only_rankings(index, options)
            one.count(batch)
            several.count(batch, threads)
            assert one == several
