"""Reads and counts the files that arguments name, also one that grows, as ``tail -f`` does."""

from __future__ import annotations

import gc
import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from time import sleep
from types import FrameType
from typing import Any

from streameval.cli.settings import is_terminal, note
from streameval.errors import InputError, StreamevalError
from streameval.tabular.columns import Columns
from streameval.tabular.evaluate import Counting
from streameval.tabular.rows import Block, EmptyError, RowError
from streameval.tabular.sources import files_of, open_source

STDIN = "-"

_ROWS = 2**16
_COLLECTED = 200_000  # objects between searches for cycles, which rows lack; by default they take 10 % of the time
_PAUSE = 0.2  # seconds between checks of a growing file, or of standard input


class UserError(StreamevalError):
    """An error of the user, in one line, after which the command ends with exit code 2."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files, or standard input."""

    path: str  # or a pattern, or ``-``
    files: tuple[Path | str, ...]
    size: int | None  # bytes; None for a stream
    growing: Any = None  # a stream over a `Growing`

    def blocks(self, columns: Columns, *, allow_empty: bool = False) -> Iterator[Block]:
        """Blocks of rows; opening waits until the first is requested, because Ctrl-C is handled from then on."""
        source: Any = self.path
        if self.growing is not None:
            source = self.growing
        elif source == STDIN:
            source = _stdin()
            if is_terminal(sys.stdin) and not arrives(1.0):
                note("reading standard input; Ctrl-D ends")
        blocks = open_source(source, columns, _ROWS).blocks
        one_by_one = columns.example is None and not hasattr(columns, "truth")
        while True:
            try:
                block = next(blocks, None)
            except EmptyError as error:
                if not (allow_empty and one_by_one):  # generators that join rows have ended
                    raise UserError(f"{error}; --allow-empty accepts files without rows") from None
            else:
                if block is None:
                    return
                yield block
                block = None  # frees it while the next is read


def _stdin(*, again: bool = False) -> Any:
    """Standard input from its start; ``again`` holds what is read, for another reading."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    stream = _interruptible(sys.stdin)
    stream.head.seek(0)
    stream.again = again
    return io.BufferedReader(stream)


@lru_cache(maxsize=1)  # one object, which holds what was read to list the columns
def _interruptible(stream: Any) -> _Interruptible:
    stream = getattr(stream, "buffer", None) or io.BytesIO(stream.read().encode())  # a stream of text
    return _Interruptible(getattr(stream, "raw", stream))


class _Interruptible(io.RawIOBase):
    """A stream whose reads end at Ctrl-C, even if it comes just before a read blocks, which a plain read misses."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.head, self.again = stream, io.BytesIO(), False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Does nothing, because another reader may follow."""

    def readinto(self, buffer: Any) -> Any:
        if count := self.head.readinto(buffer):
            return count
        while not arrives(_PAUSE):  # an interrupt just before a wait is raised after this wait
            pass
        count = self._stream.readinto(buffer)
        self.head.write(buffer[: count if self.again else 0])
        return count


def arrives(seconds: float) -> bool:
    """Whether standard input can be read within some seconds; True if select does not support it."""
    try:
        return bool(select.select([sys.stdin], [], [], seconds)[0])
    except (OSError, ValueError):  # no file descriptor; on Windows, no socket
        return True


def columns_of(source: Source) -> list[str]:
    """The names of the columns of a source; standard input is held for the next reader."""
    headers: list[list[str]] = []
    if source.path != STDIN and not all(Path(file).is_file() for file in source.files):  # rows of a pipe come once
        columns = "name the columns with --actual, and with --predicted or --scores"
        raise UserError(f"{source.path} is a pipe or a device, and cannot be searched for columns; {columns}")

    class Header(Columns):
        def check_names(self, names: Iterable[Any]) -> list[str]:
            headers.append([*map(str, names)])
            raise InputError("only the names are wanted")  # a CSV reader tries again with other delimiters

    stream = _stdin(again=True) if source.path == STDIN else source.path
    try:
        block = next(open_source(stream, Header("?", "?"), _ROWS).blocks, None)
    except InputError:
        if not headers:  # the file itself cannot be read
            raise
        return max(headers, key=len)
    names = [str(name) for row in (block.rows[:100] if block else ()) if isinstance(row, dict) for name in row]
    if block is not None and block.rows and not names and isinstance(wrong := block.rows[0], RowError):
        raise InputError(block.located(str(wrong), column=wrong.column))
    return [*dict.fromkeys(names)]


