"""The state of decisions: two integer marginals of the examples x labels table.

- By label: five disjoint counts, one for each outcome of a cell that an example mentions (true negative, false
  negative, false positive, true positive, masked). True negatives in examples that do not mention the label are derived
  when reading, so a label first met late has the right number of them. Declared labels are mentioned by every example,
  so their true negatives are always derived.
- By example: how many examples had each row key (labels true, predicted, both, masked).

Weighted streams keep, beside these counts, the exact sum of weights of each. They are dropped when they equal the
counts, so a stream whose weights are all 1 is the same state as an unweighted one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from streameval import kernel
from streameval.batch import Batch, DenseBatch, Example, RowKey
from streameval.errors import CounterOverflowError, RevertError
from streameval.kernel.types import IntArray
from streameval.labels import Label, LabelIndex, in_order
from streameval.states.base import COUNT_MAX
from streameval.states.exact import ExactSums, common_scale, exact_integers, trailing_zeros, units_of

__all__ = ["Content", "Decisions"]

_ONE = {1: np.array(1), -1: np.array(-1)}  # adding an array to an array spares numpy the conversion
_NEVER_SEEN = "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a state holds, in canonical order: equal states have equal contents, whatever their history.

    Attributes
    ----------
    examples
        How many examples were counted.
    labels
        Declared labels in their order, then the mentioned others, sorted.
    fixed
        How many of ``labels`` are declared.
    cells
        Shape (labels, 5).
    keys, times
        The row keys in lexicographic order, shape (distinct, 4), and how many examples had each.
    scale, cell_weights, key_weights
        None when every weight sum equals its count. Otherwise the sums in units of ``2**-scale``, for each label a
        list over its outcomes (the first, true negatives, is 0), and for each row key; the scale is as small as it
        can be.
    """

    examples: int
    labels: tuple[Label, ...]
    fixed: int
    cells: IntArray
    keys: IntArray
    times: IntArray
    scale: int | None
    cell_weights: list[list[int]] | None
    key_weights: list[int] | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Content):
            return NotImplemented
        return (
            self.examples == other.examples
            and self.labels == other.labels
            and self.fixed == other.fixed
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.keys, other.keys)
            and np.array_equal(self.times, other.times)
            and self.scale == other.scale
            and self.cell_weights == other.cell_weights
            and self.key_weights == other.key_weights
        )


class _Delta(NamedTuple):
    """What a batch, or another state, adds to a state; in the state's columns."""

    examples: int
    columns: IntArray
    cells: IntArray
    histogram: dict[RowKey, int]
    weights: ExactSums[int | RowKey] | None


class _Plan(NamedTuple):
    """New values of everything that changes; see `streameval.states.base`."""

    examples: int
    slots: IntArray
    counts: IntArray
    histogram: dict[RowKey, int]
    weights: ExactSums[int | RowKey] | None
    sums: dict[int | RowKey, int]


