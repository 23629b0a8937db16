"""A state of one kind in a `StateSet` with the decisions of the same examples, as in every evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from itertools import starmap, zip_longest
from typing import Any

import numpy as np

from streameval.schema.batch import Batch, Example
from streameval.schema.labels import LabelIndex
from streameval.states.base import Content
from streameval.states.curves import Curves
from streameval.states.options import PARTS, CurveOptions, PairOptions, RankingOptions
from streameval.states.pairs import Pairs
from streameval.states.rankings import Rankings
from streameval.states.state_set import StateSet


def same(one: Any, other: Any) -> bool:
    """Whether two contents, or two values within contents, are equal."""
    if callable(one) and callable(other):
        return same(one(), other())
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, Content):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, Mapping):
        return [*one] == [*other] and same([*one.values()], [*other.values()])
    if isinstance(one, Iterable) and not isinstance(one, str):
        return all(starmap(same, zip_longest(one, other)))
    return bool(one == other)


class Counted:
    """Counts through the set and is read as its one state: all other attributes are those of the state."""

    def __init__(self, states: StateSet) -> None:
        self.states = states
        _, self.state = states.states.values()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    def count(self, batch: Batch, threads: int = 1) -> None:
        self.states.count(batch, threads)

    def count_one(self, example: Example | Batch, sign: int) -> None:
        if not isinstance(example, Example):
            example = Example.of(example, self.labels.fixed)
        self.states.count_one(example, sign)

    def merge(self, other: Counted) -> None:
        self.states.merge(other.states)

    def unmerge(self, other: Counted) -> None:
        self.states.unmerge(other.states)

    def compact(self) -> None:
        self.states.compact()

    def copy(self) -> Counted:
        return Counted(self.states.copy())

    def restored(self) -> Counted:
        """A copy restored from the contents of the set."""
        contents = self.states.content()
        labels = LabelIndex(contents["decisions"].labels)
        labels.fixed = contents["decisions"].fixed
        return Counted(StateSet.of(labels, [(type(self.state), self.state.options)], contents))

    def mostly_unused(self) -> bool:
        return self.states.mostly_unused()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and same(self.states.content(), other.states.content())

    __hash__ = None  # type: ignore[assignment]


def only_rankings(labels: LabelIndex, options: RankingOptions | None = None) -> Counted:
    return Counted(StateSet.of(labels, [(Rankings, options or RankingOptions())], {}))


def only_curves(labels: LabelIndex) -> Counted:
    return Counted(StateSet.of(labels, [(Curves, CurveOptions())], {}))


def only_pairs(labels: LabelIndex, parts: Iterable[str] | None = None) -> Counted:
    options = PairOptions() if parts is None else PairOptions(tuple(part for part in PARTS if part in set(parts)))
    return Counted(StateSet.of(labels, [(Pairs, options)], {}))
