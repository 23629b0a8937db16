"""The state of label pairs: which labels stand for which, which occur together, and which sets of them occur.

- Confusions: the multi-label confusion matrix of Heydarian et al. 2022, kept per denominator, so that the counts and
  the shares of it are both sums of integers; and the contributions of Krstinić et al. 2020, likewise.
- Co-occurrence: in how many examples two labels are both true, one true and the other predicted, or both predicted.
- Label sets: how many examples have each set of true labels.

Cells whose truth is masked count as neither true nor predicted. Beside pairs the five outcomes of each label are kept
as in `Decisions`; they tell of each label with itself, and which labels there are. Weighted streams keep, beside all
counts, the exact sum of weights of each, which is dropped when it equals the counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streameval.errors import CounterOverflowError, MergeError, RevertError
from streameval.kernel import backend
from streameval.kernel.pairs import pairing
from streameval.kernel.types import DONE, FULL, FloatArray, IntArray, Lists
from streameval.schema.batch import Batch, Dense, Example, cells_of, ragged
from streameval.schema.labels import LabelIndex
from streameval.states.base import COUNT_MAX
from streameval.states.exact import ExactSums, common_scale, exact_integers, scaled, trailing_zeros, units_of
from streameval.states.options import PARTS, USUAL_PARTS, Part
from streameval.states.pair_content import (
    ALL,
    Cells,
    Content,
    Key,
    label_sets,
    outweighs,
    placed,
    set_placed,
)

__all__ = ["Pairs"]

_PER_THREAD = 255  # examples, below which a thread of its own does not pay
_TOO_MANY = f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits; evaluate in parts, each on its own"
_NEVER_SEEN = "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"


class _Plan(NamedTuple):
    """New weight sums and label sets that belong to a change of the counts.

    The counts change at once or not at all, and with them the number of examples: if it is still ``before``, the change
    did not happen and the plan is void.
    """

    before: int
    weights: ExactSums[Key] | None
    sums: dict[Key, int]
    sets: dict[tuple[int, ...], int]


class _Table:
    """Pairs, with the cells of each label beside them."""

    __slots__ = ("cells_", "pairs", "parts", "root")

    def __init__(self, width: int, parts: int) -> None:
        self.parts = parts
        self.root = backend.commit.Root()
        self.pairs = backend.pairs.Pairs(self.root, parts)
        self.cells_ = _cell_table(self.root, width)

    @property
    def examples(self) -> int:
        return self.pairs.examples

    def count_slots(self, slots: IntArray, fixed: int, sign: int) -> int:
        cells = self.cells_.prepare_example(slots, (0, 0, 0, 0), fixed, sign)
        return self._done(self.pairs.prepare_example(slots, sign), cells)

    def _done(self, *parts: Any) -> int:
        for part in parts:
            if isinstance(part, int):
                return part
        self.root.commit([*parts])
        return DONE

    def count_dense(self, columns: IntArray, fixed: int, true: Any, pred: Any, hidden: Any) -> int:
        self.cells_.count_dense(columns, fixed, true, pred, hidden)
        return self.pairs.count_dense(columns, true, pred, hidden)

    def count_lists(
        self, examples: int, fixed: int, true: Any, pred: Any, hidden: Any, named: Any, everywhere: IntArray
    ) -> None:
        sides = [None if side is None else Lists(*side) for side in (true, pred, hidden, named)]
        self.cells_.count_lists(examples, fixed, *sides, everywhere)
        width = max((int(side[1].max(initial=-1)) + 1 for side in (true, pred, hidden) if side is not None), default=0)
        self.pairs.count_lists(examples, width, true, pred, hidden)

    def merge(self, other: _Table, columns: IntArray | None) -> int:
        cells = self.cells_.prepare_merge(other.cells_, columns, 0, 1)
        return self._done(self.pairs.prepare_merge(other.pairs, columns, 1), cells)

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        self.pairs.restore(examples, keys, times)
        self.cells_.restore(examples, cells, np.zeros((1, 4), np.int64), np.array([examples]))

    def copy(self) -> _Table:
        copied = _Table(0, self.parts)
        copied.pairs, copied.cells_ = self.pairs.copy(copied.root), self.cells_.copy(copied.root)
        return copied

    def compact(self) -> None:
        self.pairs.compact()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pairs if name in ("items", "times") else self.cells_, name)


def _cell_table(root: Any, width: int) -> Any:
    return backend.decisions.Counts(root, width)


class Pairs:
    """Counts of pairs and sets of labels, exact under any order, batching, merging and reverting."""

    reads_decisions: ClassVar[bool] = True
    __slots__ = ("_counts", "_labels", "_plan", "_sets", "_weights", "parts")

    def __init__(self, labels: LabelIndex, parts: Iterable[Part] = USUAL_PARTS) -> None:
        chosen = set(parts)
        self.parts: tuple[Part, ...] = tuple(part for part in PARTS if part in chosen)
        self._labels = labels
        self._counts = _Table(len(labels), self._bits)
        self._sets: dict[tuple[int, ...], int] = {}
        self._weights: ExactSums[Key] | None = None
        self._plan: _Plan | None = None

    @property
    def _bits(self) -> int:
        bits = {"confusions": pairing.CONFUSIONS, "contributions": pairing.CONTRIBUTIONS}
        bits["cooccurrence"] = pairing.COOCCURRENCE
        return sum(bits.get(part, 0) for part in self.parts)

    def empty(self, labels: LabelIndex) -> Pairs:
        """A state of the same kind that has counted nothing."""
        return Pairs(labels, self.parts)

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self._counts.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_one(self, example: Example, sign: int, *, known: bool = False) -> None:
        """Count one example (sign 1) or take it back (sign -1); ``known``: it was surely counted, so no need to ask."""
        self._settle()
        self._counts.reserve(len(self._labels))
        slots, _, weight, _ = example
        sets, sums, weights = {}, {}, self._weights
        if "labelsets" in self.parts:
            true = tuple(sorted(slot // 5 for slot in slots.tolist() if slot % 5 in (1, 3)))
            sets[true] = self._sets.get(true, 0) + sign
            if sets[true] < 0:
                raise RevertError(_NEVER_SEEN)
        if weight != 1.0 or weights is not None:
            value, scale = units_of(weight)
            weights = self._weights_at(common_scale(scale))
            value <<= weights.scale - scale
            left = self._counted(slots, sets)
            sums = {key: weights.sums.get(key, 0) + sign * value for key in left}
            if sign < 0 and not known:
                gone = any(value < 0 or (value and left[key] <= 1) for key, value in sums.items())
                if gone or outweighs({**weights.sums, **sums}):
                    raise RevertError(_NEVER_SEEN)
        if sets or sums:
            self._plan = _Plan(self.examples, weights, sums, sets)
        self._finish(self._counts.count_slots(slots, self._labels.fixed, sign))

    def _counted(self, slots: IntArray, sets: Iterable[tuple[int, ...]]) -> dict[Key, int]:
        """Where one example counts, and how many examples have counted there so far."""
        column, outcome = np.divmod(slots, 5)
        missed, both, wrong = (column[outcome == part].tolist() for part in (1, 3, 2))
        keys = list(pairing.pairs_of(missed, both, wrong, self._bits))
        slots = slots[outcome > 0]
        left: dict[Key, int] = dict(zip(slots.tolist(), self._counts.at(slots).tolist(), strict=True))
        times = self._counts.times(np.array(keys, np.int64).reshape(-1, 5))
        left.update(zip(keys, times.tolist(), strict=True))
        left.update(((0, *true), self._sets.get(true, 0)) for true in sets)
        left[ALL] = self.examples
        return left

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        threads = min(threads, batch.examples // _PER_THREAD)
        if threads > 1:
            self._count_in_parts(batch, threads)
            return
        if isinstance(batch, Dense) and batch.pred is None:
            batch = replace(batch, pred=batch.binary())
        self._counts.reserve(len(self._labels))
        fixed = self._labels.fixed
        factors, before = batch.weights, None
        if factors is not None or self._weights is not None:
            factors = np.ones(batch.examples) if factors is None else factors
            before = self._weights_at(0)
        if isinstance(batch, Dense):
            if self._counts.count_dense(batch.columns, fixed, batch.true, batch.binary(), batch.mask) > 1:
                raise batch.refusal()
        else:
            sides = map(ragged, (batch.true, batch.pred, batch.mask, batch.mentioned))
            self._counts.count_lists(batch.examples, fixed, *sides, batch.mentioned_by_all)
        if before is None and "labelsets" not in self.parts:
            return
        rows, slots = cells_of(batch, len(self._labels))
        cells = Cells(rows, *np.divmod(slots, 5))
        sets, which = label_sets(cells, batch.examples) if "labelsets" in self.parts else ([], np.zeros(0, np.int64))
        if before is not None and factors is not None:
            added = self._weigh(cells, sets, which, factors)
            self._weights = before.at(max(added.scale, before.scale)).copy()
            for key, value in added.at(self._weights.scale).sums.items():
                self._weights.sums[key] = self._weights.sums.get(key, 0) + value
        for true, times in zip(sets, np.bincount(which, minlength=len(sets)).tolist(), strict=True):
            self._sets[true] = self._sets.get(true, 0) + times

    def _count_in_parts(self, batch: Batch, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and seldom needed

        bounds = [batch.examples * part // threads for part in range(threads + 1)]
        parts = [batch.part(start, stop) for start, stop in pairwise(bounds)]
        states = [self.empty(self._labels) for _ in parts]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(Pairs.count, states, parts))
        for state in states:
            self.merge(state)

    def merge(self, other: Pairs) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very state."""
        if other.parts != self.parts:
            told = " and ".join(", ".join(parts) or "nothing" for parts in (self.parts, other.parts))
            raise MergeError(f"cannot merge: the pairs that are counted differ ({told}); build both alike")
        other._settle()
        self._settle()
        columns = self._columns_of(other)
        place = None if columns is None else [*columns.tolist(), pairing.NONE]  # so that -1 leads to itself
        self._counts.reserve(len(self._labels))
        added = {set_placed(true, place): times for true, times in other._sets.items() if times}
        sets = {true: self._sets.get(true, 0) + times for true, times in added.items()}
        sums: dict[Key, int] = {}
        weights = self._weights
        if weights is not None or other._weights is not None:
            theirs = other._weights_at(0)
            weights = self._weights_at(common_scale(theirs.scale))
            new = theirs.at(weights.scale).sums
            sums = {  # what was taken back may be of a label that has no column any more
                (at := placed(key, place)): weights.sums.get(at, 0) + value for key, value in new.items() if value
            }
        if sets or weights is not None:  # there may be weights, all of them 0
            self._plan = _Plan(self.examples, weights, sums, sets)
        self._finish(self._counts.merge(other._counts, columns))

    def _columns_of(self, other: Pairs) -> IntArray | None:
        """Where the columns of another state are here, its labels registered; None if they are the same."""
        names = other._labels.labels
        if other._labels is self._labels or names == self._labels.labels:
            return None
        there = other._counts.mentioned(len(names))
        there[: other._labels.fixed] = True
        return np.array(
            [self._labels.add(name) if kept else 0 for name, kept in zip(names, there.tolist(), strict=True)], np.int64
        )

    def _finish(self, code: int) -> None:
        """Complete a change whose counts were changed, or undo its plan if they declined."""
        if code != DONE:
            self._plan = None
            raise CounterOverflowError(_TOO_MANY) if code == FULL else RevertError(_NEVER_SEEN)
        self._settle()

    def _settle(self) -> None:
        """Bring weight sums and label sets in line with the counts, whatever interrupted the last change."""
        plan = self._plan
        if plan is not None:
            if self.examples != plan.before:
                if plan.weights is not None:
                    plan.weights.sums.update(plan.sums)
                    self._weights = plan.weights
                self._sets.update(plan.sets)
            self._plan = None

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weights_at(self, scale: int) -> ExactSums[Key]:
        """The weight sums so far in units at least as fine as asked; a new object if anything about it differs."""
        if self._weights is not None:
            return self._weights.at(max(scale, self._weights.scale))
        return ExactSums(0, self._counts_as_sums()).at(scale)

    def _counts_as_sums(self) -> dict[Key, int]:
        """The weight sums if every example weighed 1."""
        cells = self._counts.cells(len(self._labels))
        cells[:, 0] = 0  # weights of true negatives are always derived
        slots = np.flatnonzero(cells)
        sums: dict[Key, int] = dict(zip(slots.tolist(), cells.reshape(-1)[slots].tolist(), strict=True))
        keys, times = self._counts.items()
        sums.update(zip(map(tuple, keys.tolist()), times.tolist(), strict=True))
        sums.update(((0, *true), times) for true, times in self._sets.items() if times)
        if self.examples:
            sums[ALL] = self.examples
        return sums

    def _weigh(
        self, cells: Cells, sets: Sequence[tuple[int, ...]], which: IntArray, factors: FloatArray
    ) -> ExactSums[Key]:
        """The weight sums of the examples of a batch."""
        scale, digits = backend.decisions.limbs(factors)
        target = common_scale(scale)
        total: ExactSums[Key] = ExactSums(target)

        def add(keys: Iterable[Key], groups: IntArray, rows: IntArray, count: int) -> None:
            found = exact_integers(_by_group(groups, digits[rows], count), scale, target)
            for key, value in zip(keys, found, strict=True):
                total.sums[key] = total.sums.get(key, 0) + value

        everyone = np.arange(len(factors))
        add([ALL], np.zeros(len(factors), np.int64), everyone, 1)
        if len(sets):
            add([(0, *true) for true in sets], which, everyone, len(sets))
        slots, inverse = np.unique(5 * cells.columns + cells.outcomes, return_inverse=True)
        add(slots.tolist(), inverse.reshape(-1), cells.rows, len(slots))
        for pairs, rows in pairing.sorted_pairs(len(factors), *cells, self._bits):
            distinct, inverse = pairing.distinct_pairs(pairs)
            add(map(tuple, distinct.tolist()), inverse, rows, len(distinct))
        return total

    # -- labels -------------------------------------------------------------------------------------------------------

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        return 2 * len(self.columns()) < len(self._labels)

    def compact(self) -> None:
        """Drop pairs and label sets of which no example is left."""
        self._settle()
        self._counts.compact()
        self._sets = {true: times for true, times in self._sets.items() if times}
        if self._weights is not None:
            self._weights = ExactSums(
                self._weights.scale, {key: value for key, value in self._weights.sums.items() if value}
            )

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        if len(self._labels) > size and not self._counts.mentioned(len(self._labels))[size:].any():
            self._labels.truncate(size)

    # -- reading ------------------------------------------------------------------------------------------------------

    def tidy(self) -> int | None:
        """The scale to read weight sums at: the smallest that keeps them integers; None if every example weighs 1.

        Weight sums that say no more than the counts are dropped. So equal states read alike, whatever their history.
        """
        self._settle()
        if self._weights is None:
            return None
        scale = self._weights.scale
        sums = {key: value for key, value in self._weights.sums.items() if value}
        plain = self._counts_as_sums()
        if len(sums) == len(plain) and all(sums.get(key) == value << scale for key, value in plain.items()):
            self._weights = None
            return None
        zeros = trailing_zeros(sums.values())
        return 0 if zeros is None else scale - min(scale, zeros)

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        order, fixed = self._labels.order(), self._labels.fixed
        mentioned = self._counts.mentioned(len(order))
        mentioned[:fixed] = True
        return order[mentioned[order]]

    def content(self) -> Content:
        """What is held, in canonical order."""
        scale, columns = self.tidy(), self.columns()
        place = np.full(len(self._labels) + 1, pairing.NONE)
        place[columns] = np.arange(len(columns))  # the last entry stays -1, so that -1 leads to itself
        keys, times = self._counts.items()
        moved = keys.copy()
        moved[:, 1:3] = place[keys[:, 1:3]]
        swapped = np.isin(moved[:, 0], (pairing.TRUE_TRUE, pairing.PRED_PRED)) & (moved[:, 1] > moved[:, 2])
        moved[swapped, 1:3] = moved[swapped, 2:0:-1]
        order = np.lexsort(moved.T[::-1])
        given = {tuple(sorted(place[list(true)].tolist())): true for true, count in self._sets.items() if count}
        sets = sorted(given)
        weighed: tuple[list[list[int]], list[int], list[int], int] | tuple[None, None, None, None] = (None,) * 4
        if self._weights is not None and scale is not None:
            get, shift = self._weights.sums.get, self._weights.scale - scale
            weighed = (
                [[0, *(get(5 * column + part, 0) >> shift for part in range(1, 5))] for column in columns.tolist()],
                [get(tuple(key), 0) >> shift for key in keys[order].tolist()],
                [get((0, *given[true]), 0) >> shift for true in sets],
                get(ALL, 0) >> shift,
            )
        return Content(
            self.parts,
            self.examples,
            tuple(map(self._labels.labels.__getitem__, columns.tolist())),
            self._labels.fixed,
            self._counts.cells(len(self._labels))[columns],
            moved[order],
            times[order],
            sets,
            [self._sets[given[true]] for true in sets],
            scale,
            *weighed,
        )

    @classmethod
    def from_content(cls, content: Content, labels: LabelIndex) -> Pairs:
        """A state that holds ``content``; ``labels`` must be exactly the labels of the content, in its order."""
        state = cls(labels, content.parts)
        state._counts.restore(content.examples, content.cells, content.pairs, content.times)
        state._sets = dict(zip(content.sets, content.set_times, strict=True))
        if content.scale is None or content.cell_weights is None:
            return state
        sums: dict[Key, int] = {
            5 * column + outcome: value
            for column, values in enumerate(content.cell_weights)
            for outcome, value in enumerate(values)
        }
        sums.update(zip(map(tuple, content.pairs.tolist()), content.pair_weights or (), strict=True))
        sums.update(zip(((0, *true) for true in content.sets), content.set_weights or (), strict=True))
        sums[ALL] = content.weight or 0
        kept = {key: value for key, value in sums.items() if value}
        state._weights = ExactSums(content.scale, kept).at(common_scale(content.scale))
        return state

    def unweigh(self) -> None:
        """Drop the weight sums, where it is known that every counted example weighs 1."""
        self._weights = None

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Pairs:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        twin = self.copy(labels)
        if twin.examples:
            twin._weights = scaled(twin._weights_at(0), numerator, scale)
        return twin

    def copy(self, labels: LabelIndex) -> Pairs:
        """An independent copy over a copy of the labels."""
        self._settle()
        twin = self.empty(labels)
        twin._counts, twin._sets = self._counts.copy(), dict(self._sets)
        twin._weights = None if self._weights is None else self._weights.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        return self.content() == other.content()

    __hash__ = None  # type: ignore[assignment]


def _by_group(group: IntArray, digits: FloatArray, groups: int) -> IntArray:
    """The sums of the weight digits of each group, shape (groups, digits)."""
    sums = np.zeros((groups, digits.shape[1]), np.int64)
    for place in range(digits.shape[1]):
        sums[:, place] = np.bincount(group, weights=digits[:, place], minlength=groups).astype(np.int64)
    return sums
