"""Tumbling windows, and the window whose examples fade."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.evaluation.core import Core, core_of
from streameval.kernel.backend import BACKEND
from streameval.kernel.types import DONE
from streameval.states.state_set import StateSet
from streameval.windows.fading import power, powers
from tests.support.effort import cases, crossed
from tests.support.streams import Stream, readings, streams
from tests.support.work import peak

CHECK = settings(max_examples=cases(40))
DAY = datetime(2024, 5, 1)

BUILT = {
    "Tumbling": lambda evaluator: se.Tumbling(evaluator, period=3, history=2),
    "Fading": lambda evaluator: se.Fading(evaluator, 3.0),
}


@st.composite
def timed_streams(draw: st.DrawFn) -> tuple[Stream, list[float]]:
    """Examples with times in any order, none of which is too late for the stored blocks."""
    stream = draw(streams(max_size=12))
    start = draw(st.sampled_from([0.0, -7.5, 1e6]))
    offsets = st.lists(st.sampled_from([0.0, 0.1, 1.0, 2.5, 3.0, 4.75, 6.5]), min_size=12, max_size=12)
    return stream, [start + offset for offset in draw(offsets)][: len(stream.examples)]


def update(window: object, example: object, t: object) -> None:
    true, pred, mask = example.said
    # Weights near the largest float64 cannot fade.
    window.update(true, pred, weight=min(example.weight, 1e307), mask=mask, t=t)


@pytest.mark.parametrize("kind", BUILT)
@CHECK
@given(timed=timed_streams(), data=st.data())
def test_blocks_of_time_merge_exactly_in_any_order_and_grouping(
    kind: str, timed: tuple[Stream, list[float]], data: st.DataObject
):
    stream, times = timed
    build = lambda: BUILT[kind](stream.fresh())  # noqa: E731
    pairs = list(zip(stream.examples, times, strict=True))
    whole = build()
    for example, t in sorted(pairs, key=lambda pair: pair[1]):
        update(whole, example, t)
    parts = [build() for _ in range(3)]
    for example, t in data.draw(st.permutations(pairs)):
        update(parts[data.draw(st.integers(0, 2))], example, t)
    a, b, c = parts
    before = [part.to_bytes() for part in parts]
    assert (a + b).to_bytes() == (b + a).to_bytes()
    assert ((a + b) + c).to_bytes() == (a + (b + c)).to_bytes() == whole.to_bytes()
    assert (a + build()).to_bytes() == (build() + a).to_bytes() == before[0]
    assert [part.to_bytes() for part in parts] == before
    assert readings(sum(parts).snapshot()) == readings(whole.snapshot())
    assert type(whole).from_bytes(whole.to_bytes()) == whole
    back = type(whole).from_bytes(whole.to_bytes())
    assert readings(back.snapshot()) == readings(whole.snapshot())
    doubled = whole.copy()
    doubled.merge(doubled)
    assert doubled.examples == 2 * whole.examples


MODES = ("size", "period", "half_life", "half_life of time", "half_life of dates")


@pytest.mark.parametrize(("mode", "weighted", "form"), crossed(MODES, [False, True], ["sets", "scores", "rows"]))
def test_batches_equal_single_examples(mode: str, weighted: bool, form: str):
    setup = {"labels": ["a", "b", "c"], "threshold": 0.5 if form == "scores" else None}
    timed = {"period", "half_life of time", "half_life of dates"} & {mode}

    def build() -> object:
        return {
            "size": lambda: se.Tumbling(se.Evaluator(**setup), size=13, history=3),
            "period": lambda: se.Tumbling(se.Evaluator(**setup), period=2.5, history=3),
            "half_life": lambda: se.Fading(se.Evaluator(**setup), 13),
            "half_life of time": lambda: se.Fading(se.Evaluator(**setup), 2.5),
            "half_life of dates": lambda: se.Fading(se.Evaluator(**setup), timedelta(seconds=2.5)),
        }[mode]()

    rng, drawn = np.random.default_rng(1), random.Random(1)
    true, scores = rng.random((300, 3)) < 0.4, rng.random((300, 3))
    pred = scores >= 0.5
    input_weights = rng.choice([0.1, 1.0, 3.0], 300) if weighted else np.ones(300)
    seconds = np.cumsum(rng.choice([0.0, 0.1, 0.7, 3.1], 300)) - rng.choice([0.0, 2.0], 300)
    times = [DAY + timedelta(seconds=second) for second in seconds] if "dates" in mode else seconds.tolist()
    one, many = build(), build()
    start = 0
    while start < 300:
        stop = min(300, start + drawn.randrange(drawn.choice([6, 60])))
        part = slice(start, stop)
        listed = [
            [{n for n, bit in zip("abc", row, strict=True) if bit} for row in side[part]] for side in (true, pred)
        ]
        batch = {"sets": listed, "scores": (true[part], scores[part]), "rows": (true[part], pred[part])}[form]
        when = {"times": times[part]} if timed else {}
        many.update_many(*batch, weights=input_weights[part] if weighted else None, **when)
        for row in range(start, stop):
            said = dict(zip("abc", true[row].tolist(), strict=True)), dict(zip("abc", pred[row].tolist(), strict=True))
            one.update(*said, weight=float(input_weights[row]), **({"t": times[row]} if timed else {}))
        start = stop
        assert many.to_bytes() == one.to_bytes()
        assert many.get() == one.get()


# -- Tumbling ---------------------------------------------------------------------------------------------------------


def test_a_weighted_batch_in_a_window_in_progress_counts_as_single_examples_do():
    rng = np.random.default_rng(2)
    true, pred = rng.random((2, 150, 3)) < 0.4
    weights = rng.integers(0, 4, 150) / 2
    one, many = (se.Tumbling(se.Evaluator(labels=range(3)), size=1000) for _ in range(2))
    for each in (np.ones(150), weights):
        many.update_many(true, pred, weights=each if each is weights else None)
        for y_true, y_pred, weight in zip(true, pred, each, strict=True):
            one.update(y_true, y_pred, weight=weight)
        for window in (one, many):
            window.update(true[0], pred[0])  # from now on the window in progress counts in its fast path
        with pytest.raises(se.InputError, match="null must be one of"):
            many.update_many(true, pred, null="drop")
        assert many == one


def test_a_window_of_examples_closes_with_its_last_one():
    window = se.Tumbling(se.Evaluator(["f1_micro"]), size=4, history=2)
    assert (window.index, window.closed, window.last) == (0, (), None)
    for step in range(1, 30):
        window.update({step}, {step % 2})
        assert window.examples == step % 4
        assert window.index == step // 4
        closed = window.closed
        assert [c.index for c in closed] == list(range(max(0, step // 4 - 2), step // 4))
        for c in closed:
            assert (c.start, c.end) == (4 * c.index, 4 * c.index + 4)
            anew = se.Evaluator(["f1_micro"])
            for number in range(c.start + 1, c.end + 1):
                anew.update({number}, {number % 2})
            assert c.evaluator == anew
        assert (window.last is None) == (step < 4)
        if closed:
            assert window.last.evaluator == closed[-1].evaluator
    window.last.evaluator.update({"z"}, {"z"})
    assert "z" not in window.last.evaluator.labels
    with pytest.raises(AttributeError):
        window.last.index = 3


def test_windows_of_time_start_at_whole_periods_and_late_examples_count_in_their_window():
    window = se.Tumbling(se.Evaluator([]), period=timedelta(hours=1), history=2)
    window.update({"first"}, set(), t=DAY + timedelta(hours=8, minutes=59))
    window.update({"second"}, set(), t=DAY + timedelta(hours=9))
    assert window.labels == ("second",)
    (closed,) = window.closed
    first = (DAY - datetime(1970, 1, 1)) // timedelta(hours=1) + 8
    assert (closed.index, closed.start) == (first, DAY + timedelta(hours=8))
    assert closed.end == DAY + timedelta(hours=9)
    window.update({"late"}, set(), t=DAY + timedelta(hours=7))
    assert [c.evaluator.labels for c in window.closed] == [("late",), ("first",)]
    before = window.to_bytes()
    with pytest.raises(se.InputError, match=r"too late: its window is 3 before"):
        window.update({"too late"}, set(), t=DAY + timedelta(hours=6, minutes=59))
    times = [DAY + timedelta(hours=10, minutes=45), DAY + timedelta(hours=7, minutes=15)]
    with pytest.raises(se.InputError, match=r"times\[1\] is too late"):
        window.update_many([{"x"}] * 2, [set()] * 2, times=times)
    assert window.to_bytes() == before
    window.advance(DAY + timedelta(hours=10, minutes=45))
    window.advance(DAY + timedelta(hours=10, minutes=50))  # in the window in progress
    assert window.examples == 0
    assert [c.index for c in window.closed] == [first, first + 1]
    assert window.last.evaluator.labels == ("second",)
    with pytest.raises(se.InputError, match="goes back"):
        window.advance(DAY + timedelta(hours=9))
    window.advance(DAY + timedelta(hours=30))
    assert (window.closed, window.last) == ((), None)


def test_times_below_0_or_very_large_fall_into_the_exact_window_or_are_refused():
    window = se.Tumbling(se.Evaluator([]), period=0.1, history=0)
    for t in (-1e6, -0.30000000000000004, -0.3, 0.0, 0.1, 0.3, 0.30000000000000004, 1e9):
        window.update({"a"}, set(), t=t)
        period = Fraction(0.1)
        assert window.index == Fraction(t) // period
        many = se.Tumbling(se.Evaluator([]), period=0.1, history=0)
        many.update_many([{"a"}], [set()], times=[t])
        assert many.index == window.index
    for t in (1e300, -1.7e308):
        with pytest.raises(se.InputError):
            se.Tumbling(se.Evaluator([]), period=1e-300).update({"a"}, set(), t=t)
        with pytest.raises(se.InputError):
            se.Tumbling(se.Evaluator([]), period=1e-300).update_many([{"a"}], [set()], times=[t])
    with pytest.raises(se.InputError, match=r"t 1152921504606846977 has no exact float64; round it first"):
        window.update({"a"}, set(), t=2**60 + 1)
    for t in (datetime.max, datetime.min):
        calendar = se.Tumbling(se.Evaluator([]), period=timedelta(days=4000))
        with pytest.raises(se.InputError, match=r"^t and period=datetime.timedelta\(.* are too near the last time"):
            calendar.update({"a"}, set(), t=t)
        with pytest.raises(se.InputError, match="too near the last time"):
            calendar.update_many([{"a"}], [set()], times=[t])


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({}, "either size"), ({"size": 3, "period": 1.0}, "either size"),
        ({"size": 3, "history": -1}, "history"), ({"size": 3, "history": 1.5}, "history"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_fit_are_refused(form: dict, message: str):
    with pytest.raises(se.InputError, match=message):
        se.Tumbling(se.F1(), **form)


@pytest.mark.parametrize("build", [lambda: se.Tumbling(se.F1(), size=3), lambda: se.Fading(se.F1(), 3)])
def test_windows_of_a_number_of_examples_do_not_merge(build: object):
    with pytest.raises(se.MergeError, match="no common order"):
        build().merge(build())


@pytest.mark.parametrize(("mine", "theirs", "message"), [
    ([], [1.0], "the other window has times that this one does not have"),
    ([4.0], [4.0, 7.0], "the other window has times that this one does not have"),
    ([1.0, 4.0, 7.0], [2.0, 3.0], "cannot unmerge"),
    ([1.0, 10.0], [5.0], "window 1 has no examples in this object"),
    ([1.0, 10.0], [-2.0], None), ([4.0], [], None),
])  # fmt: skip
def test_unmerge_refuses_what_a_window_never_had_and_passes_over_what_it_has_evicted(
    mine: list[float], theirs: list[float], message: str | None
):
    windows = [BUILT["Tumbling"](se.Evaluator(["f1_micro"])) for _ in range(2)]
    for window, times, pred in zip(windows, (mine, theirs), ({"a"}, {"b"}), strict=True):
        for t in times:
            window.update({"a"}, pred, t=t)
    window, other = windows
    before = window.to_bytes()
    with nullcontext() if message is None else pytest.raises(se.RevertError, match=message):
        window.unmerge(other)
    assert window.to_bytes() == before


def test_a_period_of_numpy_is_a_timedelta():
    for hour in (np.timedelta64(1, "h"), np.timedelta64(3600 * 10**6, "us"), np.timedelta64(3600 * 10**9, "ns")):
        window = se.Tumbling(se.Evaluator([]), period=hour)
        window.merge(se.Tumbling(se.Evaluator([]), period=timedelta(hours=1)))
    for wrong in (np.timedelta64(1, "M"), np.timedelta64("NaT", "s"), np.timedelta64("NaT", "ns")):
        with pytest.raises(se.InputError, match="must be a datetime"):
            se.TimeRolling(se.Evaluator([]), period=wrong)
    for wrong in (np.timedelta64(1, "ns"), np.timedelta64(1500, "ns"), np.timedelta64(10**18, "D")):
        with pytest.raises(se.InputError, match="period must be a whole number of microseconds"):
            se.TimeRolling(se.Evaluator([]), period=wrong)


def test_times_that_are_strings_are_refused_with_the_call_that_parses_them():
    window, day = se.Tumbling(se.Evaluator([]), period=timedelta(hours=1)), str(DAY)
    advice = re.escape(f"give datetime.fromisoformat({day!r})")
    with pytest.raises(se.InputError, match=f"t must be a datetime.*{advice}$"):
        window.update({"a"}, {"a"}, t=day)
    for times in ([day], np.array([day]), np.array([day], object)):
        with pytest.raises(se.InputError, match=rf"times\[0\] must be a datetime.*{advice}$"):
            window.update_many([{"a"}], [{"a"}], times=times)
    for wrong in ("yesterday", "1700000000", "2024-02-30"):
        with pytest.raises(se.InputError, match=f"as the period is a timedelta, not '{wrong}'$"):
            window.update({"a"}, {"a"}, t=wrong)


def test_windows_of_different_configuration_do_not_merge():
    ev = se.Evaluator([])
    base = se.Tumbling(ev, period=5)
    for other in (
        se.Tumbling(ev, period=6), se.Tumbling(ev, period=5, history=2),
        se.Tumbling(ev, size=5), se.Fading(ev, 5.0), se.Tumbling(se.Evaluator([], labels=["a"]), period=5),
    ):  # fmt: skip
        for verb in ("merge", "unmerge"):
            with pytest.raises(se.MergeError, match=f"cannot {verb}"):
                getattr(base, verb)(other)
    with pytest.raises(se.MergeError, match=r"half_life differs \(5.0 and 5\)"):
        se.Fading(ev, 5.0).merge(se.Fading(ev, 5))
    zoned, naive = (se.Tumbling(ev, period=timedelta(1)) for _ in range(2))
    zoned.update({"a"}, {"a"}, t=DAY.replace(tzinfo=UTC))
    naive.update({"a"}, {"a"}, t=DAY)
    with pytest.raises(se.MergeError, match="time zone"):
        zoned.merge(naive)
    with pytest.raises(se.RevertError, match="the other window has times that this one does not have"):
        zoned.unmerge(naive)
    t = DAY + timedelta(hours=1)
    for call in (
        lambda: zoned.update({"a"}, {"a"}, t=t), lambda: zoned.advance(t),
        lambda: zoned.update_many([{"a"}], [{"a"}], times=[t]),
    ):  # fmt: skip
        with pytest.raises(se.InputError, match="t has no time zone, but the times so far have one"):
            call()


# -- Fading -----------------------------------------------------------------------------------------------------------


def test_powers_of_two_are_within_their_bound_and_the_same_for_arrays():
    drawn = random.Random(2)
    some = [0.0, 1.0, 1 / 256, math.nextafter(1 / 256, 0), math.nextafter(1.0, 0), 5e-324, 1e-17, 0.5]
    some += [drawn.random() for _ in range(20_000)] + [step / 256 for step in range(257)]
    result = [power(x) for x in some]
    assert powers(np.array(some)).tolist() == result
    with localcontext() as context:
        context.prec = 50
        two = Decimal(2).ln()
        worst = max(abs(Decimal(w) / (two * Decimal(x)).exp() - 1) for x, w in zip(some, result, strict=True))
    assert worst < Decimal(2) ** -51
    assert min(result) == 1.0
    assert max(result) == 2.0
    assert power(0.0).hex() == "0x1.0000000000000p+0"
    assert power(0.5).hex() == "0x1.6a09e667f3bcdp+0"


def oracle(
    examples: list[tuple[set, set, float, Fraction]], now: Fraction
) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """Total weight, micro F1, Hamming loss and samples recall, straight from the definition."""
    total = tp = wrong = either = recall = Decimal(0)
    labels = len({label for true, pred, _, _ in examples for label in true | pred})
    for true, pred, weight, t in examples:
        age = t - now
        w = Decimal(weight) * (Decimal(2).ln() * Decimal(age.numerator) / Decimal(age.denominator)).exp()
        total += w
        tp += w * len(true & pred)
        either += w * (len(true) + len(pred))
        wrong += w * len(true ^ pred)
        recall += w * len(true & pred) / len(true) if true else 0
    return total, 2 * tp / either, wrong / total / labels, recall / total


HALF_LIVES = (1, 7, 100, 0.37, 12.5, timedelta(seconds=3), timedelta(microseconds=1700001))


@pytest.mark.parametrize(("half_life", "weighted"), crossed(HALF_LIVES, [False, True]), ids=str)
def test_fading_is_within_its_bound_of_plain_loops(half_life: object, weighted: bool):
    drawn = random.Random(3)
    window = se.Fading(se.Evaluator(["f1_micro", "hamming_loss", "recall_samples"]), half_life)
    seen, second, bound = [], Fraction(0), Decimal(2) ** -49
    with localcontext() as context:
        context.prec = 60
        for step in range(220):
            true, pred = (set(drawn.sample("abcdef", drawn.randrange(1, 5))) for _ in range(2))
            weight = drawn.choice([1.0, 0.1, 1e10]) if weighted else 1.0
            if type(half_life) is int:
                window.update(true, pred, weight=weight)
                now = t = Fraction(step, half_life)
            else:
                second += Fraction(drawn.choice([0.0, 0.125, 1.0]))
                late = Fraction(drawn.choice([0, 0, 2]))
                input_t = float(second - late)
                if isinstance(half_life, timedelta):
                    window.update(true, pred, weight=weight, t=DAY + timedelta(seconds=input_t))
                    unit = Fraction(half_life // timedelta(microseconds=1), 10**6)
                else:
                    window.update(true, pred, weight=weight, t=input_t)
                    unit = Fraction(half_life)
                t = (second - late) / unit
                now = max([t, *(when for *_, when in seen)])
            seen.append((true, pred, weight, t))
            if step % 20 == 19:
                seen = [example for example in seen if now - example[3] < 64]  # the rest weighs 2**-64 or less
                expected = oracle(seen, now)
                result = (window.weight, *window.get().values())
                for mine, right in zip(result, expected, strict=True):
                    assert abs(Decimal(mine) - right) <= bound * right, (step, mine, right)


def test_a_half_life_of_more_microseconds_than_a_float64_counts_weighs_batches_as_single_examples():
    times = [DAY, DAY + timedelta(days=30_000, microseconds=1), datetime(2700, 1, 1, 1, 1, 1, 7)]
    many, one = (se.Fading(se.Evaluator(["f1_micro"]), timedelta(days=200_000, microseconds=1)) for _ in range(2))
    many.update_many([{"a"}] * 3, [{"a"}, {"b"}, {"a", "b"}], times=times)
    for t, pred in zip(times, ({"a"}, {"b"}, {"a", "b"}), strict=True):
        one.update({"a"}, pred, t=t)
    assert many.to_bytes() == one.to_bytes()


def test_reading_between_updates_changes_no_later_value_and_no_value_is_stale():
    for half_life in (5, 2.5):
        when = (lambda _: {}) if half_life == 5 else (lambda step: {"t": step - 3.0 * (step % 7 == 0)})
        read, unread = (se.Fading(se.Evaluator(["f1_macro"]), half_life) for _ in range(2))
        for step in range(120):
            for window in (read, unread):
                window.update({step % 5, step % 3}, {step % 4}, **when(step))
            read.get(), read.weight, read.get("f1_micro"), read.per_label()
            assert read.get() == unread.copy().get()
            assert read.weight == unread.copy().weight
        if half_life == 2.5:
            read.advance(130.0)
            assert read.weight < unread.weight
            assert read.get() == unread.get()
            read.merge(unread)
            assert read.examples == 2 * unread.examples


def test_what_is_older_than_64_half_lives_is_dropped():
    window = se.Fading(se.Evaluator([]), 1)
    for step in range(1000):
        window.update({step}, {step})
    assert 64 <= window.examples <= 66
    assert window.labels == tuple(range(1000 - window.examples, 1000))
    assert window.weight == pytest.approx(2.0, rel=1e-15)
    timed = se.Fading(se.Evaluator([]), 1.0)
    timed.update({"a"}, {"a"}, t=0)
    timed.update({"a"}, {"a"}, t=64)
    assert timed.examples == 2
    timed.advance(65.5)
    assert timed.examples == 1
    with pytest.raises(se.InputError, match=r"goes back: 65.25 is before"):  # within one half-life
        timed.advance(65.25)
    message = "its half-life is 65 before the one in progress, and 64 are stored; leave it out$"
    with pytest.raises(se.InputError, match=message):
        timed.update({"a"}, {"a"}, t=0)


def test_weights_too_large_to_fade_are_refused_and_the_smallest_are_counted():
    window = se.Fading(se.Evaluator(["f1_micro"]), 2)
    window.update({"a"}, {"a"}, weight=1.7e308)
    before = window.to_bytes()
    with pytest.raises(se.InputError, match="too large to fade"):
        window.update({"a"}, {"a"}, weight=1.7e308)
    with pytest.raises(se.InputError, match="too large to fade"):
        window.update_many([{"a"}] * 2, [{"a"}] * 2, weights=[1.0, 1.7e308][::-1])
    assert window.to_bytes() == before
    tiny = se.Fading(se.Evaluator(["f1_micro"]), 3)
    for _ in range(300):
        tiny.update({"a"}, {"a", "b"}, weight=5e-324)
    retained = tiny.snapshot()
    assert se.Evaluator.from_bytes(retained.to_bytes()) == retained
    assert tiny.get() == retained.get()
    tiny.update({"a"}, {"a"}, weight=0.0)
    assert tiny.get() == retained.get()


@pytest.mark.parametrize("half_life", [0, -3, True, "7", None, math.nan, -1.0, 0.0, timedelta(0), math.inf])
def test_an_invalid_half_life_is_refused(half_life: object):
    with pytest.raises(se.InputError, match="half_life"):
        se.Fading(se.F1(), half_life)


@pytest.mark.parametrize("call", ["update_many", "advance"])
def test_a_call_that_changes_one_or_two_of_many_blocks_touches_no_other(call: str, monkeypatch: pytest.MonkeyPatch):
    window, touched = se.Tumbling(se.F1(), period=1.0, history=500), list[object]()
    window.update_many([{"a"}] * 400, [{"a"}] * 400, times=[float(t) for t in range(400)])
    belong = StateSet.belong
    monkeypatch.setattr(StateSet, "belong", lambda states, guard: touched.append(states) or belong(states, guard))
    if call == "update_many":
        window.update_many([{"a"}, {"a"}], [{"a"}, {"b"}], times=[398.5, 399.5])
    else:
        window.advance(400.5)
    assert len(touched) <= 10


@pytest.mark.skipif(BACKEND == "numpy", reason="whose every change is a new value")
@pytest.mark.parametrize("make", [lambda: se.Tumbling(se.F1(), size=10**6), lambda: se.Fading(se.F1(), 10**6)])
def test_a_batch_does_not_copy_the_block_that_it_is_counted_in(make: Callable[[], Any]):
    window, names = make(), [f"label-{number}" for number in range(20_000)]
    window.update_many([[name] for name in names], [[name] for name in names])
    window.update_many([["label-1"]], [["label-2"]])
    assert peak(lambda: window.update_many([["label-1"]], [["label-3"]])) < 200_000  # a copy of the labels takes 1 MB
    assert (window.examples, len(window.labels)) == (20_002, 20_000)


@pytest.mark.skipif(BACKEND == "numpy", reason="it has no fast path")
@pytest.mark.parametrize(
    "window", [se.Tumbling(se.F1(), size=100), se.Tumbling(se.F1(), period=100)], ids=["size", "period"]
)
def test_a_block_that_was_rebuilt_without_unused_labels_takes_the_fast_path_again(window: Any):
    how: dict[str, Any] = {"t": 1} if window.timed else {}
    for _ in range(20):  # samples of the input are noted, for which the reader must see it
        assert window._count_fast({"a"}, {"a"}, 1.0, None, how.get("t")) != DONE
        window.update({"a"}, {"a", "gone"}, **how)
    window._renew()
    assert window._count_fast({"a"}, {"a"}, 1.0, None, how.get("t")) == DONE
    assert window.examples == 21


@pytest.mark.skipif(BACKEND == "numpy", reason="it has no fast path")
@pytest.mark.parametrize("mode", ["size", "period"])
def test_only_the_example_that_opens_a_window_misses_the_fast_path(mode: str, monkeypatch: pytest.MonkeyPatch):
    window: Any = se.Tumbling(se.F1(), size=10) if mode == "size" else se.Tumbling(se.F1(), period=10)
    read, opened = Core.read, list[object]()
    monkeypatch.setattr(Core, "read", lambda core, *example: opened.append(example) or read(core, *example))
    for number in range(300):
        if number == 200:
            opened.clear()
        how = {"t": number} if window.timed else {}
        window.update({f"label-{number % 7}"}, {f"label-{number % 5}"}, **how)
    assert len(opened) == 10


@pytest.mark.parametrize("mode", ["size", "period"])
def test_a_new_block_does_not_inherit_the_labels_of_all_earlier_ones(mode: str):
    window: Any = se.Tumbling(se.F1(), size=10) if mode == "size" else se.Tumbling(se.F1(), period=10)
    for number in range(500):
        how = {"t": number} if window.timed else {}
        window.update({f"id-{number}"}, {f"id-{number + 1}"}, **how)
    assert len(core_of(window._current()).labels) < 50


def test_an_empty_window_counts_rows_after_strings_as_a_new_one_does():
    window, anew = (se.Tumbling(se.F1(), size=2, history=0) for _ in range(2))
    for _ in range(30):
        window.update({"a"}, {"b"})
        window.update({"b"}, {"b"})
    window.update(np.array([1, 0, 1]), np.array([1, 1, 0]))
    anew.update(np.array([1, 0, 1]), np.array([1, 1, 0]))
    assert window.snapshot() == anew.snapshot()
    with pytest.raises(se.InputError, match="columns without names"):
        window.update({"a"}, {"b"})
