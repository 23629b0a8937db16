"""One metric of each label as bars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

import streameval.plots.style as style
from streameval.errors import InputError
from streameval.plots.style import INK, MUTED, Source, named, read
from streameval.schema.labels import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_labels(
    values: Mapping[Label, float] | Source,
    metric: str = "f1",
    *,
    limit: int = 30,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a metric of each label as bars, the greatest value first.

    Parameters
    ----------
    values
        An evaluator, or numbers by label, such as ``ev.get("f1_per_label")``.
    metric
        A metric that has a value per label; with numbers, what they are.
    limit
        Of more labels than this, those with the smallest values are drawn.
    """
    if limit < 1:
        raise InputError(f"limit must be at least 1, not {limit}")
    numbers = values if isinstance(values, Mapping) else read(values, "_by_label", metric)
    ranked = sorted(
        ((label, value) for label, value in numbers.items() if math.isfinite(value)), key=lambda item: -item[1]
    )
    drawn = ranked[-limit:]
    ax = style.new_axes((6.4, max(1.6, 0.24 * len(drawn) + 0.9))) if ax is None else ax
    bars = ax.barh(np.arange(len(drawn)), [value for _, value in drawn], color="#437fc1", height=0.72)
    ax.bar_label(bars, [f"{value:.3g}" for _, value in drawn], padding=3, fontsize=8, color=INK)
    ax.set_yticks(np.arange(len(drawn)), [named(label) for label, _ in drawn], fontsize=8.5, color=INK)
    ax.invert_yaxis()
    ax.margins(x=0.1)
    ax.tick_params(length=0, labelcolor=MUTED)
    ax.spines[["top", "right", "left"]].set_visible(False)
    few = f"the {len(drawn)} smallest of {len(numbers)} labels" if len(drawn) < len(numbers) else ""
    style.titled(ax, metric, few, title)
    return ax
