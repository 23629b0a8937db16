"""Labels, slices and files of any name have cells, keys and rows of their own in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import streameval as se
from streameval.cli.render import drawn
from streameval.report.model import Column, Table
from streameval.slices.values import rank_of, typed
from tests.support.each import with_each

LABELS = [
    7,
    "7",
    "",
    "=cmd",
    "'=cmd",
    "+1",
    "-1",
    "@x",
    "\tx",
    "\rx",
    "\x1b]0;x\x07",
    "a\nb",
    "a\\nb",
    "C:\\",
    "a,b",
    '"',
    2**70,
    str(2**70),
]


@pytest.fixture
def hostile(run):
    """Values of a saved state, in which each label has a different one."""
    ev = se.Evaluator(["recall_per_label", "f1_micro"], labels=LABELS)
    for at in range(1, len(LABELS) + 1):
        ev.update(LABELS[:at], LABELS[:1])
    ev.update_many(*[np.tril(np.ones((len(LABELS),) * 2, int))] * 2)
    ev.save("state")
    return ev.get("recall_per_label")


def cells(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_label_has_a_row_in_csv(run, hostile):
    out = run("show", "state", "-f", "csv").out
    assert out.replace("\n", "").isprintable()
    rows = [row for row in cells(out) if row["metric"] == "recall_per_label"]
    assert [float(row["value"]) for row in rows] == list(hostile.values())
    assert [row["label"] for row in rows] == [
        "7", "'7", "'", "'=cmd", "''=cmd", "'+1", "'-1", "'@x", "'\\tx", "'\\rx", r"\x1b]0;x\x07", r"a\nb", r"a\\nb",
        r"C:\\", "a,b", '"', str(2**70), f"'{2**70}",
    ]  # fmt: skip
    (micro,) = [row for row in cells(out) if row["metric"] == "f1_micro"]
    assert (micro["scope"], micro["label"]) == ("all", "")
    assert out.splitlines()[0] == "scope,label,metric,value,bound_low,bound_high"


def test_raw_writes_labels_unchanged(run):
    labels = [label for label in LABELS if "\x1b" not in str(label)]  # `run` asserts that no output contains it
    se.Evaluator(["f1_per_label"], labels=labels).save("state")
    rows = cells(run("show", "state", "-f", "csv", "--raw").out)
    assert [row["label"] for row in rows if row["metric"] == "f1_per_label"] == [str(label) for label in labels]


def test_each_label_has_a_record_in_json(run, hostile):
    out = run("show", "state", "-f", "json").out
    assert out.replace("\n", "").isprintable()
    content = json.loads(out)
    assert content["metrics"]["recall_per_label"] == [{"label": label, "value": hostile[label]} for label in LABELS]
    assert [row["label"] for row in content["labels"]] == LABELS
    assert [row["recall"] for row in content["labels"]] == list(hostile.values())


def test_each_label_has_a_row_in_a_table(run, hostile):
    rows = run("show", "state", "--top", "100").out.splitlines()[-len(LABELS) :]
    assert {row.split("  ")[0] for row in rows} >= {"7", "'7'", str(2**70), f"'{2**70}'", "=cmd", r"a\nb", r"a\\nb"}


def test_each_label_has_a_cell_in_markdown(run, hostile):
    out = run("show", "state", "-f", "markdown", "--top", "100").out
    table = [line.split(" | ") for line in out.splitlines() if "| recall_per_label " in line]
    assert len({line[1] for line in table}) == len(table) == len(LABELS)
    assert r"| '\\x1b\]0;x\\x07' " not in out
    assert r"| \\x1b\]0;x\\x07 " in out


SLICES = [None, True, 1, "", "'", "1", "=x", "None", "OTHER", "True", "x, b=y"]  # in the order of slices


def test_each_slice_has_cells_records_and_a_heading_of_its_own_in_every_format(run, tmp_path):
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by=("a", "b"), cross=[("a", "b")], max_slices=len(SLICES))
    last = max(((typed(f"value {number}", "a"),) for number in range(100)), key=rank_of)  # it has no slice
    for value in [*SLICES, last[0][1]]:
        sliced.update({"x"}, {"x"}, where={"a": value, "b": "z"})
    sliced.save("state")
    out = run("show", "state", "-f", "csv", "--report", "r.html").out
    scopes = list(dict.fromkeys(row["scope"] for row in cells(out) if row["scope"] != "all"))
    first = ["None", "True", "1", "''", "''''", "'1'", "'=x'", "'None'", "'OTHER'", "'True'", "'x, b=y'", "OTHER"]
    assert scopes[: len(first)] == [f"a={cell}" for cell in first]
    assert len(scopes) == 2 * len(first) + 1
    parts = json.loads(run("show", "state", "-f", "json").out)["slices"]
    assert [part["by"] for part in parts[: len(first)]] == [*({"a": value} for value in SLICES), {"a": None}]
    assert next(part["by"] for part in parts if "other" in part) == {"a": None}
    assert {tuple(part["by"]) for part in parts} == {("a",), ("b",), ("a", "b")}
    assert len({json.dumps([part["by"], part.get("other")]) for part in parts}) == len(parts)
    rows = [line.split(" | ") for line in run("show", "state", "-f", "markdown").out.splitlines()]
    assert len({row[0] for row in rows if row[2:3] and row[2].strip() == "f1_micro"}) == 1 + len(scopes)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    quoted = (f"&#x27;{name}&#x27;" for name in ("1", "None", "True", "OTHER"))
    assert all(f">a = {name}<" in page for name in ("1", "None", *quoted))
    strings = se.Sliced(se.Evaluator(["f1_micro"]), by="a")
    strings.update_many([{"x"}] * 2, [{"x"}] * 2, where={"a": ["1", "None"]})
    strings.save("state")
    assert {row["scope"] for row in cells(run("show", "state", "-f", "csv").out)} == {"all", "a=1", "a=None"}


def test_thresholds_of_labels_that_look_alike_are_read_back(run, tmp_path):
    rows = [{"t": [7], "s": [[7, 0.9], ["7", 0.3]]}, {"t": ["7"], "s": [[7, 0.5], ["7", 0.2]]}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "--save", "t.json").code == 0
    saved = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [(row["label"], row["threshold"]) for row in saved["thresholds"]] == [(7, 0.9), ("7", 0.2)]
    ran = run("evaluate", "s.jsonl", "-a", "t", "-s", "s", "-t", "t.json", "-m", "precision_per_label", "-f", "json")
    assert json.loads(ran.out)["metrics"]["precision_per_label"] == [
        {"label": 7, "value": 1.0}, {"label": "7", "value": 0.5},
    ]  # fmt: skip
    rows = cells(run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "-f", "csv").out)
    assert [row["label"] for row in rows] == ["7", "'7"]
    table = run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "-f", "markdown").out
    assert [line.split()[1] for line in table.splitlines()[2:]] == ["7", "'7'"]
    (tmp_path / "s.jsonl").write_text(json.dumps({"t": ["7"], "s": {"7": 0.9, "cat": 0.5}}), encoding="utf-8")
    rows = cells(run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "-f", "csv").out)
    assert [row["label"] for row in rows] == ["7", "cat"]


@with_each("how", ["table", "markdown"])
def test_with_top_the_labels_with_the_largest_support_are_written(run, how):
    ev = se.Evaluator(["f1_micro"])
    ev.update_many([["few"], ["some"], ["some"], ["most"], ["most"], ["most"]], [["few"], ["some"], [], [], [], []])
    ev.save("state")
    out = run("show", "state", "-f", how, "--top", "2").out
    written = [label for label in ("few", "some", "most") if re.search(rf"(^|\| ){label}  ", out, re.MULTILINE)]
    assert written == ["some", "most"]


@pytest.mark.parametrize(
    "content", ["[]", '{"thresholds": [{"label": 1}]}', '{"thresholds": [3]}', '{"thresholds": 3}', "7"]
)
def test_thresholds_of_another_form_are_refused(run, tmp_path, content):
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    ran = run("evaluate", "-", "-a", "t", "-s", "s", "-t", "t.json", stdin=b'{"t":[],"s":{}}\n')
    assert (ran.code, "t.json: it must hold one object label: number" in ran.err) == (2, True)


def test_comparisons_have_a_row_for_each_label(run):
    for name, guess in (("metric", {7}), ("label", {7, "7"})):
        ev = se.Evaluator(["f1_per_label", "f1_micro"])
        ev.update({7, "7"}, guess)
        ev.save(name)
    rows = cells(run("compare", "metric", "label", "-f", "csv").out)
    assert [tuple(row.values()) for row in rows if row["metric"] == "f1_per_label"] == [
        ("all", "7", "f1_per_label", "1.0", "1.0", "0.0", "", ""),
        ("all", "'7", "f1_per_label", "0.0", "1.0", "1.0", "", ""),
    ]
    content = json.loads(run("compare", "metric", "label", "-f", "json").out)
    assert content["metrics"]["f1_per_label"][1] == {"label": "7", "a": 0.0, "b": 1.0, "change": 1.0}
    assert content["metrics"]["f1_micro"] == {"a": 2 / 3, "b": 1.0, "change": 1 - 2 / 3}
    assert content["labels"][1]["tp"] == {"a": 0, "b": 1, "change": 1}
    first = run("compare", "metric", "label", "-f", "markdown", "-m", "f1_micro", "--top", "1").out
    assert re.search(r"\| f1 +\| 0.0000 \| 1.0000 \| .*\n\n1 more label; --top 2 shows all\n$", first)


def scored(*scores: dict[str, float], metrics=("roc_auc_micro", "roc_auc_per_label")) -> se.Evaluator:
    ev = se.Evaluator(metrics)
    for each in scores:
        ev.update({"a"}, each)
    return ev


@with_each("how", ["table", "markdown", "csv"])
def test_infinite_bounds_of_values_and_changes_are_written(run, how):
    ev = se.Evaluator(["log_loss_micro(eps=0)"])
    ev.update_many([["a"], ["a"]], [{"a": 5e-324}, {"a": 1e-320}])
    ev.save("state")
    low = ev.bounds("log_loss_micro(eps=0)").low
    wanted = [[str(low) if how == "csv" else f"{low - 5e-6:.5f}", "inf"], ["-inf", "inf"]]
    for command, ends in zip((["show", "state"], ["compare", "state", "state"]), wanted, strict=True):
        (line,) = (line for line in run(*command, "-f", how).out.splitlines() if "log_loss" in line)
        assert re.sub("[|,]| to ", " ", line).split()[-2:] == ends


def test_bounds_of_a_change_contain_all_differences_of_both_bounds_and_hardly_more(run):
    rng, metrics = np.random.default_rng(7), ["roc_auc_micro", "average_precision_macro", "f1_micro"]
    evaluators = {name: se.Evaluator(metrics, threshold=0.55) for name in "ab"}
    for name, ev in evaluators.items():
        ev.update_many(rng.random((300, 2)) < 0.5, 0.5 + rng.random((300, 2)) / 10)  # so close that bins are mixed
        ev.save(name)
    content = json.loads(run("compare", "a", "b", "-f", "json").out)
    assert [*content["bounds"]] == metrics[:2]
    for metric, (low, high) in content["bounds"].items():
        a, b = (ev.bounds(metric) for ev in evaluators.values())
        least, most = Fraction(b.low) - Fraction(a.high), Fraction(b.high) - Fraction(a.low)
        assert low < least < most < high
        assert low > least - Fraction(1, 10**15)
        assert high < most + Fraction(1, 10**15)
    se.Evaluator(["roc_auc_micro"]).save("none")
    empty = json.loads(run("show", "none", "-t", "0.5", "-m", "f1_micro,roc_auc_micro", "-f", "json").out)
    assert empty["undefined"] == dict.fromkeys(["f1_micro", "roc_auc_micro"], "no examples")
    single = se.Evaluator(["roc_auc_micro"])
    single.update({"a"}, {"a": 0.5, "b": 0.2})
    single.save("single")
    assert re.search(r"roc_auc_micro ↑ +1.0000 +1.0000 +0 *\n$", run("compare", "single", "single").out)


def test_json_says_why_a_metric_has_no_value(run):
    scored({"a": 0.5}).save("state")
    content = json.loads(run("show", "state", "-f", "json").out)
    assert content["metrics"] == {"roc_auc_micro": None, "roc_auc_per_label": [{"label": "a", "value": None}]}
    assert content["undefined"] == {"roc_auc_micro": "0/0", "roc_auc_per_label": [{"label": "a", "value": "0/0"}]}
    ran = run("show", "state", "-f", "csv")
    assert "all,,roc_auc_micro,,,\n" in ran.out
    assert ran.err.startswith("roc_auc_micro is undefined: 0/0\n")
    assert "roc_auc_micro ↑      -\n  roc_auc_micro: 0/0\n" in run("show", "state").out
    scored({"a": 7.0}, metrics=["log_loss_macro"]).save("state")
    assert "requires probabilities" in json.loads(run("show", "state", "-f", "json").out)["undefined"]["log_loss_macro"]


def numbers_of(scope: str, part: dict):
    """The numbers of a part of the JSON output, as tuples like rows of CSV, with bounds."""
    yield from ((scope, None, name, part[name], None) for name in ("examples", "weight"))
    for metric, value in part["metrics"].items():
        bounds = part["bounds"].get(metric)
        if isinstance(value, list):
            pairs = {row["label"]: row["value"] for row in bounds or ()}
            yield from ((scope, row["label"], metric, row["value"], pairs.get(row["label"])) for row in value)
        else:
            yield scope, None, metric, value, bounds
    for row in part.get("labels", ()):
        yield from ((scope, row["label"], name, value, None) for name, value in row.items() if name != "label")


def test_every_format_has_the_same_numbers_and_replaces_its_own_files(run, tmp_path):
    rng = np.random.default_rng(4)
    scores = rng.normal(0.5, 0.2, (400, 3))
    lines = [
        {"t": [label for label, score in zip("abc", row, strict=True) if rng.random() < score],
         "s": dict(zip("abc", row, strict=True)), "region": "eu" if at % 3 else "us"}
        for at, row in enumerate(scores.tolist())
    ]  # fmt: skip
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    names = "f1_micro,roc_auc_micro,roc_auc_per_label,hamming_loss"
    options = ("s.jsonl", "-a", "t", "-s", "s", "-t", "0.5", "--by", "region", "--window", "100", "-m", names)
    for suffix in ("json", "csv", "md", "txt"):
        for _ in range(2):
            assert run("evaluate", *options, "-o", f"r.{suffix}").code == 0
    content = json.loads((tmp_path / "r.json").read_text())
    assert set(content) == {
        "schema", "streameval", "input", "examples", "weight", "metrics", "bounds", "undefined", "labels", "windows",
        "slices", "warnings",
    }  # fmt: skip
    assert (content["schema"], content["streameval"]) == (1, se.__version__)
    wanted = [*numbers_of("all", content)]
    wanted += [row for part in content["windows"] for row in numbers_of(part["scope"], part)]
    wanted += [row for part in content["slices"] for row in numbers_of(f"region={part['by']['region']}", part)]
    assert {scope for scope, *_ in wanted} == {"all", "last 100", "region=eu", "region=us"}
    assert any(bounds for *_, bounds in wanted)
    rows = cells((tmp_path / "r.csv").read_text())
    assert [tuple(row.values()) for row in rows] == [
        (scope, label or "", metric, str(value), *map(str, bounds or ("", "")))
        for scope, label, metric, value, bounds in wanted
    ]
    table = [re.split(r" *\| *", line)[1:-1] for line in (tmp_path / "r.md").read_text().splitlines()[2:]]
    assert [row[:3] for row in table] == [[row["scope"], row["label"], row["metric"]] for row in rows]
    text = (tmp_path / "r.txt").read_text()
    assert re.search(r"roc_auc_micro ↑ +0\.\d{4} +0\.\d{4} +0\.\d{5} to 0\.\d{5}\n", text)
    assert " \n" not in text


@pytest.mark.parametrize(("width", "rows"), [(30, 6), (60, 3)])
def test_tables_wrap_in_a_narrow_terminal_and_lose_nothing(width, rows):
    names = [f"metric_{at}" for at in range(6)]
    text = "Sentences of several words stand below each other where there is little room for them."
    numbers = Table(
        "t", "", [Column("label", "label", ["cat", "x" * 60]), *(Column(n, "count", [12, 3]) for n in names)]
    )
    words = Table("w", "", [Column("metric", "label", ["f1"]), Column("", "text", [text])])
    for table, needed in ((numbers, [*names, "cat"]), (words, text.split())):
        console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
        console.print(drawn([table], "", console))
        lines = console.file.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert not set(needed) - set(" ".join(lines).split())
        assert sum(" cat " in line for line in lines) == (rows if table is numbers else 0)


def test_long_names_break_after_underscores_and_decimal_points_are_aligned():
    names = ["label_ranking_average_precision", "f1"]
    table = Table("t", "", [Column("metric", "label", names), Column("support", "count", [1234.25, 0.0625])])
    console = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    console.print(drawn([table], "", console))
    lines = console.file.getvalue().splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["label_ranking_", "average_precision", "f1"]
    assert len({line.index(".") for line in (lines[-3], lines[-1])}) == 1


@pytest.mark.parametrize(("width", "bars"), [(60, [12, 6, 0, 0]), (30, [0] * 4)])
def test_a_wide_terminal_has_bars_of_values_from_0_to_1(width, bars):
    values = Column("f1", "bar", [1.0, 0.5, None, 2.0])
    table = Table("t", "", [Column("label", "label", [*"abcd"]), Column("fpr", "fraction", [0.25] * 4), values])
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(drawn([table], "", console))
    assert [line.count("█") for line in console.file.getvalue().splitlines()[-4:]] == bars


def test_output_into_a_pipe_is_not_shortened_and_has_no_trailing_blanks(run):
    out = run("metrics").out
    assert all(line == line.rstrip() for line in out.splitlines())
    assert all(entry.summary in out for entry in se.catalogue())
    ev, label = se.Evaluator(["f1_micro"]), "_".join(["name"] * 20)
    ev.update({label}, {label})
    ev.save("state")
    assert label in run("show", "state").out


def test_slices_of_metrics_without_a_direction_stay_in_their_order(run):
    names = ["label_cardinality", "label_density", "predicted_density", "predicted_cardinality"]
    sliced = se.Sliced(se.Evaluator(names), by="f1_micro")
    for region in ("us", "eu"):
        sliced.update({"a"}, {"a"}, where={"f1_micro": region})
    sliced.save("state")
    out = run("show", "state").out
    assert "\n  --metrics shows others, such as predicted_cardinality\n" in out
    assert out.index("eu ") < out.index("us ")


def test_slices_have_few_metrics_with_the_worst_first(run):
    sliced = se.Sliced(se.Evaluator(), by="region")
    for region, guess in (("eu", "a"), ("us", "b"), ("us", "b"), ("asia", "b"), ("asia", "a")):
        sliced.update({"a"}, {guess}, where={"region": region})
    sliced.save("state")
    out = run("show", "state").out
    rows = [line.split() for line in out[out.index("region") : out.index("worst f1_micro first")].splitlines()]
    assert rows[0] == ["region", "examples", "f1_micro", "↑", "f1_macro", "↑", "subset_accuracy", "↑"]
    assert [row[0] for row in rows[1:4]] == ["us", "asia", "eu"]
    out = run("show", "state", "-m", "hamming_loss,f1,f1_micro,jaccard").out
    rows = [line.split() for line in out[out.index("\nregion") + 1 :].splitlines()]
    assert (len(rows[0]), [row[0] for row in rows[1:4]]) == (10, ["us", "asia", "eu"])


def test_slices_have_the_same_order_in_the_terminal_and_on_the_page(run):
    sliced = se.Sliced(se.Evaluator(), by="region")
    # "few" has the worst subset accuracy, "wrong" has the worst F1.
    for region, guesses in (("few", ["abcde", "abcde"]), ("wrong", ["f", "abcdef"]), ("best", ["abcdef"] * 2)):
        for guess in guesses:
            sliced.update([*"abcdef"], [*guess], where={"region": region})
    sliced.save("state")
    for options in ((), ("-m", "subset_accuracy,f1_micro")):
        ran = run("show", "state", *options, "--report", "r.html")
        lines = ran.out[ran.out.index("\nregion") : ran.out.index("worst f1_micro first")].split("\n")[2:]
        assert [line.split()[0] for line in lines[:3]] == ["wrong", "few", "best"]
        page = Path("r.html").read_text()
        assert [*map(page.index, ("region = wrong", "region = few", "region = best"))] == sorted(
            map(page.index, ("region = wrong", "region = few", "region = best"))
        )
        assert "the worst f1_micro first" in page
    changes = run("compare", "state", "state").out
    assert "\n  worst f1_micro change first; " in changes
    assert re.search(r"\nregion +examples a +examples b ", changes)
    se.load("state").save("other")
    assert re.search(r"\nregion +examples state +examples other ", run("compare", "state", "other").out)


def test_a_window_of_all_rows_is_left_out_and_the_full_names_of_metrics_are_printed(run):
    ran = run("evaluate", "-", "-a", "a", "-p", "p", "-w", "5", "-m", "F1", stdin=b'{"a":["x"],"p":["x"]}\n')
    assert ran.err == "F1 -> f1_macro\n--window 5 is left out: there are no more than 1 row\n"
    assert "last" not in ran.out


def test_empty_states_say_so_with_status_0(run):
    for name in ("one", "two"):
        se.Evaluator(["f1_micro"]).save(name)
    for command in (("show", "one"), ("merge", "one", "two")):
        assert run(*command) == run("show", "one")
        assert run(*command).out == "no examples\n"
        content = json.loads(run(*command, "-f", "json").out)
        assert (content["examples"], content["metrics"]["f1_micro"]) == (0, None)
        assert content["undefined"] == {"f1_micro": "no examples"}
        ran = run(*command, "--fail-if", "f1_micro < 0.5")
        assert (ran.code, "f1_micro is undefined (no examples)" in ran.err) == (2, True)
    (full := se.Evaluator(["f1_micro", "f1_macro"])).update({"x"}, {"x"})
    full.save("full")
    assert "\n  f1_micro, f1_macro: one: no examples\n" in run("compare", "one", "full", "-m", "f1_micro,f1_macro").out


@pytest.mark.filterwarnings("ignore:scores from .* none of 300 examples:streameval.DataWarning")
@pytest.mark.parametrize("threshold", [0.5, 0.37, 0.0, 2.0])
def test_show_applies_a_threshold_to_saved_scores(run, threshold):
    rng = np.random.default_rng(7)
    truth, scores = rng.random((300, 4)) < 0.4, rng.normal(0.5, 0.2, (300, 4))
    names = ["f1_micro", "f1_macro", "recall_per_label", "mcc_macro", "predicted_cardinality"]
    for weights in (None, rng.integers(1, 4, 300) / 4):
        later, now = se.Evaluator(["roc_auc_macro"]), se.Evaluator(names, threshold=threshold)
        for ev in (later, now):
            ev.update_many(truth, scores, weights=weights)
        later.save("state")
        ran = run("show", "state", "-t", threshold, "-m", ",".join(names[:-1]), "-f", "json")
        content, wanted = json.loads(ran.out), now.to_dict()
        assert content["labels"] == wanted["labels"]
        for name in names[:-1]:
            low, high = content["bounds"].get(name, [content["metrics"][name]] * 2)
            assert low == high == wanted["metrics"][name]
    assert (
        "this metric requires the predictions of each example"
        in run("show", "state", "-t", "0.5", "-m", "f1_samples").err
    )


def test_show_warns_if_the_threshold_is_within_a_bin_of_scores_and_counts_are_uncertain(run):
    ev = se.Evaluator(["roc_auc_micro"], labels=["a"])
    ev.update_many(np.array([[1], [0], [1], [0]]), np.array([[0.50211], [0.50212], [0.50214], [0.50215]]))
    ev.save("state")
    ran = run("show", "state", "-t", "0.502135", "-m", "f1_micro,roc_auc_micro", "-f", "json")
    area = ev.bounds("roc_auc_micro")
    expected = {"f1_micro": [0.0, 1.0], "roc_auc_micro": [area.low, area.high]}
    assert (ran.err.count("warning: "), json.loads(ran.out)["bounds"]) == (1, expected)
    assert "a threshold lies within a bin of scores: tp and fp of labels are the most" in ran.err
    assert [ran.err] == [f"warning: {text}\n" for text in json.loads(ran.out)["warnings"]]
    assert run("show", "state", "-t", "0.3", "-m", "f1_micro").err == ""


def test_show_has_the_slices_that_are_named(run):
    sliced = se.Sliced(se.Evaluator(), by=["region", "device"])
    sliced.update({"a"}, {"b"}, where={"region": "eu", "device": "phone"})
    sliced.save("state")
    sliced.total().save("plain")
    for by, scopes in (("region", {"region"}), ("device", {"device"}), ("device,region", {"device", "region"})):
        content = json.loads(run("show", "state", "--by", by, "-f", "json").out)
        assert {name for each in content["slices"] for name in each["by"]} == scopes
    ran = run("show", "state", "--by", "colour")
    assert (ran.code, "state has slices by region, device; there are none by 'colour'" in ran.err) == (2, True)
    assert "plain has no slices; evaluate makes them with --by" in run("show", "plain", "--by", "region").err


def test_a_comparison_of_states_with_equally_many_rows_prints_the_number_once(run):
    ev = se.Evaluator()
    ev.update({"a"}, {"b"})
    ev.save("a")
    assert run("compare", "a", "a").out.splitlines()[0] == "1 example, 2 labels, in both"


def test_a_threshold_that_predicts_nothing_is_saved_and_read(run, tmp_path):
    (tmp_path / "s.jsonl").write_text('{"a": ["x"], "s": {"x": 0.5, "y": 0.25}}\n')
    assert run("thresholds", "s.jsonl", "-a", "a", "-s", "s", "--save", "best.json").code == 0
    records = json.loads((tmp_path / "best.json").read_text())["thresholds"]
    assert [(each["label"], each["threshold"]) for each in records] == [("x", 0.5), ("y", None)]
    assert run("evaluate", "s.jsonl", "-a", "a", "-s", "s", "-t", "best.json", "--save", "state").code == 0
    assert se.load("state").per_label().predicted.tolist() == [1, 0]


def test_comparisons_list_the_labels_that_changed_most(run):
    for place, name in enumerate("ab"):
        ev = se.Evaluator(["f1_micro"])
        for label, hits in {"same": (1, 1), "little": (3, 2), "much": (3, 0), "up": (1, 3)}.items():
            for number in range(4):
                ev.update({label}, {label} if number < hits[place] else set())
        ev.save(name)
    for options, labels in ((), ["much", "up", "little"]), (("--top", "2"), ["much", "up"]), (("--top", "0"), []):
        out = run("compare", "a", "b", *options).out
        assert [word for word in out.split() if word in ("same", "little", "much", "up")] == labels
        assert ("1 more label with a change" in out) == (len(labels) == 2)
    chosen = run("compare", "a", "b", "-m", "recall_per_label").out
    assert re.search(r"\nrecall by label .*\nmuch +0\.7500 +0\.0000 +-0\.7500\n", chosen)
    assert "f1 by label" not in chosen


def test_numbers_are_aligned_to_the_right_in_markdown(run):
    ev = se.Evaluator(["f1_micro"])
    ev.update({"cat"}, {"cat", "猫"})
    ev.save("state")
    header, rule, *rows = (line for line in run("show", "state", "-f", "markdown").out.splitlines() if line[:1] == "|")
    ends = [cell.endswith(":") for cell in rule.replace(" ", "").strip("|").split("|")]
    assert header.replace(" ", "").strip("|").split("|")[:3] == ["scope", "label", "metric"]
    assert ends == [False] * 3 + [True] * (len(ends) - 3)
    assert len(ends) > 3
    assert {cell_len(line) for line in (header, rule, *rows)} == {len(header)}
