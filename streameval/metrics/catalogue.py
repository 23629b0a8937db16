"""The catalogue: the entries, which `metric` registers where formulas are defined, and how names are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from itertools import chain
from typing import Any, TypeAlias, TypeVar, cast, get_args

from streameval.errors import MetricError, above, option, public, wording
from streameval.metrics.spec import (
    AVERAGES,
    COMPLETE,
    UNSET,
    Average,
    Choice,
    Empty,
    MetricSpec,
    Parameter,
    as_float,
    choice_text,
    number_text,
)
from streameval.schema.keywords import refuse_unknown
from streameval.schema.labels import Label
from streameval.schema.text import check_choice, number_or_none, quoted, suggestion

FAMILIES = ("decisions", "rankings", "rankings_at", "areas", "curves", "calibration", "pairs", "label_sets")
"""The modules of this folder that come first in the catalogue, in its order."""

Reading: TypeAlias = Callable[[Any, MetricSpec], Any]
"""A metric as a function of the view of a state."""

Formula = TypeVar("Formula", bound=Callable[..., Any])

_AVERAGES: dict[str, Average] = {average or "per_label": average for average in AVERAGES}
_TEXT = re.compile(r"(?P<name>\w[\w\s.@-]*)(\((?P<choices>[^()]*)\))?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # between the words of the name of a class
_NUMBERED = (
    ("k", re.compile(r"(.+?)(?:@|_at_)(\d+)"), ("{}_at", "{}")),
    ("beta", re.compile(r"(f)_?([\d.]+)"), ("{}beta",)),
)
COMMA = re.compile(r",(?![^(]*\))")
"""The separator of names of metrics: a comma outside parentheses."""
_WORDS: dict[str, Choice] = {"true": True, "false": False, "none": None}


@public
@dataclass(frozen=True, slots=True, eq=False)
class MetricInfo:
    """One metric of the catalogue.

    Attributes
    ----------
    name, class_name, aliases
        Its name, the name of its class, and other names for the same metric.
    unclear
        Names that may mean this metric or another, and are refused.
    summary, formula, source, notes
        Its meaning in one sentence, in symbols (tp, fp, fn, tn are the outcomes of a label, of an example, or pooled,
        according to the average), its source, and further remarks.
    state
        What it is read from: ``"decisions"``, or another kind of state by its name.
    read
        The value as a function of the view of that state.
    low, high
        The range of its values with the default parameters.
    bigger_is_better
        Whether larger values are better; None for metrics that describe the data.
    averages, default, bare
        The averages it has, the default first; the default; and whether the name alone stands for it in reports.
    zero_division, parameters
        What 0/0 stands for unless chosen otherwise, and what else can be chosen.
    certify
        For metrics of curves: the value with bounds that contain the exact one.
    needs
        The options that its state must have for the parameters of a spec, by name.
    reported
        The averages of it that a report shows if its state is there.
    arguments
        Arguments of its class that few metrics have.
    """

    name: str
    class_name: str
    summary: str
    formula: str
    source: str
    state: str
    read: Reading = field(repr=False)
    low: float = 0.0
    high: float = 1.0
    bigger_is_better: bool | None = True
    averages: tuple[Average, ...] = AVERAGES
    default: Average = "macro"
    bare: bool = False
    zero_division: float = 0.0
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    certify: Reading | None = field(default=None, repr=False)
    needs: Callable[[MetricSpec], Mapping[str, object]] = field(default=lambda _: {}, repr=False)
    reported: tuple[Average, ...] = ()
    arguments: tuple[str, ...] = ()
    notes: str = ""

    @property
    def is_fraction(self) -> bool:
        """Whether all values are in [0, 1]."""
        return self.low >= 0 and self.high <= 1

    def __post_init__(self) -> None:
        in_order = sorted(self.averages, key=lambda average: average != self.default)
        object.__setattr__(self, "averages", tuple(in_order))

    @property
    def spec(self) -> MetricSpec:
        """The metric with its default average and parameters."""
        return build_spec(self.name, average=self.default)

    @property
    def direction(self) -> str:
        """Which values are better, in words."""
        return {True: "higher is better", False: "lower is better", None: "describes the data"}[self.bigger_is_better]

    def __reduce__(self) -> tuple[Any, ...]:
        return entry_of, (self.name,)  # pickle cannot write formulas, which are nested functions


_ENTRIES: dict[str, list[MetricInfo]] = {}  # by module, in the order in which it defines them
_BY_NAME: dict[str, MetricInfo] = {}  # by name and by alias
_BY_CLASS: dict[str, MetricInfo] = {}

_COUNTS = {"tp", "fp", "fn", "tn", "support", "confusion_matrix", "multilabel_confusion_matrix"}


def metric(
    name: str,
    summary: str,
    formula: str,
    source: str,
    *,
    state: str,
    class_name: str = "",
    read: Callable[[Any], Reading] | None = None,
    certify: Callable[[Any], Reading] | None = None,
    **choices: Any,
) -> Callable[[Formula], Formula]:
    """Decorator that enters a formula, with its docstring as notes; ``read`` or ``certify`` makes it a `Reading`."""
    kind = class_name or "".join(map(str.capitalize, name.split("_")))

    def register(function: Formula) -> Formula:
        bounded = None if certify is None else certify(function)
        reading = read(function) if read is not None else _values(cast("Reading", bounded))
        choices.setdefault("notes", cleandoc(function.__doc__ or ""))
        entry = MetricInfo(name, kind, summary, formula, source, state, reading, certify=bounded, **choices)
        for table, names in ((_BY_NAME, (name, *entry.aliases)), (_BY_CLASS, (kind,))):
            for known in names:
                if table.setdefault(known, entry) is not entry:
                    raise ValueError(f"{known!r} stands for {table[known].name} already, so not for {name}")
        _ENTRIES.setdefault(function.__module__, []).append(entry)
        return function

    return register


def _values(certify: Reading) -> Reading:
    """A reading of values only, without their bounds."""

    def read(view: Any, spec: MetricSpec) -> Any:
        bounds = certify(view, spec)
        return {label: part.value for label, part in bounds.items()} if isinstance(bounds, dict) else bounds.value

    return read


class Catalogue(tuple[MetricInfo, ...]):
    """All metrics, one a line."""

    __slots__ = ()
    _repr_html_ = above("report.notebook", "catalogue_html")

    def __repr__(self) -> str:
        return "\n".join(f"{entry.name:<30}{entry.summary}" for entry in self)


def catalogue() -> Catalogue:
    """All metrics, with their parameters, range, direction, formula and source.

    Examples
    --------
    >>> [entry.name for entry in catalogue()][:4]
    ['precision', 'recall', 'f1', 'fbeta']
    """
    modules = dict.fromkeys((*_modules(), *_ENTRIES))
    return Catalogue(entry for module in modules for entry in _ENTRIES.get(module, ()))


def _modules() -> Iterator[str]:
    """The names of the modules of this folder in the order of the catalogue; each is imported when it is reached."""
    from pkgutil import iter_modules

    path = import_module("streameval.metrics").__path__
    for family in chain(FAMILIES, (name for _, name, _ in iter_modules(path) if name not in FAMILIES)):
        yield import_module(f"streameval.metrics.{family}").__name__


def _first_known(names: Iterable[str], table: Mapping[str, MetricInfo] = _BY_NAME) -> str | None:
    """The first of some names that a table has; imports modules of the catalogue only until it is there."""
    return next((name for _ in chain(("",), _modules()) for name in names if name in table), None)


def _names() -> list[str]:
    entries = catalogue()
    return [*(entry.name for entry in entries), *(alias for entry in entries for alias in entry.aliases)]


def entry_of(name: object) -> MetricInfo:
    """The entry of a name or an alias, or `MetricError` with the nearest names."""
    if isinstance(name, str) and (name in _BY_NAME or _first_known((name,)) is not None):
        return _BY_NAME[name]
    word = _underscored(name) if isinstance(name, str) else name
    if isinstance(word, str) and word.removesuffix("_per_label") in _COUNTS:
        where = wording("Evaluator.per_label() returns {0}", "results have {0}, with --format csv too")
        raise MetricError(f"there is no metric {quoted(name)}; {where.format('the counts of each label')}")
    keys = [build_spec(entry.name, average=average).key for entry in catalogue() for average in entry.averages]
    alike = [known for known in _names() if f"{word}_".startswith(f"{known}_") or known.startswith(f"{word}_")]
    hint = suggestion(word, [*_names(), *keys], 3, 0.78) or suggestion(word, alike, 3, 0.0)
    hint = hint or wording("; see streameval.catalogue()", "; 'streameval metrics' lists all")
    raise MetricError(f"there is no metric {quoted(name)}{hint}")


def _underscored(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def entry_of_class(name: str) -> MetricInfo | None:
    """The entry with a class of this name, if there is one."""
    return None if _first_known((name,), _BY_CLASS) is None else _BY_CLASS[name]


def evaluate(spec: MetricSpec, tables: Any) -> float | dict[Label, float]:
    """The value of a metric: a number, or one per label. ``tables`` are the view of its state."""
    value = entry_of(spec.name).read(tables, spec)
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
    """Make a spec from choices, including those in the name; `MetricError` if one is wrong."""
    return MetricSpec(name, average, zero_division, empty, parameters or ())  # type: ignore[arg-type]  # each is checked


def _completed(
    name: str, average: str | None, zero_division: float | None, empty: str, parameters: Mapping[str, object]
) -> tuple[object, ...]:
    entry, named, choices = _read(name)
    is_name = isinstance(average, str | None)  # any other object, such as an array, is not compared
    if is_name and average == UNSET:
        average = named
    elif is_name and named not in (UNSET, average):
        raise MetricError(f"{quoted(name)} names an average, and average is {quoted(average)}; give one of them")
    try:
        chosen_by_name = dict(parameters)
    except (TypeError, ValueError):
        raise MetricError(f"parameters must be a mapping name -> value, not {quoted(parameters)}") from None
    choices = {"zero_division": zero_division, "empty": empty, **chosen_by_name, **choices}
    zero_division, empty = choices.pop("zero_division"), choices.pop("empty")
    chosen: Average = entry.default
    if not is_name or average != UNSET:
        if not is_name or average not in entry.averages:
            known = [str(each) for each in entry.averages]
            absent = f"{entry.name} has no average {quoted(average)}"
            listed = ", ".join(known).replace("None", "None (per_label in a name)")
            raise MetricError(f"{absent}; it has {listed}{suggestion(average, known)}")
        chosen = average
    elif (word := _underscored(name.partition("(")[0])) in entry.unclear:
        raise _unclear(name, word)
    check_choice("empty", empty, get_args(Empty), MetricError)
    values = tuple((p.name, p.allowed(choices.pop(p.name, p.default), entry.name)) for p in entry.parameters)
    if choices:
        known = [*(p.name for p in entry.parameters), "zero_division", "empty"]
        refuse_unknown(f"{entry.name} has", known, choices, of_metric=True)
    undefined = entry.zero_division if zero_division is None else _undefined(zero_division)
    return entry.name, chosen, undefined, empty, values, _key(entry, chosen, undefined, empty, values)


COMPLETE.append(_completed)


@lru_cache(maxsize=1024)
def parse_spec(text: str) -> MetricSpec:
    """The spec of a name such as ``"f1_macro"``, ``"micro F1"``, ``"ndcg@5"``, ``"f2"`` or ``"f1(empty=one)"``."""
    return build_spec(text)


def _read(text: object) -> tuple[MetricInfo, str | None, dict[str, Any]]:
    """The entry, the average and the choices in a name."""
    if not isinstance(text, str) or text in _BY_NAME:
        return entry_of(text), UNSET, {}
    match = _TEXT.fullmatch(text.strip())
    if match is None or len(text) > 200:
        names = [name.strip() for name in COMMA.split(text)]
        advice = f"write {names}" if len(names) > 1 else "write for example 'f1_macro' or 'fbeta_micro(beta=2)'"
        raise MetricError(f"{quoted(text)} is not a metric name; {advice}")
    choices: dict[str, str] = {}
    entry, average = _entry_in(match["name"], text, choices)
    for part in filter(None, (part.strip() for part in (match["choices"] or "").lower().split(","))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        word = _underscored(value.strip("'\"") if key == "average" else part)
        if average == UNSET and (key == "average" or word in _AVERAGES):
            average = {**_AVERAGES, "none": None}.get(word, word)
            continue
        if not equals or key in choices:
            raise MetricError(f"cannot read {part!r} in {quoted(text)}; write name=value, each name once")
        choices[key] = value
    known = {parameter.name: parameter for parameter in entry.parameters}
    return entry, average, {key: _choice_of(known.get(key), key, value) for key, value in choices.items()}


def _entry_in(words: str, text: str, choices: dict[str, str]) -> tuple[MetricInfo, str | None]:
    """The entry and the average of a name; a number in the name, as in "ndcg@5", is added to ``choices``."""
    split = _underscored(_CAMEL.sub("_", words))
    for name in dict.fromkeys((_underscored(words), split, split.replace("_score", ""))):  # as scikit-learn
        averages: dict[str, str | None] = {name: UNSET}
        for word, each in _AVERAGES.items():
            averages[name.removesuffix(f"_{word}")] = averages[name.removeprefix(f"{word}_")] = each
        averages[name] = UNSET
        if (known := _first_known(averages)) is not None:
            return _BY_NAME[known], averages[known]
        for stem, average in averages.items():
            for key, pattern, names in _NUMBERED:
                if number := pattern.fullmatch(stem):
                    for known in (each.format(number[1]) for each in names):
                        if known in _BY_NAME:
                            choices[key] = number[2]
                            return _BY_NAME[known], average
            if any(stem in entry.unclear for entry in catalogue()):
                raise _unclear(text, stem)
    return entry_of(text), UNSET


def _choice_of(parameter: Parameter | None, key: str, value: str) -> Choice:
    """The value of the text of a choice; any word is passed on, because choices are checked later."""
    if key == "empty" or (parameter is not None and parameter.choices):
        return value
    if parameter is not None and value in _WORDS:
        return _WORDS[value]
    try:
        return float(value)
    except ValueError:
        return value


def _unclear(text: str, name: str) -> MetricError:
    """The error about a name that has more than one meaning."""
    meanings = (f"{entry.spec} ({entry.summary[:-1]})" for entry in catalogue() if name in entry.unclear)
    return MetricError(f"{quoted(text)} has more than one meaning: {', '.join(meanings)}; name one of them")


def _undefined(value: object) -> float:
    number = number_or_none(value)
    if number is not None and (math.isnan(number) or number in (0.0, 1.0)):
        return number + 0.0
    raise MetricError(f"{option('zero_division')} must be 0, 1 or nan, not {quoted(value)}")


def _key(
    entry: MetricInfo, average: Average, zero_division: float, empty: str, parameters: tuple[tuple[str, Choice], ...]
) -> str:
    """The canonical name: with the average unless it is the only or usual one, and all choices that are no defaults."""
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
