"""Tables with a column for each label."""

from __future__ import annotations

import json
import random
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import streameval as se
from streameval.tabular.cells import numbers_of
from streameval.tabular.job import Job
from tests.support.each import with_each

LABELS = ["a", "b b", "c"]
TRUE = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]])
PRED = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 1]])
SCORES = np.array([[0.9, 0.6, 0.2], [0.1, 0.2, 0.3], [0.7, 0.5, 0.4], [0.8, 0.1, 0.55]])


def wide(**more: list[Any]) -> pa.Table:
    columns: dict[str, Any] = {"id": range(4)}
    for place in (2, 0, 1):  # not in the order of LABELS
        columns |= {f"true_{LABELS[place]}": TRUE[:, place], f"{LABELS[place]}.p": SCORES[:, place]}
    columns |= {f"pred_{name}": PRED[:, place] == 1 for place, name in enumerate(LABELS)}
    return pa.table({**columns, **more})


def expected(pred: np.ndarray = PRED, **options: Any) -> se.Evaluator:
    ev = se.Evaluator(**options)
    ev.update_many([dict(zip(LABELS, row, strict=True)) for row in TRUE.tolist()],
                   [dict(zip(LABELS, row, strict=True)) for row in pred.tolist()])  # fmt: skip
    return ev


def files(table: pa.Table, folder: Path) -> dict[str, Path]:
    pq.write_table(table, folder / "a.parquet")
    pa.csv.write_csv(table, folder / "a.csv")
    table.to_pandas().to_json(folder / "a.jsonl", orient="records", lines=True)
    return {kind: folder / f"a.{kind}" for kind in ("parquet", "csv", "jsonl")}


def test_numbered_labels_may_be_in_a_different_order_on_each_side():
    rows = [
        {"t1": 1, "t0": 0, "p0": 1, "p1": 0, "m1": 0, "m0": 1},
        {"t1": 1, "t0": 1, "p0": 1, "p1": 1, "m1": 0, "m0": 0},
    ]
    made = se.Evaluator()
    made.update_many([{"1"}, {"0", "1"}], [{"0"}, {"0", "1"}], mask=[{"0"}, set()])
    for source in (rows, pa.Table.from_pylist(rows), pl.DataFrame(rows).select(sorted(rows[0], reverse=True))):
        assert se.evaluate_table(source, actual="t*", predicted="p*", mask="m*") == made


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "table", "pandas", "polars", "lazy", "rows"])
def test_the_label_of_a_column_is_what_the_star_stands_for(kind: str, tmp_path: Path):
    table = wide()
    sources = {"table": table, "pandas": table.to_pandas(), "polars": pl.from_arrow(table), "rows": table.to_pylist()}
    source: Any = (sources | {"lazy": sources["polars"].lazy()} | files(table, tmp_path))[kind]
    assert se.evaluate_table(source, actual="true_*", predicted="pred_*") == expected()
    named = [f"true_{name}" for name in LABELS]
    with pytest.raises(
        se.InputError,
        match=r"no actual column for \['a', .*, and no predicted column for \['true_a', .* alike, as by patterns",
    ):
        se.evaluate_table(source, actual=named, predicted="pred_*")
    own = expected(SCORES, metrics=["f1_micro"], threshold=0.5, keep=["curves"])
    empty = se.Evaluator(["f1_micro"], threshold=0.5, keep=["curves"])
    assert se.evaluate_table(source, actual="true_*", scores="*.p", metrics=empty) == own


