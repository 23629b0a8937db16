"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from streameval.errors import FormatError, InputError, naming, wording
from streameval.schema.text import quoted
from streameval.wire.envelope import check_start

try:
    fcntl: Any = importlib.import_module("fcntl")
except ImportError:  # Windows
    fcntl = None

CLOSE_FIRST = sys.platform == "win32"  # because Windows cannot rename or remove an open file
_SLOTS = 8  # how many names of temporary files are searched for leftovers
_FAR = 2**30  # offset of the byte to lock on Windows, far behind the data because locked bytes cannot be read
FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_ACL = "system.posix_acl_access"
# Errors of file systems that cannot sync a folder; EACCES if it may not be listed, and always on Windows.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EROFS, errno.EACCES}

T = TypeVar("T")


def path_text(path: object) -> str:
    """A path as a string; `InputError` if it is no path, or cannot be the name of a file."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else b""
    with contextlib.suppress(UnicodeEncodeError):
        if isinstance(text, str) and text[-1:] not in ("", "/", os.sep) and b"\0" not in os.fsencode(text):
            return text
    hint = "; for bytes call from_bytes of the class" if isinstance(path, bytes | bytearray) else ""
    raise InputError(f"path must be a string or a pathlib.Path that names a file, not {quoted(path)}{hint}")


def write_file(
    path: str | os.PathLike[str], pieces: bytes | Iterable[bytes], note: Callable[[os.stat_result], object] = id
) -> None:
    """Write all of the bytes or leave the old file: a temporary file in the same folder, flushed to disk, then renamed.

    Once this returns, the data is on disk. Mode, owner, group and attributes stay as far as the system allows. Of a
    symbolic link the target is replaced, not the link; hard links keep the old content. ``note`` is called with the
    status of the new file before it replaces the old one. `OSError` if the file cannot be written, or if the path
    exists and is no regular file, such as a device.
    """
    path = path_text(path)
    with _naming_target(path):
        target, old = _resolved(path)
        temporary, file = _open_temporary(target, 0o666 if old is None else 0o600)
        try:
            if old is not None:
                _take_over(file.fileno(), target, old)
            with os.fdopen(file.fileno(), "wb", closefd=False) as buffer:
                buffer.writelines((pieces,) if isinstance(pieces, bytes) else pieces)
            _flush(file.fileno())
            if CLOSE_FIRST:  # otherwise it stays locked until the rename, so that no process removes it as a leftover
                file.close()
            written = os.lstat(temporary)  # after closing, because Windows sets the time of the last write then
            note(written)
            try:
                temporary.replace(target)
            except OSError:  # a network file system may lose the reply, and fail when it repeats a successful rename
                if not is_same(target, written):
                    raise
        except BaseException:
            _discard(temporary, file)
            raise
        finally:
            with contextlib.suppress(OSError):  # all data is on disk already
                file.close()
    try:  # the rename itself must reach the disk too, if folders can be synced
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            reason = f"replaced, but may not survive a power cut, as its folder cannot be synced: {error.strerror}"
            raise OSError(error.errno, reason, os.fspath(path)) from error


def _flush(file: int) -> None:
    """Flush to the disk itself; on macOS fsync only reaches the cache of the disk."""
    try:
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    except (AttributeError, OSError):  # not macOS; a network file system
        os.fsync(file)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the `OSError` that `write_file` would raise, as far as it can be known in advance."""
    path = path_text(path)
    with _naming_target(path):
        target, old = _resolved(path)
        folder = target.parent.stat()
        if old and folder.st_mode & stat.S_ISVTX and os.geteuid() not in (0, old.st_uid, folder.st_uid):
            raise PermissionError(errno.EPERM, "It is another user's file")
        temporary, file = _open_temporary(target, 0o600)
        _discard(temporary, file)
        file.close()


