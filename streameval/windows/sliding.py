"""Sliding windows: the last examples, or those of the last hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np

from streameval.errors import InputError, MergeError, public
from streameval.evaluation.core import SEQUENCES, Core, Reading, core_of
from streameval.evaluation.counting import A, built_like
from streameval.evaluation.guarding import changes, combines, reads
from streameval.evaluation.suspicions import look_if_due, set_next_look
from streameval.inputs.values import array_within
from streameval.kernel.backend import commit
from streameval.kernel.types import DONE, OTHER
from streameval.schema.config import NULLS, Null, Weight
from streameval.schema.recording import Recording, stamps_of
from streameval.states.base import Part
from streameval.states.history import ALWAYS, History, RecentExamples
from streameval.windows.base import Examples, Window
from streameval.windows.times import Clock, Moment, Moments, Period, Time, agreed, clock_of, saved_clock, whole
from streameval.wire.envelope import ROLLING, TIME_ROLLING
from streameval.wire.fields import Sink, Source, require
from streameval.wire.recordings import put_recording, take_recording

_Now: TypeAlias = tuple[History, A, Core]  # the examples, the object that answers, its core
_ALL = 2**62
_EXAMPLES, _CELLS = 2**16, 2**20  # the most of decisions that one call counts: the tape may hold them all at once


class _Recent(Window[A]):
    """A window that stores its examples."""

    __slots__ = ("_aware", "_size")
    _size: int
    _aware: bool | None  # whether times have a time zone; means nothing before the first time

    @property
    def _now(self) -> _Now[A]:
        now: _Now[A] = self._cell.value
        return now

    def _limit(self, latest: int) -> int:
        """The latest time that is outside of the window."""
        return self._clock.before(latest) if self.timed and latest != ALWAYS else ALWAYS

    def _counted(self, recording: Recording, clock: int = ALWAYS) -> _Now[A]:
        return self._over(History(recording, core_of(self._template).states, timed=self.timed, clock=clock))

    def _over(self, history: History) -> _Now[A]:
        inner = built_like(self._template, history.states, self._guard)
        return history, inner, core_of(inner)

    def _empty(self) -> _Now[A]:
        return self._counted(Recording.empty(core_of(self._template).config.labels or ()))

    def _become(self, value: _Now[A], forms: Iterable[Part] = ()) -> None:
        retired = self._now[0].states.root.prepare_retire()
        commit.Root.commit([self._cell.prepare_store(value), retired, *forms])

    def _history(self) -> tuple[History, Core]:
        """The content of the window, rebuilt first if most of its labels are unused; the guard is held."""
        history, _, core = self._now
        if history.needs_compaction():
            self._become(self._counted(self._recording(history), history.clock.value))
            history, _, core = self._now
        return history, core

    def _recording(self, history: History) -> Recording:
        return history.recording(self._size, self._limit(history.latest))

    def _count_fast(self, y_true: object, y_pred: object, weight: Weight, mask: object, t: Time | None) -> int:
        history, _, core = self._cell.value
        if not core.fast_path:
            return OTHER
        labels = core.labels
        if t is None:
            return history.tape.slide(  # type: ignore[no-any-return]  # a code
                history.counts, labels.known, labels.fixed, y_true, y_pred, core.threshold, self._size, weight, mask
            )
        if (time := self._time(t)) is None or time[1] is not self._aware:
            return OTHER
        stamp, limit = time[0], self._clock.before(time[0])
        return history.tape.slide(  # type: ignore[no-any-return]
            history.counts, labels.known, labels.fixed, y_true, y_pred, core.threshold, self._size, weight, mask, stamp,
            limit,
        )  # fmt: skip

    def _counters(self) -> Iterable[A]:
        return self._now[1:2]

    def _renew(self) -> None:
        history, _, core = self._now
        if len(core.labels) > core.labels.fixed:
            self._become(self._counted(self._recording(history), history.clock.value))

    def _counting(self, time: Moment | None) -> Core:  # noqa: ARG002
        core = self._now[2]
        look_if_due(self._guard, core)
        return core

    def _prepare_plain(self, y_true: object, y_pred: object, weight: Weight, mask: object) -> list[Part] | None:
        history, core = self._history()
        labels, parts = core.labels, OTHER
        if core.fast_path and not self.timed:
            example = y_true, y_pred, core.threshold, self._size, weight, mask
            parts = history.tape.prepare_slide(history.counts, labels.known, labels.fixed, *example)
        return None if type(parts) is int else parts  # type: ignore[return-value]  # not a code

    def _prepare(self, reading: Reading, time: Moment | None) -> list[Part]:
        stamp, limit = (0, ALWAYS) if time is None else (self._check(time), self._clock.before(time[0]))
        history, core = self._history()
        set_next_look(self._guard, core, reading[2])
        placed, forms = core.placed(reading)
        return history.prepare_slide(placed, stamp, self._size, limit) + forms

    def _count_many_fast(self, moments: Moments | None, examples: Examples, null: Null) -> bool:
        """Count unweighted examples of common forms in one call of the kernel; False for any other input."""
        history, _, core = self._now
        true, pred, weights, mask = examples
        stamps, aware = moments or (None, self._aware)
        if not core.fast_path or weights is not None or mask is not None or null not in NULLS:
            return False
        if aware is not self._aware or (stamps is not None and not len(stamps)):
            return False
        if core.scored:
            y_true, y_pred = array_within(true), array_within(pred)
            if type(y_true) is not np.ndarray or type(y_pred) is not np.ndarray:
                return False
        elif (y_true := _few_rows(true)) is None or (y_pred := _few_rows(pred)) is None:
            return False
        limit = ALWAYS if stamps is None else self._clock.before(int(stamps[-1]))
        labels = core.labels
        code = history.tape.slide_many(
            history.counts, labels.known, labels.fixed, y_true, y_pred, core.threshold, self._size, stamps, limit
        )
        return bool(code == DONE)

    def _extend(self, moments: Moments | None, examples: Examples, null: Null) -> None:
        if self._count_many_fast(moments, examples, null):
            return
        gathered, size, stamps = self._counting(None).scratch(), self._size, None if moments is None else moments[0]
        if stamps is not None and len(stamps):
            if len(back := np.flatnonzero(stamps[1:] < stamps[:-1])):
                wrong = f"times goes back at position {int(back[0]) + 1}"
                raise InputError(f"{wrong}; give examples in the order of their times")
            size = int(np.count_nonzero(stamps > self._limit(int(stamps[-1]))))
        recent = RecentExamples(gathered.labels, size, scored=gathered.config.scored)
        gathered.reader.again = True
        for batch in gathered.read_many(*examples, null=null):
            recent.add(batch)
            if recent.examples <= recent.size:  # else all old examples leave, and `_append` counts the rest anew
                gathered.states.count(batch)
        self._check_times(moments, recent.examples)
        if recent.examples:
            self._append(gathered, recent, moments)
            set_next_look(self._guard, self._now[2])

    @changes
    def _append(self, gathered: Core, recent: RecentExamples, times: Moments | None) -> None:
        stamps, limit = None, ALWAYS
        if times is not None:
            stamps, aware = times
            self._check((int(stamps[0]), aware))
            limit = self._limit(int(stamps[-1]))
        forms = gathered.reader.confirm()
        history, _ = self._history()
        if recent.examples > recent.size or (recent.examples == recent.size and stamps is None):  # all old ones leave
            recording = recent.recording(gathered.config.labels or (), stamps)
            self._become(self._counted(recording, history.clock.value), forms)
            return
        history.extend(gathered.states, recent, stamps, self._size, limit, *forms)

    def _check(self, moment: Moment) -> int:
        """The key of the next time; `InputError` if it cannot come next. The guard is held."""
        (key, aware), latest = moment, self._now[0].latest
        if latest == ALWAYS:
            self._aware = aware
        agreed(aware, self._aware)
        if key < latest:
            t, so_far = (self._clock.value(self._clock.exact(each), aware) for each in (key, latest))
            raise InputError(f"t goes back: {t} is before {so_far}; give times in order, or use Tumbling for any order")
        return key

    def _pass(self, moment: Moment) -> None:
        key = self._check(moment)
        self._now[0].advance(key, self._size, self._limit(key))

    def unmerge(self, other: Self) -> NoReturn:  # noqa: ARG002
        """Not supported, raises `MergeError`: examples evicted during a merge cannot be restored."""
        gone = "examples that were evicted are gone"
        raise MergeError(f"cannot unmerge: {gone}; merge the windows that should stay, or their snapshots, instead")

    def _current(self) -> A:
        return self._now[1]

    @reads
    def copy(self) -> Self:
        """An independent window with the same content."""
        result = self._like()
        result._cell = commit.Root().cell(result._over(self._now[0].copy()))
        return result

    def _put(self, sink: Sink) -> None:
        put_recording(sink, self._recording(self._now[0]), scored=core_of(self._template).config.scored)

    def _taken(self, source: Source) -> Recording:
        config = core_of(self._template).config
        labels, scored, predicts = config.labels or (), config.scored, config.has_decisions
        return take_recording(source, labels, timed=self.timed, scored=scored, predicts=predicts)


@public
class Rolling(_Recent[A]):
    """Metrics of the last ``size`` examples: a sliding window over an evaluator or a metric.

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing, else `InputError`. It is copied; it determines how
        examples are read and what `get` returns.
    size
        Maximum number of examples in the window, at least 1.

    Notes
    -----
    The window stores its examples in about 4 bytes per label that an example mentions, and 4 more per example (12 if
    some weight is not 1). If it keeps rankings, curves or pairs, an example takes 24 bytes, and each label with a score
    8 more, or 12 where a score is not a float32.

    Examples
    --------
    >>> from streameval import F1
    >>> f1 = Rolling(F1(average="micro"), size=2)
    >>> for y_true, y_pred in [({"cat"}, {"dog"}), ({"cat"}, {"cat"}), ({"dog"}, {"dog"})]:
    ...     f1.update(y_true, y_pred)
    >>> f1.get(), f1.examples
    (1.0, 2)
    """

    __slots__ = ()
    _holder: ClassVar[int] = ROLLING
    _in_time: ClassVar[str] = "use TimeRolling with period=..."
    _span_name: ClassVar[str] = "size"

    def __init__(self, evaluator: A, size: int = 1000) -> None:
        self._aware, self._size = None, whole(size, "size")
        self._begin(evaluator, Clock(self._size))

    @property
    def size(self) -> int:
        """Maximum number of examples in the window."""
        return self._size

    def merge(self, other: Self) -> NoReturn:  # noqa: ARG002
        """Not supported, raises `MergeError`: two streams have no common order."""
        why = "Rolling windows have no common order, so the last examples of both are unknown"
        way = "merge their snapshots, a.snapshot() + b.snapshot(), or use TimeRolling, whose examples have times"
        raise MergeError(f"cannot merge: {why}; {way}")

    def _numbers(self) -> tuple[int, ...]:
        return (self._size,)

    def _take(self, source: Source, *numbers: int) -> None:
        (size,) = numbers
        self._clock, self._size, self._aware = Clock(whole(size, "size")), size, None
        recording = self._taken(source)
        require(recording.size <= size)
        self._cell = commit.Root().cell(self._counted(recording))


@public
class TimeRolling(_Recent[A]):
    """Metrics of the examples of the last ``period``: a sliding window over an evaluator or a metric.

    At any moment the window holds the examples with a time in (latest - period, latest].

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing, else `InputError`. It is copied.
    period
        A `datetime.timedelta` if times are dates; a number if they are numbers. Greater than 0, and finite.

    Notes
    -----
    Times are compared exactly: dates to the microsecond (finer ones are refused), numbers as the float64 they are. A
    time without time zone is taken as it is; times with and without one cannot be mixed.

    Examples
    --------
    >>> from datetime import datetime, timedelta
    >>> from streameval import Evaluator
    >>> hour = TimeRolling(Evaluator(["recall_micro"]), period=timedelta(hours=1))
    >>> hour.update({"cat"}, {"dog"}, t=datetime(2024, 5, 1, 9, 0))
    >>> hour.update({"cat"}, {"cat"}, t=datetime(2024, 5, 1, 9, 59))
    >>> hour.get()
    {'recall_micro': 0.5}
    >>> hour.advance(datetime(2024, 5, 1, 10, 0))
    >>> hour.get()
    {'recall_micro': 1.0}
    """

    __slots__ = ()
    _holder: ClassVar[int] = TIME_ROLLING
    _span_name: ClassVar[str] = "period"

    def __init__(self, evaluator: A, period: Period) -> None:
        self._aware, self._size = None, _ALL
        self._begin(evaluator, clock_of(period, "period"))

    @property
    def period(self) -> Period:
        """Length of the window."""
        return self._clock.span()

    @property
    @reads
    def latest(self) -> datetime | float | None:
        """The latest time passed so far, in UTC if times have a time zone; None before the first."""
        latest = self._now[0].latest
        return None if latest == ALWAYS else self._clock.value(self._clock.exact(latest), self._aware)

    @combines
    def merge(self, other: Self) -> None:
        """Add the examples of another window of the same period, then evict those that are older than the period.

        The other stays as it is. Exact, and the same in any order and grouping. `MergeError` if their
        configurations differ, or only one has times with a time zone; nothing has changed then.
        """
        self._check_compatible(other)
        mine, theirs = self._history()[0], other._now[0]
        if theirs.latest == ALWAYS:
            return
        if mine.latest == ALWAYS:
            self._aware = other._aware
        elif self._aware is not other._aware:
            raise MergeError("cannot merge: only one has times with a time zone; give all with one, or all without")
        latest = max(mine.latest, theirs.latest)
        mine.merge(theirs, latest, self._size, self._limit(latest))

    def _numbers(self) -> tuple[int, ...]:
        latest = self._now[0].latest
        return *self._clock.saved(), latest, 2 if latest == ALWAYS or self._aware is None else int(self._aware)

    def _take(self, source: Source, *numbers: int) -> None:
        kind, period, latest, aware = numbers
        self._clock, self._size, self._aware = saved_clock(kind, period), _ALL, None if aware == 2 else bool(aware)
        require(aware in (0, 1, 2), self.timed)
        recording = self._taken(source)
        if latest != ALWAYS:
            self._clock.value(self._clock.exact(latest), self._aware)  # raises if this is no time
        limit = self._limit(latest)
        every = map(stamps_of, recording.blocks())
        require(all(np.all((stamps > limit) & (stamps <= latest)) for stamps in every))  # none without a latest time
        require((self._aware is None) == (kind == 1 or latest == ALWAYS))
        self._cell = commit.Root().cell(self._counted(recording, latest))


def _few_rows(side: Any) -> Sequence[Any] | None:
    """A list or tuple of examples, or the rows of a matrix, if they are not too many; None for anything else."""
    rows: Any = array_within(side)
    if type(rows) is np.ndarray:
        return list(rows) if rows.ndim == 2 and rows.size <= _CELLS else None
    return rows if type(rows) in SEQUENCES and len(rows) <= _EXAMPLES else None
