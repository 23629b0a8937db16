"""A replaced file retains its owner, mode and attributes; an error names the file and leaves it unchanged."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.wire import files
from streameval.wire.files import check_writable, read_file, write_file

posix = pytest.mark.skipif(os.name != "posix", reason="only on POSIX")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def temporary(target: Path, slot: int) -> Path:
    return target.with_name(files.short_name(target, f"{slot}.tmp"))


def failing(code: int) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


# -- content ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[], [0], [3], [1] * 1000, [2**18 + 1, 0, 5, 2**20, 1]])
def test_pieces_are_written_as_one_file(sizes: list[int], tmp_path: Path):
    pieces = [bytes([place % 251]) * size for place, size in enumerate(sizes)]
    write_file(tmp_path / "state", iter(pieces))
    assert content(tmp_path) == {"state": b"".join(pieces)}


def test_pieces_that_fail_leave_the_old_file(tmp_path: Path):
    def pieces() -> Iterator[bytes]:
        yield b"x" * 2**19
        raise ZeroDivisionError

    write_file(tmp_path / "state", b"old")
    with pytest.raises(ZeroDivisionError):
        write_file(tmp_path / "state", pieces())
    assert content(tmp_path) == {"state": b"old"}


# -- permissions ------------------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("old", [0o600, 0o640, 0o666, 0o444])
def test_the_mode_is_preserved_and_the_new_file_is_private_until_then(
    old: int, umask: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path, seen, chmod = tmp_path / "state", [], os.fchmod
    path.write_bytes(b"old")
    path.chmod(old)
    monkeypatch.setattr(os, "fchmod", lambda *to: seen.append(os.fstat(to[0])) or chmod(*to))
    write_file(path, b"new")
    assert [(stat.S_IMODE(status.st_mode), status.st_size) for status in seen] == [(0o600, 0)]
    assert (mode(path), path.read_bytes()) == (old, b"new")


@posix
def test_a_new_file_has_the_mode_of_the_umask(umask: None, tmp_path: Path):
    write_file(tmp_path / "state", b"new")
    assert mode(tmp_path / "state") == 0o640


@root
def test_owner_and_group_are_preserved_or_the_group_loses_its_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state"
    for lost, owners, bits in (
        ((), (12345, 23456), 0o664),
        ((12345,), (0, 23456), 0o664),  # only the owner cannot be set
        ((12345, -1), (0, 0), 0o604),
    ):
        path.write_bytes(b"old")
        os.chown(path, 12345, 23456)
        path.chmod(0o664)
        chown = os.fchown
        with monkeypatch.context() as patch:
            patch.setattr(os, "fchown", lambda *to, no=lost: failing(errno.EPERM)() if to[1] in no else chown(*to))  # noqa: B023
            write_file(path, b"new")
        status = path.stat()
        assert ((status.st_uid, status.st_gid), mode(path)) == (owners, bits)


def access_list(group: int) -> bytes:
    """An access list: the user 1000 reads and writes, and the group has the rights ``group``."""
    entries = [(1, 6, 2**32 - 1), (2, 6, 1000), (4, group, 2**32 - 1), (16, 6, 2**32 - 1), (32, 0, 2**32 - 1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A file with an access list and a user attribute."""
    path = tmp_path / "state"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"monday")
        os.setxattr(path, "system.posix_acl_access", access_list(0))
    except (OSError, AttributeError):
        pytest.skip("no attributes or access lists in this folder")
    return path


def test_attributes_and_access_lists_are_preserved(listed: Path):
    write_file(listed, b"new")
    assert os.getxattr(listed, "user.origin") == b"monday"
    assert os.getxattr(listed, "system.posix_acl_access") == access_list(0)
    assert (listed.read_bytes(), mode(listed)) == (b"new", 0o660)


def test_an_access_list_that_cannot_be_retained_gives_no_rights_to_anyone(
    listed: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "setxattr", failing(errno.ENOTSUP))
    write_file(listed, b"new")
    assert (listed.read_bytes(), mode(listed), os.listxattr(listed)) == (b"new", 0o600, [])


def test_a_replaced_file_without_an_access_list_does_not_get_that_of_its_folder(listed: Path):
    plain = listed.with_name("plain")
    plain.write_bytes(b"old")
    plain.chmod(0o640)
    os.setxattr(listed.parent, "system.posix_acl_default", access_list(6))
    write_file(plain, b"new")
    assert (mode(plain), os.listxattr(plain)) == (0o640, [])
    write_file(listed.with_name("new"), b"new")
    assert os.listxattr(listed.with_name("new")) == ["system.posix_acl_access"]


