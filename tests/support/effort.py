"""How hard the tests try: ``STREAMEVAL_EFFORT`` multiplies the numbers of random cases.

1 tries as many as the tests and the documentation say; ``.ci/run`` takes it for laws, and 0.1 for all tests. Without it
a twentieth is tried, and half of the combinations of parameters that `crossed` makes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")
_EFFORT = float(os.environ.get("STREAMEVAL_EFFORT", "0.05"))
BRIEF = _EFFORT < 0.1
"""Whether laws are tried with a part of what differs by the kind of state and by the holder at once."""


def cases(usual: int) -> int:
    """How many cases to try of so many."""
    return max(1, round(usual * _EFFORT))


def crossed(*groups: Iterable[object]) -> list[tuple[Any, ...]]:
    """Combinations of one member of each group; briefly half of them, as on a chessboard.

    Of three groups or more, any two members of different groups are still together in some.
    """
    every = product(*map(enumerate, groups))
    return [tuple(each for _, each in one) for one in every if not BRIEF or sum(place for place, _ in one) % 2 == 0]


def spread(items: Sequence[T], usual: int) -> list[T]:
    """So many of the items, evenly spread, the first and the last among them; all if there are no more."""
    wanted = min(len(items), max(2, cases(usual)))
    return [items[place * (len(items) - 1) // (wanted - 1)] for place in range(wanted)] if len(items) > 1 else [*items]
