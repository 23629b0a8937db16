"""Every class for River behaves as a River metric, and is exact after clones, copies, pickling, reverts and windows."""

from __future__ import annotations

import copy
import datetime as dt
import inspect
import math
import pickle
import random
from collections import deque

import pytest
from river import base, metrics, utils
from river.checks import common

import streameval as se
from streameval.adapters import river as adapter
from streameval.adapters.river.classes import CLASSES
from streameval.evaluation.kinds import reads_scores
from streameval.metrics.catalogue import catalogue
from tests.support.each import with_each
from tests.support.effort import cases

LABELS = [f"label {number}" for number in range(6)]
NAMES = sorted(CLASSES)


def body_of(made: type) -> tuple[object, ...]:
    """In what classes differ from each other, apart from the metric that they compute."""
    return (
        str(inspect.signature(made)), made.__bases__, made._entry.state, made._average,
        se.metric(made._entry.name, average=made._average).bigger_is_better,
    )  # fmt: skip


BODIES = sorted({body_of(CLASSES[name]): name for name in reversed(NAMES)}.values())
"""One class for each result of `body_of`; how a class behaves in River depends on nothing else."""

# The checks of River for objects of any kind; its further checks are for estimators, which learn and predict.
CHECKS = [
    common.check_pickling_supports_roundtrip,
    common.check_repr,
    common.check_str,
    common.check_clone_same_class,
    common.check_clone_is_idempotent,
    common.check_mutate_can_be_idempotent,
    common.check_init_has_default_params_for_tests,
    common.check_init_default_params_are_not_mutable,
    common.check_doc,
    common.check_clone_changes_memory_addresses,
    common.check_repr_roundtrips_clone,
    common.check_clone_with_new_params_applies,
    common.check_get_params_matches_signature,
]


def pairs(size: int, seed: int, *, churn: bool = False) -> list[tuple[dict, dict, float]]:
    """Mappings in which labels go missing on either side; with churn the labels themselves come and go."""
    rng = random.Random(seed)
    result = []
    for step in range(size):
        names = [f"label {number + step // 50}" for number in range(6)] if churn else LABELS
        y_true = {name: rng.random() < 0.4 for name in names if rng.random() < 0.9}
        y_pred = {name: rng.random() < 0.4 for name in names if rng.random() < 0.8}
        result.append((y_true, y_pred, rng.choice([1.0, 0.1, 2.5, 1e-9])))
    return result


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def test_every_metric_of_decisions_with_every_average_of_one_number_has_a_class():
    decided = [entry for entry in catalogue() if not reads_scores(entry)]
    wanted = {(entry.name, average) for entry in decided for average in entry.averages if average is not None}
    assert {(made._entry.name, made._average) for made in CLASSES.values()} == wanted
    assert len(CLASSES) == len(wanted)
    assert {"MicroF1", "MacroF1", "SamplesJaccard", "SubsetAccuracy", "HammingLoss"} <= set(CLASSES)
    assert all(made.__name__ == name and getattr(adapter, name) is made for name, made in CLASSES.items())
    assert set(adapter.__all__) == {"MetricCollection", "RiverMetric", *CLASSES}


@pytest.mark.parametrize("name", BODIES)
def test_a_class_of_each_body_passes_the_checks_of_river(name: str):
    for check in CHECKS:
        fresh = CLASSES[name]()
        check(fresh)
        fresh.update({"a": True, "b": False}, {"a": True, "b": True})
        if check is not common.check_repr_roundtrips_clone:  # it compares values, and a clone has none
            check(fresh)


@with_each("name", NAMES)
def test_every_class_has_the_members_that_river_requires_of_a_metric(name: str):
    made = CLASSES[name]
    fresh = made()
    assert isinstance(fresh, metrics.multioutput.base.MultiOutputMetric)
    assert not isinstance(fresh, metrics.multioutput.base.MultiOutputClassificationMetric)
    for verb in (made.update, made.revert):
        assert list(inspect.signature(verb).parameters) == ["self", "y_true", "y_pred", "w"]
    assert repr(fresh).startswith(f"{name}: ")
    assert str(fresh) == repr(fresh)
    assert (fresh > made()) is False
    assert isinstance(fresh.get(), float)
    assert fresh.requires_labels
    assert fresh.works_with_weights
    direction = se.metric(made._entry.name, average=made._average).bigger_is_better
    assert fresh.bigger_is_better is (direction is not False)
    assert made._entry.summary in made.__doc__
    assert made._entry.formula in made.__doc__


