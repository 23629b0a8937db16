"""Prepared changes of counts of decisions: they show only after the commit, invalid ones are declined, twins agree."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from streameval import kernel
from streameval.kernel.commit import numpy as commit_numpy
from streameval.kernel.decisions import numpy as twin
from streameval.kernel.types import DONE, FULL, OTHER, REFUSED
from tests.kernel.decisions.test_twins import everything
from tests.support.effort import cases
from tests.support.twins import needs_compiled

TWINS: list[tuple[Any, Any]] = [(commit_numpy.Root, twin.Counts)]
if kernel.BACKEND == "compiled":
    from streameval.kernel.commit import compiled as commit_compiled
    from streameval.kernel.decisions import compiled

    TWINS.append((commit_compiled.Root, compiled.Counts))

both_twins = pytest.mark.parametrize(("root_of", "counts_of"), TWINS, ids=["numpy", "compiled"][: len(TWINS)])
WIDTH = 9
EXAMPLES = st.lists(st.integers(0, 4), max_size=WIDTH)


def placed(outcomes: list[int]) -> tuple[np.ndarray[Any, Any], tuple[int, int, int, int]]:
    """An example that mentions the first columns, with these outcomes."""
    slots = np.array([5 * column + outcome for column, outcome in enumerate(outcomes)], np.int64)
    true, pred, both, masked = (sum(one in kinds for one in outcomes) for kinds in ((1, 3), (2, 3), (3,), (4,)))
    return slots, (true, pred, both, masked)


def counted(root_of: Any, counts_of: Any, examples: list[list[int]]) -> tuple[Any, Any]:
    root = root_of()
    counts = counts_of(root, WIDTH)
    root.commit([counts.prepare_example(*placed(example), 0, 1) for example in examples])
    return root, counts


@both_twins
@settings(max_examples=cases(100))
@given(st.lists(EXAMPLES, max_size=40), st.lists(EXAMPLES, max_size=9))
def test_a_commit_adds_examples_and_another_commit_reverts_them(
    root_of: Any, counts_of: Any, first: list[list[int]], second: list[list[int]]
):
    root, counts = counted(root_of, counts_of, first)
    before = everything(counts, WIDTH)
    parts = [counts.prepare_example(*placed(example), 0, 1) for example in second]
    assert everything(counts, WIDTH) == before
    root.commit(parts)
    assert everything(counts, WIDTH) == everything(counted(root_of, counts_of, first + second)[1], WIDTH)
    root.commit([counts.prepare_example(*placed(example), 0, -1) for example in second])
    assert everything(counts, WIDTH) == before


@both_twins
def test_one_commit_can_add_an_example_and_revert_another(root_of: Any, counts_of: Any):
    root, counts = counted(root_of, counts_of, [[1, 2], [3, 3]])
    root.commit([counts.prepare_example(*placed([0, 1]), 0, 1), counts.prepare_example(*placed([1, 2]), 0, -1)])
    assert everything(counts, WIDTH) == everything(counted(root_of, counts_of, [[3, 3], [0, 1]])[1], WIDTH)


@both_twins
@settings(max_examples=cases(100))
@given(st.lists(EXAMPLES, max_size=30), st.lists(EXAMPLES, max_size=30))
def test_unmerging_is_the_inverse_of_merging(
    root_of: Any, counts_of: Any, first: list[list[int]], second: list[list[int]]
):
    (root, counts), (_, other) = (counted(root_of, counts_of, examples) for examples in (first, second))
    before, columns = everything(counts, 2 * WIDTH), np.arange(WIDTH)[::-1] + 2
    counts.reserve(2 * WIDTH)
    part = counts.prepare_merge(other, columns, 0, 1)
    assert everything(counts, 2 * WIDTH) == before
    root.commit([part])
    assert counts.examples == len(first) + len(second)
    root.commit([counts.prepare_merge(other, columns, 0, -1)])
    assert everything(counts, 2 * WIDTH) == before


@both_twins
def test_unused_columns_may_be_merged_into_the_same_column_as_another(root_of: Any, counts_of: Any):
    (root, counts), (_, other) = (counted(root_of, counts_of, examples) for examples in ([[1]], [[1], [3]]))
    columns = np.zeros(WIDTH, np.int64)
    root.commit([counts.prepare_merge(other, columns, 0, 1)])
    assert everything(counts, WIDTH) == everything(counted(root_of, counts_of, [[1], [1], [3]])[1], WIDTH)
    root.commit([counts.prepare_merge(other, columns, 0, -1)])
    assert everything(counts, WIDTH) == everything(counted(root_of, counts_of, [[1]])[1], WIDTH)


@both_twins
def test_reverting_an_uncounted_example_is_declined_and_changes_nothing(root_of: Any, counts_of: Any):
    _, counts = counted(root_of, counts_of, [[1, 2], [3, 3]])
    before = everything(counts, WIDTH)
    assert counts.prepare_example(*placed([3, 1]), 0, -1) == REFUSED
    for examples in ([[3, 1]], [[1, 2], [1, 2]], [[1, 2], [3, 3], [0]], [[0]]):
        _, other = counted(root_of, counts_of, examples)
        assert counts.prepare_merge(other, None, 0, -1) == REFUSED, examples
    assert everything(counts, WIDTH) == before


@both_twins
def test_nothing_is_prepared_beyond_the_largest_count(root_of: Any, counts_of: Any):
    root, counts = root_of(), counts_of(root_of(), 1)
    counts.restore(2**63 - 1, np.zeros((1, 5), np.int64), np.zeros((1, 4), np.int64), np.array([2**63 - 1]))
    _, other = counted(root_of, counts_of, [[]])
    assert counts.prepare_example(*placed([]), 0, 1) == FULL
    assert counts.prepare_merge(other, None, 0, 1) == FULL
    root.commit([])
    assert counts.examples == 2**63 - 1


@both_twins
def test_one_commit_can_have_many_parts_with_different_keys(root_of: Any, counts_of: Any):
    root = root_of()
    counts = counts_of(root, 2)
    slots = np.zeros(0, np.int64)
    parts = [counts.prepare_example(slots, (number, 0, 0, 0), 0, 1) for number in range(500)]
    del parts[::3]
    root.commit(parts)
    assert counts.examples == counts.held() == len(parts)
    assert sorted(counts.row_keys()[0][:, 0].tolist()) == [number for number in range(500) if number % 3]


@needs_compiled
@settings(max_examples=cases(100))
@given(st.lists(st.tuples(*[st.lists(st.booleans(), min_size=3, max_size=3)] * 2), max_size=9), st.integers(0, 3))
def test_prepared_examples_are_counted_like_examples_counted_directly(
    examples: list[tuple[list[bool], list[bool]]], fixed: int
):
    columns, (root_of, counts_of) = {"a": 0, "b": 1, "c": 2}, TWINS[1]
    rows = [[dict(zip(columns, side, strict=True)) for side in example] for example in examples]
    root, expected = root_of(), counts_of(root_of(), 3)
    counts = counts_of(root, 3)
    before = everything(counts, 3)
    parts = [part for row in rows for part in counts.prepare_plain(columns, fixed, *row, None, 1)]
    assert everything(counts, 3) == before
    root.commit(parts)
    for row in rows:
        assert expected.count_example(columns, fixed, *row, None, 1) == DONE
    assert everything(counts, 3) == everything(expected, 3)
    for row in rows[:1]:
        root.commit(counts.prepare_plain(columns, fixed, *row, None, -1))
        expected.count_example(columns, fixed, *row, None, -1)
    assert everything(counts, 3) == everything(expected, 3)
    assert counts.prepare_plain(columns, fixed, {"new": 1}, {"new": 1}, None, 1) == OTHER
    if not rows:
        assert counts.prepare_plain(columns, fixed, {"a": 1}, {"a": 1}, None, -1) == REFUSED


@needs_compiled
def test_either_all_tables_count_an_example_with_scores_or_none_does():
    rankings, curves = (import_module(f"streameval.kernel.{name}.compiled") for name in ("rankings", "curves"))
    root, columns = commit_compiled.Root(), {label: column for column, label in enumerate("abcdefgh")}
    counts, bins, ranks = compiled.Counts(root, 8), curves.Bins(root, 8), rankings.RankCounts(root, 8)
    counts.followers = bins.follower(), ranks.follower(False)
    true, scores = np.ones((5, 8), np.uint8), np.tile(np.arange(8.0) / 8, (5, 1))

    def held() -> tuple[Any, ...]:
        entries = [np.hstack(ranks.entries(which)).tolist() for which in range(3)]
        return (
            everything(counts, 8),
            ranks.examples,
            entries,
            bins.examples,
            [x.tolist() for x in bins.read(np.arange(8))],
        )

    def count(examples: int) -> int:
        if not examples:  # count one example as a mapping
            mapping = dict(zip(columns, scores[0].tolist(), strict=True))
            return int(counts.count_example(columns, 8, set(columns), mapping, 0.5, 1))
        if examples == 1:
            return int(counts.count_example(columns, 8, true[0], scores[0], 0.5, 1))
        return int(counts.count_arrays(columns, 8, true[:examples], scores[:examples], 0.5))

    assert [count(1), count(5), ranks.examples] == [DONE, DONE, 6]
    all_bins, all_counts = curves.Bins(None, 8), compiled.Counts(None, 8)
    six = np.arange(8), 8, np.ones((6, 8), np.uint8), np.tile(scores[0], (6, 1))
    all_bins.count((*six, None, None))
    all_counts.count_scores(*six, np.full(8, 0.5), None)
    assert held()[3:] == (6, [x.tolist() for x in all_bins.read(np.arange(8))])
    assert held()[0] == everything(all_counts, 8)
    one = rankings.RankCounts(None, 8)
    one.count((np.arange(8), 8, true[:1], scores[:1], None, None), None)
    for _ in range(5):
        root.commit([ranks.prepare_merge(one, None, -1)])
    for _ in range(59):
        root.commit([ranks.prepare_merge(ranks, None, 1)])
    rest = ranks.copy(None)
    root.commit([rest.prepare_merge(one, None, -1)])
    root.commit([ranks.prepare_merge(rest, None, 1)])  # the sum is 2**63 - 8, and a true label that ranks last adds 8
    before = held()
    assert [count(0), count(1), count(5), held()] == [OTHER, OTHER, OTHER, before]
    root.commit([ranks.prepare_merge(one, None, -1)])
    assert [count(2), count(0), count(0), count(1)] == [OTHER, DONE, OTHER, OTHER]
    assert (counts.examples, bins.examples, ranks.examples) == (7, 7, 2**60 - 1)


@needs_compiled
@pytest.mark.parametrize("narrow", [False, True])
def test_examples_with_scores_are_prepared_in_all_tables_regardless_of_reads_before_the_commit(narrow: bool):
    rankings, curves = (import_module(f"streameval.kernel.{name}.compiled") for name in ("rankings", "curves"))
    columns, draw = {label: column for column, label in enumerate("abcdefgh")}, np.random.default_rng(3)

    def tables() -> tuple[Any, Any, Any, Any]:
        root = commit_compiled.Root()
        counts, bins, ranks = compiled.Counts(root, 8), curves.Bins(root, 8), rankings.RankCounts(root, 8)
        counts.followers = bins.follower(), ranks.follower(False)
        return root, counts, bins, ranks

    def held(of: tuple[Any, Any, Any, Any]) -> tuple[Any, ...]:
        _, counts, bins, ranks = of
        entries = [sorted(np.hstack(ranks.entries(which)).tolist()) for which in range(3)]
        sides = bins.sides(np.arange(8)).tolist(), [x.tolist() for x in bins.read(np.arange(8))]
        return everything(counts, 8), ranks.examples, entries, bins.examples, sides

    examples: list[tuple[Any, Any]] = [({"a", "b"}, {"c": 0.5, "a": 0.25}), (set(), {})]
    for _ in range(9):
        row = draw.random(8)
        examples.append(((draw.random(8) < 0.3).astype(np.uint8), row.astype(np.float32) if narrow else row))
        examples.append(({"h"}, dict(zip(columns, row.tolist(), strict=True))))
    prepared, expected = tables(), tables()
    root, counts, *_ = prepared
    before = held(prepared)
    plain = [part for example in examples for part in counts.prepare_plain(columns, 8, *example, 0.5, 1)]
    assert counts.place_scores(columns, 8, {"a"}, dict.fromkeys(columns, 1.0), 0.5) is not None
    assert held(prepared) == before
    for _, y_pred in examples[2:]:
        if isinstance(y_pred, np.ndarray):
            y_pred[:] = 2  # must not change the parts that were prepared
    root.commit(plain[1:])
    del plain  # without a commit of the first part
    draw = np.random.default_rng(3)
    for number in range(1, len(examples)):
        y_true, y_pred = examples[number]
        if isinstance(y_pred, np.ndarray):
            y_pred[:] = draw.random(8)
            draw.random(8)
        assert expected[1].count_example(columns, 8, y_true, y_pred, 0.5, 1) == DONE
    assert held(prepared) == held(expected)
    root.commit(counts.prepare_plain(columns, 8, *examples[3], 0.5, -1))
    expected[1].count_example(columns, 8, *examples[3], 0.5, -1)
    assert held(prepared) == held(expected)
    before = held(prepared)
    assert counts.prepare_plain(columns, 8, {"a"}, {"b": 3.0}, 0.5, -1) in (OTHER, REFUSED)
    assert counts.prepare_plain(columns, 8, {"new"}, {"b": 3.0}, 0.5, 1) == OTHER
    counts.most = counts.examples
    assert counts.prepare_plain(columns, 8, *examples[3], 0.5, 1) == OTHER
    assert held(prepared) == before


def test_a_read_that_widens_numpy_counts_during_a_commit_loses_nothing():
    root = commit_numpy.Root()
    counts, done = twin.Counts(root, WIDTH), list[bool]()
    before = root.values
    root.commit([counts.prepare_example(*placed([3, 1]), 0, 1)])
    root._versions = before, root.values, done  # as during a commit
    assert not counts.mentioned(5 * WIDTH).any()
    done.append(True)
    assert counts.examples == 1
    assert counts.mentioned(5 * WIDTH).sum() == 2
