"""Slices keep the laws of every state, hold exactly the examples of their values, and their number is limited."""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.slices import OTHER, axis
from streameval.slices.values import rank_of, typed
from tests.support.each import with_each
from tests.support.effort import cases, crossed
from tests.support.forms import Shared
from tests.support.interruptions import Interrupted, attempted, chosen, interrupted
from tests.support.kinds import KEEP
from tests.wire.test_decisions import sealed

CHECK = settings(max_examples=cases(25))
VALUES = ("eu", "us", "", "é", "1", 0, 1, -1, 2**70, True, False, None)
METRICS = ["f1_micro", "f1_macro", "recall_samples"]
LABELS = ("a", "b", "c", 7)

Example = tuple[set[Any], set[Any], dict[str, Any], float]


@st.composite
def setups(draw: st.DrawFn) -> dict[str, Any]:
    by = draw(st.sampled_from([("region",), ("region", "device"), ("region", "device", "day")]))
    pairs = [pair for size in (2, 3) for pair in itertools.permutations(by, size)]
    cross = draw(st.lists(st.sampled_from(pairs), max_size=2, unique_by=frozenset)) if pairs else []
    return {"by": by, "cross": cross, "max_slices": draw(st.integers(1, 4))}


def fresh(setup: dict[str, Any], kind: str = "decisions") -> se.Sliced[Any]:
    made = {
        "decisions": lambda: se.Evaluator(METRICS),
        "metric": lambda: se.F1(average="macro"),
        "pairs": lambda: se.Evaluator(METRICS, keep=["pairs"]),
    }[kind]()
    return se.Sliced(made, **setup)


@st.composite
def streams(draw: st.DrawFn) -> tuple[dict[str, Any], str, list[Example]]:
    setup = draw(setups())
    pool = draw(st.lists(st.sampled_from(VALUES), min_size=1, unique_by=lambda value: (type(value), value)))
    side = st.sets(st.sampled_from(LABELS), max_size=3)
    where = st.fixed_dictionaries({name: st.sampled_from(pool) for name in setup["by"]})
    weight = st.sampled_from([1.0, 1.0, 0.1, 3.0]) if draw(st.booleans()) else st.just(1.0)
    kind = draw(st.sampled_from(["decisions", "decisions", "metric", "pairs"]))
    if kind == "pairs":
        weight = st.just(1.0)
    return setup, kind, draw(st.lists(st.tuples(side, side, where, weight), max_size=12))


def feed(target: se.Sliced[Any], examples: list[Example]) -> se.Sliced[Any]:
    for true, pred, where, weight in examples:
        target.update(true, pred, where=where, weight=weight)
    return target


def feed_many(target: se.Sliced[Any], examples: list[Example]) -> se.Sliced[Any]:
    if examples:
        true, pred, where, weights = zip(*examples, strict=True)
        columns = {name: [row[name] for row in where] for name in where[0]}
        target.update_many(true, pred, where=columns, weights=None if set(weights) == {1.0} else weights)
    return target


def readings(target: se.Sliced[Any]) -> str:
    parts = [(dict(part.where), part.evaluator.to_bytes(), part.evaluator.get()) for part in target.slices()]
    return repr((parts, target.total().to_bytes(), target.examples, target.report()))


# -- the laws ---------------------------------------------------------------------------------------------------------


@CHECK
@given(streams(), st.data())
def test_any_sharding_order_batching_and_merge_tree_gives_the_same_bytes(
    stream: tuple[dict[str, Any], str, list[Example]], data: st.DataObject
):
    setup, kind, examples = stream
    whole = feed(fresh(setup, kind), examples)
    shuffled = data.draw(st.permutations(examples))
    parts = [fresh(setup, kind)]
    while shuffled:
        size = data.draw(st.integers(1, len(shuffled)))
        part, shuffled = shuffled[:size], shuffled[size:]
        parts.append(data.draw(st.sampled_from([feed, feed_many]))(fresh(setup, kind), part))
    while len(parts) > 1:
        taken = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        into = data.draw(st.integers(0, len(parts) - 1))
        before = taken.to_bytes()
        parts[into].merge(taken)
        assert taken.to_bytes() == before
    assert parts[0].to_bytes() == whole.to_bytes()
    assert parts[0] == whole
    assert readings(parts[0]) == readings(whole)


@CHECK
@given(streams(), st.data())
def test_reverting_undoes_updating_or_is_refused_by_name(
    stream: tuple[dict[str, Any], str, list[Example]], data: st.DataObject
):
    setup, kind, examples = stream
    cut = data.draw(st.integers(0, len(examples)))
    target = feed(fresh(setup, kind), data.draw(st.permutations(examples)))
    left = list(examples)
    for true, pred, where, weight in data.draw(st.permutations(examples[cut:])):
        before = target.to_bytes()
        with contextlib.suppress(se.RevertError):
            target.revert(true, pred, where=where, weight=weight)
            left.remove((true, pred, where, weight))
            before = feed(fresh(setup, kind), left).to_bytes()
        assert target.to_bytes() == before


@CHECK
@given(streams())
def test_round_trip_bytes_bring_back_an_equal_object_that_can_go_on(stream: tuple[dict[str, Any], str, list[Example]]):
    setup, kind, examples = stream
    target = feed(fresh(setup, kind), examples)
    back = se.Sliced.from_bytes(target.to_bytes())
    assert back == target
    assert back.to_bytes() == target.to_bytes()
    assert readings(back) == readings(target)
    assert feed(back, examples).to_bytes() == feed(target, examples).to_bytes()


