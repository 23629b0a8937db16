"""The base of all objects that count: values that can be copied, added, subtracted, compared and saved."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Self

from streameval.errors import MergeError, above, silent, warning_first, wording
from streameval.evaluation import pages
from streameval.evaluation.guarding import Guarded, copied, held
from streameval.inputs.samples import InputSummary
from streameval.schema.input_notes import notes_of
from streameval.schema.keywords import as_method, explain_methods, explained
from streameval.schema.text import quoted

if TYPE_CHECKING:
    from streameval.report.model import Table
    from streameval.wire.fields import Source


class Saveable(Guarded):
    """An object defined by its content: equal contents have equal bytes."""

    __slots__ = ("__weakref__",)
    _holder: ClassVar[int]  # the kind of object in the envelope of its bytes
    to_html = as_method(pages.to_html)
    save_html = as_method(pages.save_html)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("streameval"):  # users explain the methods of their own subclasses
            explain_methods(cls)

    def to_bytes(self) -> bytes:
        """The object as bytes; equal objects have equal bytes, on every machine."""
        with held(self):
            return b"".join(self._pieces())  # a growing buffer would be copied and take more memory

    @abstractmethod
    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        """The bytes in pieces; until the last, nothing may change. ``compared``: without what equality ignores."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The object that `to_bytes` was called on.

        Raises
        ------
        FormatError
            If the bytes are anything else, however slightly damaged. No pickle is ever read.
        """
        return cls._decoded(data)

    @classmethod
    def _decoded(cls, data: bytes) -> Self:
        from streameval.wire.envelope import decoding, opened  # late, so that importing the package stays quick

        _, source = opened(data, (cls._holder,))
        with decoding():
            result = cls._taken_from(source)
            source.end()
        return result

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        """The object in the body of bytes, which is read to its end."""
        raise NotImplementedError

    @explained
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bytes to a file, atomically; `streameval.load` reads it."""
        from streameval.wire.files import write_file  # imported late, so that importing the package stays quick

        with held(self):
            write_file(path, self._pieces())

    def _repr_html_(self) -> str:
        from streameval.report.notebook import notebook_html

        with held(self), silent():
            return notebook_html(*self._display())

    def _display(self) -> tuple[str, Sequence[Table]]:
        """A line about the content, and tables; the guards are held."""
        return repr(self), ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Saveable) or type(self) is not type(other):
            return NotImplemented
        with held(self, other):
            mine, theirs = (b"".join(one._pieces(compared=True)) for one in (self, other))
        return mine == theirs

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # because it is mutable


class Mergeable(Saveable):
    """An object that can be copied, added and subtracted; each direct subclass is the base of a family."""

    __slots__ = ()
    _template: Any  # the empty evaluator or metric that it was constructed with, or None
    _parameters: Callable[[], dict[str, Any]]  # its other constructor arguments, for messages
    _family: ClassVar[type]
    _draw = above("plots", "draw")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if Mergeable in cls.__bases__:  # members of one family can be added and subtracted
            cls._family = cls

    @property
    def input_summary(self) -> InputSummary:
        """How the arguments were read: for each, its form, the number and origin of its labels, and the first examples.

        It is not saved, and empty if nothing was counted from arguments, as after `load`. If neither columns nor
        ``labels=`` name the labels, the number is that of the labels in the first examples.
        """
        return InputSummary({name: sample.summary() for name, sample in notes_of(self._guard).samples.items()})

    @property
    def warnings(self) -> tuple[str, ...]:
        """Messages of the warnings issued about the input of this object, or of one that it was copied from."""
        return tuple(notes_of(self._guard).warnings.values())

    @abstractmethod
    def copy(self) -> Self:
        """An independent object with the same content."""

    def _like(self) -> Self:
        """A shallow copy with a guard of its own; the caller must replace the attributes that change."""
        result: Any = type(self).__new__(type(self))
        take_over(result, self)
        result._guard = copied(self._guard)
        return result  # type: ignore[no-any-return]  # of this class

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_bytes, (self.to_bytes(),), getattr(self, "__dict__", None)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        result = memo[id(self)] = self.copy()
        for name, value in getattr(self, "__dict__", {}).items():
            setattr(result, name, deepcopy(value, memo))
        return result

    def __add__(self, other: Self) -> Self:
        return self._combined(other, "merge")

    def __radd__(self, other: object) -> Self:
        """So that ``sum(parts)``, which starts at 0, works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return self._combined(other, "unmerge")

    def _combined(self, other: Self, verb: str) -> Self:
        if not isinstance(other, self._family) or not hasattr(self, verb):
            return NotImplemented  # type: ignore[no-any-return]
        return warning_first(self._both, other, verb)

    def _both(self, other: Self, verb: str) -> Self:
        with held(self, other):
            result = self.copy()
            getattr(result, verb)(other)
        return result

    def _differences(self, other: Any) -> list[str]:
        """How two objects of one class differ in constructor arguments, or else in templates, in words."""
        differing = parameter_differences(self._parameters(), other._parameters())
        return differing or differences(self._template, other._template)

    def _check_compatible(self, other: Self, verb: str = "merge") -> None:
        if not issubclass(type(other), Mergeable):  # as isinstance may run code of the user under guards
            kind, own = type(other).__name__, type(self).__name__
            each, read = f"for part in parts: total.{verb}(part)", f"total.{verb}({own}.from_bytes(data))"
            calls = {**dict.fromkeys(("list", "tuple", "set"), each), "bytes": read}
            calls["dict"] = each.replace("parts", "parts.values()")
            write = f": write {calls[kind]}" if kind in calls else ""
            raise MergeError(f"cannot {verb} an object of type {kind}; {verb} takes one {own}{write}")
        if differing := differences(self, other):
            same = "the same configuration" if type(other) is type(self) else "the same class"
            advice = wording(f"construct both with {same}", "evaluate both with the same options")
            raise MergeError(f"cannot {verb}: {'; '.join(differing)}; {advice}")


def take_over(target: Any, source: Any) -> None:
    """Move the content of one object to another of its class; the first must not be used any more."""
    both: Any = object.__getstate__(source)  # attributes that a user's subclass has added, and those in slots
    for attributes in both:
        for name, value in (attributes or {}).items():
            setattr(target, name, value)


def fresh_of(counts: Any) -> Any:
    """A copy that has counted nothing."""
    result = counts.copy()
    result.reset()
    return result


def parameter_differences(mine: dict[str, object], theirs: dict[str, object]) -> list[str]:
    """The arguments in which two objects of one class differ, in words."""
    return [
        f"{name} differs ({quoted(value)} and {quoted(theirs.get(name))})"
        for name, value in mine.items()
        # 3 examples and 3.0 seconds are different although 3 == 3.0.
        if value != theirs.get(name) or type(value) is not type(theirs.get(name))
    ]


def differences(one: Mergeable, other: Mergeable) -> list[str]:
    """How the constructions of two objects differ, in words."""
    if type(one) is not type(other):
        return [f"{type(one).__name__} and {type(other).__name__} differ"]
    return one._differences(other)
