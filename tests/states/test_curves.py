"""The state of binned scores: its laws, areas with bounds, curves and calibration."""

from __future__ import annotations

import itertools
import math
import operator
import warnings
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import metrics as sk

import streameval as se
from streameval.errors import CounterOverflowError, MetricError, RevertError
from streameval.kernel.types import DONE, FULL, REFUSED
from streameval.metrics import areas, calibration, curves
from streameval.schema.batch import Batch, Dense, Ragged
from streameval.schema.labels import LabelIndex
from streameval.states.curves import Curves, CurveTables
from tests.support import curve_oracle as oracle
from tests.support.curve_oracle import counted, lists_of, nasty_scores, rows_of, state_of
from tests.support.each import with_each
from tests.support.effort import cases
from tests.support.entries import reading
from tests.support.states import Counted, only_curves

CASES = cases(2000)
EXACT_KINDS = {"tenths", "all equal", "float16", "bfloat16"}
CHECK = settings(max_examples=cases(60))


def test_equal_numbers_of_any_width_share_a_bin():
    singles = np.random.default_rng(3).integers(0, 2**32, 50000, dtype=np.uint32).view(np.float32)
    singles = singles[np.isfinite(singles)].reshape(-1, 1)
    labels = LabelIndex(["a"])
    states = [only_curves(labels), only_curves(labels)]
    for state, kind in zip(states, (np.float32, np.float64), strict=True):
        state.count(rows_of(np.ones_like(singles, np.uint8), singles.astype(kind)))
    assert states[0] == states[1]


# -- laws -------------------------------------------------------------------------------------------------------------

SCORES = st.sampled_from([0.0, -0.0, 0.1, 0.5, 1.0, 0.9999999, 1e-5, 1.00000000001e-5, 0.25, 0.25000001, -3.0, 7.5])


@st.composite
def examples(draw: st.DrawFn, width: int, *, weighted: bool) -> Batch:
    """A batch of one random example over some columns, as a row or as lists."""
    columns = draw(st.lists(st.integers(0, width - 1), unique=True, max_size=width))
    shape = (1, len(columns))
    flags = st.lists(st.integers(0, 1), min_size=len(columns), max_size=len(columns))
    scores = draw(st.lists(SCORES | st.floats(-2, 2), min_size=len(columns), max_size=len(columns)))
    ranked, hidden = (np.array(draw(flags), np.uint8).reshape(shape) if draw(st.booleans()) else None for _ in range(2))
    weights = st.sampled_from([0.0, 1.0, 0.5, 3.0, 0.1, 1e-300, 1e300]) if weighted else st.just(1.0)
    batch = rows_of(
        np.array(draw(flags), np.uint8).reshape(shape),
        np.array(scores, draw(st.sampled_from([np.float32, np.float64]))).reshape(shape),
        columns=np.array(columns, np.int64), ranked=ranked, hidden=hidden, weights=np.array([draw(weights)]),
    )  # fmt: skip
    return lists_of(batch) if draw(st.booleans()) else batch


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, bool, list[Batch]]:
    """The number of columns, whether they are declared, and examples."""
    width, weighted = draw(st.integers(1, 4)), draw(st.booleans())
    return width, draw(st.booleans()), draw(st.lists(examples(width, weighted=weighted), max_size=10))


def fresh(width: int, fixed: bool) -> Counted:
    return state_of(width=width, fixed=fixed)


def fed(width: int, fixed: bool, batches: list[Batch]) -> Counted:
    state = fresh(width, fixed)
    for batch in batches:
        state.count_one(batch, 1)
    return state


def same(a: Counted, b: Counted) -> bool:
    """Whether two states have equal contents and give equal results."""
    answers = [
        [reading("roc_auc")(tables, average=average) for average in ("micro", "macro", "weighted")]
        + [reading("average_precision")(tables, average="macro")]
        for tables in (CurveTables(a), CurveTables(b))
    ]
    return a == b and repr(answers[0]) == repr(answers[1])


@CHECK
@given(streams(), st.data())
def test_any_order_batching_and_sharding_gives_the_same_state(stream: tuple, data: st.DataObject):
    width, fixed, batches = stream
    whole = fed(width, fixed, batches)
    shuffled = data.draw(st.permutations(batches))
    merged = fresh(width, fixed)
    while shuffled:
        size = data.draw(st.integers(1, len(shuffled)))
        shard = fed(width, fixed, shuffled[:size])
        shuffled = shuffled[size:]
        if data.draw(st.booleans()):
            shard.merge(merged)
            merged = shard
        else:
            merged.merge(shard)
    assert same(merged, whole)


@CHECK
@given(streams(), st.data())
def test_reverting_in_any_order_undoes_updating(stream: tuple, data: st.DataObject):
    width, fixed, batches = stream
    retained = data.draw(st.integers(0, len(batches)))
    state = fed(width, fixed, batches)
    for batch in data.draw(st.permutations(batches[retained:])):
        state.count_one(batch, -1)
        if data.draw(st.booleans()):
            state.compact()
    assert same(state, fed(width, fixed, batches[:retained]))


