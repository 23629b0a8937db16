"""Rows of one example in a long table, and rows with the same key in two tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streameval as se

TRUTH = [{"id": number, "tags": tags, "w": 1.0 + number, "region": "eu" if number % 2 else "us"} for number, tags in
         enumerate([["cat"], ["dog", "cat"], [], ["bird"]])]  # fmt: skip
GUESS = [{"id": number, "guess": guess} for number, guess in ((2, ["dog"]), (0, ["cat"]), (1, ["dog"]), (3, []))]
WRITERS = ["csv", "jsonl", "parquet", "rows"]


def written(rows: list[dict[str, Any]], kind: str, path: Path) -> Any:
    if kind == "rows":
        return rows
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        cells = [{name: "|".join(v) if isinstance(v, list) else str(v) for name, v in row.items()} for row in rows]
        pa.csv.write_csv(pa.Table.from_pylist(cells), path)
    return path


def expected(keys: list[int], **options: Any) -> Any:
    ev = se.Evaluator()
    guesses = {row["id"]: row["guess"] for row in GUESS}
    weights = [TRUTH[key]["w"] for key in keys] if "weight" in options else None
    ev.update_many([TRUTH[key]["tags"] for key in keys], [guesses[key] for key in keys], weights=weights)
    return ev


@pytest.mark.parametrize("truth", WRITERS)
@pytest.mark.parametrize("guess", WRITERS)
def test_rows_are_joined_by_their_keys(guess: str, truth: str, tmp_path: Path):
    key = str if "csv" in (guess, truth) else int  # cells of CSV are strings

    def convert(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "id": key(row["id"])} for row in rows]

    source = written(convert(GUESS), guess, tmp_path / f"g.{guess}")
    other = written(convert(TRUTH), truth, tmp_path / f"t.{truth}")
    options = {"actual": "tags", "predicted": "guess", "truth": other, "join": "id"}
    assert se.evaluate_table(source, **options) == expected([0, 1, 2, 3])
    result = se.evaluate_table(source, **options, by="region", weight="w")
    assert result["eu"] == expected([1, 3], weight="w")
    same = [{"id": row["id"], "tags": row["guess"]} for row in convert(GUESS)]
    source = written(same, guess, tmp_path / f"s.{guess}")
    assert se.evaluate_table(source, actual="tags", predicted="tags", truth=other, join="id") == expected([0, 1, 2, 3])


def test_rows_without_a_partner_are_left_out_and_counted(tmp_path: Path):
    options: dict[str, Any] = {"actual": "tags", "predicted": "guess", "join": "id"}
    with pytest.warns(se.DataWarning, match="rows without a truth: 1, truths without a row: 2; 2 rows are counted"):
        made = se.evaluate_table([*GUESS[1:3], {"id": None, "guess": []}], truth=TRUTH, **options)
    assert made == expected([0, 1])
    path = written(GUESS, "csv", tmp_path / "g.csv")
    message = r"no row has a truth: column 'id' has keys such as '2' \(.*g.csv:2\) and 0 \(row 0\); keys are compared"
    with pytest.raises(se.InputError, match=message):
        se.evaluate_table(path, truth=TRUTH, **options)
    with pytest.raises(
        se.InputError, match=r"such as 2.5 .* and 9 .* compared with their type: write both as integers$"
    ):
        se.evaluate_table([{**GUESS[0], "id": 2.5}], truth=[{"id": 9, "tags": []}], **options)
    with pytest.raises(se.InputError, match=r"such as 2 \(row 0\) and 9 \(row 0\)$"):
        se.evaluate_table(GUESS, truth=[{"id": 9, "tags": []}], **options)
    with pytest.raises(se.InputError, match=r"the key 1 of column 'id' is in two rows, row 1 and row 4"):
        se.evaluate_table(GUESS, truth=[*TRUTH, TRUTH[1]], **options)
    twice = written([*GUESS, GUESS[0]], "jsonl", tmp_path / "g.jsonl")
    with pytest.raises(se.InputError, match=r"the key 2 of column 'id' is in two rows, .*g.jsonl:1 and .*g.jsonl:5"):
        se.evaluate_table(twice, truth=TRUTH, **options)
    with pytest.raises(se.InputError, match="the table of truths has no rows"):
        se.evaluate_table(GUESS, truth=TRUTH[:0], **options)
    with pytest.warns(se.DataWarning, match="rows without a truth: 4, truths without a row: 1; no rows are counted"):
        assert se.evaluate_table(GUESS, truth=[{"id": None, "tags": []}], **options).examples == 0
    with pytest.warns(se.DataWarning, match="rows without a truth: 1, truths without a row: 4; no rows are counted"):
        assert se.evaluate_table([{"id": None, "guess": []}], truth=TRUTH, **options).examples == 0
    own = se.evaluate_table([row | {"region": "us"} for row in GUESS], truth=TRUTH, **options, by="region")
    assert [part.where for part in own.slices()] == [{"region": "us"}]
    row = type("Row", (), {"id": 1, "guess": ["cat"], "tags": ["cat"]})()
    for rows, truth in (([row], TRUTH), (GUESS, [row])):
        with pytest.raises(se.InputError, match=r"^row 0: the row <.*Row .*> is no dictionary; give dictionaries"):
            se.evaluate_table(rows, truth=truth, **options)
    with pytest.raises(se.InputError, match=r"^row 1: \[1\] is not a key; join by strings or integers"):
        se.evaluate_table([GUESS[0], {**GUESS[2], "id": [1]}], truth=TRUTH, **options)
    with pytest.raises(se.InputError, match="join must be the name of a column, not 3"):
        se.evaluate_table(GUESS, truth=TRUTH, **options | {"join": 3})
    with pytest.raises(se.InputError, match="truth and join go together"):
        se.evaluate_table(GUESS, **options)
    with pytest.raises(se.InputError, match="truth and join go together"):
        se.evaluate_table(GUESS, actual="tags", predicted="guess", truth=TRUTH)
    with pytest.raises(se.InputError, match=r"^row 2: there is no column 'tag' \(actual\); did you mean 'tags'"):
        se.evaluate_table(GUESS, truth=TRUTH, **options | {"actual": "tag"})
    for missing, role in (("guess", "predicted"), ("id", "join")):
        columns = {"id": [1], "guess": [["cat"]]}
        table = pa.table({name: values for name, values in columns.items() if name != missing})
        with pytest.raises(se.InputError, match=rf"no column '{missing}' \({role}\)"):
            se.evaluate_table(table, truth=TRUTH, **options)
    with pytest.raises(se.InputError, match=r"no column 'id' \(join\)"):
        se.evaluate_table([{"guess": []}], truth=TRUTH, **options)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_missing_column_is_refused_by_the_name_of_its_file(suffix: str, tmp_path: Path):
    guess, truth = (written(rows, suffix, tmp_path / name) for rows, name in ((GUESS, "g"), (TRUTH, "t")))
    options = {"actual": "tags", "predicted": "guess", "join": "id"}
    first = guess if suffix == "parquet" else truth  # the file that is read first
    for wrong, file in (("join", first), ("actual", truth), ("predicted", guess), ("mask", truth)):
        message = rf"^{re.escape(str(file))}(:\d)?: there is no column 'absent' \({wrong}\)"
        for null in ("error", "empty"):
            with pytest.raises(se.InputError, match=message):
                se.evaluate_table(guess, truth=truth, null=null, **options | {wrong: "absent"})
    if suffix == "jsonl":  # in JSON Lines a single row may lack a column
        lacking = [TRUTH[0], {"id": TRUTH[1]["id"]}, *TRUTH[2:]]
        with pytest.raises(se.InputError, match=r"t.jsonl:2: there is no column 'tags' \(actual\)"):
            se.evaluate_table(guess, truth=written(lacking, suffix, tmp_path / "t.jsonl"), **options)


def test_maps_of_arrow_are_mappings_also_where_they_are_joined_with_rows():
    kind = pa.map_(pa.string(), pa.bool_())
    truth = pa.table({"id": [1, 2], "tags": pa.array([[("cat", True), ("dog", False)], None], kind)})
    made = se.evaluate_table(
        [{"id": 1, "guess": {"dog": True}}, {"id": 2, "guess": {}}],
        truth=truth, actual="tags", predicted="guess", join="id", null="empty",
    )  # fmt: skip
    expected = se.Evaluator()
    expected.update_many([{"cat": True, "dog": False}, []], [{"dog": True}, {}])
    assert made == expected


def test_mappings_with_different_labels_are_joined_as_mappings():
    truth = [{"id": 1, "tags": {"cat": True}}, {"id": 2, "tags": {"dog": True}}]
    made = se.Evaluator()
    made.update_many([{"cat"}, {"dog"}], [{"cat"}, {"cat"}])
    guess = [{"id": 2, "guess": ["cat"]}, {"id": 1, "guess": ["cat"]}]
    table = pa.Table.from_pylist(guess)
    for source in (guess, table, table.to_pandas(), pl.from_arrow(table).lazy(), table.to_batches(max_chunksize=1)):
        assert se.evaluate_table(source, actual="tags", predicted="guess", truth=truth, join="id") == made


@pytest.mark.parametrize("name", ["scores", "s_*"])
def test_cells_of_csv_are_read_when_they_are_joined_with_rows(name: str, tmp_path: Path):
    file, truth = tmp_path / "guess.csv", [{"id": "1", "tags": {"cat": True}}, {"id": "2", "tags": {"dog": True}}]
    file.write_text("id,scores,s_cat,s_dog,w\n1,cat:0.9|dog:0.2,0.9,0.2,2\n2,cat:0.6|dog:0.7,0.6,0.7,0.5\n")
    options = {"actual": "tags", "scores": name, "weight": "w", "threshold": 0.5, "truth": truth, "join": "id"}
    made = se.Evaluator(threshold=0.5)
    made.update_many([{"cat"}, {"dog"}], [{"cat": 0.9, "dog": 0.2}, {"cat": 0.6, "dog": 0.7}], weights=[2.0, 0.5])
    assert se.evaluate_table(file, **options) == made


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_truths_in_files_of_different_types_are_not_converted_to_one_type(kind: str, tmp_path: Path):
    truth = [{"id": number, "tags": tags} for number, tags in enumerate(([], [0, 1], [0.0, 1.0], [True, False]))]
    files = [written([row], kind, tmp_path / f"{row['id']}.{kind}") for row in truth]
    guess = [{"id": number, "guess": [0, 1]} for number in range(4)]
    options = {"join": "id", "actual": "tags", "predicted": "guess"}
    made = se.evaluate_table(guess, truth=truth, **options)
    assert se.evaluate_table(guess, truth=files, **options) == made
    assert se.evaluate_table(pa.Table.from_pylist(guess), truth=files, **options) == made


@pytest.mark.parametrize("kind", [list, pa.Table.from_pylist, pd.DataFrame])
def test_maps_are_joined_with_rows_of_every_kind(kind: Any):
    cells = pa.array([[("a", True)], [("b", True), ("a", False)]], pa.map_(pa.string(), pa.bool_()))
    maps = pa.table({"id": [1, 2], "tags": cells})
    rows = kind([{"id": 2, "guess": ["b"]}, {"id": 1, "guess": ["b"]}])
    made = se.Evaluator()
    made.update_many([{"a": True}, {"b": True, "a": False}], [{"b"}, {"b"}])
    assert se.evaluate_table(rows, truth=maps, join="id", actual="tags", predicted="guess") == made
    made = se.Evaluator()
    made.update_many([{"b"}, {"b"}], [{"a": True}, {"b": True, "a": False}])
    assert se.evaluate_table(maps, truth=rows, join="id", actual="guess", predicted="tags") == made


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize(("names", "prefix"), [("y_*", "y_"), (["y_a", "y_b"], "y_"), ("*", ""), (["a", "b"], "")])
def test_wide_columns_are_joined_too(names: Any, prefix: str, suffix: str, tmp_path: Path):
    truth = [{"id": 1, f"{prefix}a": 1, f"{prefix}b": 0, "w": 1}, {"id": 2, f"{prefix}a": 0, f"{prefix}b": 1, "w": 2}]
    guess = [{"id": 2, f"{prefix}a": 1, f"{prefix}b": 1}, {"id": 1, f"{prefix}a": 1, f"{prefix}b": 0}]
    files = [written(rows, suffix, tmp_path / f"{name}.{suffix}") for name, rows in (("g", guess), ("t", truth))]
    made = se.Evaluator()
    stem = "" if "*" in names else prefix
    pairs = [({"a": 1, "b": 0}, {"a": 1, "b": 0}), ({"a": 0, "b": 1}, {"a": 1, "b": 1})]
    for weight, sides in enumerate(pairs, 1):
        made.update(*({stem + label: value for label, value in side.items()} for side in sides), weight=weight)
    options = {"actual": names, "predicted": names, "join": "id", "weight": "w"}
    assert se.evaluate_table(files[0], truth=files[1], **options) == made


LONG = [("x", "cat", 1, 1, 0.9), ("y", "dog", 0, 1, 0.7), ("x", "dog", 0, 0, 0.2), ("y", "cat", 1, 0, 0.4),
        ("z", "dog", 0, 0, 0.1)]  # fmt: skip


def long(rows: list[tuple[Any, ...]] = LONG) -> list[dict[str, Any]]:
    return [dict(zip(("id", "name", "y", "hit", "p"), row, strict=True)) for row in rows]


def examples(place: int) -> list[dict[str, Any]]:
    return [{row[1]: row[place] for row in LONG if row[0] == name} for name in "xyz"]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_row_may_be_one_label_of_an_example(kind: str, tmp_path: Path):
    source = written(long(), kind, tmp_path / f"a.{kind}")
    assert se.evaluate_table([], example="id", label="name", actual="y", predicted="hit").examples == 0
    columns = {"example": "id", "label": "name", "actual": "y"}
    made = se.Evaluator()
    made.update_many(examples(2), examples(3))
    assert se.evaluate_table(source, **columns, predicted="hit") == made
    coded = pd.DataFrame(long()).astype({"id": "category", "name": "category"})
    for each in (source, coded, pa.Table.from_pandas(coded)):
        slices = se.evaluate_table(each, **columns, predicted="hit", by="id")
        assert [slices[name].examples for name in "xyz"] == [1, 1, 1]
        assert slices.total() == made
    if kind == "csv":
        lines = (", ".join(map(str, row)) for row in [("id", "name", "y", "hit"), *(row[:4] for row in LONG)])
        source.with_name("spaces.csv").write_text(" \n".join(lines))
        assert se.evaluate_table(source.with_name("spaces.csv"), **columns, predicted="hit") == made
    for keep in ([], ["curves"]):
        empty = se.Evaluator(["f1_micro"], threshold=0.5, keep=keep)
        made = empty.copy()
        made.update_many(examples(2), examples(4))
        assert se.evaluate_table(source, **columns, scores="p", metrics=empty) == made


@pytest.mark.parametrize("kind", [list, pa.Table.from_pylist])
def test_nested_keys_are_looked_up_in_long_tables_and_in_truths(kind: Any):
    rows = [{"o": {"id": row["id"], "y": row["y"]}, **row} for row in long()]
    nested = se.evaluate_table(kind(rows), example="o.id", label="name", actual="o.y", predicted="hit")
    assert nested == se.evaluate_table(long(), example="id", label="name", actual="y", predicted="hit")
    truth = [{"id": row["id"], "o": {"tags": row["tags"]}} for row in TRUTH]
    made = se.evaluate_table(kind(GUESS), actual="o.tags", predicted="guess", truth=kind(truth), join="id")
    assert made == expected([0, 1, 2, 3])
    with pytest.raises(se.InputError, match=r"no column 'o\.tag' \(actual\)(; did you mean 'o\.tags'|; the col)"):
        se.evaluate_table(kind(truth), actual="o.tag", predicted="o.tags")


def test_rows_of_an_example_that_contradict_each_other_are_refused():
    columns = {"example": "id", "label": "name", "actual": "y", "predicted": "hit"}
    with pytest.raises(se.InputError, match=r"example 'x': column 'y' has two values for label 'cat'"):
        se.evaluate_table(long([*LONG, LONG[0]]), **columns)
    with pytest.raises(se.InputError, match="column 'p' differs among the rows of an example"):
        se.evaluate_table(long(), **columns, weight="p")
    with pytest.raises(se.InputError, match=r"example 'y': column 'hit'.* is 7 for label 'dog'"):
        se.evaluate_table(long([*LONG[:1], ("y", "dog", 0, 7, 0.5)]), **columns)
    with pytest.raises(se.InputError, match="example and label go together"):
        se.evaluate_table(long(), actual="y", predicted="hit", example="id")
    with pytest.raises(se.InputError, match=r"^column 'hit' cannot be converted to Arrow: Python int too large"):
        se.evaluate_table(long([*LONG, ("u", "dog", 0, 10**20, 0.1)]), **columns)
    with pytest.raises(
        se.InputError, match=r"^row 5: column 'hit' cannot be converted to Arrow: .*; give its values one"
    ):
        se.evaluate_table(long([*LONG, ("u", "dog", 0, "much", 0.1)]), **columns)
    with pytest.raises(se.InputError, match="column 'id' holds 1 null"):
        se.evaluate_table(long([*LONG, (None, "dog", 0, 0, 0.1)]), **columns)


@pytest.mark.parametrize("truth", [*WRITERS, "frame"])
@pytest.mark.parametrize("guess", [*WRITERS, "frame"])
@pytest.mark.parametrize("name", ["tags (truth)", "tags of the truths", "tags", "o'x (truth)"])
def test_predictions_may_have_columns_of_any_name(name: str, guess: str, truth: str, tmp_path: Path):
    sides = ([{"id": key, column: [label]} for key in "xy"] for column, label in ((name, "z"), ("tags", "a")))
    made = (
        pd.DataFrame(rows) if kind == "frame" else written(rows, kind, tmp_path / f"{number}.{kind}")
        for number, (rows, kind) in enumerate(zip(sides, (guess, truth), strict=True))
    )
    result = se.evaluate_table(next(made), truth=next(made), join="id", actual="tags", predicted=name)
    ev = se.Evaluator()
    ev.update_many([["a"], ["a"]], [["z"], ["z"]])
    assert result == ev


def test_columns_with_the_internal_mark_are_refused():
    rows = [{"id": 1, "tags": ["a"], "tags\0truth": ["b"]}]
    with pytest.raises(se.InputError, match="cannot be joined; rename it"):
        se.evaluate_table(rows, truth=rows, join="id", actual="tags", predicted="tags\0truth")


def test_messages_name_the_columns_of_the_truths_as_their_table_does():
    truth, guess = pd.DataFrame({"id": [1, 2], "tags": ["a,b", "c"]}), [{"id": 1, "guess": ["a"]}]
    options: dict[str, Any] = {"actual": "tags", "predicted": "guess", "join": "id"}
    with pytest.raises(se.InputError, match=r"column 'tags' of the truths .*string"):
        se.evaluate_table(guess, truth=truth, **options)
    for name in ("o'x", 'o"x', "tags (truth)"):
        with pytest.raises(se.InputError) as error:
            se.evaluate_table(guess, truth=truth.rename(columns={"tags": name}), **options | {"actual": name})
        assert f"column {name!r} of the truths " in str(error.value)
    wide = pd.DataFrame({"id": [1, 2], "true_a": [7, 0], "true_b": [0, 1]})
    guesses = pd.DataFrame({"id": [1, 2], "pred_a": [1, 0], "pred_b": [0, 1]})
    with pytest.raises(se.InputError, match=r"column 'true_a' of the truths is 7"):
        se.evaluate_table(guesses, truth=wide, actual="true_*", predicted="pred_*", join="id")


def test_warnings_name_the_columns_of_the_truths_as_their_table_does(tmp_path: Path):
    (tmp_path / "t.csv").write_text("id,tags\n1,a;b\n2,b;a\n")
    (tmp_path / "g.csv").write_text("id,guess\n1,a\n2,b\n")
    with pytest.warns(se.DataWarning, match=r"no cell of column 'tags' of the truths holds"):
        se.evaluate_table(tmp_path / "g.csv", truth=tmp_path / "t.csv", actual="tags", predicted="guess", join="id")


@pytest.mark.parametrize("guess", WRITERS)
def test_an_error_in_a_truth_names_the_line_of_the_file_of_truths(guess: str, tmp_path: Path):
    source = written([{"id": str(row["id"]), "guess": row["guess"]} for row in GUESS], guess, tmp_path / f"g.{guess}")
    truth = tmp_path / "t.jsonl"
    lists = ('["cat"]', '["cat", null]', '["dog"]', '["cat"]')
    truth.write_text("\n\n".join(f'{{"id": "{key}", "tags": {tags}}}' for key, tags in enumerate(lists)) + "\n")
    options = {"actual": "tags", "predicted": "guess", "truth": truth, "join": "id"}
    there = rf"^{re.escape(str(truth))}:3: column "
    with pytest.raises(se.InputError, match=f"{there}'tags' of the truths: "):
        se.evaluate_table(source, **options)
    truth.write_text(truth.read_text().replace("null", '"dog"'))
    wrong = [{"id": str(row["id"]), "guess": [5] if row["id"] == 1 else row["guess"]} for row in GUESS]
    if guess != "csv":
        source = written(wrong, "rows" if guess == "rows" else "jsonl", tmp_path / "wrong.jsonl")
        with pytest.raises(se.InputError, match=r"^(.*wrong.jsonl:3|row 2): "):
            se.evaluate_table(source, labels=["cat", "dog", "bird"], **options)
    rows = ({"id": str(key), "tags": ["cat"], "w": [7] if key == 1 else 1} for key in range(4))
    truth.write_text("\n\n".join(map(json.dumps, rows)))
    for only_there in ("weight", "by"):
        with pytest.raises(se.InputError, match=there + "'w'"):
            se.evaluate_table(source, **options, **{only_there: "w"})


def test_empty_cells_of_csv_are_no_keys_and_no_examples(tmp_path: Path):
    (tmp_path / "g.csv").write_text("id,guess\n1,cat\n,dog\n,cat\n")
    (tmp_path / "t.csv").write_text("id,tags\n,dog\n1,cat\n")
    options: dict[str, Any] = {"actual": "tags", "predicted": "guess", "truth": tmp_path / "t.csv", "join": "id"}
    with pytest.warns(se.DataWarning, match="rows without a truth: 2, truths without a row: 1; 1 row is counted"):
        assert se.evaluate_table(tmp_path / "g.csv", **options).examples == 1
    for name in ("id", "label"):
        rows = {"id": ["1", "1", "2", "2"], "label": ["a", "b", "a", "b"]}
        rows[name][1] = rows[name][3] = ""
        lines = zip(rows["id"], rows["label"], strict=True)
        (tmp_path / "l.csv").write_text("id,label,y,p\n" + "".join(f"{i},{label},1,0\n" for i, label in lines))
        with pytest.raises(se.InputError, match=f"column '{name}' holds 2 nulls; drop those rows"):
            se.evaluate_table(tmp_path / "l.csv", actual="y", predicted="p", example="id", label="label")


def test_scores_in_a_row_for_each_label_are_numbers(tmp_path: Path):
    (tmp_path / "a.csv").write_text("id,label,y,s\n1,a,true,true\n1,b,false,false\n")
    columns: dict[str, Any] = {"actual": "y", "example": "id", "label": "label"}
    with pytest.raises(se.InputError, match="column 's' must hold numbers, not 'true'"):
        se.evaluate_table(tmp_path / "a.csv", metrics=["roc_auc_micro"], scores="s", **columns)
    assert se.evaluate_table(tmp_path / "a.csv", predicted="s", **columns)["subset_accuracy"] == 1
