"""Slots and row keys of dense rows and of lists, and exact sums of weights, in numpy; for kernels and schema."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernel.types import FloatArray, IntArray, Lists, UInt8Array, Weighed

_LIMB, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_CACHED = 512  # rows that are converted to floats at once, so that they stay in the cache


def outcomes_of(true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None) -> UInt8Array:
    """The outcome of each cell of rows of 0 and 1."""
    outcomes = true + np.uint8(2) * pred
    return outcomes if mask is None else np.where(mask != 0, np.uint8(4), outcomes)


def dense_slots(
    true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None, columns: IntArray, fixed: int = 2**31
) -> tuple[IntArray, IntArray]:
    """The rows and slots, ascending, of cells of rows of 0 and 1, without true negatives of columns below ``fixed``."""
    outcomes = outcomes_of(true, pred, mask)
    if (np.diff(columns) < 0).any():
        order = np.argsort(columns)
        outcomes, columns = outcomes[:, order], columns[order]
    rows, places = np.nonzero((outcomes != 0) | (columns >= fixed))
    return rows, 5 * columns[places] + outcomes[rows, places]


def dense_rows(true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None, cells: IntArray) -> IntArray:
    """Count rows of 0 and 1 into ``cells``, shape (columns, 5), and return their row keys, shape (examples, 4)."""
    mask = np.zeros_like(true) if mask is None else mask
    true, pred = true & ~mask, pred & ~mask
    sides = true, pred, true & pred, mask
    in_true, in_pred, both, masked = (side.sum(axis=0, dtype=np.int64) for side in sides)
    neither = len(true) - in_true - in_pred + both - masked
    cells += np.stack([neither, in_true - both, in_pred - both, both, masked], axis=1)
    return np.stack([side.sum(axis=1, dtype=np.int64) for side in sides], axis=1)


def list_cells(
    examples: int, true: Lists | None, pred: Lists | None, mask: Lists | None, named: Lists | None
) -> tuple[IntArray, IntArray]:
    """The rows and slots of the distinct cells of lists of columns; rows ascend, and columns within a row."""
    sides = [(lists, bit) for lists, bit in ((true, 1), (pred, 2), (mask, 4), (named, 0)) if lists is not None]
    none = np.zeros(0, np.int64)
    rows = np.concatenate([none, *(np.repeat(np.arange(examples), np.diff(lists.offsets)) for lists, _ in sides)])
    columns = np.concatenate([none, *(lists.flat() for lists, _ in sides)])
    bits = np.concatenate([none, *(np.full(len(lists.places), bit) for lists, bit in sides)])
    width = int(columns.max(initial=0)) + 1
    cells = np.sort(8 * (rows * width + columns) + bits, kind="stable")  # fast on sorted runs
    starts = np.flatnonzero(np.diff(cells >> 3, prepend=-1))
    outcomes = np.minimum(np.bitwise_or.reduceat(cells & 7, starts) if len(starts) else starts, 4)
    row, column = np.divmod(cells[starts] >> 3, width)
    return row, 5 * column + outcomes


def list_rows(
    examples: int,
    true: Lists | None,
    pred: Lists | None,
    mask: Lists | None,
    named: Lists | None,
    everywhere: IntArray,
    cells: IntArray,
) -> IntArray:
    """Count lists into ``cells``, shape (columns, 5), as `Counts.count_lists` does, and return their row keys."""
    row, slots = list_cells(examples, true, pred, mask, named)
    counted = np.bincount(slots, minlength=cells.size).reshape(-1, 5)
    cells += counted
    cells[everywhere, 0] += examples - counted[everywhere].sum(axis=1)
    return _row_keys(examples, row, slots)


def _row_keys(examples: int, row: IntArray, slots: IntArray) -> IntArray:
    _, missed, wrong, hits, masked = np.bincount(5 * row + slots % 5, minlength=5 * examples).reshape(examples, 5).T
    return np.stack([missed + hits, wrong + hits, hits, masked], axis=1)


def tally(keys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct rows of ``keys`` in lexicographic order, how often each occurs, and for each row its index."""
    low = keys.min(axis=0, initial=2**62)
    spans = [max(1, span) for span in (keys.max(axis=0, initial=0) - low + 1).tolist()]
    room = math.prod(spans)
    if room > 4 * len(keys) + 65536:
        distinct, which, times = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        return distinct, times, which.reshape(-1)
    packed = np.ravel_multi_index(tuple((keys - low).T), spans)
    full = np.bincount(packed, minlength=room)
    present = np.flatnonzero(full)
    return np.stack(np.unravel_index(present, spans), axis=1) + low, full[present], (np.cumsum(full > 0) - 1)[packed]


