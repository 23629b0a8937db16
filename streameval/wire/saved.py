"""What bytes hold, written and read as a whole."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from streameval.config import STATES, Config, Details, checked_propensities
from streameval.errors import FormatError, StreamevalError, shown
from streameval.labels import Label, in_order
from streameval.states.content import Content
from streameval.states.recorded import Recording
from streameval.wire.parts import Source, put_column, put_integer, put_label, put_text, require, varint, zigzag
from streameval.wire.states import nothing_counted, put_content, take_content

__all__ = ["RECORDED", "SLICES", "WINDOWS", "Saved", "SavedWindow", "decode", "encode", "opened", "sealed"]

MAGIC = b"\x89SEV\r\n"
VERSION = 1
_POLICIES = ("error", "ignore", "add")

WINDOWS = ("Rolling", "TimeRolling", "Tumbling", "Fading")
"""The kinds of windows, from 1."""

SLICES = 64
"""The kind of a `streameval.Sliced`."""

RECORDED = {1: False, 2: True}
"""Those that hold their examples, and whether they hold their times."""


@dataclass(frozen=True, slots=True)
class SavedWindow:
    """What bytes hold of a window.

    Attributes
    ----------
    kind
        The kind of window, from 1.
    numbers
        Its parameters, integers of at most 64 bits.
    parts
        Contents by number, ascending.
    recording
        The examples in it.
    """

    kind: int
    numbers: tuple[int, ...]
    parts: tuple[tuple[int, Content], ...] = ()
    recording: Recording | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What bytes hold.

    Attributes
    ----------
    kind
        0 for an evaluator, 1 for a single metric; either may stand in a window.
    config, metrics
        How it reads examples, and the names of its metrics.
    decisions
        The content of the state of decisions.
    window
        What there is besides if it is a window.
    others
        The contents of the states that the configuration names, by name.
    """

    kind: int
    config: Config
    metrics: tuple[str, ...]
    decisions: Content
    window: SavedWindow | None = None
    others: Mapping[str, Any] = field(default_factory=dict)


def encode(saved: Saved) -> bytes:
    """The bytes of an object; equal objects have equal bytes."""
    window = saved.window
    parts: list[bytes] = []
    _put_config(parts, saved.config)
    parts.append(varint(len(saved.metrics)))
    for name in saved.metrics:
        put_text(parts, name)
    if window is None:
        put_content(parts, saved.decisions)
        if saved.config.states:
            from streameval.wire.others import put_others  # whose code is large, and seldom needed

            put_others(parts, saved.config, saved.decisions, saved.others)
    else:
        _put_window(parts, window)
    return sealed(saved.kind + (0 if window is None else 2 * window.kind), parts)


def sealed(kind: int, parts: list[bytes]) -> bytes:
    """Bytes with what every format begins and ends with."""
    body = b"".join((MAGIC, bytes((VERSION, kind)), *parts))
    return body + struct.pack("<I", zlib.crc32(body))


def opened(data: bytes) -> tuple[int, Source]:
    """The kind of what bytes hold, and what comes after it; `FormatError` if damaged or of another version."""
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
    return data[len(MAGIC) + 1], Source(data[:-4], len(MAGIC) + 2)


def decode(data: bytes) -> Saved:
    """What `encode` was given, or `FormatError`: damaged or foreign bytes never give a wrong object."""
    kind, source = opened(data)
    if kind == SLICES:
        raise FormatError("the bytes hold a Sliced; use streameval.load or Sliced.from_bytes")
    try:
        saved = _take(kind, source)
        exact = encode(saved) == bytes(data)
    except (StreamevalError, ValueError, OverflowError, struct.error) as error:
        raise FormatError(f"the bytes are damaged: {error}") from None
    if not exact:
        raise FormatError("the bytes are damaged: they hold the right values in a form that is never written")
    return saved


# -- writing ----------------------------------------------------------------------------------------------------------


def _put_config(parts: list[bytes], config: Config) -> None:
    scalar = isinstance(config.threshold, float)
    kind = 0 if config.threshold is None else 1 if scalar else 2
    parts.append(bytes((_flags(config), _POLICIES.index(config.unknown), kind)))
    if config.labels is not None:
        parts.append(varint(len(config.labels)))
        for label in config.labels:
            put_label(parts, label)
    if isinstance(config.threshold, float):
        parts.append(struct.pack("<d", config.threshold))
    elif config.threshold is not None:
        _put_numbers(parts, config.threshold)
    details = config.details
    if details != Details():
        put_integer(parts, details.label_ranks)
        put_integer(parts, details.gain_ranks)
        parts.append(varint(len(details.hit_cutoffs)))
        for cutoff in details.hit_cutoffs:
            put_integer(parts, cutoff)
        _put_numbers(parts, details.inverse_propensities)


def _flags(config: Config) -> int:
    """What is not as it usually is, as bits."""
    bits = [config.labels is not None, config.nan == "missing", config.ties == "last"]
    bits += [name in config.states for name in STATES]
    bits.append(config.details != Details())
    return sum(bit << place for place, bit in enumerate(bits))


def _put_numbers(parts: list[bytes], pairs: tuple[tuple[Label, float], ...]) -> None:
    parts.append(varint(len(pairs)))
    for label, value in pairs:
        put_label(parts, label)
        parts.append(struct.pack("<d", value))


