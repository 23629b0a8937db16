"""How hard the tests try: ``STREAMEVAL_EFFORT`` multiplies the numbers of random cases.

1 tries as many as the tests and the documentation say; ``.ci/run`` sets 1 for the laws and 0.1 for all tests. The
default is 0.05; below 0.1 `crossed` makes only half of the combinations of parameters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

T = TypeVar("T")
_EFFORT = float(os.environ.get("STREAMEVAL_EFFORT", "0.05"))
BRIEF = _EFFORT < 0.1
"""Whether only a part of the combinations of kinds of state and holders is tried."""


def cases(usual: int) -> int:
    """How many cases to try where full effort tries ``usual``."""
    return max(1, round(usual * _EFFORT))


def crossed(*groups: Iterable[object]) -> list[tuple[Any, ...]]:
    """Combinations of one member of each group; if `BRIEF`, every second one in the pattern of a chessboard.

    With three groups or more, any two members of different groups still occur together.
    """
    every = product(*map(enumerate, groups))
    return [tuple(each for _, each in one) for one in every if not BRIEF or sum(place for place, _ in one) % 2 == 0]


def spread(items: Sequence[T], usual: int) -> list[T]:
    """``cases(usual)`` of the items, evenly spaced, with the first and the last; all of them if there are fewer."""
    wanted = min(len(items), max(2, cases(usual)))
    return [items[place * (len(items) - 1) // (wanted - 1)] for place in range(wanted)] if len(items) > 1 else [*items]
