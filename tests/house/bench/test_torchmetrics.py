"""What the README says about torchmetrics; needs the extra "bench"."""

from __future__ import annotations

import inspect

import pytest
import torch
from torchmetrics import classification


def test_batches_of_rows_are_read_and_shards_merged_but_nothing_is_taken_back():
    metric, other = (classification.MultilabelF1Score(num_labels=2, average="micro") for _ in range(2))
    metric.update(torch.tensor([[1, 0]]), torch.tensor([[1, 1]]))
    other.update(torch.tensor([[1, 1]]), torch.tensor([[1, 1]]))
    metric.merge_state(other)
    assert float(metric.compute()) == pytest.approx(6 / 7)
    assert not hasattr(metric, "revert")
    assert list(inspect.signature(metric.compute).parameters) in ([], ["args", "kwargs"])


def test_names_are_not_taken_and_labels_are_declared():
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
