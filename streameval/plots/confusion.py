"""Heat maps of label pairs, and a 2x2 panel for each label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

import streameval.plots.style as style
from streameval.errors import InputError
from streameval.kernel.types import FloatArray
from streameval.metrics.pairs import Association, Entries, Matrix, Normalize, Side, Values
from streameval.plots.style import INK, MUTED, Source, named, new_axes, read
from streameval.schema.labels import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

_ANNOTATED = 16
"""Up to so many rows and columns, numbers are written into the cells."""

_UNITS = {
    "true": "fraction of the true label", "pred": "fraction of the predicted label", "all": "fraction of all",
    None: "examples",
}  # fmt: skip


def plot_confusion_matrix(
    matrix: Matrix | Source,
    *,
    values: Values | None = None,
    ax: Axes | None = None,
    normalize: Normalize = "true",
    numbers: bool | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a multi-label confusion matrix: true labels downwards, predicted ones to the right.

    Parameters
    ----------
    matrix
        An evaluator with confusions of pairs, or what its `confusion_matrix` returned.
    values
        Of an evaluator: what a cell adds up, as in `Evaluator.confusion_matrix`; "shares" by default.
    ax
        Where to draw; a new figure if None.
    normalize
        As in `Matrix.dense`: "true" colours each row by what became of the true label. None shows the sums.
    numbers
        Whether to write numbers into the cells, fractions in per cent; by default, where labels are few.
    title
        Text above the picture.
    """
    if not isinstance(matrix, Matrix):
        matrix = cast("Matrix", read(matrix, "confusion_matrix", values=values or "shares"))
    elif values is not None:
        raise InputError("values belongs to confusion_matrix; do not pass it with a matrix")
    cells = matrix.dense(normalize)
    names = [named(label) for label in matrix.labels]
    fraction = normalize is not None
    unit = _UNITS[normalize] if fraction or matrix.den == 1 else "weight of examples"
    ax = _heat(
        ax, cells, names, names, unit, top=1.0 if normalize in ("true", "pred") else None, fraction=fraction,
        numbers=len(names) <= _ANNOTATED if numbers is None else numbers,
    )  # fmt: skip
    if len(names) > 1 and matrix.labels[-1] is None:  # "none" is no label: set it apart
        for line in (ax.axhline, ax.axvline):
            line(len(names) - 1.5, color="white", linewidth=_gap(len(names), 5.0))
    style.titled(ax, "predicted label", "true label", title, labelpad=6)
    return ax


def plot_cooccurrence(
    pairs: Matrix | Entries | Source,
    *,
    measure: Association | None = None,
    side: Side | None = None,
    ax: Axes | None = None,
    numbers: bool | None = None,
    title: str | None = None,
    name: str = "",
) -> Axes:
    """Draw how often, or how strongly, labels go together.

    Of what is symmetric only the lower half is drawn. The diagonal of counts, how often a label occurs at all, is left
    out, which would outshine the rest. Values of both signs get two colours, and pairs that are minus infinity grey.

    Parameters
    ----------
    pairs
        An evaluator with the co-occurrence of pairs, or what its `cooccurrence` or `association` returned.
    measure
        Of an evaluator: a measure of `Evaluator.association`; None shows how many examples have both labels.
    side
        Of an evaluator: which labels, as in these functions; the true ones by default.
    ax, numbers, title
        As in `plot_confusion_matrix`.
    name
        What the values are, for the colour bar.
    """
    if not isinstance(pairs, Matrix | Entries):
        name = name or measure or ""
        if measure is None:
            pairs = cast("Matrix", read(pairs, "cooccurrence", side=side or "true"))
        elif side == "both":
            raise InputError("association is of labels of one side; say side='true' or 'pred'")
        else:
            pairs = cast("Entries", read(pairs, "association", measure, side=side or "true"))
    elif measure is not None or side is not None:
        raise InputError("measure and side belong to association or cooccurrence; do not pass them with a matrix")
    values = pairs.dense()
    np.fill_diagonal(values, math.nan)
    symmetric = np.array_equal(values, values.T, equal_nan=True)
    if symmetric:
        values[np.triu_indices(len(values))] = math.nan
    names = [named(label) for label in pairs.labels]
    rows, columns = (slice(1, None), slice(None, -1)) if symmetric and len(names) > 1 else (slice(None), slice(None))
    values = values[rows, columns]
    unit = name or ("examples" if isinstance(pairs, Matrix) and pairs.den == 1 else "value")
    numbers = len(names) <= _ANNOTATED if numbers is None else numbers
    ax = _heat(ax, values, names[rows], names[columns], unit, numbers=numbers)
    below = "grey: never together" if np.isneginf(values).any() else ""
    style.titled(ax, below if symmetric else "predicted label", "" if symmetric else "true label", title, labelpad=6)
    return ax


