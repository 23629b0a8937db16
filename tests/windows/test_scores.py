"""Windows over evaluators that keep rankings, curves and pairs: they always hold the right examples."""

from __future__ import annotations

import copy
import math
import pickle
import random
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from river import linear_model, multioutput
from scipy import sparse

import streameval as se
from streameval.kernel.backend import BACKEND
from streameval.kernel.types import DONE, OTHER
from tests.states.test_state_set import LABELS, LEVELS, METRICS, PROPENSITIES, readings
from tests.support.effort import cases, crossed, spread
from tests.support.interruptions import attempted, check_interruptions
from tests.support.kinds import KEEP, SCORED
from tests.support.naming import case_name
from tests.wire.test_decisions import sealed

CHECK = settings(max_examples=cases(20))
CURVES = ("roc_auc", "average_precision")
DECIDED = ["f1_macro", "hamming_loss"]
HEAVY = [1.0, 0.1, 2.5, 0.0, 1e-300]
TRENDS = ["ranking_loss", "ndcg", "precision_at(k=2)", "roc_auc_micro", "f1_micro"]

Row = tuple[Any, Any, Any, float]


class Stream:
    """Examples with scores or ranked lists, and the setup of an evaluator that keeps some of the states."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.keep = rng.choice([KEEP, KEEP, *([name] for name in KEEP), *(rng.sample(KEEP, 2) for _ in "ab")])
        self.weights = rng.choice([[1.0], HEAVY])
        ranked = "rankings" in self.keep
        threshold = rng.choice([0.5, 0.0, {label: rng.choice([0.25, -1.0, 0.5]) for label in LABELS}])
        scored = bool(SCORED.intersection(self.keep))
        if SCORED.issuperset(self.keep) and rng.random() < 0.3:
            threshold = None
        names = [] if threshold is None else list(DECIDED)
        for name in METRICS:
            if name not in DECIDED:
                names += [name] if ("curves" if name.startswith(CURVES) else "rankings") in self.keep else []
        self.names = names
        self.choices: dict[str, Any] = {"threshold": threshold, "nan": "missing", "keep": self.keep}
        if ranked:
            self.choices |= {"ties": rng.choice(["shared", "last"]), "inverse_propensities": PROPENSITIES}
        if rng.random() < 0.6:
            self.choices["labels"] = rng.sample(LABELS, rng.randint(1, 5))
            self.choices["unknown"] = rng.choice(["add", "ignore"])
        self.lists = scored and "curves" not in self.keep  # curves need scores
        self.examples = [self.example() for _ in range(rng.randint(0, 14))]

    def __repr__(self) -> str:
        return f"{self.names} {self.choices} {self.examples}"

    def example(self) -> Row:
        rng = self.rng
        true: Any = {label: rng.choice([0, 1, 1, None]) for label in rng.sample(LABELS, rng.randint(0, 5))}
        pred: Any = {label: rng.choice([*LEVELS, math.nan]) for label in rng.sample(LABELS, rng.randint(0, 5))}
        if self.lists and rng.random() < 0.3:
            pred = rng.sample(LABELS, rng.randint(0, 5))
        if rng.random() < 0.3:
            true = set(rng.sample(LABELS, rng.randint(0, 3)))
        mask = set(rng.sample(LABELS, rng.choice([1, 2]))) if rng.random() < 0.2 else set()
        return true, pred, mask, rng.choice(self.weights)

    def fresh(self) -> se.Evaluator:
        return se.Evaluator(self.names, **self.choices)

    def fed(self, examples: list[Row]) -> se.Evaluator:
        return put(self.fresh(), examples)


def put(target: Any, examples: list[Row], times: list[float] | None = None) -> Any:
    for place, (true, pred, mask, weight) in enumerate(examples):
        target.update(true, pred, mask=mask, weight=weight, **({} if times is None else {"t": times[place]}))
    return target


def put_many(target: Any, examples: list[Row], times: list[float] | None = None) -> None:
    true, pred, mask, weights = zip(*examples, strict=True) if examples else ((), (), (), ())
    target.update_many(
        iter(true), list(pred), mask=mask, weights=weights, **({} if times is None else {"times": times})
    )


def cuts(rng: random.Random, size: int) -> list[slice]:
    """Slices that cut a list of that size into pieces."""
    bounds = [0, *sorted(rng.randint(0, size) for _ in range(rng.randint(0, 4))), size]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def same(window: Any, anew: se.Evaluator) -> bool:
    """Whether a window holds exactly what a new evaluator has counted."""
    held = window.snapshot()
    return bool(held == anew and held.to_bytes() == anew.to_bytes() and repr(window.get()) == repr(anew.get()))


def streams() -> st.SearchStrategy[Stream]:
    return st.randoms(use_true_random=False).map(Stream)


# -- Rolling and TimeRolling ------------------------------------------------------------------------------------------


@CHECK
@given(streams(), st.integers(1, 6))
def test_rolling_equals_counting_the_last_examples_anew_at_every_step(stream: Stream, size: int):
    window = se.Rolling(stream.fresh(), size)
    for step, example in enumerate(stream.examples, 1):
        put(window, [example])
        assert same(window, stream.fed(stream.examples[max(0, step - size) : step]))
    last = stream.fed(stream.examples[-size:])
    assert window.examples == last.examples
    assert (window.weight, window.labels) == (last.weight, last.labels)
    if stream.choices["threshold"] is not None:
        assert readings(window.snapshot()) == readings(last)


@CHECK
@given(streams(), st.integers(1, 9))
def test_batches_slide_as_single_examples_do(stream: Stream, size: int):
    one, many = (se.Rolling(stream.fresh(), size) for _ in range(2))
    for part in cuts(stream.rng, len(stream.examples)):
        put(one, stream.examples[part])
        put_many(many, stream.examples[part])
        assert many == one
        assert same(many, stream.fed(stream.examples[: part.stop][-size:]))


@CHECK
@given(streams(), st.integers(1, 6))
def test_a_window_is_read_back_from_its_bytes_after_every_example(stream: Stream, size: int):
    window = se.Rolling(stream.fresh(), size)
    assert se.Rolling.from_bytes(window.to_bytes()) == window
    timed = se.TimeRolling(stream.fresh(), float(size))
    for step, example in enumerate(stream.examples):
        put(window, [example])
        put(timed, [example], [step // 2])
        for retained in (window, timed):
            back = type(retained).from_bytes(retained.to_bytes())
            assert back == retained == pickle.loads(pickle.dumps(retained)) == copy.deepcopy(retained)
            assert back.snapshot() == retained.snapshot()
        window, timed = se.Rolling.from_bytes(window.to_bytes()), timed.copy()
    assert same(window, stream.fed(stream.examples[-size:]))


@CHECK
@given(streams(), st.integers(1, 7), st.data())
def test_time_windows_hold_their_period_and_merge_exactly(stream: Stream, period: int, data: st.DataObject):
    size = len(stream.examples)
    times = sorted(data.draw(st.lists(st.integers(0, 8), min_size=size, max_size=size)))
    whole, many, *parts = (se.TimeRolling(stream.fresh(), period) for _ in range(5))
    for step, (example, t) in enumerate(zip(stream.examples, times, strict=True), 1):
        put(whole, [example], [t])
        put(stream.rng.choice(parts), [example], [t])
        there = [row for row, at in zip(stream.examples[:step], times, strict=False) if at > t - period]
        assert same(whole, stream.fed(there))
    for part in cuts(stream.rng, size):
        put_many(many, stream.examples[part], times[part])
    assert many == whole
    a, b, c = parts
    before = [part.to_bytes() for part in parts]
    assert ((a + b) + c).to_bytes() == (a + (c + b)).to_bytes() == sum(parts).to_bytes() == whole.to_bytes()
    assert (a + se.TimeRolling(stream.fresh(), period)).to_bytes() == before[0]
    assert [part.to_bytes() for part in parts] == before
    assert (a + b + c).snapshot() == whole.snapshot()
    if size:
        whole.advance(20)
        assert same(whole, stream.fresh())


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_that_come_and_go_leave_nothing_behind_in_a_window(weighted: bool):
    rng = random.Random(1)
    build = lambda: se.Evaluator(["ndcg", "roc_auc_macro", "f1_macro"], threshold=0.5, keep=KEEP)  # noqa: E731
    window, last, largest, held = se.Rolling(build(), 11), [], 0, 0
    steps = max(200, cases(700))
    for step in range(steps):
        pool = [f"{step // 20}-{number}" for number in range(5)] + ["always", step // 100]
        true = set(rng.sample(pool, rng.randrange(4)))
        pred = {label: rng.random() for label in rng.sample(pool, rng.randrange(6))}
        weight = rng.choice(HEAVY) if weighted and (step // 50) % 2 else 1.0
        last = [*last, (true, pred, set(), weight)][-11:]
        put(window, last[-1:])
        largest = max(largest, len(window._now[0].labels))
        held = max(held, len(window._now[0].states.states["pairs"].table.items()[1]))
        if step % 9 == 0 or step > steps - 20:
            assert same(window, put(build(), last))
    assert largest < 150
    assert held < 1500
    assert len(window.to_bytes()) < 3000


FORMS: dict[str, dict[str, Any]] = {
    "float32 rows": {"labels": LABELS[:4]},
    "float64 rows with NaN": {"labels": LABELS[:4]},
    "rows without declared labels": {},
    "rows with NaN without declared labels": {},
    "sparse rows": {"labels": LABELS[:4]},
    "sparse rows, threshold 0": {"labels": LABELS[:4], "threshold": 0.0},
    "frames": {"labels": LABELS[:4]},
    "best": {"labels": LABELS[:4]},
    "best without scores": {"labels": LABELS[:4], "keep": ["rankings", "pairs"]},
    "ranked lists": {"keep": ["rankings"]},
    "many declared": {"labels": [*LABELS[:4], *(f"more {number}" for number in range(600))], "unknown": "add"},
}


@pytest.mark.parametrize(("form", "weighted"), crossed(FORMS, (False, True)))
def test_batches_of_every_form_of_scores_slide_as_single_examples_do(form: str, weighted: bool):
    rng = np.random.default_rng(5)
    setup: dict[str, Any] = {"threshold": 0.5, "nan": "missing", "keep": KEEP, **FORMS[form]}
    setup["ties"] = "last" if weighted else "shared"
    names = ["ndcg", "ranking_loss", "f1_macro"]
    true = (rng.random((60, 4)) < 0.4).astype(np.uint8)
    scores: Any = np.round(rng.random((60, 4)), 1)
    if form == "float32 rows":
        scores = scores.astype(np.float32)
    if "NaN" in form or form == "ranked lists":
        scores[rng.random(scores.shape) < 0.3] = math.nan
    weights = rng.choice([0.5, 1.0, 3.0], 60) if weighted else np.ones(60)

    def batch(part: slice) -> tuple[Any, Any]:
        if "sparse" in form:
            return sparse.csr_matrix(true[part]), sparse.csr_matrix(np.where(scores[part] > 0.6, scores[part], 0))
        if form == "frames":
            return tuple(pd.DataFrame(side[part], columns=LABELS[:4]) for side in (true, scores))
        order = np.argsort(-scores[part], axis=1, kind="stable")[:, :3]
        if form == "best":
            return true[part], se.TopK(order, np.take_along_axis(scores[part], order, axis=1))
        if form == "best without scores":
            return true[part], se.TopK(order)
        if form == "ranked lists":
            lists = [[LABELS[place] for place in row if place != 1] for row in order.tolist()]
            return [{LABELS[at] for at in np.flatnonzero(row)} for row in true[part]], lists
        if form == "many declared":
            return [
                [{LABELS[at]: float(side[at]) for at in range(4)} for side in rows[part]] for rows in (true, scores)
            ]
        return true[part], scores[part]

    for size in spread((1, 200, 7, 60, 40, 59), 3):
        many, one = (se.Rolling(se.Evaluator(names, **setup), size) for _ in range(2))
        for part in (slice(0, 3), slice(3, 3), slice(3, 40), slice(40, 41), slice(41, 60)):
            many.update_many(*batch(part), weights=weights[part] if weighted else None)
        for row in range(60):
            one.update_many(*batch(slice(row, row + 1)), weights=weights[row : row + 1])
        assert many.to_bytes() == one.to_bytes()
        anew = se.Evaluator(names, **setup)
        anew.update_many(*batch(slice(max(0, 60 - size), 60)), weights=weights[max(0, 60 - size) :])
        assert same(many, anew)
        assert se.Rolling.from_bytes(many.to_bytes()) == many


def test_scores_take_four_bytes_until_one_needs_eight():
    window = se.Rolling(se.Evaluator(["ndcg"], keep=["curves"]), 3)
    window.update({"a"}, {"a": 0.5, "b": -0.0})
    narrow = window.to_bytes()
    window.update({"a"}, {"a": 0.1, "b": 1e-300})
    assert len(window.to_bytes()) - len(narrow) > 16
    for _ in range(3):
        window.update({"a"}, {"a": 0.5, "b": 0.0})
    again = se.Rolling(se.Evaluator(["ndcg"], keep=["curves"]), 3)
    again.update_many([{"a"}] * 3, [{"a": np.float32(0.5), "b": 0}] * 3)
    assert again.to_bytes() == window.to_bytes()


@pytest.mark.parametrize(
    ("keep", "dtype"), crossed([[], ["rankings"], ["curves"], ["rankings", "curves"]], [np.float32, np.float64, dict])
)
def test_a_window_slides_in_a_trace_as_outside_and_not_where_another_object_refuses(keep: list[str], dtype: Any):
    draw, labels = np.random.default_rng(5), list("abcd")

    def of_all() -> se.Evaluator:
        return se.Evaluator([], labels=labels, threshold=0.5, keep=keep)

    single, inner, few = (se.Rolling(of_all(), size=size) for size in (6, 6, 70))
    trace = se.Trace({"few": inner, "many": few, "other": se.Evaluator([], labels=["a"], threshold=0.5)}, every=1000)
    for number in range(120):
        scores = draw.choice([0.25, 0.5, float(draw.random())], 4 if number % 3 else 2)
        names = draw.permutation(labels)[: len(scores)].tolist()
        if dtype is not dict:
            scores, names = np.resize(scores, 4).astype(dtype if number < 60 else np.float64), labels
        y_pred = dict(zip(names, scores.tolist(), strict=True)) if dtype is dict else scores
        y_true = {"d", names[0]}
        before = trace.to_bytes()
        with pytest.raises(se.InputError):
            trace.update(y_true, y_pred)
        assert trace.to_bytes() == before
        both = se.Trace({"few": inner, "many": few}, every=1000)
        both.update(y_true, y_pred)
        single.update(y_true, y_pred)
        assert inner.to_bytes() == single.to_bytes() == se.Rolling.from_bytes(single.to_bytes()).to_bytes()
    for one in (both, single, se.Trace(se.Rolling(of_all(), size=1))):
        for _ in range(8):
            one.update(set(), {})  # an example without scores, of which the tape copies nothing
    assert inner.to_bytes() == single.to_bytes()
    assert few.examples == 70


@pytest.mark.skipif(BACKEND != "compiled", reason="numpy has no such call")
@pytest.mark.parametrize(("labels", "code"), [(10, DONE), (70_000, OTHER)])
def test_the_kernel_call_slide_evicts_no_example_so_wide_that_other_threads_may_run(labels: int, code: int):
    """Such threads would place their examples in the memory from which the scores of this one are read."""
    window = se.Rolling(se.Evaluator(["ranking_loss"]), 2)
    for _ in range(30):  # samples of the input are noted first, outside of the fast path
        window.update({0}, {0: 0.5})
    for scores in (dict.fromkeys(range(labels), 0.5), {0: 0.5}):
        window.update({0}, scores)
    history, _, core = window._now
    names = core.labels.known, core.labels.fixed
    assert history.tape.slide(history.counts, *names, {0}, {0: 0.5}, core.threshold, 2) == code


# -- Tumbling and Fading ----------------------------------------------------------------------------------------------


@CHECK
@given(streams(), st.integers(1, 5))
def test_tumbling_windows_hold_their_own_examples(stream: Stream, size: int):
    one, many = (se.Tumbling(stream.fresh(), size=size, history=2) for _ in range(2))
    put(one, stream.examples)
    for part in cuts(stream.rng, len(stream.examples)):
        put_many(many, stream.examples[part])
    assert many == one == se.Tumbling.from_bytes(one.to_bytes())
    start = len(stream.examples) // size * size
    assert same(one, stream.fed(stream.examples[start:]))
    for closed in one.closed:
        assert closed.evaluator == stream.fed(stream.examples[closed.start : closed.end])


@CHECK
@given(streams(), st.sampled_from(["Tumbling", "Fading"]), st.data())
def test_blocks_of_time_merge_exactly_in_any_order_and_grouping(stream: Stream, kind: str, data: st.DataObject):
    def build() -> Any:
        return (
            se.Tumbling(stream.fresh(), period=3, history=2) if kind == "Tumbling" else se.Fading(stream.fresh(), 2.5)
        )

    times = data.draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 2.5, 4.75, 6.5]), min_size=14, max_size=14))
    pairs = list(zip(stream.examples, times, strict=False))
    whole, many, *parts = (build() for _ in range(5))
    for example, t in sorted(pairs, key=lambda pair: pair[1]):
        put(whole, [example], [t])
    for example, t in data.draw(st.permutations(pairs)):
        put(stream.rng.choice(parts), [example], [t])
    put_many(many, [example for example, _ in pairs], [t for _, t in pairs])
    a, b, c = parts
    assert ((a + b) + c).to_bytes() == (a + (c + b)).to_bytes() == whole.to_bytes() == many.to_bytes()
    back = type(whole).from_bytes(whole.to_bytes())
    assert back == whole
    assert back.snapshot() == whole.snapshot()
    assert se.Evaluator.from_bytes(whole.snapshot().to_bytes()) == whole.snapshot()
    assert repr(whole.get()) == repr(back.get()) == repr((a + b + c).get())


@CHECK
@given(streams())
def test_fading_with_a_half_life_of_one_example_is_exactly_the_stream_with_halved_weights(stream: Stream):
    one, many = (se.Fading(stream.fresh(), 1) for _ in range(2))
    for step, example in enumerate(stream.examples):
        put(one, [example])
        light = [
            (*row[:3], float(Fraction(row[3]) / 2 ** (step - age)))
            for age, row in enumerate(stream.examples[: step + 1])
        ]
        assert same(one, stream.fed(light))
    for part in cuts(stream.rng, len(stream.examples)):
        put_many(many, stream.examples[part])
    assert many == one == se.Fading.from_bytes(one.to_bytes())


@pytest.mark.parametrize("half_life", [3, 3.0])
def test_fading_weighs_every_state_by_powers_of_two_with_fractional_exponents(half_life: float):
    rng = np.random.default_rng(2)
    true, scores = (rng.random((60, 5)) < 0.4).astype(np.uint8), rng.random((60, 5)).astype(np.float32)
    window = se.Fading(se.Evaluator(TRENDS, threshold=0.5, keep=KEEP), half_life)
    window.update_many(
        true, scores, **({} if half_life == 3 and type(half_life) is int else {"times": np.arange(60.0)})
    )
    plain = se.Evaluator(TRENDS, threshold=0.5, keep=KEEP)
    plain.update_many(true, scores, weights=[2.0 ** ((step - 59) / 3) for step in range(60)])
    for name, value in window.get().items():
        assert value == pytest.approx(plain.get(name), rel=1e-12), name
    assert window.weight == pytest.approx(plain.weight, rel=1e-12)
    assert window.snapshot()._view("pairs", "this").examples == 60


# -- values -----------------------------------------------------------------------------------------------------------

KINDS: dict[str, Callable[[se.Evaluator], Any]] = {
    "Rolling": lambda ev: se.Rolling(ev, 3),
    "TimeRolling": lambda ev: se.TimeRolling(ev, 2.5),
    "Tumbling": lambda ev: se.Tumbling(ev, size=3, history=2),
    "Fading": lambda ev: se.Fading(ev, 2),
}


def joint(**extra: Any) -> se.Evaluator:
    return se.Evaluator(["ndcg", "roc_auc_macro", "f1_macro"], threshold=0.5, **{"keep": KEEP, **extra})


def at(kind: str, step: float) -> dict[str, float]:
    return {"t": step} if kind == "TimeRolling" else {}


def filled(kind: str, weight: float = 1.0, steps: int = 5, **extra: Any) -> Any:
    window = KINDS[kind](joint(**extra))
    for step in range(steps):
        pred = {"a": 0.75, "b": 0.1 * step, f"c{step % 3}": 0.5}
        window.update({"a", f"c{step}"}, pred, weight=weight, mask={"m"} if step % 2 else None, **at(kind, step))
    return window


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_is_saved_loaded_and_read_as_its_evaluator(kind: str, tmp_path: Path):
    window = filled(kind, weight=0.3)
    window.save(tmp_path / "window")
    assert se.load(tmp_path / "window") == window
    held = window.snapshot()
    assert held.get("lrap") == window.get("lrap")
    assert window.report() == held.report()
    assert repr(window._view("curves", "this").labels) == repr(held._view("curves", "this").labels)
    assert window.reads_scores
    with pytest.raises(se.FormatError, match=kind):
        se.Evaluator.from_bytes(window.to_bytes())
    held.update({"a"}, {"a": 0.1})
    assert held != window.snapshot()
    twin = window.copy()
    assert twin == window
    twin.update({"z"}, {"z": 0.25}, **at(kind, 9))
    assert twin != window
    assert window == filled(kind, weight=0.3)
    window.reset()
    assert window == KINDS[kind](joint())
    with pytest.raises(se.MetricError, match="rankings"):
        KINDS[kind](se.F1())._view("rankings", "this")


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_metric_of_scores_may_stand_in_a_window(kind: str):
    window = KINDS[kind](se.RocAuc())
    for step, score in enumerate([0.2, 0.6, 0.4, 0.8]):
        window.update({"a"} if step % 2 else set(), {"a": score}, **at(kind, step))
    assert repr(window.get()) == repr(window.snapshot().get())
    assert window.bigger_is_better
    assert type(window).from_bytes(window.to_bytes()) == window


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_calls_that_fail_change_nothing(kind: str, weight: float):
    window = filled(kind, weight=weight)
    before, when = window.to_bytes(), at(kind, 9)
    times = {"times": [9.0, 9.0]} if when else {}
    calls: list[tuple[str, Callable[[], object]]] = [
        ("ranked lists", lambda: window.update({"a"}, ["b", "a"], **when)),
        ("binary predictions", lambda: window.update({"a"}, {"new"}, **when)),
        ("is nan for label", lambda: window.update({"a"}, {"a": 0.1, "new": math.nan}, **when)),
        ("is inf for label", lambda: window.update({"a"}, {"a": math.inf}, **when)),
        ("is nan for label", lambda: window.update_many([{"a"}] * 2, [{"a": 0.5}, {"new": math.nan}], **times)),
        ("numbers of examples", lambda: window.update_many([{"a"}] * 2, [{"a": 0.5}], **times)),
        ("weight", lambda: window.update({"new"}, {"new": 0.5}, weight=-1.0, **when)),
    ]
    for message, call in calls:
        with pytest.raises(se.InputError, match=message):
            call()
        assert window.to_bytes() == before, message
    put(window, [({"a"}, {"a": 0.5}, set(), 1.0)], [9.0] if when else None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_without_a_propensity_is_refused_and_the_window_stays_as_it_was(kind: str):
    build = lambda: se.Evaluator(["psp_at(k=2)", "ndcg"], keep=KEEP, threshold=0.5, inverse_propensities={"a": 2.0})  # noqa: E731
    window = KINDS[kind](build())
    for step in range(4):
        window.update({"a"}, {"a": 0.5}, **at(kind, step))
    before = window.to_bytes()
    with pytest.raises(se.LabelError, match="propensity"):
        window.update({"b"}, {"b": 0.5}, **at(kind, 5))
    with pytest.raises(se.LabelError, match="propensity"):
        window.update_many([{"a"}, {"b"}], [{"a": 0.5}, {"b": 0.5}], **({"times": [5.0, 6.0]} if at(kind, 5) else {}))
    assert window.to_bytes() == before
    assert window.labels == ("a",)


def test_a_refused_example_leaves_no_label_behind_that_a_later_merge_would_refuse():
    build = lambda: se.Evaluator(["psp_at(k=2)"], keep=KEEP, threshold=0.5, inverse_propensities={"a": 2.0})  # noqa: E731
    ev, other = build(), build()
    ev.update({"a"}, {"a": 0.5}, weight=0.5)
    with pytest.raises(se.LabelError, match="propensity"):
        ev.update({"b"}, {"b": 0.5, "c": 0.75}, weight=0.5)
    other.update(set(), {"z": 0.5}, weight=0.5)
    assert (other + ev).labels == (ev + other).labels == ("a", "z")
    assert other + ev == ev + other


def test_windows_of_evaluators_that_keep_different_states_do_not_merge():
    a, b = (se.TimeRolling(joint(keep=keep), 5) for keep in (KEEP, ["rankings", "curves"]))
    with pytest.raises(se.MergeError, match="states differ"):
        a.merge(b)


OPERATIONS: dict[str, Callable[[Any, str], object]] = {
    "one": lambda w, kind: w.update({"a", "new"}, {"newer": 0.7, "c4": 0.2}, mask={"newest"}, **at(kind, 7)),
    "weighted": lambda w, kind: w.update({"a", "new"}, {"b": 0.25}, weight=0.7, **at(kind, 7)),
    "failing": lambda w, kind: w.update({"new"}, {"newer": 0.5, "last": math.nan}, **at(kind, 7)),
    "many": lambda w, kind: w.update_many(
        [{"a"}, {"new"}], [{"newer": 0.5}, {}], weights=[0.1, 1.0], **({"times": [7.0, 7.5]} if at(kind, 7) else {})
    ),
    "reading": lambda w, _: (w.get(), w.to_bytes(), w.copy()),
}


@pytest.mark.parametrize(("weight", "case"), crossed([1.0, 0.3], crossed(KINDS, OPERATIONS)), ids=case_name)
def test_an_interruption_anywhere_leaves_a_window_as_before_or_as_after(weight: float, case: tuple[str, str]):
    kind, operation = case

    def go_on(window: Any) -> None:
        window.update({"x", "new"}, {"newer": 0.5, "a": 0.1}, weight=0.7, **at(kind, 8))

    make, run = partial(filled, kind, weight), lambda window: OPERATIONS[operation](window, kind)
    check_interruptions(make, run, go_on, cases(8), f"{kind}, {operation}")


class Meddling(dict):
    """Scores that, when read, change the window that reads them."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__({"m": 0.5})
        self.meddle = meddle

    def items(self) -> Any:
        self.meddle()
        return super().items()


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_that_changes_while_it_reads_an_example_counts_both_or_refuses_the_example(kind: str):
    for meddle in (lambda w: w.update({"a"}, {"z": 0.5}, **at(kind, 7)), lambda w: w.reset()):
        window, without = filled(kind), filled(kind)
        meddle(without)
        try:
            window.update({"a"}, Meddling(lambda window=window, meddle=meddle: meddle(window)), **at(kind, 8))
        except se.InputError as error:
            assert "was changed by the very examples" in str(error)  # noqa: PT017  # a refusal is allowed
        else:
            without.update({"a"}, {"m": 0.5}, **at(kind, 8))
        assert window == without
        assert window.snapshot() == without.snapshot()


