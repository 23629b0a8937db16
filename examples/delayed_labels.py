"""Labels that arrive late: the Yeast stream, in which the truth about a gene becomes known 50 genes later.

The stream is evaluated twice: by `progressive_evaluate(..., delay=50)`, which simulates the delay, and by a loop like
that of a program in production, where predictions wait in a `Pending` until their truth arrives. Both count the same
examples, so both end with the same bytes.
"""

from __future__ import annotations

from collections import deque

from river import compose, datasets, linear_model, multioutput, preprocessing

import streameval as se

DELAY = 50


def new_model() -> compose.Pipeline:
    return preprocessing.StandardScaler() | multioutput.PerOutputClassifier(linear_model.LogisticRegression())


def simulated() -> se.Evaluator:
    return se.progressive_evaluate(datasets.Yeast(), new_model(), se.Evaluator(), delay=DELAY)


def by_hand() -> se.Evaluator:
    model = new_model()
    pending = se.Pending(se.Evaluator(), max_pending=1_000, no_prediction="count")
    truths = deque()  # messages of another service

    def receive() -> None:
        gene, x, y = truths.popleft()
        pending.observe(gene, y)
        model.learn_one(x, y)

    for gene, (x, y) in enumerate(datasets.Yeast()):
        if len(truths) == DELAY:
            receive()
        if y_pred := model.predict_one(x):  # the model predicts nothing until it has learnt
            pending.predict(gene, y_pred)
        truths.append((gene, x, y))
    while truths:
        receive()
    without = f"{pending.without_prediction} truths without a prediction"
    print(f"{pending.evaluator.examples:,} counted, {without}, {pending.pending} wait")
    return pending.evaluator


def main() -> None:
    at_once = se.progressive_evaluate(datasets.Yeast(), new_model(), se.Evaluator())
    delayed, hand_written = simulated(), by_hand()
    print(f"f1_micro without delay  {at_once.get('f1_micro'):.4f}")
    print(f"f1_micro with delay     {delayed.get('f1_micro'):.4f}")
    print(f"f1_micro by hand        {hand_written.get('f1_micro'):.4f}")
    print(f"same bytes              {delayed.to_bytes() == hand_written.to_bytes()}")


if __name__ == "__main__":
    main()
