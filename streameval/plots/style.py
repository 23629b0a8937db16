"""What pictures have in common: names that fit, numbers that fit, colours, and axes to draw on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from streameval.errors import imported
from streameval.kernel.types import FloatArray
from streameval.report.page.markup import label_strings
from streameval.schema.labels import Label
from streameval.schema.text import cut_distinct

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


INK, MUTED, BLANK = "#1f2933", "#6b7785", "#e4e7eb"
"""Text, secondary text, and cells that hold nothing."""

# Okabe & Ito 2008: distinct also without seeing red or green; those with one kind of dashes differ in lightness, so
# that a grey printer tells them apart too. Their yellow is left out, which is hard to see on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#1f2933", "#7f5539")
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (1.5, 1.2)))
MARKS = "osD^vP*X"

# Even steps of lightness from nearly white to a dark blue, so that equal differences look equal, also in grey.
_RAMP = ("#f8fafd", "#d9e5f5", "#b6cfed", "#8fb5e3", "#679ad5", "#437fc1", "#2c64a4", "#1c4a82", "#10315d")
_DIVERGING = ("#8c3b16", "#c0652f", "#e09a68", "#f1cdb0", "#f7f7f7", "#b6cfed", "#679ad5", "#2c64a4", "#10315d")


def named(labels: Iterable[Label | None], longest: int = 40) -> list[str]:
    """Labels in at most so many characters, nothing of them read as markup; different labels have different text."""
    return [text.replace("$", r"\$") for text in cut_distinct(label_strings(labels), longest)]


def short(value: float, *, fraction: bool = False) -> str:
    """A number in at most five characters: fractions in per cent, large counts with a unit; nothing for 0."""
    if value == 0 or not math.isfinite(value):
        return ""
    if fraction:
        return f"{100 * value:.0f}%" if value >= 0.005 else "<1%"
    for least, unit, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            digits = 0 if abs(value / unit) >= 99.95 else 1
            return f"{value / unit:.{digits}f}".removesuffix(".0") + letter
    whole = abs(value) >= 99.5 or float(value).is_integer()
    return f"{value:.{0 if whole else 1 if abs(value) >= 0.95 else 2}f}"


def colours(*, diverging: bool = False) -> Colormap:
    """A colour map whose steps look even. NaN is white; what lies below the range has the colour `BLANK`."""
    from matplotlib.colors import LinearSegmentedColormap

    even = LinearSegmentedColormap.from_list("streameval", _DIVERGING if diverging else _RAMP)
    return even.with_extremes(bad="white", under=BLANK)


def ink_on(colour: Sequence[float]) -> str:
    """The colour of text that can be read on a colour, by the contrast rule of WCAG 2."""

    def linear(part: float) -> float:
        return float(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(part) for part in colour[:3])
    return "white" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.25 else INK


def line_style(number: int, *, marked: bool = False) -> dict[str, Any]:
    """The look of a line, for `Axes.plot`; with a few marks where dashes may be too short to be seen."""
    marks = {"marker": MARKS[number % len(MARKS)], "markevery": 0.13, "markersize": 5} if marked else {}
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)], **marks}


def new_axes(size: tuple[float, float]) -> Axes:
    """The axes of a new figure of so many inches."""
    axes: Axes = imported("matplotlib.pyplot", "a plot").subplots(figsize=size, layout="constrained")[1]
    return axes


def titled(ax: Axes, x: str, y: str, title: str | None, default: str, *, pad: float = 10, **text: Any) -> None:
    """Write what the axes of a picture are, and its title: the default one unless another, or "" for none."""
    ax.set_xlabel(x, color=MUTED, fontsize=10, **text)
    ax.set_ylabel(y, color=MUTED, fontsize=10, **text)
    ax.set_title(default if title is None else title, color=INK, fontsize=12, loc="left", pad=pad)


def quiet(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Let frame and grid stay in the background."""
    ax.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    ax.grid(axis=axis, color="#e9ecef", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_color("#cfd5db")


def legend(ax: Axes, where: Any = "best") -> None:
    """Name the lines, if any has a name."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(
            loc=where, fontsize=9, frameon=True, framealpha=0.9, edgecolor="none", labelcolor=INK, handlelength=3.2
        )


def some_of(title: str, drawn: int, every: int, which: str) -> str:
    """A title that says where only some are drawn."""
    return f"{title}, the {drawn} {which} of {every:,}" if drawn < every else title


def three(value: float) -> str:
    """A number with three digits, or all before the point."""
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"


def label_ticks(ax: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name rows and columns; where names would touch, only every second, fifth, tenth ... is named."""
    width, height = (float(pixels / ax.figure.dpi * 72) for pixels in (ax.bbox.width, ax.bbox.height))  # in points
    steps = [size * 10**power for power in range(12) for size in (1, 2, 5)]
    for axis, names, room in ((ax.yaxis, rows, height), (ax.xaxis, columns, width)):
        size = max(5.5, min(9.0, 0.8 * room / max(len(names), 1)))
        step = next(s for s in steps if 1.25 * size * math.ceil(len(names) / s) <= room or s > len(names))
        places = list(range(0, len(names), step))
        if names and step > 1 and rows[-1] == "no label" and places[-1] != len(names) - 1:
            places = [place for place in places if place < len(names) - step] + [len(names) - 1]
        axis.set_ticks(places, [names[place] for place in places], fontsize=size, color=INK)
    if max(map(len, columns), default=0) * 6 > width / max(len(columns), 1):
        many = len(columns) > 12
        ax.tick_params(axis="x", labelrotation=90 if many else 45)
        for text in ax.get_xticklabels():
            text.set(ha="center" if many else "right", rotation_mode=None if many else "anchor")
    ax.tick_params(length=0, pad=4)
    ax.spines[:].set_visible(False)


def slim_bar(ax: Axes, image: Any, text: str, *, percent: bool = False) -> None:
    """A colour bar that stays in the background."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    bar = ax.figure.colorbar(image, ax=ax, fraction=0.035, pad=0.02, aspect=40)
    bar.outline.set_visible(False)
    bar.set_label(text, color=MUTED, fontsize=9)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    bar.locator = MaxNLocator(5, integer=not percent and image.norm.vmax >= 5)
    bar.formatter = FuncFormatter(lambda value, _: f"{100 * value:.0f}%" if percent else short(value) or "0")
    bar.update_ticks()


def annotate(ax: Axes, image: Any, cells: FloatArray, *, fraction: bool, size: float) -> None:
    """Write numbers into the cells that hold something."""
    for row, column in np.argwhere(np.isfinite(cells) & (cells != 0)).tolist():
        value = float(cells[row, column])
        ink = ink_on(image.cmap(image.norm(value)))
        ax.text(column, row, short(value, fraction=fraction), ha="center", va="center", color=ink, fontsize=size)
