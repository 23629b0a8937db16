"""The files that arguments name, and their rows in blocks: CSV, JSON Lines, Parquet and Arrow."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import orjson
import pyarrow as pa
from pyarrow import json as arrow_json

from streameval.errors import InputError, StreamevalError
from streameval.schema.text import quoted
from streameval.tabular.arrow import read_table
from streameval.tabular.columns import Columns
from streameval.tabular.rows import read_rows
from streameval.tabular.sources import matches_of, open_source

STDIN = "-"

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_COMPRESSED = {b"\x1f\x8b": "gunzip -c", b"\x28\xb5\x2f\xfd": "zstdcat", b"BZh": "bzcat", b"\xfd7zX": "xzcat"}
BLOCK = 2**23  # bytes read at a time: enough for the cost of a call not to show, and no memory to speak of
_ROWS = 2**16
_PART = 2**21  # bytes that Arrow parses at a time
_LONGEST, _QUOTED = 2**28, 2**26
_PATIENCE = 2
_MARK = b"\xef\xbb\xbf"  # with which some programs begin UTF-8

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
    forms: list[tuple[str | None, str, tuple[type, ...]]] = [
        *((name, "a list of labels", (list, dict)) for name in (columns.actual, columns.predicted, columns.mask)),
        (columns.weight, "a number", (int, float)),
        (columns.scores, "an object label -> number, or a list of [label, number]", (list, dict)),
    ]
    for name, form, types in forms:
        for value in _of_other_types([row.get(name, types[0]()) for row in rows] if name is not None else [], *types):
            raise RowError(f"{name!r} must be {form}, not {quoted(value)}")
    return read_rows(rows, columns) if rows else None


def _of_other_types(values: list[Any], *types: type) -> Iterable[Any]:
    """The values that are of none of some types; all are checked together in a third of the time."""
    return (value for value in values if type(value) not in types) if set(map(type, values)) - {*types} else ()


def _lines(
    stream: io.BufferedIOBase, file: str, *, complete: Callable[[bytes], bool] = lambda _: True
) -> Iterator[tuple[int, bytes, int]]:
    """The number of the first line, the lines, and how many bytes were read for them.

    ``complete`` says whether lines may be cut after these, which a quoted line break in CSV forbids.
    """
    parts: list[bytes] = []
    waiting, line = 0, 1
    while chunk := stream.read1(BLOCK):
        end = chunk.rfind(b"\n") + 1
        waiting += len(chunk)
        if end and (complete(data := b"".join([*parts, memoryview(chunk)[:end]])) or len(data) > _QUOTED):
            yield line, data.removeprefix(_MARK) if line == 1 else data, waiting
            line += data.count(b"\n")
            parts, waiting = [chunk[end:]], 0
        else:
            parts.append(chunk)
            if waiting > _LONGEST:
                raise UserError(f"{file}:{line}: this line is longer than {_LONGEST >> 20} MiB; is it JSON Lines?")
    if data := b"".join(parts):
        yield line, data.removeprefix(_MARK) if line == 1 else data, waiting


# -- JSON Lines -------------------------------------------------------------------------------------------------------


def read_jsonl(stream: io.BufferedIOBase, file: str, columns: Columns) -> Iterator[Block]:
    """The lines of a file."""
    parser = _Json(columns)
    for line, data, size in _lines(stream, file):
        yield Block(size, partial(parser.arguments, data), partial(parser.rows, file, line, data))


class _Json:
    """How lines become arguments: by Arrow where lists of strings are all there is, which takes half of the time."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.failures = 0 if columns.scores is None else _PATIENCE
        kinds: dict[str, Any] = {name: pa.string() for name in columns.by}
        if columns.weight is not None:
            kinds[columns.weight] = pa.float64()
        lists = filter(None, (columns.actual, columns.predicted, columns.mask))
        kinds |= {name: pa.list_(pa.string()) for name in lists}
        self.parsing = arrow_json.ParseOptions(
            explicit_schema=pa.schema(kinds.items()), unexpected_field_behavior="ignore"
        )
        self.reading = arrow_json.ReadOptions(block_size=_PART)

    def arguments(self, data: bytes) -> Arguments | None:
        """The arguments for some lines."""
        if self.failures < _PATIENCE and (table := self._table(data)) is not None:
            return table
        return arguments_of(list(map(orjson.loads, filter(bytes.strip, data.split(b"\n")))), self.columns)

    def _table(self, data: bytes) -> Arguments | None:
        """The same where nothing in the lines could mean something else to Arrow; otherwise None."""
        # Halves of surrogate pairs, which Arrow accepts. A search for one byte is ten times as fast as for three.
        if b"\\" in data and (b"\\ud" in data or b"\\uD" in data):
            return None
        if data[:1] != b"{" or b"\nnull" in data:  # lines of nothing but null crash Arrow 26
            return None
        try:
            if not data.isascii():
                data.decode()
            table = arrow_json.read_json(pa.BufferReader(data), read_options=self.reading, parse_options=self.parsing)
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            # A null may be a null or a key that is not there.
            doubtful = table.num_rows != lines or any(table.column(name).null_count for name in self.columns.names)
            return None if doubtful else read_table(table, self.columns)
        except (pa.ArrowException, StreamevalError, UnicodeDecodeError):
            self.failures += 1
            return None

    def rows(self, file: str, first: int, data: bytes) -> Iterator[Row]:
        for number, line in enumerate(data.split(b"\n"), first):
            if line and not line.isspace():
                yield f"{file}:{number}", partial(self._row, line)

    def _row(self, line: bytes) -> Arguments | None:
        try:
            return arguments_of([orjson.loads(line)], self.columns)
        except orjson.JSONDecodeError as error:
            try:
                line.decode()
            except UnicodeDecodeError as wrong:
                byte, column = line[wrong.start : wrong.start + 1].hex(), len(line[: wrong.start].decode()) + 1
                raise RowError(f"the byte {byte} is not UTF-8; convert the file", column) from None
            if line.lstrip()[:1] == b"[":
                raise RowError("this is a list, not an object; write one object per line") from None
            raise RowError(f"not JSON: {error.msg}", error.colno) from None


