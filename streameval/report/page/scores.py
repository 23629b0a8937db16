"""What was kept of scores: curves with their bands, thresholds, calibration, rankings."""

from __future__ import annotations

import math

import numpy as np

from streameval.errors import MetricError
from streameval.metrics.interval import Interval
from streameval.metrics.naming import evaluate, parse_spec
from streameval.metrics.views import Readings, certified
from streameval.report.page.charts import UNIT, Axis, Chart, nice_axis
from streameval.report.page.markup import Section, count_text, escaped, label_texts, number_text
from streameval.report.page.metrics import interval_text, metric_list
from streameval.states.curve_view import CurveTables

__all__ = ["curve_section", "ranking_section"]

_DRAWN = 40  # labels whose curves stand behind that of all labels
_CURVES = (
    "roc_auc_micro", "roc_auc_macro", "average_precision_micro", "average_precision_macro", "brier_score_micro",
    "log_loss_micro", "expected_calibration_error_micro",
)  # fmt: skip
_RANKINGS = (
    "one_error", "coverage_error", "ranking_loss", "label_ranking_average_precision", "mrr", "ndcg", "r_precision",
)  # fmt: skip
_TOLD = (
    "<p>Scores are counted in bins. Bounds tell what the bins leave open: the exact value certainly lies between them, "
    "and where nothing is open the value is exact.</p>"
)


def _unit(title: str) -> Axis:
    return Axis(title, 0.0, 1.0, UNIT)


def curve_section(readings: Readings) -> Section | None:
    """ROC, precision and recall, thresholds, reliability: of all labels together, and of single labels behind."""
    if not readings.keeps("curves"):
        return None
    tables: CurveTables = readings.named("curves", "the report")
    if not tables.size or not readings.tables.examples:
        return None
    ranked = sorted(range(tables.size), key=lambda place: -int(tables.steps.of(place).tp[-1]))
    drawn = sorted(place for place in ranked[:_DRAWN] if int(tables.steps.of(place).tp[-1]))
    names = label_texts(tables.labels)
    told = [(names[place], place) for place in drawn]
    options = "".join(f'<option value="{place}">{escaped(name)}</option>' for name, place in told)
    few = "" if len(drawn) == tables.size else f" (the {len(drawn)} most frequent)"
    choice = (
        f'<p class="choice" hidden><label>Label{few} <select data-curves><option value="">all labels together</option>'
        f"{options}</select></label></p>"
    )
    charts = [_roc(readings, tables, told), _precision_recall(readings, tables, told), _thresholds(tables)]
    charts += _reliability(tables)
    metrics = metric_list(readings, _CURVES, "Metrics read from curves")
    return Section("curves", "Curves", f'{_TOLD}{choice}<div class="charts four">{"".join(charts)}</div>{metrics}')


def _interval(readings: Readings, name: str) -> str:
    spec = parse_spec(name)
    found = certified(spec, readings)
    if not isinstance(found, Interval) or math.isnan(found.value):
        return "not defined"
    return f"{number_text(found.value, 'share')} ({interval_text(found)})"


def _values(readings: Readings, name: str) -> list[float]:
    spec = parse_spec(name)
    found = evaluate(spec, readings.of(spec))
    return list(found.values()) if isinstance(found, dict) else []


def _roc(readings: Readings, tables: CurveTables, drawn: list[tuple[str, int]]) -> str:
    from streameval.metrics.curves import roc_curve

    area, areas = _interval(readings, "roc_auc_micro"), _values(readings, "roc_auc_per_label")
    chart = Chart(
        "ROC",
        f"ROC curve of all labels together, area {area}.",
        _unit("false positive rate"),
        _unit("true positive rate"),
        note=f"Area of all labels together {area}.",
    )
    chart.diagonal()
    for label, place in drawn:
        curve = roc_curve(tables, tables.labels[place])
        name = f"{label}, area {number_text(areas[place], 'share')}"
        chart.line(name, curve.fpr, curve.tpr, f"faint of{place}", legend=False)
    pooled = roc_curve(tables)
    if pooled.mixed.any():
        chart.band(*pooled.band())
    chart.line("all labels together", pooled.fpr, pooled.tpr, "a", marks=pooled.thresholds)
    return chart.html()


