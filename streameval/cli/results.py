"""Results of commands: states that are read, merged and saved; their parts to print; checks; and what is written."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from streameval.cli.outputs import check_outputs, format_of, identity, write_output, written_to
from streameval.cli.reading import UserError
from streameval.cli.render import Document, show
from streameval.cli.settings import note, say, until_unread
from streameval.errors import FormatError, MetricError, StreamevalError, above, naming, warn
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator
from streameval.evaluation.guarding import look_at
from streameval.evaluation.metric import Metric
from streameval.evaluation.pages import report_of
from streameval.metrics.bounds import Bounds
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.metrics.thresholds import DecisionsAt
from streameval.progressive.trace import Trace
from streameval.report.model import MetricValue, Report
from streameval.report.parts import Number, Part, differences, part_of
from streameval.schema.text import either, printable, scope_text
from streameval.slices import Sliced
from streameval.states.views import Counts, Tables, cached_property
from streameval.tabular.sources import no_file
from streameval.windows.base import Window

Counted: TypeAlias = Evaluator | Metric

_load = above("delivery.checkpoint", "load")
_READ = Evaluator, Metric, Sliced, Window, Trace
_HELD = {Sliced: "with slices", Evaluator: "without slices"}
_SIZES = ("examples", "weight")
_TESTS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_CHECK = re.compile(
    r"\s*(?P<change>change\()?\s*(?P<metric>[^\[\]<>]+?)\s*(?(change)\)\s*)(\[(?P<scope>.+)\]\s*)?"
    r"(?P<test>[<>]=?)\s*(?P<limit>[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Result:
    """A state with its window and slices, and the metrics to print of each."""

    state: Any
    counts: Counted
    specs: tuple[MetricSpec, ...]
    window: Counted | None = None
    sliced: Sliced[Any] | None = None
    zero_division: float | None = None
    thresholds: Any = None  # decide which scored labels are predicted; None: as counted
    by: tuple[str, ...] = ()  # if not empty, only slices by one of these columns are parts

    @classmethod
    def of(cls, state: object, window: Window[Any] | None = None, **rest: Any) -> Result:
        """The result of any saved object; a window that holds all rows is left out."""
        counts: Any = state.snapshot() if isinstance(state, Window) else state
        sliced = counts if isinstance(counts, Sliced) else None
        counts = counts if sliced is None else sliced.total()
        specs = counts.metrics if isinstance(counts, Evaluator) else (counts.spec,)
        last = window.snapshot() if window is not None and window.examples < counts.examples else None
        return cls(state, counts, specs, last, sliced, **rest)

    @cached_property
    def report(self) -> Report:
        return self.report_of(self.counts)

    def report_of(self, counts: Counted) -> Report:
        report = report_of(counts, self.specs)
        return report if self.thresholds is None else judged(report, counts, self.thresholds)

    @property
    def judged_specs(self) -> tuple[MetricSpec, ...]:
        """The metrics to print with thresholds: the default ones and those of the state, if they can be read."""
        items = self.report.values(dict.fromkeys((*map(parse_spec, DEFAULT_METRICS), *self.specs)))
        return tuple(item.spec for item in items if item.error is None)

    def with_checks(self, checks: Iterable[Check]) -> Result:
        return replace(self, specs=tuple(dict.fromkeys(chain(self.specs, *(check.specs for check in checks)))))

    @property
    def parts(self) -> list[Part]:
        """The parts: all rows, the last rows of the window, the slices."""
        parts = [part_of(self.report, zero_division=self.zero_division, labelled=True)]
        if self.window is not None:
            parts.append(part_of(self.report_of(self.window), f"last {self.window.examples}"))
        slices = [(dict(part.where), part.evaluator) for part in (self.sliced.slices() if self.sliced else ())]
        mixed = {tuple(where) for where, _ in slices if not all(isinstance(value, str) for value in where.values())}
        for where, counts in (each for each in slices if not self.by or {*each[0]} <= {*self.by}):
            parts.append(part_of(self.report_of(counts), scope_text(where, mixed=tuple(where) in mixed), where))
        return parts

    @property
    def headline(self) -> str:
        return self.report.headline if self.counts.examples else "no examples"

    def document(self, source: Mapping[str, object], names: Sequence[str] = (), notes: Sequence[str] = ()) -> Document:
        """The document that a command writes; ``names`` are the metrics that the user chose."""
        if isinstance(self.report, _Judged) and self.report.corners:
            most = "tp and fp of labels are the most that they can be, fn and tn the least"
            warn(f"a threshold lies within a bin of scores: {most}; the bounds of metrics show the range")
        source = {**source, **self.counts.input_summary}
        return Document(self.parts, self.headline, source, self.counts.warnings, (), bool(names), notes)


def comparison(first: Result, second: Result, paths: Sequence[Path], notes: Sequence[str]) -> Document:
    stems = [path.stem for path in paths]
    names = stems if len({"metric", "label", "change", *stems}) == 5 else ["a", "b"]
    headlines = dict.fromkeys((first.report.headline, second.report.headline))
    headline = "; ".join(headlines) + ("" if len(headlines) > 1 else ", in both")
    source = dict(zip("ab", map(str, paths), strict=True))
    return Document(differences(first.parts, second.parts), headline, source, (), names, notes=notes)


def load_state(path: Path, *, part: bool = False) -> Any:
    """The object that a file counts with. A ``part`` of a merge may be a ledger, and its warnings are not repeated."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file that --save wrote")
    if not path.exists():
        raise no_file(path)
    try:
        state: Any = _load(path)
        while not isinstance(state, _READ) and not (part and hasattr(state, "shards")):
            state = state.total() if hasattr(state, "total") else state.evaluator
    except StreamevalError as error:
        why = str(error).removeprefix(f"{path}: ")
        what = "is not a saved state" if isinstance(error, FormatError) else "cannot be read"
        raise UserError(f"{path} {what}: {why}".removesuffix(": ")) from None
    if isinstance(state, Trace):
        page = f"streameval.load({str(path)!r}).save_html('page.html')"
        raise UserError(f"{path} holds a Trace; write its page with {page}")
    return state if part else look_at(state)


