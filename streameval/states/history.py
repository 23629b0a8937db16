"""Decisions of which the examples are remembered, oldest first, so that the oldest can be taken back.

The examples on the tape are what holds; the counts follow from them. The tape changes at once, the counts beside it may
not: while they differ the state is torn, and whoever finds it so counts anew what is on the tape. So an interruption
costs one recount and never a wrong number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval import kernel
from streameval.errors import CounterOverflowError
from streameval.kernel.types import FloatArray, Int32Array, IntArray, TapeContents
from streameval.schema.batch import Batch, Scored
from streameval.schema.labels import Label, LabelIndex
from streameval.states.decisions import Decisions
from streameval.states.exact import common_scale, units_of
from streameval.states.given import Given
from streameval.states.placing import placed
from streameval.states.recording import Recording
from streameval.states.state_set import Several

__all__ = ["ALWAYS", "Recorded", "Tail", "moved"]

ALWAYS = -(2**63)
"""A limit that no example is stamped at or before."""

_COLUMNS = 2**31 // 5
# Taking weights back one by one costs more than counting anew what stays, from about here on.
_MANY = 64
# Weight sums of a batch are exact below 2**20 examples.
_PIECE = 2**17


class Tail:
    """The last examples of batches, in the columns of their reader."""

    def __init__(self, labels: LabelIndex, size: int) -> None:
        self._labels, self._size = labels, size
        self._parts: list[tuple[Int32Array, Int32Array, FloatArray | None]] = []
        self._given: list[Given] = []
        self._held = 0
        self.examples = 0

    def add(self, batch: Batch, scored: Scored | None = None) -> None:
        """Note a batch that was counted, hence checked, and its scores."""
        self.examples += batch.examples
        surplus = max(0, batch.examples - self._size)
        self._parts.append(placed(batch.part(surplus, batch.examples) if surplus else batch, self._labels.fixed))
        if scored is not None:
            self._given.append(Given.of(scored.part(surplus, batch.examples) if surplus else scored))
        self._held += batch.examples - surplus
        while self._held - len(self._parts[0][0]) >= self._size:
            self._held -= len(self._parts.pop(0)[0])
            del self._given[:1]

    def recording(self, declared: tuple[Label, ...], stamps: IntArray | None) -> Recording:
        """The noted examples where ``declared`` are the declared labels, which the reader may not have known."""
        contents, given, labels = self.contents(stamps), self.given(), self._labels
        if labels.fixed != len(declared):
            labels = LabelIndex(declared)
            columns = np.array([labels.add(name) for name in self._labels.labels], np.int64)
            contents, given = moved(contents, columns, labels.fixed), None if given is None else given.moved(columns)
        return Recording.of(labels, contents, given)

    def given(self) -> Given | None:
        """The scores of the noted examples."""
        if not self._given:
            return None
        given = Given.joined(self._given)
        gone = max(0, len(given.lengths) - self._size)
        return given.taken(np.arange(gone, len(given.lengths))) if gone else given

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


def moved(contents: TapeContents, columns: IntArray, fixed: int) -> TapeContents:
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
    before
        How many examples were appended before those that this began with.
    """

    __slots__ = ("_look", "before", "counts", "decisions", "floor", "labels", "tape", "torn")

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
        self.floor, self.torn, self.before = floor, False, 0
        self._look = 64 + 2 * len(self.labels)

    @property
    def appended(self) -> int:
        """How many examples were ever appended, here and before."""
        return self.before + self.tape.appended

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

    @property
    def state(self) -> Decisions | Several:
        """All counts."""
        return self.decisions

    def slide(self, example: Any, stamp: int, size: int, limit: int) -> None:
        """Count an example, and take back what is then overdue."""
        self._require_room()
        slots = example.slots.astype(np.int32)
        weights = None if example.weight == 1.0 else np.array([example.weight])
        stamps = np.array([stamp], np.int64) if self.tape.timed else None
        self.torn = True
        self.decisions.count_one(example, 1)
        self.tape.extend(np.array([len(slots)], np.int32), slots, weights, stamps)
        self.torn = self._trim(size, limit)

    def extend(self, gathered: Any, tail: Tail, stamps: IntArray | None, size: int, limit: int) -> None:
        """Count examples whose counts were gathered over labels of their own, and take back what is then overdue."""
        contents = tail.contents(stamps)
        columns = self.decisions._columns_of(gathered)
        self._require_room()
        if columns is not None:
            contents = moved(contents, columns, self.labels.fixed)
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
            decisions.unweigh()
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
        twin.floor, twin.torn, twin.before, twin._look = self.floor, False, self.before, self._look
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
