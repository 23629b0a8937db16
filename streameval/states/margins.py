"""Whether a weight can be taken back, without a look at all that was ever weighed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streameval.kernel.types import RowKey

__all__ = ["Margins"]


class Margins:
    """By how much, at least, all examples together outweigh each label; no revert may leave a label that weighs more.

    A label of more than half the total weight has a margin of its own, the others share one. Taking an example back
    lowers the margins of the labels that it does not mention, so it is only when a margin is used up that all sums need
    a look: at the earliest when half the total weight is gone, or a heavy label is in all examples that are left.
    """

    __slots__ = ("_own", "_shared", "scale")

    def __init__(self, scale: int, own: dict[int, int], shared: int) -> None:
        self.scale = scale
        self._own = own
        self._shared = shared

    @classmethod
    def of(cls, sums: Mapping[int | RowKey, int], scale: int) -> Margins | None:
        """The margins that weight sums leave; None if a label weighs more than all examples together."""
        of_column: dict[int, int] = {}
        whole = 0
        for key, value in sums.items():
            if isinstance(key, tuple):
                whole += value
            else:
                of_column[key // 5] = of_column.get(key // 5, 0) + value
        if max(of_column.values(), default=0) > whole:
            return None
        half = whole // 2
        return cls(scale, {column: whole - value for column, value in of_column.items() if value > half}, whole - half)

    def lower(self, columns: Collection[int], value: int) -> bool:
        """Take back an example that weighs ``value`` for ``columns``; False if a margin could now be used up."""
        self._shared -= value
        self._shift(columns, -value)
        return self._shared >= 0 and min(self._own.values(), default=0) >= 0

    def raise_(self, columns: Collection[int], value: int) -> None:
        """Add such an example. The shared margin stays: the label whose margin is smallest may be among ``columns``."""
        self._shift(columns, value)

    def _shift(self, columns: Collection[int], value: int) -> None:
        own = self._own
        for column in own:
            if column not in columns:
                own[column] += value
