"""Errors about missing, surplus or foreign arguments name the arguments of the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import streameval as se
from streameval.adapters import river
from streameval.adapters.sklearn import scorer
from streameval.metrics.thresholds import rcut
from streameval.progressive import iter_progressive_evaluate
from tests.support.each import with_each

Y = np.array([[1, 0], [0, 1]])
BITS = np.packbits(Y, axis=1)


class Model:
    def predict_one(self, x: object) -> set[str]:
        return {"a"}

    def learn_one(self, x: object, y: object) -> None:
        pass


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
        (lambda: se.F1().revert({"a"}, {"a"}, 2.0), "revert takes 2 arguments without a name (y_true, y_pred), not 3"),
        (lambda: sliced().update({"a"}, {"a"}, region="us"), "give the values of slices as where={'region': ...}"),
        (lambda: sliced().update_many([["a"]], [["a"]], by=["us"]), "no argument by=; write where={'region': ...}"),
        (lambda: sliced().revert({"a"}, {"a"}, where={"region": 1}, sample_weight=2), "sample_weight=; write weight="),
        (lambda: sliced().merge(), "merge is missing other; write merge(other)"),
        (lambda: pending().predict({"a"}), "predict is missing y_pred; write predict(key, y_pred)"),
        (lambda: pending().predict(id=1, y_pred={"a"}), "predict has no argument id=; it takes key, y_pred, t"),
        (lambda: pending().predict(1, {"a"}, weight=2), "predict has no argument weight=; an example is weighted when"),
        (lambda: pending().observe(1, truth={"a"}), "no argument truth=; it is y_true, the second argument"),
        (lambda: pending().observe(1, {"a"}, timestamp=3), "no argument timestamp=; write t=..."),
        (lambda: se.metric("f1", "micro"), "1 argument without a name (name), not 2; name the others: average="),
        (lambda: se.Evaluator(["f1_micro"], 0.5), "1 argument without a name (metrics), not 2; name the others: la"),
        (lambda: se.Evaluator().get("f1_micro", "mcc_macro"), "(metric), not 2; write get(metric)"),
        (lambda: se.Fading(), "Fading is missing evaluator and half_life; write Fading(evaluator, half_life)"),
        (lambda: pending().discard(), "discard is missing key; write discard(key)"),
        (lambda: se.Sliced(se.Evaluator()), "Sliced is missing by; write Sliced(evaluator, by='region')"),
        (lambda: se.Sliced(se.Evaluator(), "region"), "(evaluator), not 2; write Sliced(evaluator, by='region')"),
        (lambda: se.Sliced(se.Evaluator(), group="region"), "Sliced has no argument group=; write by='region'"),
        (lambda: se.Pending(), "Pending is missing evaluator; write Pending(evaluator)"),
        (lambda: se.Pending(se.Evaluator(), 5), "name the others: max_pending="),
        (lambda: se.Trace(), "Trace is missing evaluators; write Trace(evaluators)"),
        (lambda: se.Trace(se.Evaluator(), 5), "name the others: every=, metrics="),
        (lambda: se.Rolling(se.F1()).update({"a"}, {"a"}, t=1), "leave it out, or use TimeRolling with period=..."),
        (lambda: se.Tumbling(se.F1(), size=3).advance(1), "leave it out, or give period=... in place of size="),
        (lambda: se.Fading(se.F1(), 3).advance(1), "or give half_life=... as a timedelta or a float"),
        (lambda: se.Rolling(se.F1()).update_many([["a"]], [["a"]], t=[1]), "has no argument t=; write times=..."),
        (lambda: se.Rolling(se.F1()).update({"a"}, {"a"}, times=1), "update has no argument times=; write t=..."),
        (lambda: se.TimeRolling(se.F1(), 3.0).advance(time=3), "advance has no argument time=; write t=..."),
        (lambda: se.TimeRolling(se.F1(), 3.0).advance(), "advance is missing t; write advance(t)"),
        (lambda: se.load(), "load is missing path; write load(path)"),
        (lambda: se.score(Y), "score is missing y_pred; write score(y_true, y_pred)"),
        (lambda: se.score(Y, Y, ["f1_micro"], 3), "not 4; name the others: "),
        (lambda: se.TimeRolling(se.Evaluator(), size=3), "has no argument size=; Rolling takes size=..., a number"),
        (lambda: se.Checkpoint(se.F1(), every=3), "Checkpoint has no argument every=; Checkpointer takes every=..."),
        (lambda: se.Rolling(se.F1(), labels=["a"]), "Rolling has no argument labels=; Evaluator takes labels=..."),
        (lambda: se.Evaluator().plot("labels", titel="x"), "plot has no argument titel=; did you mean 'title'?"),
        (lambda: se.Evaluator(labels={"a": 1, "b": 0}), "a dict; give a list, for example sorted(labels, key=labels.g"),
        (lambda: se.Evaluator(labels={1: "a", 0: "b"}), "a list, for example [labels[key] for key in sorted(labels, "),
        (lambda: se.Evaluator(labels={"10": "a", "9": "b"}), "[labels[key] for key in sorted(labels, key=int)]"),
        (lambda: se.Evaluator(labels={"a": np.int64(1), "b": np.int64(0)}), "example sorted(labels, key=labels.get)"),
        (lambda: se.F1().update({"a"}, {"a"}, t=1), "update has no argument t=; update of TimeRolling takes t=..."),
        (lambda: se.F1().update({"a"}, {"a"}, where=1), "no argument where=; update of Sliced takes where=..."),
        (lambda: se.evaluate_table("x", actual="a", where="b"), "evaluate_table has no argument where=; write by="),
        (lambda: se.F1().update({"a"}, {"a"}, 2), "(y_true, y_pred), not 3; name the others: weight=, mask="),
        (lambda: se.Evaluator().revert({"a"}, {"a"}, 2, 3, w=2), "not 4; name the others: weight=, mask="),
        (lambda: se.Evaluator().update_many(Y, Y, [1, 2]), "not 3; name the others: weights=, mask=, null="),
        (lambda: se.Rolling(se.F1()).update({"a"}, {"a"}, 2), "not 3; name the others: weight=, mask=, t="),
        (lambda: se.describe(Y, Y, target_names=["a", "b"]), "describe has no argument target_names=; write labels="),
        (lambda: se.Evaluator().to_html(zzz=1), "to_html has no argument zzz=; it takes title, meta, trace, slices,"),
        (lambda: se.to_html(se.Evaluator(), "title", zzz=1), "to_html has no argument zzz=; it takes title, meta, "),
        (lambda: se.Evaluator().update({"a"}, {"a"}, **{"": 1}), "update has no argument =; "),
        (lambda: se.Evaluator().plot(zzz=1), "plot has no argument zzz=; it takes metric, limit, ax, title"),
        (lambda: se.Evaluator().plot("roc_curve", label=1), "plot has no argument label=; did you mean 'labels'?"),
        (lambda: se.Evaluator().plot("slices", zzz=1), "plot has no argument zzz=; it takes metric, by, limit, ax, "),
        (lambda: se.Evaluator().save_html(), "save_html is missing path; write save_html(path)"),
        (lambda: se.save_html(se.Evaluator()), "save_html is missing path; write save_html(evaluators, path)"),
        (lambda: se.Trace(se.Evaluator()).save_html("x.html", "y"), "(path), not 2; name the others: title="),
        (lambda: se.evaluate_table([], actual="a", zzz=1), "no argument zzz=; it takes actual, predicted, metrics"),
        (lambda: se.TopK([[1]], score=[[1]]), "TopK has no argument score=; did you mean 'scores'?"),
        (lambda: se.PackedRows(b"", 3, bits_order="big"), "no argument bits_order=; did you mean 'bitorder'?"),
        (lambda: se.Columns("a", "b", null_value="empty"), "Columns has no argument null_value=; did you mean 'null'?"),
        (lambda: se.MetricSpec("fbeta", beta=2), "MetricSpec has no argument beta=; it is part of the name of a metr"),
        (lambda: scorer("f1_macro", needs_proba=True), "scorer has no argument needs_proba=; it takes threshold, resp"),
        (lambda: river.MicroF1(zero_div=1), "MicroF1 has no argument zero_div=; did you mean 'zero_division'?"),
        (lambda: river.RiverMetric("f1", threshold=1), "RiverMetric has no argument threshold=; Evaluator takes thres"),
    ],
)  # fmt: skip
def test_the_error_for_wrong_arguments_says_what_to_write(call: Callable[[], object], message: str):
    with pytest.raises(se.InputError) as raised:
        call()
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: se.metric("f1", threshhold=0.5), "f1 has no parameter 'threshhold'; did you mean 'threshold'?"),
        (lambda: se.F1(threshhold=0.5), "f1 has no parameter 'threshhold'; did you mean 'threshold'?"),
        (lambda: se.metric("fbeta", betta=2), "fbeta has no parameter 'betta'; did you mean 'beta'?"),
        (lambda: se.PrecisionAt(xyz=3), "precision_at has no parameter 'xyz'; it takes average, k, divisor, unranked"),
        (lambda: se.F1(avg="micro"), "f1 has no parameter 'avg'; write average=..."),
        (lambda: se.F1(pos_label=1), "'pos_label'; it takes average, zero_division, empty, labels, unknown, threshold"),
        (lambda: se.metric("f1", **{"": 1}), "f1 has no parameter ''; "),
        (lambda: se.metric("f1", xyz=1), "f1 has no parameter 'xyz'; it takes average, zero_division, empty, labels"),
        (lambda: se.Evaluator(["fbeta(xyz=1)"]), "fbeta has no parameter 'xyz'; it takes beta, zero_division, empty"),
        (lambda: se.metric("accuracy", average="micro", label=["a"]), "did you mean 'labels'?"),
    ],
)
def test_the_error_for_a_wrong_keyword_of_a_metric_names_the_nearest_argument(call: Callable[[], object], message: str):
    with pytest.raises(se.MetricError) as raised:
        call()
    assert message in str(raised.value)


MADE: dict[str, Callable[[], object]] = {
    "Evaluator": se.Evaluator,
    "F1": se.F1,
    "Rolling": lambda: se.Rolling(se.Evaluator()),
    "TimeRolling": lambda: se.TimeRolling(se.F1(), 3.0),
    "Tumbling": lambda: se.Tumbling(se.F1(), size=3),
    "Fading": lambda: se.Fading(se.F1(), 3),
    "Sliced": sliced,
    "Pending": pending,
    "Trace": lambda: se.Trace(se.F1()),
    "Ledger": lambda: se.Ledger(se.F1()),
    "Checkpointer": lambda: object.__new__(se.Checkpointer),
}
PLAIN = ("from_bytes", "plot", "register", "compute", "result")
"""Methods that are left out: Python's own, those that draw, and those that exist only to refuse."""


