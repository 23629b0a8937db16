"""The numbers that come first: what was evaluated, the chosen metrics, the averages."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from streameval.metrics.bounds import Bounds
from streameval.report.model import AVERAGES, PER_LABEL, Column, MetricValue, Report, Table
from streameval.report.page.markup import NOTHING, Section, count_text, escaped, number_text, table_html
from streameval.schema.text import printable

_ARROWS = {True: "↑", False: "↓", None: ""}


def heading(runs: Sequence[tuple[str, Report]], meta: Mapping[str, object]) -> list[tuple[str, str]]:
    """What stands below the title: what the user says of it, when it was written and by what, and how much it is."""
    about = {"date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"} | dict(meta)
    pairs = [(printable(name), printable(value)) for name, value in about.items() if value is not None]
    return [*pairs, ("streameval", version()), *(facts(runs[0][1]) if len(runs) == 1 else ())]


def version() -> str:
    """Of this package."""
    return str(sys.modules["streameval"].__version__)


def facts(report: Report) -> list[tuple[str, str]]:
    """How much was evaluated, and how it was read."""
    tables, threshold = report.tables, report.views.config.threshold
    pairs = [("examples", f"{tables.examples:,}"), ("labels", f"{len(report.labels):,}")]
    if tables.weighted:
        pairs.append(("total weight", count_text(report.weight)))
    if report.has_decisions and tables.examples:
        for name, word in (("label_cardinality", "true"), ("predicted_cardinality", "predicted")):
            pairs.append((f"labels {word} per example", number_text(report.value(name).value)))
    if threshold is not None:
        pairs.append(("threshold", number_text(threshold) if isinstance(threshold, float) else "one per label"))
    return pairs


def headline_section(report: Report) -> Section | None:
    """The metrics that were chosen, each with what it means."""
    cards = "".join(_card(report, item) for item in report.single())
    return Section("metrics", "Metrics", f'<ul class="cards">{cards}</ul>') if cards else None


def _card(report: Report, item: MetricValue) -> str:
    name, number, direction, bounds = _parts(report, item)
    below = f'<p class="bounds">{bounds}</p>' if bounds else ""
    return f'<li><h3>{name}</h3>{number}<p class="better">{direction}</p>{below}<p>{escaped(item.meaning)}</p></li>'


def _parts(report: Report, item: MetricValue) -> tuple[str, str, str, str]:
    """The name of a metric, which may break after an underscore, its value, direction, and bounds or error."""
    name = f"<code>{escaped(item.spec.key).replace('_', '_<wbr>')}</code>"
    direction = f'<span aria-hidden="true">{_ARROWS[item.entry.bigger_is_better]}</span> {item.entry.direction}'
    if item.error is not None:
        return name, f'<span class="value">{NOTHING}</span>', direction, escaped(str(item.error))
    number = f'<data class="value" value="{item.value!r}">{number_text(item.value, "fraction")}</data>'
    bounds = report.bounds(item)
    return name, number, direction, "" if bounds is None else bounds_text(bounds)


def bounds_text(bounds: Bounds) -> str:
    """The guaranteed bounds of a value that was read from bins, rounded outwards."""
    if math.isnan(bounds.value):
        return "not defined"
    if bounds.exact or math.isinf(bounds.high):
        return "exact"
    low, high = math.floor(bounds.low * 1e5) / 1e5, math.ceil(bounds.high * 1e5) / 1e5
    return f"between {low:.5f} and {high:.5f} (guaranteed)"


def metric_list(report: Report, state: str) -> str:
    """The metrics of a state, with their meaning and, where they have some, their bounds."""
    rows = ""
    for item in report.reported(state):
        if item.error is None:
            name, number, direction, bounds = _parts(report, item)
            more = f" <em>{bounds[0].upper()}{bounds[1:]}.</em>" if bounds else ""
            text = f'<span class="better">{direction}.</span> {escaped(item.meaning)}{more}'
            rows += f"<li>{name} {number} <p>{text}</p></li>"
    return f'<div><h3>Metrics read from {state}</h3><ul class="list">{rows}</ul></div>' if rows else ""


def averages_section(report: Report) -> Section | None:
    """Precision, recall and F1 in every average."""
    if not report.has_decisions:
        return None
    columns = [Column("average", "label", [f"{name}: {meaning}" for name, meaning in AVERAGES.items()])]
    for name, values in zip(PER_LABEL, zip(*report.averages().values(), strict=True), strict=True):
        columns.append(Column("F1" if name == "f1" else name, "bar", values))
    table = Table("averages", f"Over {count_text(report.total_support)} true labels", columns)
    return Section("averages", "Averages", table_html(table), table)
