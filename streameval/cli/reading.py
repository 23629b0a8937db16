"""The files that arguments name, which the library reads."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval.errors import StreamevalError
from streameval.tabular.blocks import Block
from streameval.tabular.columns import Columns
from streameval.tabular.sources import files_of, open_source

STDIN = "-"

_ROWS = 2**16


class UserError(StreamevalError):
    """An error of the user, in one line, after which the command ends with exit code 2."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files, or standard input."""

    path: str  # or a pattern, or ``-``
    files: tuple[Path | str, ...]
    size: int | None  # bytes; None for a stream

    def blocks(self, columns: Columns) -> Iterator[Block]:
        """Its rows."""
        source: Any = self.path
        if source == STDIN:
            if sys.stdin is None:
                raise UserError("standard input is closed")
            source = sys.stdin.buffer
            source = source if hasattr(source, "peek") else io.BufferedReader(source)
        return open_source(source, columns, _ROWS).blocks


def sources_of(arguments: list[str]) -> list[Source]:
    """What paths and patterns stand for, in order."""
    if arguments.count(STDIN) > 1:
        raise UserError("standard input can be read only once; give - once")
    sources: list[Source] = []
    for path in arguments:
        files = [] if path == STDIN else files_of(path)
        size = sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None
        sources.append(Source(path, tuple(files) or (STDIN,), size if files else None))
    return sources
