"""The contents of states of label pairs as bytes, without the labels, cells and weights that the decisions have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, islice, pairwise
from typing import Any

import numpy as np

from streameval.kernel.pairs import pairing
from streameval.kernel.types import IntArray, Integers
from streameval.schema.labels import Label
from streameval.states.decisions import DecisionContent as Decided, listed
from streameval.states.options import PARTS, PairOptions, Part
from streameval.states.pairs import PairBlock, PairContent, SetBlock, pairs_fit
from streameval.states.weights import trailing_zeros
from streameval.wire.blocks import ROWS
from streameval.wire.fields import Option, Sink, Source, WeightForm, ascending_rows, newer, require

_KINDS = {
    "confusions": (pairing.CONFUSION,),
    "contributions": (pairing.CONTRIBUTION,),
    "cooccurrence": (pairing.TRUE_TRUE, pairing.TRUE_PRED, pairing.PRED_PRED),
    "labelsets": (),
}
_FRACTIONS = {pairing.CONFUSION: 1, pairing.CONTRIBUTION: 2}
"""How many columns the fractions of a kind need: 1 the denominator, 2 the numerator as well; otherwise both are 1."""
_BITS: dict[Part, int] = {part: 1 << place for place, part in enumerate(PARTS)}


def _take_parts(source: Source) -> tuple[Part, ...]:
    if (bits := source.varint()) >> len(PARTS):
        raise newer("a part of pairs")
    return tuple(part for part, bit in _BITS.items() if bits & bit)


OPTIONS = (Option(96, "parts", lambda sink, parts: sink.varint(sum(map(_BITS.__getitem__, parts))), _take_parts),)


def put_pairs(sink: Sink, content: PairContent) -> None:
    kinds = [kind for name in content.parts for kind in _KINDS[name]]
    for kind in kinds:
        sink.blocks(partial(_columns_of, content.pairs[kind](), kind), 3 + _FRACTIONS.get(kind, 0))
    if "labelsets" in content.parts:
        sink.blocks(partial(_columns_of_sets, content.sets()), 3, stored=(0, 2))
    blocks = chain(chain.from_iterable(content.pairs[kind]() for kind in kinds), content.sets())
    sink.weights(content.scale, chain.from_iterable(weights for *_, weights in blocks))


def _columns_of(blocks: Iterable[PairBlock], kind: int) -> Iterator[tuple[IntArray, ...]]:
    for keys, times, _ in blocks:
        yield *(keys[:, 1:3] + 1).T, *keys[:, 5 - _FRACTIONS.get(kind, 0) :].T, times


def _columns_of_sets(blocks: Iterable[SetBlock]) -> Iterator[tuple[IntArray, ...]]:
    for sets, times, _ in blocks:
        # Plus 1, because zeros would take no bytes, and then a few bytes could claim any amount of memory.
        members = np.array(list(chain.from_iterable(sets)), np.int64) + 1
        yield np.array(list(map(len, sets)), np.int64), members, np.array(times, np.int64)


def take_pairs(source: Source, options: PairOptions, labels: tuple[Label, ...], decisions: Decided) -> PairContent:
    """The content that `put_pairs` wrote for these options and labels; pairs and sets are decoded at every use."""
    require(labels == decisions.labels)
    chosen, examples = options.parts, decisions.examples
    kinds = {kind: _Kind(source, kind) for name in chosen for kind in _KINDS[name]}
    written = _Sets(source) if "labelsets" in chosen else None
    scale = source.scale()
    cells: tuple[Any, Any] = decisions.cells, None
    whole, form = 0, WeightForm(scale or 0)
    if scale is None:
        own, plain = decisions.scale, replace(decisions, scale=None)  # then each cell must weigh its count
        require(own is None or _weights_of(decisions, own) == _weights_of(plain, own))
    else:
        weights, whole = _weights_of(decisions, scale)
        cells = decisions.cells, np.array(weights, object).reshape(-1, 5)
        form.add(
            [whole, *chain.from_iterable(weights)], [examples, *(n for row in cells[0].tolist() for n in (0, *row[1:]))]
        )
    pairs = dict[int, Callable[[], Iterable[PairBlock]]]()
    sets: Callable[[], Iterable[SetBlock]] = tuple
    for kind, of_kind in kinds.items():
        checked, pairs[kind] = source.checked(partial(of_kind.blocks, scale=scale), len(of_kind.times))
        _check_pairs(checked, kind, cells, (examples, whole), form)
    if written:
        of_sets, sets = source.checked(partial(written.blocks, scale=scale), written.size)
        _check_sets(of_sets, cells, (examples, whole), form)
    if scale is not None:
        require(form.holds())
    length = sum(len(of_kind.times) for of_kind in kinds.values())
    return PairContent(examples, labels, decisions.fixed, scale, chosen, whole, pairs, sets, length)


class _Kind:
    def __init__(self, source: Source, kind: int) -> None:
        length, self._kind, self._written = source.count(), kind, _FRACTIONS.get(kind, 0)
        self._columns = [source.packed(length) for _ in range(2 + self._written)]
        self.times = source.packed(length)

    def blocks(self, source: Source, scale: int | None) -> Iterator[PairBlock]:
        """All pairs. With a scale, ``source`` must be at their weights."""
        for at in range(0, len(self.times), ROWS):
            times = self.times[at : at + ROWS]
            keys = np.ones((len(times), 5), np.int64)
            keys[:, 0] = self._kind
            for place, column in zip((1, 2, *range(5 - self._written, 5)), self._columns, strict=True):
                keys[:, place] = column[at : at + ROWS]
            keys[:, 1:3] -= 1
            yield keys, times, () if scale is None else source.integers(len(times))


class _Sets:
    def __init__(self, source: Source) -> None:
        self.size = source.count()
        self._lengths = source.packed(self.size)
        size = sum(listed(self._lengths))
        require(size <= source.left())  # each label of a set takes a byte
        self._members, self._times = source.packed(size), source.packed(len(self._lengths))

    def blocks(self, source: Source, scale: int | None) -> Iterator[SetBlock]:
        """All sets. With a scale, ``source`` must be at their weights."""
        end = 0
        for at in range(0, len(self._lengths), ROWS):
            bounds = list(accumulate(self._lengths[at : at + ROWS].tolist(), initial=0))
            start, end = end, end + bounds[-1]
            members = (self._members[start:end] - 1).tolist()
            times = self._times[at : at + ROWS].tolist()
            sets = [tuple(members[first:stop]) for first, stop in pairwise(bounds)]
            yield sets, times, () if scale is None else source.integers(len(times))


def _weights_of(decisions: Decided, scale: int) -> tuple[list[list[int]], int]:
    """The weights of the cells and of all examples, in units of ``2**-scale``."""
    if decisions.scale is None:
        return [[0, *(n << scale for n in row[1:])] for row in decisions.cells.tolist()], decisions.examples << scale
    up, down = max(0, scale - decisions.scale), max(0, decisions.scale - scale)
    weights = iter(decisions.weights())
    rows = [[0, *islice(weights, 4)] for _ in decisions.labels]
    whole = sum(weights)
    zeros = trailing_zeros([whole, *chain.from_iterable(rows)])
    require(zeros is None or zeros >= down)
    return [[value << up >> down for value in row] for row in rows], whole << up >> down


# -- whether a stream can have produced the content -------------------------------------------------------------------


def _check_pairs(
    blocks: Iterable[PairBlock],
    kind: int,
    cells: tuple[IntArray, Integers | None],
    whole: tuple[int, int],
    form: WeightForm,
) -> None:
    """Refuse pairs that are not sorted and distinct, or that exceed their cells in counts or in weights, if any."""
    width, examples = len(cells[0]), whole[0]
    safe = examples < 2**62 // (ROWS + 1)
    keys, before = np.zeros((0, 5), np.int64), [0, 0]
    for block, times, weights in blocks:
        row, column, num, den = block[:, 1:].T
        checks = [
            row < width, column < width, num >= 1, num <= den, den <= max(1, width), times >= 1, times <= examples,
            (kind not in (pairing.TRUE_TRUE, pairing.PRED_PRED)) | (row < column),
            (kind != pairing.TRUE_PRED) | (row != column), (kind < pairing.TRUE_TRUE) | ((row >= 0) & (column >= 0)),
            (row == column) | (num == 1),
        ]  # fmt: skip
        keys = np.concatenate([keys[-1:], block])  # with the last pair before, whose sums are in ``before``
        require(*checks, ascending_rows(keys))
        same = np.cumsum((np.diff(keys[::-1, 1:3], axis=0) != 0).any(axis=1)) == 0  # labels are those of the last
        sums: list[Any] = [times if safe else times.astype(object)]
        if cells[1] is not None:
            form.add(weights, times.tolist())
            sums.append(np.array(weights, object))
        for which, part in enumerate(sums):
            part = np.concatenate([np.array([before[which]], part.dtype), part])[-len(keys) :]
            require(pairs_fit(keys, part, cells[which], whole[which]))  # type: ignore[arg-type]
            before[which] = int(part[-1] + part[:-1][same[::-1]].sum())


def _check_sets(
    blocks: Iterable[SetBlock], cells: tuple[IntArray, Integers | None], whole: tuple[int, int], form: WeightForm
) -> None:
    """Refuse label sets that are not sorted and distinct, or do not add up to the counts of their labels."""
    width, before = len(cells[0]), tuple[tuple[int, ...], ...]()
    by_label, totals = [[0] * width, [0] * width], [0, 0]
    for sets, times, weights in blocks:
        require(all(one < other for one, other in pairwise([*before, *sets])), all(times))
        require(all(a < b for true in sets for a, b in pairwise(true)))
        require(all(true[0] >= 0 and true[-1] < width for true in sets if true))
        before = tuple(sets[-1:])
        if cells[1] is not None:
            form.add(weights, times)
        for of_label, part, which in zip(by_label, (times, weights), range(2), strict=True):
            totals[which] += sum(part)
            for true, count in zip(sets, part, strict=False):
                for column in true:
                    of_label[column] += count
    for which, held in enumerate(cells):
        if held is not None:
            require(by_label[which] == [fn + tp for _, fn, _, tp, _ in held.tolist()], totals[which] == whole[which])
