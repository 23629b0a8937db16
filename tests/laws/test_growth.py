"""Objects that evict examples use no more memory after a long stream of new labels than after a short one."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

import streameval as se
from tests.support.effort import crossed


@pytest.mark.parametrize(
    ("kind", "holder"), crossed(["decisions", "rankings", "curves", "pairs"], ["rolling", "tumbling", "pending"])
)
def test_a_long_stream_of_new_labels_takes_no_more_memory_than_a_short_one(holder: str, kind: str):
    ev = se.Evaluator([], keep=[] if kind == "decisions" else [kind])
    window: Any = {
        "rolling": lambda: se.Rolling(ev, size=5), "tumbling": lambda: se.Tumbling(ev, size=5, history=2),
        "pending": lambda: se.Pending(se.Rolling(ev, size=5), max_pending=5),
    }[holder]()  # fmt: skip
    held = []
    tracemalloc.start()
    try:
        for step in range(1500):
            label = f"label {step}"
            pred = {label: 0.5, f"{label}?": 0.25} if kind in ("rankings", "curves") else {f"{label}?"}
            if holder == "pending":
                window.predict(step, pred)
                if step % 10 == 9:
                    window.observe(step, {label})  # the rest of the predictions are evicted
            else:
                window.update({label}, pred)
            if step in (500, 1499):
                gc.collect()
                held.append((tracemalloc.get_traced_memory()[0], len(window.to_bytes())))
    finally:
        tracemalloc.stop()
    (before, short), (after, long) = held
    assert after - before < 50_000  # a dict of a thousand labels takes more
    assert long < short + 50
