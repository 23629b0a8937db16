"""Columns of slice values as codes, and batches of examples that are read once and counted by slice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from streameval.errors import InputError
from streameval.inputs.arrow import arrow_of, codes_of_arrow
from streameval.inputs.columns import EXAMPLES
from streameval.inputs.forms import resolved
from streameval.kernel.lists import grouped
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch
from streameval.schema.text import quoted
from streameval.slices.values import Key, Typed, typed
from streameval.states.state_set import StateSet


class Coded(NamedTuple):
    """For each row the index of its key in ``keys``; each key occurs in some row."""

    codes: IntArray
    keys: list[Key]


def coded(column: object, name: str) -> Coded:
    argument = f"where[{name!r}]"
    values, form = resolved(column, argument)
    has_order = isinstance(values, Iterable) and form not in ("string", "mapping", "set")
    if not has_order:
        raise InputError(f"{argument} must hold one value for each example, not {quoted(column)}")
    if form == "polars":
        values, form = (values.to_list(), "list") if (array := arrow_of(values)) is None else (array, "arrow")
    if form == "arrow":
        codes, values, proper = codes_of_arrow(values, argument)
        if proper:
            return Coded(codes, [(typed(value, name),) for value in values])
        return _used(codes, values, name)
    if hasattr(values, "factorize") and values.dtype != object:  # for objects, pandas treats 1 and True as equal
        codes, values = values.factorize()
        return _used(np.asarray(codes, np.int64), values.tolist(), name)
    if form in ("array", "frame"):
        array = np.asanyarray(values)
        if array.ndim != 1:
            raise InputError(f"{argument} must hold one value for each example, but has shape {array.shape}")
        if array.dtype.kind in "iub" and not isinstance(array, np.ma.MaskedArray):
            distinct, codes = np.unique(array, return_inverse=True)
            return Coded(codes, [(typed(value, name),) for value in distinct.tolist()])
        values = array.tolist()
    values = list(values)
    kinds = set(map(type, values))
    if not (kinds <= {str} or kinds <= {int}):  # equal values may have different types
        values = [typed(value, name) for value in values]
    places: dict[Any, int] = {}
    codes = np.fromiter((places.setdefault(value, len(places)) for value in values), np.int64, len(values))
    return Coded(codes, [(value if type(value) is tuple else typed(value, name),) for value in places])


def _used(codes: IntArray, values: Sequence[object], name: str) -> Coded:
    """Codes into values, -1 for no value. Values may repeat; those that no row has are not checked."""
    distinct: dict[Typed, int] = {}
    place = np.zeros(len(values) + 1, np.int64)
    for code in np.flatnonzero(np.bincount(codes + 1, minlength=len(values) + 1)).tolist():
        value = typed(None if code == 0 else values[code - 1], name)
        place[code] = distinct.setdefault(value, len(distinct))
    return Coded(place[codes + 1], [(value,) for value in distinct])


def crossed(parts: list[Coded]) -> Coded:
    """The combinations of keys that rows have, as codes."""
    codes = parts[0].codes
    for part in parts[1:]:  # codes stay below the number of rows, so products fit into 64 bits
        _, first, codes = np.unique(codes * len(part.keys) + part.codes, return_index=True, return_inverse=True)
    columns = [[part.keys[code] for code in part.codes[first].tolist()] for part in parts]
    return Coded(codes, [tuple(value for key in keys for value in key) for keys in zip(*columns, strict=True)])


_EACH, _MOST = 64, 2**17  # counting a part takes as long as a few dozen examples; weight sums are exact below 2**20


def read_at_once(groups: int) -> int:
    """How many examples to read at once, so that the fixed cost of counting each of the groups hardly matters."""
    return max(EXAMPLES, min(_MOST, _EACH * groups))


def counted(batches: list[Batch], groupings: list[tuple[IntArray, int]], empty: StateSet) -> list[list[StateSet]]:
    """The states of all groups by grouping: the group of each example, and the number of groups. They share labels."""
    examples, values, start = sum(batch.examples for batch in batches), len(groupings[0][0]), 0
    if examples != values:
        numbers = f"y_true and y_pred have {examples} and where has {values}"
        raise InputError(f"numbers of examples differ: {numbers}; give one of each per example")
    sets = [[empty.empty_like() for _ in range(groups)] for _, groups in groupings]
    for batch in batches:
        stop = start + batch.examples
        for (codes, groups), of_groups in zip(groupings, sets, strict=True):
            if not StateSet.count_groups(of_groups, codes[start:stop], batch):
                for group, part in _parted(batch, codes[start:stop], groups):
                    of_groups[group].count(part)
        start = stop
    return sets


def _parted(batch: Batch, codes: IntArray, groups: int) -> Iterator[tuple[int, Batch]]:
    order, ends = grouped(codes, groups)
    if order is not None:
        batch = batch.take(order)
    present = np.flatnonzero(np.diff(ends, prepend=0))
    start = 0
    for group, stop in zip(present.tolist(), ends[present].tolist(), strict=True):
        yield group, batch.take(slice(start, stop))
        start = stop
