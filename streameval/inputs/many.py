"""Many examples: matrices, data frames, columns of lists and iterables, in any combination."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streameval.batch import Batch, DenseBatch, EntryBatch
from streameval.errors import InputError
from streameval.inputs.reader import HIDDEN, NAMES, PRED, TRUE, Reader
from streameval.inputs.sides import DensePiece, Piece, names_of, side_of
from streameval.inputs.values import checked_weights
from streameval.kernel.types import FloatArray, IntArray, UInt8Array

__all__ = ["read_many"]

# Pieces are small enough to stay in a second-level cache and far below 2**20 examples, where weight sums stay exact.
_CELLS = 2**18
_EXAMPLES = 2**15


def read_many(y_true: object, y_pred: object, mask: object, weights: object, reader: Reader) -> Iterator[Batch]:
    """Check many examples and place their cells, piece by piece; may register labels, changes nothing else."""
    factors = None if weights is None else checked_weights(weights)
    reader.begin()
    given = [(y_true, TRUE), (y_pred, PRED)]
    if mask is not None:
        given.append((mask, HIDDEN))
    borrowed = next((names for side, _ in given if (names := names_of(side)) is not None), None)
    sides = [(side_of(side, role, reader, borrowed), role) for side, role in given]
    lengths = {NAMES[role]: side.length for side, role in sides if side.length is not None}
    if factors is not None:
        lengths["weights"] = len(factors)
    if len(set(lengths.values())) > 1:
        raise _lengths_differ(lengths)
    size = max(255, min(_EXAMPLES, _CELLS // max(1, *(side.width for side, _ in sides))))
    start = 0
    while True:
        pieces = [(side.take(size), role) for side, role in sides]
        counts = {NAMES[role]: start + piece.examples for piece, role in pieces}
        examples = pieces[0][0].examples
        part = None
        if factors is not None:
            part = factors[start : start + examples]
            counts["weights"] = start + len(part)
        if len(set(counts.values())) > 1:
            raise _lengths_differ(counts, "at least ")
        if not examples:
            if factors is not None and len(factors) != start:
                raise _lengths_differ({**counts, "weights": len(factors)})
            return
        start += examples
        reader.refuse_mixture()
        yield _batch(pieces, None if part is None or (part == 1.0).all() else part)


def _lengths_differ(lengths: dict[str, int], least: str = "") -> InputError:
    told = " and ".join(f"{name} has {least}{length}" for name, length in lengths.items())
    return InputError(f"numbers of examples differ: {told}; give one of each per example")


def _batch(pieces: list[tuple[Piece, int]], weights: FloatArray | None) -> Batch:
    dense = [piece for piece, _ in pieces if isinstance(piece, DensePiece)]
    if len(dense) == len(pieces):
        columns = _union([piece.columns for piece in dense])
        true, pred = _aligned(dense[0].bits, dense[0], columns), _aligned(dense[1].bits, dense[1], columns)
        hidden = None if dense[0].hidden is None else _aligned(dense[0].hidden, dense[0], columns)
        if len(dense) == 3:
            mask = _aligned(dense[2].bits, dense[2], columns)
            hidden = mask if hidden is None else hidden | mask
        return DenseBatch(columns, true, pred, hidden, weights)
    parts = [piece.entries(role) for piece, role in pieces]
    return EntryBatch(
        parts[0].examples,
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.bits for part in parts]),
        _union([part.everywhere for part in parts]),
        weights,
    )


def _union(columns: list[IntArray]) -> IntArray:
    """The distinct columns; the first array itself where all are equal."""
    if all(np.array_equal(columns[0], other) for other in columns[1:]):
        return columns[0]
    return np.array(sorted(set(np.concatenate(columns).tolist())), np.int64)


def _aligned(bits: UInt8Array, piece: DensePiece, columns: IntArray) -> UInt8Array:
    """The bits of a piece in the order of ``columns``; 0 where the piece has no such column."""
    if piece.columns is columns or np.array_equal(piece.columns, columns):
        return bits
    aligned = np.zeros((len(bits), len(columns)), np.uint8)
    aligned[:, np.searchsorted(columns, piece.columns)] = bits
    return aligned
