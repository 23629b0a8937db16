"""Calls as users write them: mypy checks this file too, and must accept the correct calls and reject the wrong ones."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

import streameval as se

if TYPE_CHECKING:
    from pathlib import Path

    from streameval.adapters import dask, ray, spark

Y_TRUE: list[set[str]] = [{"cat"}, {"cat", "dog"}]
Y_PRED: list[set[str]] = [{"cat"}, {"dog"}]


def test_a_type_checker_accepts_values_as_numbers_and_thresholds_by_label() -> None:
    by_label: dict[str, float] = {"cat": 0.5, "dog": 0.5}
    ev = se.Evaluator(["f1_micro"], labels=list(by_label), threshold=by_label)
    options: dict[str, float] = {"weight": 2.0}
    for pair in zip(Y_TRUE, Y_PRED, strict=True):
        ev.update(*pair, **options)
    for weight in (np.float32(2), np.int64(3)):
        ev.update({"cat"}, {"cat"}, weight=weight)
        ev.revert({"cat"}, {"cat"}, weight=weight)
    every: dict[str, float] = ev.get(None)
    best: float = max(0.0, ev["f1_micro"], ev.get("f1_micro"), *every.values())
    assert best == round(se.score(Y_TRUE, Y_PRED, "f1_micro"), 1) == 0.8
    labels: dict[str | int, float] = ev["f1_per_label"]
    assert labels == ev.get("f1_per_label") == {"cat": 2 / 3, "dog": 1.0}
    ev.unmerge(other=ev.copy())
    assert ev.examples == 0
    assert se.LabelWeightedLRAP("macro", ties="last").examples == 0
    exact: float = se.SubsetAccuracy().get() + se.SubsetAccuracy().bounds().low
    rolling = se.Rolling(se.F1("micro"), size=2)
    rolling.update_many(Y_TRUE, Y_PRED, weights=np.array([1, 2]))
    assert exact < rolling.get()
    sliced = se.Sliced(se.Evaluator(["f1_micro"]), by="lang")
    sliced.update_many(Y_TRUE, Y_PRED, where={"lang": ["en", "fr"]})
    assert sliced.get()["lang"]["en"]["f1_micro"] > sliced.get("f1_micro")["lang"]["fr"] > 0.5
    assert se.jain_propensities({"cat": 2, "dog": 1}, 2)["cat"] > 0.5


def test_a_type_checker_knows_the_types_of_results_of_tables() -> None:
    rows = [{"tags": ["cat"], "guess": ["cat"], "lang": "en"}]
    counted: se.Evaluator = se.evaluate_table(rows, actual="tags", predicted="guess", metrics=["f1_micro"])
    metric: se.F1 = se.evaluate_table(rows, actual="tags", predicted="guess", metrics=se.F1())
    total: se.Evaluator = se.evaluate_table(rows, actual="tags", predicted="guess", by="lang").total()
    made = [se.Evaluator(["f1_micro", se.F1()]), se.Evaluator(("f1_micro", se.MetricSpec("f1")))]
    made += [se.Evaluator(name for name in ("f1_micro", "f1")), se.Evaluator({"f1_micro": 1, "f1": 2}.keys())]
    assert len({each.metrics for each in made}) == 1
    sliced = se.Sliced(se.Evaluator(), by="lang")
    assert se.evaluate_table(rows, actual="tags", predicted="guess", metrics=sliced).total() == total
    assert (counted.examples, metric.get(), total.to_dict()["averages"]["micro"]["f1"]) == (1, 1.0, 1.0)


def test_a_type_checker_accepts_any_class_for_a_loaded_object(tmp_path: Path) -> None:
    taken = se.Checkpoint(se.F1("micro"), 10)
    taken.evaluator.save(tmp_path / "f1")
    taken.save(tmp_path / "taken")
    metric: se.F1 = se.load(tmp_path / "f1")
    assert (metric.get(), se.load(tmp_path / "taken").position) == (0.0, 10)


def of_engines(rows: Any) -> tuple[str, ...]:
    """Only mypy reads this function; it is never called, because no environment has all engines."""
    by_dask: se.Evaluator = dask.evaluate(rows, "tags", "guess", metrics=["f1_micro"], progress=True)
    metric: se.F1 = spark.evaluate(rows, "tags", "guess", metrics=se.F1())
    sliced: se.Sliced[se.Evaluator] = ray.evaluate(rows, "tags", "guess", by="lang")
    evaluators = (by_dask, ray.evaluate(rows, "tags", "guess"), spark.evaluate(rows, "tags"), sliced.total())
    return (str(metric.get()), dask.evaluate_arrays(rows, rows).report(), *(each.report() for each in evaluators))


def test_a_type_checker_rejects_wrong_calls() -> None:
    ev, rolling, table = se.Evaluator(), se.Rolling(se.Evaluator(), 2), [{"tags": ["cat"]}]
    for holder in (ev, rolling):
        with suppress(se.InputError):
            holder.update({"cat"}, {"cat"}, 2.0)  # type: ignore[call-arg]
        with suppress(se.InputError):
            holder.update({"cat"}, {"cat"}, wieght=2.0)  # type: ignore[call-arg]
    with suppress(se.InputError):
        ev.revert({"cat"}, {"cat"}, 2.0)  # type: ignore[call-arg]
    with suppress(se.InputError):
        ev.update_many(Y_TRUE, Y_PRED, [1, 2])  # type: ignore[call-arg]
    with suppress(se.InputError):
        se.evaluate_table(table, metrics=["f1_micro"])  # type: ignore[call-overload]
    with suppress(se.MetricError):
        se.F1("mikro")  # type: ignore[arg-type]
    assert ev.examples == rolling.examples == 0
