"""What every state is: integers that a multiset of examples comes to, changed by parts that are prepared first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

import numpy as np

from streameval.errors import CounterOverflowError, RevertError, StreamevalError
from streameval.kernel.backend import commit
from streameval.kernel.types import FULL, FloatArray, IntArray
from streameval.schema.batch import Batch, Dense, Example, cells_of, columns_in, moved, ragged
from streameval.schema.labels import FEW, LabelIndex, by_column
from streameval.states.weights import ExactSums, SumCells, changed, common_scale, exact_weights, joined_sums, units_of

COUNT_MAX = 2**63 - 1

K = TypeVar("K", bound=Hashable)

Part: TypeAlias = Any
"""A prepared change of the kernel."""

S = TypeVar("S")
Merge: TypeAlias = tuple[S, IntArray | None, int]
"""Another state, where its columns stand in this one (None: the same), and the sign."""

Added: TypeAlias = tuple[ExactSums[K], int]
"""Sums that are added so many times; a negative number takes them back."""


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a state holds, in canonical order, whatever its history; large parts are read from it when called."""

    examples: int
    labels: Any  # the declared ones in their order, then the rest that is mentioned, sorted
    fixed: int  # how many are declared
    scale: int | None  # of weight sums, in units of ``2**-scale``, as small as can be; None if all equal their counts


