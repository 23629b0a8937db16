"""`Tape`, the examples of a window, oldest first, in numpy: fallback and oracle; windows call it through their states.

Each example is a tuple, and a change makes a new list of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.types import OTHER, FloatArray, Int32Array, IntArray, RowKey, ScoreArray, TapeContents


class _Example(NamedTuple):
    """An example on a tape."""

    slots: Int32Array
    weight: float
    stamp: int
    columns: Int32Array
    scores: ScoreArray

    def moved(self, to: IntArray | None) -> _Example:
        if to is None:
            return self
        slots = (5 * to[self.slots // 5] + self.slots % 5).astype(np.int32)
        return self._replace(slots=slots, columns=to[self.columns].astype(np.int32))


class _Value(NamedTuple):
    """The examples on a tape, and the dtype of scores. Never changed in place."""

    examples: list[_Example]
    kind: Any

    def plus(self, new: list[_Example], kind: Any) -> _Value:
        return _Value(self.examples + new, self.kind if kind is np.float32 else kind)


def _flat(lists: Iterable[Any], kind: Any) -> tuple[Int32Array, Any]:
    """The lengths of lists, and all their entries in one array."""
    parts = [np.zeros(0, kind), *lists]
    return np.array([len(part) for part in parts[1:]], np.int32), np.concatenate(parts)


class Tape:
    """Examples: slots, a weight, scores and, if the tape is timed, a stamp, which is an integer that never decreases.

    A declared label that an example mentions as a true negative has no slot. Scores take 4 bytes while all of them were
    float32, and 8 from the first one on that was not. `slide` declines stamps before ``earliest``.
    """

    __slots__ = ("_cell", "earliest", "timed")

    def __init__(self, root: Root, timed: bool) -> None:
        self.timed, self.earliest = timed, -(2**63)
        self._cell = root.cell(_Value([], np.float32))

    @property
    def _examples(self) -> list[_Example]:
        return self._cell.value.examples  # type: ignore[no-any-return]

    @property
    def examples(self) -> int:
        return len(self._examples)

    @property
    def weighted(self) -> int:
        """The number of examples with a weight other than 1."""
        return sum([one.weight != 1.0 for one in self._examples])

    @property
    def latest(self) -> int | None:
        """The stamp of the newest example."""
        examples = self._examples
        return examples[-1].stamp if self.timed and examples else None

    def slide(self, *_: object) -> int:
        """Count one example of a common form and append it, then take back all overdue examples.

        The arguments are ``counts, columns, fixed, y_true, y_pred, threshold``, as of `Counts.count_example`, then
        ``size, weight, mask, stamp, limit``. Followers of ``counts`` count it, too. ``OTHER`` if the fast path does not
        handle the form, or if a timed tape is empty or has a later stamp; in numpy always, which has no fast path.
        """
        return OTHER

    def prepare_slide(self, *_: object) -> list[Part] | int:
        """Parts that do what `slide` does, or a code."""
        return OTHER

    def slide_many(self, *_: object) -> int:
        """As `slide`, for lists of examples (rows of arrays, if tables follow) with stamps or None: all or none."""
        return OTHER

    def prepare_one(self, slots: IntArray, weight: float, stamp: int) -> Part:
        """Prepare to append one example without scores; only timed tapes use the stamp."""
        none = np.zeros(0, np.int32), np.zeros(0, np.float32)
        one = [_Example(slots.astype(np.int32), weight, stamp, *none)]
        return self._cell.prepare(lambda value: value.plus(one, np.float32))

    def prepare_append(
        self,
        lengths: Int32Array,
        slots: Int32Array,
        weights: FloatArray | None,
        stamps: IntArray | None,
        scores: tuple[Int32Array, Int32Array, ScoreArray] | None = None,
    ) -> Part:
        """Prepare to append examples; ``lengths`` are numbers of slots. No weights: all are 1. Stamps only if timed.

        ``scores``: the number of scores of each example, their columns, and the scores; None if there are none.
        """
        size = len(lengths)
        if self.timed != (stamps is not None):
            raise ValueError("a timed tape takes stamps, and only that")
        none = np.zeros(size, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32)
        many, columns, values = none if scores is None else scores
        kind: Any = np.float32 if values.dtype == np.float32 else np.float64
        ends, ends_of_scores = np.cumsum([0, *lengths]).tolist(), np.cumsum([0, *many]).tolist()
        if min(lengths, default=0) < 0 or slots.min(initial=0) < 0:
            raise ValueError("a length or a slot is negative")
        fits = ends[-1] == len(slots) and ends_of_scores[-1] == len(columns) == len(values)
        weighs, times = np.ones(size) if weights is None else weights, np.zeros(size) if stamps is None else stamps
        if not fits or not size == len(weighs) == len(times) == len(many):
            raise ValueError("lengths, slots, weights, stamps and scores do not fit together")
        slots, columns, values = np.array(slots, np.int32), np.array(columns, np.int32), np.array(values, kind)
        new = [
            _Example(slots[a:b], weight, int(stamp), columns[c:d], values[c:d])
            for (a, b), (c, d), weight, stamp in zip(
                pairwise(ends), pairwise(ends_of_scores), weighs.tolist(), times.tolist(), strict=True
            )
        ]
        return self._cell.prepare(lambda value: value.plus(new, kind))

    def prepare_merge(self, other: Self, start: int, columns: IntArray | None = None) -> Part:
        """Prepare to insert another tape's examples from ``start`` on, each after those not stamped later.

        ``columns`` maps its columns to those of this tape (None: the same). Neither tape may change in any other way
        before the commit.
        """
        if self.timed != other.timed:
            raise ValueError("only one of the tapes is timed")
        kind, new = other._cell.value.kind, [one.moved(columns) for one in other._examples[start:]]

        def merged(value: _Value) -> _Value:
            longer = value.plus(new, kind)
            return longer._replace(examples=sorted(longer.examples, key=attrgetter("stamp")))

        return self._cell.prepare(merged)

    def overdue(self, size: int, limit: int) -> int:
        """How many of the oldest must go: at most ``size`` stay and, if timed, only those stamped after ``limit``."""
        late = bisect_right(self._examples, limit, key=attrgetter("stamp")) if self.timed else 0
        return max(0, late, self.examples - size)

    def prepare_drop(self, examples: int) -> Part:
        """Prepare to take the oldest examples off the tape."""
        return self._cell.prepare(lambda value: value._replace(examples=value.examples[examples:]))

    def contents(self, start: int, stop: int) -> TapeContents:
        """Copies of the arguments of `prepare_append` for some examples; no weights if all on the tape are 1."""
        part = self._examples[start:stop]
        lengths, slots = _flat((one.slots for one in part), np.int32)
        weights = np.array([one.weight for one in part], np.float64) if self.weighted else None
        return lengths, slots, weights, np.array([one.stamp for one in part], np.int64) if self.timed else None

    def copy(self, root: Root) -> Self:
        result = type(self)(root, self.timed)
        result.earliest = self.earliest
        result._cell.store(self._cell.value)
        return result

    def oldest(self, examples: int) -> list[tuple[IntArray, RowKey, float]]:
        """The slots, the row key and the weight of each of the oldest examples."""
        result: list[tuple[IntArray, RowKey, float]] = []
        for one in self._examples[:examples]:
            slots = one.slots.astype(np.int64)
            _, fn, fp, tp, masked = np.bincount(slots % 5, minlength=5).tolist()
            result.append((slots, (tp + fn, tp + fp, tp, masked), one.weight))
        return result

    def scores_of(self, start: int, stop: int) -> tuple[Int32Array, Int32Array, ScoreArray]:
        """Copies of the scores of some examples, as `prepare_append` takes them."""
        part = self._examples[start:stop]
        many, columns = _flat((one.columns for one in part), np.int32)
        return many, columns, _flat((one.scores for one in part), self._cell.value.kind)[1]
