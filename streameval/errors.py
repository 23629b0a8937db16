"""The exceptions of the package: one family, each message says what was wrong, what was passed, what to do."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

_HOME = __file__.removesuffix("errors.py")  # the folder of the package

P = ParamSpec("P")
R = TypeVar("R")
PublicT = TypeVar("PublicT", bound=type)

OPTIONS: ContextVar[Collection[str] | None] = ContextVar("OPTIONS", default=None)
"""The options of the command that runs, of which messages speak in place of arguments; None where none runs."""

HOMES: dict[type, str] = {}
"""The module in which each public class is defined."""


def wording(python: str, shell: str) -> str:
    """What a message says in either interface; asked where the message is made."""
    return python if OPTIONS.get() is None else shell


def option(name: str, value: object = None) -> str:
    """An argument, or what to pass for it, as in ``rows='labels'``; for the command ``--rows labels``."""
    if value is None:
        return wording(name, f"--{name.replace('_', '-')}")
    return wording(f"{name}={value!r}", f"--{name} {value if str(value).isidentifier() else repr(value)}")


def public(kind: PublicT) -> PublicT:
    """A class that is named, in messages and in pickles, as users import it, wherever it is defined."""
    HOMES[kind] = kind.__module__
    kind.__module__ = "streameval"
    return kind


@public
class StreamevalError(Exception):
    """Base of every exception that this package raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the traceback up to the line of the user's that called the package, for what was wrong.

        The exception keeps all of it, for debuggers. Python itself asks no exception, and a handler around each public
        method would cost as much as a small call.
        """
        own = (_HOME, "streameval/", "<string>", sys.prefix, sys.base_prefix)  # two are relative
        steps: list[TracebackType] = []
        step = self.__traceback__
        while step is not None:
            steps.append(step)
            step = step.tb_next
        while steps and steps[-1].tb_frame.f_code.co_filename.startswith(own):
            steps.pop()
        for one in reversed(steps):
            step = TracebackType(step, one.tb_frame, one.tb_lasti, one.tb_lineno)
        shell = sys.modules["IPython"].get_ipython()
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, step or self.__traceback__)
        return lines


@public
class InputError(StreamevalError, ValueError):
    """An argument has the wrong form, shape, length or value."""


@public
class LabelError(InputError):
    """A label is of an unsupported kind, or is not among the labels that were declared."""


@public
class DataWarning(UserWarning):
    """Input is legal but almost certainly wrong. Issued once for an object, before anything is counted."""


@public
class MetricError(StreamevalError, ValueError):
    """A metric, an average or a parameter of a metric does not exist or is out of range."""


@public
class MergeError(StreamevalError, ValueError):
    """Two objects cannot be merged."""


@public
class ConflictError(MergeError):
    """Two ledgers, or a ledger and a state, contradict each other about a shard."""


@public
class RevertError(StreamevalError, ValueError):
    """The example to be reverted was never counted."""


@public
class FormatError(StreamevalError, ValueError):
    """Bytes that are not a saved object of this package, or are damaged."""


@public
class CounterOverflowError(StreamevalError, OverflowError):
    """A count would pass its limit, such as 2**63 - 1."""


class _Deferring(threading.local):
    warns: bool | None = None
    """Whether a warning ends the call, is dropped as it was issued before, or, with None, is issued at once."""


class _Deferred(Exception):  # noqa: N818  # which nobody sees
    """Ends a call that holds guards, so that its warning is issued while none is held."""


_deferring = _Deferring()


def warning_first(change: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> R:
    """Call what holds guards and runs no code of the user; if it warns, warn before anything changes, then call it."""
    if _deferring.warns is not None:
        return change(*args, **keywords)
    _deferring.warns = True
    try:
        return change(*args, **keywords)
    except _Deferred as deferred:
        message = str(deferred)
    finally:
        _deferring.warns = None
    warn(message)
    with silent():
        return change(*args, **keywords)


@contextmanager
def silent() -> Iterator[None]:
    """Surrounds displays, which neither warn nor look whether there is something to warn of."""
    before, _deferring.warns = _deferring.warns, False
    try:
        yield
    finally:
        _deferring.warns = before


def is_silent() -> bool:
    """Whether nothing is to be warned of now."""
    return _deferring.warns is False


def warn(message: str) -> None:
    """Issue a `DataWarning` for the line that called the package. Filters can be code of the user."""
    if _deferring.warns is not None:
        if _deferring.warns:
            raise _Deferred(message)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DataWarning, stacklevel=level)


@public
class DependencyError(StreamevalError, ImportError):
    """An optional library that this call requires is not installed."""


@contextmanager
def naming(part: object) -> Iterator[None]:
    """Let errors say in which part of all they are, if it has a name."""
    try:
        yield
    except StreamevalError as error:
        raise type(error)(f"{part}: {error}" if part else str(error)) from None


def above(module: str, name: str) -> Callable[..., Any]:
    """A method that calls a function of a module above the class, which is imported then."""

    def method(*args: object, **options: object) -> object:
        return getattr(import_module(f"streameval.{module}"), name)(*args, **options)

    return method


def imported(module: str, what: str) -> Any:
    """A module of a library that not all have, or `DependencyError` naming what needs it."""
    library = module.partition(".")[0]
    try:
        import_module(library)  # its parts may have been imported before it was taken away
        return import_module(module)
    except ImportError as error:
        raise DependencyError(f"{what} needs {library}, which is not installed; pip install {library}") from error
