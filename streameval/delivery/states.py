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
from streameval.wire.envelope import holder_of

AnyState: TypeAlias = Evaluator | Metric | Sliced[Any] | Window[Any]

KINDS = (Evaluator, Metric, Sliced, Window)
"""The classes of states, for `isinstance`."""

_CLASSES: tuple[type[AnyState], ...] = (Evaluator, Metric, Sliced, Rolling, TimeRolling, Tumbling, Fading)


def restored(data: bytes) -> AnyState:
    """What `to_bytes` was called on, whichever class it was.

    Raises
    ------
    FormatError
        If the bytes are anything else, or are damaged.
    """
    holder = holder_of(data)
    kind = next((kind for kind in _CLASSES if kind._holder == holder), Evaluator)  # which names what anything else is
    return kind.from_bytes(data)
