"""Opens every source of rows in blocks: paths and patterns, files of Parquet and Arrow, tables, frames, iterables."""

from __future__ import annotations

import glob
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import SequenceMatcher
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, naming, warn, wording
from streameval.schema.text import quoted, suggestion
from streameval.tabular.arrow import read_table, table_of
from streameval.tabular.columns import Columns
from streameval.tabular.joining import Joined, grouped, inner_join
from streameval.tabular.rows import Block, blocks_of, filled
from streameval.tabular.text import STDIN, Keys, read_text, sized, with_keys

PathLike: TypeAlias = str | os.PathLike[str]

_VALUES = 2**21  # values in a batch of a Parquet file, of all columns together
_UNCODED = 2**12  # rows of a batch if strings are not read as codes, because their length is unknown
_STREAM = b"\xff\xff\xff\xff"
_FORMATS = {b"PAR1": "parquet", b"ARRO": "ipc", _STREAM: "stream"}
_NAMES = (".parquet", ".pq", ".arrow", ".feather")  # suffixes of binary files


class Opened(NamedTuple):
    """Blocks of rows, and the schema of their columns if it is known before they are read."""

    blocks: Iterator[Block]
    schema: Any = None
    name: str = ""  # the file that has this schema, if one has


def are_paths(source: object) -> TypeGuard[list[PathLike]]:
    """Whether this is a list of paths."""
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(p, str | os.PathLike) for p in source)


def matches_of(*paths: PathLike) -> list[Path]:
    """The file or folder of each path; or all that match a pattern such as ``"predictions/*.parquet"``, sorted."""
    if len(paths) != 1:
        return [match for path in paths for match in matches_of(path)]
    if not (text := os.fspath(paths[0])):
        raise InputError("a path is the empty string; name a file, a folder or a pattern")
    if os.path.exists(text):  # noqa: PTH110  # False too for text that is too long for a name
        return [Path(text)]
    if "://" in text:
        way = wording("give a table that another library reads", "download it, or pipe it to streameval evaluate -")
        raise InputError(f"{quoted(text, 300)} is a URL; {way}")
    if not glob.has_magic(text):
        raise no_file(Path(text))
    if matches := [*map(Path, sorted(glob.glob(text, recursive=True)))]:  # noqa: PTH207  # absolute ones too
        return [path for path in matches if not {*path.parents}.intersection(matches)]  # folders are read whole
    raise InputError(f"no file matches {quoted(text, 300)}")


def no_file(path: Path) -> InputError:
    """The error for a file that does not exist; it suggests files whose names are alike without extensions."""
    files = [*path.parent.iterdir()] if os.path.isdir(path.parent) else []  # noqa: PTH112
    stem = path.stem.casefold()
    near = [str(file) for file in files if SequenceMatcher(None, stem, file.stem.casefold()).ratio() > 0.7]
    return InputError(f"there is no file {quoted(str(path), 300)}{suggestion(str(path), near, cutoff=0.0)}")


def check_distinct(files: Iterable[PathLike]) -> None:
    """Warn of a file that is named twice, such as by its path and by a pattern, because its rows count twice."""
    names: dict[str, list[str]] = {}
    for file in files:
        names.setdefault(os.path.realpath(file), []).append(os.fspath(file))
    if repeated := next((each for each in names.values() if len(each) > 1), None):
        warn(f"{quoted(repeated[0], 300)} is read {len(repeated)} times, and its rows count each time; name it once")


def open_source(source: Any, columns: Columns, size: int) -> Opened:
    """The rows of a source in blocks of at most ``size``; examples, if the columns say that these have many rows."""
    if isinstance(columns, Joined):
        sides = [_open(*side, size) for side in zip((source, columns.truth), columns.sides, strict=True)]
        return Opened(inner_join(sides[0].blocks, sides[1].blocks, columns))
    opened = _open(source, columns, size)
    if columns.example is not None:
        return Opened(grouped(opened.blocks, columns))
    if opened.schema is not None:  # checks the columns even if there are no rows
        with naming(opened.name):
            read_table(table_of(opened.schema, columns), columns)
    return opened


