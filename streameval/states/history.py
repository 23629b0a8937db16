"""States with their examples, so that the oldest can be evicted; every change is one commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from streameval.errors import CounterOverflowError
from streameval.kernel import backend
from streameval.kernel.types import IntArray, TapeContents
from streameval.schema.batch import Batch, Example
from streameval.schema.labels import Label, LabelIndex
from streameval.schema.recording import BLOCK, Examples, ExampleScores, Recording
from streameval.states.base import Merge, Part
from streameval.states.state_set import StateSet

ALWAYS = -(2**63)
"""A time limit before every stamp."""

_COLUMNS = 2**31 // 5
# Up to this number of examples, reverting them one by one is faster than reverting them as a batch.
_FEW = 8
# Largest batches: weight sums are exact below 2**20 examples; sets of more than one state need more memory.
_PIECE, _SMALL_PIECE = 2**17, 2**14


class RecentExamples:
    """The newest ``size`` examples of batches, in the columns of their reader; with scores if states read them."""

    def __init__(self, labels: LabelIndex, size: int, *, scored: bool) -> None:
        self._labels, self.size, self._scored = labels, size, scored
        self._parts: list[Examples] = []
        self._stored = 0
        self.examples = 0

    def add(self, batch: Batch) -> None:
        """Store the newest examples of a batch that was counted, and so was checked."""
        self.examples += batch.examples
        surplus = max(0, batch.examples - self.size)
        newest = batch.take(slice(surplus, batch.examples)) if surplus else batch
        self._parts.append(Examples.of(newest, self._labels.fixed, scored=self._scored))
        self._stored += newest.examples
        while self._stored - self._parts[0].size >= self.size:
            self._stored -= self._parts.pop(0).size

    def recording(self, declared: tuple[Label, ...], stamps: IntArray | None) -> Recording:
        """The stored examples, with ``declared`` as the declared labels, which the reader may not have known."""
        labels, examples = self._labels, self.newest(stamps)
        if labels.fixed != len(declared):
            labels = LabelIndex(declared)
            examples = examples.moved(np.array(labels.register(self._labels.labels), np.int64), labels.fixed)
        return Recording.of(labels, examples.blocks)

    def newest(self, stamps: IntArray | None) -> Examples:
        """The newest ``size`` examples; ``stamps`` has the stamp of every example that was added."""
        examples = Examples.joined(self._parts)
        if examples.size > self.size:
            examples = examples.taken(np.arange(examples.size - self.size, examples.size))
        last = slice(self.examples - examples.size, self.examples)
        return examples._replace(stamps=None if stamps is None else stamps[last])


class History:
    """Examples on a tape, their states, and a ``clock``: the current time if later than the newest example."""

    __slots__ = ("_check_beyond", "_scored", "_until_compaction", "clock", "counts", "labels", "states", "tape")

    def __init__(self, recording: Recording, like: StateSet, *, timed: bool, clock: int = ALWAYS) -> None:
        labels = LabelIndex(recording.labels, recording.fixed)
        labels.bound(like.labels.limit, like.labels.check_beyond)
        states = like.empty_like(labels)
        self._start(states, clock, backend.tape.Tape(states.root, timed))
        self._count(states, map(self._appended, recording.blocks()))
        self.states.check_labels()
        self._check_beyond = self._until_compaction = 64 + 2 * len(labels)

    def _start(self, states: StateSet, clock: int, tape: Any) -> None:
        self.states, self.labels, self.counts, self.tape = states, states.labels, states.decisions.table, tape
        self._scored = any(state.reads == "scores" for state in states.states.values())
        self.clock, tape.earliest = states.root.cell(clock), clock

    def _appended(self, block: Examples) -> Examples:
        self.states.root.commit([self.tape.prepare_append(*block)])
        return block

    @property
    def latest(self) -> int:
        """The current time of a timed tape; `ALWAYS` if it has none yet."""
        newest: int | None = self.tape.latest
        clock: int = self.clock.value
        return clock if newest is None else max(newest, clock)

    def recording(self, size: int, limit: int) -> Recording:
        """The examples on the tape that are not overdue."""
        return Recording.of(self.labels, lambda: self._blocks(self.tape.overdue(size, limit), self.tape.examples))

    def needs_compaction(self) -> bool:
        """Whether most registered labels are unused; this is slow, so it is checked only after labels have doubled."""
        if len(self.labels.labels) <= self._check_beyond:
            return False
        self._check_beyond = 64 + 2 * len(self.labels)
        return self.states.mostly_unused()

    def prepare_slide(self, example: Example, stamp: int, size: int, limit: int) -> list[Part]:
        """Prepare to count an example and to evict those that are overdue then."""
        self._require_room()
        oldest = self.tape.overdue(size - 1, limit)
        drop = self._prepare_drop(oldest, weighted=example.weight != 1.0)
        if oldest <= _FEW:
            parts = self.states.prepare([*[(old, -1) for old in self._oldest(oldest)], (example, 1)], known=True)
        else:
            added = self.states.empty_like()
            added.count_one(example, 1)
            parts = self._prepare_merges([(added, None, 1)], oldest)
        if example.scored is None:
            return [*parts, self.tape.prepare_one(example.slots, example.weight, stamp), *drop]
        lengths, weights = np.array([len(example.slots)], np.int32), np.array([example.weight])
        stamps = np.array([stamp], np.int64) if self.tape.timed else None
        one = Examples(lengths, example.slots.astype(np.int32), weights, stamps, ExampleScores.of(example.scored))
        return [*parts, self.tape.prepare_append(*one), *drop]

    def extend(
        self, gathered: StateSet, recent: RecentExamples, stamps: IntArray | None, size: int, limit: int, *more: Part
    ) -> None:
        """Count examples gathered over separate labels, evict overdue ones, and commit ``more`` with these changes."""
        examples, columns = recent.newest(stamps), self.states.columns_of(gathered)
        self._require_room()
        if columns is not None:
            examples = examples.moved(columns, self.labels.fixed)
        oldest = self.tape.overdue(size - recent.examples, limit)
        drop = self._prepare_drop(oldest, weighted=examples.weights is not None)
        parts = self._prepare_merges([(gathered, columns, 1)], oldest)
        self.states.root.commit([*parts, self.tape.prepare_append(*examples), *drop, *more])

    def merge(self, other: History, clock: int, size: int, limit: int) -> None:
        """Advance the clock, add the examples of another tape that are not overdue then, and evict overdue ones."""
        gone, added = other.tape.overdue(size, limit), other.states
        if gone:
            added = added.empty_like()
            self._count(added, other._blocks(gone, other.tape.examples))
        columns = self.states.columns_of(added)
        self._require_room()
        oldest = self.tape.overdue(size, limit)
        drop = self._prepare_drop(oldest, weighted=other._weighted(gone, other.tape.examples) > 0)
        merged = self.tape.prepare_merge(other.tape, gone, columns)
        self._commit_at(clock, [*self._prepare_merges([(added, columns, 1)], oldest), merged, *drop])

    def advance(self, clock: int, size: int, limit: int) -> None:
        """Advance the clock and evict the examples that are overdue then."""
        oldest = self.tape.overdue(size, limit)
        drop = self._prepare_drop(oldest)
        self._commit_at(clock, [*self._prepare_merges([], oldest), *drop])

    def _commit_at(self, clock: int, parts: list[Part]) -> None:
        self.tape.earliest = clock  # safe before the commit: the kernel only declines earlier stamps, see `slide`
        self.states.root.commit([self.clock.prepare_store(clock), *parts])

    def _prepare_drop(self, oldest: int, *, weighted: bool = False) -> list[Part]:
        """Prepare to drop the oldest examples from the tape; ``weighted``: some new example does not weigh 1."""
        if len(self.states.states) > 1:
            if self._until_compaction < 0:  # by now there may be as many keys with count 0 as there are examples
                self.states.compact()
                self._until_compaction = 64 + len(self.labels) + self.tape.examples
            self._until_compaction -= oldest
        parts = [] if weighted or self._weighted(0, oldest) != self.tape.weighted else self.states.drop_weights()
        return [*parts, self.tape.prepare_drop(oldest)] if oldest else parts

    def _prepare_merges(self, merges: list[Merge[StateSet]], oldest: int) -> list[Part]:
        if oldest:
            evicted = self.states.empty_like()
            self._count(evicted, self._blocks(0, oldest, 4 * BLOCK))
            # Evictions come first, because checking them may release the room reserved for new cells.
            merges = [(evicted, None, -1), *merges]
        return self.states.prepare_merges(merges, known=True) if merges else []

    @staticmethod
    def _count(states: StateSet, blocks: Iterable[Examples]) -> None:
        most, waiting, stored = _PIECE if len(states.states) == 1 else _SMALL_PIECE, list[Examples](), 0

        def count() -> None:
            batch = Examples.joined(waiting).batch()
            for start in range(0, batch.examples, most):
                states.count(batch.take(slice(start, min(start + most, batch.examples))))

        for block in blocks:
            waiting, stored = [*waiting, block], stored + block.size
            # Counting a weighted batch takes time for every label so far, so such batches must be larger.
            if stored >= (BLOCK if block.weights is None else min(most, max(BLOCK, len(states.labels)))):
                count()
                waiting, stored = [], 0
        if waiting:
            count()

    def _weighted(self, start: int, stop: int) -> int:
        """How many of the examples from ``start`` to before ``stop`` do not weigh 1."""
        blocks = self._blocks(start, stop) if self.tape.weighted else ()
        return sum(int(np.count_nonzero(block.weights != 1.0)) for block in blocks)

    def _examples(self, start: int, stop: int) -> Examples:
        scores = ExampleScores(*self.tape.scores_of(start, stop)) if self._scored else None
        contents: TapeContents = self.tape.contents(start, stop)
        return Examples(*contents, scores)

    def _blocks(self, start: int, stop: int, size: int = BLOCK) -> Iterator[Examples]:
        return (self._examples(at, min(at + size, stop)) for at in range(start, stop, size))

    def _oldest(self, size: int) -> list[Example]:
        examples = [Example(*one) for one in self.tape.oldest(size)]
        if not self._scored or not size:
            return examples
        batch = self._examples(0, size).batch()
        return [one._replace(scored=batch.take(slice(row, row + 1))) for row, one in enumerate(examples)]

    def _require_room(self) -> None:
        if len(self.labels.labels) >= _COLUMNS:
            raise CounterOverflowError(f"a window cannot hold {_COLUMNS} labels or more")

    def copy(self) -> History:
        result = History.__new__(History)
        states = self.states.copy()
        result._start(states, self.clock.value, self.tape.copy(states.root))
        result._check_beyond, result._until_compaction = self._check_beyond, self._until_compaction
        return result
