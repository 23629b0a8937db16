"""The exceptions of the package: one family, each message says what was wrong, what was given, what to do."""

from __future__ import annotations


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
