"""The laws hold for evaluators that keep rankings, curves and pairs together with decisions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from river import linear_model, multioutput
from sklearn import metrics as sk

import streameval as se
from streameval.adapters.river import RiverMetric
from streameval.evaluation.counting import count_unused_labels
from streameval.evaluation.kinds import reads_scores
from streameval.inputs.readers import TopK
from streameval.metrics.bounds import Bounds
from streameval.states.decisions import Decisions
from streameval.states.options import PARTS
from tests.support.effort import cases
from tests.support.kinds import KEEP

CHECK = settings(max_examples=cases(30))
LABELS = ["a", "b", 3, "d", 2**70]
LEVELS = [-1.0, -0.0, 0.0, 0.25, 0.5, 0.5000000001, 1.0, 1e-300, 7.0]
METRICS = [
    "ndcg", "lrap", "coverage_error", "precision_at(k=2)", "map_at(k=3,divisor=hits)", "label_coverage_at(k=2)",
    "psp_at(k=2)", "psndcg_at(k=3)", "roc_auc_macro", "average_precision_per_label", "roc_auc_micro", "f1_macro",
    "hamming_loss",
]  # fmt: skip
PAIRED = [
    "mlcm_f1_macro", "mlcm_recall_weighted(values=contributions)", "mlcm_precision_per_label(values=shares)", "scumble",
    "scumble_per_label", "scumble_cv", "distinct_labelsets", "labelset_peak", "dependent_pairs(critical=0.5)",
]  # fmt: skip
PROPENSITIES: dict[Any, float] = {label: 1.5 + place for place, label in enumerate(LABELS)}


class Stream:
    """Random examples, and the configuration of an object that reads them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.metrics = [*METRICS, *rng.sample(PAIRED, rng.randint(0, 3))]
        self.choices: dict[str, Any] = {
            "threshold": rng.choice([0.5, 0.0, {label: rng.choice([0.25, -1.0, 0.5]) for label in LABELS}]),
            "nan": "missing",
            "ties": rng.choice(["shared", "last"]),
            "keep": rng.choice([KEEP, ["rankings", "curves", *rng.sample(PARTS, rng.randint(1, 4))]]),
            "inverse_propensities": PROPENSITIES,
        }
        if rng.random() < 0.6:
            self.choices["labels"] = rng.sample(LABELS, rng.randint(1, 5))
            self.choices["unknown"] = rng.choice(["add", "ignore"])
        weights = rng.choice([[1.0], [1.0, 0.1, 2.5, 0.0, 1e-300]])
        self.examples = [self.example(rng, weights) for _ in range(rng.randint(0, 9))]

    def __repr__(self) -> str:
        return f"{self.metrics} {self.choices} {self.examples}"

    @staticmethod
    def example(rng: random.Random, weights: list[float]) -> tuple[Any, Any, Any, float]:
        true = {label: rng.choice([0, 1, 1, None]) for label in rng.sample(LABELS, rng.randint(0, 5))}
        pred = {label: rng.choice([*LEVELS, math.nan]) for label in rng.sample(LABELS, rng.randint(0, 5))}
        mask = set(rng.sample(LABELS, 1)) if rng.random() < 0.2 else set()
        return true, pred, mask, rng.choice(weights)

    def fresh(self) -> se.Evaluator:
        return se.Evaluator(self.metrics, **self.choices)

    def fed(self, examples: list[Any] | None = None) -> se.Evaluator:
        ev = self.fresh()
        for true, pred, mask, weight in self.examples if examples is None else examples:
            ev.update(true, pred, mask=mask, weight=weight)
        return ev

    def many(self, examples: list[Any]) -> se.Evaluator:
        ev = self.fresh()
        true, pred, mask, weights = zip(*examples, strict=True) if examples else ((), (), (), ())
        ev.update_many(iter(true), list(pred), mask=mask, weights=weights)
        return ev


