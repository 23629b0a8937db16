"""Predictions that wait for their truth."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from contextlib import suppress
from itertools import islice, takewhile
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar, cast

from streameval.errors import InputError, public, warn
from streameval.evaluation.core import core_of
from streameval.evaluation.counting import try_prediction
from streameval.evaluation.guarding import Change, absent, changes, make, reads
from streameval.evaluation.value import fresh_of
from streameval.inputs.forms import form_of
from streameval.kernel.backend import commit
from streameval.progressive.holder import Holder
from streameval.progressive.predictions import Predictions, Row, compact_copy, from_compact
from streameval.progressive.target import Target, check_order, instant
from streameval.progressive.trace import Trace
from streameval.schema.config import Weight
from streameval.schema.text import check_choice, check_number, python_value, quoted
from streameval.windows.base import Window
from streameval.windows.times import whole_span
from streameval.wire.envelope import PENDING
from streameval.wire.fields import Sink, Source, require, varint
from streameval.wire.values import SPAN, TUPLE, put_value, take_value

EvaluatorT = TypeVar("EvaluatorT")

_Entry: TypeAlias = tuple[object, object]
"""A prediction, and when it was made."""
_Changes: TypeAlias = tuple[tuple[Hashable, _Entry], ...]


@public
class Pending(Holder, Generic[EvaluatorT]):
    """Holds predictions until their truth arrives, then counts the pair.

    Parameters
    ----------
    evaluator
        What counts: an `Evaluator`, a metric object, a window, a `Trace`. It is used as it is, not copied.
    max_pending
        How many predictions may wait; if there are more, the oldest is dropped. None for no limit.
    max_age
        How long a prediction may wait, in the unit of ``t``: a number, or a ``timedelta`` if ``t`` is a ``datetime``.
        Older predictions are dropped at the next call with a later ``t``. None for no limit.
    no_prediction
        What to do with a truth for which no prediction waits: ``"error"`` refuses it, ``"count"`` adds one to
        `without_prediction`.

    Notes
    -----
    The time of a call does not depend on how many predictions wait. A call that raises changes nothing: if the
    evaluator refuses a truth, the prediction still waits. If an interruption (KeyboardInterrupt) ends `observe`, either
    the pair is counted or the prediction still waits.

    It is saved with its evaluator; with keys that are str, int, bytes, bool, None or tuples of these; and with
    predictions of such labels. `save` refuses anything else.

    Examples
    --------
    >>> import streameval as se
    >>> pending = Pending(se.Evaluator(["f1_micro"]))
    >>> pending.predict("request 1", {"cat", "dog"})
    >>> pending.predict("request 2", {"bird"})
    >>> pending.observe("request 1", {"cat"})
    >>> pending.evaluator.get(), pending.pending
    ({'f1_micro': 0.6666666666666666}, 1)
    """

    _holder, _saved, _taken = PENDING, ("max_pending", "max_age", "no_prediction"), (Trace,)
    _warned = False

    def __init__(
        self,
        evaluator: EvaluatorT,
        *,
        max_pending: int | None = 1_000_000,
        max_age: object = None,
        no_prediction: Literal["error", "count"] = "error",
    ) -> None:
        if max_pending is not None:
            max_pending = check_number("max_pending", max_pending, 1)
        check_choice("no_prediction", no_prediction, ("error", "count"))
        max_age = None if max_age is None else _checked_age(max_age)
        self._targets = {"": self._target(evaluator, "evaluator")}
        read_by: Any = evaluator.evaluators.values() if isinstance(evaluator, Trace) else [evaluator]
        # Empty copies, which check each prediction when it is made: the evaluators see it only with its truth.
        self._trials = [fresh_of(one.snapshot() if isinstance(one, Window) else one) for one in read_by]
        self._max_pending, self._max_age = max_pending, max_age
        self._refuses = no_prediction == "error"
        # To find its oldest entry, a plain dict scans all slots that were emptied before it.
        self._waiting: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._labels: tuple[object, ...] = ()
        self._guard = commit.Guard()
        # The time; how many truths had no prediction; how many predictions ``max_pending`` and ``max_age`` dropped; and
        # the entries to remove from and to add to ``_waiting``, see `_carry_over`.
        self._cell = commit.Root().cell((None, 0, 0, 0, (), ()))

    def predict(self, key: Hashable, y_pred: object, *, t: object = None) -> None:
        """Hold a prediction until its truth arrives.

        Parameters
        ----------
        key
            What the truth will be matched by, such as the number of the request: any hashable value under which no
            prediction waits. Keys that are equal are one key, as in a dict: 1, 1.0 and True.
        y_pred
            The prediction, in any form that the evaluator takes but sparse rows for rankings or curves, else
            `InputError`. A compact copy is stored. A prediction of more labels than ``label_limit`` is refused here;
            if only those counted by then leave no room for them, `observe` raises `LabelError`, and it still waits.
        t
            The time of this call: numbers or datetimes, which must not go backwards from call to call.
            Needed if there is a ``max_age``.
        """
        self._at(t)
        row, limit = compact_copy(y_pred, self._labels), self._max_pending
        for trial in self._trials:
            try_prediction(trial, y_pred)
            if form_of(y_pred) == "sparse" and core_of(trial).reader.keeps_scores:
                unscored = "y_pred is a sparse row, and what it does not store would wait with a score of 0"
                raise InputError(f"{unscored}; give {{label: score}}, or y_pred.toarray()")
        if self._max_age is not None:
            if t is None:
                raise InputError("t is missing: with max_age= every prediction needs its time")
            self._is_old(t, t)  # so that a time of the wrong kind is refused before it waits
        if self._strict:
            _bytes_of(key, (row, t), Predictions())
        self._waiting_at(key, t)  # before the guard is held, as a hash may run code of the user
        with self._guard:
            self._carry_over()
            now = self._cell.value[0] if t is None else self._at(t)
            if self._waiting_at(key, now) is not None:
                waits = f"a prediction already waits under key {quoted(key)}"
                raise InputError(f"{waits}; give each prediction a key of its own")
            # Most predictions name the same labels, so they share one tuple.
            if type(row) is Row and row.values is not None:
                self._labels = row.labels
            waiting, old = self._waiting, 0 if self._max_age is None else self._too_old(now)
            full = limit is not None and len(waiting) - old >= limit
            if now is self._cell.value[0] and not full:  # the time is the same, so nothing is too old
                waiting[key] = row, t  # atomic
            else:
                self._commit(now, added=((key, (row, t)),), full=full)

    def observe(
        self, key: Hashable, y_true: object, *, weight: Weight = 1.0, mask: object = None, t: object = None
    ) -> None:
        """Count the prediction that waits under ``key`` with its truth.

        The time ``t`` at which the truth arrives is also passed to the evaluator if it is a window over time; all else
        is as for its ``update``.
        `InputError` if ``no_prediction="error"`` and no prediction waits under this key, if ``t`` goes backwards, or if
        the evaluator refuses the truth.
        """
        if t is None and self._count_plain(key, y_true, weight, mask):
            return
        target, entry = self._targets[""], None
        while True:
            before, status, now = entry, self._cell.value, self._at(t)
            entry = self._waiting_at(key, now)
            if entry is None and not self._refuses and not self._warned and (twin := self._twin(key)):
                self._warned = True
                warn(f"a truth arrives under key {quoted(key)}, but {twin}")
            if entry is not None and entry is not before:
                change = target.change(y_true, from_compact(entry[0]), weight, mask, t)
            with self._guard:
                self._carry_over()
                if entry is None and self._waiting_at(key, now := self._at(t)) is None:
                    self._add_late(key, now)
                    return
                if entry is None or self._waiting.get(key) is not entry or self._cell.value is not status:
                    continue  # another thread has used the object meanwhile
                self._commit(now, change, gone=((key, entry),))
                return

    def _count_plain(self, key: Hashable, y_true: object, weight: Weight, mask: object) -> bool:
        """Count a waiting prediction in few steps; False if none waits or reading runs code of the user."""
        evaluator: Any = self.evaluator
        if self._max_age is not None or isinstance(evaluator, Trace) or (entry := self._waiting_at(key, None)) is None:
            return False
        y_pred = from_compact(entry[0])
        with commit.Guards((self._guard, evaluator._guard)):
            self._carry_over()
            if self._waiting.get(key) is not entry:
                return False
            if (parts := evaluator._prepare_plain(y_true, y_pred, weight, mask)) is None:
                return False
            status = (*self._cell.value[:4], ((key, entry),), ())
            commit.Root.commit([*parts, self._cell.prepare_store(status)])
            del self._waiting[key]
        return True

    def _add_late(self, key: Hashable, now: object) -> None:
        if not self._refuses:
            return self._commit(now, late=1)
        evicted = f"{self.evicted['max_age']} by max_age and {self.evicted['max_pending']} by max_pending"
        why = f"it was never predicted, was observed before, or was evicted (so far {evicted})"
        why = "it is older than max_age" if key in self._waiting else self._twin(key) or why
        way = 'with no_prediction="count" such truths are counted in without_prediction'
        raise InputError(f"no prediction waits under key {quoted(key)}: {why}; {way}")

    def _twin(self, key: Hashable) -> str:
        """Advice if no prediction waits under this key, but one under the same number as a string, or the reverse."""
        number = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 20 else None
        twin = str(key) if type(python_value(key)) is int else number
        waits = f"one waits under {quoted(twin)}: keys are compared with their type; use one type for both"
        return waits if twin is not None and twin in self._waiting else ""

    def _too_old(self, now: object) -> int:
        """How many predictions are older than ``max_age`` at a time; they come first."""
        return sum(1 for _ in takewhile(lambda entry: self._is_old(entry[1], now), self._waiting.values()))

    def _commit(
        self, now: object, *pairs: Change, gone: _Changes = (), added: _Changes = (), late: int = 0, full: bool = False
    ) -> None:
        """Commit changes, the time, and the entries that go and come; with ``full``, the oldest makes room."""
        _, so_far, by_number, by_age, *_ = self._cell.value
        old = full if self._max_age is None else self._too_old(now) + full
        gone = *islice(self._waiting.items(), old), *gone
        status = now, so_far + late, by_number + full, by_age + old - full, gone, added
        make(pairs, (self._cell.prepare_store(status),))
        self._carry_over()

    def _carry_over(self) -> None:
        """Apply to `_waiting` what the cell says is gone and added; until then, readers combine both (`_present`)."""
        (*status, gone, added), waiting = self._cell.value, self._waiting
        # Doing so twice is harmless, so each change begins with it, in case the last one was interrupted.
        for key, entry in gone:
            if waiting.get(key) is entry:
                del waiting[key]
        if added or len(gone) > 1:
            waiting.update(added)
            commit.Root.commit([self._cell.prepare_store((*status, (), ()))])

    def _at(self, t: object) -> object:
        return self._moment(self._cell.value[0], t)

    @changes
    def discard(self, key: Hashable) -> None:
        """Remove a waiting prediction, for example because its truth will not arrive.

        `InputError` if there is none under this key.
        """
        self._carry_over()
        if self._waiting_at(key, self._at(None)) is None:
            raise InputError(f"no prediction waits under key {quoted(key)}; there is nothing to discard")
        del self._waiting[key]

    def _waiting_at(self, key: Hashable, now: object) -> _Entry | None:
        """The prediction that waits under a key, unless it is too old."""
        try:
            entry = self._waiting.get(key)
        except TypeError:
            raise InputError(f"key must be hashable, not {quoted(key)}; give a number, a string or a tuple") from None
        return None if entry is None or (self._max_age is not None and self._is_old(entry[1], now)) else entry

    def _is_old(self, since: object, now: object) -> bool:
        try:
            return bool(instant(now) - instant(since) > self._max_age)
        except TypeError:
            wrong = f"max_age {quoted(self._max_age)} cannot be compared with times such as {quoted(now)}"
            raise InputError(f"{wrong}; give a number for numbers, a timedelta for datetimes") from None

    @property
    def evaluator(self) -> EvaluatorT:
        """The evaluator that counts the pairs."""
        return cast("EvaluatorT", self._targets[""].evaluator)

    @property
    def pending(self) -> int:
        """Number of waiting predictions."""
        return len(self)

    @property
    def without_prediction(self) -> int:
        """Number of truths that arrived without a waiting prediction."""
        return int(self._cell.value[1])

    @property
    def evicted(self) -> dict[str, int]:
        """Number of predictions dropped, by the limit that they exceeded."""
        return dict(zip(("max_pending", "max_age"), self._cell.value[2:4], strict=True))

    @property
    def _present(self) -> Mapping[Hashable, _Entry]:
        """The waiting predictions, even if the last change was not carried over."""
        *_, gone, added = self._cell.value
        if not added and all(self._waiting.get(key) is not entry for key, entry in gone):
            return self._waiting
        changed = {id(entry) for _, entry in (*gone, *added)}
        return {key: entry for key, entry in self._waiting.items() if id(entry) not in changed} | dict(added)

    @reads
    def keys(self) -> list[Hashable]:
        """Keys of the waiting predictions, oldest first."""
        return list(self._present)

    @reads
    def __len__(self) -> int:
        return len(self._present)

    @reads
    def __contains__(self, key: Hashable) -> bool:
        """Whether a prediction waits under a key; TypeError, as from a dict, if the key is not hashable."""
        return key in self._present

    @reads
    def __repr__(self) -> str:
        evicted = sum(self.evicted.values())
        counts = f"{self.pending} waiting, {evicted} evicted, {self.without_prediction} without prediction"
        return f"Pending({counts}; {self.evaluator!r})"

    @reads
    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        result = type(self).__new__(type(self))
        result.__setstate__(self._contents())
        result._targets = {"": Target(copy.deepcopy(self.evaluator, memo))}
        result._trials = [fresh_of(trial) for trial in self._trials]
        result._waiting = self._waiting.copy()  # a stored prediction never changes, so both hold the same one
        return result

    def _parameters(self) -> dict[str, Any]:
        no_prediction = "error" if self._refuses else "count"
        return {"max_pending": self._max_pending, "max_age": self._max_age, "no_prediction": no_prediction}

    def _put(self, sink: Sink) -> None:
        waiting, (now, *counters, _, _), predictions = self._present, self._cell.value, Predictions()
        put_value(sink, now, SPAN, "t")
        sink += map(varint, (*counters, len(waiting)))
        sink.append(_bytes_of(key, entry, predictions) for key, entry in waiting.items())

    def _take(self, source: Source) -> None:
        now = take_value(source, SPAN)
        late, by_number, by_age = (source.varint() for _ in range(3))
        predictions, before = Predictions(), None
        for _ in range(source.count()):
            key, t = take_value(source, TUPLE), take_value(source, SPAN)
            self._waiting[key] = predictions.take(source), t
            require(t is not None or self._max_age is None)
            if t is not None:
                check_order(before, t, "t")
                before = t
        if now is not None or before is not None:
            check_order(before, now, "t")
        require(self._max_pending is None or len(self._waiting) <= self._max_pending)
        require(self._max_age is None or not self._too_old(now))
        bounds = not self._refuses, self._max_pending is not None, self._max_age is not None
        require(*(not count or bound for count, bound in zip((late, by_number, by_age), bounds, strict=True)))
        self._cell = commit.Root().cell((now, late, by_number, by_age, (), ()))


def _bytes_of(key: Hashable, entry: _Entry, predictions: Predictions) -> bytes:
    """The bytes of a waiting prediction, which follow those that ``predictions`` wrote before."""
    sink = Sink()
    put_value(sink, key, TUPLE, "key")
    put_value(sink, entry[1], SPAN, "t")
    predictions.put(sink, entry[0])
    return b"".join(sink.pieces())


def _checked_age(max_age: Any) -> Any:
    with suppress(TypeError, ValueError, ArithmeticError):
        age = whole_span(max_age, "max_age")
        if age >= age - age and not isinstance(age, bool):
            return age
    must = "max_age must be a number or a timedelta of whole microseconds, not negative"
    raise InputError(f"{must}, not {quoted(max_age)}")


setattr(Pending, "get", absent("get", "call evaluator.get()"))  # noqa: B010  # documentation leaves it out
