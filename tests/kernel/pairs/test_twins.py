"""Pairs of labels: the compiled kernel and the numpy one have equal counts and results."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from streameval.kernel.types import DONE, FULL, REFUSED
from tests.support.effort import cases, spread
from tests.support.twins import Twin, needs_compiled, twins

SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (3, 7), (9, 8), (9, 9), (5, 63), (5, 64), (5, 65), (300, 3), (700, 14), (40, 130),
    (1, 260), (400, 20),
]  # fmt: skip
FILLS = {"random": 0.3, "rare": 0.03, "ones": 2.0, "zeros": -1.0}


def everything(pairs: Any) -> tuple:
    keys, times = pairs.items()
    order = np.lexsort(keys.T)
    return pairs.examples, len(keys), keys[order].tobytes(), times[order].tobytes()


def both(parts: int) -> list[Twin]:
    return twins("pairs", "Pairs", parts)


def same(pair: list[Twin]) -> bool:
    return everything(pair[0].table) == everything(pair[1].table)


ROWS = list(product((1, 2, 4, 7), FILLS, SHAPES))


@needs_compiled
@pytest.mark.parametrize(("parts", "fill", "shape"), spread(ROWS, len(ROWS)), ids=str)
def test_twins_count_dense_rows_alike(shape: tuple[int, int], fill: str, parts: int):
    rng = np.random.default_rng([*shape, parts])
    if fill == "ones":
        shape = (min(shape[0], 90), min(shape[1], 65))
    true, pred, hides = ((rng.random(shape) < FILLS[part]).astype(np.uint8) for part in (fill, "random", "rare"))
    for input_true, input_pred in ((true, pred), (pred, true)):
        for mask in (None, hides):
            columns = rng.permutation(shape[1] + 3)[: shape[1]].astype(np.int64)
            pair = both(parts)
            seen = [each.table.count_dense(columns, input_true, input_pred, mask) for each in pair]
            assert seen[0] == seen[1] <= 1
            assert same(pair)


@needs_compiled
def test_twins_read_rows_of_any_stride():
    rng = np.random.default_rng(5)
    wide = (rng.random((60, 90)) < 0.2).astype(np.uint8)
    for true in (wide[::2, :40], wide[::-1, 40:80][:30], np.broadcast_to(wide[0, :40], (30, 40))):
        pred = np.ascontiguousarray(wide[:30, 50:])
        pair = both(7)
        for each in pair:
            each.table.count_dense(np.arange(40), true, pred, None)
        assert same(pair)


def random_lists(rng: np.random.Generator, examples: int, width: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    sizes = rng.integers(0, size + 1, examples)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return offsets, rng.integers(0, max(width, 1), offsets[-1]).astype(np.int64)


@needs_compiled
@pytest.mark.parametrize(
    ("examples", "width", "size"), [(0, 4, 2), (1, 1, 3), (200, 5, 6), (300, 50, 9), (10, 9000, 30), (3000, 9, 8)]
)
@pytest.mark.parametrize("parts", [1, 2, 4, 7])
def test_twins_count_lists_alike(examples: int, width: int, size: int, parts: int):
    rng = np.random.default_rng([examples, width, parts])
    sides = [random_lists(rng, examples, width, size) for _ in range(3)]
    for missing in (None, 0, 1, 2):
        input_sides = [None if side == missing else lists for side, lists in enumerate(sides)]
        pair = both(parts)
        for each in pair:
            each.table.count_lists(examples, width, *input_sides)
        assert same(pair)


@needs_compiled
@settings(max_examples=cases(150))
@given(
    st.lists(st.tuples(st.dictionaries(st.integers(0, 9), st.integers(0, 4), max_size=7), st.booleans()), max_size=30),
    st.sampled_from([1, 2, 4, 7]),
)
@example([({0: 1, 1: 1}, True), ({}, False)], 4)
def test_twins_count_and_revert_single_examples_alike(steps: list, parts: int):
    pair, counted = both(parts), Counter[frozenset[tuple[int, int]]]()
    for cells, forward in steps:
        slots = np.array([5 * column + outcome for column, outcome in cells.items()], np.int64)
        codes = [each.change("prepare_example", slots, 1 if forward else -1) for each in pair]
        assert codes[0] == codes[1] in (DONE, REFUSED)
        assert same(pair)
        key = frozenset(cells.items())
        if codes[0] == DONE and (forward or counted[key]):
            counted[key] += 1 if forward else -1
        elif codes[0] == DONE:  # it was never counted, which only the decisions of the same set can detect: undo it
            assert [each.change("prepare_example", slots, 1) for each in pair] == [DONE, DONE]
    rest, place = [each.copy() for each in pair], np.random.default_rng(0).permutation(10).astype(np.int64)
    for each, other in zip(pair, rest, strict=True):
        before = everything(each.table)
        assert each.merge(other, place) == DONE
        assert each.merge(each) == DONE
        assert each.merge(other, None, -1) == each.merge(other, place, -1) == each.merge(other, place, -1) == DONE
        assert everything(each.table) == before
        part = each.table.prepare_merge(other.table, place, 1)
        assert everything(each.table) == before
        each.root.commit([part])
        each.table.compact()
    assert same(pair)
    assert same(rest)


@needs_compiled
def test_twins_refuse_to_unmerge_what_was_never_merged():
    rng, done = np.random.default_rng(2), set()
    for _ in range(300):
        rows, width = rng.integers(1, 4, 2), 3
        sides = [(rng.random((2, int(count), width)) < 0.5).astype(np.uint8) for count in rows]
        codes = []
        for twin in both(7):
            other = Twin(*twin.made, 7)
            for table, side in zip((twin.table, other.table), sides, strict=True):
                table.count_dense(np.arange(width), *side, None)
            before = everything(twin.table), everything(other.table)
            codes.append(twin.merge(other, None, -1))
            if codes[-1] == DONE:
                assert twin.merge(other) == DONE
            assert (everything(twin.table), everything(other.table)) == before
        assert codes[0] == codes[1]
        done.add(codes[0])
    assert done == {DONE, REFUSED}


def test_one_commit_can_have_many_parts_of_one_table():
    for twin in both(7):
        old, wide = np.array([1, 7, 13]), 5 * np.arange(60) + np.arange(60) % 3 + 1
        assert twin.change("prepare_example", old, 1) == DONE
        expected = Twin(*twin.made, 7)
        for slots in (wide, wide[::2]):
            assert expected.change("prepare_example", slots, 1) == DONE
        added = [twin.table.prepare_example(slots, 1) for slots in (wide, wide[::2])]
        twin.root.commit([*added, twin.table.prepare_example(old, -1)])
        assert everything(twin.table) == everything(expected.table)


def test_unmerging_a_table_from_itself_empties_it():
    rng = np.random.default_rng(3)
    for twin in both(7):
        twin.table.count_dense(np.arange(9), *(rng.random((2, 60, 9)) < 0.3).astype(np.uint8), None)
        assert twin.merge(twin, None, -1) == DONE
        assert everything(twin.table) == everything(both(7)[0].table)


@needs_compiled
@pytest.mark.parametrize("examples", [1, 3000])
@pytest.mark.parametrize("bad", [9, -1, 2**40])
def test_columns_out_of_range_are_refused(examples: int, bad: int):
    columns = np.zeros(examples, np.int64)
    columns[-1] = bad
    lists = (np.arange(examples + 1, dtype=np.int64), columns)
    counted, one = both(7)[0], both(7)[0]
    with pytest.raises(IndexError):
        counted.table.count_lists(examples, 8, lists, None, None)
    one.change("prepare_example", np.array([5 * 8 + 1]), 1)
    with pytest.raises(IndexError):
        counted.table.prepare_merge(one.table, np.arange(8), 1)
    falling = np.array([0, 9, 2])  # first and last are valid columns, the middle one is not
    with pytest.raises(IndexError):
        counted.table.count_lists(2, 8, (falling, np.zeros(2, np.int64)), None, None)


def test_twins_decline_alike_when_full():
    for twin in both(7):
        twin.table.restore(2**63 - 1, np.zeros((0, 5), np.int64), np.zeros(0, np.int64))
        assert twin.change("prepare_example", np.array([1]), 1) == FULL
        one = Twin(*twin.made, 7)
        assert one.change("prepare_example", np.array([1]), 1) == DONE
        assert twin.merge(one) == FULL
        assert twin.table.examples == 2**63 - 1
