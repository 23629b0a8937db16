"""Waiting predictions and written rows survive a restart; what cannot be saved is refused in time."""

from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from river import metrics

import streameval as se
from streameval.adapters.river import MicroF1
from streameval.kernel.backend import commit
from tests.support.each import with_each
from tests.support.naming import case_name

START = dt.datetime(2024, 2, 28, 23)
ZONE = dt.timezone(dt.timedelta(hours=2))


def pending(**options: Any) -> se.Pending:
    return se.Pending(se.Evaluator(["f1_micro"], labels=["a", "b", 7]), **options)


class Own(se.Evaluator):
    """An evaluator with an ``update`` of its own, which a holder cannot commit in one step together with its rows."""

    def update(self, *example: Any, **how: Any) -> None:
        super().update(*example, **how)


@pytest.mark.parametrize(
    "make",
    [
        lambda: se.Pending(metrics.multioutput.ExactMatch()),
        lambda: se.Pending(se.Sliced(se.F1(), by="region")),
        lambda: se.Pending(Own()),
        lambda: se.Pending(pending()),
        lambda: se.Trace({"ours": se.F1(), "theirs": metrics.multioutput.ExactMatch()}),
        lambda: se.Trace({"ours": se.F1(), "rows": se.Trace(se.F1())}),
    ],
)
def test_evaluators_that_cannot_be_counted_in_one_step_are_refused_when_they_are_passed(make: Callable[[], Any]):
    with pytest.raises(se.InputError, match=r"must (be one of an Evaluator, a metric object, a window|have update)"):
        make()


class Constant:
    """A model that predicts the same for each example."""

    def predict_one(self, x: dict[str, Any]) -> set[str]:
        return {"a"}


def test_times_of_the_hour_that_comes_twice_in_autumn_are_compared_as_moments():
    berlin = ZoneInfo("Europe/Berlin")
    first = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    later = dt.datetime(2024, 10, 27, 2, 10, fold=1, tzinfo=berlin)  # 40 minutes later
    latest = dt.datetime(2024, 10, 27, 3, 5, tzinfo=berlin)  # 95 minutes later
    trace, waits = se.Trace(se.F1(), every=1), pending(max_age=dt.timedelta(minutes=60))
    for place, t in enumerate((first, later)):
        trace.update({"a"}, {"a"}, t=t)
        waits.predict(place, {"a"}, t=t)
    for made in (trace, waits):
        assert type(made).from_bytes(made.to_bytes()) == made
    waits.predict(2, {"a"}, t=latest)
    assert waits.keys() == [1, 2]
    with pytest.raises(se.InputError, match="goes backwards"):
        trace.update({"a"}, {"a"}, t=first)
    stream = [({"t": t}, {"a"}) for t in (first, later, latest)]
    for delay, due in ((None, (30, 70, 125)), (dt.timedelta(minutes=45), (75, 115, 170))):
        window = se.TimeRolling(se.F1(), dt.timedelta(minutes=60))
        options: dict[str, Any] = {"time": "t", "delay": delay, "learn": False}
        snapshots = se.iter_progressive_evaluate(stream, Constant(), window, **options)
        midnight = dt.datetime(2024, 10, 27, tzinfo=dt.UTC)
        assert [one.time - midnight for one in snapshots] == [dt.timedelta(minutes=minutes) for minutes in due]
        assert window.examples == 2


def test_a_pending_that_cannot_be_saved_is_equal_to_itself_only():
    made = pending()
    made.predict(1.5, {"a"})
    assert made == made
    assert made != copy.copy(made)  # nothing says whether they are equal
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(made, protocol)
        assert pickle.loads(data).keys() == [1.5]
        assert b"kernel" not in data  # so that either kernel can read what the other one wrote


