"""``2**x`` for x in [0, 1], the same on every machine: a table entry times a polynomial, so no library is asked.

The relative error is below 2**-51.
"""

from __future__ import annotations

from functools import cache
from math import isqrt

import numpy as np

from streameval.kernel.types import FloatArray

_STEPS = 256
_BITS = 160
# ln(2)**k / k!; what follows is below 2**-60 within one step.
_C1, _C2, _C3, _C4, _C5 = (
    0.6931471805599453, 0.24022650695910072, 0.055504108664821576, 0.009618129107628477, 0.0013333558146428441,
)  # fmt: skip


@cache
def _table() -> tuple[list[float], FloatArray]:
    """``2**(i / 256)`` for i from 0 to 256, correctly rounded."""
    root = 2 << _BITS
    for _ in range(8):
        root = isqrt(root << _BITS)
    value, listed = 1 << _BITS, []
    for _ in range(_STEPS):
        listed.append(value / (1 << _BITS))
        value = value * root >> _BITS
    listed.append(2.0)
    return listed, np.array(listed, np.float64)


def power(x: float) -> float:
    """``2**x`` for x in [0, 1]."""
    step = int(x * _STEPS)
    rest = x - step / _STEPS
    base = _table()[0][step]
    return base + base * (rest * (_C1 + rest * (_C2 + rest * (_C3 + rest * (_C4 + rest * _C5)))))


def powers(x: FloatArray) -> FloatArray:
    """The same for many, bit for bit."""
    step = (x * _STEPS).astype(np.int64)
    rest = x - step / _STEPS
    base = _table()[1][step]
    result: FloatArray = base + base * (rest * (_C1 + rest * (_C2 + rest * (_C3 + rest * (_C4 + rest * _C5)))))
    return result
