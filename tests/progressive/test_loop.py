"""Progressive evaluation, compared with that of River and with loops written out by hand."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from river import compose, datasets, evaluate, linear_model, metrics, multioutput, preprocessing, stream as river_stream

import streameval as se
from streameval.adapters.river import RiverMetric
from tests.support.effort import crossed
from tests.support.examples import printed
from tests.support.naming import case_name

ORDER = [f"Class{number}" for number in range(1, 15)]
START = dt.datetime(2024, 1, 1)
FEW = ORDER[:4]

Pair = tuple[dict, dict]


def logistic() -> linear_model.LogisticRegression:
    return linear_model.LogisticRegression()


MODELS: dict[str, Callable[[], object]] = {
    "ClassifierChain": lambda: preprocessing.StandardScaler() | multioutput.ClassifierChain(logistic(), order=ORDER[:]),
    "ClassifierChain without order": lambda: preprocessing.StandardScaler() | multioutput.ClassifierChain(logistic()),
    "PerOutputClassifier": lambda: preprocessing.StandardScaler() | multioutput.PerOutputClassifier(logistic()),
    "Perceptron": lambda: multioutput.PerOutputClassifier(linear_model.Perceptron()),
    "MonteCarloClassifierChain": lambda: multioutput.MonteCarloClassifierChain(logistic(), m=3, seed=7),
    "ProbabilisticClassifierChain": lambda: multioutput.ProbabilisticClassifierChain(logistic()),
}

SIZES = {"MonteCarloClassifierChain": 60, "ProbabilisticClassifierChain": 60}


@cache
def read(size: int) -> list[Pair]:
    return list(datasets.Yeast().take(size))


def yeast(size: int = 300, labels: list[str] = ORDER) -> list[Pair]:
    return [(dict(x), {label: y[label] for label in labels}) for x, y in read(size)]


def timed(size: int = 300) -> list[Pair]:
    """Examples of Yeast with times, which repeat and are unevenly spaced, and a delay for each example."""
    draw = random.Random(3)
    time = START
    result = []
    for x, y in yeast(size):
        time += dt.timedelta(minutes=draw.choice([0, 0, 1, 5]))
        result.append((x | {"when": time, "wait": dt.timedelta(minutes=draw.choice([0, 1, 9, 60]))}, y))
    return result


def discarding(model: object) -> compose.Pipeline:
    return compose.Discard("when", "wait") | model


class Recorded(RiverMetric):
    """A metric of River that records the arguments of its updates."""

    def __init__(self, metric: object = "f1_micro") -> None:
        super().__init__(metric)
        self.calls: list[object] = []

    def update(self, y_true, y_pred, w=1.0):
        self.calls.append((dict(y_true), dict(y_pred), w))
        super().update(y_true, y_pred, w)


class Watched:
    """A wrapper of any model that records the order and the arguments of its predictions and lessons."""

    _supervised = True

    def __init__(self, model: object) -> None:
        self.model = model
        self.calls: list[object] = []

    def predict_one(self, x, **extra):
        y_pred = self.model.predict_one(x, **extra)
        self.calls.append(("predict", dict(x), copy.deepcopy(y_pred), extra))
        return y_pred

    def learn_one(self, x, y, **extra):
        self.calls.append(("learn", dict(x), copy.copy(y), extra))
        self.model.learn_one(x, y, **extra)


class Accepting(RiverMetric):
    """A metric that River's loop takes with any model."""

    def works_with(self, model: object) -> bool:
        return True


def both(model: Callable[[], object], stream: Callable[[], object], **how: object) -> tuple[se.Evaluator, se.Evaluator]:
    """What our loop and River's loop count, after asserting that both made the same calls of the model."""
    ours, theirs = Watched(model()), Watched(model())
    counted, expected = se.Evaluator(), se.Evaluator()
    assert se.progressive_evaluate(stream(), ours, counted, **how) is counted
    named = {"moment" if name == "time" else name: value for name, value in how.items()}
    evaluate.progressive_val_score(stream(), theirs, Accepting(expected), **named)
    assert ours.calls == theirs.calls
    return counted, expected


# -- the same as River ------------------------------------------------------------------------------------------------


DELAYS = (None, 0, 1, 25, 10**6, lambda _, y: 3 if y["Class1"] else 40)


@pytest.mark.parametrize(("name", "delay"), crossed(MODELS, DELAYS), ids=case_name)
def test_the_loop_counts_what_river_counts_in_the_same_order(name, delay):
    size = SIZES.get(name, 100)
    labels = FEW if name == "ProbabilisticClassifierChain" else ORDER
    counted, expected = both(MODELS[name], lambda: yeast(size, labels), delay=delay)
    assert counted.examples > 0 or delay == 10**6  # some models predict nothing before they have learnt
    assert counted.to_bytes() == expected.to_bytes()
    assert counted.get() == expected.get()


