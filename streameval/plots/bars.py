"""Pictures with a row for each value: of labels, metrics, slices, or runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import streameval.plots.style as style
from streameval.errors import InputError, MetricError
from streameval.evaluation.core import core_of
from streameval.evaluation.evaluator import MetricLike, specs_of
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import entry_of
from streameval.metrics.spec import MetricSpec
from streameval.plots.style import COLOURS, INK, MARKS, MUTED, Words, holds, named, run_of, runs_of, some_of, titled
from streameval.report.model import MetricValue, arrow, cell_text, of_each_label, worst_first
from streameval.schema.text import check_number, number_of, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR, _FAINT = "#437fc1", "#c3cad2"


def plot_labels(
    source: object,
    y_pred: object = None,
    metric: MetricLike | None = None,
    *,
    limit: int = 30,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a metric of each label as bars, the worst value first; ties in the order of support.

    Parameters
    ----------
    source, y_pred
        An evaluator, which comes without ``y_pred``; or arrays.
    metric
        A metric that has a value per label, F1 by default.
    """
    limit = check_number("limit", limit, 1)
    y_pred, metric = _moved(source, y_pred, metric)
    run = run_of(source, y_pred)
    report = report_of(run)
    if metric is None:
        metric = run.spec if hasattr(run, "spec") and None in entry_of(run.spec.name).averages else "f1"
    spec = of_each_label(specs_of([metric])[0])
    values, name = style.values_of(run, spec), MetricValue(spec, None).column
    support = dict(zip(report.labels, report.support, strict=True)) if report.has_decisions else {}
    labels = [label for label, value in values.items() if math.isfinite(value)]
    order = worst_first([values[label] for label in labels], spec, [support.get(label, 0) for label in labels])
    ranked = [labels[place] for place in order[:limit]]
    notes = [f"{support[label]:,.6g} true" if label in support else "" for label in ranked]
    default = some_of(f"{name} of each label", len(ranked), len(values), "worst")
    ax = _rows(ax, (name, "label", title, default), named(ranked), notes)
    return _with_bars(ax, [values[label] for label in ranked])


