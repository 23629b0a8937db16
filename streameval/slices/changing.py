"""How slices change: together, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from streameval.errors import CounterOverflowError, InputError, MergeError, RevertError
from streameval.evaluation.counting import Accumulator
from streameval.schema.text import quoted
from streameval.slices.asking import told, value_of
from streameval.slices.axis import Axis, Change, Shelf
from streameval.slices.coding import Coded, coded, crossed
from streameval.slices.gathering import gathered
from streameval.slices.values import Key, Value, typed
from streameval.states.base import COUNT_MAX

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Shelves"]

A = TypeVar("A", bound=Accumulator)


class Shelves(Generic[A]):
    """The slices along every axis. Not used directly: see `streameval.Sliced`.

    One example changes several slices. What is under way is written down first, so that whatever interrupts it, the
    next access completes it (merges, of which no slice refuses one) or undoes it (single examples).
    """

    __slots__ = ("_axes", "_by", "_change", "_cross", "_declared", "_empty", "_most", "_shelves", "_undo")

    def _build(
        self,
        empty: A,
        by: tuple[str, ...],
        cross: tuple[tuple[str, ...], ...],
        most: int,
        declared: tuple[tuple[Key, ...] | None, ...],
    ) -> None:
        self._empty, self._by, self._cross, self._most, self._declared = empty, by, cross, most, declared
        known = {name: None if keys is None else frozenset(keys) for name, keys in zip(by, declared, strict=True)}
        self._axes = tuple(
            Axis(names, tuple(map(by.index, names)), most, tuple(known[name] for name in names))
            for names in (*((name,) for name in by), *cross)
        )
        self._change: Change[A] | None = None
        self._undo: tuple[list[tuple[A, int]], tuple[Any, ...], int] | None = None
        self.reset()

    def reset(self) -> None:
        """Forget every example."""
        self._change = self._undo = None
        self._shelves = tuple(
            Shelf({key: self._empty.copy() for key in (keys or ()) if axis.closed}, self._empty.copy())
            for axis, keys in zip_longest(self._axes, self._declared)
        )

    # -- changing -----------------------------------------------------------------------------------------------------

    def update(
        self,
        y_true: object,
        y_pred: object,
        *,
        where: Mapping[str, Value],
        weight: float = 1.0,
        mask: object = None,
    ) -> None:
        """Count one example.

        Parameters
        ----------
        where
            The value of each name that slices are by; other names may be in it too.
        y_true, y_pred, weight, mask
            As for `Evaluator.update`.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood. Nothing has changed then.
        """
        keys = self._keys(where)
        there = [shelf.kept.get(key) for shelf, key in zip(self._shelves, keys, strict=True)]
        if all(part is not None for part in there):
            self._count_one(there, (y_true, y_pred, weight, mask), 1)  # type: ignore[arg-type]
            return
        added = self._empty.copy()
        added.update(y_true, y_pred, weight=weight, mask=mask)
        change: Change[A] = Change()
        for axis, shelf, key in zip(self._axes, self._shelves, keys, strict=True):
            change.place(axis, shelf, {key: added}, None, self._empty)
        self._apply(change, 1)

    def revert(
        self,
        y_true: object,
        y_pred: object,
        *,
        where: Mapping[str, Value],
        weight: float = 1.0,
        mask: object = None,
    ) -> None:
        """Take one example back, given as it was given to `update`.

        Raises
        ------
        RevertError
            If the counts show that no such example was counted; or if it is the last one of its slice while others
            have no room: it cannot be told any more which of them would now have a slice. Nothing has changed then.
        """
        parts = []
        for axis, shelf, key in zip(self._axes, self._shelves, self._keys(where), strict=True):
            part = shelf.kept.get(key)
            if part is None or not part.examples:
                part = shelf.rest
                if key in axis.chosen({*shelf.keys(), key}):
                    raise RevertError(f"cannot revert: no example of {told(axis, key)} was counted")
            elif part.examples == 1 and shelf.rest.examples and shelf.full(axis):
                raise RevertError(
                    f"cannot revert: this is the last example of {told(axis, key)}, and which of the other values "
                    f"should have a slice in its place is not known any more; build with most={self._most + 1} or "
                    "more, or with values="
                )
            parts.append(part)
        self._count_one(parts, (y_true, y_pred, weight, mask), -1)

    def _count_one(self, parts: list[A], example: tuple[object, object, Any, object], sign: int) -> None:
        if len(parts) == 1:
            _count(parts[0], example, sign)
            return
        self._undo = [(part, part.examples) for part in parts], example, -sign
        try:
            for part in parts:
                _count(part, example, sign)
        except BaseException:
            self._settle()
            raise
        self._undo = None

    def update_many(
        self,
        y_true: object,
        y_pred: object,
        *,
        where: Mapping[str, object],
        weights: ArrayLike | None = None,
        mask: object = None,
    ) -> None:
        """Count many examples.

        Parameters
        ----------
        where
            For each name that slices are by, the values of all examples: an array, a list, a column of Arrow, pandas
            or polars. A data frame or an Arrow table will do, and may hold other columns too.
        y_true, y_pred, weights, mask
            As for `Evaluator.update_many`.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood or lengths differ. Nothing has changed then.
        """
        columns = [coded(value_of(where, name), name) for name in self._by]
        if len({len(column.codes) for column in columns}) > 1:
            told = " and ".join(f"{name} {len(column.codes)}" for name, column in zip(self._by, columns, strict=True))
            raise InputError(f"numbers of examples differ: in where, {told}; give one value of each per example")
        self._settle()
        groupings = [self._grouped(axis, shelf, columns) for axis, shelf in self._paired()]
        sizes = [(codes, len(keys) + 1) for codes, keys in groupings]
        like = next(iter(self._shelves[0].kept.values()), self._empty)  # where the labels met before have columns
        found = gathered(like, y_true, y_pred, mask, weights, sizes)
        change: Change[A] = Change()
        for (axis, shelf), (_, keys), parts in zip(self._paired(), groupings, found, strict=True):
            added = {key: part for key, part in zip(keys, parts, strict=False) if part.examples}
            change.place(axis, shelf, added, parts[-1], self._empty)
        self._apply(change, len(groupings[0][0]))

    def _grouped(self, axis: Axis, shelf: Shelf[A], columns: list[Coded]) -> tuple[Any, list[Key]]:
        """For each example the place of its slice among the keys; the last place is that of all other values."""
        own = [columns[place] for place in axis.places]
        codes, keys = own[0] if len(own) == 1 else crossed(own)
        chosen = axis.chosen({*shelf.keys(), *keys})
        kept = [key for key in keys if key in chosen]
        if len(kept) == len(keys):
            return codes, keys
        places = {key: place for place, key in enumerate(kept)}
        return np.array([places.get(key, len(kept)) for key in keys], np.int64)[codes], kept

    def merge(self, other: Self) -> None:
        """Add all examples that ``other`` has counted. ``other`` stays as it is; merging with itself doubles.

        Raises
        ------
        MergeError
            If the two were built differently; the message names the difference. Nothing has changed then.
        """
        if type(other) is not type(self):
            raise MergeError(
                f"cannot merge: {type(self).__name__} and {type(other).__name__} differ; merge objects of one class"
            )
        found = [
            f"{name} differs ({quoted(mine)} and {quoted(theirs)})"
            for name, mine, theirs in (
                ("by", self._by, other._by),
                ("cross", self._cross, other._cross),
                ("most", self._most, other._most),
                ("values", self._declared, other._declared),
            )
            if mine != theirs
        ]
        if found:
            raise MergeError(f"cannot merge: {'; '.join(found)}; build both alike")
        self._empty.copy().merge(other._empty)
        other._settle()
        self._settle()
        change: Change[A] = Change()
        for (axis, shelf), theirs in zip(self._paired(), other._shelves, strict=True):
            added = {key: part for key, part in theirs.kept.items() if part.examples}
            change.place(axis, shelf, added, theirs.rest, self._empty)
        self._apply(change, other._shelves[0].examples())

    def _apply(self, change: Change[A], more: int) -> None:
        there = self._shelves[0].examples()
        if there + more > COUNT_MAX:
            raise CounterOverflowError(
                f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits; evaluate in parts, each on "
                f"its own: {there} are there"
            )
        self._change = change
        try:
            change.apply()
        except BaseException:
            self._settle()
            raise
        self._shelves = tuple(change.shelves)
        self._change = None

    def _settle(self) -> None:
        """Complete or undo what was interrupted."""
        change, undo = self._change, self._undo
        if change is not None:
            if change.begun():
                change.apply()
                self._shelves = tuple(change.shelves)
            self._change = None
        if undo is not None:
            parts, example, sign = undo
            for part, before in parts:
                if part.examples != before:
                    _count(part, example, sign)
            self._undo = None

    def _paired(self) -> Iterator[tuple[Axis, Shelf[A]]]:
        return zip(self._axes, self._shelves, strict=True)

    def _keys(self, where: Mapping[str, Value]) -> list[Key]:
        """The key of one example along each axis."""
        self._settle()
        values = [typed(value_of(where, name), f"where[{name!r}]") for name in self._by]
        return [tuple(values[place] for place in axis.places) for axis in self._axes]


def _count(part: Accumulator, example: tuple[object, object, Any, object], sign: int) -> None:
    y_true, y_pred, weight, mask = example
    if sign > 0:
        part.update(y_true, y_pred, weight=weight, mask=mask)
    else:
        part.revert(y_true, y_pred, weight=weight, mask=mask)
