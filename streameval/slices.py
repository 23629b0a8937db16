"""One state for each value of something that examples have: a region, a device, a version of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from streameval.evaluator import Evaluator
from streameval.single import Metric

__all__ = ["Sliced", "Value"]

Value: TypeAlias = str | int | bool | None


class Sliced:
    """One state per slice."""

    def __init__(
        self,
        evaluator: Evaluator | Metric,
        *,
        by: str | Iterable[str],
        cross: Iterable[Iterable[str]] = (),
        most: int = 1000,
        values: Mapping[str, Iterable[Value]] | None = None,
    ) -> None:
        raise NotImplementedError

    by: tuple[str, ...]
    reads_scores: bool
    examples: int

    def update_many(
        self,
        y_true: object,
        y_pred: object,
        *,
        where: Mapping[str, object],
        weights: object = None,
        mask: object = None,
        threads: int = 1,
    ) -> None:
        """Count many examples."""
        raise NotImplementedError

    def merge(self, other: Sliced) -> None:
        """Add all that another has counted."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """The bytes."""
        raise NotImplementedError
