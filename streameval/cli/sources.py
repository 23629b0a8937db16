"""The files that arguments name, and what each holds."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from streameval.cli.lines import Stream
from streameval.cli.rows import Block, Given, Place, Row, UserError
from streameval.errors import InputError
from streameval.schema.text import suggestion
from streameval.tabular.arrow import read_table
from streameval.tabular.columns import Columns

__all__ = ["STDIN", "Source", "sources_of"]

STDIN = "-"

_ROWS = 2**16
_LINES = {".csv": ",", ".tsv": "\t"}
_PACKED = {b"\x1f\x8b": "gunzip -c", b"\x28\xb5\x2f\xfd": "zstdcat", b"BZh": "bzcat", b"\xfd7zX": "xzcat"}


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or standard input.

    Attributes
    ----------
    file
        Its path as it was given, or ``-``.
    size
        Its bytes; None for a stream.
    """

    file: str
    size: int | None

    @property
    def told(self) -> str:
        """What it is called in messages."""
        return "standard input" if self.file == STDIN else self.file

    def blocks(self, columns: Columns, sep: str) -> Iterator[Block]:
        """Its rows.

        Raises
        ------
        UserError
            If it cannot be read, or has no such column.
        """
        from streameval.cli.delimited import read_csv
        from streameval.cli.jsonl import read_jsonl

        with _opened(self) as stream:
            start = stream.peek(16)
            if not start:
                raise UserError(f"{self.told} is empty")
            for magic, tool in _PACKED.items():
                if start.startswith(magic):
                    raise UserError(f"{self.told} is compressed; give {tool} {self.file} | streameval evaluate - ...")
            if start[:4] in (b"PAR1", b"ARRO"):
                if self.size is None:
                    raise UserError("standard input is Parquet or Arrow, which is read from files only; give the path")
                yield from _table(self, columns)
                return
            suffix = Path(self.file).suffix.lower()
            is_json = suffix not in _LINES and (suffix in (".jsonl", ".ndjson", ".json") or _begins_json(start))
            if is_json:
                yield from read_jsonl(cast("Stream", stream), self.told, columns)
            else:
                delimiter = _LINES.get(suffix, ",")
                yield from read_csv(cast("Stream", stream), self.told, columns, sep=sep, delimiter=delimiter)


def _begins_json(start: bytes) -> bool:
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"")


def _opened(source: Source) -> io.BufferedReader:
    if source.file == STDIN:
        if sys.stdin is None:
            raise UserError("standard input is closed")
        return cast("io.BufferedReader", _Kept(sys.stdin.buffer))
    try:
        return Path(source.file).open("rb")
    except OSError as error:
        raise UserError(f"{source.file}: {error.strerror}") from None


class _Kept:
    """Standard input, which stays open."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __enter__(self) -> Any:
        return self._stream if hasattr(self._stream, "peek") else io.BufferedReader(self._stream)

    def __exit__(self, *_: object) -> None:
        pass


def sources_of(arguments: list[str]) -> list[Source]:
    """The files that paths and patterns stand for, in order.

    Raises
    ------
    UserError
        If one of them is no file.
    """
    found: list[Source] = []
    for text in arguments:
        if text == STDIN:
            found.append(Source(STDIN, None))
            continue
        place = Path(text)
        if not place.exists() and glob.has_magic(text):
            matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # absolute ones too
            files = [match for match in matches if Path(match).is_file()]
            if not files:
                raise UserError(f"no file matches {text}")
            found += [Source(file, Path(file).stat().st_size) for file in files]
            continue
        if place.is_dir():
            raise UserError(f"{text} is a folder; name its files, for example {os.path.join(text, '*.jsonl')}")  # noqa: PTH118
        if not place.exists():
            near = [each.name for each in place.parent.iterdir()] if place.parent.is_dir() else []
            raise UserError(f"there is no file {text}{suggestion(place.name, near)}")
        found.append(Source(text, place.stat().st_size if place.is_file() else None))
    if sum(source.file == STDIN for source in found) > 1:
        raise UserError("standard input can be read only once; give - once")
    return found


class _TableBlock:
    def __init__(self, file: str, first: int, batch: Any, size: int, columns: Columns) -> None:
        self.size = size
        self._file, self._first, self._batch, self._columns = file, first, batch, columns

    def whole(self) -> Given | None:
        return read_table(self._batch, self._columns)

    def each(self) -> Iterator[Row]:
        for number in range(self._batch.num_rows):
            yield Place(self._file, row=self._first + number + 1), partial(self._one, number)

    def _one(self, number: int) -> Given:
        return read_table(self._batch.slice(number, 1), self._columns) or {}


def _table(source: Source, columns: Columns) -> Iterator[Block]:
    """The rows of a file of Parquet or Arrow."""
    import pyarrow as pa

    from streameval.tabular.sources import open_source

    try:
        table = open_source(source.file, columns, _ROWS)
        read_table(table.schema.empty_table(), columns)  # so that columns are looked at even if there are no rows
        rows, first, done, size = table.rows() or 0, 0, 0, source.size or 0
        for batch in table.batches:
            first += batch.num_rows
            until = size * first // max(rows, 1)
            yield _TableBlock(source.file, first - batch.num_rows, batch, until - done, columns)
            done = until
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise UserError(f"{source.file}: {' '.join(str(error).split())}; it may be damaged or incomplete") from None
    except InputError as error:
        text = str(error)
        raise UserError(text if text.startswith(source.file) else f"{source.file}: {text}") from None
