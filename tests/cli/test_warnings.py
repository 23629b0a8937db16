"""Warnings are lines on standard error, are contained in every result, and are errors with --strict."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval as se

TEXT = (
    "labels 'Cat' and 'cat' differ in case or Unicode form, one only in the true labels, one only in the predictions; "
    "use the same names"
)


@pytest.fixture
def rows(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"y": ["Cat"], "p": ["cat"], "by": 1}\n' * 30)
    return str(path)


@pytest.mark.parametrize("more", [[], ["--by", "by"], ["--window", "5"]])
def test_a_warning_is_a_line_and_is_contained_in_results(run, rows: str, more: list[str]):
    ran = run("evaluate", rows, "-a", "y", "-p", "p", "-f", "json", "--save", "state", "--report", "r.html", *more)
    assert (ran.code, ran.err) == (0, f"warning: {TEXT}\n")
    assert json.loads(ran.out)["warnings"] == [TEXT]
    assert "labels &#x27;Cat&#x27; and &#x27;cat&#x27; differ in case" in Path("r.html").read_text()
    for command in ("show state", "merge state", "compare state state", "report state -o page.html"):
        displayed = run(*command.split())
        assert (displayed.code, displayed.err) == (0, f"warning: {TEXT}\n")
    assert "labels &#x27;Cat&#x27; and &#x27;cat&#x27; differ in case" in Path("page.html").read_text()


def test_thresholds_of_a_saved_state_warn(run):
    Path("rows.jsonl").write_text('{"y": ["Cat"], "s": {"cat": 0.5}}\n' * 30)
    words = "-a", "y", "-s", "s", "-m", "roc_auc_macro", "-t", "0.5", "--save", "state", "-q"
    assert run("evaluate", "rows.jsonl", *words).err == (displayed := run("thresholds", "state")).err
    assert (displayed.code, displayed.err) == (0, f"warning: {TEXT}\n")


def test_strict_makes_warnings_errors(run, rows: str):
    ran = run("evaluate", rows, "-a", "y", "-p", "p", "--strict", "--save", "state")
    assert (ran.code, ran.out, ran.err) == (2, "", f"streameval: {TEXT}\n")
    assert not Path("state").exists()
    Path("cells.csv").write_text("y,p\n" + '"a,b",a\n"b,c",b\n"a,c",c\n')
    ran = run("evaluate", "cells.csv", "-a", "y", "-p", "p", "--strict")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("streameval: no cell of column 'y' holds the separator")


SAME = "so that every prediction is right; name the column of the predictions"


@pytest.mark.parametrize(("options", "warning"), [
    ("r.jsonl -a t -p t", f"--actual and --predicted both name 't', {SAME}"),
    ("w.csv -a t_* -s t_* -t .5", f"--actual and --scores both name 't_*', {SAME}"),
    ("r.jsonl -a t -p p ./r.jsonl r*.jsonl", "'r.jsonl' is read 3 times, and its rows count each time; name it once"),
    ("d l -a t -p p", "'d/r.jsonl' is read 2 times, and its rows count each time; name it once"),
    ("r.jsonl -a t -p p", ""), ("d/** -a t -p p", ""), ("r.jsonl d -a t -p p", ""), ("w.csv -a t_* -p p", ""),
    ("r.jsonl -a t -p t --truth d/r.jsonl --join id", ""),
])  # fmt: skip
def test_columns_and_files_that_are_named_twice_are_warned_of(run, options: str, warning: str):
    for name in ("r.jsonl", "d/r.jsonl"):
        Path("d").mkdir(exist_ok=True)
        Path(name).write_text('{"id": 1, "t": ["a"], "p": ["a", "b"]}\n')
    Path("w.csv").write_text("t_a,t_b,p\n1,0,a\n1,1,b\n")
    Path("l").symlink_to("d")
    ran = run("evaluate", *options.split(), "--save", "state")
    assert (ran.code, ran.err) == (0, warning and f"warning: {warning}\n")
    strict = run("evaluate", *options.split(), "--strict")
    assert (strict.code, strict.err) == (2 if warning else 0, warning and f"streameval: {warning}\n")


def test_each_file_of_a_pattern_is_read_once_and_a_list_of_paths_with_one_twice_is_warned_of(tmp_path: Path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("x.csv", "b/y.csv"):
        (tmp_path / "a" / name).write_text("t,p\na,a\n")
    columns = {"actual": "t", "predicted": "p"}
    assert se.evaluate_table(f"{tmp_path}/a/**", **columns).examples == 2
    with pytest.warns(se.DataWarning, match=r"x\.csv' is read 2 times"):
        assert se.evaluate_table([tmp_path / "a", tmp_path / "a" / "x.csv"], **columns).examples == 3


@pytest.mark.parametrize("cells", ["a|b,a", '"rock, roll",pop', "ac/dc,ac/dc", "7,7", "1|3,3"])
def test_rows_without_a_mistake_bring_no_warning(run, cells: str):
    Path("cells.csv").write_text("y,p\n" + f"{cells}\nx,x\nq,z\n" * 3000)
    ran = run("evaluate", "cells.csv", "-a", "y", "-p", "p", "--strict")
    assert (ran.code, ran.err) == (0, "")


def test_rows_of_booleans_in_quotes_are_warned_of_and_those_without_quotes_are_not(run):
    Path("r.jsonl").write_text('{"y": ["True", "False"], "p": ["False", "False"]}\n' * 30)
    ran = run("evaluate", "r.jsonl", "-a", "y", "-p", "p")
    assert "for indicators write true and false without quotes, for labels --rows labels\n" in ran.err
    assert run("evaluate", "r.jsonl", "-a", "y", "-p", "p", "--rows", "labels").err == ""
    Path("r.jsonl").write_text('{"y": [true, false], "p": [false, false]}\n' * 30)
    assert run("evaluate", "r.jsonl", "-a", "y", "-p", "p").err == ""


def test_rows_of_class_numbers_are_warned_of_in_every_format(run):
    Path("r.jsonl").write_text('{"y": [3, 1, 3], "p": [3, 1]}\n' * 30)
    pq.write_table(pa.table({"y": [[3, 1, 3]] * 30, "p": [[3, 1]] * 30}), "r.parquet")
    for name in ("r.jsonl", "r.parquet"):
        ran = run("evaluate", name, "-a", "y", "-p", "p")
        assert ran.err.endswith("for each column; write labels such as '0=3', for labels --rows labels\n")


@pytest.mark.parametrize("sep", [";", ", ", " & ", " - ", " "])
def test_with_the_advised_separator_cells_are_split_into_their_labels(run, sep: str):
    cells = [f"a{sep}b", f"b{sep}c", f"a{sep}c"]
    Path("r.csv").write_text("y,p\n" + "".join(f'"{cell}","{cell}"\n' for cell in cells))
    columns = ["evaluate", "r.csv", "-a", "y", "-p", "p"]
    advised = re.findall("--sep '(.*?)'", run(*columns).err)
    ran = run(*columns, "-f", "json", "--sep", advised[0])
    assert [row["label"] for row in json.loads(ran.out)["labels"]] == ["a", "b", "c"]


def test_results_contain_every_warning_once_and_as_it_was_printed(run):
    Path("r.csv").write_text("id,by,y,p\n1,u,a;b,a\n2,v,b;c,b\n3,v,a;c,c\n")
    Path("t.csv").write_text("id,y\n1,a;b\n2,b;c\n3,a;c\n4,b\n")
    for kinds, *words in (
        (["--sep", "is read 2 times"], "r.csv", "r.csv", "--by", "by"),
        (["--sep", "truths without a row"], "r.csv", "--truth", "t.csv", "--join", "id"),
        (["both name 'y'", "--sep"], "r.csv"),
    ):
        predicted = "p" if words[1:] else "y"
        ran = run("evaluate", words[0], "-a", "y", "-p", predicted, "-f", "json", *words[1:])
        printed = [line.removeprefix("warning: ") for line in ran.err.splitlines()]
        assert json.loads(ran.out)["warnings"] == printed, words
        assert all(any(kind in text for text in printed) for kind in kinds), ran.err
        assert len(printed) == len({*printed})
    assert json.loads(run("evaluate", "r.csv", "-a", "y", "-p", "p", "-f", "json", "--sep", ";").out)["warnings"] == []


def test_reports_contain_warnings():
    ev = se.Evaluator(["f1_micro"])
    assert "warnings" not in ev.to_dict()
    ev.update_many([{"Cat"}] * 30, [{"cat"}] * 30)
    with pytest.warns(se.DataWarning):
        assert ev.report().endswith(f"\n\nwarning: {ev.warnings[0]}")
    (text,) = ev.to_dict()["warnings"]
    assert text.replace("y_true", "the true labels").replace("y_pred", "the predictions") == TEXT
    assert '<section id="warnings"' in ev.to_html()


def test_a_window_does_not_repeat_a_warning_of_the_same_rows(run, tmp_path):
    rows = [{"t": [True, False, False], "p": [True, True, False]}] * 150 + [{"t": [True, False], "p": [False, True]}]
    Path("n.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = run("evaluate", "n.jsonl", "-a", "t", "-p", "p", "--window", "100", "--skip-bad")
    assert (ran.code, ran.err.count("warning:")) == (0, 1)


def test_the_command_explains_how_rows_were_read(run, rows: str):
    Path("r.csv").write_text("t,p\na|b,b\n,a\n")
    ran = run("evaluate", "r.csv", "-a", "t", "-p", "p", "--explain", "-f", "json", "--report", "r.html")
    assert ran.err.splitlines()[1:] == ["  a, b", "  no labels", ran.err.splitlines()[3], "  b", "  a"]
    assert [line.split(":")[0] for line in ran.err.splitlines()[::3]] == ["actual 't'", "predicted 'p'"]
    assert all(line.endswith(" 2 labels in the first rows") for line in ran.err.splitlines()[::3])
    assert json.loads(ran.out)["input"]["y_true"]["examples"] == [{"labels": ["a", "b"]}, {"labels": []}]
    assert "How the first examples were read" in Path("r.html").read_text()
    Path("truth.csv").write_text("p,t\nb,a|b\na,\n")
    joined = run("evaluate", "r.csv", "-a", "t", "-p", "p", "--truth", "truth.csv", "--join", "p", "--explain")
    assert joined.err.startswith("actual 't' of the truths: ")


def test_warnings_name_options_of_the_command(run, tmp_path):
    Path("l.csv").write_text("label,y,p\n" + "a,0,1\nb,1,1\n" * 20)
    ran = run("evaluate", "l.csv", "-a", "y", "-p", "p")
    assert ran.err.startswith("warning: every list in --actual and --predicted has one member, and all are 0 or 1; ")
    ways = "--rows indicator, for labels --rows labels, for a row for each label --example and --label"
    assert ran.err.endswith(f"for indicators give {ways}\n")
    Path("s.csv").write_text("y,s\n" + "0,0.25\n1,.75\n" * 10)
    ran = run("evaluate", "s.csv", "-a", "y", "-p", "s")
    assert ran.err.endswith("'.75', are decimals; for scores give --scores, not --predicted, and --threshold 0.5\n")
