"""The tape of examples with their scores. Every change of it happens at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from streameval.kernel.types import FloatArray, Int32Array, IntArray, ScoreArray, TapeContents
from streameval.schema.example_scores import ExampleScores, narrowed

__all__ = ["JointTape"]


class _Held(NamedTuple):
    """Arrays with room behind what is held. What lies outside the bounds is not yet, or no longer, on the tape."""

    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray
    stamps: IntArray
    many: Int32Array
    columns: Int32Array
    scores: ScoreArray
    examples: slice
    of_slots: slice
    of_scores: slice
    odd: int
    appended: int


class JointTape:
    """What `streameval.kernel.tape.numpy.Tape` holds of examples, and beside it the scores that they give.

    Scores take 4 bytes as long as every one so far was a float32, and 8 from the first that was not.
    """

    __slots__ = ("_held", "timed")

    def __init__(self, timed: bool) -> None:
        self.timed = timed
        none = slice(0, 0)
        self._held = _Held(*_room(64, 256, 256, np.float32), none, none, none, 0, 0)

    @property
    def examples(self) -> int:
        """How many examples are on the tape."""
        return _size(self._held.examples)

    @property
    def appended(self) -> int:
        """How many examples were ever appended."""
        return self._held.appended

    @property
    def weighted(self) -> bool:
        """Whether any of them weighs other than 1."""
        return self._held.odd > 0

    @property
    def latest(self) -> int | None:
        """The stamp of the newest example."""
        held = self._held
        return int(held.stamps[held.examples.stop - 1]) if self.timed and _size(held.examples) else None

    def extend(
        self,
        lengths: Int32Array,
        slots: Int32Array,
        weights: FloatArray | None,
        stamps: IntArray | None,
        given: ExampleScores | None = None,
    ) -> None:
        """Append examples: as `streameval.kernel.tape.numpy.Tape.extend` does, with their scores, if they have any."""
        given = ExampleScores.nothing(len(lengths)) if given is None else given
        held = self._with_room(len(lengths), len(slots), given)
        examples, of_slots, of_scores = (
            slice(part.stop, part.stop + more)
            for part, more in (
                (held.examples, len(lengths)), (held.of_slots, len(slots)), (held.of_scores, len(given.columns)),
            )
        )  # fmt: skip
        held.lengths[examples] = lengths
        held.slots[of_slots] = slots
        held.weights[examples] = 1.0 if weights is None else weights
        held.stamps[examples] = 0 if stamps is None else stamps
        held.many[examples] = given.lengths
        held.columns[of_scores] = given.columns
        held.scores[of_scores] = given.scores
        odd = 0 if weights is None else int(np.count_nonzero(weights != 1.0))
        self._held = held._replace(
            examples=slice(held.examples.start, examples.stop),
            of_slots=slice(held.of_slots.start, of_slots.stop),
            of_scores=slice(held.of_scores.start, of_scores.stop),
            odd=held.odd + odd,
            appended=held.appended + len(lengths),
        )

    def _with_room(self, examples: int, slots: int, given: ExampleScores) -> _Held:
        held = self._held
        kind = held.scores.dtype
        if kind == np.float32 and narrowed(given.scores).dtype != np.float32:
            kind = np.dtype(np.float64)
        fits = kind == held.scores.dtype and all(
            part.stop + more <= len(room)
            for part, more, room in (
                (held.examples, examples, held.lengths),
                (held.of_slots, slots, held.slots),
                (held.of_scores, len(given.columns), held.columns),
            )
        )
        if fits:
            return held
        counts = _size(held.examples), _size(held.of_slots), _size(held.of_scores)
        more = examples, slots, len(given.columns)
        sizes = [256 + (count + added) * 3 // 2 for count, added in zip(counts, more, strict=True)]
        room = _room(sizes[0], sizes[1], sizes[2], kind)
        before = (held.examples, held.of_slots, held.examples, held.examples, held.examples, *[held.of_scores] * 2)
        for new, old, span in zip(room, held[:7], before, strict=True):
            new[: _size(span)] = old[span]
        spans = slice(0, counts[0]), slice(0, counts[1]), slice(0, counts[2])
        return _Held(*room, *spans, held.odd, held.appended)

    def overdue(self, size: int, limit: int) -> int:
        """How many of the oldest examples go if ``size`` may stay, and if timed, those stamped after ``limit``."""
        held = self._held
        late = int(np.searchsorted(held.stamps[held.examples], limit, "right")) if self.timed else 0
        return max(0, late, self.examples - size)

    def drop(self, examples: int) -> None:
        """Take the oldest examples off the tape."""
        held = self._held
        first, stop = held.examples.start, held.examples.stop
        gone = slice(first, min(stop, first + examples))
        odd = int(np.count_nonzero(held.weights[gone] != 1.0)) if held.odd else 0
        slots, scores = int(held.lengths[gone].sum()), int(held.many[gone].sum())
        self._held = held._replace(
            examples=slice(gone.stop, stop),
            of_slots=slice(held.of_slots.start + slots, held.of_slots.stop),
            of_scores=slice(held.of_scores.start + scores, held.of_scores.stop),
            odd=held.odd - odd,
        )

    def contents(self, start: int, stop: int) -> TapeContents:
        """Copies of what `extend` took, of some of the examples; weights are None if the whole tape has none but 1."""
        held = self._held
        examples, of_slots = _span(held.lengths, held.examples, held.of_slots, start, stop)
        weights = held.weights[examples].copy() if held.odd else None
        stamps = held.stamps[examples].copy() if self.timed else None
        return held.lengths[examples].copy(), held.slots[of_slots].copy(), weights, stamps

    def given(self, start: int, stop: int) -> ExampleScores:
        """Copies of the scores of some of the examples."""
        held = self._held
        examples, of_scores = _span(held.many, held.examples, held.of_scores, start, stop)
        return ExampleScores(held.many[examples].copy(), held.columns[of_scores].copy(), held.scores[of_scores].copy())


def _size(span: slice) -> int:
    return int(span.stop - span.start)


def _span(lengths: Int32Array, examples: slice, entries: slice, start: int, stop: int) -> tuple[slice, slice]:
    """Where some of the examples are, and their entries."""
    start, stop = (min(max(0, bound), _size(examples)) for bound in (start, stop))
    chosen = slice(examples.start + start, examples.start + max(start, stop))
    before = int(entries.start) + int(lengths[examples.start : chosen.start].sum())
    return chosen, slice(before, before + int(lengths[chosen].sum()))


def _room(
    examples: int, slots: int, scores: int, kind: object
) -> tuple[Int32Array, Int32Array, FloatArray, IntArray, Int32Array, Int32Array, ScoreArray]:
    return (
        np.zeros(examples, np.int32), np.zeros(slots, np.int32), np.zeros(examples, np.float64),
        np.zeros(examples, np.int64), np.zeros(examples, np.int32), np.zeros(scores, np.int32),
        np.zeros(scores, np.dtype(kind)),  # type: ignore[call-overload]
    )  # fmt: skip
