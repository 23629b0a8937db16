"""The report as a fragment of HTML, for notebooks."""

from __future__ import annotations

import math
from html import escape

from streameval.labels import Label
from streameval.report.text import COLUMNS, Values, averages_of, headline, label_rows, printable
from streameval.states.tables import Tables

__all__ = ["html_report"]

_SHOWN = 20


def html_report(tables: Tables, chosen: Values, *, decides: bool) -> str:
    """The chosen metrics, the averages, and the labels with the largest support."""
    columns = COLUMNS if decides else ()
    metrics = "".join(_row(spec.key, [value]) for spec, value in chosen if isinstance(value, float))
    head = "".join(f"<th>{name}</th>" for name in columns)
    averages = "".join(_row(name, values) for name, values in averages_of(tables)) if decides else ""
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{averages}</tbody></table>" if decides else ""
    rows = label_rows(tables, _SHOWN, columns)
    labels = "".join(_row(label, [*values, support]) for label, values, support in rows)
    hidden = len(tables.labels) - len(rows)
    more = f"<p>{hidden:,} labels of smaller support not shown</p>" if hidden else ""
    return (
        f"<div><p><b>streameval</b>: {headline(tables)}</p>"
        f"<table><tbody>{metrics}</tbody></table>{table}"
        f"<table><thead><tr><th>label</th>{head}<th>support</th></tr></thead><tbody>{labels}</tbody></table>{more}</div>"
    )


def _row(name: Label, values: list[float]) -> str:
    cells = "".join(
        f"<td>{'nan' if math.isnan(value) else f'{value:,}' if isinstance(value, int) else f'{value:.4f}'}</td>"
        for value in values
    )
    return f"<tr><th>{escape(printable(name))}</th>{cells}</tr>"
