"""The arguments of slices, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from streameval.errors import InputError
from streameval.schema.text import quoted, suggestion
from streameval.slices.values import Key, Other, Value, typed

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
