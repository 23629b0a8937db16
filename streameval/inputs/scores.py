"""Sources of scores: matrices, sparse matrices, mappings, ranked lists and the best k labels of each example."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.one import named
from streameval.inputs.reader import IGNORED, PRED, Reader
from streameval.inputs.sides import names_of, positions_of
from streameval.inputs.tensors import array_of, without_tensors
from streameval.inputs.values import plain_array
from streameval.kernel import backend
from streameval.kernel.types import FloatArray, IntArray, Ragged, ScoreArray, UInt8Array
from streameval.schema.batch import offsets_of
from streameval.schema.text import number_or_none, quoted

__all__ = ["DenseScores", "ListedScores", "ScoredSide", "TopK", "filtered", "no_scores", "scored_side_of"]


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


@dataclass(frozen=True, slots=True)
class DenseScores:
    """Rows of a matrix; 1 in ``missing`` where there is no score."""

    columns: IntArray
    scores: ScoreArray
    missing: UInt8Array | None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.scores)

    def lists(self) -> tuple[Ragged, FloatArray]:
        """The ranked columns of each row and their scores."""
        there = np.ones(self.scores.shape, np.bool_) if self.missing is None else self.missing == 0
        row, column = np.nonzero(there)
        counts = np.bincount(row, minlength=len(self.scores))
        return (offsets_of(counts), self.columns[column]), self.scores[row, column].astype(np.float64)


@dataclass(frozen=True, slots=True)
class ListedScores:
    """For each example its ranked columns and their scores; ``predicted`` are decided without a score."""

    ranked: Ragged
    scores: FloatArray
    named: Ragged | None = None
    everywhere: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    numeric: UInt8Array | None = None
    predicted: Ragged | None = None

    @property
    def examples(self) -> int:
        """How many there are."""
        return len(self.ranked[0]) - 1

    def lists(self) -> tuple[Ragged, FloatArray]:
        """The same."""
        return self.ranked, self.scores


class ScoredSide(Protocol):
    """A source of pieces. ``length`` is None where it is not known before the end."""

    length: int | None
    width: int

    def take(self, size: int) -> DenseScores | ListedScores:
        """The next ``size`` examples, fewer at the end."""


def filtered(lists: Ragged, scores: FloatArray, kept: np.ndarray[Any, Any]) -> tuple[Ragged, FloatArray]:
    """The lists, and the scores of their entries, without some of them."""
    offsets, columns = lists
    if kept.all():
        return lists, scores
    return (offsets_of(kept)[offsets], columns[kept]), scores[kept]


# -- recognising scores -----------------------------------------------------------------------------------------------


def scored_side_of(given: object, reader: Reader, borrowed: list[object] | None) -> ScoredSide:
    """Recognise the scores of many examples. A matrix without column names takes the ``borrowed`` ones."""
    if isinstance(given, TopK):
        return _Best(given, borrowed, reader)
    sparse = hasattr(given, "tocsr") and hasattr(given, "shape")
    if isinstance(given, str | bytes | Mapping | AbstractSet) and not sparse:
        raise InputError(
            f"y_pred must be many examples in order, not one {type(given).__name__}; "
            "for one example use update, for many give a list of them"
        )
    own = names_of(given)
    if own is not None:
        return _frame(given, own, reader)
    if sparse:
        matrix = given.tocsr()  # type: ignore[attr-defined]
        return _SparseScores(matrix, positions_of(matrix.shape[1], borrowed, PRED, reader), reader)
    if hasattr(given, "to_pylist"):
        given = given.to_pylist()
    elif hasattr(given, "to_list"):  # the Series of pandas and polars
        given = given.to_list()
    elif isinstance(given, memoryview) or (not isinstance(given, list | tuple) and hasattr(given, "__array__")):
        array = array_of(given, "y_pred")
        if array.ndim == 2:
            return _Scores(array, positions_of(array.shape[1], borrowed, PRED, reader), reader)
        given = array.tolist()
    if isinstance(given, Iterable):
        return _Rankings(iter(given), len(given) if isinstance(given, Sized) else None, reader)
    raise InputError(f"y_pred must be a matrix of scores or an iterable of examples, not {quoted(given)}")


def _checked(values: Any, reader: Reader) -> tuple[ScoreArray, UInt8Array | None]:
    """Scores as float32 or float64, and 1 where there is none."""
    array = plain_array(values, "y_pred")
    if array.dtype.kind == "b" and array.size:
        raise no_scores(array.dtype)
    if array.dtype.kind == "O":
        kinds = set(map(type, array.reshape(-1).tolist()))
        if bool in kinds or np.bool_ in kinds:
            raise no_scores("booleans")
        numbers = [math.nan if value is None else number_or_none(value) for value in array.reshape(-1).tolist()]
        if None in numbers:
            raise InputError(f"y_pred holds {quoted(array.reshape(-1)[numbers.index(None)])}; scores are numbers")
        given, array = array, np.array(numbers, np.float64).reshape(array.shape)
        if (np.isfinite(array) & (array != given)).any():
            raise InputError("y_pred holds scores that no float64 equals; round them first, so that ties are clear")
    if array.dtype.kind in "iu" and array.size and (int(array.max()) > 2**53 or int(array.min()) < -(2**53)):
        raise InputError("y_pred holds integers beyond 2**53, which no float64 tells apart; give smaller scores")
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    with np.errstate(over="ignore"):
        scores: ScoreArray = (
            np.ascontiguousarray(array, np.float32) if narrow else np.ascontiguousarray(array, np.float64)
        )
    if array.dtype.itemsize > 8 and ((scores != array) & (array == array)).any():
        raise InputError("y_pred holds scores that no float64 equals; round them first, so that ties are clear")
    finite = np.isfinite(scores)
    if finite.all():
        return scores, None
    missing = np.isnan(scores)
    if not (finite | missing).all():
        raise InputError("y_pred holds an infinite score; scores must be finite")
    if not reader.drops_nan:
        raise InputError('y_pred holds NaN; give numbers, or build with nan="missing"')
    scores = scores.copy()
    scores[missing] = 0
    return scores, missing.view(np.uint8)


def no_scores(given: object) -> InputError:
    """The error about decisions where scores are needed."""
    return InputError(
        f"y_pred holds decisions ({quoted(given)}), but rankings and curves need scores; give numbers, or ranked lists"
    )


class _Scores:
    """A 2-D array."""

    def __init__(self, values: np.ndarray[Any, Any], columns: IntArray, reader: Reader) -> None:
        keep = columns != IGNORED
        self._values = values if keep.all() else values[:, keep]
        self._columns, self._reader = columns[keep], reader
        self._start = 0
        self.length: int | None = len(values)
        self.width = len(self._columns)

    def take(self, size: int) -> DenseScores:
        block = self._values[self._start : self._start + size]
        self._start += len(block)
        return DenseScores(self._columns, *_checked(block, self._reader))


def _frame(frame: Any, names: list[object], reader: Reader) -> ScoredSide:
    try:
        columns = np.array(reader.columns(names), np.int64)
    except LabelError as error:
        raise named(error, PRED) from None
    there = columns[columns != IGNORED]
    if len(np.unique(there)) != len(there):
        raise LabelError("y_pred has two columns of one name; name each label once")
    if hasattr(frame, "to_numpy") and not hasattr(frame, "num_rows"):
        values = frame.to_numpy()
        if len({str(kind) for kind in frame.dtypes}) > 1:
            # One type for all columns would round integers and take booleans for scores.
            values = np.stack([np.array(frame[name].to_list(), object) for name in names], axis=1)
    else:
        parts = [np.asarray(frame.column(position).to_pylist(), object) for position in range(len(names))]
        values = np.stack(parts, axis=1) if parts else np.zeros((frame.num_rows, 0))
    return _Scores(np.asarray(values), columns, reader)


class _SparseScores:
    """A sparse matrix in compressed rows. What is not stored has no score: it ranks behind all that has one."""

    def __init__(self, matrix: Any, columns: IntArray, reader: Reader) -> None:
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        offsets, places = np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices, np.int64)
        inside = len(offsets) == matrix.shape[0] + 1 and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
        if (
            not inside
            or offsets[-1] > min(len(places), len(matrix.data))
            or not ((places >= 0) & (places < len(columns))).all()
        ):
            raise InputError(f"y_pred is a damaged sparse matrix: its indices lie outside its shape {matrix.shape}")
        end = int(offsets[-1])
        scores, missing = _checked(np.asarray(matrix.data)[:end], reader)
        placed = columns[places[:end]]
        kept = placed != IGNORED if missing is None else (placed != IGNORED) & (missing == 0)
        self._lists = filtered((offsets, placed), scores.astype(np.float64), kept)
        self._everywhere = columns[columns != IGNORED]
        self._start = 0
        self.length: int | None = matrix.shape[0]
        self.width = 0
        self._zeros = np.zeros(0, np.int64)
        if reader.reads_scores:  # what is not stored is decided as 0, as where nothing but decisions is kept
            low = np.broadcast_to(reader.threshold_row(self._everywhere), self._everywhere.shape) <= 0.0
            self._zeros = self._everywhere[low]
        if len(self._zeros):
            self._stored = offsets, placed
            self.width = len(reader.labels)

    def take(self, size: int) -> ListedScores:
        start = self._start
        ranked, span = _taken(self._lists[0], start, size)
        self._start += len(ranked[0]) - 1
        predicted = None
        if len(self._zeros):
            offsets, columns = _taken(self._stored, start, size)[0]
            free = np.ones((len(offsets) - 1, self.width + 1), np.bool_)  # the last column is that of ignored labels
            free[np.repeat(np.arange(len(free)), np.diff(offsets)), columns] = False
            row, place = np.nonzero(free[:, self._zeros])
            predicted = offsets_of(np.bincount(row, minlength=len(free))), self._zeros[place]
        return ListedScores(ranked, self._lists[1][span], None, self._everywhere, None, predicted)


def _taken(lists: Ragged, start: int, size: int) -> tuple[Ragged, slice]:
    """Some of the lists, and where their entries were."""
    offsets, columns = lists
    bounds = offsets[start : start + size + 1]
    span = slice(int(bounds[0]), int(bounds[-1]))
    return (bounds - bounds[0], columns[span]), span


class _Best:
    """The best labels of each example."""

    def __init__(self, best: TopK, borrowed: list[object] | None, reader: Reader) -> None:
        indices = np.asarray(array_of(best.indices, "TopK.indices"))
        if indices.ndim != 2 or indices.dtype.kind not in "iu":
            raise InputError(
                f"TopK.indices must be a 2-D array of integers, not shape {indices.shape} of {indices.dtype}"
            )
        if best.scores is None:
            scores: ScoreArray = np.broadcast_to(-np.arange(indices.shape[1], dtype=np.float64), indices.shape)
            missing: Any = None
        else:
            scores, missing = _checked(array_of(best.scores, "TopK.scores"), reader)
            if scores.shape != indices.shape:
                raise InputError(f"TopK.scores has shape {scores.shape} and TopK.indices {indices.shape}; give both")
        row, place = np.nonzero(indices >= 0)
        chosen = indices[row, place].astype(np.int64)
        columns = _columns_of(chosen, borrowed, reader)
        twice = row * (int(columns.max(initial=0)) + 1) + columns
        if len(np.unique(twice)) != len(twice):
            raise InputError("TopK.indices names a label twice for one example; name each once")
        every = offsets_of(np.bincount(row, minlength=len(indices))), columns
        there = np.ones(len(row), np.bool_) if missing is None else missing[row, place] == 0
        given = np.ascontiguousarray(scores[row, place], np.float64)
        self._lists = filtered(every, given, there)
        self._named = None if there.all() else filtered(every, given, ~there)[0]
        self._everywhere = np.arange(0 if reader.config.labels is None else len(reader.config.labels))
        self._ordered = best.scores is None
        self._start = 0
        self.length: int | None = len(indices)
        self.width = 0

    def take(self, size: int) -> ListedScores:
        ranked, span = _taken(self._lists[0], self._start, size)
        named = None if self._named is None else _taken(self._named, self._start, size)[0]
        self._start += len(ranked[0]) - 1
        numeric = np.zeros(len(ranked[1]), np.uint8) if self._ordered else None
        return ListedScores(ranked, self._lists[1][span], named, self._everywhere, numeric)


def _columns_of(chosen: IntArray, borrowed: list[object] | None, reader: Reader) -> IntArray:
    """The columns of indices: into the declared labels, into the names of the data frame beside them, or labels."""
    declared = reader.config.labels
    if declared is None and borrowed is None:
        distinct, inverse = np.unique(chosen, return_inverse=True)
        reader.refuse_strings("y_pred")
        return np.array(reader.columns(distinct.tolist()), np.int64)[inverse.reshape(-1)]
    named = declared if declared is not None else borrowed
    count = 0 if named is None else len(named)
    if len(chosen) and int(chosen.max()) >= count:
        what = "labels are declared" if declared is not None else "columns has the data frame beside it"
        raise InputError(f"TopK.indices holds {chosen.max()}, but {count} {what}")
    return chosen if declared is not None else positions_of(count, borrowed, PRED, reader)[chosen]


class _Rankings:
    """Any iterable of single examples: mappings label -> score, ranked lists of labels, rows of scores."""

    def __init__(self, source: Iterator[object], length: int | None, reader: Reader) -> None:
        self._source, self._reader = source, reader
        self.length = length
        self.width = 4096

    def take(self, size: int) -> DenseScores | ListedScores:
        examples = without_tensors(list(islice(self._source, size)), "y_pred")
        plain = _plain_mappings(examples, self._reader)
        if plain is not None:
            return plain
        rows = [example for example in examples if isinstance(example, np.ndarray) and example.dtype.kind in "biuf"]
        if examples and len(rows) == len(examples) and {(row.ndim, row.size) for row in rows} == {(1, rows[0].size)}:
            columns = self._reader.positions(len(rows[0]), "y_pred")
            return _Scores(np.stack(rows), columns, self._reader).take(len(rows))
        lengths: list[int] = []
        found: list[int] = []
        scores: list[float] = []
        numeric: list[int] = []
        absent: list[int] = []
        ends = [0]
        for example in examples:
            there = _entries(example, self._reader)
            known = [(column, score) for column, score in there.items() if score is not None]
            lengths.append(len(known))
            found += [column for column, _ in known]
            scores += [score for _, score in known]
            numeric += [int(not isinstance(example, list | tuple))] * len(known)
            absent += [column for column, score in there.items() if score is None]
            ends.append(len(absent))
        return ListedScores(
            (offsets_of(np.array(lengths, np.int64)), np.array(found, np.int64)),
            np.array(scores, np.float64),
            (np.array(ends, np.int64), np.array(absent, np.int64)) if absent else None,
            numeric=np.array(numeric, np.uint8),
        )


def _plain_mappings(examples: list[Any], reader: Reader) -> ListedScores | None:
    """Dicts of plain labels and numbers, all at once; None where one needs a closer look."""
    found = backend.lists.score_lists(reader.labels.columns, examples)
    if found is None and type(examples[0]) is dict and reader.config.unknown != "ignore":
        reader.meet(examples)
        found = backend.lists.score_lists(reader.labels.columns, examples)
    if found is None:
        return None
    offsets, columns, scores, spelled = found
    if spelled:
        reader.spell()
    return ListedScores((offsets, columns), scores, numeric=np.ones(len(scores), np.uint8))


def _entries(example: object, reader: Reader) -> dict[int, float | None]:
    """The scores of one example by column, None where missing; of a ranked list, places counted from 0 downwards."""
    if hasattr(example, "items") and hasattr(example, "iloc"):  # a pandas Series
        example = dict(example.items())
    if isinstance(example, Mapping):
        return {
            column: _score(value, label, reader)
            for label, value in example.items()
            if (column := _column(label, reader)) != IGNORED
        }
    if isinstance(example, list | tuple):
        ranked: dict[int, float | None] = {}
        for label in example:
            column = _column(label, reader)
            if column != IGNORED and column not in ranked:
                ranked[column] = -float(len(ranked))
        return ranked
    if isinstance(example, np.ndarray) or hasattr(example, "__array__"):
        row = array_of(example, "y_pred")
        if row.ndim != 1:
            raise InputError(f"y_pred has an example of shape {row.shape}; an example is a row of scores")
        scores, missing = _checked(row, reader)
        columns = reader.positions(len(row), "y_pred").tolist()
        absent = [0] * len(row) if missing is None else missing.tolist()
        return {
            column: None if gone else score
            for column, score, gone in zip(columns, scores.tolist(), absent, strict=True)
            if column != IGNORED
        }
    if isinstance(example, AbstractSet):
        raise no_scores(example)
    raise InputError(
        f"y_pred must be a mapping label -> score, a ranked list of labels or a row of scores, not {quoted(example)}"
    )


def _column(label: object, reader: Reader) -> int:
    try:
        return reader.column(label)
    except LabelError as error:
        raise named(error, PRED) from None


def _score(value: object, label: object, reader: Reader) -> float | None:
    if isinstance(value, bool | np.bool_):
        raise no_scores({label: value})
    number = number_or_none(value)
    if number is None:
        raise InputError(f"y_pred is {quoted(value)} for label {quoted(label)}; scores are numbers")
    if math.isnan(number):
        if reader.drops_nan:
            return None
        raise InputError(f'y_pred is NaN for label {quoted(label)}; give a number, or build with nan="missing"')
    if math.isinf(number):
        raise InputError(f"y_pred is infinite for label {quoted(label)}; scores must be finite")
    if number != value:
        raise InputError(
            f"y_pred is {quoted(value)} for label {quoted(label)}, which no float64 equals; round it first"
        )
    return number
