"""A window without edges: the older an example, the less it weighs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import ClassVar

import numpy as np

from streameval.errors import InputError, public
from streameval.evaluation.core import core_of
from streameval.evaluation.counting import A, built_like, unlimited
from streameval.kernel.types import FloatArray
from streameval.schema.batch import Batch
from streameval.schema.text import number_or_none, quoted
from streameval.states.state_set import StateSet
from streameval.windows.blocks import Blocks, WindowState
from streameval.windows.times import Clock, clock_of, whole
from streameval.wire.envelope import FADING
from streameval.wire.fields import Source, require

_KEEP = 64
_STEPS, _BITS = 256, 160
# ln(2)**k / k! for k from 1 to 5; within one step, all further terms together are below 2**-60.
_C1, _C2, _C3, _C4, _C5 = (
    0.6931471805599453, 0.24022650695910072, 0.055504108664821576, 0.009618129107628477, 0.0013333558146428441,
)  # fmt: skip


@public
class Fading(Blocks[A]):
    """Exponentially weighted metrics: at time ``now`` an example of time ``t`` weighs ``2**((t - now) / half_life)``.

    Parameters
    ----------
    evaluator
        An `Evaluator` or a single metric that has counted nothing, else `InputError`. It is copied.
    half_life
        The age at which an example weighs half. An integer counts examples; a `datetime.timedelta`, or a float, is
        time, and then each example needs its ``t``. Greater than 0, and finite.

    Notes
    -----
    ``now`` is the time of the latest example (or of `advance`). Forward decay (Cormode, Shkapenyuk, Srivastava & Xu,
    "Forward decay: a practical time decay model for streaming systems", 2009): within a block of one half-life an
    example weighs ``2**x`` with x in [0, 1), a float64 with a relative error below 2**-51, times its own weight,
    rounded once; blocks are added in whole powers of two. All sums are exact. So the only errors are those of the
    weights, each relatively below 2**-50, and of examples older than 64 half-lives, which weigh less than 2**-64 each
    and may be dropped.

    Examples
    --------
    >>> from streameval import Recall
    >>> recall = Fading(Recall(average="micro"), half_life=1)
    >>> for y_pred in [{"dog"}, {"cat"}, {"cat"}]:
    ...     recall.update({"cat"}, y_pred)
    >>> recall.get() == (1 + 1 / 2) / (1 + 1 / 2 + 1 / 4)
    True
    """

    __slots__ = ("_past", "_read")
    _holder: ClassVar[int] = FADING
    _in_time: ClassVar[str] = "give half_life=... as a timedelta or a float"
    _span_name: ClassVar[str] = "half_life"
    _fades: ClassVar[bool] = True

    def __init__(self, evaluator: A, half_life: timedelta | float) -> None:
        counts = number_or_none(half_life) is not None and isinstance(half_life, int | np.integer)
        self._history = _KEEP
        self._begin(evaluator, Clock(whole(half_life, "half_life")) if counts else clock_of(half_life, "half_life"))

    def _weight_at(self, part: float, weight: float) -> float:
        heavier = weight * power(part)
        if math.isinf(heavier):
            raise InputError(f"weight {quoted(weight)} is too large to fade; divide all weights by some number")
        return heavier

    def _weighed(self, batch: Batch, parts: FloatArray) -> Batch:
        weights = powers(parts)
        if batch.weights is not None:
            with np.errstate(over="ignore"):
                weights = batch.weights * weights
            if np.isinf(weights).any():
                raise InputError("weights are too large to fade; divide all weights by some number")
        return replace(batch, weights=weights)

    def _now(self, state: WindowState[A]) -> tuple[int, float]:
        """The block of the latest time, or of the latest example, and the position there, from 0 to 1."""
        return self._clock.place(state.latest if self.timed else self._position(state) - 1)

    def _current(self) -> A:
        state = self._state
        if not state.blocks:
            return self._template.copy()
        now, blocks = self._now(state), state.blocks
        newest, older = blocks.get(now[0]), {index: block for index, block in blocks.items() if index != now[0]}
        past = sum(block.examples for block in older.values())

        def before() -> StateSet:
            """The sum of all older blocks, with the weights that they have at the start of the newest."""
            result = core_of(unlimited(self._template)).states
            for index, block in older.items():
                result.merge(core_of(block).states.copy().scaled(1, now[0] - index))
            return result

        def total() -> StateSet:
            parts = [self._once("_past", blocks, (past, now[0]), before)] if older else []
            parts += [] if newest is None else [newest]
            result = core_of(parts[0]).states.copy()
            for part in parts[1:]:
                result.merge(core_of(part).states)
            # The factor is rounded to a float64, then multiplies all counts exactly, so that no ratio changes.
            numerator, denominator = (1.0 / power(now[1])).as_integer_ratio()
            return result.scaled(numerator, denominator.bit_length() - 1)

        return self._once("_read", blocks, (past, 0 if newest is None else newest.examples, now), total)

    def _once(self, name: str, blocks: dict[int, A], of: tuple[object, ...], make: Callable[[], StateSet]) -> A:
        """The result of ``make``, cached under ``name`` as long as ``blocks`` and ``of`` are the same."""
        memo: tuple[object, object, A] = getattr(self, name, (None, None, self._template))
        if memo[0] is not blocks or memo[1] != of:
            # It shares the guard of the window, so that no warning is issued twice.
            memo = blocks, of, built_like(self._template, make(), self._guard)
            setattr(self, name, memo)
        return memo[2]

    def _take(self, source: Source, *numbers: int) -> None:
        super()._take(source, *numbers)
        state = self._state
        begun = self._clock.timed and state.newest is not None
        require(self._history == _KEEP, not begun or self._now(state)[0] == state.newest)


# ``2**x``, the same on every machine: a table entry times a polynomial, because math libraries differ. The relative
# error is below 2**-51.


@cache
def _table() -> tuple[list[float], FloatArray]:
    """``2**(i / 256)`` for i from 0 to 256, correctly rounded."""
    root = 2 << _BITS
    for _ in range(8):
        root = math.isqrt(root << _BITS)
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
    """The results of `power` for many x, bit for bit."""
    step = (x * _STEPS).astype(np.int64)
    rest = x - step / _STEPS
    base: FloatArray = _table()[1][step]
    return base + base * (rest * (_C1 + rest * (_C2 + rest * (_C3 + rest * (_C4 + rest * _C5)))))
