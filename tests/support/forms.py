"""Every form of input: how to make it from rows of a matrix, and what to write instead if it is refused.

``python -m tests.support.forms`` writes the page of the documentation.
"""

from __future__ import annotations

import array
import collections
import enum
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import xarray as xr

import streameval as se
from tests.support.files import table as table_of_files
from tests.support.mistakes import MISTAKES

LABELS = ["a", "b", "c", "d"]
IDS = [10, 20, 30, 40]

Rows = Any
"""An array of booleans or scores, shape (examples, labels)."""


@dataclass(frozen=True)
class Form:
    """One form.

    Attributes
    ----------
    name
        Its name in the documentation.
    make
        Makes the form from one row, or from many rows if ``many``.
    labels
        The labels that the form has for the columns of the rows.
    refused
        Words of the message if the form is refused.
    instead
        What to write instead, if there is an equivalent.
    vague
        Whether the form says something other than the rows, so that ``instead`` need not mean the same as the rows.
    sides
        The arguments that accept it: "true", "pred".
    """

    name: str
    make: Callable[[Rows], Any]
    many: bool = False
    labels: Any = field(default_factory=lambda: LABELS)
    refused: str = ""
    instead: str = ""
    vague: bool = False
    sides: tuple[str, ...] = ("true", "pred")

    def batch(self, rows: Rows) -> Any:
        """Rows in this form, as an argument of `update_many`."""
        return self.make(rows) if self.many else [self.make(row) for row in rows]


class Colour(enum.IntEnum):
    """Labels that are integers."""

    RED, GREEN, BLUE, GREY = IDS


class Word(str, enum.Enum):  # noqa: UP042  # the idiom before StrEnum existed
    """Labels that are strings."""

    A, B, C, D = LABELS


class Shared:
    """An object of another library that supports only Arrow's interface."""

    def __init__(self, held: Any) -> None:
        name = next(name for name in ("__arrow_c_stream__", "__arrow_c_array__") if hasattr(held, name))
        setattr(self, name, getattr(held, name))


def names(row: Rows, labels: Any = LABELS) -> list[Any]:
    """The labels that are true in a row."""
    return [label for label, cell in zip(labels, row, strict=True) if cell]


