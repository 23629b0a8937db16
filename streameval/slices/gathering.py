"""Many examples read once and counted apart, by the slice that each belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

import numpy as np

from streameval.errors import InputError
from streameval.evaluation.counting import A, core_of, with_states
from streameval.kernel import backend
from streameval.kernel.backend import commit
from streameval.kernel.types import IntArray
from streameval.schema.batch import Batch, Ragged, concatenate
from streameval.schema.config import Null
from streameval.states.state_set import StateSet

_EACH, _MOST, _ENTRIES = 64, 2**17, 2**22
"""Counting a part takes as long as a few dozen examples. Weight sums are exact below 2**20 examples, and so many
labels in lists take about a hundred megabytes."""


class Gathered(Generic[A]):
    """Many examples, read once; built as ``like``."""

    def __init__(
        self,
        like: A,
        guard: commit.Guard,
        y_true: object,
        y_pred: object,
        mask: object,
        weights: object,
        groups: int,
        null: Null,
    ) -> None:
        """Read examples, which may run code of the user; ``groups`` is about how many there will be."""
        self._like, self._core = like, core_of(like).scratch(guard)
        self.reader = self._core.reader
        least = min(_MOST, _EACH * groups)
        self._batches = list(_gathered(self._core.read_many(y_true, y_pred, weights, mask, null=null), least))

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
    return InputError(
        f"numbers of examples differ: y_true and y_pred have {examples} and where has {values}; give one of each per "
        "example"
    )


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
