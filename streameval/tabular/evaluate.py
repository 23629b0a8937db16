"""Tables on one machine, larger than memory: files of Parquet and Arrow, queries, lazy frames, data frames."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from streameval.errors import DependencyError, InputError
from streameval.evaluation.evaluator import MetricLike
from streameval.inputs.arrow import arrow_of_polars
from streameval.schema.labels import Label
from streameval.schema.text import quoted, suggestion
from streameval.tabular.arrow import refuse_missing
from streameval.tabular.columns import Columns, Null
from streameval.tabular.job import Job, State

__all__ = ["Source", "evaluate", "opened"]

PathLike: TypeAlias = str | os.PathLike[str]

_ROWS = 2**17
"""Rows of a batch: enough for the cost of a call not to show, few enough to need no memory to speak of."""

_PART = 2**12
"""Rows from which on a part of a table is a batch of its own."""

_FORMATS = {b"PAR1": "parquet", b"ARRO": "ipc"}


class Source(NamedTuple):
    """Batches, how many rows they have if it is known beforehand, and what their columns are."""

    batches: Iterator[Any]
    rows: Callable[[], int | None]
    schema: Any = None


def evaluate(
    source: object,
    *,
    actual: str,
    predicted: str | None = None,
    scores: str | None = None,
    metrics: Iterable[MetricLike] | State | None = None,
    threshold: float | Mapping[Label, float] | Iterable[float] | None = None,
    weight: str | None = None,
    mask: str | None = None,
    by: str | Iterable[str] | None = None,
    null: Null = "error",
    batch_size: int | None = None,
    progress: bool = False,
) -> State:
    """Evaluate the rows of a table, batch by batch, so that it may be larger than memory.

    Parameters
    ----------
    source
        A path, a pattern such as ``"predictions/*.parquet"``, a folder, or a list of paths: files of Parquet or Arrow
        (Feather). Or a table, record batch, reader or dataset of Arrow; a data frame of pandas or polars; a lazy frame
        of polars; a relation of DuckDB; anything else with an Arrow stream; an iterable of record batches.
    metrics
        Names of metrics, or an `Evaluator`, a metric or a `Sliced` that has counted nothing; it is copied.
    threshold
        From which score on a label is predicted, where ``metrics`` is not an object that says so itself.
    actual, predicted, scores, weight, mask, by, null
        Which columns hold what; see `Columns`. With ``by``, the result is a `Sliced`.
    batch_size
        How many rows are read at a time, at most.
    progress
        Whether a bar is shown on stderr; it needs tqdm.

    Returns
    -------
    Evaluator or Metric or Sliced
        A new object that has counted all rows.

    Raises
    ------
    InputError, LabelError, MetricError
        If a file or a column is missing or cannot be read, or an argument cannot be understood.
    DependencyError
        If pyarrow is not installed; or tqdm, with ``progress=True``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"tags": [["cat"], ["cat", "dog"]], "guess": [["cat"], ["dog"]], "region": ["eu", "us"]})
    >>> evaluate(table, actual="tags", predicted="guess", metrics=["f1_micro"]).get()
    {'f1_micro': 0.8}
    >>> evaluate(table, actual="tags", predicted="guess", metrics=["f1_micro"], by="region").get("f1_micro")
    {'region': {'eu': 1.0, 'us': 0.6666666666666666}}
    """
    if batch_size is not None and (type(batch_size) is not int or batch_size < 1):
        raise InputError(f"batch_size must be an integer of at least 1, not {quoted(batch_size)}")
    job = Job.of(
        metrics,
        actual=actual,
        predicted=predicted,
        scores=scores,
        weight=weight,
        mask=mask,
        by=by,
        null=null,
        threshold=threshold,
    )
    pa = _pyarrow()
    found = opened(source, job.columns, batch_size or _ROWS)
    state = job.fresh()
    if found.schema is not None:  # so that columns are looked at even if there are no rows
        refuse_missing(job.columns, found.schema.names)
        job.add(state, _without_rows(found.schema))
    try:
        for batch in _watched(found, progress):
            job.add(state, batch)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the table cannot be read: {error}") from error
    return state


def _without_rows(schema: Any) -> Any:
    """A table of no rows. Arrow's own ``empty_table`` makes no lists of encoded views, as polars has them."""
    import pyarrow as pa

    return pa.Table.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise DependencyError(
            "evaluate reads tables by pyarrow, which is not installed; pip install pyarrow"
        ) from error
    return pyarrow.lib


