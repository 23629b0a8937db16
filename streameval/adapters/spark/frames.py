"""What Spark is asked to do with a data frame, and what its errors say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql.functions import col

from streameval import errors
from streameval.tabular.job import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["check", "mapped", "our_errors"]

_RAISED = re.compile(
    r"streameval\.errors\.(\w+Error): (.*?)(?=\n\s+at |\n*JVM stacktrace| SQLSTATE: |\s*\Z)", re.DOTALL
)


def check(df: DataFrame, job: Job) -> None:
    """Raise `InputError` if a column is not there, or of a type that cannot be read. Reads no rows."""
    import pyarrow as pa

    names = df.columns
    there = [name for name in job.columns.names if names.count(name) == 1]
    empty = df.select(*map(_quoted, there)).limit(0).toArrow()
    columns = [empty.column(name) if name in there else pa.nulls(0) for name in names]
    job.add(job.fresh(), pa.table(columns, names=names))


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise errors of ours that workers raised as what they were."""
    try:
        yield
    except PySparkException as error:
        found = _RAISED.search(str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2].strip()) from error


def mapped(
    df: DataFrame, names: tuple[str, ...], function: Callable[[Iterator[Any]], Iterator[Any]], schema: str | StructType
) -> DataFrame:
    """A function over the batches of some columns. Spark itself finds no columns there whose names hold dots."""

    def named(batches: Iterator[Any]) -> Iterator[Any]:
        return function(batch.rename_columns(list(names)) for batch in batches)

    plain = df.select(*(col(_quoted(name)).alias(f"c{place}") for place, name in enumerate(names)))
    return plain.mapInArrow(named, schema)


def _quoted(name: str) -> str:
    """The name of a column, where Spark would take a dot for a field."""
    return "`" + name.replace("`", "``") + "`"