@CHECK
@given(streams(), st.data())
def test_a_wrong_revert_changes_nothing_and_leaves_a_possible_state(stream: tuple, data: st.DataObject):
    width, fixed, batches = stream
    state = fed(width, fixed, batches)
    wrong = data.draw(examples(width, weighted=True))
    before = state.copy()
    try:
        state.count_one(wrong, -1)
    except RevertError:
        assert state == before
        return
    tables = CurveTables(state)
    for average in ("micro", "macro"):
        for result in (
            reading("roc_auc")(tables, average=average),
            reading("average_precision")(tables, average=average),
        ):
            assert math.isnan(result.value) or -1e-12 <= result.low <= result.value <= result.high <= 1 + 1e-12
    state.count_one(wrong, 1)
    assert state == before


@CHECK
@given(streams())
def test_content_copies_and_states_of_other_columns_are_the_same_state(stream: tuple):
    width, fixed, batches = stream
    state = fed(width, fixed, batches)
    before = state.copy()
    once, again = state.restored(), state.restored()
    assert once == before
    again.merge(state)
    state.merge(state)
    assert same(again, state)
    assert before != state or not batches
    twin = state.copy()
    assert twin == state
    for batch in batches:
        twin.count_one(batch, -1)
    assert same(twin, once)


@CHECK
@given(streams())
def test_merging_translates_columns_by_label(stream: tuple):
    width, _, batches = stream
    state = fed(width, False, batches)
    reverse = LabelIndex()
    for label in reversed(range(width)):
        reverse.add(label)
    other = only_curves(reverse)
    other.merge(state)
    assert same(other, state)


def test_merges_read_bins_only_before_they_reserve_space_for_new_scores(monkeypatch: pytest.MonkeyPatch):
    # Otherwise the commit would allocate memory again, and a process that runs out of memory there is aborted.
    steps: list[str] = []

    def noted(name: str, method: Any) -> Any:
        def step(*args: Any, **options: Any) -> Any:
            steps.append("comes" if name == "_prepare_counts" and args[-1] > 0 else "looks")
            return method(*args, **options)

        return step

    def merging(method: Any) -> Any:
        def merges(*args: Any, **options: Any) -> Any:
            steps.clear()
            parts = method(*args, **options)
            assert "looks" not in steps[steps.index("comes") :]
            return parts

        return merges

    def examples(size: int) -> tuple[list[set[int]], list[dict[int, float]]]:
        return [{row % 3} for row in range(size)], [{0: row / size, 1: row / 7} for row in range(size)]

    def windows(weight: float) -> list[Any]:
        made = [
            se.TimeRolling(se.Evaluator([], keep=["curves"]), 20),
            se.Rolling(se.Evaluator([], keep=["curves"]), 20),
        ]
        made[0].update_many(*examples(20), times=range(20), weights=np.full(20, weight))
        made[1].update_many(*examples(20), weights=np.full(20, weight))
        return made

    for name in ("_prepare_counts", "_weights_at", "_unit_sums"):
        monkeypatch.setattr(Curves, name, noted(name, getattr(Curves, name)))
    monkeypatch.setattr(Curves, "prepare_merges", merging(Curves.prepare_merges))
    for before, after in itertools.product([1.0, 2.0], repeat=2):
        by_time, last = windows(before)
        later = se.TimeRolling(se.Evaluator([], keep=["curves"]), 20)
        later.update_many(*examples(10), times=range(25, 35), weights=np.full(10, after))
        by_time.merge(later)
        last.update_many(*examples(15), weights=np.full(15, after))
        assert (by_time.examples, last.examples) == (15, 20)
        whole, part = se.Evaluator([], keep=["curves"]), se.Evaluator([], keep=["curves"])
        whole.update_many(*examples(9), weights=np.full(9, before))
        part.update_many(*examples(5), weights=np.full(5, after))
        whole.merge(part)
        assert "comes" in steps


def test_weights_of_one_are_the_same_state_as_no_weights():
    rng = np.random.default_rng(2)
    true, scores = rng.random((50, 3)) < 0.4, rng.random((50, 3))
    plain = state_of(rows_of(true, scores), width=3)
    ones = state_of(rows_of(true, scores, weights=np.ones(50)), width=3)
    passed = state_of(rows_of(true, scores), width=3)
    odd = rows_of(true[:1], scores[:1], weights=np.array([0.3]))
    passed.count_one(odd, 1)
    assert passed != plain
    passed.count_one(odd, -1)
    assert plain == ones == passed


