"""What a terminal shows while rows are counted: a bar of bytes, or a live table of a stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

from rich import progress as parts
from rich.live import Live
from rich.table import Column

from streameval.cli.reading import STDIN, Source, arrives
from streameval.cli.render import console_of, drawn, tables_of
from streameval.cli.results import Result
from streameval.cli.settings import QUIET

Advance: TypeAlias = Callable[[int], None]

_PATIENCE = 1.0  # seconds until something is drawn
_SHARE = 20  # drawing takes one part in so many of the time, at most


def watched(sources: list[Source], result: Callable[[], Result]) -> AbstractContextManager[Advance]:
    """A function to call with the bytes that were counted."""
    if QUIET.get() or not sys.stderr.isatty():
        return nullcontext(lambda _: None)
    if any(source.size is None for source in sources):
        return live(result, reads_stdin=any(source.path == STDIN for source in sources))
    return _bar(sum(source.size or 0 for source in sources))


@contextmanager
def _bar(size: int) -> Iterator[Advance]:
    console = console_of(sys.stderr)
    fixed = Column(no_wrap=True)  # a line that is broken in two would jump
    columns = (
        parts.BarColumn(None),
        parts.TextColumn("{task.percentage:>3.0f}%", table_column=fixed),
        parts.TimeRemainingColumn(table_column=fixed),
        "left",
    )
    progress = parts.Progress(*columns, console=console, transient=True, expand=True)
    task, after = progress.add_task("", total=size), time.monotonic() + _PATIENCE

    def advance(done: int) -> None:
        progress.advance(task, done)
        if time.monotonic() > after:
            progress.start()

    try:
        yield advance
    finally:
        progress.stop()


@contextmanager
def live(
    result: Callable[[], Result], *, reads_stdin: bool = False, pause: float = 0.0, patience: float = _PATIENCE
) -> Iterator[Advance]:
    """A table that is drawn anew at most every ``pause`` seconds, and takes a small share of the time."""
    console = console_of(sys.stderr)
    began = time.monotonic()
    after = began + patience
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def advance(_: int) -> None:
            nonlocal after
            start = time.monotonic()
            if start < after and (not reads_stdin or arrives(after - start)):
                return
            start = time.monotonic()
            now = result()
            rate = now.counts.examples / max(start - began, 1e-9)
            document = now.document({})
            headline = f"{document.headline}, {rate:,.0f} a second; Ctrl-C ends"
            tables = tables_of(document, top=max(5, console.height - 22))
            live.update(drawn(tables, headline, console), refresh=True)
            end = time.monotonic()
            after = end + max(pause, (end - start) * _SHARE)

        yield advance


@contextmanager
def lines(write: Callable[[], object], pause: float) -> Iterator[Advance]:
    """Write something now, at most every ``pause`` seconds if more was counted since, and at the end likewise."""
    after, more = time.monotonic() + pause, False
    write()

    def advance(size: int) -> None:
        nonlocal after, more
        more = more or size > 0
        if more and time.monotonic() >= after:
            write()
            after, more = time.monotonic() + pause, False

    yield advance
    if more:
        write()