class State(ABC, Generic[K]):
    """A table of the kernel and, where some example does not weigh 1, exact weight sums: see `testing.LAWS`."""

    reads: ClassVar[Literal["decisions", "scores"]]
    _sums_by_key: ClassVar[Callable[..., Any]] = SumCells
    too_many: ClassVar[str] = (
        f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits; evaluate in parts, each on its own"
    )

    __slots__ = ("_slack", "decisions", "extra", "labels", "options", "root", "table", "weights")

    def __init__(
        self, labels: LabelIndex, options: Any = None, root: Any = None, decisions: State[Any] | None = None
    ) -> None:
        self.labels = labels
        self.options = options
        # All states of a set share it. A change is prepared, which may fail and shows nothing; then all parts are
        # committed at once, which cannot fail.
        self.root = commit.Root() if root is None else root
        self.decisions = decisions  # of the same examples; None of decisions themselves
        self.table: Any = self._empty_table()
        # What the table has no place for, if anything, by key: all that one commit changes of it is one part.
        self.extra: SumCells[K] | None = SumCells(self.root, ExactSums()) if self._has_extra() else None
        self.weights: SumCells[K] = self._sums_by_key(self.root)  # absent where every example weighs 1
        # By how much, at least, all examples outweigh each label, in which units; what is added never lowers it.
        self._slack = 0, 0

    # -- what a kind says; unless it counts in its own way ------------------------------------------------------------

    def _empty_table(self) -> Any:
        """A table of the kernel that has counted nothing, if there is one."""
        return None

    def _has_extra(self) -> bool:
        """Whether the options ask for sums that the table has no place for."""
        return self.table is None

    def _keys(self, slots: list[int]) -> Iterable[K]:
        """What an example counts for, each key once, from the slots of its cells that are no true negatives."""
        raise NotImplementedError

    def _prepare_example(self, _example: Example, _sign: int, _known: bool) -> Part | int | None:
        """Prepare the counts of one example (sign 1) or their taking back (sign -1) in the table, if there is one."""
        return None

    def _read(self, batch: Batch) -> tuple[Any, ...]:
        """What a table of scores takes of a batch, of rows or of lists."""
        fixed = self.labels.fixed
        if isinstance(batch, Dense):
            return ((batch.columns, fixed, batch.true, batch.scores, batch.ranked, batch.mask),)
        none = np.zeros(batch.examples + 1, np.int64), np.zeros(0, np.int64)
        true, ranked = ragged(batch.true) or none, ragged(batch.ranked) or none
        return ((None, fixed, true, batch.scores, ranked, ragged(batch.mask)),)

    def _count(self, batch: Batch) -> None:
        """Count a batch in the table, but not its weights."""

    def _extra_of(self, batch: Batch | Example) -> ExactSums[K]:
        """What ``extra`` grows by."""
        return ExactSums(0, Counter(chain.from_iterable(map(self._keys, self._slots_of(batch)))))

    def _sums_of(self, batch: Batch, weights: FloatArray) -> ExactSums[K]:
        """What each key is to grow by where the examples of a batch weigh so much."""
        scale, values = exact_weights(weights)
        sums = dict[K, int]()
        get = sums.get
        for value, slots in zip(values, self._slots_of(batch), strict=True):
            for key in self._keys(slots):
                sums[key] = get(key, 0) + value
        return ExactSums(scale, sums)

    def _slots_of(self, batch: Batch | Example) -> Iterator[list[int]]:
        """What `_keys` reads of each example."""
        rows, slots, examples = self._cells(batch)
        bounds = np.searchsorted(rows, np.arange(examples + 1)).tolist()
        return (slots[start:stop].tolist() for start, stop in pairwise(bounds))

    def _cells(self, batch: Batch | Example) -> tuple[IntArray, IntArray, int]:
        """The example and the slot of each cell that is no true negative, and how many examples there are."""
        if isinstance(batch, Example):
            rows, slots, examples = np.zeros(len(batch.slots), np.int64), batch.slots, 1
        else:
            (rows, slots), examples = cells_of(batch, self.labels.fixed), batch.examples
        weighed = slots % 5 != 0
        return rows[weighed], slots[weighed], examples

    def _sums_of_one(self, example: Example) -> ExactSums[K]:
        """The same of one example that weighs 1."""
        return ExactSums(0, dict.fromkeys(self._keys([slot for slot in example.slots.tolist() if slot % 5]), 1))

    def _unit_sums(self) -> ExactSums[K]:
        """What the weight sums are if every example weighs 1."""
        return joined_sums(self._unit_blocks()) if self.examples else ExactSums()

    def _units_at(self, _keys: Collection[K]) -> ExactSums[K]:
        """The same, at least of some keys."""
        return self._unit_sums()

    def _moved(self, sums: dict[K, int], _columns: IntArray) -> dict[K, int]:
        """The same sums, none of them 0, where columns are other ones."""
        return sums

    def _by_column(self, _sums: dict[K, int]) -> tuple[dict[int, int], int]:
        """What weight sums come to for each column and for all examples, where no label may weigh more than these."""
        return {}, 0

    # -- changing -----------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        counted: Any = self.decisions if self.table is None else self.table
        return int(counted.examples)

    def prepare(self, changes: Sequence[tuple[Example, int]], *, known: bool = False) -> list[Part]:
        """Prepare that examples are counted (sign 1) or taken back (sign -1); ``known``: these were surely counted."""
        if self.reads == "scores":
            return self.prepare_merges([(*self._of(example.scored), sign) for example, sign in changes], known=known)
        self._reserve()
        weighs = self.weights.cell.value is not None or any(example.weight != 1.0 for example, _ in changes)
        # First, as to read a table may take back the room that was made in it for what comes.
        parts = self._prepare_weights(self._added, changes, known=known) if weighs else []
        for example, sign in changes:
            if (part := self._prepare_example(example, sign, known)) is not None:
                parts.append(self._part(part))
        if self.extra is not None:
            parts += self._prepare_extra([(self._extra_of(example), sign) for example, sign in changes])
        return parts

    def _added(self, changes: Sequence[tuple[Example, int]], *, weighted: bool = True) -> list[Added[K]]:
        """What examples add to the weight sums; unless ``weighted``, to those of examples that all weigh 1."""
        added = []
        for example, sign in changes:
            sums, times = self._sums_of_one(example), 1
            if weighted:
                times, scale = units_of(example.weight)
                sums.scale += scale
            added.append((sums, sign * times))
        return added

    def _of(self, batch: Batch | None) -> tuple[Self, IntArray | None]:
        """A state of these examples, and where its columns stand here: of many labels it has those they mention."""
        assert batch is not None  # noqa: S101  # where a state reads scores, every example has them
        labels, columns = self.labels, None
        if len(labels) > FEW:
            columns = np.unique(columns_in(batch))
            names, fixed = [labels.labels[at] for at in columns.tolist()], int(columns.searchsorted(labels.fixed))
            labels, batch = LabelIndex(names, fixed), moved(batch, columns.searchsorted)
        state = self.empty_like(labels, None, None)
        state.count(batch)
        return state, columns

    def prepare_merges(self, merges: Sequence[Merge[Self]], *, known: bool = False) -> list[Part]:
        """Prepare that all that other states have counted is added (sign 1) or taken back (sign -1)."""
        self._reserve()
        weighs = self.weights.present or True in [other.weights.present for other, _, _ in merges]
        # First, as to read a table may take back the room that was made in it for what comes.
        weights = self._prepare_weights(self._merged, merges, known=known) if weighs else []
        parts = [] if self.table is None else [self._part(self._prepare_counts(*merge)) for merge in merges]
        if self.extra is not None:
            parts += self._prepare_extra([(self._placed(state._extra, at), sign) for state, at, sign in merges])
        return parts + weights

    def _merged(self, merges: Sequence[Merge[Self]], *, weighted: bool = True) -> list[Added[K]]:
        """What states add to the weight sums; unless ``weighted``, to those of examples that all weigh 1."""
        sums = [other._weights_at(0) if weighted else other._unit_sums() for other, _, _ in merges]
        return [(self._placed(one, columns), sign) for one, (_, columns, sign) in zip(sums, merges, strict=True)]

    @property
    def _extra(self) -> ExactSums[K]:
        return (self.extra and self.extra.cell.value) or ExactSums()

    def _prepare_extra(self, added: list[Added[K]]) -> list[Part]:
        before = self._extra.at(common_scale(self._extra.scale, *(sums.scale for sums, _ in added)))
        if min(changed(before, added).values(), default=0) < 0:
            raise refusal()
        return self.extra.prepare_add(added, before) if self.extra else []

    def _prepare_counts(self, other: Self, columns: IntArray | None, sign: int) -> Part | int:
        return self.table.prepare_merge(other.table, columns, sign)

    def follower(self) -> Any:
        """What of the kernel counts examples of common forms here, with the decisions; None if nothing does."""
        return None

    def _part(self, part: Part | int) -> Part:
        """What the kernel has prepared, or why it declined."""
        if isinstance(part, int):
            raise self.declined(part)
        return part

    def declined(self, code: int) -> StreamevalError:
        """What is wrong where the kernel answers with a code."""
        return CounterOverflowError(self.too_many) if code == FULL else refusal()

    def _prepare_weights(
        self, sums_of: Callable[..., list[Added[K]]], changes: Sequence[Any], *, known: bool
    ) -> list[Part]:
        """Prepare that what changes, whose sign stands last, add to the weight sums is added."""
        added = sums_of(changes)
        removed = [] if known else [change for change in changes if change[-1] < 0]
        if not removed and (parts := self.weights.prepare_add(added)):
            return parts
        before = self._weights_at(common_scale(*(sums.scale for sums, _ in added)))
        if removed:
            after = changed(before, added)
            gone = changed(ExactSums(before.scale), [(sums, -times) for sums, times in added if times < 0])
            units = joined_sums(sums for sums, _ in sums_of(removed, weighted=False))
            self._check_removal(before, after, gone, units)
        return self.weights.prepare_add(added, before)

    def _placed(self, sums: ExactSums[K], columns: IntArray | None) -> ExactSums[K]:
        # What was taken back may be of a label that has no column any more.
        return sums if columns is None else ExactSums(sums.scale, self._moved(sums.nonzero(), columns))

    def _check_removal(
        self, before: ExactSums[K], after: dict[K, int], removed: dict[K, int], units: ExactSums[K]
    ) -> None:
        """Refuse weight sums that no examples have: below 0, left where nothing is, or beyond all together."""
        # A sum that stays must have an example left, so those that examples of weight 0 are taken out of count too.
        checked = {**{key: before.sums.get(key, 0) for key in units.sums}, **after}
        counted = self._units_at(checked)
        scale = max(counted.scale, units.scale)
        left, gone = counted.at(scale).sums, units.at(scale).sums
        if any(value < 0 or (value and left.get(key, 0) <= gone.get(key, 0)) for key, value in checked.items()):
            raise refusal()
        (scale, slack), (of_columns, lowers) = self._slack, self._by_column(removed)
        if len(of_columns) == len(self.labels):
            lowers -= min(of_columns.values(), default=0)
        if scale != before.scale or slack < lowers:
            by_column, whole = self._by_column({**before.sums, **after})
            slack, lowers = whole - max(by_column.values(), default=0), 0
            if slack < 0:
                raise refusal()
        if self.weights.present:  # without them, reverts may lower it and are not seen
            self._slack = before.scale, slack - lowers

    def count(self, batch: Batch) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises."""
        parts = []
        if batch.weights is not None or self.weights.present:
            parts = self._prepare_batch(batch, np.ones(batch.examples) if batch.weights is None else batch.weights)
        self._reserve()
        self._count(batch)
        if self.extra is not None:
            parts += self._prepare_extra([(self._extra_of(batch), 1)])
        self.root.commit(parts)

    def _prepare_batch(self, batch: Batch, weights: FloatArray) -> list[Part]:
        """Prepare that weights of a batch are added, before its examples are."""
        return self.weights.prepare(joined_sums([self._weights_at(0), self._sums_of(batch, weights)]))

    def _reserve(self) -> None:
        """Make room for a column of every label."""
        if self.table is not None:
            self.table.reserve(len(self.labels.labels))

    def _weights_at(self, scale: int) -> ExactSums[K]:
        """The weight sums so far in units at least as fine as asked; not to be changed."""
        sums: ExactSums[K] = self.weights.cell.value or self._unit_sums()
        return sums.at(max(scale, sums.scale))

    def compact(self) -> None:
        """Drop what no example is left of, and weight sums that say no more than the counts."""
        if self.table is not None:
            self.table.compact()
        if self.extra is not None:
            self.root.commit(self.extra.prepare(ExactSums(self._extra.scale, self._extra.nonzero())))
        if self.weights.present:
            self.root.commit(self._prepare_compact())

    def _prepare_compact(self) -> list[Part]:
        sums = self._weights_at(0)
        self._slack = 0, 0
        left = None if self.canonical_scale() is None else ExactSums(sums.scale, sums.nonzero())
        return self.weights.prepare(left)

    # -- reading ------------------------------------------------------------------------------------------------------

    def canonical_scale(self) -> int | None:
        """The smallest scale at which weight sums are integers, whatever the history; None if they equal counts."""
        sums: ExactSums[K] | None = self.weights.cell.value
        return None if sums is None or self._equals_counts(sums) else sums.smallest_scale()

    def _equals_counts(self, sums: ExactSums[K]) -> bool:
        return all(map(sums.holds, self._unit_blocks()))  # where nothing was counted, nothing weighs anything

    def _unit_blocks(self) -> Iterator[ExactSums[K]]:
        """The same, in parts of which the first usually shows that examples do not all weigh 1."""
        yield ExactSums(self._extra.scale, self._extra.nonzero())

    def _mentioned(self, width: int) -> Any:
        """Which of the first columns some example mentions, as flags."""
        counted: Any = self.decisions if self.decisions is not None and self.reads == "decisions" else self
        return counted.table.mentioned(width)

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        order, fixed = self.labels.order(), self.labels.fixed
        if fixed == len(order):
            return order
        mentioned = self._mentioned(len(order))
        mentioned[:fixed] = True
        return order if mentioned.all() else order[mentioned[order]]

    def _head(self, columns: IntArray, scale: int | None) -> tuple[int, Any, int, int | None]:
        return self.examples, by_column(columns, self.labels.at), self.labels.fixed, scale

    @abstractmethod
    def content(self) -> Any:
        """What is held, in canonical order."""

    @abstractmethod
    def _fill(self, content: Any) -> None:
        """Take over what a content says whose labels are those of this state."""

    def restore(self, content: Any) -> None:
        """Take over what a content says, whose labels are some of this empty state's, in the same order."""
        self._reserve()
        if len(content.labels) == len(self.labels):
            self._fill(content)
            return
        state = self.empty_like(LabelIndex(content.labels, content.fixed), None, None)
        state.restore(content)
        columns = np.array(self.labels.columns_of(content.labels), np.int64)
        self.root.commit(self.prepare_merges([(state, columns, 1)]))

    def _fill_weights(self, scale: int | None, sums: Iterable[tuple[K, int]], finest: int = 0) -> None:
        target = common_scale(scale or 0, finest)
        shift = target - (scale or 0)
        exact = ExactSums(target, {key: value << shift for key, value in sums if value})
        if scale is not None:
            self.root.commit(self.weights.prepare(exact))

    # -- copies -------------------------------------------------------------------------------------------------------

    def empty_like(self, labels: LabelIndex, root: Any, decisions: State[Any] | None) -> Self:
        """A state of the same kind and options that has counted nothing."""
        return type(self)(labels, self.options, root, decisions)

    def copy(self, labels: LabelIndex, root: Any, decisions: State[Any] | None) -> Self:
        """An independent copy over a copy of the labels."""
        result = self.empty_like(labels, root, decisions)
        result.table = self.table and self.table.copy(result.root)
        result.weights = self.weights.copy(result.root)
        result.extra = self.extra and self.extra.copy(result.root)
        return result

    def scale_weights(self, numerator: int, scale: int) -> None:
        """Let every example weigh ``numerator / 2**scale`` as much, exactly. Only for copies that nobody has seen."""
        self.root.commit(self.weights.prepare(self._weights_at(0).times(numerator, scale)))


def refusal() -> RevertError:
    """What is wrong where something is taken back that was not counted."""
    return RevertError(
        "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"
    )