def public_calls() -> Iterator[tuple[str, Callable[..., object]]]:
    for name, make in MADE.items():
        yield name, getattr(se, name)
        for attribute in dir(getattr(se, name)):
            if (
                not attribute.startswith("_")
                and attribute not in PLAIN
                and callable(getattr(getattr(se, name), attribute))
            ):
                yield f"{name}.{attribute}", getattr(make(), attribute)
    for name in se.__all__:
        if not isinstance(getattr(se, name), type) and callable(getattr(se, name)):
            yield name, getattr(se, name)


def test_every_public_call_names_the_argument_nearest_to_a_misspelt_keyword():
    tried, wrong = 0, []
    for name, call in public_calls():
        parts = inspect.signature(call).parameters.values()
        required = [
            part.name for part in parts if part.default is part.empty and part.kind <= part.POSITIONAL_OR_KEYWORD
        ]
        for part in parts:
            if part.kind is part.KEYWORD_ONLY or (
                part.kind is part.POSITIONAL_OR_KEYWORD and part.name not in required
            ):
                tried += 1
                try:
                    call(*["f1"] * len(required), **{part.name + part.name[-1]: None})
                    wrong.append(f"{name}: accepted {part.name}{part.name[-1]}=")
                except se.StreamevalError as error:
                    if part.name not in str(error).replace(part.name + part.name[-1], "") and len(part.name) > 1:
                        wrong.append(f"{name}: {error}")
                except Exception as error:  # for example a TypeError
                    wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)
    assert tried > 100


