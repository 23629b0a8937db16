"""What readers of files hand on: blocks of rows, which can be counted at once or row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from streameval.errors import InputError, StreamevalError
from streameval.schema.text import quoted, suggestion
from streameval.tabular.columns import Columns

__all__ = ["Block", "Given", "Place", "Row", "RowError", "UserError", "given_of"]

Given: TypeAlias = dict[str, Any]
"""The arguments of ``update_many``."""


class UserError(StreamevalError):
    """What a user is told in one line, before the command ends with exit code 2."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row is: a line of a text, or a row of a table."""

    file: str
    line: int = 0
    column: int | None = None
    row: int = 0

    def __str__(self) -> str:
        if self.row:
            return f"{self.file}: row {self.row:,}"
        return ":".join(map(str, (part for part in (self.file, self.line or None, self.column) if part is not None)))


class RowError(InputError):
    """A row that cannot be read, and perhaps at which of its characters, from 1."""

    def __init__(self, text: str, column: int | None = None) -> None:
        super().__init__(text)
        self.column = column


Row: TypeAlias = tuple[Place, Callable[[], Given]]


class Block(Protocol):
    """Some rows of a file."""

    size: int
    """How many bytes of the file it takes."""

    def whole(self) -> Given | None:
        """The arguments of ``update_many`` for all rows; None for no rows. Any error means: look row by row."""

    def each(self) -> Iterator[Row]:
        """Each row with its place, and a function that gives its arguments or raises `RowError`."""


def given_of(rows: list[Any], columns: Columns) -> Given:
    """The arguments of ``update_many`` for rows that are mappings, such as lines of JSON."""
    for row in () if set(map(type, rows)) == {dict} else rows:  # told together in a third of the time
        if not isinstance(row, dict):
            raise RowError(f'a line holds one object such as {{"{columns.actual}": ["cat"]}}, not {quoted(row)}')

    def column(name: str, role: str) -> list[Any]:
        try:
            return [row[name] for row in rows]
        except KeyError:
            there = next(list(row) for row in rows if name not in row)
            hint = suggestion(name, there) or f"; there are {quoted(there)}"
            raise RowError(f"there is no {name!r} ({role}){hint}") from None

    given: Given = {"y_true": column(columns.actual, "actual")}
    if columns.scores is not None:
        scores = column(columns.scores, "scores")
        if columns.predicted is None:
            plain = set(map(type, scores)) <= {dict}
            given["y_pred"] = scores if plain else [_scores(each, columns.scores) for each in scores]
        else:
            lists = zip(column(columns.predicted, "predicted"), scores, strict=True)
            given["y_pred"] = [_beside(labels, numbers, columns) for labels, numbers in lists]
    else:
        given["y_pred"] = column(str(columns.predicted), "predicted")
    for name, values in (("actual", given["y_true"]), ("predicted", given["y_pred"])):
        _refuse_others(values, getattr(columns, name) or str(columns.scores))
    if columns.mask is not None:
        given["mask"] = column(columns.mask, "mask")
        _refuse_others(given["mask"], columns.mask)
    if columns.weight is not None:
        given["weights"] = column(columns.weight, "weight")
        for weight in given["weights"]:
            if isinstance(weight, bool) or not isinstance(weight, int | float):
                raise RowError(f"{columns.weight!r} must be a number, not {quoted(weight)}")
    if columns.by:
        given["where"] = {name: column(name, "by") for name in columns.by}
    return given


def _refuse_others(values: list[Any], name: str) -> None:
    for value in () if set(map(type, values)) <= {list, dict} else values:
        if not isinstance(value, list | dict):
            raise RowError(f"{name!r} must be a list of labels, not {quoted(value)}")


def _scores(value: Any, name: str) -> Mapping[Any, Any]:
    if isinstance(value, dict):
        return value
    pairs: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise RowError(f"{name!r} must be an object label -> number, or a list of [label, number], not {quoted(value)}")
    try:
        found = {label: score for label, score in pairs}  # noqa: C416  # pairs are lists, which dict does not type
    except TypeError:
        raise RowError(f"{name!r} must be a list of [label, number], not {quoted(value)}") from None
    if len(found) < len(pairs):
        raise RowError(f"{name!r} names a label twice: {quoted(value)}")
    return found


def _beside(labels: Any, numbers: Any, columns: Columns) -> Mapping[Any, Any]:
    told = f"{columns.predicted!r} and {columns.scores!r}"
    if not isinstance(labels, list) or not isinstance(numbers, list) or len(labels) != len(numbers):
        raise RowError(f"{told} must be a list of labels and a list with the score of each")
    return _scores([list(pair) for pair in zip(labels, numbers, strict=True)], told)
