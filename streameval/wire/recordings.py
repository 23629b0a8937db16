"""The examples that windows remember as bytes."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import Int32Array, ScoreArray
from streameval.schema.labels import Label
from streameval.schema.recording import Examples, ExampleScores, Recording, narrowed, rows_of
from streameval.wire.fields import ROWS, Sink, Source, require, take_labels


def put_recording(sink: Sink, recording: Recording) -> None:
    """Write examples, without the declared labels."""
    sink.labels(recording.labels[recording.fixed :])
    lengths, slots, weights, stamps, scores = recording.examples
    sink.varint(len(lengths))
    # One more than each, since a column of zeros takes no room, and what is read must not outgrow the bytes.
    sink.column(lengths + 1)
    sink.varint(len(slots))
    sink.column(slots + 1)
    sink += (b"\0",) if weights is None else (b"\1", weights.astype("<f8").tobytes())
    if stamps is not None:
        sink.append(stamps.astype("<i8").tobytes())
    if scores is not None:
        sink.column(scores.lengths)
        sink.varint(len(scores.columns))
        sink.column(scores.columns)
        narrow = scores.scores.dtype == np.float32
        sink += (bytes((4 if narrow else 8,)), scores.scores.astype("<f4" if narrow else "<f8").tobytes())


def take_recording(
    source: Source, declared: tuple[Label, ...], *, timed: bool, scored: bool, predicts: bool
) -> Recording:
    """What `put_recording` wrote, where these labels are declared; ``predicts``: labels can be predicted."""
    labels = take_labels(source, declared)
    examples, fixed, width = source.count(), len(declared), len(labels)
    lengths = _small(source, examples, 1, width)
    places = source.count()
    require(int(lengths.sum(dtype=np.int64)) == places, width < 2**31 // 5)
    slots = _small(source, places, 1, 5 * width - 1)
    weights = np.frombuffer(source.raw(8 * examples), "<f8").astype(np.float64) if source.byte(1) else None
    if weights is not None:
        require(np.isfinite(weights) & (weights >= 0), (weights != 1).any())
    stamps = np.frombuffer(source.raw(8 * examples), "<i8").astype(np.int64) if timed else None
    require(stamps is None or stamps[1:] >= stamps[:-1])
    scores = _take_scores(source, examples, width) if scored else None
    made = Examples(lengths, slots, weights, stamps, scores)
    mentioned = np.zeros(width, np.bool_)
    mentioned[:fixed] = True
    for block in made.blocks():
        column, outcome = np.divmod(block.slots, 5)
        row = rows_of(block.lengths)
        require((np.diff(column) > 0) | (np.diff(row) > 0), (outcome != 0) | (column >= fixed))
        require(predicts or (outcome != 2) & (outcome != 3))
        mentioned[column] = True
        if block.scores is not None:
            cells = row * width + column
            scored_cells = rows_of(block.scores.lengths) * width + block.scores.columns
            require(np.diff(scored_cells) > 0, ~np.isin(scored_cells, cells[outcome == 4]))
            require(np.isin(scored_cells[block.scores.columns >= fixed], cells))
    require(mentioned)
    order = made.order_of_stamps()
    require(order is None or order[1:] > order[:-1])
    return Recording(labels, fixed, made)


def _small(source: Source, length: int, less: int, top: int) -> Int32Array:
    """A column of integers that are written as so much more, and are at most this."""
    column, out = source.packed(length), np.empty(length, np.int32)
    for at in range(0, length, ROWS):
        block = column[at : at + ROWS] - less
        require((block >= 0) & (block <= top), top < 2**31)
        out[at : at + ROWS] = block
    return out


def _take_scores(source: Source, examples: int, width: int) -> ExampleScores:
    """Scores of labels that the examples mention, and that are not masked."""
    lengths = _small(source, examples, 0, width)
    entries = source.count()
    columns = _small(source, entries, 0, width - 1)
    require(int(lengths.sum(dtype=np.int64)) == entries)
    size = source.byte(8)
    require(size in (4, 8))
    scores: ScoreArray = np.frombuffer(source.raw(size * entries), f"<f{size}").astype(f"f{size}")
    blocks = [scores[at : at + ROWS] for at in range(0, entries, ROWS)]
    require(size == 4 or any(narrowed(block).dtype != np.float32 for block in blocks))
    for block in blocks:
        require(np.isfinite(block), ~np.signbit(block[block == 0]))
    return ExampleScores(lengths, columns, scores)
