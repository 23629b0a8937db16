"""What each kernel function means, in numpy and plain Python: the fallback where nothing was compiled, and the oracle.

A cell is one (example, label) pair. Its outcome indexes the five disjoint counts of a label::

    0 true negative    1 false negative    2 false positive    3 true positive    4 masked

so that ``outcome == true + 2 * predicted`` unless the truth is masked. Only cells that an example mentions are counted;
the true negatives of all other examples are derived when reading. Slot ``5 * column + outcome`` is where a cell counts.

Row keys have four columns: labels true, labels predicted, labels in both, labels masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from streameval.kernel.lists.numpy import grouped, taken
from streameval.kernel.types import (
    DONE,
    FULL,
    OTHER,
    REFUSED,
    Flags,
    FloatArray,
    IntArray,
    Lists,
    Places,
    RowKey,
    ScoreArray,
    UInt8Array,
    Weighed,
)

__all__ = ["Counts", "count_groups", "limbs", "list_rows", "weigh_dense", "weigh_lists"]

LIMB_BITS = 32
_COUNT_MAX = 2**63 - 1
_EIGHT_BIT_LANES = np.uint64(0x00FF00FF00FF00FF)
_SUM_OF_16_BIT_LANES = np.uint64(0x0001000100010001)
_ALLOWED = b"\0\1"


class _Plan(NamedTuple):
    """New values of everything that changes. Applying it twice is harmless."""

    examples: int
    slots: IntArray
    counts: IntArray
    histogram: dict[RowKey, int]


class Counts:
    """Five counts per column, how many examples had each row key, and how many examples there were.

    Every change is planned first, then stored behind one reference, then applied; whatever interrupts an application,
    the next access completes it. Methods that can decline return ``DONE``, ``OTHER`` (the form is for others to read),
    ``REFUSED`` (it would take back what was never counted) or ``FULL`` (2**63 - 1 examples), and have then changed
    nothing. The ``count_*`` methods of many examples are only used on counts that are thrown away if they fail.
    """

    __slots__ = ("_examples", "_flat", "_histogram", "_last", "_plan")

    def __init__(self, width: int) -> None:
        self._examples = 0
        self._flat: IntArray = np.zeros(5 * max(8, width), np.int64)
        self._histogram: dict[RowKey, int] = {}
        self._plan: _Plan | None = None
        self._last: tuple[tuple[object, ...], IntArray] = ((), np.zeros(0, np.int64))

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        self._complete()
        return self._examples

    def reserve(self, width: int) -> None:
        """Make room for columns; what is counted stays the same."""
        if 5 * width > len(self._flat):
            self._complete()
            flat = np.zeros(max(5 * width, 2 * len(self._flat)), np.int64)
            flat[: len(self._flat)] = self._flat
            self._flat = flat

    def forget_columns(self) -> None:
        """Forget remembered columns of labels, since some labels have lost theirs."""
        self._last = ((), np.zeros(0, np.int64))

    # -- one example ---------------------------------------------------------------------------------------------------

    def count_example(
        self,
        columns: Mapping[Any, int],
        fixed: int,
        y_true: object,
        y_pred: object,
        threshold: float | None,
        sign: int,
    ) -> int:
        """Count one example, or take it back with sign -1, if its form is common and all its labels are known.

        ``columns`` maps plain labels to columns, of which the first ``fixed`` belong to declared labels. With a
        ``threshold``, numbers in ``y_pred`` are scores. Here only mappings with the same string labels and values 0
        and 1 are read; the compiled twin reads more forms.
        """
        if type(y_true) is not dict or type(y_pred) is not dict:
            return OTHER
        labels = tuple(y_true)
        if tuple(y_pred) == labels:
            guesses = list(y_pred.values())
        elif y_pred.keys() == y_true.keys():
            guesses = [y_pred[label] for label in labels]
        else:
            return OTHER
        if threshold is not None or not {*map(type, y_true.values()), *map(type, guesses)} <= {bool, int}:
            return OTHER
        try:
            true, pred = bytes(y_true.values()), bytes(guesses)
        except ValueError:
            return OTHER
        if true.translate(None, _ALLOWED) or pred.translate(None, _ALLOWED):
            return OTHER
        first = self._first_slots(columns, labels)
        if first is None:
            return OTHER
        # Outcomes of all labels at once, as the digits of two integers in base 256.
        digits = int.from_bytes(true, "little") + 2 * int.from_bytes(pred, "little")
        outcomes = digits.to_bytes(len(labels), "little")
        hits = outcomes.count(3)
        key = (hits + outcomes.count(1), hits + outcomes.count(2), hits, 0)
        offsets = np.frombuffer(outcomes, np.uint8)
        slots = first + offsets
        if fixed:
            slots = slots[(offsets != 0) | (first >= 5 * fixed)]
        self.reserve(len(columns))
        return self.count_slots(slots, key, fixed, sign)

    def count_examples(
        self,
        columns: Mapping[Any, int],
        fixed: int,
        y_true: list[object],
        y_pred: list[object],
        threshold: float | None,
    ) -> int:
        """Count examples, as many on either side, if all are as `count_example` demands."""
        counted = Counts(len(columns))
        for true, pred in zip(y_true, y_pred, strict=True):
            code = counted.count_example(columns, fixed, true, pred, threshold, 1)
            if code != DONE:
                return code
        return self.merge(counted, None)

    def place_example(
        self,
        columns: Mapping[Any, int],  # noqa: ARG002
        fixed: int,  # noqa: ARG002
        y_true: object,  # noqa: ARG002
        y_pred: object,  # noqa: ARG002
        threshold: float | None,  # noqa: ARG002
    ) -> tuple[IntArray, RowKey] | None:
        """Slots and row key of what `count_example` counts, or None; here always, since nothing would be gained."""
        return None

    def _first_slots(self, columns: Mapping[Any, int], labels: tuple[object, ...]) -> IntArray | None:
        """Where the five counts of each label start; remembered, since a stream names the same labels again."""
        if set(map(type, labels)) != {str}:  # before comparing: what is not plain may equal anything
            return None
        known, slots = self._last
        if known == labels:
            return slots
        found = [columns.get(label) for label in labels]
        if None in found:
            return None
        slots = 5 * np.array(found, np.int64)
        self._last = (labels, slots)
        return slots

    def count_slots(self, slots: IntArray, key: RowKey, fixed: int, sign: int) -> int:
        """Count one example whose cells are already placed, or take it back with sign -1."""
        self._complete()
        examples = self._examples + sign
        if examples > _COUNT_MAX:
            return FULL
        counts = self._flat[slots] + sign
        histogram = {key: self._histogram.get(key, 0) + sign}
        if sign < 0 and self._impossible(examples, slots, counts, histogram, fixed):
            return REFUSED
        self._apply(_Plan(examples, slots, counts, histogram))
        return DONE

    # -- many examples -------------------------------------------------------------------------------------------------

    def count_dense(
        self, columns: IntArray, fixed: int, true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None
    ) -> int:
        """Count rows in which every column is mentioned; where ``hidden`` is 1 the truth is unknown.

        Returns the union of all bytes: the counts are only good if it is at most 1.
        """
        seen = int(np.bitwise_or.reduce(true, axis=None) | np.bitwise_or.reduce(pred, axis=None)) if true.size else 0
        if hidden is not None and hidden.size:
            seen |= int(np.bitwise_or.reduce(hidden, axis=None))
        if seen <= 1:
            cells = np.zeros((len(columns), 5), np.int64)
            self._add(columns, fixed, cells, dense_rows(true, pred, hidden, cells))
        return seen

    def count_scores(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        bounds: ScoreArray,
        hidden: UInt8Array | None,
    ) -> tuple[int, bool]:
        """The same where a score at or above the bound of its column is a prediction; also whether all are finite."""
        decided = np.greater_equal(scores, bounds).view(np.uint8)
        return self.count_dense(columns, fixed, true, decided, hidden), bool(np.isfinite(scores).all())

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Lists | None,
        pred: Lists | None,
        hidden: Lists | None,
        named: Lists | None,
        everywhere: IntArray,
    ) -> None:
        """Count examples given as lists of columns: true, predicted, masked, otherwise mentioned. Repeats count once.

        ``everywhere`` holds columns that every example mentions, without repeats.
        """
        width = len(self._flat) // 5
        cells = np.zeros((width, 5), np.int64)
        keys, _, _ = list_rows(examples, true, pred, hidden, named, everywhere, cells)
        self._add(np.arange(width), fixed, cells, keys)

    def _add(self, columns: IntArray, fixed: int, cells: IntArray, keys: IntArray) -> None:
        """Add counts of columns, of which declared ones derive their true negatives, and row keys."""
        cells[columns < fixed, 0] = 0
        distinct, times, _ = tally(keys)
        row_keys: list[RowKey] = list(zip(*distinct.T.tolist(), strict=True))
        self._change(len(keys), columns, cells, zip(row_keys, times.tolist(), strict=True))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def merge(self, other: Counts, columns: IntArray | None, fixed: int = 0) -> int:
        """Add the other's counts; ``columns`` says where its columns are here (None: the same).

        The first ``fixed`` columns here belong to declared labels, whose true negatives are derived.
        """
        other._complete()
        width = len(other._flat) // 5 if columns is None else len(columns)
        self.reserve(width if columns is None else 0)
        cells = other._flat[: 5 * width].reshape(-1, 5)
        used = np.flatnonzero(cells.any(axis=1))
        places = used if columns is None else columns[used]
        added = cells[used]
        added[places < fixed, 0] = 0
        histogram = [(key, times) for key, times in other._histogram.items() if times]
        return self._change(other._examples, places, added, histogram)

    def _change(self, examples: int, columns: IntArray, cells: IntArray, keys: Iterable[tuple[RowKey, int]]) -> int:
        self._complete()
        total = self._examples + examples
        if total > _COUNT_MAX:
            return FULL
        slots = (5 * columns[:, None] + np.arange(5)).reshape(-1)
        counts = self._flat[slots] + cells.reshape(-1)
        histogram = {key: self._histogram.get(key, 0) + times for key, times in keys}
        self._apply(_Plan(total, slots, counts, histogram))
        return DONE

    def _impossible(
        self, examples: int, slots: IntArray, counts: IntArray, histogram: dict[RowKey, int], fixed: int
    ) -> bool:
        """Whether no stream of examples leaves such counts."""
        if examples < 0 or (counts < 0).any() or min(histogram.values(), default=0) < 0:
            return True
        touched = slots // 5
        said = np.add.reduce(self._flat.reshape(-1, 5), axis=1)
        said[touched] -= 1
        if int(said.max(initial=0)) > examples:
            return True
        if not (said[touched[touched >= fixed]] == 0).any():
            return False
        # A label has gone: no example may have more labels than are left.
        present = fixed + int(np.count_nonzero(said[fixed:]))
        keys = (key for key, times in {**self._histogram, **histogram}.items() if times)
        return any(true + pred - both + masked > present for true, pred, both, masked in keys)

    def _apply(self, plan: _Plan) -> None:
        self._plan = plan
        self._complete()

    def _complete(self) -> None:
        plan = self._plan
        if plan is not None:
            self._flat[plan.slots] = plan.counts
            self._histogram.update(plan.histogram)
            self._examples = plan.examples
            self._plan = None

    def cells(self, width: int) -> IntArray:
        """A copy of the counts of the first columns, shape (width, 5)."""
        self._complete()
        self.reserve(width)
        return self._flat[: 5 * width].reshape(-1, 5).copy()

    def outcomes(self, columns: IntArray) -> IntArray:
        """The counts of some columns, shape (5, columns)."""
        self._complete()
        return np.ascontiguousarray(self._flat.reshape(-1, 5).take(columns, axis=0).T)

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        return np.asarray(self.cells(width).any(axis=1))

    def at(self, slots: IntArray) -> IntArray:
        """The counts in some slots."""
        self._complete()
        return self._flat[slots]

    def times(self, key: RowKey) -> int:
        """How many examples had a row key."""
        self._complete()
        return self._histogram.get(key, 0)

    def row_keys(self) -> tuple[IntArray, IntArray]:
        """The row keys that occur, in any order, shape (distinct, 4), and how many examples had each."""
        self._complete()
        present = [(key, times) for key, times in self._histogram.items() if times]
        keys = np.array([key for key, _ in present], np.int64).reshape(-1, 4)
        return keys, np.array([times for _, times in present], np.int64)

    def held(self) -> int:
        """How many row keys take room, also those of which no example is left."""
        return len(self._histogram)

    def compact(self) -> None:
        """Drop row keys of which no example is left."""
        self._complete()
        self._histogram = {key: times for key, times in self._histogram.items() if times}

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        """Fill counts that are still empty."""
        row_keys: list[RowKey] = list(zip(*keys.T.tolist(), strict=True))
        self.reserve(len(cells))
        self._change(examples, np.arange(len(cells)), cells, zip(row_keys, times.tolist(), strict=True))

    def copy(self) -> Counts:
        """An independent copy."""
        self._complete()
        twin = Counts(len(self._flat) // 5)
        twin._examples, twin._flat, twin._histogram = self._examples, self._flat.copy(), dict(self._histogram)
        return twin


def dense_rows(true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None, cells: IntArray) -> IntArray:
    """Count rows of 0 and 1 into ``cells``, shape (columns, 5), and return their row keys, shape (examples, 4)."""
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


def list_rows(
    examples: int,
    true: Lists | None,
    pred: Lists | None,
    hidden: Lists | None,
    named: Lists | None,
    everywhere: IntArray,
    cells: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Count lists of columns into ``cells``, shape (columns, 5); see `Counts.count_lists`.

    Returns the row keys, shape (examples, 4); then the row and the slot of each distinct cell.
    """
    said = [(lists, bit) for lists, bit in ((true, 1), (pred, 2), (hidden, 4), (named, 0)) if lists is not None]
    nothing = [np.zeros(0, np.int64)]
    rows = np.concatenate([np.repeat(np.arange(examples), np.diff(lists.offsets)) for lists, _ in said] or nothing)
    columns = np.concatenate([lists.found() for lists, _ in said] or nothing)
    bits = np.concatenate([np.full(len(lists.places), bit, np.uint8) for lists, bit in said] or nothing).astype(
        np.uint8
    )
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


