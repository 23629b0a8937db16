"""`Counts`, the counts of decisions, in numpy: fallback and oracle of the compiled twin. States and evaluators call it.

A cell is one (example, label) pair. Its outcome indexes the five disjoint counts of a label::

    0 true negative    1 false negative    2 false positive    3 true positive    4 masked

so that ``outcome == true + 2 * predicted`` unless the truth is masked. Only cells that an example mentions are counted;
the true negatives of all other examples are derived when reading. A cell counts in slot ``5 * column + outcome``.

A row key is four numbers of an example: its labels that are true, predicted, both, and masked.

Changed counts are a new value of a cell; see `streameval.kernel.commit.numpy`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernel.commit.numpy import Cell, Part, Root
from streameval.kernel.decisions.rows import dense_rows, limbs, list_cells, list_rows, tally, weigh_dense, weigh_lists
from streameval.kernel.lists import grouped, list_order, taken
from streameval.kernel.table import COUNT_MAX, Counted, SumTable
from streameval.kernel.types import (
    OTHER,
    BitRows,
    Flags,
    FloatArray,
    IntArray,
    Lists,
    RowKey,
    ScoreArray,
    UInt8Array,
)  # fmt: skip

__all__ = ["Counts", "count_groups", "limbs", "list_cells", "list_order", "weigh_dense", "weigh_lists"]


class Counts(SumTable[RowKey]):
    """Five counts per column, the number of examples with each row key, and the number of all examples.

    Methods that may decline return ``OTHER`` (not handled by the fast path), ``REFUSED`` (it would take back what was
    never counted) or ``FULL`` (2**63 - 1 examples), and have then changed nothing. If a ``count_*`` method of many
    examples fails, its caller drops the counts.

    ``weights`` are the cells of the examples' weight sums; while one has a value, each example needs its weight.
    ``followers`` are the capsules of tables that count the same examples (`part.h`), and ``extra`` the cells of their
    sums outside of the tables. From ``most`` examples on, `count_example` counts no more.
    """

    __slots__ = ("extra", "followers", "most", "weights")

    def __init__(self, root: Root, width: int) -> None:
        self._start(root, max(8, width), 5)
        self.weights: tuple[Cell, ...] = ()
        self.extra: tuple[Cell | None, ...] = ()
        self.followers: tuple[object, ...] = ()
        self.most = COUNT_MAX

    def _agrees(self, left: Counted[RowKey], fixed: int) -> bool:
        """Whether no label has more examples than there are, and no example more labels than there are."""
        mentions = left.columns.sum(axis=1)
        labels = fixed + int(np.count_nonzero(mentions[fixed:]))
        largest = max((true + pred - both + masked for true, pred, both, masked in left.sums), default=0)
        return int(mentions.max()) <= left.examples and largest <= labels

    # -- one example ---------------------------------------------------------------------------------------------------

    def prepare_plain(self, *_: object) -> int:
        """Prepare parts that count an example as the user passed it, or take it back. Numpy has no such fast path.

        The arguments are ``columns, fixed, y_true, y_pred, threshold, sign, weight, mask``. ``columns`` maps plain
        labels to columns, of which the first ``fixed`` belong to declared labels. With a ``threshold``, numbers in
        ``y_pred`` are scores.
        """
        return OTHER

    count_example = prepare_plain  # counts an example at once, unless the guard is held
    count_examples = prepare_plain  # counts lists of examples, all or none
    count_arrays = prepare_plain  # counts the rows of plain arrays that have all labels
    count_packed = prepare_plain  # counts `BitRows`
    merge_plain = prepare_plain  # adds all counts of an object with the same labels, if these are not too many

    def place_example(self, *_: object) -> tuple[IntArray, RowKey] | None:
        """The slots and the row key of an example that `prepare_plain` can read, or None."""
        return None

    def place_scores(self, *_: object) -> tuple[IntArray, RowKey, Lists, Lists, FloatArray] | None:
        """As `place_example`, for ``y_pred`` with scores; also the true labels, the labels with a score, and scores."""
        return None

    def prepare_example(self, slots: IntArray, key: RowKey, fixed: int, sign: int, known: bool = False) -> Part | int:
        """Prepare to count one example with these slots, or to take it back; ``known``: it was surely counted."""
        cells = np.zeros_like(self._cell.value.columns)
        cells.reshape(-1)[slots] = 1  # slots are distinct
        example = Counted(1, cells, {key: (1,)})
        if known:
            return self._cell.prepare(lambda old: old.plus(example, sign))
        return self._prepared(example, sign, fixed)

    # -- many examples -------------------------------------------------------------------------------------------------

    def count_dense(
        self, columns: IntArray, fixed: int, true: UInt8Array, pred: UInt8Array, mask: UInt8Array | None
    ) -> int:
        """Count rows that mention every column. Returns the union of all bytes; nothing is counted if it is above 1."""
        seen = 0
        for side in (true, pred) if mask is None else (true, pred, mask):
            seen |= int(np.bitwise_or.reduce(side, axis=None))
        if seen <= 1:
            cells = np.zeros((len(columns), 5), np.int64)
            self._add(columns, fixed, cells, dense_rows(true, pred, mask, cells))
        return seen

    def count_scores(
        self,
        columns: IntArray,
        fixed: int,
        true: UInt8Array,
        scores: ScoreArray,
        bounds: ScoreArray,
        mask: UInt8Array | None,
    ) -> tuple[int, bool]:
        """As `count_dense`; scores at or above their column's bound are predictions. Also whether all are finite."""
        predicted = (scores >= bounds).view(np.uint8)
        return self.count_dense(columns, fixed, true, predicted, mask), bool(np.isfinite(scores).all())

    def count_bits(self, columns: IntArray, fixed: int, true: BitRows, pred: BitRows) -> int:
        """As `count_dense`, of bits in one order, below 2**21 columns; 2 if a bit after the columns is set."""
        truths, predictions = true.cells(), pred.cells()
        if truths is None or predictions is None:
            return 2
        return self.count_dense(columns, fixed, truths, predictions, None)

    def count_lists(
        self,
        examples: int,
        fixed: int,
        true: Lists | None,
        pred: Lists | None,
        mask: Lists | None,
        named: Lists | None,
        everywhere: IntArray,
    ) -> None:
        """Count lists of columns: true, predicted, masked, otherwise mentioned; ``everywhere``: mentioned by all."""
        cells = np.zeros_like(self._cell.value.columns)
        keys = list_rows(examples, true, pred, mask, named, everywhere, cells)
        self._add(np.arange(len(cells)), fixed, cells, keys)

    def _add(self, columns: IntArray, fixed: int, cells: IntArray, keys: IntArray) -> None:
        """Add the cells of distinct columns, without true negatives of declared labels, and row keys."""
        total = np.zeros_like(self._cell.value.columns)
        total[columns] = cells
        total[:fixed, 0] = 0
        self._cell.store(self._cell.value.plus(Counted(len(keys), total, _by_key(*tally(keys)[:2])), 1))

    # -- merging and reading -------------------------------------------------------------------------------------------

    def prepare_merge(  # type: ignore[override]  # the true negatives of declared labels are derived
        self, other: Counts, columns: IntArray | None, fixed: int, sign: int
    ) -> Part | int:
        """Prepare to add the other's counts, or to subtract them (sign -1); they must not change before the commit.

        ``columns`` maps the other's columns to those of this table (None: the same); columns that no example mentions
        may map to the same one. The first ``fixed`` columns of this table belong to declared labels, whose true
        negatives are derived.
        """
        added = other._cell.value
        places = np.arange(len(added.columns)) if columns is None else columns[: len(added.columns)]
        self.reserve(int(places.max(initial=-1)) + 1)
        cells = self._by_column(places, added.columns[: len(places)])
        cells[:fixed, 0] = 0
        return self._prepared(added._replace(columns=cells), sign, fixed)

    def outcomes(self, columns: IntArray) -> IntArray:
        """The counts of some columns, shape (5, columns)."""
        return np.ascontiguousarray(self._cell.value.columns.take(columns, axis=0).T)

    def mentioned(self, width: int) -> Flags:
        """For each of the first ``width`` columns, whether any example mentions it."""
        self.reserve(width)
        return np.asarray(self._cell.value.columns[:width].any(axis=1))

    def times(self, key: RowKey) -> int:
        """How many examples had a row key."""
        times: int = self._cell.value.sums.get(key, (0,))[0]
        return times

    def row_keys(self) -> tuple[IntArray, IntArray]:
        """The row keys that occur, in any order, shape (distinct, 4), and how many examples had each."""
        live = self._cell.value.sums.items()
        return np.array([key for key, _ in live], np.int64).reshape(-1, 4), np.array([n for _, (n,) in live], np.int64)

    def held(self) -> int:
        """How many row keys take memory; the compiled twin includes those without an example."""
        return len(self._cell.value.sums)

    def restore(self, examples: int, cells: IntArray, keys: IntArray, times: IntArray) -> None:
        """Fill an empty table."""
        self.reserve(len(cells))
        self._cell.store(self._cell.value.plus(Counted(examples, cells, _by_key(keys, times)), 1))


def _by_key(keys: IntArray, times: IntArray) -> dict[RowKey, tuple[int, ...]]:
    return dict(zip(map(tuple, keys.tolist()), zip(times.tolist(), strict=True), strict=True))


def count_groups(counts: list[Counts], codes: IntArray, examples: int, width: int, true: Lists, pred: Lists) -> None:
    """Count examples, passed as lists of columns below ``width``, each in the counts that its code is the index of."""
    if len(codes) != examples:
        raise IndexError(f"{len(codes)} codes are not of {examples} examples")
    order, ends = grouped(codes, len(counts))
    rows = np.arange(examples) if order is None else order
    start = 0
    for group, end in zip(counts, ends.tolist(), strict=True):
        if start < end:
            group.reserve(width)
            first, second = (Lists(*taken(lists.offsets, lists.flat(), rows[start:end])) for lists in (true, pred))
            group.count_lists(end - start, 0, first, second, None, None, np.zeros(0, np.int64))
        start = end
