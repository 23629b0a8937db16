"""Times as integers in the same order: dates as microseconds since 1970, numbers as the bits of their float64."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias

import numpy as np

from streameval.errors import InputError
from streameval.inputs.values import array_of
from streameval.kernel.types import FloatArray, IntArray
from streameval.schema.text import check_number, number_or_none, python_value, quoted
from streameval.states.history import ALWAYS
from streameval.wire.blocks import DamageError
from streameval.wire.values import plain_time

Time: TypeAlias = date | np.datetime64 | float
Period: TypeAlias = timedelta | float
Moment: TypeAlias = tuple[int, bool | None]
"""A time as an integer, and whether it has a time zone."""
Moments: TypeAlias = tuple[IntArray, bool | None]

_EPOCH = datetime(1970, 1, 1)  # times without a zone are taken as they are
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOW = 2**63 - 1
_FAR = 2**62  # so that differences of two times stay within 64 bits
_DAY = 86_400_000_000
_FIRST, _LAST = -719_162 * _DAY, 2_932_897 * _DAY - 1  # the range of a datetime: the years 1 to 9999
_TOO_FINE = "is finer than a microsecond; round it first, so that it is clear what counts"
_TOO_FAR = "is not within the years 1 to 9999 (in UTC, if it has a time zone)"
_DOUBLE, _LONG = struct.Struct("<d"), struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Clock:
    """Counts examples, ``period`` to a window; subclasses read times. A key is an example number or time as integer."""

    period: Any
    kind: ClassVar[int] = 2
    timed: ClassVar[bool] = False
    key: ClassVar[Callable[..., Moment]]
    """The key of a time, which messages call ``name``; only subclasses have it."""
    keys: ClassVar[Callable[..., Moments]]
    """The keys of many times; only subclasses have it."""

    def before(self, key: int) -> int:
        """The latest time that does not belong to the period which ends at ``key``."""
        return max(key - int(self.period), ALWAYS)

    def exact(self, key: int) -> int | Fraction:
        """The time, or the period, of a key as a rational number."""
        return key

    def place(self, key: int) -> tuple[int, float]:
        """The number of the period that a time is in, and its position there, from 0 to 1, correctly rounded."""
        index, part = divmod(key, self.period)
        return index, part / self.period

    def places(self, keys: IntArray) -> tuple[IntArray, FloatArray]:
        """The results of `place` for many times."""
        index = keys // self.period
        part = keys - index * self.period
        if self.period <= 2**53:
            return index, part / self.period
        return index, np.array([value / self.period for value in part.tolist()], np.float64)

    def saved(self) -> tuple[int, int]:
        """The two integers that bytes hold of this clock."""
        return self.kind, self.period

    def span(self) -> Period:
        """The period, in the user's type."""
        period: Period = self.period
        return period

    def value(self, exact: int | Fraction, aware: bool | None) -> datetime | float:  # noqa: ARG002
        """The time of a result of `exact`, in the user's type."""
        return int(exact)


