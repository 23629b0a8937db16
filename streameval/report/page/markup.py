"""Small pieces of HTML: text, numbers, and tables that a script can sort."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, TypeAlias

from streameval.metrics.averaging import as_float
from streameval.schema.labels import Label
from streameval.schema.text import printable

__all__ = [
    "MINUS", "NOTHING", "Column", "Kind", "Section", "Table", "count_text", "escaped", "label_text", "label_texts",
    "number_text", "safe_json",
]  # fmt: skip

Kind: TypeAlias = Literal["label", "text", "count", "share", "bar", "number"]

MINUS = "\N{MINUS SIGN}"
NOTHING = "\N{EN DASH}"
"""Stands where a value is undefined."""

_LARGE = 1e15  # from here on a count is rounded
_LONGEST = 200
_LONG = 48  # what is longer may be cut in its cell


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading, and what the script must know for it."""

    name: str
    title: str
    html: str
    tables: dict[str, object] = field(default_factory=dict)


def escaped(text: str) -> str:
    """Text for HTML, within attributes too."""
    return escape(text, quote=True)


def label_text(label: Label | None) -> str:
    """A label on one line, cut where it is very long."""
    if label is None:
        return "no label"
    text = printable(label) or "(empty)"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def label_texts(labels: Iterable[Label | None]) -> list[str]:
    """All labels as text; strings that look like integers are in quotes where there are integers among the labels."""
    every = list(labels)
    mixed = any(isinstance(label, int) for label in every)
    return [
        f'"{label}"' if mixed and isinstance(label, str) and label.lstrip("-").isdigit() else label_text(label)
        for label in every
    ]


def count_text(value: float) -> str:
    """How many, or a sum of weights."""
    if not math.isfinite(value):
        return number_text(value)
    if abs(value) >= _LARGE:
        return f"{value:.4g}"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def number_text(value: float, kind: Kind = "number") -> str:
    """A number as it stands in the page; a dash where it is undefined."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if kind == "count":
        return count_text(value)
    text = f"{value:.4f}" if kind in ("share", "bar") else f"{value:.4g}"
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def safe_json(value: object) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name
        Its heading.
    kind
        How its values are written.
    values
        Strings for labels and text; numbers for everything else.
    note
        What the heading means, told where the pointer rests.
    unless
        Names of columns: where all of them are 0 the value is 0/0.
    """

    name: str
    kind: Kind
    values: Sequence[Any]
    note: str = ""
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names the rows, sorted by one of the others; of many rows the first are written.

    Attributes
    ----------
    name
        Unique in the page.
    caption
        What the table shows, for everyone and for screen readers.
    columns
        At least one.
    by
        The heading of the column that it is sorted by, from the greatest value down; "" for the order given.
    first
        How many rows are written at first; the script shows more.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    by: str = ""
    first: int = 100

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].values)

    def order(self) -> list[int]:
        """The rows as they are sorted at first; what is undefined comes last."""
        values = next((column.values for column in self.columns if column.name == self.by), None)
        if values is None:
            return list(range(self.rows))
        return sorted(range(self.rows), key=lambda row: (_undefined(values[row]), -_finite(values[row])))

    def html(self) -> str:
        """The table, complete up to a number of rows that a page can bear."""
        heads = "".join(self._head(column) for column in self.columns)
        body = "".join(self._row(row) for row in self.order()[: self.first])
        hidden = max(0, self.rows - self.first)
        rest = f'<p class="rest" data-rest="{self.name}">{hidden:,} more rows are not shown.</p>' if hidden else ""
        return (
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{self.name}-caption">'
            f'<table data-table="{self.name}"><caption id="{self.name}-caption">{escaped(self.caption)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{rest}"
        )

    def data(self) -> dict[str, object]:
        """The whole table for the script."""
        names = [column.name for column in self.columns]
        return {
            "first": self.first,
            "kinds": [column.kind for column in self.columns],
            "unless": [[names.index(name) for name in column.unless] for column in self.columns],
            "values": [
                [str(value) for value in column.values]
                if column.kind in ("label", "text")
                else [_plain(value) for value in column.values]
                for column in self.columns
            ],
        }

    def _head(self, column: Column) -> str:
        sort = ' aria-sort="descending"' if self.by and column.name == self.by else ""
        note = f' title="{escaped(column.note)}"' if column.note else ""
        return f'<th scope="col" class="{column.kind}"{sort}{note}>{escaped(column.name)}</th>'

    def _row(self, row: int) -> str:
        return f"<tr>{''.join(self._cell(place, column, row) for place, column in enumerate(self.columns))}</tr>"

    def _cell(self, place: int, column: Column, row: int) -> str:
        value = column.values[row]
        if column.kind in ("label", "text"):
            text = f"<bdi>{escaped(str(value))}</bdi>"
            tag, end = ('th scope="row"', "th") if place == 0 else ("td", "td")
            told = f' title="{escaped(str(value))}"' if len(str(value)) > _LONG else ""
            return f'<{tag} class="{column.kind}"{told}>{text}</{end}>'
        void = [other.values[row] == 0 for other in self.columns if other.name in column.unless]
        marks, style = str(column.kind), ""
        if column.kind == "bar" and not math.isnan(value):
            style = f' style="--v:{min(1.0, max(0.0, value)):.3f}"'
        if void and all(void):
            marks, style = marks + " void", style + ' title="0/0, counted as 0"'
        return f'<td class="{marks}"{style}>{number_text(as_float(value), column.kind)}</td>'


def _undefined(value: float) -> bool:
    return math.isnan(value)


def _finite(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _plain(value: float) -> float | int | str | None:
    """A number as JSON knows it."""
    if isinstance(value, int):
        return value
    if math.isnan(value):
        return None
    return str(value) if math.isinf(value) else value
