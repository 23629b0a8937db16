"""Stored examples: the form in which windows hold, compare, write and read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from streameval.kernel.lists import taken
from streameval.kernel.types import FloatArray, Int32Array, IntArray, Lists, Places, ScoreArray
from streameval.schema.batch import Batch, Dense, Ragged, offsets_of, slots_of
from streameval.schema.labels import Label, LabelIndex, by_column

BLOCK = 2**10  # examples that are checked, counted or copied at once where memory matters


class ExampleScores(NamedTuple):
    """For each example, how many labels have a score, their columns, and the scores; all other labels rank last."""

    lengths: Int32Array
    columns: Int32Array
    scores: ScoreArray

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """The scores of a batch that has some."""
        assert batch.scores is not None  # noqa: S101  # a state reads scores
        scores: ScoreArray = batch.scores
        lengths: Places
        columns: Places
        if isinstance(batch, Dense):
            scored = np.ones(scores.shape, np.bool_) if batch.ranked is None else batch.ranked != 0
            if batch.mask is not None:  # the score of a masked cell counts nowhere
                scored &= batch.mask == 0
            columns = np.broadcast_to(batch.columns, scores.shape)[scored]
            lengths, scores = np.count_nonzero(scored, axis=1), scores[scored]
        else:
            assert batch.ranked is not None  # noqa: S101  # scores have columns
            lengths, columns, mask = np.diff(batch.ranked.offsets), batch.ranked.flat(), batch.mask
            if mask is not None and len(mask.places):
                masked, row = mask.flat(), rows_of(lengths)
                width = 1 + max(int(columns.max(initial=0)), int(masked.max()))
                seen = ~np.isin(row * width + columns, rows_of(np.diff(mask.offsets)) * width + masked)
                lengths, columns, scores = np.bincount(row[seen], minlength=len(lengths)), columns[seen], scores[seen]
        return cls(lengths.astype(np.int32), columns.astype(np.int32), narrowed(scores))

    def taken(self, order: IntArray) -> Self:
        """The examples at these places, in this order."""
        place = _entries(self.lengths, order)
        return type(self)(self.lengths[order], self.columns[place], self.scores[place])

    def moved(self, columns: Places) -> Self:
        """The same with ``columns[column]`` in place of each column."""
        return self._replace(columns=columns[self.columns].astype(np.int32))

    def ordered(self) -> Self:
        """The same with ascending columns within each example, scores as narrow as can be, and none -0.0."""
        order = np.lexsort((self.columns, rows_of(self.lengths)))
        return type(self)(self.lengths, self.columns[order], narrowed(self.scores[order] + np.float32(0.0)))


class Examples(NamedTuple):
    """Examples in sequence: how many slots each has, all slots, and weights, times and scores if there are any."""

    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray | None = None
    stamps: IntArray | None = None
    scores: ExampleScores | None = None

    @classmethod
    def of(cls, batch: Batch, fixed: int, *, scored: bool) -> Self:
        """The examples of a batch that was counted, hence checked, where the first ``fixed`` labels are declared."""
        return cls(*slots_of(batch, fixed), batch.weights, None, ExampleScores.of(batch) if scored else None)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """All examples of the first part, then those of the next."""
        if len(parts) == 1:
            return parts[0]
        lengths, slots, weights, stamps, scores = zip(*parts, strict=True)
        if any(one is not None for one in weights):
            weights = (*(np.ones(part.size) if part.weights is None else part.weights for part in parts),)
        lengths, slots, weights, stamps = map(_concatenated, (lengths, slots, weights, stamps))
        scored = None if scores[0] is None else ExampleScores(*map(_concatenated, zip(*scores, strict=True)))
        return cls(lengths, slots, weights, stamps, scored)

    @property
    def size(self) -> int:
        return len(self.lengths)

    @property
    def weights_but_1(self) -> FloatArray | None:
        """The weights; None if all are 1."""
        return None if self.weights is None or (self.weights == 1.0).all() else self.weights

    def blocks(self) -> Iterator[Self]:
        """The same examples in blocks of at most `BLOCK`."""
        for at in range(0, self.size, BLOCK):
            yield self.taken(np.arange(at, min(at + BLOCK, self.size)))

    def taken(self, order: IntArray) -> Self:
        weights = None if self.weights is None else self.weights[order]
        stamps = None if self.stamps is None else self.stamps[order]
        slots, scores = self.slots[_entries(self.lengths, order)], self.scores and self.scores.taken(order)
        return type(self)(self.lengths[order], slots, weights, stamps, scores)

    def moved(self, columns: Places, fixed: int) -> Self:
        """The same in other columns. Labels that are declared there, and were not here, lose their true negatives."""
        slots = (5 * columns[self.slots // 5] + self.slots % 5).astype(np.int32)
        explicit = (slots % 5 != 0) | (slots >= 5 * fixed)
        lengths = np.bincount(rows_of(self.lengths)[explicit], minlength=self.size).astype(np.int32)
        return self._replace(lengths=lengths, slots=slots[explicit], scores=self.scores and self.scores.moved(columns))

    def ascending(self) -> Self:
        """The same with ascending slots and columns."""
        slots = self.slots[np.lexsort((self.slots, rows_of(self.lengths)))]
        return self._replace(slots=slots, scores=self.scores and self.scores.ordered())

    def canonical(self) -> Self:
        """The same, if slots and columns ascend, with examples of equal stamps sorted: their order has no meaning."""
        same = self._replace(weights=self.weights_but_1)
        order = same.order_of_stamps()
        return same if order is None else same.taken(order)

    def order_of_stamps(self) -> IntArray | None:
        """The order that sorts examples of equal stamps, if slots ascend; None if no stamp is repeated."""
        if self.stamps is None or not (alike := self.stamps[1:] == self.stamps[:-1]).any():
            return None
        rows = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
        lengths, slots, weights, stamps, scores = self.taken(rows)
        keys: list[list[Any]] = [[] if stamps is None else stamps.tolist(), _split(slots, lengths)]
        keys += [] if weights is None else [weights.tolist()]
        keys += () if scores is None else (_split(part, scores.lengths) for part in scores[1:])
        order = np.arange(self.size)
        order[rows] = rows[sorted(range(len(rows)), key=list(zip(*keys, strict=True)).__getitem__)]
        return order

    def batch(self) -> Ragged:
        column, outcome = (part.astype(np.int64) for part in np.divmod(self.slots, 5))
        row, scores = rows_of(self.lengths), self.scores

        def lists(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Lists | None:
            if not chosen.any():
                return None
            return Lists(offsets_of(np.bincount(row[chosen], minlength=self.size)), column[chosen])

        true, pred = lists(outcome % 2 == 1), lists((outcome == 2) | (outcome == 3))
        batch = Ragged(self.size, true, pred, lists(outcome == 4), lists(outcome == 0), weights=self.weights_but_1)
        if scores is not None:
            batch.ranked = Lists(offsets_of(scores.lengths), scores.columns.astype(np.int64))
            batch.scores = scores.scores.astype(np.float64)
        return batch


class Recording(NamedTuple):
    """Examples in canonical form, in blocks, and their labels: ``fixed`` declared ones, then the rest in order."""

    labels: Any  # a sequence; of many labels one of `by_column`
    fixed: int
    size: int
    blocks: Callable[[], Iterator[Examples]]  # each call starts again; a stamp is in one block, unless from bytes

    @classmethod
    def empty(cls, declared: tuple[Label, ...]) -> Self:
        return cls(declared, len(declared), 0, lambda: iter(()))

    @classmethod
    def of(cls, labels: LabelIndex, blocks: Callable[[], Iterator[Examples]]) -> Self:
        """Examples whose columns are those of ``labels``."""
        present, there, size = labels.order(), np.zeros(len(labels), np.bool_), 0
        for block in blocks():
            there[block.slots // 5] = True
            size += block.size
        there[: labels.fixed] = True
        present = present if there.all() else present[there[present]]
        rank = np.zeros(len(labels), np.int32)
        rank[present] = np.arange(len(present), dtype=np.int32)
        names = by_column(present, labels.at)

        def canonical() -> Iterator[Examples]:
            moved = (block.moved(rank, labels.fixed).ascending() for block in blocks())
            return (block.canonical() for block in whole_stamps(moved))

        return cls(names, labels.fixed, size, canonical)


def stamps_of(block: Examples) -> IntArray:
    """The times of examples that have some."""
    assert block.stamps is not None  # noqa: S101  # only of timed windows
    return block.stamps


def whole_stamps(blocks: Iterable[Examples]) -> Iterator[Examples]:
    """The same examples in blocks such that no stamp is in two of them."""
    waiting: list[Examples] = []
    for block in blocks:
        if block.stamps is None:
            yield block
        elif block.size:
            last = block.stamps[-1]
            if waiting and stamps_of(waiting[-1])[-1] != block.stamps[0]:
                yield Examples.joined(waiting)
                waiting.clear()
            if last != block.stamps[0]:
                first, rest = np.split(np.arange(block.size), [np.searchsorted(block.stamps, last)])
                before, block = block.taken(first), block.taken(rest)
                yield Examples.joined([*waiting, before])
                waiting.clear()
            waiting.append(block)
    if waiting:
        yield Examples.joined(waiting)


def narrowed(scores: ScoreArray) -> ScoreArray:
    """Scores as float32 if that changes none of them."""
    if scores.dtype == np.float32:
        return scores
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    return narrow if (narrow == scores).all() else scores


def rows_of(lengths: Int32Array | IntArray) -> IntArray:
    """The example that each entry belongs to."""
    return np.repeat(np.arange(len(lengths)), lengths)


def _entries(lengths: Int32Array, order: IntArray) -> Places:
    offsets = offsets_of(lengths)
    return taken(offsets, np.arange(offsets[-1]), order)[1]


def _split(entries: np.ndarray[Any, Any], lengths: Int32Array) -> list[list[Any]]:
    bounds, listed = offsets_of(lengths).tolist(), entries.tolist()
    return [listed[start:stop] for start, stop in pairwise(bounds)]


def _concatenated(parts: Sequence[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)
