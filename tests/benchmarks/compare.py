"""Compare the times of two checkouts: ``python -m tests.benchmarks.compare BASE [NEW]``.

Both must have been built in place. They alternate, five runs each; every run is a process of its own that measures the
smallest processor time of each path. The ratio is the median of the five; above 1, the new checkout is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.paths import PATHS

RUN = """
import gc, json, sys, time, warnings
warnings.simplefilter("ignore")
seconds, paths = json.load(sys.stdin)
import streameval as se
for name, (program, calls) in paths.items():
    try:
        exec(program, names := {})
        names["run"](calls)
        answer = repr(names["ev"].get())
        gc.collect()
        gc.disable()
        best, ends = float("inf"), time.perf_counter() + seconds
        while time.perf_counter() < ends:
            start = time.process_time()
            names["run"](calls)
            best = min(best, time.process_time() - start)
        gc.enable()
        print(json.dumps([name, best / calls, answer]), flush=True)
    except Exception as error:
        print(json.dumps([name, None, repr(error)]), flush=True)
print(json.dumps(["", 0, f"{se.__file__}, kernel {se.kernel.BACKEND}"]))
"""


def measured(checkout: Path, seconds: float, names: list[str]) -> dict[str, tuple[float | None, str]]:
    """For each path, the seconds per call in a checkout, and the result of the call."""
    paths = {name: (PATHS[name].program(), max(1, PATHS[name].calls // 10)) for name in names}
    done = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps([seconds, paths]), stdout=subprocess.PIPE,
        text=True, check=True, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    return {name: (spent, answer) for name, spent, answer in map(json.loads, done.stdout.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.compare", description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=Path.cwd())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each path in each run")
    parser.add_argument("--only", nargs="*", default=[""], metavar="WORD", help="the paths whose name holds a word")
    chosen = parser.parse_args()
    names = [name for name in PATHS if any(word in name for word in chosen.only)]
    both = [chosen.base.resolve(), chosen.new.resolve()]
    runs = []
    for number in range(chosen.rounds):
        order = both if number % 2 == 0 else both[::-1]
        result = {checkout: measured(checkout, chosen.seconds, names) for checkout in order}
        runs.append([result[checkout] for checkout in both])
        print(f"{number + 1} of {chosen.rounds}", file=sys.stderr)
    print("base:", runs[0][0][""][1], "\nnew: ", runs[0][1][""][1], "\n")
    print("| path | base | new | new / base, median | least | most |\n|---|---|---|---|---|---|")
    for name in names:
        errors = [f"{side}: {run[name][1]}" for run in runs[:1] for side, run in zip(("base", "new"), run, strict=True)
                  if run[name][0] is None]  # fmt: skip
        if errors:
            print(f"| {name} | {' '.join(errors)} | | | | |")
            continue
        times = [tuple(1e6 * (side[name][0] or 0) for side in run) for run in runs]
        ratios = sorted(new / base for base, new in times)
        columns = [f"{statistics.median(column):.4g} us" for column in zip(*times, strict=True)]
        alike = "" if runs[0][0][name][1] == runs[0][1][name][1] else " (the answers differ)"
        print(f"| {name} | {columns[0]} | {columns[1]} | {statistics.median(ratios):.3f}{alike} "
              f"| {ratios[0]:.3f} | {ratios[-1]:.3f} |")  # fmt: skip


if __name__ == "__main__":
    main()
