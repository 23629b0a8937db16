"""For every function of the kernel, the compiled and the numpy implementation (twins) give the same integers."""

from __future__ import annotations

import importlib
import operator
import os
import random
import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval import kernel
from streameval.kernel import backend
from streameval.kernel.commit.numpy import Root
from streameval.kernel.decisions import numpy as _numpy
from streameval.kernel.strings import numpy as _strings_numpy
from streameval.kernel.types import DAMAGED, DISTINCT, DONE, FULL, OTHER, REFUSED, REPEATING, Lists, Weighed
from tests.support.each import with_each
from tests.support.effort import cases
from tests.support.naming import case_name
from tests.support.twins import cells_in, count_slots, merge

# Continuous integration sets STREAMEVAL_KERNEL=compiled, so that the import fails if the compiled kernel is missing.
needs_compiled = pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")

if kernel.BACKEND == "compiled":
    from streameval.kernel.decisions import compiled as _compiled
    from streameval.kernel.strings import compiled as _strings

SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (3, 7), (2, 8), (9, 31), (9, 32), (9, 33), (4, 63), (4, 64), (4, 65), (254, 3),
    (255, 3), (256, 3), (511, 14), (600, 100), (3, 2041), (2, 4100), (8, 1), (7, 1), (3375, 14), (4100, 14),
    (33000, 31),
]  # fmt: skip
FILLS = ["random", "rare", "ones", "zeros", "alternating"]


def bits(rng: np.random.Generator, shape: tuple[int, int], fill: str) -> np.ndarray:
    if fill == "ones":
        return np.ones(shape, np.uint8)
    if fill == "zeros":
        return np.zeros(shape, np.uint8)
    if fill == "alternating":
        return (np.indices(shape).sum(axis=0) % 2).astype(np.uint8)
    return (rng.random(shape) < (0.4 if fill == "random" else 0.02)).astype(np.uint8)


def everything(counts: object, width: int) -> tuple[object, ...]:
    keys, times = counts.row_keys()
    rows = sorted(zip(map(tuple, keys.tolist()), times.tolist(), strict=True))
    cells = cells_in(counts, width)
    return counts.examples, cells.tolist() if width < 1000 else cells.tobytes(), rows


def both(width: int) -> tuple[object, object]:
    return _compiled.Counts(Root(), width), _numpy.Counts(Root(), width)


def test_the_backend_is_the_one_that_the_environment_asks_for():
    wanted = os.environ.get("STREAMEVAL_KERNEL", "auto")
    assert wanted in ("auto", kernel.BACKEND)
    assert (backend.decisions.Counts is _numpy.Counts) == (kernel.BACKEND == "numpy")


def lists_of(
    rng: random.Random, examples: int, width: int, kind: type = np.int64, distinct: bool = False
) -> Lists | None:
    if rng.random() < 0.2:
        return None
    columns = np.array([rng.randrange(width) for _ in range(rng.choice([1, 9, width]))] if width else [], np.int64)
    if distinct or rng.random() < 0.4:
        columns = None if rng.random() < 0.5 else np.array(rng.sample(range(width), width), np.int64)
    limit = width if columns is None else len(columns)
    rows = [[rng.randrange(limit) for _ in range(rng.randrange(5))] if limit else [] for _ in range(examples)]
    if distinct:
        rows = [list(dict.fromkeys(row)) for row in rows]
    offsets = np.cumsum([0, *map(len, rows)]).astype(kind)
    return Lists(offsets, np.array([place for row in rows for place in row], kind), columns, distinct)


