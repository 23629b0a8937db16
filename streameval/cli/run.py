"""The command run: every error of a user is one line and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import typer

from streameval.cli.app import app
from streameval.errors import StreamevalError

# Typer carries its own Click, or uses that which is installed, depending on its version; the class is the same family.
_Usage = typer.BadParameter.__mro__[2]

WRONG, INTERRUPTED = 2, 130


def run(args: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None where they were closed
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label must not fail where it cannot be written
    words = sys.argv[1:] if args is None else list(args)
    try:
        code = app(args=words or ["--help"], prog_name="streameval", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        _forget_output()
        return 0
    except SystemExit as end:  # which completion of shells ends with, and click where a pipe is closed
        if isinstance(end.__context__, BrokenPipeError):
            _forget_output()
            return 0
        return end.code if isinstance(end.code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except StreamevalError as error:
        return _failed(str(error))
    except OSError as error:
        _forget_output()
        return _failed(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _failed("memory has run out; fewer labels, slices (--by) or a smaller --window need less")
    except Exception as error:
        if isinstance(error, _Usage):
            text = str(error.format_message() if hasattr(error, "format_message") else error)
            return _failed(f"{text.rstrip('.')}; see --help")
        raise
    return code if isinstance(code, int) else 0


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _forget_output() -> None:
    """Let what could not be written not fail once more when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(text: str) -> int:
    line = " ".join(text.split())
    sys.stderr.write(f"streameval: {line}\n")
    return WRONG