def plot_metric(
    source: object,
    y_pred: object = None,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw metrics as bars; of a trace as lines along the stream, of several evaluators side by side.

    Parameters
    ----------
    source, y_pred
        An evaluator, a metric, a window or a trace; or several by name; or arrays.
    metrics
        Which metrics; those of the evaluator by default. One with a value per label is drawn by `plot_labels`.
    """
    y_pred, metrics = _moved(source, y_pred, metrics)
    specs = _specs(metrics)
    if hasattr(source, "record"):  # a trace
        return cast("Axes", cast("Any", source).plot(specs, ax=ax, title=title))
    runs = runs_of(source, y_pred)
    if len(runs) > 1:
        return plot_compare(runs, specs, ax=ax, title=title)
    run = next(iter(runs.values()))
    report = report_of(run, specs or None)
    if len(report.specs) == 1 and report.specs[0].average is None:
        return plot_labels(run, metric=report.specs[0], ax=ax, title=title)
    items = [item for item in report.single(strict=specs is not None) if item.number is not None and run.examples]
    ax = _rows(ax, ("value", "", title, "Metrics"), [item.spec.key + arrow(item.spec) for item in items])
    _with_bars(ax, [float(item.value) for item in items])
    for row, span in enumerate(item.bounds.get(None) for item in items):
        if span is not None and span.high - span.low > 0:
            ax.plot([span.low, span.high], [row, row], color=INK, linewidth=2, solid_capstyle="butt")
    return ax


def plot_slices(
    source: object,
    metric: MetricLike | None = None,
    *,
    by: str | tuple[str, ...] | None = None,
    limit: int = 30,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a metric of each slice as its distance from that of all examples, the worst slice first.

    Parameters
    ----------
    source
        A `Sliced`, or evaluators, metrics or windows by name.
    metric
        Which metric; the first of the evaluator by default.
    by
        For a `Sliced`: a name, or a combination of names, whose slices are drawn; None draws all.
    """
    limit = check_number("limit", limit, 1)
    runs = runs_of(source, by=by)
    if list(runs) == [""]:
        raise InputError("there is no slice; give a Sliced that has counted, or evaluators by name")
    first = next(iter(runs.values()))
    spec = next((one for one in specs_of([metric] if metric else core_of(first).specs) if one.average or metric), None)
    if spec is None:
        raise InputError("the evaluator has no metric that is one number; give metric=")
    read = style.of_each(runs, lambda run: _number(run, spec))
    names = [name for name, value in read.items() if not math.isnan(value)]
    drawn = [names[place] for place in worst_first([read[name] for name in names], spec)[:limit]]
    values = [read[name] for name in drawn]
    sizes = [number_of(runs[name].examples, "example") for name in drawn]
    default = some_of(f"{spec.key} of each slice", len(drawn), len(names), "worst")
    ax = _rows(ax, (spec.key + arrow(spec), "slice", title, default), named(drawn), sizes, lines=1)
    base = _number(source.total(), spec) if hasattr(source, "total") else math.nan
    if not math.isnan(base):
        ax.hlines(range(len(drawn)), base, values, color=_FAINT, linewidth=3, zorder=2)
        ax.axvline(base, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        ax.annotate(
            f"all {_three(base)}", (base, 1), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", fontsize=8.5, color=INK,
        )  # fmt: skip
    ax.plot(values, range(len(drawn)), "o", color=COLOURS[0], markersize=7, zorder=3)
    for row, value in enumerate(values):  # write it on the side away from the line of all examples
        away, side = (-7, "right") if value < base else (7, "left")
        ax.annotate(
            _three(value), (value, row), (away, 0), textcoords="offset points", ha=side, va="center", fontsize=8
        )
    ax.margins(x=0.15)
    return ax


def plot_compare(
    source: object,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    limit: int = 30,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw metrics of several runs side by side, or one metric of their labels, the largest change first.

    Parameters
    ----------
    source
        Evaluators, metrics or windows by name, ``{"old": ev, "new": other}``, a trace of several, or a `Sliced`.
        Changes are from the first to the last.
    metrics
        Which metrics; those of the first run that are numbers by default. One with a value per label, such as
        ``"f1_per_label"``, is compared label by label.
    """
    limit = check_number("limit", limit, 1)
    runs, of = runs_of(source), "Metrics"
    specs = _specs(metrics) or core_of(next(iter(runs.values()))).specs
    if len(specs) == 1 and specs[0].average is None:
        read, of = style.of_each(runs, lambda run: style.values_of(run, specs[0])), f"{specs[0].name} of labels"
    else:
        chosen = [spec for spec in specs if spec.average is not None]
        read = style.of_each(runs, lambda run: {spec.key + arrow(spec): _number(run, spec) for spec in chosen})
    if len(read) < 2:
        raise InputError("plot_compare draws at least two runs; give a mapping such as {'old': ev, 'new': other}")
    if len(read) > len(MARKS):
        raise InputError(f"{len(read)} runs are too many to distinguish; give at most {len(MARKS)}")
    first, last = next(iter(read.values())), list(read.values())[-1]
    rows = [row for row in first if all(math.isfinite(part.get(row, math.nan)) for part in read.values())]
    drawn = sorted(rows, key=lambda row: -abs(last[row] - first[row]))[:limit]
    changes = [cell_text(last[row] - first[row], "change") for row in drawn]
    default = some_of(f"{of} side by side", len(drawn), len(rows), "that change most")
    names = named(read)
    wide = max(1, int(6 / (0.6 + 0.075 * max(map(width_of, names)))))  # entries that fit side by side, by inches
    lines = -(-len(names) // wide)
    head = "change" if len(read) == 2 else "first to last"
    ax = _rows(ax, ("value", "", title, default), named(drawn), changes, head, lines)
    ends = [[part[row] for part in read.values()] for row in drawn]
    ax.hlines(range(len(drawn)), [min(one) for one in ends], [max(one) for one in ends], color=_FAINT, linewidth=3)
    for number, (part, name) in enumerate(zip(read.values(), names, strict=True)):
        ax.plot(
            [part[row] for row in drawn], range(len(drawn)), MARKS[number], color=COLOURS[number],
            markersize=9 - number * 4 / len(read), markeredgecolor="white", markeredgewidth=0.8, label=name,
        )  # fmt: skip
    ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=wide, frameon=False, fontsize=9, labelcolor=INK)
    return ax


def _rows(
    ax: Axes | None, words: Words, names: Sequence[str], notes: Sequence[str] = (), head: str = "", lines: int = 0
) -> Axes:
    """Axes with the titles ``words`` (see `titled`), a name to the left of each row, and a note to its right."""
    size = 5.4 + 0.075 * max(map(width_of, names), default=0), max(1.9, 0.26 * (len(names) + lines) + 1.3)
    ax = titled(ax, size, words, pad=14 + 15 * lines if lines else 10)
    style.quiet(ax, "x")
    ax.set_yticks(range(len(names)), names, fontsize=8.5, color=INK)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if not names:
        style.no_values(ax)
    for row, note in [*enumerate(notes), *([(-0.8, head)] * bool(head))]:
        ax.annotate(
            note, (1, row), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
            fontsize=8, color=MUTED,
        )  # fmt: skip
    return ax


def _with_bars(ax: Axes, values: Sequence[float]) -> Axes:
    drawn = [value if math.isfinite(value) else 0.0 for value in values]
    notes = ["undefined" if math.isnan(value) else _three(value) for value in values]
    ax.bar_label(ax.barh(range(len(values)), drawn, color=_BAR, height=0.72), notes, padding=3, fontsize=8, color=INK)
    if min(drawn, default=0) >= 0:
        ax.set_xlim(0, 1.12 * max(drawn, default=0) or 1)
    else:
        ax.margins(x=0.12)
    return ax


def _three(value: float) -> str:
    """A number with three significant digits, or all digits before the point."""
    return f"{value:#.3g}".rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"


def _moved(source: object, y_pred: object, metrics: Any) -> tuple[object, Any]:
    """``y_pred`` and metrics; with a source that counted examples, metrics may be the second argument."""
    return (None, y_pred if metrics is None else metrics) if holds(source) else (y_pred, metrics)


def _specs(metrics: MetricLike | Iterable[MetricLike] | None) -> tuple[MetricSpec, ...] | None:
    if metrics is None:
        return None
    if holds(metrics) and not hasattr(metrics, "spec"):
        raise InputError("several runs are one argument; give a mapping such as {'old': ev, 'new': other}")
    return specs_of(metrics if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics])


def _number(run: Any, spec: MetricSpec) -> float:
    if spec.average is None:
        raise MetricError(f"{spec.key} has a value per label; choose an average, such as {spec.name}_macro")
    return style.values_of(run, spec).get(None, math.nan)
