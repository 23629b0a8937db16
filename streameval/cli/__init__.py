"""The command line: ``streameval evaluate predictions.jsonl --actual tags --predicted guess``."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from streameval.cli.settings import WARNINGS, forget_output, is_terminal, say, until_unread
from streameval.errors import DataWarning, StreamevalError

__all__ = ["main"]

_NEEDED = ("typer", "rich", "orjson", "pyarrow")

_SPELLINGS = {"--y-true": "--actual", "--y-pred": "--predicted", "--y-score": "--scores"}
"""Options that are named like the arguments of functions for arrays."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with ``args``, or with the arguments of the process.

    Returns its exit status: 0, 1 if a check failed, 2 for wrong usage or input, 130 after Ctrl-C.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        return _failed(f"the command line needs {', '.join(missing)}; run pip install 'streameval[cli]'")
    try:
        for name in ("SIGTERM", "SIGHUP") if args is None and sys.argv[1:2] == ["watch"] else ():
            stop = getattr(signal, name, signal.SIGTERM)  # sent to stop a service, and when a terminal closes
            if signal.getsignal(stop) != signal.SIG_IGN:  # nohup ignores SIGHUP, and that holds
                signal.signal(stop, lambda *_: signal.raise_signal(signal.SIGINT))
        if args is None and "pandas" not in sys.modules:
            _leave_pandas_out()
        import typer  # needs the extra "cli", which was checked above

        from streameval.cli.app import app
        from streameval.cli.arguments import usage_error
    except KeyboardInterrupt:  # before anything was counted
        return 130
    # Typer includes a copy of Click or imports Click, depending on its version; either way this is UsageError.
    usage: Any = typer.BadParameter.__mro__[2]
    with _plain_streams(restored=args is not None):
        parts = [word.partition("=") for word in (sys.argv[1:] if args is None else args)]
        words = [_SPELLINGS.get(name, name) + equals + value for name, equals, value in parts]
        words = [*words[1:], "--help"] if words[:1] == ["help"] else words
        code: object = 0
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warned
                WARNINGS.set([])
                warnings.simplefilter("always", DataWarning)
                run: Any = partial(app, args=words or ["--help"], prog_name="streameval", standalone_mode=False)
                with until_unread():
                    code = copy_context().run(run)  # settings hold for this run only
        except SystemExit as end:  # raised by completion in shells
            return end.code if isinstance(end.code, int) else 0
        except (KeyboardInterrupt, typer.Abort):
            return 130
        except (StreamevalError, DataWarning) as error:  # a warning with --strict
            return _failed(str(error))
        except OSError as error:
            forget_output()
            return _failed(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        except MemoryError:
            return _failed("memory has run out; fewer labels, slices (--by) or a smaller --window need less")
        except usage as error:
            return _failed(usage_error(error))
        return code if isinstance(code, int) else 0


@contextmanager
def _plain_streams(*, restored: bool) -> Iterator[None]:
    """Set encoding and line ends of the standard streams; if ``restored``, set them back for the calling program."""
    with ExitStack() as ends:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:  # its descriptor was closed
                setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  # open to the end
            stream = getattr(sys, name)
            if hasattr(stream, "reconfigure"):
                if restored:
                    ends.enter_context(suppress(OSError, ValueError))  # the stream is closed
                    ends.callback(stream.reconfigure, encoding=stream.encoding, errors=stream.errors, newline=None)
                if not is_terminal(stream):  # the same bytes as --output writes
                    encoding = None if os.environ.get("PYTHONIOENCODING") else "utf-8"
                    stream.reconfigure(encoding=encoding, newline="\n")
                stream.reconfigure(errors="backslashreplace")  # for labels that the encoding lacks
        yield


class _WithoutPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def _leave_pandas_out() -> None:
    """Keep Arrow from importing pandas, which it does to recognise a Series: this takes longer than a small file."""
    import pyarrow

    sys.meta_path.insert(0, finder := _WithoutPandas())
    try:
        pyarrow.scalar(0)
    finally:
        sys.meta_path.remove(finder)


def _failed(text: str) -> int:
    say(f"streameval: {_one_line(text)}")
    return 2


def _warned(message: Warning | str, *_: object, **__: object) -> None:
    text = str(message)
    if isinstance(message, DataWarning):
        if text in WARNINGS.get():  # the state was read before
            return
        WARNINGS.get().append(text)
    say(f"warning: {_one_line(text)}")


def _one_line(text: str) -> str:
    return " ".join(map(str.strip, text.splitlines()))
