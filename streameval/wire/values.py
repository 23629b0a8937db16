"""Plain values of Python as bytes, each in one form: keys, labels, scores and times, and collections of them."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.schema.labels import Label, ascending, keys_of
from streameval.schema.text import quoted
from streameval.wire.blocks import DamageError
from streameval.wire.fields import Cached, Sink, Source, require, varint

_NONE, _FALSE, _TRUE, LABEL, _BYTES, TUPLE, FLOAT, _LOCAL, _ZONED, _DATE, SPAN = range(11)
_DEEPEST = 8  # tuples within tuples
_LOCAL_EPOCH, _EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLAIN = "str, int, bool, bytes, None or tuples of these"
_KNOWN = {TUPLE: _PLAIN, FLOAT: f"float, {_PLAIN}", SPAN: "a number, a date or a timedelta of whole microseconds"}

PackedValues: TypeAlias = "bytes | array[float] | tuple[Any, ...]"
"""Values in compact form: booleans as bytes, floats as an array, anything else as a tuple."""


def put_value(sink: Sink, value: object, top: int, name: str = "the value") -> None:
    """Write a value whose kind is at most ``top``, or raise `InputError`, which calls the value ``name``."""
    try:
        _put(sink, value, top, _DEEPEST)
    except (ValueError, OverflowError):  # of no such kind; a string with lone surrogates; a year past 9999 in UTC
        what = f"{name} {quoted(value)}, of type {type(value).__name__}"
        raise InputError(f"{what}, cannot be saved; give {_KNOWN[top]}") from None


def _put(sink: Sink, value: Any, top: int, depth: int) -> None:
    value = _plain(value)
    kind = type(value)
    if value is None or kind is bool:
        sink.byte(_NONE if value is None else _FALSE + value)
    elif kind is str or kind is int:
        sink.byte(LABEL)
        sink.label(value)
    elif kind is bytes:
        sink += (bytes((_BYTES,)), varint(len(value)), value)
    elif kind is tuple and depth:
        sink += (bytes((TUPLE,)), varint(len(value)))
        for one in value:
            _put(sink, one, top, depth - 1)
    elif kind is float and top >= FLOAT:
        sink.append(struct.pack("<Bd", FLOAT, value))
    elif top < SPAN or getattr(value, "nanosecond", False) or getattr(value, "nanoseconds", False):  # of pandas
        raise ValueError
    elif kind is date:
        sink.byte(_DATE)
        sink.label(value.toordinal() - _EPOCH.toordinal())
    elif isinstance(value, datetime):
        local = value.utcoffset() is None
        sink.byte(_LOCAL if local else _ZONED)
        sink.label((value - _LOCAL_EPOCH if local else value.astimezone(UTC) - _EPOCH) // _MICROSECOND)
    elif isinstance(value, timedelta):
        sink.byte(SPAN)
        sink.label(value // _MICROSECOND)
    else:
        raise ValueError


def take_value(source: Source, top: int, depth: int = _DEEPEST) -> Any:
    kind = source.byte(top)
    if kind < LABEL:
        return (None, False, True)[kind]
    if kind == _BYTES:
        return source.raw(source.varint())
    if kind == TUPLE:
        require(depth > 0)
        return tuple([take_value(source, top, depth - 1) for _ in range(source.count())])
    if kind == FLOAT:
        return source.number()
    value = source.label()
    if kind == LABEL:
        return value
    require(isinstance(value, int))
    if kind == _DATE:
        return date.fromordinal(_EPOCH.toordinal() + int(value))
    since = timedelta(microseconds=int(value))
    return since if kind == SPAN else (_LOCAL_EPOCH if kind == _LOCAL else _EPOCH) + since


def _plain(value: Any) -> Any:
    if not isinstance(value, np.generic):
        return value
    if value.dtype.kind in "biufSU":
        return value.item()
    time = plain_time(value)
    return time if time is not value and type(value)(time) == value else value


def plain_time(value: Any) -> Any:
    """A time or span of numpy as a Python object, cut to microseconds; anything else unchanged."""
    kind: Any = type(value)
    time = kind(value, "us").item() if issubclass(kind, np.datetime64 | np.timedelta64) else value
    return time if isinstance(time, date | timedelta) else value  # NaT and times out of range stay as they are


def packed(values: tuple[Any, ...]) -> PackedValues:
    """Values in compact form, see `PackedValues`."""
    kinds = set(map(type, values))
    return bytes(values) if kinds == {bool} else array("d", values) if kinds == {float} else values


def unpacked(values: PackedValues) -> Iterable[Any]:
    return map(bool, values) if type(values) is bytes else values


def put_values(sink: Sink, values: PackedValues) -> None:
    values = packed(tuple(map(_plain, values))) if type(values) is tuple else values
    sink += (varint(len(values)), bytes(((tuple, bytes, array).index(type(values)),)))
    if type(values) is tuple:
        for value in values:
            put_value(sink, value, FLOAT)
    else:
        sink.append(values if type(values) is bytes else np.array(values, "<f8").tobytes())


def take_values(source: Source) -> PackedValues:
    size, form = source.count(), source.byte(2)
    if form == 0:
        return tuple([take_value(source, FLOAT) for _ in range(size)])
    raw = source.raw(size if form == 1 else 8 * size)
    require(size > 0, form == 2 or max(raw, default=0) <= 1)
    return raw if form == 1 else array("d", np.frombuffer(raw, "<f8").astype(np.float64).tobytes())


class Names:
    """Writes or reads tuples of distinct names, one after the other. A tuple is not written again if it is repeated."""

    def __init__(self) -> None:
        self._names: tuple[Any, ...] | None = None
        self._raw = b""
        self._strings: dict[str, str] = {}  # so that equal strings are in memory once

    def put(self, sink: Sink, names: tuple[Any, ...], *, ordered: bool = False) -> None:
        """Write names; ``ordered``: in the order of their bytes, whatever their order in the tuple."""
        same = names is self._names
        if not same:
            parts = list(map(_bytes_of, names))
            raw = b"".join([varint(len(parts)), *(sorted(parts) if ordered else parts)])
            same = raw == self._raw
            self._names, self._raw = names, raw
        sink.append(b"\0" if same else b"\1" + self._raw)

    def take(self, source: Source) -> tuple[Any, ...]:
        """The names that `put` wrote; if they are repeated, the same tuple."""
        if source.byte(1):
            names = [take_value(source, FLOAT) for _ in range(source.count())]
            self._names = tuple([self._strings.setdefault(one, one) if type(one) is str else one for one in names])
            require(len(set(self._names)) == len(self._names))
        if self._names is None:
            raise DamageError("names are repeated, but there are none before")
        return self._names


def _bytes_of(value: object) -> bytes:
    sink = Sink()
    put_value(sink, value, FLOAT)
    return b"".join(sink.pieces())


def _labels_in_order(source: Source) -> tuple[Label, ...]:
    labels = source.labels()
    require(ascending(labels))
    return tuple(labels)


_LABELS = Cached(_labels_in_order)


def take_labels(source: Source, declared: tuple[Label, ...]) -> tuple[Label, ...]:
    """Declared labels, then those that are read, which must be sorted and not declared."""
    grown = _LABELS.take(source)
    if not (declared and grown):
        return declared or grown
    labels = (*declared, *grown)
    require(len(set(keys_of(labels))) == len(labels))
    return labels
