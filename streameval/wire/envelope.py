"""What stands around all bytes: who wrote them, in which version, of which kind, and a checksum."""

from __future__ import annotations

import struct
import zlib

from streameval.errors import FormatError
from streameval.schema.text import quoted

__all__ = ["CHECKPOINT", "LEDGER", "MAGIC", "SLICES", "VERSION", "kind_of", "opened", "refuse_holder", "sealed"]

MAGIC = b"\x89SEV\r\n"
VERSION = 1

SLICES = 64
LEDGER = 128
CHECKPOINT = 129

_HOLDERS = {SLICES: "a Sliced", LEDGER: "a Ledger", CHECKPOINT: "a Checkpoint"}
"""Kinds of bytes that hold several states, or the bytes of them."""


def sealed(kind: int, parts: list[bytes]) -> bytes:
    """A body in its envelope."""
    body = b"".join([MAGIC, bytes((VERSION, kind)), *parts])
    return body + struct.pack("<I", zlib.crc32(body))


def opened(data: bytes) -> bytes:
    """What `sealed` made, without the checksum, or `FormatError`; the kind stands at ``len(MAGIC) + 1``."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FormatError(f"from_bytes needs bytes, not {quoted(data)}")
    data = bytes(data)
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"these {len(data)} bytes were not written by streameval; they start with {data[:6]!r}")
    if len(data) < len(MAGIC) + 6:
        raise FormatError(f"only {len(data)} bytes; the end is missing")
    if data[len(MAGIC)] != VERSION:
        raise FormatError(
            f"format version {data[len(MAGIC)]} is not known here (this is version {VERSION}); upgrade streameval"
        )
    body = data[:-4]
    if zlib.crc32(body) != struct.unpack("<I", data[-4:])[0]:
        raise FormatError("the checksum does not match: the bytes are damaged or incomplete; restore them from a copy")
    return body


def kind_of(data: bytes) -> int | None:
    """What bytes say they are; None if they are too short to say."""
    return data[len(MAGIC) + 1] if len(data) > len(MAGIC) + 1 and isinstance(data, bytes) else None


def refuse_holder(kind: int, wanted: str) -> None:
    """Raise where bytes hold several states and something else is read."""
    if kind in _HOLDERS:
        raise FormatError(f"the bytes hold {_HOLDERS[kind]}, not {wanted}; use streameval.load or its own class")
