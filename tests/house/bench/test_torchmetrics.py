"""The claims of the README about torchmetrics; needs the extra "bench"."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import pytest
import torch
from torchmetrics import classification
from torchmetrics.functional import classification as functional

import streameval as se


def test_batches_of_rows_are_read_and_shards_merged_but_nothing_is_reverted():
    metric, other = (classification.MultilabelF1Score(num_labels=2, average="micro") for _ in range(2))
    metric.update(torch.tensor([[1, 0]]), torch.tensor([[1, 1]]))
    other.update(torch.tensor([[1, 1]]), torch.tensor([[1, 1]]))
    metric.merge_state(other)
    assert float(metric.compute()) == pytest.approx(6 / 7)
    assert not hasattr(metric, "revert")
    assert list(inspect.signature(metric.compute).parameters) in ([], ["args", "kwargs"])


def test_names_of_labels_are_refused_and_the_number_of_labels_is_required():
    with pytest.raises(TypeError):
        classification.MultilabelF1Score()
    with pytest.raises((TypeError, AttributeError, ValueError)):
        classification.MultilabelF1Score(num_labels=2).update([{"a"}], [{"a"}])


def test_there_is_no_average_over_examples():
    for average in ("micro", "macro", "weighted"):
        classification.MultilabelF1Score(num_labels=2, average=average)
    with pytest.raises(ValueError, match="average"):
        classification.MultilabelF1Score(num_labels=2, average="samples")


def test_areas_need_all_scores_or_are_approximate():
    generator = torch.Generator().manual_seed(0)
    scores = 0.5 + 0.02 * torch.rand((500, 2), generator=generator)
    truth = (torch.rand((500, 2), generator=generator) < 50 * (scores - 0.5)).int()
    exact = classification.MultilabelAUROC(num_labels=2, thresholds=None)
    binned = classification.MultilabelAUROC(num_labels=2, thresholds=20)
    for metric in (exact, binned):
        metric.update(scores, truth)
    assert sum(len(part) for part in exact.preds) == 500
    assert abs(float(exact.compute()) - float(binned.compute())) > 0.01


@pytest.mark.parametrize(("theirs", "options", "ours"), [
    ("accuracy", {}, "accuracy_macro"), ("accuracy", {"average": "micro"}, "accuracy_micro"),
    ("exact_match", {}, "subset_accuracy"), ("hamming_distance", {}, "hamming_loss_macro"),
    ("precision", {}, "precision_macro"), ("recall", {}, "recall_macro"),
    ("f1_score", {"average": "weighted"}, "f1_weighted"), ("fbeta_score", {"beta": 2.0}, "fbeta_macro(beta=2)"),
    ("jaccard_index", {}, "jaccard_macro"), ("specificity", {}, "specificity_macro"),
    ("negative_predictive_value", {}, "npv_macro"), ("matthews_corrcoef", {}, "mcc_micro"),
    ("coverage_error", {}, "coverage_error"), ("ranking_loss", {}, "ranking_loss"),
    ("ranking_average_precision", {}, "label_ranking_average_precision"),
    ("auroc", {}, "roc_auc_macro(zero_division=0)"), ("average_precision", {}, "average_precision_macro"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:No positive samples")
def test_the_page_of_names_is_right_even_for_a_label_that_is_never_true(theirs: str, options: dict, ours: str):
    generator = torch.Generator().manual_seed(0)
    scores = torch.rand((60, 4), generator=generator, dtype=torch.float64)
    truth = (torch.rand((60, 4), generator=generator) < torch.tensor([0.5, 0.3, 0.8, 0.0])).int()
    value = getattr(functional, f"multilabel_{theirs}")(scores, truth, num_labels=4, **options)
    threshold = math.nextafter(0.5, 1)
    assert se.score(truth.numpy(), scores.numpy(), ours, threshold=threshold) == pytest.approx(float(value), abs=1e-4)
    page = (Path(__file__).parents[3] / "docs" / "names.md").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^\|[^|]*`multilabel_{theirs}\(.*`{re.escape(ours)}`", page)