def test_labels_that_nothing_mentions_are_not_part_of_the_state():
    labels = LabelIndex(["a"])
    state = only_curves(labels)
    labels.add("b")
    labels.add("c")
    state.count_one(rows_of(np.ones((1, 1)), np.ones((1, 1)), columns=np.array([1])), 1)
    assert state.content().labels == ("a", "b")


def test_labels_in_more_than_one_block_are_each_read_once():
    ev, good = se.Evaluator(["roc_auc_macro"]), np.arange(5000) % 3 == 0
    ev.update_many(
        np.array([good >= 0, good < 0, good < 0]), np.array([0.5 + 0 * good, np.where(good, 0.25, 0.75), 0.5 * good])
    )
    values = np.where(good, 0.75, 0.5)
    assert [*ev.get("roc_auc_per_label").values()] == values.tolist()
    assert ev.get("roc_auc_macro") == values.mean()


def test_a_full_state_refuses_an_example_without_a_change():
    state = state_of(rows_of(np.ones((1, 1)), np.ones((1, 1))), width=1)
    for _ in range(42):
        state.merge(state)
    before = state.copy()
    with pytest.raises(CounterOverflowError, match="more than 8796093022207 scores of one label in one bin"):
        state.merge(state)
    assert state == before


def test_a_new_label_counts_as_an_unscored_negative_of_earlier_examples():
    labels = LabelIndex()
    for label in ("a", "b"):
        labels.add(label)
    state = only_curves(labels)
    state.count(rows_of(np.array([[1], [0], [0]]), np.array([[0.9], [0.5], [0.1]])))
    state.count(rows_of(np.array([[1]]), np.array([[0.2]]), columns=np.array([1])))
    result = reading("roc_auc")(CurveTables(state), average=None)
    assert result["b"].value == 1.0
    assert result["a"].value == 1.0
    assert reading("average_precision")(CurveTables(state), average=None)["b"].value == 1.0


def test_masked_cells_are_not_counted_and_labels_without_a_score_rank_last():
    scores = np.array([[0.9, np.nan], [0.2, 0.4], [0.8, 0.4]])
    true = np.array([[1, 1], [1, 0], [0, 1]])
    hidden = np.array([[1, 0], [0, 0], [0, 0]])
    ranked = np.array([[1, 0], [1, 1], [1, 1]])
    tables = counted(rows_of(true, scores, hidden=hidden, ranked=ranked), width=2)
    assert reading("roc_auc")(tables, average=None)[0].value == 0.0
    assert reading("roc_auc")(tables, average=None)[1].value == 0.25
    assert curves.roc_curve(tables, 1).thresholds.tolist() == [np.inf, 0.4, -np.inf]


def test_a_revert_that_leaves_a_label_heavier_than_all_examples_is_refused():
    scores = {"a": 0.1, "b": 0.2}
    whole, part = (se.RocAuc(labels=["a", "b"]) for _ in range(2))
    for score, weight in ((scores, 1), (scores, 4), ({"a": 0.1}, 1), ({}, 0)):
        whole.update(set(), score, weight=weight)
    for score, weight in ((scores, 1), ({"b": 0.2}, 4)):
        part.update(set(), score, weight=weight)
    before = whole.to_bytes()
    with pytest.raises(RevertError):
        whole.unmerge(part)
    assert whole.to_bytes() == before


@pytest.mark.parametrize("setup", [{"keep": ["curves"]}, {"keep": ["rankings"], "threshold": 0.0}], ids=str)
def test_such_a_revert_is_refused_after_weights_were_dropped_in_between(setup: dict[str, Any]):
    first, second, both = {"a": 0.1}, {"b": 0.2}, {"a": 0.1, "b": 0.2}
    ev = se.Evaluator([], labels=["a", "b"], **setup)
    for scores in (first, second):
        ev.update_many([set()] * 200, [scores] * 200)
    for _ in range(2):
        ev.update({"a"}, {"a": 0.2, "b": 0.1})
    if "threshold" in setup:
        with pytest.raises(RevertError):  # the decisions accept the revert, but the rankings refuse it
            ev.revert({"a"}, both, weight=0.5)
    else:
        for change, scores, weight in ((ev.update, first, 2.5), (ev.revert, second, 1), (ev.revert, first, 2.5)):
            change(set(), scores, weight=weight)
    for _ in range(2):
        ev.revert({"a"}, {"a": 0.2, "b": 0.1})
    while ev.examples > 200:
        ev.revert(set(), second)
    assert not any(state.weights.present for state in ev._core.states.states.values())
    ev.update(set(), both, weight=4.5)
    ev.update(set(), {}, weight=0)
    before = ev.to_bytes()
    with pytest.raises(RevertError):
        ev.revert(set(), second, weight=4.5)
    assert ev.to_bytes() == before


# -- areas ------------------------------------------------------------------------------------------------------------