def test_an_error_within_a_call_is_not_changed():
    class Odd(set):
        def __iter__(self) -> Iterator[str]:
            raise TypeError("no labels today")

    with pytest.raises(TypeError, match="no labels today"):
        se.Pending(se.F1()).predict(1, Odd("a"))


def test_a_type_error_from_an_iterator_of_rows_is_not_changed():
    def rows() -> Iterator[dict[str, str]]:
        yield {"a": "x", "p": "x", "region": "us"}
        raise TypeError("no rows today")

    with pytest.raises(TypeError, match="no rows today"):
        se.evaluate_table(rows(), actual="a", predicted="p", by="region")
    with pytest.raises(se.InputError, match=r"^evaluate_table is missing source; write evaluate_table\(source\)$"):
        se.evaluate_table()


@with_each("names", [("y_true", "actual"), ("target", "actual"), ("y_pred", "predicted"), ("y_score", "predicted")])
def test_the_error_for_array_keywords_of_evaluate_table_names_the_right_keyword(names: tuple[str, str]):
    name, ours = names
    with pytest.raises(se.InputError, match=rf"^evaluate_table has no argument {name}=; write {ours}=\.\.\.$"):
        se.evaluate_table([], actual="a", predicted="p", **{name: "a"})


def test_a_call_without_arguments_says_so():
    with pytest.raises(se.InputError, match=r"^reset takes no arguments without a name, not 1; write reset\(\)$"):
        se.Evaluator().reset(1)


