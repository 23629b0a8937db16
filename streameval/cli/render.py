"""Results as tables of a terminal, as Markdown, as CSV, as JSON."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Any

import orjson
from rich import box
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from streameval.cli.results import Counts, Result, tables_of
from streameval.evaluation.pages import report_of
from streameval.report.model import Column, Report, Table, cell_text
from streameval.schema.escaping import csv_cell, label_text, markdown_cell, visible_json
from streameval.schema.text import printable
from streameval.slices.values import OTHER

_BAR = 12
_PIPED = 160
_NAMES = 48
_VERDICTS = {"better": "green", "worse": "red"}
_KINDS = {str: "string", int: "integer", type(None): ""}  # of labels


Format = StrEnum("Format", ["table", "json", "csv", "markdown"])  # how results are written


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # not the end with code 1 that rich makes of it


def console_of(stream: Any) -> Console:
    """A console that neither colours nor cuts what is no terminal's."""
    # A pipe has no width, and cutting names there would lose them.
    return _Console(file=stream, width=None if stream.isatty() else _PIPED, highlight=False, soft_wrap=False)


def show(result: Result, how: Format, *, top: int, raw: bool = False, extra: dict[str, object] | None = None) -> None:
    """Write a result to standard output."""
    if how is Format.json:
        sys.stdout.write(json_bytes(_json(result) | (extra or {})).decode())
    elif how is Format.csv:
        by = result.sliced.by if result.sliced is not None else ()
        names = "part", "examples", "metric", "kind", "label", "value", *(f"by_{name}" for name in by)
        _write_csv(names, _numbers(result, by, raw), raw)
    else:
        show_tables(tables_of(result, top=top), result.report.headline, how)


def show_tables(tables: list[Table], headline: str, how: Format) -> None:
    """Write tables to standard output, for people."""
    if how is Format.markdown:
        sys.stdout.write(_markdown(tables, headline))
    else:
        console = console_of(sys.stdout)
        console.print(drawn(tables, headline, console))


def write_rows(names: Sequence[str], rows: Iterable[Sequence[object]], how: Format, *, raw: bool = False) -> bool:
    """Write rows to standard output, if the format is one for programs; whether it is."""
    if how is Format.json:
        sys.stdout.write(json_bytes([dict(zip(names, row, strict=True)) for row in rows]).decode())
    elif how is Format.csv:
        if "label" in names:
            at = names.index("label")
            names = [*names[:at], "kind", *names[at:]]
            rows = ([*row[:at], _KINDS[type(row[at])], *row[at:]] for row in rows)
        _write_csv(names, ([csv_cell(cell, raw=raw) for cell in row] for row in rows), raw)
    return how in (Format.json, Format.csv)


def _write_csv(names: Iterable[str], rows: Iterable[Sequence[object]], raw: bool) -> None:
    """Write rows of cells; all in quotes if one may hold a carriage return, which the module does not quote."""
    writer = csv.writer(sys.stdout, lineterminator="\n", quoting=csv.QUOTE_ALL if raw else csv.QUOTE_MINIMAL)
    writer.writerow([csv_cell(name, raw=raw) for name in names])
    writer.writerows(rows)


def drawn(tables: Iterable[Table], headline: str, console: Console) -> Group:
    """All tables below each other."""
    parts: list[RenderableType] = [Text(headline, style="bold")] if headline else []
    for table in tables:
        parts += [*([Text()] if parts else []), _drawn(table, console)]
        if table.caption:
            parts.append(Text(f"  {table.caption}", style="dim"))
    return Group(*parts)


def _drawn(table: Table, console: Console) -> RichTable:
    """A table, with as many columns as there is room for."""
    fancy = console.is_terminal and not console.options.ascii_only
    columns, cells = table.columns, [_cells(column) for column in table.columns]
    widths = [max(map(len, strings)) for strings in cells]
    labels = [at for at, column in enumerate(columns) if column.kind == "label"]
    for at in labels:
        widths[at] = min(widths[at], _NAMES)
    room, needed = console.width, [width + (3 if fancy else 2) for width in widths]
    main = [at for at, column in enumerate(columns) if at and column.kind == "bar"]
    chosen: list[int] = []
    for at in dict.fromkeys([*labels, *main, *range(len(widths))]):  # what has a bar matters most
        if room < needed[at] and len(chosen) >= 2:
            break
        room -= needed[at]
        chosen.append(at)
    omitted = len(widths) - len(chosen)
    bars = fancy and room >= _BAR + 3 and not omitted
    drawing = RichTable(
        box=box.SIMPLE_HEAD if fancy else None, show_edge=False, pad_edge=fancy, padding=(0, 1), header_style="bold"
    )
    rows: list[list[RenderableType]] = []
    for at in sorted(chosen):
        words, name = _is_left(columns[at]), at in labels
        drawing.add_column(
            Text(cells[at][0]), justify="left" if words else "right", no_wrap=True, overflow="ellipsis",
            style="cyan" if name else "dim" if words else None, max_width=_NAMES if name else None,
        )  # fmt: skip
        rows.append([Text(text, "" if name else _VERDICTS.get(text, "") if words else "") for text in cells[at][1:]])
        if bars and columns[at].kind == "bar":
            drawing.add_column("", no_wrap=True, width=_BAR)
            fractions = (cell if isinstance(cell, float) and 0 <= cell <= 1 else 0.0 for cell in columns[at].values)
            rows.append([Bar(1.0, 0.0, fraction, width=_BAR, color="blue") for fraction in fractions])
    for row in zip(*rows, strict=True):
        drawing.add_row(*row)
    if omitted:
        text = f"{' ' * fancy}{omitted} more column{'s' * (omitted > 1)} in a wider terminal"
        drawing.caption, drawing.caption_justify = Text(text, style="dim"), "left"
    return drawing