@CHECK
@given(streams())
def test_slices_hold_exactly_the_examples_of_their_values(stream: tuple[dict[str, Any], str, list[Example]]):
    setup, kind, examples = stream
    target = feed_many(fresh(setup, kind), examples)

    def of(rows: list[Example]) -> bytes:
        made = fresh(setup, kind).total()
        for true, pred, _, weight in rows:
            made.update(true, pred, weight=weight)
        return made.to_bytes()

    assert target.total().to_bytes() == of(examples)
    for names in (*((name,) for name in setup["by"]), *setup["cross"]):
        keys = [tuple(typed(row[2][name], name) for name in names) for row in examples]
        allowed = set(sorted(set(keys), key=rank_of)[: setup["max_slices"]])
        expected = {key: of([row for row, own in zip(examples, keys, strict=True) if own == key]) for key in allowed}
        rest = [row for row, own in zip(examples, keys, strict=True) if own not in allowed]
        result = {}
        for part in target.slices(names if len(names) > 1 else names[0]):
            values = tuple(part.where.values())
            if values[0] is OTHER:
                assert part.evaluator.to_bytes() == of(rest)
                rest = []
            elif part.evaluator.examples:
                result[tuple(map(typed, values, names))] = part.evaluator.to_bytes()
        assert result == expected
        assert rest == []


def columns(target: se.Sliced[Any], values: list[Any]) -> dict[str, list[Any]]:
    return {name: list(values) for name in target.by}


BROKEN: tuple[Callable[[se.Sliced[Any]], None], ...] = (
    lambda target: target.update({"a"}, {None}, where=dict.fromkeys(target.by, "eu")),
    lambda target: target.update({"a"}, {"a"}, where=dict.fromkeys(target.by, "new"), weight=-1.0),
    lambda target: target.update({"a"}, {"a"}, where=dict.fromkeys(target.by, 1.5)),
    lambda target: target.update({"a"}, {"a"}, where={}),
    lambda target: target.update({"a"}, {"a"}, where="eu"),
    lambda target: target.update_many([{"a"}, {"b"}], [{"a"}, {b"x"}], where=columns(target, ["eu", "new"])),
    lambda target: target.update_many([{"a"}] * 3, [{"a"}] * 2, where=columns(target, ["eu", "new"])),
    lambda target: target.update_many([{"a"}] * 2, [{"a"}] * 2, where=columns(target, ["eu"])),
    lambda target: target.update_many([{"a"}], [{"a"}], where=columns(target, ["eu", "new"])),
    lambda target: target.update_many([{"a"}] * 2, [{"a"}] * 2, where=columns(target, ["eu", 0.5])),
    lambda target: target.revert({"q"}, {"q"}, where=dict.fromkeys(target.by, "eu")),
    lambda target: target.merge(object()),
    lambda target: target.merge(se.Sliced(se.Accuracy(), by=target.by)),
)


@CHECK
@given(streams(), st.data())
def test_atomic_calls_that_raise_leave_no_trace(stream: tuple[dict[str, Any], str, list[Example]], data: st.DataObject):
    setup, kind, examples = stream
    target = fresh(setup, kind)
    for example in [*examples, None]:
        for attempt in data.draw(st.lists(st.sampled_from(BROKEN), max_size=3)):
            before = target.to_bytes()
            with pytest.raises(se.StreamevalError):
                attempt(target)
            assert target.to_bytes() == before
        if example is not None:
            feed(target, [example])
    assert target.to_bytes() == feed(fresh(setup, kind), examples).to_bytes()


EXAMPLE = {"a"}, {"b"}
CHANGES: dict[str, Callable[[se.Sliced], object]] = {
    "update": lambda target: target.update(*EXAMPLE, where={"region": "eu", "device": "x"}),
    "update of new labels": lambda target: target.update({"z"}, {"y"}, where={"region": "eu", "device": "x"}),
    "update of a new value": lambda target: target.update(*EXAMPLE, where={"region": "eu", "device": "new"}),
    "revert": lambda target: target.revert(*EXAMPLE, where={"region": "eu", "device": "x"}),
    "revert that fails": lambda target: target.revert({"b"}, set(), where={"region": "eu", "device": "x"}),
    "update_many": lambda target: target.update_many(
        [{"a"}] * 4, [{"c"}] * 4, where={"region": ["eu", "us", "", None], "device": list("xyzx")}
    ),
    "merge": lambda target: target.merge(target.copy()),
    "merge with itself": lambda target: target.merge(target),
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_interrupted_call_has_changed_everything_or_nothing(change: str):
    def started() -> se.Sliced:
        target = fresh({"by": ("region", "device"), "cross": [("region", "device")], "max_slices": 2})
        return feed(target, [(*EXAMPLE, {"region": region, "device": "x"}, 1.0) for region in ("eu", "eu", "us", 7)])

    run = CHANGES[change]
    attempted(lambda: run(started()))
    before, target = started().to_bytes(), started()
    executed = interrupted(lambda: attempted(lambda: run(target)), -1)
    after = target.to_bytes()
    for hit in chosen(executed, cases(40), change):
        target = started()
        with pytest.raises(Interrupted):
            interrupted(lambda target=target: attempted(lambda: run(target)), hit)
        assert target.to_bytes() in (before, after), f"torn at instruction {hit}"
        if target.to_bytes() == before:
            attempted(lambda target=target: run(target))
            assert target.to_bytes() == after


# -- reading ----------------------------------------------------------------------------------------------------------


def example() -> se.Sliced[se.Evaluator]:
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by=("region", "device"), cross=[("region", "device")])
    sliced.update({"cat"}, {"cat"}, where={"region": "eu", "device": "phone", "more": object()})
    sliced.update({"cat"}, {"dog"}, where={"region": "eu", "device": None})
    sliced.update({"dog"}, {"dog"}, where={"region": "us", "device": "phone"})
    return sliced


