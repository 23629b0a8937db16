"""Logarithms and discounts by rank in integers, because logarithms of C libraries differ between machines."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate

import numpy as np

from streameval.kernel.types import IntArray
from streameval.states.views import Integers

BITS = 192
"""Values are in units of ``2**-BITS``; their error is less than ``2**-150`` for any number of labels."""

UNIT = 1 << 2200
"""1 in the units of losses, which are so fine that the square of the least float64 is not 0."""

_LN = Context(prec=80)

_HEAD = 12  # leading bits of a number, whose logarithm is in a table


def discounts(ranks: int) -> list[int]:
    """Sums of ``1 / log2(rank + 1)`` over the first n ranks, for n from 0 to ``ranks`` at least."""
    return _discounts((ranks + 2).bit_length())


def reciprocals(first: int, stop: int) -> int:
    """The sum of ``1 / rank`` from rank ``first + 1`` to rank ``stop``."""
    sums = _harmonics(stop.bit_length())
    return sums[stop] - sums[first]


# A table that is too short is replaced by one whose length is the next power of 2, so that this is rare.


@cache
def _discounts(bits: int) -> list[int]:
    logs = _logs(bits)
    return list(accumulate(((logs[2] << BITS) // log for log in logs[2:]), initial=0))


@cache
def _harmonics(bits: int) -> list[int]:
    return list(accumulate(((1 << BITS) // rank for rank in range(1, 1 << bits)), initial=0))


@cache
def _logs(bits: int) -> list[int]:
    """Natural logarithms of all integers below ``2**bits``: ln(n + 1) = ln(n) + 2 artanh(1 / (2 n + 1))."""
    logs = [0, 0]  # of 0 (never read) and 1
    for n in range(1, (1 << bits) - 1):
        base = 2 * n + 1
        power, square = (2 << BITS) // base, base * base
        step, odd = power, 1
        while power:
            power //= square
            odd += 2
            step += power // odd
        logs.append(logs[-1] + step)
    return logs


@lru_cache(maxsize=2**14)
def minus_log(v: float, rest: bool) -> tuple[int, int]:
    """Bounds of ``-log v``, or of ``-log(1 - v)``, for 0 <= v <= 0.5, times `UNIT`; ``2**-90`` of it apart."""
    num, den = v.as_integer_ratio()
    if not num:  # a finite number above every float64 stands for infinity
        return (0, 0) if rest else (UNIT << 1024, UNIT << 1024)
    if rest and v < 2.0**-40:  # three terms of the series have all digits
        least = num * (UNIT // den)
        least += least * least // (2 * UNIT) + least**3 // (3 * UNIT**2)
    else:
        logs = _logs(_HEAD)
        num = den - num if rest else num
        shift = max(0, num.bit_length() - _HEAD)
        head = num >> shift
        tail = num - (head << shift)
        base = (head << shift + 1) + tail  # log num = log(head 2**shift) + 2 artanh(tail / base)
        power, odd, step = (2 * tail << BITS) // base, 1, 0
        while power:
            step += power // odd
            power, odd = power * tail * tail // (base * base), odd + 2
        least = (den.bit_length() - 1 - shift) * logs[2] - logs[head] - step - (1 << BITS - 140)
        least *= UNIT >> BITS
    return least, least + (least >> 90)


def log2(base: float) -> Fraction:
    """The binary logarithm of a positive number."""
    return Fraction(_LN.divide(_LN.ln(Decimal(base)), _LN.ln(Decimal(2))))


@cache
def _words(bits: int) -> Integers:
    """The sums of discounts, each as a row of words of 32 bits, the lowest first."""
    table = _discounts(bits)
    size = -(-table[-1].bit_length() // 32)
    every = b"".join(value.to_bytes(4 * size, "little") for value in table)
    return np.frombuffer(every, "<u4").astype(np.int64).reshape(-1, size)


def sums_of_discounts(
    first: IntArray, stop: IntArray, times: Integers, keys: tuple[IntArray, IntArray]
) -> list[tuple[int, int, int]]:
    """For each pair of keys the sum of discounts from rank ``first + 1`` to rank ``stop``, ``times`` each."""
    if not len(first):
        return []
    words, order = _words((int(stop.max()) + 2).bit_length()), np.lexsort(keys)
    if times.dtype == object or int(times.max()) * len(times) >= 2**31:
        words, times = words.astype(object), times.astype(object)
    one, other = (key[order] for key in keys)
    starts = np.flatnonzero(np.diff(one, prepend=-1) | np.diff(other, prepend=-1))
    sums = np.add.reduceat((words[stop] - words[first])[order] * times[order, None], starts)
    values = (sum(word << 32 * place for place, word in enumerate(row)) for row in sums.tolist())
    return list(zip(one[starts].tolist(), other[starts].tolist(), values, strict=True))
