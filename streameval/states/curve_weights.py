"""The weight sums of a state of scores, in a table of the kernel (`streameval.kernel.curves.numpy.Weights`)."""

from __future__ import annotations

from typing import Any, Never, Self, TypeAlias

import numpy as np

from streameval.kernel.backend import commit
from streameval.kernel.curves.bins import ALL, MASKED, POSITIVE, WHOLE
from streameval.kernel.types import REFUSED, IntArray, Integers
from streameval.states.weights import SumCells, trailing_zeros

Part: TypeAlias = Any
Added: TypeAlias = tuple[Any, IntArray | None, int]
"""A table, the column for each of its columns (None: the same), and the sign."""


class CurveWeights(SumCells[Never]):
    """A table of weights, which is changed or replaced when the root of its state commits."""

    __slots__ = ()

    def __init__(self, root: Any, table: Any = None) -> None:
        self.cell = root.cell(table)

    def copy(self, root: Any) -> Self:
        return type(self)(root, None if self.cell.value is None else self.cell.value.copy())

    def prepare(self, table: Any) -> list[Part]:
        return [self.cell.prepare_store(table)]

    def prepare_merges(self, own: Any, added: list[Added], *, known: bool) -> list[Part | int]:
        """Prepare to add or subtract tables; ``own`` is the current one. Returns a part or a code for each of them."""
        tables = [own, *(table for table, *_ in added)]
        scale = max(table.scale for table in tables)
        words = max(own.words, words_needed(sum(table.whole << scale - table.scale for table in tables)))
        wide = _shaped(own, scale, words)
        parts = [wide.prepare_merge(_shaped(table, scale, words), *where, known) for table, *where in added]
        if wide is self.cell.value or REFUSED in parts:
            return parts
        commit.Root.commit(parts)
        return self.prepare(wide)

    # -- reading, in units of ``2**-scale``, in which sums are integers ------------------------------------------------

    def smallest_scale(self) -> int:
        scale, zeros = self.cell.value.scale, trailing_zeros([self.cell.value.united()])
        return 0 if zeros is None else int(scale - min(scale, zeros))

    def whole(self, scale: int) -> int:
        """The weight of all examples."""
        return int(self.cell.value.whole >> self.cell.value.scale - scale)

    def sides(self, columns: IntArray, scale: int) -> list[list[int]]:
        """For each column the weight of the positives without a score, and that of the masked cells."""
        places = np.resize((POSITIVE, MASKED), 2 * len(columns))
        sides: list[list[int]] = self._read(np.repeat(columns, 2), places, 1, scale).reshape(-1, 2).tolist()
        return sides

    def bins(self, columns: IntArray, offsets: IntArray, bins: IntArray, scale: int, count: int = 3) -> Integers:
        """The weights of bins as in `CurveBlock`, or only the first ``count`` sums of each class."""
        owners, places = np.repeat(columns, 2 * np.diff(offsets)), np.add.outer(2 * bins, (0, 1)).ravel()
        return self._read(owners, places, count, scale).reshape(len(bins), 2, count)

    def _read(self, columns: IntArray, places: IntArray, parts: int, scale: int) -> Integers:
        return np.asarray(self.cell.value.read(columns, places, parts) >> self.cell.value.scale - scale)


def words_needed(whole: int) -> int:
    """How many 64-bit words the sums of weights need whose total is ``whole``."""
    return whole.bit_length() // 64 + 1


def _shaped(table: Any, scale: int, words: int) -> Any:
    alike = (table.scale, table.words) == (scale, words)
    return table if alike else table.shaped(scale, words, 1 << scale - table.scale)


def fill_sides(table: Any, examples: int, whole: int, sides: IntArray, weights: Integers) -> None:
    """Fill a table with the weight of all examples and with `CurveWeights.sides`; ``sides`` is as in `CurveContent`."""
    table.fill(np.array([ALL]), np.array([WHOLE]), np.array([examples]), np.array([[whole]], object))
    columns, which = np.nonzero(sides[:, 1:])
    table.fill(columns, POSITIVE + which, sides[columns, 1 + which], weights[columns, which][:, None])


def fill_bins(table: Any, first: int, offsets: IntArray, bins: IntArray, counts: IntArray, weights: Integers) -> None:
    """Fill a table with `CurveWeights.bins` of the columns from ``first`` on."""
    owners = first + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows, classes = np.nonzero(counts)
    table.fill(owners[rows], 2 * bins[rows] + classes, counts[rows, classes], weights[rows, classes])
