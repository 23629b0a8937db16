"""The pairs of labels that an example has.

Of one example, call the true labels that were missed M, those true and predicted B, and those wrongly predicted W. A
pair is a row ``kind, row, column, numerator, denominator`` of integers; ``-1`` as a row or column stands for no label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from streameval.kernel.types import IntArray

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
    for kind in _kinds(parts):
        rows = missed or both or [NONE]
        columns = wrong or (kind == CONTRIBUTION and both) or [NONE]
        num, den, size = 1, 1, len(columns)
        if both and wrong and not missed:
            num, den = (1, 1 + len(wrong)) if kind == CONFUSION else (len(true), len(pred))
            size = den
        yield from ((kind, label, label, num, den) for label in both)
        if missed or wrong or not both:
            yield from product([kind], rows, columns, [1], [size])
    if parts & COOCCURRENCE:
        yield from ((TRUE_TRUE, *pair, 1, 1) for pair in combinations(sorted(true), 2))
        yield from (pair for pair in product([TRUE_PRED], true, pred, [1], [1]) if pair[1] != pair[2])
        yield from ((PRED_PRED, *pair, 1, 1) for pair in combinations(sorted(pred), 2))


def _kinds(parts: int) -> list[int]:
    return [kind for kind, bit in ((CONFUSION, CONFUSIONS), (CONTRIBUTION, CONTRIBUTIONS)) if parts & bit]


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

_Side: TypeAlias = tuple[IntArray, IntArray]
"""For each example a list of columns: where it starts among all columns, and how long it is."""


def sorted_pairs(
    examples: int, rows: IntArray, columns: IntArray, outcomes: IntArray, parts: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """The pairs of many examples, some examples at a time: shape (pairs, 5), and the example of each.

    ``rows``, ``columns`` and ``outcomes`` tell of the cells, in any order, each cell once.
    """
    side = np.array([3, 0, 2, 1, 3])[outcomes]  # missed, then both, then wrong, so that the true ones are in one piece
    order = np.lexsort((side, rows))
    order = order[side[order] < 3]
    sizes = np.bincount(3 * rows[order] + side[order], minlength=3 * examples).reshape(examples, 3)
    held = sizes.sum(axis=1)
    starts, columns = np.cumsum(held) - held, np.append(columns[order], NONE)
    cost = np.append(0, np.cumsum((held + 1) ** 2))
    start = 0
    while start < examples:
        stop = max(start + 1, int(np.searchsorted(cost, cost[start] + _AT_ONCE)) - 1)
        pairs, example = _pairs(starts[start:stop], sizes[start:stop], columns, parts)
        yield pairs, start + example
        start = stop


def _pairs(starts: IntArray, sizes: IntArray, columns: IntArray, parts: int) -> tuple[IntArray, IntArray]:
    m, b, w = sizes.T
    t, p = m + b, b + w
    missed, both, wrong, true, pred = (starts, m), (starts + m, b), (starts + t, w), (starts, t), (starts + m, p)
    none = np.full(len(starts), len(columns) - 1), np.ones(len(starts), np.int64)
    some, surplus = _either(both, none), (m == 0) & (b > 0) & (w > 0)
    crossed = [(np.zeros((0, 5), np.int64), np.zeros(0, np.int64))]
    for kind in _kinds(parts):
        num, den = (1, 1 + w) if kind == CONFUSION else (np.where(surplus, t, 1), p)
        pairs, example = _crossed(columns, kind, both, none, num, np.where(surplus, den, 1))
        pairs[:, 2] = pairs[:, 1]  # each with itself
        crossed.append((pairs, example))
        starts, sizes = _either(missed, some)
        left = starts, np.where((m > 0) | (w > 0) | (b == 0), sizes, 0)
        right = _either(wrong, some if kind == CONTRIBUTION else none)
        crossed.append(_crossed(columns, kind, left, right, 1, np.where(surplus, den, right[1])))
    if parts & COOCCURRENCE:
        for kind, left, right in ((TRUE_TRUE, true, true), (TRUE_PRED, true, pred), (PRED_PRED, pred, pred)):
            pairs, example = _crossed(columns, kind, left, right, 1, 1)
            chosen = pairs[:, 1] != pairs[:, 2] if kind == TRUE_PRED else pairs[:, 1] < pairs[:, 2]
            crossed.append((pairs[chosen], example[chosen]))
    return np.concatenate([pairs for pairs, _ in crossed]), np.concatenate([example for _, example in crossed])


def _either(side: _Side, other: _Side) -> _Side:
    """A side, or another where it holds no label."""
    return np.where(side[1] > 0, side[0], other[0]), np.where(side[1] > 0, side[1], other[1])


def _crossed(
    columns: IntArray, kind: int, left: _Side, right: _Side, num: IntArray | int, den: IntArray | int
) -> tuple[IntArray, IntArray]:
    """Every label of one side with every label of another."""
    times = left[1] * right[1]
    example = np.repeat(np.arange(len(times)), times)
    at = np.arange(len(example)) - np.repeat(np.cumsum(times) - times, times)
    row, column = np.divmod(at, np.maximum(right[1], 1)[example])
    ends = columns[left[0][example] + row], columns[right[0][example] + column]
    kinds, nums, dens = (np.broadcast_to(each, len(times))[example] for each in (kind, num, den))
    return np.stack([kinds, *ends, nums, dens], axis=1), example
