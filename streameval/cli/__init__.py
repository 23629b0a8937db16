"""The command line: ``streameval evaluate predictions.jsonl --actual tags --predicted guess``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("typer", "rich", "orjson", "pyarrow")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command with some arguments, or those of the process.

    Returns its exit code: 0, 2 after an error of the user, 130 after Ctrl-C.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"streameval: the command line needs {', '.join(missing)}; run pip install 'streameval[cli]'\n"
        )
        return 2
    try:
        from streameval.cli.run import run  # only where everything it needs is there
    except KeyboardInterrupt:  # before anything was counted
        return 130
    return run(args)
