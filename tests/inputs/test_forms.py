"""Every form in every call is read correctly, or refused with advice on what to write instead."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score

import streameval as se
from tests.support.advice import evaluated, expressions
from tests.support.each import with_each
from tests.support.effort import BRIEF, cases
from tests.support.forms import FORMS, PAGE, Form, page
from tests.support.mistakes import MISTAKES, Mistake


class Drawn:
    """Random truths, predictions and scores."""

    f1: ClassVar[dict[tuple[int, bool], float]] = {}

    def __init__(self, seed: int) -> None:
        self.seed = seed
        draw = np.random.default_rng(seed)
        self.examples = int(draw.integers(3, 9))
        self.true, self.pred = draw.random((2, self.examples, 4)) < 0.5
        self.true[0], self.pred[0] = (True, False, True, True), (False, True, True, False)
        self.scores = np.round(draw.random((self.examples, 4)) * 256) / 256  # float16 represents these exactly
        self.weights = draw.choice([0.0, 0.1, 1.0, 1e-300, 3e200], self.examples)

    def f1_of(self, kind: str) -> float:
        """The macro F1 of the predictions, or of the labels that score at least 0.5."""
        key = self.seed, kind == "scores"
        if key not in self.f1:
            predicted = self.scores >= 0.5 if kind == "scores" else self.pred
            self.f1[key] = f1_score(self.true, predicted, average="macro", zero_division=0)
        return self.f1[key]


Verb = Callable[[Any, Any, dict[str, Any]], Any]


def each(change: Callable[[Any, Any, Any], object], make: Callable[[dict[str, Any]], Any]) -> Verb:
    """A verb that makes one call for each example."""

    def verb(y_true: Any, y_pred: Any, options: dict[str, Any]) -> Any:
        counting = make(options)
        for true, pred in zip(y_true, y_pred, strict=True):
            change(counting, true, pred)
        return counting

    return verb


def many(change: Callable[[Any, Any, Any], object], make: Callable[[dict[str, Any]], Any]) -> Verb:
    """A verb that makes one call for the whole batch."""

    def verb(y_true: Any, y_pred: Any, options: dict[str, Any]) -> Any:
        counting = make(options)
        change(counting, y_true, y_pred)
        return counting

    return verb


def update(counting: Any, y_true: Any, y_pred: Any) -> None:
    counting.update(y_true, y_pred)


def update_many(counting: Any, y_true: Any, y_pred: Any) -> None:
    counting.update_many(y_true, y_pred)


def pending(counting: Any, y_true: Any, y_pred: Any) -> None:
    counting.predict(1, y_pred)
    counting.observe(1, y_true)


def twice_and_back(counting: Any, y_true: Any, y_pred: Any) -> None:
    counting.update(y_true, y_pred)
    counting.update(y_true, y_pred)
    counting.revert(y_true, y_pred)


def sliced(counting: Any, y_true: Any, y_pred: Any) -> None:
    counting.update(y_true, y_pred, where={"by": "x"})


def sliced_many(counting: Any, y_true: Any, y_pred: Any) -> None:
    examples = next(len(side) for side in (y_true, y_pred) if type(side) is list)
    counting.update_many(y_true, y_pred, where={"by": ["x"] * examples})


EACH: dict[str, Verb] = {
    "update": each(update, lambda options: se.Evaluator(**options)),
    "revert": each(twice_and_back, lambda options: se.Evaluator(**options)),
    "one metric": each(update, lambda options: se.metric("f1", **options)),
    "window": each(update, lambda options: se.Rolling(se.Evaluator(**options), 99)),
    "fading": each(update, lambda options: se.Fading(se.Evaluator(**options), half_life=10**15)),
    "slices": each(sliced, lambda options: se.Sliced(se.Evaluator(**options), by="by")),
    "pending": each(pending, lambda options: se.Pending(se.Evaluator(**options))),
}
if find_spec("river"):  # the oldest environment has no river
    from streameval.adapters.river import MacroF1

    EACH["River"] = each(update, lambda options: MacroF1(**options))
MANY: dict[str, Verb] = {
    "update_many": many(update_many, lambda options: se.Evaluator(**options)),
    "one metric": many(update_many, lambda options: se.metric("f1", **options)),
    "window": many(update_many, lambda options: se.Rolling(se.Evaluator(**options), 99)),
    "slices": many(sliced_many, lambda options: se.Sliced(se.Evaluator(**options), by="by")),
    "score": lambda true, pred, options: se.score(true, pred, "f1_macro", **options),
}


def value(counting: Any) -> float:
    """The macro F1 of any object that has counted."""
    while isinstance(counting, se.Pending):
        counting = counting.evaluator
    counting = counting.total() if isinstance(counting, se.Sliced) else counting
    if isinstance(counting, float):
        return counting
    return float(
        counting.get("f1_macro") if isinstance(counting, se.Evaluator | se.Rolling | se.Fading) else counting.get()
    )


CASES = [
    pytest.param(form, side, kind, id=f"{kind} {form.name}, {side}")
    for kind, forms in FORMS.items()
    for form in forms
    for side in (form.sides if kind != "scores" else ("pred",))
]


def faults(form: Form, side: str, kind: str, drawn: Drawn) -> Iterator[str]:
    """The errors in reading a form on one side, with sets of labels on the other side."""
    rows, other = (drawn.true, drawn.pred) if side == "true" else (drawn.pred, drawn.true)
    rows = drawn.scores if kind == "scores" else rows
    expected = drawn.f1_of(kind)
    options = {"labels": form.labels, **({"threshold": 0.5} if kind == "scores" else {})}
    sets = [{label for label, cell in zip(form.labels, row, strict=True) if cell} for row in other]

    def sides(value: Any) -> tuple[Any, Any]:
        return (value, sets) if side == "true" else (sets, value)

    def called(verb: Verb, batch: Any) -> float:
        return value(verb(*sides(batch), options))

    meant = None if form.vague else expected
    verbs = {f"update_many: {name}": verb for name, verb in MANY.items()}
    verbs |= {} if form.many else {f"update: {name}": verb for name, verb in EACH.items()}
    half = (side == "true") == (kind == "scores")  # which half of the verbs to try with little effort
    for name, verb in [*verbs.items()][half::2] if BRIEF else verbs.items():
        try:
            counting = verb(*sides(form.batch(rows)), options)
        except se.StreamevalError as error:
            if not form.refused:
                yield f"{name} refuses: {error}"
            elif not re.search(form.refused, str(error)) or " --" in str(error):  # or it names a command-line option
                yield f"{name} does not say {form.refused}: {error}"
            else:
                yield from dead_ends(str(error), partial(form.batch, rows), name, partial(called, verb), meant)
        else:
            if form.refused:
                yield f"{name} reads it"
            elif value(counting) != pytest.approx(expected, abs=1e-12):
                yield f"{name} gives {value(counting)}, not {expected}"
    if form.refused:
        return
    for more in [{"keep": ["curves"]}, {"keep": ["rankings"]}] if kind == "scores" else [{"mask": True}]:
        metrics = [] if kind == "scores" else ["f1_macro"]
        one, plain, single = (se.Evaluator(metrics, labels=form.labels, keep=more.get("keep", ())) for _ in range(3))
        if kind == "scores":
            one.update_many(sets, form.batch(rows))
            plain.update_many(sets, rows.astype(np.float64))
        else:
            one.update_many(sets, sets, mask=form.batch(rows))
            plain.update_many(sets, sets, mask=rows)
        for true, row in [] if form.many else zip(sets, form.batch(rows), strict=True):
            single.update(true, row) if kind == "scores" else single.update(true, true, mask=row)
        if one != plain or (single != plain and not form.many):
            yield f"with {more} it is read otherwise than the array"
    step = 1 if side == "true" else -1
    yield from differences(form, rows, sets, drawn.weights, slice(None, None, step))


def dead_ends(
    message: str, batch: Callable[[], Any], name: str, called: Callable[[Any], float], meant: float | None
) -> Iterator[str]:
    """The errors in a message's advice: the advised code raises the same message, or no such code gives ``meant``."""
    values = list[Any]()
    for code in expressions(message):
        try:
            made = evaluated(code, message, batch(), many=name.startswith("update_many"))
            values.append(called(made))
        except se.StreamevalError as error:
            if str(error) == message:
                yield f"{name} says in a circle: {error}"
        except (AttributeError, TypeError, ValueError):  # this advice is for data of another kind
            continue
    if values and meant is not None and meant not in [pytest.approx(number) for number in values]:
        yield f"{name} gives {values}, not {meant}: {message}"


