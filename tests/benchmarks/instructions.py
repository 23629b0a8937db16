"""Instructions of the hottest paths, counted by valgrind: ``python -m tests.benchmarks.instructions [WORD ...]``.

Times on shared machines vary; instruction counts hardly do. Each program runs twice with different numbers of calls,
and the difference is divided by the difference of the numbers, so that start-up cancels.
"""

from __future__ import annotations

import re
import subprocess
import sys

SETUP = """
import random, sys
import numpy as np
import streameval as se
calls = int(sys.argv[1])
rng = random.Random(0)
labels = [f"label{number}" for number in range({labels})]
"""

PROGRAMS = {
    "`update`, `{label: bool}` dicts of 14 labels": (
        14,
        """
examples = [tuple({label: rng.random() < 0.3 for label in labels} for _ in range(2)) for _ in range(100)]
ev = se.Evaluator()
for call in range(calls):
    ev.update(*examples[call % 100])
""",
        (20_000, 40_000),
        1,
        "example",
    ),
    "`update_many`, dense uint8, 10,000 x 100": (
        100,
        """
true, pred = ((np.random.default_rng(seed).random((10_000, 100)) < 0.1).astype(np.uint8) for seed in range(2))
ev = se.Evaluator(labels=labels)
for call in range(calls):
    ev.update_many(true, pred)
""",
        (10, 30),
        1_000_000,
        "cell",
    ),
    "`update`, int64 rows of 14 declared labels": (
        14,
        """
examples = [tuple(np.array([rng.random() < 0.3 for label in labels], np.int64) for _ in range(2)) for _ in range(100)]
ev = se.Evaluator(labels=labels)
for call in range(calls):
    ev.update(*examples[call % 100])
""",
        (1_000, 3_000),
        1,
        "example",
    ),
    "`update` with a weight, `{label: bool}` dicts of 14 labels": (
        14,
        """
examples = [tuple({label: rng.random() < 0.3 for label in labels} for _ in range(2)) for _ in range(100)]
ev = se.Evaluator()
for call in range(calls):
    ev.update(*examples[call % 100], weight=1 + call % 100 / 8)
""",
        (1_000, 3_000),
        1,
        "example",
    ),
    "`update_many`, dense uint8, 32 x 14": (
        14,
        """
true, pred = ((np.random.default_rng(seed).random((32, 14)) < 0.3).astype(np.uint8) for seed in range(2))
ev = se.Evaluator(labels=labels)
for call in range(calls):
    ev.update_many(true, pred)
""",
        (500, 1_500),
        1,
        "call",
    ),
    "`get` of macro F1, 1,000 labels": (
        1000,
        """
true, pred = ((np.random.default_rng(seed).random((2_000, 1000)) < 0.1).astype(np.uint8) for seed in range(2))
ev = se.Evaluator(labels=labels)
ev.update_many(true, pred)
for call in range(calls):
    ev.get("f1_macro")
""",
        (100, 300),
        1,
        "call",
    ),
    "`get` of nine metrics, 14 labels": (
        14,
        """
true, pred = ((np.random.default_rng(seed).random((2_000, 14)) < 0.3).astype(np.uint8) for seed in range(2))
ev = se.Evaluator(labels=labels)
ev.update_many(true, pred)
for call in range(calls):
    ev.get()
""",
        (200, 600),
        1,
        "call",
    ),
}


def instructions(program: str, calls: int) -> int:
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        sys.executable,
        "-c",
        program,
        str(calls),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"valgrind said nothing that can be read:\n{done.stderr[-500:]}")
    return int(collected[1])


def main() -> None:
    print("| path | instructions |\n|---|---|")
    chosen = sys.argv[1:]
    for name, (labels, body, (few, many), units, unit) in PROGRAMS.items():
        if chosen and not any(word in name for word in chosen):
            continue
        program = SETUP.replace("{labels}", str(labels)) + body
        per_unit = (instructions(program, many) - instructions(program, few)) / (many - few) / units
        print(f"| {name} | {per_unit:,.{2 if per_unit < 100 else 0}f} per {unit} |", flush=True)


if __name__ == "__main__":
    main()