def limbs(weights: FloatArray) -> tuple[int, FloatArray]:
    """Split weights into integer digits: ``weight = sum(digit[j] * 2**(32 * j)) / 2**scale`` exactly.

    Digits are below 2**32 and held as float64, so that sums of fewer than 2**20 of them, and matrix products with 0/1
    matrices of as many rows, are exact in any order.
    """
    fraction, exponent = np.frexp(weights)
    mantissa = (fraction * 2.0**53).astype(np.uint64)
    used, powers = mantissa != 0, exponent.astype(np.int64) - 53
    lowest, highest = (int(powers[used].min()), int(powers[used].max())) if used.any() else (0, 0)
    place, moved = np.divmod(np.where(used, powers - lowest, 0).astype(np.uint64), _LIMB)
    digits = np.zeros((len(weights), (highest - lowest) // 32 + 3), np.float64)
    low_half, high_half = (mantissa & _LOW) << moved, (mantissa >> _LIMB) << moved
    middle = (low_half >> _LIMB) + (high_half & _LOW)  # the high half: 21 bits moved by at most 31
    row, column = np.arange(len(weights)), place.astype(np.int64)
    for more, digit in enumerate((low_half & _LOW, middle & _LOW, (middle >> _LIMB) + (high_half >> _LIMB))):
        digits[row, column + more] = digit
    return -lowest, digits


def weigh_dense(true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None, weights: FloatArray) -> Weighed:
    """Sum the weights of rows of 0 and 1."""
    (scale, digits), outcomes = limbs(weights), outcomes_of(true, pred, mask)
    sums = np.zeros((5, digits.shape[1], true.shape[1]))
    for rows in (slice(start, start + _CACHED) for start in range(0, len(true), _CACHED)):
        for outcome in range(1, 5):
            sums[outcome] += digits[rows].T @ (outcomes[rows] == outcome).astype(np.float64)
    keys = dense_rows(true, pred, mask, np.zeros((true.shape[1], 5), np.int64))
    return _weighed(keys, scale, digits, sums.transpose(2, 0, 1).astype(np.int64))


def weigh_lists(
    examples: int, true: Lists | None, pred: Lists | None, mask: Lists | None, named: Lists | None, weights: FloatArray
) -> tuple[IntArray, Weighed]:
    """Sum the weights of examples passed as lists, see `Counts.count_lists`, and the columns of the cells."""
    rows, slots = list_cells(examples, true, pred, mask, named)
    absent = np.bincount(slots // 5) == 0
    (scale, digits), places = limbs(weights), slots - 5 * np.cumsum(absent)[slots // 5]
    columns = np.flatnonzero(~absent)
    sums = _sums(places, digits[rows], 5 * len(columns)).reshape(-1, 5, digits.shape[1])
    return columns, _weighed(_row_keys(examples, rows, slots), scale, digits, sums)


def _weighed(keys: IntArray, scale: int, digits: FloatArray, cells: IntArray) -> Weighed:
    """Join the sums of cells with the sums of row keys, which have one row for each example."""
    cells[:, 0] = 0
    distinct, times, inverse = tally(keys)
    return Weighed(scale, cells, distinct, _sums(inverse, digits, len(times)))


def _sums(places: IntArray, digits: FloatArray, size: int) -> IntArray:
    sums = [np.bincount(places, weights=digit, minlength=size) for digit in digits.T]
    return np.stack(sums, axis=1).astype(np.int64)
