"""A fixture that runs the command in this process and returns its status and output."""

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
"""Words of the Python interface, which must not be in messages of the command."""


@pytest.fixture(autouse=True)
def _processes_import_the_package_of_this_one(monkeypatch) -> None:
    """PYTHONPATH of processes is ``sys.path``, because relative entries fail where a process runs in another folder."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


_commands = cache(typer.main.get_command)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(typer.main, "get_command", _commands)  # made once, because most runs take less time

    def command(*args: object, stdin: bytes | None = None) -> Ran:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        code = main([str(arg) for arg in args])
        message = capsys.readouterr()
        assert "Traceback" not in message.err
        assert "\x1b" not in message.out + message.err  # no colours where there is no terminal
        assert not _PYTHON.search(re.sub(r"'[^']*'|; columns in .*", "", message.err))  # except in quoted data
        return Ran(code, message.out, message.err)

    return command
