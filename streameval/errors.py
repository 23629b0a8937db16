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
"""The options of the running command, which messages name in place of arguments; None if no command runs."""

HOMES: dict[type, str] = {}
"""The module in which each public class is defined."""


def wording(python: str, shell: str) -> str:
    """The wording for Python, or for the shell while a command runs; call it when the message is made."""
    return python if OPTIONS.get() is None else shell


def option(name: str, value: object = None) -> str:
    """The name of an argument, or with its value ``rows='labels'``; on the command line ``--rows labels``."""
    if value is None:
        return wording(name, f"--{name.replace('_', '-')}")
    return wording(f"{name}={value!r}", f"--{name} {value if str(value).isidentifier() else repr(value)}")


def public(kind: PublicT) -> PublicT:
    """Decorate a class, so that messages and pickles name it as users import it, not by the module it is in."""
    HOMES[kind] = kind.__module__
    kind.__module__ = "streameval"
    return kind


@public
class StreamevalError(Exception):
    """Base of every exception that this package raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: it ends at the user's line that called the package.

        The exception keeps the whole traceback for debuggers. Plain Python has no such hook, and a handler around each
        public method would cost as much as a small call.
        """
        own = (_HOME, "streameval/", "<string>", sys.prefix, sys.base_prefix)  # two: compiled, generated code
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
    """True: a warning ends the call. False: it is dropped. None: it is issued at once."""


class _Deferred(Exception):  # noqa: N818  # control flow, never raised to users
    """Ends a call that holds guards, so that its warning can be issued after they are released."""


_deferring = _Deferring()


def warning_first(change: Callable[P, R], /, *args: P.args, **keywords: P.kwargs) -> R:
    """Call ``change``, which holds guards. If it would warn, nothing changes: warn without guards, call it again."""
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
    """Within this block, nothing warns and input is not checked for what to warn of; displays use it."""
    before, _deferring.warns = _deferring.warns, False
    try:
        yield
    finally:
        _deferring.warns = before


def is_silent() -> bool:
    """Whether the caller runs within a `silent` block."""
    return _deferring.warns is False


def warn(message: str) -> None:
    """Issue a `DataWarning` for the line that called the package. Warning filters may run code of the user."""
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
    """Prefix the messages of errors within this block with the name of a part, if it has one."""
    try:
        yield
    except StreamevalError as error:
        raise type(error)(f"{part}: {error}" if part else str(error)) from None


def above(module: str, name: str) -> Callable[..., Any]:
    """A method that calls a function of a higher module, which is imported at the call."""

    def method(*args: object, **options: object) -> object:
        return getattr(import_module(f"streameval.{module}"), name)(*args, **options)

    return method


def imported(module: str, what: str) -> Any:
    """Import a module of an optional library; `DependencyError` if the library, which ``what`` needs, is absent."""
    library = module.partition(".")[0]
    try:
        import_module(library)  # fails for an absent library even if its submodules are cached
        return import_module(module)
    except ImportError as error:
        raise DependencyError(f"{what} needs {library}, which is not installed; pip install {library}") from error
