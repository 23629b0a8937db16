"""What user data looks like once it is read: decisions about cells, in the columns of a `LabelIndex`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel import backend
from streameval.kernel.types import FloatArray, IntArray, Lists, Ragged, RowKey, ScoreArray, UInt8Array

__all__ = [
    "Batch",
    "DenseBatch",
    "Example",
    "ListBatch",
    "ScoreBatch",
    "Scored",
    "ScoredLists",
    "ScoredRows",
    "chained",
]


class Example(NamedTuple):
    """One example: the slots (5 * column + outcome) of the cells it mentions, its row key, its weight, and its scores.

    The scores are a batch of one example, for the states that read them.
    """

    slots: IntArray
    key: RowKey
    weight: float = 1.0
    scored: Scored | None = None


@dataclass(frozen=True, slots=True)
class DenseBatch:
    """0/1 matrices whose columns are all mentioned by every example.

    Bytes are not yet checked, since the kernel sees them anyway; ``refusal`` makes the error if it meets one above 1.
    ``weights`` is None when all are 1.
    """

    columns: IntArray
    true: UInt8Array
    pred: UInt8Array
    hidden: UInt8Array | None
    weights: FloatArray | None
    refusal: Callable[[], Exception]

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.true)

    def part(self, start: int, stop: int) -> DenseBatch:
        """Some of the rows."""
        rows = slice(start, stop)
        hidden = None if self.hidden is None else self.hidden[rows]
        weights = None if self.weights is None else self.weights[rows]
        return DenseBatch(self.columns, self.true[rows], self.pred[rows], hidden, weights, self.refusal)

    def taken(self, rows: IntArray) -> DenseBatch:
        """These rows, in this order."""
        weights = None if self.weights is None else self.weights[rows]
        hidden = None if self.hidden is None else self.hidden[rows]
        return DenseBatch(self.columns, self.true[rows], self.pred[rows], hidden, weights, self.refusal)


@dataclass(frozen=True, slots=True)
class ScoreBatch:
    """The same with scores, of which those at or above the bound of their column are predictions; never weighted.

    ``refusal`` also makes the error if a score is not finite.
    """

    columns: IntArray
    true: UInt8Array
    scores: ScoreArray
    bounds: ScoreArray
    hidden: UInt8Array | None
    refusal: Callable[[], Exception]

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.true)

    def part(self, start: int, stop: int) -> ScoreBatch:
        """Some of the rows."""
        rows = slice(start, stop)
        hidden = None if self.hidden is None else self.hidden[rows]
        return ScoreBatch(self.columns, self.true[rows], self.scores[rows], self.bounds, hidden, self.refusal)

    def taken(self, rows: IntArray) -> ScoreBatch:
        """These rows, in this order."""
        hidden = None if self.hidden is None else self.hidden[rows]
        return ScoreBatch(self.columns, self.true[rows], self.scores[rows], self.bounds, hidden, self.refusal)


@dataclass(frozen=True, slots=True)
class ListBatch:
    """Lists of columns; see `Counts.count_lists` of the kernel. ``weights`` is None when all are 1."""

    examples: int
    true: Lists | None
    pred: Lists | None
    hidden: Lists | None
    named: Lists | None
    everywhere: IntArray
    weights: FloatArray | None

    def part(self, start: int, stop: int) -> ListBatch:
        """Some of the examples."""
        true, pred, hidden, named = (
            _part(side, start, stop) for side in (self.true, self.pred, self.hidden, self.named)
        )
        weights = None if self.weights is None else self.weights[start:stop]
        return ListBatch(stop - start, true, pred, hidden, named, self.everywhere, weights)

    def taken(self, rows: IntArray) -> ListBatch:
        """These examples, in this order."""
        true, pred, hidden, named = (_taken(side, rows) for side in (self.true, self.pred, self.hidden, self.named))
        weights = None if self.weights is None else self.weights[rows]
        return ListBatch(len(rows), true, pred, hidden, named, self.everywhere, weights)

    def like(self, other: ListBatch) -> bool:
        """Whether the two say the same kinds of things of their examples, so that they can be `chained`."""
        mine, theirs = (
            (batch.true is None, batch.pred is None, batch.hidden is None, batch.named is None, batch.weights is None)
            for batch in (self, other)
        )
        return mine == theirs and np.array_equal(self.everywhere, other.everywhere)


def chained(batches: list[ListBatch]) -> ListBatch:
    """The examples of several batches that are alike, one after the other."""
    if len(batches) == 1:
        return batches[0]
    sides = [(batch.true, batch.pred, batch.hidden, batch.named) for batch in batches]
    true, pred, hidden, named = map(_chained, zip(*sides, strict=True))
    weights = [batch.weights for batch in batches if batch.weights is not None]
    examples = sum(batch.examples for batch in batches)
    factors = np.concatenate(weights) if weights else None
    return ListBatch(examples, true, pred, hidden, named, batches[0].everywhere, factors)


def _chained(sides: tuple[Lists | None, ...]) -> Lists | None:
    parts = [side for side in sides if side is not None]
    if not parts:
        return None
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    distinct = all(part.distinct and part.columns is None for part in parts)
    return Lists(offsets, np.concatenate([part.found() for part in parts]).astype(np.int64), distinct=distinct)


def _taken(lists: Lists | None, rows: IntArray) -> Lists | None:
    if lists is None:
        return None
    offsets, places = backend.lists.taken(lists.offsets, lists.places, rows)
    return lists._replace(offsets=offsets, places=places)


def _part(lists: Lists | None, start: int, stop: int) -> Lists | None:
    if lists is None:
        return None
    bounds = lists.offsets[start : stop + 1]
    return lists._replace(offsets=bounds - bounds[0], places=lists.places[bounds[0] : bounds[-1]])


Batch: TypeAlias = DenseBatch | ScoreBatch | ListBatch


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Matrices of truths and scores, for states that look at the scores themselves.

    Checked: ``true`` and ``hidden`` hold 0 and 1, every score is finite unless its cell is hidden or not ranked, and
    all arrays are C-contiguous. ``columns`` are distinct. A label that is not ranked ranks behind all that are.
    """

    columns: IntArray
    true: UInt8Array
    scores: ScoreArray
    ranked: UInt8Array | None
    hidden: UInt8Array | None
    weights: FloatArray | None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.true)

    def part(self, start: int, stop: int) -> ScoredRows:
        """Some of the rows."""
        rows = slice(start, stop)
        ranked = None if self.ranked is None else self.ranked[rows]
        hidden = None if self.hidden is None else self.hidden[rows]
        weights = None if self.weights is None else self.weights[rows]
        return ScoredRows(self.columns, self.true[rows], self.scores[rows], ranked, hidden, weights)

    def taken(self, rows: IntArray) -> ScoredRows:
        """These rows, in this order."""
        ranked = None if self.ranked is None else self.ranked[rows]
        hidden = None if self.hidden is None else self.hidden[rows]
        weights = None if self.weights is None else self.weights[rows]
        return ScoredRows(self.columns, self.true[rows], self.scores[rows], ranked, hidden, weights)


