"""From examples ranked one by one to exact sums by key, with weights or without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from streameval.kernel import backend
from streameval.kernel.types import FloatArray, IntArray, Records
from streameval.states.options import RankingOptions
from streameval.states.weights import ExactSums, common_scale, exact_integers, units_of

Key: TypeAlias = tuple[int, ...]
"""Number of the table, key within the table, number of the sum."""

NAMES = ("groups", "first", "rows", "labels", "hits", "gains", "ideals")
KEYS = (4, 3, 4, 2, 7, 3, 2)
"""How many integers a key of each table has."""
PARTS = (3, 1, 6, 1, 3, 1, 1)
"""How many sums each table keeps for a key."""
MAIN = 3
"""The first three tables are always present."""
LABELS, HITS, GAINS, IDEALS = 3, 4, 5, 6


class Part(NamedTuple):
    """What examples add to one sum of one table: ``digits`` in base 2**32, in units of ``2**-scale``."""

    table: int
    part: int
    keys: IntArray
    rows: IntArray
    digits: IntArray
    scale: int = 0


_FEW = 256  # examples and true labels, up to which plain loops are quicker than arrays


def sums_of(
    records: Records, options: RankingOptions, inverse_of: Callable[[int], float], weights: FloatArray | None
) -> tuple[ExactSums[Key], ExactSums[Key] | None]:
    """What examples add to the tables of options, and to all where they have weights.

    ``inverse_of`` gives the inverse propensity of a column.
    """
    if len(records.labels) + len(records.rows) <= _FEW:
        optional = list(_few_optional(records, options, inverse_of))
        sums = _collected(optional, None)
        if weights is None:
            return sums, None
        return sums, _collected([*_few_main(records), *optional], [units_of(weight) for weight in weights.tolist()])
    inverse = np.ones(1 + int(records.labels[:, 1].max(initial=0)), np.float64)
    if options.gain_ranks:
        for column in np.unique(records.labels[:, 1]).tolist():
            inverse[column] = inverse_of(column)
    parts = _optional_parts(records, options, inverse)
    return _summed(parts, None), None if weights is None else _summed([*_main_parts(records), *parts], weights)


def _main_parts(records: Records) -> list[Part]:
    rows, groups, _ = records
    row, a, g, t, upto = groups.T
    every, best = np.arange(len(rows)), np.flatnonzero(np.diff(row, prepend=-1))
    of_groups = np.stack([rows[row, 0], rows[row, 1], a, g], axis=1)
    parts = [Part(0, part, of_groups, row, sums[:, None]) for part, sums in enumerate((t, t * upto, t * t))]
    parts.append(Part(1, 0, np.stack([a, g, t], axis=1)[best], row[best], np.ones((len(best), 1), np.int64)))
    parts.append(Part(2, 0, rows[:, :4], every, np.ones((len(rows), 1), np.int64)))
    parts += [Part(2, part, rows[:, :4], every, rows[:, 3 + part, None]) for part in range(1, 6)]
    return parts


def _optional_parts(records: Records, options: RankingOptions, inverse: FloatArray) -> list[Part]:
    parts = []
    row, column, a, g = records.labels.T
    if options.label_ranks:
        end = np.where(a >= 0, a + g, options.label_ranks + 1)
        for rank, chosen in ((np.zeros_like(end), slice(None)), (end, end <= options.label_ranks)):
            keys = np.stack([column[chosen], rank[chosen]], axis=1)
            parts.append(Part(LABELS, 0, keys, row[chosen], np.ones((len(keys), 1), np.int64)))
    for cutoff in options.hit_cutoffs:
        parts += _hits(records, cutoff)
    if options.gain_ranks:
        parts += _gains(records, options.gain_ranks, inverse)
    return parts


def _hits(records: Records, cutoff: int) -> list[Part]:
    """The groups before a cutoff, with the true labels that surely are before it and the group that straddles it."""
    row, a, g, t, upto = records.groups.T
    sure, straddling = np.zeros(len(records.rows), np.int64), np.zeros((len(records.rows), 3), np.int64)
    inside, across = a + g <= cutoff, (a < cutoff) & (a + g > cutoff)
    np.add.at(sure, row[inside], t[inside])
    straddling[row[across]] = np.stack([cutoff - a, g, t], axis=1)[across]
    chosen = inside | across
    row, a, g, t, upto = records.groups[chosen].T
    keys = np.concatenate(
        [np.full((len(row), 1), cutoff), sure[row, None], straddling[row], a[:, None], g[:, None]], axis=1
    )
    return [Part(HITS, part, keys, row, sums[:, None]) for part, sums in enumerate((t, t * upto, t * t))]


def _gains(records: Records, ranks: int, inverse: FloatArray) -> list[Part]:
    """Inverse propensities by the group of their label, and by the rank they would have in the best ranking."""
    row, column, a, g = records.labels.T
    size = np.minimum(records.rows[row, 0], ranks)
    scale, digits = backend.decisions.limbs(inverse)
    whole = digits.astype(np.int64)
    chosen = (a >= 0) & (a < ranks)
    keys = np.stack([size, a, g], axis=1)[chosen]
    parts = [Part(GAINS, 0, keys, row[chosen], whole[column[chosen]], scale)]
    _, worth = np.unique(-inverse, return_inverse=True)
    order = np.argsort(row * len(inverse) + worth[column])
    starts = np.flatnonzero(np.diff(row[order], prepend=-1))
    rank = np.arange(len(row)) - np.repeat(starts, np.diff(starts, append=len(row))) + 1
    order, rank = order[rank <= ranks], rank[rank <= ranks]
    keys = np.stack([size[order], rank], axis=1)
    return [*parts, Part(IDEALS, 0, keys, row[order], whole[column[order]], scale)]


def _summed(parts: list[Part], weights: FloatArray | None) -> ExactSums[Key]:
    finest, weighed = 0, None
    if weights is not None:
        finest, digits = backend.decisions.limbs(weights)
        weighed = digits.astype(np.int64)
    target = common_scale(finest + max((part.scale for part in parts), default=0))
    sums: dict[Key, int] = {}
    for part in parts:
        if not len(part.keys):
            continue
        distinct, totals = _totals(part, weighed)
        shift = target - part.scale - finest
        for key, total in zip(distinct.tolist(), totals, strict=True):
            if total:
                name = (part.table, *key, part.part)
                sums[name] = sums.get(name, 0) + (total << shift)
    return ExactSums(target, sums)


def _totals(part: Part, weights: IntArray | None) -> tuple[IntArray, list[int]]:
    length, digits = len(part.keys), part.digits
    spans = [int(top) + 1 for top in part.keys.max(axis=0)]
    room = math.prod(spans)
    if weights is None and room <= 4 * length + 1024 and int(digits.max()) * length < 2**53:
        return _tabled(np.ravel_multi_index((*part.keys.T,), spans), room, spans, digits)
    if room < 2**62:
        packed = np.ravel_multi_index((*part.keys.T,), spans)
        order = np.argsort(packed, kind="stable")
        starts = np.flatnonzero(np.diff(packed[order], prepend=-1))
    else:
        order = np.lexsort(part.keys.T)
        starts = np.flatnonzero((np.diff(part.keys[order], axis=0, prepend=-1) != 0).any(axis=1))
    distinct, digits = part.keys[order[starts]], digits[order]
    if weights is None:
        wide = int(digits.max()) * length >= 2**62
        return distinct, exact_integers(np.add.reduceat(digits.astype(object) if wide else digits, starts, axis=0))
    factors = weights[part.rows[order]]
    if digits.shape[1] == 1 and int(digits.max()) * length < 2**30:
        return distinct, exact_integers(np.add.reduceat(digits * factors, starts, axis=0))
    product = np.array(exact_integers(digits), object) * np.array(exact_integers(factors), object)
    return distinct, np.add.reduceat(product, starts).tolist()


def _tabled(packed: IntArray, room: int, spans: list[int], digits: IntArray) -> tuple[IntArray, list[int]]:
    """Sums of digits without sorting: a float64 holds them exactly."""
    present = np.flatnonzero(np.bincount(packed, minlength=room))
    sums = [np.bincount(packed, weights=column, minlength=room)[present] for column in digits.T]
    distinct = np.stack(np.unravel_index(present, spans), axis=1)
    return distinct, exact_integers(np.stack(sums, axis=1).astype(np.int64))


def _collected(entries: Iterable[tuple[Key, int, int, int]], weights: list[tuple[int, int]] | None) -> ExactSums[Key]:
    """Sums by key of values in units of ``2**-scale``, from key, example, value, scale."""
    entries = list(entries)
    finest = max((scale for _, scale in weights), default=0) if weights else 0
    target = common_scale(finest + max((scale for *_, scale in entries), default=0))
    sums: dict[Key, int] = {}
    for key, row, value, scale in entries:
        weight, fine = weights[row] if weights else (1, 0)
        if value and weight:
            sums[key] = sums.get(key, 0) + (value * weight << target - scale - fine)
    return ExactSums(target, sums)


def _few_main(records: Records) -> Iterator[tuple[Key, int, int, int]]:
    rows = records.rows.tolist()
    last = -1
    for row, a, g, t, upto in records.groups.tolist():
        key = (0, rows[row][0], rows[row][1], a, g)
        for part, value in enumerate((t, t * upto, t * t)):
            yield (*key, part), row, value, 0
        if row != last:
            yield (1, a, g, t, 0), row, 1, 0
        last = row
    for row, values in enumerate(rows):
        for part, value in enumerate((1, *values[4:])):
            yield (2, *values[:4], part), row, value, 0


def _few_optional(
    records: Records, options: RankingOptions, inverse: Callable[[int], float]
) -> Iterator[tuple[Key, int, int, int]]:
    labels, groups = records.labels.tolist(), records.groups.tolist()
    if options.label_ranks:
        for row, column, a, g in labels:
            yield (LABELS, column, 0, 0), row, 1, 0
            if 0 <= a <= options.label_ranks - g:
                yield (LABELS, column, a + g, 0), row, 1, 0
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
                    yield (*key, part), row, value, 0
    ranks, rows = options.gain_ranks, records.rows.tolist()
    worth: dict[int, list[float]] = {}
    for row, column, a, g in labels if ranks else ():
        gain = inverse(column)
        worth.setdefault(row, []).append(gain)
        if 0 <= a < ranks:
            yield (GAINS, min(rows[row][0], ranks), a, g, 0), row, *units_of(gain)
    for row, gains in worth.items():
        for rank, gain in enumerate(sorted(gains, reverse=True)[:ranks], 1):
            yield (IDEALS, min(len(gains), ranks), rank, 0), row, *units_of(gain)
