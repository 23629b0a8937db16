"""One state for each slice of the examples."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from streameval.errors import FormatError, InputError, StreamevalError
from streameval.evaluation.counting import Accumulator
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.metric import Metric
from streameval.evaluation.value import Mergeable
from streameval.schema.text import quoted, suggestion
from streameval.slices.asking import (
    Reading,
    Where,
    combinations_of,
    declared_of,
    names_of,
    read,
    told,
    where_of,
)
from streameval.slices.axis import Axis, Shelf, merged
from streameval.slices.changing import Shelves
from streameval.slices.encoding import SavedSlices, decode_slices, encode_slices
from streameval.slices.saving import restored_shelf, saved_shelf
from streameval.slices.values import OTHER, Key, Other, Value, in_order, key_of, values_of
from streameval.states.base import COUNT_MAX
from streameval.wire.files import write_file

__all__ = ["Slice", "Sliced"]

A = TypeVar("A", bound=Accumulator)


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Generic[A]):
    """The examples that have something in common.

    Attributes
    ----------
    where
        The value of each name that they share; `OTHER` where they are all whose values have no slice of their own.
    evaluator
        An ordinary object with these examples.
    """

    where: Mapping[str, Value | Other]
    evaluator: A


class Sliced(Shelves[A], Mergeable):
    """An evaluator or a metric for each slice of the examples: for each region, each device, each region and device.

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing. It is copied.
    by
        What examples are sliced by: a name, or several, each of which slices all examples. Every example comes with a
        value for each: a string, an integer, a boolean, or None.
    cross
        Combinations of these names to slice by as well.
    most
        How many slices each name and each combination may have. Where there are more values, those that come first in
        a fixed pseudo-random order have slices; the examples of all others are counted together, as `OTHER`.
    values
        For some of the names, the values to have slices of; those of all other values are counted together.

    Raises
    ------
    InputError
        If an argument is of the wrong kind or out of range, or ``evaluator`` has counted examples.

    Examples
    --------
    >>> from streameval import Evaluator
    >>> sliced = Sliced(Evaluator(["f1_micro"]), by="region")
    >>> sliced.update({"cat"}, {"cat"}, where={"region": "eu"})
    >>> sliced.update_many([{"cat"}, {"dog"}], [{"dog"}, {"dog"}], where={"region": ["eu", "us"]})
    >>> sliced.get()
    {'region': {'eu': {'f1_micro': 0.5}, 'us': {'f1_micro': 1.0}}}
    >>> sliced["eu"].examples, sliced.total().get("f1_micro")
    (2, 0.6666666666666666)
    """

    __slots__ = ()

    def __init__(
        self,
        evaluator: A,
        *,
        by: str | Iterable[str],
        cross: Iterable[Iterable[str]] = (),
        most: int = 1000,
        values: Mapping[str, Iterable[Value]] | None = None,
    ) -> None:
        if not isinstance(evaluator, Evaluator | Metric):
            raise InputError(f"Sliced takes an Evaluator or a metric such as F1(), not {quoted(evaluator)}")
        if evaluator.examples:
            raise InputError(
                f"Sliced starts empty, but this {type(evaluator).__name__} has counted {evaluator.examples} examples; "
                "give one that has counted nothing"
            )
        if type(most) is not int or not 1 <= most < 2**63:
            raise InputError(f"most must be an integer of at least 1, not {quoted(most)}")
        names = names_of(by, "by")
        combinations, declared = combinations_of(cross, names), declared_of(values, names)
        empty = evaluator.copy()
        empty.reset()
        self._build(empty, names, combinations, most, declared)  # type: ignore[arg-type]

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def by(self) -> tuple[str, ...]:
        """The names that slices are by."""
        return self._by

    @property
    def cross(self) -> tuple[tuple[str, ...], ...]:
        """The combinations of names that slices are by as well."""
        return self._cross

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are scores."""
        return self._empty.reads_scores

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._settle()
        return self._shelves[0].examples()

    def total(self) -> A:
        """An ordinary object with all examples."""
        self._settle()
        return self._total(self._shelves[0])

    def _total(self, shelf: Shelf[A]) -> A:
        return merged((part for part in (*shelf.kept.values(), shelf.rest) if part.examples), self._empty)

    def slices(self, by: str | tuple[str, ...] | None = None) -> tuple[Slice[A], ...]:
        """The slices by a name or a combination of names, or all there are, as independent values.

        Declared values come in their order, others sorted; last, if there are any, all that have no slice.
        """
        self._settle()
        return tuple(
            Slice(where_of(axis, key), part.copy())
            for axis, shelf in self._chosen(by)
            for key, part in self._parts(axis, shelf)
        )

    def __getitem__(self, where: Mapping[str, Value | Other] | Value | Other) -> A:
        """An independent object with the examples of one slice: of a value, or ``{name: value, ...}``.

        Raises
        ------
        InputError
            If there is no such slice.
        """
        self._settle()
        if not isinstance(where, Mapping):
            if len(self._by) > 1:
                raise InputError(f"slices are by {self._by}; write sliced[{{{self._by[0]!r}: {quoted(where)}}}]")
            where = {self._by[0]: where}
        for axis, shelf in self._paired():
            if set(axis.names) == set(where):
                values = tuple(where[name] for name in axis.names)
                if all(value is OTHER for value in values):
                    return shelf.rest.copy()
                part = shelf.kept.get(key_of(values, axis.names))
                if part is None or not (part.examples or axis.closed):
                    known = [str(value) for value in map(values_of, shelf.keys())]
                    raise InputError(f"there is no slice {quoted(dict(where))}{suggestion(str(values[0]), known)}")
                return part.copy()
        raise InputError(f"slices are by {[axis.names for axis in self._axes]}, not by {quoted(tuple(where))}")

    def get(
        self, metric: MetricLike | None = None, *, by: str | tuple[str, ...] | None = None
    ) -> dict[str | tuple[str, ...], dict[Where, Reading]]:
        """What each slice answers, by the name or names, and then by value; see `slices` for their order.

        Parameters
        ----------
        metric
            One metric to ask an evaluator for; without it, all of its metrics by name.
        by
            A name, or a tuple of names that were given as ``cross``; without it, each of them.
        """
        self._settle()
        made: dict[str | tuple[str, ...], dict[Where, Reading]] = {}
        for axis, shelf in self._chosen(by):
            found: dict[Where, Reading] = {}
            parts = self._parts(axis, shelf)
            for key, part in parts:
                found[OTHER if key is None else values_of(key)] = read(part, metric)
            if len(found) < len(parts):
                raise InputError(
                    f"{told(axis)} holds booleans beside 0 and 1, which are the same keys to Python; read slices()"
                )
            made[axis.names[0] if len(axis.names) == 1 else axis.names] = found
        return made

    def report(self, by: str | tuple[str, ...] | None = None, *, digits: int = 4) -> str:
        """A table: examples and metrics of each slice and of all together. Values per label are left out."""
        from streameval.report.text import SliceRow, slices_report  # only when asked
        from streameval.schema.text import printable

        def row(title: str, name: str, part: A) -> SliceRow:
            answer: Any = read(part, None)
            values = answer if isinstance(part, Evaluator) else {part._specs[0].key: answer}
            return title, name, part.examples, {key: one for key, one in values.items() if isinstance(one, float)}

        self._settle()
        rows = [
            row(told(axis), " x ".join(printable(str(value)) for value in where_of(axis, key).values()), part)
            for axis, shelf in self._chosen(by)
            for key, part in self._parts(axis, shelf)
        ]
        return slices_report(rows, row("", "total", self.total()), digits)

    def _chosen(self, by: str | tuple[str, ...] | None) -> Iterator[tuple[Axis, Shelf[A]]]:
        names = (by,) if isinstance(by, str) else by
        found = [(axis, shelf) for axis, shelf in self._paired() if names is None or axis.names == names]
        if not found:
            raise InputError(f"by must be one of {[told(axis) for axis in self._axes]}, not {quoted(by)}")
        return iter(found)

    def _parts(self, axis: Axis, shelf: Shelf[A]) -> list[tuple[Key | None, A]]:
        """The slices in order; that of all other values, without a key, last."""
        if axis.closed:
            kept = list(shelf.kept.items())
        else:
            kept = [(key, shelf.kept[key]) for key in sorted(shelf.keys(), key=in_order)]
        return [*kept, *([(None, shelf.rest)] if shelf.rest.examples else [])]

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent object with the same content."""
        self._settle()
        twin = self._beside()
        twin._shelves = tuple(
            Shelf({key: part.copy() for key, part in shelf.kept.items()}, shelf.rest.copy()) for shelf in self._shelves
        )
        return twin

    def _beside(self) -> Self:
        twin = type(self).__new__(type(self))
        twin._empty, twin._by, twin._cross, twin._most = self._empty, self._by, self._cross, self._most
        twin._declared, twin._axes = self._declared, self._axes
        twin._change = twin._undo = None
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sliced):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """The object as bytes; equal objects have equal bytes, on every machine."""
        self._settle()
        shelves = tuple(saved_shelf(self._parts(axis, shelf), shelf.rest) for axis, shelf in self._paired())
        declared = tuple(None if keys is None else tuple(key[0][1] for key in keys) for keys in self._declared)
        empty = self._empty._saved()
        return encode_slices(SavedSlices(empty, self._by, self._cross, self._most, declared, shelves))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The object that `to_bytes` was called on.

        Raises
        ------
        FormatError
            If the bytes are anything else, however slightly damaged. No pickle is ever read.
        """
        saved = decode_slices(data)
        kind: type[Accumulator] = Metric if saved.empty.kind == Metric._kind else Evaluator
        try:
            return cls._restored(kind._from_saved(saved.empty), saved)
        except StreamevalError as error:
            raise FormatError(f"the bytes are damaged: {error}") from None

    @classmethod
    def _restored(cls, empty: Any, saved: SavedSlices) -> Self:
        values = {name: known for name, known in zip(saved.by, saved.declared, strict=True) if known is not None}
        made = cls(empty, by=saved.by, cross=saved.cross, most=saved.most, values=values)
        made._shelves = tuple(
            restored_shelf(axis, fresh, shelf)
            for (axis, fresh), shelf in zip(made._paired(), saved.shelves, strict=True)
        )
        first, *others = made._shelves
        if first.examples() > COUNT_MAX:
            raise FormatError("the slices have more examples together than can be counted")
        whole = made._total(first) if others else None
        if any(made._total(shelf) != whole for shelf in others):
            raise FormatError("the slices by different names are not of the same examples")
        return made

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return type(self).from_bytes, (self.to_bytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file, for `streameval.load`: the whole of them, or the old file stays."""
        write_file(path, self.to_bytes())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(shelf.keys())} by {told(axis)}" for axis, shelf in self._paired())
        return f"<Sliced of {self.examples} examples, {sizes}: {self._empty!r}>"
