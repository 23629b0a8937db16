"""The region on which a tagger is worst, hour by hour: shards are sliced, sent as bytes, and merged."""

from __future__ import annotations

import random

import streameval as se

REGIONS = {"eu": 0.9, "us": 0.8, "asia": 0.5}
TAGS = ("cat", "dog", "bird")


def shard(seed: int) -> bytes:
    """The state that one worker counts, as bytes."""
    rng = random.Random(seed)  # noqa: S311  # not used for security
    sliced = se.Sliced(se.Evaluator(["f1_micro", "hamming_loss"]), by=("region", "device"))
    for _ in range(2_000):
        region = rng.choice(list(REGIONS))
        true = {tag for tag in TAGS if rng.random() < 0.4}
        pred = {tag for tag in TAGS if (tag in true) == (rng.random() < REGIONS[region])}
        sliced.update(true, pred, where={"region": region, "device": rng.choice(["phone", "desktop"])})
    return sliced.to_bytes()


def main() -> None:
    total = sum(se.Sliced.from_bytes(shard(seed)) for seed in range(4))
    print(total.report())
    worst = min(total.slices("region"), key=lambda part: part.evaluator.get("f1_micro"))
    print(f"\nworst: {worst.where}")


if __name__ == "__main__":
    main()
