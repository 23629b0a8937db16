"""A metric as a value: its entry in the catalogue, its average and its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from streameval.errors import MetricError, public
from streameval.schema.keywords import explain_methods
from streameval.schema.text import check_choice, number_or_none, quoted

if TYPE_CHECKING:
    from fractions import Fraction

Average: TypeAlias = Literal["micro", "macro", "weighted", "samples"] | None
Empty: TypeAlias = Literal["zero_division", "zero", "one", "nan", "drop"]

Choice: TypeAlias = float | int | str | bool | None
"""The value of a parameter."""

UNSET = "default"
"""Stands for the default average, since None is an average of its own."""

COMPLETE: list[Callable[[str, Any, Any, Any, Any], tuple[Any, ...]]] = []
"""Holds the function that checks and completes the fields of a spec; the catalogue, which imports this, adds it."""

AVERAGES: tuple[Average, ...] = ("micro", "macro", "weighted", "samples", None)


@public
@explain_methods
@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The full specification of a metric. Equal specs give equal values for equal states.

    ``MetricSpec("fbeta", "micro", parameters={"beta": 2})`` is checked like the name ``"fbeta_micro(beta=2)"``; what is
    left out has its default.

    Attributes
    ----------
    name, average
        The entry of the catalogue, and how values are combined; None gives one value per label.
    zero_division
        What 0/0 stands for: 0.0, 1.0, or NaN, which leaves it out of means.
    empty
        What an example, or a label, with nothing true and nothing predicted counts where its value is 0/0: as
        ``zero_division`` says, 0, 1, NaN (then a mean over it is NaN), or not at all.
    parameters
        The parameters of the entry, by name, in the order of the entry.
    key
        The name under which values are reported, and from which the spec can be built again. It follows from the rest.

    Raises
    ------
    MetricError
        If there is no such metric, average or parameter, or the key is that of another spec.
    """

    name: str
    average: Average = UNSET  # type: ignore[assignment]  # each field is completed
    zero_division: float = None  # type: ignore[assignment]
    empty: Empty = "zero_division"
    parameters: tuple[tuple[str, Choice], ...] = ()
    key: str = ""

    def __post_init__(self) -> None:
        key = self.key
        fields = COMPLETE[0](self.name, self.average, self.zero_division, self.empty, self.parameters)
        for name, value in zip(self.__slots__, fields, strict=True):
            object.__setattr__(self, name, value)
        if key not in ("", self.key):
            follows = f"{self.key!r}, which follows from the rest"
            raise MetricError(f"key must be {follows}, or be left out, not {quoted(key)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetricSpec) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key

    def parameter(self, name: str) -> Any:
        """The value of one parameter."""
        return dict(self.parameters)[name]


class Parameter(NamedTuple):
    """A parameter of a metric: one of ``choices``, or a bool if the default is a bool, or else a number in a range."""

    name: str
    default: Choice  # if it is None, None is allowed too
    low: float = -math.inf
    high: float = math.inf
    above: bool = False  # whether the lower end and infinity are excluded from the range
    whole: bool = False
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The allowed values as text."""
        if self.choices:
            return "{" + ", ".join(self.choices) + "}"
        if isinstance(self.default, bool):
            return "{false, true}"
        upper = ")" if math.isinf(self.high) and (self.above or self.whole) else "]"
        text = f"{'(' if self.above else '['}{self.low:g}, {self.high:g}{upper}"
        return f"{text} or none" if self.default is None else text

    def allowed(self, value: object, name: str) -> Choice:
        """The value, converted to the type of the parameter; `MetricError` if the metric ``name`` does not allow it."""
        what = f"{self.name} of {name}"
        if self.choices:
            check_choice(what, value, self.choices, MetricError)
            return cast("str", value)
        if isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise MetricError(f"{what} must be True or False, not {quoted(value)}")
            return value
        if value is None and self.default is None:
            return None
        number = number_or_none(value)
        if number is None or (math.isinf(number) and value not in (math.inf, -math.inf)):
            number = math.nan
        inside = (self.low < number < math.inf) if self.above else (self.low <= number)
        if not (inside and number <= self.high) or (self.whole and not number.is_integer()):
            kind = "an integer" if self.whole else "a number"
            raise MetricError(f"{what} must be {kind} in {self.range}, not {quoted(value)}")
        return int(number) if self.whole else number + 0.0


def as_float(value: Fraction | float | None) -> float:
    """The nearest float64; NaN for None, infinite if the value is too large."""
    if value is None:
        return math.nan
    if isinstance(value, float):
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number_text(value: float) -> str:
    """A float in the fewest characters that read back to the same float."""
    if math.isnan(value):
        return "nan"
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def choice_text(value: Choice) -> str:
    """The value of a parameter as names of metrics write it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else number_text(float(value))
