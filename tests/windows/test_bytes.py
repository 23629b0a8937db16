"""Windows from bytes: for each check there are bytes that no other check refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

import streameval as se
from streameval.evaluation.core import core_of
from streameval.evaluation.encoding import put_part
from streameval.states.history import ALWAYS
from streameval.windows.base import Window
from streameval.wire.fields import Sink, zigzag

HOUR = timedelta(hours=1)
Blocks = list[tuple[int, int]]
"""The numbers of blocks, and how many examples each has."""


def of_size() -> Any:
    return se.Tumbling(se.F1(), size=3, history=2)


def of_numbers() -> Any:
    return se.Tumbling(se.F1(), period=2.0, history=1)


def of_hours() -> Any:
    return se.Tumbling(se.F1(), period=HOUR, history=1)


def fading() -> Any:
    return se.Fading(se.F1(), half_life=2.0)


def rolling() -> Any:
    return se.Rolling(se.F1(), size=3)


def by_number() -> Any:
    return se.TimeRolling(se.F1(), period=2.0)


def by_hour() -> Any:
    return se.TimeRolling(se.F1(), period=HOUR)


def read_back(window: Any, numbers: dict[int, int], blocks: Blocks | None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The window that is read from bytes in which some numbers or the blocks of a window were replaced."""
    kind, own = type(window), [*window._numbers()]

    def put_blocks(self: Window[Any], sink: Sink) -> None:
        sink.varint(len(blocks or ()))
        for index, size in blocks or ():
            block = se.F1()
            for _ in range(size):
                block.update({"a"}, {"a"})
            sink.append(zigzag(index))
            put_part(sink, core_of(block))

    monkeypatch.setattr(kind, "_numbers", lambda _: tuple(numbers.get(at, one) for at, one in enumerate(own)))
    if blocks is not None:
        monkeypatch.setattr(kind, "_put", put_blocks)
    data = window.to_bytes()
    monkeypatch.undo()
    result = kind.from_bytes(data)
    assert result.to_bytes() == data
    return result