# -- paths ------------------------------------------------------------------------------------------------------------


@posix
def test_the_target_of_a_symbolic_link_is_replaced_and_not_the_link(tmp_path: Path):
    away = tmp_path / "away"
    away.mkdir()
    (away / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("away/real")
    (tmp_path / "dangling").symlink_to(away / "later")
    write_file(tmp_path / "link", b"new")
    write_file(tmp_path / "dangling", b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert content(away) == {"real": b"new", "later": b"newer"}
    os.link(away / "real", tmp_path / "hard")
    write_file(away / "real", b"newest")
    assert (tmp_path / "hard").read_bytes() == b"new"  # hard links refer to the old file, as documented


@posix
@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("loop", errno.ELOOP, "symbolic links"),
        ("folder", errno.EEXIST, "is a folder"),
        ("pipe", errno.EEXIST, "not a regular file"),
        ("/dev/null", errno.EEXIST, "not a regular file"),
        ("absent/state", errno.ENOENT, "there is no folder .*absent; create it first"),
        ("absent/../file", errno.ENOENT, "there is no folder .*absent/..; create it first"),
        ("file/state", errno.ENOTDIR, "Not a directory"),
        ("n" * 256, errno.ENAMETOOLONG, "too long"),
        ("closed/state", errno.EACCES, "closed does not allow it, and a file is replaced through its folder"),
        ("sticky/state", errno.EPERM, "sticky does not allow it, and a file is replaced through its folder"),
        ("vanishing/state", errno.ENOENT, "no file can be made in .*vanishing: "),
    ],
)
@pytest.mark.parametrize("call", [check_writable, lambda path: write_file(path, b"new")], ids=["check", "write"])
def test_the_error_for_a_path_that_cannot_be_written_names_it_with_the_reason(
    call: Any, name: str, code: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "closed").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    os.mkfifo(tmp_path / "pipe")
    if name.startswith("closed"):  # root may open any file
        monkeypatch.setattr(os, "open", failing(errno.EACCES))
    for kind in ("sticky", "vanishing"):
        (tmp_path / kind).mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    (tmp_path / "sticky" / "state").write_bytes(b"of another user")
    if name.startswith("sticky"):
        monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)
        monkeypatch.setattr(Path, "replace", failing(errno.EPERM))
    if name.startswith("vanishing"):  # like files in /proc
        monkeypatch.setattr(os, "open", failing(errno.ENOENT))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError, match=why) as caught:
        call(tmp_path / name)
    assert (caught.value.errno, caught.value.filename) == (code, str(tmp_path / name))
    monkeypatch.undo()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", [b"state", "", "new/", "a\0b", "\ud800", 3, None, ["state"]], ids=ascii)
