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

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import ClassVar, NamedTuple, cast

import numpy as np

from streameval.errors import CounterOverflowError, RevertError
from streameval.kernel import backend
from streameval.kernel.types import DONE, FULL, OTHER, FloatArray, IntArray, RowKey
from streameval.schema.batch import Batch, Dense, Example, Ragged
from streameval.schema.labels import Label, LabelIndex
from streameval.states.base import COUNT_MAX
from streameval.states.content import Content
from streameval.states.exact import ExactSums, common_scale, exact_integers, scaled, trailing_zeros, units_of
from streameval.states.margins import Margins

__all__ = ["Decisions"]

_SEQUENCES = {list, tuple}
_PER_THREAD = 255  # examples, below which a thread of its own does not pay
_AT_ONCE = 2**21  # cells of groups and labels, up to which groups are counted in one pass, as they fit into memory
_TOO_MANY = f"more than {COUNT_MAX} examples cannot be counted exactly in 64 bits; evaluate in parts, each on its own"
_NEVER_SEEN = "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"


class _Plan(NamedTuple):
    """New weight sums that belong to a change of the counts.

    The counts change at once or not at all, and with them the number of examples: if it is still ``before``, the change
    did not happen and the plan is void.
    """

    before: int
    weights: ExactSums[int | RowKey]
    sums: dict[int | RowKey, int]


