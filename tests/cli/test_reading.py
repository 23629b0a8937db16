"""`streameval evaluate` counts what the library counts, from every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import orjson
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import streameval as se
from streameval.cli.reading import count, deferred_interrupts
from streameval.kernel.types import EITHER
from streameval.tabular import text as reading
from streameval.tabular.evaluate import Counting, count_rows
from streameval.tabular.job import Job
from tests.cli.test_run import refused
from tests.support.effort import cases, crossed

ROWS = [
    {"tags": ["cat", "bird"], "guess": ["cat", "dog"], "region": "eu", "w": 2.0, "unknown": [], "note": 'a "b", c'},
    {"tags": ["dog"], "guess": ["dog"], "region": "us", "w": 1.0, "unknown": ["cat"], "note": "line\nbreak"},
    {"tags": [], "guess": ["bird"], "region": "eu", "w": 0.5, "unknown": [], "note": "ünï"},
]
SCORED = [
    {"tags": ["cat"], "p": {"cat": 0.9, "dog": 0.6}},
    {"tags": ["dog"], "p": {"cat": 0.2, "dog": 0.7}},
    {"tags": ["dog", "cat"], "p": {"cat": 0.3, "dog": 0.4}},
]
COLUMNS = "--actual", "tags", "--predicted", "guess"


def jsonl(rows: list[dict]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def write(folder, rows=ROWS) -> dict[str, str]:
    table = pa.Table.from_pylist(rows)
    (folder / "r.jsonl").write_bytes(jsonl(rows))
    pq.write_table(table, folder / "r.parquet")
    feather.write_feather(table, folder / "r.arrow")
    with (folder / "r.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        for row in rows:
            writer.writerow("|".join(value) if isinstance(value, list) else value for value in row.values())
    return {"r.jsonl": "", "r.parquet": "", "r.arrow": "", "r.csv": ""}


def library(rows=ROWS, **options) -> se.Evaluator:
    ev = se.Evaluator(**options)
    ev.update_many([row["tags"] for row in rows], [row["guess"] for row in rows])
    return ev


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet", "r.arrow", "r.csv"])
def test_every_format_gives_the_bytes_that_the_library_gives(run, tmp_path, name):
    write(tmp_path)
    ran = run("evaluate", name, *COLUMNS, "--save", "state")
    assert (ran.code, ran.err) == (0, "")
    assert se.load("state") == library()


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet", "r.arrow", "r.csv"])
def test_weights_masks_and_slices_come_from_their_columns(run, tmp_path, name):
    write(tmp_path)
    options = "--weight", "w", "--mask", "unknown", "--by", "region"
    assert run("evaluate", name, *COLUMNS, *options, "--save", "state").code == 0
    expected = se.Sliced(se.Evaluator(), by="region")
    expected.update_many(
        [row["tags"] for row in ROWS], [row["guess"] for row in ROWS], weights=[row["w"] for row in ROWS],
        mask=[row["unknown"] for row in ROWS], where={"region": [row["region"] for row in ROWS]},
    )  # fmt: skip
    assert se.load("state") == expected


def test_files_and_patterns_are_counted_together(run, tmp_path):
    write(tmp_path)
    assert run("evaluate", "r.*", "r.csv", *COLUMNS, "--save", "state").code == 0
    assert se.load("state") == library(ROWS * 5)


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv"])
def test_the_format_of_standard_input_is_recognised_by_its_first_bytes(run, tmp_path, name):
    write(tmp_path)
    assert run("evaluate", "-", *COLUMNS, "--save", "state", stdin=(tmp_path / name).read_bytes()).code == 0
    assert se.load("state") == library()


@pytest.mark.parametrize("data", [
    jsonl([{"y_true": row["tags"], "guess": row["guess"], "note": "x" * 200_000} for row in ROWS]),
    gzip.compress(jsonl([{"id": Random(0).randbytes(9000).hex(), "y_true": row["tags"], "guess": []} for row in ROWS])),
    ("guess," + ",".join(map(str, range(9_000))) + ",y_true\n" + f"a|b{',1' * 9_000},a\n" * 3).encode(),
], ids=["JSON Lines", "gzip", "CSV"])  # fmt: skip
def test_the_column_of_true_labels_is_recognised_on_standard_input_however_long_its_rows_are(run, data):
    ran = run("evaluate", "-", "--predicted", "guess", "--save", "state", stdin=data)
    assert (ran.code, ran.err) == (0, "true labels: column 'y_true'\n")
    ran = run("evaluate", "-", "-a", "y_true", "--predicted", "guess", "--save", "named", stdin=data)
    assert (ran.code, se.load("state").examples, se.load("state")) == (0, 3, se.load("named"))


def test_no_row_of_a_pipe_is_lost_to_a_search_for_its_columns(run):
    rows = jsonl([{"y_true": row["tags"], "guess": row["guess"]} for row in ROWS])
    for words in (("-p", "guess"), ("-a", "y_true"), ("-a", "y_true", "-p", "guess", "--save", "state")):
        reading, writing = os.pipe()  # as the shell makes for <(gunzip rows.gz)
        os.write(writing, rows)
        os.close(writing)
        ran = run("evaluate", f"/dev/fd/{reading}", *words)
        os.close(reading)
        if len(words) < 4:
            refused(ran, f"/dev/fd/{reading} is a pipe or a device, and cannot be searched for columns; name the")
    assert (ran.code, se.load("state")) == (0, library())


@pytest.mark.parametrize("form", [
    lambda row: row,
    lambda row: {**row, "p": [list(pair) for pair in row["p"].items()]},
    lambda row: {**row, "labels": list(row["p"]), "p": list(row["p"].values())},
])  # fmt: skip
def test_scores_are_objects_or_pairs_or_numbers_with_labels(run, tmp_path, form):
    rows = [form(row) for row in SCORED]
    (tmp_path / "s.jsonl").write_bytes(jsonl(rows))
    neighbour = ["--predicted", "labels"] if "labels" in rows[0] else []
    options = "--threshold", "0.5", "--metrics", "f1_micro,ranking_loss"
    ran = run("evaluate", "s.jsonl", "-a", "tags", "-s", "p", *neighbour, *options, "--save", "state")
    assert ran.code == 0
    expected = se.Evaluator(["f1_micro", "ranking_loss"], threshold=0.5)
    expected.update_many([row["tags"] for row in SCORED], [row["p"] for row in SCORED])
    assert se.load("state") == expected


def test_scores_in_csv_follow_the_last_colon_after_a_label(run, tmp_path):
    (tmp_path / "s.csv").write_text("tags,p\ncat,cat:0.9;a:b:0.1\n", encoding="utf-8")
    assert run("evaluate", "s.csv", "-a", "tags", "-s", "p", "--sep", ";", "--save", "state").code == 0
    assert se.load("state").labels == ("a:b", "cat")


def test_best_thresholds_are_accepted_by_evaluate(run, tmp_path):
    (tmp_path / "s.jsonl").write_bytes(jsonl(SCORED).replace(b'"tags"', b'"truth"'))
    assert run("thresholds", "s.jsonl", "-s", "p", "--save", "t.json").err.startswith("true labels: column 'truth'\n")
    ran = run("evaluate", "s.jsonl", "-a", "truth", "-s", "p", "-t", "t.json", "-m", "f1_macro", "-f", "json")
    assert json.loads(ran.out)["metrics"]["f1_macro"] == pytest.approx((1.0 + 0.8) / 2)


def test_beta_and_zero_division_apply_to_metrics_that_do_not_name_them(run, tmp_path):
    write(tmp_path)
    names = "fbeta_micro,fbeta_micro(beta=3),precision_per_label"
    ran = run("evaluate", "r.jsonl", *COLUMNS, "-m", names, "--beta", "2", "--zero-division", "1", "-f", "json")
    values = json.loads(ran.out)["metrics"]
    ev = library()
    assert list(values.values())[:2] == [ev.get("fbeta_micro(beta=2)"), ev.get("fbeta_micro(beta=3)")]
    chosen = json.loads(run("evaluate", "r.jsonl", *COLUMNS, "--beta", "2", "-f", "json").out)["metrics"]
    assert chosen["fbeta_macro(beta=2)"] == ev.get("fbeta_macro(beta=2)")
    per_label = {each["label"]: each["value"] for each in list(values.values())[2]}
    assert per_label == ev.get("precision_per_label(zero_division=1)")


def test_a_window_has_the_values_of_the_last_rows_only(run, tmp_path):
    write(tmp_path)
    ran = run("evaluate", "r.jsonl", *COLUMNS, "--window", "2", "-f", "json")
    assert json.loads(ran.out)["windows"][0]["metrics"]["f1_micro"] == library(ROWS[1:]).get("f1_micro")
    assert json.loads(ran.out)["metrics"]["f1_micro"] == library().get("f1_micro")


@pytest.mark.parametrize("block", [1, 7, 60, 2**20])
@pytest.mark.parametrize("name", ["r.jsonl", "r.csv"])
def test_the_state_does_not_depend_on_where_blocks_are_cut(run, tmp_path, monkeypatch, block, name):
    monkeypatch.setattr(reading, "BLOCK", block)
    write(tmp_path)
    text = b"\xef\xbb\xbf" + (tmp_path / name).read_bytes().rstrip(b"\n").replace(b'}\n{"t', b'}\r\n\n{"t')
    (tmp_path / name).write_bytes(text)
    assert run("evaluate", name, *COLUMNS, "--save", "state").code == 0
    assert se.load("state") == library()


LABELS = st.one_of(
    st.text(max_size=3).filter(lambda text: text.isprintable() and text not in EITHER),
    st.integers(-3, 3).filter(lambda number: number not in EITHER),
)


@settings(max_examples=cases(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(LABELS, max_size=3), st.lists(LABELS, max_size=3)), min_size=1), st.booleans())
def test_lines_are_read_as_the_library_reads_their_lists(pairs, escaped):
    rows = [{"tags": true, "guess": guess} for true, guess in pairs]
    text = "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows).encode()
    job = Job.of(actual="tags", predicted="guess")
    assert count_rows(job, io.BufferedReader(io.BytesIO(text))) == library(rows)


def test_table_markdown_csv_and_json_contain_the_same_value(run, tmp_path):
    write(tmp_path)
    options = "evaluate", "r.jsonl", *COLUMNS, "--by", "region", "--window", "2", "-f"
    value = library().get("f1_micro")
    assert f"f1_micro ↑         {value:.4f}" in run(*options, "table").out
    assert re.search(rf"\| all +\| +\| f1_micro +\| +{value:.4f} \|", run(*options, "markdown").out)
    rows = list(csv.DictReader(run(*options, "csv").out.splitlines()))
    assert [row["value"] for row in rows if (row["scope"], row["metric"]) == ("all", "f1_micro")] == [str(value)]
    assert {row["scope"] for row in rows} == {"all", "last 2", "region=eu", "region=us"}
    assert json.loads(run(*options, "json").out)["metrics"]["f1_micro"] == value


def test_the_report_is_written_with_its_slices(run, tmp_path):
    write(tmp_path)
    assert run("evaluate", "r.jsonl", *COLUMNS, "--by", "region", "--report", "r.html").code == 0
    assert "region = eu" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_skipped_rows_are_counted_and_reported(run, tmp_path):
    good = jsonl(ROWS)
    (tmp_path / "r.jsonl").write_bytes(good[:-20] + b"\n{}\n" + good)
    ran = run("evaluate", "r.jsonl", *COLUMNS, "--max-bad", "2", "--save", "state", "-f", "json")
    assert ran.code == 0
    assert ran.err.startswith("skipped 2 of 7 rows\nr.jsonl:3:")
    assert json.loads(ran.out)["input"]["skipped"] == 2
    assert se.load("state") == library([*ROWS[:2], *ROWS])
    assert run("evaluate", "r.jsonl", *COLUMNS, "--max-bad", "2", "--quiet").err == ""


@pytest.mark.parametrize(("rows", "limit", "message"), [
    ("!" * 10 + "." * 990, None, ""),
    ("!" * 11 + "." * 2000, None, "11 of the first 1,000 rows cannot be read, more than --max-bad 1% allows; "),
    ("." * 990 + "!" * 11, None, "more than --max-bad 1% allows; --max-bad 1.1% would pass; first r.jsonl:991:"),
    ("." * 1500 + "!" * 21 + "." * 1500, None, "21 of the first 2,000 rows cannot be read"),
    ("." * 1500 + "!" * 21 + "." * 1500, "1.1%", ""),
    ("!" * 5 + "." * 500, "4", "5 of 505 rows cannot be read, more than --max-bad 4 allows; --max-bad 5 would"),
    ("!" * 5 + "." * 500, "5", ""),
    ("!", "100%", "no rows were read: all 1 were skipped"),
])  # fmt: skip
@pytest.mark.parametrize("block", [977, 2**20])
def test_too_many_bad_rows_end_with_the_limit_that_would_pass(run, tmp_path, monkeypatch, rows, limit, message, block):
    monkeypatch.setattr(reading, "BLOCK", block)
    lines = {".": b'{"truth":["a"],"guess":["a"]}\n', "!": b"{\n"}
    (tmp_path / "r.jsonl").write_bytes(b"".join(lines[row] for row in rows))
    options = ["--skip-bad"] if limit is None else ["--max-bad", limit]
    named = ["-a", "truth"] * (rows == "!")  # otherwise the column is recognised in the first good row
    ran = run("evaluate", "r.jsonl", *named, "-p", "guess", *options, "--save", "state")
    assert (ran.code, message in ran.err) == (2 if message else 0, True)
    assert (tmp_path / "state").exists() == (not message)


@pytest.mark.parametrize("data", [b"", b"tags,guess\n", gzip.compress(b"", mtime=0)])
def test_input_without_rows_gives_an_empty_state_with_allow_empty(run, tmp_path, data):
    (tmp_path / "e.csv").write_bytes(data)
    assert run("evaluate", "e.csv", *COLUMNS, "--save", "state").code == 2
    ran = run("evaluate", "e.csv", *COLUMNS, "--allow-empty", "--save", "state")
    assert (ran.code, ran.out) == (0, "no examples\n")
    assert se.load("state") == library([])
    write(tmp_path)
    assert run("evaluate", "e.csv", "r.csv", *COLUMNS, "--allow-empty", "--save", "state").code == 0
    assert run("evaluate", "[er].csv", *COLUMNS, "--allow-empty", "--save", "both").code == 0
    assert se.load("state") == se.load("both") == library()


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet", "r.arrow", "r.csv", "-"])
def test_true_labels_are_by_default_the_only_column_with_a_usual_name(run, tmp_path, name):
    write(tmp_path, [{**row, "labels": row["tags"]} for row in ROWS])
    data = (tmp_path / "r.jsonl").read_bytes()
    ran = run("evaluate", name, "-p", "guess", "--save", "state", stdin=data)
    assert (ran.code, ran.err) == (0, "true labels: column 'labels'\n")
    assert se.load("state") == library()
    assert "give --actual COLUMN" in run("evaluate", name, "-p", "labels", stdin=data).err


def test_ctrl_c_prints_and_saves_what_was_counted_and_ends_with_status_130(run, tmp_path, monkeypatch):
    write(tmp_path)
    first = Counting.add

    def add(self: Counting, block) -> None:
        os.kill(os.getpid(), signal.SIGINT)  # the interrupt must wait until the block is counted
        first(self, block)

    monkeypatch.setattr(Counting, "add", add)
    ran = run("evaluate", "r.jsonl", "r.csv", *COLUMNS, "--save", "state", "--window", "2")
    assert ran.code == 130
    assert "interrupted" in ran.err
    assert "3 examples" in ran.out
    assert se.load("state") == library()
    (tmp_path / "s.jsonl").write_bytes(jsonl(SCORED))
    ran = run("thresholds", "s.jsonl", "-a", "tags", "-s", "p")
    assert (ran.code, ran.err) == (130, "interrupted: this is what was counted until then\n")


def test_ctrl_c_ends_a_wait_at_once():
    class Waiting:
        growing = None

        def blocks(self, *_: object, **__: object) -> Iterator[None]:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
            raise AssertionError
            yield

    counting = Counting(Job.of(actual="tags", predicted="guess"))
    assert count([Waiting()], counting, lambda _: None, allow_empty=False, limit=None)


def test_a_second_ctrl_c_interrupts_at_once():
    def interrupted_twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError

    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        interrupted_twice()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.jsonl", '{"tags": [1, 0, 1], "guess": [1, 1, 1]}\n{"tags": [0, 0, 1], "guess": [0, 1, 1]}\n'),
        ("r.csv", "tags,guess\n1|0|1,1|1|1\n0|0|1,0|1|1\n"),
    ],
)
def test_rows_of_0_and_1_are_refused_without_the_option_rows(run, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    command = "evaluate", name, "-a", "tags", "-p", "guess", "-m", "f1_micro", "-f", "json"
    refused = run(*command)
    assert refused.code == 2
    assert f"{name}:{1 + name.endswith('.csv')}: column 'tags' is [" in refused.err
    assert "for indicators give --rows indicator, for labels --rows labels" in refused.err
    assert json.loads(run(*command, "--rows", "indicator").out)["metrics"]["f1_micro"] == 0.75
    assert json.loads(run(*command, "--rows", "labels").out)["metrics"]["f1_micro"] == 6 / 7


def test_folders_and_the_values_in_their_names_are_read_as_in_python(run, tmp_path):
    for region in ("eu", "us"):
        (tmp_path / "d" / f"region={region}").mkdir(parents=True)
        rows = [{name: row[name] for name in ("tags", "guess")} for row in ROWS]
        write(tmp_path / "d" / f"region={region}", rows)
    for place in ("d", "d/*/*"):
        assert run("evaluate", place, *COLUMNS, "--by", "region", "--save", "state").code == 0
        assert se.load("state") == se.evaluate_table(place, actual="tags", predicted="guess", by="region")
        assert se.load("state")["eu"] == library(ROWS * 4)
    ran = run("evaluate", "d", *COLUMNS, "--save", "d/region=eu/r.csv")
    assert (ran.code, "is a file that is read" in ran.err) == (2, True)


@pytest.mark.parametrize(("mark", "advice"), [(",", "','"), ("\t", r"'\t'"), ("\n", r"'\n'")])
def test_cells_that_are_probably_misread_are_warned_of_on_stderr(mark, advice, run, tmp_path):
    (tmp_path / "r.csv").write_text("tags,guess\n" + f'"cat{mark}dog",cat\ncat,dog\ndog,"dog{mark}cat"\n')
    ran = run("evaluate", "r.csv", *COLUMNS, "--save", "state")
    assert ran.code == 0
    assert ran.err.startswith(f"warning: no cell of column 'tags' holds the separator '|', but some hold {advice}")
    assert ran.err.endswith(f"give --sep {advice}\n")
    assert run("evaluate", "r.csv", *COLUMNS, "--sep", advice[1:-1], "--save", "state").err == ""
    assert se.load("state").labels == ("cat", "dog")


def test_options_name_columns_of_labels_declared_labels_and_the_meaning_of_null(run, tmp_path):
    (tmp_path / "w.csv").write_text("t_a,t_b,t_c,p_a,p_b\n1,0,1,1,1\n0,1,1,0,1\n")
    command = "evaluate", "w.csv", "--actual", "t_*", "-p"
    assert "give --unknown ignore to drop these" in run(*command, "p_*").err
    assert run(*command, "p_a", "-p", "p_b*", "--unknown", "ignore", "--labels", '["b", "a"]').code == 2
    assert run(*command, "p_*", "--unknown", "ignore", "--save", "state").code == 0
    assert se.load("state") == se.evaluate_table("w.csv", actual="t_*", predicted="p_*", unknown="ignore")
    (tmp_path / "r.jsonl").write_bytes(jsonl([*ROWS, {"tags": None, "guess": [7]}]))
    assert "or give --null empty" in run("evaluate", "r.jsonl", *COLUMNS).err
    options = "--null", "empty", "--labels", "cat", "--labels", "dog", "--labels", "[7]"
    assert "label 'bird' is not among the 3 declared labels" in run("evaluate", "r.jsonl", *COLUMNS, *options).err
    assert run("evaluate", "r.jsonl", *COLUMNS, *options, "--unknown", "ignore", "--save", "state").code == 0
    expected = library([*ROWS, {"tags": [], "guess": [7]}], labels=["cat", "dog", 7], unknown="ignore")
    assert se.load("state") == expected


@pytest.mark.parametrize(("cells", "options", "message"), [
    ("1,0,1,", "-a t_* -p p_*", "column 'p_b' is empty; fill it, or skip the row with --skip-bad\n"),
    ("1,0,1,", "-a t_* -s p_* -t .5", "column 'p_b' is empty; fill it, or skip the row with --skip-bad\n"),
    ("1,0,.1,.7", "-a t_* -p p_*", "column 'p_a' is 0.1; binary predictions are 0 or 1; for scores give --scores, not "
     "--predicted, and --threshold 0.5\n"),
    (".1,.7,1,0", "-a t_* -p p_*", "column 't_a' is 0.1; truth is 0 or 1, or null where masked: are --actual and "
     "--predicted swapped?\n"),
    ("1,0,1,0", "-a y_* -p p_*", "columns are ['t_a', 't_b', 'p_a', 'p_b']; --truth and --join"),
    ("1,0,1,0", "-a t_* -p pr_*", "no column matches 'pr_*' (--predicted); did you mean 'p_b'? The columns are ['t_a"),
    ("1,0,1,0", "-a t_* -p p_a", "column 'p_a' holds only 0 and 1, but the labels have columns of their own: "
     "name these on both sides, as by a pattern such as 'p_*'\n"),
    ("1,0,1,0", "-a t_b -s p_* -t .5", "column 't_b' holds only 0 and 1, but the labels have columns of their own"),
])  # fmt: skip
def test_errors_in_columns_of_labels_are_in_the_words_of_the_command(run, cells, options, message):
    (Path("w.csv")).write_text(f"t_a,t_b,p_a,p_b\n{cells}\n")
    ran = run("evaluate", "w.csv", *options.split())
    assert (ran.code, message in ran.err) == (2, True), ran.err


def test_a_list_of_the_labels_0_and_1_is_accepted_where_columns_declare_these_labels(run):
    Path("w.csv").write_text("t_0,t_1,p\n1,0,0\n1,1,0|1\n0,1,1\n")
    assert "f1_micro,1.0" in run("evaluate", "w.csv", "-a", "t_*", "-p", "p", "-f", "csv").out


@pytest.mark.parametrize(("name", "text"), [
    ("n.csv", "tags,p\na,a:0.5\na,a:nan\n"), ("n.jsonl", '{"tags": ["a"], "p": {"a": "NaN"}}\n'),
    ("n.csv", "tags,p\na,a:nan|b:0.5\n"),
])  # fmt: skip
def test_errors_for_scores_that_are_no_numbers_have_advice_for_the_shell(run, name, text):
    Path(name).write_text(text)
    for more in (["-t", "0.5"], ["-m", "ndcg"]):
        ran = run("evaluate", name, "-a", "tags", "-s", "p", *more)
        assert (ran.code, "nan=" in ran.err) == (2, False)
        assert name.endswith("jsonl") or ran.err.endswith("leave the label out, or skip the row with --skip-bad\n")


def test_a_column_of_lists_is_refused_by_the_option_by(run):
    Path("l.jsonl").write_text('{"t": ["a"], "p": ["b"]}\n')
    ran = run("evaluate", "l.jsonl", "-a", "t", "-p", "p", "--by", "t")
    assert (ran.code, ran.err[:52]) == (2, "streameval: l.jsonl:1: column 't' (--by) is ['a'], o")


def test_options_read_long_tables_and_join_two_files(run, tmp_path):
    rows = [("1", "cat", 1, 1), ("1", "dog", 0, 1), ("2", "dog", 1, 0)]
    (tmp_path / "l.csv").write_text("id,tag,y,p\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    command = "evaluate", "l.csv", "-a", "y", "-p", "p", "--save", "state"
    assert run(*command, "--example", "id", "--label", "tag").code == 0
    ev = se.Evaluator()
    ev.update_many([{"cat": 1, "dog": 0}, {"dog": 1}], [{"cat": 1, "dog": 1}, {"dog": 0}])
    assert se.load("state") == ev
    (tmp_path / "n.csv").write_text("id,tag,y,p\n1,cat,1,\n")
    ran = run("evaluate", "n.csv", "-a", "y", "-s", "p", "-t", ".5", "--example", "id", "--label", "tag")
    assert ran.err.endswith("for label 'cat'; give a number, such as the lowest score where the model has none\n")
    ran = run("evaluate", "n.csv", "-a", "y", "-p", "p", "--example", "id", "--label", "tag")
    assert ran.err.endswith("for label 'cat'; give 0 or 1\n")
    assert "--example and --label go together" in run(*command, "--example", "id").err
    write(tmp_path, [{"id": str(number), "tags": row["tags"]} for number, row in enumerate(ROWS)])
    (tmp_path / "g.jsonl").write_bytes(jsonl([{"id": str(n), "guess": row["guess"]} for n, row in enumerate(ROWS[:2])]))
    for name in ("r.csv", "r.parquet"):
        ran = run("evaluate", "g.jsonl", *COLUMNS, "--truth", name, "--join", "id", "--save", "state")
        assert (ran.code, ran.err) == (0, "warning: truths without a row: 1; 2 rows are counted\n")
        assert se.load("state") == library(ROWS[:2])
    (tmp_path / "i.jsonl").write_bytes(jsonl([{"id": 7, "guess": []}]))
    ran = run("evaluate", "i.jsonl", *COLUMNS, "--truth", "r.csv", "--join", "id")
    keys = "keys such as 7 (i.jsonl:1) and '0' (r.csv:2); keys are compared with their type: write both as strings\n"
    assert (ran.code, keys in ran.err) == (2, True)
    for options, missing in (
        (("-a", "tags", "-p", "guess", "--join", "key"), "r.csv:1: there is no column 'key' (--join)"),
        (("-a", "tags", "-p", "guesses", "--join", "id"), "no column 'guesses' (--predicted); did you mean 'guess'?"),
        (
            ("-a", "tag", "-p", "guess", "--join", "id"),
            "r.csv:1: there is no column 'tag' (--actual); did you mean 'ta",
        ),
    ):
        ran = run("evaluate", "g.jsonl", *options, "--truth", "r.csv")
        assert (ran.code, missing in ran.err) == (2, True), ran.err
    for command in ("evaluate", "thresholds"):
        ran = run(command, "i.jsonl", "g.jsonl", "-a", "tags", "-s", "guess", "--truth", "r.csv", "--join", "id")
        assert (ran.code, "are for one FILE" in ran.err) == (2, True), ran.err


@pytest.mark.parametrize(("name", "limit"), crossed(["r.jsonl", "r.parquet", "r.arrow", "r.csv", "-"], [1, 2, 3, 9]))
def test_a_limit_reads_the_first_rows_of_all_files_and_no_bad_one_after_them(run, tmp_path, name, limit):
    write(tmp_path)
    (tmp_path / "bad.jsonl").write_bytes(b"{\n")
    data = jsonl(ROWS) + b"{\n" if limit < len(ROWS) else jsonl(ROWS)
    for files in ([name], [name, "bad.jsonl"]) if limit <= len(ROWS) else ([name],):
        ran = run("evaluate", *files, *COLUMNS, "--limit", limit, "--save", "state", "-f", "json", stdin=data)
        assert (ran.code, json.loads(ran.out)["input"]["limit"]) == (0, limit)
        assert se.load("state") == library(ROWS[:limit])
    ran = run("evaluate", "r.csv", "r.jsonl", *COLUMNS, "--limit", "4", "--save", "state")
    assert se.load("state") == library(ROWS + ROWS[:1])


def test_the_option_limit_is_refused_where_rows_are_joined_or_watched(run, tmp_path):
    write(tmp_path)
    ran = run("evaluate", "r.csv", *COLUMNS, "--limit", "1", "--truth", "r.jsonl", "--join", "note")
    assert (ran.code, "--limit is for rows that are read one by one; leave --truth out" in ran.err) == (2, True)
    assert run("evaluate", "r.csv", *COLUMNS, "--limit", "0").code == 2
    assert "there is no option --limit" in run("watch", "r.csv", *COLUMNS, "--limit", "1").err


def test_predictions_beside_scores_are_explained_where_decisions_are_asked_for(run, tmp_path):
    rows = [{**row, "guess": ["cat"]} for row in SCORED]
    (tmp_path / "s.jsonl").write_bytes(jsonl(rows))
    ran = run("evaluate", "s.jsonl", *COLUMNS, "--scores", "p", "-m", "f1_micro")
    assert "or leave --scores out: with it, --predicted only names the labels of the scores" in ran.err


@pytest.mark.skipif(os.name != "posix", reason="only there one process becomes several")
def test_small_files_are_read_without_importing_pandas_or_polars(tmp_path):
    program = """if True:
        import os, sys
        import streameval.cli.app  # once for all children, each of which reads one file
        names, *columns = sys.argv[1:]
        for name in names.split(","):
            if not (child := os.fork()):
                sys.argv = ["streameval", "evaluate", name, *columns]
                code = streameval.cli.main()
                print(name, code, sorted({"pandas", "polars"} & sys.modules.keys()))
                break
            os.waitpid(child, 0)
    """
    names = list(write(tmp_path))
    args = [sys.executable, "-c", program, ",".join(names), *COLUMNS]
    ran = subprocess.run(args, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line for line in ran.stdout.splitlines() if line.endswith("]")] == [f"{name} 0 []" for name in names], ran
