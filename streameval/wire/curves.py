"""The contents of states of scores as bytes; the sums of a bin that follow from its other sums are not written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise

import numpy as np

from streameval.kernel import backend
from streameval.kernel.curves import bins as binned
from streameval.kernel.types import Flags, IntArray, Integers
from streameval.schema.batch import offsets_of
from streameval.schema.labels import Label
from streameval.states.curves import BLOCK, CurveBlock, CurveContent, moments_of
from streameval.states.decisions import DecisionContent
from streameval.states.options import CurveOptions
from streameval.wire.blocks import Blocks
from streameval.wire.fields import LONGEST, Option, Sink, Source, WeightForm, require

OPTIONS: tuple[Option, ...] = ()

_LOWER = (1 << binned.DROPPED) - 1
# Bytes of the longest sum of weights times squares of residuals.
_LONGEST = LONGEST + 2 * binned.DROPPED // 8 + 1


def put_curves(sink: Sink, content: CurveContent) -> None:
    """Write a content without its labels; sums of squares only where a bin holds at least two scores of a class."""
    lengths, last = np.zeros(len(content.labels), np.int32), 0
    columns = [Blocks(1), Blocks(), Blocks(), Blocks()]
    words = [[Blocks(words=2), Blocks(words=2)] for _ in range(2)]
    for first, offsets, bins, counts, sums, _ in content.blocks():
        own = np.diff(offsets)
        starts = np.zeros(len(bins), np.bool_)
        starts[offsets[:-1][(own > 0) & (lengths[first : first + len(own)] == 0)]] = True
        lengths[first : first + len(own)] += own
        parts = bins[starts], np.diff(bins, prepend=last)[~starts], counts[:, 0], counts[:, 1]
        last = int(bins[-1])
        for column, part in zip(columns, parts, strict=True):
            column.add(part)
        for side, (totals, squares) in enumerate(words):
            totals.add(sums[counts[:, side] > 0, side, :2])
            squares.add(sums[counts[:, side] > 1, side, 2:])
    sink.columns(content.sides[content.fixed :, :1])
    sink.columns(content.sides[:, 1:])
    sink.column(lengths)
    sink += (column.pieces() for column in columns)
    sink += (column.pieces() for column in chain(*words))
    sink.weights(content.scale, _weights_of(content))


def _weights_of(content: CurveContent) -> Iterator[int]:
    yield content.weight
    for sides in content.side_weights:
        yield from sides
    for block in content.blocks():
        yield from np.asarray(block.weigh(), object)[_written(moments_of(block.counts, block.sums))].tolist()


def _written(plain: Integers) -> Flags:
    """Which weight sums are written: that of scores where a class has any, and all three where its residuals differ."""
    n, total, squares = np.moveaxis(plain, 2, 0)
    differ = n * squares != total * total  # equality (Cauchy and Schwarz) holds only if all residuals are equal
    return np.stack([n > 0, differ, differ], axis=2)


def take_curves(
    source: Source, _options: CurveOptions, labels: tuple[Label, ...], decisions: DecisionContent
) -> CurveContent:
    """The content that `put_curves` wrote for these labels. Its bins are decoded anew at every use."""
    fixed, examples = decisions.fixed, decisions.examples
    sides = np.zeros((len(labels), 3), np.int64)
    sides[fixed:, 0] = source.column(len(labels) - fixed)
    sides[:, 1:] = source.columns(len(labels), 2)
    bins = _Bins(source, len(labels))
    weight, side_weights, scale = 0, list[list[int]](), source.scale()
    if scale is not None:
        weight = source.integer()
        side_weights = [source.integers(2) for _ in labels]
    checked, blocks = source.checked(partial(bins.blocks, scale=scale), bins.size)
    content = CurveContent(examples, labels, fixed, scale, sides, weight, side_weights, blocks)
    _check(content, checked)
    return content


class _Bins:
    def __init__(self, source: Source, labels: int) -> None:
        lengths = source.column(labels)
        self.size = size = sum(lengths.tolist())
        require(size <= source.left())  # each bin takes a byte at least
        self._offsets = offsets_of(lengths)
        self._starts = self._offsets[:-1][lengths > 0]
        self._firsts = source.packed(len(self._starts), least=1)
        self._steps = source.packed(size - len(self._starts))
        self._counts = source.packed(size), source.packed(size)
        blocks = (self._counts_from(at).T for at in range(0, size, BLOCK))
        written = [[np.count_nonzero(count >= least) for count in counts for least in (1, 2)] for counts in blocks]
        self._places = np.cumsum([np.zeros(4, np.int64), *written], axis=0)
        self._sums = [source.packed(length, words=2) for length in self._places[-1].tolist()]

    def _counts_from(self, at: int) -> IntArray:
        return np.array([column[at : at + BLOCK] for column in self._counts]).T

    def blocks(self, source: Source, scale: int | None) -> Iterator[CurveBlock]:
        """All bins. With a scale, ``source`` must be at their weights, and the blocks must be read in order."""
        last = 0
        for at, places in zip(range(0, self.size, BLOCK), pairwise(self._places.tolist()), strict=True):
            counts = self._counts_from(at)
            require(counts[:, 0] | counts[:, 1])
            bins = self._bins_from(at, at + len(counts), last)
            last = int(bins[-1])
            written = [part[start:end] for part, start, end in zip(self._sums, *places, strict=True)]
            sums, fits = backend.curves.words_of(counts, written)
            require(fits)
            first = int(np.searchsorted(self._offsets, at, "right")) - 1
            after = int(np.searchsorted(self._offsets, at + len(counts), "left"))
            offsets = np.clip(self._offsets[first : after + 1] - at, 0, len(counts))
            weights = np.zeros(0, object) if scale is None else _take_moments(source, moments_of(counts, sums))
            yield CurveBlock(first, offsets, bins, counts, sums, weights.copy)

    def _bins_from(self, at: int, end: int, last: int) -> IntArray:
        before, after = np.searchsorted(self._starts, (at, end)).tolist()
        first, further = self._starts[before:after] - at, self._steps[at - before : end - after]
        rest = np.ones(end - at, np.bool_)
        rest[first] = False
        steps = np.empty(end - at, np.int64)
        steps[rest], steps[first] = further, self._firsts[before:after]
        require(steps < binned.BINS, further > 0)
        steps[0] += last if rest[0] else 0
        running = np.cumsum(steps)  # no overflow: at most `BLOCK` numbers, each below 2**25
        base = np.concatenate([np.zeros(1, np.int64), running[first] - steps[first]])
        bins: IntArray = running - np.repeat(base, np.diff(first, prepend=0, append=end - at))
        require(bins < binned.BINS)
        return bins


def _take_moments(source: Source, plain: Integers) -> Integers:
    written, weights = _written(plain), np.zeros(plain.shape, object)
    longest = np.broadcast_to([LONGEST, _LONGEST, _LONGEST], plain.shape)[written]
    weights[written] = [source.integer(most) for most in longest.tolist()]
    equal = written[..., 0] & ~written[..., 1]
    residuals = plain[equal, 1] // plain[equal, 0]
    for power in (1, 2):
        weights[equal, power] = weights[equal, power - 1] * residuals
    return weights


def _check(content: CurveContent, blocks: Iterable[CurveBlock]) -> None:
    """Refuse contents that no stream can produce, and weights that are not in canonical form."""
    mentions, scale = np.zeros(len(content.labels), np.uint64), content.scale
    totals: Integers = np.zeros(len(content.labels), object)
    sums, exceeds = WeightForm(scale or 0), False
    for first, offsets, _, counts, words, weigh in blocks:
        scored = np.diff(offsets_of(counts[:, 0] + counts[:, 1])[offsets])  # far below 2**63
        mentioned = mentions[first : first + len(scored)]
        mentioned += scored.astype(np.uint64)
        require(mentioned <= content.examples)
        if scale is None:
            continue
        moments = weigh()
        sums.add(moments.ravel().tolist(), moments_of(counts, words).ravel().tolist())
        weights, residuals, squares = np.moveaxis(moments, 2, 0)
        np.add.at(totals, np.repeat(np.arange(first, first + len(offsets) - 1), np.diff(offsets)), weights.sum(axis=1))
        # If neither holds, residuals <= weights * _LOWER as well.
        exceeds |= bool((squares > residuals * _LOWER).any() or (weights * squares < residuals * residuals).any())
    for side in content.sides.T:
        mentions += side.astype(np.uint64)  # the sum of two numbers below 2**63 fits
        require(mentions <= content.examples)
    require(mentions[content.fixed :] > 0, not exceeds)
    if scale is None:
        return
    whole, counted, sides = content.weight, content.sides[:, 1:].tolist(), content.side_weights
    sums.add([whole, *chain.from_iterable(sides)], [content.examples, *chain.from_iterable(counted)])
    require(sums.holds())
    require(all(n or not s for row, pair in zip(counted, sides, strict=True) for n, s in zip(row, pair, strict=True)))
    require(all(sum(pair) + of_bins <= whole for pair, of_bins in zip(sides, totals.tolist(), strict=True)))
