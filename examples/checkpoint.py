"""A loop that is killed twice, continues each time where it was, and counts every example exactly once.

Usage: python examples/checkpoint.py [file]
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import streameval as se

EXAMPLES, EVERY = 5_000, 500
LABELS = ("cat", "dog", "bird", "owl")


class Killed(Exception):  # noqa: N818
    """Stands for a power cut."""


def stream() -> Iterator[tuple[set[str], set[str]]]:
    """A stream with the same examples each time it is read, like a file or a topic."""
    drawn = random.Random(3)  # noqa: S311
    for _ in range(EXAMPLES):
        truth = {label for label in LABELS if drawn.random() < 0.4}
        yield truth, {label for label in LABELS if (label in truth) != (drawn.random() < 0.1)}


def evaluate(path: Path, crash: int | None) -> se.Evaluator:
    """The whole loop, which a service would run each time it starts."""
    with se.Checkpointer(se.Evaluator(["f1_micro", "f1_macro"]), path, every=EVERY) as saved:
        print(f"starts at example {saved.position:,}", end="")
        for y_true, y_pred in saved.remaining(stream()):
            if saved.position == crash:
                print(f", is killed at {crash:,}")
                raise Killed
            saved.evaluator.update(y_true, y_pred)
    print(f", reaches {saved.position:,}")
    return saved.evaluator


def main(path: Path) -> None:
    for crash in (1_234, 3_999):
        with contextlib.suppress(Killed):
            evaluate(path, crash)
    counts = evaluate(path, None)

    once = se.Evaluator(["f1_micro", "f1_macro"])
    once.update_many(*zip(*stream(), strict=True))
    same = counts.to_bytes() == once.to_bytes()
    print(f"f1_micro {counts.get('f1_micro'):.6f}; {'the same' if same else 'NOT the same'} bits as in one go")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "evaluator.state")