class _Calendar(Clock):
    """Dates; ``period`` is in microseconds."""

    __slots__ = ()
    kind = 0
    timed = True

    def key(self, t: object, name: str = "t") -> Moment:
        if type(t) is datetime and t.tzinfo is None:
            return (t - _EPOCH) // _MICROSECOND, False
        t = python_value(t)
        if isinstance(t, datetime):
            if t != t:
                raise InputError(f"{name} is NaT; give a time")
            if getattr(t, "nanosecond", False):
                raise InputError(f"{name} {quoted(t)} {_TOO_FINE}")
            aware = t.tzinfo is not None and t.utcoffset() is not None
            key = (t - (_EPOCH_UTC if aware else _EPOCH)) // _MICROSECOND
            if not _FIRST <= key <= _LAST:  # its offset can lead out of range
                raise InputError(f"{name} {quoted(t)} {_TOO_FAR}")
            return key, aware
        if isinstance(t, np.datetime64):
            return int(self._of_array(np.asarray(t).reshape(1), name)[0]), False
        if isinstance(t, date):
            return (t.toordinal() - _EPOCH.toordinal()) * _DAY, False
        must = f"{name} must be a datetime, date or numpy.datetime64"
        advice = f"; give datetime.fromisoformat({quoted(t)})" * is_iso(t)
        raise InputError(f"{must}, as the period is a timedelta, not {quoted(t)}{advice}")

    def keys(self, times: object) -> Moments:
        listed = times if isinstance(times, list | tuple) else _as_array(times)
        if isinstance(listed, np.ndarray) and listed.dtype.kind == "M":
            kind: Any = getattr(times, "type", getattr(times, "dtype", None))  # Arrow and polars: UTC if with a zone
            aware = getattr(kind, "tz", getattr(kind, "time_zone", None)) is not None
            return self._of_array(listed, "times"), aware if len(listed) else None
        pairs = [self.key(t, f"times[{position}]") for position, t in enumerate(listed)]
        kinds = {aware for _, aware in pairs}
        if len(kinds) > 1:
            raise InputError("times mix times with and without time zone; give all alike")
        return np.array([key for key, _ in pairs], np.int64), kinds.pop() if kinds else None

    @staticmethod
    def _of_array(times: np.ndarray[Any, np.dtype[Any]], name: str) -> IntArray:
        if np.isnat(times).any():
            raise InputError(f"{name} holds NaT; give a time")
        # Years first, because a number of microseconds may overflow, which numpy 2.5 refuses.
        far = np.abs(times.astype("datetime64[Y]").astype(np.int64)) > 10_000
        keys = np.zeros(len(times), np.int64) if far.any() else times.astype("datetime64[us]").astype(np.int64)
        if np.datetime_data(times.dtype)[0] in ("ns", "ps", "fs", "as"):
            fine = keys.astype("datetime64[us]").astype(times.dtype) != times
            if fine.any():
                raise InputError(f"{name} {quoted(times[fine][0])} {_TOO_FINE}")
        far |= (keys < _FIRST) | (keys > _LAST)
        if far.any():
            raise InputError(f"{name} {quoted(times[far][0])} {_TOO_FAR}")
        return keys

    def span(self) -> timedelta:
        return timedelta(microseconds=self.period)

    def value(self, exact: int | Fraction, aware: bool | None) -> datetime:
        return (_EPOCH_UTC if aware else _EPOCH) + timedelta(microseconds=int(exact))


class _Line(Clock):
    """Numbers."""

    __slots__ = ()
    kind = 1
    timed = True

    def key(self, t: object, name: str = "t") -> Moment:
        if type(t) is float and t - t == 0.0:
            return _key_of(t), None
        t = python_value(t)
        number = number_or_none(t)
        if number is None:
            raise InputError(f"{name} must be a number, as the period is a number, not {quoted(t)}")
        if not math.isfinite(number):
            raise InputError(f"{name} must be finite, not {quoted(t)}")
        if number != t:
            raise InputError(f"{name} {quoted(t)} has no exact float64; round it first")
        return _key_of(number), None

    def keys(self, times: object) -> Moments:
        listed = times if isinstance(times, list | tuple) else _as_array(times)
        if isinstance(listed, np.ndarray) and listed.dtype == np.float64 and np.isfinite(listed).all():
            bits = (np.asarray(listed, np.float64) + 0.0).view(np.int64)
            return np.where(bits < 0, bits ^ np.int64(_LOW), bits), None
        return np.array([self.key(t, f"times[{position}]")[0] for position, t in enumerate(listed)], np.int64), None

    def before(self, key: int) -> int:
        now = _number_of(key)
        end = now - self.period  # where this is -inf, rounding is NaN and the result -inf
        back = end - now
        rounding = (now - (end - back)) + (-self.period - back)  # Knuth's two-sum: now - period == end + rounding
        return _key_of(end if rounding >= 0 else math.nextafter(end, -math.inf))

    def exact(self, key: int) -> Fraction:
        return Fraction(_number_of(key))

    def place(self, key: int) -> tuple[int, float]:
        now, period = _number_of(key), self.period
        part = math.fmod(now, period)  # exact, so the quotient errs by less than 1/2 unless it is very large
        index = (now - part) / period
        if now >= 0.0 and index < 2**51:
            return round(index), part / period
        exact, rest = divmod(Fraction(now), Fraction(period))
        if abs(exact) >= _FAR:
            raise InputError(f"the time {now!r} is more than 2**62 periods of {period} from 0")
        return exact, float(rest / Fraction(period))

    def places(self, keys: IntArray) -> tuple[IntArray, FloatArray]:
        places = [self.place(key) for key in keys.tolist()]
        return np.array([index for index, _ in places], np.int64), np.array([part for _, part in places], np.float64)

    def saved(self) -> tuple[int, int]:
        return self.kind, _key_of(self.period)

    def value(self, exact: int | Fraction, aware: bool | None) -> float:  # noqa: ARG002
        return float(exact)