def test_empty_cells_are_masked_truths_and_files_agree_on_their_columns(tmp_path: Path):
    (tmp_path / "a.csv").write_text("t_x,t_y,p_x,p_y\n1,,1,0\n0.0,1,False,true\n")
    made = se.Evaluator()
    made.update_many([{"x": 1, "y": None}, {"x": 0, "y": 1}], [{"x": 1, "y": 0}, {"x": 0, "y": 1}])
    assert se.evaluate_table(tmp_path / "a.csv", actual="t_*", predicted="p_*") == made
    for name, more in (("a", {}), ("b", {"true_d": [0] * 4, "pred_d": [True] * 4})):
        pq.write_table(wide(**more), tmp_path / f"{name}.parquet")
    with pytest.raises(se.InputError, match=r"b.parquet: row 1: some tables have columns for the labels \['d'\], but"):
        se.evaluate_table([tmp_path / "*.parquet"], actual="true_*", predicted="pred_*")
    with pytest.raises(se.InputError, match=r"'true_\*' names other columns in some rows"):
        se.evaluate_table([*wide().to_pylist()[:1], *wide(true_d=[0] * 4, pred_d=[0] * 4).to_pylist()], actual="true_*",
                    predicted="pred_*")  # fmt: skip


def test_labels_with_a_column_on_one_side_only_are_refused_or_ignored():
    table = wide(true_d=[0, 0, 1, 1], pred_e=[1, 1, 1, 0])
    with pytest.raises(
        se.InputError, match=r"no actual column for \['e'\], and no predicted column for \['d'\]; .*'ignore'"
    ):
        se.evaluate_table(table, actual="true_*", predicted="pred_*")
    assert se.evaluate_table(table, actual="true_*", predicted="pred_*", unknown="ignore") == expected()
    made = se.evaluate_table(table, actual="true_*", predicted="pred_*", unknown="ignore", labels=["b b", "a"])
    assert made.labels == ("b b", "a")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"actual": "true_*"}, "neither predicted nor scores"),
        ({"actual": "tru_*", "predicted": "pred_*"}, r"no column matches 'tru_\*' \(actual\); did you mean 'true_"),
        ({"actual": "true_a, true_c", "predicted": "pred_*"}, r"\(actual\); give a list: \['true_a', 'true_c'\]"),
        ({"actual": "*_*", "predicted": "pred_*"}, r"column '\*_\*' \(actual\) has two stars"),
        (
            {"actual": ["true_a", "true_d"], "predicted": "pred_*"},
            r"no column 'true_d' \(actual\); did you mean 'true_",
        ),
        ({"actual": ["true_*", "pred_a"], "predicted": "*.p"}, r"no predicted column for \['pred_a'\]"),
        ({"actual": [], "predicted": "pred_*"}, "actual must be the name of a column"),
        ({"actual": "true_*", "predicted": "pred_*", "scores": "*.p", "threshold": 0.5}, "leave predicted out"),
    ],
)
def test_invalid_patterns_are_refused(columns: dict[str, Any], message: str):
    with pytest.raises(se.InputError, match=message):
        se.evaluate_table(wide(), **columns)


def test_columns_of_strings_are_refused_with_what_they_should_hold():
    for names, values in (("true_*", "0 and 1"), ("*.p", "numbers")):
        table = wide(**{names.replace("*", "a"): ["0,7"] * 4})
        with pytest.raises(se.InputError, match=f"holds strings; convert them to {values}$"):
            se.evaluate_table(table, actual="true_*", scores="*.p", threshold=0.5)


@with_each("place", [0, 1, 4_999, 8_191, 9_998, 9_999])
@with_each("filler", ["0.5", "true", " "])
def test_the_first_cell_that_is_no_number_is_named_without_a_loop_over_all_cells(place: int, filler: str):
    cells = [filler] * 10_000
    cells[place:] = ["zz", *["yy"] * (len(cells) - place - 1)]
    column = pa.chunked_array([cells[:3_000], cells[3_000:]])  # the first column in the process imports pandas
    calls = list[str]()
    sys.setprofile(lambda _frame, event, _arg: calls.append(event))
    try:
        with pytest.raises(se.InputError, match="column 'w' must hold 0 and 1, not 'zz'"):
            numbers_of(column, "w")
    finally:
        sys.setprofile(None)
    assert len(calls) < 2_000


