"""Every accepted form of the same examples gives the same bytes."""

from __future__ import annotations

import gc
import math
import tracemalloc
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings, strategies as st

import streameval as se
from streameval.inputs import forms
from streameval.inputs.arrow import bits_of_columns
from streameval.states import state_set
from tests.support.each import with_each
from tests.support.effort import cases

CHECK = settings(max_examples=cases(150))

Bits = np.ndarray
"""An array of 0, 1, and in truths NaN for unknown cells; shape (examples, labels)."""

NAMES = ("bird", "cat", "dog", "🙂", "e\u0301")


DTYPES = (
    "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g", ">i2", ">i8", ">u4", ">f2", ">f4", "O",
)  # fmt: skip
PANDAS_DTYPES = (
    "bool", "float32", "uint8", "Int64", "UInt8", "boolean", "Float32", "object", "category", "int8[pyarrow]",
    "bool[pyarrow]",
)  # fmt: skip
NULLABLE_DTYPES = (
    "Int8", "Int64", "UInt8", "boolean", "Float32", "object", "float32", "int8[pyarrow]", "bool[pyarrow]",
)  # fmt: skip


def drawn(seed: int, *, examples: int = 23, unknown: bool = False) -> Bits:
    source = np.random.default_rng(seed)
    bits = source.integers(0, 2, (examples, len(NAMES))).astype(float)
    bits[3] = 0
    bits[4] = 1
    if unknown:
        bits[source.random(bits.shape) < 0.2] = math.nan
    return bits


def by_loops(
    true: Bits, pred: Bits, mask: Bits | None = None, weights: np.ndarray | None = None, **setup: object
) -> se.Evaluator:
    """The reference: an evaluator that has counted each example as mappings that name every label."""
    ev = se.Evaluator(**setup)
    for row in range(len(true)):
        ev.update(
            {name: None if math.isnan(value) else value == 1 for name, value in zip(NAMES, true[row], strict=True)},
            {name: bool(value) for name, value in zip(NAMES, pred[row], strict=True)},
            mask=None if mask is None else {name for name, value in zip(NAMES, mask[row], strict=True) if value == 1},
            weight=1.0 if weights is None else float(weights[row]),
        )
    return ev


# -- forms without names: columns in the order of the declared labels -------------------------------------------------


def reversed_strides(bits: Bits) -> np.ndarray:
    return np.ascontiguousarray(bits[::-1, ::-1].astype(np.int16))[::-1, ::-1]


def read_only(bits: Bits) -> np.ndarray:
    array = bits.astype(np.uint8)
    array.flags.writeable = False
    return array


def spread(bits: Bits) -> np.ndarray:
    wide = np.full((2 * bits.shape[0], 3 * bits.shape[1]), 1, np.uint8)
    wide[::2, ::3] = bits
    return wide[::2, ::3]


def numpy_matrix(bits: Bits) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(bits)


def with_stored_zeros(bits: Bits) -> sp.csr_array:
    count, width = bits.shape
    return sp.csr_array(
        (bits.reshape(-1), np.tile(np.arange(width), count), np.arange(0, bits.size + 1, width)), shape=bits.shape
    )


def with_unaligned_indices(bits: Bits) -> sp.csr_array:
    """A matrix whose index arrays are unaligned, like arrays read from a file after a header."""
    matrix = sp.csr_array(bits)
    matrix.indices, matrix.indptr = (
        np.frombuffer(b"\0" + part.tobytes(), part.dtype, offset=1) for part in (matrix.indices, matrix.indptr)
    )
    return matrix


def with_wide_offsets(bits: Bits) -> sp.csr_array:
    matrix = sp.csr_array(bits)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def with_unsorted_indices(bits: Bits) -> sp.csr_matrix:
    count, width = bits.shape
    columns = np.tile(np.arange(width)[::-1], count)
    return sp.csr_matrix((bits[:, ::-1].reshape(-1), columns, np.arange(0, bits.size + 1, width)), shape=bits.shape)


def with_duplicates(bits: Bits) -> sp.csr_array:
    """A matrix that stores each cell in three parts, which add up."""
    count, width = bits.shape
    values = np.stack([bits - 2, np.full(bits.shape, 3.0), np.full(bits.shape, -1.0)], axis=2).reshape(-1)
    columns = np.tile(np.repeat(np.arange(width), 3), count)
    return sp.csr_array((values, columns, np.arange(0, values.size + 1, 3 * width)), shape=bits.shape)


def coo_with_duplicates(bits: Bits) -> sp.coo_matrix:
    rows, columns = np.nonzero(bits)
    return sp.coo_matrix((np.repeat([2.0, -1.0], len(rows)), (np.tile(rows, 2), np.tile(columns, 2))), shape=bits.shape)


def packed(bits: Bits, bitorder: str = "big") -> se.PackedRows:
    return se.PackedRows(np.packbits(bits > 0, axis=1, bitorder=bitorder), bits.shape[1], bitorder)


def arrow_booleans(bits: Bits) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array((bits > 0).reshape(-1)), bits.shape[1])


MATRICES: dict[str, Callable[[Bits], object]] = {
    **{f"dtype {dtype}": lambda bits, dtype=dtype: bits.astype(dtype) for dtype in DTYPES},
    "Fortran order": np.asfortranarray,
    "Fortran order, bool": lambda bits: np.asfortranarray(bits.astype(bool)),
    "negative strides": reversed_strides,
    "read-only": read_only,
    "every other row and third column": spread,
    "objects of type bool": lambda bits: bits.astype(bool).astype(object),
    "objects of type int": lambda bits: bits.astype(int).astype(object),
    "objects of numpy types": lambda bits: np.array([[np.int8(v) for v in row] for row in bits], object),
    "mixed objects": lambda bits: np.array(
        [[[bool, int, float][i % 3](v) for i, v in enumerate(r)] for r in bits], "O"
    ),
    "numpy matrix": numpy_matrix,
    "packed bits": packed,
    "packed bits, lowest first": lambda bits: packed(bits, bitorder="little"),
    "packed bits, not contiguous": lambda bits: se.PackedRows(
        np.packbits(bits > 0, axis=1).repeat(2, 0)[::2], len(NAMES)
    ),
    "packed bits, one row each": lambda bits: [packed(bits[row : row + 1]) for row in range(len(bits))],
    "packed bits, vectors": lambda bits: [se.PackedRows(np.packbits(row > 0), len(NAMES)) for row in bits],
    "arrow booleans of fixed size": arrow_booleans,
    "arrow booleans of fixed size, sliced": lambda bits: arrow_booleans(np.vstack([bits] * 3))[
        len(bits) : 2 * len(bits)
    ],
    "arrow booleans of fixed size, chunked": lambda bits: pa.chunked_array(
        [arrow_booleans(bits[:5]), arrow_booleans(bits[5:])]
    ),
    "arrow lists of booleans": lambda bits: pa.array((bits > 0).tolist(), pa.list_(pa.bool_())),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "coo_array": sp.coo_array,
    "lil_array": sp.lil_array,
    "dok_array": sp.dok_array,
    "bsr_array": sp.bsr_array,
    "dia_array": sp.dia_array,
    "csr of bool": lambda bits: sp.csr_array(bits.astype(bool)),
    "csr of uint8": lambda bits: sp.csr_array(bits.astype(np.uint8)),
    "csr of float32": lambda bits: sp.csr_array(bits.astype(np.float32)),
    "csr with 64-bit indices": lambda bits: sp.csr_array(
        (lambda m: (m.data, m.indices.astype(np.int64), m.indptr.astype(np.int64)))(sp.csr_array(bits)),
        shape=bits.shape,
    ),
    "csr with indices of two widths": with_wide_offsets,
    "csr with unaligned indices": with_unaligned_indices,
    "csr with stored zeros": with_stored_zeros,
    "csr with unsorted indices": with_unsorted_indices,
    "csr with duplicates": with_duplicates,
    "coo with duplicates": coo_with_duplicates,
    "csr, sliced": lambda bits: sp.csr_array(np.vstack([bits, bits, bits]))[len(bits) : 2 * len(bits)],
    "list of rows": lambda bits: list(bits.astype(np.int8)),
    "list of rows of different types": lambda bits: [row.astype(["?", "f4", "O"][i % 3]) for i, row in enumerate(bits)],
    "generator of rows": lambda bits: (row for row in bits.astype(bool)),
    "array of rows": lambda bits: object_column(list(bits.astype(bool))),
}


def object_column(values: list[object]) -> np.ndarray:
    column = np.empty(len(values), object)
    column[:] = values
    return column


# -- forms with names -------------------------------------------------------------------------------------------------


def frame(bits: Bits, dtype: str | None = None) -> pd.DataFrame:
    made = pd.DataFrame(bits.astype(int), columns=list(NAMES))
    return made if dtype is None else made.astype(dtype)


def labels_of(bits: Bits) -> list[list[str]]:
    return [[name for name, value in zip(NAMES, row, strict=True) if value == 1] for row in bits]


class LikePolars:
    """Has the interface of a column of narwhals, which is like that of polars."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def to_arrow(self) -> pa.Array:
        return pa.array(self._rows, pa.list_(pa.string()))

    def to_list(self) -> list[Any]:
        return self._rows


class LikeAwkward:
    """Has the interface of an Awkward array of lists."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows, self.typestr = rows, f"{len(rows)} * var * string"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._rows, dtype)  # raises if the lengths of the lists differ

    def to_list(self) -> list[Any]:
        return self._rows


