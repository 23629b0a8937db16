"""The fields that all bytes are made of: integers, strings, labels and columns, written and read.

Each field has one form: any other encoding of the same value is refused. So content that consists of these fields only
need not be encoded again to check that its bytes are canonical.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import lt
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.backend import packing
from streameval.kernel.types import IntArray, WordArray
from streameval.schema.labels import Label
from streameval.states.weights import trailing_zeros

# No float64 needs a finer unit than 2**-1074; what has faded is finer by 65 halvings and a factor of 53 bits.
FINEST = 1074 + 65 + 53
# Sums of at most 2**63 weights below 2**1024 in the finest units.
LONGEST = (63 + 1024 + FINEST) // 8 + 1

NEVER_WRITTEN = "they hold the right values in a form that is never written"

T = TypeVar("T")

_CACHED_VALUES, _CACHED_BYTES = 8, 2**16
"""Limits of `Cached`: number of values, and bytes of one value."""

_REASONS = {
    packing.CUT: "they end within a column of integers",
    packing.OTHERWISE: NEVER_WRITTEN,
    packing.BEYOND: "a count beyond 64 bits",
    packing.WIDE: "integers of more than 8 bytes",
}
"""What is wrong with bytes that hold no columns."""


class NewerFormatError(FormatError):
    """The bytes hold what only a newer version knows."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is unknown: the bytes were written by a newer version; upgrade streameval")


class Option(NamedTuple):
    """One option of a configuration: its number, which never means anything else, and how its value is written."""

    number: int
    name: str
    put: Callable[[list[bytes], Any], None]
    take: Callable[[Source], Any]


def choice(number: int, name: str, values: tuple[str, ...]) -> Option:
    """An option that is one of some values, written as its place among them."""
    return Option(
        number,
        name,
        lambda parts, value: parts.append(bytes((values.index(value),))),
        lambda source: values[source.byte(len(values) - 1)],
    )


# -- writing ----------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    """An integer that is not negative, seven bits a byte."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def put_text(parts: list[bytes], text: str) -> None:
    """UTF-8 with its length."""
    raw = text.encode()
    parts += (varint(len(raw)), raw)


def put_label(parts: list[bytes], label: Label) -> None:
    """Length, doubled; the low bit tells an integer from a string."""
    parts.append(_bytes_of_label(label))


