"""Whatever happens while a file is written, it is the whole old or the whole new one; loops go on from it."""

from __future__ import annotations

import copy
import doctest
import errno
import os
import pickle
import random
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

import pytest

import streameval as se
from streameval.delivery import checkpoint, lock
from streameval.delivery.checkpoint import encode_checkpoint
from streameval.delivery.lock import PathLock
from streameval.wire import files
from tests.support.effort import cases, crossed
from tests.support.exploring import Explorer, forked
from tests.support.interruptions import Interrupted, chosen, interrupted

try:
    import fcntl
except ImportError:
    fcntl = None

ROOT = Path(__file__).parents[2]
STREAM = [({"a", str(place % 7)}, {"a", str(place % 5)}) for place in range(40)]
KINDS: dict[str, Callable[[], Any]] = {
    "Evaluator": lambda: se.Evaluator(["f1_micro", "mcc_macro"]),
    "metric": lambda: se.F1(average="micro"),
    "rankings": lambda: se.Evaluator(["ndcg(k=2)"], threshold=0.5),
    "Rolling": lambda: se.Rolling(se.F1(), size=7),
    "Tumbling": lambda: se.Tumbling(se.Evaluator(), size=6, history=3),
    "Fading": lambda: se.Fading(se.F1(), half_life=5),
}


def counted(examples: int = 3) -> se.Evaluator:
    ev = se.Evaluator(["f1_micro", "mcc_macro"])
    for y_true, y_pred in STREAM[:examples]:
        ev.update(y_true, y_pred)
    return ev


def feed(target: Any, item: tuple[set, set]) -> None:
    y_true, y_pred = item
    if target.reads_scores:
        target.update(y_true, dict.fromkeys(sorted(y_pred), 0.75))
    else:
        target.update(y_true, y_pred)


class CrashError(Exception):
    """Raised in place of whatever ends a process."""


# -- loops that go on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "every"), crossed(KINDS, [1, 3, 10, 1000]))
def test_a_loop_that_crashes_anywhere_counts_every_item_once(kind: str, every: int, tmp_path: Path):
    path = tmp_path / "state"
    once = KINDS[kind]()
    for item in STREAM:
        feed(once, item)
    for crash in (5, 0, 17, 23, 24, len(STREAM)):
        target = KINDS[kind]()
        try:
            with se.Checkpointer(target, path, every=every) as saved:
                assert saved.evaluator is target
                start = saved.position
                for place, item in enumerate(saved.remaining(STREAM), start):
                    if place == crash:
                        raise CrashError  # noqa: TRY301
                    feed(target, item)
                    if place % 2:
                        saved.step()  # a needless call of step, which must not count the item twice
        except CrashError:
            assert se.load(path).position == start + (crash - start) // every * every if path.exists() else every > 5
    assert saved.position == len(STREAM)
    assert target.to_bytes() == once.to_bytes()
    assert se.load(path) == se.Checkpoint(once, len(STREAM))
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


def test_a_ledger_is_resumed_like_any_state(tmp_path: Path):
    path = tmp_path / "state"
    for stop in (2, 5):
        ledger: se.Ledger = se.Ledger()
        with se.Checkpointer(ledger, path) as saved:
            for sequence in saved.remaining(range(stop)):
                ledger.put(sequence % 2, sequence, counted(sequence))
    assert saved.evaluator is ledger
    assert ledger.shards() == {0: (0, 4), 1: (0, 3)}
    assert ledger.total() == counted(4) + counted(3)
    assert se.load(path) == se.Checkpoint(ledger, 5)


def test_items_can_be_counted_in_batches_and_by_hand(tmp_path: Path):
    path = tmp_path / "state"
    with se.Checkpointer(KINDS["Evaluator"](), path, every=10) as saved:
        for start in range(0, 24, 8):
            part = STREAM[start : start + 8]
            saved.evaluator.update_many(*zip(*part, strict=True))
            saved.step(len(part))
            assert path.exists() == (start >= 8)
        assert se.load(path).position == 16
        saved.save()
        assert se.load(path).position == 24
    again = se.Checkpointer(KINDS["Evaluator"](), path)
    assert (again.position, again.path) == (24, path)
    assert again.evaluator == counted(24)
    assert "24" in repr(again)


