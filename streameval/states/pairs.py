"""The state of label pairs: which labels are confused, which occur together, and which label sets occur."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, islice, pairwise
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from streameval.kernel import backend
from streameval.kernel.pairs import pairing
from streameval.kernel.pairs.pairing import ALL, label_set, pairs_of
from streameval.kernel.types import IntArray, Integers
from streameval.schema.batch import Batch, Dense, Example, ragged
from streameval.states.base import Added, Content, K, Merge, Part, State, refusal
from streameval.states.decisions import BLOCK, Decisions
from streameval.states.options import Part as CountedPart
from streameval.states.views import View, cached_property
from streameval.states.weights import ExactSums, changed, common_scale

Key: TypeAlias = tuple[int, ...]
"""The key of a weight sum: `ALL`, a pair (its first number is its kind), or a label set (its first number is 0)."""

PairBlock: TypeAlias = tuple[IntArray, IntArray, Iterable[int]]
"""Pairs, shape (pairs, 5): kind, row, column, numerator, denominator, where row and column are positions in ``labels``,
or -1 for no label; how many examples had each pair; and the weight of each, if there are weights."""

SetBlock: TypeAlias = tuple[Sequence[tuple[int, ...]], list[int], Iterable[int]]
"""Label sets, each as increasing positions; how many examples had each; and their weights, if there are weights."""

_KINDS = range(pairing.CONFUSION, pairing.PRED_PRED + 1)
_NO_PAIRS = np.zeros((0, 5), np.int64)
_BITS = {
    "confusions": pairing.CONFUSIONS,
    "contributions": pairing.CONTRIBUTIONS,
    "cooccurrence": pairing.COOCCURRENCE,
    "labelsets": 0,
}


@dataclass(frozen=True, slots=True, eq=False)
class PairContent(Content):
    """What a state of pairs holds, besides the cells of the decisions; see `Content`."""

    parts: tuple[CountedPart, ...]  # what is counted, in the order of `PARTS`
    weight: int  # of all examples; 0 without scale
    pairs: Mapping[int, Callable[[], Iterable[PairBlock]]]  # by kind, in lexicographic order
    sets: Callable[[], Iterable[SetBlock]]  # of true labels, in lexicographic order
    length: int = 0  # number of pairs, where it is known


class Pairs(State[Key]):
    """Counts of pairs and sets of labels, exact under any order, batching, merging and reverting.

    Confusions (Heydarian et al. 2022) and contributions (Krstinić et al. 2020) are counted by their fractions, so that
    all counts are integers. Masked cells count as neither true nor predicted. The state of decisions says how often a
    label is both true and predicted, and which labels there are.
    """

    reads = "decisions"
    __slots__ = ("_bits",)

    def _empty_table(self) -> Any:
        self._bits = sum(_BITS[part] for part in self.parts)
        return backend.pairs.Pairs(self.root, self._bits)

    def _has_extra(self) -> bool:
        return "labelsets" in self.parts

    @property
    def parts(self) -> tuple[CountedPart, ...]:
        return self.options.parts  # type: ignore[no-any-return]

    def _reserve(self) -> None:
        """Do nothing, because nothing is counted by column."""

    def prepare(self, changes: Sequence[tuple[Example, int]], *, known: bool = False) -> list[Part]:
        """As in `State`; also refuse to leave a pair in more examples than its labels."""
        parts = super().prepare(changes, known=known)
        if not known and any(sign < 0 for _, sign in changes):
            self._check_left(lambda state, weighted: state._added(changes, weighted=weighted))
        return parts

    def prepare_merges(self, merges: Sequence[Merge[Pairs]], *, known: bool = False) -> list[Part]:
        """As in `State`; also refuse to leave a pair in more examples than its labels."""
        parts = super().prepare_merges(merges, known=known)
        if not known and any(sign < 0 for *_, sign in merges):
            cells = [(other.cell_state, columns, sign) for other, columns, sign in merges]
            self._check_left(
                lambda state, weighted: state._merged(merges if state is self else cells, weighted=weighted)
            )
        return parts

    def _check_left(self, added: Callable[[State[Any], bool], list[Added[Any]]]) -> None:
        """Refuse what contradicts the decisions; ``added(state, weighted)`` is what is added to the sums of a state."""
        decisions = self.cell_state
        # The pair of no label with no label occurs in the examples of certain row keys, which the decisions check.
        touched = np.zeros(len(self.labels) + 1, np.bool_)  # the last entry, at -1, is for no label
        units = added(decisions, False)
        touched[[slot // 5 for sums, _ in units for slot in sums.sums if isinstance(slot, int)]] = True
        keys, times = self.table.items()
        near = np.flatnonzero(touched[keys[:, 1]] | touched[keys[:, 2]])
        if not len(near):
            return
        keys, times, whole = keys[near], times[near], self.examples
        cells = decisions.table.outcomes(np.arange(len(self.labels))).T.copy()
        for weighted in (False, True)[: 1 + (self.weights.present or decisions.weights.present)]:
            changes = added(self, weighted), added(decisions, weighted)
            held = [state.weights.cell.value or ExactSums() for state in (self, decisions) if weighted]
            scale = common_scale(*(sums.scale for sums in [*held, *(sums for sums, _ in chain(*changes))]))
            if weighted:
                whole, *weights = _sums_at(self, [ALL, *map(tuple, keys.tolist())], scale)
                times, cells, columns = np.array(weights, object), cells.astype(object), np.unique(keys[:, 1:3].clip(0))
                slots = (5 * columns[:, None] + np.arange(5)).reshape(-1).tolist()
                cells[columns] = _sums_at(decisions, slots, scale).reshape(-1, 5)
            of_pairs, of_cells = (changed(ExactSums(scale), part) for part in changes)
            for slot, value in of_cells.items():
                if isinstance(slot, int):
                    cells[divmod(slot, 5)] += value
            whole += of_pairs.pop(ALL, 0)
            of_pairs = {key: value for key, value in of_pairs.items() if key[0]}  # without label sets
            pairs = np.concatenate([keys, np.array([*of_pairs], np.int64).reshape(-1, 5)])
            left, order = np.append(times, np.array([*of_pairs.values()], times.dtype)), np.lexsort(pairs[:, 2::-1].T)
            if not pairs_fit(pairs[order], left[order], cells, whole):
                raise refusal()

    def follower(self) -> Any:
        return self.table.follower(self.extra is not None)

    def _prepare_example(self, example: Example, sign: int, _known: bool) -> Part | int:
        return self.table.prepare_example(example.slots, sign)

    def _extra_of(self, batch: Batch | Example) -> ExactSums[Key]:
        if isinstance(batch, Example):
            return ExactSums(0, {label_set(batch.slots.tolist()): 1})
        rows, slots, examples = self._cells(batch)
        true = slots % 5 % 2 == 1
        bounds = (8 * np.searchsorted(rows[true], np.arange(examples + 1))).tolist()
        raw = (slots[true] // 5).astype(np.int64).tobytes()
        sets = Counter(raw[start:stop] for start, stop in pairwise(bounds))
        return ExactSums(0, {(0, *np.frombuffer(key, np.int64).tolist()): times for key, times in sets.items()})

    def _count(self, batch: Batch) -> None:
        if isinstance(batch, Dense):
            if self.table.count_dense(batch.columns, batch.true, batch.binary(), batch.mask) > 1:
                raise batch.refusal()
        else:
            true, pred, mask = map(ragged, (batch.true, batch.pred, batch.mask))
            self.table.count_lists(batch.examples, len(self.labels), true, pred, mask)

    def _keys(self, slots: list[int]) -> list[Key]:
        sets = [label_set(slots)] if self.extra is not None else []
        return [ALL, *sets, *pairs_of(slots, self._bits)]

    def _unit_blocks(self) -> Iterator[ExactSums[Key]]:
        yield ExactSums(0, {ALL: self.examples})
        keys, times = self.table.items()
        sums: dict[Key, int] = dict(zip(map(tuple, keys.tolist()), times.tolist(), strict=True))
        yield ExactSums(0, {**sums, **self._extra.sums})

    def _units_at(self, keys: Collection[Key]) -> ExactSums[Key]:
        pairs = [key for key in keys if key[0] > 0]
        times = self.table.times(np.array(pairs, np.int64).reshape(-1, 5)).tolist()
        sums = dict(zip(pairs, times, strict=True))
        sums.update((key, self._extra.sums.get(key, 0)) for key in keys if not key[0])
        return ExactSums(0, {**sums, ALL: self.examples})

    def _moved(self, sums: dict[Key, int], columns: IntArray) -> dict[Key, int]:
        place = [*columns.tolist(), pairing.NONE]  # place[-1] is -1: no label stays no label
        return {_moved(key, place): value for key, value in sums.items()}

    @property
    def cell_state(self) -> Decisions:
        """The decisions of the same examples."""
        assert isinstance(self.decisions, Decisions)  # noqa: S101  # a state that is read belongs to a set
        return self.decisions

    def canonical_scale(self) -> int | None:
        """The smallest scale at which the weight sums of pairs and of cells are integers; None if they equal counts."""
        cells = self.cell_state
        if not self.weights.present and not cells.weights.present:
            return None
        own, theirs = self._weights_at(0), cells._weights_at(0)
        if self._equals_counts(own) and all(map(theirs.holds, map(_cell_sums, cells._unit_blocks()))):
            return None
        return max(own.smallest_scale(), theirs.smallest_scale(int))

    def weight(self, scale: int | None) -> int:
        """The weight of all examples."""
        return self.examples if scale is None else sum(self._weights_at(0).each([ALL], scale))

    def content(self) -> PairContent:
        scale, columns = self.canonical_scale(), self.columns()
        weight, sums = (0, None) if scale is None else (self.weight(scale), self._weights_at(scale))
        # Of columns; the last stays -1, so that -1 leads to itself.
        place: Any = np.full(len(self.labels) + 1, pairing.NONE, np.int64 if self._bits else np.int32)
        place[columns] = np.arange(len(columns))
        pairs: Any = partial(_PairsInOrder, self.table, place, sums, scale or 0)
        sets = partial(_SetsInOrder, self._extra.sums, place, sums, scale or 0)
        of_kinds = {kind: partial(pairs, kind) for kind in _KINDS}
        return PairContent(*self._head(columns, scale), self.parts, weight, of_kinds, sets)

    def _fill(self, content: PairContent) -> None:
        extra = dict[Key, int]()

        def weights() -> Iterator[tuple[Key, int]]:
            yield ALL, content.weight
            for keys, times, weights in chain.from_iterable(make() for make in content.pairs.values()):
                self.table.restore(content.examples, keys, times, content.length)
                if content.scale is not None:
                    yield from zip(map(tuple, keys.tolist()), weights, strict=True)
            for sets, times_of_sets, weights in content.sets():
                names = [(0, *true) for true in sets]
                extra.update(zip(names, times_of_sets, strict=True))
                if content.scale is not None:
                    yield from zip(names, weights, strict=True)

        self.table.restore(content.examples, _NO_PAIRS, _NO_PAIRS[:, 0])
        self._fill_weights(content.scale, weights())
        if self.extra is not None:
            self.root.commit(self.extra.prepare(ExactSums(0, extra)))


class _PairsInOrder:
    """The pairs of a kind in sorted blocks; iterates any number of times, but sorts each block only once."""

    def __init__(self, table: Any, place: IntArray, sums: ExactSums[Key] | None, scale: int, kind: int) -> None:
        self._table, self._kind, self._place, self._sums, self._scale = table, kind, place, sums, scale
        self._spots: Any = None
        self._bounds, self._ordered = list[int](), False

    def __iter__(self) -> Iterator[PairBlock]:
        if self._spots is None:
            ends, self._spots = self._table.by_row(self._place, self._kind)
            self._bounds = _bounds_of(ends)
        for start, stop in pairwise(self._bounds):
            spots = self._spots[start:stop]
            keys, times = self._table.at(spots, self._place)
            if not self._ordered:
                order = np.lexsort(keys.T[::-1])
                keys, times, spots[:] = keys[order], times[order], spots[order]
            yield keys, times, self._weights(spots)
        self._ordered = True

    def _weights(self, spots: Any) -> Iterator[int]:
        if self._sums is not None:
            keys, _ = self._table.at(spots, None)
            yield from self._sums.each(map(tuple, keys.tolist()), self._scale)


class _SetsInOrder:
    """The label sets in sorted blocks; iterates any number of times."""

    def __init__(self, times: dict[Key, int], place: IntArray, sums: ExactSums[Key] | None, scale: int) -> None:
        self._times, self._place, self._sums, self._scale = times, place.data, sums, scale
        self._parts: Any = None  # the part of each set, in the order of sets; 0 if no example has the set

    def __iter__(self) -> Iterator[SetBlock]:
        for some in self._groups():
            sets, keys = zip(*sorted((self._rows(key), key) for key in some), strict=True)
            weights = () if self._sums is None else self._sums.each(keys, self._scale)
            yield sets, list(map(self._times.__getitem__, keys)), weights

    def _groups(self) -> Iterator[list[Key]]:
        """The sets part by part, each part unsorted; the bounds between parts come from a sample of the sets."""
        times = self._times
        if len(times) <= BLOCK:
            if few := [key for key, number in times.items() if number]:
                yield few
            return
        if self._parts is None:
            count = min(254, len(times) // BLOCK)
            drawn = islice(times, None, None, -(-len(times) // (8 * count + 8)))
            bounds = sorted(map(self._rows, drawn))[8::8]
            parts = (number and bisect(bounds, self._rows(key)) + 1 for key, number in times.items())
            self._parts = np.fromiter(parts, np.uint8, len(times))
        for low in range(1, int(self._parts.max()) + 1, 16):  # each walk through all sets selects 16 parts
            chosen = self._parts - np.uint8(low) < 16
            keys, parts = np.fromiter(compress(times, chosen.data), object), self._parts[chosen]
            del chosen
            for part in range(low, low + 16):
                if some := keys[parts == part].tolist():
                    yield some

    def _rows(self, key: Key) -> tuple[int, ...]:
        return tuple(sorted([self._place[column] for column in key[1:]]))


def _bounds_of(ends: IntArray) -> list[int]:
    """The bounds of blocks of whole rows: each has the rows that fit into `BLOCK` pairs, but at least one row."""
    bounds = [0]
    while bounds[-1] < ends[-1]:
        within, after = np.searchsorted(ends, [bounds[-1] + BLOCK, bounds[-1]], "right").tolist()
        bounds.append(int(ends[max(within - 1, after)]))
    return bounds


def pairs_fit(pairs: IntArray, times: Integers, cells: Integers, whole: int) -> bool:
    """Whether no pair occurs more often than its labels; ``pairs`` are sorted, ``cells`` as those of decisions."""
    kind, row, column = pairs[:, :3].T
    starts = np.flatnonzero(np.append(True, (np.diff(pairs[:, :3], axis=0) != 0).any(axis=1)))
    _, fn, fp, tp, _ = cells.T.astype(times.dtype)
    true, pred, both = (np.append(part, whole) for part in (fn + tp, fp + tp, tp))  # the last, at -1: no label
    totals = np.add.reduceat(times, starts)
    kind, row, column = kind[starts], row[starts], column[starts]
    first = np.where(kind == pairing.PRED_PRED, pred[row], true[row])
    second = np.where(kind == pairing.TRUE_TRUE, true[column], pred[column])
    least = np.minimum(np.minimum(first, second), np.where(row == column, both[row], whole))
    return bool((totals <= least).all())


def _sums_at(state: State[K], keys: Collection[K], scale: int) -> Any:
    """The weight sums of some keys in units of ``2**-scale``, in which they are integers, as an array."""
    sums = state.weights.cell.value or state._units_at(keys)
    return sums.read(keys, sums.scale) << scale - sums.scale


def _cell_sums(sums: ExactSums[Any]) -> ExactSums[Any]:
    return ExactSums(sums.scale, {key: value for key, value in sums.sums.items() if isinstance(key, int)})


def _moved(key: Key, place: list[int]) -> Key:
    if key[0] < 1:
        return key if key == ALL else (0, *sorted(place[column] for column in key[1:]))
    return pairing.placed(cast("pairing.Pair", key), place)


# -- what metrics read ------------------------------------------------------------------------------------------------

Made = TypeVar("Made")


class PairTables(View[Pairs]):
    """The label pairs and label sets of a state, and the cells of its decisions."""

    def __init__(self, pairs: Pairs, columns: IntArray | None = None) -> None:
        super().__init__(pairs, columns)
        self.parts = pairs.parts
        self._made: dict[Any, Any] = {}

    def once(self, name: Any, make: Callable[[], Made]) -> Made:
        """A value that metrics share, made when the first of them needs it."""
        if name not in self._made:
            self._made[name] = make()
        return cast("Made", self._made[name])

    @cached_property
    def _content(self) -> PairContent:
        return self._state.content()

    @cached_property
    def weight(self) -> int:
        return self._state.weight(self.scale)

    @cached_property
    def counts(self) -> dict[str, Integers]:
        """How often each label is true, predicted, and both, weighted, in units."""
        _, missed, wrong, both, _ = self._state.cell_state.by_label(self.columns, self.scale)
        return {"true": missed + both, "pred": wrong + both, "both": both}

    def of_kind(self, kind: int) -> tuple[IntArray, Integers]:
        """The pairs of a kind, and the weight of each in units."""
        return self.once(kind, lambda: self._of_kind(kind))

    def _of_kind(self, kind: int) -> tuple[IntArray, Integers]:
        keys, times, weights = zip((_NO_PAIRS, _NO_PAIRS[:, 0], ()), *self._content.pairs[kind](), strict=True)
        weighed = np.concatenate(times) if self.scale is None else np.array(list(chain.from_iterable(weights)), object)
        return np.concatenate(keys), weighed

    @cached_property
    def _sets(self) -> tuple[list[Any], ...]:
        blocks = zip(((), (), ()), *self._content.sets(), strict=True)
        return tuple(list(chain.from_iterable(part)) for part in blocks)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """The sets of true labels that occur."""
        return self._sets[0]

    @cached_property
    def repeats(self) -> list[int]:
        """How many examples have each set, in no particular order, which is much faster than `sets`."""
        return [*self._state._extra.nonzero().values()]

    @property
    def set_weights(self) -> list[int]:
        """The weight of each of `sets`, in units."""
        return self._sets[1 if self.scale is None else 2]
