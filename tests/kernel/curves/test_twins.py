"""Bins of scores: the definition of a bin, and equal contents and results of the compiled kernel and the numpy one."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from streameval.kernel.curves import bins as meaning
from streameval.kernel.table import SumTable
from streameval.kernel.types import DONE, FULL, REFUSED
from tests.support.curve_oracle import nasty_scores
from tests.support.each import with_each
from tests.support.effort import cases, crossed
from tests.support.twins import BACKENDS, Twin, committed_parts, needs_compiled, twins


def bins_of_width(width: int) -> list[Twin]:
    return twins("curves", "Bins", width)


# -- bins -------------------------------------------------------------------------------------------------------------


def sorted_extremes() -> np.ndarray:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 30000, dtype=np.uint64).view(np.float64)
    spots = [0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 0.25, 0.5, 0.75, 1.0, 2.0, 1.7976931348623155e308]
    around = [np.nextafter(spot, way) for spot in spots for way in (np.inf, -np.inf)]
    near_one = 1 - 10.0 ** -rng.uniform(0, 17, 30000)
    every = np.concatenate([bits, spots, np.negative(spots), around, np.negative(around), near_one, rng.random(30000)])
    return np.sort(every[np.isfinite(every)])


def bins_of(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bins in which the current kernel counts scores, and the residuals."""
    table, columns = bins_of_width(len(scores))[0].table, np.arange(len(scores))
    assert table.count((columns, 0, np.zeros((1, len(scores)), np.uint8), scores[None], None, None)) == DONE
    _, bins, _, residuals, _ = table.read(columns)
    return bins, residuals[:, 0]


def test_higher_scores_never_have_lower_bins():
    bins, residuals = bins_of(sorted_extremes())
    assert (np.diff(bins) >= 0).all()
    assert bins.min() == 0
    assert bins.max() == meaning.BINS - 1
    assert residuals.min() >= 0
    assert residuals.max() < 2**meaning.DROPPED


def test_minus_zero_has_the_bin_of_zero():
    assert bins_of(np.array([-0.0]))[0] == bins_of(np.array([0.0]))[0]
    assert bins_of(np.array([-5e-324]))[0] < bins_of(np.array([0.0]))[0]


def test_bin_and_residual_determine_the_score():
    scores = sorted_extremes()
    assert (meaning.scores_of(*bins_of(scores)) == scores).all()


def test_the_edge_of_a_bin_is_the_least_score_in_this_bin_or_a_higher_one():
    scores = sorted_extremes()
    bins = bins_of(scores)[0]
    edges = meaning.edges_of(bins)
    assert (edges <= scores).all()
    assert (bins_of(edges)[0] >= bins).all()
    lower = edges[bins > 0]
    assert (bins_of(np.nextafter(lower, -np.inf))[0] < bins[bins > 0]).all()


def test_twins_agree_about_bins():
    for mine, its in zip(bins_of(sorted_extremes()), meaning.bins_of(sorted_extremes()), strict=True):
        assert (mine == its).all()


# -- tables -----------------------------------------------------------------------------------------------------------


def everything(bins: Any, width: int) -> list[object]:
    columns = np.arange(width)
    # Pairs are read first, because later reads put all scores into bins. The numpy kernel has only one form.
    arrays = [*bins.pairs(columns), *bins.read(columns), bins.sides(columns), bins.mentioned(width)]
    parts = [array.tolist() for array in arrays]
    if not isinstance(bins, SumTable):
        assert [part.tolist() for part in bins.pairs(columns)] == parts[:2]
        single = zip(*map(bins.pairs, columns[:, None]), strict=True)  # column by column, without vectors
        assert [np.concatenate(rows).tolist() for rows in single] == parts[:2]
    return [bins.examples, bins.scores, *parts]


def same(pair: list[Twin], width: int) -> bool:
    return everything(pair[0].table, width) == everything(pair[-1].table, width)


