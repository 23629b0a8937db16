"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["read_file", "write_file"]


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write all of ``data`` or leave the old file: a temporary file beside it, flushed to disk, then renamed."""
    target = Path(path)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the rename itself must reach the disk; Windows has no such call
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file."""
    return Path(path).read_bytes()