def streams() -> st.SearchStrategy[Stream]:
    return st.randoms(use_true_random=False).map(Stream)


def readings(ev: se.Evaluator) -> list[Any]:
    result: list[Any] = [repr(ev.get()), ev.examples, ev.weight, ev.labels, ev.report(), ev._repr_html_(), repr(ev)]
    return [*result, *(repr(ev.bounds(spec)) for spec in ev.metrics), repr(ev.per_label())]


def alike(one: se.Evaluator, other: se.Evaluator) -> bool:
    return one == other and readings(one) == readings(other)


# -- the laws ---------------------------------------------------------------------------------------------------------


@CHECK
@given(streams())
def test_reverting_is_the_inverse_of_updating(stream: Stream):
    retained = stream.examples[::2]
    ev = stream.many([*stream.examples[1::2], *retained])
    for true, pred, mask, weight in stream.rng.sample(stream.examples[1::2], len(stream.examples[1::2])):
        ev.revert(true, pred, mask=mask, weight=weight)
    assert alike(ev, stream.fed(retained))
    count_unused_labels(ev, ev._core.until_compaction + 1)
    assert alike(ev, stream.fed(retained))
    ev.reset()
    assert alike(ev, stream.fresh())


@CHECK
@given(streams())
def test_an_uncounted_example_cannot_be_reverted_and_changes_nothing(stream: Stream):
    ev = stream.fed()
    with pytest.raises(se.RevertError):
        stream.fresh().revert({"a"}, {"a": 0.5})
    for true, pred, mask, weight in [Stream.example(stream.rng, [1.0, 0.1]) for _ in range(6)]:
        try:
            ev.revert(true, pred, mask=mask, weight=weight)
        except se.RevertError:
            assert alike(ev, stream.fed())
        else:  # counts do not always say which labels were counted together, so such a revert may succeed
            ev.update(true, pred, mask=mask, weight=weight)


def test_other_scores_with_the_same_decisions_cannot_be_reverted():
    ev = se.Evaluator(["ndcg", "roc_auc_macro", "f1_macro"], threshold=0.5, keep=["pairs"])
    ev.update({"a"}, {"a": 0.75, "b": 0.5})
    before = ev.copy()
    for pred in ({"a": 0.5, "b": 0.75}, {"a": 0.5, "b": 0.5}, {"a": 0.75, "b": 0.625}):
        with pytest.raises(se.RevertError):
            ev.revert({"a"}, pred)
        assert alike(ev, before)
    with pytest.raises(se.RevertError):
        ev.revert({"a"}, {"a": 0.75, "b": 0.5}, weight=0.5)
    assert alike(ev, before)


def test_an_iterable_may_use_the_object_that_reads_it():
    ev = se.Evaluator(["ndcg", "f1_macro", "roc_auc_macro"], threshold=0.5, keep=["pairs"])

    def predictions():
        ev.update({"x"}, {"x": 0.75, "y": 0.25})
        yield {"b": 0.5}
        ev.update({"z"}, {"b": 0.75})
        yield {"c": 0.25, "x": 1.0}

    ev.update_many([{"b"}, {"c"}], predictions())
    expected = se.Evaluator(["ndcg", "f1_macro", "roc_auc_macro"], threshold=0.5, keep=["pairs"])
    for true, pred in [
        ("x", {"x": 0.75, "y": 0.25}),
        ("b", {"b": 0.5}),
        ("z", {"b": 0.75}),
        ("c", {"c": 0.25, "x": 1}),
    ]:
        expected.update({true}, pred)
    assert alike(ev, expected)

    class Meddler(Mapping):
        def __getitem__(self, key: object) -> float:
            return 0.5

        def __iter__(self):
            ev.reset()
            return iter(["a"])

        def __len__(self) -> int:
            return 1

    ev.update({"a"}, Meddler())
    expected.reset()
    expected.update({"a"}, {"a": 0.5})
    assert alike(ev, expected)


