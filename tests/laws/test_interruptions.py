"""Atomicity: if an exception is raised anywhere in a call, the object is as before the call or as after it.

The cases share about 300 interruptions; `tests.support.effort` says how to try more.
"""

from __future__ import annotations

import random
import signal
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

import streameval as se
from tests.support.effort import BRIEF, cases, crossed
from tests.support.exploring import points, standing
from tests.support.interruptions import Interrupted, attempted, chosen, interrupted
from tests.support.kinds import EACH, KEEP, NAMES, SCORED, TRIALS

HITS = cases(300)
MANY = tuple(f"many-{number:02}" for number in range(12))
LABELS = (*"abcdxyz", "new", "newer", "newest", "later", *MANY, *(f"gone-{number}" for number in range(40)))

Scores = dict[str, float]


@dataclass(frozen=True)
class Mixture:
    """The configuration of an evaluator, and the form of its examples."""

    metrics: tuple[str, ...] = ("f1_macro", "hamming_loss")
    choices: dict[str, Any] = field(default_factory=dict)
    scored: bool = False
    weight: float = 1.0
    mask: bool = False

    def fresh(self) -> se.Evaluator:
        return se.Evaluator(list(self.metrics), **self.choices)

    def said(self, scores: Scores) -> Any:
        return scores if self.scored else {label for label, score in scores.items() if score >= 0.5}

    def options(self, *, mask: object = None, weight: float | None = None) -> dict[str, Any]:
        return {"weight": self.weight if weight is None else weight, "mask": mask if self.mask else None}

    def update(self, ev: se.Evaluator, true: Any, scores: Scores, **more: Any) -> None:
        ev.update(true, self.said(scores), **self.options(**more))

    def revert(self, ev: se.Evaluator, true: Any, scores: Scores, **more: Any) -> None:
        ev.revert(true, self.said(scores), **self.options(**more))

    def started(self) -> se.Evaluator:
        ev = self.fresh()
        for true, scores, mask in FIRST:
            self.update(ev, true, scores, mask=mask)
        return ev

    def other(self) -> se.Evaluator:
        ev = self.fresh()
        self.update(ev, {"new", "a"}, {"newer": 0.5, "a": 0.125, "b": 0.75}, weight=0.3)
        return ev

    def before_compaction(self) -> se.Evaluator:
        """An evaluator that drops its unused labels at the next revert."""
        ev = self.started()
        for verb in (ev.update, ev.revert):
            for start in range(0, 40, 4):
                names = [f"gone-{number}" for number in range(start, start + 4)]
                verb(set(names), self.said(dict.fromkeys(names[:2], 0.5)), **self.options())
        ev._core.until_compaction = 0
        return ev


FIRST: list[tuple[Any, Scores, Any]] = [
    ({"a"}, {"a": 0.5, "b": 0.75}, {"c"}),
    ({"b", "c"}, {"a": 0.25, "c": 0.25, "b": 0.25}, None),
    ({"a", "c"}, {}, {"a"}),
]
SCORING = {"scored": True, "mask": True}
RANKINGS, PROPENSITIES = TRIALS["rankings"].metrics, TRIALS["rankings"].arguments(LABELS)
ALL = {"keep": KEEP, "threshold": 0.5, **PROPENSITIES}

MIXTURES = {
    "decisions": Mixture(),
    "weighted decisions": Mixture(weight=0.3),
    "masks": Mixture(mask=True),
    "declared labels": Mixture(choices={"labels": ["c", "a"], "unknown": "add"}, weight=0.5, mask=True),
    "decisions of scores": Mixture(choices={"threshold": 0.5}, **SCORING),
    **{
        weighted + name: Mixture(
            trial.metrics, trial.arguments(LABELS), name in SCORED, 0.3 if weighted else 1.0, mask=not weighted
        )
        for name, trial in TRIALS.items()
        for weighted in ("", "weighted ")
    },
    "weighted rankings, the last of ties": Mixture(RANKINGS, {"ties": "last", **PROPENSITIES}, weight=0.3, **SCORING),
    "parts": Mixture(("f1_macro",), {"keep": NAMES, "threshold": 0.5}, **SCORING),
    "all states": Mixture((*EACH, "psp_at(k=2)", "f1_macro"), ALL, **SCORING),
    "all states, weighted": Mixture((*EACH, "psp_at(k=2)", "f1_macro"), ALL, weight=0.3, **SCORING),
}  # fmt: skip


