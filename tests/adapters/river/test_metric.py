"""River's own evaluation loops with our metrics, against scikit-learn on the recorded pairs."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from river import compose, datasets, evaluate, linear_model, metrics, multioutput, preprocessing
from sklearn import metrics as sk

import streameval as se
from streameval.adapters.river import MetricCollection, MicroF1, RiverMetric
from tests.support.entries import decided_entries
from tests.support.examples import printed

ORDER = [f"Class{number}" for number in range(1, 15)]


def chain() -> compose.Pipeline:
    return preprocessing.StandardScaler() | multioutput.ClassifierChain(linear_model.LogisticRegression(), order=ORDER)


class Recorder(RiverMetric):
    """A metric that records every pair that River passes."""

    def __init__(self, metric: se.Evaluator) -> None:
        super().__init__(metric)
        self.pairs: list[tuple[dict, dict]] = []

    def update(self, y_true, y_pred, w=1.0):
        self.pairs.append((dict(y_true), dict(y_pred)))
        super().update(y_true, y_pred, w)


@pytest.fixture(scope="module")
def recorded() -> tuple[Recorder, np.ndarray, np.ndarray]:
    recorder = Recorder(se.Evaluator(labels=ORDER))
    assert evaluate.progressive_val_score(datasets.Yeast(), chain(), recorder) is recorder
    y_true = np.array([[pair[0][label] for label in ORDER] for pair in recorder.pairs], int)
    y_pred = np.array([[pair[1].get(label, False) for label in ORDER] for pair in recorder.pairs], int)
    return recorder, y_true, y_pred


def test_every_example_of_yeast_is_evaluated(recorded):
    recorder, y_true, _ = recorded
    assert recorder.metric.examples == len(y_true) == 2417


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples"])
@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("precision", sk.precision_score),
        ("recall", sk.recall_score),
        ("f1", sk.f1_score),
        ("jaccard", sk.jaccard_score),
    ],
)
def test_progressive_validation_on_yeast_equals_scikit_learn_on_the_same_pairs(recorded, name, peer, average):
    recorder, y_true, y_pred = recorded
    expected = peer(y_true, y_pred, average=average, zero_division=0)
    assert recorder.metric.get(f"{name}_{average}") == pytest.approx(expected, rel=1e-12)


def test_subset_accuracy_and_hamming_loss_on_yeast_equal_scikit_learn(recorded):
    recorder, y_true, y_pred = recorded
    assert recorder.metric.get("subset_accuracy") == sk.accuracy_score(y_true, y_pred)
    assert recorder.metric.get("hamming_loss") == pytest.approx(sk.hamming_loss(y_true, y_pred), rel=1e-15)
    matrices = recorder.metric.multilabel_confusion()
    assert (matrices == sk.multilabel_confusion_matrix(y_true, y_pred)).all()


def test_examples_passed_by_river_give_the_same_bytes_as_a_batch(recorded):
    recorder, y_true, y_pred = recorded
    batch = se.Evaluator(labels=ORDER)
    batch.update_many(y_true, y_pred)
    assert batch.to_bytes() == recorder.metric.to_bytes()


@pytest.mark.parametrize("entry", decided_entries(), ids=lambda entry: entry.name)
def test_every_metric_runs_in_progressive_validation(entry):
    averages = [average for average in entry.averages if average is not None]
    carried = [RiverMetric(se.metric(entry.name, average=average)) for average in averages]
    for metric in carried:
        assert metric.get() == metric.get() or math.isnan(metric.get())
        assert repr(metric).startswith("RiverMetric: ")
    evaluate.progressive_val_score(datasets.Yeast().take(40), chain(), metrics.base.Metrics(carried))
    for metric in carried:
        assert metric.metric.examples == 40
        assert isinstance(metric.get(), float)


def test_stepwise_progressive_validation_reports_prefixes():
    steps = evaluate.iter_progressive_val_score(datasets.Yeast().take(60), chain(), RiverMetric("f1_micro"), step=20)
    values = [(step["Step"], step["RiverMetric"].get()) for step in steps]
    assert [step for step, _ in values] == [20, 40, 60]

    recorder = Recorder(se.Evaluator())
    evaluate.progressive_val_score(datasets.Yeast().take(60), chain(), recorder)
    for step, value in values:
        prefix = se.F1(average="micro")
        prefix.update_many(*zip(*recorder.pairs[:step], strict=True))
        assert prefix.get() == value


def test_river_itself_leaves_out_an_example_for_which_a_model_predicts_nothing():
    model = multioutput.PerOutputClassifier(linear_model.Perceptron())
    metric = RiverMetric("f1_macro")
    evaluate.progressive_val_score(datasets.Yeast().take(30), model, metric)
    assert metric.metric.examples == 29


def test_a_label_predicted_as_none_is_not_predicted():
    metric = RiverMetric("recall_micro")
    metric.update({"a": True, "b": False}, {"a": None, "b": None})
    assert metric.metric.per_label().fn.tolist() == [1, 0]
    assert metric.get() == 0.0
    for _ in range(250):  # a warning, such as of a model that never predicts, would be an error
        metric.update({"a": True, "b": False}, {"a": None, "b": None})


def test_labels_that_appear_midway_or_only_in_predictions_are_counted():
    metric = RiverMetric(se.Evaluator())
    metric.update({"a": True}, {"a": True})
    metric.update({"a": True, "b": True}, {"a": True})
    metric.update({"a": False}, {"a": False, "c": True})
    table = metric.metric.per_label()
    assert table.labels == ("a", "b", "c")
    assert table.tp.tolist() == [2, 0, 0]
    assert table.fp.tolist() == [0, 0, 1]
    assert table.fn.tolist() == [0, 1, 0]
    assert table.tn.tolist() == [1, 2, 2]


def test_reverting_every_weighted_update_gives_the_fresh_metric():
    metric = RiverMetric("f1_macro")
    metric.update({"a": True}, {"b": True}, w=0.1)
    metric.update({"a": True}, {"a": True}, 2.5)
    metric.revert({"a": True}, {"b": True}, w=0.1)
    metric.revert({"a": True}, {"a": True}, 2.5)
    assert metric.metric == se.F1()


def test_clone_is_fresh_and_deepcopy_is_full():
    metric = RiverMetric("f1_macro")
    metric.update({"a": True}, {"a": True})
    assert metric.clone().metric == se.F1()
    assert copy.deepcopy(metric).metric == metric.metric
    copy.deepcopy(metric).update({"a": True}, {"b": True})
    assert metric.metric.examples == 1


def test_metrics_compare_in_their_own_direction():
    good, bad = RiverMetric("hamming_loss"), RiverMetric("hamming_loss")
    good.update({"a": True}, {"a": True})
    bad.update({"a": True}, {"a": False})
    assert good > bad
    assert good.is_better_than(bad)
    assert not RiverMetric("hamming_loss").bigger_is_better
    with pytest.raises(NotImplementedError, match="direction"):
        _ = RiverMetric("label_cardinality").bigger_is_better
    with pytest.raises(NotImplementedError, match="has no direction; compare a single metric of quality"):
        _ = RiverMetric(se.Evaluator(["f1_micro"])).bigger_is_better


def test_a_metric_of_ours_can_be_in_a_collection_with_those_of_river():
    both = metrics.base.Metrics([RiverMetric("subset_accuracy"), metrics.multioutput.ExactMatch()])
    evaluate.progressive_val_score(datasets.Yeast().take(300), chain(), both)
    ours, theirs = both.get()
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_a_single_label_model_is_refused_by_river():
    with pytest.raises(ValueError, match="not compatible"):
        evaluate.progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), RiverMetric("f1_micro"))


def test_a_metric_without_average_is_refused_by_name():
    with pytest.raises(se.MetricError, match="one value per label"):
        RiverMetric(se.F1(average=None))
    with pytest.raises(se.MetricError, match="not 3"):
        RiverMetric(3)
    with pytest.raises(se.MetricError, match=r"write RiverMetric\(Evaluator\(\[\.\.\.\]\)\)"):
        RiverMetric(["f1_micro", "f1_macro"])


@pytest.mark.parametrize("make", [MicroF1, lambda: RiverMetric("f1_micro"), lambda: MetricCollection([MicroF1()])])
def test_checkpoints_and_ledgers_refuse_metrics_for_river_and_say_how_to_save_them(make, tmp_path):
    for take in (lambda one: se.Checkpointer(one, tmp_path / "state"), se.Checkpoint, se.Ledger):
        with pytest.raises(se.InputError, match=r"pass .*Evaluator.*, and RiverMetric\(evaluator\) to a loop of River"):
            take(make())
    stream = [*datasets.Yeast().take(60)]
    for size in (40, 60):
        with se.Checkpointer(se.Evaluator(["f1_micro"]), tmp_path / "state", every=7) as saved:
            evaluate.progressive_val_score(saved.remaining(stream[:size]), chain(), RiverMetric(saved.evaluator))
    assert saved.position == 60


def test_the_yeast_example_prints_a_report_of_all_examples_and_writes_a_page(tmp_path):
    printed_text, progress = printed("river_yeast.py", tmp_path / "yeast.html")
    assert printed_text.endswith(f"Open the report in a browser: {(tmp_path / 'yeast.html').as_uri()}\n")
    assert b"<h1>Yeast</h1>" in (tmp_path / "yeast.html").read_bytes()
    assert printed_text.startswith("2,417 examples, 14 labels\n")
    assert "100%" in progress
    assert all(label in printed_text for label in ORDER)


def test_the_example_of_scores_prints_better_thresholds_and_saves_a_picture(tmp_path):
    picture = tmp_path / "roc.png"
    printed_text, _ = printed("scores.py", picture)
    assert printed_text.startswith("2,417 examples\n")
    rows = [line.split() for line in printed_text.splitlines() if line.startswith("Class")]
    assert [row[0] for row in rows] == ORDER
    assert all(float(best) >= float(plain) for _, plain, best, _ in rows)
    assert picture.read_bytes().startswith(b"\x89PNG")