def test_an_iterable_that_raises_changes_nothing():
    ev = se.Evaluator(["ndcg", "f1_macro"], threshold=0.5)
    ev.update({"a"}, {"a": 0.5})
    before = ev.copy()

    def broken():
        yield {"new": 0.5}
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        ev.update_many([{"newer"}] * 2, broken())
    assert alike(ev, before)


# -- values -----------------------------------------------------------------------------------------------------------


def drawn(seed: int, rows: int, labels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = (rng.random((rows, labels)) < rng.choice([0.2, 0.5])).astype(int)
    scores = rng.choice([rng.random((rows, labels)), rng.integers(0, 5, (rows, labels)) / 4])
    weights = rng.integers(1, 9, rows) / 4
    true[:2] = [[0] * labels, [1] * labels]  # one row without true labels, and one without false labels
    true[2:4, :] = [[0] * labels, [1] * labels]
    return true, scores, weights


def test_all_states_are_fed_from_one_reading_of_the_scores():
    rng = np.random.default_rng(42)
    true, scores = rng.random((300, 3)) < 0.4, rng.random((300, 3))
    whole, read = (se.Evaluator([], labels=[0, 1, 2], threshold=0.5, keep=KEEP) for _ in range(2))
    whole.update_many(true, scores)
    taken: list[int] = []

    def once() -> Iterator[dict[int, float]]:
        for place, row in enumerate(scores.tolist()):
            taken.append(place)
            yield dict(enumerate(row))

    read.update_many((set(np.flatnonzero(row).tolist()) for row in true), once())
    assert taken == list(range(300))
    assert read == whole


@pytest.mark.parametrize("seed", range(cases(20)))
def test_an_exact_interval_is_as_wide_as_one_rounding(seed: int):
    rng = np.random.default_rng([41, seed])
    true, scores = rng.random((30, 3)) < 0.4, rng.random((30, 3)).astype(np.float16)
    ev = se.Evaluator([], labels=["a", "b", "c"], threshold=0.5, keep=["rankings", "curves"])
    ev.update_many(true, scores)
    for name in ("f1_macro", "lrap", "ndcg(k=2)", "coverage_error"):
        value = ev.get(name)
        assert ev.bounds(name) == Bounds(value, value, value, exact=True)
    label = ev.bounds("roc_auc_per_label")["a"]
    pos, neg = (scores[true[:, 0] == side, 0].astype(float).tolist() for side in (1, 0))
    exact = Fraction(sum(2 * (p > n) + (p == n) for p in pos for n in neg), 2 * len(pos) * len(neg))
    assert label.exact
    assert label.width == 0
    assert label.value == float(exact)
    assert label.low <= exact <= label.high
    assert {label.low, label.high} <= {math.nextafter(label.value, way) for way in (-1, 2)} | {label.value}


@pytest.mark.parametrize("declared", [True, False])
def test_labels_with_missing_scores_rank_last(declared: bool):
    true, scores, _ = drawn(3, 40, 6)
    missing = np.random.default_rng(9).random(scores.shape) < 0.3
    missing[np.arange(40), np.argmax(scores, axis=1)] = False
    ev = se.Evaluator(["lrap", "coverage_error", "ranking_loss"], labels=range(6) if declared else None, nan="missing")
    ev.update_many(true, np.where(missing, math.nan, scores))
    last = np.where(missing, -9.0, scores)
    # All labels with missing scores are tied at the end.
    assert ev.get("coverage_error") == pytest.approx(sk.coverage_error(true, last), rel=1e-12)
    assert ev.get("lrap") == pytest.approx(sk.label_ranking_average_precision_score(true, last), rel=1e-12)
    assert ev.get("ranking_loss") == pytest.approx(sk.label_ranking_loss(true, last), rel=1e-12)


# -- the states of an evaluator, and refusals -------------------------------------------------------------------------


def test_metrics_of_decisions_are_refused_without_a_threshold():
    message = "threshold="
    for metrics in (["ndcg", "f1_macro"], ["roc_auc_macro", "subset_accuracy"]):
        with pytest.raises(se.MetricError, match=message):
            se.Evaluator(metrics)
    with pytest.raises(se.MetricError, match=message):
        se.Evaluator(["f1_macro"], keep=["curves"])
    ev = se.Evaluator(["ndcg"])
    ev.update({"a"}, {"a": 0.5})
    for read in (lambda: ev.get("f1_macro"), lambda: ev.bounds("f1_macro"), lambda: ev.per_label()):
        with pytest.raises(se.MetricError, match=message):
            read()


def test_metrics_of_states_that_are_missing_are_refused_by_name():
    ev = se.Evaluator(["ndcg"])
    for name in ("roc_auc_macro", "brier_score_micro"):
        with pytest.raises(se.MetricError, match=r"keep=\['curves'\]"):
            ev.get(name)
        with pytest.raises(se.MetricError, match=r"keep=\['curves'\]"):
            ev.bounds(name)
    plain = se.Evaluator()
    for read, state in (
        (ev.cooccurrence, "cooccurrence"), (plain.confusion_matrix, "confusions"), (plain.label_sets, "labelsets"),
        (plain.roc_curve, "curves"), (plain.best_thresholds, "curves"), (plain.pcut, "curves"),
    ):  # fmt: skip
        with pytest.raises(se.MetricError, match=rf"{read.__name__}\(\) requires .* construct with keep=\['{state}'\]"):
            read()
    with pytest.raises(se.MetricError, match=r"keep must hold .* not 'ranking'; did you mean 'rankings'"):
        se.Evaluator(keep=["ranking"])
    for keep in (3, [3], None):
        with pytest.raises(se.MetricError, match="keep must"):
            se.Evaluator(keep=keep)
    assert se.Evaluator(["f1_macro"], keep="pairs") == se.Evaluator(["f1_macro"], keep=["pairs", "pairs"])


def test_propensities_are_required_by_metrics_that_read_them_and_refused_without_such_metrics():
    ranked = se.Evaluator(["ndcg"], keep=["rankings"])
    for build in (
        lambda: se.Evaluator(["psp_at"]),
        lambda: se.metric("psndcg_at"),
        lambda: se.Evaluator().get("psp_at"),
        lambda: ranked.get("psp_at(k=3)"),
    ):
        with pytest.raises(se.MetricError, match="inverse_propensities"):
            build()
    with pytest.raises(se.MetricError, match="inverse_propensities"):
        se.Evaluator(["ndcg"], inverse_propensities={"a": 2.0})
    with pytest.raises(se.MetricError, match="inverse_propensities"):
        se.Evaluator(["f1_macro"], inverse_propensities={"a": 2.0})
    for wrong in ({"a": 0.0}, {"a": math.inf}, {"a": "x"}, [2.0]):
        with pytest.raises(se.InputError, match="propensit"):
            se.Evaluator(["psp_at"], inverse_propensities=wrong)
    ev = se.Evaluator(["psp_at(k=2)"], inverse_propensities={"a": 2.0})
    with pytest.raises(se.MetricError):
        ev.get("psp_at(k=3)")
    for build in (lambda: se.Evaluator(["ndcg"], ties="first"), lambda: se.Evaluator(["ndcg"], nan="drop")):
        with pytest.raises(se.InputError, match="must be"):
            build()


def test_metrics_that_need_further_counts_must_be_named_at_construction():
    ev = se.Evaluator(["ndcg"])
    ev.update({"a"}, {"a": 0.5})
    for name in ("label_coverage_at(k=2)", "map_at(k=2,divisor=hits)", "psp_at(k=2)"):
        with pytest.raises(se.MetricError):
            ev.get(name)
    assert ev.get("precision_at(k=1)") == 1.0


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"ties": "last"}, "ties differ"),
        ({"nan": "missing"}, "nan differs"),
        ({"keep": ["curves"]}, "states differ"),
        ({"threshold": 0.5}, "thresholds differ"),
        ({"threshold": {"a": 0.5, "b": 1}}, r"thresholds differ \(None and \{'a': 0\.5, 'b': 1\.0\}\)"),
        ({"metrics": ["ndcg", "psp_at(k=2)"], "inverse_propensities": {"a": 2.0}}, "metrics differ"),
        ({"metrics": ["roc_auc_macro"], "keep": ["rankings"]}, "states differ"),
        ({"metrics": ["lwlrap"]}, "^cannot merge: their ranking metrics require different counts; metrics differ"),
        (
            {"metrics": ["psp_at"], "inverse_propensities": dict.fromkeys(["a", "b", *range(999)], 2.0)},
            "^cannot merge: inverse_propensities differ .{,150}; metrics differ",
        ),
    ],
)
def test_objects_that_were_built_differently_do_not_merge(choices: dict[str, Any], message: str):
    ev, differing = se.Evaluator(["ndcg"]), se.Evaluator(**{"metrics": ["ndcg"], **choices})
    for target in (ev, differing):
        target.update({"a"}, {"a": 0.5, "b": 0.75})
    before, theirs = ev.copy(), differing.copy()
    with pytest.raises(se.MergeError, match=message):
        ev.merge(differing)
    assert ev == before
    assert differing == theirs
    assert ev != differing


