"""In every holder, the kernel counts weighted examples of common forms exactly as the reader does."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.evaluation.core import Core
from streameval.kernel.backend import BACKEND
from streameval.kernel.types import DONE, OTHER
from tests.support.effort import crossed

WEIGHTS = (0.7, 2, 1.0, 0.25, 0.0, np.float64(3.5), 1, np.float64(0.1))
PROPENSITIES = (1.0, 2.5, 3.3, 1e3, 1 / 3, 7.0, 1.1, 12.0)
HOLDERS: dict[str, Callable[[Any], Any]] = {
    "Evaluator": lambda evaluator: evaluator,
    "Rolling": lambda evaluator: se.Rolling(evaluator, 9),
    "TimeRolling": lambda evaluator: se.TimeRolling(evaluator, 2.5),
    "Tumbling": lambda evaluator: se.Tumbling(evaluator, size=1000),
    "Tumbling in time": lambda evaluator: se.Tumbling(evaluator, period=1000.0),
    "Fading": lambda evaluator: se.Fading(evaluator, half_life=500),
    "Fading in time": lambda evaluator: se.Fading(evaluator, half_life=500.0),
    "Sliced": lambda evaluator: se.Sliced(evaluator, by=["half"]),
    "Trace": lambda evaluator: se.Trace({"all": evaluator, "last": se.Rolling(evaluator, 7)}, every=10),
    "Pending": se.Pending,
    "Pending over Fading": lambda evaluator: se.Pending(se.Fading(evaluator, half_life=500)),
}
TIMED = ("TimeRolling", "Tumbling in time", "Fading in time")


def update(holder: Any, place: int, y_true: Any, y_pred: Any, **keywords: Any) -> None:
    if isinstance(holder, se.Pending):
        holder.predict(place, y_pred)
        holder.observe(place, y_true, **keywords)
    else:
        holder.update(y_true, y_pred, **keywords)


def content(holder: Any) -> Any:
    if isinstance(holder, se.Trace):
        return {name: one.to_bytes() for name, one in holder.evaluators.items()}
    return (holder.evaluator if isinstance(holder, se.Pending) else holder).to_bytes()


@pytest.mark.parametrize(("kind", "name"), crossed(["sets", "scores", "rows", "pairs", "sums besides"], [*HOLDERS]))
def test_the_fast_path_counts_weighted_examples_like_the_reader(name: str, kind: str, monkeypatch: pytest.MonkeyPatch):
    """The examples have weights, except for kinds with further sums: with weights the fast path declines these."""

    def holder() -> Any:
        labels = [*"abcdefgh"] if kind == "rows" else None
        if kind in ("sets", "pairs"):
            keep = ["confusions", "contributions", "cooccurrence"] if kind == "pairs" else []
            return HOLDERS[name](se.Evaluator(["f1_macro", "f1_samples"], keep=keep))
        if kind == "sums besides":
            metrics = ["lwlrap", "label_coverage_at_3", "map_at_3", "psp_at_2"]
            propensities = dict(zip("abcdefgh", PROPENSITIES, strict=True))
            evaluator = se.Evaluator(metrics, threshold=0.5, keep=["pairs"], inverse_propensities=propensities)
            return HOLDERS[name](evaluator)
        metrics = ["f1_macro", "lrap", "coverage_error", "roc_auc_macro"]
        return HOLDERS[name](se.Evaluator(metrics, threshold=0.5, labels=labels))

    draw, mine, expected, read = random.Random(kind), holder(), holder(), list[int]()
    usual = Core.read
    for place in range(95):
        y_true, y_pred = ({label for label in "abcdefgh" if draw.random() < 0.4} for _ in range(2))
        scores = {label: draw.choice((0.1, 0.5, draw.random())) for label in "abcdefgh" if draw.random() < 0.8}
        pred: Any = y_pred if kind in ("sets", "pairs") else scores
        if kind == "rows":
            pred = np.array([draw.random() for _ in "abcdefgh"], draw.choice(["float32", "float64"]))
        keywords: dict[str, Any] = {"weight": draw.choice(WEIGHTS) if place else 0.7}
        keywords = {} if kind == "sums besides" else keywords
        keywords |= {"t": place / 4} if name in TIMED else {}
        keywords |= {"where": {"half": draw.choice("xy")}} if name == "Sliced" else {}
        monkeypatch.setattr(Core, "read", lambda *all_, at=place: read.append(at) or usual(*all_))
        update(mine, place, y_true, pred, **keywords)
        monkeypatch.undo()
        update(expected, place, y_true, pred, **keywords, mask={}.keys())  # an empty mask forces use of the reader
        assert place % 6 or content(mine) == content(expected)
    assert content(mine) == content(expected)
    late = [place for place in read if place > 50]
    if kind == "sums besides" and name not in ("Evaluator", "Tumbling", "Tumbling in time", "Sliced", "Pending"):
        return
    assert BACKEND == "numpy" or len(late) <= 3, late


@pytest.mark.parametrize(
    ("weights", "metrics", "labels"),
    crossed(
        [WEIGHTS, (1.0,)],
        [["f1_macro", "f1_samples"], ["f1_macro", "lrap", "ranking_loss", "roc_auc_macro"]],
        [None, [*"abcdefgh"]],
    ),
)
def test_the_fast_path_counts_masked_examples_like_the_reader(
    labels: list[str] | None, metrics: list[str], weights: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
):
    draw, read, usual = random.Random(7), list[int](), Core.read
    threshold = 0.5 if len(metrics) > 2 else None
    mine, expected = (se.Evaluator(metrics, labels=labels, threshold=threshold, keep=["pairs"]) for _ in range(2))
    for place in range(150):
        y_true, mask = ({label for label in "abcdefgh" if draw.random() < 0.4} for _ in range(2))
        y_pred: Any = {label: draw.choice((0.1, 0.5, draw.random())) for label in "abcdefgh" if draw.random() < 0.8}
        y_pred = {label: bool(score > 0.4) for label, score in y_pred.items()} if threshold is None else y_pred
        weight = draw.choice(weights) if place else weights[0]
        truths: dict[str, bool | None] = {**dict.fromkeys("abc", False), **dict.fromkeys(y_true, True)}
        forms = {"mask": mask}, {"mask": sorted(mask)}, {"mask": dict.fromkeys(mask, True)}, {}
        keywords: dict[str, Any] = draw.choice(forms)
        truths = truths if keywords else {**truths, **dict.fromkeys(mask)}
        again = (truths, y_pred), {"weight": weight, **keywords}
        slow: dict[str, Any] = {"weight": weight, "mask": dict.fromkeys(mask).keys()}
        known = {**dict.fromkeys("abc", False), **dict.fromkeys(y_true, True), **dict.fromkeys(mask, False)}
        with monkeypatch.context() as patch:
            patch.setattr(Core, "read", lambda *all_, at=place: read.append(at) or usual(*all_))
            mine.update(*again[0], **again[1])
        expected.update(known, y_pred, **slow)
        if draw.random() < 0.3:
            mine.revert(*again[0], **again[1])
            expected.revert(known, y_pred, **slow)
        assert mine.to_bytes() == expected.to_bytes()
    late = [place for place in read if 60 < place < 100]
    assert BACKEND == "numpy" or len(late) <= 3, late


@pytest.mark.skipif(BACKEND == "numpy", reason="it has no fast path")
def test_the_fast_path_declines_weights_too_fine_or_too_large_for_its_sums():
    one = se.Evaluator(["f1_macro", "lrap", "roc_auc_macro"], threshold=0.5)
    example = {"a", "c"}, {"a": 0.75, "b": 0.25, "c": 0.5}
    for _ in range(30):
        one.update(*example)
    core = one._core

    def count(weight: Any, sign: int = 1) -> int:
        labels, before = core.labels, one.to_bytes()
        code: int = core.table.count_example(labels.known, labels.fixed, *example, core.threshold, sign, weight)
        assert code == DONE or one.to_bytes() == before
        return code

    assert [count(1.0), count(2.0)] == [DONE, OTHER]  # the counts have no weight sums
    one.update(*example, weight=2)
    assert [count(2.0), count(3), count(1), count(np.float64(2)), count(0.1)] == [DONE, DONE, DONE, DONE, OTHER]
    one.update(*example, weight=0.1)
    assert [count(0.1), count(-0.0), count(2.0**-80), count(2.0**100)] == [DONE, DONE, OTHER, OTHER]
    assert [count(0.1, -1), count(1.0, -1)] == [OTHER, OTHER]
    for weight in (math.nan, math.inf, -1.0, -1, 2**53 + 1, 2**70, True, "1", None, np.float32(2), [2.0]):
        assert count(weight) == OTHER, weight
    one.update(*example, weight=2.0**100)
    assert [count(2.0**100), count(0.1)] == [DONE, DONE]


@pytest.mark.parametrize("weight", [1, 2])
@pytest.mark.parametrize("y_pred", [{"a": 0.7, "b": 0.1}, np.array([0.7, 0.1])], ids=["mapping", "row"])
def test_one_example_is_never_read_as_a_batch_with_or_without_a_weight(y_pred: Any, weight: float):
    one = se.Evaluator(["f1_macro", "lrap", "roc_auc_macro"], labels=["a", "b"], threshold=0.5)
    for _ in range(60):  # from now on examples are counted without a reader
        one.update({"a"}, y_pred, weight=weight)
    before = one.to_bytes()
    for y_true in ({"a"}, np.array([1, 0])):
        with pytest.raises(se.InputError, match="for one example use update"):
            one.update_many(y_true, y_pred)
    assert one.to_bytes() == before
