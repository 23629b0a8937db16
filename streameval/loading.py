"""Files of any class."""

from __future__ import annotations

import os
from typing import Any

from streameval import wire
from streameval.checkpoint import Checkpoint
from streameval.ledger import Ledger
from streameval.windows.loading import AnyState, restored

__all__ = ["decoded", "load"]


def load(path: str | os.PathLike[str]) -> AnyState | Ledger[Any] | Checkpoint[Any]:
    """Read what `save` wrote, whichever class it was.

    Raises
    ------
    FormatError
        If the file holds anything else, or is damaged; the message names the file.
    OSError
        If it is not there, or cannot be read.
    """
    data = wire.read_file(path)
    with wire.naming_file(path):
        return decoded(data)


def decoded(data: bytes) -> AnyState | Ledger[Any] | Checkpoint[Any]:
    """What `to_bytes` was called on, whichever class it was."""
    kind = wire.kind_of(data)
    if kind == wire.LEDGER:
        return Ledger.from_bytes(data)
    return Checkpoint.from_bytes(data) if kind == wire.CHECKPOINT else restored(data)
