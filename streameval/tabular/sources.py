"""Whatever can be evaluated as a table, as batches of its rows; files of Parquet and Arrow, and which a path names."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.inputs.arrow import arrow_of_polars
from streameval.schema.text import quoted, suggestion
from streameval.tabular.columns import Columns

PathLike: TypeAlias = str | os.PathLike[str]

_FORMATS = {b"PAR1": "parquet", b"ARRO": "ipc"}
_VALUES = 2**21  # of all columns together in a batch of a Parquet file
_UNCODED = 2**12  # rows of a batch where strings are not read as codes, so that nobody knows how long they get
_PART = 2**12  # A part of a table with at least as many rows is a batch of its own


class Source(NamedTuple):
    """Batches, how many rows they have if it is known beforehand, and what their columns are."""

    batches: Iterator[Any]
    rows: Callable[[], int | None]
    schema: Any = None


def are_paths(source: object) -> TypeGuard[list[PathLike]]:
    """Whether this is a list of paths."""
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(p, str | os.PathLike) for p in source)


def matches_of(path: PathLike) -> list[Path]:
    """The file or folder of a path; or all that match a pattern such as ``"predictions/*.parquet"``, sorted."""
    text = os.fspath(path)
    place = Path(text)
    if place.exists():
        return [place]
    if glob.has_magic(text):
        matches = [Path(match) for match in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207  # absolute ones too
        if not matches:
            raise InputError(f"no file matches {quoted(text, 300)}")
        return matches
    near = [file.name for file in place.parent.iterdir()] if place.parent.is_dir() else []
    raise InputError(f"there is no file {quoted(text, 300)}{suggestion(place.name, near)}")


def open_source(source: Any, columns: Columns, size: int) -> Source:
    """The batches of whatever `evaluate` takes, of at most ``size`` rows."""
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if are_paths(paths):
        return open_files(paths, columns, size)
    if hasattr(source, "get_fragments"):  # a dataset of Arrow
        columns.check_names(source.schema.names)
        schema = pa.schema([source.schema.field(name) for name in columns.names])
        files = _parquet_files(source)
        scans = (_parquet_batches(file, schema, columns, size) for file in files)
        batches = chain.from_iterable(scans) if files else source.to_batches(columns=schema.names, batch_size=size)
        return Source(batches, source.count_rows, schema)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        columns.check_names(source.schema.names)
        chosen = source.select(list(columns.names))
        return Source(iter(chosen.to_batches(max_chunksize=size)), lambda: source.num_rows, chosen.schema)
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        columns.check_names(list(source.columns))
        starts = range(0, len(source), size) or (0,)
        return Source((source.iloc[start : start + size] for start in starts), lambda: len(source))
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _polars(source, columns, size)
    if hasattr(source, "to_arrow_reader") or hasattr(source, "fetch_arrow_reader"):  # DuckDB
        columns.check_names(source.columns)
        chosen = source.project(", ".join('"' + name.replace('"', '""') + '"' for name in columns.names))
        reader = (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader)(size)
        return Source(iter(reader), lambda: None, reader.schema)
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, pa.RecordBatchReader):
        source = pa.RecordBatchReader.from_stream(source)
    if isinstance(source, pa.RecordBatchReader):
        return Source(_cut(source, size), lambda: None, source.schema)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return Source(iter(source), lambda: None)
    raise InputError(f"source must be a path, a table, a query or an iterable of record batches, not {quoted(source)}")


def _cut(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The rows of batches in batches of no more than so many."""
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)


def _uncut(tables: Iterable[Any]) -> Iterator[Any]:
    """The parts that tables consist of, which need not be joined then; but tables of small parts as they are."""
    for table in tables:
        parts = table.to_batches()
        yield from parts if table.num_rows >= _PART * len(parts) else [table]


def _polars(frame: Any, columns: Columns, size: int) -> Source:
    columns.check_names(frame.collect_schema().names())
    chosen = frame.select(list(columns.names))
    schema = arrow_of_polars(chosen.head(0).collect()).schema
    if not hasattr(chosen, "collect_batches"):
        table = arrow_of_polars(chosen.collect(engine="streaming"))
        return Source(iter(table.to_batches(max_chunksize=size)), lambda: table.num_rows, schema)
    parts = chosen.collect_batches(chunk_size=size, maintain_order=False)
    return Source(_uncut(map(arrow_of_polars, parts)), lambda: None, schema)


