"""CSV and JSON are read in Python as in the shell, and cells as the program that wrote them meant them."""

from __future__ import annotations

import gc
import gzip
import io
import json
import math
import os
import warnings
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streameval as se
from streameval.tabular.cells import list_of

ROWS = [
    {"tags": ["cat", "bird"], "guess": ["cat", "dog"], "w": 2.0, "region": "eu"},
    {"tags": ["dog"], "guess": [], "w": 1.0, "region": "us"},
    {"tags": ["a b", "c,d"], "guess": ["c,d"], "w": 0.5, "region": "eu"},
]
LISTS = [["cat", "bird"], ["dog"], [], ["cat", "a 'b'", 'c "d"']]


def expected(rows: list[dict[str, Any]] = ROWS, **options: Any) -> se.Evaluator:
    ev = se.Evaluator(**options)
    ev.update_many([row["tags"] for row in rows], [row["guess"] for row in rows])
    return ev


def evaluated(source: object, **options: Any) -> Any:
    return se.evaluate_table(source, actual="tags", predicted="guess", **options)


def lines(rows: list[dict[str, Any]] = ROWS) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def cells(rows: list[dict[str, Any]] = ROWS, delimiter: str = ",") -> str:
    text = [["|".join(value) if isinstance(value, list) else str(value) for value in row.values()] for row in rows]
    quote = '"{}"'.format
    return "\n".join(delimiter.join(map(quote, line)) for line in [[*rows[0]], *text]) + "\n"


FILES = {
    "a.jsonl": lines(), "a.ndjson": lines(), "lines.json": lines(), "array.json": json.dumps(ROWS, indent=1),
    "marked.json": "\ufeff" + json.dumps(ROWS), "a.csv": cells(), "a.tsv": cells(delimiter="\t"),
    "semicolons.csv": cells(delimiter=";"), "tabs.txt": cells(delimiter="\t"), "marked.csv": "\ufeff" + cells(),
    "spaces.csv": cells().replace('","', '", "', 1).replace('"tags", "guess"', "tags, guess", 1),
    "blank.csv": "\n" + cells().replace("\n", "\r\n\r\n"), "a.jsonl.gz": lines(), "a.csv.gz": cells(),
}  # fmt: skip


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", FILES)
def test_files_of_text_are_recognised_by_their_names_and_first_bytes(name: str, tmp_path: Path):
    path = written(tmp_path, name, FILES[name])
    assert evaluated(path) == expected()
    weighted = se.Evaluator()
    weighted.update_many([r["tags"] for r in ROWS], [r["guess"] for r in ROWS], weights=[r["w"] for r in ROWS])
    assert evaluated(str(path), weight="w", by="region").total() == weighted


def test_names_of_folders_are_columns_for_files_of_text_too(tmp_path: Path):
    root = tmp_path / "guess=x"  # the column of the file takes precedence
    for region in ("eu", "us"):
        rows = [{name: value for name, value in row.items() if name != "region"} for row in ROWS]
        written(tmp_path, f"guess=x/region={region}/a.csv", cells(rows))
        written(tmp_path, f"guess=x/region={region}/b.jsonl", lines(rows))
    for source in (root, os.fspath(root / "*" / "*"), os.fspath(root / "region=*"), [*root.glob("*/*")]):
        result = evaluated(source, by="region")
        assert result["eu"] == result["us"] == expected(ROWS * 2)


def test_a_file_that_a_pattern_matches_directly_and_in_a_folder_is_read_once(tmp_path: Path):
    written(tmp_path, "days/1/a.jsonl", lines())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluated(str(tmp_path / "days" / "**")) == expected()


def test_an_iterable_may_contain_rows_and_tables():
    table = pa.Table.from_pylist(ROWS)
    for source in (ROWS, iter(ROWS), [*ROWS[:1], table[1:2], ROWS[2]], table.to_batches(max_chunksize=1)):
        assert evaluated(source) == expected()
    with pytest.raises(se.InputError, match=r"^row 1: column 'guess' is the string 'a'"):
        evaluated([ROWS[0], {"tags": ["a"], "guess": "a"}])
    with pytest.raises(se.InputError, match=r"^row 3: column 'w': weight must be finite and not negative, not -1.0"):
        evaluated([table, {**ROWS[0], "w": -1.0}], weight="w")


def test_arrow_streams_are_read_from_files_and_from_what_hugging_face_saves(tmp_path: Path):
    table = pa.Table.from_pylist(ROWS)
    folder = tmp_path / "saved" / "train"
    folder.mkdir(parents=True)
    for number in range(2):
        with pa.ipc.new_stream(folder / f"data-{number:05}-of-00002.arrow", table.schema) as writer:
            writer.write_table(table[number : number + 1])
    files = [{"filename": f"data-{number:05}-of-00002.arrow"} for number in range(2)]
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    (folder / "dataset_info.json").write_text("{}")
    assert evaluated(folder / "data-00000-of-00002.arrow") == expected(ROWS[:1])
    assert evaluated(folder, by="region").total() == expected(ROWS[:2])
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(se.InputError, match="holds datasets; give one of train, test in it"):
        evaluated(tmp_path / "saved")
    with pa.ipc.new_stream(tmp_path / "w.arrow", table.schema) as writer:
        writer.write_table(pa.Table.from_pylist([{**ROWS[0], "w": -1.0}], table.schema))
    with pytest.raises(se.InputError, match=r"w.arrow: row 1: column 'w': weight must be finite"):
        evaluated(tmp_path / "w.arrow", weight="w")


