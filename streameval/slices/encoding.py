"""Slices as bytes: how they are made, then the content of each slice, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from streameval.errors import FormatError
from streameval.evaluation.encoding import Saved, decode, encode
from streameval.schema.config import Config
from streameval.states.content import Content
from streameval.wire.decisions import put_content, take_content
from streameval.wire.envelope import MAGIC, SLICES, kind_of, opened, sealed
from streameval.wire.fields import NEVER_WRITTEN, Source, put_label, put_text, require, varint

__all__ = ["SavedPart", "SavedShelf", "SavedSlices", "decode_slices", "encode_slices"]

Values = tuple[str | int | bool | None, ...]
_NONE, _FALSE, _TRUE, _LABEL = range(4)


@dataclass(frozen=True, slots=True)
class SavedPart:
    """The content of one slice."""

    decisions: Content
    others: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedShelf:
    """The slices along one axis, in order, and what all other values come to."""

    slices: tuple[tuple[Values, SavedPart], ...]
    rest: SavedPart


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
    shelves
        Those of each name, then those of each combination.
    """

    empty: Saved
    by: tuple[str, ...]
    cross: tuple[tuple[str, ...], ...]
    most: int
    declared: tuple[Values | None, ...]
    shelves: tuple[SavedShelf, ...]


def encode_slices(saved: SavedSlices) -> bytes:
    """The bytes of slices; equal ones have equal bytes."""
    empty = encode(saved.empty)
    parts = [varint(len(empty)), empty, varint(saved.most), varint(len(saved.by))]
    for name, values in zip(saved.by, saved.declared, strict=True):
        put_text(parts, name)
        parts.append(varint(0 if values is None else len(values) + 1))
        _put_values(parts, values or ())
    parts.append(varint(len(saved.cross)))
    for names in saved.cross:
        parts += (varint(len(names)), *(varint(saved.by.index(name)) for name in names))
    config = saved.empty.config
    for shelf in saved.shelves:
        parts.append(varint(len(shelf.slices)))
        for key, part in shelf.slices:
            _put_values(parts, key)
            _put_part(parts, part, config)
        _put_part(parts, shelf.rest, config)
    return sealed(SLICES, parts)


def decode_slices(data: bytes) -> SavedSlices:
    """What `encode_slices` was given, or `FormatError`."""
    body = opened(data)
    if kind_of(body) != SLICES:
        raise FormatError("the bytes hold no Sliced; use streameval.load or their own class")
    try:
        saved = _take(Source(body, len(MAGIC) + 2))
        # Slices of nothing but decisions are made of pieces that have one form each; what stands before them is not.
        if saved.empty.config.states:
            exact = encode_slices(saved)[:-4] == body
        else:
            exact = body.startswith(encode_slices(replace(saved, shelves=()))[:-4])
    except FormatError as error:
        raise FormatError(f"the bytes are damaged: {error}") from None
    except (ValueError, OverflowError) as error:
        raise FormatError(f"the bytes are damaged: {error}") from None
    if not exact:
        raise FormatError(f"the bytes are damaged: {NEVER_WRITTEN}")
    return saved


def _put_values(parts: list[bytes], values: Values) -> None:
    for value in values:
        if value is None or isinstance(value, bool):
            parts.append(bytes((_NONE if value is None else _TRUE if value else _FALSE,)))
        else:
            parts.append(bytes((_LABEL,)))
            put_label(parts, value)


def _put_part(parts: list[bytes], part: SavedPart, config: Config) -> None:
    # Counts take a byte at least, for declared labels are not written again with each slice.
    put_content(parts, part.decisions, least=1)
    if config.states:
        from streameval.evaluation.state_encoding import put_others  # whose code is large, and seldom needed

        put_others(parts, config, part.decisions, part.others)


def _take(source: Source) -> SavedSlices:
    empty = decode(source.raw(source.count()))
    require(empty.window is None and not empty.decisions.examples)
    most = source.varint()
    require(most > 0)
    by: list[str] = []
    declared: list[Values | None] = []
    for _ in range(source.count()):
        by.append(source.raw(source.count()).decode())
        known = source.count()
        declared.append(_take_values(source, known - 1) if known else None)
    cross: list[tuple[str, ...]] = []
    for _ in range(source.count()):
        places = [source.count() for _ in range(source.count())]
        require(all(place < len(by) for place in places))
        cross.append(tuple(by[place] for place in places))
    shelves: list[SavedShelf] = []
    for width in (*(1 for _ in by), *map(len, cross)):
        slices = [(_take_values(source, width), _take_part(source, empty.config)) for _ in range(source.count())]
        shelves.append(SavedShelf(tuple(slices), _take_part(source, empty.config)))
    if source.left():
        raise FormatError(f"{source.left()} bytes too many")
    return SavedSlices(empty, tuple(by), tuple(cross), most, tuple(declared), tuple(shelves))


def _take_values(source: Source, count: int) -> Values:
    values: list[str | int | bool | None] = []
    for _ in range(count):
        kind = source.byte(_LABEL)
        values.append(source.label() if kind == _LABEL else None if kind == _NONE else kind == _TRUE)
    return tuple(values)


def _take_part(source: Source, config: Config) -> SavedPart:
    decisions = take_content(source, config.labels or (), least=1)
    if not config.states:
        return SavedPart(decisions)
    from streameval.evaluation.state_encoding import take_others

    return SavedPart(decisions, take_others(source, config, decisions))
