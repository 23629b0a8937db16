"""The contents of states of label pairs as bytes.

Their labels and cells are those of the decisions, so these are not written again; nor are the weights of cells and of
all examples.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.pairs import pairing
from streameval.kernel.types import IntArray
from streameval.schema.labels import Label
from streameval.states.decisions import DecisionContent as Decided
from streameval.states.options import PARTS, PairOptions, Part
from streameval.states.pairs import PairContent, pairs_fit
from streameval.states.weights import trailing_zeros
from streameval.wire.fields import NewerFormatError, Option, Sink, Source, ascending_rows, require, require_weights

OPTIONS = (
    Option(
        96,
        "parts",
        lambda sink, chosen: sink.varint(sum((part in chosen) << place for place, part in enumerate(PARTS))),
        lambda source: _parts_of(source.varint()),
    ),
)

_KINDS = {
    "confusions": (pairing.CONFUSION,),
    "contributions": (pairing.CONTRIBUTION,),
    "cooccurrence": (pairing.TRUE_TRUE, pairing.TRUE_PRED, pairing.PRED_PRED),
    "labelsets": (),
}
_FRACTIONS = {pairing.CONFUSION: 1, pairing.CONTRIBUTION: 2}
"""How many of numerator and denominator a kind needs: the denominator, or both; in the other kinds both are 1."""


def _parts_of(bits: int) -> tuple[Part, ...]:
    if bits >> len(PARTS):
        raise NewerFormatError("a part of pairs")
    return tuple(part for place, part in enumerate(PARTS) if bits >> place & 1)


def put_pairs(sink: Sink, content: PairContent) -> None:
    """Write a content, without what it shares with the decisions."""
    for name in content.parts:
        for kind in _KINDS[name]:
            of_kind = content.pairs[:, 0] == kind
            pairs = content.pairs[of_kind]
            sink.varint(len(pairs))
            sink.columns(pairs[:, 1:3] + 1)
            sink.columns(pairs[:, 5 - _FRACTIONS.get(kind, 0) :])
            sink.column(content.times[of_kind])
    if "labelsets" in content.parts:
        sink.varint(len(content.sets))
        sink.column(np.array([len(true) for true in content.sets], np.int64))
        # One more than each, since a column of zeros takes no room, and what is read must not outgrow the bytes.
        sink.column(np.array([column + 1 for true in content.sets for column in true], np.int64))
        sink.column(np.array(content.set_times, np.int64))
    sink.weights(content.scale, (*(content.pair_weights or ()), *(content.set_weights or ())))


def take_pairs(source: Source, options: PairOptions, labels: tuple[Label, ...], decisions: Decided) -> PairContent:
    """What `put_pairs` wrote, of a state with these options and labels."""
    if labels != decisions.labels:
        raise FormatError("label pairs without labels that the decisions have")
    chosen = options.parts
    kinds = [_take_kind(source, kind) for name in chosen for kind in _KINDS[name]]
    pairs = np.concatenate([np.zeros((0, 5), np.int64), *(pairs for pairs, _ in kinds)])
    times = np.concatenate([np.zeros(0, np.int64), *(times for _, times in kinds)])
    sets, set_times = _take_sets(source) if "labelsets" in chosen else ([], [])
    examples, cells, scale = decisions.examples, decisions.cells, source.scale()
    shared = (chosen, examples, labels, decisions.fixed, cells, pairs, times, sets, set_times, scale)
    if scale is None:
        own, plain = decisions.scale, replace(decisions, scale=None)  # with weights, cells would be heavier than counts
        require(own is None or _weights_of(decisions, own) == _weights_of(plain, own))
        content = PairContent(*shared, None, None, None, None)
    else:
        heavy, whole = _weights_of(decisions, scale)
        pair_weights, set_weights = source.integers(len(times)), source.integers(len(sets))
        counts = [examples, *times.tolist(), *set_times, *(n for row in cells.tolist() for n in (0, *row[1:]))]
        require_weights(scale, [whole, *pair_weights, *set_weights, *chain.from_iterable(heavy)], counts)
        content = PairContent(*shared, heavy, pair_weights, set_weights, whole)
    if not (_in_form(content) and _agree(content)):
        raise FormatError("the label pairs contradict the decisions or each other")
    return content


def _take_kind(source: Source, kind: int) -> tuple[IntArray, IntArray]:
    length = source.count()
    pairs = np.ones((length, 5), np.int64)
    pairs[:, 0] = kind
    pairs[:, 1:3] = source.columns(length, 2) - 1
    written = _FRACTIONS.get(kind, 0)
    pairs[:, 5 - written :] = source.columns(length, written)
    return pairs, source.column(length)


def _take_sets(source: Source) -> tuple[list[tuple[int, ...]], list[int]]:
    lengths = source.column(source.count()).tolist()
    size = sum(lengths)
    require(size <= source.left())  # each label of a set takes a byte
    members = (source.column(size) - 1).tolist()
    bounds = [0, *accumulate(lengths)]
    sets = [tuple(members[start:stop]) for start, stop in pairwise(bounds)]
    return sets, source.column(len(lengths)).tolist()


def _weights_of(decisions: Decided, scale: int) -> tuple[list[list[int]], int]:
    """The weights of the cells and of all examples, in units of ``2**-scale``."""
    if decisions.scale is None or decisions.cell_weights is None or decisions.key_weights is None:
        return [[0, *(n << scale for n in row[1:])] for row in decisions.cells.tolist()], decisions.examples << scale
    up, down = max(0, scale - decisions.scale), max(0, decisions.scale - scale)
    whole = sum(decisions.key_weights)
    zeros = trailing_zeros([whole, *(value for row in decisions.cell_weights for value in row)])
    require(zeros is None or zeros >= down)
    return [[value << up >> down for value in row] for row in decisions.cell_weights], whole << up >> down


# -- whether some stream can leave it ---------------------------------------------------------------------------------


def _in_form(content: PairContent) -> bool:
    """Whether pairs and sets are distinct and in order, name labels that there are, and weights are in form."""
    kind, row, column, num, den = content.pairs.T
    width = len(content.labels)
    symmetric = (kind == pairing.TRUE_TRUE) | (kind == pairing.PRED_PRED)
    checks = [
        row < width, column < width, num >= 1, num <= den, den <= max(1, width), content.times >= 1,
        content.times <= content.examples, ~symmetric | (row < column), (kind != pairing.TRUE_PRED) | (row != column),
        (kind < pairing.TRUE_TRUE) | ((row >= 0) & (column >= 0)), (row == column) | (num == 1),
    ]  # fmt: skip
    sets = content.sets
    return (
        ascending_rows(content.pairs)
        and all(bool(check.all()) for check in checks)
        and all(before < after for before, after in pairwise(sets))
        and all(a < b for true in sets for a, b in pairwise(true))
        and all(true[0] >= 0 and true[-1] < width for true in sets if true)
        and all(content.set_times)
    )


def _agree(content: PairContent) -> bool:
    """Whether pairs and sets tell of cells that there are."""
    heavy: Any = (content.cell_weights, content.pair_weights, content.set_weights, content.weight)
    plain = (content.cells.tolist(), content.times.tolist(), content.set_times, content.examples)
    return _fit(content, *plain) and (content.scale is None or _fit(content, *heavy))


def _fit(content: PairContent, cells: list[list[int]], times: list[int], set_times: list[int], whole: int) -> bool:
    """Whether no pair occurs more often than its labels do, and sets occur as often as theirs."""
    if not pairs_fit(content.pairs.tolist(), times, [row[1:] for row in cells], whole):
        return False
    if "labelsets" not in content.parts:
        return True
    by_label = [0] * len(cells)
    for members, count in zip(content.sets, set_times, strict=True):
        for column in members:
            by_label[column] += count
    return by_label == [fn + tp for _, fn, _, tp, _ in cells] and sum(set_times) == whole
