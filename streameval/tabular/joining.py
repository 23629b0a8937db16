"""Rows that belong together: those of one example in a long table, and those of two tables with equal keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, option, warn
from streameval.schema.text import number_of, quoted
from streameval.tabular.arrow import rows_of, table_of
from streameval.tabular.cells import is_string, numbers_of
from streameval.tabular.columns import SUFFIX, WIDE, Columns, Names
from streameval.tabular.rows import Block, RowError, column_of

_WRITTEN = re.compile(re.escape(repr(SUFFIX)[1:-1]) + "(['\"])")  # and the quotation mark after the name


@dataclass(frozen=True, slots=True)
class Side(Columns):
    """The columns to read from one of two joined tables; ``optional`` ones may be in either."""

    optional: tuple[str, ...] = ()
    role: str = "actual"  # the user's argument for the columns that this side calls ``actual``

    def missing(self, name: str, role: str, names: Iterable[object]) -> InputError:
        """As for `Columns`, but naming the arguments of the user: ``by`` of a side is the key of the join."""
        return super(Side, self).missing(name, {"by": "join", "actual": self.role}.get(role, role), names)

    def check_names(self, names: Iterable[Any]) -> list[str]:
        """The columns that are read, with the optional ones that this table has."""
        names = list(names)
        read = super(Side, self).check_names(names)
        return [*dict.fromkeys([*read, *(name for name in self.optional if name in names)])]


@dataclass(frozen=True, slots=True)
class Joined(Columns):
    """The columns of a table whose true labels are in another table; the column ``key`` joins their rows."""

    truth: Any = field(default=None, compare=False)
    key: str = ""
    sides: tuple[Columns, ...] = ()

    @classmethod
    def of(cls, columns: Columns, truth: object, key: str) -> Joined:
        """``columns``, but with ``actual`` and ``mask`` in the table ``truth``."""
        if not isinstance(key, str):
            raise InputError(f"{option('join')} must be the name of a column, not {quoted(key)}")
        options: dict[str, Any] = {"null": columns.null, "sep": columns.sep}
        options |= {"optional": (*columns.by, *filter(None, [columns.weight])), "by": (key,)}
        if wrong := next((name for name in columns.names if name.endswith(SUFFIX)), ""):
            raise InputError(f"the column {wrong!r} cannot be joined; rename it")
        role = "scores" if columns.predicted is None else "predicted"
        sides = (
            Side(getattr(columns, role), columns.predicted, columns.scores, role=role, **options),
            Side(columns.actual, columns.actual, mask=columns.mask, **options),
        )
        values: dict[str, Any] = {name: getattr(columns, name) for name in Columns.__dataclass_fields__}
        values |= {"actual": _renamed(columns.actual), "mask": columns.mask and _renamed(columns.mask)}
        return cls(**values, truth=truth, key=key, sides=sides)

    def describe(self, message: str) -> str:
        """As for `Columns`; a column of the truths has the name that it has in its own table, without `SUFFIX`."""
        return _WRITTEN.sub(r"\1 of the truths", super(Joined, self).describe(message))

    def names_for(self, role: str, names: Iterable[Any]) -> list[str]:
        """The columns that a pattern may match: those of the table that has this role."""
        own = [name for name in super(Joined, self).names_for(role, names) if name != self.key]
        return [name for name in own if name.endswith(SUFFIX) == (role in ("actual", "mask"))]


def _renamed(names: Names) -> Names:
    return names + SUFFIX if isinstance(names, str) else tuple(name + SUFFIX for name in names)


class _Keys:
    """The keys of one table: for (type, value) of each, the number of its row and a function that says its place."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0
        self.rows: dict[tuple[type, Any], tuple[int, Callable[[], str]]] = {}

    def add(self, block: Block) -> list[tuple[type, Any]]:
        """The keys of the next rows; `InputError` if a key is in two rows."""
        rows, name = block.rows, self.name
        is_list = isinstance(rows, list)
        values = column_of(rows, name, "join", block.place) if is_list else rows.column(name).to_pylist()
        for row, value in enumerate(values):
            if isinstance(value, list | dict):
                raise InputError(f"{block.place(row)}: {quoted(value)} is not a key; join by strings or integers")
            if (type(value), value) in self.rows:
                both = f"{self.rows[type(value), value][1]()} and {block.place(row)}"
                raise InputError(f"the key {quoted(value)} of column {self.name!r} is in two rows, {both}; keep one")
            if value is not None and (value or block.sep is None):  # an empty cell of CSV is no key
                self.rows[type(value), value] = self.count + row, partial(block.place, row)
        self.count += len(values)
        return [(type(value), value) for value in values]

    def example(self) -> str:
        (_, value), (_, place) = next(iter(self.rows.items()))
        return f"{quoted(value)} ({place()})"


