"""The examples that windows remember as bytes."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import IntArray, ScoreArray
from streameval.schema.labels import Label
from streameval.schema.recording import Examples, ExampleScores, Recording, narrowed, rows_of
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
    source: Source, declared: tuple[Label, ...], *, timed: bool, scored: bool, decided: bool
) -> Recording:
    """What `put_recording` wrote, where these labels are declared; ``decided``: labels can be predicted."""
    labels = take_labels(source, declared)
    examples = source.count()
    lengths = source.column(examples) - 1
    places = source.count()
    slots = source.column(places) - 1
    # In this order: neither a sum nor a slot can then pass what int64 and int32 hold.
    require(bool(((lengths >= 0) & (lengths <= len(labels))).all()) and int(lengths.sum()) == places)
    require(bool(((slots >= 0) & (slots < 5 * len(labels))).all()) and len(labels) < 2**31 // 5)
    column, outcome = np.divmod(slots, 5)
    row = np.repeat(np.arange(examples), lengths)
    require(bool(((np.diff(column) > 0) | (np.diff(row) > 0)).all()))
    require(not ((outcome == 0) & (column < len(declared))).any())
    require(len(np.unique(column[column >= len(declared)])) == len(labels) - len(declared))
    weights = np.frombuffer(source.raw(8 * examples), "<f8").astype(np.float64) if source.byte(1) else None
    if weights is not None:
        require(bool((np.isfinite(weights) & (weights >= 0)).all() and (weights != 1).any()))
    stamps = np.frombuffer(source.raw(8 * examples), "<i8").astype(np.int64) if timed else None
    require(stamps is None or bool((stamps[1:] >= stamps[:-1]).all()))
    require(decided or not ((outcome == 2) | (outcome == 3)).any())
    scores = _take_scores(source, examples, len(labels)) if scored else None
    if scores is not None:
        _check_scores(scores, row * len(labels) + column, outcome, len(declared), len(labels))
    sizes = lengths.astype(np.int32), slots.astype(np.int32)
    return Recording(labels, len(declared), Examples(*sizes, weights, stamps, scores))


def _take_scores(source: Source, examples: int, width: int) -> ExampleScores:
    lengths = source.column(examples)
    entries = source.count()
    columns = source.column(entries)
    require(bool((lengths <= width).all()) and int(lengths.sum()) == entries)
    size = source.byte(8)
    require(size in (4, 8))
    raw = source.raw(size * entries)
    scores: ScoreArray
    scores = np.frombuffer(raw, "<f4").astype(np.float32) if size == 4 else np.frombuffer(raw, "<f8").astype(np.float64)
    require(bool(np.isfinite(scores).all()) and not np.signbit(scores[scores == 0]).any())
    require(size == 4 or narrowed(scores).dtype != np.float32)
    require(bool((columns < width).all()))
    return ExampleScores(lengths.astype(np.int32), columns.astype(np.int32), scores)


def _check_scores(scores: ExampleScores, cells: IntArray, outcome: IntArray, fixed: int, width: int) -> None:
    """Refuse scores that contradict the slots: of a hidden cell, or of a label that the example does not mention."""
    row = rows_of(scores.lengths)
    scored = row * width + scores.columns
    require(bool((np.diff(scored) > 0).all()))
    require(not np.isin(scored, cells[outcome == 4]).any())
    require(bool(np.isin(scored[scores.columns >= fixed], cells).all()))
