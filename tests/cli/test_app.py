"""Commands other than evaluate and watch, and help, version and completion."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval as se
from streameval import cli, kernel
from streameval.cli import main
from streameval.cli.app import app
from tests.support.effort import BRIEF

COMMANDS = ("evaluate", "watch", "merge", "show", "report", "compare", "metrics", "thresholds", "demo")
DAYS = ("monday.state", "tuesday.state")


def saved(path: str, *pairs) -> se.Evaluator:
    ev = se.Evaluator(["f1_micro", "hamming_loss"])
    for true, guess in pairs:
        ev.update(true, guess)
    ev.save(path)
    return ev


def records(values: dict) -> list[dict]:
    return [{"label": label, "value": value} for label, value in values.items()]


@pytest.mark.parametrize("names", [("two.state", "one.state"), ("*.state",)])
def test_merging_states_gives_the_state_of_all_rows(names, run):
    one, two = saved("one.state", ({"a"}, {"a"})), saved("two.state", ({"b"}, {"a"}), ({"b"}, {"b"}))
    assert run("merge", *names, "--save", "both", "--report", "r.html").code == 0
    assert se.load("both") == one + two
    assert run("report", *names, "--output", "r.html").code == 0
    assert {">one<", ">two<"} <= {*re.findall(">one<|>two<", Path("r.html").read_text(encoding="utf-8"))}


def test_show_computes_metrics_that_were_not_named_when_the_state_was_saved(run):
    ev = saved("one", ({"a"}, {"a", "b"}))
    ran = run("show", "one", "-m", "recall_micro", "-m", "f1_per_label", "-f", "json")
    assert json.loads(ran.out)["metrics"] == {"recall_micro": 1.0, "f1_per_label": records(ev.get("f1_per_label"))}


@pytest.mark.parametrize("state", [
    se.F1(average="micro"), se.F1(average=None), se.Evaluator(["roc_auc"]), se.Sliced(se.Evaluator(), by="x"),
    se.Rolling(se.Evaluator(), size=2), se.Fading(se.F1(), half_life=2),
])  # fmt: skip
@pytest.mark.parametrize("how", ["table", "json", "csv", "markdown"])
def test_every_kind_of_state_can_be_displayed_even_if_it_has_counted_nothing(run, state, how):
    state.save("state")
    assert run("show", "state", "-f", how).code == 0


def test_compare_says_how_much_changed_and_gives_no_verdict(run):
    saved("old", ({"a"}, {"b"}), ({"b"}, {"b"}))
    saved("new", ({"a"}, {"a"}), ({"b"}, {"b"}))
    out = run("compare", "old", "new").out
    assert "f1_micro ↑      0.5000  1.0000  +0.5000\n" in out
    assert "hamming_loss ↓  0.5000  0.0000  -0.5000\n" in out
    assert "a            0.0000  1.0000  +1.0000\n" in out


def test_checkpoints_and_ledgers_are_displayed_compared_and_merged_as_the_state_in_them(run):
    ev = saved("state", ({"a"}, {"b"}), ({"b"}, {"b"}))
    ledger = se.Ledger(ev - ev)
    ledger.put("shard", 1, ev)
    output = run("show", "state").out
    assert "f1_micro ↑      0.5000\n" in output
    for held in (se.Checkpoint(ev, 2), ledger, se.Pending(ev), se.Checkpoint(ledger, 2)):
        held.save("held")
        assert run("show", "held").out == output
        assert "f1_micro ↑      0.5000  0.5000       0\n" in run("compare", "state", "held").out
        assert run("merge", "state", "held").out.startswith("4 examples, 2 labels\n")
        assert run("report", "held", "-o", "page.html").code == 0


def test_a_shard_that_is_in_two_ledgers_is_merged_once(run):
    shards = {"a": saved("one", ({"a"}, {"b"}), ({"b"}, {"b"})), "b": saved("two", ({"a"}, {"a"}))}
    for name in ("ab", "a", "b"):
        ledger = se.Ledger(shards["a"] - shards["a"])
        for shard in name:
            ledger.put(shard, 1, shards[shard])
        (se.Checkpoint(ledger, 1) if name == "b" else ledger).save(name)
    for paths, examples in ((["ab", "a"], 3), (["a", "b"], 3), (["a", "one", "ab", "two", "b"], 6)):
        assert run("merge", *paths).out.startswith(f"{examples} examples, 2 labels\n")
    ledger.put("a", 1, shards["b"])
    ledger.save("conflict")
    assert run("merge", "a", "conflict").err.startswith("streameval: conflict: shard 'a' has two different states")
    se.Ledger().save("empty")
    assert "empty: the ledger is empty" in run("merge", "one", "empty").err


def test_the_catalogue_can_be_searched(run):
    every = json.loads(run("metrics", "-f", "json").out)
    assert [row["name"] for row in every["metrics"]] == [entry.name for entry in se.catalogue()]
    assert '"f1"' in run("metrics", "samples", "f1", "-f", "json").out
    averages = {row["name"]: row["averages"] for row in every["metrics"]}
    assert averages["roc_auc"] == "macro,micro,weighted,per_label"
    assert "parameters" not in run("metrics", "f1_micro").out
    result = json.loads(run("metrics", "ranking", "LOSS", "-f", "json").out)
    assert "ranking_loss" in [row["name"] for row in result["metrics"]]
    assert len(result["metrics"]) < len(every["metrics"])


def test_thresholds_are_read_from_a_saved_state(run):
    ev = se.Evaluator(["roc_auc"])
    ev.update({"a"}, {"a": 0.9, "b": 0.2})
    ev.update({"b"}, {"a": 0.4, "b": 0.3})
    ev.save("state")
    result = json.loads(run("thresholds", "state", "-f", "json").out)
    assert result["metric"] == "f1"
    assert json.loads(run("thresholds", "state", "--beta", "2", "-f", "json").out)["metric"] == "fbeta(beta=2)"
    rows = [(row["label"], row["threshold"], row["value"]) for row in result["thresholds"]]
    assert rows == [("a", 0.9, 1.0), ("b", 0.3, 1.0)]


def test_an_empty_state_has_no_thresholds(run):
    se.Evaluator(["roc_auc"]).save("state")
    Path("r.csv").write_text("y,s\n")
    ran = run("thresholds", "state", "--save", "best.json")
    assert (ran.code, ran.out, ran.err) == (2, "", "streameval: state holds no examples; --allow-empty accepts that\n")
    assert not Path("best.json").exists()
    for named in (["state"], ["r.csv", "-a", "y", "-s", "s"]):
        ran = run("thresholds", *named, "--allow-empty", "--save", "best.json")
        assert (ran.code, ran.out, ran.err) == (0, "no examples\n", "")
        assert json.loads(Path("best.json").read_text(encoding="utf-8"))["thresholds"] == []


def test_markdown_has_the_columns_of_csv_for_thresholds_and_metrics_too(run):
    ev = se.Evaluator(["roc_auc"])
    ev.update_many([{"a|b"}, {7}], [{"a|b": 0.9, 7: 0.2}, {"a|b": 0.4, 7: 0.3}])
    ev.save("state")
    for command in (["thresholds", "state"], ["metrics", "f1"]):
        tables = [run(*command, "-f", form).out for form in ("csv", "markdown")]
        header, rule, *rows = ([cell.strip() for cell in line[2:-2].split(" | ")] for line in tables[1].splitlines())
        assert header == tables[0].splitlines()[0].split(",")
        assert [cell.strip("-") for cell in rule] == [
            ":" * (name in ("threshold", "value", "bound")) for name in header
        ]
        assert len(rows) == tables[0].count("\n") - 1
    assert "| a\\|b  |    0.9000 | 1.0000 | 1.0000 |" in run("thresholds", "state", "-f", "markdown").out


def test_demo_writes_a_sample_and_prints_commands_that_agree_for_both_of_its_forms(run):
    ran = run("demo", "--write", "a folder")
    commands = [shlex.split(line)[1:] for line in ran.out.splitlines() if line.startswith("  streameval ")]
    wide, lists, thresholds = (run(*command, "-f", "json") for command in commands)
    assert thresholds.code == 0
    names = ("subset_accuracy", "f1_micro", "f1_macro")
    assert [json.loads(wide.out)["metrics"][name] for name in names] == [
        json.loads(lists.out)["metrics"][name] for name in names
    ]
    assert run("demo", "--write", "a folder").out == ran.out
    for mine in ("mine", Path("a folder/photos.csv").read_text() + "21,eu,1,0,0,0,0.9,0.1,0.1,0.1\n"):
        Path("a folder/photos.csv").write_text(mine)
        refused = run("demo", "--write", "a folder")
        assert (refused.code, "photos.csv is a file that streameval did not write" in refused.err) == (2, True)
    assert run("demo", "--write", "a folder/photos.csv/x").code == 2


def test_version_names_the_kernel(run):
    assert run("--version").out == f"streameval {se.__version__} ({kernel.BACKEND} kernel)\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_plain_and_fits_its_width(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(command, "--help").out
    assert re.match(rf"Usage: streameval {command}( [A-Z\[][\w.\]]*)* \[OPTIONS\]\n\n\S[^.]*\.\n\n", text)
    assert ("FILE... [OPTIONS]" in text) is (command == "evaluate")
    assert not re.search(r"[{}]|<\w", text.replace("{label: number}", ""))
    assert max(map(len, text.splitlines())) <= 80
    assert ("--digits" in text) == (command not in ("report", "metrics"))  # these two write no values as text
    assert "\nExit status:\n  0 success; 1 a check failed; 2 wrong usage or input; 130 " in text
    assert run("help", command).out == text


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_four_examples_of_every_help_page_run(run, tmp_path, monkeypatch, command):
    def ctrl_c(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("streameval.cli.reading.sleep", ctrl_c)  # called at the end of a watched file
    examples = re.search(r"(?s)\nExamples:\n(.*?)\n\n", run(*command.split(), "--help").out)[1].splitlines()
    assert len(examples) == 4
    rows = [{"true": [tag], "predicted": ["a"], "region": tag} for tag in "ab"]
    run("demo", "--write", "demo")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part-1.parquet")
    for name in (*DAYS, "old.state", "new.state", "today.state"):
        saved(name, ({"a"}, {"a"}))
    scored = se.Evaluator(["roc_auc"])
    scored.update({"a"}, {"a": 0.9})
    scored.save("scored.state")
    for line in examples:
        first, _, piped = line.partition(" | ")
        words = [
            name for word in shlex.split(piped or first)[1:] for name in (DAYS if word == "*day.state" else [word])
        ]
        ran = run(*words, stdin=Path(first.split()[1]).read_bytes() if piped else None)
        assert (ran.code, re.sub(r"--window 1000 is left out.*\n", "", ran.err)) == (0, ""), line
        assert ran.out or command == "report"


def test_a_page_displays_one_state_or_compares_two(run):
    for name, guess in (("old.state", "a"), ("new.state", "b")):
        saved(name, ({"a"}, {guess}))
    assert run("report", "old.state", "-o", "one.html", "--title", "<Tags>", "--meta", "model=v7=x").code == 0
    page = Path("one.html").read_text()
    assert "<h1>&lt;Tags&gt;</h1>" in page
    assert "v7=x" in page
    assert run("report", "old.state", "new.state", "-o", "one.html").code == 0
    assert Path("one.html").read_text() != page
    Path("link").symlink_to("old.state")
    Path("more").mkdir()
    Path("more/old.state").write_bytes(Path("new.state").read_bytes())
    assert run("report", "old.state", "more/old.state", "-o", "two.html").code == 0
    assert "<h1>old.state and more/old.state</h1>" in Path("two.html").read_text()
    for options, error in (
        (["old.state"], "--output FILE.html is missing"),
        (["old.state", "-o", "x.pdf"], "--output 'x.pdf' must end in .html"),
        (["old.state", "-o", "old.state"], "--output old.state is a file that is read"),
        (["old.state", "old.state", "-o", "x.html"], "old.state is named twice; name each state once"),
        (["old.state", "link", "-o", "x.html"], "link is named twice, as old.state; name each state once"),
        (["old.state", "-o", "x.html", "--meta", "v7"], "--meta 'v7' must be NAME=VALUE"),
    ):
        ran = run("report", *options)
        assert (ran.code, error in ran.err) == (2, True), ran.err


def test_every_command_is_named_in_a_test():
    assert {each.name or each.callback.__name__ for each in app.registered_commands} == set(COMMANDS)


@pytest.mark.parametrize(("words", "completions"), [
    ("ev", "evaluate"), ("evaluate d/photos.csv -a true_c", "true_cat"),
    ("evaluate d/photos.jsonl --pr", "--predicted"),
    ("evaluate d/photos.jsonl --actual ", "id region true predicted scores"),
    ("evaluate d/photos.jsonl -a true -p predicted --by re", "region"), ("watch d/photos.jsonl --mask t", "true"),
    ("thresholds d/photos.jsonl --scores s", "scores"),
    ("evaluate d/photos.jsonl --truth d/photos.csv -a tr", "true true_cat true_dog true_bird true_fish"),
    ("evaluate --by ", ""),
    ("evaluate none.csv --by ", ""), ("show d/state -m f1_mi", "f1_micro"),
])  # fmt: skip
def test_the_shell_completes_commands_options_metrics_and_columns(run, monkeypatch, words, completions):
    run("demo", "--write", "d")
    run("evaluate", "d/photos.jsonl", "-a", "true", "-p", "predicted", "--by", "region", "--save", "d/state")
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv("_STREAMEVAL_COMPLETE", f"complete_{shell}")
        monkeypatch.setenv("COMP_WORDS", f"streameval {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(f"streameval {words}".split(" ")) - 1))
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"streameval {words}")
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        line = r"^([\w-]+)" if shell != "zsh" else r'^(?:_arguments.*\(\()?"([\w-]+)"'
        names = re.findall(line, run().out, re.MULTILINE)
        assert [name for name in names if name != "are"] == completions.split()  # fish has further lines with help


def test_thresholds_of_a_state_with_slices_are_those_of_all_rows(run):
    run("demo", "--write", "d")
    columns = "d/photos.jsonl", "-a", "true", "-s", "scores"
    assert run("evaluate", *columns, "-m", "roc_auc", "--by", "region", "--save", "sliced.state").code == 0
    assert run("thresholds", "sliced.state", "-f", "json").out == run("thresholds", *columns, "-f", "json").out
    refused = run("thresholds", *columns, "--by", "region")
    assert (refused.code, "there is no option --by" in refused.err) == (2, True)


def test_without_typer_one_line_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "typer" else object())
    assert cli.main([]) == 2
    assert capsys.readouterr().err == "streameval: the command line needs typer; run pip install 'streameval[cli]'\n"


@pytest.mark.parametrize(
    "args",
    ["-m streameval metrics", "-m streameval metrics -f json", "-OO -m streameval"],  # by rich; by us; with -OO
)
def test_python_m_runs_the_command_and_a_closed_pipe_is_no_error(args):
    command = [sys.executable, *args.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("args", "failed", "one"),  # one: whether output and errors share a pipe
    [
        ("evaluate rows.jsonl -a tags -p guess -m f1_micro --fail-if f1_micro<0.9 -f json", "f1_micro<0.9 (", False),
        ("evaluate rows.jsonl -a tags -p guess -m f1_micro --fail-if f1_micro<0.9 -f table", "f1_micro<0.9 (", True),
        ("compare old.state old.state --fail-if change(f1_micro)<0.1 -f json", "change(f1_micro)<0.1 (", True),
        ("compare old.state old.state --fail-if change(f1_micro)<0.1 -f table", "change(f1_micro)<0.1 (", False),
        ("compare old.state old.state --fail-if change(f1_micro)<0 -f table", None, True),
        ("compare old.state old.state --fail-if change(f1_micro)<0 -f json", None, False),
    ][:: 2 if BRIEF else 1],
)
def test_a_failed_check_sets_the_status_even_if_the_reader_of_the_pipe_has_ended(tmp_path, args, failed, one):
    (tmp_path / "rows.jsonl").write_text('{"tags": ["a"], "guess": ["a"]}\n{"tags": ["a"], "guess": ["b"]}\n')
    saved(str(tmp_path / "old.state"), ({"a"}, {"b"}))
    command = [sys.executable, "-m", "streameval", *args.split()]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT if one else subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **streams) as process:
        process.stdout.close()
        error = b"" if one else process.stderr.read()
    assert process.returncode == (failed is not None)
    assert one or (error.decode().startswith(f"failed: {failed}") if failed is not None else error == b"")


def test_without_a_command_the_help_is_displayed(run):
    assert run() == run("--help")


@pytest.mark.skipif(os.name != "posix", reason="only there are streams closed by the shell")
def test_closed_standard_streams_are_no_error_unless_they_are_needed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def ended(shell: str) -> tuple[int, str, str]:
        command = ["/bin/sh", "-c", f'exec "$0" -m streameval {shell}', sys.executable]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    saved("state", ({"a"}, {"a"}))
    assert ended("show state >&-") == (0, "", "")
    code, message, error = ended("show state 2>&-")
    assert (code, message.splitlines()[0], error) == (0, "1 example, 1 label", "")
    assert ended("evaluate - -a a -p p <&-") == (2, "", "streameval: standard input is closed\n")


@pytest.mark.skipif(os.name != "posix", reason="only there does a shell say the status of the first of two commands")
def test_the_status_is_the_same_where_nothing_reads_the_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("r.csv").write_text("t_a,t_b,s_a,s_b\n1,0,0.9,0.1\n0,1,0.2,0.3\n")
    expected = {
        "evaluate r.csv -a t_* -s s_* --fail-if ndcg<1.1": 1, "evaluate r.csv -a t_* -s s_* --fail-if ndcg<0": 0,
        "evaluate r.csv -a t_* -s s_* -t .5 --explain --fail-if f1_micro<0": 0, "evaluate r.csv -p p": 2,
        "evaluate r.csv -a t_* -p t_*": 0, "evaluate r.csv -a t_* -p t_* --strict": 2, "nothing": 2,
    }  # fmt: skip
    expected = dict([*expected.items()][:: 2 if BRIEF else 1])
    program = """if True:
        import json, os, runpy, sys
        import pyarrow, streameval.cli.app  # once for all children, each of which is the command and ends as it does
        statuses = {}
        for words in sys.argv[1:]:
            if not (child := os.fork()):
                sys.argv = ["streameval", *words.split()]
                runpy.run_module("streameval", run_name="__main__", alter_sys=True)
            statuses[words] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with open("statuses.json", "w") as file:
            json.dump(statuses, file)
    """
    reader, writer = os.pipe()
    os.close(reader)  # nothing reads the pipe from the start
    subprocess.run([sys.executable, "-c", program, *expected], stdout=writer, stderr=writer, check=False)
    os.close(writer)
    assert json.loads(Path("statuses.json").read_text()) == expected


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
def test_a_full_disk_is_reported_in_one_line():
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "streameval", "metrics", "-f", "json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "streameval: No space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
def test_a_full_disk_under_standard_error_changes_no_status():
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        command = [sys.executable, "-m", "streameval", "nothing"]
        assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=full, check=False).returncode == 2


@pytest.mark.parametrize("form", ["table", "markdown"])
@pytest.mark.parametrize(
    ("digits", "text"), [([], "0.6667"), (["--digits", "2"], "0.67"), (["--digits", "7"], "0.6666667")]
)
def test_tables_have_as_many_decimals_as_asked_for(tmp_path, capsys, form, digits, text):
    state = se.Evaluator(["f1_micro", "f1_per_label"])
    state.update({"cat"}, {"cat", "dog"})
    state.save(tmp_path / "state")
    assert main(["show", str(tmp_path / "state"), "--format", form, *digits]) == 0
    table = capsys.readouterr().out
    assert text in re.split(r"[ |\n]+", table)
    assert main(["show", str(tmp_path / "state"), "--format", "csv", *digits]) == 0
    assert "0.6666666666666666" in capsys.readouterr().out


@pytest.mark.parametrize(("color", "colored"), [("auto", False), ("always", True), ("never", False)])
def test_output_that_is_no_terminal_is_colored_only_with_color_always(monkeypatch, tmp_path, capsys, color, colored):
    monkeypatch.setenv("TERM", "dumb")
    state = se.Evaluator(["f1_micro"])
    state.update({"cat"}, {"cat", "dog"})
    state.save(tmp_path / "state")
    command = ["show", str(tmp_path / "state"), "--color", color]
    assert main(command) == 0
    assert ("\x1b[" in capsys.readouterr().out) == colored
    assert main([*command, "--output", str(tmp_path / "table.txt")]) == 0
    assert "\x1b" not in (tmp_path / "table.txt").read_text()


class Writer:
    """An object with only the methods that a redirected stream needs."""

    def __init__(self) -> None:
        self.content = ""

    def write(self, text: str) -> int:
        self.content += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.mark.parametrize("make", [Writer, io.StringIO])
def test_a_notebook_may_redirect_standard_streams(make, monkeypatch):
    rows = '{"y": ["a"], "p": ["a"]}\n' * 3
    for args, lines in ((["evaluate", "-", "-a", "y", "-p", "p"], ["3 examples, 1 label"]), (["evaluate", "none"], [])):
        monkeypatch.setattr(sys, "stdin", io.StringIO(rows))
        out, err = make(), make()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(args)
        written, said = (one.content if isinstance(one, Writer) else one.getvalue() for one in (out, err))
        assert (code, written.splitlines()[:1]) == (0 if lines else 2, lines)
        assert said == ("" if lines else "streameval: there is no file 'none'\n")


@pytest.mark.parametrize("args", [["metrics"], ["evaluate", "none"], ["nothing"]])
def test_streams_of_a_program_that_runs_a_command_stay_as_they_were(args, monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(io.BytesIO(), encoding="latin-1", errors="xmlcharrefreplace"))
    main(args)
    assert {(one.encoding, one.errors) for one in (sys.stdout, sys.stderr)} == {("latin-1", "xmlcharrefreplace")}
