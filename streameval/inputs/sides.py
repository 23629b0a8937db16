"""One side of many examples (the truth, the predictions or the mask), read in pieces of equal length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars, lists_of_arrow
from streameval.inputs.one import COLLECTIONS, labels_in, named, named_entries
from streameval.inputs.reader import HIDDEN, IGNORED, NAMES, PRED, Reader, registered
from streameval.inputs.tensors import array_of, without_tensors
from streameval.inputs.values import bound_of, decided_block, plain_array
from streameval.kernel import backend
from streameval.kernel.types import (
    DAMAGED,
    DISTINCT,
    FloatArray,
    IntArray,
    Lists,
    Places,
    ScoreArray,
    UInt8Array,
)
from streameval.schema.batch import joined, offsets_of
from streameval.schema.text import quoted

__all__ = ["DensePiece", "ListPiece", "Piece", "Side", "names_of", "positions_of", "side_of"]

_NOTHING = np.zeros(0, np.int64)


class DensePiece:
    """Rows of a matrix whose columns are all mentioned."""

    __slots__ = ("_read", "block", "columns", "reader", "role", "thresholds")

    def __init__(
        self, block: np.ndarray[Any, Any], columns: IntArray, role: int, reader: Reader, thresholds: float | FloatArray
    ) -> None:
        self.block, self.columns, self.role = block, columns, role
        self.reader, self.thresholds = reader, thresholds
        self._read: tuple[UInt8Array, UInt8Array | None] | None = None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.block)

    def read(self) -> tuple[UInt8Array, UInt8Array | None]:
        """1 where positive, and 1 where the truth is unknown (None if nowhere); checked."""
        if self._read is None:
            self._read = decided_block(self.block, self.role, self.reader, self.thresholds)
        return self._read

    def raw(self) -> tuple[UInt8Array, UInt8Array | None]:
        """The same, but bytes that are already there are not looked at: the kernel does so while it counts them."""
        scores = self.role == PRED and self.reader.reads_scores
        if self._read is None and (self.block.dtype == np.bool_ or (self.block.dtype == np.uint8 and not scores)):
            rows = np.ascontiguousarray(self.block).view(np.uint8)
            # A boolean array can hold other bytes than 0 and 1, all of which are true.
            if self.block.dtype == np.uint8 or rows.max(initial=0) <= 1:
                return rows, None
        return self.read()

    def scores(self) -> tuple[ScoreArray, ScoreArray] | None:
        """Scores and the bound of each column, if the kernel can compare them; not looked at either."""
        if self.role != PRED or not self.reader.reads_scores or self.block.dtype not in (np.float32, np.float64):
            return None
        if self.reader.drops_nan and np.isnan(self.block).any():
            return None
        bounds = np.broadcast_to(bound_of(self.block.dtype, self.thresholds), self.columns.shape)
        return np.ascontiguousarray(self.block), np.ascontiguousarray(bounds)

    def lists(self) -> ListPiece:
        """The same, as lists of columns."""
        bits, hidden = self.read()
        unknown = None if hidden is None else _listed(hidden, self.columns)
        return ListPiece(len(bits), _listed(bits, self.columns), unknown, None, self.columns)


@dataclass(frozen=True, slots=True)
class ListPiece:
    """For each example lists of columns: positive, of unknown truth, and otherwise mentioned.

    ``everywhere`` holds columns that every example mentions.
    """

    examples: int
    positive: Lists
    unknown: Lists | None
    named: Lists | None
    everywhere: IntArray

    def lists(self) -> ListPiece:
        """The piece itself."""
        return self


Piece: TypeAlias = DensePiece | ListPiece


def _listed(bits: UInt8Array, columns: IntArray) -> Lists:
    """The columns of the ones of each row."""
    row, column = np.nonzero(bits)
    return Lists(offsets_of(np.bincount(row, minlength=len(bits))), column, columns, True)


def _plain(numbers: Any, *others: Any) -> list[Places]:
    """Index arrays as the kernel reads them: as they are if all are plain and of one type, else copies."""
    arrays = [np.asarray(array) for array in (numbers, *others)]
    plain = all(array.ndim == 1 and array.flags.c_contiguous and array.dtype == np.int32 for array in arrays)
    return arrays if plain else [np.ascontiguousarray(array, np.int64) for array in arrays]


def _filtered(lists: Lists, kept: np.ndarray[Any, np.dtype[np.bool_]]) -> Lists:
    """The lists without some of their entries."""
    if kept.all():
        return lists
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)])
    return lists._replace(offsets=before[lists.offsets], places=lists.places[kept].astype(np.int64))


def _unignored(lists: Lists) -> Lists:
    """The lists without the labels that are ignored."""
    columns = lists.places if lists.columns is None else lists.columns
    if not (columns == IGNORED).any():
        return lists
    found = lists.found()
    return _filtered(Lists(lists.offsets, found, None, lists.distinct), found != IGNORED)


class Side(Protocol):
    """A source of pieces. ``length`` is None where it is not known before the end."""

    length: int | None
    width: int

    def take(self, size: int) -> Piece:
        """The next ``size`` examples, fewer at the end."""


class _Matrix:
    """A 2-D array."""

    def __init__(self, values: np.ndarray[Any, Any], columns: IntArray, role: int, reader: Reader) -> None:
        if np.count_nonzero(columns == IGNORED):
            keep = columns != IGNORED
            values, columns = values[:, keep], columns[keep]
        self._values, self._columns = values, columns
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
        return DensePiece(block, self._columns, self._role, self._reader, self._thresholds)


class _Sparse:
    """A sparse matrix in compressed rows. A cell that is not stored is 0, also where 0 is a score."""

    def __init__(self, matrix: Any, columns: IntArray, role: int, reader: Reader) -> None:
        lists = _rows_of(matrix, role)
        if not lists.distinct:
            matrix = matrix.copy()  # stored duplicates add up; summing them in place would change the argument
            matrix.sum_duplicates()
            lists = _rows_of(matrix, role)
        data = matrix.data[: len(lists.places)]
        self._everywhere = columns
        if (columns == IGNORED).any():  # values of ignored labels are not even looked at
            self._everywhere = columns[columns != IGNORED]
            lists, data = _unignored(lists._replace(columns=columns)), data[columns[lists.places] != IGNORED]
        elif not np.array_equal(columns, np.arange(len(columns))):
            lists = lists._replace(columns=columns)
        self._lists, self._data = lists, plain_array(data, NAMES[role])
        self._role, self._reader = role, reader
        self._start = 0
        self.length: int | None = matrix.shape[0]
        self.width = 0
        self._zeros = np.zeros(0, np.int64)
        self._thresholds: float | FloatArray = 0.0
        if role == PRED and reader.reads_scores and self._data.dtype != np.bool_:
            by_column = np.broadcast_to(reader.threshold_row(self._everywhere), self._everywhere.shape)
            dense = np.zeros(len(reader.labels), np.float64)
            dense[self._everywhere] = by_column
            self._thresholds = dense
            self._zeros = self._everywhere[by_column <= 0.0]
            self.width = max(4096, len(reader.labels)) if len(self._zeros) else 0

    def take(self, size: int) -> Piece:
        lists, span = _taken(self._lists, self._start, size)
        values = self._data[span]
        examples = len(lists.offsets) - 1
        self._start += examples
        scored = self._role == PRED and self._reader.reads_scores
        if not scored and values.dtype.kind in "biuf" and (values == 1).all():
            return ListPiece(examples, lists, None, None, self._everywhere)
        thresholds: float | FloatArray = 0.0
        if isinstance(self._thresholds, np.ndarray):
            thresholds = self._thresholds[lists.found()]
        bits, hidden = decided_block(values, self._role, self._reader, thresholds)
        positive = _filtered(lists, bits != 0)
        unknown = None if hidden is None else _filtered(lists, hidden != 0)
        if len(self._zeros):  # a threshold at or below 0 makes the cells that are not stored positive
            stored = np.zeros((examples, len(self._reader.labels)), np.bool_)
            stored[np.repeat(np.arange(examples), np.diff(lists.offsets)), lists.found()] = True
            positive = joined([positive, _listed((~stored[:, self._zeros]).view(np.uint8), self._zeros)], examples)
        return ListPiece(examples, positive, unknown, None, self._everywhere)


def _rows_of(matrix: Any, role: int) -> Lists:
    """The columns of what is stored in each row, in the arrays of the matrix if the kernel can read them."""
    offsets, places = _plain(matrix.indptr, matrix.indices)
    order = backend.lists.list_order(offsets, places[: len(matrix.data)], matrix.shape[1])
    if order == DAMAGED or len(offsets) != matrix.shape[0] + 1:
        raise InputError(
            f"{NAMES[role]} is a damaged sparse matrix: its indices lie outside its shape {matrix.shape}, "
            f"or its offsets outside its {len(matrix.data)} values"
        )
    return Lists(offsets, places[: offsets[-1]], None, order == DISTINCT)


def _taken(lists: Lists, start: int, size: int) -> tuple[Lists, slice]:
    """Some of the lists, and where their places were."""
    offsets = lists.offsets[start : start + size + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    if span == slice(0, len(lists.places)) and len(offsets) == len(lists.offsets):
        return lists, span
    return lists._replace(offsets=offsets - offsets[0], places=lists.places[span]), span


class _Lists:
    """A column of lists."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._start = 0
        self.length: int | None = len(lists.offsets) - 1
        self.width = 0

    def take(self, size: int) -> Piece:
        lists, _ = _taken(self._lists, self._start, size)
        self._start += len(lists.offsets) - 1
        return ListPiece(len(lists.offsets) - 1, lists, None, None, _NOTHING)


