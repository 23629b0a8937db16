"""The files that arguments name: opened by the library, one that grows as by ``tail -f``, and counted."""

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
_SELDOM = 200_000  # objects until Python looks for cycles among them; rows have none, and it takes a tenth of the time
_PAUSE = 0.2  # seconds until a growing file, or standard input, is looked at again


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
        """Its rows; nothing is opened before the first is asked for, so that Ctrl-C ends a wait for it."""
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
                if not (allow_empty and one_by_one):  # what joins rows of several files does not go on
                    raise UserError(f"{error}; --allow-empty accepts files without rows") from None
            else:
                if block is None:
                    return
                yield block
                block = None  # while the next is read


def _stdin(*, again: bool = False) -> Any:
    """Standard input from its start, which is held if it will be read once more."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    stream = _interruptible(sys.stdin)
    stream.head.seek(0)
    stream.again = again
    return io.BufferedReader(stream)


@lru_cache(maxsize=1)  # what was read for its columns
def _interruptible(stream: Any) -> _Interruptible:
    stream = getattr(stream, "buffer", None) or io.BytesIO(stream.read().encode())  # which has only text
    return _Interruptible(getattr(stream, "raw", stream))


class _Interruptible(io.RawIOBase):
    """A stream whose reads Ctrl-C ends, also if it is pressed just before one blocks, which a plain read misses."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.head, self.again = stream, io.BytesIO(), False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing: one reader of it follows another."""

    def readinto(self, buffer: Any) -> Any:
        if count := self.head.readinto(buffer):
            return count
        while not arrives(_PAUSE):  # an interrupt that comes just before a wait is raised after it
            pass
        count = self._stream.readinto(buffer)
        self.head.write(buffer[: count if self.again else 0])
        return count


def arrives(seconds: float) -> bool:
    """Whether standard input brings something in time, or cannot be asked. A handler that raises ends the wait."""
    try:
        return bool(select.select([sys.stdin], [], [], seconds)[0])
    except (OSError, ValueError):  # not a file of the system; on Windows not a socket
        return True


def columns_of(source: Source) -> list[str]:
    """The names of its columns, without taking a row of a stream."""
    headers: list[list[str]] = []
    if source.path != STDIN and not all(Path(file).is_file() for file in source.files):  # whose rows come only once
        columns = "name the columns with --actual, and with --predicted or --scores"
        raise UserError(f"{source.path} is a pipe or a device, and cannot be searched for columns; {columns}")

    class Header(Columns):
        def check_names(self, names: Iterable[Any]) -> list[str]:
            headers.append([*map(str, names)])
            raise InputError("only the names are wanted")  # and if a file is CSV, with each delimiter

    stream = _stdin(again=True) if source.path == STDIN else source.path
    try:
        block = next(open_source(stream, Header("?", "?"), _ROWS).blocks, None)
    except InputError:
        if not headers:  # a file that is not to be read
            raise
        return max(headers, key=len)
    names = [str(name) for row in (block.rows[:100] if block else ()) if isinstance(row, dict) for name in row]
    if block is not None and block.rows and not names and isinstance(wrong := block.rows[0], RowError):
        raise InputError(block.located(str(wrong), column=wrong.column))
    return [*dict.fromkeys(names)]


def sources_of(arguments: list[str]) -> list[Source]:
    """What paths and patterns stand for, in order."""
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
    """A file that ends when it is truncated or replaced: reading waits for more, and calls ``tick`` meanwhile."""

    tick: Callable[[], object] = int

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._path, self._read, self._last = Path(path), 0, b""
        self.end = f"{path} was truncated or replaced; start again to follow the new file"

    def readinto(self, buffer: Any) -> int:
        """Read what is there, but at least a byte."""
        while not (size := super().readinto(buffer) or 0):
            own = os.fstat(self.fileno())
            if own.st_size < self._read or not self._path.exists() or not os.path.samestat(self._path.stat(), own):
                if self._last not in b"\n":
                    raise InputError(self.end)  # within a line, which must not be counted
                return 0
            self.tick()
            sleep(_PAUSE)
        self._read, self._last = self._read + size, bytes(buffer[size - 1 : size])
        return size

    def readall(self) -> bytes:
        """What only an array of JSON asks for."""
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
    """Let Ctrl-C wait for the end of what is done within; a second one does not wait."""
    requested: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if requested:
            raise KeyboardInterrupt
        requested.append(number)

    if threading.current_thread() is not threading.main_thread():  # no other receives signals
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
    """Count all rows, or the first ``limit``; whether Ctrl-C ended it before."""
    collected = gc.get_threshold()
    gc.set_threshold(_SELDOM, *collected[1:])
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
                rows = block = None  # while the next is read
    except KeyboardInterrupt:
        return True
    finally:
        gc.set_threshold(*collected)
    return False
