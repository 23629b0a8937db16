"""Sheets as a table, as Markdown, as CSV, as JSON."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import orjson
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from streameval.cli.sheets import Cell, Sheet, Shown, number, sheets_of, values_of
from streameval.evaluation.evaluator import Evaluator
from streameval.schema.text import printable

__all__ = ["Format", "console_of", "csv_text", "drawn", "json_text", "markdown", "plain_json", "show", "table_of"]

_BAR = 12
_BLOCKS = " ▏▎▍▌▋▊▉█"
_PIPED = 160


class Format(StrEnum):
    """How results are written."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # not the end with code 1 that rich makes of it


def console_of(stream: Any) -> Console:
    """A console that neither colours nor cuts what is no terminal's."""
    # A pipe has no width, and cutting names there would lose them.
    return _Console(file=stream, width=None if stream.isatty() else _PIPED, highlight=False, soft_wrap=False)


def show(shown: Shown, how: Format, *, top: int, extra: dict[str, object] | None = None) -> None:
    """Write a result to standard output."""
    if how is Format.json:
        sys.stdout.write(json_text(shown, extra or {}))
    elif how is Format.csv:
        sys.stdout.write(csv_text(shown))
    elif how is Format.markdown:
        sys.stdout.write(markdown(sheets_of(shown, top=top), shown.headline))
    else:
        console = console_of(sys.stdout)
        console.print(drawn(sheets_of(shown, top=top), shown.headline, console))


# -- tables -----------------------------------------------------------------------------------------------------------


def drawn(sheets: Iterable[Sheet], headline: str, console: Console) -> Group:
    """All sheets below each other."""
    parts: list[RenderableType] = [Text(headline, style="bold")] if headline else []
    for sheet in sheets:
        if parts:
            parts.append(Text())
        parts.append(table_of(sheet, console))
        if sheet.note:
            parts.append(Text(f"  {sheet.note}", style="dim"))
    return Group(*parts)


def _fancy(console: Console) -> bool:
    return console.is_terminal and not console.options.ascii_only


def table_of(sheet: Sheet, console: Console) -> Table:
    """A sheet, with as many columns as there is room for."""
    fancy = _fancy(console)
    rows = _texts(sheet)
    widths = [max(map(len, (name, *(row[at] for row in rows)))) for at, name in enumerate(sheet.columns)]
    widths[0] = min(widths[0], 48)
    room, taken = console.width, [width + (3 if fancy else 2) for width in widths]
    main = [at for at, name in enumerate(sheet.columns) if at and name == sheet.bar]
    kept: list[int] = []
    for at in dict.fromkeys([0, *main, *range(len(widths))]):  # what has a bar matters most
        if room >= taken[at] or len(kept) < 2:
            room -= taken[at]
            kept.append(at)
        else:
            break
    bar = sheet.bar if fancy and room >= _BAR + 3 and len(kept) == len(widths) else None
    kept.sort()
    table = Table(
        box=box.SIMPLE_HEAD if fancy else None, show_edge=False, pad_edge=fancy, padding=(0, 1), header_style="bold"
    )
    for at in kept:
        name = sheet.columns[at]
        words = at == 0 or (name == "" and at)
        style = "cyan" if at == 0 else "dim" if words else None
        table.add_column(
            Text(name), justify="left" if words else "right", style=style, no_wrap=True, overflow="ellipsis",
            max_width=48 if at == 0 else None,
        )  # fmt: skip
        if name == bar:
            table.add_column("", no_wrap=True, width=_BAR)
    for row, cells in zip(sheet.rows, rows, strict=True):
        line = []
        for at in kept:
            line.append(_coloured(sheet.columns[at], cells[at]))
            if sheet.columns[at] == bar:
                line.append(_bar(row[at]))
        table.add_row(*line)
    hidden = len(widths) - len(kept)
    if hidden:
        table.caption = Text(f"{' ' * fancy}{hidden} more column{'s' * (hidden > 1)} in a wider terminal", style="dim")
        table.caption_justify = "left"
    return table


