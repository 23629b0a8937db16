"""What can be read of scores: curves with their bands, thresholds, calibration, rankings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.calibration import calibration_curve
from streameval.metrics.catalogue import build_spec
from streameval.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from streameval.metrics.lines import curve_line, threshold_lines
from streameval.metrics.thresholds import best_threshold
from streameval.report.model import Report, largest_first
from streameval.report.page.charts import Axis, Chart, nice_axis, unit_axis
from streameval.report.page.markup import Section, count_text, escaped, label_strings, number_text
from streameval.report.page.metrics import bounds_text, metric_list
from streameval.states.curve_view import CurveTables

_DRAWN = 40  # labels whose curves stand behind that of all labels
_MEANING = (
    "<p>Scores are binned. The exact value is guaranteed to lie within the bounds; a value without bounds is exact.</p>"
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
        chart.note = " The dotted line is what guessing reaches."
        cells = tables.pooled.of(0)
        if positives := int(cells.tp[-1]):
            chart.level(positives / (positives + int(cells.fp[-1])))
    bounds, areas = report.bounds(report.value(f"{metric}_micro")), report.per_label(build_spec(metric, average=None))
    value = "not defined"
    if bounds is not None and not math.isnan(bounds.value):
        value = f"{number_text(bounds.value, 'fraction')} ({bounds_text(bounds)})"
    chart.description += f" of {_ALL}, {area} {value}."
    chart.note = f"{area.capitalize()} of {_ALL} {value}.{chart.note}"
    for name, place in drawn:
        line = curve_line(read(tables, tables.labels[place]))
        name = f"{name}, {area} {number_text(areas[place], 'fraction')}"
        chart.line(name, line.x, line.y, f"faint of{place}", steps=steps, legend=False)
    pooled = curve_line(read(tables))
    if pooled.band is not None:
        chart.band(*pooled.band)
    chart.line(_ALL, pooled.x, pooled.y, "a", steps=steps, marks=pooled.thresholds)
    return chart.html()


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
    # From one threshold up to and with the next, predictions are those of the next.
    across = np.stack([np.append(low, at[:-1]), at], axis=1).reshape(-1)
    for name, side, tone in zip(("precision", "recall", "F1"), values, "abc", strict=True):
        chart.line(name, across, np.repeat(side, 2), tone)
    return chart.html()


def _reliability(tables: CurveTables) -> str:
    try:
        bins = calibration_curve(tables)
    except MetricError:  # scores that are no probabilities
        return ""
    if not len(bins.weight):
        return ""
    description = "Fraction of labels that are true, against their mean score."
    chart = Chart("Reliability", description, unit_axis("mean score"), unit_axis("fraction that is true"))
    chart.note = "On the dotted line scores are probabilities; below it they are too high."
    chart.diagonal()
    chart.line(_ALL, bins.mean_score, bins.frequency, "a", points=True)
    top = float(bins.weight.max())
    tall = Axis("scores", 0.0, math.log10(top + 1) or 1.0, ((math.log10(top + 1), count_text(top)),))
    held = f"How many scores each bucket holds, {count_text(top)} at most."
    strip = Chart("", held, unit_axis("mean score"), tall, "strip")
    strip.bars(bins.low, bins.high, np.log10(bins.weight + 1))
    return chart.html(strip.plot())


def ranking_section(report: Report) -> Section | None:
    """How well scores put the true labels first."""
    if report.view("rankings") is None:
        return None
    last = min(10, len(report.labels))
    ends = range(1, max(last, 2) + 1)
    axis = Axis("labels looked at (k)", 1.0, float(ends[-1]), tuple((k, str(k)) for k in ends))
    description = f"Precision, recall and nDCG among the first 1 to {last} labels."
    chart = Chart("The first k labels", description, axis, unit_axis(""))
    chart.note = (
        "Of the labels with the greatest scores, how many are true, and how many of the true ones are among them."
    )
    for name, word, tone in (("precision_at", "precision", "a"), ("recall_at", "recall", "b"), ("ndcg", "nDCG", "c")):
        items = report.values(f"{name}(k={k})" for k in range(1, last + 1))
        chart.line(word, range(1, last + 1), [item.value for item in items], tone, points=True)
    metrics = metric_list(report, "rankings")
    return Section("rankings", "Rankings", f'<div class="side-by-side even">{chart.html()}{metrics}</div>')