# -- models -----------------------------------------------------------------------------------------------------------


def model_and_stream() -> tuple[Any, list[tuple[dict[str, float], dict[str, bool]]]]:
    rng = random.Random(4)
    stream = []
    for _ in range(60):
        x = {"u": rng.random(), "v": rng.random()}
        stream.append((x, {"a": x["u"] > 0.5, "b": x["v"] > 0.7, "c": x["u"] + x["v"] > 1.0}))
    return multioutput.MultiClassEncoder, stream


def test_progressive_evaluation_passes_probabilities():
    _, stream = model_and_stream()

    def model() -> Any:
        return multioutput.ClassifierChain(linear_model.LogisticRegression(), order=["a", "b", "c"])

    ev = se.progressive_evaluate(stream, model(), se.Evaluator(["ndcg", "roc_auc_macro"]))
    expected, own = se.Evaluator(["ndcg", "roc_auc_macro"]), model()
    for x, y in stream:
        result = own.predict_proba_one(x)
        scores = {label: value.get(True, 0.0) for label, value in result.items() if value}
        if scores:
            expected.update(y, scores)
        own.learn_one(x, y)
    assert alike_scores(ev, expected)
    single = se.progressive_evaluate(stream, model(), se.metric("ndcg"))
    assert single.get() == ev.get("ndcg")
    traced = se.Trace(se.Evaluator(["ndcg"]), every=20)
    for x, y in stream[:40]:
        traced.update(y, {"a": x["u"], "b": x["v"]})
    assert len(traced.rows) == 2 if hasattr(traced, "rows") else True


