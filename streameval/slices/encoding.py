"""Slices as bytes: how they are made, then what the states of each slice hold, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from streameval.errors import FormatError
from streameval.evaluation.counting import core_of, from_contents
from streameval.evaluation.encoding import put_states, take_states
from streameval.slices.axis import AxisSlices
from streameval.slices.values import Key, Typed, in_order
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import LABEL, put_value, take_value


def put_names(
    sink: Sink,
    by: Sequence[str],
    cross: Sequence[Sequence[str]],
    max_slices: int,
    declared: Sequence[Sequence[Key] | None],
) -> None:
    """Write what examples are sliced by; ``declared`` are for each name the keys of the declared values, or None."""
    sink += (varint(max_slices), varint(len(by)))
    for name, keys in zip(by, declared, strict=True):
        sink.string(name)
        sink.varint(0 if keys is None else len(keys) + 1)
        _put_values(sink, (value for key in keys or () for value in key))
    sink.varint(len(cross))
    for names in cross:
        sink += (varint(len(names)), *(varint(by.index(name)) for name in names))


def take_names(source: Source) -> dict[str, Any]:
    """The arguments of `streameval.Sliced` that `put_names` wrote."""
    max_slices, by, values, cross = source.varint(), list[str](), {}, []
    for _ in range(source.count()):
        by.append(source.string())
        if known := source.count():
            values[by[-1]] = [value for _, value in _take_values(source, known - 1)]
    for _ in range(source.count()):
        places = [source.count() for _ in range(source.count())]
        require(all(place < len(by) for place in places))
        cross.append([by[place] for place in places])
    return {"by": by, "cross": cross, "max_slices": max_slices, "values": values}


def _put_values(sink: Sink, values: Iterable[Typed]) -> None:
    for _, value in values:
        put_value(sink, value, LABEL)


def _take_values(source: Source, count: int) -> Key:
    return tuple([(type(value), value) for value in (take_value(source, LABEL) for _ in range(count))])


def slices_in_pieces(group: AxisSlices[Any]) -> Iterator[bytes]:
    """The slices along an axis in their order, then the overflow."""
    slices = [(key, part) for key, part in group.ordered() if key is not None]
    config = core_of(group.overflow).config
    yield varint(len(slices))
    for key, part in [*slices, ((), group.overflow)]:
        sink = Sink()
        _put_values(sink, key)
        # Counts take a byte at least, for declared labels are not written again with each slice.
        put_states(sink, config, core_of(part).states.content(), least=1)
        yield from sink.pieces()


def take_slices(source: Source, fresh: AxisSlices[Any]) -> AxisSlices[Any]:
    """The slices that `put_slices` wrote, or `FormatError` if no examples leave such ones."""
    axis, empty = fresh.axis, fresh.overflow
    config, count, slices = core_of(empty).config, source.count(), dict[Key, Any]()
    for width in [len(axis.names)] * count + [0]:
        key = _take_values(source, width)
        slices[key] = from_contents(empty, take_states(source, config, least=1))
    rest = slices.pop(())
    keys = list(slices)
    if axis.closed:
        fits = keys == list(fresh.slices)
    else:
        fits = all(part.examples for part in slices.values()) and axis.selected(keys) == set(keys)
        fits = fits and all(in_order(before) < in_order(after) for before, after in pairwise(keys))
        open_ = all(known is None for known in axis.declared)
        fits = fits and (not rest.examples or not open_ or len(keys) == axis.max_slices)
    if not fits or len(slices) != count:
        raise FormatError("the slices are not those that their values make")
    return AxisSlices(axis, slices, rest)