def test_leaving_a_loop_early_loses_no_saved_item_and_asks_for_a_missing_step(tmp_path: Path):
    path = tmp_path / "state"
    with (  # noqa: PT012
        pytest.raises(se.InputError, match=r"item 4 was in progress.*saved after item 3; call step\(\) before break"),
        se.Checkpointer(KINDS["Evaluator"](), path, every=3) as saved,
    ):
        for place, item in enumerate(saved.remaining(STREAM)):
            feed(saved.evaluator, item)
            if place == 4:
                with pytest.raises(se.InputError, match=r"item 4 is in progress.*step\(\)"):
                    saved.save()
                break
    assert se.load(path) == se.Checkpoint(counted(3), 3)
    with se.Checkpointer(KINDS["Evaluator"](), path, every=3) as saved:
        for item in saved.remaining(STREAM):
            feed(saved.evaluator, item)
            if saved.position == 4:
                saved.step()
                break
    assert se.load(path) == se.Checkpoint(counted(5), 5)
    with pytest.raises(se.InputError, match="make a new Checkpointer"):
        saved.step()


def test_seconds_decides_after_each_item_whether_to_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    saved = se.Checkpointer(KINDS["Evaluator"](), tmp_path / "state", every=None, seconds=30)
    for seconds, position in ((0, None), (29, None), (30, 3), (59, 3), (61, 5)):
        now[0] = 100.0 + seconds
        feed(saved.evaluator, STREAM[saved.position])
        saved.step()
        assert (se.load(tmp_path / "state").position if position else None) == position


def test_without_every_and_seconds_only_save_and_the_end_of_the_block_write(tmp_path: Path):
    path = tmp_path / "state"
    with se.Checkpointer(KINDS["Evaluator"](), path, every=None) as saved:
        for item in saved.remaining(STREAM[:5]):
            feed(saved.evaluator, item)
            assert path.exists() == (saved.position > 2)
            if saved.position == 2:
                saved.step()
                saved.save()
        assert se.load(path) == se.Checkpoint(counted(3), 3)
    assert se.load(path) == se.Checkpoint(counted(5), 5)


@pytest.mark.parametrize("moment", ["before the state is saved", "after the state was saved"])
def test_a_model_that_is_saved_as_the_page_shows_goes_on_after_a_crash(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("river")
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8").split("### A model that learns")[1]
    names: dict[str, Any] = {"se": se}
    for example in doctest.DocTestParser().get_examples(page)[:4]:
        exec(example.source, names)  # noqa: S102  # our own page
    save, saves = se.Checkpointer.save, iter(range(9))

    def crash_at_the_third(saved: se.Checkpointer) -> None:
        is_third = next(saves) == 2
        if not is_third or moment.startswith("after"):
            save(saved)
        if is_third:
            raise OSError("crash")

    for folder in ("crashed", "whole"):
        (tmp_path / folder).mkdir()
    whole = names["evaluate"](tmp_path / "whole")
    monkeypatch.setattr(se.Checkpointer, "save", crash_at_the_third)
    with pytest.raises(OSError, match="crash"):
        names["evaluate"](tmp_path / "crashed")
    assert se.load(tmp_path / "crashed" / "f1.state").position == (150 if moment.startswith("after") else 100)
    assert names["evaluate"](tmp_path / "crashed") == whole


# -- files, arguments and streams that do not match -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            lambda: se.Evaluator(["f1_macro", "mcc_macro"]),
            r"metrics differ \(only the first has f1_macro; only the second has f1_micro\)",
        ),
        (lambda: se.Evaluator(["mcc_macro", "f1_micro"]), r"metrics differ \(in their order\)"),
        (lambda: se.Evaluator(["f1_micro", "mcc_macro"], threshold=0.5), "thresholds differ"),
        (se.F1, "F1 and Evaluator differ"),
        (lambda: se.Rolling(se.F1(), size=3), "differ"),
        (se.Ledger, "Ledger and Evaluator differ"),
    ],
)
def test_a_file_of_another_configuration_is_refused_by_name_and_stays_as_it_is(
    source: Callable[[], Any], message: str, tmp_path: Path
):
    path = tmp_path / "state"
    se.Checkpoint(counted(), 3).save(path)
    before = path.read_bytes()
    with pytest.raises(se.MergeError, match=f"^the .* passed in does not fit {re.escape(str(path))}: .*{message}"):
        se.Checkpointer(source(), path)
    assert path.read_bytes() == before


