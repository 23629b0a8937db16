"""Lines of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import json as arrow_json

from streameval.cli.lines import BLOCK, Stream, blocks_of_lines
from streameval.cli.rows import Given, Place, Row, RowError, given_of
from streameval.errors import StreamevalError
from streameval.tabular.arrow import read_table
from streameval.tabular.columns import Columns

__all__ = ["read_jsonl"]

_PATIENCE = 2


class _Parser:
    """How lines become arguments: by Arrow where lists of strings are all there is, which takes half of the time."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.failures = 0 if columns.scores is None else _PATIENCE
        lists = [name for name in (columns.actual, columns.predicted, columns.mask) if name is not None]
        kinds: dict[str, Any] = {name: pa.string() for name in columns.by}
        if columns.weight is not None:
            kinds[columns.weight] = pa.float64()
        kinds |= {name: pa.list_(pa.string()) for name in lists}
        self.options = arrow_json.ParseOptions(
            explicit_schema=pa.schema(kinds.items()), unexpected_field_behavior="ignore"
        )
        self.reading = arrow_json.ReadOptions(block_size=BLOCK // 4)

    def arguments(self, data: bytes) -> Given | None:
        """The arguments of ``update_many`` for some lines."""
        if self.failures < _PATIENCE:
            given = self._by_arrow(data)
            if given is not None:
                return given
        rows = list(map(orjson.loads, filter(bytes.strip, data.split(b"\n"))))
        return given_of(rows, self.columns) if rows else None

    def _by_arrow(self, data: bytes) -> Given | None:
        """The same where nothing in the lines could mean something else to Arrow; otherwise None."""
        # Halves of pairs, which Arrow lets pass alone. One byte is found ten times as fast as three.
        if b"\\" in data and (b"\\ud" in data or b"\\uD" in data):
            return None
        try:
            if not data.isascii():
                data.decode()
            table = arrow_json.read_json(pa.BufferReader(data), read_options=self.reading, parse_options=self.options)
            lines = data.count(b"\n") + (not data.endswith(b"\n"))
            # A null may be a null or a key that is not there.
            doubtful = table.num_rows != lines or any(table.column(name).null_count for name in self.columns.names)
            return None if doubtful else read_table(table, self.columns)
        except (pa.ArrowException, StreamevalError, UnicodeDecodeError):
            self.failures += 1
            return None


class _JsonBlock:
    def __init__(self, file: str, line: int, data: bytes, size: int, parser: _Parser) -> None:
        self.size = size
        self._file, self._line, self._data, self._parser = file, line, data, parser

    def whole(self) -> Given | None:
        return self._parser.arguments(self._data)

    def each(self) -> Iterator[Row]:
        for number, line in enumerate(self._data.split(b"\n"), self._line):
            if line and not line.isspace():
                yield Place(self._file, number), partial(self._one, line)

    def _one(self, line: bytes) -> Given:
        try:
            return given_of([orjson.loads(line)], self._parser.columns)
        except orjson.JSONDecodeError as error:
            try:
                line.decode()
            except UnicodeDecodeError as wrong:
                told = f"the byte {line[wrong.start : wrong.start + 1].hex()} is not UTF-8; convert the file"
                raise RowError(told, len(line[: wrong.start].decode()) + 1) from None
            if line.lstrip()[:1] == b"[":
                raise RowError("this is a list, not an object; write one object per line") from None
            raise RowError(f"not JSON: {error.msg}", error.colno) from None


def read_jsonl(stream: Stream, file: str, columns: Columns) -> Iterator[_JsonBlock]:
    """The lines of a file, in blocks."""
    parser = _Parser(columns)
    for line, data, size in blocks_of_lines(stream, file):
        yield _JsonBlock(file, line, data, size, parser)
