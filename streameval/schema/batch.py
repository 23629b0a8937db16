"""Examples after reading: values of cells, in the columns of a `LabelIndex`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from streameval.kernel import backend
from streameval.kernel.decisions.rows import dense_slots
from streameval.kernel.lists import taken
from streameval.kernel.types import BitRows, FloatArray, Int32Array, IntArray, Lists, RowKey, ScoreArray, UInt8Array

MOST_BITS = 2**21
"""Rows of bits of fewer columns are counted by the kernel; wider ones become bytes."""
NO_COLUMNS: IntArray = np.zeros(0, np.int64)
NO_COLUMNS.flags.writeable = False


@dataclass(slots=True, eq=False)  # not frozen, which would slow down small batches
class Dense:
    """Matrices with a row for each example; each row mentions all columns."""

    columns: IntArray  # of the cells of a row; distinct
    true: UInt8Array  # 1 where the label is true
    pred: UInt8Array | None = None  # 1 where it is predicted; None if scores and threshold decide
    scores: ScoreArray | None = None
    threshold: ScoreArray | None = None  # of each column, in the type of the scores; without it nothing is predicted
    ranked: UInt8Array | None = None  # 1 where there is a score: a label without one is not predicted and ranks last
    mask: UInt8Array | None = None  # 1 where the truth is unknown
    weights: FloatArray | None = None  # None when all are 1
    refusal: Callable[[], Exception] = AssertionError
    """Makes the error about a byte above 1 or a score that is not finite, which only the kernel detects."""

    @property
    def examples(self) -> int:
        return len(self.true)

    def take(self, rows: slice | IntArray) -> Dense:
        """These rows, in this order."""
        cells = ((name, getattr(self, name)) for name in ("pred", "scores", "ranked", "mask", "weights"))
        some: dict[str, Any] = {name: None if values is None else values[rows] for name, values in cells}
        return replace(self, true=self.true[rows], **some)

    def binary(self) -> UInt8Array:
        """1 where a label is predicted."""
        if self.pred is not None:
            return self.pred
        if self.scores is None or self.threshold is None:
            return np.zeros(self.true.shape, np.uint8)
        if not np.isfinite(self.scores).all():
            raise self.refusal()
        pred = np.greater_equal(self.scores, self.threshold).view(np.uint8)
        return pred if self.ranked is None else pred & self.ranked


class Packed(Dense):
    """Rows of bits, which become bytes unless the kernel counts them."""

    __slots__ = ("sides",)

    def __init__(self, columns: IntArray, sides: tuple[BitRows, BitRows], refusal: Callable[[], Exception]) -> None:
        self.columns, self.sides, self.refusal = columns, sides, refusal
        self.scores = self.threshold = self.ranked = self.mask = self.weights = None

    @property
    def examples(self) -> int:
        return self.sides[0].examples

    @property
    def true(self) -> UInt8Array:  # type: ignore[override]  # read-only
        return self._bytes(0)

    @property
    def pred(self) -> UInt8Array:  # type: ignore[override]
        return self._bytes(1)

    def _bytes(self, side: int) -> UInt8Array:
        cells = self.sides[side].cells()
        if cells is None:
            raise self.refusal()
        return cells

    def take(self, rows: slice | IntArray) -> Dense:
        if isinstance(rows, slice):
            true, pred = (side.part(rows) for side in self.sides)
            return Packed(self.columns, (true, pred), self.refusal)
        return Dense(self.columns, self.true, self.pred, refusal=self.refusal).take(rows)


@dataclass(slots=True, eq=False)  # not frozen, which would slow down small batches
class Ragged:
    """Lists of columns for each example; a column may be in more than one list, or repeated within one."""

    examples: int
    true: Lists | None
    pred: Lists | None = None
    mask: Lists | None = None  # columns of unknown truth
    mentioned: Lists | None = None  # columns that are only mentioned; with scores also the ranked ones
    mentioned_by_all: IntArray = field(default_factory=lambda: NO_COLUMNS)
    weights: FloatArray | None = None  # None when all are 1
    ranked: Lists | None = None  # columns with a score, none twice in an example
    scores: FloatArray | None = None

    @property
    def sides(self) -> tuple[Lists | None, Lists | None, Lists | None, Lists | None]:
        """The lists from which outcomes of cells follow."""
        return self.true, self.pred, self.mask, self.mentioned

    def take(self, rows: slice | IntArray) -> Ragged:
        true, pred, mask, mentioned = (None if side is None else _taken(side, rows)[0] for side in self.sides)
        weights = None if self.weights is None else self.weights[rows]
        ranked, scores = (None, None) if self.ranked is None else _taken(self.ranked, rows, self.scores)
        examples = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        return Ragged(examples, true, pred, mask, mentioned, self.mentioned_by_all, weights, ranked, scores)


Batch: TypeAlias = Dense | Ragged


class Example(NamedTuple):
    """One example: the slots (5 * column + outcome) of the cells it mentions; a batch of one if it has scores."""

    slots: IntArray
    key: RowKey
    weight: float = 1.0
    scored: Batch | None = None

    @classmethod
    def of(cls, batch: Batch, fixed: int) -> Example:
        """The only example of a batch, where the first ``fixed`` labels are declared."""
        slots = slots_of(batch, fixed)[1]
        weight = 1.0 if batch.weights is None else float(batch.weights[0])
        return cls.at(slots.astype(np.int64), weight, None if batch.scores is None else batch)

    def moved(self, columns: IntArray) -> Example:
        slots = 5 * columns[self.slots // 5] + self.slots % 5
        return self._replace(slots=slots, scored=self.scored and moved(self.scored, columns.__getitem__))

    def weighing(self, weight: float) -> Example:
        scored = self.scored and replace(self.scored, weights=None if weight == 1.0 else np.array([weight]))
        return Example(self.slots, self.key, weight, scored)

    @classmethod
    def at(cls, slots: IntArray, weight: float, scored: Batch | None = None) -> Example:
        _, fn, fp, tp, masked = np.bincount(slots % 5, minlength=5).tolist()
        return cls(slots, (tp + fn, tp + fp, tp, masked), weight, scored)


# -- lists of columns -------------------------------------------------------------------------------------------------


def offsets_of(lengths: IntArray | Int32Array | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> IntArray:
    """Where lists of these lengths begin and end, one after the other."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def ragged(lists: Lists | None) -> tuple[IntArray, IntArray] | None:
    """Lists as plain offsets and columns."""
    if lists is None:
        return None
    return np.ascontiguousarray(lists.offsets, np.int64), np.ascontiguousarray(lists.flat(), np.int64)