def _put_window(parts: list[bytes], window: SavedWindow) -> None:
    parts.append(varint(len(window.numbers)))
    parts += map(zigzag, window.numbers)
    if window.recording is not None:
        _put_recording(parts, window.recording)
        return
    parts.append(varint(len(window.parts)))
    for number, content in window.parts:
        parts.append(zigzag(number))
        # Counts take a byte at least, for declared labels are not written again with each part.
        put_content(parts, content, least=1)


def _put_recording(parts: list[bytes], recording: Recording) -> None:
    grown = recording.labels[recording.fixed :]
    parts.append(varint(len(grown)))
    for label in grown:
        put_label(parts, label)
    parts.append(varint(len(recording.lengths)))
    # One more than each, since a column of zeros takes no room, and what is read must not outgrow the bytes.
    put_column(parts, recording.lengths.astype(np.int64) + 1)
    parts.append(varint(len(recording.slots)))
    put_column(parts, recording.slots.astype(np.int64) + 1)
    weights, stamps = recording.weights, recording.stamps
    parts += (b"\0",) if weights is None else (b"\1", weights.astype("<f8").tobytes())
    if stamps is not None:
        parts.append(stamps.astype("<i8").tobytes())


# -- reading ----------------------------------------------------------------------------------------------------------


def _take(kind: int, source: Source) -> Saved:
    if kind > 2 * len(WINDOWS) + 1:
        raise FormatError(f"kind {kind} where at most {2 * len(WINDOWS) + 1} can stand")
    window, kind = divmod(kind, 2)
    config = _take_config(source)
    metrics = tuple(source.raw(source.varint()).decode() for _ in range(source.count()))
    declared = config.labels or ()
    if window and config.states:
        raise FormatError(f"a window that keeps {', '.join(config.states)}")
    if window:
        saved = Saved(kind, config, metrics, nothing_counted(declared), _take_window(source, window, declared))
    else:
        decisions = take_content(source, declared)
        others: Mapping[str, Any] = {}
        if config.states:
            from streameval.wire.others import take_others

            others = take_others(source, config, decisions)
        saved = Saved(kind, config, metrics, decisions, None, others)
    if source.left():
        raise FormatError(f"{source.left()} bytes too many")
    return saved


def _take_config(source: Source) -> Config:
    flags, policy, kind = source.byte(127), _POLICIES[source.byte(2)], source.byte(2)
    declared, missing, last, *kept, detailed = (flags >> place & 1 for place in range(4 + len(STATES)))
    labels = [source.label() for _ in range(source.count())] if declared else None
    threshold = (None, source.number, lambda: dict(_take_numbers(source)))[kind]
    bound = None if threshold is None else threshold()
    details = _take_details(source) if detailed else None
    states = [name for name, bit in zip(STATES, kept, strict=True) if bit]
    require(details is None or "rankings" in states)
    nan, ties = ("missing" if missing else "error"), ("last" if last else "shared")
    return Config.checked(labels, policy, bound, nan, states, ties, details)


def _take_details(source: Source) -> Details:
    label_ranks, gain_ranks = source.integer(), source.integer()
    cutoffs = tuple(source.integer() for _ in range(source.count()))
    return Details(label_ranks, cutoffs, gain_ranks, checked_propensities(dict(_take_numbers(source))))


def _take_numbers(source: Source) -> list[tuple[Label, float]]:
    return [(source.label(), source.number()) for _ in range(source.count())]


def _take_window(source: Source, kind: int, declared: tuple[Label, ...]) -> SavedWindow:
    numbers = tuple(source.integer_of_64_bits() for _ in range(source.count()))
    if kind in RECORDED:
        return SavedWindow(kind, numbers, recording=_take_recording(source, declared, timed=RECORDED[kind]))
    parts = [(source.integer_of_64_bits(), take_content(source, declared, 1)) for _ in range(source.count())]
    if any(after <= before for (before, _), (after, _) in pairwise(parts)):
        raise FormatError("the parts of the window are not in order")
    return SavedWindow(kind, numbers, tuple(parts))


def _take_recording(source: Source, declared: tuple[Label, ...], *, timed: bool) -> Recording:
    grown = [source.label() for _ in range(source.count())]
    labels = (*declared, *grown)
    if len(set(labels)) != len(labels) or sorted(grown, key=in_order) != grown:
        raise FormatError("labels are repeated or not in order")
    examples = source.count()
    lengths = source.column(examples) - 1
    places = source.count()
    slots = source.column(places) - 1
    # In this order: neither a sum nor a slot can then pass what int64 and int32 hold.
    require(bool(((lengths >= 0) & (lengths <= len(labels))).all()) and int(lengths.sum()) == places)
    require(bool(((slots >= 0) & (slots < 5 * len(labels))).all()) and len(labels) < 2**31 // 5)
    column, outcome = np.divmod(slots, 5)
    row = np.repeat(np.arange(examples), lengths)
    require(bool(((np.diff(column) > 0) | (np.diff(row) > 0)).all()))
    require(not ((outcome == 0) & (column < len(declared))).any())
    require(len(np.unique(column[column >= len(declared)])) == len(grown))
    weights = np.frombuffer(source.raw(8 * examples), "<f8").astype(np.float64) if source.byte(1) else None
    if weights is not None:
        require(bool((np.isfinite(weights) & (weights >= 0)).all() and (weights != 1).any()))
    stamps = np.frombuffer(source.raw(8 * examples), "<i8").astype(np.int64) if timed else None
    require(stamps is None or bool((stamps[1:] >= stamps[:-1]).all()))
    return Recording(labels, len(declared), lengths.astype(np.int32), slots.astype(np.int32), weights, stamps)
