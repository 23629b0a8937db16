"""Examples that are remembered, as a value: the form in which they are compared, written and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray, TapeContents
from streameval.schema.batch import Ragged
from streameval.schema.example_scores import ExampleScores, batch_of, rows_of
from streameval.schema.labels import Label, LabelIndex


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Examples on a tape in canonical form: equal recordings have equal parts.

    Labels are as in `Content`. The slots of an example ascend; examples of one stamp are sorted, for their order means
    nothing. Scores are there if states read them; their columns ascend within an example, and none of them is -0.0.
    """

    labels: tuple[Label, ...]
    fixed: int
    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray | None
    stamps: IntArray | None
    scores: ExampleScores | None = None

    @classmethod
    def empty(cls, declared: tuple[Label, ...], *, timed: bool, scored: bool = False) -> Self:
        """Nothing, timed or not, scored or not."""
        nothing, stamps = np.zeros(0, np.int32), np.zeros(0, np.int64) if timed else None
        return cls(declared, len(declared), nothing, nothing, None, stamps, ExampleScores.nothing() if scored else None)

    @classmethod
    def of(cls, labels: LabelIndex, contents: TapeContents, scores: ExampleScores | None = None) -> Self:
        """What is on a tape whose columns are those of ``labels``."""
        lengths, slots, weights, stamps = contents
        order, there = labels.order(), np.zeros(len(labels), np.bool_)
        there[slots // 5] = True
        there[: labels.fixed] = True
        present = order[there[order]]
        rank = np.zeros(len(labels), np.int64)
        rank[present] = np.arange(len(present))
        row = rows_of(lengths)
        placed = 5 * rank[slots // 5] + slots % 5
        placed = placed[np.lexsort((placed, row))].astype(np.int32)
        if weights is not None and (weights == 1.0).all():
            weights = None
        names = tuple(map(labels.labels.__getitem__, present.tolist()))
        scores = None if scores is None else scores.moved(rank).ordered()
        return cls(names, labels.fixed, lengths, placed, weights, stamps, scores)._with_ties_sorted()

    def union(self, other: Self, limit: int) -> Self:
        """The timed examples of both that are stamped after ``limit``."""
        if self.stamps is None or other.stamps is None:
            raise TypeError("only timed recordings have an order in common")
        labels = LabelIndex(self.labels)
        labels.fixed = self.fixed
        columns = np.array([labels.add(name) for name in other.labels], np.int64)
        lengths = np.concatenate([self.lengths, other.lengths])
        slots = np.concatenate([self.slots, (5 * columns[other.slots // 5] + other.slots % 5).astype(np.int32)])
        stamps = np.concatenate([self.stamps, other.stamps])
        weights = None
        if self.weights is not None or other.weights is not None:
            both = (self, other)
            weights = np.concatenate(
                [np.ones(len(one.lengths)) if one.weights is None else one.weights for one in both]
            )
        order = np.argsort(stamps, kind="stable")
        order = order[stamps[order] > limit]
        rank = np.full(len(lengths), -1)
        rank[order] = np.arange(len(order))
        of_slot = np.repeat(rank, lengths)
        place = np.argsort(of_slot, kind="stable")
        slots = slots[place[of_slot[place] >= 0]]
        scores = None
        if self.scores is not None and other.scores is not None:
            scores = ExampleScores.joined([self.scores, other.scores.moved(columns)]).taken(order)
        return type(self).of(
            labels, (lengths[order], slots, None if weights is None else weights[order], stamps[order]), scores
        )

    def _with_ties_sorted(self) -> Self:
        if self.stamps is None or not (np.diff(self.stamps) == 0).any():
            return self
        slots, weights, stamps = self.slots.tolist(), self.weights, self.stamps.tolist()
        ends = np.cumsum(self.lengths).tolist()
        ranked = self._sort_keys()
        keys = [
            (
                stamps[row],
                slots[end - length : end],
                1.0 if weights is None else float(weights[row]),
                ranked[row],
                row,
            )
            for row, (end, length) in enumerate(zip(ends, self.lengths.tolist(), strict=True))
        ]
        keys.sort()
        order = np.array([row for *_, row in keys])
        listed = np.array([slot for _, example, *_ in keys for slot in example], np.int32)
        return type(self)(
            self.labels,
            self.fixed,
            self.lengths[order],
            listed,
            None if weights is None else weights[order],
            self.stamps,
            None if self.scores is None else self.scores.taken(order),
        )

    def _sort_keys(self) -> list[tuple[list[int], list[float]]]:
        """The scores of each example, to be sorted by."""
        if self.scores is None:
            return [([], [])] * len(self.lengths)
        lengths, columns, scores = (part.tolist() for part in self.scores)
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        return [(columns[span], scores[span]) for span in spans]

    def batch(self) -> Ragged:
        """The same examples as a batch."""
        return batch_of(self.lengths, self.slots, self.weights, self.scores)
