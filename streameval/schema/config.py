"""What decides how examples are read: the label policy and the threshold. Objects merge only if these are equal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np

from streameval.errors import InputError, LabelError
from streameval.schema.labels import Label, in_order, normalise
from streameval.schema.text import number_or_none, quoted, suggestion

__all__ = [
    "PARTS", "STATES", "USUAL_PARTS", "Config", "Details", "Nan", "Part", "Threshold", "Ties", "Unknown",
    "checked_propensities",
]  # fmt: skip

Unknown: TypeAlias = Literal["error", "ignore", "add"]
Nan: TypeAlias = Literal["error", "missing"]
Ties: TypeAlias = Literal["shared", "last"]
Threshold: TypeAlias = float | tuple[tuple[Label, float], ...]

STATES = ("rankings", "curves", "pairs")
"""What can be remembered besides decisions."""

Part: TypeAlias = Literal["confusions", "contributions", "cooccurrence", "labelsets"]
PARTS: tuple[Part, ...] = ("confusions", "contributions", "cooccurrence", "labelsets")
"""What can be remembered of pairs."""

USUAL_PARTS: tuple[Part, ...] = ("confusions", "cooccurrence")
"""What is remembered of pairs where nothing more, or less, is asked for."""

_POLICIES = ("error", "ignore", "add")


@dataclass(frozen=True, slots=True)
class Details:
    """What is remembered of rankings and pairs beyond, or instead of, what usually is.

    Attributes
    ----------
    label_ranks
        Up to which rank hits are counted for each label.
    hit_cutoffs
        For which k average precision at k can be divided by the number of hits.
    gain_ranks
        Up to which rank propensity-scored gains are summed.
    inverse_propensities
        How much a hit of each label counts in them, sorted by label.
    parts
        What is remembered of pairs, in the order of `PARTS`; empty for `USUAL_PARTS`.
    """

    label_ranks: int = 0
    hit_cutoffs: tuple[int, ...] = ()
    gain_ranks: int = 0
    inverse_propensities: tuple[tuple[Label, float], ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """How examples are read.

    Attributes
    ----------
    labels
        The declared labels in column order, or None when the label set grows with the stream.
    unknown
        What happens to a label outside ``labels``: refused, dropped, or added.
    threshold
        None when predictions are decisions; a number, or one per label (sorted by label), when they are scores.
    nan
        What a score that is NaN means: an error, or a missing score.
    states
        What is remembered besides decisions, in the order of `STATES`.
    ties
        Which of two labels with equal scores ranks better: neither, or the later one.
    details
        What is remembered of rankings and pairs beyond, or instead of, what usually is.
    """

    labels: tuple[Label, ...] | None = None
    unknown: Unknown = "error"
    threshold: Threshold | None = None
    nan: Nan = "error"
    states: tuple[str, ...] = ()
    ties: Ties = "shared"
    details: Details = Details()

    @classmethod
    def checked(
        cls,
        labels: Iterable[object] | None,
        unknown: object,
        threshold: float | Mapping[Label, float] | Iterable[float] | None,
        nan: object = "error",
        states: Iterable[str] = (),
        ties: object = "shared",
        details: Details | None = None,
    ) -> Config:
        """Build a configuration from what a user wrote, or say what is wrong with it."""
        policy = cast("Unknown", _one_of("unknown", unknown, _POLICIES))
        names = None if labels is None else _label_tuple(labels)
        if names is None and unknown != "error":
            raise InputError(f"unknown={unknown!r} has no meaning without labels=[...]; give labels or leave it out")
        bound = None if threshold is None else _threshold(threshold, names, policy)
        kept = set(states)
        return cls(
            names,
            policy,
            bound,
            cast("Nan", _one_of("nan", nan, ("error", "missing"))),
            tuple(name for name in STATES if name in kept),
            cast("Ties", _one_of("ties", ties, ("shared", "last"))),
            details or Details(),
        )

    @property
    def scored(self) -> bool:
        """Whether something is remembered that needs scores."""
        return "rankings" in self.states or "curves" in self.states

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is remembered of pairs."""
        return (self.details.parts or USUAL_PARTS) if "pairs" in self.states else ()

    @property
    def decides(self) -> bool:
        """Whether predictions are decisions, or become decisions by a threshold."""
        return self.threshold is not None or not self.scored

    def differences(self, other: Config) -> list[str]:
        """What differs from ``other``, in words."""
        if self is other or self == other:
            return []
        found = []
        if self.labels != other.labels:
            found.append(f"labels differ ({quoted(self.labels)} and {quoted(other.labels)})")
        if self.unknown != other.unknown:
            found.append(f"unknown differs ({self.unknown!r} and {other.unknown!r})")
        if self.threshold != other.threshold:
            found.append(f"thresholds differ ({quoted(self.threshold)} and {quoted(other.threshold)})")
        if self.parts != other.parts and self.states == other.states:
            mine, theirs = (", ".join(config.parts) for config in (self, other))
            found.append(f"parts of pairs differ ({mine} and {theirs})")
        for name in ("nan", "states", "ties", "details"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if name == "details":
                mine, theirs = replace(mine, parts=()), replace(theirs, parts=())
            if mine != theirs:
                found.append(f"{name} differ{'' if name != 'nan' else 's'} ({mine!r} and {theirs!r})")
        return found


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        told = ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}"
        raise InputError(f"{name} must be {told}, not {quoted(value)}{suggestion(value, allowed)}")
    return value


