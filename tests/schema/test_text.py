"""Labels in text formats: escapes can be undone, and different labels have different text."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from streameval.schema.text import (
    csv_cell,
    cut_distinct,
    json_content,
    json_text,
    label_text,
    markdown_cell,
    mlflow_label,
    prometheus_label,
    quoted,
    shortened,
    type_text,
)
from tests.support.effort import cases

HARD = "\\'=+-@\t\r\n\x1b\x9b\u2028\u202ex7nu_.#0 é|<&*`[~"
STRINGS = st.one_of(
    st.text(HARD, max_size=6),
    st.text(max_size=8),
    st.sampled_from(["", ".", "..", "None", "True", "7", "-7", "0x1", "=cmd|' /C calc'!A0", "&lt;", "<img onerror=x>"]),
)
INTEGERS = st.one_of(st.integers(-9, 9), st.integers())
HUGE = 10**5000  # more digits than Python writes
LABELS = st.one_of(STRINGS, INTEGERS)


def undone(text: str) -> str:
    """The string before control characters and backslashes were escaped."""
    one = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
    pattern = r"\\(\\|[tnr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
    return re.sub(pattern, lambda mark: one.get(mark[0]) or chr(int(mark[1][1:], 16)), text)


def is_visible(text: str) -> bool:
    return re.sub("(?<=[^\0-\x7f])[\u200c\u200d](?=[^\0-\x7f])", "", text).isprintable()


def through_csv(cell: str) -> str:
    """The value that a CSV reader reads from a cell."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow([cell, "end"])
    ((read, _),) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    return read


@settings(max_examples=cases(500))
@given(STRINGS)
def test_strings_in_csv_can_be_read_back_and_are_no_formulas(label: str):
    cell = through_csv(csv_cell(label))
    assert is_visible(cell)
    assert not cell.startswith(("=", "+", "-", "@"))
    assert undone(cell.removeprefix("'")) == label
    assert cell.startswith("'") is label.startswith(("=", "+", "-", "@", "\t", "\r", "'"))
    assert csv_cell(label, raw=True) == label


def test_letters_and_emoji_that_are_joined_stay_joined():
    for label in ("می\u200cشود", "👩\u200d👩\u200d👧"):
        assert label_text(label) == csv_cell(label) == label
    assert label_text("a\u200cb é\u200d\u200dé é\u200d") == r"a\u200cb é\u200d\u200dé é\u200d"


@given(INTEGERS)
def test_numbers_in_csv_stay_as_they_are(number: int):
    assert int(csv_cell(number)) == number
    assert int(csv_cell(HUGE), 16) == HUGE
    assert csv_cell(number) == csv_cell(number, raw=True) == csv_cell(number, typed=True)
    assert csv_cell(-0.5) == "-0.5"


@settings(max_examples=cases(500))
@given(LABELS)
def test_markdown_shows_the_label_and_no_markup(label: str | int):
    text = label_text(label)
    row = f"| a | b |\n|---|---|\n| {markdown_cell(text)} | x |\n"
    parsed = MarkdownIt("js-default", {"html": True, "linkify": False}).parse(row)
    cell = [token for token in parsed if token.type == "inline"][2]
    assert {child.type for child in cell.children} == {"text"}
    assert "".join(child.content for child in cell.children) == text
    assert undone(text[1:-1] if text[0] == "'" else text) == str(label)


@given(st.recursive(LABELS.filter(lambda label: isinstance(label, str)), st.lists))
def test_json_text_is_printable_and_reads_back_equal(value: object):
    text = json_text(value, indent=1)
    assert text.replace("\n", "").isprintable()
    assert json.loads(text) == value


def test_integers_of_more_digits_than_python_writes_are_strings_in_json():
    value = {"labels": [1, 10**5000, ("a", None)], 10**5000: {"x": math.nan}}
    expected = {"labels": [1, f"{10**5000:#x}", ["a", None]], f"{10**5000:#x}": {"x": None}}
    assert json.loads(json_text(value)) == json_content(value) == expected


def label_of_mlflow(text: str) -> str:
    return re.sub("_x([0-9a-f]*)_", lambda mark: chr(int(mark[1], 16)) if mark[1] else "", text)


