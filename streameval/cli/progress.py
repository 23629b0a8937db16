"""The display while rows are counted: a live table in a terminal, lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

from rich.live import Live

from streameval.cli.reading import STDIN, Source, arrives
from streameval.cli.render import console_of, drawn, tables_of
from streameval.cli.results import Result
from streameval.cli.settings import QUIET, is_terminal

Advance: TypeAlias = Callable[[int], None]

_SHARE = 20  # drawing takes at most 1/20 of the time
_PATIENCE = 1.0  # seconds until the first table, except for ``watch``


def watched(sources: list[Source], result: Callable[[], Result]) -> AbstractContextManager[Advance]:
    """Gives a function to call with the number of bytes counted, which draws a live table in a terminal."""
    if QUIET.get() or not is_terminal(sys.stderr):
        return nullcontext(lambda _: None)
    sizes = [source.size for source in sources if source.size is not None]
    size = sum(sizes) if len(sizes) == len(sources) else None
    return live(result, size=size, reads_stdin=any(source.path == STDIN for source in sources))


@contextmanager
def live(
    result: Callable[[], Result], *, size: int | None = None, reads_stdin: bool = False, pause: float = 0.0
) -> Iterator[Advance]:
    """A live table: drawn at most every ``pause`` seconds, or, without a pause, when counting takes long."""
    console = console_of(sys.stderr)
    began, read = time.monotonic(), 0
    after = began + (0.0 if pause else _PATIENCE)
    live = Live(console=console, auto_refresh=False, transient=True)

    def advance(done: int) -> None:
        nonlocal after, read
        read += done
        start = time.monotonic()
        if start < after and (not reads_stdin or arrives(after - start)):
            return
        start = time.monotonic()
        now = result()
        rate = now.counts.examples / max(start - began, 1e-9)
        document = now.document({})
        part = f"{read / size:.0%} of the files, " if size else ""
        headline = f"{document.headline}, {part}{rate:,.0f} a second; Ctrl-C ends"
        tables = tables_of(document, top=max(5, console.height - 22))
        live.start()
        live.update(drawn(tables, headline, console), refresh=True)
        end = time.monotonic()
        after = end + max(pause, (end - start) * _SHARE)

    try:
        yield advance
    finally:
        live.stop()


@contextmanager
def lines(write: Callable[[], object], pause: float) -> Iterator[Advance]:
    """Call ``write`` after rows were counted, at most every ``pause`` seconds, and at the end if rows are unwritten."""
    after: float = 0.0
    more: bool | None = None  # whether rows are unwritten; None if there were none, which is written at the end too

    def advance(size: int) -> None:
        nonlocal after, more
        more = size > 0 or more
        if more and time.monotonic() >= after:
            write()
            after, more = time.monotonic() + pause, False

    yield advance
    if more is not False:
        write()
