"""Besides the whole: parts of the data, and values along the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streameval.kernel.types import FloatArray, IntArray
from streameval.report.model import Column, Kind, Report, Table
from streameval.report.page.charts import TONES, Chart, nice_axis
from streameval.report.page.markup import LONGEST, Section, label_strings, number_text, table_section
from streameval.report.page.runs import FEW
from streameval.schema.text import cut, number_of

_POINTS = 600
_CHARTS = 24
_TOGETHER = 4  # metrics in one picture
_MANY = 50  # rows from which on the first ones may lie outside a picture
_SCALE = 6  # how often the change of a line may fit into the height of its picture


def part_section(name: str, caption: str, parts: Sequence[tuple[str, Report]]) -> Section | None:
    """The chosen metrics of each slice, the worst first, or of each window."""
    if not parts:
        return None
    sizes, sliced = [report.tables.examples for _, report in parts], name == "slices"
    columns = [
        Column(name.removesuffix("s"), "label", [cut(part, LONGEST) for part, _ in parts]),
        Column("examples", "count", sizes, few=FEW if sliced else 0),
    ]
    by, rising = "", False
    for items in zip(*(report.values() for _, report in parts), strict=True):
        entry = items[0].entry  # of no examples there is no value
        numbers = [item.number if size else None for item, size in zip(items, sizes, strict=True)]
        values = [math.nan if number is None else number for number in numbers]
        if any(not math.isnan(value) for value in values):
            kind: Kind = "bar" if (entry.low, entry.high) == (0, 1) else "fraction"
            columns.append(Column(items[0].spec.key, kind, values, items[0].direction))
            if sliced and not by and entry.bigger_is_better is not None:
                by, rising = items[0].spec.key, entry.bigger_is_better
    caption += f", the worst {by} first" if by else ""
    caption += f"; * has fewer than {FEW} examples" if sliced and min(sizes) < FEW else ""
    return table_section(name.capitalize(), Table(name, caption, columns, by, rising=rising))


def stream_section(columns: Mapping[str, Sequence[object]]) -> Section | None:
    """Pictures of the metrics that were written down along the stream; see `_pictures`."""
    examples = [float(value) for value in columns.get("examples", ()) if isinstance(value, int | float)]
    lines: list[_Line] = []
    for name, values in columns.items():
        if name not in ("examples", "time"):
            numbers = np.array([value if isinstance(value, int | float) else math.nan for value in values], np.float64)
            lines.append(_Line(*_named(name), np.where(np.isfinite(numbers), numbers, math.nan)))
    lines = [line for line in lines if np.isfinite(line.values).any()]
    if not examples or not lines:
        return None
    rows = np.unique([*range(0, len(examples), max(1, math.ceil(len(examples) / _POINTS))), len(examples) - 1])
    pictures = _pictures(lines)
    charts = "".join(_chart(picture, np.array(examples), rows) for picture in pictures[:_CHARTS])
    more = len(pictures) - _CHARTS
    rest = f"<p>{number_of(more, 'more picture')} omitted.</p>" if more > 0 else ""
    return Section("course", "Along the stream", f'<div class="charts stream">{charts}</div>{rest}')


@dataclass(frozen=True, slots=True)
class _Line:
    """The values of a metric, and of which evaluator, label, or both, they are."""

    metric: str
    of: str
    values: FloatArray

    @property
    def ends(self) -> tuple[float, float]:
        """Its least and greatest value; of many without the first tenth, where values of few examples jump."""
        settled = self.values[len(self.values) // 10 :] if len(self.values) >= _MANY else self.values
        settled = settled if np.isfinite(settled).any() else self.values
        return float(np.nanmin(settled)), float(np.nanmax(settled))

    @property
    def span(self) -> float:
        """How far its values are apart."""
        return self.ends[1] - self.ends[0]


def _ends(lines: Sequence[_Line]) -> tuple[float, float]:
    return min(line.ends[0] for line in lines), max(line.ends[1] for line in lines)


def _pictures(lines: Sequence[_Line]) -> list[list[_Line]]:
    """One picture for each metric, with a line for each evaluator or label.

    Metrics of a single line stand together where their changes can be seen side by side.
    """
    groups: dict[str, list[_Line]] = {}
    for line in lines:
        groups.setdefault(line.metric, []).append(line)
    pictures: list[list[_Line]] = []
    for group in groups.values():
        like = next((each for each in pictures if len(group) == 1 and _comparable([*each, *group])), list[_Line]())
        if not like:
            pictures.append(like)
        like += group
    return pictures


def _comparable(lines: Sequence[_Line]) -> bool:
    """Whether lines are of different metrics of one evaluator, on a scale that shows how each of them changes."""
    if not len({line.metric for line in lines}) == len(lines) <= _TOGETHER or len({line.of for line in lines}) > 1:
        return False
    low, high = _ends(lines)
    return high - low <= _SCALE * min(line.span for line in lines)


def _chart(lines: list[_Line], examples: FloatArray, rows: IntArray) -> str:
    """Values along the stream; shaded, what lies between the points of a line, or between more lines than are drawn."""
    across, metrics = examples[rows], list(dict.fromkeys(line.metric for line in lines))
    title, (least, most) = ", ".join(metrics), _ends(lines)
    up = nice_axis("", least, most, near=True)
    low, high = min(up.low, least), max(up.high, most)  # as an axis ends a rounding error from a value
    axes = nice_axis("examples", 0.0, float(across.max()), tight=True), up
    chart = Chart(title, f"{title} along the stream.", *axes, "wide", at=across)
    starts = [np.flatnonzero((line.values < low) | (line.values > high)).max(initial=-1) + 1 for line in lines]
    if any(starts):
        first = number_of(int(examples[max(starts) - 1]), "example")
        chart.note = f"Values of the first {first} are left out where they would stretch the scale. "
    for line, start in zip(lines, starts, strict=True):
        line.values[:start] = math.nan
    if len(lines) > len(TONES):
        parts = [line.values for line in lines]
        chart.band(examples, np.fmin.reduce(parts), np.fmax.reduce(parts), "h")
        chart.note += f"The {len(TONES)} of {len(lines):,} lines that vary most. Shaded: all of them."
        lines = sorted(lines, key=lambda line: -line.span)[: len(TONES)]
    for line, tone in zip(lines, TONES, strict=False):
        drawn = line.values[rows]
        name = line.of if len(metrics) == 1 else ", ".join(filter(None, (line.metric, line.of)))
        if len(rows) < len(examples):
            chart.band(across, np.fmin.reduceat(line.values, rows), np.fmax.reduceat(line.values, rows), tone)
        last = f"{name}: {number_text(float(drawn[-1]), 'fraction')} at the end".removeprefix(": ")
        chart.line(name or title, across, drawn, tone, marks=drawn, legend=last, thin=False)
    return chart.html()


def _named(column: str) -> tuple[str, str]:
    """The metric of a column, and which of its lines it is: an evaluator, a label, or both."""
    metric, line = column, ""
    if column.endswith("]") and " [" in column:
        metric, line = column[:-1].rsplit(" [", 1)
    if ": " in metric:
        metric, label = metric.split(": ", 1)
        line = ", ".join(filter(None, (*label_strings([label]), line)))
    return metric, line
