"""Any object may be used from any thread: two concurrent calls have the results that one after the other would have.

By default one place in half of the lines that may hold a guard, and in a fraction of the other lines, is tried with
other calls in turn; for kinds of state other than decisions, a fraction of the lines that decisions do not pass.
``STREAMEVAL_EFFORT=0.1`` tries all of these lines, and all lines of calls that only read. ``STREAMEVAL_EFFORT=1`` tries
every place, and then random kinds, objects and calls for a fixed time. `tests.support.exploring` implements this.
"""

from __future__ import annotations

import copy
import os
import pickle
import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.kernel.backend import BACKEND
from tests.laws.asked import (
    COUNTING,
    FEEDS,
    FULL,
    HOLDERS,
    SCORED_BEFORE,
    SECONDS,
    Feed,
    keywords,
    many,
    model_of,
)
from tests.support.effort import BRIEF, cases, crossed
from tests.support.exploring import (
    LONG,
    Call,
    Explorer,
    Point,
    forked,
    in_another_thread,
    in_thread,
    outcome,
    points,
    refused,
    short,
    standing,
    unguarded,
    waiting_place,
    waits,
    within,
)
from tests.support.kinds import EACH

OTHER_KINDS = ("Evaluator",) if BRIEF else ("Evaluator", "Rolling", "Fading in time")
"""Holders with which kinds other than decisions are tried, at places that decisions do not pass."""

FRACTIONS = {"decisions": 0.1 if BRIEF else 0.2, "all, weighted": 0.05}
"""The fraction of places to try with less than full effort; full effort treats all kinds alike."""


def explorers(feed: Feed, titles: Iterable[str]) -> dict[str, Explorer]:
    """An explorer for each holder of a kind of state; together they try each place once."""
    seen: set[Any] = set()
    return {
        title: Explorer(
            partial(HOLDERS[title].started, feed), HOLDERS[title].state, HOLDERS[title].calls(feed), seen, not FULL
        )
        for title in titles
    }


@cache
def of_decisions(title: str) -> Explorer:
    """An explorer for a holder of decisions; other kinds need not try the places that it passes."""
    return explorers(FEEDS["decisions"], [title])[title]


@pytest.mark.parametrize("name", FEEDS)
def test_two_concurrent_calls_have_the_results_of_sequential_calls(
    name: str, record_property: Callable[[str, object], None]
):
    feed, draw = FEEDS[name], random.Random(name)
    tried = explorers(feed, HOLDERS if FULL or name == "decisions" else OTHER_KINDS)
    if FULL:
        end = time.monotonic() + SECONDS / len(FEEDS)
        for explorer in tried.values() if name == "decisions" else ():
            explorer.try_each_place(draw)
        while time.monotonic() < end:
            draw.choice([*tried.values()]).try_any(draw)
    else:
        for title, explorer in tried.items():
            if name != "decisions":
                explorer.skip(of_decisions(title))
            explorer.try_each_place(
                draw,
                FRACTIONS.get(name, 0.15),
                guarding=(0.4 if BRIEF else 1.0) * (name == "decisions"),
                reading=name == "decisions" and not BRIEF,
            )
    points = sum(explorer.tried for explorer in tried.values())
    left = sum(explorer.size() - explorer.tried if FULL else explorer.left for explorer in tried.values())
    record_property("tried", f"{points} points, {left} left out")
    wrong = [f"{title}: {one}" for title, explorer in tried.items() for one in explorer.wrong]
    assert not wrong, f"{len(wrong)} of {points} points are wrong, such as\n" + "\n".join(
        draw.sample(wrong, min(len(wrong), 20))
    )


HELD = {
    "_pieces", "_contents", "compact", "_replace", "_current", "_counters", "_prepare", "prepare_merge", "merge",
    "_become", "_append", "_adopt", "_pass", "_history", "_recording", "_put", "_numbers", "_each", "_known", "_row",
    "_rows", "_due", "_completed", "_store", "_present", "_carry_over", "_commit", "_add_late", "_too_old",
    "_add_counted", "_prepare_add", "_grouped",
}  # fmt: skip
"""Methods that read or change the content of an object or its states, and whose callers must hold its guard."""


@pytest.mark.parametrize("title", [title for title in HOLDERS if not title.startswith("the progressive")])
def test_content_is_read_and_changed_while_the_guard_is_held(title: str):
    feed, holder = FEEDS["decisions"], HOLDERS[title]
    for name, call in holder.calls(feed).items():
        held = holder.started(feed)
        assert unguarded(lambda call=call, held=held: call(held), held, HELD) == [], name


# -- user code runs while no guard is held ----------------------------------------------------------------------------


