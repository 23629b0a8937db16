"""Many examples with scores, joined with their truths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.inputs.many import lengths_differ
from streameval.inputs.reader import HIDDEN, TRUE, Reader
from streameval.inputs.scores import DenseScores, ListedScores, filtered, no_scores, scored_side_of
from streameval.inputs.sides import DensePiece, Piece, names_of, side_of
from streameval.inputs.values import bound_of, checked_weights
from streameval.kernel.types import FloatArray, IntArray, Lists, ScoreArray
from streameval.schema.batch import Batch, Dense, Example, Ragged, joined, ragged

__all__ = ["read_scored", "read_scored_one"]

_CELLS = 2**22
_EXAMPLES = 2**16


def read_scored(y_true: object, y_pred: object, mask: object, weights: object, reader: Reader) -> Iterator[Batch]:
    """Check many examples and place their cells, piece by piece; may register labels, changes nothing else."""
    factors = None if weights is None else checked_weights(weights)
    reader.begin()
    given = [(y_true, TRUE)] if mask is None else [(y_true, TRUE), (mask, HIDDEN)]
    borrowed = next((names for side in (y_true, y_pred, mask) if (names := names_of(side)) is not None), None)
    sides = [(side_of(side, role, reader, borrowed), role) for side, role in given]
    source = scored_side_of(y_pred, reader, borrowed)
    lengths = {"y_true": sides[0][0].length, "y_pred": source.length}
    if mask is not None:
        lengths["mask"] = sides[1][0].length
    if factors is not None:
        lengths["weights"] = len(factors)
    known = {name: length for name, length in lengths.items() if length is not None}
    if len(set(known.values())) > 1:
        raise lengths_differ(known)
    size = max(255, min(_EXAMPLES, _CELLS // max(1, source.width, *(side.width for side, _ in sides))))
    start = 0
    while True:
        pieces = [(side.take(size), role) for side, role in sides]
        scored = source.take(size)
        counts = {"y_true": pieces[0][0].examples, "y_pred": scored.examples}
        if mask is not None:
            counts["mask"] = pieces[1][0].examples
        if factors is not None:
            counts["weights"] = min(len(factors) - start, scored.examples)
        if len(set(counts.values())) > 1:
            raise lengths_differ({name: start + count for name, count in counts.items()}, "at least ")
        if not scored.examples:
            if factors is not None and len(factors) != start:
                raise lengths_differ({"y_pred": start, "weights": len(factors)})
            return
        reader.refuse_mixture()
        part = None if factors is None else factors[start : start + scored.examples]
        start += scored.examples
        yield _batch(pieces, scored, None if part is None or (part == 1.0).all() else part, reader)


def read_scored_one(y_true: object, y_pred: object, mask: object, weight: float, reader: Reader) -> Example:
    """Check one example; may register labels, changes nothing else."""
    if isinstance(y_pred, str | bytes) or y_pred is None:
        raise no_scores(y_pred)
    weights = None if weight == 1.0 else np.array([weight])
    (batch,) = read_scored([y_true], [y_pred], None if mask is None else [mask], weights, reader)
    return Example.of(batch, reader.labels.fixed)


# -- joining the sides ------------------------------------------------------------------------------------------------


def _batch(
    pieces: list[tuple[Piece, int]], scored: DenseScores | ListedScores, weights: FloatArray | None, reader: Reader
) -> Batch:
    dense = [piece for piece, _ in pieces if isinstance(piece, DensePiece)]
    if isinstance(scored, DenseScores) and len(dense) == len(pieces):
        rows = _rows(dense, scored, weights, reader)
        # Rows say of every label that it was met, which is not so where a label that is not declared has no score.
        if rows.ranked is None or bool((rows.columns < reader.labels.fixed).all()):
            return rows
    (offsets, columns), scores = scored.lists()
    ranked = Lists(offsets, columns)
    parts: dict[int, list[Lists]] = {TRUE: [], HIDDEN: [], 0: [ranked]}
    everywhere = [scored.columns if isinstance(scored, DenseScores) else scored.everywhere]
    if isinstance(scored, ListedScores) and scored.named is not None:
        parts[0].append(Lists(*scored.named))
    for piece, role in pieces:
        listed = piece.lists()
        parts[role].append(listed.positive)
        for kind, lists in ((HIDDEN, listed.unknown), (0, listed.named)):
            if lists is not None and len(lists.places):
                parts[kind].append(lists)
        everywhere.append(listed.everywhere)
    true, mask, mentioned = (_joined(parts[kind], scored.examples) for kind in (TRUE, HIDDEN, 0))
    pred = _predicted(scored, ranked, scores, reader)
    union = np.unique(np.concatenate(everywhere))
    return Ragged(scored.examples, true, pred, mask, mentioned, union, weights, ranked, scores)


def _predicted(scored: DenseScores | ListedScores, ranked: Lists, scores: FloatArray, reader: Reader) -> Lists | None:
    """The labels scoring at or above the threshold, and those predicted without a score."""
    numeric = scored.numeric if isinstance(scored, ListedScores) else None
    if numeric is not None and "curves" in reader.config.states and not numeric.all():
        raise InputError("y_pred holds ranked lists, but curves need scores; give {label: score}, or TopK with scores")
    if not reader.reads_scores:
        return None
    above = scores >= reader.threshold_row(ranked.places)
    if numeric is not None:  # a list of labels is a decision, whatever the threshold
        above |= numeric == 0
    predicted = Lists(*filtered((ranked.offsets, ranked.places), scores, above)[0])
    if isinstance(scored, ListedScores) and scored.predicted is not None:
        return joined([predicted, Lists(*scored.predicted)], scored.examples)
    return predicted


def _joined(parts: list[Lists], examples: int) -> Lists | None:
    if not parts:
        return None
    offsets, columns = ragged(joined(parts, examples))
    return Lists(offsets, columns)


def _rows(pieces: list[DensePiece], scored: DenseScores, weights: FloatArray | None, reader: Reader) -> Dense:
    columns = [scored.columns, *(piece.columns for piece in pieces)]
    whole = columns[0]
    if not all(np.array_equal(whole, other) for other in columns[1:]):
        whole = np.unique(np.concatenate(columns))

    def aligned(cells: np.ndarray[Any, Any], of: IntArray) -> np.ndarray[Any, Any]:
        if of is whole or np.array_equal(of, whole):
            return np.ascontiguousarray(cells)
        wide = np.zeros((len(cells), len(whole)), cells.dtype)
        wide[:, np.searchsorted(whole, of)] = cells
        return wide

    bits, unknown = pieces[0].read()
    true = aligned(bits, pieces[0].columns)
    hidden = None if unknown is None else aligned(unknown, pieces[0].columns)
    if len(pieces) > 1:
        mask = aligned(pieces[1].read()[0], pieces[1].columns)
        hidden = mask if hidden is None else hidden | mask
    ranked = None
    if scored.missing is not None or len(scored.columns) != len(whole):
        there = np.ones(scored.scores.shape, np.uint8) if scored.missing is None else 1 - scored.missing
        ranked = aligned(there, scored.columns)
    scores = aligned(scored.scores, scored.columns)
    threshold: ScoreArray | None = None
    if reader.reads_scores:
        bounds = np.broadcast_to(bound_of(scores.dtype, reader.threshold_row(whole)), whole.shape)
        threshold = np.ascontiguousarray(bounds, scores.dtype)
    return Dense(whole, true, None, scores, threshold, ranked, hidden, weights)
