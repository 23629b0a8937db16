"""Evaluators whose reports are hard to format: labels with markup, many labels, very few labels."""

from __future__ import annotations

import numpy as np

import streameval as se
from streameval.evaluation.kinds import KINDS

HOSTILE = [
    "</script><script>window.hurt=1</script>", '" onmouseover="window.hurt=1', "'><img src=x onerror=window.hurt=1>",
    "<!--", "]]>", "</style><style>*{display:none}", "{{data}}", "${data} `data`", "&amp; &lt;", "שלום עולם",
    "مرحبا", "🦜 birds", "\u202egnp.exe", "line\nbreak\x00", "\u2028", "", "back\\slash", "a" * 3000,
    "a very long name that goes on / with slashes / and words until no telephone is wide enough for it",
    7, "7", -3, 10**30,
]  # fmt: skip

TITLE = "</title><script>window.hurt=1</script> \u202e"


def hostile(metrics: list[str] | None = None) -> se.Evaluator:
    """An evaluator with every kind of state, over labels that contain markup and control characters."""
    chosen = metrics or ["f1_micro", "mcc_per_label", "roc_auc_micro", "irlbl", "precision_at(k=3)", "log_loss_micro"]
    ev = se.Evaluator(chosen, labels=HOSTILE, threshold=0.5, keep=KINDS)
    rng = np.random.default_rng(0)
    scores = rng.random((300, len(HOSTILE)))
    truth = rng.random(scores.shape) < np.linspace(0, 0.6, len(HOSTILE)) * scores * 1.5
    truth[:, 2] = False  # never true
    scores[:, 5] = 0.1  # never predicted
    truth[:, 4], scores[:, 4] = False, 0.0  # neither
    ev.update_many(truth, scores)
    return ev


def hostile_trace() -> se.Trace:
    trace = se.Trace({"</script>": se.Evaluator(["f1_micro", "recall_per_label"], labels=HOSTILE)}, every=5)
    rng = np.random.default_rng(0)
    for _ in range(60):
        trace.update(rng.random(len(HOSTILE)) < 0.4, rng.random(len(HOSTILE)) < 0.4)
    return trace


def binned_trace() -> se.Trace:
    """A trace in which most scores share a bin, so that the bounds of the area are far apart."""
    trace = se.Trace(se.Evaluator(["roc_auc_macro", "hamming_loss"], threshold=0.5), every=10)
    rng = np.random.default_rng(0)
    for _ in range(200):
        truth = rng.random(3) < 0.3
        near = 0.7 + 1e-7 * rng.normal(truth, 1.0)
        trace.update(truth, np.where(rng.random(3) < 0.6, near, rng.random(3)))
    return trace


def many(labels: int, examples: int = 400) -> se.Evaluator:
    """An evaluator of many labels with decreasing frequency."""
    rng = np.random.default_rng(1)
    often = np.minimum(0.5, 3 / np.arange(1, labels + 1) ** 0.9)
    truth = rng.random((examples, labels)) < often
    result = np.where(truth, rng.random(truth.shape) < 0.6, rng.random(truth.shape) < often * 0.3)
    ev = se.Evaluator(labels=[f"topic {number:05d}" for number in range(labels)])
    ev.update_many(truth, result)
    return ev


def few() -> se.Evaluator:
    """Two labels with every kind of state, and a precision of 1/32, which lies half-way between two decimals."""
    ev = se.Evaluator(
        ["f1_micro", "f1_macro", "hamming_loss", "roc_auc_macro", "ndcg(k=2)"], labels=["cat", "dog"], threshold=0.5,
        keep=["pairs"],
    )  # fmt: skip
    for number in range(32):
        ev.update({"cat"} if number == 0 else {"dog"}, {"cat": 0.5 + number / 100, "dog": 0.4 + number / 200})
    return ev
