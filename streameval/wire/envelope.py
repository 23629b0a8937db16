"""The envelope of all bytes: the magic number, the version, the kind of object, and a checksum."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from streameval.errors import FormatError, InputError, StreamevalError, wording
from streameval.schema.text import quoted
from streameval.wire.blocks import DamageError
from streameval.wire.fields import Source, newer, varint

MAGIC = b"\x89SEV\r\n"
_VERSION = 2
_HEAD = len(MAGIC) + 2
_PIECE = 2**16

EVALUATOR, METRIC = 1, 2
ROLLING, TIME_ROLLING, TUMBLING, FADING = 16, 17, 18, 19
SLICED = 32
LEDGER, CHECKPOINT = 48, 49
PENDING, TRACE = 64, 65

HOLDERS = {
    EVALUATOR: "an Evaluator", METRIC: "a metric", ROLLING: "a Rolling", TIME_ROLLING: "a TimeRolling",
    TUMBLING: "a Tumbling", FADING: "a Fading", SLICED: "a Sliced", LEDGER: "a Ledger", CHECKPOINT: "a Checkpoint",
    PENDING: "a Pending", TRACE: "a Trace",
}  # fmt: skip
"""The kinds of object that bytes can hold. A number is never reused for another kind."""


def sealed(holder: int, body: Iterable[bytes]) -> Iterator[bytes]:
    """A body in its envelope, in pieces of about 64 KB or more; ``body`` is read piece by piece."""
    waiting, size, checksum = [MAGIC, bytes((_VERSION, holder))], 0, 0
    for part in body:
        waiting.append(part)
        size += len(part)
        if size >= _PIECE:
            piece, size = b"".join(waiting), 0
            waiting.clear()
            checksum = zlib.crc32(piece, checksum)
            yield piece
    piece = b"".join(waiting)
    yield piece + struct.pack("<I", zlib.crc32(piece, checksum))


def sized(pieces: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """The number of bytes, then the bytes. If they have more than one piece, they are made twice to save memory."""
    rest = pieces()
    first = next(rest)
    size = sum(map(len, rest), len(first))
    yield varint(size)
    for piece in (first,) if size == len(first) else pieces():
        size -= len(piece)
        yield piece
    if size:
        raise InputError("another thread counts meanwhile; let one thread count and save, or hold a lock around both")


def check_start(start: bytes, size: int) -> None:
    """Raise `FormatError` unless bytes, ``size`` in all, start with our magic number."""
    if not start.startswith(MAGIC):  # the command line leaves out these details
        why = f"these {size} bytes are not a streameval state; they start with {start[:6]!r}"
        raise FormatError(wording(why if size else "this is empty, and not a streameval state", ""))


def opened(data: bytes, holders: Collection[int], name: str = "") -> tuple[int, Source]:
    """Which of these holders the bytes have, and its body, or `FormatError`; ``name`` says what was expected."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FormatError(f"from_bytes needs bytes, not {quoted(data)}")
    data = bytes(data)
    check_start(data, len(data))
    if len(data) < _HEAD + 4:
        raise FormatError(f"only {len(data)} bytes; the end is missing")
    version, holder = data[len(MAGIC) : _HEAD]
    if version != _VERSION:
        wish = "upgrade streameval" if version > _VERSION else "read them with the version that wrote them"
        raise FormatError(f"format version {version} is not supported (this is version {_VERSION}); {wish}")
    if zlib.crc32(memoryview(data)[:-4]) != struct.unpack("<I", data[-4:])[0]:
        raise FormatError("the checksum does not match: the bytes are damaged or incomplete; restore them from a copy")
    if holder not in HOLDERS:
        raise newer(f"an object of kind {holder}")
    if holder not in holders:
        name = name or HOLDERS[next(iter(holders))]
        raise FormatError(f"the bytes hold {HOLDERS[holder]}, not {name}; use streameval.load or its own class")
    return holder, Source(data, _HEAD, len(data) - 4)


def holder_of(data: bytes) -> int | None:
    """The kind of object that bytes name; None if they are too short."""
    return data[_HEAD - 1] if len(data) >= _HEAD else None


@contextmanager
def decoding() -> Iterator[None]:
    """Report every error while a body is read as damage, unless a newer version wrote the body."""
    try:
        yield
    except (StreamevalError, ValueError, OverflowError, struct.error) as error:
        if isinstance(error, FormatError) and not isinstance(error, DamageError):  # its message is complete
            raise
        raise FormatError(f"the bytes are damaged: {error}") from None