class Slow(Mapping[int, Any]):
    """A mapping that runs a hook when it is read for the first time."""

    def __init__(self, cells: dict[int, Any], hook: Callable[[], object]) -> None:
        self.cells, self.hooks = cells, [hook]

    def __iter__(self) -> Iterator[int]:
        while self.hooks:
            self.hooks.pop()()
        return iter(self.cells)

    def __getitem__(self, label: int) -> Any:
        return self.cells[label]

    def __len__(self) -> int:
        return len(self.cells)


class Weights:
    """Weights that run a hook when they become an array for the first time."""

    def __init__(self, weights: list[float], hook: Callable[[], object]) -> None:
        self.weights, self.hooks = weights, [hook]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        while self.hooks:
            self.hooks.pop()()
        return np.array(self.weights, dtype)


def once(items: Iterable[Any], hook: Callable[[], object]) -> Iterator[Any]:
    """A generator that runs a hook between its first items."""
    first, *rest = items
    yield first
    hook()
    yield from rest


Reading = Callable[[Feed, Any, dict[str, Any], Callable[[], object]], object]
NO_HOOK: Callable[[], object] = int
READINGS: dict[str, Reading] = {
    "a mapping of truth": lambda feed, held, how, hook: held.update(
        Slow({0: True, 7: True}, hook), feed.pred(SCORED_BEFORE), **how
    ),
    "a mapping of predictions": lambda feed, held, how, hook: held.update(
        {0, 9}, Slow({0: 0.5, 8: 0.25} if feed.scored else {0: True, 8: False}, hook), weight=0.7, **how
    ),
    "a mask": lambda feed, held, how, hook: held.update(
        {0}, feed.pred(SCORED_BEFORE), mask=Slow({1: True, 7: True}, hook), **how
    ),
}
MANY_READINGS: dict[str, Reading] = {
    "a generator": lambda feed, held, how, hook: held.update_many(
        once([{0}, {7, 1}], hook), [feed.pred(SCORED_BEFORE), feed.pred({8: 0.5})], **how
    ),
    "a mapping among many": lambda feed, held, how, hook: held.update_many(
        [{0}, Slow({7: True, 1: False}, hook)], [feed.pred(SCORED_BEFORE)] * 2, **how
    ),
    "weights": lambda feed, held, how, hook: held.update_many(
        [{0}, {7}], [feed.pred(SCORED_BEFORE)] * 2, weights=Weights([0.5, 1.0], hook), **how
    ),
}


@pytest.mark.parametrize("name", FEEDS if FULL else ["decisions"])
@pytest.mark.parametrize("title", COUNTING)
def test_calls_by_user_code_on_the_object_that_reads_it_take_effect_first(title: str, name: str):
    feed, holder, draw = FEEDS[name], COUNTING[title], random.Random(title)
    calls, how = holder.calls(feed), holder.how or {}

    def both(read: Reading, arguments: dict[str, Any], call: Call, *, within: bool) -> Any:
        """The outcomes of both calls, with the hook's call within the reading call or before it."""
        held, results = holder.started(feed), []

        def hook() -> None:
            results.append(outcome(lambda: call(held)))

        if not within:
            hook()
        return outcome(lambda: read(feed, held, arguments, hook if within else int)), results, holder.state(held)

    wrong = []
    for what, read in (READINGS | MANY_READINGS).items():
        arguments = keywords(4, **how) if what in READINGS else many(2, **how)
        for name_of_call in draw.sample([*calls], min(cases(20), len(calls))):
            call = calls[name_of_call]
            got, right = (both(read, arguments, call, within=within) for within in (True, False))
            if got != right:
                wrong.append(f"{what} that runs {name_of_call}: {short(got)}, not {short(right)}")
    assert not wrong, f"{len(wrong)} are wrong:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("name", FEEDS)
def test_a_model_may_read_the_evaluator_of_its_loop(name: str):
    feed = FEEDS[name]

    def run(*, reads: bool) -> tuple[bytes, list[Any]]:
        ev, model, read = feed.evaluator(), model_of(feed), []
        learn = model.learn_one

        def learn_one(x: int, y: Any) -> None:
            if reads:
                read.append((ev.examples, repr(ev.get()), copy.copy(ev).to_bytes()))
            learn(x, y)

        model.learn_one = learn_one
        snapshots = se.iter_progressive_evaluate([(x, {x, 7}) for x in range(4)], model, ev)
        read.extend((snapshot.step, repr(ev.get()), ev.to_bytes()) for snapshot in snapshots)
        return ev.to_bytes(), read

    counted, read = run(reads=True)
    assert (counted, read[1::2]) == run(reads=False)
    assert read[::2] == read[1::2]


