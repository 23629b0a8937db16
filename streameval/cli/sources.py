"""The files that arguments name, and what each holds."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval.cli.reading import Block, UserError, read_csv, read_jsonl, read_tables
from streameval.tabular.columns import Columns
from streameval.tabular.sources import matches_of

STDIN = "-"

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson", ".json")
_COMPRESSED = {b"\x1f\x8b": "gunzip -c", b"\x28\xb5\x2f\xfd": "zstdcat", b"BZh": "bzcat", b"\xfd7zX": "xzcat"}


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
            suffix, first = Path(self.file).suffix.lower(), start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
            if start[:4] in (b"PAR1", b"ARRO"):
                if self.size is None:
                    raise UserError("standard input is Parquet or Arrow, which is read from files only; give the path")
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
