"""Besides the whole: parts of the data, and values along the stream."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streameval.report.model import Column, Kind, Report, Table
from streameval.report.page.charts import Chart, nice_axis
from streameval.report.page.markup import LONGEST, Section, escaped, label_string, number_text, table_html
from streameval.schema.text import cut

_TONES = "abcdefgh"
_POINTS = 600
_CHARTS = 24
_FEW = 30  # examples below which the metrics of a slice say little


def slice_section(slices: Sequence[tuple[str, Report]]) -> Section | None:
    """The chosen metrics of each slice, the worst first."""
    return _parts("slices", "Slices", "slice", "The metrics of each part of the data", slices)


def window_section(windows: Sequence[tuple[str, Report]]) -> Section | None:
    """The chosen metrics of each window."""
    return _parts("windows", "Windows", "window", "The metrics of recent examples", windows)


def _parts(name: str, title: str, what: str, caption: str, parts: Sequence[tuple[str, Report]]) -> Section | None:
    if not parts:
        return None
    sizes = [report.tables.examples for _, report in parts]
    columns = [
        Column(what, "label", [cut(part, LONGEST) for part, _ in parts]),
        Column("examples", "count", sizes, few=_FEW if name == "slices" else 0),
    ]
    by, rising = "", False
    for items in zip(*(report.values() for _, report in parts), strict=True):
        entry = items[0].entry
        # Of no examples there is no value.
        values = [
            math.nan if one.number is None or not size else one.number for one, size in zip(items, sizes, strict=True)
        ]
        if any(not math.isnan(value) for value in values):
            kind: Kind = "bar" if (entry.low, entry.high) == (0, 1) else "fraction"
            columns.append(Column(items[0].spec.key, kind, values, items[0].direction))
            if name == "slices" and not by and entry.bigger_is_better is not None:
                by, rising = items[0].spec.key, entry.bigger_is_better
    caption += f", the worst {by} first" if by else ""
    caption += f"; * has fewer than {_FEW} examples" if columns[1].few and min(sizes) < _FEW else ""
    table = Table(name, caption, columns, by, rising=rising)
    return Section(name, title, table_html(table), table)


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
        up = nice_axis("", min(finite), max(finite), near=True)
        chart = Chart(metric, f"{metric} along the stream.", axis, up, "wide", at=across)
        chart.note = f"{len(lines) - len(_TONES)} more lines are not drawn." if len(lines) > len(_TONES) else ""
        for (name, values), tone in zip(lines, _TONES, strict=False):
            drawn = [values[row] for row in rows]
            last = f"{name}: {number_text(drawn[-1], 'fraction')} at the end".removeprefix(": ")
            chart.line(name or metric, across, drawn, tone, marks=drawn, legend=last, thin=False)
        charts += chart.html()
    more = len(groups) - _CHARTS
    rest = f"<p>{escaped(f'{more} more metrics are not drawn.')}</p>" if more > 0 else ""
    return Section("course", "Along the stream", f'<div class="charts stream">{charts}</div>{rest}')


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
