"""Curves over thresholds and scores, from what the package computes or from plain arrays, drawn alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from streameval.errors import InputError
from streameval.kernel.types import FloatArray
from streameval.metrics.calibration import CalibrationCurve
from streameval.metrics.curves import PrecisionRecallCurve, RocCurve
from streameval.metrics.lines import curve_line, threshold_lines
from streameval.plots.style import INK, MUTED, Source, named, new_axes, read, short, titled
from streameval.schema.labels import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

Band: TypeAlias = "tuple[ArrayLike, ArrayLike, ArrayLike]"
"""Along the horizontal axis, the least and the most that a curve can be: x, low, high."""

# Okabe & Ito 2008: distinct also without seeing red or green.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f5539", "#4b5563")
_FAINT = "#b3bcc6"
_BEHIND = 40
"""How many labels of an evaluator are drawn behind all of them."""

_GUIDE: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (2, 3)), "zorder": 1}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line of a picture.

    Attributes
    ----------
    name
        A label, "micro", "macro" ...
    x, y
        For ROC the false and true positive rates; for precision-recall the recalls and precisions.
    band
        What the curve can be at most and at least, as ``RocCurve.band()`` and ``PrecisionRecallCurve.band()`` give it;
        None where it is exact.
    note
        Written after the name, for example the area.
    """

    name: Label
    x: ArrayLike
    y: ArrayLike
    band: Band | None = None
    note: str = ""

    @classmethod
    def of(cls, name: Label, curve: RocCurve | PrecisionRecallCurve, note: str = "") -> Curve:
        """The line of a curve that was read, with its band where scores were binned."""
        line = curve_line(curve)
        if isinstance(curve, RocCurve):
            return cls(name, line.x, line.y, line.band, note)
        last = line.y[-1:] if len(line.y) else 1.0
        return cls(name, np.append(line.x, 0.0), np.append(line.y, last), line.band, note)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """The points that are numbers."""
        x, y = np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)
        if x.shape != y.shape or x.ndim != 1:
            shapes = f"{x.shape} and {y.shape}"
            raise InputError(f"x and y of curve {self.name!r} must be 1-D and of one length, not {shapes}")
        defined = np.isfinite(x) & np.isfinite(y)
        return x[defined], y[defined]


Curves: TypeAlias = Curve | Sequence[Curve] | Mapping[Label, RocCurve] | Mapping[Label, PrecisionRecallCurve]


