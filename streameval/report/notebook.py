"""HTML of objects in notebooks: tables side by side, as on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from streameval.metrics.bounds import Choice
from streameval.metrics.catalogue import MetricInfo, build_spec
from streameval.metrics.spec import MetricSpec
from streameval.report.label_table import LabelTable
from streameval.report.model import PER_LABEL, Column, Kind, Report, Table, arrow, listed, rows_of, worst_first
from streameval.report.page.markup import escaped, label_strings, table_html
from streameval.report.page.metrics import averages_table, threshold_kind, threshold_text
from streameval.report.text import text_report
from streameval.schema.labels import Label
from streameval.schema.text import number_of, printable

_ROWS, _COLUMNS = 20, 8

_STYLE = """<style>
.streameval{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.4em 2em}
.streameval p{flex-basis:100%;margin:0}
.streameval table{margin:0}
.streameval caption{text-align:left;padding:0 .6em;white-space:nowrap}
.streameval table :is(th,td){padding:.15em .6em;text-align:right;font-variant-numeric:tabular-nums}
.streameval table :is(.label,.text){text-align:left}
.streameval tbody th{font-weight:normal}
.streameval td.bar{min-width:7em;background:linear-gradient(90deg,#437fc159 calc(100%*var(--v)),transparent 0)
right/7em 100% no-repeat}
</style>"""


def notebook_html(head: str, tables: Iterable[Table] = ()) -> str:
    """HTML of lines of text, and of tables, which stand next to each other if the width suffices."""
    lines = "".join(f"<p>{escaped(printable(line))}</p>" for line in head.split("\n"))
    drawn = "".join(map(table_html, tables)).replace("<wbr>", "")  # columns are wide enough for names
    return f'{_STYLE}<div class="streameval">{lines}{drawn}</div>'


def report_display(report: Report) -> tuple[str, list[Table]]:
    """The head (sizes, configuration, warnings) and the tables (metrics, averages, labels) of a report."""
    if not report.tables.examples:
        return text_report(report, digits=4, max_labels=0), []
    config, items = report.views.config, report.values()
    states = ["decisions"] * report.has_decisions + list(config.states)
    threshold = f"threshold {text}" if (text := threshold_text(report)) else ""
    words = filter(None, (report.headline, threshold, f"states: {', '.join(states)}"))
    head = "\n".join(["; ".join(words), *report.warnings])
    tables, columns = list[Table](), list[Column]()
    if chosen := [item for item in items if item.number is not None]:
        names = Column("metric", "label", [item.spec.key + arrow(item.spec) for item in chosen])
        fractions = all(item.entry.is_fraction for item in chosen)
        values = Column("value", "bar" if fractions else "fraction", [item.number for item in chosen])
        tables.append(Table("metrics", "Metrics", [names, values]))
    if report.has_decisions:
        tables.append(averages_table(report))
        each = report.label_values()
        columns = [Column("f1", "bar", each["f1"]), *(Column(name, "fraction", each[name]) for name in PER_LABEL[:2])]
    elif report.view("curves"):
        columns = [Column("roc_auc", "bar", report.per_label(build_spec("roc_auc", average=None)))]
    lists = [item for item in items if isinstance(item.value, dict)]
    spec = lists[0].spec if lists and not columns else None  # the direction by which labels are sorted
    there = {column.name for column in columns}
    columns += [Column(one.column, "fraction", [*one.value.values()]) for one in lists if one.column not in there]
    support = report.support if report.has_decisions else []
    if support:
        columns.append(Column("support", "count", support))
    if columns and report.labels:
        tables.append(label_table(report.labels, columns, support, spec))
    return head, tables


def slice_table(table: Table) -> Table:
    """A table of slices cut for a notebook: the worst slices, then the last row, which is all examples."""
    last = table.size - 1
    ranked = replace(table, columns=rows_of(table.columns, range(last))).order()[:_ROWS]
    columns = rows_of(table.columns[: _COLUMNS + 2], [*ranked, last])
    columns[2:] = [replace(one, name=one.name + arrow(one.name)) for one in columns[2:]]
    return Table(table.name, _caption("Slices", last) + _cut(len(table.columns) - 2), columns)


def label_table(
    labels: Sequence[Label], columns: Sequence[Column], support: Sequence[float] = (), spec: MetricSpec | None = None
) -> Table:
    """A table of labels, those with the worst value of the first column first; equal ones by support."""
    rows = worst_first(columns[0].values, spec, support)[:_ROWS]
    columns = rows_of([Column("label", "label", label_strings(labels)), *columns], rows)
    return Table("labels", _caption("Labels", len(labels)), columns)


def latest_table(columns: Mapping[str, Sequence[object]]) -> Table:
    """The last rows of a trace."""
    few = {name: values[-_ROWS // 2 :] for name, values in list(columns.items())[:_COLUMNS]}
    every = len(columns["examples"])
    caption = f"The last {len(few['examples'])} of {every:,} rows" if every > len(few["examples"]) else "Rows"
    caption += _cut(len(columns))
    kinds: dict[str, Kind] = {"examples": "count", "time": "text"}
    return Table("rows", caption, [Column(name, kinds.get(name, "fraction"), few[name]) for name in few])


def catalogue_html(entries: Sequence[MetricInfo]) -> str:
    """All metrics of the catalogue as a table."""
    averages = (",\N{NO-BREAK SPACE}".join(average or "per_label" for average in entry.averages) for entry in entries)
    rows = [(one.name + arrow(one.spec), of, one.state, one.summary) for one, of in zip(entries, averages, strict=True)]
    columns = listed(("metric", "averages", "state", "summary"), ("label", "text", "text", "text"), rows)
    whole = [replace(one, longest=1_000) for one in columns]
    return notebook_html("", [Table("catalogue", f"{len(entries)} metrics", whole)])


def choices_html(choices: Mapping[Label, Choice]) -> str:
    """Thresholds by label, the worst value first."""
    rows = [(one.value, one.threshold, one.bound) for one in choices.values()]
    kind = threshold_kind([one.threshold for one in choices.values()])
    columns = listed(("value", "threshold", "bound"), ("fraction", kind, "fraction"), rows)
    return notebook_html(f"Thresholds of {number_of(len(choices), 'label')}", [label_table([*choices], columns)])


def outcomes_html(table: LabelTable) -> str:
    """The outcomes of each label, the worst F1 first."""
    tp, errors = (part.astype(np.float64) for part in (table.tp, table.fp + table.fn))
    f1 = np.divide(2 * tp, 2 * tp + errors, out=np.zeros(len(tp)), where=tp + errors > 0)
    counts = [Column(name, "count", values) for name, values in table.to_dict().items() if name != "label"]
    drawn = label_table(table.labels, [Column("f1", "bar", f1.tolist()), *counts], table.support.tolist())
    return notebook_html(f"Outcomes of {number_of(len(table.labels), 'label')}", [drawn])


def _caption(what: str, count: int) -> str:
    return f"{what}, the {_ROWS} worst of {count:,}" if count > _ROWS else f"{what}, the worst first"


def _cut(columns: int) -> str:
    return f"; the first {_COLUMNS} of {columns:,} columns" if columns > _COLUMNS else ""