def random_case(seed: int) -> tuple[str, np.ndarray, np.ndarray, np.ndarray | None]:
    rng = np.random.default_rng([11, seed])
    shape = (int(rng.integers(2, 120)), int(rng.integers(1, 4)))
    kind, scores = nasty_scores(rng, shape)
    true = (rng.random(shape) < rng.choice([0.03, 0.3, 0.5, 0.9])).astype(np.uint8)
    if rng.random() < 0.3:  # one positive per label
        true = np.zeros(shape, np.uint8)
        true[rng.integers(shape[0])] = 1
    weights = rng.choice([1, 2, 0.5, 0.25, 3, 10], shape[0]).astype(float) if rng.random() < 0.3 else None
    return kind, true, scores, weights


def close(result: areas.Bounds, expected: float, kind: str, *, tolerance: float = 1e-12) -> None:
    """Compare with a value of scikit-learn, which may be wrong in the last digits because it sums floats."""
    assert result.low <= result.value <= result.high
    assert result.low - tolerance <= expected <= result.high + tolerance
    if result.exact:
        assert result.value == pytest.approx(expected, abs=tolerance)
    assert result.exact or kind not in EXACT_KINDS


@pytest.mark.parametrize("block", range(10))
def test_the_interval_contains_the_area_of_scikit_learn_in_adversarial_cases(block: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(block * CASES // 10, (block + 1) * CASES // 10):
            kind, true, scores, weights = random_case(seed)
            tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
            wide = scores.astype(np.float64)
            repeated = None if weights is None else np.repeat(weights, true.shape[1])
            for measure, reference in (
                (reading("roc_auc"), sk.roc_auc_score), (reading("average_precision"), sk.average_precision_score),
            ):  # fmt: skip
                for label, result in measure(tables, average=None).items():
                    expected = reference(true[:, label], wide[:, label], sample_weight=weights)
                    if math.isnan(expected):
                        assert math.isnan(result.value)
                    elif true[:, label].any():
                        close(result, expected, kind)
                pooled = reference(true.ravel(), wide.ravel(), sample_weight=repeated)
                if not math.isnan(pooled) and true.any():
                    close(measure(tables, average="micro"), pooled, kind)


@with_each("seed", range(cases(150)))
def test_areas_are_correctly_rounded_if_exact_and_within_bounds_otherwise(seed: int):
    _, true, scores, weights = random_case(10**6 + seed)
    true, scores = true[:40], scores[:40].astype(np.float64)
    weights = None if weights is None else weights[:40]
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    every = [Fraction(1)] * len(true) if weights is None else [Fraction(weight) for weight in weights]
    result = reading("roc_auc")(tables, average=None), reading("average_precision")(tables, average=None)
    for label in range(true.shape[1]):
        cells = list(zip(scores[:, label].tolist(), true[:, label].tolist(), every, strict=True))
        for intervals, measure in zip(result, (oracle.area, oracle.average_precision), strict=True):
            exact, got = measure(cells), intervals[label]
            if exact is None:
                continue
            assert got.low <= exact <= got.high
            if got.exact:
                assert got.value == float(exact)


@with_each("seed", range(cases(60)))
def test_averages_are_those_of_scikit_learn(seed: int):
    kind, true, scores, weights = random_case(10**7 + seed)
    true[0], true[-1] = 1, 0
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    wide = scores.astype(np.float64)
    for average in ("macro", "weighted"):
        for measure, reference in (
            (reading("roc_auc"), sk.roc_auc_score), (reading("average_precision"), sk.average_precision_score),
        ):  # fmt: skip
            # For weighted examples scikit-learn still averages labels by their unweighted support.
            if average == "weighted" and weights is not None:
                continue
            close(measure(tables, average=average), reference(true, wide, average=average, sample_weight=weights), kind)


def test_the_mean_of_areas_with_hundreds_of_denominators_is_correctly_rounded():
    rng, shape = np.random.default_rng(11), (12, 2 * areas._SUMMED)
    true, scores, hidden = rng.random(shape) < 0.4, rng.integers(0, 4, shape) / 4, rng.random(shape) < 0.3
    true[0], true[1], hidden[:2] = True, False, False
    weights = rng.integers(1, 10**6, shape[0]).astype(float)
    tables = counted(rows_of(true, scores, hidden=hidden, weights=weights), width=shape[1])
    every, cells = weights.astype(int).tolist(), []
    for column, visible in enumerate(~hidden.T):
        cells.append([*zip(scores[visible, column], true[visible, column], compress(every, visible), strict=True)])
    values, support = list(map(oracle.area, cells)), [oracle.totals(each)[0] for each in cells]
    assert len({value.denominator for value in values}) > areas._SUMMED
    for average, worth in (("macro", [1] * shape[1]), ("weighted", support)):
        result = reading("roc_auc")(tables, average=average)
        assert result.exact
        assert float(result) == result.value == float(sum(map(operator.mul, values, worth)) / sum(worth))


@with_each("seed", range(cases(200)))
def test_partial_areas_are_those_of_scikit_learn(seed: int):
    kind, true, scores, weights = random_case(10**8 + seed)
    true[0], true[-1] = 1, 0
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    limit = float(np.random.default_rng(seed).choice([0.01, 0.1, 0.25, 0.5, 0.9, 0.999]))
    for label, result in reading("roc_auc")(tables, average=None, max_fpr=limit).items():
        expected = sk.roc_auc_score(true[:, label], scores[:, label], sample_weight=weights, max_fpr=limit)
        close(result, expected, kind, tolerance=1e-9 if limit == 0.01 else 1e-10)


def test_weights_with_a_mean_of_1_count_even_if_only_unscored_labels_have_them():
    ev = se.Evaluator(["roc_auc_weighted"], labels=["a", "b"])
    ev.update({"a"}, {}, weight=0.5)
    ev.update(set(), {}, weight=1.5)
    ev.update({"b"}, {"b": 0.5})
    ev.update(set(), {"b": 0.3})
    assert ev.get("roc_auc_weighted") == 5 / 6


def test_the_weight_of_an_example_without_labels_counts():
    ev = se.Evaluator(["roc_auc_macro"])
    for truth, scores, weight in (({"a"}, {"a": 0.5}, 1), (set(), {}, 2), (set(), {"a": 0.7}, 1)):
        ev.update(truth, scores, weight=weight)
    assert ev.get() == {"roc_auc_macro": 2 / 3}


def test_labels_that_never_had_a_score_have_a_value():
    ev = se.Evaluator([], keep=["curves"], threshold=0.5)
    ev.update({"a": True, "b": False}, {"a": 0.5})
    assert ev.get("average_precision_per_label") == {"a": 1.0, "b": 0.0}


def test_reverting_another_weight_is_refused_if_sums_would_need_another_word():
    ev = se.RocAuc()
    ev.update({"a"}, {"a": 0.5}, weight=2**62)
    ev.update({"a"}, {"a": 0.75}, weight=2**61)
    before = ev.to_bytes()
    with pytest.raises(RevertError, match="not with this weight"):
        ev.revert({"a"}, {"a": 0.75}, weight=2**62)
    assert ev.to_bytes() == before


def test_undefined_areas():
    tables = counted(rows_of(np.array([[1, 0], [0, 0]]), np.array([[0.9, 0.1], [0.2, 0.3]])), width=2)
    assert reading("roc_auc")(tables).value == 1.0
    assert reading("roc_auc")(tables, zero_division=0.0).value == 0.5
    assert reading("roc_auc")(tables, average="weighted").value == 1.0
    assert math.isnan(reading("roc_auc")(tables, average=None)[1].value)
    assert reading("average_precision")(tables).value == 0.5
    assert reading("average_precision")(tables, zero_division=math.nan).value == 1.0
    nothing = counted(width=2)
    assert math.isnan(reading("roc_auc")(nothing).value)
    assert reading("average_precision")(nothing).value == 0.0
    assert math.isnan(reading("roc_auc")(counted(width=0), average="micro").value)
    with pytest.raises(MetricError, match=r"it has macro, micro, weighted, None \(per_label in a name\)$"):
        reading("roc_auc")(tables, average="samples")
    with pytest.raises(MetricError, match="max_fpr"):
        reading("roc_auc")(tables, max_fpr=0.0)


def test_two_known_scores_in_one_bin_are_not_tied():
    close_by, edge = (np.array([[score], [np.nextafter(score, 1)]]) for score in (0.3, 0.25))
    for true, expected in ((np.array([[0], [1]]), 1.0), (np.array([[1], [0]]), 0.0)):
        for scores in (close_by, edge, -close_by[::-1], -edge[::-1]):
            result = reading("roc_auc")(counted(rows_of(true, scores), width=1))
            assert (result.value, result.exact) == (expected, True)


def test_bounds_of_a_mixed_bin_are_tight():
    """Two positives and two negatives in one bin: the bin allows every order of them."""
    scores = 0.3 * (1 + np.array([[1.0], [2], [3], [4]]) * 2.0**-50)
    result = reading("roc_auc")(counted(rows_of(np.array([[0], [1], [0], [1]]), scores), width=1))
    assert (result.low, result.value, result.high, result.exact) == (0.0, 0.5, 1.0, False)
    assert result.width == 1.0
    result = reading("average_precision")(counted(rows_of(np.array([[0], [1], [0], [1]]), scores), width=1))
    assert result.low <= Fraction(5, 12) <= result.low + 1e-15
    assert (result.value, result.high) == (0.5, 1.0)


@pytest.mark.parametrize("pos", [1, 2, 16, 17, 100, 1000])
def test_the_lowest_precision_of_a_large_bin_is_never_overestimated(pos: int):
    rng = np.random.default_rng(pos)
    true = np.array([1] * pos + [0] * 50 + [1, 0])
    scores = np.concatenate([0.3 + rng.random(pos) * 1e-7, 0.3 + rng.random(50) * 1e-7, [0.9, 0.95]])
    result = reading("average_precision")(counted(rows_of(true[:, None], scores[:, None]), width=1))
    worst = sum(Fraction(1 + i, 1 + i + 51) for i in range(1, pos + 1)) + Fraction(1, 2)
    assert result.low <= worst / (pos + 1) <= result.low + 0.01


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2, 3, 5])])
def test_counts_and_weights_beyond_2_to_the_30_stay_exact(weights: Any):
    batch = rows_of(np.array([[1], [0], [0], [1]]), np.array([[0.9], [0.5], [0.1], [0.3]]), weights=weights)
    state = state_of(batch, width=1)

    def values() -> list[Any]:
        tables = CurveTables(state)
        return [
            reading("roc_auc")(tables), reading("average_precision")(tables), reading("roc_auc")(tables, max_fpr=0.6),
            reading("roc_auc")(tables, average="micro"), reading("average_precision")(tables, average="micro"),
        ]  # fmt: skip

    expected = values()
    for doublings in range(40):
        state.merge(state)
        assert doublings < 24 or values() == expected


