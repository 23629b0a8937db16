"""Decisions of which the examples are remembered, oldest first, so that the oldest can be taken back.

The examples on the tape are what holds; the counts follow from them. The tape changes at once, the counts beside it may
not: while they differ the state is torn, and whoever finds it so counts anew what is on the tape. So an interruption
costs one recount and never a wrong number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from streameval import kernel
from streameval.batch import Batch, Example, ListBatch
from streameval.errors import CounterOverflowError
from streameval.kernel.types import FloatArray, Int32Array, IntArray, Lists, TapeContents
from streameval.labels import Label, LabelIndex
from streameval.states.decisions import Decisions
from streameval.states.exact import common_scale, units_of
from streameval.states.placing import placed

__all__ = ["ALWAYS", "Recorded", "Recording", "Tail"]

ALWAYS = -(2**63)
"""A limit that no example is stamped at or before."""

_COLUMNS = 2**31 // 5
# Taking weights back one by one costs more than counting anew what stays, from about here on.
_MANY = 64
# Weight sums of a batch are exact below 2**20 examples.
_PIECE = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Examples on a tape in canonical form: equal recordings have equal parts.

    Labels are as in `Content`. The slots of an example ascend; examples of one stamp are sorted, for their order means
    nothing.
    """

    labels: tuple[Label, ...]
    fixed: int
    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray | None
    stamps: IntArray | None

    @classmethod
    def empty(cls, declared: tuple[Label, ...], *, timed: bool) -> Self:
        """Nothing, timed or not."""
        nothing = np.zeros(0, np.int32)
        return cls(declared, len(declared), nothing, nothing, None, np.zeros(0, np.int64) if timed else None)

    @classmethod
    def of(cls, labels: LabelIndex, contents: TapeContents) -> Self:
        """What is on a tape whose columns are those of ``labels``."""
        lengths, slots, weights, stamps = contents
        order, there = labels.order(), np.zeros(len(labels), np.bool_)
        there[slots // 5] = True
        there[: labels.fixed] = True
        kept = order[there[order]]
        rank = np.zeros(len(labels), np.int64)
        rank[kept] = np.arange(len(kept))
        row = np.repeat(np.arange(len(lengths)), lengths)
        placed = 5 * rank[slots // 5] + slots % 5
        placed = placed[np.lexsort((placed, row))].astype(np.int32)
        if weights is not None and (weights == 1.0).all():
            weights = None
        names = tuple(map(labels.labels.__getitem__, kept.tolist()))
        return cls(names, labels.fixed, lengths, placed, weights, stamps)._with_ties_sorted()

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
        return type(self).of(
            labels, (lengths[order], slots, None if weights is None else weights[order], stamps[order])
        )

    def _with_ties_sorted(self) -> Self:
        if self.stamps is None or not (np.diff(self.stamps) == 0).any():
            return self
        slots, weights, stamps = self.slots.tolist(), self.weights, self.stamps.tolist()
        ends = np.cumsum(self.lengths).tolist()
        keys = [
            (stamps[row], slots[end - length : end], 1.0 if weights is None else float(weights[row]), row)
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
        )

    def batch(self) -> ListBatch:
        """The same examples as a batch."""
        column, outcome = (part.astype(np.int64) for part in np.divmod(self.slots, 5))
        row = np.repeat(np.arange(len(self.lengths)), self.lengths)

        def lists(chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Lists:
            ends = np.cumsum(np.bincount(row[chosen], minlength=len(self.lengths)), dtype=np.int64)
            return Lists(np.concatenate([np.zeros(1, np.int64), ends]), column[chosen])

        odd = outcome % 2 == 1
        return ListBatch(
            len(self.lengths), lists(odd), lists((outcome == 2) | (outcome == 3)), lists(outcome == 4),
            lists(outcome == 0), np.zeros(0, np.int64), self.weights,
        )  # fmt: skip


class Tail:
    """The last examples of batches, in the columns of their reader."""

    def __init__(self, labels: LabelIndex, size: int) -> None:
        self._labels, self._size = labels, size
        self._parts: list[tuple[Int32Array, Int32Array, FloatArray | None]] = []
        self._held = 0
        self.examples = 0

    def add(self, batch: Batch) -> None:
        """Note a batch that was counted, hence checked."""
        self.examples += batch.examples
        surplus = max(0, batch.examples - self._size)
        self._parts.append(placed(batch.part(surplus, batch.examples) if surplus else batch, self._labels.fixed))
        self._held += batch.examples - surplus
        while self._held - len(self._parts[0][0]) >= self._size:
            self._held -= len(self._parts.pop(0)[0])

    def recording(self, declared: tuple[Label, ...], stamps: IntArray | None) -> Recording:
        """The noted examples where ``declared`` are the declared labels, which the reader may not have known."""
        contents, labels = self.contents(stamps), self._labels
        if labels.fixed != len(declared):
            labels = LabelIndex(declared)
            columns = np.array([labels.add(name) for name in self._labels.labels], np.int64)
            contents = _moved(contents, columns, labels.fixed)
        return Recording.of(labels, contents)

    def contents(self, stamps: IntArray | None) -> TapeContents:
        """The noted examples, at most as many as asked; ``stamps`` are those of all examples."""
        lengths = np.concatenate([np.zeros(0, np.int32), *(part[0] for part in self._parts)])
        slots = np.concatenate([np.zeros(0, np.int32), *(part[1] for part in self._parts)])
        weights = None
        if any(part[2] is not None for part in self._parts):
            weights = np.concatenate([np.ones(len(n)) if w is None else w for n, _, w in self._parts])
        gone = max(0, len(lengths) - self._size)
        slots = slots[int(lengths[:gone].sum()) :]
        last = slice(self.examples - len(lengths) + gone, self.examples)
        return (
            lengths[gone:],
            slots,
            None if weights is None else weights[gone:],
            None if stamps is None else stamps[last],
        )


def _moved(contents: TapeContents, columns: IntArray, fixed: int) -> TapeContents:
    """Examples in other columns. Those that are declared there, and were not here, lose their true negatives."""
    lengths, slots, weights, stamps = contents
    slots = (5 * columns[slots // 5] + slots % 5).astype(np.int32)
    kept = (slots % 5 != 0) | (slots >= 5 * fixed)
    row = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(row[kept], minlength=len(lengths)).astype(np.int32), slots[kept], weights, stamps


class Recorded:
    """Examples on a tape and their counts.

    Attributes
    ----------
    torn
        Whether the counts may differ from what is on the tape.
    floor
        Of a timed tape: the time so far, where it is later than that of the newest example.
    """

    __slots__ = ("_look", "counts", "decisions", "floor", "labels", "tape", "torn")

    def __init__(self, recording: Recording, *, floor: int = ALWAYS) -> None:
        self.labels = LabelIndex(recording.labels)
        self.labels.fixed = recording.fixed
        self.tape = kernel.Tape(recording.stamps is not None)
        self.tape.extend(recording.lengths, recording.slots, recording.weights, recording.stamps)
        self.decisions = Decisions(self.labels)
        batch = recording.batch()
        for start in range(0, batch.examples, _PIECE):
            self.decisions.count(batch.part(start, min(start + _PIECE, batch.examples)))
        self.counts = self.decisions._counts
        self.floor, self.torn = floor, False
        self._look = 64 + 2 * len(self.labels)

    def recording(self, size: int, limit: int) -> Recording:
        """What is on the tape and not overdue."""
        contents = self.tape.contents(self.tape.overdue(size, limit), self.tape.examples)
        return Recording.of(self.labels, contents)

    def crowded(self) -> bool:
        """Whether most registered labels have left; looks as seldom as looking costs."""
        if len(self.labels) <= self._look:
            return False
        self._look = 64 + 2 * len(self.labels)
        return self.decisions.sparse()

    def slide(self, example: Example, stamp: int, size: int, limit: int) -> None:
        """Count an example, and take back what is then overdue."""
        self._require_room()
        slots = example.slots.astype(np.int32)
        weights = None if example.weight == 1.0 else np.array([example.weight])
        stamps = np.array([stamp], np.int64) if self.tape.timed else None
        self.torn = True
        self.decisions.count_one(example, 1)
        self.tape.extend(np.array([len(slots)], np.int32), slots, weights, stamps)
        self.torn = self._trim(size, limit)

    def extend(self, gathered: Decisions, contents: TapeContents, size: int, limit: int) -> None:
        """Count examples whose counts were gathered over labels of their own, and take back what is then overdue."""
        columns = self.decisions._columns_of(gathered)
        self._require_room()
        if columns is not None:
            contents = _moved(contents, columns, self.labels.fixed)
        self.torn = True
        self.decisions.merge(gathered)
        self.tape.extend(*contents)
        self.torn = self._trim(size, limit)

    def advance(self, floor: int, size: int, limit: int) -> None:
        """Let time pass, and take back what is then overdue."""
        self.torn = True
        self.floor = floor
        self.torn = self._trim(size, limit)

    def _trim(self, size: int, limit: int) -> bool:
        """The same; whether it is better to count anew."""
        tape, decisions = self.tape, self.decisions
        overdue = tape.overdue(size, limit)
        if overdue and tape.weighted:
            if overdue > _MANY and 2 * overdue > tape.examples:
                return True
            _lighten(decisions, tape.contents(0, overdue))
        tape.drop(self.counts, overdue)
        if not tape.weighted:
            decisions._weights = None
        return False

    def _require_room(self) -> None:
        if len(self.labels) >= _COLUMNS:
            raise CounterOverflowError(f"a window cannot hold {_COLUMNS} labels or more")

    def copy(self) -> Recorded:
        """An independent copy; not of a torn state."""
        twin = Recorded.__new__(Recorded)
        twin.labels = self.labels.copy()
        twin.tape = kernel.Tape(self.tape.timed)
        twin.tape.extend(*self.tape.contents(0, self.tape.examples))
        twin.decisions = self.decisions.copy(twin.labels)
        twin.counts = twin.decisions._counts
        twin.floor, twin.torn, twin._look = self.floor, False, self._look
        return twin


def _lighten(decisions: Decisions, contents: TapeContents) -> None:
    """Take examples out of the weight sums."""
    lengths, slots, weights, _ = contents
    if weights is None:
        return
    units = [units_of(weight) for weight in weights.tolist()]
    held = decisions._weights_at(common_scale(*(scale for _, scale in units)))
    sums = held.sums
    start = 0
    for length, (value, scale) in zip(lengths.tolist(), units, strict=True):
        cells = slots[start : start + length].tolist()
        start += length
        outcomes = [slot % 5 for slot in cells]
        hits = outcomes.count(3)
        key = (hits + outcomes.count(1), hits + outcomes.count(2), hits, outcomes.count(4))
        value <<= held.scale - scale
        for place in (*(slot for slot in cells if slot % 5), key):
            left = sums.pop(place, 0) - value  # a sum of 0 need not be there
            if left:
                sums[place] = left
    decisions._weights = held
