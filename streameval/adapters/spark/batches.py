"""The states of numbered batches, in a folder or in memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import streameval
from streameval.errors import FormatError
from streameval.tabular.job import State

__all__ = ["Folder", "Memory", "Span", "counting"]

_FILE = re.compile(r"batches-(\d+)-(\d+)\.state")


class Span(NamedTuple):
    """Batches whose examples are in one state: from the first to the last."""

    first: int
    last: int


class Memory:
    """States in memory."""

    def __init__(self) -> None:
        self._states: dict[Span, bytes] = {}

    def found(self) -> list[Span]:
        """What there is, in order, a longer span before those that it has taken in."""
        return sorted(self._states, key=lambda span: (span.first, -span.last))

    def read(self, span: Span) -> bytes:
        """The state of a span."""
        return self._states[span]

    def write(self, span: Span, state: State) -> None:
        """Put a state in place of what was there."""
        self._states[span] = state.to_bytes()

    def remove(self, span: Span) -> None:
        """Forget a state."""
        del self._states[span]


class Folder(Memory):
    """States in files, each of which is written whole or not at all, and is on disk once it is written."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        path.mkdir(parents=True, exist_ok=True)

    def found(self) -> list[Span]:
        """What there is, in order, a longer span before those that it has taken in."""
        matches = [_FILE.fullmatch(file.name) for file in self.path.iterdir()]
        found = [Span(int(match[1]), int(match[2])) for match in matches if match]
        return sorted(found, key=lambda span: (span.first, -span.last))

    def read(self, span: Span) -> bytes:
        """The state of a span."""
        file = self._file(span)
        try:
            return streameval.load(file).to_bytes()
        except FormatError as error:
            raise error if str(file) in str(error) else FormatError(f"{file}: {error}") from None

    def write(self, span: Span, state: State) -> None:
        """Put a state in place of what was there."""
        state.save(self._file(span))

    def remove(self, span: Span) -> None:
        """Forget a state."""
        self._file(span).unlink(missing_ok=True)

    def _file(self, span: Span) -> Path:
        return self.path / f"batches-{span.first}-{span.last}.state"


def counting(found: list[Span]) -> list[Span]:
    """The spans that count: those that no longer one has taken in."""
    kept: list[Span] = []
    for span in found:
        if not kept or span.last > kept[-1].last:
            kept.append(span)
    return kept
