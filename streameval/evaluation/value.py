"""What everything that can be copied and merged offers beside: ``copy.copy``, ``+`` and ``sum``."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

__all__ = ["Mergeable"]


class Mergeable:
    """A value that is copied by `copy` and merged by ``merge``. What directly inherits from this is a family.

    Members of one family may stand on both sides of ``+``; whether they fit is for ``merge`` to say.
    """

    __slots__ = ()
    _family: ClassVar[type]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Mergeable in cls.__bases__:
            cls._family = cls

    @abstractmethod
    def copy(self) -> Self:
        """An independent object with the same content."""

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, self._family):
            return NotImplemented
        both: Any = self.copy()
        both.merge(other)
        return both  # type: ignore[no-any-return]

    def __radd__(self, other: object) -> Self:
        """So that ``sum(parts)``, which starts at 0, works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented
