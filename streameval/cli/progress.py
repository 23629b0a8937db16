"""What a terminal shows while rows are counted: a bar of bytes, or a live table of a stream."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeAlias

from rich import progress as parts
from rich.live import Live
from rich.table import Column

from streameval.cli.reading import STDIN, Source
from streameval.cli.render import console_of, drawn
from streameval.cli.results import Result, tables_of

Advance: TypeAlias = Callable[[int], None]

_WIDE = 72  # columns of a terminal, from which on there is room for all parts of a bar
_SHARE = 20  # drawing takes one part in so many of the time, at most


def watched(sources: list[Source], result: Callable[[], Result]) -> AbstractContextManager[Advance]:
    """A function to call with the bytes that were counted."""
    if not sys.stderr.isatty():
        return nullcontext(lambda _: None)
    if any(source.size is None for source in sources):
        return _live(result, reads_stdin=any(source.path == STDIN for source in sources))
    return _bar(sum(source.size or 0 for source in sources))


@contextmanager
def _bar(size: int) -> Iterator[Advance]:
    console = console_of(sys.stderr)
    fixed = Column(no_wrap=True)  # a line that is broken in two would jump
    wide = (parts.DownloadColumn(table_column=fixed), parts.TransferSpeedColumn(table_column=fixed), "left")
    columns = (
        parts.BarColumn(None),
        parts.TextColumn("{task.percentage:>3.0f}%", table_column=fixed),
        *(wide if console.width >= _WIDE else ()),
        parts.TimeRemainingColumn(table_column=fixed),
    )
    with parts.Progress(*columns, console=console, transient=True, expand=True) as progress:
        task = progress.add_task("", total=size)
        yield lambda done: progress.advance(task, done)


@contextmanager
def _live(result: Callable[[], Result], *, reads_stdin: bool) -> Iterator[Advance]:
    console = console_of(sys.stderr)
    began, after = time.monotonic(), 0.0
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def advance(_: int) -> None:
            nonlocal after
            start = time.monotonic()
            if start < after and not (reads_stdin and _idle(after - start)):
                return
            start = time.monotonic()
            now = result()
            rate = now.counts.examples / max(start - began, 1e-9)
            headline = f"{now.report.headline}, {rate:,.0f} a second; Ctrl-C ends"
            live.update(drawn(tables_of(now, top=max(5, console.height - 22)), headline, console), refresh=True)
            end = time.monotonic()
            after = end + (end - start) * _SHARE

        yield advance


def _idle(seconds: float) -> bool:
    """Whether standard input brings nothing for so long, so that the table would stay behind what is counted."""
    try:
        return not select.select([sys.stdin], [], [], seconds)[0]
    except (OSError, ValueError):  # it is no file of the system; on Windows also if it is no socket
        return False