# -- curves -----------------------------------------------------------------------------------------------------------


@with_each("seed", range(cases(150)))
def test_curves_are_those_of_scikit_learn_where_bins_are_pure(seed: int):
    rng = np.random.default_rng([13, seed])
    scores = np.round(rng.normal(size=60), 1) if seed % 2 else rng.random(60).astype(np.float16).astype(float)
    true = (rng.random(60) < 0.4).astype(np.uint8)
    true[0], true[1] = 1, 0
    weights = rng.integers(1, 4, 60).astype(float) if seed % 3 == 0 else None
    tables = counted(rows_of(true[:, None], scores[:, None], weights=weights), width=1)
    result = curves.roc_curve(tables, 0)
    fpr, tpr, thresholds = sk.roc_curve(true, scores, sample_weight=weights, drop_intermediate=False)
    assert np.allclose(result.fpr, fpr, rtol=1e-12, atol=0)
    assert np.allclose(result.tpr, tpr, rtol=1e-12, atol=0)
    assert result.thresholds.tolist() == thresholds.tolist()
    assert not result.mixed.any()
    pr = curves.precision_recall_curve(tables, 0)
    precision, recall, thresholds = sk.precision_recall_curve(true, scores, sample_weight=weights)
    assert np.allclose(pr.precision, precision, rtol=1e-12, atol=0)
    assert np.allclose(pr.recall, recall, rtol=1e-12, atol=0)
    assert pr.thresholds.tolist() == thresholds.tolist()


