"""What stands around all bytes: who wrote them, in which version, of which kind, and a checksum."""

from __future__ import annotations

import struct
import zlib

from streameval.errors import FormatError, shown

__all__ = ["MAGIC", "SLICES", "VERSION", "kind_of", "opened", "sealed"]

MAGIC = b"\x89SEV\r\n"
VERSION = 1

SLICES = 64
"""The kind of a `streameval.Sliced`."""


def sealed(kind: int, parts: list[bytes]) -> bytes:
    """A body in its envelope."""
    body = b"".join([MAGIC, bytes((VERSION, kind)), *parts])
    return body + struct.pack("<I", zlib.crc32(body))


def opened(data: bytes) -> bytes:
    """What `sealed` made, without the checksum, or `FormatError`; the kind stands at ``len(MAGIC) + 1``."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FormatError(f"from_bytes needs bytes, not {shown(data)}")
    data = bytes(data)
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"these {len(data)} bytes were not written by streameval; they start with {data[:6]!r}")
    if len(data) < len(MAGIC) + 6:
        raise FormatError(f"only {len(data)} bytes; the end is missing")
    if data[len(MAGIC)] != VERSION:
        raise FormatError(
            f"format version {data[len(MAGIC)]} is not known here (this is version {VERSION}); upgrade streameval"
        )
    if zlib.crc32(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise FormatError("the checksum does not match: the bytes are damaged or incomplete; restore them from a copy")
    return data[:-4]


def kind_of(data: bytes) -> int | None:
    """What bytes say they are; None if they are too short to say."""
    return data[len(MAGIC) + 1] if len(data) > len(MAGIC) + 1 and isinstance(data, bytes) else None
