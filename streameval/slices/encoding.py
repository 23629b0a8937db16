"""Slices as bytes: how they are made, then what the states of each slice hold, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from streameval.errors import FormatError
from streameval.evaluation.counting import Accumulator, core_of, from_contents
from streameval.evaluation.encoding import Saved, put_empty, put_states, take_empty, take_states
from streameval.slices.axis import AxisSlices
from streameval.slices.values import Key, in_order, key_of
from streameval.wire.envelope import SLICED, decoding, opened, sealed
from streameval.wire.fields import NEVER_WRITTEN, Sink, Source, require, varint

Contents = Mapping[str, Any]
Values = tuple[str | int | bool | None, ...]
_NONE, _FALSE, _TRUE, _LABEL = range(4)


@dataclass(frozen=True, slots=True)
class SavedAxis:
    """What the states of the slices along one axis hold, in order, and of all other values together."""

    slices: tuple[tuple[Values, Contents], ...]
    rest: Contents


@dataclass(frozen=True, slots=True)
class SavedSlices:
    """What bytes hold of slices.

    Attributes
    ----------
    empty
        The object that each slice is like, without examples.
    by, cross, most
        As for `streameval.Sliced`.
    declared
        For each name of ``by`` the declared values, or None.
    axes
        Those of each name, then those of each combination.
    """

    empty: Saved
    by: tuple[str, ...]
    cross: tuple[tuple[str, ...], ...]
    most: int
    declared: tuple[Values | None, ...]
    axes: tuple[SavedAxis, ...] = ()


def encode_slices(saved: SavedSlices) -> bytes:
    """The bytes of slices; equal ones have equal bytes."""
    sink = Sink()
    _put_axes(sink, saved)
    config = saved.empty.config
    for axis in saved.axes:
        sink.varint(len(axis.slices))
        for key, contents in axis.slices:
            _put_values(sink, key)
            # Counts take a byte at least, for declared labels are not written again with each slice.
            put_states(sink, config, contents, least=1)
        put_states(sink, config, axis.rest, least=1)
    return sealed(SLICED, sink)


def decode_slices(data: bytes) -> SavedSlices:
    """What `encode_slices` was given, or `FormatError`."""
    _, source = opened(data, (SLICED,))
    with decoding():
        saved = _take_axes(source)
        config, axes = saved.empty.config, list[SavedAxis]()
        for width in (*(1 for _ in saved.by), *map(len, saved.cross)):
            slices = [
                (_take_values(source, width), take_states(source, config, least=1)) for _ in range(source.count())
            ]
            axes.append(SavedAxis(tuple(slices), take_states(source, config, least=1)))
        source.end()
        saved = replace(saved, axes=tuple(axes))
        # Slices of nothing but decisions are made of pieces that have one form each.
        if config.options and encode_slices(saved) != bytes(data):
            raise FormatError(NEVER_WRITTEN)
    return saved


def _put_axes(sink: Sink, saved: SavedSlices) -> None:
    put_empty(sink, saved.empty)
    sink += (varint(saved.most), varint(len(saved.by)))
    for name, values in zip(saved.by, saved.declared, strict=True):
        sink.string(name)
        sink.varint(0 if values is None else len(values) + 1)
        _put_values(sink, values or ())
    sink.varint(len(saved.cross))
    for names in saved.cross:
        sink += (varint(len(names)), *(varint(saved.by.index(name)) for name in names))


def _take_axes(source: Source) -> SavedSlices:
    start, empty, most = source.place(), take_empty(source), source.varint()
    require(most > 0)
    by: list[str] = []
    declared: list[Values | None] = []
    for _ in range(source.count()):
        by.append(source.string())
        known = source.count()
        declared.append(_take_values(source, known - 1) if known else None)
    cross: list[tuple[str, ...]] = []
    for _ in range(source.count()):
        places = [source.count() for _ in range(source.count())]
        require(all(place < len(by) for place in places))
        cross.append(tuple(by[place] for place in places))
    saved = SavedSlices(empty, tuple(by), tuple(cross), most, tuple(declared))
    sink = Sink()
    _put_axes(sink, saved)
    if b"".join(sink) != source.since(start):
        raise FormatError(NEVER_WRITTEN)
    return saved


def _put_values(sink: Sink, values: Values) -> None:
    for value in values:
        if value is None or isinstance(value, bool):
            sink.byte(_NONE if value is None else _TRUE if value else _FALSE)
        else:
            sink.byte(_LABEL)
            sink.label(value)


def _take_values(source: Source, count: int) -> Values:
    values: list[str | int | bool | None] = []
    for _ in range(count):
        kind = source.byte(_LABEL)
        values.append(source.label() if kind == _LABEL else None if kind == _NONE else kind == _TRUE)
    return tuple(values)


# -- one axis ---------------------------------------------------------------------------------------------------------


def saved_slices(parts: list[tuple[Key | None, Any]], overflow: Accumulator) -> SavedAxis:
    """The slices of an axis, in their order."""
    slices = [
        (tuple(value for _, value in key), core_of(part).states.content()) for key, part in parts if key is not None
    ]
    return SavedAxis(tuple(slices), core_of(overflow).states.content())


def restored_slices(fresh: AxisSlices[Any], saved: SavedAxis) -> AxisSlices[Any]:
    """The slices that bytes hold, or `FormatError` if no examples leave such ones."""
    axis, empty = fresh.axis, fresh.overflow
    slices = {key_of(values, axis.names): from_contents(empty, contents) for values, contents in saved.slices}
    rest = from_contents(empty, saved.rest)
    keys = list(slices)
    if axis.closed:
        fits = keys == list(fresh.slices)
    else:
        fits = all(part.examples for part in slices.values()) and axis.selected(keys) == set(keys)
        fits = fits and all(in_order(before) < in_order(after) for before, after in pairwise(keys))
        open_ = all(known is None for known in axis.declared)
        fits = fits and (not rest.examples or not open_ or len(keys) == axis.most)
    if not fits or len(slices) != len(saved.slices):
        raise FormatError("the slices are not those that their values make")
    return AxisSlices(axis, slices, rest)
