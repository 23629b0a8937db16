"""Windows as bytes: the object they were built from, their numbers, and the examples or the states in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from streameval.errors import FormatError
from streameval.evaluation.encoding import Saved, put_empty, put_states, take_empty, take_states
from streameval.schema.recording import Recording
from streameval.wire.envelope import ROLLING, TIME_ROLLING, decoding, opened, sealed
from streameval.wire.fields import Sink, varint, zigzag
from streameval.wire.recordings import put_recording, take_recording

_TIMED = {ROLLING: False, TIME_ROLLING: True}
"""Windows that hold their examples, and whether they hold their times."""


@dataclass(frozen=True, slots=True)
class SavedWindow:
    """What bytes hold of a window.

    Attributes
    ----------
    empty
        The object it was built from.
    numbers
        Its parameters, integers of at most 64 bits.
    blocks
        What states hold, by number, ascending.
    recording
        The examples in it.
    """

    empty: Saved
    numbers: tuple[int, ...]
    blocks: tuple[tuple[int, Mapping[str, Any]], ...] = ()
    recording: Recording | None = None


def encode_window(holder: int, saved: SavedWindow) -> bytes:
    """The bytes of a window; equal windows have equal bytes."""
    sink = Sink()
    put_empty(sink, saved.empty)
    sink += (varint(len(saved.numbers)), *map(zigzag, saved.numbers))
    if saved.recording is not None:
        put_recording(sink, saved.recording)
        return sealed(holder, sink)
    sink.varint(len(saved.blocks))
    for number, contents in saved.blocks:
        sink.append(zigzag(number))
        # Counts take a byte at least, for declared labels are not written again with each block.
        put_states(sink, saved.empty.config, contents, least=1)
    return sealed(holder, sink)


def decode_window(data: bytes, holder: int) -> SavedWindow:
    """What `encode_window` was given, or `FormatError`; who restores it compares what that writes with these bytes."""
    _, source = opened(data, (holder,))
    with decoding():
        empty = take_empty(source)
        config = empty.config
        numbers = tuple(source.integer_of_64_bits() for _ in range(source.count()))
        if holder in _TIMED:
            reads = {"timed": _TIMED[holder], "scored": config.scored, "decided": config.decides}
            saved = SavedWindow(empty, numbers, recording=take_recording(source, config.labels or (), **reads))
        else:
            blocks = [
                (source.integer_of_64_bits(), take_states(source, config, least=1)) for _ in range(source.count())
            ]
            if any(after <= before for (before, _), (after, _) in pairwise(blocks)):
                raise FormatError("the parts of the window are not in order")
            saved = SavedWindow(empty, numbers, tuple(blocks))
        source.end()
    return saved
