"""The report as a fragment of HTML, for notebooks."""

from __future__ import annotations

import math
from contextlib import suppress
from html import escape

from streameval.errors import MetricError
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings
from streameval.report.text import COLUMNS, averages_of, chosen, headline, label_rows
from streameval.schema.labels import Label
from streameval.schema.text import printable

__all__ = ["html_report"]

_SHOWN = 20


def html_report(readings: Readings, specs: tuple[MetricSpec, ...]) -> str:
    """The chosen metrics, the averages, and the labels with the largest support; the first alone without decisions."""
    tables = readings.tables
    metrics = ""
    for spec in specs:
        with suppress(MetricError):  # a notebook shows the rest
            metrics += "".join(_row(spec.key, [value]) for _, value in chosen(readings, (spec,)))
    top = f"<div><p><b>streameval</b>: {headline(tables)}</p><table><tbody>{metrics}</tbody></table>"
    if not readings.decides:
        return top + "</div>"
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    averages = "".join(_row(name, values) for name, values in averages_of(tables))
    rows = label_rows(tables, _SHOWN)
    labels = "".join(_row(label, [*values, support]) for label, values, support in rows)
    hidden = len(tables.labels) - len(rows)
    more = f"<p>{hidden:,} labels of smaller support not shown</p>" if hidden else ""
    return (
        f"{top}<table><thead><tr><th></th>{head}</tr></thead><tbody>{averages}</tbody></table>"
        f"<table><thead><tr><th>label</th>{head}<th>support</th></tr></thead><tbody>{labels}</tbody></table>{more}</div>"
    )


def _row(name: Label, values: list[float]) -> str:
    cells = "".join(
        f"<td>{'nan' if math.isnan(value) else f'{value:,}' if isinstance(value, int) else f'{value:.4f}'}</td>"
        for value in values
    )
    return f"<tr><th>{escape(printable(name))}</th>{cells}</tr>"
