"""The lines of each picture: the page draws them as SVG, `streameval.plots` with matplotlib."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from streameval.kernel.types import FloatArray
from streameval.metrics.curves import PrecisionRecallCurve, RocCurve

Band: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Along the horizontal axis, the least and the most that a curve can be: x, low, high."""


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Points, the threshold at each, and between what the line can be where scores were binned."""

    x: FloatArray
    y: FloatArray
    thresholds: FloatArray
    band: Band | None


def curve_line(curve: RocCurve | PrecisionRecallCurve) -> Line:
    """True over false positive rate, or precision over recall.

    Down to recall 0 precision is that of the least recall above it: at 0 itself it is 1 by convention, or 0, and says
    nothing.
    """
    band = curve.band() if curve.mixed.any() else None
    if isinstance(curve, RocCurve):
        return Line(curve.fpr, curve.tpr, curve.thresholds, band)
    some = np.flatnonzero(curve.recall[:-1] > 0)
    some = np.append(some, some[-1:])
    x = curve.recall[some]
    x[-1:] = 0
    return Line(x, curve.precision[some], curve.thresholds[some], band)


def threshold_lines(curve: PrecisionRecallCurve, beta: float = 1.0) -> tuple[FloatArray, list[FloatArray]]:
    """Finite thresholds in order, and precision, recall and F-beta at each."""
    precision, recall = curve.precision[:-1], curve.recall[:-1]
    weighted = beta**2 * precision + recall
    f = (1 + beta**2) * precision * recall / np.where(weighted > 0, weighted, 1)
    order = np.argsort(curve.thresholds, kind="stable")
    order = order[np.isfinite(curve.thresholds[order])]
    return curve.thresholds[order], [side[order] for side in (precision, recall, f)]