def test_a_key_that_changes_the_very_object_while_it_is_compared_is_counted_once():
    held = se.Pending(se.Evaluator(), no_prediction="count")
    hooks: list[Callable[[], object]] = [lambda: held.observe(2, {2})]

    class Key:
        def __hash__(self) -> int:
            while hooks:
                hooks.pop()()
            return 7

    for key in (1, 2):
        held.predict(key, {key})
    key = Key()
    held.predict(key, {7})
    assert (held.evaluator.examples, held.keys()) == (1, [1, key])
    hooks.append(lambda: held.predict(3, {3}))
    held.observe(key, {7})
    assert (held.evaluator.examples, held.keys()) == (2, [1, 3])
    hooks.append(lambda: held.observe(key, {7}))
    held.predict(key, {7})
    assert (held.evaluator.examples, held.without_prediction, held.keys()) == (2, 1, [1, 3, key])


# -- a thread that holds a guard --------------------------------------------------------------------------------------

GUARDED = ("update_many", "weighted update", "merge", "update", "predict", "put", "record", "reset")


@cache
def guarded(title: str, name: str = "decisions") -> tuple[str, Point]:
    """A call of an object, and a place within the call at which the same call from another thread blocks."""
    feed, holder = FEEDS[name], HOLDERS[title]
    calls = holder.calls(feed)
    known = "update_many" if title == "Evaluator" else ""  # does not block, because its labels have columns by then
    for act in (act for act in GUARDED if act in calls and act != known):
        if point := waiting_place(partial(holder.started, feed), calls[act], calls[act]):
            return act, point
    raise AssertionError(f"{title}: no call waits for another at any line")


WAITING = (
    "Evaluator",
    "Rolling",
    "Fading in time",
    "Sliced by two",
    "River's collection",
    "Pending",
    "Trace",
    "Ledger",
)


@pytest.mark.parametrize("title", WAITING[:-1])  # not ledgers: two ledgers that take in a third one both lock it
def test_copies_and_bytes_have_guards_of_their_own(title: str):
    (act, point), feed, holder = guarded(title), FEEDS["decisions"], HOLDERS[title]
    held = holder.started(feed)
    call = holder.calls(feed)[act]
    copies = [copy.copy(held), copy.deepcopy(held)]
    if hasattr(held, "to_bytes"):
        copies += [pickle.loads(pickle.dumps(held)), type(held).from_bytes(held.to_bytes())]
    before, later = [holder.state(one) for one in copies], list[Any]()
    with standing(lambda: call(held), point):
        waiting = [in_thread(lambda: call(held)), in_thread(lambda: later.append(copy.deepcopy(held)))]
        assert all(waits(thread, 5) for thread in waiting)
        for one in copies:
            assert not waits(in_thread(lambda one=one: call(one)), 5)
    for thread in waiting:
        thread.join(LONG)
    assert all(holder.state(one) != state for one, state in zip(copies, before, strict=True))
    with standing(lambda: call(held), point):
        assert not waits(in_thread(lambda: call(later[0])), 5)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals for threads")
@pytest.mark.parametrize("title", WAITING)
def test_a_wait_for_another_thread_can_be_interrupted(title: str):
    (act, point), feed, holder = guarded(title), FEEDS["decisions"], HOLDERS[title]
    call, held, reference = holder.calls(feed)[act], holder.started(feed), holder.started(feed)
    call(reference)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with standing(lambda: call(held), point):
            main = threading.main_thread().ident
            timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # it may come before the call
                timer.start()
                call(held)
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert holder.state(held) == holder.state(reference)
    outcome(lambda: call(held))
    outcome(lambda: call(reference))
    assert holder.state(held) == holder.state(reference)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("title", WAITING)
def test_the_child_of_a_fork_can_use_what_another_thread_was_changing(title: str):
    (act, point), feed, holder = guarded(title), FEEDS["decisions"], HOLDERS[title]
    call, held = holder.calls(feed)[act], holder.started(feed)
    sequences = []
    for times in (1, 2):
        reference = holder.started(feed)
        for _ in range(times):
            outcome(lambda reference=reference: call(reference))
        sequences.append(holder.state(reference))

    def child() -> bool:
        outcome(lambda: call(held))
        return holder.state(held) in sequences

    with standing(lambda: call(held), point):
        assert forked(child) == 0
    assert forked(child) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("file", ["logarithms", "views", "catalogue"])
