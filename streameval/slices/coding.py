"""Columns of slice values as codes: which rows belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from streameval.errors import InputError
from streameval.inputs.arrow import arrow_of_polars, decoding, encoded_texts
from streameval.kernel.types import IntArray
from streameval.schema.text import quoted
from streameval.slices.values import Key, Typed, typed

__all__ = ["Coded", "coded", "crossed"]


class Coded(NamedTuple):
    """For each row the place of its key among ``keys``, each of which some row has."""

    codes: IntArray
    keys: list[Key]


def coded(column: object, name: str) -> Coded:
    """The codes of the values of one column."""
    told = f"where[{name!r}]"
    if isinstance(column, str | bytes | Mapping) or not isinstance(column, Iterable):
        raise InputError(f"{told} must hold one value for each example, not {quoted(column)}")
    if hasattr(column, "to_arrow") and hasattr(column, "to_list"):  # a polars Series
        try:
            column = arrow_of_polars(column)
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            column = column.to_list()  # type: ignore[attr-defined]
    if hasattr(column, "dictionary_encode") and hasattr(column, "to_pylist"):
        return _arrow(column, told)
    if hasattr(column, "factorize") and hasattr(column, "iloc"):  # a pandas Series
        codes, values = column.factorize()
        return _used(np.asarray(codes, np.int64), [typed(value, told) for value in values.tolist()])
    if isinstance(column, np.ndarray) or (hasattr(column, "__array__") and not isinstance(column, list | tuple)):
        array = np.asanyarray(column)
        if array.ndim != 1:
            raise InputError(f"{told} must hold one value for each example, but has shape {array.shape}")
        if array.dtype.kind in "iub":
            return _numbers(array, told)
        column = array.tolist()
    values = list(column)  # type: ignore[call-overload]
    kinds = set(map(type, values))
    if kinds <= {str} or kinds <= {int}:
        places: dict[Any, int] = {}
        codes = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int64, len(values))
        return Coded(codes, [(typed(value, told),) for value in places])
    found: dict[Typed, int] = {}
    codes = np.fromiter((found.setdefault(typed(value, told), len(found)) for value in values), np.int64, len(values))
    return Coded(codes, [(key,) for key in found])


def _used(codes: IntArray, values: Sequence[Typed]) -> Coded:
    """Codes into values that may hold repeats, and some that no row has; -1 where there is none."""
    found: dict[Typed, int] = {}
    place = np.zeros(len(values) + 1, np.int64)
    for code in np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)).tolist():
        value = (type(None), None) if code == 0 else values[code - 1]
        place[code] = found.setdefault(value, len(found))
    return Coded(place[codes + 1], [(value,) for value in found])


def _arrow(column: Any, told: str) -> Coded:
    parts = [np.zeros(0, np.int64)]
    values: list[object] = []
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        kind = str(chunk.type)
        if kind.startswith("null"):
            parts.append(np.full(len(chunk), -1))
            continue
        given = kind.startswith("dictionary<")
        if not given and not chunk.null_count and kind.endswith(("string", "string_view")):
            found, texts = encoded_texts(chunk, told)
            if len(chunk) == len(column):  # where every code is one of its own that some row has
                return Coded(found.astype(np.int64), [(typed(text, told),) for text in texts])
            parts.append(found + np.int64(len(values)))
            values += texts
            continue
        try:
            encoding = chunk if given else chunk.dictionary_encode()
        except NotImplementedError:
            raise InputError(f"{told} holds {kind}; examples are sliced by strings, integers and booleans") from None
        indices = encoding.indices
        codes = (indices.fill_null(0) if indices.null_count else indices).to_numpy(zero_copy_only=False)
        codes = codes.astype(np.int64) + len(values)
        if indices.null_count:
            codes[indices.is_null().to_numpy(zero_copy_only=False)] = -1
        with decoding(told):
            values += encoding.dictionary.to_pylist()
        parts.append(codes)
    codes = np.concatenate(parts)
    # Only values that some row has are looked at; a dictionary may hold any others.
    met = np.bincount(codes + 1, minlength=len(values) + 1)[1:].tolist()
    none: Typed = (type(None), None)
    return _used(codes, [typed(value, told) if count else none for value, count in zip(values, met, strict=True)])


def _numbers(array: np.ndarray[Any, Any], told: str) -> Coded:
    codes, first = _ranked(array)
    return Coded(codes, [(typed(value, told),) for value in array[first].tolist()])


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
