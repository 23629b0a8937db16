"""Reports, pictures and propensities of evaluators that keep scores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics

import streameval as se
from streameval import plots
from streameval.metrics.calibration import calibration_curve
from streameval.metrics.curves import precision_recall_curve, roc_curve

ROOT = Path(__file__).resolve().parents[2]


def scored(*metrics: str, scores: np.ndarray | None = None, **choices: object) -> se.Evaluator:
    rng = np.random.default_rng(7)
    scores = rng.random((500, 3)) if scores is None else scores
    ev = se.Evaluator(metrics, labels=["a", "b", "c"], **choices)
    ev.update_many(rng.random(scores.shape) < scores, scores)
    return ev


# -- reports ----------------------------------------------------------------------------------------------------------


def test_a_report_of_thresholded_scores_has_decisions_and_the_metrics_of_scores():
    ev, plain = scored("roc_auc_micro", threshold=0.5), scored(threshold=0.5)
    assert [line.split() for line in ev.report().splitlines()[:11]] == [
        line.split() for line in plain.report().splitlines()[:11]
    ]
    assert ev.report().splitlines()[-1].startswith("roc_auc_micro")
    assert ">recall</th>" in ev._repr_html_()


# -- pictures of curves ------------------------------------------------------------------------------------------------


def test_curves_are_drawn_through_their_points_with_a_band_where_their_bounds_are_apart():
    sharp = scored("roc_auc")._view("curves", "this")
    coarse = scored("roc_auc", scores=np.tile(np.linspace(0.3, 0.3001, 500)[:, None], 3))._view("curves", "this")
    whole, open_ = roc_curve(sharp), roc_curve(coarse, "b")
    ax = plots.plot_roc_curve({"all": whole, "b": open_})
    assert ax.lines[-2].get_xydata().tolist() == np.stack([whole.fpr, whole.tpr], axis=1).tolist()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all", "b"]
    assert len(ax.collections) == int(whole.mixed.any()) + 1
    band = ax.collections[-1].get_datalim(ax.transData)
    assert band.height > 0.01
    assert len(ax.lines) == 3


@pytest.mark.parametrize("name", ["roc_curve", "precision_recall_curve"])
def test_a_curve_unpacks_into_the_arrays_that_scikit_learn_returns(name: str):
    y_true, y_score = np.array([0, 1, 0, 1, 1, 0]), np.array([0.875, 0.75, 0.5, 0.25, 0.5, 0.125])
    ev = se.Evaluator(["roc_auc"])
    ev.update_many(y_true[:, None], y_score[:, None])
    theirs = getattr(sklearn.metrics, name)(y_true, y_score, drop_intermediate=False)
    for ours, their in zip(getattr(ev, name)(0), theirs, strict=True):
        assert ours.tolist() == pytest.approx(their.tolist(), abs=1e-15)


def test_precision_at_recall_0_is_drawn_with_its_value_at_the_least_recall_above_0():
    ev = se.Evaluator(["average_precision"])
    ev.update_many(np.array([[0], [1], [0], [1]]), np.array([[0.9], [0.8], [0.4], [0.3]]))
    curve = precision_recall_curve(ev._view("curves", "this"), 0)
    assert curve.recall.tolist() == [1, 0.5, 0.5, 0, 0]
    ax = plots.plot_precision_recall_curve({"a": curve})
    assert ax.lines[-1].get_xydata().tolist() == [[1, 0.5], [0.5, 1 / 3], [0.5, 0.5], [0, 0.5]]
    nothing = se.Evaluator(["average_precision"])
    nothing.update({}, {"a": 0.5})
    plots.plot_precision_recall_curve(
        {"a": precision_recall_curve(nothing._view("curves", "this"))}
    ).figure.canvas.draw()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_buckets_of_a_reliability_diagram_lie_side_by_side_around_their_mean_scores(strategy):
    result = calibration_curve(scored("ece")._view("curves", "this"), "b", buckets=8, strategy=strategy)
    assert (result.low <= result.mean_score).all()
    assert (result.mean_score <= result.high).all()
    assert (result.high[:-1] <= result.low[1:]).all()
    ax = plots.plot_calibration_curve(result)
    assert ax.lines[-1].get_xydata().tolist() == np.stack([result.mean_score, result.frequency], axis=1).tolist()
    bars = ax.child_axes[0].patches
    assert [bar.get_height() for bar in bars] == result.weight.tolist()
    assert [bar.get_x() for bar in bars] == result.low.tolist()


def test_buckets_may_reach_to_the_greatest_score():
    ev = se.Evaluator(["ece"])
    ev.update_many(np.array([[0], [1]]), np.array([[0.0], [1.0]]))
    result = calibration_curve(ev._view("curves", "this"), buckets=2, strategy="quantile")
    assert result.low.tolist() == [0, 1]
    assert result.high.tolist() == pytest.approx([0, 1], abs=1e-3)


def test_a_sweep_is_drawn_from_a_precision_recall_curve():
    ev = se.Evaluator(["average_precision"])
    ev.update_many(np.array([[0], [1], [0], [1]]), np.array([[0.9], [0.8], [0.4], [0.3]]))
    ax = plots.plot_thresholds(precision_recall_curve(ev._view("curves", "this"), 0), beta=2)
    precision, recall, f = (line.get_ydata().tolist() for line in ax.lines)
    assert precision == [0.5, 1 / 3, 0.5, 0]
    assert recall == [1, 0.5, 0.5, 0]
    assert f == pytest.approx([5 * 0.5 / 3, 5 * (1 / 6) / (4 / 3 + 0.5), 5 * 0.25 / 2.5, 0])


def test_without_matplotlib_a_plot_says_what_it_needs():
    calls = (
        "plots.plot_roc_curve([['a']], [{'a': 0.5}])",
        "plots.plot_labels([['a']], [['a']])",
        "plots.plot_multilabel_confusion([['a']], [['a']])",
        "ev.plot('confusion_matrix')",
    )
    tries = (f"try:\n    {call}\nexcept se.DependencyError as error:\n    print(error)\n" for call in calls)
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import streameval as se\nfrom streameval import plots\n"
        "ev = se.Evaluator(keep=['pairs']); ev.update({'a'}, {'b'})\n" + "".join(tries)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert [line.partition("needs matplotlib")[1] for line in done.stdout.splitlines()] == ["needs matplotlib"] * 4


# -- propensities -----------------------------------------------------------------------------------------------------


def test_propensities_come_from_counted_supports():
    ev = scored("ndcg", threshold=0.5)
    table = ev.per_label()
    result = se.jain_propensities(dict(zip(table.labels, table.support, strict=True)), np.int64(ev.examples))
    assert result == se.jain_propensities(dict(zip(table.labels, table.support.tolist(), strict=True)), 500)
    assert 0 < scored("psp_at(k=1)", inverse_propensities=result).get("psp_at(k=1)") <= 1


def test_weighted_supports_have_propensities_between_those_of_whole_numbers():
    low, middle, high = se.jain_propensities({"a": 3, "b": 2.5, "c": 2}, 1000).values()
    assert low < middle < high
    with pytest.raises(se.InputError, match="nan"):
        se.jain_propensities({"a": float("nan")}, 10)


def test_calibration_does_not_depend_on_how_often_the_whole_stream_was_counted():
    scores = np.random.default_rng(5).random((300, 2)) ** 4
    names = ["brier_score_macro", "log_loss_micro", "expected_calibration_error_micro(buckets=7)"]
    evaluator = se.Evaluator(names, keep=["curves"], threshold=0.5)
    evaluator.update_many((scores > 0.3).astype(int), scores)
    once = [evaluator.bounds(name) for name in names]
    for _ in range(30):  # counts pass 2**27, and sums of residuals pass 64 bits
        evaluator.merge(evaluator.copy())
    assert [evaluator.bounds(name) for name in names] == once


def test_pooled_labels_may_have_more_scores_together_than_one_label_can_have():
    scores = np.full((2, 64), np.nextafter(0.75, 0))  # at the end of its bin, where sums of squares are largest
    evaluator = se.Evaluator(["brier_score_micro"])
    evaluator.update_many(np.array([[0] * 64, [1] * 64]), scores)
    once = evaluator.get()
    for _ in range(41):
        evaluator.merge(evaluator)
    assert evaluator.get() == once
