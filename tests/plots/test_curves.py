"""Curves over scores have the points that the library computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib.axes import Axes

import streameval as se
from streameval import plots
from streameval.errors import InputError
from streameval.metrics.curves import RocCurve

RNG = np.random.default_rng(5)
SCORES = RNG.random((300, 3))
TRUE = RNG.random((300, 3)) < SCORES


def scored(labels: object = None) -> se.Evaluator:
    ev = se.Evaluator(["roc_auc_macro"], labels=labels)
    ev.update_many(TRUE, SCORES)
    return ev


def drawn(ax: Axes) -> Axes:
    ax.figure.canvas.draw()
    return ax


def legend(ax: Axes) -> list[str]:
    return [text.get_text().partition(", ")[0] for text in ax.get_legend().get_texts()]


def points(*columns: object) -> list:
    return np.stack([np.asarray(column) for column in columns], axis=1).tolist()


@pytest.mark.parametrize("kind", ["calibration_curve", "thresholds"])
def test_the_title_of_a_long_label_fits(kind: str):
    labels = [f"category/a sub category of many/label {n}/with the same end" for n in range(3)]
    ax = drawn(scored(labels).plot(kind, label=labels[2]))
    assert "2/with" in ax.get_title(loc="left")
    assert ax._left_title.get_window_extent().x1 <= ax.figure.bbox.x1


def test_roc_curves_have_names_and_filled_bands():
    open_ = RocCurve(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([np.inf, 0.5]), np.array([True]))
    ax = drawn(plots.plot_roc_curve({"micro": open_, 7: scored().roc_curve(1)}))
    assert legend(ax) == ["micro", "7"]
    extent = ax.collections[0].get_datalim(ax.transData)
    assert [extent.x0, extent.y0, extent.x1, extent.y1] == [0, 0, 1, 1]
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false positive rate", "true positive rate")
    assert ax.get_aspect() == 1


SOURCES: dict[str, Callable[[], tuple]] = {
    "evaluator": lambda: (scored(),),
    "arrays": lambda: (TRUE, SCORES),
    "metric": lambda: (count(se.metric("roc_auc")),),
    "window": lambda: (count(se.Rolling(se.Evaluator(["roc_auc_macro"]), 1000)),),
    "trace": lambda: (count(se.Trace(se.Evaluator(["roc_auc_macro"]), every=100)),),
    "mapping": lambda: ({"": scored()},),
    "sliced": lambda: (count(se.Sliced(se.Evaluator(["roc_auc_macro"]), by="x"), where={"x": 1}),),
}


def count(holder: object, **options: object) -> object:
    for true, scores in zip(TRUE, SCORES, strict=True):
        holder.update(true, scores, **options)
    return holder


@pytest.mark.parametrize("kind", SOURCES)
def test_curves_of_every_kind_of_source_are_those_of_an_evaluator(kind: str):
    ev = scored()
    pooled, steps = ev.roc_curve(average="micro"), ev.precision_recall_curve(average="micro")
    name = "x = 1" if kind == "sliced" else "all labels"
    ax = plots.plot_roc_curve(*SOURCES[kind]())
    assert legend(ax) == [name]
    assert ax.lines[-1].get_xydata().tolist() == points(pooled.fpr, pooled.tpr)
    assert len(ax.lines) == 2  # the curve, and the line of guessing
    assert ax.get_legend().get_texts()[0].get_text() == f"{name}, area {ev.get('roc_auc_micro'):.3f}"
    chosen = plots.plot_roc_curve(*SOURCES[kind](), labels=[2, 0])
    assert legend(chosen) == (["2 x = 1", "0 x = 1"] if kind == "sliced" else ["2", "0"])
    assert [line.get_xydata().tolist() for line in chosen.lines[1:]] == [
        points(curve.fpr, curve.tpr) for curve in (ev.roc_curve(2), ev.roc_curve(0))
    ]
    assert chosen.lines[-2].get_xydata().tolist() == points(ev.roc_curve(2).fpr, ev.roc_curve(2).tpr)
    ax = plots.plot_precision_recall_curve(*SOURCES[kind](), labels=[2])
    area = ev.get("average_precision_per_label")[2]
    assert ax.get_legend().get_texts()[0].get_text().endswith(f", AP {area:.3f}")
    ax = plots.plot_precision_recall_curve(*SOURCES[kind]())
    some = steps.recall[:-1] > 0
    assert ax.lines[-1].get_xydata().tolist()[:-1] == points(steps.recall[:-1][some], steps.precision[:-1][some])
    buckets = ev.calibration_curve(1)
    ax = plots.plot_calibration_curve(*SOURCES[kind](), label=1)
    assert ax.lines[-1].get_xydata().tolist() == points(buckets.mean_score, buckets.frequency)
    assert [bar.get_height() for bar in ax.child_axes[0].patches] == buckets.weight.tolist()
    ax = plots.plot_thresholds(*SOURCES[kind](), label=1)
    assert ax.get_title(loc="left") == "Thresholds of 1"
    assert legend(ax) == ["precision", "recall", "F1", f"best at {ev.best_thresholds('f1')[1].threshold:.3g}"]
    assert ax.lines[0].get_ydata().tolist() == ev.precision_recall_curve(1).precision[:-1].tolist()
    assert ax.lines[2].get_ydata().max() == pytest.approx(ev.best_thresholds("f1")[1].value, rel=1e-15)


def test_two_runs_are_drawn_with_their_names_or_refused_where_one_is_drawn():
    ax = drawn(plots.plot_roc_curve({"old": scored(), "new": scored()}))
    assert legend(ax) == ["old", "new"]
    with pytest.raises(InputError, match=r"shows one evaluator; choose one of 'old', 'new'"):
        plots.plot_thresholds({"old": scored(), "new": scored()})


def test_precision_recall_is_drawn_in_steps():
    ax = drawn(plots.plot_precision_recall_curve(scored().precision_recall_curve(0), title=""))
    assert ax.lines[-1].get_drawstyle() == "steps-post"
    assert set(ax.lines[0].get_ydata()) == {TRUE[:, 0].mean()}  # the precision of guessing
    assert len(plots.plot_precision_recall_curve(scored(), labels=[0, 1]).lines) == 2
    assert ax.get_title(loc="left") == ""


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.plot_roc_curve(dict.fromkeys(range(9), scored())), "too many to distinguish"),
        (lambda: plots.plot_roc_curve(scored().roc_curve(), labels=[0]), "labels belongs to an evaluator"),
        (lambda: plots.plot_roc_curve(scored(), labels="cat"), r"not the string 'cat'; write labels=\['cat'\]"),
        (lambda: plots.plot_roc_curve(scored(), labels=["cat"]), r"'cat' is not among the labels counted, \[0, 1"),
        (lambda: plots.plot_roc_curve(scored(), SCORES), "go with y_true"),
        (lambda: plots.plot_roc_curve(3), "plots take an Evaluator"),
        (
            lambda: plots.plot_roc_curve(se.Evaluator()),
            r"requires the 'curves' state; construct with keep=\['curves'\]",
        ),
        (lambda: se.F1().plot("thresholds"), r"the 'curves' state; construct an Evaluator with keep=\['curves'\]"),
        (lambda: plots.plot_thresholds(scored(), label="no"), "'no' is not among"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(draw: Callable[[], object], message: str):
    with pytest.raises((InputError, se.MetricError), match=message):
        draw()


def test_empty_sources_are_drawn():
    for ev in (se.Evaluator(["roc_auc"]), se.Evaluator(["roc_auc"], labels=["a"])):
        for kind in ("roc_curve", "precision_recall_curve", "calibration_curve", "thresholds"):
            drawn(ev.plot(kind))


@pytest.mark.parametrize("kind", ["roc_curve", "precision_recall_curve", "thresholds"])
def test_a_picture_says_that_there_are_no_values_where_no_label_is_true(kind: str):
    ev = se.Evaluator(["roc_auc"], labels=["a"])
    ev.update_many(np.zeros((5, 1), int), np.full((5, 1), 0.1))
    ax = drawn(ev.plot(kind))
    assert [text.get_text() for text in ax.texts] == ["no values"]
    assert ax.get_legend() is None
