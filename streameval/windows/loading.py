"""Files of any class."""

from __future__ import annotations

import os
from typing import Any

from streameval import wire
from streameval.evaluator import Evaluator
from streameval.single import Metric
from streameval.slices import Sliced
from streameval.windows.base import Window
from streameval.windows.fading import Fading
from streameval.windows.recent import Rolling, TimeRolling
from streameval.windows.tumbling import Tumbling

__all__ = ["load", "restored"]

_WINDOWS: tuple[type[Window[Any]], ...] = (Rolling, TimeRolling, Tumbling, Fading)


def load(path: str | os.PathLike[str]) -> Evaluator | Metric | Sliced[Any] | Window[Any]:
    """Read what `save` wrote, whichever class it was.

    Raises
    ------
    FormatError
        If the file holds anything else, or is damaged.
    """
    return restored(wire.read_file(path))


def restored(data: bytes) -> Evaluator | Metric | Sliced[Any] | Window[Any]:
    """What some bytes are of, whichever class it was."""
    if wire.kind_of(data) == wire.SLICES:
        return Sliced.from_bytes(data)
    saved = wire.decode(data)
    if saved.window is not None:
        return _WINDOWS[saved.window.kind - 1].from_bytes(data)
    return Evaluator._from_saved(saved) if saved.kind == Evaluator._kind else Metric._from_saved(saved)
