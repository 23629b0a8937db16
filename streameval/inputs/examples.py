"""Single examples: label collections, mappings, ranked lists and rows; and iterables of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.inputs.columns import IGNORED, MASK, NAMES, PRED, Reader, named
from streameval.inputs.forms import Form, form_of
from streameval.inputs.pieces import Columns, Piece, Rows, Scores, unignored
from streameval.inputs.values import (
    array_of,
    binarize,
    bit_of,
    checked_scores,
    no_scores,
    plain_array,
    score_of,
    without_tensors,
)
from streameval.kernel import backend
from streameval.kernel.types import Lists
from streameval.schema.batch import offsets_of
from streameval.schema.text import quoted

_NDARRAY = {np.ndarray}
_COLLECTIONS = {set, frozenset, list, tuple}

# -- one example ------------------------------------------------------------------------------------------------------


def bits_in(example: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    """One argument of one example as (column, bits) pairs, possibly repeated; ignored labels have column `IGNORED`."""
    try:
        return _BITS.get(form_of(example), _refuse)(example, role, reader)
    except LabelError as error:
        raise named(error, NAMES[role]) from None


def _bits_of_labels(labels: Any, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    return [(column, role) for column in reader.columns_in(labels, NAMES[role])]


def _bits_of_mapping(mapping: Any, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    return [
        (column, bit_of(value, label, role, reader))
        for label, value in mapping.items()
        if (column := reader.column(label)) != IGNORED
    ]


def _bits_of_series(series: Any, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    """A Series of pandas: its index names the labels."""
    labels = [label for label, _ in series.items()]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise LabelError(f"{NAMES[role]} has two values for label {quoted(twice)}; name each label once")
    return _bits_of_mapping(series, role, reader)


def _refuse_shape(example: Any, role: int, reader: Reader) -> Iterable[tuple[int, int]]:  # noqa: ARG001
    raise InputError(
        f"{NAMES[role]} has {len(example.shape)} dimensions, shape {example.shape}; update takes one example: "
        "for many, use update_many"
    )


def _refuse(example: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:  # noqa: ARG001
    name = NAMES[role]
    if isinstance(example, str | bytes):
        raise InputError(f"{name} is the string {quoted(example)}; for one label write {{{quoted(example)}}}")
    if example is None:
        raise InputError(f"{name} is None; give the empty set if there is no label")
    raise InputError(
        f"{name} must be a set, list or tuple of labels, a mapping label -> value, or a 1-D 0/1 array, "
        f"not {type(example).__name__} ({quoted(example)})"
    )


def _bits_of_row(example: object, role: int, reader: Reader) -> Iterable[tuple[int, int]]:
    name = NAMES[role]
    row = array_of(example, name)
    if row.ndim != 1:
        return _refuse_shape(row, role, reader)
    labels = _labels_in(row)
    if labels is not None:
        return _bits_of_labels(labels, role, reader)
    columns = reader.positions(len(row), name)
    thresholds = reader.threshold_row(columns) if role == PRED and reader.reads_scores else 0.0
    positive, masked = binarize(plain_array(row, name), role, reader, thresholds)
    bits = positive * np.uint8(role)
    if masked is not None:
        bits |= masked * np.uint8(MASK)
    return zip(columns.tolist(), bits.tolist(), strict=True)


_BITS: dict[Form, Callable[[Any, int, Reader], Iterable[tuple[int, int]]]] = {
    "list": _bits_of_labels, "set": _bits_of_labels, "mapping": _bits_of_mapping, "series": _bits_of_series,
    "array": _bits_of_row, "arrow": _bits_of_row, "polars": _bits_of_row, "frame": _refuse_shape,
    "table": _refuse_shape,
}  # fmt: skip
"""How an example of each form is read; any other is refused."""


def _labels_in(row: np.ndarray[Any, Any]) -> list[Any] | None:
    """The labels that a row of strings or objects names; None if it holds values in the order of the labels."""
    if row.dtype.kind not in "UO" or row.ndim != 1:
        return None
    values: list[Any] = row.tolist()
    strings = row.dtype.kind == "U" or any(issubclass(kind, str) for kind in set(map(type, values)))
    return values if strings or not values else None


def _scores_in(example: Any, reader: Reader) -> dict[int, float | None]:
    """The scores of one example by column, None where missing; of a ranked list, places counted from 0 downwards."""
    form = form_of(example)
    if form in ("mapping", "series"):
        return {
            column: score_of(value, label, reader)
            for label, value in example.items()
            if (column := _column(label, reader)) != IGNORED
        }
    if form == "list":
        ranked: dict[int, float | None] = {}
        for label in example:
            column = _column(label, reader)
            if column != IGNORED and column not in ranked:
                ranked[column] = -float(len(ranked))
        return ranked
    if form in ("array", "arrow", "polars", "frame", "table"):
        row = array_of(example, "y_pred")
        if row.ndim != 1:
            raise InputError(f"y_pred has an example of shape {row.shape}; an example is a row of scores")
        scores, missing = checked_scores(row, reader)
        columns = reader.positions(len(row), "y_pred").tolist()
        absent = [0] * len(row) if missing is None else missing.tolist()
        return {
            column: None if gone else score
            for column, score, gone in zip(columns, scores.tolist(), absent, strict=True)
            if column != IGNORED
        }
    if form == "set":
        raise no_scores(example)
    raise InputError(
        f"y_pred must be a mapping label -> score, a ranked list of labels or a row of scores, not {quoted(example)}"
    )


def _column(label: object, reader: Reader) -> int:
    try:
        return reader.column(label)
    except LabelError as error:
        raise named(error, NAMES[PRED]) from None


# -- many of them -----------------------------------------------------------------------------------------------------


class Examples:
    """Any iterable of single examples."""

    def __init__(self, source: Iterator[object], length: int | None, role: int, reader: Reader) -> None:
        self._source, self._role, self._reader = source, role, reader
        self.length = length
        self.width = 4096  # as wide as makes pieces of a few thousand examples, since rows could be of any size

    def take(self, size: int) -> Piece:
        """The next ``size`` examples, fewer at the end."""
        examples = without_tensors(list(islice(self._source, size)), NAMES[self._role])
        scored = self._role == PRED and self._reader.keeps_scores
        return self._ranked(examples) if scored else self._labelled(examples)

    def _labelled(self, examples: list[Any]) -> Piece:
        role, reader = self._role, self._reader
        kinds = set(map(type, examples))
        if np.ndarray in kinds:
            lists = string_lists(examples, role, reader)
            if lists is not None:
                return Columns(len(examples), lists)
            examples = [_plain_row(example) for example in examples]
            kinds = set(map(type, examples))
        if kinds <= _COLLECTIONS:
            flat = reader.columns_in(chain.from_iterable(examples), NAMES[role])
            lengths = np.fromiter(map(len, examples), np.int64, len(examples))
            return Columns(len(examples), unignored(Lists(offsets_of(lengths), np.array(flat, np.int64))))
        rows = self._stacked(examples)
        if rows is not None:
            columns = reader.positions(rows.shape[1], NAMES[role])
            thresholds = reader.threshold_row(columns) if role == PRED and reader.reads_scores else 0.0
            return Rows(rows, columns, role, reader, thresholds)
        columns_by_bit: dict[int, list[int]] = {role: [], MASK: [], 0: []}
        ends: dict[int, list[int]] = {role: [0], MASK: [0], 0: [0]}
        for example in examples:
            for column, bit in bits_in(example, role, reader):
                if column != IGNORED:
                    columns_by_bit[bit].append(column)
            for bit, columns_so_far in columns_by_bit.items():
                ends[bit].append(len(columns_so_far))
        positive, unknown, mentioned = (
            Lists(np.array(ends[bit], np.int64), np.array(columns_by_bit[bit], np.int64)) for bit in (role, MASK, 0)
        )
        return Columns(len(examples), positive, unknown if role != MASK else None, mentioned)

    def _ranked(self, examples: list[Any]) -> Piece:
        reader = self._reader
        plain = _plain_mappings(examples, reader)
        if plain is not None:
            return plain
        rows = self._stacked(examples)
        if rows is not None:
            columns = reader.positions(rows.shape[1], NAMES[PRED])
            return Scores(columns, *checked_scores(rows, reader))
        lengths: list[int] = []
        columns_of: list[int] = []
        scores: list[float] = []
        numeric: list[int] = []
        absent: list[int] = []
        ends = [0]
        for example in examples:
            entries = _scores_in(example, reader)
            known = [(column, score) for column, score in entries.items() if score is not None]
            lengths.append(len(known))
            columns_of += [column for column, _ in known]
            scores += [score for _, score in known]
            numeric += [int(not isinstance(example, list | tuple))] * len(known)
            absent += [column for column, score in entries.items() if score is None]
            ends.append(len(absent))
        return Columns(
            len(examples),
            mentioned=Lists(np.array(ends, np.int64), np.array(absent, np.int64)) if absent else None,
            ranked=Lists(offsets_of(np.array(lengths, np.int64)), np.array(columns_of, np.int64)),
            scores=np.array(scores, np.float64),
            numeric=np.array(numeric, np.uint8),
        )

    @staticmethod
    def _stacked(examples: list[Any]) -> np.ndarray[Any, Any] | None:
        """Rows of one length and type as a matrix; None if examples are anything else."""
        if not examples or set(map(type, examples)) != _NDARRAY:
            return None
        if len({(row.shape, row.dtype) for row in examples}) != 1 or examples[0].ndim != 1:
            return None
        return np.stack(examples) if examples[0].dtype.kind in "biuf" else None


def _plain_row(example: object) -> object:
    """An array of labels as their list."""
    labels = _labels_in(example) if isinstance(example, np.ndarray) else None
    return example if labels is None else labels


def string_lists(rows: list[Any], role: int, reader: Reader) -> Lists | None:
    """Lists and arrays of strings, where there is nothing else."""
    coded = backend.strings.listed_codes(rows)
    if coded is None:
        return None
    ends, codes, strings = coded
    columns = np.array(reader.columns_in([*strings], NAMES[role]), np.int64)
    kind: Any = np.int32 if len(codes) < 2**31 else np.int64
    return unignored(Lists(ends.astype(kind, copy=False), codes.astype(kind, copy=False), columns))


def _plain_mappings(examples: list[Any], reader: Reader) -> Columns | None:
    """Dicts of plain labels and numbers, all at once; None where one needs a closer look."""
    lists = backend.lists.score_lists(reader.labels.columns, examples)
    if lists is None and type(examples[0]) is dict and reader.config.unknown != "ignore":
        reader.register(examples)
        lists = backend.lists.score_lists(reader.labels.columns, examples)
    if lists is None:
        return None
    offsets, columns, scores, has_strings = lists
    if has_strings:
        reader.note_string_label()
    return Columns(len(examples), ranked=Lists(offsets, columns), scores=scores, numeric=np.ones(len(scores), np.uint8))
