"""Rows that belong together: those of one example in a long table, and those of two tables with equal keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, warn
from streameval.schema.text import quoted
from streameval.tabular.blocks import Block, RowError
from streameval.tabular.cells import is_string, numbers_of
from streameval.tabular.columns import Columns, Names

_SUFFIX = " (truth)"  # of the columns of the other table, since both may call theirs "labels"
_LIST_ROLES = ("actual", "predicted", "scores", "mask")


@dataclass(frozen=True, slots=True)
class Side(Columns):
    """The columns that one of two tables has to have, and those that either may have."""

    optional: tuple[str, ...] = ()

    def check_names(self, names: Iterable[Any]) -> list[str]:
        """The columns that are read."""
        names = list(names)
        read = super(Side, self).check_names(names)
        return [*dict.fromkeys([*read, *(name for name in self.optional if name in names)])]


@dataclass(frozen=True, slots=True)
class Joined(Columns):
    """The columns of rows that are joined by a key with those of another table, which has the true labels."""

    truth: Any = field(default=None, compare=False)
    key: str = ""
    sides: tuple[Columns, ...] = ()

    @classmethod
    def of(cls, columns: Columns, truth: object, key: str) -> Joined:
        """``columns`` of which ``actual`` and ``mask`` are in the table ``truth``."""
        if not isinstance(key, str):
            raise InputError(f"join must be the name of a column, not {quoted(key)}")
        options: dict[str, Any] = {"null": columns.null, "sep": columns.sep}
        options |= {"optional": (*columns.by, *filter(None, [columns.weight])), "by": (key,)}
        predicted: Any = columns.scores if columns.predicted is None else columns.predicted
        sides = (
            Side(predicted, columns.predicted, columns.scores, **options),
            Side(columns.actual, columns.actual, mask=columns.mask, **options),
        )
        values: dict[str, Any] = {name: getattr(columns, name) for name in Columns.__dataclass_fields__}
        values |= {"actual": _renamed(columns.actual), "mask": columns.mask and _renamed(columns.mask)}
        return cls(**values, truth=truth, key=key, sides=sides)

    def names_for(self, role: str, names: Iterable[Any]) -> list[str]:
        """The names of the columns of one of both tables."""
        return [name for name in map(str, names) if name.endswith(_SUFFIX) == (role in ("actual", "mask"))]


def _renamed(names: Names) -> Names:
    return names + _SUFFIX if isinstance(names, str) else tuple(name + _SUFFIX for name in names)


class _Keys:
    """Where each key of a table is."""

    def __init__(self, name: str) -> None:
        self.name, self.starts, self.blocks = name, list[int](), list[Block]()
        self.rows: dict[Any, int] = {}
        self.count = 0

    def add(self, block: Block) -> list[Any]:
        """The keys of a block, each with its type; `InputError` if one was there before."""
        rows = block.rows
        values = [row[self.name] for row in rows] if isinstance(rows, list) else rows.column(self.name).to_pylist()
        keys = [(type(value), value) for value in values]
        self.starts.append(self.count)
        self.blocks.append(replace(block, rows=None))
        for row, key in enumerate(keys):
            if isinstance(key[1], list | dict):
                raise InputError(f"{block.place(row)}: {quoted(key[1])} is no key; join by strings or integers")
            if key[1] is not None and self.rows.setdefault(key, self.count + row) != self.count + row:
                both = f"{self.place(self.rows[key])} and {block.place(row)}"
                raise InputError(f"the key {quoted(key[1])} of column {self.name!r} is in two rows, {both}; keep one")
        self.count += len(keys)
        return keys

    def place(self, row: int) -> str:
        """Where a row is."""
        number = bisect_right(self.starts, row) - 1
        return self.blocks[number].place(row - self.starts[number])


def joined(blocks: Iterable[Block], truths: Iterable[Block], columns: Joined) -> Iterator[Block]:
    """The rows that are in both of two tables, of which the second is held in memory; warns of the others."""
    keys, known, tables, matched, sep = _Keys(columns.key), _Keys(columns.key), list[Any](), 0, None
    for block in truths:
        tables.append(_table(block, columns.sides[1]))
        sep = block.sep
        known.add(replace(block, rows=tables[-1]))
    names = columns.sides[1].check_names(tables[0].column_names) if tables else []
    truth = _concatenated(tables)
    if columns.weight in truth.column_names and is_string(truth.column(columns.weight).type) and sep is not None:
        place = truth.column_names.index(columns.weight)
        truth = truth.set_column(place, columns.weight, numbers_of(truth.column(place), str(columns.weight)))
    common = {columns.key, *columns.sides[1].optional}  # type: ignore[attr-defined]  # a `Side`
    for block in blocks:
        rows = [known.rows.get(key) for key in keys.add(_checked(block))]
        chosen = [row for row, other in enumerate(rows) if other is not None]
        if not chosen:
            continue
        part = truth.select([name for name in names if name != columns.key]).take(
            [row for row in rows if row is not None]
        )
        have = set(block.rows[0] if isinstance(block.rows, list) else block.rows.column_names)
        part = part.select([name for name in part.column_names if name not in common or name not in have])
        part = part.rename_columns([name if name in common else name + _SUFFIX for name in part.column_names])
        if isinstance(block.rows, list):
            pairs = zip([block.rows[row] for row in chosen], part.to_pylist(), strict=True)
            whole: Any = [{**row, **other} for row, other in pairs]
        else:
            whole = _table(block, columns.sides[0]).take(chosen)
            for name in part.column_names:
                whole = whole.append_column(name, part.column(name))
        matched += len(chosen)
        yield Block(whole, partial(_chosen, block, chosen), block.size, block.sep or sep)
    if not matched and keys.count and known.count:
        first, other = next(iter(keys.rows), (None, None)), next(iter(known.rows), (None, None))
        raise InputError(
            f"no row has a truth: column {columns.key!r} has keys such as {quoted(first[1])} ({keys.place(0)}) and "
            f"{quoted(other[1])} ({known.place(0)}); keys are compared with their type"
        )
    if keys.count > matched or known.count > matched:
        warn(f"{keys.count - matched:,} rows have no truth, and {known.count - matched:,} truths have no row; "
             f"{matched:,} rows are counted")  # fmt: skip


def _chosen(block: Block, rows: list[int], row: int) -> str:
    return block.place(rows[row])


def _checked(block: Block) -> Block:
    """The same block, if all of its rows can be read."""
    for number, row in enumerate(block.rows if isinstance(block.rows, list) else ()):
        if isinstance(row, RowError):
            raise InputError(f"{block.place(number)}: {row}")
    return block


def _table(block: Block, columns: Columns) -> Any:
    """The rows of a block as a table."""
    from streameval.tabular.arrow import table_of

    rows = _checked(block).rows
    if isinstance(rows, list):
        try:
            rows = pa.Table.from_pylist([{name: row[name] for name in columns.check_names(row)} for row in rows])
        except pa.ArrowException as error:
            raise InputError(f"{block.place(0)}: a column holds values of several types: {error}") from None
    return table_of(rows, columns)


def _concatenated(tables: list[Any]) -> Any:
    if not tables:
        raise InputError("the table of truths has no rows")
    try:
        return pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    except pa.ArrowException as error:
        raise InputError(f"the tables do not fit together: {error}") from None


def grouped(blocks: Iterable[Block], columns: Columns) -> Iterator[Block]:
    """The examples of a table that has a row for each label of an example; all of it is held in memory."""
    parts = [*blocks]
    if not parts:
        return
    table = _concatenated([_table(block, columns) for block in parts])
    example, label = str(columns.example), str(columns.label)
    for name in (example, label):
        if table.column(name).null_count:
            raise InputError(f"column {name!r} holds {table.column(name).null_count} nulls; drop those rows")
    codes = _codes(table.column(example))
    order, offsets = np.argsort(codes, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(codes))])
    table, firsts, ends = table.take(order), offsets[:-1], pa.array(offsets, pa.int32())
    examples: dict[str, Any] = {}
    for name in columns.check_names(table.column_names):
        column = table.column(name).combine_chunks()
        roles = [role for other, role in columns.roles if other == name]
        if any(role in _LIST_ROLES for role in roles):
            values = numbers_of(table.column(name), name).combine_chunks() if is_string(column.type) else column
            labels = table.column(label).combine_chunks()
            examples[name] = pa.MapArray.from_arrays(ends, labels, values)
            continue
        examples[name] = column.take(firsts)
        numbers = _codes(table.column(name))
        if name != label and (numbers != np.repeat(numbers[firsts], np.diff(offsets))).any():
            raise InputError(f"column {name!r} differs among the rows of an example; give all rows of one the same")
    names = examples[example].to_pylist()
    yield Block(
        pa.table(examples), lambda row: f"example {quoted(names[row])}", sum(p.size for p in parts), parts[0].sep
    )


def _codes(column: Any) -> np.ndarray[Any, Any]:
    """A code for each value, nulls among them."""
    return column.combine_chunks().dictionary_encode("encode").indices.to_numpy()  # type: ignore[no-any-return]