def joined(parts: list[Lists], examples: int) -> Lists:
    """For each example, the lists of all parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate([np.repeat(np.arange(examples), np.diff(lists.offsets)) for lists in parts])
    columns = np.concatenate([lists.flat() for lists in parts])[np.argsort(rows, kind="stable")]
    return Lists(offsets_of(np.bincount(rows, minlength=examples)), columns)


def columns_in(batch: Batch) -> IntArray:
    """The columns that a batch mentions, possibly repeated."""
    if isinstance(batch, Dense):
        return batch.columns
    sides = (*batch.sides, batch.ranked)
    return np.concatenate([batch.mentioned_by_all, *(side.flat() for side in sides if side is not None)])


def moved(batch: Batch, place: Callable[[Any], IntArray]) -> Batch:
    """The same examples, with ``place(columns)`` in place of the columns."""
    if isinstance(batch, Dense):
        return replace(batch, columns=place(batch.columns))
    true, pred, mask, mentioned, ranked = (
        side and Lists(side.offsets, place(side.flat()), distinct=side.distinct)
        for side in (*batch.sides, batch.ranked)
    )
    everywhere = place(batch.mentioned_by_all)
    return Ragged(batch.examples, true, pred, mask, mentioned, everywhere, batch.weights, ranked, batch.scores)


def part_of(lists: Lists, start: int, stop: int) -> tuple[Lists, slice]:
    """The lists from ``start`` to before ``stop``, and the slice of ``lists.places`` that they take."""
    offsets = lists.offsets[start : stop + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    if len(offsets) == len(lists.offsets) and span == slice(0, len(lists.places)):
        return lists, span
    return lists._replace(offsets=offsets - offsets[0], places=lists.places[span]), span


def _taken(lists: Lists, rows: slice | IntArray, values: FloatArray | None = None) -> tuple[Lists, FloatArray | None]:
    if isinstance(rows, slice):
        lists, span = part_of(lists, rows.start, rows.stop)
        return lists, None if values is None else values[span]
    if values is None:
        offsets, places = taken(lists.offsets, lists.places, rows)
    else:
        offsets, entries = taken(lists.offsets, np.arange(len(values)), rows)
        places, values = lists.places[entries], values[entries]
    return lists._replace(offsets=offsets, places=places), values


# -- outcomes of cells ------------------------------------------------------------------------------------------------


def cells_of(batch: Batch, fixed: int) -> tuple[IntArray, IntArray]:
    """The example and slot of each mentioned cell, ascending, without true negatives of the first ``fixed`` columns."""
    if isinstance(batch, Ragged):
        mentioned, examples = batch.mentioned, batch.examples
        grown = batch.mentioned_by_all[batch.mentioned_by_all >= fixed]
        if len(grown):
            each = Lists(np.arange(examples + 1) * len(grown), np.tile(grown, examples))
            mentioned = each if mentioned is None else joined([mentioned, each], examples)
        rows, slots = backend.decisions.list_cells(examples, *batch.sides[:3], mentioned)
        counted = (slots % 5 != 0) | (slots >= 5 * fixed)
        return rows[counted], slots[counted]
    return dense_slots(batch.true, batch.binary(), batch.mask, batch.columns, fixed)


def slots_of(batch: Batch, fixed: int) -> tuple[Int32Array, Int32Array]:
    """How many cells of `cells_of` each example has, and their slots, example by example."""
    rows, slots = cells_of(batch, fixed)
    return np.bincount(rows, minlength=batch.examples).astype(np.int32), slots.astype(np.int32)
