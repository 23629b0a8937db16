"""Files of any class."""

from __future__ import annotations

import os
from typing import Any

from streameval.delivery.checkpoint import Checkpoint
from streameval.delivery.ledger import Ledger
from streameval.delivery.states import AnyState, restored
from streameval.wire.envelope import CHECKPOINT, LEDGER, holder_of
from streameval.wire.files import naming_file, read_file

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
    data = read_file(path)
    with naming_file(path):
        return decoded(data)


def decoded(data: bytes) -> AnyState | Ledger[Any] | Checkpoint[Any]:
    """What `to_bytes` was called on, whichever class it was."""
    kind = holder_of(data)
    if kind == LEDGER:
        return Ledger.from_bytes(data)
    return Checkpoint.from_bytes(data) if kind == CHECKPOINT else restored(data)
