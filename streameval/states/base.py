"""The base of all states: integer sums over a multiset of examples; a change is prepared first, then committed."""

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
"""A prepared change, which the kernel commits."""

S = TypeVar("S")
Merge: TypeAlias = tuple[S, IntArray | None, int]
"""Another state, the column in this state for each of its columns (None: the same), and the sign."""

Added: TypeAlias = tuple[ExactSums[K], int]
"""Sums, and how many times they are added; a negative number subtracts them."""


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content of a state in canonical order, whatever its history; large parts are read from the state late."""

    examples: int
    labels: Any  # declared labels in their order, then all other mentioned labels, sorted
    fixed: int  # number of declared labels
    scale: int | None  # smallest with all weight sums integers in units of ``2**-scale``; None if they equal the counts


class State(ABC, Generic[K]):
    """A count table of the kernel and, if some example does not weigh 1, exact weight sums; see `testing.LAWS`."""

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
        # Shared by all states of a set. Preparing a change may fail and has no visible effect; committing all
        # prepared parts at once cannot fail.
        self.root = commit.Root() if root is None else root
        self.decisions = decisions  # the decisions of the same examples; None if this state is the decisions
        self.table: Any = self._empty_table()
        # Sums by key that the table cannot hold, if there are any. One commit changes all of them by one part.
        self.extra: SumCells[K] | None = SumCells(self.root, ExactSums()) if self._has_extra() else None
        self.weights: SumCells[K] = self._sums_by_key(self.root)  # empty until one weighs not 1; see `compact`
        # Scale and lower bound of: weight of all examples minus weight of any label. Adding never lowers the bound.
        self._slack = 0, 0

    # -- what a kind of state overrides -------------------------------------------------------------------------------

    def _empty_table(self) -> Any:
        """An empty table of the kernel; None if this kind has no table."""
        return None

    def _has_extra(self) -> bool:
        """Whether the options require sums that the table cannot hold."""
        return self.table is None

    def _keys(self, slots: list[int]) -> Iterable[K]:
        """The keys that an example counts for, each once; ``slots`` are its cells that are not true negatives."""
        raise NotImplementedError

    def _prepare_example(self, _example: Example, _sign: int, _known: bool) -> Part | int | None:
        """Prepare to count one example in the table (sign 1) or to revert it (sign -1); None without a table."""
        return None

    def _read(self, batch: Batch) -> tuple[Any, ...]:
        """The arguments with which a table of scores counts a batch of rows or of lists."""
        fixed = self.labels.fixed
        if isinstance(batch, Dense):
            return ((batch.columns, fixed, batch.true, batch.scores, batch.ranked, batch.mask),)
        none = np.zeros(batch.examples + 1, np.int64), np.zeros(0, np.int64)
        true, ranked = ragged(batch.true) or none, ragged(batch.ranked) or none
        return ((None, fixed, true, batch.scores, ranked, ragged(batch.mask)),)

    def _count(self, batch: Batch) -> None:
        """Count a batch in the table, but not its weights."""

    def _extra_of(self, batch: Batch | Example) -> ExactSums[K]:
        """What examples add to ``extra``."""
        return ExactSums(0, Counter(chain.from_iterable(map(self._keys, self._slots_of(batch)))))

    def _sums_of(self, batch: Batch, weights: FloatArray) -> ExactSums[K]:
        """What the examples of a batch, with these weights, add to the weight sums."""
        scale, values = exact_weights(weights)
        sums = dict[K, int]()
        get = sums.get
        for value, slots in zip(values, self._slots_of(batch), strict=True):
            for key in self._keys(slots):
                sums[key] = get(key, 0) + value
        return ExactSums(scale, sums)

    def _slots_of(self, batch: Batch | Example) -> Iterator[list[int]]:
        """The argument of `_keys` for each example."""
        rows, slots, examples = self._cells(batch)
        bounds = np.searchsorted(rows, np.arange(examples + 1)).tolist()
        return (slots[start:stop].tolist() for start, stop in pairwise(bounds))

    def _cells(self, batch: Batch | Example) -> tuple[IntArray, IntArray, int]:
        """The example and the slot of each cell that is not a true negative, and the number of examples."""
        if isinstance(batch, Example):
            rows, slots, examples = np.zeros(len(batch.slots), np.int64), batch.slots, 1
        else:
            (rows, slots), examples = cells_of(batch, self.labels.fixed), batch.examples
        weighed = slots % 5 != 0
        return rows[weighed], slots[weighed], examples

    def _sums_of_one(self, example: Example) -> ExactSums[K]:
        """What one example of weight 1 adds to the weight sums."""
        return ExactSums(0, dict.fromkeys(self._keys([slot for slot in example.slots.tolist() if slot % 5]), 1))

    def _unit_sums(self) -> ExactSums[K]:
        """The counts by key: the weight sums as they are while every example weighs 1."""
        return joined_sums(self._unit_blocks()) if self.examples else ExactSums()

    def _units_at(self, _keys: Collection[K]) -> ExactSums[K]:
        """The `_unit_sums` of at least these keys."""
        return self._unit_sums()

    def _moved(self, sums: dict[K, int], _columns: IntArray) -> dict[K, int]:
        """These sums, none of them 0, with each column of a key replaced by its place in ``_columns``."""
        return sums

    def _by_column(self, _sums: dict[K, int]) -> tuple[dict[int, int], int]:
        """The weight of each column, and that of all examples, which no column may exceed."""
        return {}, 0

    # -- changing -----------------------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        counted: Any = self.decisions if self.table is None else self.table
        return int(counted.examples)

    def prepare(self, changes: Sequence[tuple[Example, int]], *, known: bool = False) -> list[Part]:
        """Prepare to count examples (sign 1) or to revert them (sign -1); ``known``: the latter were surely counted."""
        if self.reads == "scores":
            return self.prepare_merges([(*self._of(example.scored), sign) for example, sign in changes], known=known)
        self._reserve()
        weighs = self.weights.cell.value is not None or any(example.weight != 1.0 for example, _ in changes)
        # Weights come first, because reading a table may release the room reserved in it for new cells.
        parts = self._prepare_weights(self._added, changes, known=known) if weighs else []
        for example, sign in changes:
            if (part := self._prepare_example(example, sign, known)) is not None:
                parts.append(self._part(part))
        if self.extra is not None:
            parts += self._prepare_extra([(self._extra_of(example), sign) for example, sign in changes])
        return parts

    def _added(self, changes: Sequence[tuple[Example, int]], *, weighted: bool = True) -> list[Added[K]]:
        """What examples add to the weight sums; if not ``weighted``, as if each example weighed 1."""
        added = []
        for example, sign in changes:
            sums, times = self._sums_of_one(example), 1
            if weighted:
                times, scale = units_of(example.weight)
                sums.scale += scale
            added.append((sums, sign * times))
        return added

    def _of(self, batch: Batch | None) -> tuple[Self, IntArray | None]:
        """A state of these examples (over the mentioned labels if there are many), and its columns in this one."""
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
        """Prepare to add all that other states have counted (sign 1) or to subtract it (sign -1)."""
        self._reserve()
        weighs = self.weights.present or True in [other.weights.present for other, _, _ in merges]
        # Weights come first, because reading a table may release the room reserved in it for new cells.
        weights = self._prepare_weights(self._merged, merges, known=known) if weighs else []
        parts = [] if self.table is None else [self._part(self._prepare_counts(*merge)) for merge in merges]
        if self.extra is not None:
            parts += self._prepare_extra([(self._placed(state._extra, at), sign) for state, at, sign in merges])
        return parts + weights

    def _merged(self, merges: Sequence[Merge[Self]], *, weighted: bool = True) -> list[Added[K]]:
        """What other states add to the weight sums; if not ``weighted``, as if each example weighed 1."""
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
        """The kernel object that counts examples of common forms in this state along with the decisions, or None."""
        return None

    def _part(self, part: Part | int) -> Part:
        """The part that the kernel has prepared; raise the error if it returned a code instead."""
        if isinstance(part, int):
            raise self.declined(part)
        return part

    def declined(self, code: int) -> StreamevalError:
        """The exception for a code of the kernel."""
        return CounterOverflowError(self.too_many) if code == FULL else refusal()

    def _prepare_weights(
        self, sums_of: Callable[..., list[Added[K]]], changes: Sequence[Any], *, known: bool
    ) -> list[Part]:
        """Prepare what ``changes``, tuples that end with the sign, add to the weight sums (see ``sums_of``)."""
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
        # Sums of 0 are dropped, because they may belong to a label that has no column in this state.
        return sums if columns is None else ExactSums(sums.scale, self._moved(sums.nonzero(), columns))

    def _check_removal(
        self, before: ExactSums[K], after: dict[K, int], removed: dict[K, int], units: ExactSums[K]
    ) -> None:
        """Refuse impossible weight sums: negative, not 0 without an example, or above the weight of all examples."""
        # A sum that is not 0 needs an example. So sums from which only weights of 0 are subtracted are checked too.
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
        if self.weights.present:  # otherwise reverts of unweighted examples could lower the bound unnoticed
            self._slack = before.scale, slack - lowers

    def count(self, batch: Batch) -> None:
        """Count a batch of examples. If this raises, the state must be discarded."""
        parts = []
        if batch.weights is not None or self.weights.present:
            parts = self._prepare_batch(batch, np.ones(batch.examples) if batch.weights is None else batch.weights)
        self._reserve()
        self._count(batch)
        if self.extra is not None:
            parts += self._prepare_extra([(self._extra_of(batch), 1)])
        self.root.commit(parts)

    def _prepare_batch(self, batch: Batch, weights: FloatArray) -> list[Part]:
        """Prepare to add the weights of a batch, before its examples are counted."""
        sums = self._sums_of(batch, weights)
        return self.weights.prepare_add([(sums, 1)]) or self.weights.prepare(joined_sums([self._weights_at(0), sums]))

    def _reserve(self) -> None:
        """Make room for a column of every label."""
        if self.table is not None:
            self.table.reserve(len(self.labels.labels))

    def _weights_at(self, scale: int) -> ExactSums[K]:
        """The weight sums at this scale or a finer one; callers must not change them."""
        sums: ExactSums[K] = self.weights.cell.value or self._unit_sums()
        return sums.at(max(scale, sums.scale))

    def compact(self) -> None:
        """Drop counts and sums that are 0, and all weight sums if they equal the counts."""
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
        return all(map(sums.holds, self._unit_blocks()))  # a key that was not counted has no weight

    def _unit_blocks(self) -> Iterator[ExactSums[K]]:
        """The `_unit_sums` in parts; the first usually suffices to see that some example does not weigh 1."""
        yield ExactSums(self._extra.scale, self._extra.nonzero())

    def _mentioned(self, width: int) -> Any:
        """For each of the first ``width`` columns, whether some example mentions it."""
        counted: Any = self.decisions if self.decisions is not None and self.reads == "decisions" else self
        return counted.table.mentioned(width)

    def columns(self) -> IntArray:
        """The columns of declared labels and of those that a counted example mentions, in canonical order."""
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
        """The content in canonical order."""

    @abstractmethod
    def _fill(self, content: Any) -> None:
        """Fill this empty state with a content that has the same labels."""

    def restore(self, content: Any) -> None:
        """Fill this empty state with a content whose labels are some of its own, in the same order."""
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
        """Multiply all weights by ``numerator / 2**scale``, exactly. Only for copies that no caller has yet."""
        self.root.commit(self.weights.prepare(self._weights_at(0).times(numerator, scale)))


def refusal() -> RevertError:
    """The exception for reverting what was not counted."""
    absent = "no such example was counted, or not with this weight"
    return RevertError(f"cannot revert: {absent}; revert only what was updated before")
