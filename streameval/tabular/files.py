"""Files of Parquet and Arrow, and which files a path or a pattern names."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.schema.text import quoted, suggestion
from streameval.tabular.columns import Columns

PathLike: TypeAlias = str | os.PathLike[str]

_FORMATS = {b"PAR1": "parquet", b"ARRO": "ipc"}


class Source(NamedTuple):
    """Batches, how many rows they have if it is known beforehand, and what their columns are."""

    batches: Iterator[Any]
    rows: Callable[[], int | None]
    schema: Any = None


def are_paths(source: object) -> TypeGuard[list[PathLike]]:
    """Whether this is a list of paths."""
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(p, str | os.PathLike) for p in source)


def matches_of(path: PathLike) -> list[Path]:
    """The file or folder of a path; or all that match a pattern such as ``"predictions/*.parquet"``, sorted.

    Raises
    ------
    InputError
        If there is none.
    """
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
                parquet = name == "parquet"
                form = ds.ParquetFileFormat(dictionary_columns=_strings(files[0], columns)) if parquet else name
                datasets.append(ds.dataset(files, format=form, **options))
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{files[0]} cannot be read: {error}; it may be damaged or incomplete") from None
    names = list(columns.names)
    scans = [scan for dataset in datasets for scan in _scans(dataset, columns)]

    def batches() -> Iterator[Any]:
        for scan, schema in scans:
            yield from scan.to_batches(columns=names, batch_size=size, **schema)

    whole = datasets[0].schema
    return Source(
        batches(),
        lambda: sum(dataset.count_rows() for dataset in datasets),
        pa.schema([whole.field(name) for name in names]),
    )


def _within(folder: Path) -> list[Path]:
    """The files in a folder and below it, but for hidden ones."""
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)
    ]
    if not files:
        raise InputError(f"the folder {quoted(str(folder), 300)} holds no files")
    return files


def _strings(file: str, columns: Columns) -> set[str]:
    """The columns of strings in a Parquet file that are read as codes, as they are stored, in half of the time."""
    schema = pq.ParquetFile(file).schema
    lists = [name for name in (columns.actual, columns.predicted, columns.mask) if name is not None]
    return {
        column.path
        for column in map(schema.column, range(len(schema)))
        if column.logical_type.type == "STRING"
        and (column.path in columns.by or any(column.path.startswith(f"{name}.") for name in lists))
    }


def _scans(dataset: Any, columns: Columns) -> list[tuple[Any, dict[str, Any]]]:
    """The dataset, or its files one by one if their columns are not of one type."""
    columns.check_names(dataset.schema.names)
    whole, scans = dataset.schema, []
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
        scans.append((fragment, {"schema": pa.schema(fields)}))
    types = [whole.field(name).type for name in columns.names]
    return scans if any(options["schema"].types != types for _, options in scans) else [(dataset, {})]


def _format(file: Path) -> str:
    with file.open("rb") as opened:
        start = opened.read(4)
    if start not in _FORMATS:
        raise InputError(
            f"{file} is neither Parquet nor Arrow: it starts with {start!r}; read it with another library, and give "
            "the table"
        )
    return _FORMATS[start]
