"""Logarithms and discounts by rank, in integers, since those of C libraries differ from one machine to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from streameval.kernel.types import IntArray
from streameval.states.views import Integers

BITS = 192
"""Everything is in units of ``2**-BITS``, off by less than ``2**-150`` for any number of labels."""

UNIT = 1 << 2200
"""Stands for 1 in losses, so that they show the square of the least float64."""

_LN = Context(prec=80)

_HEADS = 1 << 12

# Each is replaced by a longer one, so that a thread reads one or the other.
_logs: list[int] = [0, 0]  # of 0 (never read), of 1
_discounts: list[int] = [0]
_harmonics: list[int] = [0]


def discounts(ranks: int) -> list[int]:
    """For each number of ranks up to ``ranks`` the sum of ``1 / log2(rank + 1)`` over the first so many; maybe more."""
    global _discounts
    if len(sums := _discounts) <= ranks:
        logs = _logs_to(ranks + 1)
        one = logs[2] << BITS
        _discounts = sums = _extended(sums, (one // log for log in logs[len(sums) + 1 : ranks + 2]))
    return sums


def reciprocals(first: int, stop: int) -> int:
    """The sum of ``1 / rank`` from rank ``first + 1`` to rank ``stop``."""
    global _harmonics
    if len(sums := _harmonics) <= stop:
        _harmonics = sums = _extended(sums, ((1 << BITS) // rank for rank in range(len(sums), stop + 1)))
    return sums[stop] - sums[first]


def _extended(sums: list[int], terms: Iterable[int]) -> list[int]:
    return [*sums[:-1], *accumulate(terms, initial=sums[-1])]


def _logs_to(most: int) -> list[int]:
    """Natural logarithms of all integers up to ``most``: ln(n + 1) = ln(n) + 2 artanh(1 / (2 n + 1))."""
    global _logs
    logs = _logs.copy()
    for n in range(len(logs) - 1, most):
        base = 2 * n + 1
        power, square = (2 << BITS) // base, base * base
        step, odd = power, 1
        while power:
            power //= square
            odd += 2
            step += power // odd
        logs.append(logs[-1] + step)
    _logs = logs
    return logs


@lru_cache(maxsize=2**14)
def minus_log(v: float, rest: bool) -> tuple[int, int]:
    """Bounds of ``-log v``, or of ``-log(1 - v)``, for 0 <= v <= 0.5, times `UNIT`; ``2**-90`` of it apart."""
    num, den = v.as_integer_ratio()
    if not num:  # infinity is above every float64
        return (0, 0) if rest else (UNIT << 1024, UNIT << 1024)
    if rest and v < 2.0**-40:  # the fourth term of the series is beyond all digits
        least = num * (UNIT // den)
        least += least * least // (2 * UNIT) + least**3 // (3 * UNIT**2)
    else:
        logs = _logs if len(_logs) > _HEADS else _logs_to(_HEADS)
        num = den - num if rest else num
        shift = max(0, num.bit_length() - 12)
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


def sums_of_discounts(
    first: IntArray, stop: IntArray, times: Integers, keys: tuple[IntArray, IntArray]
) -> list[tuple[int, int, int]]:
    """For each pair of keys the sum of discounts from rank ``first + 1`` to rank ``stop``, ``times`` each."""
    table, sums = discounts(int(stop.max(initial=0))), defaultdict[tuple[int, int], int](int)
    for one, other, a, b, n in zip(*(part.tolist() for part in (*keys, first, stop, times)), strict=True):
        sums[one, other] += n * (table[b] - table[a])
    return [(*pair, value) for pair, value in sums.items()]
