"""The state of rankings: integers by what examples have in common, from which every ranking metric can be read.

What is always kept is described in `streameval.kernel.rankings.numpy`: tie groups that hold a true label, the first
such group of an example, and examples by how many labels they have. How many labels there are is known only when
reading, so no key depends on it. Four further tables are kept where `RankingOptions` ask for them::

    labels  column, rank -> examples in which the label is true and its group ends at this rank; rank 0: is true
    hits    k, T, s, g', t', a, g -> sums of t, t L and t², for average precision divided by the number of hits
    gains   min(m, ranks), a, g -> sum of the inverse propensities of true labels in such groups
    ideals  min(m, ranks), rank -> sum of the inverse propensities that a perfect ranking has at this rank

In ``hits``, T are the true labels that surely rank among the first k, and s, g', t' say how many places the group that
straddles k has before it, its size and its true labels (0 where there is none).

Weighted streams keep beside every sum the exact weighted sum. These are dropped when they equal the sums, so a stream
whose weights are all 1 is the same state as an unweighted one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from streameval.errors import CounterOverflowError, LabelError, RevertError
from streameval.kernel import backend
from streameval.kernel.types import FULL, FloatArray, IntArray, Records
from streameval.schema.batch import Batch, Dense, ragged
from streameval.schema.labels import Label, LabelIndex
from streameval.schema.text import quoted
from streameval.states.base import COUNT_MAX
from streameval.states.exact import ExactSums, common_scale, scaled, trailing_zeros
from streameval.states.options import RankingOptions
from streameval.states.ranking_content import (
    GAINS,
    KEYS,
    LABELS,
    MAIN,
    NAMES,
    PARTS,
    Key,
    RankingContent,
    Table,
)
from streameval.states.ranking_sums import added, asked_parts, main_parts, summed, summed_few

__all__ = ["RankingContent", "Rankings"]

_PER_THREAD = 255  # examples, below which a thread of its own does not pay
_FEW = 256  # examples and true labels, up to which plain loops are quicker than arrays
_TOO_MANY = f"a sum over the examples would pass {COUNT_MAX}; evaluate in parts, each on its own"
_NEVER_SEEN = "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"

Sums: TypeAlias = ExactSums[Key]


class _Plan(NamedTuple):
    """New sums that belong to a change of the counts.

    The counts change at once or not at all, and with them the number of examples: if it is still ``before``, the change
    did not happen and the plan is void.
    """

    before: int
    asked: Sums
    asked_sums: dict[Key, int]
    weights: Sums | None
    weight_sums: dict[Key, int]


class Rankings:
    """Sums over examples that all ranking metrics share, exact under any order, batching, merging and reverting."""

    reads_decisions: ClassVar[bool] = False
    __slots__ = ("_asked", "_counts", "_inverse", "_labels", "_options", "_plan", "_root", "_scratch", "_weights")

    def __init__(self, labels: LabelIndex, options: RankingOptions | None = None) -> None:
        self._labels = labels
        self._options = options or RankingOptions()
        self._root = backend.commit.Root()
        self._counts = backend.rankings.RankCounts(self._root, len(labels))
        self._asked: Sums = ExactSums()
        self._weights: Sums | None = None
        self._plan: _Plan | None = None
        self._inverse = dict(self._options.propensities)
        self._scratch: Rankings | None = None

    def empty(self, labels: LabelIndex) -> Rankings:
        """A state of the same kind that has counted nothing."""
        made = Rankings(labels)
        made._options, made._inverse = self._options, self._inverse
        return made

    @property
    def options(self) -> RankingOptions:
        """What was chosen when the state was made. Only states with equal options may be merged."""
        return self._options

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self._counts.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_one(self, batch: Batch, sign: int, *, known: bool = False) -> None:
        """Count the examples of a small batch (sign 1) or take them back (sign -1): all of them, or none.

        ``known``: they were surely counted, so no need to ask.
        """
        self._settle()
        fresh, self._scratch = self._scratch or self.empty(self._labels), None
        fresh.count(batch)
        self._change(fresh, None, sign, known)
        fresh._counts.clear()
        fresh._asked, fresh._weights, fresh._plan = ExactSums(), None, None
        self._scratch = fresh

    def count(self, batch: Batch, threads: int = 1) -> None:
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        threads = min(threads, batch.examples // _PER_THREAD)
        detailed = batch.weights is not None or self._options.asks
        if threads > 1:
            self._count_in_parts(batch, threads)
        elif (self.examples and detailed) or self._weights is not None:
            fresh = self.empty(self._labels)
            fresh.count(batch)
            self._change(fresh, None, 1)
        else:
            self._count(batch, detailed)

    def _count_in_parts(self, batch: Batch, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor  # slow to import, and seldom needed

        bounds = [batch.examples * part // threads for part in range(threads + 1)]
        parts = [batch.part(start, stop) for start, stop in pairwise(bounds)]
        states = [self.empty(self._labels) for _ in parts]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(Rankings.count, states, parts))
        for state in states:
            self.merge(state)

    def _count(self, batch: Batch, detailed: bool) -> None:
        """Count a batch; where more than counts is wanted, the state is still empty."""
        self._counts.reserve(len(self._labels))
        place = self._places() if self._options.ties == "last" else None
        fixed = self._labels.fixed
        if isinstance(batch, Dense):
            batch = batch if place is None else _in_order(batch, place)
            dense = batch.columns, fixed, batch.true, batch.scores, batch.ranked, batch.mask, place is not None
            records = self._counts.count_rows(*dense, detailed)  # type: ignore[arg-type]  # there are scores
        else:
            true, ranked, mask = map(ragged, (batch.true, batch.ranked, batch.mask))
            lists = batch.examples, fixed, true, ranked, batch.scores, mask, place
            records = self._counts.count_lists(*lists, detailed)  # type: ignore[arg-type]  # there are scores
        if records is not None:
            self._add(records, batch.weights)

    def _add(self, records: Records, weights: FloatArray | None) -> None:
        """Sum what the tables that are asked for keep, and all weights."""
        if len(records.labels) + len(records.rows) <= _FEW:
            self._asked, self._weights = summed_few(records, self._options, self._inverse_of, weights)
            return
        inverse = np.ones(len(self._labels), np.float64)
        if self._options.gain_ranks:
            occurs = np.zeros(len(self._labels), np.bool_)
            occurs[records.labels[:, 1]] = True
            for column in np.flatnonzero(occurs).tolist():
                inverse[column] = self._inverse_of(column)
        parts = asked_parts(records, self._options, inverse)
        self._asked = summed(parts, None)
        if weights is not None:
            self._weights = summed([*main_parts(records), *parts], weights)

    def merge(self, other: Rankings) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very state."""
        other._settle()
        self._settle()
        columns = self._columns_of(other)
        self._counts.reserve(len(self._labels))
        self._change(other, columns, 1)

    def _change(self, other: Rankings, columns: IntArray | None, sign: int, known: bool = False) -> None:
        """Add another state, or take it back; ``columns`` says where its columns are here (None: the same)."""
        doubted = sign < 0 and not known
        if doubted and not self._stays_possible(other):
            raise RevertError(_NEVER_SEEN)
        old, asked_sums = self._after(self._asked, other._asked, columns, sign)
        weights: Sums | None = None
        weight_sums: dict[Key, int] = {}
        if self._weights is not None or other._weights is not None:
            mine, others = self._weights_at(0), other._weights_at(0)
            weights, weight_sums = self._after(mine, others, columns, sign)
            if doubted and self._outweighed(other, weight_sums, asked_sums):
                raise RevertError(_NEVER_SEEN)
        if doubted and min(asked_sums.values(), default=0) < 0:
            raise RevertError(_NEVER_SEEN)
        if asked_sums or weights is not None:
            self._plan = _Plan(self._counts.examples, old, asked_sums, weights, weight_sums)
        part = self._counts.prepare_merge(other._counts, columns, sign)
        if isinstance(part, int):
            self._plan = None
            raise CounterOverflowError(_TOO_MANY) if part == FULL else RevertError(_NEVER_SEEN)
        self._root.commit([part])
        self._settle()

    @staticmethod
    def _after(mine: Sums, others: Sums, columns: IntArray | None, sign: int) -> tuple[Sums, dict[Key, int]]:
        """The sums in units fine enough for both, and the new values of those that change."""
        scale = max(mine.scale, common_scale(others.scale))
        mine, others = mine.at(scale), others.at(scale)
        place = None if columns is None else columns.tolist()
        old = mine.sums
        new = {}
        for key, value in others.sums.items():
            if not value and place is not None:  # it was taken back, and its label may have no column any more
                continue
            here = key if place is None or key[0] != LABELS else (LABELS, place[key[1]], *key[2:])
            new[here] = old.get(here, 0) + sign * value
        return mine, new

    def _stays_possible(self, other: Rankings) -> bool:
        """Whether, once the other is taken back, every example left has no more labels than there are left."""
        size, fixed = len(self._labels), self._labels.fixed
        before = self._counts.mentions(size)[fixed:]
        after = before - other._counts.mentions(size)[fixed:]
        if not ((after <= 0) & (before > 0)).any():
            return True
        present = fixed + int(np.count_nonzero(after > 0))
        keys, sums = self._counts.entries(2)
        _, taken = keys, other._counts.sums_of(2, keys)
        wide = keys[:, 1:].sum(axis=1)[sums[:, 0] > taken[:, 0]]
        return int(wide.max(initial=0)) <= present

    def _outweighed(self, other: Rankings, weights: Mapping[Key, int], asked: Mapping[Key, int]) -> bool:
        """Whether weighted sums would be negative, or left where nothing is."""
        if min(weights.values(), default=0) < 0:
            return True
        left = {key for key, value in weights.items() if value}
        for which in range(MAIN):
            keys, sums = other._counts.entries(which)
            rest = self._counts.sums_of(which, keys) - sums
            for key, values in zip(keys.tolist(), rest.tolist(), strict=True):
                if any(not value and (which, *key, part) in left for part, value in enumerate(values)):
                    return True
        return any(not value and key in left for key, value in asked.items())

    def _columns_of(self, other: Rankings) -> IntArray | None:
        """Where the columns of another state are here, its labels registered; None if they are the same."""
        names = other._labels.labels
        if other._labels is self._labels or names == self._labels.labels:
            return None
        there = other._counts.mentions(len(names)) > 0
        there[: other._labels.fixed] = True
        return np.array(
            [self._labels.add(name) if met else 0 for name, met in zip(names, there.tolist(), strict=True)], np.int64
        )

    def _settle(self) -> None:
        """Bring the sums in line with the counts, whatever interrupted the last change."""
        plan = self._plan
        if plan is not None:
            if self._counts.examples != plan.before:
                plan.asked.sums.update(plan.asked_sums)
                self._asked = plan.asked
                if plan.weights is not None:
                    plan.weights.sums.update(plan.weight_sums)
                    self._weights = plan.weights
            self._plan = None

    def _weights_at(self, scale: int) -> Sums:
        """The weighted sums so far in units at least as fine as asked; a new object if anything about it differs."""
        if self._weights is not None:
            return self._weights.at(max(scale, self._weights.scale))
        return added(ExactSums(0, self._main_sums()), self._asked).at(max(scale, self._asked.scale))

    def _main_sums(self) -> dict[Key, int]:
        """The weighted sums of the tables that are always kept, if every example weighed 1."""
        found: dict[Key, int] = {}
        for which in range(MAIN):
            keys, sums = self._counts.entries(which)
            for key, values in zip(keys.tolist(), sums.tolist(), strict=True):
                found.update(((which, *key, part), value) for part, value in enumerate(values) if value)
        return found

    # -- labels -------------------------------------------------------------------------------------------------------

    def _places(self) -> IntArray:
        """The position of each column in the order of the labels, which does not change when others are met."""
        order = self._labels.order()
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place

    def _inverse_of(self, column: int) -> float:
        """The inverse propensity of the label of a column."""
        label = self._labels.labels[column]
        value = self._inverse.get(label)
        if value is None:
            raise LabelError(f"label {quoted(label)} has no propensity; give one to every label")
        return value

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        return 2 * len(self.columns()) < len(self._labels)

    def compact(self) -> None:
        """Drop keys of which no example is left."""
        self._settle()
        self._counts.compact()
        self._asked = ExactSums(self._asked.scale, {key: value for key, value in self._asked.sums.items() if value})
        if self._weights is not None:
            kept = {key: value for key, value in self._weights.sums.items() if value}
            self._weights = ExactSums(self._weights.scale, kept)

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        if len(self._labels) > size and not self._counts.mentions(len(self._labels))[size:].any():
            self._labels.truncate(size)

    # -- reading ------------------------------------------------------------------------------------------------------

    def tidy(self) -> int | None:
        """The scale to read weighted sums at: the smallest that keeps them integers; None if every example weighs 1.

        Weighted sums that say no more than the sums are dropped. So equal states read alike, whatever their history.
        """
        self._settle()
        if self._weights is None:
            return None
        scale = self._weights.scale
        weights = {key: value for key, value in self._weights.sums.items() if value}
        plain = {key: value for key, value in added(ExactSums(0, self._main_sums()), self._asked).sums.items() if value}
        up, down = max(0, scale - self._asked.scale), max(0, self._asked.scale - scale)
        if len(weights) == len(plain) and all(weights.get(k, 0) << down == v << up for k, v in plain.items()):
            self._weights = None
            return None
        zeros = trailing_zeros(weights.values())
        return 0 if zeros is None else scale - min(scale, zeros)

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        order, fixed = self._labels.order(), self._labels.fixed
        if fixed == len(order):
            return order
        met = self._counts.mentions(len(order)) > 0
        met[:fixed] = True
        return order if met.all() else order[met[order]]

    def labels_of(self, columns: IntArray) -> tuple[Label, ...]:
        """The labels of columns."""
        return tuple(map(self._labels.labels.__getitem__, columns.tolist()))

    def gain_scale(self) -> int:
        """The smallest scale that keeps sums of gains integers."""
        self._settle()
        zeros = trailing_zeros(value for key, value in self._asked.sums.items() if key[0] >= GAINS)
        return 0 if zeros is None else self._asked.scale - min(self._asked.scale, zeros)

    def table(self, which: int, scale: int | None, gain_scale: int) -> Table:
        """One of the tables, in no particular order; the scales are what `tidy` and `gain_scale` returned."""
        if which < MAIN:
            keys, sums = self._counts.entries(which)
        else:
            shift = self._asked.scale - (gain_scale if which >= GAINS else 0)
            found: dict[Key, list[int]] = {}
            for key, value in self._asked.sums.items():
                if key[0] == which and value:
                    found.setdefault(key[1:-1], [0] * PARTS[which])[key[-1]] = value >> shift
            keys = np.array(list(found), np.int64).reshape(-1, KEYS[which])
            sums = np.array(list(found.values()), object).reshape(-1, PARTS[which])
            sums = sums if which >= GAINS else sums.astype(np.int64)
        if self._weights is None or scale is None:
            return Table(keys, sums, None)
        get, shift = self._weights.sums.get, self._weights.scale - scale
        parts = range(PARTS[which])
        weights = [[get((which, *key, part), 0) >> shift for part in parts] for key in keys.tolist()]
        return Table(keys, sums, weights)

    def content(self) -> RankingContent:
        """What is held, in canonical order."""
        scale, gain_scale, columns = self.tidy(), self.gain_scale(), self.columns()
        place = np.zeros(len(self._labels), np.int64)
        place[columns] = np.arange(len(columns))
        tables = []
        for which in range(len(NAMES)):
            keys, sums, weights = self.table(which, scale, gain_scale)
            if which == LABELS:
                keys[:, 0] = place[keys[:, 0]]
            order = np.lexsort(keys.T[::-1])
            if weights is not None:
                weights = [weights[position] for position in order.tolist()]
            tables.append(Table(keys[order], sums[order], weights))
        labels, mentions = self.labels_of(columns), self._counts.mentions(len(self._labels))[columns]
        return RankingContent(
            self._options, self.examples, labels, self._labels.fixed, mentions, tuple(tables), gain_scale, scale
        )

    @classmethod
    def from_content(cls, content: RankingContent, labels: LabelIndex) -> Rankings:
        """A state that holds ``content``; ``labels`` must be exactly the labels of the content, in its order."""
        state = cls(labels, content.options)
        tables = content.tables
        state._counts.restore(content.examples, content.mentions, [table[:2] for table in tables[:MAIN]])
        asked, weights = _sums_of(tables, content.gain_scale)
        state._asked = ExactSums(content.gain_scale, asked).at(common_scale(content.gain_scale))
        if content.scale is not None:
            state._weights = ExactSums(content.scale, weights).at(common_scale(content.scale, content.gain_scale))
        return state

    def unweigh(self) -> None:
        """Drop the weight sums, where it is known that every counted example weighs 1."""
        self._weights = None

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Rankings:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        twin = self.copy(labels)
        if twin.examples:
            twin._weights = scaled(twin._weights_at(0), numerator, scale)
        return twin

    def copy(self, labels: LabelIndex) -> Rankings:
        """An independent copy over a copy of the labels."""
        self._settle()
        twin = self.empty(labels)
        twin._counts = self._counts.copy(twin._root)
        twin._asked = self._asked.copy()
        twin._weights = None if self._weights is None else self._weights.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rankings):
            return NotImplemented
        return self.content() == other.content()

    __hash__ = None  # type: ignore[assignment]


