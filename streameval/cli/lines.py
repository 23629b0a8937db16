"""Bytes of a file or a stream, in blocks that end where a line ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from streameval.cli.rows import Place, UserError

__all__ = ["BLOCK", "Stream", "blocks_of_lines"]

BLOCK = 2**23
"""Bytes read at a time: enough for the cost of a call not to show, few enough to need no memory to speak of."""

_LONGEST, _QUOTED = 2**28, 2**26

_MARK = b"\xef\xbb\xbf"  # with which some programs begin UTF-8


class Stream(Protocol):
    """What blocks are read from."""

    def read1(self, size: int, /) -> bytes:
        """At most so many bytes, as soon as there are any; none at the end."""


def blocks_of_lines(
    stream: Stream, file: str, *, whole: Callable[[bytes], bool] = lambda _: True
) -> Iterator[tuple[int, bytes, int]]:
    """The number of the first line, the lines, and how many bytes were read for them.

    ``whole`` tells whether lines may be cut after these, which a quoted line break in CSV forbids.
    """
    parts: list[bytes] = []
    waiting, line = 0, 1
    while chunk := stream.read1(BLOCK):
        size = len(chunk)
        end = chunk.rfind(b"\n") + 1
        waiting += size
        if end and (whole(data := b"".join([*parts, memoryview(chunk)[:end]])) or len(data) > _QUOTED):
            yield line, data.removeprefix(_MARK) if line == 1 else data, waiting
            line += data.count(b"\n")
            parts, waiting = [chunk[end:]], 0
        else:
            parts.append(chunk)
            if waiting > _LONGEST:
                raise UserError(
                    f"{Place(file, line)}: this line is longer than {_LONGEST >> 20} MiB; is it JSON Lines?"
                )
    data = b"".join(parts)
    if data:
        yield line, data.removeprefix(_MARK) if line == 1 else data, waiting