def _open(source: Any, columns: Columns, size: int) -> Opened:
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if are_paths(paths):
        if len(paths) > 1:
            check_distinct(file for path in paths for file in files_of(path))
        return open_files(paths, columns, size)
    if isinstance(source, type | io.TextIOBase):  # a class has its objects' attributes
        text = "source is a file that is open as text; give its path, or open it in binary mode, with 'rb'"
        kind = f"source must be an object, not a class, {quoted(source)}"
        raise InputError(kind if isinstance(source, type) else text)
    # A Parquet file, and a scanner of Arrow.
    source = source.iter_batches(size) if hasattr(source, "schema_arrow") else source
    source = source.to_reader() if hasattr(source, "projected_schema") else source
    path, name = getattr(source, "name", None), STDIN
    if isinstance(source, io.BytesIO):
        source, name = io.BufferedReader(source), "source"
    if hasattr(source, "peek") and hasattr(source, "read1"):  # a stream of bytes, such as standard input
        name = path if isinstance(path, str) and path != "<stdin>" else name
        return Opened(_stream(source, name, columns, size, {}))
    if hasattr(source, "get_fragments"):  # a dataset of Arrow
        schema = pa.schema([source.schema.field(name) for name in columns.check_names(source.schema.names)])
        files = _parquet_files(source)
        scans = (_blocks(_parquet_batches(file, schema, columns, size), file.path) for file in files)
        batches = chain.from_iterable(scans) if files else _blocks(source.to_batches(schema.names, batch_size=size))
        return Opened(batches, schema)
    if hasattr(source, "iloc") and hasattr(source, "compute"):
        raise InputError("source is a data frame of Dask; call evaluate of streameval.adapters.dask")
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        columns.check_names(list(source.columns))
        starts = range(0, len(source), size) or (0,)
        return Opened(_blocks(source.iloc[start : start + size] for start in starts))
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _polars(source, columns, size)
    if hasattr(source, "project") and hasattr(source, "columns"):  # a relation of DuckDB; a connection has no columns
        names = columns.check_names(source.columns)
        chosen = source.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
        reader = (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader)(size)
        return Opened(_blocks(reader), reader.schema)
    # A dataset of Hugging Face; a stream whose columns are not known, as after a map, is read as rows below.
    if hasattr(source, "with_format") and hasattr(source, "iter") and getattr(source, "column_names", None):
        chosen = source.with_format("arrow").select_columns(columns.check_names(source.column_names))
        return Opened(_blocks(chosen.iter(batch_size=size)))
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, pa.RecordBatchReader):
        try:
            source = pa.RecordBatchReader.from_stream(source)
        except pa.ArrowInvalid as error:  # such as a single column, or a type that Arrow lacks
            raise InputError(f"source is not an Arrow table: {error}; select or cast its columns") from None
    if isinstance(source, pa.RecordBatchReader):
        return Opened(_blocks(_cut(source, size)), source.schema)
    if isinstance(source, Iterable) and not (isinstance(source, Mapping | bytes) or getattr(source, "shape", 0) == ()):
        return Opened(filled(_blocks(blocks_of(source)), columns))
    forms = "a path, a table, a query or an iterable of rows or batches"
    advice = "; of columns give pandas.DataFrame(source)" * isinstance(source, Mapping)
    raise InputError(f"source must be {forms}, not {quoted(source)}{advice}")


def _blocks(batches: Iterable[Any], name: str = "", bytes_per_row: float = 0.0) -> Iterator[Block]:
    """Batches as blocks whose places count rows from 1 in a file, which has a ``name``, and from 0 elsewhere."""
    first = 0
    for batch in batches:
        stop, start = first + len(batch), first + bool(name)
        place = partial(_place, f"{name}: row" if name else "row", start)
        yield Block(batch, place, int(bytes_per_row * stop) - int(bytes_per_row * first))
        first = stop


