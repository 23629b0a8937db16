"""The commands on the pages run, and print what the pages say. Python code on the pages runs as doctests."""

from __future__ import annotations

import doctest
import io
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from streameval.cli import main

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```bash\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
PAGES = {
    path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(block: str) -> list[list[str]]:
    """The commands of a block, each split into words; none if the block runs another program."""
    lines = block.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [each for each in words if each] if all(each[:1] in ([], ["streameval"], ["cat"]) for each in words) else []


WITH_COMMANDS = [path for path, text in PAGES.items() if "```bash\nstreameval" in text]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=lambda path: path.stem)
def test_commands_run_and_print_what_the_page_says(path, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "streameval" / "cli" / "sample", tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    for block, expected in BLOCK.findall(PAGES[path]):
        output = ""
        for words in commands(block):
            if words[0] == "cat":  # cat FILE | streameval ...
                data = io.BytesIO(Path(words[1]).read_bytes())
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(data)))
                words = words[3:]
            status = main(words[1:])
            printed = capsys.readouterr()
            output += printed.out + printed.err
            assert (status == 0) == ("streameval: " not in expected), (words, output)
        if expected:
            assert doctest.OutputChecker().check_output(expected, output, FLAGS), f"{block}\n{output}"
