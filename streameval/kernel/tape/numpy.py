"""The examples in a window, oldest first, in numpy: what the compiled twin does, and the fallback.

Each example is an object, and a change makes another list.
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
    """What is known of an example."""

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
    """The examples on the tape, and what scores are. Nothing in it is ever changed."""

    examples: list[_Example]
    kind: Any

    def plus(self, new: list[_Example], kind: Any) -> _Value:
        return _Value(self.examples + new, self.kind if kind is np.float32 else kind)


def _flat(lists: Iterable[Any], kind: Any) -> tuple[Int32Array, Any]:
    """How long lists are, and all their entries."""
    parts = [np.zeros(0, kind), *lists]
    return np.array([len(part) for part in parts[1:]], np.int32), np.concatenate(parts)


class Tape:
    """Examples as slots, with a weight each, on a timed tape a stamp, an integer that never decreases, and scores.

    A declared label that an example mentions as a true negative has no slot. Scores take 4 bytes as long as every one
    so far was a float32, and 8 from the first that was not. `slide` takes no stamp before ``earliest``.
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
        """How many of them weigh other than 1."""
        return sum([one.weight != 1.0 for one in self._examples])

    @property
    def latest(self) -> int | None:
        """The stamp of the newest example."""
        examples = self._examples
        return examples[-1].stamp if self.timed and examples else None

    def slide(self, *_: object) -> int:
        """Count one example of a common form and append it, then take back what is overdue.

        The arguments are ``counts, columns, fixed, y_true, y_pred, threshold``, as of `Counts.count_example`, then
        ``size, weight, mask, stamp, limit``. Tables that follow ``counts`` count it too. ``OTHER`` if the fast path
        does not handle the form, or a timed tape has no example or a later one; always so here, as it gains nothing.
        """
        return OTHER

    def prepare_slide(self, *_: object) -> list[Part] | int:
        """Parts that do the same, or a code."""
        return OTHER

    def slide_many(self, *_: object) -> int:
        """The same of all or none of some examples and their stamps, or None: of lists, or of rows if tables follow."""
        return OTHER

    def prepare_one(self, slots: IntArray, weight: float, stamp: int) -> Part:
        """Prepare to append one example without scores; the stamp is that of a timed tape."""
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
        """Prepare to append examples: how many slots each has, all slots, weights unless all are 1, stamps if timed.

        ``scores``: how many each has, the columns of all, and they; None if there are none.
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
        """Prepare to add another tape's examples from one on, each behind all that are not stamped later.

        ``columns`` says where its columns stand on this tape, unless they are the same. Neither tape may change in any
        other way before the commit.
        """
        if self.timed != other.timed:
            raise ValueError("only one of the tapes is timed")
        kind, new = other._cell.value.kind, [one.moved(columns) for one in other._examples[start:]]

        def merged(value: _Value) -> _Value:
            longer = value.plus(new, kind)
            return longer._replace(examples=sorted(longer.examples, key=attrgetter("stamp")))

        return self._cell.prepare(merged)

    def overdue(self, size: int, limit: int) -> int:
        """How many of the oldest examples go if ``size`` may stay, and if timed, those stamped after ``limit``."""
        late = bisect_right(self._examples, limit, key=attrgetter("stamp")) if self.timed else 0
        return max(0, late, self.examples - size)

    def prepare_drop(self, examples: int) -> Part:
        """Prepare to take the oldest examples off the tape."""
        return self._cell.prepare(lambda value: value._replace(examples=value.examples[examples:]))

    def contents(self, start: int, stop: int) -> TapeContents:
        """Copies of what `prepare_append` took, of some of the examples; no weights if all on the tape are 1."""
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
        """Copies of the scores of some of the examples: how many each has, their columns, and they."""
        part = self._examples[start:stop]
        many, columns = _flat((one.columns for one in part), np.int32)
        return many, columns, _flat((one.scores for one in part), self._cell.value.kind)[1]
