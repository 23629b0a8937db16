"""Blocks of rows; and rows that are Python objects: anything with the columns as keys or as attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

from streameval.errors import InputError, naming, option
from streameval.inputs.forms import FRAMES, form_of
from streameval.schema.text import number_of, quoted
from streameval.tabular.columns import SEPARATORS, WIDE, Columns

_COLUMN = re.compile(r"column (['\"])(.*?)\1( of the truths)?")
_ROW = re.compile(r" \(row (\d+) of the batch\)")
_MANY = 100  # rows after which every key should have occurred
_AT_ONCE = 4096  # rows counted in one call: so many that the cost of the call is negligible


class RowError(InputError):
    """A row that cannot be read; ``column`` is the character with the fault, from 1, if this is known."""

    def __init__(self, text: str, column: int | None = None) -> None:
        super().__init__(text)
        self.column = column


class EmptyError(InputError):
    """A file of text that holds nothing, not even the names of its columns."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows: a table, a data frame or a list of objects, in which a `RowError` replaces an unreadable row."""

    rows: Any
    place: Callable[[int], str]  # says where a row is, such as ``file.jsonl:3``
    size: int = 0  # bytes that the rows take in their file
    sep: str | None = None  # the separator of labels in cells of text, unless the user chose one
    # If the truths are in another table: the place of each row's truth, and the other columns that only it has.
    truths: tuple[Sequence[Callable[[], str]], Collection[str]] = ((), ())

    def located(self, text: str, first: int = 0, rows: int = 1, column: int | None = None) -> str:
        """A message with the place of the row that it is about, or of that row's truth if it names a column there."""
        spoken = _ROW.search(text)
        row = first + (int(spoken[1]) if spoken else 0)
        places, names = self.truths
        column_there = (named := _COLUMN.match(text)) and (named[3] or named[2] in names)
        place = places[row]() if column_there else self.place(row)
        more = " and rows after it" * (rows > 1 and not spoken) if column is None else f":{column}"
        return f"{place}{more}: {_ROW.sub('', text)}"


def blocks_of(items: Iterable[object]) -> Iterator[Any]:
    """Each table as a block of its own, and runs of rows as lists."""
    source = iter(items)
    while block := list(islice(source, _AT_ONCE)):
        for tables, group in [(False, block)] if set(map(type, block)) == {dict} else groupby(block, is_table):
            yield from group if tables else [[*group]]


def filled(blocks: Iterator[Block], columns: Columns) -> Iterator[Block]:
    """With ``null="empty"``, add None for list columns that a mapping lacks; `InputError` for one that all lack."""
    lists = {name: None for name, role in columns.roles if role in WIDE and name == getattr(columns, role)}
    lists = {name: None for name in lists if not {".", "*"}.intersection(name)}
    if columns.null == "error" or columns.example is not None or not lists:
        yield from blocks
        return
    names, count = dict[Any, None](), 0
    for block in blocks:
        objects = [row for row in block.rows if isinstance(row, Mapping)] if isinstance(block.rows, list) else []
        names |= dict.fromkeys(chain.from_iterable(objects)) if objects else lists
        if (count := count + len(objects)) >= _MANY and not lists.keys() <= names.keys():
            break
        rows = [{**lists, **row} if isinstance(row, Mapping) else row for row in objects and block.rows]
        yield replace(block, rows=rows) if objects else block
    for name, role in columns.roles:
        if count and name in lists and name not in names:
            raise InputError(f"{block.place(0)}: {columns.missing(name, role, names)}")


def is_table(item: Any) -> bool:
    """Whether something is a table of many rows: of Arrow, or a data frame."""
    return form_of(item) in FRAMES


