"""Many examples read once and counted apart, by the slice that each belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from streameval.errors import InputError
from streameval.evaluation.counting import Accumulator
from streameval.kernel.codes import grouped
from streameval.kernel.types import IntArray
from streameval.schema.batch import ListBatch, chained
from streameval.states.decisions import Decisions
from streameval.states.state_set import Joint

__all__ = ["gathered"]

A = TypeVar("A", bound=Accumulator)

_EACH, _MOST, _ENTRIES = 64, 2**17, 2**22
"""Counting a part takes as long as a few dozen examples. Weight sums are exact below 2**20 examples, and so many
labels in lists take about a hundred megabytes."""


def gathered(
    like: A, y_true: object, y_pred: object, mask: object, weights: object, groupings: list[tuple[IntArray, int]]
) -> list[list[A]]:
    """For each grouping, an object with the examples of each of its groups. They share labels: merge or copy them only.

    Parameters
    ----------
    like
        An object that is built as these will be; its examples do not matter.
    y_true, y_pred, mask, weights
        As for ``update_many``.
    groupings
        For each example the number of its group, and how many groups there are.
    """
    core = like._core.beside()
    examples = len(groupings[0][0])
    states: list[list[Any]] = [[core.state.empty(core.labels) for _ in range(groups)] for _, groups in groupings]
    start = 0
    least = min(_MOST, _EACH * max(groups for _, groups in groupings))
    for joint in _gathered(like._joint_many(y_true, y_pred, mask, weights, core.reader), least):
        stop = start + _examples(joint)
        if stop > examples:
            raise _differ(f"at least {stop}", examples)
        for (codes, groups), of_groups in zip(groupings, states, strict=True):
            batch: Any = joint.decided
            if groups > 1 and core.several is None and Decisions.count_groups(of_groups, codes[start:stop], batch):
                continue
            for group, part in _parted(joint, codes[start:stop], groups):
                of_groups[group].count(part.decided if core.several is None else part)
        start = stop
    if start != examples:
        raise _differ(str(start), examples)
    return [[like._over(core.labels, state) for state in of_groups] for of_groups in states]


def _gathered(joints: Iterator[Joint], least: int) -> Iterator[Joint]:
    """The same examples with batches of lists put together until there are ``least``, or a few million labels."""
    waiting: list[ListBatch] = []
    for joint in joints:
        batch: Any = joint.decided
        plain = isinstance(batch, ListBatch) and joint.scored is None
        if waiting and not (plain and waiting[0].like(batch)):
            yield Joint(chained(waiting), None)
            waiting = []
        if not plain:
            yield joint
            continue
        waiting.append(batch)
        if sum(one.examples for one in waiting) >= least or sum(map(_entries, waiting)) >= _ENTRIES:
            yield Joint(chained(waiting), None)
            waiting = []
    if waiting:
        yield Joint(chained(waiting), None)


def _entries(batch: ListBatch) -> int:
    sides = (batch.true, batch.pred, batch.hidden, batch.named)
    return sum(len(side.places) for side in sides if side is not None)


def _examples(joint: Joint) -> int:
    batch: Any = joint.decided
    examples: int = batch.examples
    return examples


def _differ(found: str, values: int) -> InputError:
    return InputError(
        f"numbers of examples differ: y_true and y_pred have {found} and where has {values}; give one of each per "
        "example"
    )


def _parted(joint: Joint, codes: IntArray, groups: int) -> Iterator[tuple[int, Joint]]:
    """The examples of each group that there is."""
    if groups == 1:
        yield 0, joint
        return
    decided: Any = joint.decided
    scored: Any = joint.scored
    order, ends = grouped(codes, groups)
    if order is not None:
        decided = decided.taken(order)
        scored = None if scored is None else scored.taken(order)
    present = np.flatnonzero(np.diff(ends, prepend=0))
    start = 0
    for group, stop in zip(present.tolist(), ends[present].tolist(), strict=True):
        yield group, Joint(decided.part(start, stop), None if scored is None else scored.part(start, stop))
        start = stop