@settings(max_examples=cases(500))
@given(STRINGS)
def test_strings_in_prometheus_and_mlflow_can_be_read_back(label: str):
    for mixed in (False, True):
        escaped = prometheus_label(label, mixed=mixed)
        assert escaped
        assert is_visible(escaped)
        assert undone(escaped[1:-1] if escaped[0] == "'" else escaped) == label
        name = mlflow_label(label, mixed=mixed)
        assert re.fullmatch("[A-Za-z0-9_. -]+", name)
        assert name.strip(".")
        assert label_of_mlflow(name) == label


FORMS = {
    "csv": lambda label: (csv_cell(label), type(label)), "slice": lambda label: csv_cell(label, typed=True),
    "markdown": lambda label: markdown_cell(label_text(label, mixed=True)),
    "prometheus": lambda label: prometheus_label(label, mixed=True),
    "mlflow": lambda label: mlflow_label(label, mixed=True),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@settings(max_examples=cases(300))
@given(st.lists(LABELS, unique_by=lambda label: (type(label), label)))
@example(
    ["\n", "\\n", "\\\n", "", "''", "'", "7", 7, "'7'", "'7", "#7", "_x_7", "_x_", "_empty_", "a/b", "a_x2f_b", "_x2f?"]
)
def test_different_labels_have_different_text(form, labels: list[str | int]):
    labels = [*labels, HUGE, HUGE + 1, -HUGE, hex(HUGE)]
    assert len({form(label) for label in labels}) == len(labels)


def test_long_names_are_cut_to_names_that_stay_different():
    names = ["a" * 199, "a" * 200, "a" * 201, "a" * 5000, "a" * 5000 + "b"]
    cut = [shortened(name, 200) for name in names]
    again = [shortened(name, 200) for name in cut]  # names that look like shortened names
    assert cut[0] == names[0]
    assert [len(name) for name in cut[1:]] == [200] * 4
    assert len({*cut, *again[1:]}) == 9


@settings(max_examples=cases(200))
@example([f"category/subcategory-{number}/and a common end" for number in range(30)], 24)
@example(["a" * 30 + "b" * 30 + letter + "b" * 30 + "a" * 30 for letter in "xyz"] + ["aaa…bbb"], 8)
@example(["猫" * 9, "猫" * 10, "猫" * 12, "犬" * 8], 16)
@given(st.lists(st.text("ab…2", max_size=30) | st.text("猫犬", max_size=20)), st.integers(8, 24))
def test_names_cut_in_the_middle_stay_different(names: list[str], width: int):
    shortened = dict(zip(names, cut_distinct(names, width), strict=True))
    assert max(map(cell_len, shortened.values()), default=0) <= width
    assert len(set(shortened.values())) == len(shortened)
    assert all(text == name for name, text in shortened.items() if cell_len(name) <= width)


def test_a_shortened_name_retains_both_ends():
    assert cut_distinct(["department of water/permits/new wells", "short"], 20) == ["department…new wells", "short"]
    taken = ["abcd…wxyz", "abc…XXXX…", "abcdXXX…2"]  # names to which longer names would be cut
    assert cut_distinct([*taken, "abcdXXXXwxyz"], 9) == [*taken, "abcdXXX…3"]
    names = ["category/subcategory-1/the end of all", "category/subcategory-2/the end of all"]
    assert cut_distinct(names, 25) == ["category…1/the end of all", "category…2/the end of all"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.string(), "strings"),
        (pa.list_(pa.large_string()), "lists of strings"),
        (pa.large_list_view(pa.string_view()), "lists of strings"),
        (pa.list_(pa.list_(pa.bool_()), 3), "lists of lists of booleans"),
        (pa.list_(pa.int64()), "lists of 64-bit integers"),
        (pa.map_(pa.string(), pa.float32()), "map<string, float>"),
        (pa.struct({"\x1b": pa.string()}), "struct<\\x1b: string>"),
        (pa.timestamp("us"), "timestamp[us]"),
        (pa.decimal128(5, 2), "decimal128(5, 2)"),
    ],
)
def test_types_of_arrow_are_named_in_words(kind: pa.DataType, text: str):
    assert type_text(kind) == text


def test_a_repr_of_many_lines_is_quoted_on_one_line():
    class Pipeline:
        def __repr__(self) -> str:
            return "Pipeline (\n  Scaler (\n    mean  0\n  )\n)"

    assert quoted(Pipeline()) == "Pipeline ( Scaler ( mean 0 ) )"
    assert quoted("a  b\n") == r"'a  b\n'"
    assert [quoted("caf\u00e9"), quoted(["e\u0301"])] == ["'caf\u00e9'", r"['e\u0301']"]  # combining characters
