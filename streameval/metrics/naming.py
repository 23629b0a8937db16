"""From names and choices to a `MetricSpec`, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast, get_args

from streameval.errors import MetricError
from streameval.metrics.averaging import as_float
from streameval.metrics.catalogue import CATALOGUE
from streameval.metrics.entry import Entry, Parameter
from streameval.metrics.spec import Average, Choice, Empty, MetricSpec, choice_text, number_text
from streameval.schema.labels import Label
from streameval.schema.text import number_or_none, quoted, suggestion

__all__ = ["ENTRIES", "UNSET", "build_spec", "evaluate", "parse_spec"]

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in CATALOGUE}
_ALIASES: dict[str, Entry] = {alias: entry for entry in CATALOGUE for alias in entry.aliases}
_SUFFIXES: dict[str, Average] = {
    "micro": "micro", "macro": "macro", "weighted": "weighted", "samples": "samples", "per_label": None,
}  # fmt: skip
_TEXT = re.compile(r"(?P<name>\w+)(\((?P<choices>[^()]*)\))?")
_EMPTY = get_args(Empty)

UNSET = "default"
"""Stands for the default average, since None is an average of its own."""


def evaluate(spec: MetricSpec, tables: Any) -> float | dict[Label, float]:
    """The value of a metric: a number, or one per label. ``tables`` are those of the state it is read from."""
    value = ENTRIES[spec.name].read(tables, spec)
    if isinstance(value, dict):
        return {label: part if type(part) is float else as_float(part) for label, part in value.items()}
    return as_float(value)


def build_spec(
    name: str,
    *,
    average: str | None = UNSET,
    zero_division: float | None = None,
    empty: str = "zero_division",
    parameters: Mapping[str, object] | None = None,
) -> MetricSpec:
    """Check every choice and make the spec, or raise `MetricError` with the nearest name."""
    entry = _entry(name)
    chosen: Average = entry.default
    if average != UNSET:
        if average not in entry.averages:
            known = [str(each) for each in entry.averages]
            raise MetricError(
                f"{entry.name} has no average {quoted(average)}; it has {', '.join(known)}{suggestion(average, known)}"
            )
        chosen = average
    if empty not in _EMPTY:
        raise MetricError(f"empty must be one of {', '.join(_EMPTY)}, not {quoted(empty)}{suggestion(empty, _EMPTY)}")
    given = dict(parameters or {})
    values = tuple((p.name, _allowed(p, given.pop(p.name, p.default), entry.name)) for p in entry.parameters)
    if given:
        wrong = next(iter(given))
        known = [p.name for p in entry.parameters]
        told = f"it has {', '.join(known)}" if known else "it has none"
        raise MetricError(f"{entry.name} has no parameter {wrong!r}; {told}{suggestion(wrong, known)}")
    undefined = entry.zero_division if zero_division is None else _undefined(zero_division)
    return MetricSpec(
        entry.name, chosen, undefined, cast("Empty", empty), values, _key(entry, chosen, undefined, empty, values)
    )


@lru_cache(maxsize=1024)
def parse_spec(text: str) -> MetricSpec:
    """The spec behind a name such as ``"f1_macro"`` or ``"fbeta_samples(beta=2, zero_division=nan)"``."""
    match = _TEXT.fullmatch(text.strip())
    if match is None or len(text) > 200:
        raise MetricError(f"{quoted(text)} is not a metric name; write for example 'f1_macro' or 'fbeta_micro(beta=2)'")
    name, average = _split(match["name"])
    choices: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in (match["choices"] or "").split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key in choices:
            raise MetricError(f"cannot read {part!r} in {quoted(text)}; write name=value, each name once")
        choices[key] = value
    empty, zero_division = choices.pop("empty", "zero_division"), choices.pop("zero_division", None)
    known = {parameter.name: parameter for parameter in _entry(name).parameters}
    return build_spec(
        name,
        average=average,
        zero_division=None if zero_division is None else _number("zero_division", zero_division, text),
        empty=empty,
        parameters={key: _said(known.get(key), key, value, text) for key, value in choices.items()},
    )


def _said(parameter: Parameter | None, key: str, value: str, text: str) -> Choice:
    """What the text of a parameter stands for."""
    if parameter is not None and parameter.choices:
        return value
    if parameter is not None and isinstance(parameter.default, bool) and value in ("true", "false"):
        return value == "true"
    if parameter is not None and parameter.default is None and value == "none":
        return None
    return _number(key, value, text)


def _number(key: str, value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise MetricError(f"{key} must be a number, not {value!r}, in {quoted(text)}") from None


def _split(name: str) -> tuple[str, str | None]:
    """Entry name and average of a string name."""
    if name in ENTRIES or name in _ALIASES:
        return name, UNSET
    for suffix, average in _SUFFIXES.items():
        stem = name.removesuffix("_" + suffix)
        if stem != name and (stem in ENTRIES or stem in _ALIASES):
            return stem, average
    known = [
        *ENTRIES,
        *_ALIASES,
        *(_key(e, a, e.zero_division, "zero_division", ()) for e in CATALOGUE for a in e.averages),
    ]
    raise MetricError(f"there is no metric {quoted(name)}{suggestion(name, known) or '; see streameval.catalogue()'}")


def _entry(name: object) -> Entry:
    found = (ENTRIES.get(name) or _ALIASES.get(name)) if isinstance(name, str) else None
    if found is None:
        hint = suggestion(name, [*ENTRIES, *_ALIASES])
        raise MetricError(f"there is no metric {quoted(name)}{hint or '; see streameval.catalogue()'}")
    return found


def _allowed(parameter: Parameter, value: object, name: str) -> Choice:
    """The value of a parameter in its own type, if it is one that it can have."""
    told = f"{parameter.name} of {name}"
    if parameter.choices:
        if not isinstance(value, str) or value not in parameter.choices:
            hint = suggestion(value, parameter.choices)
            raise MetricError(f"{told} must be one of {', '.join(parameter.choices)}, not {quoted(value)}{hint}")
        return value
    if isinstance(parameter.default, bool):
        if not isinstance(value, bool):
            raise MetricError(f"{told} must be True or False, not {quoted(value)}")
        return value
    if value is None and parameter.default is None:
        return None
    number = number_or_none(value)
    if number is None or (math.isinf(number) and value not in (math.inf, -math.inf)):
        number = math.nan
    inside = parameter.low < number < parameter.high if parameter.above else parameter.low <= number <= parameter.high
    if not inside or (parameter.whole and not number.is_integer()):
        kind = "a whole number" if parameter.whole else "a number"
        raise MetricError(f"{told} must be {kind} in {parameter.range}, not {quoted(value)}")
    return int(number) if parameter.whole else number + 0.0


def _undefined(value: object) -> float:
    number = number_or_none(value)
    if number is not None and math.isnan(number):
        return math.nan
    if number in (0.0, 1.0):
        return number + 0.0
    raise MetricError(f"zero_division must be 0.0, 1.0 or nan, not {quoted(value)}")


def _key(
    entry: Entry, average: Average, zero_division: float, empty: str, parameters: tuple[tuple[str, Choice], ...]
) -> str:
    """The canonical name: the average unless it goes without saying, then every choice that is not the default."""
    text = entry.name
    if len(entry.averages) > 1 and not (entry.bare and average == entry.default):
        text += "_" + (average or "per_label")
    defaults = {p.name: p.default for p in entry.parameters}
    choices = [f"{name}={choice_text(value)}" for name, value in parameters if value != defaults[name]]
    if number_text(zero_division) != number_text(entry.zero_division):
        choices.append(f"zero_division={number_text(zero_division)}")
    if empty != "zero_division":
        choices.append(f"empty={empty}")
    return f"{text}({', '.join(choices)})" if choices else text