def load_states(paths: Sequence[Path], *, parts: bool = False) -> Iterator[tuple[Path, Any]]:
    """The objects that files hold; `UserError` if two paths lead to one file, whose rows would count twice."""
    first = dict[object, Path]()
    for path in paths:
        if (name := identity(path)) in first:
            other = f", as {first[name]}" if first[name] != path else ""
            raise UserError(f"{path} is named twice{other}; name each state once")
        first[name] = path
    for path in paths:
        yield path, load_state(path, part=parts)


def merged(paths: list[Path], save: Path | None) -> Any:
    """The sum of what files hold; `UserError` if one of them is a ledger and the file that it is to replace."""
    states = _with_one_ledger(load_states(paths, parts=True), None if save is None else identity(save))
    first, total = next(states)
    for path, part in states:
        if type(part) is not type(total):
            kinds = [_HELD.get(type(each), f"of the class {type(each).__name__}") for each in (part, total)]
            raise UserError(f"{path} is {kinds[0]}, {first} {kinds[1]}; evaluate both with the same options")
        with naming(path):
            total.merge(part)
    return total


def _with_one_ledger(states: Iterable[tuple[Path, Any]], saved: object) -> Iterator[tuple[Path, Any]]:
    """The states without ledgers, then the total of all ledgers together, in which each shard counts once."""
    ledgers = list[tuple[Path, Any]]()
    for path, state in states:
        if not hasattr(state, "shards"):
            yield path, state
        elif identity(path) == saved:
            lost = f"--save {path} would replace a ledger by a sum, without the shards that it holds"
            raise UserError(f"{lost}; name another, or give --force")
        elif ledgers:
            with naming(path):
                ledgers[0][1].merge(state)
        else:
            ledgers.append((path, state))
    for path, ledger in ledgers:
        with naming(path):
            yield path, ledger.total()


