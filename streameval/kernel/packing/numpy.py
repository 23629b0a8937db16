"""Tables of counts as bytes, and whether they can be, in numpy: what the compiled twin computes, and the fallback."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import IntArray, WordArray

CUT, OTHERWISE, BEYOND, WIDE = -1, -2, -3, -4
"""Why bytes are no columns: they end too early, the integers would be written otherwise, one passes 64 bits, or they
would take more than eight bytes each."""


def pack_columns(table: IntArray, least: int) -> bytes:
    """Columns of integers that are not negative, as bytes.

    For each column a byte that says in how many bytes each integer is written, at least ``least``; then the integers,
    the lowest byte first. The table has shape (length, columns) and any strides.
    """
    parts = []
    for column, top in zip(table.T, np.maximum.reduce(table, axis=0, initial=0).tolist(), strict=True):
        width = max(least, (top.bit_length() + 7) // 8)
        raw = np.ascontiguousarray(column, "<i8").view(np.uint8).reshape(-1, 8)[:, :width]
        parts += [bytes((width,)), raw.tobytes()]
    return b"".join(parts)


def unpack_columns(data: bytes, at: int, end: int, length: int, columns: int, least: int) -> tuple[IntArray, int]:
    """What `pack_columns` wrote at a place, before the end: the table and the place behind it; or why there is none."""
    table = np.zeros((columns, length), np.int64)
    for column in table:
        if at >= end:
            return table, CUT
        width = data[at]
        raw = data[at + 1 : at + 1 + length * width]
        at += 1 + length * width
        if width > 8:
            return table, WIDE
        if width < least:
            return table, OTHERWISE
        if at > end:
            return table, CUT
        if width > least and raw[width - 1 :: width].count(0) == length:
            return table, OTHERWISE
        if raw:
            numbers = np.zeros((length, 8), np.uint8)
            numbers[:, :width] = np.frombuffer(raw, np.uint8).reshape(length, width)
            column[:] = numbers.view("<i8")[:, 0]
        if width == 8 and column.min(initial=0) < 0:
            return table, BEYOND
    return table.T, at


def unpack_words(raw: bytes, length: int, width: int, zeros: int) -> WordArray:
    """Integers of at most 16 bytes, the lowest first, without ``zeros`` low bits, as two words, low word first."""
    out = np.zeros((length, 16), np.uint8)
    out[:, :width] = np.frombuffer(raw, np.uint8).reshape(length, width)
    return rotated(out.view("<u8").astype(np.uint64), zeros)


def rotated(words: WordArray, bits: int) -> WordArray:
    """Integers of two words whose bits are moved up by so many, below 128, and from the top to the end."""
    if bits >= 64:
        words, bits = words[:, ::-1], bits - 64
    return words << np.uint64(bits) | words[:, ::-1] >> np.uint64(64 - bits) if bits else words


def can_be(examples: int, fixed: int, cells: IntArray, keys: IntArray, times: IntArray) -> bool:
    """Whether some stream of examples has these marginals, none of them negative; both must be of the same cells.

    Of the labels, ``fixed`` come first that every example mentions. ``cells`` has shape (labels, 5) and says how often
    each label has each outcome; ``keys`` are row keys, shape (distinct, 4), which ``times`` examples have.
    """
    steps = np.diff(keys, axis=0, prepend=-1)
    rises = steps[np.arange(len(keys)), (steps != 0).argmax(axis=1)] > 0
    if not (times.all() and rises.all()):  # first: what follows takes much memory for each key
        return False
    cells, keys, times = (array.astype(object) for array in (cells, keys, times))  # what is added up could pass 64 bits
    true, pred, both, masked = keys.T
    mentions = cells.sum(axis=1)
    _, fn, fp, tp, sum_masked = cells.sum(axis=0).tolist()
    return bool(
        times.sum() == examples
        and ((both <= true) & (both <= pred) & (true + pred - both + masked <= len(cells))).all()
        and (mentions <= examples).all()
        and mentions[fixed:].all()
        and not cells[:fixed, 0].any()
        and (times @ keys).tolist() == [tp + fn, tp + fp, tp, sum_masked]
    )