WRONG: dict[str, tuple[str, Callable[[Any], None]]] = {
    "key": ("key 1.5, of type float", lambda one: one.predict(1.5, {"a"}, t=1)),
    "key in a tuple": ("key .*frozenset", lambda one: one.predict(("a", frozenset()), {"a"}, t=1)),
    "key of no Unicode": ("key .*ud800", lambda one: one.predict("\ud800", {"a"}, t=1)),
    "tuples too deep": ("key .*tuple", lambda one: one.predict(((((((((((1,),),),),),),),),),), {"a"}, t=1)),
    "score": ("value .*longdouble", lambda one: one.predict(1, {"a": np.longdouble(1)}, t=1)),
    "array": (", a ndarray", lambda one: one.predict(1, np.array([1, 0, 1], np.longdouble), t=1)),
    "time": ("t .*Decimal", lambda one: one.predict(1, {"a"}, t=Decimal(1))),
    "time of a truth": ("t .*Decimal", lambda one: one.observe(0, {"a"}, t=Decimal(1))),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_saved_is_refused_by_save_and_at_once_under_a_checkpointer(what: str, tmp_path: Path):
    message, attempt = WRONG[what]
    made = pending()
    made.predict(0, {"a"}, t=0)
    attempt(made)
    with pytest.raises(se.InputError, match=f"{message}.*cannot be saved"):
        made.save(tmp_path / "other")
    with se.Checkpointer(pending(), tmp_path / "state") as saved:
        saved.evaluator.predict(0, {"a"}, t=0)
        before = saved.evaluator.to_bytes()
        with pytest.raises(se.InputError, match=f"{message}.*cannot be saved"):
            attempt(saved.evaluator)
        assert saved.evaluator.to_bytes() == before
        saved.step()
    assert se.load(tmp_path / "state").evaluator.keys() == [0]
    with se.Checkpointer(se.Pending(se.Trace(se.F1())), tmp_path / "trace") as saved:
        with pytest.raises(se.InputError, match=r"t .*cannot be saved"):
            saved.evaluator.evaluator.update({"a"}, {"a"}, t=Decimal(1))
        assert saved.evaluator.evaluator.examples == 0


class CrashError(Exception):
    """Raised in place of whatever ends a process."""


def test_predictions_rows_and_evaluators_of_the_user_are_restored_after_every_crash(tmp_path: Path):
    items = [({"a", str(place % 3)}, {"a", str(place % 2)}) for place in range(12)]

    def made() -> tuple[se.Evaluator, se.Rolling, se.Pending]:
        ev, window = se.Evaluator(["f1_micro"]), se.Rolling(se.F1(), 3)
        return ev, window, se.Pending(se.Trace({"all": ev, "last": window}, every=2), max_pending=5)

    def count(waits: se.Pending, place: int) -> None:
        waits.predict(place, items[place][1], t=place)
        if place > 2:
            waits.observe(place - 3, items[place - 3][0], t=place)

    once = made()
    for place in range(12):
        count(once[2], place)
    for crash in (0, 1, 5, 6, 11, 12):
        ev, window, waits = made()
        try:
            with se.Checkpointer(waits, tmp_path / "state", every=2) as saved:
                for place in saved.remaining(range(12)):
                    if place == crash:
                        raise CrashError  # noqa: TRY301
                    count(waits, place)
        except CrashError:
            pass
    assert (ev, window, waits) == once
    assert waits.evaluator.evaluators["all"] is ev
    assert waits.evaluator.columns() == once[2].evaluator.columns()
    assert waits.keys() == [9, 10, 11]


@pytest.mark.parametrize(("other", "message"), [
    (lambda: pending(max_pending=3), r"max_pending differs \(1000000 and 3\)"),
    (lambda: pending(max_age=3), "max_age differs"), (lambda: pending(no_prediction="count"), "no_prediction differs"),
    (lambda: se.Pending(se.Evaluator(["f1_macro"])), "metrics differ|labels differ"),
    (lambda: se.Pending(se.F1()), "F1 and Evaluator differ|Evaluator and F1 differ"),
    (lambda: se.Trace(se.F1()), "Pending and Trace differ|Trace and Pending differ"),
])  # fmt: skip
def test_a_file_of_another_configuration_is_refused(other: Callable[[], Any], message: str, tmp_path: Path):
    se.Checkpoint(other(), 3).save(tmp_path / "state")
    with pytest.raises(se.MergeError, match=message):
        se.Checkpointer(pending(), tmp_path / "state")


def test_a_checkpointer_refuses_a_pending_or_trace_that_is_not_empty_and_a_ledger_refuses_any(tmp_path: Path):
    waits = pending()
    waits.predict(1, {"a"})
    trace = se.Trace(se.F1())
    trace.update({"a"}, {"a"})
    for started in (waits, trace):
        with pytest.raises(se.InputError, match="has counted already"):
            se.Checkpointer(started, tmp_path / "state")
        with pytest.raises(se.InputError, match=r"window.*not (Pending|Trace)"):
            se.Ledger(started)


LABELS = [
    {"a", 7}, frozenset("ab"), {np.str_("a"), np.int64(7)}, ["b", "a"], ("a",), [np.int8(7)], {"a": True, "b": False},
    {"a": 1, "b": np.int8(1)}, np.array([True, False, True]), np.array(["a", "b"]), np.array(["a", 7], object),
    pd.Series({"a": 1, 7: 0}), {}, set(), [],
]  # fmt: skip
SCORES = [
    {"a": {False: 0.7, True: 0.3}}, {"a": np.array(0.3)}, [{"label": "a", "score": 0.3}], [["a", np.array(0.3)]],
    np.array([[0.3, 0.5, 1]]).view(np.matrix), {"a": 0.1 + 0.2, "b": -0.0}, {"a": math.nan, "b": 5e-324},
    {"a": np.float32(0.3), "b": 1, 7: np.uint8(3)},
    *(np.array([0.3, 0.5, 1], kind) for kind in ("f2", "f4", "f8", ">f8")), pd.Series({"a": 0.3, 7: 0.1}), {},
]  # fmt: skip


@pytest.mark.parametrize("scored", [False, True])
def test_predictions_of_every_form_are_counted_after_a_restart_as_before(scored: bool):
    keep: dict[str, Any] = {"keep": ["rankings", "curves"], "nan": "missing"} if scored else {}
    waits = se.Pending(se.Evaluator([], labels=["a", "b", 7], **keep))
    for key, form in enumerate(SCORES if scored else LABELS):
        waits.predict(key, form)
    twin = se.Pending.from_bytes(waits.to_bytes())
    assert twin == waits
    for key in range(len(waits)):
        waits.observe(key, {"a"}, weight=key + 1)
        twin.observe(key, {"a"}, weight=key + 1)
        assert twin.evaluator == waits.evaluator, key


@pytest.mark.parametrize(("score", "key", "wrap"), [
    (np.array(0.9), (), lambda one: {"a": one}), (np.array(0.9), (), lambda one: [["a", one]]),
    ({False: 0.1, True: 0.9}, True, lambda one: {"a": one}), ({"label": "a", "score": 0.9}, "score", lambda one: [one]),
])  # fmt: skip
def test_a_score_that_is_changed_after_its_prediction_is_counted_as_it_was(score: Any, key: Any, wrap: Any):
    waits = se.Pending(se.Evaluator(["f1_micro"], threshold=0.5))
    waits.predict(1, wrap(score))
    score[key] = 0.1
    waits.observe(1, {"a"})
    assert waits.evaluator.get() == {"f1_micro": 1.0}


@pytest.mark.parametrize(("t", "back"), [
    (3, 3), (2.5, 2.5), (np.int64(3), 3), (START, START), (START.date(), START.date()), (pd.Timestamp(START), START),
    (START.replace(tzinfo=ZONE), START.replace(hour=21, tzinfo=dt.UTC)),
    (np.datetime64(START), START), (np.datetime64(START, "ns"), START),
    (np.datetime64("2024-02-28"), dt.datetime(2024, 2, 28)),
], ids=case_name)  # fmt: skip
def test_times_are_read_back_as_they_were_or_in_utc_if_they_have_a_zone(t: Any, back: Any):
    trace = se.Trace(se.F1(), every=1)
    trace.update({"a"}, {"a"}, t=t)
    read = se.Trace.from_bytes(trace.to_bytes())
    assert [read.columns()["time"], type(read.columns()["time"][0])] == [[back], type(back)]
    assert str(read.columns()["time"][0]) == str(back)
    read.update({"a"}, {"a"}, t=t)
    waits = pending(max_age=t - t)
    waits.predict(1, {"a"}, t=t)
    read_back = se.Pending.from_bytes(waits.to_bytes())
    read_back.observe(1, {"a"}, t=t)
    assert read_back.evaluator.examples == 1


def test_restored_predictions_share_their_labels_and_copies_of_equal_content_are_equal():
    waits = se.Pending(se.Evaluator(threshold=0.5))
    for key in range(100):
        waits.predict(key, {f"label {place}": key / 100 for place in range(50)})
    data = waits.to_bytes()
    assert len(data) < 100 * (50 * 8 + 20)
    read = se.Pending.from_bytes(data)
    assert len({id(row.labels) for row, _ in read._waiting.values()}) == 1
    assert waits == read == copy.copy(waits) == copy.deepcopy(waits) == pickle.loads(pickle.dumps(waits))
    read.discard(99)
    assert waits != read


def waiting(change: Callable[[Any], None], **options: Any) -> bytes:
    made = pending(**options)
    for key in range(3):
        made.predict(key, {"a"}, t=key)
    change(made)
    return made.to_bytes()


def cell(made: Any, place: int, value: object) -> None:
    status = list(made._cell.value)
    status[place] = value
    made._cell = commit.Root().cell(tuple(status))


def traced(change: Callable[[Any], None]) -> bytes:
    made = se.Trace({"one": se.F1()}, every=2)
    for place in range(5):
        made.update({"a"}, {"a"}, t=place)
    made.record()
    change(made)
    made._store(len(made._written))
    return made.to_bytes()


CONTRADICTIONS = {
    "a time that goes backwards": lambda: waiting(lambda one: one._waiting.move_to_end(0)),
    "a prediction after the end": lambda: waiting(lambda one: cell(one, 0, 1)),
    "predictions with times, none for all": lambda: waiting(lambda one: cell(one, 0, None)),
    "a time that is none": lambda: waiting(lambda one: cell(one, 0, "later")),
    "more than can wait": lambda: waiting(lambda one: setattr(one, "_max_pending", 2)),
    "no prediction may wait": lambda: waiting(lambda one: setattr(one, "_max_pending", 0)),
    "a prediction that is too old": lambda: waiting(lambda one: setattr(one, "_max_age", 1)),
    "an age that is none": lambda: waiting(lambda one: setattr(one, "_max_age", "1")),
    "late where it is an error": lambda: waiting(lambda one: cell(one, 1, 3)),
    "dropped without a bound": lambda: waiting(lambda one: cell(one, 2, 3), max_pending=None),
    "old without a bound": lambda: waiting(lambda one: cell(one, 3, 3)),
    "a row twice": lambda: traced(lambda one: one._written.append(one._written[-1])),
    "a row that lacks": lambda: traced(lambda one: one._written.pop(0)),
    "a row after the end": lambda: traced(lambda one: one._written.append((7, 5, {}))),
    "a row of another time": lambda: traced(lambda one: one._written.append((5, 9, {}))),
    "rows of times that go back": lambda: traced(lambda one: one._written.insert(0, (2, 9, one._written.pop(0)[2]))),
    "a column of nothing": lambda: traced(lambda one: one._written[0][2].update({("f1", "two", None): 1.0})),
    "a column that is none": lambda: traced(lambda one: one._written[0][2].update({"f1": 1.0})),
    "a value that is none": lambda: traced(lambda one: one._written[0][2].update({("f1_macro", "one", None): True})),
    "metrics that are none": lambda: traced(lambda one: setattr(one, "_metrics", 5)),
    "a metric of nobody": lambda: traced(lambda one: setattr(one, "_metrics", ("f9_micro",))),
    "metrics twice": lambda: traced(lambda one: setattr(one, "_metrics", ("f1_macro", "f1"))),
}


@with_each("what", CONTRADICTIONS)
def test_bytes_that_no_stream_can_lead_to_are_refused(what: str):
    kind: Any = se.Trace if "trace" in CONTRADICTIONS[what].__code__.co_names[0] else se.Pending
    kind.from_bytes(traced(lambda _: None) if kind is se.Trace else waiting(lambda _: None))
    data = CONTRADICTIONS[what]()
    with pytest.raises(se.FormatError, match="damaged"):
        kind.from_bytes(data)


@pytest.mark.parametrize("holder", [se.Trace, se.Pending])
def test_a_metric_for_river_is_refused_with_what_to_write(holder: Any):
    with pytest.raises(se.InputError, match=r"; pass Evaluator\(\['f1_micro'\]\), and RiverMetric\(evaluator\) to a"):
        holder(MicroF1())
