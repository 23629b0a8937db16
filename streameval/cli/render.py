"""Results as tables for people, in a terminal or as Markdown, and as CSV and JSON."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, TypeAlias

from rich import box
from rich.bar import Bar
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from streameval.cli.outputs import CHANGES, NUMBERS, Format
from streameval.cli.settings import COLOR, DIGITS, WARNINGS, Color, is_terminal, note
from streameval.report.model import Column, Kind, Table, arrow, cell_text, largest_first, listed, parts_table, rows_of
from streameval.report.parts import COUNTS, Number, Numbers, Part, numbers_of, plain_number
from streameval.schema.labels import Label
from streameval.schema.text import VERSION, csv_cell, json_text, label_text, markdown_cell, number_of, printable
from streameval.slices.values import OTHER

_FIRST = ("f1_micro", "f1_macro")  # the first metrics of slices, unless the user chose metrics
_TOP = 3
_BAR = 12
_PIPED = 1_000_000  # columns; lines in a pipe must not be cut or broken, because programs read them
_NAMES = 48
_WORDS = 32  # the width in columns of cells with sentences
_WORDED = ("label", "text")  # kinds of columns that are aligned to the left

Row: TypeAlias = tuple[str, Label | None, str, Number]


@dataclass(frozen=True, slots=True)
class Document:
    """All that a command writes: parts, of which the first has all rows, and the source of the rows."""

    parts: Sequence[Part]
    headline: str
    source: Mapping[str, object]
    warnings: Sequence[str] = ()
    names: Sequence[str] = ()  # of the two results that are compared, if two are
    chosen: bool = False  # whether the user chose the metrics: then tables of slices have all
    notes: Sequence[str] = ()  # for standard error


def console_of(stream: Any) -> Console:
    """A console; output that goes to no terminal is not cut, and has colors only with ``--color always``."""
    system: Any = {Color.always: "standard", Color.never: None}.get(COLOR.get(), "auto")
    return Console(
        file=stream, width=None if is_terminal(stream) else _PIPED, highlight=False, soft_wrap=False,
        color_system=system, force_terminal=COLOR.get() is Color.always or None,
    )  # fmt: skip


def show(document: Document, how: Format, *, top: int = 20, raw: bool = False) -> None:
    """Write a document to standard output, and its notes to standard error."""
    parts, names = document.parts, CHANGES if document.names else NUMBERS
    for text in document.notes:
        note(text)
    if how is Format.json:
        sys.stdout.write(json_of(_content(document)))
    elif how is Format.table:
        show_tables(tables_of(document, top=top), document.headline)
    elif how is Format.csv:
        _write_csv(names, _cells_of(_rows(parts), raw=raw), raw)
    else:
        labels = set(_first(parts[0], top, "f1" if document.names else "support"))
        rows = [row for row in _rows(parts) if row[1] in labels or row[1] not in parts[0].labels]
        sys.stdout.write(_markdown(names, 3, _markdown_rows(rows), _omitted_labels(parts[0], top)))
    for metric, reasons in numbers_of(parts[0])["undefined"].items() if how in (Format.csv, Format.markdown) else ():
        note(f"{metric} is undefined{f': {reasons}' if isinstance(reasons, str) else ' for some labels'}")


def show_tables(tables: list[Table], headline: str) -> None:
    console = console_of(sys.stdout)
    with console.capture() as lines:
        console.print(drawn(tables, headline, console))
    sys.stdout.write(re.sub(" +$", "", lines.get(), flags=re.MULTILINE))


def write_rows(
    what: str, names: Sequence[str], rows: Iterable[Sequence[Any]], how: Format, raw: bool = False, **more: object
) -> bool:
    """Write rows, whose first cells are labels, to standard output, unless ``how`` is a table; whether it did."""
    rows = list(rows)
    mixed = any(not isinstance(row[0], str) for row in rows)
    if how is Format.json:
        sys.stdout.write(json_of({what: [dict(zip(names, row, strict=True)) for row in rows]} | more))
    elif how is Format.csv:
        _write_csv(names, ([csv_cell(cell, raw=raw, typed=mixed) for cell in row] for row in rows), raw)
    elif how is Format.markdown:
        numbers = sum(not isinstance(cell, str) for cell in rows[0][1:]) if rows else 0
        cells = (
            [label_text(row[0], mixed=mixed), *(cell_text(cell, digits=DIGITS.get()) for cell in row[1:])]
            for row in rows
        )
        sys.stdout.write(_markdown(names, len(names) - numbers, cells))
    return how is not Format.table


def _write_csv(names: Iterable[str], rows: Iterable[Sequence[object]], raw: bool) -> None:
    """Write rows of cells; ``raw`` ones all in quotes, because the module would not quote a carriage return."""
    writer = csv.writer(sys.stdout, lineterminator="\n", quoting=csv.QUOTE_ALL if raw else csv.QUOTE_MINIMAL)
    writer.writerow(names)
    writer.writerows(rows)


# -- for people -------------------------------------------------------------------------------------------------------


def tables_of(document: Document, *, top: int) -> list[Table]:
    """Tables of the metrics, of the slices and of the first labels."""
    every, *rest = document.parts
    if not any(every.sizes["examples"].cells.values()):
        return []
    tables = _metrics(every, [part for part in rest if part.where is None], document.names)
    slices = [part for part in rest if part.where is not None]
    for axis, group in groupby(slices, lambda part: tuple(part.where or ())):
        tables.append(_slices(axis, list(group), document.names, chosen=document.chosen))
    return tables + (_changed(every, top, document.names) if document.names else _labels(every, top))


def _single(part: Part) -> dict[str, Number]:
    return {metric: numbers[None] for metric, numbers in part.metrics.items() if None in numbers}


def _by_label(part: Part) -> dict[str, Numbers]:
    return {metric: numbers for metric, numbers in part.metrics.items() if numbers and None not in numbers}


def _metrics(every: Part, windows: list[Part], names: Sequence[str]) -> list[Table]:
    single = _single(every)
    columns = [Column("metric", "label", [key + arrow(key, up=True) for key in single])]
    columns += _values(list(single.values()), names, "all" if windows else "value")
    columns += [Column(one.scope, "fraction", [one.metrics[key][None].value for key in single]) for one in windows]
    bounds = [" to ".join(number.ends) if number.bounds else "" for number in single.values()]
    columns += [Column("guaranteed", "text", bounds)] if any(bounds) else []
    reasons = dict.fromkeys(number.reason for number in single.values() if number.reason)
    of = [", ".join(metric for metric, number in single.items() if number.reason == each) for each in reasons]
    notes = "; ".join(f"{metrics}: {reason}" for metrics, reason in zip(of, reasons, strict=True))
    for side, name in zip("ab", names):  # noqa: B905  # ``names`` is empty unless two states are compared
        notes = notes.replace(f" {side}: ", f" {name}: ")
    return [Table("metrics", notes, columns)] if single else []


def _values(numbers: Sequence[Number], names: Sequence[str], name: str = "value") -> list[Column]:
    """A column of values; or, if ``names`` of two sides are passed, the values of each side and the changes."""
    if not names:
        return [Column(name, "bar", [number.value for number in numbers])]
    return listed((*names, "change"), ("fraction", "fraction", "change"), ([*each.cells.values()] for each in numbers))


def _slices(axis: Sequence[str], parts: list[Part], names: Sequence[str], *, chosen: bool) -> Table:
    """A table of the slices by the columns ``axis``, in the order of `parts_table`: the worst first."""
    every, notes = list(_single(parts[0])), list[str]()
    metrics = every if chosen else sorted(every, key=lambda metric: metric not in _FIRST)[:_TOP]
    sides = [side for side in parts[0].sizes["examples"].cells if side != "change"]
    heads = [Column(name, "label", [(part.where or {})[name] for part in parts]) for name in axis]
    for side, name in zip(sides, names or [""], strict=True):
        sizes = [part.sizes["examples"].cells[side] for part in parts]
        heads.append(Column(f"examples {name}".strip(), "count", sizes))
    table = parts_table(heads, {metric: [part.metrics[metric][None].value for part in parts] for metric in metrics})
    columns = rows_of(table.columns, table.order())
    for at, metric in enumerate(metrics, len(heads)):
        name = f"{metric} change" if len(sides) > 1 else metric + arrow(metric, up=True)
        kind: Kind = "change" if len(sides) > 1 else "bar" if at == len(heads) else "fraction"
        columns[at] = replace(columns[at], name=name, kind=kind)
    if table.by:
        notes.append(f"worst {table.by}{' change' * (len(sides) > 1)} first")
    if len(every) > len(metrics):
        notes.append(f"--metrics shows others, such as {next(metric for metric in every if metric not in metrics)}")
    return Table("slices", "; ".join(notes), columns)


def _first(part: Part, top: int, count: str = "support") -> list[Any]:
    """At most ``top`` labels of a part: those with the largest ``count``, or the first if labels have no such count."""
    labels = list(part.labels)
    if len(labels) > top and count in part.labels[labels[0]]:
        labels = [labels[at] for at in largest_first([abs(part.labels[label][count].value or 0.0) for label in labels])]
    return labels[:top]


def _omitted_labels(part: Part, top: int) -> str:
    omitted = len(part.labels) - top
    return f"{number_of(omitted, 'more label')}; --top {len(part.labels)} shows all" if omitted > 0 else ""


def _labels(part: Part, top: int) -> list[Table]:
    chosen, columns = _first(part, top), _by_label(part)
    counts = [name for name in ("support", "predicted") if chosen and name in part.labels[chosen[0]]]
    if counts and not columns:
        names = [name for name in part.labels[chosen[0]] if name not in COUNTS]
        columns = {name: {label: part.labels[label][name] for label in chosen} for name in names}
    if not chosen or not columns:
        return []
    table = [Column("label", "label", chosen)]
    table += [Column(name, "count", [part.labels[label][name].value for label in chosen]) for name in counts]
    for name, numbers in columns.items():
        kind: Kind = "bar" if name == next(reversed(columns)) else "fraction"
        values = [numbers[label].value if label in numbers else None for label in chosen]
        table.append(Column(name.replace("_per_label", "", 1), kind, values))
    return [Table("labels", _omitted_labels(part, top), table)]


def _changed(part: Part, top: int, names: Sequence[str]) -> list[Table]:
    """For each metric by label, or for F1 if there is none: a table of the labels for which it changed most."""
    f1 = {"f1": {label: numbers["f1"] for label, numbers in part.labels.items() if "f1" in numbers}}
    tables = []
    for metric, numbers in (_by_label(part) or f1).items():
        changed = [(label, number) for label, number in numbers.items() if number.value or number.reason]
        changed.sort(key=lambda pair: -abs(pair[1].value or 0.0))
        if changed and top:
            omitted = len(changed) - top
            note = f"{number_of(omitted, 'more label')} with a change" if omitted > 0 else ""
            title = f"{metric.replace('_per_label', '', 1)} by label"
            labels = [label for label, _ in changed[:top]]
            values = _values([number for _, number in changed[:top]], names)
            tables.append(Table("labels", note, [Column(title, "label", labels), *values]))
    return tables


def drawn(tables: Iterable[Table], headline: str, console: Console) -> Group:
    parts: list[RenderableType] = [Text(headline, style="bold")] if headline else []
    for table in tables:
        for drawing in _drawn(table, console):
            parts += [*([Text()] if parts else []), drawing]
        if table.caption:
            parts.append(Padding(Text(table.caption, style="dim"), (0, 0, 0, 2), expand=False))
    return Group(*parts)


def _drawn(table: Table, console: Console) -> Iterator[RichTable]:
    """A table; if it is too wide, its columns are split into tables below each other, each with the names of rows."""
    fancy = console.is_terminal and not console.options.ascii_only
    columns, cells = table.columns, [_cells(column) for column in table.columns]
    names = [at for at, column in enumerate(columns) if column.kind == "label"]
    room_of_names = min(_NAMES, console.width // (2 * len(names) or 1))
    widest: dict[str, int] = {"label": room_of_names, "text": _WORDS} if fancy else {}
    widths = [
        min(max(map(cell_len, strings)) + (3 if fancy else 2), widest.get(column.kind, _PIPED))
        for column, strings in zip(columns, cells, strict=True)
    ]
    blocks: list[list[int]] = [[]]
    left = room = console.width - sum(widths[at] for at in names)
    for at in [at for at in range(len(columns)) if at not in names]:
        if blocks[-1] and widths[at] > left:
            blocks.append([])
            left = room
        left -= widths[at]
        blocks[-1].append(at)
    bars = fancy and left >= _BAR + 3 and len(blocks) == 1
    for block in blocks:
        drawing = RichTable(
            box=box.SIMPLE_HEAD if fancy else None, show_edge=False, pad_edge=fancy, padding=(0, 1), header_style="bold"
        )
        rows: list[list[RenderableType]] = []
        for at in [*names, *block]:
            kind = columns[at].kind
            drawing.add_column(
                Text(cells[at][0]), justify="left" if kind in (*_WORDED, "count") else "right", overflow="fold",
                no_wrap=kind not in _WORDED, max_width=room_of_names if fancy and kind == "label" else None,
                style={"label": "cyan", "text": "dim"}.get(kind),
            )  # fmt: skip
            broken = partial(_broken, width=room_of_names) if fancy and kind == "label" else str
            rows.append([Text(broken(text)) for text in cells[at][1:]])
            if bars and kind == "bar":
                drawing.add_column("", no_wrap=True, width=_BAR)
                fractions = (cell if isinstance(cell, float) and 0 <= cell <= 1 else 0.0 for cell in columns[at].values)
                rows.append([Bar(1.0, 0.0, fraction, width=_BAR, color="blue") for fraction in fractions])
        for row in zip(*rows, strict=True):
            drawing.add_row(*row)
        yield drawing


def _cells(column: Column) -> list[str]:
    text: Callable[[Any], str] = partial(cell_text, kind=column.kind, digits=DIGITS.get())
    if column.kind == "label":
        text = partial(label_text, mixed=not all(isinstance(value, str) for value in column.values))
    strings = [printable(column.name), *map(text, column.values)]
    if column.kind == "count":  # align the decimal points of sums of weights
        decimals = [0, *(len(number.lstrip("-0123456789,")) for number in strings[1:])]
        strings = [cell + " " * (max(decimals) - count) for cell, count in zip(strings, decimals, strict=True)]
        strings[0] = strings[0].rstrip()
        strings = [cell.rjust(max(map(len, strings))) for cell in strings]
    return strings


def _broken(name: str, width: int) -> str:
    """A name, broken into lines after underscores if it is wider than ``width``."""
    lines = [""]
    for part in re.split("(?<=_)", name):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _markdown(names: Sequence[str], lefts: int, rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table whose first ``lefts`` columns are aligned to the left, with a caption below."""
    columns = []
    for at, cells in enumerate(zip(names, *rows, strict=True)):
        name, *entries = map(markdown_cell, cells)
        width, side = max(map(cell_len, ("---", name, *entries))), "<" if at < lefts else ">"
        rule = "-" * width if side == "<" else "-" * (width - 1) + ":"
        columns.append([f"{cell:{side}{width + len(cell) - cell_len(cell)}}" for cell in (name, rule, *entries)])
    lines = [f"| {' | '.join(row)} |" for row in zip(*columns, strict=True)]
    return "\n".join(lines + (["", caption] if caption else [])) + "\n"