class _Examples:
    """Any iterable of single examples."""

    def __init__(self, source: Iterator[object], length: int | None, role: int, reader: Reader) -> None:
        self._source, self._role, self._reader = source, role, reader
        self.length = length
        self.width = 4096  # as wide as makes pieces of a few thousand examples, since rows could be of any size

    def take(self, size: int) -> Piece:
        examples = without_tensors(list(islice(self._source, size)), NAMES[self._role])
        kinds = set(map(type, examples))
        if np.ndarray in kinds:
            lists_of_texts = _lists_of_texts(examples, self._role, self._reader)
            if lists_of_texts is not None:
                return ListPiece(len(examples), lists_of_texts, None, None, _NOTHING)
            examples = [_plain_row(example) for example in examples]
            kinds = set(map(type, examples))
        if kinds.issubset(COLLECTIONS):
            try:
                flat = self._reader.columns(chain.from_iterable(cast("list[list[object]]", examples)))
            except TypeError:
                raise LabelError(f"{NAMES[self._role]} holds a label that cannot be hashed") from None
            except LabelError as error:
                raise named(error, self._role) from None
            lengths = np.fromiter(map(len, cast("list[list[object]]", examples)), np.int64, len(examples))
            lists = Lists(offsets_of(lengths), np.array(flat, np.int64))
            return ListPiece(len(examples), _unignored(lists), None, None, _NOTHING)
        if kinds == {np.ndarray} and len({(row.shape, row.dtype) for row in examples}) == 1:  # type: ignore[attr-defined]
            stacked = np.stack(cast("list[np.ndarray[Any, Any]]", examples))
            if stacked.ndim == 2 and stacked.dtype.kind in "biuf":
                columns_of = self._reader.positions(stacked.shape[1], NAMES[self._role])
                return _Matrix(stacked, columns_of, self._role, self._reader).take(size)
        found: dict[int, list[int]] = {self._role: [], HIDDEN: [], 0: []}
        ends: dict[int, list[int]] = {self._role: [0], HIDDEN: [0], 0: [0]}
        for example in examples:
            for column, bit in named_entries(example, self._role, self._reader):
                if column != IGNORED:
                    found[bit].append(column)
            for bit, columns_so_far in found.items():
                ends[bit].append(len(columns_so_far))

        def lists_of(bit: int) -> Lists:
            return Lists(np.array(ends[bit], np.int64), np.array(found[bit], np.int64))

        return ListPiece(len(examples), lists_of(self._role), lists_of(HIDDEN), lists_of(0), _NOTHING)


