"""Sparse matrices, and their rows as examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import InputError, imported
from streameval.inputs.columns import IGNORED, Argument
from streameval.inputs.forms import form_of
from streameval.inputs.pieces import Columns, Piece, Source, filtered, listed, unignored
from streameval.inputs.values import binarize, checked_scores, places_in, plain_array
from streameval.kernel.backend import decisions
from streameval.kernel.types import DAMAGED, DISTINCT, Lists, Places
from streameval.schema.batch import joined, part_of
from streameval.schema.input_notes import FEW


def stacked_rows(rows: list[Any], name: str) -> Any:
    """Sparse rows of one width as one sparse matrix; None if examples are anything else."""
    width = rows[0].shape[-1] if rows and form_of(rows[0]) == "sparse" else 0
    if not width or not all(form_of(row) == "sparse" and (1, *row.shape)[-2:] == (1, width) for row in rows):
        return None
    return imported("scipy.sparse", "sparse rows").vstack([_csr(row.reshape((1, -1)), name) for row in rows])


def _csr(matrix: Any, name: str) -> Any:
    if fill := getattr(matrix, "fill_value", 0):  # of the library "sparse"; NaN is true
        raise InputError(f"{name} is sparse, but cells that are not stored are {fill}; write {name}.todense()")
    return matrix.tocsr()


def sparse_source(value: Any, argument: Argument, at: int = 0) -> Source:
    """A sparse matrix, from the example ``at`` on; unstored cells are 0, also for a threshold, and rank last."""
    if len(value.shape) != 2:
        raise InputError(f"{argument.name} has shape {value.shape}; update_many takes matrices, examples x labels")
    matrix, reader = _csr(value, argument.name), argument.reader
    argument.width = matrix.shape[1]
    columns, lists = argument.columns(argument.width), _stored(matrix, argument.name)
    if not lists.distinct:
        start = lists.offsets[0]  # values before it belong to no row, and scipy does not copy them
        parts = matrix.data[start : len(lists.places)], lists.places[start:], lists.offsets - start
        matrix = type(matrix)(parts, matrix.shape, copy=True)  # summing in place would change the argument
        matrix.sum_duplicates()
        lists = _stored(matrix, argument.name)
    data = np.asarray(matrix.data)[: len(lists.places)]
    if (columns == IGNORED).any():  # values of ignored labels are not checked
        lists, data = unignored(lists._replace(columns=columns)), data[columns[lists.places] != IGNORED]
        columns = columns[columns != IGNORED]
    elif not np.array_equal(columns, np.arange(len(columns))):
        lists = lists._replace(columns=columns)
    missing: Any = None
    if argument.sample is not None and not at:
        zero = [0] * (len(data) < matrix.shape[0] * matrix.shape[1])  # some cells are not stored
        argument.sample.add(argument.names(columns[:FEW]), zero + data[: lists.offsets[: FEW + 1][-1]].tolist())
    if argument.scored:
        data, missing = checked_scores(data, argument, places_in(lists, at))
        data = data.astype(np.float64)
    values = plain_array(data, argument.name)
    zeros, thresholds = columns[:0], None  # zeros: columns whose unstored cells are predicted
    if argument.compared and values.dtype != np.bool_:
        by_column = np.broadcast_to(reader.threshold_row(columns), columns.shape)
        thresholds = np.zeros(len(reader.labels), np.float64)
        thresholds[columns] = by_column
        zeros = columns[by_column <= 0.0]

    def piece(start: int, stop: int) -> Piece:
        part, span = part_of(lists, start, stop)
        cells, examples = values[span], len(part.offsets) - 1
        absent = None
        if len(zeros):
            unstored = np.ones((examples, len(reader.labels)), np.uint8)
            unstored[np.repeat(np.arange(examples), np.diff(part.offsets)), part.flat()] = 0
            absent = listed(unstored[:, zeros], zeros)
        if argument.scored:
            if missing is not None:
                present = missing[span] == 0
                part, cells = filtered(part, present), cells[present]
            return Columns(examples, absent, mentioned_by_all=columns, ranked=part, scores=cells)
        if thresholds is None and cells.dtype.kind in "biuf" and (cells == 1).all():
            return Columns(examples, part, mentioned_by_all=columns)
        bounds = 0.0 if thresholds is None else thresholds[part.flat()]
        bits, masks = binarize(cells, argument, bounds, places_in(part, at + start))
        positive = filtered(part, bits != 0)
        masked = None if masks is None else filtered(part, masks != 0)
        if absent is not None:
            positive = joined([positive, absent], examples)
        return Columns(examples, positive, masked, mentioned_by_all=columns)

    return Source(matrix.shape[0], max(4096, len(reader.labels)) if len(zeros) else 0, piece)


def _stored(matrix: Any, name: str) -> Lists:
    """The columns that each row stores; in the arrays of the matrix, if the kernel can read these."""
    offsets, places = _indices(matrix.indptr), _indices(matrix.indices)
    if offsets.dtype != places.dtype:
        offsets, places = offsets.astype(np.int64), places.astype(np.int64)
    order = decisions.list_order(offsets, places[: len(matrix.data)], matrix.shape[1])
    if order == DAMAGED or len(offsets) != matrix.shape[0] + 1:
        outside = f"outside its shape {matrix.shape}, or its offsets outside its {len(matrix.data)} values"
        raise InputError(f"{name} is a damaged sparse matrix: its indices lie {outside}")
    return Lists(offsets, places[: offsets[-1]], None, order == DISTINCT)


def _indices(numbers: Any) -> Places:
    kind: Any = np.int32 if np.asarray(numbers).dtype == np.int32 else np.int64
    result: Places = np.require(numbers, kind, ["C", "ALIGNED"])
    return result
