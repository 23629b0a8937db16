"""Sizes of states and rates of reading and merging them: ``python -m tests.benchmarks.shards``.

The smallest processor time of many runs counts, because other work on the machine affects it least. Every result is
checked.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable

import numpy as np

import streameval as se


def least(work: Callable[[], object], repeats: int) -> float:
    """The smallest processor time of ``repeats`` runs, in seconds."""
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
    finally:
        gc.enable()
    return min(times)


def shard_of(names: list[str], examples: int, share: float, seed: int) -> se.Evaluator:
    rng = np.random.default_rng(seed)
    ev = se.Evaluator(["f1_micro"])
    some = np.array(names, object)
    rows = [some[rng.random(len(names)) < share].tolist() for _ in range(2 * examples)]
    ev.update_many(rows[:examples], rows[examples:])
    return ev


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=10_000)
    chosen = parser.parse_args()
    say = sys.stdout.write

    wide = [f"label {number}" for number in range(10_000)]
    ev = shard_of(wide, 2000, 0.003, 0)
    data, text = ev.to_bytes(), sum(len(name.encode()) for name in ev.labels)
    each = (len(data) - text) / len(ev.labels)
    say(f"{len(ev.labels):,} labels: {len(data):,} bytes, {each:.1f} a label besides its name\n")
    assert se.Evaluator.from_bytes(data) == ev
    say(f"  from_bytes {1e3 * least(lambda: se.Evaluator.from_bytes(data), 30):.1f} ms")
    say(f", to_bytes {1e3 * least(ev.to_bytes, 30):.1f} ms\n")

    names = [f"label {number}" for number in range(100)]
    few = [shard_of(names, 100, 0.05, seed) for seed in range(100)]
    states = [few[number % 100] for number in range(chosen.shards)]
    images = [state.to_bytes() for state in few]
    many = chosen.shards

    def merge() -> se.Evaluator:
        total = se.Evaluator(["f1_micro"])
        for state in states:
            total.merge(state)
        return total

    def merge_bytes() -> se.Evaluator:
        total = se.Evaluator(["f1_micro"])
        for number in range(many):
            total.merge(se.Evaluator.from_bytes(images[number % 100]))
        return total

    def put() -> se.Ledger[se.Evaluator]:
        ledger = se.Ledger(se.Evaluator(["f1_micro"]))
        for number in range(many):
            ledger.put(number, 1, states[number])
        return ledger

    ledger, total = put(), merge()
    assert merge_bytes() == total == ledger.total()
    image = ledger.to_bytes()
    say(f"{many:,} shard states of 100 labels, {len(images[0]):,} bytes each:\n")
    for message, work, repeats in (
        ("merge of objects", merge, 5),
        ("from_bytes and merge", merge_bytes, 3),
        ("Ledger.put of objects", put, 3),
        ("Ledger.from_bytes, which sums too", lambda: se.Ledger.from_bytes(image), 2),
        ("Ledger.to_bytes", ledger.to_bytes, 3),
    ):
        took = least(work, repeats)
        say(f"  {message:38} {took:7.3f} s  {many / took:10,.0f} states/s\n")
    ledger.compact()
    assert ledger.total() == total
    say(f"  bytes of the ledger {len(image):,}; after compact() {len(ledger.to_bytes()):,}\n")


if __name__ == "__main__":
    main()
