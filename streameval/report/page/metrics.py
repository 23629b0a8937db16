"""The first sections of the page: sizes and configuration, the chosen metrics, the averages, every label."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate, chain
from typing import Any

from streameval.metrics.catalogue import build_spec
from streameval.metrics.spec import as_float
from streameval.metrics.thresholds import best_thresholds
from streameval.report.model import (
    ARROWS,
    AVERAGES,
    PER_LABEL,
    Column,
    Kind,
    MetricValue,
    Report,
    Table,
    largest_first,
    rows_of,
)
from streameval.report.page.charts import Chart, fraction_axis, log_axis
from streameval.report.page.markup import (
    LONGEST,
    Section,
    as_count,
    breakable,
    escaped,
    formatted,
    label_strings,
    table_section,
)
from streameval.report.parts import numbers_of, part_of
from streameval.schema.text import VERSION, cut, cut_distinct, json_content, number_of, printable

_NAMED, _WORST = 24, 8  # labels that are named in the picture, and that are listed with the most errors
_LEGEND = '<ul class="legend"><li class="b">false negatives (FN)</li><li class="a">false positives (FP)</li></ul>'
_OUTCOMES: tuple[tuple[str, str, Kind, str, tuple[str, ...]], ...] = (
    ("f1", "F1", "bar", "harmonic mean of precision and recall", ("support", "predicted")),
    ("precision", "precision", "bar", "fraction of the predictions of the label that are true", ("predicted",)),
    ("recall", "recall", "bar", "fraction of the examples with the label for which it is predicted", ("support",)),
    ("support", "support", "count", "examples in which the label is true", ()),
    ("predicted", "predicted", "count", "examples for which the label is predicted", ()),
    ("tp", "TP", "count", "true positives: true and predicted", ()),
    ("fp", "FP", "count", "false positives: predicted but not true", ()),
    ("fn", "FN", "count", "false negatives: true but not predicted", ()),
)
"""Columns of binary predictions: name in the report, head, kind, meaning, and columns that are all 0 if it is 0/0."""


def heading(runs: Sequence[tuple[str, Report]], meta: Mapping[str, object]) -> str:
    """HTML below the title: the user's facts, date, version, sizes, and the configuration."""
    about = dict(meta) | {"date": meta.get("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")}
    pairs = [(printable(name), printable(value)) for name, value in about.items() if value is not None]
    report, html = runs[0][1], _pairs("about", [*pairs, ("streameval", VERSION)])
    if len(runs) == 1:
        html += _pairs("facts", (
            (name.removesuffix("s") if value == 1 else name, value if kind == "text" else formatted(value, kind))
            for name, kind, value in facts(report)
        ))  # fmt: skip
    which = f" of {cut(runs[0][0], LONGEST)}" if len({each.views.config for _, each in runs}) > 1 else ""
    return f"{html}<details><summary>Configuration{escaped(which)}</summary>{_pairs('about', _how(report))}</details>"


def about(runs: Sequence[tuple[str, Report]], title: str, meta: Mapping[str, object]) -> dict[str, object]:
    """The title, facts and metrics for the JSON in the page, with the keys that the command writes."""
    values = {name: numbers_of(part_of(report, items=report.single())) for name, report in runs}
    meta_of = {printable(name): printable(value) for name, value in meta.items()}
    head = {"schema": 1, "streameval": VERSION, "title": printable(title), "meta": meta_of}
    return dict(json_content(head | (next(iter(values.values())) if len(runs) == 1 else {"runs": values})))


