"""The values of metrics along a stream, as columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from streameval.errors import InputError, MetricError, public, warning_first
from streameval.evaluation.core import Core, core_of
from streameval.evaluation.counting import Accumulator, scratch
from streameval.evaluation.evaluator import specs_of
from streameval.evaluation.guarding import Change, held, look_at, make, reads
from streameval.evaluation.metric import Metric
from streameval.kernel.backend import commit
from streameval.metrics.catalogue import parse_spec
from streameval.metrics.spec import MetricSpec
from streameval.progressive.holder import Holder
from streameval.progressive.target import Target, Values, all_read_scores, check_order, instant, reads_scores
from streameval.report.label_table import PandasFrame, PolarsFrame, to_pandas, to_polars
from streameval.report.model import MetricValue, Report, Table
from streameval.report.parts import Key, Line, column_of
from streameval.schema.batch import Batch
from streameval.schema.config import Null, Weight
from streameval.schema.labels import ascending
from streameval.schema.text import check_number, number_of, quoted
from streameval.states.base import Part
from streameval.wire.envelope import TRACE
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import SPAN, TUPLE, Names, packed, put_value, put_values, take_value, take_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

_SIDES = ("low", "high")
"""Under a key with one of these words appended, a row holds a bound of a value that is not exact."""
_Row: TypeAlias = tuple[int, object, dict[tuple[Any, ...], float]]


class _Rows(list[_Row]):
    """A list of rows. Rows never change, so deep copies of the list share them."""

    def __deepcopy__(self, memo: dict[int, object]) -> _Rows:
        return _Rows(self)


@public
class Trace(Holder):
    """Updates one or more evaluators, and records their values every ``every`` examples.

    Parameters
    ----------
    evaluators
        An `Evaluator`, a metric object or a window, or a mapping of names to these, for example
        ``{"all": Evaluator(), "last 1000": window}``. Each is used as it is, not copied.
    every
        Number of examples between two rows.
    metrics
        Which metrics are recorded; None for all that the evaluators have. `MetricError` if none has one.

    Notes
    -----
    It is saved with its rows and its evaluators.

    Examples
    --------
    >>> import streameval as se
    >>> trace = Trace(se.Evaluator(["f1_micro"]), every=2)
    >>> for y_true, y_pred in [("a", "a"), ("b", "a"), ("b", "b"), ("a", "a")]:
    ...     trace.update({y_true}, {y_pred})
    >>> trace.columns()
    {'examples': [2, 4], 'f1_micro': [0.5, 0.75]}
    """

    _holder, _saved = TRACE, ("every",)

    def __init__(
        self, evaluators: object, *, every: int = 100, metrics: Iterable[str | MetricSpec] | None = None
    ) -> None:
        every = check_number("every", every, 1)
        self._targets = self._named_targets(evaluators)
        self._every = every
        self._metrics = None if metrics is None else _checked_metrics(metrics, self._targets)
        self._guard = commit.Guard()
        # Copying the list for each row would be slow: it grows in place, and the cell says how many rows count.
        self._written = _Rows()
        self._cell = commit.Root().cell((0, None, 0))  # the number of examples, the time, the number of rows

    @classmethod
    def _named_targets(cls, evaluators: object) -> dict[str, Target]:
        if not isinstance(evaluators, Mapping):
            return {"": cls._target(evaluators, "evaluators")}
        if not evaluators:
            raise InputError("evaluators is empty; give an evaluator, or a mapping name -> evaluator")
        targets: dict[str, Target] = {}
        for name, evaluator in evaluators.items():
            if not isinstance(name, str) or not name:
                raise InputError(f"evaluators has the name {quoted(name)}; names are strings that are not empty")
            for other in (other for other, target in targets.items() if target.evaluator is evaluator):
                same = f"{quoted(other)} and {quoted(name)} are one object"
                raise InputError(f"{same}, which would count each example twice")
            targets[name] = cls._target(evaluator, f"evaluators[{name!r}]")
        return targets

    def update(
        self, y_true: object, y_pred: object, *, weight: Weight = 1.0, mask: object = None, t: object = None
    ) -> None:
        """Count one example in every evaluator, as its ``update`` does, or in none if any of them refuses it.

        Its time ``t`` is a number or a datetime, which must not go backwards. It becomes the column ``time``, and is
        passed to those evaluators that are windows over time.
        """
        if not (self._cell.value[0] + 1) % self._every:
            self._look()  # before anything is counted
        if t is not None or not self._count_plain(y_true, y_pred, weight, mask):
            make([self._change(y_true, y_pred, weight=weight, mask=mask, t=t)])
        if not self._cell.value[0] % self._every:
            self._write()

    def update_many(
        self,
        y_true: object,
        y_pred: object,
        *,
        weights: ArrayLike | None = None,
        mask: object = None,
        null: Null = "error",
    ) -> None:
        """Count many examples in every evaluator: the same as one by one, or none if anything is wrong.

        Arguments are those of `Evaluator.update_many`. `InputError` if an evaluator is a window: call `update` instead.
        """
        for name, one in self.evaluators.items():
            if not isinstance(one, Accumulator):
                which = f"evaluators[{name!r}]" if name else "it"
                raise InputError(f"update_many takes no windows, but {which} is one; call update for each example")
        sides = [[*side] if isinstance(side, Iterator) else side for side in (y_true, y_pred, weights, mask)]
        gathered = list[tuple[Core, list[Batch]]]()
        for one in self.evaluators.values():
            core = scratch(one)
            core.reader.again = True  # batches are read more than once
            gathered.append((core, list(core.read_many(sides[0], sides[1], sides[2], sides[3], null=null))))
        if examples := sum(batch.examples for batch in gathered[0][1]):
            before = self.examples
            if before // self._every < (before + examples) // self._every:
                self._look()  # before anything is counted
            warning_first(self._add, gathered, examples)
            if before // self._every < self.examples // self._every:
                self._write()

    def _add(self, gathered: list[tuple[Core, list[Batch]]], examples: int) -> None:
        """Add what was read to the evaluators, with the rows that are due before the last example."""
        with commit.Guards([self._guard, *self._inner_guards]):
            (before, moment, _), every, count, rows = self._cell.value, self._every, self._completed(), list[_Row]()
            dues = range(before - before % every + every, before + examples, every)
            copies = {name: one.copy() for name, one in self.evaluators.items()} if dues else {}
            for start, stop in pairwise([before, *dues]):
                for copied, (core, batches) in zip(copies.values(), gathered, strict=True):
                    core_of(copied).merge(core.counted(batches, start - before, stop - before))
                rows.append((stop, moment, self._row_of(copies)))
            self._written[count:] = rows
            parts = [self._cell.prepare_store((before + examples, moment, count + len(rows)))]
            for one, (core, batches) in zip(self.evaluators.values(), gathered, strict=True):
                parts += core_of(one).prepare_merge(core.counted(batches, 0, examples), core.reader)
            commit.Root.commit(parts)

    def _write(self) -> None:
        """Store the row of the last example, if one is due, after the commit of the example."""
        with self._guard:
            self._store(self._completed())

    def _store(self, rows: int) -> None:
        commit.Root.commit([self._cell.prepare_store((*self._cell.value[:2], rows))])

    def _completed(self) -> int:
        """Add the row of the last example if it is due; return the number of rows. The guard is held."""
        count, due = int(self._cell.value[2]), self._due()
        self._written[count:] = due  # replaces what an interrupted call left
        return count + len(due)

    def _look(self) -> None:
        """Let evaluators warn before a change: when a row is written, guards are held, so they do not warn."""
        for target in self._targets.values():
            look_at(target.evaluator)

    def _count_plain(self, y_true: object, y_pred: object, weight: Weight, mask: object) -> bool:
        """Count an example if all evaluators can read it without running code of the user; else return False."""
        evaluators = self.evaluators.values()
        with commit.Guards([self._guard, *[one._guard for one in evaluators]]):
            parts = self._prepare(None, ())
            for one in evaluators:
                if (plain := one._prepare_plain(y_true, y_pred, weight, mask)) is None:
                    parts.clear()  # what was prepared is released while the guards are held
                    return False
                parts += plain
            commit.Root.commit(parts)
        return True

    def _change(
        self, y_true: object, y_pred: object, *, weight: Weight = 1.0, mask: object = None, t: object = None
    ) -> Change:
        """Read one example to be counted, for every evaluator."""
        if t is not None:
            check_order(self._cell.value[1], t, "t")
        changes = [target.change(y_true, y_pred, weight, mask, t) for target in self._targets.values()]
        return self, self._prepare, (t, changes)

    def _prepare(self, t: object, changes: Sequence[Change]) -> list[Part]:
        """Prepare to count what `_change` read, as one more example; the guards are held until the commit."""
        examples, moment, rows = self._cell.value
        rows = rows if examples % self._every else self._completed()
        parts = [self._cell.prepare_store((examples + 1, self._moment(moment, t), rows))]
        for _, prepare, what in changes:
            parts += prepare(*what)
        return parts

    def record(self) -> None:
        """Record a row now; it replaces a row that was recorded after the same number of examples."""
        self._look()
        with self._guard:
            count = self._completed()
            same = bool(count) and self._written[count - 1][0] == self.examples
            self._written[count - same :] = [self._row()]
            self._store(count - same + 1)

    @property
    def _rows(self) -> list[_Row]:
        return self._written[: self._cell.value[2]] + self._due()

    def _due(self) -> list[_Row]:
        """The row of the last example, if it is due but not stored yet; the guard is held."""
        examples, _, count = self._cell.value
        is_due = examples and not examples % self._every
        return [self._row()] if is_due and (not count or self._written[count - 1][0] != examples) else []

    def _row(self) -> _Row:
        return *self._cell.value[:2], self._row_of(self.evaluators)

    def _row_of(self, evaluators: dict[str, Any]) -> dict[tuple[Any, ...], float]:
        row: dict[tuple[Any, ...], float] = {}
        for name, evaluator in evaluators.items():
            for item in _values_of(evaluator, self._metrics):
                for label, value in item.by_label.items():
                    key, bounds = (item.spec.key, name, label), item.bounds.get(label)
                    row[key] = float(value)
                    if bounds is not None and not bounds.exact:
                        row |= {(*key, side): getattr(bounds, side) for side in _SIDES}
        return row

    @property
    def every(self) -> int:
        """Number of examples between two rows."""
        return self._every

    @property
    def examples(self) -> int:
        """Number of examples counted."""
        return int(self._cell.value[0])

    @property
    def evaluators(self) -> dict[str, Any]:
        """The evaluators by name; a single one has the name ``""``."""
        return {name: target.evaluator for name, target in self._targets.items()}

    @property
    def reads_scores(self) -> bool:
        """Whether the evaluators read scores, or `InputError` if only some do."""
        return all_read_scores({repr(name): reads_scores(one) for name, one in self.evaluators.items()})

    @reads
    def get(self) -> Values:
        """The values now, by name, with the evaluator's name in brackets where it has one."""
        return {
            column_of((item.spec.key, name, None)): item.value
            for name, evaluator in self.evaluators.items()
            for item in _values_of(evaluator, self._metrics)
        }

    @reads
    def columns(self) -> dict[str, list[object]]:
        """The rows as columns of equal length, ready for ``pandas.DataFrame`` and ``polars.DataFrame``.

        ``examples``; ``time`` if any was passed, None where it was not, in UTC where zones differ; then one column per
        metric and evaluator, such as ``f1_micro`` or ``f1_micro [last 1000]``. A metric without average has one column
        per label, such as ``recall_per_label: cat``, with NaN in the rows from before the label occurred.
        """
        rows = self._rows
        columns: dict[str, list[object]] = {"examples": [examples for examples, _, _ in rows]}
        moments = [moment for _, moment, _ in rows]
        # The repr of a zone, because zones of dateutil cannot be hashed.
        if kinds := {(type(one), repr(getattr(one, "tzinfo", None))) for one in moments if one is not None}:
            columns["time"] = moments if len(kinds) == 1 else [*map(instant, moments)]  # a column has one kind
        return columns | {column_of(key): [row.get(key, math.nan) for _, _, row in rows] for key in self._keys()}

    def to_pandas(self) -> PandasFrame:
        """The rows as a pandas data frame; see `columns`."""
        return to_pandas(self.columns())

    def to_polars(self) -> PolarsFrame:
        """The rows as a polars data frame; see `columns`."""
        return to_polars(self.columns())

    def _keys(self) -> list[Key]:
        """The keys of the columns; those of one metric and evaluator are adjacent."""
        keys = dict.fromkeys(key for _, _, row in self._rows for key in row if len(key) == 3)
        order = {lines: place for place, lines in enumerate(dict.fromkeys(key[:2] for key in keys))}
        return sorted(keys, key=lambda key: order[key[:2]])

    def plot(
        self, metrics: Iterable[str | MetricSpec] | None = None, *, ax: Axes | None = None, title: str | None = None
    ) -> Axes:
        """Plot the values against time, or against the number of examples, and return the axes; needs matplotlib.

        It draws all that was recorded, or only ``metrics``, on ``ax`` or new axes; with ``title=""`` it has no title.
        `InputError` if there is no row yet, `MetricError` if a metric was not recorded.
        """
        from streameval.plots.curves import plot_lines  # only when asked, so that importing the package stays quick

        axis, along, lines = self._lines()
        if not along:
            no_row = f"no row was recorded yet, the first is after {self._every} examples"
            raise InputError(f"there is nothing to plot: {no_row}")
        if metrics is not None:
            wanted, known = set(_names_of(metrics)), {line.metric for line in lines}
            if missing := wanted - known:
                raise MetricError(f"{min(missing)} was not recorded; choose from {sorted(known)}")
            lines = [line for line in lines if line.metric in wanted]
        return plot_lines(lines, along, axis, ax=ax, title=title)

    @reads
    def _lines(self, *, timed: bool = True) -> tuple[str, Sequence[Any], list[Line]]:
        """What plots draw: the name of the x axis, "time" if every row has one, its values, and the lines."""
        rows = self._rows
        examples, times = ([row[place] for row in rows] for place in (0, 1))
        lines = []
        for key in self._keys():
            values = np.array([row.get(key, math.nan) for _, _, row in rows], np.float64)
            sides = (np.array([row.get((*key, side), math.nan) for _, _, row in rows], np.float64) for side in _SIDES)
            lines.append(Line(*key, values, *(np.where(np.isnan(side), values, side) for side in sides)))
        return ("time", times, lines) if timed and rows and None not in times else ("examples", examples, lines)

    @reads
    def __len__(self) -> int:
        return int(self._cell.value[2]) + len(self._due())

    @reads
    def __repr__(self) -> str:
        return f"Trace({number_of(self.examples, 'example')}, {number_of(len(self), 'row')}, every {self._every})"

    def _display(self) -> tuple[str, Sequence[Table]]:
        from streameval.report.notebook import latest_table

        return repr(self), [latest_table(self.columns())]

    def _parameters(self) -> dict[str, Any]:
        return {"every": self._every, "metrics": self._metrics}

    def _put(self, sink: Sink) -> None:
        put_value(sink, self._metrics, TUPLE)
        rows, (examples, moment, _) = self._rows, self._cell.value
        sink += (varint(len(rows)), _bytes_of(rows), varint(examples))
        put_value(sink, moment, SPAN, "t")

    def _take(self, source: Source) -> None:
        metrics = self._metrics = take_value(source, TUPLE)
        require(metrics is None or (isinstance(metrics, tuple) and metrics == _names_of(metrics)))
        names, rows = Names(), list[_Row]()
        for _ in range(source.count()):
            at, when = source.varint(), take_value(source, SPAN)
            columns, values = names.take(source), take_values(source)
            require(all(type(key) is tuple and len(key) in (3, 4) for key in columns))
            require(not values or isinstance(values, array))
            for metric, name, label, *side in columns:
                require(isinstance(metric, str), name in self._targets, type(label) in (str, int, NoneType))
                require(not side or (side[0] in _SIDES and (metric, name, label) in columns))
            rows.append((at, when, dict(zip(columns, map(float, values), strict=True))))
        examples, moment = source.varint(), take_value(source, SPAN)
        for since, until in pairwise([None, *(when for _, when, _ in rows), moment]):
            if since is not None or until is not None:
                check_order(since, until, "t")
        written = [at for at, _, _ in rows]
        due = sum(not at % self._every for at in written if at)
        require(ascending(written), not rows or written[-1] <= examples, due == examples // self._every)
        self._written, self._cell = _Rows(rows), commit.Root().cell((examples, moment, len(rows)))


def _bytes_of(rows: Iterable[_Row]) -> Iterator[bytes]:
    names, columns = Names(), tuple[Key, ...]()
    for at, when, row in rows:
        part = Sink((varint(at),))
        put_value(part, when, SPAN, "t")
        columns = columns if columns == (*row,) else (*row,)
        names.put(part, columns)
        put_values(part, packed((*row.values(),)))
        yield b"".join(part.pieces())


def _values_of(evaluator: Any, metrics: tuple[str, ...] | None) -> list[MetricValue]:
    """The present values of an evaluator: of its own metrics, or of those in ``metrics`` that it can answer."""
    with held(evaluator):
        current = evaluator._current()
        core = core_of(current)
        report, specs = Report(core.views()), [*core.specs]
        if metrics is None:
            return report.values(specs, strict=True)
        if not isinstance(current, Metric):
            specs = [*map(parse_spec, metrics)]
        return [item for item in report.values(specs) if item.error is None and item.spec.key in metrics]


def _names_of(metrics: Iterable[str | MetricSpec]) -> tuple[str, ...]:
    return tuple(spec.key for spec in specs_of(metrics))


def _checked_metrics(metrics: Iterable[str | MetricSpec], targets: dict[str, Target]) -> tuple[str, ...]:
    names = _names_of(metrics)
    answered = {item.spec.key for target in targets.values() for item in _values_of(target.evaluator, names)}
    for name in names:
        if name not in answered:
            raise MetricError(f"{name} cannot be read from any of the evaluators; leave it out, or give an Evaluator")
    return names
