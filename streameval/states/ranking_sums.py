"""Exact sums by key, with or without weights, from the ranking records of examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel import backend
from streameval.kernel.rankings.numpy import entries_of
from streameval.kernel.types import FloatArray, IntArray, Records
from streameval.states.options import RankingOptions
from streameval.states.weights import ExactSums, common_scale, exact_integers, units_of

Key: TypeAlias = tuple[int, ...]
"""Number of the table, key within the table, number of the sum."""

NAMES = ("groups", "first", "rows", "labels", "hits", "gains", "ideals")
KEYS = (4, 3, 4, 2, 7, 3, 2)
"""How many integers a key of each table has."""
PARTS = (3, 1, 6, 2, 3, 1, 1)
"""How many sums each table keeps for a key."""
MAIN = 3
"""The number of tables that are always present; options add the tables after these."""
LABELS, HITS, GAINS, IDEALS = 3, 4, 5, 6


class Entries(NamedTuple):
    """What examples add to the sums of one table."""

    table: int
    keys: IntArray
    rows: IntArray  # the example of each key
    digits: IntArray  # in base 2**32, in units of ``2**-scale``; shape (entries, sums, digits)
    scale: int = 0


_FEW = 256  # up to this number of examples and true labels, plain loops are faster than arrays


def sums_of(
    records: Records, options: RankingOptions, inverse_of: Callable[[int], float], weights: FloatArray | None = None
) -> ExactSums[Key]:
    """What examples add to the optional tables or, with weights, to all tables; ``inverse_of`` takes a column."""
    if weights is not None:
        main = [Entries(table, *entries) for table, entries in enumerate(entries_of(records))]
        return _summed([*main, *_optional_parts(records, options, inverse_of)], weights)
    if len(records.labels) + len(records.rows) > _FEW:
        return _summed(_optional_parts(records, options, inverse_of), None)
    entries = list(_few_optional(records, options, inverse_of))
    sums: dict[Key, int] = {}
    scale = common_scale(max([unit for _, _, unit in entries], default=0))
    for key, value, unit in entries:
        sums[key] = sums.get(key, 0) + (value << scale - unit)
    return ExactSums(scale, sums)


def _optional_parts(records: Records, options: RankingOptions, inverse_of: Callable[[int], float]) -> list[Entries]:
    parts = []
    row, column, a, g = records.labels.T
    if options.label_ranks:
        end, zero = np.where(a >= 0, a + g, options.label_ranks + 1), np.zeros_like(a)
        upto = _true_upto(records) if options.label_precisions else zero
        for rank, hits, chosen in ((zero, zero, slice(None)), (end, upto, end <= options.label_ranks)):
            keys, digits = np.stack([column, rank], axis=1)[chosen], np.stack([np.ones_like(a), hits], axis=1)[chosen]
            parts.append(Entries(LABELS, keys, row[chosen], digits[:, :, None]))
    parts += [_hits(records, cutoff) for cutoff in options.hit_cutoffs]
    if options.gain_ranks:
        inverse = np.ones(1 + int(column.max(initial=0)), np.float64)
        present = np.unique(column)
        inverse[present] = list(map(inverse_of, present.tolist()))
        parts += _gains(records, options.gain_ranks, inverse)
    return parts


def _true_upto(records: Records) -> IntArray:
    """For each true label, how many true labels rank at least as high; arbitrary where it is not ranked."""
    (row, _, above, _), (rows, a, *_, upto) = records.labels.T, records.groups.T
    size = 1 + int(a.max(initial=0))
    group = np.searchsorted(rows * size + a, row * size + above)
    result: IntArray = np.append(upto, 0)[group]
    return result


def _hits(records: Records, cutoff: int) -> Entries:
    """The groups that begin before a cutoff, with the true labels surely before it and the group that straddles it."""
    row, a, g, t, upto = records.groups.T
    sure, straddling = np.zeros(len(records.rows), np.int64), np.zeros((len(records.rows), 3), np.int64)
    inside, across = a + g <= cutoff, (a < cutoff) & (a + g > cutoff)
    np.add.at(sure, row[inside], t[inside])
    straddling[row[across]] = np.stack([cutoff - a, g, t], axis=1)[across]
    row, a, g, t, upto = records.groups[inside | across].T
    keys = np.column_stack([np.full(len(row), cutoff), sure[row], straddling[row], a, g])
    return Entries(HITS, keys, row, np.stack([t, t * upto, t * t], axis=1)[:, :, None])


def _gains(records: Records, ranks: int, inverse: FloatArray) -> list[Entries]:
    """Inverse propensities by the group of their label, and by its rank in the best possible ranking."""
    row, column, a, g = records.labels.T
    size = np.minimum(records.rows[row, 0], ranks)
    scale, digits = backend.decisions.limbs(inverse)
    whole = digits[:, None].astype(np.int64)
    chosen = (a >= 0) & (a < ranks)
    keys = np.stack([size, a, g], axis=1)[chosen]
    parts = [Entries(GAINS, keys, row[chosen], whole[column[chosen]], scale)]
    _, worth = np.unique(-inverse, return_inverse=True)
    order = np.argsort(row * len(inverse) + worth[column])
    starts = np.flatnonzero(np.diff(row[order], prepend=-1))
    rank = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row))) + 1
    order, rank = order[rank <= ranks], rank[rank <= ranks]
    keys = np.stack([size[order], rank], axis=1)
    return [*parts, Entries(IDEALS, keys, row[order], whole[column[order]], scale)]


def _summed(parts: list[Entries], weights: FloatArray | None) -> ExactSums[Key]:
    finest, weighed = 0, None
    if weights is not None:
        finest, digits = backend.decisions.limbs(weights)
        weighed = digits.astype(np.int64)
    target = common_scale(finest + max((part.scale for part in parts), default=0))
    sums: ExactSums[Key] = ExactSums(target)
    for part in parts:
        if not len(part.keys):
            continue
        distinct, totals = _totals(part, weighed)
        shift = target - part.scale - finest
        places = range(part.digits.shape[1])
        names = [(part.table, *key, place) for key in distinct.tolist() for place in places]
        for name, total in zip(names, totals, strict=True):
            if total:
                sums.add(name, total << shift)
    return sums


def _totals(part: Entries, weights: IntArray | None) -> tuple[IntArray, list[int]]:
    """The distinct keys of entries, and the sums of each, as a flat list."""
    spans = [int(top) + 1 for top in part.keys.max(axis=0)]
    room = math.prod(spans)
    if room < 2**62:
        packed = np.ravel_multi_index((*part.keys.T,), spans).astype(np.min_scalar_type(room))  # 16 bits sort fastest
        order = np.argsort(packed, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(packed[order]) != 0))
    else:
        order = np.lexsort(part.keys.T)
        starts = np.flatnonzero((np.diff(part.keys[order], axis=0, prepend=-1) != 0).any(axis=1))
    sums, most = part.digits[order], int(part.digits.max()) * len(order)
    if weights is not None:
        factors = weights[part.rows[order]]
        if sums.shape[2] > 1 or most >= 2**30:
            whole = np.array(exact_integers(sums.reshape(-1, sums.shape[2])), object).reshape(*sums.shape[:2], 1)
            sums, factors = whole, np.array(exact_integers(factors), object)[:, None]
        sums = sums * factors[:, None]
    totals = np.add.reduceat(sums, starts, axis=0)
    return part.keys[order[starts]], exact_integers(totals.reshape(-1, totals.shape[2]))


def _few_optional(
    records: Records, options: RankingOptions, inverse_of: Callable[[int], float]
) -> Iterator[tuple[Key, int, int]]:
    """As `_optional_parts`, by plain loops: key, value in units of ``2**-scale``, scale."""
    labels, groups = records.labels.tolist(), records.groups.tolist()
    if options.label_ranks:
        true_upto = {(row, a): upto for row, a, _, _, upto in groups} if options.label_precisions else {}
        for row, column, a, g in labels:
            yield (LABELS, column, 0, 0), 1, 0
            if 0 <= a <= options.label_ranks - g:
                yield (LABELS, column, a + g, 0), 1, 0
                if true_upto:
                    yield (LABELS, column, a + g, 1), true_upto[row, a], 0
    for cutoff in options.hit_cutoffs:
        sure: dict[int, int] = {}
        across: dict[int, tuple[int, int, int]] = {}
        for row, a, g, t, _ in groups:
            if a + g <= cutoff:
                sure[row] = sure.get(row, 0) + t
            elif a < cutoff:
                across[row] = cutoff - a, g, t
        for row, a, g, t, upto in groups:
            if a < cutoff:
                key = (HITS, cutoff, sure.get(row, 0), *across.get(row, (0, 0, 0)), a, g)
                for part, value in enumerate((t, t * upto, t * t)):
                    yield (*key, part), value, 0
    ranks, rows = options.gain_ranks, records.rows.tolist()
    worth: dict[int, list[float]] = {}
    for row, column, a, g in labels if ranks else ():
        gain = inverse_of(column)
        worth.setdefault(row, []).append(gain)
        if 0 <= a < ranks:
            yield (GAINS, min(rows[row][0], ranks), a, g, 0), *units_of(gain)
    for gains in worth.values():
        for rank, gain in enumerate(sorted(gains, reverse=True)[:ranks], 1):
            yield (IDEALS, min(len(gains), ranks), rank, 0), *units_of(gain)
