"""The nine laws of every state, and consequences of them, for evaluators and single metrics."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from collections import deque
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import streameval as se
from tests.support.each import with_each
from tests.support.effort import cases, crossed
from tests.support.entries import decided_entries
from tests.support.streams import (
    KINDS,
    Example,
    Stream,
    counted,
    feed_many,
    readings,
    snapshot,
    streams,
    weights,
)

CHECK = settings(max_examples=cases(40))
PACKAGE = str(Path(se.__file__).parent)
MOST = 2**63 - 1

Target = se.Evaluator | se.Metric


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Stream, list[Example], list[Example]]:
    """A stream, and its examples split into two parts."""
    stream = draw(streams())
    cut = draw(st.integers(0, len(stream.examples)))
    return stream, stream.examples[:cut], stream.examples[cut:]


# -- the nine laws ----------------------------------------------------------------------------------------------------


@CHECK
@given(streams(), st.data())
def test_associative_three_may_be_merged_in_either_grouping(stream: Stream, data: st.DataObject):
    parts: list[list[Example]] = [[], [], []]
    for example in stream.examples:
        parts[data.draw(st.integers(0, 2))].append(example)
    a, b, c = map(stream.fed, parts)
    assert ((a + b) + c).to_bytes() == (a + (b + c)).to_bytes()


@settings(CHECK, max_examples=cases(1000))
@given(streams(), st.data())
def test_split_any_sharding_order_and_batching_gives_the_same_bytes_and_bits(stream: Stream, data: st.DataObject):
    whole = stream.fed()
    shuffled = data.draw(st.permutations(stream.examples))
    merged = stream.fresh()
    while shuffled:
        size = data.draw(st.integers(1, len(shuffled)))
        part, shuffled = shuffled[:size], shuffled[size:]
        shard = stream.fresh()
        if data.draw(st.booleans()):
            feed_many(shard, part, iterators=data.draw(st.booleans()), again=data.draw(st.booleans()))
        else:
            for example in part:
                example.update(shard, again=data.draw(st.booleans()))
        if data.draw(st.booleans()):
            shard.merge(merged)
            merged = shard
        else:
            merged.merge(shard)
    assert merged.to_bytes() == whole.to_bytes()
    assert merged == whole
    assert readings(merged) == readings(whole)


@CHECK
@given(pairs(), st.data())
def test_inverse_reverting_in_any_order_undoes_updating(
    pair: tuple[Stream, list[Example], list[Example]], data: st.DataObject
):
    stream, retained, passing = pair
    target = stream.fresh()
    for example in data.draw(st.permutations([*retained, *passing])):
        example.update(target)
    noted = target.input_summary
    for example in data.draw(st.permutations(passing)):
        example.revert(target, again=data.draw(st.booleans()))
    assert not target.examples or target.input_summary == noted
    only_retained = stream.fed(retained)
    assert target.to_bytes() == only_retained.to_bytes()
    assert target == only_retained
    assert readings(target) == readings(only_retained)


@CHECK
@given(streams())
def test_round_trip_bytes_bring_back_an_equal_object_that_can_go_on(stream: Stream):
    target = stream.fed()
    back = type(target).from_bytes(target.to_bytes())
    assert type(back) is type(target)
    assert back == target
    assert back.to_bytes() == target.to_bytes()
    assert readings(back) == readings(target)
    for example in stream.examples:
        example.update(back)
        example.update(target)
    assert back.to_bytes() == target.to_bytes()
    for example in stream.examples * 2:
        example.revert(back)
    assert back.to_bytes() == stream.fresh().to_bytes()


@CHECK
@given(pairs(), st.data())
def test_canonical_bytes_do_not_tell_the_history(
    pair: tuple[Stream, list[Example], list[Example]], data: st.DataObject
):
    stream, retained, passing = pair
    plain = stream.fed(retained)
    eventful = stream.fed(passing)
    for example in retained:
        example.update(eventful)
        eventful = data.draw(
            st.sampled_from([eventful, eventful.copy(), type(eventful).from_bytes(eventful.to_bytes())])
        )
    for example in passing:
        example.revert(eventful)
    eventful.merge(stream.fresh())
    assert eventful.to_bytes() == plain.to_bytes()
    assert (eventful == plain) is True


def never_seen(target: Target) -> None:
    target.revert({"fresh"}, {"fresh"})


def no_decision(target: Target) -> None:
    target.update({"fresh": 1}, {"fresh": "yes"})


BROKEN: tuple[Callable[[Target], None], ...] = (
    lambda target: target.update({"fresh"}, {None}),
    no_decision,
    lambda target: target.update({"fresh"}, {"fresh"}, weight=-1.0),
    lambda target: target.update({"fresh"}, {"fresh"}, mask={2.5}),
    lambda target: target.update_many([{"fresh"}, {"fresher"}], [{"fresh"}, {b"x"}]),
    lambda target: target.update_many([{"fresh"}] * 3, [{"fresh"}] * 2),
    lambda target: target.update_many([{"fresh"}] * 2, [{"fresh"}] * 2, weights=[1.0, math.inf]),
    never_seen,
    lambda target: target.merge(object()),
    lambda target: target.merge(se.Accuracy()),
)


@CHECK
@given(streams(), st.data())
def test_atomic_calls_that_raise_leave_no_trace(stream: Stream, data: st.DataObject):
    target, reference = stream.fresh(), stream.fed()
    for example in [*stream.examples, None]:
        for attempt in data.draw(st.lists(st.sampled_from(BROKEN), max_size=3)):
            if attempt in (never_seen, no_decision) and stream.setup.unknown == "ignore":
                continue  # all its labels are ignored, so this is a valid empty example
            before = target.to_bytes(), target.input_summary
            with pytest.raises(se.StreamevalError):
                attempt(target)
            assert (target.to_bytes(), target.input_summary) == before
        if example is not None:
            example.update(target)
    assert target.to_bytes() == reference.to_bytes()
    assert readings(target) == readings(reference)


def spoiled(value: object) -> None:
    """Modify every part of an argument that is mutable."""
    if isinstance(value, np.ndarray):
        value[...] = value[::-1].copy() if value.dtype == object else 0
    elif isinstance(value, set | dict):
        value.clear()
        value.update({"spoiled": 1} if isinstance(value, dict) else {"spoiled"})
    elif isinstance(value, list):
        for part in value:
            spoiled(part)
        value[:] = ["spoiled"]


@CHECK
@given(streams())
def test_no_aliasing_arguments_of_update_are_neither_changed_nor_retained(stream: Stream):
    target, reference = stream.fresh(), stream.fed()
    for example in stream.examples:
        passed_once = copy_of(example.said)
        before = snapshot(passed_once)
        true, pred, mask = passed_once
        target.update(true, pred, mask=mask, weight=example.weight)
        assert snapshot(passed_once) == before
        for part in passed_once:
            spoiled(part)
    assert target.to_bytes() == reference.to_bytes()


def copy_of(said: tuple[object, ...]) -> tuple[object, ...]:
    """A deep copy, except of read-only views."""
    return tuple(part if type(part).__name__ in ("mappingproxy", "dict_keys") else copy.deepcopy(part) for part in said)


@CHECK
@given(streams())
def test_no_aliasing_arguments_of_update_many_are_neither_changed_nor_retained(stream: Stream):
    target, reference = stream.fresh(), stream.fed()
    said = [copy_of(example.said) for example in stream.examples]
    columns = [[row[0] for row in said], [row[1] for row in said]]
    masks = [set() if row[2] is None else row[2] for row in said]
    factors = [example.weight for example in stream.examples]
    before = snapshot([columns, masks, factors])
    target.update_many(*columns, mask=masks, weights=factors)
    assert snapshot([columns, masks, factors]) == before
    spoiled([columns, masks, factors])
    assert target.to_bytes() == reference.to_bytes()


@pytest.mark.parametrize("container", ["array", "csr", "coo with duplicates", "pandas", "arrow", "threshold"])
def test_no_aliasing_arrays_and_tables_are_neither_changed_nor_retained(container: str):
    bits = np.random.default_rng(5).integers(0, 2, (40, 6))
    factors = np.linspace(0.5, 2.0, 40)
    limits = np.full(6, 0.5)
    made = {
        "array": lambda: bits.astype(np.uint8),
        "csr": lambda: sp.csr_array(bits),
        "coo with duplicates": lambda: sp.csr_array(
            (np.array([2.0, -1.0, 1.0]), np.array([3, 3, 0]), np.array([0, 3, *[3] * 39])), shape=(40, 6)
        ),
        "pandas": lambda: pd.DataFrame(bits),
        "arrow": lambda: pa.table({str(column): bits[:, column] for column in range(6)}),
        "threshold": lambda: bits.astype(np.float64),
    }[container]
    setup = {"labels": [str(column) for column in range(6)]} if container == "arrow" else {}
    if container == "threshold":
        setup = {"labels": range(6), "threshold": limits}
    input_true, input_pred = made(), made()
    target, reference = se.Evaluator(**setup), se.Evaluator(**setup)
    limits[:] = 0.5
    reference.update_many(made(), made(), weights=factors.copy())
    target.update_many(input_true, input_pred, weights=factors)
    before = target.to_bytes()
    for one in (input_true, input_pred):
        if sp.issparse(one):
            fresh = made()
            assert [part.tolist() for part in (one.data, one.indices, one.indptr)] == [
                part.tolist() for part in (fresh.data, fresh.indices, fresh.indptr)
            ]
            one.data[:] = 0
            one.indices[:] = 0
        elif isinstance(one, np.ndarray):
            assert (one == made()).all()
            one[:] = 1
        else:
            assert one.equals(made())
            if isinstance(one, pd.DataFrame):
                one.iloc[:, :] = 1
    assert factors.tolist() == np.linspace(0.5, 2.0, 40).tolist()
    factors[:] = 7.0
    limits[:] = -5.0
    assert target.to_bytes() == before == reference.to_bytes()


@CHECK
@given(pairs())
def test_no_aliasing_merged_objects_stay_as_they_are_and_independent(pair: tuple[Stream, list[Example], list[Example]]):
    stream, first, second = pair
    a, b = stream.fed(first), stream.fed(second)
    before = b.to_bytes()
    a.merge(b)
    assert b.to_bytes() == before
    merged = a.to_bytes()
    for example in second:
        example.revert(b)
    assert a.to_bytes() == merged
    for example in stream.examples:
        example.revert(a)
    assert b.to_bytes() == a.to_bytes() == stream.fresh().to_bytes()


# -- counts -----------------------------------------------------------------------------------------------------------


@CHECK
@given(streams())
def test_outcomes_of_each_label_equal_those_of_plain_loops(stream: Stream):
    def nearest(value: Fraction) -> float:
        try:
            return float(value)
        except OverflowError:
            return math.inf

    target = stream.fed()
    expected = counted(stream.setup, stream.examples)
    table = target.per_label()
    assert list(table.labels) == list(target.labels) == list(expected)
    assert target.examples == len(stream.examples)
    assert target.weight == nearest(sum(map(Fraction, (example.weight for example in stream.examples)), Fraction(0)))
    for position, result in enumerate(zip(table.tp, table.fp, table.fn, table.tn, strict=True)):
        assert list(result) == [nearest(value) for value in expected[table.labels[position]]]


@pytest.mark.parametrize("weighted", [False, True])
def test_hundreds_of_shardings_give_the_same_bits(weighted: bool):
    drawn = random.Random(11)
    factors = [5e-324, 1e-200, 0.1, 1 / 3, 1.0, 7.0, 1e17, 1e200, 1.7e308]
    stream = [
        (
            {name for name in "abcdef" if drawn.random() < 0.4},
            {name for name in "abcdefg" if drawn.random() < 0.4},
            drawn.choice(factors) if weighted else 1.0,
        )
        for _ in range(20)
    ]
    names = ["f1_macro", "f1_samples", "mcc_macro", "jaccard_per_label"]

    def shard(part: list[tuple[set[str], set[str], float]]) -> se.Evaluator:
        made = se.Evaluator(names)
        size = drawn.randint(1, 12)
        if size == 1:
            for true, pred, weight in part:
                made.update(true, pred, weight=weight)
            return made
        for start in range(0, len(part), size):
            true, pred, weight = zip(*part[start : start + size], strict=True)
            made.update_many(list(true), iter(pred), weights=weight if weighted else None)
        return made

    whole = shard(stream)
    expected, expected_bytes = readings(whole), whole.to_bytes()
    for _ in range(cases(1000)):
        shuffled = drawn.sample(stream, len(stream))
        cuts = sorted(drawn.sample(range(len(stream)), drawn.randint(0, 4)))
        bounds = zip([0, *cuts], [*cuts, len(stream)], strict=True)
        parts = [shard(shuffled[start:stop]) for start, stop in bounds]
        while len(parts) > 1:
            taken = parts.pop(drawn.randrange(len(parts)))
            parts[drawn.randrange(len(parts))].merge(taken)
        assert parts[0].to_bytes() == expected_bytes
        assert str(parts[0].get()) == str(whole.get())
    assert readings(parts[0]) == expected


def rows_of(input_form: object) -> Iterator[object]:
    """The examples of a batch, each as a row of the same form."""
    if isinstance(input_form, pd.DataFrame):
        return (input_form.iloc[position] for position in range(len(input_form)))
    if isinstance(input_form, pl.DataFrame):
        return input_form.iter_rows(named=True)
    if isinstance(input_form, pa.Table | pa.Array | pa.ChunkedArray):
        return iter(input_form.to_pylist())
    if sp.issparse(input_form):
        return iter(input_form.toarray())
    return iter(input_form)


LETTERS = tuple("abcde")
BATCHES: dict[str, Callable[[np.ndarray], object]] = {
    "bool array": lambda bits: bits.astype(bool),
    "float array": lambda bits: bits.astype(float),
    "Fortran array": np.asfortranarray,
    "object array": lambda bits: bits.astype(object),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "rows": list,
    "pandas": lambda bits: pd.DataFrame(bits, columns=LETTERS),
    "pandas boolean": lambda bits: pd.DataFrame(bits, columns=LETTERS).astype("boolean"),
    "polars": lambda bits: pl.DataFrame(bits, schema=list(LETTERS), orient="row"),
    "arrow table": lambda bits: pa.table(dict(zip(LETTERS, bits.T, strict=True))),
    "sets": lambda bits: [{label for label, bit in zip(LETTERS, row, strict=True) if bit} for row in bits],
    "arrow lists": lambda bits: pa.array(listed(bits), pa.list_(pa.string())),
    "pandas lists": lambda bits: pd.Series(listed(bits)),
    "polars lists": lambda bits: pl.Series(listed(bits), dtype=pl.List(pl.String)),
}


def listed(bits: np.ndarray) -> list[list[str]]:
    return [[label for label, bit in zip(LETTERS, row, strict=True) if bit] for row in bits]


@with_each("weighted", [False, True])
@with_each("form", BATCHES)
def test_update_many_equals_updating_one_by_one(form: str, weighted: bool):
    drawn = np.random.default_rng(3)
    true, pred = drawn.integers(0, 2, (2, 33, 5))
    factors = drawn.choice([0.0, 0.1, 1.0, 3e-300, 2e300], 33) if weighted else np.ones(33)
    at_once, one_by_one, batches = (se.Evaluator(labels=LETTERS) for _ in range(3))
    y_true, y_pred = BATCHES[form](true), BATCHES[form](pred)
    at_once.update_many(y_true, y_pred, weights=factors if weighted else None)
    for a, b, weight in zip(rows_of(y_true), rows_of(y_pred), factors, strict=True):
        one_by_one.update(a, b, weight=float(weight))
    for start in range(0, 33, 7):
        part = slice(start, start + 7)
        batches.update_many(BATCHES[form](true[part]), BATCHES[form](pred[part]), weights=factors[part])
    assert at_once.to_bytes() == one_by_one.to_bytes() == batches.to_bytes()


@pytest.mark.parametrize("frame", ["Int64", "boolean", "Float64", "float64", "object"])
def test_a_row_of_a_frame_with_missing_truths_is_read_like_the_whole_frame(frame: str):
    truth = pd.DataFrame({"a": [1, None, 0], "b": [None, 1, 1]}, dtype=object).astype(frame)
    guess = pd.DataFrame({"a": [1, 1, 0], "b": [0, 1, 0]})
    at_once, one_by_one = se.Evaluator(), se.Evaluator()
    at_once.update_many(truth, guess)
    for position in range(3):
        one_by_one.update(truth.iloc[position], guess.iloc[position])
    assert one_by_one.to_bytes() == at_once.to_bytes()


def test_batches_longer_than_any_internal_piece_equal_updating_one_by_one():
    drawn = random.Random(1)
    true = [{drawn.choice("abc"), drawn.choice("abcd")} for _ in range(70_000)]
    pred = [[drawn.choice("abce")] for _ in range(70_000)]
    factors = [drawn.choice([0.1, 0.7, 1e-9, 3.0]) for _ in range(70_000)]
    for input_weights in (None, factors):
        at_once, one_by_one = se.Evaluator(), se.Evaluator()
        at_once.update_many(iter(true), iter(pred), weights=input_weights)
        for a, b, weight in zip(true, pred, input_weights or [1.0] * len(true), strict=True):
            one_by_one.update(a, b, weight=weight)
        assert at_once.to_bytes() == one_by_one.to_bytes()


# -- objects as values ------------------------------------------------------------------------------------------------


@CHECK
@given(streams())
def test_copies_are_equal_and_independent(stream: Stream):
    target = stream.fed()
    before = target.to_bytes()
    twins = [target.copy(), copy.copy(target), copy.deepcopy(target), pickle.loads(pickle.dumps(target))]
    twins += [pickle.loads(pickle.dumps(target, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL)]
    for twin in twins:
        assert type(twin) is type(target)
        assert twin == target
        assert twin.to_bytes() == before
        for example in stream.examples:
            example.update(twin)
        assert target.to_bytes() == before
        for example in stream.examples * 2:
            example.revert(twin)
        assert twin.to_bytes() == stream.fresh().to_bytes()
        assert target.to_bytes() == before


@CHECK
@given(pairs())
def test_adding_makes_a_new_object(pair: tuple[Stream, list[Example], list[Example]]):
    stream, first, second = pair
    a, b = stream.fed(first), stream.fed(second)
    before = a.to_bytes(), b.to_bytes()
    assert (a + b).to_bytes() == sum([a, b, stream.fresh()]).to_bytes() == stream.fed().to_bytes()
    total = sum([a])
    total.merge(b)
    assert (a.to_bytes(), b.to_bytes()) == before


@CHECK
@given(streams())
def test_merging_with_itself_doubles(stream: Stream):
    target = stream.fed()
    twice = stream.fed(stream.examples * 2)
    doubled = target + target
    target.merge(target)
    assert target.to_bytes() == doubled.to_bytes() == twice.to_bytes()
    assert readings(target) == readings(twice)


@CHECK
@given(streams())
def test_resetting_gives_a_fresh_object(stream: Stream):
    target = stream.fed()
    target.reset()
    assert target == stream.fresh()
    assert target.to_bytes() == stream.fresh().to_bytes()
    for example in stream.examples:
        example.update(target)
    assert target.to_bytes() == stream.fed().to_bytes()


@CHECK
@given(pairs())
def test_objects_are_equal_exactly_if_their_bytes_are(pair: tuple[Stream, list[Example], list[Example]]):
    stream, first, second = pair
    a, b = stream.fed(first), stream.fed(second)
    assert (a == b) is (a.to_bytes() == b.to_bytes())
    assert (a != b) is (a.to_bytes() != b.to_bytes())
    assert a != a.to_bytes()
    with pytest.raises(TypeError):
        hash(a)


def test_objects_of_different_configuration_are_not_equal():
    made = [
        se.Evaluator(), se.Evaluator(["f1_macro"]), se.F1(), se.F1(average="micro"), se.Precision(),
        se.Evaluator(labels=[]), se.Evaluator(labels=["a"]), se.Evaluator(labels=["a"], unknown="add"),
        se.Evaluator(threshold=0.5), se.Evaluator(threshold={"a": 0.5}), se.Evaluator(labels=["a"], threshold=0.5),
    ]  # fmt: skip
    for i, one in enumerate(made):
        for j, other in enumerate(made):
            assert (one == other) is (i == j)
            assert (one.to_bytes() == other.to_bytes()) is (i == j)


@CHECK
@given(streams())
def test_reading_changes_nothing(stream: Stream):
    target = stream.fed()
    before = target.to_bytes()
    first = readings(target)
    table = target.per_label()
    for column in (table.tp, table.fp, table.fn, table.tn, table.support, table.predicted):
        column[:] = 77
    value = target.get()
    if isinstance(value, dict):
        value.clear()
    assert readings(target) == first
    assert target.to_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_object_answers(kind: str):
    assert readings(KINDS[kind]()) == readings(KINDS[kind]())


def test_labels_without_an_order_are_refused():
    # Equal sets may iterate in different orders, for example in another process.
    with pytest.raises(se.LabelError, match="labels must be in order, not a set; give a list"):
        se.Evaluator(labels={0, 8})


# -- extreme weights --------------------------------------------------------------------------------------------------


def test_every_metric_can_be_read_whatever_the_weights():
    ev = se.Evaluator([])
    ev.update({"a"}, set(), weight=5e-324)
    for _ in range(3):
        ev.update({"b"}, {"a"}, weight=1.7e308)
    for entry in decided_entries():
        for average in entry.averages:
            value = ev.get(se.metric(entry.name, average=average))
            for part in value.values() if isinstance(value, dict) else [value]:
                assert math.isnan(part) or entry.low <= part <= entry.high, (entry.name, average)


def test_reports_can_be_written_whatever_the_weights():
    ev = se.Evaluator()
    for weight in (1.7e308, 1.7e308, 5e-324):
        ev.update({"a"}, {"a"}, weight=weight)
    assert ev.weight == math.inf
    assert "a" in repr(ev)
    assert "f1_macro" in ev.report()
    assert "f1_macro" in ev._repr_html_()


@CHECK
@given(st.lists(weights(), min_size=1, max_size=20))
def test_total_weight_is_the_rounded_exact_sum(input_weights: list[float]):
    ev = se.Evaluator()
    ev.update_many([{"a"}] * len(input_weights), [{"a"}] * len(input_weights), weights=input_weights)
    exact = sum(map(Fraction, input_weights), Fraction(0))
    assert ev.weight == (math.inf if exact >= Fraction(2) ** 1024 - Fraction(2) ** 970 else float(exact))


# -- labels that come and go ------------------------------------------------------------------------------------------


def test_a_label_whose_last_example_was_reverted_is_gone():
    for weight in (1.0, 0.3):
        ev = se.Evaluator(["hamming_loss"])
        ev.update({"a"}, {"b"}, weight=weight)
        one = ev.to_bytes(), readings(ev)
        assert ev.get("hamming_loss") == 1.0
        ev.update({"a", "\U0001f642"}, {"a", 5}, weight=weight)
        assert ev.labels == (5, "a", "b", "\U0001f642")
        assert ev.get("hamming_loss") == 0.5
        ev.revert({"a", "\U0001f642"}, {"a", 5}, weight=weight)
        assert ev.labels == ("a", "b")
        assert (ev.to_bytes(), readings(ev)) == one


def test_a_label_mentioned_only_as_false_counts_until_it_is_reverted():
    ev = se.Evaluator()
    ev.update({"a": True}, {"a": True})
    ev.update({"a": True, "b": False}, {"a": False})
    assert ev.labels == ("a", "b")
    assert ev.get("hamming_loss") == 0.25
    ev.revert({"a": True, "b": False}, {"a": False})
    assert ev.labels == ("a",)
    assert ev.get("hamming_loss") == 0.0


def test_a_declared_label_stays_when_its_last_example_is_reverted():
    ev = se.Evaluator(labels=["a", "b"], unknown="add")
    ev.update({"a", "c"}, set())
    ev.revert({"a", "c"}, set())
    assert ev.labels == ("a", "b")
    assert ev == se.Evaluator(labels=["a", "b"], unknown="add")


def test_equal_objects_accept_the_same_input():
    fresh, eventful = se.Evaluator(), se.Evaluator()
    eventful.update({"word"}, set())
    eventful.revert({"word"}, set())
    assert eventful == fresh
    fresh.update_many(np.eye(2), np.eye(2))
    eventful.update_many(np.eye(2), np.eye(2))
    assert eventful == fresh


def test_whether_nameless_columns_are_accepted_does_not_depend_on_the_order():
    def outcome(*batches: object) -> object:
        ev = se.Evaluator()
        try:
            for batch in batches:
                ev.update_many(batch, batch)
        except se.InputError:
            return "refused"
        return ev.to_bytes()

    words, matrix = [{"word"}], np.eye(2)
    assert outcome(words, matrix) == outcome(matrix, words)


@pytest.mark.parametrize(("fresh_labels", "weighted"), crossed([0.5, 1, 2, 5], [False, True]))
def test_label_churn_under_a_sliding_window_stays_bounded(fresh_labels: float, weighted: bool):
    ev, window = se.Evaluator(), deque()
    largest = 0
    for step in range(2500):
        names = (
            {f"{step}-{part}" for part in range(math.ceil(fresh_labels))} if step % 2 or fresh_labels >= 1 else set()
        )
        example = (names | {"always"}, {"always"}, 0.1 if weighted else 1.0)
        ev.update(*example[:2], weight=example[2])
        window.append(example)
        if len(window) > 40:
            true, pred, weight = window.popleft()
            ev.revert(true, pred, weight=weight)
        largest = max(largest, len(ev._core.labels))  # registered labels, whether or not results show them
    reference = se.Evaluator()
    for true, pred, weight in window:
        reference.update(true, pred, weight=weight)
    assert ev.to_bytes() == reference.to_bytes()
    assert largest <= 64 + 10 * len(ev.labels)


def test_weights_of_pairs_that_come_and_go_in_a_window_stay_bounded():
    names, largest = [str(number) for number in range(60)], 0
    window = se.Rolling(se.Evaluator(labels=names, keep=["cooccurrence"]), size=10)
    for pair in itertools.combinations(names, 2):
        window.update(set(pair), set(), weight=0.5)
        largest = max(largest, len(window._now[0].states.states["pairs"].weights.cell.value.sums))
    assert largest <= 64 + 2 * len(names) + 2 * 10


def test_row_keys_that_come_and_go_stay_bounded():
    names = [str(number) for number in range(100)]
    ev, window = se.Evaluator(labels=names), deque()
    drawn = random.Random(2)
    largest = 0
    for _ in range(4000):
        example = (names[: drawn.randrange(100)], names[drawn.randrange(100) :])
        ev.update(*example)
        window.append(example)
        if len(window) > 20:
            ev.revert(*window.popleft())
        largest = max(largest, ev._core.decisions.table.held())
    assert largest <= 20 + 64 + 2 * len(names)
    reference = se.Evaluator(labels=names)
    for example in window:
        reference.update(*example)
    assert ev.to_bytes() == reference.to_bytes()


def test_labels_of_failed_calls_are_dropped_again():
    ev = se.Evaluator()
    ev.update({"a"}, {"a"})
    for step in range(300):
        with pytest.raises(se.StreamevalError):
            ev.update({f"new-{step}"}, {None})
        with pytest.raises(se.StreamevalError):
            ev.revert({f"other-{step}"}, set())
        with pytest.raises(se.StreamevalError):
            ev.update_many([{f"many-{step}"}], [{2.5}])
    assert ev.labels == ("a",)
    assert len(ev._core.labels) < 100


# -- reverting what was never counted ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("declared", [None, ("a", "b", "c")])
def test_a_wrong_revert_is_refused_or_leaves_a_possible_state(declared: tuple | None, weighted: bool):
    side = st.sets(st.sampled_from(["a", "b", "c"]), max_size=3)
    mask = st.just(set()) | st.sets(st.sampled_from(["a", "c"]), max_size=1)
    example = st.tuples(side, mask, st.sampled_from([1.0, 5.0, 10.0] if weighted else [1.0]))

    @settings(max_examples=cases(250))
    @given(st.lists(example, min_size=2, max_size=4), st.lists(example, min_size=1, max_size=2), st.booleans())
    def check(counted_ones: list, rest: list, both: bool):
        ev = se.Evaluator([], labels=declared)
        for true, hidden, weight in counted_ones:
            ev.update(true, true if both else set(), mask=hidden, weight=weight)
        for true, hidden, weight in rest:
            before = ev.to_bytes()
            try:
                ev.revert(true, true if both else set(), mask=hidden, weight=weight)
            except se.RevertError:
                assert ev.to_bytes() == before
            assert se.Evaluator.from_bytes(ev.to_bytes()) == ev

    check()


def test_a_wrong_revert_never_leaves_an_example_with_more_labels_than_there_are():
    ev = se.Evaluator([])
    for true in ({"a", "b", "c"}, {"a"}, {"b"}):
        ev.update(true, set())
    before = ev.to_bytes()
    try:
        ev.revert({"c"}, set())
    except se.RevertError:
        assert ev.to_bytes() == before
    assert se.Evaluator.from_bytes(ev.to_bytes()) == ev


def test_a_wrong_revert_never_leaves_negative_true_negatives():
    ev = se.Evaluator([])
    ev.update({"a", "b"}, set(), weight=10.0)
    ev.update({"a"}, set(), weight=10.0)
    ev.update({"b"}, set(), weight=1.0)
    before = ev.to_bytes()
    try:
        ev.revert({"b"}, set(), weight=5.0)
    except se.RevertError:
        assert ev.to_bytes() == before
    assert min(ev.per_label().tn) >= 0
    assert se.Evaluator.from_bytes(ev.to_bytes()) == ev


@pytest.mark.parametrize(("seed", "weights"), crossed(range(12), [(1.0,), (1.0, 5.0, 10.0), (0.5, 0.1, 3.0)]))
def test_whether_a_revert_is_refused_depends_on_the_counts_and_not_on_the_history(seed: int, weights: tuple):
    rng = random.Random(seed)
    labels, ubiquitous = list("abcdefgh")[: rng.choice([2, 3, 5, 8])], rng.random() < 0.5
    ev, counted_ones = se.Evaluator([], labels=rng.choice([None, labels])), []

    def example() -> tuple[set[str], set[str], float]:
        true, pred = ({label for label in labels if rng.random() < rng.choice([0.2, 0.8])} for _ in range(2))
        return true | {"a"} if ubiquitous else true, pred, rng.choice(weights)

    refused = 0
    for _ in range(200):
        drawn = rng.random()
        if drawn < 0.5:
            counted_ones.append(example())
            true, pred, weight = counted_ones[-1]
            ev.update(true, pred, weight=weight)
        elif drawn < 0.95:
            right = counted_ones and rng.random() < 0.7
            true, pred, weight = counted_ones.pop(rng.randrange(len(counted_ones))) if right else example()
            twin = se.Evaluator.from_bytes(ev.to_bytes())
            answers = []
            for either in (ev, twin):
                try:
                    answers.append(either.revert(true, pred, weight=weight))
                except se.RevertError:
                    answers.append("refused")
            assert answers[0] == answers[1]
            assert ev == twin
            refused += answers[0] == "refused"
        else:
            more = [example() for _ in range(3)]
            counted_ones += more
            ev.update_many([t for t, _, _ in more], [p for _, p, _ in more], weights=[w for _, _, w in more])
    assert refused


# -- overflow ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 0.1, 5e-324, 1e308])
def test_counting_past_63_bits_is_refused_and_changes_nothing(weight: float):
    ev = se.Evaluator(["f1_micro", "f1_samples", "mcc_macro"])
    ev.update({"a", "b"}, {"b", "c"}, weight=weight)
    ev.update({"a", "b"}, {"b", "c"}, weight=weight)
    first = {name: value for name, value in ev.get().items() if name != "n"}
    for _ in range(61):
        ev.merge(ev)
    assert ev.examples == 2**62
    before = ev.to_bytes()
    with pytest.raises(OverflowError, match="9223372036854775807") as caught:
        ev.merge(ev)
    assert isinstance(caught.value, se.StreamevalError)
    assert ev.to_bytes() == before
    assert ev.get() == first
    assert se.Evaluator.from_bytes(before) == ev


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_the_last_example_that_fits_is_counted_and_the_next_is_refused(weight: float):
    power, full = se.Evaluator(), se.Evaluator()
    power.update({"a"}, {"a", "b"}, weight=weight)
    for _ in range(63):
        full.merge(power)
        if power.examples < 2**62:
            power.merge(power)
    assert full.examples == MOST
    assert full.per_label().tp.tolist() == [MOST * weight if weight != 1.0 else MOST, 0]
    before = full.to_bytes()
    one = se.Evaluator()
    one.update({"a"}, {"a", "b"}, weight=weight)
    for call in (
        lambda: full.update({"x"}, {"y"}, weight=weight),
        lambda: full.update({"a"}, {"a"}, weight=0.0),
        lambda: full.update_many([{"x"}], [{"y"}]),
        lambda: full.update_many(iter([{"x"}]), iter([{"y"}]), weights=[weight]),
        lambda: full.merge(one),
        lambda: full.merge(full),
        lambda: full + one,
    ):
        with pytest.raises(se.CounterOverflowError):
            call()
        assert full.to_bytes() == before
    full.revert({"a"}, {"a", "b"}, weight=weight)
    assert full.examples == MOST - 1
    full.update({"a"}, {"a", "b"}, weight=weight)
    assert full.to_bytes() == before
    for entry in decided_entries():
        for average in entry.averages:
            value = full.get(se.metric(entry.name, average=average))
            for part in value.values() if isinstance(value, dict) else [value]:
                assert math.isnan(part) or entry.low <= part <= entry.high, (entry.name, average)


# -- an object used while it reads its own input ----------------------------------------------------------------------


def left_after(run: Callable[[se.Evaluator, Iterator[set[str]]], None], meanwhile: Callable[[se.Evaluator], None]):
    """The object after a generator has used it during its own call; None if the call was refused without a change."""
    ev = se.Evaluator()
    for names in ({"p"}, {"q"}, {"r"}):
        ev.update(names, set())
    for _ in range(100):
        ev.update({"a"}, {"a"})
    before = ev.to_bytes()

    def source() -> Iterator[set[str]]:
        yield {"a", "s"}
        meanwhile(ev)
        yield {"a", "t"}

    try:
        run(ev, source())
    except se.StreamevalError:
        assert ev.to_bytes() == before
        return None
    return ev


def test_nothing_is_lost_if_a_generator_updates_the_object_that_reads_it():
    result = left_after(
        lambda ev, source: ev.update_many(source, [{"a"}, {"u"}]), lambda ev: ev.update({"v"}, {"w"}, weight=0.5)
    )
    expected = left_after(lambda ev, source: ev.update_many(list(source), [{"a"}, {"u"}]), str)
    expected.update({"v"}, {"w"}, weight=0.5)
    assert result is None or result.to_bytes() == expected.to_bytes()


def test_nothing_is_lost_if_a_generator_reverts_from_the_object_that_reads_it():
    def slide(ev: se.Evaluator) -> None:
        for names in ({"p"}, {"q"}, {"r"}):
            ev.revert(names, set())
        for _ in range(90):
            ev.revert({"a"}, {"a"})

    result = left_after(lambda ev, source: ev.update_many(source, [{"a"}, {"u"}]), slide)
    expected = left_after(lambda ev, source: ev.update_many(list(source), [{"a"}, {"u"}]), str)
    slide(expected)
    assert result is None or result.to_bytes() == expected.to_bytes()


def test_nothing_is_lost_if_a_generator_resets_the_object_that_reads_it():
    result = left_after(lambda ev, source: ev.update_many(source, [{"a"}, {"u"}]), lambda ev: ev.reset())
    expected = se.Evaluator()
    expected.update_many([{"a", "s"}, {"a", "t"}], [{"a"}, {"u"}])
    assert result is None or result.to_bytes() == expected.to_bytes()
