"""Settings of one run of the command: quietness, colors, decimals and warnings; and writing to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

Color = StrEnum("Color", ["auto", "always", "never"])

QUIET = ContextVar("QUIET", default=False)
COLOR = ContextVar("COLOR", default=Color.auto)
DIGITS = ContextVar("DIGITS", default=4)
WARNINGS: ContextVar[list[str]] = ContextVar("WARNINGS")
"""The warnings of this run, in the words of the command."""


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; it may lack ``isatty``."""
    return bool(getattr(stream, "isatty", bool)())


def say(text: str) -> None:
    """Write a line to standard error; a failure to write it neither ends the run nor changes its exit status."""
    try:
        sys.stderr.write(f"{text}\n")
    except OSError:  # such as a pipe that is closed, or a disk that is full
        forget_output()


def note(text: str) -> None:
    """Say something that is neither a warning nor an error."""
    if not QUIET.get():
        say(text)


@contextmanager
def until_unread() -> Iterator[None]:
    """Ignore the rest of the output if the reader of the pipe, such as head, has closed it."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        cause = end.__context__ if isinstance(end, SystemExit) else end  # rich exits for a broken pipe
        if not isinstance(cause, BrokenPipeError):
            raise
        forget_output()


def forget_output() -> None:
    """Discard output that could not be written, which would fail again when Python flushes it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
