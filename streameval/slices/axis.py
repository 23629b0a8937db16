"""The slices along one axis: which values have their own slice, where all other values are counted, and the bytes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Generic, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.evaluation.core import core_of
from streameval.evaluation.counting import A, built_like, unlimited
from streameval.evaluation.encoding import put_part, take_part
from streameval.kernel.backend import commit
from streameval.kernel.types import IntArray
from streameval.schema.text import check_number, quoted
from streameval.slices.gathering import Coded, crossed
from streameval.slices.values import OTHER, REST, Key, Other, Value, in_order, rank_of
from streameval.states.state_set import StateSet
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import LABEL, put_value, take_value

Grouping: TypeAlias = tuple[IntArray, list[Key]]
"""For each example the index of its slice in the list of keys."""


@dataclass(frozen=True)
class Axis:
    """What examples are sliced by: one name, or a combination of names."""

    names: tuple[str, ...]
    places: tuple[int, ...]  # the positions of the names in ``by`` of the `Sliced`
    max_slices: int

    def describe(self, key: Key | None = None) -> str:
        """The axis, or one of its slices, in words."""
        if key is None:
            return " x ".join(self.names)
        return ", ".join(f"{name} {quoted(value)}" for name, (_, value) in zip(self.names, key, strict=True))

    def where(self, key: Key) -> dict[str, Value | Other]:
        """The values that the examples of a slice share."""
        values: list[Any] = [value for _, value in key] or [OTHER] * len(self.names)
        return dict(zip(self.names, values, strict=True))


def axes_of(by: str | Iterable[str], cross: Iterable[Iterable[str]], max_slices: int) -> Iterator[Axis]:
    """An axis for each name, then one for each combination; `InputError` if an argument cannot be understood."""
    max_slices = check_number("max_slices", max_slices, 1, 2**63 - 1)
    by = _names_of(by, "by")
    for names in [*((name,) for name in by), *_combinations_of(cross, by)]:
        yield Axis(names, tuple(map(by.index, names)), max_slices)


def _names_of(value: str | Iterable[str], argument: str) -> tuple[str, ...]:
    _check_ordered(value, argument)
    any_value: object = value
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(any_value, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} must be a name or a list of names, not {quoted(value)}")
    if len(set(names)) < len(names):
        raise InputError(f"{argument} names something twice: {quoted(names)}")
    return tuple(map(str, names))


def _check_ordered(value: object, argument: str) -> None:
    """Raise for a mapping, and for a set, whose order would differ from one process to the next."""
    if isinstance(value, AbstractSet | Mapping):
        unordered = f"{argument} must be in order, not a {type(value).__name__}"
        raise InputError(f"{unordered}; give a list, such as sorted(...)")


def _combinations_of(cross: Iterable[Iterable[str]], by: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    if isinstance(cross, str) or not isinstance(cross, Iterable):
        raise InputError(f"cross must be a list of combinations such as [('region', 'device')], not {quoted(cross)}")
    _check_ordered(cross, "cross")
    combinations = tuple(_names_of(combination, "a combination of cross") for combination in cross)
    for combination in combinations:
        if len(combination) < 2 or not set(combination) <= set(by):
            named = f"cross combines two or more of the names of by={quoted(by)}, not {quoted(combination)}"
            one = tuple(chain.from_iterable(combinations))
            raise InputError(f"{named}{f'; write cross=[{quoted(one)}]' * (len(one) == len(combinations) > 1)}")
    if len(set(map(frozenset, combinations))) < len(combinations):
        raise InputError(f"cross names a combination twice: {quoted(combinations)}")
    return combinations


@dataclass(slots=True, eq=False)
class AxisSlices(Generic[A]):
    """The slices along an axis. Empty slices may be added in place; to remove a slice, this object is replaced.

    Of the values that examples have, the first ``max_slices`` in a fixed pseudo-random order have slices, whatever the
    order of examples and merges. A value that is not among them never gets a slice later. So while the rest has
    examples, exactly these slices exist, and all of them have examples.
    """

    axis: Axis
    slices: dict[Key, A]  # includes `REST`
    _last: bytes = b""  # once the rest has examples: the rank of the last slice, cached

    @property
    def rest(self) -> A:
        """The examples of all other values."""
        return self.slices[REST]

    def find(self, key: Key) -> A | None:
        """The slice that counts the next example with a key; None if it does not exist yet."""
        part = self.slices.get(key)
        return self.rest if part is None and not self.selected([key])[0] else part

    def selected(self, keys: Iterable[Key]) -> tuple[list[Key], set[Key]]:
        """The keys that have slices once examples have them; if slices may be displaced, also the keys that stay."""
        keys = [key for key in keys if key]
        if self.rest.examples:
            self._last = self._last or max(rank_of(key) for key in self.slices if key)
            keys = [key for key in keys if key in self.slices or rank_of(key) < self._last]
        if len(self.slices) - 1 + sum(key not in self.slices for key in keys) <= self.axis.max_slices:
            return keys, set()
        stay = set(heapq.nsmallest(self.axis.max_slices, {*self.keys(), *keys}, rank_of))
        return [key for key in keys if key in stay], stay

    def keys(self) -> list[Key]:
        """The keys of slices that have examples."""
        return [key for key, part in self.slices.items() if key and part.examples]

    def examples(self) -> int:
        return sum(part.examples for part in self.slices.values())

    def ordered(self) -> list[tuple[Key, A]]:
        """The slices in order, then the rest if it has examples."""
        keys = sorted(self.keys(), key=in_order) + [REST] * bool(self.rest.examples)
        return [(key, self.slices[key]) for key in keys]

    def total(self, empty: A) -> A:
        total = unlimited(empty)
        for part in self.slices.values():
            core_of(total).states.merge(core_of(part).states)
        return total

    def copy(self, guard: commit.Guard) -> AxisSlices[A]:
        """Independent slices with the same examples, for the object of this guard."""
        return AxisSlices(self.axis, {key: built_like(part, guard=guard) for key, part in self.slices.items()})

    def grouped(self, columns: list[Coded]) -> Grouping:
        """The slice of each example with these values, if they are counted next; the last key is the rest."""
        own = [columns[place] for place in self.axis.places]
        codes, keys = own[0] if len(own) == 1 else crossed(own)
        of_slices, _ = self.selected(keys)
        if len(of_slices) < len(keys):
            places = {key: place for place, key in enumerate(of_slices)}
            codes = np.array([places.get(key, len(of_slices)) for key in keys], np.int64)[codes]
        return codes, [*of_slices, REST]

    def with_examples(
        self, added: dict[Key, StateSet], empty: A, guard: commit.Guard
    ) -> tuple[AxisSlices[A], dict[Key, A], list[tuple[A, StateSet]]]:
        """These slices or their replacement, new slices to add to them, and pairs of a slice and counts to merge."""
        added = {key: part for key, part in added.items() if part.examples}
        own, stay = self.selected(added)
        group, displaced = self, [added[key] for key in added.keys() - own]
        if stay:
            slices = {key: part for key, part in self.slices.items() if key in stay or not key}
            displaced += [core_of(part).states for key, part in self.slices.items() if key not in slices]
            group = AxisSlices(self.axis, slices)
        fresh = {key: built_like(empty, guard=guard) for key in own if key not in group.slices}
        merges = [(fresh[key] if key in fresh else group.slices[key], added[key]) for key in own]
        if len(displaced) > 1:
            together = core_of(empty).states.copy()  # with only the labels that they mention
            for states in displaced:
                together.merge(states)
            displaced = [together]
        return group, fresh, merges + [(self.rest, states) for states in displaced]


def put_axes(sink: Sink, axes: Sequence[Axis]) -> None:
    """Write the axes: those of one name, then the combinations."""
    single, combined = ([axis for axis in axes if (len(axis.names) > 1) is many] for many in (False, True))
    sink += (varint(axes[0].max_slices), varint(len(single)))
    for axis in single:
        sink.string(axis.names[0])
        sink.byte(0)
    sink.varint(len(combined))
    for axis in combined:
        sink += map(varint, (len(axis.places), *axis.places))


def take_axes(source: Source) -> dict[str, Any]:
    """Read what `put_axes` wrote, as arguments of `streameval.Sliced`."""
    max_slices, by, cross = source.varint(), list[str](), []
    for _ in range(source.count()):
        by.append(source.string())
        source.byte(0)
    for _ in range(source.count()):
        places = [source.count() for _ in range(source.count())]
        require(all(place < len(by) for place in places))
        cross.append([by[place] for place in places])
    return {"by": by, "cross": cross, "max_slices": max_slices}


def slices_in_pieces(group: AxisSlices[Any]) -> Iterator[bytes]:
    """The bytes of the slices along an axis in order, then of the rest."""
    slices = [(key, part) for key, part in group.ordered() if key]
    yield varint(len(slices))
    for key, part in [*slices, (REST, group.rest)]:
        sink = Sink()
        for _, value in key:
            put_value(sink, value, LABEL)
        put_part(sink, core_of(part))
        yield from sink.pieces()


def take_slices(source: Source, fresh: AxisSlices[Any], guard: commit.Guard) -> AxisSlices[Any]:
    """Read what `slices_in_pieces` wrote; `FormatError` if no examples can lead to such slices."""
    axis, empty = fresh.axis, fresh.rest
    count, slices = source.count(), dict[Key, Any]()
    for width in [len(axis.names)] * count + [0]:
        key = tuple([(type(value), value) for value in (take_value(source, LABEL) for _ in range(width))])
        slices[key] = built_like(empty, take_part(source, core_of(empty).config), guard)
    *keys, _ = slices
    require(len(keys) == count <= axis.max_slices, *(slices[key].examples > 0 for key in keys))
    require(*(in_order(before) < in_order(after) for before, after in pairwise(keys)))
    require(count == axis.max_slices or not slices[REST].examples)
    return AxisSlices(axis, slices)
