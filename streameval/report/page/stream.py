"""Besides the whole: parts of the data, and values along the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streameval.report.model import Column, Report, Table
from streameval.report.page.charts import Chart, nice_axis
from streameval.report.page.markup import Section, escaped, label_string, label_strings, table_html
from streameval.schema.labels import Label

_TONES = "abcdefgh"
_POINTS = 600
_CHARTS = 24


def slice_section(slices: Sequence[tuple[Label, Report]]) -> Section | None:
    """The chosen metrics of each slice."""
    if not slices:
        return None
    columns = [
        Column("slice", "label", label_strings(name for name, _ in slices)),
        Column("examples", "count", [report.tables.examples for _, report in slices]),
    ]
    for items in zip(*(report.values() for _, report in slices), strict=True):
        values = [math.nan if item.number is None else item.number for item in items]
        if any(not math.isnan(value) for value in values):
            columns.append(Column(items[0].spec.key, "fraction", values))
    table = Table("slices", "The same metrics for parts of the data", columns, by="examples")
    return Section("slices", "Slices", table_html(table), table)


def stream_section(columns: Mapping[str, Sequence[object]]) -> Section | None:
    """One picture for each metric that was written down along the stream, with a line for each evaluator."""
    examples = [float(value) for value in columns.get("examples", ()) if isinstance(value, int | float)]
    groups: dict[str, list[tuple[str, list[float]]]] = {}
    for name, values in columns.items():
        if name not in ("examples", "time"):
            metric, line = _named(name)
            numbers = [float(value) if isinstance(value, int | float) else math.nan for value in values]
            groups.setdefault(metric, []).append((line, numbers))
    if not examples or not groups:
        return None
    stride = max(1, math.ceil(len(examples) / _POINTS))
    rows = sorted({*range(0, len(examples), stride), len(examples) - 1})
    across = [examples[row] for row in rows]
    axis = nice_axis("examples", 0.0, max(across), tight=True)
    charts = ""
    for metric, lines in list(groups.items())[:_CHARTS]:
        finite = [value for _, values in lines for value in values if math.isfinite(value)]
        if not finite:
            continue
        left = f" {len(lines) - len(_TONES)} more lines are not drawn." if len(lines) > len(_TONES) else ""
        last = [value for value in lines[0][1] if math.isfinite(value)][-1:]
        end = f" At the end {last[0]:.4f}." if len(lines) == 1 and last else ""
        chart = Chart(metric, f"{metric} along the stream.{end}", axis, nice_axis("", min(finite), max(finite)))
        chart.note = f"{end}{left}".strip()
        for (name, values), tone in zip(lines, _TONES, strict=False):
            chart.line(name or metric, across, [values[row] for row in rows], tone)
        charts += chart.html()
    more = len(groups) - _CHARTS
    rest = f"<p>{escaped(f'{more} more metrics are not drawn.')}</p>" if more > 0 else ""
    return Section("course", "Along the stream", f'<div class="charts">{charts}</div>{rest}')


def _named(column: str) -> tuple[str, str]:
    """The metric of a column, and which of its lines it is: an evaluator, a label, or both."""
    metric, line = column, ""
    if column.endswith("]") and " [" in column:
        start = column.rindex(" [")
        metric, line = column[:start], column[start + 2 : -1]
    if ": " in metric:
        metric, label = metric.split(": ", 1)
        line = f"{label_string(label)}, {line}" if line else label_string(label)
    return metric, line