# -- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_damaged_bytes_are_refused(kind: str, weight: float):
    data = filled(kind, weight, steps=4).to_bytes()
    own, body, drawn = type(filled(kind)), bytearray(data[:-4]), random.Random(4)
    for cut in spread(range(len(data)), 200):
        with pytest.raises(se.FormatError):
            own.from_bytes(data[:cut])
    retained = tried = 0
    for place in spread(range(8, len(body)), 60):
        for value in {0, 255, body[place] ^ 1, body[place] ^ 128, drawn.randrange(256)} - {body[place]}:
            edited = sealed(bytes(body[:place]) + bytes([value]) + bytes(body[place + 1 :]))
            tried += 1
            try:
                result = own.from_bytes(edited)
            except se.FormatError:
                continue
            retained += 1
            assert result.to_bytes() == edited
            result.labels, result.weight, result.snapshot(), attempted(result.get)
    assert retained < tried


SPOILT: dict[str, dict[str, Any]] = {
    "a hidden cell": {"columns": [0, 2]},
    "columns that descend": {"columns": [1, 0]},
    "a column twice": {"columns": [0, 0]},
    "a column that is not there": {"columns": [0, 3]},
    "lengths that promise more": {"lengths": [3]},
    "lengths that promise less": {"lengths": [1]},
    "an infinite score": {"scores": [0.5, math.inf]},
    "no score": {"scores": [0.5, math.nan]},
    "a negative zero": {"scores": [0.5, -0.0]},
    "eight bytes where four do": {"scores": np.array([0.5, 0.25], np.float64)},
    "a prediction where nothing is decided": {"slots": [3, 14]},
}


