"""The loop of all long runs, with seeds, reports of progress and a time limit."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable


def soak(doc: str | None, times: int, once: Callable[[random.Random], str]) -> None:
    """Call ``once`` repeatedly, each time with another seed, and count the outcomes that it returns."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--times", type=int, default=times)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many, done or not")
    chosen = parser.parse_args()
    started, counts, done = time.monotonic(), {}, 0
    reported = started
    for seed in range(chosen.first, chosen.first + chosen.times):
        try:
            word = once(random.Random(seed))
        except BaseException:
            sys.stdout.write(f"stopped at seed {seed} after {done:,}\n")
            raise
        counts[word] = counts.get(word, 0) + 1
        done += 1
        now = time.monotonic()
        if now - reported >= 30 or now - started >= chosen.seconds:
            reported = now
            sys.stdout.write(f"{done:,} of {chosen.times:,} in {now - started:.0f} s: {counts}\n")
            sys.stdout.flush()
        if now - started >= chosen.seconds:
            break
    sys.stdout.write(f"done: {done:,} in {time.monotonic() - started:.0f} s, no fault: {counts}\n")
