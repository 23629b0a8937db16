"""The files that options name to be written: checked before the work, and written after it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from streameval.cli.reading import STDIN, UserError
from streameval.wire.envelope import MAGIC
from streameval.wire.files import check_writable, write_file

_OURS = re.compile(
    rb'\Z|%s|\s*\{\s*"streameval"|<!doctype html>.*<meta name="generator" content="streameval">' % re.escape(MAGIC),
    re.DOTALL,
)
"""How files begin that are empty or that commands wrote: states, JSON, pages."""


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Iterable[str | Path], force: bool, start: bytes = b""
) -> None:
    """Raise before the work if what options name cannot be written, is read, or, without force, is no file of ours.

    Files that begin with ``start`` are ours too.
    """
    used = {identity(path): "is a file that is read" for path in inputs}
    for option, path in outputs.items():
        try:
            if path is None or is_device(path):
                continue
            if (name := identity(path)) in used:
                raise UserError(f"{option} {path} {used[name]}; name another")
            used[name] = f"is the file of {option}"
            check_writable(path)
            first = b""
            if path.exists() and not force:
                with path.open("rb") as file:
                    first = file.read(4096)
        except OSError as error:
            cannot = "" if isinstance(error, FileExistsError) else "cannot be written: "
            raise UserError(f"{option} {path} {cannot}{error.strerror}") from None
        if not (_OURS.match(first) or (start and first.startswith(start))):
            raise UserError(f"{option} {path} is a file that streameval did not write; name another, or give --force")


def write_output(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a device is no file that could be replaced."""
    if is_device(path):
        path.write_bytes(data)
    else:
        write_file(path, data)


def is_device(path: Path) -> bool:
    """Whether something there takes what is written to it: a device, or in /dev a pipe of the shell."""
    pipe = path.is_fifo() and path.absolute().is_relative_to("/dev")
    return pipe or path.is_char_device() or path.is_block_device()


def identity(path: str | Path) -> object:
    """Equal for two names of one file."""
    try:
        status = os.fstat(0) if path == STDIN else Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
