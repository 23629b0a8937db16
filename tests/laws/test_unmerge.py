"""unmerge is the exact inverse of merge, for each kind of state and all together; anything not merged is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.states.options import PARTS
from tests.support.effort import cases

KEEPS = [(), *((kind,) for kind in KINDS), tuple(KINDS), PARTS]
LABELS = ["a", "b", 3, "d", 2**70]
CHECK = settings(max_examples=cases(20))

Row = tuple[dict[Any, int | None], dict[Any, float], set[Any], float]


def fresh(keep: tuple[str, ...], labels: list[Any] | None = None) -> se.Evaluator:
    return se.Evaluator(["f1_macro"], keep=keep, threshold=0.5, labels=labels, unknown="add" if labels else "error")


def rows(rng: random.Random, size: int, weights: list[float], names: list[Any]) -> list[Row]:
    def row() -> Row:
        true = {label: rng.choice([0, 1, 1, None]) for label in rng.sample(names, rng.randint(0, 4))}
        pred = {
            label: rng.choice([0.0, 0.25, 0.5, 0.5000000001, 1.0]) for label in rng.sample(names, rng.randint(0, 4))
        }
        mask = set(rng.sample(names, 1)) if rng.random() < 0.2 else set()
        return true, pred, mask, rng.choice(weights)

    return [row() for _ in range(size)]


def put(ev: se.Evaluator, examples: list[Row]) -> se.Evaluator:
    for true, pred, mask, weight in examples:
        ev.update(true, pred, mask=mask, weight=weight)
    return ev


def drawn(rng: random.Random, keep: tuple[str, ...]) -> tuple[se.Evaluator, se.Evaluator, se.Evaluator]:
    """Two random objects, the second with labels that the first does not have, and an empty object."""
    labels = rng.choice([None, rng.sample(LABELS, 3)])
    one, other = (rng.choice([[1.0], [1.0, 0.1, 2.5, 0.0, 1e-300]]) for _ in range(2))
    a = put(fresh(keep, labels), rows(rng, rng.randint(0, 6), one, LABELS))
    b = put(fresh(keep, labels), rows(rng, rng.randint(1, 6), other, [*LABELS, "only b", -7]))
    return a, b, fresh(keep, labels)


@pytest.mark.parametrize("keep", KEEPS, ids=str)
@CHECK
@given(st.randoms(use_true_random=False))
def test_unmerging_what_was_merged_gives_the_same_bytes(keep: tuple[str, ...], rng: random.Random):
    a, b, empty = drawn(rng, keep)
    before, theirs = a.to_bytes(), b.to_bytes()
    both = a + b
    assert (both - b).to_bytes() == before
    assert (both - a).to_bytes() == theirs
    assert (both - b).labels == a.labels
    assert (both - both).to_bytes() == empty.to_bytes()
    assert (both - empty).to_bytes() == both.to_bytes()
    assert ((both + a) - b).to_bytes() == (a + a).to_bytes()
    a.merge(b)
    a.unmerge(b)
    assert a.to_bytes() == before
    assert b.to_bytes() == theirs
    a.merge(b)
    assert a.to_bytes() == both.to_bytes()
    assert a.get() == both.get()


@pytest.mark.parametrize("keep", KEEPS, ids=str)
@CHECK
@given(st.randoms(use_true_random=False))
def test_unmerging_what_was_never_merged_is_refused_and_changes_nothing(keep: tuple[str, ...], rng: random.Random):
    a, b, _ = drawn(rng, keep)
    both = a + b
    before = both.to_bytes()
    strange = [
        ({"nowhere": 1}, {"a": 1.0}, set(), 1.0),
        ({"a": 1, "b": 1, 3: 1, "d": 1}, dict.fromkeys("abd", 1.0), {2**70}, 1e300),
    ]
    for extra in strange:
        other = put(b.copy(), [extra])
        with pytest.raises(se.RevertError, match="cannot unmerge"):
            both.unmerge(other)
        with pytest.raises(se.RevertError, match="cannot unmerge"):
            both - other
        assert both.to_bytes() == before
    with pytest.raises(se.RevertError):
        a.unmerge(both)
    assert both.to_bytes() == before


def test_a_weight_that_was_not_merged_is_refused():
    for keep in KEEPS:
        a = put(fresh(keep), [({"a": 1}, {"a": 0.7}, set(), 0.5), ({"b": 1}, {"a": 0.2}, set(), 2.0)])
        before = a.to_bytes()
        for weight in (0.25, 0.0, 1.0, 3.0):
            with pytest.raises(se.RevertError):
                a.unmerge(put(fresh(keep), [({"a": 1}, {"a": 0.7}, set(), weight)]))
        assert a.to_bytes() == before
        a.unmerge(put(fresh(keep), [({"a": 1}, {"a": 0.7}, set(), 0.5)]))
        assert a.to_bytes() == put(fresh(keep), [({"b": 1}, {"a": 0.2}, set(), 2.0)]).to_bytes()


def test_objects_of_another_class_or_configuration_are_refused():
    a = se.Evaluator(["f1_macro"])
    with pytest.raises(se.MergeError, match="cannot unmerge: Evaluator and"):
        a.unmerge(se.F1())  # type: ignore[arg-type]
    with pytest.raises(se.MergeError, match="cannot unmerge: thresholds differ"):
        a.unmerge(se.Evaluator(["f1_macro"], threshold=0.5))
    with pytest.raises(TypeError):
        a - 1  # type: ignore[operator]


def test_examples_of_weight_0_are_not_part_of_those_that_weigh_more():
    for keep in KEEPS:
        a = put(fresh(keep), [({"a": 1}, {"a": 0.7}, set(), 1.0)])
        before = a.to_bytes()
        with pytest.raises(se.RevertError):
            a.unmerge(put(fresh(keep), [({"a": 1}, {"a": 0.7}, set(), 0.0)]))
        assert a.to_bytes() == before


def test_single_metrics_are_unmerged_too():
    one, other = se.F1(average="micro"), se.F1(average="micro")
    one.update({"a"}, {"a"})
    other.update({"b"}, {"c"})
    assert ((one + other) - other).to_bytes() == one.to_bytes()
    assert ((one + other) - other).get() == 1.0


def test_labels_that_only_unmerged_objects_had_do_not_pile_up():
    ev = se.Evaluator(["f1_macro"])
    ev.update({"a"}, {"a"})
    before = ev.to_bytes()
    for step in range(200):
        part = se.Evaluator(["f1_macro"])
        part.update({f"{step}"}, {f"p{step}"})
        ev.merge(part)
        ev.unmerge(part)
    assert ev.to_bytes() == before
    assert len(ev._core.labels) < 100
