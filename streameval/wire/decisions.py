"""The contents of states of decisions as bytes."""

from __future__ import annotations

from itertools import chain

from streameval.kernel.backend import packing
from streameval.schema.labels import Label
from streameval.states.base import COUNT_MAX
from streameval.states.decisions import DecisionContent
from streameval.wire.fields import Sink, Source, require, require_weights, take_labels


def put_content(sink: Sink, content: DecisionContent, least: int = 0) -> None:
    """Write a content; counts of labels take ``least`` bytes at least."""
    sink.varint(content.examples)
    sink.labels(content.labels[content.fixed :])
    sink.columns(content.cells, least)
    sink.varint(len(content.times))
    sink.columns(content.keys)
    sink.column(content.times)
    cells = (value for sums in content.cell_weights or () for value in sums[1:])
    sink.weights(content.scale, chain(cells, content.key_weights or ()))


def take_content(source: Source, declared: tuple[Label, ...], least: int = 0) -> DecisionContent:
    """What `put_content` wrote, where these labels are declared."""
    examples, labels = source.varint(), take_labels(source, declared)
    cells = source.columns(len(labels), 5, least)
    distinct = source.count()
    keys, times = source.columns(distinct, 4), source.column(distinct)
    require(examples <= COUNT_MAX and packing.can_be(examples, len(declared), cells, keys, times))
    scale = source.scale()
    if scale is None:
        return DecisionContent(examples, labels, len(declared), cells, keys, times, None, None, None)
    sums, key_sums = [[0, *source.integers(4)] for _ in labels], source.integers(distinct)
    rows: list[list[int]] = cells.tolist()
    counts = [value for row in rows for value in (0, *row[1:])] + times.tolist()
    require_weights(scale, [*chain.from_iterable(sums), *key_sums], counts)
    whole = sum(key_sums)
    require(all(sum(values) <= whole for values in sums))
    require(all(c or not s for values, row in zip(sums, rows, strict=True) for s, c in zip(values, row, strict=True)))
    _, fn, fp, tp, masked = map(sum, zip(*sums, strict=True)) if sums else [0] * 5
    by_example = [
        sum(key[part] * value for key, value in zip(keys.tolist(), key_sums, strict=True)) for part in range(4)
    ]
    require(by_example == [tp + fn, tp + fp, tp, masked])  # true, predicted, both and masked cells
    return DecisionContent(examples, labels, len(declared), cells, keys, times, scale, sums, key_sums)
