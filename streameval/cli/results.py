"""What a command shows and writes: reports of all rows, of a window and of slices; states, read, merged and saved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from streameval.cli.outputs import is_device, write_output
from streameval.cli.reading import UserError
from streameval.delivery.checkpoint import load
from streameval.errors import StreamevalError
from streameval.evaluation.evaluator import Evaluator
from streameval.evaluation.metric import Metric
from streameval.evaluation.pages import report_of
from streameval.metrics.spec import MetricSpec
from streameval.report.model import Cell, Column, Report, Table, largest_first, listed
from streameval.schema.cached import cached_property
from streameval.slices import Sliced
from streameval.tabular.sources import no_file
from streameval.windows.base import Window

Counts: TypeAlias = Evaluator | Metric


@dataclass(frozen=True)
class Result:
    """All rows, with windows and slices, and the metrics to show of each."""

    counts: Counts
    specs: tuple[MetricSpec, ...]
    windows: Mapping[str, Counts] = field(default_factory=dict)
    sliced: Sliced[Any] | None = None
    zero_division: float | None = None

    @classmethod
    def of(
        cls, state: object, specs: Iterable[MetricSpec] = (), window: Window[Any] | None = None, **rest: Any
    ) -> Result:
        """Of anything that can be saved."""
        windows = {} if window is None else {f"last {window.examples:,}": window.snapshot()}
        counts: Any = state.snapshot() if isinstance(state, Window) else state
        sliced = counts if isinstance(counts, Sliced) else None
        counts = counts if sliced is None else sliced.total()
        own = counts.metrics if isinstance(counts, Evaluator) else (counts.spec,)
        return cls(counts, tuple(specs) or own, windows, sliced, **rest)

    @cached_property
    def report(self) -> Report:
        """Of all rows."""
        return report_of(self.counts, self.specs)

    @property
    def has_labels(self) -> bool:
        """Whether precision, recall and F1 of each label can be computed."""
        return isinstance(self.counts, Evaluator) and self.report.has_decisions

    def slices(self, axis: str | tuple[str, ...] | None = None) -> Iterator[tuple[dict[str, Any], Counts]]:
        """The slices by one name or by several together, or all of them: the values that make each, and its counts."""
        for part in self.sliced.slices(axis) if self.sliced is not None else ():
            yield dict(part.where), part.evaluator


def tables_of(result: Result, *, top: int) -> list[Table]:
    """The metrics, then the slices, then the labels with the largest support."""
    items = result.report.single()
    if not result.counts.examples:  # numbers of nothing are not results
        return []
    tables = [_metrics(result)] if items else []
    for axis in [*result.sliced.by, *result.sliced.cross] if result.sliced is not None else ():
        rows: list[list[Cell]] = []
        for where, counts in result.slices(axis if isinstance(axis, str) else tuple(axis)):
            values = report_of(counts).values(item.spec for item in items)
            rows.append([*where.values(), counts.examples, *(item.number for item in values)])
        by, names = [axis] if isinstance(axis, str) else [*axis], [item.spec.key for item in items]
        kinds = ["label"] * len(by) + ["count", *("fraction" if number else "bar" for number in range(len(names)))]
        tables.append(Table("slices", "", listed([*by, "examples", *names], kinds, rows)))  # type: ignore[arg-type]
    labels = _labels(result, top)
    return tables + ([labels] if labels is not None else [])


def _metrics(result: Result) -> Table:
    items = result.report.single()
    columns = [
        Column("metric", "label", [item.spec.key for item in items]),
        Column("all" if result.windows else "value", "bar", [item.number for item in items]),
    ]
    for name, counts in result.windows.items():
        values = report_of(counts).values(item.spec for item in items)
        columns.append(Column(name, "fraction", [value.number for value in values]))
    return Table("metrics", "", [*columns, Column("", "text", [item.direction for item in items])])


def _labels(result: Result, top: int) -> Table | None:
    report, columns = result.report, list[Column]()
    chosen = {item.column: list(item.value.values()) for item in report.values() if isinstance(item.value, dict)}
    order = list(range(len(report.labels)))
    if result.has_labels:
        counts = {"support": report.support, "predicted": report.counts.predicted.tolist()}
        columns = [Column(name, "count", values) for name, values in counts.items()]
        chosen = chosen or report.label_values(result.zero_division)
        order = largest_first(report.support) if len(order) > top else order
    last = next(reversed(chosen), "")
    columns += [Column(name, "bar" if name == last else "fraction", values) for name, values in chosen.items()]
    if not order or not columns or top == 0:
        return None
    left, order = len(order) - top, order[:top]
    note = f"{left:,} more labels; --top {len(report.labels)} shows all" if left > 0 else ""
    columns = [Column(column.name, column.kind, [column.values[at] for at in order]) for column in columns]
    return Table("labels", note, [Column("label", "label", [report.labels[at] for at in order]), *columns])


def difference_tables(first: Result, second: Result, names: tuple[str, str], *, top: int) -> list[Table]:
    """The metrics of two states side by side, and the labels whose F1 differs most."""
    rows: list[list[Cell]] = []
    for item in first.report.single():
        old, new = item.number, second.report.value(item.spec).number
        change = None if old is None or new is None else new - old
        verdict, better = "", item.entry.bigger_is_better
        if change and better is not None and not math.isnan(change):
            verdict = "better" if (change > 0) == better else "worse"
        rows.append([item.spec.key, old, new, change, verdict])
    kinds: list[Any] = ["label", "fraction", "fraction", "change"]
    tables = [Table("metrics", "", listed(["metric", *names, "change", ""], [*kinds, "text"], rows))]
    if first.has_labels and second.has_labels:
        reports = (first.report, second.report)
        before, after = (dict(zip(each.labels, each.label_values()["f1"], strict=True)) for each in reports)
        both = [(label, value, after[label]) for label, value in before.items() if label in after]
        changes = [(label, old, new, new - old) for label, old, new in both if old != new]
        changed = sorted(changes, key=lambda row: -abs(row[3]))
        if changed and top:
            note = f"{len(changed) - top:,} more labels differ" if len(changed) > top else ""
            tables.append(Table("labels", note, listed(["f1 by label", *names, "change"], kinds, changed[:top])))
    return tables


def load_state(path: Path) -> Any:
    """What a file holds."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file that --save wrote")
    if not path.exists():
        raise no_file(path)
    try:
        state = load(path)
    except StreamevalError as error:
        raise UserError(f"{path} is no saved state: {str(error).removeprefix(f'{path}: ')}") from None
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


def write_results(state: Any, result: Result, save: Path | None, report: Path | None) -> None:
    """Write the state and the page where asked; each whole or not at all."""
    if save is not None and is_device(save):
        save.write_bytes(state.to_bytes())
    elif save is not None:
        state.save(save)
    if report is not None:
        write_output(report, result.counts.to_html(slices=result.sliced, windows=result.windows or None).encode())