@pytest.mark.parametrize(("time", "delay"), crossed(["when", lambda x: x["when"]], [
    dt.timedelta(0), dt.timedelta(minutes=30), "wait", lambda x, y: x["wait"] * 2 if y["Class2"] else x["wait"],
]))  # fmt: skip
def test_the_loop_counts_what_river_counts_where_examples_have_times(time, delay):
    def model() -> object:
        return discarding(MODELS["ClassifierChain"]())

    counted, expected = both(model, lambda: timed(100), time=time, delay=delay)
    assert counted.to_bytes() == expected.to_bytes()


def test_a_metric_of_ours_in_either_loop_has_the_same_value():
    ours = se.progressive_evaluate(yeast(), MODELS["ClassifierChain"](), RiverMetric("f1_macro"))
    theirs = evaluate.progressive_val_score(yeast(), MODELS["ClassifierChain"](), RiverMetric("f1_macro"))
    assert ours.get() == theirs.get()
    assert ours.metric == theirs.metric


def test_a_metric_of_river_has_the_same_value_in_either_loop():
    def metric() -> object:
        return metrics.multioutput.MicroAverage(metrics.Jaccard())

    ours = se.progressive_evaluate(yeast(), MODELS["ClassifierChain"](), metric())
    theirs = evaluate.progressive_val_score(yeast(), MODELS["ClassifierChain"](), metric())
    assert ours.get() == theirs.get()
    pair = metrics.base.Metrics([metric(), metrics.multioutput.ExactMatch()])
    last = list(se.iter_progressive_evaluate(yeast(), MODELS["ClassifierChain"](), pair, step=1000))[-1]
    assert last.values["MicroAverage"] == theirs.get()
    assert set(last.values) == {"MicroAverage", "ExactMatch"}


@pytest.mark.parametrize(("delay", "step"), crossed([None, 11], [1, 7, 100]))
def test_snapshots_are_those_of_river(step, delay):
    steps = evaluate.iter_progressive_val_score(
        yeast(200), MODELS["PerOutputClassifier"](), RiverMetric("f1_micro"), step=step, delay=delay,
        yield_predictions=True,
    )  # fmt: skip
    expected = [(one["Step"], {"f1_micro": one["RiverMetric"].get()}, one["Prediction"] or None) for one in steps]
    ours = list(
        se.iter_progressive_evaluate(
            yeast(200), MODELS["PerOutputClassifier"](), se.F1(average="micro"), step=step, delay=delay, prediction=True
        )
    )
    if 200 % step:  # River's last report, which comes because the stream ends, has no prediction
        assert expected[-1][2] is None
        ours[-1] = dataclasses.replace(ours[-1], prediction=None)
    result = [(one.step, one.values, one.prediction) for one in ours]
    assert result == expected


