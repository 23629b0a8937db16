"""The values that examples are sliced by: told apart exactly, ordered, and ranked alike on every machine."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.schema.labels import is_unicode
from streameval.schema.text import quoted

Value: TypeAlias = str | int | bool | None
"""None is the value of examples that have none."""

Typed: TypeAlias = tuple[type, Value]
Key: TypeAlias = tuple[Typed, ...]
"""Values with their types, since True and 1 are one key to Python."""

_PLAIN = frozenset((str, int, bool, type(None)))
_KINDS = {type(None): 0, bool: 1, int: 2, str: 3}


class Other(Enum):
    """What stands for all values that have no slice of their own."""

    OTHER = "other"

    def __repr__(self) -> str:
        return "OTHER"


OTHER = Other.OTHER


def typed(value: object, name: str) -> Typed:
    """A value with its type, or `InputError`."""
    if type(value) in _PLAIN and (type(value) is not str or value.isascii() or is_unicode(value)):
        return type(value), value  # type: ignore[return-value]  # one of the plain ones
    if isinstance(value, np.generic):
        return typed(value.item(), name) if not isinstance(value, np.timedelta64) else _refused(value, name)
    if isinstance(value, str) and is_unicode(value):
        return str, str.__str__(value)
    if isinstance(value, int) and not isinstance(value, Enum):
        return int, int.__add__(value, 0)
    if isinstance(value, float) and value != value:
        return type(None), None  # how pandas says that there is none
    return _refused(value, name)


def _refused(value: object, name: str) -> Typed:
    if isinstance(value, str):
        raise InputError(f"{name} is {quoted(value)}, which holds a lone surrogate; decode the text properly")
    raise InputError(
        f"{name} is {quoted(value)}, of type {type(value).__name__}; examples are sliced by strings, integers, "
        "booleans and None: convert it, for example with str()"
    )


def key_of(values: tuple[object, ...], names: tuple[str, ...]) -> Key:
    """The key of some values."""
    return tuple(typed(value, f"where[{name!r}]") for value, name in zip(values, names, strict=True))


def values_of(key: Key) -> Value | tuple[Value, ...]:
    """What a key stands for: the value itself where there is but one."""
    return key[0][1] if len(key) == 1 else tuple(value for _, value in key)


def in_order(key: Key) -> tuple[Any, ...]:
    """Sort key: None, booleans, integers by value, strings by code point."""
    return tuple((_KINDS[kind], value if value is not None else 0) for kind, value in key)


def encoded(key: Key) -> bytes:
    """A key as bytes; different keys have different bytes."""
    parts = []
    for kind, value in key:
        if isinstance(value, str):
            raw = value.encode()
        elif value is None:
            raw = b""
        else:
            raw = int(value).to_bytes((int(value).bit_length() + 8) // 8, "little", signed=True)
        parts.append(bytes((_KINDS[kind],)) + len(raw).to_bytes(8, "little") + raw)
    return b"".join(parts)


def rank_of(key: Key) -> bytes:
    """Where a key stands in an order that looks random, but is the same everywhere."""
    raw = encoded(key)
    return hashlib.blake2b(raw, digest_size=8).digest() + raw
