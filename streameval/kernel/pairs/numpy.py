"""What the kernel of label pairs means, in numpy and plain Python: the fallback without a compiler, and the oracle.

Of one example, call the true labels that were missed M, those true and predicted B, and those wrongly predicted W. A
pair is a row ``kind, row, column, numerator, denominator`` of integers; ``-1`` as a row or column stands for no label.
Every pair of an example is counted once, so that all counts are numbers of examples. `pairs_of` says which they are.

Cells are counted as by `streameval.kernel.decisions.numpy.Counts`, and tell of each label with itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.decisions.numpy import list_rows
from streameval.kernel.types import DONE, FULL, REFUSED, Flags, IntArray, Lists, Ragged, UInt8Array

__all__ = [
    "CONFUSION", "CONFUSIONS", "CONTRIBUTION", "CONTRIBUTIONS", "COOCCURRENCE", "NONE", "PRED_PRED", "TRUE_PRED",
    "TRUE_TRUE", "Pair", "Pairs", "distinct_pairs", "pairs_of", "placed", "sorted_pairs",
]  # fmt: skip

CONFUSION, CONTRIBUTION, TRUE_TRUE, TRUE_PRED, PRED_PRED = 1, 2, 3, 4, 5
"""Kinds of pairs."""

CONFUSIONS, CONTRIBUTIONS, COOCCURRENCE = 1, 2, 4
"""What is counted, as bits."""

NONE = -1

Pair: TypeAlias = tuple[int, int, int, int, int]
"""Kind, row, column, numerator, denominator."""

_COUNT_MAX = 2**63 - 1
_AT_ONCE = 1 << 20


def pairs_of(missed: Sequence[int], both: Sequence[int], wrong: Sequence[int], parts: int) -> Iterator[Pair]:
    """The pairs of one example, given the columns of the labels missed, hit and wrongly predicted.

    Confusions follow Heydarian, Doyle & Samavi 2022; of a row, all pairs of an example have the same denominator, which
    is how many they are. Contributions follow Krstinić, Braović, Šerić & Božić-Štulić 2020.
    """
    true, pred = [*missed, *both], [*both, *wrong]
    if parts & CONFUSIONS:
        if not missed and wrong and true:
            den = 1 + len(wrong)
            yield from ((CONFUSION, label, label, 1, den) for label in both)
            yield from ((CONFUSION, *pair, 1, den) for pair in product(both, wrong))
        else:
            yield from ((CONFUSION, label, label, 1, 1) for label in both)
            rows = missed if true else [NONE]
            columns = wrong or [NONE]
            yield from ((CONFUSION, *pair, 1, len(columns)) for pair in product(rows, columns))
    if parts & CONTRIBUTIONS:
        rows, columns = true or [NONE], pred or [NONE]
        lost, extra = [row for row in rows if row not in columns], [column for column in columns if column not in rows]
        num, den = (len(rows), len(columns)) if extra and not lost else (1, 1)
        yield from ((CONTRIBUTION, label, label, num, den) for label in rows if label in columns)
        if lost or extra:
            targets = extra or columns
            den = len(targets) if lost else len(columns)
            yield from ((CONTRIBUTION, *pair, 1, den) for pair in product(lost or rows, targets))
    if parts & COOCCURRENCE:
        yield from ((TRUE_TRUE, *pair, 1, 1) for pair in combinations(sorted(true), 2))
        yield from ((TRUE_PRED, *pair, 1, 1) for pair in product(true, pred) if pair[0] != pair[1])
        yield from ((PRED_PRED, *pair, 1, 1) for pair in combinations(sorted(pred), 2))


class _Plan(NamedTuple):
    """New values of everything that changes. Applying it twice is harmless."""

    examples: int
    slots: IntArray
    counts: IntArray
    pairs: dict[Pair, int]


class Pairs:
    """Five counts per column, how many examples had each pair, and how many examples there were.

    ``parts`` says which pairs. What methods answer, and how changes happen at once, is as for
    `streameval.kernel.decisions.numpy.Counts`.
    """

    __slots__ = ("_examples", "_flat", "_pairs", "_parts", "_plan")

    def __init__(self, width: int, parts: int) -> None:
        self._examples = 0
        self._parts = parts
        self._flat: IntArray = np.zeros(5 * max(8, width), np.int64)
        self._pairs: dict[Pair, int] = {}
        self._plan: _Plan | None = None

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._complete()
        return self._examples

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        if 5 * width > len(self._flat):
            self._complete()
            flat = np.zeros(max(5 * width, 2 * len(self._flat)), np.int64)
            flat[: len(self._flat)] = self._flat
            self._flat = flat

    # -- one example --------------------------------------------------------------------------------------------------

    def count_slots(self, slots: IntArray, fixed: int, sign: int) -> int:  # noqa: ARG002  # as for `Counts`
        """Count one example from the slots of its cells, or take it back with sign -1."""
        self._complete()
        column, outcome = np.divmod(slots, 5)
        missed, both, wrong = (column[outcome == part].tolist() for part in (1, 3, 2))
        total = self._examples + sign
        if total > _COUNT_MAX:
            return FULL
        counts = self._flat[slots] + sign
        pairs = {pair: self._pairs.get(pair, 0) + sign for pair in pairs_of(missed, both, wrong, self._parts)}
        if sign < 0:
            after = self._flat.copy()
            after[slots] = counts
            said = after.reshape(-1, 5).sum(axis=1)
            if total < 0 or (counts < 0).any() or min(pairs.values(), default=0) < 0 or said.max() > total:
                return REFUSED
        self._apply(_Plan(total, slots, counts, pairs))
        return DONE

    # -- many examples: only ever into pairs of their own, which are then merged ---------------------------------------

    def count_dense(
        self, columns: IntArray, fixed: int, true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None
    ) -> int:
        """Count rows of 0 and 1; returns the union of all bytes, above 1 if they are anything else."""
        seen = int(np.bitwise_or.reduce(true, axis=None) | np.bitwise_or.reduce(pred, axis=None))
        seen |= 0 if hidden is None else int(np.bitwise_or.reduce(hidden, axis=None))
        if seen > 1:
            return seen
        self.reserve(int(columns.max(initial=-1)) + 1)
        outcome = true + np.uint8(2) * pred
        if hidden is not None:
            outcome[hidden != 0] = 4
        cells = np.stack([np.count_nonzero(outcome == part, axis=0) for part in range(5)], axis=1).astype(np.int64)
        cells[columns < fixed, 0] = 0
        rows, place = np.nonzero(outcome)
        self._add(len(true), columns, cells, rows, columns[place], outcome[rows, place])
        return seen

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Ragged | None,
        pred: Ragged | None,
        hidden: Ragged | None,
        named: Ragged | None,
        everywhere: IntArray,
    ) -> None:
        """Count examples given as lists of columns; see `streameval.kernel.decisions.numpy.Counts.count_lists`."""
        width = len(self._flat) // 5
        cells = np.zeros((width, 5), np.int64)
        lists = [None if side is None else Lists(*side) for side in (true, pred, hidden, named)]
        _, rows, slots = list_rows(examples, lists[0], lists[1], lists[2], lists[3], everywhere, cells)
        cells[:fixed, 0] = 0
        self._add(examples, np.arange(width), cells, rows, slots // 5, slots % 5)

    def _add(
        self, examples: int, columns: IntArray, cells: IntArray, rows: IntArray, column: IntArray, outcome: IntArray
    ) -> None:
        self._complete()
        slots = (5 * columns[:, None] + np.arange(5)).reshape(-1)
        pairs = dict(self._pairs)
        for found, _ in sorted_pairs(examples, rows, column, outcome, self._parts):
            distinct, which = distinct_pairs(found)
            times = np.bincount(which, minlength=len(distinct))
            for pair, count in zip(_tuples(distinct), times.tolist(), strict=True):
                pairs[pair] = pairs.get(pair, 0) + count
        self._apply(_Plan(self._examples + examples, slots, self._flat[slots] + cells.reshape(-1), pairs))

    # -- merging and reading ------------------------------------------------------------------------------------------

    def merge(self, other: Pairs, columns: IntArray | None) -> int:
        """Add the other's counts; ``columns`` says where its columns are here (None: the same)."""
        other._complete()
        self._complete()
        if self._examples + other._examples > _COUNT_MAX:
            return FULL
        width = len(other._flat) // 5 if columns is None else len(columns)
        self.reserve(width if columns is None else 0)
        cells = other._flat[: 5 * width].reshape(-1, 5)
        used = np.flatnonzero(cells.any(axis=1))
        slots = (5 * (used if columns is None else columns[used])[:, None] + np.arange(5)).reshape(-1)
        added = {pair: times for pair, times in other._pairs.items() if times}
        if columns is not None:
            place = [*columns.tolist(), NONE]  # so that -1 leads to itself
            added = {placed(pair, place): times for pair, times in added.items()}
        pairs = {pair: self._pairs.get(pair, 0) + times for pair, times in added.items()}
        counts = self._flat[slots] + cells[used].reshape(-1)
        self._apply(_Plan(self._examples + other._examples, slots, counts, pairs))
        return DONE

    def _apply(self, plan: _Plan) -> None:
        self._plan = plan
        self._complete()

    def _complete(self) -> None:
        plan = self._plan
        if plan is not None:
            self._flat[plan.slots] = plan.counts
            self._pairs.update(plan.pairs)
            self._examples = plan.examples
            self._plan = None

    def cells(self, width: int) -> IntArray:
        """A copy of the counts of the first columns, shape (width, 5)."""
        self._complete()
        self.reserve(width)
        return self._flat[: 5 * width].reshape(-1, 5).copy()

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        return np.asarray(self.cells(width).any(axis=1))

    def at(self, slots: IntArray) -> IntArray:
        """The counts in some slots."""
        self._complete()
        return self._flat[slots]

    def times(self, keys: IntArray) -> IntArray:
        """How many examples had each of some pairs, shape (pairs, 5)."""
        self._complete()
        return np.array([self._pairs.get(pair, 0) for pair in _tuples(keys)], np.int64)

    def items(self) -> tuple[IntArray, IntArray]:
        """The pairs that occur, in any order, shape (distinct, 5), and how many examples had each."""
        self._complete()
        present = [(pair, times) for pair, times in self._pairs.items() if times]
        keys = np.array([pair for pair, _ in present], np.int64).reshape(-1, 5)
        return keys, np.array([times for _, times in present], np.int64)

    def held(self) -> int:
        """How many pairs take room, also those of which no example is left."""
        return len(self._pairs)

    def compact(self) -> None:
        """Drop pairs of which no example is left."""
        self._complete()
        self._pairs = {pair: times for pair, times in self._pairs.items() if times}

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        """Fill counts that are still empty."""
        self.reserve(len(cells))
        pairs = dict(zip(_tuples(keys), times.tolist(), strict=True))
        self._apply(_Plan(examples, np.arange(cells.size), cells.reshape(-1), pairs))

    def copy(self) -> Pairs:
        """An independent copy."""
        self._complete()
        twin = Pairs(len(self._flat) // 5, self._parts)
        twin._examples, twin._flat, twin._pairs = self._examples, self._flat.copy(), dict(self._pairs)
        return twin


def placed(pair: Pair, place: Sequence[int]) -> Pair:
    """A pair whose columns have moved. Where order does not matter, the lower column comes first."""
    kind, row, column, num, den = pair
    row, column = place[row], place[column]
    if kind in (TRUE_TRUE, PRED_PRED) and row > column:
        row, column = column, row
    return kind, row, column, num, den


def _tuples(keys: IntArray) -> Iterable[Pair]:
    return zip(*keys.T.tolist(), strict=True) if len(keys) else ()


def distinct_pairs(pairs: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct rows among pairs, and which of them each row is."""
    outer = (pairs[:, 1] + 1) << 32 | (pairs[:, 2] + 1)
    inner = pairs[:, 0] << 60 | pairs[:, 3] << 30 | pairs[:, 4]  # kinds are below 8
    order = np.lexsort((outer, inner))
    outer, inner = outer[order], inner[order]
    first = np.ones(len(pairs), np.bool_)
    first[1:] = (outer[1:] != outer[:-1]) | (inner[1:] != inner[:-1])
    which = np.empty(len(pairs), np.int64)
    which[order] = np.cumsum(first) - 1
    return pairs[order[first]], which


# -- all pairs of many examples ---------------------------------------------------------------------------------------


class _Side(NamedTuple):
    """For each example a list of columns: where it starts, how long it is, and all columns."""

    starts: IntArray
    sizes: IntArray
    columns: IntArray


def sorted_pairs(
    examples: int, rows: IntArray, columns: IntArray, outcomes: IntArray, parts: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """The pairs of many examples, some examples at a time: shape (pairs, 5), and the example of each.

    ``rows``, ``columns`` and ``outcomes`` tell of the cells, in any order, each cell once.
    """
    order = np.lexsort((columns, rows))
    rows, columns, outcomes = rows[order], columns[order], outcomes[order]
    bounds = np.searchsorted(rows, np.arange(examples + 1))
    cost = np.cumsum((np.diff(bounds) + 1) ** 2)
    start = 0
    while start < examples:
        done = int(cost[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(cost, done + _AT_ONCE)))
        stop = min(stop, examples)
        part = slice(int(bounds[start]), int(bounds[stop]))
        yield _pairs(stop - start, rows[part] - start, columns[part], outcomes[part], parts, start)
        start = stop


def _pairs(
    examples: int, rows: IntArray, columns: IntArray, outcomes: IntArray, parts: int, first: int
) -> tuple[IntArray, IntArray]:
    def side(*wanted: int) -> _Side:
        kept = np.isin(outcomes, wanted)
        sizes = np.bincount(rows[kept], minlength=examples)
        return _Side(np.cumsum(sizes) - sizes, sizes, columns[kept])

    none = _Side(np.arange(examples), np.ones(examples, np.int64), np.full(examples, NONE))
    true, pred, missed, both, wrong = side(1, 3), side(2, 3), side(1), side(3), side(2)
    t, p, m, w = true.sizes, pred.sizes, missed.sizes, wrong.sizes
    found: list[tuple[IntArray, IntArray]] = []

    def add(kind: int, where: Flags, left: _Side, right: _Side, num: IntArray | int, den: IntArray | int) -> None:
        found.append(_crossed(kind, where, left, right, num, den))

    def diagonal(kind: int, where: Flags, num: IntArray | int, den: IntArray | int) -> None:
        found.append(_crossed(kind, where, both, both, num, den, same=True))

    always = np.ones(examples, np.bool_)
    surplus = (m == 0) & (w > 0) & (t > 0)
    if parts & CONFUSIONS:
        diagonal(CONFUSION, always, 1, np.where(surplus, 1 + w, 1))
        add(CONFUSION, surplus, both, wrong, 1, 1 + w)
        add(CONFUSION, (m > 0) & (w > 0), missed, wrong, 1, w)
        add(CONFUSION, (m > 0) & (w == 0), missed, none, 1, 1)
        add(CONFUSION, (t == 0) & (w > 0), none, wrong, 1, w)
        add(CONFUSION, (t == 0) & (w == 0), none, none, 1, 1)
    if parts & CONTRIBUTIONS:
        diagonal(CONTRIBUTION, always, np.where(surplus, t, 1), np.where(surplus, p, 1))
        add(CONTRIBUTION, surplus, both, wrong, 1, p)
        add(CONTRIBUTION, (m > 0) & (w > 0), missed, wrong, 1, w)
        add(CONTRIBUTION, (m > 0) & (w == 0) & (p > 0), missed, both, 1, p)
        add(CONTRIBUTION, (m > 0) & (p == 0), missed, none, 1, 1)
        add(CONTRIBUTION, (t == 0) & (p > 0), none, wrong, 1, p)
        add(CONTRIBUTION, (t == 0) & (p == 0), none, none, 1, 1)
    if parts & COOCCURRENCE:
        for kind, left, right in ((TRUE_TRUE, true, true), (TRUE_PRED, true, pred), (PRED_PRED, pred, pred)):
            pairs, row = _crossed(kind, always, left, right, 1, 1)
            kept = pairs[:, 1] != pairs[:, 2] if kind == TRUE_PRED else pairs[:, 1] < pairs[:, 2]
            found.append((pairs[kept], row[kept]))
    empty = (np.zeros((0, 5), np.int64), np.zeros(0, np.int64))
    return np.concatenate([pairs for pairs, _ in found or [empty]]), first + np.concatenate(
        [row for _, row in found or [empty]]
    )


def _crossed(
    kind: int,
    where: Flags,
    left: _Side,
    right: _Side,
    num: IntArray | int,
    den: IntArray | int,
    *,
    same: bool = False,
) -> tuple[IntArray, IntArray]:
    """In some examples, every label of one side with every label of another (or each with itself)."""
    height, width = np.where(where, left.sizes, 0), np.where(where, 1 if same else right.sizes, 0)
    example = np.repeat(np.arange(len(where)), height * width)
    at = np.arange(len(example)) - np.repeat(np.cumsum(height * width) - height * width, height * width)
    row, column = np.divmod(at, np.maximum(width, 1)[example])
    pairs = np.empty((len(example), 5), np.int64)
    pairs[:, 0] = kind
    pairs[:, 1] = left.columns[left.starts[example] + row]
    pairs[:, 2] = pairs[:, 1] if same else right.columns[right.starts[example] + column]
    pairs[:, 3] = np.broadcast_to(num, len(where))[example]
    pairs[:, 4] = np.broadcast_to(den, len(where))[example]
    return pairs, example