def _label_tuple(labels: Iterable[object]) -> tuple[Label, ...]:
    if isinstance(labels, str | bytes):
        raise LabelError(f"labels must be a list of labels, not the string {quoted(labels)}; write labels=[{labels!r}]")
    if isinstance(labels, AbstractSet | Mapping):
        raise LabelError(
            f"labels must be in order, not a {type(labels).__name__}; give a list, for example sorted(...)"
        )
    try:
        names = tuple(normalise(label) for label in labels)
    except LabelError as error:
        raise LabelError(f"labels: {error}") from None
    except TypeError:
        raise LabelError(f"labels must be a list of labels, not {quoted(labels)}") from None
    seen: set[Label] = set()
    for name in names:
        if name in seen:
            raise LabelError(f"labels holds {name!r} twice; name each label once")
        seen.add(name)
    return names


def _threshold(
    threshold: float | Mapping[Label, float] | Iterable[float], labels: tuple[Label, ...] | None, unknown: Unknown
) -> Threshold:
    if isinstance(threshold, Mapping):
        pairs = [(normalise(label), _number(value)) for label, value in threshold.items()]
    elif isinstance(threshold, AbstractSet):
        raise InputError(f"threshold must be a number, a mapping, or numbers in order, not the set {quoted(threshold)}")
    elif (
        isinstance(threshold, str | bytes) or not isinstance(threshold, Iterable) or getattr(threshold, "ndim", 1) == 0
    ):
        return _number(threshold)
    else:
        values = [_number(value) for value in threshold]
        if labels is None or len(values) != len(labels):
            raise InputError(
                f"threshold has {len(values)} values but there are "
                f"{'no declared' if labels is None else len(labels)} labels; give one per label, or a mapping"
            )
        pairs = list(zip(labels, values, strict=True))
    given, declared = dict(pairs), frozenset(labels or ())
    if missing := [label for label in labels or () if label not in given]:
        raise InputError(f"threshold has no value for label {missing[0]!r}; give one per label")
    if labels is not None and unknown != "add":  # thresholds of labels that cannot occur decide nothing
        pairs = [(label, value) for label, value in pairs if label in declared]
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])))


def checked_propensities(given: Mapping[Label, float] | None) -> tuple[tuple[Label, float], ...]:
    """Inverse propensities, sorted by label, or what is wrong with them."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InputError(f"inverse_propensities must be a mapping label -> number, not {quoted(given)}")
    pairs = []
    for label, value in given.items():
        number = number_or_none(value)
        if number is None or not 0 < number < math.inf:
            raise InputError(
                f"the inverse propensity of {quoted(label)} must be a positive number, not {quoted(value)}"
            )
        pairs.append((normalise(label), number))
    return tuple(sorted(pairs, key=lambda pair: in_order(pair[0])))


def _number(value: object) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    number = number_or_none(value)
    if number is None:
        raise InputError(f"threshold must be a number or one number per label, not {quoted(value)}")
    if math.isnan(number):
        raise InputError("threshold must be a number, not NaN")
    if number != value:
        raise InputError(
            f"threshold {quoted(value)} has no exact float64; round it first, so that it is clear what counts"
        )
    return number + 0.0  # -0.0 and 0.0 decide alike, so they must have the same bytes