def clock_of(period: object, name: str) -> Clock:
    """The clock for a period: it reads dates for a timedelta, else numbers."""
    if isinstance(period, timedelta | np.timedelta64) and getattr(period, "dtype", None) != "m8":  # has a unit
        with suppress(TypeError):  # of months
            period = whole_span(period, name)
    if isinstance(period, timedelta):
        micro = period // _MICROSECOND
        if not 0 < micro < _FAR:
            raise InputError(f"{name} must be longer than 0 and shorter than 100,000 years, not {quoted(period)}")
        return _Calendar(micro)
    number = number_or_none(period)
    if number is None:
        raise InputError(f"{name} must be a datetime.timedelta or a number, not {quoted(period)}")
    if not 0.0 < number < math.inf:
        raise InputError(f"{name} must be finite and greater than 0, not {quoted(period)}")
    if number != period:
        raise InputError(f"{name} {quoted(period)} has no exact float64; round it first")
    return _Line(number)


def saved_clock(kind: int, period: int) -> Clock:
    """The clock of which bytes hold these two integers."""
    if kind == Clock.kind:
        return Clock(whole(period, "length"))
    if kind == _Calendar.kind:
        return clock_of(timedelta(microseconds=period), "length")
    if kind == _Line.kind:
        return clock_of(_number_of(period), "length")
    raise DamageError(f"there is no clock {kind}, {period}")


def whole_span(span: Any, name: str) -> Any:
    """A span of time as Python has it; `InputError` if it is finer than a microsecond, or too long for a timedelta."""
    with suppress(OverflowError):  # numpy 2.5 raises it where older versions wrap around
        plain = plain_time(span)
        if (plain is span or np.timedelta64(plain).astype(span.dtype) == span) and not getattr(span, "nanoseconds", 0):
            return plain
    raise InputError(f"{name} must be a whole number of microseconds that a timedelta can hold, not {quoted(span)}")


def is_iso(t: object) -> bool:
    """Whether a time is a string that ``datetime.fromisoformat`` reads."""
    with suppress(ValueError):
        return isinstance(t, str) and bool(datetime.fromisoformat(t))
    return False


def agreed(aware: bool | None, so_far: bool | None) -> None:
    """Raise if a time has a time zone and those before it have none, or the reverse."""
    if aware is not so_far:
        differ = f"t has {'a' if aware else 'no'} time zone, but the times so far have {'one' if so_far else 'none'}"
        raise InputError(f"{differ}; give all with one, or all without")


def whole(value: object, name: str, low: int = 1) -> int:
    """An argument that is a number of examples or windows, checked."""
    if name == "size" and isinstance(value, timedelta):
        advice = "for a time use TimeRolling, or period= of Tumbling"
        raise InputError(f"size must be an integer, not {quoted(value)}; {advice}")
    return check_number(name, value, low, 2**62 - 1)


def _key_of(number: float) -> int:
    bits: int = _LONG.unpack(_DOUBLE.pack(number + 0.0))[0]
    return bits if bits >= 0 else bits ^ _LOW


def _number_of(key: int) -> float:
    return _DOUBLE.unpack(_LONG.pack(key if key >= 0 else key ^ _LOW))[0]  # type: ignore[no-any-return]  # a float64


def _as_array(times: object) -> np.ndarray[Any, np.dtype[Any]]:
    if isinstance(times, Iterable) and not isinstance(times, str | bytes | set | frozenset | Mapping):
        array = array_of(times if hasattr(times, "__array__") else list(times), "times")
        if array.ndim == 1 and array.dtype.kind in "iufMOU" and not np.ma.is_masked(times):
            return array
    raise InputError(f"times must be one time per example, not {quoted(times)}")
