"""Every error of a user is one line with its place, exit code 2, and nothing is saved."""

from __future__ import annotations

import gzip
import json
import os
from contextlib import suppress
from itertools import chain, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval as se
from tests.support.forms import FORMS

OK = b'{"a":["x"],"p":["x"]}\n'
COLUMNS = "-a", "a", "-p", "p"


def refused(ran, *message: str) -> None:
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("streameval: ")
    for part in message:
        assert part in ran.err


@pytest.mark.parametrize(("name", "data", "message"), [
    ("t.jsonl", OK + b'{"a":["x"],"p":["x"', "t.jsonl:2:20: not JSON"),
    ("t.jsonl", OK + b'{"a":["x"],"p":["x"]} {"a":[],"p":[]}\n', "t.jsonl:2:23: not JSON"),
    ("t.jsonl", OK + b'{"a":["\xff"],"p":["x"]}\n', "t.jsonl:2:8: the byte ff is not UTF-8"),
    ("t.jsonl", OK + b'{"a":["\\ud800"],"p":["x"]}\n', "t.jsonl:2:"),
    ("t.jsonl", OK + b'{"a":["x"],"P":["x"]}\n', "t.jsonl:2: there is no column 'p' (--predicted)"),
    ("t.jsonl", OK + b'{"a":"x","p":["x"]}\n', "t.jsonl:2: column 'a' is the string 'x'; split strings with --sep ','"),
    ("t.jsonl", OK + b'{"a":null,"p":["x"]}\n', "t.jsonl:2: column 'a' is null; give [] if there is no label, "),
    ("t.jsonl", OK + b'{"a":[1.5],"p":["x"]}\n', "t.jsonl:2: column 'a'"),
    ("t.jsonl", OK + b'{"a":["x"],"p":[{"label":"x","score":0.9}]}\n', "{'label': 'x', 'score': 0.9} is a label with "
     "its score; for scores give --scores, not --predicted, and --threshold 0.5\n"),
    ("t.jsonl", OK + b"[1]\n", "t.jsonl:2: a row is an object"),
    ("t.jsonl", b"null\n", "t.jsonl:1: a row is an object"),
    ("t.jsonl", OK + b"null\n" * 2, "t.jsonl:2: a row is an object"),
    ("t.json", b'[{"a":["x"],\n"p":["x"]},\n\n7]\n', "t.json:4: a row is an object"),
    ("t.json", b'[{"a":["x"],\n"p":["x"]},\n{"a" 7}]\n', "t.json:3:6: not JSON: Expecting ':'"),
    ("t.json", b'[{"a":["x"],"p":["x"]},\n{"a":["x"],"a":[]}]\n', "t.json:2: the key 'a' occurs twice"),
    ("t.json", b'[{"a":["x"],"p":["x"]},\n', "t.json:1: this array has no end"),
    ("t.json", b'[{"a":["x"],"p":["x"]}]\n{}', "t.json:1: this array has no end, or something follows it"),
    ("t.jsonl", OK + b'{"a":["x"],"p":["x"],"a":["y"]}\n', "t.jsonl:2: the key 'a' occurs twice"),
    ("t.jsonl", OK + b'{"a":["x"],"p":{"x":1,"y":0,"x":0}}\n', "t.jsonl:2: the key 'x' occurs twice"),
    ("t.jsonl", OK + b'{"a":["x"],"p":["x"],"\\u0061":["y"]}\n', "t.jsonl:2: the key 'a' occurs twice"),
    ("t.jsonl", OK + b'{"a":[18446744073709551616],"p":[7]}\n', "t.jsonl:2: the integer 18446744073709551616 needs"),
    ("t.jsonl", OK + b'{"a":[-9223372036854775809],"p":[7]}\n', "t.jsonl:2: the integer -9223372036854775809 needs"),
    ("t.jsonl", b'{"a":NaN,"p":["x"]}\n', "NaN is not valid JSON; write null where a truth is unknown, leave"),
    ("t.json", b'{"a":{"0":["x"]},"p":{"0":["x"]}}', "t.json holds columns, as DataFrame.to_json() writes them"),
    ("t.json", b'{"a":{"0":["x"]},"p":{"0":["x"]},"region":{"0":null}}', "write rows, with orient='records'"),
    ("t.json", b'{"a":{"7":null,"9":["x"]},"p":{"7":["x"],"9":["x"]}}', "write rows, with orient='records'"),
    ("t.json", b'{"columns":["a"],"index":[0],"data":[["x"]]}', "orient='records'"),
    ("t.jsonl", b'{"a":["x"],"p":{"x":-Infinity}}\n', "-Infinity is not valid JSON; write null"),
    ("t.json", b'[{"a":["\xff"],"p":["x"]}]', "t.json: the byte ff is not UTF-8; convert the file"),
    ("t.json", b'[{"a":NaN,"p":["x"]}]', "t.json:1: NaN is not valid JSON; write null"),
    ("t.jsonl", b"", "t.jsonl is empty; --allow-empty accepts files without rows"),
    ("t.csv", b"a,p\n", "no rows were read: t.csv has none; --allow-empty accepts that"),
    ("t.csv", b"a,p\nx,y\nx,y,z\n", "t.csv:3: 3 cells where the header has 2"),
    ("t.csv", "a,p\né,é\nx,y,z\n".encode(), "t.csv:3: 3 cells where the header has 2"),
    ("t.csv", b"a,p\nx,y\nx\n", "t.csv:3: 1 cell where the header has 2"),
    ("t.csv", b"a,p\n\"x\ny\",y\nx,\xff\n", "t.csv:4: cell 2 is not UTF-8"),
    ("t.csv", b'a,p\nx,"y\n', "t.csv:2: not CSV"),
    ("t.jsonl", b'a,p\nx,y\n', "t.jsonl:1:1: not JSON: unexpected character...; if this is CSV"),
    ("t.json", b'"a","p"\n"x","y"\n', "t.json:1:4: not JSON: unexpected content...; if this is CSV"),
    ("t.csv", b'{"a","p"}\nx,y\n', "t.csv:1:5: not JSON"), ("t.csv.gz", b'{"a","p"}\nx,y\n', "t.csv.gz:1:5: not JSON"),
    ("t.csv", b"a,q\nx,y\n", "t.csv:1: there is no column 'p' (--predicted)"),
    ("t.csv", b"A,p\nx,y\n", "t.csv:1: there is no column 'a' (--actual); did you mean 'A'? The"),
    ("t.csv", b"a,p,p\nx,y,z\n", "t.csv:1: 2 columns are named 'p'"),
    ("t.csv", b"a;p\nx;y\nx\n", "t.csv:3: 1 cell where the header has 2"),
    ("t.gz", b"\x1f\x8b\x08", "t.gz cannot be read"),
    ("t.gz", gzip.compress(b"PAR1", mtime=0), "t.gz is Parquet or Arrow, but only JSON Lines, CSV and TSV can be read"),
    ("t.csv", b'a,p\n"{""x"": 1e400}",x\n', "t.csv:2: no float64 is as large as the number 1e400; scale it first"),
    ("t.csv", b'a,p\n"[""x"", null]",x\n', "t.csv:2: column 'a': a label must be a string or an integer, not null"),
    ("t.csv", b"a,p\nx\0,y\n", "t.csv is binary, and neither Parquet nor Arrow; save the table as CSV or Parquet\n"),
    ("t.csv", b"\x28\xb5\x2f\xfd", "t.csv is compressed by zstd; give zstdcat t.csv |"),
    ("t.csv", b"\xff\xfea\x00", "t.csv is UTF-16"), ("t.csv", "a,p".encode("utf-32"), "t.csv is UTF-32; save it as"),
    ("t.parquet", b"", "t.parquet is empty; --allow-empty accepts files without rows"),
    ("t.xlsx", b"PK\x03\x04", "t.xlsx is an Excel file or an archive; save the table as CSV"),
    ("t.npy", b"\x93NUMPY", "t.npy is an array of numpy"),
    ("t.pkl", b"\x80\x05x", "t.pkl is a pickle; save the table as CSV or Parquet"),
    ("t.state", se.Evaluator().to_bytes(), "t.state is a saved state; read it with streameval.load"),
    ("t.parquet", b"PAR1 and no more", "t.parquet cannot be read: Parquet magic bytes not found in footer; it may be"),
])  # fmt: skip
def test_malformed_files_are_refused_with_their_place(run, tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    parts = message.split("...")  # the words at "..." differ between versions of orjson
    ran = run("evaluate", name, *COLUMNS, "--save", "state", "--report", "r.html")
    refused(ran, *parts)
    assert "rename" not in ran.err or ".csv" not in name
    if name in ("t.npy", "t.pkl", "t.xlsx"):  # refused also where no columns are named
        refused(run("evaluate", name), message)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("args", "message"), [
    (["t.jsnl", *COLUMNS], "there is no file 't.jsnl'; did you mean 't.jsonl'?"),
    (["x.jsonl", *COLUMNS], "there is no file 'x.jsonl'\n"),
    (["T.jsonl", *COLUMNS], "there is no file 'T.jsonl'; did you mean 't.jsonl'?"),
    (["empty", *COLUMNS], "the folder 'empty' holds no files"),
    (["", *COLUMNS], "a path is the empty string; name a file, a folder or a pattern\n"),
    (["no*.jsonl", *COLUMNS], "no file matches 'no*.jsonl'"),
    (["https://e.org/t.jsonl", *COLUMNS], "'https://e.org/t.jsonl' is a URL; download it, or pipe it to "),
    (["-", "-", *COLUMNS], "give - once"),
    (["t.jsonl"], "give --actual COLUMN and --predicted COLUMN or --scores COLUMN; columns in t.jsonl: a, p"),
    (["t.jsonl", "-p", "p"], "give --actual COLUMN; columns in t.jsonl: a, p"),
    (["y.csv"], "give --predicted COLUMN or --scores COLUMN; columns in y.csv: y_true, y_pred\n"),
    (["y.csv", "-a", "y"], "give --predicted COLUMN or --scores COLUMN; columns in y.csv: y_true, y_pred\n"),
    (["sub/photos.json", *COLUMNS], "there is no file 'sub/photos.json'; did you mean 'sub/photos.jsonl'?"),
    (["wide.csv", "-a", "y", "-p", "p"], "there is no column 'y' (--actual); did you mean 'y_*'? The columns are "),
    (["semi.csv", "-a", "y"], "; columns in semi.csv: id, y_true, p\n"),
    (["semi.csv", "-a", "y", "-p", "p"], "semi.csv:1: there is no column 'y' (--actual); the columns are ['id', 'y_t"),
    (["latin.csv", "-a", "y", "-p", "p"], "latin.csv:1: the byte f6 is not UTF-8; convert the file\n"),
    (["nan.jsonl", "-p", "p"], "nan.jsonl:1:6: NaN is not valid JSON; write null where a truth is unknown"),
    (["blank.jsonl"], "give --actual COLUMN and --predicted COLUMN or --scores COLUMN\n"),
    (["absent"], "there is no file 'absent'\n"),
    (["-", "-a", "a"], "give --predicted COLUMN or --scores COLUMN; columns in -: a, p"),
    (["t.jsonl", "-a", "b", "-p", "p"], "there is no column 'b' (--actual); the columns are ['a', 'p']; "
     "--truth and --join read it from another file\n"),
    (["t.jsonl", "-a", "a,p", "-p", "p"], "there is no column 'a,p' (--actual); repeat --actual for each column"),
    (["t.jsonl", "--true", "a"], "there is no option --true; did you mean '--actual'?"),
    (["t.jsonl", "--fail-under", "f1"], "there is no option --fail-under; did you mean '--fail-if'?"),
    (["t.jsonl", "--hlep"], "there is no option --hlep; did you mean '--help'?"),
    (["t.jsonl", "--predcted", "a"], "there is no option --predcted; did you mean '--predicted'?"),
    (["t.jsonl", "--zzz", "a"], "there is no option --zzz; see streameval evaluate --help\n"),
    ([], "FILE... is missing; see streameval evaluate --help"),
    (["t.jsonl", *COLUMNS, "-m", "f1_micr"], "did you mean 'f1_micro' or 'f1_macro'?"),
    (["t.jsonl", *COLUMNS, "-m", "roc_auc"], "--scores"),
    (["t.jsonl", *COLUMNS, "-m", "f1_micro", "--beta", "2"], "--beta 2 applies to none of these metrics; name"),
    (["t.jsonl", *COLUMNS, "-m", "fbeta_micro(beta=3),f1_micro", "--beta", "2"], "fbeta_micro(beta=3) has its own"),
    (["t.jsonl", *COLUMNS, "--threshold", "0.5"], "--scores"),
    (["t.jsonl", "-a", "a", "-s", "p", "-t", "much"], "--threshold must be a number"),
    (["t.jsonl", *COLUMNS, "--zero-division", "x"], "--zero-division must be a number"),
    (["t.jsonl", *COLUMNS, "--zero-division", "7"], "--zero-division must be 0, 1 or nan, not 7.0"),
    (["t.jsonl", "-a", "a", "-s", "p", "-m", "f1"], "f1_macro requires binary predictions; give --threshold 0.5"),
    (["t.jsonl", *COLUMNS, "--window", "0"], "--window must be at least 1"),
    (["t.jsonl", *COLUMNS, "--window", "x"], "--window must be an integer"),
    (["t.jsonl", *COLUMNS, "--digits", "99"], " at most 17\n"),
    (["t.jsonl", *COLUMNS, "-m", "zzzz"], "there is no metric 'zzzz'; 'streameval metrics' lists all"),
    (["t.jsonl", *COLUMNS, "--truth", "t.jsonl", "--join", "a", "--example", "a", "--label", "p"], "leave --example"),
    (["t.jsonl", *COLUMNS, "--format", "xml"], "--format must be one of 'table', 'json'"),
    (["t.jsonl", *COLUMNS, "--max-bad", "1x"], "--max-bad must be a number of rows or per cent, such as 10 or 1%"),
    (["t.jsonl", *COLUMNS, "--sep", ""], "--sep must be a string of at least one character"),
    (["t.jsonl", *COLUMNS, "--by", "a,a"], "--by names a column twice: a, a"),
    (["t.jsonl", *COLUMNS, "-p", "p"], "--predicted names a column twice: p, p"),
    (["t.jsonl", *COLUMNS, "--save", "no/state"], "there is no folder no"),
    (["t.jsonl", *COLUMNS, "--report", "."], ". is a folder"),
    (["t.jsonl", *COLUMNS, "--save", "pipe"], "pipe is not a regular file"),
    (["t.jsonl", *COLUMNS, "--colour"], "--colour"),
    (["t.jsonl", *COLUMNS, "--top"], "streameval: --top requires a value\n"),
    (["t.jsonl", *COLUMNS, "--quiet=1"], "streameval: --quiet takes no value\n"),
    (["t.jsonl", *COLUMNS, "-m", "f1_micro", "f1_macro"], "no file 'f1_macro'; an option takes one value: "),
    (["t.jsonl", "-a", "a", "cat", "-p", "p"], "no file 'cat'; an option takes one value: repeat it for more"),
])  # fmt: skip
def test_invalid_options_are_refused_before_anything_is_saved(run, tmp_path, args, message):
    (tmp_path / "t.jsonl").write_bytes(OK)
    (tmp_path / "y.csv").write_text("y_true,y_pred\na,a\n")
    (tmp_path / "semi.csv").write_text("id;y_true;p\n1;a;a\n")
    (tmp_path / "wide.csv").write_text("y_a,y_b,p\n1,0,a\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "photos.jsonl").touch()
    (tmp_path / "latin.csv").write_bytes(b"y_true,gr\xf6\na,a\n")
    (tmp_path / "nan.jsonl").write_text('{"y":NaN}\n')
    (tmp_path / "blank.jsonl").write_text("\n\n")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    refused(run("evaluate", *args, stdin=OK), message)


@pytest.mark.parametrize(("line", "message"), [
    ("show single -m f1", "single holds a single metric, f1_macro; leave --metrics out"),
    ("compare one two", "these states were saved with different metrics; name some with --metrics"),
    ("thresholds t.jsonl -a a -s s --beta 0", "--beta must be above 0 and finite, not 0"),
    ("thresholds t.jsonl -a a -s s --beta inf", "--beta must be above 0 and finite, not inf"),
    ("thresholds one two", "give one saved state, or files of rows with --actual and --scores"),
    ("thresholds t.jsonl -a a -s s --save best.csv", "--save best.csv must end in .json, so that --threshold reads it"),
    ("thresholds t.jsonl -a a -s s --save best", "--save best must end in .json, so that --threshold reads it"),
    ("evaluate t.jsonl -a a -s s --beta 2", "--beta requires binary predictions; give --threshold 0.5 too"),
    ("evaluate t.jsonl -a a -s s -t no.json", "streameval: --threshold: there is no file 'no.json'"),
    ("evaluate t.jsonl -a a -s s -t t.jsonl", "--threshold must be a number, or a .json file of label: number, not"),
    ("evaluate t.jsonl -a a -s s -t twice.json", "--threshold twice.json: a label has two thresholds"),
    ("evaluate t.jsonl -a a -s s -t keys.json", "--threshold keys.json: a label has two thresholds"),
    ("evaluate 3.jsonl -a a -s s -t 3.json", "label 3; the file has that of the string '3'; write integers as in f"),
    ("evaluate t.jsonl -a a -s s -t list.json", "--threshold list.json: it must hold one object label: number, or wh"),
    (
        "evaluate t.jsonl -a a -s s --labels a,b",
        """streameval: --labels a,b may be one label or several; write '["a,b"]' or '["a", "b"]'\n""",
    ),
    ("evaluate t.jsonl -a a -s s --labels [1,", "--labels [1,: Expecting value: line 1 column 4 (char 3); give a lab"),
    ("evaluate t.jsonl -q -a a -s s --labels [[1]]", "streameval: --labels: a label must be a string or an integer"),
    ("evaluate t.jsonl -a a -s s -o r.json -f csv", "--output r.json is json, but --format is csv; leave one of the"),
    ("evaluate t.jsonl -a a -s s -o r.html", "must end in .json, .csv, .md or .txt; for a page give --report FILE"),
    ("evaluate t.jsonl -a a -s s -o r.xyz", "--output r.xyz must end in .json, .csv, .md or .txt"),
    ("evaluate t.jsonl list.json -q -a a -s s --truth t.jsonl --join a", "--example and --truth are for one FILE"),
    ("watch t.jsonl", "give --actual COLUMN and --predicted COLUMN or --scores COLUMN; columns in t.jsonl: a, s"),
    ("watch t.jsonl -a a -s s --save t.jsonl", "--save t.jsonl is a file that is read; name another"),
    ("watch t.jsonl -a a -s s -t list.json --save list.json", "--save list.json is a file that is read; name anoth"),
    ("watch t.jsonl -a a -s s --every x", "--every must be a time such as 10s, 5m or 1h, not 'x'"),
    ("watch t.jsonl -a a -s s --every 0", "--every must be a time such as 10s, 5m or 1h, not '0'"),
    ("watch t.jsonl list.json -a a -s s", " (list.json); see streameval watch --help\n"),
])  # fmt: skip
def test_invalid_command_lines_are_refused_before_anything_is_counted(run, tmp_path, line, message):
    (tmp_path / "t.jsonl").write_text('{"a": ["x"], "s": {"x": 0.5}}\n')
    (tmp_path / "list.json").write_text("[1]")
    label = {"label": "x", "threshold": 0.5}
    (tmp_path / "3.jsonl").write_text('{"a": [3], "s": [[3, 0.5]]}\n')
    (tmp_path / "3.json").write_text('{"3": 0.5}')
    (tmp_path / "keys.json").write_text('{"cat": 0.5, "cat": 0.9}')
    (tmp_path / "twice.json").write_text(json.dumps({"thresholds": [label, label]}))
    for name, state in (("single", se.F1()), ("one", se.Evaluator(["f1"])), ("two", se.Evaluator(["hamming_loss"]))):
        state.save(name)
    refused(run(*line.split()), message)


def test_an_empty_stream_is_refused(run):
    refused(run("evaluate", "-", *COLUMNS, stdin=b""), "standard input is empty")
    refused(run("evaluate", "-", *COLUMNS, stdin=b"BZh"), "by bzip2; give bzcat | streameval evaluate - ...")


def test_a_row_of_a_table_is_named_by_its_number(run, tmp_path):
    rows = {"a": [["x"]] * 3, "p": [["x"]] * 3, "w": [1.0, 2.0, -1.0]}
    pq.write_table(pa.table(rows), tmp_path / "t.parquet")
    refused(run("evaluate", "t.parquet", *COLUMNS, "--weight", "w"), "t.parquet: row 3: column 'w'")
    ran = run("evaluate", "t.parquet", *COLUMNS, "--weight", "w", "--max-bad", "1", "--save", "state")
    assert (ran.code, se.load("state").examples) == (0, 2)


def test_columns_are_checked_where_there_are_no_rows(run, tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64()), "p": pa.array([], pa.string())}), tmp_path / "t.parquet")
    refused(run("evaluate", "t.parquet", *COLUMNS), "t.parquet: column 'a' holds 64-bit integers, not lists of labels")