def test_invalid_values_are_named_with_their_line_and_column(tmp_path: Path):
    (tmp_path / "a.csv").write_text("t_x,t_y,p_x,p_y\n1,0,1,0\n1,0,2,0\n1,no,0,0\n")
    with pytest.raises(se.InputError, match=r"a.csv:3: column 'p_x' is 2(.0)?; "):
        se.evaluate_table(tmp_path / "a.csv", actual="t_*", predicted="p_*")
    (tmp_path / "a.csv").write_text("t_x,t_y,p_x,p_y\n1,0,1,0\n1,no,0,0\n")
    with pytest.raises(se.InputError, match="row 0: column 't_x' is b'1'; truth is 0, 1, or"):
        se.evaluate_table(pa.table({"t_x": [b"1"], "p_x": [1]}), actual="t_*", predicted="p_*")
    with pytest.raises(se.InputError, match=r"a.csv:3: column 't_y' must hold 0 and 1, not 'no'; write 1 for yes"):
        se.evaluate_table(tmp_path / "a.csv", actual="t_*", predicted="p_*")
    for cells, wrong in ((["1", "no", "2"], "no"), (["true", " ", "no"], "no"), (["0.5", "true"], "true")):
        table = pa.table({"t_x": cells, "p_x": ["1"] * len(cells)})
        with pytest.raises(se.InputError, match=f"column 't_x' must hold 0 and 1, not '{wrong}'"):
            Job.of(actual="t_*", predicted="p_*", sep=",").state([table])


@pytest.mark.parametrize("cell", ["9007199254740993", "-9007199254740993", "9007199254740993.0", "0.1e400", "-1e400"])
def test_numbers_that_no_float64_equals_are_refused_as_they_are_written(cell: str, tmp_path: Path):
    text = f"t_a,p_a,s_a,w,s\n1,1,{2**53},1e22,a:0.5\n1,1,0.5,0,a:1e300\n1,0,{cell},{cell},a:{cell}\n"
    (tmp_path / "a.csv").write_text(text)
    for name, columns in (
        ("s_a", {"scores": "s_*"}), ("w", {"predicted": "p_*", "weight": "w"}), ("s", {"scores": "s"}),
    ):  # fmt: skip
        options = {"metrics": ["f1_micro"], "threshold": 0.5 if "scores" in columns else None}
        with pytest.raises(se.InputError, match=rf"a.csv:4: column '{name}' is {cell}, and no float64 equals it"):
            se.evaluate_table(tmp_path / "a.csv", actual="t_*", **columns, **options)
    (tmp_path / "a.csv").write_text(text.replace(cell, "inf"))
    with pytest.raises(se.InputError, match=r"a.csv:4: column 's_a' is inf; scores must be finite"):
        se.evaluate_table(tmp_path / "a.csv", actual="t_*", scores="s_*", threshold=0.5)


@pytest.mark.parametrize("metric", ["f1_micro", "roc_auc_micro"])
def test_a_column_of_scores_holds_no_booleans_wherever_blocks_are_cut(metric: str, tmp_path: Path, monkeypatch):
    (tmp_path / "a.csv").write_text("t_a,t_b,s_a,s_b\n1,0,0.9,0.1\n0,1,0.2,0.3\n0,1,true,0.3\n")
    for block in (16, 2**20):
        monkeypatch.setattr("streameval.tabular.text.BLOCK", block)
        with pytest.raises(se.InputError, match=r"a.csv:4: column 's_a' must hold numbers, not 'true'$"):
            se.evaluate_table(tmp_path / "a.csv", actual="t_*", scores="s_*", metrics=[metric], threshold=0.5)