def test_a_window_or_a_ledger_of_another_configuration_is_refused_too(tmp_path: Path):
    path = tmp_path / "state"
    se.Checkpoint(se.Rolling(se.F1(), size=3), 3).save(path)
    with pytest.raises(se.MergeError, match=r"size differs \(4 and 3\)"):
        se.Checkpointer(se.Rolling(se.F1(), size=4), path)
    se.Checkpoint(se.Ledger(se.F1()), 3).save(path)
    with pytest.raises(se.MergeError, match="metrics differ"):
        se.Checkpointer(se.Ledger(se.F1(average="micro")), path)
    assert se.Checkpointer(se.Ledger(), path).position == 3


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "a state", "a pickle"])
def test_a_damaged_or_foreign_file_is_named_and_never_replaced(damage: str, tmp_path: Path):
    path = tmp_path / "state"
    data = se.Checkpoint(counted(), 3).to_bytes()
    flipped = bytearray(data)
    flipped[20] ^= 1
    wrong = {
        "empty": b"",
        "cut": data[:-1],
        "flipped": bytes(flipped),
        "a state": counted().to_bytes(),
        "a pickle": b"\x80\4N.",
    }[damage]
    path.write_bytes(wrong)
    with pytest.raises(se.FormatError, match=re.escape(str(path))):
        se.Checkpointer(KINDS["Evaluator"](), path)
    if damage != "a state":
        with pytest.raises(se.FormatError, match=re.escape(str(path))):
            se.load(path)
    assert path.read_bytes() == wrong


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"every": 0}, "every must be an integer of at least 1"),
        ({"every": True}, "every must be"),
        ({"every": 2.0}, "every must be"),
        ({"seconds": 0}, "seconds must be a positive number"),
        ({"seconds": "1"}, "seconds must be"),
        ({"evaluator": se.F1}, r"write F1\(\)"),
        ({"evaluator": 3}, "takes an Evaluator"),
        ({"evaluator": "state", "path": se.F1()}, "the order is evaluator, path"),
        ({"evaluator": Path("state"), "path": se.F1()}, "the order is evaluator, path"),
        ({"evaluator": counted()}, "has counted already"),
        ({"path": "no such folder/state"}, "create it"),
        ({"path": b"state"}, "path must be a string"),
    ],
)
def test_bad_arguments_are_refused_before_the_loop_starts(change: dict, message: str, tmp_path: Path):
    source = {"evaluator": se.F1(), "path": tmp_path / "state", "every": 5} | change
    with pytest.raises(se.InputError, match=message):
        se.Checkpointer(source.pop("evaluator"), source.pop("path"), **source)


def test_a_stream_that_is_shorter_than_what_was_counted_is_refused(tmp_path: Path):
    se.Checkpoint(counted(), 3).save(tmp_path / "state")
    saved = se.Checkpointer(KINDS["Evaluator"](), tmp_path / "state")
    with pytest.raises(se.InputError, match="the stream has 2 items, but 3 are counted"):
        next(saved.remaining(STREAM[:2]))
    assert list(saved.remaining(STREAM[:3])) == []


def test_a_checkpoint_is_a_value_that_holds_a_copy():
    ev = counted()
    taken = se.Checkpoint(ev, 3)
    ev.update({"a"}, {"b"})
    assert taken.evaluator == counted()
    assert taken == se.Checkpoint(counted(), 3) != se.Checkpoint(counted(), 4)
    window = se.Checkpoint(se.TimeRolling(se.F1(), period=timedelta(hours=1)), 2**63 - 1)
    assert se.Checkpoint.from_bytes(window.to_bytes()) == window
    for wrong in (-1, 2**63, True, 1.0):
        with pytest.raises(se.InputError, match="position must be"):
            se.Checkpoint(ev, wrong)
    for foreign in (se.F1, 3, taken):
        with pytest.raises(se.InputError, match="Checkpoint takes"):
            se.Checkpoint(foreign)
    nested = b"".join(encode_checkpoint(3, taken._pieces))
    with pytest.raises(se.FormatError, match="hold a Checkpoint, not an Evaluator"):
        se.Checkpoint.from_bytes(nested)
    with pytest.raises(se.FormatError, match="a Checkpoint, not an Evaluator"):
        se.Evaluator.from_bytes(taken.to_bytes())


