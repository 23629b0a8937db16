"""Columns of slice values as codes: which rows belong together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from streameval.errors import InputError
from streameval.inputs.arrow import arrow_of_polars, codes_of_arrow
from streameval.inputs.forms import form_of
from streameval.kernel.types import IntArray
from streameval.schema.text import quoted
from streameval.slices.values import Key, Typed, typed


class Coded(NamedTuple):
    """For each row the place of its key among ``keys``, each of which some row has."""

    codes: IntArray
    keys: list[Key]


def coded(column: object, name: str) -> Coded:
    """The codes of the values of one column."""
    argument, form, values = f"where[{name!r}]", form_of(column), cast("Any", column)
    if form in ("string", "mapping") or not isinstance(column, Iterable):
        raise InputError(f"{argument} must hold one value for each example, not {quoted(column)}")
    if form == "polars":
        try:
            values, form = arrow_of_polars(column), "arrow"
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            values, form = values.to_list(), "list"
    if form == "arrow":
        codes, values, proper = codes_of_arrow(values, argument)
        if proper:
            return Coded(codes, [(typed(value, name),) for value in values])
        # Only values that some row has are looked at; a dictionary may hold any others.
        present = np.bincount(codes + 1, minlength=len(values) + 1)[1:].tolist()
        none: Typed = (type(None), None)
        pairs = zip(values, present, strict=True)
        return _used(codes, [typed(value, name) if rows else none for value, rows in pairs])
    if form == "series":
        codes, values = values.factorize()
        return _used(np.asarray(codes, np.int64), [typed(value, name) for value in values.tolist()])
    if form in ("array", "frame", "table"):
        array = np.asanyarray(values)
        if array.ndim != 1:
            raise InputError(f"{argument} must hold one value for each example, but has shape {array.shape}")
        if array.dtype.kind in "iub":
            codes, first = _ranked(array)
            return Coded(codes, [(typed(value, name),) for value in array[first].tolist()])
        values = array.tolist()
    values = list(values)
    kinds = set(map(type, values))
    if not (kinds <= {str} or kinds <= {int}):  # values that are equal may be of different types
        values = [typed(value, name) for value in values]
    places: dict[Any, int] = {}
    codes = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int64, len(values))
    return Coded(codes, [(value if type(value) is tuple else typed(value, name),) for value in places])


def _used(codes: IntArray, values: Sequence[Typed]) -> Coded:
    """Codes into values that may hold repeats, and some that no row has; -1 where there is none."""
    distinct: dict[Typed, int] = {}
    place = np.zeros(len(values) + 1, np.int64)
    for code in np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)).tolist():
        value = (type(None), None) if code == 0 else values[code - 1]
        place[code] = distinct.setdefault(value, len(distinct))
    return Coded(place[codes + 1], [(value,) for value in distinct])


def _ranked(array: np.ndarray[Any, Any]) -> tuple[IntArray, IntArray]:
    """The rank of each number among the distinct ones, and where each of these stands first."""
    order = np.argsort(array, kind="stable")
    sorted_ = array[order]
    starts = np.ones(len(array), np.bool_)
    starts[1:] = sorted_[1:] != sorted_[:-1]
    codes = np.empty(len(array), np.int64)
    codes[order] = np.cumsum(starts) - 1
    return codes, order[starts]


def crossed(parts: list[Coded]) -> Coded:
    """The codes of the combinations that rows have."""
    codes = parts[0].codes
    for part in parts[1:]:  # codes stay below the number of rows, so products fit into 64 bits
        codes, _ = _ranked(codes * len(part.keys) + part.codes)
    codes, first = _ranked(codes)
    columns = [[part.keys[code] for code in part.codes[first].tolist()] for part in parts]
    return Coded(codes, [tuple(value for key in keys for value in key) for keys in zip(*columns, strict=True)])