def test_get_answers_by_name_and_value_in_order():
    sliced = example()
    result = sliced.get("f1_micro")
    assert result == {
        "region": {"eu": 0.5, "us": 1.0},
        "device": {None: 0.0, "phone": 1.0},
        ("region", "device"): {("eu", None): 0.0, ("eu", "phone"): 1.0, ("us", "phone"): 1.0},
    }
    assert [list(values) for values in result.values()] == [
        ["eu", "us"], [None, "phone"], [("eu", None), ("eu", "phone"), ("us", "phone")],
    ]  # fmt: skip
    assert sliced.get("f1_micro", by="device") == {"device": result["device"]}
    assert sliced.get(by=("region",)) == {"region": {"eu": {"f1_micro": 0.5}, "us": {"f1_micro": 1.0}}}
    with pytest.raises(se.InputError, match=r"by must be one of \['region', 'device', 'region x device'\], not 'x'"):
        sliced.get(by="x")


def test_changing_slices_that_were_read_does_not_change_the_object():
    sliced = example()
    before = sliced.to_bytes()
    for part in sliced.slices():
        part.evaluator.update({"x"}, {"y"})
    sliced[{"region": "eu"}].reset()
    sliced.total().reset()
    assert sliced.to_bytes() == before
    assert [dict(part.where) for part in sliced.slices("region")] == [{"region": "eu"}, {"region": "us"}]


def test_weights_and_masks_count_after_many_examples_without_them():
    sliced, ev = se.Sliced(se.Evaluator(), by="x"), se.Evaluator()
    for choices in [{}] * 30 + [{"mask": {"a"}}, {"weight": 3.0}]:
        sliced.update({"a"}, {"b"}, where={"x": 1}, **choices)
        ev.update({"a"}, {"b"}, **choices)
        assert sliced.total() == ev


def test_items_are_looked_up_by_value_or_by_names_and_values():
    sliced = example()
    assert sliced[{"device": None}].examples == 1
    assert sliced[{"device": "phone", "region": "eu"}].get() == {"f1_micro": 1.0}
    assert sliced[{"device": OTHER}].examples == 0
    with pytest.raises(se.InputError, match="there is no slice"):
        sliced[{"region": 10**5000}]  # Python refuses to write an integer this long
    with pytest.raises(se.InputError, match=r"there is no slice {'region': 'uss'}; did you mean 'us'"):
        sliced[{"region": "uss"}]
    with pytest.raises(se.InputError, match=r"slices are by \('region', 'device'\); write sliced\[{'region': 'eu'}\]"):
        sliced["eu"]
    with pytest.raises(se.InputError, match="not by"):
        sliced[{"day": 1}]
    assert [sliced[where] for where in sliced] == [part.evaluator for part in sliced.slices()]
    assert len(sliced) == len([*sliced]) == len(sliced.slices())
    assert all(where in sliced for where in sliced)
    assert {"device": OTHER} not in sliced  # because no example is in it
    with pytest.raises(se.InputError, match=r"write sliced\[{'region': 'eu'}\]"):
        "eu" in sliced  # noqa: B015


def test_a_single_metric_can_be_sliced():
    sliced = se.Sliced(se.F1(average="micro"), by="region")
    sliced.update({"cat"}, {"cat", "dog"}, where={"region": "eu"})
    assert sliced.get() == {"region": {"eu": 2 / 3}}
    assert isinstance(sliced["eu"], se.F1)
    with pytest.raises(se.InputError, match="answer for it only"):
        sliced.get("recall_micro")


def test_an_unknown_metric_is_refused_even_if_there_is_no_slice():
    with pytest.raises(se.MetricError, match="did you mean 'f1_micro'"):
        se.Sliced(se.Evaluator(["f1_micro"]), by="n").get("f1_mcro")


def test_a_fresh_object_answers():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="region")
    assert (sliced.examples, sliced.total().examples, sliced[OTHER].examples, len(sliced)) == (0, 0, 0, 0)
    assert sliced.get() == {"region": {}}
    assert "total" in sliced.report()


