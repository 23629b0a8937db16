"""What taking examples back costs does not grow with how many labels there are that these do not mention."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import streameval as se
from streameval.kernel import backend
from tests.support.work import steps

FEW, MANY = 100, 1_600


def filled(*numbers: int, weight: float) -> se.Evaluator:
    evaluator = se.Evaluator(["f1_micro"], keep=["pairs"])
    true, pred = [[f"a{n}", f"b{n}"] for n in numbers], [[f"b{n}", f"c{n}"] for n in numbers]
    evaluator.update_many(true, pred, weights=[weight] * len(numbers))
    evaluator.update_many([[]] * 2, [[], [f"b{numbers[0]}"]])
    return evaluator


def revert(evaluator: se.Evaluator, n: int, weight: float) -> None:
    evaluator.revert([f"a{n}", f"b{n}"], [f"b{n}", f"c{n}"], weight=weight)


def unmerge(evaluator: se.Evaluator, n: int, weight: float) -> None:
    evaluator.unmerge(filled(n, weight=weight))


@pytest.mark.skipif(backend.BACKEND == "numpy", reason="whose every change is a new value")
@pytest.mark.parametrize("weight", [1.0, 0.75])
@pytest.mark.parametrize("act", [revert, unmerge])
def test_to_take_back_pairs_takes_no_more_where_there_are_many_other_labels(
    act: Callable[[se.Evaluator, int, float], None], weight: float
):
    counted = []
    for size in (FEW, MANY):
        evaluator = filled(*range(size), weight=weight)
        evaluator.update_many([[]] * 4, [[], ["b7"], [], ["b8"]])
        act(evaluator, 7, weight)  # what is made once, such as the room that labels have under all examples
        counted.append(steps(lambda one=evaluator: act(one, 8, weight)))
    assert counted[1] <= counted[0] + 40
