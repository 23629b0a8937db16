"""Which form an argument has: known by its class, or by what its objects have, so that no library is imported.

A new form is one line here and one reader in `streameval.inputs.readers`, or for single examples in
`streameval.inputs.examples`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from streameval.errors import public


@public
@dataclass(frozen=True, eq=False)
class TopK:
    """The best labels of each example, as retrieval systems give them.

    Attributes
    ----------
    indices
        Shape (examples, k): columns in the order of the declared labels, or the labels 0, 1, 2 ... themselves, best
        first. Negative ones are padding.
    scores
        The same shape; None if only their order is known.
    """

    indices: Any
    scores: Any = None


Form: TypeAlias = Literal[
    "none", "top_k", "list", "sparse", "string", "mapping", "set", "table", "frame", "arrow", "polars", "series",
    "buffer", "array", "iterable", "other",
]  # fmt: skip

_TYPES: dict[type, Form] = {
    type(None): "none", list: "list", tuple: "list", set: "set", frozenset: "set", dict: "mapping",
    str: "string", bytes: "string", np.ndarray: "array",
}  # fmt: skip

_MARKS: tuple[tuple[Form, Any, tuple[str, ...]], ...] = (
    ("top_k", TopK, ()),
    ("list", list | tuple, ()),
    ("sparse", object, ("tocsr", "shape")),  # a matrix of scipy, some of which are mappings
    ("string", str | bytes, ()),
    ("mapping", Mapping, ()),
    ("set", AbstractSet, ()),
    ("table", object, ("column_names", "num_rows")),  # a table or record batch of Arrow
    ("frame", object, ("columns", "shape")),  # a data frame of pandas or polars
    ("arrow", object, ("type", "to_pylist")),  # an array or chunked array of Arrow
    ("polars", object, ("to_arrow", "to_list")),  # a Series of polars
    ("series", object, ("iloc",)),  # a Series of pandas
    ("buffer", memoryview, ()),
    ("array", object, ("__array__",)),  # an array of numpy or of what is like it, a tensor, an index of pandas
    ("iterable", Iterable, ()),
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
    return "other"


FRAMES: tuple[Form, ...] = ("table", "frame")  # those whose columns have names


def columns_of(value: Any, form: Form) -> list[object]:
    """The column names of a table or data frame."""
    return list(value.column_names if form == "table" else value.columns)