def weigh_dense(true: UInt8Array, pred: UInt8Array, hidden: UInt8Array | None, weights: FloatArray) -> Weighed:
    """Sum the weights of rows of 0 and 1."""
    scale, digits = limbs(weights)
    total = np.zeros((true.shape[1], 5, digits.shape[1]), np.float64)
    for start in range(0, len(digits), 1024):  # so that what is converted stays in cache
        part = slice(start, start + 1024)
        known = 1 if hidden is None else hidden[part] ^ np.uint8(1)
        both = (true[part] & pred[part] & known).astype(np.float64).T @ digits[part]
        total[:, 3] += both
        total[:, 2] += (pred[part] & known).astype(np.float64).T @ digits[part] - both
        total[:, 1] += (true[part] & known).astype(np.float64).T @ digits[part] - both
        if hidden is not None:
            total[:, 4] += hidden[part].astype(np.float64).T @ digits[part]
    keys = dense_rows(true, pred, hidden, np.zeros((true.shape[1], 5), np.int64))
    return Weighed(scale, total.astype(np.int64), *_weigh_keys(keys, digits))


def weigh_lists(
    examples: int,
    width: int,
    true: Lists | None,
    pred: Lists | None,
    hidden: Lists | None,
    named: Lists | None,
    weights: FloatArray,
) -> Weighed:
    """Sum the weights of examples given as lists; see `Counts.count_lists`."""
    scale, digits = limbs(weights)
    cells, nowhere = np.zeros((width, 5), np.int64), np.zeros(0, np.int64)
    keys, rows, slots = list_rows(examples, true, pred, hidden, named, nowhere, cells)
    total = np.zeros((width, 5, digits.shape[1]), np.int64)
    for place in range(digits.shape[1]):
        sums = np.bincount(slots, weights=digits[rows, place], minlength=5 * width)
        total[:, :, place] = sums.reshape(width, 5)
    total[:, 0] = 0
    return Weighed(scale, total, *_weigh_keys(keys, digits))