def test_the_child_of_a_fork_can_read_what_another_thread_was_reading(file: str):
    """The other thread may have been in tables that all objects share, such as those of logarithms."""
    sizes = iter(range(64, 10**9, 7))

    def read() -> str:  # needs more ranks than any call before
        wide = se.Evaluator(["ndcg", "f1_macro", "mlcm_f1_macro"], threshold=0.5)
        wide.update({0}, {label: label * 0.5 for label in range(next(sizes))})
        return wide.report()

    read()
    places = [one._replace(visits=1) for one in points(read) if Path(one.code.co_filename).stem == file]
    for point in random.Random(file).sample(places, min(cases(60), len(places))):
        with standing(read, point):
            assert forked(read) == 0, f"at {point}"
    assert places


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("metric", ["f1_macro", *EACH])
def test_the_child_of_a_fork_has_whole_examples_of_another_thread_that_counts_and_reads(metric: str):
    """The batches are so large that the other thread runs while they are counted."""
    draw, held = np.random.default_rng(0), se.Evaluator([metric], threshold=0.5)
    true, scores = draw.random((1000, 30)) < 0.1, draw.random((1000, 30))
    sequence, going = [copy.copy(held)], True
    for _ in range(4):
        sequence.append(copy.copy(sequence[-1]))
        sequence[-1].update_many(true, scores)
    states = {one.to_bytes() for one in sequence}

    def count() -> None:
        while going:
            for _ in sequence[1:]:
                held.update_many(true, scores)
                held.get()
            held.reset()

    thread = in_thread(count)
    try:
        ends = []
        for _ in range(cases(60)):
            ends.append(forked(lambda: held.to_bytes() in states))
            time.sleep(draw.random() * 0.003)
        assert thread.is_alive()
    finally:
        going = False
        thread.join()
    assert {*ends} == {0}


@pytest.mark.parametrize(
    ("name", "title"),
    crossed(
        FEEDS if FULL else FRACTIONS,
        ["Evaluator", "Metric", "TimeRolling", "Fading in time", "Sliced by two", "Ledger"],
    ),
)
def test_two_objects_that_are_merged_into_each_other_never_wait_for_each_other(title: str, name: str):
    feed, holder = FEEDS[name], HOLDERS[title]
    change = holder.calls(feed)["put" if title == "Ledger" else "weighted update of new labels"]

    def made() -> tuple[Any, Any]:
        one, other = holder.started(feed), holder.started(feed)
        change(other)
        return one, other

    def after(first: str, second: str, third: str = "", fourth: str = "") -> tuple[bytes, bytes]:
        pair = dict(zip("ab", made(), strict=True)) | dict(zip("xy", made(), strict=True))
        for target, source in ((first, second), (third, fourth)):
            if target:
                pair[target].merge(pair[source])
        return pair["a"].to_bytes(), pair["b"].to_bytes()

    # Each object merges the other as it was at one moment: before or after its change, or both as before.
    a_first, b_first = after("a", "b", "b", "a"), after("b", "a", "a", "b")
    together, a_alone = after("a", "y", "b", "x"), after("a", "b")
    one, other = made()
    outcome(lambda: one.merge(other))
    one, other = made()
    passed = points(lambda: one.merge(other))
    # All kinds take guards in the same code, so most places are tried with decisions only.
    most = cases(100 if FULL or name == "decisions" else 25)
    for point in random.Random(f"{title} {name}").sample(passed, min(most, len(passed))):
        one, other = made()
        results = in_another_thread(lambda: one.merge(other), point._replace(visits=1), lambda: other.merge(one))  # noqa: B023
        assert results == (None, None), f"at {point}"
        left = one.to_bytes(), other.to_bytes()
        assert left in (a_first, b_first, together), f"at {point}"
        one, other = made()
        first, second = within(lambda: one.merge(other), point._replace(visits=1), lambda: other.merge(one))  # noqa: B023
        assert first is None
        left = one.to_bytes(), other.to_bytes()
        assert left in ([a_alone] if refused(second) else [a_first, b_first, together]), f"at {point}"


@pytest.mark.skipif(BACKEND == "numpy", reason="where no batch is counted in a call of its own")
@pytest.mark.parametrize("packed", [False, True])
def test_a_batch_is_counted_once_if_states_are_replaced_while_it_waits(packed: bool):
    rows: Any = np.ones((200, 3), np.uint8)
    if packed:
        rows = se.PackedRows(np.packbits(rows, axis=1), 3)
    ev = se.Evaluator(labels=["a", "b", "c"])
    for _ in range(30):
        ev.update([], [])
    before, counted = ev._core, []
    with ev._guard:
        thread = threading.Thread(target=lambda: counted.append(before.fast_count_many(rows, rows)), daemon=True)
        thread.start()
        assert waits(thread, 5)
        ev._replace(before.emptied())
    thread.join(LONG)
    assert counted == [False]
    thread = threading.Thread(target=lambda: counted.append(before.fast_count_many(rows, rows)), daemon=True)
    thread.start()
    thread.join(LONG)
    assert counted == [False, False]
    ev.update_many(rows, rows)
    assert ev.examples == 200