class Decisions:
    """Per-label and per-example counts of decisions, exact under any order, batching, merging and reverting."""

    __slots__ = ("_counts", "_labels", "_margins", "_plan", "_weights")
    reads_decisions: ClassVar[bool] = True

    def __init__(self, labels: LabelIndex) -> None:
        self._labels = labels
        self._counts = backend.decisions.Counts(backend.commit.Root(), len(labels))
        self._weights: ExactSums[int | RowKey] | None = None
        self._margins: Margins | None = None
        self._plan: _Plan | None = None

    def empty(self, labels: LabelIndex) -> Decisions:
        """A state of the same kind that has counted nothing."""
        return Decisions(labels)

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self._counts.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_plain(self, y_true: object, y_pred: object, threshold: float | None, sign: int) -> bool:
        """Count one unweighted example straight from what the user gave, if it is of a common form."""
        if self._plan is not None:
            self._settle()
        if self._weights is not None:
            return False
        labels = self._labels
        code = self._counts.count_example(labels.columns, labels.fixed, y_true, y_pred, threshold, sign)
        if code == DONE:
            return True
        if code == OTHER:
            return False
        raise _declined(code)

    def count_plain_many(self, y_true: object, y_pred: object, threshold: float | None) -> bool:
        """Count unweighted examples likewise, if they stand in lists and all are of a common form."""
        self._settle()
        if self._weights is not None or not {type(y_true), type(y_pred)} <= _SEQUENCES:
            return False
        true, pred, labels = list(cast("list[object]", y_true)), list(cast("list[object]", y_pred)), self._labels
        if len(true) != len(pred):
            return False
        code = self._counts.count_examples(labels.columns, labels.fixed, true, pred, threshold)
        if code in (DONE, OTHER):
            return code == DONE
        raise _declined(code)

    def place_plain(self, y_true: object, y_pred: object, threshold: float | None, weight: float) -> Example | None:
        """An example of a common form, its cells placed; nothing changes."""
        labels = self._labels
        placed = self._counts.place_example(labels.columns, labels.fixed, y_true, y_pred, threshold)
        return None if placed is None else Example(*placed, weight)

    def count_one(self, example: Example, sign: int, *, known: bool = False) -> None:
        """Count one example (sign 1) or take it back (sign -1); ``known``: it was surely counted, so no need to ask."""
        self._settle()
        self._counts.reserve(len(self._labels))
        slots, key, weight, _ = example
        if weight != 1.0 or self._weights is not None:
            value, scale = units_of(weight)
            weights = self._weights_at(common_scale(scale))
            value <<= weights.scale - scale
            weighed = [slot for slot in slots.tolist() if slot % 5]
            columns = {slot // 5 for slot in weighed}
            places: tuple[int | RowKey, ...] = (*weighed, key)
            sums = {place: weights.sums.get(place, 0) + sign * value for place in places}
            if sign < 0 and not known:
                left: dict[int | RowKey, int] = dict(zip(slots.tolist(), self._counts.at(slots).tolist(), strict=True))
                left[key] = self._counts.times(key)
                gone = any(sums[place] < 0 or (sums[place] and left[place] <= 1) for place in sums)
                if gone or self._outweighs(weights, sums, columns, value):
                    raise RevertError(_NEVER_SEEN)
            self._plan = _Plan(self._counts.examples, weights, sums)
        self._finish(self._counts.count_slots(slots, key, self._labels.fixed, sign))
        if sign > 0 and self._margins is not None:  # then the example was weighed
            self._margins.raise_(columns, value)

    def _outweighs(
        self, weights: ExactSums[int | RowKey], sums: dict[int | RowKey, int], columns: set[int], value: int
    ) -> bool:
        """Whether a label would weigh more than all examples together, which no examples can leave."""
        margins = self._margins
        if margins is None or margins.scale != weights.scale or not margins.lower(columns, value):
            self._margins = margins = Margins.of({**weights.sums, **sums}, weights.scale)
        return margins is None

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        threads = min(threads, batch.examples // _PER_THREAD)
        if threads > 1:
            self._count_in_parts(batch, threads)
            return
        self._counts.reserve(len(self._labels))
        fixed = self._labels.fixed
        if isinstance(batch, Ragged):
            lists = (batch.true, batch.pred, batch.mask, batch.mentioned)
            self._counts.count_lists(batch.examples, fixed, *lists, batch.mentioned_by_all)
        elif batch.comparable and batch.scores is not None and batch.threshold is not None:
            compared = (batch.true, batch.scores, batch.threshold, batch.mask)
            highest, finite = self._counts.count_scores(batch.columns, fixed, *compared)
            if highest > 1 or not finite:
                raise batch.refusal()
        elif self._counts.count_dense(batch.columns, fixed, batch.true, batch.binary(), batch.mask) > 1:
            raise batch.refusal()
        if batch.weights is not None:
            added = self._weigh(batch, batch.weights)
            weights = (self._weights or ExactSums(added.scale)).at(max(added.scale, (self._weights or added).scale))
            for key, value in added.at(weights.scale).sums.items():
                weights.sums[key] = weights.sums.get(key, 0) + value
            self._weights = weights

    @staticmethod
    def count_groups(states: list[Decisions], codes: IntArray, batch: Batch) -> bool:
        """Count each example of a batch in one of several states over the same labels, if the batch is a common one.

        Only for states that are thrown away if this raises.
        """
        labels = states[0]._labels
        if not isinstance(batch, Ragged) or batch.true is None or batch.pred is None or len(batch.mentioned_by_all):
            return False
        if batch.weights is not None or batch.mask is not None or batch.mentioned is not None:
            return False
        if len(states) * len(labels) > _AT_ONCE:
            return False
        backend.decisions.count_groups(
            [state._counts for state in states], codes, batch.examples, len(labels), batch.true, batch.pred
        )
        return True

    def _count_in_parts(self, batch: Batch, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and seldom needed

        bounds = [batch.examples * part // threads for part in range(threads + 1)]
        parts = [batch.part(start, stop) for start, stop in pairwise(bounds)]
        states = [self.empty(self._labels) for _ in parts]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(Decisions.count, states, parts))
        for state in states:
            self.merge(state)

    def merge(self, other: Decisions) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very state."""
        other._settle()
        self._settle()
        columns = self._columns_of(other)
        self._counts.reserve(len(self._labels))
        if self._weights is not None or other._weights is not None:
            added = other._weights_at(0)
            if columns is not None:
                place = columns.tolist()
                added = ExactSums(
                    added.scale,
                    {
                        key if isinstance(key, tuple) else 5 * place[key // 5] + key % 5: value
                        for key, value in added.sums.items()
                        if value  # what was taken back may be of a label that has no column any more
                    },
                )
            weights = self._weights_at(common_scale(added.scale))
            old, new = weights.sums, added.at(weights.scale).sums
            sums = {key: old.get(key, 0) + value for key, value in new.items()}
            self._plan = _Plan(self._counts.examples, weights, sums)
        self._finish(self._counts.merge(other._counts, columns, self._labels.fixed))

    def _columns_of(self, other: Decisions) -> IntArray | None:
        """Where the columns of another state are here, its labels registered; None if they are the same."""
        theirs, ours = other._labels, self._labels
        if theirs.labels is ours.labels or (theirs.fixed == ours.fixed and theirs.labels == ours.labels):
            return None
        names = theirs.labels
        with suppress(KeyError):
            return np.fromiter(map(ours.columns.__getitem__, names), np.int64, len(names))
        mentioned = other._counts.mentioned(len(names)).tolist()
        ours.extend([name for name, there in zip(names, mentioned, strict=True) if there and name not in ours.columns])
        return np.array([ours.columns.get(name, 0) for name in names], np.int64)

    def _finish(self, code: int) -> None:
        """Complete a change whose counts were changed, or undo its plan if they declined."""
        if code != DONE:
            self._plan = None
            raise _declined(code)
        self._settle()

    def _settle(self) -> None:
        """Bring the weight sums in line with the counts, whatever interrupted the last change."""
        plan = self._plan
        if plan is not None:
            if self._counts.examples != plan.before:
                plan.weights.sums.update(plan.sums)
                self._weights = plan.weights
            self._plan = None

    def _weights_at(self, scale: int) -> ExactSums[int | RowKey]:
        """The weight sums so far in units at least as fine as asked; a new object if anything about it differs."""
        if self._weights is not None:
            return self._weights.at(max(scale, self._weights.scale))
        return ExactSums(0, self._counts_as_sums()).at(scale)

    def _counts_as_sums(self) -> dict[int | RowKey, int]:
        """The weight sums if every example weighed 1."""
        cells = self._counts.cells(len(self._labels))
        cells[:, 0] = 0  # weights of true negatives are always derived
        column, outcome = np.nonzero(cells)
        sums: dict[int | RowKey, int] = dict(
            zip((5 * column + outcome).tolist(), cells[column, outcome].tolist(), strict=True)
        )
        keys, times = self._counts.row_keys()
        sums.update(zip(_tuples(keys), times.tolist(), strict=True))
        return sums

    def _weigh(self, batch: Batch, factors: FloatArray) -> ExactSums[int | RowKey]:
        """The weight sums of the examples of a batch."""
        if isinstance(batch, Dense):
            columns = batch.columns
            weighed = backend.decisions.weigh_dense(batch.true, batch.binary(), batch.mask, factors)
        else:
            columns = np.arange(len(self._labels))
            lists = (batch.true, batch.pred, batch.mask, batch.mentioned)
            weighed = backend.decisions.weigh_lists(batch.examples, len(columns), *lists, factors)
        target = common_scale(weighed.scale)
        place, outcome = np.nonzero(weighed.cells.any(axis=2))
        by_slot = exact_integers(weighed.cells[place, outcome], weighed.scale, target)
        by_key = exact_integers(weighed.of_keys, weighed.scale, target)
        sums: dict[int | RowKey, int] = dict(zip((5 * columns[place] + outcome).tolist(), by_slot, strict=True))
        sums.update(zip(_tuples(weighed.keys), by_key, strict=True))
        return ExactSums(target, sums)

    # -- labels -------------------------------------------------------------------------------------------------------

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        grown = self._counts.mentioned(len(self._labels))[self._labels.fixed :]
        return 2 * (self._labels.fixed + int(np.count_nonzero(grown))) < len(self._labels)

    def compact(self) -> None:
        """Drop row keys of which no example is left."""
        self._settle()
        self._counts.compact()
        if self._weights is not None:
            self._weights = ExactSums(
                self._weights.scale, {key: value for key, value in self._weights.sums.items() if value}
            )

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        registered = len(self._labels)
        if registered > size:
            self._counts.reserve(registered)
            if not self._counts.outcomes(np.arange(size, registered)).any():
                self._counts.forget_columns()
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
            self._margins = None  # first: margins without weights would not hear of what is counted meanwhile
            self._weights = None
            return None
        zeros = trailing_zeros(sums.values())
        return 0 if zeros is None else scale - min(scale, zeros)

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        order, fixed = self._labels.order(), self._labels.fixed
        if fixed == len(order):
            return order
        mentioned = self._counts.mentioned(len(order))
        mentioned[:fixed] = True
        return order if mentioned.all() else order[mentioned[order]]

    def labels_of(self, columns: IntArray) -> tuple[Label, ...]:
        """The labels of columns."""
        return tuple(map(self._labels.labels.__getitem__, columns.tolist()))

    def by_label(self, columns: IntArray, scale: int | None) -> tuple[IntArray, list[list[int]] | None]:
        """The counts of the five outcomes of each column, shape (5, columns), and the weight sums of each column.

        ``scale`` is what `tidy` returned. The weight sum of the first outcome is always 0.
        """
        self._counts.reserve(len(self._labels))
        cells = self._counts.outcomes(columns)
        if self._weights is None or scale is None:
            return cells, None
        get, shift = self._weights.sums.get, self._weights.scale - scale
        rows = [[0, *(get(5 * column + part, 0) >> shift for part in range(1, 5))] for column in columns.tolist()]
        return cells, rows

    def by_example(self, scale: int | None) -> tuple[IntArray, IntArray, list[int] | None]:
        """The row keys that occur, in no particular order, the count of each, and its weight sum."""
        keys, times = self._counts.row_keys()
        if self._weights is None or scale is None:
            return keys, times, None
        get, shift = self._weights.sums.get, self._weights.scale - scale
        return keys, times, [get(key, 0) >> shift for key in _tuples(keys)]

    def content(self) -> Content:
        """What is held, in canonical order."""
        scale, columns = self.tidy(), self.columns()
        cells, cell_weights = self.by_label(columns, scale)
        keys, times, key_weights = self.by_example(scale)
        order = np.lexsort(keys.T[::-1])
        if key_weights is not None:
            key_weights = [key_weights[position] for position in order.tolist()]
        labels, fixed = self.labels_of(columns), self._labels.fixed
        return Content(
            self.examples, labels, fixed, cells.T, keys[order], times[order], scale, cell_weights, key_weights
        )

    @classmethod
    def from_content(cls, content: Content, labels: LabelIndex) -> Decisions:
        """A state that holds ``content``; ``labels`` must be exactly the labels of the content, in its order."""
        state = cls(labels)
        state._counts.restore(content.examples, content.cells, content.keys, content.times)
        if content.scale is not None and content.cell_weights is not None and content.key_weights is not None:
            sums: dict[int | RowKey, int] = {
                5 * column + outcome: value
                for column, values in enumerate(content.cell_weights)
                for outcome, value in enumerate(values)
                if value
            }
            pairs = zip(_tuples(content.keys), content.key_weights, strict=True)
            sums.update((key, value) for key, value in pairs if value)
            state._weights = ExactSums(content.scale, sums).at(common_scale(content.scale))
        return state

    def unweigh(self) -> None:
        """Drop the weight sums, where it is known that every counted example weighs 1."""
        self._weights = None

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Decisions:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        twin = self.copy(labels)
        if twin.examples:
            twin._weights = scaled(twin._weights_at(0), numerator, scale)
        return twin

    def copy(self, labels: LabelIndex) -> Decisions:
        """An independent copy over a copy of the labels."""
        self._settle()
        twin = Decisions(labels)
        twin._counts = self._counts.copy(backend.commit.Root())
        twin._weights = None if self._weights is None else self._weights.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decisions):
            return NotImplemented
        return self.content() == other.content()

    __hash__ = None  # type: ignore[assignment]


def _declined(code: int) -> Exception:
    """Why the counts declined a change."""
    return CounterOverflowError(_TOO_MANY) if code == FULL else RevertError(_NEVER_SEEN)


def _tuples(keys: IntArray) -> Iterable[RowKey]:
    """Row keys as tuples."""
    return zip(*keys.T.tolist(), strict=True)