def _precision_recall(readings: Readings, tables: CurveTables, drawn: list[tuple[str, int]]) -> str:
    from streameval.metrics.curves import precision_recall_curve

    area, areas = _interval(readings, "average_precision_micro"), _values(readings, "average_precision_per_label")
    chart = Chart(
        "Precision and recall",
        f"Precision-recall curve of all labels together, average precision {area}.",
        _unit("recall"),
        _unit("precision"),
        note=f"Average precision of all labels together {area}. The dotted line is what guessing reaches.",
    )
    for label, place in drawn:
        curve = precision_recall_curve(tables, tables.labels[place])
        kept = curve.recall[:-1] > 0
        name = f"{label}, average precision {number_text(areas[place], 'share')}"
        chart.line(
            name, curve.recall[:-1][kept], curve.precision[:-1][kept], f"faint of{place}", steps=True, legend=False
        )
    pooled = precision_recall_curve(tables)
    kept = pooled.recall[:-1] > 0
    positives, cells = int(tables.pooled.of(0).tp[-1]), int(tables.pooled.of(0).fp[-1])
    if positives:
        chart.rule(y=positives / (positives + cells))
    if pooled.mixed.any():
        chart.band(*pooled.band())
    recall, precision = pooled.recall[:-1][kept], pooled.precision[:-1][kept]
    chart.line("all labels together", recall, precision, "a", steps=True, marks=pooled.thresholds[kept])
    return chart.html()


def _thresholds(tables: CurveTables) -> str:
    from streameval.metrics.curves import precision_recall_curve
    from streameval.metrics.thresholds import best_threshold

    pooled = precision_recall_curve(tables)
    finite = np.isfinite(pooled.thresholds)
    at = pooled.thresholds[finite]
    if not len(at):
        return ""
    precision, recall = pooled.precision[:-1][finite], pooled.recall[:-1][finite]
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both > 0, both, 1)
    best = best_threshold(tables)
    low, high = float(at.min()), float(at.max())
    inside = low >= 0 and high <= 1
    sure = "" if best.exact else f"; no threshold exceeds {number_text(best.bound, 'share')}"
    chart = Chart(
        "Thresholds",
        f"Precision, recall and F1 over the threshold; F1 is greatest from {best.threshold:.4g} on.",
        _unit("threshold") if inside else nice_axis("threshold", low, high),
        _unit(""),
        note=f"From {number_text(best.threshold)} on, micro F1 is greatest: {number_text(best.value, 'share')}{sure}.",
    )
    if math.isfinite(best.threshold):
        chart.rule(x=best.threshold, word="best")
    # From one threshold up to and with the next, decisions are those of the next.
    left, right = np.append(low, at[:-1]), at
    across = np.stack([left, right], axis=1).reshape(-1)
    for name, values, tone in (("precision", precision, "a"), ("recall", recall, "b"), ("F1", f1, "c")):
        chart.line(name, across, np.repeat(values, 2), tone)
    return chart.html()


def _reliability(tables: CurveTables) -> list[str]:
    from streameval.metrics.calibration import reliability

    try:
        found = reliability(tables)
    except MetricError:  # scores that are no probabilities
        return []
    if not len(found.weight):
        return []
    chart = Chart(
        "Reliability",
        "How often what was given a score was true, against the mean score.",
        _unit("mean score"),
        _unit("share that is true"),
        note="On the dotted line scores are probabilities; below it they are too high.",
    )
    chart.diagonal()
    chart.line("all labels together", found.mean_score, found.frequency, "a", marks=None, points=True)
    top = float(found.weight.max())
    tall = Axis("scores", 0.0, math.log10(top + 1) or 1.0, ((math.log10(top + 1), count_text(top)),))
    strip = Chart(
        "", f"How many scores each bucket holds, {count_text(top)} at most.", _unit("mean score"), tall, "strip"
    )
    strip.bars(found.low, found.high, np.log10(found.weight + 1))
    return [chart.html(strip.plot())]


def ranking_section(readings: Readings) -> Section | None:
    """How well scores put the true labels first."""
    if not readings.keeps("rankings") or not readings.tables.examples or not readings.tables.labels:
        return None
    last = min(10, len(readings.tables.labels))
    x = Axis("labels looked at (k)", 1.0, float(max(last, 2)), tuple((k, str(k)) for k in range(1, max(last, 2) + 1)))
    chart = Chart(
        "The first k labels",
        f"Precision, recall and nDCG among the first 1 to {last} labels.",
        x,
        _unit(""),
        note="Of the labels with the greatest scores, how many are true, and how many of the true ones are among them.",
    )
    ks = [float(k) for k in range(1, last + 1)]
    for name, word, tone in (("precision_at", "precision", "a"), ("recall_at", "recall", "b"), ("ndcg", "nDCG", "c")):
        specs = [parse_spec(f"{name}(k={k})") for k in range(1, last + 1)]
        values = [evaluate(spec, readings.of(spec)) for spec in specs]
        chart.line(word, ks, [value for value in values if isinstance(value, float)], tone, points=True)
    metrics = metric_list(readings, _RANKINGS, "Metrics read from rankings")
    return Section("rankings", "Rankings", f'<div class="beside even">{chart.html()}{metrics}</div>')
