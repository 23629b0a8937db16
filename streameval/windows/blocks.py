"""Windows that follow each other: each example belongs to one, by its number or by its time.

Windows of time are aligned to an origin, so windows of two streams can be merged by their number. Those of a number of
examples cannot: the tenth example of a shard is not the tenth of the whole.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self

import numpy as np

from streameval.errors import FormatError, InputError, MergeError, RevertError
from streameval.evaluation.core import NUMBERS
from streameval.evaluation.counting import core_of, from_contents, saved_empty
from streameval.evaluation.holding import template_of
from streameval.kernel.backend import commit
from streameval.kernel.types import FloatArray, IntArray
from streameval.schema.batch import Batch
from streameval.schema.text import quoted
from streameval.states.base import Part
from streameval.states.history import ALWAYS
from streameval.states.state_set import StateSet
from streameval.windows.base import A, Window, changed_while_reading
from streameval.windows.encoding import SavedWindow
from streameval.windows.times import Clock, Time, agreed, saved_clock, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike


class WindowState(NamedTuple, Generic[A]):
    """What changes; replaced as a whole, but for what blocks count.

    Attributes
    ----------
    newest
        The number of the block in progress; None before the first time.
    blocks
        The blocks that have examples, by number.
    aware
        Whether times have a time zone.
    latest
        The latest time, if it matters.
    """

    newest: int | None
    blocks: dict[int, A]
    aware: bool | None = None
    latest: int = ALWAYS


class Blocks(Window[A]):
    """Blocks of ``size`` examples, or of a period if there is a clock; the newest and ``keep`` before it are stored."""

    __slots__ = ("_bounds", "_cell", "_clock", "_keep", "_origin", "_size", "_zone")
    _fades: ClassVar[bool] = False
    _clock: Clock | None
    _size: int
    _keep: int
    _origin: int
    _zone: bool | None  # whether the origin has a time zone, if it was given
    _cell: commit.Cell  # of a `WindowState`
    # Where the last example was: the first key of a block and of the next, its number and its start.
    _bounds: tuple[int, int, int, int | Fraction | float]

    @property
    @abstractmethod
    def _span_name(self) -> str:
        """How the user named the length of a block."""

    def _weighed(self, batch: Batch, places: FloatArray) -> Batch:  # noqa: ARG002
        """Examples each of which weighs what it does in its block; ``places`` say how far into it they are."""
        return batch

    def _seen(self, latest: int, key: int) -> int:  # noqa: ARG002
        """The latest time, if it matters."""
        return ALWAYS

    def _begin(self, evaluator: A, clock: Clock | None, size: int, keep: int, origin: int, zone: bool | None) -> None:
        self._clock, self._size, self._keep, self._origin, self._zone = clock, size, keep, origin, zone
        self._bounds = _NOWHERE
        self._template = template_of(evaluator, type(self).__name__)
        self.reset()

    def reset(self) -> None:
        """Forget every example, and the time."""
        self._cell = commit.Root().cell(WindowState(None if self._clock else 0, {}))

    # -- where an example belongs -------------------------------------------------------------------------------------

    def _exact_origin(self) -> int | Fraction:
        return 0 if self._clock is None else self._clock.exact(self._origin)

    def _edges(self, index: int) -> tuple[int | Fraction, int | Fraction]:
        """Where a block starts and ends."""
        period = self._size if self._clock is None else self._clock.exact_period()
        start = self._exact_origin() + index * period
        return start, start + period

    def _index(self, clock: Clock, key: int, t: object) -> int:
        """The block of a time."""
        low, high, index, _ = self._bounds
        if not low <= key < high:
            index = int((clock.exact(key) - self._exact_origin()) // clock.exact_period())
            if abs(index) >= 2**62:
                raise InputError(f"t {quoted(t)} is more than 2**62 periods from the origin")
            try:
                start, end = self._edges(index)
                clock.value(start, None), clock.value(end, None)
                self._bounds = clock.ceil(start), clock.ceil(end), index, clock.plain(start)
            except OverflowError:
                raise InputError(f"t {quoted(t)} is too near the end of all times") from None
        return index

    def _place(self, clock: Clock, key: int, index: int) -> float:
        """How far into its block a time is, from 0 to 1."""
        bounds = self._bounds
        return clock.part(key, bounds[3] if bounds[2] == index and bounds[0] < bounds[1] else self._edges(index)[0])

    def _position(self, state: WindowState[A]) -> int:
        """How many examples there were, where blocks are of so many."""
        newest = state.newest or 0
        block = state.blocks.get(newest)
        return newest * self._size + (0 if block is None else block.examples)

    def _check(self, state: WindowState[A], index: int, aware: bool | None, name: str) -> None:
        """Raise if a time cannot be taken in."""
        if self._zone is not None:
            agreed(aware, self._zone)
        if state.newest is None:
            return
        agreed(aware, state.aware)
        if index < state.newest - self._keep:
            raise InputError(
                f"{name} is too late: its window is {state.newest - index} before the one in progress, and "
                f"{self._keep} are kept; keep more, or leave it out"
            )

    # -- changing -----------------------------------------------------------------------------------------------------

    @property
    def _state(self) -> WindowState[A]:
        """What is in the window; a block of examples that is full is over."""
        state: WindowState[A] = self._cell.value
        if self._clock is None and state.newest is not None:
            block = state.blocks.get(state.newest)
            if block is not None and block.examples >= self._size:
                return self._pruned(state._replace(newest=state.newest + 1))
        return state

    def _become(self, state: WindowState[A]) -> WindowState[A]:
        if state is not self._cell.value:
            commit.Root.commit([self._cell.prepare_store(state)])
        return state

    def _pruned(self, state: WindowState[A]) -> WindowState[A]:
        oldest = (state.newest or 0) - self._keep
        if min(state.blocks, default=oldest) >= oldest:
            return state
        return state._replace(blocks={index: block for index, block in state.blocks.items() if index >= oldest})

    def update(
        self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None, t: Time | None = None
    ) -> None:
        """Count one example, as `Evaluator.update` does.

        Parameters
        ----------
        y_true, y_pred, weight, mask
            As for `Evaluator.update`.
        t
            When it was, if windows are of time: a datetime, date or numpy.datetime64 where the length is a timedelta,
            else a number. It need not be the latest.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood, or ``t`` is missing, has no meaning or is too late. Nothing has
            changed then.
        """
        place = state, index, _, _ = self._where(t)
        block = state.blocks.get(index)
        plain = mask is None and type(weight) in NUMBERS and weight == 1 and not self._fades
        if not (plain and block is not None and core_of(block).fast_count(y_true, y_pred, 1)):
            commit.Root.commit(self._prepare_at(place, y_true, y_pred, weight, mask))

    def _prepare(
        self, y_true: object, y_pred: object, *, weight: float = 1.0, mask: object = None, t: Time | None = None
    ) -> list[Part]:
        """Prepare what `update` does, for a commit that follows at once."""
        return self._prepare_at(self._where(t), y_true, y_pred, weight, mask)

    def _where(self, t: Time | None) -> tuple[WindowState[A], int, int, bool | None]:
        """What is in the window, the block of a time, its key, and whether it has a time zone."""
        state, clock = self._become(self._state), self._clock
        if clock is None:
            if t is not None:
                raise self._no_time()
            return state, state.newest or 0, ALWAYS, None
        if t is None:
            raise self._time_missing("t")
        key, aware = clock.key(t)
        index = self._index(clock, key, t)
        self._check(state, index, aware, "t")
        return state, index, key, aware

    def _prepare_at(
        self,
        place: tuple[WindowState[A], int, int, bool | None],
        y_true: object,
        y_pred: object,
        weight: float,
        mask: object,
    ) -> list[Part]:
        state, index, key, aware = place
        block = state.blocks.get(index)
        counting = self._template.copy() if block is None else block
        before, weight = counting.examples, self._weigh(index, key, block, weight)
        parts = core_of(counting).prepare_one(y_true, y_pred, weight, mask, 1)
        if self._cell.value is not state or counting.examples != before:
            raise changed_while_reading()
        latest = self._seen(state.latest, key)
        if block is None:
            newest = index if state.newest is None else max(index, state.newest)
            state = self._pruned(WindowState(newest, {**state.blocks, index: counting}, aware, latest))
        elif latest != state.latest:
            state = state._replace(latest=latest)
        else:
            return parts
        return [*parts, self._cell.prepare_store(state)]

    def _weigh(self, index: int, key: int, block: A | None, weight: float) -> float:  # noqa: ARG002
        """What an example weighs in its block."""
        return weight

    def update_many(
        self,
        y_true: object,
        y_pred: object,
        *,
        weights: ArrayLike | None = None,
        mask: object = None,
        times: ArrayLike | Iterable[Time] | None = None,
    ) -> None:
        """Count many examples, as `Evaluator.update_many` does: the same as one by one, or none if anything is wrong.

        Parameters
        ----------
        y_true, y_pred, weights, mask
            As for `Evaluator.update_many`.
        times
            One time per example, as for `update`, if windows are of time.

        Raises
        ------
        InputError, LabelError
            If an argument cannot be understood, lengths differ, or times are missing, have no meaning or are too late.
            Nothing has changed then.
        """
        state = self._become(self._state)
        first, before = self._position(state), _examples(state)
        keys, index, places, aware = self._places(state, times)
        gathered = core_of(self._template).scratch()
        states: dict[int, StateSet] = {}
        examples = 0
        for batch in gathered.read_many(y_true, y_pred, weights, mask):
            some = slice(examples, examples + batch.examples)
            examples = some.stop
            if keys is None:
                place = first + np.arange(some.start, some.stop)
                within = place // self._size
                weighed = self._weighed(batch, (place % self._size) / self._size)
            elif examples > len(keys):
                raise InputError(f"times has {len(keys)} entries for {examples} examples or more; give one per example")
            else:
                within = index[some]
                weighed = self._weighed(batch, places[some])
            bounds = [0, *(np.flatnonzero(np.diff(within)) + 1).tolist(), batch.examples]
            for start, stop in pairwise(bounds):
                part, number = weighed.part(start, stop), int(within[start])
                if number not in states:
                    states[number] = gathered.states.empty_like()
                states[number].count(part)
        if keys is not None and examples != len(keys):
            raise InputError(f"times has {len(keys)} entries for {examples} examples; give one per example")
        if self._cell.value is not state or _examples(state) != before:
            raise changed_while_reading()
        if not examples:
            return
        newest = max(states) if state.newest is None else max(state.newest, *states)
        blocks = dict(state.blocks)
        for number, added in states.items():
            if number >= newest - self._keep:
                block = blocks[number].copy() if number in blocks else self._template.copy()
                core_of(block).states.merge(added)
                blocks[number] = block
        if keys is None:
            newest = (first + examples) // self._size
            aware = None
        latest = state.latest if keys is None else self._seen(state.latest, int(keys.max()))
        self._become(self._pruned(WindowState(newest, blocks, aware, latest)))

    def _places(
        self, state: WindowState[A], times: object
    ) -> tuple[IntArray | None, IntArray, FloatArray, bool | None]:
        """Keys, blocks, places within blocks, and whether there is a time zone; no keys if blocks are not of time."""
        clock, nothing = self._clock, np.zeros(0, np.int64)
        if clock is None:
            if times is not None:
                raise self._no_time()
            return None, nothing, np.zeros(0), None
        if times is None:
            raise self._time_missing("times")
        keys, aware = clock.keys(times)
        if not len(keys):
            return keys, nothing, np.zeros(0), None
        index, places = clock.places(keys, self._exact_origin())
        try:
            for edge in (int(index.min()), int(index.max())):
                clock.value(self._edges(edge)[0], None), clock.value(self._edges(edge)[1], None)
        except OverflowError:
            raise InputError("times are too near the end of all times") from None
        newest = np.maximum.accumulate(index if state.newest is None else np.maximum(index, state.newest))
        late = np.flatnonzero(index < newest - self._keep)
        self._check(state, int(index[0]), aware, "times[0]")
        if len(late):
            self._check(
                state._replace(newest=int(newest[late[0]])), int(index[late[0]]), state.aware, f"times[{late[0]}]"
            )
        return keys, index, places, aware

    def advance(self, t: Time) -> None:
        """Let time pass without an example.

        Raises
        ------
        InputError
            If ``t`` goes back, or windows are not of time.
        """
        state, clock = self._state, self._clock
        if clock is None:
            raise self._no_time()
        key, aware = clock.key(t)
        index = self._index(clock, key, t)
        self._check(state, max(index, state.newest or index), aware, "t")
        if state.newest is not None and (index < state.newest or key < state.latest):
            raise InputError(f"t goes back: {quoted(t)} is before the time so far")
        self._become(self._pruned(WindowState(index, state.blocks, aware, self._seen(state.latest, key))))

    def merge(self, other: Self) -> None:
        """Add the examples of another window, block by block. The other stays as it is.

        Exact, and the same in any order and grouping, where windows are of time.

        Raises
        ------
        MergeError
            If windows are of a number of examples, the two were built differently, or only one has times with a time
            zone. Nothing has changed then.
        """
        self._check_compatible(other)
        if self._clock is None:
            raise MergeError(
                f"cannot merge: windows of {self._size} examples of two streams have no common order; merge snapshots, "
                "or build windows of time"
            )
        mine, theirs = self._state, other._state
        if theirs.newest is None:
            return
        if mine.newest is not None and mine.aware is not theirs.aware:
            raise MergeError("cannot merge: only one of the two has times with a time zone; give all times alike")
        blocks = dict(mine.blocks)
        for index, block in theirs.blocks.items():
            both = block.copy()
            if index in blocks:
                both.merge(blocks[index])
            blocks[index] = both
        newest = theirs.newest if mine.newest is None else max(mine.newest, theirs.newest)
        self._become(self._pruned(WindowState(newest, blocks, theirs.aware, max(mine.latest, theirs.latest))))

    def unmerge(self, other: Self) -> None:
        """Take out the examples of another window: the exact inverse of `merge`. The other stays as it is.

        Raises
        ------
        MergeError
            If the two cannot be merged, or the other reaches to the time so far: how far the rest reaches, and what
            it had evicted until then, is not known. Nothing has changed then.
        RevertError
            If the counts show that the other was not merged. Nothing has changed then.
        """
        self._check_compatible(other, "unmerge")
        if self._clock is None:
            raise MergeError(
                f"cannot unmerge: windows of {self._size} examples of two streams have no common order, so they are "
                "never merged"
            )
        mine, theirs = self._state, other._state
        if theirs.newest is None:
            return
        if mine.newest is None or mine.newest < theirs.newest or mine.aware is not theirs.aware:
            raise RevertError("cannot unmerge: the other window has times that this one does not have")
        blocks = dict(mine.blocks)
        for index, block in theirs.blocks.items():
            if index < mine.newest - self._keep:
                continue  # evicted when the two were merged
            if index not in blocks:
                raise RevertError(f"cannot unmerge: window {index} has no examples here")
            rest = blocks.pop(index).copy()
            rest.unmerge(block)
            if rest.examples:
                blocks[index] = rest
        if mine.newest not in blocks or (mine.latest != ALWAYS and mine.latest == theirs.latest):
            raise MergeError(
                "cannot unmerge: the other window reaches to the time so far, and how far the rest reaches, and what "
                "it had evicted, is not known; unmerge older shards only"
            )
        self._become(mine._replace(blocks=blocks))

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent window with the same content."""
        twin = self._empty_like()
        state = self._state
        twin._clock, twin._size, twin._keep, twin._origin = self._clock, self._size, self._keep, self._origin
        twin._zone = self._zone
        twin._bounds = _NOWHERE
        blocks = {index: block.copy() for index, block in state.blocks.items()}
        twin._cell = commit.Root().cell(state._replace(blocks=blocks))
        return twin

    def _saved(self) -> SavedWindow:
        state, clock = self._state, self._clock
        newest = ALWAYS if state.newest is None else state.newest
        kind, period = (2, self._size) if clock is None else clock.saved()
        aware = 2 if state.newest is None or state.aware is None else int(state.aware)
        zone = 2 if self._zone is None else int(self._zone)
        numbers = (kind, period, self._origin, zone, self._keep, newest, aware, state.latest)
        blocks = sorted(state.blocks.items())
        contents = tuple((index, core_of(block).states.content()) for index, block in blocks)
        return SavedWindow(saved_empty(self._template), numbers, contents)

    def _restore(self, saved: SavedWindow) -> None:
        kind, period, self._origin, zoned, self._keep, newest, aware, latest = saved.numbers
        self._clock = None if kind == 2 else saved_clock(kind, period, "length")
        self._size = whole(period, "length") if self._clock is None else 0
        self._bounds = _NOWHERE
        whole(self._keep, "keep", 0)
        blocks = {index: from_contents(self._template, contents) for index, contents in saved.blocks}
        started = newest != ALWAYS
        zone, self._zone = (None if code == 2 else bool(code) for code in (aware, zoned))
        self._cell = commit.Root().cell(WindowState(newest if started else None, blocks, zone, latest))
        fits = all(newest - self._keep <= index <= newest and block.examples for index, block in blocks.items())
        if self._clock is None:
            closed = range(max(0, newest - self._keep), newest) if started else range(0)
            fits = fits and started and latest == ALWAYS and not self._origin and zone is None is self._zone
            fits = fits and len(blocks) in (len(closed), len(closed) + 1) and blocks.keys() >= set(closed)
            fits = fits and all(block.examples == self._size for index, block in blocks.items() if index < newest)
            fits = fits and (newest not in blocks or blocks[newest].examples < self._size)
        else:
            fits = fits and self._clock.holds(self._origin) and (zone is None) == (kind == 1 or not started)
            fits = fits and (self._zone is None or (kind == 0 and zone in (None, self._zone)))
            if started:
                start, end = self._edges(newest)
                self._clock.value(start, None), self._clock.value(end, None)
            fits = fits and (started or (not blocks and latest == ALWAYS)) and self._fits(newest, latest)
        if not fits:
            raise FormatError("the windows contradict each other")

    def _fits(self, newest: int, latest: int) -> bool:  # noqa: ARG002
        """Whether the latest time can be what it is."""
        return latest == ALWAYS

    # -- errors -------------------------------------------------------------------------------------------------------

    def _no_time(self) -> InputError:
        return InputError(
            f"{type(self).__name__} with {self._span_name}={self._size} counts examples, so a time has no meaning; "
            "leave it out, or give the length as a timedelta or a float"
        )

    def _time_missing(self, name: str) -> InputError:
        length = None if self._clock is None else self._clock.span()
        return InputError(
            f"{name} is missing: {type(self).__name__} with {self._span_name}={length!r} needs the time of each example"
        )


def _examples(state: WindowState[Any]) -> int:
    return sum(block.examples for block in state.blocks.values())


_NOWHERE = (0, 0, 0, 0)
