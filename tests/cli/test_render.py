"""Whatever labels, slices and files are called, each has cells, keys and rows of its own in every format."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import streameval as se

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
    """A state of which each label has another value."""
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
    assert [(row["kind"], row["label"]) for row in rows] == [
        ("integer", "7"), ("string", "7"), ("string", ""), ("string", "'=cmd"), ("string", "''=cmd"), ("string", "'+1"),
        ("string", "'-1"), ("string", "'@x"), ("string", "'\\tx"), ("string", "'\\rx"), ("string", r"\x1b]0;x\x07"),
        ("string", r"a\nb"), ("string", r"a\\nb"), ("string", r"C:\\"), ("string", "a,b"), ("string", '"'),
        ("integer", str(2**70)), ("string", str(2**70)),
    ]  # fmt: skip
    (micro,) = [row for row in cells(out) if row["metric"] == "f1_micro"]
    assert (micro["part"], micro["kind"], micro["label"]) == ("all", "", "")
    header = "part,examples,metric,kind,label,value"
    assert out.splitlines()[0] == header


def test_raw_leaves_labels_as_they_are(run):
    labels = [label for label in LABELS if "\x1b" not in str(label)]  # `run` forbids it in what is written
    se.Evaluator(["f1_per_label"], labels=labels).save("state")
    rows = cells(run("show", "state", "-f", "csv", "--raw").out)
    assert [row["label"] for row in rows] == [str(label) for label in labels]


def test_each_label_has_a_record_in_json(run, hostile):
    out = run("show", "state", "-f", "json").out
    assert out.replace("\n", "").isprintable()
    content = json.loads(out)
    assert content["metrics"]["recall_per_label"] == [{"label": label, "value": hostile[label]} for label in LABELS]
    assert [row["label"] for row in content["labels"]] == LABELS
    assert [row["recall"] for row in content["labels"]] == list(hostile.values())


def test_each_label_has_a_cell_in_markdown(run, hostile):
    out = run("show", "state", "-f", "markdown", "--top", "100").out
    table = out[out.index("| label") :].splitlines()[2:]
    assert len({line.split(" | ")[0] for line in table}) == len(table) == len(LABELS)
    assert r"| '\\x1b\]0;x\\x07' " not in out
    assert r"| \\x1b\]0;x\\x07 " in out


SLICES = [None, True, 1, "1", "True", "None", "OTHER", "", "'", "=x", "x, b=y"]


def test_each_slice_has_cells_and_records_and_a_place_in_the_page(run, tmp_path):
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by=("a", "b"), cross=[("a", "b")], values={"a": SLICES})
    for value in [*SLICES, "another"]:
        sliced.update({"x"}, {"x"}, where={"a": value, "b": "z"})
    sliced.save("state")
    out = run("show", "state", "-f", "csv", "--report", "r.html").out
    rows = [(row["by_a"], row["by_b"]) for row in cells(out) if row["part"] == "slice"]
    first = ["None", "True", "1", "'1", "'True", "'None", "'OTHER", "'", "''", "'=x", "x, b=y", "OTHER"]
    assert rows[: len(first)] == [(cell, "") for cell in first]
    assert len(set(rows)) == len(rows) == 2 * len(first) + 1
    parts = json.loads(run("show", "state", "-f", "json").out)["slices"]
    assert [part["where"] for part in parts[: len(first)]] == [*({"a": value} for value in SLICES), None]
    assert {tuple(part["by"]) for part in parts} == {("a",), ("b",), ("a", "b")}
    assert len({json.dumps([part["by"], part["where"]]) for part in parts}) == len(parts)
    table = run("show", "state", "-f", "markdown").out.split("\n\n")[2].splitlines()[2:]
    assert len({line.split(" | ")[0] for line in table}) == len(table) == len(first)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    quoted = (f"&#x27;{name}&#x27;" for name in ("1", "None", "True", "OTHER"))
    assert all(f">a = {name}<" in page for name in ("1", "None", *quoted))


def test_thresholds_of_labels_that_look_alike_are_read_back(run, tmp_path):
    rows = [{"t": [7], "s": [[7, 0.9], ["7", 0.3]]}, {"t": ["7"], "s": [[7, 0.5], ["7", 0.2]]}]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "--save", "t.json").code == 0
    saved = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert saved["thresholds"] == [{"label": 7, "threshold": 0.9}, {"label": "7", "threshold": 0.2}]
    ran = run("evaluate", "s.jsonl", "-a", "t", "-s", "s", "-t", "t.json", "-m", "precision_per_label", "-f", "json")
    assert json.loads(ran.out)["metrics"]["precision_per_label"] == [
        {"label": 7, "value": 1.0}, {"label": "7", "value": 0.5},
    ]  # fmt: skip
    assert run("thresholds", "s.jsonl", "-a", "t", "-s", "s", "-f", "csv").out.splitlines()[1].startswith("integer,7,")


@pytest.mark.parametrize(
    "content", ["[]", '{"thresholds": [{"label": 1}]}', '{"thresholds": [3]}', '{"thresholds": 3}', "7"]
)
def test_thresholds_of_another_form_are_refused(run, tmp_path, content):
    (tmp_path / "t.json").write_text(content, encoding="utf-8")
    ran = run("evaluate", "-", "-a", "t", "-s", "s", "-t", "t.json", stdin=b'{"t":[],"s":{}}\n')
    assert (ran.code, "t.json: it must hold one object label: number" in ran.err) == (2, True)


def test_comparisons_have_a_row_for_each_label(run):
    for name in ("metric", "label"):
        ev = se.Evaluator(["f1_per_label", "f1_micro"])
        ev.update({7, "7"}, {7})
        ev.save(name)
    rows = cells(run("compare", "metric", "label", "-f", "csv").out)
    assert rows[:2] == [
        {"metric": "f1_per_label", "kind": "integer", "label": "7", "first": "1.0", "second": "1.0"},
        {"metric": "f1_per_label", "kind": "string", "label": "7", "first": "0.0", "second": "0.0"},
    ]
    printed = json.loads(run("compare", "metric", "label", "-f", "json").out)
    assert printed[0]["first"] == [{"label": 7, "value": 1.0}, {"label": "7", "value": 0.0}]


def test_json_says_why_a_metric_has_no_value(run):
    ev = se.Evaluator(["roc_auc_micro"])
    ev.update({"a"}, {"a": 0.5})
    ev.save("state")
    content = json.loads(run("show", "state", "-f", "json").out)
    assert content["metrics"] == {"roc_auc_micro": None}
    assert content["errors"] == {"roc_auc_micro": "it is 0/0"}
    ev = se.Evaluator(["log_loss_macro"])
    ev.update({"a"}, {"a": 7.0})
    ev.save("state")
    assert "needs probabilities" in json.loads(run("show", "state", "-f", "json").out)["errors"]["log_loss_macro"]
