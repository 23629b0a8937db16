"""Every metric of the catalogue, with every choice, compared with plain loops over exact rational numbers."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import streameval as se
from streameval.metrics import averaging
from streameval.metrics.catalogue import build_spec
from streameval.metrics.spec import as_float
from tests.support.definitions import values_of
from tests.support.effort import BRIEF, cases, crossed
from tests.support.entries import decided_entries
from tests.support.oracle import Example, Oracle, Value

ENTRIES = {entry.name: entry for entry in decided_entries()}
NAMES = sorted(ENTRIES)
ZERO_DIVISIONS = (0.0, 1.0, math.nan)
EMPTIES = ("zero_division", "zero", "one", "nan", "drop")
SETTINGS = settings(max_examples=cases(60), derandomize=True, database=None)

WEIGHTS = (1.0, 0.0, 0.1, 0.25, 1 / 3, 3.0, 2.0**53, 1e300, 5e-324)
NUMBERS = (1.0, 0.0, 0.5, 2.0, 0.1, 1 / 3, 7.0, 31.0, 100.0, 1e-3, 5e-324, 1e100, 1e300, 1.7e308, math.inf)
PARAMETERS = {name: {p.name: values_of(p, NUMBERS) for p in entry.parameters} for name, entry in ENTRIES.items()}

LABELS = ["ab", "b", "é", 3, -1]
SETS = st.sets(st.sampled_from(LABELS))
ALL_LABELS = [-1, 3, 7, "ab", "b", "z", "é"]


def parameters_of(name: str) -> st.SearchStrategy[dict[str, float]]:
    return st.fixed_dictionaries({key: st.sampled_from(values) for key, values in PARAMETERS[name].items()})


def streams(weights: tuple[float, ...] = WEIGHTS, max_size: int = 7) -> st.SearchStrategy[list[Example]]:
    """Short streams, in which examples often have no true label, no predicted label, or only masked labels."""
    masks = st.one_of(st.just(set()), SETS)
    return st.lists(st.tuples(SETS, SETS, st.sampled_from(weights), masks), max_size=max_size)


def in_order(labels: set) -> list:
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def labels_of(stream: list[Example]) -> list:
    return in_order(set().union(*(true | pred | masked for true, pred, _, masked in stream)))


def evaluated(stream: list[Example], labels: list | None = None) -> se.Evaluator:
    ev = se.Evaluator([], labels=labels)
    for true, pred, weight, masked in stream:
        ev.update(true, pred, weight=float(weight), mask=masked)
    return ev


def choices(
    name: str, parameters: dict[str, float], zero_divisions: tuple[float, ...] = ZERO_DIVISIONS
) -> Iterator[tuple[str | None, dict]]:
    """Every average with each value of ``zero_division`` and of ``empty``, as arguments of `metric`."""
    for average, zero_division, empty in itertools.product(ENTRIES[name].averages, zero_divisions, EMPTIES):
        yield average, {"zero_division": zero_division, "empty": empty, **parameters}


def read(ev: se.Evaluator, name: str, average: str | None, chosen: dict) -> object:
    return ev.get(se.metric(name, average=average, **chosen))


def assert_equal(got: object, exact: Value | dict, context: object = None) -> None:
    """Assert that a value is within one unit in the last place of the exact value, and NaN where that is None."""
    if isinstance(exact, dict):
        assert isinstance(got, dict), context
        assert list(got) == list(exact), context
        for label in exact:
            assert_equal(got[label], exact[label], (context, label))
        return
    assert type(got) is float, context
    if exact is None:
        assert math.isnan(got), (context, got)
        return
    assert not math.isnan(got), (context, exact)
    try:
        nearest = float(exact)
    except OverflowError:
        assert got == math.inf, (context, got)
        return
    if exact == 0:
        assert repr(got) == "0.0", (context, got)
    else:
        assert abs(Fraction(got) - exact) <= Fraction(math.ulp(nearest)), (context, got, nearest)


def assert_all_equal(
    ev: se.Evaluator,
    oracle: Oracle,
    name: str,
    parameters: dict[str, float],
    zero_divisions: tuple[float, ...] = ZERO_DIVISIONS,
) -> None:
    for average, chosen in choices(name, parameters, zero_divisions):
        exact = oracle.value(name, average, **chosen)
        assert_equal(read(ev, name, average, chosen), exact, (name, average, chosen))


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_within_one_ulp_of_its_definition(name: str):
    @SETTINGS
    @given(st.one_of(streams((1.0,)), streams()), parameters_of(name), st.sampled_from(ZERO_DIVISIONS), st.booleans())
    def check(stream: list[Example], parameters: dict, zero_division: float, declared: bool) -> None:
        ev = evaluated(stream, ALL_LABELS if declared else None)
        oracle = Oracle(stream, ALL_LABELS if declared else labels_of(stream))
        assert_all_equal(ev, oracle, name, parameters, (zero_division,))

    check()


@SETTINGS
@given(st.lists(st.tuples(SETS, SETS, st.just(0.0), st.just(set())), min_size=1, max_size=4))
@example([({"b"}, {"b"}, 0.0, set()), ({"b"}, {"b"}, 0.0, set()), ({"b"}, {3}, 0.0, set())])
def test_the_mean_over_examples_is_zero_division_where_every_weight_is_0(stream: list[Example]):
    ev = evaluated(stream)
    for zero_division in (0.0, 1.0):
        for name in ("f1", "subset_accuracy", "zero_one_loss", "jaccard", "hamming_loss"):
            assert read(ev, name, "samples", {"zero_division": zero_division}) == zero_division
    assert math.isnan(read(ev, "f1", "samples", {"zero_division": math.nan}))


def test_an_example_whose_labels_are_all_masked_changes_no_mean_over_examples():
    known, unknown = ({"a"}, {"b"}, 1.0, set()), ({"a"}, {"a"}, 5.0, {"a", "b"})
    for entry in decided_entries():
        for average in entry.averages:
            if average == "samples":
                with_it, without = (
                    se.metric(entry.name, average=average, labels=["a", "b"], zero_division=1.0) for _ in range(2)
                )
                for counting, stream in ((with_it, [known, unknown]), (without, [known])):
                    for true, pred, weight, masked in stream:
                        counting.update(true, pred, weight=weight, mask=masked)
                assert with_it.examples == 2
                assert with_it.get() == without.get(), entry.name


def test_empty_decides_the_value_where_nothing_is_true_and_nothing_predicted():
    ev = evaluated([({"a"}, {"a"}, 1.0, set()), (set(), set(), 1.0, set()), ({"a"}, set(), 1.0, set())], ["a", "b"])
    for empty, mean_of_examples, mean_of_labels in (
        ("zero", Fraction(1, 3), Fraction(1, 2)),
        ("one", Fraction(2, 3), Fraction(1)),
        ("nan", None, None),
        ("drop", Fraction(1, 2), Fraction(1)),
    ):
        # The third example has something true, so `zero_division` decides about it.
        assert_equal(ev.get(f"precision_samples(empty={empty})"), mean_of_examples, empty)
        assert_equal(ev.get(f"precision_macro(empty={empty})"), mean_of_labels, empty)
    assert ev.get("precision_per_label(empty=drop)") == {"a": 1.0}
    assert ev.get("precision_per_label(empty=one)") == {"a": 1.0, "b": 1.0}


def random_stream(seed: int, examples: int, labels: int, per_example: int) -> list[Example]:
    """A larger stream, drawn with integer arithmetic only; smaller labels are true more often."""
    state = seed
    stream: list[Example] = []

    def draw(below: int) -> int:
        nonlocal state
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        return (state >> 33) % below

    for _ in range(examples):
        true = {min(draw(labels), draw(labels)) for _ in range(draw(per_example))}
        pred = {label for label in true if draw(3)} | {min(draw(labels), draw(labels)) for _ in range(draw(4))}
        stream.append((true, pred, 1, set()))
    return stream


@pytest.mark.parametrize("name", NAMES)
def test_values_over_more_than_a_thousand_labels_are_within_one_ulp(name: str, wide: tuple[se.Evaluator, Oracle]):
    ev, oracle = wide
    for average in ENTRIES[name].averages:
        for undefined in (0.0, math.nan)[:: 1 if NAMES.index(name) % 2 else -1][: 1 if BRIEF else 2]:
            chosen = {"zero_division": undefined}
            parameters = {parameter.name: parameter.default for parameter in ENTRIES[name].parameters}
            exact = oracle.value(name, average, **chosen, **parameters)
            assert_equal(read(ev, name, average, chosen), exact, (name, average, chosen))


@pytest.fixture(scope="module")
def wide() -> tuple[se.Evaluator, Oracle]:
    """1,103 labels with supports from 0 to some hundreds, so that denominators share few factors."""
    stream = random_stream(7, 401, 1103, 60)
    return evaluated(stream, list(range(1103))), Oracle(stream, range(1103))


@pytest.mark.parametrize("seed", range(cases(150)))
def test_sums_of_many_quotients_are_exact_enough_in_any_order(seed: int):
    rng = np.random.default_rng(seed)
    length = int(rng.choice([65, 100, 1000, 5000]))
    tops = [2 ** int(bits) for bits in rng.integers(1, 32, 3)]
    num, den, times = (rng.integers(0, top, length) for top in tops)
    num[rng.random(length) < rng.choice([0.0, 0.9, 1.0])] = 0
    den = np.minimum(den + 1, 2**31 - 1)
    factors = times if seed % 2 else None
    result = averaging._sum_of_small(num, den, factors)
    weights = times.tolist() if seed % 2 else [1] * length
    scale = 2**200
    exact = sum(n * scale * t // d for n, d, t in zip(num.tolist(), den.tolist(), weights, strict=True))
    if result is not None:
        assert abs(result[0] * scale - exact * result[1]) <= result[1] * (exact // 2**59 + length)
    order = rng.permutation(length)
    shuffled = None if factors is None else factors[order]
    assert averaging._sum_of_small(num[order], den[order], shuffled) == result
    if 200 < exact // scale < 2**40:
        assert result is not None


@pytest.mark.parametrize("big", [2**31, 2**40, 2**62])
@pytest.mark.parametrize("place", range(3))
def test_quotients_too_large_for_the_quick_sum_are_summed_by_the_general_one(big: int, place: int):
    arrays = [np.full(100, 3), np.full(100, 7), np.full(100, 2)]
    arrays[place] = np.where(np.arange(100) == 50, big, arrays[place])
    assert averaging._sum_of_small(*arrays) is None
    num, den = averaging._sum(*arrays, False)
    exact = sum(Fraction(n * t, d) for n, d, t in zip(*(a.tolist() for a in arrays), strict=True))
    assert abs(Fraction(num, den) / exact - 1) < Fraction(1, 2**59)


def test_a_ratio_of_weights_past_the_largest_float_is_infinite():
    stream = [({"a"}, set(), 1e300, set()), ({"b"}, set(), 5e-324, set())]
    ev = evaluated(stream)
    assert ev.get("irlbl") == {"a": 1.0, "b": math.inf}
    assert ev.get("mean_ir") == math.inf
    assert as_float(Fraction(-(10**400))) == -math.inf


@pytest.mark.parametrize("alpha", [1e15, 1e50, 1e300])
def test_a_base_near_1_raised_to_a_large_power_keeps_all_its_digits(alpha: float):
    """``(1 - 1 / (alpha + 1)) ** alpha`` is nearly 1 / e."""
    stream = [({"a"}, {"a"}, alpha, set()), ({"a"}, set(), 1.0, set())]
    got = evaluated(stream).get(se.AlphaEvaluation(alpha=alpha, average="micro"))
    assert_equal(
        got,
        Oracle(stream, ["a"]).value("alpha_evaluation", "micro", zero_division=0.0, alpha=alpha, beta=1.0, gamma=1.0),
    )
    assert got == pytest.approx(1 / math.e)


# -- large counts -----------------------------------------------------------------------------------------------------


def counted(kinds: list[Example], labels: list | None = None) -> se.Evaluator:
    """An evaluator that has counted each example as many times as its weight says, by merging with itself."""
    total = se.Evaluator([], labels=labels)
    for true, pred, times, masked in kinds:
        power = se.Evaluator([], labels=labels)
        power.update(true, pred, mask=masked)
        while times:
            if times % 2:
                total.merge(power)
            times //= 2
            if times:
                power.merge(power)
    return total


FOUR_OUTCOMES = (({"a"}, {"a"}), (set(), {"a"}), ({"a"}, set()), (set(), set()))


def table(tp: int, fp: int, fn: int, tn: int) -> list[Example]:
    return [
        (true, pred, times, set()) for (true, pred), times in zip(FOUR_OUTCOMES, (tp, fp, fn, tn), strict=True) if times
    ]


@pytest.mark.parametrize(
    "kinds",
    [
        table(2**60, 2**59 - 1, 2**59 + 3, 2**60 - 7),
        table(2**62 - 2, 1, 1, 2**62 - 2),
        table(2**62 - 59, 2**61 - 31, 2**60 - 93, 2**60 - 1),
        table(1, 2**62 - 57, 2**61, 1),
        table(2**60 - 93, 0, 0, 2**60 - 107),
        table(2**61 - 1, 1, 0, 0),
        table(2**58 + 3, 2**58 + 9, 2**58 + 7, 0),
        table(9233903882910027, 42262005367346, 1, 1),  # dividing floats would be wrong by 2.4 units in the last place
        [
            ({"a", "b"}, {"a"}, 2**40 - 87, set()),
            ({"c"}, {"c", "b"}, 2**40 - 167, set()),
            ({"a", "c"}, {"b", "c"}, 2**39 - 7, {"a"}),
            (set(), {"a"}, 2**38 - 45, set()),
            (set(), set(), 2**40 - 195, set()),
        ],
        [
            ({"a", "b"}, {"a"}, 2**59 + 1, set()),
            ({"c"}, {"c", "b"}, 2**59 - 55, set()),
            ({"a", "c"}, {"b", "c"}, 2**59 - 99, {"a"}),
            (set(), {"a"}, 2**58 - 27, set()),
        ],
    ],
    ids=["even", "agreeing", "mixed", "disagreeing", "perfect", "one-sided", "no-negatives", "2**53", "2**40", "2**59"],
)
def test_counts_up_to_two_to_the_sixty_third_overflow_nowhere(kinds: list[Example]):
    ev, oracle = counted(kinds, ["a", "b", "c"]), Oracle(kinds, ["a", "b", "c"])
    for name in NAMES:
        for beta in (1.0, 2.0, 0.3, 30.0, 31.5) if "beta" in PARAMETERS[name] else (1.0,):
            parameters = {parameter.name: parameter.default for parameter in ENTRIES[name].parameters}
            if name.startswith("fbeta"):
                parameters["beta"] = beta
            assert_all_equal(ev, oracle, name, parameters, (1.0,))


def test_the_correlation_of_a_large_table_is_not_the_overflowed_one():
    kinds = table(45_000_000_000, 5_000_000_000, 5_000_000_000, 45_000_000_000)
    assert counted(kinds).get("mcc_micro") == 0.8
    assert counted(kinds).get("mcc_per_label") == {"a": 0.8}


def test_counts_past_two_to_the_twenty_fourth_do_not_stick():
    kinds = table(2**24 + 1, 1, 0, 0)
    assert counted(kinds).get("precision_micro") == (2**24 + 1) / (2**24 + 2)
    assert counted(kinds).per_label().tp.tolist() == [2**24 + 1]


@settings(SETTINGS, max_examples=cases(150))
@given(st.lists(st.integers(0, 2**61 - 1), min_size=4, max_size=4), st.sampled_from(NAMES))
def test_any_two_by_two_table_of_large_counts_is_read_within_one_ulp(times: list[int], name: str):
    kinds = table(*times)
    parameters = {parameter.name: parameter.default for parameter in ENTRIES[name].parameters}
    assert_all_equal(counted(kinds, ["a"]), Oracle(kinds, ["a"]), name, parameters)


# -- cancellation -----------------------------------------------------------------------------------------------------


def columns(*tables: tuple[int, int, int, int]) -> list[Example]:
    """A stream in which label number i has the i-th table ``(tp, fp, fn, tn)``; all tables have the same total."""
    cells = [["tp"] * tp + ["fp"] * fp + ["fn"] * fn + ["tn"] * tn for tp, fp, fn, tn in tables]
    return [
        (
            {label for label, cell in enumerate(row) if cell in ("tp", "fn")},
            {label for label, cell in enumerate(row) if cell in ("tp", "fp")},
            1,
            set(),
        )
        for row in zip(*cells, strict=True)
    ]


SIGNED = ("mcc", "cohen_kappa", "informedness", "markedness")


@pytest.mark.parametrize(
    ("name", "tables"),
    crossed(
        SIGNED,
        [
            [(3, 1, 2, 4), (1, 3, 4, 2)],
            [(3, 1, 2, 4), (2, 4, 3, 1)],
            [(5, 0, 1, 4), (0, 5, 4, 1), (2, 2, 3, 3)],
            [(8, 1, 2, 9), (1, 8, 9, 2), (7, 3, 3, 7), (3, 7, 7, 3)],
            [(6, 2, 1, 8), (2, 6, 8, 1), (4, 4, 4, 5)],
            [(10, 1, 1, 10), (1, 10, 10, 1), (6, 5, 5, 6)],
            [(100, 1, 3, 97), (1, 100, 97, 3)],
            [(100, 1, 3, 97), (1, 100, 96, 4)],
            [(500, 499, 501, 500), (500, 500, 500, 500), (499, 500, 500, 501)],
        ],
    ),
)
def test_means_of_values_that_cancel_are_within_one_ulp_of_the_exact_mean(name: str, tables: list):
    stream = columns(*tables)
    ev, oracle = evaluated(stream), Oracle(stream, labels_of(stream))
    for average in ENTRIES[name].averages:
        exact = oracle.value(name, average, zero_division=0.0)
        got = read(ev, name, average, {})
        assert_equal(got, exact, (name, average))


@pytest.mark.parametrize("name", SIGNED)
def test_values_that_cancel_exactly_give_zero_and_not_minus_zero(name: str):
    for tables in itertools.permutations([(8, 1, 2, 9), (1, 8, 9, 2), (7, 3, 3, 7), (3, 7, 7, 3)]):
        value = evaluated(columns(*tables)).get(f"{name}_macro")
        assert value == 0.0
        assert math.copysign(1.0, value) == 1.0


def test_irrational_values_that_cancel_exactly_give_zero_and_not_minus_zero():
    for half, opposite in (((1, 0, 3, 6), (0, 4, 5, 1)), ((2, 0, 5, 3), (0, 3, 5, 2))):
        ev = evaluated(columns(half, half, opposite))
        mcc = ev.get("mcc_per_label")
        assert 2 * mcc[0] == pytest.approx(-mcc[2])
        assert repr(ev.get("mcc_macro")) == "0.0"


@pytest.mark.parametrize("name", ["informedness", "markedness", "cohen_kappa", "mcc"])
def test_means_are_within_one_ulp_where_the_value_of_0_over_0_cancels_a_defined_value(name: str):
    """One label has a value near -1; the other has 0/0, which ``zero_division=1`` counts as 1."""
    for large in (10**6, 2**40 - 87, 2**61 - 1):
        kinds = [({"a"}, set(), large, set()), (set(), {"a"}, large, set()), (set(), set(), 1, set())]
        ev, oracle = counted(kinds, ["a", "b"]), Oracle(kinds, ["a", "b"])
        assert_all_equal(ev, oracle, name, {})


@pytest.mark.parametrize("name", SIGNED)
@settings(SETTINGS, max_examples=cases(100))
@given(st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=4))
def test_small_tables_and_their_opposites_average_within_one_ulp(name: str, drawn: list[list[int]]):
    tables = []
    for tp, fp, fn in drawn:
        tables += [(tp, fp, fn, 20 - tp - fp - fn), (fp, tp, 20 - tp - fp - fn, fn)]
    stream = columns(*tables)
    ev, oracle = evaluated(stream, list(range(len(tables)))), Oracle(stream, range(len(tables)))
    for average in ("macro", "weighted", "micro"):
        assert_equal(read(ev, name, average, {}), oracle.value(name, average, zero_division=0.0), (tables, average))


# -- fresh objects, ranges, descriptions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_object_answers_for_every_choice(name: str):
    parameters = {parameter.name: parameter.default for parameter in ENTRIES[name].parameters}
    for labels in ((), ("a", "b")):
        oracle = Oracle([], labels)
        for average, chosen in choices(name, parameters):
            exact = oracle.value(name, average, **chosen)
            fresh = se.metric(name, average=average, labels=labels or None, **chosen)
            assert_equal(fresh.get(), exact, (name, average, chosen))
            assert_equal(se.Evaluator([fresh], labels=labels or None).get(fresh), exact, (name, average, chosen))


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_described(name: str):
    entry = ENTRIES[name]
    assert entry.summary.endswith(".")
    assert entry.summary[0].isupper()
    assert entry.formula
    assert entry.source
    assert entry.low < entry.high
    assert entry.bigger_is_better in (True, False, None)
    assert entry.averages
    assert entry.default in entry.averages
    assert math.isnan(entry.zero_division) or entry.zero_division in (0.0, 1.0)
    for parameter in entry.parameters:
        assert parameter.low <= parameter.default <= parameter.high
        assert parameter.range
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.name = "other"  # type: ignore[misc]


def test_names_aliases_and_class_names_are_all_different():
    names = [*ENTRIES, *(alias for entry in decided_entries() for alias in entry.aliases)]
    assert len(names) == len(set(names))
    assert len({entry.class_name for entry in decided_entries()}) == len(ENTRIES)


@pytest.mark.parametrize("name", NAMES)
def test_values_lie_in_the_range_of_the_entry(name: str):
    entry = ENTRIES[name]

    @settings(SETTINGS, max_examples=cases(30))
    @given(streams(), parameters_of(name))
    def check(stream: list[Example], parameters: dict[str, float]) -> None:
        ev = evaluated(stream)
        for average, chosen in choices(name, parameters, tuple({entry.zero_division, entry.high} - {math.inf})):
            if entry.low <= 0 or chosen["empty"] != "zero":
                value = read(ev, name, average, chosen)
                for part in value.values() if isinstance(value, dict) else [value]:
                    assert math.isnan(part) or entry.low <= part <= entry.high, (average, chosen)

    check()


@pytest.mark.parametrize("name", NAMES)
@settings(SETTINGS, max_examples=cases(15))
@given(streams((1.0, 0.5)))
def test_the_function_the_class_and_the_string_give_the_same_value(name: str, stream: list[Example]):
    entry = ENTRIES[name]
    for average in entry.averages:
        by_name = se.metric(name, average=average)
        by_class = getattr(se, entry.class_name)(average=average)
        by_string = se.Evaluator([by_name.spec.key])
        for counting in (by_name, by_class, by_string):
            for true, pred, weight, masked in stream:
                counting.update(true, pred, weight=weight, mask=masked)
        answers = [by_name.get(), by_class.get(), by_string.get(by_name.spec.key), evaluated(stream).get(by_name)]
        answers.append(by_string.get()[by_name.spec.key])
        assert len({repr(answer) for answer in answers}) == 1
        assert type(by_name) is type(by_class)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_without_choices_takes_the_default_average(name: str):
    entry = ENTRIES[name]
    assert getattr(se, entry.class_name)().spec == se.metric(name, average=entry.default).spec
    if name in entry.unclear:
        return
    assert se.metric(name).spec == se.metric(name, average=entry.default).spec
    assert se.metric(name).spec.average == entry.default
    assert se.metric(name).bigger_is_better is entry.bigger_is_better
    assert se.Evaluator([name]).metrics == (se.metric(name).spec,)


@pytest.mark.parametrize("name", NAMES)
def test_aliases_build_the_same_metric(name: str):
    for alias in ENTRIES[name].aliases:
        for average in ENTRIES[name].averages:
            assert se.metric(alias, average=average).spec == se.metric(name, average=average).spec
        assert se.Evaluator([alias]).metrics == (se.metric(name).spec,)


@pytest.mark.parametrize("name", NAMES)
def test_the_key_of_every_spec_is_read_back_as_the_same_spec(name: str):
    @settings(SETTINGS, max_examples=cases(10))
    @given(parameters_of(name))
    def check(parameters: dict[str, float]) -> None:
        for average, chosen in choices(name, parameters):
            spec = se.metric(name, average=average, **chosen).spec
            (again,) = se.Evaluator([spec.key]).metrics
            assert again == spec
            assert hash(again) == hash(spec)
            for field in dataclasses.fields(spec):
                assert repr(getattr(again, field.name)) == repr(getattr(spec, field.name))
            assert repr(se.Evaluator().get(spec.key)) == repr(se.Evaluator().get(spec))

    check()


@settings(SETTINGS, max_examples=cases(200))
@given(st.floats(min_value=0.0, exclude_min=True, allow_infinity=False))
def test_any_beta_survives_the_key(beta: float):
    spec = se.FBeta(beta=beta).spec
    assert se.Evaluator([spec.key]).metrics[0].parameter("beta") == beta


def test_different_choices_have_different_keys():
    def key(name: str, average: str | None, zero_division: float, empty: str, **chosen: float) -> str:
        return build_spec(name, average=average, zero_division=zero_division, empty=empty, parameters=chosen).key

    for name in NAMES:
        every = [
            key(name, average, **chosen)
            for values in itertools.product(*PARAMETERS[name].values())
            for average, chosen in choices(name, dict(zip(PARAMETERS[name], values, strict=True)))
        ]
        assert len(every) == len(set(every))


@pytest.mark.parametrize("name", NAMES)
def test_the_class_shows_its_own_parameters(name: str):
    entry = ENTRIES[name]
    kind = getattr(se, entry.class_name)
    displayed = inspect.signature(kind).parameters
    assert {p.name: p.default for p in entry.parameters}.items() <= {
        key: parameter.default for key, parameter in displayed.items()
    }.items()
    assert next(iter(displayed)) == "average"
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in [*displayed.values()][1:])
    assert entry.summary in inspect.getdoc(kind)
    assert entry.formula in inspect.getdoc(kind)
    assert entry.source in inspect.getdoc(kind)


@pytest.mark.parametrize("kind", [int, float, np.int64, np.uint8, np.float32, np.float64])
def test_numbers_of_numpy_are_numbers(kind: type):
    assert se.FBeta(beta=kind(2)).spec == se.FBeta(beta=2.0).spec
    assert se.AlphaEvaluation(alpha=kind(2), gamma=kind(0)).spec == se.AlphaEvaluation(alpha=2.0, gamma=0.0).spec
    for zero_division in (0, 1):
        assert se.F1(zero_division=kind(zero_division)).spec == se.F1(zero_division=float(zero_division)).spec


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("f1_marco", "f1_macro"),
        ("precison", "precision"),
        ("recal_micro", "recall_micro"),
        ("hamming_los", "hamming_loss"),
        ("jacard_samples", "jaccard_samples"),
        ("subset_acuracy", "subset_accuracy"),
        ("mathews_corrcoef", "matthews_corrcoef"),
        ("recall_of_all_that_was_ever_true", "recall"),
        ("labelset", "labelset_peak"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(wrong: str, nearest: str):
    for refused in (lambda: se.Evaluator([wrong]), lambda: se.Evaluator().get(wrong)):
        with pytest.raises(se.MetricError, match=f"'{wrong}'; did you mean '{nearest}'"):
            refused()


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("F1_MACRO", "f1_macro"), (" f1 macro ", "f1_macro"), ("micro-F1", "f1_micro"), ("F1", "f1_macro"),
        ("per label f1", "f1_per_label"), ("f1 per label", "f1_per_label"), ("ROC-AUC micro", "roc_auc_micro"),
        ("FBETA(Beta=2, zero_division=NaN)", "fbeta_macro(beta=2, zero_division=nan)"),
        ("F2", "fbeta_macro(beta=2)"), ("macro f0.5", "fbeta_macro(beta=0.5)"),
        ("precision@3", "precision_at(k=3)"), ("Recall@3 ", "recall_at(k=3)"), ("P_at_3", "precision_at(k=3)"),
        ("ndcg@10", "ndcg(k=10)"), ("mAP@10", "map_at(k=10)"), ("emr", "subset_accuracy"),
        ("exact match", "subset_accuracy"), ("recall at precision", "recall_at_precision_macro"),
        ("accuracy_per_label", "accuracy_per_label"), ("macro accuracy", "accuracy_macro"),
        ("f1_score", "f1_macro"), ("macro F1-score", "f1_macro"), ("jaccard_score_samples", "jaccard_samples"),
        ("accuracy_score", "subset_accuracy"), ("R@3", "recall_at(k=3)"), ("PR AUC", "average_precision_macro"),
        ("F-measure micro", "f1_micro"), ("F-score", "f1_macro"), ("MicroF1", "f1_micro"), ("F1Micro", "f1_micro"),
        ("MacroF1Score", "f1_macro"), ("HammingLoss", "hamming_loss"), ("rocAucMicro", "roc_auc_micro"),
        ("AccuracyScore", "subset_accuracy"), ("microPrecision", "precision_micro"), ("NDCG@3", "ndcg(k=3)"),
        ("F1 (micro)", "f1_micro"), ("F1(per label)", "f1_per_label"), ("f1_score(average='micro')", "f1_micro"),
        ("f1_score(average=None)", "f1_per_label"), ("ndcg(k=None)", "ndcg"),
        ("coverage error (minus_one=True)", "coverage_error(minus_one=true)"),
        ("log loss(cap=none, eps=0.5)", "log_loss_macro(eps=0.5)"),
        ("F-beta (samples, beta=2)", "fbeta_samples(beta=2)"), ("MLCMPrecision(average=Macro)", "mlcm_precision_macro"),
    ],
)  # fmt: skip
def test_names_are_read_as_people_write_them(name: str, key: str):
    assert se.metric(name).spec.key == se.Evaluator([name]).metrics[0].key == key
    assert [*se.score(np.array([[1, 0]]), np.array([[0.9, 0.2]]), [name], threshold=0.5)] == [key]


@pytest.mark.parametrize(
    ("name", "meanings"),
    [
        ("accuracy", ("subset_accuracy", "accuracy_macro")), ("acc", ("subset_accuracy", "accuracy_macro")),
        ("Accuracy", ("subset_accuracy", "accuracy_macro")),
        ("mAP", ("average_precision_macro", "map_at")), ("mAP macro", ("average_precision_macro", "map_at")),
        ("hamming", ("hamming_loss", "hamming_score")),
    ],
)  # fmt: skip
def test_names_with_more_than_one_meaning_are_refused_with_their_meanings(name: str, meanings: tuple[str, str]):
    for refused in (lambda: se.metric(name), lambda: se.Evaluator([name]), lambda: se.Evaluator().get(name)):
        with pytest.raises(se.MetricError, match="more than one meaning") as caught:
            refused()
        assert all(re.search(rf"\b{meaning} \(", str(caught.value)) for meaning in meanings)


def test_a_name_with_two_averages_an_unknown_average_or_two_metrics_is_refused():
    assert se.metric("f1_macro", average="macro").spec.key == "f1_macro"
    assert se.Accuracy().spec.key == se.metric("accuracy", average="macro").spec.key == "accuracy_macro"
    with pytest.raises(se.MetricError, match="names an average, and average is 'micro'"):
        se.metric("f1_macro", average="micro")
    for name in ("f1_macro(micro)", "f1(macro, micro)", "f1_micro(average=micro)"):
        with pytest.raises(se.MetricError, match=r"cannot read '(micro|macro)' in|f1 has no parameter 'average'"):
            se.metric(name)
    with pytest.raises(se.MetricError, match=r"f1 has no average 'mirco'; .* did you mean 'micro'"):
        se.metric("f1_score(average='mirco')")
    with pytest.raises(se.MetricError, match=r"write \['f1_micro', 'fbeta\(beta=2, zero_division=1\)'\]"):
        se.Evaluator(["f1_micro, fbeta(beta=2, zero_division=1)"])
    with pytest.raises(se.MetricError, match="'f1_mcro'; did you mean 'f1_micro' or 'f1_macro'"):
        se.metric("f1_mcro")


def test_metric_refuses_an_unknown_name_with_the_nearest_one():
    with pytest.raises(se.MetricError, match="'fbta'; did you mean 'fbeta'"):
        se.metric("fbta")


@pytest.mark.parametrize("name", [None, 5, b"f1", ["f1"], {"f1"}, se.F1])
def test_a_name_that_is_no_string_is_refused(name: object):
    with pytest.raises(se.MetricError, match="there is no metric"):
        se.metric(name)


@pytest.mark.parametrize("name", ["tp_per_label", "support", "confusion matrix"])
def test_a_name_of_counts_points_to_the_counts(name: str):
    with pytest.raises(se.MetricError, match=rf"no metric '{name}'; Evaluator.per_label\(\) returns the counts"):
        se.Evaluator([name])


def test_a_name_near_nothing_points_to_the_catalogue():
    for refused in (lambda: se.metric("xyzzy"), lambda: se.Evaluator(["xyzzy"])):
        with pytest.raises(se.MetricError, match=r"'xyzzy'; see streameval\.catalogue\(\)"):
            refused()


@pytest.mark.parametrize(
    "beta",
    [0, 0.0, -0.0, -1, -1e-300, math.inf, -math.inf, math.nan, 10**400, "2", True, None, 1j, [1.0]],
    ids=lambda beta: repr(beta)[:9],
)
@pytest.mark.parametrize("name", ["fbeta", "fbeta_of_averages"])
def test_a_beta_that_is_not_a_positive_number_is_refused(name: str, beta: object):
    with pytest.raises(se.MetricError, match=rf"beta of {name} must be a number in \(0, inf\)"):
        se.metric(name, beta=beta)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("alpha", -1.0), ("alpha", -5e-324), ("alpha", math.nan), ("alpha", "1"), ("alpha", False), ("alpha", 10**400),
        ("beta", -0.1), ("beta", 1.1), ("beta", math.nan), ("beta", math.inf), ("beta", None),
        ("gamma", -0.1), ("gamma", 1.0000000000000002), ("gamma", math.nan), ("gamma", -math.inf),
    ],
    ids=lambda value: repr(value)[:9],
)  # fmt: skip
def test_a_parameter_outside_its_range_is_refused(parameter: str, value: object):
    with pytest.raises(se.MetricError, match=f"{parameter} of alpha_evaluation must be a number in"):
        se.AlphaEvaluation(**{parameter: value})


@pytest.mark.parametrize("value", [2, -1, 0.5, math.inf, "nan", "warn", True, False, 1j, [0.0]])
def test_a_zero_division_other_than_zero_one_and_nan_is_refused(value: object):
    for make in (se.F1, se.Jaccard, se.SubsetAccuracy):
        with pytest.raises(se.MetricError, match=r"zero_division must be 0, 1 or nan"):
            make(zero_division=value)


@pytest.mark.parametrize("value", ["", "zeros", "none", None, 0, "Drop"])
def test_an_unknown_convention_for_empty_examples_is_refused(value: object):
    with pytest.raises(se.MetricError, match="empty must be one of 'zero_division', 'zero', 'one', 'nan', 'drop'"):
        se.F1(average="samples", empty=value)


@pytest.mark.parametrize("name", NAMES)
def test_an_average_that_does_not_exist_is_refused(name: str):
    for average in ("binary", "mirco", "", "none", 1, True, ("micro",)):
        with pytest.raises(se.MetricError, match=f"{name} has no average"):
            se.metric(name, average=average)


@pytest.mark.parametrize("name", NAMES)
def test_an_average_that_the_entry_does_not_have_is_refused(name: str):
    for average, suffix in (("micro", "micro"), ("macro", "macro"), ("weighted", "weighted"), (None, "per_label")):
        if average not in ENTRIES[name].averages:
            with pytest.raises(se.MetricError, match=f"{name} has no average"):
                se.metric(name, average=average)
            with pytest.raises(se.MetricError, match=f"{name} has no average"):
                se.Evaluator([f"{name}_{suffix}"])


def test_an_average_misspelt_is_refused_with_the_nearest_one():
    with pytest.raises(se.MetricError, match="did you mean 'micro'"):
        se.F1(average="mirco")


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_that_the_entry_does_not_have_is_refused(name: str):
    kind = getattr(se, ENTRIES[name].class_name)
    with pytest.raises(se.MetricError, match=f"{name} has no parameter 'delta'"):
        kind(delta=1.0)
    if not PARAMETERS[name]:
        with pytest.raises(se.MetricError, match=f"{name} has no parameter 'beta'; it takes .*zero_division"):
            kind(beta=2.0)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "f1_macro(", "f1_macro)", "f1_macro()x", "fbeta(2)", "fbeta(beta)", "fbeta(beta=)",
        "fbeta(beta=two)", "fbeta(beta=1, beta=2)", "fbeta(beta=2)(beta=2)", "fbeta(beta=0)", "fbeta(beta=nan)",
        "f1(zero_division=2)", "f1(empty=none)", "f1(zero_division=)", "f1@", "@5", "f1_macro_micro", "_macro", "macro",
    ],
)  # fmt: skip
def test_a_text_that_is_no_metric_is_refused(text: str):
    with pytest.raises(se.MetricError) as refusal:
        se.Evaluator([text])
    if "not a metric name" in str(refusal.value):
        assert "write for example 'f1_macro'" in str(refusal.value)


@pytest.mark.parametrize("metric", [None, 1, 1.5, b"f1", se.F1, ["f1"], {"f1": 1}])
def test_a_metric_that_is_no_name_spec_or_object_is_refused(metric: object):
    with pytest.raises(se.MetricError, match="must be a name, a spec or a metric object"):
        se.Evaluator([metric])


def test_a_class_of_metrics_is_refused_with_the_object_to_write():
    with pytest.raises(se.MetricError, match=r"write F1\(\)"):
        se.Evaluator([se.F1])


def test_get_with_a_list_of_metrics_returns_a_dict_of_their_values():
    ev = se.Evaluator(["f1_micro"])
    ev.update({"a", "b"}, {"a"})
    assert ev.get(["f1 macro", se.Recall("micro")]) == {"f1_macro": ev["f1_macro"], "recall_micro": 0.5}
    assert ev.get([]) == {}


def test_a_string_in_place_of_the_list_of_metrics_is_refused():
    with pytest.raises(se.MetricError, match=r"write \['f1_macro'\]"):
        se.Evaluator("f1_macro")


@pytest.mark.parametrize(("metrics", "message"), [
    (5, r"metrics must be a list of names, specs or metric objects, not 5$"), (None, "metrics must be a list"),
    ({"f1": "f1_micro"}, "metrics must be a list"), (int, r"metrics must be a list .*, not <class 'int'>$"),
    (se.F1, r"metrics must be a list .*; write \[F1\(\)\]$"), ([se.F1], r"a metric must be .*; write F1\(\)$"),
    ([int], r"a metric must be a name, a spec or a metric object, not <class 'int'>$"), ([5], r"a metric .*, not 5$"),
], ids=str)  # fmt: skip
def test_what_is_no_list_of_metrics_is_refused(metrics: object, message: str):
    with pytest.raises(se.MetricError, match=message):
        se.Evaluator(metrics)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_average_may_be_passed_without_its_name(name: str):
    kind, average = getattr(se, ENTRIES[name].class_name), ENTRIES[name].averages[-1]
    assert kind(average).spec == kind(average=average).spec
    for positional, named in ((("nonsense",), {}), ((average, 2), {}), ((average,), {"average": average})):
        with pytest.raises(se.MetricError, match="only the average, such as"):
            kind(*positional, **named)


def test_the_base_class_has_no_formula():
    with pytest.raises(TypeError, match="no formula"):
        se.Metric()