def plot_multilabel_confusion(
    labels: Sequence[Label] | Source,
    tp: ArrayLike | None = None,
    fp: ArrayLike | None = None,
    fn: ArrayLike | None = None,
    tn: ArrayLike | None = None,
    *,
    fig: Figure | None = None,
    limit: int = 30,
    title: str | None = None,
) -> Figure:
    """Draw a 2x2 table for each label: of an evaluator, of what its `per_label` returned, or of columns of numbers.

    Rows are the truth, columns the prediction; each row is coloured by its fractions, so rare labels can be compared
    with frequent ones, and the numbers are the examples. Beyond ``limit`` labels only those most often true are drawn.
    """
    table: Any = labels.per_label() if hasattr(labels, "per_label") else labels
    parts = tn, fp, fn, tp
    if hasattr(table, "tp"):
        if any(part is not None for part in parts):
            raise InputError("the numbers are read from the evaluator; leave tp, fp, fn and tn out")
        parts, table = (table.tn, table.fp, table.fn, table.tp), table.labels
    if any(part is None for part in parts):
        raise InputError("give an evaluator, or labels with tp, fp, fn and tn")
    counts = np.stack([np.asarray(part, np.float64) for part in parts], axis=-1)
    if counts.shape != (len(table), 4):
        raise InputError(f"tp, fp, fn and tn must have one number for each of {len(table)} labels")
    if limit < 1:
        raise InputError(f"limit must be at least 1, not {limit}")
    drawn = np.sort(np.argsort(-counts[:, 2:].sum(axis=1), kind="stable")[:limit]).tolist()
    wide = max(1, min(6, math.ceil(math.sqrt(1.5 * len(drawn)))))
    high = max(1, math.ceil(len(drawn) / wide))
    if fig is None:
        fig = style.pyplot_of().figure(figsize=(1.65 * wide + 0.7, 1.8 * high + 0.9), layout="constrained")
        fig.set_layout_engine("constrained", h_pad=0.06, w_pad=0.05)
    axes = fig.subplots(high, wide, squeeze=False)
    for position, ax in enumerate(axes.flat):
        if position >= len(drawn):
            ax.set_axis_off()
            continue
        lowest = position + wide >= len(drawn)
        _panel(ax, table[drawn[position]], counts[drawn[position]].reshape(2, 2), left=position % wide == 0, low=lowest)
    note = f"the {len(drawn)} most frequent of {len(table)} labels" if len(drawn) < len(table) else ""
    if title or note:
        fig.suptitle("\n".join(filter(None, (title, note))), color=INK, fontsize=11)
    fig.supxlabel("predicted", color=MUTED, fontsize=9)
    fig.supylabel("true", color=MUTED, fontsize=9)
    return fig


def _panel(ax: Axes, label: Label, table: FloatArray, *, left: bool, low: bool) -> None:
    totals = table.sum(axis=1, keepdims=True)
    fractions = np.divide(table, totals, out=np.zeros((2, 2)), where=totals > 0)
    image = ax.imshow(fractions, cmap=style.colours(), vmin=0, vmax=1, aspect="equal")
    for (row, column), fraction in np.ndenumerate(fractions):
        text, ink = style.short(float(table[row, column])) or "0", style.ink_on(image.cmap(float(fraction)))
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
    ax.set_title(named(label, 20), fontsize=8, color=INK, pad=4)
    ax.set_xticks([0, 1], ["no", "yes"] if low else ["", ""], fontsize=8, color=MUTED)
    ax.set_yticks([0, 1], ["no", "yes"] if left else ["", ""], fontsize=8, color=MUTED)
    ax.tick_params(length=0, pad=2)
    for line in (ax.axhline, ax.axvline):
        line(0.5, color="white", linewidth=1.5)
    ax.spines[:].set_visible(False)


def _heat(
    ax: Axes | None,
    cells: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    unit: str,
    *,
    numbers: bool,
    fraction: bool = False,
    top: float | None = None,
) -> Axes:
    """Draw cells with white lines between them where there is room, and name them; new axes have room for the names."""
    if ax is None:
        width, height = (min(13.0, max(3.4, 0.36 * len(names) + 1.6)) for names in (columns, rows))
        ax = new_axes((width + 1.3, height))
    values = cells if cells.size else np.full((1, 1), math.nan)  # so that axes have a width without any label
    finite = values[np.isfinite(values)]
    diverging = float(finite.min(initial=0)) < 0
    bound = top or float(np.abs(finite).max(initial=0)) or 1.0
    values = np.where(np.isneginf(values), -2 * bound, values)  # below the range; infinities would not be drawn
    low, colours = -bound if diverging else 0, style.colours(diverging=diverging)
    image = ax.imshow(values, cmap=colours, aspect="equal", interpolation="none", vmin=low, vmax=bound)
    if max(values.shape) <= 60:
        ax.set_xticks(np.arange(0.5, values.shape[1] - 1), minor=True)
        ax.set_yticks(np.arange(0.5, values.shape[0] - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=_gap(max(values.shape), 1.5))
        ax.tick_params(which="minor", length=0)
    style.label_ticks(ax, rows, columns)
    if numbers:
        style.annotate(ax, image, cells, fraction=fraction, size=8.5 if len(rows) <= 10 else 7)
    style.slim_bar(ax, image, unit, percent=fraction)
    return ax


def _gap(count: int, most: float) -> float:
    return max(0.4, most * min(1.0, 12 / max(count, 1)))
