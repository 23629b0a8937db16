"""Predictions in bags and data frames of Dask, evaluated on two threads, as a whole and by language."""

from __future__ import annotations

import dask.bag as db
import numpy as np

from streameval.adapters.dask import evaluate

TAGS = np.array([f"tag {number}" for number in range(20)])


def shard(number: int) -> list[dict[str, object]]:
    """The rows of one file of predictions."""
    rng = np.random.default_rng(number)
    rows: list[dict[str, object]] = []
    for language in rng.choice(["de", "en", "fr"], 1_000):
        true = rng.random(len(TAGS)) < 0.1
        pred = true ^ (rng.random(len(TAGS)) < 0.03)
        rows.append({"tags": TAGS[true].tolist(), "guess": TAGS[pred].tolist(), "language": str(language)})
    return rows


def main() -> None:
    rows = db.from_sequence(range(8), npartitions=8).map(shard).flatten()
    counts = evaluate(rows, "tags", "guess", by="language", metrics=["f1_micro"], scheduler="threads", progress=True)
    print(counts.report())
    print()
    print(counts.total().report(max_labels=5))


if __name__ == "__main__":
    main()