def lists(many: Mixture, rows: int) -> tuple[list[Any], list[Any]]:
    true: list[Any] = [{"a", "x"}, {"y"}, {"b"}]
    pred = [many.said(scores) for scores in ({"a": 0.75}, {"z": 0.5, "b": 0.25}, {"y": 0.125})]
    return (true * rows)[:rows], (pred * rows)[:rows]


def with_dicts(m: Mixture, ev: se.Evaluator) -> None:
    pred = {"a": 0.25, "b": 0.75} if m.scored else {"a": False, "b": True}
    ev.update({"a": True, "b": False}, pred, **m.options())


def with_frames(m: Mixture, ev: se.Evaluator) -> None:
    scores = np.array([[0.25, 0.5], [0.75, 0.75]])
    ev.update_many(pd.DataFrame({"a": [1, 0], "x": [1, 1]}), scores if m.scored else (scores >= 0.5).astype(int))


def with_many_labels(m: Mixture) -> se.Evaluator:
    ev = m.started()
    ev.update_many([set(map(str, range(start, start + 20))) for start in range(0, 600, 20)], [set()] * 30)
    return ev


Run = Callable[[Mixture, se.Evaluator, se.Evaluator], object]

OPERATIONS: dict[str, tuple[Callable[[Mixture], se.Evaluator], Run]] = {
    "update": (Mixture.started, lambda m, ev, _: m.update(ev, {"a"}, {"a": 0.5, "b": 0.75}, mask={"b"})),
    "update with dicts": (Mixture.started, lambda m, ev, _: with_dicts(m, ev)),
    "update with new labels": (
        Mixture.started,
        lambda m, ev, _: m.update(ev, {"a", "new"}, {"newer": 1.5, "a": 0.5}, mask={"newest"}),
    ),
    "update that widens": (Mixture.started, lambda m, ev, _: m.update(ev, set(MANY), {"a": 0.5, MANY[3]: 0.5})),
    "update of another weight": (
        Mixture.started,
        lambda m, ev, _: m.update(ev, {"a"}, {"a": 0.5, "x": 0.5}, weight=0.1 if m.weight == 1.0 else 5e-324),
    ),
    "update that fails": (Mixture.started, lambda _m, ev, _: ev.update({"new"}, {"newer": 0.5, None: 0.5})),
    "revert": (Mixture.started, lambda m, ev, _: m.revert(ev, *FIRST[1][:2])),
    "revert with a mask": (Mixture.started, lambda m, ev, _: m.revert(ev, *FIRST[0][:2], mask=FIRST[0][2])),
    "revert that fails": (Mixture.started, lambda m, ev, _: m.revert(ev, {"c", "new"}, {"a": 0.5, "b": 0.125})),
    "revert that compacts": (Mixture.before_compaction, lambda m, ev, _: m.revert(ev, *FIRST[1][:2])),
    "update_many": (Mixture.started, lambda m, ev, _: ev.update_many(*lists(m, 7))),
    "update_many with known labels": (
        Mixture.started,
        lambda m, ev, _: ev.update_many([{"a"}, {"b"}] * 2, [m.said({"a": 0.5, "b": 0.5})] * 4),
    ),
    "update_many with generators and weights": (
        Mixture.started,
        lambda m, ev, _: ev.update_many(*map(iter, lists(m, 3)), weights=[0.1, 1.0, 1e300]),
    ),
    "update_many with frames": (Mixture.started, lambda m, ev, _: with_frames(m, ev)),
    "update_many with many labels": (
        with_many_labels,
        lambda _m, ev, _: ev.update_many([{"a", "x"}, {"7"}], [{"b"}, {"600"}]),
    ),
    "update_many that fails": (
        Mixture.started,
        lambda m, ev, _: ev.update_many([{"a", "x"}] * 3, [m.said({"a": 0.5}), m.said({"y": 0.5}), {2.5}]),
    ),
    "merge": (Mixture.started, lambda _, ev, other: ev.merge(other)),
    "merge with itself": (Mixture.started, lambda _m, ev, _: ev.merge(ev)),
    "reset": (Mixture.started, lambda _m, ev, _: ev.reset()),
    "reading": (Mixture.started, lambda _m, ev, _: (ev.get(), ev.labels, ev.weight, ev.examples, repr(ev))),
    "copying": (Mixture.started, lambda _, ev, other: (ev.copy(), ev.to_bytes(), ev + other, ev == other)),
}  # fmt: skip

