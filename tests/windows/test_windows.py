"""Windows that remember their examples: the last ones, and those of the last period."""

from __future__ import annotations

import copy
import math
import pickle
import random
import subprocess
import sys
import tracemalloc
from collections import deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.inputs import batching
from streameval.inputs.batching import read_one
from streameval.inputs.columns import Reader
from streameval.kernel.commit.numpy import Root
from streameval.kernel.decisions import numpy as _numpy
from streameval.kernel.tape import numpy as _tape
from streameval.kernel.types import DONE, OTHER
from streameval.schema.config import Config
from streameval.schema.labels import LabelIndex
from tests.kernel.decisions.test_twins import everything, needs_compiled
from tests.support.each import with_each
from tests.support.effort import cases, crossed, spread
from tests.support.interruptions import check_interruptions
from tests.support.naming import case_name
from tests.support.streams import Example, Stream, feed_many, readings, streams
from tests.support.twins import cells_in, count_slots
from tests.wire.test_decisions import sealed, varint

CHECK = settings(max_examples=cases(40))
NAMES = ["f1_macro", "hamming_loss", "recall_samples"]
NOON = datetime(2024, 5, 1, 12)


def fed(stream: Stream, retained: list[Example]) -> bytes:
    return stream.fed(retained).to_bytes()


