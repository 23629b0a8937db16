"""What was read last: states that are read together nearly always have the same configuration, and often labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from streameval.wire.fields import Source

__all__ = ["Remembered"]

T = TypeVar("T")

_MANY, _LONGEST = 8, 2**16
"""How many values are remembered, and of how many bytes at most."""


class Remembered(Generic[T]):
    """Reads values that never change, of one kind, and need not read those again whose bytes were met lately.

    Bytes of this kind must tell where they end, so that those of one value never begin with those of another: bytes
    that stand at the beginning are then the ones that would be read.
    """

    def __init__(self, read: Callable[[Source], T]) -> None:
        self._read = read
        self._known: tuple[tuple[bytes, T], ...] = ()  # replaced as a whole, for there may be threads

    def take(self, source: Source) -> T:
        """The next value."""
        for raw, value in self._known:
            if source.skips(raw):
                return value
        start = source.place()
        value = self._read(source)
        raw = source.since(start)
        if len(raw) <= _LONGEST:
            self._known = ((raw, value), *self._known[: _MANY - 1])
        return value
