"""Files and tables: how each is written, the options to read it with, and the expected result."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

LABELS = ["cat", "dog", "bird"]
TRUE = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1]], bool)
PRED = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1]], bool)
SCORES = PRED * 0.5 + 0.25

Write = Callable[[Path], object]


@dataclass(frozen=True)
class File:
    """One kind of file.

    Attributes
    ----------
    name
        Its name in the documentation.
    path, write
        The name of the file, and the function that writes it.
    options
        Options of ``streameval evaluate`` besides those that name the columns y and p.
    refused, warned
        Words of the message if the file is refused, or read with a warning.
    scores, empty
        Whether p holds scores; whether the last row has no labels.
    """

    name: str
    path: str
    write: Write
    options: str = ""
    refused: str = ""
    warned: str = ""
    scores: bool = False
    empty: bool = False

    @property
    def command(self) -> str:
        """The whole command."""
        columns = [] if "-a " in self.options else ["-a y", "-s p --threshold 0.5" if self.scores else "-p p"]
        return " ".join(["streameval evaluate", self.path, *columns, *filter(None, [self.options])])


def names(row: Any) -> list[str]:
    return [label for label, cell in zip(LABELS, row, strict=True) if cell]


def rows(form: Callable[[Any], Any] = names, scores: Callable[[Any], Any] | None = None) -> list[dict[str, Any]]:
    """Rows whose columns y and p are both in one form."""
    other = [form(row) for row in PRED] if scores is None else [scores(row) for row in SCORES]
    return [{"y": form(true), "p": pred} for true, pred in zip(TRUE, other, strict=True)]


def mapping(row: Any) -> dict[str, Any]:
    return dict(zip(LABELS, row.tolist(), strict=True))


def text(content: str | bytes) -> Write:
    return lambda path: path.write_bytes(content.encode() if isinstance(content, str) else content)


def lines(content: list[dict[str, Any]]) -> Write:
    return text("".join(json.dumps(row) + "\n" for row in content))


def cells(content: list[dict[str, Any]], delimiter: str = ",") -> str:
    """CSV of rows whose values are strings."""
    file = io.StringIO()
    writer = csv.DictWriter(file, content[0], delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(content)
    return file.getvalue()


def joined(sep: str = "|") -> list[dict[str, Any]]:
    return rows(lambda row: sep.join(names(row)))


def parquet(form: Callable[[Any], Any], kind: pa.DataType, scores: pa.DataType | None = None) -> Write:
    def write(path: Path) -> None:
        both = rows(form) if scores is None else rows(names, form)
        kinds = (kind, kind) if scores is None else (pa.list_(pa.string()), scores)
        columns = [pa.array([row[name] for row in both], each) for name, each in zip("yp", kinds, strict=True)]
        pq.write_table(pa.table(columns, ["y", "p"]), path)

    return write


def stream(path: Path) -> None:
    table = pa.Table.from_pylist(rows())
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def saved(path: Path) -> None:
    """A dataset as Hugging Face saves it."""
    path.mkdir()
    stream(path / "data-00000-of-00001.arrow")
    (path / "dataset_info.json").write_text("{}")
    (path / "state.json").write_text('{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}')


def hive(path: Path) -> None:
    for region, part in (("eu", slice(0, 1)), ("us", slice(1, 4))):
        (path / f"region={region}").mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows()[part]), path / f"region={region}" / "0.parquet")


def two(path: Path) -> None:
    keyed = [{"id": number, **row} for number, row in enumerate(rows())]
    lines([{"id": row["id"], "p": row["p"]} for row in keyed])(path)
    lines([{"id": row["id"], "y": row["y"]} for row in keyed[::-1]])(path.with_name("truth.jsonl"))


def wide(**sides: np.ndarray) -> str:
    columns = {f"{name}_{label}": values[:, at] for name, values in sides.items() for at, label in enumerate(LABELS)}
    return cells([dict(zip(columns, row, strict=True)) for row in zip(*(v.tolist() for v in columns.values()))])  # noqa: B905


def long() -> str:
    return cells([
        {"id": row, "label": LABELS[at], "y": int(TRUE[row, at]), "p": int(PRED[row, at])}
        for row in range(4) for at in range(3)
    ])  # fmt: skip


def indicators(row: Any) -> list[int]:
    return list(map(int, row))


def emptied() -> list[dict[str, Any]]:
    return [*rows()[:3], {"y": None, "p": names(PRED[3])}]


DECLARED = f"--labels '{json.dumps(LABELS)}'"
EITHER = r"is \[.*which may be indicators or the labels.*--rows indicator"
FILES = [
    File("JSON Lines: lists of names", "a.jsonl", lines(rows())),
    File("JSON Lines: objects of booleans", "a.jsonl", lines(rows(mapping))),
    File("JSON Lines: objects of 0 and 1", "a.jsonl", lines(rows(lambda row: mapping(row.astype(int))))),
    File("JSON Lines: lists of 0 and 1", "a.jsonl", lines(rows(indicators)), refused=EITHER),
    File("the same", "a.jsonl", lines(rows(indicators)), f"--rows indicator {DECLARED}"),
    File("JSON Lines: lists of booleans", "a.jsonl", lines(rows(lambda row: row.tolist())), DECLARED),
    File("JSON Lines: lists of 0.0 and 1.0", "a.jsonl", lines(rows(lambda row: [*map(float, row)])), DECLARED),
    File("JSON Lines: strings", "a.jsonl", lines(joined(",")), refused="split strings with --sep ','"),
    File("the same", "a.jsonl", lines(joined(",")), "--sep ,"),
    File("JSON Lines: nulls", "a.jsonl", lines(emptied()), refused="give --null empty"),
    File("the same", "a.jsonl", lines(emptied()), "--null empty", empty=True),
    File("JSON Lines: nested objects", "a.jsonl", lines([{"o": row} for row in rows()]), "-a o.y -p o.p"),
    File("JSON: one array of objects", "a.json", text(json.dumps(rows(), indent=1))),
    File("JSON Lines: scores in objects", "a.jsonl", lines(rows(names, mapping)), scores=True),
    File("JSON Lines: pairs of label and score", "a.jsonl", lines(rows(names, lambda row: [*mapping(row).items()])),
         scores=True),
    File("JSON Lines: lists of scores", "a.jsonl", lines(rows(names, lambda row: row.tolist())), DECLARED, scores=True),
    File("JSON Lines in gzip", "a.jsonl.gz", lambda path: path.write_bytes(
        gzip.compress("".join(json.dumps(row) + "\n" for row in rows()).encode()))),
    File("a key twice in an object", "a.jsonl", text('{"y": [], "p": [], "y": []}\n'), refused="'y' occurs twice"),
    File("CSV: labels with | between", "a.csv", text(cells(joined()))),
    File("CSV: other separators", "a.csv", text(cells(joined("; "))), "--sep ';'"),
    File("CSV: another separator, not named", "a.csv", text(cells(joined(",") * 2)), warned="give --sep ','"),
    File("CSV: lists as pandas writes them", "a.csv", text(cells(rows(lambda row: str(names(row)))))),
    File("CSV: lists as JSON", "a.csv", text(cells(rows(lambda row: json.dumps(names(row)))))),
    File("CSV: lists as numpy writes them", "a.csv", text(cells(rows(lambda row: str(np.array(names(row))))))),
    File("CSV: arrays of Postgres", "a.csv", text(cells(rows(lambda row: "{" + ",".join(names(row)) + "}")))),
    File("CSV: lists without quotes, as of DuckDB, Java and Spark", "a.csv",
         text(cells(rows(lambda row: f"[{', '.join(names(row))}]"))), "--sep ,"),
    File("CSV: lists of 0 and 1", "a.csv", text(cells(rows(lambda row: str(row.astype(int))))), refused=EITHER),
    File("CSV: 0 and 1 with | between", "a.csv", text(cells(rows(lambda row: "|".join(map(str, indicators(row)))))),
         refused=EITHER),
    File("CSV: digits", "a.csv", text(cells(rows(lambda row: "".join(map(str, indicators(row)))))),
         refused="such as '101', which may be rows of indicators"),
    File("CSV: None for no label", "a.csv", text(cells([{"y": "cat", "p": "None"}])), warned="label 'None'"),
    File("CSV: scores behind colons", "a.csv", text(cells(rows(lambda row: "|".join(names(row)), lambda row: "|".join(
        f"{label}:{score}" for label, score in mapping(row).items())))), scores=True),
    File("CSV with another delimiter", "a.csv", text(cells(joined(), ";"))),
    File("CSV with spaces in its header", "a.csv", text(cells(joined()).replace("y,p", "y, p"))),
    File("CSV that begins with a byte order mark", "a.csv", text("\ufeff" + cells(joined()))),
    File("TSV", "a.tsv", text(cells(joined(), "\t"))),
    File("TSV of another name", "a.txt", text(cells(joined(), "\t"))),
    File("CSV: a column for each label", "a.csv", text(wide(true=TRUE * 1, pred=PRED * 1)), "-a 'true_*' -p 'pred_*'"),
    File("CSV: a column of scores for each label", "a.csv", text(wide(true=TRUE * 1, score=SCORES)),
         "-a 'true_*' -s 'score_*' --threshold 0.5"),
    File("CSV: a row for each label", "a.csv", text(long()), "--example id --label label"),
    File("UTF-16", "a.csv", text(cells(joined()).encode("utf-16")), refused="is UTF-16; save it as UTF-8"),
    File("an Excel file", "a.xlsx", text(b"PK\x03\x04"), refused="is an Excel file or an archive; save the table"),
    File("compressed by zstd", "a.csv.zst", text(b"\x28\xb5\x2f\xfd"), refused="give zstdcat a.csv.zst |"),
    File("compressed by bzip2", "a.csv.bz2", text(b"BZh9"), refused="give bzcat a.csv.bz2 |"),
    File("compressed by xz", "a.csv.xz", text(b"\xfd7zXZ"), refused="give xzcat a.csv.xz |"),
    File("a pickle", "a.pkl", text(pickle.dumps([1])), refused="is a pickle; save the table as CSV or Parquet"),
    File("an array of numpy", "a.npy", text(b"\x93NUMPY"), refused="is an array of numpy; load it"),
    File("Parquet: lists of strings", "a.parquet", parquet(names, pa.list_(pa.string()))),
    File("Parquet: lists of dictionary codes", "a.parquet",
         parquet(names, pa.list_(pa.dictionary(pa.int32(), pa.string())))),
    File("Parquet: lists of booleans", "a.parquet", parquet(lambda row: row.tolist(), pa.list_(pa.bool_())), DECLARED),
    File("Parquet: lists of 0.0 and 1.0", "a.parquet", parquet(indicators, pa.list_(pa.float64())), DECLARED),
    File("Parquet: lists of 0 and 1", "a.parquet", parquet(indicators, pa.list_(pa.int8())), refused=EITHER),
    File("Parquet: lists of 0 and 1 of one size", "a.parquet", parquet(indicators, pa.list_(pa.int8(), 3)),
         refused="may be indicators or the labels themselves"),
    File("the same", "a.parquet", parquet(indicators, pa.list_(pa.int8(), 3)), f"--rows indicator {DECLARED}"),
    File("Parquet: structs of booleans", "a.parquet", parquet(mapping, pa.struct([(n, pa.bool_()) for n in LABELS]))),
    File("Parquet: maps of booleans", "a.parquet",
         parquet(lambda row: [*mapping(row).items()], pa.map_(pa.string(), pa.bool_()))),
    File("Parquet: strings", "a.parquet", parquet(lambda row: ",".join(names(row)), pa.string()),
         refused="split them with --sep ','"),
    File("the same", "a.parquet", parquet(lambda row: ",".join(names(row)), pa.string()), "--sep ,"),
    File("Parquet: nulls", "a.parquet", lambda path: pq.write_table(pa.Table.from_pylist(emptied()), path),
         refused="--null empty"),
    File("the same", "a.parquet", lambda path: pq.write_table(pa.Table.from_pylist(emptied()), path), "--null empty",
         empty=True),
    File("Parquet: structs of scores", "a.parquet",
         parquet(mapping, pa.null(), pa.struct([(n, pa.float64()) for n in LABELS])), scores=True),
    File("Parquet: maps of scores", "a.parquet",
         parquet(lambda row: [*mapping(row).items()], pa.null(), pa.map_(pa.string(), pa.float64())), scores=True),
    File("Parquet: lists of scores", "a.parquet", parquet(lambda row: row.tolist(), pa.null(), pa.list_(pa.float32())),
         DECLARED, scores=True),
    File("Arrow (Feather)", "a.arrow", lambda path: feather.write_feather(pa.Table.from_pylist(rows()), path)),
    File("Arrow stream", "a.arrows", stream),
    File("a dataset that Hugging Face saved", "a", saved),
    File("a folder, by the names of its folders", "a", hive, "--by region"),
    File("two files", "a.jsonl", two, "--truth truth.jsonl --join id"),
]  # fmt: skip


def table() -> list[str]:
    """The lines of a Markdown table of all files."""
    head = ["| file | command | |", "|---|---|---|"]
    answers = ["refused" if each.refused else "read, with a warning" if each.warned else "read" for each in FILES]
    return head + [
        f"| {each.name.replace('|', '`' + chr(92) + '|`')} | `{each.command}` | {answer} |"
        for each, answer in zip(FILES, answers, strict=True)
    ]