def inner_join(blocks: Iterable[Block], truths: Iterable[Block], columns: Joined) -> Iterator[Block]:
    """The rows whose keys are in both tables; holds all truths in memory, and warns of rows without a partner."""
    keys, known, matched = _Keys(columns.key), _Keys(columns.key), 0
    parts = [_checked(block, columns.sides[1]) for block in truths]
    for part in parts:
        known.add(part)
    if not known.count:
        raise InputError("the table of truths has no rows")
    tables = [part.rows for part in parts if not isinstance(part.rows, list)]
    names = [columns.sides[1].check_names(table.column_names) for table in tables]
    kinds = {str(table.select(each).schema.types) for each, table in zip(names, tables, strict=True)}
    if len(tables) == len(parts) and len(kinds) == 1:
        truth: Any = _table(parts, columns.sides[1])
    else:  # Arrow would convert all to one type, and integer labels to floats, which are no labels
        truth = [row for part in parts for row in (part.rows if isinstance(part.rows, list) else rows_of(part.rows))]
    for block in (_checked(block, columns.sides[0]) for block in blocks):
        partners = {row: known.rows[key] for row, key in enumerate(keys.add(block)) if key in known.rows}
        if partners:
            chosen, (taken, places) = [*partners], zip(*partners.values(), strict=True)
            whole, own = _merged(_taken(block.rows, chosen), _taken(truth, [*taken]), columns, places)
            yield Block(whole, partial(_chosen, block, chosen), block.size, block.sep or parts[0].sep, (places, own))
        matched += len(partners)
    if not matched and keys.rows and known.rows:
        types = [{kind for kind, _ in each.rows} for each in (keys, known)]
        one = "integers" if types[0] | types[1] == {int, float} else "strings"
        advice = f"; keys are compared with their type: write both as {one}" * types[0].isdisjoint(types[1])
        some = f"column {columns.key!r} has keys such as {keys.example()} and {known.example()}"
        raise InputError(f"no row has a truth: {some}{advice}")
    if keys.count + known.count > 2 * matched:
        unmatched = {"rows without a truth": keys.count - matched, "truths without a row": known.count - matched}
        counts = ", ".join(f"{what}: {count:,}" for what, count in unmatched.items() if count)
        warn(f"{counts}; {number_of(matched, 'row')} {'is' if matched == 1 else 'are'} counted")


def _taken(rows: Any, places: list[int]) -> Any:
    return [rows[place] for place in places] if isinstance(rows, list) else rows.take(places)


def _merged(rows: Any, truths: Any, columns: Joined, places: Sequence[Callable[[], str]]) -> tuple[Any, list[str]]:
    """Rows with the columns of their truths, a table if both are; and the columns that only the truths have."""
    names, have = (list(part[0] if isinstance(part, list) else part.column_names) for part in (truths, rows))
    named = [(name, role) for name, role in columns.sides[1].roles if role in ("actual", "mask")]
    roles = {old: role for name, role in named for old in columns.sides[1].wide(role, names) or [name]}
    renamed = {old: old + SUFFIX for old in roles}
    own = [name for name in (*columns.by, columns.weight or "") if name in names and name not in have]
    renamed |= {name: name for name in own}
    if isinstance(rows, list) or isinstance(truths, list):  # a table would convert mixed values to one type
        lists = [part if isinstance(part, list) else rows_of(part) for part in (rows, truths)]
        values = {
            new: column_of(lists[1], old, roles.get(old, "truth"), lambda row: places[row]())
            for old, new in renamed.items()
        }
        return [{**row, **{new: values[new][place] for new in values}} for place, row in enumerate(lists[0])], own
    for old, new in renamed.items():
        rows = rows.append_column(new, truths.column(old))
    return rows, own


def _chosen(block: Block, rows: list[int], row: int) -> str:
    return block.place(rows[row])