@pytest.mark.parametrize("seed", range(cases(100)))
def test_the_bands_contain_every_point_of_the_exact_curves(seed: int):
    rng = np.random.default_rng([17, seed])
    scores = 0.3 * (1 + rng.random(80) * 2.0**-9)
    true = (rng.random(80) < 0.4).astype(np.uint8)
    true[0], true[1] = 1, 0
    tables = counted(rows_of(true[:, None], scores[:, None]), width=1)
    cells = [(score, int(t), Fraction(1)) for score, t in zip(scores.tolist(), true, strict=True)]
    pos, neg = int(true.sum()), int(80 - true.sum())
    roc, pr = curves.roc_curve(tables, 0), curves.precision_recall_curve(tables, 0)
    for bound in scores.tolist():
        tp, fp, _, _ = oracle.outcomes(cells, bound)
        x, low, high = roc.band()
        segments = np.flatnonzero((x[:-1] <= float(fp / neg)) & (float(fp / neg) <= x[1:]))
        assert any(min(low[i : i + 2]) <= float(tp / pos) <= max(high[i : i + 2]) for i in segments)
        x, low, high = pr.band()
        precision, recall = float(tp / (tp + fp)), float(tp / pos)
        segments = np.flatnonzero((x[1:] <= recall) & (recall <= x[:-1]))
        assert any(min(low[i : i + 2]) - 1e-12 <= precision <= max(high[i : i + 2]) + 1e-12 for i in segments)


def best_by_hand(cells: list[oracle.Cell], measure: str, bound: Fraction) -> Fraction:
    result = [Fraction(0)]
    for threshold in [math.inf, *(score for score, _, _ in cells)]:
        tp, fp, fn, tn = oracle.outcomes(cells, threshold)
        precision = tp / (tp + fp) if tp + fp else None
        recall, specificity = tp / (tp + fn), tn / (tn + fp)
        value, condition = {
            "recall_at_precision": (recall, precision), "precision_at_recall": (precision, recall),
            "sensitivity_at_specificity": (recall, specificity), "specificity_at_sensitivity": (specificity, recall),
        }[measure]  # fmt: skip
        if value is not None and condition is not None and condition >= bound:
            result.append(value)
    return max(result)


