"""Columns as data frames of the libraries that users have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from streameval.errors import imported

if TYPE_CHECKING:
    import pandas
    import polars

PandasFrame: TypeAlias = "pandas.DataFrame"
PolarsFrame: TypeAlias = "polars.DataFrame"

_INT64 = range(-(2**63), 2**63)


def to_pandas(columns: Mapping[str, Sequence[object]]) -> PandasFrame:
    """The columns, of equal length, as a pandas data frame."""
    frame: PandasFrame = imported("pandas", "to_pandas").DataFrame(dict(columns))
    return frame


def to_polars(columns: Mapping[str, Sequence[object]]) -> PolarsFrame:
    """The columns, of equal length, as a polars data frame.

    A column of polars has one type: integers with strings, and integers beyond 64 bits, become strings.
    """
    typed = {name: _of_one_type(values) for name, values in columns.items()}
    frame: PolarsFrame = imported("polars", "to_polars").DataFrame(typed, strict=False)
    return frame


def _of_one_type(values: Sequence[object]) -> Sequence[object]:
    strings = any(isinstance(value, str) for value in values)
    if strings or any(type(value) is int and value not in _INT64 for value in values):
        return [str(value) for value in values]
    return values