# -- CSV --------------------------------------------------------------------------------------------------------------


def read_csv(stream: io.BufferedIOBase, file: str, columns: Columns, *, sep: str, delimiter: str) -> Iterator[Block]:
    """The rows of a file. Labels in a cell stand between ``sep``."""
    parser = _Csv(columns, sep, delimiter)
    for line, data, size in _lines(stream, file, complete=lambda data: data.count(b'"') % 2 == 0):
        first = line == 1
        if first:
            parser.read_header(file, data)
        yield Block(size, partial(parser.arguments, data, first), partial(parser.rows, file, line, data, first))


class _Csv:
    def __init__(self, columns: Columns, sep: str, delimiter: str) -> None:
        self.columns, self.sep, self.delimiter = columns, sep, delimiter
        self.width, self.fields = 0, list[tuple[str, str, int]]()  # of each column its role and its place in a row

    def _records(self, data: bytes, errors: str = "strict") -> Iterator[tuple[int, list[str] | csv.Error]]:
        """How many lines come before each row, and its cells."""
        lines = io.StringIO(data.decode(errors=errors), newline="")
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            before = reader.line_num
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield before, error
                continue
            if cells:
                yield before, cells

    def read_header(self, file: str, data: bytes) -> None:
        """Find the columns in the first row."""
        before, names = next(self._records(data, "surrogateescape"), (0, []))
        if isinstance(names, csv.Error):
            raise UserError(f"{file}:{1 + before}: not CSV: {names}")
        try:
            self.columns.check_names(names)
        except InputError as error:
            raise UserError(f"{file}:{1 + before}: {error}") from None
        self.width, self.fields = len(names), [(name, role, names.index(name)) for name, role in self.columns.roles]

    def arguments(self, data: bytes, header: bool) -> Arguments | None:
        """The arguments for some rows; the first of them may be the header."""
        records = [cells for _, cells in self._records(data)]
        return arguments_of([self._object(cells) for cells in records[header:]], self.columns)

    def rows(self, file: str, line: int, data: bytes, header: bool) -> Iterator[Row]:
        for number, (before, cells) in enumerate(self._records(data, "surrogateescape")):
            if number or not header:
                yield f"{file}:{line + before}", partial(self._row, cells)

    def _row(self, cells: list[str] | csv.Error) -> Arguments | None:
        for number, cell in enumerate(cells if isinstance(cells, list) else (), 1):
            if not cell.isascii() and any("\udc80" <= mark <= "\udcff" for mark in cell):
                raise RowError(f"cell {number} is not UTF-8; convert the file")
        return arguments_of([self._object(cells)], self.columns)

    def _object(self, cells: list[str] | csv.Error) -> dict[str, Any]:
        if isinstance(cells, csv.Error):
            raise RowError(f"not CSV: {cells}")
        if len(cells) != self.width:
            raise RowError(f"{len(cells)} cells where the header has {self.width}")
        row: dict[str, Any] = {}
        for name, role, place in self.fields:
            cell = cells[place]
            if role == "by":
                row.setdefault(name, cell)
            elif role == "weight":
                row[name] = _number(cell, name)
            else:
                parts = [part for text in cell.split(self.sep) if (part := text.strip())]
                row[name] = parts if role != "scores" else [self._score(part, name) for part in parts]
        return row

    def _score(self, part: str, name: str) -> Any:
        if self.columns.predicted is not None:
            return _number(part, name)
        label, colon, number = part.rpartition(":")
        if not colon:
            raise RowError(f"{name!r} must be like cat:0.9{self.sep}dog:0.2, not {quoted(part)}")
        return [label.strip(), _number(number, name)]


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RowError(f"{name!r} must be a number, not {quoted(text)}") from None


