"""Cost of the command on JSON lines, compared with a loop that only parses: ``python -m tests.benchmarks.big_file``.

Each side runs in its own process, and its time includes the start. The sides alternate, and the smallest processor
time and the smallest clock time of each count. A tenfold smaller file shows that memory does not grow with the file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LABELS = [f"topic {number}" for number in range(100)]
OPTIONS = {"lists": ("-p", "guess"), "scores": ("-s", "scores", "-t", "0.5", "-m", "f1_micro,f1_macro,roc_auc_micro")}
LOOP = "import sys\nfrom {0} import loads\nfor line in open(sys.argv[1], 'rb'):\n    loads(line)\n"


@dataclass(frozen=True)
class Cost:
    """The cost of a process: clock time and processor time in seconds, and peak memory in MiB."""

    clock: float = math.inf
    processor: float = math.inf
    memory: float = 0.0

    def with_run(self, other: Cost) -> Cost:
        return Cost(min(self.clock, other.clock), min(self.processor, other.processor), max(self.memory, other.memory))


def rows_of(kind: str, number: int) -> bytes:
    """JSON lines with an id, a region, true tags and predicted tags; equal in every run."""
    made = random.Random(7)
    lines = []
    for at in range(number):
        tags = made.sample(LABELS, made.randrange(1, 6))
        rest = made.sample(LABELS, 10 if kind == "scores" else 2)
        row: dict[str, object] = {"id": at, "region": made.choice(("eu", "us")), "tags": tags}
        if kind == "scores":
            row["scores"] = {tag: round(made.random(), 3) for tag in dict.fromkeys(tags + rest)}
        else:
            row["guess"] = [tag for tag in dict.fromkeys(tags + rest) if made.random() < 0.7]
        lines.append(json.dumps(row) + "\n")
    return "".join(lines).encode()


def write(path: Path, kind: str, size: int) -> int:
    """Write about ``size`` bytes, and return the number of lines."""
    block, lines = rows_of(kind, 100_000), 0
    with path.open("wb") as file:
        for _ in range(max(1, size // len(block))):
            file.write(block)
            lines += 100_000
    return lines


def ran(command: list[str], expected: int | None) -> Cost:
    """The cost of one process."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        out.seek(0)
        if expected is not None:
            assert json.load(out)["examples"] == expected
    return Cost(took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kind", choices=list(OPTIONS), action="append")
    parser.add_argument("--loops", default="orjson,json", help="which parsers to compare with")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    chosen = parser.parse_args()
    parsers = chosen.loops.split(",")
    for kind in chosen.kind or list(OPTIONS):
        sizes = (chosen.megabytes // 10, chosen.megabytes)
        for megabytes in sizes:
            path = Path(chosen.folder) / f"streameval-{os.getpid()}.jsonl"
            try:
                rows = write(path, kind, megabytes * 10**6)
                ours = [sys.executable, "-m", "streameval", "evaluate", str(path), "-a", "tags", *OPTIONS[kind]]
                commands = {"streameval": ([*ours, "-f", "json"], rows)}
                if megabytes == sizes[-1]:
                    commands |= {name: ([sys.executable, "-c", LOOP.format(name), str(path)], None) for name in parsers}
                costs = dict.fromkeys(commands, Cost())
                for _ in range(chosen.repeats):
                    for name, (command, expected) in commands.items():
                        costs[name] = costs[name].with_run(ran(command, expected))
                print(f"{kind}, {path.stat().st_size / 1e6:,.0f} MB, {rows:,} rows")
                for name, cost in costs.items():
                    base = costs.get(parsers[0], cost)
                    print(
                        f"  {name:10} {cost.clock:7.2f} s, processor {cost.processor:7.2f} s, {cost.memory:5.0f} MiB; "
                        f"{cost.clock / base.clock:.2f} and {cost.processor / base.processor:.2f} times {parsers[0]}",
                        flush=True,
                    )
            finally:
                path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