def test_true_and_1_are_different_slices_which_get_refuses_to_put_into_one_dict():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="flag")
    for value in (True, 1, 1, "1", None, False):
        sliced.update({"a"}, {"a"}, where={"flag": value})
    assert [(part.where["flag"], part.evaluator.examples) for part in sliced.slices()] == [
        (None, 1), (False, 1), (True, 1), (1, 2), ("1", 1),
    ]  # fmt: skip
    assert (sliced[True].examples, sliced[1].examples) == (1, 2)
    assert [*sliced] == [None, False, True, 1, "1"]
    plain = [True, 1, 1, "1", None, False]
    for values in (plain, np.array(plain, object), pd.Series(plain, dtype=object), [*plain[:4], pd.NA, False]):
        many = se.Sliced(se.Evaluator(["f1_micro"]), by="flag")
        many.update_many([{"a"}] * 6, [{"a"}] * 6, where={"flag": values})
        assert many == sliced
    assert (True in sliced, 0 in sliced, "True" in sliced) == (True, False, False)
    with pytest.raises(se.InputError, match=r"read slices\(\)"):
        sliced.get()


def test_values_beyond_max_slices_are_counted_together_in_whatever_order_they_come():
    names = [f"user {number}" for number in range(50)]
    first, second = (se.Sliced(se.Evaluator(["f1_micro"]), by="user", max_slices=10) for _ in range(2))
    for name in names:
        first.update({"a"}, {"a"}, where={"user": name})
    second.update_many([{"a"}] * 50, [{"a"}] * 50, where={"user": names[::-1]})
    assert first.to_bytes() == second.to_bytes()
    result = first.get()["user"]
    assert len(result) == 11
    assert [*first] == first._ipython_key_completions_() == [*result]
    assert list(result)[-1] is OTHER
    assert repr(OTHER) == "OTHER"
    assert first[OTHER].examples == 40
    assert first.total().examples == first.examples == 50


def test_a_slice_without_examples_does_not_count_towards_max_slices():
    first, last, *_ = sorted((f"v{number}" for number in range(99)), key=lambda value: rank_of((typed(value, "x"),)))
    sliced, emptied, expected = (se.Sliced(se.Evaluator(METRICS), by="x", max_slices=1) for _ in range(3))
    for one in (sliced, expected):
        one.update({"a"}, {"a"}, where={"x": last})
    emptied.update({"a"}, {"a"}, where={"x": first})
    emptied.revert({"a"}, {"a"}, where={"x": first})
    sliced.merge(emptied)
    assert sliced.to_bytes() == expected.to_bytes()


def test_the_rest_of_the_values_does_not_count_towards_max_slices():
    late = [value for value in map(str, range(99)) if rank_of((typed(value, "x"),)) > rank_of(())][:4]
    halves = [se.Sliced(se.Evaluator(METRICS), by="x", max_slices=1) for _ in range(2)]
    expected = se.Sliced(se.Evaluator(METRICS), by="x", max_slices=1)
    for place, value in enumerate(late):
        for one in (halves[place % 2], expected):
            one.update({"a"}, {"a"}, where={"x": value})
    halves[0].merge(halves[1])
    assert halves[0].to_bytes() == expected.to_bytes()


def test_an_example_is_not_reverted_from_the_rest_if_its_value_would_have_a_slice():
    first, second, third = sorted(["eu", "us", "asia"], key=lambda value: rank_of((typed(value, "x"),)))
    sliced = se.Sliced(se.Evaluator(METRICS), by="x", max_slices=1)
    for value in (second, third):
        sliced.update({"a"}, {"a"}, where={"x": value})
    before = sliced.to_bytes()
    with pytest.raises(se.RevertError, match=f"cannot revert: no example of x '{first}' was counted"):
        sliced.revert({"a"}, {"a"}, where={"x": first})
    assert sliced.to_bytes() == before


def test_the_last_example_of_a_slice_is_not_reverted_while_the_rest_has_examples():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="user", max_slices=1)
    for name in ("ann", "bob", "cy"):
        sliced.update({"a"}, {"a"}, where={"user": name})
    (retained,) = [part.where["user"] for part in sliced.slices() if part.where["user"] is not OTHER]
    with pytest.raises(se.RevertError, match=r"last example of user .*max_slices=2 or more$"):
        sliced.revert({"a"}, {"a"}, where={"user": retained})
    for name in {"ann", "bob", "cy"} - {retained}:
        sliced.revert({"a"}, {"a"}, where={"user": name})
    sliced.revert({"a"}, {"a"}, where={"user": retained})
    assert sliced == se.Sliced(se.Evaluator(["f1_micro"]), by="user", max_slices=1)


def test_the_report_has_a_line_for_each_slice_and_one_for_all():
    assert example().report("region", digits=2).split() == [
        "region", "examples", "f1_micro", "eu", "2", "0.50", "us", "1", "1.00", "total", "3", "0.67",
    ]  # fmt: skip
    values, alike = ["2024", "a b", ""], se.Sliced(se.F1(), by="n")
    for more in ([], [None, 1, True, "1", "None", "True"]):
        alike.update_many([{"a"}] * len(values + more), [{"a"}] * len(values + more), where={"n": values + more})
        names = [line[:12].strip() for line in alike.report().splitlines()[1:-2]]
        assert len({*names}) == len(names) == len(alike)
        assert more or names == ["''", "2024", "a b"]


def test_slices_are_ranked_by_the_first_metric_with_a_direction_and_no_examples_have_no_value():
    sliced = se.Sliced(se.Evaluator(["label_cardinality", "f1_micro"]), by="region")
    assert sliced.report().split()[-4:] == ["total", "0", "-", "-"]
    sliced.update({"a"}, {"b"}, where={"region": "us"})
    sliced.update({"a", "b"}, {"a", "b"}, where={"region": "eu"})
    assert sliced.report().split()[-4:] == ["total", "2", "1.5000", "0.6667"]
    html = sliced._repr_html_()
    assert html.index("us</bdi>") < html.index("eu</bdi>") < html.index("total</bdi>")