def churn(seed: int, steps: int, *, weighted: bool) -> list[tuple[set, set, float, set | None]]:
    """Examples whose labels come and go, some of them masked."""
    drawn = random.Random(seed)
    made = []
    for step in range(steps):
        pool = [f"{step // 40}-{number}" for number in range(6)] + ["always", step // 300]
        sides = [set(drawn.sample(pool, drawn.randrange(5))) for _ in range(2)]
        weight = drawn.choice([1.0, 0.1, 3.0, 0.0, 1e-300]) if weighted and (step // 500) % 2 else 1.0
        mask = set(drawn.sample(pool, 2)) if step % 7 == 0 else None
        made.append((*sides, weight, mask))
    return made


# -- Rolling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_rolling_equals_counting_the_last_examples_anew_at_every_step(weighted: bool):
    rolling, last = se.Rolling(se.Evaluator(NAMES), size=37), deque(maxlen=37)
    for true, pred, weight, mask in churn(1, cases(1000 if weighted else 3000), weighted=weighted):
        rolling.update(true, pred, weight=weight, mask=mask)
        last.append((true, pred, weight, mask))
        anew = se.Evaluator(NAMES)
        for input_true, input_pred, input_weight, input_mask in last:
            anew.update(input_true, input_pred, weight=input_weight, mask=input_mask)
        assert rolling.snapshot().to_bytes() == anew.to_bytes()
        assert rolling.get() == anew.get()
        assert rolling.examples == anew.examples


@CHECK
@given(streams(max_size=30), st.integers(1, 12), st.data())
def test_rolling_over_any_setup_holds_the_last_examples(stream: Stream, size: int, data: st.DataObject):
    one, many = se.Rolling(stream.fresh(), size), se.Rolling(stream.fresh(), size)
    for number, example in enumerate(stream.examples, 1):
        example.update(one, again=data.draw(st.booleans()))
        assert one.snapshot().to_bytes() == fed(stream, stream.examples[max(0, number - size) : number])
    rest = stream.examples
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        feed_many(many, rest[:cut], iterators=data.draw(st.booleans()), again=data.draw(st.booleans()))
        rest = rest[cut:]
    assert many.to_bytes() == one.to_bytes()
    assert many == one
    assert readings(many.snapshot()) == readings(one.snapshot())
    back = se.Rolling.from_bytes(one.to_bytes())
    for window in (back, one):
        for example in stream.examples:
            example.update(window)
    assert back == one


FORMS = ("bool rows", "float scores", "lists", "frames", "rows with lists")


@pytest.mark.parametrize(("form", "weighted", "declared"), crossed(FORMS, [False, True], [True, False]))
def test_batches_of_every_form_slide_as_single_examples_do(form: str, weighted: bool, declared: bool):
    rng = np.random.default_rng(3)
    names = ["a", "b", "c", "d"] if form in ("lists", "frames", "rows with lists") else [0, 1, 2, 3]
    setup = {"labels": names if declared or form == "rows with lists" else None}
    setup["threshold"] = 0.5 if form == "float scores" else None
    true, scores = rng.random((400, 4)) < 0.4, rng.random((400, 4))
    pred = scores >= 0.5
    input_weights = rng.choice([0.5, 1.0, 3.0], 400) if weighted else np.ones(400)
    for size in (1, 7, 130, 399, 400, 401):
        many = se.Rolling(se.Evaluator(NAMES, **setup), size)
        one = se.Rolling(se.Evaluator(NAMES, **setup), size)
        for start, stop in [(0, 3), (3, 3), (3, 200), (200, 201), (201, 400)]:
            part = slice(start, stop)
            lists = [[[n for n, b in zip(names, row, strict=True) if b] for row in side[part]] for side in (true, pred)]
            batch = {
                "bool rows": (true[part], pred[part].astype(np.uint8)),
                "float scores": (true[part], scores[part]),
                "lists": (lists[0], lists[1]),
                "frames": tuple(pd.DataFrame(side[part], columns=names) for side in (true, pred)),
                "rows with lists": (true[part], lists[1]),
            }[form]
            many.update_many(*batch, weights=input_weights[part] if weighted else None)
            for row in range(start, stop):
                if form == "lists":
                    said = lists[0][row - start], lists[1][row - start]
                else:
                    said = tuple(dict(zip(names, side[row].tolist(), strict=True)) for side in (true, pred))
                one.update(*said, weight=float(input_weights[row]))
        assert many.to_bytes() == one.to_bytes(), size


@pytest.mark.parametrize(
    ("size", "metric", "weighted"), crossed([5, 1100, 1200], ["f1_macro", "roc_auc_macro"], [False, True])
)
def test_a_batch_that_is_read_in_pieces_leaves_the_last_examples_in_the_window(
    size: int, metric: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
):
    for name in ("_EXAMPLES", "_SCORED_EXAMPLES"):
        monkeypatch.setattr(batching, name, 400)
    rng, count = np.random.default_rng(size), 1150
    true, scores = rng.integers(0, 3, (2 * count, 1)).tolist(), rng.random((2 * count, 3))
    pred = [dict(enumerate(row)) for row in (scores > 0.5 if metric == "f1_macro" else scores).tolist()]
    weights = rng.choice([0.5, 1.0, 2.0], 2 * count)
    pieces, last = (se.Rolling(se.Evaluator([metric]), size) for _ in range(2))
    for part in (slice(count), slice(count, None)):  # the second is longer than the first window, or evicts most of it
        pieces.update_many(iter(true[part]), iter(pred[part]), weights=weights[part] if weighted else None)
    for row in range(2 * count - size, 2 * count):
        last.update(true[row], pred[row], weight=float(weights[row]) if weighted else 1.0)
    assert pieces.to_bytes() == last.to_bytes()
    assert pieces.snapshot().to_bytes() == last.snapshot().to_bytes()


@pytest.mark.parametrize(
    ("unknown", "form", "size"), crossed(["error", "ignore", "add"], ["mappings", "sets", "arrays"], [1, 2, 3, 20])
)
def test_batches_slide_as_single_examples_do_where_very_many_labels_are_declared(unknown: str, form: str, size: int):
    """A batch is then read with an index of its own labels only, which does not begin with the declared labels."""
    rng, declared = random.Random(size), [f"l{number}" for number in range(600)]
    shuffled = rng.sample(declared, 600)

    def side() -> object:
        chosen = {label: rng.random() < 0.5 for label in rng.sample(declared[:5] + declared[-5:], rng.randrange(6))}
        if form == "arrays":
            return np.array([chosen.get(label, False) for label in shuffled])
        if unknown != "error" and rng.random() < 0.5:
            chosen["met"] = rng.random() < 0.5
        return chosen if form == "mappings" else {label for label, said in chosen.items() if said}

    def windows() -> tuple[se.Rolling, se.TimeRolling]:
        ev = se.Evaluator(["f1_macro"], labels=shuffled, unknown=unknown)
        return se.Rolling(ev, size), se.TimeRolling(ev, float(size))

    (batches, timed_batches), (singles, timed_singles) = windows(), windows()
    now = 0
    for batch in range(24):
        pairs = [(side(), side()) for _ in range(rng.choice([1, 2, 3, 7]))]
        weighted = batch < 8 and rng.random() < 0.5
        weights = [rng.choice([1.0, 0.5]) for _ in pairs] if weighted else [1.0] * len(pairs)
        times = [float(now := now + rng.randrange(2)) for _ in pairs]
        sides = [np.array(each) if form == "arrays" else list(each) for each in zip(*pairs, strict=True)]
        batches.update_many(*sides, weights=weights if weighted else None)
        timed_batches.update_many(*sides, weights=weights if weighted else None, times=times)
        for pair, weight, t in zip(pairs, weights, times, strict=True):
            singles.update(*pair, weight=weight)
            timed_singles.update(*pair, weight=weight, t=t)
        assert batches == singles
        assert timed_batches == timed_singles
        assert batches.get() == singles.get()
        assert batches.labels[:600] == tuple(shuffled)


class _Unplain(dict[str, bool]):
    """A mapping that is read in Python, because the kernel reads plain dictionaries only."""


@pytest.mark.parametrize(
    ("holder", "keep"),
    crossed([
        lambda ev: ev, lambda ev: se.Rolling(ev, 9), lambda ev: se.TimeRolling(ev, 9.0), lambda ev: se.Fading(ev, 9),
        lambda ev: se.Tumbling(ev, size=9), lambda ev: se.Sliced(ev, by="region"), lambda ev: se.Trace(ev, every=9),
        se.Pending,
    ], [(), ("pairs",), ("rankings", "curves")]),
)  # fmt: skip
def test_a_masked_example_counts_the_same_however_it_is_read(holder: Callable[[se.Evaluator], Any], keep: tuple[str]):
    rng, names = random.Random(1), ["a", "b", "c", "d"]
    scored = "curves" in keep
    holders = [holder(se.Evaluator([], labels=names[:2], unknown="add", keep=keep)) for _ in range(2)]
    for step in range(60):
        y_true = {name for name in names if rng.random() < 0.4}
        y_pred = {name: rng.random() if scored else rng.random() < 0.4 for name in names if rng.random() < 0.9}
        mask = {name: rng.random() < 0.5 for name in names if rng.random() < 0.6} if step % 3 else None
        weight = 1.0 if step < 30 else rng.choice([0.5, 1.0, 3.0])
        for one, form in zip(holders, (dict, _Unplain), strict=True):
            how: dict[str, Any] = {"weight": weight, "mask": None if mask is None else form(mask)}
            how |= {"t": float(step)} if isinstance(one, se.TimeRolling) else {}
            how |= {"where": {"region": step % 2}} if isinstance(one, se.Sliced) else {}
            if isinstance(one, se.Pending):
                one.predict(step, y_pred)
                one.observe(step, y_true, **how)
            else:
                one.update(y_true, y_pred, **how)
            if step % 4 == 1 and isinstance(one, se.Evaluator):
                one.revert(y_true, y_pred, **how)
        assert holders[0] == holders[1], step


@pytest.mark.parametrize("scored", [False, True])
def test_a_batch_of_rows_with_a_mask_slides_as_single_examples_do(scored: bool):
    rng = np.random.default_rng(4)
    true, mask = rng.random((2, 120, 3)) < 0.4
    pred = rng.random((120, 3)) if scored else ~true
    one, many = (se.Rolling(se.Evaluator(["lrap"] if scored else NAMES, labels=range(3)), 5) for _ in range(2))
    many.update_many(true, pred)  # of the first batch samples are noted, outside of the fast path
    many.update_many(true, pred, mask=mask)
    for y_true, y_pred, unknown in zip(true, pred, mask, strict=True):
        one.update(y_true, y_pred, mask=unknown)
    assert many == one == se.Rolling.from_bytes(many.to_bytes())
    with pytest.raises(se.InputError, match="null must be one of"):
        many.update_many(true, pred, null="drop")
    assert many == one


def test_a_batch_whose_times_go_back_is_refused():
    window = se.TimeRolling(se.Evaluator(), 10.0)
    window.update({"a"}, {"a"}, t=1.0)
    before = window.to_bytes()
    for times, message in ([5.0, 4.0], "goes back at position 1"), ([0.5, 4.0], "0.5 is before 1.0"):
        with pytest.raises(se.InputError, match=message):
            window.update_many([{"a"}, {"b"}], [{"a"}, {"b"}], times=times)
    window.update_many([], [], times=[])
    assert window.to_bytes() == before


def test_the_error_for_a_time_that_goes_back_writes_both_times_in_utc():
    window = se.TimeRolling(se.Evaluator(), timedelta(hours=1))
    winter, summer = (datetime(2024, 10, 27, 2, 15, tzinfo=timezone(timedelta(hours=hours))) for hours in (1, 2))
    window.update({"a"}, {"a"}, t=winter)
    with pytest.raises(se.InputError, match=r"back: 2024-10-27 00:15:00\+00:00 is before 2024-10-27 01:15:00\+00:00;"):
        window.update({"a"}, {"a"}, t=summer)


def test_a_wrong_row_in_a_batch_changes_nothing_even_if_the_batch_would_evict_it():
    rolling = se.Rolling(se.Evaluator(labels=["a", "b"], threshold=0.5), 3)
    rolling.update({"a"}, {"b"})
    before = rolling.to_bytes()
    true, scores = np.zeros((50, 2), np.uint8), np.zeros((50, 2))
    for spoil in ("true", "scores"):
        bad_true, bad_scores = true.copy(), scores.copy()
        if spoil == "true":
            bad_true[0, 0] = 7
        else:
            bad_scores[0, 0] = math.nan
        for extra in ({}, {"weights": np.full(50, 0.5)}):
            with pytest.raises(se.InputError):
                rolling.update_many(bad_true, bad_scores, **extra)
            assert rolling.to_bytes() == before
    with pytest.raises(se.InputError, match="numbers of examples differ"):
        rolling.update_many([{"a"}] * 5, [{"a"}] * 4)
    with pytest.raises(se.LabelError):
        rolling.update({"a"}, {"zebra"})
    assert rolling.to_bytes() == before


@pytest.mark.filterwarnings("ignore:no label of y_true:streameval.DataWarning")
def test_labels_of_evicted_examples_take_no_room():
    rolling = se.Rolling(se.Evaluator(["f1_micro"]), 100)
    largest = 0
    for start in range(0, cases(500_000), 500):
        rolling.update_many([{number} for number in range(start, start + 500)], [{"a"}] * 500)
        for number in range(start, start + 2):
            rolling.update({f"single {number}"}, {"a"})
        largest = max(largest, len(rolling._now[0].labels))
    assert largest <= 64 + 4 * 600
    assert len(rolling.labels) == 101
    for number in range(3000):
        rolling.update({f"again {number}"}, {"a"}, weight=0.5)
        largest = max(largest, len(rolling._now[0].labels))
    assert largest <= 64 + 4 * 600
    assert len(rolling.to_bytes()) < 3000
    assert len(pickle.dumps(rolling)) < 4000


@pytest.mark.skipif(se.kernel.BACKEND != "compiled" or sys.platform != "linux", reason="takes minutes, or counts pages")
def test_a_long_tape_takes_no_more_than_a_few_bytes_per_label(tmp_path: Path):
    """For 250,000 examples of three labels a side the memory of the process grows by less than 25 MB."""
    program = """
import resource, sys, numpy as np, streameval as se
rolling = se.Rolling(se.Evaluator(["f1_micro"]), 250_000)
sides = [[{f"l{(7 * i + j) % 50}" for j in range(3)} for i in range(2000)] for _ in range(2)]
for pair in zip(*sides):
    rolling.update(*pair)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(225):
    for pair in zip(*sides):
        rolling.update(*pair)
assert rolling.examples == 250_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    memory = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(memory) < 25_000  # kilobytes


def test_merging_rolling_windows_is_refused_with_the_reason():
    a, b = se.Rolling(se.F1(), 3), se.Rolling(se.F1(), 3)
    with pytest.raises(se.MergeError, match="snapshot"):
        a.merge(b)
    with pytest.raises(se.MergeError, match="order"):
        a + b


# -- all kinds of windows ---------------------------------------------------------------------------------------------


def made(kind: str, evaluator: se.Evaluator | se.Metric) -> object:
    return {
        "Rolling": lambda: se.Rolling(evaluator, 3),
        "TimeRolling": lambda: se.TimeRolling(evaluator, 2.5),
        "TimeRolling of dates": lambda: se.TimeRolling(evaluator, timedelta(seconds=2.5)),
        "Tumbling": lambda: se.Tumbling(evaluator, size=3, history=2),
        "Tumbling of time": lambda: se.Tumbling(evaluator, period=2.0, history=2),
        "Fading": lambda: se.Fading(evaluator, 2),
        "Fading of time": lambda: se.Fading(evaluator, 2.0),
        "Fading of dates": lambda: se.Fading(evaluator, timedelta(seconds=2)),
    }[kind]()


KINDS = (
    "Rolling", "TimeRolling", "TimeRolling of dates", "Tumbling", "Tumbling of time", "Fading", "Fading of time",
    "Fading of dates",
)  # fmt: skip


def at(kind: str, second: float) -> dict[str, object]:
    """The argument ``t``, for kinds of windows that take times."""
    if kind in ("Rolling", "Tumbling", "Fading"):
        return {}
    return {"t": NOON + timedelta(seconds=second) if "dates" in kind else float(second)}


def many_at(kind: str, second: float, examples: int) -> dict[str, object]:
    """The argument ``times`` of so many examples, for kinds of windows that take times."""
    return {"times": [t] * examples for t in at(kind, second).values()}  # noqa: B035


def filled(kind: str, *, weight: float = 1.0, steps: int = 5) -> object:
    window = made(kind, se.Evaluator(NAMES))
    for step in range(steps):
        window.update({"a", f"b{step}"}, {"a", "c"}, weight=weight, **at(kind, step))
    return window


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_answers_as_the_object_it_was_built_from(kind: str):
    fresh = made(kind, se.Evaluator(NAMES))
    assert fresh.get() == se.Evaluator(NAMES).get()
    assert (fresh.examples, fresh.weight, fresh.labels) == (0, 0.0, ())
    window = filled(kind)
    ordinary = window.snapshot()
    assert type(ordinary) is se.Evaluator
    assert window.get() == ordinary.get()
    assert window.get("f1_micro") == ordinary.get("f1_micro")
    assert window.report() == ordinary.report()
    assert window.labels == ordinary.labels
    assert window.weight == ordinary.weight
    assert window.examples == ordinary.examples > 0
    assert window.per_label().to_dict() == ordinary.per_label().to_dict()
    assert se.Evaluator.from_bytes(ordinary.to_bytes()) == ordinary
    before = window.to_bytes()
    ordinary.update({"z"}, {"z"})
    ordinary.merge(ordinary)
    assert window.to_bytes() == before
    assert kind.split()[0] in repr(window)
    with pytest.raises(AttributeError):
        window.bigger_is_better  # noqa: B018


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_over_a_metric_gives_its_number_and_direction(kind: str):
    window = made(kind, se.HammingLoss())
    assert window.update({"a"}, {"b"}, **at(kind, 0)) is None
    assert window.get() == 1.0
    assert window.bigger_is_better is False
    assert type(window.snapshot()) is se.HammingLoss
    with pytest.raises(AttributeError, match="report"):
        window.report()
    with pytest.raises(se.InputError, match="for it only"):
        window.get("f1_micro")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_copies_pickles_and_bytes_are_equal_and_independent(kind: str, weight: float, tmp_path: Path):
    window = filled(kind, weight=weight)
    before = window.to_bytes()
    window.save(tmp_path / "window")
    twins = [
        window.copy(), copy.copy(window), copy.deepcopy(window), pickle.loads(pickle.dumps(window)),
        type(window).from_bytes(before), se.load(tmp_path / "window"),
    ]  # fmt: skip
    for twin in twins:
        assert type(twin) is type(window)
        assert twin == window
        assert twin.get() == window.get()
        twin.update({"x"}, {"y"}, **at(kind, 6))
        assert twin != window
        assert window.to_bytes() == before
    after = {twin.to_bytes() for twin in twins}
    assert len(after) == 1
    window.update({"x"}, {"y"}, **at(kind, 6))
    assert window.to_bytes() in after
    window.reset()
    assert window == made(kind, se.Evaluator(NAMES))


@pytest.mark.parametrize("kind", KINDS)
def test_the_passed_evaluator_is_neither_changed_nor_retained(kind: str):
    ev = se.Evaluator(NAMES)
    window = made(kind, ev)
    window.update({"a"}, {"b"}, **at(kind, 0))
    assert ev.examples == 0
    ev.update({"c"}, {"d"})
    assert window.labels == ("a", "b")
    true, pred, many = {"a": True}, {"a": False}, np.eye(2)
    window = made(kind, ev := se.Evaluator(NAMES))
    window.update(true, pred, **at(kind, 0))
    before = window.to_bytes()
    true["a"], pred["q"] = False, True
    assert window.to_bytes() == before
    window.reset()
    window.update_many(many, many, **many_at(kind, 0, 2))
    before = window.to_bytes()
    many[:] = 0
    assert window.to_bytes() == before


@with_each("kind", KINDS)
@pytest.mark.parametrize(
    ("evaluator", "message"),
    [
        (se.F1, r"write F1\(\)"), (se.Evaluator, "not the class"), ("f1_micro", r"write Evaluator\(\['f1_micro'\]\)"),
        (None, "such as"),
        (se.Rolling(se.F1(), 3), "such as"),
    ],
)  # fmt: skip
def test_what_is_no_evaluator_is_refused(kind: str, evaluator: object, message: str):
    with pytest.raises(se.InputError, match=message):
        made(kind, evaluator)


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluator_that_has_counted_is_refused(kind: str):
    ev = se.Evaluator()
    ev.update({"a"}, {"a"})
    with pytest.raises(se.InputError, match="has counted 1 example"):
        made(kind, ev)
    ev.revert({"a"}, {"a"})
    assert made(kind, ev).examples == 0


@pytest.mark.parametrize("size", [0, -1, 1.0, "3", None, True, math.nan, np.timedelta64(3, "s"), 2**62])
def test_a_size_that_is_no_number_of_examples_is_refused(size: object):
    with pytest.raises(se.InputError, match="size"):
        se.Rolling(se.F1(), size)
    with pytest.raises(se.InputError, match=r"size"):
        se.Tumbling(se.F1(), size=size)


@with_each(
    "period",
    [0, -1.0, math.nan, math.inf, "1h", None, True, timedelta(0), timedelta(-1), np.timedelta64(1, "M"),
     timedelta.max, 2**60 + 1, pd.Timedelta(1001, "ns"), pd.NaT],
)  # fmt: skip
def test_a_period_that_is_no_time_is_refused(period: object):
    with pytest.raises(se.InputError, match="period"):
        se.TimeRolling(se.F1(), period)
    with pytest.raises(se.InputError, match="period"):
        se.Tumbling(se.F1(), period=period)
    with pytest.raises(se.InputError, match="half_life"):
        se.Fading(se.F1(), 0 if period is None else 2**70 if type(period) is int else period)


@pytest.mark.parametrize("kind", KINDS)
def test_calls_that_fail_change_nothing(kind: str):
    window = filled(kind, weight=0.3)
    before = window.to_bytes()
    when = at(kind, 9)
    many = many_at(kind, 9, 2)
    calls: list[Callable[[], object]] = [
        lambda: window.update({"a"}, {1.5}, **when),
        lambda: window.update({"new"}, {None}, **when),
        lambda: window.update({"new"}, {"a"}, weight=math.nan, **when),
        lambda: window.update({"new"}, {"a"}, weight=-1, **when),
        lambda: window.update({"new"}, {"a"}, mask=7, **when),
        lambda: window.update_many([{"new"}, {"a"}], [{"a"}, {2.5}], **many),
        lambda: window.update_many([{"new"}] * 3, [{"a"}] * 2, **many),
        lambda: window.update_many([{"new"}] * 2, [{"a"}] * 2, weights=[1.0], **many),
        lambda: window.update_many(5, 5, **many),
    ]
    if when:
        calls += [
            lambda: window.update_many([{"new"}] * 3, [{"a"}] * 3, **many),
            lambda: window.update_many([{"new"}], [{"a"}], **many),
            lambda: window.update_many(iter([{"new"}] * 3), iter([{"a"}] * 3), **many),
            lambda: window.update_many([{"new"}], [{"a"}], times="2"),
            lambda: window.update_many([{"new"}], [{"a"}], times=5),
            *(lambda t=t: window.update({"new"}, {"a"}, t=t) for t in (math.nan, math.inf, "noon", True, pd.NaT)),
            *(lambda t=t: window.update_many([{"new"}], [{"a"}], times=[t]) for t in (math.nan, "noon", None)),
            lambda: window.update({"new"}, {"a"}, t=np.datetime64("NaT", "s")),
            lambda: window.advance(math.nan),
            lambda: window.advance(at(kind, -100)["t"]),
            lambda: window.update({"new"}, {"a"}, t=at(kind, -1000)["t"]),
            lambda: window.update_many([{"new"}], [{"a"}], times=[at(kind, -1000)["t"]]),
        ]
    for position, call in enumerate(calls):
        with pytest.raises(se.InputError):
            call()
        assert window.to_bytes() == before, position


@pytest.mark.parametrize("kind", ["Rolling", "Tumbling", "Fading"])
def test_a_time_is_refused_by_windows_of_examples_and_required_by_windows_of_time(kind: str):
    window = made(kind, se.F1())
    for call in (
        lambda: window.update({"a"}, {"a"}, t=3.0), lambda: window.update_many([{"a"}], [{"a"}], times=[3.0]),
        lambda: window.advance(3.0), lambda: window.advance(None),
    ):  # fmt: skip
        with pytest.raises(se.InputError, match=rf"{kind} with (size|half_life)=.*no meaning"):
            call()
    timed = made("TimeRolling" if kind == "Rolling" else f"{kind} of time", se.F1())
    calls = {
        "(period|half_life)=.*write t=": (lambda: timed.update({"a"}, {"a"}), lambda: timed.advance(None)),
        "(period|half_life)=.*write times=": (lambda: timed.update_many([{"a"}], [{"a"}]),),
        "no argument time=; write t=": (lambda: timed.update({"a"}, {"a"}, time=1.0),),
    }
    for match, refused in calls.items():
        for call in refused:
            with pytest.raises(se.InputError, match=match):
                call()


@pytest.mark.parametrize("kind", ["Rolling", "TimeRolling"])
def test_row_keys_that_leave_a_window_take_no_room(kind: str):
    drawn, window, names = random.Random(3), made(kind, se.F1()), [str(number) for number in range(60)]
    for step in range(1500):
        names_of = (drawn.sample(names, drawn.randrange(60)) for _ in range(2))
        window.update(*map(set, names_of), **({"t": float(step)} if kind == "TimeRolling" else {}))
    assert window._now[0].counts.held() <= window.examples + 64 + 2 * len(names)


# -- TimeRolling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_time_rolling_holds_the_examples_after_latest_minus_period(weighted: bool):
    drawn = random.Random(5)
    window, seen, now = se.TimeRolling(se.Evaluator(NAMES), 7), [], 0
    for true, pred, weight, mask in churn(2, max(800, cases(2500)), weighted=weighted):
        now += drawn.choice([0, 0, 1, 1, 2, 9]) if drawn.random() < 0.9 else 0.25
        if drawn.random() < 0.05:
            now += 5
            window.advance(now)
        window.update(true, pred, weight=weight, mask=mask, t=now)
        seen.append((now, true, pred, weight, mask))
        seen = [example for example in seen if now - 7 < example[0] <= now]
        anew = se.Evaluator(NAMES)
        for _, input_true, input_pred, input_weight, input_mask in seen:
            anew.update(input_true, input_pred, weight=input_weight, mask=input_mask)
        assert window.snapshot().to_bytes() == anew.to_bytes()
        assert window.latest == now


@CHECK
@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=1e-300),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
)
def test_the_boundary_of_a_period_of_floats_is_exact(period: float, times: list[float]):
    window, times = se.TimeRolling(se.Evaluator([]), period), sorted(times)
    for number, t in enumerate(times):
        window.update({number}, set(), t=t)
    inside = [n for n, t in enumerate(times) if Fraction(times[-1]) - Fraction(t) < Fraction(period)]
    assert sorted(window.labels) == inside
    many = se.TimeRolling(se.Evaluator([]), period)
    many.update_many([{number} for number in range(len(times))], [set()] * len(times), times=times)
    assert many == window
    arrays = se.TimeRolling(se.Evaluator([]), period)
    arrays.update_many([{n} for n in range(len(times))], [set()] * len(times), times=np.array(times))
    assert arrays.to_bytes() == window.to_bytes()


@st.composite
def timed_streams(draw: st.DrawFn) -> tuple[Stream, list[int]]:
    stream = draw(streams(max_size=10))
    times = draw(st.lists(st.integers(0, 8), min_size=len(stream.examples), max_size=len(stream.examples)))
    return stream, sorted(times)


@CHECK
@given(timed_streams(), st.integers(1, 9), st.data())
def test_merged_time_windows_hold_what_one_window_would(
    timed: tuple[Stream, list[int]], period: int, data: st.DataObject
):
    stream, times = timed
    whole = se.TimeRolling(stream.fresh(), period)
    parts = [se.TimeRolling(stream.fresh(), period) for _ in range(3)]
    for example, t in zip(stream.examples, times, strict=True):
        true, pred, mask = example.said
        for target in (whole, parts[data.draw(st.integers(0, 2))]):
            target.update(true, pred, weight=example.weight, mask=mask, t=t)
    a, b, c = parts
    before = [part.to_bytes() for part in parts]
    assert (a + b).to_bytes() == (b + a).to_bytes()
    assert ((a + b) + c).to_bytes() == (a + (b + c)).to_bytes() == whole.to_bytes()
    assert (a + se.TimeRolling(stream.fresh(), period)).to_bytes() == before[0]
    assert (se.TimeRolling(stream.fresh(), period) + a).to_bytes() == before[0]
    assert [part.to_bytes() for part in parts] == before
    assert sum(parts) == whole
    back = se.TimeRolling.from_bytes(whole.to_bytes())
    assert back == whole
    back.advance(20)
    assert back.examples == 0


def test_every_kind_of_date_is_accepted_unless_finer_than_a_microsecond_or_out_of_range():
    def window(*times: object) -> se.TimeRolling:
        result = se.TimeRolling(se.Evaluator([]), timedelta(hours=1))
        for t in times:
            result.update({"a"}, {"a"}, t=t)
        return result

    same = [
        datetime(2024, 5, 1), date(2024, 5, 1), np.datetime64("2024-05-01"), np.datetime64("2024-05-01T00:00", "ns"),
        pd.Timestamp("2024-05-01"),
    ]  # fmt: skip
    assert len({window(t).to_bytes() for t in same}) == 1
    assert window(*same).latest == datetime(2024, 5, 1)
    zoned = datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    for moment in (same[0], zoned):
        column = pa.array([moment])
        for series in (
            pd.Series([moment]), pd.DatetimeIndex([moment]), (moment,), pl.Series([moment]), column,
            pa.chunked_array([column]), pd.Series([moment], dtype=pd.ArrowDtype(column.type)),
            *([np.array([moment], "M8[s]")] if moment is not zoned else []),
        ):  # fmt: skip
            many = se.TimeRolling(se.Evaluator([]), timedelta(hours=1))
            many.update_many([{"a"}], [{"a"}], times=series)
            assert many == window(moment)
            for t in (moment, column[0]):
                many.update({"a"}, {"a"}, t=t)
    many.update_many([], [], times=np.array([], "M8[s]"))
    refused = pd.Timestamp(1, unit="ns"), np.datetime64(1, "ns"), np.datetime64(10**12, "Y"), np.datetime64("NaT", "s")
    for t in refused:
        with pytest.raises(se.InputError):
            window(t)
        with pytest.raises(se.InputError):
            window().update_many([{"a"}], [{"a"}], times=np.array([t]))
    assert window(zoned, datetime(2024, 5, 1, tzinfo=UTC)).latest == zoned
    for first, second in ((same[0], zoned), (zoned, same[0])):
        with pytest.raises(se.InputError, match="time zone"):
            window(*[first] * 40, second)  # the last one is read in the fast path
        with pytest.raises(se.MergeError, match="time zone"):
            window(first).merge(window(second))
        with pytest.raises(se.InputError, match="time zone"):
            window().update_many([{"a"}] * 2, [{"a"}] * 2, times=[first, second])
    for wrong in (3.0, "2024-05-01", timedelta(1)):
        with pytest.raises(se.InputError, match="period is a timedelta"):
            window(wrong)


def test_times_that_no_datetime_can_express_are_refused_so_that_windows_can_be_read_back():
    late = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-5)))
    early = datetime(1, 1, 1, 4, tzinfo=timezone(timedelta(hours=5)))
    beyond = np.datetime64("20000-01-01"), np.datetime64("10000-01-01", "us"), np.datetime64("-0001-01-01")
    beyond += np.datetime64(10**18, "D"), np.datetime64(5 * 10**18, "s")  # these overflow as microseconds
    for t in (*beyond, early, late):
        window = se.TimeRolling(se.Evaluator([]), timedelta(hours=1))
        with pytest.raises(se.InputError, match=r"^t .* years 1 to 9999"):
            window.update({"a"}, {"a"}, t=t)
        with pytest.raises(se.InputError, match=r"^times.* years 1 to 9999"):
            window.update_many([{"a"}], [{"a"}], times=np.array([t]) if isinstance(t, np.datetime64) else [t])
        assert window.examples == 0
    for t in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        window.reset()
        window.update({"a"}, {"a"}, t=t)
        assert window.latest == t
    for t in (datetime.min, datetime.max, np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59.999999")):
        window.reset()
        window.update({"a"}, {"a"}, t=t)
        assert window.latest == np.datetime64(t, "us").astype(datetime)
        assert se.TimeRolling.from_bytes(window.to_bytes()) == window


def test_masked_times_are_refused():
    for kind in (se.TimeRolling, se.Fading):
        window = kind(se.Evaluator([]), 1.0)
        with pytest.raises(se.InputError, match="times"):
            window.update_many([{"a"}] * 2, [{"a"}] * 2, times=np.ma.array([1.0, 2.0], mask=[False, True]))
        window.update_many([{"a"}] * 2, [{"a"}] * 2, times=np.ma.array([1.0, 2.0]))
        window.update({"a"}, {"a"}, t=pa.scalar(3.0))
        assert window.get() == {}


def test_times_without_order_are_refused():
    for kind in (se.TimeRolling, se.Tumbling, se.Fading):
        window = kind(se.F1(), **{"half_life" if kind is se.Fading else "period": 1.0})
        for times in ({1.0, 2.0}, frozenset({1.0, 2.0}), {1.0: 0, 2.0: 0}, "12"):
            with pytest.raises(se.InputError, match="times must be one time per example"):
                window.update_many([{"a"}] * 2, [{"a"}] * 2, times=times)
        window.update_many([{"a"}] * 2, [{"a"}] * 2, times={1.0: 0, 2.0: 0}.keys())  # keys have an order


def test_windows_of_different_configuration_do_not_merge():
    window = se.TimeRolling(se.F1(), 5)
    for other in (se.TimeRolling(se.F1(), 6), se.TimeRolling(se.F1(average="micro"), 5), se.Rolling(se.F1(), 5)):
        with pytest.raises(se.MergeError, match="cannot merge"):
            window.merge(other)
        assert window != other


# -- interruptions ----------------------------------------------------------------------------------------------------

OPERATIONS: dict[str, Callable[[object, str], object]] = {
    "plain": lambda w, kind: w.update({"a": True, "c": False}, {"a": False, "c": True}, **at(kind, 7)),
    "new labels": lambda w, kind: w.update({"a", "new"}, {"newer"}, mask={"newest"}, **at(kind, 7)),
    "weighted": lambda w, kind: w.update({"a", "new"}, {"b0"}, weight=0.7, **at(kind, 7)),
    "failing": lambda w, kind: w.update({"new"}, {"newer", None}, **at(kind, 7)),
    "many": lambda w, kind: w.update_many(
        [{"a"}, {"new"}], [{"newer"}, set()], weights=[0.1, 1.0], **many_at(kind, 7, 2)
    ),
    "very many": lambda w, kind: w.update_many([{"a"}, {"new"}] * 4, [{"newer"}, set()] * 4, **many_at(kind, 7, 8)),
    "advance": lambda w, kind: w.advance(*at(kind, 7).values()) if at(kind, 7) else None,
    "merge": lambda w, _: w.merge(w),
    "reset": lambda w, _: w.reset(),
    "reading": lambda w, _: (w.get(), w.to_bytes(), w.copy(), w.snapshot(), w == w.copy()),
}


@pytest.mark.parametrize(("weight", "case"), crossed([1.0, 0.3], crossed(KINDS, OPERATIONS)), ids=case_name)
def test_an_interruption_anywhere_leaves_a_window_as_before_or_as_after(weight: float, case: tuple[str, str]):
    kind, operation = case

    def go_on(window: Any) -> None:
        window.update({"x", "new"}, {"newer", "a"}, weight=0.7, **at(kind, 8))
        window.update_many([{"y"}], [{"x"}], **many_at(kind, 9, 1))

    make, run = partial(filled, kind, weight=weight), lambda window: OPERATIONS[operation](window, kind)
    check_interruptions(make, run, go_on, cases(10), f"{kind}, {operation}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_window_that_changes_while_it_reads_an_example_counts_both_or_refuses_the_example(kind: str):
    class Meddler(dict):
        def __init__(self, meanwhile: Callable[[], object], **labels: int) -> None:
            super().__init__(**labels)
            self.meanwhile = meanwhile

        def items(self):
            self.meanwhile()
            return super().items()

    def source(meanwhile: Callable[[], object]):
        yield {"a", "s"}
        meanwhile()
        yield {"a", "fresh"}

    meddlings = (
        lambda window: window.update({"v"}, {"w"}, **at(kind, 5)),
        lambda window: window.reset(),
        lambda window: window.update_many([{"v"}] * 9, [{"w"}] * 9, **many_at(kind, 5, 9)),
        lambda window: (window.get(), window.to_bytes(), window.copy()),
    )
    calls = (
        lambda window, meddle: window.update_many(
            source(lambda: meddle(window)), [{"a"}, {"u"}], **many_at(kind, 5, 2)
        ),
        lambda window, meddle: window.update(
            Meddler(lambda: meddle(window), a=1, b=0), {"fresh"}, **at(kind, 5)
        ),
    )  # fmt: skip
    for meddle in meddlings:
        for call in calls:
            window, without = filled(kind), filled(kind)
            meddle(without)
            try:
                call(window, meddle)
            except se.InputError:
                assert window.to_bytes() == without.to_bytes()
            else:
                assert b"fresh" in window.to_bytes()
                assert type(window).from_bytes(window.to_bytes()) == window


# -- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_damaged_bytes_of_windows_are_refused(kind: str, weight: float):
    data = filled(kind, weight=weight, steps=4).to_bytes()
    own = type(filled(kind))
    for cut in range(len(data)):
        with pytest.raises(se.FormatError):
            own.from_bytes(data[:cut])
    body, drawn = bytearray(data[:-4]), random.Random(4)
    retained = 0
    for place in spread(range(8, len(body)), 60):
        for value in {0, 1, 2, 255, body[place] ^ 1, body[place] ^ 128, drawn.randrange(256)}:
            if value != body[place]:
                edited = bytes(body[:place]) + bytes([value]) + bytes(body[place + 1 :])
                try:
                    result = own.from_bytes(sealed(edited))
                except se.FormatError:
                    continue
                retained += 1
                assert result.to_bytes() == sealed(edited)
                assert isinstance(result.get(), dict)
                result.copy().reset()
                result.labels, result.weight, result.snapshot()
    assert retained < 20 * len(body)


def hostile() -> dict[str, bytes]:
    """Bodies of windows that declare far more than they hold."""
    names = ("Rolling", "TimeRolling", "Tumbling", "Fading")
    head = {kind: b"\x89SEV\r\n\x02" + bytes([number]) for number, kind in enumerate(names, 16)}
    many = b"".join(b"\6" + f"{number:03x}".encode() for number in range(4096))
    result = {}
    for size in (2**16, 2**31, 2**62, 2**64 - 1):
        for kind, start in head.items():
            body = start + b"\1\1\0\0"
            result[f"{kind}: numbers {size}"] = body + varint(size) + bytes(40)
            result[f"{kind}: items {size}"] = body + b"\1\6" + varint(size) + bytes(40)
            result[f"{kind}: examples {size}"] = body + b"\1\6\0" + varint(size) + bytes(40)
            result[f"{kind}: slots {size}"] = body + b"\1\6\0\1\1\1" + varint(size) + bytes(40)
    for kind in ("Tumbling", "Fading"):
        parts = b"".join(varint(2 * number) + b"\0\0" + bytes(5) + b"\0" + bytes(6) for number in range(2000))
        declared = head[kind] + b"\1\1\1\1" + varint(4096) + many + b"\0"
        result[f"{kind}: declared labels times parts"] = declared + b"\1\6" + varint(2000) + parts
    return result


HOSTILE = hostile()


@pytest.mark.parametrize("examples", [0, 1])
def test_bytes_of_a_window_of_time_whose_clock_counts_examples_are_refused(examples: int):
    window = se.TimeRolling(se.F1(), period=timedelta(days=1))
    for _ in range(examples):
        window.update({"a"}, {"a"}, t=datetime(2024, 5, 1))
    before, after = window.to_bytes()[:-4].split(b"\4\0", 1)  # four numbers follow; the first is the kind of clock
    with pytest.raises(se.FormatError):
        se.TimeRolling.from_bytes(sealed(before + b"\4\4" + after))


@with_each("name", HOSTILE)
def test_memory_is_bounded_by_the_size_of_the_bytes_of_a_window(name: str):
    data = sealed(HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(se.FormatError):
            getattr(se, name.split(":")[0]).from_bytes(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 64 * len(data) + 2**20


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_of_another_class_are_refused_by_name(kind: str):
    data = filled(kind).to_bytes()
    name = kind.split()[0]
    for other in (se.Evaluator, se.F1, se.Metric, se.Rolling, se.TimeRolling, se.Tumbling, se.Fading):
        if other.__name__ != name:
            with pytest.raises(se.FormatError, match=name):
                other.from_bytes(data)
    with pytest.raises(se.FormatError, match="hold an Evaluator"):
        type(filled(kind)).from_bytes(se.Evaluator().to_bytes())


def test_the_order_of_examples_matters_in_rolling_but_not_at_one_time_of_time_rolling():
    first, second = ({"a"}, {"b"}), ({"c", "d"}, {"a"})
    orders = []
    for pair in ((first, second), (second, first)):
        timed, rolling = se.TimeRolling(se.Evaluator([]), 5), se.Rolling(se.Evaluator([]), 5)
        for example in pair:
            timed.update(*example, t=1)
            rolling.update(*example)
        orders.append((timed, rolling))
    assert orders[0][0].to_bytes() == orders[1][0].to_bytes()
    assert orders[0][1] != orders[1][1]
    assert orders[0][1].snapshot() == orders[1][1].snapshot()


# -- the tape ---------------------------------------------------------------------------------------------------------

if se.kernel.BACKEND == "compiled":
    from streameval.kernel.commit import compiled as compiled_commit
    from streameval.kernel.decisions import compiled
    from streameval.kernel.tape import compiled as compiled_tape


def append(tape: Any, *examples: object) -> None:
    root = compiled_commit.Root() if isinstance(tape, compiled_tape.Tape) else tape._cell.root
    root.commit([tape.prepare_append(*examples)])


def drop(tape: Any, counts: Any, number: int) -> None:
    """Drop the oldest examples from a tape, and subtract them from the counts."""
    for slots, key, _ in tape.oldest(number):
        count_slots(counts, slots, key, 0, -1)
    root = compiled_commit.Root() if isinstance(tape, compiled_tape.Tape) else tape._cell.root
    root.commit([tape.prepare_drop(number)])


def examples_in(tape: Any) -> list[object]:
    parts = (*tape.contents(0, 99), *tape.scores_of(0, 99))
    return [None if part is None else (part.dtype, part.tolist()) for part in parts]


@needs_compiled
@CHECK
@given(st.data(), st.booleans())
def test_the_compiled_tape_and_its_numpy_twin_merge_by_time_alike(data: st.DataObject, timed: bool):
    """Each tape may hold weights and scores of four or eight bytes, or may have dropped the examples with them."""
    pairs = [(compiled_tape.Tape(Root(), timed), _tape.Tape(Root(), timed)) for _ in range(2)]
    for number, pair in enumerate(pairs):
        weights = data.draw(st.lists(st.sampled_from([1.0, 1.0, 0.5]), max_size=7))
        stamps = sorted(data.draw(st.lists(st.integers(0, 4), min_size=len(weights), max_size=len(weights))))
        scored, dropped = data.draw(st.sampled_from([None, np.float32, np.float64])), data.draw(st.integers(0, 3))
        for place, (weight, stamp) in enumerate(zip(weights, stamps, strict=True)):
            slots = np.arange(place % 3, dtype=np.int32) + 5 * (2 * place + number)
            scores = None if scored is None else (np.array([1]), np.array([place]), np.array([0.1], scored))
            times = np.array([stamp]) if timed else None
            for tape in pair:
                append(tape, np.array([len(slots)]), slots, np.array([weight]), times, scores)
        for tape, root in zip(pair, (compiled_commit.Root(), pair[1]._cell.root), strict=True):
            root.commit([tape.prepare_drop(dropped)])
    mine, theirs = pairs[0], data.draw(st.sampled_from(pairs))
    start = data.draw(st.integers(0, 4))
    columns = None if theirs is mine else data.draw(st.sampled_from([None, np.random.default_rng(0).permutation(99)]))
    before = [examples_in(tape) for tape in theirs]
    parts = [one.prepare_merge(other, start, columns) for one, other in zip(mine, theirs, strict=True)]
    assert [examples_in(tape) for tape in theirs] == before
    compiled_commit.Root().commit(parts[:1])
    mine[1]._cell.root.commit(parts[1:])
    assert examples_in(mine[0]) == examples_in(mine[1])
    assert (mine[0].examples, mine[0].weighted, mine[0].latest) == (mine[1].examples, mine[1].weighted, mine[1].latest)
    assert theirs is mine or [examples_in(tape) for tape in theirs] == before
    copies = [mine[0].copy(compiled_commit.Root()), mine[1].copy(Root())]
    assert examples_in(copies[0]) == examples_in(copies[1]) == examples_in(mine[0])
    for tape in (*mine, *copies):
        append(tape, np.array([1]), np.array([7], np.int32), np.array([0.25]), np.array([9]) if timed else None)
    assert examples_in(copies[0]) == examples_in(copies[1]) == examples_in(mine[0]) == examples_in(mine[1])


@needs_compiled
@CHECK
@given(st.data(), st.booleans())
def test_the_compiled_tape_and_its_numpy_twin_agree_after_any_history(data: st.DataObject, timed: bool):
    width = 9
    mine, theirs = compiled_tape.Tape(Root(), timed), _tape.Tape(Root(), timed)
    counts, twin = compiled.Counts(Root(), width), _numpy.Counts(Root(), width)
    columns, now, retained_scores = {str(n): n for n in range(width)}, 0, False
    for _ in range(data.draw(st.integers(0, 25))):
        step = data.draw(st.sampled_from(["slide", "extend", "drop"]))
        if step == "drop":
            number = data.draw(st.integers(0, mine.examples))
            for tape, table in ((mine, counts), (theirs, twin)):
                drop(tape, table, number)
        else:
            size, limit = data.draw(st.integers(1, 12)), now - data.draw(st.integers(1, 6))
            now += data.draw(st.integers(0, 2))
            outcomes = data.draw(st.lists(st.integers(0, 4 if step == "extend" else 3), max_size=width))
            slots = np.array([5 * n + outcome for n, outcome in enumerate(outcomes)], np.int64)
            key = tuple(sum(o in kinds for o in outcomes) for kinds in ((1, 3), (2, 3), (3,), (4,)))
            one, stamps = np.array([len(slots)], np.int32), np.array([now]) if timed else None
            said = [{str(n): bool(o & bit) for n, o in enumerate(outcomes)} for bit in (1, 2)]
            first = timed and not mine.examples
            lists, many = [[side] * 3 for side in said], np.full(3, now) if timed else None
            if first or mine.weighted:
                assert mine.slide(counts, columns, 0, *said, None, size, 1.0, None, now, limit) == OTHER
                assert mine.slide_many(counts, columns, 0, *lists, None, size, many, limit) == OTHER
            if step == "slide" and not (mine.weighted or retained_scores or first):
                times = data.draw(st.sampled_from([1, 3]))
                if times == 1:
                    assert mine.slide(counts, columns, 0, *said, None, size, 1.0, None, now, limit) == DONE
                else:
                    wrong = [(lists[0][1:], lists[1], many), ([said[0], said[0], {"?"}], lists[1], many)]
                    if timed:
                        wrong += [(*lists, many - [1, 2, 3]), (*lists, many - [0, 0, 1]), (*lists, many[1:])]
                    for *bad, when in wrong:
                        assert mine.slide_many(counts, columns, 0, *bad, None, size, when, limit) == OTHER
                    assert mine.slide_many(counts, columns, 0, *lists, None, size, many, limit) == DONE
                for _ in range(times):
                    count_slots(twin, slots, key, 0, 1)
                    append(theirs, one, slots.astype(np.int32), None, stamps)
                drop(theirs, twin, theirs.overdue(size, limit))
            else:
                weight = np.array([data.draw(st.sampled_from([1.0, 0.5]))])
                scored = data.draw(st.sampled_from([None, None, np.float32, np.float64]))
                retained_scores = retained_scores or scored is not None
                scores = None if scored is None else (np.array([2]), np.array([now, 3]), np.array([0.1, now], scored))
                for tape, table in ((mine, counts), (theirs, twin)):
                    count_slots(table, slots, key, 0, 1)
                    append(tape, one, slots.astype(np.int32), weight, stamps, scores)
        assert (mine.examples, mine.weighted, mine.latest) == (theirs.examples, theirs.weighted, theirs.latest)
        for size, limit in ((0, now), (3, now - 2), (99, -(2**63))):
            assert mine.overdue(size, limit) == theirs.overdue(size, limit)
        start = data.draw(st.integers(0, 5))
        for result, expected in zip(mine.contents(start, 99), theirs.contents(start, 99), strict=True):
            assert (result is None) == (expected is None)
            assert result is None or result.tolist() == expected.tolist()
        for copied, expected in zip(mine.scores_of(start, 99), theirs.scores_of(start, 99), strict=True):
            assert (copied.dtype, copied.tolist()) == (expected.dtype, expected.tolist())
        assert counts.examples == twin.examples
        assert cells_in(counts, width).tolist() == cells_in(twin, width).tolist()
        tables = [
            dict(zip(map(tuple, k.tolist()), n.tolist(), strict=True)) for k, n in (counts.row_keys(), twin.row_keys())
        ]
        assert tables[0] == tables[1]


@needs_compiled
@settings(max_examples=cases(200))
@given(st.data())
def test_placing_an_example_gives_the_slots_and_key_that_reading_gives_and_changes_nothing(data: st.DataObject):
    names = [f"l{number}" for number in range(data.draw(st.integers(1, 12)))]
    fixed = data.draw(st.sampled_from([0, len(names)]))
    reader = Reader(Config(tuple(names) if fixed else None), LabelIndex(names if fixed else ()))
    for name in names:
        reader.labels.add(name)
    counts = compiled.Counts(Root(), len(names))
    count_slots(counts, np.array([3, 5], np.int64), (1, 1, 1, 0), fixed, 1)
    before = everything(counts, len(names))
    chosen = st.lists(st.sampled_from(names), unique=True)
    forms = (set, list, tuple, frozenset, lambda labels: dict.fromkeys(labels, True), lambda _: dict.fromkeys(names, 0))
    true, pred = (data.draw(st.sampled_from(forms))(data.draw(chosen)) for _ in range(2))
    slots, key = counts.place_example(reader.labels.columns, fixed, true, pred, None)
    expected = read_one(true, pred, None, 1.0, reader)
    assert sorted(slots.tolist()) == sorted(expected.slots.tolist())
    assert key == expected.key
    assert everything(counts, len(names)) == before
    assert counts.place_example(reader.labels.columns, fixed, {"stranger"}, pred, None) is None
    assert everything(counts, len(names)) == before


@pytest.mark.parametrize("timed", [False, True])
def test_windows_in_a_trace_count_as_windows_outside_of_it_do(timed: bool):
    """A `Trace` prepares a change of each window and commits all of them at once."""
    rng = random.Random(0)

    def made() -> list[se.Rolling | se.TimeRolling]:
        rolling = (lambda ev: se.TimeRolling(ev, 3.0)) if timed else (lambda ev: se.Rolling(ev, 3))
        return [rolling(se.Evaluator(["f1_micro"])), rolling(se.Evaluator(keep=["pairs"]))]

    apart, together = made(), se.Trace(dict(zip("xy", made(), strict=True)))
    for place in range(60):
        example = [set(rng.sample("abcd", rng.randrange(4))) for _ in range(2)]
        weight = rng.choice([1.0, 1.0, 1.0, 0.5]) if place > 20 else 1.0
        for window in apart:
            window.update(*example, weight=weight, **({"t": place / 2} if timed else {}))
        together.update(*example, weight=weight, t=place / 2)
        assert list(together.evaluators.values()) == apart
