"""What the state of label pairs holds and counts: its content, the keys of its weights, and the cells of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel.pairs import pairing
from streameval.kernel.types import IntArray
from streameval.schema.labels import Label
from streameval.states.options import Part

__all__ = [
    "ALL", "Cells", "Content", "Key", "label_sets", "outweighs", "placed",
    "set_placed",
]  # fmt: skip

Key: TypeAlias = int | tuple[int, ...]
"""Where a weight goes: a slot, `ALL`, a pair (which starts with its kind), or a label set, which starts with 0."""

ALL = -1


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a state holds, in canonical order: equal states have equal contents, whatever their history.

    Attributes
    ----------
    parts
        What is counted, in the order of `PARTS`.
    examples, labels, fixed, cells
        As in `streameval.states.decisions.Content`.
    pairs, times
        The pairs in lexicographic order, shape (distinct, 5): kind, row, column, numerator, denominator, where -1 is no
        label and labels are positions in ``labels``; and how many examples had each.
    sets, set_times
        The sets of true labels, each increasing, in lexicographic order, and how many examples had each.
    scale, cell_weights, pair_weights, set_weights, weight
        None when every weight sum equals its count. Otherwise the sums in units of ``2**-scale``, for each label a
        list over its outcomes (the first, true negatives, is 0), for each pair, for each label set, and of all
        examples; the scale is as small as it can be.
    """

    parts: tuple[Part, ...]
    examples: int
    labels: tuple[Label, ...]
    fixed: int
    cells: IntArray
    pairs: IntArray
    times: IntArray
    sets: list[tuple[int, ...]]
    set_times: list[int]
    scale: int | None
    cell_weights: list[list[int]] | None
    pair_weights: list[int] | None
    set_weights: list[int] | None
    weight: int | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        arrays = ("cells", "pairs", "times")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__ if name not in arrays
        )

    __hash__ = None  # type: ignore[assignment]


class Cells(NamedTuple):
    """The cells of a batch that are not true negatives, by example and column."""

    rows: IntArray
    columns: IntArray
    outcomes: IntArray


# -- batches ----------------------------------------------------------------------------------------------------------


def label_sets(cells: Cells, examples: int) -> tuple[list[tuple[int, ...]], IntArray]:
    """The distinct sets of true labels, and which one each example has."""
    kept = cells.outcomes % 2 == 1
    bounds = (8 * np.searchsorted(cells.rows[kept], np.arange(examples + 1))).tolist()
    raw = cells.columns[kept].tobytes()
    index: dict[bytes, int] = {}
    which = [index.setdefault(raw[start:stop], len(index)) for start, stop in pairwise(bounds)]
    return [tuple(np.frombuffer(key, np.int64).tolist()) for key in index], np.array(which, np.int64)


# -- keys -------------------------------------------------------------------------------------------------------------


def set_placed(true: tuple[int, ...], place: Sequence[int] | None) -> tuple[int, ...]:
    """A label set whose columns have moved."""
    return true if place is None else tuple(sorted(place[column] for column in true))


def placed(key: Key, place: Sequence[int] | None) -> Key:
    """Where a weight goes whose columns have moved."""
    if place is None or key == ALL:
        return key
    if isinstance(key, int):
        return 5 * place[key // 5] + key % 5
    if key[0] == 0:
        return 0, *set_placed(key[1:], place)
    kind, row, column, num, den = key
    return pairing.placed((kind, row, column, num, den), place)


def outweighs(sums: Mapping[Key, int]) -> bool:
    """Whether a label weighs more than all examples together, which nothing can leave."""
    of_column: dict[int, int] = {}
    for key, value in sums.items():
        if isinstance(key, int) and key != ALL:
            of_column[key // 5] = of_column.get(key // 5, 0) + value
    return max(of_column.values(), default=0) > sums.get(ALL, 0)