@pytest.mark.parametrize(
    "call", [check_writable, lambda path: read_file(path, bytes), lambda path: write_file(path, b"new")]
)
def test_invalid_paths_are_refused(call: Any, path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(se.InputError, match=r"^path must be a string or a .* that names a file, not "):
        call(path)
    assert content(tmp_path) == {}


def test_errors_about_damaged_files_name_the_path_for_every_kind_of_path(tmp_path: Path):
    class Entry:
        def __fspath__(self) -> str:
            return str(tmp_path / "state")

    data = se.Evaluator().to_bytes()
    for wrong in (data[:-1] + bytes([data[-1] ^ 1]), b"junk", b""):
        (tmp_path / "state").write_bytes(wrong)
        with pytest.raises(se.FormatError, match=f"^{re.escape(str(tmp_path / 'state'))}: "):
            se.load(Entry())


def test_bytes_in_place_of_a_path_are_answered_with_from_bytes():
    with pytest.raises(se.InputError, match="; for bytes call from_bytes of the class"):
        se.load(se.Evaluator().to_bytes())


def test_the_longest_name_is_written(tmp_path: Path):
    name = "n" * 255
    for data in (b"old", b"new"):
        check_writable(tmp_path / name)
        write_file(tmp_path / name, data)
        assert content(tmp_path) == {name: data}


# -- missing features and errors of operating systems -----------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["open", "fsync"])
def test_a_failed_sync_of_a_folder_is_reported_only_if_the_system_supports_it(
    call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    replace = Path.replace

    def replaced(*names: Path) -> None:  # afterwards the system call fails
        replace(*names)
        monkeypatch.setattr(os, call, failing(code))

    monkeypatch.setattr(Path, "replace", replaced)
    expectation = pytest.raises(OSError, match="replaced, but may not survive a power cut")
    with expectation if code == errno.EIO else contextlib.nullcontext():
        write_file(tmp_path / "state", b"new")
    assert content(tmp_path) == {"state": b"new"}


def test_a_rename_that_succeeds_but_reports_an_error_counts_as_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda *names: replace(*names) and failing(errno.ENOENT)())
    write_file(tmp_path / "state", b"new")
    assert content(tmp_path) == {"state": b"new"}


class TimedOnceClosed(io.FileIO):
    """A file whose time of modification changes when it is closed, as on Windows."""

    def close(self) -> None:
        if not self.closed:
            os.utime(self.fileno(), (1, 1))
        super().close()


@pytest.mark.parametrize("lacking", ["fchmod", "fchown", "listxattr", "flock", "open files that can be renamed"])
def test_calls_that_a_platform_lacks_are_left_out(lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, noted = tmp_path / "state", list[int]()
    write_file(path, b"old")
    path.chmod(0o640)
    if lacking == "flock":
        monkeypatch.setattr(files, "hold", lambda _file: None)
    elif lacking.startswith("open"):
        monkeypatch.setattr(files, "CLOSE_FIRST", True)
        monkeypatch.setattr(io, "FileIO", TimedOnceClosed)
    else:
        monkeypatch.delattr(os, lacking)
    write_file(path, b"new", lambda status: noted.append(status.st_mtime_ns))
    assert content(tmp_path) == {"state": b"new"}
    assert noted == [path.stat().st_mtime_ns]
    assert mode(path) == (0o600 if lacking == "fchmod" else 0o640)
    with pytest.raises(ZeroDivisionError):
        write_file(path, (1 // 0 for _ in "a"))
    assert content(tmp_path) == {"state": b"new"}


@posix
@pytest.mark.parametrize("answer", [None, errno.ENOTSUP])
def test_the_cache_of_a_disk_is_flushed_if_the_system_has_a_call_for_it(
    answer: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On macOS, `fsync` does not flush the disk's cache; ``F_FULLFSYNC`` does."""
    asked, fsync = list[str](), os.fsync

    def control(_file: int, command: str) -> None:
        asked.append(command)
        if answer is not None:
            failing(answer)()

    def plain(file: int) -> None:
        asked.append("folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
        fsync(file)

    monkeypatch.setattr(files.fcntl, "F_FULLFSYNC", "disk", raising=False)
    monkeypatch.setattr(files.fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", plain)
    write_file(tmp_path / "state", b"new")
    assert asked == ["disk", *(["file"] if answer else []), "folder"]
    assert content(tmp_path) == {"state": b"new"}


# -- leftovers of killed processes ------------------------------------------------------------------------------------


@posix
def test_leftovers_of_killed_processes_are_removed_and_nothing_else(tmp_path: Path):
    target = tmp_path / "state"
    writing, file = files._open_temporary(target, 0o600)
    names = [temporary(target, slot).name for slot in range(5)]
    assert writing.name == names[0]
    for name in (names[1], names[4], "state.tmp", temporary(tmp_path / "x", 1).name):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / names[2]).mkdir()
    (tmp_path / names[3]).symlink_to(tmp_path / "state.tmp")
    before = {path.name for path in tmp_path.iterdir()}
    write_file(target, b"new")
    assert {path.name for path in tmp_path.iterdir()} == before - {names[1], names[4]} | {"state"}
    file.close()


@posix
@pytest.mark.parametrize("taken", ["held", "removed", "another"])
def test_a_temporary_file_that_another_process_takes_for_a_leftover_is_made_again(
    taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hold, answers = files.hold, iter([taken])
    first = temporary(tmp_path / "state", 0)

    def disturbed(file: int) -> bool | None:
        what = next(answers, None)
        if what is not None and what != "held":
            first.unlink()
            if what == "another":
                first.write_bytes(b"of another")
        return hold(file) if what != "held" else False

    monkeypatch.setattr(files, "hold", disturbed)
    write_file(tmp_path / "state", b"new")
    left = content(tmp_path)
    assert left.pop("state") == b"new"
    assert left == {"removed": {}, "held": {first.name: b""}, "another": {first.name: b"of another"}}[taken]
