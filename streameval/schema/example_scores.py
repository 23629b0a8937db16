"""The scores that examples give to their labels, as they are remembered.

The slots of an example have its truths, masked cells and binary predictions; what is left is which labels have a score,
and which one. The score of a masked cell counts nowhere, so it is dropped. A label without a score ranks behind all
other labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray, Lists, ScoreArray
from streameval.schema.batch import Batch, Dense, Ragged, offsets_of


class ExampleScores(NamedTuple):
    """For each example, one behind the other: how many labels have a score, their columns, and the scores."""

    lengths: Int32Array
    columns: Int32Array
    scores: ScoreArray

    @classmethod
    def nothing(cls, examples: int = 0) -> ExampleScores:
        """Examples that give no score."""
        return cls(np.zeros(examples, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))

    @classmethod
    def of(cls, batch: Batch) -> ExampleScores | None:
        """The scores of a batch that has some."""
        if batch.scores is None:
            return None
        if isinstance(batch, Dense):
            return _of_rows(batch, batch.scores)
        ranked, scores = batch.ranked, batch.scores
        assert ranked is not None  # noqa: S101  # scores are scores of something
        lengths, columns = np.diff(ranked.offsets), ranked.places
        mask = batch.mask
        if mask is not None and len(mask.places):
            width = 1 + max(int(columns.max(initial=0)), int(mask.places.max()))
            row = rows_of(lengths)
            seen = ~np.isin(row * width + columns, rows_of(np.diff(mask.offsets)) * width + mask.places)
            lengths, columns, scores = np.bincount(row[seen], minlength=len(lengths)), columns[seen], scores[seen]
        return cls(lengths.astype(np.int32), columns.astype(np.int32), scores)

    @classmethod
    def joined(cls, parts: list[ExampleScores]) -> ExampleScores:
        """All examples of the first part, then those of the next."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(part) for part in zip(*(parts or [cls.nothing()]), strict=True)))

    def taken(self, order: IntArray) -> ExampleScores:
        """The examples at these places, in this order."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        lengths = self.lengths[order]
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        place = np.repeat((ends - self.lengths)[order] - starts, lengths) + np.arange(int(lengths.sum()))
        return ExampleScores(lengths, self.columns[place], self.scores[place])

    def moved(self, columns: IntArray) -> ExampleScores:
        """The same where each column has become another one."""
        return ExampleScores(self.lengths, columns[self.columns].astype(np.int32), self.scores)

    def ordered(self) -> ExampleScores:
        """The same with ascending columns within each example, scores as narrow as can be, and none -0.0."""
        order = np.lexsort((self.columns, rows_of(self.lengths)))
        return ExampleScores(self.lengths, self.columns[order], narrowed(self.scores[order] + np.float32(0.0)))


def _of_rows(batch: Dense, scores: ScoreArray) -> ExampleScores:
    examples, width = scores.shape
    columns = np.broadcast_to(batch.columns.astype(np.int32), (examples, width))
    if batch.ranked is None and batch.mask is None:
        return ExampleScores(np.full(examples, width, np.int32), columns.reshape(-1), scores.reshape(-1))
    scored = np.ones((examples, width), np.bool_) if batch.ranked is None else batch.ranked != 0
    if batch.mask is not None:
        scored &= batch.mask == 0
    return ExampleScores(np.count_nonzero(scored, axis=1).astype(np.int32), columns[scored], scores[scored])


def narrowed(scores: ScoreArray) -> ScoreArray:
    """Scores as float32 if that changes none of them."""
    if scores.dtype == np.float32:
        return scores
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    return narrow if (narrow == scores).all() else scores


def rows_of(lengths: Int32Array | IntArray) -> IntArray:
    """To which example each entry belongs."""
    return np.repeat(np.arange(len(lengths)), lengths)


def batch_of(
    lengths: Int32Array, slots: Int32Array, weights: FloatArray | None, scores: ExampleScores | None
) -> Ragged:
    """Examples as a batch."""
    column, outcome = (part.astype(np.int64) for part in np.divmod(slots, 5))
    row = rows_of(lengths)

    def lists(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Lists:
        return Lists(offsets_of(np.bincount(row[chosen], minlength=len(lengths))), column[chosen])

    true, pred, mask = lists(outcome % 2 == 1), lists((outcome == 2) | (outcome == 3)), lists(outcome == 4)
    ranked = None if scores is None else Lists(offsets_of(scores.lengths), scores.columns.astype(np.int64))
    return Ragged(
        len(lengths),
        true,
        pred,
        mask if scores is None or len(mask.places) else None,
        lists(outcome == 0),
        weights=weights,
        ranked=ranked,
        scores=None if scores is None else scores.scores.astype(np.float64),
    )
