"""`Bins`, which counts scores by label and bin, and `Weights`, which sums weights by bin: the fallback and the oracle.

`streameval.kernel.curves.bins` defines bins. For each label, class (0 negative, 1 positive) and bin three integers are
stored: the number of scores n, the sum of their residuals, and the sum of the squares. Merging adds them. They say
whether all residuals are equal: by Cauchy and Schwarz exactly if n * squares == sum ** 2. As n is below 2**43, the sum
fits into 84 bits and the squares into 125.

`sides` counts the examples in which a label had no score: as a negative (only for labels that are not declared; for
declared ones it is derived), as a positive, and with a masked truth, which counts nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Self

import numpy as np

from streameval.kernel.commit.numpy import Part, Root
from streameval.kernel.curves.bins import ALL, MASKED, POSITIVE, WHOLE, bins_of, flipped_bins, possible, read_of
from streameval.kernel.scores import examples_of
from streameval.kernel.table import Counted, SumTable, enter
from streameval.kernel.types import Flags, IntArray, Integers, Scored, WordArray

_Part = tuple[int, ...]
_Place = tuple[int, int, int]  # column, bin, class
_NOTHING: _Part = (0, 0, 0)


def words_of(counts: IntArray, written: Sequence[WordArray]) -> tuple[WordArray, bool]:
    """The sums of bins as `Bins.read` returns them, from stored words, and whether residuals can have these sums."""
    moments: Integers = np.zeros((len(counts), 2, 3), object)
    moments[:, :, 0] = counts
    # Sums of negatives, then of positives: of residuals for bins with a score, of squares for bins with more than one.
    for at, words in enumerate(written):
        side, least = divmod(at, 2)
        low, high = words.T.astype(object)
        moments[counts[:, side] > least, side, 1 + least] = low + (high << 64)
    moments[counts == 1, 2] = moments[counts == 1, 1] ** 2
    fits = all(possible(*sums) for sums in moments.reshape(-1, 3).tolist())
    return read_of(moments * fits)[2], fits  # sums that do not fit could pass 128 bits


class Bins(SumTable[_Place]):
    """The scores of each column by bin and class, the examples without a score, and the number of examples.

    A merge with sign 1 may map more than one column to the same one, if that has at most ``SCORE_MAX`` scores then.
    ``count`` returns ``DONE`` or ``FULL``.
    """

    __slots__ = ()

    def __init__(self, root: Root, width: int) -> None:
        self._start(root, max(8, width), 3)

    def _placed(self, key: _Place, place: list[int]) -> _Place:
        return place[key[0]], key[1], key[2]

    @staticmethod
    def _possible(*sums: int) -> bool:
        return possible(*sums)

    def _agrees(self, left: Counted[_Place], _fixed: int) -> bool:
        return bool(_mentions(left).max() <= left.examples)

    @property
    def scores(self) -> int:
        return sum(times for times, *_ in self._cell.value.sums.values())

    # -- examples ------------------------------------------------------------------------------------------------------

    def count(self, scored: Scored) -> int:
        return self._commit(self._prepared(self._counted(scored), 1))

    def _counted(self, scored: Scored) -> Counted[_Place]:
        sides, fixed = np.zeros_like(self._cell.value.columns), scored[1]
        examples, places, scores = 0, list[tuple[int, bool]](), list[float]()
        for cells in examples_of(scored, len(sides)):
            examples += 1
            for column, cell in cells.items():
                if cell is None:
                    sides[column, 2] += 1
                elif cell[1] is not None:
                    places.append((column, cell[0]))
                    scores.append(cell[1])
                elif cell[0] or column >= fixed:
                    sides[column, int(cell[0])] += 1
        sums: dict[_Place, _Part] = {}
        bins, residuals = (part.tolist() for part in bins_of(np.array(scores, np.float64)))
        for (column, true), bin_, x in zip(places, bins, residuals, strict=True):
            enter(sums, (column, bin_, int(true)), (1, x, x * x))
        return Counted(examples, sides, sums)

    # -- reading -------------------------------------------------------------------------------------------------------

    def mentioned(self, width: int) -> Flags:
        """For each of the first columns, whether some example mentions it."""
        self.reserve(width)
        return np.asarray(_mentions(self._cell.value)[:width] > 0)

    def sides(self, columns: IntArray) -> IntArray:
        """The numbers of examples in which columns had no score: negative, positive, masked. Shape (columns, 3)."""
        self._check(columns)
        return np.asarray(self._cell.value.columns[columns])

    def read(
        self, columns: IntArray, low: int = 0, limit: int = 2**63 - 1
    ) -> tuple[IntArray, IntArray, IntArray, IntArray, WordArray]:
        """The bins that hold a score, in order, column by column; those of the first column start at ``low``.

        Returns offsets (one more than columns); bins; and for each bin and class the number of scores; their residual
        (-1 if residuals differ, -2 without scores), each of shape (bins, 2); and the sums of residuals and of squares,
        low word first, shape (bins, 2, 4). Reads at most ``limit`` bins.
        """
        self._check(columns)
        stored: dict[int, dict[int, list[_Part]]] = defaultdict(dict)
        for (column, bin_, part), sums in sorted(self._cell.value.sums.items()):
            stored[column].setdefault(bin_, [_NOTHING, _NOTHING])[part] = sums
        rows = [(at, *entry) for at, column in enumerate(columns.tolist()) for entry in stored[column].items()]
        rows = [row for row in rows if row[0] or row[1] >= low][:limit]
        offsets = np.searchsorted([position for position, *_ in rows], np.arange(len(columns) + 1))
        counts, common, words = read_of(np.array([pair for *_, pair in rows], object).reshape(-1, 2, 3))
        return offsets, np.array([bin_ for _, bin_, _ in rows], np.int64), counts.astype(np.int64), common, words

    def pairs(self, columns: IntArray) -> tuple[IntArray, WordArray]:
        """The number of negatives and positives of columns, shape (columns, 2), and their pairs in order.

        The latter are twice the number of (positive, negative) pairs in which the positive has the greater score (a tie
        is half a pair), without the bins that hold different scores of one class; and the number of pairs within these
        bins. Both are two 64-bit words, low word first: shape (columns, 2, 2).
        """
        offsets, bins, counts, common, _ = self.read(columns)
        totals = _pairs(offsets, bins, counts.astype(object), common)
        words = np.stack([totals[:, 2:] & (2**64 - 1), totals[:, 2:] >> 64], axis=-1)
        return totals[:, :2].astype(np.int64), words.astype(np.uint64)

    def restore(self, examples: int, sides: IntArray) -> None:
        """Fill an empty table from `examples` and `sides`; `restore_bins` then adds the scores."""
        self.reserve(len(sides))
        self._cell.store(self._cell.value.plus(Counted(examples, sides, {}), 1))

    def restore_bins(self, first: int, offsets: IntArray, bins: IntArray, counts: IntArray, words: WordArray) -> None:
        """Fill empty bins of the columns from ``first`` on with results of `read`."""
        owners = np.repeat(np.arange(first, first + len(offsets) - 1), np.diff(offsets)).tolist()
        sums: dict[_Place, _Part] = {
            (column, bin_, part): (n, low | high << 64, square | square_high << 64)
            for column, bin_, times, pair in zip(owners, bins.tolist(), counts.tolist(), words.tolist(), strict=True)
            for part, (n, (low, high, square, square_high)) in enumerate(zip(times, pair, strict=True))
            if n
        }
        self._cell.store(self._cell.value.plus(Counted(0, np.zeros((0, 3), np.int64), sums), 1))


def _pairs(offsets: IntArray, bins: IntArray, weights: Integers, common: IntArray) -> Integers:
    """For each column negatives, positives, twice their pairs in order, and pairs in bins with different scores."""
    upto = np.concatenate([np.zeros((1, 2), object), np.cumsum(weights, axis=0)])
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    below = upto[:-1, 0] - upto[offsets[owners], 0]
    (negatives, positives), (y, x) = weights.T, common.T
    mixed = (x == -1) | (y == -1)
    decided = np.where(x == y, 1, 2 * ((x > y) != flipped_bins(bins)))
    totals: Integers = np.zeros((len(offsets) - 1, 4), object)
    totals[:, :2] = upto[offsets[1:]] - upto[offsets[:-1]]
    np.add.at(totals[:, 2], owners, positives * (2 * below + np.where(mixed, 0, decided) * negatives))
    np.add.at(totals[:, 3], owners, positives * negatives * mixed)
    return totals


def _mentions(counted: Counted[_Place]) -> IntArray:
    mentions = counted.columns.sum(axis=1)
    for (column, *_), (times, *_) in counted.sums.items():
        mentions[column] += times
    return np.asarray(mentions)


# -- weights ----------------------------------------------------------------------------------------------------------

_EMPTY = 0, 0, 0, 0
_Key = tuple[int, int]
_Sums = dict[_Key, tuple[int, ...]]


class Weights(SumTable[_Key]):
    """By column and place the number of scores, and the sums of weights w, of w * residual and of w * residual**2.

    Sums are integers in units of ``2**-scale``; sums of weights fit into ``words`` words of 64 bits. Tables that are
    merged have the same scale and words.
    """

    __slots__ = ("scale", "words")

    def __init__(self, scale: int = 0, words: int = 1) -> None:
        self.scale, self.words = scale, words
        self._start(Root(), 0)

    def _placed(self, key: _Key, place: list[int]) -> _Key:
        return (key[0] if key[0] == ALL else place[key[0]]), key[1]

    @staticmethod
    def _possible(*sums: int) -> bool:
        return sums[0] > 0 and min(sums) >= 0

    def _agrees(self, left: Counted[_Key], _fixed: int) -> bool:
        examples, weight, *_ = left.sums.get((ALL, WHOLE), _EMPTY)
        wholes = (sums[:2] for (_, place), sums in left.sums.items() if place == WHOLE)
        return all(count <= examples and whole <= weight for count, whole in wholes)

    @property
    def whole(self) -> int:
        """The sum of the weights of all examples."""
        return int(self._cell.value.sums.get((ALL, WHOLE), _EMPTY)[1])

    def count(self, scored: Scored, weights: Sequence[int], width: int) -> None:
        """Add examples whose columns are below ``width``; callers drop the table if this raises."""
        added, scores, owners = list[tuple[int, int, tuple[int, ...]]](), list[float](), list[tuple[int, int, bool]]()
        for weight, cells in zip(weights, examples_of(scored, width), strict=True):
            added.append((ALL, WHOLE, (1, weight, 0, 0)))
            for column, cell in cells.items():
                if cell is not None and cell[1] is not None:
                    owners.append((column, weight, cell[0]))
                    scores.append(cell[1])
                elif cell is None or cell[0]:
                    added.append((column, MASKED if cell is None else POSITIVE, (1, weight, 0, 0)))
        bins, residuals = (part.tolist() for part in bins_of(np.array(scores, np.float64)))
        for (column, weight, true), bin_, x in zip(owners, bins, residuals, strict=True):
            added.append((column, 2 * bin_ + true, (1, weight, weight * x, weight * x * x)))
        self._add(added)

    def _add(self, added: Iterable[tuple[int, int, tuple[int, ...]]]) -> None:
        sums: _Sums = {}
        for column, place, row in added:
            enter(sums, (column, place), row)
            if column != ALL:
                enter(sums, (column, WHOLE), (*row[:2], 0, 0))
        self._cell.store(self._cell.value.plus(Counted(0, np.zeros(0, np.int64), sums), 1))

    def fill(self, columns: IntArray, places: IntArray, counts: IntArray, sums: Integers) -> None:
        """Add counts and sums to places. Rows may have fewer than three sums; the missing ones are 0."""
        rows = ((count, *row, 0, 0)[:4] for count, row in zip(counts.tolist(), sums, strict=True))
        self._add(zip(columns.tolist(), places.tolist(), rows, strict=True))

    def read(self, columns: IntArray, places: IntArray, parts: int) -> Integers:
        """The first ``parts`` sums of places, as Python integers, shape (places, parts)."""
        sums = self._cell.value.sums
        rows = [sums.get(key, _EMPTY)[1 : 1 + parts] for key in zip(columns.tolist(), places.tolist(), strict=True)]
        return np.array(rows, object).reshape(-1, parts)

    def pairs(self, columns: IntArray, offsets: IntArray, bins: IntArray, common: IntArray) -> list[list[int]]:
        """The weights of negatives and positives, and of pairs as in `Bins.pairs`, from results of `Bins.read`."""
        owners, places = np.repeat(columns, 2 * np.diff(offsets)), np.add.outer(2 * bins, np.arange(2)).ravel()
        pairs: list[list[int]] = _pairs(offsets, bins, self.read(owners, places, 1).reshape(-1, 2), common).tolist()
        return pairs

    def united(self) -> int:
        """The bits that are set in any sum."""
        return reduce(or_, (value for _, *sums in self._cell.value.sums.values() for value in sums), 0)

    def prepare_merge(self, other: Self, columns: IntArray | None, sign: int, _known: bool = False) -> Part | int:
        """As in `SumTable`; the compiled twin does not check whether ``other`` was added if ``_known`` says so."""
        return super().prepare_merge(other, columns, sign)

    def copy(self, _: object = None) -> Self:
        return self.shaped(self.scale, self.words, 1)

    def compacted(self) -> Self:
        """The same sums without much unused memory: in this table, or in a new one."""
        return self

    def shaped(self, scale: int, words: int, factor: int) -> Self:
        """A table of another scale and number of words, with these sums times a factor."""
        result, old = type(self)(scale, words), self._cell.value
        sums = {key: (count, *(factor * value for value in row)) for key, (count, *row) in old.sums.items()}
        result._cell.store(old._replace(sums=sums))
        return result
