"""The content of a report: sizes, metrics, averages and labels. Text, page and terminal only format it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.bounds import Bounds
from streameval.metrics.catalogue import MetricInfo, build_spec, catalogue, entry_of, evaluate, parse_spec
from streameval.metrics.spec import MetricSpec, as_float
from streameval.metrics.views import Views
from streameval.report.label_table import LabelTable
from streameval.schema.labels import Label
from streameval.schema.text import number_of
from streameval.states.views import Tables, cached_property, total

PER_LABEL = ("precision", "recall", "f1")  # the metrics of the table of labels, and of that of averages
AVERAGES = {
    "micro": "all labels together", "macro": "mean over labels",
    "weighted": "mean over labels by support", "samples": "mean over examples",
}  # fmt: skip
_LARGE = 1e15  # counts at or above it are rounded

Cell: TypeAlias = str | int | float | None
Kind: TypeAlias = Literal["label", "text", "count", "tenths", "fraction", "bar", "number", "change"]


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric with its value, or with the error of reading it, such as log loss of scores above 1."""

    spec: MetricSpec
    value: Any
    error: MetricError | None = None
    bounds: Mapping[Label | None, Bounds] = field(default_factory=dict)  # if scores are binned; keys as of `by_label`

    @property
    def entry(self) -> MetricInfo:
        return entry_of(self.spec.name)

    @property
    def by_label(self) -> dict[Label | None, Any]:
        """The values by label; a single value is under None."""
        return self.value if isinstance(self.value, dict) else {None: self.value}

    @property
    def number(self) -> float | None:
        """The value if it is one number."""
        return self.value if isinstance(self.value, float) else None

    @property
    def column(self) -> str:
        """The name of a column of the values by label."""
        return self.spec.key.replace("_per_label", "", 1)

    @property
    def direction(self) -> str:
        """Which values are better, in words; an empty string for a metric that describes the data."""
        return "" if self.entry.bigger_is_better is None else self.entry.direction

    def bounds_text(self, digits: int = 4) -> str:
        """Guaranteed bounds of a value of binned scores, rounded outwards; empty if both ends look alike."""
        if self.number is not None and math.isnan(self.number):
            return "undefined"
        if (bounds := self.bounds.get(None)) is None:
            return ""
        if bounds.exact or f"{bounds.low:.{digits}f}" == f"{bounds.high:.{digits}f}":
            return ""
        return "between {} and {} (guaranteed)".format(*outwards(bounds.low, bounds.high, digits))

    @property
    def averaged(self) -> str:
        """What the value is a mean over, in words, if the metric has more than one average."""
        return AVERAGES.get(self.spec.average or "", "") if len(self.entry.averages) > 1 else ""


