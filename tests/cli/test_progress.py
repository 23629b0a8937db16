"""What a terminal displays while rows are counted, and that Ctrl-C ends a process whose input goes on."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import orjson
import pytest

import streameval as se
from streameval.cli import progress
from streameval.cli.reading import STDIN, Growing, Source
from streameval.cli.results import Result
from streameval.tabular.columns import Columns

ROWS = [(["cat", "bird"], ["cat", "dog"]), (["dog"], ["dog"]), ([], ["bird"])]
LINES = b"".join(orjson.dumps({"tags": true, "guess": guess}) + b"\n" for true, guess in ROWS)
COMMAND = [sys.executable, "-m", "streameval"]
COLUMNS = ["-a", "tags", "-p", "guess", "--save", "state"]
MANY = ["r.jsonl"] * 2000
"""A small file, named so often that counting takes minutes."""

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE = 120.0
"""Seconds after which a process without output is considered stuck; a process that works never takes so long."""


def library(rows=ROWS) -> se.Evaluator:
    ev = se.Evaluator()
    ev.update_many(*map(list, zip(*rows, strict=True)))
    return ev


class Terminal:
    """The screen of a process that runs in a pseudo terminal, as text."""

    def __init__(self, columns: int = 100) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._read = b""

    @property
    def raw(self) -> str:
        return self._read.decode(errors="ignore")  # the last bytes may be a part of a character

    @property
    def text(self) -> str:
        return ESCAPE.sub("", self.raw)

    def until(self, seen: Callable[[str], object]) -> None:
        """Read until a condition holds for the text on the screen."""
        end = time.monotonic() + PATIENCE
        while not seen(self.text):
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"never seen; there was only {self.raw!r}"
            self._read += os.read(self.master, 65536)

    def rest(self) -> str:
        """All text of the screen, after every process has closed it."""
        os.close(self.slave)
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:  # Linux raises this when the other end is closed
                data = b""
            if not data:
                os.close(self.master)
                return self.text
            self._read += data


@contextmanager
def started(
    folder: Path, args: list[str], command: str = "evaluate", **streams: object
) -> Iterator[subprocess.Popen[bytes]]:
    chosen = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    chosen |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen([*COMMAND, command, *args], cwd=folder, env=chosen, **streams)
    stuck = threading.Timer(2 * PATIENCE, process.kill)
    stuck.start()
    try:
        yield process
    finally:
        stuck.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    process.stdin.write(data)
    process.stdin.flush()


def test_a_stream_shows_its_values_while_it_is_still_open(tmp_path):
    screen = Terminal()
    streams = {"stdin": subprocess.PIPE, "stdout": screen.slave, "stderr": screen.slave}
    with started(tmp_path, ["-", *COLUMNS], **streams) as process:
        feed(process, LINES)
        screen.until(lambda text: f"{library().get('f1_micro'):.4f}" in text and "Ctrl-C ends" in text)
        assert "3 examples" in screen.text
        feed(process, LINES[: LINES.index(b"\n") + 1] * 2)
        now = library([*ROWS, ROWS[0], ROWS[0]]).get("f1_micro")
        screen.until(lambda text: "5 examples" in text and f"{now:.4f}" in text)
        assert process.poll() is None
        process.stdin.close()
        end = len(screen.text)
        screen.until(lambda text: "5 examples" in text[end:])
        assert process.wait(PATIENCE) == 0
    assert "Ctrl-C ends" not in screen.rest().rpartition("5 examples")[2]
    assert se.load(tmp_path / "state").examples == 5


def test_the_live_table_keeps_up_with_a_stream_that_pauses(tmp_path):
    """Rows that arrive shortly after a redraw are displayed too, although the table is not redrawn for each."""
    screen = Terminal()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": screen.slave}
    with started(tmp_path, ["-", *COLUMNS], **streams) as process:
        for number in range(1, 30):
            feed(process, LINES)
            if number % 10 == 0:
                screen.until(lambda text, number=number: f"{3 * number} examples" in text)


def test_ctrl_c_ends_an_open_stream_and_prints_and_saves_what_was_counted(tmp_path):
    screen = Terminal()
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": screen.slave}
    with started(tmp_path, ["-", *COLUMNS, "-f", "json"], **streams) as process:
        feed(process, LINES)
        screen.until(lambda text: "3 examples" in text)
        process.send_signal(signal.SIGINT)
        counts = json.loads(process.stdout.read())
        assert process.wait(PATIENCE) == 130
    assert (counts["examples"], counts["input"]["interrupted"]) == (3, True)
    assert screen.rest().rstrip().endswith("interrupted: this is what was counted until then")
    assert se.load(tmp_path / "state") == library()


def test_ctrl_c_ends_an_open_stream_where_there_is_no_terminal(tmp_path):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(tmp_path, ["-", *COLUMNS, "-f", "json"], **streams) as process:
        for _ in range(2):  # rows are counted when the next rows are read
            feed(process, LINES)
            while waiting(process):
                assert process.poll() is None
                time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        counts, error = process.stdout.read(), process.stderr.read().decode()
        assert process.wait(PATIENCE) == 130
    assert json.loads(counts)["examples"] in (3, 6)
    assert error == "interrupted: this is what was counted until then\n"
    assert se.load(tmp_path / "state").examples == json.loads(counts)["examples"]


def test_ctrl_c_just_before_a_read_of_a_stream_is_noticed(monkeypatch):
    """A signal before a read interrupts no call; the test sends one like it, which another thread receives."""
    read, write = os.pipe()
    interrupt = threading.Timer(0.1, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    end = threading.Timer(10.0, os.close, [write])  # ends the stream if the signal is not noticed
    with os.fdopen(read) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        end.start()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # the signal may come at once
            interrupt.start()
            next(Source(STDIN, (STDIN,), None).blocks(Columns("tags", "guess")))
        assert end.is_alive()
        end.cancel()
    os.close(write)


def waiting(process: subprocess.Popen[bytes]) -> int:
    """Bytes in the pipe that the process has not read."""
    held = fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, struct.pack("i", 0))
    return struct.unpack("i", held)[0]


def test_files_have_a_live_table_and_ctrl_c_prints_and_saves_what_was_counted(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(LINES * 20_000)
    screen = Terminal()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": screen.slave}
    with started(tmp_path, [*MANY, *COLUMNS, "-f", "json"], **streams) as process:
        screen.until(lambda text: re.search(r"examples.* \d+% of the files, ", text))
        process.send_signal(signal.SIGINT)
        counts = json.loads(process.stdout.read())
        assert process.wait(PATIENCE) == 130
    assert counts["input"]["interrupted"]
    assert 0 < counts["examples"] < 2000 * 60_000
    assert se.load(tmp_path / "state").examples == counts["examples"]
    assert screen.rest().rstrip().endswith("interrupted: this is what was counted until then")


@pytest.mark.parametrize("columns", ["100", "30"])
@pytest.mark.parametrize(("patience", "pause"), [(0.0, 0.0), (60.0, 0.0), (60.0, 60.0)])
def test_the_live_table_fits_and_is_drawn_only_if_counting_takes_long_or_on_request_and_is_erased(
    monkeypatch, columns, patience, pause
):
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", screen := Screen())
    for name, value in {"COLUMNS": columns, "LINES": "50", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    with progress.live(lambda: Result.of(library()), size=108, pause=pause) as advance:
        advance(54)
    text, is_drawn = screen.getvalue(), not patience or bool(pause)
    assert ("3 examples" in text) == ("50%" in text) == ("f1_micro" in text) == is_drawn
    assert max(map(len, re.split(r"[\r\n]+", ESCAPE.sub("", text)))) <= int(columns)
    assert text.endswith("\x1b[2K") == is_drawn


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_growing_file_is_watched_until_a_signal_ends_it_with_output_and_a_saved_state(tmp_path, stop):
    path, screen = tmp_path / "r.jsonl", Terminal()
    append(path, b"")
    streams = {"stdin": subprocess.DEVNULL, "stdout": screen.slave, "stderr": screen.slave}
    default = partial(signal.signal, stop, signal.SIG_DFL)  # restored, because under `nohup` the signal is ignored
    with started(tmp_path, ["r.jsonl", *COLUMNS], "watch", **streams, preexec_fn=default) as process:
        screen.until(lambda text: "no examples" in text and "Ctrl-C ends" in text)
        append(path, LINES + LINES[:10])
        screen.until(lambda text: "3 examples" in text and f"{library().get('f1_micro'):.4f}" in text)
        append(path, LINES[10:])
        screen.until(lambda text: "6 examples" in text)
        process.send_signal(stop)
        assert process.wait(PATIENCE) == 0
    assert se.load(tmp_path / "state") == library(ROWS * 2)


def test_a_row_that_is_appended_just_before_the_file_is_replaced_is_read(tmp_path, monkeypatch):
    path, buffer, fstat = tmp_path / "r.csv", bytearray(10), os.fstat

    def replaced_meanwhile(file: int) -> os.stat_result:
        if path.exists():
            append(path, b"b\n")
            path.rename(tmp_path / "r.csv.1")
        return fstat(file)

    append(path, b"a\n")
    with Growing(str(path)) as growing:
        assert growing.readinto(buffer) == 2
        monkeypatch.setattr(os, "fstat", replaced_meanwhile)
        assert (growing.readinto(buffer), bytes(buffer[:2]), growing.readinto(buffer)) == (2, b"b\n", 0)


@pytest.mark.parametrize("end", ["truncated", "replaced", "replaced within a line"])
def test_watch_writes_lines_of_json_into_a_pipe_until_the_file_is_truncated_or_replaced(tmp_path, end):
    path = tmp_path / "r.csv"
    append(path, b"tags,guess\ncat|bird,cat\n")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(tmp_path, ["r.csv", *COLUMNS, "--every", "0.2s"], "watch", **streams) as process:
        for rows in (1, 2, 3):
            line = json.loads(process.stdout.readline())
            assert (line["examples"], line["schema"], line["metrics"]["recall_micro"]) == (rows, 1, 0.5)
            append(path, b"cat|bird,cat\n" * (rows < 3))
        if end == "truncated":
            path.write_bytes(b"tags\n")
        else:
            append(path, b"bird,bi" if "within" in end else b"bird,bird\n")
            path.rename(tmp_path / "r.csv.1")
        error = process.stderr.read().decode()
        assert process.wait(PATIENCE) == 2
    assert error == "streameval: r.csv was truncated or replaced; start again to follow the new file\n"
    state = tmp_path / "state"
    assert (se.load(state).examples if state.exists() else None) == {"truncated": 3, "replaced": 4}.get(end)


@pytest.mark.parametrize(("name", "data", "message"), [
    ("r.json", b"[{}]", "is one array of JSON, which is read whole; write an object on each line"),
    ("r.parquet", b"PAR1", "only JSON Lines, CSV and TSV can be read as a stream, compressed or while they grow; "),
    ("r.txt", None, "there is no file 'r.txt'"),
    ("r.jsonl", gzip.compress(LINES, mtime=0), "r.jsonl is compressed by gzip, which is read whole"),
    ("-", None, "watch follows one file"),
])  # fmt: skip
def test_watch_refuses_files_that_cannot_be_read_while_they_grow(run, tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    ran = run("watch", name, "-a", "tags", "-p", "guess")
    assert (ran.code, message in ran.err) == (2, True)


def test_watch_refuses_a_folder_with_more_than_one_file(run, tmp_path):
    for name in ("r.jsonl", "s.jsonl"):
        (tmp_path / name).write_bytes(LINES)
    ran = run("watch", ".", "-a", "tags", "-p", "guess")
    assert (ran.code, "watch follows one file" in ran.err) == (2, True)


def test_errors_of_watch_name_no_option_that_watch_lacks(run, tmp_path):
    (tmp_path / "r.jsonl").write_bytes(LINES)
    ran = run("watch", "r.jsonl", "-a", "nothing", "-p", "guess")
    assert (ran.code, "there is no column 'nothing'" in ran.err, "--truth" in ran.err) == (2, True, False)


def test_a_terminal_that_waits_for_input_says_how_to_end_it(tmp_path):
    screen = Terminal()
    streams = {"stdin": screen.slave, "stdout": screen.slave, "stderr": screen.slave}
    with started(tmp_path, ["-", *COLUMNS], **streams) as process:
        screen.until(lambda text: "reading standard input; Ctrl-D ends" in text)
        os.write(screen.master, LINES + b"\x04")
        screen.until(lambda text: "f1_macro" in text)
        assert process.wait(PATIENCE) == 0


def test_rows_after_the_last_line_of_json_are_written_at_the_end_and_saved(run, tmp_path, monkeypatch):
    def ctrl_c(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("streameval.cli.reading.sleep", ctrl_c)  # called at the end of the file
    for rows, counted in ((LINES, [3]), (b"", [0])):
        (tmp_path / "r.jsonl").write_bytes(rows)
        ran = run("watch", "r.jsonl", *COLUMNS, "--every", "1h")
        assert (ran.code, [json.loads(line)["examples"] for line in ran.out.splitlines()]) == (0, counted)
        assert se.load(tmp_path / "state").examples == counted[-1]
