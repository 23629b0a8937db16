"""Times of single calls, to compare versions. Every result is checked; no test asserts a time."""

from __future__ import annotations

import numpy as np
import pytest

import streameval as se
from tests.benchmarks.workloads import SIX, Counted, Examples, assert_same, counted, distinct_labels, examples

pytest.importorskip("pytest_benchmark")

SMALL = examples(200, 14, 4)
WIDE = examples(50, 1000, 19)
MANY = examples(2000, 100, 10)
ROUNDS = 5


def batch(benchmark, feed, labels=None, **options) -> se.Evaluator:
    """Time ``feed(evaluator)`` on a fresh evaluator each round, and return the last one."""
    made: list[se.Evaluator] = []

    def fresh():
        made.append(se.Evaluator(SIX, labels=labels, **options))
        return (made[-1],), {}

    benchmark.pedantic(feed, setup=fresh, rounds=ROUNDS, warmup_rounds=1)
    return made[-1]


def one_by_one(true, pred):
    def feed(ev):
        update = ev.update
        for t, p in zip(true, pred, strict=True):
            update(t, p)

    return feed


# -- one example at a time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [SMALL, examples(100, 100, 10), WIDE], ids=["14", "100", "1000"])
def test_update_with_mappings(benchmark, stream: Examples):
    assert_same(batch(benchmark, one_by_one(*stream.mappings)), stream.counted, stream.labels)


@pytest.mark.parametrize("stream", [SMALL, WIDE], ids=["14", "1000"])
def test_update_with_sets(benchmark, stream: Examples):
    assert_same(batch(benchmark, one_by_one(*stream.sets)), stream.counted)


def test_update_with_rows_of_declared_labels(benchmark):
    ev = batch(benchmark, one_by_one(list(SMALL.y_true), list(SMALL.y_pred)), SMALL.labels)
    assert_same(ev, SMALL.counted, SMALL.labels)


KINDS = {"decisions": ["f1_macro"], "rankings": ["lrap"], "curves": ["roc_auc_macro"]}
KINDS["one pass for all"] = [name for names in KINDS.values() for name in names]


@pytest.mark.parametrize("metrics", KINDS.values(), ids=KINDS)
def test_update_with_scores_for_one_state_or_several(benchmark, metrics: list[str]):
    rng = np.random.default_rng(8)
    scores, true = rng.random((10_000, 100), np.float32), rng.random((10_000, 100)) < 0.05
    made: list[se.Evaluator] = []

    def setup():
        made.append(se.Evaluator(metrics, labels=range(100), threshold=0.5))
        return (), {}

    benchmark.pedantic(lambda: made[-1].update_many(true, scores), setup=setup, rounds=ROUNDS, warmup_rounds=1)
    for name in metrics:
        single = se.Evaluator([name], labels=range(100), threshold=0.5)
        single.update_many(true, scores)
        assert made[-1].get(name) == single.get(name)


def test_update_with_scores(benchmark):
    scores = [{label: 0.9 if hit else 0.2 for label, hit in row.items()} for row in SMALL.mappings[1]]
    ev = batch(benchmark, one_by_one(SMALL.mappings[0], scores), threshold=0.5)
    assert_same(ev, SMALL.counted, SMALL.labels)


def test_update_with_weights(benchmark):
    weights = [0.25 * (x % 7) for x in range(len(SMALL.y_true))]
    triples = list(zip(*SMALL.sets, weights, strict=True))

    def feed(ev):
        for t, p, weight in triples:
            ev.update(t, p, weight=weight)

    assert_same(batch(benchmark, feed), counted(*SMALL.sets, weights))


def test_revert(benchmark):
    true, pred = SMALL.mappings
    half = len(true) // 2
    made = []

    def fresh():
        ev = se.Evaluator(SIX)
        one_by_one(true, pred)(ev)
        made.append(ev)
        return (ev,), {}

    def take_back(ev):
        for t, p in zip(true[half:], pred[half:], strict=True):
            ev.revert(t, p)

    benchmark.pedantic(take_back, setup=fresh, rounds=ROUNDS)
    assert_same(made[-1], counted(*(side[:half] for side in SMALL.sets)), SMALL.labels)


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIX)
def test_get_at_1000_labels(benchmark, name):
    ev = se.Evaluator([name])
    ev.update_many(*WIDE.mappings)
    expected = WIDE.counted.values(WIDE.labels)[name]
    assert benchmark.pedantic(ev.get, args=(name,), rounds=ROUNDS, iterations=20) == pytest.approx(expected, rel=1e-12)


# -- many examples ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "?", "i8", "f4"])
@pytest.mark.parametrize("stream", [SMALL, MANY, WIDE], ids=["14", "100", "1000"])
def test_update_many_dense(benchmark, stream: Examples, dtype):
    y_true, y_pred = stream.y_true.astype(dtype), stream.y_pred.astype(dtype)
    ev = batch(benchmark, lambda ev: ev.update_many(y_true, y_pred), stream.labels)
    assert_same(ev, stream.counted, stream.labels)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_update_many_scores(benchmark, dtype):
    scores = np.where(MANY.y_pred, 0.5, np.nextafter(np.float32(0.5), np.float32(0))).astype(dtype)
    ev = batch(benchmark, lambda ev: ev.update_many(MANY.y_true, scores), MANY.labels, threshold=0.5)
    assert_same(ev, MANY.counted, MANY.labels)


