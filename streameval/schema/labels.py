"""Labels, which can be sorted, saved and read back, and the columns they are counted in."""

from __future__ import annotations

import sys
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, islice
from operator import countOf, lt
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import LabelError, wording
from streameval.kernel.backend import commit
from streameval.kernel.types import IntArray
from streameval.schema.text import python_value, quoted

Label: TypeAlias = str | int
ByLabel: TypeAlias = Mapping[str, float] | Mapping[int, float] | Mapping[Label, float]  # keys are invariant
PerLabel: TypeAlias = Any
"""A dict by label, from a metric without average. It is Any, so that type checkers accept ``value > 0.9``."""

IDENTIFIERS = 100_000  # from so many labels on, they are checked for being identifiers


def is_unicode(string: str) -> bool:
    """Whether a string holds no lone surrogate, so that it can be saved."""
    try:
        string.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def normalise(label: object) -> Label:
    """The plain ``str`` or ``int`` behind a label, or `LabelError`."""
    if isinstance(label, str):
        if not is_unicode(label):
            invalid = f"label {quoted(label)} holds a lone surrogate, which is not valid Unicode"
            raise LabelError(f"{invalid}; decode the bytes correctly")
        return str.__str__(label)
    if isinstance(label, int | np.integer) and not isinstance(label, bool | np.timedelta64):
        return int.__add__(int(label), 0)
    if (plain := python_value(label)) is not label:  # a scalar of Arrow, or an array without dimensions
        return normalise(plain)
    must = f"a label must be {wording('a str or an int', 'a string or an integer')}, not"
    if isinstance(label, float | np.floating) and label == label:
        way = f"write {'int' if label == label // 1 else 'str'}(label), or for binary predictions or scores by position"
        shell = "write labels as strings or integers, or scores by position as one list a row"
        raise LabelError(f"{must} the float {quoted(label)}; {wording(f'{way} give a numpy array', shell)}")
    if isinstance(label, float | np.floating) or type(label).__name__ in ("NoneType", "NAType"):
        raise LabelError(f"{must} {wording(quoted(label), 'null')}; leave it out")
    many = wording(", or for many examples use update_many", "")
    record = "of each give its label, or for scores one mapping, as dict(zip(labels, scores)) makes"
    ways: dict[type, str] = {list: f"give one list of labels{many}", tuple: record + many, dict: record}
    ways |= {bytes: "decode it", Enum: "give its value or its name", object: "convert it"}
    way = next(way for kind, way in ways.items() if isinstance(label, kind))
    raise LabelError(f"{must} {type(label).__name__} ({quoted(label)}); {way}")


def in_order(label: Label) -> tuple[bool, int, str]:
    """Sort key: integers by value, then strings by code point."""
    return (False, label, "") if isinstance(label, int) else (True, 0, label)


def ascending(labels: Sequence[Label]) -> bool:
    """Whether labels are in order and distinct: integers by value, then strings by code point."""
    integers = countOf(map(type, labels), int)
    if 0 < integers < len(labels):
        numbers, words = labels[:integers], labels[integers:]
        return str not in map(type, numbers) and ascending(numbers) and ascending(words)
    return all(map(lt, labels, islice(labels, 1, None)))


Key: TypeAlias = Label | bytes


def key_of(label: Label) -> Key:
    """The key of a label in dicts and sets. Large integers become bytes: one can choose integers of equal hashes."""
    return label if isinstance(label, str) or abs(label) < sys.hash_info.modulus else b"%x" % label


def keys_of(labels: Sequence[Any]) -> Iterable[Key]:
    kinds, most = set(map(type, labels)), sys.hash_info.modulus
    if int not in kinds or (len(kinds) == 1 and -most < min(labels) and max(labels) < most):
        return labels
    return map(key_of, labels)


def distinct(labels: Sequence[Label]) -> list[Label]:
    return [*dict(zip(keys_of(labels), labels, strict=True)).values()]


FEW = 512  # up to so many labels, taking over or reading all at once is faster than only some of them


def by_column(columns: IntArray, read: Callable[[IntArray], Any]) -> Any:
    """The result of ``read`` for columns; for many columns, a sequence that reads what is accessed, then."""
    return read(columns) if len(columns) <= FEW else _ByColumn(columns, read)


class _ByColumn:
    def __init__(self, columns: IntArray, read: Callable[[IntArray], Any]) -> None:
        self._columns, self._read = columns, read

    def __len__(self) -> int:
        return len(self._columns)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self[at : at + FEW] for at in range(0, len(self), FEW))

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, tuple):
            return self._read(self._columns[at])
        rows, parts = at
        return _ByColumn(self._columns[rows], lambda some: self._read(some)[:, parts])