TIME = datetime(2024, 5, 1, 9, 30)
AT = int((TIME - datetime(1970, 1, 1)) / HOUR)  # the hour of TIME, counted from 1970
LATEST = (TIME - datetime(1970, 1, 1)) // timedelta(microseconds=1)
NAN = 0x7FF8 << 48
# Numbers of blocks, from 0: kind and period of the clock, start, its zone, history, newest, zone of times, latest time.
RIGHT: dict[str, tuple[Callable[[], Any], dict[int, int], Blocks | None]] = {
    "size": (of_size, {5: 3}, [(1, 3), (2, 3), (3, 2)]),
    "size, no example yet": (of_size, {5: 1}, [(0, 3)]),
    "numbers": (of_numbers, {5: 7}, [(6, 1), (7, 1)]),
    "hours": (of_hours, {5: AT, 6: 1}, [(AT, 2)]),
    "hours, no example": (of_hours, {5: AT, 6: 0}, []),
    "nothing": (of_hours, {}, []),
    "fading": (fading, {5: 1, 7: 0x4008 << 48}, [(1, 1)]),  # latest: 3.0
    "rolling": (rolling, {}, None),
    "by number": (by_number, {2: 0x4008 << 48}, None),
    "by hour": (by_hour, {2: LATEST, 3: 0}, None),
}
WRONG: dict[str, tuple[Callable[[], Any], dict[int, int], Blocks | None]] = {
    "another start": (of_size, {2: 1}, []),
    "another zone of the start": (of_size, {3: 0}, []),
    "a clock that there is not": (of_size, {0: 3}, []),
    "a history below 0": (of_numbers, {4: -1}, []),
    "a zone beyond all": (of_hours, {5: AT, 6: 3}, [(AT, 2)]),
    "dates of no zone": (of_hours, {5: AT, 6: 2}, [(AT, 2)]),
    "a zone before the first date": (of_hours, {6: 0}, []),
    "a zone of numbers": (of_numbers, {5: 7, 6: 0}, [(7, 1)]),
    "a latest time that does not matter": (of_numbers, {5: 1, 7: 0x4008 << 48}, [(1, 1)]),
    "an hour beyond the last year": (of_hours, {5: 2**40, 6: 0}, []),
    "a block twice": (of_numbers, {5: 7}, [(7, 1), (7, 1)]),
    "blocks out of order": (of_numbers, {5: 7}, [(7, 1), (6, 1)]),
    "a block without examples": (of_numbers, {5: 7}, [(6, 0), (7, 1)]),
    "a block that was evicted": (of_numbers, {5: 7}, [(5, 1), (7, 1)]),
    "a block that is to come": (of_numbers, {5: 7}, [(7, 1), (8, 1)]),
    "blocks before the first time": (of_numbers, {}, [(ALWAYS, 1)]),
    "no first number": (of_size, {5: ALWAYS}, []),
    "a latest time before the first": (fading, {7: 0x4008 << 48}, []),
    "a block that lacks": (of_size, {5: 2}, [(1, 3), (2, 2)]),
    "a full block that is still the newest": (of_size, {5: 1}, [(0, 3), (1, 3)]),
    "a block that was closed too early": (of_size, {5: 2}, [(0, 3), (1, 2), (2, 2)]),
    "a block before the first": (of_size, {5: 1}, [(-1, 3), (1, 1)]),
    "a newest block before the first": (of_size, {5: -1}, []),
    "another history of what fades": (fading, {4: 63, 5: 1, 7: 0x4008 << 48}, [(1, 1)]),
    "a latest time of another block": (fading, {5: 1, 7: 0x3FF0 << 48}, [(1, 1)]),
    "more examples than the size": (rolling, {0: 1}, None),
    "rolling: a zone beyond all": (by_hour, {2: LATEST, 3: 3}, None),
    "rolling: dates of no zone": (by_hour, {2: LATEST, 3: 2}, None),
    "rolling: a zone before the first date": (lambda: se.TimeRolling(se.F1(), period=HOUR), {3: 0}, None),
    "rolling: a zone of numbers": (by_number, {2: 0x4008 << 48, 3: 0}, None),
    "rolling: a latest time that is none": (lambda: se.TimeRolling(se.F1(), period=3.0), {2: NAN}, None),
    "rolling: an example that was evicted": (by_number, {2: 0x4014 << 48}, None),
    "rolling: an example that is to come": (by_number, {2: 0x4000 << 48}, None),
    "rolling: examples before the first time": (by_number, {2: ALWAYS}, None),
}


def made(window: Any) -> Any:
    """The window, after examples if it is a Rolling, or a TimeRolling of numbers."""
    if isinstance(window, se.TimeRolling) and window.period == 2.0:
        window.update({"a"}, {"a"}, t=3.0)
    elif isinstance(window, se.Rolling):
        window.update_many([{"a"}] * 2, [{"a"}] * 2)
    return window


@pytest.mark.parametrize("right", RIGHT)
def test_bytes_that_a_window_may_write_are_read(right: str, monkeypatch: pytest.MonkeyPatch):
    make, numbers, blocks = RIGHT[right]
    window = read_back(made(make()), numbers, blocks, monkeypatch)
    assert window.copy() == window


@pytest.mark.parametrize("wrong", WRONG)
def test_bytes_that_no_window_writes_are_refused(wrong: str, monkeypatch: pytest.MonkeyPatch):
    make, numbers, blocks = WRONG[wrong]
    with pytest.raises(se.FormatError):
        read_back(made(make()), numbers, blocks, monkeypatch)


@pytest.mark.parametrize("differ", ["weights", "scores", "labels"])
def test_examples_of_one_time_give_the_same_bytes_in_any_order_whatever_they_differ_in(differ: str):
    made = set()
    for weights in permutations([0.5, 1.0, 2.0]):
        window = se.TimeRolling(se.Evaluator(["roc_auc_macro"], labels=["a", "b"]), period=2.0)
        for weight in weights:
            true, score = {"b"} if differ == "labels" and weight > 1 else {"a"}, weight if differ == "scores" else 1.0
            window.update(true, {"a": score, "b": 0.0}, weight=weight if differ == "weights" else 1.0, t=1.0)
        made.add(window.to_bytes())
    assert len(made) == 1