@pytest.mark.parametrize("measure", [
    "recall_at_precision", "precision_at_recall", "sensitivity_at_specificity", "specificity_at_sensitivity",
])  # fmt: skip
@pytest.mark.parametrize("seed", range(cases(60)))
def test_points_of_curves_lie_within_their_interval(measure: str, seed: int):
    _, true, scores, weights = random_case(10**9 + seed)
    true[0], true[-1] = 1, 0
    bound = float(np.random.default_rng(seed).choice([0.0, 0.1, 0.5, 0.8, 1.0]))
    name = measure.split("_at_")[1]
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    every = [Fraction(1)] * len(true) if weights is None else [Fraction(weight) for weight in weights]
    for label, result in reading(measure)(tables, average=None, **{name: bound}).items():
        cells = list(zip(scores[:, label].astype(float).tolist(), true[:, label].tolist(), every, strict=True))
        exact = best_by_hand(cells, measure, Fraction(bound))
        assert result.low <= exact <= result.high
        if result.exact:
            assert result.value == float(exact)


@with_each("seed", range(cases(100)))
def test_the_equal_error_rate_lies_on_the_curve(seed: int):
    _, true, scores, weights = random_case(10**10 + seed)
    true[0], true[-1] = 1, 0
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    for label, result in reading("equal_error_rate")(tables, average=None).items():
        fpr, tpr, _ = sk.roc_curve(true[:, label], scores[:, label], sample_weight=weights, drop_intermediate=False)
        lead = fpr - (1 - tpr)
        after = int(np.flatnonzero(lead >= -1e-12)[0])
        step = lead[after] - lead[after - 1]
        expected = fpr[after] - (fpr[after] - fpr[after - 1]) * lead[after] / step
        assert result.low - 1e-9 <= expected <= result.high + 1e-9
        if result.exact:
            assert result.value == pytest.approx(expected, abs=1e-9)


def test_an_unknown_label_is_named_in_the_error():
    tables = counted(rows_of(np.eye(2), np.eye(2)), width=2)
    with pytest.raises(MetricError, match=r"label 'x' is not among the labels counted, \[0, 1\]"):
        curves.roc_curve(tables, "x")
    with pytest.raises(MetricError, match=r"precision of recall_at_precision must be a number in \[0, 1\], not 2"):
        reading("recall_at_precision")(tables, precision=2)


# -- calibration ------------------------------------------------------------------------------------------------------


def probabilities(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, str]:
    for attempt in range(1000):
        kind, true, scores, weights = random_case(10**11 + 1000 * seed + attempt)
        if scores.min() >= 0 and scores.max() <= 1:
            return true, scores, weights, kind
    raise AssertionError("no probabilities among the cases")


@with_each("seed", range(cases(150)))
def test_the_brier_score_is_exact(seed: int):
    true, scores, weights, _ = probabilities(seed)
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    every = [Fraction(1)] * len(true) if weights is None else [Fraction(weight) for weight in weights]
    values = []
    for label in range(true.shape[1]):
        wide = scores[:, label].astype(np.float64).tolist()
        values.append(oracle.brier(list(zip(wide, true[:, label].tolist(), every, strict=True))))
    result = reading("brier_score")(tables, average=None)
    assert [result[label].value for label in result] == [float(value) for value in values]
    assert all(interval.exact for interval in result.values())
    mean = float(sum(values) / len(values))
    for average in ("macro", "micro"):
        assert reading("brier_score")(tables, average=average).value == mean


@with_each("seed", range(cases(150)))
def test_the_log_loss_lies_in_its_interval(seed: int):
    true, scores, weights, kind = probabilities(seed)
    tables = counted(rows_of(true, scores, weights=weights), width=true.shape[1])
    every = np.ones(len(true)) if weights is None else weights
    for eps, cap in ((2.0**-52, None), (1e-7, None), (1e-3, None), (0.5, None), (0.0, 1.5), (1e-7, 0.4), (0.0, 30.0)):
        for label, result in reading("log_loss")(tables, average=None, eps=eps, cap=cap).items():
            wide = scores[:, label].astype(np.float64)
            inside = np.clip(wide, eps, 1 - eps)
            with np.errstate(divide="ignore"):
                cost = np.where(true[:, label] == 1, -np.log(inside), -np.log1p(-inside))
            # 1 - eps is rounded, so its complement is not exactly eps
            if eps:
                cost = np.where((true[:, label] == 0) & (wide >= 1 - eps), -math.log(eps), cost)
            expected = math.fsum(every * np.minimum(cost, cap or math.inf)) / math.fsum(every)
            assert result.low * (1 - 1e-13) - 1e-300 <= expected <= result.high * (1 + 1e-13) + 1e-300
            coarse = eps == 1e-3 or cap  # if the loss is clipped within a bin, only the ends of the bin bound it
            assert result.high - result.low <= (1e-3 if coarse else 2e-7) * max(1, expected)
            if kind in EXACT_KINDS:
                assert result.exact
                assert result.value == pytest.approx(expected, rel=1e-12)