class LikeNarwhals:
    """Has the interface of a data frame of narwhals."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame
        self.columns, self.shape, self.schema = frame.columns, frame.shape, frame.schema

    def __len__(self) -> int:
        return len(self._frame)

    def __getitem__(self, name: str) -> pl.Series:
        return self._frame[name]

    def to_numpy(self) -> np.ndarray:
        return self._frame.to_numpy()


class LikeDataset:
    """Has the interface of a dataset of Hugging Face."""

    def __init__(self, rows: list[dict[str, object]]) -> None:
        self._rows, self.num_rows, self.column_names = rows, len(rows), list(NAMES)

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return self.num_rows


def mappings(bits: Bits, kind: type = bool) -> list[dict[str, object]]:
    return [{name: kind(value) for name, value in zip(NAMES, row, strict=True)} for row in bits]


def chunked_table(bits: Bits) -> pa.Table:
    half = len(bits) // 2
    return pa.concat_tables([arrow_table(bits[:half]), arrow_table(bits[half:half]), arrow_table(bits[half:])])


def arrow_table(bits: Bits, dtype: pa.DataType | None = None) -> pa.Table:
    dtype = dtype or pa.int8()
    columns = [pa.array(bits[:, i].astype(int)).cast(dtype) for i in range(bits.shape[1])]
    return pa.table(columns, names=list(NAMES))


FRAMES: dict[str, Callable[[Bits], object]] = {
    "pandas": frame,
    **{f"pandas {dtype}": lambda bits, dtype=dtype: frame(bits, dtype) for dtype in PANDAS_DTYPES},
    "pandas float[pyarrow]": lambda bits: frame(bits, "float[pyarrow]"),
    "pandas sparse": lambda bits: frame(bits, "Sparse[int]"),
    "pandas of mixed types": lambda bits: frame(bits).astype({"bird": "bool", "cat": "Int8", "dog": "float32"}),
    "pandas, columns shuffled": lambda bits: frame(bits)[["dog", NAMES[4], "cat", "🙂", "bird"]],
    "pandas with an index": lambda bits: frame(bits).set_index(np.arange(len(bits))[::-1] // 2),
    "polars": lambda bits: pl.DataFrame(bits.astype(np.int8), schema=list(NAMES), orient="row"),
    "polars of bool": lambda bits: pl.DataFrame(bits.astype(bool), schema=list(NAMES), orient="row"),
    "polars of mixed types": lambda bits: pl.DataFrame(bits.astype(np.uint8), schema=list(NAMES), orient="row").cast(
        {"bird": pl.Boolean, "cat": pl.Float32, "dog": pl.Int64}
    ),
    "what is like a narwhals frame": lambda bits: LikeNarwhals(
        pl.DataFrame(bits.astype(np.int8), schema=list(NAMES), orient="row")
    ),
    "what is like a dataset": lambda bits: LikeDataset(mappings(bits, int)),
    "arrow table": arrow_table,
    "arrow table of bool": lambda bits: arrow_table(bits, pa.bool_()),
    "arrow table of bool, chunked": lambda bits: pa.concat_tables(
        [arrow_table(bits[part], pa.bool_()) for part in (slice(5), slice(0, 0), slice(5, None))]
    ),
    "arrow table of bool, sliced": lambda bits: arrow_table(np.vstack([bits, bits]), pa.bool_())[len(bits) :],
    "arrow record batch of bool": lambda bits: arrow_table(bits, pa.bool_()).to_batches()[0],
    "arrow table of float": lambda bits: arrow_table(bits, pa.float32()),
    "arrow table, chunked": chunked_table,
    "arrow table, sliced": lambda bits: arrow_table(np.vstack([bits, bits]))[len(bits) :],
    "arrow record batch": lambda bits: arrow_table(bits).to_batches()[0],
    "mappings of bool": mappings,
    "mappings of float": lambda bits: mappings(bits, float),
    "mappings of numpy values": lambda bits: mappings(bits, np.float16),
    "generator of mappings": lambda bits: iter(mappings(bits, int)),
    "mappings of many types": lambda bits: [
        [dict, OrderedDict, MappingProxyType, lambda m: defaultdict(int, m), pd.Series][i % 5](m)
        for i, m in enumerate(mappings(bits, int))
    ],
}

LISTS: dict[str, Callable[[Bits], object]] = {
    "lists": labels_of,
    "lists with repeats": lambda bits: [row + row[::-1] for row in labels_of(bits)],
    "tuple of tuples": lambda bits: tuple(map(tuple, labels_of(bits))),
    "sets": lambda bits: list(map(set, labels_of(bits))),
    "frozensets": lambda bits: list(map(frozenset, labels_of(bits))),
    "keys": lambda bits: [dict.fromkeys(row).keys() for row in labels_of(bits)],
    "deque of sets": lambda bits: deque(map(set, labels_of(bits))),
    "generator of many types": lambda bits: (
        [set, list, tuple, frozenset, dict.fromkeys][i % 4](row) for i, row in enumerate(labels_of(bits))
    ),
    "lists of numpy strings": lambda bits: [list(map(np.str_, row)) for row in labels_of(bits)],
    "string arrays": lambda bits: [np.array(row, "U8") for row in labels_of(bits)],
    "array of lists": lambda bits: object_column(labels_of(bits)),
    "pandas lists": lambda bits: pd.Series(labels_of(bits)),
    "pandas sets": lambda bits: pd.Series(list(map(set, labels_of(bits)))),
    "pandas arrays": lambda bits: pd.Series([np.array(row, object) for row in labels_of(bits)]),
    "pandas arrow lists": lambda bits: pd.Series(labels_of(bits), dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "polars lists": lambda bits: pl.Series(labels_of(bits), dtype=pl.List(pl.String)),
    "what is like a polars column": lambda bits: LikePolars(labels_of(bits)),
    "what is like an array of Awkward": lambda bits: LikeAwkward(labels_of(bits)),
    "polars categories": lambda bits: pl.Series(labels_of(bits), dtype=pl.List(pl.Categorical)),
    "polars enum": lambda bits: pl.Series(labels_of(bits), dtype=pl.List(pl.Enum(NAMES))),
    "arrow lists": lambda bits: pa.array(labels_of(bits), pa.list_(pa.string())),
    "arrow large lists": lambda bits: pa.array(labels_of(bits), pa.large_list(pa.large_string())),
    "arrow string views": lambda bits: pa.array(labels_of(bits), pa.list_(pa.string_view())),
    "arrow list views": lambda bits: pa.array(labels_of(bits), pa.list_view(pa.string())),
    "arrow runs": lambda bits: runs(pa.array(labels_of(bits), pa.list_(pa.string()))),
    "arrow dictionary": lambda bits: pa.array(labels_of(bits), pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "arrow dictionary, uint64 codes": lambda bits: arrow_dictionary(bits, pa.uint64()),
    "arrow dictionary, repeated and unused entries": lambda bits: arrow_dictionary(bits, pa.int16()),
    "arrow sliced": lambda bits: pa.array(labels_of(np.vstack([bits] * 3)))[len(bits) : 2 * len(bits)],
    "arrow dictionary, sliced": lambda bits: pa.concat_arrays([arrow_dictionary(bits, pa.int32())] * 3)[
        len(bits) : 2 * len(bits)
    ],
    "arrow chunked": lambda bits: pa.chunked_array(
        [labels_of(bits[:5]), [], labels_of(bits[5:6]), labels_of(bits[6:])], pa.list_(pa.string())
    ),
    "arrow chunked dictionaries": lambda bits: pa.chunked_array(
        [arrow_dictionary(bits[:5], pa.int8()), arrow_dictionary(bits[5:], pa.int8())]
    ),
    "arrow lists from python objects": lambda bits: pa.array([row or None for row in labels_of(bits)]).fill_null([]),
}


def arrow_dictionary(bits: Bits, codes: pa.DataType) -> pa.ListArray:
    rows = labels_of(bits)
    entries = ["unused", *NAMES, *NAMES, "never"]
    flat = [1 + NAMES.index(name) + 5 * (i % 2) for i, name in enumerate(name for row in rows for name in row)]
    bounds = np.cumsum([0, *map(len, rows)])
    values = pa.DictionaryArray.from_arrays(pa.array(flat, codes), pa.array(entries))
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), values)


def runs(lists: pa.ListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(lists.offsets, pc.run_end_encode(lists.values))


FORMS = MATRICES | FRAMES | LISTS


@with_each("form", FORMS)
def test_another_number_of_examples_is_refused(form: str):
    bits = drawn(1)
    for some, rest in ((bits, bits[1:]), (bits[1:], bits), (bits[:1], bits), (bits, bits[:1])):
        for arguments in ((FORMS[form](some), labels_of(rest)), (labels_of(rest), FORMS[form](some))):
            ev = se.Evaluator(labels=NAMES)
            with pytest.raises(se.InputError, match="numbers of examples differ"):
                ev.update_many(*arguments)
            assert ev == se.Evaluator(labels=NAMES)


FACTORS = np.random.default_rng(4).choice([0.0, 0.1, 1.0, 1e-300, 3e200], len(drawn(1)))


@cache
def bytes_by_loops(weighted: bool) -> bytes:
    return by_loops(drawn(1), drawn(2), drawn(3), FACTORS if weighted else None, labels=NAMES).to_bytes()


@with_each("form", FORMS)
def test_every_form_gives_the_same_bytes_on_every_side(form: str):
    true, pred, mask = drawn(1), drawn(2), drawn(3)
    make = FORMS[form]
    sets = [set(row) for row in labels_of(true)], [set(row) for row in labels_of(pred)]
    for weights in (None, FACTORS):
        expected = bytes_by_loops(weights is not None)
        for use in ("all", "truth", "prediction", "mask"):
            ev = se.Evaluator(labels=NAMES)
            ev.update_many(
                make(true) if use in ("all", "truth") else sets[0],
                make(pred) if use in ("all", "prediction") else sets[1],
                mask=make(mask) if use in ("all", "mask") else labels_of(mask),
                weights=weights,
            )
            assert ev.to_bytes() == expected, use


@with_each("form", FRAMES | LISTS)
def test_forms_with_names_need_no_declared_labels(form: str):
    true, pred = drawn(5), drawn(6)
    make = FORMS[form]
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update_many(make(true), make(pred))
    for row in range(len(true)):  # a list of labels does not mention the labels that it leaves out
        input_rows = [
            mappings(bits[row : row + 1]) if form in FRAMES else labels_of(bits[row : row + 1]) for bits in (true, pred)
        ]
        reference.update(*(input_row[0] for input_row in input_rows))
    assert ev.to_bytes() == reference.to_bytes()
    assert ev.get() == by_loops(true, pred).get()


MIXED = [form for form in FORMS if "shuffled" not in form]  # arrays together with shuffled frames are refused


@CHECK
@given(st.sampled_from(MIXED), st.sampled_from(MIXED), st.sampled_from(MIXED), st.integers(0, 9))
def test_any_three_forms_go_together(form_true: str, form_pred: str, form_mask: str, seed: int):
    true, pred, mask = drawn(seed), drawn(seed + 1), drawn(seed + 2)
    ev = se.Evaluator(labels=NAMES, unknown="add")
    ev.update_many(FORMS[form_true](true), FORMS[form_pred](pred), mask=FORMS[form_mask](mask))
    assert ev.to_bytes() == by_loops(true, pred, mask, labels=NAMES, unknown="add").to_bytes()


def test_lists_of_equal_length_are_no_matrix_if_their_type_is_a_list_type() -> None:
    labels = [[0], [1], [1]]
    expected, got = se.Evaluator(), se.Evaluator()
    expected.update_many(labels, labels[::-1])
    got.update_many(LikeAwkward(labels), LikeAwkward(labels[::-1]))
    assert got.to_bytes() == expected.to_bytes()


@with_each("form", MATRICES)
def test_labels_of_nameless_columns_are_their_positions(form: str):
    true, pred = drawn(7), drawn(8)
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update_many(MATRICES[form](true), MATRICES[form](pred))
    for a, b in zip(true, pred, strict=True):
        reference.update(dict(enumerate(a)), dict(enumerate(b)))
    assert ev.labels == (0, 1, 2, 3, 4)
    assert ev.to_bytes() == reference.to_bytes()


@with_each("form", MATRICES)
def test_a_matrix_takes_its_names_from_a_frame_on_the_other_side(form: str):
    true, pred = drawn(9), drawn(10)
    for y_true, y_pred in ((frame(true), MATRICES[form](pred)), (MATRICES[form](true), frame(pred))):
        if isinstance(y_true, list | Iterator) or isinstance(y_pred, list | Iterator) or "array of rows" in form:
            continue  # these forms are read row by row, not as a matrix
        ev = se.Evaluator()
        ev.update_many(y_true, y_pred)
        assert ev.to_bytes() == by_loops(true, pred).to_bytes()
        ev = se.Evaluator(labels=NAMES[::-1])
        with pytest.raises(se.InputError, match=r"and of labels= are in different orders; give y_.* a data frame too"):
            ev.update_many(y_true, y_pred)
        assert ev.to_bytes() == se.Evaluator(labels=NAMES[::-1]).to_bytes()


@with_each("labels", [None, NAMES])
def test_a_mask_without_names_is_refused_if_the_frames_have_different_orders(labels: Sequence[str] | None):
    shuffled = FORMS["pandas, columns shuffled"](drawn(9))
    ev = se.Evaluator(labels=labels)
    for y_true, y_pred in ((shuffled, frame(drawn(10))), (frame(drawn(10)), shuffled)):
        with pytest.raises(se.InputError, match=r"mask has no column names.* are in different orders"):
            ev.update_many(y_true, y_pred, mask=drawn(11))
    few = frame(drawn(10))[[NAMES[0], NAMES[1]]]  # narrower than the mask, which takes the order of the other
    ev.update_many(few, frame(drawn(9)), mask=drawn(11))
    assert ev.get() == by_loops(few.reindex(columns=NAMES, fill_value=0).to_numpy(), drawn(9), drawn(11)).get()


@with_each("row", [np.array([1, 0]), pd.Series([1, 0]), pd.DataFrame([[1, 0]])])
def test_string_labels_with_nameless_columns_are_refused_in_update_and_update_many(row: Any):
    rows = pd.DataFrame([row]) if isinstance(row, pd.Series) else np.atleast_2d(row) if row.ndim == 1 else row
    for call in (
        lambda ev: ev.update({"cat"}, row),
        lambda ev: ev.update(row, {"cat"}),
        lambda ev: ev.update_many([{"cat"}], rows),
        lambda ev: ev.update_many([{"cat"}], [row]),
        lambda ev: ev.update_many(rows, [{"cat"}]),
        lambda ev: ev.update_many([row], [{"cat"}]),
        lambda ev: [ev.update(row, row), ev.update({"cat"}, {"cat"})],
        lambda ev: [ev.update({"cat"}, {"cat"}), ev.update_many(rows, rows)],
    ):
        with pytest.raises(se.InputError, match="labels are strings"):
            call(se.Evaluator())


def test_frames_may_name_different_labels_in_different_orders():
    ev, reference = se.Evaluator(), se.Evaluator()
    true = pd.DataFrame({"b": [1, 0], "a": [1, 1]})
    pred = pl.DataFrame({"c": [1, 0], "b": [0, 1]})
    ev.update_many(true, pred)
    reference.update({"b": 1, "a": 1}, {"c": 1, "b": 0})
    reference.update({"b": 0, "a": 1}, {"c": 0, "b": 1})
    assert ev.labels == ("a", "b", "c")
    assert ev.to_bytes() == reference.to_bytes()


def test_a_frame_may_leave_out_declared_labels():
    ev, reference = se.Evaluator(labels=["a", "b", "c"]), se.Evaluator(labels=["a", "b", "c"])
    ev.update_many(pd.DataFrame({"c": [1, 0]}), pa.table({"b": [1, 1], "c": [1, 0]}))
    reference.update({"c"}, {"b", "c"})
    reference.update(set(), {"b"})
    assert ev.to_bytes() == reference.to_bytes()


# -- unknown truths ---------------------------------------------------------------------------------------------------


def with_nothing(bits: Bits, kind: Callable[[float], object] = int, nothing: object = None) -> list[list[object]]:
    return [[nothing if math.isnan(value) else kind(value) for value in row] for row in bits]


def arrow_nulls(bits: Bits, dtype: pa.DataType) -> pa.Table:
    rows = with_nothing(bits, bool if dtype == pa.bool_() else float if dtype == pa.float32() else int)
    return pa.table([pa.array(list(column), dtype) for column in zip(*rows, strict=True)], names=list(NAMES))


def pandas_nulls(bits: Bits, dtype: str) -> pd.DataFrame:
    return pd.DataFrame(with_nothing(bits), columns=list(NAMES), dtype=object).astype(dtype)


def csr_of_nan(bits: Bits) -> sp.csr_array:
    rows, columns = np.nonzero(np.nan_to_num(bits, nan=1.0))
    return sp.csr_array((bits[rows, columns], (rows, columns)), shape=bits.shape)


UNKNOWN_TRUTHS: dict[str, Callable[[Bits], object]] = {
    **{
        f"dtype {dtype}": lambda bits, dtype=dtype: bits.astype(dtype)
        for dtype in ("f2", "f4", "f8", "g", ">f4", ">f8")
    },
    "Fortran order": np.asfortranarray,
    "negative strides": lambda bits: np.ascontiguousarray(bits[::-1, ::-1])[::-1, ::-1],
    "objects with None": lambda bits: np.array(with_nothing(bits), object),
    "bool objects with None": lambda bits: np.array(with_nothing(bits, bool), object),
    "objects with NaN": lambda bits: np.array(with_nothing(bits, int, math.nan), object),
    "objects with NA": lambda bits: np.array(with_nothing(bits, int, pd.NA), object),
    "csr": csr_of_nan,
    "csc": lambda bits: csr_of_nan(bits).tocsc(),
    "coo": lambda bits: csr_of_nan(bits).tocoo(),
    "rows": list,
    "rows with None": lambda bits: [np.array(row, object) for row in with_nothing(bits)],
    "mappings with None": lambda bits: [dict(zip(NAMES, row, strict=True)) for row in with_nothing(bits)],
    "mappings with NaN": lambda bits: [dict(zip(NAMES, row.tolist(), strict=True)) for row in bits],
    "mappings with float16 NaN": lambda bits: [dict(zip(NAMES, row.astype("f2"), strict=True)) for row in bits],
    "mappings with NA": lambda bits: [dict(zip(NAMES, row, strict=True)) for row in with_nothing(bits, int, pd.NA)],
    "pandas": lambda bits: pd.DataFrame(bits, columns=list(NAMES)),
    **{f"pandas {dtype}": lambda bits, dtype=dtype: pandas_nulls(bits, dtype) for dtype in NULLABLE_DTYPES},
    "pandas of mixed types": lambda bits: pandas_nulls(bits, "Float64").astype({"cat": "boolean", "dog": "float32"}),
    "polars int": lambda bits: pl.DataFrame(with_nothing(bits), schema=dict.fromkeys(NAMES, pl.Int8), orient="row"),
    "polars bool": lambda bits: pl.DataFrame(
        with_nothing(bits, bool), schema=dict.fromkeys(NAMES, pl.Boolean), orient="row"
    ),
    "polars float": lambda bits: pl.DataFrame(
        with_nothing(bits, float), schema=dict.fromkeys(NAMES, pl.Float32), orient="row"
    ),
    "polars NaN": lambda bits: pl.DataFrame(bits, schema=list(NAMES), orient="row"),
    "arrow bool": lambda bits: arrow_nulls(bits, pa.bool_()),
    "arrow int": lambda bits: arrow_nulls(bits, pa.int64()),
    "arrow float": lambda bits: arrow_nulls(bits, pa.float32()),
    "arrow structs": lambda bits: arrow_nulls(bits, pa.int8()).to_struct_array(),
    "masked array": np.ma.masked_invalid,
    "masked array of objects": lambda bits: np.ma.masked_invalid(bits).astype(object),
    "lists of masked values": lambda bits: list(map(list, np.ma.masked_invalid(bits))),
    "mappings of masked values": lambda bits: [
        dict(zip(NAMES, row, strict=True)) for row in np.ma.masked_invalid(bits)
    ],
}


@pytest.mark.parametrize("form", UNKNOWN_TRUTHS)
def test_unknown_truths_are_masked_in_every_form(form: str):
    true, pred, mask = drawn(11, unknown=True), drawn(12), drawn(13)
    for input_mask in (None, mask):
        expected = by_loops(true, pred, input_mask, labels=NAMES).to_bytes()
        for y_pred in (pred, labels_of(pred)):
            ev = se.Evaluator(labels=NAMES)
            ev.update_many(UNKNOWN_TRUTHS[form](true), y_pred, mask=input_mask)
            assert ev.to_bytes() == expected


@pytest.mark.parametrize("kind", [bool, int, float])
def test_missing_values_in_categorical_columns_with_different_categories_are_missing(kind: type):
    frame = pd.DataFrame({"a": pd.Categorical([kind(1), None]), "b": pd.Categorical([kind(1), kind(0)])})
    ev, expected = se.Evaluator(), se.Evaluator()
    ev.update_many(frame, [{"a"}, {"b"}])
    expected.update_many([{"a": 1, "b": 1}, {"a": None, "b": 0}], [{"a"}, {"b"}])
    assert ev == expected
    for threshold in (None, 0.5):
        with pytest.raises(se.InputError, match=r"y_pred\[1\] is nan"):
            se.Evaluator(threshold=threshold).update_many([{"a"}, {"b"}], frame)


@pytest.mark.parametrize("form", ["pandas Int64", "pandas boolean", "mappings with NA"])
def test_a_single_example_with_na_is_masked(form: str):
    true, pred = drawn(11, unknown=True), drawn(12)
    ev = se.Evaluator(labels=NAMES)
    batch = UNKNOWN_TRUTHS[form](true)
    for row in range(len(true)):
        ev.update(batch.iloc[row] if isinstance(batch, pd.DataFrame) else batch[row], pred[row])
    assert ev.to_bytes() == by_loops(true, pred, labels=NAMES).to_bytes()


@with_each(
    "mask",
    [
        {"b"},
        frozenset({"b"}),
        ["b", "b"],
        ("b",),
        {"b": True},
        {"b": 1, "a": 0, "c": 0.0},
        {"b": np.True_, "a": np.False_},
        np.array([0, 1, 0]),
        np.array([False, True, False]),
        np.array([0.0, 1.0, 0.0], ">f4"),
        np.array([0, 1, False], object),
        np.array(["b"]),
        pd.Series({"b": True, "c": False}),
    ],
)
def test_every_form_of_a_mask_hides_the_same_cells(mask: object):
    expected = se.Evaluator(labels=["a", "b", "c"])
    expected.update({"a": 1, "b": None, "c": 0}, {"a"})
    for true, pred in (({"a", "b"}, {"a", "b"}), ({"a"}, {"a"}), ({"a": 1, "b": math.nan}, np.array([1, 1, 0]))):
        ev = se.Evaluator(labels=["a", "b", "c"])
        ev.update(true, pred, mask=mask)
        assert ev.to_bytes() == expected.to_bytes()
        many = se.Evaluator(labels=["a", "b", "c"])
        many.update_many([true], [pred], mask=[mask])
        assert many.to_bytes() == expected.to_bytes()


def test_masked_cells_are_counted_only_as_masked():
    ev = se.Evaluator()
    ev.update({"a", "b"}, {"b", "c"}, mask={"b", "d"})
    table = ev.per_label()
    assert table.labels == ("a", "b", "c", "d")
    assert [column.tolist() for column in (table.tp, table.fp, table.fn, table.tn)] == [
        [0, 0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]
    ]  # fmt: skip


# -- single examples --------------------------------------------------------------------------------------------------


SINGLE: dict[str, object] = {
    "set": {"a", "c"},
    "frozenset": frozenset("ac"),
    "list": ["c", "a", "c"],
    "tuple": ("a", "c"),
    "keys": {"a": 0, "c": 0}.keys(),
    "numpy strings": {np.str_("a"), np.str_("c")},
    "string array": np.array(["c", "a", "a"]),
    "object array": np.array(["c", "a"], object),
    "object array of numpy strings": np.array([np.str_("c"), np.str_("a")], object),
    "bool": {"a": True, "c": True},
    "bool with zeros": {"a": True, "b": False, "c": True},
    "int": {"c": 1, "a": 1, "b": 0},
    "float": {"a": 1.0, "b": -0.0, "c": 1.0},
    "numpy values": {"a": np.uint8(1), "b": np.float16(0), "c": np.True_},
    "mapping proxy": MappingProxyType({"a": 1, "c": 1}),
    "ordered": OrderedDict(c=True, b=False, a=True),
    "row of bool": np.array([True, False, True]),
    "row of int": np.array([1, 0, 1]),
    "row of float": np.array([1.0, 0.0, 1.0], ">f4"),
    "row of objects": np.array([1, False, 1.0], object),
    "reversed row": np.array([1, 0, 1])[::-1],
    "pandas": pd.Series({"a": 1, "b": 0, "c": 1}),
    "pandas boolean": pd.Series({"a": True, "c": True}, dtype="boolean"),
    "record": np.array((1, 0, True), [("a", int), ("b", float), ("c", bool)])[()],
    "polars": pl.Series([True, False, True]),
    "arrow": pa.array([True, False, True]),
}


@with_each("form", SINGLE)
def test_every_form_of_one_example_gives_the_same_bytes(form: str):
    expected = se.Evaluator(labels=["a", "b", "c"])
    expected.update({"a", "c"}, {"a"})
    expected.update({"a"}, {"a", "c"})
    for verb in ("update", "update_many"):
        ev = se.Evaluator(labels=["a", "b", "c"])
        for true, pred in ((SINGLE[form], {"a"}), ({"a"}, SINGLE[form])):
            if verb == "update":
                ev.update(true, pred)
            else:
                ev.update_many([true], [pred])
        assert ev.to_bytes() == expected.to_bytes()
        ev.revert(SINGLE[form], {"a": True, "b": False, "c": False})
        ev.revert(np.array([1, 0, 0]), SINGLE[form])
        assert ev == se.Evaluator(labels=["a", "b", "c"])


@pytest.mark.parametrize(
    "empty",
    [set(), frozenset(), [], (), {}, {"a": False}, np.zeros(2), np.array([], object), np.array([], "U1")],
    ids=repr,
)
def test_an_example_without_labels_is_an_example(empty: object):
    ev, reference = se.Evaluator(labels=["a", "b"]), se.Evaluator(labels=["a", "b"])
    ev.update(empty, empty)
    ev.update_many([empty], [empty])
    reference.update_many([set(), set()], [set(), set()])
    assert ev.examples == 2
    assert ev.to_bytes() == reference.to_bytes()


@pytest.mark.parametrize("kind", [object, "U3"])
def test_arrays_of_labels_are_read_as_lists_even_if_some_are_empty(kind: object):
    rows, rest = [["a", "b"], [], ["c"], ["a"]], [["a"], ["b"], [], ["c", "a"]]
    expected = se.Evaluator()
    expected.update_many(rows, rest)
    true, pred = ([np.array(row, kind) for row in side] for side in (rows, rest))
    column = np.empty(4, object)
    column[:] = true
    for form in (true, iter(true), column, pd.Series(true)):
        ev = se.Evaluator()
        ev.update_many(form, pred)
        assert ev.to_bytes() == expected.to_bytes()
    for row, other in zip(true, pred, strict=True):
        ev.revert(row, other)
    assert ev == se.Evaluator()


def test_no_examples_at_all_change_nothing():
    nothing = [
        [], (), iter(()), np.zeros((0, 2)), sp.csr_array((0, 2)), pd.DataFrame({"a": [], "b": []}), pa.array([]),
        pl.Series([], dtype=pl.List(pl.String)), pa.chunked_array([], pa.list_(pa.string())),
        pa.array([], pa.list_(pa.string())), pa.array([["a"]])[:0], pd.Series([], dtype=object),
    ]  # fmt: skip
    for without_input in nothing:
        ev = se.Evaluator(labels=["a", "b"])
        ev.update_many(without_input, [], weights=[])
        ev.update_many([], without_input, mask=[])
        assert ev == se.Evaluator(labels=["a", "b"])


def test_a_label_predicted_but_never_true_is_a_false_positive():
    for ev in (se.Evaluator(), se.Evaluator(labels=["a", "b"]), se.Evaluator(labels=["a"], unknown="add")):
        for true, pred in (([{"a"}], [{"a", "b"}]), (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1], "b": [1]}))):
            ev.reset()
            ev.update_many(true, pred)
            assert ev.per_label().to_dict()["fp"] == [0, 1]
            assert ev.get("precision_micro") == 0.5


# -- labels -----------------------------------------------------------------------------------------------------------


class Tag(str, Enum):  # noqa: UP042
    A = "a"
    B = "b"


class Number(IntEnum):
    ONE = 1
    TWO = 2


class Shouting(str):
    """A string with a hash and an equality of its own."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return self is other


