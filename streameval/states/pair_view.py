"""What metrics read of label pairs: the exact counts of a `Pairs` state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import IntArray
from streameval.states.options import Part
from streameval.states.pairs import PairContent, Pairs, objects
from streameval.states.views import Integers

Made = TypeVar("Made")


class PairTables:
    """The content of a state, read once for all metrics; the state must not change meanwhile."""

    def __init__(self, pairs: Pairs) -> None:
        self.parts: tuple[Part, ...] = pairs.parts
        self._pairs = pairs
        self._made: dict[Any, Any] = {}

    def content(self) -> PairContent:
        """What is held, in canonical order."""
        return self.once("content", lambda: self._pairs.content())  # not before it is needed

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """What several metrics read, made when the first of them asks for it."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made


Counted: TypeAlias = Pairs | PairTables
"""What can be read: a state, or the tables of an evaluator that has one."""


def content_of(pairs: Counted, part: Part) -> PairContent:
    """What a state holds, if it counts some part."""
    if part not in pairs.parts:
        counted = ", ".join(pairs.parts) or "nothing"
        raise MetricError(
            f"this requires the {part!r} part of pairs, but only {counted} were counted; construct with keep=[{part!r}]"
        )
    return pairs.content()


def of_kind(content: PairContent, kind: int) -> tuple[IntArray, Integers]:
    """The pairs of a kind, and the weight of each in units."""
    start, stop = np.searchsorted(content.pairs[:, 0], [kind, kind + 1])
    weights: Integers = content.times[start:stop]
    if content.pair_weights is not None:
        weights = objects(content.pair_weights[start:stop])
    return content.pairs[start:stop], weights


def counts_of(content: PairContent) -> dict[str, Integers]:
    """How often each label is true, predicted, and both, weighted, in units."""
    cells: Integers = content.cells
    if content.cell_weights is not None:
        cells = objects(content.cell_weights).reshape(-1, 5)
    _, missed, wrong, both, _ = cells.T
    return {"true": missed + both, "pred": wrong + both, "both": both}


def weight_of(content: PairContent) -> int:
    """The weight of all examples, in units."""
    return content.examples if content.weight is None else content.weight


def set_weights_of(content: PairContent) -> list[int]:
    """The weight of each label set, in units."""
    return content.set_times if content.set_weights is None else content.set_weights