# -- one writer at a time ----------------------------------------------------------------------------------------------


def held(path: Path, **options: Any) -> se.Checkpointer:
    return se.Checkpointer(KINDS["Evaluator"](), path, **options)


@pytest.mark.parametrize("name", ["state", "n" * 255])
def test_a_path_is_held_until_its_checkpointer_is_closed_left_or_garbage(name: str, tmp_path: Path):
    path, link = tmp_path / name, tmp_path / "link"
    link.symlink_to(name)
    for leave in ("close", "with", "with an error", "forget", "refused"):
        saved = held(path) if leave != "refused" else None
        for same in (path, link) if saved is not None else ():
            with pytest.raises(se.InputError, match=r"held by an open Checkpointer of this process; close\(\) it"):
                held(same)
        if leave == "close":
            for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="copy its evaluator"):
                    copied(saved)
            saved.close()
            saved.close()
            for verb in (saved.save, saved.step):
                with pytest.raises(se.InputError, match=r"closed .* make a new Checkpointer"):
                    verb()
        elif leave == "with an error":
            with pytest.raises(CrashError), saved:
                raise CrashError
        elif leave == "with":
            with saved:
                pass
        elif leave == "refused":
            with pytest.raises(se.MergeError):
                se.Checkpointer(se.F1(), path)
        del saved
        assert {result.name for result in tmp_path.iterdir()} <= {name, "link"}
    assert held(path).position == 0


@pytest.mark.parametrize("content", ["requests==2.31", "1 host\nmore", None])
def test_a_file_with_the_name_but_not_the_content_of_a_lock_file_stays(content: str | None, tmp_path: Path):
    path = tmp_path / "poetry.lock"
    if content is not None:
        path.write_text(content)
    elif hasattr(os, "mkfifo"):
        os.mkfifo(path)
    for _ in range(2):
        with pytest.raises(se.InputError, match="lock is not a lock file of ours; rename it, or give"):
            held(tmp_path / "poetry")
    assert content is None or path.read_text() == content
    assert path.exists()


