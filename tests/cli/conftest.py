"""The command run in this process, with what it wrote."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
import typer.main

from streameval.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]

_PYTHON = re.compile(
    r"construct with|update_many|\bnp\.|\.astype|tolist|(float|int|str)\(|(?<!: )\by_(true|pred|score)\b|"
    r"\b(actual|example|join|keep|labels?|mask|nan|null|predicted|rows|scores|sep|threshold|truth|unknown)="
)
"""Words of the other interface, which no message of the command has."""


@pytest.fixture(autouse=True)
def _processes_import_the_package_of_this_one(monkeypatch) -> None:
    """Wherever they run: entries of PYTHONPATH may be relative, those of ``sys.path`` are not."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


_commands = cache(typer.main.get_command)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(typer.main, "get_command", _commands)  # of all runs, as most take less time than to make them

    def command(*args: object, stdin: bytes | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        code = main([str(arg) for arg in args])
        message = capsys.readouterr()
        assert "Traceback" not in message.err
        assert "\x1b" not in message.out + message.err  # no colours where there is no terminal
        assert not _PYTHON.search(re.sub(r"'[^']*'|; columns in .*", "", message.err))  # but for data
        return Ran(code, message.out, message.err)

    return command