def differences(form: Form, rows: Any, sets: list[Any], weights: Any, order: slice) -> Iterator[str]:
    """The errors in reading a form in a batch with weights, and in a batch that is refused."""
    one, plain = (se.Evaluator(labels=form.labels, threshold=0.5) for _ in range(2))
    one.update_many(*(form.batch(rows), sets)[order], weights=weights)
    plain.update_many(*(rows.astype(np.float64), sets)[order], weights=weights)
    if one.to_bytes() != plain.to_bytes():
        yield "with weights it is read otherwise than the array"
    for some, rest in ((rows[1:], sets), (rows, sets[1:])):
        with pytest.raises(se.InputError, match="numbers of examples differ"):
            one.update_many(*(form.batch(some), rest)[order])
    if one.to_bytes() != plain.to_bytes():
        yield "what was refused is counted"


@pytest.mark.parametrize(("form", "side", "kind"), CASES)
def test_every_form_is_read_correctly_or_refused_with_working_advice(form: Form, side: str, kind: str) -> None:
    for seed in range(cases(5)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", se.DataWarning)
            assert not [*faults(form, side, kind, Drawn(seed))]


def test_the_page_of_forms_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.support.forms"


@with_each("mistake", MISTAKES)
def test_the_error_for_a_common_mistake_says_what_to_write(mistake: Mistake) -> None:
    message = mistake.message()
    assert all(word in message for word in mistake.words), message


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=str)
def test_the_error_for_a_missing_example_says_that_it_is_missing(missing: Any) -> None:
    for call in (lambda ev: ev.update(missing, {1}), lambda ev: ev.update_many([{1}, missing], [{1}, {1}])):
        with pytest.raises(se.InputError, match=r"y_true(\[1\])? is missing"):
            call(se.Evaluator())


