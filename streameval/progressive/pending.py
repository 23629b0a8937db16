"""Predictions that wait for their truth."""

from __future__ import annotations

import copy
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from operator import is_
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar, cast

import numpy as np

from streameval.errors import InputError, public
from streameval.inputs.values import array_of
from streameval.progressive.target import Target
from streameval.schema.text import quoted, suggestion

EvaluatorT = TypeVar("EvaluatorT")

_LATE = ("error", "count")


class _Plan(NamedTuple):
    """New values of what changes, and under which keys predictions come and go. Applying it twice is harmless.

    What follows from a count is void as long as the evaluator still has the ``version`` from before.
    """

    version: object
    now: object
    late: int
    evicted: dict[str, int]
    gone: tuple[Hashable, ...]
    added: tuple[Hashable, tuple[object, object]] | None
    keys: tuple[object, ...]


@public
class Pending(Generic[EvaluatorT]):
    """Holds predictions until their truth arrives, then counts the pair.

    Parameters
    ----------
    evaluator
        What counts: an `Evaluator`, a metric object, a window. It is used as it is, not copied.
    max_pending
        How many predictions may wait; beyond it the oldest is dropped. None for no bound.
    max_age
        How long a prediction may wait, in the unit of ``t``: a number, or a ``timedelta`` where ``t`` is a
        ``datetime``. What is older is dropped as soon as a later ``t`` is seen. None for no bound.
    late
        What to do with a truth for which no prediction waits: ``"error"`` refuses it, ``"count"`` adds one to `late`.

    Raises
    ------
    InputError
        If an argument cannot be understood.

    Notes
    -----
    A call costs the same however many wait. A call that raises changes nothing: where the evaluator refuses a truth,
    the prediction still waits for a better one. Where an interruption (KeyboardInterrupt) ends `observe`, the pair is
    either counted or the prediction still waits, never both; only an evaluator that cannot tell whether it has counted,
    such as a metric of River, may then have neither.

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

    def __init__(
        self,
        evaluator: EvaluatorT,
        *,
        max_pending: int | None = 1_000_000,
        max_age: object = None,
        late: Literal["error", "count"] = "error",
    ) -> None:
        if max_pending is not None and (type(max_pending) is not int or max_pending < 1):
            raise InputError(f"max_pending must be an integer of at least 1, or None, not {quoted(max_pending)}")
        if late not in _LATE:
            raise InputError(f"late must be 'error' or 'count', not {quoted(late)}{suggestion(late, _LATE)}")
        if max_age is not None:
            _check_age(max_age)
        self._target = Target(evaluator)
        self._max_pending = max_pending
        self._max_age = max_age
        self._refuses_late = late == "error"
        # Popping the oldest of a plain dict looks at every place that was ever emptied before it.
        self._waiting: OrderedDict[Hashable, tuple[object, object]] = OrderedDict()
        self._keys: tuple[object, ...] = ()
        self._now: object = None
        self._late = 0
        self._evicted = {"max_pending": 0, "max_age": 0}
        self._plan: _Plan | None = None

    # -- changing -----------------------------------------------------------------------------------------------------

    def predict(self, key: Hashable, y_pred: object, *, t: object = None) -> None:
        """Hold a prediction.

        Parameters
        ----------
        key
            By what the truth will be matched, for example the number of the request. Any hashable value.
        y_pred
            The prediction, in any form that the evaluator takes. A compact copy is stored.
        t
            The time now: numbers or datetimes, which must not go backwards. Needed if there is a ``max_age``.

        Raises
        ------
        InputError
            If a prediction waits under this key already, ``t`` goes backwards, or ``y_pred`` is no prediction. Nothing
            has changed then.
        """
        self._settle()
        now = self._later(t)
        row = compact_copy(y_pred, self._keys)
        if self._max_age is not None and t is None:
            raise InputError("t is missing: with max_age= every prediction needs its time")
        self._is_old(t, t)  # so that a time of the wrong kind is refused before it waits
        if self._waiting_at(key, now) is not None:
            raise InputError(
                f"a prediction waits under key {quoted(key)} already; give each prediction a key of its own"
            )
        old, evicted = self._too_old(now)
        gone = tuple(old)
        if self._max_pending is not None and len(self._waiting) - len(gone) >= self._max_pending:
            gone = *gone, next(islice(self._waiting, len(gone), None))
            evicted = {**evicted, "max_pending": evicted["max_pending"] + 1}
        # Most predictions name the same labels: they share them.
        keys = row.labels if type(row) is _Row and row.values is not None else self._keys
        if not gone and now is self._now:  # then it takes one step; sharing labels changes nothing
            self._keys = keys
            self._waiting[key] = row, t
            return
        self._plan = plan = _Plan(None, now, self._late, evicted, gone, (key, (row, t)), keys)
        self._apply(plan)

    def observe(
        self, key: Hashable, y_true: object, *, weight: float = 1.0, mask: object = None, t: object = None
    ) -> None:
        """Count the prediction that waits under ``key``, now that its truth is known.

        Parameters
        ----------
        key
            The key passed to `predict`.
        y_true, weight, mask
            As for the evaluator's ``update``.
        t
            The time now, also given to the evaluator if it is a window over time.

        Raises
        ------
        InputError
            If ``late="error"`` and no prediction waits under this key, if ``t`` goes backwards, or if the evaluator
            refuses the truth. Nothing has changed then.
        """
        self._settle()
        now = self._later(t)
        entry = self._waiting_at(key, now)
        if entry is not None:
            self._count(key, y_true, entry[0], weight, mask, t, now)
        elif self._refuses_late:
            raise InputError(
                f"no prediction waits under key {quoted(key)}: it was never predicted, was observed before, or was "
                f"given up (so far {self._evicted['max_age']} by max_age and {self._evicted['max_pending']} by "
                'max_pending); with late="count" such truths are counted in late'
            )
        else:
            self._plan = self._planned(now, late=1)
        self._settle()

    def _count(
        self, key: Hashable, y_true: object, row: object, weight: object, mask: object, t: object, now: object
    ) -> None:
        """Count a pair, and plan what follows."""
        y_pred, version = from_compact(row), self._target.version()
        plan = None if version is None else self._planned(now, key, version=version)
        self._plan = plan
        try:
            self._target.update(y_true, y_pred, weight, mask, t)
            if plan is None or self._plan is not plan:  # what was read may have used this very object
                self._plan = plan = self._planned(now, key)
            self._apply(plan)
        except Exception:
            self._settle()
            raise
        except BaseException:
            if version is None:
                self._plan = self._planned(now, key)
            self._settle()
            raise

    def _planned(self, now: object, *gone: Hashable, late: int = 0, version: object = None) -> _Plan:
        """What changes when time has passed and predictions go."""
        old, evicted = self._too_old(now)
        return _Plan(version, now, self._late + late, evicted, (*old, *gone), None, self._keys)

    def discard(self, key: Hashable) -> None:
        """Withdraw a prediction: its truth will not come, or the evaluator cannot read it.

        Raises
        ------
        InputError
            If no prediction waits under this key.
        """
        self._settle()
        if self._waiting_at(key, self._now) is None:
            raise InputError(f"no prediction waits under key {quoted(key)}; there is nothing to discard")
        del self._waiting[key]

    def _later(self, t: object) -> object:
        """The time after a call at ``t``."""
        if t is None:
            return self._now
        check_order(self._now if self._now is not None else t, t, "t")
        return t

    def _waiting_at(self, key: Hashable, now: object) -> tuple[object, object] | None:
        """What waits under a key and is not too old."""
        try:
            entry = self._waiting.get(key)
        except TypeError:
            raise InputError(f"key must be hashable, not {quoted(key)}; give a number, a string or a tuple") from None
        return None if entry is None or self._is_old(entry[1], now) else entry

    def _is_old(self, since: object, now: object) -> bool:
        if self._max_age is None:
            return False
        try:
            return bool(now - since > self._max_age)  # type: ignore[operator]
        except TypeError:
            raise InputError(
                f"max_age {quoted(self._max_age)} does not fit to times such as {quoted(now)}; "
                "give a number for numbers, a timedelta for datetimes"
            ) from None

    def _too_old(self, now: object) -> tuple[list[Hashable], dict[str, int]]:
        """Which predictions are dropped at a time, and the counts of dropped ones after it. Each is dropped once."""
        old: list[Hashable] = []
        if self._max_age is None:
            return old, self._evicted
        for key, (_, since) in self._waiting.items():
            if not self._is_old(since, now):
                break
            old.append(key)
        if not old:
            return old, self._evicted
        return old, {**self._evicted, "max_age": self._evicted["max_age"] + len(old)}

    def _settle(self) -> None:
        """Complete what was planned, or drop it, whatever interrupted the last call."""
        plan = self._plan
        if plan is not None:
            if plan.version is None or self._target.version() != plan.version:
                self._apply(plan)
            self._plan = None

    def _apply(self, plan: _Plan) -> None:
        _, self._now, self._late, self._evicted, gone, added, self._keys = plan
        for key in gone:
            self._waiting.pop(key, None)
        if added is not None:
            self._waiting[added[0]] = added[1]
        self._plan = None

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def evaluator(self) -> EvaluatorT:
        """What counts the pairs."""
        return cast("EvaluatorT", self._target.evaluator)

    @property
    def pending(self) -> int:
        """How many predictions wait."""
        self._settle()
        return len(self._waiting)

    @property
    def late(self) -> int:
        """How many truths came for which no prediction waited."""
        self._settle()
        return self._late

    @property
    def evicted(self) -> dict[str, int]:
        """How many predictions were dropped, by the bound that they passed."""
        self._settle()
        return dict(self._evicted)

    def keys(self) -> list[Hashable]:
        """The keys under which predictions wait, the oldest first."""
        self._settle()
        return list(self._waiting)

    def __len__(self) -> int:
        self._settle()
        return len(self._waiting)

    def __contains__(self, key: Hashable) -> bool:
        """Whether a prediction waits under a key; a TypeError, as of a dict, if it cannot be one."""
        self._settle()
        return key in self._waiting

    def __repr__(self) -> str:
        return f"<Pending: {self.pending} wait, {self.late} late, evicted {self._evicted}; {self.evaluator!r}>"

    # -- as a value ---------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """An independent object with the same content, and an evaluator of its own."""
        self._settle()
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._target = Target(copy.deepcopy(self._target.evaluator))
        twin._waiting = self._waiting.copy()  # a stored prediction never changes, so both may hold it
        twin._evicted = self._evicted.copy()
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()


def _check_age(max_age: Any) -> None:
    try:
        fits = bool(max_age >= max_age - max_age) and not isinstance(max_age, bool)
    except TypeError:
        fits = False
    if not fits:
        raise InputError(f"max_age must be a number or a timedelta, not negative, not {quoted(max_age)}")


def check_order(before: Any, t: Any, name: str) -> None:
    """Raise unless ``t`` is a time that does not lie before another one."""
    try:
        fits = not hasattr(t, "__iter__") and bool(before <= t)  # strings and sets compare too, but are no times
    except TypeError:
        raise InputError(
            f"{name} must be numbers or datetimes of one kind, not {quoted(t)} after {quoted(before)}"
        ) from None
    if not fits:
        if t != t or hasattr(t, "__iter__"):
            raise InputError(f"{name} is {quoted(t)}; give a number or a datetime")
        raise InputError(f"{name} goes backwards, from {quoted(before)} to {quoted(t)}; give examples in order of time")


# -- independent copies of predictions --------------------------------------------------------------------------------


class _Row:
    """A mapping in two parts, of which the labels are shared between predictions; or a set, which has no values."""

    __slots__ = ("labels", "values")

    def __init__(self, labels: tuple[object, ...], values: bytes | array[float] | tuple[object, ...] | None) -> None:
        self.labels = labels
        self.values = values


def compact_copy(y_pred: object, labels: tuple[object, ...] = ()) -> object:
    """An independent, compact copy of a prediction; ``labels`` are shared with it if they are those of a mapping.

    Raises
    ------
    InputError
        If it has none of the forms that ``update`` takes.
    """
    if isinstance(y_pred, Mapping):
        names, values = tuple(y_pred), tuple(y_pred.values())
        kinds = set(map(type, values))
        packed: bytes | array[float] | tuple[object, ...] = values
        if kinds == {bool}:
            packed = bytes(values)
        elif kinds == {float}:
            packed = array("d", values)
        same = len(names) == len(labels) and all(map(is_, names, labels))  # equal is not enough, since True == 1
        return _Row(labels if same else names, packed)
    if isinstance(y_pred, AbstractSet):
        return _Row(tuple(y_pred), None)
    if isinstance(y_pred, list | tuple):
        return y_pred[:]
    if hasattr(y_pred, "items") and hasattr(y_pred, "iloc"):  # a pandas Series
        return y_pred.copy()  # type: ignore[attr-defined]
    if hasattr(y_pred, "__array__"):
        return np.array(array_of(y_pred, "y_pred"), subok=True)
    raise InputError(
        "y_pred must be a set, list or tuple of labels, a mapping label -> value, or a 1-D array, "
        f"not {type(y_pred).__name__} ({quoted(y_pred)})"
    )


def from_compact(row: object) -> object:
    """The prediction behind a copy made by `compact_copy`."""
    if type(row) is not _Row:
        return row
    values = row.values
    if values is None:
        return set(row.labels)
    return dict(zip(row.labels, map(bool, values) if type(values) is bytes else values, strict=True))
