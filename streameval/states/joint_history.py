"""Several states of examples that are remembered with their scores, so that the oldest can be taken back.

As in `streameval.states.history`, the tape is what holds: where the states were torn from it, they are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray
from streameval.schema.batch import Example
from streameval.schema.labels import LabelIndex
from streameval.states.given import Given, scored_of
from streameval.states.history import ALWAYS, Recorded, Tail, moved
from streameval.states.joint_tape import JointTape
from streameval.states.recording import Recording
from streameval.states.state_set import Joint, Several

__all__ = ["RecordedJoint"]

# Examples are taken back one by one, which costs as much as counting many at once, unless they are weighted.
_MANY, _TIMES = 8, 32
_PIECE = 2**14


class RecordedJoint(Recorded):
    """Examples on a tape with their scores, and several states of them.

    Attributes
    ----------
    several
        The states.
    """

    __slots__ = ("_patience", "_scored", "several")
    tape: JointTape  # type: ignore[assignment]  # it has all that is used of a tape here

    def __init__(self, recording: Recording, like: Several, *, floor: int = ALWAYS) -> None:
        self.labels = LabelIndex(recording.labels)
        self.labels.fixed = recording.fixed
        self.tape = JointTape(recording.stamps is not None)
        self.tape.extend(recording.lengths, recording.slots, recording.weights, recording.stamps, recording.given)
        self._scored = recording.given is not None
        self.several = like.empty(self.labels)
        batch = recording.batch()
        for start in range(0, batch.examples, _PIECE):
            stop = min(start + _PIECE, batch.examples)
            lengths, slots, weights, _ = self.tape.contents(start, stop)
            scored = scored_of(lengths, slots, weights, self.tape.given(start, stop)) if self._scored else None
            self.several.count(Joint(batch.part(start, stop), scored))
        self.decisions = self.several.decisions
        self.counts = self.decisions._counts
        self.floor, self.torn, self.before = floor, False, 0
        self._look = self._patience = 64 + 2 * len(self.labels)

    @property
    def state(self) -> Several:
        """All counts."""
        return self.several

    def recording(self, size: int, limit: int) -> Recording:
        """What is on the tape and not overdue."""
        start, stop = self.tape.overdue(size, limit), self.tape.examples
        given = self.tape.given(start, stop) if self._scored else None
        return Recording.of(self.labels, self.tape.contents(start, stop), given)

    def slide(self, example: Any, stamp: int, size: int, limit: int) -> None:
        """Count an example, and take back what is then overdue."""
        self._require_room()
        joint = cast("Joint", example)
        decided = cast("Example", joint.decided)
        slots = decided.slots.astype(np.int32)
        given = None if joint.scored is None else Given.of(joint.scored)
        weights = None if decided.weight == 1.0 else np.array([decided.weight])
        stamps = np.array([stamp], np.int64) if self.tape.timed else None
        self.torn = True
        try:
            self.several.count_one(joint, 1)
        except BaseException:
            self.torn = self.several.examples != self.tape.examples
            raise
        self.tape.extend(np.array([len(slots)], np.int32), slots, weights, stamps, given)
        self.torn = self._trim(size, limit)

    def extend(self, gathered: Any, tail: Tail, stamps: IntArray | None, size: int, limit: int) -> None:
        """Count examples whose counts were gathered over labels of their own, and take back what is then overdue."""
        contents, given = tail.contents(stamps), tail.given()
        columns = self.decisions._columns_of(gathered.decisions)
        self._require_room()
        if columns is not None:
            contents = moved(contents, columns, self.labels.fixed)
            given = None if given is None else given.moved(columns)
        self.torn = True
        try:
            self.several.merge(gathered)
        except BaseException:
            self.torn = self.several.examples != self.tape.examples
            raise
        self.tape.extend(*contents, given)
        self.torn = self._trim(size, limit)

    def _trim(self, size: int, limit: int) -> bool:
        """The same; whether it is better to count anew."""
        tape, several = self.tape, self.several
        overdue = tape.overdue(size, limit)
        if not overdue:
            return False
        if overdue > _MANY and (2 if tape.weighted else _TIMES) * overdue > tape.examples:
            return True
        lengths, slots, weights, _ = tape.contents(0, overdue)
        scored = scored_of(lengths, slots, weights, tape.given(0, overdue)) if self._scored else None
        several.drop(_examples(lengths, slots, weights), scored)
        heavy = tape.weighted
        tape.drop(overdue)
        if heavy and not tape.weighted:
            several.unweigh()
        self._patience -= overdue
        if self._patience < 0:  # keys of which nothing is left are then as many as what the window holds
            several.compact()
            self._patience = 64 + len(self.labels) + tape.examples
        return False

    def copy(self) -> RecordedJoint:
        """An independent copy; not of a torn state."""
        twin = RecordedJoint.__new__(RecordedJoint)
        twin.labels = self.labels.copy()
        twin.tape = JointTape(self.tape.timed)
        everything = 0, self.tape.examples
        twin.tape.extend(*self.tape.contents(*everything), self.tape.given(*everything))
        twin.several = self.several.copy(twin.labels)
        twin.decisions = twin.several.decisions
        twin.counts = twin.decisions._counts
        twin.floor, twin.torn, twin.before, twin._look = self.floor, False, self.before, self._look
        twin._patience, twin._scored = self._patience, self._scored
        return twin


def _examples(lengths: Int32Array, slots: Int32Array, weights: FloatArray | None) -> Iterator[Example]:
    """Examples one by one, as states of decisions read them."""
    wide = slots.astype(np.int64)
    end = 0
    for row, length in enumerate(lengths.tolist()):
        start, end = end, end + length
        cells = wide[start:end]
        _, fn, fp, tp, masked = np.bincount(cells % 5, minlength=5).tolist()
        yield Example(cells, (tp + fn, tp + fp, tp, masked), 1.0 if weights is None else float(weights[row]))
