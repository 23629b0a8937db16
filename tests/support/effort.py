"""How hard the tests try: ``STREAMEVAL_EFFORT`` multiplies the numbers of random cases; 1 is usual."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["cases", "promised", "spread"]

T = TypeVar("T")
_EFFORT = float(os.environ.get("STREAMEVAL_EFFORT", "1"))


def cases(usual: int) -> int:
    """How many cases to try where so many are usual."""
    return max(1, round(usual * _EFFORT))


def promised(usual: int) -> int:
    """How many cases to try where the documentation says so many: not fewer, but on the slower kernel."""
    return cases(usual) if os.environ.get("STREAMEVAL_KERNEL") == "numpy" else max(usual, cases(usual))


def spread(items: Sequence[T], usual: int) -> list[T]:
    """So many of the items, evenly spread, the first and the last among them; all if there are no more."""
    wanted = min(len(items), max(2, cases(usual)))
    return [items[place * (len(items) - 1) // (wanted - 1)] for place in range(wanted)] if len(items) > 1 else [*items]
