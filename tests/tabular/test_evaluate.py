"""`evaluate_table` gives the bytes of one `update_many` for every kind of table, and names what it cannot read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import streameval as se
from streameval.tabular.job import Job
from tests.support.effort import BRIEF, crossed

ROWS = 500
METRICS = ["f1_micro", "f1_macro", "recall_samples"]


def table(seed: int = 1, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(seed)
    names = [f"label {number}" for number in range(12)]

    def lists() -> list[list[str]]:
        return [rng.choice(names, rng.integers(0, 4), replace=False).tolist() for _ in range(rows)]

    return pa.table(
        {
            "id": pa.array(range(rows)),
            "actual": pa.array(lists(), pa.list_(pa.string())),
            "predicted": pa.array(lists(), pa.list_(pa.string())),
            "weight": pa.array(rng.choice([0.1, 1.0, 3.0], rows)),
            "region": pa.array(rng.choice(["eu", "us"], rows)),
        }
    )


def expected(value: pa.Table, *, weighted: bool = False) -> se.Evaluator:
    made = se.Evaluator(METRICS)
    weights = value["weight"].to_pylist() if weighted else None
    made.update_many(value["actual"].to_pylist(), value["predicted"].to_pylist(), weights=weights)
    return made


def evaluated(source: object, **options: Any) -> Any:
    return se.evaluate_table(source, actual="actual", predicted="predicted", metrics=METRICS, **options)


class Stream:
    """An object of which only the interface for Arrow streams is known."""

    def __init__(self, value: pa.Table) -> None:
        self._inputs = value

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._inputs.__arrow_c_stream__(requested_schema)


SOURCES: dict[str, Callable[[pa.Table, Path], object]] = {
    "table": lambda value, _: value,
    "chunked table": lambda value, _: pa.concat_tables([value[:7], value[7:7], value[7:]]),
    "sliced table": lambda value, _: pa.concat_tables([value[3:9], value, value[1:2]])[6 : 6 + ROWS],
    "record batch": lambda value, _: value.combine_chunks().to_batches()[0],
    "reader": lambda value, _: value.to_reader(max_chunksize=33),
    "dataset": lambda value, _: ds.dataset(value),
    "dataset of files": lambda value, folder: ds.dataset(
        [written(value[:99], folder / "a"), written(value[99:].cast(large(value.schema)), folder / "b")]
    ),
    "filtered dataset": lambda value, folder: ds.dataset(written(value, folder / "a")).filter(ds.field("id") >= 0),
    "scanner": lambda value, _: ds.dataset(value).scanner(batch_size=77),
    "file of Parquet": lambda value, folder: pq.ParquetFile(written(value, folder / "a")),
    "dataset of other types": lambda value, folder: ds.dataset(
        written(value, folder / "a"), schema=large(value.schema)
    ),
    "list of batches": lambda value, _: value.to_batches(max_chunksize=100),
    "generator of batches": lambda value, _: iter(value.to_batches(max_chunksize=100)),
    "pandas": lambda value, _: value.to_pandas(),
    "polars": lambda value, _: pl.from_arrow(value),
    "polars categories": lambda value, _: categories(value),
    "polars lazy categories": lambda value, _: categories(value).lazy(),
    "polars lazy": lambda value, _: pl.from_arrow(value).lazy().filter(pl.col("id") >= 0),
    "Arrow stream": lambda value, _: Stream(value),
    "parquet": lambda value, folder: written(value, folder / "a.parquet"),
    "parquet as text": lambda value, folder: str(written(value, folder / "a.parquet")),
    "feather": lambda value, folder: feathered(value, folder / "a.feather"),
    "files": lambda value, folder: [written(value[:99], folder / "a"), feathered(value[99:], folder / "b")],
    "pattern": lambda value, folder: (
        [written(value[:99], folder / "a.pq"), written(value[99:], folder / "b.pq")] and os.fspath(folder / "*.pq")
    ),
    "folder": lambda value, folder: (
        [written(value[:99], folder / "x" / "a"), written(value[99:], folder / "b")] and folder
    ),
    "files of other types": lambda value, folder: [
        written(value[:99], folder / "a"),
        written(value[99:].cast(large(value.schema)), folder / "b"),
    ],
    "dictionaries": lambda value, folder: written(value, folder / "a", dictionaries=True),
}


def large(schema: pa.Schema) -> pa.Schema:
    kind = pa.large_list(pa.large_string())
    return pa.schema([(field.name, kind if pa.types.is_list(field.type) else field.type) for field in schema])


def categories(value: pa.Table) -> pl.DataFrame:
    return pl.from_arrow(value).with_columns(pl.col("actual", "predicted").cast(pl.List(pl.Categorical)))


def written(value: pa.Table, path: Path, *, dictionaries: bool = False) -> Path:
    path.parent.mkdir(exist_ok=True)
    if dictionaries:
        kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
        columns = [
            pa.ListArray.from_arrays(whole.offsets, whole.values.dictionary_encode()).cast(kind)
            for name in ("actual", "predicted")
            for whole in [value[name].combine_chunks()]
        ]
        value = pa.table({"actual": columns[0], "predicted": columns[1], "weight": value["weight"]})
    pq.write_table(value, path, row_group_size=64)
    return path


def feathered(value: pa.Table, path: Path) -> Path:
    feather.write_feather(value, path, compression="uncompressed")
    return path


@pytest.mark.parametrize(("batch_size", "kind"), crossed([None, 17], SOURCES))
def test_every_source_gives_the_bytes_of_one_update(kind: str, batch_size: int | None, tmp_path: Path):
    value = table()
    for weighted in (batch_size is None,) if BRIEF else (False, True):
        options = {"weight": "weight"} if weighted else {}
        result = evaluated(SOURCES[kind](value, tmp_path), batch_size=batch_size, **options)
        assert result.to_bytes() == expected(value, weighted=weighted).to_bytes()


@pytest.mark.parametrize("kind", [kind for kind in SOURCES if kind != "dictionaries"])
def test_every_source_can_be_sliced(kind: str, tmp_path: Path):
    value = table()
    result = evaluated(SOURCES[kind](value, tmp_path), by="region")
    assert isinstance(result, se.Sliced)
    for region in ("eu", "us"):
        rows = value.filter(pa.compute.equal(value["region"], region))
        assert result[region] == expected(rows)
    assert result.total() == expected(value)


def test_values_to_slice_by_may_come_from_names_of_folders(tmp_path: Path):
    value = table()
    root = tmp_path / "predicted=0.5"  # the column of the file takes precedence
    for region in ("eu", "us"):
        rows = value.filter(pa.compute.equal(value["region"], region)).drop_columns("region")
        rows = rows.append_column("year", pa.repeat(pa.scalar(2026), len(rows)))  # as polars writes partitions
        (root / f"region={region}" / "year=2026").mkdir(parents=True)
        written(rows, root / f"region={region}" / "year=2026" / "part.parquet")
    (root / "_SUCCESS").touch()
    for source in (root, [*root.glob("region=*/*/*")]):
        assert evaluated(source, by="region") == evaluated(value, by="region")
        assert [part.where for part in evaluated(source, by="year").slices()] == [{"year": 2026}]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_a_column_of_a_file_takes_precedence_over_the_name_of_its_folder(kind: str, tmp_path: Path):
    value = table().select(["actual", "predicted"]).slice(0, 2)
    for folder, own in {"a": ["x", "y"], "b": None, "c": [7, 8], "d": None}.items():
        rows = value if own is None else value.append_column("part", pa.array(own))
        (tmp_path / f"part={folder}").mkdir()
        path = tmp_path / f"part={folder}" / "file.parquet"
        if kind == "parquet":
            written(rows, path)
        else:
            path = path.with_suffix(".arrow")
            new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
            with new(path, rows.schema) as writer:
                writer.write_table(rows)
    assert {*evaluated(tmp_path, by="part").get()["part"]} == {"x", "y", "b", 7, 8, "d"}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_a_folder_name_is_a_string_even_if_it_looks_like_a_number(kind: str, tmp_path: Path):
    value = table()
    names = {"us": "us", "1": "1", "01": "01", "a%2Fb": "a/b", "__HIVE_DEFAULT_PARTITION__": None}
    for name in names:
        (tmp_path / f"part={name}").mkdir()
        path, rows = tmp_path / f"part={name}" / f"x.{kind}", value.select(["actual", "predicted"])
        if kind == "csv":
            lines = ("|".join(row["actual"]) + "," + "|".join(row["predicted"]) for row in rows.to_pylist())
            path.write_text("\n".join(["actual,predicted", *lines]))
        elif kind == "jsonl":
            path.write_text("\n".join(map(json.dumps, rows.to_pylist())))
        elif kind == "arrow":
            feather.write_feather(rows, path)
        else:
            written(rows, path)
    for source in (tmp_path, f"{tmp_path}/*", [*tmp_path.glob("*/*")][::-1]):
        read = evaluated(source, by="part")
        assert {part.where["part"] for part in read.slices()} == {*names.values()}
        assert all(part.evaluator == expected(value) for part in read.slices())


@pytest.mark.parametrize(
    "kind", ["table", "parquet", "feather", "folder", "reader", "dataset", "polars lazy", "pandas"]
)
def test_a_table_without_rows_gives_an_empty_result(kind: str, tmp_path: Path):
    empty = table()[:0] if kind != "pandas" else table()[:0].to_pandas()
    result = evaluated(SOURCES[kind](empty, tmp_path) if kind != "pandas" else empty)
    assert result == se.Evaluator(METRICS)


def test_metrics_may_be_an_object_which_is_not_changed():
    value = table()
    own = se.F1(average="macro")
    result = se.evaluate_table(value, actual="actual", predicted="predicted", metrics=own)
    assert isinstance(result, se.F1)
    assert result.examples == ROWS
    assert own.examples == 0
    sliced = se.Sliced(se.Evaluator(METRICS), by="region")
    result = se.evaluate_table(value, actual="actual", predicted="predicted", metrics=sliced)
    assert result["eu"] == evaluated(value, by="region")["eu"]


# -- what is refused --------------------------------------------------------------------------------------------------


def test_missing_files_are_named(tmp_path: Path):
    written(table(), tmp_path / "predictions.parquet")
    with pytest.raises(
        se.InputError, match=r"there is no file .*predictons.parquet'; did you mean '.*predictions.parquet'"
    ):
        evaluated(tmp_path / "predictons.parquet")
    for text in ("actual,predicted\n" * 400, "a/b,c\n" * 400):
        with pytest.raises(se.InputError, match=r"there is no file 'a"):
            evaluated(text)
    with pytest.raises(se.InputError, match=r"no file matches .*\*\.arrow'"):
        evaluated(os.fspath(tmp_path / "*.arrow"))
    with pytest.raises(se.InputError, match=r"'s3://bucket/t.parquet' is a URL; give a table that another library"):
        evaluated("s3://bucket/t.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(se.InputError, match="holds no files"):
        evaluated(tmp_path / "empty")


def test_files_of_other_formats_and_damaged_files_are_named(tmp_path: Path):
    (tmp_path / "a.parquet").write_text("actual,predicted\n")
    with pytest.raises(se.InputError, match=r"a.parquet is neither Parquet nor Arrow: it starts with b'actu'"):
        evaluated(tmp_path / "a.parquet")
    path = written(table(), tmp_path / "b.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(se.InputError, match=r"b.parquet.*cannot be read|cannot be read.*b.parquet"):
        evaluated(path)
    written(table(), tmp_path / "a.parquet")
    with pytest.raises(se.InputError, match=r"b.parquet.*cannot be read|cannot be read.*b.parquet"):
        evaluated([tmp_path / "a.parquet", path])
    broken = bytearray(whole)
    broken[100:2000] = bytes(1900)
    path.write_bytes(broken)
    with pytest.raises(se.InputError, match="cannot be read"):
        evaluated(path)


@pytest.mark.parametrize("kind", ["table", "parquet", "folder", "dataset", "reader", "pandas", "polars", "polars lazy"])
def test_a_missing_column_is_reported_with_the_nearest_name(kind: str, tmp_path: Path):
    source = SOURCES[kind](table(), tmp_path)
    with pytest.raises(se.InputError, match=r"no column 'predictd' \(predicted\); did you mean 'predicted'"):
        se.evaluate_table(source, actual="actual", predicted="predictd")


def test_a_column_that_only_some_files_have_is_refused(tmp_path: Path):
    written(table(), tmp_path / "a")
    written(table().drop_columns("predicted"), tmp_path / "b")
    with pytest.raises(se.InputError, match=r"b has no column 'predicted'"):
        evaluated(tmp_path, null="empty")
    for name, labels in (("a", "x"), ("b", "xy")):
        written(pa.table({f"{side}_{label}": [1] for side in ("true", "pred") for label in labels}), tmp_path / name)
    with pytest.raises(se.InputError, match=r"b has a column 'true_y', which other files do not have"):
        se.evaluate_table(tmp_path, actual="true_*", predicted="pred_*")


@pytest.mark.parametrize("error", [OSError, pa.ArrowInvalid])
def test_an_error_while_a_table_is_read_is_raised_as_an_input_error(error: type[Exception]):
    def batches() -> Iterator[pa.Table]:
        yield table()
        raise error("gone")

    with pytest.raises(se.InputError, match="the table cannot be read: gone"):
        evaluated(batches())


def test_types_of_columns_are_checked_even_if_there_are_no_rows(tmp_path: Path):
    path = written(
        pa.table({"actual": pa.array([], pa.string()), "predicted": pa.array([], pa.string())}), tmp_path / "a"
    )
    with pytest.raises(se.InputError, match="column 'actual' holds strings"):
        evaluated(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be an integer of at least 1, not 0"),
        ({"null": "drop"}, "null must be one of 'error', 'empty', not 'drop'"),
        ({"by": 3}, "by must be a name of a column, or several, not"),
        ({"threshold": 0.5, "scores": "scores", "weight": 4}, "weight must be the name of a column, not 4"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(se.InputError, match=message):
        evaluated(table(), **options)


@pytest.mark.parametrize("source", [3, None, b"x", np.array(1), {"actual": [["a"]]}])
def test_what_is_no_table_is_refused(source: object):
    advice = r"give pandas\.DataFrame\(source\)" if isinstance(source, dict) else ""
    with pytest.raises(se.InputError, match=f"source must be a path.*{advice}$"):
        evaluated(source)
    if source is not None and not isinstance(source, dict):
        with pytest.raises(se.InputError, match="row 0: a row must be a mapping or have the columns as attributes"):
            evaluated([source])
    with pytest.raises(se.InputError, match=r"a data frame of Dask; call evaluate of streameval.adapters.dask$"):
        evaluated(SimpleNamespace(iloc=None, compute=None))
    with pytest.raises(se.InputError, match="source must be a path"):
        evaluated(SimpleNamespace(iter_batches=None))  # like a dataset of Ray
    wide = pl.DataFrame({"actual": [[3]]}, schema={"actual": pl.List(pl.Int128)})
    for other in (pl.Series([["a"]]), wide, wide.with_columns(predicted="actual").lazy()):
        with pytest.raises(se.InputError, match=r"source is not an Arrow table: .*cast its columns"):
            evaluated(other)


def test_the_adapter_of_the_page_gives_the_bytes_of_one_process(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[:2]:
        exec(block, names)  # noqa: S102  # the code of the page must run
    assert names["scan"] == ["tags", "guess", "region"]
    names["ProcessPoolExecutor"] = ThreadPoolExecutor  # functions of a page cannot be sent to processes
    table = pa.table({"tags": [["cat"], ["dog"], []], "guess": [["cat"], ["cat"], []], "region": ["eu", "us", None]})
    paths = [tmp_path / f"{number}.parquet" for number in range(4)]
    for number, path in enumerate(paths):
        pq.write_table(table.slice(number, 1), path)
    total = names["evaluate"](paths, names["job"])
    assert total.examples == 3
    assert total.to_bytes() == names["job"].merged([names["job"].state([table])]).to_bytes()
    with pytest.raises(se.InputError, match="no column 'region'"):
        names["job"].add(names["job"].fresh(), table.drop_columns(["region"]).slice(0, 0))


@pytest.mark.parametrize("state", [3, None, "state", se.F1(), [b""]])
def test_merged_refuses_what_is_no_list_of_states_as_bytes(state: Any):
    job = Job.of(["f1_micro"], actual="a", predicted="b")
    with pytest.raises(se.MergeError, match=r"merged takes a list of states as bytes, as state\(\) makes them, not "):
        job.merged([state])
    with pytest.raises(se.MergeError, match="not 115"):
        job.merged(b"s")


@pytest.mark.parametrize("source_of", [Path, ds.dataset])
def test_a_small_file_of_long_labels_takes_little_memory(source_of: Callable[[Path], object], tmp_path: Path):
    rows, name = 200_000, "x" * 1000
    coded = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([name]))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype=np.int32)), coded)
    file = tmp_path / "long.parquet"
    pq.write_table(pa.table({"actual": lists, "predicted": lists}), file, row_group_size=rows, store_schema=False)
    assert file.stat().st_size < 100_000
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(pool)
    try:
        made = evaluated(source_of(file))
    finally:
        pa.set_memory_pool(before)
    assert (made.examples, made.labels) == (rows, (name,))
    assert pool.max_memory() < 16e6  # as strings the labels take 400 MB


def test_cells_of_scores_are_read_from_strings_of_any_type():
    frame = pl.DataFrame({"actual": ["a", "b"], "s": ["a:0.9|b:0.2", None]})
    made = se.evaluate_table(frame, metrics=["ndcg"], actual="actual", scores="s", sep="|", null="empty")
    assert made.get("ndcg") == 0.5


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("a:1_0", r"must hold scores like .*; if each row is of one label, give example= and label=$"),
        ("a:\u0663", "must hold scores like"),
        ("a:1|a:2", "two values for label 'a'"),
        ('["a", "b"]', r"must hold a mapping label -> number, or a list .*, not \['a', 'b'\]"),
        (None, r"column 's' is missing \(None\); .*null='empty'"),
    ],
)
def test_invalid_cells_of_scores_are_refused(cell: str | None, message: str):
    for source in ([{"actual": "a", "s": cell}], pa.table({"actual": ["a"], "s": pa.array([cell], pa.string())})):
        with pytest.raises(se.InputError, match=message):
            se.evaluate_table(source, metrics=["ndcg"], actual="actual", scores="s", sep="|")


def test_unknown_arguments_are_refused_in_the_name_of_the_function_that_was_called():
    rows = [{"y": ["a"], "p": ["a"]}]
    with pytest.raises(se.InputError, match=r"^evaluate_table has no argument foo=; it takes actual, predicted, "):
        se.evaluate_table(rows, actual="y", predicted="p", foo=1)  # type: ignore[call-arg]
    for name, ours in {"pred": "predicted", "separator": "sep", "thresh": "threshold"}.items():
        with pytest.raises(se.InputError, match=rf"no argument {name}=; (write {ours}=...|did you mean '{ours}'\?)$"):
            evaluated(table(), **{name: "x"})
    with pytest.raises(se.InputError, match=r"^evaluate_table has no argument predict=; did you mean 'predicted'"):
        se.evaluate_table(rows, actual="y", predict="p")  # type: ignore[call-arg]
    with pytest.raises(se.InputError, match=r"^there is no argument score=; did you mean 'scores'"):
        Job.of(actual="y", score="p")  # type: ignore[call-arg]
