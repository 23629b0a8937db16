"""Results of an evaluator other than metrics, specs made by hand, keywords of other libraries, empty objects."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import auc

import streameval as se
from streameval import plots
from streameval.metrics import thresholds

TRUE, PRED, WEIGHTS = np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1, 0], [1, 1], [0, 1]]), [1.0, 2.0, 3.0]


def everything() -> se.Evaluator:
    rng = np.random.default_rng(3)
    scores = rng.random((300, 3))
    ev = se.Evaluator(["roc_auc_macro"], labels=["a", "b", "c"], threshold=0.5, keep=["pairs", "labelsets"])
    ev.update_many(rng.random(scores.shape) < scores, scores)
    return ev


def plain(value: Any) -> str:
    return repr(value if not hasattr(value, "__slots__") else [getattr(value, name) for name in value.__slots__])


DETAILS: dict[str, Callable[[Any], object]] = {
    "per_label": lambda of: of.per_label().to_dict(),
    "multilabel_confusion": lambda of: of.multilabel_confusion().tolist(),
    "roc_curve": lambda of: plain(of.roc_curve("a")),
    "precision_recall_curve": lambda of: plain(of.precision_recall_curve(average="micro")),
    "calibration_curve": lambda of: plain(of.calibration_curve("b", buckets=4)),
    "best_thresholds": lambda of: of.best_thresholds("fbeta(beta=2)"),
    "best_threshold": lambda of: of.best_threshold("f1_macro"),
    "pcut": lambda of: of.pcut(),
    "decisions_at": lambda of: plain(of.decisions_at(0.5)),
    "confusion_matrix": lambda of: of.confusion_matrix(values="shares").dense().tolist(),
    "cooccurrence": lambda of: of.cooccurrence(side="both").dense().tolist(),
    "label_sets": lambda of: of.label_sets(),
    "concurrence": lambda of: repr(of.concurrence()),
}


@pytest.mark.parametrize("name", DETAILS)
def test_a_window_gives_the_results_of_its_evaluator(name: str):
    ev = everything()
    window = se.Rolling(
        se.Evaluator(["roc_auc_macro"], labels=["a", "b", "c"], threshold=0.5, keep=["pairs", "labelsets"]), 999
    )
    rng = np.random.default_rng(3)
    scores = rng.random((300, 3))
    window.update_many(rng.random(scores.shape) < scores, scores)
    assert DETAILS[name](window) == DETAILS[name](ev)


def test_curves_are_of_one_label_of_all_labels_pooled_or_of_each_label():
    ev = everything()
    for read in (ev.roc_curve, ev.precision_recall_curve, ev.calibration_curve):
        each = read()
        assert list(each) == ["a", "b", "c"]
        assert {label: plain(curve) for label, curve in each.items()} == {label: plain(read(label)) for label in each}
        assert plain(read(average="micro")) not in {plain(curve) for curve in each.values()}
        with pytest.raises(se.InputError, match="not both"):
            read("a", average="micro")
        with pytest.raises(se.MetricError, match="average must be 'micro'"):
            read(average="macro")
    area = auc(ev.roc_curve("a").fpr, ev.roc_curve("a").tpr)
    assert math.isclose(area, ev.get("roc_auc_per_label")["a"], rel_tol=1e-3)


def test_thresholds_are_chosen_for_metrics_by_name():
    ev = everything()
    assert ev.best_thresholds("f1") == ev.best_thresholds("f1_macro") == ev.best_thresholds(thresholds.FScore())
    assert ev.best_thresholds("precision_at_recall(recall=0.9)") == ev.best_thresholds(thresholds.PrecisionAt(0.9))
    assert ev.best_threshold() == ev.best_threshold(thresholds.FScore()) == ev.best_threshold("f1_micro")
    best = ev.best_threshold("f1_macro").threshold
    again = se.Evaluator(["f1_macro"], labels=["a", "b", "c"], threshold=best)
    rng = np.random.default_rng(3)
    scores = rng.random((300, 3))
    again.update_many(rng.random(scores.shape) < scores, scores)
    assert again.get("f1_macro") == ev.best_threshold("f1_macro").value
    for wrong, message in (("f1_micro", r"best_threshold\('f1_micro'\)"), ("recall", "f1, fbeta"), (3, "objective")):
        with pytest.raises(se.MetricError, match=message):
            ev.best_thresholds(wrong)  # type: ignore[arg-type]


def test_label_sets_are_counted_exactly_even_with_weights():
    ev = se.Evaluator(keep=["labelsets"])
    ev.update_many([["b"], ["a", "b"], ["b"]], [["a"]] * 3, weights=[0.1, 0.5, 0.2])
    assert ev.label_sets() == {("a", "b"): 0.5, ("b",): 0.30000000000000004}
    assert list(ev.label_sets()) == [("a", "b"), ("b",)]


def test_every_picture_of_the_plots_is_drawn_by_name_and_an_unknown_one_is_refused():
    pytest.importorskip("matplotlib")
    ev = everything()
    several = {"plot_slices", "plot_compare"}
    for name in (name.removeprefix("plot_") for name in {*plots.__all__} - several if name.startswith("plot_")):
        assert ev.plot(name, title=name).get_title(loc="left") == name
    values = [ev.get("f1_per_label")[text.get_text()] for text in ev.plot().get_yticklabels()]
    assert values == sorted(ev.get("f1_per_label").values())
    assert ev.plot("roc_curve", labels=["a", "c"]).get_legend() is not None
    assert se.F1().plot("labels").get_xlabel() == "f1"
    with pytest.raises(se.InputError, match="did you mean 'roc_curve'"):
        ev.plot("roc")
    for draw in (plots.plot_confusion_matrix, plots.plot_cooccurrence, plots.plot_labels):
        with pytest.raises(se.InputError, match="plots take an Evaluator"):
            draw(3)


# -- specs made by hand -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        (("f1",), "f1_macro"),
        (("fbeta", "micro", 0.0, "zero_division", {"beta": 2}), "fbeta_micro(beta=2)"),
        (("f1", None, math.nan), "f1_per_label(zero_division=nan)"),
        (("sensitivity", "micro"), "recall_micro"),
    ],
)
def test_a_spec_made_by_hand_equals_the_spec_of_its_name(fields: tuple, key: str):
    spec = se.MetricSpec(*fields)
    assert (spec.key, repr(spec)) == (key, repr(se.Evaluator([key]).metrics[0]))
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "nope"}, "no metric 'nope'"),
        ({"name": "f1", "average": "median"}, "no average 'median'"),
        ({"name": "f1", "zero_division": 5}, "zero_division must be"),
        ({"name": "f1", "empty": "both"}, "empty must be"),
        ({"name": "f1", "parameters": {"beta": 2}}, "no parameter 'beta'"),
        ({"name": "f1", "parameters": 3}, "parameters must be a mapping"),
        ({"name": "coverage_error", "parameters": {"minus_one": 1}}, "minus_one of coverage_error must be True or F"),
        ({"name": "f1", "key": "f1_micro"}, "key must be 'f1_macro'"),
    ],
)
def test_a_spec_made_by_hand_is_checked_like_a_spec_from_a_name(fields: dict, message: str):
    with pytest.raises(se.MetricError, match=message):
        se.MetricSpec(**fields)


# -- keywords of other libraries --------------------------------------------------------------------------------------


def test_sample_weight_is_accepted_as_weights():
    assert se.score(TRUE, PRED, "f1_micro", sample_weight=WEIGHTS) == se.score(TRUE, PRED, "f1_micro", weights=WEIGHTS)
    report = se.classification_report(TRUE, PRED, weights=WEIGHTS)
    assert se.classification_report(TRUE, PRED, sample_weight=WEIGHTS) == report
    ev = se.Evaluator()
    ev.update_many(TRUE, PRED, sample_weight=WEIGHTS)  # type: ignore[arg-type]
    assert ev.weight == 6
    with pytest.raises(se.InputError, match="give one of them"):
        se.score(TRUE, PRED, weights=WEIGHTS, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: se.score(TRUE, PRED, average="macro"), "score has no argument average=; .*'f1_macro'"),
        (lambda _: se.classification_report(TRUE, PRED, target_names=["a", "b"]), r"target_names=; write labels="),
        (lambda ev: ev.update_many(TRUE, PRED, w=WEIGHTS), r"w=; write weights="),
        (lambda ev: ev.update_many(TRUE, PRED, weight=WEIGHTS), r"weight=; write weights="),
        (lambda ev: ev.update_many(TRUE, PRED, weigths=WEIGHTS), "did you mean 'weights'"),
        (lambda ev: ev.best_threshold(average="macro"), "^best_threshold has no argument average=; .*'f1_macro'"),
        (lambda ev: ev.best_thresholds(metrics="f1"), "^best_thresholds has no argument metrics=; did you mean"),
        (lambda ev: ev.decisions_at(), "^decisions_at is missing thresholds"),
        (lambda ev: se.Rolling(ev).roc_curve(labels="a"), r"^roc_curve has no argument labels=; write label=\.\.\.$"),
        (lambda ev: ev.get("f1", average="micro"), "get has no argument average=; .*'f1_macro'"),
        (lambda ev: ev.update({1}, {1}, sample_weight=2), "update has no argument sample_weight=; write weight="),
        (lambda ev: ev.revert({1}, {1}, w=2), "revert has no argument w=; write weight="),
        (lambda ev: se.Rolling(ev, window_size=3), "Rolling has no argument window_size=; Rolling takes size="),
        (lambda ev: se.progressive_evaluate([], ev, ev, print_every=9), "iter_progressive_evaluate takes step="),
        (lambda ev: se.Tumbling(ev, every=3), "Tumbling has no argument every=; write size="),
        (lambda _: se.Evaluator(task="multilabel"), "no argument task=; every metric is multi-label; leave it out"),
        (lambda _: se.Evaluator(window=3), "Evaluator has no argument window=; Rolling takes size=.*, and TimeRolling"),
        (
            lambda ev: se.TimeRolling(ev, size=3),
            "TimeRolling has no argument size=; Rolling takes size=.*, and TimeRolling period=",
        ),
        (lambda ev: se.Fading(ev, fading_factor=0.9), "Fading has no argument fading_factor=; write half_life="),
        (lambda _: se.Evaluator(top_k=3), r"top_k=; .*'f1_at\(k=3\)'"),
        (lambda _: se.Evaluator(num_labels=3), "num_labels=; write labels="),
        (lambda _: se.F1(target_names=["a"]), "write labels="),
    ],
)
def test_keywords_of_other_libraries_are_refused_and_the_right_keyword_is_named(
    call: Callable[[Any], object], message: str
):
    ev = se.Evaluator()
    with pytest.raises((se.InputError, se.MetricError), match=message):
        call(ev)
    assert ev == se.Evaluator()


def test_help_shows_no_keywords_of_other_libraries():
    for call in (
        se.score,
        se.classification_report,
        se.Evaluator,
        se.Evaluator.update,
        se.Rolling,
        se.Evaluator.update_many,
        se.Evaluator.get,
    ):
        kinds = {part.kind for part in inspect.signature(call).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_idioms_of_other_libraries_work_or_raise_with_advice():
    ev = everything()
    assert ev["f1_micro"] == ev.get("f1_micro")
    with pytest.raises(TypeError, match="not iterable"):
        iter(ev)  # type: ignore[call-overload]
    assert se.F1("micro").spec == se.F1(average="micro").spec
    holders = se.Sliced(se.F1(), by="region"), se.Trace(ev), se.Ledger(se.F1())
    for held in (ev, se.F1(), se.Rolling(se.F1(), 3), *holders):
        with pytest.raises(AttributeError, match=r"no attribute 'compute'; call get\(\)"):
            held.compute()
        with pytest.raises(AttributeError, match=r"no attribute 'computed'$"):
            held.computed()
        with pytest.raises(AttributeError, match="RiverMetric"):
            held.works_with(None)
        with pytest.raises(AttributeError, match=r"no attribute 'clone'; call copy\(\), and reset\(\)"):
            held.clone()
        with pytest.raises(AttributeError, match=r"an Evaluator has it; snapshot\(\) and total\(\) return one"):
            (se.F1() if held is ev else held).to_dict()
        assert "get" in dir(held)
        assert "compute" not in dir(held)


def test_counting_classes_define_no_getattr():
    """``__getattr__`` in a class slows all access to its attributes, and an update reads a dozen attributes."""
    ev = se.Evaluator(labels=["a"])
    ev.update({"a"}, {"a"})
    for kind in (type(ev), type(ev._core), type(ev._core.labels), se.F1, se.Rolling, se.Tumbling, se.Fading, se.Sliced):
        assert not hasattr(kind, "__getattr__"), kind


def test_a_window_gives_bounds_of_its_metrics():
    window = se.Rolling(se.Evaluator(["roc_auc_macro"]), 10)
    window.update_many([["a"], ["b"], []], [{"a": 0.3, "b": 0.2}] * 3)
    assert window.bounds("roc_auc_macro") == window.snapshot().bounds("roc_auc_macro")
    single = se.Rolling(se.RocAuc(), 10)
    assert repr(single.bounds()) == repr(se.RocAuc().bounds())
    for wrong in (lambda: window.bounds(), lambda: single.bounds("f1")):
        with pytest.raises(se.MetricError, match="needs the name of a metric"):
            wrong()


# -- empty objects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("empty", "displayed"),
    [
        (se.Evaluator(["f1_micro"]), "Evaluator(no examples; f1_micro)"),
        (se.Evaluator([]), "Evaluator(no examples; no metrics)"),
        (se.F1(), "F1(no examples; f1_macro)"),
        (se.Rolling(se.F1(), 5), "Rolling(size=5; F1(no examples; f1_macro))"),
        (se.Sliced(se.F1(), by="x"), "Sliced(no examples, 0 by x; f1_macro)"),
        (se.Pending(se.F1()), "Pending(0 waiting, 0 evicted, 0 without prediction; F1(no examples; f1_macro))"),
        (se.Trace(se.F1()), "Trace(no examples, no rows, every 100)"),
        (se.Ledger(se.F1()), "Ledger(no shards; F1(no examples; f1_macro))"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_empty_object_says_so(empty: object, displayed: str):
    assert repr(empty) == displayed
    if isinstance(empty, se.Evaluator):
        assert "no examples, no labels; metrics: " in empty.report()
        assert "no examples, no labels; metrics: " in empty._repr_html_()
        assert set(empty.get().values()) <= {0.0}


def test_one_example_is_counted_in_the_singular():
    ev = se.Evaluator(["f1_micro", "f1_per_label"])
    ev.update({"a"}, {"a"})
    assert repr(ev) == "Evaluator(1 example, 1 label; f1_micro=1, f1_per_label=<1 label>)"


@pytest.mark.parametrize("scores", [{"a": 0.5, "b": 0.2}, np.array([0.5, 0.2]), [0.5, 0.2]])
def test_scores_without_a_threshold_are_refused_with_advice_that_holds_for_every_form(scores: Any):
    with pytest.raises(se.InputError, match=r"binary predictions are 0 or 1; for scores give threshold=0\.5$"):
        se.Evaluator(labels=["a", "b"]).update({"a"}, scores)
    with pytest.raises(se.MetricError, match=r"construct with threshold=0\.5, or name only metrics of scores, such as"):
        se.Evaluator(labels=["a", "b"], keep=["curves"]).update({"a"}, scores)
