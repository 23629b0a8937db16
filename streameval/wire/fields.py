"""Writes and reads the fields that all bytes consist of; a value has one canonical form, and no other is accepted."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.backend import packing
from streameval.kernel.types import Int32Array, IntArray
from streameval.schema.labels import Label
from streameval.states.decisions import in_blocks
from streameval.wire.blocks import NEVER_WRITTEN, REASONS, ROWS, Blocks, DamageError, Numbers, Packed

# No float64 needs a finer unit than 2**-1074; faded weights are finer by 65 halvings and a factor of 53 bits.
FINEST = 1074 + 65 + 53
# Bytes of the sum of at most 2**63 weights below 2**1024 in the finest unit.
LONGEST = (63 + 1024 + FINEST) // 8 + 1

T = TypeVar("T")


def newer(what: str) -> FormatError:
    """The error for bytes with content that only a newer version knows."""
    return FormatError(f"{what} is unknown: the bytes were written by a newer version; upgrade streameval")


class Option(NamedTuple):
    """One option of a configuration: its number, which is never reused, and how its value is written and read."""

    number: int
    name: str
    put: Callable[[Sink, Any], None]
    take: Callable[[Source], Any]


def choice(number: int, name: str, values: tuple[str, ...]) -> Option:
    """An option with a fixed list of values, of which the index is written."""
    last = len(values) - 1
    return Option(number, name, lambda sink, value: sink.byte(values.index(value)), lambda s: values[s.byte(last)])


# -- writing ----------------------------------------------------------------------------------------------------------


_SHORT = [bytes((value,)) for value in range(128)]


def varint(value: int) -> bytes:
    """An integer that is not negative, seven bits a byte."""
    if value < 128:  # nearly all of them
        return _SHORT[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    """An integer of either sign."""
    return varint(2 * value if value >= 0 else -2 * value - 1)


def _bytes_of_label(label: Label) -> bytes:
    """Twice the length in bytes, plus 1 if the label is an integer; then the label."""
    if isinstance(label, str):
        raw = label.encode()
        size = 2 * len(raw)
    else:
        raw = label.to_bytes((label.bit_length() + 8) // 8, "little", signed=True)
        size = 2 * len(raw) + 1
    return varint(size) + raw


@lru_cache(maxsize=64)  # because slices and shards have the same labels
def _bytes_of_few_labels(labels: tuple[Label, ...]) -> bytes:
    return b"".join([varint(len(labels)), *map(_bytes_of_label, labels)])


class Sink(list["bytes | Iterator[bytes]"]):
    """The parts of the bytes, in the order in which `Source` reads them; large parts are iterators of pieces."""

    def pieces(self) -> Iterable[bytes]:
        """All bytes. Call this once, because it consumes the parts."""
        try:
            return (b"".join(self),)  # type: ignore[arg-type]  # nearly always
        except TypeError:
            return chain.from_iterable((part,) if isinstance(part, bytes) else part for part in self)

    def byte(self, value: int) -> None:
        self.append(bytes((value,)))

    def varint(self, value: int) -> None:
        self.append(varint(value))

    def string(self, string: str) -> None:
        raw = string.encode()
        self += (varint(len(raw)), raw)

    def label(self, label: Label) -> None:
        self.append(_bytes_of_label(label))

    def labels(self, labels: Any, start: int = 0) -> None:
        if len(labels) <= 1_000:
            self.append(_bytes_of_few_labels(tuple(labels[start:])))
        else:
            self += (varint(len(labels) - start), _joined(map(_bytes_of_label, islice(labels, start, None))))

    def numbers(self, pairs: tuple[tuple[Label, float], ...]) -> None:
        self.varint(len(pairs))
        for label, value in pairs:
            self += (_bytes_of_label(label), struct.pack("<d", value))

    def column(self, column: IntArray | Int32Array, least: int = 0) -> None:
        """Integers below 2**63, each in as many bytes as the largest needs, but in ``least`` at least."""
        self.columns(column[:, np.newaxis], least)

    def columns(self, table: Any, least: int = 0) -> None:
        if len(table) <= ROWS:
            self.append(packing.pack_columns(np.asarray(table[:], np.int64), least))
        else:
            every = range(table[:1].shape[1])
            pieces = _pieces_of_blocks(lambda: (part.T for part in in_blocks(table)), len(every), every, least)
            self.append(islice(pieces, 1, None))  # without the first piece, the number of rows

    def blocks(self, make: Callable[[], Iterable[Sequence[Numbers]]], count: int, stored: Collection[int] = ()) -> None:
        """The number of rows, then each column; for each column not in ``stored``, all blocks are made anew."""
        self.append(_pieces_of_blocks(make, count, stored))

    def integer(self, value: int) -> None:
        self.append(_bytes_of_integer(value))

    def integers(self, values: Iterable[int]) -> None:
        self.append(_joined(map(_bytes_of_integer, values)))

    def weights(self, scale: int | None, sums: Iterable[int]) -> None:
        """Weight sums in units of ``2**-scale``; no sums without a scale, because then they equal the counts."""
        self.byte(scale is not None)
        if scale is not None:
            self.varint(scale)
            self.integers(sums)


def _bytes_of_integer(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return varint(size) + value.to_bytes(size, "little")


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    parts = iter(parts)
    while piece := b"".join(islice(parts, ROWS)):
        yield piece


def _pieces_of_blocks(
    make: Callable[[], Iterable[Sequence[Numbers]]], count: int, stored: Collection[int], least: int = 0
) -> Iterator[bytes]:
    few = list(islice(make(), 2))
    blocks, stored = (make(), stored) if len(few) > 1 else (few, range(count))
    del few
    columns = [Blocks(least) for _ in range(count)]
    for block in blocks:
        for place, (column, numbers) in enumerate(zip(columns, block, strict=True)):
            column.add(numbers, keep=place in stored)
    yield varint(columns[0].size)
    for place, column in enumerate(columns):
        yield from column.pieces(() if place in stored else (block[place] for block in make()))


# -- reading ----------------------------------------------------------------------------------------------------------


class Source:
    """Bytes read from front to back; reading past the end is a `FormatError`, and no length is trusted."""

    def __init__(self, data: bytes, position: int, end: int | None = None) -> None:
        self._data, self._at, self._end = data, position, len(data) if end is None else end

    def place(self) -> int:
        """The position of the next byte."""
        return self._at

    def since(self, place: int) -> bytes:
        """The bytes from ``place`` to the next byte."""
        return self._data[place : self._at]

    def skips(self, raw: bytes) -> bool:
        """Whether the next bytes are these; if so, they are passed over."""
        matches = self._data.startswith(raw, self._at, self._end)
        self._at += matches * len(raw)
        return matches

    def left(self) -> int:
        return self._end - self._at

    def end(self) -> None:
        """Raise if bytes are left."""
        if self.left():
            raise DamageError(f"{self.left()} bytes too many")

    def raw(self, size: int) -> bytes:
        """The next bytes."""
        start = self._passed(size)
        return self._data[start : self._at]

    def byte(self, top: int) -> int:
        """The next byte, which is at most ``top``."""
        if not self.left():
            raise DamageError("a byte expected, none left")
        value = self._data[self._at]
        self._at += 1
        if value > top:
            raise DamageError(f"a byte is {value}, and may be at most {top}")
        return value

    def varint(self) -> int:
        """An integer that is not negative."""
        if self._at < self._end and (first := self._data[self._at]) < 128:  # nearly all of them
            self._at += 1
            return first
        value = shift = 0
        while True:
            part = self.byte(255)
            value |= (part & 127) << shift
            shift += 7
            if part < 128:
                if not part:
                    raise DamageError(NEVER_WRITTEN)
                return value
            if shift > 63:
                raise DamageError("an integer of more than 64 bits")

    def string(self) -> str:
        """UTF-8 with its length."""
        return self.raw(self.varint()).decode()

    def count(self) -> int:
        """How many items follow; each takes at least one byte."""
        value = self.varint()
        if value > self.left():
            raise DamageError(f"{value} items in {self.left()} bytes")
        return value

    def label(self) -> Label:
        """A string or an integer."""
        size = self.varint()
        raw = self.raw(size // 2)
        return _integer_of(raw) if size & 1 else raw.decode()

    def labels(self) -> list[Label]:
        """Labels, preceded by their number."""
        count = self.count()
        data, at, end, labels = self._data, self._at, self._end, list[Label]()
        for _ in range(count):
            size = data[at] if at < end else 128
            stop = at + 1 + (size >> 1)
            if size > 127 or stop > end:  # a long label, or nothing that can be read
                self._at = at
                labels.append(self.label())
                stop = self._at
            else:
                raw = data[at + 1 : stop]
                labels.append(_integer_of(raw) if size & 1 else raw.decode())
            at = stop
        self._at = at
        return labels

    def number(self) -> float:
        """A float64."""
        return float(struct.unpack("<d", self.raw(8))[0])

    def array(self, length: int, kind: str) -> Any:
        """The next ``length`` numbers of a numpy type, as a view of the bytes."""
        return np.frombuffer(self._data, kind, length, self._passed(length * np.dtype(kind).itemsize))

    def _passed(self, size: int) -> int:
        """Pass over the next bytes, and return where they begin."""
        at = self._at
        if size > self._end - at:
            raise DamageError(f"{size} bytes expected, {self.left()} left")
        self._at = at + size
        return at

    def numbers(self) -> tuple[tuple[Label, float], ...]:
        """Pairs of a label and a float64, preceded by their number."""
        return tuple((self.label(), self.number()) for _ in range(self.count()))

    def integer(self, longest: int = LONGEST) -> int:
        """An integer of at most ``longest`` bytes."""
        size = self.varint()
        if size > longest:
            raise DamageError(f"a sum of {size} bytes, and at most {longest} are possible")
        start = self._passed(size)
        if size and not self._data[self._at - 1]:
            raise DamageError(NEVER_WRITTEN)
        return int.from_bytes(self._data[start : self._at], "little")

    def integers(self, count: int, longest: int = LONGEST) -> list[int]:
        return [self.integer(longest) for _ in range(count)]

    def scale(self, finest: int = FINEST) -> int | None:
        """What `Sink.weights` writes before the sums."""
        if not self.byte(1):
            return None
        scale = self.varint()
        require(scale <= finest)
        return scale

    def integer_of_64_bits(self) -> int:
        """An integer of either sign."""
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value // 2) - 1

    def column(self, length: int, least: int = 0) -> IntArray:
        """The next ``length`` integers, below 2**63."""
        return self.columns(length, 1, least)[:, 0]

    def columns(self, length: int, count: int, least: int = 0) -> IntArray:
        """A table of shape (length, count)."""
        table, end = packing.unpack_columns(self._data, self._at, self._end, length, count, least)
        if end < 0:
            raise DamageError(REASONS[end])
        self._at = end
        return table

    def packed(self, length: int, least: int = 0, words: int = 1) -> Packed:
        """The next ``length`` integers, which `Blocks` wrote, still packed."""
        width, zeros = self.byte(8 * words), self.byte(127) if words > 1 else 0
        return Packed(self._data, self._passed(length * width), length, least, words, width, zeros)

    def checked(
        self, read: Callable[[Source], Iterable[T]], size: int
    ) -> tuple[Iterable[T], Callable[[], Iterable[T]]]:
        """The items that ``read`` yields next, for a check, and a function that yields them again (few from a list)."""
        if size > ROWS:
            start = self._at
            return read(self), lambda: read(Source(self._data, start, self._end))
        few = list(read(self))
        return few, lambda: few


def _integer_of(raw: bytes) -> int:
    value = int.from_bytes(raw, "little", signed=True)
    if (value.bit_length() + 8) // 8 != len(raw):
        raise DamageError(NEVER_WRITTEN)
    return value


class Cached(Generic[T]):
    """Reads values of one kind, and reuses the last few if their bytes, which define their own end, come again."""

    def __init__(self, read: Callable[[Source], T]) -> None:
        self._read = read
        self._known: tuple[tuple[bytes, T], ...] = ()  # replaced as a whole, because there may be threads

    def take(self, source: Source) -> T:
        for raw, value in self._known:
            if source.skips(raw):
                return value
        start = source.place()
        value = self._read(source)
        if source.place() - start <= 2**16:
            self._known = ((source.since(start), value), *self._known[:7])
        return value


def ascending_rows(table: IntArray) -> bool:
    """Whether the rows of a table are distinct and ascend."""
    steps = np.diff(table, axis=0)
    return bool((steps[np.arange(len(steps)), (steps != 0).argmax(axis=1)] > 0).all())


def require(*holds: object) -> None:
    """Raise unless all conditions hold, arrays in every cell; otherwise no stream can have produced the bytes."""
    if not all(part is True or np.all(part) for part in holds):  # type: ignore[call-overload]
        raise DamageError("the counts contradict each other")


class WeightForm:
    """Checks that weight sums are canonical: in the largest possible unit, and not all equal to their counts."""

    def __init__(self, scale: int) -> None:
        self._scale, self._union, self._more = scale, 0, False

    def add(self, sums: Iterable[int], counts: Iterable[int], finer: int = 0) -> None:
        """Include these sums, and their counts in units of ``2**-finer``, in the check."""
        scale, union, more = self._scale, self._union, self._more
        for value, count in zip(sums, counts, strict=True):
            union |= value
            more = more or value << finer != count << scale
        self._union, self._more = union, more

    def holds(self) -> bool:
        """Whether all sums so far are in canonical form."""
        return self._more and (self._scale == 0 or self._union & 1 == 1)
