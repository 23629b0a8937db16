"""What metrics read: the counts of a state as exact integers, by label and by example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from streameval.kernel.types import Flags, IntArray, Integers as Integers
from streameval.schema.labels import Label
from streameval.states.base import State
from streameval.states.decisions import Decisions

if TYPE_CHECKING:
    from fractions import Fraction

# Formulas multiply counts by at most 2**10 and add a few; with counts up to this limit, int64 cannot overflow.
_SAFE = 2**50

FEW = 64
"""Up to this many numbers, Python adds and divides them faster than numpy."""


T = TypeVar("T")


# In Python 3.11 that of `functools` has one lock for all objects, on which the child of a fork can wait forever.
class cached_property(Generic[T]):  # noqa: N801  # as that of functools
    """A property that is computed when it is first read; two threads may both compute it."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: Any, owner: type | None = None) -> T:
        value: T = self._compute(holder)
        vars(holder)[self._name] = value  # from now on, looking up the name reaches this value and not the property
        return value


class Arrays:
    """A base of dataclasses of arrays of equal length, whose rows can be selected."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __getitem__(self, chosen: Flags | slice) -> Self:
        return type(self)(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def followed_by(self, *columns: Integers) -> Self:
        pairs = zip(self.__dataclass_fields__, columns, strict=True)
        return type(self)(*(np.concatenate([getattr(self, name), more]) for name, more in pairs))

    def tolist(self) -> list[tuple[int, ...]]:
        """The rows as Python integers."""
        return list(zip(*(getattr(self, name).tolist() for name in self.__dataclass_fields__), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The outcomes of each label, of each row key, or of all labels pooled (arrays of length 1)."""

    tp: Integers
    fp: Integers
    fn: Integers
    known: Integers

    @property
    def tn(self) -> Integers:
        """True negatives: what the other outcomes leave of the cells that are not masked."""
        return np.asarray(self.known - self.tp - self.fp - self.fn)

    def wide(self) -> Counts:
        """The same in Python integers, whose products cannot overflow."""
        return Counts(*(part.astype(object) for part in (self.tp, self.fp, self.fn, self.known)))


S = TypeVar("S", bound=State[Any])


class View(Generic[S]):
    """What metrics read of a state, in units of ``unit`` examples; the state must not change meanwhile."""

    def __init__(self, state: S, columns: IntArray | None = None) -> None:
        self._state = state
        self.scale = state.canonical_scale()
        # The caller passes the columns of all labels, because other states may mention more than this one.
        self.columns = state.columns() if columns is None else columns

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Declared labels in their order, then the rest, sorted."""
        return self._state.labels.at(self.columns)

    @property
    def size(self) -> int:
        return len(self.columns)

    @property
    def examples(self) -> int:
        """Number of examples counted, whatever their weights."""
        return self._state.examples

    @property
    def weighted(self) -> bool:
        """Whether any example weighed other than 1."""
        return self.scale is not None

    @cached_property
    def unit(self) -> Fraction:
        """The weight of one unit."""
        from fractions import Fraction  # imported late, so that importing the package stays quick

        return Fraction(1, 1 << (self.scale or 0))


class Tables(View[Decisions]):
    """The two marginals of a state of decisions."""

    @cached_property
    def weight(self) -> int:
        """The total weight of all examples, in units."""
        return total(self.times) if self.weighted else self.examples

    @cached_property
    def _cells(self) -> Integers:
        return _safe(self._state.by_label(self.columns, self.scale), self.examples)

    @cached_property
    def by_label(self) -> Counts:
        """The outcomes of each label, weighted, in units."""
        _, fn, fp, tp, masked = self._cells
        return Counts(tp, fp, fn, self.weight - masked)

    @cached_property
    def pooled(self) -> Counts:
        """The outcomes of all labels together."""
        cells = self._cells
        fits = self.examples * self.size < 2**62
        _, fn, fp, tp, masked = cells.sum(axis=1).tolist() if fits else map(sum, cells.tolist())
        return Counts(*(np.array([part], object) for part in (tp, fp, fn, self.weight * self.size - masked)))

    @cached_property
    def _rows(self) -> tuple[IntArray, Integers]:
        return self._state.by_example(self.scale)

    @cached_property
    def times(self) -> Integers:
        """How often each row key occurs, weighted, in units."""
        return _safe(self._rows[1], self.examples)

    @cached_property
    def by_example(self) -> Counts:
        """The outcomes of each row key, in cells."""
        true, pred, both, masked = self._rows[0].T
        return Counts(both, pred - both, true - both, self.size - masked)

    @cached_property
    def informative(self) -> Flags | None:
        """For each row key, whether some cell is not masked; None if that holds for all."""
        masked = self._rows[0][:, 3]
        return np.asarray((masked < self.size) | (masked == 0)) if masked.any() else None


def _safe(array: Integers, examples: int) -> Integers:
    return array if examples < _SAFE else array.astype(object, copy=False)


def total(array: Integers) -> int:
    """The exact sum, as a Python integer."""
    if array.dtype == object or len(array) <= FEW or int(np.abs(array).max()) >= 2**62 // len(array):
        return int(sum(array.tolist()))
    return int(array.sum())
