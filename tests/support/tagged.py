"""Random rows of a table of tagged items, for the tests of engines."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

LABELS = [f"tag{number}" for number in range(50)]


def rows_of(count: int, seed: int = 0, **further: Callable[[random.Random], Any]) -> list[dict[str, Any]]:
    """``count`` random rows; the functions in ``further`` draw the values of further columns."""
    draw = random.Random(seed)
    return [
        {
            "actual": draw.sample(LABELS, draw.randrange(5)),
            "predicted": draw.sample(LABELS, draw.randrange(5)),
            "weight": draw.choice([0.1, 0.5, 3.0]),
            "region": draw.choice(["eu", "us", "asia", None]),
            **{name: value(draw) for name, value in further.items()},
        }
        for _ in range(count)
    ]