# -- forms of values --------------------------------------------------------------------------------------------------

COLUMN = ["eu", None, "us", "eu", None, "asia"]
FORMS: dict[str, Callable[[list[Any]], object]] = {
    "list": list,
    "tuple": tuple,
    "iterator": lambda values: iter(values),
    "object array": lambda values: np.array(values, object),
    "pandas": pd.Series,
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "pandas categorical": lambda values: pd.Series(pd.Categorical(values, categories=["x", "us", "asia", "eu"])),
    "polars": pl.Series,
    "polars objects": lambda values: pl.Series(values, dtype=pl.Object),
    "polars categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "arrow": pa.array,
    "arrow sliced": lambda values: pa.array(["x", "y", *values, "z"])[2:-1],
    "arrow chunked": lambda values: pa.chunked_array([values[:2], [], values[2:]], pa.string()),
    "arrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "arrow dictionary with nulls": lambda values: pa.DictionaryArray.from_arrays(
        pa.array([{"eu": 1, None: 2, "us": 0, "asia": 4}[value] for value in values]),
        pa.array(["us", "eu", None, "no", "asia"]),
    ),
    "arrow large": lambda values: pa.array(values, pa.large_string()),
    "arrow view": lambda values: pa.array(values, pa.string_view()),
    "arrow scalars": lambda values: [*pa.array(values)],
    "arrow interface": lambda values: Shared(pa.array(values)),
}


@with_each("form", FORMS)
def test_values_may_be_in_any_form_of_column(form: str):
    true, pred = [{"a"}, {"b"}, set(), {"a"}, {"a", "b"}, {"c"}], [{"a"}, {"a"}, {"c"}, {"a"}, {"b"}, set()]
    expected = se.Sliced(se.Evaluator(METRICS), by="region")
    for row, value in enumerate(COLUMN):
        expected.update(true[row], pred[row], where={"region": value})
    sliced = se.Sliced(se.Evaluator(METRICS), by="region")
    sliced.update_many(true, pred, where={"region": FORMS[form](COLUMN)})
    assert sliced.to_bytes() == expected.to_bytes()


def nullable(values: list[int], kind: str) -> Any:
    return pd.array([values[0], None, *values[2:]], "boolean" if kind == "?" else f"Int{8 * np.dtype(kind).itemsize}")


def masked(values: list[int], kind: str) -> Any:
    return np.ma.array(values, mask=[0, 1, 0, 0, 1], dtype=kind)


@pytest.mark.parametrize("make", [np.array, masked, lambda values, kind: [*masked(values, kind)], nullable])
@pytest.mark.parametrize("kind", ["i1", "u8", ">i4", "?"])
def test_numbers_and_booleans_may_be_in_arrays(kind: str, make: Callable[..., Any]):
    values = make([1, 0, 1, 1, 0], kind)
    sliced, expected = (se.Sliced(se.Evaluator(METRICS), by="x") for _ in range(2))
    sliced.update_many([{"a"}] * 5, [{"a"}] * 5, where={"x": values})
    for value in values:
        expected.update({"a"}, {"a"}, where={"x": np.array(value) if isinstance(value, np.generic) else value})
    assert sliced.to_bytes() == expected.to_bytes()


class Code(str, Enum):  # noqa: UP042
    A = "a"


class Number(IntEnum):
    TWO = 2


@pytest.mark.parametrize(("value", "plain"), [
    (Code.A, "a"), (Number.TWO, 2), (np.str_("a"), "a"), (np.bool_(True), True), (np.uint64(2**64 - 1), 2**64 - 1),
    (pa.scalar("a"), "a"), (pa.scalar(2, "int8"), 2), (pa.scalar(None, "int8"), None), (math.nan, None), (pd.NA, None),
])  # fmt: skip
def test_values_of_subclasses_arrow_and_numpy_are_the_plain_values(value: object, plain: str | int | None):
    expected, one, many = (se.Sliced(se.Evaluator(METRICS), by="x") for _ in range(3))
    expected.update({"a"}, {"a"}, where={"x": plain})
    one.update({"a"}, {"a"}, where={"x": value})
    many.update_many([{"a"}], [{"a"}], where={"x": [value]})
    assert one.to_bytes() == many.to_bytes() == expected.to_bytes()
    assert [type(part.where["x"]) for part in one.slices()] == [type(plain)]
    assert value in one
    assert one[value] == expected[plain]


@pytest.mark.parametrize("values", [{"eu", "us"}, {0: "eu", 1: "us"}, "eu", 3])
def test_values_without_an_order_are_refused(values: object):
    with pytest.raises(se.InputError, match=r"where\['x'\] must hold one value for each example, not"):
        se.Sliced(se.Evaluator(), by="x").update_many([{"a"}] * 2, [{"a"}] * 2, where={"x": values})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_where_may_be_a_table(make: Callable[[dict[str, list[Any]]], object]):
    rows = {"region": ["eu", "us", "eu"], "device": [1, 1, 2], "more": [0.5, 0.5, 0.5]}
    sliced, expected = (se.Sliced(se.Evaluator(METRICS), by=("region", "device")) for _ in range(2))
    sliced.update_many([{"a"}] * 3, [{"b"}] * 3, where=make(rows))
    expected.update_many([{"a"}] * 3, [{"b"}] * 3, where=rows)
    assert sliced == expected


