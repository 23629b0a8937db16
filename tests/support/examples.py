"""Run the example scripts as a user does, but in this process, which has already imported their libraries."""

from __future__ import annotations

import io
import runpy
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[2]


def printed(name: str, *arguments: str | Path) -> tuple[str, str]:
    """The standard output and standard error of a script in the folder ``examples``."""
    path, out, err = str(ROOT / "examples" / name), io.StringIO(), io.StringIO()
    command = [path, *map(str, arguments)]
    with patch.object(sys, "argv", command), chdir(ROOT), redirect_stdout(out), redirect_stderr(err):
        runpy.run_path(path, run_name="__main__")
    return out.getvalue(), err.getvalue()
