"""The state of decisions: two integer marginals of the examples x labels table.

- By label: five disjoint counts, one for each outcome of a cell that an example mentions (true negative, false
  negative, false positive, true positive, masked). True negatives in examples that do not mention the label are derived
  when reading; those of declared labels are always derived.
- By example: how many examples had each row key (labels true, predicted, both, masked).

Weight sums are stored by slot (5 * column + outcome; none for true negatives) and by row key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self, TypeAlias

import numpy as np

from streameval.kernel.backend import decisions as kernel
from streameval.kernel.types import FloatArray, IntArray, Integers, Lists, RowKey, UInt8Array
from streameval.schema.batch import Batch, Dense, Example, Packed, Ragged
from streameval.schema.labels import by_column
from streameval.schema.recording import rows_of
from streameval.states.base import Content, Part, State
from streameval.states.weights import ExactSums, common_scale, exact_integers

Key: TypeAlias = int | RowKey
BLOCK = 2**11
"""How many rows are read at once to save memory."""
_NARROW = 64  # up to this number of labels, weighing lists as rows takes a quarter of the time


@dataclass(frozen=True, slots=True, eq=False)
class DecisionContent(Content):
    """What a state of decisions holds; see `Content`."""

    cells: Any  # counts of the outcomes of each label, shape (labels, 5)
    keys: IntArray  # in lexicographic order, shape (distinct, 4)
    times: IntArray  # how many examples had each key
    weights: Callable[[], Iterable[int]]  # of the cells except true negatives, then of the row keys; empty if none


class Decisions(State[Key]):
    """Per-label and per-example counts of decisions, exact under any order, batching, merging and reverting."""

    reads = "decisions"
    __slots__ = ()

    def _empty_table(self) -> Any:
        return kernel.Counts(self.root, len(self.labels))

    def _prepare_example(self, example: Example, sign: int, known: bool) -> Part | int:
        return self.table.prepare_example(example.slots, example.key, self.labels.fixed, sign, known)

    def _prepare_counts(self, other: Self, columns: IntArray | None, sign: int) -> Part | int:
        return self.table.prepare_merge(other.table, columns, self.labels.fixed, sign)

    def _sums_of_one(self, example: Example) -> ExactSums[Key]:
        sums: dict[Key, int] = {slot: 1 for slot in example.slots.tolist() if slot % 5}
        return ExactSums(0, {**sums, example.key: 1})

    def _sums_of(self, batch: Batch, weights: FloatArray) -> ExactSums[Key]:
        columns = batch.columns if isinstance(batch, Dense) else np.arange(len(self.labels))
        if isinstance(batch, Dense):
            weighed = kernel.weigh_dense(batch.true, batch.binary(), batch.mask, weights)
        elif len(columns) <= _NARROW:
            true, pred, mask = (_rows(side, batch.examples, len(columns)) for side in batch.sides[:3])
            weighed = kernel.weigh_dense(true, pred, mask, weights)
        else:
            columns, weighed = kernel.weigh_lists(batch.examples, *batch.sides, weights)
        target = common_scale(weighed.scale)
        place, outcome = np.nonzero(weighed.cells.any(axis=2))
        by_slot = exact_integers(weighed.cells[place, outcome], weighed.scale, target)
        by_key = exact_integers(weighed.of_keys, weighed.scale, target)
        sums: dict[Key, int] = dict(zip((5 * columns[place] + outcome).tolist(), by_slot, strict=True))
        sums.update(zip(_tuples(weighed.keys), by_key, strict=True))
        return ExactSums(target, sums)

    def _count(self, batch: Batch) -> None:
        fixed = self.labels.fixed
        if isinstance(batch, Ragged):
            self.table.count_lists(batch.examples, fixed, *batch.sides, batch.mentioned_by_all)
            return
        if isinstance(batch, Packed):
            seen, finite = self.table.count_bits(batch.columns, fixed, *batch.sides), True
        elif batch.threshold is not None and all(part is None for part in (batch.pred, batch.ranked, batch.weights)):
            scores = (batch.true, batch.scores, batch.threshold, batch.mask)
            seen, finite = self.table.count_scores(batch.columns, fixed, *scores)
        else:
            rows = (batch.true, batch.binary(), batch.mask)
            seen, finite = self.table.count_dense(batch.columns, fixed, *rows), True
        if seen > 1 or not finite:
            raise batch.refusal()

    def _unit_blocks(self) -> Iterator[ExactSums[Key]]:
        self._reserve()
        for columns in in_blocks(np.arange(len(self.labels))):
            outcome, place = np.nonzero(cells := self.table.outcomes(columns))
            weighed = outcome > 0
            slots = (5 * columns[place] + outcome)[weighed].tolist()
            yield ExactSums(0, dict(zip(slots, cells[outcome, place][weighed].tolist(), strict=True)))
        keys, times = self.table.row_keys()
        yield ExactSums(0, dict(zip(_tuples(keys), times.tolist(), strict=True)))

    def _units_at(self, keys: Collection[Key]) -> ExactSums[Key]:
        slots = [key for key in keys if isinstance(key, int)]
        cells = self.table.outcomes(np.array(slots, np.int64) // 5).tolist()
        sums: dict[Key, int] = {slot: cells[slot % 5][place] for place, slot in enumerate(slots)}
        sums.update((key, self.table.times(key)) for key in keys if isinstance(key, tuple))
        return ExactSums(0, sums)

    def _moved(self, sums: dict[Key, int], columns: IntArray) -> dict[Key, int]:
        place = columns.tolist()
        return {5 * place[key // 5] + key % 5 if isinstance(key, int) else key: value for key, value in sums.items()}

    def _by_column(self, sums: dict[Key, int]) -> tuple[dict[int, int], int]:
        columns: dict[int, int] = {}
        for key, value in sums.items():
            column = key // 5 if isinstance(key, int) else -1
            columns[column] = columns.get(column, 0) + value
        return columns, columns.pop(-1, 0)

    def by_label(self, columns: IntArray, scale: int | None) -> Integers:
        """The counts of the five outcomes of each column or, where `canonical_scale` is not None, the weight sums."""
        if scale is None:
            self._reserve()
            return self.table.outcomes(columns)  # type: ignore[no-any-return]
        slots = (5 * columns + np.arange(5)[:, None]).reshape(-1).tolist()
        return self._weights_at(scale).read(slots, scale).reshape(5, -1)

    def by_example(self, scale: int | None) -> tuple[IntArray, Integers]:
        """The row keys that occur, in no particular order, and for each its count or its weight sum."""
        keys, times = self.table.row_keys()
        return keys, times if scale is None else self._weights_at(0).read(_tuples(keys), scale)

    def mentions(self) -> IntArray:
        """In how many examples each label has a cell."""
        each = (self.by_label(some, None).sum(axis=0) for some in in_blocks(np.arange(len(self.labels))))
        return np.concatenate([np.zeros(0, np.int64), *each])

    def content(self) -> DecisionContent:
        scale, columns = self.canonical_scale(), self.columns()
        cells = by_column(columns, lambda part: self.by_label(part, None).T)
        keys, times = self.table.row_keys()
        order = np.lexsort(keys.T[::-1])
        keys, times = keys[order], times[order]
        weights = tuple if scale is None else partial(self._in_order, self._weights_at(0), columns, keys, scale)
        return DecisionContent(*self._head(columns, scale), cells, keys, times, weights)

    @staticmethod
    def _in_order(sums: ExactSums[Key], columns: IntArray, keys: IntArray, scale: int) -> Iterator[int]:
        for part in in_blocks(columns):
            yield from sums.each(_weighed(part), scale)
        yield from sums.each(_tuples(keys), scale)

    def _fill(self, content: DecisionContent) -> None:
        self.table.restore(content.examples, content.cells, content.keys, content.times)
        if content.scale is None:  # saves memory: no Python integers for each column while the bytes are still there
            return
        slots = chain.from_iterable(map(_weighed, in_blocks(np.arange(len(content.labels)))))
        keys: Iterable[Key] = chain(slots, _tuples(content.keys))
        self._fill_weights(content.scale, zip(keys, content.weights(), strict=True))


def _rows(lists: Lists | None, examples: int, width: int) -> UInt8Array:
    """Lists of columns as rows of 0 and 1."""
    cells = np.zeros((examples, width), np.uint8)
    if lists is not None:
        cells[rows_of(np.diff(lists.offsets)), lists.flat()] = 1
    return cells


def in_blocks(table: Any) -> Iterator[Any]:
    """The rows, at most `BLOCK` at a time."""
    return (table[at : at + BLOCK] for at in range(0, len(table), BLOCK))


def listed(table: Any) -> Iterator[Any]:
    """All rows as Python integers, converted block by block to save memory."""
    return chain.from_iterable(part.tolist() for part in in_blocks(table))


def _weighed(columns: IntArray) -> list[int]:
    """The slots of columns for which weights are stored: all but those of true negatives."""
    slots: list[int] = (5 * columns[:, None] + np.arange(1, 5)).reshape(-1).tolist()
    return slots


def _tuples(keys: IntArray) -> Iterable[RowKey]:
    return zip(*keys.T.tolist(), strict=True)
