"""Windows that follow each other: each example belongs to one, by its number or by its time.

Windows of time are aligned to an origin, so windows of two streams can be merged by their number. Those of a number of
examples cannot: the tenth example of a shard is not the tenth of the whole.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Generic, NamedTuple, Self

import numpy as np

from streameval.errors import FormatError, InputError, MergeError, RevertError
from streameval.evaluation.counting import core_of, from_contents
from streameval.kernel.types import FloatArray, IntArray
from streameval.schema.batch import Batch
from streameval.schema.text import quoted
from streameval.states.history import ALWAYS
from streameval.states.state_set import StateSet
from streameval.windows.base import A, Window
from streameval.windows.encoding import SavedWindow
from streameval.windows.times import Clock, Time, agreed, saved_clock, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

__all__ = ["Blocks"]


class Held(NamedTuple, Generic[A]):
    """What changes; replaced as a whole.

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
    """Blocks of ``size`` examples, or of a period if there is a clock; the newest, and ``keep`` before it, are held."""

    __slots__ = ("_bounds", "_changes", "_clock", "_held", "_keep", "_noted", "_origin", "_size", "_watched", "_zone")
    _clock: Clock | None
    _size: int
    _keep: int
    _origin: int
    _zone: bool | None  # whether the origin has a time zone, if it was given
    _held: Held[A]
    # Where the last example was: the first key of a block and of the next, its number and its start.
    _bounds: tuple[int, int, int, int | Fraction | float]
    # The state of a block that is about to count, its examples before, and what is to be the latest time then: an
    # interruption may come between. Noted only where this matters, or marks were asked for.
    _noted: tuple[Held[A], StateSet, int, int] | None
    _changes: int  # how often a noted block has been found to have counted
    _watched: bool  # whether marks were asked for

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
        self._begin_calls()
        self._start(evaluator)
        self._held = Held(None if clock else 0, {})

    def _begin_calls(self) -> None:
        """What is only kept from one call to the next: nothing so far."""
        self._bounds, self._noted, self._changes, self._watched = _NOWHERE, None, 0, False

    def reset(self) -> None:
        """Forget every example, and the time."""
        self._held = Held(None if self._clock else 0, {})

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

    def _position(self, held: Held[A]) -> int:
        """How many examples there were, where blocks are of so many."""
        newest = held.newest or 0
        block = held.blocks.get(newest)
        return newest * self._size + (0 if block is None else block.examples)

    def _check(self, held: Held[A], index: int, aware: bool | None, name: str) -> None:
        """Raise if a time cannot be taken in."""
        if self._zone is not None:
            agreed(aware, self._zone)
        if held.newest is None:
            return
        agreed(aware, held.aware)
        if index < held.newest - self._keep:
            raise InputError(
                f"{name} is too late: its window is {held.newest - index} before the one in progress, and {self._keep} "
                "are kept; keep more, or leave it out"
            )

    # -- changing -----------------------------------------------------------------------------------------------------

    def _settled(self) -> Held[A]:
        """What is held, after closing a block that is full."""
        held = self._held
        if self._noted is not None:
            before, changed, examples, latest = self._noted
            if changed.examples != examples:
                self._changes += 1
                if before is held and latest != held.latest:
                    held = self._held = held._replace(latest=latest)
            self._noted = None
        if self._clock is None and held.newest is not None:
            block = held.blocks.get(held.newest)
            if block is not None and block.examples >= self._size:
                held = self._held = self._pruned(held._replace(newest=held.newest + 1))
        return held

    def _mark(self) -> tuple[Held[A], int]:
        """What every update changes; see `Feed.mark`. It takes as long however many blocks are kept."""
        self._watched = True
        held = self._settled()
        return held, self._changes

    def _pruned(self, held: Held[A]) -> Held[A]:
        oldest = (held.newest or 0) - self._keep
        if min(held.blocks, default=oldest) >= oldest:
            return held
        return held._replace(blocks={index: block for index, block in held.blocks.items() if index >= oldest})

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
        held, clock = self._settled(), self._clock
        if clock is None:
            if t is not None:
                raise self._no_time()
            index, key, aware = held.newest or 0, ALWAYS, None
        else:
            if t is None:
                raise self._time_missing("t")
            key, aware = clock.key(t)
            index = self._index(clock, key, t)
            self._check(held, index, aware, "t")
        block = held.blocks.get(index)
        weight = self._weigh(index, key, block, weight)
        latest = self._seen(held.latest, key)
        if block is None:
            # Not held before it has counted, so that both happen at once.
            fresh = self._template.copy()
            self._count(held, fresh, y_true, y_pred, weight, mask, None)
            newest = index if held.newest is None else max(index, held.newest)
            self._held = self._pruned(Held(newest, {**held.blocks, index: fresh}, aware, latest))
            return
        self._count(held, block, y_true, y_pred, weight, mask, latest)
        if latest != held.latest:
            self._held = held._replace(latest=latest)
            self._noted = None

    def _count(
        self, held: Held[A], block: A, y_true: object, y_pred: object, weight: object, mask: object, latest: int | None
    ) -> None:
        """Count an example in a block, unless reading it changes the window; a block with no ``latest`` is not held."""
        core, states = core_of(block), core_of(block).states
        before = states.examples
        noted = None
        if latest is not None and (self._watched or latest != held.latest):
            noted = self._noted = held, states, before, latest

        def check() -> None:
            if self._settled() is not held or states.examples != before:
                raise _meddled()
            self._noted = noted

        core.count_one(y_true, y_pred, weight, mask, 1, check)

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
        held = self._settled()
        first = self._position(held)
        keys, index, places, aware = self._places(held, times)
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
                state = states.get(number)
                if state is None:
                    state = states[number] = gathered.states.empty_like()
                state.count(part)
        if keys is not None and examples != len(keys):
            raise InputError(f"times has {len(keys)} entries for {examples} examples; give one per example")
        if self._settled() is not held or (keys is None and self._position(held) != first):
            raise _meddled()
        if not examples:
            return
        newest = max(states) if held.newest is None else max(held.newest, *states)
        blocks = dict(held.blocks)
        for number, state in states.items():
            if number >= newest - self._keep:
                block = blocks[number].copy() if number in blocks else self._template.copy()
                core_of(block).states.merge(state)
                blocks[number] = block
        if keys is None:
            newest = (first + examples) // self._size
            aware = None
        latest = held.latest if keys is None else self._seen(held.latest, int(keys.max()))
        self._held = self._pruned(Held(newest, blocks, aware, latest))

    def _places(self, held: Held[A], times: object) -> tuple[IntArray | None, IntArray, FloatArray, bool | None]:
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
        newest = np.maximum.accumulate(index if held.newest is None else np.maximum(index, held.newest))
        late = np.flatnonzero(index < newest - self._keep)
        self._check(held, int(index[0]), aware, "times[0]")
        if len(late):
            self._check(
                held._replace(newest=int(newest[late[0]])), int(index[late[0]]), held.aware, f"times[{late[0]}]"
            )
        return keys, index, places, aware

    def advance(self, t: Time) -> None:
        """Let time pass without an example.

        Raises
        ------
        InputError
            If ``t`` goes back, or windows are not of time.
        """
        held, clock = self._settled(), self._clock
        if clock is None:
            raise self._no_time()
        key, aware = clock.key(t)
        index = self._index(clock, key, t)
        self._check(held, max(index, held.newest or index), aware, "t")
        if held.newest is not None and (index < held.newest or key < held.latest):
            raise InputError(f"t goes back: {quoted(t)} is before the time so far")
        self._held = self._pruned(Held(index, held.blocks, aware, self._seen(held.latest, key)))

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
        mine, theirs = self._settled(), other._settled()
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
        self._held = self._pruned(Held(newest, blocks, theirs.aware, max(mine.latest, theirs.latest)))

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
        mine, theirs = self._settled(), other._settled()
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
        self._held = mine._replace(blocks=blocks)

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent window with the same content."""
        twin = self._beside()
        held = self._settled()
        twin._clock, twin._size, twin._keep, twin._origin = self._clock, self._size, self._keep, self._origin
        twin._zone = self._zone
        twin._begin_calls()
        twin._held = held._replace(blocks={index: block.copy() for index, block in held.blocks.items()})
        return twin

    def _saved(self) -> SavedWindow:
        held, clock = self._settled(), self._clock
        newest = ALWAYS if held.newest is None else held.newest
        kind, period = (2, self._size) if clock is None else clock.saved()
        aware = 2 if held.newest is None or held.aware is None else int(held.aware)
        zone = 2 if self._zone is None else int(self._zone)
        numbers = (kind, period, self._origin, zone, self._keep, newest, aware, held.latest)
        blocks = sorted(held.blocks.items())
        contents = tuple((index, core_of(block).states.content()) for index, block in blocks)
        return SavedWindow(self._template._saved_empty(), numbers, contents)

    def _restore(self, saved: SavedWindow) -> None:
        kind, period, self._origin, zoned, self._keep, newest, aware, latest = saved.numbers
        self._clock = None if kind == 2 else saved_clock(kind, period, "length")
        self._size = whole(period, "length") if self._clock is None else 0
        self._begin_calls()
        whole(self._keep, "keep", 0)
        blocks = {index: from_contents(self._template, contents) for index, contents in saved.blocks}
        started = newest != ALWAYS
        zone, self._zone = (None if code == 2 else bool(code) for code in (aware, zoned))
        self._held = Held(newest if started else None, blocks, zone, latest)
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


_NOWHERE = (0, 0, 0, 0)


def _meddled() -> InputError:
    return InputError("this window was changed by the very examples that it was reading; copy them first")
