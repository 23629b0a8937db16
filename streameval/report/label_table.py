"""Per-label outcomes as plain columns, for users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import public
from streameval.metrics.averaging import as_float
from streameval.report.frames import PandasFrame, PolarsFrame, to_pandas, to_polars
from streameval.schema.labels import Label
from streameval.states.views import Integers, Tables

Column: TypeAlias = np.ndarray[Any, np.dtype[Any]]


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
        """The table of a state."""
        c = tables.by_label

        def column(units: Integers) -> Column:
            if not tables.weighted:
                return units.astype(np.int64)
            return np.array([as_float(value * tables.unit) for value in units.tolist()], np.float64)

        parts = (c.tp, c.fp, c.fn, c.tn, c.tp + c.fn, c.tp + c.fp)
        return cls(tables.labels, *(column(part) for part in parts))

    def stacked(self) -> Column:
        """Shape (labels, 2, 2), ``[[tn, fp], [fn, tp]]`` each."""
        return np.stack([self.tn, self.fp, self.fn, self.tp], axis=1).reshape(-1, 2, 2)

    def to_dict(self) -> dict[str, list[Label] | list[int] | list[float]]:
        """Plain columns, ready for a data frame."""
        columns: dict[str, list[Label] | list[int] | list[float]] = {"label": list(self.labels)}
        for name in ("tp", "fp", "fn", "tn", "support", "predicted"):
            columns[name] = getattr(self, name).tolist()
        return columns

    def to_pandas(self) -> PandasFrame:
        """The columns of `to_dict` as a pandas data frame."""
        return to_pandas(self.to_dict())

    def to_polars(self) -> PolarsFrame:
        """The columns of `to_dict` as a polars data frame; labels are strings where not all of them are integers."""
        return to_polars(self.to_dict())
