"""Many threads count, read and save one object: its counts are exact, and no thread crashes or blocks for ever."""

from __future__ import annotations

import copy
import signal
import time
from collections.abc import Callable
from functools import partial
from itertools import count as numbers
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.adapters import river
from tests.laws.asked import (
    COUNTING,
    FEEDS,
    FULL,
    NEW,
    SCORED_BEFORE,
    SCORED_FIRST,
    TRUE,
    count,
    keywords,
    model_of,
)
from tests.support.effort import BRIEF
from tests.support.exploring import (
    crowd,
    outcome,
    refused,
)

STRESS = 3.0 if FULL else 0.08 if BRIEF else 0.15
"""Seconds that each test runs."""


@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.parametrize("title", COUNTING)
def test_counts_of_many_threads_are_exact(title: str, name: str):
    if name != "decisions" and title not in ("Evaluator", "Rolling") and not FULL:
        pytest.skip("with STREAMEVAL_EFFORT=1")
    feed, holder = FEEDS[name], COUNTING[title]
    how, ordered = holder.how or {}, title in ("Rolling", "Fading", "Tumbling")
    held, single, rows = holder.started(feed), keywords(3, **how), repeated(5, how)
    known, new = (TRUE, feed.pred(SCORED_BEFORE)), (NEW, feed.pred(SCORED_FIRST))
    cells = np.array([[0.25, 0.5, 0.0]] * 5)
    arrays = np.array([[1, 0, 1]] * 5), cells if feed.scored else (cells >= 0.5).astype(int)
    lists = [known[0]] * 5, [known[1]] * 5
    batch = lists if ordered else arrays

    def there_and_back() -> None:
        held.update(*new, weight=0.7, **single)
        held.revert(*new, weight=0.7, **single)

    jobs: list[Callable[[], object]] = [
        lambda: held.update(*known, **single),
        lambda: held.update_many(*batch, **rows),
        lambda: (held.get(), repr(held), held.examples),
        lambda: type(held).from_bytes(held.to_bytes()),
        lambda: copy.copy(held).get(),
    ]
    if hasattr(held, "revert"):
        jobs.append(there_and_back)
    ones, fives, *_ = crowd(STRESS, *jobs)
    expected = holder.started(feed)
    if ordered:
        count_often(expected, lists, ones + 5 * fives, how)
    else:
        count_often(expected, lists, ones, how)
        count_often(expected, arrays, 5 * fives, how)
    assert held.examples == expected.examples
    assert held.to_bytes() == expected.to_bytes()


def count_often(held: Any, batch: tuple[Any, Any], times: int, how: dict[str, bool]) -> None:
    """Count the first example of a batch ``times`` times."""
    while times:
        step = min(times, 1000)
        held.update_many(*([one[0]] * step for one in batch), **repeated(step, how))
        times -= step


def repeated(rows: int, how: dict[str, bool]) -> dict[str, Any]:
    """Further keywords for a batch in which all examples have the time or slice of the fourth."""
    one = keywords(3, **how)
    if "where" in one:
        return {"where": {name: [value] * rows for name, value in one["where"].items()}}
    return {"times": [one["t"]] * rows} if one else {}


def test_many_threads_that_predict_and_observe_count_each_pair_once():
    held, keys = se.Pending(se.Evaluator(["f1_micro"]), no_prediction="count"), numbers()
    shared: list[int] = []

    def pair() -> None:
        key = next(keys)
        held.predict(key, {"a"})
        shared.append(key)
        held.observe(key, {"a", "b"})

    def again() -> None:
        for key in shared[-3:]:
            held.observe(key, {"a", "b"})
            observed.append(key)

    observed: list[int] = []
    jobs = [pair, pair, again, lambda: (held.keys(), len(held), held.evicted, repr(held)), lambda: held.copy().keys()]
    first, second, *_ = crowd(STRESS, *jobs)
    assert (held.evaluator.examples, len(held)) == (first + second, 0)
    assert held.without_prediction == len(observed)


def test_many_threads_that_trace_write_each_row_once():
    held = se.Trace({"all": se.Evaluator(["f1_micro"]), "last": se.Rolling(se.Evaluator(["f1_micro"]), 5)}, every=3)

    def read() -> None:
        columns = held.columns()
        assert columns["examples"] == list(range(3, 3 * len(columns["examples"]) + 1, 3))
        assert {len(column) for column in columns.values()} == {len(columns["examples"])}

    jobs = [lambda: held.update({"a"}, {"a"}), lambda: held.update({"a"}, {"b"}), read, held.get, held.copy]
    right, wrong, *_ = crowd(STRESS, *jobs)
    assert held.examples == right + wrong == held.evaluators["all"].examples
    assert held.evaluators["all"].get("f1_micro") == pytest.approx(right / (right + wrong))
    read()
    assert len(held) == (right + wrong) // 3


@pytest.mark.filterwarnings("ignore:no label of y_true:streameval.DataWarning")
def test_many_threads_that_put_states_into_a_ledger_lose_none():
    held, states = se.Ledger(se.Evaluator()), [se.Evaluator() for _ in range(3)]
    sequences = [numbers(1) for _ in states]
    more = se.Ledger(se.Evaluator())
    more.put("more", 1, count(se.Evaluator(), FEEDS["decisions"]))

    def put(place: int) -> None:
        states[place].update({place}, {7})
        held.put(f"shard {place}", next(sequences[place]), states[place])

    def read() -> None:
        before = held.examples
        assert held.total().examples >= before
        held.get()

    jobs: list[Callable[[], object]] = [partial(put, place) for place in range(3)]
    jobs += [read, lambda: held.merge(more), lambda: se.Ledger.from_bytes(held.to_bytes()), lambda: held.copy().get()]
    ran = crowd(STRESS, *jobs)
    assert held.examples == sum(ran[:3]) + 3
    assert held.total() == sum(states) + more.total()
    assert se.Ledger.from_bytes(held.to_bytes()) == held


