"""The values that examples are sliced by: distinguished exactly, ordered, and ranked alike on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeAlias

from streameval.errors import InputError, wording
from streameval.inputs.values import is_missing
from streameval.schema.labels import is_unicode
from streameval.schema.text import python_value, quoted, suggestion

Value: TypeAlias = str | int | bool | None  # None is the value of examples that have none
Typed: TypeAlias = tuple[type, Value]  # since True and 1 are one key to Python
Key: TypeAlias = tuple[Typed, ...]
REST: Key = ()
"""The key of the slice of all examples whose values have no slice of their own."""

_PLAIN = frozenset((str, int, bool, type(None)))
_KINDS = {type(None): 0, bool: 1, int: 2, str: 3}


class Other(Enum):
    """The type of `OTHER`, which stands for all values that have no slice of their own."""

    OTHER = "other"

    def __repr__(self) -> str:
        return "OTHER"

    __str__ = __repr__


OTHER = Other.OTHER
Where: TypeAlias = Value | Other | tuple[Value, ...]


def typed(value: object, name: str) -> Typed:
    """The plain value with its type, or `InputError`; ``where`` holds it under ``name``."""
    if type(value) in _PLAIN and (type(value) is not str or value.isascii() or is_unicode(value)):
        return type(value), value  # type: ignore[return-value]  # one of the plain ones
    value = python_value(value)
    if isinstance(value, str):
        if not is_unicode(value):
            lone = f"where[{name!r}] is {quoted(value)}, which holds a lone surrogate"
            raise InputError(f"{lone}; decode the bytes correctly")
        return str, str.__str__(value)
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, int):
        return int, int.__add__(value, 0)
    if is_missing(value):
        return type(None), None
    wrong = f"where[{name!r}] is {quoted(value)}, of type {type(value).__name__}"
    way = wording("None: convert it, for example with str()", "null: write it as a string")
    way = "None: decode it" if isinstance(value, bytes) else way
    if isinstance(value, float) and value.is_integer():  # from a column of integers with gaps
        way = wording("None: give int(value), or of a column .astype('Int64')", "null: write it as an integer")
    raise InputError(f"{wrong}; examples are sliced by strings, integers, booleans and {way}")


def where_of(key: Key) -> Where:
    """The value of a key of one name, the tuple of values of a combination, or `OTHER`."""
    return key[0][1] if len(key) == 1 else tuple(value for _, value in key) or OTHER


def in_order(key: Key) -> tuple[Any, ...]:
    """Sort key: None, booleans, integers by value, strings by code point."""
    return tuple((_KINDS[kind], value if value is not None else 0) for kind, value in key)


def rank_of(key: Key) -> bytes:
    """Sort key of a pseudo-random order that is the same on every machine; different keys have different ranks."""
    parts = []
    for kind, value in key:
        if isinstance(value, str):
            raw = value.encode()
        elif value is None:
            raw = b""
        else:
            raw = value.to_bytes((value.bit_length() + 8) // 8, "little", signed=True)
        parts.append(bytes((_KINDS[kind],)) + len(raw).to_bytes(8, "little") + raw)
    joined = b"".join(parts)
    return hashlib.blake2b(joined, digest_size=8).digest() + joined


def value_of(where: Any, name: str) -> Any:
    """The value, or the column of values, that ``where`` holds under a name."""
    if type(where) is dict and name in where:  # most calls
        return where[name]
    names = where
    if not isinstance(where, Mapping):
        names = getattr(where, "column_names", None)
        names = getattr(where, "columns", None) if names is None else names
        if names is None or isinstance(where, type):
            frame = ", or a data frame, as pandas.DataFrame(where)" * (type(where) is list and dict in map(type, where))
            raise InputError(f"where must be a mapping such as {{{name!r}: ...}}{frame}, not {quoted(where)}")
    if name not in names:
        near = suggestion(name, [known for known in names if isinstance(known, str)])
        near = near.replace("; did you mean", ", but").rstrip("?")  # either of the two may be the mistake
        raise InputError(f"where has no {name!r}{near}; give a value for each name that slices are by")
    return where[name]