ALONGSIDE = "update_many with many labels"
CASES = [
    (mixture, operation)
    for at, mixture in enumerate(MIXTURES)
    for number, operation in enumerate(OPERATIONS)
    # With less effort each operation is tried either with or without weights; with little effort, every third one.
    if operation != ALONGSIDE and (HITS >= 300 or (at + number) % (6 if BRIEF else 2) == 1)
]
CASES += [("decisions", ALONGSIDE), ("pairs", ALONGSIDE)]
SHARE = max(1, HITS // len(CASES))
TIMES = 1 if BRIEF else 2


# The first call after an interruption repairs the object; each of these calls must see it as before or as after.
TOUCHES: list[Callable[[Mixture, se.Evaluator], object]] = [
    lambda _, ev: repr(ev.get()),
    lambda _, ev: ev.to_bytes(),
    lambda _, ev: (ev.examples, ev.weight),
    lambda _, ev: ev.copy().to_bytes(),
    lambda m, ev: (m.fresh() + ev).to_bytes(),
    lambda _, ev: repr([ev.get(spec) for spec in ev.metrics]),
    lambda m, ev: [ev == one for one in (m.started(), m.other(), m.fresh())],
    lambda _, ev: (ev.labels, repr(ev)),
    lambda m, ev: (m.update(ev, *FIRST[0][:2]), m.revert(ev, *FIRST[0][:2]), ev.to_bytes())[-1],
    lambda m, ev: (ev.update_many(*lists(m, 4)), ev.to_bytes())[-1],
]


def go_on(m: Mixture, ev: se.Evaluator) -> bytes:
    """Make further calls of all kinds, and return the bytes after them."""
    m.update(ev, {"x", "new", "later"}, {"newer": 0.5, "a": 0.75}, weight=0.7)
    ev.update_many(*lists(m, 3))
    m.revert(ev, {"x", "new", "later"}, {"newer": 0.5, "a": 0.75}, weight=0.7)
    ev.merge(m.other())
    repr(ev.get())
    return ev.to_bytes()


def hits_at(hit: int) -> tuple[int, ...]:
    """The points to raise at: ``hit``, and for every second one a later point, possibly during the repair."""
    return (hit,) if hit % 2 else (hit, hit + 1 + hit // 2 % 60)


@pytest.mark.parametrize(("mixture", "operation"), CASES)
def test_an_exception_at_any_instruction_leaves_the_bytes_as_before_or_as_after(mixture: str, operation: str):
    m, (make, run) = MIXTURES[mixture], OPERATIONS[operation]
    argument = m.other().to_bytes()
    attempted(lambda: run(m, make(m), m.other()))  # points that only the first call passes must not count
    before = make(m).to_bytes()
    target, other = make(m), m.other()
    commits = list[int]()
    executed = interrupted(lambda: attempted(lambda: run(m, target, other)), -1, commits=commits)
    after = target.to_bytes()
    assert commits or after == before
    # Results of an object that was not interrupted are cached, because they do not vary.
    answers, later = dict[tuple[int, bytes], object](), go_on(m, se.Evaluator.from_bytes(after))
    hits = chosen(executed, SHARE, f"{mixture}, {operation}", commits)
    for number, hit in enumerate(hits):
        target, other = make(m), m.other()
        with pytest.raises(Interrupted):
            interrupted(lambda target=target, other=other: attempted(lambda: run(m, target, other)), *hits_at(hit))
        at = (number + hit) % len(TOUCHES)
        touch = TOUCHES[at]
        answer = touch(m, target)
        if touch is not TOUCHES[-1]:
            result = target.to_bytes()
            assert result in (before, after), f"torn at instruction {hit}"
            whole = se.Evaluator.from_bytes(result)
            if (at, result) not in answers:
                answers[at, result] = touch(m, whole)
            assert answer == answers[at, result], f"read in part after instruction {hit}"
            assert target == whole
            assert repr(target.get()) == repr(whole.get())
            if result == before:
                attempted(lambda target=target: run(m, target, m.other()))
                assert target.to_bytes() == after, f"cannot be repeated after instruction {hit}"
            assert go_on(m, target) == later
        else:
            assert answer in (touch(m, se.Evaluator.from_bytes(one)) for one in (before, after))
        assert other.to_bytes() == argument
        if operation == "merge":
            assert go_on(m, other) == go_on(m, se.Evaluator.from_bytes(argument))


# -- holders of evaluators --------------------------------------------------------------------------------------------


def began(window: Any) -> Any:
    """A window that has counted so many examples that the next one evicts an example."""
    for number in range(2):
        window.update({"a"}, {"b", "old"}, **({"t": number - 5} if window.timed else {}))
    return window


HOLDERS: dict[str, Callable[[], Any]] = {
    "Evaluator": se.Evaluator,
    "Rolling": lambda: began(se.Rolling(se.Evaluator(), size=2)),
    "Rolling, all states": lambda: began(se.Rolling(se.Evaluator(keep=["pairs"]), size=1)),
    "TimeRolling": lambda: began(se.TimeRolling(se.F1(), period=5)),
    "Tumbling": lambda: began(se.Tumbling(se.Evaluator(), size=2, history=1)),
    "Tumbling in time": lambda: began(se.Tumbling(se.F1(), period=2, history=1)),
    "Fading": lambda: began(se.Fading(se.Evaluator(), half_life=1)),
    "Fading in time": lambda: began(se.Fading(se.F1(), half_life=2.0)),
}


def waiting(evaluator: object) -> se.Pending:
    pending = se.Pending(evaluator, max_pending=3, max_age=10, no_prediction="count")
    for key, y_pred in enumerate([{"a"}, {"b", "c"}, {"c"}]):
        pending.predict(key, y_pred, t=key)
    return pending


def content_of(pending: se.Pending) -> tuple[object, ...]:
    return (
        pending.evaluator.examples,
        pending.evaluator.to_bytes(),
        pending.keys(),
        pending.without_prediction,
        pending.evicted,
    )


CALLS: dict[str, Callable[[se.Pending], object]] = {
    "predict": lambda pending: pending.predict(7, {"a", "new"}, t=3),
    "predict that gives up": lambda pending: pending.predict(7, {"a"}, t=11.5),
    "predict that fails": lambda pending: pending.predict(1, {"a"}, t=11.5),
    "observe": lambda pending: pending.observe(1, {"c", "new"}, weight=0.5, mask={"b"}, t=3),
    "observe plainly": lambda pending: pending.observe(1, {"c"}, t=3),
    "observe and give up": lambda pending: pending.observe(2, {"c"}, t=11.5),
    "observe what fails": lambda pending: pending.observe(2, {"c", None}, t=11.5),
    "observe what is late": lambda pending: pending.observe(9, {"c"}, t=11.5),
    "discard": lambda pending: pending.discard(1),
}


@pytest.mark.parametrize(("call", "holder"), [
    (call, holder)
    for at, call in enumerate(CALLS)
    for number, holder in enumerate(HOLDERS)
    if not BRIEF or holder == "Evaluator" or (at + number) % 2
])  # fmt: skip
def test_an_interrupted_pair_is_counted_or_stays_pending(call: str, holder: str):
    run, make = CALLS[call], HOLDERS[holder]
    attempted(lambda: run(waiting(make())))
    before = content_of(waiting(make()))
    pending = waiting(make())
    commits = list[int]()
    executed = interrupted(lambda: attempted(lambda: run(pending)), -1, commits=commits)
    after = content_of(pending)
    for hit in chosen(executed, (10 if holder == "Evaluator" else 3) * SHARE, call, commits):
        pending = waiting(make())
        with pytest.raises(Interrupted):
            interrupted(lambda pending=pending: attempted(lambda: run(pending)), *hits_at(hit))
        keys = pending.keys()
        result = content_of(pending)
        assert result in (before, after), f"torn at instruction {hit}"
        assert keys == result[2] == pending.copy().keys()
        if result == before:
            attempted(lambda pending=pending: run(pending))
            assert content_of(pending) == after


def traces(every: int, *, windows: bool = True) -> se.Trace:
    last = {"last": se.Rolling(se.Evaluator(["recall_micro"]), 2)} if windows else {}
    trace = se.Trace({"micro": se.F1(average="micro"), "all": se.Evaluator(["f1_macro"]), **last}, every=every)
    trace.update({"a"}, {"b"})
    return trace


def traced_windows() -> se.Trace:
    made = {name: make() for name, make in HOLDERS.items() if name != "Evaluator"}
    return se.Trace({"all": se.Evaluator(["f1_macro"]), **made}, every=1, metrics=["f1_macro"])


@pytest.mark.parametrize("fails", [False, True])
def test_the_windows_of_an_interrupted_trace_stay_together(fails: bool):
    def state(trace: se.Trace) -> tuple[object, ...]:
        return (trace.examples, repr(trace.columns()), *[one.to_bytes() for one in trace.evaluators.values()])

    def run(trace: se.Trace) -> None:
        attempted(lambda: trace.update({"a", "new"}, {"b", None if fails else "newer"}, t=1))

    run(traced_windows())
    before = state(traced_windows())
    trace = traced_windows()
    commits = list[int]()
    executed = interrupted(lambda: run(trace), -1, commits=commits)
    after = state(trace)
    assert (before == after) == fails
    for hit in chosen(executed, 20 * TIMES * SHARE, f"{fails}", commits):
        trace = traced_windows()
        with pytest.raises(Interrupted):
            interrupted(lambda trace=trace: run(trace), *hits_at(hit))
        result = state(trace)
        assert result in (before, after), f"torn at instruction {hit}"
        if result == before:
            run(trace)
            assert state(trace) == after


@pytest.mark.parametrize(("fails", "every", "many"), crossed([False, True], [1, 2], [0, 1, 4]))
def test_the_evaluators_of_an_interrupted_trace_stay_together(many: int, fails: bool, every: int):
    def state(trace: se.Trace) -> tuple[object, ...]:
        states = [one.to_bytes() for one in trace.evaluators.values()]
        return (trace.examples, repr(trace.columns()), len(trace), repr(trace.get()), *states)

    def run(trace: se.Trace) -> None:
        true, pred = {"a", "new"}, {"b", None if fails else "newer"}
        if many:
            attempted(lambda: trace.update_many([true] * many, [{"a"}] * (many - 1) + [pred], weights=[0.5] * many))
        else:
            attempted(lambda: trace.update(true, pred, weight=0.5))

    def made() -> se.Trace:
        return traces(every, windows=not many)

    run(made())
    before = state(made())
    trace = made()
    commits = list[int]()
    executed = interrupted(lambda: run(trace), -1, commits=commits)
    after = state(trace)
    for hit in chosen(executed, 10 * TIMES * SHARE, f"{fails} {every} {many}", commits):
        trace = made()
        with pytest.raises(Interrupted):
            interrupted(lambda trace=trace: run(trace), *hits_at(hit))
        result = state(trace)
        assert result in (before, after), f"torn at instruction {hit}"
        if result == before:
            run(trace)
            assert state(trace) == after
        trace.update({"a"}, {"a"})
        assert trace.examples == sum(result[:1]) + 1 + (many or 1) * (result == before and not fails)


def after_labels_left(window: Any) -> Any:
    """A window whose labels are mostly unused, so that the next example makes it drop them."""
    for number in range(63):
        window.update({f"gone-{number}"}, {"a"}, **({"t": number} if window.timed else {}))
    return window


def with_a(ev: Any) -> Any:
    ev.update({"a"}, {"a"}, **({"t": 1} if getattr(ev, "timed", False) else {}))
    return ev


def before_renewal() -> se.Evaluator:
    """An evaluator whose labels are mostly unused, so that the next revert makes it drop them."""
    ev, gone = se.Evaluator(), {f"gone-{number}" for number in range(65)}
    ev.update_many([{"a"}] * 40 + [gone], [{"a"}] * 41)
    ev.revert(gone, {"a"})
    ev._core.until_compaction = 0
    return ev


REPLACING: dict[str, tuple[Callable[[], Any], Callable[[Any], object], int]] = {
    "Evaluator": (before_renewal, lambda one: one.revert({"a"}, {"a"}), 0),
    "Rolling": (lambda: after_labels_left(se.Rolling(se.F1(), 30)), lambda one: one.update({"a"}, {"new"}), 0),
    "TimeRolling": (
        lambda: after_labels_left(se.TimeRolling(se.F1(), 30)), lambda one: one.update({"a"}, {"new"}, t=70), 70,
    ),
    "Tumbling": (
        lambda: with_a(se.Tumbling(se.F1(), period=9)),
        lambda one: one.merge(with_a(with_a(se.Tumbling(se.F1(), period=9)))),
        2,
    ),
}  # fmt: skip
"""Cases in which states are replaced: an object, a call that replaces its states, and the time of a later example."""


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="3.12 crashes where instructions of two threads are traced")
@pytest.mark.parametrize("title", REPLACING)
def test_an_example_of_another_thread_is_not_lost_if_a_call_that_replaces_states_is_interrupted(title: str):
    """The update looks up the states before they are replaced, and counts after the replacing call is interrupted."""
    make, replace, t = REPLACING[title]

    def count(one: Any) -> None:
        one.update({"a"}, {"a"}, **({"t": t} if t else {}))

    def cores(one: Any) -> list[Any]:
        return [part._core for part in one._counters()]

    def replaced_before(hit: int) -> bool:
        one = make()
        before = cores(one)
        with pytest.raises(Interrupted):
            interrupted(lambda: replace(one), hit)
        return cores(one) != before

    replace(make())
    made, other = make(), make()
    executed = interrupted(lambda: replace(other), -1)
    first = 1 + bisect_left(range(1, executed), True, key=replaced_before)
    assert 1 < first < executed
    places = [point._replace(visits=1) for point in points(lambda: count(made))][:80]  # these are on the fast path
    sequences = [[count], [count, replace], [replace, count]]
    right = {bytes_after(make(), calls) for calls in sequences}
    assert bytes_after(make(), [replace]) not in right, "an example that is lost would not show"
    for hit in range(first, min(first + (1 if BRIEF else 3), executed)):
        for place in places:
            one = make()
            with standing(lambda one=one: count(one), place):
                if one._guard.begin():  # otherwise the update holds the guard, and the replacing call would block
                    one._guard.__exit__(None, None, None)
                    with pytest.raises(Interrupted):
                        interrupted(lambda one=one: replace(one), hit)
            assert one.to_bytes() in right, f"lost at instruction {hit}, while the other call stood at {place}"


def bytes_after(one: Any, calls: list[Callable[[Any], object]]) -> bytes:
    for call in calls:
        call(one)
    return one.to_bytes()


# -- real signals, and exceptions from users' objects -----------------------------------------------------------------


@pytest.mark.parametrize("mixture", ["decisions", "weighted decisions", "all states", "all states, weighted"])
def test_signals_while_many_are_counted_leave_the_bytes_as_before_or_as_after(
    mixture: str, monkeypatch: pytest.MonkeyPatch
):
    m, draw = MIXTURES[mixture], random.Random(mixture)
    true, pred = lists(m, 400)
    weights = None if m.weight == 1.0 else np.full(400, 0.3)

    def handler(*_: object) -> None:
        raise Interrupted

    def run(ev: se.Evaluator, delay: float) -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            ev.update_many(true, pred, weights=weights)
            for _ in range(1000 if delay else 0):  # wait until the signal has come in any case
                time.sleep(0.001)  # pause() would wait for a second signal if the first has just come
        except Interrupted:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    # A handler may run in a callback of the garbage collector or of a weak reference, where no exception propagates.
    hook = sys.unraisablehook
    monkeypatch.setattr(sys, "unraisablehook", lambda it: None if it.exc_type is Interrupted else hook(it))
    ev = m.started()
    before = ev.to_bytes()
    run(ev, 0)
    after = ev.to_bytes()
    retained = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(SHARE * 10):
            ev = m.started()
            run(ev, draw.choice([1e-5, 1e-4, 1e-3, 1e-2]) * (1 + 9 * draw.random()))
            assert ev.to_bytes() in (before, after)
    finally:
        signal.signal(signal.SIGALRM, retained)


class Moody(Mapping):
    """A mapping that raises at a certain access."""

    patience = -1
    error: type[BaseException] = KeyboardInterrupt

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    def lose(self) -> None:
        Moody.patience -= 1
        if Moody.patience == 0:
            raise Moody.error

    def __getitem__(self, label: str) -> Any:
        self.lose()
        return self.held[label]

    def __iter__(self) -> Iterator[str]:
        for label in self.held:
            self.lose()
            yield label

    def __len__(self) -> int:
        self.lose()
        return len(self.held)


@pytest.mark.parametrize(
    ("error", "mixture", "verb"),
    crossed(
        [KeyboardInterrupt, MemoryError],
        ["decisions", "weighted decisions", "pairs", "all states, weighted"],
        ["update", "update_many", "revert"],
    ),
)
def test_a_mapping_that_raises_while_it_is_read_changes_nothing(mixture: str, verb: str, error: type[BaseException]):
    m = MIXTURES[mixture]
    scores = {"a": 0.75, "newer": 0.5} if m.scored else {"a": True, "newer": True}
    inputs = Moody({"a": True, "new": True}), Moody(scores)

    def run(ev: se.Evaluator) -> None:
        if verb == "update_many":
            ev.update_many([{"b", "newest"}, inputs[0]] * 2, [m.said({"b": 0.5}), inputs[1]] * 2)
        else:
            getattr(ev, verb)(*inputs, weight=m.weight)

    def made() -> se.Evaluator:
        ev = m.started()
        if verb == "revert":
            ev.update(*inputs, weight=m.weight)
        return ev

    ev = made()
    before = ev.to_bytes()
    run(ev)
    after, raised, patience = ev.to_bytes(), 0, 0
    Moody.error = error
    while raised == patience:
        patience += 1
        ev = made()
        Moody.patience = patience
        try:
            run(ev)
        except error:
            raised += 1
        finally:
            Moody.patience = -1
        assert ev.to_bytes() == (before if raised == patience else after)
    assert raised > 3
    assert go_on(m, ev) == go_on(m, se.Evaluator.from_bytes(after))


@pytest.mark.parametrize(
    ("error", "mixture"), crossed([KeyboardInterrupt, MemoryError, OSError, GeneratorExit], MIXTURES)
)
def test_an_iterable_that_raises_at_any_item_changes_nothing(mixture: str, error: type):
    m = MIXTURES[mixture]
    rows, started = lists(m, 7), m.started()
    before, labels = started.to_bytes(), started.labels

    def broken(values: list[Any], last: int) -> Iterator[Any]:
        yield from values[:last]
        raise error

    for last in range(7):
        for side in range(2):
            ev = started.copy()
            inputs: list[Any] = list(rows)
            inputs[side] = broken(rows[side], last)
            with pytest.raises(error):
                ev.update_many(*inputs)
            assert ev.to_bytes() == before
            assert ev.labels == labels
    assert go_on(m, ev) == go_on(m, se.Evaluator.from_bytes(before))


@pytest.mark.parametrize("mixture", MIXTURES)
def test_running_out_of_memory_changes_nothing(mixture: str, monkeypatch: pytest.MonkeyPatch):
    m = MIXTURES[mixture]
    true, pred = lists(m, 50)
    makers = ("zeros", "empty", "concatenate", "full", "array", "bincount", "arange", "stack")
    real = {name: getattr(np, name) for name in makers}
    calls = 0

    def scarce(name: str, last: int) -> Callable[..., Any]:
        def make(*inputs: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == last:
                raise MemoryError
            return real[name](*inputs, **named)

        return make

    started, last = m.started(), 0
    before, ev = started.to_bytes(), started.copy()
    ev.update_many(true, pred)
    after = ev.to_bytes()
    ended = False
    while not ended:
        last += 1
        calls = 0
        ev = started.copy()
        with monkeypatch.context() as patch:
            for name in makers:
                patch.setattr(np, name, scarce(name, last))
            try:
                ev.update_many(true, pred)
                ended = True
            except MemoryError:
                pass
        assert ev.to_bytes() in ((after,) if ended else (before, after))
    assert ended
    assert last > 1
    assert go_on(m, ev) == go_on(m, se.Evaluator.from_bytes(after))


def test_reverted_weights_of_dropped_labels_can_be_merged():
    m = MIXTURES["all states, weighted"]
    ev, plain = m.started(), m.started()
    example = {"later"}, {"later": 0.75}
    ev.update(*example, weight=0.25)
    ev.revert(*example, weight=0.25)
    assert (m.other() + ev).to_bytes() == (m.other() + plain).to_bytes()
