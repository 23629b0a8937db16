"""The numbers that come first: what was evaluated, the chosen metrics, the averages."""

from __future__ import annotations

import math
from collections.abc import Iterable

from streameval.errors import MetricError
from streameval.metrics.averaging import as_float
from streameval.metrics.interval import Interval
from streameval.metrics.naming import ENTRIES, build_spec, evaluate, parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.metrics.views import Readings, certified
from streameval.report.label_table import LabelTable
from streameval.report.page.markup import NOTHING, Section, count_text, escaped, number_text
from streameval.report.text import COLUMNS, averages_of

__all__ = ["averages_section", "facts", "headline_section", "interval_text", "metric_list", "singles"]

DIRECTION = {True: "higher is better", False: "lower is better", None: "describes the data"}
_ARROW = {True: "↑", False: "↓", None: ""}
_AVERAGES = {
    "micro": "all cells together",
    "macro": "mean over labels, rare ones count as much",
    "weighted": "mean over labels, weighed by their support",
    "samples": "mean over examples",
}
_TOLD = {
    "micro": "All labels together.",
    "macro": "Mean over labels.",
    "weighted": "Mean over labels, weighed by their support.",
    "samples": "Mean over examples.",
}


def facts(readings: Readings) -> list[tuple[str, str]]:
    """How much was evaluated, and how it was read."""
    tables, config = readings.tables, readings.config
    found = [("examples", f"{tables.examples:,}"), ("labels", f"{len(tables.labels):,}")]
    if tables.weighted:
        found.append(("total weight", count_text(as_float(tables.weight * tables.unit))))
    if readings.decides and tables.examples:
        for name, word in (("label_cardinality", "true"), ("predicted_cardinality", "predicted")):
            value = evaluate(build_spec(name), tables)
            if isinstance(value, float):
                found.append((f"labels {word} per example", number_text(value)))
    if isinstance(config.threshold, float):
        found.append(("threshold", number_text(config.threshold)))
    elif config.threshold is not None:
        found.append(("threshold", "one per label"))
    return found


def singles(readings: Readings, specs: Iterable[MetricSpec]) -> list[tuple[MetricSpec, float | str]]:
    """The metrics that are one number, each with its value, or with why it has none."""
    found: list[tuple[MetricSpec, float | str]] = []
    for spec in specs:
        try:
            value = evaluate(spec, readings.of(spec))
        except MetricError as error:  # such as log loss of scores that are no probabilities
            found.append((spec, str(error)))
        else:
            if isinstance(value, float):
                found.append((spec, value))
    return found


def headline_section(readings: Readings, specs: tuple[MetricSpec, ...]) -> Section | None:
    """The metrics that were chosen, each with what it means."""
    cards = "".join(_card(readings, spec, value) for spec, value in singles(readings, specs))
    return Section("metrics", "Metrics", f'<ul class="cards">{cards}</ul>') if cards else None


def _card(readings: Readings, spec: MetricSpec, value: float | str) -> str:
    if isinstance(value, str):
        shown, told = f'<span class="value">{NOTHING}</span>', f'<p class="bounds">{escaped(value)}</p>'
    else:
        shown = f'<data class="value" value="{value!r}">{number_text(value, "share")}</data>'
        told = _bounds(readings, spec)
    better = ENTRIES[spec.name].bigger_is_better
    return (
        f'<li><h3>{_code(spec)}</h3>{shown}<p class="better">'
        f'<span aria-hidden="true">{_ARROW[better]}</span> {DIRECTION[better]}</p>{told}<p>{_meaning(spec)}</p></li>'
    )


def _code(spec: MetricSpec) -> str:
    """The name of a metric, which may break after an underscore."""
    return f"<code>{escaped(spec.key).replace('_', '_<wbr>')}</code>"


def _meaning(spec: MetricSpec) -> str:
    entry = ENTRIES[spec.name]
    average = _TOLD.get(spec.average or "", "") if len(entry.averages) > 1 else ""
    return escaped(f"{entry.summary} {average}".strip())


def _bounds(readings: Readings, spec: MetricSpec) -> str:
    if ENTRIES[spec.name].certify is None:
        return ""
    interval = certified(spec, readings)
    return f'<p class="bounds">{interval_text(interval)}</p>' if isinstance(interval, Interval) else ""


def interval_text(interval: Interval) -> str:
    """What is certain of a value that was read from bins: rounded outwards."""
    if math.isnan(interval.value):
        return "not defined"
    if interval.exact or math.isinf(interval.high):
        return "exact"
    low, high = math.floor(interval.low * 1e5) / 1e5, math.ceil(interval.high * 1e5) / 1e5
    return f"certainly between {low:.5f} and {high:.5f}"


def metric_list(readings: Readings, names: Iterable[str], caption: str) -> str:
    """Metrics by name, with their meaning and, where they have some, their bounds."""
    rows = ""
    for spec, value in singles(readings, map(parse_spec, names)):
        if isinstance(value, str):
            continue
        interval = certified(spec, readings)
        bounds = interval_text(interval) if ENTRIES[spec.name].certify and isinstance(interval, Interval) else ""
        better = ENTRIES[spec.name].bigger_is_better
        rows += (
            f'<li>{_code(spec)} <data class="value" value="{value!r}">{number_text(value, "share")}</data> '
            f'<p><span class="better"><span aria-hidden="true">{_ARROW[better]}</span> {DIRECTION[better]}.</span> '
            f"{_meaning(spec)}{f' <em>{bounds[0].upper()}{bounds[1:]}.</em>' if bounds else ''}</p></li>"
        )
    return f'<div><h3>{escaped(caption)}</h3><ul class="list">{rows}</ul></div>' if rows else ""


def averages_section(readings: Readings) -> Section | None:
    """Precision, recall and F1 in every average."""
    if not readings.decides:
        return None
    total = sum(LabelTable.of(readings.tables).support.tolist())
    rows = ""
    for name, values in averages_of(readings.tables):
        cells = "".join(f'<td class="bar" style="--v:{value:.3f}">{number_text(value, "bar")}</td>' for value in values)
        rows += f'<tr><th scope="row"><b>{name}</b> <span>{_AVERAGES[name]}</span></th>{cells}</tr>'
    heads = "".join(f'<th scope="col" class="bar">{name if name != "f1" else "F1"}</th>' for name in COLUMNS)
    caption = f"Over {count_text(total)} true labels"
    return Section(
        "averages",
        "Averages",
        f'<div class="scroll" role="region" tabindex="0" aria-label="{caption}"><table class="averages">'
        f'<caption>{caption}</caption><thead><tr><th scope="col">average</th>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>",
    )
