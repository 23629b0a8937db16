"""Changes of several tables that happen at once, in plain Python: what the compiled twin does, and the fallback.

A change has two phases. *Prepare* may fail, allocates, and shows nothing; *commit* cannot fail. A part says what to do
with the value that it finds, so that several parts of one table may stand in one commit. Here all values of a root are
one tuple, of which a commit makes another, and one store decides for all roots which of the two holds: whoever
interrupts it sees either the old values or the new ones. The compiled twin changes tables where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Part: TypeAlias = Any
"""A prepared part of a change. Only `Root.commit` knows what is in it."""


class Root:
    """Holds the values of all tables of one set of states."""

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        # Before and after a commit that is under way as long as the list is empty.
        self._versions: tuple[tuple[Any, ...], tuple[Any, ...], list[bool]] = (), (), []

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, as the last commit left them."""
        before, after, done = self._versions
        return after if done else before

    def cell(self, value: Any) -> Cell:
        """A place for a value."""
        values = *self.values, value
        self._versions = values, values, []
        return Cell(self, len(values) - 1)

    @staticmethod
    def commit(parts: list[Part]) -> None:
        """Do what was prepared over this root and others, in this order, all at once."""
        after: dict[Root, list[Any]] = {}
        for root, place, change in parts:
            values = after.get(root)
            if values is None:
                values = after[root] = [*root.values]
            values[place] = change(values[place])
        done: list[bool] = []
        for root, values in after.items():
            root._versions = root.values, tuple(values), done
        done.append(True)


class Cell:
    """A place for one value, which nobody changes where it stands but `prepare_update` and `prepare_add`."""

    __slots__ = ("_place", "root")

    def __init__(self, root: Root, place: int) -> None:
        self.root, self._place = root, place

    @property
    def value(self) -> Any:
        """The value, as the last commit left it."""
        before, after, done = self.root._versions
        return (after if done else before)[self._place]

    def store(self, new: Any) -> None:
        """The value becomes another at once; only in this twin."""
        values = [*self.root.values]
        values[self._place] = new
        self.root._versions = tuple(values), (), []

    def prepare(self, change: Callable[[Any], Any]) -> Part:
        """The value becomes what a function of it returns; only in this twin, whose tables are cells."""
        return self.root, self._place, change

    def tried(self, change: Callable[[Any], Any]) -> tuple[Any, Part]:
        """What a change makes of the value, and the part that makes it so; also of what other parts make of it."""
        before = self.value
        after = change(before)
        return after, self.prepare(lambda value: after if value is before else change(value))

    def prepare_store(self, new: Any) -> Part:
        """The value becomes another."""
        return self.prepare(lambda _: new)

    def prepare_update(self, changes: Mapping[Any, Any]) -> Part:
        """Entries of the value, a dict, become others. Keys that it lacks may be there, with 0, before the commit."""
        return self.prepare(lambda value: {**value, **changes})

    def prepare_add(self, amounts: Mapping[Any, int], factor: int) -> Part:
        """Entries of the value, a dict, grow by an amount times a factor; in one commit by one such part."""
        return self.prepare(
            lambda value: {**value, **{key: value.get(key, 0) + factor * add for key, add in amounts.items()}}
        )