def alike_scores(one: se.Evaluator, two: se.Evaluator) -> bool:
    return one == two and one.get() == two.get() and one.examples > 50


def test_rivers_loop_refuses_metrics_of_scores():
    model = multioutput.ClassifierChain(linear_model.LogisticRegression())
    for metric in (
        se.metric("ndcg"),
        se.Evaluator(["roc_auc_macro"]),
        se.Evaluator(keep=["curves"], metrics=[]),
        "lrap",
    ):
        with pytest.raises(se.InputError, match=r"metric of scores.*hard labels"):
            RiverMetric(metric).works_with(model)
    retained = RiverMetric(se.Evaluator(["f1_macro"], keep=["pairs"]))
    assert retained.works_with(model)
    retained.update({"a": True, "b": False}, {"a": True, "b": True})
    assert retained.get() == {"f1_macro": 0.5}


# -- displays ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metrics", [["ndcg", "roc_auc_macro", "roc_auc_per_label"], [], ["ndcg"]])
def test_without_decisions_the_chosen_metrics_only_are_displayed(metrics: list[str]):
    for counted in (0, 3):
        ev = se.Evaluator(metrics, keep=["rankings", "curves"])
        ev.update_many([{"a"}] * counted, [{"a": 0.5, "<b>": 0.75}] * counted)
        for text in (ev.report(), ev._repr_html_(), repr(ev)):
            assert f"{counted or 'no'} examples" in text
            assert ("ndcg" in text) == ("ndcg" in metrics)
            assert not any(word in text for word in ("precision", "recall", "f1", "support", "samples"))
    if "ndcg" in metrics:
        assert "0.6309" in ev.report()
        assert "0.6309" in ev._repr_html_()
    assert ev._view("rankings", "this") is not None


