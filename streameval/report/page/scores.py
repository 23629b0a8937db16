"""What can be read of scores: curves with their bands, thresholds, calibration, rankings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.calibration import calibration_curve
from streameval.metrics.catalogue import build_spec
from streameval.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from streameval.metrics.lines import Line, curve_line, threshold_lines
from streameval.metrics.thresholds import best_threshold
from streameval.report.model import Report, largest_first
from streameval.report.page.charts import Axis, Chart, nice_axis, unit_axis
from streameval.report.page.markup import Section, count_text, escaped, label_strings, number_text
from streameval.report.page.metrics import bounds_text, metric_list
from streameval.states.curve_view import CurveTables

_RUNS = 8
_DRAWN = 40  # labels whose curves stand behind that of all labels
_MEANING = (
    "<p>Scores are binned. The exact value is guaranteed to lie within the bounds; without bounds it has the digits "
    "that are written.</p>"
)
_ALL = "all labels together"


def curve_section(report: Report) -> Section | None:
    """ROC, precision and recall, thresholds, reliability: of all labels together, and of single labels behind."""
    tables: CurveTables | None = report.view("curves")
    if tables is None:
        return None
    positives = [int(tables.steps.of(place).tp[-1]) for place in range(tables.size)]
    names = label_strings(tables.labels)
    drawn = [(names[place], place) for place in sorted(largest_first(positives)[:_DRAWN]) if positives[place]]
    options = "".join(f'<option value="{place}">{escaped(name)}</option>' for name, place in drawn)
    few = "" if len(drawn) == tables.size else f" (the {len(drawn)} most frequent)"
    choice = (
        f'<p class="choice" hidden><label>Label{few} <select data-curves><option value="">{_ALL}</option>'
        f"{options}</select></label></p>"
    )
    charts = "".join(_curves(report, tables, drawn, roc=roc) for roc in (True, False))
    charts += _thresholds(tables) + _reliability(tables)
    metrics = metric_list(report, "curves")
    return Section("curves", "Curves", f'{_MEANING}{choice}<div class="charts four">{charts}</div>{metrics}')


def _curves(report: Report, tables: CurveTables, drawn: list[tuple[str, int]], *, roc: bool) -> str:
    """The curve of all labels together with its band and the area under it, and those of single labels behind."""
    read: Callable[..., RocCurve | PrecisionRecallCurve] = roc_curve if roc else precision_recall_curve
    if roc:
        area, metric, steps = "area", "roc_auc", False
        chart = Chart("ROC", "ROC curve", unit_axis("false positive rate"), unit_axis("true positive rate"))
        chart.diagonal()
    else:
        area, metric, steps = "average precision", "average_precision", True
        chart = Chart("Precision and recall", "Precision-recall curve", unit_axis("recall"), unit_axis("precision"))
        chart.note = " Dotted: predicting at random."
        cells = tables.pooled.of(0)
        if positives := int(cells.tp[-1]):
            chart.level(positives / (positives + int(cells.fp[-1])))
    bounds, areas = report.bounds(report.value(f"{metric}_micro")), report.per_label(build_spec(metric, average=None))
    value = "not defined"
    if bounds is not None and not math.isnan(bounds.value):
        value = f"{number_text(bounds.value, 'fraction')}, {bounds_text(bounds)}".removesuffix(", ")
    chart.description += f" of {_ALL}, {area} {value}."
    chart.note = f"{area.capitalize()} of {_ALL} {value}.{chart.note}"
    for name, place in drawn:
        line = _from_zero(curve_line(read(tables, tables.labels[place])))
        name = f"{name}, {area} {number_text(areas[place], 'fraction')}"
        chart.line(name, line.x, line.y, f"faint of{place}", steps=steps, legend="")
    pooled = _from_zero(curve_line(read(tables)))
    if pooled.band is not None:
        chart.band(*pooled.band)
    chart.line(_ALL, pooled.x, pooled.y, "a", steps=steps, marks=pooled.thresholds)
    return chart.html()


def _from_zero(line: Line) -> Line:
    """A curve with its end at 0: down to recall 0 precision is that of the least recall."""
    if not len(line.x) or line.x[0] <= line.x[-1]:
        return line
    x, y, thresholds = np.append(line.x, 0.0), *(np.append(side, side[-1]) for side in (line.y, line.thresholds))
    return Line(x, y, thresholds, line.band)


def _thresholds(tables: CurveTables) -> str:
    pooled = precision_recall_curve(tables)
    at, values = threshold_lines(pooled.thresholds, pooled.precision[:-1], pooled.recall[:-1])
    if not len(at):
        return ""
    best = best_threshold(tables)
    low, high = float(at[0]), float(at[-1])
    bound = "" if best.exact else f"; no threshold exceeds {number_text(best.bound, 'fraction')}"
    axis = unit_axis("threshold") if low >= 0 and high <= 1 else nice_axis("threshold", low, high)
    description = f"Precision, recall and F1 over the threshold; F1 is greatest at {best.threshold:.4g}."
    note = f"Best micro F1: {number_text(best.value, 'fraction')} at threshold {number_text(best.threshold)}{bound}."
    chart = Chart("Thresholds", description, axis, unit_axis(""), note=note)
    if math.isfinite(best.threshold):
        chart.mark(best.threshold, "best")
    # From one threshold up to and with the next, predictions are those of the next. At the least all is predicted.
    first = min(1, len(at) - 1)
    across = np.stack([np.append(low, at[:-1]), at], axis=1)[first:].reshape(-1)
    for name, side, tone in zip(("precision", "recall", "F1"), values, "abc", strict=True):
        chart.line(name, across, np.repeat(side[first:], 2), tone)
    return chart.html()


def _reliability(tables: CurveTables) -> str:
    try:
        bins = calibration_curve(tables)
    except MetricError:  # scores that are no probabilities
        return ""
    if not len(bins.weight):
        return ""
    description = "Fraction of labels that are true, by their mean score."
    chart = Chart("Reliability", description, unit_axis("mean score"), unit_axis("fraction that is true"))
    top = float(bins.weight.max())
    chart.note = (
        "Dotted: perfect calibration. Below it the model is overconfident. Bars: scores per bucket, "
        f"{count_text(top)} at most (logarithmic)."
    )
    chart.diagonal()
    chart.line(_ALL, bins.mean_score, bins.frequency, "a", points=True)
    strip = Chart(
        "", "Scores per bucket.", unit_axis("mean score"), Axis("", 0.0, math.log10(top + 1) or 1.0, ()), "strip"
    )
    strip.bars(bins.low, bins.high, np.log10(bins.weight + 1))
    return chart.html(strip.plot())


def run_curves(runs: Sequence[tuple[str, Report]]) -> Section | None:
    """The curves of all labels together of several runs, in the same pictures."""
    views: list[tuple[str, Report, Any]] = [(name, report, report.view("curves")) for name, report in runs[:_RUNS]]
    if any(view is None for _, _, view in views):
        return None
    roc = Chart("ROC", "ROC curves of the runs.", unit_axis("false positive rate"), unit_axis("true positive rate"))
    recall = Chart("Precision and recall", "Precision-recall curves.", unit_axis("recall"), unit_axis("precision"))
    f1 = Chart("Thresholds", "Micro F1 over the threshold.", unit_axis("threshold"), unit_axis("micro F1"))
    right = Chart("Reliability", "Fraction that is true.", unit_axis("mean score"), unit_axis("fraction that is true"))
    for chart in (roc, right):
        chart.diagonal()
    probabilities = True
    for (name, report, view), tone in zip(views, "abcdefgh", strict=False):
        tables: CurveTables = view
        for chart, metric, read in ((roc, "roc_auc", roc_curve), (recall, "average_precision", precision_recall_curve)):
            line, area = _from_zero(curve_line(read(tables))), report.value(f"{metric}_micro").number
            legend = f"{name}: area {number_text(math.nan if area is None else area, 'fraction')}"
            chart.line(name, line.x, line.y, tone, steps=chart is recall, marks=line.thresholds, legend=legend)
        curve = precision_recall_curve(tables)
        at, (_, _, values) = threshold_lines(curve.thresholds, curve.precision[:-1], curve.recall[:-1])
        f1.line(name, at[1:], values[1:], tone)
        try:
            bins = calibration_curve(tables)
            right.line(name, bins.mean_score, bins.frequency, tone, points=True)
        except MetricError:  # scores that are no probabilities
            probabilities = False
    charts = "".join(chart.html() for chart in ((roc, recall, f1, right) if probabilities else (roc, recall)))
    return Section("curves", "Curves", f'<p>Of all labels together.</p><div class="charts four">{charts}</div>')


def ranking_section(report: Report) -> Section | None:
    """How well scores put the true labels first."""
    if report.view("rankings") is None:
        return None
    last = min(10, len(report.labels))
    ends = range(1, max(last, 2) + 1)
    axis = Axis("k", 1.0, float(ends[-1]), tuple((k, str(k)) for k in ends))
    description = f"Precision, recall and nDCG of the first 1 to {last} labels."
    chart = Chart("Top k labels", description, axis, unit_axis(""))
    chart.note = "Precision, recall and nDCG of the k labels with the highest scores."
    for name, word, tone in (("precision_at", "precision", "a"), ("recall_at", "recall", "b"), ("ndcg", "nDCG", "c")):
        items = report.values(f"{name}(k={k})" for k in range(1, last + 1))
        chart.line(word, range(1, last + 1), [item.value for item in items], tone, points=True)
    metrics = metric_list(report, "rankings")
    return Section("rankings", "Rankings", f'<div class="side-by-side even">{chart.html()}{metrics}</div>')
