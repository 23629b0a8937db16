"""Counts of decisions, in numpy and plain Python: what the compiled twin computes, its fallback, and its oracle.

A cell is one (example, label) pair. Its outcome indexes the five disjoint counts of a label::

    0 true negative    1 false negative    2 false positive    3 true positive    4 masked

so that ``outcome == true + 2 * predicted`` unless the truth is masked. Only cells that an example mentions are counted;
the true negatives of all other examples are derived when reading. Slot ``5 * column + outcome`` is where a cell counts.

Row keys have four columns: labels true, labels predicted, labels in both, labels masked.

A change of counts is a new value; see `streameval.kernel.commit.numpy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from streameval.kernel.commit.numpy import Cell, Part, Root, Table
from streameval.kernel.decisions.rows import dense_rows, limbs, list_cells, list_rows, tally, weigh_dense, weigh_lists
from streameval.kernel.lists.numpy import grouped, taken
from streameval.kernel.types import (
    DONE,
    FULL,
    OTHER,
    REFUSED,
    BitRows,
    Flags,
    FloatArray,
    IntArray,
    Lists,
    RowKey,
    ScoreArray,
    UInt8Array,
)  # fmt: skip

__all__ = ["Counts", "count_groups", "limbs", "list_cells", "weigh_dense", "weigh_lists"]

_COUNT_MAX = 2**63 - 1
_LOGGED = 2**14  # slots, and 16 for each example, that wait to be added up


class _Value:
    """What is counted. It never changes: examples are logged, and added up when somebody reads, or they are many."""

    __slots__ = ("_parts", "examples")

    def __init__(self, examples: int, cells: IntArray, rows: dict[RowKey, int], log: Any = None) -> None:
        self.examples, self._parts = examples, (cells, rows, log)

    @property
    def width(self) -> int:
        """For how many columns there is room."""
        return len(self._parts[0])

    def check(self, slots: IntArray) -> None:
        """Raise `IndexError` if there is no such slot."""
        self._parts[0].reshape(-1).take(slots)

    def read(self) -> tuple[IntArray, dict[RowKey, int]]:
        """The counts, shape (columns, 5), and how many examples had each row key, of those that any had."""
        cells, rows, log = self._parts
        if log is not None:
            entries = []
            while log is not None:
                *entry, _, log = log
                entries.append(entry)
            slots, keys, signs = zip(*entries, strict=True)
            cells, rows = cells.copy(), _joined(rows, zip(keys, signs, strict=True))
            np.add.at(cells.reshape(-1), np.concatenate(slots), np.repeat(signs, [*map(len, slots)]))
            self._parts = cells, rows, None  # in one store, and the same counts
        return cells, rows

    def with_example(self, slots: IntArray, key: RowKey, sign: int) -> _Value:
        """With one more example, or one less."""
        cells, rows, log = self._parts
        size = len(slots) + 16 + (log[3] if log else 0)
        if size > _LOGGED:
            (cells, rows), log, size = self.read(), None, 0
        return _Value(self.examples + sign, cells, rows, (slots, key, sign, size, log))

    def plus(self, examples: int, added: IntArray, keys: Iterable[tuple[RowKey, int]]) -> _Value:
        """With further counts."""
        cells, rows = self.read()
        return _Value(self.examples + examples, cells + added, _joined(rows, keys))

    def possible(self, fixed: int) -> bool:
        """Whether no label is mentioned by more examples, and no example mentions more labels, than there are."""
        cells, rows = self.read()
        if self.examples < 0 or cells.min() < 0 or min(rows.values(), default=0) < 0:
            return False
        mentions = np.einsum("ij->i", cells)
        labels = fixed + int(np.count_nonzero(mentions[fixed:]))
        largest = max((true + pred - both + masked for true, pred, both, masked in rows), default=0)
        return int(mentions.max(initial=0)) <= self.examples and largest <= labels


def _joined(rows: dict[RowKey, int], keys: Iterable[tuple[RowKey, int]]) -> dict[RowKey, int]:
    """Row keys with further ones, without those of which no example is left."""
    total = dict(rows)
    for key, times in keys:
        total[key] = total.get(key, 0) + times
        if not total[key]:
            del total[key]
    return total


def _binary(side: Any, fixed: int, bound: float | None) -> dict[Any, int] | None:
    """What a plain set or mapping says of string labels, or a row of columns; None if it is another."""
    if type(side) is np.ndarray and side.shape == (fixed,) and side.dtype.kind in "biuf":
        said = dict(enumerate(side.tolist()))
    elif type(side) in (set, dict) and set(map(type, side)) <= {str}:
        said = side if type(side) is dict else dict.fromkeys(side, True)
    else:
        return None
    kinds, values = set(map(type, said.values())), said.values()
    if bound is not None and kinds == {float}:
        return {label: score >= bound for label, score in said.items()} if all(map(isfinite, values)) else None
    return said if kinds <= {bool} or (bound is None and kinds <= {bool, int} and {*values} <= {0, 1}) else None


class Counts(Table):
    """Five counts per column, how many examples had each row key, and how many examples there were.

    Methods that can decline return ``OTHER`` (not handled by the fast path), ``REFUSED`` (it would take back what was
    never counted) or ``FULL`` (2**63 - 1 examples), and have then changed nothing. The ``count_*`` methods of many
    examples are only used on counts that are thrown away if they fail.

    ``weights`` are the cells of the weight sums of the same examples; while there are any, nothing is counted without.
    ``followers`` are those of the tables that count the same examples, with scores. With ``most`` examples,
    `count_example` counts no more.
    """

    __slots__ = ("followers", "most", "weights")

    def __init__(self, root: Root, width: int) -> None:
        self._cell = root.cell(_Value(0, np.zeros((max(8, width), 5), np.int64), {}))
        self.weights: tuple[Cell, ...] = ()
        self.followers: tuple[object, ...] = ()
        self.most = _COUNT_MAX

    @property
    def _value(self) -> _Value:
        value: _Value = self._cell.value
        return value

    def _prepared(self, change: Callable[[_Value], _Value], fixed: int, sign: int, known: bool = False) -> Part | int:
        after, part = self._cell.tried(change)
        return REFUSED if sign < 0 and not known and not after.possible(fixed) else part

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        value = self._value
        if width > value.width:
            more = np.zeros((max(width, 2 * value.width) - value.width, 5), np.int64)
            cells, rows = value.read()
            self._cell.store(_Value(value.examples, np.concatenate([cells, more]), rows))

    # -- one example ---------------------------------------------------------------------------------------------------

    def prepare_plain(
        self, columns: Mapping[Any, int], fixed: int, y_true: object, y_pred: object, threshold: float | None, sign: int
    ) -> Part | int:
        """Prepare to count one example, or to take it back (sign -1), if its form is common and its labels are known.

        ``columns`` maps plain labels to columns, of which the first ``fixed`` belong to declared labels. With a
        ``threshold``, numbers in ``y_pred`` are scores. Sets and mappings of strings and rows of declared labels are
        read; the compiled twin reads more forms.
        """
        placed = self.place_example(columns, fixed, y_true, y_pred, threshold)
        return OTHER if placed is None else self.prepare_example(*placed, fixed, sign)

    def count_example(
        self, columns: Mapping[Any, int], fixed: int, y_true: object, y_pred: object, threshold: float | None, sign: int
    ) -> int:
        """Do at once what `prepare_plain` prepares, unless the guard is held, or there are weights."""
        return self._guarded(lambda: self._commit(self.prepare_plain(columns, fixed, y_true, y_pred, threshold, sign)))

    def _guarded(self, count: Callable[[], int]) -> int:
        guard = self._cell.root.guard
        weighted = any(cell.value is not None for cell in self.weights)
        if self.examples >= self.most < _COUNT_MAX or weighted or not guard.begin():
            return OTHER
        code = REFUSED
        try:
            code = count()
        finally:
            guard.leave(changed=code == DONE)
        return code

    def count_examples(
        self, columns: Mapping[Any, int], fixed: int, y_true: list[Any], y_pred: list[Any], threshold: float | None
    ) -> int:
        """Count examples, as many on either side, if all are as `prepare_plain` demands."""
        counted = Counts(Root(), len(columns))
        if len(y_true) != len(y_pred):
            return OTHER
        for true, pred in zip(y_true, y_pred, strict=True):
            code = counted.count_example(columns, fixed, true, pred, threshold, 1)
            if code != DONE:
                return code
        return self._guarded(lambda: self._commit(self.prepare_merge(counted, None, 0, 1)))

    def count_arrays(self, *_: object) -> int:
        """Count the rows of plain arrays of all labels, as `count_examples` does lists. It gains nothing in numpy."""
        return OTHER

    count_packed = count_arrays  # the same of `BitRows`

    def place_example(
        self, columns: Mapping[Any, int], fixed: int, y_true: object, y_pred: object, threshold: float | None
    ) -> tuple[IntArray, RowKey] | None:
        """Slots and row key of what `prepare_plain` reads, or None."""
        true, pred, rows = _binary(y_true, fixed, None), _binary(y_pred, fixed, threshold), type(y_true) is np.ndarray
        if true is None or pred is None or rows is not (type(y_pred) is np.ndarray):
            return None
        outcomes = {**dict.fromkeys(pred, 0), **true}
        for label in [label for label, guess in pred.items() if guess]:
            outcomes[label] += 2
        places = [*outcomes] if rows else [columns.get(label, -1) for label in outcomes]
        if -1 in places:
            return None
        self.reserve(max(places, default=-1) + 1)
        each = [*outcomes.values()]
        hits = each.count(3)
        slots = [
            5 * column + outcome for column, outcome in zip(places, each, strict=True) if outcome or column >= fixed
        ]
        return np.array(slots, np.int64), (each.count(1) + hits, each.count(2) + hits, hits, 0)

    def place_scores(self, *_: object) -> tuple[IntArray, RowKey, Lists, Lists, FloatArray] | None:
        """The same where ``y_pred`` maps labels to scores, and the labels that are true, those with a score, scores.

        None: in numpy nothing is gained by it.
        """
        return None

    def prepare_example(self, slots: IntArray, key: RowKey, fixed: int, sign: int, known: bool = False) -> Part | int:
        """Prepare to count one example whose cells are already placed, or to take it back with sign -1.

        ``known``: it was surely counted.
        """
        if sign > 0 and self.examples == _COUNT_MAX:
            return FULL
        self._value.check(slots)
        return self._prepared(lambda value: value.with_example(slots, key, sign), fixed, sign, known)

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
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        bounds: ScoreArray,
        mask: UInt8Array | None,
    ) -> tuple[int, bool]:
        """The same where a score at or above the bound of its column is a prediction; also whether all are finite."""
        predicted = (scores >= bounds).view(np.uint8)
        return self.count_dense(columns, fixed, true, predicted, mask), bool(np.isfinite(scores).all())

    def count_bits(self, columns: IntArray, fixed: int, true: BitRows, pred: BitRows) -> int:
        """The same of rows of bits, of one order and fewer than 2**21 columns; a bit behind the columns counts as 2."""
        truths, predictions = true.cells(), pred.cells()
        if truths is None or predictions is None:
            return 2
        return self.count_dense(columns, fixed, truths, predictions, None)

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Lists | None,
        pred: Lists | None,
        mask: Lists | None,
        named: Lists | None,
        everywhere: IntArray,
    ) -> None:
        """Count examples passed as lists of columns: true, predicted, masked, otherwise mentioned. Repeats count once.

        ``everywhere`` holds columns that every example mentions, without repeats.
        """
        cells = np.zeros((self._value.width, 5), np.int64)
        keys, _, _ = list_rows(examples, true, pred, mask, named, everywhere, cells)
        self._add(np.arange(len(cells)), fixed, cells, keys)

    def _add(self, columns: IntArray, fixed: int, cells: IntArray, keys: IntArray) -> None:
        """Add counts of distinct columns, of which declared ones derive their true negatives, and row keys."""
        total = np.zeros((self._value.width, 5), np.int64)
        total[columns] = cells
        total[:fixed, 0] = 0
        self._cell.store(self._value.plus(len(keys), total, _by_key(*tally(keys)[:2])))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(self, other: Counts, columns: IntArray | None, fixed: int, sign: int) -> Part | int:
        """Prepare to add the other's counts, or to take them away with sign -1; they must not change before the commit.

        ``columns`` has the columns of this table (None: the same). The first ``fixed`` columns here belong to
        declared labels, whose true negatives are derived.
        """
        its = other._value
        if sign > 0 and its.examples > _COUNT_MAX - self.examples:
            return FULL
        cells, rows = its.read()
        width = its.width if columns is None else min(its.width, len(columns))
        places = np.arange(width) if columns is None else columns[:width]
        self.reserve(int(places.max(initial=-1)) + 1)
        added = cells[:width].copy()
        added[places < fixed, 0] = 0

        def change(value: _Value) -> _Value:
            total = np.zeros((value.width, 5), np.int64)
            np.add.at(total, places, sign * added)  # columns that nobody mentions may share a place
            return value.plus(sign * its.examples, total, [(key, sign * times) for key, times in rows.items()])

        return self._prepared(change, fixed, sign)

    def outcomes(self, columns: IntArray) -> IntArray:
        """The counts of some columns, shape (5, columns)."""
        return np.ascontiguousarray(self._value.read()[0].take(columns, axis=0).T)

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        self.reserve(width)
        return np.asarray(self._value.read()[0][:width].any(axis=1))

    def times(self, key: RowKey) -> int:
        """How many examples had a row key."""
        return self._value.read()[1].get(key, 0)

    def row_keys(self) -> tuple[IntArray, IntArray]:
        """The row keys that occur, in any order, shape (distinct, 4), and how many examples had each."""
        _, rows = self._value.read()
        return np.array([*rows], np.int64).reshape(-1, 4), np.array([*rows.values()], np.int64)

    def held(self) -> int:
        """How many row keys take room, also those of which no example is left."""
        return len(self._value.read()[1])

    def compact(self) -> None:
        """Drop row keys of which no example is left; always done in this twin."""

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(cells))
        total = np.zeros((self._value.width, 5), np.int64)  # in the order of rows, whatever that of the cells is
        total[: len(cells)] = cells
        self._cell.store(_Value(examples, total, dict(_by_key(keys, times))))


def _by_key(keys: IntArray, times: IntArray) -> Iterable[tuple[RowKey, int]]:
    return zip(map(tuple, keys.tolist()), times.tolist(), strict=True)


def count_groups(counts: list[Counts], codes: IntArray, examples: int, width: int, true: Lists, pred: Lists) -> None:
    """Count each example, passed as lists of columns below ``width``, in the counts that its code tells."""
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