def _weigh_keys(keys: IntArray, digits: FloatArray) -> tuple[IntArray, IntArray]:
    """The distinct row keys, and the sums of the digits of each."""
    distinct, times, inverse = tally(keys)
    total = np.zeros((len(times), digits.shape[1]), np.int64)
    for place in range(digits.shape[1]):
        total[:, place] = np.bincount(inverse, weights=digits[:, place], minlength=len(times))
    return distinct, total


def count_groups(counts: list[Counts], codes: IntArray, examples: int, width: int, true: Lists, pred: Lists) -> None:
    """Count each example, given as lists of columns below ``width``, in the counts that its code tells."""
    if len(codes) != examples:
        raise IndexError(f"{len(codes)} codes are not of {examples} examples")
    order, ends = grouped(codes, len(counts))
    if order is not None:
        sides = [taken(lists.offsets, lists.found(), order) for lists in (true, pred)]
    else:
        sides = [(lists.offsets, lists.found()) for lists in (true, pred)]
    start = 0
    for group, end in zip(counts, ends.tolist(), strict=True):
        if start < end:
            group.reserve(width)
            true, pred = (_lists_part(offsets[start : end + 1], places) for offsets, places in sides)
            group.count_lists(end - start, 0, true, pred, None, None, np.zeros(0, np.int64))
        start = end


def _lists_part(bounds: Places, columns: Places) -> Lists:
    return Lists((bounds - bounds[0]).astype(np.int64), columns[bounds[0] : bounds[-1]].astype(np.int64))
