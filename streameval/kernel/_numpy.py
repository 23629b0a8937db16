"""What each kernel function means, in numpy.

A cell is one (example, label) pair. Its outcome indexes the five disjoint counts of a label::

    0 true negative    1 false negative    2 false positive    3 true positive    4 masked

so that ``outcome == true + 2 * predicted`` unless the truth is masked. Only cells that an example mentions are counted;
the true negatives of all other examples are derived when reading.

Row keys have four columns: labels true, labels predicted, labels in both, labels masked.
"""

from __future__ import annotations

import numpy as np

from streameval.kernel.types import FloatArray, IntArray, UInt8Array

__all__ = ["count_dense", "count_entries", "limbs", "tally", "weigh_cells", "weigh_dense", "weigh_groups"]

LIMB_BITS = 32
_EIGHT_BIT_LANES = np.uint64(0x00FF00FF00FF00FF)
_SUM_OF_16_BIT_LANES = np.uint64(0x0001000100010001)


def count_dense(true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None, cells: IntArray) -> IntArray:
    """Count a block of 0/1 rows in which every column is mentioned.

    Parameters
    ----------
    true, pred, hidden
        Shape (examples, columns), values 0 and 1. Where ``hidden`` is 1 the truth is unknown.
    cells
        Shape (columns, 5); the counts are added to it.

    Returns
    -------
    The row keys, shape (examples, 4).
    """
    examples, columns = true.shape
    keys = np.zeros((examples, 4), np.int64)
    if hidden is not None:
        known = hidden ^ np.uint8(1)
        true, pred = true & known, pred & known
        masked = _words(hidden)
        cells[:, 4] += _column_sums(masked, columns)
        keys[:, 3] = _row_sums(masked)
    true_words, pred_words = _words(true), _words(pred)
    both_words = true_words & pred_words
    in_true = _column_sums(true_words, columns)
    in_pred = _column_sums(pred_words, columns)
    in_both = _column_sums(both_words, columns)
    cells[:, 3] += in_both
    cells[:, 2] += in_pred - in_both
    cells[:, 1] += in_true - in_both
    cells[:, 0] += examples - in_true - in_pred + in_both
    if hidden is not None:
        cells[:, 0] -= _column_sums(masked, columns)
    keys[:, 0] = _row_sums(true_words)
    keys[:, 1] = _row_sums(pred_words)
    keys[:, 2] = _row_sums(both_words)
    return keys