def _place(name: str, first: int, row: int) -> str:
    return f"{name} {first + row:,}"


def _cut(batches: Iterable[Any], size: int) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)


def _polars(frame: Any, columns: Columns, size: int) -> Opened:
    chosen = frame.select(columns.check_names(frame.collect_schema().names()))
    schema = _open(chosen.head(0).collect(), columns, size).schema
    if not hasattr(chosen, "collect_batches"):
        table = chosen.collect(engine="streaming").to_arrow()
        return Opened(_blocks(table.to_batches(max_chunksize=size)), schema)
    parts = chosen.collect_batches(chunk_size=size, maintain_order=False)
    return Opened(_blocks(part.to_arrow() for part in parts), schema)


def open_files(paths: Iterable[PathLike], columns: Columns, size: int) -> Opened:
    """The rows of files; each file is read with its own column types, which may differ."""
    schemas, blocks = list[tuple[Any, str]](), list[Iterator[Block]]()
    for place in matches_of(*paths):
        by_format: dict[str, list[str]] = {}
        for file in _within(place):
            by_format.setdefault(_format(file), []).append(str(file))
        for text in by_format.pop("stream", ()):
            blocks.append(_opened(text, columns, size, _keys_of(text)))
        for name, files in by_format.items():
            import pyarrow.dataset as ds  # imported late, since it imports pandas

            with _intact(files[0]):
                kind = ds.ParquetFileFormat() if name == "parquet" else ds.IpcFileFormat()
                dataset = ds.dataset(files, format=kind)
            # Values in names of folders are always strings, so that their type does not depend on other files.
            keys = {key: pa.string() for file in files for key in _keys_of(file) if key not in dataset.schema.names}
            whole = pa.schema([*dataset.schema, *pa.schema(keys)])
            schemas.append((whole, files[0]))
            blocks += [_scanned(*scan, columns, size) for scan in _scans(dataset, whole.names, columns)]
    if not schemas:
        return Opened(chain.from_iterable(blocks))
    whole, first = schemas[0]
    schema = pa.schema([whole.field(name) for name in columns.check_names(whole.names)])
    return Opened(chain.from_iterable(blocks), schema, first)


def _keys_of(file: str) -> Keys:
    """Columns that the folders of a file state in their names, such as ``region=eu``, as Spark and Arrow do."""
    pairs = (folder.split("=", 1) for folder in Path(file).parts[:-1] if "=" in folder)
    return {name: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for name, value in pairs}


@contextmanager
def _intact(file: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split()).rpartition(": ")[2].partition(". ")[0]  # the cause in Arrow's message
        raise InputError(f"{file} cannot be read: {why}; it may be damaged or incomplete") from None


def _scanned(fragment: Any, schema: Any, columns: Columns, size: int) -> Iterator[Block]:
    with _intact(fragment.path):
        if fragment.format.default_extname == "parquet":
            batches = _parquet_batches(fragment, schema, columns, size)
        else:
            batches = fragment.to_batches(columns=schema.names, batch_size=size, schema=schema)
        per_row, keys = Path(fragment.path).stat().st_size / max(1, fragment.count_rows()), _keys_of(fragment.path)
        yield from _blocks((with_keys(batch, keys) for batch in batches), fragment.path, per_row)


def _opened(file: str, columns: Columns, size: int, keys: Keys) -> Iterator[Block]:
    with Path(file).open("rb") as stream:
        yield from _stream(stream, file, columns, size, keys)


def _stream(stream: Any, name: str, columns: Columns, size: int, keys: Keys) -> Iterator[Block]:
    """The rows of a file of text, or of an Arrow stream."""
    if stream.peek(16)[:4] != _STREAM:
        yield from filled(read_text(stream, name, columns, keys), columns)
        return
    with _intact(name), pa.ipc.open_stream(stream) as reader:
        names = columns.check_names(dict.fromkeys([*reader.schema.names, *keys]))
        yield from sized(stream, _blocks((with_keys(batch, keys).select(names) for batch in _cut(reader, size)), name))