class LabelIndex:
    """The column in which each label is counted, by the key of the label. A label keeps its column.

    The first ``fixed`` labels (all, unless it is passed) were declared and are always present. The rest, at most
    ``limit``, are present only while some example mentions them, so registering one changes no result. Once more than
    ``check_beyond`` are registered, each change checks which are present and how often; ``known`` are those that may be
    mentioned without a check. ``guard`` is that of the object that counts in these columns.
    """

    __slots__ = ("_made", "_order", "check_beyond", "columns", "fixed", "guard", "known", "labels", "limit")
    columns: dict[Key, int]
    known: dict[Key, int]

    def __init__(self, labels: Iterable[Label] = (), fixed: int | None = None, limit: int | None = None) -> None:
        self.labels: list[Label] = list(labels)
        self.fixed = len(self.labels) if fixed is None else fixed
        self._order: IntArray | None = None
        self.guard = commit.Guard()
        self._made: list[dict[Key, int]] = []
        self.limit, self.check_beyond = limit, self.fixed + (IDENTIFIERS if limit is None else limit)
        if self.labels:
            self.__class__ = _Unindexed
        else:
            self._index({})

    def _index(self, columns: dict[Key, int]) -> None:
        """Use these columns, which are of all labels."""
        self.columns = columns
        self._set_known()
        self.__class__ = LabelIndex

    def _set_known(self) -> None:
        self.known = self.columns if self.limit is None or len(self.labels) <= self.check_beyond else {}

    def __len__(self) -> int:
        return len(self.labels)

    def bound(self, limit: int | None, check_beyond: int = sys.maxsize) -> None:
        self.limit, self.check_beyond = limit, check_beyond
        if type(self) is LabelIndex:
            self._set_known()

    def add(self, label: Label) -> int:
        """The column of a normalised label; a new one if it has none yet."""
        return self.register([label])[0]

    def columns_of(self, labels: Sequence[Label]) -> list[int | None]:
        """The columns of normalised labels; None for one that has none."""
        columns = list(map(self.columns.get, labels))
        keys = keys_of(labels) if None in columns else labels
        return columns if keys is labels else list(map(self.columns.get, keys))

    def register(self, labels: list[Label], *, guarded: bool = False) -> Sequence[int]:
        """The columns of normalised labels; ``guarded`` where the caller holds the guard."""
        if not guarded:
            with self.guard:
                return self.register(labels, guarded=True)
        columns, keys, start = self.columns, list(keys_of(labels)), len(self.labels)
        new = {key: label for key, label in zip(keys, labels, strict=True) if key not in columns}
        if new:
            notes = self.guard.notes
            if notes is not None and not self.fixed and not notes.forms.strings and str in map(type, new.values()):
                notes.change(unsure=True)  # until they are counted
            # In this order, an interruption leaves at most columns that no label maps to, and these count nothing.
            self.labels += new.values()
            columns.update(zip(new, range(start, start + len(new)), strict=True))
            self._set_known()
        return range(start, start + len(new)) if len(new) == len(keys) else list(map(columns.__getitem__, keys))

    def at(self, columns: IntArray) -> tuple[Label, ...]:
        """The labels of columns."""
        return tuple(map(self.labels.__getitem__, columns.tolist()))

    def order(self) -> IntArray:
        """All columns: those of declared labels as declared, then the rest in order. Cached between changes."""
        order = self._order
        if order is None or len(order) != len(self.labels):
            grown, before = self.labels[self.fixed :], order
            size = self.fixed + len(grown)
            if before is not None and 0 < size - len(before) < len(before) // 16:  # a few are inserted

                def key(column: int) -> tuple[bool, int, str]:
                    return in_order(self.labels[column])

                new = sorted(range(len(before), size), key=key)
                order = np.insert(before, [bisect(before, key(column), self.fixed, key=key) for column in new], new)
            elif ascending(grown):
                del grown  # it takes as much memory as the order
                order = np.arange(size)
            else:
                keys: Any = grown if len(set(map(type, grown))) == 1 else list(map(in_order, grown))
                after = sorted(range(len(grown)), key=keys.__getitem__)
                order = np.append(np.arange(self.fixed), np.add(after, self.fixed))
            self._order = order
        return order

    def adopt(self, other: LabelIndex) -> None:
        """Take over the content of another index, which does not change any more."""
        self.labels, self.fixed, self._order = other.labels, other.fixed, other._order
        self._index(other.columns)
        self.bound(other.limit, other.check_beyond)

    def copy(self) -> LabelIndex:
        # Columns first, so that each has its label if another thread registers some meanwhile.
        columns = self.columns.copy() if type(self) is LabelIndex else None
        result = LabelIndex(self.labels, self.fixed)
        result._order = self._order
        if columns is not None:
            result._index(columns)
        result.bound(self.limit, self.check_beyond)
        return result


# A class of its own, because ``__getattr__`` slows down all attributes of its class.
class _Unindexed(LabelIndex):
    """An index whose columns are made when first asked for: many objects are read from bytes and only merged."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in ("columns", "known"):
            raise AttributeError(name)
        labels = self.labels  # more may be appended meanwhile
        self._made.append(dict(zip(keys_of(labels), range(len(labels)), strict=False)))
        self._index(self._made[0])  # the same for all threads
        return getattr(self, name)
