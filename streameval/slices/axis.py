"""The slices along one axis: which values have a slice of their own, what all other values come to, and their bytes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic

from streameval.errors import FormatError
from streameval.evaluation.counting import A, compacted, core_of, from_contents, unlimited
from streameval.evaluation.encoding import put_states, take_states
from streameval.kernel.backend import commit
from streameval.schema.text import quoted
from streameval.slices.values import OTHER, Key, Other, Typed, Value, in_order, rank_of
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import LABEL, put_value, take_value


@dataclass(frozen=True)
class Axis:
    """What examples are sliced by: one name or several, and the values that were declared for each."""

    names: tuple[str, ...]
    places: tuple[int, ...]  # where the names stand among those of the `Sliced`
    max_slices: int  # slices
    declared: tuple[frozenset[Key] | None, ...]  # for each name, the keys of the declared values

    @property
    def closed(self) -> bool:
        """Whether the slices are the declared values."""
        return len(self.names) == 1 and self.declared[0] is not None

    def selected(self, keys: Iterable[Key]) -> set[Key]:
        """Which of all keys that examples have get a slice of their own.

        Of values that were not declared those ``max_slices`` stay that come first in a fixed pseudo-random order,
        whatever the order of examples and merges. A value that is not among them never will be.
        """
        allowed = [
            key
            for key in keys
            if all(known is None or (part,) in known for part, known in zip(key, self.declared, strict=True))
        ]
        if self.closed or len(allowed) <= self.max_slices:
            return set(allowed)
        return set(heapq.nsmallest(self.max_slices, allowed, rank_of))

    def describe(self, key: Key | None = None) -> str:
        """The axis, or one of its slices, in words."""
        if key is None:
            return " x ".join(self.names)
        return ", ".join(f"{name} {quoted(value)}" for name, (_, value) in zip(self.names, key, strict=True))

    def where(self, key: Key | None) -> dict[str, Value | Other]:
        """The values that the examples of a slice share; None is the overflow."""
        values = [OTHER] * len(self.names) if key is None else [value for _, value in key]
        return dict(zip(self.names, values, strict=True))


@dataclass(slots=True, eq=False)
class AxisSlices(Generic[A]):
    """The slices along an axis. Replaced as a whole where slices come or go; a slice without examples may stay."""

    axis: Axis
    slices: dict[Key, A]
    overflow: A  # the examples of all other values

    def keys(self) -> list[Key]:
        """The keys of slices that have examples."""
        return [key for key, part in self.slices.items() if part.examples]

    def examples(self) -> int:
        """How many there are in all slices."""
        return sum(part.examples for part in self.slices.values()) + self.overflow.examples

    def full(self) -> bool:
        """Whether a further slice would displace one."""
        return not self.axis.closed and len(self.keys()) >= self.axis.max_slices

    def ordered(self) -> list[tuple[Key | None, A]]:
        """The slices in order; the overflow, without a key, last, where it has examples."""
        keys = list(self.slices) if self.axis.closed else sorted(self.keys(), key=in_order)
        parts: list[tuple[Key | None, A]] = [(key, self.slices[key]) for key in keys]
        return [*parts, (None, self.overflow)] if self.overflow.examples else parts

    def total(self, empty: A) -> A:
        """A new object with all examples."""
        return merged((part for part in (*self.slices.values(), self.overflow) if part.examples), unlimited(empty))

    def copy(self) -> AxisSlices[A]:
        """Independent slices with the same examples."""
        return AxisSlices(self.axis, {key: part.copy() for key, part in self.slices.items()}, self.overflow.copy())

    def belong(self, guard: commit.Guard) -> AxisSlices[A]:
        """Be parts of the object that a guard belongs to."""
        for part in (*self.slices.values(), self.overflow):
            part._belong(guard)
        return self

    def with_examples(
        self, added: dict[Key, A], overflow: A | None, empty: A, guard: commit.Guard
    ) -> tuple[AxisSlices[A], list[tuple[A, A]]]:
        """These slices with more examples, and in pairs which slice is still to be merged with what.

        The examples of ``overflow`` have keys that cannot have a slice of their own; ``empty`` has none.
        """
        selected = self.axis.selected({*self.keys(), *added})
        slices = {key: part for key, part in self.slices.items() if key in selected or self.axis.closed}
        displaced = [part for key, part in self.slices.items() if key not in slices and part.examples]
        for part in displaced:
            core_of(part).states.retire()
        merges: list[tuple[A, A]] = []
        for key, part in added.items():
            if key not in selected:
                displaced.append(part)
            elif key in slices:
                merges.append((slices[key], part))
            else:
                slices[key] = merged([part], empty)._belong(guard)
        if overflow is not None and overflow.examples:
            displaced.append(overflow)
        rest = self.overflow
        if displaced and rest.examples:
            more = displaced[0] if len(displaced) == 1 else merged(displaced, empty)
            merges.append((rest, more))
        elif displaced:
            core_of(rest).states.retire()
            rest = merged(displaced, empty)._belong(guard)
        return AxisSlices(self.axis, slices, rest), merges


def merged(parts: Iterable[A], empty: A) -> A:
    """A new object with the examples of all."""
    total: A | None = None
    for part in parts:
        if total is None:
            total = compacted(part, empty)
        else:
            total.merge(part)
    return empty.copy() if total is None else total


def put_names(
    sink: Sink,
    by: tuple[str, ...],
    cross: Sequence[tuple[str, ...]],
    max_slices: int,
    declared: Sequence[Sequence[Key] | None],
) -> None:
    """Write what examples are sliced by; ``declared`` are for each name the keys of the declared values, or None."""
    sink += (varint(max_slices), varint(len(by)))
    for name, keys in zip(by, declared, strict=True):
        sink.string(name)
        sink.varint(0 if keys is None else len(keys) + 1)
        _put_key(sink, (value for key in keys or () for value in key))
    sink.varint(len(cross))
    for names in cross:
        sink += (varint(len(names)), *(varint(by.index(name)) for name in names))


def take_names(source: Source) -> dict[str, Any]:
    """The arguments of `streameval.Sliced` that `put_names` wrote."""
    max_slices, by, values, cross = source.varint(), list[str](), {}, []
    for _ in range(source.count()):
        by.append(source.string())
        if known := source.count():
            values[by[-1]] = [value for _, value in _take_key(source, known - 1)]
    for _ in range(source.count()):
        places = [source.count() for _ in range(source.count())]
        require(all(place < len(by) for place in places))
        cross.append([by[place] for place in places])
    return {"by": by, "cross": cross, "max_slices": max_slices, "values": values}


def _put_key(sink: Sink, key: Iterable[Typed]) -> None:
    for _, value in key:
        put_value(sink, value, LABEL)


def _take_key(source: Source, width: int) -> Key:
    return tuple([(type(value), value) for value in (take_value(source, LABEL) for _ in range(width))])


def slices_in_pieces(group: AxisSlices[Any]) -> Iterator[bytes]:
    """The slices along an axis in their order, then the overflow."""
    slices = [(key, part) for key, part in group.ordered() if key is not None]
    config = core_of(group.overflow).config
    yield varint(len(slices))
    for key, part in [*slices, ((), group.overflow)]:
        sink = Sink()
        _put_key(sink, key)
        # Counts take a byte at least, for declared labels are not written again with each slice.
        put_states(sink, config, core_of(part).states.content(), least=1)
        yield from sink.pieces()


def take_slices(source: Source, fresh: AxisSlices[Any]) -> AxisSlices[Any]:
    """The slices that `slices_in_pieces` wrote, or `FormatError` if no examples leave such ones."""
    axis, empty = fresh.axis, fresh.overflow
    config, count, slices = core_of(empty).config, source.count(), dict[Key, Any]()
    for width in [len(axis.names)] * count + [0]:
        key = _take_key(source, width)
        slices[key] = from_contents(empty, take_states(source, config, least=1))
    rest = slices.pop(())
    keys = list(slices)
    if axis.closed:
        fits = keys == list(fresh.slices)
    else:
        fits = all(part.examples for part in slices.values()) and axis.selected(keys) == set(keys)
        fits = fits and all(in_order(before) < in_order(after) for before, after in pairwise(keys))
        full = len(keys) == axis.max_slices or any(known is not None for known in axis.declared)
        fits = fits and (full or not rest.examples)
    if not fits or len(slices) != count:
        raise FormatError("the slices are not those that their values make")
    return AxisSlices(axis, slices, rest)
