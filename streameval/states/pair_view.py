"""What metrics read of label pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from streameval.states.options import Part
from streameval.states.pairs import PairContent, Pairs

__all__ = ["PairTables"]

Made = TypeVar("Made")


class PairTables:
    """The content of a state, read once for all metrics; the state must not change meanwhile."""

    def __init__(self, pairs: Pairs) -> None:
        self.parts: tuple[Part, ...] = pairs.parts
        self._pairs = pairs
        self._made: dict[Any, Any] = {}

    @cached_property
    def _content(self) -> PairContent:
        return self._pairs.content()

    def content(self) -> PairContent:
        """What is held, in canonical order."""
        return self._content

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """What several metrics read, made when the first of them asks for it."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made
