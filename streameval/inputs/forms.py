"""Which form an argument has. Nothing else asks.

A form is known by its class, or by the methods and attributes that its objects have, so that no library needs to be
imported. A new form is one line here and one reader in `streameval.inputs.readers`, or in
`streameval.inputs.examples` if it is a form of single examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum, auto
from typing import Any

import numpy as np

from streameval.inputs.topk import TopK

__all__ = ["Form", "form_of", "frame_columns"]


class Form(Enum):
    """The forms that arguments have."""

    NONE = auto()
    TOP_K = auto()
    LIST = auto()
    SPARSE = auto()
    STRING = auto()
    MAPPING = auto()
    SET = auto()
    TABLE = auto()
    FRAME = auto()
    ARROW = auto()
    POLARS = auto()
    SERIES = auto()
    BUFFER = auto()
    ARRAY = auto()
    ITERABLE = auto()
    OTHER = auto()


_TYPES = {
    type(None): Form.NONE, list: Form.LIST, tuple: Form.LIST, set: Form.SET, frozenset: Form.SET, dict: Form.MAPPING,
    str: Form.STRING, bytes: Form.STRING, np.ndarray: Form.ARRAY,
}  # fmt: skip
"""The commonest types, which need no closer look."""

_MARKS: tuple[tuple[Form, Any, tuple[str, ...]], ...] = (
    (Form.TOP_K, TopK, ()),
    (Form.LIST, list | tuple, ()),
    (Form.SPARSE, object, ("tocsr", "shape")),  # a matrix of scipy, some of which are mappings
    (Form.STRING, str | bytes, ()),
    (Form.MAPPING, Mapping, ()),
    (Form.SET, AbstractSet, ()),
    (Form.TABLE, object, ("column_names", "num_rows")),  # a table or record batch of Arrow
    (Form.FRAME, object, ("columns", "shape")),  # a data frame of pandas or polars
    (Form.ARROW, object, ("type", "to_pylist")),  # an array or chunked array of Arrow
    (Form.POLARS, object, ("to_arrow", "to_list")),  # a Series of polars
    (Form.SERIES, object, ("iloc",)),  # a Series of pandas
    (Form.BUFFER, memoryview, ()),
    (Form.ARRAY, object, ("__array__",)),  # an array of numpy or of what is like it, a tensor, an index of pandas
    (Form.ITERABLE, Iterable, ()),
)
"""Class and attributes by which objects of a form are known; the first that fits counts."""


def form_of(value: object) -> Form:
    """The form of an argument, or of one example in it."""
    form = _TYPES.get(type(value))
    if form is not None:
        return form
    for candidate, kind, marks in _MARKS:
        if isinstance(value, kind) and all(hasattr(value, mark) for mark in marks):
            return candidate
    return Form.OTHER


def frame_columns(value: Any) -> list[object] | None:
    """The column names of a table or data frame; None for anything else."""
    form = form_of(value)
    if form is Form.TABLE:
        return list(value.column_names)
    return list(value.columns) if form is Form.FRAME else None