@pytest.mark.filterwarnings("ignore::streameval.DataWarning")
def test_errors_of_cells_that_contradict_earlier_cells_name_their_line(tmp_path: Path):
    (tmp_path / "a.csv").write_text("t_a,p_a\n1.0,1\n0,1\n1,1\ntrue,0\n")
    with pytest.raises(se.InputError, match=r"a.csv:5: column 't_a' must hold 0 and 1, not 'true'$"):
        se.evaluate_table(tmp_path / "a.csv", actual="t_*", predicted="p_*")
    row = {"t": [True, False, True], "p": [False, False, True]}
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in [row] * 3 + [{"t": row["t"][:2], "p": row["p"][:2]}])
    )
    with pytest.raises(se.InputError, match=r"a.jsonl:\d and rows after it: column 't' has rows of 3 columns and of 2"):
        se.evaluate_table(tmp_path / "a.jsonl", actual="t", predicted="p")


@pytest.mark.parametrize("kind", [pa.decimal128(20, 17), pa.decimal256(50, 20)])
def test_decimals_are_read_as_the_floats_of_their_digits(kind: Any, tmp_path: Path):
    rng = random.Random(3)
    digits = [Decimal(rng.randrange(10**17)).scaleb(-17) for _ in range(300)]
    floats = [*map(float, digits)]
    truth, weights = [rng.random() < 0.5 for _ in digits], [Decimal(rng.randrange(1000)).scaleb(-2) for _ in digits]
    numbers = pa.array(digits, kind)
    table = pa.table({
        "t_a": truth, "t": [["a"] * yes for yes in truth], "s_a": numbers, "w": pa.array(weights, pa.decimal128(9, 2)),
        "map": pa.MapArray.from_arrays([*range(301)], ["a"] * 300, numbers),
        "struct": pa.StructArray.from_arrays([numbers], ["a"]),
        "list": pa.ListArray.from_arrays([*range(301)], numbers),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet")
    ev = se.Evaluator(["roc_auc_micro", "f1_micro"], threshold=floats[0], labels=["a"])
    own = ev.copy()
    own.update_many([["a"] * yes for yes in truth], [{"a": value} for value in floats], weights=[*map(float, weights)])
    assert own.get("f1_micro") > 0
    for name, made in (("large", pa.large_list(kind)), ("fixed", pa.list_(kind, 1))):
        table = table.append_column(name, pa.array(table.column("list").to_pylist(), made))
    pq.write_table(table, tmp_path / "a.parquet")
    long = pa.table({"id": range(300), "label": ["a"] * 300, "y": [Decimal(int(yes)) for yes in truth]})
    for name in ("s_a", "w"):
        long = long.append_column(name, table.column(name))
    options = {"example": "id", "label": "label", "weight": "w", "metrics": ev}
    assert se.evaluate_table(long, actual="y", scores="s_a", **options) == own
    for scores, actual in (("s_*", "t_*"), *((name, "t") for name in ("map", "struct", "list", "large", "fixed"))):
        for source in (tmp_path / "a.parquet", table):
            assert se.evaluate_table(source, actual=actual, scores=scores, weight="w", metrics=ev) == own
    big = pa.table({"t_a": [1, 1], "s_a": pa.array([Decimal(1), Decimal(2**53 + 1)], pa.decimal128(20, 0))})
    with pytest.raises(se.InputError, match="row 1: column 's_a' is 9007199254740993; no float64 equals it"):
        se.evaluate_table(big, actual="t_*", scores="s_*", metrics=["roc_auc_micro"])


@pytest.mark.parametrize("columns", [{"actual": "t_*", "predicted": "p_*"}, {"actual": "t_a", "predicted": "p_a"}])
def test_a_name_of_two_columns_is_refused(columns: dict[str, str], tmp_path: Path):
    (tmp_path / "a.csv").write_text("t_a,p_a,p_a\n1,1,0\n")
    with pytest.raises(se.InputError, match=r"a.csv:1: 2 columns are named 'p_a'; give each a name of its own"):
        se.evaluate_table(tmp_path / "a.csv", **columns)
