"""Tables of counts as bytes, and whether they can be, in numpy: what the compiled twin computes, and the fallback."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.kernel.types import IntArray

CUT, OTHERWISE, BEYOND, WIDE = -1, -2, -3, -4
"""Why bytes are no columns: they end too early, the integers would be written otherwise, one passes 64 bits, or they
would take more than eight bytes each."""

_FORMS: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<i8")}
"""What numpy reads and writes integers of so many bytes as; of others it reads and writes the bytes."""


def pack_columns(table: IntArray, least: int) -> bytes:
    """Columns of integers that are not negative, as bytes.

    Parameters
    ----------
    table
        Shape (length, columns), with any strides.
    least
        In how many bytes each integer is written at least.

    Returns
    -------
    bytes
        For each column a byte that tells how many bytes its largest integer needs, then so many of each integer, the
        lowest first.
    """
    parts = []
    tops = np.maximum.reduce(table, axis=0, initial=0).tolist()
    for column, top in zip(table.T, tops, strict=True):
        width = max(least, (top.bit_length() + 7) // 8)
        parts += [bytes((width,)), _raw(column, width) if width else b""]
    return b"".join(parts)


def _raw(column: IntArray, width: int) -> bytes:
    """The first bytes of each integer."""
    form = _FORMS.get(width)
    if form is not None:
        return column.astype(form).tobytes()
    return np.ascontiguousarray(column, "<i8").view(np.uint8).reshape(-1, 8)[:, :width].tobytes()


def unpack_columns(data: bytes, at: int, length: int, columns: int, least: int) -> tuple[IntArray, int]:
    """What `pack_columns` wrote at a place.

    Returns
    -------
    tuple
        The table, shape (length, columns), and the place behind it; or any table, and why there is none: `CUT`,
        `OTHERWISE`, `BEYOND` or `WIDE`. Memory is bounded by what is asked for, which the caller has to bound.
    """
    table = np.zeros((columns, length), np.int64)
    for column in table:
        if at >= len(data):
            return table, CUT
        width = data[at]
        raw = data[at + 1 : at + 1 + length * width]
        at += 1 + length * width
        if width > 8:
            return table, WIDE
        if width < least:
            return table, OTHERWISE
        if at > len(data):
            return table, CUT
        if width > least and raw[width - 1 :: width].count(0) == length:
            return table, OTHERWISE
        if width:
            column[:] = _integers(raw, width)
        if width == 8 and column.min(initial=0) < 0:
            return table, BEYOND
    return table.T, at


def _integers(raw: bytes, width: int) -> IntArray:
    """What `_raw` made."""
    form = _FORMS.get(width)
    if form is not None:
        return np.frombuffer(raw, form)
    padded = np.zeros((len(raw) // width, 8), np.uint8)
    padded[:, :width] = np.frombuffer(raw, np.uint8).reshape(-1, width)
    return padded.view("<i8").reshape(-1)


def can_be(examples: int, fixed: int, cells: IntArray, keys: IntArray, times: IntArray) -> bool:
    """Whether some stream of examples has these marginals; above all, both must tell of the same cells.

    Parameters
    ----------
    examples
        How many there are, below 2**63.
    fixed
        How many labels come first that every example mentions.
    cells
        How often each label has each outcome, shape (labels, 5); not negative.
    keys, times
        The row keys, shape (distinct, 4), and how many examples have each; not negative.
    """
    if not (times.all() and increasing(keys)):  # first, for what follows may take much memory for each key
        return False
    cells, keys, times = _addable(cells, keys, times)
    true, pred, both, hidden = keys.T
    mentions = cells.sum(axis=1)
    _, fn, fp, tp, masked = cells.sum(axis=0).tolist()
    return bool(
        times.sum() == examples
        and ((both <= true) & (both <= pred) & (true + pred - both + hidden <= len(cells))).all()
        and (mentions <= examples).all()
        and mentions[fixed:].all()
        and not cells[:fixed, 0].any()
        and (times @ keys).tolist() == [tp + fn, tp + fp, tp, masked]
    )


def _addable(cells: IntArray, keys: IntArray, times: IntArray) -> tuple[Any, Any, Any]:
    """The same arrays, or of Python integers where what is added up of them could pass 64 bits."""
    cell, key, time = (int(array.max(initial=0)) for array in (cells, keys, times))
    if 5 * max(cell, (key + 1) * (time + 1)) * max(len(cells), len(keys)) < 2**63:
        return cells, keys, times
    return cells.astype(object), keys.astype(object), times.astype(object)


def increasing(keys: Any) -> bool:
    """Whether row keys are in lexicographic order and distinct."""
    base = int(keys.max(initial=0)) + 1
    places = np.array([base**3, base**2, base, 1], np.int64 if base**4 < 2**63 else object)
    numbers = keys @ places
    return bool((numbers[1:] > numbers[:-1]).all())
