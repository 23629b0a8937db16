"""Checks end a command with status 1 where they fail, and with status 2 where they cannot be made."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import streameval as se
from tests.cli.test_run import refused

ROWS = b"".join(
    b'{"a":["%s"],"p":["%s"],"by":"%s"}\n' % row
    for row in ((b"x", b"x", b"eu"), (b"x", b"y", b"us"), (b"y", b"y", b"eu"))
)
COMMAND = "evaluate", "-", "-a", "a", "-p", "p", "--by", "by"


@pytest.mark.parametrize(("check", "line"), [
    ("f1_micro < 0.7", "failed: f1_micro < 0.7 (0.6666666667)"),
    ("f1_micro<.6", ""), ("F1 micro >= 6e-1", "failed: F1 micro >= 6e-1 (f1_micro: 0.6666666667)"),
    ("hamming_loss > 1", ""), ("F1[by] < 0.3", "failed: F1[by] < 0.3 (f1_macro: by=us: 0; 1 of 2 fail)"),
    ("fbeta_micro(beta=2, zero_division=1) <= 1", "failed: fbeta_micro(beta=2, zero_division=1) <= 1 (0.6666666667)"),
    ("f1_micro[by=us] < 0.5", "failed: f1_micro[by=us] < 0.5 (by=us: 0)"), ("f1_micro[ by = eu ] < 0.5", ""),
    ("f1_micro[by] < 0.7", "failed: f1_micro[by] < 0.7 (by=us: 0; 1 of 2 fail)"),
    ("recall_per_label < 0.7", "failed: recall_per_label < 0.7 (label x: 0.5; 1 of 2 fail)"),
    ("recall_per_label[by] >= 0", "failed: recall_per_label[by] >= 0 (by=eu, label y: 1; 4 of 4 fail)"),
    ("recall_per_label[by] < 1", "failed: recall_per_label[by] < 1 (by=us, label x: 0; 2 of 4 fail)"),
])  # fmt: skip
def test_a_check_that_fails_sets_status_1_and_prints_a_line(run, check, line):
    ran = run(*COMMAND, "--fail-if", check, "--save", "state", stdin=ROWS)
    assert (ran.code, ran.err) == (int(bool(line)), line and line + "\n")
    assert "f1_micro" in ran.out
    assert se.load("state").total().examples == 3
    assert run("show", "state", "--fail-if", check).code == ran.code
    Path("other").write_bytes(Path("state").read_bytes())
    assert run("merge", "state", "other", "--fail-if", check).code == ran.code


def test_each_failed_check_has_a_line(run):
    checks = ("--fail-if", "f1_micro < 0.7", "--fail-if", "f1_micro < 0.6", "--fail-if", "mcc_macro < 1")
    ran = run(*COMMAND, *checks, "-m", "f1_micro", stdin=ROWS)
    assert (ran.code, [line.split()[1] for line in ran.err.splitlines()]) == (1, ["f1_micro", "mcc_macro"])


def test_numbers_of_rows_and_weights_are_checked_as_metrics_are(run):
    for check, failed in (
        ("examples < 4", "3"), ("examples < 3", ""), ("weight <= 3", "3"), ("examples[by=us] > 0", "by=us: 1"),
        ("examples[by] < 2", "by=us: 1; 1 of 2 fail"),
    ):  # fmt: skip
        ran = run(*COMMAND, "--fail-if", check, "--save", "state", stdin=ROWS)
        assert (ran.code, ran.err) == (1 * bool(failed), f"failed: {check} ({failed})\n" * bool(failed))
        assert run("show", "state", "--fail-if", check).code == ran.code
    for check, failed in (("change(examples) <= 0", "0"), ("change(examples) < 0", "")):
        assert run("compare", "state", "state", "--fail-if", check).code == 1 * bool(failed)


@pytest.mark.parametrize(("check", "message"), [
    ("f1_micro", "is not a check; write 'f1_micro < 0.7' or 'f1_micro[region=us] < 0.6'"), ("f1_micro = 1", "is not a"),
    ("f1_micro < high", "is not a check"), ("f1_micro << 1", "is not a check"), ("f1_micro < 1 < 2", "is not a check"),
    ("f1_micro < nan", "is not a check"), ("change(f1_micro) < 0", "is not a check"), ("", "is not a check"),
    ("f1_micr < 1", "there is no metric 'f1_micr'; did you mean"), ("accuracy < 1", "has more than one meaning"),
    ("f1_micro[r] < 1", "[r] is not a slice; there are slices by by"),
    ("roc_auc < 1", "roc_auc_macro requires scores"), ("ndcg(k=0) < 1", "k of ndcg must be"),
])  # fmt: skip
def test_what_is_no_check_is_refused_before_a_row_is_read(run, check, message):
    refused(run(*COMMAND, "--fail-if", check, stdin=b"{"), message)
    refused(
        run(*COMMAND[:-2], "--fail-if", "F1[by] < 1", stdin=b"{"), "[by] is not a slice; there are none; --by COLUMN"
    )


def test_checks_of_missing_slices_and_of_undefined_values_set_status_2(run):
    ran = run(*COMMAND, "--fail-if", "f1_micro[by=mars] < 1", stdin=ROWS)
    assert (ran.code, "[by=mars] is not a slice; there are by=eu, by=us" in ran.err) == (2, True)
    ran = run(*COMMAND[:-2], "--fail-if", "f1_micro[x] < 1", stdin=ROWS)
    assert (ran.code, "[x] is not a slice; there are none; --by COLUMN of evaluate makes them" in ran.err) == (2, True)
    ran = run(*COMMAND, "--fail-if", "recall_per_label(zero_division=nan)[by] < 0", stdin=ROWS)
    assert (ran.code, "was not checked for by=us, label y: 0/0" in ran.err) == (0, True)
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update({"a"}, {"a": 0.5})
    ev.save("one")
    ran = run("show", "one", "--fail-if", "roc_auc_macro < 1")
    assert (ran.code, "roc_auc_macro is undefined (0/0)" in ran.err) == (2, True)


@pytest.mark.parametrize(("check", "line"), [
    ("change(f1_micro) < -0.01", "failed: change(f1_micro) < -0.01 (-0.5)"), ("change(f1_micro) < -0.5", ""),
    ("change( f1_per_label ) < 0", "failed: change( f1_per_label ) < 0 (label y: -1; 2 of 2 fail)"),
])  # fmt: skip
def test_changes_are_checked_where_states_are_compared(run, check, line):
    for name, guess in (("old", "y"), ("new", "x")):
        ev = se.Evaluator(["f1_micro"])
        ev.update_many([["x"], ["y"]], [["x"], [guess]])
        ev.save(name)
    ran = run("compare", "old", "new", "--fail-if", check)
    assert (ran.code, ran.err) == (int(bool(line)), line and line + "\n")
    refused(run("compare", "old", "new", "--fail-if", "f1_micro < 1"), "write 'change(f1_micro) < -0.01'")


def test_the_workflow_on_the_page_of_the_command_line_runs_unchanged(run, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    job = page.partition("```yaml\n")[2].partition("```")[0]
    steps = [" ".join(step.split()).removeprefix("> ") for step in re.findall(r"run: (.*(?:\n {10}\S.*)*)", job)][1:]
    assert [step.split()[:2] for step in steps] == [
        ["streameval", "evaluate"],
        ["streameval", "compare"],
        ["if", "["],
    ]
    rows = [{"tags": ["a"], "guess": ["a"], "region": "us"}, {"tags": ["b"], "guess": ["a", "b"], "region": "eu"}]
    Path("predictions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run("evaluate", "predictions.jsonl", "-a", "tags", "-p", "guess", "--save", "main.state").code == 0
    command = f'set -e\nstreameval() {{ {shlex.quote(sys.executable)} -m streameval "$@"; }}\n' + "\n".join(steps)
    env = os.environ | {"GITHUB_STEP_SUMMARY": "summary.md"}
    subprocess.run(["/bin/bash", "-c", command], check=True, cwd=tmp_path, env=env, capture_output=True)
    assert Path("summary.md").read_text().startswith("| scope |")
    assert json.loads(Path("results.json").read_text())["examples"] == 2
    for name in ("changes.md", "summary.md"):
        Path(name).unlink()
    subprocess.run(["/bin/bash", "-c", steps[-1]], check=True, cwd=tmp_path, env=env)  # as after a failure of evaluate
    assert not Path("summary.md").exists()


def test_compare_refuses_a_check_that_is_not_of_a_change(run):
    se.Evaluator().save("state")
    ran = run("compare", "state", "state", "--fail-if", "f1_micro < 0.5")
    refused(ran, "of compare; write 'change(f1_micro) < -0.01' or 'change(f1_micro)[region=us] < 0'")
