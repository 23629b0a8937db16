"""Values that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  # as that of functools
    """A property that is computed once; two threads may both compute it.

    That of `functools` holds a lock in Python 3.11, one for all objects, in which the child of a fork can be caught.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: Any, owner: type | None = None) -> T:
        value: T = self._compute(holder)
        vars(holder)[self._name] = value  # which is found before this property from now on
        return value
