"""What a command shows and writes: all rows, a window and slices; states, read, merged and saved."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from streameval.cli.checks import Check, checks_of, status_of
from streameval.cli.judged import judged
from streameval.cli.outputs import check_outputs, format_of, write_output, written_to
from streameval.cli.reading import UserError
from streameval.cli.render import show
from streameval.cli.tables import Document
from streameval.delivery.checkpoint import load
from streameval.errors import StreamevalError
from streameval.evaluation.evaluator import DEFAULT_METRICS, Evaluator
from streameval.evaluation.metric import Metric
from streameval.evaluation.pages import report_of
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.progressive.trace import Trace
from streameval.report.model import Report
from streameval.report.parts import Part, differences, part_of
from streameval.schema.cached import cached_property
from streameval.schema.escaping import scope_text
from streameval.slices import Sliced
from streameval.tabular.sources import no_file
from streameval.windows.base import Window

Counts: TypeAlias = Evaluator | Metric


@dataclass(frozen=True)
class Result:
    """A state: all of its rows, with windows and slices, and the metrics to show of each.

    ``thresholds`` make the decisions of a state of scores; without, they are those that it counted.
    """

    state: Any
    counts: Counts
    specs: tuple[MetricSpec, ...]
    window: Counts | None = None
    sliced: Sliced[Any] | None = None
    zero_division: float | None = None
    thresholds: Any = None

    @classmethod
    def of(cls, state: object, window: Window[Any] | None = None, **rest: Any) -> Result:
        """Of anything that can be saved; a window that holds all rows is left out."""
        counts: Any = state.snapshot() if isinstance(state, Window) else state
        sliced = counts if isinstance(counts, Sliced) else None
        counts = counts if sliced is None else sliced.total()
        specs = counts.metrics if isinstance(counts, Evaluator) else (counts.spec,)
        less = window is not None and window.examples < counts.examples
        return cls(state, counts, specs, window.snapshot() if window and less else None, sliced, **rest)

    @cached_property
    def report(self) -> Report:
        """Of all rows."""
        return self.report_of(self.counts)

    def report_of(self, counts: Counts) -> Report:
        """Of some rows."""
        report = report_of(counts, self.specs)
        return report if self.thresholds is None else judged(report, counts, self.thresholds)

    @property
    def judged_specs(self) -> tuple[MetricSpec, ...]:
        """The metrics to show where thresholds make the decisions: the usual ones and its own, if readable."""
        items = self.report.values(dict.fromkeys((*map(parse_spec, DEFAULT_METRICS), *self.specs)))
        return tuple(item.spec for item in items if item.error is None)

    def with_checks(self, checks: Iterable[Check]) -> Result:
        """The same with the metrics that are checked."""
        specs = dict.fromkeys((*self.specs, *(check.metric for check in checks)))
        return replace(self, specs=tuple(specs))

    @property
    def parts(self) -> list[Part]:
        """All rows, the last ones, the slices."""
        parts = [part_of(self.report, zero_division=self.zero_division, labelled=True)]
        if self.window is not None:
            parts.append(part_of(self.report_of(self.window), f"last {self.window.examples}"))
        slices = [(dict(part.where), part.evaluator) for part in (self.sliced.slices() if self.sliced else ())]
        mixed = {tuple(where) for where, _ in slices if not all(isinstance(value, str) for value in where.values())}
        for where, counts in slices:
            parts.append(part_of(self.report_of(counts), scope_text(where, mixed=tuple(where) in mixed), where))
        return parts

    def document(self, source: Mapping[str, object], names: Sequence[str] = (), notes: Sequence[str] = ()) -> Document:
        """What a command says of it; ``names`` are those of the metrics that were asked for."""
        headline = self.report.headline if self.counts.examples else "no examples"
        source = {**source, **self.counts.input_summary}
        return Document(self.parts, headline, source, self.counts.warnings, (), bool(names), notes)


def comparison(first: Result, second: Result, paths: Sequence[Path], notes: Sequence[str]) -> Document:
    """How two results differ."""
    stems = [path.stem for path in paths]
    names = stems if len({"metric", "label", "change", *stems}) == 5 else ["a", "b"]
    headlines = (first.report.headline, second.report.headline)
    source = dict(zip("ab", map(str, paths), strict=True))
    return Document(differences(first.parts, second.parts), "; ".join(headlines), source, (), names, notes=notes)


def load_state(path: Path) -> Any:
    """What a file holds."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file that --save wrote")
    if not path.exists():
        raise no_file(path)
    try:
        state = load(path)
    except StreamevalError as error:
        raise UserError(f"{path} is not a saved state: {str(error).removeprefix(f'{path}: ')}") from None
    if not isinstance(state, Evaluator | Metric | Sliced | Window):
        what = type(state).__name__
        raise UserError(f"{path} holds a {what}; read it with streameval.load, and save the evaluator that is in it")
    return state


def merged(paths: list[Path]) -> Any:
    """The states of some files as one."""
    total = load_state(paths[0])
    for path in paths[1:]:
        part = load_state(path)
        if type(part) is not type(total):
            kinds = f"{path} holds a {type(part).__name__}, {paths[0]} a {type(total).__name__}"
            raise UserError(f"{kinds}; they do not merge")
        try:
            total.merge(part)
        except StreamevalError as error:
            raise UserError(f"{path}: {error}") from None
    return total


class Output:
    """Where a command writes and in which format: checked before its work, as are the checks of metrics."""

    def __init__(self, options: Mapping[str, Any], inputs: Iterable[str | Path] = (), *, change: bool = False) -> None:
        self.options, self.format = options, format_of(options["output"], options["format"])
        self.checks = checks_of(options.get("fail_if"), change=change)
        paths = {f"--{name}": options.get(name) for name in ("save", "report", "output")}
        check_outputs(paths, inputs, options["force"])

    def write(
        self, document: Document, result: Result | None = None, trace: Trace | None = None, *, stopped: bool = False
    ) -> int:
        """Write the state and the page, each whole or not at all, and what the command says; its exit status."""
        try:
            if result is not None and self.options.get("save") is not None:
                write_output(self.options["save"], result.state.to_bytes())
            if result is not None and self.options.get("report") is not None:
                last = None if result.window is None else {f"last {result.window.examples:,}": result.window}
                page = result.counts.to_html(slices=result.sliced, windows=last, trace=trace)
                write_output(self.options["report"], page.encode())
        finally:  # what was counted is not lost with a disk that has become full
            with written_to(self.options["output"]):
                show(document, self.format, top=self.options.get("top", 20), raw=self.options.get("raw", False))
        if stopped:
            sys.stderr.write("interrupted: this is what was counted until then\n")
        return 130 if stopped else status_of(self.checks, document.parts)
