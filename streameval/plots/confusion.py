"""Heat maps of label pairs, and a 2x2 table for each label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import streameval.plots.style as style
from streameval.errors import InputError
from streameval.kernel.types import FloatArray
from streameval.metrics.pairs import Matrix, Normalize, Side, Values
from streameval.plots.style import INK, MOST, MUTED, named, run_of, short, some_of, titled
from streameval.report.label_table import LabelTable
from streameval.report.model import largest_first
from streameval.schema.text import check_number, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

_ANNOTATED = 16  # the most rows for which numbers are written into cells by default
_UNITS = {
    "true": "fraction of the true label", "pred": "fraction of the predicted label", "all": "fraction of all",
    None: "examples",
}  # fmt: skip


def plot_confusion_matrix(
    source: object,
    y_pred: object = None,
    *,
    values: Values | None = None,
    normalize: Normalize = "true",
    numbers: bool | None = None,
    limit: int = 40,
    cmap: str | Colormap = "Blues",
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a multi-label confusion matrix: true labels downwards, predicted ones to the right.

    Parameters
    ----------
    source, y_pred
        An evaluator with confusions of pairs; or arrays; or what its `confusion_matrix` returned.
    values
        For an evaluator: what a cell adds up, as in `Evaluator.confusion_matrix`; "shares" by default.
    normalize
        As in `Matrix.dense`: "true" colours each row by what became of the true label. None shows the sums.
    numbers
        Whether to write numbers into the cells; by default, if labels are few.
    limit
        How many labels are drawn at most: those that are most often true.
    cmap
        Colours, by their name in matplotlib.
    """
    limit = check_number("limit", limit, 1)
    if not isinstance(source, Matrix):
        keep = ["contributions" if values == "contributions" else "confusions"]
        source = cast("Matrix", run_of(source, y_pred, keep).confusion_matrix(values=values or "shares"))
    elif values is not None:
        raise InputError("values belongs to confusion_matrix; do not pass it with a matrix")
    labels, cells = source.labels, source.dense(normalize)
    real = len(labels) - (labels[-1:] == (None,))
    chosen = sorted(largest_first(source.sums(1)[:real])[:limit])
    words = "predicted label", "true label", title, some_of("Confusion of labels", len(chosen), real, "most frequent")
    chosen += range(real, len(labels))
    names, cells = [named(labels)[place] for place in chosen], cells[np.ix_(chosen, chosen)]
    unit = _UNITS[normalize] if normalize is not None or source.den == 1 else "weight of examples"
    ax = _heat(ax, cells, (names, names), words, unit, numbers, cmap, normalize=normalize)
    if len(names) > 1 and labels[-1] is None:  # separate "no label" from the labels
        for line in (ax.axhline, ax.axvline):
            line(len(names) - 1.5, color="white", linewidth=4 if len(names) <= _ANNOTATED else 2)
    return ax