def _texts(sheet: Sheet) -> list[list[str]]:
    return [
        [number(cell, signed=name == "change") for name, cell in zip(sheet.columns, row, strict=True)]
        for row in sheet.rows
    ]


def _coloured(name: str, text: str) -> Text:
    return Text(text, style={"better": "green", "worse": "red"}.get(text, "") if name == "" else "")


def _bar(cell: Cell) -> Text:
    """A share as a bar in eighths of characters; nothing for what is no share."""
    if not isinstance(cell, float) or not 0 <= cell <= 1:
        return Text("")
    eighths = round(cell * _BAR * 8)
    full, part = divmod(eighths, 8)
    return Text("█" * full + (_BLOCKS[part] if part else ""), style="blue")


# -- for programs and documents ---------------------------------------------------------------------------------------


def markdown(sheets: Iterable[Sheet], headline: str) -> str:
    """Sheets as tables of Markdown."""
    lines = [headline] if headline else []
    for sheet in sheets:
        cells = [[_escaped(text) for text in row] for row in _texts(sheet)]
        names = [_escaped(name) for name in sheet.columns]
        widths = [max(3, *map(len, column)) for column in zip(names, *cells, strict=True)]
        words = [at == 0 or name == "" for at, name in enumerate(sheet.columns)]

        def line(row: list[str], widths: list[int] = widths, words: list[bool] = words) -> str:
            parts = [
                text.ljust(width) if left else text.rjust(width)
                for text, width, left in zip(row, widths, words, strict=True)
            ]
            return f"| {' | '.join(parts)} |"

        rule = ["-" * width if left else "-" * (width - 1) + ":" for width, left in zip(widths, words, strict=True)]
        lines += ["", line(names), line(rule), *map(line, cells)]
        if sheet.note:
            lines += ["", sheet.note]
    return "\n".join(lines).lstrip("\n") + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def csv_text(shown: Shown) -> str:
    """One line for each number: of what part of the examples, of which label, which metric."""
    parts = {"all": shown.whole, **shown.beside}
    if shown.sliced is not None:
        for part in shown.sliced.slices():
            parts[", ".join(f"{name}={value}" for name, value in part.where.items())] = part.evaluator
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["part", "examples", "label", "metric", "value"])
    for name, whole in parts.items():
        for key, value in values_of(whole, shown.metrics).items():
            if isinstance(value, dict):
                writer.writerows([name, whole.examples, label, key, each] for label, each in value.items())
            else:
                writer.writerow([name, whole.examples, "", key, "" if value is None else value])
    return text.getvalue()


def json_text(shown: Shown, extra: dict[str, object]) -> str:
    """The result as one object."""
    whole = shown.whole
    found: dict[str, object] = {"examples": whole.examples, "weight": whole.weight, "labels_seen": len(whole.labels)}
    found["metrics"] = values_of(whole, shown.metrics)
    for name, part in shown.beside.items():
        found["window"] = {"name": name, "examples": part.examples, "metrics": values_of(part, shown.metrics)}
    if shown.sliced is not None:
        found["slices"] = [
            {
                "where": {name: value if _plain(value) else str(value) for name, value in part.where.items()},
                "examples": part.evaluator.examples,
                "metrics": values_of(part.evaluator, shown.metrics),
            }
            for part in shown.sliced.slices()
        ]
    if isinstance(whole, Evaluator):
        report = whole.to_dict()
        found |= {key: report[key] for key in ("averages", "labels") if key in report}
    return plain_json({**found, **extra})


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | bool)


def plain_json(value: object) -> str:
    """JSON that any reader takes: what is no number is null, and keys are text."""
    return str(orjson.dumps(_finite(value), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE), "utf-8")


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= 2**63:  # labels may be integers of any size
        return str(value)
    return value if value is None or isinstance(value, bool | int | float) else printable(str(value))