class Dataset:
    """A stand-in with the methods of a Hugging Face dataset that are called."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.column_names = table, table.column_names

    def with_format(self, form: str) -> Dataset:
        assert form == "arrow"
        return self

    def select_columns(self, names: list[str]) -> Dataset:
        return Dataset(self.table.select(names))

    def iter(self, batch_size: int) -> Any:
        return (self.table[start : start + batch_size] for start in range(0, len(self.table), batch_size))

    def __iter__(self) -> Any:
        return iter(self.table.to_pylist())


def test_a_dataset_of_hugging_face_is_read_in_batches_or_by_rows_if_its_columns_are_unknown():
    dataset = Dataset(pa.Table.from_pylist(ROWS))
    assert evaluated(dataset, batch_size=2) == expected()
    dataset.column_names = None
    assert evaluated(dataset) == expected()


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz"])
def test_a_row_that_is_too_long_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streameval.tabular.text.BLOCK", 64)
    monkeypatch.setattr("streameval.tabular.text._LONGEST", 512)
    rows = [*ROWS, {**ROWS[0], "tags": ["a" * 900]}, ROWS[1]]
    text = lines(rows) if "json" in name else cells(rows)
    with pytest.raises(se.InputError, match=rf"{name}:[45]: this row is longer than 0 MiB; is a quotation mark or"):
        evaluated(written(tmp_path, name, text))


# -- cells ------------------------------------------------------------------------------------------------------------

WRITTEN = {
    "pandas": (str, LISTS),
    "JSON": (json.dumps, LISTS),
    "JSON of JSON": (lambda row: json.dumps(json.dumps(row)), LISTS),
    "numpy": (lambda row: str(np.array(row, object)), LISTS),
    "Postgres": (lambda row: "{" + ",".join(map(json.dumps, row)) + "}", LISTS),
    "Postgres, plain": (lambda row: "{" + ",".join(row) + "}", [["cat", "a-b"], ["dog"], []]),
    "Postgres, booleans": (lambda row: "{" + ",".join("ft"[cell] for cell in row) + "}", [[True, False], [True, True]]),
    "tuples": (lambda row: str(tuple(row)), LISTS),
    "sets": (lambda row: str(set(row)), [["cat"], ["dog"], []]),
    "arrays": (lambda row: repr(np.array(row, object)), [["cat", "bird"], ["dog"], []]),
    "arrays of strings": (lambda row: repr(np.array(row)), [["cat", "bird"], ["dog"]]),
    "views and queues": (lambda row: repr(deque(row, maxlen=9 if row else None)), LISTS),
    "counters": (lambda row: repr(Counter(row)), [["cat", "bird"], ["dog"], []]),
    "elements of numpy": (lambda row: f"[{', '.join(f'np.str_({label!r})' for label in row)}]", LISTS),
    "flags of numpy": (lambda row: "{" + ", ".join(f"{label!r}: np.True_" for label in row) + "}", LISTS),
    "integers of numpy": (lambda row: f"[{', '.join(f'np.int64({label})' for label in row)}]", [[1, 2], [7], [], [0]]),
    "numbers of JSON": (json.dumps, [[1, 2], [7], [], [0]]),
    "numbers of numpy": (lambda row: str(np.array(row, int)), [[1, 2], [7], [], [0]]),
}


def test_quotes_around_labels_and_a_single_bracket_are_parts_of_labels():
    column = ['"a", "b"', '"a"', "[", "{"]
    result = evaluated(pa.table({"tags": column, "guess": column}), sep=",")
    assert result.labels == ('"a"', '"b"', "[", "{")


def test_lists_without_quotes_are_read_where_commas_separate_labels(tmp_path: Path):
    cells = {"tags": ["[cat, New York]", "[dog]", "[]"], "guess": ["[cat]", "[dog, C++]", "[]"]}
    table = pa.table(cells)  # as DuckDB, Java and Spark write them
    lists = {"tags": [["cat", "New York"], ["dog"], []], "guess": [["cat"], ["dog", "C++"], []]}
    pa.csv.write_csv(table, tmp_path / "a.csv")
    assert evaluated(tmp_path / "a.csv", sep=",") == evaluated(table, sep=",") == evaluated(pa.table(lists))
    with pytest.raises(
        se.InputError, match=r"a.csv:2: the cell .* write it; if commas separate its labels, give sep=','"
    ):
        evaluated(tmp_path / "a.csv")
    for cell in ("[3d]", "[cat, 7]", "[cat, null]", "[a, ]", "[a, [b]]", "[cat, dog", "[a, NaN]", "[a 'b']"):
        pa.csv.write_csv(pa.table({"tags": [cell], "guess": ["[cat]"]}), tmp_path / "a.csv")
        with pytest.raises(se.InputError, match=r"Postgres write it$"):
            evaluated(tmp_path / "a.csv", sep=",")


@pytest.mark.parametrize("digits", [f"{2**64}", f"{-(2**63) - 1}", "1" + "0" * 5000])
def test_integers_in_cells_have_at_most_64_bits(digits: str, tmp_path: Path):
    def read(cell: str) -> tuple[Any, ...]:
        pa.csv.write_csv(pa.table({"tags": [cell], "guess": [cell]}), tmp_path / "a.csv")
        return evaluated(tmp_path / "a.csv").labels

    assert read(f"[{2**64 - 1}, {-(2**63)}]") == (-(2**63), 2**64 - 1)
    with pytest.raises(se.InputError, match=f"a.csv:2: the integer {digits[:9]}.* needs more than 64 bits; write"):
        read(f"[1, {digits}]")


@pytest.mark.parametrize("form", WRITTEN)
def test_cells_in_which_a_program_wrote_a_list_are_read_as_lists(form: str, tmp_path: Path):
    write, lists = WRITTEN[form]
    table = pa.table({"tags": [write(row) for row in lists], "guess": [write(row) for row in lists[::-1]]})
    pa.csv.write_csv(table, tmp_path / "a.csv")
    rows = [{"tags": true, "guess": guess} for true, guess in zip(lists, lists[::-1], strict=True)]
    assert evaluated(tmp_path / "a.csv") == expected(rows)
    for sep in (",", "|"):
        assert evaluated(table, sep=sep) == expected(rows)
        assert evaluated(table.to_pylist(), sep=sep) == expected(rows)


@pytest.mark.parametrize(
    "cell",
    [
        "[a, b]",
        "[1 ... 9]",
        "{a:1}",
        "[1, 2",
        "['a', None]",
        "{a,NULL}",
        "{a b}",
        "['a' 1",
        "['a', 'b'",
        '{"a": 0.9, "b": ',
        '{t,f,"a}',
        "{('a', 'b')}",
        "[0, 10)",
        "(0, 10]",
        "[x] b",
        "print()",
        "f(x)",
        "a (b [c])",
        "Index(['a'], dtype='object')",
        "defaultdict(<class 'int'>, {'a': 1})",
        "OrderedDict([('a', 1)])",
    ],
)
def test_cells_that_only_resemble_written_lists_are_refused_or_labels(cell: str, tmp_path: Path):
    pa.csv.write_csv(pa.table({"tags": ["b", cell], "guess": ["a", "b"]}), tmp_path / "a.csv")
    if cell[0] in "IdO" or (cell[0] in "[{" and cell not in ("[0, 10)", "[x] b")):
        with pytest.raises(se.InputError, match=r"a.csv:3: (the cell .* is not a list|column 'tags')"):
            evaluated(tmp_path / "a.csv")
    else:
        assert cell in evaluated(tmp_path / "a.csv").labels


@pytest.mark.parametrize(
    "write", [str, json.dumps, lambda row: str(np.array(row)), lambda row: "|".join(map(str, row))]
)
def test_cells_of_0_and_1_are_refused_as_lists_are(write: Any, tmp_path: Path):
    table = pa.table({"tags": [write([1, 0, 1]), write([0, 1, 1])], "guess": [write([1, 1, 1])] * 2})
    pa.csv.write_csv(table, tmp_path / "a.csv")
    with pytest.raises(se.InputError, match=r"a.csv:2: column 'tags' is \['?1'?, '?0'?, '?1'?\], which may be indic"):
        evaluated(tmp_path / "a.csv")
    indicators = se.Evaluator()
    indicators.update_many(np.array([[1, 0, 1], [0, 1, 1]]), np.ones((2, 3)))
    assert evaluated(tmp_path / "a.csv", rows="indicator") == indicators


def test_scores_and_flags_may_be_in_cells(tmp_path: Path):
    scores = [{"cat": 0.9, "dog": 0.2}, {"cat": 0.1, "a:b": 0.7}]
    forms = [
        lambda row: "|".join(f"{label}:{value}" for label, value in row.items()), json.dumps, str,
        lambda row: json.dumps([*row.items()]), lambda row: str([*row.items()]),
        lambda row: str({label: np.float64(value) for label, value in row.items()}),
        lambda row: "{" + ", ".join(f"{label!r}: np.float32({value})" for label, value in row.items()) + "}",
    ]  # fmt: skip
    own = se.Evaluator(["f1_micro"], threshold=0.5, keep=["curves"])
    own.update_many([{"cat"}, {"a:b"}], scores)
    for form in forms:
        pa.csv.write_csv(pa.table({"tags": ["cat", "a:b"], "p": [form(row) for row in scores]}), tmp_path / "a.csv")
        empty = se.Evaluator(["f1_micro"], threshold=0.5, keep=["curves"])
        assert se.evaluate_table(tmp_path / "a.csv", actual="tags", scores="p", metrics=empty) == own
    pa.csv.write_csv(pa.table({"tags": ["cat", "dog"], "p": ["{0.9,2e-1}", "{0,1}"]}), tmp_path / "a.csv")  # Postgres
    read = se.evaluate_table(tmp_path / "a.csv", actual="tags", scores="p", threshold=0.5, labels=["cat", "dog"])
    assert read.get("subset_accuracy") == 1.0
    pa.csv.write_csv(pa.table({"tags": ["{a}", "{}"], "q": ["{a,b}", "{}"], "p": ["{1,.2}", "{}"]}), tmp_path / "a.csv")
    read = se.evaluate_table(tmp_path / "a.csv", actual="tags", predicted="q", scores="p", threshold=0.5)
    assert read.get("subset_accuracy") == 1.0
    pa.csv.write_csv(pa.table({"tags": ["{'cat': 1, 'dog': 0}"], "guess": ['{"cat": true}']}), tmp_path / "a.csv")
    assert evaluated(tmp_path / "a.csv") == expected([{"tags": {"cat": 1, "dog": 0}, "guess": {"cat": True}}])
    written(tmp_path, "a.csv", "tags,p\ncat,cat:0.9\ncat,cat\n")
    with pytest.raises(se.InputError, match=r"a.csv:3: column 'p' must hold scores like cat:0.9\|dog:0.2, not 'cat'"):
        se.evaluate_table(tmp_path / "a.csv", actual="tags", scores="p", threshold=0.5)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("{t,f}", [True, False]), ("{t}", ["t"]), ("[t, f]", ["t", "f"]), ("[true False]", [True, False]),
        ("[0.5 nan]", [0.5, math.nan]), ("np.int64(3),b", ["np.int64(3)", "b"]),
    ],
)  # fmt: skip
def test_the_type_of_a_word_in_a_cell_depends_on_the_brackets_around_it(cell: str, value: list[Any]):
    assert repr(list_of(cell, ",")) == repr(value)


def test_scores_in_a_cell_belong_to_the_labels_in_another_cell():
    empty = se.Evaluator(["one_error"], threshold=0.5)
    read = evaluated([{"tags": "a", "guess": "a|b", "s": "0.9|9007199254740993.5"}], scores="s", sep="|", metrics=empty)
    empty.update({"a"}, {"a": 0.9, "b": 9007199254740994.0})
    assert read == empty
    with pytest.raises(se.InputError, match=r"column 's' must hold scores like 0.9\|0.2, not 'x\|0.5'"):
        evaluated([{"tags": "a", "guess": "a|b", "s": "x|0.5"}], scores="s", sep="|", threshold=0.5)


@pytest.mark.parametrize("text", ['{"tags": ["a"], "guess": []}\n', ' [\n {"tags": ["a"], "guess": []}]'])
def test_a_file_that_begins_like_json_is_read_as_json_whatever_its_name(tmp_path: Path, text: str):
    for name in ("a.csv", "a.tsv", "a.txt"):
        (tmp_path / name).write_text(text)
        assert evaluated(tmp_path / name).labels == ("a",)


def test_an_empty_file_among_files_is_refused(tmp_path: Path):
    (tmp_path / "a.jsonl").write_bytes(b'{"tags": ["a"], "guess": []}\n')
    (tmp_path / "b.jsonl").touch()
    with pytest.raises(se.InputError, match=r"b.jsonl is empty; leave it out: \[\*filter\(os.path.getsize, paths\)\]$"):
        evaluated(f"{tmp_path}/*.jsonl")


def test_strings_in_tables_and_rows_are_split_at_sep_and_refused_without():
    table = pa.table({"tags": ["cat, bird", "dog", None], "guess": ["cat,dog", "", "dog"]})
    rows = [{"tags": ["cat", "bird"], "guess": ["cat", "dog"]}, {"tags": ["dog"], "guess": []}]
    rows += [{"tags": [], "guess": ["dog"]}]
    for source in (table, table.to_pandas(), table.to_pylist(), table.cast(pa.schema(
        [(name, pa.dictionary(pa.int32(), pa.string())) for name in table.column_names]))):  # fmt: skip
        assert evaluated(source, sep=",", null="empty") == expected(rows)
        with pytest.raises(se.InputError, match=r"column 'tags'.* split (them|strings) with sep=','"):
            evaluated(source, null="empty")


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (
            ["cat,dog", "cat", "dog"],
            "no cell of column 'tags' holds the separator '|', but some hold ',', such as 'cat",
        ),
        (["cat dog", "dog cat", ""], "but some hold ' ', such as 'cat dog'; if this separates labels, give sep=' '"),
        (["cat - dog", "dog - cat", ""], "such as 'cat - dog'; if this separates labels, give sep=' - '"),
        (["cat,dog", "bird,cat"], "but some hold ','"),  # the part "dog" is a cell of the other column
        (["cat; dog", "dog", "cat"], "but some hold ';'"),
        (["cat, dog", "dog", "bird", "fish"], "but some hold ','"),
        *(
            ([f"cat{mark}dog", f"dog{mark}bird", "bird"], f"but some hold {mark!r}")
            for mark in "\n+&:#\u3001\uff0c\uff1b"
        ),
        (["cat|None", "dog"], "column 'tags' holds the label 'None', which may stand for no label"),
        *(([mark, "dog"], f"holds the label '{mark}'") for mark in ("nan", "NA", "N/A", "n/a", "none", "-")),
        (["\\N", "dog"], "holds the label '\\\\N'"),
    ],
)
def test_cells_that_are_probably_misread_are_warned_of_once(tags: list[str], message: str, tmp_path: Path):
    pa.csv.write_csv(pa.table({"tags": tags * 2, "guess": ["dog"] * 2 * len(tags)}), tmp_path / "a.csv")
    with pytest.warns(se.DataWarning) as caught:
        evaluated(tmp_path / "a.csv", batch_size=1)
    assert [message in str(one.message) for one in caught] == [True]


@pytest.mark.parametrize("sep", [",", "; ", " ", " / "])
def test_scores_without_the_separator_are_warned_of_like_labels_without_it(sep: str, tmp_path: Path):
    rows = [(["cat", "dog"], [0.9, 0.2]), (["dog", "bird"], [1, 3e-1]), (["cat", "bird"], [0.3, 0.75])]
    scores = [sep.join(f"{label}:{value}" for label, value in zip(*row, strict=True)) for row in rows]
    pa.csv.write_csv(pa.table({"tags": ["cat", "dog", "bird"], "p": scores}), tmp_path / "a.csv")
    options: dict[str, Any] = {"actual": "tags", "scores": "p", "threshold": 0.5, "metrics": ["f1_micro"]}
    with pytest.warns(se.DataWarning, match=r"column 'p' holds the separator '\|', but some hold"):
        se.evaluate_table(tmp_path / "a.csv", **options)
    read = se.evaluate_table(tmp_path / "a.csv", **options, sep=sep)
    assert read.labels == ("bird", "cat", "dog")
    one = [
        f"{label}:0.{number}" for number, label in enumerate(["Doe, J", "Roe, R", "Doe, J", "1/2", "at 10:30, late"])
    ]
    pa.csv.write_csv(pa.table({"tags": ["Doe, J", "Roe, R", "Doe, J", "1/2", "Poe"], "p": one}), tmp_path / "a.csv")
    se.evaluate_table(tmp_path / "a.csv", **options)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", None])
def test_strings_in_json_and_mappings_are_split_at_sep_and_a_wrong_one_is_warned_of(name: str | None, tmp_path: Path):
    rows = [{"tags": tags, "guess": "dog"} for tags in ("cat|dog", "cat", "dog")]
    contents = {"a.json": json.dumps(rows), "a.jsonl": lines(rows)}
    source = rows if name is None else written(tmp_path, name, contents[name])
    with pytest.raises(se.InputError, match=r"is the string 'cat\|dog'; split strings with sep='\|' or another"):
        evaluated(source)
    with pytest.warns(se.DataWarning, match=r"some hold '\|', such as 'cat\|dog'; if .* give sep='\|'") as caught:
        evaluated(source, sep=",")
    assert len(caught) == 1
    assert evaluated(source, sep="|").labels == ("cat", "dog")


def test_labels_that_hold_commas_and_slashes_are_not_warned_of(tmp_path: Path):
    labels = [f"{first} and more, {second}/{first * second}" for first in range(1, 30) for second in range(30)]
    tags = labels * 12
    pa.csv.write_csv(pa.table({"tags": tags, "guess": tags[::-1]}), tmp_path / "a.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluated(tmp_path / "a.csv").examples == len(tags)
        pa.csv.write_csv(pa.table({"tags": ["New York", "New Haven"], "guess": ["York", "Haven"]}), tmp_path / "a.csv")
        assert evaluated(tmp_path / "a.csv", sep="|").examples == 2
        for tags in (["A", "A+", "B", "B+"], ["C", "C++", "C#", "F#"], ["a:b", ":a", "b"]):
            pa.csv.write_csv(pa.table({"tags": tags, "guess": tags[::-1]}), tmp_path / "a.csv")
            assert evaluated(tmp_path / "a.csv").labels == tuple(sorted(tags))
        pa.csv.write_csv(
            pa.table({"tags": ["('a', 'b')", "('b', 'a')", "('a',)"], "guess": ["a"] * 3}), tmp_path / "a.csv"
        )
        assert evaluated(tmp_path / "a.csv").labels == ("a", "b")


@pytest.mark.parametrize("flags", [("True", "False"), ("true", "false"), ("1.0", "0.0")])
def test_cells_of_booleans_are_taken_for_indicators_and_not_for_labels(flags: tuple[str, str], tmp_path: Path):
    rows = ["|".join(flags[number >> place & 1] for place in range(3)) for number in range(8)]
    pa.csv.write_csv(pa.table({"tags": rows, "guess": rows[::-1]}), tmp_path / "a.csv")
    with pytest.raises(se.InputError, match=r"column 'tags' holds rows of indicators; write .* 1 for yes"):
        evaluated(tmp_path / "a.csv")
    pa.csv.write_csv(pa.table({"tags": flags, "guess": ["x", "y"]}), tmp_path / "a.csv")  # each cell is one label
    with pytest.warns(
        se.DataWarning, match=rf"column 'tags' holds only '{flags[0]}' and .* as labels; .* write 1 for yes"
    ):
        assert evaluated(tmp_path / "a.csv").labels == tuple(sorted([*flags, "x", "y"]))
    for options in ({"rows": "labels"}, {"rows": "labels", "metrics": se.Evaluator}, {"rows": "labels", "by": "tags"}):
        if made := options.get("metrics"):
            options = {"metrics": made(rows="labels")}
        with warnings.catch_warnings(action="error"):
            assert evaluated(tmp_path / "a.csv", **options).examples == 2


@pytest.mark.parametrize(("name", "text"), [
    ("a.csv", "tags,guess\n{0},x\n"), ("a.json", "{0}"), ("a.json", '[{{"tags": {0}, "guess": []}}]'),
    ("a.jsonl", '{{"tags": {0}, "guess": []}}'),
])  # fmt: skip
def test_lists_that_are_nested_too_deeply_are_refused(name: str, text: str, tmp_path: Path):
    with pytest.raises(se.InputError, match=r"a\.(csv|json)l?:[12].*(nested too deeply|depth limit|depth exceeded)"):
        evaluated(written(tmp_path, name, text.format("[" * 100_000 + "]" * 100_000)))


def test_the_line_that_names_the_delimiter_for_excel_is_no_header(tmp_path: Path):
    written(tmp_path, "a.csv", "\ufeffsep=;\r\ntags;guess\r\ncat;dog\r\nbird\r\n")
    with pytest.raises(se.InputError, match=r"a.csv:4: 1 cell where the header has 2"):
        evaluated(tmp_path / "a.csv")
    written(tmp_path, "a.csv", "sep=,\ntags,guess\ncat,dog\n")
    assert evaluated(tmp_path / "a.csv").labels == ("cat", "dog")


def test_a_file_that_was_compressed_twice_is_read(tmp_path: Path):
    text = b"tags,guess\ncat,dog\n"
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "a.csv.gz.gz").write_bytes(gzip.compress(gzip.compress(text)))
    assert evaluated(tmp_path / "a.csv.gz.gz") == evaluated(tmp_path / "a.csv") == evaluated(io.BytesIO(text))
    with pytest.raises(se.InputError, match=r"^source:2: 1 cell where"):
        evaluated(io.BytesIO(b"tags,guess\ncat\n"))


def test_what_is_open_as_text_or_is_one_column_is_refused(tmp_path: Path):
    with pytest.raises(se.InputError, match=r"source must be an object, not a class, <class 'pyarrow\.lib\.Table'>"):
        evaluated(pa.Table)
    with pytest.raises(se.InputError, match="binary mode"):
        evaluated(io.StringIO("tags,guess"))
    with pytest.raises(se.InputError, match="source is not an Arrow table"):
        evaluated(pa.chunked_array([LISTS]))
    with pytest.raises(se.InputError, match=r"source is not an Arrow table|a row must be a mapping"):  # pandas 2
        evaluated(pd.Series(LISTS))


def test_cells_of_0_and_1_without_a_separator_are_refused_as_possible_indicators(tmp_path: Path):
    pa.csv.write_csv(pa.table({"tags": ["0101", "1100"], "guess": ["0111", "1000"]}), tmp_path / "a.csv")
    with pytest.raises(se.InputError, match="column 'tags' holds cells such as '0101', which may be rows of indic"):
        evaluated(tmp_path / "a.csv")
    assert evaluated(tmp_path / "a.csv", sep="|").labels == ("0101", "0111", "1000", "1100")
    pa.csv.write_csv(pa.table({"tags": ["Paris (Texas)", "(none)"], "guess": ["a", "b"]}), tmp_path / "a.csv")
    assert evaluated(tmp_path / "a.csv").labels == ("(none)", "Paris (Texas)", "a", "b")


NESTED = [
    {"id": {"n": number}, "o": {"y": row["tags"], "p": {"guess": row["guess"]}}} for number, row in enumerate(ROWS)
]


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "table", "pandas", "polars", "rows"])
def test_a_name_with_a_dot_reads_a_key_of_the_objects_in_a_column(kind: str, tmp_path: Path):
    table = pa.Table.from_pylist(NESTED)
    pq.write_table(table, tmp_path / "a.parquet")
    written(tmp_path, "a.jsonl", lines(NESTED))
    written(tmp_path, "a.json", json.dumps(NESTED))
    made = {"table": table, "pandas": pd.DataFrame(NESTED), "polars": pl.from_arrow(table), "rows": NESTED}
    source = made.get(kind, tmp_path / f"a.{kind}")
    result = se.evaluate_table(source, actual="o.y", predicted="o.p.guess", by="id.n")
    assert result.total() == expected()
    assert result[0] == expected(ROWS[:1])
    with pytest.raises(se.InputError, match=r"no column '(o\.)?z' \(predicted\)"):
        se.evaluate_table(source, actual="o.y", predicted="o.z")
    flat = [{"o": 1, "o.y": row["tags"], "guess": row["guess"]} for row in ROWS]
    assert se.evaluate_table(flat, actual="o.y", predicted="guess") == expected()
    with pytest.raises(se.InputError, match=r"'o\.z'"):
        se.evaluate_table(written(tmp_path, "a.csv", "o,p\na,b\n"), actual="o.z", predicted="p")


@pytest.mark.parametrize("holds", [[{"b": "cat"}], '{"b": ["cat"]}'])
def test_a_name_with_a_dot_is_refused_where_a_column_holds_no_objects(holds: Any, tmp_path: Path):
    path = written(tmp_path, "a.jsonl", lines([{"tags": {"a": holds}, "guess": ["cat"]}]))
    with pytest.raises(se.InputError, match=r"a.jsonl:1: column 'tags.a' must hold objects with 'b', not "):
        se.evaluate_table(path, actual="tags.a.b", predicted="guess")


@pytest.mark.parametrize("block", [16, 2**20])
def test_a_line_that_repeats_the_header_is_no_row(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streameval.tabular.text.BLOCK", block)
    path = written(tmp_path, "a.csv", "id,tags,guess\n1,cat,cat\n2,tags,guess\n\nid,tags,guess\n3,dog,cat\n")
    with pytest.raises(se.InputError, match=r"a.csv:5: this line repeats the header; remove it"):
        evaluated(path)
    plain = written(tmp_path, "b.csv", "id,tags,guess\n1,cat,cat\n2,tags,guess\n3,dog,cat\n")
    rows = [{"tags": [tag], "guess": [guess]} for tag, guess in (("cat", "cat"), ("tags", "guess"), ("dog", "cat"))]
    assert evaluated(plain) == expected(rows)


@pytest.mark.parametrize("header", ["\ufefftags,guess", "tags, guess"])
def test_a_line_repeats_the_header_if_it_equals_the_line_in_the_file(header: str, tmp_path: Path):
    path = written(tmp_path, "a.csv", f"{header}\ncat,cat\n" * 2)
    with pytest.raises(se.InputError, match=r"a.csv:3: this line repeats the header; remove it"):
        evaluated(path)


def test_a_refused_file_is_closed_when_its_error_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, streams, opening = written(tmp_path, "a.csv", "tags,guess\ncat,cat\n" * 2), list[Any](), Path.open
    monkeypatch.setattr(Path, "open", lambda *args: streams.append(opening(*args)) or streams[-1])
    gc.disable()  # the collector would close it later, with a warning
    try:
        with suppress(se.InputError):
            evaluated(path)
        assert [stream.closed for stream in streams] == [True, True]
    finally:
        gc.enable()


def test_a_file_whose_column_names_occur_in_different_rows_takes_the_fast_path(tmp_path, monkeypatch):
    path = written(tmp_path, "a.csv", "tags,guess\ntags,cat\ndog,guess\n")
    monkeypatch.setattr("streameval.tabular.text._Csv.runs", None)
    assert evaluated(path) == expected([{"tags": ["tags"], "guess": ["cat"]}, {"tags": ["dog"], "guess": ["guess"]}])


def test_an_object_of_json_on_several_lines_is_explained(tmp_path: Path):
    path = written(tmp_path, "a.json", '{\n  "tags": ["cat"],\n  "guess": []\n}\n')
    with pytest.raises(se.InputError, match=r"a.json:1:\d: not JSON: .*; write each object on one line"):
        evaluated(path)


@pytest.mark.parametrize("line", [
    '{"tags": ["cat"], "guess": []}{"tags": ["cat"], "guess": []}\n', '{"tags": ["\\ud800"], "guess": []}', "null",
    *(f'{{"tags": ["cat"], "guess": [], "loss": {word}}}' for word in ("NaN", "Infinity", "-Infinity", "Inf", "nan")),
])  # fmt: skip
def test_what_is_not_json_is_refused_whichever_parser_reads_it(line: str, tmp_path: Path):
    for plain in ([], [{"tags": ["dog"], "guess": ["dog"]}]):  # Arrow can parse the row of the second case
        path = written(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in plain) + line + "\n")
        with pytest.raises(se.InputError, match=rf"a\.jsonl:{len(plain) + 1}"):
            evaluated(path)


@pytest.mark.parametrize("inner", [["cat,dog,x"] * 3, ["cat,cat,", "dog,cat,"], ["a, b", "c, d, e"], ["cat,dog,x"]])
def test_a_cell_of_csv_that_holds_rows_is_warned_of_once(inner: list[str], tmp_path: Path):
    lines = ["tags,guess,note", 'cat,dog,"a ""b"""', 'cat,dog,"5 inch', *inner, 'cat,dog,6 inch"', "cat,cat,"]
    (tmp_path / "a.csv").write_text("\n".join([*lines, *lines[2:]]) + "\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert evaluated(tmp_path / "a.csv").examples == 5
    row_like = len(inner) > 1 and inner[0].count(",") == 2
    expected = [f"a quoted cell holds {len(inner)} lines that look like rows"] * row_like
    assert [str(one.message).split(":3: ")[1].split(";")[0] for one in caught] == expected


@pytest.mark.parametrize(("text", "line"), [
    ("id;tags;guess\n1;cat;cat\n;;\n;;\n2;;\n", 3), ("id,tags,guess\r\n1,cat,\r\n,,\r\n", 3),
    ("tags|guess|by\ncat|cat|eu\n||", 3), ('note,tags,guess\n"a\n,,\n",cat,cat\n', 0),
    ("tags,guess\ncat,cat\n,\n", 0), ("id,tags,guess\n1,cat,cat\n2,,\n", 0), ("id,tags,guess\n1,cat,cat\n\n", 0),
])  # fmt: skip
def test_a_row_of_csv_without_any_value_is_warned_of_once(text: str, line: int, tmp_path: Path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluated(written(tmp_path, "a.csv", text), by="by" if "by" in text else None)
    expected = [f"{tmp_path / 'a.csv'}:{line}: all cells of this row are empty"] * bool(line)
    assert [str(one.message).partition(", so")[0] for one in caught] == expected


def test_a_row_without_any_value_is_refused_where_each_label_has_a_column(tmp_path: Path):
    path = written(tmp_path, "a.csv", "true_a,true_b,pred_a,pred_b\n1,0,1,1\n,,,\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(se.InputError, match=r"a.csv:3: column 'pred_a' is None"):
            se.evaluate_table(path, actual="true_*", predicted="pred_*")


def test_quotation_marks_within_plain_cells_do_not_open_or_close_cells(tmp_path: Path):
    lines = ["tags,guess,note", 'cat,dog,5" inch', *["cat,dog,x"] * 5, 'cat,dog,6" inch']
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluated(tmp_path / "a.csv").examples == 7


@pytest.mark.parametrize("more", [[], ["cat"]])  # Arrow can parse the first rows, but not the second
def test_quotes_within_cells_of_csv_are_refused_and_other_columns_are_not_decoded(more: list[str], tmp_path: Path):
    rows = 'tags,guess,note\n"cat","a ""dog""",ok\n' + "".join(f"{cell}\n" for cell in more)
    with pytest.raises(se.InputError, match=r"a\.csv:3: not CSV: ',' expected after"):
        evaluated(written(tmp_path, "a.csv", rows.replace("ok\n", 'ok\n"cat"fish,dog,\n', 1)))
    (tmp_path / "a.csv").write_bytes(rows.encode().replace(b"ok", b'"\xff"'))
    if more:
        with pytest.raises(se.InputError, match=r"a\.csv:3: 1 cell where the header has 3"):
            evaluated(tmp_path / "a.csv")
    else:
        assert {*evaluated(tmp_path / "a.csv").labels} == {"cat", 'a "dog"'}


@pytest.mark.parametrize("name", ["a.md", "a.csv", "a.txt"])
@pytest.mark.parametrize("rule", ["|:-----|-----:|", "| --- | :---: |", "---|---", "--- | ---"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_below_the_header_of_a_markdown_table_is_no_row(name: str, rule: str, end: str, tmp_path: Path):
    rows = ["tags | guess", rule, *("{} | {}".format(*map(", ".join, row)) for row in zip(LISTS, LISTS, strict=True))]
    rows = [f"| {row} |" if "|" in rule[:1] and row != rule else row for row in rows[:-1]]
    (tmp_path / name).write_bytes(end.join(rows).encode())
    counted = evaluated(tmp_path / name, sep=",")
    assert counted.to_bytes() == expected([{"tags": row, "guess": row} for row in LISTS[:-1]]).to_bytes()
    (tmp_path / name).write_bytes(end.join([*rows, "a | b | c | d | e"]).encode())
    with pytest.raises(se.InputError, match=f"{name}:6: "):
        evaluated(tmp_path / name, sep=",")


def test_a_row_of_hyphens_is_a_row_where_it_is_not_the_line_below_a_markdown_header(tmp_path: Path):
    (tmp_path / "a.csv").write_text("tags|guess\n--|--\n---|---\n")
    assert evaluated(tmp_path / "a.csv", sep=",", rows="labels").examples == 2


@pytest.mark.parametrize("block", [64, 2**20])
def test_quotation_marks_after_a_backslash_are_read_as_spark_writes_them(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("streameval.tabular.text.BLOCK", block)
    rows = [["a", "b"], ["c"], [], ["d", "e f"]] * 5
    written = [json.dumps(row).replace('"', '\\"') for row in rows]
    lines = [f'{number},"{cell}","{cell}"' for number, cell in enumerate(written)]
    (tmp_path / "a.csv").write_text("\n".join(["id,tags,guess", *lines]))
    assert (
        evaluated(tmp_path / "a.csv").to_bytes() == expected([{"tags": row, "guess": row} for row in rows]).to_bytes()
    )
    (tmp_path / "a.csv").write_text("\n".join(["id,tags,guess", *lines, '9,"a"b,"c"']))
    with pytest.raises(se.InputError, match=r"a.csv:22: not CSV"):
        evaluated(tmp_path / "a.csv")


def test_quotation_marks_after_a_backslash_stay_in_cells_without_quotes(tmp_path: Path):
    (tmp_path / "a.csv").write_text('tags,guess\na \\"x\\",a \\"x\\"\n"b, c",d\n')
    assert {*evaluated(tmp_path / "a.csv", sep="|").labels} == {'a \\"x\\"', "b, c", "d"}


def test_a_backslash_may_end_a_cell_in_quotes(tmp_path: Path):
    (tmp_path / "a.csv").write_text('tags,guess\n"C:\\","D:\\"\n"a|C:\\",b\n')
    assert evaluated(tmp_path / "a.csv").labels == ("C:\\", "D:\\", "a", "b")
