"""What metrics read of label pairs: the exact counts of a `Pairs` state."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np

from streameval.errors import MetricError
from streameval.kernel.types import IntArray
from streameval.schema.cached import cached_property
from streameval.states.options import Part
from streameval.states.pairs import NO_PAIRS, PairContent, Pairs
from streameval.states.views import Integers, View

Made = TypeVar("Made")


class PairTables(View[Pairs]):
    """The label pairs and label sets of a state, and the cells of its decisions."""

    def __init__(self, pairs: Pairs, columns: IntArray | None = None) -> None:
        super().__init__(pairs, columns)
        self.parts: tuple[Part, ...] = pairs.parts
        self._made: dict[Any, Any] = {}

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """What several metrics read, made when the first of them asks for it."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made

    @cached_property
    def _content(self) -> PairContent:
        return self._state.content()

    @cached_property
    def weight(self) -> int:
        """The weight of all examples, in units."""
        return self._state.weight(self.scale)

    @cached_property
    def counts(self) -> dict[str, Integers]:
        """How often each label is true, predicted, and both, weighted, in units."""
        _, missed, wrong, both, _ = self._state.cells(self.columns, self.scale)
        return {"true": missed + both, "pred": wrong + both, "both": both}

    def of_kind(self, kind: int) -> tuple[IntArray, Integers]:
        """The pairs of a kind, and the weight of each in units."""
        return self.once(kind, lambda: self._of_kind(kind))

    def _of_kind(self, kind: int) -> tuple[IntArray, Integers]:
        keys, times, weights = zip((NO_PAIRS, NO_PAIRS[:, 0], ()), *self._content.pairs[kind](), strict=True)
        weighed = np.concatenate(times) if self.scale is None else np.array(list(chain.from_iterable(weights)), object)
        return np.concatenate(keys), weighed

    @cached_property
    def _sets(self) -> tuple[list[Any], ...]:
        blocks = zip(((), (), ()), *self._content.sets(), strict=True)
        return tuple(list(chain.from_iterable(part)) for part in blocks)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """The sets of true labels that occur."""
        return self._sets[0]

    @property
    def set_times(self) -> list[int]:
        """How many examples have each."""
        return self._sets[1]

    @property
    def set_weights(self) -> list[int]:
        """The weight of each, in units."""
        return self._sets[1 if self.scale is None else 2]


Counted: TypeAlias = Pairs | PairTables
"""What can be read: a state, or the tables of an evaluator that has one."""


def content_of(pairs: Counted, part: Part) -> PairTables:
    """What a state holds, if it counts some part."""
    if part not in pairs.parts:
        counted = ", ".join(pairs.parts) or "nothing"
        raise MetricError(
            f"this requires the {part!r} part of pairs, but only {counted} were counted; construct with keep=[{part!r}]"
        )
    return pairs if isinstance(pairs, PairTables) else PairTables(pairs)
