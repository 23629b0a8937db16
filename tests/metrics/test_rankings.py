"""Ranking metrics against plain loops over their definitions, and against scikit-learn."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics as sk

from streameval.errors import FormatError, InputError, LabelError, MetricError
from streameval.evaluation.encoding import decode, encode
from streameval.evaluation.evaluator import Evaluator
from streameval.metrics import logarithms
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.rankings_at import jain_propensities
from streameval.metrics.spec import as_float
from streameval.schema.batch import Dense
from streameval.schema.labels import LabelIndex
from streameval.states.options import RankingOptions
from streameval.states.rankings import RankingTables
from tests.support.effort import cases
from tests.support.entries import reading
from tests.support.ranking_cases import CASES, RankingCase
from tests.support.ranking_oracle import DIGITS, Ranked, discount
from tests.support.ranking_streams import (
    AT_K,
    METRICS,
    as_lists,
    as_rows,
    state_of,
)
from tests.support.states import only_rankings

LABELS = ["b", "a", 3, "c", "aa", 10]


# -- scikit-learn ------------------------------------------------------------------------------------------------------


def compared(
    true: np.ndarray, scores: np.ndarray, weights: np.ndarray | None, k: int
) -> list[tuple[str, float, float]]:
    index = LabelIndex(range(true.shape[1]))
    state = only_rankings(index)
    state.count(Dense(np.arange(true.shape[1]), true, scores=scores, weights=weights))
    tables = RankingTables(state)
    read = [
        ("lrap", reading("label_ranking_average_precision")(tables), sk.label_ranking_average_precision_score, {}),
        ("coverage", reading("coverage_error")(tables), sk.coverage_error, {}),
        ("loss", reading("ranking_loss")(tables), sk.label_ranking_loss, {}),
        ("ndcg", reading("ndcg")(tables), sk.ndcg_score, {}),
        ("ndcg k", reading("ndcg")(tables, k=k), sk.ndcg_score, {"k": k}),
        ("dcg", reading("dcg")(tables), sk.dcg_score, {}),
        ("dcg k", reading("dcg")(tables, k=k, log_base=3.5), sk.dcg_score, {"k": k, "log_base": 3.5}),
    ]
    if true.shape[1] == 1:  # of a single label scikit-learn computes only this metric
        read = read[:1]
    wide = scores.astype(np.float64)  # newer versions of scipy rank scores of float32 in float32
    return [
        (name, as_float(got), theirs(true, wide, sample_weight=weights, **rest)) for name, got, theirs, rest in read
    ]


def test_a_weighted_batch_that_is_read_in_parts_counts_as_many_small_batches_do():
    rng = np.random.default_rng(1)
    true, scores = rng.random((70_000, 3)) < 0.3, rng.integers(0, 9, (70_000, 3)) / 8
    weights = rng.integers(1, 4, 70_000) / 2
    one, many = (Evaluator(["lrap"], labels=range(3)) for _ in range(2))
    one.update_many(true, scores, weights=weights)
    for part in np.array_split(np.arange(70_000), 30):
        many.update_many(true[part], scores[part], weights=weights[part])
    assert one == many


def test_lwlrap_weighs_the_rows_of_scikit_learn_by_their_true_labels():
    """The DCASE challenge computes its overall value in this way: rows without a true label weigh nothing."""
    rng = np.random.default_rng(5)
    true = (rng.random((300, 20)) < 0.15).astype(np.uint8)
    scores = rng.random((300, 20)).round(2)
    ev = Evaluator(["lwlrap"])
    ev.update_many(true, scores)
    theirs = sk.label_ranking_average_precision_score(true, scores, sample_weight=true.sum(axis=1))
    assert ev.get("lwlrap") == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(cases(20)))
def test_values_are_those_of_scikit_learn(seed: int, kind: type):
    rng = np.random.default_rng(seed)
    for _ in range(cases(60)):
        rows, width = int(rng.integers(1, 12)), int(rng.integers(1, 12))
        true = (rng.random((rows, width)) < rng.choice([0.0, 0.1, 0.5, 0.9, 1.0])).astype(np.uint8)
        scores = (rng.integers(0, int(rng.choice([1, 2, 4, 1000])), (rows, width)) / 3).astype(kind)
        weights = None if rng.random() < 0.5 else rng.random(rows) * 10.0 ** rng.integers(-5, 5)
        for name, got, expected in compared(true, scores, weights, int(rng.integers(1, width + 3))):
            assert got == pytest.approx(expected, rel=1e-12, abs=0), (name, true.tolist(), scores.tolist())


@pytest.mark.parametrize(("rows", "width", "share"), [(60, 300, 0.7), (20, 900, 0.5), (300, 64, 0.05), (4, 2000, 0.2)])
def test_values_of_wide_rows_are_those_of_scikit_learn(rows: int, width: int, share: float):
    rng = np.random.default_rng(width)
    true = (rng.random((rows, width)) < share).astype(np.uint8)
    for scores in (rng.random((rows, width)).astype(np.float32), rng.integers(0, 40, (rows, width)) / 7):
        for name, got, expected in compared(true, scores, None, 10):
            assert got == pytest.approx(expected, rel=1e-12, abs=0), name


def test_a_state_without_ties_reads_as_scikit_learn_ignoring_them():
    rng = np.random.default_rng(1)
    true, scores = (rng.random((30, 9)) < 0.4).astype(np.uint8), rng.permuted(np.tile(np.arange(9.0), (30, 1)), axis=1)
    state = only_rankings(LabelIndex(range(9)), RankingOptions(ties="last"))
    state.count(Dense(np.arange(9), true, scores=scores))
    for k in (None, 1, 4):
        expected = sk.ndcg_score(true, scores, k=k, ignore_ties=True)
        assert as_float(reading("ndcg")(RankingTables(state), k=k)) == pytest.approx(expected, rel=1e-12)


# -- discounts and propensities ----------------------------------------------------------------------------------------


def test_discounts_are_exact_to_150_bits():
    total = Fraction(0)
    for rank in range(1, 3000):
        total += discount(rank)
        if rank < 50 or rank % 97 == 0:
            result = Fraction(logarithms.discounts(rank)[rank], 1 << logarithms.BITS)
            assert abs(result - total) < Fraction(1, 2**150)
    sums = Fraction(logarithms.reciprocals(2, 9), 1 << logarithms.BITS)
    assert sums == pytest.approx(sum(1 / n for n in range(3, 10)))
    assert logarithms.log2(8.0) == pytest.approx(3)


@pytest.mark.parametrize("heavy", [False, True])
def test_sums_of_discounts_are_those_of_a_plain_loop(heavy: bool):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 50, 400)
    stop, keys = first + rng.integers(0, 30, 400), (rng.integers(0, 5, 400), rng.integers(1, 4, 400))
    times = rng.integers(0, 2**40 if heavy else 9, 400)
    table, expected = logarithms.discounts(100), {}
    for a, b, n, *pair in zip(
        first.tolist(), stop.tolist(), times.tolist(), *(key.tolist() for key in keys), strict=True
    ):
        expected[tuple(pair)] = expected.get(tuple(pair), 0) + n * (table[b] - table[a])
    for counts in (times, times.astype(object)):
        result = logarithms.sums_of_discounts(first, stop, counts, keys)
        assert {pair[:2]: pair[2] for pair in result} == expected
    nothing = np.zeros(0, np.int64)
    assert logarithms.sums_of_discounts(nothing, nothing, nothing, (nothing, nothing)) == []


def test_propensities_of_jain_are_correctly_rounded():
    counts = {"never": 0, "once": 1, "often": 5000, 7: 1}
    result = jain_propensities(counts, 10_000, a=0.6, b=2.6)
    exponent, shift = (Decimal(value) for value in (0.6, 2.6))
    scale = (DIGITS.ln(Decimal(10_000)) - 1) * DIGITS.power(1 + shift, exponent)
    for label, count in counts.items():
        expected = float(1 + scale * DIGITS.power(count + shift, -exponent))
        assert result[label] == expected == pytest.approx(1 + (math.log(10_000) - 1) * 3.6**0.6 * (count + 2.6) ** -0.6)
    assert set(jain_propensities({"a": 1}, 1).values()) == {1.0}
    with localcontext(prec=3):
        assert jain_propensities(counts, 10_000, a=0.6, b=2.6) == result
    assert jain_propensities({"a": 1, "b": 5}, 10_000, a=1e300) == {"a": math.log(10_000), "b": 1.0}
    for wrong in ({"a": math.nan}, {"b": -1.0}, {"b": math.inf}, {"a": "1"}):
        with pytest.raises(InputError, match="must be finite"):
            jain_propensities(counts, 10_000, **wrong)
    for labels, choice in (
        (counts, {"b": 0.0}), ({"a": -1}, {}), ({"a": "3"}, {}), ({"a": 10**5000}, {}), (counts, {"a": 1e300})
    ):  # fmt: skip
        with pytest.raises(InputError, match="no propensity"):
            jain_propensities(labels, 10_000, **choice)
    with pytest.raises(InputError, match="counts must be a mapping"):
        jain_propensities([3], 10_000)


# -- empty states, masked examples and refusals ------------------------------------------------------------------------


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
def test_a_fresh_state_answers_every_metric(zero_division: float):
    options = RankingOptions(hit_cutoffs=(3,), label_ranks=3, propensities=(("a", 2.0),), gain_ranks=3)
    for declared in ((), ("a", "b")):
        tables = RankingTables(only_rankings(LabelIndex(declared), options))
        result = [read(tables, zero_division=zero_division) for read in METRICS.values()]
        result += [read(tables, k=3, unranked="never", zero_division=zero_division) for read in AT_K.values()]
        for read in (reading("psp_at"), reading("psndcg_at"), reading("label_coverage_at")):
            result.append(read(tables, k=3, zero_division=zero_division))
        expected = None if math.isnan(zero_division) else zero_division
        assert result == [expected] * len(result)


def test_an_example_whose_labels_are_all_masked_changes_no_value():
    labels = ["a", "b"]
    known = [Ranked({"a"}, {"a": 1.0, "b": 2.0})]
    index = LabelIndex(labels)
    state = only_rankings(index)
    state.count(as_rows([*known, Ranked({"a"}, {"b": 1.0}, {"a", "b"})], labels, index))
    tables, single = RankingTables(state), RankingTables(state_of(known, declared=labels))
    assert tables.examples == 2
    for read in METRICS.values():
        assert read(tables) == read(single)
    for read in list(AT_K.values())[:10]:
        assert read(tables, k=1, unranked="last") == read(single, k=1, unranked="last")


def test_parameters_that_are_invalid_or_were_not_counted_for_are_refused():
    tables = RankingTables(only_rankings(LabelIndex("ab"), RankingOptions(hit_cutoffs=(2,), label_ranks=2)))
    for k in (0, -1, 1.5, True, "2"):
        for read in (reading("precision_at"), reading("ndcg"), reading("psp_at"), reading("label_coverage_at")):
            with pytest.raises(MetricError, match=r"k of \w+ must be"):
                read(tables, k=k)
    for name, most in (("precision_at", 10**9), ("ndcg", 10**9), ("psndcg_at", 10**6)):
        assert parse_spec(f"{name}(k={most})").parameter("k") == most
        with pytest.raises(MetricError, match=rf"k of {name} must be an integer in \[1, 1e"):
            parse_spec(f"{name}(k={most + 1})")
    for call, message in (
        (lambda: reading("map_at")(tables, k=3, divisor="hits"), "is counted for"),
        (lambda: reading("map_at")(tables, divisor="hits"), "is counted for"),
        (lambda: Evaluator(["map_at(k=2, divisor=hits, unranked=last)"]), "needs unranked"),
        (lambda: Evaluator(["map_at(divisor=hits)"]), "requires k, since its hits are those among the first k"),
        (lambda: reading("map_at")(tables, k=2, divisor="k"), r"divisor of \w+ must be"),
        (lambda: Evaluator(["precision_at(k=2, divisor=ranked, unranked=last)"]), "needs unranked"),
        (lambda: Evaluator(["mrr"]).get("f1_at(k=2, divisor=ranked, unranked=last)"), "needs unranked"),
        (lambda: reading("precision_at")(tables, k=2, unranked="first"), r"unranked of \w+ must be"),
        (lambda: reading("ndcg")(tables, degenerate="nan"), r"degenerate of \w+ must be"),
        (lambda: reading("ranking_loss")(tables, degenerate="nan"), r"degenerate of \w+ must be"),
        (lambda: reading("label_ranking_average_precision")(tables, degenerate="nan"), r"degenerate of \w+ must be"),
        (lambda: reading("abandonment_at")(tables, k=1, degenerate="nan"), r"degenerate of \w+ must be"),
        (lambda: reading("psp_at")(tables, k=1), "gains are counted up to rank 0, and k is 1"),
        (lambda: reading("psndcg_at")(tables, k=1), "gains are counted up to rank 0, and k is 1"),
        (lambda: reading("label_coverage_at")(tables, k=3), "counted up to rank 2, and k is 3; name"),
        (lambda: reading("label_coverage_at")(tables, k=1, of="some"), r"of of \w+ must be"),
        (lambda: reading("dcg")(tables, log_base=0.0), "log_base"),
    ):  # fmt: skip
        with pytest.raises(MetricError, match=message):
            call()


@pytest.mark.parametrize(
    "wrong",
    [
        {"label_ranks": 1}, {"hit_cutoffs": (0,)}, {"gain_ranks": 2}, {"propensities": (("a", 1.0),)},
        {"propensities": (("a", 1.0),), "gain_ranks": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_options_that_no_metrics_require_are_refused_in_bytes(wrong: dict):
    saved = decode(Evaluator(["ndcg"]).to_bytes(), "Evaluator")
    changed = replace(saved, config=replace(saved.config, options=(RankingOptions(**wrong),)))
    with pytest.raises(FormatError):
        Evaluator.from_bytes(b"".join(encode(changed)))


def test_a_true_label_without_propensity_is_refused_by_name():
    state = only_rankings(LabelIndex("ab"), RankingOptions(propensities=(("a", 2.0),), gain_ranks=1))
    batch = as_lists([Ranked({"a", "b"}, {"a": 1.0, "b": 2.0})], state.labels, random.Random(0))
    with pytest.raises(LabelError, match="'b' has no propensity"):
        state.count_one(batch, 1)
    assert state == only_rankings(LabelIndex("ab"), state.options)


# -- published ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_published_ranking_value_is_reproduced(case: RankingCase):
    if case.ranked:
        examples = [
            Ranked(set(true), {label: -float(place) for place, label in enumerate(pred)})
            for true, pred in zip(case.true, case.pred, strict=True)
        ]
        state = state_of(examples, options=case.options)
    else:
        width = len(case.true[0])
        state = only_rankings(LabelIndex(range(width)), case.options)
        true, scores = np.array(case.true, np.uint8), np.array(case.pred, np.float64)
        state.count(Dense(np.arange(width), true, scores=scores))
    got = as_float(case.ours(RankingTables(state), **case.choices))
    assert abs(got - case.expected) <= case.atol, (case.source, case.theirs, got)


def test_every_ranking_case_has_its_own_name_and_says_where_it_is_published():
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.source and case.theirs for case in CASES)


def test_lrap_of_best_ranks_may_exceed_1_and_reads_examples_without_true_labels_as_asked():
    rows = [Ranked({"a", "b"}, {"a": 1.0, "b": 1.0, "c": 0.0}), Ranked(set(), {"a": 1.0})]
    tables = RankingTables(state_of(rows))
    read = reading("label_ranking_average_precision")
    expected = {"scikit-learn": Fraction(3, 2), "one": Fraction(3, 2), "zero": Fraction(1), "drop": Fraction(2)}
    assert {choice: read(tables, tied="best", degenerate=choice) for choice in expected} == expected
    with pytest.raises(MetricError, match="tied of label_ranking_average_precision must be"):
        read(tables, tied="mean")
