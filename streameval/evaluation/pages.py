"""`to_html` and `report_of`: the report of anything that counts, and its page, or one of several side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from streameval.errors import InputError, silent
from streameval.evaluation.core import core_of
from streameval.evaluation.guarding import held, look_at
from streameval.metrics.spec import MetricSpec
from streameval.schema.keywords import explained
from streameval.schema.text import label_text, quoted

if TYPE_CHECKING:
    from streameval.report.model import Report
    from streameval.report.parts import HasLines

Names: TypeAlias = str | tuple[str, ...]  # the keys that define slices
_Named: TypeAlias = list[tuple[str, Any]]


@explained
def to_html(
    evaluators: object, *, title: str | None = None, meta: Mapping[str, object] | None = None,
    trace: HasLines | None = None, slices: object = None, windows: Mapping[str, object] | None = None,
    max_labels: int = 10_000,
) -> str:  # fmt: skip
    """The report as one HTML file without external resources, for screens, dark mode and print.

    It holds the chosen metrics, the averages, and a table of the labels that sorts and filters; confusion of labels,
    curves and rankings where there are such states. It is readable without its script. Of several evaluators it has
    the metrics, labels and curves side by side. Every class with this method has the page of what it holds: a
    `Sliced` its slices, a `Trace` its values along the stream.

    Parameters
    ----------
    evaluators
        An evaluator, a metric, a window, a `Sliced`, a `Trace` or a `Ledger`, or a mapping name -> any of these: then
        each is compared with the first.
    title
        The heading; None names what was counted.
    meta
        Lines below the heading, such as ``{"model": "v7", "data": "test.parquet"}``. ``"date"`` is the time of writing
        unless it is set.
    trace
        A `Trace`, whose values along the stream are drawn.
    slices
        A `Sliced`, or a mapping name -> evaluator, metric or window: a table has the chosen metrics of each part.
    windows
        A mapping name -> evaluator, metric or window, as for ``slices``: the metrics of recent examples.
    max_labels
        Beyond it only the labels with the largest support are in the table; each takes 400 bytes or more.

    Examples
    --------
    >>> import streameval as se
    >>> ev = se.Evaluator(["f1_micro"])
    >>> ev.update({"cat", "bird"}, {"cat", "dog"})
    >>> page = ev.to_html(title="Pets", meta={"model": "v7"}, slices={"first": ev})
    >>> page[:15], "<h1>Pets</h1>" in page
    ('<!doctype html>', True)
    >>> ">change<" in se.to_html({"v6": ev, "v7": ev})
    True
    """
    from streameval.report.page import html_page  # imported late, so that importing the package stays quick

    runs: _Named = list(evaluators.items()) if isinstance(evaluators, Mapping) else [("", evaluators)]
    if not runs or not all(isinstance(name, str) for name, _ in runs):
        forms = "an evaluator, or a mapping name -> evaluator, whose names are strings"
        raise InputError(f"evaluators must be {forms}, not {quoted(evaluators)}")
    if len(runs) == 1:
        name, whole = runs[0]
        if not isinstance(whole, type):
            while hasattr(whole, "evaluator") and not hasattr(whole, "_core"):
                whole = whole.evaluator
            if hasattr(whole, "copy"):  # a copy, so that all values are of one moment
                whole = look_at(whole).copy()
            runs = [(name, whole)]
        trace = whole if trace is None and hasattr(whole, "_lines") else trace
        slices = whole if slices is None and callable(getattr(whole, "slices", None)) else slices
        traced = getattr(whole, "evaluators", None)
        if isinstance(traced, dict):
            (_, first), *rest = traced.items()
            runs, windows = [(name, first)], dict(rest) if windows is None else windows
    groups = [runs, *(each.items() for each in (slices, windows) if isinstance(each, Mapping))]
    objects = [each for group in groups for _, each in group if not isinstance(each, type)]
    with held(*map(look_at, objects)), silent():  # so that all values are of one moment
        counts = [
            (name, counts_of(each, f"evaluators[{quoted(name)}]" if name else "evaluators")) for name, each in runs
        ]
        specs = tuple(dict.fromkeys(spec for _, each in counts for spec in core_of(each).specs))
        parts = [
            [(name, report_of(each, specs)) for name, each in _counted(named, what)]
            for what, named in (("slices", slices), ("windows", windows))
        ]
    reports, meta = [(name, report_of(each, specs)) for name, each in counts], {} if meta is None else meta
    return html_page(
        reports, title=title, meta=meta, trace=trace, slices=parts[0], windows=parts[1], max_labels=max_labels
    )


@explained
def save_html(
    evaluators: object, path: str | os.PathLike[str], *, title: str | None = None,
    meta: Mapping[str, object] | None = None, trace: HasLines | None = None, slices: object = None,
    windows: Mapping[str, object] | None = None, max_labels: int = 10_000,
) -> None:  # fmt: skip
    """Write the page of `to_html` to a file that ends in ``.html``, atomically."""
    check_page("path", path)
    page = to_html(
        evaluators, title=title, meta=meta, trace=trace, slices=slices, windows=windows, max_labels=max_labels
    )
    from streameval.wire.files import write_file

    write_file(path, page.encode())


def check_page(name: str, path: str | os.PathLike[str]) -> None:
    """Raise an error if an argument or an option names no file for a page."""
    from streameval.wire.files import path_text

    if not (text := path_text(path)).lower().endswith((".html", ".htm")):
        raise InputError(f"{name} {quoted(text, 300)} must end in .html")


def report_of(counts: Any, specs: Iterable[MetricSpec] | None = None) -> Report:
    """The report of an evaluator or a metric, on its own metrics unless ``specs`` are passed."""
    from streameval.report.model import Report

    core = core_of(counts)
    return Report(core.views(), core.specs if specs is None else specs, counts.warnings, counts.input_summary)


def _counted(named: object, what: str) -> _Named:
    if named is None:
        return []
    if isinstance(named, Mapping):
        return [(label_text(name), counts_of(part, f"{what}[{quoted(name)}]")) for name, part in named.items()]
    if what == "slices" and callable(getattr(named, "slices", None)):
        return counts_of_slices(named)
    raise InputError(f"{what} must be a mapping name -> evaluator, not {quoted(named)}")


def counts_of_slices(sliced: Any, by: Names | None = None) -> _Named:
    """The evaluators or metrics of slices, each with the keys and values that its examples share."""
    return [
        (", ".join(f"{key} = {label_text(value, mixed=True)}" for key, value in part.where.items()), part.evaluator)
        for part in sliced.slices(by)
    ]


def counts_of(source: object, what: str) -> Any:
    """An independent evaluator or metric with the examples of an object, after the warnings that are due."""
    if isinstance(source, type):
        raise InputError(f"{what} must be an object, not a class; write {source.__name__}()")
    counts = look_at(source)
    while not hasattr(counts, "_core"):
        traced = getattr(counts, "evaluators", None)
        if isinstance(traced, dict):  # of a trace
            first, *rest = traced
            if rest:
                raise InputError(f"{what} is a Trace of {quoted([*traced])}; choose one: trace.evaluators[{first!r}]")
            counts = traced[first]
        elif verb := next((verb for verb in ("snapshot", "total") if callable(getattr(counts, verb, None))), ""):
            counts = getattr(counts, verb)()
        elif hasattr(counts, "evaluator"):
            counts = counts.evaluator
        else:
            raise InputError(f"{what} must be an Evaluator, a metric or a window, not {quoted(source)}")
    return counts.copy()
