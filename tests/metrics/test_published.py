"""Values that other projects publish, computed again from the data that they publish."""

from __future__ import annotations

import numpy as np
import pytest

import streameval as se
from tests.support.published_cases import CASES, Published


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_published_value_is_reproduced(case: Published):
    got = np.array(value_of(case), np.float64)
    expected = np.array(case.expected, np.float64)
    assert got.shape == expected.shape, case.source
    if case.atol:
        assert np.abs(got - expected).max() <= case.atol, (case.source, case.theirs, got.tolist())
    else:
        assert got.tolist() == expected.tolist(), (case.source, case.theirs)


def test_every_case_has_its_own_name_and_says_where_it_is_published():
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.source and case.theirs and case.ours for case in CASES)


def value_of(case: Published) -> object:
    if case.cell_weights is not None:
        return [one_label(case, label) for label in range(len(case.true[0]))]
    ev = evaluated(case)
    if case.ours == "confusion_matrix":
        return ev.multilabel_confusion()
    if case.ours.startswith("1 - "):
        return 1 - ev.get(case.ours.removeprefix("1 - "))
    if " " in case.ours:
        return [getattr(ev.per_label(), column) for column in case.ours.split()]
    value = ev.get(case.ours)
    return list(value.values()) if isinstance(value, dict) else value


def evaluated(case: Published) -> se.Evaluator:
    """An evaluator that has counted the examples of a case; it ignores labels that the case does not list."""
    width = len(case.true[0])
    if case.scored:
        ev = se.Evaluator([], labels=range(width), keep=["curves"])
    elif case.labels is not None:
        ev = se.Evaluator([], labels=case.labels, unknown="ignore", threshold=case.threshold)
    elif case.indicator:
        ev = se.Evaluator([], labels=range(width), threshold=case.threshold)
    else:
        ev = se.Evaluator([])
    for true, pred in zip(case.true, case.pred, strict=True):
        actual = dict(enumerate(true)) if case.indicator else set(true)
        if case.among is None or actual[case.among]:
            ev.update(actual, predicted(case, pred))
    return ev


def predicted(case: Published, pred: tuple) -> object:
    if case.top is None:
        return dict(enumerate(pred)) if case.indicator else set(pred)
    ranked = sorted(range(len(pred)), key=lambda label: -pred[label]) if case.indicator else pred
    return set(ranked[: case.top])


def one_label(case: Published, label: int) -> float:
    """The value of one label, where each example has a weight of its own for each label."""
    ev = se.Evaluator([], labels=[label], threshold=case.threshold)
    weights = [row[label] for row in case.cell_weights]
    ev.update_many(
        [{label: row[label]} for row in case.true], [{label: row[label]} for row in case.pred], weights=weights
    )
    return ev.get(case.ours)[label]
