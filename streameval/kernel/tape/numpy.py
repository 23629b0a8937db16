"""What the compiled `Tape` means: the examples in a window, oldest first, in as little room as they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from streameval.kernel.decisions.numpy import Counts
from streameval.kernel.types import OTHER, FloatArray, Int32Array, IntArray, RowKey, TapeContents

__all__ = ["Tape"]


class _Held(NamedTuple):
    """Arrays with room behind what is held. What lies outside the bounds is not yet, or no longer, on the tape."""

    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray
    stamps: IntArray
    first: int
    last: int
    first_slot: int
    last_slot: int
    odd: int
    appended: int


class Tape:
    """Examples as slots, with a weight and, on a timed tape, a stamp each: an integer that never decreases.

    A declared label that an example mentions as a true negative has no slot. Every change of the tape happens at once.
    """

    __slots__ = ("_held", "timed")

    def __init__(self, timed: bool) -> None:
        self.timed = timed
        self._held = _Held(*_room(64, 256), 0, 0, 0, 0, 0, 0)

    @property
    def examples(self) -> int:
        """How many examples are on the tape."""
        return self._held.last - self._held.first

    @property
    def appended(self) -> int:
        """How many examples were ever appended: what tells whether one was, also if as many were dropped."""
        return self._held.appended

    @property
    def weighted(self) -> bool:
        """Whether any of them weighs other than 1."""
        return self._held.odd > 0

    @property
    def latest(self) -> int | None:
        """The stamp of the newest example."""
        held = self._held
        return int(held.stamps[held.last - 1]) if self.timed and held.last > held.first else None

    def slide(
        self,
        counts: Counts,  # noqa: ARG002
        columns: Mapping[Any, int],  # noqa: ARG002
        fixed: int,  # noqa: ARG002
        y_true: object,  # noqa: ARG002
        y_pred: object,  # noqa: ARG002
        threshold: float | None,  # noqa: ARG002
        size: int,  # noqa: ARG002
        stamp: int,  # noqa: ARG002
        limit: int,  # noqa: ARG002
    ) -> int:
        """Count one example of a common form and append it, then take back what is overdue; see `Counts.count_example`.

        ``OTHER`` if the form is for others to read or the tape is weighted. Here it always is: only the compiled twin
        has something to gain.
        """
        return OTHER

    def extend(
        self, lengths: Int32Array, slots: Int32Array, weights: FloatArray | None, stamps: IntArray | None
    ) -> None:
        """Append examples: how many slots each has, all slots, weights (None: all are 1), and stamps if timed."""
        held = self._with_room(len(lengths), len(slots))
        examples = slice(held.last, held.last + len(lengths))
        held.lengths[examples] = lengths
        held.slots[held.last_slot : held.last_slot + len(slots)] = slots
        held.weights[examples] = 1.0 if weights is None else weights
        held.stamps[examples] = 0 if stamps is None else stamps
        odd = 0 if weights is None else int(np.count_nonzero(weights != 1.0))
        self._held = held._replace(
            last=held.last + len(lengths),
            last_slot=held.last_slot + len(slots),
            odd=held.odd + odd,
            appended=held.appended + len(lengths),
        )

    def _with_room(self, examples: int, slots: int) -> _Held:
        held = self._held
        if held.last + examples <= len(held.lengths) and held.last_slot + slots <= len(held.slots):
            return held
        live, live_slots = held.last - held.first, held.last_slot - held.first_slot
        room = _room(64 + (live + examples) * 3 // 2, 256 + (live_slots + slots) * 3 // 2)
        room[0][:live] = held.lengths[held.first : held.last]
        room[1][:live_slots] = held.slots[held.first_slot : held.last_slot]
        room[2][:live] = held.weights[held.first : held.last]
        room[3][:live] = held.stamps[held.first : held.last]
        return _Held(*room, 0, live, 0, live_slots, held.odd, held.appended)

    def overdue(self, size: int, limit: int) -> int:
        """How many of the oldest examples go if ``size`` may stay, and if timed, those stamped after ``limit``."""
        held = self._held
        late = int(np.searchsorted(held.stamps[held.first : held.last], limit, "right")) if self.timed else 0
        return max(0, late, self.examples - size)

    def drop(self, counts: Counts | None, examples: int) -> None:
        """Take the oldest examples off the tape, and back from the counts. Weight sums are for others."""
        lengths, slots, weights, _ = self.contents(0, examples)
        if counts is not None:
            _take_back(counts, lengths, slots)
        odd = 0 if weights is None else int(np.count_nonzero(weights != 1.0))
        held = self._held
        self._held = held._replace(
            first=held.first + len(lengths), first_slot=held.first_slot + len(slots), odd=held.odd - odd
        )

    def contents(self, start: int, stop: int) -> TapeContents:
        """Copies of what `extend` took, of some of the examples; weights are None if the whole tape has none but 1."""
        held = self._held
        start, stop = (min(max(0, bound), self.examples) for bound in (start, stop))
        examples = slice(held.first + start, held.first + max(start, stop))
        before = held.first_slot + int(held.lengths[held.first : examples.start].sum())
        lengths = held.lengths[examples].copy()
        slots = held.slots[before : before + int(lengths.sum())].copy()
        weights = held.weights[examples].copy() if held.odd else None
        return lengths, slots, weights, held.stamps[examples].copy() if self.timed else None


def _room(examples: int, slots: int) -> tuple[Int32Array, Int32Array, FloatArray, IntArray]:
    return (
        np.zeros(examples, np.int32), np.zeros(slots, np.int32), np.zeros(examples, np.float64),
        np.zeros(examples, np.int64),
    )  # fmt: skip


def _take_back(counts: Counts, lengths: Int32Array, slots: Int32Array) -> None:
    """Not at once: whoever is interrupted here counts anew what is left on the tape."""
    counts._complete()
    np.subtract.at(counts._flat, slots, 1)
    start = 0
    for length in lengths.tolist():
        outcomes = (slots[start : start + length] % 5).tolist()
        hits = outcomes.count(3)
        key: RowKey = (hits + outcomes.count(1), hits + outcomes.count(2), hits, outcomes.count(4))
        counts._histogram[key] -= 1
        if not counts._histogram[key]:
            del counts._histogram[key]
        start += length
    counts._examples -= len(lengths)
