"""Where commands write, and in which format. Files are checked before the work, and written after it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from enum import StrEnum
from pathlib import Path

from streameval.cli.reading import STDIN, UserError
from streameval.cli.settings import COLOR, Color
from streameval.evaluation.pages import check_page
from streameval.schema.text import either
from streameval.wire.envelope import MAGIC
from streameval.wire.files import check_writable, write_file

Format = StrEnum("Format", ["table", "json", "csv", "markdown"])  # how results are written

SUFFIXES = {".json": Format.json, ".csv": Format.csv, ".md": Format.markdown, ".txt": Format.table}
"""The format of an ``--output`` file, by its suffix."""

NUMBERS = ("scope", "label", "metric", "value", "bound_low", "bound_high")
CHANGES = ("scope", "label", "metric", "a", "b", "change", "bound_low", "bound_high")
CATALOGUE = ("name", "averages", "from", "summary", "formula", "source")
THRESHOLDS = ("label", "threshold", "value", "bound")
"""The columns of CSV and Markdown."""

_OURS = re.compile(
    rb'\Z|%s|\s*\{\s*("schema":\s*\d+,\s*)?"streameval":|<!doctype html>.*<meta name="generator" content="streameval">'
    rb"|(no|[\d,]+) examples?\b[^\n]*\n\n" % re.escape(MAGIC),
    re.DOTALL,
)
"""Matches the start of files that may be replaced: empty ones, and states, JSON, pages and tables of commands."""

_HEADERS = {
    line.format(between.join(names)).encode()
    for names in (NUMBERS, CHANGES, CATALOGUE, THRESHOLDS)
    for line, between in (("{}", ","), ('"{}"', '","'), ("| {} |", " | "))
}


def format_of(output: Path | None, how: Format | None) -> Format:
    """The format to write: that of the suffix of ``--output``, which ``--format`` may not contradict."""
    suffix = "" if output is None else output.suffix.lower()
    if suffix in SUFFIXES:
        if how not in (None, SUFFIXES[suffix]):
            raise UserError(f"--output {output} is {SUFFIXES[suffix]}, but --format is {how}; leave one of them out")
        return SUFFIXES[suffix]
    if output is None or is_device(output) or (how is not None and not suffix):
        return how or Format.table
    page = "; for a page give --report FILE.html" if suffix == ".html" else ""
    raise UserError(f"--output {output} must end in {either(SUFFIXES)}{page}")


@contextmanager
def written_to(output: Path | None) -> Iterator[None]:
    """Redirect standard output to a file, if one is named."""
    if output is None:
        yield
        return
    COLOR.set(Color.never)
    with redirect_stdout(io.StringIO()) as text:
        yield
    write_output(output, text.getvalue().encode("utf-8", "backslashreplace"))


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path], force: bool) -> None:
    """Raise if a file to write cannot be written, is also read, or, without ``force``, was not written by a command."""
    used = {identity(path): "is a file that is read" for path in inputs}
    for purpose, path in outputs.items():
        option = purpose.split()[0]
        try:
            if path is None or is_device(path):
                continue
            if str(path) == STDIN:
                raise UserError(f"{option} - does not stand for standard output; name a file, or /dev/stdout")
            if (name := identity(path)) in used:
                raise UserError(f"{option} {path} {used[name]}; name another")
            used[name] = f"is the file of {option}"
            check_writable(path)
            if purpose in ("--report", "--output of a page"):
                check_page(option, path)
            first = b""
            if path.exists() and not force:
                with path.open("rb") as file:
                    first = file.read(4096)
        except OSError as error:
            cannot = "" if isinstance(error, FileExistsError) else "cannot be written: "
            raise UserError(f"{option} {path} {cannot}{error.strerror}") from None
        if not (_OURS.match(first) or re.sub(rb" +", b" ", first.partition(b"\n")[0]) in _HEADERS):
            raise UserError(f"{option} {path} is a file that streameval did not write; name another, or give --force")


def write_output(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; a device, which cannot be replaced, is written to directly."""
    if is_device(path):
        path.write_bytes(data)
    else:
        write_file(path, data)


def is_device(path: Path) -> bool:
    """Whether a path is written to and never replaced: a device, or a pipe of the shell in /dev."""
    pipe = path.is_fifo() and path.absolute().is_relative_to("/dev")
    return pipe or path.is_char_device() or path.is_block_device()


def identity(path: str | Path) -> object:
    """A key of a file, which is equal for all names of this file."""
    try:
        status = os.fstat(0) if path == STDIN else Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino
