"""The contents of states of decisions as bytes."""

from __future__ import annotations

from itertools import islice, repeat

from streameval.kernel.backend import packing
from streameval.schema.labels import Label
from streameval.states.base import COUNT_MAX
from streameval.states.decisions import DecisionContent, listed
from streameval.wire.fields import LONGEST, Sink, Source, WeightForm, require
from streameval.wire.values import take_labels


def put_content(sink: Sink, content: DecisionContent, least: int = 0) -> None:
    """Write a content; counts of labels take ``least`` bytes at least."""
    sink.varint(content.examples)
    sink.labels(content.labels, content.fixed)
    sink.columns(content.cells, least)
    sink.varint(len(content.times))
    sink.columns(content.keys)
    sink.column(content.times)
    sink.weights(content.scale, content.weights())


def take_content(source: Source, declared: tuple[Label, ...], least: int = 0) -> DecisionContent:
    """The content that `put_content` wrote, which leaves out the ``declared`` labels."""
    examples, labels = source.varint(), take_labels(source, declared)
    cells = source.columns(len(labels), 5, least)
    distinct = source.count()
    keys, times = source.columns(distinct, 4), source.column(distinct)
    require(examples <= COUNT_MAX and packing.can_be(examples, len(declared), cells, keys, times))
    scale = source.scale()
    if scale is None:
        return DecisionContent(examples, labels, len(declared), None, cells, keys, times, tuple)
    size = 4 * len(labels) + distinct
    checked, weights = source.checked(lambda again: map(again.integer, repeat(LONGEST, size)), size)
    numbers, form = iter(checked), WeightForm(scale)
    fn, fp, tp, masked, heaviest = 0, 0, 0, 0, 0
    for _, *counts in listed(cells):
        sums = [*islice(numbers, 4)]
        form.add(sums, counts)
        if not all(counts):
            require(all(count or not weight for count, weight in zip(counts, sums, strict=True)))
        fn, fp, tp, masked = fn + sums[0], fp + sums[1], tp + sums[2], masked + sums[3]
        heaviest = max(heaviest, sum(sums))
    key_sums = [*numbers]
    form.add(key_sums, times.tolist())
    require(form.holds())
    require(heaviest <= sum(key_sums))
    by_example = [
        sum(key[part] * value for key, value in zip(keys.tolist(), key_sums, strict=True)) for part in range(4)
    ]
    require(by_example == [tp + fn, tp + fp, tp, masked])  # true, predicted, both and masked cells
    return DecisionContent(examples, labels, len(declared), scale, cells, keys, times, weights)