def random_lists(rng: np.random.Generator, examples: int, width: int, *, repeats: bool) -> tuple:
    rows = [
        rng.integers(0, width, rng.integers(0, 5)) if repeats else rng.permutation(width)[: rng.integers(0, 5)]
        for _ in range(examples)
    ]
    return np.cumsum([0, *map(len, rows)]).astype(np.int64), np.concatenate([*rows, []]).astype(np.int64)


def random_rows(rng: np.random.Generator, rows: int, width: int) -> tuple:
    """Random columns, truths, scores, ranked cells and mask."""
    columns = rng.permutation(width)[: rng.integers(0, width + 1)].astype(np.int64)
    shape = (rows, len(columns))
    scores = np.ascontiguousarray(nasty_scores(rng, shape)[1])
    true = (rng.random(shape) < 0.3).astype(np.uint8)
    mask = (rng.random(shape) < 0.1).astype(np.uint8) if rng.random() < 0.3 else None
    ranked = (rng.random(shape) < 0.8).astype(np.uint8) if rng.random() < 0.3 else None
    if mask is not None:
        scores[mask == 1] = np.nan
    return columns, true, scores, ranked, mask


@needs_compiled
@pytest.mark.parametrize(
    ("density", "scored"),
    crossed([0.05, 0.5], [
        (0.25, 0.75, np.float64), (0.0, 1.0, np.float32), (-0.5, -0.25, np.float64), (0.9, 2.5, np.float64),
        (0.25, 0.75, np.float16), (0.3, 0.301, np.float64), (-0.0001, 0.0001, np.float64),
    ]),
)  # fmt: skip
def test_twins_agree_about_areas_of_dense_bins(density: float, scored: tuple[float, float, type]):
    start, stop, kind = scored
    rng = np.random.default_rng(11)
    scores = rng.uniform(start, stop, (9000, 4)).astype(kind).astype(np.float64)
    # Scores at limits; more scores in one bin than are stored one by one; all scores of a class in one bin.
    spots = [-1.0, -0.5, -5e-324, 0.0, 5e-324, 0.25, 0.5, np.nextafter(1.0, 0), 1.0, np.nextafter(1.0, 2), 2.0]
    scores[: 3 * len(spots)] = np.repeat(spots, 3)[:, None]
    true = (rng.random(scores.shape) < density).astype(np.uint8)
    scores[1000:2400, 1] = scores[1000, 1]
    scores[true[:, 2] == 0, 2] = (start + stop) / 2
    pair = bins_of_width(4)
    assert [twin.table.count((np.arange(4), 0, true, scores, None, None)) for twin in pair] == [DONE, DONE]
    assert same(pair, 4)