@pytest.mark.parametrize(("input_label", "label"), [
    (Tag.A, "a"), (Number.TWO, 2), (np.str_("a"), "a"), (np.int8(-5), -5), (np.uint64(2**64 - 1), 2**64 - 1),
    (2**100, 2**100), (Shouting("a"), "a"), (pa.scalar("a"), "a"), (pa.scalar(2, "int8"), 2),
])  # fmt: skip
def test_labels_of_subclasses_are_the_plain_labels(input_label: object, label: str | int):
    expected = se.Evaluator()
    expected.update({label}, {label})
    pairs = [
        ({input_label}, {label}), ([label], (input_label,)), ({input_label: True}, {label: True}),
        ({label: True}, {input_label: True}), ({input_label: 1}, {input_label}), ({input_label, label}, {label}),
        ({input_label: True, label: True}, {label: True}), ({label: True}, {label: True, input_label: True}),
    ]  # fmt: skip
    for warm in (False, True):
        for true, pred in pairs:
            ev, many = se.Evaluator(), se.Evaluator()
            if warm:
                ev.update({label: True}, {label: True})
                ev.update(true, pred)
                ev.revert({label: True}, {label: True})
            else:
                ev.update(true, pred)
            many.update_many([true], [pred])
            assert all(type(result) in (str, int) for result in ev.labels)
            assert ev.to_bytes() == many.to_bytes() == expected.to_bytes()
    for declared in ([input_label], (label,)):
        assert se.Evaluator(labels=declared).labels == (label,)
        assert type(se.Evaluator(labels=declared).labels[0]) in (str, int)


