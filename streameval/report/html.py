"""The report as a fragment of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from streameval.report.model import PER_LABEL, Report, cell_text, count_text
from streameval.schema.labels import Label
from streameval.schema.text import printable

_ROWS = 20


def html_report(report: Report) -> str:
    """The chosen metrics, averages, and the labels with the largest support; without decisions only the metrics."""
    metrics = "".join(_row(item.spec.key, [cell_text(item.value)]) for item in report.single() if item.error is None)
    top = f"<div><p><b>streameval</b>: {report.headline}</p><table><tbody>{metrics}</tbody></table>"
    if not report.has_decisions:
        return top + "</div>"
    head = "".join(f"<th>{name}</th>" for name in PER_LABEL)
    averages = "".join(_row(name, map(cell_text, values)) for name, values in report.averages().items())
    positions, columns = report.most_frequent(_ROWS), report.label_values().values()
    labels = "".join(
        _row(report.labels[at], [*(cell_text(column[at]) for column in columns), count_text(report.support[at])])
        for at in positions
    )
    hidden = len(report.labels) - len(positions)
    more = f"<p>{hidden:,} labels of smaller support omitted</p>" if hidden else ""
    return (
        f"{top}<table><thead><tr><th></th>{head}</tr></thead><tbody>{averages}</tbody></table>"
        f"<table><thead><tr><th>label</th>{head}<th>support</th></tr></thead><tbody>{labels}</tbody></table>{more}</div>"
    )


def _row(name: Label, cells: Iterable[str]) -> str:
    return f"<tr><th>{escape(printable(name))}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