def _bytes_of_label(label: Label) -> bytes:
    if isinstance(label, str):
        raw = label.encode()
        size = 2 * len(raw)
    else:
        raw = label.to_bytes((label.bit_length() + 8) // 8, "little", signed=True)
        size = 2 * len(raw) + 1
    return (_SHORT[size] if size < 128 else varint(size)) + raw


def put_labels(parts: list[bytes], labels: Sequence[Label]) -> None:
    """How many, then each of them."""
    parts.append(_few_labels(labels) if type(labels) is tuple and len(labels) <= _FEW else _bytes_of_labels(labels))


def _bytes_of_labels(labels: Sequence[Label]) -> bytes:
    return b"".join([varint(len(labels)), *map(_bytes_of_label, labels)])


_few_labels = lru_cache(maxsize=64)(_bytes_of_labels)  # for slices and shards have the same labels


def put_numbers(parts: list[bytes], pairs: tuple[tuple[Label, float], ...]) -> None:
    """A float64 for each of some labels."""
    parts.append(varint(len(pairs)))
    for label, value in pairs:
        put_label(parts, label)
        parts.append(struct.pack("<d", value))


def zigzag(value: int) -> bytes:
    """An integer of either sign."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def put_column(parts: list[bytes], column: IntArray, least: int = 0) -> None:
    """Integers below 2**63, each in as many bytes as the largest needs, but in ``least`` at least."""
    put_columns(parts, column[:, np.newaxis], least)


def put_columns(parts: list[bytes], table: IntArray, least: int = 0) -> None:
    """Each column of a table."""
    parts.append(packing.pack_columns(table, least))


def put_integer(parts: list[bytes], value: int) -> None:
    """An integer of any size that is not negative."""
    raw = value.to_bytes((value.bit_length() + 7) // 8, "little")
    parts += (varint(len(raw)), raw)


def put_integers(parts: list[bytes], values: Iterable[int]) -> None:
    """Each of some integers."""
    for value in values:
        put_integer(parts, value)


def put_weights(parts: list[bytes], scale: int | None, sums: Iterable[int]) -> None:
    """Sums of weights in units of ``2**-scale``; nothing where there is no scale, for they equal their counts then."""
    if scale is None:
        parts.append(b"\0")
        return
    parts += (b"\1", varint(scale))
    put_integers(parts, sums)


def put_wide(parts: list[bytes], words: WordArray) -> None:
    """Integers of two 64-bit words, low word first, without the low bits that are zero in all of them."""
    low, high = np.bitwise_or.reduce(words, axis=0).tolist()
    union = low | high << 64
    zeros = trailing_zeros([union]) or 0
    if zeros >= 64:
        words = np.stack([words[:, 1] >> np.uint64(zeros - 64), np.zeros_like(words[:, 1])], axis=1)
    elif zeros:
        low_words = words[:, 0] >> np.uint64(zeros) | words[:, 1] << np.uint64(64 - zeros)
        words = np.stack([low_words, words[:, 1] >> np.uint64(zeros)], axis=1)
    width = ((union >> zeros).bit_length() + 7) // 8
    raw = np.ascontiguousarray(words, "<u8").view(np.uint8).reshape(-1, 16)
    parts += (bytes((width, zeros)), raw[:, :width].tobytes())


def joined(words: WordArray) -> list[int]:
    """The integers of which these are the words."""
    return [low | high << 64 for low, high in words.tolist()]


_FEW = 1_000
"""Up to how many labels their bytes are cached."""

_SHORT = [varint(size) for size in range(128)]
"""What stands before short labels."""


def ascending(labels: Sequence[Label]) -> bool:
    """Whether labels are in order and distinct: integers by value, then strings by code point."""
    kinds = list(map(type, labels))
    integers = kinds.count(int)
    if str in kinds[:integers]:
        return False
    numbers, words = labels[:integers], labels[integers:]
    return all(map(lt, numbers, numbers[1:])) and all(map(lt, words, words[1:]))


# -- reading ----------------------------------------------------------------------------------------------------------


class Source:
    """Bytes read from front to back; reading past the end is a `FormatError`, and no length is trusted."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._at = data, position

    def place(self) -> int:
        """How many bytes stand before the next."""
        return self._at

    def since(self, place: int) -> bytes:
        """The bytes that were read since a place."""
        return self._data[place : self._at]

    def skips(self, raw: bytes) -> bool:
        """Whether these bytes are the next; they are read then."""
        matches = self._data.startswith(raw, self._at)
        if matches:
            self._at += len(raw)
        return matches

    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def end(self) -> None:
        """Refuse whatever is left."""
        if self.left():
            raise FormatError(f"{self.left()} bytes too many")

    def raw(self, size: int) -> bytes:
        """The next bytes."""
        if size > self.left():
            raise FormatError(f"{size} bytes expected, {self.left()} left")
        self._at += size
        return self._data[self._at - size : self._at]

    def byte(self, top: int) -> int:
        """The next byte, which is at most ``top``."""
        if not self.left():
            raise FormatError("a byte expected, none left")
        value = self._data[self._at]
        self._at += 1
        if value > top:
            raise FormatError(f"{value} where at most {top} can stand")
        return value

    def varint(self) -> int:
        """What `varint` made."""
        if self.left() and self._data[self._at] < 128:  # nearly all of them
            self._at += 1
            return self._data[self._at - 1]
        value = shift = 0
        while True:
            part = self.byte(255)
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                if not part:
                    raise FormatError(NEVER_WRITTEN)
                return value
            if shift > 63:
                raise FormatError("an integer of more than 64 bits")

    def text(self) -> str:
        """What `put_text` wrote."""
        return self.raw(self.varint()).decode()

    def count(self) -> int:
        """How many items follow; each takes at least one byte."""
        value = self.varint()
        if value > self.left():
            raise FormatError(f"{value} items in {self.left()} bytes")
        return value

    def label(self) -> Label:
        """What `put_label` wrote."""
        size = self.varint()
        raw = self.raw(size // 2)
        if not size & 1:
            return raw.decode()
        value = int.from_bytes(raw, "little", signed=True)
        if (value.bit_length() + 8) // 8 != size // 2:
            raise FormatError(NEVER_WRITTEN)
        return value

    def labels(self) -> list[Label]:
        """What `put_labels` wrote."""
        count = self.count()
        data, at, end, labels = self._data, self._at, len(self._data), list[Label]()
        for _ in range(count):
            size = data[at] if at < end else 128
            stop = at + 1 + (size >> 1)
            if size > 127 or stop > end:  # a long label, or nothing that can be read
                self._at = at
                labels.append(self.label())
                at = self._at
                continue
            raw = data[at + 1 : stop]
            at = stop
            if not size & 1:
                labels.append(raw.decode())
                continue
            value = int.from_bytes(raw, "little", signed=True)
            if (value.bit_length() + 8) // 8 != size // 2:
                raise FormatError(NEVER_WRITTEN)
            labels.append(value)
        self._at = at
        return labels

    def number(self) -> float:
        """A float64."""
        value: float = struct.unpack("<d", self.raw(8))[0]
        return value

    def numbers(self) -> tuple[tuple[Label, float], ...]:
        """What `put_numbers` wrote."""
        return tuple((self.label(), self.number()) for _ in range(self.count()))

    def integer(self, longest: int = LONGEST) -> int:
        """What `put_integer` wrote, of at most so many bytes."""
        size = self.varint()
        if size > longest:
            raise FormatError(f"a sum of {size} bytes")
        raw = self.raw(size)
        if raw and not raw[-1]:
            raise FormatError(NEVER_WRITTEN)
        return int.from_bytes(raw, "little")

    def integers(self, count: int, longest: int = LONGEST) -> list[int]:
        """What `put_integers` wrote."""
        return [self.integer(longest) for _ in range(count)]

    def scale(self, finest: int = FINEST) -> int | None:
        """What `put_weights` wrote before the sums."""
        if not self.byte(1):
            return None
        scale = self.varint()
        require(scale <= finest)
        return scale

    def integer_of_64_bits(self) -> int:
        """What `zigzag` made."""
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value // 2) - 1

    def column(self, length: int, least: int = 0) -> IntArray:
        """What `put_column` wrote."""
        return self.columns(length, 1, least)[:, 0]

    def columns(self, length: int, count: int, least: int = 0) -> IntArray:
        """What `put_columns` wrote, of shape (length, count)."""
        table, end = packing.unpack_columns(self._data, self._at, length, count, least)
        if end < 0:
            raise FormatError(_REASONS[end])
        self._at = end
        return table

    def wide(self, length: int) -> WordArray:
        """What `put_wide` wrote."""
        width, zeros = self.byte(16), self.byte(127)
        padded = np.zeros((length, 16), np.uint8)
        padded[:, :width] = np.frombuffer(self.raw(length * width), np.uint8).reshape(length, width)
        words = padded.view("<u8").astype(np.uint64)
        if zeros >= 64:
            words = np.stack([np.zeros_like(words[:, 0]), words[:, 0] << np.uint64(zeros - 64)], axis=1)
        elif zeros:
            high = words[:, 1] << np.uint64(zeros) | words[:, 0] >> np.uint64(64 - zeros)
            words = np.stack([words[:, 0] << np.uint64(zeros), high], axis=1)
        return words


class Cached(Generic[T]):
    """Reads values that never change, of one kind, and need not read those again whose bytes were read lately.

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
        if len(raw) <= _CACHED_BYTES:
            self._known = ((raw, value), *self._known[: _CACHED_VALUES - 1])
        return value


def _labels_in_order(source: Source) -> tuple[Label, ...]:
    labels = source.labels()
    if not ascending(labels):
        raise FormatError(_DISORDER)
    return tuple(labels)


_LABELS = Cached(_labels_in_order)
_DISORDER = "labels are repeated or not in order"


def take_labels(source: Source, declared: tuple[Label, ...]) -> tuple[Label, ...]:
    """Declared labels, and those that `put_labels` wrote: in order, and none of them declared."""
    labels = (*declared, *_LABELS.take(source))
    if declared and len(set(labels)) != len(labels):
        raise FormatError(_DISORDER)
    return labels


def require(holds: bool) -> None:
    """Refuse what no stream can leave."""
    if not holds:
        raise FormatError("the counts contradict each other")


def require_weights(scale: int, sums: Sequence[int], counts: Sequence[int]) -> None:
    """Refuse sums of weights that are not in the largest units, or say no more than the counts they belong to."""
    require(scale == 0 or trailing_zeros(sums) == 0)
    require(any(value != count << scale for value, count in zip(sums, counts, strict=True)))
