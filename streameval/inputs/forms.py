"""Which form an argument has, recognised by its class or its attributes, so that no library is imported."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set as AbstractSet
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import InputError, imported

Form: TypeAlias = str
"""The name of a form, in these tables and in those of readers."""

_TYPES: dict[type, Form] = {
    type(None): "none", list: "list", tuple: "list", set: "set", frozenset: "set", dict: "mapping",
    str: "string", bytes: "string", np.ndarray: "array",
}  # fmt: skip

_MARKS: list[tuple[Form, Any, tuple[str, ...]]] = [
    ("list", list | tuple | deque, ()),
    ("sparse", object, ("tocsr", "shape")),  # a matrix of scipy, some of which are mappings
    ("string", str | bytes, ()),
    ("scalar", object, ("type", "as_py")),  # an element of an array of Arrow, some of which are mappings
    ("mapping", Mapping, ()),
    ("set", AbstractSet, ()),
    ("lazy", object, ("collect", "collect_schema")),  # a lazy frame of polars
    ("lazy", object, ("compute", "columns")),  # a data frame of Dask
    ("table", object, ("column_names", "column")),  # a table or record batch of Arrow
    ("frame", object, ("columns", "shape", "to_numpy")),  # a data frame of pandas or polars
    ("arrow", object, ("type", "to_pylist")),  # an array or chunked array of Arrow
    ("polars", object, ("to_arrow", "to_list")),  # a Series of polars
    ("batches", object, ("read_next_batch", "schema")),  # a reader of record batches of Arrow
    ("series", object, ("iloc",)),  # a Series of pandas
    ("buffer", memoryview | array.array, ()),
    ("named", object, ("coords", "dims", "to_pandas")),  # an array of xarray
    ("shared", object, ("__arrow_c_stream__",)),  # a table or chunked array of any library that has Arrow's interface
    ("shared", object, ("__arrow_c_array__",)),
    ("array", object, ("__array__",)),  # an array of numpy or of what is like it, a tensor, an index of pandas
    ("iterable", Iterable, ()),
]
"""Class and attributes by which objects of a form are known; the first that fits counts."""

ONE: dict[Form, Callable[[Any, str], Any]] = {}
"""By form, what makes a list, a mapping or an array of one example, which messages call by the second argument."""


def enter(
    form: Form, kind: Any, *marks: str, before: Form | None = None, one: Callable[[Any, str], Any] | None = None
) -> None:
    """Enter a form, tried first, or ``before`` one that has its marks too; with ``one`` it can be a single example."""
    _MARKS.insert(0 if before is None else [known for known, *_ in _MARKS].index(before), (form, kind, marks))
    if one is not None:
        ONE[form] = one


def form_of(value: object) -> Form:
    """The form of an argument, or of one example in it."""
    form = _TYPES.get(type(value))
    if form is not None or isinstance(value, type):  # a class has the attributes of its objects
        return form or "other"
    for candidate, kind, marks in _MARKS:
        if isinstance(value, kind) and all(hasattr(value, mark) for mark in marks):
            return candidate
    return "other"


def resolved(value: Any, name: str) -> tuple[Any, Form]:
    """A value and its form; arrays of xarray become pandas or numpy, objects with Arrow's interface pyarrow."""
    form = form_of(value)
    if form == "named":
        value = value.to_pandas() if {*value.dims[-1:]} & {*value.coords} else value.to_numpy()
    elif form == "shared":
        pa = imported("pyarrow", f"reading {name}")
        try:
            array = pa.chunked_array(value) if hasattr(value, "__arrow_c_stream__") else pa.array(value)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"{name} cannot be read as an array or table of Arrow: {error}") from None
        value = pa.Table.from_struct_array(array) if pa.types.is_struct(array.type) else array
    else:
        return value, form
    return value, form_of(value)


FRAMES: tuple[Form, ...] = ("table", "frame")  # those whose columns have names


def columns_of(value: Any, form: Form) -> list[object]:
    """The column names of a table or data frame."""
    return list(value.column_names if form == "table" else value.columns)


def are_numbered(names: list[object]) -> bool:
    """Whether columns are named 0, 1, 2 ..., as in a data frame that was made without names."""
    return bool(names) and names == [*range(len(names))]