def matrices() -> dict[str, tuple[Callable[[], se.Evaluator], object, object, object]]:
    rng = np.random.default_rng(5)
    true, scores = rng.integers(0, 2, (300, 4)), rng.integers(-2, 9, (300, 4)) / 8
    lists = [[label for label, bit in zip("abcd", row, strict=True) if bit] for row in true]
    mask = rng.integers(0, 2, (300, 4)) & rng.integers(0, 2, (300, 4))
    sets = [set(np.flatnonzero(row).tolist()) for row in true]
    mappings = [dict(zip("abcd", row, strict=True)) for row in scores.tolist()]
    names = list("abcd")
    return {
        "matrices": (lambda: se.Evaluator(METRICS, labels=names), true, (scores > 0.5), mask),
        "scores": (lambda: se.Evaluator(METRICS, labels=names, threshold=0.5), true, scores, None),
        "everything": (lambda: se.Evaluator(METRICS, labels=names, threshold=0.5, keep=KEEP), true, scores, mask),
        "sets and rows": (lambda: se.Evaluator(METRICS), sets, (scores > 0.5), None),
        "mappings": (lambda: se.Evaluator(METRICS, threshold=0.5, keep=KEEP), lists, mappings, None),
        "arrow": (lambda: se.Evaluator(METRICS), pa.array(lists), pa.array(lists[::-1]), None),
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", matrices())
def test_slices_of_a_batch_are_what_each_slice_counts_by_itself(name: str, weighted: bool):
    make, true, pred, mask = matrices()[name]
    rng = np.random.default_rng(8)
    value = rng.integers(0, 5, 300)
    weights = rng.choice([0.5, 1.0, 3.0], 300) if weighted else None
    sliced = se.Sliced(make(), by="value")
    sliced.update_many(true, pred, where={"value": value}, mask=mask, weights=weights)

    def rows(side: Any, chosen: np.ndarray) -> Any:
        if side is None or isinstance(side, np.ndarray):
            return None if side is None else side[chosen]
        return [side[place] for place in chosen] if isinstance(side, list) else side.take(pa.array(chosen))

    for part in sliced.slices():
        chosen = np.flatnonzero(value == part.where["value"])
        single = make()
        single.update_many(
            *(rows(side, chosen) for side in (true, pred)), mask=rows(mask, chosen), weights=rows(weights, chosen)
        )
        assert part.evaluator.to_bytes() == single.to_bytes()
    whole = make()
    whole.update_many(true, pred, mask=mask, weights=weights)
    assert sliced.total() == whole


@pytest.mark.parametrize(("groups", "weighted"), crossed([2, 150], [False, True]))
def test_lists_that_are_read_piece_by_piece_are_counted_as_a_whole(groups: int, weighted: bool):
    rng = np.random.default_rng(groups)
    size = 13_000  # an iterable is read a few thousand examples at a time
    sides = [[set(rng.choice(7, rng.integers(0, 4)).tolist()) for _ in range(size)] for _ in range(2)]
    true: list[Any] = list(sides[0])
    for place in range(5000, 5100):  # one piece holds mappings, and another one truths that are None
        true[place] = dict.fromkeys(true[place], True) | {7: False}
    for place in range(9000, 9100):
        true[place] = dict.fromkeys(true[place], True) | {8: None}
    value = rng.integers(0, groups, size)
    weights = rng.choice([0.1, 1.0, 3.0], size) if weighted else None
    sliced = se.Sliced(se.Evaluator(METRICS), by="value", max_slices=groups)
    sliced.update_many(iter(true), iter(sides[1]), where={"value": value}, weights=weights)
    for part in sliced.slices()[:20]:
        chosen = np.flatnonzero(value == part.where["value"])
        single = se.Evaluator(METRICS)
        single.update_many(
            [true[place] for place in chosen],
            [sides[1][place] for place in chosen],
            weights=None if weights is None else weights[chosen],
        )
        assert part.evaluator.to_bytes() == single.to_bytes()
    assert sliced.examples == size


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"by": ()}, "by must be a name or a list of names"),
        ({"by": 3}, "by must be a name or a list of names, not 3"),
        ({"by": ("a", 3)}, r"by must be a name or a list of names, not \('a', 3\)"),
        ({"by": ("a", "a")}, "by names something twice"),
        ({"by": {"a", "b"}}, "by must be in order, not a set; give a list, such as sorted"),
        ({"by": {"a": ["eu", "us"]}}, "by must be in order, not a dict; give a list"),
        ({"by": ("a", "b"), "cross": [{"a", "b"}]}, "a combination of cross must be in order, not a set"),
        ({"by": ("a", "b"), "cross": {("a", "b")}}, "cross must be in order, not a set"),
        ({"by": "a", "max_slices": 0}, "max_slices must be an integer of at least 1, not 0"),
        ({"by": "a", "max_slices": True}, "max_slices must be an integer"),
        ({"by": ("a", "b"), "cross": "ab"}, "cross must be a list of combinations"),
        ({"by": ("a", "b"), "cross": 3}, "cross must be a list of combinations"),
        ({"by": ("a", "b"), "cross": [("a", "c")]}, "cross combines two or more of the names"),
        ({"by": ("a", "b"), "cross": [("a",)]}, "cross combines two or more of the names"),
        ({"by": ("a", "b"), "cross": [("a", "b"), ("b", "a")]}, "names a combination twice"),
    ],
)
def test_invalid_options_are_refused(keywords: dict[str, Any], message: str):
    with pytest.raises(se.InputError, match=message):
        se.Sliced(se.Evaluator(), **keywords)


