"""A concept drift in the Yeast stream, in the metrics of all examples and in those of the last 300 examples.

After 1,200 genes the classes exchange their names, so that the model has to learn again. The value over all genes
hardly changes, and never shows that the model recovers; the window shows the drift and the recovery.

Usage: python examples/drift_rolling.py [picture.png]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from river import datasets, linear_model, multioutput, optim, preprocessing

import streameval as se

DRIFT, SIZE, EVERY = 1_200, 300, 100


def drifting() -> Iterator[tuple[dict[str, float], dict[str, bool]]]:
    classes = [f"Class{number}" for number in range(1, 15)]
    for place, (x, y) in enumerate(datasets.Yeast()):
        shift = 0 if place < DRIFT else 7
        yield x, {name: y[classes[(number + shift) % 14]] for number, name in enumerate(classes)}


def main(picture: str) -> None:
    classifier = linear_model.LogisticRegression(optim.SGD(0.03))
    model = preprocessing.StandardScaler() | multioutput.PerOutputClassifier(classifier)
    trace = se.Trace(
        {
            "all so far": se.Evaluator(["f1_micro"]),
            f"last {SIZE}": se.Rolling(se.Evaluator(["f1_micro"]), size=SIZE),
        },
        every=EVERY,
    )
    se.progressive_evaluate(drifting(), model, trace)

    columns = trace.columns()
    print(f"{'examples':>8}  " + "  ".join(f"{name:>21}" for name in columns if name != "examples"))
    for examples, *values in zip(*columns.values(), strict=True):
        if examples % 200 == 0:
            note = "  <- the drift" if examples == DRIFT else ""
            print(f"{examples:>8,}  " + "  ".join(f"{value:21.3f}" for value in values) + note)

    try:
        import matplotlib as mpl
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    mpl.use("Agg")
    ax = trace.plot()
    ax.axvline(DRIFT, color="#777777", linewidth=1, linestyle=":")
    ax.set_title("Yeast with a drift")
    ax.figure.savefig(picture, dpi=150)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "drift_rolling.png")
