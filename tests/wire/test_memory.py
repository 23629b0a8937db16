"""Bytes are made, written and read in little more memory than they and the object take."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.kernel import backend

RNG = np.random.default_rng(0)


def decisions() -> Any:
    ev = se.Evaluator(["f1_micro"])
    names = [[f"the label number {number}"] for number in range(150_000)]
    ev.update_many(names + names, [[]] * 300_000)
    return ev


def curves(weights: Any = None) -> Any:
    ev = se.Evaluator(["roc_auc_micro"], labels=["a", "b"])
    rows = 100_000 if weights is None else len(weights)
    ev.update_many(RNG.random((rows, 2)) < 0.3, RNG.lognormal(0, 30, (rows, 2)), weights=weights)
    return ev


def window() -> Any:
    made = se.Rolling(se.Evaluator(["f1_micro"], labels=[f"label {number}" for number in range(60)]), 100_000)
    made.update_many(RNG.random((100_000, 60)) < 0.2, RNG.random((100_000, 60)) < 0.2)
    return made


# How often the bytes may be allocated at once: by `to_bytes`, `save`, and `from_bytes` with what Python holds of it.
CASES: dict[str, tuple[Callable[[], Any], float, float, float]] = {
    "decisions": (decisions, 4, 4, 14),
    "curves": (curves, 3, 2, 3),
    "weighted curves": (lambda: curves(RNG.random(8_000)), 2, 1, 30),
    "window": (window, 7, 7, 7),
}


@pytest.mark.skipif(backend.BACKEND != "compiled", reason="the twins hold Python objects")
@pytest.mark.parametrize("case", CASES)
def test_bytes_take_little_memory(case: str, tmp_path: Path):
    make, *limits = CASES[case]
    state = make()
    data = state.to_bytes()
    verbs = (state.to_bytes, lambda: state.save(tmp_path / "state"), lambda: type(state).from_bytes(data))
    for verb, limit in zip(verbs, limits, strict=True):
        tracemalloc.start()
        try:
            verb()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < limit * len(data) + 4e6, (verb, peak / len(data), len(data))
    assert (tmp_path / "state").read_bytes() == data


def test_weights_that_sum_to_the_counts_leave_no_trace():
    keep = ["rankings", "curves", "pairs", "labelsets"]
    options: Any = {"threshold": 0.5, "keep": keep, "inverse_propensities": {"a": 1.3, "b": 2.7}}
    plain, weighted = (se.Evaluator(["psp_at(k=1)", "f1_micro"], **options) for _ in range(2))
    for weight in (0.5, 1.5):
        plain.update({"a"}, {"a": 0.75, "b": 0.25})
        weighted.update({"a"}, {"a": 0.75, "b": 0.25}, weight=weight)
    assert weighted.to_bytes() == plain.to_bytes()
