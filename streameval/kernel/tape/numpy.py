"""The examples in a window, oldest first, in numpy: what the compiled twin does, and the fallback.

Here every change copies all that is on the tape; the compiled twin only moves what is live now and then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.decisions.numpy import Counts
from streameval.kernel.types import OTHER, FloatArray, Int32Array, IntArray, RowKey, ScoreArray, TapeContents


class _Value(NamedTuple):
    """How many slots, and how many scores, each example has, and all of them; weights and stamps."""

    lengths: Int32Array
    slots: Int32Array
    weights: FloatArray
    stamps: IntArray
    many: Int32Array
    columns: Int32Array
    scores: ScoreArray

    def plus(self, other: _Value) -> _Value:
        return _Value._make([np.concatenate(parts) for parts in zip(self, other, strict=True)])

    def part(self, start: int, stop: int) -> _Value:
        """Some of the examples."""
        examples = slice(max(0, start), max(0, start, stop))
        of_slots, of_scores = (
            slice(int(lengths[: examples.start].sum()), int(lengths[: examples.stop].sum()))
            for lengths in (self.lengths, self.many)
        )
        spans = (examples, of_slots, examples, examples, examples, of_scores, of_scores)
        return _Value._make([array[span].copy() for array, span in zip(self, spans, strict=True)])


class Tape:
    """Examples as slots, with a weight each, on a timed tape a stamp, an integer that never decreases, and scores.

    A declared label that an example mentions as a true negative has no slot. Scores take 4 bytes as long as every one
    so far was a float32, and 8 from the first that was not. `slide` takes no stamp before ``earliest``.
    """

    __slots__ = ("_cell", "earliest", "timed")

    def __init__(self, root: Root, timed: bool) -> None:
        self.timed, self.earliest = timed, -(2**63)
        none = np.zeros(0, np.int32)
        value = _Value(none, none, np.zeros(0), np.zeros(0, np.int64), none, none, np.zeros(0, np.float32))
        self._cell = root.cell(value)

    @property
    def _value(self) -> _Value:
        value: _Value = self._cell.value
        return value

    @property
    def examples(self) -> int:
        """How many examples are on the tape."""
        return len(self._value.lengths)

    @property
    def weighted(self) -> int:
        """How many of them weigh other than 1."""
        return int(np.count_nonzero(self._value.weights != 1.0))

    @property
    def latest(self) -> int | None:
        """The stamp of the newest example."""
        return int(self._value.stamps[-1]) if self.timed and self.examples else None

    def slide(self, *_: object) -> int:
        """Count one example of a common form and append it, then take back what is overdue.

        The arguments are ``counts, columns, fixed, y_true, y_pred, threshold``, as of `Counts.count_example`, then
        ``size, stamp, limit``. ``OTHER`` if the fast path does not handle the form, or the tape has weights or scores;
        always so in this twin, which gains nothing.
        """
        return OTHER

    def prepare_slide(self, *_: object) -> list[Part] | int:
        """Prepare what `slide` does; a code if it would change nothing."""
        return OTHER

    def prepare_one(self, slots: IntArray, weight: float, stamp: int) -> Part:
        """Prepare to append one example without scores; the stamp is that of a timed tape."""
        stamps = np.array([stamp], np.int64) if self.timed else None
        return self.prepare_append(np.array([len(slots)], np.int32), slots.astype(np.int32), np.array([weight]), stamps)

    def prepare_append(
        self, lengths: Int32Array, slots: Int32Array, weights: FloatArray | None, stamps: IntArray | None,
        scores: tuple[Int32Array, Int32Array, ScoreArray] | None = None,
    ) -> Part:  # fmt: skip
        """Prepare to append examples: how many slots each has, all slots, weights unless all are 1, stamps if timed.

        ``scores``: how many each has, the columns of all, and they; None if there are none.
        """
        size = len(lengths)
        weights = np.ones(size) if weights is None else np.array(weights, np.float64)
        if self.timed != (stamps is not None):
            raise ValueError("a timed tape takes stamps, and only that")
        times = np.zeros(size, np.int64) if stamps is None else np.array(stamps, np.int64)
        none = np.zeros(0, np.int32), np.zeros(0, np.float32)
        many, columns, values = (np.zeros(size, np.int32), *none) if scores is None else scores
        kind: Any = np.float32 if values.dtype == np.float32 else np.float64
        new = _Value(
            np.array(lengths, np.int32), np.array(slots, np.int32), weights, times,
            np.array(many, np.int32), np.array(columns, np.int32), np.array(values, kind),
        )  # fmt: skip
        if new.lengths.min(initial=0) < 0 or new.slots.min(initial=0) < 0:
            raise ValueError("a length or a slot is negative")
        sizes = new.lengths.sum(), size, size, size, new.many.sum(), new.many.sum()
        if sizes != tuple(map(len, new[1:])):
            raise ValueError("lengths, slots, weights, stamps and scores do not fit together")
        return self._cell.prepare(lambda value: value.plus(new))

    def overdue(self, size: int, limit: int) -> int:
        """How many of the oldest examples go if ``size`` may stay, and if timed, those stamped after ``limit``."""
        late = int(np.searchsorted(self._value.stamps, limit, "right")) if self.timed else 0
        return max(0, late, self.examples - size)

    def prepare_drop(self, examples: int, counts: Counts | None = None) -> Part | int:
        """Prepare to take the oldest examples off the tape, and back from the counts if these are passed.

        ``OTHER`` in this twin if they are: it gains nothing over taking the examples back as a batch.
        """
        if counts is not None:
            return OTHER
        return self._cell.prepare(lambda value: value.part(examples, len(value.lengths)))

    def contents(self, start: int, stop: int) -> TapeContents:
        """Copies of what `prepare_append` took, of some of the examples; no weights if all on the tape are 1."""
        part = self._value.part(start, stop)
        return part.lengths, part.slots, part.weights if self.weighted else None, part.stamps if self.timed else None

    def oldest(self, examples: int) -> list[tuple[IntArray, RowKey, float]]:
        """The slots, the row key and the weight of each of the oldest examples."""
        part = self._value.part(0, examples)
        result: list[tuple[IntArray, RowKey, float]] = []
        end = 0
        for length, weight in zip(part.lengths.tolist(), part.weights.tolist(), strict=True):
            start, end = end, end + length
            slots = part.slots[start:end].astype(np.int64)
            _, fn, fp, tp, masked = np.bincount(slots % 5, minlength=5).tolist()
            result.append((slots, (tp + fn, tp + fp, tp, masked), weight))
        return result

    def scores_of(self, start: int, stop: int) -> tuple[Int32Array, Int32Array, ScoreArray]:
        """Copies of the scores of some of the examples: how many each has, their columns, and they."""
        part = self._value.part(start, stop)
        return part.many, part.columns, part.scores