def test_logarithms_are_the_same_everywhere_and_nearly_correctly_rounded():
    v = np.concatenate([10.0 ** -np.random.default_rng(0).uniform(0.31, 307, 20000), [0.5, 2.0**-52, 5e-324]])
    assert np.allclose(calibration._minus_log(v), -np.log(v), rtol=4e-16, atol=0)
    assert np.allclose(calibration._minus_log_rest(v), -np.log1p(-v), rtol=6e-16, atol=0)
    assert calibration._minus_log(np.array([0.0]))[0] == math.inf
    assert calibration._minus_log_rest(np.array([0.0]))[0] == 0.0


def test_a_certain_mistake_costs_infinitely_without_clipping():
    tables = counted(rows_of(np.array([[1, 1], [0, 1]]), np.array([[0.0, 0.5], [0.5, 0.5]])), width=2)
    result = reading("log_loss")(tables, average=None, eps=0.0)
    assert result[0].value == math.inf
    assert result[1].value == pytest.approx(math.log(2), rel=1e-15)
    assert reading("log_loss")(tables, eps=0.0).value == math.inf
    assert reading("log_loss")(tables).value < 100


def test_scores_that_are_no_probabilities_are_refused_by_name():
    tables = counted(rows_of(np.eye(2), np.array([[-3.2, 0.5], [0.5, 8.0]])), width=2)
    for measure in (reading("brier_score"), reading("log_loss"), reading("expected_calibration_error")):
        with pytest.raises(MetricError, match=r"requires probabilities, but scores from about -3\.2\d* to 8 were"):
            measure(tables)
    with pytest.raises(MetricError, match=r"scores from about 0\.5\d* to 8 were"):
        calibration.calibration_curve(tables, tables.labels[1])
    with pytest.raises(MetricError, match="buckets"):
        calibration.calibration_curve(counted(width=1), buckets=0)


@with_each("strategy", ["uniform", "quantile"])
@with_each("seed", range(cases(80)))
def test_reliability_sums_are_exact(seed: int, strategy: str):
    true, scores, weights, _ = probabilities(seed)
    true, scores = true[:, :1], scores[:, :1].astype(np.float64)
    tables = counted(rows_of(true, scores, weights=weights), width=1)
    every = [Fraction(1)] * len(true) if weights is None else [Fraction(weight) for weight in weights]
    result = reading("expected_calibration_error")(tables, strategy=strategy)
    diagram = calibration.calibration_curve(tables, strategy=strategy)
    assert math.fsum(diagram.weight) == float(sum(every))
    whole = sum(w * Fraction(s) for w, s in zip(every, scores[:, 0].tolist(), strict=True))
    assert math.fsum(diagram.weight * diagram.mean_score) == pytest.approx(float(whole), rel=1e-12)
    hits = math.fsum(diagram.weight * diagram.frequency)
    assert hits == pytest.approx(float(sum(w * int(t) for w, t in zip(every, true[:, 0], strict=True))), rel=1e-12)
    assert (np.diff(diagram.mean_score) > 0).all()
    gap = math.fsum(diagram.weight * np.abs(diagram.frequency - diagram.mean_score)) / math.fsum(diagram.weight)
    assert result.value == pytest.approx(gap, rel=1e-9, abs=1e-15)
    cells = list(zip(scores[:, 0].tolist(), true[:, 0].tolist(), every, strict=True))
    exact = oracle.expected_calibration_error(cells, 15, strategy)
    assert result.low <= exact <= result.high
    if result.exact:
        assert result.value == float(exact)


def test_the_state_turns_kernel_codes_into_errors():
    assert len({DONE, FULL, REFUSED}) == 3
    batch = rows_of(np.ones((1, 1)), np.full((1, 1), 0.4))
    state = state_of(batch, width=1)
    with pytest.raises(RevertError, match="no such example was counted"):
        state.count_one(rows_of(np.ones((1, 1)), np.full((1, 1), np.nextafter(0.4, 1))), -1)
    with pytest.raises(RevertError):
        state.count_one(rows_of(np.ones((1, 1)), np.full((1, 1), 0.4), weights=np.array([2.0])), -1)
    assert isinstance(batch, Dense)
    assert isinstance(lists_of(batch), Ragged)
    state.count_one(lists_of(batch), -1)
    assert state.examples == 0


def test_log_loss_with_the_greatest_and_the_least_weight_is_that_of_the_greatest():
    ev = se.Evaluator(["log_loss_micro"], labels=["a"], threshold=0.5)
    ev.update({"a"}, {"a": 0.9}, weight=1e308)
    ev.update(set(), {"a": 0.2}, weight=5e-324)
    assert ev.get("log_loss_micro") == pytest.approx(-math.log(0.9), rel=1e-15)