def _plain_row(example: object) -> object:
    """An array of labels as their list."""
    labels = labels_in(example) if isinstance(example, np.ndarray) else None
    return example if labels is None else labels


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
    sparse = hasattr(given, "tocsr") and hasattr(given, "shape")
    if isinstance(given, str | bytes | Mapping | AbstractSet) and not sparse:
        raise InputError(
            f"{name} must be many examples in order, not one {type(given).__name__}; "
            "for one example use update, for many give a list of them"
        )
    own = names_of(given)
    if own is not None:
        return _frame_side(given, own, role, reader)
    if sparse:
        if len(given.shape) != 2:  # type: ignore[attr-defined]
            raise InputError(f"{name} has shape {given.shape}; update_many takes matrices, examples x labels")  # type: ignore[attr-defined]
        matrix = given.tocsr()  # type: ignore[attr-defined]
        return _Sparse(matrix, positions_of(matrix.shape[1], borrowed, role, reader), role, reader)
    if hasattr(given, "type") and hasattr(given, "to_pylist"):
        return _arrow_side(given, role, reader)
    if hasattr(given, "to_arrow") and hasattr(given, "to_list"):  # a polars Series
        try:
            return _arrow_side(arrow_of_polars(given), role, reader)
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            return _Examples(iter(given.to_list()), len(given.to_list()), role, reader)
    if hasattr(given, "iloc"):  # a pandas Series: a column of lists
        lists_of_texts = _lists_of_texts(given.tolist(), role, reader) if hasattr(given, "tolist") else None
        if lists_of_texts is not None:
            return _Lists(lists_of_texts)
        lists = (value.tolist() if isinstance(value, np.ndarray) else value for value in given)  # type: ignore[attr-defined]
        return _Examples(lists, len(given), role, reader)  # type: ignore[arg-type]
    if isinstance(given, memoryview) or (not isinstance(given, list | tuple) and hasattr(given, "__array__")):
        array = array_of(given, name)
        if array.ndim == 2:
            values = plain_array(array, name)
            return _Matrix(values, positions_of(values.shape[1], borrowed, role, reader), role, reader)
        if array.ndim != 1 or array.dtype.kind != "O":
            raise InputError(
                f"{name} has shape {array.shape} and type {array.dtype}; update_many takes 2-D arrays, "
                "examples x labels: for one example use update"
            )
        return _Examples(iter(array.tolist()), len(array), role, reader)
    if isinstance(given, Iterable):
        length = len(given) if isinstance(given, Sized) else None
        return _Examples(iter(given), length, role, reader)
    raise InputError(f"{name} must be a matrix, a column of lists or an iterable of examples, not {quoted(given)}")


