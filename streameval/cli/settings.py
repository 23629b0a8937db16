"""What holds for a whole run of the command: how much it says, in which words and colors, with how many decimals."""

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
"""What was warned of, in the words of the command."""


def is_terminal(stream: object) -> bool:
    """Whether a stream, which may have nothing but ``write`` and ``flush``, is one."""
    return bool(getattr(stream, "isatty", bool)())


def say(text: str) -> None:
    """Write a line on standard error, if it is read: nobody who reads it ends a run or changes its status."""
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
    """Let what is written end early where the reader of a pipe, such as head, has seen enough."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        cause = end.__context__ if isinstance(end, SystemExit) else end  # rich makes one of the other
        if not isinstance(cause, BrokenPipeError):
            raise
        forget_output()


def forget_output() -> None:
    """Let what could not be written not fail once more when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
