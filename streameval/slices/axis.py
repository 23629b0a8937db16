"""The slices along one axis: which values have a slice of their own, and what all others come to.

Which they are is a function of the set of values alone, so that it does not depend on the order of examples or of
merges: of values that were not declared those ``most`` are kept that come first in a fixed pseudo-random order. A
value that is not among them is not among them either once more values are known, so its examples may be counted with
those of all others, and a slice that is displaced goes there as a whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from streameval.evaluation.counting import Accumulator, compacted
from streameval.slices.values import Key, rank_of

__all__ = ["Axis", "Change", "Shelf", "merged"]

A = TypeVar("A", bound=Accumulator)


@dataclass(frozen=True)
class Axis:
    """What examples are sliced by: one name or several, and the values that were declared for each.

    ``places`` tells where the names stand among those of the `Sliced`.
    """

    names: tuple[str, ...]
    places: tuple[int, ...]
    most: int
    declared: tuple[frozenset[Key] | None, ...]

    @property
    def closed(self) -> bool:
        """Whether the slices are the declared values."""
        return len(self.names) == 1 and self.declared[0] is not None

    def chosen(self, keys: Iterable[Key]) -> set[Key]:
        """Which of all keys that were met have a slice of their own."""
        allowed = [
            key
            for key in keys
            if all(known is None or (part,) in known for part, known in zip(key, self.declared, strict=True))
        ]
        if self.closed or len(allowed) <= self.most:
            return set(allowed)
        return set(heapq.nsmallest(self.most, allowed, rank_of))


class Shelf(Generic[A]):
    """The slices along an axis. Replaced as a whole where slices come or go; a slice without examples may stay."""

    __slots__ = ("kept", "rest")

    def __init__(self, kept: dict[Key, A], rest: A) -> None:
        self.kept = kept
        self.rest = rest

    def keys(self) -> list[Key]:
        """The keys of slices that have examples."""
        return [key for key, part in self.kept.items() if part.examples]

    def examples(self) -> int:
        """How many there are in all slices."""
        return sum(part.examples for part in self.kept.values()) + self.rest.examples

    def full(self, axis: Axis) -> bool:
        """Whether a further slice would displace one."""
        return not axis.closed and len(self.keys()) >= axis.most


class Addition(NamedTuple, Generic[A]):
    """Examples to be merged into a slice that is there already."""

    target: A
    added: A
    before: int


@dataclass
class Change(Generic[A]):
    """A change under way: the shelves after it, and what is still to be merged into their slices."""

    shelves: list[Shelf[A]] = field(default_factory=list)
    additions: list[Addition[A]] = field(default_factory=list)

    def place(self, axis: Axis, shelf: Shelf[A], added: dict[Key, A], rest: A | None, empty: A) -> None:
        """Say what becomes of a shelf when slices are added to it. Nothing that is there changes yet.

        Parameters
        ----------
        axis, shelf
            What it becomes a new shelf of.
        added
            Examples by their key.
        rest
            Examples of keys that cannot have a slice of their own.
        empty
            An object without examples, which is copied.
        """
        chosen = axis.chosen({*shelf.keys(), *added})
        kept = {key: part for key, part in shelf.kept.items() if key in chosen or axis.closed}
        spilt = [part for key, part in shelf.kept.items() if key not in kept and part.examples]
        for key, part in added.items():
            if key not in chosen:
                spilt.append(part)
            elif key in kept:
                self.additions.append(Addition(kept[key], part, kept[key].examples))
            else:
                kept[key] = merged([part], empty)
        if rest is not None and rest.examples:
            spilt.append(rest)
        whole = shelf.rest
        if spilt and whole.examples:
            self.additions.append(
                Addition(whole, spilt[0] if len(spilt) == 1 else merged(spilt, empty), whole.examples)
            )
        elif spilt:
            whole = merged(spilt, empty)
        self.shelves.append(Shelf(kept, whole))

    def apply(self) -> None:
        """Merge what has not been merged yet."""
        for target, added, before in self.additions:
            if target.examples == before:
                target.merge(added)

    def begun(self) -> bool:
        """Whether anything has been merged."""
        return any(target.examples != before for target, _, before in self.additions)


def merged(parts: Iterable[A], empty: A) -> A:
    """A new object with the examples of all."""
    made: A | None = None
    for part in parts:
        if made is None:
            made = compacted(part, empty)
        else:
            made.merge(part)
    return empty.copy() if made is None else made
