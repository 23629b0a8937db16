"""Small pieces of HTML: strings, numbers, and tables that a script can sort."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any

from streameval.metrics.spec import as_float
from streameval.report.model import Kind, Table, cell_text
from streameval.schema.labels import Label
from streameval.schema.text import cut, cut_distinct, label_lines

MINUS = "\N{MINUS SIGN}"
LONGEST = 200  # characters of names
_STRINGS = ("label", "text")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading, and the table in it that the script sorts."""

    name: str
    title: str
    html: str
    table: Table | None = None


def table_section(
    title: str, table: Table, above: str = "", below: str = "", *, row: str = "", name: str = ""
) -> Section:
    """A section with a table; with ``row``, the script also shows fields that filter rows by text and support."""
    if row:
        above += (
            f'<form class="filter" data-filter="{table.name}" data-row="{row}" hidden role="search" '
            f'aria-label="{table.name}"><label>Find a {"label or slice" if row == "row" else row} '
            '<input type="search" name="text" autocomplete="off" spellcheck="false"></label>'
            '<label>Support at least <input type="number" name="least" min="0" step="1" inputmode="numeric"></label>'
            '<output aria-live="polite"></output></form>'
        )
    return Section(name or table.name, title, above + table_html(table) + below, table)


def label_strings(labels: Iterable[Label | None]) -> list[str]:
    """Labels on one line each; very long ones are cut, and only these may become equal."""
    return [cut(text, LONGEST) for text in label_lines(labels)]


def formatted(value: float, kind: Kind = "number") -> str:
    """A number as the page writes it; a dash if it is undefined."""
    if math.isnan(value):
        return "\N{EN DASH}"
    text = cell_text(value, kind) if math.isfinite(value) else "∞" if value > 0 else "-∞"
    return MINUS + text[1:] if text.startswith("-") else text


escaped = escape  # a string for HTML text or attributes
as_count = partial(formatted, kind="count")  # a count, or a sum of weights


def breakable(name: str) -> str:
    """A string for HTML that may break after an underscore, as names of metrics do in narrow columns."""
    return escaped(name).replace("_", "_<wbr>")


def safe_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def table_html(table: Table) -> str:
    """HTML of a table with all rows; the script hides those after the first ``table.first``."""
    heads, wide = "", len(table.columns)
    for column in table.columns:
        sort = f' aria-sort="{"as" if table.rising else "des"}cending"' if column.name == table.by else ""
        note = f' title="{escaped(column.note)}"' if column.note else ""
        heads += f'<th scope="col" class="{column.kind}"{sort}{note}>{breakable(column.name)}</th>'
    cells = list(zip(*(_cells(table, place) for place in range(wide)), strict=True))
    rows = [f'<tr data-row="{row}">{"".join(cells[row])}</tr>' for row in table.order()]
    body, more = "".join(rows[: table.first]), "".join(rows[table.first :])
    size = "wide" if wide > 8 else "medium" if wide > 4 else ""
    return (
        f'<div class="scroll {size}" role="region" tabindex="0" aria-labelledby="{table.name}-caption">'
        f'<table data-table="{table.name}"><caption id="{table.name}-caption">{escaped(table.caption)}</caption>'
        f'<thead><tr>{heads}</tr></thead><tbody>{body}</tbody><tbody class="more">{more}</tbody></table></div>'
    )


def table_data(table: Table) -> dict[str, object]:
    return {
        "first": table.first,
        "names": [column.name for column in table.columns],
        "kinds": [column.kind for column in table.columns],
        "values": [[_json_cell(value, column.kind) for value in column.values] for column in table.columns],
    }


def _cells(table: Table, place: int) -> Iterator[str]:
    """HTML of the cells of a column; long names lose their middle."""
    column = table.columns[place]
    if column.kind in _STRINGS:
        tag, end = ('th scope="row"', "th") if place == 0 else ("td", "td")
        names = [str(value) for value in column.values]
        for name, text in zip(names, cut_distinct(names, column.longest), strict=True):
            title = f' title="{escaped(name)}"' if text != name else ""
            yield f'<{tag} class="{column.kind}"{title}><bdi>{breakable(text)}</bdi></{end}>'
        return
    unless = [other.values for other in table.columns if other.name in column.unless]
    for row, value in enumerate(column.values):
        marks, style = str(column.kind), ""
        if column.kind in ("bar", "change") and not math.isnan(value):
            style = f' style="--v:{min(1.0, max(-1.0, value / column.full)):.3f}"'
        if unless and all(values[row] == 0 for values in unless):
            marks, style = marks + " void", style + ' title="0/0, counted as 0"'
        if column.few and value < column.few:
            marks, style = marks + " few", f' title="fewer than {column.few}"'
        yield f'<td class="{marks}"{style}>{formatted(as_float(value), column.kind)}</td>'


def _json_cell(value: Any, kind: Kind) -> object:
    if kind in _STRINGS or (isinstance(value, float) and math.isinf(value)):
        return str(value)
    return None if isinstance(value, float) and math.isnan(value) else value
