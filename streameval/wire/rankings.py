"""The contents of states of rankings as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.types import IntArray
from streameval.schema.labels import Label
from streameval.states.content import Content
from streameval.states.options import RankingOptions
from streameval.states.ranking_check import is_possible
from streameval.states.ranking_content import GAINS, KEYS, MAIN, PARTS, RankingContent, Table
from streameval.wire.fields import FINEST, LONGEST, Source, put_column, put_integer, require, varint

__all__ = ["put_rankings", "take_rankings"]

_FINEST_GAIN = 1074
# Weights times inverse propensities, which are float64 as well, times squares of ranks.
_LONGEST = 2 * LONGEST


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
    if content.scale is None:
        parts.append(b"\0")
        return
    parts += (b"\1", varint(content.scale))
    for table in content.tables:
        for sums, weights in zip(table.sums.tolist(), table.weights or (), strict=True):
            for value, weight in zip(sums, weights, strict=True):
                if value:  # nothing has no weight
                    put_integer(parts, weight)


def take_rankings(
    source: Source, options: RankingOptions, labels: tuple[Label, ...], decisions: Content
) -> RankingContent:
    """What `put_rankings` wrote, of a state with these options and labels."""
    fixed, examples = decisions.fixed, decisions.examples
    mentions = np.concatenate([np.zeros(fixed, np.int64), source.column(len(labels) - fixed)])
    plain = [_take_table(source, which) for which in range(len(KEYS))]
    top = max(len(labels), options.label_ranks, options.gain_ranks, *options.hit_cutoffs)
    for which, (keys, _) in enumerate(plain):
        # Sums of keys must not pass 64 bits, nor the keys of the kernel 32.
        require(int(keys.max(initial=0)) <= (len(labels) if which < MAIN else top))
    gain_scale, scale = source.varint(), None
    require(gain_scale <= _FINEST_GAIN)
    weights: list[list[list[int]]] | list[None] = [None] * len(plain)
    if source.byte(1):
        scale = source.varint()
        require(scale <= FINEST + _FINEST_GAIN)
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
