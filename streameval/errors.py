"""The exceptions of the package: one family, each message says what was wrong, what was given, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

__all__ = [
    "Conflict",
    "CounterOverflowError",
    "DependencyError",
    "FormatError",
    "InputError",
    "LabelError",
    "MergeError",
    "MetricError",
    "RevertError",
    "StreamevalError",
]


class StreamevalError(Exception):
    """Base of every exception that this package raises on purpose."""


class InputError(StreamevalError, ValueError):
    """An argument has the wrong form, shape, length or value."""


class LabelError(InputError):
    """A label is of an unsupported kind, or is not among the labels that were declared."""


class MetricError(StreamevalError, ValueError):
    """A metric, an average or a parameter of a metric does not exist or is out of range."""


class MergeError(StreamevalError, ValueError):
    """Two objects do not fit together."""


class Conflict(MergeError):  # noqa: N818  # named after what was found, as in "the shard is in conflict"
    """Two ledgers, or a ledger and a state, tell different things of one shard; neither can be believed."""


class RevertError(StreamevalError, ValueError):
    """What is to be taken back was never counted."""


class FormatError(StreamevalError, ValueError):
    """Bytes that are not a saved object of this package, or are damaged."""


class CounterOverflowError(StreamevalError, OverflowError):
    """A count would pass 2**63 - 1."""


class DependencyError(StreamevalError, ImportError):
    """A library that only this call needs is not installed."""


def as_number(value: object) -> float | None:
    """A real number as a float64, infinite where too large; None for anything else, booleans and text among it."""
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, int | float | np.integer | np.floating):
        return None  # numpy counts a duration among its integers
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shown(value: object, limit: int = 60) -> str:
    """A short ``repr`` for messages: never fails, never floods a log."""
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__ may raise anything; the message matters more
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A hint naming the nearest known word, or nothing."""
    if not isinstance(word, str) or len(word) > 100:
        return ""
    import difflib  # only once something is wrong, so that importing the package stays quick

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