def sources_of(arguments: list[str]) -> list[Source]:
    """The sources that paths and patterns name, in order."""
    if arguments.count(STDIN) > 1:
        raise UserError("standard input can be read only once; give - once")
    sources: list[Source] = []
    for path in arguments:
        if len(arguments) > 1 and path.isidentifier() and not Path(path).exists():
            advice = "repeat it for more columns (-a cat -a dog), list metrics as f1_micro,f1_macro"
            raise UserError(f"there is no file {path!r}; an option takes one value: {advice}")
        files = [] if path == STDIN else files_of(path)
        size = sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None
        sources.append(Source(path, tuple(files) or (STDIN,), size if files else None))
    return sources


class Growing(io.FileIO):
    """A file that is read as it grows, until it is truncated or replaced; ``tick`` is called during waits."""

    tick: Callable[[], object] = int

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path, self._read, self._last = Path(path), 0, b""
        self.end = f"{path} was truncated or replaced; start again to follow the new file"

    def readinto(self, buffer: Any) -> int:
        """Read the available bytes; wait until there is at least one, or return 0 at the end."""
        ended = False
        while not (size := super().readinto(buffer) or 0):
            if ended:  # before this read, so that no bytes that were written earlier are missed
                if self._last not in b"\n":
                    raise InputError(self.end)  # an incomplete line must not be counted
                return 0
            own, path = os.fstat(self.fileno()), self._path
            ended = own.st_size < self._read or not path.exists() or not os.path.samestat(path.stat(), own)
            if not ended:
                self.tick()
                sleep(_PAUSE)
        self._read, self._last = self._read + size, bytes(buffer[size - 1 : size])
        return size

    def readall(self) -> bytes:
        """Raise, because only arrays of JSON are read whole."""
        raise InputError(f"{self._path} is one array of JSON, which is read whole; write an object on each line")


def growing(path: str) -> Source:
    files = sources_of([path])[0].files
    if path == STDIN or len(files) != 1 or not Path(files[0]).is_file():
        raise UserError("watch follows one file; for what arrives on standard input use 'streameval evaluate -'")
    with Path(files[0]).open("rb") as opened:
        if opened.read(2) == b"\x1f\x8b":
            raise UserError(f"{path} is compressed by gzip, which is read whole; use 'streameval evaluate'")
    return Source(path, files, None, io.BufferedReader(Growing(str(files[0]))))


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; a second Ctrl-C interrupts at once."""
    requested: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if requested:
            raise KeyboardInterrupt
        requested.append(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if requested:
        raise KeyboardInterrupt


def count(
    sources: list[Source], counting: Counting, advance: Callable[[int], None], *, allow_empty: bool, limit: int | None
) -> bool:
    """Count all rows, or the first ``limit``; returns whether Ctrl-C ended the counting."""
    collected = gc.get_threshold()
    gc.set_threshold(_COLLECTED, *collected[1:])
    try:
        for source in sources:
            if source.growing is not None:
                source.growing.raw.tick = partial(advance, 0)
            blocks = source.blocks(counting.job.columns, allow_empty=allow_empty)
            while counting.rows != limit and (block := next(blocks, None)) is not None:
                rows = block.rows if limit is None else block.rows[: limit - counting.rows]
                with deferred_interrupts():
                    counting.add(replace(block, rows=rows))
                    advance(block.size)
                rows = block = None  # frees them while the next are read
    except KeyboardInterrupt:
        return True
    finally:
        gc.set_threshold(*collected)
    return False