def test_only_empty_evaluators_and_metrics_can_be_sliced():
    counted = se.Evaluator()
    counted.update({"a"}, {"a"})
    with pytest.raises(se.InputError, match="has counted 1 example"):
        se.Sliced(counted, by="a")
    sliced = se.Sliced(se.Evaluator(), by="a")
    for make in (lambda: se.Sliced(se.Rolling(se.Evaluator(), size=3), by="a"), lambda: se.Rolling(sliced, size=3)):
        with pytest.raises(se.InputError, match=r"takes an Evaluator or a metric .*keep a dict with a window for each"):
            make()
    for make in (lambda: se.Sliced(3, by="a"), lambda: se.Sliced(sliced, by="b"), lambda: se.Rolling(3, size=3)):
        with pytest.raises(se.InputError, match=r"takes an Evaluator or a metric") as refused:
            make()
        assert "dict" not in str(refused.value)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("eu", "one value for each example, not 'eu'"),
        (3, "one value for each example, not 3"),
        ([0.5, 0.5], r"where\['region'\] is 0.5, of type float"),
        (pa.array([0.5, 0.5]), "of type float"),
        (pd.Series([1, None]), r"is 1.0, .* give int\(value\), or of a column .astype\('Int64'\)$"),
        (pa.array([["a"], ["b"]]), "holds list<"),
        (np.zeros((2, 1)), r"has shape \(2, 1\)"),
        (pd.DataFrame({"eu": [1, 2], "us": [1, 2]}), r"has shape \(2, 2\)"),
        (pa.table({"eu": [1, 2], "us": [1, 2]}), "one value for each example, not pyarrow.Table"),
        (np.array(["2020-01-01"] * 2, "M8[D]"), "of type date"),
        (["\ud800", "a"], "lone surrogate"),
        ([b"x", "a"], "of type bytes; .* and None: decode it$"),
        ([np.timedelta64(5, "ns"), "a"], "of type timedelta64"),
        (["eu"], "y_true and y_pred have 2 and where has 1"),
    ],
)
def test_what_is_no_column_of_values_is_refused(column: object, message: str):
    with pytest.raises(se.InputError, match=message):
        se.Sliced(se.Evaluator(), by="region").update_many([{"a"}] * 2, [{"a"}] * 2, where={"region": column})


def test_a_missing_name_is_reported_with_the_nearest_name():
    sliced = se.Sliced(se.Evaluator(), by="region")
    with pytest.raises(se.InputError, match="where has no 'region', but 'regions'; give a value for each"):
        sliced.update({"a"}, {"a"}, where={"regions": "eu"})
    for where in (["eu"], pd.DataFrame):
        with pytest.raises(se.InputError, match="where must be a mapping such as"):
            sliced.update_many([{"a"}], [{"a"}], where=where)
    with pytest.raises(
        se.InputError, match=r"or a data frame, as pandas.DataFrame\(where\), not \[\{'region': 'eu'\}\]"
    ):
        sliced.update_many([{"a"}], [{"a"}], where=[{"region": "eu"}])
    with pytest.raises(se.InputError, match="in where, region 1 and device 2; give one value of each"):
        example().update_many([{"a"}], [{"a"}], where={"region": ["eu"], "device": [1, 2]})


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"by": "device"}, "by differs"),
        ({"by": "region", "max_slices": 5}, "max_slices differs"),
        ({"by": ("region", "device"), "cross": [("region", "device")]}, "by differs.*cross differs"),
    ],
)
def test_slices_of_different_configuration_do_not_merge(other: dict[str, Any], named: str):
    with pytest.raises(se.MergeError, match=named):
        se.Sliced(se.Evaluator(), by="region").merge(se.Sliced(se.Evaluator(), **other))
    with pytest.raises(se.MergeError, match="thresholds differ"):
        se.Sliced(se.Evaluator(), by="region").merge(se.Sliced(se.Evaluator(threshold=0.5), by="region"))


# -- as a value -------------------------------------------------------------------------------------------------------


def test_slices_are_copied_pickled_added_saved_and_loaded(tmp_path: Path):
    sliced = example()
    sliced.save(tmp_path / "slices")
    for twin in (
        sliced.copy(), copy.copy(sliced), copy.deepcopy(sliced), pickle.loads(pickle.dumps(sliced)),
        se.load(tmp_path / "slices"), sum([sliced]),
        sliced + se.Sliced(se.Evaluator(["f1_micro"]), by=sliced.by, cross=sliced.cross),
    ):  # fmt: skip
        assert twin == sliced
        assert twin is not sliced
        twin.update({"x"}, {"x"}, where={"region": "eu", "device": 4})
        assert twin != sliced
    assert (sliced == 3) is False
    doubled = sliced.copy()
    doubled.merge(doubled)
    assert doubled == sliced + sliced
    doubled.reset()
    assert doubled.examples == 0
    with pytest.raises(TypeError):
        hash(sliced)