def _words(bits: UInt8Array) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """The same bytes, eight to a word, the last word of a row filled with zeros."""
    examples, columns = bits.shape
    if columns % 8 == 0 and bits.flags.c_contiguous:
        return bits.view(np.uint64).reshape(examples, columns // 8)
    padded = np.zeros((examples, -(-columns // 8) * 8), np.uint8)
    padded[:, :columns] = bits
    return padded.view(np.uint64)


def _column_sums(words: np.ndarray[tuple[int, int], np.dtype[np.uint64]], columns: int) -> IntArray:
    """Sum the bytes of each column: eight columns in one addition, at most 255 rows before a byte could overflow."""
    total = np.zeros(words.shape[1] * 8, np.int64)
    for start in range(0, len(words), 255):
        total += np.add.reduce(words[start : start + 255], axis=0).view(np.uint8)
    return total[:columns]


def _row_sums(words: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> IntArray:
    """Sum the bytes of each row: at most 255 words before a byte could overflow, then the eight bytes of a word."""
    total = np.zeros(len(words), np.int64)
    for start in range(0, words.shape[1], 255):
        lanes = words[:, start].copy()
        for column in range(start + 1, min(start + 255, words.shape[1])):
            lanes += words[:, column]
        pairs = (lanes & _EIGHT_BIT_LANES) + ((lanes >> np.uint64(8)) & _EIGHT_BIT_LANES)
        total += ((pairs * _SUM_OF_16_BIT_LANES) >> np.uint64(48)).view(np.int64)
    return total


def count_entries(
    examples: int, rows: IntArray, columns: IntArray, bits: UInt8Array, everywhere: IntArray, cells: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Count mentioned cells given one by one, in any order, with repeats.

    Parameters
    ----------
    examples
        How many there are; rows run from 0 to one less.
    rows, columns, bits
        One entry each: bits 1 for true, 2 for predicted, 4 for masked, 0 for mentioned only. The bits of repeated
        entries of one cell are combined.
    everywhere
        Columns that every example mentions, without repeats.
    cells
        Shape (columns, 5); the counts are added to it.

    Returns
    -------
    The row keys, shape (examples, 4); then the row and the slot (5 * column + outcome) of each distinct cell.
    """
    width = len(cells)
    cell = rows * width + columns
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    first = np.ones(len(cell), np.bool_)
    np.not_equal(cell[1:], cell[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    outcome = np.bitwise_or.reduceat(bits[order], starts) if len(starts) else np.zeros(0, np.uint8)
    outcome = np.minimum(outcome, 4)
    row, column = np.divmod(cell[starts], max(width, 1))
    slots = 5 * column + outcome
    counted = np.bincount(slots, minlength=5 * width).reshape(width, 5)
    cells += counted
    cells[everywhere, 0] += examples - counted[everywhere].sum(axis=1)
    keys = np.zeros((examples, 4), np.int64)
    by_row = np.bincount(5 * row + outcome, minlength=5 * examples).reshape(examples, 5)
    keys[:, 0] = by_row[:, 1] + by_row[:, 3]
    keys[:, 1] = by_row[:, 2] + by_row[:, 3]
    keys[:, 2] = by_row[:, 3]
    keys[:, 3] = by_row[:, 4]
    return keys, row, slots


def tally(keys: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct rows of ``keys`` in lexicographic order, how often each occurs, and which one each row is."""
    if not len(keys):
        return keys, np.zeros(0, np.int64), np.zeros(0, np.int64)
    spans = [int(top) + 1 for top in keys.max(axis=0)]
    # Packing four columns into one integer keeps the sort on a single key; spans are small in practice.
    if spans[0] * spans[1] * spans[2] * spans[3] >= 2**62:
        distinct, inverse, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        return distinct, counts, inverse.reshape(-1)
    packed = ((keys[:, 0] * spans[1] + keys[:, 1]) * spans[2] + keys[:, 2]) * spans[3] + keys[:, 3]
    if spans[0] * spans[1] * spans[2] * spans[3] <= 4 * len(keys) + 65536:
        full = np.bincount(packed)
        present = np.flatnonzero(full)
        counts = full[present]
        rank = np.zeros(len(full), np.int64)
        rank[present] = np.arange(len(present))
        inverse = rank[packed]
    else:
        order = np.argsort(packed, kind="stable")
        ordered = packed[order]
        first = np.ones(len(ordered), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        present = ordered[starts]
        counts = np.diff(starts, append=len(ordered))
        inverse = np.empty(len(keys), np.int64)
        inverse[order] = np.cumsum(first) - 1
    distinct = np.empty((len(present), 4), np.int64)
    rest = present
    for column in (3, 2, 1):
        rest, distinct[:, column] = np.divmod(rest, spans[column])
    distinct[:, 0] = rest
    return distinct, counts, inverse


def limbs(weights: FloatArray) -> tuple[int, FloatArray]:
    """Split weights into integer digits: ``weight = sum(digit[j] * 2**(32 * j)) / 2**scale`` exactly.

    Digits are below 2**32 and held as float64, so that sums of fewer than 2**20 of them, and matrix products with 0/1
    matrices of as many rows, are exact in any order.
    """
    fraction, exponent = np.frexp(weights)
    mantissa = (fraction * 2.0**53).astype(np.uint64)
    used = mantissa != 0
    exponent = np.where(used, exponent.astype(np.int64) - 53, 0)
    lowest = int(exponent[used].min()) if used.any() else 0
    highest = int(exponent[used].max()) if used.any() else 0
    shift = np.where(used, exponent - lowest, 0)
    place, offset = np.divmod(shift, LIMB_BITS)
    digits = np.zeros((len(weights), (highest - lowest) // LIMB_BITS + 3), np.float64)
    row = np.arange(len(weights))
    low_half = (mantissa & np.uint64(0xFFFFFFFF)) << offset.astype(np.uint64)
    high_half = (mantissa >> np.uint64(32)) << offset.astype(np.uint64)  # 21 bits moved by at most 31
    middle = (low_half >> np.uint64(32)) + (high_half & np.uint64(0xFFFFFFFF))
    digits[row, place] = low_half & np.uint64(0xFFFFFFFF)
    digits[row, place + 1] = middle & np.uint64(0xFFFFFFFF)
    digits[row, place + 2] = (middle >> np.uint64(32)) + (high_half >> np.uint64(32))
    return -lowest, digits


def weigh_dense(true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None, digits: FloatArray) -> FloatArray:
    """Sum the weight digits of each outcome of each column: shape (columns, 5, digits). True negatives stay 0."""
    if hidden is not None:
        known = hidden ^ np.uint8(1)
        true, pred = true & known, pred & known
    total = np.zeros((true.shape[1], 5, digits.shape[1]), np.float64)
    total[:, 3] = (true & pred).T.astype(np.float64) @ digits
    total[:, 2] = pred.T.astype(np.float64) @ digits - total[:, 3]
    total[:, 1] = true.T.astype(np.float64) @ digits - total[:, 3]
    if hidden is not None:
        total[:, 4] = hidden.T.astype(np.float64) @ digits
    return total


def weigh_cells(slots: IntArray, rows: IntArray, digits: FloatArray, width: int) -> FloatArray:
    """Sum the weight digits of the cells from `count_entries`: shape (columns, 5, digits). True negatives stay 0."""
    total = np.zeros((width, 5, digits.shape[1]), np.float64)
    for place in range(digits.shape[1]):
        total[:, :, place] = np.bincount(slots, weights=digits[rows, place], minlength=5 * width).reshape(width, 5)
    total[:, 0] = 0.0
    return total


def weigh_groups(inverse: IntArray, digits: FloatArray, groups: int) -> FloatArray:
    """Sum the weight digits of the examples of each group: shape (groups, digits)."""
    total = np.zeros((groups, digits.shape[1]), np.float64)
    for place in range(digits.shape[1]):
        total[:, place] = np.bincount(inverse, weights=digits[:, place], minlength=groups)
    return total