class Folded(str):
    """A string whose hash and equality ignore case."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.lower())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()


def test_the_plain_label_of_a_str_subclass_does_not_depend_on_earlier_examples():
    met, fresh = se.Evaluator(), se.Evaluator()
    for _ in range(3):
        met.update({"a": True}, {"a": True})
    for ev in (met, fresh):
        ev.update({Folded("A"): True}, {Folded("A"): True})
    for _ in range(3):
        met.revert({"a": True}, {"a": True})
    assert met.labels == fresh.labels == ("A",)
    assert met.to_bytes() == fresh.to_bytes()


class One:
    """An object that is no integer, but converts to 1 by ``__index__``."""

    def __index__(self) -> int:
        return 1


def test_an_object_with_index_is_read_alike_in_every_kind_of_mapping():
    def outcome(true: dict, pred: dict) -> bytes | str:
        ev = se.Evaluator()
        for _ in range(3):
            ev.update({"a": True}, {"a": True})
        try:
            ev.update(true, pred)
        except se.InputError:
            return "refused"
        return ev.to_bytes()

    expected = outcome(MappingProxyType({"a": One()}), {"a": True})
    assert outcome({"a": One()}, {"a": True}) == expected
    assert outcome({"a": True}, {"a": One()}) == expected


def test_labels_that_look_alike_are_different_labels():
    alike = [
        "1",
        1,
        "a",
        "A",
        "é",
        "e\u0301",
        "",
        " ",
        "\x00",
        "\x00\x00",
        "a\x00",
        "\ufeff",
        "\U0001f642",
        -1,
        2**64,
        0,
        "0",
    ]
    ev = se.Evaluator()
    for label in alike:
        ev.update({label}, [label])
    ev.update_many([alike], [tuple(alike)])
    assert len(ev.labels) == len(alike) == len(set(ev.labels))
    assert ev.per_label().tp.tolist() == [2] * len(alike)
    assert se.Evaluator.from_bytes(ev.to_bytes()).labels == ev.labels


def test_dicts_with_the_same_labels_are_each_read_correctly():
    ev, reference = se.Evaluator(), se.Evaluator()
    drawn_bits = np.random.default_rng(14).integers(0, 2, (2, 200, 3)).tolist()
    for step, (true, pred) in enumerate(zip(*drawn_bits, strict=True)):
        names = ["a", "b", "c"] if step % 3 else ["a", "b", f"c{step % 5}"]
        y_true, y_pred = dict(zip(names, true, strict=True)), dict(zip(names[::-1], pred[::-1], strict=True))
        ev.update(y_true, y_pred)
        if step % 7 == 0:
            with pytest.raises(se.LabelError):
                ev.update({"a": True, f"new{step}": True}, {None: True})
            with pytest.raises(se.RevertError):
                ev.revert({"a": True, f"other{step}": True}, {"a": True, f"other{step}": True})
        reference.update(MappingProxyType(y_true), MappingProxyType(y_pred))
    assert ev.to_bytes() == reference.to_bytes()


def test_declared_labels_retain_their_order_and_new_labels_are_sorted():
    ev = se.Evaluator(labels=["z", 3, "a"], unknown="add")
    ev.update({"b", 10, "B"}, {-1, "z"})
    assert ev.labels == ("z", 3, "a", -1, 10, "B", "b")


UNKNOWN_FORMS: dict[str, Callable[[list[str]], object]] = {
    "sets": lambda names: [set(names)],
    "lists": lambda names: [names],
    "mappings": lambda names: [dict.fromkeys(names, True)],
    "numpy mappings": lambda names: [dict.fromkeys(names, np.True_)],
    "frame": lambda names: pd.DataFrame([[1] * len(names)], columns=names),
    "polars": lambda names: pl.DataFrame([[1] * len(names)], schema=names, orient="row"),
    "arrow table": lambda names: pa.table({name: [True] for name in names}),
    "arrow lists": lambda names: pa.array([names]),
    "polars lists": lambda names: pl.Series([names]),
    "pandas lists": lambda names: pd.Series([names]),
    "generator": lambda names: (part for part in [set(names)]),
}


@with_each("form", UNKNOWN_FORMS)
@with_each("threshold", [None, 0.5])
def test_unknown_labels_are_refused_dropped_or_added_in_every_form(form: str, threshold: float | None):
    make = UNKNOWN_FORMS[form]
    refusing = se.Evaluator(labels=["a", "b"], threshold=threshold)
    before = refusing.to_bytes()
    with pytest.raises(se.LabelError, match="not among the 2 declared labels"):
        refusing.update_many(make(["a", "x"]), make(["b"]))
    with pytest.raises(se.LabelError, match="not among the 2 declared labels"):
        refusing.update_many(make(["a"]), make(["b", "x"]))
    with pytest.raises(se.LabelError, match="not among the 2 declared labels"):
        refusing.update_many(make(["a"]), make(["b"]), mask=make(["x"]))
    assert refusing.to_bytes() == before

    ignoring = se.Evaluator(labels=["a", "b"], unknown="ignore", threshold=threshold)
    ignoring.update_many(make(["a", "x"]), make(["y", "b"]), mask=make(["z", "b"]))
    expected = se.Evaluator(labels=["a", "b"], unknown="ignore", threshold=threshold)
    expected.update({"a"}, {"b"}, mask={"b"})
    assert ignoring.to_bytes() == expected.to_bytes()
    ignoring.update_many(make(["x"]), make(["y"]))
    expected.update(set(), set())
    assert ignoring.to_bytes() == expected.to_bytes()

    adding = se.Evaluator(labels=["a", "b"], unknown="add", threshold=threshold)
    adding.update_many(make(["a", "x"]), make(["y", "b"]), mask=make(["z", "b"]))
    expected = se.Evaluator(labels=["a", "b"], unknown="add", threshold=threshold)
    expected.update({"a", "x"}, {"y", "b"}, mask={"z", "b"})
    assert adding.labels == ("a", "b", "x", "y", "z")
    assert adding.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("form", ["csr", "array", "frame", "mappings"])
def test_scores_of_ignored_labels_are_dropped_at_any_threshold(form: str):
    scores = np.array([[0.9, -3.0, 0.1], [0.0, 5.0, 0.7]])
    for threshold in (0.5, 0.0, -1.0, {"a": 0.5, "c": -1.0}):
        ev, reference = (se.Evaluator(labels=["c", "a"], unknown="ignore", threshold=threshold) for _ in range(2))
        names = pd.DataFrame(np.eye(3)[:2], columns=["a", "x", "c"])
        made = {
            "csr": sp.csr_array, "array": np.asarray, "frame": lambda s: pd.DataFrame(s, columns=["a", "x", "c"]),
            "mappings": lambda s: [dict(zip(["a", "x", "c"], row, strict=True)) for row in s.tolist()],
        }[form](scores)  # fmt: skip
        ev.update_many(names, made)
        limits = threshold if isinstance(threshold, dict) else {"a": threshold, "c": threshold}
        for true, row in zip([{"a"}, set()], scores, strict=True):
            reference.update(true, {name: bool(row[i] >= limits[name]) for name, i in (("a", 0), ("c", 2))})
        assert ev.to_bytes() == reference.to_bytes()


# -- thresholds -------------------------------------------------------------------------------------------------------


SCORES: dict[str, Callable[[Bits], object]] = {
    "array": np.asarray,
    "Fortran array": np.asfortranarray,
    "big-endian array": lambda scores: scores.astype(">f8"),
    "objects": lambda scores: scores.astype(object),
    "csr": sp.csr_array,
    "csr with unaligned indices": with_unaligned_indices,
    "csr with stored zeros": with_stored_zeros,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "rows": list,
    "pandas": lambda scores: pd.DataFrame(scores, columns=list(NAMES)),
    "pandas Float64": lambda scores: pd.DataFrame(scores, columns=list(NAMES)).astype("Float64"),
    "polars": lambda scores: pl.DataFrame(scores, schema=list(NAMES), orient="row"),
    "arrow": lambda scores: pa.table(dict(zip(NAMES, scores.T, strict=True))),
    "mappings": lambda scores: [dict(zip(NAMES, row.tolist(), strict=True)) for row in scores],
    "numpy mappings": lambda scores: [dict(zip(NAMES, row, strict=True)) for row in scores],
    "series": lambda scores: [pd.Series(row, index=list(NAMES)) for row in scores],
}


@pytest.mark.parametrize("form", SCORES)
@with_each(
    "threshold",
    [
        0.5,
        0.7,
        0.0,
        -0.0,
        -1.0,
        1,
        math.inf,
        -math.inf,
        [0.5, 0.0, -1.0, 2.0, 0.7],
        np.array([0.1, 0.2, 0.3, -0.5, 0.0]),
        dict(zip(NAMES, (0.5, 0.0, -2.0, 1e300, 0.25), strict=True)),
    ],
)
def test_scores_at_or_above_the_threshold_are_predictions_in_every_form(form: str, threshold: object):
    source = np.random.default_rng(15)
    scores = source.choice([0.0, 0.5, 0.7, -1.0, 0.2, math.nextafter(0.7, 0), 1.0, -0.0, -2.0, 1e308], (31, 5))
    scores[source.random(scores.shape) < 0.3] = 0.0
    true = drawn(16, examples=31)
    if isinstance(threshold, dict):
        limits = np.array([threshold[name] for name in NAMES])
    else:
        limits = np.broadcast_to(np.asarray(threshold, float), 5)
    ev = se.Evaluator(labels=NAMES, threshold=threshold)
    ev.update_many(true, SCORES[form](scores))
    assert ev.to_bytes() == by_loops(true, scores >= limits, labels=NAMES, threshold=threshold).to_bytes()


def as_number(value: object) -> Fraction:
    return Fraction(*value.as_integer_ratio()) if isinstance(value, np.floating) else Fraction(int(value))


EXACT: dict[str, Callable[[np.ndarray], object]] = {
    "array": lambda row: row[None],
    "transposed": lambda row: np.asfortranarray(np.stack([row, row]))[:1],
    "big-endian": lambda row: row[None].astype(row.dtype.newbyteorder(">")),
    "csr": lambda row: with_stored_zeros(row[None]),
    "row": lambda row: [row],
    "rows of objects": lambda row: [row.astype(object)],
    "numpy mapping": lambda row: [dict(enumerate(row))],
    "python mapping": lambda row: [dict(enumerate(row.tolist()))],
    "series": lambda row: [pd.Series(row)],
    "pandas": lambda row: pd.DataFrame(row[None]),
    "objects": lambda row: row[None].astype(object),
}


@pytest.mark.parametrize("form", EXACT)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, np.uint64])
def test_scores_and_thresholds_are_compared_as_real_numbers(form: str, dtype: type):
    make = EXACT[form]

    def near(value: float) -> list[object]:
        if np.dtype(dtype).kind == "f":
            if not abs(value) <= np.finfo(dtype).max:
                return []
            middle = dtype(value)
            around = [middle, np.nextafter(middle, dtype(-math.inf)), np.nextafter(middle, dtype(math.inf))]
            return [number for number in around if np.isfinite(number)]
        bounds = np.iinfo(dtype)
        return [dtype(n) for n in (math.floor(value) + step for step in range(-3, 4)) if bounds.min <= n <= bounds.max]

    @settings(max_examples=cases(40))
    @given(
        st.sampled_from(
            [0.7, 0.1, 1 / 3, -0.7, 0.5, 0.0, 5e-324, 2.0**53, 2.0**53 + 4, 2.0**63, 2.0**63 + 2048, -(2.0**62)]
        )
        | st.floats(allow_nan=False, allow_infinity=False),
        st.lists(st.floats(allow_nan=False, allow_infinity=False, width=16), max_size=3),
    )
    def check(threshold: float, rest: list[float]):
        with np.errstate(all="ignore"):
            values = near(threshold) + [score for value in rest for score in near(value)][:4]
        if not values:
            return
        row = np.array(values, dtype)
        ev = se.Evaluator(labels=range(len(row)), threshold=threshold)
        ev.update_many([set()], make(row))
        expected = [int(as_number(value) >= Fraction(threshold)) for value in values]
        assert ev.per_label().fp.tolist() == expected, (threshold, values)

    check()


@with_each("form", ["array", "row", "mapping", "arrow", "pandas"])
@pytest.mark.parametrize(
    ("scores", "threshold"),
    [
        ([2**53 + 3, 0], 2.0**53 + 4),
        ([2**53 + 3, 0.5], 2.0**53 + 4),
        ([2**63 + 1025, -1], 2.0**63 + 2048),
        ([2**64 - 1, -(2**63)], 2.0**64),
        ([2**70 + 1, 2**70], 2.0**70),
        ([2**70 - 1, 2**70], 2.0**70),
        ([10**400, -(10**400)], 1e308),
        ([10**400, 0.5], 1e308),
        ([True, 2**53 + 3], 2.0**53 + 4),
    ],
    ids=["ints", "int and float", "uint64 and int64", "widest", "wide", "just below", "huge", "huge and float", "bool"],
)
def test_integer_scores_of_any_size_are_compared_exactly(form: str, scores: list[object], threshold: float):
    ev = se.Evaluator(labels=["a", "b"], threshold=threshold)
    if form == "arrow":
        try:
            table = pa.table({"a": pa.array([scores[0]]), "b": pa.array([scores[1]])})
        except (OverflowError, pa.ArrowInvalid):
            return
    kind = object if max(scores) > 2**1024 else None  # pandas cannot choose a type for larger integers
    input_scores = {
        "array": lambda: np.array([scores], object),
        "row": lambda: [np.array(scores, object)],
        "mapping": lambda: [dict(zip("ab", scores, strict=True))],
        "arrow": lambda: table,
        "pandas": lambda: pd.DataFrame({"a": [scores[0]], "b": [scores[1]]}, dtype=kind),
    }[form]()
    ev.update_many([set()], input_scores)
    expected = [score if isinstance(score, bool) else Fraction(score) >= Fraction(threshold) for score in scores]
    assert ev.per_label().fp.tolist() == list(map(int, expected))


@pytest.mark.parametrize("score", [np.nextafter(np.longdouble(0.7), np.longdouble(0)), np.finfo(np.longdouble).max])
def test_long_double_scores_are_compared_exactly(score: np.longdouble):
    expected = int(Fraction(*score.as_integer_ratio()) >= Fraction(0.7))
    for input_score in (np.array([[score]]), [np.array([score])], [{0: score}]):
        ev = se.Evaluator(threshold=0.7)
        ev.update_many([set()], input_score)
        assert ev.per_label().fp.tolist() == [expected]


@pytest.mark.parametrize("form", ["array", "row", "mapping", "frame"])
def test_true_is_a_decision_with_scores_in_every_form(form: str):
    for threshold in (1.5, 0.0, -1.0):
        ev = se.Evaluator(labels=["a", "b", "c"], threshold=threshold)
        values = [True, False, 0.7]
        ev.update_many(
            [set()],
            {
                "array": np.array([values], object),
                "row": [np.array(values, object)],
                "mapping": [dict(zip("abc", values, strict=True))],
                "frame": pd.DataFrame([values], columns=list("abc")).astype({"a": bool, "b": bool}),
            }[form],
        )
        assert ev.per_label().fp.tolist() == [1, 0, int(threshold <= 0.7)]


DECISIONS: dict[str, Callable[[], object]] = {
    "sets": lambda: [{"a"}],
    "lists": lambda: [["a"]],
    "arrow lists": lambda: pa.array([["a"]]),
    "array": lambda: np.array([[True, False]]),
    "objects": lambda: np.array([[True, False]], object),
    "row": lambda: [np.array([True, False])],
    "pandas": lambda: pd.DataFrame({"a": [True], "b": [False]}),
    "pandas boolean": lambda: pd.DataFrame({"a": [True], "b": [False]}, dtype="boolean"),
    "polars": lambda: pl.DataFrame({"a": [True], "b": [False]}),
    "arrow table": lambda: pa.table({"a": [True], "b": [False]}),
    "mappings": lambda: [{"a": True, "b": False}],
    "mapping of numpy values": lambda: [{"a": np.True_}],
    "csr": lambda: sp.csr_array([[True, False]]),
}


@with_each("form", DECISIONS)
def test_collections_and_booleans_are_decisions_even_if_numbers_are_scores(form: str):
    for threshold in (0.5, 2.0, 0.0, -1.0, {"a": 2.0, "b": -1.0}):
        ev = se.Evaluator(labels=["a", "b"], threshold=threshold)
        ev.update_many([{"b"}], DECISIONS[form]())
        assert ev.per_label().fp.tolist() == [1, 0]
        assert ev.per_label().fn.tolist() == [0, 1]


def test_truths_and_masks_are_never_compared_with_the_threshold():
    ev, reference = (se.Evaluator(labels=["a", "b"], threshold=1.5) for _ in range(2))
    ev.update_many(np.array([[1, 0], [1.0, math.nan]]), np.array([[1.5, 3], [0, 1.0]]), mask=np.array([[0, 1], [0, 0]]))
    reference.update({"a"}, {"a", "b"}, mask={"b"})
    reference.update({"a": 1, "b": None}, set())
    assert ev.to_bytes() == reference.to_bytes()


def test_a_threshold_mapping_applies_to_undeclared_labels():
    limits = {"a": 0.5, "b": 0.9, 3: -1.0}
    ev = se.Evaluator(threshold=limits)
    ev.update({"a"}, {"a": 0.5, "b": 0.8, 3: -0.5})
    ev.update_many([{"b"}], pd.DataFrame({"a": [0.4], "b": [0.9], 3: [-2.0]}))
    assert ev.labels == (3, "a", "b")
    assert ev.per_label().tp.tolist() == [0, 1, 1]
    assert ev.per_label().fp.tolist() == [1, 0, 0]


def test_thresholds_for_many_labels_are_equal_from_arrays_mappings_and_bytes():
    labels = [f"label {number}" for number in range(20_000)]  # a linear search for each label would take minutes
    limits = np.linspace(0.0, 1.0, 20_000)
    ev = se.Evaluator([], labels=labels, threshold=limits)
    assert ev == se.Evaluator([], labels=labels, threshold=dict(zip(labels, limits.tolist(), strict=True)))
    assert se.Evaluator.from_bytes(ev.to_bytes()) == ev


class Scalar:
    """Has the interface of a tensor without dimensions."""

    ndim = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def item(self) -> float:
        return self.value


class Eager:
    """Has the interface of such a tensor of TensorFlow, which has no `item`."""

    ndim = 0

    def __init__(self, value: float) -> None:
        self.value = value

    def numpy(self) -> np.float32:
        return np.float32(self.value)


def test_tensors_of_tensorflow_are_scores_and_decisions():
    ev = se.Evaluator(["f1_micro", "mrr"], threshold=0.5)
    ev.update({"a": Eager(1), "b": Eager(0)}, {"a": Eager(0.5), "b": Eager(0.25)})
    assert ev.get() == {"f1_micro": 1.0, "mrr": 1.0}


@with_each(
    "threshold",
    [
        pd.Series({"c": 0.3, "b": 0.2, "a": 0.1}),
        pd.Series([0.2, 0.1, 0.3]),
        pd.Series([0.2, 0.1, 0.3], index=["b", "a", "c"]),
        [Scalar(0.2), Scalar(0.1), Scalar(0.3)],
        {"a": Scalar(0.1), "b": Scalar(0.2), "c": Scalar(0.3)},
    ],
)
def test_thresholds_as_objects_of_other_libraries_apply_to_their_labels(threshold: object):
    ev, expected = (
        se.Evaluator(labels=["b", "a", "c"], threshold=bound, keep=["curves"])
        for bound in (threshold, {"a": 0.1, "b": 0.2, "c": 0.3})
    )
    assert ev == expected
    ev.update_many(np.eye(3), np.eye(3) / 4)
    assert ev.decisions_at(threshold).thresholds.tolist() == [0.2, 0.1, 0.3]
    assert se.Evaluator(threshold=Scalar(0.1)) == se.Evaluator(threshold=0.1)
    assert se.Evaluator(threshold=Decimal("0.50")) == se.Evaluator(threshold=0.5)
    assert set(ev.decisions_at(Scalar(0.1)).thresholds.tolist()) == {0.1}


def test_a_threshold_is_retained_exactly_or_refused():
    for threshold in (2**53 + 1, Fraction(1, 3), Decimal("0.7"), np.longdouble(1) / 3):
        try:
            ev = se.Evaluator(threshold=threshold)
        except se.InputError:
            continue
        ev.update(set(), {"a": float(threshold)})
        exact = as_number(threshold) if isinstance(threshold, np.longdouble) else Fraction(threshold)
        assert ev.per_label().fp.tolist() == [int(Fraction(float(threshold)) >= exact)], threshold


# -- weights ----------------------------------------------------------------------------------------------------------


@with_each(
    "weights",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3]),
        np.array([1, 2, 3], np.uint8),
        np.array([1, 2, 3], ">f4"),
        np.array([1, 2, 3], np.float16),
        np.array([3, 2, 1])[::-1],
        np.array([1, 0, 2, 0, 3])[::2],
        pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        pa.array([1.0, 2.0, 3.0]),
        [np.float32(1), 2, 3.0],
        np.array([np.float32(1), 2, 3.0], object),
        pd.Series([1, 2, 3.0], dtype=object),
    ],
)
def test_weights_may_be_any_vector_of_numbers(weights: object):
    ev, reference = se.Evaluator(), se.Evaluator()
    sides = [{"a"}, {"b"}, {"a", "b"}], [{"a"}, {"a"}, {"b"}]
    ev.update_many(*sides, weights=weights)
    for true, pred, weight in zip(*sides, (1, 2, 3), strict=True):
        reference.update(true, pred, weight=weight)
    assert ev.to_bytes() == reference.to_bytes()


def test_integer_weights_that_equal_a_float_are_accepted_by_update_and_update_many():
    for weight in (2**53, 2**64, 2**100, 10**22):
        one, many = se.Evaluator(), se.Evaluator()
        one.update({"a"}, {"a"}, weight=weight)
        many.update_many([{"a"}], [{"a"}], weights=[weight])
        assert one.to_bytes() == many.to_bytes()


def test_weights_of_one_give_the_same_state_as_no_weights():
    ev, reference = se.Evaluator(), se.Evaluator()
    ev.update({"a"}, {"b"}, weight=1)
    ev.update_many([{"a"}, {"b"}], [{"b"}, {"b"}], weights=[1.0, 1.0])
    ev.update({"a"}, {"a"}, weight=0.25)
    ev.revert({"a"}, {"a"}, weight=0.25)
    reference.update_many([{"a"}, {"a"}, {"b"}], [{"b"}] * 3)
    assert ev.to_bytes() == reference.to_bytes()
    assert ev.per_label().tp.dtype == np.int64


# -- many examples, many labels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("examples", "width"), [(70_000, 3), (300, 3000), (2, 30_000), (600, 1)])
def test_forms_agree_for_batches_longer_than_internal_pieces(examples: int, width: int):
    source = np.random.default_rng(17)
    density = min(0.5, 5 / width)
    true, pred, hidden = (source.random((examples, width)) < density for _ in range(3))
    factors = source.choice([0.1, 1.0, 1e300, 1e-300], examples)
    lists = [[np.flatnonzero(row).tolist() for row in bits] for bits in (true, pred, hidden)]
    made = []
    for y_true, y_pred, mask in (
        (true, pred, hidden),
        (sp.csr_array(true), sp.csr_array(pred), sp.csr_array(hidden)),
        (iter(lists[0]), lists[1], pa.array(lists[2], pa.list_(pa.int64()))),
        (true.astype(np.float32), pa.array(lists[1], pa.list_(pa.int32())), iter(lists[2])),
    ):
        ev = se.Evaluator(labels=range(width))
        ev.update_many(y_true, y_pred, mask=mask, weights=factors)
        made.append(ev.to_bytes())
    assert made[1:] == made[:-1]


@pytest.mark.parametrize("odd", [np.array(["cat"]), {np.str_("cat")}], ids=["array", "set"])
@pytest.mark.parametrize("at", [499, 500, 1200])
def test_an_example_of_another_form_in_a_long_list_is_counted_like_one_by_one(at: int, odd: object):
    y_true, y_pred = [["cat", "dog"], {"bird"}] * 700, [{"cat"}, ["bird", "dog"]] * 700
    y_true[at] = odd
    ev, one_by_one = se.Evaluator(), se.Evaluator()
    ev.update_many(y_true, y_pred)
    for true, pred in zip(y_true, y_pred, strict=True):
        one_by_one.update(true, pred)
    assert ev.to_bytes() == one_by_one.to_bytes()


def framed(array: np.ndarray, before: tuple[int, int], step: tuple[int, int]) -> np.ndarray:
    """The same values as a view into a larger array of ones."""
    height, width = (start + size * by for start, size, by in zip(before, array.shape, step, strict=True))
    outer = np.ones((height + 1, width + 1), array.dtype)
    inner = outer[before[0] :: step[0], before[1] :: step[1]][: array.shape[0], : array.shape[1]]
    inner[...] = array
    return inner


def unaligned(array: np.ndarray) -> np.ndarray:
    """The same values at an address that is one byte off alignment."""
    raw = np.zeros(array.nbytes + 1, np.uint8)
    inner = np.frombuffer(raw.data, array.dtype, array.size, 1).reshape(array.shape)
    inner[...] = array
    return inner


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "rows backwards": lambda array: np.ascontiguousarray(array[::-1])[::-1],
    "columns backwards": lambda array: np.ascontiguousarray(array[:, ::-1])[:, ::-1],
    "within another": lambda array: framed(array, (2, 3), (1, 1)),
    "every other": lambda array: framed(array, (1, 2), (2, 3)),
    "unaligned": unaligned,
}


@settings(max_examples=cases(300))
@given(
    st.sampled_from([0, 1, 2, 3, 254, 255, 256, 257]),
    st.sampled_from([0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130]),
    st.lists(st.sampled_from(list(LAYOUTS)), min_size=3, max_size=3),
    st.lists(st.sampled_from(["?", "u1", "i1", "i4", "u8", "f2", "f4", "f8"]), min_size=3, max_size=3),
    st.none() | st.tuples(st.sampled_from([0.5, 0.7, 0.0, -1.0, 2.0]), st.sampled_from(["f2", "f4", "f8"])),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.integers(0, 2**32 - 1),
)
@example(9, 14, ["unaligned"] * 3, ["u1"] * 3, (0.5, "f8"), (False, False, False), 0)
@example(9, 14, ["unaligned"] * 3, ["f4", "u8", "f2"], (0.5, "f4"), (True, True, True), 0)
def test_the_layout_of_an_array_in_memory_does_not_matter(
    examples: int,
    width: int,
    layouts: list[str],
    dtypes: list[str],
    scored: tuple[float, str] | None,
    extras: tuple[bool, bool, bool],
    seed: int,
):
    source = np.random.default_rng(seed)
    masked, partly, weighted = extras
    true, pred, mask = source.integers(0, 2, (3, examples, width))
    hidden = mask if masked else np.zeros_like(mask)
    y_true, y_pred = true.astype(dtypes[0]), pred.astype(dtypes[1])
    if scored is not None:
        y_pred = np.where(pred, scored[0] + 0.25, scored[0] - 0.25).astype(scored[1])
    if partly and y_true.dtype.kind == "f":
        unknown = source.random(true.shape) < 0.2
        y_true[unknown] = math.nan
        hidden = hidden | unknown
    weights = source.choice([0.1, 1.0, 1e300], examples) if weighted else None
    ev, reference = (se.Evaluator([], labels=range(width), threshold=scored and scored[0]) for _ in range(2))
    ev.update_many(
        LAYOUTS[layouts[0]](y_true),
        LAYOUTS[layouts[1]](y_pred),
        mask=LAYOUTS[layouts[2]](mask.astype(dtypes[2])) if masked else None,
        weights=weights,
    )
    lists = [[np.flatnonzero(row).tolist() for row in bits] for bits in (true, pred, hidden)]
    reference.update_many(lists[0], lists[1], mask=lists[2], weights=weights)
    assert ev.to_bytes() == reference.to_bytes()


@CHECK
@given(
    st.lists(st.tuples(*[st.lists(st.integers(0, 400), max_size=12)] * 3), max_size=30),
    st.booleans(),
)
def test_lists_and_sparse_matrices_agree_with_plain_counting(rows: list[tuple[list, list, list]], masked: bool):
    ev = se.Evaluator(labels=range(401), rows="labels")
    ev.update_many([r[0] for r in rows], [r[1] for r in rows], mask=[r[2] for r in rows] if masked else None)
    outcomes = np.zeros((401, 4), int)
    for true, pred, mask in rows:
        for label in range(401):
            if not (masked and label in mask):
                outcomes[label, (label in true) + 2 * (label in pred)] += 1
    table = ev.per_label()
    assert [table.tn.tolist(), table.fn.tolist(), table.fp.tolist(), table.tp.tolist()] == outcomes.T.tolist()


def peak_of(call: Callable[[], None]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_generator_of_wide_rows_is_read_in_small_pieces():
    ev = se.Evaluator(labels=range(2000))
    rows = (np.zeros(2000, np.uint8) for _ in range(33_000))
    assert peak_of(lambda: ev.update_many(rows, (() for _ in range(33_000)))) < 48 * 2**20
    assert ev.examples == 33_000


def test_a_sparse_matrix_whose_empty_cells_are_predictions_is_read_in_small_pieces():
    scores = sp.csr_array((40_000, 300))
    ev = se.Evaluator(labels=range(300), threshold=0.0)
    assert peak_of(lambda: ev.update_many([()] * 40_000, scores)) < 128 * 2**20
    assert ev.per_label().fp.tolist() == [40_000] * 300


def test_a_generator_is_read_in_pieces_of_bounded_length():
    ev = se.Evaluator()
    alive = 0
    most = 0

    class Row(set):
        def __init__(self) -> None:
            nonlocal alive, most
            super().__init__({"a"})
            alive += 1
            most = max(most, alive)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    ev.update_many((Row() for _ in range(100_000)), ({"a"} for _ in range(100_000)))
    assert ev.examples == 100_000
    assert most <= 70_000


# -- rows of bits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (se.PackedRows(np.zeros((3, 2), np.uint8), 17), "17 labels take 3 bytes"),
        (se.PackedRows(np.zeros((3, 2), np.uint8), 8), "8 labels take 1 byte;"),
        (se.PackedRows(np.zeros((3, 2)), 16), "float64; give uint8 bytes"),
        (se.PackedRows(np.zeros((3, 2, 1), np.uint8), 8), "give uint8 bytes"),
        (se.PackedRows(np.zeros((3, 1), np.uint8), True), "n_labels must be an integer"),
        (se.PackedRows(np.zeros((3, 1), np.uint8), -1), "n_labels must be an integer"),
        (se.PackedRows(np.zeros((3, 1), np.uint8), 5, "small"), "bitorder must be one of"),
        (se.PackedRows(np.array([[0], [0], [4]], np.uint8), 5), "y_true[2] has bits set after those of its 5 labels"),
        (se.PackedRows(np.array([[0], [32], [0]], np.uint8), 5, "little"), "y_true[1] has bits set after"),
    ],
)
def test_bits_that_contradict_their_labels_are_refused(rows: se.PackedRows, words: str):
    for more in ({}, {"weights": [1.0, 2.0, 0.5]}, {"mask": [[], [], []]}):
        for pred in (rows, [[], [], []]):
            ev = se.Evaluator()
            with pytest.raises(se.InputError) as caught:
                ev.update_many(rows, pred, **more)
            assert words in str(caught.value)
            assert ev == se.Evaluator()


@pytest.mark.parametrize("options", [{}, {"threshold": 1}, {"keep": ["curves"]}])
def test_integers_of_128_bits_are_read(options: dict[str, Any]):
    rows = {"a": [1, 0, 0], "b": [0, 1, 1]}
    ev, expected = (se.Evaluator(["f1_micro"] if options != {"keep": ["curves"]} else [], **options) for _ in range(2))
    ev.update_many([{"a"}, {"b"}, {"a"}], pl.DataFrame(rows).cast(pl.Int128))
    ids = se.Evaluator()
    ids.update_many(pl.Series([[3, 7]], dtype=pl.List(pl.Int128)), [[3]])
    assert ids.labels == (3, 7)
    expected.update_many([{"a"}, {"b"}, {"a"}], pl.DataFrame(rows))
    assert ev == expected


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3)])
def test_the_number_of_labels_may_be_an_integer_of_numpy(number: Any):
    rows = np.array([[1, 0, 1], [0, 1, 1]], np.bool_)
    bits, ev, expected = np.packbits(rows, axis=1), se.Evaluator(), se.Evaluator()
    ev.update_many(se.PackedRows(bits, number), rows[::-1])
    ev.update(se.PackedRows(bits[0], number), rows[1])
    expected.update_many(rows[[0, 1, 0]], rows[[1, 0, 1]])
    assert ev == expected


@pytest.mark.parametrize("rows", [se.PackedRows([[1], [1, 2]], 3), se.TopK([[1], [1, 2]])], ids=["bits", "top"])
def test_rows_of_different_lengths_are_refused_as_an_array(rows: Any):
    with pytest.raises(se.InputError, match=r"cannot be read as an array: .*inhomogeneous"):
        se.Evaluator(["one_error" if isinstance(rows, se.TopK) else "f1_micro"]).update_many([[0], [0]], rows)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("protocol", "kind"), [("__array__", "array"), ("__arrow_c_stream__", "array or table of Arrow")]
)
def test_an_error_while_reading_an_object_names_its_argument_unless_it_is_an_interruption(
    error: type[BaseException], protocol: str, kind: str
):
    def read(*_: object, **__: object) -> None:
        raise error("gone")

    wrong = type("Lazy", (), {protocol: read})()
    with pytest.raises(se.InputError if error is ValueError else error) as raised:
        se.Evaluator().update_many([["a"]], wrong)
    assert str(raised.value).startswith(f"y_pred cannot be read as an {kind}: gone" if error is ValueError else "gone")


def test_unsigned_indices_beyond_int64_are_padding_like_negative_indices():
    padded, unsigned = (se.Evaluator(["one_error"]) for _ in range(2))
    padded.update_many([[0]], se.TopK(np.array([[0, -1]])))
    unsigned.update_many([[0]], se.TopK(np.array([[0, -1]]).astype(np.uint64)))
    assert unsigned == padded


def test_bits_are_decisions_at_any_threshold_and_are_refused_as_scores():
    true, pred = drawn(11), drawn(12)
    ev, reference = se.Evaluator(threshold=0.5), se.Evaluator(threshold=0.5)
    ev.update_many(packed(true), packed(pred))
    reference.update_many(true.astype(bool), pred.astype(bool))
    assert ev.to_bytes() == reference.to_bytes()
    with pytest.raises(se.InputError, match="need scores"):
        se.Evaluator(["roc_auc_macro"]).update_many(packed(true), packed(pred))


@pytest.mark.parametrize("form", [packed, arrow_booleans])
def test_holders_of_evaluators_read_bits(form: Callable[[Bits], object], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_set, "_PER_THREAD", 100)  # otherwise one thread would count all 300 examples
    true, pred = drawn(13, examples=300), drawn(14, examples=300)
    where = {"where": np.arange(300) % 3}
    holders: list[Callable[[], Any]] = [
        lambda: se.Rolling(se.Evaluator(), size=100),
        lambda: se.Tumbling(se.Evaluator(), size=70),
        lambda: se.Fading(se.Evaluator(), half_life=50),
        lambda: se.Evaluator(keep=["pairs"]),
        lambda: se.Evaluator(labels=["bird", "cat", "dog", "owl", "eel"], unknown="add"),
    ]
    for make in holders:
        one, other = make(), make()
        one.update_many(form(true), form(pred))
        other.update_many(true, pred)
        assert one.to_bytes() == other.to_bytes()
    one, other = (se.Sliced(se.Evaluator(), by=["where"]) for _ in "01")
    one.update_many(form(true), form(pred), where=where)
    other.update_many(true, pred, where=where)
    assert one.to_bytes() == other.to_bytes()
    assert se.score(form(true), form(pred)) == se.score(true, pred)
    one, other = se.Evaluator(), se.Evaluator()
    one.update_many(form(true), form(pred), threads=2)
    other.update_many(true, pred)
    assert one.to_bytes() == other.to_bytes()


def test_bits_set_after_the_last_label_are_refused_by_slices_and_windows():
    wrong = se.PackedRows(np.full((40, 1), 255, np.uint8), 5)
    for holder in (se.Rolling(se.Evaluator(), size=9), se.Fading(se.Evaluator(), half_life=9)):
        with pytest.raises(se.InputError, match="bits set after"):
            holder.update_many(wrong, wrong)
    with pytest.raises(se.InputError, match="bits set after"):
        se.Sliced(se.Evaluator(), by=["where"]).update_many(wrong, wrong, where={"where": np.arange(40) % 3})


@with_each("width", [1, 7, 8, 9, 20, 64])
@with_each("rows", [0, 1, 8, 15, 260])
def test_boolean_columns_of_arrow_become_rows_at_any_bit_offset(width: int, rows: int):
    cells = np.random.default_rng(width).random((rows, width)) < 0.5
    columns = []
    for place, column in enumerate(cells.T):
        # The column begins within a byte, and bits before and after it must not be read.
        surrounded = pa.array(np.concatenate([np.ones(place, np.bool_), column, np.ones(9, np.bool_)]))
        array = surrounded[place : place + rows]
        parts = [array[: rows // 3], array[rows // 3 :]] if place % 3 else [array]
        columns.append(array if place % 2 else pa.chunked_array(parts, pa.bool_()))
    read = bits_of_columns(columns)
    assert (read.examples, read.columns) == (rows, width)
    assert np.array_equal(read.cells(), cells)


@pytest.mark.parametrize("options", [{}, {"labels": range(21)}, {"threshold": 0.5}, {"keep": ["pairs"]}], ids=str)
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_bits_are_counted_like_their_cells_in_batches_of_any_size(options: dict[str, Any], bitorder: str):
    rng = np.random.default_rng(4)
    ev, plain = se.Evaluator(**options), se.Evaluator(**options)
    for rows in (40, 1, 0, 3, 2_729, 2_731, 4_000, 7):
        sides = [(rng.random((rows, 21)) < 0.3).astype(np.uint8) for _ in "01"]
        ev.update_many(*(packed(side, bitorder) for side in sides))
        ev.update_many(packed(sides[0], bitorder), sides[1].astype(bool))
        for _ in "01":
            plain.update_many(sides[0], sides[1].astype(bool))
        assert ev == plain
    before = ev.to_bytes()
    for side in (se.PackedRows(np.full((2, 3), 255, np.uint8), 21, bitorder), se.PackedRows(np.zeros((2, 2)), 21)):
        with pytest.raises(se.InputError, match=r"^y_pred"):
            ev.update_many(packed(np.zeros((2, 21)), bitorder), side)
        assert ev.to_bytes() == before


@pytest.mark.parametrize("labels", [1, 20])
def test_placed_scores_are_right_if_a_finaliser_updates_the_same_object(labels: int):
    """Python 3.11 may run the garbage collector when arrays for scores are created; later versions do not."""
    true, pred, calls = {"b", "c", "d"}, {"a": 0.1, "b": 0.7, "c": 0.3}, list[int]()

    class Garbage:
        def __init__(self, counted: Any) -> None:
            self.cycle, self.counted = self, counted

        def __del__(self) -> None:
            calls.append(threshold)
            self.counted.update({"d", "c", "b", "a"}, {f"n{number}": 0.5 for number in range(labels)})

    enabled, before = gc.isenabled(), gc.get_threshold()
    gc.freeze()  # restricts collections to objects made from now on
    gc.disable()
    try:
        for threshold in range(1, 8):
            ev = se.Evaluator(["lrap"])
            for _ in range(30):
                ev.update(true, {**pred, "a": 0.2})
            core = ev._core
            arguments = core.labels.columns, core.labels.fixed, true, pred, None
            wanted = repr(core.table.place_scores(*arguments))
            gc.collect()
            Garbage(ev)
            gc.set_threshold(threshold)
            gc.enable()
            placed = core.table.place_scores(*arguments)
            gc.disable()
            gc.set_threshold(*before)
            assert placed is None or repr(placed) == wanted
    finally:
        gc.set_threshold(*before)
        if enabled:
            gc.enable()
    gc.collect()
    assert calls


@pytest.mark.parametrize("window", [False, True])
def test_reverting_an_example_of_scores_is_right_if_a_finaliser_updates_the_same_object(window: bool):
    true, pred, other = {"b", "c"}, {"a": 0.1, "b": 0.7, "c": 0.3}, {"c": 0.2, "a": 0.9}
    said = list[str]()

    class Garbage:
        def __init__(self, counted: Any) -> None:
            self.cycle, self.counted = self, counted

        def __del__(self) -> None:
            try:
                said.append(str(self.counted.update({"a", "b"}, other, **({"t": 64} if window else {}))))
            except se.StreamevalError as error:
                said.append(str(error))

    enabled, before, messages = gc.isenabled(), gc.get_threshold(), set[str]()
    gc.freeze()  # restricts collections to objects made from now on
    gc.disable()
    try:
        for threshold in range(1, 12):
            made = se.Evaluator(["lrap", "roc_auc_macro"])
            ev: Any = se.TimeRolling(made, 60) if window else made
            for t in range(60):
                ev.update(*((true, pred), ({"a", "b"}, other))[t % 2], **({"t": t} if window else {}))
            usual = partial(ev.update, {"a"}, pred, t=64) if window else partial(ev.revert, true, pred)
            expected = ev.copy()
            getattr(expected, usual.func.__name__)(*usual.args, **usual.keywords)
            gc.collect()
            said.clear()
            Garbage(ev)
            gc.set_threshold(threshold)
            gc.enable()
            usual()
            gc.disable()
            gc.set_threshold(*before)
            gc.collect()
            if said == ["None"]:
                expected.update({"a", "b"}, other, **({"t": 64} if window else {}))
            assert ev == expected
            messages |= {*said}
    finally:
        gc.set_threshold(*before)
        if enabled:
            gc.enable()
    assert "None" in messages


def test_a_form_can_be_registered_before_another_form_with_the_same_mark(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forms, "_MARKS", [*forms._MARKS])

    class Shared:
        __arrow_c_array__ = __array__ = None

    forms.enter("shared", object, "__arrow_c_array__", before="buffer")
    known = [pa.array([1]), pa.record_batch({"a": [1]}), Shared(), np.ones(1)]
    assert [*map(forms.form_of, known)] == ["arrow", "table", "shared", "array"]