@pytest.mark.parametrize("what", SPOILT)
def test_scores_that_contradict_the_example_are_refused(what: str, monkeypatch: pytest.MonkeyPatch):
    window = se.Rolling(se.Evaluator(["ndcg"], labels=["a", "b"], unknown="add", keep=["curves"]), 3)
    window.update({"a"}, {"a": 0.5, "b": 0.25}, mask={"c"})
    recording = window._recording(window._now[0])
    (examples,) = recording.blocks()
    assert examples.scores is not None
    for name, value in SPOILT[what].items():
        kind = np.float32 if name == "scores" and not isinstance(value, np.ndarray) else np.int32
        made = value if isinstance(value, np.ndarray) else np.array(value, kind)
        if name == "slots":
            examples = examples._replace(slots=made)
        else:
            examples = examples._replace(scores=examples.scores._replace(**{name: made}))
    monkeypatch.setattr(se.Rolling, "_recording", lambda *_: recording._replace(blocks=lambda: iter([examples])))
    data = window.to_bytes()
    monkeypatch.undo()
    with pytest.raises(se.FormatError):
        se.Rolling.from_bytes(data)


def test_memory_is_bounded_by_the_size_of_the_bytes():
    data = bytearray(filled("Rolling").to_bytes()[:-4])
    for place in range(9, len(data)):
        edited = sealed(bytes(data[:place]) + b"\xff\xff\xff\xff\x7f" + bytes(data[place + 5 :]))
        tracemalloc.start()
        try:
            attempted(lambda edited=edited: se.Rolling.from_bytes(edited))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2**21


