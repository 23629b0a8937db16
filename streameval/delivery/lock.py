"""A lock on a file for one writer at a time; it ends with the process at the latest."""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import stat
import weakref
from pathlib import Path

from streameval.errors import InputError
from streameval.wire.files import CLOSE_FIRST, FLAGS, hold, is_same, short_name

_LONGEST = 500  # bytes of a lock file


class PathLock:
    """Holds a path by locking ``NAME.lock`` beside it, until it is released or the process ends, however it ends.

    `InputError` if the path is held already, by this process or by one that the message names. If the file system
    cannot lock, nothing is held. A forked child closes its copy; else the path would stay held after its parent ends.
    """

    def __init__(self, path: Path) -> None:
        self.target, self.process, self.forked = Path(os.path.realpath(path)), os.getpid(), False
        name = f"{self.target.name}.lock"
        self._path = self.target.with_name(name if len(os.fsencode(name)) <= 255 else short_name(self.target, "lock"))
        while True:
            file = io.FileIO(os.open(self._path, os.O_RDWR | os.O_CREAT | FLAGS, 0o666), "r+")
            held, status = hold(file.fileno()), os.fstat(file.fileno())
            if held is False:
                with file:
                    raise InputError(f"{path} is held by {self._holder(file)}")
            if not (stat.S_ISREG(status.st_mode) and re.fullmatch(rb"(\d+( .*\n?)?)?", file.read(_LONGEST))):
                with file:
                    raise InputError(f"{self._path} is not a lock file of ours; rename it, or give another path")
            if held is None or is_same(self._path, status):
                break
            file.close()  # the previous holder has removed this lock file meanwhile
        self._file: io.FileIO | None = file
        try:
            if held:
                file.seek(0)
                file.truncate()
                file.write(f"{self.process} {socket.gethostname()}\n".encode())
            else:
                self.release()
        except OSError as error:  # for example, the disk is full
            self.release()
            raise OSError(error.errno, error.strerror, str(self._path)) from error
        self.open = True
        _OPEN.add(self)

    def _holder(self, file: io.FileIO) -> str:
        if any(lock.target == self.target for lock in _OPEN):
            return "an open Checkpointer of this process; close() it, or use with"
        file.seek(0)
        process, _, host = file.read(_LONGEST).decode(errors="replace").strip().partition(" ")
        who = f"process {process} on {host}" if host else "another process"
        return f"a Checkpointer of {who}; let it end first, or give another path"

    def release(self, *, remove: bool = True) -> None:
        """Release the path; without removing the lock file, a copy in another process goes on holding it."""
        _OPEN.discard(self)
        file, self._file, self.open = self._file, None, False
        if file is not None:
            with file, contextlib.suppress(OSError):
                if CLOSE_FIRST or not remove:
                    file.close()
                if remove:  # if possible before unlocking; else this could remove the lock file of the next holder
                    self._path.unlink()


_OPEN: weakref.WeakSet[PathLock] = weakref.WeakSet()


def _release_copies() -> None:
    for lock in list(_OPEN):
        lock.release(remove=False)
        lock.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_copies)
