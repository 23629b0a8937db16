"""Many examples: matrices, data frames, columns of lists and iterables, in any combination."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streameval.errors import InputError
from streameval.inputs.reader import HIDDEN, NAMES, PRED, TRUE, Reader
from streameval.inputs.sides import DensePiece, Piece, names_of, side_of
from streameval.inputs.values import checked_weights
from streameval.kernel.types import FloatArray, IntArray, Lists, UInt8Array
from streameval.schema.batch import Batch, Dense, Ragged, joined

__all__ = ["lengths_differ", "read_many"]

# Matrices are read in pieces, since some kinds need a copy; a piece of this many cells makes its overhead unnoticeable.
_CELLS = 2**24
# Weight sums are exact in float64 products below 2**20 examples.
_EXAMPLES = 2**17


def read_many(
    y_true: object, y_pred: object, mask: object, weights: object, reader: Reader, threads: int = 1
) -> Iterator[Batch]:
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
        if (factors == 1.0).all():
            factors = factors[:0]  # no more than their number matters
    if len(set(lengths.values())) > 1:
        raise lengths_differ(lengths)
    # A piece for each thread, since sharing one out takes as long as counting a few million cells.
    size = threads * max(255, min(_EXAMPLES, _CELLS // max(1, *(side.width for side, _ in sides))))
    start = 0
    while True:
        pieces = [(side.take(size), role) for side, role in sides]
        counts = {NAMES[role]: start + piece.examples for piece, role in pieces}
        examples = pieces[0][0].examples
        if factors is not None:
            counts["weights"] = min(lengths["weights"], start + examples)
        if len(set(counts.values())) > 1:
            raise lengths_differ(counts, "at least ")
        if examples:
            reader.refuse_mixture()
            part = factors[start : start + examples] if factors is not None and len(factors) else None
            start += examples
            yield _batch(pieces, part)
        if examples < size:  # then every side has come to its end
            if factors is not None and lengths["weights"] != start:
                raise lengths_differ({**counts, "weights": lengths["weights"]})
            return


def lengths_differ(lengths: dict[str, int], least: str = "") -> InputError:
    """The error about sides of different lengths; ``least`` says that some were not read to their end."""
    told = " and ".join(f"{name} has {least}{length}" for name, length in lengths.items())
    return InputError(f"numbers of examples differ: {told}; give one of each per example")


def _batch(pieces: list[tuple[Piece, int]], weights: FloatArray | None) -> Batch:
    dense = [piece for piece, _ in pieces if isinstance(piece, DensePiece)]
    if len(dense) == len(pieces):
        return _dense_batch(dense, weights)
    lists = [(piece.lists(), role) for piece, role in pieces]
    parts: dict[int, list[Lists]] = {TRUE: [], PRED: [], HIDDEN: [], 0: []}
    for piece, role in lists:
        parts[role].append(piece.positive)
        if piece.unknown is not None and len(piece.unknown.places):
            parts[HIDDEN].append(piece.unknown)
        if piece.named is not None and len(piece.named.places):
            parts[0].append(piece.named)
    examples = lists[0][0].examples
    true, pred, hidden, named = (
        joined(parts[kind], examples) if parts[kind] else None for kind in (TRUE, PRED, HIDDEN, 0)
    )
    everywhere = _union([piece.everywhere for piece, _ in lists])
    return Ragged(examples, true, pred, hidden, named, everywhere, weights)


def _dense_batch(pieces: list[DensePiece], weights: FloatArray | None) -> Dense:
    columns = _union([piece.columns for piece in pieces])

    def refusal() -> Exception:
        for piece in pieces:
            try:
                piece.read()
            except InputError as error:
                return error
        return AssertionError("the kernel refused what can be read")

    def bits_of(piece: DensePiece) -> tuple[UInt8Array, UInt8Array | None]:
        if _same(piece.columns, columns):
            return piece.raw()
        bits, unknown = piece.read()
        return _aligned(bits, piece, columns), None if unknown is None else _aligned(unknown, piece, columns)

    true, hidden = bits_of(pieces[0])
    if len(pieces) == 3:
        mask, _ = bits_of(pieces[2])
        hidden = mask if hidden is None else hidden | mask
    scores = pieces[1].scores() if weights is None and _same(pieces[1].columns, columns) else None
    if scores is not None:
        return Dense(columns, true, None, *scores, mask=hidden, refusal=refusal)
    pred = bits_of(pieces[1])[0]
    return Dense(columns, true, pred, mask=hidden, weights=weights, refusal=refusal)


def _same(columns: IntArray, others: IntArray) -> bool:
    return columns is others or np.array_equal(columns, others)


def _union(columns: list[IntArray]) -> IntArray:
    """The distinct columns; the first array itself where all are equal."""
    if all(_same(columns[0], other) for other in columns[1:]):
        return columns[0]
    return np.array(sorted(set(np.concatenate(columns).tolist())), np.int64)


def _aligned(bits: UInt8Array, piece: DensePiece, columns: IntArray) -> UInt8Array:
    """The bits of a piece in the order of ``columns``; 0 where the piece has no such column."""
    if _same(piece.columns, columns):
        return bits
    aligned = np.zeros((len(bits), len(columns)), np.uint8)
    aligned[:, np.searchsorted(columns, piece.columns)] = bits
    return aligned
