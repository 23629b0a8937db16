"""The values that examples are sliced by: distinguished exactly, ordered, and ranked alike on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.schema.labels import is_unicode
from streameval.schema.text import quoted, suggestion

Value: TypeAlias = str | int | bool | None  # None is the value of examples that have none
Typed: TypeAlias = tuple[type, Value]  # since True and 1 are one key to Python
Key: TypeAlias = tuple[Typed, ...]

_PLAIN = frozenset((str, int, bool, type(None)))
_KINDS = {type(None): 0, bool: 1, int: 2, str: 3}


class Other(Enum):
    """What stands for all values that have no slice of their own."""

    OTHER = "other"

    def __repr__(self) -> str:
        return "OTHER"

    __str__ = __repr__


OTHER = Other.OTHER


def typed(value: object, name: str, argument: str = "where") -> Typed:
    """A value, which an argument holds under a name, with its type."""
    if type(value) in _PLAIN and (type(value) is not str or value.isascii() or is_unicode(value)):
        return type(value), value  # type: ignore[return-value]  # one of the plain ones
    if isinstance(value, np.generic):
        value = value if isinstance(value, np.timedelta64) else value.item()
    if isinstance(value, str):
        if not is_unicode(value):
            lone = f"{argument}[{name!r}] is {quoted(value)}, which holds a lone surrogate"
            raise InputError(f"{lone}; decode the bytes correctly")
        return str, str.__str__(value)
    if value is None or isinstance(value, bool):
        return type(value), value
    if isinstance(value, int) and not isinstance(value, Enum):
        return int, int.__add__(value, 0)
    if isinstance(value, float) and value != value:
        return type(None), None  # how pandas says that there is none
    wrong = f"{argument}[{name!r}] is {quoted(value)}, of type {type(value).__name__}"
    advice = "examples are sliced by strings, integers, booleans and None: convert it, for example with str()"
    raise InputError(f"{wrong}; {advice}")


def key_of(values: tuple[object, ...], names: tuple[str, ...]) -> Key:
    """The key of some values."""
    return tuple(map(typed, values, names))


def values_of(key: Key) -> Value | tuple[Value, ...]:
    """What a key stands for: the value itself where there is but one."""
    return key[0][1] if len(key) == 1 else tuple(value for _, value in key)


def in_order(key: Key) -> tuple[Any, ...]:
    """Sort key: None, booleans, integers by value, strings by code point."""
    return tuple((_KINDS[kind], value if value is not None else 0) for kind, value in key)


def rank_of(key: Key) -> bytes:
    """Where a key stands in an order that looks random, but is the same everywhere: different keys differ."""
    parts = []
    for kind, value in key:
        if isinstance(value, str):
            raw = value.encode()
        elif value is None:
            raw = b""
        else:
            raw = int(value).to_bytes((int(value).bit_length() + 8) // 8, "little", signed=True)
        parts.append(bytes((_KINDS[kind],)) + len(raw).to_bytes(8, "little") + raw)
    joined = b"".join(parts)
    return hashlib.blake2b(joined, digest_size=8).digest() + joined


ANSWERS = "slices of a single metric answer"
Where: TypeAlias = Value | Other | tuple[Value, ...]


def names_of(value: str | Iterable[str], argument: str) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    several: object = value
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(several, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} must be a name or several, not {quoted(value)}")
    if len(set(names)) < len(names):
        raise InputError(f"{argument} names something twice: {quoted(names)}")
    return tuple(map(str, names))


def combinations_of(cross: Iterable[Iterable[str]], by: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Combinations of names, or what is wrong with them."""
    if isinstance(cross, str) or not isinstance(cross, Iterable):
        raise InputError(f"cross must be a list of combinations such as [('region', 'device')], not {quoted(cross)}")
    combinations = tuple(names_of(combination, "a combination of cross") for combination in cross)
    for combination in combinations:
        if len(combination) < 2 or not set(combination) <= set(by):
            raise InputError(f"cross combines two or more of the names of by={quoted(by)}, not {quoted(combination)}")
    if len(set(map(frozenset, combinations))) < len(combinations):
        raise InputError(f"cross names a combination twice: {quoted(combinations)}")
    return combinations


def declared_of(
    values: Mapping[str, Iterable[Value]] | None, by: tuple[str, ...]
) -> tuple[tuple[Key, ...] | None, ...]:
    """For each name the keys of the values that were declared, if any were."""
    if values is not None and not isinstance(values, Mapping):
        raise InputError(f"values must be a mapping name -> values, not {quoted(values)}")
    for name in values or ():
        if name not in by:
            raise InputError(f"values has {quoted(name)}{suggestion(name, by)}, but slices are by {quoted(by)}")
    return tuple(_keys(values[name], name) if values and name in values else None for name in by)


def _keys(values: Iterable[Value], name: str) -> tuple[Key, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"values[{name!r}] must be a list of values, not {quoted(values)}")
    keys = tuple((typed(value, name, "values"),) for value in values)
    if len(set(keys)) < len(keys):
        raise InputError(f"values[{name!r}] holds a value twice: {quoted(values)}")
    return keys


def value_of(where: Any, name: str) -> Any:
    """What ``where`` holds under a name."""
    if type(where) is dict and name in where:  # as in most calls
        return where[name]
    names = where
    if not isinstance(where, Mapping):
        names = getattr(where, "column_names", None)
        names = getattr(where, "columns", None) if names is None else names
        if names is None or isinstance(where, type):
            raise InputError(f"where must be a mapping such as {{{name!r}: ...}}, not {quoted(where)}")
    if name not in names:
        hint = suggestion(name, [known for known in names if isinstance(known, str)])
        raise InputError(f"where has no {name!r}{hint or ';'} give a value for each name that slices are by")
    return where[name]
