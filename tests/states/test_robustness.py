"""Damaged containers, foreign objects and histories that once caused wrong numbers or crashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import streameval as se
from streameval.kernel import backend
from streameval.kernel.commit.numpy import Root
from tests.support.effort import cases, crossed
from tests.support.naming import case_name
from tests.support.twins import cells_in, count_slots


def unchanged(ev: se.Evaluator, *inputs: object) -> str:
    """The message of the error that ``update_many`` raises; also checks that the object is unchanged."""
    before = ev.to_bytes()
    with pytest.raises(se.InputError) as caught:
        ev.update_many(*inputs)
    assert ev.to_bytes() == before
    return str(caught.value)


@pytest.mark.parametrize(("part", "place", "value"), [
    ("indptr", -1, 50), ("indptr", 1, -3), ("indptr", 1, 10**8), ("indptr", 1, 3), ("indptr", 0, 1),
    ("indices", 0, 3), ("indices", 1, -1), ("indices", 2, 10**8),
])  # fmt: skip
def test_a_damaged_sparse_matrix_is_refused(part: str, place: int, value: int):
    good, damaged = (sp.csr_matrix(np.eye(3, dtype=np.uint8)) for _ in range(2))
    assert damaged.has_canonical_format
    getattr(damaged, part)[place] = value
    if (part, place) == ("indptr", 0):
        return  # the matrix leaves out a value, which is unusual but valid
    for inputs in ((damaged, good), (good, damaged)):
        assert "damaged" in unchanged(se.Evaluator(), *inputs)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_stored_duplicates_after_a_skipped_value_add_up(make: type):
    matrix = make(np.eye(2, 3))
    matrix.indptr, matrix.indices = np.array([1, 3, 4]), np.array([2, 0, 0, 1])
    matrix.data = np.array([9, 0.25, 0.5, 1])
    ev = se.Evaluator(labels=range(3), threshold=0.75)
    ev.update_many([[0], [1]], matrix)
    assert ev.get(["subset_accuracy"]) == {"subset_accuracy": 1.0}
    assert matrix.data.tolist() == [9, 0.25, 0.5, 1]


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [0, 50_000_000, 2, 3], [0, -1, 2, 3]])
def test_a_damaged_arrow_column_is_refused(offsets: list[int]):
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1]]
    damaged = pa.ListArray.from_buffers(pa.list_(pa.string()), 3, buffers, children=[pa.array(["a", "b", "c"])])
    good = pa.array([["a"], ["b"], []], pa.list_(pa.string()))
    for inputs in ((damaged, good), (good, damaged)):
        assert "damaged" in unchanged(se.Evaluator(), *inputs)


def test_codes_outside_an_arrow_dictionary_are_refused():
    good = pa.array([["a"], []], pa.list_(pa.string()))
    for codes in ([0, 2], [0, -1], [2**30, 0]):
        values = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(["a", "b"]), safe=False)
        damaged = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), values)
        for inputs in ((damaged, good), (good, damaged)):
            assert "damaged" in unchanged(se.Evaluator(), *inputs)


@pytest.mark.parametrize(("kind", "seed"), crossed([np.int32, np.int64], range(cases(50))))
def test_a_sparse_matrix_is_read_exactly_by_its_arrays_or_refused(kind: type, seed: int):
    rng = np.random.default_rng(seed)
    extremes = [0, 1, -1, 2, 7, 8, 9, 30, np.iinfo(kind).max, np.iinfo(kind).min]
    outcomes = set()
    for _ in range(200):
        lengths = rng.integers(0, 4, 6)
        matrix = sp.csr_array(np.eye(6, 8, dtype=np.uint8))
        parts = {
            "indptr": np.concatenate([[0], np.cumsum(lengths)]).astype(kind),
            "indices": np.concatenate([rng.permutation(8)[:size] for size in lengths]).astype(kind),
        }
        size = len(parts["indices"])
        for part in rng.choice(["indptr", "indices"], rng.integers(0, 3)):
            if len(parts[part]):
                parts[part][rng.integers(len(parts[part]))] = rng.choice(extremes)
        matrix.indptr, matrix.indices, matrix.data = parts["indptr"], parts["indices"], np.ones(size, np.uint8)
        starts, columns = parts["indptr"].tolist(), parts["indices"].tolist()
        fits = all(low <= high for low, high in pairwise(starts)) and starts[0] >= 0 and starts[-1] <= size
        rows = [columns[low:high] for low, high in pairwise(starts)] if fits else []
        other = (rng.random((6, 8)) < 0.4).astype(np.uint8)
        if not fits or not all(0 <= column < 8 for row in rows for column in row):
            outcomes.add("damaged")
            assert "damaged" in unchanged(se.Evaluator(labels=range(8)), matrix, sp.csr_array(other))
            continue
        if any(len(set(row)) < len(row) for row in rows):
            outcomes.add("adds up")  # duplicates sum to 2, which is no decision
            assert "is 2 for label" in unchanged(se.Evaluator(labels=range(8)), matrix, sp.csr_array(other))
            continue
        outcomes.add("counted")
        ev, reference = se.Evaluator(labels=range(8)), se.Evaluator(labels=range(8))
        ev.update_many(matrix, sp.csr_array(other))
        reference.update_many(rows, [np.flatnonzero(row).tolist() for row in other])
        assert ev.to_bytes() == reference.to_bytes()
    assert outcomes == {"damaged", "adds up", "counted"}


def test_slots_out_of_range_are_refused_before_anything_changes():
    counts = backend.decisions.Counts(Root(), 2)
    for slots in ([10**6], [3, 10**6], [-(10**6)]):
        for sign in (1, -1):
            with pytest.raises(IndexError):
                count_slots(counts, np.array(slots), (1, 0, 0, 0), 0, sign)
    with pytest.raises(IndexError):
        counts.outcomes(np.array([0, 10**6]))
    assert counts.examples == 0
    assert not cells_in(counts, 2).any()


def test_equal_states_give_equal_bits_even_if_one_has_reverted_a_finer_weight():
    # Values 1/p have weights such that the mean is 2**-1 + 2**-54 plus about 2**-120. It is so close to a tie of
    # rounding that both states give equal bits only if both compute the mean with the same precision.
    primes = [n for n in range(3, 98) if all(n % d for d in range(2, n))]
    whole = prod(primes)
    weights = {p: pow(whole // p, -1, p) for p in primes}
    floor = sum(Fraction(weights[p], p) for p in primes) - Fraction(1, whole)
    assert floor.denominator == 1
    labels = [f"label{number:03}" for number in range(max(primes))]

    def built(finer: float | None) -> se.Evaluator:
        ev = se.Evaluator(["jaccard_samples"])
        if finer is not None:
            ev.update(labels[:1], labels[:1], weight=finer)
        for p in primes:
            ev.update(labels[:1], labels[:p], weight=float(weights[p]))
        hits = 2**53 + 1 - int(floor)
        for part in (2**52, hits - 2**52):
            ev.update(labels[:1], labels[:1], weight=float(part))
        rest = 2**54 - sum(weights.values()) - hits
        while rest > 0:
            ev.update(labels[1:2], labels[:1], weight=float(min(rest, 2**52)))
            rest -= 2**52
        if finer is not None:
            ev.revert(labels[:1], labels[:1], weight=finer)
        return ev

    plain, eventful = built(None), built(2.0**-200)
    assert plain.to_bytes() == eventful.to_bytes()
    assert plain.get() == eventful.get() == se.Evaluator.from_bytes(eventful.to_bytes()).get()
    assert plain.report() == eventful.report()


@pytest.mark.parametrize("label", [np.timedelta64(1, "s"), np.datetime64("2020-01-01")], ids=case_name)
def test_durations_and_dates_are_refused_as_labels(label: object):
    with pytest.raises(se.LabelError):
        se.Evaluator().update([label], [])


@pytest.mark.parametrize("threads", [1, 2])
def test_boolean_arrays_may_hold_any_byte(threads: int):
    odd = np.array([[2, 0], [1, 255]] * 600, np.uint8).view(np.bool_)
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update_many(odd, odd, threads=threads)
    reference.update_many(np.array([[1, 0], [1, 1]] * 600), np.array([[1, 0], [1, 1]] * 600))
    assert ev.to_bytes() == reference.to_bytes()
    row = se.Evaluator(labels=["a", "b"])
    row.update(odd[0], odd[1])
    assert row.per_label().to_dict()["predicted"] == [1, 1]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_boolean_columns_next_to_score_columns_are_decisions(frame: type):
    for scores in ([7], [7.5]):
        ev = se.Evaluator(threshold=5.0)
        ev.update_many(frame({"a": [1], "b": [1]}), frame({"a": [True], "b": scores}))
        assert ev.per_label().tp.tolist() == [1, 1]


class Indexable:
    """An object that is no number, although `bytes` accepts it as one because of ``__index__``."""

    def __index__(self) -> int:
        return 1


@pytest.mark.parametrize(
    "value", [Indexable(), np.datetime64("2020-01-01"), np.timedelta64(1, "s"), b"\1", 1j], ids=case_name
)
def test_values_that_are_no_numbers_are_refused_on_every_backend(value: object):
    for inputs in ({"a": value}, np.array([value])):
        ev = se.Evaluator(labels=["a"])
        with pytest.raises(se.InputError):
            ev.update(inputs, {"a": True})
        with pytest.raises(se.InputError):
            ev.update({"a": True}, inputs)
        assert ev == se.Evaluator(labels=["a"])


@pytest.mark.parametrize("threshold", [None, 0.5])
def test_values_of_ignored_labels_are_not_checked_in_any_form(threshold: float | None):
    nan = float("nan")
    for inputs in (
        pd.DataFrame({"a": [1.0], "x": [nan]}),
        [{"a": 1.0, "x": nan}],
        [{"a": 1.0, "x": "what?"}],
    ):
        ev = se.Evaluator(labels=["a"], unknown="ignore", threshold=threshold)
        ev.update_many([{"a"}], inputs)
        assert ev.per_label().tp.tolist() == [1]
    ev = se.Evaluator(labels=["a"], unknown="ignore", threshold=threshold)
    ev.update_many(pd.DataFrame({"a": [1], "x": [1]}), sp.csr_array(np.array([[1.0, nan]])))
    assert ev.per_label().tp.tolist() == [1]


def test_thresholds_of_minus_zero_and_of_labels_that_cannot_occur_make_no_difference():
    assert se.Evaluator(threshold=-0.0).to_bytes() == se.Evaluator(threshold=0.0).to_bytes()
    assert se.Evaluator(threshold=np.array(0.5)) == se.Evaluator(threshold=0.5)
    plain, more = (se.Evaluator(labels=["a"], threshold=inputs) for inputs in ({"a": 0.5}, {"a": 0.5, "b": 0.1}))
    assert plain == more
    assert plain.to_bytes() == more.to_bytes()
    with pytest.raises(se.InputError, match="no value for label 'a'"):
        se.Evaluator(labels=["a"], threshold={"aa": 0.5})
    assert se.Evaluator(labels=["a"], unknown="add", threshold={"a": 0.5, "b": 0.1}) != plain


class Meddling(Mapping):
    """A mapping that makes a call while it is read."""

    def __init__(self, content: dict[str, object], call: object) -> None:
        self.content, self.call = content, call

    def __getitem__(self, key: str) -> object:
        return self.content[key]

    def __iter__(self) -> Iterator[str]:
        self.call()
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)


def test_an_example_that_resets_its_reader_is_counted_after_that():
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update({"a"}, {"a"})
    ev.update(Meddling({"b": True}, ev.reset), {"b"})
    reference.update({"b"}, {"b"})
    assert ev == reference


def test_an_example_that_updates_its_reader_is_counted_together_with_the_update():
    ev = se.Evaluator()
    ev.update(Meddling({"b": True}, lambda: ev.update({"c"}, {"d"})), {"b"})
    reference = se.Evaluator()
    reference.update_many([{"c"}, {"b"}], [{"d"}, {"b"}])
    assert ev.to_bytes() == reference.to_bytes()


@pytest.mark.parametrize("score", [0.5, np.float64(0.5), np.float32(0.5), 1, True, np.True_, 0.49999])
def test_scores_of_every_kind_are_compared_alike_with_one_threshold_or_one_per_label(score: object):
    one, each = se.Evaluator(threshold=0.5), se.Evaluator(threshold={"a": 0.5})
    one.update({"a"}, {"a": score})
    each.update({"a"}, {"a": score})
    assert one.get("recall_micro") == each.get("recall_micro") == float(score >= 0.5)


@pytest.mark.parametrize("weight", [1, 1.0, np.float64(1), np.int64(1)])
def test_a_weight_of_one_is_one_in_every_type(weight: object):
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update({"a"}, {"b"}, weight=weight)
    reference.update({"a"}, {"b"})
    assert ev.to_bytes() == reference.to_bytes()
    ev.revert({"a"}, {"b"}, weight=weight)
    assert ev == se.Evaluator()
