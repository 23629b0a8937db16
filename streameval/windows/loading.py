"""States of any class from bytes."""

from __future__ import annotations

from typing import Any, TypeAlias

from streameval.evaluation.encoding import decode
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.slices import Sliced
from streameval.windows.base import Window
from streameval.windows.fading import Fading
from streameval.windows.sliding import Rolling, TimeRolling
from streameval.windows.tumbling import Tumbling
from streameval.wire.envelope import SLICES, kind_of

__all__ = ["KINDS", "AnyState", "restored"]

AnyState: TypeAlias = Evaluator | Metric | Sliced[Any] | Window[Any]

KINDS = (Evaluator, Metric, Sliced, Window)
"""The classes of states, for `isinstance`."""

_WINDOWS: tuple[type[Window[Any]], ...] = (Rolling, TimeRolling, Tumbling, Fading)


def restored(data: bytes) -> AnyState:
    """What `to_bytes` was called on, whichever class it was.

    Raises
    ------
    FormatError
        If the bytes are anything else, or are damaged.
    """
    if kind_of(data) == SLICES:
        return Sliced.from_bytes(data)
    saved = decode(data)
    if saved.window is not None:
        return _WINDOWS[saved.window.kind - 1]._decoded(saved, data)
    return Evaluator._from_saved(saved) if saved.kind == Evaluator._kind else Metric._from_saved(saved)