def open_files(paths: Iterable[PathLike], columns: Columns, size: int) -> Source:
    """The rows of files; where the types of columns differ among files, each is read with its own."""
    import pyarrow.dataset as ds  # imported late, since it imports pandas

    datasets = []
    for place in (match for path in paths for match in matches_of(path)):
        options: Any = {"partitioning": "hive", "partition_base_dir": str(place)} if place.is_dir() else {}
        by_format: dict[str, list[str]] = {}
        for file in _within(place) if place.is_dir() else [place]:
            by_format.setdefault(_format(file), []).append(str(file))
        for name, files in by_format.items():
            try:
                coded = _strings(pq.ParquetFile(files[0]), columns) if name == "parquet" else None
                form = name if coded is None else ds.ParquetFileFormat(dictionary_columns=coded)
                datasets.append(ds.dataset(files, format=form, **options))
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{files[0]} cannot be read: {error}; it may be damaged or incomplete") from None
    names = list(columns.names)
    scans = [scan for dataset in datasets for scan in _scans(dataset, columns)]

    def batches() -> Iterator[Any]:
        for scan, schema in scans:
            if scan.format.default_extname == "parquet":
                yield from _parquet_batches(scan, schema, columns, size)
            else:
                yield from scan.to_batches(columns=names, batch_size=size, schema=schema)

    schema = pa.schema([datasets[0].schema.field(name) for name in names])
    return Source(batches(), lambda: sum(dataset.count_rows() for dataset in datasets), schema)


def _within(folder: Path) -> list[Path]:
    """The files in a folder and below it, but for hidden ones."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    files = [file for file in files if not re.search(r"(^|/)[_.]", file.relative_to(folder).as_posix())]
    if not files:
        raise InputError(f"the folder {quoted(str(folder), 300)} holds no files")
    return files


def _strings(file: Any, columns: Columns) -> set[str]:
    """The columns of strings in a Parquet file that are read as codes, as they are stored, in half of the time."""
    lists = [name for name in (columns.actual, columns.predicted, columns.mask) if name is not None]
    return {
        column.path
        for column in map(file.schema.column, range(len(file.schema)))
        if column.logical_type.type == "STRING"
        and (column.path in columns.by or (column.path not in lists and _of(column.path, lists)))
    }


def _parquet_files(dataset: Any) -> list[Any]:
    """The files of a dataset, if all are of Parquet and all of their rows are wanted; otherwise none."""
    try:
        files = [*dataset.get_fragments()]
    except ValueError:  # how Arrow says that the rows are filtered
        return []
    return files if all(hasattr(type(file), "row_groups") for file in files) else []


def _parquet_batches(fragment: Any, schema: Any, columns: Columns, size: int) -> Iterator[Any]:
    """The rows of a Parquet file as they are decoded; Arrow's scans hold all rows of a group at once."""
    from pyarrow.dataset import get_partition_keys

    known, own = get_partition_keys(fragment.partition_expression), fragment.physical_schema
    names = [name for name in schema.names if name in own.names and name not in known]
    same = [name for name in names if own.field(name).type == schema.field(name).type]
    coded = {path for path in _strings(pq.ParquetFile(fragment.open()), columns) if _of(path, same)}
    file = pq.ParquetFile(fragment.open(), read_dictionary=coded)
    paths = {column.path: column for column in map(file.schema.column, range(len(file.schema)))}
    read = [path for path in paths if _of(path, names)]
    plain = [path for path in read if paths[path].physical_type == "BYTE_ARRAY" and path not in coded]

    def column(batch: Any, field: Any) -> Any:
        if field.name in names:
            values = batch.column(field.name)
            return values if field.name in same else values.cast(field.type)
        return pa.repeat(pa.scalar(known.get(field.name), field.type), len(batch))

    for number in [part.id for part in fragment.row_groups]:
        group = file.metadata.row_group(number)
        chunks = map(group.column, range(group.num_columns))
        values = sum(chunk.num_values for chunk in chunks if chunk.path_in_schema in read)
        rows = max(1, min(size, _VALUES * group.num_rows // max(1, values), _UNCODED if plain else size))
        for batch in file.iter_batches(rows, [number], names):
            yield pa.RecordBatch.from_arrays([column(batch, field) for field in schema], schema.names)


def _of(path: str, names: Iterable[str]) -> bool:
    """Whether a column of a Parquet file is, or is within, one of these."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _scans(dataset: Any, columns: Columns) -> list[tuple[Any, Any]]:
    """The files of a dataset one by one, each with the types that its columns have in it."""
    columns.check_names(dataset.schema.names)
    whole, scans = dataset.schema, list[tuple[Any, Any]]()
    for fragment in dataset.get_fragments():
        try:
            own = fragment.physical_schema
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{fragment.path} cannot be read: {error}; it may be damaged or incomplete") from None
        # What no file holds comes from the names of folders, such as region=eu.
        parted = f"({fragment.partition_expression}"
        for name in columns.names:
            if name not in own.names and f"({name} ==" not in parted:
                raise InputError(f"{fragment.path} has no column {name!r}{suggestion(name, own.names)}")
        fields = [own.field(name) if name in own.names else whole.field(name) for name in columns.names]
        scans.append((fragment, pa.schema(fields)))
    return scans


def _format(file: Path) -> str:
    with file.open("rb") as opened:
        start = opened.read(4)
    if start not in _FORMATS:
        raise InputError(f"{file} is neither Parquet nor Arrow: it starts with {start!r}; give a table of it")
    return _FORMATS[start]
