"""What is said about arguments that are absent, surplus or of another library, in the words of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import streameval as se
from tests.support.each import with_each

Y = np.array([[1, 0], [0, 1]])


def sliced() -> se.Sliced:
    return se.Sliced(se.Evaluator(["f1_micro"]), by="region")


def pending() -> se.Pending:
    return se.Pending(se.Evaluator(["f1_micro"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sliced().update({"a"}), "update is missing y_pred and where; write update(y_true, y_pred, where="),
        (
            lambda: se.Sliced(se.F1(), by=["c", "d"]).update({"a"}, {"a"}),
            "update is missing where; write update(y_true, y_pred, where={'c': ..., 'd': ...})",
        ),
        (
            lambda: se.TimeRolling(se.F1(), 3.0).update({"a"}, {"a"}),
            "t is missing: TimeRolling with period=3.0 needs the time of each example; write t=...",
        ),
        (lambda: se.TimeRolling(se.F1(), 3.0).update_many([["a"]], [["a"]]), "each example; write times=..."),
        (lambda: sliced().update({"a"}, {"a"}, {"region": "us"}), "2 arguments without a name (y_true, y_pred), not 3"),
        (lambda: sliced().update({"a"}, {"a"}, region="us"), "go into where={'region': ...}"),
        (lambda: sliced().update_many([["a"]], [["a"]], by=["us"]), "no argument by=; write where={'region': ...}"),
        (lambda: sliced().revert({"a"}, {"a"}, where={"region": 1}, sample_weight=2), "sample_weight=; write weight="),
        (lambda: sliced().merge(), "merge is missing other; write merge(other)"),
        (lambda: pending().predict({"a"}), "predict is missing y_pred; write predict(key, y_pred)"),
        (lambda: pending().predict(id=1, y_pred={"a"}), "no argument id=; it is key, the first argument"),
        (lambda: pending().predict(1, {"a"}, weight=2), "predict has no argument weight=; an example is weighted when"),
        (lambda: pending().observe(1, truth={"a"}), "no argument truth=; it is y_true, the second argument"),
        (lambda: pending().observe(1, {"a"}, timestamp=3), "no argument timestamp=; write t=..."),
        (lambda: se.Evaluator(["f1_micro"], 0.5), "1 argument without a name (metrics), not 2; name the others: la"),
        (lambda: se.Fading(), "Fading is missing evaluator and half_life; write Fading(evaluator, half_life)"),
        (lambda: pending().discard(), "discard is missing key; write discard(key)"),
        (lambda: se.Sliced(se.Evaluator()), "Sliced is missing by; write Sliced(evaluator, by='region')"),
        (lambda: se.Sliced(se.Evaluator(), "region"), "(evaluator), not 2; write Sliced(evaluator, by='region')"),
        (lambda: se.Sliced(se.Evaluator(), group="region"), "Sliced has no argument group=; write by='region'"),
        (lambda: se.Pending(), "Pending is missing evaluator; write Pending(evaluator)"),
        (lambda: se.Pending(se.Evaluator(), 5), "name the others: max_pending="),
        (lambda: se.Trace(), "Trace is missing evaluators; write Trace(evaluators)"),
        (lambda: se.Trace(se.Evaluator(), 5), "name the others: every=, metrics="),
        (lambda: se.TimeRolling(se.Evaluator(), size=3), "has no argument size=; Rolling takes size=..., a number"),
    ],
)  # fmt: skip
def test_calls_that_do_not_fit_say_what_to_write(call: Callable[[], object], message: str):
    with pytest.raises(se.InputError) as raised:
        call()
    assert message in str(raised.value)


def test_an_error_within_a_call_stays_what_it_is():
    class Odd(set):
        def __iter__(self) -> Iterator[str]:
            raise TypeError("no labels today")

    with pytest.raises(TypeError, match="no labels today"):
        se.Pending(se.F1()).predict(1, Odd("a"))


@pytest.mark.parametrize("verb", ["merge", "unmerge"])
@pytest.mark.parametrize(
    "total", [se.Evaluator(["f1_micro"]), se.F1("micro"), sliced()], ids=lambda one: type(one).__name__
)
def test_a_list_is_merged_part_by_part(total, verb: str):
    with pytest.raises(
        se.MergeError,
        match=f"cannot {verb} an object of type list; {verb} takes one .*: write for part in parts: total",
    ):
        getattr(total, verb)([total.copy()])
    assert not total.examples


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (None, "cannot merge an object of type NoneType; merge takes one Evaluator"),
        (
            b"abc",
            "cannot merge an object of type bytes; "
            "merge takes one Evaluator: write total.merge(Evaluator.from_bytes(data))",
        ),
    ],
)
def test_what_is_no_state_cannot_be_merged(other: object, message: str):
    with pytest.raises(se.MergeError) as raised:
        se.Evaluator().merge(other)
    assert str(raised.value) == message


@with_each(
    "call",
    [
        lambda **named: se.score(Y, Y, **named),
        lambda **named: se.describe(Y, Y, **named),
        lambda **named: se.classification_report(Y, Y, **named),
        lambda **named: se.Evaluator().update_many(Y, Y, **named),
    ],
)
@with_each("weights", [[1, -1], [1, "x"], [1], np.ones((2, 1)), [1, np.inf], 3])
def test_errors_of_weights_name_what_was_written(call: Callable[..., object], weights: object):
    messages = []
    for name in ("weights", "sample_weight"):
        with pytest.raises(se.InputError) as raised:
            call(**{name: weights})
        messages.append(str(raised.value))
    assert "weights" in messages[0]
    assert messages[1] == messages[0].replace("weights", "sample_weight")


def test_a_label_that_is_called_weights_keeps_its_name():
    with pytest.raises(se.LabelError, match="label 'weights' is not among"):
        se.score([["weights"]], [["a"]], labels=["a"], sample_weight=[1])