def read_rows(rows: list[Any], columns: Columns) -> dict[str, Any]:
    """The arguments of ``update_many`` for rows that are Python objects."""
    sides = {"actual": "y_true", "predicted": "y_pred", "mask": "mask", "scores": "scores"}
    arguments = {
        argument: _lists(rows, getattr(columns, role), role, columns)
        for role, argument in sides.items()
        if getattr(columns, role) is not None
    }
    if columns.scores is not None:
        scores = arguments.pop("scores")
        labels = arguments.get("y_pred", scores)
        cells = (_cell(score, columns) for score in scores)
        arguments["y_pred"] = [columns.scores_of(*row) for row in zip(labels, cells, strict=True)]
    if columns.weight is not None:
        arguments["weights"] = _numbers(rows, columns.weight, "weight", columns)
        if nulls := sum(value is None for value in arguments["weights"]):
            raise InputError(f"column {columns.weight!r} holds {number_of(nulls, 'null')}; every row needs a weight")
    where = {name: column_of(rows, name, "by") for name in columns.by}
    return arguments | {"null": columns.null} | ({"where": where} if where else {})


def column_of(rows: list[Any], name: str, role: str, place: Callable[[int], str] | None = None) -> list[Any]:
    """The value of each row in a column; an error says where the row is, if ``place`` is passed."""
    try:
        return list(map(itemgetter(name), rows))
    except (KeyError, IndexError, TypeError, ValueError):
        values = list[Any]()
    for number, row in enumerate(rows):
        with naming(place(number) if place else ""):
            values.append(_value(row, name, role))
    return values


def _value(row: Any, name: str, role: str, within: str = "") -> Any:
    keyed = isinstance(row, Mapping)
    outer, _, inner = name.partition(".")
    if keyed and name not in row and outer in row:
        return None if row[outer] is None else _value(row[outer], inner, role, f"{within}{outer}.")
    fields = (getattr(row, kind, ()) for kind in ("_fields", "__dict__", "__slots__"))
    names = list(row if keyed else next(filter(None, fields), ()))
    if not (keyed or names):
        what = "a row must be a mapping or have the columns as attributes"
        what = f"column {within[:-1]!r} must hold objects with {name!r}" if within else what
        raise InputError(f"{what}, not {quoted(row)}")
    if name not in names and (keyed or not hasattr(row, name)):
        raise Columns(name, name).missing(within + name, role, [within + str(known) for known in names])
    return row[name] if keyed else getattr(row, name)


def _numbers(rows: list[Any], name: str, role: str, columns: Columns) -> list[Any]:
    """The value of each row in a column; cells of strings become numbers."""
    values = column_of(rows, name, role)
    if columns.sep is None or not set(map(type, values)) <= {str}:
        return values
    import pyarrow as pa

    from streameval.tabular.cells import numbers_of

    numbers = numbers_of(pa.chunked_array([pa.array(values)]), name, flags=role not in ("scores", "weight"))
    return numbers.to_pylist()  # type: ignore[no-any-return]  # Arrow has no types


def _lists(rows: list[Any], name: Any, role: str, columns: Columns) -> list[Any]:
    """The labels of each row: from a column of lists, cells that are split, or wide columns."""
    wide = columns.wide(role, rows[0]) if isinstance(rows[0], Mapping) else None
    if wide is not None:
        for row in rows:
            if row.keys() != rows[0].keys() and columns.wide(role, row) != wide:
                differ = f"{name!r} names other columns in some rows: {quoted([*row], 300)}"
                raise InputError(f"{differ}; give all rows the same columns")
        parts = [(label, _numbers(rows, column, role, columns)) for column, label in wide.items()]
        return [{label: values[row] for label, values in parts} for row in range(len(rows))]
    values = column_of(rows, name, role)
    if str in set(map(type, values)) and (columns.sep is None or role != "scores"):
        if columns.sep is None:
            number, string = next(pair for pair in enumerate(values) if isinstance(pair[1], str))
            sep = next((one for one in "|" + SEPARATORS if one in string and string[0] not in "[{"), ",")
            advice = f"split strings with {option('sep', sep)} or another separator, or give lists"
            raise InputError(f"column {name!r} (row {number} of the batch) is the string {quoted(string)}; {advice}")
        from streameval.tabular.cells import list_of

        values = [list_of(value, columns.sep) if isinstance(value, str) else value for value in values]
    return values


def _cell(value: Any, columns: Columns) -> Any:
    """The scores in a cell; a string is parsed."""
    if not isinstance(value, str) or columns.sep is None:
        return value
    from streameval.tabular.cells import scores_of

    return scores_of(value, columns.sep, str(columns.scores), labelled=columns.predicted is None)
