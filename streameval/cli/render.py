"""Results as tables of a terminal, as Markdown, as CSV, as JSON."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

import orjson
from rich import box
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from streameval.cli.results import Counts, Result, tables_of, values_of
from streameval.evaluation.evaluator import report_of
from streameval.report.model import Column, Table, cell_text
from streameval.schema.text import printable

_BAR = 12
_PIPED = 160
_NAMES = 48
_VERDICTS = {"better": "green", "worse": "red"}


Format = StrEnum("Format", ["table", "json", "csv", "markdown"])  # how results are written


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # not the end with code 1 that rich makes of it


def console_of(stream: Any) -> Console:
    """A console that neither colours nor cuts what is no terminal's."""
    # A pipe has no width, and cutting names there would lose them.
    return _Console(file=stream, width=None if stream.isatty() else _PIPED, highlight=False, soft_wrap=False)


def show(result: Result, how: Format, *, top: int, extra: dict[str, object] | None = None) -> None:
    """Write a result to standard output."""
    if how is Format.json:
        sys.stdout.write(json_bytes(_json(result) | (extra or {})).decode())
    elif not write_rows(("part", "examples", "label", "metric", "value"), _numbers(result), how):
        show_tables(tables_of(result, top=top), result.report.headline, how)


def show_tables(tables: list[Table], headline: str, how: Format) -> None:
    """Write tables to standard output, for people."""
    if how is Format.markdown:
        sys.stdout.write(_markdown(tables, headline))
    else:
        console = console_of(sys.stdout)
        console.print(drawn(tables, headline, console))


def write_rows(names: Sequence[str], rows: Iterable[Sequence[object]], how: Format) -> bool:
    """Write rows to standard output, if the format is one for programs; whether it is."""
    if how is Format.json:
        sys.stdout.write(json_bytes([dict(zip(names, row, strict=True)) for row in rows]).decode())
    elif how is Format.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([names, *rows])
    return how in (Format.json, Format.csv)


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
    widths = [max(map(len, (column.name, *strings))) for column, strings in zip(columns, cells, strict=True)]
    widths[0] = min(widths[0], _NAMES)
    room, needed = console.width, [width + (3 if fancy else 2) for width in widths]
    main = [at for at, column in enumerate(columns) if at and column.kind == "bar"]
    chosen: list[int] = []
    for at in dict.fromkeys([0, *main, *range(len(widths))]):  # what has a bar matters most
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
        words = _is_left(at, columns[at])
        drawing.add_column(
            Text(columns[at].name), justify="left" if words else "right", no_wrap=True, overflow="ellipsis",
            style="cyan" if at == 0 else "dim" if words else None, max_width=_NAMES if at == 0 else None,
        )  # fmt: skip
        rows.append([Text(text, _VERDICTS.get(text, "") if words and at else "") for text in cells[at]])
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


def _cells(column: Column) -> list[str]:
    return [cell_text(value, column.kind) for value in column.values]


def _is_left(at: int, column: Column) -> bool:
    """Whether a column holds words that stand to the left: names, and what explains the other columns."""
    return at == 0 or column.name == ""


def _markdown(tables: Iterable[Table], headline: str) -> str:
    lines = [headline] if headline else []
    for table in tables:
        columns = []
        for at, column in enumerate(table.columns):
            name, *cells = (text.replace("\\", "\\\\").replace("|", "\\|") for text in (column.name, *_cells(column)))
            width, left = max(3, len(name), *map(len, cells)), _is_left(at, column)
            rule = "-" * width if left else "-" * (width - 1) + ":"
            columns.append([text.ljust(width) if left else text.rjust(width) for text in (name, rule, *cells)])
        lines += ["", *(f"| {' | '.join(row)} |" for row in zip(*columns, strict=True))]
        lines += ["", table.caption] if table.caption else []
    return "\n".join(lines).lstrip("\n") + "\n"


def _numbers(result: Result) -> Iterator[tuple[object, ...]]:
    """One row for each number: of what part of the examples, of which label, which metric."""
    parts = {"all": result.counts, **result.windows}
    parts |= {", ".join(f"{name}={value}" for name, value in where.items()): part for where, part in result.slices()}
    for name, counts in parts.items():
        for key, value in values_of(report_of(counts, result.specs)).items():
            values = value.items() if isinstance(value, dict) else [("", "" if value is None else value)]
            yield from ((name, counts.examples, label, key, number) for label, number in values)


def _json(result: Result) -> dict[str, object]:
    def part(counts: Counts) -> dict[str, object]:
        return {"examples": counts.examples, "metrics": values_of(report_of(counts, result.specs))}

    content: dict[str, object] = {
        "examples": result.counts.examples, "weight": result.counts.weight, "labels_seen": len(result.counts.labels),
        "metrics": result.values,
    }  # fmt: skip
    for name, window in result.windows.items():
        content["window"] = {"name": name, **part(window)}
    if result.sliced is not None:
        content["slices"] = [{"where": where, **part(counts)} for where, counts in result.slices()]
    if result.has_labels:
        details = report_of(result.counts, ()).to_dict()
        content |= {key: details[key] for key in ("averages", "labels")}
    return content


def json_bytes(value: object) -> bytes:
    """JSON that any reader takes: what is no number is null, as orjson writes it, and keys are strings."""
    return orjson.dumps(_plain(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, int) and abs(value) >= 2**63:  # labels may be integers of any size
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else printable(str(value))
