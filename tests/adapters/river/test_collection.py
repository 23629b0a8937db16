"""A collection of metrics counts once for all, is displayed as by River, and has the values of single metrics."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from river import compose, datasets, evaluate, linear_model, metrics, multioutput, preprocessing, utils
from sklearn import metrics as sk

import streameval as se
from streameval.adapters import river as adapter
from streameval.adapters.river import MacroF1, MetricCollection, MicroF1, RiverMetric, SubsetAccuracy
from streameval.adapters.river.classes import CLASSES
from tests.inputs.test_tensors import Tensor
from tests.support.effort import cases, spread
from tests.support.interruptions import Interrupted, chosen, interrupted
from tests.support.kinds import NAMES, SCORED

ORDER = [f"Class{number}" for number in range(1, 15)]


def chain(kind: type = multioutput.ClassifierChain, **choices: object) -> compose.Pipeline:
    return preprocessing.StandardScaler() | kind(linear_model.LogisticRegression(), **choices)


MODELS = {
    "ClassifierChain": lambda: chain(order=ORDER),
    "PerOutputClassifier": lambda: chain(multioutput.PerOutputClassifier),
    "MonteCarloClassifierChain": lambda: chain(multioutput.MonteCarloClassifierChain, m=3, seed=1),
}


def everything() -> list[adapter.RiverMetric]:
    return [made() for made in CLASSES.values()]


def stream(size: int, seed: int = 0) -> list[tuple[dict[str, bool], dict[str, bool], float]]:
    rng = random.Random(seed)
    return [
        (
            {label: rng.random() < 0.4 for label in "abcd" if rng.random() < 0.9},
            {label: rng.random() < 0.4 for label in "bcde" if rng.random() < 0.9},
            rng.choice([1.0, 0.1, 3.0]),
        )
        for _ in range(size)
    ]


def distinct(collection: MetricCollection) -> int:
    return len({id(member._counts) for member in collection if isinstance(member, adapter.MicroF1.__mro__[1])})


def configurations(collection: list[RiverMetric]) -> int:
    """How many different configurations of states the metrics have: decisions, or parts of pairs."""
    return len({repr(member.snapshot()._core.config) for member in collection})


def test_adding_metrics_collects_them_as_river_does():
    first, second, third = MicroF1(), MacroF1(), SubsetAccuracy()
    for both in (first + second + third, first + (second + third), MetricCollection([first, second, third])):
        assert isinstance(both, metrics.base.Metrics)
        assert [type(member).__name__ for member in both] == ["MicroF1", "MacroF1", "SubsetAccuracy"]
        assert both.requires_labels
        assert both.get() == [0.0, 0.0, 0.0]
        assert repr(both) == "MicroF1: 0.00%\nMacroF1: 0.00%\nSubsetAccuracy: 0.00%"
        with pytest.raises(NotImplementedError):
            _ = both.bigger_is_better
    assert distinct(both) == 1


@pytest.mark.parametrize(("make", "states"), [
    (everything, range(4, 99)),  # every kind of state that is added adds one
    (lambda: [MicroF1(), SubsetAccuracy()], [1]), (lambda: [MicroF1(), MacroF1(labels=[*"abcde"])], [2]),
])  # fmt: skip
def test_members_of_a_collection_have_the_values_of_single_metrics(
    make: Callable[[], list[RiverMetric]], states: Sequence[int]
):
    together, single = MetricCollection(make()), make()
    examples = [(*pair, 1.0 if place < 30 else weight) for place, (*pair, weight) in enumerate(stream(60))]
    for y_true, y_pred, weight in examples:
        together.update(y_true, y_pred, weight)
        for metric in single:
            metric.update(y_true, y_pred, weight)
    assert distinct(together) == configurations(single)
    assert configurations(single) in states
    assert repr(together.get()) == repr([metric.get() for metric in single])  # nan == nan as strings only
    for y_true, y_pred, weight in examples[:30]:
        together.revert(y_true, y_pred, weight)
        for metric in single:
            metric.revert(y_true, y_pred, weight)
    assert repr(together.get()) == repr([metric.get() for metric in single])


def test_metrics_added_to_those_of_river_form_a_collection_of_river_and_share_no_state():
    theirs, single, both = metrics.multioutput.ExactMatch(), MicroF1(), MicroF1() + MacroF1()
    for mixed in (single + theirs, theirs + single, both + theirs, both + RiverMetric("f1_micro"),
                  metrics.base.Metrics([theirs]) + single):  # fmt: skip
        assert type(mixed) is metrics.base.Metrics
        mixed.update({"a": True}, {"a": True})
        assert mixed.get() == [1.0] * len(mixed)
    assert [member.snapshot().examples for member in (single, *both)] == [1, 0, 0]
    for members in ([theirs], [MicroF1(), RiverMetric("f1_micro")]):
        with pytest.raises(se.MetricError, match=r"not a metric of this package; .* river\.metrics\.base\.Metrics"):
            MetricCollection(members)
    both.append(theirs)
    with pytest.raises(se.MetricError, match="metrics holds ExactMatch"):
        both.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in both[:2]] == [0, 0]


def test_adding_metrics_copies_them():
    first, second = MicroF1(), MacroF1()
    first.update({"a": True}, {"a": True})
    both = first + second
    assert both.get() == [1.0, 0.0]
    both.update({"a": True}, {"b": True})
    assert first.snapshot().examples == 1
    assert second.snapshot().examples == 0
    assert [member.snapshot().examples for member in both] == [2, 1]


def test_a_member_that_is_updated_directly_leaves_the_shared_state():
    both = MicroF1() + MacroF1()
    both.update({"a": True}, {"a": True})
    both[0].update({"a": True}, {"b": True})
    assert [member.snapshot().examples for member in both] == [2, 1]
    both.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in both] == [3, 2]
    both[1].revert({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in both] == [3, 1]


def test_the_list_of_members_may_change():
    both = MicroF1() + MacroF1()
    both.update({"a": True}, {"a": True})
    both.append(SubsetAccuracy())
    both.update({"a": True}, {"b": True})
    del both[0]
    both[0] = MicroF1()
    both.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in both] == [1, 2]
    assert [type(part) for part in both[:1]] == [MicroF1]


def test_a_member_that_left_a_collection_counts_none_of_its_later_examples():
    for leave in (lambda it: it.pop(0), lambda it: it.data.pop(0), lambda it: it.__setitem__(0, SubsetAccuracy())):
        for before in (0, 1):
            both = MicroF1() + MacroF1()
            for _ in range(before):
                both.update({"a": True}, {"a": True})
            gone = both[0]
            leave(both)
            both.update({"a": True}, {"b": True})
            assert (gone.snapshot().examples, both[-1].snapshot().examples) == (before, before + 1)
            gone.update({"a": True}, {"a": True})
            both.update({"a": True}, {"b": True})
            assert (gone.snapshot().examples, both[-1].snapshot().examples) == (before + 1, before + 2)


def test_a_member_of_two_collections_counts_the_examples_of_both():
    first, second = MicroF1() + MacroF1(), SubsetAccuracy() + adapter.HammingLoss()
    second.append(first[0])
    second.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in (*first, *second)] == [1, 0, 1, 1, 1]
    first.update({"a": True}, {"a": True})
    second.update({"a": True}, {"a": True})
    assert [member.snapshot().examples for member in (*first, *second)] == [3, 1, 2, 2, 3]


def test_shallow_copies_share_no_state_with_the_original():
    both, single = MicroF1() + MacroF1(), MicroF1()
    for original in (both, both[0], single):
        original.update({"a": True}, {"a": True})
        twin = copy.copy(original)
        assert type(twin) is type(original)
        twin.update({"a": True}, {"b": True})
        assert repr(original).count("100.00%") > 0 == repr(twin).count("100.00%")


@pytest.mark.parametrize("wrong", ["f1_micro", [MicroF1], [3]])
def test_what_is_no_metric_object_is_refused_at_once(wrong: object):
    with pytest.raises(se.MetricError, match="metrics holds"):
        MetricCollection(wrong)


def test_metrics_with_different_labels_or_counts_do_not_share_a_state():
    used = MicroF1()
    used.update({"a": True}, {"a": True})
    mixed = MetricCollection([MicroF1(), MacroF1(labels=["a"], unknown="ignore"), used, SubsetAccuracy()])
    assert distinct(mixed) == 3
    mixed.update({"a": True, "b": True}, {"a": True, "b": False})
    assert mixed.get() == [pytest.approx(2 / 3), 1.0, pytest.approx(4 / 5), 0.0]


def test_an_example_that_one_member_refuses_is_counted_by_none():
    mixed = MetricCollection([MicroF1(), MacroF1(labels=["a"]), SubsetAccuracy()])
    mixed.update({"a": True}, {"a": True})
    before = [member.snapshot().to_bytes() for member in mixed]
    with pytest.raises(se.LabelError, match="'b'"):
        mixed.update({"a": True, "b": True}, {"a": True})
    with pytest.raises(se.RevertError):
        mixed.revert({"a": True}, {"a": False})
    assert [member.snapshot().to_bytes() for member in mixed] == before


def test_a_tensor_whose_reading_runs_code_is_read_while_no_guard_is_held(monkeypatch: pytest.MonkeyPatch):
    scores, seen = np.array([0.9, 0.1], np.float32), list[int]()

    class Watched(Tensor):
        """A stand-in for a tensor of torch, whose conversion calls code of the user."""

        requires_grad = False

        def detach(self):
            return self

        def numpy(self):
            seen.append(1)
            collection.update(np.array([0, 1]), scores)
            return self.array

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Watched))
    collection = MicroF1(labels=[*"ab"], threshold=0.5) + MacroF1(labels=[*"ab"], threshold=0.5)
    collection.update(np.array([1, 0]), Watched(scores))
    assert seen
    assert [member.snapshot().examples for member in collection.data] == [len(seen) + 1] * 2


def test_a_collection_of_metrics_of_scores_and_of_labels_needs_predict():
    class Model:
        def predict_one(self, _):
            return {"a"}

        def predict_proba_one(self, _):
            return {"a": 0.7}

    mixed = MetricCollection([MicroF1(threshold=0.5), MacroF1(), SubsetAccuracy()])
    with pytest.raises(se.InputError, match=r"scores are read by MicroF1 .* and labels by MacroF1, SubsetAccuracy; c"):
        se.progressive_evaluate([({}, {"a"})], Model(), mixed, learn=False)
    asked = se.progressive_evaluate([({}, {"a"})], Model(), mixed, learn=False, predict="labels")
    assert asked.get() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("verb", ["update", "revert"])
def test_an_interruption_anywhere_leaves_all_members_as_before_or_all_as_after(verb: str):
    def build() -> MetricCollection:
        mixed = MicroF1() + MacroF1(labels=["a", "b"]) + SubsetAccuracy(threshold=0.5)
        mixed.update({"a": True, "b": False}, {"a": True, "b": True})
        return mixed

    def parts(mixed: MetricCollection) -> list[bytes]:
        return [member.snapshot().to_bytes() for member in mixed]

    mixed = build()
    before = parts(mixed)
    getattr(mixed, verb)({"a": True, "b": False}, {"a": True, "b": True})
    after = parts(mixed)
    call = partial(getattr(build(), verb), {"a": True, "b": False}, {"a": True, "b": True})
    for hit in chosen(interrupted(call, -1), 150, verb):
        mixed = build()
        with pytest.raises(Interrupted):
            interrupted(partial(getattr(mixed, verb), *call.args), hit)
        assert parts(mixed) in (before, after)


def test_members_of_copies_and_pickles_of_a_collection_still_share_a_state():
    both = MicroF1() + MacroF1() + SubsetAccuracy()
    both.update({"a": True}, {"b": True})
    for full in (copy.deepcopy(both), pickle.loads(pickle.dumps(both))):
        full.update({"a": True}, {"a": True})
        assert distinct(full) == 1
        assert [member.snapshot().examples for member in full] == [2, 2, 2]
    assert [member.snapshot().examples for member in both] == [1, 1, 1]
    clone = both.clone()
    assert isinstance(clone, MetricCollection)
    assert distinct(clone) == 1
    assert clone[0].snapshot().examples == 0


def test_metrics_with_named_and_nameless_columns_do_not_merge_and_merging_passes_this_on():
    rows, named = np.array([True, False]), {"a": True}
    counted, other, fresh = MicroF1(), MicroF1(), MicroF1()
    counted.update(rows, rows)
    other.update(named, named)
    with pytest.raises(se.MergeError, match="cannot merge: one has counted columns without names"):
        counted.merge(other)
    fresh.merge(counted)
    with pytest.raises(se.InputError, match="columns without names were counted before"):
        fresh.update(named, named)
    assert fresh.get() == counted.get()
    counted.revert(rows, rows)
    counted.update(named, named)


def test_objects_that_are_no_multi_label_metrics_cannot_be_added():
    for other in (metrics.Accuracy(), 3, None):
        with pytest.raises(se.MetricError, match="not a multi-label metric"):
            _ = MicroF1() + other


def test_river_reports_every_metric_of_a_collection_by_name():
    steps = evaluate.iter_progressive_val_score(
        datasets.Yeast().take(40), MODELS["ClassifierChain"](), MetricCollection(everything()), step=40
    )
    (step,) = steps
    assert set(step) == {*CLASSES, "Step"}


def test_a_collection_runs_in_a_track_of_river():
    class Head:
        n_samples = 40

        def __iter__(self):
            return iter(datasets.Yeast().take(self.n_samples))

    track = evaluate.tracks.Track("Yeast", [Head()], MicroF1() + MacroF1())
    *_, last = track.run(MODELS["ClassifierChain"](), Head(), n_checkpoints=4)
    assert {"MicroF1", "MacroF1"} <= set(last)
    assert last["MicroF1"].snapshot().examples == 40
    assert track.metric[0].snapshot().examples == 0


@pytest.mark.parametrize("model", MODELS)
def test_progressive_validation_on_yeast_counts_every_example_of_every_metric(model: str):
    collection = MetricCollection(everything())
    carried = RiverMetric(se.Evaluator(keep=[name for name in NAMES if name not in SCORED]))
    metrics_of_both = metrics.base.Metrics([MicroF1(), metrics.multioutput.ExactMatch()])
    size = max(120, cases(400))
    for metric in (collection, carried, metrics_of_both):
        evaluate.progressive_val_score(datasets.Yeast().take(size), MODELS[model](), metric)
    # River leaves out examples without a prediction; two of the models have none for the first example.
    assert carried.metric.examples == (size if model == "ClassifierChain" else size - 1)
    for member in collection:
        if member.snapshot()._core.config == collection[0].snapshot()._core.config:
            assert member._counts.to_bytes() == collection[0]._counts.to_bytes()
        assert repr(member.get()) == repr(carried.metric.get(member.spec))
    assert metrics_of_both[0].get() == carried.metric.get("f1_micro")


def test_a_collection_rolls():
    rolling = utils.Rolling(MetricCollection, window_size=5, metrics=[MicroF1(), MacroF1()])
    examples = stream(50)
    for position, example in enumerate(examples):
        rolling.update(*example)
        again = MicroF1() + MacroF1()
        for retained in examples[max(0, position - 4) : position + 1]:
            again.update(*retained)
        assert rolling.get() == again.get()


@pytest.mark.parametrize(
    "window",
    [
        lambda: se.Rolling(se.Evaluator(["f1_micro"]), size=50),
        lambda: se.Rolling(se.F1(average="micro"), size=50),
        lambda: se.Tumbling(se.F1(average="micro"), size=50),
        lambda: se.Fading(se.F1(average="micro"), half_life=20),
    ],
    ids=["Rolling Evaluator", "Rolling F1", "Tumbling", "Fading"],
)
def test_a_window_of_ours_runs_in_rivers_loop(window):
    carried = RiverMetric(window())
    assert carried.get() == window().get()
    done = evaluate.progressive_val_score(datasets.Yeast().take(120), MODELS["ClassifierChain"](), carried)
    by_hand, model = window(), MODELS["ClassifierChain"]()
    for x, y in datasets.Yeast().take(120):
        by_hand.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert done.metric == by_hand
    assert repr(done).startswith("RiverMetric: f1_micro ")
    assert done.clone().metric == window()
    assert copy.deepcopy(done).metric == by_hand
    assert pickle.loads(pickle.dumps(done)).metric == by_hand
    with pytest.raises(se.RevertError, match="drops examples by itself"):
        done.revert({"a": True}, {"a": True})


def test_a_window_over_time_is_refused_where_there_are_no_times():
    with pytest.raises(se.InputError, match="time="):
        RiverMetric(se.TimeRolling(se.F1(), period=10.0))


SCORES = {"precision": sk.precision_score, "recall": sk.recall_score, "f1": sk.f1_score, "jaccard": sk.jaccard_score}


def test_prefix_by_prefix_a_yeast_run_equals_scikit_learn():
    pairs = []

    class Recorder(RiverMetric):
        def update(self, y_true, y_pred, w=1.0):
            pairs.append((y_true, y_pred))
            super().update(y_true, y_pred, w)

    evaluate.progressive_val_score(datasets.Yeast().take(500), MODELS["ClassifierChain"](), Recorder(se.Evaluator()))
    assert len(pairs) == 500
    true = [[int(y_true[label]) for label in ORDER] for y_true, _ in pairs]
    pred = [[int(y_pred[label]) for label in ORDER] for _, y_pred in pairs]
    averages = ("micro", "macro", "weighted", "samples")
    names = {(name, average): f"{average.title()}{name.title()}" for name in SCORES for average in averages}
    names = {key: name.replace("Fbeta", "FBeta") for key, name in names.items()}
    ours = MetricCollection([CLASSES[name](labels=ORDER) for name in names.values()])
    ours = ours + CLASSES["MacroFBeta"](beta=2, labels=ORDER) + SubsetAccuracy(labels=ORDER)
    ours = ours + CLASSES["HammingLoss"](labels=ORDER) + CLASSES["ZeroOneLoss"](labels=ORDER)
    assert distinct(ours) == 1
    # Some of the first 80, in which ratios change a lot, and some of the rest: scikit-learn takes 20 to 80 ms each.
    checked = {*spread(range(1, 81), 80), *spread([*range(101, 500, 101), 500], 24)}
    for step, (y_true, y_pred) in enumerate(pairs, 1):
        ours.update(y_true, y_pred)
        if step not in checked:
            continue
        prefix = true[:step], pred[:step]
        expected = [SCORES[name](*prefix, average=average, zero_division=0) for name, average in names]
        expected.append(sk.fbeta_score(*prefix, beta=2, average="macro", zero_division=0))
        expected += [sk.accuracy_score(*prefix), sk.hamming_loss(*prefix), sk.zero_one_loss(*prefix)]
        for value, wanted in zip(ours.get(), expected, strict=True):
            assert value == pytest.approx(wanted, rel=1e-12, abs=1e-14)


# -- what River's own multi-label metrics get wrong, each in ours ------------------------------------------------------


def test_two_metrics_of_one_kind_do_not_collide_in_rivers_reports():
    collection = MicroF1() + MacroF1()
    steps = evaluate.iter_progressive_val_score(
        datasets.Yeast().take(30), MODELS["ClassifierChain"](), collection, step=30
    )
    (step,) = steps
    assert len({"MicroF1", "MacroF1"} & set(step)) == 2
    assert step["MicroF1"].get() != step["MacroF1"].get()


def test_revert_takes_away_instead_of_adding():
    metric = MicroF1()
    metric.update({"a": True}, {"a": True})
    metric.update({"a": True}, {"a": False})
    metric.revert({"a": True}, {"a": False})
    assert metric.get() == 1.0
    assert metric.snapshot().examples == 1


def test_a_clone_has_counted_nothing():
    metric = MicroF1()
    metric.update({"a": True}, {"a": True})
    assert metric.clone().get() == 0.0


def test_a_fresh_metric_answers_prints_and_compares():
    for made in CLASSES.values():
        metric = made()
        assert isinstance(metric.get(), float)
        assert repr(metric)
        assert isinstance(metric > made(), bool)


def test_get_warns_of_suspicious_input_and_repr_does_not():
    for metric in (MicroF1(), MicroF1() + MacroF1()):
        for _ in range(30):
            metric.update({"Cat": True}, {"cat": True})
        assert "MicroF1: 0.00%" in repr(metric)
        with pytest.warns(se.DataWarning, match="differ in case"):
            metric.get()


def test_a_label_missing_from_the_prediction_is_counted_instead_of_raising_half_way():
    metric = MacroF1()
    metric.update({"a": True, "b": True}, {"a": True})
    table = metric.snapshot().per_label()
    assert (table.tp.tolist(), table.fn.tolist()) == ([1, 0], [0, 1])


def test_a_label_that_is_only_predicted_is_counted_instead_of_dropped():
    metric = adapter.MicroPrecision()
    metric.update({"a": True}, {"a": True, "b": True})
    assert metric.get() == 0.5


@pytest.mark.parametrize("members", [[MicroF1], [MicroF1, MacroF1], [MicroF1, partial(MicroF1, threshold=0.5)]])
def test_labels_that_no_example_mentions_any_more_take_no_room(members: list[Callable[[], RiverMetric]]):
    collection, examples = MetricCollection([make() for make in members]), [{f"label {n}": True} for n in range(1000)]
    for place, example in enumerate(examples):
        collection.update(example, example)
        if place >= 5:
            collection.revert(examples[place - 5], examples[place - 5])
    assert all(len(member._counts._core.labels) < 100 for member in collection)


def test_labels_that_appear_midway_get_the_true_negatives_of_all_examples_before():
    metric = adapter.MacroAccuracy()
    for _ in range(3):
        metric.update({"a": True}, {"a": True})
    metric.update({"a": True, "b": True}, {"a": True, "b": False})
    assert metric.get() == pytest.approx((1 + 3 / 4) / 2)


def test_weights_count_in_averages_over_examples():
    metric = adapter.SamplesJaccard()
    metric.update({"a": True}, {"a": True}, 3.0)
    metric.update({"a": True}, {"a": False}, 1.0)
    assert metric.get() == 0.75


def test_a_weighted_window_leaves_no_residue():
    rolling = utils.Rolling(adapter.MicroPrecision, window_size=2)
    weights = itertools.cycle([1e16, 0.1, 3.0, 1e-9])
    for step, weight in zip(range(1000), weights, strict=False):
        rolling.update({"a": step % 3 == 0}, {"a": True}, weight)
        assert 0.0 <= rolling.get() <= 1.0
    for _ in range(2):
        rolling.update({"a": False}, {"a": False}, 0.3)
    assert rolling.get() == 0.0
    assert rolling.snapshot().weight == 0.6


def test_the_order_of_examples_does_not_change_a_bit():
    examples = stream(200)
    values = set()
    for seed in range(5):
        random.Random(seed).shuffle(examples)
        metric = adapter.SamplesF1()
        for example in examples:
            metric.update(*example)
        values.add(metric.get())
    assert len(values) == 1


def test_unmerging_what_was_merged_gives_the_same_bytes_as_before():
    first, second, both = MicroF1(), MicroF1(), MicroF1()
    for position, example in enumerate(stream(30)):
        (first, second)[position % 2].update(*example)
    before = [part.snapshot().to_bytes() for part in (first, second)]
    both.merge(first)
    both.merge(second)
    assert (both - second).snapshot().to_bytes() == before[0]
    both.unmerge(first)
    assert both.snapshot().to_bytes() == before[1]
    with pytest.raises(se.RevertError):
        both.unmerge(first)
    with pytest.raises(se.MergeError, match="cannot unmerge: metrics differ"):
        both.unmerge(MacroF1())
    with pytest.raises(se.MergeError, match="cannot unmerge an object of type int"):
        both.unmerge(1)
    with pytest.raises(TypeError):
        both - 1
    assert both.snapshot().to_bytes() == before[1]


def test_a_member_that_merges_another_metric_leaves_the_shared_state():
    both, other = MicroF1() + MacroF1(), MicroF1()
    for metric in (both, other):
        metric.update({"a": True}, {"a": True})
    with pytest.raises(se.MergeError, match="cannot merge: metrics differ"):
        both[1].merge(other)
    both[0].merge(other)
    assert [member.snapshot().examples for member in both] == [2, 1]
    assert other.snapshot().examples == 1
