"""Thresholds chosen after counting, compared with the best of all thresholds, each of which is tried."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streameval as se
from streameval.errors import InputError, MetricError
from streameval.metrics.spec import as_float
from streameval.metrics.thresholds import (
    Choice,
    Cost,
    FScore,
    Objective,
    PrecisionAt,
    RecallAt,
    apply_thresholds,
    best_threshold,
    best_thresholds,
    decisions_at,
    pcut,
    rcut,
)
from streameval.states.curves import CurveTables
from tests.support import curve_oracle as oracle
from tests.support.curve_oracle import counted, nasty_scores, rows_of
from tests.support.each import with_each
from tests.support.effort import cases

GOALS = [FScore(), FScore(0.5), FScore(2.0), PrecisionAt(0.5), RecallAt(0.6), Cost(), Cost(1.0, 5.0), Cost(0.3, 0.0)]


def case(seed: int, *, pure: bool = False) -> tuple[CurveTables, list[list[oracle.Cell]], np.ndarray, np.ndarray]:
    rng = np.random.default_rng([23, seed])
    shape = (int(rng.integers(2, 40)), int(rng.integers(1, 4)))
    scores = np.round(rng.normal(size=shape), 1) if pure else nasty_scores(rng, shape)[1].astype(np.float64)
    true = (rng.random(shape) < rng.choice([0.1, 0.4, 0.8])).astype(np.uint8)
    weights = rng.choice([1, 2, 0.5, 3], shape[0]).astype(float) if rng.random() < 0.3 else np.ones(shape[0])
    every = [Fraction(weight) for weight in weights]
    ranked = rng.random(shape) < rng.choice([0.5, 1.0])
    visible = np.where(ranked, scores, np.nan)  # no threshold predicts a label without a score
    cells = [list(zip(visible[:, j].tolist(), true[:, j].tolist(), every, strict=True)) for j in range(shape[1])]
    tables = counted(rows_of(true, scores, ranked=ranked, weights=weights), width=shape[1])
    return tables, cells, np.where(ranked, scores, -math.inf), true


def bounds_of(cells: list[oracle.Cell]) -> list[float]:
    return [math.inf, *(score for score, _, _ in cells if not math.isnan(score))]


def worth(goal: Objective, cells: list[oracle.Cell], bound: float) -> Fraction | None:
    """The value of a goal at a threshold, by its definition; None where the threshold misses a required value."""
    tp, fp, fn, _ = oracle.outcomes(cells, bound)
    precision = tp / (tp + fp) if tp + fp else Fraction(0)
    recall = tp / (tp + fn) if tp + fn else Fraction(0)
    if isinstance(goal, FScore):
        square = Fraction(goal.beta) ** 2
        den = (1 + square) * tp + square * fn + fp
        return (1 + square) * tp / den if den else Fraction(0)
    if isinstance(goal, PrecisionAt):
        return precision if not tp + fn or float(recall) >= goal.recall else None
    if isinstance(goal, RecallAt):
        return recall if not tp + fp or float(precision) >= goal.precision else None
    assert isinstance(goal, Cost)
    return -(Fraction(goal.false_positive) * fp + Fraction(goal.false_negative) * fn)


def best(goal: Objective, cells: list[oracle.Cell]) -> Fraction | None:
    values = [worth(goal, cells, bound) for bound in bounds_of(cells)]
    return max((value for value in values if value is not None), default=None)


def holds(choice: Choice, goal: Objective, cells: list[oracle.Cell]) -> None:
    """Assert that a chosen threshold has the value that it states, and that no threshold exceeds its bound."""
    if (top := best(goal, cells)) is None:
        assert (choice.threshold, math.isnan(choice.value)) == (math.inf, True)
        return
    assert choice.value == float(worth(goal, cells, choice.threshold))
    assert choice.value <= float(top) <= choice.bound
    if choice.exact:
        assert choice.value == float(top)


@pytest.mark.parametrize(("part", "whole"), [(9, 10), (1, 5), (5, 6)])
def test_a_required_value_is_reached_by_a_fraction_that_rounds_to_it(part: int, whole: int):
    least = part / whole
    assert least > Fraction(part, whole)
    rows = [(1, 0.75)] * part + [(0, 0.75)] * (whole - part)  # with precision part / whole
    first = [(1, 0.75)] * part + [(0, 0.5)] + [(1, 0.25)] * (whole - part)  # recall part / whole, precision 1
    last = [(0, 0.25)] * part + [(1, 0.5)] + [(0, 0.75)] * (whole - part)  # specificity part / whole
    for examples, metric, goal in (
        (rows, f"recall_at_precision_micro(precision={least})", RecallAt(least)),
        (first, f"precision_at_recall_micro(recall={least})", PrecisionAt(least)),
        (first, f"specificity_at_sensitivity_micro(sensitivity={least})", None),
        (last, f"sensitivity_at_specificity_micro(specificity={least})", None),
    ):
        ev = se.Evaluator([metric])
        ev.update_many(*([{"a": value} for value in side] for side in zip(*examples, strict=True)))
        assert ev.get(metric) == 1.0 == (1.0 if goal is None else ev.best_threshold(goal).value)
        above = metric.replace(str(least), str(math.nextafter(least, 1)))
        assert ev.get(above) < 1.0


@with_each("goal", GOALS)
@pytest.mark.parametrize("seed", range(cases(60)))
def test_the_best_threshold_of_each_label_is_as_good_as_any(goal: Objective, seed: int):
    tables, cells, _, _ = case(seed)
    for choice, part in zip(best_thresholds(tables, goal).values(), cells, strict=True):
        holds(choice, goal, part)
    holds(best_threshold(tables, goal), goal, [cell for part in cells for cell in part])


@pytest.mark.parametrize("seed", range(cases(60)))
def test_where_scores_are_known_the_best_threshold_is_exact_and_the_greatest_of_the_best(seed: int):
    tables, cells, _, _ = case(seed, pure=True)
    for goal in GOALS:
        for choice, part in zip(best_thresholds(tables, goal).values(), cells, strict=True):
            if (top := best(goal, part)) is None:
                holds(choice, goal, part)
            else:
                assert choice.exact
                assert choice.threshold == max(bound for bound in bounds_of(part) if worth(goal, part, bound) == top)


@pytest.mark.parametrize("goal", [FScore(), FScore(2.0), PrecisionAt(0.5), RecallAt(0.6)], ids=repr)
@pytest.mark.parametrize("seed", range(cases(60)))
def test_the_best_threshold_for_a_mean_over_labels_is_as_good_as_any(goal: Objective, seed: int):
    tables, cells, _, _ = case(seed, pure=seed % 2 == 0)
    choice = best_threshold(tables, goal, average="macro")
    bounds = bounds_of([cell for part in cells for cell in part])
    values = [[worth(goal, part, bound) for part in cells] for bound in bounds]
    means = [float(sum(each) / len(cells)) for each in values if None not in each]
    if not means:
        assert (choice.threshold, math.isnan(choice.value)) == (math.inf, True)
        return
    assert choice.value == float(sum(worth(goal, part, choice.threshold) for part in cells) / len(cells))
    assert choice.value <= max(means) + 1e-12
    assert max(means) <= choice.bound
    if seed % 2 == 0:
        assert choice.exact


@pytest.mark.parametrize("seed", range(cases(150)))
def test_outcomes_at_any_threshold_lie_within_their_bounds(seed: int):
    tables, cells, scores, _ = case(seed)
    rng = np.random.default_rng(seed)
    near = rng.choice(scores.reshape(-1), 4)
    for bound in (0.0, 0.5, math.inf, -math.inf, *near, *np.nextafter(near, 0), *(near * 1.0001)):
        result = decisions_at(tables, float(bound))
        unit = result.unit
        for label, part in enumerate(cells):
            exact = oracle.outcomes(part, bound)
            least = [getattr(result.least, name)[label] * unit for name in ("tp", "fp", "fn", "tn")]
            most = [getattr(result.most, name)[label] * unit for name in ("tp", "fp", "fn", "tn")]
            assert all(min(a, b) <= value <= max(a, b) for a, value, b in zip(least, exact, most, strict=True))
            assert (least == most) == result.exact[label]


@pytest.mark.parametrize("seed", range(cases(60)))
def test_outcomes_are_exact_at_known_scores_and_at_chosen_thresholds(seed: int):
    tables, cells, scores, _ = case(seed, pure=True)
    for bound in [*scores.reshape(-1), *np.nextafter(scores.reshape(-1), 9), 0.05, -7.0, 0.0]:
        assert decisions_at(tables, bound).exact.all()
    mixed = case(seed)[0]
    assert decisions_at(mixed, best_thresholds(mixed)).exact.all()
    assert len(cells) == tables.size


@pytest.mark.parametrize("seed", range(cases(100)))
def test_pcut_matches_the_number_of_true_labels_as_nearly_as_any_threshold(seed: int):
    tables, cells, _, _ = case(seed, pure=seed % 2 == 0)
    pooled = [cell for part in cells for cell in part]
    for choice, part in [(pcut(tables), pooled), *((pcut(tables, j), part) for j, part in enumerate(cells))]:
        excesses = []
        for bound in [choice.threshold, *bounds_of(part)]:
            tp, fp, fn, _ = oracle.outcomes(part, bound)
            excesses.append(tp + fp - (tp + fn))
        assert choice.value == float(excesses[0])
        assert choice.exact or seed % 2
        if choice.exact:
            assert abs(excesses[0]) == min(map(abs, excesses))


def test_pcut_and_rcut_by_hand():
    true = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    scores = np.array([[0.9, 0.2, 0.1], [0.8, 0.4, 0.3], [0.6, 0.1, 0.5]])
    tables = counted(rows_of(true, scores), width=3)
    assert pcut(tables) == Choice(0.6, 0.0, 0.0)
    assert pcut(tables, 0).threshold == 0.8
    assert pcut(tables, 2).threshold == math.inf
    assert rcut(scores, 1).tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0]]
    assert rcut(np.array([[0.5, 0.5, 0.1]]), 1).tolist() == [[1, 0, 0]]
    assert rcut(np.arange(99)[None] % 3, 2)[0].nonzero()[0].tolist() == [2, 5]
    assert rcut(scores, 9).all()


def test_without_examples_or_scores_the_best_threshold_predicts_nothing():
    tables = counted(width=2)
    assert best_thresholds(tables) == dict.fromkeys(range(2), Choice(math.inf, 0.0, 0.0))
    assert best_threshold(tables).threshold == math.inf
    for goal in (FScore(), PrecisionAt(1.0), RecallAt(1.0)):
        for empty in (tables, counted(width=0)):
            assert best_threshold(empty, goal, average="macro") == Choice(math.inf, 0.0, 0.0)
    assert pcut(tables) == Choice(math.inf, 0.0, 0.0)
    ev = se.Evaluator(["roc_auc_macro"])  # no threshold predicts "a", because it has no score
    ev.update_many([{"a"}, {"b"}], [{"b": 0.5}] * 2)
    for choice in (ev.best_threshold("precision_at_recall_macro(recall=1)"), ev.best_thresholds(PrecisionAt(1.0))["a"]):
        assert (choice.threshold, math.isnan(choice.value), math.isnan(choice.bound)) == (math.inf, True, True)
    assert decisions_at(tables, 0.5).least.tp.tolist() == [0, 0]


def test_a_threshold_for_the_mean_may_lie_between_two_scores_of_a_bin_but_not_between_equal_ones():
    apart, same = se.Evaluator(["roc_auc_macro"]), se.Evaluator(["roc_auc_macro"])
    apart.update(["a"], {"a": 0.300002})
    apart.update([], {"a": 0.300001})
    assert (apart.best_threshold("f1_macro").value, apart.best_threshold("f1_macro").bound) == (2 / 3, 1.0)
    same.update(["a", "b"], {"a": 0.5, "b": 0.9})
    same.update([], {"b": 0.5})  # F1 is best if this is not predicted, but the "a" of the same score is
    assert same.best_threshold("f1_macro").exact
    same.update_many([[], ["c"], []], [{"a": 0.4}, {"c": 0.300002}, {"c": 0.300001}], weights=[6, 1, 1])
    best = same.best_threshold("f1_macro")  # at 0.5 the sum of F1 is 1 + 2 / 3, and at 0.300002 it is 2 / 8 + 2 / 3 + 1
    assert (best.threshold, best.bound) == (0.5, float(Fraction(23, 36)))


def test_a_bin_of_two_labels_leaves_the_mean_exact_where_a_third_label_misses_the_goal():
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update(["a", "b"], {"a": 0.300002, "b": 0.300001, "c": 0.9})
    assert ev.best_threshold("recall_at_precision_macro(precision=1)").exact
    assert ev.best_threshold("f1_macro").value == 2 / 3


def test_the_bound_of_the_mean_adds_up_the_most_that_the_goal_allows_for_each_label():
    ev = se.Evaluator(["roc_auc_macro"])
    ev.update_many([["a", "b"], []], [{"a": 0.300001, "b": 0.300002}, {"a": 0.300001}])
    best = ev.best_threshold("recall_at_precision_macro(precision=1)")
    assert (best.value, best.bound) == (0.0, 0.5)  # at thresholds up to 0.300002 the recall of b is 1


def test_a_label_whose_cells_are_masked_or_weigh_nothing_changes_no_threshold_of_the_mean():
    ev = se.Evaluator(["roc_auc_macro"], labels=["a", "b"])
    ev.update(["a"], {"a": 0.75, "b": 0.5}, mask={"b"})
    ev.update(["b"], {"a": 0.75, "b": 0.5}, weight=0)
    assert ev.best_threshold("f1_macro").value == 0.5


@pytest.mark.parametrize("weights", [(1e308, 1.7e308), (5e-324, 1.0), (5e-324, 1e308), (1.0, 3.0)])
@pytest.mark.parametrize("goal", [FScore(), Cost(), Cost(1e300, 5e-324), Cost(5e-324, 1e308)], ids=repr)
def test_extreme_weights_and_prices_have_the_best_thresholds(weights: tuple[float, ...], goal: Objective):
    ev = se.Evaluator(["roc_auc_macro"])
    cells = [(score, true, Fraction(weight)) for weight in weights for score, true in ((0.25, 1), (0.5, 0), (0.75, 1))]
    for score, true, weight in cells:
        ev.update(["a"] if true else ["b"], {"a": score, "b": 0.5}, weight=float(weight))
    top, choice = best(goal, cells), ev.best_thresholds(goal)["a"]
    assert worth(goal, cells, choice.threshold) == top
    assert choice.value == choice.bound == as_float(top)
    assert ev.pcut("b").value == as_float(-sum(map(Fraction, weights)))
    assert ev.calibration_curve("a", buckets=1).weight[0] == as_float(sum(weight for *_, weight in cells))


def test_a_choice_may_be_passed_as_a_threshold():
    rng = np.random.default_rng(3)
    ev = se.Evaluator(labels=["a", "b"], keep=["curves"], threshold=0.5)
    ev.update_many(rng.integers(0, 2, (50, 2)), rng.random((50, 2)))
    best = ev.best_thresholds("f1")
    chosen = se.Evaluator(labels=["a", "b"], threshold={label: choice.threshold for label, choice in best.items()})
    assert se.Evaluator(labels=["a", "b"], threshold=best) == chosen
    one = ev.best_threshold("f1_micro")
    assert se.Evaluator(threshold=one) == se.Evaluator(threshold=one.threshold)


def test_apply_thresholds_returns_decisions_of_0_and_1():
    scores = np.array([[0.5, 0.1], [np.nextafter(0.5, 0), 0.9]], np.float64)
    assert apply_thresholds(scores, 0.5).tolist() == [[1, 0], [0, 1]]
    assert apply_thresholds(scores, [0.2, 1.0]).tolist() == [[1, 0], [1, 0]]
    assert apply_thresholds(scores, {1: 1.0, 0: 0.2}).tolist() == [[1, 0], [1, 0]]
    chosen = {"b": Choice(0.1, 0.0, 0.0), "a": 2.0}
    assert apply_thresholds(scores, chosen, labels=["a", "b"]).tolist() == [[0, 1], [0, 1]]
    assert apply_thresholds(scores.astype(np.float32), 0.5).dtype == np.uint8


BELOW, ABOVE = (np.nextafter(np.longdouble(0.5), np.longdouble(end)) for end in (0, 1))


@pytest.mark.parametrize(
    ("scores", "threshold", "order"),
    [
        (np.array([[2**53 + 3, 2**53 + 4]]), 2.0**53 + 4, [0, 1]),
        (np.array([[2**64 - 2, 2**64 - 1]], np.uint64), 2.0**64, [0, 1]),
        (np.array([[BELOW, ABOVE]]), 0.5, [0, 1]),
        (np.array([[np.nextafter(np.float32(0.1), np.float32(0)), 0.1]], np.float32), 0.1, [0, 1]),
        (np.array([[True, False]]), 1.0, [1, 0]),
    ],
    ids=["int64", "uint64", "longdouble", "float32", "bool"],
)
def test_scores_are_compared_with_thresholds_without_rounding(scores: np.ndarray, threshold: float, order: list[int]):
    expected = [[int(Fraction(*score.as_integer_ratio()) >= threshold) for score in row] for row in scores.astype("O")]
    assert apply_thresholds(scores, threshold).tolist() == expected
    assert rcut(scores, 1).tolist() == [order]


def test_thresholds_are_applied_to_tensors():
    torch = pytest.importorskip("torch")
    for options in ({"dtype": torch.bfloat16}, {"requires_grad": True}):
        scores = torch.tensor([[0.25, 0.75]], **options)
        assert apply_thresholds(scores, 0.5).tolist() == rcut(scores, 1).tolist() == [[0, 1]]


@pytest.mark.parametrize("seed", range(cases(30)))
def test_thresholds_applied_to_the_counted_scores_give_the_outcomes_that_were_predicted(seed: int):
    tables, _, scores, true = case(seed)
    if tables.weighted:
        return
    chosen = best_thresholds(tables)
    decided = apply_thresholds(scores, chosen, labels=tables.labels)
    result = decisions_at(tables, chosen)
    assert (decided & true).sum(axis=0).tolist() == result.least.tp.tolist()
    assert (decided & (1 - true)).sum(axis=0).tolist() == result.most.fp.tolist()


SWAPPED = pd.DataFrame({"b": [0.2], "a": [0.8]})


def test_thresholds_by_label_are_applied_to_the_columns_of_a_frame_by_name():
    for frame in (SWAPPED, pa.table({"b": [0.2], "a": [0.8]})):
        assert apply_thresholds(frame, {"a": 0.5, "b": 0.3}).tolist() == [[0, 1]]
        assert apply_thresholds(frame, [0.3, 0.5]).tolist() == [[0, 1]]  # one for each column, in their order
    with pytest.raises(InputError, match="no value for label 'b'"):
        apply_thresholds(SWAPPED, {"a": 0.5})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: apply_thresholds([[math.nan]], 0.5), "scores hold NaN"),
        (lambda: apply_thresholds(np.ma.array([[0.9, 0.2]], mask=[[True, False]]), 0.5), "scores hold NaN"),
        (lambda: rcut(np.ma.array([[9, 2]], mask=[[True, False]]), 1), "scores hold NaN"),
        (lambda: apply_thresholds(SWAPPED, {"a": 0.5, "b": 0.1}, labels=["a", "b"]), "columns are in another order"),
        (lambda: apply_thresholds([0.5], 0.5), "2-D array"),
        (lambda: apply_thresholds([["x"]], 0.5), "2-D array"),
        (lambda: apply_thresholds([[0.5]], [0.1, 0.2]), "threshold has 2 values for 1 label"),
        (lambda: apply_thresholds([[0.5]], math.nan), "threshold must be a number, not NaN"),
        (lambda: apply_thresholds([[0.5]], {"a": 0.5}), "of labels, not of columns; give labels="),
        (lambda: apply_thresholds([[0.5]], {"a": 0.5}, labels=["a", "b"]), "each of the 1 columns, not 2 labels"),
        (lambda: apply_thresholds([[0.5]], ["x"]), "must be a number or one number per label, not 'x'"),
        (lambda: se.Evaluator(["roc_auc"]).best_threshold(3), r"an objective of .*, such as Cost\(\), not 3"),
        (lambda: se.Evaluator(["roc_auc"]).best_threshold("mcc"), "no threshold is chosen for mcc_macro; choose it"),
        (lambda: apply_thresholds([[0.5]], {"a": 0.5}, labels=["b"]), "no value for label 'b'"),
        (lambda: rcut([[0.5]], -1), "k must be"),
        (lambda: best_thresholds(counted(width=1), FScore(0.0)), "beta must be"),
        (lambda: best_thresholds(counted(width=1), FScore(math.inf)), "beta must be"),
        (lambda: best_thresholds(counted(width=1), PrecisionAt(1.5)), "recall must be"),
        (lambda: best_thresholds(counted(width=1), RecallAt(-1)), "precision must be"),
        (lambda: best_thresholds(counted(width=1), Cost(-1.0)), "false_positive must be"),
        (lambda: best_thresholds(counted(width=1), Cost(1.0, math.inf)), "false_negative must be"),
        (lambda: best_threshold(counted(width=1), average="samples"), "average must be"),
    ],
)
def test_invalid_arguments_are_refused_by_name(call: object, message: str):
    with pytest.raises((InputError, MetricError), match=message):
        call()
