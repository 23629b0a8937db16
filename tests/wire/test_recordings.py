"""The examples of windows in bytes: for each check there is a content that only this check refuses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import streameval as se
from streameval.errors import FormatError
from streameval.schema.recording import Examples, ExampleScores, Recording
from streameval.wire import recordings
from streameval.wire.fields import Sink, Source
from streameval.wire.recordings import put_recording, take_recording

# Outcomes: 0 neither, 1 true, 2 predicted, 3 both, 4 masked; a slot is 5 * column + outcome. "a" is declared.
GOOD: dict[str, Any] = {
    "labels": ("a", "b"), "lengths": [2, 1, 1, 1], "slots": [1, 8, 7, 4, 9], "weights": [1.0, 0.5, 0.0, 1.0],
    "stamps": [3, 3, 9, 9], "many": [2, 1, 0, 0], "columns": [0, 1, 1], "scores": np.float32([0.5, 0.25, 0.75]),
}  # fmt: skip
SILENT = {"slots": [1, 6, 6, 4, 9], "columns": [0, 1, 1]}  # for a window without decisions, which predicts no label


def taken(*, predicts: bool = True, size: int = 0, **changes: Any) -> list[Examples]:
    """Write and read these examples; if not 0, ``size`` is written as the size of a score in place of the right one."""
    parts = GOOD | changes
    lengths, slots, many, columns = (np.int32(parts[name]) for name in ("lengths", "slots", "many", "columns"))
    scores = ExampleScores(many, columns, np.array(parts["scores"]))
    examples = Examples(lengths, slots, np.array(parts["weights"]), np.array(parts["stamps"]), scores)
    sink = Sink()
    put_recording(sink, Recording(parts["labels"], 1, len(lengths), lambda: iter((examples,))), scored=True)
    data = bytearray(b"".join(sink.pieces()))
    data[-1 - scores.scores.nbytes] = size or scores.scores.itemsize
    source = Source(bytes(data), 0)
    recording = take_recording(source, ("a",), timed=True, scored=True, predicts=predicts)
    source.end()
    return list(recording.blocks())


@pytest.mark.parametrize("parts", [GOOD, SILENT | {"predicts": False}], ids=["predicted", "silent"])
def test_written_examples_are_read_back(parts: dict[str, Any]):
    (read,) = taken(**parts)
    assert read.slots.tolist() == parts["slots"]
    assert read.scores is not None
    assert read.scores.scores.tolist() == GOOD["scores"].tolist()


WRONG: dict[str, dict[str, Any]] = {
    "labels not ascending": {"slots": [8, 1, 7, 4, 9]},
    "a label twice": {
        "slots": [1, 3, 7, 4, 9], "many": [1, 1, 0, 0], "columns": [0, 1], "scores": np.float32([0.5, 0.75])
    },
    "a true negative of a declared label": {"slots": [0, 8, 7, 4, 9]},
    "a label that no example mentions": {"labels": ("a", "b", "c")},
    "predicted, where nothing is": SILENT | {"slots": [1, 7, 6, 4, 9], "predicts": False},
    "both, where nothing is predicted": SILENT | {"slots": [1, 8, 6, 4, 9], "predicts": False},
    "an infinite weight": {"weights": [1.0, np.inf, 0.0, 1.0]},
    "a negative weight": {"weights": [1.0, -0.5, 0.0, 1.0]},
    "weights that are all 1": {"weights": [1.0] * 4},
    "scores not ascending": {"columns": [1, 0, 1]},
    "two scores of a label": {"columns": [1, 1, 1]},
    "the score of a masked label": {
        "many": [2, 1, 1, 0], "columns": [0, 1, 1, 0], "scores": np.float32([0.5, 0.25, 0.75, 1])
    },
    "the score of a label that is not mentioned": {
        "many": [2, 1, 1, 0], "columns": [0, 1, 1, 1], "scores": np.float32([0.5, 0.25, 0.75, 1])
    },
    "an infinite score": {"scores": np.float32([0.5, 0.25, np.inf])},
    "a score of -0.0": {"scores": np.float32([0.5, 0.25, -0.0])},
    "wide scores that could be narrow": {"scores": [0.5, 0.25, 0.75]},
    "scores of 3 bytes": {"size": 3},
    "times that go back": {"stamps": [3, 2, 9, 9]},
    "examples of one time in another order": {
        "lengths": [1, 2, 1, 1], "slots": [7, 1, 8, 4, 9], "many": [1, 2, 0, 0], "columns": [1, 0, 1]
    },
    "more labels than there are": {"lengths": [3, 1, 1, 1], "slots": [1, 8, 13, 7, 4, 9]},
    "a slot below all": {"slots": [-1, 8, 7, 4, 9]},
    "a slot beyond all": {"slots": [1, 8, 10, 4, 9]},
    "a column beyond all": {"many": [2, 0, 0, 0], "columns": [0, 3], "scores": np.float32([0.5, 0.25])},
    "slots left": {"slots": [1, 8, 7, 4, 9, 9]},
    "no slots left": {"slots": [1, 8, 7, 4]},
    "scores left": {"columns": [0, 1, 1, 1], "scores": np.float32([0.5, 0.25, 0.75, 1])},
    "no scores left": {"columns": [0, 1], "scores": np.float32([0.5, 0.25])},
}  # fmt: skip


@pytest.mark.parametrize("at_once", [1, 2**10])
@pytest.mark.parametrize("wrong", WRONG)
def test_examples_that_no_window_writes_are_refused(wrong: str, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recordings, "BLOCK", at_once)
    with pytest.raises(FormatError):
        taken(**WRONG[wrong])


@pytest.mark.parametrize("timed", [False, True])
def test_bytes_do_not_depend_on_how_many_examples_are_handled_at_once(timed: bool, monkeypatch: pytest.MonkeyPatch):
    ev, draw = se.Evaluator(["ndcg"], threshold=0.5), random.Random(7)
    window: Any = se.TimeRolling(ev, period=99.0) if timed else se.Rolling(ev, size=90)
    for at in range(100):
        scores = {label: draw.random() for label in draw.sample("abcd", draw.randint(0, 4))}
        window.update(draw.sample("abc", 2), scores, weight=draw.choice([1, 2]), **({"t": at // 3} if timed else {}))
    data = window.to_bytes()
    monkeypatch.setattr(recordings, "BLOCK", 1)
    assert window.to_bytes() == data
    assert type(window).from_bytes(data) == window