def _cells(column: Column, text_of: Callable[[object], str] = printable) -> list[str]:
    """The name of a column and its cells, as strings."""
    text = text_of if column.kind == "label" else partial(cell_text, kind=column.kind)
    return [printable(column.name), *map(text, column.values)]


def _is_left(column: Column) -> bool:
    """Whether a column holds words that stand to the left: names, and what explains the other columns."""
    return column.kind == "label" or column.name == ""


def _markdown(tables: Iterable[Table], headline: str) -> str:
    lines = [headline] if headline else []
    for table in tables:
        columns = []
        for column in table.columns:
            mixed = any(not isinstance(each, str) for each in column.values)
            name, *cells = map(markdown_cell, _cells(column, partial(label_text, mixed=mixed)))
            width, left = max(3, len(name), *map(len, cells)), _is_left(column)
            rule = "-" * width if left else "-" * (width - 1) + ":"
            columns.append([text.ljust(width) if left else text.rjust(width) for text in (name, rule, *cells)])
        lines += ["", *(f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))]
        lines += ["", table.caption] if table.caption else []
    return "\n".join(lines).lstrip("\n") + "\n"


def _numbers(result: Result, by: Sequence[str], raw: bool) -> Iterator[list[str]]:
    """A row for each number: of what part of the examples, which metric, which label; of a slice also its values."""
    parts: list[tuple[str, Counts, Mapping[str, object]]] = [("all", result.counts, {})]
    parts += [(name, window, {}) for name, window in result.windows.items()]
    parts += [("slice", counts, where) for where, counts in result.slices()]
    for part, counts, where in parts:
        values = [csv_cell(where[name], raw=raw, typed=True) if name in where else "" for name in by]
        for item in report_of(counts, result.specs).values():
            for label, number in item.by_label.items():
                row = part, counts.examples, item.spec.key, _KINDS[type(label)], label, number
                yield [*(csv_cell(cell, raw=raw) for cell in row), *values]


def _json(result: Result) -> dict[str, object]:
    def part(counts: Counts) -> dict[str, object]:
        return {"examples": counts.examples, **_values(report_of(counts, result.specs))}

    content: dict[str, object] = {
        "examples": result.counts.examples, "weight": result.counts.weight, "labels_seen": len(result.counts.labels),
        **_values(result.report),
    }  # fmt: skip
    for name, window in result.windows.items():
        content["window"] = {"name": name, **part(window)}
    if result.sliced is not None:
        # no value stands for all others, which have no slice of their own
        content["slices"] = [
            {"by": [*where], "where": None if OTHER in where.values() else where, **part(counts)}
            for where, counts in result.slices()
        ]
    if result.has_labels:
        details = report_of(result.counts, ()).to_dict()
        content |= {key: details[key] for key in ("averages", "labels")}
    content |= {"input": result.counts.input_summary} if result.counts.input_summary else {}
    return content | ({"warnings": [*result.counts.warnings]} if result.counts.warnings else {})


def _values(report: Report) -> dict[str, object]:
    """The value of each metric by name, and why some have none."""
    items = report.values()
    none = (item for item in items if item.error or (item.number is not None and math.isnan(item.number)))
    reasons = {item.spec.key: str(item.error or "it is 0/0") for item in none}
    return {"metrics": {item.spec.key: item.plain for item in items}, **({"errors": reasons} if reasons else {})}


def json_bytes(value: object) -> bytes:
    """JSON, in which what is no number is null, as orjson writes it."""
    text = orjson.dumps(_plain(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    return visible_json(text).encode()


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, int) and abs(value) >= 2**63:  # integers of any size, which orjson does not write
        return orjson.Fragment(format(Decimal(value), "f"))
    return value
