"""Binary predictions of a saved state of scores, at thresholds that are chosen when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import product
from typing import Any, cast

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.bounds import Bounds
from streameval.metrics.thresholds import DecisionsAt
from streameval.report.model import MetricValue, Report
from streameval.schema.labels import Label
from streameval.states.views import Counts, Tables


class _Tables:
    """The view of decisions, as far as the outcomes of labels tell: what each example has got is not known."""

    def __init__(self, tables: Any, outcomes: DecisionsAt, tp: Any, fp: Any) -> None:
        known, pos = outcomes.most.known, outcomes.most.tp + outcomes.most.fn
        self.labels, self.columns, self.size = tables.labels, tables.columns, len(tables.labels)
        self.examples, self.weighted, self.unit = tables.examples, tables.weighted, outcomes.unit
        self.weight = int(tables.weight * tables.unit / outcomes.unit)
        self.by_label = Counts(tp, fp, pos - tp, known)
        self.pooled = Counts(*(np.array([sum(part.tolist())], object) for part in (tp, fp, pos - tp, known)))

    def __getattr__(self, name: str) -> Any:
        raise MetricError("requires the predictions of each example; run evaluate with --threshold")


class _Judged(Report):
    corners: tuple[Report, ...] = ()

    def bounds_by_label(self, item: MetricValue) -> Mapping[Label | None, Bounds]:
        if item.entry.state != "decisions" or not self.corners or item.error:
            return super().bounds_by_label(item)
        # Each outcome moves a metric in one direction, so that the greatest and the least value are at corners.
        values = [corner.value(item.spec).by_label for corner in self.corners]
        ranges = {label: [each[label] for each in values] for label in item.by_label}
        return {
            label: Bounds(min(each), max(each), item.by_label[label], min(each) == max(each))
            for label, each in ranges.items()
        }


def judged(report: Report, counts: Any, thresholds: Any) -> Report:
    """A report in which labels scoring at or above their threshold are predicted."""
    if not report.tables.examples:
        return report
    outcomes, corners = counts.decisions_at(thresholds), list[_Judged]()
    for tp, fp in product((outcomes.most, outcomes.least), repeat=2):
        views = copy(report.views)
        views.decides, views.tables = True, cast(Tables, _Tables(report.tables, outcomes, tp.tp, fp.fp))
        views._made = {"decisions": views.tables}
        corners.append(_Judged(views, report.specs, report.warnings))
    if not outcomes.exact.all():
        corners[0].corners = tuple(corners)
    return corners[0]
