"""One side of many examples (the truth, the predictions or the mask), read in pieces of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, cast

import numpy as np

from streameval.errors import InputError, LabelError, shown
from streameval.inputs.one import COLLECTIONS, example_entries
from streameval.inputs.reader import HIDDEN, IGNORED, NAMES, PRED, Reader
from streameval.inputs.values import decided_block, plain_array
from streameval.kernel.types import FloatArray, IntArray, UInt8Array

__all__ = ["DensePiece", "EntryPiece", "Piece", "Side", "side_of"]

_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class DensePiece:
    """Rows of a matrix: 1 where positive, and 1 where the truth is unknown."""

    columns: IntArray
    bits: UInt8Array
    hidden: UInt8Array | None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.bits)

    def entries(self, role: int) -> EntryPiece:
        """The same, cell by cell."""
        row, column = np.nonzero(self.bits)
        bits = np.full(len(row), role, np.uint8)
        if self.hidden is not None:
            hidden_row, hidden_column = np.nonzero(self.hidden)
            row = np.concatenate([row, hidden_row])
            column = np.concatenate([column, hidden_column])
            bits = np.concatenate([bits, np.full(len(hidden_row), HIDDEN, np.uint8)])
        return EntryPiece(len(self.bits), row, self.columns[column], bits, self.columns)


@dataclass(frozen=True, slots=True)
class EntryPiece:
    """Mentioned cells of some examples; ``everywhere`` holds columns that every one of them mentions."""

    examples: int
    rows: IntArray
    columns: IntArray
    bits: UInt8Array
    everywhere: IntArray

    def entries(self, role: int) -> EntryPiece:  # noqa: ARG002  # the bits already say the role
        """The piece itself."""
        return self


Piece = DensePiece | EntryPiece


class Side(Protocol):
    """A source of pieces. ``length`` is None where it is not known before the end."""

    length: int | None
    width: int

    def take(self, size: int) -> Piece:
        """The next ``size`` examples, fewer at the end."""


class _Matrix:
    """A 2-D array."""

    def __init__(self, values: np.ndarray[Any, Any], columns: IntArray, role: int, reader: Reader) -> None:
        keep = columns != IGNORED
        self._values = values if keep.all() else values[:, keep]
        self._columns = columns[keep]
        self._role, self._reader = role, reader
        self._thresholds: float | FloatArray = (
            reader.threshold_row(self._columns) if role == PRED and reader.reads_scores else 0.0
        )
        self._start = 0
        self.length: int | None = len(values)
        self.width = len(self._columns)

    def take(self, size: int) -> Piece:
        block = self._values[self._start : self._start + size]
        self._start += len(block)
        bits, hidden = decided_block(block, self._role, self._reader, self._thresholds)
        return DensePiece(self._columns, bits, hidden)


class _Sparse:
    """A sparse matrix in compressed rows. A cell that is not stored is 0, also where 0 is a score."""

    def __init__(self, matrix: Any, columns: IntArray, role: int, reader: Reader) -> None:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # stored duplicates add up; summing them in place would change the argument
            matrix.sum_duplicates()
        self._indptr = np.asarray(matrix.indptr, np.int64)
        self._columns = columns
        self._indices = columns[np.asarray(matrix.indices, np.int64)]
        self._data = plain_array(matrix.data, NAMES[role])
        self._everywhere = columns[columns != IGNORED]
        self._role, self._reader = role, reader
        self._start = 0
        self.length: int | None = matrix.shape[0]
        self.width = 0
        self._zeros = np.zeros(0, np.int64)
        self._thresholds: float | FloatArray = 0.0
        if role == PRED and reader.reads_scores:
            by_column = np.broadcast_to(reader.threshold_row(self._everywhere), self._everywhere.shape)
            dense = np.zeros(len(reader.labels), np.float64)
            dense[self._everywhere] = by_column
            self._thresholds = dense
            self._zeros = self._everywhere[by_column <= 0.0]

    def take(self, size: int) -> Piece:
        stop = min(self._start + size, len(self._indptr) - 1)
        lengths = np.diff(self._indptr[self._start : stop + 1])
        span = slice(int(self._indptr[self._start]), int(self._indptr[stop]))
        examples = stop - self._start
        self._start = stop
        rows = np.repeat(np.arange(examples), lengths)
        columns, values = self._indices[span], self._data[span]
        kept = columns != IGNORED
        if not kept.all():
            rows, columns, values = rows[kept], columns[kept], values[kept]
        thresholds = self._thresholds[columns] if isinstance(self._thresholds, np.ndarray) else 0.0
        bits, hidden = decided_block(values, self._role, self._reader, thresholds)
        found = bits * np.uint8(self._role)
        if hidden is not None:
            found |= hidden * np.uint8(HIDDEN)
        if len(self._zeros):  # a threshold at or below 0 makes the cells that are not stored positive
            width = len(self._thresholds)  # type: ignore[arg-type]
            stored = np.zeros((examples, width), np.bool_)
            stored[rows, columns] = True
            row, position = np.nonzero(~stored[:, self._zeros])
            rows = np.concatenate([rows, row])
            columns = np.concatenate([columns, self._zeros[position]])
            found = np.concatenate([found, np.full(len(row), self._role, np.uint8)])
        positive = found != 0
        return EntryPiece(examples, rows[positive], columns[positive], found[positive], self._everywhere)


class _Lists:
    """A column of lists: offsets into one array of columns."""

    def __init__(self, offsets: IntArray, columns: IntArray, role: int) -> None:
        self._offsets, self._columns, self._role = offsets, columns, role
        self._start = 0
        self.length: int | None = len(offsets) - 1
        self.width = 0

    def take(self, size: int) -> Piece:
        offsets = self._offsets[self._start : self._start + size + 1]
        self._start += len(offsets) - 1
        columns = self._columns[offsets[0] : offsets[-1]]
        return _collected(np.diff(offsets), columns, self._role)


class _Examples:
    """Any iterable of single examples."""

    def __init__(self, source: Iterator[object], length: int | None, role: int, reader: Reader) -> None:
        self._source, self._role, self._reader = source, role, reader
        self.length = length
        self.width = 0

    def take(self, size: int) -> Piece:
        examples = list(islice(self._source, size))
        kinds = set(map(type, examples))
        if kinds.issubset(COLLECTIONS):
            try:
                flat = self._reader.columns(chain.from_iterable(cast("list[list[object]]", examples)))
            except TypeError:
                raise LabelError(f"{NAMES[self._role]} holds a label that cannot be hashed") from None
            lengths = np.fromiter(map(len, cast("list[list[object]]", examples)), np.int64, len(examples))
            return _collected(lengths, np.array(flat, np.int64), self._role)
        if kinds == {np.ndarray} and len({(row.shape, row.dtype) for row in examples}) == 1:  # type: ignore[attr-defined]
            stacked = np.stack(cast("list[np.ndarray[Any, Any]]", examples))
            if stacked.ndim == 2 and stacked.dtype.kind in "biuf":
                columns_of = self._reader.positions(stacked.shape[1], NAMES[self._role])
                return _Matrix(stacked, columns_of, self._role, self._reader).take(size)
        rows: list[int] = []
        found: list[tuple[int, int]] = []
        for row, example in enumerate(examples):
            before = len(found)
            found.extend(example_entries(example, self._role, self._reader))
            rows.extend([row] * (len(found) - before))
        columns = np.array([column for column, _ in found], np.int64)
        bits = np.array([bit for _, bit in found], np.uint8)
        kept = columns != IGNORED
        return EntryPiece(len(examples), np.array(rows, np.int64)[kept], columns[kept], bits[kept], _NOTHING)


def _collected(lengths: IntArray, columns: IntArray, role: int) -> EntryPiece:
    rows = np.repeat(np.arange(len(lengths)), lengths)
    kept = columns != IGNORED
    if not kept.all():
        rows, columns = rows[kept], columns[kept]
    return EntryPiece(len(lengths), rows, columns, np.full(len(columns), role, np.uint8), _NOTHING)


# -- recognising what was given: by its methods, so that no library needs to be imported ------------------------------


def names_of(given: object) -> list[object] | None:
    """The column names of a data frame; None for anything else."""
    if hasattr(given, "column_names") and hasattr(given, "num_rows"):
        return list(given.column_names)
    if hasattr(given, "columns") and hasattr(given, "shape") and len(given.shape) == 2:
        return list(given.columns)
    return None


def side_of(given: object, role: int, reader: Reader, borrowed: list[object] | None) -> Side:
    """Recognise one side of many examples. A matrix without column names takes the ``borrowed`` ones."""
    name = NAMES[role]
    if isinstance(given, str | bytes | Mapping | AbstractSet):
        raise InputError(
            f"{name} must be many examples in order, not one {type(given).__name__}; "
            "for one example use update, for many give a list of them"
        )
    own = names_of(given)
    if own is not None:
        return _frame_side(given, own, role, reader)
    if hasattr(given, "tocsr") and hasattr(given, "shape"):
        matrix = given.tocsr()
        return _Sparse(matrix, _positions(matrix.shape[1], borrowed, role, reader), role, reader)
    if hasattr(given, "type") and hasattr(given, "to_pylist"):
        return _arrow_side(given, role, reader)
    if hasattr(given, "to_arrow") and hasattr(given, "to_list"):  # a polars Series
        try:
            return _arrow_side(given.to_arrow(), role, reader)
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            return _Examples(iter(given.to_list()), len(given.to_list()), role, reader)
    if hasattr(given, "iloc"):  # a pandas Series: a column of lists
        lists = (value.tolist() if isinstance(value, np.ndarray) else value for value in given)  # type: ignore[attr-defined]
        return _Examples(lists, len(given), role, reader)  # type: ignore[arg-type]
    if isinstance(given, memoryview) or (not isinstance(given, list | tuple) and hasattr(given, "__array__")):
        array = np.asanyarray(given)
        if array.ndim == 2:
            values = plain_array(array, name)
            return _Matrix(values, _positions(values.shape[1], borrowed, role, reader), role, reader)
        if array.ndim != 1 or array.dtype.kind != "O":
            raise InputError(
                f"{name} has shape {array.shape} and type {array.dtype}; update_many takes 2-D arrays, "
                "examples x labels: for one example use update"
            )
        return _Examples(iter(array.tolist()), len(array), role, reader)
    if isinstance(given, Iterable):
        length = len(given) if isinstance(given, Sized) else None
        return _Examples(iter(given), length, role, reader)
    raise InputError(f"{name} must be a matrix, a column of lists or an iterable of examples, not {shown(given)}")


def _positions(width: int, borrowed: list[object] | None, role: int, reader: Reader) -> IntArray:
    if borrowed is None:
        return reader.positions(width, NAMES[role])
    if width != len(borrowed):
        raise InputError(
            f"{NAMES[role]} has {width} columns but the data frame beside it has {len(borrowed)}; give the same columns"
        )
    return np.array(reader.columns(borrowed), np.int64)


def _frame_side(frame: Any, names: list[object], role: int, reader: Reader) -> Side:
    columns = np.array(reader.columns(names), np.int64)
    seen: set[int] = set()
    for label, column in zip(names, columns.tolist(), strict=True):
        if column in seen:
            raise LabelError(f"{NAMES[role]} has two columns named {shown(label)}; name each label once")
        if column != IGNORED:
            seen.add(column)
    if hasattr(frame, "to_numpy") and not hasattr(frame, "num_rows"):
        values = frame.to_numpy()
    else:  # an Arrow table or record batch
        parts = [np.asarray(frame.column(position).to_pylist(), object) for position in range(len(names))]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0), np.uint8)
    return _Matrix(plain_array(values, NAMES[role]), columns, role, reader)


def _arrow_side(array: Any, role: int, reader: Reader) -> Side:
    """An Arrow column of lists; other Arrow types go through Python objects."""
    name = NAMES[role]
    kind = str(array.type)
    if array.null_count:
        raise InputError(
            f"{name} holds {array.null_count} null lists; fill them with empty lists, or drop those examples"
        )
    if not kind.startswith(("list<", "large_list<")):
        return _Examples(iter(array.to_pylist()), len(array), role, reader)
    chunks = array.chunks if hasattr(array, "chunks") else [array]
    offsets = [np.zeros(1, np.int64)]
    columns = []
    for chunk in chunks:
        bounds = chunk.offsets.to_numpy().astype(np.int64)
        values = chunk.values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
        if values.null_count:
            raise InputError(f"{name} holds null labels; drop them first")
        encoded = values if str(values.type).startswith("dictionary<") else values.dictionary_encode()
        codes = encoded.indices.to_numpy()
        used = np.flatnonzero(np.bincount(codes)) if len(codes) else _NOTHING
        dictionary = encoded.dictionary.to_pylist()
        of_code = np.zeros(len(dictionary), np.int64)
        of_code[used] = _registered([dictionary[code] for code in used.tolist()], name, reader)
        columns.append(of_code[codes])
        offsets.append(bounds[1:] - bounds[0] + offsets[-1][-1])
    return _Lists(np.concatenate(offsets), np.concatenate(columns) if columns else _NOTHING, role)


def _registered(labels: list[object], name: str, reader: Reader) -> list[int]:
    try:
        return reader.columns(labels)
    except TypeError:
        raise LabelError(f"{name} holds labels that cannot be hashed, of type {type(labels[0]).__name__}") from None
