"""Values along a stream."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from streameval.plots.style import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008): distinct to colour-blind readers too. Their yellow is left out: it is hard to see on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STYLES = ("-", "--", ":", "-.")
MOST_WITHIN = 4
"""How many entries a legend may have to stand among the lines; a larger one would cover some."""


def plot_lines(
    lines: Mapping[tuple[str, str], Sequence[float]], along: Sequence[object], along_name: str, *, ax: Axes | None
) -> Axes:
    """Draw values along the stream, by (metric, evaluator).

    A metric has one colour and an evaluator one line style; where there is only one metric each evaluator has a colour.
    """
    ax = new_axes((8, 4.5)) if ax is None else ax
    from matplotlib import dates, ticker

    metrics = list(dict.fromkeys(metric for metric, _ in lines))
    evaluators = list(dict.fromkeys(evaluator for _, evaluator in lines))
    by_evaluator = len(metrics) == 1
    for (metric, evaluator), values in sorted(lines.items(), key=lambda line: metrics.index(line[0][0])):
        style = evaluators.index(evaluator)
        colour = style if by_evaluator else metrics.index(metric)
        name = evaluator if by_evaluator and evaluator else f"{metric} [{evaluator}]" if evaluator else metric
        ax.plot(
            cast("Any", along), values, label=name, color=COLOURS[colour % len(COLOURS)], linewidth=1.8,
            linestyle=STYLES[(style + (colour // len(COLOURS))) % len(STYLES)], marker="o" if len(values) == 1 else "",
        )  # fmt: skip
    ax.set_xlabel(along_name)
    if by_evaluator:
        ax.set_ylabel(metrics[0])
    if span := _span([value for values in lines.values() for value in values]):
        ax.set_ylim(*span)
    ax.margins(x=0.01)
    if along_name == "examples":
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    elif isinstance(along[0], datetime.date):
        locator = dates.AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    ax.grid(visible=True, axis="y", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    if len(lines) > MOST_WITHIN and ax.figure.get_layout_engine() is not None:  # which makes room for it
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    elif len(lines) > 1 or not by_evaluator:
        ax.legend(frameon=True, framealpha=0.8, edgecolor="none", loc="best")
    return ax


def _span(values: Sequence[float]) -> tuple[float, float] | None:
    """The tenths of [0, 1] between which all values lie, with some room: small changes stay visible.

    None where values lie outside [0, 1] and matplotlib chooses better.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return 0.0, 1.0
    if min(finite) < 0.0 or max(finite) > 1.0:
        return None
    low = max(0.0, math.floor(min(finite) * 10 - 0.5) / 10)
    high = min(1.0, math.ceil(max(finite) * 10 + 0.5) / 10)
    room = 0.02 * (high - low)  # so that a line at 0 or 1 does not lie on the edge
    return low - (room if low == 0.0 else 0.0), high + (room if high == 1.0 else 0.0)