# -- thresholds that are chosen when a state of scores is read --------------------------------------------------------


class _Tables:
    """A view of decisions that has the outcomes of labels only: the predictions of each example are not known."""

    def __init__(self, tables: Any, outcomes: DecisionsAt, tp: Any, fp: Any) -> None:
        known, pos = outcomes.most.known, outcomes.most.tp + outcomes.most.fn
        self.labels, self.columns, self.size = tables.labels, tables.columns, len(tables.labels)
        self.examples, self.weighted, self.unit = tables.examples, tables.weighted, outcomes.unit
        self.weight = int(tables.weight * tables.unit / outcomes.unit)
        self.by_label = Counts(tp, fp, pos - tp, known)
        self.pooled = Counts(*(np.array([sum(part.tolist())], object) for part in (tp, fp, pos - tp, known)))

    def __getattr__(self, name: str) -> Any:
        raise MetricError("this metric requires the predictions of each example; run evaluate with --threshold 0.5")


class _Judged(Report):
    corners: tuple[Report, ...] = ()

    def _read(self, spec: MetricSpec) -> MetricValue:
        item = super()._read(spec)
        if item.entry.state != "decisions" or not self.corners or item.error:
            return item
        # A metric is monotonic in tp and in fp, so that its extremes are among the four corners of their ranges.
        values = [item.by_label, *(corner.value(spec).by_label for corner in self.corners[1:])]
        ranges = {label: [each[label] for each in values] for label in item.by_label}
        bounds = {label: Bounds(min(of), max(of), of[0], min(of) == max(of)) for label, of in ranges.items()}
        return replace(item, bounds=bounds)


def judged(report: Report, counts: Any, thresholds: Any) -> Report:
    """A report in which labels scoring at or above their threshold are predicted."""
    outcomes, corners = counts.decisions_at(thresholds), list[_Judged]()
    for tp, fp in product((outcomes.most, outcomes.least), repeat=2):
        views = report.views.with_decisions(cast(Tables, _Tables(report.tables, outcomes, tp.tp, fp.fp)))
        corners.append(_Judged(views, report.specs, report.warnings))
    if not outcomes.exact.all():
        corners[0].corners = tuple(corners)
    return corners[0]


# -- checks, such as ``f1_micro < 0.7`` or ``f1_micro[region=us] < 0.6``, and what is written --------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """A check that fails if a metric, a number of examples, or the change of one of these is beyond a limit."""

    text: str
    key: str
    specs: tuple[MetricSpec, ...]  # the metric; empty for a number of examples
    scope: str
    test: str
    limit: float

    def no_slice(self, known: str) -> UserError:
        there = known or "none; --by COLUMN of evaluate makes them"
        return UserError(f"--fail-if '{self.text}': [{self.scope}] is not a slice; there are {there}")

    def failed(self, parts: Sequence[Part]) -> str:
        """How the check failed; an empty string if it did not."""
        chosen = [part for part in parts if self.scope in (_tight(part.scope), ",".join(part.where or ()) or None)]
        if not chosen:
            raise self.no_slice(", ".join(part.scope for part in parts[1:10]))
        numbers: list[tuple[str, Number]] = []
        for part in chosen:
            for label, number in (part.metrics[self.key] if self.specs else {None: part.sizes[self.key]}).items():
                words = ("" if part is parts[0] else part.scope, "" if label is None else f"label {printable(label)}")
                numbers.append((", ".join(filter(None, words)), number))
        values = [(number.value, place) for place, number in numbers if number.value is not None]
        unknown = [(place, number.reason) for place, number in numbers if number.value is None]
        if not values:
            reason = unknown[0][1] if unknown else "no labels"
            raise UserError(f"--fail-if '{self.text}' cannot be checked: {self.key} is undefined ({reason})")
        if unknown:
            rest = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            note(f"--fail-if '{self.text}' was not checked for {unknown[0][0]}{rest}: {unknown[0][1]}")
        failing = [pair for pair in values if _TESTS[self.test](pair[0], self.limit)]
        if not failing:
            return ""
        value, place = (min if self.test[0] == "<" else max)(failing)
        more = f"; {len(failing)} of {len(values)} fail" if len(values) > 1 else ""
        name = "" if self.key in self.text else self.key
        return f"{': '.join([*filter(None, [name, place]), f'{value:.10g}'])}{more}"


