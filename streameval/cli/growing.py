"""A file that another program writes, read as ``tail -f`` reads it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

from streameval.errors import InputError

_PAUSE = 0.2  # seconds until a file is looked at again


class Growing(io.FileIO):
    """A file without an end: reading waits there for more, and calls ``tick`` meanwhile."""

    tick: Callable[[], object] = int

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path, self._read = Path(path), 0

    def readinto(self, buffer: Any) -> int:
        """Read what is there, but at least a byte."""
        while not (size := super().readinto(buffer) or 0):
            own = os.fstat(self.fileno())
            if own.st_size < self._read or not self._path.exists() or not os.path.samestat(self._path.stat(), own):
                raise InputError(f"{self._path} was truncated or replaced; start again to follow the new file")
            self.tick()
            sleep(_PAUSE)
        self._read += size
        return size

    def readall(self) -> bytes:
        """What only an array of JSON asks for."""
        raise InputError(f"{self._path} is one array of JSON, which is read whole; write an object on each line")