MISSING: dict[str, Callable[[], Any]] = {
    "None": lambda: [["b"], None, ["a", "b"]],
    "NaN in a Series": lambda: pd.Series([["b"], float("nan"), ["a", "b"]]),
    "NA in a Series": lambda: pd.Series([{"b"}, pd.NA, {"a", "b"}]),
    "null of Arrow": lambda: pa.array([["b"], None, ["a", "b"]]),
    "null chunk of Arrow": lambda: pa.chunked_array([[["b"]], [None], [["a", "b"]]], pa.list_(pa.string())),
    "null list view": lambda: pa.array([["b"], None, ["a", "b"]], pa.list_view(pa.string())),
    "null map": lambda: pa.array([[("b", True)], None, [("a", True), ("b", True)]], pa.map_(pa.string(), pa.bool_())),
    "null struct": lambda: pa.array([{"a": False, "b": True}, None, {"a": True, "b": True}]),
    "null row of booleans": lambda: pa.array([[False, True], None, [True, True]]),
    "null of polars": lambda: pl.Series([["b"], None, ["a", "b"]]),
}
HOLDERS: dict[str, Verb] = {
    "evaluator": many(lambda ev, *sides: ev.update_many(*sides, null="empty"), lambda options: se.Evaluator(**options)),
    "metric": many(lambda ev, *sides: ev.update_many(*sides, null="empty"), lambda options: se.metric("f1", **options)),
    "rolling": many(
        lambda ev, *sides: ev.update_many(*sides, null="empty"), lambda options: se.Rolling(se.Evaluator(**options), 9)
    ),
    "time": many(
        lambda ev, *sides: ev.update_many(*sides, null="empty", times=[1, 2, 3]),
        lambda options: se.TimeRolling(se.Evaluator(**options), 9),
    ),
    "tumbling": many(
        lambda ev, *sides: ev.update_many(*sides, null="empty"),
        lambda options: se.Tumbling(se.Evaluator(**options), size=9),
    ),
    "slices": many(
        lambda ev, *sides: ev.update_many(*sides, null="empty", where={"by": ["x"] * 3}),
        lambda options: se.Sliced(se.Evaluator(**options), by="by"),
    ),
    "score": lambda true, pred, options: se.score(true, pred, "f1_macro", null="empty", **options),
}


@with_each("holder", HOLDERS)
@pytest.mark.parametrize("form", MISSING)
def test_a_missing_example_has_no_labels_with_the_option_null_empty(form: str, holder: str) -> None:
    other = [{"b"}, {"a"}, {"a"}]
    for labels in (None, ["a", "b"]) if "booleans" not in form else (["a", "b"],):
        for sides in ((MISSING[form](), other), (other, MISSING[form]())):
            expected = se.score(*[[{"b"}, set(), {"a", "b"}] if side is not other else side for side in sides], "f1")
            counting = HOLDERS[holder](*sides, {"labels": labels})
            windowed = isinstance(counting, se.TimeRolling | se.Tumbling)
            assert value(counting.snapshot() if windowed else counting) == expected
            with pytest.raises(se.InputError, match=r"give null='empty'"):
                se.score(*sides, "f1", labels=labels)
    with pytest.raises(se.InputError, match="null must be one of 'error', 'empty', not 'skip'"):
        se.score(other, other, null="skip")  # type: ignore[call-overload]


@pytest.mark.parametrize("keep", [[], ["curves"], ["rankings"]])
def test_a_missing_example_has_no_scores_with_the_option_null_empty(keep: list[str]) -> None:
    forms = [[{"a": 0.9}, None], pa.array([[("a", 0.9)], None], pa.map_(pa.string(), pa.float64()))]
    forms += [pl.Series([[0.9], None])] if keep != [] else []
    for scores in forms:
        ev, expected = (se.Evaluator([], labels=["a"], threshold=0.5, keep=keep) for _ in range(2))
        ev.update_many([{"a"}, {"a"}], scores, null="empty")
        expected.update_many([{"a"}, {"a"}], [{"a": 0.9}, {}])
        assert ev == expected
