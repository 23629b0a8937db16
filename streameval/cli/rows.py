"""Rows of files: where they are, and the arguments of ``update_many`` that say what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from streameval.errors import InputError, StreamevalError
from streameval.schema.text import quoted
from streameval.tabular.columns import Columns
from streameval.tabular.rows import read_rows

Arguments: TypeAlias = dict[str, Any]
"""The arguments of ``update_many``."""


class UserError(StreamevalError):
    """An error of the user, in one line, after which the command ends with exit code 2."""


class RowError(InputError):
    """A row that cannot be read, and perhaps at which of its characters, from 1."""

    def __init__(self, text: str, column: int | None = None) -> None:
        super().__init__(text)
        self.column = column


Row: TypeAlias = tuple[str, Callable[[], Arguments | None]]
"""Where a row is, such as ``file.jsonl:3``, and what gives its arguments or raises `RowError`."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a file."""

    size: int  # bytes of the file that it takes
    arguments: Callable[[], Arguments | None]  # of all rows, None for no rows; after any error each row is read
    rows: Callable[[], Iterator[Row]]


def arguments_of(rows: list[Any], columns: Columns) -> Arguments | None:
    """The arguments for rows that are objects, such as lines of JSON; None for no rows."""
    for row in _of_other_types(rows, dict):
        raise RowError(f'a line holds one object such as {{"{columns.actual}": ["cat"]}}, not {quoted(row)}')
    for name in filter(None, (columns.actual, columns.predicted, columns.mask)):
        for labels in _of_other_types([row.get(name, []) for row in rows], list, dict):
            raise RowError(f"{name!r} must be a list of labels, not {quoted(labels)}")
    if columns.weight is not None:
        for weight in _of_other_types([row.get(columns.weight, 1) for row in rows], int, float):
            raise RowError(f"{columns.weight!r} must be a number, not {quoted(weight)}")
    if columns.scores is not None:
        for scores in _of_other_types([row.get(columns.scores, []) for row in rows], list, dict):
            raise RowError(
                f"{columns.scores!r} must be an object label -> number, or a list of [label, number], not "
                f"{quoted(scores)}"
            )
    return read_rows(rows, columns) if rows else None


def _of_other_types(values: list[Any], *types: type) -> Iterable[Any]:
    """The values that are of none of some types; all are checked together in a third of the time."""
    return (value for value in values if type(value) not in types) if set(map(type, values)) - {*types} else ()