def files_of(path: PathLike) -> list[Path]:
    """All files that a path or pattern names."""
    return [file for place in matches_of(path) for file in _within(place)]


def _within(folder: Path) -> list[Path]:
    """The files below a folder, without hidden ones; of a path to a file, this file."""
    if not folder.is_dir():
        return [folder]
    if (folder / "dataset_dict.json").exists():
        splits = json.loads((folder / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
        raise InputError(f"the folder {quoted(str(folder), 300)} holds datasets; give one of {', '.join(splits)} in it")
    if (folder / "dataset_info.json").exists() and (folder / "state.json").exists():  # as Hugging Face saves one
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        return [folder / file["filename"] for file in state["_data_files"]]
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    files = [file for file in files if not re.search(r"(^|/)[_.]", file.relative_to(folder).as_posix())]
    if not files:
        raise InputError(f"the folder {quoted(str(folder), 300)} holds no files")
    return files


def _parquet_files(dataset: Any) -> list[Any]:
    """The files of a dataset, if all are Parquet and no filter drops rows; otherwise an empty list."""
    try:
        files = [*dataset.get_fragments()]
    except ValueError:  # raised by Arrow for a dataset with a filter
        return []
    return files if all(hasattr(type(file), "row_groups") for file in files) else []


def _parquet_batches(fragment: Any, schema: Any, columns: Columns, size: int) -> Iterator[Any]:
    """The batches of a Parquet file, decoded one by one; Arrow's scans would hold a whole row group in memory."""
    from pyarrow.dataset import get_partition_keys

    known, own = get_partition_keys(fragment.partition_expression), fragment.physical_schema
    names = [name for name in schema.names if name in own.names]
    same = [name for name in names if own.field(name).type == schema.field(name).type]
    lists = [name for name, role in columns.roles if role in ("actual", "predicted", "mask")]
    parts = pq.ParquetFile(fragment.open()).schema
    read = {part.path: part for part in map(parts.column, range(len(parts))) if _of(part.path, names)}
    coded = {  # columns of strings to read as codes, as they are stored, which takes half of the time
        path
        for path, part in read.items()
        if part.logical_type.type == "STRING" and _of(path, same)
        and (path in columns.by or (path not in lists and _of(path, lists)))
    }  # fmt: skip
    plain = any(part.physical_type == "BYTE_ARRAY" and path not in coded for path, part in read.items())
    file = pq.ParquetFile(fragment.open(), read_dictionary=coded)

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
    """Whether a column of a Parquet file is one of ``names``, or nested in one."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _scans(dataset: Any, whole: list[str], columns: Columns) -> list[tuple[Any, Any]]:
    """Each file of a dataset, with a schema of those columns to read that the file has."""
    with naming(dataset.files[0]):
        names = columns.check_names(whole)
    scans = list[tuple[Any, Any]]()
    for fragment in dataset.get_fragments():
        with _intact(fragment.path):
            own = fragment.physical_schema
        # Columns that no file holds come from the names of folders, such as region=eu.
        parted = _keys_of(fragment.path)
        for name in columns.check_names(dict.fromkeys([*own.names, *whole])):
            if name not in names:
                raise InputError(f"{fragment.path} has a column {name!r}, which other files do not have")
            if name not in own.names and name not in parted:
                raise InputError(f"{fragment.path} has no column {name!r}{suggestion(name, own.names)}")
        scans.append((fragment, pa.schema([own.field(name) for name in names if name in own.names])))
    return scans


def _format(file: Path) -> str:
    """The format of a file: "parquet" or "ipc" for Arrow's datasets, or "stream" for all else."""
    if not file.is_file():  # such as a pipe, whose bytes can be read only once
        return "stream"
    with file.open("rb") as opened:
        start = opened.read(4)
    if start and start not in _FORMATS and file.suffix.lower() in _NAMES:
        raise InputError(f"{file} is neither Parquet nor Arrow: it starts with {start!r}; name it by its real format")
    return _FORMATS.get(start, "stream")
