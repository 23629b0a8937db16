"""What a shell offers for the values of options: metrics, and the columns of the first file."""

from __future__ import annotations

from typing import Any

from streameval.cli.reading import columns_of, sources_of
from streameval.errors import StreamevalError
from streameval.metrics.catalogue import catalogue
from streameval.metrics.spec import MetricSpec


def metric_names(incomplete: str) -> list[str]:
    """Names of metrics, each after those that stand before a comma."""
    before, comma, start = incomplete.rpartition(",")
    keys = [MetricSpec(entry.name, average).key for entry in catalogue() for average in entry.averages]
    return [f"{before}{comma}{key}" for key in keys if key.startswith(start)]


def column_names(ctx: Any, incomplete: str) -> list[str]:
    """The columns of the first file on the command line."""
    try:
        files = next(value for name, value in ctx.params.items() if name.startswith("file"))
        names = columns_of(sources_of([files] if isinstance(files, str) else files[:1])[0])
    except (StreamevalError, OSError, LookupError, TypeError, StopIteration):
        return []  # a shell shows no errors
    return [name for name in names if name.startswith(incomplete)]