@needs_compiled
@pytest.mark.parametrize("seed", range(cases(30)))
def test_twins_agree_about_any_history(seed: int):
    rng = np.random.default_rng([7, seed])
    width = int(rng.integers(1, 40))
    pair, fixed = bins_of_width(width), int(rng.integers(0, width + 1))
    single: list[tuple] = []
    for _ in range(int(rng.integers(1, 20))):
        action = int(rng.integers(9))
        if action < 3:
            rows = int(rng.choice([0, 1, 2, 5, 127, 128, 129, 3000 if seed % 4 == 0 else 40]))
            columns, *rest = random_rows(rng, rows, width)
            scored = (columns, fixed, *rest)
            if rows == 1:
                assert [twin.merge(twin.of(width, scored)) for twin in pair] == [DONE, DONE]
                single.append(scored)
            else:
                assert [twin.table.count(scored) for twin in pair] == [DONE, DONE]
        elif action < 5:
            examples = int(rng.choice([0, 1, 3, 50]))
            true, ranked = (random_lists(rng, examples, width, repeats=again) for again in (True, False))
            mask = random_lists(rng, examples, width, repeats=True) if rng.random() < 0.3 else None
            scores = nasty_scores(rng, (len(ranked[1]), 1))[1].astype(np.float64).reshape(-1)
            scored = (None, fixed, true, scores, ranked, mask)
            if examples == 1 and rng.random() < 0.7:
                assert [twin.merge(twin.of(width, scored)) for twin in pair] == [DONE, DONE]
                single.append(scored)
            else:
                assert [twin.table.count(scored) for twin in pair] == [DONE, DONE]
        elif action == 5 and single:
            scored = single[rng.integers(len(single))]  # sometimes an example that was already reverted
            codes = [twin.merge(twin.of(width, scored), None, -1) for twin in pair]
            assert codes[0] == codes[1]
        elif action == 6:
            for twin in pair:
                twin.table.compact()
            pair = [twin.copy() for twin in pair] if rng.random() < 0.5 else pair
        elif action == 7:
            place = rng.permutation(width).astype(np.int64) // int(rng.integers(1, 5))  # maps many columns to one
            grown = bins_of_width(width)
            for more, twin in zip(grown, pair, strict=True):
                assert more.merge(twin, place) == DONE
                assert more.merge(twin) == DONE
                assert more.merge(more) == DONE
            assert same(grown, width)
        else:
            place, (columns, *rest) = rng.permutation(width).astype(np.int64), random_rows(rng, 9, width)
            for twin in pair:
                added, before = Twin(*twin.made, width), everything(twin.table, width) if rng.random() < 0.5 else None
                assert added.table.count((columns, fixed, *rest)) == DONE
                assert twin.merge(added, place) == DONE
                assert twin.merge(added, place, -1) == DONE
                assert before is None or everything(twin.table, width) == before
        if rng.random() < 0.4:
            assert same(pair, width)
    assert same(pair, width)
    offsets, bins, counts, _, words = pair[1].table.read(np.arange(width))
    fresh = bins_of_width(0)[0].table
    fresh.restore(pair[1].table.examples, pair[1].table.sides(np.arange(width)))
    fresh.restore_bins(0, offsets, bins, counts, words)
    most = max(3, len(bins) // 20)
    for twin in pair:
        first, low, at = 0, 0, 0
        while at < len(bins):
            some, numbers, times, _, sums = twin.table.read(np.arange(first, width), low, most)
            size = len(numbers)
            assert some.tolist() == np.clip(offsets[first:] - at, 0, size).tolist()
            assert size == min(most, len(bins) - at)
            for part, every in ((numbers, bins), (times, counts), (sums, words)):
                assert (part == every[at : at + size]).all()
            first, low, at = first + int(np.searchsorted(some, size)) - 1, int(numbers[-1]) + 1, at + size
    assert everything(fresh, width) == everything(pair[1].table, width)


@needs_compiled
@with_each("seed", range(cases(2000)))
def test_twins_agree_which_sums_of_bins_are_possible(seed: int):
    rng, top = random.Random(seed), 2**meaning.DROPPED - 1
    moments = np.zeros((rng.choice([0, 1, 1, 5]), 2, 3), object)
    for place in np.ndindex(moments.shape[:2]):
        n = rng.choice([0, 1, 2, 3, 1000, 2**23 + 1, meaning.SCORE_MAX, meaning.SCORE_MAX + 1])
        total = max(0, n * rng.choice([0, 1, rng.randrange(top), top]) + rng.choice([0, 0, 1, -1]))
        total = rng.choice([*[total] * 20, 2**64 + total, 2**84 + total, 2**127])
        mean, rest = divmod(total, max(n, 1))
        least, most = mean * total + rest * (mean + 1), total * top
        square = rng.choice([least, least, most, (least + most) // 2]) + rng.choice([0, 0, 0, 1, -1, 2, -2])
        moments[place] = (n, total, min(max(0, square), 2**128 - 1) if n > 1 else total**2) if n else (0, 0, 0)
    counts = moments[..., 0].astype(np.int64)
    sums = [moments[counts[:, side] > several, side, 1 + several] for side in range(2) for several in range(2)]
    written = [np.array([(x % 2**64, x >> 64) for x in part], np.uint64).reshape(-1, 2) for part in sums]
    fits = all(meaning.possible(*part) for part in moments.reshape(-1, 3))
    words = [[x % 2**64, x >> 64, y % 2**64, y >> 64] for _, x, y in moments.reshape(-1, 3)]
    for name in BACKENDS:
        answer, says = import_module(f"streameval.kernel.curves.{name}").words_of(counts, written)
        assert says == fits
        assert not fits or answer.reshape(-1, 4).tolist() == words
    if len(written[0]):
        with pytest.raises((IndexError, ValueError)):
            import_module("streameval.kernel.curves.compiled").words_of(counts, [written[0][1:], *written[1:]])


@needs_compiled
@with_each("seed", range(cases(300)))
def test_twins_refuse_to_unmerge_what_was_never_merged(seed: int):
    rng = np.random.default_rng([11, seed])
    width, few = 3, np.array([0.1, 0.1000001, 0.5, 0.7], np.float32)
    batches = []
    for rows in rng.integers(1, 4, 2):
        true = (rng.random((rows, width)) < 0.5).astype(np.uint8)
        mask = (rng.random((rows, width)) < 0.2).astype(np.uint8)
        ranked = (rng.random((rows, width)) < 0.8).astype(np.uint8)
        batches.append((np.arange(width), 1, true, rng.choice(few, (rows, width)), ranked, mask))
    codes = []
    for twin in bins_of_width(width):
        other = Twin(*twin.made, width)
        assert twin.table.count(batches[0]) == other.table.count(batches[1]) == DONE
        before = everything(twin.copy().table, width), everything(other.copy().table, width)
        codes.append(twin.merge(other, None, -1))
        if codes[-1] == REFUSED:
            assert (everything(twin.table, width), everything(other.table, width)) == before
        else:
            assert twin.merge(other) == DONE
            assert everything(twin.table, width) == before[0]
    assert codes[0] == codes[1] in (DONE, REFUSED)


def test_an_example_without_labels_cannot_be_unmerged_from_examples_with_the_label():
    scored = np.zeros(1, np.int64), 1, np.zeros((2, 1), np.uint8), np.array([[0.5], [0.25]]), None, None
    no_labels = np.zeros(0, np.int64)
    empty = np.zeros(2, np.int64), no_labels
    for twin in bins_of_width(1):
        other = Twin(*twin.made, 1)
        assert twin.table.count(scored) == other.table.count((None, 1, empty, np.zeros(0), empty, None)) == DONE
        before = everything(twin.table, 1)
        assert twin.merge(other, None, -1) == REFUSED
        assert everything(twin.table, 1) == before


def test_unmerging_a_table_from_itself_empties_it():
    rng = np.random.default_rng(2)
    for twin in bins_of_width(9):
        columns, *rest = random_rows(rng, 200, 9)
        assert twin.table.count((columns, 4, *rest)) == DONE
        assert twin.merge(twin, None, -1) == DONE
        assert everything(twin.table, 9) == everything(Twin(*twin.made, 9).table, 9)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_part_that_is_not_committed_changes_nothing(sign: int):
    rng = np.random.default_rng(3)
    for twin in bins_of_width(9):
        columns, *rest = random_rows(rng, 1, 9)
        row = (columns, 4, *rest)
        assert twin.merge(twin.of(9, row)) == twin.merge(twin) == DONE
        other, before = twin.copy(), everything(twin.table, 9)
        parts = [twin.table.prepare_merge(table, None, sign) for table in (twin.of(9, row).table, other.table)]
        assert everything(twin.table, 9) == before
        del parts
        assert everything(twin.table, 9) == before
        assert twin.merge(other, None, sign) == DONE
        assert twin.table.examples == 2 + 2 * sign


def test_one_commit_can_have_many_parts_of_one_table():
    rng = np.random.default_rng(6)
    for twin in bins_of_width(9):
        columns, *old = random_rows(rng, 1, 9)
        new = [rng.permutation(9).astype(np.int64), *random_rows(rng, 1, 9)[1:]]
        new[0] = new[0][: new[1].shape[1]]
        expected, more = Twin(*twin.made, 9), twin.of(9, (new[0], 4, *new[1:]))
        gone = twin.of(9, (columns, 4, *old))
        assert twin.merge(gone) == DONE
        for _ in range(2):
            assert expected.merge(more) == DONE
        parts = [twin.table.prepare_merge(more.table, None, 1) for _ in range(2)]
        twin.root.commit([*parts, twin.table.prepare_merge(gone.table, None, -1)])
        assert everything(twin.table, 9) == everything(expected.table, 9)


def test_bins_may_be_read_between_preparing_a_merge_and_committing_it():
    rng = np.random.default_rng(4)
    answers = []
    for twin in bins_of_width(5):
        other = Twin(*twin.made, 5)
        for table in (twin.table, other.table):
            scores = rng.random((300, 5), np.float32)
            rows = np.arange(5), 5, (scores > 0.9).astype(np.uint8), scores, None, None
            assert table.count(rows) == DONE
        everything(other.table, 5)
        part = twin.table.prepare_merge(other.table, None, 1)
        everything(twin.table, 5)
        twin.table.compact()
        twin.root.commit([part])
        answers.append((twin, other))
    assert all(twin.table.examples == 600 for twin, _ in answers)
    for twin, other in answers:
        sums = [table.read(np.arange(5))[2].sum() for table in (twin.table, other.table)]
        assert sums[0] == 2 * sums[1] == 3000


FLOATS = {
    "between 0 and 1": lambda rng, shape: rng.random(shape, np.float32),
    "rare": lambda rng, shape: np.exp(rng.normal(-9, 3, shape)).astype(np.float32),
    "logits": lambda rng, shape: rng.normal(0, 4, shape).astype(np.float32),
    "both zeros and ones": lambda rng, shape: rng.choice(np.array([-0.0, 0.0, 1.0, 0.5], np.float32), shape),
    "around 0.5": lambda rng, shape: (0.5 + rng.integers(-64, 64, shape) * 2.0**-25).astype(np.float32),
    "from 1 on": lambda rng, shape: (1 + rng.integers(0, 64, shape) / 64).astype(np.float32),
    "subnormal": lambda rng, shape: rng.random(shape, np.float32) * np.float32(1e-39),
    "far apart": lambda rng, shape: rng.integers(0, 255 << 23, shape, dtype=np.uint32).view(np.float32),
    "one bin": lambda rng, shape: (rng.integers(0, 4096, shape, dtype=np.uint32) + (124 << 23)).view(np.float32),
}


@needs_compiled
@pytest.mark.parametrize("kind", FLOATS)
def test_twins_agree_about_many_floats_after_any_number_of_reads(kind: str):
    rng = np.random.default_rng(17)
    columns, pair = np.arange(4), bins_of_width(4)
    for rows in (9, 300, (many := cases(17000)), 64, (most := cases(30000)), 1, 300):
        scores = FLOATS[kind](rng, (rows, 4))
        true = (rng.random((rows, 4)) < 0.02).astype(np.uint8)
        fresh = Twin(*pair[0].made, 4)
        assert fresh.table.count((columns, 4, true, scores, None, None)) == DONE
        assert pair[0].merge(fresh, columns[::-1].copy()) == DONE
        assert pair[1].table.count((columns[::-1].copy(), 4, true, scores, None, None)) == DONE
        if rows in (many, most, 1):
            answers = [[part.tolist() for part in twin.table.pairs(columns)] for twin in pair]
            assert answers[0] == answers[1]
        if rows == 64:
            assert same(pair, 4)
            row = columns, 4, true[:1], scores[:1, ::-1].copy(), None, None
            codes = [twin.merge(twin.of(4, row), None, -1) for twin in pair]
            assert codes[0] == codes[1]
    assert everything(pair[0].copy().table, 4) == everything(pair[1].table, 4) == everything(pair[0].table, 4)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_in_a_bin_are_exact_up_to_the_greatest_number_of_scores(kind: type):
    """The residuals are as large as possible, so that every limb that can overflow does."""
    score = np.nextafter(kind(0.25), kind(0))
    scored = np.zeros(1, np.int64), 1, np.ones((1, 1), np.uint8), np.full((1, 1), score), None, None
    for bins in bins_of_width(1):
        one = bins.of(1, scored)
        assert bins.merge(one) == DONE
        for _ in range(42):
            assert bins.merge(bins) == DONE
        rest = bins.copy()
        assert rest.merge(one, None, -1) == DONE
        assert bins.table.scores == 2**42
        assert bins.merge(rest) == DONE
        assert bins.table.scores == bins.table.examples == 2**43 - 1
        before = everything(bins.table, 1)
        assert bins.merge(one) == FULL
        assert bins.merge(bins) == FULL
        assert everything(bins.table, 1) == before
        _, _, counts, common, words = bins.table.read(np.zeros(1, np.int64))
        residual = int(bins_of(np.array([float(score)]))[1][0])
        low, high, square, square_high = words[0, 1].tolist()
        assert counts.tolist() == [[0, 2**43 - 1]]
        assert low + (high << 64) == residual * (2**43 - 1)
        assert square + (square_high << 64) == residual**2 * (2**43 - 1)
        assert common[0].tolist() == [-2, residual]
        assert bins.merge(rest, None, -1) == DONE
        assert bins.table.scores == 2**42
        assert bins.merge(bins, None, -1) == DONE
        assert bins.table.read(np.zeros(1, np.int64))[1].tolist() == []


def test_columns_out_of_range_are_an_error_and_change_nothing():
    one = np.zeros((2, 1), np.uint8), np.zeros((2, 1))
    for twin in bins_of_width(8):
        with pytest.raises(IndexError):
            twin.table.count((np.array([8]), 0, *one, None, None))
        lists, none = (np.array([0, 1]), np.array([9])), (np.array([0, 0]), np.zeros(0, np.int64))
        with pytest.raises(IndexError):
            twin.table.count((None, 0, lists, np.zeros(0), none, None))
        assert twin.table.examples == twin.table.scores == 0


# -- weights ----------------------------------------------------------------------------------------------------------


def weights_of_shape(scale: int, words: int) -> list[Any]:
    return [import_module(f"streameval.kernel.curves.{backend}").Weights(scale, words) for backend in BACKENDS]


def all_sums(table: Any, keys: list[tuple[int, int]], bins: tuple) -> list[object]:
    columns, places = np.array(keys, np.int64).reshape(-1, 2).T
    parts = [table.read(columns, places, parts).tolist() for parts in (1, 2, 3)]
    return [table.scale, table.words, table.whole, *parts, table.united(), [*map(list, table.pairs(*bins))]]


def random_scored(rng: np.random.Generator, examples: int, width: int, few: list[float]) -> tuple:
    """Random examples; if ``few`` is not empty, their scores are drawn from it."""
    fixed = int(rng.integers(0, width + 1))
    if rng.random() < 0.6:
        columns, true, scores, ranked, mask = random_rows(rng, examples, width)
        return columns, fixed, true, rng.choice(few, scores.shape) if few else scores, ranked, mask
    true, ranked, mask = (random_lists(rng, examples, width, repeats=again) for again in (True, False, True))
    scores = nasty_scores(rng, (len(ranked[1]), 1))[1].astype(np.float64).reshape(-1)
    return None, fixed, true, rng.choice(few, len(scores)) if few else scores, ranked, mask


@needs_compiled
@with_each("seed", range(cases(800)))
def test_twins_agree_about_weights(seed: int):
    rng = np.random.default_rng([13, seed])
    small = seed % 2 == 0  # with small numbers, many reverts of uncounted examples are possible
    width, words, scale = int(rng.integers(1, 4 if small else 8)), int(rng.choice([1, 2, 3, 36])), 32 * (seed % 3)
    few, most = [0.1, 0.9] if small else [], 64 * words - 24
    units = (
        [0, 1, 2, 3]
        if small
        else [0, 1, 2**most - 1, 2 ** int(rng.integers(most)), int(rng.integers(2**16)) << most // 2]
    )
    pair, added = weights_of_shape(scale, words), list[list[Any]]()

    def fresh() -> list[Any]:
        examples = int(rng.choice([1, 1, 2, 3 if small else 30]))
        scored, new = random_scored(rng, examples, width, few), weights_of_shape(pair[0].scale, words)
        weights = rng.choice(np.array(units, object), examples).tolist()
        for table in new:
            table.count(scored, weights, width)
        return new

    for _ in range(int(rng.integers(2, 12))):
        action, place = int(rng.integers(8)), rng.permutation(width).astype(np.int64) if rng.random() < 0.3 else None
        changes, before = list[tuple[list[Any], Any, int]](), [table.copy() for table in pair]
        if action < 4 or not added:
            added.append(fresh())
            changes = [(added[-1], place, 1)] * int(rng.integers(1, 3))
        elif action < 6:
            changes = [(fresh() if rng.random() < 0.5 else added[rng.integers(len(added))], place, -1)]
        elif action == 6:
            changes = [(pair, None, int(rng.choice([1, -1])))]
        elif words < 36:
            further, factor = 32 * int(rng.integers(0, 2)), int(rng.integers(1, 2**40)) ** int(rng.integers(0, 3))
            words += (further + 80) // 64 + 1
            shape = pair[0].scale + further, words, factor << further
            pair, *added = [[table.shaped(*shape) for table in both] for both in (pair, *added)]
            before = [table.copy() for table in pair]
        answers = [[table.prepare_merge(both[at], *where) for both, *where in changes] for at, table in enumerate(pair)]
        refused = REFUSED in answers[0]
        assert refused == (REFUSED in answers[1])
        unchanged = refused or rng.random() < 0.2  # sometimes drop the prepared parts without a commit
        for backend, parts in zip(BACKENDS, answers, strict=True):
            committed_parts(backend, [] if unchanged else parts)
        if rng.random() < 0.3:
            pair = [table.compacted() for table in pair]
        keys = sorted({key for table in (pair[1], before[1]) for key in table._cell.value.sums})
        by_bin = sorted({(column, place // 2) for column, place in keys if column < width and place < meaning.WHOLE})
        bins, common = np.array([bin_ for _, bin_ in by_bin], np.int64), rng.integers(-2, 3, (len(by_bin), 2))
        offsets = np.searchsorted([column for column, _ in by_bin], np.arange(width + 1))
        view = keys, (np.arange(width), offsets, bins, common)
        after, old = ([all_sums(table, *view) for table in tables] for tables in (pair, before))
        assert after[0] == after[1]
        assert old[0] == old[1]
        assert not unchanged or after == old
    held = pair[1]._cell.value.sums
    keys = [key for key in held if key[1] != meaning.WHOLE or key[0] == meaning.ALL]
    columns, places = np.array(keys, np.int64).reshape(-1, 2).T
    counts, sums = np.array([held[key][0] for key in keys], np.int64), pair[0].read(columns, places, 3)
    filled = weights_of_shape(pair[0].scale, words)
    for table in filled:
        table.fill(columns, places, counts, sums)
    every = [*held], (np.arange(0), np.zeros(1, np.int64), np.arange(0), np.zeros((0, 2), np.int64))
    assert all_sums(filled[0], *every) == all_sums(filled[1], *every) == all_sums(pair[1], *every)
    assert filled[1]._cell.value.sums == held
