"""States of any class from bytes."""

from __future__ import annotations

from typing import Any, TypeAlias

from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.slices import Sliced
from streameval.windows.base import Window
from streameval.windows.fading import Fading
from streameval.windows.sliding import Rolling, TimeRolling
from streameval.windows.tumbling import Tumbling
from streameval.wire.envelope import (
    EVALUATOR,
    FADING,
    METRIC,
    ROLLING,
    SLICED,
    TIME_ROLLING,
    TUMBLING,
    holder_of,
)

__all__ = ["KINDS", "AnyState", "restored"]

AnyState: TypeAlias = Evaluator | Metric | Sliced[Any] | Window[Any]

KINDS = (Evaluator, Metric, Sliced, Window)
"""The classes of states, for `isinstance`."""

_CLASSES: dict[int | None, type[AnyState]] = {
    EVALUATOR: Evaluator, METRIC: Metric, SLICED: Sliced,
    ROLLING: Rolling, TIME_ROLLING: TimeRolling, TUMBLING: Tumbling, FADING: Fading,
}  # fmt: skip


def restored(data: bytes) -> AnyState:
    """What `to_bytes` was called on, whichever class it was.

    Raises
    ------
    FormatError
        If the bytes are anything else, or are damaged.
    """
    return _CLASSES.get(holder_of(data), Evaluator).from_bytes(data)  # which names what anything else is