class Decisions:
    """Per-label and per-example counts of decisions, exact under any order, batching, merging and reverting."""

    __slots__ = ("_examples", "_flat", "_histogram", "_labels", "_plan", "_weights")

    def __init__(self, labels: LabelIndex) -> None:
        self._labels = labels
        self._examples = 0
        self._flat: IntArray = np.zeros(5 * max(8, len(labels)), np.int64)
        self._histogram: dict[RowKey, int] = {}
        self._weights: ExactSums[int | RowKey] | None = None
        self._plan: _Plan | None = None

    def empty(self, labels: LabelIndex) -> Decisions:
        """A state of the same kind that has counted nothing."""
        return Decisions(labels)

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._complete()
        return self._examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_one(self, example: Example, sign: int) -> None:
        """Count one example (sign 1) or take it back (sign -1)."""
        self._complete()
        self._reserve()
        slots, key, weight = example
        examples = self._examples + sign
        if examples > COUNT_MAX:
            raise _overflow()
        where = np.asarray(slots, np.int64)
        counts = self._flat[where] + _ONE[sign]
        times = self._histogram.get(key, 0) + sign
        if sign < 0:
            self._refuse_negative(examples, where, counts, (times,))
        if weight == 1.0 and self._weights is None:
            self._apply(_Plan(examples, where, counts, {key: times}, None, {}))
            return
        value, scale = units_of(weight)
        weights = self._weights_at(common_scale(scale))
        value <<= weights.scale - scale
        left = dict(zip(where.tolist(), counts.tolist(), strict=True))
        sums: dict[int | RowKey, int] = {slot: value for slot in left if slot % 5}
        sums[key] = value
        sums = self._new_sums(weights, sums, left, {key: times}, sign)
        self._apply(_Plan(examples, where, counts, {key: times}, weights, sums))

    def count(self, batch: Batch) -> None:
        """Count a batch of examples."""
        self._add(self._delta_of_batch(batch), 1)

    def merge(self, other: Decisions, sign: int = 1) -> None:
        """Add all that ``other`` has counted, or with sign -1 take it back. ``other`` may be this very state."""
        self._add(self._delta_of_state(other), sign)

    def _add(self, delta: _Delta, sign: int) -> None:
        self._complete()
        self._reserve()
        examples = self._examples + sign * delta.examples
        if examples > COUNT_MAX:
            raise _overflow()
        where = (5 * delta.columns[:, None] + np.arange(5)).reshape(-1)
        counts = self._flat[where] + sign * delta.cells.reshape(-1)
        old = self._histogram
        histogram = {key: old.get(key, 0) + sign * times for key, times in delta.histogram.items()}
        if sign < 0:
            self._refuse_negative(examples, where, counts, histogram.values())
        if delta.weights is None and self._weights is None:
            self._apply(_Plan(examples, where, counts, histogram, None, {}))
            return
        added = delta.weights or _sums_of_counts(delta.columns, delta.cells, delta.histogram)
        weights = self._weights_at(common_scale(added.scale))
        left = dict(zip(where.tolist(), counts.tolist(), strict=True))
        sums = self._new_sums(weights, added.at(weights.scale).sums, left, histogram, sign)
        self._apply(_Plan(examples, where, counts, histogram, weights, sums))

    def _apply(self, plan: _Plan) -> None:
        self._plan = plan
        self._complete()

    def _complete(self) -> None:
        """Apply the plan that was stored last, unless that was done; see `streameval.states.base`."""
        plan = self._plan
        if plan is None:
            return
        self._flat[plan.slots] = plan.counts
        self._histogram.update(plan.histogram)
        if plan.weights is not None:
            plan.weights.sums.update(plan.sums)
            self._weights = plan.weights
        self._examples = plan.examples
        self._plan = None

    def _reserve(self) -> None:
        """Make room for every registered label; what is counted stays the same."""
        needed = 5 * len(self._labels)
        if needed > len(self._flat):
            flat = np.zeros(max(needed, 2 * len(self._flat)), np.int64)
            flat[: len(self._flat)] = self._flat
            self._flat = flat

    def _refuse_negative(self, examples: int, where: IntArray, counts: IntArray, times: object) -> None:
        """Raise if taking something back would leave what no stream of examples can leave."""
        if examples < 0 or (counts < 0).any() or min(times, default=0) < 0:  # type: ignore[call-overload]
            raise RevertError(_NEVER_SEEN)
        after = self._flat.copy()
        after[where] = counts
        if int(np.add.reduce(after.reshape(-1, 5), axis=1).max(initial=0)) > examples:
            raise RevertError(_NEVER_SEEN)

    def _weights_at(self, scale: int) -> ExactSums[int | RowKey]:
        """The weight sums so far in units at least as fine as asked; a new object if anything about it differs."""
        if self._weights is None:
            columns = np.arange(len(self._labels))
            cells = self._flat[: 5 * len(columns)].reshape(-1, 5)
            return _sums_of_counts(columns, cells, self._histogram).at(scale)
        return self._weights.at(max(scale, self._weights.scale))

    def _new_sums(
        self,
        weights: ExactSums[int | RowKey],
        added: dict[int | RowKey, int],
        counts: dict[int, int],
        times: dict[RowKey, int],
        sign: int,
    ) -> dict[int | RowKey, int]:
        old = weights.sums
        sums = {key: old.get(key, 0) + sign * value for key, value in added.items()}
        if sign < 0:
            for key, value in sums.items():
                left = times[key] if isinstance(key, tuple) else counts[key]
                if value < 0 or (value and not left):
                    raise RevertError(_NEVER_SEEN)
            # A reverted example of weight 0 touches counts whose weight sums it does not mention.
            if any(not left and sums.get(slot, old.get(slot, 0)) for slot, left in counts.items()):
                raise RevertError(_NEVER_SEEN)
        return sums

    # -- what is added ------------------------------------------------------------------------------------------------

    def _delta_of_batch(self, batch: Batch) -> _Delta:
        if isinstance(batch, DenseBatch):
            columns = batch.columns
            cells = np.zeros((len(columns), 5), np.int64)
            keys = kernel.count_dense(batch.true, batch.pred, batch.hidden, cells)
        else:
            columns, local, everywhere = _compact(batch.columns, batch.everywhere, len(self._labels))
            cells = np.zeros((len(columns), 5), np.int64)
            keys, rows, slots = kernel.count_entries(batch.examples, batch.rows, local, batch.bits, everywhere, cells)
        cells[columns < self._labels.fixed, 0] = 0
        distinct, times, inverse = kernel.tally(keys)
        row_keys: list[RowKey] = list(zip(*distinct.T.tolist(), strict=True))
        histogram = dict(zip(row_keys, times.tolist(), strict=True))
        weights: ExactSums[int | RowKey] | None = None
        if batch.weights is not None:
            scale, digits = kernel.limbs(batch.weights)
            target = common_scale(scale)
            if isinstance(batch, DenseBatch):
                weighed = kernel.weigh_dense(batch.true, batch.pred, batch.hidden, digits)
            else:
                weighed = kernel.weigh_cells(slots, rows, digits, len(columns))
            all_slots = (5 * columns[:, None] + np.arange(5)).reshape(-1).tolist()
            by_slot = exact_integers(weighed.reshape(-1, digits.shape[1]), scale, target)
            by_key = exact_integers(kernel.weigh_groups(inverse, digits, len(times)), scale, target)
            sums: dict[int | RowKey, int] = dict(zip(all_slots, by_slot, strict=True))
            sums.update(zip(row_keys, by_key, strict=True))
            weights = ExactSums(target, {key: value for key, value in sums.items() if value})
        return _Delta(len(keys), columns, cells, histogram, weights)

    def _delta_of_state(self, other: Decisions) -> _Delta:
        """All of another state, its labels registered here."""
        other._complete()
        width = len(other._labels)
        cells = other._flat[: 5 * width].reshape(-1, 5).copy()
        present = other._present()
        names = other._labels.labels
        columns = np.array([self._labels.add(names[column]) for column in present.tolist()], np.int64)
        weights: ExactSums[int | RowKey] | None = None
        if other._weights is not None:
            moved = dict(zip(present.tolist(), columns.tolist(), strict=True))
            weights = ExactSums(
                other._weights.scale,
                {
                    key if isinstance(key, tuple) else 5 * moved[key // 5] + key % 5: value
                    for key, value in other._weights.sums.items()
                    if value
                },
            )
        histogram = {key: times for key, times in other._histogram.items() if times}
        return _Delta(other._examples, columns, cells[present], histogram, weights)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _present(self) -> IntArray:
        """The columns of the declared labels and of those that a counted example mentions."""
        self._complete()
        cells = self._flat[: 5 * len(self._labels)].reshape(-1, 5)
        mentioned = np.asarray(cells.any(axis=1))
        mentioned[: self._labels.fixed] = True
        return np.flatnonzero(mentioned[: len(self._labels)])

    def mentioned(self) -> list[bool]:
        """For each column whether it is declared or some counted example mentions it."""
        flags = np.zeros(len(self._labels), np.bool_)
        flags[self._present()] = True
        listed: list[bool] = flags.tolist()
        return listed

    def sparse(self) -> bool:
        """Whether most row keys that were ever met have no example left."""
        self._complete()
        return 2 * sum(map(bool, self._histogram.values())) < len(self._histogram)

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        self._complete()
        if not self._flat[5 * size :].any():
            self._labels.truncate(size)

    def content(self) -> Content:
        """What is held, in canonical order."""
        self._complete()
        self._reserve()
        names, fixed = self._labels.labels, self._labels.fixed
        present = self._present().tolist()
        columns = present[:fixed] + sorted(present[fixed:], key=lambda column: in_order(names[column]))
        cells = self._flat.reshape(-1, 5)[np.array(columns, np.intp)]
        row_keys = sorted(key for key, times in self._histogram.items() if times)
        keys = np.array(row_keys, np.int64).reshape(-1, 4)
        times = np.array([self._histogram[key] for key in row_keys], np.int64)
        scale: int | None = None
        cell_weights: list[list[int]] | None = None
        key_weights: list[int] | None = None
        if self._weights is not None:
            get = self._weights.sums.get
            scale = self._weights.scale
            cell_weights = [[0, *(get(5 * column + outcome, 0) for outcome in range(1, 5))] for column in columns]
            key_weights = [get(key, 0) for key in row_keys]
            scale, cell_weights, key_weights = _reduced(scale, cell_weights, key_weights)
            if scale == 0 and key_weights == times.tolist() and _counts_equal(cell_weights, cells):
                scale, cell_weights, key_weights = None, None, None
        labels = tuple(names[column] for column in columns)
        return Content(self._examples, labels, fixed, cells, keys, times, scale, cell_weights, key_weights)

    @classmethod
    def from_content(cls, content: Content, labels: LabelIndex) -> Decisions:
        """A state that holds ``content``; ``labels`` must be exactly the labels of the content, in its order."""
        state = cls(labels)
        state._examples = content.examples
        state._flat[: content.cells.size] = content.cells.reshape(-1)
        row_keys: list[RowKey] = list(zip(*content.keys.T.tolist(), strict=True))
        state._histogram = dict(zip(row_keys, content.times.tolist(), strict=True))
        if content.scale is not None and content.cell_weights is not None and content.key_weights is not None:
            sums: dict[int | RowKey, int] = {
                5 * column + outcome: value
                for column, values in enumerate(content.cell_weights)
                for outcome, value in enumerate(values)
                if value
            }
            sums.update((key, value) for key, value in zip(row_keys, content.key_weights, strict=True) if value)
            state._weights = ExactSums(content.scale, sums).at(common_scale(content.scale))
        return state

    def copy(self, labels: LabelIndex) -> Decisions:
        """An independent copy over a copy of the labels."""
        self._complete()
        twin = Decisions(labels)
        twin._examples = self._examples
        twin._flat = self._flat.copy()
        twin._histogram = dict(self._histogram)
        twin._weights = None if self._weights is None else self._weights.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decisions):
            return NotImplemented
        return self.content() == other.content()

    __hash__ = None  # type: ignore[assignment]