def test_update_many_weighted(benchmark):
    weights = np.arange(len(MANY.y_true)) % 8 / 4
    ev = batch(benchmark, lambda ev: ev.update_many(MANY.y_true, MANY.y_pred, weights=weights), MANY.labels)
    assert_same(ev, counted(*MANY.sets, weights.tolist()), MANY.labels)


def test_update_many_masked(benchmark):
    mask = np.zeros_like(MANY.y_true)
    mask[::3, ::5] = 1
    hidden = [{MANY.labels[x] for x in np.flatnonzero(row)} for row in mask]
    known = [[labels - out for labels, out in zip(side, hidden, strict=True)] for side in MANY.sets]
    expected = counted(*known)
    ev = batch(benchmark, lambda ev: ev.update_many(MANY.y_true, MANY.y_pred, mask=mask), MANY.labels)
    table = ev.per_label()
    for column, counts in ((table.tp, expected.tp), (table.fp, expected.fp), (table.fn, expected.fn)):
        assert column.tolist() == [counts[label] for label in MANY.labels]
    assert ev.get("subset_accuracy") == expected.values(MANY.labels)["subset_accuracy"]


def test_update_many_sparse(benchmark):
    sparse = pytest.importorskip("scipy.sparse")
    y_true, y_pred = sparse.csr_array(MANY.y_true), sparse.csr_array(MANY.y_pred)
    ev = batch(benchmark, lambda ev: ev.update_many(y_true, y_pred), MANY.labels)
    assert_same(ev, MANY.counted, MANY.labels)


def test_update_many_arrow_lists(benchmark):
    pa = pytest.importorskip("pyarrow")
    y_true, y_pred = (pa.array([list(labels) for labels in side]) for side in MANY.sets)
    assert_same(batch(benchmark, lambda ev: ev.update_many(y_true, y_pred)), MANY.counted, MANY.labels)


@pytest.mark.parametrize("form", [set, list])
def test_update_many_collections(benchmark, form):
    y_true, y_pred = ([form(labels) for labels in side] for side in MANY.sets)
    assert_same(batch(benchmark, lambda ev: ev.update_many(y_true, y_pred)), MANY.counted, MANY.labels)


def test_update_many_mappings(benchmark):
    assert_same(batch(benchmark, lambda ev: ev.update_many(*SMALL.mappings)), SMALL.counted, SMALL.labels)


def test_update_many_with_labels_never_seen_before(benchmark):
    truth = list(distinct_labels(20_000))
    ev = batch(benchmark, lambda ev: ev.update_many(truth, truth))
    assert_same(ev, counted(map(set, truth), map(set, truth)), [label for labels in truth for label in labels])


# -- shards -----------------------------------------------------------------------------------------------------------


def halves(stream: Examples) -> list[se.Evaluator]:
    made = []
    for part in (slice(None, None, 2), slice(1, None, 2)):
        made.append(se.Evaluator(SIX, labels=stream.labels))
        made[-1].update_many(stream.y_true[part], stream.y_pred[part])
    return made


@pytest.mark.parametrize("stream", [SMALL, WIDE], ids=["14", "1000"])
def test_merge(benchmark, stream: Examples):
    made = []

    def fresh():
        made[:] = halves(stream)
        return tuple(made), {}

    benchmark.pedantic(se.Evaluator.merge, setup=fresh, rounds=ROUNDS)
    assert_same(made[0], stream.counted, stream.labels)


@pytest.mark.parametrize("stream", [SMALL, WIDE], ids=["14", "1000"])
def test_to_bytes(benchmark, stream: Examples):
    first, second = halves(stream)
    first.merge(second)
    blob = benchmark.pedantic(first.to_bytes, rounds=ROUNDS, iterations=5)
    assert_same(se.Evaluator.from_bytes(blob), stream.counted, stream.labels)


@pytest.mark.parametrize("stream", [SMALL, WIDE], ids=["14", "1000"])
def test_from_bytes(benchmark, stream: Examples):
    first, second = halves(stream)
    first.merge(second)
    ev = benchmark.pedantic(se.Evaluator.from_bytes, args=(first.to_bytes(),), rounds=ROUNDS, iterations=5)
    assert_same(ev, stream.counted, stream.labels)


def test_the_oracle_agrees_with_counts_by_hand():
    by_hand = Counted({"a": 1}, {"c": 1}, {"b": 1}, {(2, 2, 1): 1, (0, 0, 0): 1})
    assert counted([{"a", "b"}, set()], [{"a", "c"}, set()]) == by_hand
    assert counted([{"a", "b"}, set()], [{"a", "c"}, set()], [1, 1]) == by_hand