def positions_of(width: int, borrowed: list[object] | None, role: int, reader: Reader) -> IntArray:
    """The columns of a matrix: those of the data frame beside it, or by position."""
    if borrowed is None:
        return reader.positions(width, NAMES[role])
    if width != len(borrowed):
        raise InputError(
            f"{NAMES[role]} has {width} columns but the data frame beside it has {len(borrowed)}; give the same columns"
        )
    return np.array(registered(borrowed, NAMES[role], reader), np.int64)


def _frame_side(frame: Any, names: list[object], role: int, reader: Reader) -> Side:
    columns = np.array(registered(names, NAMES[role], reader), np.int64)
    seen: set[int] = set()
    for label, column in zip(names, columns.tolist(), strict=True):
        if column in seen:
            raise LabelError(f"{NAMES[role]} has two columns named {quoted(label)}; name each label once")
        if column != IGNORED:
            seen.add(column)
    if hasattr(frame, "to_numpy") and not hasattr(frame, "num_rows"):
        values = frame.to_numpy()
        kinds = {str(kind).lower() for kind in frame.dtypes}
        if role == PRED and reader.reads_scores and len(kinds) > 1:
            # One type for all columns would round integers and take booleans for scores.
            values = np.stack([np.array(frame[name].to_list(), object) for name in names], axis=1)
    else:  # an Arrow table or record batch
        parts = [np.asarray(frame.column(position).to_pylist(), object) for position in range(len(names))]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0), np.uint8)
    return _Matrix(plain_array(values, NAMES[role]), columns, role, reader)


def _lists_of_texts(rows: list[Any], role: int, reader: Reader) -> Lists | None:
    """Lists and arrays of texts, where there is nothing else."""
    found = backend.strings.listed_codes(rows)
    if found is None:
        return None
    ends, codes, texts = found
    columns = np.array(registered([*texts], NAMES[role], reader), np.int64)
    kind: Any = np.int32 if len(codes) < 2**31 else np.int64
    return _unignored(Lists(ends.astype(kind, copy=False), codes.astype(kind, copy=False), columns))


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
    return _Lists(_unignored(lists_of_arrow(array, name, reader)))
