"""The contents of states of decisions as bytes."""

from __future__ import annotations

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.types import IntArray
from streameval.labels import Label
from streameval.states.base import COUNT_MAX
from streameval.states.content import Content
from streameval.states.exact import trailing_zeros
from streameval.states.tables import Integers
from streameval.wire.parts import (
    FINEST,
    Source,
    ascending,
    put_column,
    put_columns,
    put_integer,
    put_labels,
    require,
    varint,
)
from streameval.wire.remembered import Remembered

__all__ = ["nothing_counted", "put_content", "take_content"]


def put_content(parts: list[bytes], content: Content, least: int = 0) -> None:
    """Write a content; counts of labels take ``least`` bytes at least."""
    parts.append(varint(content.examples))
    grown = content.labels[content.fixed :]
    put_labels(parts, grown)
    put_columns(parts, content.cells, least)
    parts.append(varint(len(content.times)))
    put_columns(parts, content.keys)
    put_column(parts, content.times)
    if content.scale is None or content.cell_weights is None or content.key_weights is None:
        parts.append(b"\0")
        return
    parts += (b"\1", varint(content.scale))
    for sums in (*(values[1:] for values in content.cell_weights), content.key_weights):
        for value in sums:
            put_integer(parts, value)


def nothing_counted(declared: tuple[Label, ...]) -> Content:
    """The content of a fresh object."""
    none = np.zeros(0, np.int64)
    return Content(
        0, declared, len(declared), np.zeros((len(declared), 5), np.int64), none.reshape(0, 4), none, None, None, None
    )


def _take_labels(source: Source) -> tuple[Label, ...]:
    labels = source.labels()
    if not ascending(labels):
        raise FormatError(_DISORDER)
    return tuple(labels)


_LABELS = Remembered(_take_labels)
_DISORDER = "labels are repeated or not in order"


def take_content(source: Source, declared: tuple[Label, ...], least: int = 0) -> Content:
    """What `put_content` wrote, where these labels are declared."""
    examples = source.varint()
    grown = _LABELS.take(source)
    labels = (*declared, *grown)
    if declared and len(set(labels)) != len(labels):
        raise FormatError(_DISORDER)
    cells = source.columns(len(labels), 5, least)
    distinct = source.count()
    keys = source.columns(distinct, 4)
    times = source.column(distinct)
    require(bool(times.all()) and increasing(keys))
    scale: int | None = None
    cell_weights: list[list[int]] | None = None
    key_weights: list[int] | None = None
    if source.byte(1):
        scale = source.varint()
        cell_weights = [[0, *(source.integer() for _ in range(4))] for _ in labels]
        key_weights = [source.integer() for _ in range(distinct)]
    content = Content(examples, labels, len(declared), cells, keys, times, scale, cell_weights, key_weights)
    _check(content)
    return content


def _check(content: Content) -> None:
    """Refuse what no stream of examples can leave; above all, the two marginals must tell of the same cells."""
    examples, fixed = content.examples, content.fixed
    cells, keys, times = _addable(content.cells, content.keys, content.times)
    true, pred, both, hidden = keys.T
    mentions = cells.sum(axis=1)
    require(examples <= COUNT_MAX and times.sum() == examples)
    require(bool(((both <= true) & (both <= pred) & (true + pred - both + hidden <= len(cells))).all()))
    require(bool((mentions <= examples).all() and mentions[fixed:].all()) and not cells[:fixed, 0].any())
    require(_agree(cells.sum(axis=0).tolist(), (times @ keys).tolist()))
    if content.scale is not None and content.cell_weights is not None and content.key_weights is not None:
        _check_weights(content, content.scale, content.cell_weights, content.key_weights)


def _addable(cells: IntArray, keys: IntArray, times: IntArray) -> tuple[Integers, Integers, Integers]:
    """The same arrays, or of Python integers where what is added up of them could pass 64 bits."""
    cell, key, time = (int(array.max(initial=0)) for array in (cells, keys, times))
    if 5 * max(cell, (key + 1) * (time + 1)) * max(len(cells), len(keys)) < 2**63:
        return cells, keys, times
    return cells.astype(object), keys.astype(object), times.astype(object)


def _check_weights(content: Content, scale: int, sums: list[list[int]], key_sums: list[int]) -> None:
    """Refuse weight sums that no stream of examples can leave, or that would be written in another way."""
    rows: list[list[int]] = content.cells.tolist()
    keys: list[list[int]] = content.keys.tolist()
    require(scale <= FINEST)
    zeros = trailing_zeros(value for values in (*sums, key_sums) for value in values)
    require(scale == 0 or zeros == 0)
    plain = key_sums == content.times.tolist() and all(s[1:] == c[1:] for s, c in zip(sums, rows, strict=True))
    require(scale > 0 or not plain)
    whole = sum(key_sums)
    require(all(sum(values) <= whole for values in sums))
    require(all(c or not s for values, row in zip(sums, rows, strict=True) for s, c in zip(values, row, strict=True)))
    by_label = list(map(sum, zip(*sums, strict=True))) or [0] * 5
    by_example = [sum(key[part] * value for key, value in zip(keys, key_sums, strict=True)) for part in range(4)]
    require(_agree(by_label, by_example))


def increasing(keys: IntArray) -> bool:
    """Whether row keys are in lexicographic order and distinct."""
    base = int(keys.max(initial=0)) + 1
    places = np.array([base**3, base**2, base, 1], np.int64 if base**4 < 2**63 else object)
    numbers = keys @ places
    return bool((numbers[1:] > numbers[:-1]).all())


def _agree(by_label: list[int], by_example: list[int]) -> bool:
    """Whether true, predicted, both and masked cells are as many by label as by example."""
    _, fn, fp, tp, masked = by_label
    return by_example == [tp + fn, tp + fp, tp, masked]
