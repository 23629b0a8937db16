"""Kill a process that counts and saves, again and again, and check its file: python -m tests.soak.kills.

A process with a `Checkpointer` reads a stream and is killed with SIGKILL at a random moment; the next one continues
from the file. After each kill the file must hold exactly the counts of one pass over the stream up to its position, and
this position must not be before the last one that the process reported as saved.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import struct
import sys
import tempfile
import time
from itertools import count, islice
from pathlib import Path

import streameval as se

METRICS = ["f1_macro", "hamming_loss"]
LABELS = [f"label {number}" for number in range(400)]
LONGEST = 0.004  # seconds until the kill


def stream(start: int):
    """An endless stream of examples from ``start`` on, equal in every run; its states grow to tens of kilobytes."""
    for place in count(start):
        drawn = random.Random(place)
        yield drawn.sample(LABELS, 3), drawn.sample(LABELS, 3)


def work(path: Path, acknowledged: int) -> None:
    """Count and save until killed, and report each position after it is saved."""
    saved = se.Checkpointer(se.Evaluator(METRICS), path, every=3)
    for y_true, y_pred in stream(saved.position):
        saved.evaluator.update(y_true, y_pred)
        before = saved._saved
        saved.step()
        if saved._saved != before:
            os.write(acknowledged, struct.pack("<Q", saved._saved))


def killed(path: Path, saves: int, after: float) -> int:
    """Kill a process some time after ``saves`` saves; return the last position that it reported, or 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(path, writing)
        finally:
            os._exit(1)  # skips clean-up code of the parent
    os.close(writing)
    with os.fdopen(reading, "rb", 0) as message:
        data = b"".join(message.read(8) for _ in range(saves))
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"the process failed by itself: {status}"
        data += message.readall()
    return struct.unpack("<Q", data[-8:])[0] if data else 0


def run(kills: int, seed: int) -> str:
    """A summary of the run; raises `AssertionError` if anything was lost or damaged."""
    drawn = random.Random(seed)
    expected, reached, newest, amid = se.Evaluator(METRICS), 0, 0, 0
    examples = stream(0)
    warm = se.Checkpointer, se.load  # imports their modules once, before the first fork
    assert all(warm)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        for done in range(kills):
            if done and done % 1000 == 0:
                sys.stdout.write(f"{done:,} kills ...\n")
                sys.stdout.flush()
            newest = max(newest, killed(path, drawn.randrange(3), drawn.random() * LONGEST))
            amid += any(Path(folder).glob(".*.tmp"))
            if not path.exists():
                assert newest == 0
                continue
            result = se.load(path)
            assert result.position >= max(newest, reached), "an acknowledged state is lost"
            for y_true, y_pred in islice(examples, result.position - reached):
                expected.update(y_true, y_pred)
            reached = result.position
            assert result.evaluator == expected, "the state does not belong to the position"
        se.Checkpointer(se.Evaluator(METRICS), path)
        left = {result.name for result in Path(folder).iterdir()}
        assert left <= {"state"}, f"leftovers stay: {left}"
    return f"{kills:,} kills, {amid:,} of them amid a save; {reached:,} examples; nothing lost, nothing damaged"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    sys.stdout.write(run(chosen.kills, chosen.seed) + "\n")
