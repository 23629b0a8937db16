"""Pictures of the pages, drawn from real computations when the site is built."""

from __future__ import annotations

from collections.abc import Callable

PICTURES: dict[str, Callable[[], object]] = {}


def svg(draw: Callable[[], object]) -> str:
    return str(draw())
