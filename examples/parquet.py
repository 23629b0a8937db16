"""Files of predictions that need not fit into memory, evaluated as a whole and by language."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streameval as se

TAGS = np.array([f"tag {number}" for number in range(50)])


def write(folder: Path, files: int, rows: int) -> None:
    """Write some files of predictions, as a tagger would."""
    for file in range(files):
        rng = np.random.default_rng(file)
        true = rng.random((rows, len(TAGS))) < 0.05
        pred = true ^ (rng.random(true.shape) < 0.02)
        columns = {
            name: pa.array([TAGS[row].tolist() for row in bits])
            for name, bits in (("actual", true), ("predicted", pred))
        }
        languages = pa.array(rng.choice(["de", "en", "fr"], rows))
        pq.write_table(pa.table({**columns, "language": languages}), folder / f"part-{file}.parquet")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), files=4, rows=5_000)
        counts = se.evaluate_table(f"{name}/*.parquet", actual="actual", predicted="predicted")
        print(counts.report(max_labels=5))
        print()
        print(
            se.evaluate_table(
                name, actual="actual", predicted="predicted", by="language", metrics=["f1_micro"]
            ).report()
        )


if __name__ == "__main__":
    main()
