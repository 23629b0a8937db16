"""State to bytes and back: versioned, checksummed, canonical, and never pickle.

Layout, all integers little-endian: magic, format version, kind; configuration; metric names; the decisions state;
CRC-32 of all before it. Counts are stored column by column in as few bytes per value as the largest needs, labels as
UTF-8 with a length. Bytes that would not be written exactly so are refused, so equal states and equal bytes are the
same thing.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from streameval.config import Config
from streameval.errors import FormatError, StreamevalError, shown
from streameval.kernel.types import IntArray
from streameval.labels import Label, in_order, normalise
from streameval.states.base import COUNT_MAX
from streameval.states.decisions import Content
from streameval.states.exact import trailing_zeros
from streameval.states.recorded import Recording

__all__ = ["WINDOWS", "Saved", "SavedWindow", "decode", "encode", "nothing_counted", "read_file", "write_file"]

MAGIC = b"\x89SEV\r\n"
VERSION = 1
_POLICIES = ("error", "ignore", "add")
# No float64 needs a finer unit than 2**-1074; what has faded is finer by 65 halvings and a factor of 53 bits.
_FINEST = 1074 + 65 + 53
# Sums of at most 2**63 weights below 2**1024 in the finest units.
_LONGEST = (63 + 1024 + _FINEST) // 8 + 1

WINDOWS = ("Rolling", "TimeRolling", "Tumbling", "Fading")
"""The kinds of windows, from 1."""

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
    """What bytes hold. ``kind`` is 0 for an evaluator, 1 for a single metric; either may stand in a window."""

    kind: int
    config: Config
    metrics: tuple[str, ...]
    decisions: Content
    window: SavedWindow | None = None


def encode(saved: Saved) -> bytes:
    """The bytes of an object; equal objects have equal bytes."""
    window = saved.window
    parts = [MAGIC, bytes((VERSION, saved.kind + (0 if window is None else 2 * window.kind)))]
    _put_config(parts, saved.config)
    parts.append(_varint(len(saved.metrics)))
    for name in saved.metrics:
        _put_text(parts, name)
    if window is None:
        _put_content(parts, saved.decisions)
    else:
        _put_window(parts, window)
    body = b"".join(parts)
    return body + struct.pack("<I", zlib.crc32(body))


def decode(data: bytes) -> Saved:
    """What `encode` was given, or `FormatError`: damaged or foreign bytes never give a wrong object."""
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
    try:
        saved = _take(_Source(data[:-4], len(MAGIC) + 1))
        exact = encode(saved) == data
    except (StreamevalError, ValueError, OverflowError, struct.error) as error:
        raise FormatError(f"the bytes are damaged: {error}") from None
    if not exact:
        raise FormatError("the bytes are damaged: they hold the right values in a form that is never written")
    return saved


# -- writing ----------------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _put_text(parts: list[bytes], text: str) -> None:
    raw = text.encode()
    parts += (_varint(len(raw)), raw)


def _put_label(parts: list[bytes], label: Label) -> None:
    """Length, doubled; the low bit tells an integer from text."""
    if isinstance(label, str):
        raw = label.encode()
        parts += (_varint(2 * len(raw)), raw)
    else:
        raw = label.to_bytes((label.bit_length() + 8) // 8, "little", signed=True)
        parts += (_varint(2 * len(raw) + 1), raw)


def _put_config(parts: list[bytes], config: Config) -> None:
    scalar = isinstance(config.threshold, float)
    kind = 0 if config.threshold is None else 1 if scalar else 2
    parts.append(bytes((int(config.labels is not None), _POLICIES.index(config.unknown), kind)))
    if config.labels is not None:
        parts.append(_varint(len(config.labels)))
        for label in config.labels:
            _put_label(parts, label)
    if isinstance(config.threshold, float):
        parts.append(struct.pack("<d", config.threshold))
    elif config.threshold is not None:
        parts.append(_varint(len(config.threshold)))
        for label, value in config.threshold:
            _put_label(parts, label)
            parts.append(struct.pack("<d", value))


def _put_content(parts: list[bytes], content: Content) -> None:
    parts.append(_varint(content.examples))
    grown = content.labels[content.fixed :]
    parts.append(_varint(len(grown)))
    for label in grown:
        _put_label(parts, label)
    for outcome in range(5):
        _put_column(parts, content.cells[:, outcome])
    parts.append(_varint(len(content.times)))
    for part in range(4):
        _put_column(parts, content.keys[:, part])
    _put_column(parts, content.times)
    if content.scale is None or content.cell_weights is None or content.key_weights is None:
        parts.append(b"\0")
        return
    parts += (b"\1", _varint(content.scale))
    for sums in (*(values[1:] for values in content.cell_weights), content.key_weights):
        for value in sums:
            raw = value.to_bytes((value.bit_length() + 7) // 8, "little")
            parts += (_varint(len(raw)), raw)


def _put_window(parts: list[bytes], window: SavedWindow) -> None:
    parts.append(_varint(len(window.numbers)))
    parts += map(_zigzag, window.numbers)
    if window.recording is not None:
        _put_recording(parts, window.recording)
        return
    parts.append(_varint(len(window.parts)))
    for number, content in window.parts:
        parts.append(_zigzag(number))
        _put_content(parts, content)


def _put_recording(parts: list[bytes], recording: Recording) -> None:
    grown = recording.labels[recording.fixed :]
    parts.append(_varint(len(grown)))
    for label in grown:
        _put_label(parts, label)
    parts.append(_varint(len(recording.lengths)))
    # One more than each, since a column of zeros takes no room, and what is read must not outgrow the bytes.
    _put_column(parts, recording.lengths.astype(np.int64) + 1)
    parts.append(_varint(len(recording.slots)))
    _put_column(parts, recording.slots.astype(np.int64) + 1)
    weights, stamps = recording.weights, recording.stamps
    parts += (b"\0",) if weights is None else (b"\1", weights.astype("<f8").tobytes())
    if stamps is not None:
        parts.append(stamps.astype("<i8").tobytes())


def _zigzag(value: int) -> bytes:
    return _varint(2 * value if value >= 0 else -2 * value - 1)


def _put_column(parts: list[bytes], column: IntArray) -> None:
    width = (int(column.max(initial=0)).bit_length() + 7) // 8
    raw = np.ascontiguousarray(column, "<i8").view(np.uint8).reshape(-1, 8)
    parts += (bytes((width,)), raw[:, :width].tobytes())


# -- reading ----------------------------------------------------------------------------------------------------------


class _Source:
    """Bytes read from front to back; reading past the end is a `FormatError`, and no length is trusted."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._at = data, position

    def left(self) -> int:
        return len(self._data) - self._at

    def raw(self, size: int) -> bytes:
        if size > self.left():
            raise FormatError(f"{size} bytes expected, {self.left()} left")
        self._at += size
        return self._data[self._at - size : self._at]

    def byte(self, top: int) -> int:
        value = self.raw(1)[0]
        if value > top:
            raise FormatError(f"{value} where at most {top} can stand")
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            part = self.byte(255)
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                return value
            if shift > 63:
                raise FormatError("an integer of more than 64 bits")

    def count(self) -> int:
        """How many items follow; each takes at least one byte."""
        value = self.varint()
        if value > self.left():
            raise FormatError(f"{value} items in {self.left()} bytes")
        return value

    def label(self) -> Label:
        size = self.varint()
        raw = self.raw(size // 2)
        return normalise(int.from_bytes(raw, "little", signed=True) if size & 1 else raw.decode())

    def number(self) -> float:
        value: float = struct.unpack("<d", self.raw(8))[0]
        return value

    def integer(self) -> int:
        size = self.varint()
        if size > _LONGEST:
            raise FormatError(f"a sum of {size} bytes")
        return int.from_bytes(self.raw(size), "little")

    def integer_of_64_bits(self) -> int:
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value // 2) - 1

    def column(self, length: int) -> IntArray:
        width = self.byte(8)
        padded = np.zeros((length, 8), np.uint8)
        padded[:, :width] = np.frombuffer(self.raw(length * width), np.uint8).reshape(length, width)
        column = padded.view("<i8").astype(np.int64).reshape(-1)
        if column.min(initial=0) < 0:
            raise FormatError("a count beyond 64 bits")
        return column


def _take(source: _Source) -> Saved:
    window, kind = divmod(source.byte(2 * len(WINDOWS) + 1), 2)
    config = _take_config(source)
    metrics = tuple(source.raw(source.varint()).decode() for _ in range(source.count()))
    declared = config.labels or ()
    if window:
        saved = Saved(kind, config, metrics, nothing_counted(declared), _take_window(source, window, declared))
    else:
        saved = Saved(kind, config, metrics, _take_content(source, declared))
    if source.left():
        raise FormatError(f"{source.left()} bytes too many")
    return saved


def nothing_counted(declared: tuple[Label, ...]) -> Content:
    """The content of a fresh object."""
    none = np.zeros(0, np.int64)
    return Content(
        0, declared, len(declared), np.zeros((len(declared), 5), np.int64), none.reshape(0, 4), none, None, None, None
    )


def _take_config(source: _Source) -> Config:
    declared, policy, kind = source.byte(1), _POLICIES[source.byte(2)], source.byte(2)
    labels = [source.label() for _ in range(source.count())] if declared else None
    if kind == 0:
        return Config.checked(labels, policy, None)
    if kind == 1:
        return Config.checked(labels, policy, source.number())
    pairs: list[tuple[Label, float]] = [(source.label(), source.number()) for _ in range(source.count())]
    return Config.checked(labels, policy, dict(pairs))


def _take_window(source: _Source, kind: int, declared: tuple[Label, ...]) -> SavedWindow:
    numbers = tuple(source.integer_of_64_bits() for _ in range(source.count()))
    if kind in RECORDED:
        return SavedWindow(kind, numbers, recording=_take_recording(source, declared, timed=RECORDED[kind]))
    parts = [(source.integer_of_64_bits(), _take_content(source, declared)) for _ in range(source.count())]
    if any(after <= before for (before, _), (after, _) in pairwise(parts)):
        raise FormatError("the parts of the window are not in order")
    return SavedWindow(kind, numbers, tuple(parts))


def _take_recording(source: _Source, declared: tuple[Label, ...], *, timed: bool) -> Recording:
    grown = [source.label() for _ in range(source.count())]
    labels = (*declared, *grown)
    if len(set(labels)) != len(labels) or sorted(grown, key=in_order) != grown:
        raise FormatError("labels are repeated or not in order")
    examples = source.count()
    lengths = source.column(examples) - 1
    places = source.count()
    slots = source.column(places) - 1
    # In this order: neither a sum nor a slot can then pass what int64 and int32 hold.
    _require(bool(((lengths >= 0) & (lengths <= len(labels))).all()) and int(lengths.sum()) == places)
    _require(bool(((slots >= 0) & (slots < 5 * len(labels))).all()) and len(labels) < 2**31 // 5)
    column, outcome = np.divmod(slots, 5)
    row = np.repeat(np.arange(examples), lengths)
    _require(bool(((np.diff(column) > 0) | (np.diff(row) > 0)).all()))
    _require(not ((outcome == 0) & (column < len(declared))).any())
    _require(len(np.unique(column[column >= len(declared)])) == len(grown))
    weights = np.frombuffer(source.raw(8 * examples), "<f8").astype(np.float64) if source.byte(1) else None
    if weights is not None:
        _require(bool((np.isfinite(weights) & (weights >= 0)).all() and (weights != 1).any()))
    stamps = np.frombuffer(source.raw(8 * examples), "<i8").astype(np.int64) if timed else None
    _require(stamps is None or bool((stamps[1:] >= stamps[:-1]).all()))
    return Recording(labels, len(declared), lengths.astype(np.int32), slots.astype(np.int32), weights, stamps)


def _take_content(source: _Source, declared: tuple[Label, ...]) -> Content:
    examples = source.varint()
    grown = [source.label() for _ in range(source.count())]
    labels = (*declared, *grown)
    if len(set(labels)) != len(labels) or sorted(grown, key=in_order) != grown:
        raise FormatError("labels are repeated or not in order")
    cells = np.empty((len(labels), 5), np.int64)
    for outcome in range(5):
        cells[:, outcome] = source.column(len(labels))
    distinct = source.count()
    keys = np.empty((distinct, 4), np.int64)
    for part in range(4):
        keys[:, part] = source.column(distinct)
    times = source.column(distinct)
    _require(bool((times > 0).all()) and _increasing(keys))
    scale: int | None = None
    cell_weights: list[list[int]] | None = None
    key_weights: list[int] | None = None
    if source.byte(1):
        scale = source.varint()
        cell_weights = [[0, *(source.integer() for _ in range(4))] for _ in labels]
        key_weights = [source.integer() for _ in range(distinct)]
    content = Content(examples, labels, len(declared), cells, keys, times, scale, cell_weights, key_weights)
    _check(content)
    return content


def _check(content: Content) -> None:
    """Refuse what no stream of examples can leave; above all, the two marginals must tell of the same cells."""
    examples, fixed, width = content.examples, content.fixed, len(content.labels)
    rows = content.cells.tolist()
    keys: list[tuple[int, ...]] = [tuple(key) for key in content.keys.tolist()]
    times: list[int] = content.times.tolist()
    _require(examples <= COUNT_MAX and sum(times) == examples)
    _require(all(both <= min(true, pred) and true + pred - both + hidden <= width for true, pred, both, hidden in keys))
    _require(all(sum(row) <= examples for row in rows))
    _require(all(row[0] == 0 for row in rows[:fixed]) and all(any(row) for row in rows[fixed:]))
    _require(_agree(rows, keys, times))
    if content.scale is None or content.cell_weights is None or content.key_weights is None:
        return
    sums, key_sums = content.cell_weights, content.key_weights
    _require(content.scale <= _FINEST)
    zeros = trailing_zeros(value for values in (*sums, key_sums) for value in values)
    _require(content.scale == 0 or zeros == 0)
    _require(content.scale > 0 or key_sums != times or any(s[1:] != c[1:] for s, c in zip(sums, rows, strict=True)))
    whole = sum(key_sums)
    _require(all(sum(values) <= whole for values in sums))
    _require(all(c or not s for values, row in zip(sums, rows, strict=True) for s, c in zip(values, row, strict=True)))
    _require(_agree(sums, keys, key_sums))


def _increasing(keys: IntArray) -> bool:
    """Whether row keys are in lexicographic order and distinct."""
    later, decided = np.zeros(max(0, len(keys) - 1), np.bool_), np.zeros(max(0, len(keys) - 1), np.bool_)
    for part in range(4):
        step = np.diff(keys[:, part])
        later |= ~decided & (step > 0)
        decided |= step != 0
    return bool(later.all())


def _agree(rows: list[list[int]], keys: list[tuple[int, ...]], times: list[int]) -> bool:
    """Whether true, predicted, both and masked cells are as many by label as by example."""
    by_label = [sum(row[outcome] for row in rows) for outcome in range(5)]
    by_example = [sum(key[part] * count for key, count in zip(keys, times, strict=True)) for part in range(4)]
    _, fn, fp, tp, masked = by_label
    return by_example == [tp + fn, tp + fp, tp, masked]


def _require(holds: bool) -> None:
    if not holds:
        raise FormatError("the counts contradict each other")


# -- files ------------------------------------------------------------------------------------------------------------


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of ``data`` or leave the old file: a temporary file beside it, flushed to disk, then renamed."""
    target = Path(path)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the rename itself must reach the disk; Windows has no such call
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file."""
    return Path(path).read_bytes()