def opened(source: Any, columns: Columns, size: int) -> Source:
    """The batches of whatever `evaluate` takes, of at most ``size`` rows."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, str | os.PathLike):
        return _files([source], columns, size)
    if isinstance(source, list | tuple) and source and all(isinstance(part, str | os.PathLike) for part in source):
        return _files(source, columns, size)
    if isinstance(source, ds.Dataset):
        refuse_missing(columns, source.schema.names)
        batches = source.to_batches(columns=list(columns.names), batch_size=size)
        return Source(batches, source.count_rows, _only(source.schema, columns))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        refuse_missing(columns, source.schema.names)
        chosen = source.select(list(columns.names))
        return Source(iter(chosen.to_batches(max_chunksize=size)), lambda: source.num_rows, chosen.schema)
    if isinstance(source, pa.RecordBatchReader):
        return Source(_cut(source, size), lambda: None, source.schema)
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        refuse_missing(columns, list(source.columns))
        starts = range(0, len(source), size) or (0,)
        return Source((source.iloc[start : start + size] for start in starts), lambda: len(source))
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # polars
        return _polars(source, columns, size)
    if hasattr(source, "to_arrow_reader") or hasattr(source, "fetch_arrow_reader"):  # DuckDB
        return _duckdb(source, columns, size)
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        return Source(_cut(reader, size), lambda: None, reader.schema)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        return Source(iter(source), lambda: None)
    raise InputError(
        f"source must be a path, a table, a data frame, a query or an iterable of record batches, not {quoted(source)}"
    )


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


def _only(schema: Any, columns: Columns) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in columns.names])


def _polars(frame: Any, columns: Columns, size: int) -> Source:
    refuse_missing(columns, frame.collect_schema().names())
    chosen = frame.select(list(columns.names))
    schema = arrow_of_polars(chosen.head(0).collect()).schema
    if not hasattr(chosen, "collect_batches"):
        table = arrow_of_polars(chosen.collect(engine="streaming"))
        return Source(iter(table.to_batches(max_chunksize=size)), lambda: table.num_rows, schema)
    parts = chosen.collect_batches(chunk_size=size, maintain_order=False)
    return Source(_uncut(map(arrow_of_polars, parts)), lambda: None, schema)


def _duckdb(relation: Any, columns: Columns, size: int) -> Source:
    refuse_missing(columns, relation.columns)
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns.names)
    chosen = relation.project(quoted)
    reader = (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader)(size)
    return Source(iter(reader), lambda: None, reader.schema)


# -- files ------------------------------------------------------------------------------------------------------------


def _files(paths: Iterable[PathLike], columns: Columns, size: int) -> Source:
    """The rows of files. Where the types of columns differ among files, each is read with its own."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    datasets = []
    for root, found in (pair for path in paths for pair in _expanded(path)):
        by_format: dict[str, list[str]] = {}
        for file in found:
            by_format.setdefault(_format(file), []).append(str(file))
        for name, files in by_format.items():
            options = {} if root is None else {"partitioning": "hive", "partition_base_dir": str(root)}
            try:
                kind = ds.ParquetFileFormat(dictionary_columns=_texts(files[0], columns)) if name == "parquet" else name
                datasets.append(ds.dataset(files, format=kind, **options))
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{files[0]} cannot be read: {error}; it may be damaged or incomplete") from None
    names = list(columns.names)
    scans = [scan for dataset in datasets for scan in _scans(dataset, columns)]

    def batches() -> Iterator[Any]:
        for scan, schema in scans:
            yield from scan.to_batches(columns=names, batch_size=size, **schema)

    def rows() -> int:
        return sum(dataset.count_rows() for dataset in datasets)

    schema = _only(datasets[0].schema, columns) if datasets else None
    return Source(batches(), rows, schema)


def _texts(file: str, columns: Columns) -> set[str]:
    """The columns of text in a Parquet file that are read as codes, as they are stored, in half of the time."""
    import pyarrow.parquet as pq

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
    refuse_missing(columns, dataset.schema.names)
    import pyarrow as pa

    whole = dataset.schema
    differing = []
    for fragment in dataset.get_fragments():
        try:
            own = fragment.physical_schema
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{fragment.path} cannot be read: {error}; it may be damaged or incomplete") from None
        # What no file holds comes from the names of folders, such as region=eu.
        parted = fragment.partition_expression
        for name in columns.names:
            if name not in own.names and f"({name} ==" not in f"({parted}":
                raise InputError(f"{fragment.path} has no column {name!r}{suggestion(name, own.names)}")
        differing += [
            name for name in columns.names if name in own.names and own.field(name).type != whole.field(name).type
        ]
    if not differing:
        return [(dataset, {})]
    scans = []
    for fragment in dataset.get_fragments():
        own = fragment.physical_schema
        fields = [own.field(name) if name in own.names else whole.field(name) for name in columns.names]
        scans.append((fragment, {"schema": pa.schema(fields)}))
    return scans


def _expanded(path: PathLike) -> list[tuple[Path | None, list[Path]]]:
    """The files that a path stands for, and the folder that they are in if it was a folder that was given."""
    text = os.fspath(path)
    place = Path(text)
    if place.is_dir():
        files = [
            file
            for file in sorted(place.rglob("*"))
            if file.is_file() and not any(part.startswith(("_", ".")) for part in file.relative_to(place).parts)
        ]
        if not files:
            raise InputError(f"the folder {quoted(text, 300)} holds no files")
        return [(place, files)]
    if place.exists():
        return [(None, [place])]
    if glob.has_magic(text):
        matches = [Path(match) for match in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207  # absolute ones too
        if not matches:
            raise InputError(f"no file matches {quoted(text, 300)}")
        return [pair for match in matches for pair in (_expanded(match) if match.is_dir() else [(None, [match])])]
    near = [file.name for file in place.parent.iterdir()] if place.parent.is_dir() else []
    raise InputError(f"there is no file {quoted(text, 300)}{suggestion(place.name, near)}")


def _format(file: Path) -> str:
    with file.open("rb") as opened:
        start = opened.read(4)
    if start not in _FORMATS:
        raise InputError(
            f"{file} is neither Parquet nor Arrow: it starts with {start!r}; read it with another library, and give "
            "the table"
        )
    return _FORMATS[start]


# -- progress ---------------------------------------------------------------------------------------------------------


def _watched(source: Source, progress: bool) -> Iterator[Any]:
    if not isinstance(progress, bool):
        raise InputError(f"progress must be True or False, not {quoted(progress)}")
    if not progress:
        return source.batches
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise DependencyError("progress=True needs tqdm, which is not installed; pip install tqdm") from error

    def watched() -> Iterator[Any]:
        with tqdm(total=source.rows(), unit=" rows", unit_scale=True, file=sys.stderr) as bar:
            for batch in source.batches:
                yield batch
                bar.update(len(batch))

    return watched()
