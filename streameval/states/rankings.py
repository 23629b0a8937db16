"""The state of rankings: sums of examples by what they have in common, from which every ranking metric follows.

`streameval.kernel.rankings.numpy` describes the sums that are always counted; `RankingOptions` may add these tables::

    labels  column, rank -> examples in which the label is true and its group ends at this rank (rank 0: all in which
            it is true); with ``label_precisions`` also the sum of L at that rank
    hits    k, T, s, g', t', a, g -> sums of t, t L and t², for average precision divided by the number of hits
    gains   min(m, ranks), a, g -> sum of the inverse propensities of true labels in these groups
    ideals  min(m, ranks), rank -> sum of the inverse propensities that a perfect ranking has at this rank

T is the number of true labels that surely rank among the first k. Of the group that straddles k, s is the number of
places up to k, g' its size and t' the number of its true labels (0 if there is none).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from streameval.errors import LabelError
from streameval.kernel import backend
from streameval.kernel.types import IntArray, Integers
from streameval.schema.batch import Batch, Dense
from streameval.schema.labels import Label, LabelIndex, by_column
from streameval.schema.text import quoted
from streameval.states.base import COUNT_MAX, Content, Merge, Part, State, refusal
from streameval.states.decisions import in_blocks, listed
from streameval.states.options import RankingOptions
from streameval.states.ranking_sums import GAINS, HITS, IDEALS, KEYS, LABELS, MAIN, NAMES, PARTS, Key, sums_of
from streameval.states.views import Arrays, View, cached_property, total
from streameval.states.weights import ExactSums, common_scale, joined_sums, units_of


class Table(NamedTuple):
    """Keys, their sums (int64, or Python integers for gains), and their weighted sums unless every weight is 1."""

    keys: Any
    sums: Any
    weights: Callable[[], Iterable[list[int]]]


@dataclass(frozen=True, slots=True, eq=False)
class RankingContent(Content):
    """What a state of rankings holds; see `Content`."""

    options: RankingOptions
    mentions: IntArray  # in how many examples each label is mentioned; 0 for declared ones
    tables: tuple[Table, ...]  # those of `NAMES`, in lexicographic order; columns in keys are positions in ``labels``
    gain_scale: int  # the smallest with all sums of gains integers in units of ``2**-gain_scale``


class Rankings(State[Key]):
    """Sums over examples that all ranking metrics share; ``extra`` holds the tables that options add."""

    reads = "scores"
    too_many = f"a sum over the examples would pass {COUNT_MAX}; evaluate in parts, each on its own"
    __slots__ = ()

    def _empty_table(self) -> Any:
        return backend.rankings.RankCounts(self.root, len(self.labels))

    def _has_extra(self) -> bool:
        return bool(self.options.label_ranks or self.options.hit_cutoffs or self.options.gain_ranks)

    def prepare_merges(self, merges: Sequence[Merge[Rankings]], *, known: bool = False) -> list[Part]:
        """As in `State`; also refuse to leave examples that rank more labels than are left."""
        for other, columns, sign in merges:
            if sign < 0 and not known and not self._stays_possible(other, columns):
                raise refusal()
        return super().prepare_merges(merges, known=known)

    def _stays_possible(self, other: Rankings, columns: IntArray | None) -> bool:
        size, fixed = len(self.labels), self.labels.fixed
        before, taken = self.table.mentions(size), np.zeros(size, np.int64)
        mentions = other.table.mentions(len(other.labels))
        np.add.at(taken, np.arange(len(mentions)) if columns is None else columns, mentions)
        after = before - taken
        if not ((after <= 0) & (before > 0))[fixed:].any():
            return True
        present = fixed + int(np.count_nonzero(after[fixed:] > 0))
        keys, sums = self.table.entries(2)
        wide = keys[:, 1:].sum(axis=1)[sums[:, 0] > other.table.sums_of(2, keys)[:, 0]]
        return int(wide.max(initial=0)) <= present

    def count(self, batch: Batch) -> None:
        factors = batch.weights
        if self.examples and (factors is not None or self.extra is not None or self.weights.present):
            self.root.commit(self.prepare_merges([(*self._of(batch), 1)]))
            return
        self._reserve()
        by_example = factors is not None and batch.examples != 1
        records = self.table.count(*self._read(batch), self.extra is not None or by_example)
        extra = ExactSums[Key]() if self.extra is None else sums_of(records, **self._choices)
        self._store(extra, sums_of(records, **self._choices, weights=factors) if by_example else None)
        if factors is not None and not by_example:  # all sums of a single example have the same weight
            self.scale_weights(*units_of(float(factors[0])))

    def follower(self) -> Any:
        """As in `State`; if ties are strict and labels are out of order, the kernel declines ties of true labels."""
        extra_of = None if self.extra is None else partial(sums_of, **self._choices)
        return self.table.follower(self.options.ties == "last", extra_of)

    def _read(self, batch: Batch) -> tuple[Any, ...]:
        place = None
        if self.options.ties == "last":  # the order of known labels does not change when labels are added
            order = self.labels.order()
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            batch = _in_order(batch, place) if isinstance(batch, Dense) else batch
        return *super()._read(batch), place

    def _store(self, extra: ExactSums[Key], weights: ExactSums[Key] | None) -> None:
        parts = [] if self.extra is None else self.extra.prepare(extra)
        if weights is not None or self.weights.present:
            parts += self.weights.prepare(weights)
        self.root.commit(parts)

    @property
    def _choices(self) -> dict[str, Any]:
        """The options of `sums_of`; they hold no reference to this state."""
        return {"options": self.options, "inverse_of": partial(_inverse_of, self.labels, self.options.inverse)}

    def _unit_blocks(self) -> Iterator[ExactSums[Key]]:
        scale = self._extra.scale
        for which in range(MAIN):
            for keys, values in zip(*map(in_blocks, self.table.entries(which)), strict=True):
                sums: dict[Key, int] = {}
                _enter(sums, which, keys.tolist(), values.tolist())
                yield ExactSums(0, sums).at(scale)
        yield ExactSums(scale, self._extra.nonzero())

    def _units_at(self, keys: Collection[Key]) -> ExactSums[Key]:
        sums: dict[Key, int] = {}
        for which in range(MAIN):
            names = list({key[1:-1] for key in keys if key[0] == which})
            _enter(sums, which, names, self.table.sums_of(which, _array(names, KEYS[which])).tolist())
        extra = self._extra
        rest = {key: extra.sums.get(key, 0) for key in keys if key[0] >= MAIN}
        return joined_sums([ExactSums(0, sums), ExactSums(extra.scale, rest)])

    def _moved(self, sums: dict[Key, int], columns: IntArray) -> dict[Key, int]:
        place = columns.tolist()
        return {key if key[0] != LABELS else (LABELS, place[key[1]], *key[2:]): value for key, value in sums.items()}

    def _mentioned(self, width: int) -> Any:
        return self.table.mentions(width) > 0

    def gain_scale(self) -> int:
        """The smallest scale at which sums of gains are integers."""
        return self._extra.smallest_scale()  # all other extra sums are integers at any scale

    def read_table(self, which: int, scale: int | None, gain_scale: int) -> Table:
        """One of the tables, in no particular order, in units of these scales; ``scale=None``: without weights."""
        if which < MAIN:
            keys, sums = self.table.entries(which)
        else:
            shift = self._extra.scale - (gain_scale if which >= GAINS else 0)
            by_key: dict[Key, list[int]] = {}
            for key, value in self._extra.sums.items():
                if key[0] == which and value:
                    by_key.setdefault(key[1:-1], [0] * PARTS[which])[key[-1]] = value >> shift
            keys = _array(list(by_key), KEYS[which])
            sums = np.array(list(by_key.values()), object if which >= GAINS else np.int64).reshape(-1, PARTS[which])
        return Table(keys, sums, tuple if scale is None else partial(self._weights_of, which, keys, scale))

    def _weights_of(self, which: int, keys: IntArray, scale: int) -> Iterator[list[int]]:
        names = ((which, *key, part) for key in listed(keys) for part in range(PARTS[which]))
        return map(list, zip(*[self._weights_at(0).each(names, scale)] * PARTS[which], strict=True))

    def content(self) -> RankingContent:
        scale, gain_scale, columns = self.canonical_scale(), self.gain_scale(), self.columns()
        tables = []
        for which in range(len(NAMES)):
            if which == LABELS and self.options.label_ranks:
                tables.append(self._labels_in_order(columns, scale))
                continue
            table = self.read_table(which, None, gain_scale)
            order = np.lexsort(table.keys.T[::-1])
            weights = tuple if scale is None else partial(self._weights_of, which, table.keys[order], scale)
            tables.append(Table(table.keys[order], table.sums[order], weights))
        mentions = self.table.mentions(len(self.labels))
        mentions = mentions.astype(np.min_scalar_type(mentions.max(initial=0)))[columns]  # to save memory
        return RankingContent(*self._head(columns, scale), self.options, mentions, tuple(tables), gain_scale)

    def _labels_in_order(self, columns: IntArray, scale: int | None) -> Table:
        """The table of labels, by place in ``columns`` and rank; of many rows only those that are accessed are read."""
        sums, place = self._extra, np.zeros(len(self.labels), np.int32)
        place[columns] = np.arange(len(columns), dtype=np.int32)

        def named() -> Iterator[Key]:
            return (key for key, value in sums.sums.items() if key[0] == LABELS and not key[-1] and value)

        each = (place.item(column) << 32 | rank for _, column, rank, _ in named())  # no rank exceeds the labels
        codes = np.fromiter(each, np.int64, sum(1 for _ in named()))  # a length not known before takes half more
        codes.sort()

        def in_place(some: IntArray) -> IntArray:
            return np.stack([some >> 32, some & 2**32 - 1], axis=1)

        def keys(some: IntArray) -> IntArray:
            place, rank = in_place(some).T
            return np.stack([columns[place], rank], axis=1)

        def read(some: IntArray) -> IntArray:
            names = ((LABELS, *key, part) for key in keys(some).tolist() for part in range(PARTS[LABELS]))
            return np.fromiter(sums.each(names, 0), np.int64).reshape(-1, PARTS[LABELS])

        weights = tuple if scale is None else partial(self._weights_of, LABELS, by_column(codes, keys), scale)
        return Table(by_column(codes, in_place), by_column(codes, read), weights)

    def _fill(self, content: RankingContent) -> None:
        main = [(table.keys, table.sums) for table in content.tables[:MAIN]]
        self.table.restore(content.examples, content.mentions, main)
        extra: dict[Key, int] = {}
        weighted: dict[Key, int] = {}
        for which, table in enumerate(content.tables):
            if which >= MAIN:
                shift = 0 if which >= GAINS else content.gain_scale
                values = ((some.astype(object) << shift).tolist() for some in in_blocks(table.sums))
                _enter(extra, which, listed(table.keys), chain.from_iterable(values))
            if content.scale is not None:
                _enter(weighted, which, listed(table.keys), table.weights())
        self._store(ExactSums(content.gain_scale, extra).at(common_scale(content.gain_scale)), None)
        self._fill_weights(content.scale, weighted.items(), content.gain_scale)


def _inverse_of(labels: LabelIndex, inverse: Mapping[Label, float], column: int) -> float:
    label = labels.labels[column]
    if label not in inverse:
        raise LabelError(f"label {quoted(label)} has no propensity; give one to every label")
    return inverse[label]


def _enter(sums: dict[Key, int], which: int, keys: Iterable[Sequence[int]], values: Iterable[list[int]]) -> None:
    for key, parts in zip(keys, values, strict=True):
        for part, value in enumerate(parts):
            if value:
                sums[(which, *key, part)] = value


def _array(keys: list[Key], width: int) -> IntArray:
    return np.array(keys, np.int64).reshape(-1, width)


def _in_order(batch: Dense, place: IntArray) -> Dense:
    order = np.argsort(place[batch.columns])
    if (np.diff(order) > 0).all():
        return batch
    sides = {name: getattr(batch, name) for name in ("true", "scores", "ranked", "mask")}
    moved = {name: side[:, order].copy() for name, side in sides.items() if side is not None}
    return replace(batch, columns=batch.columns[order], **moved)


# -- what metrics read ------------------------------------------------------------------------------------------------

# Formulas multiply a sum by at most two label counts; products up to this limit stay within int64.
_SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Groups(Arrays):
    """Tie groups that hold a true label, pooled over all examples with the same ``m, l, a, g``."""

    m: IntArray
    l: IntArray  # noqa: E741  # the letter in the description of the kernel
    a: IntArray
    g: IntArray
    t: Integers
    upto: Integers
    square: Integers


@dataclass(frozen=True, slots=True)
class First(Arrays):
    """The best group of an example that holds a true label, and how many examples have such a group."""

    a: IntArray
    g: IntArray
    t: IntArray
    times: Integers


@dataclass(frozen=True, slots=True)
class Rows(Arrays):
    """Examples with the same ``m, l, u`` and number of unmasked labels (``known``): how many, and their sums."""

    m: IntArray
    l: IntArray  # noqa: E741
    u: IntArray
    known: IntArray
    times: Integers
    wrong: Integers
    last: Integers
    erring: Integers
    missed: Integers
    lead: Integers


class RankingTables(View[Rankings]):
    """The tables of a state of rankings."""

    def __init__(self, rankings: Rankings, columns: IntArray | None = None) -> None:
        super().__init__(rankings, columns)
        self._gain_scale, self.options = rankings.gain_scale(), rankings.options

    @cached_property
    def weight(self) -> int:
        return total(self._sums(self._table(2))[0])

    @cached_property
    def groups(self) -> Groups:
        table = self._table(0)
        return Groups(*_columns(table.keys), *self._sums(table))

    @cached_property
    def first(self) -> First:
        table = self._table(1)
        return First(*_columns(table.keys), *self._sums(table))

    @cached_property
    def rows(self) -> Rows:
        """All examples except those in which every label is masked."""
        table = self._table(2)
        m, labels, u, h = _columns(table.keys)
        rows = Rows(m, labels, u, self.size - h, *self._sums(table))
        return rows[(rows.known > 0) | (h == 0)]

    @cached_property
    def label_hits(self) -> tuple[Integers, ...]:
        """Columns of labels, and ranks at which some example has such a label as a hit; rank 0: has it as true."""
        return _columns(self._by_label.keys)

    @cached_property
    def label_sums(self) -> tuple[Integers, ...]:
        """For each of `label_hits`, how many examples, and the sum of true labels that rank at least as high."""
        return self._sums(self._by_label)

    @cached_property
    def _by_label(self) -> Table:
        return self._table(LABELS)

    @cached_property
    def hits(self) -> list[tuple[list[int], list[int]]]:
        """Keys and sums of the groups that begin before each of the ``hit_cutoffs``."""
        table = self._table(HITS)
        sums: list[list[int]] = table.sums.tolist() if self.scale is None else list(table.weights())
        return list(zip(table.keys.tolist(), sums, strict=True))

    @cached_property
    def gains(self) -> list[tuple[list[int], Fraction]]:
        """Keys and sums of inverse propensities by group."""
        return self._fractions(GAINS)

    @cached_property
    def ideals(self) -> list[tuple[list[int], Fraction]]:
        """Keys and sums of inverse propensities by the rank in the best possible ranking."""
        return self._fractions(IDEALS)

    def _fractions(self, which: int) -> list[tuple[list[int], Fraction]]:
        table = self._table(which)
        sums, unit = (table.sums.tolist(), self._gain_scale) if self.scale is None else (table.weights(), 0)
        return [(key, Fraction(value, 1 << unit)) for key, (value,) in zip(table.keys.tolist(), sums, strict=True)]

    def _table(self, which: int) -> Table:
        return self._state.read_table(which, self.scale, self._gain_scale)

    def _sums(self, table: Table) -> tuple[Integers, ...]:
        """The (weighted) sums of a table, column by column, in Python integers where products could pass 64 bits."""
        if self.scale is not None:
            return tuple(np.array(list(table.weights()), object).reshape(-1, table.sums.shape[1]).T)
        safe = int(table.sums.max(initial=0)) * max(1, self.size) ** 2 < _SAFE
        return _columns(table.sums if safe else table.sums.astype(object))


def _columns(array: Integers) -> tuple[Integers, ...]:
    return tuple(np.ascontiguousarray(array.T))
