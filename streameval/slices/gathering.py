"""Which examples belong together by the columns of slice values, and many of them read once and counted apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, cast

import numpy as np

from streameval.errors import InputError
from streameval.evaluation.counting import A, core_of, with_states
from streameval.inputs.arrow import arrow_of_polars, codes_of_arrow
from streameval.inputs.forms import form_of
from streameval.kernel import backend
from streameval.kernel.backend import commit
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Ragged, concatenate
from streameval.schema.config import Null
from streameval.schema.text import quoted
from streameval.slices.values import Key, Typed, typed
from streameval.states.state_set import StateSet


class Coded(NamedTuple):
    """For each row the place of its key among ``keys``, each of which some row has."""

    codes: IntArray
    keys: list[Key]


def coded(column: object, name: str) -> Coded:
    """The codes of the values of one column."""
    argument, form, values = f"where[{name!r}]", form_of(column), cast("Any", column)
    if form in ("string", "mapping") or not isinstance(column, Iterable):
        raise InputError(f"{argument} must hold one value for each example, not {quoted(column)}")
    if form == "polars":
        try:
            values, form = arrow_of_polars(column), "arrow"
        except ModuleNotFoundError:  # polars converts through pyarrow, which need not be there
            values, form = values.to_list(), "list"
    if form == "arrow":
        codes, values, proper = codes_of_arrow(values, argument)
        if proper:
            return Coded(codes, [(typed(value, name),) for value in values])
        # Only values that some row has are looked at; a dictionary may hold any others.
        present = np.bincount(codes + 1, minlength=len(values) + 1)[1:].tolist()
        none: Typed = (type(None), None)
        pairs = zip(values, present, strict=True)
        return _used(codes, [typed(value, name) if rows else none for value, rows in pairs])
    if form == "series":
        codes, values = values.factorize()
        return _used(np.asarray(codes, np.int64), [typed(value, name) for value in values.tolist()])
    if form in ("array", "frame", "table"):
        array = np.asanyarray(values)
        if array.ndim != 1:
            raise InputError(f"{argument} must hold one value for each example, but has shape {array.shape}")
        if array.dtype.kind in "iub":
            codes, first = _ranked(array)
            return Coded(codes, [(typed(value, name),) for value in array[first].tolist()])
        values = array.tolist()
    values = list(values)
    kinds = set(map(type, values))
    if not (kinds <= {str} or kinds <= {int}):  # values that are equal may be of different types
        values = [typed(value, name) for value in values]
    places: dict[Any, int] = {}
    codes = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int64, len(values))
    return Coded(codes, [(value if type(value) is tuple else typed(value, name),) for value in places])


def _used(codes: IntArray, values: Sequence[Typed]) -> Coded:
    """Codes into values that may hold repeats, and some that no row has; -1 where there is none."""
    distinct: dict[Typed, int] = {}
    place = np.zeros(len(values) + 1, np.int64)
    for code in np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)).tolist():
        value = (type(None), None) if code == 0 else values[code - 1]
        place[code] = distinct.setdefault(value, len(distinct))
    return Coded(place[codes + 1], [(value,) for value in distinct])


def _ranked(array: np.ndarray[Any, Any]) -> tuple[IntArray, IntArray]:
    """The rank of each number among the distinct ones, and where each of these stands first."""
    order = np.argsort(array, kind="stable")
    sorted_ = array[order]
    starts = np.ones(len(array), np.bool_)
    starts[1:] = sorted_[1:] != sorted_[:-1]
    codes = np.empty(len(array), np.int64)
    codes[order] = np.cumsum(starts) - 1
    return codes, order[starts]


def crossed(parts: list[Coded]) -> Coded:
    """The codes of the combinations that rows have."""
    codes = parts[0].codes
    for part in parts[1:]:  # codes stay below the number of rows, so products fit into 64 bits
        codes, _ = _ranked(codes * len(part.keys) + part.codes)
    codes, first = _ranked(codes)
    columns = [[part.keys[code] for code in part.codes[first].tolist()] for part in parts]
    return Coded(codes, [tuple(value for key in keys for value in key) for keys in zip(*columns, strict=True)])


_EACH, _MOST, _ENTRIES = 64, 2**17, 2**22
"""Counting a part takes as long as a few dozen examples. Weight sums are exact below 2**20 examples, and so many
labels in lists take about a hundred megabytes."""


class Gathered(Generic[A]):
    """Many examples, read once; built as ``like``."""

    def __init__(self, like: A, guard: commit.Guard) -> None:
        self._like, self._core = like, core_of(like).scratch(guard)
        self.reader = self._core.reader

    def read(self, y_true: object, y_pred: object, weights: object, mask: object, null: Null, groups: int) -> None:
        """Read examples, which may run code of the user; ``groups`` is about how many there will be."""
        batches = self._core.read_many(y_true, y_pred, weights, mask, null=null)
        self._batches = list(_gathered(batches, min(_MOST, _EACH * groups)))

    def counted(self, groupings: list[tuple[IntArray, int]]) -> list[list[A]]:
        """For each grouping, an object with the examples of each of its groups. They share labels: merge or copy them.

        A grouping has for each example the number of its group, and how many groups there are.
        """
        examples, start = len(groupings[0][0]), 0
        sets = [[self._core.states.empty_like() for _ in range(groups)] for _, groups in groupings]
        for batch in self._batches:
            stop = start + batch.examples
            if stop > examples:
                raise _differ(f"at least {stop}", examples)
            for (codes, groups), of_groups in zip(groupings, sets, strict=True):
                if not StateSet.count_groups(of_groups, codes[start:stop], batch):
                    for group, part in _parted(batch, codes[start:stop], groups):
                        of_groups[group].count(part)
            start = stop
        if start != examples:
            raise _differ(str(start), examples)
        return [[with_states(self._like, states) for states in of_groups] for of_groups in sets]


def _gathered(batches: Iterator[Batch], least: int) -> Iterator[Batch]:
    """The same examples with batches of lists put together until there are ``least``, or a few million labels."""
    waiting: list[Ragged] = []
    for batch in batches:
        if waiting and not waiting[0].compatible(batch):
            yield concatenate(waiting)
            waiting = []
        if not isinstance(batch, Ragged) or batch.scores is not None:
            yield batch
            continue
        waiting.append(batch)
        entries = sum(len(side.places) for one in waiting for side in one.sides if side is not None)
        if sum(one.examples for one in waiting) >= least or entries >= _ENTRIES:
            yield concatenate(waiting)
            waiting = []
    if waiting:
        yield concatenate(waiting)


def _differ(examples: str, values: int) -> InputError:
    numbers = f"y_true and y_pred have {examples} and where has {values}"
    return InputError(f"numbers of examples differ: {numbers}; give one of each per example")


def _parted(batch: Batch, codes: IntArray, groups: int) -> Iterator[tuple[int, Batch]]:
    """The examples of each group that there is."""
    if groups == 1:
        yield 0, batch
        return
    order, ends = backend.lists.grouped(codes, groups)
    if order is not None:
        batch = batch.take(order)
    present = np.flatnonzero(np.diff(ends, prepend=0))
    start = 0
    for group, stop in zip(present.tolist(), ends[present].tolist(), strict=True):
        yield group, batch.take(slice(start, stop))
        start = stop
