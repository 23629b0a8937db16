"""No command overwrites a file that it reads, nor, without --force, a file that streameval did not write."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

import streameval as se
from streameval.cli import main
from streameval.cli.outputs import SUFFIXES, check_outputs
from streameval.cli.reading import UserError
from tests.cli.test_run import COLUMNS, OK, refused

SCORED = b'{"a":["x"],"s":{"x":0.75,"y":0.25}}\n'


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_bytes(OK)
    Path("s.jsonl").write_bytes(SCORED)
    Path("link").symlink_to("d.jsonl")
    os.link("d.jsonl", "hard")
    Path("t.json").write_text('{"x": 0.5}')
    state = se.Evaluator()
    state.update({"x"}, {"x"})
    for name in ("one", "two"):
        state.save(name)
    return tmp_path


def content() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("args", [
    *(("evaluate", "d.jsonl", *COLUMNS, "--save", name) for name in ("d.jsonl", "./d.jsonl", "link", "hard")),
    ("evaluate", "*.jsonl", *COLUMNS, "--report", "d.jsonl"), ("evaluate", "link", *COLUMNS, "--report", "d.jsonl"),
    ("evaluate", "s.jsonl", "-a", "a", "-s", "s", "-t", "t.json", "--save", "t.json"),
    ("thresholds", "s.jsonl", "-a", "a", "-s", "s", "--save", "s.jsonl"), ("thresholds", "one", "--save", "one"),
    ("thresholds", "s.jsonl", "-a", "a", "-s", "s", "--truth", "t.json", "--join", "id", "--save", "t.json"),
    ("show", "one", "--report", "one"), ("merge", "one", "two", "--report", "two"),
])  # fmt: skip
def test_a_file_that_is_read_is_never_written_even_with_force(run, folder, args, force):
    before = content()
    refused(run(*args, *force), f"{args[-2]} {Path(args[-1])} is a file that is read; name another")
    assert content() == before


def test_a_file_that_standard_input_reads_is_not_written(run, folder):
    before = os.dup(0)
    try:
        with Path("d.jsonl").open("rb") as rows:
            os.dup2(rows.fileno(), 0)
        ran = run("evaluate", "-", *COLUMNS, "--save", "d.jsonl", "--force", stdin=OK)
    finally:
        os.dup2(before, 0)
        os.close(before)
    refused(ran, "--save d.jsonl is a file that is read")
    assert Path("d.jsonl").read_bytes() == OK


@pytest.mark.parametrize("names", [("new", "new"), ("new", "./new"), ("one", "one")])
@pytest.mark.parametrize("args", [("evaluate", "d.jsonl", *COLUMNS, "--save"), ("merge", "one", "two", "--save")])
def test_two_results_need_two_files(run, folder, args, names):
    before = content()
    refused(
        run(*args, names[0], "--report", names[1]), f"--report {Path(names[1])} is the file of --save; name another"
    )
    assert content() == before


@pytest.mark.parametrize("args", [
    ("evaluate", "d.jsonl", *COLUMNS, "--save"), ("evaluate", "d.jsonl", *COLUMNS, "--report"),
    ("merge", "one", "two", "--save"), ("show", "one", "--report"),
    ("demo", "--report"), ("thresholds", "s.jsonl", "-a", "a", "-s", "s", "--save"),
    ("show", "one", "-o"), ("metrics", "-o"),
])  # fmt: skip
def test_a_foreign_file_is_replaced_with_force_only_and_a_file_of_ours_without(run, folder, args):
    is_json = args[-1] == "-o" or args[0] == "thresholds"
    name = "thesis.html" if args[-1] == "--report" else "thesis.json" if is_json else "thesis.tex"
    path = Path(name)
    path.write_bytes(b"x")
    option = "--output" if args[-1] == "-o" else args[-1]
    refused(run(*args, name), f"{option} {name} is a file that streameval did not write", "--force")
    assert path.read_bytes() == b"x"
    assert run(*args, name, "--force").code == 0
    ours = path.read_bytes()
    assert ours != b"x"
    assert run(*args, name).code == 0
    time = rb"\d\d:\d\d( UTC)?"  # pages contain the time
    assert re.sub(time, b"", path.read_bytes()) == re.sub(time, b"", ours)


def test_a_file_counts_as_ours_if_it_begins_like_one_or_is_empty(folder):
    path = Path("thesis.tex")
    for foreign in (
        b"<!doctype html><title>streameval</title>",
        b'{"streamevals": 1}',
        b"\x89PNG\r\n",
        b"\n",
        b"rows ",
    ):
        path.write_bytes(foreign)
        with pytest.raises(UserError, match="did not write"):
            check_outputs({"--save": path}, (), False)
    for ours in (b"", se.Checkpoint(se.F1()).to_bytes(), b'\n{ "streameval":1}'):
        path.write_bytes(ours)
        check_outputs({"--save": path, "--report": None}, (), False)


@pytest.mark.parametrize("args", [
    ("evaluate", "d.jsonl", *COLUMNS, "--save"), ("evaluate", "d.jsonl", *COLUMNS, "--report"),
    ("thresholds", "s.jsonl", "-a", "a", "-s", "s", "--save"), ("report", "one", "-o"), ("metrics", "-o"),
])  # fmt: skip
def test_a_name_that_ends_with_a_slash_is_refused(run, folder, args):
    before = content()
    refused(run(*args, "new/"), "new/ names a folder; name a file in it")
    assert content() == before


def test_devices_are_written_to(run, folder):
    command = ["evaluate", "d.jsonl", *COLUMNS, "--save", "/dev/null", "--report", "/dev/null"]
    assert run(*command).code == 0
    assert Path("/dev/null").is_char_device()
    reading, writing = os.pipe()  # as the shell makes for >(gzip > state.gz)
    assert run("merge", "one", "two", "--save", f"/dev/fd/{writing}").code == 0
    assert se.Evaluator.from_bytes(os.read(reading, 10_000)).examples == 2
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("args", [
    ("evaluate", "d.jsonl", *COLUMNS, "--save"), ("merge", "one", "two", "--save"), ("show", "one", "--report"),
    ("report", "one", "--output"), ("show", "one", "--format", "json", "--output"),
])  # fmt: skip
def test_a_hyphen_is_refused_as_the_name_of_an_output(run, folder, args):
    refused(run(*args, "-"), f"{args[-1]} - does not stand for standard output; name a file, or /dev/stdout")
    assert not Path("-").exists()


def test_one_of_the_merged_states_may_be_replaced_by_their_sum(run, folder):
    for name, examples in (("one", 2), ("./two", 3)):
        ran = run("merge", "one", "two", "--save", name)
        assert (ran.code, ran.err) == (0, f"{Path(name)} was one of the merged states, and now holds their sum\n")
        assert se.load(name).examples == examples
    before = content()
    se.F1().save("single")
    refused(run("merge", "one", "single", "--save", "one"), "evaluate both with the same options")
    assert content() == before | {"single": se.F1().to_bytes()}


@pytest.mark.parametrize("name", ["ledger", "./ledger"])
def test_a_ledger_is_replaced_by_its_sum_only_by_force(run, folder, name):
    ledger = se.Ledger()
    ledger.put("shard", 1, se.load("one"))
    ledger.save("ledger")
    before = content()
    for paths in (["ledger", "one"], ["one", "ledger"], ["ledger"]):
        lost = "--save ledger would replace a ledger by a sum, without the shards that it holds; name another, or give"
        refused(run("merge", *paths, "--save", name), lost)
    assert content() == before
    assert run("merge", "ledger", "one", "--save", "two").code == 0
    assert run("merge", "ledger", "one", "--save", name, "--force").code == 0
    assert se.load("ledger").examples == 2


def test_the_label_limit_of_the_first_state_holds_for_a_merge(run, folder):
    few = se.Evaluator(label_limit=2)
    few.update({"cat"}, {"dog"})
    few.save("few")
    more = se.Evaluator()
    more.update({"ant"}, {"bee"})
    more.save("more")
    refused(run("merge", "few", "more"), "limit is 2, and there would be 4 labels; name a state with a higher limit")
    assert run("merge", "more", "few").code == 0


@pytest.mark.parametrize("name", ["n" * 256, "absent/state", "d.jsonl/state"])
def test_an_output_that_cannot_be_written_is_reported_before_a_row_is_read(run, folder, name):
    Path("bad.jsonl").write_bytes(b"{")
    for option in ("--save", "--report", "--output"):
        name += ".json" * (option == "--output")
        refused(run("evaluate", "bad.jsonl", *COLUMNS, option, name), f"{option} {name} cannot be written: ")


@pytest.mark.parametrize(("suffix", "asked"), [*((suffix, "") for suffix in SUFFIXES), (".json", "cp1252")])
def test_a_pipe_gets_the_bytes_of_a_file_whatever_the_encoding_of_the_system(folder, monkeypatch, suffix, asked):
    monkeypatch.setenv("PYTHONIOENCODING", asked)
    row = {"labels": ["caf\xe9", "\u65e5\n\u672c", "\U0001f600"], "guess": ["caf\xe9"]}
    Path("d.jsonl").write_text(json.dumps(row), encoding="utf-8")
    args = ["evaluate", "d.jsonl", "-a", "labels", "-p", "guess"]
    assert main([*args, "-o", f"results{suffix}"]) == 0
    pipe = io.TextIOWrapper(io.BytesIO(), "cp1252", newline="\r\n")  # as on Windows
    monkeypatch.setattr(sys, "stdout", pipe)
    assert main([*args, "-f", SUFFIXES[suffix]]) == 0
    pipe.flush()
    written = Path(f"results{suffix}").read_bytes().decode("utf-8")
    assert pipe.buffer.getvalue() == written.encode(asked or "utf-8", "backslashreplace")


def test_a_disk_that_becomes_full_does_not_cut_what_is_displayed(run, folder, monkeypatch):
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = content()
    monkeypatch.setattr(os, "fsync", full)
    ran = run("evaluate", "d.jsonl", *COLUMNS, "--save", "state", "-f", "json")
    assert (ran.code, ran.err) == (2, "streameval: state: No space left on device\n")
    assert json.loads(ran.out)["examples"] == 1
    assert content() == before


def test_a_page_names_its_files_and_columns_and_has_a_title(run):
    Path("r.jsonl").write_text('{"t": ["a"], "p": ["a"]}\n{"t": [], "p": ["a"]}\n')
    columns = "r.jsonl", "-a", "t", "-p", "p"
    assert run("evaluate", *columns, "--save", "s.state", "--report", "r.html", "--title", "My <tags>").code == 0
    page = Path("r.html").read_text()
    assert "<h1>My &lt;tags&gt;</h1>" in page
    for name, value in (
        ("files", "r.jsonl"),
        ("actual", "t"),
        ("predicted", "p"),
        ("without a true label", "1"),
    ):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    Path("t.state").write_bytes(Path("s.state").read_bytes())
    for command in (("show", "s.state"), ("merge", "s.state", "t.state")):
        assert run(*command, "--report", "r.html", "--title", "Saved").code == 0
        assert "<h1>Saved</h1>" in (page := Path("r.html").read_text())
        assert "<dt>files</dt><dd>s.state" in page
    ran = run("evaluate", *columns, "--title", "x")
    assert (ran.code, "--title is the heading of a page; give --report" in ran.err) == (2, True)