def test_a_metric_that_the_scores_do_not_allow_does_not_stop_the_object_from_being_displayed():
    ev = se.Evaluator(["brier_score_macro", "ndcg"])
    ev.update({"a"}, {"a": -0.5, "b": 7.0})
    for read in (ev.get, ev.report, lambda: ev.get("brier_score_macro")):
        with pytest.raises(se.MetricError, match="probabilities"):
            read()
    assert "ndcg=0.63" in repr(ev)
    assert "brier_score_macro=?" in repr(ev)
    assert "0.6309" in ev._repr_html_()
    assert "brier" in repr(se.metric("brier_score"))
    single = se.metric("brier_score")
    single.update({"a"}, {"a": -0.5, "b": 7.0})
    assert repr(single) == "BrierScore(1 example; brier_score_macro=?)"


def test_with_a_threshold_decisions_are_displayed_with_the_metrics_of_scores():
    ev = se.Evaluator(["f1_micro", "ndcg"], threshold=0.5)
    ev.update({"a"}, {"a": 0.5, "b": 0.75})
    plain = se.Evaluator(["f1_micro"], threshold=0.5)
    plain.update({"a"}, {"a": 0.5, "b": 0.75})
    lines = [" ".join(line.split()) for line in ev.report().splitlines()]
    assert {" ".join(line.split()) for line in plain.report().splitlines()} < set(lines)
    assert any(line.startswith("ndcg 0.6309") for line in lines)
    assert "ndcg" in ev._repr_html_()
    assert "precision" in ev._repr_html_()


def test_single_metrics_of_scores_have_the_values_of_an_evaluator():
    true, scores, weights = drawn(5, 30, 5)
    for entry in se.catalogue():
        if entry.state == "decisions":
            continue
        choices = {"inverse_propensities": {label: 2.0 + label for label in range(5)}} if entry.name[:2] == "ps" else {}
        single = se.metric(entry.name, **choices)
        ev = se.Evaluator([single], **choices)
        many, pred = (scores, {2: 0.25, 1: 0.75, 0: 0.5}) if reads_scores(entry) else (scores > 0.5, {1, 2})
        for target in (single, ev):
            target.update_many(true, many, weights=weights)
            target.update({1, 2}, pred)
            target.revert({1, 2}, pred)
        assert single.get() == ev.get(single.spec)
        assert repr(single.bounds()) == repr(ev.bounds(single.spec))
        assert str(single.examples) in repr(single)
        assert single.reads_scores == reads_scores(entry)


def test_top_k_is_public():
    assert se.TopK is TopK


def test_a_reverted_weight_leaves_no_trace_with_gains_in_finer_units():
    metrics, first, second = ["map_at(k=3,divisor=hits)", "psndcg_at(k=3)"], ({"a": 0}, {"a": 0.5}), ({"b": 1}, {})
    both, one = (se.Evaluator(metrics, inverse_propensities={"a": 1.5, "b": 2.5}) for _ in "12")
    both.update(*first)
    both.update(*second, weight=0.1)
    both.revert(*second, weight=0.1)
    one.update(*first)
    assert both == one


