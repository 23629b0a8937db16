"""Many examples with scores, joined with their truths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from streameval.inputs.many import lengths_differ
from streameval.inputs.reader import HIDDEN, TRUE, Reader
from streameval.inputs.scores import DenseScores, ListedScores, filtered, no_scores, scored_side_of
from streameval.inputs.sides import DensePiece, Piece, joined, names_of, side_of
from streameval.inputs.values import bound_of, checked_weights
from streameval.kernel.types import FloatArray, IntArray, Lists, Ragged, ScoreArray, UInt8Array
from streameval.schema.batch import Batch, DenseBatch, ListBatch, ScoreBatch, Scored, ScoredLists, ScoredRows

__all__ = ["Read", "decisions_of", "read_scored", "read_scored_one"]

_CELLS = 2**22
_EXAMPLES = 2**16


class Read(NamedTuple):
    """A batch of scores, and what else it says of its cells.

    ``named`` holds columns that an example mentions beyond those that are true or ranked, ``everywhere`` those that
    all of its examples mention. ``numeric`` is 1 where a score was given, 0 where only an order was; None if all were.
    ``predicted`` holds columns that are decided without a score.
    """

    batch: Scored
    named: Ragged | None
    everywhere: IntArray
    numeric: UInt8Array | None
    predicted: Ragged | None = None


def read_scored(y_true: object, y_pred: object, mask: object, weights: object, reader: Reader) -> Iterator[Read]:
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
        yield _batch(pieces, scored, None if part is None or (part == 1.0).all() else part, reader.labels.fixed)


def read_scored_one(y_true: object, y_pred: object, mask: object, weight: float, reader: Reader) -> Read:
    """Check one example; may register labels, changes nothing else."""
    if isinstance(y_pred, str | bytes) or y_pred is None:
        raise no_scores(y_pred)
    weights = None if weight == 1.0 else np.array([weight])
    (read,) = read_scored([y_true], [y_pred], None if mask is None else [mask], weights, reader)
    return read


def decisions_of(read: Read, reader: Reader) -> Batch:
    """The same examples as decisions; nothing is predicted where no threshold says from which score on."""
    batch = read.batch
    if isinstance(batch, ScoredRows):
        if not reader.reads_scores:
            none = np.zeros(batch.true.shape, np.uint8)
            return DenseBatch(batch.columns, batch.true, none, batch.hidden, batch.weights, _impossible)
        bound = bound_of(batch.scores.dtype, reader.threshold_row(batch.columns))
        wide = np.broadcast_to(bound, batch.columns.shape)
        bounds: ScoreArray = wide.astype(np.float32) if batch.scores.dtype == np.float32 else wide.astype(np.float64)
        if batch.ranked is None and batch.weights is None:
            return ScoreBatch(batch.columns, batch.true, batch.scores, bounds, batch.hidden, _impossible)
        decided = np.greater_equal(batch.scores, bounds).view(np.uint8)
        if batch.ranked is not None:
            decided &= batch.ranked
        return DenseBatch(batch.columns, batch.true, decided, batch.hidden, batch.weights, _impossible)
    ranked = batch.ranked
    predicted = None
    if reader.reads_scores:
        thresholds = reader.threshold_row(ranked[1])
        kept = batch.scores >= thresholds
        if read.numeric is not None:  # a list of labels is a decision, whatever the threshold
            kept |= read.numeric == 0
        predicted = Lists(*filtered(ranked, batch.scores, kept)[0])
        if read.predicted is not None:
            predicted = joined([predicted, Lists(*read.predicted)], batch.examples)
    parts = [Lists(*ranked)] if read.named is None else [Lists(*ranked), Lists(*read.named)]
    hidden = None if batch.hidden is None else Lists(*batch.hidden)
    return ListBatch(
        batch.examples,
        Lists(*batch.true),
        predicted,
        hidden,
        joined(parts, batch.examples),
        read.everywhere,
        batch.weights,
    )


def _impossible() -> Exception:
    return AssertionError("the kernel refused what was checked before")


# -- joining the sides ------------------------------------------------------------------------------------------------


def _batch(
    pieces: list[tuple[Piece, int]], scored: DenseScores | ListedScores, weights: FloatArray | None, fixed: int
) -> Read:
    dense = [piece for piece, _ in pieces if isinstance(piece, DensePiece)]
    if isinstance(scored, DenseScores) and len(dense) == len(pieces):
        rows = _rows(dense, scored, weights)
        # Rows say of every label that it was met, which is not so where a label that is not declared has no score.
        if rows.ranked is None or bool((rows.columns < fixed).all()):
            return Read(rows, None, rows.columns, None)
    ranked, scores = scored.lists()
    parts: dict[int, list[Lists]] = {TRUE: [], HIDDEN: [], 0: []}
    if isinstance(scored, DenseScores):
        everywhere, numeric, predicted = [scored.columns], None, None
    else:
        everywhere, numeric, predicted = [scored.everywhere], scored.numeric, scored.predicted
        if scored.named is not None:
            parts[0].append(Lists(*scored.named))
    for piece, role in pieces:
        listed = piece.lists()
        parts[role].append(listed.positive)
        for kind, lists in ((HIDDEN, listed.unknown), (0, listed.named)):
            if lists is not None and len(lists.places):
                parts[kind].append(lists)
        everywhere.append(listed.everywhere)
    true, hidden, named = (_joined(parts[kind], scored.examples) for kind in (TRUE, HIDDEN, 0))
    batch = ScoredLists(scored.examples, true or _nothing(scored.examples), ranked, scores, hidden, weights)
    return Read(batch, named, np.unique(np.concatenate(everywhere)), numeric, predicted)


def _joined(parts: list[Lists], examples: int) -> Ragged | None:
    if not parts:
        return None
    lists = joined(parts, examples)
    return np.asarray(lists.offsets, np.int64), np.asarray(lists.found(), np.int64)


def _nothing(examples: int) -> Ragged:
    return np.zeros(examples + 1, np.int64), np.zeros(0, np.int64)


def _rows(pieces: list[DensePiece], scored: DenseScores, weights: FloatArray | None) -> ScoredRows:
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
    return ScoredRows(whole, true, aligned(scored.scores, scored.columns), ranked, hidden, weights)
