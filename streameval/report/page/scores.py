"""Sections of scores: curves with their bands, thresholds, calibration, rankings."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.calibration import calibration_curve
from streameval.metrics.catalogue import build_spec
from streameval.metrics.curves import curve_line, precision_recall_curve, roc_curve, threshold_lines
from streameval.metrics.thresholds import best_threshold
from streameval.report.model import Report, largest_first
from streameval.report.page.charts import TONES, Axis, Chart, nice_axis, unit_axis
from streameval.report.page.markup import Section, escaped, formatted, label_strings
from streameval.report.page.metrics import metric_list

_Run: TypeAlias = tuple[str, Report, Any]  # name, report, view of curves

_DRAWN = 40  # labels whose curves are drawn in grey behind the main one
_MEANING = "<p>Scores are binned. The exact value lies within the bounds; a value without bounds is exact.</p>"
_ALL = "all labels together"


def curve_section(runs: Sequence[tuple[str, Report]]) -> Section | None:
    """ROC, precision and recall, thresholds and calibration of all labels together; all runs share each picture."""
    single = len(runs) == 1
    lines: list[_Run] = [(_ALL if single else name, part, part.view("curves")) for name, part in runs[: len(TONES)]]
    if any(tables is None for _, _, tables in lines):
        return None
    intro, metrics, labels = "<p>Of all labels together.</p>", "", list[tuple[str, int]]()
    if single:  # also draws single labels, bands, bounds and metrics
        _, report, tables = lines[0]
        positives = [int(tables.steps.of(place).tp[-1]) for place in range(tables.size)]
        names = label_strings(tables.labels)
        labels = [(names[place], place) for place in sorted(largest_first(positives)[:_DRAWN]) if positives[place]]
        options = "".join(f'<option value="{place}">{escaped(name)}</option>' for name, place in labels)
        frequent = f"the {len(labels)} most frequent" if len(labels) == _DRAWN else "those that are true in an example"
        few = "" if len(labels) == tables.size else f" ({frequent})"
        choice = f'<select data-curves><option value="">{_ALL}</option>{options}</select>'
        intro = _MEANING + f'<p class="choice" hidden><label>Label{few} {choice}</label></p>' * bool(labels)
        metrics = metric_list(report, "curves", 4)
    curves = (_curves(lines, labels, roc=roc) for roc in (True, False))
    charts = "".join([*curves, _thresholds(lines), _calibration(lines)])
    return Section("curves", "Curves", f'{intro}<div class="charts four">{charts}</div>{metrics}')


def _curves(runs: Sequence[_Run], labels: Sequence[tuple[str, int]], *, roc: bool) -> str:
    """A chart with the micro curve of each run, and of a single run with those of labels; empty if all are empty."""
    read: Callable[..., Any] = roc_curve if roc else precision_recall_curve
    area, metric = ("area", "roc_auc") if roc else ("average precision", "average_precision")
    chart = Chart("Precision and recall", "Precision-recall curve", unit_axis("recall"), unit_axis("precision"))
    if roc:
        chart = Chart("ROC", "ROC curve", unit_axis("false positive rate"), unit_axis("true positive rate"))
        chart.guide([0, 1], [0, 1])
    single = len(runs) == 1
    if single:
        _, report, first = runs[0]
        item = report.value(f"{metric}_micro")
        value = formatted(math.nan if item.number is None else item.number, "fraction")
        bounds = item.bounds_text()
        chart.note = f"{area.capitalize()} of {_ALL} {value}{', ' * bool(bounds)}{bounds}."
        if not roc:
            positives, negatives = int(first.pooled.of(0).tp[-1]), int(first.pooled.of(0).fp[-1])
            if positives:
                chart.note += " Dotted: predicting at random."
                chart.guide([0, 1], [positives / (positives + negatives)] * 2)
        chart.note += " Grey: single labels." * bool(labels)
        areas = report.per_label(build_spec(metric, average=None))
        for name, place in labels:
            line = curve_line(read(first, first.labels[place]))
            name = f"{name}, {area} {formatted(areas[place], 'fraction')}"
            chart.line(name, line.x, line.y, f"faint of{place}", steps=not roc, legend="")
    drawn = False
    for (name, report, tables), tone in zip(runs, TONES, strict=False):
        line, number = curve_line(read(tables)), report.value(f"{metric}_micro").number
        if single and line.band is not None:
            chart.band(*line.band)
        legend = f"{name}: {area} {formatted(math.nan if number is None else number, 'fraction')}"
        drawn |= chart.line(name, line.x, line.y, tone, steps=not roc, marks=line.thresholds, legend=legend)
    chart.description += f" of {_ALL}. {chart.note}"
    return chart.html() if drawn else ""


def _thresholds(runs: Sequence[_Run]) -> str:
    """A chart of precision, recall and F1 over the threshold; of more than one run only F1."""
    lines = [threshold_lines(precision_recall_curve(tables)) for _, _, tables in runs]
    ends = [end for at, _ in lines if len(at) for end in at[[0, -1]].tolist()]
    if not ends:
        return ""
    single = len(runs) == 1
    axis = unit_axis("threshold") if min(ends) >= 0 and max(ends) <= 1 else nice_axis("threshold", min(ends), max(ends))
    what = "Precision, recall and F1" if single else "Micro F1"
    chart = Chart("Thresholds", f"{what} over the threshold.", axis, unit_axis("" if single else "micro F1"))
    if single:
        best = best_threshold(runs[0][2])
        value, most = formatted(best.value, "fraction"), formatted(best.bound, "fraction")
        bound = f"; no threshold exceeds {most}" if most != value else ""
        if not math.isfinite(best.threshold):  # for example, no label is true
            return ""
        chart.note = f"Best micro F1: {value} at threshold {formatted(best.threshold)} (dotted){bound}."
        chart.guide([best.threshold] * 2, [0, 1])
    tones = iter(TONES)
    for (run, _, _), (at, sides) in zip(runs, lines, strict=True):
        # Between two thresholds, values are those of the upper one; below the least one (all is predicted) is no step.
        first = min(1, len(at) - 1)
        across = np.stack([np.append(at[:1], at[:-1]), at], axis=1)[first:].reshape(-1)
        for name, side in zip(("precision", "recall", "F1"), sides, strict=True) if single else [(run, sides[2])]:
            chart.line(name, across, np.repeat(side[first:], 2), next(tones))
    return chart.html()


def _calibration(runs: Sequence[_Run]) -> str:
    """A chart of how often labels are true over their score; empty without scores, or if they are no probabilities."""
    try:
        curves = [calibration_curve(tables) for _, _, tables in runs]
    except MetricError:
        return ""
    if not all(len(curve.weight) for curve in curves):
        return ""
    description = "Fraction of labels that are true, by their mean score."
    chart = Chart("Calibration", description, unit_axis("mean score"), unit_axis("fraction that is true"))
    chart.guide([0, 1], [0, 1])
    for (name, _, _), bins, tone in zip(runs, curves, TONES, strict=False):
        chart.line(name, bins.mean_score, bins.frequency, tone, points=True)
    if len(runs) > 1:
        return chart.html()
    bins, weight = curves[0], np.minimum(curves[0].weight, sys.float_info.max)
    top = float(weight.max())
    chart.note = (
        "Dotted: perfect calibration. Below it the model is overconfident. Bars: scores per bucket, "
        f"{formatted(top, 'count')} at most (logarithmic)."
    )
    height = Axis("", 0.0, math.log10(top + 1) or 1.0, ())
    strip = Chart("", "Scores per bucket.", unit_axis("mean score"), height, "strip")
    strip.bars(bins.low, bins.high, np.log10(weight + 1))
    return chart.html(strip.plot())


def ranking_section(report: Report) -> Section | None:
    """The section of how well scores rank the true labels first."""
    if report.view("rankings") is None:
        return None
    last = min(10, len(report.labels))
    ends = range(1, max(last, 2) + 1)
    axis = Axis("k", 1.0, float(ends[-1]), tuple((k, str(k)) for k in ends))
    chart = Chart("Top k labels", f"Precision, recall and nDCG of the first 1 to {last} labels.", axis, unit_axis(""))
    chart.note = "Precision, recall and nDCG of the k labels with the highest scores."
    for name, word, tone in (("precision_at", "precision", "a"), ("recall_at", "recall", "b"), ("ndcg", "nDCG", "c")):
        items = report.values(f"{name}(k={k})" for k in range(1, last + 1))
        chart.line(word, range(1, last + 1), [item.value for item in items], tone, points=True)
    metrics = metric_list(report, "rankings", 3)
    return Section("rankings", "Rankings", f'<div class="side-by-side even">{chart.html()}{metrics}</div>')