def test_weights_are_retained_when_reverted_labels_lose_their_columns():
    ev = se.Evaluator([], keep=["rankings", "curves", "pairs", "labelsets"], threshold=0.5)
    for truth, weight in (({"a"}, 2), ({"b"}, 1), (set(), 0)):
        ev.update(truth, {"a": 0.5, "b": 0.25}, weight=weight)
    before = ev.to_bytes()
    for number in range(200):
        for call in (ev.update, ev.revert):
            call({number}, {number: 0.5})
    assert len(ev._core.labels.labels) < 100
    assert ev.to_bytes() == before


@pytest.mark.parametrize("kinds", [(np.uint8, np.float64), (np.bool_, np.float32), (np.int64, np.float16)], ids=str)
@pytest.mark.parametrize("more", [{}, {"mask": np.zeros((5, 4), np.uint8)}, {"weights": [0.5] * 5}], ids=str)
def test_all_states_count_the_same_values_of_an_array_that_changes_during_the_call(
    kinds: tuple[Any, Any], more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    truth = (np.eye(4)[[0, 1, 2, 3, 1]] > 0).astype(kinds[0])
    scores = np.linspace(0, 1, 20).reshape(5, 4).astype(kinds[1])
    one, other = (se.Evaluator(["f1_macro", "lrap", "roc_auc_macro", "scumble"], threshold=0.5) for _ in "12")
    one.update_many(truth, scores, **more)

    def changing(count: Any) -> Any:
        def counted(self: Any, batch: Any) -> None:
            count(self, batch)
            truth[:], scores[:] = 1, np.nan

        return counted

    for state in other._core.states.states.values():
        monkeypatch.setattr(type(state), "count", changing(type(state).count))
    other.update_many(truth, scores, **more)
    assert np.isnan(scores).all()
    assert one == other


@pytest.mark.parametrize("kind", ["bytes", "bits", "scores"])
@pytest.mark.parametrize("form", ["last", "time", "fading", "slices"])
def test_windows_and_slices_count_the_same_values_of_an_array_that_changes_during_the_call(
    form: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    # Otherwise a window would count other examples than it stores, and later revert examples that it never counted.
    truth = (np.eye(4)[[0, 1, 2, 3, 1]] > 0).view(np.uint8)
    predicted = np.linspace(0, 1, 20).reshape(5, 4) if kind == "scores" else truth[::-1].copy()
    sides: list[Any] = [truth, predicted]
    if kind == "bits":
        truth, predicted = (np.packbits(side, axis=1) for side in sides)
        sides = [se.PackedRows(side, 4) for side in (truth, predicted)]

    def holder() -> Any:
        inner = se.Evaluator(labels=range(4), threshold=0.5 if kind == "scores" else None)
        if form == "slices":
            return se.Sliced(inner, by=["name", "other"])
        if form == "time":
            return se.TimeRolling(inner, 60)
        return (se.Rolling if form == "last" else se.Fading)(inner, 8)

    names = list("abacb")
    more = {"slices": {"where": {"name": names, "other": names}}, "time": {"times": range(5)}}
    one, other = holder(), holder()
    one.update_many(*sides, **more.get(form, {}))

    def counted(self: Any, batch: Any) -> None:
        count(self, batch)
        truth[:], predicted[:] = truth[::-1].copy(), 0

    count = Decisions._count
    monkeypatch.setattr(Decisions, "_count", counted)
    other.update_many(*sides, **more.get(form, {}))
    monkeypatch.undo()
    assert not predicted.any()
    assert one == other == type(other).from_bytes(other.to_bytes())
    if form != "slices":
        assert one.snapshot() == other.snapshot()