def _tight(scope: str) -> str:
    return re.sub(r"\s*([=,])\s*", r"\1", scope.strip())


def checks_of(strings: list[str] | None, *, change: bool = False) -> list[Check]:
    """The checks that options name: of values, or with ``change`` of changes."""
    checks = []
    for text in strings or ():
        match = _CHECK.fullmatch(text)
        if match is None or bool(match["change"]) != change:
            name, limits = ("change(f1_micro)", (-0.01, 0)) if change else ("f1_micro", (0.7, 0.6))
            forms = f"{name} < {limits[0]}", f"{name}[region=us] < {limits[1]}"
            of = " of compare" * change
            raise UserError(f"--fail-if '{text}' is not a check{of}; write {either(map(repr, forms))}")
        with naming(f"--fail-if '{text}'"):
            specs = () if match["metric"] in _SIZES else (parse_spec(match["metric"]),)
        scope = "all" if match["scope"] is None else _tight(match["scope"])
        key = specs[0].key if specs else match["metric"]
        checks.append(Check(text, key, specs, scope, match["test"], float(match["limit"])))
    return checks


def interrupted() -> int:
    """Say that Ctrl-C ended the counting; returns the exit status."""
    say("interrupted: this is what was counted until then")
    return 130


class Output:
    """Files, format and ``--fail-if`` checks of a command, all of which are validated before its work."""

    def __init__(self, options: Mapping[str, Any], inputs: Iterable[str | Path] = (), *, change: bool = False) -> None:
        self.options, self.format = options, format_of(options["output"], options["format"])
        self.checks = checks_of(options.get("fail_if"), change=change)
        if options.get("title") is not None and options.get("report") is None:
            raise UserError("--title is the heading of a page; give --report FILE.html too")
        paths = {f"--{name}": options.get(name) for name in ("save", "report", "output")}
        check_outputs(paths, inputs, options["force"])

    def write(
        self, document: Document, result: Result | None = None, trace: Trace | None = None, *, stopped: bool = False
    ) -> int:
        """Write the state and the page, each whole or not at all, and the document; returns the exit status."""
        try:
            if result is not None and self.options.get("save") is not None:
                write_output(self.options["save"], result.state.to_bytes())
            if result is not None and self.options.get("report") is not None:
                last = None if result.window is None else {f"last {result.window.examples:,}": result.window}
                facts = [(name, each) for name, each in document.source.items() if not isinstance(each, Mapping)]
                meta = {name: ", ".join(each) if isinstance(each, list) else each for name, each in facts if each}
                pages: Any = {"slices": result.sliced, "windows": last, "trace": trace}
                page = result.counts.to_html(**pages, title=self.options.get("title"), meta=meta)
                write_output(self.options["report"], page.encode())
        finally:  # print the result even if writing a file failed
            form = {name: self.options[name] for name in ("top", "raw") if name in self.options}
            with until_unread(), written_to(self.options["output"]):  # checks follow even if a pipe closes
                show(document, self.format, **form)
        if stopped:
            return interrupted()
        failed = [(check.text, how) for check in self.checks if (how := check.failed(document.parts))]
        for text, how in failed:
            say(f"failed: {text} ({how})")
        return 1 if failed else 0
