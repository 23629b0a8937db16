"""The state of scores: for each label, the positives and the negatives in each bin of the score.

A bin is a fixed function of the score (`streameval.kernel.curves.bins`), so no range is declared in advance, shards
merge exactly, and nothing depends on the order of examples. What a bin holds is the number of its scores, the sum of
their residuals and the sum of the squares, for each class; from these follow the exact sum of the scores and of their
squares, and whether they are all equal.

Where an example gives a label no score, it counts below all bins. Declared labels are mentioned by every example, so
how often one was negative without a score is derived when reading; for other labels as well, from the number of
examples, so that a label first met late has the right number of them.

Weighted streams keep, beside these counts, the exact sum of weights of each. They are dropped when every example
weighs 1.

A label takes at most about 100 bytes for each bin and class it has met, and while scores wait to be put into bins no
more than that again, or 64 KB if that is more, besides the last batch. There are 10,475,521 bins; scores between 0 and
1 in float32 can meet at most some 330,000, and a model's scores meet a few thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streameval.errors import CounterOverflowError, RevertError
from streameval.kernel import backend
from streameval.kernel.curves.bins import SCORE_MAX
from streameval.kernel.types import DONE, FULL, FloatArray, IntArray, UInt8Array, WordArray
from streameval.schema.batch import Batch, Dense, ragged
from streameval.schema.labels import Label, LabelIndex
from streameval.states.base import COUNT_MAX
from streameval.states.exact import ExactSums, common_scale, exact_integers, scaled, trailing_zeros

__all__ = ["CurveContent", "Curves", "Moments"]

_TOO_MANY = (
    f"more than {SCORE_MAX} scores, or {COUNT_MAX} examples, cannot be counted exactly; evaluate in "
    "parts, each on its own"
)
_NEVER_SEEN = "cannot revert: no such example was counted, or not with this weight; revert only what was updated before"

Place = tuple[int, int]
"""Column and what is weighed there: see `_weighed`. All examples together are ``_ALL``."""
Moments = tuple[int, int, int]
"""The weight of scores, of their residuals, and of the squares, in units."""

_ALL: Place = (-1, 0)
_POSITIVE, _MASKED, _FIRST = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class CurveContent:
    """What a state holds, in canonical order: equal states have equal contents, whatever their history.

    Attributes
    ----------
    examples
        How many examples were counted.
    labels
        Declared labels in their order, then the mentioned others, sorted.
    fixed
        How many of ``labels`` are declared.
    sides
        In how many examples each label had no score: as a negative (0 for declared labels, which derive it), as a
        positive, and masked. Shape (labels, 3).
    offsets, bins
        The bins of each label that hold a score, in order: those of label i stand from offsets[i] to offsets[i + 1].
    counts
        How many negatives and positives each holds, shape (bins, 2).
    sums
        The sums of their residuals and of the squares, as 64-bit words, low word first: shape (bins, 2, 4).
    scale, weight, side_weights, bin_weights
        None when every weight sum equals its count. Otherwise sums in units of ``2**-scale``: of all examples; for
        each label of those where it is a positive without a score, and masked; for each bin and class of the scores,
        of the residuals times weight, and of their squares times weight. The scale is as small as it can be.
    """

    examples: int
    labels: tuple[Label, ...]
    fixed: int
    sides: IntArray
    offsets: IntArray
    bins: IntArray
    counts: IntArray
    sums: WordArray
    scale: int | None
    weight: int | None
    side_weights: list[tuple[int, int]] | None
    bin_weights: list[tuple[Moments, Moments]] | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CurveContent):
            return NotImplemented
        same = (self.examples, self.labels, self.fixed) == (other.examples, other.labels, other.fixed)
        arrays = zip(self._arrays(), other._arrays(), strict=True)
        return same and all(np.array_equal(a, b) for a, b in arrays) and self._weights() == other._weights()

    def _arrays(self) -> tuple[IntArray | WordArray, ...]:
        return self.sides, self.offsets, self.bins, self.counts, self.sums

    def _weights(self) -> tuple[object, ...]:
        return self.scale, self.weight, self.side_weights, self.bin_weights


class _Plan(NamedTuple):
    """New weight sums that belong to a change of the counts: void if the number of examples is still ``before``."""

    before: int
    weights: ExactSums[Place]
    sums: dict[Place, int]


class Curves:
    """Positives and negatives per label and bin of the score, exact under any order, sharding and reverting."""

    reads_decisions: ClassVar[bool] = False
    __slots__ = ("_bins", "_labels", "_plan", "_root", "_weights")

    def __init__(self, labels: LabelIndex) -> None:
        self._labels = labels
        self._root = backend.commit.Root()
        self._bins = backend.curves.Bins(self._root, len(labels))
        self._weights: ExactSums[Place] | None = None
        self._plan: _Plan | None = None

    def empty(self, labels: LabelIndex) -> Curves:
        """A state of the same kind that has counted nothing."""
        return Curves(labels)

    @property
    def examples(self) -> int:
        """How many examples were counted."""
        return self._bins.examples

    # -- changing -----------------------------------------------------------------------------------------------------

    def count_one(self, example: Batch, sign: int, *, known: bool = False) -> None:
        """Count a batch of one example (sign 1) or take it back (sign -1).

        ``known``: it was surely counted, so no need to ask.
        """
        self._change(example, sign, known)

    def count(self, batch: Batch, threads: int = 1) -> None:  # noqa: ARG002  # it is faster than memory as it is
        """Count a batch of examples. Only for states that are thrown away if this raises: see `merge`."""
        self._change(batch, 1)

    def _change(self, batch: Batch, sign: int, known: bool = False) -> None:
        self._settle()
        self._bins.reserve(len(self._labels))
        if self._weights is not None or (batch.weights is not None and (batch.weights != 1.0).any()):
            added = self._weigh(batch)
            weights = self._weights_at(common_scale(added.scale))
            old, new = weights.sums, added.at(weights.scale).sums
            sums = {place: old.get(place, 0) + sign * value for place, value in new.items()}
            if sign < 0 and not known and self._unlikely(sums, weights):
                raise RevertError(_NEVER_SEEN)
            self._plan = _Plan(self.examples, weights, sums)
        fixed, bins, one = self._labels.fixed, self._bins, batch.examples == 1
        if isinstance(batch, Dense):
            rows: Any = (batch.columns, fixed, batch.true, batch.scores, batch.ranked, batch.mask)
            code = self._done(bins.prepare_row(*rows, sign)) if one else bins.count_rows(*rows)
        else:
            true, ranked, mask = map(ragged, (batch.true, batch.ranked, batch.mask))
            lists: Any = (fixed, true, ranked, batch.scores, mask)
            code = self._done(bins.prepare_lists(*lists, sign)) if one else bins.count_lists(batch.examples, *lists)
        self._finish(code)

    def _done(self, part: Any) -> int:
        if isinstance(part, int):
            return part
        self._root.commit([part])
        return DONE

    def merge(self, other: Curves) -> None:
        """Add all that ``other`` has counted. ``other`` may be this very state."""
        other._settle()
        self._settle()
        columns = self._columns_of(other)
        self._bins.reserve(len(self._labels))
        if self._weights is not None or other._weights is not None:
            added = other._weights_at(0)
            weights = self._weights_at(common_scale(added.scale))
            old, new = weights.sums, added.at(weights.scale).sums
            place = None if columns is None else columns.tolist()
            sums = {}
            for (column, what), value in new.items():
                if not value:  # it was taken back, and its label may have no column any more
                    continue
                here = (column if place is None or column < 0 else place[column], what)
                sums[here] = old.get(here, 0) + value
            self._plan = _Plan(self.examples, weights, sums)
        self._finish(self._done(self._bins.prepare_merge(other._bins, columns, 1)))

    def _columns_of(self, other: Curves) -> IntArray | None:
        """Where the columns of another state are here, its labels registered; None if they are the same."""
        names = other._labels.labels
        if other._labels is self._labels or names == self._labels.labels:
            return None
        mentioned = other._bins.mentioned(len(names))
        mentioned[: other._labels.fixed] = True
        return np.array(
            [self._labels.add(name) if there else 0 for name, there in zip(names, mentioned.tolist(), strict=True)],
            np.int64,
        )

    def _finish(self, code: int) -> None:
        """Complete a change whose counts were changed, or undo its plan if they declined."""
        if code != DONE:
            self._plan = None
            raise CounterOverflowError(_TOO_MANY) if code == FULL else RevertError(_NEVER_SEEN)
        self._settle()

    def _settle(self) -> None:
        """Bring the weight sums in line with the counts, whatever interrupted the last change."""
        plan = self._plan
        if plan is not None:
            if self._bins.examples != plan.before:
                plan.weights.sums.update(plan.sums)
                self._weights = plan.weights
            self._plan = None

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weights_at(self, scale: int) -> ExactSums[Place]:
        """The weight sums so far in units at least as fine as asked; a new object if anything about it differs."""
        if self._weights is not None:
            return self._weights.at(max(scale, self._weights.scale))
        return ExactSums(0, self._counts_as_sums()).at(scale)

    def _counts_as_sums(self) -> dict[Place, int]:
        """The weight sums if every example weighed 1."""
        columns = np.arange(len(self._labels))
        self._bins.reserve(len(columns))
        offsets, bins, counts, _, words = self._bins.read(columns, True)
        assert words is not None  # noqa: S101  # sums were asked for
        sums: dict[Place, int] = {_ALL: self.examples} if self.examples else {}
        for column, (_, positive, masked) in enumerate(self._bins.sides(columns).tolist()):
            sums[column, _POSITIVE], sums[column, _MASKED] = positive, masked
        owners = np.repeat(columns, np.diff(offsets)).tolist()
        for column, bin_, pair, pair_words in zip(owners, bins.tolist(), counts.tolist(), words.tolist(), strict=True):
            for part in range(2):
                low, high, square, square_high = pair_words[part]
                first = _weighed(bin_, part)
                sums[column, first] = pair[part]
                sums[column, first + 1] = low | high << 64
                sums[column, first + 2] = square | square_high << 64
        return {place: value for place, value in sums.items() if value}

    def _weigh(self, batch: Batch) -> ExactSums[Place]:
        """The weight sums of the examples of a batch."""
        factors = np.ones(batch.examples) if batch.weights is None else batch.weights
        rows, columns, kinds, scores = _mentions(batch)
        scale, digits = backend.decisions.limbs(factors)
        target = common_scale(scale)
        worth: np.ndarray[Any, np.dtype[Any]] = np.array(exact_integers(digits.astype(np.int64), scale, target), object)
        sums: dict[Place, int] = {_ALL: int(worth.sum())} if len(worth) else {}
        bins, residuals = backend.curves.bins_of(scores)
        exact = worth[rows].tolist()
        for column, kind, bin_, residual, value in zip(
            columns.tolist(), kinds.tolist(), bins.tolist(), residuals.tolist(), exact, strict=True
        ):
            if kind > 1:  # a positive without a score, or masked
                sums[column, kind - 2] = sums.get((column, kind - 2), 0) + value
                continue
            first = _weighed(bin_, kind)
            for power, part in enumerate((value, value * residual, value * residual * residual)):
                sums[column, first + power] = sums.get((column, first + power), 0) + part
        return ExactSums(target, sums)

    def _unlikely(self, sums: dict[Place, int], weights: ExactSums[Place]) -> bool:
        """Whether new sums are weights that no examples have: below 0, without an example, or beyond all together."""
        if any(value < 0 for value in sums.values()) or (self.examples <= 1 and sums[_ALL]):
            return True
        columns = np.unique(np.array([column for column, _ in sums if column >= 0], np.int64))
        offsets, bins, counts, _, _ = self.read(columns, sums=False)
        left: dict[Place, int] = {}
        for column, (_, positive, masked) in zip(columns.tolist(), self.sides(columns).tolist(), strict=True):
            left[column, _POSITIVE], left[column, _MASKED] = positive, masked
        owners = np.repeat(columns, np.diff(offsets)).tolist()
        for column, bin_, pair in zip(owners, bins.tolist(), counts.tolist(), strict=True):
            left[column, _weighed(bin_, 0)], left[column, _weighed(bin_, 1)] = pair
        if any(value and left.get(_counted(place), 0) <= 1 for place, value in sums.items() if place != _ALL):
            return True
        of_column: dict[int, int] = {}
        after = {**weights.sums, **sums}
        for (column, what), value in after.items():
            if _counted((column, what)) == (column, what):
                of_column[column] = of_column.get(column, 0) + value
        return max(of_column.values(), default=0) > after[_ALL]

    # -- labels -------------------------------------------------------------------------------------------------------

    def sparse(self) -> bool:
        """Whether most registered labels have no example left."""
        return 2 * len(self.columns()) < len(self._labels)

    def compact(self) -> None:
        """Drop bins of which no score is left."""
        self._settle()
        self._bins.compact()
        if self._weights is not None:
            kept = {place: value for place, value in self._weights.sums.items() if value}
            self._weights = ExactSums(self._weights.scale, kept)

    def forget(self, size: int) -> None:
        """Drop the labels registered after the first ``size``, unless a counted example mentions one of them."""
        if len(self._labels) > size and not self._bins.mentioned(len(self._labels))[size:].any():
            self._labels.truncate(size)

    # -- reading ------------------------------------------------------------------------------------------------------

    def tidy(self) -> int | None:
        """The scale to read weight sums at: the smallest that keeps them integers; None if every example weighs 1.

        Weight sums that say no more than the counts are dropped. So equal states read alike, whatever their history.
        """
        self._settle()
        if self._weights is None:
            return None
        scale = self._weights.scale
        sums = {place: value for place, value in self._weights.sums.items() if value}
        plain = self._counts_as_sums()
        if len(sums) == len(plain) and all(sums.get(place) == value << scale for place, value in plain.items()):
            self._weights = None
            return None
        zeros = trailing_zeros(sums.values())
        return 0 if zeros is None else scale - min(scale, zeros)

    def columns(self) -> IntArray:
        """The columns of the labels there are: declared ones, and those that a counted example mentions, in order."""
        order, fixed = self._labels.order(), self._labels.fixed
        if fixed == len(order):
            return order
        mentioned = self._bins.mentioned(len(order))
        mentioned[:fixed] = True
        return order if mentioned.all() else order[mentioned[order]]

    def labels_of(self, columns: IntArray) -> tuple[Label, ...]:
        """The labels of columns."""
        return tuple(map(self._labels.labels.__getitem__, columns.tolist()))

    def sides(self, columns: IntArray) -> IntArray:
        """In how many examples columns had no score: as negatives, as positives, masked. Shape (columns, 3)."""
        self._bins.reserve(len(self._labels))
        return self._bins.sides(columns)

    def read(self, columns: IntArray, *, sums: bool) -> tuple[IntArray, IntArray, IntArray, IntArray, WordArray | None]:
        """The bins of columns that hold a score; see `streameval.kernel.curves.numpy.Bins.read`."""
        self._bins.reserve(len(self._labels))
        return self._bins.read(columns, sums)

    def pairs(self, columns: IntArray) -> tuple[IntArray, WordArray]:
        """The scores of columns and their pairs in order; see `streameval.kernel.curves.numpy.Bins.pairs`."""
        self._bins.reserve(len(self._labels))
        return self._bins.pairs(columns)

    def pooled(self, columns: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray, WordArray | None]:
        """As `read` with sums, of the scores of several columns taken together."""
        bins = self._bins
        place = np.zeros(len(self._labels), np.int64)
        place[columns] = np.arange(len(columns))
        width, root = len(columns), backend.commit.Root()
        while True:  # four to one, so that no bin is visited more often than the logarithm of the columns
            fresh = backend.curves.Bins(root, -(-width // 4))
            part = fresh.prepare_merge(bins, place // 4, 1)
            if isinstance(part, int):
                raise CounterOverflowError(_TOO_MANY)
            root.commit([part])
            bins, width = fresh, -(-width // 4)
            place = np.arange(width)
            if width <= 1:
                return bins.read(np.zeros(1, np.int64), True)

    def weights(
        self, columns: IntArray, offsets: IntArray, bins: IntArray, scale: int
    ) -> tuple[int, list[tuple[int, int]], list[tuple[Moments, Moments]]]:
        """The weight sums of all examples, of columns and of bins; ``scale`` is what `tidy` returned."""
        if self._weights is None:
            return self.examples, [], []
        get, shift = self._weights.sums.get, self._weights.scale - scale
        side = [
            (get((column, _POSITIVE), 0) >> shift, get((column, _MASKED), 0) >> shift) for column in columns.tolist()
        ]
        owners = np.repeat(columns, np.diff(offsets)).tolist()

        def moments(column: int, first: int) -> Moments:
            n, total, squares = (get((column, first + power), 0) >> shift for power in range(3))
            return n, total, squares

        pairs = [
            (moments(column, _weighed(bin_, 0)), moments(column, _weighed(bin_, 1)))
            for column, bin_ in zip(owners, bins.tolist(), strict=True)
        ]
        return get(_ALL, 0) >> shift, side, pairs

    def content(self) -> CurveContent:
        """What is held, in canonical order."""
        scale, columns = self.tidy(), self.columns()
        offsets, bins, counts, _, words = self.read(columns, sums=True)
        assert words is not None  # noqa: S101  # sums were asked for
        weight, side, pairs = (None, None, None) if scale is None else self.weights(columns, offsets, bins, scale)
        held = (self.sides(columns), offsets, bins, counts, words)
        names, fixed = self.labels_of(columns), self._labels.fixed
        return CurveContent(self.examples, names, fixed, *held, scale, weight, side, pairs)

    @classmethod
    def from_content(cls, content: CurveContent, labels: LabelIndex) -> Curves:
        """A state that holds ``content``; ``labels`` must be exactly the labels of the content, in its order."""
        state = cls(labels)
        held = (content.sides, content.offsets, content.bins, content.counts, content.sums)
        state._bins.restore(content.examples, *held)
        if content.scale is not None and content.side_weights is not None and content.bin_weights is not None:
            sums: dict[Place, int] = {_ALL: content.weight or 0}
            for column, (positive, masked) in enumerate(content.side_weights):
                sums[column, _POSITIVE], sums[column, _MASKED] = positive, masked
            owners = np.repeat(np.arange(len(labels)), np.diff(content.offsets)).tolist()
            for column, bin_, pair in zip(owners, content.bins.tolist(), content.bin_weights, strict=True):
                for part, moments in enumerate(pair):
                    first = _weighed(bin_, part)
                    sums.update(((column, first + power), value) for power, value in enumerate(moments))
            kept = {place: value for place, value in sums.items() if value}
            state._weights = ExactSums(content.scale, kept).at(common_scale(content.scale))
        return state

    def unweigh(self) -> None:
        """Drop the weight sums, where it is known that every counted example weighs 1."""
        self._weights = None

    def scaled(self, labels: LabelIndex, numerator: int, scale: int) -> Curves:
        """A copy over a copy of the labels, in which every example weighs ``numerator / 2**scale`` as much, exactly."""
        twin = self.copy(labels)
        if twin.examples:
            twin._weights = scaled(twin._weights_at(0), numerator, scale)
        return twin

    def copy(self, labels: LabelIndex) -> Curves:
        """An independent copy over a copy of the labels."""
        self._settle()
        twin = Curves(labels)
        twin._bins = self._bins.copy(twin._root)
        twin._weights = None if self._weights is None else self._weights.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curves):
            return NotImplemented
        return self.content() == other.content()

    __hash__ = None  # type: ignore[assignment]


def _weighed(bin_: int, part: int) -> int:
    """Where the weights of a class in a bin stand: three places for the scores, their residuals and the squares."""
    return _FIRST + 6 * bin_ + 3 * part


def _counted(place: Place) -> Place:
    """Where the weight stands of which a place is the first or second moment."""
    column, what = place
    return place if what < _FIRST else (column, what - (what - _FIRST) % 3)


def _mentions(batch: Batch) -> tuple[IntArray, IntArray, UInt8Array, FloatArray]:
    """What a batch says that weighs: row, column, kind (0 and 1 scores, 2 a positive without, 3 masked), and score."""
    if isinstance(batch, Dense):
        counted = np.ones(batch.true.shape, np.bool_) if batch.mask is None else batch.mask == 0
        scored = counted if batch.ranked is None else counted & (batch.ranked != 0)
        kinds = np.where(counted, np.where(scored, batch.true, np.uint8(2)), np.uint8(3))
        kept = scored | ~counted | (batch.true != 0)
        rows, places = np.nonzero(kept)
        scores = np.where(scored, batch.scores, 0)[kept].astype(np.float64)
        return rows, batch.columns[places], kinds[kept].astype(np.uint8), scores
    lists = [ragged(side) for side in (batch.true, batch.ranked, batch.mask)]
    width = 1 + max(int(columns.max(initial=0)) for _, columns in filter(None, lists))
    row_of = np.arange(batch.examples)
    true, ranked, masked = (
        np.zeros(0, np.int64) if side is None else np.repeat(row_of, np.diff(side[0])) * width + side[1]
        for side in lists
    )
    masked = np.unique(masked)
    seen = ~np.isin(ranked, masked)
    scored_cells, given = ranked[seen], np.asarray(batch.scores)[seen]
    bare = np.setdiff1d(np.setdiff1d(true, masked), scored_cells)
    cells = np.concatenate([scored_cells, bare, masked])
    kinds = np.concatenate([np.isin(scored_cells, true), np.full(len(bare), 2), np.full(len(masked), 3)])
    rows, columns = np.divmod(cells, width)
    blank = np.zeros(len(bare) + len(masked))
    return rows, columns, kinds.astype(np.uint8), np.concatenate([given, blank])
