"""One state for each slice of the examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, cast, overload

import numpy as np

from streameval.errors import CounterOverflowError, InputError, MergeError, RevertError, public
from streameval.evaluation.core import Reading, core_of
from streameval.evaluation.counting import A, built_like, count_unused_labels, read
from streameval.evaluation.evaluator import Evaluator, MetricLike
from streameval.evaluation.guarding import changes, combines, copied, forget_gone, make, prepare_forget, reads
from streameval.evaluation.pages import Names, report_of
from streameval.evaluation.suspicions import look, look_if_due, set_next_look
from streameval.evaluation.templates import answer_of, put_template, take_template, template_of
from streameval.evaluation.value import Mergeable
from streameval.inputs.columns import Reader
from streameval.inputs.samples import check_row_keys
from streameval.kernel.backend import commit
from streameval.report.model import Report, Table, table_of_reports
from streameval.schema.config import NULLS, Null, Weight
from streameval.schema.input_notes import notes_of
from streameval.schema.labels import PerLabel
from streameval.schema.text import label_text, number_of, quoted, suggestion
from streameval.slices.axis import AxisSlices, Grouping, axes_of, put_axes, slices_in_pieces, take_axes, take_slices
from streameval.slices.gathering import Coded, coded, counted, read_at_once
from streameval.slices.values import OTHER, REST, Key, Other, Value, Where, typed, value_of, where_of
from streameval.states.base import COUNT_MAX, Part
from streameval.states.state_set import StateSet
from streameval.wire.envelope import SLICED, sealed
from streameval.wire.fields import Sink, Source, require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


_ANSWERS = "slices of a single metric answer"
_FEW = 16  # examples per slice, up to which counting them one by one is faster than making a state for each slice
_FAR = 2**28  # examples of a slice, up to which those of one call cannot overflow a count


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Generic[A]):
    """The examples with one value, or with one combination of values.

    Attributes
    ----------
    where
        The values by name; `OTHER` for all examples whose values have no slice of their own.
    evaluator
        An independent evaluator or metric with these examples.
    """

    where: Mapping[str, Value | Other]
    evaluator: A


@public
class Sliced(Mergeable, Generic[A]):
    """Metrics of each slice of the examples: by region, by device, by region and device.

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing, else `InputError`. It is copied.
    by
        The name to slice by, or several names, each of which slices all examples. Every example has a value for each: a
        string, an integer, a boolean, or None.
    cross
        Combinations of these names to slice by as well.
    max_slices
        How many slices each name and each combination may have. Where there are more values, those that come first in
        a fixed pseudo-random order have slices; the examples of all others are counted together, as `OTHER`.

    Examples
    --------
    >>> from streameval import Evaluator
    >>> sliced = Sliced(Evaluator(["f1_micro"]), by="region")
    >>> sliced.update({"cat"}, {"cat"}, where={"region": "eu"})
    >>> sliced.update_many([{"cat"}, {"dog"}], [{"dog"}, {"dog"}], where={"region": ["eu", "us"]})
    >>> sliced.get()
    {'region': {'eu': {'f1_micro': 0.5}, 'us': {'f1_micro': 1.0}}}
    >>> sliced["eu"].examples, sliced.total().get("f1_micro")
    (2, 0.6666666666666666)
    """

    __slots__ = ("_axes", "_by", "_cell", "_guard", "_room", "_template")
    _holder: ClassVar[int] = SLICED
    _template: A
    _cell: commit.Cell  # holds the slices along each axis
    _room: int  # how many examples `_prepare_add` may add before it sums up the total again

    def __init__(
        self, evaluator: A, *, by: str | Iterable[str], cross: Iterable[Iterable[str]] = (), max_slices: int = 1000
    ) -> None:
        self._template = template_of(evaluator, "Sliced")
        self._axes = tuple(axes_of(by, cross, max_slices))
        self._by = tuple(axis.names[0] for axis in self._axes if len(axis.names) == 1)
        self._guard, self._room = commit.Guard(), 0
        self.reset()

    @changes
    def reset(self) -> None:
        """Forget every example."""
        groups = (AxisSlices(axis, {REST: built_like(self._template, guard=self._guard)}) for axis in self._axes)
        cell, forms = commit.Root().cell(tuple(groups)), prepare_forget(self._guard)
        commit.Root.commit(forms)
        self._cell = cell

    @property
    def _slices(self) -> tuple[AxisSlices[A], ...]:
        return self._cell.value  # type: ignore[no-any-return]  # of a cell

    def update(
        self, y_true: object, y_pred: object, *, where: Mapping[str, Value], weight: Weight = 1.0, mask: object = None
    ) -> None:
        """Count one example, as `Evaluator.update` does.

        ``where`` holds a value for each name that slices are by; it may hold other names too.
        """
        keys = self._keys(where)
        if notes_of(self._guard).room or not self._count_plain([(keys, y_true, y_pred, weight, mask)]):
            self._count(keys, y_true, y_pred, weight, mask, 1)

    def revert(
        self, y_true: object, y_pred: object, *, where: Mapping[str, Value], weight: Weight = 1.0, mask: object = None
    ) -> None:
        """Revert one example, passed as it was passed to `update`.

        `RevertError` if the counts show that no such example was counted; or if it is the last one of its slice while
        other values are counted as `OTHER`: which of these would get the slice is no longer known.
        """
        self._count(self._keys(where), y_true, y_pred, weight, mask, -1)

    def _count_plain(self, examples: Sequence[tuple[Sequence[Key], object, object, Weight, object]]) -> bool:
        """Count examples, if reading them runs no code of the user and their slices exist."""
        parts, counting, most = list[Part](), set[int](), _FAR - len(examples)
        with self._guard:
            for keys, y_true, y_pred, weight, mask in examples:
                for group, key in zip(self._slices, keys, strict=True):
                    part = group.find(key)
                    plain = None if part is None else core_of(part).prepare_plain(y_true, y_pred, weight, mask)
                    # Increments for one slice add up; sums are stored as new values, which replace each other.
                    again = id(part) in counting and plain and (len(plain) > 1 or core_of(part).table.examples > most)
                    if plain is None or again:
                        parts, plain = [], None  # what was prepared is released while the guard is held
                        return False
                    counting.add(id(part))
                    parts += plain
            commit.Root.commit(parts)
        return True

    def _count(self, keys: list[Key], y_true: object, y_pred: object, weight: Weight, mask: object, sign: int) -> None:
        forget_gone(self)
        of_keys = [group.slices.get(key, group.rest) for group, key in zip(self._slices, keys, strict=True)]
        once = notes_of(self._guard).room  # noted once if read once; without notes, reading for each part is faster
        readings = [read(part, y_true, y_pred, weight, mask) for part in (of_keys[:1] if once else of_keys)]
        make([(self, self._prepare, (keys, readings, sign))])

    def _prepare(self, keys: list[Key], readings: list[Reading], sign: int) -> list[Part]:
        find = AxisSlices.find if sign > 0 else self._reverted
        places = (find(group, key) for group, key in zip(self._slices, keys, strict=True))
        of_keys = [part for part in places if part is not None]
        if len(of_keys) < len(keys):
            added = core_of(built_like(self._template))
            example, forms = added.placed(readings[0])
            added.states.count_one(example, 1)
            return self._prepare_add([{key: added.states} for key in keys], 1) + forms
        for counting in of_keys:
            set_next_look(self._guard, core_of(counting))
        pairs = zip(of_keys, cycle(readings), strict=False)
        return [part for counting, reading in pairs for part in core_of(counting).prepare(reading, sign)]

    def _reverted(self, group: AxisSlices[A], key: Key) -> A:
        part = group.slices.get(key)
        if part is None or not part.examples:
            part = group.rest
            if group.selected([key])[0]:
                raise RevertError(f"cannot revert: no example of {group.axis.describe(key)} was counted")
        elif part.examples == 1 and group.rest.examples:
            last = f"this is the last example of {group.axis.describe(key)}"
            why = f"cannot revert: {last}, and the value that should get its slice is no longer known"
            raise RevertError(f"{why}; construct with max_slices={group.axis.max_slices + 1} or more")
        count_unused_labels(part, 1, guarded=True)
        return part

    def update_many(
        self, y_true: object, y_pred: object, *, where: Mapping[str, object], weights: ArrayLike | None = None,
        mask: object = None, null: Null = "error",
    ) -> None:  # fmt: skip
        """Count many examples, as `Evaluator.update_many` does: all of them, or none if anything is wrong.

        ``where`` holds, for each name that slices are by, the values of all examples: an array, a list, a column of
        Arrow, pandas or polars. A data frame or an Arrow table will do, and may hold other columns too.
        """
        values = {name: value_of(where, name) for name in self._by}
        columns = [coded(value, name) for name, value in values.items()]
        if len({len(column.codes) for column in columns}) > 1:
            sizes = " and ".join(f"{name} {len(column.codes)}" for name, column in zip(self._by, columns, strict=True))
            raise InputError(f"numbers of examples differ: in where, {sizes}; give one value of each per example")
        forget_gone(self)
        sides = {"y_true": y_true, "y_pred": y_pred}
        check_row_keys(sides | {f"where[{name!r}]": each for name, each in values.items()}, notes_of(self._guard))
        with self._guard.reading:
            groupings, slices = self._grouped(columns), self._slices[0].slices
            like = slices[next(filter(None, slices), REST)]  # its labels have columns already
        plain = weights is None and mask is None and null in NULLS and not notes_of(self._guard).room
        examples, slices_of_all = len(columns[0].codes), sum(len(keys) - 1 for _, keys in groupings)
        few = examples * len(groupings) <= _FEW * slices_of_all
        if plain and few and all(_are_rows(side, examples) for side in (y_true, y_pred)):
            for group, (_, keys) in zip(self._slices, groupings, strict=True):
                for known in map(core_of, filter(None, map(group.slices.get, keys))):
                    look_if_due(self._guard, known)
                    set_next_look(self._guard, known)
            own = zip(*([keys[code] for code in codes.tolist()] for codes, keys in groupings), strict=True)
            rows: Any = y_true, y_pred
            if self._count_plain([*zip(own, *rows, repeat(1.0), repeat(None), strict=False)]):
                return
        groups = max(len(keys) for _, keys in groupings)
        core = core_of(like).scratch(self._guard)
        core.reader.at_once = read_at_once(groups)
        core.reader.again |= len(groupings) > 1
        batches = list(core.read_many(y_true, y_pred, weights, mask, null=null))
        while True:  # repeats only if slices were displaced meanwhile
            sets, before = counted(batches, [(codes, len(keys)) for codes, keys in groupings], core.states), groupings
            groupings = self._add_counted(sets, before, columns, core.reader)
            if groupings is before:
                return

    @changes
    def _add_counted(
        self, sets: list[list[StateSet]], before: list[Grouping], columns: list[Coded], reader: Reader
    ) -> list[Grouping]:
        """Add counts by slice if the groupings are still valid; return the groupings that are valid now."""
        groupings = self._grouped(columns)
        if any(then != now for (_, then), (_, now) in zip(before, groupings, strict=True)):
            return groupings
        added = [dict(zip(keys, of_keys, strict=True)) for (_, keys), of_keys in zip(before, sets, strict=True)]
        commit.Root.commit(self._prepare_add(added, len(before[0][0])) + reader.confirm())
        return before

    def _grouped(self, columns: list[Coded]) -> list[Grouping]:
        return [group.grouped(columns) for group in self._slices]

    def _counters(self) -> Iterable[A]:
        return chain.from_iterable(group.slices.values() for group in self._slices)

    @combines
    def merge(self, other: Self) -> None:
        """Add all examples that ``other``, of the same configuration, has counted; merging with itself doubles."""
        self._check_compatible(other, "merge")
        added = [{key: core_of(part).states for key, part in group.slices.items()} for group in other._slices]
        commit.Root.commit(self._prepare_add(added, other._slices[0].examples()))

    @combines
    def unmerge(self, other: Self) -> None:
        """Remove all examples that ``other`` has counted: the exact inverse of `merge`.

        `MergeError` if their configurations differ, or if examples were counted together as `OTHER`: which of their
        values would then have a slice is not known any more. `RevertError` if the counts show that ``other`` was not
        merged. Nothing has changed then.
        """
        self._check_compatible(other, "unmerge")
        taken = list[tuple[A, A]]()
        for group, theirs in zip(self._slices, other._slices, strict=True):
            if group.rest.examples or theirs.rest.examples:
                mixed = f"by {group.axis.describe()}, examples of several values were counted together"
                why = f"cannot unmerge: {mixed}, and the values that should have slices are no longer known"
                raise MergeError(f"{why}; construct with a max_slices= above {group.axis.max_slices}")
            for key, part in theirs.slices.items():
                if part.examples:
                    if key not in group.slices:
                        raise RevertError(f"cannot unmerge: no example of {group.axis.describe(key)} was counted")
                    taken.append((group.slices[key], part))
        both = [(core_of(mine).states, core_of(part).states) for mine, part in taken]
        commit.Root.commit([part for mine, theirs in both for part in mine.prepare_unmerge(theirs)])
        for mine, part in taken:
            count_unused_labels(mine, 1 + len(core_of(part).labels), guarded=True)

    def _parameters(self) -> dict[str, object]:
        return {"by": self._by, "cross": self.cross, "max_slices": self._axes[0].max_slices}

    def _prepare_add(self, added: Sequence[dict[Key, StateSet]], examples: int) -> list[Part]:
        """Prepare to add counts, by key, to the slices along each axis."""
        if examples > self._room:  # `update` takes nothing from it: single examples are too few to matter
            count = self._slices[0].examples()
            if count + examples > COUNT_MAX:
                most = f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits"
                raise CounterOverflowError(f"{most}; evaluate in parts, each on its own: {count} are there")
            self._room = (COUNT_MAX - count) // 2
        self._room -= examples
        changed, parts = list[tuple[AxisSlices[A], dict[Key, A]]](), list[Part]()
        for group, of_keys in zip(self._slices, added, strict=True):
            group, fresh, merges = group.with_examples(of_keys, self._template, self._guard)
            changed.append((group, fresh))
            for target, states in merges:
                parts += core_of(target).prepare_merge(states)
        for group, fresh in changed:
            group.slices.update(fresh)  # invisible as long as they have no examples
        return [*parts, self._cell.prepare_store(tuple(group for group, _ in changed))]

    def _keys(self, where: Mapping[str, Value]) -> list[Key]:
        values = [typed(value_of(where, name), name) for name in self._by]
        return [tuple(values[place] for place in group.axis.places) for group in self._slices]

    @property
    def by(self) -> tuple[str, ...]:
        """The names by which examples are sliced."""
        return self._by

    @property
    def cross(self) -> tuple[tuple[str, ...], ...]:
        """The combinations of names by which examples are also sliced."""
        return tuple(axis.names for axis in self._axes[len(self._by) :])

    @property
    def reads_scores(self) -> bool:
        """Whether numbers in ``y_pred`` are read as scores."""
        return self._template.reads_scores

    @property
    @reads
    def examples(self) -> int:
        """Number of examples counted."""
        return self._slices[0].examples()

    @reads
    def total(self) -> A:
        """An independent evaluator or metric with all examples."""
        total = self._slices[0].total(self._template)
        total._guard.notes = copied(self._guard).notes
        return total

    @reads
    def slices(self, by: Names | None = None) -> tuple[Slice[A], ...]:
        """Independent copies of the slices by a name or a combination of names; by default of all slices.

        They are sorted; the last one holds the examples whose values have no slice, if there are any.
        """
        groups = self._selected(by)
        return tuple(Slice(group.axis.where(key), part.copy()) for group in groups for key, part in group.ordered())

    def __getitem__(self, where: Mapping[str, Value | Other] | Value | Other) -> A:
        """An independent object with the examples of one slice, by its value or as ``{name: value, ...}``.

        `InputError` if there is no such slice.
        """
        return self._at(self._where(where))

    def __contains__(self, where: object) -> bool:
        where = self._where(where)
        try:
            return self._at(where).examples > 0
        except InputError:
            return False

    @reads
    def __iter__(self) -> Iterator[Any]:
        """The keys of all slices, as ``sliced[...]`` takes them."""
        wheres = [group.axis.where(key) for group in self._slices for key, _ in group.ordered()]
        return iter(wheres if len(self._slices) > 1 else [where[self._by[0]] for where in wheres])

    @reads
    def __len__(self) -> int:
        return sum(len(group.ordered()) for group in self._slices)

    def _ipython_key_completions_(self) -> list[Any]:
        return [*self]

    def _where(self, where: Any) -> dict[str, Any]:
        if isinstance(where, Mapping):
            return dict(where)  # a mapping of the user may run code
        if len(self._by) > 1:
            raise InputError(f"slices are by {self._by}; write sliced[{{{self._by[0]!r}: {quoted(where)}}}]")
        return {self._by[0]: where}

    @reads
    def _at(self, where: dict[str, Value | Other]) -> A:
        for group in self._slices:
            names = group.axis.names
            if set(names) == set(where):
                values = tuple(where[name] for name in names)
                if all(value is OTHER for value in values):
                    return group.rest.copy()
                part = group.slices.get(tuple(map(typed, values, names)))
                if part is None or not part.examples:
                    known = [value for value in map(where_of, group.keys()) if isinstance(value, str)]
                    raise InputError(f"there is no slice {quoted(where)}{suggestion(values[0], known)}")
                return part.copy()
        raise InputError(f"slices are by {[group.axis.names for group in self._slices]}, not by {quoted(tuple(where))}")

    @overload
    def get(
        self: Sliced[Evaluator], metric: None = None, *, by: Names | None = None
    ) -> dict[Names, dict[Where, dict[str, float | PerLabel]]]: ...
    @overload
    def get(
        self, metric: MetricLike | None = None, *, by: Names | None = None
    ) -> dict[Names, dict[Where, float | PerLabel]]: ...
    def get(self, metric: MetricLike | None = None, *, by: Names | None = None) -> object:
        """Values of the metrics of each slice, by name and then by value; see `slices` for the order.

        Of one metric of an evaluator, or of all of its metrics by name. ``by`` is a name, or a tuple of names that was
        passed in ``cross``; by default, the answer has all of them.
        """
        self._look()
        with self._guard.reading:
            if not self.examples:
                answer_of(self._template, metric, _ANSWERS)  # no slice checks the metric
            return dict(self._answer(group, metric) for group in self._selected(by))

    @staticmethod
    def _answer(group: AxisSlices[A], metric: MetricLike | None) -> tuple[Names, dict[Where, Any]]:
        parts, names = group.ordered(), group.axis.names
        values = {where_of(key): answer_of(part, metric, _ANSWERS) for key, part in parts}
        if len(values) < len(parts):
            problem = f"{group.axis.describe()} holds booleans and also 0 and 1, which are the same keys to Python"
            raise InputError(f"{problem}; read slices()")
        return names[0] if len(names) == 1 else names, values

    def report(self, by: Names | None = None, *, digits: int = 4) -> str:
        """A table: examples and metrics of each slice and of all together. Values per label are left out."""
        from streameval.report.text import slices_report  # only when asked

        self._look()
        with self._guard.reading:
            return slices_report(self._tables(by), digits)

    def plot(self, metric: MetricLike | None = None, **options: object) -> Axes:
        """Draw a metric of each slice, with matplotlib; see `streameval.plots.plot_slices`, which has the options."""
        return cast("Axes", self._draw("slices", metric=metric, **options))

    def _look(self) -> None:
        look(self._guard, self.examples, lambda: core_of(self.total()))

    def _tables(self, by: Names | None = None) -> list[Table]:
        """A table for each axis: its slices in order, then the total."""
        total, tables = report_of(self.total()), []
        for group in self._selected(by):
            parts = group.ordered()
            wheres = [[*group.axis.where(key).values()] for key, _ in parts]
            mixed = not all(isinstance(value, str) for values in wheres for value in values)
            names = (" x ".join(label_text(value, mixed=mixed) for value in values) for values in wheres)
            cores = (core_of(part) for _, part in parts)
            reports = (Report(core.views(), core.specs) for core in cores)  # without notes on the input
            rows = [*zip(names, reports, strict=True), ("total", total)]
            tables.append(table_of_reports(group.axis.describe(), rows, strict=True))
        return tables

    def _display(self) -> tuple[str, Sequence[Table]]:
        from streameval.report.notebook import slice_table

        head = f"Sliced: {number_of(self.examples, 'example')}, {self._sizes()}"
        return head, [slice_table(table) for table in self._tables()]

    def _selected(self, by: Names | None) -> list[AxisSlices[A]]:
        names = (by,) if isinstance(by, str) else by
        groups = [group for group in self._slices if names is None or group.axis.names == names]
        if not groups:
            raise InputError(f"by must be one of {[one.axis.describe() for one in self._slices]}, not {quoted(by)}")
        return groups

    @reads
    def copy(self) -> Self:
        """An independent object with the same content."""
        result = self._like()
        result._cell = commit.Root().cell(tuple(group.copy(result._guard) for group in self._slices))
        return result

    def _pieces(self, *, compared: bool = False) -> Iterator[bytes]:
        sink = self._head(compared=compared)
        for group in self._slices:
            sink.append(slices_in_pieces(group))
        return sealed(SLICED, sink.pieces())

    def _head(self, *, compared: bool = False) -> Sink:
        sink = Sink()
        put_template(sink, self._template, compared=compared)
        put_axes(sink, self._axes)
        return sink

    @classmethod
    def _taken_from(cls, source: Source) -> Self:
        start, empty = source.place(), take_template(source)
        result = cls(empty, **take_axes(source))
        require(b"".join(result._head().pieces()) == source.since(start))
        first, *further = slices = tuple(take_slices(source, fresh, result._guard) for fresh in result._slices)
        result._cell = commit.Root().cell(slices)
        whole = first.total(empty) if further else None
        require(first.examples() <= COUNT_MAX, all(group.total(empty) == whole for group in further))
        return result

    @reads
    def __repr__(self) -> str:
        names = ", ".join(spec.key for spec in core_of(self._template).specs) or "no metrics"
        return f"Sliced({number_of(self.examples, 'example')}, {self._sizes()}; {names})"

    def _sizes(self) -> str:
        return ", ".join(f"{len(group.keys())} by {group.axis.describe()}" for group in self._slices)


def _are_rows(side: object, examples: int) -> bool:
    return (type(side) is list or (type(side) is np.ndarray and side.ndim == 2)) and 0 < len(side) == examples
