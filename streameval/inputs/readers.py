"""One reader for each form of many examples. Each yields arrays, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.arrow import arrow_of_polars, lists_of_arrow
from streameval.inputs.columns import IGNORED, NAMES, PRED, Reader
from streameval.inputs.examples import Examples, string_lists
from streameval.inputs.forms import Form, columns_of, form_of
from streameval.inputs.pieces import Columns, Piece, Rows, Scores, Source, filtered, listed, unignored
from streameval.inputs.topk import TopK
from streameval.inputs.values import array_of, binarize, checked_scores, plain_array
from streameval.kernel import backend
from streameval.kernel.types import DAMAGED, DISTINCT, FloatArray, IntArray, Lists, Places
from streameval.schema.batch import joined, offsets_of, part_of
from streameval.schema.text import quoted


def source_of(value: object, form: Form, argument: Argument) -> Source:
    """A source of the examples in an argument."""
    return _SOURCES.get(form, _refuse)(value, argument)


class Argument:
    """Which argument is read, and how; ``scored``: a state reads its scores.

    A matrix without column names takes those of the data ``frame``.
    """

    __slots__ = ("frame", "name", "reader", "role", "scored")

    def __init__(self, role: int, reader: Reader, frame: list[object] | None) -> None:
        self.role, self.reader, self.frame, self.name = role, reader, frame, NAMES[role]
        self.scored = role == PRED and reader.keeps_scores

    def columns(self, width: int) -> IntArray:
        """The columns of a matrix: those of the data frame in another argument, or by position."""
        if self.frame is None:
            return self.reader.positions(width, self.name)
        if width != len(self.frame):
            raise InputError(
                f"{self.name} has {width} columns but the data frame of the other argument has {len(self.frame)}; "
                "give the same columns"
            )
        return np.array(self.reader.columns_in(self.frame, self.name), np.int64)


def _examples(values: Any, argument: Argument) -> Source:
    length = len(values) if isinstance(values, Sized) else None
    return Examples(iter(values), length, argument.role, argument.reader)


def _refuse(value: object, argument: Argument) -> Source:
    raise InputError(
        f"{argument.name} must be a matrix, a column of lists or an iterable of examples, not {quoted(value)}"
    )


def _refuse_one(value: object, argument: Argument) -> Source:
    raise InputError(
        f"{argument.name} must be many examples in order, not one {type(value).__name__}; "
        "for one example use update, for many give a list of them"
    )


# -- matrices ---------------------------------------------------------------------------------------------------------


def _array(value: object, argument: Argument) -> Source:
    """An array: a matrix, or a column of examples."""
    array = array_of(value, argument.name)
    if array.ndim == 2:
        return _Matrix(array, argument.columns(array.shape[1]), argument)
    if array.ndim and (argument.scored or (array.ndim == 1 and array.dtype.kind == "O")):
        return _examples(array.tolist(), argument)
    if argument.scored:
        return _refuse(value, argument)
    raise InputError(
        f"{argument.name} has shape {array.shape} and type {array.dtype}; update_many takes 2-D arrays, "
        "examples x labels: for one example use update"
    )


class _Matrix:
    """A 2-D array."""

    def __init__(self, values: np.ndarray[Any, Any], columns: IntArray, argument: Argument) -> None:
        self._role, self._reader = argument.role, argument.reader
        self._scored = argument.scored
        values = values if self._scored else plain_array(values, argument.name)
        if self._reader.config.unknown == "ignore" and (columns == IGNORED).any():
            wanted = columns != IGNORED
            values, columns = values[:, wanted], columns[wanted]
        self._values, self._columns = values, columns
        self._thresholds: float | FloatArray = 0.0
        if self._role == PRED and self._reader.reads_scores and not self._scored:
            self._thresholds = self._reader.threshold_row(columns)
        self._start = 0
        self.length: int | None = len(values)
        self.width = len(columns)

    def take(self, size: int) -> Piece:
        block = self._values[self._start : self._start + size]
        self._start += len(block)
        if self._scored:
            return Scores(self._columns, *checked_scores(block, self._reader))
        return Rows(block, self._columns, self._role, self._reader, self._thresholds)


def _frame(frame: Any, argument: Argument) -> Source:
    """A table or data frame, whose columns are labels."""
    role, reader = argument.role, argument.reader
    form = form_of(frame)
    names = columns_of(frame, form)
    columns = np.array(reader.columns_in(names, argument.name), np.int64)
    seen: set[int] = set()
    for label, column in zip(names, columns.tolist(), strict=True):
        if column in seen:
            raise LabelError(f"{argument.name} has two columns named {quoted(label)}; name each label once")
        if column != IGNORED:
            seen.add(column)
    if form == "frame":
        values = np.asarray(frame.to_numpy())
        kinds = {str(kind).lower() for kind in frame.dtypes}
        if role == PRED and (reader.keeps_scores or reader.reads_scores) and len(kinds) > 1:
            # One type for all columns would round integers and take booleans for scores.
            values = np.stack([np.array(frame[name].to_list(), object) for name in names], axis=1)
    else:
        parts = [np.asarray(frame.column(position).to_pylist(), object) for position in range(len(names))]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0), np.uint8)
    return _Matrix(values, columns, argument)


def _sparse(value: Any, argument: Argument) -> Source:
    if len(value.shape) != 2:
        raise InputError(f"{argument.name} has shape {value.shape}; update_many takes matrices, examples x labels")
    matrix = value.tocsr()
    return _Sparse(matrix, argument.columns(matrix.shape[1]), argument)


class _Sparse:
    """A sparse matrix in compressed rows.

    A cell that is not stored is 0, also where it is compared with a threshold; as a score it ranks last.
    """

    def __init__(self, matrix: Any, columns: IntArray, argument: Argument) -> None:
        role, reader = self._role, self._reader = argument.role, argument.reader
        lists = _stored(matrix, argument.name)
        if not lists.distinct:
            matrix = matrix.copy()  # stored duplicates add up; summing them in place would change the argument
            matrix.sum_duplicates()
            lists = _stored(matrix, argument.name)
        data = np.asarray(matrix.data)[: len(lists.places)]
        self._columns = columns
        if (columns == IGNORED).any():  # values of ignored labels are not even looked at
            self._columns = columns[columns != IGNORED]
            lists, data = unignored(lists._replace(columns=columns)), data[columns[lists.places] != IGNORED]
        elif not np.array_equal(columns, np.arange(len(columns))):
            lists = lists._replace(columns=columns)
        self._scored = argument.scored
        self._missing: Any = None
        if self._scored:
            data, self._missing = checked_scores(data, reader)
            data = data.astype(np.float64)
            lists = Lists(lists.offsets.astype(np.int64), lists.flat().astype(np.int64))
        self._lists, self._data = lists, plain_array(data, argument.name)
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
        thresholds = 0.0 if self._thresholds is None else self._thresholds[lists.flat()]
        bits, masked = binarize(values, self._role, self._reader, thresholds)
        positive = filtered(lists, bits != 0)
        unknown = None if masked is None else filtered(lists, masked != 0)
        if zeros is not None:
            positive = joined([positive, zeros], examples)
        return Columns(examples, positive, unknown, mentioned_by_all=self._columns)

    def _unstored(self, lists: Lists, examples: int) -> Lists:
        """The cells that are not stored where the threshold is at or below 0."""
        absent = np.ones((examples, len(self._reader.labels)), np.uint8)
        absent[np.repeat(np.arange(examples), np.diff(lists.offsets)), lists.flat()] = 0
        return listed(absent[:, self._zeros], self._zeros)


def _stored(matrix: Any, name: str) -> Lists:
    """The columns of what is stored in each row, in the arrays of the matrix if the kernel can read them."""
    offsets, places = _indices(matrix.indptr), _indices(matrix.indices)
    if offsets.dtype != places.dtype:
        offsets, places = offsets.astype(np.int64), places.astype(np.int64)
    order = backend.lists.list_order(offsets, places[: len(matrix.data)], matrix.shape[1])
    if order == DAMAGED or len(offsets) != matrix.shape[0] + 1:
        raise InputError(
            f"{name} is a damaged sparse matrix: its indices lie outside its shape {matrix.shape}, "
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


def _arrow(array: Any, argument: Argument) -> Source:
    """An Arrow column of lists; other Arrow types go through Python objects."""
    if not argument.scored and array.null_count:
        raise InputError(
            f"{argument.name} holds {array.null_count} null lists; fill them with empty lists, or drop those examples"
        )
    if argument.scored or not str(array.type).startswith(("list<", "large_list<")):
        return _examples(array.to_pylist(), argument)
    return _Lists(unignored(lists_of_arrow(array, argument.name, argument.reader)))


def _polars(series: Any, argument: Argument) -> Source:
    if argument.scored:
        return _examples(series.to_list(), argument)
    try:
        return _arrow(arrow_of_polars(series), argument)
    except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
        return _examples(series.to_list(), argument)


def _series(series: Any, argument: Argument) -> Source:
    """A Series of pandas: a column of lists, or of examples of another form."""
    if argument.scored:
        return _examples(series.to_list(), argument)
    lists = string_lists(series.tolist(), argument.role, argument.reader) if hasattr(series, "tolist") else None
    if lists is not None:
        return _Lists(lists)
    rows = (value.tolist() if isinstance(value, np.ndarray) else value for value in series)
    return Examples(rows, len(series), argument.role, argument.reader)


# -- the best labels --------------------------------------------------------------------------------------------------


def _top_k(value: TopK, argument: Argument) -> Source:
    return _Best(value, argument) if argument.scored else _refuse(value, argument)


class _Best:
    """The best labels of each example."""

    def __init__(self, best: TopK, argument: Argument) -> None:
        reader = argument.reader
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
        columns = _columns_at(indices[row, place].astype(np.int64), argument)
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


def _columns_at(indices: IntArray, argument: Argument) -> IntArray:
    """The columns of indices: into the declared labels, into the names of the data frame, or labels."""
    reader, frame = argument.reader, argument.frame
    declared = reader.config.labels
    if declared is None and frame is None:
        distinct, inverse = np.unique(indices, return_inverse=True)
        reader.note_integer_labels(NAMES[PRED])
        return np.array(reader.columns(distinct.tolist()), np.int64)[inverse.reshape(-1)]
    names = declared if declared is not None else frame
    count = 0 if names is None else len(names)
    if len(indices) and int(indices.max()) >= count:
        what = f"{count} labels are declared" if declared is not None else f"the data frame has {count} columns"
        raise InputError(f"TopK.indices holds {indices.max()}, but {what}")
    return indices if declared is not None else argument.columns(count)[indices]


_SOURCES: dict[Form, Callable[[Any, Argument], Source]] = {
    "array": _array, "buffer": _array, "table": _frame, "frame": _frame, "sparse": _sparse, "arrow": _arrow,
    "polars": _polars, "series": _series, "top_k": _top_k, "list": _examples, "iterable": _examples,
    "string": _refuse_one, "mapping": _refuse_one, "set": _refuse_one,
}  # fmt: skip
"""How an argument of each form is read; any other is refused."""
