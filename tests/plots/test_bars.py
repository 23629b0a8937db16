"""Bars of values have the values that the library computes, with the worst or the largest change first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import streameval as se
from streameval import plots
from streameval.errors import InputError

RNG = np.random.default_rng(3)
TRUE, PREDICTED = (RNG.random((200, 5)) < 0.4 for _ in range(2))
METRICS = ["f1_micro", "hamming_loss", "f1_per_label"]


def counted(holder: object, start: int = 0) -> object:
    holder.update_many(TRUE[start:], PREDICTED[start:])
    return holder


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def lengths(ax: Axes) -> list[float]:
    return [bar.get_width() for bar in ax.patches]


def notes(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(("metric", "sign"), [("f1", 1), ("jaccard_micro", 1), ("fpr", -1)])
def test_labels_are_drawn_with_the_worst_value_first(metric: str, sign: int):
    ev = counted(se.Evaluator())
    values = ev.get(metric.removesuffix("_micro") + "_per_label")
    ranked = sorted(values, key=lambda label: sign * values[label])
    for ax in (
        plots.plot_labels(ev, metric),
        ev.plot("labels", metric=metric),
        plots.plot_labels(TRUE, PREDICTED, metric),
    ):
        assert (names(ax), lengths(ax)) == ([str(label) for label in ranked], [values[label] for label in ranked])
        assert ax.get_xlabel() == metric.removesuffix("_micro")
    support = dict(zip(ev.labels, ev.per_label().support.tolist(), strict=True))
    assert [note for note in notes(ax) if "true" in note] == [f"{support[label]} true" for label in ranked]
    few = plots.plot_labels(ev, metric, limit=2)
    assert names(few) == [str(label) for label in ranked[:2]]
    assert few.get_title(loc="left").endswith("of each label, the 2 worst of 5")


def test_labels_of_equal_value_are_drawn_with_the_most_frequent_first():
    ev = se.Evaluator()
    ev.update_many([["b"], ["b", "c"], ["a"]], [[], [], ["a"]])
    assert names(ev.plot()) == ["b", "c", "a"]


def test_metrics_are_drawn_as_bars():
    ev = counted(se.Evaluator(METRICS))
    values = [ev.get("f1_micro"), ev.get("hamming_loss")]
    for ax in (ev.plot("metric"), plots.plot_metric(ev), plots.plot_metric(TRUE, PREDICTED, METRICS[:2])):
        assert (names(ax), lengths(ax)) == (["f1_micro", "hamming_loss ↓"], values)
    single = counted(se.SubsetAccuracy())
    assert lengths(single.plot()) == [single.get()]
    window = counted(se.Rolling(se.Evaluator(METRICS), 50))
    assert lengths(plots.plot_metric(window, "f1_micro")) == [window.get("f1_micro")]
    assert lengths(plots.plot_metric(ev, "f1_per_label")) == sorted(ev.get("f1_per_label").values())
    assert notes(plots.plot_metric(se.Evaluator([]))) == ["no values"]
    undefined = se.Evaluator(["f1_micro(zero_division=nan)", "f1_macro"], labels=["cat"])
    undefined.update(set(), set())
    ax = plots.plot_metric(undefined)
    assert (notes(ax), lengths(ax), ax.get_xlim()) == (["undefined", "0.00"], [0, 0], (0, 1))


def test_a_metric_of_a_trace_is_drawn_along_the_stream_and_that_of_two_evaluators_as_two_series():
    trace = se.Trace(se.Evaluator(METRICS[:2]), every=50)
    for true, predicted in zip(TRUE, PREDICTED, strict=True):
        trace.update(true, predicted)
    ax = plots.plot_metric(trace, "f1_micro", title="Course")
    assert ax.lines[0].get_ydata().tolist() == trace.columns()["f1_micro"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title(loc="left")) == ("examples", "f1_micro", "Course")
    ax = plots.plot_metric({"a": counted(se.F1()), "b": counted(se.F1(), 50)})
    assert [line.get_label() for line in ax.lines] == ["a", "b"]


def sliced() -> se.Sliced:
    holder = se.Sliced(se.Evaluator(METRICS[:2]), by=["region", "kind"])
    holder.update_many(TRUE, PREDICTED, where={"region": ["us", "fr", "$x", "us"] * 50, "kind": [1, 2] * 100})
    return holder


@pytest.mark.parametrize(("metric", "sign"), [(None, 1), ("hamming_loss", -1)])
def test_slices_are_drawn_with_the_worst_first_their_size_and_the_value_of_all_examples(metric: str | None, sign: int):
    holder, key = sliced(), metric or "f1_micro"
    values = {f"{name} = {value}": part[key] for name, parts in holder.get().items() for value, part in parts.items()}
    ranked = sorted(values, key=lambda name: sign * values[name])
    ax = holder.plot(metric)
    assert names(ax) == [name.replace("$", r"\$") for name in ranked]
    assert ax.lines[-1].get_xdata().tolist() == [values[name] for name in ranked]
    assert notes(ax)[0] == ("50 examples" if ranked[0] in ("region = fr", "region = $x") else "100 examples")
    assert set(ax.lines[0].get_xdata()) == {holder.total().get(key)}
    few = plots.plot_slices(holder, metric, by="region", limit=2)
    assert names(few) == [name.replace("$", r"\$") for name in ranked if name.startswith("region")][:2]
    assert few.get_title(loc="left") == f"{key} of each slice, the 2 worst of 3"


def test_runs_are_compared_by_metric_or_by_label_the_largest_change_first():
    old, new = counted(se.Evaluator(METRICS[:2])), counted(se.Evaluator(METRICS[:2]), 100)
    changes = {name: new.get(name) - old.get(name) for name in METRICS[:2]}
    ranked = sorted(changes, key=lambda name: -abs(changes[name]))
    ax = plots.plot_compare({"old": old, "new": new})
    assert [name.removesuffix(" ↓") for name in names(ax)] == ranked
    for line, run in zip(ax.lines, (old, new), strict=True):
        assert line.get_xdata().tolist() == [run.get(name) for name in ranked]
    assert [line.get_label() for line in ax.lines] == ["old", "new"]
    assert notes(ax) == [*(f"{changes[name]:+.4f}" for name in ranked), "change"]
    spans = [sorted([old.get(name), new.get(name)]) for name in ranked]
    assert [path.vertices[:, 0].tolist() for path in ax.collections[0].get_paths()] == spans
    before, after = (run.get("recall_per_label") for run in (old, new))
    ax = plots.plot_compare({"old": old, "new": new}, "recall_per_label", limit=3)
    largest = sorted(before, key=lambda label: -abs(after[label] - before[label]))[:3]
    assert names(ax) == [str(label) for label in largest]
    assert ax.lines[1].get_xdata().tolist() == [after[label] for label in largest]
    ax = plots.plot_compare(sliced(), "f1_micro")
    assert ax.lines[0].get_label() == r"region = \$x"
    assert len(ax.lines) > 4
    assert notes(ax)[-1] == "first to last"
    ax.figure.canvas.draw()
    legend, figure = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert figure.x0 <= legend.x0 < legend.x1 <= figure.x1
    assert legend.y1 <= ax._left_title.get_window_extent().y0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.plot_labels({}, limit=0), "limit must be"),
        (lambda: plots.plot_labels(3), "plots take an Evaluator"),
        (lambda: plots.plot_labels(se.Evaluator(), "roc_auc"), r"construct with keep=\['curves'\]"),
        (lambda: plots.plot_labels(se.Evaluator(), "subset_accuracy"), "average"),
        (lambda: plots.plot_metric(se.Evaluator(), "ndcg"), r"construct with keep=\['rankings'\]"),
        (lambda: plots.plot_slices(sliced(), "f1_per_label"), "has a value per label"),
        (lambda: plots.plot_slices(se.Sliced(se.Evaluator(), by="x")), "nothing to draw; .* slices"),
        (lambda: plots.plot_compare({"a": se.Evaluator()}), "at least two runs"),
        (lambda: plots.plot_compare({str(n): se.Evaluator() for n in range(9)}), "too many to distinguish"),
        (lambda: plots.plot_compare({"old": se.Evaluator(["ndcg"]), "new": se.Evaluator()}), "^'new': ndcg requires"),
        (lambda: plots.plot_roc_curve({"old": se.RocAuc(), "new": se.F1()}), "^'new': .* requires the 'curves' state"),
        (lambda: plots.plot_slices({"old": se.F1(), "new": se.Evaluator(["ndcg"])}), "^.new.: f1_macro requires"),
        (lambda: plots.plot_compare(se.Evaluator(), se.Evaluator()), "give a mapping such as {'old': ev, 'new'"),
        (lambda: plots.plot_labels(TRUE, PREDICTED * 0.5), "for scores give y_score >= 0.5$"),
        (lambda: se.Evaluator().plot("slices"), "no slice"),
        (lambda: se.Evaluator().plot("pr_curve"), "did you mean 'precision_recall_curve'"),
        (lambda: se.Evaluator().plot("f1_per_label"), r"drawn by plot\('metric', metrics='f1_per_label'\)"),
        (lambda: se.Evaluator().plot(["f1_micro"]), r"drawn by plot\('metric', metrics=\['f1_micro'\]\)"),
        (lambda: se.Evaluator().plot("ndcg"), r"; a metric is drawn by plot\('metric', metrics='ndcg'\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_there_is_a_figure(draw: Callable[[], object], message: str):
    with pytest.raises((InputError, se.MetricError), match=message):
        draw()
    assert not pyplot.get_fignums()


@pytest.mark.parametrize(("source", "metrics", "name"), [
    (se.Trace(se.Evaluator(["f1_micro"]), every=50), None, "f1_micro"),
    ({"a": se.F1(), "b": se.F1()}, None, "value"), (se.Evaluator(["recall_per_label"]), None, "recall"),
    (se.Evaluator(METRICS), "recall_per_label", "recall"),
])  # fmt: skip
def test_metrics_of_every_source_are_drawn_on_the_axes_that_are_passed(source: object, metrics: str | None, name: str):
    for holder in source.values() if isinstance(source, dict) else [source]:
        for true, predicted in zip(TRUE, PREDICTED, strict=True):
            holder.update(true, predicted)
    _, asked = pyplot.subplots()
    ax = plots.plot_metric(source, metrics, ax=asked, title="Mine")
    assert ax is asked
    assert (ax.get_title(loc="left"), {ax.get_xlabel(), ax.get_ylabel()} & {name}) == ("Mine", {name})


def test_pictures_are_drawn_on_the_axes_that_are_passed_and_change_no_evaluator():
    ev = counted(se.Evaluator(["f1_micro", "f1_macro"], keep=["pairs"]))
    before = ev.to_bytes()
    scored = se.Evaluator(["roc_auc_macro"])
    scored.update_many(TRUE, PREDICTED * 0.5 + 0.25)
    figure, axes = pyplot.subplots(3, 4)
    every = [name.removeprefix("plot_") for name in plots.__all__ if name.startswith("plot_")]
    for kind, ax in zip(every, axes.flat, strict=False):
        source = {"slices": sliced(), "compare": {"a": ev, "b": ev}, "thresholds": scored}.get(kind, ev)
        source = scored if "curve" in kind else source
        assert getattr(plots, f"plot_{kind}")(source, ax=ax, title="Mine") is ax
        assert ax.get_title(loc="left") == "Mine"
    assert len(pyplot.get_fignums()) == 1
    assert ev.to_bytes() == before
    figure.canvas.draw()
