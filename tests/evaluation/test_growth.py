"""The cost of a call does not grow with the number of labels that it does not mention."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.kernel import backend
from tests.support.work import peak, steps

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
def test_reverting_pairs_takes_no_more_steps_with_many_other_labels(
    act: Callable[[se.Evaluator, int, float], None], weight: float
):
    counted = []
    for size in (FEW, MANY):
        evaluator = filled(*range(size), weight=weight)
        evaluator.update_many([[]] * 4, [[], ["b7"], [], ["b8"]])
        act(evaluator, 7, weight)  # does work that only the first call does
        counted.append(steps(lambda one=evaluator: act(one, 8, weight)))
    assert counted[1] <= counted[0] + 40


@pytest.mark.skipif(backend.BACKEND == "numpy", reason="whose every change is a new value")
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("keep", KINDS)
def test_a_small_batch_takes_no_more_steps_or_memory_with_many_known_labels(keep: str, declared: bool):
    counted = []
    for size in (1_000, 8_000):
        options = {"labels": ["a0", "a7"], "unknown": "add"} if declared else {}
        evaluator = se.Evaluator(["f1_micro"], threshold=0.5, keep=[keep], **options)
        scores = [{f"a{n}": 0.75, f"b{n}": 0.25} for n in range(size)]
        evaluator.update_many([[f"a{n}"] for n in range(size)], scores)

        def act(evaluator: se.Evaluator = evaluator, scores: list[dict[str, float]] = scores) -> None:
            evaluator.update_many([["a7"], ["b9"]], scores[7:9])

        act()  # does work that only the first call does
        counted.append((steps(act), peak(act)))
    assert counted[1][0] <= counted[0][0] + 40
    assert counted[1][1] <= counted[0][1] + 1_024
