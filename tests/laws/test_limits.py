"""At every limit of every kind, a refused call changes neither the object nor the argument, and gives the reason."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS as REGISTRY
from streameval.states import history
from tests.laws.holders import HOLDERS, KINDS, LABELS, Holder, Kind, Row
from tests.support.effort import crossed

MOST = 2**63 - 1
EVERY = set(LABELS)
WEIGHTS = (1.0, 0.1, 5e-324, 1e308)
TRIED = ("decisions", "decisions of scores", *REGISTRY, "rankings, the last of ties", "all")


def row_of(kind: Kind, true: set[Any], scores: dict[Any, float], weight: float) -> Row:
    pred = scores if kind.scored else {label for label, score in scores.items() if score >= 0.5}
    return Row(true, pred, None, weight, 0.5, "x")


EXAMPLES = {
    "no score": ({"a"}, {}),
    "one score": ({"a"}, {"a": 0.7}),
    "every label": (EVERY, {label: 0.1 * place for place, label in enumerate(LABELS)}),
}


def filled(holder: Holder, kind: Kind, row: Row) -> tuple[Any, Any]:
    """An object that has counted an example once, and an object so full that it cannot count the example again."""
    one, full = holder.make(kind), holder.make(kind)
    holder.update(one, row)
    powers = [one]
    while True:
        twice = powers[-1].copy()
        try:
            twice.merge(twice)
        except se.CounterOverflowError:
            assert twice.to_bytes() == powers[-1].to_bytes()
            break
        powers.append(twice)
    for power in reversed(powers):
        before = full.copy(), power.copy()
        try:
            full.merge(power)
        except se.CounterOverflowError:
            assert (full.to_bytes(), power.to_bytes()) == (before[0].to_bytes(), before[1].to_bytes())
    return one, full


def read(state: Any) -> None:
    """Read everything; only errors of the package may be raised."""
    repr(state)
    for verb in ("get", "report"):
        if hasattr(state, verb):
            getattr(state, verb)()


def fed(holder: Holder, kind: Kind, *rows: Row) -> Any:
    state = holder.make(kind)
    for row in rows:
        holder.update(state, row)
    return state


WEIGHED = [
    (example, weight)
    for example, weights in zip(EXAMPLES, (WEIGHTS[::3], WEIGHTS, WEIGHTS[:2]), strict=True)
    for weight in weights
]
CASES = [("Evaluator", name, *weighed) for name, weighed in crossed(TRIED, WEIGHED)]
CASES += [("Metric", name, "one score", 1.0) for name in TRIED]
CASES += [(name, kind, "one score", 1.0) for name in ("Sliced", "Tumbling", "Fading") for kind in ("curves", "all")]


@pytest.mark.parametrize(("holder", "name", "example", "weight"), CASES)
def test_an_example_that_would_exceed_a_limit_is_refused_and_changes_nothing(
    holder: str, name: str, example: str, weight: float
):
    over, kind = HOLDERS[holder], KINDS[name]
    row = row_of(kind, *EXAMPLES[example], weight)
    other = row._replace(y_true={"b"})
    one, full = filled(over, kind, row)
    never = fed(over, kind, other)
    before = full.to_bytes(), one.to_bytes(), never.to_bytes()
    calls: list[tuple[type[Exception], Callable[[], Any]]] = [
        (se.CounterOverflowError, lambda: over.update(full, row)),
        (se.CounterOverflowError, lambda: over.update_many(full, [row])),
        (se.CounterOverflowError, lambda: full.merge(one)),
        (se.CounterOverflowError, lambda: full.merge(full)),
        (se.CounterOverflowError, lambda: full + one),
        (ValueError, lambda: full.unmerge(never)),
    ]
    if can_revert := hasattr(full, "revert"):
        calls.append((se.RevertError, lambda: over.revert(full, other)))
    for error, call in calls:
        with pytest.raises(error) as caught:
            call()
        assert isinstance(caught.value, se.StreamevalError)
        assert (full.to_bytes(), one.to_bytes(), never.to_bytes()) == before
    read(full)
    assert full.from_bytes(before[0]) == full
    if can_revert:
        over.revert(full, row)
        over.update(full, row)
        full.unmerge(one)
        full.merge(one)
        assert full.to_bytes() == before[0]


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_the_limit_on_scores_is_by_label_and_bin_and_values_do_not_depend_on_their_number(weight: float):
    draw = random.Random(0)
    few = KINDS["curves"].evaluator()
    for _ in range(20):
        scores = {label: draw.choice((0.0, 0.25, 1.0, draw.random())) for label in LABELS}
        few.update({label for label in LABELS if draw.random() < 0.5}, scores, weight=weight)
    many = few.copy()
    for _ in range(38):
        many.merge(many)
    assert many.examples * len(LABELS) > 2**43
    assert many.get() == few.get()
    assert many.from_bytes(many.to_bytes()).get() == few.get()
    for name in ("brier_score", "log_loss", "roc_auc", "average_precision", "expected_calibration_error"):
        for average in ("micro", "per_label"):
            assert many.bounds(f"{name}_{average}") == few.bounds(f"{name}_{average}")
    full = filled(HOLDERS["Evaluator"], KINDS["curves"], row_of(KINDS["curves"], {"a"}, {"a": 0.7}, weight))[1]
    for true, label, score in (({"a"}, "a", 0.8), (set(), "a", 0.7), ({"b"}, "b", 0.7)):
        full.update(true, {label: score}, weight=weight)
        many = full.copy()
        many.revert(true, {label: score}, weight=weight)
        with pytest.raises(se.CounterOverflowError, match="8796093022207 scores of one label in one bin"):
            full.update({"a"}, {"a": 0.7}, weight=weight)


@pytest.mark.parametrize("timed", [False, True])
def test_a_window_refuses_the_label_beyond_its_last_column(timed: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(history, "_COLUMNS", 3)
    window: Any = se.TimeRolling(se.Evaluator(), period=4.0) if timed else se.Rolling(se.Evaluator(), size=4)
    time, times = ({"t": 0.0}, {"times": [0.0]}) if timed else ({}, {})
    window.update({"a", "b"}, set(), **time)
    before = window.to_bytes()
    for call in (
        lambda: window.update({"c"}, {"d"}, **time),
        lambda: window.update_many([{"c"}], [{"d"}], **times),
    ):
        with pytest.raises(se.CounterOverflowError, match="a window cannot hold 3 labels or more"):
            call()
        assert window.to_bytes() == before
        read(window)


@pytest.mark.parametrize("name", TRIED)
def test_invalid_weights_are_refused_by_every_kind(name: str):
    ev, row = KINDS[name].evaluator(), row_of(KINDS[name], *EXAMPLES["every label"], 1.0)
    ev.update(row.y_true, row.y_pred)
    before = ev.to_bytes()
    for call in (
        lambda weight: ev.update(row.y_true, row.y_pred, weight=weight),
        lambda weight: ev.revert(row.y_true, row.y_pred, weight=weight),
        lambda weight: ev.update_many([row.y_true], [row.y_pred], weights=[weight]),
    ):
        for weight in (-5e-324, -1.0, math.nan, math.inf, 2**1024, "1", True, None):
            with pytest.raises(se.InputError):
                call(weight)
            assert ev.to_bytes() == before


def test_numbers_of_shards_and_positions_end_at_63_bits(tmp_path: Path):
    ledger, empty, ev = se.Ledger(), se.Evaluator(), se.Evaluator()
    ev.update({"a"}, {"a"})
    ledger.put("s", MOST, ev, epoch=MOST)
    before = ledger.to_bytes()
    for epoch, sequence in ((MOST + 1, 0), (0, MOST + 1), (-1, 0), (0, -1)):
        with pytest.raises(se.InputError, match=r"from 0 to 2\*\*63 - 1"):
            ledger.put("s", sequence, ev, epoch=epoch)
    assert ledger.to_bytes() == before
    with se.Checkpointer(empty, tmp_path / "state") as checkpoint:
        checkpoint.step(MOST)
        with pytest.raises(se.InputError, match=f"{MOST} items are counted"):
            checkpoint.step()
        assert checkpoint.position == MOST


def test_the_maximum_number_of_examples_is_counted_one_by_one_and_in_batches():
    one, by_one = se.Evaluator(), se.Evaluator()
    one.update({"a"}, {"a"})
    for _ in range(62):
        by_one.merge(one)
        one.merge(one)
    by_one.merge(one)  # 2**63 - 1
    for _ in range(50):
        by_one.revert({"a"}, {"a"})
    batches = by_one.copy()
    for ev, number in ((by_one, 1), (batches, 50)):
        for _ in range(0, 50, number):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ev.update({"a"}, {"a"}) if number == 1 else ev.update_many([{"a"}] * 50, [{"a"}] * 50)
        assert ev.examples == MOST
