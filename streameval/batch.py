"""What user data looks like once it is read: decisions about cells, in the columns of a `LabelIndex`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from streameval.kernel.types import FloatArray, IntArray, Lists, RowKey, ScoreArray, UInt8Array

__all__ = ["Batch", "DenseBatch", "Example", "ListBatch"]


class Example(NamedTuple):
    """One example: the slots (5 * column + outcome) of the cells it mentions, its row key, and its weight."""

    slots: IntArray
    key: RowKey
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class DenseBatch:
    """Matrices whose columns are all mentioned by every example.

    ``pred`` holds 0 and 1, or scores to be compared with ``bounds``. Bytes and scores are not yet checked, since the
    kernel sees them anyway; ``refusal`` makes the error if it meets a byte above 1 or a score that is not finite.
    ``weights`` is None when all are 1.
    """

    columns: IntArray
    true: UInt8Array
    pred: UInt8Array | ScoreArray
    bounds: ScoreArray | None
    hidden: UInt8Array | None
    weights: FloatArray | None
    refusal: Callable[[], Exception]

    @property
    def examples(self) -> int:
        """How many rows there are."""
        return len(self.true)

    def part(self, rows: slice) -> DenseBatch:
        """Some of the rows."""
        return DenseBatch(
            self.columns,
            self.true[rows],
            self.pred[rows],
            self.bounds,
            None if self.hidden is None else self.hidden[rows],
            None if self.weights is None else self.weights[rows],
            self.refusal,
        )


@dataclass(frozen=True, slots=True)
class ListBatch:
    """Lists of columns; see `streameval.kernel._numpy.Counts.count_lists`. ``weights`` is None when all are 1."""

    examples: int
    true: Lists | None
    pred: Lists | None
    hidden: Lists | None
    named: Lists | None
    everywhere: IntArray
    weights: FloatArray | None


Batch: TypeAlias = DenseBatch | ListBatch