@dataclass(frozen=True, slots=True)
class ScoredLists:
    """For each example the labels that have a score, and the true ones: sparse scores, mappings and ranked lists.

    ``scores`` belong to the columns of ``ranked``. Within an example no column stands twice in ``ranked``; in ``true``
    and ``hidden`` repeats count once. A label that is not ranked ranks behind all that are.
    """

    examples: int
    true: Ragged
    ranked: Ragged
    scores: FloatArray
    hidden: Ragged | None
    weights: FloatArray | None

    def part(self, start: int, stop: int) -> ScoredLists:
        """Some of the examples."""
        bounds = self.ranked[0][start : stop + 1]
        true, ranked = _ragged_part(self.true, start, stop), _ragged_part(self.ranked, start, stop)
        hidden = None if self.hidden is None else _ragged_part(self.hidden, start, stop)
        weights = None if self.weights is None else self.weights[start:stop]
        return ScoredLists(stop - start, true, ranked, self.scores[bounds[0] : bounds[-1]], hidden, weights)

    def taken(self, rows: IntArray) -> ScoredLists:
        """These examples, in this order."""
        ends, entries = _ragged_taken((self.ranked[0], np.arange(len(self.ranked[1]))), rows)
        hidden = None if self.hidden is None else _ragged_taken(self.hidden, rows)
        weights = None if self.weights is None else self.weights[rows]
        ranked = ends, self.ranked[1][entries]
        return ScoredLists(len(rows), _ragged_taken(self.true, rows), ranked, self.scores[entries], hidden, weights)


def _ragged_taken(lists: Ragged, rows: IntArray) -> Ragged:
    ends, entries = backend.lists.taken(*lists, rows)
    return ends.astype(np.int64, copy=False), entries.astype(np.int64, copy=False)


def _ragged_part(lists: Ragged, start: int, stop: int) -> Ragged:
    offsets, columns = lists
    bounds = offsets[start : stop + 1]
    return bounds - bounds[0], columns[bounds[0] : bounds[-1]]


Scored: TypeAlias = ScoredRows | ScoredLists
"""Many examples with scores."""