@pytest.mark.parametrize("holder", [se.F1(), se.Evaluator(), se.Rolling(se.F1(), size=3)])
def test_the_error_for_an_update_without_predictions_names_no_private_class(holder):
    with pytest.raises(TypeError, match=r"^update\(\) missing 1 required positional argument: 'y_pred'$"):
        holder.update({"a"})


def test_a_type_error_in_a_subclass_of_a_user_is_not_changed():
    class Mine(se.Evaluator):
        def __init__(self, name: str) -> None:
            super().__init__([name])

        def count(self, *items: object) -> None:
            raise TypeError("no items today")

        def shift(self, by: int) -> int:
            return by

    for items in ((), (1, 2)):
        with pytest.raises(TypeError, match="no items today"):
            Mine("f1_micro").count(*items)
    for wrong in (Mine, Mine("f1_micro").shift, lambda: Mine("f1_micro").shift(bye=1)):
        with pytest.raises(TypeError, match="argument"):
            wrong()
    with pytest.raises(se.InputError, match="merge is missing other"):
        Mine("f1_micro").merge()


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
def test_merging_an_object_that_is_no_state_is_refused(other: object, message: str):
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
def test_errors_about_weights_name_the_keyword_that_was_written(call: Callable[..., object], weights: object):
    messages = []
    for name in ("weights", "sample_weight"):
        with pytest.raises(se.InputError) as raised:
            call(**{name: weights})
        messages.append(str(raised.value))
    assert "weights" in messages[0]
    assert messages[1] == messages[0].replace("weights", "sample_weight")


def test_a_label_that_is_called_weights_keeps_its_name():
    with pytest.raises(se.LabelError, match="label 'weights' is not the declared label 'a'"):
        se.score([["weights"]], [["a"]], labels=["a"], sample_weight=[1])


@with_each(
    "made",
    [
        lambda size: se.Trace(se.F1(), every=size).to_bytes(),
        lambda size: se.Pending(se.F1(), max_pending=size).to_bytes(),
        lambda size: se.Evaluator(label_limit=size).to_bytes(),
        lambda size: se.Sliced(se.F1(), by="x", max_slices=size).to_bytes(),
        lambda size: se.Rolling(se.F1(), size).to_bytes(),
        lambda size: se.Tumbling(se.F1(), size=size).to_bytes(),
        lambda size: se.Checkpoint(se.F1(), size).to_bytes(),
        lambda size: se.Evaluator(["ndcg(k=2)", se.PrecisionAt(k=size).spec]).to_bytes(),
        lambda size: rcut(Y, size).tolist(),
        lambda size: se.score(se.PackedRows(BITS, size), se.PackedRows(BITS, size)),
        lambda size: se.classification_report(Y, Y, digits=size),
        lambda size: [s.step for s in iter_progressive_evaluate([({}, {"a"})] * 5, Model(), se.F1(), step=size)],
    ],
)
def test_integers_of_numpy_are_integers(made: Callable[[object], object]):
    for size in (np.int64(2), np.uint8(2)):
        assert made(size) == made(2)
    for wrong in (np.timedelta64(2, "s"), np.bool_(True), np.float64(2.5), np.int64(-1)):
        with pytest.raises(se.StreamevalError, match=r"integer|at least"):
            made(wrong)