def _in_order(batch: Dense, place: IntArray) -> Dense:
    """The same rows with columns in the order of their labels."""
    order = np.argsort(place[batch.columns])
    if (np.diff(order) > 0).all():
        return batch
    true, scores, ranked, mask = (
        None if cells is None else cells[:, order].copy()
        for cells in (batch.true, batch.scores, batch.ranked, batch.mask)
    )
    columns, weights = batch.columns[order], batch.weights
    return Dense(columns, true, scores=scores, ranked=ranked, mask=mask, weights=weights)  # type: ignore[arg-type]  # each of its own type


def _sums_of(tables: tuple[Table, ...], gain_scale: int) -> tuple[dict[Key, int], dict[Key, int]]:
    """The sums that are kept as Python integers, counts in units of ``2**-gain_scale`` too, and the weighted ones."""
    asked: dict[Key, int] = {}
    weighted: dict[Key, int] = {}
    for which, (keys, sums, weights) in enumerate(tables):
        names = [(which, *key) for key in keys.tolist()]
        if which >= MAIN:
            shift = 0 if which >= GAINS else gain_scale
            for name, values in zip(names, sums.tolist(), strict=True):
                asked.update(((*name, part), value << shift) for part, value in enumerate(values) if value)
        for name, heavy in zip(names, weights or (), strict=weights is not None):
            weighted.update(((*name, part), value) for part, value in enumerate(heavy) if value)
    return asked, weighted
