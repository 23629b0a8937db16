"""CSV, with lists of labels in its cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

from streameval.cli.lines import Stream, blocks_of_lines
from streameval.cli.rows import Given, Place, Row, RowError, UserError, given_of
from streameval.errors import InputError
from streameval.schema.text import quoted
from streameval.tabular.columns import Columns

__all__ = ["read_csv"]


class _Cells:
    """What the cells of a row hold."""

    def __init__(self, names: list[str], columns: Columns, sep: str) -> None:
        self.columns, self.width, self.sep = columns, len(names), sep
        self._at = {name: names.index(name) for name in columns.names}

    def row(self, cells: list[str]) -> dict[str, Any]:
        if len(cells) != self.width:
            raise RowError(f"{len(cells)} cells where the header has {self.width}")
        columns, at = self.columns, self._at
        found: dict[str, Any] = {name: cells[at[name]] for name in columns.by}
        for name in (columns.actual, columns.predicted, columns.mask):
            if name is not None:
                found[name] = self._list(cells[at[name]])
        if columns.weight is not None:
            found[columns.weight] = self._number(cells[at[columns.weight]], columns.weight)
        if columns.scores is not None:
            parts = self._list(cells[at[columns.scores]])
            if columns.predicted is None:
                found[columns.scores] = [self._pair(part) for part in parts]
            else:
                found[columns.scores] = [self._number(part, columns.scores) for part in parts]
        return found

    def _list(self, cell: str) -> list[str]:
        return [label for part in cell.split(self.sep) if (label := part.strip())]

    def _pair(self, part: str) -> list[Any]:
        label, colon, number = part.rpartition(":")
        if not colon:
            raise RowError(f"{str(self.columns.scores)!r} must be like cat:0.9{self.sep}dog:0.2, not {quoted(part)}")
        return [label.strip(), self._number(number, str(self.columns.scores))]

    @staticmethod
    def _number(text: str, name: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise RowError(f"{name!r} must be a number, not {quoted(text)}") from None


class _CsvBlock:
    def __init__(self, file: str, line: int, data: bytes, size: int, delimiter: str) -> None:
        self.size = size
        self._file, self._line, self._data, self._delimiter = file, line, data, delimiter
        self.cells: _Cells | None = None
        self.skip = False

    def records(self, errors: str = "strict") -> Iterator[tuple[int, list[str] | csv.Error]]:
        """Line numbers and cells."""
        reader = csv.reader(
            io.StringIO(self._data.decode(errors=errors), newline=""), delimiter=self._delimiter, strict=True
        )
        while True:
            before = reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield self._line + before, error
                continue
            if cells:
                yield self._line + before, cells

    def _body(self, errors: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
        records = self.records(errors)
        if self.skip:
            next(records, None)
        return records

    def whole(self) -> Given | None:
        assert self.cells is not None  # noqa: S101  # read_csv has set it
        rows = [self._row(cells) for _, cells in self._body("strict")]
        return given_of(rows, self.cells.columns) if rows else None

    def _row(self, cells: list[str] | csv.Error) -> dict[str, Any]:
        assert self.cells is not None  # noqa: S101
        if isinstance(cells, csv.Error):
            raise RowError(f"not CSV: {cells}")
        return self.cells.row(cells)

    def each(self) -> Iterator[Row]:
        for line, cells in self._body("surrogateescape"):
            yield Place(self._file, line), partial(self._one, cells)

    def _one(self, cells: list[str] | csv.Error) -> Given:
        assert self.cells is not None  # noqa: S101
        if not isinstance(cells, csv.Error):
            for number, cell in enumerate(cells, 1):
                if not cell.isascii() and any("\udc80" <= mark <= "\udcff" for mark in cell):
                    raise RowError(f"cell {number} is not UTF-8; convert the file")
        return given_of([self._row(cells)], self.cells.columns)


def _even(data: bytes) -> bool:
    return data.count(b'"') % 2 == 0


def read_csv(stream: Stream, file: str, columns: Columns, *, sep: str, delimiter: str) -> Iterator[_CsvBlock]:
    """The rows of a file, in blocks. Labels in a cell stand between ``sep``."""
    cells: _Cells | None = None
    for line, data, size in blocks_of_lines(stream, file, whole=_even):
        block = _CsvBlock(file, line, data, size, delimiter)
        if cells is None:
            cells = _Cells(_header(block, file, columns), columns, sep)
            block.skip = True
        block.cells = cells
        yield block


def _header(block: _CsvBlock, file: str, columns: Columns) -> list[str]:
    line, names = next(block.records("surrogateescape"), (1, []))
    if isinstance(names, csv.Error):
        raise UserError(f"{Place(file, line)}: not CSV: {names}")
    try:
        columns.check_names(names)
    except InputError as error:
        raise UserError(f"{Place(file, line)}: {error}") from None
    for name in columns.names:
        if names.count(name) > 1:
            raise UserError(f"{Place(file, line)}: {names.count(name)} columns are named {name!r}")
    return names
