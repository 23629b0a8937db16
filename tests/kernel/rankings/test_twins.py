"""Rankings: the compiled kernel and the numpy one give the same integers and results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from streameval.kernel.types import DONE, FULL, REFUSED
from tests.support.effort import cases, crossed, spread
from tests.support.twins import BACKENDS, Twin, needs_compiled, twins

if "compiled" in BACKENDS:
    from streameval.kernel.rankings import compiled

SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (3, 1), (3, 2), (4, 7), (4, 8), (4, 9), (3, 31), (3, 63), (3, 64), (3, 65),
    (2, 130), (2, 1600), (9, 20),
]  # fmt: skip
SCORES = ["random", "few", "equal", "zeros", "denormals", "descending"]


def scores_of(rng: np.random.Generator, shape: tuple[int, int], fill: str, kind: type) -> np.ndarray:
    tiny = np.finfo(kind).smallest_subnormal
    if fill == "few":
        return rng.integers(-2, 3, shape).astype(kind)
    if fill == "equal":
        return np.full(shape, 0.1, kind)
    if fill == "zeros":
        return rng.choice(np.array([0.0, -0.0], kind), shape)
    if fill == "denormals":
        return rng.choice(np.array([0.0, tiny, 2 * tiny, -tiny, np.finfo(kind).tiny], kind), shape)
    if fill == "descending":
        return np.ascontiguousarray(np.broadcast_to(-np.arange(shape[1]), shape), kind)
    return rng.standard_normal(shape).astype(kind)


def in_order(rows: np.ndarray) -> list:
    return sorted(map(tuple, rows.tolist()))


def everything(counts: object, width: int) -> tuple:
    tables = [in_order(np.hstack(counts.entries(which))) for which in range(3)]
    return counts.examples, counts.mentions(width).tolist(), tables


def both(width: int) -> list[Twin]:
    return twins("rankings", "RankCounts", width)


def same(pair: list[Twin], width: int) -> bool:
    return everything(pair[0].table, width) == everything(pair[1].table, width)


def at_each_level(subject: Callable[[Any], object], width: int) -> None:
    """Check that counts are equal with numpy, with portable loops and with the widest vectors of this machine."""
    tables = [Twin(backend, "rankings", "RankCounts", width).table for backend in ("numpy", "compiled", "compiled")]
    answers, before = [], compiled.vector_level()
    for level, table in zip((9, 0, 1), tables, strict=True):
        compiled.vector_level(level)
        answers.append((subject(table), everything(table, width)))
    compiled.vector_level(9)
    assert compiled.vector_level() == before
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]


def listed(answers: tuple[np.ndarray, ...]) -> list[list[int]]:
    assert all(answer.dtype == np.int64 for answer in answers)
    return [answer.tolist() for answer in answers]


ROWS = list(product((np.float32, np.float64), SCORES, SHAPES))


@needs_compiled
@pytest.mark.parametrize(("kind", "fill", "shape"), spread(ROWS, len(ROWS)), ids=str)
def test_twins_rank_rows_alike(shape: tuple[int, int], fill: str, kind: type):
    rng = np.random.default_rng([*shape, SCORES.index(fill)])
    width = shape[1] + 3
    for share in (0.0, 0.05, 0.4, 1.0):
        true = (rng.random(shape) < share).astype(np.uint8)
        scores = scores_of(rng, shape, fill, kind)
        columns = rng.permutation(width)[: shape[1]].astype(np.int64)
        for masks in ((None, None), (0.3, None), (None, 0.3), (0.3, 0.8), (1.0, 0.0)):
            ranked, mask = (None if p is None else (rng.random(shape) < p).astype(np.uint8) for p in masks)
            partial = scores if ranked is None else np.where(ranked, scores, kind(np.nan))
            for place in (None, np.arange(width)):
                rows = ((columns, 2, true, partial, ranked, mask), place, True)
                at_each_level(lambda table, rows=rows: listed(table.count(*rows)), width)


def lists_of(rng: np.random.Generator, examples: int, width: int, most: int, distinct: bool) -> tuple:
    rows = []
    for _ in range(examples):
        size = int(rng.integers(0, min(width, most) + 1))
        rows.append(rng.permutation(width)[:size] if distinct else rng.integers(0, width, size))
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)


@needs_compiled
@pytest.mark.parametrize("seed", range(cases(150)))
def test_twins_rank_lists_alike(seed: int):
    rng = np.random.default_rng(seed)
    examples, width = int(rng.choice([0, 1, 2, 30])), int(rng.choice([1, 2, 9, 65, 400]))
    ranked = lists_of(rng, examples, width, 70, True)
    true, hides = lists_of(rng, examples, width, 9, False), lists_of(rng, examples, width, 4, False)
    fill = SCORES[seed % len(SCORES)]
    scores = scores_of(rng, (1, len(ranked[1])), fill, np.float64).reshape(-1)
    for mask in (None, hides):
        for place in (None, rng.permutation(width).astype(np.int64)):
            lists = (None, width // 2, true, scores, ranked, mask), place

            def count(table: Any, lists: tuple = lists) -> object:
                answer = table.count(*lists, True)
                assert table.count(*lists) is None  # count again, because the counts are no longer empty
                return answer.rows.tolist(), answer.groups.tolist(), in_order(answer.labels)

            at_each_level(count, width)


@needs_compiled
@pytest.mark.parametrize(("share", "distinct"), crossed([0.1, 0.3, 0.9], [3, 300, 10**6]))
def test_twins_agree_where_a_binary_search_takes_over(share: float, distinct: int):
    rng = np.random.default_rng(int(10 * share))
    true, scores = (rng.random((4, 1500)) < share).astype(np.uint8), rng.integers(0, distinct, (4, 1500))
    for kind in (np.float32, np.float64):
        for place in (None, np.arange(1500)):
            scored = (np.arange(1500), 0, true, scores.astype(kind), None, None), place, True
            at_each_level(lambda table, scored=scored: listed(table.count(*scored)), 1500)


@needs_compiled
def test_wide_batches_are_counted_alike_without_the_gil():
    rng = np.random.default_rng(0)
    true, scores = (rng.random((700, 100)) < 0.1).astype(np.uint8), rng.random((700, 100)).astype(np.float32)
    pair = both(100)
    for twin in pair:
        twin.table.count((np.arange(100), 0, true, scores, None, None), None)
    assert same(pair, 100)


@needs_compiled
def test_columns_out_of_range_are_never_written_to():
    one, none = (np.array([0, 1]), np.array([9])), (np.array([0, 0]), np.zeros(0, np.int64))
    for true, ranked, mask in ((one, none, None), (none, one, None), (none, none, one)):
        counts = both(8)[0].table
        with pytest.raises(IndexError):
            counts.count((None, 0, true, np.ones(1), ranked, mask), None)
        assert everything(counts, 8) == everything(both(8)[0].table, 8)
    for column in (-1, 8):
        with pytest.raises(IndexError):
            counts.count((np.array([column]), 0, np.ones((1, 1), np.uint8), np.ones((1, 1)), None, None), None)


def rows_of(rng: np.random.Generator, rows: int, width: int, kinds: int) -> tuple:
    true = (rng.random((rows, width)) < 0.4).astype(np.uint8)
    return (np.arange(width), 2, true, rng.integers(0, kinds, (rows, width)).astype(float), None, None), None


def test_twins_merge_unmerge_copy_and_restore_alike():
    histories = []
    for made in both(9):
        rng, first, second = np.random.default_rng(7), made, Twin(*made.made, 30)
        for twin, width in ((first, 9), (second, 30)):
            twin.table.count(*rows_of(rng, 40, width, 9))
        first.table.reserve(60)
        steps = [everything(first.table, 60)]
        place = rng.permutation(60)[:30].astype(np.int64)
        for sign in (1, 1, -1):
            assert first.merge(second, place, sign) == DONE
            steps.append(everything(first.table, 60))
        assert steps[1] == steps[3] != steps[2]
        assert first.merge(first.copy()) == DONE
        assert first.merge(first) == DONE
        steps.append(everything(first.table, 60))
        fresh, counts = Twin(*made.made, 0), first.table
        fresh.table.restore(counts.examples, counts.mentions(60), [counts.entries(which) for which in range(3)])
        assert everything(fresh.table, 60) == everything(counts, 60) == everything(first.copy().table, 60)
        keys = counts.entries(0)[0]
        order = np.lexsort(keys.T)
        steps.append(counts.sums_of(0, keys[order]).tolist())
        steps.append(counts.sums_of(1, np.array([[99, 1, 1]])).tolist())
        assert first.merge(second, None, -1) == REFUSED
        part = counts.prepare_merge(counts, None, -1)
        assert everything(counts, 60) == everything(fresh.table, 60)
        first.root.commit([part])
        counts.compact()
        assert everything(counts, 60) == everything(Twin(*made.made, 60).table, 60)
        histories.append(steps)
    assert histories[0] == histories[-1]


def lists_at(lists: tuple, row: int) -> tuple:
    start, end = lists[0][row : row + 2]
    return np.array([0, end - start]), lists[1][start:end]


@pytest.mark.parametrize("seed", range(cases(20)))
def test_examples_one_by_one_are_counted_like_a_batch_and_reverted(seed: int):
    rng = np.random.default_rng(seed)
    width, fixed = int(rng.choice([1, 9, 70])), int(rng.integers(0, 3))
    true, scores = (rng.random((6, width)) < 0.4).astype(np.uint8), rng.integers(0, 4, (6, width)).astype(float)
    ranked, mask = ((rng.random((6, width)) < share).astype(np.uint8) for share in (0.8, 0.1))
    columns, place = rng.permutation(width + 3)[:width], rng.permutation(width + 3)
    truths, values, hides = (lists_of(rng, 6, width, 9, distinct) for distinct in (False, True, False))
    heights = rng.integers(0, 3, len(values[1])).astype(float)
    histories = []
    for batch in both(width + 3):
        one, order, steps = Twin(*batch.made, width + 3), place if seed % 2 else None, []
        batch.table.count((columns, fixed, true, scores, ranked, mask), order)
        batch.table.count((None, fixed, truths, heights, values, hides), order)
        examples = [
            (columns, fixed, *(side[[row]] for side in (true, scores, ranked, mask))) for row in range(6)
        ] + [
            (None, fixed, lists_at(truths, row), heights[values[0][row] : values[0][row + 1]],
             lists_at(values, row), lists_at(hides, row))
            for row in range(6)
        ]  # fmt: skip
        examples = [one.of(width + 3, example, order) for example in examples]
        for example in examples:
            assert one.merge(example) == DONE
            steps.append(everything(one.table, width + 3))
        assert steps[-1] == everything(batch.table, width + 3)
        for example in examples[:7]:
            assert one.merge(example, None, -1) == DONE
            steps.append(everything(one.table, width + 3))
        steps.append(one.merge(examples[0], None, -1))
        parts = [one.table.prepare_merge(example.table, None, -1) for example in examples[7:]]
        one.root.commit([part for part in parts if not isinstance(part, int)])
        assert everything(one.table, width + 3) == everything(Twin(*batch.made, width + 3).table, width + 3)
        histories.append(steps)
    assert histories[0] == histories[-1]


def test_one_commit_can_have_many_parts_of_one_table():
    rng = np.random.default_rng(8)
    for twin in both(4):
        old, new, more = (Twin(*twin.made, 30) for _ in range(3))
        for each in (old, new, more):
            each.table.count(*rows_of(rng, 20, 30, 9))
        expected = new.copy()
        assert twin.merge(old) == expected.merge(more) == DONE
        added = [twin.table.prepare_merge(other.table, None, 1) for other in (new, more)]
        twin.root.commit([*added, twin.table.prepare_merge(old.table, None, -1)])
        assert everything(twin.table, 30) == everything(expected.table, 30)


@needs_compiled
def test_twins_refuse_to_unmerge_what_was_never_merged():
    rng, done = np.random.default_rng(2), set()
    for _ in range(300):
        batches, codes = [rows_of(rng, int(rows), 3, 2) for rows in rng.integers(1, 4, 2)], []
        for twin in both(4):
            other = Twin(*twin.made, 4)
            for table, batch in zip((twin.table, other.table), batches, strict=True):
                table.count(*batch)
            before = everything(twin.table, 4), everything(other.table, 4)
            codes.append(twin.merge(other, None, -1))
            if codes[-1] == DONE:
                assert twin.merge(other) == DONE
            assert (everything(twin.table, 4), everything(other.table, 4)) == before
        assert codes[0] == codes[1]
        done.add(codes[0])
    assert done == {DONE, REFUSED}


def test_twins_are_full_at_the_same_sum():
    for twin in both(8):
        true, scores = np.ones((1, 8), np.uint8), np.arange(8.0).reshape(1, 8)
        twin.table.count((np.arange(8), 0, true, scores, None, None), None)
        one = twin.copy()
        for _ in range(59):  # the true label that ranks last adds 8 to its sum
            assert twin.merge(twin) == DONE
        before = everything(twin.table, 8)
        assert twin.merge(twin) == FULL
        assert everything(twin.table, 8) == before
        rest = twin.copy()
        assert rest.merge(one, None, -1) == DONE
        assert twin.merge(rest) == DONE
        assert twin.merge(one) == FULL
