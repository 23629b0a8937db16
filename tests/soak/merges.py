"""Random examples in random partitions, orders and merge trees give equal bytes: python -m tests.soak.merges."""

from __future__ import annotations

import random

import streameval as se
from tests.soak.progress import soak

LABELS = ["a", "b", "c", 0, -7, 2**70, "é"]
SETUPS = (
    {"metrics": ["f1_macro"]},
    {"metrics": ["f1_macro"], "labels": LABELS[:3], "unknown": "add"},
    {"metrics": ["f1_micro"], "threshold": 0.5},
    {"metrics": ["ndcg(k=2)", "roc_auc_macro", "f1_micro"], "threshold": 0.5, "keep": ["pairs"]},
)
WEIGHTS = (1.0, 0.1, 1 / 3, 0.0, 5e-324, 1e17, 1e300)


def some(drawn: random.Random) -> list:
    return drawn.sample(LABELS, drawn.randrange(5))


def once(drawn: random.Random) -> str:
    setup = drawn.choice([*SETUPS[:3] * 5, SETUPS[3]])  # rarely the last one, which takes much longer
    scored, weighted, masked = "threshold" in setup, drawn.random() < 0.5, drawn.random() < 0.3
    examples = []
    for _ in range(drawn.randrange(9)):
        pred = {label: drawn.choice([0.0, 0.3, 0.5, 1.0]) for label in some(drawn)} if scored else some(drawn)
        weight = drawn.choice(WEIGHTS) if weighted else 1.0
        examples.append((some(drawn), pred, weight, some(drawn) if masked else None))

    def shard(part: list) -> se.Evaluator:
        made = se.Evaluator(**setup)
        if len(part) > 1 and drawn.random() < 0.5:
            true, pred, weights, masks = map(list, zip(*part, strict=True))
            made.update_many(true, pred, weights=weights, mask=masks if masked else None)
            return made
        for true, pred, weight, mask in part:
            made.update(true, pred, weight=weight, mask=mask)
        return made

    expected = shard(examples).to_bytes()
    parts: list[list] = [[] for _ in range(drawn.randint(1, 6))]
    for example in drawn.sample(examples, len(examples)):
        drawn.choice(parts).append(example)
    shards = [shard(part) for part in parts]
    if drawn.random() < 0.2:
        shards = [se.Evaluator.from_bytes(one.to_bytes()) for one in shards]
    while len(shards) > 1:
        taken = shards.pop(drawn.randrange(len(shards)))
        shards[drawn.randrange(len(shards))].merge(taken)
    assert shards[0].to_bytes() == expected
    return "partitions"


if __name__ == "__main__":
    soak(__doc__, 100_000, once)
