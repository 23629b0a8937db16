"""The same numbers as scikit-learn, over thousands of random streams, to a relative difference of 1e-12."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import metrics as sk

import streameval as se
from streameval.metrics.spec import AVERAGES
from tests.support.effort import cases

ZERO_DIVISIONS = (0.0, 1.0, math.nan)
BETAS = (0.5, 1.0, 2.0)
KINDS_OF_WEIGHTS = ("none", "eighths", "uniform", "wide")
STREAMS = cases(30)  # in each block


@dataclass
class Case:
    """A random stream, with the averages, parameters and input forms to read it with."""

    true: np.ndarray
    pred: np.ndarray
    weights: np.ndarray | None
    zero_division: float
    beta: float
    averages: list[str | None]
    forms: tuple[Any, Any]
    exact_sums: bool

    @property
    def evaluator(self) -> se.Evaluator:
        ev = se.Evaluator([], labels=range(self.true.shape[1]))
        ev.update_many(self.forms[0](self.true), self.forms[1](self.pred), weights=self.weights)
        return ev


def drawn(*seed: int, kinds: tuple[str, ...] = KINDS_OF_WEIGHTS) -> Case:
    """A case drawn by a generator with this seed."""
    rng = np.random.default_rng(seed)
    examples = int(rng.choice([1, 2, 3, 7, 20, 50]))
    labels = int(rng.integers(2, 12))
    density = rng.choice([0.0, 0.03, 0.2, 0.5, 0.9, 1.0], size=labels, p=[0.1, 0.15, 0.35, 0.2, 0.15, 0.05])
    true = rng.random((examples, labels)) < density
    wrong = rng.random((examples, labels)) < rng.choice([0.0, 0.1, 0.4, 1.0], p=[0.15, 0.4, 0.4, 0.05])
    pred = true ^ wrong
    true[rng.random(examples) < 0.15] = False
    pred[rng.random(examples) < 0.15] = False
    pred[:, rng.random(labels) < 0.1] = False
    kind = rng.choice(kinds)
    weights = None
    if kind == "eighths":
        weights = rng.integers(0, 40, examples) / 8
    elif kind == "uniform":
        weights = rng.random(examples)
    elif kind == "wide":
        weights = np.exp(rng.normal(0, 3, examples))
    if weights is not None and not weights.any():
        weights[0] = 1.0
    forms = tuple(rng.choice([np.asarray, sp.csr_array, sp.csr_matrix]) for _ in range(2))
    return Case(
        true.astype(np.uint8),
        pred.astype(np.uint8),
        weights,
        float(rng.choice(ZERO_DIVISIONS)),
        float(rng.choice(BETAS)),
        [AVERAGES[at] for at in rng.permutation(len(AVERAGES))[:2]],
        forms,
        kind in ("none", "eighths"),
    )


def assert_same(got: float, want: float, context: object, absolute: float = 0.0) -> None:
    if math.isnan(want):
        assert math.isnan(got), context
    else:
        assert math.isclose(got, want, rel_tol=1e-12, abs_tol=absolute), (context, got, want)


def read(ev: se.Evaluator, name: str, average: str | None, **chosen: float) -> list[float]:
    value = ev.get(se.metric(name, average=average, **chosen))
    return list(value.values()) if isinstance(value, dict) else [value]


@pytest.fixture(autouse=True)
def _sklearn_without_input_checks():
    with sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        yield


@pytest.mark.parametrize("block", range(cases(36)))
def test_ratios_of_labels_and_examples_are_those_of_sklearn(block: int):
    for number in range(STREAMS):
        case = drawn(1, block, number)
        ev = case.evaluator
        true, pred = case.forms[1](case.true), case.forms[0](case.pred)
        for average in case.averages:
            p, r, f, _ = sk.precision_recall_fscore_support(
                true,
                pred,
                beta=case.beta,
                average=average,
                sample_weight=case.weights,
                zero_division=case.zero_division,
            )
            chosen = {"zero_division": case.zero_division}
            result = {
                "precision": (p, read(ev, "precision", average, **chosen)),
                "recall": (r, read(ev, "recall", average, **chosen)),
                "fbeta": (f, read(ev, "fbeta", average, beta=case.beta, **chosen)),
            }
            if case.beta == 1.0:
                result["f1"] = (f, read(ev, "f1", average, **chosen))
            if not math.isnan(case.zero_division):  # scikit-learn has no NaN for Jaccard
                j = sk.jaccard_score(true, pred, average=average, sample_weight=case.weights, **chosen)
                result["jaccard"] = (j, read(ev, "jaccard", average, **chosen))
            for name, (wanted, got) in result.items():
                for ours, theirs in zip(got, np.atleast_1d(wanted).tolist(), strict=True):
                    assert_same(ours, theirs, (block, number, name, average))


@pytest.mark.parametrize("block", range(cases(24)))
def test_losses_and_confusion_matrices_are_those_of_sklearn(block: int):
    for number in range(STREAMS):
        case = drawn(2, block, number)
        ev = case.evaluator
        true, pred, context = case.forms[1](case.true), case.forms[0](case.pred), (block, number)
        # scikit-learn subtracts sums of weights, which leaves residues unless weights are short binary fractions.
        residue = 0.0 if case.exact_sums else 1e-14
        accuracy = sk.accuracy_score(true, pred, sample_weight=case.weights)
        assert_same(ev.get("subset_accuracy"), accuracy, context)
        assert_same(ev.get("zero_one_loss"), sk.zero_one_loss(true, pred, sample_weight=case.weights), context, 1e-14)
        assert_same(ev.get("hamming_loss"), sk.hamming_loss(true, pred, sample_weight=case.weights), context)
        theirs = sk.multilabel_confusion_matrix(true, pred, sample_weight=case.weights)
        ours = ev.multilabel_confusion()
        assert ours.shape == theirs.shape
        assert ours.dtype == (np.int64 if case.weights is None or (case.weights == 1).all() else np.float64)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=residue * ev.weight, err_msg=str(context))
        assert (ours >= 0).all()


@pytest.mark.parametrize("block", range(10))
def test_values_of_single_labels_are_those_of_sklearn_on_the_column(block: int):
    for number in range(STREAMS):
        # With these weights every sum is exact. scikit-learn subtracts sums, so rounded ones leave few correct digits.
        case = drawn(3, block, number, kinds=("none", "eighths"))
        ev = case.evaluator
        mcc, kappa = ev.get("mcc_per_label"), ev.get("cohen_kappa_per_label")
        balanced = ev.get("balanced_accuracy_per_label")
        seen = slice(None) if case.weights is None else case.weights > 0
        weights = None if case.weights is None else case.weights[seen]
        for label in range(case.true.shape[1]):
            true, pred, context = case.true[seen, label], case.pred[seen, label], (block, number, label)
            if 0 < true.sum() < len(true):
                theirs = sk.balanced_accuracy_score(true, pred, sample_weight=weights)
                assert_same(balanced[label], theirs, context)
                theirs = sk.cohen_kappa_score(true, pred, sample_weight=weights)
                assert_same(kappa[label], theirs, context, 1e-15)  # kappa is 1 minus a number near 1
                if 0 < pred.sum() < len(pred):
                    theirs = sk.matthews_corrcoef(true, pred, sample_weight=weights)
                    assert_same(mcc[label], theirs, context)


@pytest.mark.parametrize("number", range(cases(30)))
@pytest.mark.parametrize(
    ("name", "function", "parameters"),
    [
        ("precision", sk.precision_score, {}),
        ("recall", sk.recall_score, {}),
        ("f1", sk.f1_score, {}),
        ("fbeta", sk.fbeta_score, {"beta": 0.5}),
        ("fbeta", sk.fbeta_score, {"beta": 2.0}),
    ],
)
def test_the_functions_of_sklearn_have_metrics_of_the_same_name(
    name: str, function: Any, parameters: dict, number: int
):
    case = drawn(4, number)
    ev = case.evaluator
    for average in AVERAGES:
        chosen = {"zero_division": case.zero_division, **parameters}
        theirs = function(case.true, case.pred, average=average, sample_weight=case.weights, **chosen)
        for ours, wanted in zip(read(ev, name, average, **chosen), np.atleast_1d(theirs).tolist(), strict=True):
            assert_same(ours, wanted, (name, average, number))


def ones(size: int) -> np.ndarray:
    return np.ones(size)


@pytest.mark.parametrize("number", range(3))
def test_sparse_matrices_of_many_labels_give_the_values_of_sklearn(number: int):
    rng = np.random.default_rng([5, number])
    shape = (2000, 401)
    true = sp.random_array(shape, density=0.01, format="csr", rng=rng, data_sampler=ones)
    pred = true.multiply(sp.random_array(shape, density=0.6, format="csr", rng=rng, data_sampler=ones))
    pred = sp.csr_array(pred.maximum(sp.random_array(shape, density=0.004, format="csr", rng=rng, data_sampler=ones)))
    ev = se.Evaluator([], labels=range(shape[1]))
    ev.update_many(true, pred)
    for average in AVERAGES:
        p, r, f, _ = sk.precision_recall_fscore_support(true, pred, average=average, zero_division=0.0)
        for name, theirs in (("precision", p), ("recall", r), ("f1", f)):
            for ours, wanted in zip(read(ev, name, average), np.atleast_1d(theirs).tolist(), strict=True):
                assert_same(ours, wanted, (name, average))


# -- conventions ------------------------------------------------------------------------------------------------------

NO_TRUTH = (np.zeros((3, 2), np.uint8), np.array([[1, 0], [0, 0], [1, 0]], np.uint8))


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_a_weighted_mean_without_any_support_is_the_plain_mean_as_in_sklearn(zero_division: float):
    ev = se.Evaluator([], labels=range(2))
    ev.update_many(*NO_TRUTH)
    theirs = sk.precision_recall_fscore_support(*NO_TRUTH, average="weighted", zero_division=zero_division)
    for name, wanted in zip(("precision", "recall", "f1"), theirs[:3], strict=True):
        assert_same(read(ev, name, "weighted", zero_division=zero_division)[0], wanted, name)


@pytest.mark.parametrize("number", range(cases(50)))
def test_zero_division_nan_leaves_labels_out_of_jaccard_as_sklearn_does_for_f1(number: int):
    case = drawn(6, number)
    ev = case.evaluator
    each = np.array(read(ev, "jaccard", None, zero_division=math.nan))
    defined = each[~np.isnan(each)]
    macro = read(ev, "jaccard", "macro", zero_division=math.nan)[0]
    assert_same(macro, defined.mean() if len(defined) else math.nan, number)


def test_balanced_accuracy_of_a_label_that_is_always_true_is_its_recall_as_in_sklearn():
    true, pred = [1, 1, 1, 1], [1, 1, 0, 1]
    ev = se.Evaluator([])
    ev.update_many(np.array([true]).T, np.array([pred]).T)
    with pytest.warns(UserWarning, match="classes not in y_true"):
        assert ev.get("balanced_accuracy_per_label") == {0: sk.balanced_accuracy_score(true, pred)}


def test_the_correlation_with_a_constant_prediction_is_zero_as_in_sklearn():
    true, pred = [1, 0, 1, 1], [1, 1, 1, 1]
    ev = se.Evaluator([])
    ev.update_many(np.array([true]).T, np.array([pred]).T)
    assert sk.matthews_corrcoef(true, pred) == 0.0 == ev.get("mcc_macro")
