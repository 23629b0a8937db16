"""Curves over thresholds and scores, and values along a stream."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

import streameval.plots.style as style
from streameval.errors import InputError
from streameval.metrics.calibration import CalibrationCurve
from streameval.metrics.catalogue import build_spec
from streameval.metrics.curves import Line as CurveLine, PrecisionRecallCurve, RocCurve, curve_line, threshold_lines
from streameval.plots.style import COLOURS, DASHES, INK, MOST, MUTED, line_style, named, quiet, run_of, titled
from streameval.report.parts import Line, column_of
from streameval.schema.config import label_tuple
from streameval.schema.labels import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WITHIN = 4  # entries of a legend at most, if it is among the lines, of which a larger one would cover some
_AREAS = {"roc_curve": ("roc_auc", "area"), "precision_recall_curve": ("average_precision", "AP")}
_GUIDE: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (2, 3)), "zorder": 1}


def plot_roc_curve(
    source: object,
    y_score: object = None,
    *,
    labels: Iterable[Label] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw ROC curves: true positive rate over false positive rate.

    Parameters
    ----------
    source, y_score
        An evaluator, or several by name; or arrays; or what ``roc_curve()`` of an evaluator returned. At most eight.
    labels
        For an evaluator: the labels to draw; None draws all labels together.
    """
    lines = _lines(source, y_score, "roc_curve", labels)
    ax = _unit_axes(ax, "false positive rate", "true positive rate", title, "ROC curve")
    ax.plot([0, 1], [0, 1], **_GUIDE)
    return _draw(ax, lines, steps="default", where="lower right")