def test_the_loop_goes_on_where_labels_appear_midway():
    stream = [(x, {label: y[label] for label in ORDER[: 2 + place // 20]}) for place, (x, y) in enumerate(yeast(200))]
    for name in ("ClassifierChain without order", "PerOutputClassifier", "Perceptron"):
        counted, expected = both(MODELS[name], lambda: stream, delay=5)
        assert counted.to_bytes() == expected.to_bytes()
        assert len(counted.labels) == 11


# -- examples without a prediction ------------------------------------------------------------------------------------


class Scripted:
    """A model that returns the next of its arguments at each prediction."""

    def __init__(self, *says: object) -> None:
        self.says = iter(says)
        self.learnt: list[object] = []

    def predict_one(self, x):
        return next(self.says)

    predict_proba_one = predict_one

    def learn_one(self, x, y):
        self.learnt.append((x, y))


def scripted(*says: object) -> list[tuple[dict, set[str]]]:
    return [({"place": place}, {"a"}) for place, _ in enumerate(says)]


@pytest.mark.parametrize("delay", [None, 1])
@pytest.mark.parametrize(("no_prediction", "expected"), [("skip", 3), ("empty", 5)])
def test_an_example_for_which_nothing_is_predicted_is_skipped_or_counted(no_prediction, expected, delay):
    says = (None, {}, {"a": None}, {"a": True}, set())
    model, ev = Scripted(*says), se.Evaluator()
    snapshots = list(
        se.iter_progressive_evaluate(
            scripted(*says), model, ev, no_prediction=no_prediction, prediction=True, delay=delay
        )
    )
    assert ev.examples == expected
    assert ev.per_label().tp.tolist() == [1]
    assert len(model.learnt) == len(snapshots) == 5
    assert [snapshot.prediction for snapshot in snapshots][:2] == [None, None]


def test_a_label_predicted_as_none_is_not_predicted():
    ev = se.progressive_evaluate([({}, {"a"})], Scripted({"a": None, "b": 1}), se.Evaluator())
    expected = se.Evaluator()
    expected.update({"a"}, {"b": 1})
    assert ev.to_bytes() == expected.to_bytes()


@pytest.mark.parametrize("predicted", [{"a": 1, "b": 0}, ["a"], {"a"}, np.array(["a"]), MappingProxyType({"a": True})])
def test_predictions_and_examples_of_every_form_are_counted(predicted):
    for example in [({}, {"a"}), [{}, {"a"}], ({}, {"a"}, {}), ({}, {"a"}, None)]:
        ev = se.progressive_evaluate([example], Scripted(predicted), se.Evaluator(["f1_micro"]))
        assert (ev.examples, ev.get("f1_micro")) == (1, 1.0)


@pytest.mark.parametrize("delay", [None, 1])
@pytest.mark.parametrize(("size", "rows"), [(7, [3, 6, 7]), (6, [3, 6]), (0, [])])
def test_a_trace_has_a_row_for_the_last_example_too(size, rows, delay):
    for run in (se.progressive_evaluate, lambda *a, **how: list(se.iter_progressive_evaluate(*a, **how))):
        trace = se.Trace(se.Evaluator(["f1_micro"]), every=3)
        run([({}, {"a"})] * size, Always(), trace, delay=delay)
        assert trace.columns()["examples"] == rows
        assert trace == trace.from_bytes(trace.to_bytes())


# -- scores -----------------------------------------------------------------------------------------------------------


SCORING = ("ClassifierChain", "PerOutputClassifier", "ClassifierChain without order")
THRESHOLDS = (0.3, dict.fromkeys(ORDER, 0.4) | {"Class3": 0.05})


@pytest.mark.parametrize(("name", "predict", "threshold"), crossed(SCORING, ["auto", "scores"], THRESHOLDS))
def test_scores_with_a_threshold_equal_a_loop_written_out(name, predict, threshold):
    model, expected = MODELS[name](), se.Evaluator(threshold=threshold)
    for x, y in yeast(80):
        scores = {label: outcomes[True] for label, outcomes in model.predict_proba_one(x).items()}
        if scores:
            expected.update(y, scores)
        model.learn_one(x, y)
    counted = se.Evaluator(threshold=threshold)
    se.progressive_evaluate(yeast(80), MODELS[name](), counted, predict=predict)
    assert counted.to_bytes() == expected.to_bytes()
    labels = se.progressive_evaluate(yeast(80), MODELS[name](), se.Evaluator(threshold=threshold), predict="labels")
    assert labels.get() != counted.get()


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_a_river_metric_gets_scores_if_the_evaluator_that_it_wraps_reads_them(threshold):
    wrapped = RiverMetric(se.Evaluator(threshold=threshold))
    se.progressive_evaluate(yeast(50), MODELS["ClassifierChain"](), wrapped)
    plain = se.progressive_evaluate(yeast(50), MODELS["ClassifierChain"](), se.Evaluator(threshold=threshold))
    assert wrapped.metric.to_bytes() == plain.to_bytes()


def test_of_the_probabilities_of_both_outcomes_that_of_true_becomes_the_score():
    says = {"a": {False: 0.25, True: 0.75}, "b": {False: 1.0}, "c": {}, "d": 0.5, "e": None, "f": {0: 0.1, 1: 0.9}}
    stream = [({}, {"a"})]
    (snapshot,) = se.iter_progressive_evaluate(stream, Scripted(says), se.F1(threshold=0.5), prediction=True)
    assert snapshot.prediction == {"a": 0.75, "b": 0.0, "d": 0.5, "f": 0.9}


def test_a_trace_of_evaluators_of_which_some_read_scores_needs_predict():
    trace = se.Trace({"scores": se.F1(threshold=0.3), "labels": se.F1()})
    with pytest.raises(se.InputError, match=r"scores are read by 'scores' .* and labels by 'labels'; construct all"):
        se.progressive_evaluate(yeast(5), MODELS["ClassifierChain"](), trace)
    assert trace.examples == 0
    se.progressive_evaluate(yeast(5), MODELS["ClassifierChain"](), trace, predict="labels")
    assert trace.examples == 5


# -- weights ----------------------------------------------------------------------------------------------------------


def weighted() -> list[tuple[dict, dict, dict]]:
    return [(x, y, {"w": float(1 + place % 3)} if place % 5 else {}) for place, (x, y) in enumerate(yeast(120))]


def per_output() -> multioutput.PerOutputClassifier:
    return multioutput.PerOutputClassifier(logistic())


@pytest.mark.parametrize("delay", [None, 4])
def test_the_weights_of_a_stream_teach_the_model_as_in_river(delay):
    counted, expected = both(per_output, weighted, delay=delay)
    assert counted.to_bytes() == expected.to_bytes()
    plain = se.progressive_evaluate(yeast(120), per_output(), se.Evaluator(), delay=delay)
    assert counted.get() != plain.get()


@pytest.mark.parametrize("delay", [None, 4])
def test_dictionaries_of_the_stream_are_not_changed(delay):
    stream = weighted()
    before = copy.deepcopy(stream)
    se.progressive_evaluate(stream, per_output(), se.Evaluator(), delay=delay, weight_for="both")
    assert stream == before


@pytest.mark.parametrize(
    ("weight_for", "weight", "delay"),
    crossed(["learn", "metric", "both", "auto"], ["cost", lambda x, _: x["cost"]], [None, 4]),
)
def test_a_weight_goes_to_the_model_the_metric_or_both_as_weight_for_says(weight_for, weight, delay):
    learns, counts = weight_for != "metric", weight_for != "learn"
    stream = [(x | {"cost": 0.5 + place % 3}, y) for place, (x, y) in enumerate(yeast(100))]
    model, expected = per_output(), se.Evaluator()
    questions = []

    def answer(x: dict, y: dict, y_pred: dict) -> None:
        if y_pred:
            expected.update(y, y_pred, weight=x["cost"] if counts else 1.0)
        model.learn_one(x, y, **({"w": x["cost"]} if learns else {}))

    for x, y in stream:
        while questions and len(questions) > (delay or 0) - 1 >= 0:
            answer(*questions.pop(0))
        questions.append((x, y, model.predict_one(x)))
        if delay is None:
            answer(*questions.pop(0))
    for question in questions:
        answer(*question)
    counted = se.progressive_evaluate(
        stream, per_output(), se.Evaluator(), weight=weight, weight_for=weight_for, delay=delay
    )
    assert counted.to_bytes() == expected.to_bytes()


def test_the_weights_of_a_stream_count_in_the_metric_if_asked():
    recorded = Recorded()
    se.progressive_evaluate(weighted(), per_output(), recorded, weight_for="metric")
    weights = [extra.get("w", 1.0) for _, _, extra in weighted()][1:]  # the model has no prediction for the first
    assert [weight for _, _, weight in recorded.calls] == weights


# -- times, windows, snapshots --------------------------------------------------------------------------------------


class Clock:
    """An evaluator that takes and records times."""

    def __init__(self) -> None:
        self.times: list[object] = []

    def update(self, y_true, y_pred, *, weight=1.0, mask=None, t):
        self.times.append(t)

    def get(self):
        return float(len(self.times))


def moments(*times: object) -> list[tuple[dict, set[str]]]:
    return [({"when": time}, {"a"}) for time in times]


class Always:
    def predict_one(self, x):
        return {"a"}

    def learn_one(self, x, y):
        pass


def test_a_window_over_time_gets_the_time_when_the_truth_became_known():
    clock = Clock()
    se.progressive_evaluate(moments(1, 1.5, 4), Always(), clock, time="when")
    assert clock.times == [1, 1.5, 4]
    clock = Clock()
    snapshots = se.iter_progressive_evaluate(
        moments(1, 2, 4), Always(), clock, time="when", delay=lambda x, _: 10 if x["when"] == 1 else 1
    )
    assert [snapshot.time for snapshot in snapshots] == clock.times == [3, 5, 11]


def test_without_times_a_window_over_time_is_refused_before_anything_is_learnt():
    model = Watched(Always())
    with pytest.raises(se.InputError, match="time="):
        se.progressive_evaluate(moments(1), model, Clock())
    windows = (se.TimeRolling(se.F1(), 3.0), se.Tumbling(se.F1(), period=3.0), se.Fading(se.F1(), 3.0))
    for evaluator in (*windows, se.Trace({"clock": windows[0]})):
        with pytest.raises(se.InputError, match="time="):
            se.progressive_evaluate(moments(1), model, evaluator)
    assert not any(call[0] == "learn" for call in model.calls)


def test_snapshots_do_not_change_later():
    ev = se.Evaluator(["f1_micro", "recall_per_label"])
    steps = se.iter_progressive_evaluate(yeast(40), MODELS["ClassifierChain"](), ev, step=10, prediction=True)
    first = next(steps)
    before = copy.deepcopy((first.step, first.values, first.prediction))
    rest = list(steps)
    assert (first.step, first.values, first.prediction) == before
    assert [snapshot.step for snapshot in (first, *rest)] == [10, 20, 30, 40]
    assert rest[-1].values == ev.get() != first.values
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.step = 3


class Reusing:
    """A model that changes one dictionary and returns it at each prediction."""

    def __init__(self) -> None:
        self.says = {"a": False}
        self.turn = itertools.cycle([True, False, False])

    def predict_one(self, x):
        self.says["a"] = next(self.turn)
        return self.says

    def learn_one(self, x, y):
        assert [x["place"]] == x["words"]
        x.clear()


@pytest.mark.parametrize("delay", [None, 2, 100])
def test_models_and_streams_may_reuse_their_dictionaries(delay):
    def stream() -> Iterator[Pair]:
        x, y, words = {}, {}, []
        for place in range(12):
            words[:] = [place]
            x.update(place=place, words=words)
            y["a"] = place % 2 == 0
            yield x, y

    steps = list(se.iter_progressive_evaluate(stream(), Reusing(), se.F1(), delay=delay, prediction=True))
    assert [step.prediction["a"] for step in steps] == [True, False, False] * 4
    ev = se.progressive_evaluate(stream(), Reusing(), se.Evaluator(), delay=delay)
    table = ev.per_label()
    assert (table.tp[0], table.fp[0], table.fn[0], table.tn[0]) == (2, 2, 4, 4)


def test_a_single_metric_a_window_and_a_trace_report_their_values_by_name():
    def values(evaluator: object) -> object:
        return next(se.iter_progressive_evaluate([({}, {"a": True})], Scripted({"a": True}), evaluator)).values

    assert values(se.F1(average="micro")) == {"f1_micro": 1.0}
    assert values(se.F1(average=None)) == {"f1_per_label": {"a": 1.0}}
    assert values(RiverMetric("f1_micro")) == {"f1_micro": 1.0}
    assert values(se.Rolling(se.F1(average="micro"), size=3)) == {"f1_micro": 1.0}
    assert values(se.Rolling(se.F1(average=None), size=3)) == {"f1_per_label": {"a": 1.0}}
    assert values(se.Rolling(se.Evaluator(["recall_per_label"]), size=3)) == {"recall_per_label": {"a": 1.0}}
    assert values(se.Trace({"x": se.F1(average="micro")})) == {"f1_micro [x]": 1.0}
    assert values(Clock2()) == {"Clock2": 0.0}
    single = metrics.multioutput.ExactMatch
    assert values(metrics.base.Metrics([single(), RiverMetric("f1_micro"), single()])) == {
        "ExactMatch 0": 1.0, "RiverMetric": 1.0, "ExactMatch 2": 1.0,
    }  # fmt: skip


def test_values_are_copies_of_what_an_evaluator_holds():
    class Live:
        def __init__(self) -> None:
            self.values = {"count": 0.0, "by label": {"a": 0.0}}

        def update(self, y_true, y_pred):
            self.values["count"] += 1
            self.values["by label"]["a"] += 1

        def get(self):
            return self.values

    result = list(se.iter_progressive_evaluate(moments(1, 2), Always(), Live()))
    assert [one.values for one in result] == [{"count": n, "by label": {"a": n}} for n in (1.0, 2.0)]


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_windows_count_the_last_examples_and_the_examples_of_the_last_period(threshold):
    def ev() -> se.Evaluator:
        return se.Evaluator(["f1_micro"], threshold=threshold)

    model, rows = discarding(MODELS["ClassifierChain"]()), []
    for x, y in timed(120):
        if threshold is None:
            rows.append((x["when"], y, model.predict_one(x)))
        else:
            scores = {label: outcomes[True] for label, outcomes in model.predict_proba_one(x).items()}
            rows.append((x["when"], y, scores))
        model.learn_one(x, y)
    period = dt.timedelta(minutes=40)
    trace = se.Trace({"last": se.Rolling(ev(), size=25), "hour": se.TimeRolling(ev(), period), "all": ev()}, every=1)
    se.progressive_evaluate(timed(120), discarding(MODELS["ClassifierChain"]()), trace, time="when")
    for name, retained in (
        ("last", rows[-25:]), ("hour", [row for row in rows if row[0] > rows[-1][0] - period]), ("all", rows),
    ):  # fmt: skip
        expected = ev()
        for _, y, y_pred in retained:
            expected.update(y, y_pred)
        result = trace.evaluators[name]
        assert 0 < result.examples == len(retained)
        assert (result if name == "all" else result.snapshot()).to_bytes() == expected.to_bytes()


class Clock2:
    def update(self, y_true, y_pred, *_):
        pass

    def get(self):
        return 0.0


def test_seconds_times_and_predictions_are_reported_only_where_they_are_known():
    for snapshot in se.iter_progressive_evaluate(moments(1, 2), Always(), se.F1()):
        assert snapshot.seconds is snapshot.time is snapshot.prediction is None
    times = [snapshot.seconds for snapshot in se.iter_progressive_evaluate(moments(1, 2), Always(), se.F1(), seconds=1)]
    assert times == sorted(times)
    assert times[0] >= 0


def test_an_empty_stream_gives_no_snapshot_and_changes_nothing():
    assert list(se.iter_progressive_evaluate([], Always(), se.F1())) == []
    assert se.progressive_evaluate(iter([]), Always(), se.F1()) == se.F1()


def test_a_model_that_does_not_learn_needs_no_learn_one():
    class Frozen:
        def predict_one(self, x):
            return {"a"}

    for weight_for in ("auto", "learn", "metric", "both"):
        how = {"learn": False, "weight": "when", "weight_for": weight_for}
        assert se.progressive_evaluate(moments(1, 2), Frozen(), se.F1(), **how).examples == 2
    with pytest.raises(se.InputError, match="learn=False"):
        se.progressive_evaluate(moments(1, 2), Frozen(), se.F1())


def test_the_keywords_of_a_stream_reach_the_model():
    counted, expected = both(
        lambda: Keywords(), lambda: [({}, {"a": True}, {"session": n, "w": 2.0}) for n in range(4)], delay=2
    )
    assert counted == expected


class Keywords:
    def predict_one(self, x, session):
        return {"a": session % 2 == 0}

    def learn_one(self, x, y, session, w):
        assert w == 2.0


def test_any_iterable_can_be_a_stream():
    frame_like = river_stream.iter_array(np.eye(3), np.array([[True], [False], [True]]))
    assert se.progressive_evaluate(frame_like, per_output(), se.F1()).examples == 2


# -- errors -----------------------------------------------------------------------------------------------------------


def refused(match: str, model: object, stream: object, evaluator: object | None = None, **how: object) -> se.Evaluator:
    """Assert that both functions raise; return the evaluator that was passed to `progressive_evaluate`."""
    ev = se.Evaluator() if evaluator is None else evaluator
    with pytest.raises(se.InputError, match=match):
        list(se.iter_progressive_evaluate(copy.deepcopy(stream), copy.deepcopy(model), copy.deepcopy(ev), **how))
    with pytest.raises(se.InputError, match=match):
        se.progressive_evaluate(stream, model, ev, **how)
    return ev


@pytest.mark.parametrize(("match", "how"), [
    ("did you mean 'scores'", {"predict": "score"}), ("no_prediction must be", {"no_prediction": None}),
    ("weight_for must be", {"weight_for": 1}), ("weight must be the name", {"weight": 2.0}),
    ("time must be the name", {"time": 3}), ("takes no w", {"weight": "when", "weight_for": "both"}),
])  # fmt: skip
def test_wrong_options_are_refused_before_anything_happens(match, how):
    model = Watched(Always())
    model.learn_one = Always().learn_one
    ev = refused(match, model, moments(1, 2), **how)
    assert model.calls == []
    assert ev == se.Evaluator()


@pytest.mark.parametrize("step", [0, -1, 1.0, True, None])
def test_a_step_that_is_no_positive_integer_is_refused_at_once(step):
    with pytest.raises(se.InputError, match="step must be an integer of at least 1"):
        se.iter_progressive_evaluate(moments(1), Always(), se.F1(), step=step)


def test_the_model_must_predict_and_learn_and_be_an_object():
    class OnlyPredicts:
        predict_one = Always.predict_one

    class OnlyLearns:
        learn_one = Always.learn_one

    refused("has no learn_one", OnlyPredicts(), moments(1))
    refused("has no predict_one", OnlyLearns(), moments(1))
    refused("not the class Always; write Always", Always, moments(1))
    refused("^the model 'model' has no predict_one; a model has predict_one and learn_one$", "model", moments(1))


def slices() -> se.Sliced:
    return se.Sliced(se.Evaluator(), by="region")


@pytest.mark.parametrize(("evaluator", "advice"), [
    ("f1_micro", r"write Evaluator\(\['f1_micro'\]\)"), (["f1_micro"], r"write Evaluator\(\['f1_micro'\]\)"),
    (3, "give an Evaluator"), (object(), "has no update"), ({"f1": se.F1()}, "give a Trace"), (se.F1, r"write F1\(\)"),
    (metrics.F1, r"write F1\(\)"), (slices(), "Sliced needs where= too; call update in a loop of your own"),
])  # fmt: skip
def test_the_evaluator_must_update_and_answer_and_be_an_object(evaluator, advice):
    with pytest.raises(se.InputError, match=f"metric must .*{advice}"):
        se.progressive_evaluate(moments(1), Always(), evaluator)


@pytest.mark.parametrize("make", [se.Pending, se.Trace, lambda ev: se.Trace({"regions": ev})])
def test_slices_are_refused_where_no_values_are_passed(make):
    with pytest.raises(se.InputError, match=r"Sliced needs where= too; .* use one evaluator for each slice"):
        make(slices())


@pytest.mark.parametrize(("place", "order"), [("first", (2, 0, 1)), ("third", (0, 1, 2)), ("third", (1, 0, 2))])
def test_arguments_in_another_order_are_refused_with_the_right_order(place, order):
    arguments = moments(1), se.Evaluator(), Always()
    with pytest.raises(se.InputError, match=f"the {place} argument is a model; the order is River's: dataset, model"):
        se.progressive_evaluate(*(arguments[index] for index in order))


@pytest.mark.parametrize(
    "stream", [None, 3, [1], [({},)], [({}, {"a"}, {}, {})], [({}, {"a"}, 3)], [None]], ids=case_name
)
def test_the_stream_must_hold_pairs_or_triples(stream):
    assert refused("dataset", Always(), stream) == se.Evaluator()


@pytest.mark.parametrize("model", [
    linear_model.LogisticRegression(), linear_model.LinearRegression(), preprocessing.StandardScaler() | logistic(),
], ids=case_name)  # fmt: skip
@pytest.mark.parametrize("delay", [None, 1])
def test_a_model_of_single_labels_or_numbers_is_refused_as_not_multi_label(model, delay):
    assert refused("is not a multi-label model", model, datasets.Phishing(), delay=delay) == se.Evaluator()


def test_a_metric_of_river_for_single_labels_is_refused_as_river_refuses_it():
    for metric in (metrics.F1(), metrics.base.Metrics([metrics.F1()])):
        refused("takes no multi-label predictions; .*MicroAverage", MODELS["PerOutputClassifier"](), yeast(3), metric)


def test_predictions_of_single_labels_are_refused_as_not_multi_label():
    assert refused("is not a multi-label", logistic(), datasets.Phishing(), predict="scores") == se.Evaluator()
    refused("not a multi-label", Scripted("cat"), scripted(1))
    refused("not a multi-label", Scripted(np.float64(3)), scripted(1))
    refused("classes .*'red'.* for label 'colour'", Scripted({"colour": {"red": 0.5, "blue": 0.5}}), scripted(1),
            predict="scores")  # fmt: skip


def test_a_model_without_probabilities_is_refused():
    class Refusing(Always):
        def predict_proba_one(self, x):
            raise NotImplementedError

    scaled = preprocessing.StandardScaler() | multioutput.RegressorChain(linear_model.LinearRegression())
    for model in (Always(), Refusing(), scaled):
        refused('predict="labels"', model, yeast(3), predict="scores")
        refused('predict="labels"', model, yeast(3), se.Evaluator(threshold=0.5))
    refused("^the model .* has no predict_proba_one; .* give a model that", Always(), moments(1), predict="scores")
    refused("^the evaluator reads scores, but the model", Always(), moments(1), se.Evaluator(threshold=0.5))


@pytest.mark.parametrize("error", [NotImplementedError, AttributeError, AttributeError(name="weights")])
@pytest.mark.parametrize("predict", ["labels", "scores"])
def test_an_error_that_a_model_raises_is_raised_unchanged(error, predict):
    class Broken(Always):
        def predict_one(self, x):
            raise error

        predict_proba_one = predict_one

    is_missing = predict == "scores" and error is NotImplementedError  # River says so that there are no scores
    with pytest.raises(se.InputError if is_missing else (NotImplementedError, AttributeError)):
        se.progressive_evaluate(moments(1), Broken(), se.Evaluator(), predict=predict)


def test_a_missing_field_is_named_with_the_place_of_the_example():
    stream = [*moments(1, 2), ({"whence": 3}, {"a"})]
    for name in ("time", "weight"):
        how = {name: "when"} | ({"weight_for": "metric"} if name == "weight" else {})
        fields = rf"^dataset\[2\] has no field 'when', which {name}= names; its fields are \['whence'\]$"
        ev = refused(fields, Always(), stream, **how)
        assert ev.examples == 2
    ev = refused(r"^dataset\[2\] has no field 'when', which delay=", Always(), stream, delay="when")
    assert ev.examples == 1  # the truth of the first example was due, that of the second was not
    refused(r"^dataset\[0\] has no field 'when', which time= names; it is 7$", Always(), [(7, {"a"})], time="when")


@pytest.mark.parametrize(("times", "match"), [
    ((1, 3, 2), r"dataset\[2\] goes backwards, from 3 to 2"), ((START, START, 3), "of one kind"),
    ((1, 2, float("nan")), "nan"), ((1, 2, None), "not None"), ((START, START, pd.NaT), "is NaT; give a number"),
])  # fmt: skip
def test_times_that_go_backwards_or_are_invalid_are_refused(times, match):
    for delay in (None, lambda x, _: x["when"] - x["when"]):
        ev = refused(match, Always(), moments(*times), time="when", delay=delay)
        assert ev.examples == 2 - (delay is not None)


@pytest.mark.parametrize("time", [None, float("nan"), {}])
def test_an_invalid_first_time_is_refused(time):
    assert refused("time", Always(), moments(time), time="when") == se.Evaluator()


@pytest.mark.parametrize(("delay", "time"), [
    (dt.timedelta(1), None), ("soon", None), (3, "when"), (lambda *_: None, "when"), (dt.timedelta.max, "when"),
    (lambda *_: -dt.timedelta(1), "when"), (-1, None), (float("nan"), None),
], ids=case_name)  # fmt: skip
def test_a_delay_that_cannot_be_added_to_the_time_is_refused(delay, time):
    model = Watched(Always())
    stream = [({"when": START, "soon": "soon"}, {"a"})]
    assert refused("delay", model, stream, delay=delay, time=time) == se.Evaluator()
    assert model.calls == []


@pytest.mark.parametrize("delay", [dt.timedelta(hours=1), np.timedelta64(1, "h"), np.timedelta64(3600 * 10**9, "ns")])
@pytest.mark.parametrize("unit", ["h", "us", "ns"])
def test_delays_are_added_to_times_of_numpy_of_any_unit(unit: str, delay: object):
    times = np.datetime64("2024-02-28T12", unit) + np.arange(3) * np.timedelta64(1, "h")
    window = se.TimeRolling(se.Evaluator(), dt.timedelta(hours=2))
    se.progressive_evaluate(moments(*times), Always(), window, time="when", delay=delay)
    assert (window.examples, window.latest) == (2, dt.datetime(2024, 2, 28, 15))


@pytest.mark.parametrize("weight", [-1.0, float("nan"), "heavy", None, True])
def test_an_invalid_weight_is_refused_with_the_place_of_its_example(weight):
    stream = [({"cost": 1.0}, {"a"}), ({"cost": weight}, {"a"})]
    for weight_for in ("learn", "metric"):
        ev = refused(r"dataset\[1\]: weight", Keywordless(), stream, weight="cost", weight_for=weight_for)
        assert ev.examples == 1


class Keywordless(Always):
    def learn_one(self, x, y, w=1.0):
        pass


def test_weights_for_an_evaluator_without_weights_are_refused():
    refused("takes no weight", Always(), moments(1), Clock2(), weight="when")
    se.progressive_evaluate(moments(1), Keywordless(), Clock2(), weight="when", weight_for="learn")


def test_a_weight_that_a_model_passes_on_to_a_part_without_weights_is_explained():
    stream = [(x | {"cost": 2.0}, y) for x, y in yeast(3)]
    with pytest.raises(TypeError) as caught:
        se.progressive_evaluate(stream, multioutput.ClassifierChain(logistic(), order=ORDER[:]), se.F1(), weight="cost")
    assert 'weight_for="metric"' in "".join(caught.value.__notes__)
    chain = multioutput.ClassifierChain(logistic(), order=ORDER[:])
    for learn, how in ((lambda _x, y: 3 + y, {}), (lambda _x, y, w=1: 3 + y + w, {"weight_for": "metric"})):
        chain.learn_one = learn
        with pytest.raises(TypeError) as caught:
            se.progressive_evaluate(stream, chain, se.F1(), weight="cost" if how else None, **how)
        assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("delay", [None, 3])
def test_a_stream_that_raises_midway_leaves_what_was_counted(delay):
    def broken() -> Iterator[Pair]:
        yield from yeast(20)
        raise OSError("the line is dead")

    ev, model = se.Evaluator(), Watched(MODELS["ClassifierChain"]())
    with pytest.raises(OSError, match="the line is dead"):
        se.progressive_evaluate(broken(), model, ev, delay=delay)
    counted = 20 - (delay or 0)
    assert ev.examples == counted
    assert sum(call[0] == "learn" for call in model.calls) == counted


@pytest.mark.parametrize("delay", [None, 0])
def test_an_example_that_the_evaluator_refuses_is_named_and_not_learnt_from(delay):
    stream = [({}, {"a"}), ({}, {"b"}), ({}, {"a"})]
    model, ev = Watched(Always()), se.Evaluator(labels=["a"])
    with pytest.raises(se.LabelError, match="'b'") as caught:
        se.progressive_evaluate(stream, model, ev, delay=delay)
    assert "dataset[1]" in caught.value.__notes__[0]
    assert ev.examples == sum(call[0] == "learn" for call in model.calls) == 1


# -- examples ---------------------------------------------------------------------------------------------------------


def test_the_drift_example_shows_the_fall_in_the_window_only_and_saves_a_picture(tmp_path):
    text, _ = printed("drift_rolling.py", tmp_path / "drift.png")
    assert (tmp_path / "drift.png").read_bytes().startswith(b"\x89PNG")
    rows = {
        int(words[0].replace(",", "")): [float(word) for word in words[1:3]]
        for line in text.splitlines()
        if (words := line.split()) and words[0].replace(",", "").isdigit()
    }
    assert list(rows) == list(range(200, 2401, 200))
    whole, window = ([rows[place][column] - rows[1200][column] for place in (1400, 2400)] for column in (0, 1))
    assert -0.05 < whole[0] < 0
    assert window[0] < -0.1
    assert window[1] > window[0] + 0.1


def test_the_drift_example_runs_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    short = [*datasets.Yeast().take(400)]
    monkeypatch.setattr(datasets.Yeast, "__iter__", lambda _: iter(short))
    text, _ = printed("drift_rolling.py", tmp_path / "drift.png")
    assert text.endswith("no picture: matplotlib is not installed\n")
    assert not (tmp_path / "drift.png").exists()


def test_the_example_with_delayed_labels_ends_with_the_same_bytes_twice():
    text, _ = printed("delayed_labels.py")
    assert "2,367 counted, 50 truths without a prediction, 0 wait" in text
    assert text.endswith("same bytes              True\n")
