"""The contents of states of decisions as bytes."""

from __future__ import annotations

import numpy as np

from streameval.errors import FormatError
from streameval.kernel.types import IntArray
from streameval.labels import Label
from streameval.states.base import COUNT_MAX
from streameval.states.content import Content
from streameval.states.exact import trailing_zeros
from streameval.wire.parts import FINEST, Source, ascending, put_column, put_integer, put_labels, require, varint

__all__ = ["nothing_counted", "put_content", "take_content"]


def put_content(parts: list[bytes], content: Content, least: int = 0) -> None:
    """Write a content; counts of labels take ``least`` bytes at least."""
    parts.append(varint(content.examples))
    grown = content.labels[content.fixed :]
    put_labels(parts, grown)
    for outcome in range(5):
        put_column(parts, content.cells[:, outcome], least)
    parts.append(varint(len(content.times)))
    for part in range(4):
        put_column(parts, content.keys[:, part])
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


def take_content(source: Source, declared: tuple[Label, ...], least: int = 0) -> Content:
    """What `put_content` wrote, where these labels are declared."""
    examples = source.varint()
    grown = source.labels()
    labels = (*declared, *grown)
    if not ascending(grown) or (declared and len(set(labels)) != len(labels)):
        raise FormatError("labels are repeated or not in order")
    cells = np.empty((len(labels), 5), np.int64)
    for outcome in range(5):
        cells[:, outcome] = source.column(len(labels), least)
    distinct = source.count()
    keys = np.empty((distinct, 4), np.int64)
    for part in range(4):
        keys[:, part] = source.column(distinct)
    times = source.column(distinct)
    require(bool((times > 0).all()) and increasing(keys))
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
    examples, fixed, width = content.examples, content.fixed, len(content.labels)
    rows = content.cells.tolist()
    keys: list[tuple[int, ...]] = [tuple(key) for key in content.keys.tolist()]
    times: list[int] = content.times.tolist()
    require(examples <= COUNT_MAX and sum(times) == examples)
    require(all(both <= min(true, pred) and true + pred - both + hidden <= width for true, pred, both, hidden in keys))
    require(max(map(sum, rows), default=0) <= examples)
    require(all(row[0] == 0 for row in rows[:fixed]) and all(map(any, rows[fixed:])))
    require(_agree(rows, keys, times))
    if content.scale is None or content.cell_weights is None or content.key_weights is None:
        return
    sums, key_sums = content.cell_weights, content.key_weights
    require(content.scale <= FINEST)
    zeros = trailing_zeros(value for values in (*sums, key_sums) for value in values)
    require(content.scale == 0 or zeros == 0)
    require(content.scale > 0 or key_sums != times or any(s[1:] != c[1:] for s, c in zip(sums, rows, strict=True)))
    whole = sum(key_sums)
    require(all(sum(values) <= whole for values in sums))
    require(all(c or not s for values, row in zip(sums, rows, strict=True) for s, c in zip(values, row, strict=True)))
    require(_agree(sums, keys, key_sums))


def increasing(keys: IntArray) -> bool:
    """Whether row keys are in lexicographic order and distinct."""
    later, decided = np.zeros(max(0, len(keys) - 1), np.bool_), np.zeros(max(0, len(keys) - 1), np.bool_)
    for part in range(4):
        step = np.diff(keys[:, part])
        later |= ~decided & (step > 0)
        decided |= step != 0
    return bool(later.all())


def _agree(rows: list[list[int]], keys: list[tuple[int, ...]], times: list[int]) -> bool:
    """Whether true, predicted, both and masked cells are as many by label as by example."""
    by_label = list(map(sum, zip(*rows, strict=True))) or [0] * 5
    by_example = [sum(key[part] * count for key, count in zip(keys, times, strict=True)) for part in range(4)]
    _, fn, fp, tp, masked = by_label
    return by_example == [tp + fn, tp + fp, tp, masked]