def test_a_disk_that_is_full_leaves_no_lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full() -> str:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(socket, "gethostname", full)
    with pytest.raises(OSError, match=r"full: '.*state.lock'"):
        held(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


HOLDER = """
import sys, streameval as se
saved = se.Checkpointer(se.Evaluator(["f1_micro", "mcc_macro"]), sys.argv[1])
saved.save()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed so only on POSIX")
def test_a_second_process_is_refused_by_the_name_of_the_first_until_the_first_is_dead(tmp_path: Path):
    path = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as first:
        assert first.stdout.readline() == b"held\n"
        before = path.read_bytes()
        who = f"process {first.pid} on {re.escape(socket.gethostname())}; let it end first, or give another path"
        with pytest.raises(se.InputError, match=f"{re.escape(str(path))} is held by a Checkpointer of {who}"):
            held(path)
        assert path.read_bytes() == before
        first.kill()
        first.wait()
        with held(path) as saved:
            saved.step(7)
    assert se.load(path).position == 7
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only on POSIX")
def test_a_forked_child_does_not_hold_the_path_and_saves_nothing(tmp_path: Path):
    with held(tmp_path / "state") as saved:
        saved.step(3)
        parent = os.getpid()

        def child(saved: Any = saved) -> bool:
            messages = []
            for verb in (saved.step, saved.save, partial(saved.__exit__, None, None, None)):
                try:
                    verb()
                except se.InputError as error:
                    messages.append(str(error))
            del saved
            holder = f"process {parent}, from which this one was forked, holds"
            return [holder in message for message in messages] == [True] * 3

        assert forked(child) == 0
        with pytest.raises(se.InputError, match="of this process"):
            held(tmp_path / "state")
    assert se.load(tmp_path / "state").position == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only on POSIX")
def test_a_child_that_lives_on_holds_nothing_for_its_dead_parent(tmp_path: Path):
    source = HOLDER + "import os, time\nif os.fork():\n    os._exit(0)\nprint('orphan', flush=True)\ntime.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", source, tmp_path / "state"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
        start_new_session=True,
    ) as first:  # fmt: skip
        assert first.stdout.readline() == b"held\n"
        first.stdin.close()
        assert first.stdout.readline() == b"orphan\n"
        first.wait()
        assert held(tmp_path / "state").position == 0
        os.killpg(first.pid, signal.SIGKILL)


@pytest.mark.parametrize("threads", [8])
def test_of_many_threads_that_lock_a_path_at_once_one_has_it(threads: int, tmp_path: Path):
    inside, most, refused = [0], [0], [0]

    def run() -> None:
        for _ in range(40):
            try:
                lock = PathLock(tmp_path / "state")
            except se.InputError:
                refused[0] += 1
                continue
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            inside[0] -= 1
            lock.release()

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == [1]
    assert list(tmp_path.iterdir()) == []


class Msvcrt:
    """A stand-in for the module of Windows that locks files, in place of flock."""

    LK_NBLCK = 2

    def locking(self, file: int, how: int, length: int) -> None:
        assert (how, length, os.lseek(file, 0, os.SEEK_CUR) > 10**9) == (2, 1, True)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "locked") from None


@pytest.mark.skipif(fcntl is None, reason="it stands in for another system")
def test_on_windows_files_are_locked_with_msvcrt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt())
    for module in (files, lock):
        monkeypatch.setattr(module, "CLOSE_FIRST", True)
    monkeypatch.setattr(lock, "_OPEN", weakref.WeakSet())
    with held(tmp_path / "state") as saved:
        lock._OPEN.clear()  # so that this Checkpointer stands for one of another process
        with pytest.raises(se.InputError, match=f"process {os.getpid()} on"):
            held(tmp_path / "state")
        saved.step(2)
    assert se.load(tmp_path / "state").position == 2
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


class WithoutLocks(Msvcrt):
    """A file system that has no locks, as some network file systems."""

    def locking(self, file: int, how: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "no locks")


@pytest.mark.parametrize("module", [None, WithoutLocks()], ids=["no module", "no locks"])
def test_a_checkpointer_saves_where_no_file_can_be_locked(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", module)
    with held(tmp_path / "state") as saved:
        saved.step(2)
    assert se.load(tmp_path / "state").position == 2


@pytest.mark.parametrize("locks", [True, False])
@pytest.mark.parametrize("change", ["replaced", "changed", "appeared", "by a second"])
def test_a_file_that_another_writer_has_changed_is_not_replaced(
    change: str, locks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if not locks:
        monkeypatch.setattr(lock, "hold", lambda _file: None)
    path = tmp_path / "state"
    if change != "appeared":
        se.Checkpoint(counted(), 3).save(path)
    saved = held(path)
    if change == "changed":
        path.write_bytes(path.read_bytes()[::-1])
    elif change == "by a second" and not locks:
        held(path).save()
    else:
        se.Checkpoint(counted(2), 2).save(path)
    before = path.read_bytes()
    for verb in (saved.save, partial(saved.__exit__, None, None, None)):
        with pytest.raises(se.InputError, match="not the file that this Checkpointer loaded or wrote last"):
            verb()
    assert path.read_bytes() == before
    assert saved.evaluator == counted(3 if change != "appeared" else 0)
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("moment", ["the folder is synced", "the file is replaced"])
def test_after_an_error_past_the_replacement_of_the_file_the_next_save_accepts_the_file(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fsync, replace = os.fsync, Path.replace

    def synced(file: int) -> None:
        fsync(file)
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, "broken disk")

    def replaced(path: Path, target: Path) -> None:
        replace(path, target)
        raise KeyboardInterrupt

    with held(tmp_path / "state") as saved:
        saved.step()
        saved.save()
        saved.step()
        with monkeypatch.context() as patch:
            if moment == "the folder is synced":
                patch.setattr(os, "fsync", synced)
                with pytest.raises(OSError, match="replaced, but may not survive a power cut"):
                    saved.save()
            else:
                patch.setattr(Path, "replace", replaced)
                with pytest.raises(KeyboardInterrupt):
                    saved.save()
        assert se.load(tmp_path / "state").position == 2
        saved.step()
        saved.save()
    assert se.load(tmp_path / "state").position == 3


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a file may be open but not yet assigned
@pytest.mark.parametrize("verb", ["step", "save"])
def test_an_item_is_saved_exactly_once_wherever_its_step_or_save_is_interrupted(verb: str, tmp_path: Path):
    with held(tmp_path / "state", every=1) as saved:
        executed = interrupted(getattr(saved, verb), -1)
        begun = saved.position
        for hit in chosen(executed, cases(150), verb):
            saved.evaluator.update({"a"}, {"a", "b"})
            before = saved.position
            if verb == "save":
                saved.step()
            with pytest.raises(Interrupted):
                interrupted(getattr(saved, verb), hit)
            assert saved.position in (before, before + 1)
            if saved.position == before:
                saved.step()
            saved.save()
            taken = se.load(tmp_path / "state")
            assert taken.position == taken.evaluator.examples + begun == before + 1, f"at instruction {hit}"


def test_a_file_that_is_gone_is_written_again(tmp_path: Path):
    with held(tmp_path / "state") as saved:
        for _ in range(2):
            saved.step()
            saved.save()
            (tmp_path / "state").unlink()
    assert se.load(tmp_path / "state").position == 2


def test_a_relative_path_starts_at_the_folder_in_which_it_was_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with held(Path("state")) as saved:
        monkeypatch.chdir("elsewhere")
        saved.step()
    assert (saved.path, se.load(tmp_path / "state").position) == (tmp_path / "state", 1)


# -- saving from another thread ---------------------------------------------------------------------------------------


def in_thread(call: Callable[[], object]) -> list[BaseException | None]:
    """Call in a new thread; once it has ended, the list contains what it raised, or None."""
    ended: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    threading.Thread(target=run).start()
    return ended


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.0005)


def test_a_save_of_another_thread_waits_for_the_item_in_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "_PATIENCE", 20)
    path = tmp_path / "state"
    saved = held(path)
    ended = []
    for place, item in enumerate(saved.remaining(STREAM[:6])):
        feed(saved.evaluator, item)
        if place == 3:
            ended = in_thread(saved.save)
            until(lambda: saved._saving)
            assert not path.exists()
        if place == 4:
            until(ended.__len__)
            assert ended == [None]
            assert se.load(path) == se.Checkpoint(counted(4), 4)
    idle = in_thread(saved.save)
    until(idle.__len__)
    assert idle == [None]
    assert se.load(path) == se.Checkpoint(counted(6), 6)


def test_a_save_of_another_thread_is_refused_after_a_while_and_raises_its_own_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoint, "_PATIENCE", 0.01)
    path = tmp_path / "state"
    saved = held(path)
    saved.save()
    ended = []
    for place, item in enumerate(saved.remaining(STREAM[:6])):
        feed(saved.evaluator, item)
        if place == 2:
            ended = in_thread(saved.save)
            until(ended.__len__)
            assert isinstance(ended[0], se.InputError)
            assert "item 2 is in progress" in str(ended[0])
            assert se.load(path) == se.Checkpoint(counted(0), 0)
            monkeypatch.setattr(checkpoint, "_PATIENCE", 20)
            monkeypatch.setattr(os, "fsync", lambda _file: (_ for _ in ()).throw(OSError(errno.EIO, "broken disk")))
            ended = in_thread(saved.save)
            until(lambda: saved._saving)
    until(ended.__len__)
    assert isinstance(ended[0], OSError)
    assert "broken disk" in str(ended[0])
    assert se.load(path) == se.Checkpoint(counted(0), 0)


def test_a_save_that_waits_in_another_thread_is_made_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "_PATIENCE", 20)
    monkeypatch.setattr(se.Checkpointer, "_version", lambda self: self.evaluator.examples)
    with held(tmp_path / "state") as saved:
        feed(saved.evaluator, STREAM[0])  # without step, so that the item is not part of the position
        ended = in_thread(saved.save)
        until(lambda: saved._saving)
    until(ended.__len__)
    assert ended == [None]
    assert se.load(tmp_path / "state") == se.Checkpoint(counted(1), 0)
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


def test_the_path_is_not_released_before_a_save_of_another_thread_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    there, go_on, write = threading.Event(), threading.Event(), checkpoint.write_file

    def slow(*arguments: Any) -> None:
        there.set()
        assert go_on.wait(20)
        write(*arguments)

    monkeypatch.setattr(checkpoint, "write_file", slow)
    saved = held(tmp_path / "state")
    ended = in_thread(saved.save)
    there.wait(20)
    closed = in_thread(saved.close)
    time.sleep(0.01)
    with pytest.raises(se.InputError, match="held by an open Checkpointer"):
        held(tmp_path / "state")
    go_on.set()
    until(closed.__len__)
    assert (ended, closed) == ([None], [None])
    assert se.load(tmp_path / "state").position == 0


@pytest.mark.parametrize("by_hand", [False, True])
def test_what_another_thread_saves_is_of_one_moment(by_hand: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checkpoint, "_PATIENCE", 20)  # enough on a busy machine, too
    if by_hand:  # only the version of the evaluator says that an item is in progress
        monkeypatch.setattr(se.Checkpointer, "_version", lambda self: self.evaluator.examples)
    saves: list[se.Checkpoint] = []
    saved = held(tmp_path / "state", every=10**9)

    def save() -> None:
        for _ in range(8):
            saved.save()
            saves.append(se.load(tmp_path / "state"))

    ended = in_thread(save)
    items = cycle(STREAM)
    for item in items if by_hand else saved.remaining(items):
        feed(saved.evaluator, item)
        if ended:
            break
        if by_hand:
            saved.step()
    assert ended == [None]
    once, items = se.Evaluator(["f1_micro", "mcc_macro"]), cycle(STREAM)
    for taken in saves:
        for item in islice(items, taken.position - once.examples):
            feed(once, item)
        assert taken.evaluator == once
    assert saves[-1].position > saves[0].position


def test_a_step_is_refused_if_another_thread_counts_while_it_encodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(se.Checkpointer, "_version", lambda self: self.evaluator.examples)
    saved = held(tmp_path / "state", every=2)
    encode = checkpoint.encode_checkpoint
    monkeypatch.setattr(
        checkpoint, "encode_checkpoint", lambda *content: feed(saved.evaluator, STREAM[0]) or encode(*content)
    )
    saved.step()
    with pytest.raises(se.InputError, match=r"another thread counts; .* hold a lock around both"):
        saved.step()
    assert list(tmp_path.iterdir()) == [tmp_path / "state.lock"]


# -- turns of threads, and files of other kinds -----------------------------------------------------------------------


def test_calls_of_threads_and_signal_handlers_take_effect_one_after_the_other(tmp_path: Path):
    numbers = count()

    def make() -> se.Checkpointer:
        folder = tmp_path / f"{next(numbers)}"
        folder.mkdir()
        made = se.Checkpointer(counted(0), folder / "state", every=1)
        feed(made.evaluator, STREAM[0])
        made.step()
        return made

    def state(made: se.Checkpointer) -> Any:
        made.close()
        return made.position, made.path.read_bytes()

    def called(verb: str, made: se.Checkpointer) -> object:
        try:
            return getattr(made, verb)()
        except se.InputError as error:
            raise se.InputError(str(error).replace(str(made.path), "path")) from None

    calls: dict[str, Callable[[Any], object]] = {
        **{verb: partial(called, verb) for verb in ("step", "save", "close")},
        "evaluator": lambda made: made.evaluator.to_bytes(),
    }
    explorer = Explorer(make, state, calls, lines=True)
    explorer.try_each_place(random.Random(7), cases(100) / 100)
    assert explorer.wrong == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only on POSIX")
def test_a_device_or_a_file_that_is_too_large_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(2**40)
    counted().save(tmp_path / "state")
    size = (tmp_path / "state").stat().st_size
    for name, why in {
        "pipe": "this is not a regular file", "/dev/zero": "this is not a regular file",
        "huge": "these 1099511627776 bytes are not a streameval state",
    }.items():  # fmt: skip
        if Path("/", tmp_path, name).exists():
            with pytest.raises(se.FormatError, match=f"{re.escape(str(tmp_path / name))}: .*{why}"):
                se.load(tmp_path / name)
    assert se.load(tmp_path / "state", max_bytes=size) == counted()
    with (tmp_path / "state").open("rb") as file:
        with pytest.raises(se.InputError, match="path must be a string"):
            se.load(file.fileno())
        assert file.read(1)  # the file is still open, and nothing was read from it
    monkeypatch.setattr(files, "check_start", None)  # not even its start is read
    with pytest.raises(se.FormatError, match=f"state: the file has {size} bytes, more than max_bytes={size - 1}"):
        se.load(tmp_path / "state", max_bytes=size - 1)
    for wrong in (-1, True, 1.5, "1"):
        with pytest.raises(se.InputError, match="max_bytes must be"):
            se.load(tmp_path / "state", max_bytes=wrong)


# -- faults while saving ----------------------------------------------------------------------------------------------

SAVED: dict[str, Callable[[], Any]] = {
    "Evaluator": counted,
    "window": lambda: se.Rolling(se.F1(), size=3),
    "Checkpoint": lambda: se.Checkpoint(counted(), 3),
    "Ledger": lambda: se.Ledger(se.F1()),
}


@pytest.mark.parametrize("kind", SAVED)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT], ids=errno.errorcode.get)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_an_error_of_the_disk_is_raised_and_the_old_file_stays(
    kind: str, code: int, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "state"
    path.write_bytes(b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path if call == "replace" else os, call, fail)
    with pytest.raises(OSError, match=os.strerror(code)):
        SAVED[kind]().save(path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are of POSIX")
@pytest.mark.parametrize(("limit", "labels"), [(4000, 1000), (4000, 100_000), (100, 20)])
def test_a_save_beyond_the_limit_of_file_sizes_leaves_the_old_file(limit: int, labels: int, tmp_path: Path):
    import resource

    path = tmp_path / "state"
    counted(2).save(path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = se.Evaluator([], labels=[f"label {number}" for number in range(labels)])
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        with pytest.raises(OSError, match="large"):
            large.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert se.load(path) == counted(2)
    assert [result.name for result in tmp_path.iterdir()] == ["state"]


def test_a_save_that_fails_in_a_loop_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state"
    with se.Checkpointer(KINDS["Evaluator"](), path, every=5) as saved:
        failing = False
        for item in saved.remaining(STREAM):
            feed(saved.evaluator, item)
            with monkeypatch.context() as patch:
                failing = not failing
                if failing:
                    patch.setattr(os, "fsync", lambda _file: (_ for _ in ()).throw(OSError(errno.EIO, "broken disk")))
                try:
                    saved.step()
                except OSError:
                    assert saved.position - se.load(path).position >= 5 if path.exists() else saved.position >= 5
    assert se.load(path) == se.Checkpoint(counted(len(STREAM)), len(STREAM))


def test_save_syncs_the_file_before_it_is_renamed_and_the_folder_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    done: list[object] = []

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*source: Any) -> Any:
            status = os.fstat(source[0]) if name == "fsync" else None
            done.append("folder" if status and stat.S_ISDIR(status.st_mode) else (name, status and status.st_size))
            return call(*source)

        return run

    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", noted("replace", Path.replace))
    counted().save(tmp_path / "state")
    monkeypatch.undo()
    expected = [("fsync", (tmp_path / "state").stat().st_size), ("replace", None), "folder"]
    assert done == (expected if sys.platform != "win32" else expected[:2])


# -- kills ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="processes are killed so only on POSIX")
def test_killing_a_process_at_any_moment_loses_nothing_that_was_saved():
    kills = str(cases(300) if cases(5) >= 5 else 12)
    run = subprocess.run(
        [sys.executable, "-m", "tests.soak.kills", "--kills", kills], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{kills} kills,")
    assert "nothing lost, nothing damaged" in run.stdout