@contextlib.contextmanager
def _naming_target(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors name the target, not the temporary file, and give the reason."""
    try:
        yield
    except OSError as error:
        folder = Path(os.path.realpath(path) if Path(path).is_symlink() else path).parent
        why = f"no file can be made in {folder}" if folder.is_dir() else f"there is no folder {folder}; create it first"
        reasons = {errno.ENOENT: why} | dict.fromkeys(
            (errno.EACCES, errno.EPERM, errno.EROFS),
            f"{error.strerror}: the folder {folder} does not allow it, and a file is replaced through its folder",
        )
        raise OSError(error.errno, reasons.get(error.errno or 0, error.strerror), os.fspath(path)) from error


def _resolved(path: str | os.PathLike[str]) -> tuple[Path, os.stat_result | None]:
    folder = os.path.realpath(Path(path).parent, strict=True)  # strict, so that absent/../file is an error
    target = Path(os.path.realpath(Path(folder, Path(path).name)))
    try:
        old = target.stat()
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(old.st_mode):
        kind = "a folder" if stat.S_ISDIR(old.st_mode) else "not a regular file"
        raise FileExistsError(errno.EEXIST, f"is {kind}, and is not replaced", str(target))
    return target, old


def short_name(target: Path, suffix: str) -> str:
    """The name of an auxiliary file of ``target``: short, however long the name of the target is."""
    import hashlib  # imported late, so that importing the package stays quick

    return f".streameval-{hashlib.blake2b(os.fsencode(target.name), digest_size=8).hexdigest()}-{suffix}"


def _open_temporary(target: Path, mode: int) -> tuple[Path, io.FileIO]:
    """A new file in the same folder, open and locked. Temporary files of killed processes are removed first."""
    for slot in range(0 if CLOSE_FIRST else _SLOTS):
        leftover = target.with_name(short_name(target, f"{slot}.tmp"))
        with (
            contextlib.suppress(OSError),  # usually there is none; or we may not remove it
            io.FileIO(os.open(leftover, os.O_RDONLY | os.O_NONBLOCK | FLAGS)) as file,
        ):
            if hold(file.fileno()):
                _discard(leftover, file)
    for slot in count():
        temporary = target.with_name(short_name(target, f"{slot}.tmp"))
        try:
            file = io.FileIO(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, mode), "wb")
        except FileExistsError:
            continue
        if hold(file.fileno()) is not False and is_same(temporary, os.fstat(file.fileno())):
            break
        file.close()  # another process takes it for a leftover and removes it
    return temporary, file


def is_same(path: Path, file: os.stat_result) -> bool:
    """Whether a path leads to this very file."""
    try:
        return os.path.samestat(os.lstat(path), file)
    except OSError:
        return False


def _discard(temporary: Path, file: io.FileIO) -> None:
    """Remove a temporary file, unless its name belongs to another file by now."""
    with contextlib.suppress(OSError):
        if CLOSE_FIRST:
            file.close()
            temporary.unlink()
        elif is_same(temporary, os.fstat(file.fileno())):
            temporary.unlink()


def _take_over(file: int, target: Path, old: os.stat_result) -> None:
    """Give a file the owner, attributes and mode of the old one, as far as the system allows, but no more rights."""
    for owner in (old.st_uid, -1) if hasattr(os, "fchown") else ():  # only root may give a file to another
        with contextlib.suppress(OSError):
            os.fchown(file, owner, old.st_gid)
            break
    same = _copy_attributes(file, target) and os.fstat(file).st_gid == old.st_gid
    if hasattr(os, "fchmod"):
        os.fchmod(file, old.st_mode & (0o777 if same else 0o707))


def _copy_attributes(file: int, target: Path) -> bool:
    """Copy attributes; False if the access list cannot be copied, in which case the mode bits of the group differ."""
    names: list[str] = []
    with contextlib.suppress(OSError, AttributeError):  # as on Windows
        names = os.listxattr(target)
        os.removexattr(file, _ACL)  # new files inherit an access list from the folder
    same = True
    for name in names:
        try:
            os.setxattr(file, name, os.getxattr(target, name))
        except OSError:
            same = same and name != _ACL
    return same


def hold(file: int) -> bool | None:
    """Lock an open file until it is closed; False if it is locked already, None if this system cannot lock files."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            msvcrt: Any = importlib.import_module("msvcrt")
            os.lseek(file, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file, 0, os.SEEK_SET)
    except ImportError:  # neither POSIX nor Windows
        return None
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def read_file(path: str | os.PathLike[str], decode: Callable[[bytes], T], max_bytes: int | None = None) -> T:
    """Decode a file that this package wrote; for a foreign or too large file `FormatError`, without reading it all."""
    flags = FLAGS & ~getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    path = path_text(path)
    with naming(path):
        with io.FileIO(path, opener=lambda name, _: os.open(name, flags)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):  # reading a pipe may block, and a device may never end
                reads = wording("load() reads files that save() wrote", "write its bytes to a file, and name that")
                raise FormatError(f"this is not a regular file; {reads}")
            if max_bytes is not None and status.st_size > max_bytes:
                raise FormatError(f"the file has {status.st_size:,} bytes, more than max_bytes={max_bytes:,}")
            check_start(file.read(16), status.st_size)
            file.seek(0)
            data = file.readall()
        return decode(data)
