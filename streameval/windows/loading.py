"""Files of any class."""

from __future__ import annotations

import os
from typing import TypeAlias

from streameval import wire
from streameval.evaluator import Evaluator
from streameval.single import Metric
from streameval.windows.recent import Rolling, TimeRolling

__all__ = ["Loaded", "load"]

Loaded: TypeAlias = Evaluator | Metric | Rolling[Evaluator | Metric] | TimeRolling[Evaluator | Metric]


def load(path: str | os.PathLike[str]) -> Loaded:
    """Read what `save` wrote, whichever class it was.

    Raises
    ------
    FormatError
        If the file holds anything else, or is damaged.
    """
    data = wire.read_file(path)
    saved = wire.decode(data)
    if saved.window is not None:
        return (Rolling, TimeRolling)[saved.window.kind - 1].from_bytes(data)
    return Evaluator._from_saved(saved) if saved.kind == Evaluator._kind else Metric._from_saved(saved)
