"""What is said about arguments that are absent, surplus or of another library, in the words of the call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import streameval as se

Y = np.array([[1, 0], [0, 1]])


def sliced() -> se.Sliced:
    return se.Sliced(se.Evaluator(["f1_micro"]), by="region")


def pending() -> se.Pending:
    return se.Pending(se.Evaluator(["f1_micro"]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sliced().update({"a"}), "update is missing y_pred and where; write update(y_true, y_pred, where="),
        (lambda: sliced().update({"a"}, {"a"}, {"region": "us"}), "y_true, y_pred and no more without a name, not 3;"),
        (lambda: sliced().update({"a"}, {"a"}, region="us"), "go into where={'region': ...}"),
        (lambda: sliced().update_many([["a"]], [["a"]], by=["us"]), "no argument by=; write where={'region': ...}"),
        (lambda: sliced().revert({"a"}, {"a"}, where={"region": 1}, sample_weight=2), "sample_weight=; write weight="),
        (lambda: sliced().merge(), "merge is missing other; write merge(other)"),
        (lambda: pending().predict({"a"}), "predict is missing y_pred; write predict(key, y_pred)"),
        (lambda: pending().predict(id=1, y_pred={"a"}), "no argument id=; it is key, the first argument"),
        (lambda: pending().predict(1, {"a"}, weight=2), "predict has no argument weight=; an example is weighted when"),
        (lambda: pending().observe(1, truth={"a"}), "no argument truth=; it is y_true, the second argument"),
        (lambda: pending().observe(1, {"a"}, timestamp=3), "no argument timestamp=; write t=..."),
        (lambda: se.Evaluator(["f1_micro"], 0.5), "no more without a name, not 2; name the others, of"),
        (lambda: se.Fading(), "Fading is missing evaluator and half_life; write Fading(evaluator, half_life)"),
        (lambda: pending().discard(), "discard is missing key; write discard(key)"),
    ],
)  # fmt: skip
def test_calls_that_do_not_fit_say_what_to_write(call: Callable[[], object], message: str):
    with pytest.raises(se.InputError) as raised:
        call()
    assert message in str(raised.value)


def test_an_error_within_a_call_stays_what_it_is():
    class Odd:
        def update(self, y_true: object, y_pred: object) -> None:
            raise TypeError("no update today")

        def get(self) -> float:
            return 0.0

    waiting = se.Pending(Odd())
    waiting.predict(1, {"a"})
    with pytest.raises(TypeError, match="no update today"):
        waiting.observe(1, {"a"})


@pytest.mark.parametrize("verb", ["merge", "unmerge"])
@pytest.mark.parametrize(
    "total", [se.Evaluator(["f1_micro"]), se.F1("micro"), sliced()], ids=lambda one: type(one).__name__
)
def test_a_list_is_merged_part_by_part(total, verb: str):
    with pytest.raises(
        se.MergeError, match=f"cannot {verb} a list; {verb} takes one .*: write for part in parts: total"
    ):
        getattr(total, verb)([total.copy()])
    assert not total.examples


@pytest.mark.parametrize(
    "call",
    [
        lambda **named: se.score(Y, Y, **named),
        lambda **named: se.describe(Y, Y, **named),
        lambda **named: se.classification_report(Y, Y, **named),
        lambda **named: se.Evaluator().update_many(Y, Y, **named),
    ],
)
@pytest.mark.parametrize("weights", [[1, -1], [1, "x"], [1], np.ones((2, 1)), [1, np.inf], 3])
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