def matrix(rows: Rows) -> Any:
    """A `numpy.matrix`, without numpy's warning about its use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.matrix(rows)


def ints(rows: Rows) -> Any:
    return np.asarray(rows).astype(np.int64)


def fields(row: Rows) -> Any:
    return collections.namedtuple("Row", LABELS)(*ints(row).tolist())  # noqa: PYI024


def turned(row: Rows) -> Any:
    return collections.namedtuple("Row", LABELS[::-1])(*np.asarray(row).tolist()[::-1])  # noqa: PYI024


def frame(rows: Rows, kind: Any = int) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(rows), columns=LABELS).astype(kind)


def table(rows: Rows, kind: Any = None) -> pa.Table:
    return pa.table([pa.array(column, kind) for column in ints(rows).T], LABELS)


def booleans(rows: Rows) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(rows, bool).reshape(-1)), len(LABELS))


def lists(rows: Rows) -> list[list[str]]:
    return [names(row) for row in rows]


def _of(values: Callable[[Any], Any], mapping: Callable[[Any], Any] = dict) -> Callable[[Rows], Any]:
    """A function from a row to a mapping from all labels to values of one kind."""
    return lambda row: mapping((label, values(cell)) for label, cell in zip(LABELS, row, strict=True))


_OBJECTS = np.frompyfunc(lambda cell: cell, 1, 1)


def _object_column(parts: list[Any]) -> np.ndarray:
    column = np.empty(len(parts), object)
    column[:] = parts
    return column


def _as_sets(rows: Rows) -> Any:
    return [{*part} for part in lists(rows)]


def _either(name: str, make: Callable[[Rows], Any], words: str = "may be indicators or the label", **more: Any) -> Form:
    return Form(name, make, refused=words, instead='an array, or `rows="indicator"`', **more)


LABEL_FORMS = [
    Form("set, frozenset of strings", lambda row: frozenset(names(row))),
    Form("list of strings", names),
    Form("tuple of strings, also repeated", lambda row: (*names(row), *names(row))),
    Form("keys of a dictionary", lambda row: dict.fromkeys(names(row)).keys()),
    Form("deque of strings", lambda row: collections.deque(names(row))),
    Form("set or list of integers", lambda row: names(row, IDS), labels=IDS),
    Form("members of an IntEnum", lambda row: {*names(row, Colour)}, labels=IDS),
    Form("members of an enumeration of strings", lambda row: {*names(row, Word)}),
    Form("list of integers and strings of numpy", lambda row: [np.int64(i) for i in names(row, IDS)], labels=IDS),
    Form("array of strings", lambda row: np.array(names(row), "U1")),
    Form("array of objects that are strings", lambda row: _object_column(names(row))),
    Form("Index of pandas", lambda row: pd.Index(names(row), dtype=object)),
    Form("array of strings of pandas", lambda row: pd.array(names(row), dtype="string")),
    Form("Categorical of pandas", lambda row: pd.Categorical(names(row), LABELS)),
    Form("Series of polars of strings", lambda row: pl.Series(names(row), dtype=pl.String)),
    Form("array of Arrow of strings", lambda row: pa.array(names(row), pa.string())),
    Form("list element of an Arrow column", lambda row: pa.array([names(row)], pa.list_(pa.string()))[0]),
    Form("dictionary label: True or False", _of(bool)),
    Form("dictionary label: 0 or 1", _of(int)),
    Form("dictionary label: 0.0 or 1.0", _of(float)),
    Form("dictionary label: boolean or float of numpy", _of(np.float64)),
    Form("dictionary label: array or tensor without dimensions", _of(np.array)),
    Form("dictionary label: value of Arrow", _of(lambda cell: pa.scalar(bool(cell)))),
    Form("OrderedDict, defaultdict, MappingProxyType", _of(bool, lambda items: types.MappingProxyType(dict(items)))),
    Form("Counter in which nothing is counted twice", lambda row: collections.Counter(names(row))),
    Form("Series of pandas label: 0 or 1", lambda row: pd.Series(ints(row), LABELS)),
    Form("struct element of an Arrow column", lambda row: pa.array([_of(bool)(row)])[0]),
    Form(
        "map element of an Arrow column",
        lambda row: pa.array([[*_of(bool)(row).items()]], pa.map_(pa.string(), pa.bool_()))[0],
    ),
    Form("Series of pandas of lists, sets or tuples", lambda rows: pd.Series(lists(rows)), many=True),
    Form("array of objects that are lists", lambda rows: _object_column(lists(rows)), many=True),
    Form("generator of examples", lambda rows: (part for part in lists(rows)), many=True),
    Form(
        "Series of pandas of Arrow lists",
        lambda rows: pd.Series(lists(rows), dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        many=True,
    ),
    Form(
        "Series of pandas of Arrow maps",
        lambda rows: pd.Series(
            [[*_of(bool)(row).items()] for row in rows], dtype=pd.ArrowDtype(pa.map_(pa.string(), pa.bool_()))
        ),
        many=True,
    ),
    Form("Series of polars, List of strings", lambda rows: pl.Series(lists(rows), dtype=pl.List(pl.String)), many=True),
    Form(
        "Series of polars, List of Categorical",
        lambda rows: pl.Series(lists(rows), dtype=pl.List(pl.Categorical)),
        many=True,
    ),
    Form("Series of polars, Struct of booleans", lambda rows: pl.Series([_of(bool)(row) for row in rows]), many=True),
    Form("Arrow list", lambda rows: pa.array(lists(rows), pa.list_(pa.string())), many=True),
    Form("object with `__arrow_c_array__`: lists", lambda rows: Shared(pa.array(lists(rows))), many=True),
    Form("Arrow large_list", lambda rows: pa.array(lists(rows), pa.large_list(pa.large_string())), many=True),
    Form("Arrow list_view", lambda rows: pa.array(lists(rows), pa.list_view(pa.string())), many=True),
    Form(
        "Arrow list of dictionary codes",
        lambda rows: pa.array(lists(rows), pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        many=True,
    ),
    Form(
        "chunked Arrow list",
        lambda rows: pa.chunked_array([lists(rows)[:2], lists(rows)[2:]], pa.list_(pa.string())),
        many=True,
    ),
    Form("Arrow struct of booleans", lambda rows: pa.array([_of(bool)(row) for row in rows]), many=True),
    Form(
        "Arrow map of booleans",
        lambda rows: pa.array([[*_of(bool)(row).items()] for row in rows], pa.map_(pa.string(), pa.bool_())),
        many=True,
    ),
    _either("list of 0 and 1", lambda row: ints(row).tolist()),
    _either("list of the strings 0 and 1", lambda row: [str(cell) for cell in ints(row)], r"np.asarray\(rows?, int\)"),
    _either("list of -1 and 1", lambda row: (2 * ints(row) - 1).tolist()),
    _either("tuple with names of 0 and 1", fields, r"_asdict\(\)"),
    _either(
        "array of the strings 0 and 1",
        lambda row: np.array([str(cell) for cell in ints(row)]),
        r"np.asarray\(rows?, int\)",
    ),
    _either("Arrow list of 0 and 1", lambda rows: pa.array(ints(rows).tolist()), many=True),
    _either(
        "Arrow fixed_size_list of 0 and 1",
        lambda rows: pa.array(ints(rows).tolist(), pa.list_(pa.int8(), 4)),
        many=True,
    ),
    _either("Series of polars, List of 0 and 1", lambda rows: pl.Series(ints(rows).tolist()), many=True),
    _either("Series of pandas of lists of 0 and 1", lambda rows: pd.Series(ints(rows).tolist()), many=True),
    _either("Series of pandas of arrays of 0 and 1", lambda rows: pd.Series([*ints(rows)]), many=True),
    Form(
        "dictionary label: the strings 0 and 1",
        _of(lambda cell: str(int(cell))),
        refused="'1'|'0'",
        instead='`value == "1"`',
    ),
    Form("dictionary label: -1 and 1", _of(lambda cell: 2 * int(cell) - 1), refused="value > 0", instead="`value > 0`"),
    Form("dictionary label: Decimal", _of(lambda cell: Decimal(int(cell)))),
    Form("dictionary label: Fraction", _of(lambda cell: Fraction(int(cell))), refused="Fraction"),
    Form(
        "Counter in which something is counted twice",
        lambda row: collections.Counter([*names(row), *names(row)]),
        refused="Counter.*set|is 2 for",
        instead="`set(counter)`",
    ),
    Form(
        "generator, iterator or range as one example",
        lambda row: iter(names(row)),
        refused="iterator",
        instead="`list(...)`",
    ),
    Form(
        "a string as one example", lambda _: "a", refused=r"write \['a'\]|\[\[label\]", instead="`[label]`", vague=True
    ),
    Form(
        "a string of several labels",
        lambda row: ",".join(names(row)) + ",a",
        refused="split",
        instead='`string.split(",")`',
        vague=True,
    ),
    Form("bytes, int or float as one example", lambda _: 3, refused="int"),
    Form(
        "list that holds None or NaN",
        lambda row: [*names(row), None],
        refused="None",
        instead="a list without it",
    ),
    Form(
        "list of bytes",
        lambda row: [name.encode() for name in names(row)],
        refused="bytes",
        instead="`name.decode()`",
    ),
    Form(
        "a list as numpy writes it",
        lambda row: str(np.array(names(row))),
        refused="give the list",
        instead="the list itself",
    ),
    Form("list of tuples", lambda _: [(name,) for name in LABELS], refused="tuple"),
    Form("array of bytes", lambda row: np.array(names(row), "S1"), refused="astype", instead="`.astype(str)`"),
    Form(
        "array of integers that are labels",
        lambda _: np.array(IDS),
        refused="tolist",
        instead="`.tolist()`",
        vague=True,
    ),
    Form(
        "dictionary id: labels as a batch",
        lambda rows: dict(enumerate(lists(rows))),
        many=True,
        refused=r"values\(\)",
        instead="`list(d.values())`",
    ),
    Form(
        "dictionary of columns as a batch",
        lambda rows: dict(zip(LABELS, ints(rows).T.tolist(), strict=True)),
        many=True,
        refused="DataFrame",
        instead="`pd.DataFrame(d)`",
    ),
    Form(
        "1-D array of one class per example",
        lambda rows: np.arange(len(rows)),
        many=True,
        refused=r"\[:, None\]",
        instead="`labels[:, None]`, or `[[c] for c in y]`",
        vague=True,
    ),
    Form(
        "list of one class per example",
        lambda rows: ["a"] * len(rows),
        many=True,
        refused=r"\[\[label\] for label in y_",
        instead="`[[label] for label in y]`",
        vague=True,
    ),
    Form(
        "data frame of one column of lists",
        lambda rows: pd.DataFrame({"y": lists(rows)}),
        many=True,
        refused=r"\['y'\]",
        instead='`frame["y"]`',
    ),
    Form(
        "Arrow table of one column of lists",
        lambda rows: pa.table({"y": lists(rows)}),
        many=True,
        refused=r"\['y'\]",
        instead='`table["y"]`',
    ),
    Form(
        "Series of polars of objects",
        lambda rows: pl.Series([{*part} for part in lists(rows)], dtype=pl.Object),
        many=True,
    ),
    Form(
        "LazyFrame of polars",
        lambda rows: pl.LazyFrame({name: ints(rows)[:, i] for i, name in enumerate(LABELS)}),
        many=True,
        refused="collect",
        instead="`.collect()`",
    ),
    Form(
        "array of objects that numpy made of lists of strings",
        lambda rows: np.array([LABELS for _ in rows], object),
        many=True,
        refused=r"tolist\(\)",
        instead="the list itself",
        vague=True,
    ),
    Form("structured array", lambda rows: frame(rows).to_records(index=False), many=True),
]

INDICATOR_FORMS = [
    *[
        Form(f"array of {kind}", lambda row, kind=kind: np.asarray(row).astype(kind))
        for kind in ("bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64", "object")
    ],
    Form("array of objects that are booleans", lambda row: _OBJECTS(np.asarray(row, bool)).astype(object)),
    Form("array read backwards", lambda row: ints(row)[::-1].copy()[::-1]),
    Form("masked array without a mask", lambda row: np.ma.array(ints(row))),
    Form("matrix of numpy of one row", lambda row: matrix(ints(row))),
    Form("array of one row", lambda row: ints(row)[None, :]),
    Form("sparse matrix of one row", lambda row: sp.csr_matrix(ints(row)[None, :])),
    Form("sparse array with one dimension", lambda row: sp.coo_array(ints(row))),
    Form("data frame of one row", lambda row: frame([row])),
    Form(
        "array of xarray whose last dimension has labels as coordinates",
        lambda row: xr.DataArray(ints(row)[::-1], {"label": LABELS[::-1]}),
    ),
    Form("list of booleans", lambda row: np.asarray(row, bool).tolist()),
    Form("tuple with names, which are the labels", lambda row: turned(np.asarray(row, bool))),
    Form("list of booleans of numpy", lambda row: [*np.asarray(row, bool)]),
    Form("list of 0.0 and 1.0", lambda row: np.asarray(row, float).tolist()),
    Form("array.array", lambda row: array.array("b", ints(row).tolist())),
    Form("memoryview", lambda row: memoryview(ints(row).astype(np.uint8))),
    Form("bits of one row, as np.packbits makes them", lambda row: se.PackedRows(np.packbits(row), len(row))),
    Form("row of a named polars frame", lambda row: next(pl.DataFrame([_of(int)(row)]).iter_rows(named=True))),
    Form("2-D array", ints, many=True),
    Form(
        "2-D array of bits, as np.packbits makes them",
        lambda rows: se.PackedRows(np.packbits(rows, axis=1), len(LABELS)),
        many=True,
    ),
    Form("Arrow lists of booleans of fixed size", booleans, many=True),
    Form("2-D array in Fortran order", lambda rows: np.asfortranarray(rows), many=True),
    Form("2-D array with steps", lambda rows: np.repeat(ints(rows), 2, axis=1)[:, ::2], many=True),
    Form("2-D array of another byte order", lambda rows: ints(rows).astype(">i4"), many=True),
    Form("2-D memoryview", lambda rows: memoryview(ints(rows).astype(np.uint8)), many=True),
    Form("matrix of numpy", lambda rows: matrix(ints(rows)), many=True),
    Form("array of xarray", lambda rows: xr.DataArray(ints(rows)), many=True),
    Form(
        "array of xarray with labels as coordinates",
        lambda rows: xr.DataArray(ints(rows)[:, ::-1], {"label": LABELS[::-1]}, ("row", "label")),
        many=True,
    ),
    *[
        Form(f"sparse {kind}", lambda rows, kind=kind: getattr(sp, f"{kind}_array")(ints(rows)), many=True)
        for kind in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    ],
    Form("sparse matrix of booleans", lambda rows: sp.csr_matrix(np.asarray(rows, bool)), many=True),
    *[
        Form(f"data frame of pandas of {kind}", lambda rows, kind=kind: frame(rows, kind), many=True)
        for kind in ("int64", "bool", "float32", "object", "Int64", "boolean", "int8[pyarrow]", "Sparse[int]")
    ],
    Form("data frame of polars", lambda rows: pl.DataFrame(dict(zip(LABELS, ints(rows).T, strict=True))), many=True),
    Form("Arrow table", table, many=True),
    Form("Arrow record batch", lambda rows: table(rows).to_batches()[0], many=True),
    Form("object with `__arrow_c_stream__`: a table of indicators", lambda rows: Shared(table(rows)), many=True),
    Form("reader of Arrow record batches", lambda rows: table(rows).to_reader(2), many=True),
    Form("Arrow list of booleans", lambda rows: pa.array(np.asarray(rows, bool).tolist()), many=True),
    Form("Arrow list of 0.0 and 1.0", lambda rows: pa.array(np.asarray(rows, float).tolist()), many=True),
    Form("Series of polars, List of booleans", lambda rows: pl.Series(np.asarray(rows, bool).tolist()), many=True),
    Form(
        "Series of polars, Array of booleans",
        lambda rows: pl.Series(np.asarray(rows, bool).tolist(), dtype=pl.Array(pl.Boolean, 4)),
        many=True,
    ),
    Form("Series of pandas of arrays of booleans", lambda rows: pd.Series([*np.asarray(rows, bool)]), many=True),
    Form(
        "-1 and 1 in an array",
        lambda row: 2 * ints(row) - 1,
        refused="-1",
        instead="`y > 0`",
    ),
    Form(
        "-100 in an array",
        lambda row: np.array([-100, *ints(row)[1:]]),
        refused="-100",
        instead="`np.where(y == -100, np.nan, y)`, where -100 is masked",
        vague=True,
    ),
    Form("0 and 100, or 0, 1 and 2, in an array", lambda row: 2 * ints(row) + 1, refused="3|2", vague=True),
    Form(
        "(n, 1, q) array",
        lambda rows: ints(rows)[:, None],
        many=True,
        refused="reshape",
        instead="`.reshape(-1, q)`",
    ),
    Form(
        "(n, q, 1) array",
        lambda rows: ints(rows)[:, :, None],
        many=True,
        refused="reshape|pairs",
        instead="`.reshape(-1, q)`",
    ),
    Form(
        "data frame of strings",
        lambda rows: frame(rows).astype(str),
        many=True,
        refused=r"label 'a'.*astype\(int\)",
        instead="`.astype(int)`",
    ),
    Form(
        "data frame with a column of ids",
        lambda rows: frame(rows).assign(id=np.arange(len(rows)) + 2),
        many=True,
        refused="'id'",
        instead='`.drop(columns="id")`',
    ),
    Form(
        "data frame of columns called by floats",
        lambda rows: frame(rows).set_axis([0.0, 1.0, 2.0, 3.0], axis=1),
        many=True,
        refused=r"rename\(columns=int\)",
        instead="`.rename(columns=int)`",
        vague=True,
    ),
    Form("pair of two arrays", lambda rows: (ints(rows), ints(rows)), many=True, refused="label_ids|examples"),
]


SCORE_FORMS = [
    *[
        Form(f"array of {kind}", lambda row, kind=kind: np.asarray(row).astype(kind))
        for kind in ("float16", "float32", "float64", "longdouble", "object")
    ],
    Form("dictionary label: float", _of(float)),
    Form("dictionary label: float of numpy", _of(np.float32)),
    Form("dictionary label: Decimal", _of(lambda p: Decimal(float(p)))),
    Form("dictionary label: array or tensor without dimensions", _of(np.array)),
    Form("dictionary label: value of Arrow", _of(lambda cell: pa.scalar(float(cell)))),
    Form("dictionary label: {False: 1 - p, True: p} (River)", _of(lambda p: {False: 1 - float(p), True: float(p)})),
    Form("list of floats", lambda row: np.asarray(row).tolist()),
    Form("tuple with names, which are the labels", turned),
    Form("list of pairs (label, score)", lambda row: [*_of(float)(row).items()]),
    Form(
        "list of records (label, score) (Hugging Face)",
        lambda row: [{"label": label, "score": score} for label, score in _of(float)(row).items()],
    ),
    Form("Series of pandas label: score", lambda row: pd.Series(row, LABELS)),
    Form("array of one row", lambda row: np.asarray(row)[None, :]),
    Form("matrix of numpy of one row", lambda row: matrix(row)),
    Form("2-D array", np.asarray, many=True),
    Form("2-D array in Fortran order", lambda rows: np.asfortranarray(rows), many=True),
    Form("sparse csr", lambda rows: sp.csr_array(rows), many=True),
    Form("data frame of pandas", lambda rows: frame(rows, float), many=True),
    Form("data frame of pandas, Float64", lambda rows: frame(rows, "Float64"), many=True),
    Form(
        "data frame of polars", lambda rows: pl.DataFrame(dict(zip(LABELS, np.asarray(rows).T, strict=True))), many=True
    ),
    Form("Arrow table", lambda rows: pa.table([*np.asarray(rows).T], LABELS), many=True),
    Form(
        "object with `__arrow_c_stream__`: a table of scores",
        lambda rows: Shared(pa.table([*np.asarray(rows).T], LABELS)),
        many=True,
    ),
    Form(
        "reader of Arrow record batches", lambda rows: pa.table([*np.asarray(rows).T], LABELS).to_reader(2), many=True
    ),
    Form("Series of pandas of arrays", lambda rows: pd.Series([*np.asarray(rows)]), many=True),
    Form("Series of pandas of lists", lambda rows: pd.Series(np.asarray(rows).tolist()), many=True),
    Form("Series of polars, List of floats", lambda rows: pl.Series(np.asarray(rows).tolist()), many=True),
    Form(
        "Series of polars, Array of floats",
        lambda rows: pl.Series(np.asarray(rows).tolist(), dtype=pl.Array(pl.Float64, 4)),
        many=True,
    ),
    Form("Series of polars, Struct of floats", lambda rows: pl.Series([_of(float)(row) for row in rows]), many=True),
    Form(
        "Arrow list of structs (label, score), the two in any order",
        lambda rows: pa.array(
            [[{"score": score, "label": label} for label, score in _of(float)(row).items()] for row in rows]
        ),
        many=True,
    ),
    Form(
        "Arrow tensors of one dimension",
        lambda rows: pa.FixedShapeTensorArray.from_numpy_ndarray(np.asarray(rows, np.float64)),
        many=True,
    ),
    Form("Arrow list of floats", lambda rows: pa.array(np.asarray(rows).tolist()), many=True),
    Form(
        "Arrow fixed_size_list of floats",
        lambda rows: pa.array(np.asarray(rows).tolist(), pa.list_(pa.float64(), 4)),
        many=True,
    ),
    Form("Arrow struct of floats", lambda rows: pa.array([_of(float)(row) for row in rows]), many=True),
    Form(
        "Arrow map of floats",
        lambda rows: pa.array([[*_of(float)(row).items()] for row in rows], pa.map_(pa.string(), pa.float64())),
        many=True,
    ),
    Form(
        "list of (n, 2) arrays, one a label (scikit-learn)",
        lambda rows: [np.stack([1 - column, column], 1) for column in np.asarray(rows).T],
        many=True,
        refused=r"np\.stack\(\[p\[:, 1\] for p in y_pred\], axis=1\)",
        instead="`np.stack([p[:, 1] for p in y_pred], axis=1)`",
    ),
    Form(
        "list of (n,) arrays, one a label",
        lambda rows: [*np.asarray(rows).T],
        many=True,
        refused=r"or np\.stack\(y_pred, axis=1\) if",
        instead="`np.stack(y_pred, axis=1)`",
    ),
    Form(
        "(n, q, 2) array",
        lambda rows: np.stack([1 - rows, rows], 2),
        many=True,
        refused=r"1\]",
        instead="`y_pred[..., 1]`",
    ),
    Form(
        "NaN among scores",
        lambda row: np.array([np.nan, *row[1:]]),
        refused='nan="missing"',
        instead='`nan="missing"`, where a label has no score',
    ),
    Form("infinity among scores", lambda row: np.array([np.inf, *row[1:]]), refused="inf"),
]


FORMS = {"labels": LABEL_FORMS, "indicators": INDICATOR_FORMS, "scores": SCORE_FORMS}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "forms.md"


def page() -> str:
    """The documentation page about forms of input."""
    lines = [
        "# Every form of input",
        "",
        "You have an object of some library. You want to know whether it is read. You write",
        "`ev.update(y_true, y_pred)` or `ev.update_many(y_true, y_pred)`.",
        "",
        "These tables list what is read as `y_true`, `y_pred` and `mask`: as one example (by `update`, `revert`, River",
        "and `Pending`) and as many (by `update_many`, `score`). All are tested. [Inputs](inputs.md) explains them.",
        "",
    ]
    for kind, forms in FORMS.items():
        lines += [f"## {kind.title()}", "", "| form | one example | many | |", "|---|---|---|---|"]
        for form in forms:
            answer = "refused" if form.refused else "read"
            more = f"write {form.instead}" if form.instead else ""
            lines.append(f"| {form.name} | {'' if form.many else answer} | {answer} | {more} |")
        lines.append("")
    lines += [
        "## Files and tables",
        "",
        "`evaluate_table` reads them with arguments of the same names. A test reads each.",
    ]
    lines += ["", *table_of_files(), ""]
    lines += ["## Common mistakes", "", "`Y` is an array of 0 and 1, `S` one of scores, `names` lists of labels.", ""]
    lines += ["| mistake | call | message |", "|---|---|---|"]
    lines += [f"| {mistake.name} | `{mistake.code}` | {_cell(mistake.message())} |" for mistake in MISTAKES]
    return "\n".join([*lines, ""])


def _cell(message: str) -> str:
    return "`" + message.replace("|", "\\|").replace("\n", " ") + "`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