def test_a_checkpoint_saved_from_another_thread_is_of_one_moment(tmp_path: Path):
    with se.Checkpointer(se.Evaluator(), tmp_path / "state", every=10) as held:

        def work() -> None:
            held.evaluator.update({"a"}, {"b"})
            held.step()

        def save() -> None:
            outcome(held.save)  # `save` raises if the loop makes no step for long
            taken = se.load(held.path)
            assert taken.position == taken.evaluator.examples

        work()
        held.save()
        ran, *_ = crowd(STRESS, work, save, lambda: (repr(held), held.position, held.evaluator.get()))
        assert held.position == ran + 1
    taken = se.load(tmp_path / "state")
    assert taken.position == taken.evaluator.examples == ran + 1


@pytest.mark.parametrize("limit", [None, 100], ids=["one count", "two counts"])
def test_many_threads_that_share_a_collection_of_river_count_in_every_member(limit: int | None):
    held = river.MicroF1() + river.MacroRecall() + river.SubsetAccuracy(label_limit=limit)

    def there_and_back() -> None:
        held.update({0: True, 7: True}, {8: True}, 0.7)
        held.revert({0: True, 7: True}, {8: True}, 0.7)

    jobs = [
        lambda: held.update({0: True}, {0: True}),
        lambda: held.update({0: True}, {1: True}),
        there_and_back,
        lambda: (held.get(), repr(held)),
        lambda: copy.copy(held).get(),
    ]
    right, wrong, *_ = crowd(STRESS, *jobs)
    expected = se.Evaluator([])
    count_often(expected, ([{0}], [{0}]), right, {})
    count_often(expected, ([{0}], [{1}]), wrong, {})
    assert held.get() == [expected.get(name) for name in ("f1_micro", "recall_macro", "subset_accuracy")]


@pytest.mark.parametrize("delay", [None, 3])
def test_many_threads_that_go_through_one_loop_get_each_snapshot_once(delay: int | None):
    ev, steps = se.Evaluator(["f1_micro"]), list[int]()
    stream = ((x, {x % 3}) for x in numbers())
    snapshots = se.iter_progressive_evaluate(stream, model_of(FEEDS["decisions"]), ev, delay=delay)

    def go_on() -> None:
        steps.append(next(snapshots).step)

    ran = sum(crowd(STRESS, go_on, go_on, lambda: (ev.get(), ev.examples), lambda: copy.copy(ev).get())[:2])
    assert sorted(steps) == list(range(1, ran + 1))
    assert ev.examples == ran


@pytest.mark.parametrize("name", FEEDS)
@pytest.mark.parametrize("kind", [np.int64, np.uint8], ids=["int64", "uint8"])
def test_arrays_that_another_thread_changes_are_refused_or_counted(name: str, kind: type):
    """Each cell has its old or its new value; memory next to the array is never read."""
    feed = FEEDS[name]
    held, true = feed.evaluator(), np.zeros((200, 30), kind)
    pred = np.zeros((200, 30), float if feed.scored else kind)
    draw = np.random.default_rng(7)

    def flip() -> None:
        far = 2**62 if kind is np.int64 else 255
        true[draw.integers(200), :] = draw.choice([0, 1, 2, far])
        pred[draw.integers(200), :] = draw.choice([0, 1, 2, np.nan] if feed.scored else [0, 1, 2, far])
        true[:] = true == 1

    def read() -> None:
        outcome(lambda: held.update_many(true, pred))

    crowd(STRESS, flip, read, read, lambda: held.get())
    assert held.examples % 200 == 0
    assert set(held.labels) <= {*range(30)}
    assert type(held).from_bytes(held.to_bytes()) == held


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("title", COUNTING)
def test_a_handler_that_reads_and_counts_is_refused_or_counts(title: str):
    feed, holder = FEEDS["all, weighted" if title in ("Evaluator", "Rolling") else "decisions"], COUNTING[title]
    how = holder.how or {}
    held, single, batch = holder.started(feed), keywords(3, **how), repeated(5, how)
    known, counted, wrong = (TRUE, feed.pred(SCORED_BEFORE)), 0, list[Any]()

    def attempt(call: Callable[[], object]) -> int:
        try:
            call()
        except se.StreamevalError as error:
            if not refused(("", str(error))):
                wrong.append(error)
            return 0
        return 1

    def handler(*_: object) -> None:
        nonlocal counted
        counted += attempt(lambda: held.update(*known, **single))
        attempt(held.get)
        signal.setitimer(signal.ITIMER_REAL, again)

    again = 0.0003
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, again)
    try:
        own, end = 0, time.monotonic() + STRESS / 2
        while time.monotonic() < end:
            held.update(*known, **single)
            held.update_many([known[0]] * 5, [known[1]] * 5, **batch)
            repr((held.get(), held.to_bytes(), copy.copy(held)))
            own += 6
    finally:
        again = 0  # stops a handler that still runs after this
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not wrong
    expected = holder.started(feed)
    count_often(expected, ([known[0]], [known[1]]), own + counted, how)
    assert held.to_bytes() == expected.to_bytes()
