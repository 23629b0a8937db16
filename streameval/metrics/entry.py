"""What the catalogue says of a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streameval.metrics.spec import AVERAGES, Average, Choice, MetricSpec

__all__ = ["Entry", "Parameter"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a metric: its default, and what it can be.

    A number in a closed range (``above`` excludes the lower end), a whole number if ``whole``, None as well if the
    default is None; one of ``choices`` if there are any; or true or false if the default is.
    """

    name: str
    default: Choice
    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """What it can be, as text."""
        if self.choices:
            return "{" + ", ".join(self.choices) + "}"
        if isinstance(self.default, bool):
            return "{false, true}"
        upper = ")" if math.isinf(self.high) and (self.above or self.whole) else "]"
        text = f"{'(' if self.above else '['}{self.low:g}, {self.high:g}{upper}"
        return f"{text} or none" if self.default is None else text


def _nothing(_: MetricSpec) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Entry:
    """One metric of the catalogue.

    Attributes
    ----------
    name, class_name
        What it is called as a string and as a class.
    summary, formula, source
        What it says in one sentence, in symbols (tp, fp, fn, tn are the outcomes of a label, of an example, or pooled,
        according to the average), and where it comes from.
    low, high
        The range of its values.
    bigger_is_better
        The direction; None for metrics that describe the data.
    averages, default
        The averages it has, and the one used when none is named.
    bare
        Whether the name without an average stands for the default average in reports.
    zero_division
        What 0/0 stands for unless chosen otherwise.
    parameters
        What else can be chosen.
    aliases
        Other names that build the same metric.
    state
        What it is read from: ``"decisions"``, ``"rankings"``, ``"curves"`` or ``"pairs"``.
    certify
        For metrics of curves: the value with bounds that contain the exact one.
    needs
        The options that its state must have, by name.
    """

    name: str
    class_name: str
    summary: str
    formula: str
    source: str
    read: Callable[[Any, MetricSpec], Any]
    low: float = 0.0
    high: float = 1.0
    bigger_is_better: bool | None = True
    averages: tuple[Average, ...] = AVERAGES
    default: Average = "macro"
    bare: bool = False
    zero_division: float = 0.0
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    state: str = "decisions"
    certify: Callable[[Any, MetricSpec], Any] | None = None
    needs: Callable[[MetricSpec], Mapping[str, Any]] = _nothing

    @property
    def direction(self) -> str:
        """The direction in words."""
        return {True: "higher is better", False: "lower is better", None: "describes the data"}[self.bigger_is_better]

    @property
    def scored(self) -> bool:
        """Whether it is read from scores, not from decisions."""
        return self.state in ("rankings", "curves")