@pytest.mark.parametrize("name", BODIES)
def test_clones_are_empty_copies_are_full_and_both_are_independent(name: str):
    metric = CLASSES[name](zero_division=1.0, labels=LABELS, unknown="ignore")
    for y_true, y_pred, weight in pairs(20, 1):
        metric.update(y_true, y_pred, weight)
    value = metric.get()
    clone = metric.clone()
    assert type(clone) is type(metric)
    assert clone._get_params() == metric._get_params()
    assert clone.snapshot().examples == 0
    assert same(clone.get(), CLASSES[name](zero_division=1.0, labels=LABELS).get())
    for full in (copy.deepcopy(metric), pickle.loads(pickle.dumps(metric)), metric.clone(include_attributes=True)):
        assert same(full.get(), value)
        full.update({LABELS[0]: True}, {LABELS[1]: True})
        assert full.snapshot().examples == 21
    assert metric.snapshot().examples == 20
    assert same(metric.get(), value)
    assert [*metric.snapshot().get()] == [metric.spec.key]
    assert same(metric.snapshot().get(metric.spec.key), value)
    assert metric.spec.zero_division == 1.0
    changed = metric.clone({"zero_division": 0.0})
    assert (changed.zero_division, changed.labels) == (0.0, tuple(LABELS))


@pytest.mark.parametrize("name", BODIES)
def test_reverting_every_update_leaves_the_empty_metric(name: str):
    metric = CLASSES[name]()
    stream = pairs(50, 2)
    for y_true, y_pred, weight in stream:
        metric.update(y_true, y_pred, weight)
    random.Random(3).shuffle(stream)
    for y_true, y_pred, weight in stream:
        metric.revert(y_true, y_pred, weight)
    assert metric.snapshot() == CLASSES[name]().snapshot()
    assert same(metric.get(), CLASSES[name]().get())


@pytest.mark.parametrize("name", NAMES)
def test_every_class_equals_our_own_metric_on_the_same_stream(name: str):
    made = CLASSES[name]
    metric = made()
    own = se.metric(made._entry.name, average=made._average)
    for y_true, y_pred, weight in pairs(60, 4):
        metric.update(y_true, y_pred, weight)
        own.update(y_true, y_pred, weight=weight)
        assert same(metric.get(), own.get())


@pytest.mark.parametrize("name", BODIES)
def test_merging_equals_one_metric_over_both_streams(name: str):
    parts = [CLASSES[name]() for _ in range(2)]
    whole = CLASSES[name]()
    for position, (y_true, y_pred, weight) in enumerate(pairs(40, 5)):
        parts[position % 2].update(y_true, y_pred, weight)
        whole.update(y_true, y_pred, weight)
    before = parts[1].snapshot()
    parts[0].merge(parts[1])
    assert parts[0].snapshot() == whole.snapshot()
    assert parts[1].snapshot() == before


def test_merging_metrics_of_different_configuration_is_refused_and_changes_nothing():
    metric = adapter.MicroFBeta(beta=2)
    for other in (adapter.MicroFBeta(beta=1), adapter.MicroF1(), adapter.MicroFBeta(beta=2, labels=["a"]), 3):
        with pytest.raises(se.MergeError, match="cannot merge"):
            metric.merge(other)
    assert metric.snapshot().examples == 0


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["MicroF1", "MacroF1", "WeightedRecall", "SamplesJaccard", "SubsetAccuracy"])
def test_a_rolling_window_equals_recomputation_at_every_step(name: str, weighted: bool):
    size = 7
    rolling = utils.Rolling(CLASSES[name], window_size=size)
    window: deque[tuple[dict, dict, float]] = deque(maxlen=size)
    for y_true, y_pred, weight in pairs(cases(1000 if weighted else 2000), 6, churn=True):
        inputs = (y_true, y_pred, weight) if weighted else (y_true, y_pred, 1.0)
        rolling.update(*inputs)
        window.append(inputs)
        again = CLASSES[name]()
        for example in window:
            again.update(*example)
        assert rolling.get() == again.get()
        assert rolling.snapshot() == again.snapshot()


@pytest.mark.parametrize("name", BODIES)
def test_a_class_of_each_body_rolls_by_number_and_by_time(name: str):
    by_number = utils.Rolling(CLASSES[name], window_size=5)
    by_time = utils.TimeRolling(CLASSES[name], period=dt.timedelta(seconds=5))
    start = dt.datetime(2024, 2, 29)
    stream = pairs(max(12, cases(40)), 7, churn=True)
    for step, (y_true, y_pred, weight) in enumerate(stream):
        by_number.update(y_true, y_pred, weight)
        by_time.update(y_true, y_pred, weight, t=start + dt.timedelta(seconds=step))
        again = CLASSES[name]()
        for example in stream[max(0, step - 4) : step + 1]:
            again.update(*example)
        assert same(by_number.get(), again.get())
        assert same(by_time.get(), again.get())