# -- traces, queues and loops over windows ----------------------------------------------------------------------------


def test_traces_queues_and_progressive_evaluation_accept_windows_of_scores():
    rng = random.Random(3)
    names = ["ranking_loss", "roc_auc_macro", "f1_micro"]
    examples = [
        ({label: rng.random() < 0.4 for label in "abc"}, {label: round(rng.random(), 2) for label in "abc"})
        for _ in range(60)
    ]
    window = se.Rolling(se.Evaluator(names, threshold=0.5), 20)
    trace = se.Trace({"recent": se.Rolling(se.Evaluator(names, threshold=0.5), 20)}, every=10)
    queue = se.Pending(se.Rolling(se.Evaluator(names, threshold=0.5), 20))
    for number, (true, pred) in enumerate(examples):
        window.update(true, pred)
        trace.update(true, pred)
        queue.predict(number, pred)
    for number, (true, _) in enumerate(examples):
        queue.observe(number, true)
    assert trace.evaluators == {"recent": window}
    assert len(trace) == 6
    assert queue.evaluator == window
    assert (
        window.get() == put(se.Evaluator(names, threshold=0.5), [(*pair, None, 1.0) for pair in examples[-20:]]).get()
    )
    model = multioutput.ClassifierChain(linear_model.LogisticRegression(), order=["a", "b", "c"])
    pairs = [({"x": rng.random()}, true) for true, _ in examples]
    result = se.progressive_evaluate(iter(pairs), model, se.Rolling(se.Evaluator(names, threshold=0.5), 20))
    assert result.examples == 20
    assert 0 <= result.get("roc_auc_macro") <= 1