def test_files_that_are_no_states_or_do_not_match_are_refused(run, tmp_path):
    (tmp_path / "text").write_text("no state", encoding="utf-8")
    se.Evaluator(threshold=0.5).save("half")
    se.Evaluator().save("plain")
    se.F1().save("single")
    (tmp_path / "empty").touch()
    for name in ("text", "empty"):
        refused(run("show", name), f"{name} is not a saved state\n")
    refused(
        run("thresholds", "text"), "text is not a saved state", "for rows name their columns with --actual and --scores"
    )
    refused(run("show", "absent"), "there is no file 'absent'")
    refused(run("show", "."), "is a folder")
    os.mkfifo(tmp_path / "pipe")
    refused(run("show", "pipe"), "this is not a regular file; write its bytes to a file, and name that\n")
    se.Sliced(se.Evaluator(), by="x").save("sliced")
    refused(
        run("merge", "plain", "half", "--save", "out"), "half: cannot merge", "; evaluate both with the same options"
    )
    refused(run("merge", "plain", "single"), "single is of the class F1, plain without slices")
    refused(run("merge", "sliced", "plain"), "plain is without slices, sliced with slices; evaluate both with")
    (tmp_path / "link").symlink_to("plain")
    for again in ("plain", tmp_path / "plain", "link"):
        ran = run("merge", "single", "plain", again, "--save", "out")
        refused(ran, f"{again} is named twice{'' if again == 'plain' else ', as plain'}; name each state once")
    refused(run("merge", "plain", "plain", "--save", "plain"), "plain is named twice")
    refused(run("compare", "plain", "text"), "text is not a saved state")
    se.Trace(se.F1()).save("held")
    ran = run("show", "held")
    refused(ran, "held holds a Trace; write its page with streameval.load('held').save_html('page.html')\n")
    assert hasattr(se.Trace, "save_html")
    se.Ledger().save("ledger")
    refused(run("show", "ledger"), "ledger cannot be read: the ledger is empty and does not know what to count")
    ledger = se.Ledger(se.Evaluator(label_limit=1))
    for label in "ab":
        one = se.Evaluator()
        one.update({label}, {label})
        ledger.put(label, 1, one)
    ledger.save("limited")
    for command in ("show", "thresholds"):
        refused(run(command, "limited"), "limited cannot be read: label 'b' is one too many: label_limit is 1")
    lacking = "scores, which the state does not hold; save one with --scores and --metrics"
    refused(run("show", "plain", "-m", "roc_auc"), f": roc_auc_macro requires {lacking} roc_auc_macro\n")
    scored = se.Evaluator(["ndcg(k=2)"])
    scored.update({"a"}, {"a": 0.5})
    scored.save("scored")
    for first, second in (("scored", "plain"), ("plain", "scored")):
        ran = run("compare", first, second, "-m", "ndcg(k=2)")
        refused(ran, f": plain: ndcg(k=2) requires ranked {lacking} ndcg(k=2)\n")
        checked = run("compare", first, second, "--fail-if", "change(ndcg(k=2)) < 0")
        refused(checked, f"plain: ndcg(k=2) requires ranked {lacking}")
    counted = se.Evaluator()
    counted.update({"a"}, {"a"})
    counted.save("counted")
    for command in (("show", "counted", "-t", "0.5"), ("thresholds", "plain")):
        refused(run(*command), f"threshold requires {lacking} roc_auc_macro\n")
    scored = se.Evaluator(["roc_auc_macro"])
    scored.update({"a"}, {"a": 0.5})
    scored.save("scored")
    binary = "f1_micro requires binary predictions, but predictions are scores; evaluate, or show the state, with --thr"
    refused(run("show", "scored", "-m", "f1_micro"), binary)
    refused(run("compare", "scored", "scored", "-m", "f1_micro"), binary)
    needed = "this metric requires the predictions of each example; run evaluate with --threshold 0.5"
    refused(run("show", "scored", "-t", "0.5", "-m", "subset_accuracy"), needed)
    refused(run("metrics", "nothing", "like", "this"), "no metric mentions")
    refused(run("evaluat"), "there is no command 'evaluat'; did you mean 'evaluate'?")
    refused(run("metrics", "f1_micr"), "did you mean 'f1_micro'")
    (tmp_path / "t.jsonl").write_bytes(OK)
    refused(run("thresholds", "t.jsonl", "-a", "a"), "give --scores COLUMN; columns in t.jsonl: a, p")
    refused(run("thresholds", "t.jsonl", *COLUMNS), "give --scores COLUMN; columns in t.jsonl: a, p")
    assert not (tmp_path / "out").exists()


