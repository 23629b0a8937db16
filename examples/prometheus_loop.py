"""A loop whose metrics Prometheus scrapes: over all examples, over the last 500, and for the most frequent labels.

Usage: python examples/prometheus_loop.py [port] [examples]. Then look at http://127.0.0.1:8000/metrics.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from prometheus_client import REGISTRY, start_http_server

import streameval as se
from streameval.adapters.prometheus import EvaluationCollector

TOPICS = [f"topic {number}" for number in range(50)]


def main(port: int = 8000, examples: int = 60_000) -> None:
    metrics = ["f1_micro", "f1_macro", "hamming_loss", "f1_per_label"]
    total = se.Evaluator(metrics, labels=TOPICS)
    recent = se.Rolling(se.Evaluator(metrics, labels=TOPICS), size=500)
    both = se.Trace({"all": total, "last_500": recent}, every=examples)  # counts each example in both
    REGISTRY.register(EvaluationCollector({"all": total, "last_500": recent}, max_labels=10))
    start_http_server(port, addr="127.0.0.1")

    rng = np.random.default_rng(0)
    often = 0.5 / np.arange(1, len(TOPICS) + 1)
    for _ in range(examples):
        truth = rng.random(len(TOPICS)) < often
        guess = truth ^ (rng.random(len(TOPICS)) < 0.02)
        both.update(truth, guess)  # a scrape reads both before this example or both after it
        time.sleep(0.001)
    print(f"{total.examples:,} examples; f1_micro {total.get('f1_micro'):.3f}, lately {recent.get('f1_micro'):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
