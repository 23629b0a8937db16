"""Columns as data frames of the libraries that users have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from streameval.errors import DependencyError

if TYPE_CHECKING:
    import pandas
    import polars

PandasFrame: TypeAlias = "pandas.DataFrame"
PolarsFrame: TypeAlias = "polars.DataFrame"

_INT64 = range(-(2**63), 2**63)


def to_pandas(columns: Mapping[str, Sequence[object]]) -> PandasFrame:
    """The columns, of equal length, as a pandas data frame."""
    try:
        import pandas
    except ImportError as error:
        raise DependencyError("to_pandas needs pandas, which is not installed; run pip install pandas") from error
    return pandas.DataFrame(dict(columns))


def to_polars(columns: Mapping[str, Sequence[object]]) -> PolarsFrame:
    """The columns, of equal length, as a polars data frame.

    A column of polars has one type: integers with strings, and integers beyond 64 bits, become strings.
    """
    try:
        import polars
    except ImportError as error:
        raise DependencyError("to_polars needs polars, which is not installed; run pip install polars") from error
    return polars.DataFrame({name: _of_one_type(values) for name, values in columns.items()}, strict=False)


def _of_one_type(values: Sequence[object]) -> Sequence[object]:
    strings = any(isinstance(value, str) for value in values)
    if strings or any(type(value) is int and value not in _INT64 for value in values):
        return [str(value) for value in values]
    return values
