"""The numbers that come first: what was evaluated, the chosen metrics, the averages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from streameval.metrics.bounds import Bounds
from streameval.report.model import AVERAGES, PER_LABEL, Column, MetricValue, Report, Table, outwards
from streameval.report.page.markup import LONGEST, Section, count_text, escaped, number_text, table_section
from streameval.report.parts import numbers_of, part_of
from streameval.schema.text import VERSION, cut, printable

_ARROWS = {True: "↑", False: "↓", None: ""}


def heading(runs: Sequence[tuple[str, Report]], meta: Mapping[str, object]) -> str:
    """What stands below the title: what the user says of it, when and by what it was written, how much, and how."""
    about = dict(meta) | {"date": meta.get("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")}
    pairs = [(printable(name), printable(value)) for name, value in about.items() if value is not None]
    report, html = runs[0][1], _pairs("about", [*pairs, ("streameval", VERSION)])
    if len(runs) == 1:
        counted = ((name.removesuffix("s") if text == "1" else name, text) for name, text in facts(report))
        html += _pairs("facts", counted)
    different = len({each.views.config for _, each in runs}) > 1
    which = f" of {cut(runs[0][0], LONGEST)}" if different else ""
    return f"{html}<details><summary>Configuration{escaped(which)}</summary>{_pairs('about', _how(report))}</details>"


def about(runs: Sequence[tuple[str, Report]], title: str, meta: Mapping[str, object]) -> dict[str, object]:
    """What stands above the tables where the page is downloaded as JSON, as in that of the command.

    Undefined values are null, and infinite ones too; under "undefined" is why.
    """
    single = [(name, Report(report.views, (item.spec for item in report.single()))) for name, report in runs]
    values = {name: numbers_of(part_of(report)) for name, report in single}
    meta_of = {printable(name): printable(value) for name, value in meta.items()}
    head = {"schema": 1, "streameval": VERSION, "title": printable(title), "meta": meta_of}
    content = json.dumps(head | (next(iter(values.values())) if len(runs) == 1 else {"runs": values}))
    return dict(json.loads(content, parse_constant=lambda _: None))


def _pairs(kind: str, pairs: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="{kind}">{items}</dl>'


def _how(report: Report) -> list[tuple[str, str]]:
    """The configuration in the words of the arguments."""
    config = report.views.config
    pairs = [
        ("metrics", ", ".join(spec.key for spec in report.specs) or "none"),
        ("threshold", threshold_text(report) or ("none; predictions are binary" if config.decides else "none")),
        ("labels", "those of the stream" if config.labels is None else f"{len(config.labels):,} declared"),
        ("keep", ", ".join(name for options in config.options for name in options.keep()) or "none"),
    ]
    if config.labels is not None:
        pairs.append(("unknown", config.unknown))
    if config.scored or config.threshold is not None:
        pairs.append(("nan", config.nan))
    arguments = {name: value for options in config.options for name, value in options.arguments().items()}
    return pairs + [(name, cut(printable(value), LONGEST)) for name, value in arguments.items()]


def threshold_text(report: Report) -> str:
    """The threshold, or between what those of labels are; nothing where there is none."""
    threshold = report.views.config.threshold
    if not isinstance(threshold, tuple):
        return "" if threshold is None else number_text(threshold)
    values = [value for _, value in threshold] or [math.nan]
    return f"{number_text(min(values))} to {number_text(max(values))}, one per label"


def facts(report: Report) -> list[tuple[str, str]]:
    """How much was evaluated, and the threshold."""
    tables = report.tables
    pairs = [("examples", f"{tables.examples:,}"), ("labels", f"{len(report.labels):,}")]
    if tables.weighted:
        pairs.append(("total weight", count_text(report.weight)))
    if report.has_decisions and tables.examples:
        for name, word in (("label_cardinality", "true"), ("predicted_cardinality", "predicted")):
            pairs.append((f"labels {word} per example", f"{report.value(name).value:.2f}"))
    if text := threshold_text(report):
        pairs.append(("threshold", text.partition(",")[0]))
    return pairs


def headline_section(report: Report) -> Section | None:
    """The metrics that were chosen, and what each means."""
    items = report.single()
    if not items:
        return None
    cards = ""
    for item in items:
        name, number, direction, bounds = _parts(report, item)
        below = f'<p class="bounds">{bounds}</p>' if bounds else ""
        cards += f'<li><h3>{name}</h3>{number}<p class="better">{direction}</p>{below}<p>{item.averaged}</p></li>'
    wide = min((5, 4, 3), key=lambda wide: -len(items) % wide) if len(items) > 5 else max(3, len(items))
    meanings = _pairs("meanings", {item.spec.name: item.entry.summary for item in items}.items())
    return Section("metrics", "Metrics", f'<ul class="cards" style="--wide:{wide}">{cards}</ul>{meanings}')


def _parts(report: Report, item: MetricValue) -> tuple[str, str, str, str]:
    """The name of a metric, which may break after an underscore, its value, direction, and bounds or error."""
    name = f"<code>{escaped(item.spec.key).replace('_', '_<wbr>')}</code>"
    direction = f'<span aria-hidden="true">{_ARROWS[item.entry.bigger_is_better]}</span> {item.entry.direction}'
    if item.error is not None:
        return name, f'<span class="value">{number_text(math.nan)}</span>', direction, escaped(str(item.error))
    number = f'<data class="value" value="{item.value!r}">{number_text(item.value, "fraction")}</data>'
    bounds = report.bounds(item)
    return name, number, direction, "" if bounds is None else bounds_text(bounds)


def bounds_text(bounds: Bounds) -> str:
    """The guaranteed bounds of a value that was read from bins, rounded outwards; nothing where they look like it."""
    if math.isnan(bounds.value):
        return "not defined"
    if bounds.exact or math.isinf(bounds.high) or f"{bounds.low:.4f}" == f"{bounds.high:.4f}":
        return ""
    return "between {} and {} (guaranteed)".format(*outwards(bounds.low, bounds.high, 4))


def metric_list(report: Report, state: str) -> str:
    """The metrics of a state, with their meaning and, where they have some, their bounds."""
    rows = ""
    for item in report.reported(state):
        if item.error is None:
            name, number, direction, bounds = _parts(report, item)
            meaning = f"{item.entry.summary} {item.averaged.capitalize()}." if item.averaged else item.entry.summary
            more = f" <em>{bounds.capitalize()}.</em>" if bounds else ""
            text = f'<span class="better">{direction}.</span> {escaped(meaning)}{more}'
            rows += f"<li>{name} {number} <p>{text}</p></li>"
    return f'<div><h3>Metrics read from {state}</h3><ul class="list">{rows}</ul></div>' if rows else ""


def averages_section(report: Report) -> Section | None:
    """Precision, recall and F1 in every average."""
    if not report.has_decisions:
        return None
    columns = [Column("average", "label", [f"{name}: {meaning}" for name, meaning in AVERAGES.items()])]
    for name, values in zip(PER_LABEL, zip(*report.averages().values(), strict=True), strict=True):
        columns.append(Column("F1" if name == "f1" else name, "bar", values))
    caption = f"True labels: {count_text(report.total_support)}"
    return table_section("Averages", Table("averages", caption, columns))