def plot_precision_recall_curve(
    source: object,
    y_score: object = None,
    *,
    labels: Iterable[Label] | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw precision over recall in steps: between two points, the precision of the higher recall.

    With a single curve, a dotted line is the fraction of positives, which is the precision of guessing.

    Parameters
    ----------
    source, y_score, labels
        As in `plot_roc_curve`.
    """
    lines = _lines(source, y_score, "precision_recall_curve", labels)
    ax = _unit_axes(ax, "recall", "precision", title, "Precision and recall")
    (_, first), *more = lines
    if len(first.y) and not more:
        ax.axhline(float(first.y[0]), **_GUIDE)  # the precision if all is predicted
    return _draw(ax, lines, steps="steps-post", where="best")


def plot_calibration_curve(
    source: object,
    y_score: object = None,
    *,
    label: Label | None = None,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a reliability diagram: fraction of true labels over the score, and below it the number of scores.

    Parameters
    ----------
    source, y_score
        An evaluator; or arrays; or what ``calibration_curve()`` of an evaluator returned.
    label
        For an evaluator: which label; None takes all labels together.
    """
    what, curve = "Calibration", cast("CalibrationCurve", source)
    if not isinstance(source, CalibrationCurve):
        run = run_of(source, y_score, ["curves"])
        curve, what = _read(run, "calibration_curve", label), _of(what, run, label)
    ax = _unit_axes(ax, "", "fraction that is true", title, what)
    if not curve.weight.any():
        return style.no_values(ax)
    ax.plot([0, 1], [0, 1], **_GUIDE)
    ax.plot(curve.mean_score, curve.frequency, **line_style(0), marker="o", markersize=4.5, linewidth=1.6)
    strip, sizes = ax.inset_axes((0, -0.27, 1, 0.22), sharex=ax), np.minimum(curve.weight, MOST)
    ax.tick_params(labelbottom=False)
    strip.bar(curve.low, sizes, curve.high - curve.low, align="edge", color=COLOURS[0], alpha=0.75, edgecolor="white")
    strip.set_xlabel("mean score", color=MUTED, fontsize=10)
    strip.set_ylabel("scores", color=MUTED, fontsize=9)
    strip.set_yscale("log")
    strip.set_ylim(0.7, float(sizes.max()) * 2)
    strip.yaxis.set_major_formatter(lambda value, _: style.short(value))
    strip.yaxis.minorticks_off()
    quiet(strip)
    return ax


def plot_thresholds(
    source: object,
    y_score: object = None,
    *,
    label: Label | None = None,
    beta: float = 1.0,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw precision, recall and F of one label over the threshold.

    The best threshold of an evaluator is marked.

    Parameters
    ----------
    source, y_score
        An evaluator; or arrays; or what ``precision_recall_curve()`` of an evaluator returned.
    label
        For an evaluator: which label; None takes all labels together.
    beta
        The weight of recall in F, as for F-beta.
    """
    what, curve, best = "Thresholds", cast("PrecisionRecallCurve", source), math.nan
    if not isinstance(source, PrecisionRecallCurve):
        run, average = run_of(source, y_score, ["curves"]), "micro" if label is None else "macro"
        curve, what = _read(run, "precision_recall_curve", label), _of(what, run, label)
        goal = f"fbeta_{average}(beta={beta!r})"
        best = (run.best_threshold(goal) if label is None else run.best_thresholds(goal)[label]).threshold
    at, sides = threshold_lines(curve, beta)
    ax = _unit_axes(ax, "threshold", "value at the threshold", title, what, square=False)
    if not np.isfinite(sides[1]).any():  # for example, no label is true
        return style.no_values(ax)
    at, names = np.clip(at, -MOST, MOST), ("precision", "recall", f"F{style.short(beta) or '0'}")
    for number, (name, side) in enumerate(zip(names, sides, strict=True)):
        # Above one threshold and up to the next, predictions are those of the next.
        ax.plot(at, side, **line_style(number), linewidth=1.5 + 0.4 * number, drawstyle="steps-pre", label=name)
    margin = 0.02 * float(at[-1] - at[0]) or 0.5 * max(1.0, abs(float(at[0])))
    ax.set_xlim(float(at[0]) - margin, float(at[-1]) + margin)
    if math.isfinite(best):
        ax.axvline(best, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1, label=f"best at {best:.3g}")
    style.legend(ax)
    return ax


def _read(run: Any, method: str, label: Label | None) -> Any:
    return getattr(run, method)(label) if label is not None else getattr(run, method)(average="micro")


def _of(what: str, run: Any, label: Label | None) -> str:
    """A title with the label, which is cut as far as it stays distinct from all other labels."""
    return f"{what} of {'all labels together' if label is None else named(run.labels, 26)[run.labels.index(label)]}"


_Lines: TypeAlias = list[tuple[str, CurveLine]]  # with their names


def _lines(source: object, y_score: object, method: str, labels: Iterable[Label] | None) -> _Lines:
    """Named curves: those that are passed, or those of evaluators, for each of ``labels`` if any are named."""
    parts: Mapping[Any, Any] = source if isinstance(source, Mapping) else {"": source}
    if parts and y_score is None and all(isinstance(part, RocCurve | PrecisionRecallCurve) for part in parts.values()):
        if labels is not None:
            raise InputError("labels belongs to an evaluator; give the curves of these labels by name")
        lines = [*zip(_heads(parts), map(curve_line, parts.values()), strict=True)]
    else:
        runs, chosen = style.runs_of(source, y_score, ["curves"]), [None] if labels is None else [*label_tuple(labels)]
        words, average = ([""], "micro") if labels is None else (named(chosen, 26), None)
        metric, area = _AREAS[method]
        lines, spec = [], build_spec(metric, average=average)
        read = style.of_each(
            runs, lambda run: ([_read(run, method, label) for label in chosen], style.values_of(run, spec))
        )
        for head, (curves, areas) in zip(_heads(runs, 26), read.values(), strict=True):
            for word, label, line in zip(words, chosen, map(curve_line, curves), strict=True):
                value, name = areas.get(label, math.nan), f"{word} {head}".strip() or "all labels"
                lines.append((f"{name}, {area} {value:.3f}" if math.isfinite(value) else name, line))
    if len(lines) > len(COLOURS):
        raise InputError(f"{len(lines)} curves are too many to distinguish; give at most {len(COLOURS)}")
    return lines


def _heads(runs: Mapping[Any, object], longest: int = 40) -> list[str]:
    """The names of runs, none of a single one without."""
    return [""] if list(runs) == [""] else named(runs, longest)


def _draw(ax: Axes, lines: _Lines, *, steps: Any, where: str) -> Axes:
    drawn = [bool((np.isfinite(line.x) & np.isfinite(line.y)).any()) for _, line in lines]
    if not any(drawn):
        return style.no_values(ax)
    for number, (name, line) in enumerate(lines):
        look = line_style(number, marked=len(lines) > 1 and drawn[number])
        if line.band is not None:
            ax.fill_between(*line.band, color=look["color"], alpha=0.25, linewidth=0, zorder=2)
        ax.plot(line.x, line.y, **look, linewidth=1.8, drawstyle=steps, label=name or "_", zorder=3)
    style.legend(ax, where)
    return ax


def _unit_axes(ax: Axes | None, x: str, y: str, title: str | None, default: str, *, square: bool = True) -> Axes:
    ax = titled(ax, (5.2, 5.2) if square else (6.4, 4.0), (x, y, title, default), pad=14)
    ax.set_ylim(-0.015, 1.015)
    if square:
        ax.set(aspect="equal", xlim=(-0.015, 1.015))
    quiet(ax)
    return ax


def plot_lines(
    lines: Sequence[Line], along: Sequence[object], along_name: str, *, ax: Axes | None, title: str | None
) -> Axes:
    """Draw values along the stream, with the guaranteed bounds of those that are not exact."""
    named_lines = [(column_of((line.metric, "", line.label)), line.evaluator, line) for line in lines]
    metrics = list(dict.fromkeys(metric for metric, _, _ in named_lines))
    evaluators = list(dict.fromkeys(evaluator for _, evaluator, _ in named_lines))
    by_evaluator = len(metrics) == 1  # otherwise colours are metrics, and dashes are evaluators
    ax = titled(ax, (8, 4.5), (along_name, metrics[0] if by_evaluator else "value", title, "Along the stream"))
    from matplotlib import dates, ticker

    for metric, evaluator, line in sorted(named_lines, key=lambda one: metrics.index(one[0])):
        number = evaluators.index(evaluator) if by_evaluator else metrics.index(metric)
        look = line_style(number, marked=not by_evaluator)
        if not by_evaluator and len(evaluators) > 1:
            look["linestyle"] = DASHES[evaluators.index(evaluator) % len(DASHES)]
        name = evaluator if by_evaluator and evaluator else column_of((line.metric, evaluator, line.label))
        mark = {"marker": "o" if len(along) == 1 else ""}
        ax.plot(cast("Any", along), line.values, **mark | look, label=name, linewidth=1.8)
        if line.is_bounded:
            ax.fill_between(cast("Any", along), line.low, line.high, color=look["color"], alpha=0.15, linewidth=0)
    quiet(ax, "y")
    ax.margins(x=0.01, y=0.08)  # little, so that small changes stay visible
    if along_name == "examples":
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    elif isinstance(along[0], datetime.date):
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.spines[["top", "right"]].set_visible(False)
    if len(lines) > _WITHIN and ax.figure.get_layout_engine() is not None:  # the layout makes room for it
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3)
    elif len(lines) > 1 or not by_evaluator:
        style.legend(ax)
    return ax
