"""Independent copies of predictions, in memory and as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from streameval.errors import InputError
from streameval.inputs.examples import no_example
from streameval.inputs.lists import pairs_of, unwrapped
from streameval.inputs.values import array_of, plain_array, score_value
from streameval.schema.text import python_value, quoted
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import Names, PackedValues, packed, put_values, take_values, unpacked

_PLAIN = {str, int, float, bool, type(None)}


class Row(NamedTuple):
    """A mapping as labels, which predictions can share, and values; or a set as labels without values."""

    labels: tuple[object, ...]
    values: PackedValues | None


def compact_copy(y_pred: object, labels: tuple[object, ...] = ()) -> object:
    """An independent, compact copy of a prediction; it shares ``labels`` if the prediction maps just these."""
    y_pred = unwrapped(y_pred, "y_pred")
    if isinstance(y_pred, Mapping):
        same = len(y_pred) == len(labels) and all(map(is_, y_pred, labels))  # equal is not enough, since True == 1
        values = packed(tuple(y_pred.values()))
        if isinstance(values, tuple) and not {*map(type, values)} <= _PLAIN:  # values such as arrays can change
            values = packed(tuple(map(score_value, values)))
        return Row(labels if same else tuple(y_pred), values)
    if isinstance(y_pred, AbstractSet):
        return Row(tuple(y_pred), None)
    if isinstance(y_pred, list | tuple):
        if {*map(type, y_pred)} <= _PLAIN:
            return y_pred if isinstance(y_pred, tuple) else y_pred[:]
        plain = [*map(python_value, y_pred)]
        return [(label, score_value(score)) for label, score in pairs_of(plain) or ()] or plain
    if hasattr(y_pred, "__array__"):
        array = array_of(y_pred, "y_pred")
        return np.array(plain_array(array, "y_pred") if np.ma.is_masked(array) else array).reshape(-1)
    raise no_example(y_pred, "y_pred")


def from_compact(row: object) -> object:
    """The prediction behind a copy made by `compact_copy`."""
    if type(row) is not Row:
        return row
    return set(row.labels) if row.values is None else dict(zip(row.labels, unpacked(row.values), strict=True))


_SET, _MAPPING, _LIST, _OBJECTS, _ARRAY = range(5)
_TYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")


class Predictions:
    """Writes or reads compact copies in sequence; labels equal to those of the copy before are not written again."""

    def __init__(self) -> None:
        self._sets, self._mappings = Names(), Names()

    def put(self, sink: Sink, row: Any) -> None:
        """Write a copy; `InputError` if it holds what cannot be saved."""
        kind = row.dtype.newbyteorder("<").str if type(row) is np.ndarray else ""
        if type(row) is Row and row.values is None:
            sink.byte(_SET)
            self._sets.put(sink, row.labels, ordered=True)
        elif type(row) is Row and row.values is not None:
            sink.byte(_MAPPING)
            self._mappings.put(sink, row.labels)
            put_values(sink, row.values)
        elif isinstance(row, list | tuple) or kind[1:2] in ("U", "O"):
            sink.byte(_OBJECTS if kind else _LIST)
            put_values(sink, tuple(row.tolist() if kind else row))
        elif kind in _TYPES:
            sink += (bytes((_ARRAY, _TYPES.index(kind))), varint(row.nbytes), row.astype(kind).tobytes())
        else:
            raise InputError(f"{quoted(row)}, a {type(row).__name__}, cannot be saved; give labels or a 1-D array")

    def take(self, source: Source) -> object:
        form = source.byte(_ARRAY)
        if form == _ARRAY:
            kind = np.dtype(_TYPES[source.byte(len(_TYPES) - 1)])
            raw = source.raw(source.varint())
            require(kind != np.bool_ or max(raw, default=0) <= 1)
            return np.frombuffer(raw, kind).astype(kind.newbyteorder("="))
        if form == _SET:
            return Row(self._sets.take(source), None)
        if form == _MAPPING:
            row = Row(self._mappings.take(source), take_values(source))
            require(len(row.labels) == len(row.values or ()))
            return row
        values = [*unpacked(take_values(source))]
        return values if form == _LIST else np.fromiter(values, object)
