"""Per-label outcomes as plain columns, and columns as data frames of pandas or polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from streameval.errors import above, imported, public
from streameval.metrics.spec import as_float
from streameval.schema.labels import Label
from streameval.schema.text import printable
from streameval.states.views import Integers, Tables

if TYPE_CHECKING:
    import pandas
    import polars

Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]
PandasFrame: TypeAlias = "pandas.DataFrame"
PolarsFrame: TypeAlias = "polars.DataFrame"


@public
@dataclass(frozen=True, eq=False)
class LabelTable:
    """The 2x2 table of each label.

    Attributes
    ----------
    labels
        Shape (labels,), in the order of the columns below.
    tp, fp, fn, tn
        Shape (labels,): counts as int64; for weighted examples sums of weights as float64, each correctly rounded.
    support, predicted
        How often each label is true (``tp + fn``) and predicted (``tp + fp``), likewise.
    """

    labels: tuple[Label, ...]
    tp: Column
    fp: Column
    fn: Column
    tn: Column
    support: Column
    predicted: Column

    @classmethod
    def of(cls, tables: Tables) -> LabelTable:
        """The table of the outcomes that a state has counted."""
        c = tables.by_label

        def column(units: Integers) -> Column:
            if not tables.weighted:
                return units.astype(np.int64)
            return np.array([as_float(value * tables.unit) for value in units.tolist()], np.float64)

        return cls(tables.labels, *map(column, (c.tp, c.fp, c.fn, c.tn, c.tp + c.fn, c.tp + c.fp)))

    def stacked(self) -> Column:
        """An array of shape (labels, 2, 2): ``[[tn, fp], [fn, tp]]`` of each label."""
        return np.stack([self.tn, self.fp, self.fn, self.tp], axis=1).reshape(-1, 2, 2)

    def to_dict(self) -> dict[str, list[Label] | list[int] | list[float]]:
        """Plain columns, ready for a data frame."""
        names = ("tp", "fp", "fn", "tn", "support", "predicted")
        return {"label": list(self.labels), **{name: getattr(self, name).tolist() for name in names}}

    _repr_html_ = above("report.notebook", "outcomes_html")

    def to_pandas(self) -> PandasFrame:
        """The columns of `to_dict` as a pandas data frame."""
        return to_pandas(self.to_dict())

    def to_polars(self) -> PolarsFrame:
        """The columns of `to_dict` as a polars data frame; labels are strings unless all are integers of 64 bits."""
        return to_polars(self.to_dict())


def to_pandas(columns: Mapping[str, Sequence[object]]) -> PandasFrame:
    """The columns, of equal length, as a pandas data frame."""
    return cast("PandasFrame", imported("pandas", "to_pandas").DataFrame(dict(columns)))


def to_polars(columns: Mapping[str, Sequence[object]]) -> PolarsFrame:
    """The columns, of equal length, as a polars data frame."""
    typed = {name: _of_one_type(values) for name, values in columns.items()}
    return cast("PolarsFrame", imported("polars", "to_polars").DataFrame(typed, strict=False))


def _of_one_type(values: Sequence[object]) -> Sequence[object]:
    """Values of one type, as polars requires: all become strings if one is a string or needs more than 64 bits."""
    strings = any(isinstance(value, str) for value in values)
    if strings or any(type(value) is int and not -(2**63) <= value < 2**63 for value in values):
        return [value if isinstance(value, str) else printable(value) for value in values]
    return values