# -- one schema --------------------------------------------------------------------------------------------------------


def _rows(parts: Iterable[Part]) -> Iterator[Row]:
    """A row for each number: scope of its part, label, metric, number."""
    for part in parts:
        yield from ((part.scope, None, name, number) for name, number in part.sizes.items())
        for metric, numbers in part.metrics.items():
            yield from ((part.scope, label, metric, number) for label, number in numbers.items())
        for label, each in part.labels.items():
            yield from ((part.scope, label, name, number) for name, number in each.items())


def _cells_of(rows: Iterable[Row], *, raw: bool) -> Iterator[list[str]]:
    rows = list(rows)
    mixed = any(isinstance(label, int) for _, label, _, _ in rows)
    for scope, label, metric, number in rows:
        cell = csv_cell(label, raw=raw, typed=label is not None and (mixed or label == ""))
        values = (*number.cells.values(), *(number.bounds or (None, None)))
        yield [csv_cell(scope, raw=raw), cell, metric, *map(csv_cell, values)]


def _markdown_rows(rows: Sequence[Row]) -> Iterator[list[str]]:
    mixed = any(isinstance(label, int) for _, label, _, _ in rows)
    for scope, label, metric, number in rows:
        text = "" if label is None else label_text(label, mixed=mixed)
        usual: Kind = "count" if metric in COUNTS else "fraction"
        kinds: dict[str, Kind] = {} if metric in COUNTS else {"change": "change"}
        values = [cell_text(value, kinds.get(name, usual), DIGITS.get()) for name, value in number.cells.items()]
        yield [printable(scope), text, metric, *values, *number.ends]


