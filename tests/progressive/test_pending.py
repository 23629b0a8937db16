"""Predictions that wait for their truth, compared with a plain list of predictions."""

from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from river import datasets, linear_model, multioutput, preprocessing

import streameval as se
from streameval.progressive.predictions import compact_copy, from_compact
from tests.support.each import with_each
from tests.support.effort import cases
from tests.support.naming import case_name

KEYS = st.sampled_from([0, 1, 2, "0", "a", (1, "b"), None, frozenset("x")])
LABELS = st.frozensets(st.sampled_from("abc"))
STEPS = st.sampled_from([0, 0, 1, 2.5, 7])


class Model(RuleBasedStateMachine):
    """Makes the same calls to a `Pending` and to a plain list of waiting predictions."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[tuple[object, frozenset, float]] = []
        self.counted = se.Evaluator(labels=["a", "b", "c"])
        self.now = 0.0
        self.without_prediction = 0
        self.evicted = {"max_pending": 0, "max_age": 0}

    @initialize(
        max_pending=st.sampled_from([None, 1, 2, 4]), max_age=st.sampled_from([None, 0, 3, 5.5]), late=st.booleans()
    )
    def start(self, max_pending, max_age, late):
        self.max_pending, self.max_age, self.counts_late = max_pending, max_age, late
        self.pending = se.Pending(
            se.Evaluator(labels=["a", "b", "c"]),
            max_pending=max_pending,
            max_age=max_age,
            no_prediction="count" if late else "error",
        )

    def alive(self, now: float) -> list[tuple[object, frozenset, float]]:
        return [one for one in self.waiting if self.max_age is None or now - one[2] <= self.max_age]

    def move(self, now: float) -> None:
        alive = self.alive(now)
        self.evicted["max_age"] += len(self.waiting) - len(alive)
        self.waiting, self.now = alive, now

    def raises(self, call, *inputs, **named) -> None:
        before = state_of(self.pending)
        with pytest.raises(se.InputError):
            call(*inputs, **named)
        assert state_of(self.pending) == before

    @rule(key=KEYS, labels=LABELS, step=STEPS, form=st.sampled_from(["set", "row", "mapping"]))
    def predict(self, key, labels, step, form):
        now = self.now + step
        said = {
            "set": set(labels),
            "row": np.array([label in labels for label in "abc"]),
            "mapping": {label: label in labels for label in "abc"},
        }[form]
        if any(key == other for other, _, _ in self.alive(now)):
            self.raises(self.pending.predict, key, said, t=now)
            return
        self.pending.predict(key, said, t=now)
        if form == "row":
            said[:] = False
        else:
            said.clear()
        self.move(now)
        if self.max_pending is not None and len(self.waiting) == self.max_pending:
            del self.waiting[0]
            self.evicted["max_pending"] += 1
        self.waiting.append((key, labels, now))

    @rule(key=KEYS, labels=LABELS, step=STEPS, weight=st.sampled_from([1.0, 0.5, 3]), mask=LABELS, timed=st.booleans())
    def observe(self, key, labels, step, weight, mask, timed):
        now = self.now + step if timed else self.now
        t = now if timed else None
        result = [one for one in self.alive(now) if one[0] == key]
        if not result and not self.counts_late:
            self.raises(self.pending.observe, key, labels, t=t)
            return
        self.pending.observe(key, labels, weight=weight, mask=mask, t=t)
        self.move(now)
        if result:
            self.counted.update(labels, result[0][1], weight=weight, mask=mask)
            self.waiting.remove(result[0])
        else:
            self.without_prediction += 1

    @rule(key=KEYS)
    def discard(self, key):
        result = [one for one in self.waiting if one[0] == key]
        if result:
            self.pending.discard(key)
            self.waiting.remove(result[0])
        else:
            self.raises(self.pending.discard, key)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def refused(self, data):
        key = data.draw(st.sampled_from([one[0] for one in self.waiting]))
        self.raises(self.pending.observe, key, {"unknown label"})
        self.raises(self.pending.observe, key, {"a"}, weight=-1)
        self.raises(self.pending.observe, key, {"a"}, t=self.now - 1)
        self.raises(self.pending.predict, "new", {"a"}, t=self.now - 1)
        self.raises(self.pending.predict, "new", "a", t=self.now + 100)

    @rule(how=st.sampled_from([copy.copy, copy.deepcopy, se.Pending.copy, lambda one: pickle.loads(pickle.dumps(one))]))
    def replace_by_a_copy(self, how):
        twin = how(self.pending)
        before = state_of(self.pending)
        twin.predict("of the twin", {"a"}, t=self.now)
        twin.observe("of the twin", {"a"}, t=self.now)
        assert state_of(self.pending) == before
        self.pending = how(self.pending)

    @invariant()
    def same(self):
        if not hasattr(self, "pending"):
            return
        assert self.pending.keys() == [one[0] for one in self.waiting]
        assert self.pending.pending == len(self.pending) == len(self.waiting)
        assert self.pending.without_prediction == self.without_prediction
        assert self.pending.evicted == self.evicted
        assert self.pending.evaluator.to_bytes() == self.counted.to_bytes()


def state_of(pending: se.Pending) -> tuple:
    return (
        pending.keys(),
        pending.without_prediction,
        pending.evicted,
        pending.evaluator.to_bytes(),
        pending._cell.value[0],
    )


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=cases(60), stateful_step_count=30)


@pytest.mark.parametrize("form", [
    {"cat", "dog"}, frozenset({"cat", "dog"}), ["cat", "dog", "cat"], ("cat", "dog"), {"cat": True, "dog": True},
    {"cat": 1, "dog": np.int8(1), "bird": 0}, np.array([True, True, False]), np.array([1.0, 1.0, 0.0]),
    pd.Series({"cat": 1, "dog": 1}), dict.fromkeys(["cat", "dog"]).keys(), np.array(["cat", "dog"]),
], ids=case_name)  # fmt: skip
def test_predictions_of_every_form_are_counted_as_update_counts_them(form: object):
    pending = se.Pending(se.Evaluator(labels=["cat", "dog", "bird"]))
    pending.predict(1, form)
    pending.observe(1, {"cat"})
    expected = se.Evaluator(labels=["cat", "dog", "bird"])
    expected.update({"cat"}, form)
    assert pending.evaluator.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("form", [{"a"}, ["a", "b"], ("a",), {"a": True}, {"a": 0.5, "b": 1}, {}, set()], ids=case_name)
def test_what_is_stored_is_a_copy_of_what_was_predicted(form: object):
    mine = copy.copy(form)
    row = compact_copy(mine)
    if mine and not isinstance(mine, tuple):
        mine.clear()
    assert from_compact(row) == form
    assert type(from_compact(row)) is type(form)


def test_scores_are_preserved_to_the_last_bit():
    scores = {"a": 0.1 + 0.2, "b": 5e-324, "c": -0.0, "d": np.float32(0.3), "e": 1, "f": True}
    for some in (scores, {"a": 0.1 + 0.2, "b": 0.3}):
        pending, expected = (
            se.Pending(se.Evaluator(threshold=0.1 + 0.2, labels=list("abcdef"))),
            se.Evaluator(threshold=0.1 + 0.2, labels=list("abcdef")),
        )
        pending.predict("key", some)
        pending.observe("key", {"a"})
        expected.update({"a"}, some)
        assert pending.evaluator.to_bytes() == expected.to_bytes()


def test_labels_that_compare_equal_but_differ_in_type_are_distinguished():
    pending = se.Pending(se.Evaluator())
    pending.predict("first", {1: True, 0: False})
    with pytest.raises(se.LabelError, match="bool"):
        pending.predict("second", {True: True, False: False})
    pending.observe("first", {1})
    assert len(pending) == 0


@pytest.mark.parametrize("wrong", [None, "cat", b"cat", 3, iter("ab"), True], ids=case_name)
def test_what_is_no_prediction_is_refused_when_it_is_passed(wrong: object):
    pending = se.Pending(se.Evaluator())
    with pytest.raises(se.InputError, match=r"y_pred (must be|is missing|is the string)"):
        pending.predict(1, wrong)
    assert pending.keys() == []


HOLDERS: list[Callable[[se.Evaluator], Any]] = [
    lambda ev: ev,
    lambda ev: se.Rolling(ev, size=3),
    lambda ev: se.TimeRolling(ev, 3.0),
    lambda ev: se.Trace({"all": se.Evaluator(threshold=0.5, labels=["a", "b"]), "this": ev}),
]


@with_each("holder", HOLDERS)
@pytest.mark.parametrize(("match", "wrong", "right", "options"), [
    ("binary predictions are 0 or 1", {"a": 0.7}, {"a": True}, {}),
    ("rankings and curves need scores", {"a"}, {"a": 0.7}, {"keep": ["curves"], "threshold": 0.5}),
    ("y_pred is nan", {"a": math.nan}, {"a": 0.7}, {"threshold": 0.5}),
    ("'b' is not the declared label 'a'; declare it", {"b"}, {"a"}, {"labels": ["a"]}),
    ("may be indicators", [1, 0, 1], ["a"], {}),
    ("1 column for 2 declared", np.ones(1), np.ones(2), {"labels": ["a", "b"]}),
])  # fmt: skip
def test_a_prediction_that_the_evaluator_cannot_read_is_refused_before_it_waits(
    holder: Any, match: str, wrong: object, right: object, options: dict
):
    pending = se.Pending(holder(se.Evaluator([], **options)))
    before = pending.to_bytes()
    for one in (pending, pickle.loads(pickle.dumps(pending)), pending.copy(), se.Pending.from_bytes(before)):
        with pytest.raises(se.InputError, match=match):
            one.predict("first", wrong, t=1)
        assert one.to_bytes() == before
        one.predict("first", right, t=1)
        one.observe("first", {"a"}, t=2)


def test_labels_of_predictions_that_are_never_observed_are_not_held():
    pending = se.Pending(se.Evaluator(label_limit=2), max_pending=1)
    for place in range(1000):
        pending.predict(place, {f"a{place}", f"b{place}"})
    assert all(len(trial._core.labels) < 100 for trial in pending._trials)
    pending.observe(999, {"a999"})
    assert pending.evaluator.labels == ("a999", "b999")


@pytest.mark.parametrize(("match", "how"), [
    ("max_pending must be", {"max_pending": 0}), ("max_pending must be", {"max_pending": 1.5}),
    ("max_pending must be", {"max_pending": True}), ("max_age must be", {"max_age": -1}),
    ("max_age must be", {"max_age": "1 day"}), ("max_age must be", {"max_age": float("nan")}),
    ("max_age must be", {"max_age": dt.timedelta(-1)}), ("max_age must be", {"max_age": True}),
    ("did you mean 'count'", {"no_prediction": "counts"}), ("no_prediction must be", {"no_prediction": None}),
])  # fmt: skip
def test_wrong_bounds_are_refused(match: str, how: dict):
    with pytest.raises(se.InputError, match=match):
        se.Pending(se.Evaluator(), **how)
    with pytest.raises(se.InputError, match=r"must be an object that counts; write Evaluator\(\['f1_micro'\]\)"):
        se.Pending("f1_micro")


def test_times_are_all_numbers_or_all_dates_as_max_age_is():
    pending = se.Pending(se.Evaluator(), max_age=dt.timedelta(days=1))
    with pytest.raises(se.InputError, match="t is missing"):
        pending.predict(1, {"a"})
    with pytest.raises(se.InputError, match="cannot be compared"):
        pending.predict(1, {"a"}, t=3.0)
    for wrong in ("today", {1}, [1, 2]):
        with pytest.raises(se.InputError, match=r"give a number or a datetime$"):
            pending.predict(1, {"a"}, t=wrong)
    with pytest.raises(se.InputError, match=r"give a number or a datetime, as datetime\.fromisoformat gives"):
        pending.predict(1, {"a"}, t="2024-02-28")
    with pytest.raises(se.InputError, match="nan"):
        se.Pending(se.Evaluator()).predict(1, {"a"}, t=float("nan"))
    start = dt.datetime(2024, 2, 28)
    pending.predict(1, {"a"}, t=start)
    with pytest.raises(se.InputError, match="one kind"):
        pending.observe(1, {"a"}, t=5)
    pending.predict(2, {"a"}, t=start + dt.timedelta(hours=1))
    pending.observe(2, {"a"}, t=start + dt.timedelta(hours=25))
    assert pending.keys() == []
    assert pending.evicted == {"max_pending": 0, "max_age": 1}
    assert pending.evaluator.examples == 1


@pytest.mark.parametrize("unit", ["h", "us", "ns"])
@pytest.mark.parametrize(
    "max_age", [dt.timedelta(days=1), np.timedelta64(1, "D"), np.timedelta64(24 * 3600 * 10**9, "ns")]
)
def test_times_of_numpy_have_any_unit(unit: str, max_age: object):
    pending, start = se.Pending(se.Evaluator(), max_age=max_age), np.datetime64("2024-02-28T12", unit)
    pending.predict(1, {"a"}, t=start)
    pending.predict(2, {"a"}, t=start + np.timedelta64(1, "h"))
    pending.observe(2, {"a"}, t=start + np.timedelta64(25, "h"))
    assert (pending.keys(), pending.evaluator.examples) == ([], 1)
    assert se.Pending.from_bytes(pending.to_bytes()) == pending
    pending.predict(3, {"a"}, t=np.datetime64("2024-03-01T00:00:00.000000001"))
    with pytest.raises(
        se.InputError, match="cannot be saved; give a number, a date or a timedelta of whole microseconds"
    ):
        pending.to_bytes()


@pytest.mark.parametrize("max_age", [
    np.timedelta64(1, "M"), np.timedelta64("NaT", "h"), np.timedelta64(-1, "h"), np.timedelta64(999, "ns"),
    np.timedelta64(1500, "ns"), pd.Timedelta(1500, "ns"), np.timedelta64(10**18, "D"),
])  # fmt: skip
def test_a_max_age_that_is_no_whole_number_of_microseconds_is_refused(max_age: object):
    with pytest.raises(se.InputError, match=r"a timedelta of whole microseconds, not negative, not .*imedelta"):
        se.Pending(se.Evaluator(), max_age=max_age)


@pytest.mark.parametrize("masked", [False, [0, 1, 0]], ids=["none", "one"])
@pytest.mark.parametrize("values", [[1, 0, 1], [True, False, True], [0.75, 0.5, 0.25]], ids=str)
def test_a_masked_array_waits_and_is_saved(values: list[Any], masked: Any):
    scored = {"metrics": ["roc_auc_macro"], "nan": "missing"}
    waiting = se.Pending(se.Evaluator(**scored if 0.5 in values or masked else {"metrics": ["f1_micro"]}))
    prediction, true = np.ma.array(values, mask=masked), np.array([1, 0, 1])
    direct = waiting.evaluator.copy()
    direct.update(true, prediction)
    waiting.predict(1, prediction)
    prediction[:] = 1
    again = se.Pending.from_bytes(waiting.to_bytes())
    assert again.to_bytes() == waiting.to_bytes()
    for pending in (waiting, again):
        pending.observe(1, true)
        assert pending.evaluator == direct


def test_a_masked_array_of_strings_without_a_masked_one_waits_as_labels():
    waiting = se.Pending(se.Evaluator(["f1_micro"]))
    waiting.predict(1, np.ma.array(["a", "b"]))
    again = se.Pending.from_bytes(waiting.to_bytes())
    again.observe(1, {"a", "c"})
    assert again.evaluator.get("f1_micro") == 0.5


def test_masks_and_times_are_taken_into_account_after_many_observations_too():
    single, pending = se.Evaluator(), se.Pending(se.Evaluator())
    for key in range(150):
        mask = {"a"} if key % 2 else None
        single.update({"a", "b"}, {"a"}, mask=mask)
        pending.predict(key, {"a"})
        pending.observe(key, {"a", "b"}, mask=mask)
    assert pending.evaluator == single
    pending.predict("late", {"a"}, t=5)
    with pytest.raises(se.InputError, match="goes backwards"):
        pending.observe("late", {"a"}, t=4)
    assert pending.evaluator == single


def test_a_truth_without_a_time_arrives_at_the_last_time():
    single, pending = se.Evaluator(), se.Pending(se.Evaluator(), max_age=5)
    single.update({"a"}, {"a"})
    pending.predict("old", {"b"}, t=0)
    pending.predict("new", {"a"}, t=6)
    pending.observe("new", {"a"})
    assert pending.evaluator == single
    assert (pending.pending, pending.evicted) == (0, {"max_pending": 0, "max_age": 1})


def test_predictions_with_equally_many_but_different_labels_do_not_share_them():
    pending, names = se.Pending(se.Evaluator(threshold=0.5)), [("a", "b"), ("b", "a"), ("a", "c")]
    for key, labels in enumerate(names):
        pending.predict(key, dict(zip(labels, (0.75, 0.25), strict=True)))
    for key, (label, _) in enumerate(names):
        pending.observe(key, {label})
    assert pending.evaluator.get("subset_accuracy") == 1.0


@pytest.mark.parametrize("choice", ["error", "count"])
def test_bytes_hold_the_options_and_contents_beyond_them_are_refused(choice):
    pending = se.Pending(se.Evaluator(), max_pending=2, no_prediction=choice)
    for key in range(3):
        pending.predict(key, {"a"})
    if choice == "count":
        pending.observe("never", {"a"})
    loaded = se.Pending.from_bytes(pending.to_bytes())
    assert loaded == pending
    assert (loaded.evicted["max_pending"], loaded.without_prediction) == (1, int(choice == "count"))
    for name, value in {"_max_pending": 1, "_refuses": True}.items():
        forged = pending.copy()
        setattr(forged, name, value)
        if name == "_max_pending" or choice == "count":
            with pytest.raises(se.FormatError):
                se.Pending.from_bytes(forged.to_bytes())


def test_errors_say_what_is_known_of_a_key():
    pending = se.Pending(se.Evaluator(), max_pending=1)
    pending.predict(1, {"a"})
    with pytest.raises(se.InputError, match="already waits under key 1"):
        pending.predict(1, {"b"})
    pending.predict(2, {"a"})
    with pytest.raises(se.InputError, match="0 by max_age and 1 by max_pending"):
        pending.observe(1, {"a"})
    with pytest.raises(se.InputError, match="must be hashable"):
        pending.predict([1], {"a"})
    with pytest.raises(se.InputError, match="must be hashable"):
        pending.observe([1], {"a"})


def test_a_truth_that_comes_too_late_is_refused_as_older_than_max_age():
    pending = se.Pending(se.Evaluator(), max_age=10)
    pending.predict("post", {"a"}, t=1)
    with pytest.raises(se.InputError, match="waits under key 'post': it is older than max_age; with no_prediction="):
        pending.observe("post", {"a"}, t=20)
    pending.observe("post", {"a"}, t=9)


def test_windows_count_predictions_that_waited():
    for window in (se.Rolling(se.F1(), size=2), se.TimeRolling(se.F1(), dt.timedelta(hours=2))):
        pending, start = se.Pending(window), dt.datetime(2024, 1, 1)
        for hour in range(5):
            pending.predict(hour, {"a"}, t=start + dt.timedelta(hours=hour))
            pending.observe(hour, {"a"} if hour > 2 else {"b"}, t=start + dt.timedelta(hours=hour))
        assert window.get() == 1.0
        with_time = pending.evaluator if isinstance(window, se.TimeRolling) else None
        if with_time is not None:
            pending.predict("late", {"a"})
            with pytest.raises(se.InputError, match="needs the time"):
                pending.observe("late", {"a"})
            pending.discard("late")
        twin = pickle.loads(pickle.dumps(pending))
        assert twin.evaluator == window


def test_a_loop_with_delay_written_by_hand_leaves_the_bytes_of_progressive_evaluation():
    def model() -> object:
        return preprocessing.StandardScaler() | multioutput.PerOutputClassifier(linear_model.LogisticRegression())

    delay = 30
    expected = se.progressive_evaluate(datasets.Yeast().take(150), model(), se.Evaluator(), delay=delay)
    pending, learner, examples = se.Pending(se.Evaluator()), model(), list(datasets.Yeast().take(150))
    for place in range(len(examples) + delay):
        old = place - delay
        if old >= 0:
            x, y = examples[old]
            if old in pending:
                pending.observe(old, y)
            learner.learn_one(x, y)
        if place < len(examples):
            y_pred = learner.predict_one(examples[place][0])
            if y_pred:
                pending.predict(place, y_pred)
    assert pending.evaluator.to_bytes() == expected.to_bytes()
    assert pending.pending == 0


def test_removing_the_oldest_prediction_does_not_pass_over_removed_ones():
    # With a plain dict this takes minutes, because each search for the oldest key passes over all deleted entries.
    pending = se.Pending(se.Evaluator(), max_age=0)
    for place in range(60_000):
        pending.predict(place, (), t=0)
    for place in range(60_000):
        pending.observe(place, (), t=0)
    assert pending.evaluator.examples == 60_000


def test_predictions_with_the_same_labels_share_them():
    labels = [f"a rather long name of label {number}" for number in range(50)]
    pending = se.Pending(se.Evaluator(threshold=0.5))
    for place in range(100):
        pending.predict(place, dict.fromkeys(labels, place / 100))
    assert len({id(row.labels) for row, _ in pending._waiting.values()}) == 1
    assert sum(sys.getsizeof(row.values) for row, _ in pending._waiting.values()) < 100 * 600


def test_repr_and_in_say_what_waits():
    pending = se.Pending(se.F1())
    pending.predict("a", {"x"})
    assert "1 wait" in repr(pending)
    assert "a" in pending
    assert "b" not in pending


def test_in_raises_a_type_error_for_an_unhashable_key_as_a_dict_does():
    pending = se.Pending(se.Evaluator())
    with pytest.raises(TypeError, match="unhashable"):
        _ = [1] in pending
    with pytest.raises(se.InputError, match="key must be hashable, not \\[1\\]"):
        pending.predict([1], {"a"})


def test_label_limit_refuses_a_prediction_with_too_many_labels_and_a_truth_that_brings_too_many():
    pending = se.Pending(se.Evaluator(label_limit=2))
    with pytest.raises(se.LabelError, match="label_limit is 2"):
        pending.predict("three", {"a", "b", "c"})
    pending.predict("two", {"a", "b"})
    pending.predict("one", {"c"})
    pending.observe("two", {"a"})
    with pytest.raises(se.LabelError, match="label_limit is 2"):
        pending.observe("one", {"c"})
    assert pending.keys() == ["one"]
    pending.evaluator.reset()
    pending.observe("one", {"c"})
    assert pending.evaluator.labels == ("c",)


@pytest.mark.parametrize(("waits", "arrives"), [(7, "7"), ("7", 7), ("7", np.int64(7)), (np.int64(7), "7")])
def test_a_key_that_differs_from_a_waiting_one_in_type_only_is_warned_of(waits: object, arrives: object):
    pending = se.Pending(se.F1(), no_prediction="count")
    pending.predict(waits, {"a"})
    for stranger in ("8", 8, "x", None, (7,), "\u0667x"):
        pending.observe(stranger, {"a"})
    with pytest.warns(se.DataWarning, match="keys are compared with their type; use one type for both"):
        pending.observe(arrives, {"a"})
    pending.observe(arrives, {"a"})  # the warning is issued once only
    assert (pending.pending, pending.without_prediction) == (1, 8)
    refusing = se.Pending(se.F1())
    refusing.predict(waits, {"a"})
    with pytest.raises(se.InputError, match=r"under key [^:]*: one waits under .*7.*: keys"):
        refusing.observe(arrives, {"a"})
