"""Examples that need only the package print the expected results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def said(*command: str | Path) -> str:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def test_the_ledger_example_is_exact_where_merging_is_not():
    printed_text = said("examples/ledger.py")
    assert "ledger and single process are the same to the last bit" in printed_text
    result = {
        line.split(":")[0]: int(line.split()[-4].replace(",", ""))
        for line in printed_text.splitlines()
        if " f1_" in line
    }
    assert result["the ledger"] == result["a single process"] == 20_000
    assert result["merging what arrives"] > 100_000


def test_the_checkpoint_example_counts_every_example_once(tmp_path: Path):
    printed_text = said("examples/checkpoint.py", tmp_path / "state")
    assert "starts at example 0, is killed at 1,234" in printed_text
    assert "starts at example 1,000, is killed at 3,999" in printed_text
    assert "starts at example 3,500, reaches 5,000" in printed_text
    assert "the same bits as in one go" in printed_text
    assert [result.name for result in tmp_path.iterdir()] == ["state"]
