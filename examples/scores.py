"""A River model ranks the labels of the Yeast stream; rankings, curves and decisions are evaluated in one pass.

The model gives a score for each of 14 labels. One evaluator reads them three times: as rankings, as curves with
guaranteed bounds, and as decisions at 0.5. Afterwards the best threshold of each label is chosen from the same counts.
Give a file name to save a picture of the curves there; it needs matplotlib.
"""

from __future__ import annotations

import sys

from river import datasets, linear_model, multioutput, preprocessing

import streameval as se

METRICS = (
    "label_ranking_average_precision", "coverage_error", "one_error", "precision_at(k=3)", "ndcg(k=3)", "brier_score",
)  # fmt: skip


def main() -> None:
    order = [f"Class{number}" for number in range(1, 15)]
    chain = multioutput.ClassifierChain(linear_model.LogisticRegression(), order=order)
    model = preprocessing.StandardScaler() | chain
    ev = se.Evaluator([*METRICS, "roc_auc_macro"], labels=order, threshold=0.5)
    stream = datasets.Yeast()
    se.progressive_evaluate(stream, model, ev)

    print(f"{ev.examples:,} examples\n")
    for name in METRICS:
        print(f"{name:32} {ev.get(name):.4f}")
    area = ev.bounds("roc_auc_macro")
    print(f"{'roc_auc_macro':32} {area.value:.4f}, between {area.low:.6f} and {area.high:.6f} (guaranteed)\n")

    best = ev.best_thresholds("f1")
    print(f"{'':8}{'F1 at 0.5':>12}{'best F1':>12}{'threshold':>12}")
    for label, value in ev.get("f1_per_label").items():
        print(f"{label:8}{value:12.4f}{best[label].value:12.4f}{best[label].threshold:12.4f}")

    if len(sys.argv) > 1:
        save_picture(sys.argv[1], ev)


def save_picture(path: str, ev: se.Evaluator) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nno picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(5.2, 5.2), layout="constrained")
    ev.plot("roc_curve", ax=figure.subplots(), title="Yeast, classifier chain")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