def test_bytes_with_slices_that_no_examples_lead_to_are_refused(monkeypatch: pytest.MonkeyPatch):
    sliced = se.Sliced(se.F1(), by="r", max_slices=2)
    for value in (1, 2):
        sliced.update(["a"], ["a"], where={"r": value})
    written, (first, second, *_) = [], sliced._slices[0].ordered()
    empty = (((int, 2),), sliced._template.copy())
    many = sliced._template.copy() + first[1]
    for _ in range(62):
        many.merge(many)
    for parts in ([second, first], [first, first], [first, empty], [(first[0], many), (second[0], many)]):
        with monkeypatch.context() as patched:
            patched.setattr(axis.AxisSlices, "ordered", lambda _, parts=parts: parts)
            written.append(sliced.to_bytes())
    for size in (1, 3):  # with 1 there are too many slices; with 3 the rest has examples despite room for one
        sliced._axes = tuple(replace(each, max_slices=size) for each in sliced._axes)
        written.append(sliced.to_bytes())
        sliced.update(["a"], ["a"], where={"r": 3})
    sliced = se.Sliced(se.F1(), by=("r", "s"), cross=[("r", "s")])
    body = sliced.to_bytes()[:-4]
    assert body.count(b"\1\2\0\1") == 1
    written.append(sealed(body.replace(b"\1\2\0\1", b"\1\2\0\2")))  # a combination with a name that is not in `by`
    sliced.update(["a"], ["a"], where={"r": 1, "s": 1})
    sliced._slices[1].slices[((int, 1),)].update(["a"], ["a"])  # one axis has one example more than the other axes
    written.append(sliced.to_bytes())
    for data in written:
        with pytest.raises(se.FormatError, match="the counts contradict each other"):
            se.Sliced.from_bytes(data)


def test_bytes_of_another_class_are_refused_by_name():
    with pytest.raises(se.FormatError, match="not a Sliced"):
        se.Sliced.from_bytes(se.Evaluator().to_bytes())
    with pytest.raises(se.FormatError, match="hold a Sliced"):
        se.Evaluator.from_bytes(example().to_bytes())
    with pytest.raises(se.FormatError, match="hold a Sliced"):
        se.Rolling.from_bytes(example().to_bytes())


@pytest.mark.parametrize(
    ("count", "declared", "keep"), crossed([3, 511, 512, 513, 1_200], [True, False], [(), ("rankings",)]), ids=str
)
def test_batches_are_sliced_as_single_examples_are_however_many_labels_there_are(
    count: int, declared: bool, keep: tuple[str, ...]
):
    labels = [f"l{number}" for number in range(count)]
    rng = random.Random(count)

    def made() -> se.Sliced[se.Evaluator]:
        return se.Sliced(
            se.Evaluator(["f1_macro"], labels=labels if declared else None, keep=keep, threshold=0.4 if keep else None),
            by="r",
            max_slices=3,
        )

    batches, single = made(), made()
    for few in (2, 60, 2):
        rows = [
            ({rng.choice(labels): 0.5}, rng.choice(labels), rng.choice("abcd")) for _ in range(few)
        ] + [({label: 0.5}, label, "a") for label in labels * (few == 60)]  # fmt: skip
        pred = [scores if keep else list(scores) for scores, _, _ in rows]
        batches.update_many([[true] for _, true, _ in rows], pred, where={"r": [value for *_, value in rows]})
        for one, (_, true, value) in zip(pred, rows, strict=True):
            single.update([true], one, where={"r": value})
        for sliced in (batches, batches.copy(), se.Sliced.from_bytes(batches.to_bytes())):
            assert sliced.to_bytes() == single.to_bytes()
            assert sliced.total() == single.total()
            assert len(sliced.total().labels) == len(single.total().labels)
    batches.total().update([labels[0]], {labels[-1]: 0.5} if keep else [labels[-1]])
    assert batches.to_bytes() == single.to_bytes()


def test_slices_hold_little_more_than_the_labels_of_their_own_examples():
    """When each of a thousand slices took all labels of the batch, they needed 18 MB."""
    labels, rng = [f"l{number}" for number in range(500)], random.Random(0)
    rows = [[rng.choice(labels)] for _ in range(4_000)]
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="r", max_slices=2_000)
    sliced.update_many(rows, rows, where={"r": np.arange(4_000) % 1_000})
    assert max(len(part._core.labels) for part in sliced._slices[0].slices.values()) < 50


def test_slices_that_sum_to_more_than_can_be_counted_are_refused():
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="r")
    sliced.update_many([["a"], ["b"]], [["a"], ["a"]], where={"r": [0, 1]})
    for _ in range(61):
        sliced.merge(sliced)
    before = sliced.to_bytes()
    assert se.Sliced.from_bytes(before).total().examples == 2**62
    read = se.Sliced.from_bytes(before)
    read.update(["a"], ["a"], where={"r": 2})
    read.revert(["a"], ["a"], where={"r": 2})
    for each in (sliced, read):  # up to a limit examples are added without summing up how many there are
        with pytest.raises(se.CounterOverflowError, match=f"{2**62} are there"):
            each.merge(sliced)
        assert each.to_bytes() == before
