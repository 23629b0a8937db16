"""One call on arrays gives the values of an evaluator, and the same report as scikit-learn, letter by letter."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn import metrics as sk

import streameval as se
from tests.support.effort import cases

FORMS = [np.asarray, sp.csr_array, sp.csc_matrix, pd.DataFrame]


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 30)), int(rng.integers(2, 8)))
    true, pred = rng.random(shape) < rng.random(), rng.random(shape) < rng.random()
    return true.astype(int), pred.astype(int), rng.integers(1, 40, shape[0]) / 8


@settings(max_examples=cases(25))
@given(st.integers(0, 10**6), st.sampled_from(FORMS), st.sampled_from(FORMS), st.booleans())
def test_score_gives_the_value_of_an_evaluator(seed: int, one, other, weighted: bool):
    true, pred, weights = drawn(seed)
    chosen = weights if weighted else None
    ev = se.Evaluator()
    ev.update_many(true, pred, weights=chosen)
    assert se.score(one(true), other(pred), weights=chosen) == ev.get()
    for spec in ev.metrics:
        assert se.score(one(true), other(pred), spec.key, weights=chosen) == ev.get(spec)
    assert se.score(one(true), other(pred), "f1_per_label") == se.score(true, pred, se.F1(average=None))


@settings(max_examples=cases(25))
@given(st.integers(0, 10**6))
def test_scores_are_those_of_scikit_learn(seed: int):
    true, pred, weights = drawn(seed)
    for average in ("micro", "macro", "weighted", "samples"):
        want = sk.f1_score(true, pred, average=average, sample_weight=weights, zero_division=0.0)
        assert se.score(true, pred, f"f1_{average}", weights=weights) == pytest.approx(want, rel=1e-12)
    scores = np.random.default_rng(seed).random(true.shape)
    want = sk.label_ranking_loss(true, scores)
    assert se.score(true, scores, "ranking_loss") == pytest.approx(want, rel=1e-12, abs=1e-15)
    assert se.score(true, scores, "f1_macro", threshold=0.25) == se.score(true, scores >= 0.25, "f1_macro")


def test_lists_of_labels_and_masks_are_scored():
    assert se.score([["cat", "bird"], ["dog"]], [["cat", "dog"], ["dog"]], "recall_micro") == 2 / 3
    assert se.score([{"cat"}], [{"cat", "dog"}], "precision_micro", mask=[{"dog"}]) == 1.0


@settings(max_examples=cases(25))
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, math.nan]), st.integers(0, 6), st.booleans())
def test_the_report_is_that_of_scikit_learn(seed: int, zero_division: float, digits: int, weighted: bool):
    true, pred, weights = drawn(seed)
    names = [f"label {at}" for at in range(true.shape[1])]
    options = {"zero_division": zero_division, "digits": digits}
    mine = {"labels": names, "weights": weights if weighted else None, **options}
    theirs = {"target_names": names, "sample_weight": weights if weighted else None, **options}
    got = se.classification_report(true, pred, **mine, output_dict=True)
    want = sk.classification_report(true, pred, **theirs, output_dict=True)
    assert list(got) == list(want)
    for name, values in want.items():
        assert list(got[name]) == list(values)
        assert list(got[name].values()) == pytest.approx(list(values.values()), rel=1e-12, nan_ok=True)
    got_lines = se.classification_report(true, pred, **mine).split("\n")
    want_lines = sk.classification_report(true, pred, **theirs).split("\n")
    assert [len(line) for line in got_lines] == [len(line) for line in want_lines]
    assert [line[: len(line) - 40] for line in got_lines] == [line[: len(line) - 40] for line in want_lines]


def test_a_report_without_ties_of_rounding_is_that_of_scikit_learn_letter_by_letter():
    for seed in range(30):
        true, pred, _ = drawn(seed)
        want = sk.classification_report(true, pred, digits=7, zero_division=0.0)
        assert se.classification_report(true, pred, digits=7) == want


def test_lists_of_labels_that_are_numbers_are_scored():
    assert se.score([[0, 1], [2]], [[0, 1], [2]], "f1_micro") == 1.0
    assert se.score([[0], [1]], [[0], [1]], "f1_micro") == 1.0
    assert se.score([{0, 1}], [{0, 1}], "f1_micro") == 1.0


def test_scores_of_no_examples_cause_a_warning_that_nothing_was_measured():
    with pytest.warns(se.DataWarning, match="no examples"):
        assert se.score([], [], "f1_micro") == 0.0
    with pytest.warns(se.DataWarning, match="no examples"):
        assert (
            se.classification_report(np.zeros((0, 3)), np.zeros((0, 3)), output_dict=True)["micro avg"]["support"] == 0
        )


def test_the_report_looks_for_suspicious_input_and_takes_a_mask():
    with pytest.warns(se.DataWarning, match="differ in case"):
        se.classification_report([["Cat"]] * 20, [["cat"]] * 20)
    true = np.eye(3)
    text = se.classification_report(true, 1 - true, mask=1 - true)
    assert text == se.classification_report(np.where(true == 0, np.nan, true), 1 - true)


def test_invalid_input_of_score_is_refused():
    true = np.eye(3)
    with pytest.raises(se.LabelError, match="label 0; construct with labels="):
        se.score(true, true, threshold={"a": 0.5, "b": 0.5, "c": 0.5})
    with pytest.raises(se.InputError, match=r"threshold has shape \(1, 3\)"):
        se.score(true, true, threshold=np.full((1, 3), 0.5))
    with pytest.raises(se.InputError, match=r"give y_true.reshape\(-1, 3\)"):
        se.score(true.reshape(3, 1, 3)[[[0, 1]]][0].repeat(2, 1), true)
    with pytest.raises(se.MetricError, match="did you mean 'f1_macro'"):
        se.score(true, true, "f1_marco")
    with pytest.raises(se.MetricError, match="threshold="):
        se.score(true, true, ["f1_macro", "roc_auc_macro"])
    with pytest.raises(se.InputError, match=r"^y_pred\[0\] is 0\.7 for label 0;"):
        se.score(true, true * 0.7)
    with pytest.raises(se.InputError, match="numbers of examples differ"):
        se.score(true, true[:2])
    with pytest.raises(se.InputError, match="digits must be an integer"):
        se.classification_report(true, true, digits=-1)
    with pytest.raises(se.InputError, match="two rows of the report are named '1'"):
        se.classification_report([[1]], [["1"]], output_dict=True)
    with pytest.raises(se.InputError, match="two rows of the report are named 'micro avg'"):
        se.classification_report([["micro avg"]], [[]], output_dict=True)
