"""Tables of counts to bytes and back, and a check of their counts, for `streameval.wire`: fallback and oracle."""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import IntArray, WordArray

CUT, OTHERWISE, BEYOND, WIDE = -1, -2, -3, -4
"""Why bytes are no columns: they end too early, they are not what `pack_columns` writes, an integer passes 63 bits, or
integers have more than eight bytes."""


def pack_columns(table: IntArray, least: int) -> bytes:
    """Write columns of integers that are not negative as bytes.

    Each column is one byte with the number of bytes of each integer, at least ``least``, and then the integers, lowest
    byte first. The table has shape (length, columns) and any strides.
    """
    parts = []
    for column, top in zip(table.T, np.maximum.reduce(table, axis=0, initial=0).tolist(), strict=True):
        width = max(least, (top.bit_length() + 7) // 8)
        raw = np.ascontiguousarray(column, "<i8").view(np.uint8).reshape(-1, 8)[:, :width]
        parts += [bytes((width,)), raw.tobytes()]
    return b"".join(parts)


def unpack_columns(data: bytes, at: int, end: int, length: int, columns: int, least: int) -> tuple[IntArray, int]:
    """Read what `pack_columns` wrote between ``at`` and ``end``: the table, and the position after it or a code."""
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
    """Read integers of ``width`` bytes as two words each, low word first, moved up by ``zeros`` bits."""
    out = np.zeros((length, 16), np.uint8)
    out[:, :width] = np.frombuffer(raw, np.uint8).reshape(length, width)
    return rotated(out.view("<u8").astype(np.uint64), zeros)


def rotated(words: WordArray, bits: int) -> WordArray:
    """Rotate integers of two words upwards by ``bits``, which is below 128."""
    if bits >= 64:
        words, bits = words[:, ::-1], bits - 64
    return words << np.uint64(bits) | words[:, ::-1] >> np.uint64(64 - bits) if bits else words


def can_be(examples: int, fixed: int, cells: IntArray, keys: IntArray, times: IntArray) -> bool:
    """Whether the counts of labels and of examples agree, as counts of the same cells do; none may be negative.

    Every example mentions the first ``fixed`` labels. ``cells``, shape (labels, 5), are the counts of each label by
    outcome; ``keys``, shape (distinct, 4), are row keys, and ``times`` the numbers of examples that have them.
    """
    steps = np.diff(keys, axis=0, prepend=-1)
    rises = steps[np.arange(len(keys)), (steps != 0).argmax(axis=1)] > 0
    if not (times.all() and rises.all()):  # first, as the checks below take much memory
        return False
    cells, keys, times = (array.astype(object) for array in (cells, keys, times))  # sums could pass 64 bits
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
