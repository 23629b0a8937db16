"""The contents of states of scores as bytes.

Where a bin holds one score of a class, or equal ones, the sum of their residuals determines the remaining sums, so
only it is written: squares where a bin holds two scores or more, and of weights only what does not follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.curves import bins as binned
from streameval.kernel.types import IntArray, WordArray
from streameval.schema.batch import offsets_of
from streameval.schema.labels import Label
from streameval.states.curves import CurveContent, moments_of
from streameval.states.decisions import DecisionContent
from streameval.states.options import CurveOptions
from streameval.wire.fields import LONGEST, Option, Sink, Source, joined, require, require_weights

OPTIONS: tuple[Option, ...] = ()

_LOWER = (1 << binned.DROPPED) - 1
# Weights times the squares of residuals.
_LONGEST = LONGEST + 2 * binned.DROPPED // 8 + 1


def put_curves(sink: Sink, content: CurveContent) -> None:
    """Write a content, without its labels."""
    sink.column(content.sides[content.fixed :, 0])
    sink.columns(content.sides[:, 1:])
    lengths, bins, counts = np.diff(content.offsets), content.bins, content.counts
    sink.column(lengths)
    first = np.isin(np.arange(len(bins)), content.offsets[:-1])
    sink.column(bins[first], least=1)
    sink.column(np.diff(bins, prepend=0)[~first])
    sink.columns(counts)
    for part in range(2):
        sink.wide(content.sums[counts[:, part] > 0, part, :2])
        sink.wide(content.sums[counts[:, part] > 1, part, 2:])
    sink.weights(content.scale, _weights_of(content))


def _weights_of(content: CurveContent) -> Iterator[int]:
    """The sums of weights that do not follow from other sums."""
    yield content.weight or 0
    for sides in content.side_weights or ():
        yield from sides
    plain = moments_of(content.counts, content.sums).tolist()
    for pair, moments in zip(plain, content.bin_weights or (), strict=True):
        for counted, heavy in zip(pair, moments, strict=True):
            if counted[0]:
                yield from heavy if _differ(counted) else heavy[:1]


def _differ(plain: Sequence[int]) -> bool:
    """Whether the residuals are not all equal: by Cauchy and Schwarz."""
    n, total, squares = plain
    return n * squares != total * total


def take_curves(
    source: Source, options: CurveOptions, labels: tuple[Label, ...], decisions: DecisionContent
) -> CurveContent:
    """What `put_curves` wrote, of a state with these labels."""
    del options
    fixed, examples = decisions.fixed, decisions.examples
    sides = np.zeros((len(labels), 3), np.int64)
    sides[fixed:, 0] = source.column(len(labels) - fixed)
    sides[:, 1:] = source.columns(len(labels), 2)
    lengths = source.column(len(labels))
    size = sum(lengths.tolist())
    require(size <= source.left())  # each bin takes a byte at least
    offsets = offsets_of(lengths)
    bins = _take_bins(source, lengths, offsets, size)
    counts = np.ascontiguousarray(source.columns(size, 2))
    require(counts.any(axis=1), counts <= binned.SCORE_MAX)
    halves = (np.diff(offsets_of(part)[offsets]).tolist() for part in np.divmod(counts.sum(axis=1), 2**32))
    mentions = [sum(row) + (high << 32) + low for row, high, low in zip(sides.tolist(), *halves, strict=True)]
    require(all(part <= examples for part in mentions) and all(mentions[fixed:]))
    sums = np.zeros((size, 2, 4), np.uint64)
    for part in range(2):
        _take_sums(source, counts[:, part], sums[:, part])
    held = (sides, offsets, bins, counts, sums)
    scale = source.scale()
    if scale is None:
        return CurveContent(examples, labels, fixed, *held, None, None, None, None)
    weight = source.integer()
    side_weights = [source.integers(2) for _ in labels]
    plain = moments_of(counts, sums).tolist()
    bin_weights = [[_take_moments(source, part) for part in pair] for pair in plain]
    content = CurveContent(examples, labels, fixed, *held, scale, weight, side_weights, bin_weights)
    _check_weights(content, plain)
    return content


def _take_bins(source: Source, lengths: IntArray, offsets: IntArray, size: int) -> IntArray:
    """The bins of each label, increasing."""
    start = offsets[:-1][lengths > 0]
    first = np.isin(np.arange(size), start)
    steps = np.empty(size, np.int64)
    steps[first] = source.column(len(start), least=1)
    steps[~first] = source.column(size - len(start))
    require(steps < binned.BINS, steps[~first] > 0)
    running = np.cumsum(steps)  # of at most one number for each byte, each below 2**24
    bins = running - np.repeat(running[start] - steps[start], lengths[lengths > 0])
    require(bins < binned.BINS)
    return bins


def _take_sums(source: Source, counts: IntArray, sums: WordArray) -> None:
    """Fill the sums of a class from what was written of it."""
    some, many = counts > 0, counts > 1
    totals = source.wide(int(np.count_nonzero(some)))
    squares = source.wide(int(np.count_nonzero(many)))
    sums[some, :2] = totals
    sums[many, 2:] = squares
    single = counts == 1
    value = sums[single, 0]
    require(value <= _LOWER, sums[single, 1] == 0)
    sums[single, 2:] = _squared(value)
    numbers = zip(counts[many].tolist(), joined(totals[many[some]]), joined(squares), strict=True)
    require(all(binned.possible(*part) for part in numbers))


def _squared(values: WordArray) -> WordArray:
    """The squares of integers below 2**42, as two words each."""
    upper, lower = values >> np.uint64(21), values & np.uint64((1 << 21) - 1)
    rest = (upper * lower << np.uint64(22)) + lower * lower
    high = (upper * upper + (rest >> np.uint64(42))) >> np.uint64(22)
    return np.stack([values * values, high], axis=1)


def _take_moments(source: Source, plain: list[int]) -> list[int]:
    n, total, _ = plain
    if not n:
        return [0, 0, 0]
    heavy = source.integer()
    if not _differ(plain):
        residual = total // n
        return [heavy, heavy * residual, heavy * residual * residual]
    return [heavy, source.integer(_LONGEST), source.integer(_LONGEST)]


def _check_weights(content: CurveContent, plain: list[list[list[int]]]) -> None:
    """Refuse weights that no stream can leave, or that are not in the form in which they are always written."""
    scale, weight = content.scale or 0, content.weight or 0
    sides, moments = content.side_weights or [], content.bin_weights or []
    counted = content.sides[:, 1:].tolist()
    parts = list(chain.from_iterable(moments))
    sums = [weight, *chain.from_iterable(sides), *chain.from_iterable(parts)]
    counts = [content.examples, *chain.from_iterable(counted), *chain.from_iterable(chain.from_iterable(plain))]
    require_weights(scale, sums, counts)
    require(all(n or not s for row, pair in zip(counted, sides, strict=True) for n, s in zip(row, pair, strict=True)))
    for heavy, total, squares in parts:
        require(total <= heavy * _LOWER and squares <= total * _LOWER and heavy * squares >= total * total)
    for column, pair in enumerate(sides):
        bins = moments[int(content.offsets[column]) : int(content.offsets[column + 1])]
        if sum(pair) + sum(negative[0] + positive[0] for negative, positive in bins) > weight:
            raise FormatError("a label that weighs more than all examples")
