"""The report as a page: one file of HTML that needs nothing else.

Sections in a template, one style sheet, one script, and a policy that allows no more.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from streameval.errors import InputError
from streameval.report.model import Report
from streameval.report.page.markup import LONGEST, Section, escaped, safe_json, table_data, table_section
from streameval.report.page.metrics import about, averages_table, heading, headline_section, label_section
from streameval.report.page.pairs import pair_section
from streameval.report.page.runs import change_sections, part_section, slice_label_section, stream_section
from streameval.report.page.scores import curve_section, ranking_section
from streameval.report.parts import HasLines
from streameval.schema.text import VERSION, check_number, cut, either, printable, quoted

_LINE = 400
_TITLE = 100  # characters, about two lines
_MARK = 'document.documentElement.className = "live"'  # says that scripts run, before the first layout


def html_page(
    runs: Sequence[tuple[str, Report]],
    *,
    title: str | None,
    meta: object,
    trace: HasLines | None,
    slices: Sequence[tuple[str, Report]],
    windows: Sequence[tuple[str, Report]],
    max_labels: int,
) -> str:
    """The whole page, of one report or of several that are compared; see `streameval.to_html`."""
    reports = [report for _, report in runs]
    report = reports[0]
    if title is None:
        title = either([name for name, _ in runs if name] or [f"Evaluation of {report.headline}"], "and")
        title = title if len(runs) == 1 or len(title) <= _TITLE else f"{len(runs)} runs"
    if not isinstance(title, str):
        raise InputError(f"title must be a string, not {quoted(title)}")
    if not isinstance(meta, Mapping) or not all(isinstance(name, str) for name in meta):
        raise InputError(f"meta must be a mapping of strings to values, not {quoted(meta)}")
    max_labels = check_number("max_labels", max_labels, 1)
    if trace is not None and not hasattr(trace, "_lines"):
        raise InputError(f"trace must be a Trace, not {quoted(trace)}")
    middle = (
        part_section("slices", "The metrics of each part of the data", slices),
        slice_label_section(report, slices),
        part_section("windows", "The metrics of recent examples", windows and [("all examples", report), *windows]),
        None if trace is None else stream_section(trace),
    )
    if len(runs) > 1:
        parts = [*change_sections(runs, max_labels), *middle, curve_section(runs)]
    else:
        averages = table_section("Averages", averages_table(report)) if report.has_decisions else None
        first = headline_section(report), averages, label_section(report, max_labels)
        parts = [*first, *middle, pair_section(report), curve_section(runs), ranking_section(report)]
    if not any(each.tables.examples for each in reports):
        parts = [Section("empty", "No examples", "<p>No examples were counted yet.</p>")]
    sections = [section for section in parts if section is not None]
    if inputs := "".join(_input(*run) for run in runs if run[1].input_summary):
        sections.append(Section("input", "Input", f"<p>How the first examples were read.</p>{inputs}"))
    if warnings := dict.fromkeys(text for each in reports for text in each.warnings):
        items = "".join(f"<li>{escaped(text)}</li>" for text in warnings)
        sections.insert(0, Section("warnings", "Warnings", f"<ul>{items}</ul>"))
    tables = {part.table.name: table_data(part.table) for part in sections if part.table is not None}
    script, style = _resource("page.js"), _resource("page.css")
    fields = {
        "title": escaped(printable(title)),
        "hashes": " ".join(map(_hash, (_MARK, script))),
        "mark": _MARK,
        "style": style,
        "script": script,
        "facts": heading(runs, meta),
        "version": VERSION,
        "links": "".join(f'<li><a href="#{part.name}">{escaped(part.title)}</a></li>' for part in sections),
        "sections": "".join(
            f'<section id="{part.name}" aria-labelledby="{part.name}-title">'
            f'<h2 id="{part.name}-title">{escaped(part.title)}</h2>{part.html}</section>'
            for part in sections
        ),
        "data": safe_json({"about": about(runs, title, meta), "tables": tables}),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: fields[match[1]], _resource("page.html"))


def _input(name: str, report: Report) -> str:
    """HTML that says how the input of a run was read; lines that list very many labels are cut."""
    head = f"<h3>{escaped(cut(name, LONGEST))}</h3>" if name else ""
    lines = (cut(line, _LINE) for line in repr(report.input_summary).split("\n"))
    return f"{head}<pre>{escaped(chr(10).join(lines))}</pre>"


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@lru_cache
def _resource(name: str) -> str:
    return files("streameval.report.page").joinpath(name).read_text(encoding="utf-8")
