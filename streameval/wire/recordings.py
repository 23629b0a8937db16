"""The examples that windows remember as bytes."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import IntArray, ScoreArray
from streameval.schema.labels import Label
from streameval.schema.recording import Examples, ExampleScores, Recording, narrowed
from streameval.wire.fields import Sink, Source, require, take_labels


def put_recording(sink: Sink, recording: Recording) -> None:
    """Write examples, without the declared labels."""
    sink.labels(recording.labels[recording.fixed :])
    lengths, slots, weights, stamps, scores = recording.examples
    sink.varint(len(lengths))
    # One more than each, since a column of zeros takes no room, and what is read must not outgrow the bytes.
    sink.column(lengths.astype(np.int64) + 1)
    sink.varint(len(slots))
    sink.column(slots.astype(np.int64) + 1)
    sink += (b"\0",) if weights is None else (b"\1", weights.astype("<f8").tobytes())
    if stamps is not None:
        sink.append(stamps.astype("<i8").tobytes())
    if scores is not None:
        sink.column(scores.lengths.astype(np.int64))
        sink.varint(len(scores.columns))
        sink.column(scores.columns.astype(np.int64))
        narrow = scores.scores.dtype == np.float32
        sink += (bytes((4 if narrow else 8,)), scores.scores.astype("<f4" if narrow else "<f8").tobytes())


def take_recording(
    source: Source, declared: tuple[Label, ...], *, timed: bool, scored: bool, predicts: bool
) -> Recording:
    """What `put_recording` wrote, where these labels are declared; ``predicts``: labels can be predicted."""
    labels = take_labels(source, declared)
    examples = source.count()
    lengths = source.column(examples) - 1
    places = source.count()
    slots = source.column(places) - 1
    # In this order: neither a sum nor a slot can then pass what int64 and int32 hold.
    require((lengths >= 0) & (lengths <= len(labels)), int(lengths.sum()) == places)
    require((slots >= 0) & (slots < 5 * len(labels)), len(labels) < 2**31 // 5)
    column, outcome = np.divmod(slots, 5)
    row = np.repeat(np.arange(examples), lengths)
    require((np.diff(column) > 0) | (np.diff(row) > 0), (outcome != 0) | (column >= len(declared)))
    require(len(np.unique(column[column >= len(declared)])) == len(labels) - len(declared))
    weights = np.frombuffer(source.raw(8 * examples), "<f8").astype(np.float64) if source.byte(1) else None
    if weights is not None:
        require(np.isfinite(weights) & (weights >= 0), (weights != 1).any())
    stamps = np.frombuffer(source.raw(8 * examples), "<i8").astype(np.int64) if timed else None
    require(stamps is None or stamps[1:] >= stamps[:-1], predicts or (outcome != 2) & (outcome != 3))
    scores = None
    if scored:
        cells = row * len(labels) + column
        scores = _take_scores(source, examples, len(declared), len(labels), cells, cells[outcome == 4])
    made = Examples(lengths.astype(np.int32), slots.astype(np.int32), weights, stamps, scores)
    order = made.order_of_stamps()
    require(order is None or order[1:] > order[:-1])
    return Recording(labels, len(declared), made)


def _take_scores(
    source: Source, examples: int, fixed: int, width: int, cells: IntArray, masked: IntArray
) -> ExampleScores:
    """Scores of labels that the examples mention, in these cells, and that are not masked."""
    lengths = source.column(examples)
    entries = source.count()
    columns = source.column(entries)
    require(lengths <= width, int(lengths.sum()) == entries)
    size = source.byte(8)
    require(size in (4, 8))
    scores: ScoreArray = np.frombuffer(source.raw(size * entries), f"<f{size}").astype(f"f{size}")
    require(np.isfinite(scores), ~np.signbit(scores[scores == 0]), size == 4 or narrowed(scores).dtype != np.float32)
    require(columns < width)
    scored = np.repeat(np.arange(examples), lengths) * width + columns
    require(np.diff(scored) > 0, ~np.isin(scored, masked), np.isin(scored[columns >= fixed], cells))
    return ExampleScores(lengths.astype(np.int32), columns.astype(np.int32), scores)