@needs_compiled
@pytest.mark.parametrize("seed", range(cases(60)))
def test_twins_count_lists_with_repeats_alike(seed: int):
    rng = random.Random(seed)
    examples, width = rng.choice([0, 1, 2, 40, 1025, 3000]), rng.choice([0, 1, 2, 9, 64, 500])
    sides = [lists_of(rng, examples, width) for _ in range(4)]
    everywhere = np.array(sorted(rng.sample(range(width), rng.randrange(width + 1))), np.int64)
    twins = both(width)
    for counts in twins:
        counts.count_lists(examples, width // 2, *sides, everywhere)
        counts.count_lists(examples, width // 2, *reversed(sides), everywhere)
    assert everything(twins[0], width) == everything(twins[1], width)


@needs_compiled
@pytest.mark.parametrize("distinct", [(True, True), (True, False), (False, True), (False, False)], ids=str)
@pytest.mark.parametrize(
    "kinds", [(np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64), (np.int64, np.int32)], ids=str
)
def test_twins_count_true_and_predicted_lists_alike(kinds: tuple[type, type], distinct: tuple[bool, bool]):
    for seed in range(20):
        rng = random.Random(seed)
        examples, width = rng.choice([0, 1, 40, 1024, 3000]), rng.choice([0, 1, 2, 9, 64, 500])
        sides = [
            lists_of(rng, examples, width, kind, orders_seen) for kind, orders_seen in zip(kinds, distinct, strict=True)
        ]
        everywhere = np.arange(rng.choice([0, width // 2, width]))
        twins = both(width)
        for counts in twins:
            counts.count_lists(examples, width // 3, *sides, None, None, everywhere)
        assert everything(twins[0], width) == everything(twins[1], width)


@needs_compiled
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_lists_with_columns_out_of_range_are_refused(kind: type):
    fine = Lists(np.array([0, 1, 2], kind), np.array([0, 1], kind), None, True)
    top = np.iinfo(kind).max
    wrong = [
        Lists(np.array(offsets, kind), np.array(places, kind), columns, distinct)
        for offsets, places, columns in (
            ([0, 1, 2], [0, 9], None), ([0, 1, 2], [0, -1], None), ([0, 1, 2], [top, 0], None),
            ([0, 1, 3], [0, 1], None), ([-1, 1, 2], [0, 1], None), ([0, 2, 1], [0, 1], None),
            ([0, top, 1], [0, 1], None), ([0, 0, 1], [], None), ([0, 1], [0], None), ([], [], None),
            ([0, 1, 2], [0, 1], np.array([0])),
            ([0, 1, 2], [0, 1], np.array([0, 9])), ([0, 1, 2], [0, 1], np.array([0, -1])),
        )
        for distinct in (False, True)
    ]  # fmt: skip
    for lists in wrong:
        for sides in ((lists, fine, None), (fine, lists, None), (lists, fine, fine), (fine, None, lists)):
            with pytest.raises(IndexError):
                _compiled.Counts(Root(), 9).count_lists(2, 0, *sides, None, np.zeros(0, np.int64))


@pytest.mark.parametrize("twin", sorted({"numpy", kernel.BACKEND}))
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("seed", range(cases(40)))
def test_lists_with_repeats_and_damaged_ones_are_recognised(kind: type, seed: int, twin: str):
    list_order = importlib.import_module(f"streameval.kernel.decisions.{twin}").list_order
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(0, 40)), int(rng.integers(1, 30))
    orders_seen = set()
    for how in range(30):
        lengths = rng.integers(0, min(width, 6) + 1, rows)
        drawn = [rng.choice(width, size, replace=how % 3 == 2) for size in lengths]
        drawn = [np.sort(places) for places in drawn] if how % 2 else drawn
        start = int(rng.integers(0, 3))
        offsets = (start + np.concatenate([[0], np.cumsum(lengths)])).astype(kind)
        places = np.concatenate([np.full(start, -1), *drawn, np.full(int(rng.integers(0, 3)), 99)]).astype(kind)
        repeated = any(len(set(row.tolist())) < len(row) for row in drawn)
        order = list_order(offsets, places, width)
        assert order == (REPEATING if repeated else DISTINCT)
        orders_seen.add(order)
        for array, at, value in (
            (offsets, 0, -1), (offsets, -1, len(places) + 1), (offsets, rows // 2, np.iinfo(kind).max),
            (offsets, rows // 2, np.iinfo(kind).min), (places, start, width), (places, start, -1),
            (places, start, np.iinfo(kind).max), (places, start, np.iinfo(kind).min),
        ):  # fmt: skip
            if array is offsets or lengths.sum():
                retained = array[at]
                array[at] = value
                assert list_order(offsets, places, width) == DAMAGED
                array[at] = retained
    assert rows < 3 or width < 3 or orders_seen == {DISTINCT, REPEATING}
    assert list_order(np.zeros(0, kind), np.zeros(9, kind), width) == DAMAGED
    assert list_order(np.array([0, 1], kind), np.array([2**31 - 1], kind), 2**31) == DISTINCT


LABELS_OF_SCORES = st.sampled_from(["a", "b", "c", "", 1, 2, -3, True, 1.0, None, "unknown", 7])
SCORES_OF_LABELS = st.one_of(
    st.floats(), st.integers(), st.sampled_from([True, None, "0.5", 2**53, -(2**53), 2**53 + 1, 2**54, 10**400, -0.0]),
    st.sampled_from([np.float64(0.5), np.int64(3)]),
)  # fmt: skip


@needs_compiled
@given(st.lists(st.one_of(
    st.dictionaries(LABELS_OF_SCORES, SCORES_OF_LABELS), st.dictionaries(st.sampled_from(["a", 1, 2]), st.floats(0, 1)),
    st.sampled_from([[], ["a"], None, "a", {"a"}]),
)))  # fmt: skip
def test_twins_read_mappings_of_scores_alike(examples: list[object]):
    columns = {"a": 0, "b": 3, "c": 1, "": 2, 1: 5, 2: 4, -3: 6}
    ours, theirs = (twin.score_lists(columns, examples) for twin in (_strings, _strings_numpy))
    assert (ours is None) == (theirs is None)
    if ours is None:
        return
    for mine, other in zip(ours[:3], theirs[:3], strict=True):
        assert (mine.dtype, mine.tobytes()) == (other.dtype, other.tobytes())
    assert ours[3] is theirs[3]
    cells = [(columns[label], float(score)) for example in examples for label, score in example.items()]
    assert list(zip(ours[1].tolist(), ours[2].tolist(), strict=True)) == cells
    assert ours[0].tolist() == [sum(map(len, examples[:end])) for end in range(len(examples) + 1)]


WEIGHTS = {
    "equal": lambda _, rows: np.full(rows, 3.0),
    "uniform": lambda rng, rows: rng.random(rows),
    "far apart": lambda rng, rows: rng.random(rows) * 10.0 ** rng.integers(-300, 300, rows),
    "powers of two": lambda rng, rows: 2.0 ** rng.integers(-40, 40, rows),
    "extreme": lambda rng, rows: rng.choice([5e-324, 2.2250738585072014e-308, 0.0, -0.0, 1.7976931348623157e308], rows),
    "largest": lambda _, rows: np.full(rows, 1.7976931348623157e308),
    "nothing": lambda _, rows: np.zeros(rows),
}


UNITS = 1200
"""Sums of weights are compared in units of 2**-1200."""


def exact(weighed: Weighed) -> tuple[list[list[int]], dict[object, int]]:
    """The sums as Python integers: by column and outcome, and by row key."""

    def numbers(digits: np.ndarray) -> list[int]:
        """Rows of digits of base 2**32, any of which may be an int64."""
        rows, places = digits.reshape(-1, digits.shape[-1]).copy(), digits.shape[-1]
        for place in range(places - 1):
            rows[:, place + 1] += rows[:, place] >> 32
            rows[:, place] &= 2**32 - 1
        low, size = rows[:, :-1].astype("<u4").tobytes(), 4 * (places - 1)
        return [
            (top << 8 * size) + int.from_bytes(low[at * size : (at + 1) * size], "little") << UNITS - weighed.scale
            for at, top in enumerate(rows[:, -1].tolist())
        ]

    keys = [tuple(key) for key in weighed.keys.tolist()]
    assert len(set(keys)) == len(keys)
    cells, (columns, outcomes) = numbers(weighed.cells), weighed.cells.shape[:2]
    of_columns = [cells[outcomes * column : outcomes * (column + 1)] for column in range(columns)]
    return of_columns, dict(zip(keys, numbers(weighed.of_keys), strict=True))


@needs_compiled
@with_each("kind", WEIGHTS)
@pytest.mark.parametrize("shape", [*SHAPES[:-1], (257, 5), (263, 8), (2200, 40)], ids=str)
def test_twins_weigh_dense_rows_alike(shape: tuple[int, int], kind: str):
    rng = np.random.default_rng([*shape, *kind.encode()])
    weights = WEIGHTS[kind](rng, shape[0])
    true, pred, mask = bits(rng, shape, "random"), bits(rng, shape, "ones"), bits(rng, shape, "rare")
    pred[::3] = true[::3]
    spread = np.zeros((shape[0], shape[1] + 3), np.uint8)
    spread[:, 1 : shape[1] + 1] = true
    for hidden in (None, mask):
        twins = [
            exact(twin.weigh_dense(spread[:, 1 : shape[1] + 1], pred, hidden, weights)) for twin in (_compiled, _numpy)
        ]
        assert twins[0] == twins[1]


def test_weights_are_summed_by_definition():
    rng = np.random.default_rng(9)
    for kind, draw in WEIGHTS.items():
        weights = draw(rng, 30)
        true, pred, mask = (bits(rng, (30, 9), fill) for fill in ("random", "random", "rare"))
        cells, keys = [[0] * 5 for _ in range(9)], dict[object, int]()
        for row, weight in enumerate(int(Fraction(weight) * 2**UNITS) for weight in weights.tolist()):
            t, p, m = ({*np.flatnonzero(side[row]).tolist()} for side in (true, pred, mask))
            for column in range(9):
                outcome = 4 if column in m else (column in t) + 2 * (column in p)
                cells[column][outcome] += weight if outcome else 0
            key = len(t - m), len(p - m), len((t & p) - m), len(m)
            keys[key] = keys.get(key, 0) + weight
        lists = [
            Lists(np.concatenate([[0], np.cumsum(side.sum(axis=1, dtype=np.int64))]), np.nonzero(side)[1])
            for side in (true, pred, mask)
        ]
        assert exact(backend.decisions.weigh_dense(true, pred, mask, weights)) == (cells, keys), kind
        assert widened(9, *backend.decisions.weigh_lists(30, *lists, None, weights)) == (cells, keys), kind


@with_each("kind", WEIGHTS)
@pytest.mark.parametrize("seed", range(8))
def test_lists_are_weighed_like_dense_rows(kind: str, seed: int):
    rng = random.Random(seed)
    examples, width = rng.choice([0, 1, 2, 40, 1025]), rng.choice([0, 1, 2, 9, 64])
    weights = WEIGHTS[kind](np.random.default_rng(seed), examples)
    sides = [lists_of(rng, examples, width, [np.int32, np.int64][seed % 2]) for _ in range(4)]
    rows = [np.zeros((examples, width), np.uint8) for _ in range(3)]
    for dense, lists in zip(rows, sides, strict=False):
        if lists is not None:
            dense[np.repeat(np.arange(examples), np.diff(lists.offsets)), lists.flat()] = 1
    columns, weighed = backend.decisions.weigh_lists(examples, *sides, weights)
    assert widened(width, columns, weighed) == exact(backend.decisions.weigh_dense(*rows, weights))


def widened(width: int, columns: np.ndarray, weighed: Weighed) -> tuple[list[list[int]], dict[object, int]]:
    """The sums of some columns as `exact` has them of all columns."""
    cells, keys = exact(weighed)
    by_column = dict(zip(columns.tolist(), cells, strict=True))
    return [by_column.get(column, [0] * 5) for column in range(width)], keys


def placed_plainly(columns: dict, fixed: int, true: Any, pred: Any) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Slots and row key of an example of sets, lists or mappings of labels, computed by definition."""
    positive = [{columns[name] for name in side if not isinstance(side, dict) or side[name]} for side in (true, pred)]
    named = {columns[name] for name in (*true, *pred)}
    outcomes = {column: (column in positive[0]) + 2 * (column in positive[1]) for column in named}
    slots = np.array([5 * c + o for c, o in outcomes.items() if o or c >= fixed], np.int64)
    values = list(outcomes.values())
    return slots, (values.count(1) + values.count(3), values.count(2) + values.count(3), values.count(3), 0)


@needs_compiled
@settings(max_examples=cases(300))
@given(st.data())
def test_twins_agree_about_any_history_of_single_examples(data: st.DataObject):
    labels = ["a", "b", "c", "d", 7]
    columns = {label: column for column, label in enumerate(labels)}
    fixed = data.draw(st.sampled_from([0, 2, 5]))
    side = st.one_of(
        st.dictionaries(st.sampled_from(labels), st.sampled_from([True, False, 0, 1])),
        st.sets(st.sampled_from(labels)),
        st.lists(st.sampled_from(labels)),
        st.lists(st.sampled_from(labels)).map(tuple),
    )
    twins = both(5)
    for _ in range(data.draw(st.integers(1, 12))):
        true, pred = data.draw(side), data.draw(side)
        sign = data.draw(st.sampled_from([1, 1, -1]))
        code = twins[0].count_example(columns, fixed, true, pred, None, sign)
        assert code in (DONE, REFUSED)
        assert count_slots(twins[1], *placed_plainly(columns, fixed, true, pred), fixed, sign) == code
        assert everything(twins[0], 5) == everything(twins[1], 5)


@needs_compiled
@pytest.mark.parametrize("seed", range(cases(120)))
def test_twins_refuse_the_same_reverts_after_any_history(seed: int):
    rng = random.Random(seed)
    width, density = rng.choice([1, 2, 3, 5, 9, 30]), rng.choice([0.1, 0.5, 0.9])
    fixed, reverts, ubiquitous = rng.choice([0, 0, width // 2, width]), rng.choice([0.3, 0.5, 0.7]), rng.random() < 0.5

    def example() -> tuple[np.ndarray, tuple[int, int, int, int]]:
        chance = [0.97 if ubiquitous and not column else density for column in range(width)]
        outcomes = {column: rng.randrange(5) for column in range(width) if rng.random() < chance[column]}
        counts = [list(outcomes.values()).count(outcome) for outcome in range(5)]
        slots = [5 * column + outcome for column, outcome in outcomes.items() if outcome or column >= fixed]
        return np.array(slots, np.int64), (counts[1] + counts[3], counts[2] + counts[3], counts[3], counts[4])

    twins, counted = both(width), []
    for step in range(200):
        drawn = rng.random()
        if drawn < reverts and (counted or drawn < 0.1):
            wrong = not counted or rng.random() < 0.4
            inputs = example() if wrong else counted.pop(rng.randrange(len(counted)))
            codes = [count_slots(counts, *inputs, fixed, -1) for counts in twins]
            assert codes[0] == codes[1], step
        elif drawn < 0.95:
            counted.append(example())
            for counts in twins:
                count_slots(counts, *counted[-1], fixed, 1)
        elif drawn < 0.97:
            added = [example() for _ in range(rng.randrange(6))]
            counted += added
            for counts, other in zip(twins, both(width), strict=True):
                for inputs in added:
                    count_slots(other, *inputs, fixed, 1)
                assert merge(counts, other) == DONE
        else:
            twins = tuple(counts.copy(Root()) for counts in twins)
    assert everything(twins[0], width) == everything(twins[1], width)


@needs_compiled
@settings(max_examples=cases(200))
@given(st.data())
def test_lists_of_examples_are_counted_like_one_by_one_or_declined_as_a_whole(data: st.DataObject):
    labels = ["a", "b", "c", "d", 7]
    columns = {label: column for column, label in enumerate(labels)}
    fixed = data.draw(st.sampled_from([0, 2, 5]))
    mapping = st.dictionaries(st.sampled_from(labels), st.sampled_from([True, False, 0, 1]))
    size = data.draw(st.sampled_from([0, 1, 3, 70]))
    alike = data.draw(mapping)
    true, pred = ([dict(alike) for _ in range(size)] for _ in range(2))
    for side in (true, pred):
        for row in side[:4]:
            row.update({label: data.draw(st.booleans()) for label in row})
    if size and data.draw(st.booleans()):
        data.draw(st.sampled_from([true, pred]))[data.draw(st.integers(0, size - 1))] = data.draw(
            st.sampled_from([{"unknown"}, None, {"a": 2}, {"a": 0.5}])
        )
    counts, single = both(0)[0], both(0)[0]
    code = counts.count_examples(columns, fixed, true, pred, None)
    one_by_one = [single.count_example(columns, fixed, t, p, None, 1) for t, p in zip(true, pred, strict=True)]
    if code == OTHER:
        assert OTHER in one_by_one
        assert everything(counts, 5) == (0, [[0] * 5] * 5, [])
    else:
        assert code == DONE
        assert everything(counts, 5) == everything(single, 5)


@needs_compiled
@pytest.mark.parametrize("name", [int, "label {}".format], ids=["integers", "strings"])
def test_twins_count_sets_from_which_members_were_removed(name: Callable[[int], Any]):
    rng, number = random.Random(5), 20_000  # more labels than the kernel remembers
    labels = [name(place - 10) for place in range(number)]
    columns = {label: column for column, label in enumerate(labels)}

    def drawn(size: int) -> Any:
        # Half of the labels are new objects, equal to labels counted before.
        members = {name(rng.randrange(number) - 10) if rng.random() < 0.5 else rng.choice(labels) for _ in range(size)}
        for member in rng.sample([*members], size // 3):
            members.discard(member)
        return rng.choice([set, frozenset, list, tuple, lambda same: same])(members)

    true, pred = ([drawn(rng.choice([0, 1, 4, 5, 30, 900])) for _ in range(200)] for _ in "01")
    for at in range(0, 200, 3):
        pred[at] = {*pred[at], *(member for member in true[at] if rng.random() < 0.5)}
    compiled, twin = _compiled.Counts(Root(), 0), _numpy.Counts(Root(), number)
    assert compiled.count_examples(columns, 0, true, tuple(pred), None) == DONE
    assert compiled.count_examples(columns, 0, true, pred[:-1], None) == OTHER
    for example in zip(true, pred, strict=True):
        assert count_slots(twin, *placed_plainly(columns, 0, *example), 0, 1) == DONE
    assert everything(compiled, number) == everything(twin, number)


@needs_compiled
@pytest.mark.parametrize("distinct", [False, True])
def test_twins_count_many_lists_of_few_and_of_many_columns(distinct: bool):
    rng, rows, width = np.random.default_rng(3), 5000, 100

    def drawn() -> Lists:
        lengths = rng.choice([0, 1, 2, 5, 15, 16, 17, 40], rows)
        places = np.concatenate([rng.choice(width, size, replace=not distinct) for size in lengths])
        return Lists(np.append(0, np.cumsum(lengths)), places, None, distinct)

    true, pred = drawn(), drawn()
    compiled, twin = both(width)
    for counts in (compiled, twin):
        counts.count_lists(rows, 0, true, pred, None, None, np.arange(width))
    assert everything(compiled, width) == everything(twin, width)


@needs_compiled
def test_cached_labels_are_released_with_the_kernel_table():
    labels, again = ([name(place) for place in range(1000, 21_000) for name in (int, str)] for _ in range(2))
    assert not any(map(operator.is_, labels, again))  # the labels are equal, but not the same objects
    columns = {label: column for column, label in enumerate(labels)}
    before = [sys.getrefcount(label) for label in (*labels, *again)]
    counts = _compiled.Counts(Root(), 0)
    for objects in (again, labels, again):
        examples = [[label] for label in objects]
        assert counts.count_examples(columns, 0, examples, examples, None) == DONE
    del examples, objects
    assert [sys.getrefcount(label) for label in (*labels, *again)] != before
    del counts
    assert [sys.getrefcount(label) for label in (*labels, *again)] == before


@needs_compiled
@pytest.mark.parametrize(
    ("true", "pred"),
    [
        ({"x": True}, {"a": True}), ({"a": 2}, {"a": True}), ({"a": 1.0}, {"a": 1}), ({"a": True}, {"a": None}),
        ({1.0}, {"a"}), ({True}, {"a"}), ("a", {"a"}), (iter(["a"]), {"a"}),
        (np.array([1, 0], ">i4"), {"a"}), (np.array([2, 0]), {"a"}),
        (np.array([2, 0], np.uint8), np.array([1, 0], np.uint8)), (None, None),
        (["a", None], []), (("a", "z"), ()), ({"a"}, {"z"}), ({"a": 1}, {"a": np.int64(1)}),
        (np.zeros((1, 2), np.uint8), {"a"}), (np.zeros(3, np.uint8), {"a"}),
    ],
    ids=case_name,
)  # fmt: skip
def test_unusual_examples_are_declined_and_change_nothing(true: object, pred: object):
    columns, counts = {"a": 0, 1: 1}, _compiled.Counts(Root(), 2)
    assert counts.count_example(columns, 2, true, pred, None, 1) == OTHER
    assert counts.count_example(columns, 2, true, pred, None, -1) == OTHER
    assert everything(counts, 2) == (0, [[0] * 5] * 2, [])


@needs_compiled
@pytest.mark.parametrize("kind", [np.uint8, np.bool_, np.int64])
def test_rows_of_declared_labels_are_read_with_any_stride(kind: type):
    counts, columns = _compiled.Counts(Root(), 4), {label: column for column, label in enumerate("abcd")}
    wide = np.array([1, 0, 0, 1, 1, 0, 1, 1], kind)
    rows = wide[::2], wide[::-2], wide[:4].copy(), np.frombuffer(wide[:4].tobytes(), kind)
    for row in rows:
        assert counts.count_example(columns, 4, row, row, None, 1) == DONE
    assert cells_in(counts, 4)[:, 3].tolist() == [sum(int(row[column]) for row in rows) for column in range(4)]


@needs_compiled
@pytest.mark.parametrize("fixed", [0, 2, 4])
def test_rows_and_scored_mappings_are_placed_or_declined(fixed: int):
    rng, columns = np.random.default_rng(fixed), {label: column for column, label in enumerate("abcd")}
    place = partial(_compiled.Counts(Root(), 4).place_example, columns, fixed)
    for top, size in ((2, 4), (-1, 4), (1, 3)):
        assert place(np.array([0, top, 0, 1]), np.ones(size, int), None) is None
    for bad in (float("nan"), float("inf"), 1, "1"):
        assert place({"a"}, {"a": 0.5, "b": bad}, 0.5) is None
    for _ in range(40):
        rows = [rng.integers(0, 2, 4).astype(kind) for kind in rng.choice([np.int64, np.uint8, np.bool_, np.int8], 2)]
        true, named = (set(rng.choice(list("abcd"), size).tolist()) for size in rng.integers(0, 4, 2))
        scores = {label: float(rng.integers(3)) / 2 for label in named}
        mappings = [dict(zip("abcd", row.tolist(), strict=True)) for row in rows]
        handled = fixed == 4 and (np.int8 not in (rows[0].dtype, rows[1].dtype) or None)  # None: either is right
        for example, plain, is_handled in (
            ((*rows, None), mappings, handled),
            ((*rows, 0.5), mappings, handled and (rows[1].dtype == np.bool_ or None)),
            ((true, scores, 0.5), (true, {label: score >= 0.5 for label, score in scores.items()}), True),
            ((true, named, None), (true, named), True),
        ):
            placed, (slots, key) = place(*example), placed_plainly(columns, fixed, *plain)
            assert is_handled in (None, placed is not None), example
            if placed is not None:
                assert (sorted(placed[0].tolist()), placed[1]) == (sorted(slots.tolist()), key)


SCORED = st.one_of(
    st.floats(-1, 2), st.sampled_from([0, 1, 0.5, -3, 2**53 + 1, True, None, float("nan"), float("inf")])
)


@needs_compiled
@given(st.data())
def test_placed_scores_agree_with_counts_of_the_numpy_kernel(data: st.DataObject):
    labels = st.sampled_from(["a", "b", "c", "d", 7, "unknown"])
    columns = {"a": 3, "b": 0, "c": 1, "d": 4, 7: 2}
    fixed, threshold = data.draw(st.sampled_from([0, 2, 5])), data.draw(st.sampled_from([None, 0.5, 0.0]))
    true = data.draw(st.one_of(st.sets(labels), st.lists(labels), st.dictionaries(labels, st.sampled_from([0, 1, 2]))))
    pred = data.draw(st.dictionaries(labels, SCORED))
    values = true.values() if isinstance(true, dict) else ()
    numbers = (float,) if threshold is not None else (float, int)
    common = {*true, *pred} <= {*columns} and 2 not in values and all(
        type(score) in numbers and np.isfinite(score) and abs(score) <= 2**53 for score in pred.values()
    )  # fmt: skip
    counts, twin = both(5)
    assert twin.place_scores(columns, fixed, true, pred, threshold) is None  # the numpy kernel always declines
    placed = counts.place_scores(columns, fixed, true, pred, threshold)
    assert (placed is not None) == common
    if placed is None:
        return
    positive = {label for label in true if not isinstance(true, dict) or true[label]}
    slots, key, truths, ranked, scores = placed
    assert sorted(truths.flat().tolist()) == sorted(columns[label] for label in positive)
    assert (ranked.flat().tolist(), scores.tolist()) == ([columns[label] for label in pred], list(pred.values()))
    for lists in (truths, ranked):
        assert lists.offsets.tolist() == [0, len(lists.places)]
    decided = {label for label in pred if threshold is not None and pred[label] >= threshold}
    lists = [
        Lists(np.array([0, len(side)]), np.array([columns[label] for label in side], np.int64))
        for side in (positive, decided, {*true, *pred})
    ]
    twin.count_lists(1, fixed, lists[0], lists[1], None, lists[2], np.zeros(0, np.int64))
    assert count_slots(counts, slots, key, fixed, 1) == DONE
    assert everything(counts, 5) == everything(twin, 5)


@needs_compiled
def test_twins_merge_copy_and_restore_alike():
    for width, more in ((3, 9), (9, 3), (40, 40)):
        parts = []
        for kind in (_compiled.Counts, _numpy.Counts):
            first, second = kind(Root(), width), kind(Root(), more)
            for counts, columns in ((first, width), (second, more)):
                draw = np.random.default_rng(columns)
                rows = (draw.random((300, columns)) < 0.5).astype(np.uint8)
                counts.count_dense(np.arange(columns), 0, rows, rows[::-1].copy(), None)
            first.reserve(60)
            place = np.random.default_rng(1).permutation(60)[:more].astype(np.int64)
            assert merge(first, second, place) == DONE
            assert merge(first, first.copy(Root())) == DONE
            assert merge(first, first) == DONE
            fresh = kind(Root(), 0)
            fresh.restore(first.examples, cells_in(first, 60), *first.row_keys())
            assert everything(fresh, 60) == everything(first, 60)
            fresh = kind(Root(), 0)  # restored from cells by outcome, the layout in bytes
            fresh.restore(first.examples, np.asfortranarray(cells_in(first, 60)), *first.row_keys())
            for counts in (fresh, first):
                assert count_slots(counts, np.array([5 * 7 + 1, 5 * 50 + 3]), (2, 1, 1, 0), 0, 1) == DONE
            assert everything(fresh, 60) == everything(first, 60)
            assert first.mentioned(60).tolist() == cells_in(first, 60).any(axis=1).tolist()
            assert first.outcomes(place).tolist() == cells_in(first, 60)[place].T.tolist()
            parts.append(everything(first, 60))
        assert parts[0] == parts[1]


@needs_compiled
def test_twins_are_full_at_the_same_example():
    for counts, single in zip(both(1), (FULL, OTHER), strict=True):
        count_slots(counts, np.array([3]), (1, 1, 1, 0), 0, 1)
        for _ in range(62):
            assert merge(counts, counts) == DONE
        assert counts.examples == 2**62
        assert merge(counts, counts) == FULL
        rest = counts.copy(Root())
        assert count_slots(rest, np.array([3]), (1, 1, 1, 0), 0, -1) == DONE
        assert merge(counts, rest) == DONE
        assert counts.examples == 2**63 - 1
        before = everything(counts, 1)
        assert count_slots(counts, np.array([3]), (1, 1, 1, 0), 0, 1) == FULL
        assert counts.count_example({"a": 0}, 0, {"a": True}, {"a": True}, None, 1) == single
        assert counts.count_examples({"a": 0}, 0, [{"a": True}], [{"a": True}], None) == single
        assert everything(counts, 1) == before


@needs_compiled
def test_the_column_of_a_dropped_label_is_not_cached():
    ev = se.Evaluator()
    ev.update({"a": True}, {"a": True})
    with pytest.raises(se.LabelError):
        ev.update({"a": True, "gone": True, None: True}, {"a": True})
    ev.update({"a": True, "other": True}, {"a": True, "other": False})
    ev.update({"a": True, "gone": True}, {"a": True, "gone": True})
    assert ev.per_label().to_dict()["label"] == ["a", "gone", "other"]
    assert ev.per_label().tp.tolist() == [3, 1, 0]


@pytest.mark.parametrize("size", [100, 3000])  # the kernel holds the GIL for batches of fewer than 65,536 cells
def test_threads_with_objects_of_their_own_do_not_disturb_each_other(size: int):
    rng = np.random.default_rng(0)
    true, pred = ((rng.random((3000, 40)) < 0.2).astype(np.uint8) for _ in range(2))
    scores = np.where(pred, np.float32(0.9), np.float32(0.1))

    def work(number: int, size: int = size) -> bytes:
        ev = se.Evaluator(threshold=0.5 if number % 2 else None)
        for start in range(0, 3000, size):
            rows = slice(start, start + size)
            ev.update_many(true[rows], (scores if number % 2 else pred)[rows])
        return ev.to_bytes()

    single = [work(number, 500) for number in range(2)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(32))) == 16 * single


@needs_compiled
@pytest.mark.parametrize("what", ["dense", "scores", "lists"])
def test_other_threads_run_while_many_examples_are_counted(what: str):
    rows, columns = 40_000, 1000
    bits = np.broadcast_to((np.arange(columns) % 3 == 0).astype(np.uint8), (rows, columns))
    scores = np.broadcast_to(np.linspace(0, 1, columns, dtype=np.float32), (rows, columns))
    lists = Lists(20 * np.arange(rows + 1), np.tile(np.arange(20), rows))
    places, bounds, none = np.arange(columns), np.zeros(columns, np.float32), np.zeros(0, np.int64)
    # Arguments are made first, because numpy releases the GIL too.
    arguments = {
        "dense": (places, 0, bits, bits, None),
        "scores": (places, 0, bits, scores, bounds, None),
        "lists": (rows, 0, lists, lists, None, None, none),
    }[what]
    steps, over = [0], threading.Event()

    def other() -> None:
        while not over.is_set():
            steps[0] += 1
            time.sleep(0)

    usual = sys.getswitchinterval()
    # From now on a thread runs only if the running one releases the GIL.
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=other)
    try:
        thread.start()
        for _ in range(100):
            count = getattr(_compiled.Counts(Root(), columns), f"count_{what}")
            before = steps[0]
            count(*arguments)
            if steps[0] > before:
                break
        else:
            pytest.fail("no other thread ran meanwhile")
    finally:
        over.set()
        sys.setswitchinterval(usual)
        thread.join()


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_within_a_call_change_no_bit(threads: int):
    rng = np.random.default_rng(threads)
    true, pred, mask = ((rng.random((1000, 90)) < share).astype(np.uint8) for share in (0.2, 0.3, 0.01))
    weights = rng.random(1000) * 10.0 ** rng.integers(-200, 200, 1000)
    words = [[f"label{column}" for column in np.flatnonzero(row)] for row in true]
    for make, examples in (
        (se.Evaluator, {"y_true": true, "y_pred": pred}),
        (se.Evaluator, {"y_true": true, "y_pred": pred, "mask": mask, "weights": weights}),
        (lambda: se.Evaluator(threshold=0.5), {"y_true": true, "y_pred": rng.random((1000, 90)).astype(np.float32)}),
        (se.Evaluator, {"y_true": words, "y_pred": words[::-1], "weights": weights}),
        (se.Evaluator, {"y_true": words[:2], "y_pred": words[:2]}),
    ):
        one, several = make(), make()
        one.update_many(**examples)
        several.update_many(**examples, threads=threads)
        assert one.to_bytes() == several.to_bytes()


def test_an_error_in_a_thread_changes_nothing():
    rows = np.zeros((1000, 50), np.uint8)
    rows[999, 49] = 2
    ev = se.Evaluator()
    with pytest.raises(se.InputError, match=r"y_true\[999\] is 2 for label 49"):
        ev.update_many(rows, np.zeros_like(rows), threads=4)
    assert ev == se.Evaluator()
    for threads in (0, -1, 1.5, True, None):
        with pytest.raises(se.InputError, match="threads must be"):
            ev.update_many(rows[:9], rows[:9], threads=threads)


def test_threads_can_share_one_table_behind_a_lock():
    ev, lock = se.Evaluator(), threading.Lock()

    def work(part: int) -> None:
        for step in range(300):
            with lock:
                ev.update({f"label{step % 7}", f"own{part}"}, {f"label{step % 5}"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    reference = se.Evaluator()
    for part in range(6):
        for step in range(300):
            reference.update({f"label{step % 7}", f"own{part}"}, {f"label{step % 5}"})
    assert ev.to_bytes() == reference.to_bytes()


@pytest.mark.parametrize(("value", "orders_seen"), [("fast", "must be auto, compiled or numpy"), ("numpy", "numpy")])
def test_the_backend_can_be_chosen_when_the_package_is_imported(value: str, orders_seen: str):
    program = "from streameval import kernel; print(kernel.BACKEND)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "STREAMEVAL_KERNEL": value},
        cwd=Path.home(),
    )
    assert orders_seen in done.stdout + done.stderr


def test_a_python_of_32_bits_is_refused_when_the_package_is_imported_or_built(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(ImportError, match=r"requires a 64-bit Python"):
        importlib.reload(se)
    tools = SimpleNamespace(Extension=None, setup=None, new_compiler=None, customize_compiler=None, build_ext=object)
    for module in ("", "._distutils.ccompiler", "._distutils.sysconfig", ".command.build_ext"):
        monkeypatch.setitem(sys.modules, f"setuptools{module}", tools)  # some Pythons lack setuptools
    for mode in ("auto", "require", "skip"):
        monkeypatch.setenv("STREAMEVAL_BUILD", mode)
        with pytest.raises(SystemExit, match=r"requires a 64-bit Python"):
            runpy.run_path(str(Path(__file__).parents[3] / "setup.py"))


@needs_compiled
def test_the_kernel_counts_short_lists_of_labels_that_cannot_be_rows_of_0_and_1():
    for zero, one in ((0, 1), ("0", "1")):
        counts = _compiled.Counts(Root(), 8)
        for example in ([zero], [one], [zero, one], (zero, one), [zero, 2], [2, zero], [2, 2]):
            assert counts.count_example({zero: 0, one: 1, 2: 2}, 0, example, [2], None, 1) == DONE, example
        for example in ([one, zero], (one, zero), [zero, zero], [one, zero, one], [zero, one, zero]):
            assert counts.count_example({zero: 0, one: 1, 2: 2}, 0, example, [2], None, 1) == OTHER, example
