"""Bins of scores in bytes: for each check there is a content that only this check refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from streameval.errors import FormatError
from streameval.kernel.curves.bins import BINS, SCORE_MAX
from streameval.states.curves import CurveBlock, CurveContent
from streameval.states.options import CurveOptions
from streameval.wire import curves
from streameval.wire.curves import put_curves, take_curves
from streameval.wire.fields import Sink, Source

# "a" is declared, and all six examples have it; no example has a score for "c". Weights are in units of 1/2.
GOOD: dict[str, Any] = {
    "examples": 6, "scale": 1, "lengths": [2, 2, 0], "bins": [10, 20, 5, 30],
    "counts": [[1, 0], [1, 2], [0, 1], [1, 0]], "weights": [[3, 0], [2, 4], [0, 1], [2, 0]],
    "sums": np.zeros((4, 2, 4), np.uint64),  # sums of residuals and of their squares
    "sides": [[0, 1, 1], [2, 1, 0], [1, 0, 0]], "weight": 11, "side_weights": [[1, 1], [3, 0], [0, 0]],
}  # fmt: skip
PLAIN = {"scale": None}
UNLIKELY = GOOD["sums"].copy()
UNLIKELY[1, 1] = 3, 0, 4, 0  # two residuals of together 3 have squares of at least 4.5


def taken(**changes: Any) -> list[CurveBlock]:
    """Write these bins, and return the blocks that are read back."""
    parts = GOOD | changes
    offsets = np.cumsum([0, *parts["lengths"]])
    bins, counts = np.array(parts["bins"]), np.array(parts["counts"])
    moments = np.zeros((len(bins), 2, 3), object)
    moments[:, :, 0] = parts["weights"]
    block = CurveBlock(0, offsets, bins, counts, parts["sums"], moments.copy)
    sides, labels = np.array(parts["sides"]), ("a", "b", "c")
    content = CurveContent(
        parts["examples"], labels, 1, parts["scale"], sides, parts["weight"], parts["side_weights"],
        lambda: iter((block,)),
    )  # fmt: skip
    sink = Sink()
    put_curves(sink, content)
    source = Source(b"".join(sink.pieces()), 0)
    decisions: Any = SimpleNamespace(fixed=1, examples=parts["examples"])
    read = take_curves(source, CurveOptions(), labels, decisions)
    return list(read.blocks())


@pytest.mark.parametrize("at_once", [1, 2, 3, 2**12])
@pytest.mark.parametrize("changes", [{}, PLAIN], ids=["weighted", "plain"])
def test_written_bins_are_read_back(changes: dict[str, Any], at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(curves, "BLOCK", at_once)
    blocks = taken(**changes)
    assert np.concatenate([block.bins for block in blocks]).tolist() == GOOD["bins"]
    assert np.concatenate([block.counts for block in blocks]).tolist() == GOOD["counts"]
    if not changes:
        assert np.concatenate([block.weigh() for block in blocks])[:, :, 0].tolist() == GOOD["weights"]


WRONG: dict[str, dict[str, Any]] = {
    "a bin twice": {"bins": [10, 10, 5, 30]},
    "a bin beyond all": {"bins": [BINS - 1, BINS, 5, 30]},
    "a step beyond 63 bits": {"bins": [10, 9 - 2**63, 5, 30]},
    "a bin without scores": {"counts": [[1, 0], [1, 2], [0, 1], [0, 0]]},
    "squares smaller than their residuals demand": PLAIN | {"sums": UNLIKELY},
    "more scores than a bin counts": PLAIN
    | {"examples": 2 * SCORE_MAX, "counts": [[1, 0], [1, 2], [0, 1], [SCORE_MAX + 1, 0]]},
    "more scores and positives without one than examples": PLAIN | {"sides": [[0, 2, 1], [2, 1, 0], [1, 0, 0]]},
    "more scores and masked than examples": PLAIN | {"sides": [[0, 1, 2], [2, 1, 0], [1, 0, 0]]},
    "more scores and negatives without one than examples": PLAIN | {"sides": [[0, 1, 1], [4, 1, 0], [1, 0, 0]]},
    "a label that nothing mentions": PLAIN | {"sides": [[0, 1, 1], [2, 1, 0], [0, 0, 0]]},
    "weight of positives that there are not": {"side_weights": [[1, 1], [3, 0], [1, 0]]},
    "weight of masked that there are not": {"side_weights": [[1, 1], [3, 1], [0, 0]]},
    "a label heavier than all examples": {"side_weights": [[1, 2], [3, 0], [0, 0]]},
    "units finer than needed": {
        "weights": [[4, 0], [2, 4], [0, 2], [2, 0]], "weight": 14, "side_weights": [[2, 2], [2, 0], [0, 0]]
    },
    "a unit finer than any weight": {"scale": 1074 + 65 + 53 + 1},
    "weights that are the counts": {
        "scale": 0, "weight": 6, "weights": GOOD["counts"], "side_weights": [[1, 1], [1, 0], [0, 0]]
    },
}  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 2**12])
@pytest.mark.parametrize("wrong", WRONG)
def test_bins_that_no_state_writes_are_refused(wrong: str, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(curves, "BLOCK", at_once)
    with pytest.raises(FormatError):
        taken(**WRONG[wrong])
