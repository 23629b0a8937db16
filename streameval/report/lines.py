"""Values along a stream, for every picture of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from streameval.kernel.types import FloatArray
from streameval.schema.labels import Label

Key: TypeAlias = tuple[str, str, Label | None]
"""Metric, evaluator, and label where there is one value per label."""

_MANY = 50  # rows from which on the first ones may lie outside a picture


@dataclass(frozen=True, slots=True)
class Line:
    """The values of a metric, and which evaluator, label, or both, they are of; NaN where there is none.

    ``low`` and ``high`` are guaranteed bounds, the values themselves where they are exact.
    """

    metric: str
    evaluator: str
    label: Label | None
    values: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def is_bounded(self) -> bool:
        """Whether some value is not exact."""
        return bool((self.low < self.high).any())

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest that it can be; of many rows without the first tenth, where values jump."""
        start = len(self.values) // 10 if len(self.values) >= _MANY else 0
        start = start if np.isfinite(self.values[start:]).any() else 0
        return float(np.nanmin(self.low[start:])), float(np.nanmax(self.high[start:]))

    @property
    def span(self) -> float:
        """How far its ends are apart."""
        return self.ends[1] - self.ends[0]


class HasLines(Protocol):
    """What has values along a stream, as `streameval.Trace`."""

    def _lines(self, *, timed: bool = True) -> tuple[str, Sequence[object], list[Line]]:
        """What values stand along, time if every one has one, where, and the lines."""


def column_of(key: Key) -> str:
    """The name of a column. Different keys have different names: what could be an integer is quoted."""
    metric, evaluator, label = key
    odd = isinstance(label, str) and (not label or label[0] in "'\"" or "[" in label or label.lstrip("-").isdigit())
    name = metric if label is None else f"{metric}: {repr(label) if odd else label}"
    return f"{name} [{evaluator}]" if evaluator else name
