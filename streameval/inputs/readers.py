"""One reader for each form of many examples. Each yields arrays, piece by piece."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars, lists_of_arrow
from streameval.inputs.columns import IGNORED, NAMES, PRED, Reader
from streameval.inputs.examples import Examples, string_lists
from streameval.inputs.forms import Form, form_of
from streameval.inputs.pieces import Columns, Piece, Rows, Scores, Source, filtered, listed, unignored
from streameval.inputs.topk import TopK
from streameval.inputs.values import array_of, binarize, checked_scores, plain_array
from streameval.kernel import backend
from streameval.kernel.types import DAMAGED, DISTINCT, FloatArray, IntArray, Lists, Places
from streameval.schema.batch import joined, offsets_of, part_of
from streameval.schema.text import quoted

__all__ = ["source_of"]


def source_of(value: Any, role: int, reader: Reader, frame: list[object] | None) -> Source:
    """A source of the examples in an argument. A matrix without column names takes those of the data ``frame``."""
    name, form = NAMES[role], form_of(value)
    scored = role == PRED and reader.keeps_scores
    if form in (Form.STRING, Form.MAPPING, Form.SET):
        raise InputError(
            f"{name} must be many examples in order, not one {type(value).__name__}; "
            "for one example use update, for many give a list of them"
        )
    if form in (Form.TABLE, Form.FRAME):
        return _frame(value, form, role, reader)
    if form is Form.SPARSE:
        if len(value.shape) != 2:
            raise InputError(f"{name} has shape {value.shape}; update_many takes matrices, examples x labels")
        matrix = value.tocsr()
        return _Sparse(matrix, _positions(matrix.shape[1], frame, role, reader), role, reader)
    if form is Form.TOP_K and scored:
        return _Best(value, frame, reader)
    if form is Form.POLARS and not scored:
        try:
            value, form = arrow_of_polars(value), Form.ARROW
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            return _examples(value.to_list(), role, reader)
    if form is Form.ARROW and not scored:
        return _arrow(value, role, reader)
    if form in (Form.ARROW, Form.POLARS, Form.SERIES):
        return _series(value, form, role, reader, scored)
    if form in (Form.ARRAY, Form.BUFFER):
        array = array_of(value, name)
        if array.ndim == 2:
            return _Matrix(array, _positions(array.shape[1], frame, role, reader), role, reader)
        if array.ndim and (scored or (array.ndim == 1 and array.dtype.kind == "O")):
            return _examples(array.tolist(), role, reader)
        if not scored:
            raise InputError(
                f"{name} has shape {array.shape} and type {array.dtype}; update_many takes 2-D arrays, "
                "examples x labels: for one example use update"
            )
    if form in (Form.LIST, Form.ITERABLE):
        return _examples(value, role, reader)
    raise InputError(f"{name} must be a matrix, a column of lists or an iterable of examples, not {quoted(value)}")


def _examples(values: Any, role: int, reader: Reader) -> Source:
    return Examples(iter(values), len(values) if isinstance(values, Sized) else None, role, reader)


def _positions(width: int, frame: list[object] | None, role: int, reader: Reader) -> IntArray:
    """The columns of a matrix: those of the data frame in another argument, or by position."""
    if frame is None:
        return reader.positions(width, NAMES[role])
    if width != len(frame):
        raise InputError(
            f"{NAMES[role]} has {width} columns but the data frame beside it has {len(frame)}; give the same columns"
        )
    return np.array(reader.columns_in(frame, NAMES[role]), np.int64)


# -- matrices ---------------------------------------------------------------------------------------------------------


class _Matrix:
    """A 2-D array."""

    def __init__(self, values: np.ndarray[Any, Any], columns: IntArray, role: int, reader: Reader) -> None:
        self._scored = role == PRED and reader.keeps_scores
        values = values if self._scored else plain_array(values, NAMES[role])
        if (columns == IGNORED).any():
            kept = columns != IGNORED
            values, columns = values[:, kept], columns[kept]
        self._values, self._columns = values, columns
        self._role, self._reader = role, reader
        self._thresholds: float | FloatArray = 0.0
        if role == PRED and reader.reads_scores and not self._scored:
            self._thresholds = reader.threshold_row(columns)
        self._start = 0
        self.length: int | None = len(values)
        self.width = len(columns)

    def take(self, size: int) -> Piece:
        block = self._values[self._start : self._start + size]
        self._start += len(block)
        if self._scored:
            return Scores(self._columns, *checked_scores(block, self._reader))
        return Rows(block, self._columns, self._role, self._reader, self._thresholds)


def _frame(frame: Any, form: Form, role: int, reader: Reader) -> Source:
    """A table or data frame, whose columns are labels."""
    names = list(frame.column_names if form is Form.TABLE else frame.columns)
    columns = np.array(reader.columns_in(names, NAMES[role]), np.int64)
    seen: set[int] = set()
    for label, column in zip(names, columns.tolist(), strict=True):
        if column in seen:
            raise LabelError(f"{NAMES[role]} has two columns named {quoted(label)}; name each label once")
        if column != IGNORED:
            seen.add(column)
    if form is Form.FRAME:
        values = np.asarray(frame.to_numpy())
        kinds = {str(kind).lower() for kind in frame.dtypes}
        if role == PRED and (reader.keeps_scores or reader.reads_scores) and len(kinds) > 1:
            # One type for all columns would round integers and take booleans for scores.
            values = np.stack([np.array(frame[name].to_list(), object) for name in names], axis=1)
    else:
        parts = [np.asarray(frame.column(position).to_pylist(), object) for position in range(len(names))]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0), np.uint8)
    return _Matrix(values, columns, role, reader)


class _Sparse:
    """A sparse matrix in compressed rows.

    A cell that is not stored is 0, also where it is compared with a threshold; as a score it ranks behind all others.
    """

    def __init__(self, matrix: Any, columns: IntArray, role: int, reader: Reader) -> None:
        lists = _stored(matrix, role)
        if not lists.distinct:
            matrix = matrix.copy()  # stored duplicates add up; summing them in place would change the argument
            matrix.sum_duplicates()
            lists = _stored(matrix, role)
        data = np.asarray(matrix.data)[: len(lists.places)]
        self._columns = columns
        if (columns == IGNORED).any():  # values of ignored labels are not even looked at
            self._columns = columns[columns != IGNORED]
            lists, data = unignored(lists._replace(columns=columns)), data[columns[lists.places] != IGNORED]
        elif not np.array_equal(columns, np.arange(len(columns))):
            lists = lists._replace(columns=columns)
        self._scored = role == PRED and reader.keeps_scores
        self._missing: Any = None
        if self._scored:
            data, self._missing = checked_scores(data, reader)
            data = data.astype(np.float64)
            lists = Lists(lists.offsets.astype(np.int64), lists.found().astype(np.int64))
        self._lists, self._data = lists, plain_array(data, NAMES[role])
        self._role, self._reader = role, reader
        self._start = 0
        self.length: int | None = matrix.shape[0]
        self.width = 0
        self._thresholds: FloatArray | None = None
        self._zeros = np.zeros(0, np.int64)
        if role == PRED and reader.reads_scores and self._data.dtype != np.bool_:
            by_column = np.broadcast_to(reader.threshold_row(self._columns), self._columns.shape)
            self._thresholds = np.zeros(len(reader.labels), np.float64)
            self._thresholds[self._columns] = by_column
            self._zeros = self._columns[by_column <= 0.0]
            self.width = max(4096, len(reader.labels)) if len(self._zeros) else 0

    def take(self, size: int) -> Piece:
        lists, span = part_of(self._lists, self._start, self._start + size)
        values, examples = self._data[span], len(lists.offsets) - 1
        self._start += examples
        zeros = self._unstored(lists, examples) if len(self._zeros) else None
        if self._scored:
            if self._missing is not None:
                present = self._missing[span] == 0
                lists, values = filtered(lists, present), values[present]
            return Columns(examples, zeros, mentioned_by_all=self._columns, ranked=lists, scores=values)
        if self._thresholds is None and values.dtype.kind in "biuf" and (values == 1).all():
            return Columns(examples, lists, mentioned_by_all=self._columns)
        thresholds = 0.0 if self._thresholds is None else self._thresholds[lists.found()]
        bits, masked = binarize(values, self._role, self._reader, thresholds)
        positive = filtered(lists, bits != 0)
        unknown = None if masked is None else filtered(lists, masked != 0)
        if zeros is not None:
            positive = joined([positive, zeros], examples)
        return Columns(examples, positive, unknown, mentioned_by_all=self._columns)

    def _unstored(self, lists: Lists, examples: int) -> Lists:
        """The cells that are not stored where the threshold is at or below 0."""
        absent = np.ones((examples, len(self._reader.labels)), np.uint8)
        absent[np.repeat(np.arange(examples), np.diff(lists.offsets)), lists.found()] = 0
        return listed(absent[:, self._zeros], self._zeros)


def _stored(matrix: Any, role: int) -> Lists:
    """The columns of what is stored in each row, in the arrays of the matrix if the kernel can read them."""
    offsets, places = _indices(matrix.indptr), _indices(matrix.indices)
    if offsets.dtype != places.dtype:
        offsets, places = offsets.astype(np.int64), places.astype(np.int64)
    order = backend.lists.list_order(offsets, places[: len(matrix.data)], matrix.shape[1])
    if order == DAMAGED or len(offsets) != matrix.shape[0] + 1:
        raise InputError(
            f"{NAMES[role]} is a damaged sparse matrix: its indices lie outside its shape {matrix.shape}, "
            f"or its offsets outside its {len(matrix.data)} values"
        )
    return Lists(offsets, places[: offsets[-1]], None, order == DISTINCT)


def _indices(numbers: Any) -> Places:
    array = np.asarray(numbers)
    plain = array.ndim == 1 and array.flags.c_contiguous and array.dtype == np.int32
    return array if plain else np.ascontiguousarray(array, np.int64)


# -- columns of lists -------------------------------------------------------------------------------------------------


class _Lists:
    """A column of lists of labels."""

    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self._start = 0
        self.length: int | None = len(lists.offsets) - 1
        self.width = 0

    def take(self, size: int) -> Piece:
        lists, _ = part_of(self._lists, self._start, self._start + size)
        self._start += len(lists.offsets) - 1
        return Columns(len(lists.offsets) - 1, lists)


def _arrow(array: Any, role: int, reader: Reader) -> Source:
    """An Arrow column of lists; other Arrow types go through Python objects."""
    name = NAMES[role]
    if array.null_count:
        raise InputError(
            f"{name} holds {array.null_count} null lists; fill them with empty lists, or drop those examples"
        )
    if not str(array.type).startswith(("list<", "large_list<")):
        return _examples(array.to_pylist(), role, reader)
    return _Lists(unignored(lists_of_arrow(array, name, reader)))


def _series(series: Any, form: Form, role: int, reader: Reader, scored: bool) -> Source:
    """A column of lists, or of examples of another form, as Python objects."""
    if scored:
        return _examples(series.to_pylist() if form is Form.ARROW else series.to_list(), role, reader)
    lists = string_lists(series.tolist(), role, reader) if hasattr(series, "tolist") else None
    if lists is not None:
        return _Lists(lists)
    rows = (value.tolist() if isinstance(value, np.ndarray) else value for value in series)
    return Examples(rows, len(series), role, reader)


# -- the best labels --------------------------------------------------------------------------------------------------


class _Best:
    """The best labels of each example."""

    def __init__(self, best: TopK, frame: list[object] | None, reader: Reader) -> None:
        indices = np.asarray(array_of(best.indices, "TopK.indices"))
        if indices.ndim != 2 or indices.dtype.kind not in "iu":
            raise InputError(
                f"TopK.indices must be a 2-D array of integers, not shape {indices.shape} of {indices.dtype}"
            )
        scores: Any = np.broadcast_to(-np.arange(indices.shape[1], dtype=np.float64), indices.shape)
        missing: Any = None
        if best.scores is not None:
            scores, missing = checked_scores(array_of(best.scores, "TopK.scores"), reader)
            if scores.shape != indices.shape:
                raise InputError(f"TopK.scores has shape {scores.shape} and TopK.indices {indices.shape}; give both")
        row, place = np.nonzero(indices >= 0)
        columns = _columns_of(indices[row, place].astype(np.int64), frame, reader)
        twice = row * (int(columns.max(initial=0)) + 1) + columns
        if len(np.unique(twice)) != len(twice):
            raise InputError("TopK.indices names a label twice for one example; name each once")
        all_ = Lists(offsets_of(np.bincount(row, minlength=len(indices))), columns)
        present = np.ones(len(row), np.bool_) if missing is None else missing[row, place] == 0
        self._ranked = filtered(all_, present)
        self._scores = scores[row, place].astype(np.float64)[present]
        self._unscored = None if present.all() else filtered(all_, ~present)
        self._mentioned_by_all = np.arange(0 if reader.config.labels is None else len(reader.config.labels))
        self._ordered = best.scores is None
        self._start = 0
        self.length: int | None = len(indices)
        self.width = 0

    def take(self, size: int) -> Piece:
        start, stop = self._start, self._start + size
        ranked, span = part_of(self._ranked, start, stop)
        unscored = None if self._unscored is None else part_of(self._unscored, start, stop)[0]
        examples = len(ranked.offsets) - 1
        self._start += examples
        return Columns(
            examples,
            mentioned=unscored,
            mentioned_by_all=self._mentioned_by_all,
            ranked=ranked,
            scores=self._scores[span],
            numeric=np.zeros(len(ranked.places), np.uint8) if self._ordered else None,
        )


def _columns_of(indices: IntArray, frame: list[object] | None, reader: Reader) -> IntArray:
    """The columns of indices: into the declared labels, into the names of the data frame, or labels."""
    declared = reader.config.labels
    if declared is None and frame is None:
        distinct, inverse = np.unique(indices, return_inverse=True)
        reader.note_integer_labels(NAMES[PRED])
        return np.array(reader.columns(distinct.tolist()), np.int64)[inverse.reshape(-1)]
    names = declared if declared is not None else frame
    count = 0 if names is None else len(names)
    if len(indices) and int(indices.max()) >= count:
        what = "labels are declared" if declared is not None else "columns has the data frame beside it"
        raise InputError(f"TopK.indices holds {indices.max()}, but {count} {what}")
    return indices if declared is not None else _positions(count, frame, PRED, reader)[indices]
