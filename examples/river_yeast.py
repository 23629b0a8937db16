"""A River model learns the Yeast stream (2417 genes, 14 functional classes) while streameval evaluates it.

Every gene is first predicted, then learnt from. The metrics of the collection count each of them once; from the same
counts the full report is read at the end, and could have been read at any moment before.
"""

from __future__ import annotations

import sys

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

    print(metric[0].snapshot().report())
    print()
    print(metric)


if __name__ == "__main__":
    main()