def plot_cooccurrence(
    source: object,
    y_pred: object = None,
    *,
    side: Side | None = None,
    numbers: bool | None = None,
    limit: int = 40,
    cmap: str | Colormap = "Blues",
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw how many examples have both of two labels.

    Of a symmetric matrix only the lower half is drawn. The diagonal, how often a label occurs at all, is left out,
    because it would outshine the rest.

    Parameters
    ----------
    source, y_pred
        An evaluator with the co-occurrence of pairs; or arrays; or what its `cooccurrence` returned.
    side
        For an evaluator: which labels, as in `Evaluator.cooccurrence`; the true ones by default.
    numbers, cmap
        As in `plot_confusion_matrix`.
    limit
        How many labels are drawn at most: those with the largest values.
    """
    limit = check_number("limit", limit, 1)
    if not isinstance(source, Matrix):
        source = cast("Matrix", run_of(source, y_pred, ["cooccurrence"]).cooccurrence(side=side or "true"))
    elif side is not None:
        raise InputError("side belongs to cooccurrence; do not pass it with a matrix")
    values, names = source.dense(), named(source.labels)
    counted = len(names) > 1 and bool(values.any())
    np.fill_diagonal(values, math.nan)
    symmetric = np.array_equal(values, values.T, equal_nan=True)
    sizes = np.nansum(values, axis=0) + np.nansum(values, axis=1)
    chosen = np.sort(np.argsort(-sizes, kind="stable")[:limit])
    default = some_of("Labels together", len(chosen), len(names), "largest")
    values, names = values[np.ix_(chosen, chosen)], [names[place] for place in chosen]
    if symmetric:
        values[np.triu_indices(len(values))] = math.nan
    rows, columns = (slice(1, None), slice(None, -1)) if symmetric and len(names) > 1 else (slice(None), slice(None))
    values = values[rows, columns]
    unit = "examples" if source.den == 1 else "weight of examples"
    words = (*(("label", "label") if symmetric else ("predicted label", "true label")), title, default)
    return _heat(ax, values, (names[rows], names[columns]), words, unit, numbers, cmap, counted=counted)


def plot_multilabel_confusion(
    source: object, y_pred: object = None, *, limit: int = 30, ax: Axes | None = None, title: str | None = None
) -> Axes:
    """Draw a 2x2 table for each label, with its F1: rows are the truth, columns the prediction.

    Each row is coloured by its fractions, so rare labels can be compared with frequent ones: blue where the prediction
    is right, red where it is wrong; the numbers are the examples.

    Parameters
    ----------
    source, y_pred
        An evaluator; or arrays; or what its `per_label` returned.
    limit
        How many labels are drawn at most: those that are most often true.
    """
    limit = check_number("limit", limit, 1)
    table = source if isinstance(source, LabelTable) else cast("LabelTable", run_of(source, y_pred).per_label())
    counts = table.stacked().astype(np.float64)
    drawn = np.sort(np.argsort(-counts[:, 1].sum(axis=1), kind="stable")[:limit]).tolist()
    wide = max(1, min(6, len(drawn), math.ceil(math.sqrt(1.5 * len(drawn)))))
    high = max(1, math.ceil(len(drawn) / wide))
    default = some_of("Outcomes of each label", len(drawn), len(counts), "most frequent")
    ax = titled(ax, (max(1.5 * wide + 0.9, 3.6), 1.62 * high + 0.9), ("predicted", "true", title, default))
    names = named(table.labels, 18)
    for position, place in enumerate(drawn):
        x, y = position % wide * 2.5, position // wide * 2.9
        _panel(ax, x, y, counts[place])
        (_, fp), (fn, tp) = np.minimum(counts[place], MOST)
        f1 = f"F1 {2 * tp / (2 * tp + fp + fn):.2f}" if tp + fp + fn else ""
        ax.text(x + 1, y - 0.38, names[place], ha="center", va="bottom", fontsize=8, color=INK)
        ax.text(x + 1, y - 0.1, f1, ha="center", va="bottom", fontsize=8, color=MUTED)
    ax.set_xlim(-0.1, max(2.0, 2.5 * wide - 0.4))
    ax.set_ylim(2.9 * high - 0.8, -0.85)
    ax.set_aspect("equal")
    below = len(drawn) - wide * (high - 1)  # panels of the last row
    for axis, panels, step in ((ax.xaxis, below, 2.5), (ax.yaxis, high, 2.9)):
        axis.set_ticks([step * panel + cell + 0.5 for panel in range(panels) for cell in (0, 1)], ["0", "1"] * panels)
    ax.tick_params(length=0, pad=2, labelsize=8, labelcolor=MUTED)
    ax.spines[:].set_visible(False)
    return ax if counts.any() else style.no_values(ax)


def _panel(ax: Axes, x: float, y: float, table: FloatArray) -> None:
    finite = np.minimum(table, MOST)
    totals = finite.sum(axis=1, keepdims=True)
    signed = np.divide(finite, totals, out=np.zeros((2, 2)), where=totals > 0) * [[1, -1], [-1, 1]]
    grid = x + np.arange(3), y + np.arange(3)
    mesh: Any = ax.pcolormesh(*grid, signed, cmap="RdBu", vmin=-1, vmax=1, edgecolors="white")
    for (row, column), value in np.ndenumerate(signed):
        ink = style.ink_on(mesh.to_rgba(value))
        text = short(float(table[row, column])) or "0"
        ax.text(x + column + 0.5, y + row + 0.5, text, ha="center", va="center", color=ink, fontsize=9)


def _heat(
    ax: Axes | None,
    cells: FloatArray,
    names: tuple[list[str], list[str]],
    words: style.Words,
    unit: str,
    numbers: bool | None,
    cmap: str | Colormap,
    *,
    normalize: Normalize = None,
    counted: bool = False,
) -> Axes:
    """Draw a heat map with names, a colour bar, and, if they fit, lines between cells; new axes have room for names."""
    rows, columns = names
    longest = 0.07 * max(map(width_of, (*rows, *columns)), default=0)
    width, height = (min(13.0, max(2.4, 0.38 * len(each)) + 0.6 + longest) for each in (columns, rows))
    ax = titled(ax, (width + 1.3, height), words, labelpad=6)
    values = cells if cells.size else np.full((1, 1), math.nan)  # axes without any label need a width
    finite = values[np.isfinite(values)]
    fraction = normalize is not None
    bound = 1.0 if normalize in ("true", "pred") else float(finite.max(initial=0)) or 1.0
    image: Any = ax.imshow(values, cmap=cmap, aspect="equal", interpolation="none", vmin=0, vmax=bound)
    if max(values.shape) <= 60:
        ax.set_xticks(np.arange(0.5, values.shape[1] - 1), minor=True)
        ax.set_yticks(np.arange(0.5, values.shape[0] - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=1.5 if max(values.shape) <= _ANNOTATED else 0.5)
        ax.tick_params(which="minor", length=0)
    _name_ticks(ax, rows, columns)
    if len(rows) <= _ANNOTATED if numbers is None else numbers:
        for row, column in np.argwhere(np.isfinite(cells) & (cells != 0)).tolist():
            value = float(cells[row, column])
            ax.text(
                column, row, short(value, fraction=fraction), ha="center", va="center",
                color=style.ink_on(image.to_rgba(value)), fontsize=8.5 if len(rows) <= 10 else 7,
            )  # fmt: skip
    if not (counted or np.nansum(cells)):
        return style.no_values(ax)
    from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

    percent = PercentFormatter(1.0, decimals=0) if fraction else FuncFormatter(lambda value, _: short(value) or "0")
    ticks = MaxNLocator(5, integer=not fraction and bound >= 5)
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.035, pad=0.02, aspect=40, format=percent, ticks=ticks)
    bar.outline.set_visible(False)
    bar.set_label(unit, color=MUTED, fontsize=9)
    bar.ax.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    return ax


def _name_ticks(ax: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Name rows and columns; if names would overlap, only every second, third ... is named."""
    width, height = (float(pixels / ax.figure.dpi * 72) for pixels in (ax.bbox.width, ax.bbox.height))  # in points
    for axis, names, room in ((ax.yaxis, rows, height), (ax.xaxis, columns, width)):
        size = max(5.5, min(9.0, 0.8 * room / max(len(names), 1)))
        step = max(1, math.ceil(len(names) / max(1, room // (1.25 * size))))
        places = range((len(names) - 1) % step, len(names), step)  # always names the last, "no label" perhaps
        axis.set_ticks(places, [names[place] for place in places], fontsize=size, color=INK)
    if max(map(width_of, columns), default=0) * 6 > width / max(len(columns), 1):
        many = len(columns) > 12
        ax.tick_params(axis="x", labelrotation=90 if many else 45)
        for text in ax.get_xticklabels():
            text.set(ha="center" if many else "right", rotation_mode=None if many else "anchor")
    ax.tick_params(length=0, pad=4)
    ax.spines[:].set_visible(False)