def _pairs(kind: str, pairs: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<div><dt>{escaped(name)}</dt><dd>{escaped(text)}</dd></div>" for name, text in pairs)
    return f'<dl class="{kind}">{items}</dl>'


def _how(report: Report) -> list[tuple[str, str]]:
    """The configuration in the words of the arguments."""
    config = report.views.config
    pairs = [
        ("metrics", ", ".join(spec.key for spec in report.specs) or "none"),
        ("threshold", threshold_text(report) or ("none; predictions are binary" if config.has_decisions else "none")),
        ("labels", "those of the stream" if config.labels is None else f"{len(config.labels):,} declared"),
        ("keep", ", ".join(name for options in config.options for name in options.keep()) or "none"),
    ]
    if config.labels is not None:
        pairs.append(("unknown", config.unknown))
    arguments = [("nan", config.nan, "error")]  # name, value, default; equal ones are left out
    for options in config.options:
        usual = type(options)().arguments()
        arguments += [(name, value, usual[name]) for name, value in options.arguments().items()]
    return pairs + [(name, cut(printable(value), LONGEST)) for name, value, default in arguments if value != default]


def threshold_text(report: Report) -> str:
    """The threshold, or the range of the thresholds of labels; empty if there is none."""
    threshold = report.views.config.threshold
    if not isinstance(threshold, tuple):
        return "" if threshold is None else formatted(threshold)
    values = [value for _, value in threshold] or [math.nan]
    return f"{formatted(min(values))} to {formatted(max(values))}, one per label"


def facts(report: Report) -> list[tuple[str, Kind, Any]]:
    """The name, kind and value of each size, and of the threshold."""
    tables = report.tables
    counts: dict[str, float | None] = {"examples": tables.examples, "without a true label": report.unlabelled or None}
    counts |= {"labels": len(report.labels), "total weight": report.weight if tables.weighted else None}
    every: list[tuple[str, Kind, Any]] = [(name, "count", n) for name, n in counts.items() if n is not None]
    if report.has_decisions and tables.examples:
        for name, word in (("label_cardinality", "true"), ("predicted_cardinality", "predicted")):
            every.append((f"{word} labels per example", "fraction", report.value(name).value))
    if text := threshold_text(report):
        every.append(("threshold", "text", text.partition(",")[0]))
    return every


def headline_section(report: Report) -> Section | None:
    """A section of the chosen metrics, with the meaning of each."""
    items = report.single()
    wide = min((5, 4, 3), key=lambda wide: -len(items) % wide) if len(items) > 5 else max(3, len(items))
    return Section("metrics", "Metrics", _cards(items, wide)) if items else None


def metric_list(report: Report, state: str, wide: int) -> str:
    """HTML of the reported metrics of a state that can be read, ``wide`` of them in a row."""
    items = [item for item in report.reported(state) if item.error is None]
    return f"<div><h3>Metrics read from {state}</h3>{_cards(items, wide)}</div>" if items else ""


def _cards(items: Sequence[MetricValue], wide: int) -> str:
    """HTML of metrics with their bounds or errors, and below them the meanings."""
    cards = ""
    for item in items:
        number, below = f'<span class="value">{formatted(math.nan)}</span>', str(item.error)
        if item.error is None:
            number = f'<data class="value" value="{item.value!r}">{formatted(item.value, "fraction")}</data>'
            below = item.bounds_text()
        cards += (
            f"<li><h3><code>{breakable(item.spec.key)}</code></h3>{number}"
            f'<p><span aria-hidden="true">{ARROWS[item.entry.bigger_is_better]}</span> {item.entry.direction}</p>'
            f'<p class="bounds">{escaped(below)}</p><p>{item.averaged}</p></li>'
        )
    meanings = _pairs("meanings", {item.spec.name: item.entry.summary for item in items}.items())
    return f'<ul class="cards" style="--wide:{wide}">{cards}</ul>{meanings}'


def averages_table(report: Report) -> Table:
    columns = [Column("average", "label", [f"{name}: {meaning}" for name, meaning in AVERAGES.items()])]
    for name, values in zip(PER_LABEL, zip(*report.averages().values(), strict=True), strict=True):
        columns.append(Column("F1" if name == "f1" else name, "bar", values))
    return Table("averages", f"True labels: {as_count(report.total_support)}", columns)


def label_section(report: Report, max_labels: int) -> Section | None:
    """A section with a table of all values by label, and pictures above it."""
    values = {**report.label_values(), **report.counts.to_dict()} if report.has_decisions else {}
    columns = [Column(head, kind, values[of], note, unless) for of, head, kind, note, unless in _OUTCOMES if values]
    columns += [*_scored(report), *_chosen(report)]
    if isinstance(threshold := report.views.config.threshold, tuple):
        values_of = dict(threshold)
        used = [values_of.get(label, math.nan) for label in report.labels]
        columns.append(Column("threshold", threshold_kind(used), used, "labels scoring at or above it are predicted"))
    names = label_strings(report.labels)
    if not columns or not names:
        return None
    columns.insert(0, Column("label", "label", names))
    by = next(name for name in ("support", columns[1].name) if any(column.name == name for column in columns))
    rows = sorted(Table("labels", "", columns, by).order()[:max_labels])
    if len(rows) < len(names):
        columns = rows_of(columns, rows)
    left = f", the {len(rows):,} most frequent of {len(names):,}" if len(rows) < len(names) else ""
    table = Table("labels", f"Outcomes of each label{left}", columns, by)
    return table_section(
        "Labels", table, _pictures(table, report.tables.weighted) if report.has_decisions else "", row="label"
    )


def _scored(report: Report) -> list[Column]:
    if not report.views.keeps("curves"):
        return []
    tables = report.views.named("curves", "the report")
    best, best_for = list(best_thresholds(tables).values()), "F1 is greatest for labels scoring at or above it"
    columns = []
    if not report.has_decisions:
        positives = [as_float(int(tables.steps.of(place).tp[-1]) * tables.unit) for place in range(tables.size)]
        columns.append(Column("support", "count", positives, "examples in which the label is true"))
    chosen = [each.threshold for each in best]
    area, precision = (report.per_label(build_spec(name, average=None)) for name in ("roc_auc", "average_precision"))
    return [
        *columns,
        Column("ROC AUC", "fraction", area, "probability that a random positive scores higher than a random negative"),
        Column("average precision", "fraction", precision, "mean over the positives of the precision at their score"),
        Column("best threshold", threshold_kind(chosen), chosen, best_for),
        Column("best F1", "fraction", [each.value for each in best], "F1 at the best threshold, on these examples"),
    ]


def threshold_kind(values: Sequence[float]) -> Kind:
    """The kind of a column of thresholds: probabilities are written as fractions, with equally many digits."""
    return "fraction" if all(0 <= value <= 1 for value in values if math.isfinite(value)) else "number"


def _chosen(report: Report) -> list[Column]:
    usual = [build_spec(name, average=None) for name in PER_LABEL]
    items = report.values(spec for spec in report.specs if spec.average is None and spec not in usual)
    return [Column(item.column, "fraction", [item.value[label] for label in report.labels], item.entry.summary)
            for item in items if item.error is None]  # fmt: skip


def _pictures(table: Table, weighted: bool) -> str:
    columns: dict[str, Any] = {column.name: column.values for column in table.columns}
    f1, support = columns["F1"], columns["support"]
    errors = [fp + fn for fp, fn in zip(columns["FP"], columns["FN"], strict=True)]
    rows = [row for row in table.order() if support[row] > 0 and math.isfinite(support[row])]
    chart = ""
    if rows:
        across, up = [support[row] for row in rows], [f1[row] for row in rows]
        left = table.size - len(rows)
        never = f" {number_of(left, 'label')} without true examples omitted." if left else ""
        axis = log_axis(
            "weight of the examples with the label" if weighted else "examples with the label", min(across), max(across)
        )
        of = f"F1 of {number_of(len(rows), 'label')} by their support; the table below has the numbers."
        note = f"Each dot is a label.{never}"
        picture = Chart("F1 by label frequency", of, axis, fraction_axis("F1", up), "wide", note)
        picture.dots(across, up, "labels", rows)
        # Name the labels with most errors first, then those of least F1 and of most support, where there is room.
        keys = [-errors[row] for row in rows], up, [-value for value in across]
        orders = (sorted(range(len(rows)), key=key.__getitem__)[:_NAMED] for key in keys)
        named = [*dict.fromkeys(chain.from_iterable(orders))]
        words = cut_distinct([columns["label"][rows[at]] for at in named], 24)
        picture.names([across[at] for at in named], [up[at] for at in named], words)
        chart = picture.html()
    drawn = chart + _worst(columns, errors)
    return drawn and f'<div class="side-by-side">{drawn}</div>'


def _worst(columns: dict[str, Any], errors: list[float]) -> str:
    total = sum(errors)
    if not total or not math.isfinite(total):
        return ""
    ranked = largest_first(errors)
    count = next(at for at, half in enumerate(accumulate(errors[row] for row in ranked), 1) if half * 2 >= total)
    shortened = cut_distinct([str(columns["label"][row]) for row in ranked[:_WORST]], 40)
    most = errors[ranked[0]]
    items = "".join(
        f'<li style="--fn:{columns["FN"][row] / most:.3f};--fp:{columns["FP"][row] / most:.3f}">'
        f'<bdi title="{escaped(str(columns["label"][row]))}">{escaped(text)}</bdi> <b>{as_count(errors[row])}</b> '
        f"<small>{as_count(columns['FN'][row])} FN, {as_count(columns['FP'][row])} FP</small></li>"
        for row, text in zip(ranked, shortened, strict=False)
        if errors[row]
    )
    half = f"Errors: {as_count(total)}. Half of them fall on {number_of(count, 'label')}."
    return f'<div class="worst"><h3>Most errors</h3><p>{half}</p>{_LEGEND}<ol>{items}</ol></div>'
