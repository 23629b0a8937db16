"""Instructions of the hottest paths, counted by valgrind: ``python -m tests.benchmarks.instructions [WORD ...]``.

Times on shared machines vary; instruction counts hardly do. Each program runs twice with different numbers of calls,
and the difference is divided by the difference of the numbers, so that start-up cancels. A WORD selects the paths with
this word in their names; ``--in FOLDER`` counts in another checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.paths import PATHS


def instructions(program: str, calls: int, checkout: Path) -> int:
    done = subprocess.run(
        [shutil.which("valgrind") or "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
         sys.executable, "-c", f"{program}\nrun({calls})"],
        capture_output=True, text=True, check=True, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"valgrind said nothing that can be read:\n{done.stderr[-500:]}")
    return int(collected[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.instructions", description=__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--in", dest="checkout", type=Path, default=Path.cwd(), metavar="FOLDER")
    chosen = parser.parse_args()
    print("| path | instructions |\n|---|---|")
    for name, path in PATHS.items():
        if path.counted is None or (chosen.words and not any(word in name for word in chosen.words)):
            continue
        few, many = path.counted
        spent = [instructions(path.program(), calls, chosen.checkout.resolve()) for calls in (few, many)]
        per_unit = (spent[1] - spent[0]) / (many - few) / path.units
        print(f"| {name} | {per_unit:,.{2 if per_unit < 100 else 0}f} per {path.unit} |", flush=True)


if __name__ == "__main__":
    main()
