"""A dataset of Ray evaluated by region, and shards that your own tasks count."""

from __future__ import annotations

import os

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray

import streameval as se
from streameval.adapters.ray import evaluate, merge

ROWS = [
    {"tags": ["cat", "bird"], "guess": ["cat", "dog"], "region": "eu"},
    {"tags": ["dog"], "guess": ["dog"], "region": "us"},
    {"tags": ["cat"], "guess": ["cat"], "region": "eu"},
]


@ray.remote
def shard(rows: list[dict[str, list[str]]]) -> bytes:
    """The state that one task counts, as bytes."""
    ev = se.Evaluator(["f1_micro"])
    ev.update_many([row["tags"] for row in rows], [row["guess"] for row in rows])
    return ev.to_bytes()


def main() -> None:
    """Count the same rows in both ways."""
    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False)
    dataset = ray.data.from_items(ROWS * 100, override_num_blocks=4)
    total = evaluate(dataset, "tags", "guess", metrics=["f1_micro"])
    print(total.report())
    print(evaluate(dataset, "tags", "guess", metrics=["f1_micro"], by="region").get("f1_micro"))
    print("the same bytes:", merge([shard.remote(ROWS) for _ in range(100)]).to_bytes() == total.to_bytes())


if __name__ == "__main__":
    main()
