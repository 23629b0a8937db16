"""A report page of River's Yeast stream, written while a model learns it.

Run ``python examples/report.py`` and open the file in any browser.
"""

from __future__ import annotations

import sys

from river import datasets, linear_model, multioutput, preprocessing

import streameval as se

METRICS = ["f1_micro", "f1_macro", "subset_accuracy", "hamming_loss", "roc_auc_macro", "ranking_loss", "ndcg(k=3)"]


def main(path: str = "report.html", examples: int = 2417) -> None:
    """Evaluate scores while the model learns, and count everything that the page can draw."""
    model = preprocessing.StandardScaler() | multioutput.PerOutputClassifier(linear_model.LogisticRegression())
    ev = se.Evaluator(METRICS, threshold=0.5, keep=["pairs"])
    halves = {"first half": se.Evaluator(METRICS, threshold=0.5), "second half": se.Evaluator(METRICS, threshold=0.5)}
    parts = {
        "all": se.Evaluator(["f1_micro", "f1_macro"], threshold=0.5),
        "last 300": se.Rolling(se.Evaluator(["f1_micro", "f1_macro"], threshold=0.5), size=300),
    }
    trace = se.Trace(parts, every=20)
    for number, (x, y) in enumerate(datasets.Yeast().take(examples)):
        probabilities = model.predict_proba_one(x)
        scores = {label: probabilities.get(label, {}).get(True, 0.0) for label in y}
        half = halves["first half" if 2 * number < examples else "second half"]
        for counted in (ev, half, trace):
            counted.update(y, scores)
        model.learn_one(x, y)
    ev.save_html(path, title="Yeast while it is learnt", trace=trace, slices=halves)
    print(ev.to_pandas(["f1", "roc_auc"]).sort_values("f1").to_string(index=False))
    print(f"open {path}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