# -- Parquet and Arrow ------------------------------------------------------------------------------------------------


def read_tables(file: str, size: int, columns: Columns) -> Iterator[Block]:
    """The rows of a file of so many bytes."""

    def rows(first: int, batch: Any) -> Iterator[Row]:
        for number in range(batch.num_rows):
            yield f"{file}: row {first + number + 1:,}", partial(read_table, batch.slice(number, 1), columns)

    try:
        table = open_source(file, columns, _ROWS)
        read_table(table.schema.empty_table(), columns)  # so that columns are checked even if there are no rows
        total, first, done = table.rows() or 0, 0, 0
        for batch in table.batches:
            until = size * (first + batch.num_rows) // max(total, 1)
            yield Block(until - done, partial(read_table, batch, columns), partial(rows, first, batch))
            first, done = first + batch.num_rows, until
    except InputError as error:
        text = str(error)
        raise UserError(text if text.startswith(file) else f"{file}: {text}") from None
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: {' '.join(str(error).split())}; it may be damaged or incomplete") from None


# -- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or standard input."""

    file: str  # its path, or ``-``
    size: int | None  # its bytes; None for a stream

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.file == STDIN else self.file

    def blocks(self, columns: Columns, sep: str) -> Iterator[Block]:
        """Its rows."""
        with self._opened() as stream:
            start = stream.peek(16)
            if not start:
                raise UserError(f"{self.name} is empty")
            for magic, tool in _COMPRESSED.items():
                if start.startswith(magic):
                    raise UserError(f"{self.name} is compressed; give {tool} {self.file} | streameval evaluate - ...")
            suffix, first = Path(self.file).suffix.lower(), start.removeprefix(_MARK).lstrip()[:1]
            if start[:4] in (b"PAR1", b"ARRO"):
                if self.size is None:
                    raise UserError("standard input is Parquet or Arrow; give the path of a file")
                yield from read_tables(self.file, self.size, columns)
            elif suffix in _JSON or (suffix not in _DELIMITERS and first in (b"{", b"[", b"")):
                yield from read_jsonl(stream, self.name, columns)
            else:
                yield from read_csv(stream, self.name, columns, sep=sep, delimiter=_DELIMITERS.get(suffix, ","))

    def _opened(self) -> AbstractContextManager[io.BufferedReader]:
        if self.file != STDIN:
            try:
                return Path(self.file).open("rb")
            except OSError as error:
                raise UserError(f"{self.file}: {error.strerror}") from None
        if sys.stdin is None:
            raise UserError("standard input is closed")
        stream: Any = sys.stdin.buffer
        return nullcontext(stream if hasattr(stream, "peek") else io.BufferedReader(stream))


def sources_of(arguments: list[str]) -> list[Source]:
    """The files that paths and patterns stand for, in order."""
    if arguments.count(STDIN) > 1:
        raise UserError("standard input can be read only once; give - once")
    sources: list[Source] = []
    for text in arguments:
        if text == STDIN:
            sources.append(Source(STDIN, None))
            continue
        if os.path.isdir(text):  # noqa: PTH112
            raise UserError(f"{text} is a folder; name its files, for example {os.path.join(text, '*.jsonl')}")  # noqa: PTH118
        files = [file for file in matches_of(text) if not file.is_dir()]
        if not files:
            raise UserError(f"no file matches {text!r}")
        sources += [Source(str(file), file.stat().st_size if file.is_file() else None) for file in files]
    return sources
