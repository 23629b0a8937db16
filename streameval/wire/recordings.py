"""The examples that windows store, as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from streameval.kernel.types import Int32Array, IntArray
from streameval.schema.labels import Label
from streameval.schema.recording import BLOCK, Examples, ExampleScores, Recording, narrowed, rows_of, whole_stamps
from streameval.wire.blocks import Blocks, drained
from streameval.wire.fields import Sink, Source, require
from streameval.wire.values import take_labels


def put_recording(sink: Sink, recording: Recording, *, scored: bool) -> None:
    """Write examples, without the declared labels."""
    sink.labels(recording.labels, recording.fixed)
    lengths, slots, many, columns = (Blocks() for _ in range(4))
    weights, stamps, scores = list[Any](), list[bytes](), list[Any]()
    plain = narrow = True
    large = recording.size > 64 * BLOCK  # then blocks are made twice to save memory
    for block in recording.blocks():
        # Plus 1, because zeros would take no bytes, and then a few bytes could claim any amount of memory.
        lengths.add(block.lengths + 1)
        slots.add(block.slots + 1, keep=not large)
        plain &= block.weights is None
        weights.append(block.size if block.weights is None else block.weights)
        if block.stamps is not None:
            stamps.append(block.stamps.astype("<i8").tobytes())
        if block.scores is not None:
            many.add(block.scores.lengths)
            columns.add(block.scores.columns)
            scores.append(block.scores.scores)
            narrow &= block.scores.scores.dtype == np.float32
    sink.varint(recording.size)
    sink.append(lengths.pieces())
    sink.varint(slots.size)
    sink.append(slots.pieces(block.slots + 1 for block in recording.blocks()) if large else slots.pieces())
    sink.byte(not plain)
    if not plain:
        each = (np.ones(part) if isinstance(part, int) else part for part in drained(weights))
        sink.append(part.astype("<f8").tobytes() for part in each)
    sink.append(drained(stamps))
    if scored:
        sink.append(many.pieces())
        sink.varint(columns.size)
        sink += (columns.pieces(), bytes((4 if narrow else 8,)))
        sink.append(part.astype("<f4" if narrow else "<f8").tobytes() for part in drained(scores))


def take_recording(
    source: Source, declared: tuple[Label, ...], *, timed: bool, scored: bool, predicts: bool
) -> Recording:
    """The recording that `put_recording` wrote; ``predicts``: whether labels can be predicted."""
    labels = take_labels(source, declared)
    fixed, width, read = len(declared), len(labels), _Read(source, timed=timed, scored=scored)
    mentioned = np.zeros(width, np.bool_)
    mentioned[:fixed] = True
    weighs, wide = not read.weighted, read.size_of_score == 4
    for block in whole_stamps(read.blocks(width)):
        column, outcome = np.divmod(block.slots, 5)
        row, weights, scores = rows_of(block.lengths), block.weights, block.scores
        require((np.diff(column) > 0) | (np.diff(row) > 0), (outcome != 0) | (column >= fixed))
        require(predicts or (outcome != 2) & (outcome != 3))
        mentioned[column] = True
        if weights is not None:
            require(np.isfinite(weights) & (weights >= 0))
            weighs = weighs or bool((weights != 1).any())
        if scores is not None:
            cells = row * width + column
            scored_cells = rows_of(scores.lengths) * width + scores.columns
            require(np.diff(scored_cells) > 0, ~np.isin(scored_cells, cells[outcome == 4]))
            require(np.isin(scored_cells[scores.columns >= fixed], cells))
            require(np.isfinite(scores.scores), ~np.signbit(scores.scores[scores.scores == 0]))
            wide = wide or narrowed(scores.scores).dtype != np.float32
        order = block.order_of_stamps()
        require(order is None or order[1:] > order[:-1])
    require(mentioned, weighs, wide)
    return Recording(labels, fixed, read.size, lambda: read.blocks(width))


class _Read:
    def __init__(self, source: Source, *, timed: bool, scored: bool) -> None:
        self.size = source.count()
        self._lengths, self._slots = source.packed(self.size), source.packed(source.count())
        self.weighted, self._scored, self.size_of_score = bool(source.byte(1)), scored, 4
        self._weights = source.array(self.size, "<f8") if self.weighted else None
        self._stamps = source.array(self.size, "<i8") if timed else None
        if scored:
            self._many, self._columns = source.packed(self.size), source.packed(source.count())
            self.size_of_score = source.byte(8)
            require(self.size_of_score in (4, 8))
            self._scores = source.array(len(self._columns), f"<f{self.size_of_score}")

    def blocks(self, width: int) -> Iterator[Examples]:
        """The examples, over ``width`` labels."""
        slot = entry = 0
        latest = -(2**63)
        require(width < 2**31 // 5)
        for at in range(0, self.size, BLOCK):
            rows, scores = slice(at, at + BLOCK), None
            lengths = _small(self._lengths[rows] - 1, width)
            first, slot = slot, slot + int(lengths.sum(dtype=np.int64))
            slots = _small(self._slots[first:slot] - 1, 5 * width - 1)
            if self._scored:
                many = _small(self._many[rows], width)
                start, entry = entry, entry + int(many.sum(dtype=np.int64))
                columns, numbers = _small(self._columns[start:entry], width - 1), self._scores[start:entry]
                require(entry <= len(self._columns))
                scores = ExampleScores(many, columns, numbers.astype(f"f{self.size_of_score}"))
            require(slot <= len(self._slots))
            weights = None if self._weights is None else self._weights[rows].astype(np.float64)
            stamps = None if self._stamps is None else self._stamps[rows].astype(np.int64)
            if stamps is not None:
                require(stamps >= latest, stamps[1:] >= stamps[:-1])
                latest = int(stamps[-1])
            yield Examples(lengths, slots, weights, stamps, scores)
        require(slot == len(self._slots), not self._scored or entry == len(self._columns))


def _small(numbers: IntArray, top: int) -> Int32Array:
    require((numbers >= 0) & (numbers <= top))
    return numbers.astype(np.int32)
