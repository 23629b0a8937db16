"""Twins: the compiled kernel of rankings and the numpy one give the same integers and the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from streameval import kernel
from streameval.kernel.rankings import numpy as _ranked_numpy
from streameval.kernel.types import DONE, FULL, REFUSED

needs_compiled = pytest.mark.skipif(kernel.BACKEND == "numpy", reason="the compiled twin is not in use")

if kernel.BACKEND == "compiled":
    from streameval.kernel.rankings import compiled as _ranked

SHAPES = [
    (0, 0), (0, 5), (5, 0), (1, 1), (3, 1), (3, 2), (4, 7), (4, 8), (4, 9), (3, 31), (3, 63), (3, 64), (3, 65),
    (2, 130), (2, 1000), (9, 20),
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


def both(width: int) -> tuple[object, object]:
    return _ranked.RankCounts(width), _ranked_numpy.RankCounts(width)


@pytest.fixture(params=[0, 1], ids=["portable", "vectors"])
def level(request: pytest.FixtureRequest):
    before = _ranked.vector_level()
    _ranked.vector_level(request.param)  # or the best this machine has
    yield
    _ranked.vector_level(9)
    assert _ranked.vector_level() == before


@needs_compiled
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("fill", SCORES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_twins_rank_rows_alike(shape: tuple[int, int], fill: str, kind: type, level: None):
    rng = np.random.default_rng([*shape, SCORES.index(fill)])
    width = shape[1] + 3
    for share in (0.0, 0.05, 0.4, 1.0):
        true = (rng.random(shape) < share).astype(np.uint8)
        scores = scores_of(rng, shape, fill, kind)
        columns = rng.permutation(width)[: shape[1]].astype(np.int64)
        for masks in ((None, None), (0.3, None), (None, 0.3), (0.3, 0.8), (1.0, 0.0)):
            ranked, hidden = (None if p is None else (rng.random(shape) < p).astype(np.uint8) for p in masks)
            given = scores if ranked is None else np.where(ranked, scores, kind(np.nan))
            for strict in (False, True):
                twins = both(width)
                found = [c.count_rows(columns, 2, true, given, ranked, hidden, strict, True) for c in twins]
                for mine, other in zip(*found, strict=True):
                    assert mine.dtype == other.dtype == np.int64
                    assert mine.tolist() == other.tolist()
                assert everything(twins[0], width) == everything(twins[1], width)


def lists_of(rng: np.random.Generator, examples: int, width: int, most: int, distinct: bool) -> tuple:
    rows = []
    for _ in range(examples):
        size = int(rng.integers(0, min(width, most) + 1))
        rows.append(rng.permutation(width)[:size] if distinct else rng.integers(0, width, size))
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return offsets, np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)


@needs_compiled
@pytest.mark.parametrize("seed", range(150))
def test_twins_rank_lists_alike(seed: int, level: None):
    rng = np.random.default_rng(seed)
    examples, width = int(rng.choice([0, 1, 2, 30])), int(rng.choice([1, 2, 9, 65, 400]))
    ranked = lists_of(rng, examples, width, 70, True)
    true, hidden = lists_of(rng, examples, width, 9, False), lists_of(rng, examples, width, 4, False)
    fill = SCORES[seed % len(SCORES)]
    scores = scores_of(rng, (1, len(ranked[1])), fill, np.float64).reshape(-1)
    for mask in (None, hidden):
        for place in (None, rng.permutation(width).astype(np.int64)):
            twins = both(width)
            lists = examples, width // 2, true, ranked, scores, mask, place
            found = [counts.count_lists(*lists, True) for counts in twins]
            assert found[0].rows.tolist() == found[1].rows.tolist()
            assert found[0].groups.tolist() == found[1].groups.tolist()
            assert in_order(found[0].labels) == in_order(found[1].labels)
            for counts in twins:  # again, into counts that are not empty
                assert counts.count_lists(*lists) is None
            assert everything(twins[0], width) == everything(twins[1], width)


@needs_compiled
@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("distinct", [3, 300, 10**6])
def test_twins_agree_where_a_binary_search_takes_over(share: float, distinct: int, level: None):
    rng = np.random.default_rng(int(10 * share))
    true, scores = (rng.random((4, 1500)) < share).astype(np.uint8), rng.integers(0, distinct, (4, 1500))
    for kind in (np.float32, np.float64):
        for strict in (False, True):
            twins = both(1500)
            given = np.arange(1500), 0, true, scores.astype(kind), None, None, strict, True
            found = [counts.count_rows(*given) for counts in twins]
            for mine, other in zip(*found, strict=True):
                assert mine.tolist() == other.tolist()


@needs_compiled
def test_wide_batches_without_the_lock_count_alike():
    rng = np.random.default_rng(0)
    true, scores = (rng.random((700, 100)) < 0.1).astype(np.uint8), rng.random((700, 100)).astype(np.float32)
    twins = both(100)
    for counts in twins:
        counts.count_rows(np.arange(100), 0, true, scores, None, None, False)
    assert everything(twins[0], 100) == everything(twins[1], 100)


@needs_compiled
def test_columns_out_of_range_are_never_written_to():
    one, none = (np.array([0, 1]), np.array([9])), (np.array([0, 0]), np.zeros(0, np.int64))
    for true, ranked, hidden in ((one, none, None), (none, one, None), (none, none, one)):
        counts = _ranked.RankCounts(8)
        with pytest.raises(IndexError):
            counts.count_lists(1, 0, true, ranked, np.ones(1), hidden, None)
        assert everything(counts, 8) == everything(_ranked.RankCounts(8), 8)
    for column in (-1, 8):
        with pytest.raises(IndexError):
            counts.count_rows(np.array([column]), 0, np.ones((1, 1), np.uint8), np.ones((1, 1)), None, None, False)


@needs_compiled
def test_twins_merge_revert_copy_and_restore_alike():
    parts = []
    for kind in (_ranked.RankCounts, _ranked_numpy.RankCounts):
        rng = np.random.default_rng(7)
        counts = []
        for width in (9, 30):
            true, scores = (
                (rng.random((40, width)) < 0.3).astype(np.uint8),
                rng.integers(0, 9, (40, width)).astype(float),
            )
            counts.append(kind(width))
            counts[-1].count_rows(np.arange(width), 2, true, scores, None, None, False)
        first, second = counts
        first.reserve(60)
        steps = [everything(first, 60)]
        place = rng.permutation(60)[:30].astype(np.int64)
        for sign in (1, 1, -1):
            assert first.merge(second, place, sign) == DONE
            steps.append(everything(first, 60))
        assert first.merge(first.copy(), None, 1) == DONE
        assert first.merge(first, None, 1) == DONE
        steps.append(everything(first, 60))
        fresh = kind(0)
        fresh.restore(first.examples, first.mentions(60), [first.entries(which) for which in range(3)])
        assert everything(fresh, 60) == everything(first, 60) == everything(first.copy(), 60)
        keys = first.entries(0)[0]
        order = np.lexsort(keys.T)
        steps.append(first.sums_of(0, keys[order]).tolist())
        steps.append(first.sums_of(1, np.array([[99, 1, 1]])).tolist())
        assert first.merge(second, None, -1) == REFUSED
        assert first.merge(first, None, -1) == DONE
        first.compact()
        assert everything(first, 60) == everything(kind(60), 60)
        second.clear()
        assert everything(second, 30) == everything(kind(30), 30)
        parts.append(steps)
    assert parts[0] == parts[1]


@needs_compiled
def test_twins_refuse_to_take_back_what_was_never_counted():
    rng = np.random.default_rng(2)
    for _ in range(300):
        batches = [
            ((rng.random((2, 4)) < 0.5).astype(np.uint8), rng.integers(0, 3, (2, 4)).astype(float)) for _ in range(2)
        ]
        codes = []
        for kind in (_ranked.RankCounts, _ranked_numpy.RankCounts):
            counts = []
            for true, scores in batches:
                counts.append(kind(4))
                counts[-1].count_rows(np.arange(4), 0, true, scores, None, None, False)
            before = everything(counts[0], 4)
            codes.append(counts[0].merge(counts[1], None, -1))
            if codes[-1] == REFUSED:
                assert everything(counts[0], 4) == before
        assert codes[0] == codes[1]


@needs_compiled
def test_twins_are_full_at_the_same_sum():
    for counts in both(8):
        true, scores = np.ones((1, 8), np.uint8), np.arange(8.0).reshape(1, 8)
        counts.count_rows(np.arange(8), 0, true, scores, None, None, False)
        one = counts.copy()
        for _ in range(59):  # the last true label adds 8 to its sum of t L
            assert counts.merge(counts, None, 1) == DONE
        before = everything(counts, 8)
        assert counts.merge(counts, None, 1) == FULL
        assert everything(counts, 8) == before
        rest = counts.copy()
        assert rest.merge(one, None, -1) == DONE
        assert counts.merge(rest, None, 1) == DONE
        assert counts.merge(one, None, 1) == FULL
