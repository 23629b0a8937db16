"""The scores that examples give to their labels, as they are remembered.

Of an example with scores the truths, the hidden cells and the decisions stand in its slots; what is left is which
labels have a score, and which one. That of a hidden cell counts nowhere, so it is not kept. A label that is not here
ranks behind all that are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray, Ragged, ScoreArray
from streameval.schema.batch import Scored, ScoredLists, ScoredRows

__all__ = ["Given", "narrowed", "rows_of", "scored_of"]


class Given(NamedTuple):
    """For each example, one behind the other: how many labels have a score, their columns, and the scores."""

    lengths: Int32Array
    columns: Int32Array
    scores: ScoreArray

    @classmethod
    def nothing(cls, examples: int = 0) -> Given:
        """Examples that give no score."""
        return cls(np.zeros(examples, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))

    @classmethod
    def of(cls, batch: Scored) -> Given:
        """The scores of a batch."""
        if isinstance(batch, ScoredRows):
            return _of_rows(batch)
        (offsets, columns), scores = batch.ranked, batch.scores
        lengths = np.diff(offsets)
        if batch.hidden is not None and len(batch.hidden[1]):
            width = 1 + max(int(columns.max(initial=0)), int(batch.hidden[1].max()))
            row = rows_of(lengths)
            seen = ~np.isin(row * width + columns, rows_of(np.diff(batch.hidden[0])) * width + batch.hidden[1])
            lengths, columns, scores = np.bincount(row[seen], minlength=len(lengths)), columns[seen], scores[seen]
        return cls(lengths.astype(np.int32), columns.astype(np.int32), scores)

    @classmethod
    def joined(cls, parts: list[Given]) -> Given:
        """All examples of the first part, then those of the next."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(part) for part in zip(*(parts or [cls.nothing()]), strict=True)))

    def taken(self, order: IntArray) -> Given:
        """The examples at these places, in this order."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        lengths = self.lengths[order]
        starts = np.cumsum(lengths, dtype=np.int64) - lengths
        place = np.repeat((ends - self.lengths)[order] - starts, lengths) + np.arange(int(lengths.sum()))
        return Given(lengths, self.columns[place], self.scores[place])

    def moved(self, columns: IntArray) -> Given:
        """The same where each column has become another one."""
        return Given(self.lengths, columns[self.columns].astype(np.int32), self.scores)

    def ordered(self) -> Given:
        """The same with ascending columns within each example, scores as narrow as can be, and none -0.0."""
        order = np.lexsort((self.columns, rows_of(self.lengths)))
        return Given(self.lengths, self.columns[order], narrowed(self.scores[order] + np.float32(0.0)))


def _of_rows(batch: ScoredRows) -> Given:
    examples, width = batch.scores.shape
    columns = np.broadcast_to(batch.columns.astype(np.int32), (examples, width))
    if batch.ranked is None and batch.hidden is None:
        return Given(np.full(examples, width, np.int32), columns.reshape(-1), batch.scores.reshape(-1))
    seen = np.ones((examples, width), np.bool_) if batch.ranked is None else batch.ranked != 0
    if batch.hidden is not None:
        seen &= batch.hidden == 0
    return Given(np.count_nonzero(seen, axis=1).astype(np.int32), columns[seen], batch.scores[seen])


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


def scored_of(lengths: Int32Array, slots: Int32Array, weights: FloatArray | None, given: Given) -> ScoredLists:
    """Examples as states of scores read them."""
    column, outcome = np.divmod(slots, 5)
    true, hidden = outcome % 2 == 1, outcome == 4
    row = rows_of(lengths)

    def lists(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ragged:
        return _offsets(np.bincount(row[chosen], minlength=len(lengths))), column[chosen].astype(np.int64)

    return ScoredLists(
        len(lengths),
        lists(true),
        (_offsets(given.lengths), given.columns.astype(np.int64)),
        given.scores.astype(np.float64),
        lists(hidden) if hidden.any() else None,
        weights,
    )


def _offsets(lengths: Int32Array | IntArray) -> IntArray:
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found
