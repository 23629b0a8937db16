"""What user data looks like once it is checked: decisions about cells, in the columns of a `LabelIndex`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from streameval.kernel.types import FloatArray, IntArray, UInt8Array

__all__ = ["Batch", "DenseBatch", "EntryBatch", "Example", "RowKey"]

RowKey: TypeAlias = tuple[int, int, int, int]
"""How many labels of an example are true, predicted, both, and masked."""


class Example(NamedTuple):
    """One example: the slots (5 * column + outcome) of the cells it mentions, its row key, and its weight."""

    slots: list[int] | IntArray
    key: RowKey
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class DenseBatch:
    """0/1 matrices whose columns are all mentioned by every example. ``weights`` is None when all are 1."""

    columns: IntArray
    true: UInt8Array
    pred: UInt8Array
    hidden: UInt8Array | None
    weights: FloatArray | None

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.true)


@dataclass(frozen=True, slots=True)
class EntryBatch:
    """Mentioned cells one by one; see `streameval.kernel.count_entries`. ``weights`` is None when all are 1."""

    examples: int
    rows: IntArray
    columns: IntArray
    bits: UInt8Array
    everywhere: IntArray
    weights: FloatArray | None


Batch: TypeAlias = DenseBatch | EntryBatch
