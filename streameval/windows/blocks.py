"""Consecutive blocks of examples, each with its own counts: the base of tumbling and fading windows."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import ClassVar, Generic, NamedTuple, Self

import numpy as np

from streameval.errors import InputError, MergeError, RevertError
from streameval.evaluation.core import SEQUENCES, Core, Reading, core_of
from streameval.evaluation.counting import A, built_like
from streameval.evaluation.encoding import put_part, take_part
from streameval.evaluation.guarding import changes, combines, reads
from streameval.inputs.columns import Reader
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE, OTHER, FloatArray
from streameval.schema.batch import Batch
from streameval.schema.config import NULLS, Null, Weight
from streameval.schema.input_notes import notes_of
from streameval.states.base import COUNT_MAX, Part
from streameval.states.history import ALWAYS
from streameval.states.state_set import StateSet
from streameval.windows.base import Examples, Window
from streameval.windows.times import Moment, Moments, Time, agreed, saved_clock, whole
from streameval.wire.fields import Sink, Source, require, zigzag

_PLAIN = (float, int, np.float64)  # weights that can be multiplied without running code of the user


class WindowState(NamedTuple, Generic[A]):
    """The content of the cell: blocks count in place, any other change replaces it as a whole."""

    newest: int | None  # the number of the block in progress; None before the first time
    blocks: dict[int, A]  # those with examples, by number
    aware: bool | None = None  # whether times have a time zone
    latest: int = ALWAYS  # the latest time; ALWAYS unless weights fade with time


class Blocks(Window[A]):
    """Blocks of one period of the clock; the newest and ``history`` blocks before it are stored.

    The key of an example, its number or its time, decides its block. Blocks of time start at multiples of the period,
    so two streams can be merged. Blocks of n examples cannot: example 10 of a shard is not example 10 of the stream.
    """

    __slots__ = ("_history",)
    _fades: ClassVar[bool] = False
    _history: int

    def _weight_at(self, part: float, weight: float) -> float:  # noqa: ARG002
        """The weight of an example in its block; ``part`` is its position there, from 0 to 1."""
        return weight

    def _weighed(self, batch: Batch, parts: FloatArray) -> Batch:  # noqa: ARG002
        """The examples with their weights in their blocks; ``parts`` are their positions there, from 0 to 1."""
        return batch

    def _seen(self, latest: int, key: int) -> int:
        """The new latest time; ALWAYS unless weights fade with time."""
        return max(latest, key) if self._fades and self.timed else ALWAYS

    def _empty(self) -> WindowState[A]:
        return WindowState(None if self.timed else 0, {})

    def _owned(self, states: StateSet | None = None, reader: Reader | None = None) -> A:
        """A block with these states, or an empty one, under the guard of the window."""
        block = built_like(self._template, states, self._guard)
        core_of(block).table.most = self._most(reader)
        return block

    def _most(self, reader: Reader | None = None) -> int:
        """How many examples the fast path may count: 0 while more of them are to be noted than ``reader`` has."""
        stop = notes_of(self._guard).stop(reader.noted if reader else 0)
        return stop and (COUNT_MAX if self.timed else self._clock.period)

    def _look(self) -> None:
        super()._look()
        if notes_of(self._guard).room:
            for block in self._state.blocks.values():
                core_of(block).table.most = 0

    def _edges(self, index: int, aware: bool | None = None) -> tuple[datetime | float, datetime | float]:
        """The start and end of a block, as example numbers or as times in the user's type."""
        clock = self._clock
        period = clock.exact(clock.saved()[1])
        try:
            return clock.value(index * period, aware), clock.value((index + 1) * period, aware)
        except OverflowError:
            name, length = next(iter(self._parameters().items()))
            raise InputError(f"t and {name}={length!r} are too near the last time that can be stored") from None

    def _position(self, state: WindowState[A]) -> int:
        """How many examples were counted so far, if blocks are of a number of examples."""
        newest, size = state.newest or 0, self._clock.period
        block = state.blocks.get(newest)
        position: int = newest * size + (0 if block is None else core_of(block).table.examples)
        return position

    def _check_zone(self, state: WindowState[A], aware: bool | None) -> None:
        if state.newest is not None:
            agreed(aware, state.aware)

    def _check_late(self, index: int, newest: int | None, name: str) -> None:
        if newest is not None and index < newest - self._history:
            what, advice = ("half-life", "") if self._fades else ("window", "give a larger history=, or ")
            late = f"{name} is too late: its {what} is {newest - index} before the one in progress"
            raise InputError(f"{late}, and {self._history} are stored; {advice}leave it out")

    @property
    def _state(self) -> WindowState[A]:
        """The content of the window; a full block of a number of examples is no longer the newest."""
        state: WindowState[A] = self._cell.value
        if not self._clock.timed and (newest := self._position(state) // self._clock.period) != state.newest:
            return self._pruned(state._replace(newest=newest))
        return state

    def _become(self, state: WindowState[A], forms: Iterable[Part] = ()) -> None:
        state, replaced = self._pruned(state), self._cell.value.blocks
        gone = [block for index, block in replaced.items() if state.blocks.get(index) is not block]
        retired = [core_of(block).states.root.prepare_retire() for block in gone]
        commit.Root.commit([self._cell.prepare_store(state), *retired, *forms])

    def _pruned(self, state: WindowState[A]) -> WindowState[A]:
        oldest = (state.newest or 0) - self._history
        if min(state.blocks, default=oldest) >= oldest:
            return state
        return state._replace(blocks={index: block for index, block in state.blocks.items() if index >= oldest})

    def _count_fast(self, y_true: object, y_pred: object, weight: Weight, mask: object, t: Time | None) -> int:
        time = self._time(t)
        if self._fades:  # the weight depends on the number of examples before it: hold the guard
            try:
                with self._guard:
                    if (parts := self._prepare_plain(y_true, y_pred, weight, mask, time)) is not None:
                        commit.Root.commit(parts)
                        return DONE
            except InputError:  # about the time; errors of the example are reported first
                pass
            return OTHER
        if time is None:  # the newest block, whose fast path declines once it is full
            state: WindowState[A] = self._cell.value
            index = state.newest or 0
        else:
            state, index, _ = self._where(time)
        if index not in state.blocks:
            return OTHER
        return core_of(state.blocks[index]).fast_count(y_true, y_pred, weight, mask, 1)

    def _where(self, time: Moment | None) -> tuple[WindowState[A], int, float]:
        """The content of the window, the block of the next example, and its position there, from 0 to 1."""
        state: WindowState[A] = self._cell.value
        index, part = self._clock.place(self._position(state) if time is None else time[0])
        if time is not None:
            self._check_zone(state, time[1])
            self._check_late(index, state.newest, "t")
        if index not in state.blocks:
            self._edges(index)
        return state, index, part

    def _counters(self) -> Iterable[A]:
        return self._state.blocks.values()

    def _counting(self, time: Moment | None) -> Core:
        state = self._state
        index = max(state.blocks, default=0)  # for a new block, or fading, only its labels matter
        if not self._fades and (place := self._where(time)[1]) in state.blocks:
            index = place
        return core_of(self._block(state, index))

    def _block(self, state: WindowState[A], index: int) -> A:
        """The block of a number; a new one takes the labels of the newest stored one, unless most are unused."""
        if index in state.blocks:
            return state.blocks[index]
        newest = max(state.blocks, default=index)
        states = core_of(state.blocks[newest] if index - self._history <= newest < index else self._template).states
        return self._owned(None if states.mostly_unused() else states.empty_like(states.labels.copy()))

    def _prepare_plain(
        self, y_true: object, y_pred: object, weight: Weight, mask: object, time: Moment | None = None
    ) -> list[Part] | None:
        if self.timed and time is None:
            return None
        state, index, part = self._where(time)
        is_plain = not self._fades or (type(weight) in _PLAIN and 0 <= weight <= 2**53)
        if index not in state.blocks or not is_plain:
            return None
        weight = self._weight_at(part, weight)  # type: ignore[arg-type]  # plain if it changes
        parts = core_of(state.blocks[index]).prepare_plain(y_true, y_pred, weight, mask)
        return parts if parts is None or time is None else parts + self._prepare_latest(state, time)

    def _prepare_latest(self, state: WindowState[A], time: Moment | None) -> list[Part]:
        """Prepare to move the latest time to that of an example, whose block exists already."""
        if time is None or (latest := self._seen(state.latest, time[0])) == state.latest:
            return []
        return [self._cell.prepare_store(WindowState(state.newest, state.blocks, time[1], latest))]

    def _prepare(self, reading: Reading, time: Moment | None) -> list[Part]:
        state, index, part = self._where(time)
        block = self._block(state, index)
        core_of(block).table.most = self._most(reading[2])
        example, forms = core_of(block).placed(reading)
        if (weight := self._weight_at(part, example.weight)) != example.weight:
            example = example.weighing(weight)
        parts = core_of(block).states.prepare([(example, 1)]) + forms
        if index in state.blocks:
            return parts + self._prepare_latest(state, time)
        newest = index if state.newest is None else max(index, state.newest)
        latest, aware = (state.latest, None) if time is None else (self._seen(state.latest, time[0]), time[1])
        began = WindowState(newest, {**state.blocks, index: block}, aware, latest)
        return [*parts, self._cell.prepare_store(self._pruned(began))]

    def _extend(self, moments: Moments | None, examples: Examples, null: Null) -> None:
        state, (y_true, y_pred, weights, mask) = self._cell.value, examples
        if not (self.timed or self._fades) and weights is None and null in NULLS and state.newest in state.blocks:
            newest = core_of(state.blocks[state.newest])
            if type(y_true) not in SEQUENCES and newest.fast_count_many(y_true, y_pred, mask):  # if all fit
                return
        gathered = core_of(self._template).scratch(self._guard)
        gathered.reader.again |= self._fades  # weighing needs the cells of each batch
        self._append(gathered, list(gathered.read_many(*examples, null=null)), moments)

    @changes
    def _append(self, gathered: Core, batches: list[Batch], moments: Moments | None) -> None:
        state: WindowState[A] = self._cell.value
        keys, aware = (None, None) if moments is None else moments
        clock, newest, examples = self._clock, state.newest, 0
        self._check_times(moments, sum(batch.examples for batch in batches))
        if keys is None or len(keys):
            self._check_zone(state, aware)
        first, states = self._position(state), dict[int, StateSet]()
        for batch in batches:
            start, examples = examples, examples + batch.examples
            own_keys = np.arange(first + start, first + examples) if keys is None else keys[start:examples]
            index, parts = clock.places(own_keys)
            reached = np.maximum.accumulate(index if newest is None else np.maximum(index, newest))
            for row in np.flatnonzero(index < reached - self._history)[:1].tolist():
                self._check_late(int(index[row]), int(reached[row]), f"times[{start + row}]")
            newest, batch = int(reached[-1]), self._weighed(batch, parts)
            for low, high in pairwise([0, *(np.flatnonzero(np.diff(index)) + 1).tolist(), batch.examples]):
                number = int(index[low])
                if number not in states:
                    self._edges(number)
                    states[number] = gathered.states.empty_like()
                states[number].count(batch.take(slice(low, high)))
        if newest is None or not examples:
            return
        blocks, changes = dict(state.blocks), gathered.reader.confirm()
        for number, added in states.items():
            if number in blocks and number >= newest - self._history:
                changes += core_of(blocks[number]).prepare_merge(added)
            elif number >= newest - self._history:
                blocks[number] = self._owned(reader=gathered.reader)
                core_of(blocks[number]).merge(added)
        latest = state.latest if keys is None else self._seen(state.latest, int(keys.max()))
        self._become(WindowState(newest, blocks, aware, latest), changes)

    def _pass(self, moment: Moment) -> None:
        (key, aware), state, clock = moment, self._cell.value, self._clock
        index, _ = clock.place(key)
        self._edges(index)
        self._check_zone(state, aware)
        if state.newest is not None and (index < state.newest or key < state.latest):
            raise InputError(f"t goes back: {clock.value(clock.exact(key), aware)} is before the time so far")
        self._become(WindowState(index, state.blocks, aware, self._seen(state.latest, key)))

    def _check_compatible(self, other: Self, verb: str = "merge") -> None:
        super()._check_compatible(other, verb)
        if not self.timed:
            windows = f"windows of {self._clock.period} examples of two streams have no common order"
            raise MergeError(f"cannot {verb}: {windows}; merge snapshots, or build windows of time")

    @combines
    def merge(self, other: Self) -> None:
        """Add the examples of another window of time, block by block. The other stays as it is.

        Exact, and the same in any order and grouping. `MergeError` if windows are of a number of examples, if their
        configurations differ, or only one has times with a time zone; nothing has changed then.
        """
        self._check_compatible(other)
        mine, theirs = self._state, other._state
        if theirs.newest is None:
            return
        if mine.newest is not None and mine.aware is not theirs.aware:
            raise MergeError("cannot merge: only one has times with a time zone; give all with one, or all without")
        blocks = dict(mine.blocks)
        for index, block in theirs.blocks.items():
            blocks[index] = self._owned(core_of(blocks.get(index, self._template) + block).states)
        newest = theirs.newest if mine.newest is None else max(mine.newest, theirs.newest)
        self._become(WindowState(newest, blocks, theirs.aware, max(mine.latest, theirs.latest)))

    @combines
    def unmerge(self, other: Self) -> None:
        """Take out the examples of another window: the exact inverse of `merge`.

        `MergeError` if the two cannot be merged, or the other reaches the latest time: the latest time of the rest, and
        what it had evicted by then, are unknown. `RevertError` if the counts show that the other was not merged.
        """
        self._check_compatible(other, "unmerge")
        mine, theirs = self._state, other._state
        if theirs.newest is None:
            return
        if mine.newest is None or mine.newest < theirs.newest or mine.aware is not theirs.aware:
            raise RevertError("cannot unmerge: the other window has times that this one does not have")
        blocks = dict(mine.blocks)
        for index, block in theirs.blocks.items():
            if index < mine.newest - self._history:
                continue  # evicted when the two were merged
            if index not in blocks:
                raise RevertError(f"cannot unmerge: window {index} has no examples in this object")
            rest = blocks.pop(index) - block
            if rest.examples:
                blocks[index] = self._owned(core_of(rest).states)
        # Where no latest time is stored, only an example in the newest block shows that the rest reaches it.
        if mine.latest <= theirs.latest and (mine.latest != ALWAYS or mine.newest == theirs.newest not in blocks):
            raise MergeError(
                "cannot unmerge: the other window reaches the latest time, so the latest time of the rest, and what it "
                "had evicted by then, are unknown; unmerge older shards only"
            )
        self._become(mine._replace(blocks=blocks))

    @reads
    def copy(self) -> Self:
        """An independent window with the same content."""
        result, state = self._like(), self._state
        blocks = {index: result._owned(core_of(block).states.copy()) for index, block in state.blocks.items()}
        result._cell = commit.Root().cell(state._replace(blocks=blocks))
        return result

    def _numbers(self) -> tuple[int, ...]:
        state = self._state
        aware, newest = 2 if state.aware is None else int(state.aware), ALWAYS if state.newest is None else state.newest
        return *self._clock.saved(), *_START, self._history, newest, aware, state.latest

    def _put(self, sink: Sink) -> None:
        blocks = self._state.blocks
        sink.varint(len(blocks))
        for index, block in sorted(blocks.items()):
            sink.append(zigzag(index))
            put_part(sink, core_of(block))

    def _take(self, source: Source, *numbers: int) -> None:
        kind, period, *start, self._history, newest, code, latest = numbers
        self._clock = saved_clock(kind, period)
        whole(self._history, "history", 0)
        require(code in (0, 1, 2), start == _START)
        aware = None if code == 2 else bool(code)
        blocks = dict[int, A]()
        for _ in range(source.count()):
            index = source.integer_of_64_bits()
            require(index > max(blocks, default=index - 1))
            blocks[index] = self._owned(take_part(source, core_of(self._template).config))
        started = newest != ALWAYS
        state = WindowState(newest if started else None, blocks, aware, latest)
        self._cell = commit.Root().cell(state)
        require(*(newest - self._history <= index <= newest and block.examples for index, block in blocks.items()))
        require(self._seen(ALWAYS, latest) == latest, (aware is None) == (kind != 0 or not started))
        require(started or (not blocks and latest == ALWAYS))
        if not self.timed:
            past = {index: block.examples for index, block in blocks.items() if index < newest}
            require(len(past) == min(self._history, newest), self._state is state)
            require(*(index >= 0 and examples == period for index, examples in past.items()))
        elif started:
            self._edges(newest)


# Bytes hold the offset of the first window and its time zone (2: none). All windows now start at multiples of the
# period; the two numbers stay in the format so that other offsets can be added.
_START = [0, 2]