class Report:
    """The content of a report about one state and the chosen metrics."""

    def __init__(
        self,
        views: Views,
        specs: Iterable[MetricSpec] = (),
        warnings: Sequence[str] = (),
        input_summary: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """``warnings`` were issued about the input, and ``input_summary`` says how the input was read."""
        self.views, self.specs, self.warnings, self.input_summary = views, tuple(specs), warnings, input_summary
        self.tables, self.has_decisions = views.tables, views.has_decisions
        self._values: dict[MetricSpec, MetricValue] = {}  # each metric is computed once, however often a page shows it

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels, in the order of all columns."""
        return self.tables.labels

    def view(self, state: str) -> Any | None:
        """The view that metrics of a state read; None if the state is not counted, or has no label or no example."""
        if not self.views.keeps(state) or not self.tables.examples or not self.labels:
            return None
        return self.views.named(state, "the report")

    @property
    def weight(self) -> float:
        return as_float(self.tables.weight * self.tables.unit)

    @property
    def unlabelled(self) -> int:
        """How many examples have no true label; 0 if this is not known, as for weighted examples."""
        if self.tables.weighted or not isinstance(self.tables, Tables):
            return 0
        outcomes = self.tables.by_example
        return total(self.tables.times[outcomes.tp + outcomes.fn == 0])

    @property
    def headline(self) -> str:
        """How many examples and labels were evaluated."""
        weight = f", total weight {count_text(self.weight)}" if self.tables.weighted else ""
        return f"{number_of(self.tables.examples, 'example')}{weight}, {number_of(len(self.labels), 'label')}"

    def value(self, metric: MetricSpec | str, *, strict: bool = False) -> MetricValue:
        """One metric; if it cannot be read, it has the error in place of a value, or, if ``strict``, raises it."""
        spec = parse_spec(metric) if isinstance(metric, str) else metric
        if spec not in self._values:
            self._values[spec] = self._read(spec)
        item = self._values[spec]
        if strict and item.error is not None:
            raise item.error
        return item

    def _read(self, spec: MetricSpec) -> MetricValue:
        try:
            if entry_of(spec.name).certify is None:
                return MetricValue(spec, evaluate(spec, self.views.of(spec)))
            bounds = self.views.certified(spec)
        except MetricError as error:
            return MetricValue(spec, None, error)
        if isinstance(bounds, Bounds):
            return MetricValue(spec, bounds.value, None, {None: bounds})
        return MetricValue(spec, {label: each.value for label, each in bounds.items()}, None, dict(bounds.items()))

    def values(self, metrics: Iterable[MetricSpec | str] | None = None, *, strict: bool = False) -> list[MetricValue]:
        """The values of ``metrics``, or of the metrics that the report was made for."""
        return [self.value(metric, strict=strict) for metric in (self.specs if metrics is None else metrics)]

    def reported(self, state: str) -> list[MetricValue]:
        """The metrics of a state that reports show by default, without values by label."""
        entries = (entry for entry in catalogue() if entry.state == state)
        return self.single(build_spec(entry.name, average=each) for entry in entries for each in entry.reported)

    def single(self, metrics: Iterable[MetricSpec | str] | None = None, *, strict: bool = False) -> list[MetricValue]:
        """Like `values`, but without metrics by label."""
        return [item for item in self.values(metrics, strict=strict) if item.number is not None or item.error]

    def averages(self, zero_division: float | None = None) -> dict[str, list[float]]:
        read = partial(build_spec, zero_division=zero_division)
        specs = {average: [read(name, average=average) for name in PER_LABEL] for average in AVERAGES}
        return {average: [as_float(self.value(spec).value) for spec in each] for average, each in specs.items()}

    @cached_property
    def counts(self) -> LabelTable:
        return LabelTable.of(self.tables)

    @cached_property
    def support(self) -> list[float]:
        return list(self.counts.support.tolist())

    @property
    def total_support(self) -> float:
        """The number of true labels in all examples; with weights their sum, correctly rounded."""
        units = sum((self.tables.by_label.tp + self.tables.by_label.fn).tolist())
        return as_float(units * self.tables.unit) if self.tables.weighted else units

    def per_label(self, spec: MetricSpec) -> list[float]:
        """The values of a metric without average, in the order of `labels`."""
        values = self.value(spec, strict=True).value
        return [values[label] for label in self.labels] if isinstance(values, dict) else []

    def label_values(self, zero_division: float | None = None) -> dict[str, list[float]]:
        return {name: self.per_label(build_spec(name, average=None, zero_division=zero_division)) for name in PER_LABEL}

    def columns(self, specs: Iterable[MetricSpec]) -> dict[str, list[object]]:
        """Columns of the labels, of their outcomes if there are decisions, and of each metric by label."""
        columns: dict[str, list[object]] = {"label": list(self.labels)}
        if self.has_decisions:
            columns = {name: list(values) for name, values in self.counts.to_dict().items()}
        for spec in specs:
            if None not in entry_of(spec.name).averages:
                raise MetricError(f"{spec.key} has no value per label; leave it out, or read it with get({spec.key!r})")
            each = of_each_label(spec)
            columns[MetricValue(each, None).column] = list(self.per_label(each))
        return columns

    def to_dict(self) -> dict[str, object]:
        """Sizes, the chosen metrics, averages and labels; see `Evaluator.to_dict`."""
        metrics = {item.spec.key: item.value for item in self.values(strict=True)}
        for key, value in metrics.items():
            if isinstance(value, dict):  # as records, because keys of JSON are strings, and 7 is not "7"
                metrics[key] = [{"label": label, "value": each} for label, each in value.items()]
        content: dict[str, object] = {"examples": self.tables.examples, "weight": self.weight, "metrics": metrics}
        if self.has_decisions:
            averages = self.averages().items()
            content["averages"] = {average: dict(zip(PER_LABEL, values, strict=True)) for average, values in averages}
            columns = self.columns(build_spec(name, average=None) for name in PER_LABEL)
            content["labels"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return content | ({"warnings": [*self.warnings]} if self.warnings else {})


def of_each_label(spec: MetricSpec) -> MetricSpec:
    """The same metric by label."""
    parameters = dict[str, object](spec.parameters)
    return build_spec(spec.name, average=None, zero_division=spec.zero_division, parameters=parameters)


ARROWS = {True: "↑", False: "↓", None: ""}
"""Arrows by `MetricInfo.bigger_is_better`."""


def arrow(metric: MetricSpec | str, *, up: bool = False) -> str:
    """An arrow to append to the name of a metric if lower values are better, or, with ``up``, if greater ones are."""
    spec = parse_spec(metric) if isinstance(metric, str) else metric
    better = entry_of(spec.name).bigger_is_better
    return f" {ARROWS[better]}" if better is False or (better and up) else ""


def worst_first(values: Sequence[float | None], spec: MetricSpec | None, support: Sequence[float] = ()) -> list[int]:
    """Positions from the worst value to the best; equal ones by falling support; undefined values last."""
    lower_is_better = spec is not None and entry_of(spec.name).bigger_is_better is False
    return largest_first(values, support, rising=not lower_is_better)


def largest_first(values: Sequence[float | None], support: Sequence[float] = (), *, rising: bool = False) -> list[int]:
    """Positions by falling (or ``rising``) values; equal ones by falling support, then by position; undefined last."""
    sign = 1 if rising else -1
    keys = [(True, 0.0) if value is None or value != value else (False, sign * value) for value in values]
    return sorted(range(len(values)), key=lambda at: (*keys[at], -support[at] if support else 0))


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: strings for labels and text, numbers for all else, None for a missing number."""

    name: str
    kind: Kind  # "bar" adds a bar to each value, "change" writes a sign
    values: Sequence[Any]
    note: str = ""  # what the name means
    unless: tuple[str, ...] = ()  # columns: if all of these are 0 in a row, the value is 0/0
    few: int = 0  # values below it are marked as few
    full: float = 1.0  # the value whose bar has full length
    longest: int = 40  # longer strings are cut in their cells


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names the rows, sorted by another."""

    name: str  # unique in a report
    caption: str
    columns: Sequence[Column]
    by: str = ""  # the name of the column that it is sorted by
    first: int = 100  # rows that the script shows at first
    rising: bool = False  # sorted by rising values

    @property
    def size(self) -> int:
        return len(self.columns[0].values)

    def order(self) -> list[int]:
        """The rows in their initial order; undefined values come last."""
        # Search from the right: columns that slice come first, and may have the name of a metric.
        values = next((column.values for column in reversed(self.columns) if column.name == self.by), None)
        return list(range(self.size)) if values is None else largest_first(values, rising=self.rising)


def parts_table(heads: Iterable[Column], values: Mapping[str, Sequence[float | None]]) -> Table:
    """A table of slices or windows, the worst first by micro F1, or else by the first metric with a direction."""
    columns, by, rising = list(heads), "", False
    for key, numbers in values.items():
        entry = entry_of(parse_spec(key).name)
        kind: Kind = "bar" if entry.is_fraction else "fraction"
        better = entry.bigger_is_better
        columns.append(Column(key, kind, numbers, "" if better is None else entry.direction))
        if better is not None and (not by or key == "f1_micro"):
            by, rising = key, better
    return Table(columns[0].name, "", columns, by, rising=rising)


def table_of_reports(head: str, parts: Sequence[tuple[str, Report]], *, strict: bool = False) -> Table:
    """A table of reports with their metrics; NaN for a report without examples, or, unless ``strict``, for an error."""
    reports = [report for _, report in parts]
    sizes, values = [report.tables.examples for report in reports], dict[str, list[float | None]]()
    for items in zip(*(report.values(strict=strict) for report in reports), strict=True):
        pairs = zip((item.number for item in items), sizes, strict=True)
        numbers = [number if size and number is not None else math.nan for number, size in pairs]
        if items[0].spec.average is not None and (strict or not all(map(math.isnan, numbers))):
            values[items[0].spec.key] = [*numbers]
    return parts_table([Column(head, "label", [name for name, _ in parts]), Column("examples", "count", sizes)], values)


def rows_of(columns: Iterable[Column], rows: Sequence[int]) -> list[Column]:
    """The columns, with only these rows, in this order."""
    return [replace(column, values=[column.values[row] for row in rows]) for column in columns]


def listed(names: Sequence[str], kinds: Sequence[Kind], rows: Iterable[Sequence[Cell]]) -> list[Column]:
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    return [Column(name, kind, values) for name, kind, values in zip(names, kinds, cells, strict=True)]


def cell_text(value: Cell, kind: Kind = "fraction", digits: int = 4) -> str:
    """A cell as plain text; fractions and changes have ``digits`` decimals, smaller changes one significant digit."""
    if value is None or isinstance(value, str):
        return "-" if value is None else value
    if kind == "count":
        return count_text(value)
    if kind == "tenths":
        return f"{value:,.1f}"
    if kind == "change" and not float(f"{value:.{digits}f}"):
        return f"{value:+.1g}" if value else "0"
    return f"{value:.4g}" if kind == "number" else f"{value:{'+' * (kind == 'change')}z.{digits}f}"


def outwards(low: float, high: float, digits: int = 5) -> tuple[str, str]:
    """Bounds with ``digits`` decimals, the lower one rounded down and the upper one up."""
    scale = 10.0**digits
    return f"{np.floor(low * scale) / scale:.{digits}f}", f"{np.ceil(high * scale) / scale:.{digits}f}"


def count_text(value: float) -> str:
    """A count or a sum of weights as text."""
    if abs(value) < _LARGE and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if 1000 <= abs(value) < _LARGE else f"{value:.4g}"
