"""The pairs of labels that an example has.

Of one example, call the true labels that were missed M, those true and predicted B, and those wrongly predicted W. A
pair is a row ``kind, row, column, numerator, denominator`` of integers; ``-1`` as a row or column stands for no label.
Every pair of an example is counted once, so that all counts are numbers of examples. `pairs_of` says which they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.types import Flags, IntArray

CONFUSION, CONTRIBUTION, TRUE_TRUE, TRUE_PRED, PRED_PRED = 1, 2, 3, 4, 5
"""Kinds of pairs."""

CONFUSIONS, CONTRIBUTIONS, COOCCURRENCE = 1, 2, 4
"""What is counted, as bits."""

NONE = -1

Pair: TypeAlias = tuple[int, int, int, int, int]
"""Kind, row, column, numerator, denominator."""

_AT_ONCE = 1 << 20


def pairs_of(missed: Sequence[int], both: Sequence[int], wrong: Sequence[int], parts: int) -> Iterator[Pair]:
    """The pairs of one example, from the columns of the labels missed, hit and wrongly predicted.

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


def placed(pair: Pair, place: Sequence[int]) -> Pair:
    """A pair whose columns have moved. Where order does not matter, the lower column comes first."""
    kind, row, column, num, den = pair
    row, column = place[row], place[column]
    if kind in (TRUE_TRUE, PRED_PRED) and row > column:
        row, column = column, row
    return kind, row, column, num, den


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
        chosen = np.isin(outcomes, wanted)
        sizes = np.bincount(rows[chosen], minlength=examples)
        return _Side(np.cumsum(sizes) - sizes, sizes, columns[chosen])

    none = _Side(np.arange(examples), np.ones(examples, np.int64), np.full(examples, NONE))
    true, pred, missed, both, wrong = side(1, 3), side(2, 3), side(1), side(3), side(2)
    t, p, m, w = true.sizes, pred.sizes, missed.sizes, wrong.sizes
    crossed: list[tuple[IntArray, IntArray]] = []

    def add(kind: int, where: Flags, left: _Side, right: _Side, num: IntArray | int, den: IntArray | int) -> None:
        crossed.append(_crossed(kind, where, left, right, num, den))

    def diagonal(kind: int, where: Flags, num: IntArray | int, den: IntArray | int) -> None:
        crossed.append(_crossed(kind, where, both, both, num, den, same=True))

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
            chosen = pairs[:, 1] != pairs[:, 2] if kind == TRUE_PRED else pairs[:, 1] < pairs[:, 2]
            crossed.append((pairs[chosen], row[chosen]))
    empty = (np.zeros((0, 5), np.int64), np.zeros(0, np.int64))
    return np.concatenate([pairs for pairs, _ in crossed or [empty]]), first + np.concatenate(
        [row for _, row in crossed or [empty]]
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
