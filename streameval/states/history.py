"""States of which the examples are remembered, oldest first, so that the oldest can be taken back.

The examples on the tape are what holds; the counts follow from them. The tape changes at once, the counts may not:
while they differ the history is stale, and whoever reads it counts anew what is on the tape. So an interruption costs
one recount and never a wrong number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streameval.errors import CounterOverflowError
from streameval.kernel import backend
from streameval.kernel.types import FloatArray, Int32Array, IntArray, TapeContents
from streameval.schema.batch import Batch, Example, slots_of
from streameval.schema.example_scores import ExampleScores, batch_of, narrowed
from streameval.schema.labels import Label, LabelIndex
from streameval.states.recording import Recording
from streameval.states.state_set import StateSet

__all__ = ["ALWAYS", "History", "RecentExamples"]

ALWAYS = -(2**63)
"""A limit that no example is stamped at or before."""

_COLUMNS = 2**31 // 5
# Taking weights back one by one costs more than counting anew what stays, from about here on.
_MANY = 64
# Of several states examples are taken back one by one, which costs as much as counting many at once, unless weighted.
_FEW, _TIMES = 8, 32
# Weight sums of a batch are exact below 2**20 examples; several states take more room for each.
_PIECE, _SMALL_PIECE = 2**17, 2**14


class RecentExamples:
    """The last examples of batches, in the columns of their reader; with their scores if states read them."""

    def __init__(self, labels: LabelIndex, size: int, *, scored: bool) -> None:
        self._labels, self._size, self._scored = labels, size, scored
        self._parts: list[tuple[Int32Array, Int32Array, FloatArray | None]] = []
        self._given: list[ExampleScores] = []
        self._held = 0
        self.examples = 0

    def add(self, batch: Batch) -> None:
        """Note a batch that was counted, hence checked, and its scores."""
        self.examples += batch.examples
        surplus = max(0, batch.examples - self._size)
        newest = batch.part(surplus, batch.examples) if surplus else batch
        self._parts.append((*slots_of(newest, self._labels.fixed), newest.weights))
        scores = ExampleScores.of(newest) if self._scored else None
        if scores is not None:
            self._given.append(scores)
        self._held += newest.examples
        while self._held - len(self._parts[0][0]) >= self._size:
            self._held -= len(self._parts.pop(0)[0])
            del self._given[:1]

    def recording(self, declared: tuple[Label, ...], stamps: IntArray | None) -> Recording:
        """The noted examples where ``declared`` are the declared labels, which the reader may not have known."""
        contents, given, labels = self.contents(stamps), self.given(), self._labels
        if labels.fixed != len(declared):
            labels = LabelIndex(declared)
            columns = np.array([labels.add(name) for name in self._labels.labels], np.int64)
            contents, given = _moved(contents, columns, labels.fixed), None if given is None else given.moved(columns)
        return Recording.of(labels, contents, given)

    def given(self) -> ExampleScores | None:
        """The scores of the noted examples."""
        if not self._given:
            return None
        given = ExampleScores.joined(self._given)
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


def _moved(contents: TapeContents, columns: IntArray, fixed: int) -> TapeContents:
    """Examples in other columns. Those that are declared there, and were not here, lose their true negatives."""
    lengths, slots, weights, stamps = contents
    slots = (5 * columns[slots // 5] + slots % 5).astype(np.int32)
    kept = (slots % 5 != 0) | (slots >= 5 * fixed)
    row = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(row[kept], minlength=len(lengths)).astype(np.int32), slots[kept], weights, stamps


class History:
    """Examples on a tape and their states.

    Attributes
    ----------
    labels, states
        What the examples come to.
    tape
        The examples. Where the decisions are the only state, it can count in them by itself.
    stale
        Whether the counts may differ from what is on the tape.
    clock
        Of a timed tape: the time so far, where it is later than that of the newest example.
    before
        How many examples were appended before those that this began with.
    """

    __slots__ = (
        "_look", "_scored", "_until_compaction", "before", "clock", "counts", "labels", "stale", "states", "tape",
    )  # fmt: skip

    def __init__(self, recording: Recording, like: StateSet, *, clock: int = ALWAYS) -> None:
        labels = self.labels = LabelIndex(recording.labels)
        labels.fixed = recording.fixed
        timed = recording.stamps is not None
        self.tape = backend.tape.Tape(backend.commit.Root(), timed)
        self._scored = recording.given is not None
        self._append((recording.lengths, recording.slots, recording.weights, recording.stamps), recording.given)
        self._hold(like.empty_like(labels))
        batch = recording.batch()
        size = _SMALL_PIECE if _several(like) else _PIECE
        for start in range(0, batch.examples, size):
            stop = min(start + size, batch.examples)
            self.states.count(batch.part(start, stop))
        self.clock, self.stale, self.before = clock, False, 0
        self._look = self._until_compaction = 64 + 2 * len(labels)

    def _hold(self, states: StateSet) -> None:
        self.states, self.counts = states, states.decisions.table

    @property
    def appended(self) -> int:
        """How many examples were ever appended, here and before."""
        return self.before + int(self.tape.appended)

    def recording(self, size: int, limit: int) -> Recording:
        """What is on the tape and not overdue."""
        start, stop = self.tape.overdue(size, limit), self.tape.examples
        given = self._given(start, stop) if self._scored else None
        return Recording.of(self.labels, self.tape.contents(start, stop), given)

    def needs_compaction(self) -> bool:
        """Whether most registered labels have left; looks as seldom as looking costs."""
        if len(self.labels) <= self._look:
            return False
        self._look = 64 + 2 * len(self.labels)
        return self.states.mostly_unused()

    def slide(self, example: Example, stamp: int, size: int, limit: int) -> None:
        """Count an example, and take back what is then overdue."""
        self._require_room()
        slots = example.slots.astype(np.int32)
        weights = None if example.weight == 1.0 else np.array([example.weight])
        stamps = np.array([stamp], np.int64) if self.tape.timed else None
        given = None if example.scored is None else ExampleScores.of(example.scored)
        self.stale = True
        try:
            self.states.count_one(example, 1)
        except BaseException:
            self.stale = self.states.examples != self.tape.examples
            raise
        self._append((np.array([len(slots)], np.int32), slots, weights, stamps), given)
        self.stale = self._trim(size, limit)

    def extend(
        self, gathered: StateSet, recent: RecentExamples, stamps: IntArray | None, size: int, limit: int
    ) -> None:
        """Count examples whose counts were gathered over labels of their own, and take back what is then overdue."""
        contents, given = recent.contents(stamps), recent.given()
        columns = self.states.columns_of(gathered)
        self._require_room()
        if columns is not None:
            contents = _moved(contents, columns, self.labels.fixed)
            given = None if given is None else given.moved(columns)
        self.stale = True
        try:
            self.states.merge(gathered)
        except BaseException:
            self.stale = self.states.examples != self.tape.examples
            raise
        self._append(contents, given)
        self.stale = self._trim(size, limit)

    def advance(self, clock: int, size: int, limit: int) -> None:
        """Let time pass, and take back what is then overdue."""
        self.stale = True
        self.clock = clock
        self.stale = self._trim(size, limit)

    def _append(self, contents: TapeContents, given: ExampleScores | None) -> None:
        scores = None if given is None else (given.lengths, given.columns, narrowed(given.scores))
        self.tape.extend(*contents, scores)

    def _given(self, start: int, stop: int) -> ExampleScores:
        return ExampleScores(*self.tape.scores_of(start, stop))

    def _trim(self, size: int, limit: int) -> bool:
        """The same; whether it is better to count anew."""
        tape, states = self.tape, self.states
        overdue = tape.overdue(size, limit)
        several, weighted = _several(states), tape.weighted
        if overdue and (several or weighted):
            few, times = (_FEW, 2 if weighted else _TIMES) if several else (_MANY, 2)
            if overdue > few and times * overdue > tape.examples:
                return True
        if not several:
            if overdue and weighted:
                self._lighten(overdue)
            tape.drop(self.counts, overdue)
        elif overdue:
            for example in self._examples(overdue):
                states.count_one(example, -1, known=True)
            tape.drop(None, overdue)
            self._until_compaction -= overdue
            if self._until_compaction < 0:  # keys of which nothing is left are then as many as what the window holds
                states.compact()
                self._until_compaction = 64 + len(self.labels) + tape.examples
        if not tape.weighted:
            states.drop_weights()
        return False

    def _examples(self, size: int) -> Iterator[Example]:
        """The oldest examples one by one."""
        lengths, slots, weights, _ = self.tape.contents(0, size)
        batch = batch_of(lengths, slots, weights, self._given(0, size))
        wide = slots.astype(np.int64)
        end = 0
        for row, length in enumerate(lengths.tolist()):
            start, end = end, end + length
            weight = 1.0 if weights is None else float(weights[row])
            yield Example.at(wide[start:end], weight, batch.part(row, row + 1))

    def _lighten(self, size: int) -> None:
        """Take the oldest examples out of the weight sums, but not out of the counts."""
        lengths, slots, weights, _ = self.tape.contents(0, size)
        assert weights is not None  # noqa: S101  # a weighted tape has them
        ends = np.cumsum(lengths).tolist()
        spans = zip([0, *ends], ends, weights.tolist(), strict=False)
        oldest = [Example.at(slots[start:stop].astype(np.int64), weight) for start, stop, weight in spans]
        states = self.states
        states.root.commit(states.decisions.prepare_weights(oldest, -1))

    def _require_room(self) -> None:
        if len(self.labels) >= _COLUMNS:
            raise CounterOverflowError(f"a window cannot hold {_COLUMNS} labels or more")

    def copy(self) -> History:
        """An independent copy; not of a stale history."""
        twin = History.__new__(History)
        twin._hold(self.states.copy())
        twin.labels, everything = twin.states.labels, (0, self.tape.examples)
        twin.tape = backend.tape.Tape(backend.commit.Root(), self.tape.timed)
        twin._append(self.tape.contents(*everything), self._given(*everything) if _several(self.states) else None)
        twin.clock, twin.stale, twin.before, twin._look = self.clock, False, self.before, self._look
        twin._until_compaction, twin._scored = self._until_compaction, self._scored
        return twin


def _several(states: StateSet) -> bool:
    """Whether the decisions are not the only state."""
    return len(states.states) > 1
