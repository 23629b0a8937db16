"""The pairs of labels of an example: the definition, for the numpy twin, states, bytes and metrics of pairs.

The labels of an example are missed (true only), both true and predicted, or wrong (predicted only). A pair is five
integers ``kind, row, column, numerator, denominator``; ``-1`` as a row or column stands for no label.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeAlias

CONFUSION, CONTRIBUTION, TRUE_TRUE, TRUE_PRED, PRED_PRED = 1, 2, 3, 4, 5
"""Kinds of pairs."""

CONFUSIONS, CONTRIBUTIONS, COOCCURRENCE = 1, 2, 4
"""Bits for the kinds of pairs that a table counts."""

NONE = -1
ALL = (-1,)
"""The key of the sum of all weights; keys of pairs start with their kind, keys of label sets with 0."""

Pair: TypeAlias = tuple[int, int, int, int, int]
"""Kind, row, column, numerator, denominator."""


def pairs_of(slots: Sequence[int], parts: int) -> list[Pair]:
    """The pairs of one example, from the slots of its cells: 5 * column + outcome."""
    missed, wrong, both = ([slot // 5 for slot in slots if slot % 5 == outcome] for outcome in (1, 2, 3))
    true, pred = sorted([*missed, *both]), sorted([*both, *wrong])
    pairs = list[Pair]()
    # Confusions as Heydarian, Doyle & Samavi 2022, contributions as Krstinić, Braović, Šerić & Božić-Štulić 2020.
    for kind in [kind for kind, bit in ((CONFUSION, CONFUSIONS), (CONTRIBUTION, CONTRIBUTIONS)) if parts & bit]:
        rows = missed or both or [NONE]
        columns = wrong or (kind == CONTRIBUTION and both) or [NONE]
        num, den, size = 1, 1, len(columns)  # the denominator is the number of pairs of a row
        if both and wrong and not missed:
            num, den = (1, 1 + len(wrong)) if kind == CONFUSION else (len(true), len(pred))
            size = den
        pairs += [(kind, label, label, num, den) for label in both]
        if missed or wrong or not both:
            pairs += product([kind], rows, columns, [1], [size])
    if parts & COOCCURRENCE:
        pairs += [(TRUE_TRUE, first, second, 1, 1) for first, second in combinations(true, 2)]
        pairs += [(TRUE_PRED, row, column, 1, 1) for row in true for column in pred if row != column]
        pairs += [(PRED_PRED, first, second, 1, 1) for first, second in combinations(pred, 2)]
    return pairs


def label_set(slots: Sequence[int]) -> tuple[int, ...]:
    """The key of the set of true labels of one example."""
    return 0, *sorted(slot // 5 for slot in slots if slot % 5 in (1, 3))


def placed(pair: Pair, place: Sequence[int]) -> Pair:
    """A pair with its columns replaced by their new places; if order does not matter, the lower one comes first."""
    kind, row, column, num, den = pair
    row, column = place[row], place[column]
    if kind in (TRUE_TRUE, PRED_PRED) and row > column:
        row, column = column, row
    return kind, row, column, num, den
