"""The configuration that decides how examples are read. Objects merge only if their configurations are equal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np

from streameval.errors import InputError, LabelError, option, wording
from streameval.schema.labels import ByLabel, Label, in_order, key_of, keys_of, normalise
from streameval.schema.text import check_choice, check_number, number_of, number_or_none, python_value, quoted

Unknown: TypeAlias = Literal["error", "ignore", "add"]
Nan: TypeAlias = Literal["error", "missing"]
Ties: TypeAlias = Literal["shared", "last"]
Rows: TypeAlias = Literal["labels", "indicator"]
Null: TypeAlias = Literal["error", "empty"]
NULLS = get_args(Null)
CheckedThreshold: TypeAlias = float | tuple[tuple[Label, float], ...]
Weight: TypeAlias = float | np.floating[Any] | np.integer[Any]
Threshold: TypeAlias = float | ByLabel | Iterable[float] | None

_DIFFER = {
    "labels": "labels differ", "unknown": "unknown differs", "threshold": "thresholds differ", "nan": "nan differs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StateOptions:
    """The options of one kind of state, as a value; a kind that has options adds fields."""

    kind: ClassVar[str]
    reads: ClassVar[Literal["decisions", "scores"]]  # what it reads of an example
    needs_numbers: ClassVar[bool] = False  # whether it needs scores, so that ranked lists are not enough
    parameters: ClassVar[Mapping[str, object]] = {}
    """The arguments of `of` that every metric of this kind has, with their defaults."""

    @classmethod
    def of(
        cls, needs: Sequence[Mapping[str, Any]], keep: AbstractSet[str], _arguments: Mapping[str, Any]
    ) -> Self | None:
        """The options that metrics of this kind need, ``keep=`` names and the user chose; None without such needs."""
        return cls() if needs or keep else None

    def keep(self) -> tuple[str, ...]:
        """Names for ``keep=`` that give these options."""
        return (self.kind,)

    def arguments(self) -> dict[str, Any]:
        """Arguments that give these options."""
        return {}

    @classmethod
    def required(cls, _needs: Mapping[str, Any]) -> str:
        """The name in ``keep=`` without which a metric with these needs cannot be read."""
        return cls.kind

    def differences(self, other: Self) -> list[str]:
        """The differences from ``other``, in words."""
        names = [field.name for field in fields(self) if field.compare]
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return [f"{name} differ ({mine!r} and {theirs!r})" for name, mine, theirs in pairs if mine != theirs]


@dataclass(frozen=True, slots=True)
class Config:
    """How examples are read; `Evaluator` says what each choice means."""

    labels: tuple[Label, ...] | None = None
    unknown: Unknown = "error"
    threshold: CheckedThreshold | None = None  # pairs are sorted by label
    nan: Nan = "error"
    options: tuple[StateOptions, ...] = ()  # of the states besides decisions, in the order of the registry
    label_limit: int | None = field(default=None, compare=False)
    rows: Rows | None = field(default=None, compare=False)

    @classmethod
    def checked(
        cls,
        labels: Iterable[object] | None = None,
        unknown: Unknown = "error",
        threshold: Threshold = None,
        nan: Nan = "error",
        label_limit: int | None = None,
        rows: Rows | None = None,
        options: tuple[StateOptions, ...] = (),
    ) -> Config:
        """Build a configuration from the arguments of a user; an error says what is wrong with them."""
        check_choice("unknown", unknown, get_args(Unknown))
        names = None if labels is None else label_tuple(labels)
        if names is None and unknown != "error":
            unused = f"{option('unknown', unknown)} has no meaning without {wording('labels=[...]', '--labels')}"
            raise InputError(f"{unused}; give {option('labels')} or leave it out")
        checked = None if threshold is None else threshold_of(threshold, names, unknown)
        if label_limit is not None:
            label_limit = check_number("label_limit", label_limit, 1, 2**62)
        check_choice("nan", nan, get_args(Nan))
        check_choice("rows", rows, (*get_args(Rows), None))
        return cls(names, unknown, checked, nan, options, label_limit, rows)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states besides decisions."""
        return tuple(options.kind for options in self.options)

    @property
    def scored(self) -> bool:
        """Whether some state reads scores."""
        return any(options.reads == "scores" for options in self.options)

    def compared(self) -> Config:
        """The same without the fields that equality ignores."""
        plain = self.label_limit is None and self.rows is None
        return self if plain else replace(self, label_limit=None, rows=None)

    def options_of(self, state: str) -> StateOptions | None:
        """The options of a state; None if there is no such state."""
        return next((options for options in self.options if options.kind == state), None)

    @property
    def has_decisions(self) -> bool:
        """Whether predictions are binary, or become binary by a threshold."""
        return self.threshold is not None or not self.scored

    def differences(self, other: Config) -> list[str]:
        """The differences from ``other``, in words."""
        if self is other or self == other:
            return []
        pairs = [(words, getattr(self, name), getattr(other, name)) for name, words in _DIFFER.items()]
        unequal = [(words, *map(_readable, sides)) for words, *sides in pairs if sides[0] != sides[1]]
        result = [f"{words} ({quoted(mine)} and {quoted(theirs)})" for words, mine, theirs in unequal]
        if self.states != other.states:
            names = [" + ".join(("decisions", *each.states)) for each in (self, other)]
            result.append(f"states differ ({names[0]} and {names[1]})")
        else:
            for mine, theirs in zip(self.options, other.options, strict=True):
                result += mine.differences(theirs)
        return result