def _overflow() -> CounterOverflowError:
    return CounterOverflowError(
        f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits; evaluate in parts, each its own object"
    )


def _compact(columns: IntArray, everywhere: IntArray, width: int) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct columns in use, and the given ones as positions among them."""
    used = np.zeros(width, np.bool_)
    used[columns] = True
    used[everywhere] = True
    distinct = np.flatnonzero(used)
    position = np.zeros(width, np.int64)
    position[distinct] = np.arange(len(distinct))
    return distinct, position[columns], position[everywhere]


def _sums_of_counts(columns: IntArray, cells: IntArray, histogram: dict[RowKey, int]) -> ExactSums[int | RowKey]:
    """The weight sums of examples that all weigh 1."""
    sums: dict[int | RowKey, int] = {key: times for key, times in histogram.items() if times}
    cells = cells.copy()
    cells[:, 0] = 0  # weights of true negatives are always derived
    row, outcome = np.nonzero(cells)
    sums.update(zip((5 * columns[row] + outcome).tolist(), cells[row, outcome].tolist(), strict=True))
    return ExactSums(0, sums)


def _reduced(
    scale: int, cell_weights: list[list[int]], key_weights: list[int]
) -> tuple[int, list[list[int]], list[int]]:
    """The same sums in the coarsest unit that keeps them integers."""
    zeros = trailing_zeros(chain(chain.from_iterable(cell_weights), key_weights))
    shift = scale if zeros is None else min(scale, zeros)
    if not shift:
        return scale, cell_weights, key_weights
    cell_weights = [[value >> shift for value in values] for values in cell_weights]
    return scale - shift, cell_weights, [value >> shift for value in key_weights]


def _counts_equal(cell_weights: list[list[int]], cells: IntArray) -> bool:
    return all(values[1:] == counts[1:] for values, counts in zip(cell_weights, cells.tolist(), strict=True))
