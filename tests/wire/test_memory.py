"""Writing and reading bytes takes little more memory than the bytes and the object, including memory of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.evaluation.kinds import KINDS
from streameval.kernel import backend
from tests.benchmarks.memory import CASES, VERBS, child
from tests.laws.asked import FULL

# For each call, how many times the size of the bytes, and of the object, its peak memory may be.
LIMITS = {
    "to_bytes": (3, 0), "save": (1, 0), "from_bytes": (3, 1.25), "load": (3, 1.25), "copy": (0, 1.25), "merge": (0, 1.5)
}  # fmt: skip
ROOM = 4_000_000  # bytes for all small objects


@pytest.mark.skipif(backend.BACKEND != "compiled", reason="the twins hold Python objects")
@pytest.mark.skipif(not FULL, reason="with STREAMEVAL_EFFORT=1")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize("name", CASES)
def test_bytes_take_little_memory(name: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/state"
    child("make", name, path)
    for verb in VERBS:
        if (verb == "merge" and name.startswith("Rolling")) or (verb in VERBS[4:] and name == "Checkpoint"):
            continue
        size, held, peak = child(verb, path, path + ".small")
        by_bytes, by_object = LIMITS[verb]
        assert peak < by_bytes * size + by_object * held + ROOM, (verb, peak / size, held / size, size)


def test_weights_that_sum_to_the_counts_do_not_show_in_the_bytes() -> None:
    keep = [*KINDS, "labelsets"]
    options: Any = {"threshold": 0.5, "keep": keep, "inverse_propensities": {"a": 1.3, "b": 2.7}}
    plain, weighted = (se.Evaluator(["psp_at(k=1)", "f1_micro"], **options) for _ in range(2))
    for weight in (0.5, 1.5):
        plain.update({"a"}, {"a": 0.75, "b": 0.25})
        weighted.update({"a"}, {"a": 0.75, "b": 0.25}, weight=weight)
    assert weighted.to_bytes() == plain.to_bytes()
