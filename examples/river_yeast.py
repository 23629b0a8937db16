"""A River model learns the Yeast stream (2417 genes, 14 functional classes) while streameval evaluates it.

The model predicts every gene first and then learns from it. The metrics of the collection count each gene once. The
full report is read from the same counts at the end, and could be read at any time before. It is printed, and written
as a page for a browser to [path] (default yeast.html).

    river_yeast.py [path]
"""

from __future__ import annotations

import sys
from pathlib import Path

from river import datasets, evaluate, linear_model, multioutput, preprocessing
from tqdm import tqdm

from streameval.adapters.river import HammingLoss, MacroF1, MetricCollection, MicroF1, SamplesJaccard, SubsetAccuracy


def main() -> None:
    stream = datasets.Yeast()
    order = [f"Class{number}" for number in range(1, 15)]
    chain = multioutput.ClassifierChain(linear_model.LogisticRegression(), order=order)
    model = preprocessing.StandardScaler() | chain
    kinds = (MicroF1, MacroF1, SamplesJaccard, SubsetAccuracy, HammingLoss)
    metric = MetricCollection([kind(labels=order) for kind in kinds])

    with tqdm(stream, total=stream.n_samples, desc="Yeast", unit=" genes", file=sys.stderr) as progress:
        evaluate.progressive_val_score(progress, model, metric)

    ev = metric[0].snapshot()
    print(ev.report())
    print()
    print(metric)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "yeast.html")
    ev.save_html(path, title="Yeast")
    print(f"\nOpen the report in a browser: {path.resolve().as_uri()}")


if __name__ == "__main__":
    main()
