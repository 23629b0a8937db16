"""The forms of input that an object remembers change together with its counts, or not at all.

String labels and columns without names are never mixed, even if a call that used one of them was refused, or another
thread resets the object or counts while one thread reads its input.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import streameval as se
from streameval.adapters import river
from tests.laws.asked import FULL, keywords, many
from tests.support.effort import cases, crossed
from tests.support.exploring import in_another_thread, outcome, points, short
from tests.support.interruptions import Interrupted, interrupted

CURVES: dict[str, Any] = {"keep": ["curves", "rankings"], "threshold": 0.5}
KINDS: dict[str, Callable[..., se.Evaluator]] = {
    "decisions": lambda **more: se.Evaluator(["f1_macro"], **more),
    "scores": lambda **more: se.Evaluator(["f1_macro"], **CURVES, **more),
}
Made = Callable[[Callable[..., se.Evaluator]], Any]
Call = Callable[[Any], Any]

# -- objects, calls that count, and calls that reset ------------------------------------------------------------------

BY = ["region", "half"]
HOLDERS: dict[str, tuple[Made, dict[str, bool]]] = {
    "Evaluator": (lambda kind: kind(), {}),
    "Rolling": (lambda kind: se.Rolling(kind(), 50), {}),
    "TimeRolling": (lambda kind: se.TimeRolling(kind(), 9.0), {"t": True}),
    "Fading": (lambda kind: se.Fading(kind(), 2), {}),
    "Tumbling": (lambda kind: se.Tumbling(kind(), period=9.0), {"t": True}),
    "Sliced": (lambda kind: se.Sliced(kind(), by=BY, cross=[BY]), {"where": True}),
    "Trace": (lambda kind: se.Trace({"one": kind(), "two": kind()}, every=50), {}),
}
STRINGS: dict[str, Callable[[Any, bool, dict[str, Any], dict[str, Any]], Any]] = {
    "update": lambda held, scored, one, _: held.update({"x"}, said("x", scored), **one),
    "weighted update": lambda held, scored, one, _: held.update({"x"}, said("x", scored), weight=0.5, **one),
    "update of new labels": lambda held, scored, one, _: held.update({"x", "new"}, said("x", scored), **one),
    "update_many": lambda held, scored, _, two: held.update_many([{"x"}] * 2, [said("x", scored)] * 2, **two),
    "update_many, weighted": lambda held, scored, _, two: held.update_many(
        iter([["x"]] * 2), [said("x", scored)] * 2, weights=[0.5, 1], **two
    ),
    "update_many of Arrow": lambda held, scored, _, two: held.update_many(
        pa.array([["x"]] * 2), [said("x", scored)] * 2 if scored else pa.array([["x"]] * 2), **two
    ),
}
ROWS: dict[str, Callable[[Any, bool, dict[str, Any], dict[str, Any]], Any]] = {
    "update": lambda held, scored, one, _: held.update(ROW, row(scored), **one),
    "weighted update": lambda held, scored, one, _: held.update(ROW, row(scored), weight=0.5, **one),
    "update of a row and a set": lambda held, scored, one, _: held.update(ROW, said(0, scored), weight=0.5, **one),
    "update_many": lambda held, scored, _, two: held.update_many(
        np.array([ROW] * 2), np.array([row(scored)] * 2), **two
    ),
    "update_many, weighted": lambda held, scored, _, two: held.update_many(
        np.array([ROW] * 2), np.array([row(scored)] * 2), weights=[0.5, 1], **two
    ),
    "update_many of CSR": lambda held, scored, _, two: held.update_many(
        csr_array(np.array([ROW] * 2)), np.array([row(scored)] * 2), **two
    ),
}
ROW = np.array([1, 0, 1])


def row(scored: bool) -> Any:
    return np.array([0.75, 0.25, 0.5]) if scored else np.array([1, 1, 0])


def said(label: Any, scored: bool) -> Any:
    return {label: 0.75} if scored else {label}


def evaluators(held: Any) -> list[Any]:
    return list(held.evaluators.values()) if isinstance(held, se.Trace) else [held]


def left(held: Any, how: dict[str, bool]) -> Any:
    """The visible state of an object, and the outcomes of further updates."""
    parts = [(one.to_bytes(), one.warnings) for one in evaluators(held)]
    scored = evaluators(held)[0].reads_scores
    return parts, [
        outcome(lambda call=call: call(held.copy(), scored, keywords(4, **how), {}))
        for call in (STRINGS["update"], STRINGS["weighted update"], ROWS["update"], ROWS["weighted update"])
    ]


HELD = [(title, kind) for title in HOLDERS for kind in KINDS if FULL or kind == "decisions" or title == "Evaluator"]


@pytest.mark.parametrize(("held", "forms"), crossed(HELD, ["strings", "rows"]))
def test_forms_of_input_stay_consistent_if_another_thread_resets_during_a_call(held: tuple[str, str], forms: str):
    title, kind = held
    (make, how), scored, draw = HOLDERS[title], kind == "scores", random.Random(f"{title} {kind} {forms}")
    mine, theirs = (STRINGS, ROWS) if forms == "strings" else (ROWS, STRINGS)
    one, two = keywords(3, **how), many(2, t=how.get("t", False), where=how.get("where", False))

    def started(size: int) -> Any:
        held = make(KINDS[kind])
        for _ in range(size):
            mine["update"](held, scored, keywords(0, **how), {})
        return held

    def reset(held: Any) -> None:
        for each in evaluators(held):
            each.reset()

    def count(held: Any) -> Any:
        return outcome(lambda: theirs["update"](held, scored, one, two))

    def reset_and_count(held: Any) -> Any:
        reset(held)
        return count(held)

    def wrong(name: str, size: int) -> Iterator[str]:
        def act(held: Any) -> Any:
            return outcome(lambda: mine[name](held, scored, one, two))

        allowed = []
        for calls in ((act, reset, count), (reset, act, count), (reset, count, act)):
            held = started(size)
            results = {call: call(held) for call in calls}
            allowed.append((results[act], results[count], left(held, how)))
        held = started(size)
        passed = [point._replace(visits=1) for point in points(lambda: act(held))]
        for point in draw.sample(passed, min(cases(10), len(passed))):
            held = started(size)
            with suppress(LookupError):  # the path of the call depends on earlier calls, so it may not pass the point
                results = in_another_thread(partial(act, held), point, partial(reset_and_count, held))
                if (*results, left(held, how)) not in allowed:
                    yield f"{name}, {size} before, at {point}: {short((*results, left(held, how)))}"

    # After 1 example the object still notes forms of input; after 25 it does not.
    faults = [one for name in mine for size in (1, 25) for one in wrong(name, size)]
    assert not faults, f"{len(faults)} are wrong:\n" + "\n".join(faults[:20])


@pytest.mark.parametrize("title", ["Rolling", "TimeRolling", "Tumbling", "Fading", "Sliced"])
def test_an_interrupted_call_counts_nameless_rows_and_remembers_their_form_or_neither(title: str):
    """The call has so many rows that a window evicts all earlier examples."""
    (make, how), rows = HOLDERS[title], np.array([ROW] * 60)
    after, more = keywords(99, **how), many(60, t=how.get("t", False), where=how.get("where", False))

    def act(hit: int) -> Any:
        held = make(KINDS["decisions"])
        with suppress(Interrupted):
            executed.append(interrupted(lambda: held.update_many(rows, rows, **more), hit))
        return held

    executed = list[int]()
    act(-1)  # runs code that only the first call runs
    act(-1)
    first = bisect_left(range(executed[-1]), True, key=lambda hit: act(hit).examples > 0)
    assert 0 < first < executed[-1]
    reach = cases(30)
    for hit in range(first - reach, first + reach):
        held = act(hit)
        size, strings = held.examples, outcome(lambda held=held: held.update({"x"}, {"x"}, **after))
        assert (strings is None) == (size == 0), f"at instruction {hit}"


# -- refused calls ----------------------------------------------------------------------------------------------------


def limited(**more: Any) -> se.Evaluator:
    return se.Evaluator(["f1_macro"], label_limit=1, **more)


def collection() -> river.MetricCollection:
    made = river.MicroF1() + river.MacroF1(label_limit=1)
    made.update({5: True}, {5: True})
    return made


def pending() -> se.Pending[Any]:
    held = se.Pending(counted(se.Trace({"one": se.Evaluator(), "two": se.Evaluator(label_limit=2)})))
    held.predict("strings", {"x"})
    held.predict("row", WIDE)
    held.predict("waits", {5})
    return held


def counted(held: Any, **how: Any) -> Any:
    held.update({5}, {5}, **how)
    return held


def merged(held: Any, make: Callable[[], Any], *examples: Any, **how: Any) -> None:
    other = make()
    for true, pred in examples:
        other.update(true, pred, **how)
    held.merge(other)


WIDE = np.array([1, 0])
WHERE = {"where": {"region": "a", "half": 1}}
THERE = {"where": {"region": ["a", "b"], "half": [1, 1]}}
STRING, UNNAMED = {"x": True, "y": True}, (WIDE, WIDE)
REFUSALS: dict[str, tuple[Callable[[], Any], dict[str, Call]]] = {
    "Evaluator": (
        lambda: counted(limited()),
        {
            "limit": lambda held: held.update({"x", "y"}, {"x"}),
            "limit, of many": lambda held: held.update_many([{"x"}, {"y"}], [{"x"}, {"y"}]),
            "limit, of Arrow": lambda held: held.update_many(pa.array([["x", "y"]]), pa.array([["x"]])),
            "limit, of a row": lambda held: held.update(*UNNAMED),
            "limit, of a merge": lambda held: merged(held, se.Evaluator, ({"x", "y"}, {"x"})),
            "revert of strings": lambda held: held.revert({"x"}, {"x"}),
            "revert of a row": lambda held: held.revert(*UNNAMED),
            "unmerge": lambda held: held.unmerge(counted(limited()) + counted(limited())),
            "no label": lambda held: held.update({"x"}, {"x", 2.5}),
            "no label, of many": lambda held: held.update_many([{"x"}, {2.5}], [{"x"}, {"y"}]),
            "lengths": lambda held: held.update_many([{"x"}], iter([{"x"}, {"y"}])),
            "weight": lambda held: held.update({"x"}, {"x"}, weight=-1),
        },
    ),
    "Evaluator, fresh": (
        limited,
        {
            "limit": lambda held: held.update({"x", "y"}, {"x"}),
            "limit, of a merge": lambda held: merged(held, lambda: se.Evaluator(["f1_macro"]), ({"x", "y"}, {"x"})),
            "limit, of a row": lambda held: held.update(*UNNAMED),
        },
    ),
    "Trace of two": (
        lambda: counted(se.Trace({"one": se.Evaluator(["f1_macro"]), "two": limited()}, every=3)),
        {
            "limit": lambda held: held.update({"x", "y"}, {"x"}),
            "limit, weighted": lambda held: held.update({"x", "y"}, {"x"}, weight=0.5),
            "limit, of many": lambda held: held.update_many([{"x"}] * 3, [{"x", "y"}] * 3),
            "limit, of a row": lambda held: held.update(*UNNAMED),
            "limit, of rows": lambda held: held.update_many(np.array([WIDE] * 3), np.array([WIDE] * 3)),
            "no label": lambda held: held.update({"x"}, {"x", 2.5}),
        },
    ),
    "Trace of windows": (
        lambda: counted(
            se.Trace({
                "one": se.Evaluator(["f1_macro"]), "two": se.Rolling(se.Evaluator(["f1_macro"]), 2),
                "three": se.Fading(se.Evaluator(["f1_macro"]), 2), "four": se.Tumbling(limited(), size=3),
            })
        ),
        {
            "limit": lambda held: held.update({"x", "y"}, {"x"}),
            "limit, of a row": lambda held: held.update(*UNNAMED),
        },
    ),
    "Trace of windows in time": (
        lambda: counted(
            se.Trace({
                "one": se.Evaluator(["f1_macro"]), "two": se.TimeRolling(se.Evaluator(["f1_macro"]), 2.0),
                "three": se.Fading(se.Evaluator(["f1_macro"]), 2.0),
            }), t=9.0,
        ),
        {
            "time": lambda held: held.update({"x"}, {"x"}, t=8.0),
            "weight": lambda held: held.update({"x"}, {"x"}, t=9.9, weight=1.7e308),
            "weight of a row": lambda held: held.update(*UNNAMED, t=9.9, weight=1.7e308),
        },
    ),
    "Sliced": (
        lambda: counted(se.Sliced(limited(), by=BY, cross=[BY]), where={"region": "b", "half": 1}),
        {
            "limit": lambda held: held.update({"x"}, {"x"}, **WHERE),
            "limit, of a row": lambda held: held.update(WIDE[:1], WIDE[:1], **WHERE),
            "limit, of many": lambda held: held.update_many([{"x"}] * 2, [{"x"}] * 2, **THERE),
            "limit, of rows": lambda held: held.update_many(np.array([WIDE] * 2), np.array([WIDE] * 2), **THERE),
            "limit, of a merge": lambda held: merged(
                held, lambda: se.Sliced(limited(), by=BY, cross=[BY]), ({"x"}, {"x"}), **WHERE
            ),
            "revert": lambda held: held.revert({"x"}, {"x"}, **WHERE),
        },
    ),
    "Rolling": (
        lambda: counted(se.Rolling(limited(), 9)),
        {
            "limit": lambda held: held.update({"x", "y"}, {"x"}),
            "limit, of a row": lambda held: held.update(*UNNAMED),
            "limit, of many": lambda held: held.update_many([{"x"}, {"y"}], [{"x"}, {"y"}]),
            "limit, of rows": lambda held: held.update_many(np.array([WIDE]), np.array([WIDE])),
        },
    ),
    "TimeRolling": (
        lambda: counted(se.TimeRolling(se.Evaluator(["f1_macro"]), 2.0), t=9.0),
        {
            "time": lambda held: held.update({"x"}, {"x"}, t=8.0),
            "time of a row": lambda held: held.update(*UNNAMED, t=8.0),
            "times": lambda held: held.update_many([{"x"}], [{"x"}], times=[8.0]),
            "times of rows": lambda held: held.update_many(np.array([WIDE]), np.array([WIDE]), times=[8.0]),
        },
    ),
    "Tumbling": (
        lambda: counted(se.Tumbling(se.Evaluator(["f1_macro"]), period=1.0, history=1), t=9.0),
        {
            "late": lambda held: held.update({"x"}, {"x"}, t=2.0),
            "late, of a row": lambda held: held.update(*UNNAMED, t=2.0),
            "late, of many": lambda held: held.update_many([{"x"}], [{"x"}], times=[2.0]),
            "late, of rows": lambda held: held.update_many(np.array([WIDE]), np.array([WIDE]), times=[2.0]),
        },
    ),
    "Fading": (
        lambda: counted(se.Fading(se.Evaluator(["f1_macro"]), 2.0), t=9.0),
        {
            "weight": lambda held: held.update({"x"}, {"x"}, t=9.9, weight=1.7e308),
            "weight of a row": lambda held: held.update(*UNNAMED, t=9.9, weight=1.7e308),
            "weights": lambda held: held.update_many([{"x"}], [{"x"}], times=[9.9], weights=[1.7e308]),
            "weights of rows": lambda held: held.update_many(
                np.array([WIDE]), np.array([WIDE]), times=[9.9], weights=[1.7e308]
            ),
        },
    ),
    "Pending": (
        pending,
        {
            "limit": lambda held: held.observe("strings", {"x", "y"}),
            "limit, of a row": lambda held: held.observe("row", WIDE),
            "limit, weighted": lambda held: held.observe("strings", {"x", "y"}, weight=0.5),
            "key": lambda held: held.observe("none", {"x"}),
            "key that waits": lambda held: held.predict("waits", {"x"}),
            "key that waits, of a row": lambda held: held.predict("waits", WIDE),
            "key that cannot be": lambda held: held.predict([], {"x"}),
            "no label": lambda held: held.predict("more", {"x", 2.5}),
        },
    ),
    "River's collection": (
        collection,
        {
            "limit": lambda held: held.update(STRING, STRING),
            "limit, weighted": lambda held: held.update(STRING, STRING, 0.5),
            "revert": lambda held: held.revert({"x": True}, {"x": True}),
        },
    ),
}  # fmt: skip


def seen(held: Any) -> Any:
    """The content of an object as far as it can be read."""
    if isinstance(held, river.MetricCollection):
        return held.get(), [(one.snapshot().to_bytes(), one.snapshot().warnings) for one in held.data]
    parts = [held, *getattr(held, "evaluators", {}).values(), *([held.evaluator] if hasattr(held, "evaluator") else [])]
    return [(outcome(one.to_bytes), getattr(one, "warnings", ()), repr(one)) for one in parts]


def next_calls(held: Any) -> dict[str, Call]:
    """Calls that may follow a refused call."""
    if isinstance(held, se.Pending):
        return {
            "strings": lambda held: (held.predict(7, {"x"}), held.observe(7, {"x"})),
            "rows": lambda held: (held.predict(7, ROW[:1]), held.observe(7, ROW[:1])),
            "labels": lambda held: held.observe("waits", {5}),
        }
    if isinstance(held, river.MetricCollection):
        return {
            "strings": lambda held: held.update({"x": True}, {"x": True}),
            "labels": lambda held: held.update({5: True}, {5: True}),
        }
    how: dict[str, Any] = {"where": {"region": "c", "half": 1}} if isinstance(held, se.Sliced) else {}
    if any(getattr(one, "timed", False) for one in (held, *getattr(held, "evaluators", {}).values())):
        how["t"] = 9.0
    made: dict[str, Call] = {
        "strings": lambda held: held.update({"x"}, {"x"}, **how),
        "rows": lambda held: held.update(ROW[:1], ROW[:1], **how),
        "wide rows": lambda held: held.update(ROW, ROW, **how),
        "labels": lambda held: held.update({5}, {5}, **how),
        "weighted strings": lambda held: held.update({"x"}, {"x"}, weight=0.5, **how),
    }
    return made


@pytest.mark.parametrize("title", REFUSALS)
def test_a_refused_call_does_not_affect_later_calls(title: str):
    make, refusals = REFUSALS[title]
    wrong = []
    for name, call in refusals.items():
        for following, next_call in next_calls(make()).items():
            held, untouched = make(), make()

            def after(held: Any, next_call: Call = next_call) -> Any:
                return outcome(lambda: next_call(held)), seen(held)

            refused = outcome(lambda held=held, call=call: call(held))
            assert type(refused) is tuple, f"{name} is not refused"
            got, right = (seen(held), after(held)), (seen(untouched), after(untouched))
            if got != right:
                wrong.append(f"{name}, then {following}: {short(got)}, not {short(right)}")
    assert not wrong, f"{len(wrong)} are wrong:\n" + "\n".join(wrong)