def _checked(block: Block, columns: Columns) -> Block:
    """The block as an Arrow table or a list of mappings; `InputError` if a row cannot be read."""
    if not isinstance(block.rows, list):
        table = table_of(block.rows, columns)
        if isinstance(table, list):
            return replace(block, rows=table)
        views = "string_view" in str(table.schema)  # a type that ``take`` of Arrow refuses
        return replace(block, rows=rows_of(table) if views else table)
    for number, row in enumerate(block.rows):
        if not isinstance(row, Mapping):
            wrong = row if isinstance(row, RowError) else f"the row {quoted(row)} is no dictionary; give dictionaries"
            raise InputError(f"{block.place(number)}: {wrong}")
    return block


def _table(blocks: Iterable[Block], columns: Columns) -> Any:
    tables = list[Any]()
    try:
        for block in blocks:
            rows = block.rows
            if isinstance(rows, list):
                listed = {name: column_of(rows, name, "a column") for name in columns.check_names(rows[0])}
                arrays = [_array(values, name, block.place) for name, values in listed.items()]
                rows = table_of(pa.table(arrays, [*listed]), columns)
            tables.append(rows)
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except pa.ArrowException as error:
        raise InputError(f"a column cannot be converted to Arrow: {error}; give its values one type") from None


def _array(values: list[Any], name: str, place: Callable[[int], str]) -> Any:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        at = next((f"{place(row)}: " for row, value in enumerate(values) if type(value) is not type(values[0])), "")
        cannot = f"column {name!r} cannot be converted to Arrow: {error}"
        raise InputError(f"{at}{cannot}; give its values one type") from None


def grouped(blocks: Iterable[Block], columns: Columns) -> Iterator[Block]:
    """The examples of a table that has a row for each label of an example; holds the whole table in memory."""
    parts = [_checked(block, columns) for block in blocks if len(block.rows)]
    if not parts:
        return
    table = _table(parts, columns)
    example, label = str(columns.example), str(columns.label)
    for name in (example, label):
        if parts[0].sep is not None:  # cells of CSV
            table = table.set_column(table.column_names.index(name), name, pc.utf8_trim_whitespace(table.column(name)))
        empty = pc.sum(pc.equal(table.column(name), "")).as_py() if parts[0].sep is not None else 0
        if nulls := table.column(name).null_count + (empty or 0):
            raise InputError(f"column {name!r} holds {number_of(nulls, 'null')}; drop those rows")
    codes = _codes(table.column(example))
    order, offsets = np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(codes))])
    table, firsts, ends = table.take(order), offsets[:-1], pa.array(offsets, pa.int32())
    whole = Block(table, partial(_place_of, parts, order))
    examples: dict[str, Any] = {}
    for name in columns.check_names(table.column_names):
        column = table.column(name).combine_chunks()
        if roles := [role for other, role in columns.roles if other == name and role in WIDE]:
            if is_string(column.type):
                try:
                    column = numbers_of(table.column(name), name, flags="scores" not in roles).combine_chunks()
                except InputError as error:
                    raise InputError(whole.located(str(error))) from None
            examples[name] = pa.MapArray.from_arrays(ends, table.column(label).combine_chunks(), column)
            continue
        examples[name] = column.take(firsts)
        numbers = _codes(table.column(name))
        if name != label and (wrong := numbers != np.repeat(numbers[firsts], np.diff(offsets))).any():
            differs = f"column {name!r} differs among the rows of an example; give all its rows the same value"
            raise InputError(f"{whole.place(int(wrong.argmax()))}: {differs}")
    names, size = examples[example].to_pylist(), sum(part.size for part in parts)
    yield Block(pa.table(examples), lambda row: f"example {quoted(names[row])}", size, parts[0].sep)


def _place_of(parts: Iterable[Block], order: np.ndarray[Any, Any], row: int) -> str:
    """The place in its source of a row of the sorted table."""
    part, at = next(islice(((part, at) for part in parts for at in range(len(part.rows))), int(order[row]), None))
    return part.place(at)


def _codes(column: Any) -> np.ndarray[Any, Any]:
    """An integer code for each value of a column; nulls have a code too."""
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):  # a dictionary may hold a value twice, and nulls have no code
        values = values.dictionary_decode()
    return values.dictionary_encode("encode").indices.to_numpy()  # type: ignore[no-any-return]  # Arrow has no types
