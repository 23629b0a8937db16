"""Counts of decisions, in numpy and plain Python: what the compiled twin computes, its fallback, and its oracle.

A cell is one (example, label) pair. Its outcome indexes the five disjoint counts of a label::

    0 true negative    1 false negative    2 false positive    3 true positive    4 masked

so that ``outcome == true + 2 * predicted`` unless the truth is masked. Only cells that an example mentions are counted;
the true negatives of all other examples are derived when reading. Slot ``5 * column + outcome`` is where a cell counts.

Row keys have four columns: labels true, labels predicted, labels in both, labels masked.

A change of counts is a new tuple of arrays, so one example costs O(labels); see `streameval.kernel.commit.numpy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from streameval.kernel.commit.numpy import Cell, Part, Root
from streameval.kernel.decisions.rows import dense_rows, limbs, list_rows, tally, weigh_dense, weigh_lists
from streameval.kernel.lists.numpy import grouped, taken
from streameval.kernel.types import (
    DONE,
    FULL,
    OTHER,
    REFUSED,
    Flags,
    FloatArray,
    IntArray,
    Lists,
    RowKey,
    ScoreArray,
    UInt8Array,
)  # fmt: skip

__all__ = ["Counts", "count_groups", "limbs", "list_rows", "weigh_dense", "weigh_lists"]

_COUNT_MAX = 2**63 - 1


class _Value(NamedTuple):
    """What is counted; nothing of it is changed where it stands."""

    examples: int
    cells: IntArray
    """Shape (columns, 5)."""
    rows: dict[RowKey, int]
    """How many examples had each row key, of those that any had."""

    def plus(self, examples: int, cells: IntArray, rows: Iterable[tuple[RowKey, int]]) -> _Value:
        """With further counts."""
        total = dict(self.rows)
        for key, times in rows:
            total[key] = total.get(key, 0) + times
            if not total[key]:
                del total[key]
        return _Value(self.examples + examples, self.cells + cells, total)

    def possible(self, fixed: int) -> bool:
        """Whether no label is mentioned by more examples, and no example mentions more labels, than there are."""
        if self.examples < 0 or (self.cells < 0).any() or min(self.rows.values(), default=0) < 0:
            return False
        mentions = np.add.reduce(self.cells, axis=1)
        labels = fixed + int(np.count_nonzero(mentions[fixed:]))
        largest = max((true + pred - both + masked for true, pred, both, masked in self.rows), default=0)
        return int(mentions.max(initial=0)) <= self.examples and largest <= labels


class Counts:
    """Five counts per column, how many examples had each row key, and how many examples there were.

    Methods that can decline return ``OTHER`` (not handled by the fast path), ``REFUSED`` (it would take back what was
    never counted) or ``FULL`` (2**63 - 1 examples), and have then changed nothing. The ``count_*`` methods of many
    examples are only used on counts that are thrown away if they fail.

    ``scratch`` says that nobody changes these counts any more once they are merged into others, which need no copy.
    ``weights`` is the cell of the weight sums of the same examples; while there are any, nothing is counted without.
    With ``most`` examples, `count_example` counts no more.
    """

    __slots__ = ("_cell", "most", "scratch", "weights")

    def __init__(self, root: Root, width: int) -> None:
        self._cell = root.cell(_Value(0, np.zeros((max(8, width), 5), np.int64), {}))
        self.scratch = False
        self.weights: Cell | None = None
        self.most = _COUNT_MAX

    @property
    def _value(self) -> _Value:
        value: _Value = self._cell.value
        return value

    def _commit(self, part: Part | int) -> int:
        if isinstance(part, int):
            return part
        self._cell.root.commit([part])
        return DONE

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self._value.examples

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        cells = self._value.cells
        if width > len(cells):
            more = max(width, 2 * len(cells)) - len(cells)
            self._commit(self._cell.prepare_store(self._value._replace(cells=np.pad(cells, ((0, more), (0, 0))))))

    # -- one example ---------------------------------------------------------------------------------------------------

    def prepare_plain(
        self, columns: Mapping[Any, int], fixed: int, y_true: object, y_pred: object, threshold: float | None, sign: int
    ) -> Part | int:
        """Prepare to count one example, or to take it back (sign -1), if its form is common and its labels are known.

        ``columns`` maps plain labels to columns, of which the first ``fixed`` belong to declared labels. With a
        ``threshold``, numbers in ``y_pred`` are scores. Here only mappings with the same string labels and values 0
        and 1 are read; the compiled twin reads more forms.
        """
        if type(y_true) is not dict or type(y_pred) is not dict or y_true.keys() != y_pred.keys():
            return OTHER
        predicted = [y_pred[label] for label in y_true]
        if threshold is not None or not {*map(type, y_true.values()), *map(type, predicted)} <= {bool, int}:
            return OTHER
        # Before comparing: what is not plain may equal anything.
        if set(map(type, y_true)) != {str} or not columns.keys() >= y_true.keys():
            return OTHER
        if not {*y_true.values(), *predicted} <= {0, 1}:
            return OTHER
        first = 5 * np.array([columns[label] for label in y_true], np.int64)
        outcomes = np.array([*y_true.values()], np.int64) + 2 * np.array(predicted, np.int64)
        _, missed, wrong, hits = np.bincount(outcomes, minlength=4).tolist()
        counted = (outcomes > 0) | (first >= 5 * fixed)
        self.reserve(len(columns))
        key = hits + missed, hits + wrong, hits, 0
        return self.prepare_example((first + outcomes)[counted], key, fixed, sign)

    def count_example(
        self, columns: Mapping[Any, int], fixed: int, y_true: object, y_pred: object, threshold: float | None, sign: int
    ) -> int:
        """Do at once what `prepare_plain` prepares, unless the guard is held, or there are weights."""
        return self._guarded(lambda: self.prepare_plain(columns, fixed, y_true, y_pred, threshold, sign))

    def _guarded(self, prepare: Callable[[], Part | int]) -> int:
        guard = self._cell.root.guard
        if self.examples >= self.most or (self.weights and self.weights.value is not None) or not guard.begin():
            return OTHER
        code = REFUSED
        try:
            code = self._commit(prepare())
        finally:
            guard.leave(changed=code == DONE)
        return code

    def count_examples(
        self, columns: Mapping[Any, int], fixed: int, y_true: list[Any], y_pred: list[Any], threshold: float | None
    ) -> int:
        """Count examples, as many on either side, if all are as `prepare_plain` demands."""
        counted = Counts(Root(), len(columns))
        for true, pred in zip(y_true, y_pred, strict=True):
            code = counted.count_example(columns, fixed, true, pred, threshold, 1)
            if code != DONE:
                return code
        return self._guarded(lambda: self.prepare_merge(counted, None, 0, 1))

    def place_example(self, *_: object) -> tuple[IntArray, RowKey] | None:
        """Slots and row key of what `prepare_plain` reads, or None; always None in this twin, which gains nothing."""
        return None

    def place_scores(self, *_: object) -> tuple[IntArray, RowKey, Lists, Lists, FloatArray] | None:
        """The same where ``y_pred`` maps labels to scores, and the labels that are true, those with a score, scores."""
        return None

    def prepare_example(self, slots: IntArray, key: RowKey, fixed: int, sign: int) -> Part | int:
        """Prepare to count one example whose cells are already placed, or to take it back with sign -1."""
        if sign > 0 and self.examples == _COUNT_MAX:
            return FULL

        def change(value: _Value) -> _Value:
            cells = np.zeros_like(value.cells)
            cells.reshape(-1)[slots] = sign
            return value.plus(sign, cells, [(key, sign)])

        return REFUSED if sign < 0 and not change(self._value).possible(fixed) else self._cell.prepare(change)

    # -- many examples -------------------------------------------------------------------------------------------------

    def count_dense(
        self, columns: IntArray, fixed: int, true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None
    ) -> int:
        """Count rows in which every column is mentioned; where ``mask`` is 1 the truth is masked.

        Returns the union of all bytes: the counts are only good if it is at most 1.
        """
        seen = 0
        for side in (true, pred) if mask is None else (true, pred, mask):
            seen |= int(np.bitwise_or.reduce(side, axis=None))
        if seen <= 1:
            cells = np.zeros((len(columns), 5), np.int64)
            self._add(columns, fixed, cells, dense_rows(true, pred, mask, cells))
        return seen

    def count_scores(
        self, columns: IntArray, fixed: int, true: UInt8Array, scores: ScoreArray, bounds: ScoreArray,
        mask: UInt8Array | None,
    ) -> tuple[int, bool]:  # fmt: skip
        """The same where a score at or above the bound of its column is a prediction; also whether all are finite."""
        predicted = (scores >= bounds).view(np.uint8)
        return self.count_dense(columns, fixed, true, predicted, mask), bool(np.isfinite(scores).all())

    def count_lists(
        self, examples: int, fixed: int, true: Lists | None, pred: Lists | None, mask: Lists | None,
        named: Lists | None, everywhere: IntArray,
    ) -> None:  # fmt: skip
        """Count examples given as lists of columns: true, predicted, masked, otherwise mentioned. Repeats count once.

        ``everywhere`` holds columns that every example mentions, without repeats.
        """
        cells = np.zeros_like(self._value.cells)
        keys, _, _ = list_rows(examples, true, pred, mask, named, everywhere, cells)
        self._add(np.arange(len(cells)), fixed, cells, keys)

    def _add(self, columns: IntArray, fixed: int, cells: IntArray, keys: IntArray) -> None:
        """Add counts of distinct columns, of which declared ones derive their true negatives, and row keys."""
        total = np.zeros_like(self._value.cells)
        total[columns] = cells
        total[:fixed, 0] = 0
        value = self._value.plus(len(keys), total, _by_key(*tally(keys)[:2]))
        self._commit(self._cell.prepare_store(value))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(self, other: Counts, columns: IntArray | None, fixed: int, sign: int) -> Part | int:
        """Prepare to add the other's counts, or to take them away with sign -1.

        ``columns`` says where its columns are here (None: the same). The first ``fixed`` columns here belong to
        declared labels, whose true negatives are derived.
        """
        its = other._value
        if sign > 0 and its.examples > _COUNT_MAX - self.examples:
            return FULL
        width = len(its.cells) if columns is None else min(len(its.cells), len(columns))
        places = np.arange(width) if columns is None else columns[:width]
        self.reserve(int(places.max(initial=-1)) + 1)
        added = its.cells[:width].copy()
        added[places < fixed, 0] = 0

        def change(value: _Value) -> _Value:
            cells = np.zeros_like(value.cells)
            np.add.at(cells, places, sign * added)  # columns that nobody mentions may share a place
            return value.plus(sign * its.examples, cells, [(key, sign * times) for key, times in its.rows.items()])

        return REFUSED if sign < 0 and not change(self._value).possible(fixed) else self._cell.prepare(change)

    def cells(self, width: int) -> IntArray:
        """A copy of the counts of the first columns, shape (width, 5)."""
        self.reserve(width)
        return self._value.cells[:width].copy()

    def outcomes(self, columns: IntArray) -> IntArray:
        """The counts of some columns, shape (5, columns)."""
        return np.ascontiguousarray(self._value.cells[columns].T)

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        return np.asarray(self.cells(width).any(axis=1))

    def at(self, slots: IntArray) -> IntArray:
        """The counts in some slots."""
        return self._value.cells.reshape(-1)[slots]

    def times(self, key: RowKey) -> int:
        """How many examples had a row key."""
        return self._value.rows.get(key, 0)

    def row_keys(self) -> tuple[IntArray, IntArray]:
        """The row keys that occur, in any order, shape (distinct, 4), and how many examples had each."""
        rows = self._value.rows
        return np.array([*rows], np.int64).reshape(-1, 4), np.array([*rows.values()], np.int64)

    def held(self) -> int:
        """How many row keys take room, also those of which no example is left."""
        return len(self._value.rows)

    def compact(self) -> None:
        """Drop row keys of which no example is left; always done in this twin."""

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(cells))
        total = np.zeros_like(self._value.cells)  # in the order of rows, whatever that of the cells is
        total[: len(cells)] = cells
        self._commit(self._cell.prepare_store(_Value(examples, total, dict(_by_key(keys, times)))))

    def copy(self, root: Root) -> Counts:
        """An independent copy."""
        twin = Counts(root, 0)
        twin._commit(twin._cell.prepare_store(self._value))
        return twin


def _by_key(keys: IntArray, times: IntArray) -> Iterable[tuple[RowKey, int]]:
    return zip(map(tuple, keys.tolist()), times.tolist(), strict=True)


def count_groups(counts: list[Counts], codes: IntArray, examples: int, width: int, true: Lists, pred: Lists) -> None:
    """Count each example, given as lists of columns below ``width``, in the counts that its code tells."""
    if len(codes) != examples:
        raise IndexError(f"{len(codes)} codes are not of {examples} examples")
    order, ends = grouped(codes, len(counts))
    rows = np.arange(examples) if order is None else order
    start = 0
    for group, end in zip(counts, ends.tolist(), strict=True):
        if start < end:
            group.reserve(width)
            first, second = (Lists(*taken(lists.offsets, lists.flat(), rows[start:end])) for lists in (true, pred))
            group.count_lists(end - start, 0, first, second, None, None, np.zeros(0, np.int64))
        start = end
