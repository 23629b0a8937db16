"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from streameval.errors import FormatError

if sys.platform != "win32":  # where nobody can remove a file that another process has open
    import fcntl

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of ``data`` or leave the old file: a temporary file in the same folder, flushed to disk, then renamed.

    Once this returns, the data is on disk, so that no crash can lose it.

    Raises
    ------
    OSError
        If it cannot be written; also for what is there and is no file, such as a device, which would be replaced.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        raise FileExistsError(errno.EEXIST, "Is no ordinary file, and is not replaced", str(target))
    temporary, file = _open_temporary(target)
    try:
        try:
            _write_all(file, data)
            os.fsync(file)
            if sys.platform != "win32":  # renamed while it is held, or another process might take it for a leftover
                temporary.replace(target)
        finally:
            os.close(file)
        if sys.platform == "win32":
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if sys.platform != "win32":  # the rename itself must reach the disk; Windows has no such call
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _open_temporary(target: Path) -> tuple[Path, int]:
    """A new file in the same folder, open and in use."""
    while True:
        temporary = target.with_name(f"{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        file = os.open(temporary, _NEW, 0o666)
        if _hold(file) is not False:
            return temporary, file
        os.close(file)  # somebody takes it for a leftover and removes it


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.write(file, rest)  # a disk that is nearly full takes a part of it
        if written <= 0:
            raise OSError(errno.EIO, "nothing was written")
        rest = rest[written:]


def _hold(file: int) -> bool | None:
    """Mark an open file as in use until it is closed; False if it is already, None if this system cannot mark files."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def clear_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of this file that killed processes left; those that a process is writing now stay."""
    if sys.platform == "win32":
        return
    target = Path(path)
    ours = re.compile(re.escape(target.name) + r"\.[0-9]+\.[0-9a-f]{8}\.tmp")
    with contextlib.suppress(OSError):  # of a folder that cannot be read; saving will say what is wrong
        for entry in target.parent.iterdir():
            with contextlib.suppress(OSError):  # removed by another process, or not ours to remove
                if ours.fullmatch(entry.name):
                    _clear(entry)


def _clear(leftover: Path) -> None:
    file = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _hold(file):
            leftover.unlink()
    finally:
        os.close(file)


@contextlib.contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error about bytes say in which file they were."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None
