"""The contents of states of rankings as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.types import Flags, IntArray
from streameval.schema.labels import Label, in_order
from streameval.states.base import COUNT_MAX
from streameval.states.decisions import DecisionContent
from streameval.states.options import RankingOptions
from streameval.states.ranking_sums import GAINS, IDEALS, KEYS, MAIN, PARTS
from streameval.states.rankings import RankingContent, Table
from streameval.states.weights import trailing_zeros
from streameval.wire.fields import (
    FINEST,
    LONGEST,
    Option,
    Source,
    choice,
    put_column,
    put_integer,
    put_numbers,
    put_weights,
    require,
    varint,
)

OPTIONS = (
    choice(64, "ties", ("shared", "last")),
    Option(65, "label_ranks", put_integer, Source.integer),
    Option(66, "hit_cutoffs", lambda parts, ranks: _put_ranks(parts, ranks), lambda source: _take_ranks(source)),
    Option(67, "gain_ranks", put_integer, Source.integer),
    Option(68, "propensities", put_numbers, Source.numbers),
)

_FINEST_GAIN = 1074
# Weights times inverse propensities, which are float64 as well, times squares of ranks.
_LONGEST = 2 * LONGEST


def _put_ranks(parts: list[bytes], ranks: tuple[int, ...]) -> None:
    parts.append(varint(len(ranks)))
    for rank in ranks:
        put_integer(parts, rank)


def _take_ranks(source: Source) -> tuple[int, ...]:
    return tuple(source.integer() for _ in range(source.count()))


def put_rankings(parts: list[bytes], content: RankingContent) -> None:
    """Write a content, without its labels."""
    put_column(parts, content.mentions[content.fixed :])
    for which, table in enumerate(content.tables):
        parts.append(varint(len(table.keys)))
        for part in range(KEYS[which]):
            put_column(parts, table.keys[:, part])
        for part in range(PARTS[which]):
            if which < GAINS:
                put_column(parts, table.sums[:, part])
            else:
                for value in table.sums[:, part].tolist():
                    put_integer(parts, value)
    parts.append(varint(content.gain_scale))
    put_weights(parts, content.scale, _weights_of(content))


def _weights_of(content: RankingContent) -> Iterator[int]:
    for table in content.tables:
        for sums, weights in zip(table.sums.tolist(), table.weights or (), strict=True):
            yield from (weight for value, weight in zip(sums, weights, strict=True) if value)  # nothing has no weight


def take_rankings(
    source: Source, options: RankingOptions, labels: tuple[Label, ...], decisions: DecisionContent
) -> RankingContent:
    """What `put_rankings` wrote, of a state with these options and labels."""
    fixed, examples = decisions.fixed, decisions.examples
    mentions = np.concatenate([np.zeros(fixed, np.int64), source.column(len(labels) - fixed)])
    plain = [_take_table(source, which) for which in range(len(KEYS))]
    top = max(len(labels), options.label_ranks, options.gain_ranks, *options.hit_cutoffs)
    for which, (keys, _) in enumerate(plain):
        # Sums of keys must not pass 64 bits, nor the keys of the kernel 32.
        require(int(keys.max(initial=0)) <= (len(labels) if which < MAIN else top))
    gain_scale = source.varint()
    require(gain_scale <= _FINEST_GAIN)
    scale = source.scale(FINEST + _FINEST_GAIN)
    weights: list[list[list[int]]] | list[None] = [None] * len(plain)
    if scale is not None:
        weights = [
            [[source.integer(_LONGEST) if value else 0 for value in row] for row in sums.tolist()] for _, sums in plain
        ]
    tables = tuple(Table(keys, sums, heavy) for (keys, sums), heavy in zip(plain, weights, strict=True))
    content = RankingContent(options, examples, labels, fixed, mentions, tables, gain_scale, scale)
    if not is_possible(content):
        raise FormatError("the rankings contradict each other")
    return content


def _take_table(source: Source, which: int) -> tuple[IntArray, np.ndarray[Any, np.dtype[Any]]]:
    length = source.count()
    keys = np.empty((length, KEYS[which]), np.int64)
    for part in range(KEYS[which]):
        keys[:, part] = source.column(length)
    if which >= GAINS:
        return keys, np.array([source.integer(_LONGEST) for _ in range(length)], object).reshape(length, PARTS[which])
    sums = np.empty((length, PARTS[which]), np.int64)
    for part in range(PARTS[which]):
        sums[:, part] = source.column(length)
    return keys, sums


# -- whether some stream can leave it ---------------------------------------------------------------------------------

# Below, the product with a number of labels stays within 64 bits.
_LARGE = 2**31

Lines: TypeAlias = list[tuple[list[int], list[int]]]


def is_possible(content: RankingContent) -> bool:
    """Whether some stream can have left it: the tables are in canonical form and do not contradict each other."""
    return _in_form(content) and _in_bounds(content) and all(_agree(content, sums) for sums in _readings(content))


def _in_form(content: RankingContent) -> bool:
    """Whether labels, keys and scales are as they are always written."""
    labels, grown = content.labels, list(content.labels[content.fixed :])
    scales = [content.gain_scale, *(() if content.scale is None else (content.scale,))]
    gains = [value for which in (GAINS, IDEALS) for value in content.tables[which].sums.reshape(-1).tolist()]
    return (
        len(set(labels)) == len(labels)
        and sorted(grown, key=in_order) == grown
        and content.mentions.shape == (len(labels),)
        and len(content.tables) == len(KEYS)
        and all(scale >= 0 for scale in scales)
        and (content.gain_scale == 0 or trailing_zeros(gains) == 0)
        and all(map(_table_in_form, content.tables, KEYS, PARTS))
        and all((table.weights is None) == (content.scale is None) for table in content.tables)
        and _weights_in_form(content)
    )


def _table_in_form(table: Table, width: int, parts: int) -> bool:
    keys, sums, weights = table
    if keys.shape != (len(sums), width) or sums.shape != (len(keys), parts):
        return False
    order = np.lexsort(keys.T[::-1]) if len(keys) else np.zeros(0, np.int64)
    distinct = (np.diff(keys, axis=0) != 0).any(axis=1).all()
    return bool(
        (order == np.arange(len(keys))).all()
        and distinct
        and (keys >= 0).all()
        and (sums[:, :1] > 0).all()
        and (sums >= 0).all()
        and (weights is None or all(len(row) == parts for row in weights))
    )


def _weights_in_form(content: RankingContent) -> bool:
    """Whether weighted sums are in the largest units, say more than the sums, and belong to sums."""
    if content.scale is None:
        return True
    every: list[int] = []
    plain = True
    for which, table in enumerate(content.tables):
        shift = content.scale - (content.gain_scale if which >= GAINS else 0)
        for sums, weights in zip(table.sums.tolist(), table.weights or (), strict=True):
            every += weights
            plain &= all(w << max(0, -shift) == s << max(0, shift) for s, w in zip(sums, weights, strict=True))
            if any(w < 0 or (w and not s) for s, w in zip(sums, weights, strict=True)):
                return False
    return not plain and (content.scale == 0 or trailing_zeros(every) == 0)


def _in_bounds(content: RankingContent) -> bool:
    """Whether keys name labels and ranks that there are, and sums are neither too small nor too large for them."""
    size, options, examples = len(content.labels), content.options, content.examples
    groups, first, rows, labels, hits, gains, ideals = content.tables
    m, l, a, g = groups.keys.T  # noqa: E741
    t, upto, square = groups.sums.T
    checks: list[Flags] = [m >= 1, g >= 1, a + g <= l, l <= size, t <= upto, t <= square]
    if options.ties == "last":
        checks += [g == 1, t == square]
    a, g, t = first.keys.T
    checks += [t >= 1, t <= g, a + g <= size]
    m, l, u, h = rows.keys.T  # noqa: E741
    n, wrong, last, erring, missed, lead = rows.sums.T
    if examples >= _LARGE:
        n = n.astype(object)
    whole = (u == 0) & (m > 0)
    checks += [
        u <= m, m - u <= l, l + u + h <= size, erring <= wrong, erring <= n, (erring > 0) | (wrong == 0), missed <= n,
        missed <= erring, whole | (last == 0), ~whole | ((last >= m * n) & (last <= l * n)), lead <= n * (m - u),
    ]  # fmt: skip
    column, rank = labels.keys.T
    checks += [column < size, rank <= options.label_ranks, labels.sums[:, 0] <= examples]
    k, sure, places, whole_size, within, a, g = hits.keys.T
    checks += [np.isin(k, options.hit_cutoffs), a < k, g >= 1, sure <= size, places <= whole_size, within <= whole_size]
    m, a, g = gains.keys.T
    checks += [m >= 1, m <= options.gain_ranks, a < options.gain_ranks, g >= 1]
    m, rank = ideals.keys.T
    checks += [rank >= 1, rank <= m, m <= options.gain_ranks]
    grown = np.arange(size) >= content.fixed
    checks += [content.mentions <= examples, (content.mentions > 0) == grown]
    counted = sum(n.tolist()) == examples <= COUNT_MAX
    return counted and all(bool(check.all()) for check in checks)


def _readings(content: RankingContent) -> Iterator[list[Lines]]:
    """The sums of every table, then the weighted ones if there are any."""
    keys = [table.keys.tolist() for table in content.tables]
    yield [
        list(zip(names, table.sums.tolist(), strict=True)) for names, table in zip(keys, content.tables, strict=True)
    ]
    if content.scale is not None:
        yield [
            list(zip(names, table.weights or [], strict=True))
            for names, table in zip(keys, content.tables, strict=True)
        ]


def _fit(groups: Lines, rows: Lines) -> bool:
    """Whether sums lie where those of any examples do, which holds for weighted sums as well."""
    return all(t <= upto and t <= square for _, (t, upto, square) in groups) and all(
        erring <= min(n, wrong)
        and missed <= erring
        and lead <= n * (m - u)
        and (max(m * n, lead + erring) <= last <= l * n if m and not u else last == 0)
        for (m, l, u, _), (n, wrong, last, erring, missed, lead) in rows  # noqa: E741
    )


def _agree(content: RankingContent, tables: list[Lines]) -> bool:
    """Whether different tables tell of the same true labels."""
    groups, first, rows, labels = tables[:4]
    if not _fit(groups, rows):
        return False
    by_group: dict[tuple[int, int], list[int]] = {}
    by_row: dict[tuple[int, int], list[int]] = {}
    for (m, l, a, g), (t, upto, _) in groups:  # noqa: E741
        sums = by_group.setdefault((m, l), [0, 0])
        sums[0] += t
        sums[1] += t * (a + g) - upto
    for (m, l, u, _), (n, wrong, *_rest) in rows:  # noqa: E741
        if m > u:
            sums = by_row.setdefault((m, l), [0, 0])
            sums[0] += n * (m - u)
            sums[1] += wrong
        elif wrong:
            return False
    ranked = sum(sums[0] for (m, _, u, _), sums in rows if m > u)
    true = sum(sums[0] * m for (m, *_), sums in rows)
    in_labels = sum(sums[0] for (_, rank), sums in labels if rank == 0)
    return (
        _without_zeros(by_group) == _without_zeros(by_row)
        and sum(times for _, (times,) in first) == ranked
        and in_labels == (true if content.options.label_ranks else 0)
        and _ideals_agree(content, tables)
    )


def _without_zeros(sums: dict[tuple[int, int], list[int]]) -> dict[tuple[int, int], list[int]]:
    return {key: values for key, values in sums.items() if any(values)}


def _ideals_agree(content: RankingContent, tables: list[Lines]) -> bool:
    """Whether there are ideal gains exactly where there are true labels."""
    ranks = content.options.gain_ranks
    if not ranks:
        return not tables[GAINS] and not tables[IDEALS]
    sizes = {min(m, ranks) for (m, *_), sums in tables[2] if m and sums[0]}
    return {m for (m, _), (value,) in tables[IDEALS] if value} == sizes and {m for (m, *_), _ in tables[GAINS]} <= {
        m for (m, _), _ in tables[IDEALS]
    }