def _content(document: Document) -> dict[str, object]:
    """A whole document for JSON; docs/cli.md describes the keys."""
    every, *rest = document.parts
    content = {"input": document.source, **numbers_of(every)}
    content["labels"] = [
        {"label": label, **{name: plain_number(number) for name, number in numbers.items()}}
        for label, numbers in every.labels.items()
    ]
    content["windows"] = [{"scope": part.scope, **numbers_of(part)} for part in rest if part.where is None]
    content["slices"] = [{**_where(part.where), **numbers_of(part)} for part in rest if part.where is not None]
    return content | {"warnings": [*dict.fromkeys([*WARNINGS.get(), *document.warnings])]}


def _where(where: Mapping[str, object]) -> dict[str, object]:
    """The values of a slice for JSON; null stands for `OTHER`, the values that have no slice of their own."""
    plain = {name: None if value is OTHER else value for name, value in where.items()}
    return {"by": plain, **({"other": True} if OTHER in where.values() else {})}


def write_line(document: Document) -> None:
    """Write a document as one line of JSON, and flush it."""
    sys.stdout.write(json_of(_content(document), indent=None))
    sys.stdout.flush()


def json_of(content: dict[str, object], indent: int | None = 2) -> str:
    """The JSON that a command writes; a number that is not finite is null."""
    return json_text({"schema": 1, "streameval": VERSION, **content}, indent) + "\n"
