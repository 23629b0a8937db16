"""Values along a stream."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import streameval.plots.style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WITHIN = 4
"""How many entries a legend may have to stand among the lines; a larger one would cover some."""


def plot_lines(
    lines: Mapping[tuple[str, str], Sequence[float]], along: Sequence[object], along_name: str, *, ax: Axes | None,
    title: str | None,
) -> Axes:  # fmt: skip
    """Draw values along the stream, by (metric, evaluator).

    A metric has one colour and an evaluator one kind of dashes; of one metric, or one evaluator, each line has its own
    of both.
    """
    ax = style.new_axes((8, 4.5)) if ax is None else ax
    from matplotlib import dates, ticker

    metrics = list(dict.fromkeys(metric for metric, _ in lines))
    evaluators = list(dict.fromkeys(evaluator for _, evaluator in lines))
    by_evaluator = len(metrics) == 1
    for (metric, evaluator), values in sorted(lines.items(), key=lambda line: metrics.index(line[0][0])):
        number = evaluators.index(evaluator) if by_evaluator else metrics.index(metric)
        look = style.line_style(number, marked=not by_evaluator)
        if not by_evaluator and len(evaluators) > 1:
            look["linestyle"] = style.DASHES[evaluators.index(evaluator) % len(style.DASHES)]
        name = evaluator if by_evaluator and evaluator else f"{metric} [{evaluator}]" if evaluator else metric
        ax.plot(
            cast("Any", along), values, **{"marker": "o" if len(values) == 1 else ""} | look, label=name, linewidth=1.8,
        )  # fmt: skip
    style.titled(ax, along_name, metrics[0] if by_evaluator else "value", title, "Along the stream")
    style.quiet(ax, "y")
    ax.margins(x=0.01, y=0.08)  # little more than the values take, so that small changes stay visible
    if along_name == "examples":
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    elif isinstance(along[0], datetime.date):
        locator = dates.AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    ax.spines[["top", "right"]].set_visible(False)
    if len(lines) > MOST_WITHIN and ax.figure.get_layout_engine() is not None:  # which makes room for it
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    elif len(lines) > 1 or not by_evaluator:
        ax.legend(frameon=True, framealpha=0.8, edgecolor="none", loc="best")
    return ax
