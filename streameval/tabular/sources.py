"""Whatever can be evaluated as a table, as batches of its rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.inputs.arrow import arrow_of_polars
from streameval.schema.text import quoted
from streameval.tabular.columns import Columns
from streameval.tabular.files import Source, are_paths, open_files

_PART = 2**12
"""A part of a table with at least as many rows is a batch of its own."""


def open_source(source: Any, columns: Columns, size: int) -> Source:
    """The batches of whatever `evaluate` takes, of at most ``size`` rows."""
    paths = [source] if isinstance(source, str | os.PathLike) else source
    if are_paths(paths):
        return open_files(paths, columns, size)
    if hasattr(source, "get_fragments"):  # a dataset of Arrow
        columns.check_names(source.schema.names)
        batches = source.to_batches(columns=list(columns.names), batch_size=size)
        return Source(batches, source.count_rows, pa.schema([source.schema.field(name) for name in columns.names]))
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        columns.check_names(source.schema.names)
        chosen = source.select(list(columns.names))
        return Source(iter(chosen.to_batches(max_chunksize=size)), lambda: source.num_rows, chosen.schema)
    if isinstance(source, pa.RecordBatchReader):
        return Source(_cut(source, size), lambda: None, source.schema)
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        columns.check_names(list(source.columns))
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


def _polars(frame: Any, columns: Columns, size: int) -> Source:
    columns.check_names(frame.collect_schema().names())
    chosen = frame.select(list(columns.names))
    schema = arrow_of_polars(chosen.head(0).collect()).schema
    if not hasattr(chosen, "collect_batches"):
        table = arrow_of_polars(chosen.collect(engine="streaming"))
        return Source(iter(table.to_batches(max_chunksize=size)), lambda: table.num_rows, schema)
    parts = chosen.collect_batches(chunk_size=size, maintain_order=False)
    return Source(_uncut(map(arrow_of_polars, parts)), lambda: None, schema)


def _duckdb(relation: Any, columns: Columns, size: int) -> Source:
    columns.check_names(relation.columns)
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns.names)
    chosen = relation.project(quoted)
    reader = (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_arrow_reader)(size)
    return Source(iter(reader), lambda: None, reader.schema)
