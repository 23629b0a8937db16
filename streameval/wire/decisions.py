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
    grown = content.labels[content.fixed :]
    sink.labels(grown)
    sink.columns(content.cells, least)
    sink.varint(len(content.times))
    sink.columns(content.keys)
    sink.column(content.times)
    cells = (value for sums in content.cell_weights or () for value in sums[1:])
    sink.weights(content.scale, chain(cells, content.key_weights or ()))


def take_content(source: Source, declared: tuple[Label, ...], least: int = 0) -> DecisionContent:
    """What `put_content` wrote, where these labels are declared."""
    examples = source.varint()
    labels = take_labels(source, declared)
    cells = source.columns(len(labels), 5, least)
    distinct = source.count()
    keys = source.columns(distinct, 4)
    times = source.column(distinct)
    scale = source.scale()
    cell_weights = None if scale is None else [[0, *source.integers(4)] for _ in labels]
    key_weights = None if scale is None else source.integers(distinct)
    content = DecisionContent(examples, labels, len(declared), cells, keys, times, scale, cell_weights, key_weights)
    _check(content)
    return content


def _check(content: DecisionContent) -> None:
    """Refuse what no stream of examples can leave; above all, the two marginals must tell of the same cells."""
    require(content.examples <= COUNT_MAX)
    require(packing.can_be(content.examples, content.fixed, content.cells, content.keys, content.times))
    if content.scale is not None and content.cell_weights is not None and content.key_weights is not None:
        _check_weights(content, content.scale, content.cell_weights, content.key_weights)


def _check_weights(content: DecisionContent, scale: int, sums: list[list[int]], key_sums: list[int]) -> None:
    """Refuse weight sums that no stream of examples can leave, or that would be written in another way."""
    rows: list[list[int]] = content.cells.tolist()
    keys: list[list[int]] = content.keys.tolist()
    counts = [value for row in rows for value in (0, *row[1:])] + content.times.tolist()
    require_weights(scale, [*chain.from_iterable(sums), *key_sums], counts)
    whole = sum(key_sums)
    require(all(sum(values) <= whole for values in sums))
    require(all(c or not s for values, row in zip(sums, rows, strict=True) for s, c in zip(values, row, strict=True)))
    by_label = list(map(sum, zip(*sums, strict=True))) or [0] * 5
    by_example = [sum(key[part] * value for key, value in zip(keys, key_sums, strict=True)) for part in range(4)]
    _, fn, fp, tp, masked = by_label
    require(by_example == [tp + fn, tp + fp, tp, masked])  # true, predicted, both and masked cells
