"""Scorers in scikit-learn's own cross-validation and searches."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import streameval as se
from streameval.adapters.sklearn import scorer

X, Y = make_multilabel_classification(n_samples=120, n_classes=4, random_state=0)

PREDICTING = [
    KNeighborsClassifier(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(5, random_state=0),
    MultiOutputClassifier(GaussianNB()),
    OneVsRestClassifier(LogisticRegression()),
    ClassifierChain(LogisticRegression()),
    make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())),
]


def probabilities(model: object, data: np.ndarray) -> np.ndarray:
    source = model.predict_proba(data)
    return np.column_stack([part[:, 1] for part in source]) if isinstance(source, list) else source


@pytest.mark.parametrize("model", PREDICTING, ids=lambda model: type(model).__name__)
def test_cross_validation_gives_the_numbers_of_scikit_learn(model):
    theirs = {"f1": make_scorer(f1_score, average="macro", zero_division=0.0)}
    theirs["loss"] = make_scorer(hamming_loss, greater_is_better=False)
    both = theirs | {"our f1": scorer("f1_macro"), "our loss": scorer("hamming_loss")}
    values = cross_validate(model, X, Y, scoring=both)
    for name in theirs:
        assert values[f"test_our {name}"] == pytest.approx(values[f"test_{name}"], rel=1e-12)


@pytest.mark.parametrize("model", PREDICTING, ids=lambda model: type(model).__name__)
def test_thresholds_and_metrics_of_scores_read_probabilities(model):
    fitted = clone(model).fit(X[:80], Y[:80])
    likely = probabilities(fitted, X[80:])
    want = f1_score(Y[80:], likely >= 0.3, average="micro")
    assert scorer("f1_micro", threshold=0.3)(fitted, X[80:], Y[80:]) == pytest.approx(want, rel=1e-12)
    got = scorer(["roc_auc_macro", "ranking_loss"])(fitted, X[80:], Y[80:])
    assert list(got) == ["roc_auc_macro", "neg_ranking_loss"]
    bounds = se.Evaluator(["roc_auc_macro"])
    bounds.update_many(Y[80:], likely)
    area = bounds.bounds("roc_auc_macro")
    assert area.low - 1e-12 <= roc_auc_score(Y[80:], likely, average="macro") <= area.high + 1e-12
    assert got["roc_auc_macro"] == bounds.get("roc_auc_macro")


def test_decision_functions_are_read_where_there_are_no_probabilities():
    model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, Y)
    scores = model.decision_function(X)
    assert scorer("coverage_error")(model, X, Y) == -se.score(Y, scores, "coverage_error")
    chosen = scorer("f1_macro", threshold=0.1, response_method="decision_function")
    assert chosen(model, X, Y) == se.score(Y, scores >= 0.1, "f1_macro")
    with pytest.raises(se.InputError, match="OneVsRestClassifier has no predict_proba; leave the threshold out"):
        scorer("f1_macro", threshold=0.5)(model, X, Y)
    with pytest.raises(se.InputError, match="has no predict_proba or decision_function; name metrics of binary"):
        scorer("ndcg")(object(), X, Y)


@pytest.mark.filterwarnings("ignore:scores from:streameval.DataWarning")
@pytest.mark.parametrize("constant", [0, 1])
def test_a_label_that_was_constant_in_training_has_the_probability_0_or_1(constant: int):
    # The threshold separates a probability of 1 from one of nearly 1.
    y = Y.copy()
    y[:, 2] = constant
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    assert [part.shape[1] for part in model.predict_proba(X)] == [2, 2, 1, 2]
    want = se.score(Y, model.predict_proba(X)[0][:, :1] * 0 + np.array([[0, 0, constant, 0]]), "f1_per_label")
    only = scorer("f1_macro", threshold=0.999999)(model, X, Y)
    likely = np.column_stack(
        [p[:, 1] if p.shape[1] == 2 else np.full(len(X), constant) for p in model.predict_proba(X)]
    )
    assert only == se.score(Y, likely >= 0.999999, "f1_macro")
    assert (want[2] > 0) == bool(constant)


def test_stacked_probabilities_of_both_outcomes_are_read():
    class Stacked:  # the form that nets of skorch trained with BCEWithLogitsLoss return
        def predict_proba(self, data: np.ndarray) -> np.ndarray:
            return np.stack([1 - data, data], axis=1)

    scores = np.random.default_rng(0).random(Y.shape)
    want = f1_score(Y, scores >= 0.4, average="macro")
    assert scorer("f1_macro", threshold=0.4)(Stacked(), scores, Y) == pytest.approx(want, abs=1e-15)


def test_a_search_reads_more_than_one_metric_from_one_prediction():
    many = scorer(["f1_macro", "hamming_loss"], threshold=0.4)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, scoring=many, refit="f1_macro", cv=3)
    search.fit(X, Y)
    one = scorer("f1_macro", threshold=0.4)
    single = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 9]}, scoring=one, cv=3)
    single.fit(X, Y)
    assert search.cv_results_["mean_test_f1_macro"].tolist() == single.cv_results_["mean_test_score"].tolist()
    assert (search.cv_results_["mean_test_neg_hamming_loss"] <= 0).all()
    assert search.best_params_ == single.best_params_
    assert clone(search).scoring is not None


def test_scorers_are_pickled_copied_and_used_in_other_processes():
    made = scorer(["f1_macro", "roc_auc_micro"], threshold=0.5)
    model = KNeighborsClassifier().fit(X, Y)
    for twin in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), clone(made, safe=False)):
        assert twin(model, X, Y) == made(model, X, Y)
        assert repr(twin) == repr(made)
    program = "import pickle, sys; scorer, *data = pickle.load(sys.stdin.buffer); print(scorer(*data))"
    sent = pickle.dumps((made, model, X, Y))
    done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
    assert done.stdout.decode() == f"{made(model, X, Y)}\n"


def test_a_scorer_remembers_nothing_of_what_it_scored():
    made = scorer("f1_macro")
    model = KNeighborsClassifier().fit(X, Y)
    first = made(model, X, Y)
    made(model, X[:10], Y[:10])
    assert made(model, X, Y) == first


def test_sample_weights_are_counted_and_requested_as_metadata():
    weights = np.arange(1, len(X) + 1) / 8
    model = KNeighborsClassifier().fit(X, Y)
    want = f1_score(Y, model.predict(X), average="micro", sample_weight=weights)
    assert scorer("f1_micro")(model, X, Y, sample_weight=weights) == pytest.approx(want, rel=1e-12)
    theirs = make_scorer(f1_score, average="micro")
    assert scorer("f1_micro").get_metadata_routing().score.requests == {"sample_weight": None}
    with sklearn.config_context(enable_metadata_routing=True):
        for asked in (True, False):
            result = [
                cross_validate(
                    KNeighborsClassifier(), X, Y, params={"sample_weight": weights} if asked else None,
                    scoring=each.set_score_request(sample_weight=asked),
                )["test_score"]
                for each in (scorer("f1_micro"), theirs)
            ]  # fmt: skip
            assert result[0] == pytest.approx(result[1], rel=1e-12)


def test_sparse_truths_and_predictions_are_scored():
    model = OneVsRestClassifier(LogisticRegression()).fit(X, sp.csr_matrix(Y))
    assert sp.issparse(model.predict(X))
    want = f1_score(Y, model.predict(X).toarray(), average="macro")
    assert scorer("f1_macro")(model, X, sp.csr_matrix(Y)) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize(("metric", "options"), [
    ("psp_at(k=1)", {"labels": [*"abcd"], "inverse_propensities": {"a": 1.0, "b": 2.0, "c": 4.0, "d": 8.0}}),
    ("one_error", {"ties": "last"}), ("one_error", {"ties": "shared"}),
    ("f1_macro", {"labels": [*"abc"], "unknown": "ignore", "threshold": 0.4}),
])  # fmt: skip
def test_options_are_those_of_an_evaluator(metric: str, options: dict):
    class Fitted:
        def predict_proba(self, data: np.ndarray) -> np.ndarray:
            return data

    width = len(options.get("labels", "abcd"))
    truths = [{label for label, is_true in zip("abcd", row, strict=True) if is_true} for row in Y]
    truth, scores = truths if "labels" in options else Y, np.random.default_rng(0).integers(0, 3, (len(Y), width)) / 2
    counted = se.Evaluator([metric], **options)
    counted.update_many(truth, scores)
    sign = -1 if metric == "one_error" else 1
    assert scorer(metric, **options)(Fitted(), scores, truth) == sign * counted.get(metric)


def test_other_stacks_of_scores_are_refused():
    class Stacked:
        def predict_proba(self, data: np.ndarray) -> np.ndarray:
            return np.stack([data, data, data], axis=1)

    with pytest.raises(se.InputError, match=r"\(120, 3, 4\)"):
        scorer("f1_macro", threshold=0.4)(Stacked(), Y / 2, Y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "f1_per_label"}, se.MetricError, "choose an average"),
        ({"metric": "label_cardinality"}, se.MetricError, "neither better nor worse"),
        ({"metric": []}, se.MetricError, "at least one metric"),
        ({"metric": "f1_marco"}, se.MetricError, "did you mean"),
        ({"metric": ["f1_macro", "roc_auc_macro"]}, se.MetricError, "threshold="),
        ({"metric": "f1_macro", "response_method": "proba"}, se.InputError, "must be one of 'auto'"),
        ({"metric": "f1_macro", "response_method": "predict_proba"}, se.InputError, "set threshold="),
        ({"metric": "roc_auc_macro", "response_method": "predict"}, se.InputError, "require scores"),
    ],
)
def test_invalid_arguments_of_a_scorer_are_refused(options: dict, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        scorer(options.pop("metric"), **options)


def test_models_with_classes_other_than_0_and_1_are_refused():
    model = DecisionTreeClassifier().fit(X, Y + 1)
    with pytest.raises(se.InputError, match="only 0 and 1 are understood"):
        scorer("roc_auc_macro")(model, X, Y)