def plot_roc_curve(
    curves: Curves | Source,
    *,
    labels: Iterable[Label] | None = None,
    background: Iterable[Curve | RocCurve] = (),
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw ROC curves: true positive rate over false positive rate.

    Parameters
    ----------
    curves
        An evaluator, or at most eight curves, each with a colour and a place in the legend: what its `roc_curve`
        returned, by name, or `Curve`s.
    labels
        Of an evaluator: the labels to draw; None draws all labels pooled, and each of at most 40 behind them.
    background
        Any number of further curves, drawn faintly: one per label behind their average, for example.
    ax
        Where to draw; a new figure if None.
    title
        Text above the picture.
    """
    curves, background = _drawn(curves, "roc_curve", labels, background)
    ax = _unit_axes(ax, "false positive rate", "true positive rate", title)
    ax.plot([0, 1], [0, 1], **_GUIDE)
    _lines(ax, curves, background, "default")
    _legend(ax, "lower right")
    return ax


def plot_precision_recall_curve(
    curves: Curves | Source,
    *,
    labels: Iterable[Label] | None = None,
    background: Iterable[Curve | PrecisionRecallCurve] = (),
    prevalence: float | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw precision over recall, as steps: between two points precision is that of the higher recall.

    Parameters
    ----------
    curves, labels, background, ax, title
        As in `plot_roc_curve`; of what `precision_recall_curve` returned.
    prevalence
        The fraction of positives, which guessing has as its precision; drawn as a dotted line.
    """
    curves, background = _drawn(curves, "precision_recall_curve", labels, background)
    ax = _unit_axes(ax, "recall", "precision", title)
    if prevalence is not None:
        ax.axhline(prevalence, **_GUIDE)
    _lines(ax, curves, background, "steps-post")
    _legend(ax, "best")
    return ax


def plot_calibration_curve(
    predicted: ArrayLike | CalibrationCurve | Source,
    observed: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    *,
    label: Label | None = None,
    edges: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    ax: Axes | None = None,
    name: str | int = "",
    title: str | None = None,
) -> Axes:
    """Draw a reliability diagram: how often labels were true over their score, and below it how many scores there were.

    Parameters
    ----------
    predicted, observed
        For each bin the mean score and the fraction of positives; NaN where the bin is empty. Or an evaluator, or what
        its `calibration_curve` returned.
    counts
        For each bin the number of scores; drawn on a logarithmic axis.
    label
        Of an evaluator: which label; None takes all labels pooled.
    edges
        The bounds of the bins, one more than there are; equal bins from 0 to 1 if None.
    low, high
        Bounds of ``observed``, drawn as a bar through each point.
    ax
        Where to draw; the counts come below it, in a quarter of its height.
    name
        What the points are, for the legend.
    """
    if hasattr(predicted, "calibration_curve"):
        predicted = cast("CalibrationCurve", read(predicted, "calibration_curve", label, **_pooled(label)))
    if isinstance(predicted, CalibrationCurve):
        x, y, many = predicted.mean_score, predicted.frequency, predicted.weight
        left, right = predicted.low, predicted.high
    else:
        x, y, many = (np.asarray(part, np.float64) for part in (cast("ArrayLike", predicted), observed, counts))
        bounds = np.linspace(0, 1, many.size + 1) if edges is None else np.asarray(edges, np.float64)
        if x.ndim != 1 or not x.shape == y.shape == many.shape or len(bounds) != len(many) + 1:
            raise InputError("predicted, observed and counts must have one number per bin, and edges one more")
        left, right = bounds[:-1], bounds[1:]
    ax = _unit_axes(ax, "", "fraction that is true", title)
    ax.plot([0, 1], [0, 1], **_GUIDE)
    defined = np.isfinite(x) & np.isfinite(y) & (many > 0)
    colour = _COLOURS[0]
    if low is not None and high is not None:
        below, above = np.asarray(low, np.float64)[defined], np.asarray(high, np.float64)[defined]
        ax.vlines(x[defined], below, above, color=colour, alpha=0.35, linewidth=4, zorder=2)
    text = named(name) if name != "" else "_"  # which has no place in the legend
    ax.plot(x[defined], y[defined], color=colour, marker="o", markersize=4.5, linewidth=1.6, label=text, zorder=3)
    _legend(ax, "upper left")
    strip = ax.inset_axes((0, -0.27, 1, 0.22), sharex=ax)
    ax.tick_params(labelbottom=False)
    strip.bar(left, many, right - left, align="edge", color=colour, alpha=0.75, edgecolor="white", linewidth=0.8)
    strip.set_xlabel("mean score", color=MUTED, fontsize=10)
    strip.set_ylabel("scores", color=MUTED, fontsize=9)
    if many.max(initial=0) > 0:
        strip.set_yscale("log")
        strip.set_ylim(0.7, float(many.max()) * 2)
        strip.yaxis.set_major_formatter(lambda value, _: short(value))
        strip.yaxis.minorticks_off()
    _quiet(strip)
    return ax


def plot_thresholds(
    thresholds: ArrayLike | PrecisionRecallCurve | Source,
    precision: ArrayLike | None = None,
    recall: ArrayLike | None = None,
    f: ArrayLike | None = None,
    *,
    label: Label | None = None,
    chosen: float | None = None,
    beta: float = 1.0,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw precision, recall and F of one label over the threshold, at or above which a score is a prediction.

    Parameters
    ----------
    thresholds
        In any order; infinite ones are left out. Or an evaluator, or what its `precision_recall_curve` returned.
    precision, recall, f
        At each threshold; NaN where undefined.
    label
        Of an evaluator: which label; None takes all labels pooled.
    chosen
        A threshold to mark; of an evaluator the best one, if None.
    beta
        Which F it is, for the legend.
    """
    if hasattr(thresholds, "best_thresholds"):
        source, goal = thresholds, f"fbeta_{'micro' if label is None else 'macro'}(beta={beta!r})"
        thresholds = cast("PrecisionRecallCurve", read(source, "precision_recall_curve", label, **_pooled(label)))
        if chosen is None:
            best = (
                read(source, "best_threshold", goal) if label is None else read(source, "best_thresholds", goal)[label]
            )
            chosen = best.threshold if math.isfinite(best.threshold) else None
    if isinstance(thresholds, PrecisionRecallCurve):
        parts = [thresholds.thresholds, thresholds.precision[:-1], thresholds.recall[:-1]]
    else:
        parts = [np.asarray(part, np.float64) for part in (cast("ArrayLike", thresholds), precision, recall, f)]
        if any(part.shape != parts[0].shape for part in parts):
            raise InputError("precision, recall and f must have one number per threshold")
    at, sides = threshold_lines(*parts, beta=beta)
    ax = _unit_axes(ax, "threshold", "", title, square=False)
    names = ("precision", "recall", f"F{short(beta) or '0'}")
    for name, side, colour, width in zip(names, sides, _COLOURS, (1.5, 1.5, 2.3), strict=False):
        # From one threshold up to and with the next, predictions are those of the next.
        ax.plot(at, side, color=colour, linewidth=width, drawstyle="steps-pre", label=name)
    if len(at):
        margin = 0.02 * float(at[-1] - at[0]) or 0.5
        ax.set_xlim(float(at[0]) - margin, float(at[-1]) + margin)
    if chosen is not None:
        ax.axvline(chosen, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        left = chosen > sum(ax.get_xlim()) / 2
        ax.annotate(
            f"{chosen:.3g}", (chosen, 1.0), (-4 if left else 4, 3), textcoords="offset points",
            ha="right" if left else "left", va="bottom", fontsize=9, color=INK, annotation_clip=False,
        )  # fmt: skip
    _legend(ax, "best")
    return ax


def _pooled(label: Label | None) -> dict[str, str]:
    return {"average": "micro"} if label is None else {}


def _drawn(
    curves: Curves | Source, method: str, labels: Iterable[Label] | None, background: Iterable[Any]
) -> tuple[Curves, Iterable[Any]]:
    """The curves in colour and those behind them; of an evaluator as it gives them."""
    if not hasattr(curves, method):
        if labels is not None:
            raise InputError("labels belongs to an evaluator; give the curves of these labels by name")
        return cast("Curves", curves), background
    if labels is not None:
        return cast("Curves", {label: read(curves, method, label) for label in labels}), background
    behind = [read(curves, method, label) for label in curves.labels[:_BEHIND]]  # type: ignore[union-attr]  # it has
    return cast("Curves", {"all labels": read(curves, method, average="micro")}), [*background, *behind]


def _lines(ax: Axes, curves: Curves, background: Iterable[Any], style: Any) -> None:
    if isinstance(curves, Mapping):
        curves = [Curve.of(name, curve) for name, curve in curves.items()]
    lines = [curves] if isinstance(curves, Curve) else list(curves)
    if len(lines) > len(_COLOURS):
        raise InputError(
            f"{len(lines)} curves are too many to distinguish; give at most {len(_COLOURS)} and the rest as background"
        )
    for curve in background:
        faint = curve if isinstance(curve, Curve) else Curve.of("", curve)
        ax.plot(*faint.points(), color=_FAINT, linewidth=0.8, alpha=0.6, drawstyle=style, zorder=1.5)
    for curve, colour in zip(lines, _COLOURS, strict=False):
        if curve.band is not None:
            x, low, high = (np.asarray(part, np.float64) for part in curve.band)
            ax.fill_between(x, low, high, color=colour, alpha=0.25, linewidth=0, zorder=2)
        text = named(curve.name) + (f"  {curve.note}" if curve.note else "")
        ax.plot(*curve.points(), color=colour, linewidth=1.8, drawstyle=style, label=text, zorder=3)


def _unit_axes(ax: Axes | None, x: str, y: str, title: str | None, *, square: bool = True) -> Axes:
    """Axes from 0 to 1 whose frame stays in the background."""
    ax = ax or new_axes((5.2, 5.2) if square else (6.4, 4.0))
    if square:
        ax.set_aspect("equal")
        ax.set_xlim(-0.015, 1.015)
    ax.set_ylim(-0.015, 1.015)
    titled(ax, x, y, title, pad=14)
    _quiet(ax)
    return ax


def _quiet(ax: Axes) -> None:
    ax.tick_params(length=0, labelsize=8.5, labelcolor=MUTED)
    ax.grid(color="#e9ecef", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_color("#cfd5db")


def _legend(ax: Axes, where: Literal["best", "lower right", "upper left"]) -> None:
    if ax.get_legend_handles_labels()[1]:
        ax.legend(loc=where, fontsize=9, frameon=True, framealpha=0.9, edgecolor="none", labelcolor=INK)