def test_reasons_of_skipped_rows_name_options_of_the_command(run):
    ran = run("evaluate", "-", *COLUMNS, "--max-bad", "1", stdin=OK + b'{"a":null,"p":["x"]}\n')
    assert (ran.code, ran.err.endswith("drop the row, or give --null empty\n")) == (0, True), ran.err


def test_scores_without_a_threshold_say_that_decisions_are_left_out(run):
    row, columns = b'{"a":["x"],"p":{"x":0.5,"y":0.1}}\n', ("-a", "a", "-s", "p")
    for options, line in (((), "no --threshold: metrics of binary predictions are left out\n"), (("-t", ".5"), ""),
                          (("-m", "ndcg"), ""), (("-q",), "")):  # fmt: skip
        ran = run("evaluate", "-", *columns, *options, stdin=row)
        assert (ran.code, ran.err) == (0, line)


def test_columns_may_be_named_with_y_true_and_y_pred(run):
    ran = run("evaluate", "-", "--y-true", "a", "--y-pred=p", stdin=OK)
    assert (ran.code, ran.out) == (0, run("evaluate", "-", *COLUMNS, stdin=OK).out)
    assert "--y-true" not in run("evaluate", "--help").out


@pytest.mark.parametrize(("row", "options", "message"), [
    ({"y": {"a": -1}, "p": ["a"]}, "", "where -1 is false write 0 and 1, where -1 is masked write null"),
    ({"y": 3.5, "p": ["a"]}, "", "for a column for each label give 'true_*', for a row for each --example and --label"),
    ({"y": ["a"], "s": {"a": None}}, "-s s", "'s' is null for label 'a'; give a number, or leave the label out"),
    ({"sep=": ["a"], "p": ["a"]}, "", "there is no column 'y' (--actual); the columns are ['sep=', 'p']"),
    ({"y": {"in y_true,  unknown=": 3}, "p": ["a"]}, "", "column 'y' is 3 for label 'in y_true,  unknown='; truth"),
    ({"y": {"a": -100}, "p": ["a"]}, "", "where -100 is masked write null"),
    ({"y": {"a": 7}, "p": ["a"]}, "", "where integers are counts write 0 and 1; leave out columns that"),
    ({"y": {"a": "1"}, "p": ["a"]}, "", "truth is 0 or 1, or null where masked: write it without quotes"),
    ({"y": ["a"], "s": {"label": "a", "score": 1}}, "-s s -t .5", "'a' for label 'label'; for scores write an object"),
    ({"y": ["a"], "s": {"a": "0.9"}}, "-s s", "scores are numbers: write it without quotes"),
    ({"y": ["a", None], "p": ["a"]}, "", "column 'y': a label must be a string or an integer, not null; leave it out"),
    ({"y": ["a", ["b"]], "p": ["a"]}, "", "a string or an integer, not list (['b']); give one list of labels\n"),
    ({"y": ["a"], "s": [[0.5, 0.1], [0.3, 0.2]]}, "-s s", "or integers, or scores by position as one list a row"),
    ({"y": [True], "p": [True]}, "", "became a bool; write labels as strings or integers, or declare the one"),
    ({"y": [True, False], "p": [True, False, True]}, "", "'y' has 2 columns, but there are 3 in the predictions; give"),
    ({"y": ["a"], "p": ["a"], "w": 1.5}, "--by w", "by strings, integers, booleans and null: write it as a string"),
    ({"y": "a", "s": "0.5"}, "-s s --sep ,", "not '0.5'; if each row is of one label, give --example and --label\n"),
    ({"y": ["a"], "s": '{"a": 0.5}'}, "-s s", "the string '{\"a\": 0.5}'; split strings with --sep ',' or another"),
    ({"y": ["a"], "s": ["a"]}, "-s s", "column 's' must hold an object label: number, or a list of (label, number)"),
    ({"y": ["a"], "p": ["a"]}, "--labels a --labels a", "streameval: --labels holds 'a' twice; name each label once"),
    ({"y": ["a"], "s": {"a": 1}}, "-s s -t t.json", "streameval: --threshold must be a number or one number per label"),
    ({"y": ["a"], "p": ["a"]}, "-m multilabel_confusion_matrix", "results have the counts of each label"),
    ({"y_a": 1, "y_b": 1, "p_a": 1}, "-a y_* -p p_*", "there is no --predicted column for ['b']; name the columns"),
    ({"y_a": 1, "p_a": 1}, "-a y_*_* -p p_*", "r.jsonl:1: column 'y_*_*' (--actual) has two stars"),
    ({"x_a": 1, "y_a": 1, "p_a": 1}, "-a x_* -a y_* -p p_*", "r.jsonl:1: two --actual columns are of one label"),
])  # fmt: skip
def test_errors_have_advice_for_the_shell(run, tmp_path, row, options, message):
    (tmp_path / "r.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "t.json").write_text('{"a": "x"}')
    sides = (["-a", "y"] if "-a" not in options else []) + (["-p", "p"] if "p" in row and "-p" not in options else [])
    ran = run("evaluate", "r.jsonl", *sides, *options.split())
    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize("options", ["-p p", "-s p -t .5", "-p p --rows indicator"])
def test_no_form_of_input_has_a_message_in_the_words_of_python(run, tmp_path, options):
    """`run` asserts this for each message; afterwards messages of Python must be in words of Python again."""
    values = [None, True, 1, "x", [0, 1], [1, 1], [True, 0], [True], ["a", None], [["a"]], {"a": None}, {"a": [1]}]
    for form in chain(*FORMS.values()):
        with suppress(TypeError):  # a form that JSON cannot express
            values += json.loads(json.dumps(form.batch(np.eye(4)[:1])))
    messages = set()
    for value, side in product({*map(json.dumps, values)}, "yp"):
        row = {"y": ["a"], "p": {"a": 0.5}} | {side: json.loads(value)}
        (tmp_path / "r.jsonl").write_text(json.dumps(row))
        messages.add(run("evaluate", "r.jsonl", "-a", "y", *options.split()).err)
    assert len(messages) > 10
    with pytest.raises(se.InputError, match=r"is missing \(None\); .* or give null='empty'"):
        se.score([None], [["a"]])


@pytest.mark.parametrize(("rows", "options", "message"), [
    ([{"y": {"a": None}, "p": ["a"]}], "-p p", "is unknown; --mask marks unknown truths: is it inverted?\n"),
    ([{"y": [True, False, False, True], "s": [0, 1, 2, 3]}], "-s s -m ndcg", "as argsort gives; give scores\n"),
    ([{"y": ["A"], "p": ["b"]}], "-p p", "no true label is a predicted one"),
    ([{"y": ["[", "a"], "p": ["[", "b"]}], "-p p", "one character, such as '['; give whole labels\n"),
])  # fmt: skip
def test_warnings_have_advice_for_the_shell(run, tmp_path, rows, options, message):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "r.jsonl").write_text(lines * (300 // len(rows) or 1))
    ran = run("evaluate", "r.jsonl", "-a", "y", *options.split())
    assert ran.code == 0
    assert message in ran.err


def test_a_state_that_lacks_what_a_metric_counts_says_how_to_save_one(run, tmp_path):
    (tmp_path / "r.jsonl").write_text('{"y": ["a"], "p": ["a"]}\n')
    run("evaluate", "r.jsonl", "-a", "y", "-p", "p", "--save", "s.state")
    ran = run("show", "s.state", "-m", "scumble")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("the state holds no scumble; save one with --metrics scumble\n")


def test_long_tables_say_where_a_cell_is(run, tmp_path):
    for name, cells, message in (
        ("y", "1,x,0.5,1", "column 'y' must hold 0 and 1, not 'x'"),
        ("s", "1,1,true,1", "column 's' must hold numbers, not 'true'"),
        ("s", '1,1,"0,5",1', "column 's' must hold numbers with a decimal point, not '0,5'"),
        ("w", "1,1,0.5,2", "column 'w' differs among the rows of an example"),
    ):
        (tmp_path / f"{name}1.csv").write_text("id,l,y,s,w\n1,a,1,0.5,1\n2,a,0,0.5,1\n")
        (tmp_path / f"{name}2.csv").write_text("id,l,y,s,w\n" + cells.replace(",", ",b,", 1) + "\n2,b,1,0.5,1\n")
        ran = run("evaluate", f"{name}?.csv", "-a", "y", "-s", "s", "--weight", "w", "--example", "id", "--label", "l")
        assert ran.code == 2
        assert f"{name}2.csv:2: {message}" in ran.err