def test_parameters_are_stored_as_copies_under_their_names():
    labels, threshold = ["a", "b"], {"a": 0.5, "b": 0.25}
    metric = adapter.MacroFBeta(beta=2, zero_division=math.nan, empty="drop", labels=labels, threshold=threshold)
    labels.append("c")
    threshold["a"] = 0.0
    params = metric._get_params()
    assert math.isnan(params.pop("zero_division"))
    assert params == {
        "beta": 2, "empty": "drop", "labels": ("a", "b"), "unknown": "error", "threshold": {"a": 0.5, "b": 0.25},
        "label_limit": None, "rows": None,
    }  # fmt: skip
    metric.update({"a": True}, {"a": 0.4, "b": 0.3})
    assert metric.snapshot().per_label().fp.tolist() == [0, 1]
    assert adapter.MicroF1(labels=iter("ab")).labels == ("a", "b")


def test_nothing_that_is_passed_in_is_changed_or_retained():
    metric = adapter.MicroF1()
    y_true, y_pred = {"a": True, "b": False}, {"a": True, "b": None, "c": True}
    metric.update(y_true, y_pred)
    assert (y_true, y_pred) == ({"a": True, "b": False}, {"a": True, "b": None, "c": True})
    value = metric.get()
    y_true["a"], y_pred["c"] = False, False
    assert metric.get() == value == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: adapter.MicroF1(labels={"a"}), se.LabelError),
        (lambda: adapter.MicroF1(labels="abc"), se.LabelError),
        (lambda: adapter.MicroF1(zero_division=0.5), se.MetricError),
        (lambda: adapter.MicroF1(empty="none"), se.MetricError),
        (lambda: adapter.MicroFBeta(beta=0), se.MetricError),
        (lambda: adapter.MicroF1(beta=1), se.InputError),
        (lambda: adapter.MicroF1("a"), se.InputError),
        (lambda: adapter.MicroF1(threshold=math.nan), se.InputError),
    ],
)
def test_wrong_parameters_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_a_metric_that_reads_scores_refuses_rivers_loop_which_passes_none():
    class Model(base.MultiLabelClassifier):
        def learn_one(self, x, y): ...

    for metric in (
        adapter.MicroF1(threshold=0.5),
        adapter.RiverMetric(se.Evaluator(threshold=0.5)),
    ):
        with pytest.raises(se.InputError, match="progressive_evaluate"):
            metric.works_with(Model())
    with pytest.raises(se.InputError, match=r"scores are read by MacroF1 .* and labels by MicroF1"):
        (adapter.MicroF1() + adapter.MacroF1(threshold=0.5)).works_with(Model())
    assert adapter.MicroF1().works_with(Model())


@pytest.mark.parametrize("w", [-1.0, math.nan, math.inf, "2"])
def test_a_weight_that_cannot_be_counted_changes_nothing(w: object):
    metric = adapter.MicroF1()
    with pytest.raises(se.InputError, match="weight"):
        metric.update({"a": True}, {"a": True}, w)
    assert metric.snapshot().examples == 0


def test_repr_of_a_class_has_its_name_and_value_but_no_parameters():
    metric = adapter.LabelCardinality()
    metric.update({"a": True, "b": True}, {"a": False})
    assert repr(metric) == "LabelCardinality: 2."
    assert repr(adapter.MicroFBeta(beta=2)) == "MicroFBeta: 0.00%"
    for apart, value in (
        (adapter.MicroInformedness(), "-1."),
        (adapter.RiverMetric(se.Markedness("micro")), "markedness_micro -1.0000"),
    ):
        apart.update({"a": True, "b": False}, {"a": False, "b": True})  # a value that may be negative is no fraction
        assert repr(apart).endswith(f": {value}")


def test_a_list_that_may_be_indicators_is_refused_unless_rows_says_what_it_is():
    with pytest.raises(se.InputError, match="may be indicators or the labels 0 and 1"):
        adapter.MicroF1().update([1, 0, 1], {3})
    metric = adapter.MicroF1(rows="indicator")
    metric.update([1, 0, 1], [1, 1, 1])
    assert metric.get() == 0.8
