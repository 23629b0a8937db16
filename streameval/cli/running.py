"""The command run: every error of a user is one line and exit code 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from streameval.cli.app import app
from streameval.errors import StreamevalError

__all__ = ["run"]

# Typer carries its own Click, or uses that which is installed, depending on its version; the class is the same family.
_Usage = typer.BadParameter.__mro__[2]

WRONG, INTERRUPTED = 2, 130


def run(args: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a label must not fail where it cannot be written
    try:
        code = app(args=None if args is None else list(args), prog_name="streameval", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except SystemExit as end:  # which completion of shells ends with
        return end.code if isinstance(end.code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except StreamevalError as error:
        return _told(str(error))
    except OSError as error:
        return _told(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _told("memory has run out; fewer labels, slices (--by) or a smaller --window need less")
    except Exception as error:
        if isinstance(error, _Usage):
            text = str(error.format_message() if hasattr(error, "format_message") else error)
            return _told(f"{text.rstrip('.')}; see --help")
        raise
    return code if isinstance(code, int) else 0


def _told(text: str) -> int:
    line = " ".join(text.split())
    sys.stderr.write(f"streameval: {line}\n")
    return WRONG
