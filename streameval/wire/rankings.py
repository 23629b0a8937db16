"""The contents of states of rankings as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from streameval.kernel.types import Flags, IntArray, Integers
from streameval.schema.labels import Label
from streameval.states.base import COUNT_MAX
from streameval.states.decisions import DecisionContent, listed
from streameval.states.options import RankingOptions
from streameval.states.ranking_sums import GAINS, IDEALS, KEYS, LABELS, MAIN, PARTS
from streameval.states.rankings import RankingContent, Table
from streameval.states.weights import trailing_zeros
from streameval.wire.fields import FINEST, LONGEST, Option, Sink, Source, WeightForm, ascending_rows, choice, require

_FINEST_GAIN = 1074
# Enough bytes for weights times inverse propensities, which are float64 too, times squares of ranks.
_LONGEST = 2 * LONGEST


def _put_ranks(sink: Sink, ranks: tuple[int, ...]) -> None:
    sink.varint(len(ranks))
    sink.integers(ranks)


OPTIONS = (
    choice(64, "ties", ("shared", "last")),
    Option(65, "label_ranks", Sink.integer, Source.integer),
    Option(66, "hit_cutoffs", _put_ranks, lambda source: tuple(source.integers(source.count()))),
    Option(67, "gain_ranks", Sink.integer, Source.integer),
    Option(68, "propensities", Sink.numbers, Source.numbers),
)


def put_rankings(sink: Sink, content: RankingContent) -> None:
    """Write a content, without its labels."""
    sink.column(content.mentions[content.fixed :])
    for which, (table, parts) in enumerate(zip(content.tables, _parts(content.options), strict=True)):
        sink.varint(len(table.keys))
        sink.columns(table.keys)
        if which < GAINS:
            sink.columns(table.sums[:, :parts])
        else:
            sink.integers(value for (value,) in listed(table.sums))
    sink.varint(content.gain_scale)
    sink.weights(content.scale, _weights_of(content))


def _parts(options: RankingOptions) -> tuple[int, ...]:
    """How many sums of each table are written."""
    return *PARTS[:LABELS], 1 + options.label_precisions, *PARTS[LABELS + 1 :]


def _weights_of(content: RankingContent) -> Iterator[int]:
    for table in content.tables:
        for sums, weights in zip(listed(table.sums), table.weights(), strict=True):
            yield from (weight for value, weight in zip(sums, weights, strict=True) if value)  # 0 has no weight


def take_rankings(
    source: Source, options: RankingOptions, labels: tuple[Label, ...], decisions: DecisionContent
) -> RankingContent:
    """The content that `put_rankings` wrote for these options and labels."""
    fixed, examples = decisions.fixed, decisions.examples
    mentions = np.concatenate([np.zeros(fixed, np.int64), source.column(len(labels) - fixed)])
    plain = list[tuple[IntArray, np.ndarray[Any, np.dtype[Any]]]]()
    top = max(len(labels), options.label_ranks, options.gain_ranks, *options.hit_cutoffs)
    for which, (width, parts) in enumerate(zip(KEYS, _parts(options), strict=True)):
        length = source.count()
        keys = source.columns(length, width)
        # Sums of keys must fit into 64 bits, and the keys of the kernel into 32.
        require(int(keys.max(initial=0)) <= (len(labels) if which < MAIN else top))
        if which < GAINS:
            plain.append((keys, np.pad(source.columns(length, parts), ((0, 0), (0, PARTS[which] - parts)))))
        else:
            plain.append((keys, np.array(source.integers(length, _LONGEST), object).reshape(length, 1)))
    gain_scale = source.varint()
    require(gain_scale <= _FINEST_GAIN)
    scale = source.scale(FINEST + _FINEST_GAIN)

    def weights_of(sums: Integers) -> Integers:
        weights, written = np.zeros(sums.shape, object), sums > 0
        weights[written] = source.integers(int(np.count_nonzero(written)), _LONGEST)
        return weights

    tables = tuple(Table(keys, sums, tuple if scale is None else weights_of(sums).tolist) for keys, sums in plain)
    content = RankingContent(examples, labels, fixed, scale, options, mentions, tables, gain_scale)
    require(is_possible(content))
    return content


# -- whether a stream can have produced the content -------------------------------------------------------------------

Sums: TypeAlias = tuple[IntArray, Integers]
"""The keys of a table, and their sums or weighted sums."""


def is_possible(content: RankingContent) -> bool:
    """Whether a stream can have produced a content: its tables are canonical and do not contradict each other."""
    if not (_in_form(content) and _in_bounds(content)):
        return False
    readings = [[table.sums for table in content.tables]]
    if content.scale is not None:
        weighed = [np.array([*map(list, table.weights())], object) for table in content.tables]
        readings.append([part.reshape(table.sums.shape) for part, table in zip(weighed, content.tables, strict=True)])
    return all(
        _agree(content, [_summable(table.keys, part) for table, part in zip(content.tables, parts, strict=True)])
        for parts in readings
    )


def _summable(keys: IntArray, sums: Integers) -> Sums:
    """Keys and sums, in Python integers if the sum of their products could exceed 64 bits."""
    most = 4 * (len(keys) + 1) * (int(keys.max(initial=0)) + 1) * (int(sums.max(initial=0)) + 1)
    return keys, sums if most < 2**63 else sums.astype(object)


def _in_form(content: RankingContent) -> bool:
    """Whether keys and scales are canonical, and weighted sums differ from the sums."""
    gains = [value for which in (GAINS, IDEALS) for value in content.tables[which].sums.reshape(-1).tolist()]
    ordered = all(ascending_rows(table.keys) and bool((table.sums[:, 0] > 0).all()) for table in content.tables)
    if not ordered or not (content.gain_scale == 0 or trailing_zeros(gains) == 0):
        return False
    form = WeightForm(content.scale or 0)
    for which, table in enumerate(content.tables if content.scale is not None else ()):
        weights, sums = map(chain.from_iterable, (table.weights(), table.sums.tolist()))
        form.add(weights, sums, content.gain_scale if which >= GAINS else 0)
    return content.scale is None or form.holds()


def _in_bounds(content: RankingContent) -> bool:
    """Whether keys name existing labels and possible ranks, and counts do not exceed the examples."""
    size, options, examples = len(content.labels), content.options, content.examples
    groups, first, rows, labels, hits, gains, ideals = content.tables
    m, l, a, g = groups.keys.T  # noqa: E741
    checks: list[Flags] = [a + g <= l]
    if options.ties == "last":
        checks.append(g == 1)
    a, g, t = first.keys.T
    checks += [t >= 1, t <= g, a + g <= size]
    m, l, u, h = rows.keys.T  # noqa: E741
    n, wrong, _, erring, *_ = rows.sums.T
    checks += [m - u <= l, l + u + h <= size, (erring > 0) | (wrong == 0)]
    column, rank = labels.keys.T
    checks += [column < size, rank <= min(size, options.label_ranks), labels.sums[:, 0] <= examples]
    k, sure, places, whole, within, a, g = hits.keys.T
    straddles, end = whole > 0, a + g  # straddles: whether any group straddles k
    checks += [np.isin(k, options.hit_cutoffs), sure <= size, within <= whole]
    checks += [straddles == (number > 0) for number in (places, within, whole - places)]
    checks.append(np.where(end > k, (places == k - a) & (whole == g), (end <= k - places) & (sure > 0)))
    m, a, g = gains.keys.T
    checks += [a < options.gain_ranks, g >= 1]
    m, rank = ideals.keys.T
    checks += [rank >= 1, rank <= m]
    checks += [content.mentions <= examples, (content.mentions > 0) == (np.arange(size) >= content.fixed)]
    return sum(n.tolist()) == examples <= COUNT_MAX and all(bool(check.all()) for check in checks)


def _fit(groups: Sums, hits: Sums, rows: Sums) -> bool:
    """Whether sums obey the inequalities that all examples obey; weighted sums obey them too."""
    checks: list[Flags] = []
    for keys, sums in (groups, hits):
        (*_, a, g), (t, upto, square) = keys.T, sums.T
        checks += [t <= square, square <= upto, square <= t * g, upto <= t * (a + g)]
    (m, l, u, _), (n, wrong, last, erring, missed, lead) = rows[0].T, rows[1].T  # noqa: E741
    checks += [erring <= n, erring <= wrong, missed <= erring, lead <= n * (m - u)]
    between = (m * n <= last) & (lead + erring <= last) & (last <= l * n)
    checks.append(np.where((m > 0) & (u == 0), between, last == 0))
    return all(bool(check.all()) for check in checks)


def _agree(content: RankingContent, tables: list[Sums]) -> bool:
    """Whether the tables agree on how many labels are true."""
    groups, first, rows, labels, hits = tables[:5]
    if not _fit(groups, hits, rows):
        return False
    (m, _, u, _), (n, wrong, *_rest) = rows[0].T, rows[1].T
    (*_, a, g), (t, upto, _) = groups[0].T, groups[1].T
    by_size = (
        _by_size(rows[0], n * np.maximum(0, m - u), wrong),
        _by_size(groups[0], t, t * (a + g) - upto),
    )
    (_, rank), (true, above) = labels[0].T, labels[1].T
    ranked = (rank > 0) & content.options.label_precisions  # if so, all ranks are counted, as in groups
    in_labels = true[rank == 0].sum()
    return (
        all(map(np.array_equal, *by_size))
        and not wrong[m <= u].any()
        and first[1].sum() == n[m > u].sum()
        and in_labels == ((n * m).sum() if content.options.label_ranks else 0)
        and bool(((true * ranked <= above) & (above <= true * rank * ranked)).all())
        and (not content.options.label_precisions or (true[ranked].sum(), above.sum()) == (t.sum(), upto.sum()))
        and _ideals_agree(content, tables)
    )


def _by_size(keys: IntArray, true: Integers, wrong: Integers) -> Sums:
    """The sums of two numbers by m and l, except where both are 0; ``keys`` ascend."""
    starts = np.flatnonzero(np.any(np.diff(keys[:, :2], axis=0, prepend=-1) != 0, axis=1))
    sums = np.stack([true, wrong], axis=1)
    sums = np.add.reduceat(sums, starts) if len(starts) else sums
    some = (sums != 0).any(axis=1)
    return keys[starts[some], :2], sums[some]


def _ideals_agree(content: RankingContent, tables: list[Sums]) -> bool:
    ranks = content.options.gain_ranks
    (of_gains, _), (of_ideals, ideals) = tables[GAINS:]
    if not ranks:
        return not len(of_ideals)  # gains are empty too, as no rank is below 0
    keys, sums = tables[2]
    sizes = {min(m, ranks) for m in keys[(keys[:, 0] > 0) & (sums[:, 0] > 0), 0].tolist()}
    known = {*of_ideals[:, 0].tolist()}
    return {*of_ideals[ideals[:, 0] > 0, 0].tolist()} == sizes and known.issuperset(of_gains[:, 0].tolist())