def _readable(value: Any) -> Any:
    """A choice as a user writes it: thresholds of labels as a mapping."""
    return dict(value) if isinstance(value, tuple) and value and isinstance(value[0], tuple) else value


def label_tuple(labels: Iterable[object]) -> tuple[Label, ...]:
    if isinstance(labels, str | bytes):
        string = quoted(labels)
        raise LabelError(f"labels must be a list of labels, not the string {string}; write labels=[{string}]")
    if isinstance(labels, AbstractSet | Mapping):
        unordered = f"labels must be in order, not a {type(labels).__name__}"
        advice = "sorted(...)"
        if isinstance(labels, Mapping):
            positions = all(isinstance(value, Integral) for value in labels.values())
            advice = f"sorted(labels, key={'labels.get' if positions else 'int'})"
            advice = advice if positions else f"[labels[key] for key in {advice}]"
        raise LabelError(f"{unordered}; give a list, for example {advice}")
    try:
        names = tuple(normalise(label) for label in labels)
    except LabelError as error:
        wrong, _, way = str(error).rpartition("; ")  # its advice about examples does not apply here
        raise LabelError(f"{option('labels')}: {wrong}; {way.partition(', or ')[0]}") from None
    except TypeError:
        raise LabelError(f"labels must be a list of labels, not {quoted(labels)}") from None
    if len(set(keys_of(names))) < len(names):
        twice = quoted(Counter(names).most_common(1)[0][0])
        raise LabelError(f"{option('labels')} holds {twice} twice; name each label once")
    return names


def threshold_of(threshold: Any, labels: tuple[Label, ...] | None, unknown: Unknown = "error") -> CheckedThreshold:
    """The argument ``threshold``, checked: one number, or one per label, in their order, as a mapping or a Series."""
    shape = tuple(getattr(threshold, "shape", (1,)))
    if hasattr(threshold, "iloc") and [*threshold.index] != [*range(len(threshold))]:
        threshold = dict(threshold)  # a Series whose index names labels
    if isinstance(threshold, Mapping):
        pairs = [(normalise(label), _number(value)) for label, value in threshold.items()]
    elif isinstance(threshold, AbstractSet):
        raise InputError(f"threshold must be a number, a mapping, or numbers in order, not the set {quoted(threshold)}")
    elif not isinstance(threshold, Iterable) or isinstance(threshold, str | bytes) or not shape:
        return _number(threshold)
    elif len(shape) > 1:
        raise InputError(f"threshold has shape {shape}; give a number, or a 1-D array of one per label")
    else:
        values = [_number(value) for value in threshold]
        if labels is None:
            declare = f"declare labels=[...] in the same order, such as range({len(values)}) for arrays"
            undeclared = f"threshold has {number_of(len(values), 'value')} but no labels are declared"
            raise InputError(f"{undeclared}; {declare}, or give a mapping")
        if len(values) != len(labels):
            sizes = f"threshold has {number_of(len(values), 'value')} for {number_of(len(labels), 'label')}"
            raise InputError(f"{sizes}; give one per label, or a mapping")
        pairs = list(zip(labels, values, strict=True))
    known, declared = {key_of(label) for label, _ in pairs}, frozenset(keys_of(labels or ()))
    if missing := [label for label in labels or () if key_of(label) not in known]:
        raise InputError(f"{option('threshold')} has no value for label {quoted(missing[0])}; give one per label")
    if labels is not None and unknown != "add":  # thresholds of labels that cannot occur decide nothing
        pairs = [(label, value) for label, value in pairs if key_of(label) in declared]
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])))


def _number(value: object) -> float:
    value = python_value(getattr(value, "threshold", value))  # a `Choice` of `best_thresholds` has one
    number = number_or_none(value)
    if number is None:
        raise InputError(f"{option('threshold')} must be a number or one number per label, not {quoted(value)}")
    if math.isnan(number):
        raise InputError(f"{option('threshold')} must be a number, not NaN")
    if number != value:
        inexact = f"threshold {quoted(value)} has no exact float64"
        raise InputError(f"{inexact}; round it first, so that it is clear what counts")
    return number + 0.0  # -0.0 and 0.0 decide alike, so they must have the same bytes
